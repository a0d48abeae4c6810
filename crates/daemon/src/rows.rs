//! Small files in `run/` from which a later daemon learns what an earlier one knew: which processes it
//! started, whose queues they serve, which labels are open.
//!
//! A file is rows of one length, each written by one call and never across a page, so that a
//! daemon killed at any instant leaves old or new rows and no mixed ones. Nothing is flushed: after a
//! loss of power no card runs, and the rows mean nothing. Rows that do not parse are skipped, and
//! every row is compared with the world before it is believed.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A value that a row can hold.
pub trait RowValue: Serialize + DeserializeOwned {
    /// Footprint of a row: a length of two bytes, and its encoding. A power of two up to a page.
    const BYTES: usize;
}

const PAGE_BYTES: usize = 4096;
/// Upper bound of the rows that are read of a file.
const ROWS_MAX: u64 = 1 << 20;

/// A file of rows.
pub struct Rows<T> {
    file: File,
    row: PhantomData<T>,
}

impl<T: RowValue> Rows<T> {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn open(path: &Path) -> io::Result<Self> {
        const { assert!(T::BYTES.is_power_of_two() && T::BYTES <= PAGE_BYTES) };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(Self { file, row: PhantomData })
    }

    /// Opens the file, or makes an empty one, with disk space for `rows` rows, which can then be written although the
    /// disk is full. If the space cannot be allocated, the file is opened all the same, and the log says so.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn open_with_room(path: &Path, rows: usize) -> io::Result<Self> {
        let opened = Self::open(path)?;
        if let Err(error) = reserve(&opened.file, (rows * T::BYTES) as u64) {
            tracing::warn!("{}: no room is kept for {rows} rows: {error}", path.display());
        }
        Ok(opened)
    }

    /// Writes the row at this index.
    ///
    /// # Errors
    /// The error of the system call that failed; [`io::ErrorKind::InvalidInput`] if the row does not fit its place.
    pub fn write(&self, index: u32, row: &T) -> io::Result<()> {
        let encoded = postcard::to_stdvec(row).map_err(io::Error::other)?;
        if encoded.len() > T::BYTES - 2 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut place = vec![0; T::BYTES];
        place[..2].copy_from_slice(&(encoded.len() as u16).to_le_bytes());
        place[2..2 + encoded.len()].copy_from_slice(&encoded);
        self.file.write_all_at(&place, offset::<T>(index))
    }

    /// Empties the row at this index.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn clear(&self, index: u32) -> io::Result<()> {
        self.file.write_all_at(&vec![0; T::BYTES], offset::<T>(index))
    }

    /// The first field of every row that is not empty, whatever follows the field.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn heads<H: DeserializeOwned>(&self) -> io::Result<Vec<H>> {
        let encoded = self.encoded()?;
        Ok(encoded.iter().filter_map(|(_, row)| Some(postcard::take_from_bytes::<H>(row).ok()?.0)).collect())
    }

    /// Every row that reads back, with its index.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn load(&self) -> io::Result<Vec<(u32, T)>> {
        let whole = |row: &[u8]| match postcard::take_from_bytes::<T>(row) {
            Ok((row, [])) => Some(row),
            _ => None,
        };
        let encoded = self.encoded()?;
        Ok(encoded.iter().filter_map(|(index, row)| Some((*index, whole(row)?))).collect())
    }

    /// The bytes of every row that is not empty, with its index.
    fn encoded(&self) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let rows = (self.file.metadata()?.len() / T::BYTES as u64).min(ROWS_MAX) as u32;
        let mut found = Vec::new();
        for index in 0..rows {
            let mut place = vec![0; T::BYTES];
            self.file.read_exact_at(&mut place, offset::<T>(index))?;
            let bytes = usize::from(u16::from_le_bytes([place[0], place[1]]));
            if let Some(encoded) = place.get(2..2 + bytes).filter(|encoded| !encoded.is_empty()) {
                found.push((index, encoded.to_vec()));
            }
        }
        Ok(found)
    }
}

/// Allocates disk space for this many bytes of a file, without changing its length. On copy-on-write file systems
/// (btrfs, ZFS) this guarantees nothing.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn offset<T: RowValue>(index: u32) -> u64 {
    u64::from(index) * T::BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    impl RowValue for (u64, String) {
        const BYTES: usize = 256;
    }

    #[test]
    fn rows_read_back_and_damage_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let rows = Rows::<(u64, String)>::open(&path).unwrap();
        for index in 0..4 {
            rows.write(index, &(u64::from(index) + 1, "a name".into())).unwrap();
        }
        rows.clear(1).unwrap();
        rows.file.write_all_at(&[0xFF; 40], 2 * 256).unwrap();
        let back = Rows::<(u64, String)>::open(&path).unwrap().load().unwrap();
        assert_eq!(back, [(0, (1, "a name".into())), (3, (4, "a name".into()))]);
        assert!(rows.write(0, &(0, "x".repeat(256))).is_err());
        // Row 2 begins with no number.
        assert_eq!(rows.heads::<u64>().unwrap(), [1, 4]);
    }
}
