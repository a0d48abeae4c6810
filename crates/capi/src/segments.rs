//! Texts that are longer than one request carries: cut into the segments that their verb has, and answered as one text.
//!
//! A verb goes on from a chaining vector, which here is the library's own between two segments. Nothing of the caller's
//! is written before the last segment has been answered, so that a text is enciphered in place, and a refusal leaves no
//! half of it.

mod keywords;

use crate::fields::Fields;
use crate::memory::{Pointer, wipe};
use crate::process;
use facility::Reply;
use keywords::{AES, DES, SEGMENTS, SegmentKeywords, SegmentPosition, word};
use std::ffi::c_void;
use std::ptr;
use wire::Codes;
use wire::bounds::{KEYWORD_BYTES, KEYWORDS_MAX, TEXT_BYTES_MAX};
use wire::code;
use wire::frame::Argument;
use wire::verb::{self, Direction, Entry, Kind, Length, Null, Verb};

/// Block lengths in bytes of the hash methods for which the longest text of a request is no whole number of blocks.
const BLOCKS: [(&str, usize); 4] =
    [("SHA3-224", 144), ("SHA3-256", 136), ("SHA3-384", 104), ("SHA3-512", 72)];

/// Longest text of one call in bytes: the whole output is held in memory until the last segment is answered.
pub const CUT_TEXT_BYTES_MAX: usize = 64 << 20;

/// A verb whose texts can be cut, with the positions of its parameters.
struct Cuttable {
    verb: Verb,
    keywords: &'static SegmentKeywords,
    text: usize,
    /// Position of the output text; `None` for a verb that has none.
    out: Option<usize>,
    vector: usize,
    /// Length in bytes of the chaining vector that a segment leaves.
    vector_bytes: usize,
    /// Position of a second field, beside the vector, from which a verb goes on.
    beside: Option<usize>,
}

impl Cuttable {
    const fn new(
        verb: Verb,
        keywords: &'static SegmentKeywords,
        [text, vector]: [usize; 2],
        vector_bytes: usize,
        out: Option<usize>,
    ) -> Self {
        Self { verb, keywords, text, out, vector, vector_bytes, beside: None }
    }

    const fn with(self, beside: usize) -> Self {
        Self { beside: Some(beside), ..self }
    }
}

macro_rules! cuttable {
    ($($row:ident $verb:ident $keywords:ident $text:ident $vector:ident[$bytes:literal] $($out:ident)? $(+ $beside:ident)?;)*) => {
        const CUTTABLE: &[Cuttable] = &[$(Cuttable::new(
            Verb::$verb,
            &$keywords,
            [verb::$row::$text, verb::$row::$vector],
            $bytes,
            [$(Some(verb::$row::$out),)? None][0],
        )$(.with(verb::$row::$beside))?),*];
    };
}

cuttable! {
    encipher Encipher DES PLAINTEXT CHAINING_VECTOR[18] CIPHERTEXT;
    decipher Decipher DES CIPHERTEXT CHAINING_VECTOR[18] PLAINTEXT;
    symmetric_algorithm_encipher SymmetricAlgorithmEncipher AES CLEAR_TEXT CHAIN_DATA[32] CIPHER_TEXT;
    symmetric_algorithm_decipher SymmetricAlgorithmDecipher AES CIPHER_TEXT CHAIN_DATA[32] CLEAR_TEXT;
    mac_generate MacGenerate SEGMENTS TEXT CHAINING_VECTOR[18];
    mac_verify MacVerify SEGMENTS TEXT CHAINING_VECTOR[18];
    hmac_generate HmacGenerate SEGMENTS MESSAGE_TEXT CHAINING_VECTOR[128];
    hmac_verify HmacVerify SEGMENTS MESSAGE_TEXT CHAINING_VECTOR[128];
    mac_generate2 MacGenerate2 SEGMENTS MESSAGE_TEXT CHAINING_VECTOR[128];
    mac_verify2 MacVerify2 SEGMENTS MESSAGE_TEXT CHAINING_VECTOR[128];
    one_way_hash OneWayHash SEGMENTS TEXT CHAINING_VECTOR[256];
    mdc_generate MdcGenerate SEGMENTS TEXT_DATA CHAINING_VECTOR[18] + MDC;
}

/// Length of a field beside the vector: a code of MDC-2 or MDC-4.
const BESIDE_BYTES: usize = 16;

