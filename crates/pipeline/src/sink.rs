//! The output: a file that gets its name only on success, or a stream that cannot be taken back.

use crate::error::Error;
use crate::output_path::OutputPath;
use crate::request::Output;
use crate::source::{Identity, wait_until};
use crate::unnamed::{Content, Unnamed};
use rustix::event::PollFlags;
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use zeroize::Zeroizing;

/// An open output. If it is dropped before [`Sink::finish`], nothing that could be taken back is left behind.
pub(crate) struct Sink<'a> {
    name: String,
    kind: Kind,
    at: u64,
    is_durable: bool,
    interrupted: Option<&'a AtomicBool>,
}

enum Kind {
    /// A regular file that has no name yet.
    File(Unnamed),
    /// A file or device that always takes data.
    Descriptor(File),
    /// A pipe, a socket or a terminal: it may be full for as long as nobody reads.
    Stream(File),
    /// The caller's writer.
    Writer(Box<dyn Write + Send>),
    /// Kept in memory until the end, at most `bytes_max` bytes, then written to `then`.
    Held { bytes: Zeroizing<Vec<u8>>, bytes_max: u64, then: Box<Kind> },
    /// Kept in a file without a name until the end, then written to `then`.
    Spooled { file: File, then: Box<Kind> },
    /// The output is dropped.
    Nothing,
}

impl<'a> Sink<'a> {
    /// Opens an output. `input` is the file that must not be overwritten.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::OutputExists`]; [`Error::Request`] if input and output are the same file.
    pub(crate) fn open(
        output: Output,
        content: Content,
        input: Option<Identity>,
        interrupted: Option<&'a AtomicBool>,
    ) -> Result<Self, Error> {
        let (name, kind) = match output {
            Output::Path { path, overwrite } => {
                (path.display().to_string(), open_path(&path, overwrite, content, input, interrupted)?)
            }
            Output::Stdout => ("standard output".to_owned(), open_stdout(input)?),
            Output::Writer(writer) => ("the output".to_owned(), Kind::Writer(writer)),
        };
        Ok(Self { name, kind, at: 0, is_durable: false, interrupted })
    }

    /// A sink that drops all data.
    pub(crate) fn nothing() -> Self {
        Self { name: "nowhere".to_owned(), kind: Kind::Nothing, at: 0, is_durable: false, interrupted: None }
    }

    /// Sets whether [`Sink::finish`] waits until the file is on the disk.
    pub(crate) fn durable(self, is_durable: bool) -> Self {
        Self { is_durable, ..self }
    }

    /// Whether the data can still be taken back, or is not visible to anyone.
    pub(crate) fn can_be_taken_back(&self) -> bool {
        match &self.kind {
            Kind::File(_) | Kind::Held { .. } | Kind::Spooled { .. } | Kind::Nothing => true,
            Kind::Descriptor(file) => is_null(file),
            Kind::Stream(_) | Kind::Writer(_) => false,
        }
    }

    /// Holds the text in memory until [`Sink::finish`], at most `bytes_max` bytes.
    pub(crate) fn hold(self, bytes_max: u64) -> Self {
        let kind = Kind::Held { bytes: Zeroizing::new(Vec::new()), bytes_max, then: Box::new(self.kind) };
        Self { kind, ..self }
    }

    /// Holds the text in a file without a name, in the folder for temporary files, until [`Sink::finish`].
    pub(crate) fn spool(self) -> Result<Self, Error> {
        let file = match Unnamed::anonymous(&std::env::temp_dir()) {
            Ok(file) => file,
            Err(cause) => {
                return Err(Error::Output { name: self.name, operation: "make a temporary file for", cause });
            }
        };
        Ok(Self { kind: Kind::Spooled { file, then: Box::new(self.kind) }, ..self })
    }

