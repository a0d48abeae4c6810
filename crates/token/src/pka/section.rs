//! Sections of a PKA token: identifier, version, length, content; and the name section X'10'.

use super::error::{PkaTokenError, Problem};
use super::{HEADER_BYTES, NAME_BYTES, SectionHash};

/// Identifier of the private-key name section.
pub(crate) const NAME_SECTION: u8 = 0x10;
/// Identifier of the private section of an elliptic-curve key, which has two versions.
pub(crate) const ECC_PRIVATE_SECTION: u8 = 0x20;
/// Length of a section's identifier, version and length, in bytes.
pub(crate) const SECTION_HEADER_BYTES: usize = 4;
/// Length of the name section in bytes.
pub(crate) const NAME_SECTION_BYTES: usize = SECTION_HEADER_BYTES + NAME_BYTES;

/// One section, whose stated length lies within the token.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    pub(crate) fn id(&self) -> u8 {
        self.bytes[0]
    }

    pub(crate) fn version(&self) -> u8 {
        self.bytes[1]
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn problem(&self, offset: usize, problem: Problem) -> PkaTokenError {
        PkaTokenError { section: self.id(), offset, problem }
    }

    /// `length` bytes of the section, from `at` on.
    pub(crate) fn range(&self, at: usize, length: usize) -> Result<&'a [u8], PkaTokenError> {
        at.checked_add(length)
            .and_then(|end| self.bytes.get(at..end))
            .ok_or(self.problem(at, Problem::OutOfArea))
    }

    pub(crate) fn byte(&self, at: usize) -> Result<u8, PkaTokenError> {
        Ok(self.range(at, 1)?[0])
    }

    pub(crate) fn halfword(&self, at: usize) -> Result<usize, PkaTokenError> {
        let bytes = self.range(at, 2)?;
        Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }

    pub(crate) fn array<const N: usize>(&self, at: usize) -> Result<&'a [u8; N], PkaTokenError> {
        self.range(at, N)?.first_chunk().ok_or(self.problem(at, Problem::OutOfArea))
    }

    pub(crate) fn reserved(&self, at: usize, length: usize) -> Result<(), PkaTokenError> {
        match self.range(at, length)?.iter().position(|byte| *byte != 0) {
            Some(index) => Err(self.problem(at + index, Problem::Reserved)),
            None => Ok(()),
        }
    }

    /// Several fields of the given lengths, one after the other from `at` on.
    pub(crate) fn fields<const N: usize>(
        &self,
        mut at: usize,
        lengths: [usize; N],
    ) -> Result<[&'a [u8]; N], PkaTokenError> {
        let mut out = [&self.bytes[..0]; N];
        for (field, length) in out.iter_mut().zip(lengths) {
            *field = self.range(at, length)?;
            at += length;
        }
        Ok(out)
    }
}

/// Reads sections one after the other.
pub(crate) struct Sections<'a> {
    rest: &'a [u8],
}

impl<'a> Sections<'a> {
    /// The sections of a token, after its header.
    pub(crate) fn new(token: &'a [u8]) -> Self {
        Self { rest: &token[HEADER_BYTES..] }
    }

    pub(crate) fn next(&mut self) -> Result<Section<'a>, PkaTokenError> {
        let id = self.rest.first().copied().unwrap_or(0);
        let problem = |offset, problem| PkaTokenError { section: id, offset, problem };
        let header = self.rest.first_chunk::<SECTION_HEADER_BYTES>().ok_or(problem(0, Problem::OutOfArea))?;
        if header[1] != 0 && (id, header[1]) != (ECC_PRIVATE_SECTION, 1) {
            return Err(problem(1, Problem::Version));
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if length < SECTION_HEADER_BYTES {
            return Err(problem(2, Problem::OutOfArea));
        }
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(problem(2, Problem::OutOfArea))?;
        self.rest = rest;
        Ok(Section { bytes })
    }

    /// The bytes after the sections read so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn finish(&self) -> Result<(), PkaTokenError> {
        match self.rest.first() {
            Some(id) => Err(PkaTokenError { section: *id, offset: 0, problem: Problem::Order }),
            None => Ok(()),
        }
    }
}

/// Reads the name section.
pub(crate) fn read_name<'a>(sections: &mut Sections<'a>) -> Result<&'a [u8; NAME_BYTES], PkaTokenError> {
    let section = sections.next()?;
    if section.id() != NAME_SECTION {
        return Err(section.problem(0, Problem::Order));
    }
    if section.len() != NAME_SECTION_BYTES {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    section.array(SECTION_HEADER_BYTES)
}

/// The name section for this name.
pub(crate) fn write_name(name: &[u8; NAME_BYTES]) -> Vec<u8> {
    let mut bytes = start(NAME_SECTION, NAME_SECTION_BYTES);
    bytes[SECTION_HEADER_BYTES..].copy_from_slice(name);
    bytes
}

/// A section of zeros with its identifier and length.
pub(crate) fn start(id: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    bytes[0] = id;
    bytes[2..4].copy_from_slice(&halfword(length));
    bytes
}

/// A length as the two bytes of a token; builders check lengths before.
pub(crate) fn halfword(length: usize) -> [u8; 2] {
    (length as u16).to_be_bytes()
}

/// The hash of the following sections, as stated in a private section.
pub(crate) enum FollowingHash<'a> {
    /// SHA-1, at offset 30 of the section.
    Sha1(&'a [u8; 20]),
    /// As [`FollowingHash::Sha1`]; a hash of zeros is not checked.
    Sha1OrZero(&'a [u8; 20]),
    /// SHA-256, at offset 15 of the section.
    Sha256(&'a [u8; 32]),
    /// No hash: nothing may follow.
    Absent,
}

impl FollowingHash<'_> {
    /// Compares the stated hash with that of the sections after the public section.
    pub(crate) fn check(
        &self,
        section: &Section<'_>,
        following: &[u8],
        hashes: &impl SectionHash,
    ) -> Result<(), PkaTokenError> {
        let agrees = match (self, following.is_empty()) {
            (Self::Sha1OrZero(stated), _) if **stated == [0; 20] => true,
            (Self::Sha1(stated) | Self::Sha1OrZero(stated), true) => **stated == [0; 20],
            (Self::Sha256(stated), true) => **stated == [0; 32],
            (Self::Sha1(stated) | Self::Sha1OrZero(stated), false) => hashes.sha1(following) == **stated,
            (Self::Sha256(stated), false) => hashes.sha256(following) == **stated,
            (Self::Absent, empty) => empty,
        };
        let offset = if matches!(self, Self::Sha1(_) | Self::Sha1OrZero(_)) { 30 } else { 15 };
        if agrees { Ok(()) } else { Err(section.problem(offset, Problem::Hash)) }
    }
}
