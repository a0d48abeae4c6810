//! The arguments of a verb, by position: written into a payload, and read from one.

use super::FrameError;
use super::walk::{REFERENCE_MARK, Walk, Way, put_bytes, put_integer, reference_field, token_at};
use crate::bounds::PARAMETERS_MAX;
use crate::key::KeyReference;
use crate::parameters::{Kind, Verb};

/// One argument, borrowed from a payload or from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// Not present in this direction.
    Absent,
    /// An integer parameter.
    Integer(i64),
    /// A byte parameter, or a key identifier given as token bytes.
    Bytes(&'a [u8]),
    /// A key identifier given as a reference to an opened label.
    Reference(KeyReference),
}

/// A key argument that is given as bytes, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyField<'a> {
    /// Position of the parameter in the verb table.
    pub position: usize,
    /// Where the argument's field begins in the payload, in bytes.
    pub at: usize,
    /// The bytes of the argument, as they are given.
    pub bytes: &'a [u8],
}

/// Number of arguments that are kept in place; for a verb with more parameters the further ones are
/// allocated.
const IN_PLACE: usize = 20;

type Further<'a> = [Argument<'a>; PARAMETERS_MAX - IN_PLACE];

/// The arguments of one verb, by position in the verb table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    verb: Verb,
    first: [Argument<'a>; IN_PLACE],
    further: Option<Box<Further<'a>>>,
}

impl<'a> Arguments<'a> {
    /// Arguments of a verb, none of them given yet.
    pub fn new(verb: Verb) -> Self {
        let further = verb.parameters().len() > IN_PLACE;
        let further = further.then(|| Box::new([Argument::Absent; PARAMETERS_MAX - IN_PLACE]));
        Self { verb, first: [Argument::Absent; IN_PLACE], further }
    }

    /// The verb that the arguments belong to.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Sets the argument at a position of the verb table.
    ///
    /// # Panics
    /// If the verb has no parameter at this position, and it is not among the first 20.
    pub fn set(&mut self, position: usize, argument: Argument<'a>) -> &mut Self {
        match self.first.get_mut(position) {
            Some(place) => *place = argument,
            None => {
                let further = self.further.as_mut().expect("a verb with so many parameters");
                further[position - IN_PLACE] = argument;
            }
        }
        self
    }

    /// Sets an integer. See [`Arguments::set`].
    pub fn set_integer(&mut self, position: usize, value: i64) -> &mut Self {
        self.set(position, Argument::Integer(value))
    }

    /// Sets bytes. See [`Arguments::set`].
    pub fn set_bytes(&mut self, position: usize, bytes: &'a [u8]) -> &mut Self {
        self.set(position, Argument::Bytes(bytes))
    }

