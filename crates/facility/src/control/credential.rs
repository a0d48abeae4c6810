//! Credentials as files: 64 hexadecimal digits that only their owner may read.

use crate::FacilityError;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use wire::tenant::Credential;
use zeroize::Zeroizing;

/// The environment variable that names the file of the credential to show.
pub const VARIABLE: &str = "CRYPTAND_CREDENTIAL_FILE";

/// The credential in the file that [`VARIABLE`] names; none where it is unset or empty, and in a program that was
/// started with rights which its starter does not have ([`home::place::is_set_id`]).
///
/// # Errors
/// As [`read`].
pub fn from_environment() -> Result<Option<Credential>, FacilityError> {
    let named = if home::place::is_set_id() { None } else { std::env::var_os(VARIABLE) };
    match named.filter(|path| !path.is_empty()) {
        Some(path) => read(Path::new(&path)).map(Some),
        None => Ok(None),
    }
}

/// Reads a credential. The file must be a regular one of the user that this process runs as, or of root, and not be
/// readable or writable by its group or by others.
///
/// # Errors
/// [`FacilityError::Credential`] names the file and the cause.
pub fn read(path: &Path) -> Result<Credential, FacilityError> {
    let failed = |cause| FacilityError::Credential { path: path.to_owned(), cause };
    let file = home::trust::open_regular(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o777;
        let why = format!("its mode {mode:o} lets others than its owner in; `chmod 600` it");
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, why)));
    }
    let own = rustix::process::geteuid().as_raw();
    if ![own, ROOT].contains(&metadata.uid()) {
        let why = format!("it belongs to user {}, and this process runs as {own}", metadata.uid());
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, why)));
    }
    let mut text = Zeroizing::new(String::with_capacity(TEXT_BYTES_MAX as usize));
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    parse(without_line_end(&text)).ok_or_else(|| {
        failed(io::Error::new(io::ErrorKind::InvalidData, "a credential is 64 hexadecimal digits"))
    })
}

const ROOT: u32 = 0;

/// The text of a credential's file.
pub fn to_text(credential: &Credential) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(TEXT_BYTES_MAX as usize));
    for byte in credential.0 {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text.push('\n');
    text
}

/// Removes one line end. If any number were removed, they could hide text beyond the bytes that are read.
fn without_line_end(text: &str) -> &str {
    let line = text.strip_suffix('\n').unwrap_or(text);
    line.strip_suffix('\r').unwrap_or(line)
}

fn parse(text: &str) -> Option<Credential> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut credential = Credential([0; 32]);
    for (byte, pair) in credential.0.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    Some(credential)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// Bytes read of a file: more than a credential and its line end, so that text after them is noticed.
const TEXT_BYTES_MAX: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(folder: &tempfile::TempDir, text: &str, mode: u32) -> std::path::PathBuf {
        let path = folder.path().join("credential");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_credential_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let credential = Credential(std::array::from_fn(|at| at as u8 * 7));
        let text = to_text(&credential);
        assert_eq!(read(&file(&folder, &text, 0o600)).unwrap(), credential);
        assert_eq!(read(&file(&folder, &text.to_uppercase(), 0o400)).unwrap(), credential);
        for line_end in ["", "\r\n"] {
            assert_eq!(read(&file(&folder, &text.replace('\n', line_end), 0o600)).unwrap(), credential);
        }
    }

    #[test]
    fn files_that_others_read_and_other_texts_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let text = to_text(&Credential([1; 32]));
        for mode in [0o640, 0o604, 0o620] {
            let error = read(&file(&folder, &text, mode)).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && error.contains("credential"), "{error}");
        }
        let hidden = format!("{}{}1", &text[..64], "\n".repeat(16));
        for bad in ["", "12", &"g".repeat(64), &"1".repeat(65), &format!("{}\n1", &text[..64]), &hidden] {
            let error = read(&file(&folder, bad, 0o600)).unwrap_err().to_string();
            assert!(error.contains("64 hexadecimal digits"), "{bad}: {error}");
        }
        assert!(read(folder.path()).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn links_and_strangers_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = file(&folder, &to_text(&Credential([1; 32])), 0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let error = read(&link).unwrap_err().to_string();
        assert!(error.contains("symbolic link") && error.contains("link"), "{error}");
        // Only root gives files away.
        if std::os::unix::fs::chown(&own, Some(4242), None).is_ok() {
            let error = read(&own).unwrap_err().to_string();
            assert!(error.contains("belongs to user 4242"), "{error}");
        }
    }
}
