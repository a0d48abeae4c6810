//! `cryptand pin` over labels, blocks and lines, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::served::Served;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const PAN: &str = "4012345678909";
/// ANSI X9.24-1, annex A.4: PIN 1234 of this PAN, in the first transaction.
const SERIAL: &str = "FFFF9876543210E00001";
const TERMINAL: &str = "1B9C1845EB993A7A";
/// ANSI X9.24-3, as the tests of openemv/dukpt repeat it: PIN 1234 of another PAN, in a block of ISO-4.
const AES_SERIAL: &str = "123456789012345600000001";
const AES_TERMINAL: &str = "A912150391AB65A67E52883D81CE2D15";
const AES_PAN: &str = "4111111111111111";
const VALIDATION: &[&str] = &["--validation-data", "4012345678909000"];

fn values(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn pins_are_translated_verified_and_made() {
    let home = Served::new();
    let zone = ["0123456789ABCDEFFEDCBA9876543210", "1032547698BADCFE0F1E2D3C4B5A6978"];
    home.key("ZONE.OUT", &["tdes-opinenc"], zone);
    home.key("ZONE.IN", &["tdes-ipinenc"], zone);
    let base = ["1032547698BADCFE0F1E2D3C4B5A6978", "1111111111111111F1C297A43D0E5B68"];
    home.key("POS.BASE", &["tdes-keygenky", "--usage", "UKPT"], base);
    let base = ["11111111111111111111111111111111", "EFCDAB8967452301E0E0E0E0E0E0E0E0"];
    home.key("POS.AES", &["aes128-dkygenky", "--usage", "A-DUKPT,D-ALL"], base);
    home.ok(&["key", "generate", "ISSUER.PVK", "--type", "tdes-pingen", "--usage", "NO-SPEC"]);
    home.ok(&[
        "key",
        "generate",
        "FOUR.OUT",
        "--type",
        "aes128-pinprot",
        "--usage",
        "ENCRYPT,ISO-4,REFORMAT",
    ]);
    translated(&home);
    verified_and_made(&home);
    clear(&home);
    of_one_method(&home);
    refusals(&home);
    lines(&home);
}

/// An issuer's key of PVVs: with one for every method, ISSUER.PVK, whoever may verify PINs also guesses them by offsets
/// of IBM 3624.
fn of_one_method(home: &Served) {
    let generate = ["key", "generate", "ISSUER.PVV", "--type", "tdes-pingen"];
    let (code, said) = home.refused(&generate);
    assert_eq!((code, said.contains("by which method its PINs are made")), (2, true), "{said}");
    home.ok(&[&generate[..], &["--usage", "VISA-PVV"]].concat());
    let block = of_terminal(home, &[]);
    let of_block = ["--block", &block, "--block-key", "ZONE.IN", "--pan", PAN];
    for (key, guesses) in [("ISSUER.PVK", true), ("ISSUER.PVV", false)] {
        let key = ["--pin-key", key];
        let pvv = home.ok(&[&["pin", "pvv"], &of_block[..], &key].concat());
        home.ok(&[&["pin", "verify"], &of_block[..], &key, &["--pvv", &pvv]].concat());
        // What the offset of a guess would be is known to whoever has a card of his own.
        let offset =
            home.ok(&[&["pin", "offset"], &of_block[..], &["--pin-key", "ISSUER.PVK"], VALIDATION].concat());
        let guess = [&["pin", "verify"], &of_block[..], &key, VALIDATION, &["--offset", &offset]].concat();
        if guesses {
            home.ok(&guess);
        } else {
            let (code, said) = home.refused(&guess);
            assert_eq!((code, said.contains("8/39") && said.contains("--usage METHOD")), (3, true), "{said}");
        }
    }
}

fn of_terminal(home: &Served, more: &[&str]) -> String {
    let own = ["pin", "translate", "--from", "POS.BASE", "--ksn", SERIAL, "--block", TERMINAL, "--pan", PAN];
    home.ok(&[&own[..], &["--to", "ZONE.OUT"], more].concat())
}

fn translated(home: &Served) {
    let block = of_terminal(home, &[]);
    assert_eq!(
        of_terminal(home, &["--to-format", "iso-0"]),
        block,
        "the same PIN and PAN make the same block"
    );
    assert_ne!(of_terminal(home, &["--to-format", "iso-3"]), block);
    let said = of_terminal(home, &["--json"]);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), json!({ "block": block }));
    let from_zone = ["pin", "translate", "--from", "ZONE.IN", "--block", &block, "--pan", PAN];
    let back = [&from_zone[..], &["--to", "POS.BASE", "--to-ksn", SERIAL]].concat();
    assert_eq!(home.ok(&back), TERMINAL);
    let four = [&from_zone[..], &["--to", "FOUR.OUT", "--to-format", "iso-4"]].concat();
    assert_eq!(home.ok(&four).len(), 32);
    // A block of ISO-4 under a key that AES derived, into one under a key that DES derived.
    let aes = ["pin", "translate", "--from", "POS.AES", "--ksn", AES_SERIAL, "--block", AES_TERMINAL];
    let aes = [&aes[..], &["--format", "iso-4", "--pan", AES_PAN, "--to-format", "iso-0"]].concat();
    let direct = home.ok(&[&aes[..], &["--to", "ZONE.OUT"]].concat());
    let derived = home.ok(&[&aes[..], &["--to", "POS.BASE", "--to-ksn", SERIAL]].concat());
    let on = ["pin", "translate", "--from", "POS.BASE", "--ksn", SERIAL, "--block", &derived];
    assert_eq!(home.ok(&[&on[..], &["--to", "ZONE.OUT"]].concat()), direct);
    assert_eq!(home.refused(&[&aes[..], &["--to", "ZONE.OUT", "--working-key", "aes256"]].concat()).0, 3);
}

