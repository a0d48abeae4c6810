//! `cryptand emv`: over labels and files, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PAN: &str = "4012345678901234";

fn cryptand(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cryptand"))
        .arg("--home")
        .arg(home)
        .args(arguments)
        .env_remove("CRYPTAND_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Stops the home's daemon, whatever became of the test.
struct Serving<'h>(&'h Path);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        cryptand(self.0, &["stop"]);
    }
}

#[test]
fn keys_of_cards_cryptograms_and_macs_of_scripts() {
    let base = needs::short_folder();
    let home = base.path().join("home");
    let run = |arguments: &[&str]| cryptand(&home, arguments);
    let ok = |arguments: &[&str]| {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    ok(&["init", "--insecure-dev"]);
    ok(&["serve", "--background"]);
    let _serving = Serving(&home);
    ok(&["key", "generate", "EMV.AC", "--type", "tdes-dkygenky", "--usage", "DKYL1,DMAC"]);
    ok(&["key", "generate", "EMV.VISA", "--type", "tdes-dkygenky", "--usage", "DKYL0,DMAC"]);
    ok(&["key", "generate", "EMV.OUT", "--type", "tdes-exporter"]);

    let file = |name: &str| base.path().join(name).to_string_lossy().into_owned();
    let (token, out, text) = (file("card.tok"), file("out.tok"), file("text"));
    let card_key = |out: &str, more: &[&str]| {
        run(&[&["emv", "card-key", "EMV.AC", "--use", "ac", "--pan", PAN, "--out", out], more].concat())
    };
    assert!(card_key(&token, &[]).status.success());
    assert!(ok(&["token", "show", &token]).contains("DKYGENKY"));
    // What is there is not written over.
    assert_eq!(card_key(&token, &[]).status.code(), Some(8));
    let output = card_key(&out, &["--under", "EMV.OUT", "--json", "--option", "b", "--sequence", "01"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"bytes\":64"));
    assert_eq!(fs::read(&out).unwrap()[0], 2, "an external token");
    let wrong = run(&["emv", "card-key", "EMV.AC", "--use", "enc", "--pan", PAN, "--out", &file("none")]);
    assert_eq!((wrong.status.code(), Path::new(&file("none")).exists()), (Some(3), false));

    // A MAC of a script under EMV's session is one of a cryptogram too, where the session's data are the same.
    fs::write(&text, [7; 33]).unwrap();
    let data = ["--command", &text];
    let script = ["emv", "script-mac", "EMV.AC", "--pan", PAN, "--arqc", "001C000000000000"];
    let mac = ok(&[&script[..], &data].concat()).trim().to_owned();
    assert!(ok(&[&script[..], &data, &["--json"]].concat()).contains(&mac));
    let visa = ["emv", "script-mac", "EMV.VISA", "--pan", PAN, "--counter", "001C"];
    assert_eq!(ok(&[&visa[..], &data].concat()).trim().len(), 16);
    let arqc = |arqc: &str, more: &[&str]| {
        let given =
            ["emv", "arqc", "EMV.AC", "--pan", PAN, "--counter", "001C", "--data", &text, "--arqc", arqc];
        run(&[&given[..], more].concat())
    };
    let said = arqc(&mac, &["--response-code", "00"]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("the cryptogram verifies") && said.contains("ARPC "), "{said}");
    let said = arqc(&mac, &["--json", "--status", "01020304", "--own", "0102"]);
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((said["verified"].as_bool(), said["arpc"].as_str().map(str::len)), (Some(true), Some(8)));
    let alone = arqc(&mac, &["--json"]);
    let said: serde_json::Value = serde_json::from_slice(&alone.stdout).unwrap();
    assert_eq!((said["verified"].as_bool(), said["arpc"].is_null()), (Some(true), true));
    let forged = format!("{:016X}", u64::from_str_radix(&mac, 16).unwrap() ^ 1);
    let said = arqc(&forged, &["--response-code", "00", "--json"]);
    assert_eq!(said.status.code(), Some(4));
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((said["verified"].as_bool(), said["arpc"].is_null()), (Some(false), true));
    for scheme in ["visa", "tree2", "tree4"] {
        assert_eq!(arqc(&mac, &["--scheme", scheme]).status.code(), Some(4), "{scheme}");
    }
    assert_eq!(arqc(&mac, &["--scheme", "mc", "--unpredictable", "01020304"]).status.code(), Some(4));
    assert_eq!(arqc("12", &[]).status.code(), Some(2));
    assert_eq!(arqc(&mac, &["--response-code", "000"]).status.code(), Some(2));
    // What is wrong is named, with what to do.
    let given = ["emv", "arqc", "--counter", "001C", "--data", &text, "--arqc", &mac];
    for (more, exit, expected) in [
        (
            &["EMV.AC", "--pan", "40123"][..],
            2,
            "--pan: expected a PAN of 8 to 19 digits, with its check digit, not 5",
        ),
        (&["EMV.AC", "--pan", "401234567890123X"], 2, "and 'X' is none"),
        (&["EMV.AC", "--pan", PAN, "--sequence", "1"], 2, "--sequence: expected 2 digits, not 1"),
        (&["emv.ac", "--pan", PAN], 2, "ISSUER emv.ac: a label holds A-Z"),
        (&["NO.KEY", "--pan", PAN], 7, "looked for: ISSUER NO.KEY; `cryptand key list`"),
        (&["EMV.OUT", "--pan", PAN], 3, "ISSUER takes a DKYGENKY key"),
    ] {
        let said = run(&[&given[..], more].concat());
        let errors = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(exit) && errors.contains(expected), "{more:?}: {errors}");
    }
}

