//! Files whose change asks for a reload: seen by inotify(7), in the folders that hold them, so that a file that is put in another one's
//! place is seen, also where a link in its path is. A change counts once nothing more has changed for a while.

use crate::settings::{KeySettings, Settings};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// Links that are followed in a path, as many as the kernel does (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// A change waits for others so many times at most: a file that changes all the time does not put everything off.
const QUIETS_MAX: u32 = 20;
/// Bytes of events that are read at once.
const EVENT_BYTES: usize = 16 << 10;

/// What happens to the entries of a folder. A file that is being written counts when it is closed.
const WATCHED: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The files that settings name, and the settings file.
pub(crate) fn files(settings: &Settings) -> Vec<&Path> {
    let mut files = vec![settings.file.as_path()];
    files.extend(settings.ticket_file.iter().map(|path| path.value.as_path()));
    for certificate in &settings.certificates {
        files.extend(certificate.chain.iter().map(|path| path.value.as_path()));
        if let KeySettings::File(key) = &certificate.key {
            files.push(&key.value);
        }
        files.extend(certificate.ocsp.iter().map(|path| path.value.as_path()));
        let clients = certificate.clients.iter();
        files.extend(
            clients.flat_map(|of| std::iter::once(&of.ca).chain(&of.lists)).map(|path| path.value.as_path()),
        );
    }
    files
}

/// Watched files.
pub(crate) struct Watch {
    inotify: OwnedFd,
    /// Names in the folder of each watch.
    names: HashMap<i32, HashSet<OsString>>,
    quiet: Duration,
    /// The first change that was not taken, and the last.
    changed: Option<[Instant; 2]>,
}

