//! Counting of wrong PINs: what a verification is counted under, and which ones may not be judged now.
//!
//! A failure is counted under the key, and under the key with its *subject*: what the right PIN belongs to, which are validation
//! data, or the PAN in the parameter of VISA and Interbank. The PAN in a block is no part of it: with another one the same
//! block is another guess of the same PIN. So is an offset, a PVV, and a decimalisation table.
//!
//! What the daemon is told are digests, by HMAC-SHA-256 under the home's counting key. A key is hashed by its clear value
//! without parity bits, so that it is one key in whichever token it comes, under whichever master key.
//!
//! Of one subject a card judges one verification at a time. The next one waits until the first was right, or until its failure
//! is durable: a batch of guesses is not judged before the first of them is counted.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use engine::{Engine, HashAlgorithm, HmacKey, SecretBytes};
use payments::Mask;
use wire::code;
use wire::frame::Outcome;
use wire::pin::{CountingKey, Digest, Guess, Standing};
use wire::point::Point;
use zeroize::Zeroizing;

use crate::call::{Call, Refusal};

/// What is known of failures under digests: the daemon decides, a card looks.
pub trait Failures {
    /// What is known under this one now.
    fn standing(&self, digest: &Digest) -> Standing;
}

/// What is to be done about a request that verified a PIN, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The PIN was wrong: the answer may be seen once that is durable, and [`Processor::counted`](crate::Processor::counted)
    /// is told so.
    Failed(Guess),
    /// The PIN was right where failures had been counted: they are to be forgotten.
    Right(Guess),
    /// It was not judged: an earlier verification of this subject is at work. It is to be brought again once
    /// [`Processor::released`](crate::Processor::released) names it.
    Waits(Digest),
}

/// What a processor knows of verifications.
#[derive(Default)]
pub(crate) struct Counting {
    by: Option<(HmacKey, Box<dyn Failures>)>,
    /// Subjects of which a verification is judged, or a failure is not durable yet.
    at_work: HashSet<Digest, BuildHasherDefault<First>>,
    /// Subjects that were at work until lately, for which others may wait.
    released: Vec<Digest>,
    /// Whether anything waits for a subject.
    is_waited_for: bool,
}

impl Counting {
    /// Counts from now on: under this key, with what this says.
    pub(crate) fn begin(&mut self, engine: &Engine, key: &CountingKey, failures: Box<dyn Failures>) {
        // SHA-256 is no weak hash: no setting refuses it.
        self.by = engine.hmac_key(HashAlgorithm::Sha256, &key.0).ok().map(|key| (key, failures));
    }

    pub(crate) fn standing(&self, digest: &Digest) -> Option<Standing> {
        self.by.as_ref().map(|(_, failures)| failures.standing(digest))
    }

    /// The failure of a subject is durable.
    pub(crate) fn counted(&mut self, subject: &Digest) {
        if self.at_work.remove(subject) && self.is_waited_for {
            self.released.push(*subject);
        }
    }

    /// The subjects that are at work no more, since this was asked last.
    pub(crate) fn released(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.released)
    }

    /// Whether something is to be released that others wait for.
    pub(crate) fn set_waited_for(&mut self, is_waited_for: bool) {
        self.is_waited_for = is_waited_for;
    }

    fn enter(&mut self, key: &SecretBytes, subject: &[u8]) -> Result<Guess, Entry> {
        let (digests, failures) = self.by.as_ref().ok_or(Entry::Refused)?;
        let guess = guess(digests, key, subject);
        let is_refused = |digest| failures.standing(digest) == Standing::Refused;
        if is_refused(&guess.key) || is_refused(&guess.subject) {
            return Err(Entry::Refused);
        }
        if self.at_work.insert(guess.subject) {
            Ok(guess)
        } else {
            self.is_waited_for = true;
            Err(Entry::Waits(guess.subject))
        }
    }
}

/// Why a verification is not judged now.
enum Entry {
    Refused,
    Waits(Digest),
}

