//! The system service: its users, and the paths of its sockets. One file describes it, which only
//! root writes and all of its programs read.
//!
//! ```text
//! keeper    holds the master keys           listens at keeper_folder: card.sock, officer.sock, daemon.sock
//! cards     work with them                  started by the launcher, which listens at cards_folder: launch.sock
//! daemon    decides who uses which card     has no key, and cannot get one
//! officers  give parts of keys to the keeper
//! ```

use crate::settings::{SEAL_MEMORY_MIB, SettingsError, seal_memory};
use crate::{HomeError, read_bounded, trust};
use nix::unistd::User;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use wire::bounds::DOMAINS_MAX;
use wire::control::Unseal;

/// Path of the file of an installed service.
pub const SERVICE_FILE: &str = "/etc/cryptand/service.toml";
/// At most this many officers of one service.
pub const OFFICERS_MAX: usize = 64;

/// The content of the file. Users are names, or numbers if the machine has no name for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The user that the keeper runs as.
    pub keeper: String,
    /// The user that cards run as.
    pub cards: String,
    /// The user that the daemon runs as: the owner of the home.
    pub daemon: String,
    /// Users who give parts of master keys: none at first, later at least two.
    #[serde(default)]
    pub officers: Vec<String>,
    /// Number of domains, each with master keys of its own; equal to that of the home's cards.
    pub domains: u16,
    /// Path of the program `cryptand-card`.
    pub card: PathBuf,
    /// Path of the manifest with the program's hash; none if the program was not installed.
    #[serde(default)]
    pub manifest: Option<PathBuf>,
    /// Folder of the keeper's sockets, which the keeper's user owns.
    pub keeper_folder: PathBuf,
    /// Folder of the launcher's socket, which the cards' user owns.
    pub cards_folder: PathBuf,
    /// Path of the sealed master keys, in a folder that the keeper's user owns.
    pub sealed: PathBuf,
    /// The daemon's home, in which records are counted for officers before master keys change; none if they cannot be
    /// counted.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Memory for deriving the key from the passphrase, in MiB, at most: one of
    /// [`SEAL_MEMORY_MIB`].
    #[serde(default = "seal_memory")]
    pub seal_memory_mib: u32,
    /// Who unseals the master keys after each start of the keeper.
    #[serde(default)]
    pub unseal: Unseal,
}

/// The users of the service as numbers, all different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceUsers {
    /// User id of the keeper.
    pub keeper: u32,
    /// User id of the cards.
    pub cards: u32,
    /// User id of the daemon.
    pub daemon: u32,
    /// User ids of the officers.
    pub officers: Vec<u32>,
}

