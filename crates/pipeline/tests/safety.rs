//! Nothing unauthenticated is left behind, and the input is never touched.

use crate::common::*;
use openpgp::body::grammar::Protected;
use openpgp::session_key::{Opened, SessionKeyPacket};
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Form, Passphrase, Protection, SymmetricKeyAlgorithm};
use pipeline::{
    Async, Candidates, Compression, Decrypt, Encrypt, Error, Input, Limits, NotOpened, Output, Run,
    SessionKeys, Unauthenticated, Verify,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::tempdir;

fn path(path: &Path, overwrite: bool) -> Output {
    Output::Path { path: path.to_path_buf(), overwrite }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn protections() -> [Protection; 3] {
    let gnupg = Protection::GnupgAead { aead: AeadAlgorithm::Ocb, chunk_bits: 8 };
    [Protection::SeipdV1, seipd_v2(AeadAlgorithm::Gcm, 8), gnupg]
}

fn message(protection: Protection, text: &[u8]) -> (Given, Vec<u8>) {
    let given = Given::new(form(protection));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(protection) };
    let message = sealed(input(text, true), &what, &run(None, 2)).unwrap();
    (given, message)
}

#[test]
fn what_is_cut_or_changed_leaves_no_file() {
    let folder = tempdir().unwrap();
    let out = folder.path().join("out");
    for protection in protections() {
        let (given, message) = message(protection, &text(600_000));
        let cuts = [message.len() - 1, message.len() - 16, message.len() - 22, message.len() / 2, 40];
        for cut in cuts {
            let failed = pipeline::decrypt(
                input(&message[..cut], true),
                path(&out, false),
                &decrypt_with(&given),
                &run(None, 2),
            );
            assert!(matches!(failed, Err(Error::Truncated { .. })), "{cut}: {failed:?}");
            assert!(names(folder.path()).is_empty());
        }
        for at in [60, 100, message.len() / 2, message.len() - 30, message.len() - 1] {
            let mut changed = message.clone();
            changed[at] ^= 0x10;
            let changed = input(&changed, true);
            let failed = pipeline::decrypt(changed, path(&out, false), &decrypt_with(&given), &run(None, 2));
            assert!(matches!(failed, Err(Error::Unauthentic { .. })), "{at}: {failed:?}");
            assert!(names(folder.path()).is_empty());
        }
    }
}

#[test]
fn a_wrong_session_key_says_no_more_than_that_it_is_not_authentic() {
    for protection in protections() {
        for bytes in [0, 100, 600_000] {
            let (_, message) = message(protection, &text(bytes));
            let wrong = openpgp::session_key::of_bytes(form(protection), vec![8; 16].into());
            let failed = opened(&message, &decrypt_with(&Given(wrong)), &run(None, 2));
            assert!(matches!(failed, Err(Error::Unauthentic { .. })), "{failed:?}");
        }
    }
}

#[test]
fn a_missing_key_leaves_no_file() {
    struct Nobody;
    impl SessionKeys for Nobody {
        fn open(&self, _: &[SessionKeyPacket], _: &Protected) -> Result<Candidates, NotOpened> {
            Err(NotOpened { why: "nobody is here".to_owned(), is_passphrase: false, is_locked: false })
        }
    }
    let folder = tempdir().unwrap();
    let (_, message) = message(Protection::SeipdV1, b"text");
    let out = path(&folder.path().join("out"), false);
    let failed = pipeline::decrypt(input(&message, true), out, &decrypt_with(&Nobody), &run(None, 1));
    assert!(matches!(failed, Err(Error::NotOpened(_))), "{failed:?}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn one_of_several_guesses_is_found() {
    struct Guesses(Vec<openpgp::PlainSessionKey>);
    impl SessionKeys for Guesses {
        fn open(&self, _: &[SessionKeyPacket], _: &Protected) -> Result<Candidates, NotOpened> {
            let mut found = Candidates::default();
            for key in &self.0 {
                found.opened(Opened { session_key: key.clone(), is_guess: true });
            }
            Ok(found)
        }
    }
    let finds = |guesses: Vec<_>, message: &[u8]| {
        let (read, summary) = opened(message, &decrypt_with(&Guesses(guesses)), &run(None, 2)).unwrap();
        assert!(read == text(300_000));
        assert_eq!(summary.opened_by.as_deref(), Some("passphrase"));
    };
    for protection in protections() {
        let (given, message) = message(protection, &text(300_000));
        let wrong = openpgp::session_key::of_bytes(form(protection), vec![8; 16].into());
        finds(vec![wrong, given.0], &message);
    }
    // A wrong passphrase for a packet of version 4 gives a cipher by chance, of any block length.
    let (given, message) = message(Protection::SeipdV1, &text(300_000));
    let of = |cipher| {
        openpgp::session_key::of_bytes(Form { cipher, ..form(Protection::SeipdV1) }, vec![8; 16].into())
    };
    for first in
        [SymmetricKeyAlgorithm::IDEA, SymmetricKeyAlgorithm::CAST5, SymmetricKeyAlgorithm::Camellia128]
    {
        for last in [SymmetricKeyAlgorithm::Blowfish, SymmetricKeyAlgorithm::AES128] {
            finds(vec![of(first), of(last), given.0.clone()], &message);
            finds(vec![of(first), given.0.clone(), of(last)], &message);
        }
    }
}

#[test]
fn a_file_is_made_for_its_owner_or_for_all_and_replaced_only_when_asked() {
    let folder = tempdir().unwrap();
    let (plain, secret, read) =
        (folder.path().join("plain"), folder.path().join("secret"), folder.path().join("read"));
    fs::write(&plain, "text").unwrap();
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    let encrypt = |out: Output| pipeline::encrypt(Input::Path(plain.clone()), out, &what, &run(None, 1));
    encrypt(path(&secret, false)).unwrap();
    assert!(matches!(encrypt(path(&secret, false)), Err(Error::OutputExists { is_folder: false, .. })));
    encrypt(path(&secret, true)).unwrap();
    let decrypt = |out: Output| {
        pipeline::decrypt(Input::Path(secret.clone()), out, &decrypt_with(&given), &run(None, 1))
    };
    decrypt(path(&read, false)).unwrap();
    assert_eq!(fs::read(&read).unwrap(), b"text");
    assert_eq!(fs::metadata(&read).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(decrypt(path(folder.path(), true)), Err(Error::OutputExists { is_folder: true, .. })));
    assert!(matches!(decrypt(path(&read, false)), Err(Error::OutputExists { is_folder: false, .. })));
    assert_eq!(names(folder.path()), ["plain", "read", "secret"]);
}

#[test]
fn the_input_is_never_the_output() {
    let folder = tempdir().unwrap();
    let [one, hard, soft] = ["one", "hard", "soft"].map(|name| folder.path().join(name));
    fs::write(&one, "text").unwrap();
    fs::hard_link(&one, &hard).unwrap();
    symlink(&one, &soft).unwrap();
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    for out in [&one, &hard, &soft] {
        let failed = pipeline::encrypt(Input::Path(one.clone()), path(out, true), &what, &run(None, 1));
        assert!(matches!(failed, Err(Error::Request { .. })), "{failed:?}");
    }
    let failed = pipeline::encrypt(
        Input::Path(folder.path().into()),
        path(&folder.path().join("out"), true),
        &what,
        &run(None, 1),
    );
    assert!(matches!(failed, Err(Error::Input { .. })), "{failed:?}");
    assert_eq!(fs::read(&one).unwrap(), b"text");
    assert_eq!(names(folder.path()), ["hard", "one", "soft"]);
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let folder = tempdir().unwrap();
    let [plain, target, soft] = ["plain", "target", "soft"].map(|name| folder.path().join(name));
    fs::write(&plain, "text").unwrap();
    fs::write(&target, "old").unwrap();
    symlink("target", &soft).unwrap();
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    pipeline::encrypt(Input::Path(plain), path(&soft, true), &what, &run(None, 1)).unwrap();
    assert!(fs::symlink_metadata(&soft).unwrap().is_symlink());
    let (read, _) = opened(&fs::read(&target).unwrap(), &decrypt_with(&given), &run(None, 1)).unwrap();
    assert_eq!(read, b"text");
}

#[test]
fn a_full_device_and_no_device_at_all_are_errors() {
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    let encrypt = |out: &str| {
        pipeline::encrypt(input(&text(600_000), true), path(Path::new(out), true), &what, &run(None, 2))
    };
    let failed = encrypt("/dev/full");
    assert!(matches!(failed, Err(Error::Output { .. })), "{failed:?}");
    assert!(matches!(encrypt("/no/such/folder/out"), Err(Error::Output { .. })));
    encrypt("/dev/null").unwrap();
}

#[test]
fn text_that_is_not_authenticated_leaves_only_as_asked() {
    let (given, message) = message(Protection::SeipdV1, &text(300_000));
    let open = |unauthenticated| {
        opened(&message, &Decrypt { unauthenticated, ..decrypt_with(&given) }, &run(None, 2))
    };
    assert!(matches!(open(Unauthenticated::Refuse), Err(Error::WouldLeaveUnauthenticated)));
    let failed = open(Unauthenticated::Buffer { bytes_max: 299_999 });
    assert!(matches!(failed, Err(Error::HeldBack { limit: 299_999 })), "{failed:?}");
    assert!(open(Unauthenticated::Buffer { bytes_max: 300_000 }).is_ok());
    assert!(open(Unauthenticated::WriteWithWarning).is_ok());
    // In chunks, what is written is authentic.
    let (given, message) = self::message(seipd_v2(AeadAlgorithm::Ocb, 8), &text(300_000));
    let what = Decrypt { unauthenticated: Unauthenticated::Refuse, ..decrypt_with(&given) };
    assert!(opened(&message, &what, &run(None, 2)).is_ok());
    let failed = opened(&message, &Decrypt { must_be_signed: true, ..what }, &run(None, 2));
    assert!(matches!(failed, Err(Error::WouldLeaveUnauthenticated)), "{failed:?}");
}

#[test]
fn nothing_of_a_buffered_text_leaves_before_it_is_authentic() {
    let (given, mut message) = message(Protection::SeipdV1, &text(300_000));
    *message.last_mut().unwrap() ^= 1;
    let memory = Memory::default();
    let failed =
        pipeline::decrypt(input(&message, true), memory.output(), &decrypt_with(&given), &run(None, 2));
    assert!(matches!(failed, Err(Error::Unauthentic { .. })));
    assert!(memory.bytes().is_empty());
}

#[test]
fn a_signal_ends_the_work_and_leaves_nothing() {
    struct Endless<'a>(&'a AtomicBool, u32);
    impl std::io::Read for Endless<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.1 += 1;
            if self.1 == 50 {
                self.0.store(true, Ordering::Relaxed);
            }
            out.fill(b'a');
            Ok(out.len())
        }
    }
    static FLAG: AtomicBool = AtomicBool::new(false);
    for stages in [None, Some(Async { io: true, compress: true, cipher: true })] {
        FLAG.store(false, Ordering::Relaxed);
        let folder = tempdir().unwrap();
        let given = Given::new(form(Protection::SeipdV1));
        let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
        let endless =
            Input::Reader { reader: Box::new(Endless(&FLAG, 0)), bytes: None, name: "endless".to_owned() };
        let run = Run { interrupted: Some(&FLAG), ..run(stages, 2) };
        let failed = pipeline::encrypt(endless, path(&folder.path().join("out"), false), &what, &run);
        assert!(matches!(failed, Err(Error::Interrupted)), "{failed:?}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn while_it_is_written_it_has_no_name() {
    struct Watched(std::path::PathBuf, std::io::Cursor<Vec<u8>>);
    impl std::io::Read for Watched {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            // A kill that comes now leaves what is seen now: nothing, or a hidden name.
            assert!(names(&self.0).iter().all(|name| name.starts_with('.')));
            self.1.read(out)
        }
    }
    let folder = tempdir().unwrap();
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    let watched = Watched(folder.path().to_path_buf(), std::io::Cursor::new(text(2 << 20)));
    let watched = Input::Reader { reader: Box::new(watched), bytes: None, name: "text".to_owned() };
    pipeline::encrypt(watched, path(&folder.path().join("out"), false), &what, &run(None, 2)).unwrap();
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn bombs_are_bounded() {
    let given = Given::new(form(Protection::SeipdV1));
    let zip = Compression { algorithm: CompressionAlgorithm::ZIP, level: 9 };
    let what = Encrypt { session_key: Some(&given.0), compression: zip, ..encrypt_of(Protection::SeipdV1) };
    let bomb = sealed(input(&vec![0; 80 << 20], true), &what, &run(None, 2)).unwrap();
    let open = |limits| opened(&bomb, &Decrypt { limits, ..decrypt_with(&given) }, &run(None, 2));
    assert!(open(Limits::default()).is_ok());
    let failed = open(Limits { expansion_max: Some(100), ..Limits::default() });
    assert!(matches!(failed, Err(Error::Limit { what: "expansion", limit: 100 })), "{failed:?}");
    let failed = open(Limits { text_bytes_max: Some(1 << 20), ..Limits::default() });
    assert!(matches!(failed, Err(Error::Limit { what: "text", .. })), "{failed:?}");
    let failed = open(Limits { nesting_max: 0, ..Limits::default() });
    assert!(matches!(failed, Err(Error::Limit { what: "nesting", limit: 0 })), "{failed:?}");
    let failed = open(Limits { packets_max: 1, ..Limits::default() });
    assert!(matches!(failed, Err(Error::Limit { what: "packets", limit: 1 })), "{failed:?}");
}

/// A packet of the new format with a length of five octets.
fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let bytes = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[0xc0 | tag, 0xff][..], &bytes, body].concat()
}

