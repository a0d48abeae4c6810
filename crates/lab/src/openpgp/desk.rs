//! The desk of the measures on files: a folder, in memory if there is room, with the text, a key that every tool has,
//! the tools, and their command lines.

use super::file::{Mode, Task};
use super::input;
use super::process::Program;
use crate::kit::machine::processors_online;
use crate::load::LabError;
use peers::rpgp;
use rustix::fs::statvfs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// File system in memory.
const MEMORY: &str = "/dev/shm";
/// Lengths of the text that the largest step needs: two messages, and the text that one of them becomes.
const INPUTS_MAX: u64 = 3;
/// Bytes that are left free.
const SPARE_BYTES: u64 = 1 << 30;

/// A tool that encrypts and decrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// This program.
    Cryptand,
    /// GnuPG of the system.
    Gpg,
    /// Sequoia's command line.
    Sq,
    /// rPGP's message builder.
    Rpgp,
}

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// AES-256, else AES-128.
    pub aes256: bool,
    /// Mode of the body.
    pub mode: Mode,
    /// Level of ZIP; none for no compression.
    pub zip: Option<u8>,
}

/// The folder with text, keys and messages; removed when the desk is dropped.
pub struct Desk {
    folder: TempDir,
    bytes: u64,
    gpg: Option<PathBuf>,
    sq: Option<PathBuf>,
    ours: PathBuf,
}

impl Desk {
    /// Makes the folder for a text of `bytes` bytes, and keys for the installed tools.
    ///
    /// # Errors
    /// [`LabError::Program`] where no place has room, or a tool does not take the key.
    pub fn new(bytes: u64, stop: &AtomicBool) -> Result<Self, LabError> {
        let what = "make a folder for the OpenPGP measures";
        let place = place(INPUTS_MAX * bytes + SPARE_BYTES)?;
        let folder = tempfile::Builder::new().prefix("cr").tempdir_in(place).map_err(LabError::io(what))?;
        let ours = crate::load::target::command()?;
        let desk = Self { folder, bytes, gpg: find("gpg"), sq: find("sq"), ours };
        rpgp::generate(&desk.key(), &desk.certificate())
            .map_err(|error| LabError::Program(format!("cannot make a key: {error}")))?;
        desk.make_text()?;
        desk.take_keys(stop)?;
        Ok(desk)
    }

    /// Whether a tool can be run.
    pub fn has(&self, tool: Tool) -> bool {
        match tool {
            Tool::Cryptand | Tool::Rpgp => true,
            Tool::Gpg => self.gpg.is_some(),
            Tool::Sq => self.sq.is_some(),
        }
    }

    /// Name and version of the tool; the name alone if it states no version.
    pub fn name(&self, tool: Tool) -> String {
        let program = match tool {
            Tool::Gpg => self.gpg.as_ref(),
            Tool::Sq => self.sq.as_ref(),
            Tool::Cryptand | Tool::Rpgp => None,
        };
        let asked = program.and_then(|program| Command::new(program).arg("--version").output().ok());
        let text = asked.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
        let is_version =
            |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
        let first = if tool == Tool::Rpgp { rpgp::VERSION } else { text.lines().next().unwrap_or_default() };
        let version = first.split_whitespace().find(is_version);
        version.map_or(tool.name().to_owned(), |version| format!("{} {version}", tool.name()))
    }

    /// Length of the text in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Path of the text.
    pub fn text(&self) -> PathBuf {
        self.path("text")
    }

