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
    assert_eq!(card_key(&token, &[]).status.code(), Some(1));
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
        (&["NO.KEY", "--pan", PAN], 3, "looked for: ISSUER NO.KEY; `cryptand key list`"),
        (&["EMV.OUT", "--pan", PAN], 3, "ISSUER takes a DKYGENKY key"),
    ] {
        let said = run(&[&given[..], more].concat());
        let errors = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(exit) && errors.contains(expected), "{more:?}: {errors}");
    }
}
