//! The Python package as a user has it: the wheel, installed into a folder, and a home whose cards serve.
#![forbid(unsafe_code)]

use home::{PointItem, RoleSettings, Settings};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use system_tests::Installation;
use tempfile::TempDir;
use wire::tenant::Tenant;

/// Random cases of each row: with `CRYPTAND_TEST_ALL` those of `make test-all`.
pub fn cases() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 100_000 } else { 10_000 }
}

/// The root of the sources.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the owner's role refuses and a differential test needs: wrong PINs of which none is counted, and what takes
/// clear ones or puts secrets into messages.
const LIFTED: [&str; 5] = [
    "pin-uncounted",
    "clear-pin-encrypt",
    "secure-messaging-for-keys",
    "secure-messaging-for-pins",
    "unique-key-derive-initial",
];

/// The credential of the tenant that has them.
const CREDENTIAL: [u8; 32] = [7; 32];

/// The settings of a home with one card and a tenant `tests`, whose role is the owner's with [`LIFTED`].
fn settings() -> Settings {
    let mut settings = system_tests::settings(1, 0);
    settings.tenant_number_next = 10;
    settings.roles = vec![RoleSettings {
        name: "differential".into(),
        base: Some("owner".into()),
        allow: LIFTED.iter().map(|name| PointItem::new(name).expect("a point")).collect(),
        ..RoleSettings::default()
    }];
    settings.tenants = vec![Tenant {
        credential_sha256: Some(hexadecimal(&engine::sha256(&CREDENTIAL))),
        role: Some("differential".into()),
        ..Tenant::new("tests", 1)
    }];
    settings
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A wheel that was installed, and a home with one card.
pub struct Package {
    folder: TempDir,
    installation: Installation,
}

impl Package {
    /// Makes the wheel of the library that was built beside the tests, and installs it.
    ///
    /// # Panics
    /// If any of it fails.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let library = system_tests::program("libcryptand_python.so");
        let built = Command::new("python3")
            .arg("scripts/wheel")
            .arg(folder.path())
            .current_dir(root())
            .env("BIN", library.parent().expect("it lies in a folder"))
            .output()
            .expect("python3 can be executed");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let wheel = String::from_utf8(built.stdout).expect("a path");
        let installed = Command::new(python())
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"])
            .arg(folder.path().join("site"))
            .arg(wheel.trim())
            .output()
            .expect("pip can be executed");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let mut installation = Installation::stopped(&settings());
        installation.start();
        installation.until_ready();
        let mut credential = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.path().join("credential"))
            .expect("the folder is new");
        credential.write_all(hexadecimal(&CREDENTIAL).as_bytes()).expect("there is room");
        Self { folder, installation }
    }

    /// What a program of the folder `peers` says, with the package and other people's beside it.
    /// `CRYPTAND_TEST_CREDENTIAL` names the credential of the tenant whose role refuses less than the owner's.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().expect("python can be executed")
    }

    /// The same, as a process of that tenant.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn run_uncounted(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(program, arguments);
        command.env("CRYPTAND_CREDENTIAL_FILE", self.credential());
        command.output().expect("python can be executed")
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(python());
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(program))
            .args(arguments)
            .env("PYTHONPATH", self.folder.path().join("site"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("CRYPTAND_HOME", self.installation.home.folder())
            .env_remove("CRYPTAND_CREDENTIAL_FILE")
            .env("CRYPTAND_TEST_CREDENTIAL", self.credential());
        command
    }

    /// A folder of its own, for what a program writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn credential(&self) -> PathBuf {
        self.folder.path().join("credential")
    }

    /// What mypy says of the package and of a program that uses it, without any exception.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn types(&self) -> Output {
        Command::new(python())
            .args(["-m", "mypy", "--strict", "--cache-dir=/dev/null"])
            .arg(self.folder.path().join("site/cryptand"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/typed.py"))
            .env("MYPYPATH", self.folder.path().join("site"))
            .output()
            .expect("mypy can be executed")
    }
}

impl Default for Package {
    fn default() -> Self {
        Self::new()
    }
}

/// The interpreter beside which other people's packages are.
fn python() -> PathBuf {
    let python = root().join("target/payments/bin/python");
    assert!(python.exists(), "{}: `scripts/need test` makes it", python.display());
    python
}
