//! `cryptand fpe` over labels and lines, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::served::Served;

#[test]
fn texts_are_those_of_nist_and_come_back() {
    let home = Served::new();
    // Samples 1 to 3 of FF1, of a key of two parts.
    home.key(
        "PAN.STORE",
        &["aes128-cipher", "--usage", "FF1"],
        ["10101010101010101010101010101010", "3B6E050638BEC2B6BBE7059819DF5F2C"],
    );
    let letters = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (text, made, more) in [
        ("0123456789", "2433477484", &[][..]),
        ("0123456789", "6124200773", &["--tweak", "9876543210"]),
        ("0123456789abcdefghi", "a9tv40mll9kdu509eum", &["--tweak", "7777pqrs777", "--alphabet", letters]),
    ] {
        let call = |command, text| {
            home.ok(&[&["fpe", command, "--key", "PAN.STORE", "--text", text], more].concat())
        };
        assert_eq!(call("encipher", text), made);
        assert_eq!(call("decipher", made), text);
    }
    // Characters of one byte, and blanks, are characters as others are.
    let alphabet = ["--alphabet", " éà0123456789"];
    let made = home.ok(&[
        &["fpe", "encipher", "--key", "PAN.STORE", "--text", "é0 1à23 4"],
        &alphabet[..],
        &["--json"],
    ]
    .concat());
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let made = made["text"].as_str().unwrap();
    assert_eq!(made.chars().count(), 9);
    assert_eq!(
        home.ok(&[&["fpe", "decipher", "--key", "PAN.STORE", "--text", made], &alphabet[..]].concat()),
        "é0 1à23 4"
    );

    // Lines.
    let output = home.run(
        &["fpe", "encipher", "--key", "PAN.STORE", "--lines", "-"],
        "text=0123456789\ntext=0123456789 tweak=9876543210\ntext=123\n",
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("2433477484\n6124200773\nerror: format-preserving-encipher: 8/25"), "{said}");

    home.ok(&["key", "generate", "PAN.MAC", "--type", "aes128-mac"]);
    for (arguments, exit, expected) in [
        (
            &["encipher", "--key", "PAN.MAC", "--text", "0123456789"][..],
            3,
            "--key takes an AES CIPHER key with FF1",
        ),
        (&["encipher", "--key", "PAN.STROE", "--text", "0123456789"], 7, "such as PAN.STORE"),
        (&["encipher", "--key", "pan-store", "--text", "0123456789"], 2, "; PAN.STORE is one"),
        (&["encipher", "--key", "PAN.STORE"], 2, "--text is missing"),
        (
            &["encipher", "--key", "PAN.STORE", "--text", "12345€7890"],
            2,
            "--text: '€' is no character of ISO 8859-1",
        ),
        (&["decipher", "--text", "0123456789"], 2, "--key is missing"),
        (
            &["decipher", "--key", "PAN.STORE", "--text", "0123456789", "--tweak-alphabet", "01"],
            2,
            "--alphabet",
        ),
    ] {
        let (code, said) = home.refused(&[&["fpe"], arguments].concat());
        assert_eq!((code, said.contains(expected)), (exit, true), "{arguments:?}: {said}");
    }
}