/// One call with a text that is cut.
pub(crate) struct Cut<'a> {
    row: &'static Cuttable,
    entry: &'static Entry,
    pointers: &'a [*mut c_void],
    words: Vec<u64>,
    text_bytes: usize,
    /// Length in bytes of the caller's field for the output text, if a parameter states it.
    room: Option<usize>,
}

impl<'a> Cut<'a> {
    /// The call as one to be cut, if its text is too long for one request and can be cut. Every other call goes its
    /// usual way, in which it may be refused.
    ///
    /// # Safety
    /// As [`crate::call`].
    pub unsafe fn of(entry: &'static Entry, pointers: &'a [*mut c_void]) -> Option<Self> {
        let row = CUTTABLE.iter().find(|row| row.verb == entry.verb)?;
        let integer = |position: usize| {
            let pointer = Pointer::of(pointers[position]);
            // SAFETY: the caller's promise.
            (!pointer.is_null()).then(|| unsafe { pointer.integer() })
        };
        let length_at = length_at(entry, row.text)?;
        let text = integer(length_at)?;
        let room_at = row.out.and_then(|out| length_at_of_its_own(entry, out, length_at));
        let room = match room_at {
            Some(at) => Some(integer(at)?),
            None => None,
        };
        let (is_short, can) = (0..=TEXT_BYTES_MAX as i64, 0..=CUT_TEXT_BYTES_MAX as i64);
        let lengths = || [Some(text), room].into_iter().flatten();
        if lengths().all(|length| is_short.contains(&length))
            || !lengths().all(|length| can.contains(&length))
        {
            return None;
        }
        let is_missing = |position: usize| pointers[position].is_null();
        let refused = |position: &usize| entry.parameters[*position].null == Null::Refused;
        if (0..pointers.len()).filter(refused).any(is_missing) {
            return None;
        }
        // SAFETY: the caller's promise.
        let words = unsafe { words(entry, pointers) }?;
        let cut = Self {
            row,
            entry,
            pointers,
            words,
            text_bytes: text as usize,
            room: room.map(|room| room as usize),
        };
        cut.can_be_done().then_some(cut)
    }

    /// Whether the verb takes the caller's keywords and, if there are several segments, the keywords of each segment.
    fn can_be_done(&self) -> bool {
        let is_fine = |words: &[u64]| self.entry.keywords.check(words).is_ok();
        let positions = [SegmentPosition::First, SegmentPosition::Between, SegmentPosition::Last];
        let segments = || positions.map(|position| self.row.keywords.of(&self.words, position));
        is_fine(&self.words) && (self.segments() == 1 || segments().iter().all(|words| is_fine(words)))
    }

    /// Length in bytes of every segment but the last: whole blocks of the method.
    fn segment_bytes(&self) -> usize {
        let block_bytes = BLOCKS.iter().find(|(text, _)| self.words.contains(&word(text)));
        let block_bytes = block_bytes.map_or(1, |(_, block_bytes)| *block_bytes);
        TEXT_BYTES_MAX / block_bytes * block_bytes
    }

    /// How many segments there are.
    fn segments(&self) -> usize {
        self.text_bytes.div_ceil(self.segment_bytes()).max(1)
    }

    /// Sends all segments, and writes the outputs of the whole.
    ///
    /// # Errors
    /// The codes of the segment that is refused, and then nothing was written; 8/184 where a text is a null pointer.
    ///
    /// # Safety
    /// As [`crate::call`].
    pub unsafe fn run(&self) -> Result<Codes, Codes> {
        let texts = [Some(self.row.text), self.row.out];
        if texts.into_iter().flatten().any(|position| self.pointers[position].is_null()) {
            return Err(code::NULL_POINTER);
        }
        let mut out = Out::new(self)?;
        let mut between = Between { vector: vec![0; self.row.vector_bytes], beside: vec![0; BESIDE_BYTES] };
        let Between { vector, beside } = &mut between;
        let segment_bytes = self.segment_bytes();
        let segments = self.segments();
        for segment in 0..segments {
            let begin = segment * segment_bytes;
            let bytes = (self.text_bytes - begin).min(segment_bytes);
            let position = match segment {
                _ if segment + 1 == segments => SegmentPosition::Last,
                0 => SegmentPosition::First,
                _ => SegmentPosition::Between,
            };
            let mut own = Own::new(self, position, segments == 1, bytes, out.room(self)?);
            // SAFETY: the segment lies within the caller's text.
            let text = unsafe { self.pointers[self.row.text].cast::<u8>().add(begin) };
            let is_own_vector = segment > 0 || !self.row.keywords.goes_on(&self.words);
            let mut pointers = own.pointers(self, text, is_own_vector.then_some(&mut *vector));
            if let (Some(position), true) = (self.row.beside, is_own_vector) {
                pointers[position] = beside.as_mut_ptr().cast();
            }
            // SAFETY: the caller's promise, and what is the library's own has the length that it says.
            let fields = unsafe { Fields::read(self.entry, &pointers) }?;
            let mut reply = Reply::new();
            process::call(&fields.arguments(), &mut reply)?;
            if !reply.codes().has_output() {
                return Err(reply.codes());
            }
            if let Some(position) = self.row.out {
                out.append(reply.arguments().bytes(position));
            }
            if position == SegmentPosition::Last {
                // SAFETY: the caller's promise.
                return unsafe { self.write(&fields, &reply, &out) };
            }
            let left = reply.arguments();
            let left = left.bytes(self.row.vector);
            let kept = left.len().min(vector.len());
            vector[..kept].copy_from_slice(&left[..kept]);
            if let Some(position) = self.row.beside {
                let answer = reply.arguments();
                let left = answer.bytes(position);
                let kept = left.len().min(BESIDE_BYTES);
                beside[..kept].copy_from_slice(&left[..kept]);
            }
        }
        Err(code::BUFFER_TOO_SMALL)
    }

