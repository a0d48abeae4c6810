//! The stateless command line: `cryptand-sop` driven as Debian's `sqop` and `pgpainless-cli` are, by one table; and its
//! exit codes.

use super::keys::{of_ours_v4, of_sequoia_and_pgpainless, pgpainless, sqop};
use openpgp_tests::peer::{KINDS, Key, Kind, Opening, Peer, Sealing};
use openpgp_tests::run::{Files, Run, program};
use openpgp_tests::sop::{Sop, exit};

const TEXT: &[u8] = b"stateless\n- and dashed\n";

fn ours() -> Sop {
    Sop::new(program("cryptand-sop"))
}

#[test]
fn every_program_reads_what_every_other_one_writes() {
    let programs = [ours(), sqop(), pgpainless()];
    let made = ours().generate("stateless", &[], None).expect("a key");
    let locked = ours().generate("stateless locked", &[], Some("a password")).expect("a key");
    let theirs = [&of_sequoia_and_pgpainless()[2], &of_sequoia_and_pgpainless()[3]];
    let is_ours = |peer: &Sop| peer.name() == "cryptand-sop";
    for (writer, reader) in
        programs.iter().flat_map(|writer| programs.iter().map(move |reader| (writer, reader)))
    {
        if !is_ours(writer) && !is_ours(reader) {
            continue;
        }
        let key = if is_ours(writer) && !is_ours(reader) { theirs[0] } else { &made };
        let signer = if is_ours(writer) { &locked } else { theirs[1] };
        let pair = format!("{} to {}", writer.name(), reader.name());
        let sealing =
            Sealing { recipients: &[key], passphrases: &["password"], signer: Some(signer), options: &[] };
        let message = writer.encrypt(TEXT, &sealing).unwrap_or_else(|error| panic!("{pair}: {error}"));
        let opening = Opening { key: Some(key), signer: Some(signer), passphrase: None };
        assert_eq!(reader.decrypt(&message, &opening).as_deref(), Ok(TEXT), "{pair}");
        let opening = Opening { passphrase: Some("password"), ..Opening::default() };
        assert_eq!(reader.decrypt(&message, &opening).as_deref(), Ok(TEXT), "{pair}");
        for kind in KINDS {
            let signed = writer.sign(TEXT, kind, signer).unwrap_or_else(|error| panic!("{pair}: {error}"));
            let read = reader.verify(&signed, TEXT, kind, signer);
            let read = read.unwrap_or_else(|error| panic!("{pair}, {kind:?}: {error}"));
            assert!(kind.is_same(&read, TEXT), "{pair}, {kind:?}");
        }
    }
}

#[test]
fn keys_of_every_profile_work() {
    let profiles = ours().run("list-profiles").arg("generate-key").finish().output().expect("a list");
    let profiles = String::from_utf8(profiles).unwrap();
    assert!(profiles.starts_with("rfc4880: "), "the first one is the default");
    for profile in profiles.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name) {
        let option = format!("--profile={profile}");
        let key = ours().generate(profile, &[&option], None).expect("a key");
        let sealing = Sealing { recipients: &[&key], signer: Some(&key), ..Sealing::default() };
        let message = ours().encrypt(TEXT, &sealing).expect("a message");
        let opening = Opening { key: Some(&key), signer: Some(&key), passphrase: None };
        assert_eq!(ours().decrypt(&message, &opening).as_deref(), Ok(TEXT), "{profile}");
    }
    for profile in ["rfc4880", "rfc9580", "default"] {
        let option = format!("--profile={profile}");
        let sealing = Sealing { passphrases: &["password"], options: &[&option], ..Sealing::default() };
        let message = ours().encrypt(TEXT, &sealing).expect("a message");
        let opening = Opening { passphrase: Some("password"), ..Opening::default() };
        assert_eq!(ours().decrypt(&message, &opening).as_deref(), Ok(TEXT), "{profile}");
    }
}