fn verified_and_made(home: &Served) {
    let key = ["--pin-key", "ISSUER.PVK"];
    let block = of_terminal(home, &[]);
    let of_block = ["--block", &block, "--block-key", "ZONE.IN", "--pan", PAN];
    let offset = home.ok(&[&["pin", "offset"], &of_block[..], &key, VALIDATION].concat());
    let pvv = home.ok(&[&["pin", "pvv"], &of_block[..], &key].concat());
    assert_eq!((offset.len(), pvv.len()), (4, 4));
    // Of the clear PIN 1234 they are the same.
    let clear = ["--pin-file", "-"];
    assert_eq!(home.given(&[&["pin", "offset"], &clear[..], &key, VALIDATION].concat(), "1234\n"), offset);
    assert_eq!(home.given(&[&["pin", "pvv", "--pan", PAN], &clear[..], &key].concat(), "1234"), pvv);
    let derived = ["--block", TERMINAL, "--block-key", "POS.BASE", "--ksn", SERIAL, "--pan", PAN];
    for of in [&of_block[..], &derived] {
        let by_pvv = [&["pin", "verify"], of, &key, &["--pvv", &pvv]].concat();
        assert_eq!(home.ok(&by_pvv), "the PIN verifies");
        let by_offset = [&["pin", "verify"], of, &key, VALIDATION, &["--offset", &offset, "--json"]].concat();
        assert_eq!(home.ok(&by_offset), "{\"verified\":true}");
        home.ok(&[&["pin", "verify"], of, &["--reference", &block, "--reference-key", "ZONE.IN"]].concat());
    }
    // A reference under a derived key, and a block under one that AES derived.
    let reference = ["--reference", TERMINAL, "--reference-key", "POS.BASE", "--reference-ksn", SERIAL];
    home.ok(&[&["pin", "verify"], &of_block[..], &reference].concat());
    home.ok(&[&["pin", "verify"], &derived[..], &reference].concat());
    let from_zone = ["pin", "translate", "--from", "ZONE.IN", "--block", &block, "--to", "POS.AES"];
    let to_aes = ["--to-ksn", AES_SERIAL, "--to-working-key", "tdes3"];
    let of_aes = home.ok(&[&from_zone[..], &to_aes].concat());
    let of_aes = ["--block", &of_aes, "--block-key", "POS.AES", "--ksn", AES_SERIAL, "--pan", PAN];
    let by_pvv = [&["pin", "verify"], &of_aes[..], &key, &["--pvv", &pvv]].concat();
    home.ok(&[&by_pvv[..], &["--working-key", "tdes3"]].concat());
    home.ok(&[&["pin", "verify"], &of_aes[..], &reference, &["--working-key", "tdes3"]].concat());
    // Under another working key it is no block.
    let (code, said) = home.refused(&by_pvv);
    assert_eq!((code, said.contains("8/2514")), (3, true), "{said}");
    home.ok(&[&["pin", "verify"], &of_block[..], &key, &["--pvv", &pvv]].concat());
    let other = if pvv == "0000" { "1111" } else { "0000" };
    let wrong = [&["pin", "verify"], &of_block[..], &key, &["--pvv", other, "--json"]].concat();
    let output = home.run(&wrong, "");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(4), &b"{\"verified\":false}\n"[..]));
    // An offset leads back to the PIN of which it was made.
    let under = ["--block-key", "ZONE.OUT", "--pan", PAN];
    let generate = [&["pin", "generate"], &key[..], VALIDATION, &under].concat();
    assert_eq!(home.ok(&[&generate[..], &["--offset", &offset]].concat()), block);
    let made = home.ok(&generate);
    let of_made = ["pin", "verify", "--block", &made, "--block-key", "ZONE.IN", "--pan", PAN];
    home.ok(&[&of_made[..], &key, VALIDATION].concat());
}

