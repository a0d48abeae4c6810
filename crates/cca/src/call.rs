//! The interface of a verb: its request, and its reply.

use crate::chaining::Chained;
use crate::counting::{Count, Counting, Verifier};
use crate::ground::Refusal;
use crate::pass::{Ask, Derive, Derived, Pass, Work};
use crate::registers::DomainPatterns;
use crate::wipe::{Text, wipe};
use engine::RandomBlock;
use payments::Decimalisation;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use wire::control::TokenForms;
use wire::frame::{Arguments, Outcome};
use wire::point::{Point, PointSet, keywords};
use wire::verb::{TypedAnswer, TypedRequest, too_small, write_no_outputs};
use wire::{Codes, code};

/// One request in the hands of its verb. Cheap to copy; valid while the batch runs.
#[derive(Clone, Copy)]
pub(crate) struct Call<'p, 'a> {
    pub(crate) pass: &'p Pass<'a>,
    pub(crate) engine: &'p engine::Engine,
    pub(crate) random: &'p RefCell<RandomBlock>,
    pub(crate) arguments: &'p Arguments<'a>,
    pub(crate) domain: u16,
    /// The tenant that sent the request.
    pub(crate) tenant: u32,
    pub(crate) points: &'p PointSet,
    pub(crate) patterns: &'p DomainPatterns,
    pub(crate) tokens: TokenForms,
    /// The decimalisation tables that are stored.
    pub(crate) tables: &'p [Decimalisation],
    /// The counts of wrong PINs.
    pub(crate) counting: &'p RefCell<Counting>,
    /// How this request's verification is counted; set by the verification.
    pub(crate) count: &'p Cell<Option<Count>>,
    /// The tokens of the request that were named by their labels in key records.
    pub(crate) records: &'a [u8],
}

/// The result of a verb: codes of success (0 or 4), or the reason of the refusal.
pub(crate) type Verdict = Result<Codes, Refusal>;

/// A verb that runs; its output is its verdict.
pub(crate) type Computation<'f> = Pin<Box<dyn Future<Output = Verdict> + 'f>>;

impl<'p, 'a> Call<'p, 'a> {
    /// The typed request. Refuses with 8/90 if the role does not permit what the keywords, or the defaults of omitted
    /// keywords, mean to the verb.
    #[inline]
    pub(crate) fn read<R: TypedRequest<'a>>(&self) -> Result<R, Refusal> {
        let words = R::keywords(self.arguments)?;
        if keywords::forbidden(R::VERB, words, self.points).is_some() {
            return Err(code::ACCESS_DENIED.into());
        }
        Ok(R::of(self.arguments, words)?)
    }

    /// Requests kernel work; the result is available after the next pass. Several requests may be made before
    /// the first of them is awaited: they run in the same pass.
    pub(crate) fn ask<W: Work<'a>>(&self, work: W) -> Ask<'p, W, W::Answer> {
        W::queue(self.pass).ask(work)
    }

    /// Starts deriving the keys that seal the chaining vectors of the call's domain.
    pub(crate) fn chaining_keys(&self, chained: Chained) -> Ask<'p, Derive, Derived> {
        self.ask(Derive::ChainingKeys { domain: self.domain, chained })
    }

    /// The verifier of this request: its tenant and domain, and the place in which its count is noted.
    pub(crate) fn verifier(&self) -> Verifier<'p> {
        Verifier {
            counting: self.counting,
            count: self.count,
            is_counted: !self.points.permits(Point::PinUncounted),
            domain: self.domain,
            tenant: self.tenant,
        }
    }

    /// Whether a field of the request is the token of a key record that was named by its label.
    pub(crate) fn is_of_record(&self, field: &[u8]) -> bool {
        self.records.as_ptr_range().contains(&field.as_ptr())
    }

    /// Refuses with 8/90 if the role of the request does not permit the point.
    pub(crate) fn permit(&self, point: Point) -> Result<(), Codes> {
        if self.points.permits(point) { Ok(()) } else { Err(code::ACCESS_DENIED) }
    }

    /// Fills with random bytes.
    pub(crate) fn random(&self, out: &mut [u8]) {
        self.random.borrow_mut().fill(out);
    }
}

