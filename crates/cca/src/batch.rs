//! A batch: private copies of requests, and their answers, in memory that is reused.
//!
//! Each request is copied from its client's memory directly into a buffer that the batch lends, and
//! checked there.

use crate::counting::Count;
use crate::wipe::wipe;
use wire::bounds::BATCH_MAX;
use wire::frame::Outcome;
use wire::point::PointSet;
use wire::{Codes, Verb};

/// One request, as the card took it: rights checked, key references replaced by token bytes.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    /// The verb.
    pub verb: Verb,
    /// The domain whose master keys the request uses.
    pub domain: u16,
    /// The points that the tenant's role permits. The point of the verb was checked already; the points of keywords are
    /// checked by the verb.
    pub points: &'a PointSet,
    /// The request payload as in [`wire::frame`], out of reach of the client.
    pub payload: &'a [u8],
}

/// The answer to one request.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether the verb ran, and if not, why.
    pub outcome: Outcome,
    /// Return and reason code of the verb; zero if it did not run.
    pub codes: Codes,
    /// The reply payload as in [`wire::frame`]; empty where the verb did not run.
    ///
    /// Where there [is no output](Codes::has_output) every byte output is empty; an integer
    /// output says what is needed (8/72) or is as it came. A key identifier that the verb did not
    /// change is empty too.
    pub payload: Vec<u8>,
    /// Whether a result under numbers that a card generated failed its check: these numbers must not be used any more.
    /// The codes are 16/336 then, which a verb may also answer for lesser faults.
    pub is_unsound: bool,
    /// How the verification of a PIN is counted, which comes before this answer may be seen; `None` if nothing is.
    pub count: Option<Count>,
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

/// The batch already holds [`BATCH_MAX`] requests.
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
    pub(crate) points: PointSet,
    /// The tenant that sent the request.
    pub(crate) tenant: u32,
    /// The payload, then the tokens behind its key references.
    pub(crate) payload: Vec<u8>,
    pub(crate) payload_bytes: usize,
}

impl Request {
    /// The payload as the client sent it.
    pub(crate) fn own_payload(&self) -> &[u8] {
        self.payload.get(..self.payload_bytes).unwrap_or(&self.payload)
    }

