//! Looks at the path of an output: whether it is replaced, written into, or belongs to another user and is left alone.
//!
//! Other users can put a symbolic link or a FIFO under an output's name wherever they may write. In a sticky,
//! world-writable folder (`/tmp`) they can also put a file there. None of these is followed or opened. The output is
//! renamed over it, if the system allows that, or else refused. Compare `fs.protected_symlinks` and
//! `fs.protected_fifos` of Linux: they do not cover a program that reads a link itself, nor folders that are not
//! sticky.

use crate::source::{Identity, pause};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, open};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The kind of thing that is at a path.
pub(crate) enum OutputPath {
    Free,
    Folder,
    /// A device or a FIFO.
    Device(Node),
    /// A file, and its path, with links followed.
    File(Identity, PathBuf),
    /// A link whose target does not exist.
    Link,
    /// A link or FIFO of another user, or what another user put into a world-writable folder. It may only be replaced
    /// itself, never followed.
    Strange,
}

/// Identity of a device or FIFO.
pub(crate) struct Node {
    device: u64,
    number: u64,
    is_fifo: bool,
}

impl OutputPath {
    /// Looks at a path; `None` if the path can only be a folder's.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
            return Ok(None);
        }
        // The last link's target is looked at, not the path again: another user could put a new link there meanwhile.
        let Some(target) = target_of(path)? else { return Ok(Some(Self::Strange)) };
        match std::fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => Ok(Some(Self::Strange)),
            Ok(found) => Self::found(&found, target).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::behind_magic(path).map(Some),
            Err(error) => Err(error),
        }
    }

    /// Looks at links of proc(5) to open descriptors (`/dev/stdout`, `/proc/self/fd/3`). Such a link has no path as its
    /// target, but the kernel follows it.
    fn behind_magic(path: &Path) -> io::Result<Self> {
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() => Self::found(&found, path.canonicalize()?),
            Ok(found) => Self::found(&found, path.to_path_buf()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(if path.is_symlink() { Self::Link } else { Self::Free })
            }
            Err(error) => Err(error),
        }
    }

    fn found(found: &Metadata, target: PathBuf) -> io::Result<Self> {
        let identity = Identity::new(found.dev(), found.ino());
        if found.file_type().is_socket() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let node = || Node { device: found.dev(), number: found.ino(), is_fifo: found.file_type().is_fifo() };
        Ok(match () {
            () if found.is_dir() => Self::Folder,
            () if found.is_file() => Self::File(identity, target),
            () => Self::Device(node()),
        })
    }
}

