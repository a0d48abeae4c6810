//! The input: a regular file that is read at any place, or a stream.

use crate::error::Error;
use crate::lines::{NetworkLines, Utf8};
use crate::request::{Input, LiteralMode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, FileType, SeekFrom, fadvise, fstat, seek};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What tells files apart: device and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    /// Of what the system says.
    pub(crate) fn new(device: u64, number: u64) -> Self {
        Self(device, number)
    }

    /// Of a regular file; none for anything else.
    pub(crate) fn of(file: impl AsFd) -> Option<Self> {
        let stat = fstat(file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then_some(Self(stat.st_dev, stat.st_ino))
    }
}

/// An input that is open.
pub(crate) struct Source<'a> {
    name: String,
    kind: Kind,
    interrupted: Option<&'a AtomicBool>,
    mode: LiteralMode,
    /// Whether anything but UTF-8 is refused.
    is_text: bool,
}

enum Kind {
    /// A regular file, from this place on, this long.
    File { file: Arc<File>, base: u64, bytes: u64 },
    /// A pipe, a device, a terminal.
    Descriptor(File),
    /// Bytes that the caller makes; their number where it is known.
    Reader { reader: Box<dyn Read + Send>, bytes: Option<u64> },
}

impl<'a> Source<'a> {
    /// Opens an input.
    ///
    /// # Errors
    /// [`Error::Input`]; folders are refused.
    pub(crate) fn open(input: Input, interrupted: Option<&'a AtomicBool>) -> Result<Self, Error> {
        let (name, kind) = match input {
            Input::Path(path) => (path.display().to_string(), open_path(&path)),
            Input::Stdin => ("standard input".to_owned(), open_stdin()),
            Input::Reader { reader, bytes, name } => (name, Ok(Kind::Reader { reader, bytes })),
        };
        match kind {
            Ok(kind) => Ok(Self { name, kind, interrupted, mode: LiteralMode::Binary, is_text: false }),
            Err(cause) => Err(Error::Input { name, operation: "open", cause }),
        }
    }

    /// What to call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is read from now on: bytes as they are, or text with the line ends that messages have.
    pub(crate) fn read_as(self, mode: LiteralMode) -> Self {
        Self { mode, is_text: self.is_text || mode == LiteralMode::Utf8, ..self }
    }

    /// Where `wanted`, only UTF-8 is read from now on, as it is.
    pub(crate) fn text_only(self, wanted: bool) -> Self {
        Self { is_text: self.is_text || wanted, ..self }
    }

    /// Its length in bytes, where it is known; only a regular file's is certain.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.kind {
            _ if self.mode == LiteralMode::Utf8 => None,
            Kind::File { bytes, .. } => Some(*bytes),
            Kind::Descriptor(_) => None,
            Kind::Reader { bytes, .. } => *bytes,
        }
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Option<Identity> {
        match &self.kind {
            Kind::File { file, .. } => Identity::of(file),
            _ => None,
        }
    }

    /// Takes the source for reading from its begin to its end.
    pub(crate) fn into_reader(self) -> Reader<'a> {
        Reader { source: self, at: 0, lines: NetworkLines::default(), utf8: Utf8::default() }
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::Input { name: self.name.clone(), operation: "read", cause }
    }
}

/// A source that is read from its begin to its end.
pub(crate) struct Reader<'a> {
    source: Source<'a>,
    at: u64,
    lines: NetworkLines,
    utf8: Utf8,
}

impl<'a> Reader<'a> {
    /// The source, which goes on where it was left if it is a stream.
    pub(crate) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// The source, to be read at any place by any thread: where it is a regular file.
    pub(crate) fn places(&self) -> Option<Places> {
        let Kind::File { file, base, .. } = &self.source.kind else { return None };
        if self.source.is_text {
            return None;
        }
        Some(Places { file: Arc::clone(file), base: *base, name: self.source.name.clone() })
    }

    /// Passes over bytes that are read by [`Places`]; gives where they are.
    pub(crate) fn pass_over(&mut self, bytes: u64) -> u64 {
        let at = self.at;
        self.at += bytes;
        at
    }

