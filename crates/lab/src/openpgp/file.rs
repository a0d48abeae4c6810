//! File work of the lab in a process of its own, so that its time is booked like that of the other programs: the
//! yardsticks, and rPGP.

use super::process::Program;
use crate::load::{LabError, child};
use peers::rpgp;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Tells a process of this program to do something with a file; its value is a [`Task`] as JSON.
const TASK: &str = "CRYPTAND_LAB_FILE";
/// Length of a read and of a write of the yardsticks, in bytes.
pub const BUFFER_BYTES: usize = 1 << 20;

/// A task with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Reads the file into a buffer, piece by piece: no program that reads every byte is faster.
    Read {
        /// The file.
        from: PathBuf,
    },
    /// Reads the file and writes another: the cost of a program that only moves bytes.
    Copy {
        /// The file.
        from: PathBuf,
        /// The file that is written.
        to: PathBuf,
        /// Bytes that are copied.
        bytes: u64,
    },
    /// rPGP encrypts the file.
    RpgpEncrypt {
        /// The recipient's certificate.
        certificate: PathBuf,
        /// AES-256, else AES-128.
        aes256: bool,
        /// The mode.
        mode: Mode,
        /// Whether the text is compressed first.
        compress: bool,
        /// The file.
        from: PathBuf,
        /// The message.
        to: PathBuf,
    },
    /// rPGP decrypts the message.
    RpgpDecrypt {
        /// The private key.
        key: PathBuf,
        /// The message.
        from: PathBuf,
        /// The text.
        to: PathBuf,
    },
}

/// How a body is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// CFB with MDC.
    Cfb,
    /// GCM in chunks.
    Gcm,
    /// OCB in chunks.
    Ocb,
}

impl Mode {
    /// The name on our command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cfb => "cfb",
            Self::Gcm => "gcm",
            Self::Ocb => "ocb",
        }
    }
}

impl Task {
    /// The program, with its environment, that does the task.
    ///
    /// # Errors
    /// [`LabError::Io`] where this program does not find itself.
    pub fn program(&self) -> Result<Program, LabError> {
        let what = "name a task of the lab";
        Ok(Program::new(child::this()?.get_program()).variable(TASK, child::line(what, self)?))
    }

    fn do_here(&self) -> Result<(), Box<dyn std::error::Error>> {
        match self {
            Self::Read { from } => Ok(copy(from, &mut io::sink(), u64::MAX)?),
            Self::Copy { from, to, bytes } => Ok(copy(from, &mut File::create(to)?, *bytes)?),
            Self::RpgpEncrypt { certificate, aes256, mode, compress, from, to } => {
                let aes = if *aes256 { rpgp::Aes::Aes256 } else { rpgp::Aes::Aes128 };
                let mode = match mode {
                    Mode::Cfb => rpgp::Mode::Cfb,
                    Mode::Gcm => rpgp::Mode::Gcm,
                    Mode::Ocb => rpgp::Mode::Ocb,
                };
                rpgp::encrypt(certificate, aes, mode, *compress, from, to)
            }
            Self::RpgpDecrypt { key, from, to } => rpgp::decrypt(key, from, to),
        }
    }
}

fn copy(from: &Path, to: &mut dyn Write, bytes: u64) -> io::Result<()> {
    let mut from = File::open(from)?.take(bytes);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            read => to.write_all(&buffer[..read])?,
        }
    }
}

/// Does the task if this process was started for one; none otherwise.
pub fn serve_if_asked() -> Option<Result<(), LabError>> {
    let text = std::env::var(TASK).ok()?;
    let what = "do a task of the lab";
    let task = child::read(what, &text);
    Some(task.and_then(|task: Task| task.do_here().map_err(|error| LabError::Program(error.to_string()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yardsticks_move_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let text: Vec<u8> = (0..3 * BUFFER_BYTES + 5).map(|at| (at / 7) as u8).collect();
        std::fs::write(&from, &text).unwrap();
        Task::Read { from: from.clone() }.do_here().unwrap();
        Task::Copy { from: from.clone(), to: to.clone(), bytes: u64::MAX }.do_here().unwrap();
        assert!(std::fs::read(&to).unwrap() == text);
        Task::Copy { from, to: to.clone(), bytes: 1000 }.do_here().unwrap();
        assert!(std::fs::read(&to).unwrap() == text[..1000]);
        assert!(Task::Read { from: folder.path().join("none") }.do_here().is_err());
    }
}
