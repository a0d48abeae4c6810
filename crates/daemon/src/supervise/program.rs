//! The card program: opened once, compared with the installed manifest, run by its descriptor.
//!
//! What was hashed is what runs: every start executes the same open file, whatever happens to its
//! path meanwhile.

use crate::log::LOG_BYTES_MAX;
use command_fds::{CommandFdExt, FdMapping};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use wire::control::{LEVEL_VARIABLE, LevelLimit};

/// A program that may be run.
#[derive(Debug)]
pub struct Program {
    file: File,
    path: PathBuf,
    verified: bool,
}

/// Identifies a file among all that lie, or lay, at the same path. While a process runs a file that was removed, no
/// other file gets its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    device: u64,
    inode: u64,
    bytes: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl FileMark {
    /// The mark of the file at a path; `None` if there is no file.
    pub fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            changed_s: metadata.mtime(),
            changed_ns: metadata.mtime_nsec(),
        }
    }
}

/// Why a program may not be run.
#[derive(Debug)]
pub enum ProgramError {
    /// The program or its manifest cannot be read.
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system call that failed.
        cause: io::Error,
    },
    /// Another user can change the program or its manifest.
    Distrusted(home::HomeError),
    /// The manifest does not name the program.
    NotListed {
        /// Path of the program.
        path: PathBuf,
        /// Path of the manifest.
        manifest: PathBuf,
    },
    /// The program is not the one that was installed.
    Changed {
        /// Path of the program.
        path: PathBuf,
        /// SHA-256 by the manifest, in hexadecimal.
        expected: String,
        /// SHA-256 of the file, in hexadecimal.
        found: String,
    },
}

impl std::fmt::Display for ProgramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { path, cause } => write!(f, "cannot read {}: {cause}", path.display()),
            Self::Distrusted(why) => why.fmt(f),
            Self::NotListed { path, manifest } => {
                write!(f, "the manifest {} has no line for {}", manifest.display(), path.display())
            }
            Self::Changed { path, expected, found } => write!(
                f,
                "{} is not the program that was installed: its SHA-256 is {found}, the manifest says {expected}; \
                 install it again",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ProgramError {}

impl Program {
    /// Opens a program that no other user can change ([`home::trust`]) and, if there is a manifest (lines of
    /// `sha256sum`), compares its hash.
    ///
    /// # Errors
    /// [`ProgramError`] says why the program may not be run.
    pub fn open(path: &Path, manifest: Option<&Path>) -> Result<Self, ProgramError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |cause| ProgramError::Unreadable { path, cause }
        };
        let file = File::open(path).map_err(unreadable(path))?;
        // Not at the number of a child's control channel, which would take the program's place before it is executed.
        let above = rustix::io::fcntl_dupfd_cloexec(&file, CONTROL_DESCRIPTOR + 1);
        let mut file = File::from(above.map_err(|errno| unreadable(path)(errno.into()))?);
        home::trust::file(path).map_err(ProgramError::Distrusted)?;
        if let Some(manifest) = manifest {
            home::trust::file(manifest).map_err(ProgramError::Distrusted)?;
            let text = std::fs::read_to_string(manifest).map_err(unreadable(manifest))?;
            let expected = listed(&text, path).ok_or_else(|| ProgramError::NotListed {
                path: path.to_owned(),
                manifest: manifest.to_owned(),
            })?;
            let found = sha256(&mut file).map_err(unreadable(path))?;
            if !expected.eq_ignore_ascii_case(&found) {
                return Err(ProgramError::Changed {
                    path: path.to_owned(),
                    expected: expected.into(),
                    found,
                });
            }
        }
        Ok(Self { file, path: path.to_owned(), verified: manifest.is_some() })
    }

    /// Whether the program was compared with a manifest.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// The mark of the program's file; `None` if the system does not tell it.
    pub fn mark(&self) -> Option<FileMark> {
        self.file.metadata().ok().map(|metadata| FileMark::of(&metadata))
    }

    /// Executes the program in place of this one, with the present environment and standard streams. It returns only if
    /// that fails, with the error of the system.
    pub fn take_over(&self, arguments: &[&OsStr]) -> io::Error {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command.arg0(&self.path).args(arguments).exec()
    }

    /// Starts the program as [`Program::run`] does; in a simulation, has the simulation start it.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn start(
        &self,
        arguments: &[&str],
        control: OwnedFd,
        level: Option<LevelLimit>,
        log: &Path,
    ) -> io::Result<Started> {
        if link::world::is_simulated() {
            let pid = link::world::start_process(arguments, control)?;
            return Ok(Started { pid, child: None });
        }
        let child = self.run(arguments, control, level, log)?;
        Ok(Started { pid: child.id(), child: Some(child) })
    }

    /// Runs the program: `control` as descriptor 3, output to the end of the file `log`, and an environment that holds
    /// nothing but the level, if one is set.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn run(
        &self,
        arguments: &[&str],
        control: OwnedFd,
        level: Option<LevelLimit>,
        log: &Path,
    ) -> io::Result<Child> {
        let out = crate::log::open(log, LOG_BYTES_MAX)?;
        let mut command = self.command(arguments, control, level)?;
        command.stdout(out.try_clone()?).stderr(out).spawn()
    }

    /// The command with which [`Program::run`] starts the program, except for its output, which the caller sets.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn command(
        &self,
        arguments: &[&str],
        control: OwnedFd,
        level: Option<LevelLimit>,
    ) -> io::Result<Command> {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        // A group of its own: what a terminal sends to the daemon's group does not reach it.
        command.arg0(&self.path).args(arguments).env_clear().current_dir("/").process_group(0);
        if let Some(level) = level {
            command.env(LEVEL_VARIABLE, level.name());
        }
        command
            .stdin(Stdio::null())
            .fd_mappings(vec![FdMapping { parent_fd: control, child_fd: CONTROL_DESCRIPTOR }])
            .map_err(io::Error::other)?;
        Ok(command)
    }
}

