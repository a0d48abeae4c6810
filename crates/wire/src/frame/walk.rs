//! The one reader of a payload: field by field, as the verb table lays it out.

use super::{Argument, FrameError};
use crate::key::KeyReference;
use crate::parameters::{Direction, Kind, Parameter, Verb};
use std::ops::Range;

/// Stands in place of a key's length if a reference follows.
pub(super) const REFERENCE_MARK: u32 = u32::MAX;
/// Length of a field that holds a reference, in bytes: mark, slot and generation.
const REFERENCE_BYTES: usize = 16;

/// The direction in which a payload travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Request,
    Reply,
}

impl Way {
    pub(super) fn carries(self, direction: Direction) -> bool {
        direction
            != match self {
                Self::Request => Direction::Out,
                Self::Reply => Direction::In,
            }
    }
}

/// One field of a payload.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// Position of the field's parameter in the verb table.
    pub position: usize,
    /// The field's parameter.
    pub parameter: &'static Parameter,
    /// The argument in the field: never [`Argument::Absent`].
    pub argument: Argument<'a>,
    /// Range of the field in the payload, with the length before its bytes.
    pub range: Range<usize>,
}

impl Field<'_> {
    /// Whether the field belongs to a key parameter.
    pub fn is_key(&self) -> bool {
        matches!(self.parameter.kind, Kind::Key { .. })
    }
}

/// Walks over the fields of a payload. A payload is whole if the walk ends without an error; an
/// error ends the walk.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    parameters: &'static [Parameter],
    payload: &'a [u8],
    way: Way,
    position: usize,
    at: usize,
}

impl<'a> Walk<'a> {
    /// A walk over the payload of a request.
    #[inline]
    pub fn request(verb: Verb, payload: &'a [u8]) -> Self {
        Self::new(verb, payload, Way::Request)
    }

    /// A walk over the payload of a reply.
    #[inline]
    pub fn reply(verb: Verb, payload: &'a [u8]) -> Self {
        Self::new(verb, payload, Way::Reply)
    }

    #[inline]
    fn new(verb: Verb, payload: &'a [u8], way: Way) -> Self {
        Self { parameters: verb.parameters(), payload, way, position: 0, at: 0 }
    }

    /// Checks that the payload is whole.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] or [`FrameError::Excess`].
    pub fn check(mut self) -> Result<(), FrameError> {
        self.try_for_each(|field| field.map(drop))
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.payload.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*bytes)
    }

    #[inline]
    fn argument(&mut self, kind: Kind) -> Option<Argument<'a>> {
        if kind == Kind::Integer {
            return Some(Argument::Integer(i64::from_le_bytes(self.take()?)));
        }
        let length = u32::from_le_bytes(self.take()?);
        if length == REFERENCE_MARK && self.way == Way::Request && matches!(kind, Kind::Key { .. }) {
            let slot = u32::from_le_bytes(self.take()?);
            let generation = u64::from_le_bytes(self.take()?);
            return Some(Argument::Reference(KeyReference { slot, generation }));
        }
        let bytes = self.payload.get(self.at..)?.get(..length as usize)?;
        self.at += bytes.len();
        Some(Argument::Bytes(bytes))
    }

    #[cold]
    fn ended(&mut self, error: FrameError) -> Option<Result<Field<'a>, FrameError>> {
        (self.position, self.at) = (self.parameters.len(), self.payload.len());
        Some(Err(error))
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Field<'a>, FrameError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let position = self.position;
            let Some(parameter) = self.parameters.get(position) else {
                return if self.at == self.payload.len() { None } else { self.ended(FrameError::Excess) };
            };
            self.position += 1;
            if !self.way.carries(parameter.direction) {
                continue;
            }
            let begin = self.at;
            let Some(argument) = self.argument(parameter.kind) else {
                return self.ended(FrameError::Truncated { position });
            };
            return Some(Ok(Field { position, parameter, argument, range: begin..self.at }));
        }
    }
}

/// A place to which the fields of a payload are appended, one after the other.
pub(crate) trait Sink {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// The rest of a place that is exactly as long as the fields that go there.
impl Sink for &mut [u8] {
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let place = self.split_off_mut(..bytes.len()).expect("a place as long as its fields");
        place.copy_from_slice(bytes);
    }
}

/// Appends the field of an integer.
#[inline]
pub(crate) fn put_integer(out: &mut impl Sink, value: i64) {
    out.append(&value.to_le_bytes());
}

/// Appends the length before the bytes of a field. A payload is bounded, so that the length fits 32
/// bits.
#[inline]
pub(crate) fn put_length(out: &mut impl Sink, bytes: usize) {
    out.append(&(bytes as u32).to_le_bytes());
}

/// Appends the field of bytes, or of a key as bytes.
#[inline]
pub(crate) fn put_bytes(out: &mut impl Sink, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.append(bytes);
}

pub(super) fn reference_field(reference: KeyReference) -> [u8; REFERENCE_BYTES] {
    let mut field = [0; REFERENCE_BYTES];
    field[..4].copy_from_slice(&REFERENCE_MARK.to_le_bytes());
    field[4..8].copy_from_slice(&reference.slot.to_le_bytes());
    field[8..].copy_from_slice(&reference.generation.to_le_bytes());
    field
}

