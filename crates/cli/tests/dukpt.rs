//! `cryptand dukpt` over labels, files and lines, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::served::Served;
use serde_json::Value;
use std::fs;

/// ANSI X9.24-1, annex A.4, and what its first transaction's keys are.
const BASE: [&str; 2] = ["1032547698BADCFE0F1E2D3C4B5A6978", "1111111111111111F1C297A43D0E5B68"];
const SERIAL: &str = "FFFF9876543210E00001";
const MAC: &str = "042666B4918430A368DE9628D03984C9";
const DATA: &str = "448D3F076D8304036A55A3D7E0055A78";
/// ANSI X9.24-3, as the tests of openemv/dukpt repeat it, and the key with which the terminal makes MACs.
const AES_BASE: [&str; 2] = ["11111111111111111111111111111111", "EFCDAB8967452301E0E0E0E0E0E0E0E0"];
const AES_SERIAL: &str = "123456789012345600000001";
const AES_MAC: &str = "A2DC23DE6FDE0824A2BC321E08E4B8B7";

const ROLE: &str = "
[[role]]
name = \"loading\"
base = \"owner\"
allow = [\"unique-key-derive-initial\"]
";

/// With the base keys of the standards.
fn with_bases(home: Served) -> Served {
    home.key("POS.BASE", &["tdes-keygenky", "--usage", "UKPT"], BASE);
    home.key("POS.AES", &["aes128-dkygenky", "--usage", "A-DUKPT,D-ALL"], AES_BASE);
    home
}

/// Enters a key of this value.
fn entered(home: &Served, label: &str, more: &[&str], value: &str) {
    let mask = "1032547698BADCFE1032547698BADCFE";
    let number = |digits: &str| u128::from_str_radix(digits, 16).unwrap();
    let first = format!("{:032X}", number(value) ^ number(mask));
    home.key(label, more, [&first, mask]);
}

#[test]
fn keys_of_transactions_are_the_published_ones() {
    let home = with_bases(Served::new());
    let derive = ["dukpt", "derive", "--base", "POS.BASE", "--ksn", SERIAL];
    let test = |label: &str| home.ok(&["key", "test", label]).lines().next().unwrap().to_owned();
    for (kind, value) in
        [("tdes-mac", MAC), ("tdes-macver", MAC), ("tdes-cipher", DATA), ("tdes-decipher", DATA)]
    {
        let (label, known) = (format!("MADE.{kind}"), format!("KNOWN.{kind}"));
        let (label, known) = (label.replace('-', ".").to_uppercase(), known.replace('-', ".").to_uppercase());
        home.ok(&[&derive[..], &["--type", kind, "--label", &label]].concat());
        entered(&home, &known, &[kind], value);
        assert_eq!(test(&label), test(&known), "{kind}");
    }
    // The same token by a file, and on standard output.
    let file = home.path("token");
    let mac = [&derive[..], &["--type", "tdes-mac"]].concat();
    assert_eq!(home.ok(&[&mac[..], &["--out", &file]].concat()), "");
    assert_eq!(fs::read(&file).unwrap().len(), 64);
    home.ok(&["key", "write", "OF.FILE", &file]);
    fs::write(home.path("text"), home.ok(&mac)).unwrap();
    home.ok(&["key", "write", "OF.TEXT", &home.path("text")]);
    assert_eq!([test("OF.FILE"), test("OF.TEXT")], [test("MADE.TDES.MAC"), test("MADE.TDES.MAC")]);
    let (code, said) = home.refused(&[&mac[..], &["--out", &file]].concat());
    assert_eq!((code, said.contains("not written over")), (8, true), "{said}");

    let derive = ["dukpt", "derive", "--base", "POS.AES", "--ksn", AES_SERIAL];
    let makes = ["--type", "aes128-mac", "--usage", "VERIFY", "--terminal", "makes", "--label", "MADE.AES"];
    home.ok(&[&derive[..], &makes].concat());
    entered(&home, "KNOWN.AES", &["aes128-mac", "--usage", "VERIFY"], AES_MAC);
    assert_eq!(test("MADE.AES"), test("KNOWN.AES"));
    for more in [
        &["--type", "aes128-mac"][..],
        &["--type", "aes128-cipher"],
        &["--type", "aes128-cipher", "--usage", "ENCRYPT", "--terminal", "takes"],
        &["--type", "aes128-pinprot", "--usage", "DECRYPT,ISO-4,PINXLATE"],
        &["--type", "tdes-ipinenc"],
    ] {
        home.ok(&[&derive[..], more].concat());
    }

    let on = |more: &[&str]| home.refused(&[&derive[..], more].concat());
    let (code, said) = home.refused(&["dukpt", "base", "POS.BASE"]);
    assert_eq!(
        (code, said.contains("POS.BASE: ") && said.contains("choose another label")),
        (8, true),
        "{said}"
    );
    for (more, exit, expected) in [
        (&[][..], 2, "--type is missing"),
        (&["--type", "tdes-pingen"], 2, "no key of a transaction; there are"),
        (&["--type", "aes128-pinprot", "--usage", "DECRYPT,ISO-4", "--terminal", "takes"], 2, "PIN blocks"),
        // One that makes MACs as the terminal does, and one that is stronger than the base key.
        (&["--type", "aes128-mac", "--terminal", "makes"], 3, "--type takes one that does no more than"),
        (&["--type", "aes256-mac"], 3, "8/170"),
    ] {
        let (code, said) = on(more);
        assert_eq!((code, said.contains(expected)), (exit, true), "{more:?}: {said}");
    }
    let of_tdes = |more: &[&str]| {
        home.refused(&[&["dukpt", "derive", "--base", "POS.BASE", "--ksn", SERIAL], more].concat())
    };
    for (more, exit, expected) in [
        (&["--type", "aes128-mac"][..], 2, "TDES DUKPT derives keys of TDES alone"),
        (&["--type", "tdes-mac", "--terminal", "makes"], 2, "both sides"),
        (&["--type", "tdes-mac", "--usage", "NO-SUCH"], 2, "NO-SUCH"),
    ] {
        let (code, said) = of_tdes(more);
        assert_eq!((code, said.contains(expected)), (exit, true), "{more:?}: {said}");
    }
    let none = ["dukpt", "derive", "--type", "tdes-mac"];
    for (more, exit, expected) in [
        (&["--ksn", SERIAL][..], 2, "--base is missing"),
        (&["--base", "POS.BASE"], 2, "--ksn is missing"),
        (&["--base", "NO.KEY", "--ksn", SERIAL], 7, "looked for: --base NO.KEY; `cryptand key list`"),
        (&["--base", "OF.FILE", "--ksn", SERIAL], 3, "--base takes a base key of TDES DUKPT"),
        (&["--base", "POS.BASE", "--ksn", "FFFF9876543210E00000"], 3, "cryptand dukpt show KSN"),
    ] {
        let (code, said) = home.refused(&[&none[..], more].concat());
        assert_eq!((code, said.contains(expected)), (exit, true), "{more:?}: {said}");
    }

    // Of each line its own.
    let lines = format!(
        "{{\"ksn\": \"{SERIAL}\", \"type\": \"tdes-mac\", \"id\": 1}}\n\
         {{\"ksn\": \"{SERIAL}\", \"type\": \"tdes-macver\", \"usage\": [\"NO-XPORT\"], \"id\": 2}}\n\
         {{\"ksn\": \"{SERIAL}\", \"type\": \"tdes-nothing\", \"id\": 3}}\n"
    );
    let output = home.run(&["dukpt", "derive", "--base", "POS.BASE", "--json", "--lines", "-"], &lines);
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(3));
    for (at, value) in said.iter().enumerate() {
        assert_eq!(value["id"], at + 1);
        let is_made = value["token"].as_str().is_some_and(|token| token.len() == 128);
        assert_eq!(is_made, at < 2, "{value}");
    }
    assert!(said[2]["error"].as_str().unwrap().contains("tdes-nothing: no kind of key"), "{}", said[2]);
    // Keywords with commas between them; a key of a transaction is for any MAC.
    let words = format!(
        "ksn={SERIAL} type=tdes-macver usage=NO-XPORT\nksn={SERIAL} type=tdes-macver usage=NO-XPORT,CVVKEY-A\n"
    );
    let output = home.run(&["dukpt", "derive", "--base", "POS.BASE", "--lines", "-"], &words);
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!((output.status.code(), said.len(), said[0].len()), (Some(3), 2, 128));
    assert!(said[1].starts_with("error: unique-key-derive: 8/39"), "{}", said[1]);
}

