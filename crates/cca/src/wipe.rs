//! Wiping what a request held.

use std::ops::{Deref, DerefMut};

/// Overwrites with zeros at the speed of a fill: texts may be a mebibyte long, where a store of each
/// byte by itself costs as much as the cipher.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Keeps the stores: the compiler must assume that the zeros are read.
    std::hint::black_box(bytes);
}

/// A text on its way through a kernel; wiped on drop. The text may lie in its place in the answer, behind room for what
/// precedes it there (`Reply::lend`).
#[derive(Default)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    /// Where in `bytes` the text begins.
    begin: usize,
}

impl Text {
    /// A copy of `text` in this buffer, behind `begin` bytes of zero and with room for `room` more bytes of text.
    pub(crate) fn within(mut buffer: Vec<u8>, begin: usize, text: &[u8], room: usize) -> Self {
        wipe(&mut buffer);
        buffer.clear();
        buffer.reserve(begin + text.len() + room);
        buffer.resize(begin, 0);
        buffer.extend_from_slice(text);
        Self { bytes: buffer, begin }
    }

    /// The bytes in front of the text, and the text.
    pub(crate) fn split(&mut self) -> (&mut [u8], &mut [u8]) {
        self.bytes.split_at_mut(self.begin)
    }

    /// The buffer: the bytes in front of the text, and the text.
    pub(crate) fn into_buffer(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Keeps the first `length` bytes; what is cut off is wiped.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.len() {
            wipe(&mut self[length..]);
            self.bytes.truncate(self.begin + length);
        }
    }

    /// Appends bytes; memory that is given up is wiped.
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            // A growing vector would leave its old memory behind as it was.
            let mut grown = Vec::with_capacity(self.bytes.len() + bytes.len());
            grown.extend_from_slice(&self.bytes);
            wipe(&mut self.bytes);
            self.bytes = grown;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Fills up to `length` with a byte.
    pub(crate) fn pad(&mut self, length: usize, byte: u8) {
        let added = [byte; 16];
        while self.len() < length {
            let missing = (length - self.len()).min(added.len());
            self.extend_from_slice(&added[..missing]);
        }
    }
}

impl From<&[u8]> for Text {
    /// A copy, with room for one block of padding.
    fn from(bytes: &[u8]) -> Self {
        Self::within(Vec::new(), 0, bytes, 16)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl Deref for Text {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.begin..]
    }
}

impl DerefMut for Text {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..]
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

    #[test]
    fn a_text_lies_behind_room_for_a_head() {
        let mut text = Text::within(vec![9; 50], 5, &[1, 2, 3], 2);
        assert_eq!((&text[..], text.bytes.len()), ([1, 2, 3].as_slice(), 8));
        text.extend_from_slice(&[4; 100]);
        text.truncate(4);
        let (head, own) = text.split();
        assert_eq!((&*head, &*own), ([0; 5].as_slice(), [1, 2, 3, 4].as_slice()));
        head.fill(7);
        assert_eq!(text.into_buffer(), [7, 7, 7, 7, 7, 1, 2, 3, 4]);
    }
}