fn clear(home: &Served) {
    let (file, given) = (home.path("pin"), home.path("given"));
    let generate = [&["pin", "generate", "--pin-key", "ISSUER.PVK"], VALIDATION].concat();
    assert_eq!(home.ok(&[&generate[..], &["--pin-file", &file]].concat()), "");
    let pin = fs::read_to_string(&file).unwrap();
    assert_eq!(home.ok(&[&generate[..], &["--pin-file", "-"]].concat()), pin.trim_end());
    // What is there is not written over, and what is no PIN is not read.
    assert_eq!(home.refused(&[&generate[..], &["--pin-file", &file]].concat()).0, 8);
    let offset =
        [&["pin", "offset", "--pin-key", "ISSUER.PVK", "--pin-file"], &[&*file][..], VALIDATION].concat();
    assert_eq!(home.ok(&offset), "0000");
    let offset =
        [&["pin", "offset", "--pin-key", "ISSUER.PVK", "--pin-file"], &[&*given][..], VALIDATION].concat();
    for wrong in ["", "123", "12 34", "12345678901234567", "123x"] {
        fs::write(&given, wrong).unwrap();
        let (exit, said) = home.refused(&offset);
        assert_eq!((exit, said.contains("expected a PIN")), (2, true), "{said}");
        assert!(wrong.is_empty() || !said.contains(wrong), "{said}");
    }
    assert!(Path::new(&given).exists());
}

