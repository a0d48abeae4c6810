//! The answer to a request.

use crate::error::{FacilityError, ProtocolError};
use std::marker::PhantomData;
use wire::Codes;
use wire::bounds::{INLINE_BYTES_MAX, LABEL_BYTES};
use wire::code;
use wire::frame::{Argument, Arguments, ReplyHeader};
use wire::secret::gives_clear_key;
use wire::verb::{Kind, Length, TypedAsk, TypedGot, Verb};

/// The answer to one request: codes, and the verb's output arguments.
///
/// A reply may be handed in again with [`Facility::call_into`](crate::Facility::call_into): its
/// buffer is then used again. Replies that can hold a clear key are wiped on drop and on reuse.
#[must_use = "its codes say whether the verb did what was asked"]
pub struct Reply {
    verb: Verb,
    codes: Codes,
    payload: Vec<u8>,
    /// One bit for each key parameter that was given as a label.
    labelled: u64,
    timing: Option<Timing>,
}

/// The answer to a verb that was called by its own type ([`Facility::ask`](crate::Facility::ask)).
#[must_use = "its codes say whether the verb did what was asked"]
pub struct Answered<A> {
    reply: Reply,
    asked: PhantomData<fn() -> A>,
}

impl<A: TypedAsk> Answered<A> {
    /// The typed answer in a reply to this verb.
    pub(crate) fn of(reply: Reply) -> Self {
        Self { reply, asked: PhantomData }
    }

    /// Return and reason code of the reply.
    pub fn codes(&self) -> Codes {
        self.reply.codes()
    }

    /// The answer if the verb succeeded.
    ///
    /// # Errors
    /// As [`Reply::ok`].
    pub fn ok(self) -> Result<Self, FacilityError> {
        self.reply.ok().map(Self::of)
    }

    /// The outputs by name, from [`Reply::arguments`].
    pub fn got(&self) -> A::Got<'_> {
        A::Got::of(&self.reply.arguments())
    }

    /// The whole reply.
    pub fn into_reply(self) -> Reply {
        self.reply
    }
}

impl<A> AsRef<Reply> for Answered<A> {
    fn as_ref(&self) -> &Reply {
        &self.reply
    }
}

/// Where and when a card served a request; times are of the time-stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Index of the card.
    pub card: u32,
    /// Requests that ran in the same batch.
    pub batch_fill: u32,
    /// When the batch began.
    pub start_tsc: u64,
    /// When the answer was ready.
    pub end_tsc: u64,
}

