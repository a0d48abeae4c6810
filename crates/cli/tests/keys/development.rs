//! What development homes alone have: keys of known values, published test keys, and terminals. What a terminal makes
//! is read by cards.

use super::bench::{Bench, hex};
use serde_json::json;

const BASE: &str = "0123456789ABCDEFFEDCBA9876543210";
const BASE_AES: &str = "FEDCBA9876543210F1F1F1F1F1F1F1F1";
const PAN: &str = "4012345678909";
const PAN_AES: &str = "4111111111111111";

/// A home whose master keys nobody knows, which serves nothing.
fn real() -> Bench {
    let bench = Bench::empty();
    bench.succeeds(&["init", "--no-master-keys"], "");
    bench
}

#[test]
fn a_home_with_real_keys_has_none_of_it() {
    let bench = real();
    let key = bench.path("key");
    std::fs::write(&key, BASE).unwrap();
    let key = key.to_str().unwrap();
    let (ksn, mac) = ("FFFF9876543210E00001", ["terminal", "mac", "--base", key, "--text", "a"]);
    let terminals = [
        vec!["terminal", "pin", "--base", key, "--ksn", ksn, "--pan", PAN, "--pin", "1234"],
        [&mac[..], &["--ksn", ksn]].concat(),
        vec!["terminal", "data", "--initial", key, "--ksn", ksn, "--hex", "0011223344556677"],
        vec!["key", "test-keys", "--list"],
    ];
    for command in &terminals {
        let error = bench.fails(command, "", 3);
        assert!(
            error.contains("its master keys are real") && error.contains("init --insecure-dev"),
            "{error}"
        );
    }
    bench.succeeds(&["serve", "--background"], "");
    for command in [
        &["key", "test-value", "A.KEY", "--type", "tdes-mac", BASE][..],
        &["key", "test-keys"],
        &terminals[0],
        &terminals[3],
    ] {
        let error = bench.fails(command, "", 3);
        assert!(error.contains("its master keys are real"), "{command:?}: {error}");
    }
    assert_eq!(bench.succeeds(&["key", "list"], "").lines().count(), 1, "nothing was recorded");
}

#[test]
fn a_known_value_is_a_key_of_any_kind() {
    let bench = Bench::development();
    for (kind, usage, value, check) in [
        ("tdes-mac", "", BASE, "08D7B4"),
        ("aes128", "", BASE_AES, ""),
        ("aes128-mac", "GENERATE,CMAC", "2B7E151628AED2A6ABF7158809CF4F3C", ""),
        ("des-data", "", "0123456789ABCDEF", "D5D44F"),
        ("zpk", "", "3F419E1CB7079442AA37474C2EFBF8B8", "57C409"),
        ("aes256-kbpk", "", "0123456789ABCDEFFEDCBA98765432100123456789ABCDEFFEDCBA9876543210", "8B9802"),
    ] {
        let label = "A.KEY";
        let command = ["key", "test-value", label, "--type", kind, value];
        let usage = if usage.is_empty() { vec![] } else { vec!["--usage", usage] };
        bench.succeeds(&[&command[..], &usage].concat(), "");
        let list = bench.succeeds(&["key", "list", "A.*", "--json"], "");
        let rows: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
        assert_eq!(rows.len(), if matches!(kind, "zpk" | "aes256-kbpk") { 2 } else { 1 }, "{list}");
        for row in rows {
            let own = row["label"].as_str().unwrap();
            if !check.is_empty() {
                bench.succeeds(&["key", "test", own, "--check-value", check], "");
            }
            bench.succeeds(&["key", "delete", own, "--yes"], "");
        }
    }
    let refused = |more: &[&str], expected: &str| {
        let error = bench.fails(&[&["key", "test-value", "A.KEY"], more].concat(), "", 2);
        assert!(error.contains(expected), "{error}");
    };
    refused(&["--type", "tdes-mac", "0123"], "the key has 16 bytes, not 2");
    refused(&["--type", "aes256", BASE], "a key of 32 bytes");
    refused(&["--type", "tdes-mac", "xy"], "HEX: ");
    refused(&["--type", "tdes-mac", ""], "HEX: a key has digits");
    refused(&["--type", "rsa2048-sign", BASE], "a key pair is not entered in parts");
    bench.succeeds(&["key", "test-value", "A.KEY", "--type", "tdes-mac", BASE], "");
    refused(&["--type", "tdes-mac", BASE], "this record exists");
}