    /// The argument at a position; [`Argument::Absent`] beyond the last.
    #[inline]
    pub fn at(&self, position: usize) -> Argument<'a> {
        let further = || self.further.as_ref()?.get(position - IN_PLACE);
        self.first.get(position).or_else(further).copied().unwrap_or(Argument::Absent)
    }

    /// The integer at a position; 0 if no integer is there.
    #[inline]
    pub fn integer(&self, position: usize) -> i64 {
        match self.at(position) {
            Argument::Integer(value) => value,
            _ => 0,
        }
    }

    /// The bytes at a position; empty if no bytes are there.
    #[inline]
    pub fn bytes(&self, position: usize) -> &'a [u8] {
        match self.at(position) {
            Argument::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Appends the request payload.
    ///
    /// # Errors
    /// [`FrameError::Kind`] where an argument does not match the table: an absent integer is sent
    /// as 0 and absent bytes as empty, but bytes for an integer are refused.
    pub fn write_request(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.write(out, Way::Request, |_| Ok(None))
    }

    /// As [`Arguments::write_request`], but asks `refer`, for each key that is given as bytes,
    /// whether a reference goes in place of the key.
    ///
    /// # Errors
    /// As [`Arguments::write_request`], or what `refer` refuses with.
    pub fn write_request_by<E: From<FrameError>>(
        &self,
        out: &mut Vec<u8>,
        refer: impl FnMut(KeyField<'_>) -> Result<Option<KeyReference>, E>,
    ) -> Result<(), E> {
        self.write(out, Way::Request, refer)
    }

    /// Appends the reply payload.
    ///
    /// # Errors
    /// As [`Arguments::write_request`]; a reference in a reply is refused.
    pub fn write_reply(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.write(out, Way::Reply, |_| Ok(None))
    }

    fn write<E: From<FrameError>>(
        &self,
        out: &mut Vec<u8>,
        way: Way,
        mut refer: impl FnMut(KeyField<'_>) -> Result<Option<KeyReference>, E>,
    ) -> Result<(), E> {
        let begin = out.len();
        for (position, parameter) in self.verb.parameters().iter().enumerate() {
            if !way.carries(parameter.direction) {
                continue;
            }
            let is_key = matches!(parameter.kind, Kind::Key { .. });
            let wrong = FrameError::Kind { position };
            let argument = match (is_key, self.at(position)) {
                (true, Argument::Bytes(bytes)) if way == Way::Request => {
                    let field = KeyField { position, at: out.len() - begin, bytes };
                    refer(field)?.map_or(Argument::Bytes(bytes), Argument::Reference)
                }
                (_, argument) => argument,
            };
            match (parameter.kind == Kind::Integer, argument) {
                (true, Argument::Integer(value)) => put_integer(out, value),
                (true, Argument::Absent) => put_integer(out, 0),
                (false, Argument::Bytes(bytes)) => {
                    let length = u32::try_from(bytes.len()).map_err(|_| wrong)?;
                    if length == REFERENCE_MARK {
                        return Err(wrong.into());
                    }
                    put_bytes(out, bytes);
                }
                (false, Argument::Absent) => put_bytes(out, &[]),
                (false, Argument::Reference(reference)) if is_key && way == Way::Request => {
                    out.extend_from_slice(&reference_field(reference));
                }
                _ => return Err(wrong.into()),
            }
        }
        Ok(())
    }

    /// Reads the payload of a request.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] or [`FrameError::Excess`].
    pub fn read_request(verb: Verb, payload: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(verb, Walk::request(verb, payload))
    }

    /// Reads the payload of an admitted request: a key that [`crate::frame::place_token`] has
    /// placed is read as bytes of the arena. A reference to anything else stays a reference.
    ///
    /// # Errors
    /// As [`Arguments::read_request`].
    pub fn read_admitted(verb: Verb, payload: &'a [u8], arena: &'a [u8]) -> Result<Self, FrameError> {
        let mut arguments = Self::new(verb);
        arguments.set_admitted(payload, arena)?;
        Ok(arguments)
    }

    /// As [`Arguments::read_admitted`], but into arguments of the verb that are all absent, so that
    /// a batch reads each request where it keeps it. After an error some of the arguments are set.
    ///
    /// # Errors
    /// As [`Arguments::read_request`].
    pub fn set_admitted(&mut self, payload: &'a [u8], arena: &'a [u8]) -> Result<(), FrameError> {
        for field in Walk::request(self.verb, payload) {
            let field = field?;
            let argument = match field.argument {
                Argument::Reference(place) => token_at(place, arena).map_or(field.argument, Argument::Bytes),
                argument => argument,
            };
            self.set(field.position, argument);
        }
        Ok(())
    }

    /// Reads the payload of a reply.
    ///
    /// # Errors
    /// As [`Arguments::read_request`].
    pub fn read_reply(verb: Verb, payload: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(verb, Walk::reply(verb, payload))
    }

    fn read(verb: Verb, walk: Walk<'a>) -> Result<Self, FrameError> {
        let mut arguments = Self::new(verb);
        for field in walk {
            let field = field?;
            arguments.set(field.position, field.argument);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::{Direction, encipher};
    use proptest::prelude::*;

    /// Arguments of every verb, filled from a byte string.
    fn filled(verb: Verb, material: &[u8], reply: bool) -> Arguments<'_> {
        let mut arguments = Arguments::new(verb);
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            let skipped = if reply { Direction::In } else { Direction::Out };
            if parameter.direction == skipped {
                continue;
            }
            let byte = material.get(position).copied().unwrap_or(7);
            let argument = match parameter.kind {
                Kind::Integer => Argument::Integer(i64::from(byte) - 100),
                Kind::Key { .. } if !reply && byte % 2 == 0 => Argument::Reference(KeyReference {
                    slot: u32::from(byte),
                    generation: u64::from(byte) + 1,
                }),
                _ => Argument::Bytes(&material[..material.len().min(byte as usize)]),
            };
            arguments.set(position, argument);
        }
        arguments
    }

    proptest! {
        #[test]
        fn written_arguments_read_back(material in proptest::collection::vec(any::<u8>(), 0..300)) {
            for entry in crate::verb::TABLE {
                let verb = entry.verb;
                let request = filled(verb, &material, false);
                let mut payload = Vec::new();
                request.write_request(&mut payload).unwrap();
                let back = Arguments::read_request(verb, &payload).unwrap();
                prop_assert_eq!(back, request);

                let reply = filled(verb, &material, true);
                payload.clear();
                reply.write_reply(&mut payload).unwrap();
                prop_assert_eq!(Arguments::read_reply(verb, &payload).unwrap(), reply);
            }
        }

        #[test]
        fn any_payload_is_read_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
            for entry in crate::verb::TABLE {
                if let Ok(arguments) = Arguments::read_request(entry.verb, &payload) {
                    let mut again = Vec::new();
                    arguments.write_request(&mut again).unwrap();
                    prop_assert_eq!(&again, &payload);
                }
            }
        }
    }

    #[test]
    fn every_cut_and_every_excess_is_refused() {
        for entry in crate::verb::TABLE {
            let mut payload = Vec::new();
            filled(entry.verb, &[9; 64], false).write_request(&mut payload).unwrap();
            for length in 0..payload.len() {
                let error = Arguments::read_request(entry.verb, &payload[..length]).unwrap_err();
                assert!(matches!(error, FrameError::Truncated { .. }), "{} cut to {length}", entry.name);
            }
            payload.push(0);
            assert_eq!(Arguments::read_request(entry.verb, &payload).unwrap_err(), FrameError::Excess);
        }
    }

    #[test]
    fn an_argument_of_another_kind_is_refused() {
        let mut arguments = Arguments::new(Verb::Encipher);
        arguments.set_integer(encipher::PLAINTEXT, 1);
        let error = arguments.write_request(&mut Vec::new()).unwrap_err();
        assert_eq!(error, FrameError::Kind { position: encipher::PLAINTEXT });
    }
}