    /// The tokens behind the request's key references.
    pub(crate) fn records(&self) -> &[u8] {
        self.payload.get(self.payload_bytes..).unwrap_or_default()
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the batch and wipes what its requests held. Buffers of ordinary size are kept for the next requests.
    pub fn clear(&mut self) {
        let mut kept = 0;
        // A buffer that was lent and not kept may hold data, too.
        for request in self.requests.iter_mut().take(self.len + 1) {
            give_back(&mut request.payload, &mut kept);
        }
        for answer in &mut self.answers[..self.len] {
            give_back(&mut answer.payload, &mut kept);
        }
        self.len = 0;
    }

    /// The buffer of the next request, empty. Its content is no request of the batch before [`Batch::keep`]; until then
    /// each call lends the same buffer, wiped.
    ///
    /// # Errors
    /// [`BatchFull`].
    pub fn lend(&mut self) -> Result<&mut Vec<u8>, BatchFull> {
        if self.len == BATCH_MAX {
            return Err(BatchFull);
        }
        if self.len == self.requests.len() {
            self.requests.push(Request {
                verb: Verb::Null,
                domain: 0,
                points: PointSet::NOTHING,
                tenant: 0,
                payload: Vec::new(),
                payload_bytes: 0,
            });
            self.answers.push(Answer {
                outcome: Outcome::Malformed,
                codes: Codes::new(0, 0),
                payload: Vec::new(),
                is_unsound: false,
                count: None,
            });
        }
        let payload = &mut self.requests[self.len].payload;
        wipe(payload);
        payload.clear();
        Ok(payload)
    }

    /// Takes the content of the buffer that was lent as a request of this tenant in this domain, in a role with these
    /// points: `payload_bytes` of payload, then the tokens that stand for its key references (see
    /// [`wire::frame::place_token`]).
    ///
    /// # Panics
    /// If no buffer was lent since the last request.
    pub fn keep(&mut self, verb: Verb, of: (u32, u16), points: &PointSet, payload_bytes: usize) {
        let request = &mut self.requests[self.len];
        (request.verb, request.payload_bytes, request.points) = (verb, payload_bytes, *points);
        (request.tenant, request.domain) = of;
        self.answers[self.len].payload.clear();
        self.len += 1;
    }

    /// Sets the tenant of the last request that was pushed: failures of verifications are counted by tenant.
    pub fn set_tenant(&mut self, tenant: u32) {
        if let Some(request) = self.requests[..self.len].last_mut() {
            request.tenant = tenant;
        }
    }

    /// Takes the last request out again, and wipes it.
    pub fn withdraw(&mut self) {
        self.len = self.len.saturating_sub(1);
        if let Some(request) = self.requests.get_mut(self.len) {
            wipe(&mut request.payload);
            request.payload.clear();
        }
    }

    /// Adds a copy of a request, as tenant 0's.
    ///
    /// # Errors
    /// [`BatchFull`].
    pub fn push(&mut self, incoming: &Incoming<'_>) -> Result<(), BatchFull> {
        self.lend()?.extend_from_slice(incoming.payload);
        self.keep(incoming.verb, (0, incoming.domain), incoming.points, incoming.payload.len());
        Ok(())
    }

    /// How many requests the batch holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the batch holds no request.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The answers, in the order of the requests; valid after the batch has run.
    pub fn answers(&self) -> &[Answer] {
        &self.answers[..self.len]
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Wipes a buffer. Frees it, unless it is short and few bytes were kept before it.
fn give_back(buffer: &mut Vec<u8>, kept: &mut usize) {
    wipe(buffer);
    buffer.clear();
    if buffer.capacity() > BUFFER_BYTES_MAX || *kept + buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
    *kept += buffer.capacity();
}

/// A buffer that grew beyond this is given back between batches.
const BUFFER_BYTES_MAX: usize = 256 * 1024;
/// Upper bound in bytes of all buffers together that a batch keeps when it is cleared.
const KEPT_BYTES_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_not_shown() {
        let incoming = Incoming {
            verb: Verb::ClearKeyImport,
            domain: 1,
            points: &PointSet::EVERYTHING,
            payload: &[0xAB; 8],
        };
        assert_eq!(format!("{incoming:?}"), "Incoming(ClearKeyImport, domain 1, 8 bytes)");
        let (outcome, codes, payload) = (Outcome::Answered, Codes::new(0, 0), vec![0xAB; 8]);
        let answer = Answer { outcome, codes, payload, is_unsound: false, count: None };
        assert_eq!(format!("{answer:?}"), "Answer(Answered, 0/0 (done), 8 bytes)");
    }

    #[test]
    fn cleared_payloads_are_wiped_and_long_ones_given_back() {
        let mut batch = Batch::new();
        batch
            .push(&Incoming {
                verb: Verb::Null,
                domain: 0,
                points: &PointSet::EVERYTHING,
                payload: &vec![7; BUFFER_BYTES_MAX + 1],
            })
            .unwrap();
        batch.clear();
        assert_eq!(batch.requests[0].payload.capacity(), 0);
        batch
            .push(&Incoming {
                verb: Verb::Null,
                domain: 0,
                points: &PointSet::EVERYTHING,
                payload: &[7; 100],
            })
            .unwrap();
        batch.clear();
        assert!(batch.requests[0].payload.capacity() >= 100 && batch.requests[0].payload.is_empty());
    }

    #[test]
    fn what_is_lent_is_a_request_once_it_is_kept() {
        let mut batch = Batch::new();
        batch.lend().unwrap().extend_from_slice(&[7; 40]);
        assert!(batch.is_empty());
        // The request was refused: the next one has the same buffer, in which nothing of the refused one is left.
        let lent = batch.lend().unwrap();
        assert!(lent.is_empty() && lent.capacity() >= 40);
        lent.extend_from_slice(&[9; 3]);
        batch.keep(Verb::MacGenerate, (0, 2), &PointSet::EVERYTHING, 3);
        assert_eq!((batch.len(), batch.requests[0].domain), (1, 2));
        assert_eq!(batch.requests[0].payload, [9; 3]);
        batch.lend().unwrap().extend_from_slice(&[5; 9]);
        batch.clear();
        assert!(batch.requests.iter().all(|request| request.payload.is_empty()));
    }

    #[test]
    fn the_buffers_of_a_batch_are_kept_up_to_a_bound() {
        let mut batch = Batch::new();
        let payload = vec![1; BUFFER_BYTES_MAX / 2];
        for _ in 0..BATCH_MAX {
            batch
                .push(&Incoming {
                    verb: Verb::Null,
                    domain: 0,
                    points: &PointSet::EVERYTHING,
                    payload: &payload,
                })
                .unwrap();
        }
        batch.clear();
        let kept: usize = batch.requests.iter().map(|request| request.payload.capacity()).sum();
        assert!((KEPT_BYTES_MAX / 2..=KEPT_BYTES_MAX).contains(&kept), "{kept}");
    }

    #[test]
    fn it_is_bounded_and_reusable() {
        let mut batch = Batch::new();
        let incoming =
            Incoming { verb: Verb::Null, domain: 0, points: &PointSet::EVERYTHING, payload: &[1, 2, 3] };
        for _ in 0..BATCH_MAX {
            batch.push(&incoming).unwrap();
        }
        assert_eq!(batch.push(&incoming), Err(BatchFull));
        assert_eq!(batch.len(), BATCH_MAX);
        batch.clear();
        assert!(batch.is_empty() && batch.answers().is_empty());
        batch
            .push(&Incoming { verb: Verb::Null, domain: 3, points: &PointSet::EVERYTHING, payload: &[9] })
            .unwrap();
        assert_eq!((batch.requests[0].domain, batch.requests[0].payload.as_slice()), (3, [9].as_slice()));
    }
}
