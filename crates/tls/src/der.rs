//! DER: reading what a certificate needs, and writing an ECDSA signature (X.690).

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// Elements, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// One element.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    /// What it holds.
    pub(crate) content: &'a [u8],
    /// All of it, tag and length too.
    pub(crate) whole: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next element; none at the end, and where it does not hold together.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.rest.split_first()?;
        // Tags of more than one byte are in no certificate.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let (bytes, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if bytes.is_empty() || bytes.len() > 4 || bytes[0] == 0 {
                return None;
            }
            length = bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
            if length < 0x80 {
                return None;
            }
            rest = behind;
        }
        let (content, behind) = rest.split_at_checked(length)?;
        let whole = &self.rest[..self.rest.len() - behind.len()];
        self.rest = behind;
        Some(Element { tag, content, whole })
    }

    /// The next element, where it has this tag.
    pub(crate) fn take(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// The next element, where it has this tag; else nothing is taken.
    pub(crate) fn take_if(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.rest.first() == Some(&tag) { self.next() } else { None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Element<'a> {
    pub(crate) fn inside(&self) -> Reader<'a> {
        Reader::new(self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_are_cut_or_not_shortest_are_refused() {
        let text = [4, 3, 1, 2, 3];
        assert_eq!(Reader::new(&text).take(OCTET_STRING).unwrap().content, [1, 2, 3]);
        for end in 0..text.len() {
            assert!(Reader::new(&text[..end]).next().is_none());
        }
        for wrong in
            [&[4, 0x80][..], &[4, 0x81, 1, 9], &[4, 0x82, 0, 1, 9], &[0x1f, 1, 0], &[4, 0x85, 1, 0, 0, 0, 0]]
        {
            assert!(Reader::new(wrong).next().is_none(), "{wrong:?}");
        }
    }
}
