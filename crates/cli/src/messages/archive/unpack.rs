//! Takes a tar stream apart.
//!
//! The content of a message is untrusted, and known to be authentic only when all of it was read. So it is extracted
//! into a hidden folder beside its destination ([`Folder`]), which gets its name at the end. Regular files, folders and
//! links that stay inside are extracted, and links that lead out where that was asked for. Devices and FIFOs are left
//! out; absolute paths and paths with `..` abort the extraction.
//!
//! Modes are those of the archive without set-id and sticky bits, and what the process's mask takes away.

use super::DEPTH_MAX;
use super::blocks::channel;
use super::folder::Folder;
use super::left_out::{LeftOut, leads_out};
use crate::failure::{Failure, PgpFailure};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tar::{Archive, EntryType};

/// Upper bound of an archive's entries.
const ENTRIES_MAX: usize = 10_000_000;
/// Upper bound of an archive's symbolic links, which are remembered until its end.
const LINKS_MAX: usize = 100_000;
/// Upper bound of folders that deny their owner some rights; their modes are set at the end.
const CLOSED_FOLDERS_MAX: usize = 100_000;
/// Rights that an owner needs to put entries into a folder and to open it again.
const OWNER_ALL: u32 = 0o700;
/// Bytes of a file that are written at a time.
const COPIED_BYTES: usize = 64 << 10;

/// An entry of an archive, as `--list` shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Path of the entry.
    pub name: String,
    /// `"file"`, `"folder"`, `"link"`, `"outside link"` or `"other"`.
    pub kind: &'static str,
    /// Length of the entry's content in bytes.
    pub bytes: u64,
}

/// The result of an archive.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// The archive's entries, if it was only listed.
    pub listed: Vec<Listed>,
    /// Entries that were not extracted.
    pub left_out: LeftOut,
}

/// Extraction or listing of an archive while its message is decrypted.
pub struct Unpacking {
    name: String,
    folder: Option<Arc<Folder>>,
    worker: JoinHandle<Result<Unpacked, Cause>>,
}

/// Why an archive was not extracted.
#[derive(Debug)]
enum Cause {
    /// The archive is damaged, or holds what is not extracted.
    Archive(String),
    /// A file could not be made or written.
    System(String),
}

impl From<String> for Cause {
    fn from(cause: String) -> Self {
        Self::Archive(cause)
    }
}

impl Cause {
    fn into_failure(self, name: String) -> Failure {
        match self {
            Self::Archive(cause) => PgpFailure::Archive { name, cause }.into(),
            Self::System(cause) => PgpFailure::Extraction { name, cause }.into(),
        }
    }
}

impl Unpacking {
    /// Begins to extract into `target`, which must not exist, or to list if there is no target. Symbolic links that
    /// lead out are extracted only with `outside_links`. The stream is written into the writer that is returned.
    pub fn begin(
        name: String,
        target: Option<&Path>,
        outside_links: bool,
    ) -> Result<(Self, Box<dyn Write + Send>), Failure> {
        let folder = target.map(Folder::make).transpose()?.map(Arc::new);
        let (writer, mut reader) = channel();
        let place = folder.clone();
        let unpacking = move || {
            let outcome = unpack(&mut reader, place.as_deref(), outside_links);
            // The writer must not block, nor see a reader go away, for what comes after the archive's end.
            if outcome.is_ok() {
                let _ = io::copy(&mut reader, &mut io::sink());
            }
            outcome
        };
        let worker = thread::Builder::new().spawn(unpacking).map_err(Failure::thread)?;
        Ok((Self { name, folder, worker }, Box::new(writer)))
    }

    /// Ends the extraction after the writer is gone and all is authentic: the folder gets its name.
    pub fn finish(self) -> Result<Unpacked, Failure> {
        let failed = || Cause::System("the extraction failed".to_owned());
        let outcome = self.worker.join().unwrap_or_else(|_| Err(failed()));
        let unpacked = outcome.map_err(|cause| cause.into_failure(self.name))?;
        if let Some(folder) = &self.folder {
            folder.name()?;
        }
        Ok(unpacked)
    }

    /// Ends the extraction of a failed message, after the writer is gone: nothing is left. If the extraction made the
    /// message fail, its error is returned.
    pub fn give_up(self, error: pipeline::Error) -> Failure {
        let outcome = self.worker.join();
        match (&error, outcome) {
            (pipeline::Error::Output { .. }, Ok(Err(cause))) => cause.into_failure(self.name),
            _ => PgpFailure::pipeline(&self.name, error).into(),
        }
    }
}