/// Writes a reply payload. Outputs that a verb does not write are filled in as [`crate::Answer::payload`] says.
pub(crate) struct Reply<'r, 'a> {
    arguments: &'r Arguments<'a>,
    out: &'r mut Vec<u8>,
    is_written: bool,
}

impl<'r, 'a> Reply<'r, 'a> {
    /// An empty reply into this buffer.
    pub(crate) fn new(arguments: &'r Arguments<'a>, out: &'r mut Vec<u8>) -> Self {
        out.clear();
        Self { arguments, out, is_written: false }
    }

    /// Writes the outputs of the verb, once. Where the caller's field is too short for one, the request ends with 8/72
    /// and the length that is needed.
    #[inline]
    pub(crate) fn write(&mut self, answer: impl TypedAnswer) -> Result<(), Refusal> {
        answer.write(self.arguments, self.out)?;
        self.is_written = true;
        Ok(())
    }

    /// A copy of a text in the memory of the answer, where its last output will lie: behind `head` bytes
    /// ([`TypedAnswer::head_bytes`]), and with room for `room` more bytes of text. Work that is done on it there need
    /// not be copied by [`Reply::write_text`].
    ///
    /// The memory is the card's own; none of it is seen by the caller before the verb has ended, and what is lent
    /// and not written is wiped.
    pub(crate) fn lend(&mut self, head: usize, text: &[u8], room: usize) -> Text {
        Text::within(std::mem::take(self.out), head, text, room)
    }

    /// As [`Reply::write`], with this text as the last output: `make` has its bytes, and the buffer where the answer
    /// with them is written. A text that does not lie where the answer has it is copied.
    #[inline]
    pub(crate) fn write_text(
        &mut self,
        mut text: Text,
        make: impl FnOnce(&[u8], AnswerBuffer<'_>) -> Result<bool, Refusal>,
    ) -> Result<(), Refusal> {
        let (head, bytes) = text.split();
        let is_in_place = make(bytes, AnswerBuffer { arguments: self.arguments, head, out: self.out })?;
        if is_in_place {
            *self.out = text.into_buffer();
        }
        self.is_written = true;
        Ok(())
    }

    /// Completes the payload; returns the outcome and the codes of the request.
    pub(crate) fn finish(&mut self, verdict: Verdict) -> (Outcome, Codes) {
        let (codes, needed) = match verdict {
            Ok(codes) if self.is_written => return (Outcome::Answered, codes),
            Ok(codes) => (codes, None),
            Err(Refusal::Codes(codes)) => (codes, None),
            Err(Refusal::Unsound) => (code::SELF_CHECK, None),
            Err(Refusal::TooSmall { position, needed }) => {
                (too_small(self.arguments.verb(), position), Some((position, needed)))
            }
            Err(Refusal::Outcome(outcome)) => {
                self.empty();
                return (outcome, Codes::new(0, 0));
            }
        };
        if self.is_written {
            self.empty();
        }
        write_no_outputs(self.arguments, needed, self.out);
        (Outcome::Answered, codes)
    }

    fn empty(&mut self) {
        wipe(self.out);
        self.out.clear();
    }
}

/// Where an answer that ends with a text is written.
pub(crate) struct AnswerBuffer<'s> {
    arguments: &'s Arguments<'s>,
    /// The bytes in front of the text.
    head: &'s mut [u8],
    /// The buffer for the whole answer, if the text does not lie in the answer's place.
    out: &'s mut Vec<u8>,
}

