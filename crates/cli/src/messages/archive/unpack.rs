//! Takes a tar stream apart.
//!
//! What comes out of a message was written by a stranger, and is authentic only when all of it was read. So it is
//! extracted into a hidden folder beside its place, which gets its name at the end; what is in it are regular files,
//! folders and symbolic links that stay inside. Names that are absolute or climb, devices and hard links to elsewhere
//! end the work.

use super::DEPTH_MAX;
use super::blocks::channel;
use crate::failure::Failure;
use crate::messages::failure::PgpFailure;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::thread::{self, JoinHandle};
use tar::{Archive, EntryType};

/// Most entries of an archive that is extracted.
const ENTRIES_MAX: usize = 10_000_000;
/// Most symbolic links of an archive, which are kept in mind until its end.
const LINKS_MAX: usize = 100_000;

/// What an entry is, for `--list`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// `"file"`, `"folder"`, `"link"` or `"other"`.
    pub kind: &'static str,
    /// Its length.
    pub bytes: u64,
}

/// Where an archive is extracted, or listed, while its message is decrypted.
pub struct Unpacking {
    name: String,
    place: Option<Place>,
    worker: JoinHandle<Result<Vec<Listed>, String>>,
}

struct Place {
    target: PathBuf,
    /// Removed with all that is in it, unless it gets the target's name.
    hidden: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.hidden);
    }
}

impl Unpacking {
    /// Begins to extract into `target`, which must not exist; or to list, without one. Write the stream into the
    /// writer that comes with it.
    pub fn begin(name: String, target: Option<&Path>) -> Result<(Self, Box<dyn Write + Send>), Failure> {
        let place = target.map(hidden_folder).transpose()?;
        let (writer, mut reader) = channel();
        let folder = place.as_ref().map(|place| place.hidden.clone());
        let worker = thread::spawn(move || {
            let outcome = unpack(&mut reader, folder.as_deref());
            // The writer must not block, nor see a reader go away, for what comes after the archive's end.
            if outcome.is_ok() {
                let _ = io::copy(&mut reader, &mut io::sink());
            }
            outcome
        });
        Ok((Self { name, place, worker }, Box::new(writer)))
    }

    /// Ends it, after the writer is gone and all is authentic: what was extracted gets its name. Returns what was
    /// listed.
    pub fn finish(self) -> Result<Vec<Listed>, Failure> {
        let said = |cause: String| PgpFailure::Archive { name: self.name.clone(), cause };
        let outcome = self.worker.join().unwrap_or_else(|_| Err("the extraction failed".to_owned()));
        let listed = outcome.map_err(said)?;
        if let Some(place) = &self.place {
            // A folder never replaces another one unless that is empty.
            fs::rename(&place.hidden, &place.target)
                .map_err(Failure::io(format!("name the folder {}", place.target.display())))?;
        }
        Ok(listed)
    }

    /// Ends it where the message failed, after the writer is gone: nothing is left. Where the message failed because
    /// the extraction did, that is the failure.
    pub fn give_up(self, error: pipeline::Error) -> Failure {
        let outcome = self.worker.join();
        match (&error, outcome) {
            (pipeline::Error::Output { .. }, Ok(Err(cause))) => {
                PgpFailure::Archive { name: self.name, cause }.into()
            }
            _ => PgpFailure::pipeline(&self.name, error).into(),
        }
    }
}

fn hidden_folder(target: &Path) -> Result<Place, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    if fs::symlink_metadata(target).is_ok() {
        let said = format!("{}: is there already; name another folder with -o", target.display());
        return Err(Failure::Usage(said));
    }
    let name = target.file_name().ok_or_else(|| Failure::Usage(format!("{}: no name", target.display())))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}", std::process::id()));
    let hidden = target.with_file_name(hidden);
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&hidden)
        .map_err(Failure::io(format!("make the folder {}", hidden.display())))?;
    Ok(Place { target: target.to_owned(), hidden })
}

/// Reads the stream to the archive's end.
fn unpack(reader: impl Read, folder: Option<&Path>) -> Result<Vec<Listed>, String> {
    let mut archive = Archive::new(reader);
    let entries = archive.entries().map_err(|error| format!("not a tar stream: {error}"))?;
    let mut listed = Vec::new();
    let mut links = Vec::new();
    for (count, entry) in entries.enumerate() {
        if count >= ENTRIES_MAX {
            return Err(format!("more than {ENTRIES_MAX} entries"));
        }
        let mut entry = entry.map_err(|error| format!("the tar stream is damaged: {error}"))?;
        let name = safe_name(&entry.path().map_err(|error| format!("an entry without a name: {error}"))?)?;
        let kind = entry.header().entry_type();
        let Some(folder) = folder else {
            let bytes = entry.size();
            listed.push(Listed { name: name.display().to_string(), kind: kind_name(kind), bytes });
            continue;
        };
        let path = folder.join(&name);
        match kind {
            EntryType::Directory => make_folders(&path),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => extract(&mut entry, &path),
            EntryType::Symlink => {
                let target = entry.link_name().ok().flatten();
                let target = target.ok_or_else(|| format!("{}: a link to nowhere", name.display()))?;
                check_link(&name, &target)?;
                if links.len() >= LINKS_MAX {
                    return Err(format!("more than {LINKS_MAX} symbolic links"));
                }
                links.push((path, target.into_owned()));
                Ok(())
            }
            _ => return Err(format!("{}: neither file nor folder nor symbolic link", name.display())),
        }
        .map_err(|error| format!("{}: {error}", name.display()))?;
    }
    // Links come last, after all folders: nothing is ever made through one.
    let named = |path: &Path, error: io::Error| {
        format!("{}: {error}", path.file_name().unwrap_or_default().to_string_lossy())
    };
    for path in links.iter().filter_map(|(path, _)| path.parent()) {
        make_folders(path).map_err(|error| named(path, error))?;
    }
    for (path, target) in &links {
        std::os::unix::fs::symlink(target, path).map_err(|error| named(path, error))?;
    }
    Ok(listed)
}

fn make_folders(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

fn extract(entry: &mut tar::Entry<'_, impl Read>, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    // Whether it can be run is all that is taken over of its mode; the process's mask does the rest.
    let mode = if entry.header().mode().unwrap_or(0) & 0o100 != 0 { 0o777 } else { 0o666 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    io::copy(entry, &mut file)?;
    if let Ok(seconds) = entry.header().mtime() {
        let time = std::time::SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds));
        // A time that the file system does not hold is no reason to fail.
        let _ = time.map(|time| file.set_modified(time));
    }
    Ok(())
}

/// The name, if it stays inside of the folder.
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

/// A link's target climbs no higher than the folder, and only before it goes down: what comes after a name could be
/// another link's target, from where climbing leads elsewhere than it seems.
fn check_link(name: &Path, target: &Path) -> Result<(), String> {
    let refused = || format!("the link {} -> {} would leave the folder", name.display(), target.display());
    let mut depth = name.components().count().checked_sub(1).ok_or_else(refused)?;
    let mut is_down = false;
    for component in target.components() {
        match component {
            Component::Normal(_) => is_down = true,
            Component::CurDir => {}
            Component::ParentDir if !is_down => depth = depth.checked_sub(1).ok_or_else(refused)?,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(refused()),
        }
    }
    Ok(())
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Directory => "folder",
        EntryType::Symlink => "link",
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => "file",
        _ => "other",
    }
}
