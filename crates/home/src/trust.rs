//! Whom a home, and the files that its settings name, must belong to before anything of it is run
//! or written.
//!
//! The owner of a folder, and whoever may write to a folder above it, decides which file a path
//! leads to, and by the settings which programs run. So everything from the root of the file system
//! down to a path must belong to a trusted user: the user that this process runs as, root, or the
//! owner of the running program. Nobody else may write to it, with two exceptions. In folders with
//! the sticky bit (`/tmp`) others can neither rename nor remove what they do not own. The folders
//! above the running program itself are not checked. No other user can later redirect a path that
//! has passed, so that the file that was checked is the file that is used.

use crate::error::{Distrust, HomeError};
use nix::fcntl::OFlag;
use nix::unistd::{Gid, Group, Uid, User, geteuid};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Checks a folder, which must exist, and all folders above it.
///
/// # Errors
/// [`HomeError::Distrusted`] names the first folder, from the root on, that is not trusted;
/// [`HomeError::Io`].
pub fn folder(path: &Path) -> Result<(), HomeError> {
    way_to(&resolved(path)?, "a folder")
}

/// Checks all folders above a path that may not exist yet.
///
/// # Errors
/// As [`folder`].
pub fn above(path: &Path) -> Result<(), HomeError> {
    let path = std::path::absolute(path).map_err(HomeError::io("resolve", path))?;
    let Some(existing) = path.ancestors().skip(1).find(|above| above.exists()) else { return Ok(()) };
    let mut steps: Vec<PathBuf> = resolved(existing)?.ancestors().map(Path::to_owned).collect();
    steps.reverse();
    steps.iter().try_for_each(|step| one(step, "a folder", true))
}

/// Checks a program, or another file that decides which programs run, with all folders above it.
///
/// # Errors
/// As [`folder`].
pub fn file(path: &Path) -> Result<(), HomeError> {
    way_to(&resolved(path)?, "a regular file")
}

/// Checks a file that only its owner may read, and that need not exist.
///
/// # Errors
/// As [`folder`].
pub fn private(path: &Path) -> Result<(), HomeError> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(HomeError::io("look at", path))?,
    };
    let mode = metadata.mode();
    let why = match check(&metadata, "a regular file", false) {
        Ok(()) if mode & 0o077 != 0 => Distrust::Readable(mode & 0o7777),
        Ok(()) => return Ok(()),
        Err(why) => why,
    };
    Err(HomeError::Distrusted { path: path.into(), why })
}

/// The path with symbolic links resolved: their target is checked, and used.
fn resolved(path: &Path) -> Result<PathBuf, HomeError> {
    fs::canonicalize(path).map_err(HomeError::io("resolve", path))
}

fn way_to(path: &Path, expected: &'static str) -> Result<(), HomeError> {
    above(path)?;
    one(path, expected, false)
}

fn one(path: &Path, expected: &'static str, is_above: bool) -> Result<(), HomeError> {
    if is_above && own_folders().iter().any(|own| own == path) {
        return Ok(());
    }
    let metadata = fs::symlink_metadata(path).map_err(HomeError::io("look at", path))?;
    check(&metadata, expected, is_above).map_err(|why| HomeError::Distrusted { path: path.into(), why })
}

/// Checks one file or folder; in a folder above, the sticky bit protects its entries.
fn check(metadata: &Metadata, expected: &'static str, is_above: bool) -> Result<(), Distrust> {
    let found = kind(metadata);
    if found != expected {
        return Err(Distrust::Kind { expected, found });
    }
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if !trusted().contains(&owner) {
        let runs_as = geteuid().as_raw();
        return Err(Distrust::Owner { owner: user(owner), runs_as: user(runs_as) });
    }
    let by_group = mode & 0o020 != 0 && !is_private(metadata.gid(), owner);
    let by_others = mode & 0o002 != 0;
    let is_sticky = is_above && mode & 0o1000 != 0;
    if (by_group || by_others) && !is_sticky {
        return Err(Distrust::Writable(mode & 0o7777));
    }
    Ok(())
}

/// The kind of file, in words for people.
pub(crate) fn kind(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_file() => "a regular file",
        () if kind.is_symlink() => "a symbolic link",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

/// Users who control this process anyway: root, its own user, and the owner of its program.
fn trusted() -> &'static [u32] {
    static TRUSTED: OnceLock<Vec<u32>> = OnceLock::new();
    TRUSTED.get_or_init(|| {
        let program = fs::metadata("/proc/self/exe").map(|program| program.uid());
        [ROOT, geteuid().as_raw()].into_iter().chain(program).collect()
    })
}

const ROOT: u32 = 0;

/// The folders above the running program: whoever can change those controls this process anyway.
fn own_folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let program = fs::canonicalize("/proc/self/exe").unwrap_or_default();
        program.ancestors().skip(1).map(Path::to_owned).collect()
    })
}

/// Whether a group has no members but this user, so that a file which its members may write is the
/// user's alone. Debian gives each user such a group.
fn is_private(group: u32, user: u32) -> bool {
    let Ok(Some(owner)) = User::from_uid(Uid::from_raw(user)) else { return false };
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(group)) else { return false };
    owner.gid == group.gid && owner.name == group.name && group.mem.iter().all(|member| *member == owner.name)
}

fn user(id: u32) -> String {
    let account = User::from_uid(Uid::from_raw(id)).ok().flatten();
    account.map_or_else(|| id.to_string(), |account| account.name)
}

