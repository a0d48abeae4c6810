//! Watches files whose change asks for a reload, by inotify(7) on the folders that hold them. So a file that replaces
//! another one is seen, also if a link in its path changes. A change counts once nothing more has changed for a while.
//! If the system has no more instances or watches for this user, the files are examined at intervals.

use crate::settings::{KeySettings, Settings};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// Links that are followed in a path; the kernel follows as many (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// A change waits for further ones at most this many quiet times: a file that changes all the time does not delay it
/// for ever.
const QUIETS_MAX: u32 = 20;
/// Interval at which files are examined, if the system does not report their changes.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Bytes of events that are read at once.
const EVENT_BYTES: usize = 16 << 10;

/// Events of a folder's entries. A file that is being written counts when it is closed.
const WATCHED: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The settings file and all files that the settings name.
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

/// The watch over a set of files.
pub(crate) struct Watch {
    seen: Seen,
    quiet: Duration,
    /// Times of the first and of the last change that are not taken yet.
    changed: Option<[Instant; 2]>,
}

/// The way in which changes are seen.
enum Seen {
    /// The system reports them; each watch of a folder has its names.
    Told { inotify: OwnedFd, names: HashMap<i32, HashSet<OsString>> },
    /// Files are examined next at `next`, and compared with their earlier state.
    Looked { next: Instant, files: HashMap<PathBuf, Option<Stamp>> },
}

/// A file's state by its metadata; another file in its place has another state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            file: (found.dev(), found.ino()),
            length: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Why changes are not seen, or not at once.
#[derive(Debug)]
pub(crate) enum Unseen {
    /// This folder, and perhaps others, cannot be watched.
    Folder(PathBuf, Errno),
    /// The system reports no changes, so files are examined at intervals.
    Untold(Errno),
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lacking = match self {
            Self::Folder(folder, errno) => {
                let folder = folder.display();
                return write!(f, "{folder} and maybe other folders are not watched: {errno}");
            }
            Self::Untold(errno) => errno,
        };
        let limit = match *lacking {
            Errno::NOSPC => "fs.inotify.max_user_watches",
            Errno::NFILE => "fs.file-max",
            _ => "fs.inotify.max_user_instances, or `LimitNOFILE`",
        };
        write!(
            f,
            "files are looked at every {} s, since the system does not tell of changes: {lacking}: raise {limit}, then reload",
            LOOK_EVERY.as_secs()
        )
    }
}

impl Watch {
    /// A watch over no files yet.
    pub(crate) fn new(quiet: Duration) -> Self {
        Self { seen: Seen::Looked { next: Instant::now(), files: HashMap::new() }, quiet, changed: None }
    }

    pub(crate) fn set_quiet(&mut self, quiet: Duration) {
        self.quiet = quiet;
    }

    /// Watches these files and no others. Files that do not exist are watched too, as far as their folders exist.
    ///
    /// # Errors
    /// [`Unseen`] if some changes are not seen, or not at once.
    pub(crate) fn follow<'a>(&mut self, files: impl IntoIterator<Item = &'a Path>) -> Result<(), Unseen> {
        let files: Vec<&Path> = files.into_iter().collect();
        let known = match &mut self.seen {
            Seen::Told { .. } => HashMap::new(),
            Seen::Looked { files, .. } => std::mem::take(files),
        };
        let told = self.be_told(&files);
        if matches!(told, Err(Unseen::Untold(_))) {
            self.look_at(&files, &known, Instant::now());
        }
        told
    }

    /// Examines the files from now on; they are compared with their known state, if there is one.
    fn look_at(&mut self, files: &[&Path], known: &HashMap<PathBuf, Option<Stamp>>, now: Instant) {
        let stamp = |file: &Path| known.get(file).copied().unwrap_or_else(|| Stamp::of(file));
        let files = files.iter().map(|&file| (file.to_owned(), stamp(file))).collect();
        self.seen = Seen::Looked { next: now + LOOK_EVERY, files };
    }

    fn be_told(&mut self, files: &[&Path]) -> Result<(), Unseen> {
        if matches!(self.seen, Seen::Looked { .. }) {
            let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            self.seen = Seen::Told { inotify: inotify.map_err(Unseen::Untold)?, names: HashMap::new() };
        }
        let Seen::Told { inotify, names: before } = &mut self.seen else { return Ok(()) };
        let mut wanted = Wanted::default();
        files.iter().for_each(|file| wanted.add(file));
        let (mut names, mut failed) = (HashMap::<i32, HashSet<OsString>>::new(), Ok(()));
        for (folder, of_folder) in wanted.folders {
            match inotify::add_watch(&*inotify, &folder, WATCHED) {
                // Two paths may lead to the same folder.
                Ok(watch) => names.entry(watch).or_default().extend(of_folder),
                Err(lacking @ (Errno::NOSPC | Errno::NOMEM)) => return Err(Unseen::Untold(lacking)),
                Err(errno) if failed.is_ok() => failed = Err(Unseen::Folder(folder, errno)),
                Err(_) => {}
            }
        }
        for watch in before.keys().filter(|watch| !names.contains_key(watch)) {
            let _ = inotify::remove_watch(&*inotify, *watch);
        }
        *before = names;
        failed
    }

    /// The descriptor that is readable when there are events; `None` if files are examined at intervals.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.seen {
            Seen::Told { inotify, .. } => Some(inotify.as_fd()),
            Seen::Looked { .. } => None,
        }
    }

    /// Reads events, or examines the files if it is time, and notes a change.
    pub(crate) fn hear(&mut self, now: Instant) {
        let has_changed = match &mut self.seen {
            Seen::Told { inotify, names } => has_been_told(inotify, names),
            Seen::Looked { next, files } => {
                if *next > now {
                    return;
                }
                *next = now + LOOK_EVERY;
                let mut has_changed = false;
                for (file, before) in files {
                    let stamp = Stamp::of(file);
                    has_changed |= *before != stamp;
                    *before = stamp;
                }
                has_changed
            }
        };
        if has_changed {
            let [first, _] = self.changed.unwrap_or([now; 2]);
            self.changed = Some([first, now]);
        }
    }

    /// When the watch has to act next: to examine files, or to have them reloaded.
    pub(crate) fn wakes(&self) -> Option<Instant> {
        let looks = match &self.seen {
            Seen::Told { .. } => None,
            Seen::Looked { next, .. } => Some(*next),
        };
        [looks, self.due()].into_iter().flatten().min()
    }

    /// When the noted change is due to be taken.
    fn due(&self) -> Option<Instant> {
        self.changed.map(|[first, last]| (last + self.quiet).min(first + QUIETS_MAX * self.quiet))
    }

    /// Whether a change is due to be taken; it then counts as taken.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due().is_some_and(|due| due <= now);
        if is_due {
            self.changed = None;
        }
        is_due
    }
}

