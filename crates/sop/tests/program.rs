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

/// What the program says in a few words is written to a full disk, or to a pipe that nobody reads.
#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_no_panic() {
    let folder = folder();
    let path = folder.path();
    for line in ["version", "version --extended", "list-profiles encrypt", "verify sig cert", "encrypt cert"]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        for unwritable in [Stdio::from(full), Stdio::from(writer)] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_cryptand-sop"))
                .args(line.split_whitespace())
                .current_dir(path)
                .stdin(Stdio::piped())
                .stdout(unwritable)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let _ = child.stdin.take().unwrap().write_all(b"text");
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{line}: {said}");
            assert!(said.contains("No space left") || said.contains("Broken pipe"), "{line}: {said}");
            assert!(!said.contains("panicked"), "{line}: {said}");
        }
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
        ("verify --not-before=2020-13-45 sig cert", 37),
        ("inline-verify --not-after yesterday cert", 37),
        ("decrypt --verify-not-before=x --verify-with cert --verify-out out key", 37),
        ("validate-userid --validate-at=2020-02-30 Alice cert", 37),
        ("armor --label=frob", 37),
        ("generate-key --profile frob Alice", 89),
        ("encrypt --profile frob cert", 89),
        ("merge-certs missing", 61),
        ("update-key --merge-certs=cert", 41),
        ("decrypt --verify-with cert key", 23),
    ] {
        let output = run(path, line, b"text");
        assert_eq!(output.status.code(), Some(number), "{line}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn profiles_have_the_drafts_aliases() {
    let folder = folder();
    let path = folder.path();
    for (subcommand, operand) in [("generate-key", "Alice"), ("encrypt", "cert")] {
        let listed = succeeds(path, &format!("list-profiles {subcommand}"), b"");
        let listed = String::from_utf8(listed).unwrap();
        for alias in ["default", "compatibility", "performance", "security"] {
            assert!(listed.contains(alias), "{subcommand}: {alias} is not in {listed}");
            succeeds(path, &format!("{subcommand} --profile {alias} {operand}"), b"text");
        }
    }
}

#[test]
fn certificates_are_merged() {
    let folder = folder();
    let path = folder.path();
    let cert = fs::read(path.join("cert")).unwrap();
    fs::write(path.join("other"), succeeds(path, "generate-key Bob", b"")).unwrap();
    let other = succeeds(path, "extract-cert", &fs::read(path.join("other")).unwrap());
    fs::write(path.join("other-cert"), &other).unwrap();
    fs::write(path.join("revoked"), succeeds(path, "revoke-key", &fs::read(path.join("key")).unwrap()))
        .unwrap();
    assert_eq!(succeeds(path, "merge-certs", &cert), cert);
    assert_eq!(succeeds(path, "merge-certs other-cert", &cert), cert, "Bob's is not among them");
    let merged = succeeds(path, "merge-certs revoked other-cert", &cert);
    fs::write(path.join("merged"), &merged).unwrap();
    assert_eq!(run(path, "encrypt merged", b"text").status.code(), Some(17));
    assert_eq!(succeeds(path, "merge-certs --no-armor cert", &merged), succeeds(path, "dearmor", &merged));
}

#[test]
fn user_ids_are_certified_and_validated() {
    let folder = folder();
    let path = folder.path();
    let user = "Bob%<bob@example.org>".replace('%', "");
    let key = succeeds(path, "generate-key --profile rfc9580 Bob<bob@example.org>", b"");
    let target = succeeds(path, "extract-cert", &key);
    let validate = |target: &[u8], line: &str| run(path, line, target).status.code();
    let by_id = format!("validate-userid {user} cert");
    assert_eq!(validate(&target, &by_id), Some(107), "nobody has certified it yet");
    let certified = succeeds(path, &format!("certify-userid --userid={user} key"), &target);
    assert_eq!(validate(&certified, &by_id), Some(0));
    assert_eq!(validate(&certified, "validate-userid --addr-spec-only bob@example.org cert"), Some(0));
    for (line, number) in [
        ("validate-userid Robert cert", 107),
        ("validate-userid --addr-spec-only alice@example.org cert", 107),
        ("validate-userid --validate-at=2001-01-01 Bob<bob@example.org> cert", 107),
    ] {
        assert_eq!(validate(&certified, line), Some(number), "{line}");
    }
    // Of several targets each; the authority certifies itself; a user id that its owner did not sign is asked for.
    let both = [&certified[..], &target].concat();
    assert_eq!(validate(&both, &by_id), Some(107));
    assert_eq!(validate(&fs::read(path.join("cert")).unwrap(), "validate-userid Alice cert"), Some(0));
    let line = "certify-userid --userid=Robert key";
    assert_eq!(run(path, line, &target).status.code(), Some(107));
    let forged = succeeds(path, "certify-userid --no-require-self-sig --userid=Robert key", &target);
    assert_eq!(validate(&forged, "validate-userid Robert cert"), Some(107), "Bob has not signed it");
    assert_eq!(run(path, "certify-userid --userid=Alice cert", &target).status.code(), Some(41));
}

#[test]
fn keys_are_updated() {
    let folder = folder();
    let path = folder.path();
    let key = fs::read(path.join("key")).unwrap();
    // A certification by somebody else comes in with the updates.
    fs::write(path.join("ca"), succeeds(path, "generate-key Ca", b"")).unwrap();
    fs::write(path.join("ca-cert"), succeeds(path, "extract-cert", &fs::read(path.join("ca")).unwrap()))
        .unwrap();
    let cert = fs::read(path.join("cert")).unwrap();
    fs::write(path.join("certified"), succeeds(path, "certify-userid --userid=Alice ca", &cert)).unwrap();
    let updated = succeeds(path, "update-key --merge-certs=certified --no-added-capabilities", &key);
    let cert = succeeds(path, "extract-cert", &updated);
    assert_eq!(run(path, "validate-userid Alice ca-cert", &cert).status.code(), Some(0));
    fs::write(path.join("updated"), &updated).unwrap();
    fs::write(path.join("sig"), succeeds(path, "sign updated", b"text")).unwrap();
    succeeds(path, "verify sig cert", b"text");
    // What is revoked stays so, what is locked asks for its passphrase.
    fs::write(path.join("revoked"), succeeds(path, "revoke-key", &key)).unwrap();
    assert_eq!(run(path, "update-key --merge-certs=revoked", &key).status.code(), Some(103));
    fs::write(path.join("pw"), "secret").unwrap();
    let locked = succeeds(path, "change-key-password --new-key-password=pw", &key);
    assert_eq!(run(path, "update-key", &locked).status.code(), Some(67));
    succeeds(path, "update-key --with-key-password=pw", &locked);
}

#[test]
fn a_locked_key_is_told_from_a_wrong_one() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("pw"), "secret").unwrap();
    let message = succeeds(path, "encrypt cert", b"text");
    let locked =
        succeeds(path, "change-key-password --new-key-password=pw", &fs::read(path.join("key")).unwrap());
    fs::write(path.join("locked"), &locked).unwrap();
    fs::write(path.join("other"), succeeds(path, "generate-key Bob", b"")).unwrap();
    assert_eq!(run(path, "decrypt locked", &message).status.code(), Some(67));
    assert_eq!(run(path, "decrypt other", &message).status.code(), Some(29));
    assert_eq!(succeeds(path, "decrypt --with-key-password=pw locked", &message), b"text");
}