    /// Fills the memory; gives how much there was, less than asked only at the end.
    pub(crate) fn fill(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        while done < memory.len() {
            match self.some(&mut memory[done..])? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    /// Reads what is there; nothing at the end only.
    pub(crate) fn some(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        if self.source.mode == LiteralMode::Binary {
            return self.checked(memory);
        }
        if self.lines.is_empty() {
            let read = self.checked(memory)?;
            self.lines.take(&memory[..read]);
        }
        Ok(self.lines.give(memory))
    }

    fn checked(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let read = self.as_it_is(memory)?;
        if self.source.is_text && !memory.is_empty() {
            self.utf8.check(&memory[..read]).map_err(|cause| self.source.failed(cause))?;
        }
        Ok(read)
    }

    fn as_it_is(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        loop {
            let read = match &mut self.source.kind {
                Kind::File { file, base, .. } => file.read_at(memory, *base + self.at),
                Kind::Descriptor(file) => {
                    wait_for(file.as_fd(), self.source.interrupted)?;
                    file.read(memory)
                }
                Kind::Reader { reader, .. } => reader.read(memory),
            };
            match read {
                Ok(read) => {
                    self.at += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    if is_set(self.source.interrupted) {
                        return Err(Error::Interrupted);
                    }
                }
                Err(error) => return Err(self.source.failed(error)),
            }
        }
    }
}

/// A regular file that is read at any place.
pub(crate) struct Places {
    file: Arc<File>,
    base: u64,
    name: String,
}

impl Places {
    /// Fills all of the memory from this place.
    ///
    /// # Errors
    /// [`Error::Input`], also where the file ends before.
    pub(crate) fn read(&self, memory: &mut [u8], at: u64) -> Result<(), Error> {
        let failed = |cause| Error::Input { name: self.name.clone(), operation: "read", cause };
        self.file.read_exact_at(memory, self.base + at).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => failed(io::Error::other(LENGTH_CHANGED)),
            _ => failed(cause),
        })
    }
}

/// Waits until there is something to read, or a signal came.
fn wait_for(file: BorrowedFd<'_>, interrupted: Option<&AtomicBool>) -> Result<(), Error> {
    if interrupted.is_none() || wait_until(file, PollFlags::IN, interrupted) {
        return Ok(());
    }
    Err(Error::Interrupted)
}

/// Waits until this can be done with a stream; false if a signal came before.
pub(crate) fn wait_until(file: BorrowedFd<'_>, what: PollFlags, interrupted: Option<&AtomicBool>) -> bool {
    loop {
        if is_set(interrupted) {
            return false;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: INTERRUPTION_LOOKED_AT_EVERY_NS };
        match poll(&mut [PollFd::from_borrowed_fd(file, what)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // What cannot be waited for is tried, and says itself what is wrong.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Waits a moment for what the system tells nobody of; false if a signal came.
pub(crate) fn pause(interrupted: Option<&AtomicBool>) -> bool {
    let moment = Timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    // Ended early by a signal, or not: the flag says it.
    let _ = poll(&mut [], Some(&moment));
    !is_set(interrupted)
}

/// Whether a signal came.
fn is_set(interrupted: Option<&AtomicBool>) -> bool {
    interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

fn open_path(path: &Path) -> io::Result<Kind> {
    kind_of(File::open(path)?)
}

fn open_stdin() -> io::Result<Kind> {
    let descriptor: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    kind_of(File::from(descriptor))
}

fn kind_of(file: File) -> io::Result<Kind> {
    let stat = fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        FileType::RegularFile => {
            let base = seek(&file, SeekFrom::Current(0))?;
            let bytes = stat.st_size.unsigned_abs().saturating_sub(base);
            // Files that the system makes as they are read say that they are empty.
            if bytes == 0 {
                return Ok(Kind::Descriptor(file));
            }
            // Only advice: a file system that takes none reads all the same.
            fadvise(&file, base, None, Advice::Sequential).ok();
            Ok(Kind::File { file: Arc::new(file), base, bytes })
        }
        _ => Ok(Kind::Descriptor(file)),
    }
}

/// Why a file is not enciphered to its end.
pub(crate) const LENGTH_CHANGED: &str = "its length changed while it was read";
/// How long a moment is.
const PAUSE_NS: i64 = 20_000_000;
/// Whoever waits for a stream looks this often whether a signal came.
const INTERRUPTION_LOOKED_AT_EVERY_NS: i64 = 100_000_000;
