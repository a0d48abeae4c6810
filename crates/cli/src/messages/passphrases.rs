//! Sources of passphrases: files, descriptors, and prompts on the terminal.

use super::screen::Screen;
use super::terminal::{NotTyped, PASSPHRASE_BYTES_MAX, Terminal};
use crate::failure::{Failure, PgpFailure};
use openpgp::Passphrase;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Upper bound of passphrases given at once.
const GIVEN_MAX: usize = 64;

/// How often a new passphrase is asked for until both answers are the same.
const NEW_ASKED_MAX: usize = 3;

/// The passphrases of these files and descriptors, in this order.
pub fn given(files: &[PathBuf], descriptors: &[u32]) -> Result<Vec<Passphrase>, Failure> {
    if files.len() + descriptors.len() > GIVEN_MAX {
        return Err(Failure::Usage(format!("more than {GIVEN_MAX} passphrases")));
    }
    let descriptors = descriptors.iter().map(|number| PathBuf::from(format!("/dev/fd/{number}")));
    files.iter().cloned().chain(descriptors).map(|path| of_file(&path)).collect()
}

/// The first line of a file, without its end.
pub fn of_file(path: &Path) -> Result<Passphrase, Failure> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let said =
        |cause| Failure::Io { operation: format!("read the passphrase from {}", path.display()), cause };
    let line = first_line(File::open(path).map_err(said)?).map_err(said)?;
    if line.is_empty() {
        return Err(Failure::Usage(format!("{}: the first line is empty: no passphrase", path.display())));
    }
    Ok(Passphrase::new(line))
}

/// Reads byte by byte: the bytes after the line in a pipe belong to another reader.
fn first_line(mut reader: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(PASSPHRASE_BYTES_MAX + 1));
    let mut byte = Zeroizing::new([0]);
    while reader.read(&mut byte[..])? == 1 && byte[0] != b'\n' {
        if line.len() == PASSPHRASE_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("longer than {PASSPHRASE_BYTES_MAX} bytes"),
            ));
        }
        line.push(byte[0]);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

/// Prompts a person for passphrases, if there is a terminal.
pub struct Asker<'a> {
    may_ask: bool,
    screen: &'a Screen,
    interrupted: &'a AtomicBool,
}

impl<'a> Asker<'a> {
    /// Prompts on the terminal, unless `batch`.
    pub fn new(batch: bool, screen: &'a Screen, interrupted: &'a AtomicBool) -> Self {
        Self { may_ask: !batch, screen, interrupted }
    }

    /// A passphrase; none if there is no terminal, or no answer.
    pub fn ask(&self, question: &str) -> Result<Option<Passphrase>, Failure> {
        if !self.may_ask {
            return Ok(None);
        }
        let Some(mut terminal) = Terminal::open() else { return Ok(None) };
        let typed = self.screen.aside(|| terminal.secret(question, self.interrupted));
        match typed {
            Ok(passphrase) if passphrase.bytes().is_empty() => Ok(None),
            Ok(passphrase) => Ok(Some(passphrase)),
            Err(NotTyped::Ended) => Ok(None),
            Err(NotTyped::Interrupted) => Err(PgpFailure::Interrupted.into()),
            Err(NotTyped::Io(cause)) => Err(Failure::io("read from the terminal")(cause)),
        }
    }

    /// A new passphrase, asked for twice. `instead` names the flag that gives one without a terminal.
    pub fn ask_new(&self, question: &str, instead: &str) -> Result<Passphrase, Failure> {
        for _ in 0..NEW_ASKED_MAX {
            let nobody = || Failure::Usage(format!("no passphrase was typed: {instead}"));
            let first = self.ask(question)?.ok_or_else(nobody)?;
            let second = self.ask("The same once more: ")?.ok_or_else(nobody)?;
            if bool::from(first.bytes().ct_eq(second.bytes())) {
                return Ok(first);
            }
            self.screen.say("They are not the same.");
        }
        Err(Failure::Usage("the two passphrases differ: nothing was done".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_the_first_line_and_the_rest_stays() {
        let mut reader: &[u8] = b"open sesame \r\nrest";
        assert_eq!(first_line(&mut reader).unwrap().as_slice(), b"open sesame ");
        assert_eq!(reader, b"rest");
        assert_eq!(first_line(&b"without end"[..]).unwrap().as_slice(), b"without end");
        let long = [b'x'; PASSPHRASE_BYTES_MAX + 1];
        assert_eq!(first_line(&long[1..]).unwrap().len(), PASSPHRASE_BYTES_MAX);
        assert!(first_line(&long[..]).is_err());
    }

    #[test]
    fn an_empty_line_is_no_passphrase() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\nsecond").unwrap();
        assert!(matches!(of_file(file.path()), Err(Failure::Usage(_))));
        assert!(matches!(of_file(Path::new("/nonexistent/file")), Err(Failure::Io { .. })));
    }
}
