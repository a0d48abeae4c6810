//! The home that a program uses if it is told of none.

use crate::{HomeError, read_bounded, started, trust};
use nix::unistd::{getegid, geteuid, getgid, getuid};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, io};

/// The environment variable that names the home.
pub const VARIABLE: &str = "CRYPTAND_HOME";
/// File in which an administrator names the home for the programs of this machine: `home =
/// "/var/lib/cryptand"`.
pub const CLIENT_FILE: &str = "/etc/cryptand/client.toml";

/// The content of [`CLIENT_FILE`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    home: PathBuf,
}

/// The home of a program that only uses keys: the one in [`VARIABLE`], else the one in
/// [`CLIENT_FILE`], else the user's own; `None` if the user has none. A program that [`is_set_id`]
/// ignores the environment.
///
/// # Errors
/// [`HomeError::Distrusted`] if users other than root and this user could have written
/// [`CLIENT_FILE`]; [`HomeError::Io`] if it cannot be read or is not valid.
pub fn of_program() -> Result<Option<PathBuf>, HomeError> {
    match is_set_id() {
        true => named_in(Path::new(CLIENT_FILE)),
        false => first(env::var_os(VARIABLE), Path::new(CLIENT_FILE), own()),
    }
}

/// The user's own home: `cryptand/home` in the folder for the user's data; `None` if no variable
/// names that folder.
pub fn own() -> Option<PathBuf> {
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    data.map(|data| data.join("cryptand/home"))
}

/// Whether the program has other rights than the user who started it. That user set its
/// environment, which must then not choose who sees texts and keys.
pub fn is_set_id() -> bool {
    started::is_secure() || has_other_ids()
}

/// Whether the program has taken another user's or group's id. A program with capabilities of its
/// file has not.
fn has_other_ids() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}

fn first(
    variable: Option<OsString>,
    file: &Path,
    own: Option<PathBuf>,
) -> Result<Option<PathBuf>, HomeError> {
    match variable.filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(Some(folder.into())),
        None => Ok(named_in(file)?.or(own)),
    }
}

/// The home that the file names; `None` if the file does not exist.
fn named_in(file: &Path) -> Result<Option<PathBuf>, HomeError> {
    match trust::file(file) {
        Err(HomeError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        trusted => trusted?,
    }
    let invalid = |why: String| HomeError::io("read", file)(io::Error::new(io::ErrorKind::InvalidData, why));
    let client: Client = toml::from_str(&read_bounded(file)?).map_err(|error| invalid(error.to_string()))?;
    if !client.home.is_absolute() {
        return Err(invalid(format!("{}: the path must be absolute", client.home.display())));
    }
    Ok(Some(client.home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    fn file(folder: &tempfile::TempDir, text: &str, mode: u32) -> PathBuf {
        let path = folder.path().join("client.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_environment_goes_before_the_file_and_that_before_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let (absent, own) = (folder.path().join("absent"), Some(PathBuf::from("/own")));
        let named = file(&folder, "home = \"/srv/cards\"\n", 0o644);
        let found = |variable: Option<&str>, file: &Path| {
            first(variable.map(OsString::from), file, own.clone()).unwrap().unwrap()
        };
        assert_eq!(found(Some("/asked"), &named), Path::new("/asked"));
        assert_eq!(found(None, &named), Path::new("/srv/cards"));
        assert_eq!(found(Some(""), &named), Path::new("/srv/cards"));
        assert_eq!(found(None, &absent), Path::new("/own"));
        assert_eq!(first(None, &absent, None).unwrap(), None);
    }

    #[test]
    fn a_file_that_others_write_or_that_makes_no_sense_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str, mode: u32| {
            first(None, &file(&folder, text, mode), Some("/own".into())).unwrap_err().to_string()
        };
        assert!(refused("home = \"/srv\"\n", 0o666).contains("client.toml"));
        for text in ["home = \"cards\"\n", "home = 1\n", "", "home = \"/srv\"\ndomain = 1\n"] {
            assert!(refused(text, 0o644).contains("client.toml"), "{text}");
        }
    }

    /// Capabilities of a file as the kernel keeps them (VFS_CAP_REVISION_2): CAP_NET_BIND_SERVICE,
    /// permitted and effective.
    const BINDS_LOW_PORTS: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    /// A program whose file has capabilities keeps its user ids: these do not show that it has more
    /// rights than its starter.
    #[test]
    fn a_program_with_capabilities_of_its_file_does_not_look_at_the_environment() {
        if needs::lacks(needs::Need::Root) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("program");
        fs::copy(env::current_exe().unwrap(), &program).unwrap();
        let said = || {
            let mut part = Command::new(&program);
            part.args([
                "--exact",
                "place::tests::part_of_a_program_with_capabilities",
                "--ignored",
                "--nocapture",
            ]);
            part.env(VARIABLE, "/chosen/by/the/starter").current_dir("/").uid(65534).gid(65534);
            let output = part.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let plain = said();
        assert!(plain.contains("chosen true, other ids false"), "{plain}");
        rustix::fs::setxattr(
            &program,
            "security.capability",
            &BINDS_LOW_PORTS,
            rustix::fs::XattrFlags::CREATE,
        )
        .unwrap();
        let capable = said();
        assert!(capable.contains("chosen false, other ids false"), "{capable}");
    }

    #[test]
    #[ignore = "a part of another test"]
    fn part_of_a_program_with_capabilities() {
        let found = of_program().unwrap();
        let is_chosen = found.as_deref() == Some(Path::new("/chosen/by/the/starter"));
        println!("chosen {is_chosen}, other ids {}", has_other_ids());
    }
}
