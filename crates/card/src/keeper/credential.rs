//! The passphrase that a keeper unseals itself with. It is read once, before the sandbox closes, from a descriptor that
//! the program that started the keeper has opened and checked.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use zeroize::Zeroizing;

/// Longest credential, in bytes: the longest passphrase that can be typed.
pub const BYTES_MAX: usize = 4096;

/// Reads the passphrase; one line feed at its end is removed.
///
/// # Errors
/// Why there is no passphrase, in words that hold no part of it.
pub fn read(file: OwnedFd) -> Result<Zeroizing<Vec<u8>>, String> {
    // The buffer has its full size from the start: one that grows would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES_MAX + 1));
    let read = File::from(file).take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|cause| format!("the credential is not read: {cause}"))?;
    if bytes.len() > BYTES_MAX {
        return Err(format!("the credential is longer than {BYTES_MAX} bytes"));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.is_empty() {
        return Err("the credential is empty".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn of(content: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        read(file.into())
    }

    #[test]
    fn a_passphrase_is_read_without_its_line_feed_and_within_its_bound() {
        assert_eq!(*of(b"correct horse").unwrap(), b"correct horse");
        assert_eq!(*of(b"correct horse\n").unwrap(), b"correct horse");
        assert_eq!(*of(b"two\n\n").unwrap(), b"two\n");
        assert_eq!(of(&[b'x'; BYTES_MAX]).unwrap().len(), BYTES_MAX);
        for (content, why) in
            [(&b""[..], "empty"), (b"\n", "empty"), (&[b'x'; BYTES_MAX + 1], "longer than 4096")]
        {
            assert!(of(content).unwrap_err().contains(why));
        }
        // A folder opens, and does not read.
        let folder = File::open("/").unwrap();
        assert!(read(folder.into()).unwrap_err().contains("not read"));
    }
}
