//! Keys and pairs of payments: made, entered in parts, brought in from blocks, listed; and what a key that does not
//! leave lacks.

use super::bench::{Bench, hex};
use super::check_value::check_value;
use serde_json::Value;

/// A block of a payment HSM with mode N, under [`HSM_PROTECTION`]: a K0 key.
const HSM_BLOCK: &str = "B0080K0TN00N00001C414014375212C24995E405B5EE052CB92B67F455EA2680F6751088F9F1C228";
const HSM_PROTECTION: &str = "EFE0853B256B583D868F251CE99EA1D9";

/// The first line of a command's output behind `check value `.
fn value(output: &str) -> String {
    output
        .lines()
        .find_map(|line| line.strip_prefix("check value "))
        .unwrap_or_else(|| panic!("{output}"))
        .to_owned()
}

/// Enters a key in two parts; returns what the last one printed.
fn enter(bench: &Bench, label: &str, options: &[&str], key: &[u8]) -> String {
    let mask: Vec<u8> = (0..key.len() as u8).map(|at| at ^ 0x5A).collect();
    let other: Vec<u8> = key.iter().zip(&mask).map(|(key, mask)| key ^ mask).collect();
    bench.succeeds(&[&["key", "part", label, "first"], options].concat(), &hex(&mask));
    bench.succeeds(&["key", "part", label, "last"], &hex(&other))
}

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn shows(bench: &Bench, label: &str, expected: &str) {
    let shown = bench.succeeds(&["key", "show", label], "");
    assert!(shown.contains(expected), "{label}: {shown}");
}

#[test]
fn a_card_makes_the_keys_of_a_kind_and_says_what_each_does() {
    let bench = Bench::development();
    for (label, kind, out, inward) in
        [("PAY.ZPK", "zpk", "OPINENC", "IPINENC"), ("PAY.ZPK4", "aes256-zpk", "ENCRYPT", "DECRYPT")]
    {
        let output = bench.run(&["key", "generate", label, "--type", kind], "");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains(&format!("{label}.OUT: generated and recorded; it enciphers PIN blocks")),
            "{said}"
        );
        let made = value(&String::from_utf8(output.stdout).unwrap());
        for (end, word) in [("OUT", out), ("IN", inward)] {
            let key = format!("{label}.{end}");
            shows(&bench, &key, word);
            assert_eq!(value(&bench.succeeds(&["key", "test", &key], "")), made, "{key}");
        }
    }
    bench.succeeds(&["key", "generate", "PAY.CVK", "--type", "cvk"], "");
    shows(&bench, "PAY.CVK", "CVVKEY-A");
    let card = ["--pan", "4123456789012345", "--expires", "8701", "--service-code", "101"];
    bench.succeeds(&[&["cvv", "make", "--key", "PAY.CVK"], &card[..]].concat(), "");
    bench.succeeds(&["key", "generate", "PAY.TMK", "--type", "aes128-tmk"], "");
    shows(&bench, "PAY.TMK", "EXPTT31D");
    let only = ["key", "generate", "PAY.PVK", "--type", "pvk", "--only", "gen", "--usage", "ibm-pin"];
    bench.succeeds(&only, "");
    shows(&bench, "PAY.PVK.GEN", "IBM-PIN");
    bench.succeeds(&["key", "generate", "PAY.KBPK", "--type", "aes256-kbpk", "--only", "out"], "");
    shows(&bench, "PAY.KBPK.OUT", "EXPTT31D");
}

#[test]
fn what_no_card_makes_is_refused_with_the_way_on_and_records_nothing() {
    let bench = Bench::development();
    let generate = |more: &[&str], expected: &str| {
        let error = bench.fails(&[&["key", "generate", "A.KEY"], more].concat(), "", 2);
        assert!(error.contains(expected), "{error}");
    };
    for kind in ["zmk", "aes128-zmk", "aes256-kbpk"] {
        let way = format!(
            "`cryptand key part A.KEY first --type {}`",
            kind.replace("zmk", "tdes-zmk").replace("aes128-tdes", "aes128")
        );
        generate(&["--type", kind], "--only out or --only in");
        generate(&["--type", kind], &way);
    }
    generate(&["--type", "pvk"], "--only gen or --only ver");
    generate(&["--type", "zpk", "--only", "gen"], "tdes-zpk has out and in");
    generate(&["--type", "cvk", "--only", "out"], "one key");
    generate(&["--type", "tdes-mac", "--only", "out"], "no pair");
    generate(&["--type", "zpk", "--derives", "aes128"], "derives no keys");
    generate(&["--type", "aes256-pvk"], "after `aes256-` there are");
    let long = ["key", "generate", &("A2345678.".repeat(6) + "A2345"), "--type", "zpk"];
    bench.fails(&long, "", 2);
    assert_eq!(bench.succeeds(&["key", "list", "A.*"], "").lines().count(), 1, "nothing was recorded");
    // One record of a pair is there: the other is not made.
    bench.succeeds(&["key", "generate", "A.KEY.IN", "--type", "tdes-mac"], "");
    let error = bench.fails(&["key", "generate", "A.KEY", "--type", "zpk"], "", 8);
    assert!(error.contains("A.KEY.IN"), "{error}");
    bench.fails(&["key", "show", "A.KEY.OUT"], "", 7);
    shows(&bench, "A.KEY.IN", "MAC");
}