/// Overwrites the reference field that begins at `at` with another reference; false if the payload
/// ends within the field.
pub fn replace_reference(payload: &mut [u8], at: usize, reference: KeyReference) -> bool {
    let place = at.checked_add(REFERENCE_BYTES).and_then(|end| payload.get_mut(at..end));
    place.map(|place| place.copy_from_slice(&reference_field(reference))).is_some()
}

/// Overwrites the reference field that begins at `at` with the range of its token in the arena that
/// goes with the payload. [`Arguments::read_admitted`](super::Arguments::read_admitted) reads it.
///
/// The arena's range has the form of a reference. A request that was not admitted has no arena, and in an admitted
/// one every reference was replaced so: what a client wrote is never read as a range.
pub fn place_token(payload: &mut [u8], at: usize, token: Range<usize>) -> bool {
    let Ok(slot) = u32::try_from(token.len()) else { return false };
    replace_reference(payload, at, KeyReference { slot, generation: token.start as u64 })
}

pub(super) fn token_at(place: KeyReference, arena: &[u8]) -> Option<&[u8]> {
    let start = usize::try_from(place.generation).ok()?;
    let token = arena.get(start..)?.get(..place.slot as usize)?;
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Arguments;
    use crate::verb::{digital_signature_generate as dsg, mac_generate as mac};

    const REFERENCE: KeyReference = KeyReference { slot: 3, generation: 9 };

    fn payload() -> Vec<u8> {
        let mut arguments = Arguments::new(Verb::MacGenerate);
        arguments.set(mac::KEY_IDENTIFIER, Argument::Reference(REFERENCE)).set_bytes(mac::TEXT, b"abc");
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        payload
    }

    #[test]
    fn fields_stand_one_after_the_other() {
        let payload = payload();
        let fields: Vec<_> = Walk::request(Verb::MacGenerate, &payload).map(Result::unwrap).collect();
        assert_eq!(fields[0].argument, Argument::Reference(REFERENCE));
        assert_eq!((fields[0].range.clone(), fields[0].is_key()), (0..16, true));
        assert_eq!(fields[2].argument, Argument::Bytes(b"abc"));
        assert!(fields.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        assert_eq!(fields.last().unwrap().range.end, payload.len());
        // Outputs that do not travel in have no field in a request.
        assert!(fields.iter().all(|field| field.position != mac::MAC));
    }

    #[test]
    fn a_walk_ends_with_its_first_error() {
        let mut payload = payload();
        payload.push(0);
        let mut walk = Walk::request(Verb::MacGenerate, &payload);
        assert_eq!(walk.by_ref().filter(Result::is_err).count(), 1);
        assert!(walk.next().is_none());
        let cut = &payload[..20];
        let errors: Vec<_> = Walk::request(Verb::MacGenerate, cut).filter_map(Result::err).collect();
        assert_eq!(errors, [FrameError::Truncated { position: mac::TEXT_LENGTH }]);
    }

    #[test]
    fn a_placed_token_is_read_from_the_arena_alone() {
        let mut payload = payload();
        let arena = *b"..a token..";
        assert!(place_token(&mut payload, 0, 2..9));
        let read = Arguments::read_admitted(Verb::MacGenerate, &payload, &arena).unwrap();
        assert_eq!(read.bytes(mac::KEY_IDENTIFIER), b"a token");
        for wrong in [0..0, 2..12, 11..12, 12..13] {
            assert!(place_token(&mut payload, 0, wrong.clone()));
            let read = Arguments::read_admitted(Verb::MacGenerate, &payload, &arena).unwrap();
            assert!(matches!(read.at(mac::KEY_IDENTIFIER), Argument::Reference(_)), "{wrong:?}");
        }
        let end = payload.len();
        assert!(!place_token(&mut payload, end - 15, 2..9) && !place_token(&mut payload, usize::MAX, 2..9));
    }

    #[test]
    fn a_key_is_referred_to_where_the_caller_says() {
        let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
        arguments.set_bytes(dsg::PKA_PRIVATE_KEY_ID, &[b'A'; 64]).set_bytes(dsg::HASH, &[7; 20]);
        let mut payload = vec![0xEE; 3];
        let mut seen = Vec::new();
        let written = arguments.write_request_by::<FrameError>(&mut payload, |field| {
            seen.push((field.position, field.at, field.bytes.to_vec()));
            Ok(Some(REFERENCE))
        });
        assert_eq!(written, Ok(()));
        assert_eq!(seen, [(dsg::PKA_PRIVATE_KEY_ID, 20, vec![b'A'; 64])]);
        assert!(replace_reference(&mut payload[3..], 20, KeyReference { slot: 8, generation: 2 }));
        let read = Arguments::read_request(Verb::DigitalSignatureGenerate, &payload[3..]).unwrap();
        let expected = Argument::Reference(KeyReference { slot: 8, generation: 2 });
        assert_eq!((read.at(dsg::PKA_PRIVATE_KEY_ID), read.bytes(dsg::HASH)), (expected, &[7; 20][..]));
    }
}
