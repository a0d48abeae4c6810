//! The folder of one installation: the paths in it, and its settings.
//!
//! ```text
//! <home>/                    0700, owned by the user that the daemon runs as
//!   settings.toml            the operator's settings; see [`Settings`]
//!   version                  version of this layout, one number
//!   keys.sqlite              the key store: wrapped tokens only
//!   master-keys.sealed       master keys, sealed under the officers' passphrase
//!   lock                     held by the running daemon
//!   stopped                  left by a stop: no program starts the daemon by itself
//!   generations              numbers of processes, never given again
//!   run/                     sockets and the key table of the running daemon; a link where a service manager keeps them
//!   log/                     logs of daemon, cards and keeper
//! ```
//!
//! Client library, daemon and command line read the same folder; through this crate they agree on
//! its layout. The crate reads and writes files of the home and notifies the service manager; it
//! has no processes and no keys.
#![deny(unsafe_code)]

mod autostart;
mod error;
pub mod limits;
mod manager;
pub mod place;
mod programs;
mod service;
mod settings;
mod started;
pub mod trust;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use autostart::{NoAutostart, OF_SERVICE_MANAGER, StoppedBy};
pub use error::{Distrust, HomeError};
pub use manager::notify;
pub use programs::program_beside;
pub use service::{OFFICERS_MAX, SERVICE_FILE, Service, ServiceUsers};
pub use settings::{
    Access, CardPlan, CardSettings, Cards, DaemonSettings, Decision, Development, Labels, PREPARED_KEYS_MIB,
    PointItem, Programs, Quarantine, Resolved, RoleSettings, SEAL_MEMORY_MIB, Settings, SettingsError,
    SettingsFile, share_percent,
};

/// Version of the folder's layout that this program reads and writes.
pub const HOME_VERSION: u32 = 1;

/// Longest settings or version file that is read and written, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;