#[test]
fn a_part_goes_into_both_keys_of_a_pair_and_blocks_go_there_and_back() {
    let bench = Bench::development();
    let key: Vec<u8> = (1..=32).collect();
    let said = enter(&bench, "PAY.KBPK", &["--type", "aes256-kbpk"], &key);
    assert_eq!(value(&said), check_value(&key));
    for end in ["OUT", "IN"] {
        bench.succeeds(&["key", "test", &format!("PAY.KBPK.{end}"), "--check-value", &check_value(&key)], "");
    }
    let error = bench.fails(&["key", "part", "PAY.KBPK", "last"], &hex(&key), 2);
    assert!(error.contains("PAY.KBPK.IN: the key is complete"), "{error}");
    // Every kind leaves, and comes back as what it was.
    for (kind, usage, modes) in
        [("aes128-zpk", "P0", [("OUT", "E"), ("IN", "D")]), ("zpk", "P0", [("OUT", "E"), ("IN", "D")])]
    {
        let label = format!("A.{}", kind.to_uppercase().replace('-', "."));
        bench.succeeds(&["key", "generate", &label, "--type", kind], "");
        for (end, mode) in modes {
            let from = format!("{label}.{end}");
            let out = ["keyblock", "export", "--label", &from, "--under", "PAY.KBPK.OUT", "--version", "d"];
            let block = bench.succeeds(&[&out[..], &["--usage", usage, "--mode", mode]].concat(), "");
            let back =
                ["keyblock", "import", "-", "--label", "BACK.KEY", "--under", "PAY.KBPK.IN", "--type", kind];
            let output = bench.run(&back, &block);
            let said = String::from_utf8(output.stderr).unwrap();
            let other = if end == "OUT" { "IN" } else { "OUT" };
            assert!(said.contains(&format!("BACK.KEY.{other}: none, for the mode")), "{said}");
            let came = format!("BACK.KEY.{end}");
            let made = value(&bench.succeeds(&["key", "test", &from], ""));
            assert_eq!(value(&String::from_utf8(output.stdout).unwrap()), made);
            bench.succeeds(&["key", "test", &came, "--check-value", &made], "");
            bench.succeeds(&["key", "delete", &came, "--yes"], "");
        }
    }
    // The same part twice: both keys stay as they are.
    let first = ["key", "part", "B.ZMK", "first", "--type", "aes128-zmk"];
    let last = ["key", "part", "B.ZMK", "last"];
    bench.succeeds(&first, &hex(&key[..16]));
    let error = bench.fails(&last, &hex(&key[..16]), 2);
    assert!(error.contains("`cryptand key delete B.ZMK.IN`, `cryptand key delete B.ZMK.OUT`"), "{error}");
    let error = bench.fails(&first, &hex(&key[..16]), 2);
    assert!(error.contains("B.ZMK.OUT: this record exists"), "{error}");
    bench.succeeds(&last, &hex(&key[16..]));
    assert!(bench.fails(&["key", "part", "C.KEY", "last"], "", 7).contains("no key record"));
    bench.succeeds(&["key", "part", "C.PVK", "first", "--type", "pvk", "--only", "ver"], &hex(&key[..16]));
    bench.fails(&["key", "show", "C.PVK.GEN"], "", 7);
}

#[test]
fn a_block_that_says_no_direction_comes_in_as_a_pair() {
    let bench = Bench::development();
    enter(&bench, "HSM.ZMK", &["--type", "zmk"], &bytes(HSM_PROTECTION));
    let import = |label: &'static str, kind: &'static str| {
        ["keyblock", "import", "-", "--label", label, "--under", "HSM.ZMK.IN", "--type", kind]
    };
    let came = bench.succeeds(&import("PARTNER.ZMK", "zmk"), HSM_BLOCK);
    assert_eq!(value(&came), "5C9405");
    shows(&bench, "PARTNER.ZMK.OUT", "EXPORTER");
    shows(&bench, "PARTNER.ZMK.IN", "IMPORTER");
    let only = [&import("ONE.ZMK", "zmk")[..], &["--only", "in"]].concat();
    bench.succeeds(&only, HSM_BLOCK);
    bench.fails(&["key", "show", "ONE.ZMK.OUT"], "", 7);
    for (kind, expected) in [
        ("zpk", "no tdes-zpk, whose blocks have usage P0"),
        ("aes128-zmk", "no key of aes128-zmk has this mode and algorithm"),
        ("tdes-mac", "a kind of payments, such as zpk"),
    ] {
        let error = bench.fails(&import("NEW.KEY", kind), HSM_BLOCK, 2);
        assert!(error.contains(expected), "{error}");
    }
    let both = [&import("NEW.KEY", "zmk")[..], &["--as", "EXPORTER"]].concat();
    assert!(bench.fails(&both, HSM_BLOCK, 2).contains("cannot be used with"));
    assert_eq!(bench.succeeds(&["key", "list", "NEW.*"], "").lines().count(), 1, "nothing was recorded");
}