impl AnswerBuffer<'_> {
    /// Writes the outputs around their text; returns whether the text stayed in its place. See [`Reply::write`].
    #[inline]
    pub(crate) fn write(self, answer: impl TypedAnswer) -> Result<bool, Refusal> {
        let is_in_place = answer.write_head(self.arguments, self.head)?;
        if !is_in_place {
            answer.write(self.arguments, self.out)?;
        }
        Ok(is_in_place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::Verb;
    use wire::verb::random_number_generate_long::{Answer, Ask, RANDOM_NUMBER, RANDOM_NUMBER_LENGTH};
    use wire::verb::{AesAlgorithm, Filled, RandomForm, TypedAsk};

    fn answer(room: usize, verdict: Verdict) -> (Outcome, Codes, Vec<u8>) {
        let (ask, mut filled) =
            (Ask { random_number: room, ..Ask::new(RandomForm::Random) }, Filled::default());
        let arguments = ask.arguments(&mut filled);
        let mut out = vec![9; 3];
        let mut reply = Reply::new(&arguments, &mut out);
        let written = reply.write(Answer { random_number: Some(&[3; 8]) });
        let (outcome, codes) = reply.finish(written.and(verdict));
        (outcome, codes, out)
    }

    #[test]
    fn what_was_written_goes_where_the_verb_refuses_after_it() {
        let (outcome, codes, out) = answer(8, Ok(code::OK));
        assert_eq!((outcome, codes), (Outcome::Answered, code::OK));
        let read = |out: &[u8]| {
            let read = Arguments::read_reply(Verb::RandomNumberGenerateLong, out).unwrap();
            (read.integer(RANDOM_NUMBER_LENGTH), read.bytes(RANDOM_NUMBER).to_vec())
        };
        assert_eq!(read(&out), (8, vec![3; 8]));
        let (_, codes, out) = answer(8, Err(code::KEY_USAGE.into()));
        assert_eq!((codes, read(&out)), (code::KEY_USAGE, (8, Vec::new())));
        let (_, codes, out) = answer(7, Ok(code::OK));
        assert_eq!((codes, read(&out)), (code::BUFFER_TOO_SMALL, (8, Vec::new())));
        let (outcome, _, out) = answer(8, Err(Refusal::Outcome(Outcome::KeyReference)));
        assert_eq!((outcome, out.is_empty()), (Outcome::KeyReference, true));
    }

    /// The outcome of a text of 16 bytes that was lent behind `head` bytes, and what is in the answer's memory.
    fn lent(head: usize, room: usize, verdict: Option<Verdict>) -> (Codes, Vec<u8>) {
        use wire::verb::symmetric_algorithm_encipher::{Answer, Ask};
        let (ask, mut filled) = (Ask { cipher_text: room, ..Ask::new(AesAlgorithm::Aes) }, Filled::default());
        let arguments = ask.arguments(&mut filled);
        let mut out = vec![9; 300];
        let mut reply = Reply::new(&arguments, &mut out);
        let mut text = reply.lend(head, &[3; 16], 0);
        text.fill(4);
        let written = match verdict {
            Some(Err(refusal)) => Err(refusal),
            _ => reply.write_text(text, |bytes, buffer| {
                buffer.write(Answer { cipher_text: Some(bytes), ..Answer::default() })
            }),
        };
        let (_, codes) = reply.finish(written.map(|()| code::OK));
        (codes, out)
    }

    #[test]
    fn a_lent_text_is_answered_wherever_it_lies_and_gone_where_the_verb_refuses() {
        use wire::verb::symmetric_algorithm_encipher::{Answer, CIPHER_TEXT, CIPHER_TEXT_LENGTH};
        let right = Answer::default().head_bytes();
        let read = |out: &[u8]| {
            let read = Arguments::read_reply(Verb::SymmetricAlgorithmEncipher, out).unwrap();
            (read.integer(CIPHER_TEXT_LENGTH), read.bytes(CIPHER_TEXT).to_vec())
        };
        for head in [right, right - 1, right + 64, 0] {
            let (codes, out) = lent(head, 16, None);
            assert_eq!((codes, read(&out)), (code::OK, (16, vec![4; 16])), "{head}");
            let (codes, out) = lent(head, 15, None);
            assert_eq!((codes, read(&out)), (code::BUFFER_TOO_SMALL, (16, Vec::new())), "{head}");
            let (codes, out) = lent(head, 16, Some(Err(code::RSA_BLOCK.into())));
            assert_eq!((codes, read(&out)), (code::RSA_BLOCK, (16, Vec::new())), "{head}");
            assert!(!out.contains(&4));
        }
    }
}