fn zipped(packets: &[u8]) -> Vec<u8> {
    let mut body = vec![u8::from(CompressionAlgorithm::ZIP)];
    let mut deflater = deflate::Deflater::new(9, deflate::Backend::best(9));
    let mut pieces = packets.chunks(deflate::PIECE_BYTES).peekable();
    while let Some(piece) = pieces.next() {
        deflater.block(&[], piece, pieces.peek().is_none(), &mut body);
    }
    packet(8, &body)
}

#[test]
fn padding_that_is_inflated_counts_as_text_does() {
    const PADDING: u8 = 21;
    const LITERAL: u8 = 11;
    let open = |padding_bytes: usize| {
        let text = packet(LITERAL, b"b\0\0\0\0\0text");
        let bomb = zipped(&zipped(&[packet(PADDING, &vec![0; padding_bytes]), text].concat()));
        assert!(bomb.len() < 8 << 10, "{}", bomb.len());
        let nobody = Known(Vec::new());
        let what = Verify {
            verifiers: &nobody,
            detached: None,
            has_local_lines: false,
            limits: Limits::default(),
            now: *NOW,
            not_before: None,
            not_after: None,
        };
        pipeline::verify(input(&bomb, true), None, &what, &run(None, 1))
    };
    let honest = open(1 << 20);
    assert!(matches!(honest, Err(Error::NoValidSignature { .. })), "{honest:?}");
    let failed = open(80 << 20);
    assert!(matches!(failed, Err(Error::Limit { what: "expansion", .. })), "{failed:?}");
}