/// An opened home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// Creates a home with these settings. The folder is made, or must be empty except for the
    /// files of an earlier call that was interrupted; it becomes accessible to its owner only.
    ///
    /// # Errors
    /// [`HomeError::Occupied`] if something exists there already; [`HomeError::Distrusted`] if other users could
    /// replace the folder ([`trust`]); [`HomeError::Io`] with path and cause.
    pub fn create(folder: &Path, settings: &Settings) -> Result<Self, HomeError> {
        let text = settings.to_text()?;
        trust::above(folder)?;
        match fs::read_dir(folder) {
            Ok(entries) => {
                if !is_half_made(folder, entries)? {
                    return Err(HomeError::Occupied { folder: folder.to_owned() });
                }
                fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                    .map_err(HomeError::io("make private", folder))?;
                trust::folder(folder)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                private_folder(folder)?;
            }
            Err(error) => return Err(HomeError::io("read", folder)(error)),
        }
        let home = Self { folder: fs::canonicalize(folder).map_err(HomeError::io("resolve", folder))? };
        private_folder(&home.run())?;
        private_folder(&home.logs())?;
        write_durably(&home.settings_path(), text.as_bytes())?;
        // Written last: a folder without it is not a home.
        write_durably(&home.version_path(), format!("{HOME_VERSION}\n").as_bytes())?;
        Ok(home)
    }

    /// Opens an existing home.
    ///
    /// # Errors
    /// [`HomeError::Missing`], [`HomeError::NotAHome`], [`HomeError::Newer`], or [`HomeError::Io`].
    pub fn open(folder: &Path) -> Result<Self, HomeError> {
        let folder = match fs::canonicalize(folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(HomeError::Missing { folder: folder.to_owned() });
            }
            Err(error) => return Err(HomeError::io("resolve", folder)(error)),
        };
        let home = Self { folder };
        let path = home.version_path();
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(HomeError::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(HomeError::NotAHome { folder: home.folder });
            }
            Err(error) => return Err(error),
        };
        let version =
            text.trim().parse::<u32>().map_err(|_| HomeError::NotAHome { folder: home.folder.clone() })?;
        if version > HOME_VERSION {
            return Err(HomeError::Newer { folder: home.folder, version });
        }
        Ok(home)
    }

    /// Checks that no other user can change the home. To be called before a program that the
    /// settings name is run, and before anything is written.
    ///
    /// # Errors
    /// As [`trust::folder`], and as [`trust::file`] for the settings.
    pub fn check_trust(&self) -> Result<(), HomeError> {
        trust::folder(&self.folder)?;
        let path = self.settings_path();
        let metadata = fs::symlink_metadata(&path).map_err(HomeError::io("look at", &path))?;
        trust::regular(&metadata).map_err(HomeError::io("take settings from", &path))?;
        trust::file(&path)?;
        trust::private(&self.key_store())?;
        trust::private(&self.sealed_registers())
    }

    /// Reads and checks the settings.
    ///
    /// # Errors
    /// [`HomeError::Settings`] names the file, the line and the cause.
    pub fn settings(&self) -> Result<Settings, HomeError> {
        let path = self.settings_path();
        let text = read_bounded(&path)?;
        Settings::from_text(&text).map_err(|cause| HomeError::Settings { path, cause })
    }

    /// Reads and checks the settings, to be changed in their file.
    ///
    /// # Errors
    /// As [`Home::settings`].
    pub fn settings_file(&self) -> Result<SettingsFile, HomeError> {
        let path = self.settings_path();
        let text = read_bounded(&path)?;
        SettingsFile::from_text(&text).map_err(|cause| HomeError::Settings { path, cause })
    }

    /// Writes the text that [`SettingsFile::changed`] made, atomically and durably.
    ///
    /// # Errors
    /// [`HomeError::Io`], [`HomeError::Distrusted`]; the old settings then stay.
    pub fn write_settings_text(&self, text: &str) -> Result<(), HomeError> {
        trust::folder(&self.folder)?;
        write_durably(&self.settings_path(), text.as_bytes())
    }

    /// Replaces the settings, atomically and durably.
    ///
    /// # Errors
    /// [`HomeError::Io`], [`HomeError::Distrusted`], or [`HomeError::Settings`] if they are not
    /// valid.
    pub fn write_settings(&self, settings: &Settings) -> Result<(), HomeError> {
        trust::folder(&self.folder)?;
        write_durably(&self.settings_path(), settings.to_text()?.as_bytes())
    }

    /// The folder itself, as an absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// User id that owns the folder.
    ///
    /// # Errors
    /// [`HomeError::Io`] if the folder cannot be read.
    pub fn owner(&self) -> Result<u32, HomeError> {
        Ok(fs::metadata(&self.folder).map_err(HomeError::io("look at", &self.folder))?.uid())
    }

    /// Path of the settings file.
    pub fn settings_path(&self) -> PathBuf {
        self.folder.join("settings.toml")
    }

    /// Path of the file that holds the version of the layout.
    pub fn version_path(&self) -> PathBuf {
        self.folder.join("version")
    }

    /// Path of the key store.
    pub fn key_store(&self) -> PathBuf {
        self.folder.join("keys.sqlite")
    }

    /// Path of the sealed master keys.
    pub fn sealed_registers(&self) -> PathBuf {
        self.folder.join("master-keys.sealed")
    }

    /// Path of the file that holds the time of the last backup.
    pub fn backup_time(&self) -> PathBuf {
        self.folder.join("last-backup")
    }

    /// When the home was last backed up, in seconds since 1970; none if never, or if the file
    /// cannot be read.
    pub fn last_backup(&self) -> Option<u64> {
        read_bounded(&self.backup_time()).ok()?.trim().parse().ok()
    }

    /// Records that the home was backed up at this time, in seconds since 1970.
    ///
    /// # Errors
    /// [`HomeError::Io`] if the file cannot be written.
    pub fn note_backup(&self, unix_s: u64) -> Result<(), HomeError> {
        write_durably(&self.backup_time(), format!("{unix_s}\n").as_bytes())
    }

    /// Path of the file that the running daemon holds locked: its process id as text, and
    /// [`OF_SERVICE_MANAGER`] on a line of its own if a service manager started it.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Path of the file with generation numbers of processes, which are never reused. It is not in
    /// `run/`, since clients outlive that folder.
    pub fn generations(&self) -> PathBuf {
        self.folder.join("generations")
    }

    /// Folder of the sockets and the key table of the running daemon: a folder, or a symbolic link
    /// to one that exists until the machine starts again.
    pub fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Folder of the logs of daemon, cards and keeper.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Path of the daemon's socket for the home's owner and root.
    pub fn admin_socket(&self) -> PathBuf {
        self.run().join("admin.sock")
    }

    /// Path of the daemon's socket for everyone else, and for containers: a client on this socket
    /// is a guest.
    pub fn guest_socket(&self) -> PathBuf {
        self.run().join("guest.sock")
    }

    /// Path of the daemon's socket for observers of cards and tenants.
    pub fn observe_socket(&self) -> PathBuf {
        self.run().join("observe.sock")
    }

    /// Path of the socket of an earlier release's daemon; a symbolic link to
    /// [`Home::guest_socket`], so that clients of that release are refused by name.
    pub fn earlier_socket(&self) -> PathBuf {
        self.run().join("daemon.sock")
    }

    /// Path of the doorbell that clients of a card ring.
    pub fn card_doorbell(&self, index: u32) -> PathBuf {
        self.run().join(format!("card-{index}.bell"))
    }

    /// Path of the socket on which a running card listens for a later daemon.
    pub fn card_listener(&self, index: u32) -> PathBuf {
        self.run().join(format!("card-{index}.sock"))
    }

    /// Path of the socket on which a running keeper listens for a later daemon.
    pub fn keeper_listener(&self) -> PathBuf {
        self.run().join("keeper.sock")
    }

    /// Path of the table of opened keys, which cards map read-only.
    pub fn key_table(&self) -> PathBuf {
        self.run().join("key-table")
    }

    /// Path of the accounts, in which cards count the requests of tenants that are in flight on all
    /// cards.
    pub fn accounts(&self) -> PathBuf {
        self.run().join("accounts")
    }
}