/// Refuses a file that is to be opened for reading or writing and is not a regular file.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`], with the kind that it is.
pub fn regular(metadata: &Metadata) -> io::Result<()> {
    match kind(metadata) {
        "a regular file" => Ok(()),
        found => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {found}, not a regular file")))
        }
    }
}

/// Opens a file for reading at a path where somebody else may have put something. Only a regular
/// file is opened: no symbolic link, which could name another user's file, and no pipe, on which
/// the caller would wait.
///
/// # Errors
/// Of the system, such as [`io::ErrorKind::NotFound`]; [`io::ErrorKind::InvalidInput`] for anything
/// but a regular file, with the kind that it is.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
    let file = opened.map_err(|cause| match fs::symlink_metadata(path) {
        // The system's error for a link is that there are too many, and for a socket that there is
        // no device.
        Ok(found) => regular(&found).err().unwrap_or(cause),
        Err(_) => cause,
    })?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a file that [`open_regular`] opens, if it is not longer than this.
///
/// # Errors
/// As [`open_regular`]; [`io::ErrorKind::InvalidData`] if the file is longer.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        let why = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_but_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::write(at("file"), "text").unwrap();
        assert_eq!(read_regular(&at("file"), 4).unwrap(), b"text");
        assert_eq!(read_regular(&at("file"), 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(open_regular(&at("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
        symlink(at("file"), at("link")).unwrap();
        symlink(at("absent"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, what) in [
            ("link", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("folder", "a folder"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
        ] {
            let refused = open_regular(&at(name)).unwrap_err();
            assert_eq!(refused.to_string(), format!("it is {what}, not a regular file"));
        }
        let device = open_regular(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(device, "it is a device, not a regular file");
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn distrusted(result: Result<(), HomeError>) -> (PathBuf, Distrust) {
        match result {
            Err(HomeError::Distrusted { path, why }) => (path, why),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_that_others_may_read_are_refused_where_they_are_private() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("keys");
        private(&path).unwrap();
        fs::write(&path, "").unwrap();
        for mode in [0o600, 0o400, 0o700] {
            set_mode(&path, mode);
            private(&path).unwrap();
        }
        for mode in [0o640, 0o604, 0o610, 0o601] {
            set_mode(&path, mode);
            let (found, why) = distrusted(private(&path));
            assert!(found == path && matches!(why, Distrust::Readable(bits) if bits == mode), "{why}");
        }
        set_mode(&path, 0o666);
        assert!(matches!(distrusted(private(&path)).1, Distrust::Writable(0o666)));
        assert!(matches!(distrusted(private(base.path())).1, Distrust::Kind { .. }));
    }

    #[test]
    fn folders_that_others_write_to_are_refused_at_every_depth() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        let (outer, inner) = (base.join("outer"), base.join("outer/inner"));
        fs::create_dir_all(&inner).unwrap();
        folder(&inner).unwrap();
        for (path, mode, is_refused) in [
            (&inner, 0o777, true),
            (&inner, 0o702, true),
            (&inner, 0o1777, true),
            (&inner, 0o755, false),
            (&outer, 0o777, true),
            (&outer, 0o757, true),
            (&outer, 0o1777, false),
        ] {
            set_mode(path, mode);
            let checked = folder(&inner);
            set_mode(path, 0o700);
            if is_refused {
                let (at, why) = distrusted(checked);
                assert!(at == *path && matches!(why, Distrust::Writable(found) if found == mode), "{why}");
            } else {
                checked.unwrap();
            }
        }
    }

    #[test]
    fn folders_above_the_running_program_are_as_good_as_it() {
        let program = fs::canonicalize(std::env::current_exe().unwrap()).unwrap();
        let own = program.parent().unwrap();
        assert!(own_folders().contains(&own.to_path_buf()) && own_folders().contains(&PathBuf::from("/")));
        assert!(!own_folders().contains(&program));
        above(&own.join("beside")).unwrap();
    }

    #[test]
    fn a_symbolic_link_is_as_good_as_what_it_leads_to() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        let (open, link) = (base.join("open"), base.join("link"));
        fs::create_dir(&open).unwrap();
        symlink(&open, &link).unwrap();
        folder(&link).unwrap();
        set_mode(&open, 0o777);
        assert_eq!(distrusted(folder(&link)).0, open);
    }

    #[test]
    fn what_is_of_another_kind_is_refused_by_name() {
        let base = tempfile::tempdir().unwrap();
        let (_, why) = distrusted(file(base.path()));
        assert_eq!(why.to_string(), "it is a folder, not a regular file");
        let program = base.path().join("program");
        fs::write(&program, "").unwrap();
        file(&program).unwrap();
        assert_eq!(distrusted(folder(&program)).1.to_string(), "it is a regular file, not a folder");
        set_mode(&program, 0o666);
        assert!(matches!(distrusted(file(&program)).1, Distrust::Writable(0o666)));
    }

    #[test]
    fn what_belongs_to_a_stranger_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        // Only root gives files away.
        if std::os::unix::fs::chown(&base, Some(4242), None).is_err() {
            eprintln!("not run: it needs root");
            return;
        }
        let program = base.join("program");
        fs::write(&program, "").unwrap();
        for checked in [folder(&base), file(&program)] {
            let (at, why) = distrusted(checked);
            assert_eq!(at, base);
            assert!(matches!(&why, Distrust::Owner { owner, .. } if owner == "4242"), "{why}");
        }
    }
}