/// Reads the stream to the archive's end.
fn unpack(reader: impl Read, folder: Option<&Folder>, outside_links: bool) -> Result<Unpacked, Cause> {
    let mut archive = Archive::new(reader);
    let entries = archive.entries().map_err(|error| format!("not a tar stream: {error}"))?;
    let mut unpacked = Unpacked::default();
    let (mut links, mut closed) = (Vec::new(), BTreeMap::new());
    for (count, entry) in entries.enumerate() {
        if count >= ENTRIES_MAX {
            return Err(format!("more than {ENTRIES_MAX} entries").into());
        }
        let mut entry = entry.map_err(|error| format!("the tar stream is damaged: {error}"))?;
        let name = safe_name(&entry.path().map_err(|error| format!("an entry without a name: {error}"))?)?;
        let kind = entry.header().entry_type();
        let target = entry.link_name().ok().flatten().map(|target| target.into_owned());
        let target = target.ok_or_else(|| format!("{}: a link to nowhere", name.display()));
        let is_outside =
            kind == EntryType::Symlink && leads_out(&name, target.as_ref().map_err(Clone::clone)?);
        let Some(folder) = folder else {
            let kind = if is_outside { "outside link" } else { kind_name(kind) };
            let bytes = entry.size();
            unpacked.listed.push(Listed { name: name.display().to_string(), kind, bytes });
            continue;
        };
        let failed = |error: io::Error| Cause::System(format!("{}: {error}", name.display()));
        match kind {
            EntryType::Directory => {
                folder.make_folders(&name).map_err(failed)?;
                let mode = mode(&entry, 0o777);
                if mode & OWNER_ALL == OWNER_ALL {
                    folder.narrow(&name, mode).map_err(failed)?;
                } else if closed.len() < CLOSED_FOLDERS_MAX {
                    // An archive may name a folder twice.
                    *closed.entry(name).or_insert(mode) &= mode;
                } else {
                    return Err(
                        format!("more than {CLOSED_FOLDERS_MAX} folders closed to their owner").into()
                    );
                }
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                extract(&mut entry, folder, &name)?;
            }
            // A further name of an earlier file of the archive.
            EntryType::Link => folder.link(&safe_name(&target?)?, &name).map_err(failed)?,
            EntryType::Symlink if is_outside && !outside_links => {
                let why =
                    format!("a link to {}, out of the folder: --outside-links makes it", target?.display());
                unpacked.left_out.note(&name, &why);
            }
            EntryType::Symlink => {
                if links.len() >= LINKS_MAX {
                    return Err(format!("more than {LINKS_MAX} symbolic links").into());
                }
                links.push((name, target?));
            }
            // The global header of `git archive` describes the whole archive.
            EntryType::XGlobalHeader => {}
            _ => unpacked.left_out.note(&name, "neither file nor folder nor link, left out"),
        }
    }
    let Some(folder) = folder else { return Ok(unpacked) };
    // Links come last, after all files and folders: no file is ever made through a link.
    for name in links.iter().filter_map(|(name, _)| name.parent()) {
        folder.make_folders(name).map_err(|error| Cause::System(format!("{}: {error}", name.display())))?;
    }
    for (name, target) in &links {
        folder
            .symbolic_link(target, name)
            .map_err(|error| Cause::System(format!("{}: {error}", name.display())))?;
    }
    // Innermost first, which sorts behind its parents: a closed folder lets nobody further in.
    for (name, mode) in closed.iter().rev() {
        folder.narrow(name, *mode).map_err(|error| Cause::System(format!("{}: {error}", name.display())))?;
    }
    Ok(unpacked)
}

/// The permissions in an entry's header, or `unsaid` if the header has none; without set-id and sticky bits.
fn mode(entry: &tar::Entry<'_, impl Read>, unsaid: u32) -> u32 {
    entry.header().mode().unwrap_or(unsaid) & 0o777
}

fn extract(entry: &mut tar::Entry<'_, impl Read>, folder: &Folder, name: &Path) -> Result<(), Cause> {
    let failed = |error: io::Error| Cause::System(format!("{}: {error}", name.display()));
    if let Some(parent) = name.parent() {
        folder.make_folders(parent).map_err(failed)?;
    }
    let mut file = folder.make_file(name, mode(entry, 0o666)).map_err(failed)?;
    let mut piece = zeroize::Zeroizing::new(vec![0; COPIED_BYTES]);
    loop {
        match entry.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => file.write_all(&piece[..read]).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("{}: {error}", name.display()).into()),
        }
    }
    if let Ok(seconds) = entry.header().mtime() {
        let time = std::time::SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds));
        // A time that the file system does not hold is no reason to fail.
        let _ = time.map(|time| file.set_modified(time));
    }
    Ok(())
}

/// The name, if it stays inside the folder; otherwise why not.
fn safe_name(path: &Path) -> Result<PathBuf, String> {
    let mut name = PathBuf::new();
    for (depth, component) in path.components().enumerate() {
        match component {
            Component::Normal(part) if depth < DEPTH_MAX => name.push(part),
            Component::CurDir => {}
            _ => return Err(format!("the entry {:?} would leave the folder", path.display().to_string())),
        }
    }
    Ok(name)
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Directory => "folder",
        EntryType::Symlink => "link",
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => "file",
        _ => "other",
    }
}
