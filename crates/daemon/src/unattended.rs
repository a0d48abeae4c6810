//! The means by which a keeper unseals itself if no officer attends: a credential that the service manager has opened
//! for this process.
//!
//! The file is opened and checked here, and read only by the process that holds the keys: this process never has a byte
//! of it. A keeper gets it once, as it starts.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wire::control::Unattended;

/// The credential's name: the part of `LoadCredentialEncrypted=` before the colon.
pub const CREDENTIAL: &str = "cryptand-passphrase";
/// The variable by which the service manager names the folder of a unit's credentials (systemd.exec(5)).
pub const FOLDER_VARIABLE: &str = "CREDENTIALS_DIRECTORY";
/// Longest credential that is handed on, in bytes: the longest passphrase that can be typed, and a line feed.
const CREDENTIAL_BYTES_MAX: u64 = 4096 + 1;
/// Longest sealed registers that are read, in bytes.
const SEALED_BYTES_MAX: u64 = 60 * 1024;

/// The message by which a keeper unseals these registers by itself, and the credential. Without a credential, the
/// message says why there is none.
pub fn find(sealed: &Path) -> (Unattended, Option<OwnedFd>) {
    let found = credential(std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from)).and_then(|file| {
        let registers = read_sealed(sealed).map_err(|cause| format!("read {}: {cause}", sealed.display()))?;
        let registers = registers.ok_or_else(|| {
            format!("there are no sealed master keys yet ({}): `cryptand master-key seal`", sealed.display())
        })?;
        Ok((file, registers))
    });
    match found {
        Ok((file, sealed_registers)) => (Unattended::Credential { sealed_registers }, Some(file)),
        Err(why) => (Unattended::Nothing(why), None),
    }
}

/// Opens the credential in this folder, if owner, mode and length are as they must be; the error says what is wrong.
fn credential(folder: Option<PathBuf>) -> Result<OwnedFd, String> {
    let folder = folder.ok_or_else(|| {
        format!("no credential: {FOLDER_VARIABLE} is not set; the unit needs LoadCredentialEncrypted={CREDENTIAL}:FILE")
    })?;
    home::trust::folder(&folder).map_err(|error| format!("the credential: {error}"))?;
    let path = folder.join(CREDENTIAL);
    let failed = |cause: io::Error| format!("the credential {}: {cause}", path.display());
    let file = home::trust::open_regular(&path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let own = rustix::process::geteuid().as_raw();
    if ![0, own].contains(&found.uid()) {
        return Err(failed(io::Error::other(format!("it belongs to user {}", found.uid()))));
    }
    // If the service manager lets this user read by an access list, the list's mask appears as the group's bits.
    let by_list = if found.uid() == 0 && found.gid() == 0 { 0o040 } else { 0 };
    let mode = found.mode() & 0o777;
    if mode & 0o077 & !by_list != 0 {
        return Err(failed(io::Error::other(format!(
            "its mode {mode:04o} lets other users read or write it"
        ))));
    }
    if found.len() > CREDENTIAL_BYTES_MAX {
        return Err(failed(io::Error::other(format!("it is longer than {CREDENTIAL_BYTES_MAX} bytes"))));
    }
    Ok(file.into())
}

/// Reads sealed registers; `None` if there is no file.
///
/// # Errors
/// Those of [`home::trust::read_regular`].
pub fn read_sealed(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match home::trust::read_regular(path, SEALED_BYTES_MAX) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        sealed => sealed.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_an_own_file_that_nobody_else_reads_is_a_credential() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().to_owned();
        let path = folder.join(CREDENTIAL);
        let opens = || credential(Some(folder.clone())).map(drop);
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(credential(None).unwrap_err().contains("LoadCredentialEncrypted"));
        assert!(opens().unwrap_err().contains("No such file"));
        fs::write(&path, "correct horse").unwrap();
        for good in [0o400, 0o600] {
            mode(good);
            assert_eq!(opens(), Ok(()));
        }
        for bad in [0o604, 0o620, 0o666, 0o602] {
            mode(bad);
            assert!(opens().unwrap_err().contains("lets other users"), "{bad:o}");
        }
        mode(0o600);
        if rustix::process::geteuid().is_root() {
            // An access list shows as bits of the group, which is root's own.
            mode(0o440);
            assert_eq!(opens(), Ok(()));
            std::os::unix::fs::chown(&path, None, Some(65534)).unwrap();
            assert!(opens().unwrap_err().contains("lets other users"));
            mode(0o400);
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            assert!(opens().unwrap_err().contains("belongs to user 65534"));
            std::os::unix::fs::chown(&path, Some(0), Some(0)).unwrap();
        }
        mode(0o600);
        fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert!(opens().unwrap_err().contains("longer than"));
        fs::remove_file(&path).unwrap();
        fs::write(folder.join("elsewhere"), "correct horse").unwrap();
        symlink(folder.join("elsewhere"), &path).unwrap();
        assert!(opens().unwrap_err().contains("symbolic link"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(opens().unwrap_err().contains("not a regular file"));
        fs::remove_dir(&path).unwrap();
        // A pipe that nobody writes to is not waited for.
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(opens().unwrap_err().contains("not a regular file"));
        // And others may not decide what lies in the folder.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "correct horse").unwrap();
        mode(0o600);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(opens().unwrap_err().contains("other users"));
    }
}