impl AsRef<Reply> for Reply {
    fn as_ref(&self) -> &Reply {
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl Reply {
    /// An empty reply, to be filled by [`Facility::call_into`](crate::Facility::call_into).
    pub fn new() -> Self {
        Self { verb: Verb::Null, codes: code::OK, payload: Vec::new(), labelled: 0, timing: None }
    }

    /// The verb that was called.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Return and reason code of the reply.
    pub fn codes(&self) -> Codes {
        self.codes
    }

    /// The reply if the verb succeeded: return code 0.
    ///
    /// # Errors
    /// [`FacilityError::Verb`] with the codes, also for a value that does not verify (return code 4).
    pub fn ok(self) -> Result<Self, FacilityError> {
        if self.codes.is_ok() {
            Ok(self)
        } else {
            Err(FacilityError::Verb { verb: self.verb, codes: self.codes })
        }
    }

    /// The output arguments, by position in the verb table. All are absent if the verb was refused. A key identifier
    /// that was given as a label is absent, too: the caller's field stays as it is. A key identifier whose label a new
    /// token was written under holds the label again.
    pub fn arguments(&self) -> Arguments<'_> {
        if self.payload.is_empty() {
            return Arguments::new(self.verb);
        }
        // The payload was read once when it came; see `Reply::accept`.
        let mut arguments =
            Arguments::read_reply(self.verb, &self.payload).unwrap_or(Arguments::new(self.verb));
        let mut labelled = self.labelled;
        while labelled != 0 {
            arguments.set(labelled.trailing_zeros() as usize, Argument::Absent);
            labelled &= labelled - 1;
        }
        arguments
    }

    /// Where and when the request was served; none for verbs of the daemon.
    pub fn timing(&self) -> Option<Timing> {
        self.timing
    }

    /// Fills the reply with codes and arguments computed in this process.
    pub(crate) fn fill(&mut self, verb: Verb, codes: Codes, outputs: &[(usize, Argument<'_>)]) {
        self.wipe();
        (self.verb, self.codes, self.labelled, self.timing) = (verb, codes, 0, None);
        if !outputs.is_empty() {
            let mut arguments = Arguments::new(verb);
            for (position, argument) in outputs {
                arguments.set(*position, *argument);
            }
            // Outputs are built beside the verb table's positions; a mismatch leaves them absent.
            if arguments.write_reply(&mut self.payload).is_err() {
                self.payload.clear();
            }
        }
    }

    /// Takes over the daemon's answer, after checking that it parses.
    pub(crate) fn take(&mut self, verb: Verb, codes: Codes, payload: Vec<u8>) -> Result<(), ProtocolError> {
        self.fill(verb, codes, &[]);
        if !payload.is_empty() {
            Arguments::read_reply(verb, &payload).map_err(ProtocolError::Frame)?;
        }
        self.payload = payload;
        Ok(())
    }

    /// Replaces tokens that were written into records by their labels.
    pub(crate) fn put_labels(&mut self, labels: &[(usize, [u8; LABEL_BYTES])]) {
        let mut payload = Vec::new();
        {
            let mut arguments = self.arguments();
            for (position, label) in labels {
                if arguments.bytes(*position).is_empty() {
                    continue;
                }
                arguments.set(*position, Argument::Bytes(label));
                if let Kind::Key { length: Length::By(by), .. } = self.verb.entry().parameters[*position].kind
                {
                    arguments.set(by, Argument::Integer(LABEL_BYTES as i64));
                }
            }
            // Arguments that were read can be written.
            let _ = arguments.write_reply(&mut payload);
        }
        self.wipe();
        self.payload = payload;
    }

    /// The buffer that a card's payload goes into, emptied.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.wipe();
        &mut self.payload
    }

    /// Takes over the content of [`Reply::buffer`], after checking that it parses.
    pub(crate) fn accept(
        &mut self,
        verb: Verb,
        header: &ReplyHeader,
        labelled: u64,
        card: u32,
    ) -> Result<(), ProtocolError> {
        self.verb = verb;
        self.codes = header.codes;
        self.labelled = labelled;
        self.timing = Some(Timing {
            card,
            batch_fill: header.batch_fill,
            start_tsc: header.start_tsc,
            end_tsc: header.end_tsc,
        });
        if !self.payload.is_empty() {
            Arguments::read_reply(verb, &self.payload).map_err(ProtocolError::Frame)?;
        }
        Ok(())
    }

    fn wipe(&mut self) {
        if gives_clear_key(self.verb) {
            wipe_key(&mut self.payload);
        }
        self.payload.clear();
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl<A> std::fmt::Debug for Answered<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reply.fmt(f)
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shape = f.debug_struct("Reply");
        shape.field("verb", &self.verb).field("codes", &self.codes).field("bytes", &self.payload.len());
        shape.finish_non_exhaustive()
    }
}

/// Wipes the part of a payload that can hold a clear key: keys stand before texts in every verb
/// that takes both, and are shorter than an inline payload.
pub(crate) fn wipe_key(payload: &mut [u8]) {
    let length = payload.len().min(INLINE_BYTES_MAX);
    // At the speed of a fill, which the compiler must keep: it has to assume that the zeros are read.
    payload[..length].fill(0);
    std::hint::black_box(&mut payload[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::frame::{BULK_NONE, Outcome};
    use wire::verb::{aes_key_record_read, encipher};

    fn header(codes: Codes) -> ReplyHeader {
        ReplyHeader {
            outcome: Outcome::Answered,
            codes,
            payload_bytes: 0,
            sequence: 1,
            bulk: BULK_NONE,
            batch_fill: 3,
            start_tsc: 1,
            end_tsc: 2,
        }
    }

    #[test]
    fn a_labelled_key_does_not_come_back() {
        let mut outputs = Arguments::new(Verb::Encipher);
        outputs.set_bytes(encipher::KEY_IDENTIFIER, &[1; 64]).set_bytes(encipher::CIPHERTEXT, &[2; 8]);
        let mut reply = Reply::new();
        outputs.write_reply(reply.buffer()).unwrap();
        reply.accept(Verb::Encipher, &header(code::OK), 1 << encipher::KEY_IDENTIFIER, 4).unwrap();
        assert_eq!(reply.arguments().at(encipher::KEY_IDENTIFIER), Argument::Absent);
        assert_eq!(reply.arguments().bytes(encipher::CIPHERTEXT), [2; 8]);
        assert_eq!(reply.timing().unwrap().card, 4);
    }

    #[test]
    fn a_payload_that_does_not_read_is_refused() {
        let mut reply = Reply::new();
        reply.buffer().extend_from_slice(&[7; 5]);
        assert!(matches!(
            reply.accept(Verb::Encipher, &header(code::OK), 0, 0),
            Err(ProtocolError::Frame(_))
        ));
    }

    #[test]
    fn a_filled_reply_reads_and_is_reused() {
        let mut reply = Reply::new();
        let token = [5; 64];
        reply.fill(
            Verb::AesKeyRecordRead,
            code::OK,
            &[
                (aes_key_record_read::KEY_TOKEN_LENGTH, Argument::Integer(64)),
                (aes_key_record_read::KEY_TOKEN, Argument::Bytes(&token)),
            ],
        );
        assert_eq!(reply.arguments().bytes(aes_key_record_read::KEY_TOKEN), token);
        assert_eq!(reply.arguments().integer(aes_key_record_read::KEY_TOKEN_LENGTH), 64);
        reply.fill(Verb::DesKeyRecordRead, code::LABEL_NOT_FOUND, &[]);
        assert_eq!(reply.codes(), code::LABEL_NOT_FOUND);
        assert!(reply.arguments().bytes(1).is_empty());
        assert!(!format!("{reply:?}").contains("payload"));
    }
}