#[test]
fn session_keys_of_another_form_and_too_many_passphrases_are_passed_over() {
    const SYMMETRIC_SESSION_KEY: u8 = 3;
    /// AES-128 under a simple hash, SHA-256: version 4.
    const VERSION_4: [u8; 4] = [4, 7, 0, 8];
    struct Counting<'a>(&'a Given, AtomicUsize);
    impl SessionKeys for Counting<'_> {
        fn open(&self, packets: &[SessionKeyPacket], body: &Protected) -> Result<Candidates, NotOpened> {
            self.1.store(packets.len(), Ordering::Relaxed);
            self.0.open(packets, body)
        }
    }
    for (protection, kept) in protections().into_iter().zip([32, 0, 32]) {
        let (given, message) = message(protection, b"text");
        let keys = packet(SYMMETRIC_SESSION_KEY, &VERSION_4).repeat(40);
        let counting = Counting(&given, AtomicUsize::new(usize::MAX));
        let message = [keys, message].concat();
        assert_eq!(opened(&message, &decrypt_with(&counting), &run(None, 1)).unwrap().0, b"text");
        assert_eq!(counting.1.into_inner(), kept, "{protection:?}");
        let failed = opened(&message, &decrypt_with(&Keys::default()), &run(None, 1));
        if kept == 0 {
            assert!(matches!(failed, Err(Error::Malformed { .. })), "{failed:?}");
        } else {
            let what = "passphrase packets";
            assert!(matches!(failed, Err(Error::Limit { what: it, limit: 32 }) if it == what), "{failed:?}");
        }
    }
}