/// A running home for tests, and commands over it.
struct Bench {
    base: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { base: needs::short_folder() };
        bench.ok(&["init", "--insecure-dev"]);
        bench.ok(&["serve", "--background"]);
        bench
    }

    fn home(&self) -> std::path::PathBuf {
        self.base.path().join("home")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        cryptand(&self.home(), arguments)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// Enters a key of a known value, in two parts.
    fn enter(&self, label: &str, value: &str, more: &[&str]) {
        let mask = 0x1111_1111_1111_1111_1111_1111_1111_1111u128;
        let first = format!("{:032X}", u128::from_str_radix(value, 16).unwrap() ^ mask);
        for (part, value, more) in [("first", first, more), ("last", format!("{mask:032X}"), &[])] {
            let path = self.base.path().join("part");
            fs::write(&path, format!("{value}\n")).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_cryptand"))
                .arg("--home")
                .arg(self.home())
                .args(["key", "part", label, part])
                .args(more)
                .env_remove("CRYPTAND_HOME")
                .stdin(fs::File::open(&path).unwrap())
                .output()
                .unwrap();
            assert!(output.status.success(), "{label}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// Exit code and errors of a command that is refused.
    fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.run(&["stop"]);
    }
}

const ISSUER: &str = "0123456789ABCDEFFEDCBA9876543210";
const OTHER_ISSUER: &str = "23152070012345578998BABADCDCFEFE";

/// Cryptograms that pyemv 1.5.0 computes, of data as the terminal sends them and of data that are padded already.
#[test]
fn cryptograms_verify_by_each_padding() {
    let bench = Bench::new();
    bench.enter("EMV.AC", ISSUER, &["--type", "tdes-dkygenky", "--usage", "DKYL0,DMAC"]);
    let text = "0000000020000000000000000124000008000124110309003804823E5800000107";
    let bytes = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let file = |name: &str, text: &str| {
        let path = bench.base.path().join(name);
        fs::write(&path, bytes(text)).unwrap();
        path.to_string_lossy().into_owned()
    };
    let plain = file("plain", text);
    let (zeros, bit) =
        (file("zeros", &format!("{text}{:0<14}", "")), file("bit", &format!("{text}80{:0<12}", "")));
    let arqc = |scheme, data: &str, arqc, padding: &[&str]| {
        let given = ["emv", "arqc", "EMV.AC", "--pan", "1234567890123456", "--sequence", "01"];
        let more = ["--counter", "001C", "--scheme", scheme, "--data", data, "--arqc", arqc];
        bench.run(&[&given[..], &more, padding].concat()).status.code()
    };
    let (by_zeros, by_bit, common) = ("500FF70DD2FAF812", "8470F4AF02072D93", "F3FFC21231193EC8");
    for (scheme, data, value, padding, exit) in [
        ("visa", &plain, by_zeros, &[][..], 0),
        ("visa", &plain, by_zeros, &["--padding", "zeros"], 0),
        ("visa", &plain, by_bit, &["--padding", "bit"], 0),
        ("visa", &zeros, by_zeros, &["--padding", "none"], 0),
        ("visa", &bit, by_bit, &["--padding", "none"], 0),
        ("visa", &bit, by_bit, &["--padding", "bit"], 4),
        ("visa", &plain, by_bit, &[], 4),
        ("emv", &plain, common, &[], 0),
        ("emv", &plain, common, &["--padding", "bit"], 0),
        ("emv", &bit, common, &["--padding", "none"], 0),
        ("emv", &plain, common, &["--padding", "zeros"], 4),
        ("emv", &plain, common, &["--padding", "none"], 2),
    ] {
        assert_eq!(arqc(scheme, data, value, padding), Some(exit), "{scheme} {data} {padding:?}");
    }
    let given = ["emv", "arqc", "EMV.AC", "--pan", "1234567890123456", "--counter", "001C", "--arqc", common];
    let (code, errors) = bench.refused(&[&given[..], &["--data", &plain, "--padding", "none"]].concat());
    assert!(code == Some(2) && errors.contains("has 33 bytes, and data that are padded already"), "{errors}");
}

/// Data of PIN changes that pyemv 1.5.0 computes.
#[test]
fn a_new_pin_for_cards_of_visa_emv_and_mastercard() {
    let bench = Bench::new();
    bench.enter("EMV.PIN", OTHER_ISSUER, &["--type", "tdes-dkygenky", "--usage", "DKYL0,DMPIN"]);
    bench.enter("EMV.AC", ISSUER, &["--type", "tdes-dkygenky", "--usage", "DKYL0,DMAC"]);
    bench.enter("PINS.IN", "042667B59185CE5D68DF9729D0387A37", &["--type", "tdes-ipinenc"]);
    let change = |pan: &'static str, block: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        let given = ["emv", "pin-change", "EMV.PIN", "--pan", pan, "--sequence", "01"];
        [&given[..], &["--block", block, "--block-key", "PINS.IN"], more].concat()
    };
    // 1234 in a block of ISO-0 of the PAN 1234567890123456, by OpenSSL.
    let of_card = |more: &[&'static str]| change("1234567890123456", "A39B092FB87243D2", more);
    let visa = ["--scheme", "visa", "--counter", "001C", "--cryptograms", "EMV.AC"];
    let emv = ["--arqc", "500FF70DD2FAF812"];
    let mastercard = ["--scheme", "mc", "--arqc", "500FF70DD2FAF812"];
    assert_eq!(bench.ok(&of_card(&visa)).trim(), "188718BFE6F243FFD2E27DC42375DBAC");
    assert_eq!(bench.ok(&of_card(&emv)).trim(), "5B45B41366CB4F94055D459DE5DE8071");
    assert_eq!(bench.ok(&of_card(&mastercard)).trim(), "5B45B41366CB4F94");
    let said = bench.ok(&of_card(&["--scheme", "tree4", "--counter", "001C", "--json"]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["data"].as_str().map(str::len), Some(32));
    let both = [&visa[..], &["--current-block", "A39B092FB87243D2"]].concat();
    assert_ne!(bench.ok(&of_card(&both)), bench.ok(&of_card(&visa)));

    for (more, exit, expected) in [
        (&[][..], 2, "--arqc is missing"),
        (&["--counter", "001C"], 2, "--arqc is missing"),
        (&["--arqc", "12"], 2, "--arqc: expected 16 hexadecimal digits"),
        (&["--scheme", "visa", "--cryptograms", "EMV.AC"], 2, "--counter is missing"),
        (&["--scheme", "visa", "--counter", "001C"], 2, "--cryptograms is missing"),
        (&["--arqc", "500FF70DD2FAF812", "--cryptograms", "EMV.AC"], 2, "goes with --scheme visa alone"),
        (
            &["--arqc", "500FF70DD2FAF812", "--current-block", "A39B092FB87243D2"],
            2,
            "goes with --scheme visa alone",
        ),
        (
            &["--scheme", "visa", "--counter", "001C", "--cryptograms", "EMV.PIN"],
            3,
            "--cryptograms takes a DKYGENKY key",
        ),
        (&["--arqc", "500FF70DD2FAF812", "--format", "iso-3"], 3, "of another format or PAN"),
    ] {
        let (code, errors) = bench.refused(&of_card(more));
        assert!(code == Some(exit) && errors.contains(expected), "{more:?}: {errors}");
    }
    let (code, errors) = bench.refused(&change("1234567890123456", "0011223344556677", &emv));
    assert!(code == Some(3) && errors.contains("the block is not under this key"), "{errors}");
}