impl Watch {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn new(quiet: Duration) -> Result<Self, Errno> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, names: HashMap::new(), quiet, changed: None })
    }

    pub(crate) fn set_quiet(&mut self, quiet: Duration) {
        self.quiet = quiet;
    }

    /// Watches these files and no others; those that are not there as well, as far as their folders are.
    ///
    /// # Errors
    /// Of the system, of the first folder that cannot be watched: changes in it are not seen.
    pub(crate) fn follow<'a>(
        &mut self,
        files: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), (PathBuf, Errno)> {
        let mut wanted = Wanted::default();
        for file in files {
            wanted.add(file);
        }
        let (mut names, mut failed) = (HashMap::<i32, HashSet<OsString>>::new(), Ok(()));
        for (folder, of_folder) in wanted.folders {
            match inotify::add_watch(&self.inotify, &folder, WATCHED) {
                // Two paths may be the same folder.
                Ok(watch) => names.entry(watch).or_default().extend(of_folder),
                Err(errno) if failed.is_ok() => failed = Err((folder, errno)),
                Err(_) => {}
            }
        }
        for watch in self.names.keys().filter(|watch| !names.contains_key(watch)) {
            let _ = inotify::remove_watch(&self.inotify, *watch);
        }
        self.names = names;
        failed
    }

    /// Takes note of what happened.
    pub(crate) fn hear(&mut self, now: Instant) {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let flags = event.events();
            let is_ours = match (self.names.get(&event.wd()), event.file_name()) {
                _ if flags.contains(ReadFlags::QUEUE_OVERFLOW) => true,
                // The folder itself.
                (Some(_), None) => !flags.contains(ReadFlags::IGNORED),
                (Some(names), Some(name)) => names.contains(OsStr::from_bytes(name.to_bytes())),
                (None, _) => false,
            };
            if is_ours {
                let [first, _] = self.changed.unwrap_or([now; 2]);
                self.changed = Some([first, now]);
            }
        }
    }

    /// When what changed is to be read.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.changed.map(|[first, last]| (last + self.quiet).min(first + QUIETS_MAX * self.quiet))
    }

    /// Whether there is something to be read now; it is then taken as read.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due().is_some_and(|due| due <= now);
        if is_due {
            self.changed = None;
        }
        is_due
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// Folders to be watched, and for which names.
#[derive(Default)]
struct Wanted {
    folders: HashMap<PathBuf, HashSet<OsString>>,
    /// What folders of paths are, links followed: thousands of files are in one.
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl Wanted {
    /// A file: its name in its folder; each link in its path, in the folder that the link is in; and what they lead to.
    fn add(&mut self, file: &Path) {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut links = 0;
        let folder = match self.known.get(folder) {
            Some(known) => known.clone(),
            None => {
                let found = self.walk(PathBuf::new(), folder, &mut links);
                self.known.insert(folder.to_owned(), found.clone());
                found
            }
        };
        if let Some(folder) = folder {
            self.walk(folder, Path::new(name), &mut links);
        }
    }

    /// Goes along a path from a folder without links; gives where it ends, or none where it leads nowhere yet.
    fn walk(&mut self, mut at: PathBuf, path: &Path, links: &mut usize) -> Option<PathBuf> {
        let mut parts: Vec<OsString> = components(path);
        while let Some(part) = parts.pop() {
            if part == "/" {
                at = PathBuf::from("/");
                continue;
            }
            if part == ".." {
                if !at.pop() {
                    at.push("..");
                }
                continue;
            }
            let next = at.join(&part);
            let found = std::fs::symlink_metadata(&next);
            let is_link = found.as_ref().is_ok_and(|found| found.is_symlink());
            let is_folder = found.as_ref().is_ok_and(|found| found.is_dir());
            if is_link || !is_folder {
                let folder = if at.as_os_str().is_empty() { PathBuf::from(".") } else { at.clone() };
                self.folders.entry(folder).or_default().insert(part);
            }
            if is_link && *links < LINKS_MAX {
                *links += 1;
                if let Ok(target) = std::fs::read_link(&next) {
                    parts.extend(components(&target));
                    continue;
                }
            }
            if !is_folder {
                // It may come: its folder is watched for it.
                return None;
            }
            at = next;
        }
        Some(at)
    }
}

/// The parts of a path, the last one first.
fn components(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let mut parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn folders_of_links_and_of_what_they_lead_to_are_watched() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path("archive/x")).unwrap();
        fs::create_dir_all(path("live")).unwrap();
        fs::create_dir_all(path("real")).unwrap();
        fs::write(path("archive/x/chain1.pem"), "").unwrap();
        symlink("../archive/x/chain1.pem", path("live/chain.pem")).unwrap();
        symlink(path("real"), path("data")).unwrap();
        fs::write(path("real/key.pem"), "").unwrap();
        let mut wanted = Wanted::default();
        for file in ["live/chain.pem", "data/key.pem", "nowhere/yet/x.pem", "live/missing.pem"] {
            wanted.add(&path(file));
        }
        let mut found: Vec<(PathBuf, Vec<OsString>)> = wanted
            .folders
            .into_iter()
            .filter(|(folder, _)| folder.starts_with(base.path()))
            .map(|(folder, names)| {
                let mut names: Vec<_> = names.into_iter().collect();
                names.sort();
                (folder, names)
            })
            .collect();
        found.sort();
        let names = |names: &[&str]| names.iter().map(OsString::from).collect::<Vec<_>>();
        let expected = [
            (base.path().to_owned(), names(&["data", "nowhere"])),
            (path("archive/x"), names(&["chain1.pem"])),
            (path("live"), names(&["chain.pem", "missing.pem"])),
            (path("real"), names(&["key.pem"])),
        ];
        assert_eq!(found, expected);
        // A link to itself has an end.
        symlink("loop", path("loop")).unwrap();
        Wanted::default().add(&path("loop/x"));
    }

    #[test]
    fn changes_count_when_they_are_over_and_not_for_ever() {
        let quiet = Duration::from_millis(100);
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("a");
        let mut watch = Watch::new(quiet).unwrap();
        watch.follow([file.as_path()]).unwrap();
        let now = Instant::now();
        watch.hear(now);
        fs::write(base.path().join("b"), "").unwrap();
        watch.hear(now);
        assert_eq!(watch.due(), None, "a file of no interest");
        fs::write(&file, "1").unwrap();
        watch.hear(now);
        assert_eq!(watch.due(), Some(now + quiet));
        assert!(!watch.take(now));
        for round in 1..100 {
            fs::write(&file, "2").unwrap();
            watch.hear(now + round * quiet / 2);
        }
        assert_eq!(watch.due(), Some(now + QUIETS_MAX * quiet));
        assert!(watch.take(now + QUIETS_MAX * quiet) && watch.due().is_none());
        // What is put in its place, and its folder's end.
        fs::rename(base.path().join("b"), &file).unwrap();
        watch.hear(now);
        assert!(watch.take(now + quiet));
        drop(base);
        watch.hear(now);
        assert!(watch.take(now + quiet));
        assert!(watch.follow([file.as_path()]).is_ok(), "the folder above is watched");
    }
}