#[test]
fn an_input_whose_length_changes_is_an_error() {
    let given = Given::new(form(Protection::SeipdV1));
    for protection in protections() {
        let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(protection) };
        for said in [99_999, 100_001] {
            let wrong = Input::Reader {
                reader: Box::new(std::io::Cursor::new(text(100_000))),
                bytes: Some(said),
                name: "text".to_owned(),
            };
            let failed = sealed(wrong, &what, &run(None, 1));
            assert!(matches!(failed, Err(Error::Input { .. })), "{said}: {failed:?}");
        }
    }
}

#[test]
fn fifos_are_read_and_written() {
    let folder = tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    let text = text(1 << 20);
    let read = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            pipeline::encrypt(input(&text, true), path(&fifo, false), &what, &run(None, 1)).unwrap();
        });
        let out = folder.path().join("out");
        let decrypted = pipeline::decrypt(
            Input::Path(fifo.clone()),
            path(&out, false),
            &decrypt_with(&given),
            &run(None, 1),
        );
        writer.join().unwrap();
        decrypted.unwrap();
        fs::read(out).unwrap()
    });
    assert!(read == text);
    assert_eq!(fs::metadata(&fifo).unwrap().mode() & 0o170_000, 0o010_000);
}

#[test]
fn nobody_to_open_it_is_refused_and_a_passphrase_is_enough() {
    let nobody = sealed(input(b"text", true), &encrypt_of(Protection::SeipdV1), &run(None, 1));
    assert!(matches!(nobody, Err(Error::Request { .. })), "{nobody:?}");
    let what =
        Encrypt { passphrases: &[Passphrase::new(b"open".to_vec())], ..encrypt_of(Protection::SeipdV1) };
    let message = sealed(input(b"text", true), &what, &run(None, 1)).unwrap();
    assert_eq!(opened(&message, &decrypt_with(&Keys::passphrase("open")), &run(None, 1)).unwrap().0, b"text");
}