/// The digests of a key and a subject.
fn guess(digests: &HmacKey, key: &SecretBytes, subject: &[u8]) -> Guess {
    const KEY: &[u8] = b"key";
    const SUBJECT: &[u8] = b"pin";
    let mut bare = Zeroizing::new([0; KEY_BYTES_MAX]);
    for (place, byte) in bare.iter_mut().zip(&key[..]) {
        *place = byte & 0xFE;
    }
    let digest = |purpose: &[u8], more: &[u8]| {
        let mut state = digests.begin();
        state.update(purpose);
        state.update(&bare[..]);
        state.update(more);
        let mut first = [0; 16];
        first.copy_from_slice(&digests.end(state)[..16]);
        Digest(first)
    };
    Guess { key: digest(KEY, &[]), subject: digest(SUBJECT, subject) }
}

/// Length of a subject.
pub(crate) const SUBJECT_BYTES: usize = 12;

/// The subject of validation data.
pub(crate) fn of_validation(block: &[u8; 8]) -> [u8; SUBJECT_BYTES] {
    subject(b'V', block)
}

/// The subject of eleven digits of a PAN.
pub(crate) fn of_pan(digits: &[u8; 11]) -> [u8; SUBJECT_BYTES] {
    subject(b'P', digits)
}

/// The subject of the Interbank method: the digits of the PAN in its block.
pub(crate) fn of_interbank(block: &[u8; 8]) -> [u8; SUBJECT_BYTES] {
    of_pan(&std::array::from_fn(|at| if at % 2 == 0 { block[at / 2] >> 4 } else { block[at / 2] & 0x0F }))
}

/// The subject of a reference block: its PAN, or the block itself where it has none.
pub(crate) fn of_reference(pan: Option<&[u8; 12]>, block: &[u8; 8]) -> [u8; SUBJECT_BYTES] {
    match pan {
        Some(pan) => {
            let packed: [u8; 6] =
                std::array::from_fn(|at| (pan[2 * at] & 0x0F) << 4 | pan[2 * at + 1] & 0x0F);
            subject(b'R', &packed)
        }
        None => subject(b'B', block),
    }
}

fn subject(kind: u8, what: &[u8]) -> [u8; SUBJECT_BYTES] {
    let mut subject = [0; SUBJECT_BYTES];
    subject[0] = kind;
    subject[1..=what.len()].copy_from_slice(what);
    subject
}

/// Longest PIN verification key in bytes.
const KEY_BYTES_MAX: usize = 24;

/// A verification that is judged; none where the role has none counted.
pub(crate) struct AtWork<'p> {
    counting: &'p RefCell<Counting>,
    count: &'p Cell<Option<Count>>,
    guess: Option<Guess>,
}

/// Begins a verification under a key, of a subject, before the block is clear. The one that it gives is asked for the verdict.
///
/// # Errors
/// 8/90 where failures are too many. Where an earlier verification of the subject is at work, the request is not answered:
/// it comes again.
pub(crate) fn begin<'p>(
    call: &Call<'p, '_>,
    key: &SecretBytes,
    subject: &[u8],
) -> Result<AtWork<'p>, Refusal> {
    let (counting, count) = (call.counting, call.count);
    if call.points.permits(Point::PinUncounted) {
        return Ok(AtWork { counting, count, guess: None });
    }
    let entered = counting.borrow_mut().enter(key, subject);
    match entered {
        Ok(guess) => Ok(AtWork { counting, count, guess: Some(guess) }),
        Err(Entry::Refused) => Err(code::ACCESS_DENIED.into()),
        Err(Entry::Waits(subject)) => {
            count.set(Some(Count::Waits(subject)));
            Err(Refusal::Outcome(Outcome::NotReady))
        }
    }
}

impl AtWork<'_> {
    /// Counts the verdict: a wrong PIN or a wrong block as a failure. A right one forgets those before, where it `proves` that
    /// whoever asks knows the PIN: what a table of the caller's or a check of one digit finds right, many PINs are.
    pub(crate) fn judged(mut self, is_right: Mask, proves: bool) {
        let Some(guess) = self.guess else { return };
        if !is_right.holds() {
            // Its subject stays at work.
            self.guess = None;
            return self.count.set(Some(Count::Failed(guess)));
        }
        let standing = self.counting.borrow().standing(&guess.subject);
        if proves && standing == Some(Standing::Counted) {
            self.count.set(Some(Count::Right(guess)));
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if let Some(guess) = self.guess {
            self.counting.borrow_mut().counted(&guess.subject);
        }
    }
}

/// Digests are keyed hashes: their first bytes are as good as another hash of them.
#[derive(Default)]
pub(crate) struct First(u64);

impl Hasher for First {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
}
