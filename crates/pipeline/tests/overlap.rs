//! Stages on threads of their own: the same bytes and the same errors as with equal threads, whatever the file does
//! meanwhile.

use crate::common::*;
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Protection};
use pipeline::{
    Async, Compression, Encrypt, Error, Input, Limits, Output, Progress, Run, Sign, SignatureKind, Verify,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::{TempDir, tempdir};

const IO: Async = Async { io: true, compress: false, cipher: false };
const ALL: Async = Async { io: true, compress: true, cipher: true };
/// More than all blocks of a flow with few threads hold.
const BYTES: usize = 9_000_001;

fn path(path: &Path) -> Output {
    Output::Path { path: path.to_path_buf(), overwrite: true }
}

fn file(text: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let file = folder.path().join("text");
    fs::write(&file, text).unwrap();
    (folder, file)
}

fn protections() -> [Protection; 3] {
    [Protection::SeipdV1, seipd_v2(AeadAlgorithm::Gcm, 12), seipd_v2(AeadAlgorithm::Ocb, 6)]
}

#[test]
fn the_bytes_are_those_of_equal_threads() {
    let text = text(BYTES);
    let (folder, file) = file(&text);
    let [sealed, opened] = ["sealed", "opened"].map(|name| folder.path().join(name));
    let zip = Compression { algorithm: CompressionAlgorithm::ZIP, level: 6 };
    for (protection, compression) in
        protections().into_iter().flat_map(|one| [(one, NO_COMPRESSION), (one, zip)])
    {
        let given = Given::new(form(protection));
        let what = Encrypt { session_key: Some(&given.0), compression, ..encrypt_of(protection) };
        for (stages, threads) in [(None, 2), (Some(IO), 1), (Some(ALL), 1), (Some(ALL), 2)] {
            let overlapping = run(stages, threads);
            pipeline::encrypt(Input::Path(file.clone()), path(&sealed), &what, &overlapping).unwrap();
            // Each reads what the other wrote.
            for reader in [run(None, 1), overlapping] {
                let what = decrypt_with(&given);
                pipeline::decrypt(Input::Path(sealed.clone()), path(&opened), &what, &reader).unwrap();
                assert!(fs::read(&opened).unwrap() == text, "{protection:?} {compression:?} {stages:?}");
            }
        }
    }
}

#[test]
fn signatures_are_made_and_verified_of_the_same_bytes() {
    let text = text(BYTES);
    let (folder, file) = file(&text);
    let [signed, opened] = ["signed", "opened"].map(|name| folder.path().join(name));
    let person = Person::new("Alice <alice@example.org>", true);
    let known = Known(vec![Arc::clone(&person.certificate)]);
    let signers = [person.signer()];
    let sign = |kind, output: &Path, stages| {
        let what = Sign {
            signers: &signers,
            kind,
            is_text: false,
            armor: true,
            compression: NO_COMPRESSION,
            literal: literal(),
            now: *NOW,
        };
        pipeline::sign(Input::Path(file.clone()), path(output), &what, &run(stages, 2)).unwrap()
    };
    let verify = |input: &Path, detached: Option<&[u8]>, output, stages| {
        let what = Verify {
            verifiers: &known,
            detached,
            has_local_lines: false,
            limits: Limits::default(),
            now: *NOW,
            not_before: None,
            not_after: None,
        };
        pipeline::verify(Input::Path(input.to_path_buf()), output, &what, &run(stages, 2)).unwrap()
    };
    for (signer, verifier) in [(None, Some(IO)), (Some(IO), None), (Some(ALL), Some(ALL))] {
        sign(SignatureKind::Inline, &signed, signer);
        verify(&signed, None, Some(path(&opened)), verifier);
        assert!(fs::read(&opened).unwrap() == text);
        sign(SignatureKind::Detached, &signed, signer);
        verify(&file, Some(&fs::read(&signed).unwrap()), None, verifier);
    }
}

/// Does something to the input once it is open.
struct Meanwhile<F: Fn() + Sync>(F);

impl<F: Fn() + Sync> Progress for Meanwhile<F> {
    fn begin(&self, _total: Option<u64>) {
        self.0();
    }

    fn advance(&self, _bytes: u64) {}

    fn warn(&self, _text: &str) {}
}

#[test]
fn a_file_that_changes_its_length_meanwhile_is_refused() {
    let text = text(BYTES);
    for bytes in [BYTES as u64 + 1, BYTES as u64 - 1, 1_000_000, 0] {
        for stages in [None, Some(IO), Some(ALL)] {
            let (folder, file) = file(&text);
            let change =
                Meanwhile(|| File::options().write(true).open(&file).unwrap().set_len(bytes).unwrap());
            let run = Run { progress: &change, ..run(stages, 2) };
            let given = Given::new(form(Protection::SeipdV1));
            let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
            let out = folder.path().join("out");
            let ended = pipeline::encrypt(Input::Path(file.clone()), path(&out), &what, &run);
            let is_refused = matches!(ended, Err(Error::Input { .. })) && !out.exists();
            assert!(is_refused, "{bytes} {stages:?}: {ended:?}");
        }
    }
}

#[test]
fn a_limit_of_the_files_length_is_an_error_and_leaves_nothing() {
    const CHILD: &str = "PIPELINE_TEST_LIMITED_FOLDER";
    if let Some(folder) = std::env::var_os(CHILD) {
        let folder = PathBuf::from(folder);
        for stages in [None, Some(IO), Some(ALL)] {
            let given = Given::new(form(Protection::SeipdV1));
            let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
            let input = Input::Path(folder.join("text"));
            let failed = pipeline::encrypt(input, path(&folder.join("out")), &what, &run(stages, 2));
            let Err(Error::Output { cause, .. }) = failed else { panic!("{stages:?}: {failed:?}") };
            assert_eq!(cause.kind(), std::io::ErrorKind::FileTooLarge);
            assert!(!folder.join("out").exists());
        }
        return;
    }
    let (folder, _) = file(&text(BYTES));
    // The limit's signal is ignored, as programs do that want the error.
    let script = "trap '' XFSZ; ulimit -f 5001; exec \"$0\" --exact \"$1\"";
    let child = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg("overlap::a_limit_of_the_files_length_is_an_error_and_leaves_nothing")
        .env(CHILD, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_signal_ends_a_write_into_a_pipe_that_nobody_reads() {
    let text = text(BYTES);
    let (_folder, file) = file(&text);
    for stages in [None, Some(IO), Some(ALL)] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let flag = AtomicBool::new(false);
        let given = Given::new(form(Protection::SeipdV1));
        let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
        let run = Run { interrupted: Some(&flag), ..run(stages, 2) };
        let out = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                while has_room(&writer) {
                    std::thread::yield_now();
                }
                flag.store(true, Ordering::Relaxed);
            });
            pipeline::encrypt(Input::Path(file.clone()), path(&out), &what, &run)
        });
        assert!(matches!(ended, Err(Error::Interrupted)), "{stages:?}: {ended:?}");
        drop(writer);
        let mut written = Vec::new();
        assert!(reader.read_to_end(&mut written).unwrap() < BYTES);
    }
}

fn has_room(pipe: &std::io::PipeWriter) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&now)).unwrap() > 0
}

#[test]
fn an_error_in_the_middle_gives_up_what_is_under_way() {
    let (folder, file) = file(&text(BYTES));
    let [sealed, opened] = ["sealed", "opened"].map(|name| folder.path().join(name));
    let protection = seipd_v2(AeadAlgorithm::Gcm, 8);
    let given = Given::new(form(protection));
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(protection) };
    pipeline::encrypt(Input::Path(file), path(&sealed), &what, &run(Some(IO), 1)).unwrap();
    let message = File::options().write(true).open(&sealed).unwrap();
    message.write_all_at(b"changed", BYTES as u64 - 1_000_000).unwrap();
    for stages in [IO, ALL] {
        let input = Input::Path(sealed.clone());
        let failed = pipeline::decrypt(input, path(&opened), &decrypt_with(&given), &run(Some(stages), 2));
        assert!(matches!(failed, Err(Error::Unauthentic { .. })), "{failed:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
