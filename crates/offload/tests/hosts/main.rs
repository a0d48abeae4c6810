//! Programs in C and Rust use the library over real homes; OpenSSL checks what they get.

use cryptand_offload::{Answer, LoopOptions, Offload, Options, Status};
use openssl::ec::EcKey;
use openssl::ecdsa::EcdsaSig;
use openssl::encrypt::Encrypter;
use openssl::pkey::{PKey, Public};
use openssl::rsa::Padding;
use openssl::sign::Verifier;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use system_tests::{Installation, program};
use tempfile::TempDir;

/// Warnings are errors.
const CC_FLAGS: [&str; 5] = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"];
const RSA: &str = "WEB.RSA";
const P256: &str = "WEB.P256";

/// A home with two keys, and a folder with the library under the names that linker and loader look for.
struct Setting {
    installation: Installation,
    folder: TempDir,
}

impl Setting {
    fn new() -> Self {
        let (installation, folder) = (Installation::new(2, 0), TempDir::new().unwrap());
        installation.until_ready();
        let library = built().join("libcryptand_offload.so");
        for name in ["libcryptand-offload.so", "libcryptand-offload.so.1"] {
            symlink(&library, folder.path().join(name)).unwrap();
        }
        let setting = Self { installation, folder };
        for (label, kind) in [(RSA, "rsa2048-tls"), (P256, "p256-sign")] {
            setting.generate(label, kind);
        }
        setting
    }

    fn generate(&self, label: &str, kind: &str) {
        let mut command = Command::new(program("cryptand"));
        command.arg("--home").arg(self.home()).args(["key", "generate", label, "--type", kind]);
        said(&mut command);
    }

    fn home(&self) -> &Path {
        self.installation.home.folder()
    }

    fn compile(&self, source: &str) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = self.folder.path().join(Path::new(source).file_stem().unwrap());
        let mut command = Command::new("cc");
        command.args(CC_FLAGS).arg("-I").arg(root.join("include")).arg("-o").arg(&out).arg(root.join(source));
        said(command.arg("-L").arg(self.folder.path()).args(["-lcryptand-offload", "-lpthread"]));
        let mut command = Command::new(out);
        command.env("LD_LIBRARY_PATH", self.folder.path()).env_remove("CRYPTAND_CREDENTIAL_FILE");
        command
    }
}

/// The folder that the library and the tests are built in.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// What a program writes, that must end well.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}: {out}{error}", output.status);
    out.into_owned()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// Whether a signature of TLS over a text verifies.
fn verifies(key: &PKey<Public>, scheme: &str, text: &[u8], signature: &[u8]) -> bool {
    let mut verifier = Verifier::new(openssl::hash::MessageDigest::sha256(), key).unwrap();
    if scheme == "0804" {
        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_pss_saltlen(openssl::sign::RsaPssSaltlen::DIGEST_LENGTH).unwrap();
    }
    verifier.verify_oneshot(signature, text).unwrap()
}