impl Service {
    /// Reads and checks the file.
    ///
    /// # Errors
    /// [`HomeError::Distrusted`] if users other than root could have written the file,
    /// [`HomeError::Io`] if it cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Self, HomeError> {
        trust::file(path)?;
        let text = read_bounded(path)?;
        let invalid =
            |why: String| HomeError::io("read", path)(io::Error::new(io::ErrorKind::InvalidData, why));
        let service: Self = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        service.check().map_err(invalid)?;
        Ok(service)
    }

    fn check(&self) -> Result<(), String> {
        if self.domains == 0 || usize::from(self.domains) > DOMAINS_MAX {
            return Err(format!("domains = {}; allowed are 1 to {DOMAINS_MAX}", self.domains));
        }
        let paths = [&self.card, &self.keeper_folder, &self.cards_folder, &self.sealed];
        if let Some(path) =
            paths.into_iter().chain(&self.manifest).chain(&self.home).find(|path| !path.is_absolute())
        {
            return Err(format!("{}: the path must be absolute", path.display()));
        }
        if !SEAL_MEMORY_MIB.contains(&self.seal_memory_mib) {
            return Err(SettingsError::SealMemory(self.seal_memory_mib).to_string());
        }
        if self.officers.len() == 1 || self.officers.len() > OFFICERS_MAX {
            return Err(format!(
                "officers: {} named; none, or 2 to {OFFICERS_MAX}, since what they do takes two",
                self.officers.len()
            ));
        }
        Ok(())
    }

    /// Looks up the user ids of the service's users.
    ///
    /// # Errors
    /// [`HomeError::Io`] names a user that the machine does not know, that is root, or that is
    /// named twice: one user could then do what takes two.
    pub fn users(&self) -> Result<ServiceUsers, HomeError> {
        let invalid = |why: String| {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, why);
            HomeError::io("take users from", Path::new(SERVICE_FILE))(cause)
        };
        let mut seen: Vec<u32> = vec![ROOT];
        let mut number = |name: &String| {
            let user = User::from_name(name).ok().flatten().map(|user| user.uid.as_raw());
            let user = user.or_else(|| name.parse().ok());
            let user = user.ok_or_else(|| invalid(format!("this machine has no user {name:?}")))?;
            if seen.contains(&user) {
                return Err(invalid(format!("user {name:?} is root, or has another part already")));
            }
            seen.push(user);
            Ok(user)
        };
        Ok(ServiceUsers {
            keeper: number(&self.keeper)?,
            cards: number(&self.cards)?,
            daemon: number(&self.daemon)?,
            officers: self.officers.iter().map(&mut number).collect::<Result<_, _>>()?,
        })
    }

    /// Path of the socket on which the keeper serves cards.
    pub fn card_socket(&self) -> PathBuf {
        self.keeper_folder.join("card.sock")
    }

    /// Path of the socket on which the keeper serves officers.
    pub fn officer_socket(&self) -> PathBuf {
        self.keeper_folder.join("officer.sock")
    }

    /// Path of the socket on which the keeper tells the daemon which cards hold the keys.
    pub fn daemon_socket(&self) -> PathBuf {
        self.keeper_folder.join("daemon.sock")
    }

    /// Path of the socket on which the launcher takes the daemon's orders to start cards.
    pub fn launch_socket(&self) -> PathBuf {
        self.cards_folder.join("launch.sock")
    }
}

const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(change: impl FnOnce(&mut Service)) -> String {
        let path = PathBuf::from("/somewhere");
        let mut service = Service {
            keeper: "4001".into(),
            cards: "4002".into(),
            daemon: "4003".into(),
            officers: vec!["4004".into(), "4005".into()],
            domains: 1,
            card: path.clone(),
            manifest: None,
            keeper_folder: path.clone(),
            cards_folder: path.clone(),
            sealed: path,
            home: None,
            seal_memory_mib: seal_memory(),
            unseal: Unseal::default(),
        };
        change(&mut service);
        toml::to_string(&service).unwrap()
    }

    fn read(text: &str) -> Result<Service, HomeError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.toml");
        std::fs::write(&path, text).unwrap();
        Service::read(&path)
    }

    #[test]
    fn each_part_is_a_user_of_its_own() {
        let users = read(&text(|_| ())).unwrap().users().unwrap();
        assert_eq!((users.keeper, users.cards, users.daemon), (4001, 4002, 4003));
        assert_eq!(users.officers, [4004, 4005]);
        let twice: [fn(&mut Service); 5] = [
            |service| service.officers[1] = "4004".into(),
            |service| service.officers[0] = "4003".into(),
            |service| service.cards = "4003".into(),
            |service| service.keeper = "root".into(),
            |service| service.daemon = "no-such-user-here".into(),
        ];
        for change in twice {
            assert!(read(&text(change)).unwrap().users().is_err());
        }
        assert!(read(&text(|service| service.officers.clear())).unwrap().users().is_ok());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong: [fn(&mut Service); 3] = [
            |service| service.officers.truncate(1),
            |service| service.domains = 0,
            |service| service.sealed = "here".into(),
        ];
        for change in wrong {
            assert!(read(&text(change)).is_err());
        }
        assert!(read(&(text(|_| ()) + "more = 1\n")).is_err());
    }

    #[test]
    fn a_file_that_others_write_is_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.toml");
        std::fs::write(&path, text(|_| ())).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        assert!(matches!(Service::read(&path), Err(HomeError::Distrusted { .. })));
    }
}