    /// Writes all slices, one after the other.
    pub(crate) fn write(&mut self, slices: &mut [IoSlice<'_>]) -> Result<(), Error> {
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        self.kind.write(slices, self.interrupted).map_err(|failure| failure.into_error(&self.name))?;
        self.at += bytes as u64;
        Ok(())
    }

    /// Gives the output file its name, or writes the held text. Returns the number of bytes.
    ///
    /// # Errors
    /// [`Error::Output`]; [`Error::OutputExists`] if another process made a file of that name meanwhile.
    pub(crate) fn finish(self) -> Result<u64, Error> {
        let Self { name, kind, at, is_durable, interrupted } = self;
        let output = |operation, cause| Error::Output { name: name.clone(), operation, cause };
        match kind {
            Kind::File(file) => file.name(is_durable).map_err(|cause| match cause.kind() {
                io::ErrorKind::AlreadyExists => Error::OutputExists { name: name.clone(), is_folder: false },
                _ => output("give its name to", cause),
            })?,
            Kind::Held { bytes, mut then, .. } => {
                then.write(&mut [IoSlice::new(&bytes)], interrupted)
                    .map_err(|failure| failure.into_error(&name))?;
                then.flush().map_err(|cause| output("write", cause))?;
            }
            Kind::Spooled { file, mut then } => {
                copy(&file, &mut then, &name, interrupted)?;
                then.flush().map_err(|cause| output("write", cause))?;
            }
            Kind::Descriptor(file) if is_durable && !is_null(&file) => {
                file.sync_all().map_err(|cause| output("bring to the disk", cause))?;
            }
            mut other => other.flush().map_err(|cause| output("write", cause))?,
        }
        Ok(at)
    }
}

/// Why a write failed.
enum Failure {
    System(io::Error),
    /// There are more bytes than this bound allows to hold.
    TooMuch(u64),
    /// A signal came.
    Interrupted,
}

impl Failure {
    fn into_error(self, name: &str) -> Error {
        match self {
            Self::System(cause) => Error::Output { name: name.to_owned(), operation: "write", cause },
            Self::TooMuch(limit) => Error::HeldBack { limit },
            Self::Interrupted => Error::Interrupted,
        }
    }
}

impl Kind {
    fn write(&mut self, slices: &mut [IoSlice<'_>], interrupted: Option<&AtomicBool>) -> Result<(), Failure> {
        match self {
            Self::File(file) => write_all(file.file(), slices),
            Self::Descriptor(file) => write_all(file, slices),
            Self::Stream(file) => write_stream(file, slices, interrupted, true),
            Self::Spooled { file, .. } => write_all(file, slices),
            Self::Nothing => Ok(()),
            Self::Writer(writer) => {
                slices.iter().try_for_each(|slice| writer.write_all(slice)).map_err(Failure::System)
            }
            Self::Held { bytes, bytes_max, .. } => {
                let more: usize = slices.iter().map(|slice| slice.len()).sum();
                if (bytes.len() + more) as u64 > *bytes_max {
                    return Err(Failure::TooMuch(*bytes_max));
                }
                grow(bytes, more);
                slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Writer(writer) => writer.flush(),
            _ => Ok(()),
        }
    }
}

/// Makes room for `more` bytes; the memory that is freed is wiped.
fn grow(bytes: &mut Zeroizing<Vec<u8>>, more: usize) {
    if bytes.capacity() - bytes.len() < more {
        let mut larger = Vec::with_capacity((bytes.len() + more).next_power_of_two());
        larger.extend_from_slice(bytes);
        *bytes = Zeroizing::new(larger);
    }
}

fn copy(mut file: &File, then: &mut Kind, name: &str, interrupted: Option<&AtomicBool>) -> Result<(), Error> {
    use std::io::{Read, Seek};
    let failed = |cause| Error::Output { name: name.to_owned(), operation: "write", cause };
    file.rewind().map_err(failed)?;
    let mut piece = vec![0; COPIED_BYTES];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                then.write(&mut [IoSlice::new(&piece[..read])], interrupted)
                    .map_err(|failure| failure.into_error(name))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn write_all(mut file: &File, mut slices: &mut [IoSlice<'_>]) -> Result<(), Failure> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        let some = slices.len().min(SLICES_MAX);
        match file.write_vectored(&slices[..some]) {
            Ok(0) => return Err(Failure::System(io::Error::from(io::ErrorKind::WriteZero))),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::System(error)),
        }
    }
    Ok(())
}

/// Writes to a stream that may be full for long, so that a signal can interrupt the wait. If the stream can refuse a
/// call instead of blocking (`can_refuse`), calls are made so; otherwise short calls follow a poll.
fn write_stream(
    file: &File,
    mut slices: &mut [IoSlice<'_>],
    interrupted: Option<&AtomicBool>,
    mut can_refuse: bool,
) -> Result<(), Failure> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        let some = slices.len().min(SLICES_MAX);
        let written = if can_refuse {
            pwritev2(file, &slices[..some], AT_POSITION, ReadWriteFlags::NOWAIT)
        } else if wait_until(file.as_fd(), PollFlags::OUT, interrupted) {
            // A stream with any room has room for this many bytes.
            rustix::io::write(file, &slices[0][..slices[0].len().min(ATOMIC_BYTES)])
        } else {
            return Err(Failure::Interrupted);
        };
        match written {
            Ok(0) => return Err(Failure::System(io::Error::from(io::ErrorKind::WriteZero))),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                if !wait_until(file.as_fd(), PollFlags::OUT, interrupted) {
                    return Err(Failure::Interrupted);
                }
            }
            // The stream or the kernel does not support calls that refuse to block.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::SPIPE) if can_refuse => {
                can_refuse = false;
            }
            Err(error) => return Err(Failure::System(error.into())),
        }
    }
    Ok(())
}

fn open_stdout(input: Option<Identity>) -> Result<Kind, Error> {
    let name = || "standard output".to_owned();
    let failed = |cause| Error::Output { name: name(), operation: "open", cause };
    let descriptor: OwnedFd = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    if input.is_some() && Identity::of(&descriptor) == input {
        return Err(Error::request("standard output is the input; name another output"));
    }
    Ok(kind_of(File::from(descriptor)))
}

/// The kind for an open file that is written directly.
fn kind_of(file: File) -> Kind {
    let is_file = fstat(&file).is_ok_and(|stat| {
        matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::BlockDevice)
    });
    if is_file || is_null(&file) { Kind::Descriptor(file) } else { Kind::Stream(file) }
}

