//! Reads fields of a structure in DER, one after the other.

use spki::der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use spki::der::{Decode, Reader, SliceReader, Tag, TagNumber};

/// The fields that are still to be read; malformed ones are read as `None`.
pub(crate) struct Fields<'a>(SliceReader<'a>);

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        SliceReader::new(bytes).ok().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_finished()
    }

    /// The next field, decoded as this type.
    pub(crate) fn next<T: Decode<'a>>(&mut self) -> Option<T> {
        self.0.decode().ok()
    }

    /// The next field, if it has this tag.
    pub(crate) fn take(&mut self, tag: Tag) -> Option<AnyRef<'a>> {
        self.next().filter(|field: &AnyRef<'a>| spki::der::Tagged::tag(field) == tag)
    }

    /// The next field, if it has this tag; a field with another tag is left.
    pub(crate) fn take_if(&mut self, tag: Tag) -> Option<AnyRef<'a>> {
        if self.0.peek_tag().ok()? == tag { self.next() } else { None }
    }

    /// The fields inside the next field, a SEQUENCE.
    pub(crate) fn sequence(&mut self) -> Option<Self> {
        Self::new(self.take(Tag::Sequence)?.value())
    }

    /// All bytes of the next field, with tag and length.
    pub(crate) fn whole(&mut self) -> Option<&'a [u8]> {
        self.0.tlv_bytes().ok()
    }

    /// The next field, a time as in RFC 5280, 4.1.2.5, in seconds since 1970.
    pub(crate) fn time(&mut self) -> Option<i64> {
        let since = match self.0.peek_tag().ok()? {
            Tag::UtcTime => self.next::<UtcTime>()?.to_unix_duration(),
            _ => self.next::<GeneralizedTime>()?.to_unix_duration(),
        };
        i64::try_from(since.as_secs()).ok()
    }
}

/// The context-specific tag with this number.
pub(crate) const fn numbered(number: TagNumber, constructed: bool) -> Tag {
    Tag::ContextSpecific { constructed, number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_as_others_count_them() {
        let at = |tag: u8, text: &str| {
            let bytes = [&[tag, text.len() as u8], text.as_bytes()].concat();
            Fields::new(&bytes).and_then(|mut fields| fields.time())
        };
        let (utc, generalized) = (0x17, 0x18);
        assert_eq!(at(utc, "700101000000Z"), Some(0));
        assert_eq!(at(utc, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(at(utc, "240229120000Z"), Some(1_709_208_000));
        assert_eq!(at(generalized, "20500101000000Z"), Some(2_524_608_000));
        assert_eq!(at(generalized, "99991231235959Z"), Some(253_402_300_799));
        for wrong in
            ["", "Z", "7001010000Z", "701301000000Z", "700101240000Z", "70010100000xZ", "700101000000+0100"]
        {
            assert_eq!(at(utc, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lengths_that_are_cut_or_not_shortest_are_refused() {
        let next = |bytes: &[u8]| {
            Fields::new(bytes).and_then(|mut fields| Some(fields.take(Tag::OctetString)?.value().to_vec()))
        };
        let text = [4, 3, 1, 2, 3];
        assert_eq!(next(&text), Some(vec![1, 2, 3]));
        for end in 0..text.len() {
            assert_eq!(next(&text[..end]), None);
        }
        for wrong in
            [&[4, 0x80][..], &[4, 0x81, 1, 9], &[4, 0x82, 0, 1, 9], &[0x1f, 1, 0], &[4, 0x85, 1, 0, 0, 0, 0]]
        {
            assert_eq!(next(wrong), None, "{wrong:?}");
        }
    }
}