/// The published keys give what their sources say.
#[test]
fn published_test_keys_give_the_published_values() {
    let bench = Bench::development();
    let said = |bench: &Bench| String::from_utf8(bench.run(&["key", "test-keys"], "").stderr).unwrap();
    let first = said(&bench);
    assert!(first.contains("published test keys recorded, 0 were there"), "{first}");
    assert!(said(&bench).starts_with("0 published test keys recorded"));
    let list = bench.succeeds(&["key", "test-keys", "--list"], "");
    assert!(list.contains(BASE) && list.contains("X9.24-3"), "{list}");
    let card =
        ["--key", "TEST.CVK", "--pan", "4123456789012345", "--expires", "8701", "--service-code", "101"];
    assert!(bench.succeeds(&[&["cvv", "make"], &card[..]].concat(), "").contains("561"));
    let pvv = [
        "pin",
        "pvv",
        "--pin-key",
        "TEST.PVK.GEN",
        "--pan",
        "1122334455667788",
        "--key-index",
        "3",
        "--pin-file",
        "-",
    ];
    assert_eq!(bench.succeeds(&pvv, "4524").trim(), "4021");
    // Blocks of TR-31, A.7.2.2 and A.7.4.
    for (block, under, check) in [
        (
            "B0080P0TE00E000094B420079CC80BA3461F86FE26EFC4A3B8E4FA4C5F5341176EED7B727B8A248E",
            "TEST.ZMK.IN",
            "57C409",
        ),
        (
            "D0112P0AE00E0000B82679114F470F540165EDFBF7E250FCEA43F810D215F8D207E2E417C07156A27E8E31DA05F7425509593D03A457DC34",
            "TEST.KBPK.IN",
            "",
        ),
    ] {
        bench.succeeds(&["keyblock", "import", "-", "--label", "A.KEY", "--under", under], block);
        if !check.is_empty() {
            bench.succeeds(&["key", "test", "A.KEY", "--check-value", check], "");
        }
        bench.succeeds(&["key", "delete", "A.KEY", "--yes"], "");
    }
    // X9.24-1, annex A, and X9.24-3: the same clear block under the published zone key.
    let translate = |more: &[&str]| {
        bench.succeeds(
            &[&["pin", "translate", "--to", "TEST.ZPK.OUT", "--to-format", "iso-0"], more].concat(),
            "",
        )
    };
    let ksn = "FFFF9876543210E00001";
    let tdes = ["--from", "TEST.BDK", "--ksn", ksn, "--block", "1B9C1845EB993A7A", "--pan", PAN];
    assert_eq!(translate(&tdes).trim().len(), 16);
    let ksn = "123456789012345600000001";
    let block = "A912150391AB65A67E52883D81CE2D15";
    let aes =
        ["--from", "TEST.BDKAES", "--ksn", ksn, "--block", block, "--format", "iso-4", "--pan", PAN_AES];
    assert_eq!(translate(&aes).trim().len(), 16);
}

fn file(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.path(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// PIN blocks of the standard, and lines that `pin translate` takes as they are.
#[test]
fn a_terminal_makes_the_published_blocks_and_a_thousand_that_a_host_reads() {
    let bench = Bench::development();
    bench.succeeds(&["key", "test-keys"], "");
    let base = file(&bench, "bdk", &format!("{BASE}\n"));
    let initial = file(&bench, "ik", "6AC2 92FA A131 5B4D 858A B3A3 D7D5 933A");
    let pin = ["terminal", "pin", "--pan", PAN, "--pin", "1234"];
    for (ksn, block) in [
        ("FFFF9876543210E00001", "1B9C1845EB993A7A"),
        ("9876543210E00002", "10A01C8D02C69107"),
        ("FFFF9876543210EFF800", "33365F5CC6F23C35"),
    ] {
        for key in [["--base", &base], ["--initial", &initial]] {
            let made = bench.succeeds(&[&pin[..], &key, &["--ksn", ksn]].concat(), "");
            assert_eq!(made.trim(), block, "{ksn}");
        }
    }
    // A thousand transactions in lines, which become blocks of one zone: the same PIN, and the same block.
    let many = [&pin[..], &["--base", &base, "--ksn", "FFFF9876543210E00001", "--count", "1000"]].concat();
    let lines = bench.succeeds(&many, "");
    assert_eq!(lines.lines().count(), 1000);
    assert_eq!(
        lines.lines().next(),
        Some("ksn=FFFF9876543210E00001 pan=4012345678909 block=1B9C1845EB993A7A")
    );
    let translated = bench.succeeds(
        &["pin", "translate", "--from", "TEST.BDK", "--to", "TEST.ZPK.OUT", "--lines", "-"],
        &lines,
    );
    let mut blocks: Vec<&str> = translated.lines().collect();
    assert_eq!(blocks.len(), 1000);
    blocks.dedup();
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    // The same of lines of the caller's, one of which is wrong.
    let given = "ksn=FFFF9876543210E00001 pin=1234\n\nksn=FFFF9876543210E00002 pin=12\nname=x\nnothing\n";
    let output = bench.run(&["terminal", "pin", "--base", &base, "--pan", PAN, "--lines", "-"], given);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(3), 4), "{text}");
    assert!(
        lines[0].ends_with("block=1B9C1845EB993A7A") && lines[1].contains("error: --pin: 4 to 12"),
        "{text}"
    );
    assert!(lines[2].contains("name: no name in a line; there are ksn, pan, pin"), "{text}");
    assert!(lines[3].contains("nothing: a line has ksn="), "{text}");
}