fn open_path(
    path: &Path,
    overwrite: bool,
    content: Content,
    input: Option<Identity>,
    interrupted: Option<&AtomicBool>,
) -> Result<Kind, Error> {
    let name = || path.display().to_string();
    let failed = |cause| Error::Output { name: name(), operation: "open", cause };
    let found = OutputPath::of(path).map_err(failed)?.unwrap_or(OutputPath::Folder);
    open_found(found, path, overwrite, content, input, interrupted)
}

fn open_found(
    found: OutputPath,
    path: &Path,
    overwrite: bool,
    content: Content,
    input: Option<Identity>,
    interrupted: Option<&AtomicBool>,
) -> Result<Kind, Error> {
    let name = || path.display().to_string();
    let failed = |cause| Error::Output { name: name(), operation: "open", cause };
    let exists = |is_folder| Error::OutputExists { name: name(), is_folder };
    match found {
        OutputPath::Folder => Err(exists(true)),
        OutputPath::Device(node) => {
            let file = node.open(path, interrupted).map_err(failed)?;
            Ok(kind_of(file.ok_or(Error::Interrupted)?))
        }
        OutputPath::File(identity, _) if input.is_some_and(|input| input == identity) => {
            Err(Error::request(format!("{} is the input itself; name another output", name())))
        }
        OutputPath::File(..) | OutputPath::Link | OutputPath::Strange if !overwrite => Err(exists(false)),
        OutputPath::File(..) | OutputPath::Link | OutputPath::Strange | OutputPath::Free => {
            let target = match found {
                // A link stays, and its target is replaced; but a link of another user is replaced itself.
                OutputPath::File(_, target) => target,
                _ => path.to_path_buf(),
            };
            let file = Unnamed::new(target, overwrite, content).map_err(|cause| Error::Output {
                name: name(),
                operation: "make a temporary file beside",
                cause,
            })?;
            Ok(Kind::File(file))
        }
    }
}

/// Whether the file is the null device, which drops all data.
fn is_null(file: &File) -> bool {
    fstat(file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            && (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)) == NULL_DEVICE
    })
}

/// Device number of Linux's /dev/null.
const NULL_DEVICE: (u32, u32) = (1, 3);
/// The offset with which `pwritev2` writes at the stream's own position.
const AT_POSITION: u64 = u64::MAX;
/// Number of bytes that a pipe with room takes as a whole: PIPE_BUF of Linux.
const ATOMIC_BYTES: usize = 4096;
/// At most this many slices in one call: IOV_MAX of Linux.
const SLICES_MAX: usize = 1024;
/// Number of bytes of a spooled text that are copied at a time.
const COPIED_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe() -> (File, File) {
        let (reader, writer) = io::pipe().unwrap();
        (File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
    }

    #[test]
    fn a_signal_ends_a_write_to_a_pipe_that_nobody_reads() {
        let flag = AtomicBool::new(true);
        for can_refuse in [true, false] {
            let (_reader, writer) = pipe();
            let text = vec![0; 4 << 20];
            let failed = write_stream(&writer, &mut [IoSlice::new(&text)], Some(&flag), can_refuse);
            assert!(matches!(failed, Err(Failure::Interrupted)));
        }
    }

    #[test]
    fn a_pipe_gets_all_bytes_in_their_order() {
        use std::io::Read;
        let text: Vec<u8> = (0..1_000_003_usize).map(|at| (at / 7 + at / 1021 * 31) as u8).collect();
        for can_refuse in [true, false] {
            let (mut reader, writer) = pipe();
            let read = std::thread::spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).map(|_| read)
            });
            let (one, other) = text.split_at(70_000);
            let slices = &mut [IoSlice::new(&[]), IoSlice::new(one), IoSlice::new(other)];
            assert!(write_stream(&writer, slices, None, can_refuse).is_ok());
            drop(writer);
            assert!(read.join().unwrap().unwrap() == text);
        }
    }

    #[test]
    fn what_somebody_else_put_into_a_folder_of_all_is_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("out"), folder.path().join("victim"));
        std::fs::write(&victim, b"mine").unwrap();
        symlink(&victim, &path).unwrap();
        let open = |overwrite| open_found(OutputPath::Strange, &path, overwrite, Content::Public, None, None);
        assert!(matches!(open(false), Err(Error::OutputExists { is_folder: false, .. })));
        let Ok(Kind::File(file)) = open(true) else { panic!("a file of its own") };
        file.name(false).unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"mine");
        assert!(!path.is_symlink() && path.is_file());
    }

    #[test]
    fn a_signal_ends_the_wait_for_who_reads_a_fifo() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).unwrap();
        let flag = AtomicBool::new(true);
        let opened = open_path(&path, false, Content::Public, None, Some(&flag));
        assert!(matches!(opened, Err(Error::Interrupted)));
        let _reader = File::options().read(true).write(true).open(&path).unwrap();
        let opened = open_path(&path, false, Content::Public, None, Some(&flag));
        assert!(matches!(opened, Ok(Kind::Stream(_))));
    }
}