    /// Writes the text if it is missing.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn make_text(&self) -> Result<(), LabError> {
        if self.text().exists() {
            return Ok(());
        }
        input::write(&self.text(), self.bytes, processors_online()).map_err(LabError::io("write the text"))
    }

    /// Removes a file if it exists.
    pub fn remove(&self, path: &Path) {
        let _ = fs::remove_file(path);
    }

    /// The command that encrypts.
    ///
    /// # Errors
    /// [`LabError::Program`] where the tool does not make such messages.
    pub fn encrypt(&self, tool: Tool, form: Form, from: &Path, to: &Path) -> Result<Program, LabError> {
        let (from_text, to_text) = (text(from), text(to));
        let aes = if form.aes256 { "aes256" } else { "aes128" };
        match tool {
            Tool::Cryptand => {
                let level = form.zip.unwrap_or(1).to_string();
                let compress = if form.zip.is_some() { "zip" } else { "none" };
                let program = self.ours(["encrypt", "-q", "-r", USER, "--force", "--cipher", aes]);
                let program =
                    program.with(["--mode", form.mode.name(), "--compress", compress, "-z", &level]);
                Ok(program.with(["-o", &to_text, &from_text]))
            }
            Tool::Gpg => {
                let level = form.zip.unwrap_or(1).to_string();
                let compress = if form.zip.is_some() { "zip" } else { "none" };
                let program =
                    self.gpg()?.with(["--trust-model", "always", "--no-auto-key-locate", "-r", USER]);
                let program = program.with(["--cipher-algo", aes, "--compress-algo", compress]);
                Ok(program.with(["--compress-level", &level, "-o", &to_text, "--encrypt", &from_text]))
            }
            Tool::Sq => {
                let compress = if form.zip.is_some() { "zip" } else { "none" };
                let program = self.sq()?.with(["--force", "encrypt", "--binary", "--compression", compress]);
                let program = program.with(["--recipient-cert", &text(&self.certificate())]);
                Ok(program.with(["-o", &to_text, &from_text]))
            }
            Tool::Rpgp => Task::RpgpEncrypt {
                certificate: self.certificate(),
                aes256: form.aes256,
                mode: form.mode,
                compress: form.zip.is_some(),
                from: from.to_owned(),
                to: to.to_owned(),
            }
            .program(),
        }
    }

    /// The command that decrypts.
    ///
    /// # Errors
    /// [`LabError::Program`] where the tool is not there.
    pub fn decrypt(&self, tool: Tool, from: &Path, to: &Path) -> Result<Program, LabError> {
        let (from_text, to_text) = (text(from), text(to));
        match tool {
            Tool::Cryptand => {
                Ok(self.ours(["decrypt", "-q", "--batch", "--force", "-o", &to_text, &from_text]))
            }
            Tool::Gpg => Ok(self.gpg()?.with(["-o", &to_text, "--decrypt", &from_text])),
            Tool::Sq => {
                let program = self.sq()?.with(["--force", "decrypt", "--recipient-key", &text(&self.key())]);
                Ok(program.with(["-o", &to_text, &from_text]))
            }
            Tool::Rpgp => {
                Task::RpgpDecrypt { key: self.key(), from: from.to_owned(), to: to.to_owned() }.program()
            }
        }
    }

    /// This program with the keys of the desk and these arguments.
    pub fn ours<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Program {
        Program::new(&self.ours).variable("CRYPTAND_KEYRING", text(&self.path("keyring"))).with(arguments)
    }

    /// gpg, with the keys of the desk.
    ///
    /// # Errors
    /// [`LabError::Program`] where it is not there.
    pub fn gpg(&self) -> Result<Program, LabError> {
        let gpg = self.gpg.as_ref().ok_or_else(|| missing(Tool::Gpg))?;
        let home = text(&self.path("gnupg"));
        Ok(Program::new(gpg).variable("GNUPGHOME", home).with(["--batch", "--yes", "--quiet"]))
    }

    fn sq(&self) -> Result<Program, LabError> {
        Ok(Program::new(self.sq.as_ref().ok_or_else(|| missing(Tool::Sq))?))
    }

    fn key(&self) -> PathBuf {
        self.path("key.pgp")
    }

    fn certificate(&self) -> PathBuf {
        self.path("certificate.pgp")
    }

    fn take_keys(&self, stop: &AtomicBool) -> Result<(), LabError> {
        let key = text(&self.key());
        self.ours(["pgp", "import", &key]).run(stop)?;
        if self.gpg.is_some() {
            use std::os::unix::fs::DirBuilderExt;
            let what = "make a folder for gpg's keys";
            fs::DirBuilder::new().mode(0o700).create(self.path("gnupg")).map_err(LabError::io(what))?;
            self.gpg()?.with(["--import", &key]).run(stop)?;
        }
        Ok(())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // gpg leaves an agent running; it ends when told to, or when its folder is gone.
        if self.gpg.is_some() {
            let ended = Command::new("gpgconf")
                .args(["--kill", "all"])
                .env("GNUPGHOME", self.path("gnupg"))
                .stdin(Stdio::null())
                .status();
            drop(ended);
        }
    }
}

/// The error for a missing tool: which package to install.
pub fn missing(tool: Tool) -> LabError {
    LabError::Program(format!("{} is not here; install {}", tool.name(), tool.package()))
}

impl Tool {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cryptand => "cryptand",
            Self::Gpg => "gpg",
            Self::Sq => "sq",
            Self::Rpgp => "rPGP",
        }
    }

    /// The Debian package of the tool.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Gpg => "gnupg",
            Self::Sq => "sq",
            Self::Cryptand | Self::Rpgp => "cryptand",
        }
    }
}

/// A folder in memory, or else the temporary folder, if it has room for `bytes` bytes.
fn place(bytes: u64) -> Result<PathBuf, LabError> {
    let free = |path: &Path| statvfs(path).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    // A file system in memory may claim more room than memory is left.
    let in_memory = free(Path::new(MEMORY)).min(memory_available());
    let temporary = std::env::temp_dir();
    if in_memory >= bytes {
        return Ok(PathBuf::from(MEMORY));
    }
    if free(&temporary) >= bytes {
        return Ok(temporary);
    }
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    Err(LabError::Program(format!(
        "the OpenPGP measures need {:.1} GiB: {MEMORY} has {:.1}, {} has {:.1}; name a roomier folder in TMPDIR",
        gib(bytes),
        gib(in_memory),
        temporary.display(),
        gib(free(&temporary))
    )))
}

/// Memory available without swapping, in bytes; 0 if the system does not state it.
fn memory_available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib =
        line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The path of a program in `PATH`; none if it is not there.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// User ID of the key.
pub const USER: &str = rpgp::USER;