impl Node {
    /// Opens the device or FIFO for writing; `None` if a signal came before a FIFO had a reader.
    ///
    /// # Errors
    /// The system's error; or something else is at the path by now.
    pub(crate) fn open(&self, path: &Path, interrupted: Option<&AtomicBool>) -> io::Result<Option<File>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        loop {
            match open(path, flags, Mode::empty()) {
                Ok(file) => {
                    let stat = fstat(&file)?;
                    if (stat.st_dev, stat.st_ino) != (self.device, self.number) {
                        return Err(io::Error::other("something else was put in its place"));
                    }
                    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                    return Ok(Some(File::from(file)));
                }
                // Only this error tells that a FIFO has no reader yet. A call that waits for a reader would not return
                // for a signal.
                Err(Errno::NXIO) if self.is_fifo => {
                    if !pause(interrupted) {
                        return Ok(None);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The path that symbolic links lead to from this one. `None` if another user put one of these links there, or put the
/// target into a world-writable folder.
///
/// # Errors
/// The system's error; or a folder on the way is another user's link.
fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    let user = rustix::process::geteuid().as_raw();
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let folder = folder_of(&path);
        no_strangers_link_leads_to(&folder, user)?;
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
            Err(error) => return Err(error),
        };
        if is_strange(&found, &folder.metadata()?, user) {
            return Ok(None);
        }
        if !found.is_symlink() {
            return Ok(Some(path));
        }
        path = folder.join(path.read_link()?);
    }
    Err(Errno::LOOP.into())
}

/// Refuses a folder that a symbolic link of another user leads to, also by way of own links. The other user would
/// choose where the output goes.
fn no_strangers_link_leads_to(folder: &Path, user: u32) -> io::Result<()> {
    let root_owner = std::fs::metadata("/")?.uid();
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut way, mut left, mut links) = (PathBuf::new(), parts(folder), 0);
    while let Some(part) = left.pop() {
        // The part before has no links left, so its parent is the folder that the path means.
        if part == ".." && way.file_name().is_some() {
            way.pop();
            continue;
        }
        way.push(&part);
        let Ok(found) = way.symlink_metadata() else { continue };
        if !found.is_symlink() {
            continue;
        }
        if !leads_rightly(found.uid(), user, root_owner) {
            let said =
                format!("{} is a symbolic link of another user's; name the folder itself", way.display());
            return Err(io::Error::other(said));
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let target = way.read_link()?;
        way.pop();
        left.extend(parts(&target));
    }
    Ok(())
}

/// Whether a link to a folder is the user's own or the system's. In a user namespace that does not map the real root,
/// the system's files and `/` belong to `nobody`. Elsewhere `nobody` is a user like others.
fn leads_rightly(owner: u32, user: u32, root_owner: u32) -> bool {
    owner == user || owner == ROOT || (owner == NOBODY && root_owner == NOBODY)
}

/// Whether the thing that was found in `folder` counts as another user's. Links and FIFOs count by their owner. Files
/// count by the kernel's rule for FIFOs, extended to group-writable folders.
fn is_strange(found: &Metadata, folder: &Metadata, user: u32) -> bool {
    let leads_on = found.is_symlink() || found.file_type().is_fifo();
    is_strangers((found.uid(), folder.uid()), (leads_on, folder.mode()), user)
}

/// As [`is_strange`], by owners and modes. Owners of links and FIFOs are judged in every folder: a link leads
/// elsewhere, and data written to a FIFO goes to its reader.
fn is_strangers((owner, folder_owner): (u32, u32), (leads_on, folder_mode): (bool, u32), user: u32) -> bool {
    if leads_on {
        return owner != user && owner != ROOT;
    }
    let is_of_all = folder_mode & STICKY != 0 && folder_mode & (GROUP_WRITES | ALL_WRITE) != 0;
    is_of_all && owner != user && owner != folder_owner
}

/// The folder that a path's last part is in.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// At most this many links are followed in a path, as in Linux.
const LINKS_MAX: usize = 40;
/// The user whose links everybody may follow.
const ROOT: u32 = 0;
/// Linux's overflow user id: the owner of files whose real owner a user namespace does not map, and the user `nobody`.
const NOBODY: u32 = 65_534;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    const ME: u32 = 1000;
    const OTHER: u32 = 1001;

    #[test]
    fn links_of_others_are_strange_and_what_they_put_into_a_folder_of_all() {
        for (owners, leads_on, mode, is_strange) in [
            ((OTHER, ROOT), false, 0o1777, true),
            ((OTHER, ROOT), false, 0o1775, true),
            ((OTHER, ME), false, 0o1777, true),
            ((ME, ROOT), false, 0o1777, false),
            ((ROOT, ROOT), false, 0o1777, false),
            // A colleague's file in the colleague's folder is replaced like an own one.
            ((OTHER, OTHER), false, 0o1777, false),
            ((OTHER, ROOT), false, 0o755, false),
            ((OTHER, ROOT), false, 0o1755, false),
            // A link or a FIFO leads where its owner wants, whatever folder it is in.
            ((OTHER, OTHER), true, 0o755, true),
            ((OTHER, ME), true, 0o777, true),
            ((OTHER, ROOT), true, 0o1777, true),
            ((ME, OTHER), true, 0o755, false),
            ((ROOT, OTHER), true, 0o755, false),
        ] {
            assert_eq!(
                is_strangers(owners, (leads_on, mode), ME),
                is_strange,
                "{owners:?} {leads_on} {mode:o}"
            );
        }
        assert!(is_strangers((OTHER, ROOT), (false, 0o1777), ROOT), "root is lured like others");
        assert!(is_strangers((OTHER, OTHER), (true, 0o700), ROOT), "root is lured like others");
    }

    /// Another user, the folder's owner, cannot lead an output to a file of this user. Neither a link in the output's
    /// place nor a link on the way is followed.
    #[test]
    fn the_owner_of_a_folder_leads_nobody_elsewhere() {
        if needs::lacks(needs::Need::Root) {
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let (victim, folder) = (base.path().join("victim"), base.path().join("of-another"));
        std::fs::write(&victim, "victim").unwrap();
        std::fs::create_dir(&folder).unwrap();
        let (link, way) = (folder.join("out"), folder.join("way"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        std::os::unix::fs::symlink(base.path(), &way).unwrap();
        // An own link is followed; the targets are refused later because of their owner.
        assert!(matches!(OutputPath::of(&link), Ok(Some(OutputPath::File(_, target))) if target == victim));
        assert!(matches!(OutputPath::of(&way.join("victim")), Ok(Some(OutputPath::File(..)))));
        for path in [&folder, &link, &way] {
            std::os::unix::fs::lchown(path, Some(OTHER), Some(OTHER)).unwrap();
        }
        assert!(matches!(OutputPath::of(&link), Ok(Some(OutputPath::Strange))));
        let refused = OutputPath::of(&way.join("victim")).err().unwrap().to_string();
        assert!(refused.contains("another user's"), "{refused}");
    }

    /// Own links are followed, and the links on their way are judged as if they had been named.
    #[test]
    fn an_own_link_leads_over_no_link_of_anothers() {
        if needs::lacks(needs::Need::Root) {
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
        std::fs::create_dir_all(at("folder/inner")).unwrap();
        link("folder", "theirs");
        link("theirs/inner", "over");
        link("over", "further");
        link("folder/../theirs/inner", "around");
        link("folder/inner/../inner", "own");
        let names = ["over", "further", "around", "own"];
        let is_refused = |name: &str| {
            let refused = OutputPath::of(&at(name).join("out")).err();
            refused.is_some_and(|error| {
                error.to_string().contains("theirs is a symbolic link of another user's")
            })
        };
        assert_eq!(names.map(is_refused), [false; 4]);
        // `nobody` is a user too, which daemons run as.
        for owner in [OTHER, NOBODY] {
            std::os::unix::fs::lchown(at("theirs"), Some(owner), Some(owner)).unwrap();
            assert_eq!(names.map(is_refused), [true, true, true, false], "{owner}");
        }
        // A missing folder is no error here: opening the output reports it.
        assert!(matches!(OutputPath::of(&at("own").join("../inner/out")), Ok(Some(OutputPath::Free))));
        link("b", "a");
        link("a", "b");
        assert!(OutputPath::of(&at("a/out")).is_err());
    }

    #[test]
    fn nobodys_links_are_the_systems_where_the_system_is_nobodys() {
        for (owner, root_owner, is_right) in [
            (ME, ROOT, true),
            (ROOT, ROOT, true),
            (OTHER, ROOT, false),
            (NOBODY, ROOT, false),
            (NOBODY, NOBODY, true),
            (OTHER, NOBODY, false),
        ] {
            assert_eq!(leads_rightly(owner, ME, root_owner), is_right, "{owner} {root_owner}");
        }
    }

    #[test]
    fn links_in_a_circle_are_an_error_and_those_that_lead_nowhere_are_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(path("b"), path("a")).unwrap();
        assert!(matches!(OutputPath::of(&path("a")), Ok(Some(OutputPath::Link))));
        assert!(matches!(OutputPath::of(&path("b")), Ok(Some(OutputPath::Free))));
        std::os::unix::fs::symlink(path("a"), path("b")).unwrap();
        assert!(OutputPath::of(&path("a")).is_err());
        assert!(matches!(OutputPath::of(&path("c/")), Ok(None)));
        assert!(matches!(OutputPath::of(Path::new("/dev/null")), Ok(Some(OutputPath::Device(_)))));
        // A descriptor of this process, whose link reads as no path.
        let (_reader, writer) = io::pipe().unwrap();
        let descriptor = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        assert!(matches!(
            OutputPath::of(&descriptor),
            Ok(Some(OutputPath::Device(Node { is_fifo: true, .. })))
        ));
        let file = folder.path().join("file");
        let open = File::create(&file).unwrap();
        let descriptor = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        assert!(
            matches!(OutputPath::of(&descriptor), Ok(Some(OutputPath::File(_, target))) if target == file)
        );
    }
}