/// Writes a file so that, whatever happens, either the old or the new content stands. It writes and
/// flushes a temporary file, renames it over the old file, and flushes the folder. Only the owner
/// has access. A symbolic link at the temporary file's path is not followed; one at the file's path
/// is replaced.
///
/// # Errors
/// [`HomeError::Io`] with path and cause; the old content then stays.
pub fn write_durably(path: &Path, content: &[u8]) -> Result<(), HomeError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = folder.join(name);
    let written = (|| {
        // A file that an earlier attempt left, or that somebody planted.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()
    })();
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(HomeError::io("write", &temporary)(error));
    }
    fs::rename(&temporary, path).map_err(HomeError::io("replace", path))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(HomeError::io("flush", folder))
}

/// Whether a folder holds only files that [`Home::create`] makes before the version, which makes it
/// a home: then nothing ever ran there.
fn is_half_made(folder: &Path, entries: fs::ReadDir) -> Result<bool, HomeError> {
    for entry in entries {
        let entry = entry.map_err(HomeError::io("read", folder))?;
        let path = entry.path();
        let is_ours = match entry.file_name().to_str() {
            Some("settings.toml" | "settings.toml.new" | "version.new") => true,
            Some("run" | "log") => {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                is_folder && fs::read_dir(&path).map_err(HomeError::io("read", &path))?.next().is_none()
            }
            _ => false,
        };
        if !is_ours {
            return Ok(false);
        }
    }
    Ok(true)
}

fn private_folder(path: &Path) -> Result<(), HomeError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(HomeError::io("create", path))
}

fn read_bounded(path: &Path) -> Result<String, HomeError> {
    let failed = |cause| HomeError::io("read", path)(cause);
    // A longer file is refused: the rest would be lost at the next change.
    let content = trust::read_regular(path, FILE_BYTES_MAX as u64).map_err(failed)?;
    String::from_utf8(content)
        .map_err(|error| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn settings() -> Settings {
        Settings::new(Programs {
            daemon: "/x/cryptand-daemon".into(),
            card: "/x/cryptand-card".into(),
            manifest: None,
        })
    }

    #[test]
    fn a_home_is_private_and_opens_again() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("home");
        let home = Home::create(&folder, &settings()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(home.settings_path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Home::open(&folder).unwrap(), home);
        assert_eq!(home.settings().unwrap(), settings());
    }

    #[test]
    fn settings_that_are_too_long_are_not_cut() {
        let base = tempfile::tempdir().unwrap();
        let home = Home::create(&base.path().join("home"), &settings()).unwrap();
        let text =
            fs::read_to_string(home.settings_path()).unwrap() + &"# more\n".repeat(FILE_BYTES_MAX / 7 + 1);
        fs::write(home.settings_path(), text).unwrap();
        let error = home.settings_file().unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
    }

    #[test]
    fn what_is_no_home_is_refused_by_name() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("home");
        assert!(matches!(Home::open(&folder), Err(HomeError::Missing { .. })));
        assert!(matches!(Home::open(base.path()), Err(HomeError::NotAHome { .. })));
        let home = Home::create(&folder, &settings()).unwrap();
        assert!(matches!(Home::create(&folder, &settings()), Err(HomeError::Occupied { .. })));
        fs::write(home.version_path(), "2\n").unwrap();
        let error = Home::open(&folder).unwrap_err();
        assert!(matches!(error, HomeError::Newer { version: 2, .. }));
        assert!(error.to_string().contains("newer"));
    }

    #[test]
    fn what_was_interrupted_is_made_anew_and_nothing_else_is() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("home");
        let home = Home::create(&folder, &settings()).unwrap();
        // The folder as it is before the last step, and before the last but one.
        for files in [vec![home.version_path()], vec![home.version_path(), home.settings_path()]] {
            files.iter().for_each(|file| fs::remove_file(file).unwrap());
            assert_eq!(Home::create(&folder, &settings()).unwrap(), home);
        }
        for (file, is_folder) in
            [("keys.sqlite", false), ("run/lock", false), ("log", false), ("other", true)]
        {
            fs::remove_file(home.version_path()).unwrap();
            let path = folder.join(file);
            if file == "log" {
                fs::remove_dir(&path).unwrap();
            }
            if is_folder {
                fs::create_dir(&path).unwrap()
            } else {
                fs::write(&path, "theirs").unwrap()
            }
            let refused = Home::create(&folder, &settings());
            assert!(matches!(refused, Err(HomeError::Occupied { .. })), "{file}: {refused:?}");
            if is_folder {
                fs::remove_dir(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            Home::create(&folder, &settings()).unwrap();
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_content() {
        let base = tempfile::tempdir().unwrap();
        let home = Home::create(&base.path().join("home"), &settings()).unwrap();
        // A folder in the way of the temporary file makes the write fail before the rename.
        fs::create_dir(home.folder().join("settings.toml.new")).unwrap();
        let mut changed = settings();
        changed.cards.coprocessors = 5;
        assert!(home.write_settings(&changed).is_err());
        assert_eq!(home.settings().unwrap(), settings());
    }
}
