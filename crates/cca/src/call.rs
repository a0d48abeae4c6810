//! What a verb sees of its request, and how it answers.

use std::cell::RefCell;

use engine::RandomBlock;
use wire::bounds::{KEYWORD_BYTES, TEXT_BYTES_MAX};
use wire::frame::{Argument, Arguments, Outcome, Walk};
use wire::point::{Point, PointSet, keywords};
use wire::verb::{Direction, Kind, Verb};
use wire::{Codes, code};

use crate::pass::{Ask, Pass, Work};
use crate::registers::DomainPatterns;
use crate::wipe::wipe;

/// One request in the hands of its verb. Cheap to copy; valid while the batch runs.
#[derive(Clone, Copy)]
pub(crate) struct Call<'p, 'a> {
    pub(crate) pass: &'p Pass<'a>,
    pub(crate) engine: &'p engine::Engine,
    pub(crate) random: &'p RefCell<RandomBlock>,
    pub(crate) arguments: &'p Arguments<'a>,
    pub(crate) domain: u16,
    pub(crate) points: &'p PointSet,
    pub(crate) patterns: &'p DomainPatterns,
}

/// What a verb ends with: codes of success (0 or 4), or why it refuses.
pub(crate) type Verdict = Result<Codes, Refusal>;

/// Why a verb stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// With these codes.
    Codes(Codes),
    /// The output whose length parameter is at this position needs this many bytes: 8/72.
    TooSmall { position: usize, needed: usize },
    /// It did not run at all.
    Outcome(Outcome),
    /// A check of the card's own numbers failed, and what they gave is withheld: 16/336. No argument of a
    /// caller's may lead here, since the card stops.
    Unsound,
}

impl From<Codes> for Refusal {
    fn from(codes: Codes) -> Self {
        Self::Codes(codes)
    }
}

impl From<token::TokenError> for Refusal {
    fn from(error: token::TokenError) -> Self {
        Self::Codes(error.codes())
    }
}

impl<'p, 'a> Call<'p, 'a> {
    /// Asks for kernel work; the answer stands after the next pass. Several asks may be made before
    /// the first of them is awaited: they run in the same pass.
    pub(crate) fn ask<W: Work<'a>>(&self, work: W) -> Ask<'p, W, W::Answer> {
        W::queue(self.pass).ask(work)
    }

    /// Refuses with 8/90 what the role of the request does not permit.
    pub(crate) fn permit(&self, point: Point) -> Result<(), Codes> {
        if self.points.permits(point) { Ok(()) } else { Err(code::ACCESS_DENIED) }
    }

    /// Refuses with 8/90 where the role does not permit what these keywords, or those that are left out, mean to the
    /// verb.
    pub(crate) fn permit_keywords(&self, words: &[[u8; KEYWORD_BYTES]]) -> Result<(), Codes> {
        let asked = keywords::of(self.arguments.verb()).iter();
        asked.filter(|row| row.applies(words)).try_for_each(|row| self.permit(row.point))
    }

    /// An integer argument.
    pub(crate) fn integer(&self, position: usize) -> i64 {
        self.arguments.integer(position)
    }

    /// A length argument: not negative.
    pub(crate) fn length(&self, position: usize, otherwise: Codes) -> Result<usize, Codes> {
        usize::try_from(self.integer(position)).map_err(|_| otherwise)
    }