#[test]
fn ten_thousand_changed_messages_give_the_text_or_an_error() {
    let text = text(3000);
    let mut random = seeded::Random(1);
    let mut random = |below| random.below(below);
    let mut messages = Vec::new();
    for protection in protections() {
        for algorithm in [CompressionAlgorithm::Uncompressed, CompressionAlgorithm::ZIP] {
            for armor in [false, true] {
                let given = Given::new(form(protection));
                let compression = Compression { algorithm, level: 1 };
                let what =
                    Encrypt { session_key: Some(&given.0), compression, armor, ..encrypt_of(protection) };
                messages.push((sealed(input(&text, false), &what, &run(None, 1)).unwrap(), given));
            }
        }
    }
    let mut refused = 0;
    for round in 0..10_000 {
        let (message, given) = &messages[round % messages.len()];
        let mut changed = message.clone();
        for _ in 0..=random(3) {
            let at = random(changed.len());
            match random(4) {
                0 => changed[at] ^= 1 << random(8),
                1 => changed[at] = random(256) as u8,
                2 => changed.truncate(at.max(1)),
                _ => changed.insert(at, random(256) as u8),
            }
        }
        match opened(&changed, &decrypt_with(given), &run(None, 1)) {
            Ok((read, _)) => assert!(read == text, "round {round}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 9_000, "{refused}");
}