#[test]
fn an_export_that_is_refused_names_the_words_that_are_the_cause() {
    let bench = Bench::development();
    let key: Vec<u8> = (1..=32).collect();
    enter(&bench, "PAY.KBPK", &["--type", "aes256-kbpk"], &key);
    for (label, kind, words) in [
        ("A.PIN", "aes128-pinprot", "DECRYPT,ISO-4,PINXLATE"),
        ("A.MASTER", "tdes-dkygenky", "DKYL1,DMAC"),
        ("A.STAYS", "tdes-mac", "NO-XPORT"),
        ("A.STAYS2", "aes256-cipher", "NOEX-SYM,CBC"),
        ("A.GEN", "tdes-pingen", "IBM-PIN"),
    ] {
        bench.succeeds(&["key", "generate", label, "--type", kind, "--usage", words], "");
    }
    for (label, usage, mode, expected) in [
        ("A.PIN", "P0", "D", "A.PIN: the key lacks EPINVER, CPINGENA, REFORMAT, and as P0, mode D"),
        ("A.PIN", "p0", "e", "it has DECRYPT, which such a key has not"),
        ("A.MASTER", "E0", "X", "DKYL0: --vector says which it is"),
        ("A.STAYS", "M3", "C", "NO-XPORT keeps the key here"),
        ("A.STAYS2", "D0", "B", "NOEX-SYM keeps the key here"),
        ("A.GEN", "V2", "C", "lacks VISA-PVV"),
        ("A.GEN", "C0", "C", "the key is PINGEN, and C0 with the mode C is of MAC"),
        ("A.GEN", "B0", "C", "the key is PINGEN, which leaves under no B0"),
        ("A.MASTER", "E0", "C", "DKYGENKY keys leave under E0 with the mode X"),
        ("DEV.TDES.DATA", "P0", "E", "the key is DATA, and P0 with the mode E is of OPINENC"),
    ] {
        let export = ["keyblock", "export", "--label", label, "--under", "PAY.KBPK.OUT", "--version", "d"];
        let error = bench.fails(&[&export[..], &["--usage", usage, "--mode", mode]].concat(), "", 3);
        assert!(error.contains(expected), "{label} {usage} {mode}: {error}");
    }
    // As the message says, it leaves.
    let said = "DECRYPT,CBC,EPINVER,CPINGENA,PINXLATE,REFORMAT,NOFLDFMT,ISO-4";
    bench.succeeds(&["key", "generate", "B.PIN", "--type", "aes128-pinprot", "--usage", said], "");
    let export = ["keyblock", "export", "--label", "B.PIN", "--under", "PAY.KBPK.OUT", "--version", "d"];
    bench.succeeds(&[&export[..], &["--usage", "P0", "--mode", "D"]].concat(), "");
}