    /// A byte argument, as long as it came.
    pub(crate) fn bytes(&self, position: usize) -> &'a [u8] {
        self.arguments.bytes(position)
    }

    /// A byte argument of a fixed length.
    pub(crate) fn array<const N: usize>(&self, position: usize) -> Result<[u8; N], Codes> {
        self.bytes(position).try_into().map_err(|_| code::INVALID_PARAMETER)
    }

    /// A byte argument whose length parameter must say the same length.
    pub(crate) fn counted(&self, length: usize, position: usize) -> Result<&'a [u8], Codes> {
        let bytes = self.bytes(position);
        if self.integer(length) == bytes.len() as i64 { Ok(bytes) } else { Err(code::INVALID_PARAMETER) }
    }

    /// A text whose length parameter must say the same length, within the bounds: else 8/25.
    pub(crate) fn text(&self, length: usize, position: usize) -> Result<&'a [u8], Codes> {
        let bytes = self.bytes(position);
        if self.integer(length) == bytes.len() as i64 && bytes.len() <= TEXT_BYTES_MAX {
            Ok(bytes)
        } else {
            Err(code::TEXT_LENGTH)
        }
    }

    /// A key argument as bytes; a reference that was left in place was never resolved.
    pub(crate) fn key_field(&self, position: usize) -> Result<&'a [u8], Refusal> {
        match self.arguments.at(position) {
            Argument::Reference(_) => Err(Refusal::Outcome(Outcome::KeyReference)),
            _ => Ok(self.bytes(position)),
        }
    }

    /// Refuses with 8/72 where the integer at `position` is less than `needed`.
    pub(crate) fn capacity(&self, position: usize, needed: usize) -> Result<(), Refusal> {
        if self.integer(position) >= needed as i64 {
            Ok(())
        } else {
            Err(Refusal::TooSmall { position, needed })
        }
    }

    /// Fills with random bytes.
    pub(crate) fn random(&self, out: &mut [u8]) {
        self.random.borrow_mut().fill(out);
    }
}

/// Writes a reply payload. A verb sets its outputs in any order, each once or again; what it leaves out is filled in
/// as [`crate::Answer::payload`] says. The order of the verb table costs least.
pub(crate) struct Reply<'r, 'a> {
    verb: Verb,
    arguments: &'r Arguments<'a>,
    out: &'r mut Vec<u8>,
    next: usize,
    /// Why an output was not written.
    too_small: Option<Refusal>,
}

impl<'r, 'a> Reply<'r, 'a> {
    /// An empty reply into this buffer.
    pub(crate) fn new(verb: Verb, arguments: &'r Arguments<'a>, out: &'r mut Vec<u8>) -> Self {
        out.clear();
        Self { verb, arguments, out, next: 0, too_small: None }
    }

    /// Sets an integer output.
    pub(crate) fn integer(&mut self, position: usize, value: i64) {
        self.set(position, &value.to_le_bytes(), &[]);
    }

    /// Sets a byte output.
    pub(crate) fn bytes(&mut self, position: usize, value: &[u8]) {
        self.set(position, &(value.len() as u32).to_le_bytes(), value);
    }

    /// Sets a byte output and its length parameter. Where the caller's field is too short for it, the request
    /// ends with 8/72 and the length that is needed.
    pub(crate) fn counted(&mut self, length: usize, position: usize, value: &[u8]) {
        let needed = value.len();
        if self.arguments.integer(length) < needed as i64 {
            self.too_small.get_or_insert(Refusal::TooSmall { position: length, needed });
            return;
        }
        self.integer(length, needed as i64);
        self.bytes(position, value);
    }

    /// Sets the field of an output: `head` and `value` one after the other.
    ///
    /// # Panics
    /// Where the verb has no such output: a fault of ours that every call shows.
    fn set(&mut self, position: usize, head: &[u8], value: &[u8]) {
        if position < self.next {
            // What stands there - filled in or set before - gives way.
            let written = Walk::reply(self.verb, self.out).map_while(Result::ok);
            let range = written.into_iter().find(|field| field.position == position).map(|field| field.range);
            let range = range.expect("a verb sets its own outputs");
            drop(self.out.splice(range, head.iter().chain(value).copied()));
            return;
        }
        self.fill_to(position);
        let parameter = self.verb.entry().parameters.get(position);
        let is_output = parameter.is_some_and(|parameter| parameter.direction != Direction::In);
        assert!(is_output, "a verb sets its own outputs");
        self.out.extend_from_slice(head);
        self.out.extend_from_slice(value);
        self.next = position + 1;
    }