#[test]
fn keys_are_locked_unlocked_revoked_and_merged() {
    let sop = ours();
    let key = &of_ours_v4()[0];
    let files = Files::new();
    let password = files.add("password", b"new password\n");
    let option = |name: &str| format!("--{name}={}", password.display());
    let run = sop.run("change-key-password").arg(option("new-key-password")).input(&key.secret);
    let locked = Key { secret: run.finish().output().expect("locked"), ..key.clone() };
    let locked_file = files.add("locked", &locked.secret);
    let code = sop.run("sign").arg(&locked_file).input(TEXT).finish().status.code();
    assert_eq!(code, Some(exit::KEY_IS_PROTECTED));
    let run = sop.run("sign").arg(option("with-key-password")).arg(&locked_file).input(TEXT);
    let signature = run.finish().output().expect("signed");
    assert!(sqop().verify(&signature, TEXT, Kind::Detached, key).is_ok());
    let run = sop.run("change-key-password").arg(option("old-key-password")).input(&locked.secret);
    let open = Key { secret: run.finish().output().expect("unlocked"), ..key.clone() };
    let signature = sqop().sign(TEXT, Kind::Detached, &open).expect("sqop signs with it");
    let revoked = sop.run("revoke-key").input(&key.secret).finish().output().expect("revoked");
    let run = sop.run("merge-certs").arg(files.add("revoked", &revoked)).input(&key.certificate);
    let merged = Key { certificate: run.finish().output().expect("merged"), ..key.clone() };
    assert!(sop.verify(&signature, TEXT, Kind::Detached, key).is_ok());
    for verifier in [sop, sqop()] {
        assert!(verifier.verify(&signature, TEXT, Kind::Detached, &merged).is_err(), "it is revoked");
    }
}

#[test]
fn messages_are_split_from_their_signatures() {
    let key = &of_ours_v4()[0];
    for writer in [ours(), sqop()] {
        for kind in [Kind::Inline, Kind::Cleartext] {
            let signed = writer.sign(TEXT, kind, key).expect("signed");
            let files = Files::new();
            let signatures = files.path("signatures");
            let run = ours().run("inline-detach").arg(format!("--signatures-out={}", signatures.display()));
            let text = run.input(&signed).finish().output().expect("split");
            assert!(kind.is_same(&text, TEXT));
            let signature = files.read("signatures").expect("they are written");
            for reader in [ours(), sqop()] {
                reader.verify(&signature, &text, Kind::Detached, key).expect("the signature holds alone");
            }
        }
    }
}

#[test]
fn session_keys_go_out_and_in() {
    let files = Files::new();
    for profile in ["rfc4880", "rfc9580"] {
        let name = format!("session-{profile}");
        let session = files.path(&name);
        let password = files.add("password", b"password");
        let run = ours().run("encrypt").arg(format!("--profile={profile}"));
        let run = run.arg(format!("--session-key-out={}", session.display()));
        let run = run.arg(format!("--with-password={}", password.display()));
        let message = run.input(TEXT).finish().output().expect("a message");
        let run = ours().run("decrypt").arg(format!("--with-session-key={}", session.display()));
        assert_eq!(run.input(&message).finish().output().as_deref(), Ok(TEXT), "{profile}");
        let again = files.path(&format!("{name}-again"));
        let run = ours().run("decrypt").arg(format!("--session-key-out={}", again.display()));
        let run = run.arg(format!("--with-password={}", password.display()));
        assert_eq!(run.input(&message).finish().output().as_deref(), Ok(TEXT), "{profile}");
        assert_eq!(files.read(&name), files.read(&format!("{name}-again")));
        if profile == "rfc4880" {
            let run = sqop().run("decrypt").arg(format!("--with-session-key={}", session.display()));
            assert_eq!(run.input(&message).finish().output().as_deref(), Ok(TEXT));
        }
    }
}