/// A process that was started; it is not reaped before its end was seen by a descriptor.
pub struct Started {
    /// Process id.
    pub pid: u32,
    child: Option<Child>,
}

impl From<u32> for Started {
    /// A process that another process started, and will reap.
    fn from(pid: u32) -> Self {
        Self { pid, child: None }
    }
}

impl Started {
    /// Kills and reaps a child that cannot be watched.
    pub fn abandon(self) {
        if let Some(mut child) = self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The hash of a program in lines of `<hex>  <name>`, by the last part of its path.
fn listed<'a>(manifest: &'a str, path: &Path) -> Option<&'a str> {
    let wanted = path.file_name()?.to_str()?;
    manifest.lines().find_map(|line| {
        let (hash, name) = line.split_once(char::is_whitespace)?;
        let name = Path::new(name.trim_start().trim_start_matches('*')).file_name()?;
        (name == wanted && hash.len() == 64).then_some(hash)
    })
}

fn sha256(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => break,
            bytes => hash.update(&block[..bytes]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

const CONTROL_DESCRIPTOR: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_content_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (program, manifest) = (folder.path().join("card"), folder.path().join("manifest"));
        std::fs::write(&program, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        std::fs::write(&manifest, format!("{}  other\n{abc}  bin/card\n", "0".repeat(64))).unwrap();
        assert!(Program::open(&program, Some(&manifest)).unwrap().is_verified());
        assert!(!Program::open(&program, None).unwrap().is_verified());

        std::fs::write(&program, "abd").unwrap();
        let error = Program::open(&program, Some(&manifest)).unwrap_err();
        assert!(matches!(&error, ProgramError::Changed { expected, .. } if expected == abc), "{error}");
        std::fs::write(&manifest, "").unwrap();
        assert!(matches!(Program::open(&program, Some(&manifest)), Err(ProgramError::NotListed { .. })));
        let missing = Program::open(&folder.path().join("none"), None).unwrap_err();
        assert!(missing.to_string().contains("none"));
    }

    #[test]
    fn a_child_gets_descriptor_3_a_clean_environment_and_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let (read, write) = rustix::pipe::pipe().unwrap();
        let shell = Program::open(Path::new("/bin/sh"), None).unwrap();
        // A replaced path changes nothing: the open file runs.
        let script = "echo said; echo \"$CRYPTAND_LEVEL:${HOME:-none}\" >&3";
        let mut child = shell.run(&["-c", script], write, Some(LevelLimit::Avx2), &log).unwrap();
        let mut text = String::new();
        File::from(read).read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        assert_eq!(text, "avx2:none\n");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "said\n");
    }
}
