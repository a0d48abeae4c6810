//! The arguments of a verb in the caller's memory: measured by the row, copied in, and the answer copied out.

use crate::memory::{Pointer, wipe};
use facility::Reply;
use std::ffi::c_void;
use std::ops::Range;
use wire::bounds::{BULK_BYTES_MAX, KEYWORD_BYTES, KEYWORDS_MAX, LABEL_BYTES, TEXT_BYTES_MAX};
use wire::code;
use wire::frame::{Argument, Arguments};
use wire::verb::{
    Direction, Entry, Kind, Length, Null, Parameter, Role, TOKEN_HEADER_BYTES, Verb, key_part_import, words,
};
use wire::{Codes, Label};

/// One argument.
struct Field {
    pointer: Pointer,
    /// The value of an integer that travels in; 0 for an output and for bytes.
    integer: i64,
    /// Length of the caller's field in bytes.
    room: usize,
    /// Range of the argument's bytes within the copy of all arguments.
    copied: Range<usize>,
}

/// The arguments of one call, copied.
pub(crate) struct Fields {
    entry: &'static Entry,
    fields: Vec<Field>,
    copied: Vec<u8>,
}

impl Fields {
    /// Measures all fields, then copies them.
    ///
    /// # Errors
    /// 8/35, 8/72 and 8/184 as [`crate::call`] says.
    ///
    /// # Safety
    /// There is a pointer for each parameter of the row. Each that is not null points to a `long`, or to as many bytes
    /// as the row says for the other arguments.
    pub unsafe fn read(entry: &'static Entry, pointers: &[*mut c_void]) -> Result<Self, Codes> {
        let pointers = pointers.iter().copied().map(Pointer::of);
        let mut fields = Vec::with_capacity(entry.parameters.len());
        for (parameter, pointer) in entry.parameters.iter().zip(pointers) {
            if pointer.is_null() && parameter.null == Null::Refused {
                return Err(code::NULL_POINTER);
            }
            let is_read = is_sent(parameter) && parameter.kind == Kind::Integer && !pointer.is_null();
            // SAFETY: the caller's promise.
            let integer = if is_read { unsafe { pointer.integer() } } else { 0 };
            fields.push(Field { pointer, integer, room: 0, copied: 0..0 });
        }
        let mut fields = Self { entry, fields, copied: Vec::new() };
        fields.check_lengths()?;
        // SAFETY: the caller's promise.
        unsafe { fields.copy() }?;
        Ok(fields)
    }