    /// Writes the outputs of the last segment, and the whole output text.
    ///
    /// # Safety
    /// As [`crate::call`].
    unsafe fn write(&self, fields: &Fields, reply: &Reply, out: &Out) -> Result<Codes, Codes> {
        let answer = reply.arguments();
        let vector = answer.bytes(self.row.vector);
        // SAFETY: the caller's promise.
        if vector.len() > unsafe { self.vector_room() } {
            return Err(code::BUFFER_TOO_SMALL);
        }
        // SAFETY: the caller's promise.
        let codes = unsafe { fields.write(reply) }?;
        let given = |position: usize| Pointer::of(self.pointers[position]);
        // SAFETY: the caller's promise; the room of each was checked.
        unsafe {
            if !given(self.row.vector).is_null() {
                given(self.row.vector).write(vector);
            }
            if let Some(position) = self.row.beside {
                given(position).write(answer.bytes(position));
            }
            if let Some(at) = length_at(self.entry, self.row.vector)
                && let Argument::Integer(length) = answer.at(at)
            {
                given(at).set_integer(length);
            }
            if let Some(position) = self.row.out {
                given(position).write(&out.bytes);
                let at = length_at(self.entry, position).ok_or(code::BUFFER_TOO_SMALL)?;
                given(at).set_integer(out.bytes.len() as i64);
            }
        }
        Ok(codes)
    }

    /// Length in bytes of the caller's field for the chaining vector; no limit if the pointer is null.
    ///
    /// # Safety
    /// As [`crate::call`].
    unsafe fn vector_room(&self) -> usize {
        if self.pointers[self.row.vector].is_null() {
            // A null pointer: the vector is not written.
            return usize::MAX;
        }
        let Some(at) = length_at(self.entry, self.row.vector) else { return self.row.vector_bytes };
        let length = Pointer::of(self.pointers[at]);
        // SAFETY: the caller's promise.
        if length.is_null() { 0 } else { unsafe { length.integer() }.max(0) as usize }
    }
}

/// What a verb goes on from, held between two segments.
struct Between {
    vector: Vec<u8>,
    beside: Vec<u8>,
}

impl Drop for Between {
    fn drop(&mut self) {
        wipe(&mut self.vector);
        wipe(&mut self.beside);
    }
}

/// The output text, held until all of it is there.
struct Out {
    bytes: Vec<u8>,
}

/// Upper bound of the bytes that padding adds.
const PADDING_BYTES: usize = 16;

impl Out {
    fn new(cut: &Cut<'_>) -> Result<Self, Codes> {
        let mut bytes = Vec::new();
        if cut.row.out.is_some() {
            // Memory that grew would leave copies behind that nobody wipes.
            let needed = cut.text_bytes + PADDING_BYTES;
            bytes.try_reserve_exact(needed).map_err(|_| code::MEMORY)?;
        }
        Ok(Self { bytes })
    }