fn refusals(home: &Served) {
    let block = of_terminal(home, &[]);
    let translate = |from, to, more: &[&str]| {
        let own = ["pin", "translate", "--from", from, "--to", to, "--block", &block, "--pan", PAN];
        home.refused(&[&own[..], more].concat())
    };
    for (from, to, more, exit, expected) in [
        (
            "ZONE.OUT",
            "ZONE.IN",
            &[][..],
            3,
            "--from takes an IPINENC key (--type tdes-ipinenc), --to takes an OPINENC",
        ),
        ("ZONE.IN", "ZONE.OUT", &["--ksn", SERIAL], 3, "a base key of TDES DUKPT (`cryptand dukpt base`"),
        ("ZONE.IN", "ZONE.OUT", &["--to-format", "iso-1"], 3, "pin-disallow-iso-1 lifted"),
        ("ZONE.IN", "ZONE.OUT", &["--to-pan", AES_PAN], 3, "pin-pan-change"),
        ("ZONE.IN", "NO.KEY", &[], 7, "looked for: --from ZONE.IN, --to NO.KEY; `cryptand key list`"),
        ("ZONE.IN", "ZONE.OUT", &["--format", "iso-4"], 2, "--block: expected 32 hexadecimal digits"),
        ("ZONE.IN", "ZONE.OUT", &["--ksn", "FFFF"], 2, "24 of AES DUKPT"),
        ("ZONE.IN", "ZONE.OUT", &["--working-key", "aes128"], 2, "--working-key"),
        ("ZONE.IN", "ZONE.OUT", &["--pad", "FF"], 2, "one hexadecimal digit"),
    ] {
        let (code, said) = translate(from, to, more);
        assert_eq!((code, said.contains(expected)), (exit, true), "{from} {to} {more:?}: {said}");
    }
    let other = ["pin", "translate", "--from", "ZONE.IN", "--to", "ZONE.OUT", "--block", "0011223344556677"];
    let (code, said) = home.refused(&[&other[..], &["--pan", PAN, "--to-format", "iso-3"]].concat());
    assert_eq!((code, said.contains("8/2514")), (3, true), "{said}");
    let random = ["pin", "encrypt", "--block-key", "ZONE.OUT", "--pan", PAN, "--random"];
    let (_, said) = home.refused(&random);
    assert!(said.contains("clear-pin-encrypt") && said.contains("cryptand role check"), "{said}");
    let table = ["--table", "9876543210123456", "--pin-file", "-"];
    let (code, said) =
        home.refused(&[&["pin", "generate", "--pin-key", "ISSUER.PVK"], VALIDATION, &table].concat());
    assert_eq!((code, said.contains("cryptand pin table add")), (3, true), "{said}");
    for (arguments, exit, expected) in [
        (&["pin", "table", "remove", "9876543210123456"][..], 7, "is not stored; `cryptand pin table list`"),
        (
            &["pin", "failures", "clear", "5f0c6a1be2d94c8f7a3be1905d24c617"],
            7,
            "`cryptand pin failures list --all`",
        ),
    ] {
        let (code, said) = home.refused(arguments);
        assert_eq!((code, said.contains(expected)), (exit, true), "{arguments:?}: {said}");
    }
    let (code, said) =
        home.refused(&["pin", "verify", "--block-key", "ZONE.IN", "--block", &block, "--pan", PAN]);
    assert_eq!((code, said.contains("give --pvv, --validation-data or --reference")), (2, true), "{said}");
    for missing in [
        &["pin", "translate"][..],
        &["pin", "verify"],
        &["pin", "generate"],
        &["pin", "offset"],
        &["pin", "pvv"],
        &["pin", "encrypt"],
    ] {
        let (code, said) = home.refused(missing);
        assert!(code == 2 && (said.contains("missing") || said.contains("give --")), "{missing:?}: {said}");
    }
}

fn lines(home: &Served) {
    let block = of_terminal(home, &[]);
    let translate = ["pin", "translate", "--to", "ZONE.OUT", "--pan", PAN, "--lines"];
    // More than are in flight at once, each in its place.
    let file = home.path("lines");
    let mut text = String::new();
    for at in 0..300 {
        text += &match at % 3 {
            0 => format!("from=POS.BASE ksn={SERIAL} block={TERMINAL}\n"),
            1 => format!("from=ZONE.IN block={block}\n\n"),
            _ => "from=ZONE.IN block=12 pan=4012345678909\n".to_owned(),
        };
    }
    fs::write(&file, text).unwrap();
    let output = home.run(&[&translate[..], &[&file]].concat(), "");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("of 300 lines 100 failed"), "{said}");
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), 300);
    for (at, answer) in answers.iter().enumerate() {
        match at % 3 {
            2 => assert!(answer.starts_with("error: --block"), "{answer}"),
            _ => assert_eq!(*answer, block),
        }
    }
    let verify =
        ["pin", "verify", "--block-key", "ZONE.IN", "--pin-key", "ISSUER.PVK", "--json", "--lines", "-"];
    let pvv = home.ok(&[
        "pin",
        "pvv",
        "--block",
        &block,
        "--block-key",
        "ZONE.IN",
        "--pan",
        PAN,
        "--pin-key",
        "ISSUER.PVK",
    ]);
    let other = if pvv == "0000" { "1111" } else { "0000" };
    let right = json!({ "id": 1, "block": block, "pan": PAN, "pvv": pvv, "key_index": 1 });
    let wrong = json!({ "id": "two", "block": block, "pan": PAN, "pvv": other, "key-index": "1" });
    let output = home.run(&verify, &format!("{right}\n{wrong}\n"));
    assert_eq!(output.status.code(), Some(4), "none failed");
    let expected = [json!({ "verified": true, "id": 1 }), json!({ "verified": false, "id": "two" })];
    assert_eq!(values(&output.stdout), expected);
    let broken = json!({ "id": 3, "block": "0011223344556677", "pan": PAN, "pvv": pvv });
    let output = home.run(&verify, &format!("{broken}\nno JSON\n{{\"x\": 1}}\n{{\"pin\": \"1234\"}}\n"));
    let said = values(&output.stdout);
    assert_eq!((output.status.code(), said.len()), (Some(3), 4));
    assert_eq!((&said[0]["id"], &said[0]["reason_code"]), (&json!(3), &json!(2514)));
    for (at, expected) in [(1, "no JSON object"), (2, "a line has no x"), (3, "a line has no pin")] {
        assert!(said[at]["error"].as_str().unwrap().contains(expected), "{}", said[at]);
    }
    // Clear PINs go in and out by lines.
    let offset = [&["pin", "offset", "--pin-key", "ISSUER.PVK", "--lines", "-"], VALIDATION].concat();
    let made = home.given(&offset, "pin=1234\npin=1235\n");
    assert_eq!(made.lines().count(), 2);
    let generate =
        ["pin", "generate", "--pin-key", "ISSUER.PVK", "--pin-file", "-", "--lines", "-", "--json"];
    let made = home.given(&generate, "{\"validation-data\": \"4012345678909000\"}\n");
    assert_eq!(serde_json::from_str::<Value>(&made).unwrap()["pin"].as_str().map(str::len), Some(4));
}