    /// Refuses lengths and counts that no request may have.
    fn check_lengths(&self) -> Result<(), Codes> {
        for parameter in self.entry.parameters {
            let (by, most, codes) = match parameter.kind {
                Kind::Keywords(count) => (count, KEYWORDS_MAX, code::KEYWORD_COUNT),
                Kind::Bytes(length) | Kind::Key { length, .. } => match length {
                    Length::By(by) | Length::Padded { by, .. } => {
                        (by, TEXT_BYTES_MAX, code::BUFFER_TOO_SMALL)
                    }
                    Length::Bits(by) => (by, 8 * TEXT_BYTES_MAX, code::BUFFER_TOO_SMALL),
                    Length::Words(by) => (by, KEYWORDS_MAX, code::KEYWORD_COUNT),
                    Length::Fixed(_) | Length::Keyed(_) | Length::Own => continue,
                },
                Kind::Integer => continue,
            };
            if !(0..=most as i64).contains(&self.fields[by].integer) {
                return Err(codes);
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Fields::read`].
    unsafe fn copy(&mut self) -> Result<(), Codes> {
        // SAFETY: the caller's promise.
        let words = unsafe { self.words() }?;
        let mut total = 0;
        for position in 0..self.fields.len() {
            // SAFETY: the caller's promise.
            let bytes = unsafe { self.measure(position, &words) }?;
            self.fields[position].copied = total..total + bytes;
            total += bytes;
        }
        if total > BULK_BYTES_MAX {
            return Err(code::BUFFER_TOO_SMALL);
        }
        // Memory that grew would leave copies behind that nobody wipes.
        self.copied.reserve_exact(total);
        for field in &self.fields {
            // SAFETY: the caller's promise.
            unsafe { field.pointer.append_to(&mut self.copied, field.copied.len()) };
        }
        Ok(())
    }

    /// The keywords that are given. In a rule array that also goes out, blank elements behind the keywords are room for
    /// what is returned: callers may count that room or not.
    ///
    /// # Safety
    /// As [`Fields::read`].
    unsafe fn words(&self) -> Result<Vec<u64>, Codes> {
        let mut rule_array = Vec::new();
        for (parameter, field) in self.entry.parameters.iter().zip(&self.fields) {
            if let (Kind::Keywords(count), true) = (parameter.kind, is_sent(parameter)) {
                let bytes = self.fields[count].integer as usize * KEYWORD_BYTES;
                if field.pointer.is_null() && bytes != 0 {
                    return Err(code::NULL_POINTER);
                }
                // SAFETY: the caller's promise; counts were checked.
                unsafe { field.pointer.append_to(&mut rule_array, bytes) };
            }
        }
        let is_room = |word: &u64| [0, u64::from_be_bytes([b' '; KEYWORD_BYTES])].contains(word);
        let given = words(&rule_array).into_iter().flatten();
        Ok(match returns_keywords(self.entry) {
            true => given.take_while(|word| !is_room(word)).collect(),
            false => given.collect(),
        })
    }

    /// Notes the room of a field, and returns how many of its bytes are sent.
    ///
    /// # Safety
    /// As [`Fields::read`].
    unsafe fn measure(&mut self, position: usize, words: &[u64]) -> Result<usize, Codes> {
        let parameter = &self.entry.parameters[position];
        let pointer = self.fields[position].pointer;
        let integer = |at: usize| self.fields[at].integer;
        // SAFETY: the caller's promise; the closure is called only for a pointer that is not null.
        let header = || unsafe { pointer.first() };
        let (length, role) = match parameter.kind {
            _ if parameter.null == Null::Ignored => return Ok(0),
            Kind::Integer => return Ok(0),
            Kind::Keywords(count) => {
                let elements = self.entry.keywords.room(parameter.direction, integer(count) as usize, words);
                (Length::Fixed(elements * KEYWORD_BYTES), None)
            }
            Kind::Bytes(length) => (length, None),
            Kind::Key { length, role } => (length, Some(role)),
        };
        let may_be_missing = matches!(parameter.kind, Kind::Bytes(Length::Fixed(_)));
        if pointer.is_null() && may_be_missing {
            return Ok(0);
        }
        // Such a token says how long it is.
        if pointer.is_null() && length == Length::Own {
            return Err(code::NULL_POINTER);
        }
        let room = length.bytes(integer, words, header).ok_or(code::BUFFER_TOO_SMALL)?;
        // SAFETY: the caller's promise.
        let room =
            if unsafe { self.is_part_of_triple(position) } && room != 0 { TRIPLE_PART_BYTES } else { room };
        if pointer.is_null() && room != 0 {
            return Err(code::NULL_POINTER);
        }
        let (sent, counted) = match (parameter.kind, role, length) {
            _ if !is_sent(parameter) => (0, None),
            (Kind::Keywords(count), ..) => (words.len() * KEYWORD_BYTES, Some((count, words.len()))),
            (_, Some(role), Length::By(by)) if room >= TOKEN_HEADER_BYTES => {
                let sent = key_bytes(role, header(), room);
                (sent, (role != Role::Makes).then_some((by, sent)))
            }
            _ => (room, None),
        };
        self.fields[position].room = room;
        if let Some((by, count)) = counted {
            self.fields[by].integer = count as i64;
        }
        Ok(sent)
    }

    /// Whether a field is a part of a DES key of triple length, which is longer than a part of other keys. No integer
    /// and no keyword says so, but the token that the key goes into.
    ///
    /// # Safety
    /// As [`Fields::read`].
    unsafe fn is_part_of_triple(&self, position: usize) -> bool {
        let key = self.fields.get(key_part_import::KEY_IDENTIFIER).map(|field| field.pointer);
        match (self.entry.verb, position, key) {
            (Verb::KeyPartImport, key_part_import::KEY_PART, Some(key)) if !key.is_null() => {
                // SAFETY: the caller's promise: a key identifier of this verb has as many bytes.
                is_triple(&unsafe { key.first() })
            }
            _ => false,
        }
    }

    /// The arguments that are sent, in the order of the row.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.entry.verb);
        for (position, (parameter, field)) in self.entry.parameters.iter().zip(&self.fields).enumerate() {
            match parameter.kind {
                _ if !is_sent(parameter) => {}
                Kind::Integer => drop(arguments.set_integer(position, field.integer)),
                _ => drop(arguments.set_bytes(position, &self.copied[field.copied.clone()])),
            }
        }
        arguments
    }

    /// Writes the outputs of an answer that has some, all or none; gives its codes.
    ///
    /// # Errors
    /// 8/72 where an output is longer than its field, which no card makes.
    ///
    /// # Safety
    /// As [`Fields::read`].
    pub unsafe fn write(&self, reply: &Reply) -> Result<Codes, Codes> {
        if !reply.codes().has_output() {
            return Ok(reply.codes());
        }
        let answer = reply.arguments();
        let fields = || self.fields.iter().enumerate();
        if fields().any(|(position, field)| answer.bytes(position).len() > field.room) {
            return Err(code::BUFFER_TOO_SMALL);
        }
        for (position, field) in fields().filter(|(_, field)| !field.pointer.is_null()) {
            match answer.at(position) {
                // SAFETY: the caller's promise; the outputs of a verb are of its row's kinds.
                Argument::Integer(value) => unsafe { field.pointer.set_integer(value) },
                // SAFETY: the caller's promise; no output is longer than its field.
                Argument::Bytes(bytes) => unsafe { field.pointer.write(bytes) },
                Argument::Absent | Argument::Reference(_) => {}
            }
        }
        Ok(reply.codes())
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        if self.entry.secret {
            wipe(&mut self.copied);
        }
    }
}

/// Whether a rule array goes in and out.
fn returns_keywords(entry: &Entry) -> bool {
    let both = |parameter: &Parameter| parameter.direction == Direction::InOut;
    entry.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Keywords(_)) && both(parameter))
}

fn is_sent(parameter: &Parameter) -> bool {
    parameter.direction != Direction::Out && parameter.null != Null::Ignored
}

/// Whether a token is an internal one of a DES key of triple length: bits 41 and 42 of its control vector.
fn is_triple(token: &[u8; LABEL_BYTES]) -> bool {
    token[0] == 0x01 && matches!(token[4], 0x00 | 0x01) && token[37] & 0x60 == 0x60
}

/// Length of a part of a DES key of triple length, in bytes.
const TRIPLE_PART_BYTES: usize = 24;

/// How many bytes are sent of a key's field, which has at least a token's header. Clients state the room of their
/// buffer, in which the token may be shorter.
fn key_bytes(role: Role, header: [u8; TOKEN_HEADER_BYTES], room: usize) -> usize {
    let own = Length::own(&header);
    let fits = (TOKEN_HEADER_BYTES..=room).contains(&own);
    let is_token = matches!(header[0], 0x01 | 0x02 | 0x1E | 0x1F);
    match role {
        Role::Makes if fits && (is_token || Label::is_label_field(&header)) => own,
        // The field is only room for the new key: its bytes are what memory held, and no form of a key.
        Role::Makes => 0,
        // A clear key may begin as a token does, and is no longer than a label.
        _ if fits && room > LABEL_BYTES => own,
        _ => room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transport key of PKA_Key_Generate is as long as its token says; a null pointer has no token.
    #[test]
    fn a_token_that_says_its_own_length_is_there() {
        use wire::verb::{Verb, pka_key_generate::*};
        let entry = Verb::PkaKeyGenerate.entry();
        let sent = |key: Option<&mut [u8]>| {
            let mut integers = vec![0i64; entry.parameters.len()];
            let mut pointers = vec![std::ptr::null_mut(); entry.parameters.len()];
            for (position, parameter) in entry.parameters.iter().enumerate() {
                if parameter.kind == Kind::Integer {
                    pointers[position] = (&raw mut integers[position]).cast();
                }
            }
            if let Some(key) = key {
                pointers[TRANSPORT_KEY_IDENTIFIER] = key.as_mut_ptr().cast();
            }
            // SAFETY: each pointer is null, to an integer of this function, or to as many bytes as the token in them
            // says.
            let fields = unsafe { Fields::read(entry, &pointers) }?;
            Ok(fields.arguments().bytes(TRANSPORT_KEY_IDENTIFIER).len())
        };
        assert_eq!(sent(None), Err(code::NULL_POINTER));
        assert_eq!(sent(Some(&mut [0; 64])), Ok(64));
        let mut variable = vec![0; 140];
        (variable[0], variable[3], variable[4]) = (1, 140, 5);
        assert_eq!(sent(Some(&mut variable)), Ok(140));
    }

    #[test]
    fn of_a_longer_field_the_token_or_label_is_sent() {
        let sent = |role, header, room| key_bytes(role, header, room);
        let rsa = [0x1F, 0, 1, 0x2C, 0, 0, 0, 0, 0];
        let (label, null) = (*b"A.LABEL  ", [0; 9]);
        for role in [Role::Uses, Role::Renews, Role::Skeleton] {
            assert_eq!([2500, 300, 299].map(|room| sent(role, rsa, room)), [300, 300, 299]);
            assert_eq!([label, null].map(|header| sent(role, header, 2500)), [64, 64]);
            assert_eq!([*b"B0104B0TX", *b"B0104B0T."].map(|header| sent(role, header, 2500)), [104, 64]);
            // A clear key of 32 bytes that begins as a token of 16 does.
            assert_eq!(sent(role, [0x1E, 0, 0, 16, 0, 0, 0, 0, 0], 32), 32);
            // A length that no token has.
            assert_eq!(sent(role, [0x1E, 0, 0, 7, 0, 0, 0, 0, 0], 2500), 2500);
        }
    }

    /// The key forms of control vectors: 000 single, 010 and 110 double, 001 and 101 a right half, 011 and 111 triple.
    #[test]
    fn tokens_of_triple_length_are_told_from_others() {
        let token = |first: u8, version: u8, vector: u64| {
            let mut token = [0; 64];
            (token[0], token[4]) = (first, version);
            token[32..40].copy_from_slice(&vector.to_be_bytes());
            token
        };
        for (vector, expected) in [
            (0x0000_7D00_0300_0000, false),
            (0x0000_7D00_0341_0000, false),
            (0x0000_7D00_03C0_0000, false),
            (0x0000_7D00_0321_0000, false),
            (0x0000_7D00_03A0_0000, false),
            (0x0000_7D00_0360_0000, true),
            (0x0000_7D00_03E1_0000, true),
            (0x0000_0000_0000_0000, false),
        ] {
            assert_eq!(is_triple(&token(1, 0, vector)), expected, "{vector:016X}");
            assert_eq!(is_triple(&token(1, 1, vector)), expected);
            for (first, version) in [(0, 0), (2, 0), (b'A', 0), (1, 4), (1, 5)] {
                assert!(!is_triple(&token(first, version, vector)));
            }
        }
    }

    #[test]
    fn what_is_no_form_of_a_key_to_be_made_is_not_sent() {
        let sent = |header, room| key_bytes(Role::Makes, header, room);
        assert_eq!(sent([0x01, 0, 0, 60, 5, 0, 0, 0, 0], 725), 60);
        assert_eq!(sent(*b"A.LABEL  ", 2500), 64);
        assert_eq!(sent(*b"A.LABEL  ", 32), 0);
        assert_eq!(sent([0; 9], 2500), 0);
        assert_eq!(sent([0x1F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0], 2500), 0);
    }
}