    /// The rest of the caller's field, at most as long as one segment can need.
    fn room(&self, cut: &Cut<'_>) -> Result<usize, Codes> {
        let Some(room) = cut.room else { return Ok(0) };
        let left = room.checked_sub(self.bytes.len()).ok_or(code::BUFFER_TOO_SMALL)?;
        Ok(left.min(TEXT_BYTES_MAX))
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

/// The library's own arguments of one segment, which replace the caller's.
struct Own {
    rules: Vec<u8>,
    rule_count: i64,
    text_bytes: i64,
    out: Vec<u8>,
    out_bytes: i64,
    vector_bytes: i64,
}

impl Own {
    fn new(cut: &Cut<'_>, position: SegmentPosition, is_whole: bool, bytes: usize, room: usize) -> Self {
        let words = if is_whole { cut.words.clone() } else { cut.row.keywords.of(&cut.words, position) };
        Self {
            rule_count: words.len() as i64,
            rules: words.into_iter().flat_map(u64::to_be_bytes).collect(),
            text_bytes: bytes as i64,
            out: vec![0; if cut.row.out.is_some() { bytes.max(room) + PADDING_BYTES } else { 0 }],
            out_bytes: room as i64,
            vector_bytes: cut.row.vector_bytes as i64,
        }
    }

    /// The pointers of the segment's call.
    fn pointers(&mut self, cut: &Cut<'_>, text: *mut u8, vector: Option<&mut Vec<u8>>) -> Vec<*mut c_void> {
        let (entry, row) = (cut.entry, cut.row);
        let mut pointers = cut.pointers.to_vec();
        for (position, parameter) in entry.parameters.iter().enumerate() {
            if let Kind::Keywords(count) = parameter.kind {
                pointers[position] = self.rules.as_mut_ptr().cast();
                pointers[count] = ptr::from_mut(&mut self.rule_count).cast();
            }
        }
        if let Some(vector) = vector {
            pointers[row.vector] = vector.as_mut_ptr().cast();
            if let Some(at) = length_at(entry, row.vector) {
                pointers[at] = ptr::from_mut(&mut self.vector_bytes).cast();
            }
        }
        if let Some(out) = row.out {
            pointers[out] = self.out.as_mut_ptr().cast();
            if let Some(at) = length_at(entry, out) {
                pointers[at] = ptr::from_mut(&mut self.out_bytes).cast();
            }
        }
        pointers[row.text] = text.cast();
        if let Some(at) = length_at(entry, row.text) {
            pointers[at] = ptr::from_mut(&mut self.text_bytes).cast();
        }
        pointers
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        wipe(&mut self.out);
    }
}

/// Position of the integer that states the length of a parameter.
fn length_at(entry: &Entry, position: usize) -> Option<usize> {
    match entry.parameters[position].kind {
        Kind::Bytes(Length::By(by) | Length::Padded { by, .. }) => Some(by),
        _ => None,
    }
}

fn length_at_of_its_own(entry: &Entry, position: usize, text: usize) -> Option<usize> {
    length_at(entry, position).filter(|at| *at != text)
}

/// The keywords of a call; `None` if their count is not valid or their pointer is null.
///
/// # Safety
/// As [`crate::call`].
unsafe fn words(entry: &Entry, pointers: &[*mut c_void]) -> Option<Vec<u64>> {
    let mut bytes = Vec::new();
    for (position, parameter) in entry.parameters.iter().enumerate() {
        if let (Kind::Keywords(count), Direction::In) = (parameter.kind, parameter.direction) {
            let (count, field) = (Pointer::of(pointers[count]), Pointer::of(pointers[position]));
            // SAFETY: the caller's promise.
            let count = if count.is_null() { 0 } else { unsafe { count.integer() } };
            if !(0..=KEYWORDS_MAX as i64).contains(&count) || (field.is_null() && count != 0) {
                return None;
            }
            // SAFETY: the caller's promise; the count was checked.
            unsafe { field.append_to(&mut bytes, count as usize * KEYWORD_BYTES) };
        }
    }
    Some(verb::words(&bytes)?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_parameters_of_their_kinds() {
        for row in CUTTABLE {
            let entry = row.verb.entry();
            let kind = |position: usize| entry.parameters[position].kind;
            assert!(length_at(entry, row.text).is_some(), "{}", entry.name);
            match kind(row.vector) {
                Kind::Bytes(Length::Fixed(bytes)) => assert_eq!(bytes, row.vector_bytes, "{}", entry.name),
                Kind::Bytes(Length::By(_)) => {}
                other => panic!("{}: {other:?}", entry.name),
            }
            assert!(row.out.is_none_or(|out| length_at(entry, out).is_some()), "{}", entry.name);
        }
    }
}
