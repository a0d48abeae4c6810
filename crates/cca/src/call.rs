//! What a verb sees of its request, and how it answers.

use std::cell::RefCell;

use engine::RandomBlock;
use wire::bounds::TEXT_BYTES_MAX;
use wire::frame::{Argument, Arguments, Outcome};
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
    pub(crate) fn key(&self, position: usize) -> Result<&'a [u8], Refusal> {
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

/// Writes a reply payload in the order of the verb table: what the verb leaves out is filled in as
/// [`crate::Answer::payload`] says.
pub(crate) struct Reply<'r, 'a> {
    verb: Verb,
    arguments: &'r Arguments<'a>,
    out: &'r mut Vec<u8>,
    next: usize,
}

impl<'r, 'a> Reply<'r, 'a> {
    /// An empty reply into this buffer.
    pub(crate) fn new(verb: Verb, arguments: &'r Arguments<'a>, out: &'r mut Vec<u8>) -> Self {
        out.clear();
        Self { verb, arguments, out, next: 0 }
    }

    /// Sets an integer output.
    ///
    /// # Panics
    /// Where a verb does not set its outputs in the order of the table: a fault of ours that every call shows.
    pub(crate) fn integer(&mut self, position: usize, value: i64) {
        self.fill_to(position);
        assert_eq!(self.next, position, "a verb sets its outputs in the order of the table");
        self.out.extend_from_slice(&value.to_le_bytes());
        self.next = position + 1;
    }

    /// Sets a byte output.
    ///
    /// # Panics
    /// As [`Reply::integer`].
    pub(crate) fn bytes(&mut self, position: usize, value: &[u8]) {
        self.fill_to(position);
        assert_eq!(self.next, position, "a verb sets its outputs in the order of the table");
        self.out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.out.extend_from_slice(value);
        self.next = position + 1;
    }

    /// Sets a byte output and the length parameter before it.
    pub(crate) fn counted(&mut self, length: usize, position: usize, value: &[u8]) {
        self.integer(length, value.len() as i64);
        self.bytes(position, value);
    }

    /// Completes the payload and says what became of the request.
    pub(crate) fn finish(&mut self, verdict: Verdict) -> (Outcome, Codes) {
        let codes = match verdict {
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