/// Reads the system's events; true if one is about these names.
fn has_been_told(inotify: &OwnedFd, names: &HashMap<i32, HashSet<OsString>>) -> bool {
    let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut has_changed = false;
    while let Ok(event) = reader.next() {
        let flags = event.events();
        has_changed |= match (names.get(&event.wd()), event.file_name()) {
            _ if flags.contains(ReadFlags::QUEUE_OVERFLOW) => true,
            // The event is about the folder itself.
            (Some(_), None) => !flags.contains(ReadFlags::IGNORED),
            (Some(names), Some(name)) => names.contains(OsStr::from_bytes(name.to_bytes())),
            (None, _) => false,
        };
    }
    has_changed
}

/// Folders to watch, each with the names that count.
#[derive(Default)]
struct Wanted {
    folders: HashMap<PathBuf, HashSet<OsString>>,
    /// For folders of paths, the folders that they lead to; kept, since one folder may hold thousands of files.
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl Wanted {
    /// Adds a file: its name in its folder, and each link in its path in the folder that holds the link, and their
    /// targets.
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

    /// Follows a path from a folder without links. Returns the folder it leads to, or `None` if it leads to none yet.
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
                // The entry may appear later, so its folder is watched.
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
        // Following a link to itself comes to an end.
        symlink("loop", path("loop")).unwrap();
        Wanted::default().add(&path("loop/x"));
    }

    #[test]
    fn changes_count_when_they_are_over_and_not_for_ever() {
        let quiet = Duration::from_millis(100);
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("a");
        let mut watch = Watch::new(quiet);
        if watch.follow([file.as_path()]).is_err() {
            return eprintln!("SKIPPED: this user may have no more inotify instances");
        }
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
        // The file is replaced, then its folder is removed.
        fs::rename(base.path().join("b"), &file).unwrap();
        watch.hear(now);
        assert!(watch.take(now + quiet));
        drop(base);
        watch.hear(now);
        assert!(watch.take(now + quiet));
        assert!(watch.follow([file.as_path()]).is_ok(), "the folder above is watched");
    }

    #[test]
    fn files_are_looked_at_where_nothing_tells_of_them() {
        let quiet = Duration::from_millis(100);
        let base = tempfile::tempdir().unwrap();
        let (file, link) = (base.path().join("a"), base.path().join("link"));
        symlink("target1", &link).unwrap();
        fs::write(base.path().join("target1"), "").unwrap();
        fs::write(base.path().join("target2"), "").unwrap();
        let begin = Instant::now();
        let mut watch = Watch::new(quiet);
        watch.look_at(&[&file, &link], &HashMap::new(), begin);
        assert!(watch.descriptor().is_none());
        let mut looks = 0;
        let mut look = |watch: &mut Watch| {
            looks += 1;
            let now = begin + looks * LOOK_EVERY;
            assert_eq!(watch.wakes(), Some(now));
            watch.hear(now);
            (now, watch.take(now + quiet))
        };
        assert!(!look(&mut watch).1, "nothing has changed");
        // Creates a file, writes it, replaces it, changes a link's target, removes the file.
        fs::write(&file, "1").unwrap();
        watch.hear(begin);
        assert!(watch.due().is_none(), "it is not time to look");
        assert!(look(&mut watch).1);
        fs::write(&file, "22").unwrap();
        assert!(look(&mut watch).1);
        fs::rename(base.path().join("target1"), &file).unwrap();
        assert!(look(&mut watch).1, "and what the link led to has gone");
        fs::remove_file(&link).unwrap();
        symlink("target2", &link).unwrap();
        assert!(look(&mut watch).1);
        fs::remove_file(&file).unwrap();
        let (now, is_taken) = look(&mut watch);
        assert!(is_taken && !watch.take(now + 2 * quiet));
        assert!(!look(&mut watch).1);
        // The limit is raised, and the operator reloads.
        if watch.follow([file.as_path()]).is_ok() {
            assert!(watch.descriptor().is_some() && watch.wakes().is_none());
        }
    }

    #[test]
    fn what_is_lacking_is_named_with_its_limit() {
        let said = Unseen::Untold(Errno::MFILE).to_string();
        assert!(said.contains("every 5 s") && said.contains("fs.inotify.max_user_instances"), "{said}");
        let said = Unseen::Untold(Errno::NOSPC).to_string();
        assert!(said.contains("fs.inotify.max_user_watches"), "{said}");
    }
}