    /// Completes the payload and says what became of the request.
    pub(crate) fn finish(&mut self, verdict: Verdict) -> (Outcome, Codes) {
        let codes = match self.too_small.map_or(verdict, |refusal| verdict.and(Err(refusal))) {
            Ok(codes) => {
                self.fill_to(usize::MAX);
                return (Outcome::Answered, codes);
            }
            Err(Refusal::Outcome(outcome)) => {
                self.out.clear();
                return (outcome, Codes::new(0, 0));
            }
            Err(Refusal::Codes(codes)) => {
                self.restart();
                codes
            }
            Err(Refusal::Unsound) => {
                self.restart();
                code::SELF_CHECK
            }
            Err(Refusal::TooSmall { position, needed }) => {
                self.restart();
                self.integer(position, needed as i64);
                code::BUFFER_TOO_SMALL
            }
        };
        self.fill_to(usize::MAX);
        (Outcome::Answered, codes)
    }

    fn restart(&mut self) {
        wipe(self.out);
        self.out.clear();
        self.next = 0;
    }

    fn fill_to(&mut self, position: usize) {
        let parameters = self.verb.entry().parameters;
        while self.next < position && self.next < parameters.len() {
            let parameter = &parameters[self.next];
            if parameter.direction != Direction::In {
                match parameter.kind {
                    Kind::Integer => {
                        self.out.extend_from_slice(&self.arguments.integer(self.next).to_le_bytes());
                    }
                    _ => self.out.extend_from_slice(&0u32.to_le_bytes()),
                }
            }
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::{encipher, random_number_generate_long as long};

    fn answer(verb: Verb, length: i64, set: impl Fn(&mut Reply<'_, '_>)) -> (Codes, Vec<u8>) {
        let mut arguments = Arguments::new(verb);
        arguments.set_integer(if verb == Verb::Encipher { encipher::TEXT_LENGTH } else { 4 }, length);
        let mut out = Vec::new();
        let mut reply = Reply::new(verb, &arguments, &mut out);
        set(&mut reply);
        let (outcome, codes) = reply.finish(Ok(code::OK));
        assert_eq!(outcome, Outcome::Answered);
        (codes, out)
    }

    #[test]
    fn outputs_may_be_set_in_any_order_and_again() {
        let in_order = answer(Verb::Encipher, 8, |reply| {
            reply.integer(encipher::TEXT_LENGTH, 16);
            reply.bytes(encipher::CHAINING_VECTOR, &[1; 18]);
            reply.bytes(encipher::CIPHERTEXT, &[2; 16]);
        });
        let backwards = answer(Verb::Encipher, 8, |reply| {
            reply.bytes(encipher::CIPHERTEXT, &[9; 3]);
            reply.bytes(encipher::CHAINING_VECTOR, &[1; 18]);
            reply.bytes(encipher::CIPHERTEXT, &[2; 16]);
            reply.integer(encipher::TEXT_LENGTH, 16);
        });
        assert_eq!(in_order, backwards);
        let read = Arguments::read_reply(Verb::Encipher, &backwards.1).unwrap();
        assert_eq!(read.bytes(encipher::CIPHERTEXT), [2; 16]);
        assert_eq!(read.bytes(encipher::CHAINING_VECTOR), [1; 18]);
        assert_eq!(read.integer(encipher::TEXT_LENGTH), 16);
        assert!(read.bytes(encipher::KEY_IDENTIFIER).is_empty());
    }

    #[test]
    fn a_counted_output_needs_room() {
        assert_eq!((long::RANDOM_NUMBER_LENGTH, long::RANDOM_NUMBER), (4, 5));
        for (room, expected) in
            [(9, code::OK), (8, code::OK), (7, code::BUFFER_TOO_SMALL), (-1, code::BUFFER_TOO_SMALL)]
        {
            let (codes, out) = answer(Verb::RandomNumberGenerateLong, room, |reply| {
                reply.counted(long::RANDOM_NUMBER_LENGTH, long::RANDOM_NUMBER, &[3; 8]);
            });
            assert_eq!(codes, expected, "{room}");
            let read = Arguments::read_reply(Verb::RandomNumberGenerateLong, &out).unwrap();
            assert_eq!(read.integer(long::RANDOM_NUMBER_LENGTH), 8);
            assert_eq!(read.bytes(long::RANDOM_NUMBER).is_empty(), codes != code::OK);
        }
    }

    #[test]
    #[should_panic(expected = "its own outputs")]
    fn an_input_is_no_output() {
        answer(Verb::Encipher, 8, |reply| reply.bytes(encipher::PLAINTEXT, &[]));
    }
}
