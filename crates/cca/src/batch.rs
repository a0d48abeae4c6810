//! A batch: private copies of requests, and their answers, in memory that is used again.

use wire::bounds::BATCH_MAX;
use wire::frame::Outcome;
use wire::{Codes, Verb};

use crate::wipe::wipe;

/// One request, as the card took it: rights checked, key references replaced by token bytes.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    /// The verb.
    pub verb: Verb,
    /// Domain whose master keys it uses.
    pub domain: u16,
    /// The request payload as in [`wire::frame`], out of reach of the client.
    pub payload: &'a [u8],
}

/// What became of one request.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether the verb ran.
    pub outcome: Outcome,
    /// Its codes; of zero where it did not run.
    pub codes: Codes,
    /// The reply payload as in [`wire::frame`]; empty where the verb did not run.
    ///
    /// Where the codes are not [complete](Codes::is_complete) every byte output is empty; an integer
    /// output says what is needed (8/72) or is as it came. A key identifier that the verb did not
    /// change is empty too.
    pub payload: Vec<u8>,
}

/// Payloads hold texts and clear keys: only their length is shown.
impl std::fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let length = self.payload.len();
        write!(f, "Incoming({:?}, domain {}, {length} bytes)", self.verb, self.domain)
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answer({:?}, {}, {} bytes)", self.outcome, self.codes, self.payload.len())
    }
}

/// The batch has [`BATCH_MAX`] requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchFull;

impl std::fmt::Display for BatchFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the batch holds {BATCH_MAX} requests, the most it may")
    }
}

impl std::error::Error for BatchFull {}

/// Up to [`BATCH_MAX`] requests and, once run, their answers in the same order.
#[derive(Default)]
pub struct Batch {
    pub(crate) requests: Vec<Request>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) len: usize,
}

/// A request that the batch owns.
pub(crate) struct Request {
    pub(crate) verb: Verb,
    pub(crate) domain: u16,
    pub(crate) payload: Vec<u8>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it, wiping what the requests held; memory of ordinary size is kept for the next ones.
    pub fn clear(&mut self) {
        for request in &mut self.requests[..self.len] {
            give_back(&mut request.payload);
        }
        for answer in &mut self.answers[..self.len] {
            give_back(&mut answer.payload);
        }
        self.len = 0;
    }

    /// Adds a copy of a request.
    ///
    /// # Errors
    /// [`BatchFull`].
    pub fn push(&mut self, incoming: &Incoming<'_>) -> Result<(), BatchFull> {
        if self.len == BATCH_MAX {
            return Err(BatchFull);
        }
        if self.len == self.requests.len() {
            self.requests.push(Request { verb: incoming.verb, domain: 0, payload: Vec::new() });
            self.answers.push(Answer {
                outcome: Outcome::Malformed,
                codes: Codes::new(0, 0),
                payload: Vec::new(),
            });
        }
        let request = &mut self.requests[self.len];
        request.verb = incoming.verb;
        request.domain = incoming.domain;
        request.payload.clear();
        request.payload.extend_from_slice(incoming.payload);
        self.answers[self.len].payload.clear();
        self.len += 1;
        Ok(())
    }

    /// How many requests it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The answers, in the order of the requests; they mean something once the batch has run.
    pub fn answers(&self) -> &[Answer] {
        &self.answers[..self.len]
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.clear();
    }
}

fn give_back(buffer: &mut Vec<u8>) {
    wipe(buffer);
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// A buffer that grew beyond this is given back between batches.
const KEPT_BYTES_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_not_shown() {
        let incoming = Incoming { verb: Verb::ClearKeyImport, domain: 1, payload: &[0xAB; 8] };
        assert_eq!(format!("{incoming:?}"), "Incoming(ClearKeyImport, domain 1, 8 bytes)");
        let answer = Answer { outcome: Outcome::Answered, codes: Codes::new(0, 0), payload: vec![0xAB; 8] };
        assert_eq!(format!("{answer:?}"), "Answer(Answered, 0/0 (done), 8 bytes)");
    }

    #[test]
    fn cleared_payloads_are_wiped_and_long_ones_given_back() {
        let mut batch = Batch::new();
        batch.push(&Incoming { verb: Verb::Null, domain: 0, payload: &vec![7; KEPT_BYTES_MAX + 1] }).unwrap();
        batch.clear();
        assert_eq!(batch.requests[0].payload.capacity(), 0);
        batch.push(&Incoming { verb: Verb::Null, domain: 0, payload: &[7; 100] }).unwrap();
        batch.clear();
        assert!(batch.requests[0].payload.capacity() >= 100 && batch.requests[0].payload.is_empty());
    }

    #[test]
    fn it_is_bounded_and_reusable() {
        let mut batch = Batch::new();
        let incoming = Incoming { verb: Verb::Null, domain: 0, payload: &[1, 2, 3] };
        for _ in 0..BATCH_MAX {
            batch.push(&incoming).unwrap();
        }
        assert_eq!(batch.push(&incoming), Err(BatchFull));
        assert_eq!(batch.len(), BATCH_MAX);
        batch.clear();
        assert!(batch.is_empty() && batch.answers().is_empty());
        batch.push(&Incoming { verb: Verb::Null, domain: 3, payload: &[9] }).unwrap();
        assert_eq!((batch.requests[0].domain, batch.requests[0].payload.as_slice()), (3, [9].as_slice()));
    }
}
