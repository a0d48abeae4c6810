//! Secrets typed on the terminal, wherever standard input and output go.

use openpgp::Passphrase;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustix::time::Timespec;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use zeroize::Zeroizing;

/// Longest passphrase in bytes; a terminal hands over no longer line.
pub const PASSPHRASE_BYTES_MAX: usize = 4095;
/// Time of one wait for a key press: a signal between two waits is noticed this late at most.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// The terminal that the process belongs to.
pub struct Terminal {
    file: File,
}

/// Why a prompt was not answered.
#[derive(Debug)]
pub enum NotTyped {
    /// A signal came.
    Interrupted,
    /// End of input instead of a line.
    Ended,
    /// The terminal failed.
    Io(io::Error),
}

impl Terminal {
    /// The controlling terminal of this process; none without one, as in a service or a script of cron.
    pub fn open() -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        rustix::termios::isatty(&file).then_some(Self { file })
    }

    /// Asks for a secret, without echo; `interrupted` is raised by a signal handler.
    pub fn secret(&mut self, question: &str, interrupted: &AtomicBool) -> Result<Passphrase, NotTyped> {
        let silent = Silent::new(&self.file).map_err(|error| NotTyped::Io(error.into()))?;
        let typed = self.ask(question, interrupted);
        drop(silent);
        // The line end that was typed is not shown either.
        let _ = self.file.write_all(b"\n");
        typed
    }

    fn ask(&self, question: &str, interrupted: &AtomicBool) -> Result<Passphrase, NotTyped> {
        (&self.file).write_all(question.as_bytes()).map_err(NotTyped::Io)?;
        loop {
            if interrupted.load(Ordering::Relaxed) {
                return Err(NotTyped::Interrupted);
            }
            let mut wait = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut wait, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.line(),
                Err(error) => return Err(NotTyped::Io(error.into())),
            }
        }
    }

    /// The line that is ready: a terminal hands over whole lines.
    fn line(&self) -> Result<Passphrase, NotTyped> {
        let mut bytes = Zeroizing::new(vec![0; PASSPHRASE_BYTES_MAX + 1]);
        let length =
            rustix::io::read(&self.file, &mut bytes[..]).map_err(|error| NotTyped::Io(error.into()))?;
        if length == 0 {
            return Err(NotTyped::Ended);
        }
        let line = bytes[..length].strip_suffix(b"\n").unwrap_or(&bytes[..length]);
        Ok(Passphrase::new(line.to_vec()))
    }
}

/// Echo is off while this lives.
struct Silent<'a> {
    file: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn new(file: &'a File) -> Result<Self, Errno> {
        let before = tcgetattr(file)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        modes.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
        // Input typed ahead, with echo, is not the passphrase.
        tcsetattr(file, OptionalActions::Flush, &modes)?;
        Ok(Self { file, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.file, OptionalActions::Now, &self.before);
    }
}
