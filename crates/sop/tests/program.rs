//! The program as scripts call it: words of other programs, and the draft's numbers for what is wrong.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a line of words in a folder, with an input.
fn run(folder: &Path, line: &str, input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cryptand-sop"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What is refused is not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn succeeds(folder: &Path, line: &str, input: &[u8]) -> Vec<u8> {
    let output = run(folder, line, input);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A folder with a key, its certificate, a text and its signature.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let key = succeeds(path, "generate-key Alice", b"");
    fs::write(path.join("cert"), succeeds(path, "extract-cert", &key)).unwrap();
    fs::write(path.join("key"), &key).unwrap();
    fs::write(path.join("sig"), succeeds(path, "sign key", b"text")).unwrap();
    folder
}

#[test]
fn what_others_take_is_taken() {
    let folder = folder();
    let path = folder.path();
    assert!(succeeds(path, "generate-key --armor Alice", b"").starts_with(b"-----BEGIN PGP PRIVATE"));
    assert!(succeeds(path, "encrypt --armor cert", b"text").starts_with(b"-----BEGIN PGP MESSAGE"));
    let message = succeeds(path, "encrypt --sign-with key cert", b"text");
    for line in [
        "verify --not-before - --not-after - sig cert",
        "verify --not-before=- --not-after=- sig cert",
        "verify --not-before=2020-11-23T16:35Z --not-after=now sig cert",
    ] {
        assert!(!succeeds(path, line, b"text").is_empty(), "{line}");
    }
    let line = "decrypt --verify-with cert --verify-out out --verify-not-before=- --verify-not-after - key";
    assert_eq!(succeeds(path, line, &message), b"text");
    assert!(fs::read_to_string(path.join("out")).unwrap().contains("mode:binary"));
    assert_eq!(succeeds(path, "dearmor", b""), b"");
    assert_eq!(succeeds(path, "armor --label=auto", &succeeds(path, "dearmor", &message)), message);
}

#[test]
fn a_key_for_signatures_alone_is_made_without_another() {
    let folder = folder();
    let path = folder.path();
    for profile in ["rfc4880", "rfc9580", "rfc4880-rsa"] {
        let key = succeeds(path, &format!("generate-key --signing-only --profile {profile} Alice"), b"");
        fs::write(path.join("signs"), &key).unwrap();
        fs::write(path.join("signs-cert"), succeeds(path, "extract-cert", &key)).unwrap();
        fs::write(path.join("signed"), succeeds(path, "sign signs", b"text")).unwrap();
        succeeds(path, "verify signed signs-cert", b"text");
        assert_eq!(run(path, "encrypt signs-cert", b"text").status.code(), Some(17), "{profile}");
    }
}

#[test]
fn what_is_wrong_has_the_drafts_number() {
    let folder = folder();
    let path = folder.path();
    for (line, number) in [
        ("", 19),
        ("verify", 19),
        ("verify sig", 19),
        ("sign", 19),
        ("inline-detach", 19),
        ("list-profiles", 19),
        ("list-profiles sign", 89),
        ("encrypt --as=mime cert", 37),
        ("sign --as clearsigned key", 37),
        ("sign --frobnicate key", 37),
        ("encrypt key", 41),
        ("sign cert", 41),
        ("encrypt missing", 61),
        ("frobnicate", 69),
        ("encrypt @FROB:5", 71),
        ("inline-sign --as clearsigned --no-armor key", 83),
    ] {
        let output = run(path, line, b"text");
        assert_eq!(output.status.code(), Some(number), "{line}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}