#[test]
fn failures_have_the_drafts_codes() {
    let files = Files::new();
    let (key, other) = (&of_ours_v4()[0], &of_ours_v4()[1]);
    let message =
        ours().encrypt(TEXT, &Sealing { recipients: &[key], ..Sealing::default() }).expect("a message");
    let signature = ours().sign(TEXT, Kind::Detached, key).expect("a signature");
    let signing_only = ours().generate("signs", &["--signing-only"], None).expect("a key");
    let mut damaged = ours().run("dearmor").input(&message).finish().output().expect("packets");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let path = |name: &str, bytes: &[u8]| files.add(name, bytes).display().to_string();
    let (key_file, other_file) = (path("key", &key.secret), path("other", &other.secret));
    let (cert_file, other_cert) = (path("cert", &key.certificate), path("other-cert", &other.certificate));
    let signs = path("signs", &signing_only.certificate);
    let garbage = path("garbage", b"no OpenPGP at all");
    let signature_file = path("signature", &signature);
    let missing = files.path("missing").display().to_string();
    let control = path("control", b"a\x01 \t b");
    let verify_with = format!("--verify-with={cert_file}");
    let session_out = format!("--session-key-out={key_file}");
    let with_password = format!("--with-password={control}");
    let cases: &[(&[&str], &[u8], i32)] = &[
        (&["verify", &signature_file, &other_cert], TEXT, exit::NO_SIGNATURE),
        (&["verify", &signature_file, &cert_file], b"another text", exit::NO_SIGNATURE),
        (&["inline-verify", &cert_file], TEXT, exit::BAD_DATA),
        (&["encrypt", &signs], TEXT, exit::CERT_CANNOT_ENCRYPT),
        (&["encrypt"], TEXT, exit::MISSING_ARG),
        (&["encrypt", &garbage], TEXT, exit::BAD_DATA),
        (&["encrypt", &key_file], TEXT, exit::BAD_DATA),
        (&["encrypt", "--as=text", &cert_file], b"\xff\xfe", exit::EXPECTED_TEXT),
        (&["encrypt", "--profile=none", &cert_file], TEXT, exit::UNSUPPORTED_PROFILE),
        (&["encrypt", "--nonsense", &cert_file], TEXT, exit::UNSUPPORTED_OPTION),
        (&["encrypt", &with_password], TEXT, exit::PASSWORD_NOT_HUMAN_READABLE),
        (&["decrypt", &other_file], &message, exit::CANNOT_DECRYPT),
        (&["decrypt", &key_file], &damaged, exit::CANNOT_DECRYPT),
        (&["decrypt", &key_file], b"no message", exit::BAD_DATA),
        (&["decrypt", &cert_file], &message, exit::BAD_DATA),
        (&["decrypt"], &message, exit::MISSING_ARG),
        (&["decrypt", &missing], &message, exit::MISSING_INPUT),
        (&["decrypt", &verify_with, &key_file], &message, exit::INCOMPLETE_VERIFICATION),
        (&["decrypt", &session_out, &key_file], &message, exit::OUTPUT_EXISTS),
        (&["sign", &cert_file], TEXT, exit::BAD_DATA),
        (&["sign", "--as=text", &key_file], b"\xff", exit::EXPECTED_TEXT),
        (&["dearmor"], b"no armor", exit::BAD_DATA),
        (&["armor"], b"no packets", exit::BAD_DATA),
        (&["frobnicate"], b"", exit::UNSUPPORTED_SUBCOMMAND),
    ];
    for (arguments, input, code) in cases {
        let done = Run::new(program("cryptand-sop")).args(*arguments).input(input).finish();
        assert_eq!(done.status.code(), Some(*code), "{done}");
        assert!(!done.output.ends_with(b"-----END PGP MESSAGE-----\n"), "{done}: a whole message left");
    }
}

#[test]
fn armor_goes_both_ways_and_twice() {
    let key = &of_ours_v4()[0];
    for armored in [&key.certificate, &key.secret] {
        let packets = ours().run("dearmor").input(armored).finish().output().expect("packets");
        assert_eq!(ours().run("dearmor").input(&packets).finish().output().as_ref(), Ok(&packets));
        let again = ours().run("armor").input(&packets).finish().output().expect("armor");
        assert_eq!(ours().run("armor").input(&again).finish().output().as_ref(), Ok(&again));
        assert_eq!(sqop().run("dearmor").input(&again).finish().output().as_ref(), Ok(&packets));
    }
}