#[test]
fn initial_keys_leave_for_roles_that_name_it() {
    let mut home = with_bases(Served::with(ROLE));
    home.ok(&["key", "generate", "OUT.DES", "--type", "tdes-exporter"]);
    home.ok(&[
        "key",
        "generate",
        "OUT.AES",
        "--type",
        "aes256-exporter",
        "--usage",
        "EXPORT,WR-TR31,WRDERIVE",
    ]);
    let tdes = ["dukpt", "initial", "--base", "POS.BASE", "--ksn", SERIAL, "--under", "OUT.DES"];
    let aes = ["dukpt", "initial", "--base", "POS.AES", "--ksn", AES_SERIAL, "--under", "OUT.AES"];
    let (code, said) = home.refused(&tdes);
    assert_eq!((code, said.contains("unique-key-derive-initial")), (3, true), "{said}");

    home.ok(&["tenant", "add", "desk", "--role", "loading", "--label", "*"]);
    let credential = home.path("credential");
    home.ok(&["tenant", "credential", "desk", "--output", &credential]);
    home.credential = Some(credential);
    // Whatever the counter says.
    assert!(home.ok(&tdes).starts_with("B0104B1TX00N0100KS18FFFF9876543210E00000"));
    let block = home.ok(&aes);
    assert!(block.starts_with("D0176B1AX00N0200IK141234567890123456"), "{block}");
    let file = home.path("block");
    assert_eq!(home.ok(&[&aes[..], &["--out", &file]].concat()), "");
    let shown = home.ok(&["keyblock", "show", &file]);
    assert!(shown.contains("usage            B1"), "{shown}");

    for (order, more, exit, expected) in [
        (&tdes, &["--kind", "aes128"][..], 2, "of TDES DUKPT"),
        (&aes, &["--kind", "tdes"], 2, "of AES DUKPT"),
        (&aes, &["--kind", "aes256"], 3, "--kind"),
        (&aes, &["--output", &file], 8, "not written over"),
    ] {
        let (code, said) = home.refused(&[&order[..], more].concat());
        assert_eq!((code, said.contains(expected)), (exit, true), "{more:?}: {said}");
    }
    let mixed = ["dukpt", "initial", "--base", "POS.BASE", "--ksn", SERIAL, "--under", "OUT.AES"];
    let (code, said) = home.refused(&mixed);
    assert_eq!((code, said.contains("--under takes a DES EXPORTER key")), (3, true), "{said}");
    let (code, said) = home.refused(&mixed[..6]);
    assert_eq!((code, said.contains("--under is missing")), (2, true), "{said}");

    let terminals: String = (0..300).map(|at| format!("ksn=FFFF987654{:010X}\n", at << 21)).collect();
    let lines = ["dukpt", "initial", "--base", "POS.BASE", "--under", "OUT.DES", "--lines", "-"];
    let blocks = home.given(&lines, &terminals);
    assert_eq!(blocks.lines().count(), 300);
    for (terminal, block) in terminals.lines().zip(blocks.lines()) {
        assert_eq!((&block[20..40], block.len()), (&terminal[4..], 104));
    }
}