#[test]
fn a_list_says_kinds_dates_and_check_values() {
    let bench = Bench::development();
    let key: Vec<u8> = (1..=16).collect();
    enter(&bench, "A.KEK", &["--type", "aes128-exporter"], &key);
    bench.succeeds(&["key", "part", "A.HALF", "first", "--type", "tdes-importer"], &hex(&key));
    bench.succeeds(&["key", "generate", "A.SIGN", "--type", "p256-sign"], "");
    bench.succeeds(&["key", "generate", "A.HMAC", "--type", "hmac-sha256"], "");
    let plain = bench.succeeds(&["key", "list"], "");
    assert!(plain.contains("kind") && plain.contains(" UTC") && !plain.contains("check value"), "{plain}");
    let line = |text: &str, label: &str| {
        text.lines()
            .find(|line| line.trim().starts_with(label))
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned()
    };
    let listed = bench.succeeds(&["key", "list", "--check-values"], "");
    for (label, expected) in [
        ("A.KEK", "aes-exporter"),
        ("A.KEK", &*check_value(&key)),
        ("A.HALF", "tdes-importer, parts missing"),
        ("A.SIGN", "ECC P-256 SIG-ONLY"),
        ("A.HMAC", "hmac"),
        ("DEV.AES192.DATA", "aes192"),
        ("DEV.DES.DATA", "des-data"),
        ("DEV.RSA2048.KEY", "RSA 2048 bits"),
    ] {
        let line = line(&listed, label);
        assert!(line.contains(expected), "{line}");
    }
    let rows: Vec<Value> =
        serde_json::from_str(&bench.succeeds(&["key", "list", "A.*", "--check-values", "--json"], ""))
            .unwrap();
    let row = |label: &str| rows.iter().find(|row| row["label"] == label).unwrap();
    assert_eq!(
        (&row("A.KEK")["kind"], &row("A.KEK")["check_value"]),
        (&"aes-exporter".into(), &check_value(&key).into())
    );
    assert_eq!(row("A.KEK")["check_value_method"], "CMAC");
    assert!(row("A.KEK")["written_unix_s"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(row("A.HALF")["is_incomplete"], true);
    assert!(row("A.SIGN").get("check_value").is_none());
    let other = bench.fails(&["key", "list", "--check-values", "--domain", "9"], "", 3);
    assert!(other.contains("this home has the domains 0 to 0"), "{other}");
    assert!(bench.fails(&["key", "list", "--domain", "0"], "", 2).contains("--check-values"));
}

/// Three people draw components on sheets, type them, and sign what came of it.
#[test]
fn components_are_drawn_on_sheets_and_typed_from_them() {
    let bench = Bench::development();
    for (label, kind, digits, steps) in [
        ("PAY.ZMK", "zmk", 32, ["first", "add", "last"]),
        ("PAY.KBPK", "aes256-kbpk", 64, ["first", "add", "last"]),
    ] {
        let mut values = Vec::new();
        let mut whole = vec![0; digits / 2];
        for (at, step) in steps.into_iter().enumerate() {
            let part = (at + 1).to_string();
            let draw = ["key", "component", label, "--type", kind, "--part", &part, "--of", "3"];
            // No home is asked: it may be drawn on another machine.
            let sheet = Bench::fed(
                {
                    let mut command = bench.command(&draw);
                    command.env("CRYPTAND_HOME", "/nowhere");
                    command
                },
                "",
            );
            let sheet = String::from_utf8(sheet.stdout).unwrap();
            assert!(sheet.contains(&format!("component {part} of 3")), "{sheet}");
            let lines = sheet.lines().skip_while(|line| !line.starts_with("component "));
            let digits_of: String = lines.take_while(|line| !line.is_empty()).collect();
            let component: String = digits_of.trim_start_matches("component").split_whitespace().collect();
            assert_eq!(component.len(), digits, "{sheet}");
            let component = bytes(&component);
            whole.iter_mut().zip(&component).for_each(|(all, byte)| *all ^= byte);
            // The command that the sheet says.
            let typed = sheet.lines().find_map(|line| line.trim().strip_prefix("cryptand ")).unwrap();
            let typed: Vec<&str> = typed.split(' ').collect();
            assert_eq!(typed[..4], ["key", "part", label, step]);
            values.push(typed.last().unwrap().to_string());
            if step == "last" {
                let early = bench.fails(&["key", "sheet", label], "", 2);
                assert!(early.contains("lacks parts"), "{early}");
            }
            let wrong = bench.fails(&typed, &hex(&vec![0x11; digits / 2]), 2);
            assert!(wrong.contains("another part than that of the sheet"), "{wrong}");
            bench.succeeds(&typed, &hex(&component));
        }
        let mut record = vec!["key", "sheet", label];
        values.iter().for_each(|value| record.extend(["--component", value]));
        let record = bench.succeeds(&record, "");
        let key = value(&bench.succeeds(&["key", "test", &format!("{label}.IN")], ""));
        assert!(values.iter().chain([&key]).all(|value| record.contains(value)), "{record}");
        assert!(
            record.contains(&format!("{label}.OUT")) && record.contains(&format!("{label}.IN")),
            "{record}"
        );
        if digits == 64 {
            assert_eq!(key, check_value(&whole));
        }
    }
    let html = bench.succeeds(&["key", "sheet", "PAY.ZMK", "--html"], "");
    assert!(html.contains("PAY.ZMK.OUT") && html.contains("size: A4"), "{html}");
    for (more, expected) in [
        (&["--part", "3"][..], "the key has 2 components"),
        (&["--part", "0"], "--part"),
        (&["--part", "1", "--type", "rsa2048-sign"], "not entered in parts"),
    ] {
        let own = if more.contains(&"--type") { &[][..] } else { &["--type", "zmk"] };
        let error = bench.fails(&[&["key", "component", "A.KEY"], own, more].concat(), "", 2);
        assert!(error.contains(expected), "{error}");
    }
    assert!(bench.fails(&["key", "sheet", "A.KEY"], "", 7).contains("no key record"));
    assert!(bench.fails(&["key", "sheet", "PAY.ZMK", "--component", "1"], "", 2).contains("--check-value"));
}
