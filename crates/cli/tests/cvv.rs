//! `cryptand cvv` over labels, cards and lines, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::served::Served;

/// The value of psec 1.3.0 and of jPOS 2.1.9 under the key of the published values.
const CARD: &[&str] = &["--pan", "4123456789012345", "--expires", "8701", "--service-code", "101"];
const VALUE: &str = "561";

#[test]
fn values_are_made_and_verified_and_their_keys_joined() {
    let home = Served::new();
    let mask = "1032547698BADCFE";
    // Each half of the published key, and all of it, of two parts.
    home.key("CVK.A", &["des-mac", "--usage", "CVVKEY-A"], [mask, "1111111111111111"]);
    home.key("CVK.B", &["des-mac", "--usage", "CVVKEY-B"], [mask, "EEEEEEEEEEEEEEEE"]);
    let parts = ["1032547698BADCFE1032547698BADCFE", "1111111111111111EEEEEEEEEEEEEEEE"];
    home.key("CVK", &["tdes-mac", "--usage", "CVVKEY-A"], parts);
    home.key("CVK.VER", &["tdes-macver", "--usage", "CVVKEY-A"], parts);
    home.ok(&["cvv", "join", "CVK.A", "CVK.B", "--label", "CVK.JOINED"]);
    for key in [&["--key", "CVK"][..], &["--key", "CVK.JOINED"], &["--key", "CVK.A", "--key-b", "CVK.B"]] {
        assert_eq!(home.ok(&[&["cvv", "make"], key, CARD].concat()), VALUE);
        let verify = [&["cvv", "verify"], key, CARD].concat();
        assert_eq!(home.ok(&[&verify[..], &["--value", VALUE]].concat()), "the value verifies");
        assert_eq!(home.refused(&[&verify[..], &["--value", "562"]].concat()).0, 4);
    }
    let five = home.ok(&[&["cvv", "make", "--key", "CVK", "--digits", "5", "--json"], CARD].concat());
    let five: serde_json::Value = serde_json::from_str(&five).unwrap();
    let five = five["value"].as_str().unwrap();
    assert!(five.starts_with(VALUE) && five.len() == 5, "{five}");
    home.ok(&[&["cvv", "verify", "--key", "CVK.VER", "--value", five], CARD].concat());

    // Refusals name the key, or the option.
    for (arguments, exit, expected) in [
        (&["cvv", "make", "--key", "CVK.VER"][..], 3, "--key takes a MAC key with CVVKEY-A"),
        (&["cvv", "make", "--key", "NO.KEY"], 7, "cryptand key list"),
        (&["cvv", "make", "--key", "CVK.JIONED"], 7, "those there are, such as CVK.JOINED"),
        (&["cvv", "make", "--key", "cvk-joined"], 2, "; CVK.JOINED is one"),
        (&["cvv", "make"], 2, "--key is missing"),
        (&["cvv", "verify", "--key", "CVK"], 2, "--value is missing"),
        (&["cvv", "verify", "--key", "CVK", "--value", "123456"], 2, "--value: expected 1 to 5 digits"),
    ] {
        let (code, said) = home.refused(&[arguments, CARD].concat());
        assert_eq!((code, said.contains(expected)), (exit, true), "{arguments:?}: {said}");
    }
    let (code, said) = home.refused(&["cvv", "join", "CVK.B", "CVK.A", "--label", "CVK.NONE"]);
    assert_eq!((code, said.contains("with CVVKEY-A")), (3, true), "{said}");
    let (code, _) = home.refused(&["cvv", "join", "CVK.A", "CVK.B", "--label", "CVK.JOINED"]);
    assert_ne!(code, 0, "a key is not written over");

    // By lines.
    let verify = ["cvv", "verify", "--key", "CVK", "--expires", "8701", "--lines", "-"];
    let lines =
        "pan=4123456789012345 service-code=101 value=561\npan=4123456789012345 service-code=999 value=561\n";
    let output = home.run(&verify, lines);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(4), &b"verified\nnot verified\n"[..]));
}