/// Blocks of every form, of both kinds of DUKPT, under keys of each length: a card finds the PIN in each.
#[test]
fn a_card_reads_the_blocks_of_every_terminal() {
    let bench = Bench::development();
    bench.succeeds(&["key", "test-keys"], "");
    let tdes = file(&bench, "bdk", BASE);
    let aes = file(&bench, "aes", BASE_AES);
    let long = file(&bench, "long", &format!("{BASE_AES}{BASE_AES}"));
    let mut found = Vec::new();
    for (base, file, ksn, format) in [
        ("TEST.BDK", &tdes, "FFFF9876543210E00011", "iso-0"),
        ("TEST.BDK", &tdes, "FFFF9876543210E00012", "iso-3"),
        ("TEST.BDKAES", &aes, "123456789012345600000005", "iso-4"),
        ("TEST.BDKA256", &long, "123456789012345600000006", "iso-4"),
    ] {
        let terminal = [
            "terminal", "pin", "--base", file, "--ksn", ksn, "--pan", PAN_AES, "--pin", "314159", "--format",
            format,
        ];
        let block = bench.succeeds(&terminal, "");
        let mut translate = vec!["pin", "translate", "--from", base, "--ksn", ksn, "--block", block.trim()];
        translate.extend([
            "--format",
            format,
            "--pan",
            PAN_AES,
            "--to",
            "TEST.ZPK.OUT",
            "--to-format",
            "iso-0",
        ]);
        if base == "TEST.BDKA256" {
            translate.extend(["--working-key", "aes256"]);
        }
        found.push(bench.succeeds(&translate, ""));
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    let refused = |more: &[&str], expected: &str| {
        let error = bench.fails(&[&["terminal", "pin"], more].concat(), "", 2);
        assert!(error.contains(expected), "{error}");
    };
    let ksn = ["--ksn", "FFFF9876543210E00001"];
    let whole = [&ksn[..], &["--base", &tdes, "--pan", PAN, "--pin", "1234"]].concat();
    refused(&[&whole[..], &["--format", "iso-4"]].concat(), "it goes under AES");
    refused(
        &[&ksn[..], &["--base", &tdes, "--pan", "123", "--pin", "1234"]].concat(),
        "--pan: 13 to 19 digits",
    );
    refused(&[&ksn[..], &["--base", &tdes, "--pan", PAN, "--pin", "12a4"]].concat(), "--pin: 4 to 12 digits");
    refused(&[&ksn[..], &["--base", &long, "--pan", PAN, "--pin", "1234"]].concat(), "has 16 bytes, not 32");
    refused(&[&ksn[..], &["--base", &tdes, "--pan", PAN]].concat(), "--pin is missing");
    refused(&["--base", &tdes, "--pan", PAN, "--pin", "1234"], "--ksn is missing");
    refused(&[&["--ksn", "FFFF9876543210E00000"], &whole[2..]].concat(), "counter");
    refused(
        &[&["--ksn", "FFFF9876543210E00000", "--count", "2"], &whole[2..]].concat(),
        "the first is FFFF9876543210E00001",
    );
    refused(&[&["--ksn", "1234"], &whole[2..]].concat(), "20 hexadecimal digits");
    refused(&ksn, "--base");
    let no_key = file_missing(&bench);
    let error = bench.fails(
        &["terminal", "pin", "--base", &no_key, "--ksn", ksn[1], "--pan", PAN, "--pin", "1234"],
        "",
        7,
    );
    assert!(error.contains("nowhere"), "{error}");
}

fn file_missing(bench: &Bench) -> String {
    bench.path("nowhere").to_str().unwrap().to_owned()
}

/// MACs and data of terminals, verified and deciphered by cards under keys that they derive of the same transaction.
#[test]
fn macs_and_data_of_a_terminal_are_read_by_cards() {
    let bench = Bench::development();
    bench.succeeds(&["key", "test-keys"], "");
    let tdes = file(&bench, "bdk", BASE);
    let aes = file(&bench, "aes", BASE_AES);
    let derive = |base: &str, ksn: &str, kind: &str, more: &[&str]| {
        let derive =
            ["dukpt", "derive", "--base", base, "--ksn", ksn, "--type", kind, "--label", "A.DERIVED"];
        bench.succeeds(&[&derive[..], more].concat(), "");
    };
    let forget = || drop(bench.succeeds(&["key", "delete", "A.DERIVED", "--yes"], ""));
    let ksn = "FFFF9876543210E00001";
    let text = "pay 10 to Bob";
    let terminal = |kind: &str, file: &str, ksn: &str, more: &[&str]| {
        let made = bench.succeeds(&[&["terminal", kind, "--base", file, "--ksn", ksn], more].concat(), "");
        made.trim().to_owned()
    };
    let mac = terminal("mac", &tdes, ksn, &["--text", text]);
    derive("TEST.BDK", ksn, "tdes-macver", &[]);
    let verify = |mac: &str| {
        let asked = json!({"key_identifier": "label:A.DERIVED", "text": format!("text:{text}"),
            "mac": format!("hex:{mac}"), "rule_array": ["X9.19OPT"]});
        bench.verb("mac-verify", &asked)["return_code"].clone()
    };
    // The verb takes four bytes unless it is told otherwise.
    assert_eq!(verify(&mac[..8]), 0);
    let other = terminal("mac", &tdes, "FFFF9876543210E00002", &["--text", text]);
    assert_eq!(verify(&other[..8]), 4);
    assert_eq!(terminal("mac", &tdes, ksn, &["--hex", &hex(text.as_bytes())]), mac);
    assert_ne!(terminal("mac", &tdes, ksn, &["--text", text, "--response"]), mac);
    forget();

    let clear = "00112233445566778899AABBCCDDEEFF";
    let data = terminal("data", &tdes, ksn, &["--hex", clear]);
    assert_eq!(terminal("data", &tdes, ksn, &["--hex", &data, "--decipher"]), clear);
    derive("TEST.BDK", ksn, "tdes-decipher", &[]);
    let asked = json!({"key_identifier": "label:A.DERIVED", "ciphertext": format!("hex:{data}"),
        "initialization_vector": "hex:0000000000000000", "rule_array": ["CBC"],
        "chaining_vector": format!("hex:{}", "00".repeat(18))});
    let answer = bench.verb("decipher", &asked);
    assert_eq!(answer["plaintext"], format!("hex:{clear}"), "{answer}");
    forget();

    // AES: a CMAC of both directions, as `dukpt derive` has it by itself.
    let ksn = "123456789012345600000001";
    let mac = terminal("mac", &aes, ksn, &["--text", text, "--both", "--bytes", "16"]);
    derive("TEST.BDKAES", ksn, "aes128-mac", &["--usage", "GENERATE,CMAC"]);
    let asked = json!({"key_identifier": "label:A.DERIVED", "message_text": format!("text:{text}"),
        "mac_text": format!("hex:{mac}"), "rule_array": ["AES"]});
    let answer = bench.verb("mac-verify2", &asked);
    assert_eq!(answer["return_code"], 0, "{answer}");
    let refused = |kind: &str, more: &[&str], expected: &str| {
        let error = bench.fails(
            &[&["terminal", kind, "--base", &tdes, "--ksn", "FFFF9876543210E00001"], more].concat(),
            "",
            2,
        );
        assert!(error.contains(expected), "{error}");
    };
    refused("mac", &["--text", "a", "--bytes", "9"], "such a MAC has 8");
    refused("mac", &[], "--text or --hex is missing");
    refused("mac", &["--hex", "0"], "--hex: ");
    refused("data", &["--hex", "00"], "1 bytes; data are whole blocks of 8");
    refused("data", &[], "--hex is missing");
}