#[test]
fn base_keys_are_made_and_serial_numbers_taken_apart() {
    let home = Served::new();
    for (label, kind, serial, format) in [
        ("BASE.TDES", "tdes", SERIAL, "iso-0"),
        ("BASE.AES", "aes128", AES_SERIAL, "iso-0"),
        ("BASE.AES256", "aes256", AES_SERIAL, "iso-4"),
    ] {
        home.ok(&["dukpt", "base", label, "--kind", kind]);
        let block = if format == "iso-4" { AES_TERMINAL } else { TERMINAL };
        // Under one base key and under another: what went in comes out.
        let there = ["pin", "translate", "--format", format, "--pan", PAN, "--block", block];
        let under = ["--from", "BASE.TDES", "--ksn", SERIAL, "--to", label, "--to-ksn", serial];
        let under = if format == "iso-4" {
            ["--from", label, "--ksn", serial, "--to", label, "--to-ksn", "123456789012345600000002"]
        } else {
            under
        };
        let made = home.ok(&[&there[..], &under].concat());
        let back = ["pin", "translate", "--format", format, "--pan", PAN, "--block", &made];
        let under = [under[0], under[5], under[2], under[7], under[4], under[1], under[6], under[3]];
        assert_eq!(home.ok(&[&back[..], &under].concat()), block, "{label}");
    }
    let said = home.ok(&["dukpt", "show", SERIAL]);
    assert!(said.contains("counter     1 (1 bits set)") && said.contains("1048574 transactions"), "{said}");
    let said = home.ok(&["dukpt", "show", AES_SERIAL, "--json", "--next", "1"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["next"], json!(["123456789012345600000002"]));
    let (code, said) = home.refused(&["dukpt", "show", "FFFF9876543210FFFFFF"]);
    assert_eq!((code, said.contains("no terminal gets to")), (2, true), "{said}");
    // A card says so too.
    let used =
        ["pin", "translate", "--from", "BASE.TDES", "--to", "BASE.TDES", "--to-ksn", SERIAL, "--pan", PAN];
    let (code, said) =
        home.refused(&[&used[..], &["--ksn", "FFFF9876543210E00000", "--block", TERMINAL]].concat());
    assert_eq!((code, said.contains("cryptand dukpt show KSN")), (3, true), "{said}");
    let (code, _) = home.refused(&["dukpt", "base", "BASE.TDES"]);
    assert_ne!(code, 0, "a key is not written over");
}

const LIFTED: &str = "
[[role]]
name = \"pins\"
base = \"owner\"
allow = [\"clear-pin-encrypt\", \"pin-disallow-iso-1\", \"pin-block-restrictions\", \"pin-only-ansi-blocks\"]
";

#[test]
fn what_roles_lift_is_done() {
    let mut home = Served::with(LIFTED);
    let zone = ["0123456789ABCDEFFEDCBA9876543210", "1032547698BADCFE0F1E2D3C4B5A6978"];
    home.key("ZONE.OUT", &["tdes-opinenc"], zone);
    home.key("ZONE.IN", &["tdes-ipinenc"], zone);
    home.ok(&["key", "generate", "ISSUER.PVK", "--type", "tdes-pingen", "--usage", "NO-SPEC"]);
    home.ok(&["tenant", "add", "desk", "--role", "pins", "--label", "*"]);
    let credential = home.path("credential");
    home.ok(&["tenant", "credential", "desk", "--output", &credential]);
    home.credential = Some(credential);

    let encrypt = ["pin", "encrypt", "--block-key", "ZONE.OUT", "--pan", PAN];
    let block = home.given(&[&encrypt[..], &["--pin-file", "-"]].concat(), "1234\n");
    assert_eq!(home.ok(&[&encrypt[..], &["--random"]].concat()).len(), 16);
    let random = home.given(&[&encrypt[..], &["--lines", "-"]].concat(), "random=true\n");
    assert_eq!(random.len(), 16);
    let lines = home.run(&[&encrypt[..], &["--lines", "-"]].concat(), "pin=1234\npin=12345678901234567\n");
    let said = String::from_utf8(lines.stdout).unwrap();
    assert!(said.starts_with(&format!("{block}\nerror: a PIN has")) && !said.contains("12345"), "{said}");

    // PINs that end alike.
    let longer = home.given(&[&encrypt[..], &["--pin-file", "-"]].concat(), "991234\n");
    let compared = ["pin", "verify", "--block", &block, "--block-key", "ZONE.IN", "--pan", PAN];
    let compared = [&compared[..], &["--reference", &longer, "--reference-key", "ZONE.IN"]].concat();
    assert_eq!(home.refused(&compared).0, 4);
    assert_eq!(home.ok(&[&compared[..], &["--reference-digits", "4"]].concat()), "the PIN verifies");
    assert_eq!(home.refused(&[&compared[..], &["--reference-digits", "5"]].concat()).0, 4);
    let (code, said) = home.refused(&[&compared[..], &["--reference-digits", "3"]].concat());
    assert_eq!((code, said.contains("pin-enhanced-security")), (3, true), "{said}");

    // Into every format and back, and verified there, by each method.
    let key = ["--pin-key", "ISSUER.PVK"];
    let pvv =
        home.ok(
            &[&["pin", "pvv", "--block", &block, "--block-key", "ZONE.IN", "--pan", PAN], &key[..]].concat()
        );
    for format in [
        "iso-1", "iso-2", "iso-3", "visa-2", "visa-3", "visa-4", "eci-2", "eci-3", "3621", "3624", "4704-epp",
    ] {
        let translate = ["pin", "translate", "--from", "ZONE.IN", "--to", "ZONE.OUT", "--pan", PAN];
        let into = ["--block", &block, "--to-format", format, "--sequence", "12"];
        let made = home.ok(&[&translate[..], &into].concat());
        let back = ["--block", &made, "--format", format, "--to-format", "iso-0"];
        assert_eq!(home.ok(&[&translate[..], &back].concat()), block, "{format}");
        let verify =
            ["pin", "verify", "--block", &made, "--block-key", "ZONE.IN", "--format", format, "--pan", PAN];
        home.ok(&[&verify[..], &key, &["--pvv", &pvv, "--method", "visa-pvv4"]].concat());
        let reference = ["--reference", &block, "--reference-key", "ZONE.IN", "--reference-format", "iso-0"];
        let compared = [&verify[..], &reference].concat();
        if ["iso-1", "iso-2", "iso-3", "3624"].contains(&format) {
            home.ok(&compared);
        } else {
            let (code, said) = home.refused(&compared);
            assert_eq!((code, said.contains("iso-0 to iso-3 and 3624")), (3, true), "{said}");
        }
    }
    for (method, validation) in [("gbp", VALIDATION[1]), ("ibm-3624", VALIDATION[1]), ("interbank", "123")] {
        let rule = [&key[..], &["--method", method, "--validation-data", validation, "--pan", PAN]].concat();
        let made = home.ok(&[&["pin", "generate", "--block-key", "ZONE.OUT"], &rule[..]].concat());
        home.ok(&[&["pin", "verify", "--block", &made, "--block-key", "ZONE.IN"], &rule[..]].concat());
        assert_eq!(home.ok(&[&["pin", "generate", "--pin-file", "-"], &rule[..]].concat()).len(), 4);
    }
    let none = ["pin", "translate", "--from", "ZONE.IN", "--to", "ZONE.OUT", "--pan", PAN, "--block", &block];
    let (code, said) = home.refused(&[&none[..], &["--to-format", "3621"]].concat());
    assert_eq!((code, said.contains("--sequence")), (3, true), "{said}");
}

#[test]
fn a_pan_changes_where_a_cmac_proves_it() {
    let home = Served::new();
    let zone = ["0123456789ABCDEFFEDCBA9876543210", "1032547698BADCFE0F1E2D3C4B5A6978"];
    home.key("ZONE.OUT", &["tdes-opinenc"], zone);
    home.key("ZONE.IN", &["tdes-ipinenc"], zone);
    home.key("FOUR.IN", &["aes128-pinprot", "--usage", "DECRYPT,ISO-4,PINXLATE,REFORMAT"], zone);
    home.key("FOUR.OUT", &["aes128-pinprot", "--usage", "ENCRYPT,ISO-4,PINXLATE,REFORMAT"], zone);
    home.key("CHANGE", &["aes128-mac", "--usage", "VERIFY,PTR2AUTH"], zone);
    home.key("CHANGE.MAKE", &["aes128-mac", "--usage", "GENERATE"], zone);
    home.key(
        "POS.BASE",
        &["tdes-keygenky", "--usage", "UKPT"],
        [zone[1], "1111111111111111F1C297A43D0E5B68"],
    );
    let made = ["pin", "translate", "--from", "POS.BASE", "--ksn", SERIAL, "--block", TERMINAL, "--pan", PAN];
    let block = home.ok(&[&made[..], &["--to", "FOUR.OUT", "--to-format", "iso-4"]].concat());
    let proof = |message: &str| {
        let asked = json!({
            "rule_array": ["AES"], "key_identifier": "label:CHANGE.MAKE", "message_text": message, "mac_length": 16,
        });
        let said = home.ok(&["verb", "mac-generate2", &asked.to_string()]);
        let said: Value = serde_json::from_str(&said).unwrap();
        said["mac_text"].as_str().unwrap().trim_start_matches("hex:").to_owned()
    };
    // The PAN fields of both, as they are in blocks of ISO-4.
    let mac = proof("hex:1401234567890900000000000000000044111111111111111000000000000000");
    let change =
        ["pin", "translate", "--from", "FOUR.IN", "--to", "FOUR.OUT", "--format", "iso-4", "--block", &block];
    let change = [&change[..], &["--pan", PAN, "--to-pan", AES_PAN, "--change-key", "CHANGE"]].concat();
    let changed = home.ok(&[&change[..], &["--change-mac", &mac]].concat());
    let on = [
        "pin",
        "translate",
        "--from",
        "FOUR.IN",
        "--to",
        "ZONE.OUT",
        "--format",
        "iso-4",
        "--to-format",
        "iso-0",
    ];
    assert_eq!(home.ok(&[&on[..], &["--block", &changed, "--pan", AES_PAN]].concat()).len(), 16);
    assert_eq!(
        home.refused(&[&on[..], &["--block", &changed, "--pan", PAN]].concat()).0,
        3,
        "of the other PAN"
    );
    let wrong = if mac.starts_with('0') { mac.replacen('0', "1", 1) } else { format!("0{}", &mac[1..]) };
    assert_eq!(home.refused(&[&change[..], &["--change-mac", &wrong]].concat()).0, 4);
    // The digits of both as characters, which are equally many.
    let (other, digits) = ("4111111111116", ["--change-of", "digits", "--change-mac"]);
    let by_digits = ["pin", "translate", "--from", "FOUR.IN", "--to", "FOUR.OUT", "--format", "iso-4"];
    let by_digits = [&by_digits[..], &["--block", &block, "--pan", PAN, "--change-key", "CHANGE"], &digits];
    let by_digits = by_digits.concat();
    let mac = proof(&format!("text:{PAN}{other}"));
    let changed = home.ok(&[&by_digits[..], &[&*mac, "--to-pan", other]].concat());
    assert_eq!(home.ok(&[&on[..], &["--block", &changed, "--pan", other]].concat()).len(), 16);
    assert_eq!(home.refused(&[&by_digits[..], &[&*mac, "--to-pan", "4111111111124"]].concat()).0, 4);
    let longer = proof(&format!("text:{PAN}{AES_PAN}"));
    assert_eq!(home.refused(&[&by_digits[..], &[&*longer, "--to-pan", AES_PAN]].concat()).0, 3);
}
