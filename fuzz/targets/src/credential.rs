//! The file that shows whose process this is.

use facility::credential::{read, to_text};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

/// A credential's file: what is read is all that it says.
pub fn credential(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("credential");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).expect("a file");
    file.write_all(data).expect("a short file");
    if let Ok(credential) = read(&path) {
        let text = to_text(&credential);
        let said = data.strip_suffix(b"\n").unwrap_or(data);
        let said = said.strip_suffix(b"\r").unwrap_or(said);
        assert_eq!(
            said.to_ascii_lowercase(),
            text.trim_end().as_bytes(),
            "nothing of the file is passed over"
        );
    }
}
