//! Wiping what a request held.

use std::ops::{Deref, DerefMut};

/// Overwrites with zeros at the speed of a fill: texts may be a mebibyte long, where a store of each
/// byte by itself costs as much as the cipher.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Keeps the stores: the compiler must assume that the zeros are read.
    std::hint::black_box(bytes);
}

/// A text on its way through a kernel; wiped on drop.
#[derive(Default)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// Keeps the first `length` bytes; what is cut off is wiped.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.0.len() {
            wipe(&mut self.0[length..]);
            self.0.truncate(length);
        }
    }

    /// Appends.
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.0.capacity() - self.0.len() < bytes.len() {
            // A growing vector would leave its old memory behind as it was.
            let mut grown = Vec::with_capacity(self.0.len() + bytes.len());
            grown.extend_from_slice(&self.0);
            wipe(&mut self.0);
            self.0 = grown;
        }
        self.0.extend_from_slice(bytes);
    }

    /// Fills up to `length` with a byte.
    pub(crate) fn pad(&mut self, length: usize, byte: u8) {
        let added = [byte; 16];
        while self.0.len() < length {
            let missing = (length - self.0.len()).min(added.len());
            self.extend_from_slice(&added[..missing]);
        }
    }
}

impl From<&[u8]> for Text {
    /// A copy, with room for one block of padding.
    fn from(bytes: &[u8]) -> Self {
        let mut text = Vec::with_capacity(bytes.len() + 16);
        text.extend_from_slice(bytes);
        Self(text)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Deref for Text {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Text {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wiped_bytes_are_zero() {
        let mut bytes = vec![7; 5000];
        wipe(&mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_text_grows_and_shrinks() {
        let mut text = Text::from([1, 2, 3].as_slice());
        text.pad(35, 9);
        text.extend_from_slice(&[4; 40]);
        assert_eq!((text.len(), text[2], text[34], text[35]), (75, 3, 9, 4));
        text.truncate(4);
        assert_eq!(&text[..], [1, 2, 3, 9]);
        text.truncate(9);
        text.pad(2, 0);
        assert_eq!(text.len(), 4);
    }
}