#[test]
fn the_examples_sign_what_openssl_verifies() {
    let setting = Setting::new();
    let text = b"a handshake";
    let digest: String = openssl::sha::sha256(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let in_rust = built().parent().unwrap().join("examples/event_loop");
    for (label, scheme) in [(RSA, "0804"), (RSA, "0401"), (P256, "0403")] {
        for mut command in [setting.compile("examples/poll.c"), Command::new(&in_rust)] {
            command.arg(setting.home()).args([label, scheme, "300", &digest]);
            let lines = said(&mut command);
            let mut lines = lines.lines().map(bytes);
            // Cards answer in any order; the key alone is no signature.
            let answers: Vec<Vec<u8>> = lines.by_ref().collect();
            let keys: Vec<_> = answers.iter().filter_map(|der| PKey::public_key_from_der(der).ok()).collect();
            assert_eq!((keys.len(), answers.len()), (1, 301), "{label} {scheme}");
            let right = answers.iter().filter(|answer| {
                PKey::public_key_from_der(answer).is_err() && verifies(&keys[0], scheme, text, answer)
            });
            assert_eq!(right.count(), 300, "{label} {scheme}");
        }
    }
}

#[test]
fn what_programs_in_c_do_wrong_is_answered() {
    let setting = Setting::new();
    let mut command = setting.compile("tests/hosts/host.c");
    assert_eq!(said(command.arg(setting.home()).args([RSA, P256])), "all as the header says\n");
}

/// Each thread has a handle and a key of its own, ends, and is followed by another one.
#[test]
fn threads_with_a_key_each_get_what_they_asked_for() {
    const REQUESTS: u64 = 20;
    const TURNS: u64 = 3;
    let setting = Setting::new();
    let labels: Vec<String> = (0..32).map(|number| format!("WEB.T{number}")).collect();
    labels.iter().for_each(|label| setting.generate(label, "p256-sign"));
    for threads in [2, 32] {
        let mut command = setting.compile("tests/hosts/threads.c");
        command.arg(setting.home()).args([threads.to_string(), REQUESTS.to_string()]);
        let lines = said(command.args(&labels[..threads]));
        let mut answers = BTreeMap::new();
        for line in lines.lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            let [thread, request, answer] = parts[..] else { panic!("{line}") };
            let which: (u8, u8) = (thread.parse().unwrap(), request.parse().unwrap());
            assert!(answers.insert(which, bytes(answer)).is_none(), "{which:?} is answered twice");
        }
        assert_eq!(answers.len() as u64, threads as u64 * TURNS * REQUESTS);
        let keys: Vec<_> = (0..threads as u8).map(|thread| answers.remove(&(thread, 0)).unwrap()).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), threads, "a key each");
        let keys: Vec<EcKey<Public>> =
            keys.iter().map(|der| EcKey::public_key_from_der(der).unwrap()).collect();
        for ((thread, request), answer) in answers {
            let digest = [[thread; 16], [request; 16]].concat();
            let signature = EcdsaSig::from_der(&answer).unwrap();
            let verifies = signature.verify(&digest, &keys[usize::from(thread)]).unwrap();
            assert!(verifies, "{threads} threads: request {request} of thread {thread}");
        }
    }
}

#[test]
fn a_premaster_opens_and_a_wrong_one_gives_other_bytes() {
    let setting = Setting::new();
    let mut offload = Offload::open(setting.home(), Options::default(), LoopOptions::default()).unwrap();
    let key = offload.key(RSA).unwrap();
    offload.public_key(1, key).unwrap();
    let next = |offload: &mut Offload| loop {
        if let Some(finished) = offload.collect() {
            return finished;
        }
        offload.wait(None);
    };
    let Ok(Answer::PublicKey(_, der)) = next(&mut offload).answer else { panic!("no key") };
    let public = PKey::public_key_from_der(&der).unwrap();
    let mut secret = [7; 48];
    (secret[0], secret[1]) = (3, 3);
    let enciphered = |text: &[u8]| {
        let mut encrypter = Encrypter::new(&public).unwrap();
        encrypter.set_rsa_padding(Padding::PKCS1).unwrap();
        let mut out = vec![0; encrypter.encrypt_len(text).unwrap()];
        let count = encrypter.encrypt(text, &mut out).unwrap();
        out.truncate(count);
        out
    };
    for (ciphertext, is_right) in [
        (enciphered(&secret), true),
        (enciphered(&secret[..47]), false),
        (vec![0xFF; 256], false),
        (vec![1], false),
        (vec![1; 512], false),
    ] {
        offload.premaster(2, key, &ciphertext).unwrap();
        match next(&mut offload).answer {
            Ok(Answer::Premaster(found)) => assert_eq!(*found == secret, is_right),
            other => panic!("{other:?}"),
        }
    }
    // A key that signs alone opens none.
    let p256 = offload.key(P256).unwrap();
    offload.premaster(3, p256, &[1; 256]).unwrap();
    let error = next(&mut offload).answer.unwrap_err();
    assert!(error.status == Status::Refused && error.codes.is_some(), "{error:?}");
    assert!(error.text.starts_with("open a premaster with WEB.P256: "), "{error}");
}

#[test]
fn the_library_asks_for_its_name_and_exports_what_the_header_declares() {
    let library = built().join("libcryptand_offload.so");
    let dynamic = said(Command::new("readelf").arg("-Wd").arg(&library));
    assert!(dynamic.contains("Library soname: [libcryptand-offload.so.1]"), "{dynamic}");
    let symbols = said(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    exported.sort_unstable();
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/cryptand-offload.h"));
    let header = header.unwrap();
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| line.starts_with("int ") || line.starts_with("const char "))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .collect();
    declared.sort_unstable();
    assert_eq!(exported, declared);
}
