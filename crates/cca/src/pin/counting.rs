//! Counting of wrong PINs and card verification values: what a verification is counted under, and which ones may not be judged now.
//!
//! | digest | of |
//! |---|---|
//! | key | the verification key |
//! | subject | the key, and what the caller says that the right PIN belongs to: validation data, or the PAN in the parameter of VISA and Interbank; of a card verification value, its PAN |
//! | block | the key, and what the block says of itself ([`Form::bound`](super::form::Form::bound)): the PAN that it is bound to, or the whole clear block |
//! | caller | the tenant, and the same of the block, whichever the key |
//!
//! All but the first are counted by the day. Offsets, PVVs and decimalisation tables are no part of any: with other ones the
//! same block is another guess of the same PIN. With other validation data it is that too: so the block counts, whatever it is
//! compared with. A right PIN takes nothing back. Whoever can make blocks has right ones for any PAN, and with them would have
//! the guesses of somebody else's block forgotten.
//!
//! What the daemon is told are digests under the home's counting key. A key is hashed by its clear value without parity bits, so
//! that it is one key in whichever token it comes, under whichever master key; what has no key in it is hashed with a secret of
//! the domain's master key, for the counting key stands in a file.
//!
//! Of each of these but the key a card judges one verification at a time. The next one waits until the first was right, or until
//! its failure is durable: a batch of guesses is not judged before the first of them is counted.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use engine::{Engine, HashAlgorithm, HmacKey, SecretBytes};
use payments::Mask;
use wire::code;
use wire::frame::Outcome;
use wire::pin::{BlockGuess, CountingKey, Digest, Guess, Standing};
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
    /// It was not judged: an earlier verification under this digest is at work. It is to be brought again once
    /// [`Processor::released`](crate::Processor::released) names it.
    Waits(Digest),
}

/// A secret that what is counted is hashed with.
type Secret = Zeroizing<[u8; 16]>;

/// What a processor knows of verifications.
#[derive(Default)]
pub(crate) struct Counting {
    by: Option<(HmacKey, Box<dyn Failures>)>,
    /// Of each domain, from its master key: for what has no other key in it.
    domains: Vec<Secret>,
    /// What a verification is judged of, or a failure is not durable yet.
    at_work: HashSet<Digest, BuildHasherDefault<First>>,
    /// What was at work until lately, for which others may wait.
    released: Vec<Digest>,
    /// Whether anything waits.
    is_waited_for: bool,
}

impl Counting {
    /// Counts from now on: under this key, with what this says.
    pub(crate) fn begin(&mut self, engine: &Engine, key: &CountingKey, failures: Box<dyn Failures>) {
        // SHA-256 is no weak hash: no setting refuses it.
        self.by = engine.hmac_key(HashAlgorithm::Sha256, &key.0).ok().map(|key| (key, failures));
    }

    /// A domain has this master key.
    pub(crate) fn set_domain(&mut self, engine: &Engine, domain: u16, master: &[u8]) {
        let place = usize::from(domain);
        self.domains.resize(self.domains.len().max(place + 1), Secret::default());
        self.domains[place] = Secret::default();
        if let Ok(key) = engine.hmac_key(HashAlgorithm::Sha256, master) {
            let mut state = key.begin();
            state.update(b"cryptand: failures counted for a tenant");
            let made = Zeroizing::new(key.end(state));
            self.domains[place].copy_from_slice(&made[..16]);
        }
    }

    /// No domain has a master key.
    pub(crate) fn forget_domains(&mut self) {
        self.domains.clear();
    }

    pub(crate) fn standing(&self, digest: &Digest) -> Option<Standing> {
        self.by.as_ref().map(|(_, failures)| failures.standing(digest))
    }

    /// The failure is durable.
    pub(crate) fn counted(&mut self, guess: &Guess) {
        guess.rows().for_each(|digest| self.release(digest));
    }

    /// What is at work no more, since this was asked last.
    pub(crate) fn released(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.released)
    }

    /// Whether something is to be released that others wait for.
    pub(crate) fn set_waited_for(&mut self, is_waited_for: bool) {
        self.is_waited_for = is_waited_for;
    }

    fn release(&mut self, digest: Digest) {
        if self.at_work.remove(&digest) && self.is_waited_for {
            self.released.push(digest);
        }
    }

    fn is_refused(&self, digest: &Digest) -> bool {
        self.standing(digest).is_none_or(|standing| standing == Standing::Refused)
    }

    /// Has a verification at work under this digest.
    fn take(&mut self, digest: Digest) -> Result<(), Entry> {
        if self.is_refused(&digest) {
            return Err(Entry::Refused);
        }
        if self.at_work.insert(digest) {
            return Ok(());
        }
        self.is_waited_for = true;
        Err(Entry::Waits(digest))
    }

    fn enter(
        &mut self,
        purpose: Purpose,
        key: &SecretBytes,
        subject: &Subject,
        tenant: u32,
    ) -> Result<(Guess, Secret), Entry> {
        let (digests, _) = self.by.as_ref().ok_or(Entry::Refused)?;
        let (key, secret) = of_key(digests, purpose, key);
        let bounds = [key, key.by_tenant(tenant), Digest::of_tenant(tenant)];
        if bounds.iter().any(|digest| self.is_refused(digest)) {
            return Err(Entry::Refused);
        }
        let subject = hashed(&secret, b'S', subject, 0);
        self.take(subject)?;
        Ok((Guess { key, subject, block: None }, secret))
    }

    fn enter_block(&mut self, judged: &Judged, content: &Subject) -> Result<BlockGuess, Entry> {
        let of_domain = self.domains.get(usize::from(judged.domain)).ok_or(Entry::Refused)?;
        let caller = hashed(of_domain, b'C', content, judged.tenant);
        let block = hashed(&judged.secret, b'B', content, 0);
        self.take(block)?;
        self.take(caller).inspect_err(|_| self.release(block))?;
        Ok(BlockGuess { block, caller })
    }
}

/// Why a verification is not judged now.
enum Entry {
    Refused,
    Waits(Digest),
}

/// What is verified: failures of one purpose count for no other, whatever their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Pin,
    /// A card verification value, or a card security code.
    CardValue,
}

/// The digest of a key, and what its subjects and blocks are hashed with.
fn of_key(digests: &HmacKey, purpose: Purpose, key: &SecretBytes) -> (Digest, Secret) {
    let mut bare = Zeroizing::new([0; KEY_BYTES_MAX]);
    for (place, byte) in bare.iter_mut().zip(&key[..]) {
        *place = byte & 0xFE;
    }
    let mut state = digests.begin();
    state.update(match purpose {
        Purpose::Pin => b"key",
        Purpose::CardValue => b"cvv",
    });
    state.update(&bare[..]);
    let made = Zeroizing::new(digests.end(state));
    let half = |at: usize| std::array::from_fn(|of| made[at + of]);
    (Digest(half(0)), Zeroizing::new(half(16)))
}

/// A digest of what is counted, of one block of SHA-256: all of these texts are equally long and begin with a secret.
fn hashed(secret: &Secret, purpose: u8, content: &Subject, tenant: u32) -> Digest {
    const PURPOSE_AT: usize = 16;
    let mut text = Zeroizing::new([0; PURPOSE_AT + 1 + SUBJECT_BYTES + 4]);
    text[..PURPOSE_AT].copy_from_slice(&secret[..]);
    text[PURPOSE_AT] = purpose;
    text[PURPOSE_AT + 1..][..SUBJECT_BYTES].copy_from_slice(content);
    text[PURPOSE_AT + 1 + SUBJECT_BYTES..].copy_from_slice(&tenant.to_le_bytes());
    let made = engine::sha256(&text[..]);
    Digest(std::array::from_fn(|at| made[at]))
}

/// Length of a subject.
pub(crate) const SUBJECT_BYTES: usize = 12;
/// What is counted, before it is hashed.
pub(crate) type Subject = [u8; SUBJECT_BYTES];

/// The subject of validation data.
pub(crate) fn of_validation(block: &[u8; 8]) -> Subject {
    subject(b'V', block)
}

/// The subject of eleven digits of a PAN.
pub(crate) fn of_pan(digits: &[u8; 11]) -> Subject {
    subject(b'P', digits)
}

/// The subject of the Interbank method: the digits of the PAN in its block.
pub(crate) fn of_interbank(block: &[u8; 8]) -> Subject {
    of_pan(&std::array::from_fn(|at| if at % 2 == 0 { block[at / 2] >> 4 } else { block[at / 2] & 0x0F }))
}

/// The subject of a reference block: the digits that it is bound to of its PAN ([`super::form::Form::bound`]), or the block
/// itself where it is bound to none.
pub(crate) fn of_reference(bound: Option<&[u8; 8]>, block: &[u8; 8]) -> Subject {
    match bound {
        Some(digits) => subject(b'R', digits),
        None => subject(b'B', block),
    }
}

/// The subject of a card verification value: the digits of a PAN, of which there are at most 19.
pub(crate) fn of_card(digits: &[u8]) -> Subject {
    let mut packed = [0xFF; 10];
    for (at, digit) in digits.iter().take(2 * packed.len()).enumerate() {
        let (place, rest) = (&mut packed[at / 2], digit & 0x0F);
        *place = if at % 2 == 0 { rest << 4 | 0x0F } else { *place & 0xF0 | rest };
    }
    subject(b'D', &packed)
}

/// The content of a block that is bound to a PAN: these digits of it.
pub(crate) fn of_bound_pan(digits: &[u8; 8]) -> Subject {
    subject(b'A', digits)
}

/// The content of a block that nothing is bound to: itself. Clear, it is the same under whichever key.
pub(crate) fn of_clear_block(block: &[u8; 8]) -> Subject {
    subject(b'C', block)
}

fn subject(kind: u8, what: &[u8]) -> Subject {
    let mut subject = [0; SUBJECT_BYTES];
    subject[0] = kind;
    subject[1..=what.len()].copy_from_slice(what);
    subject
}

/// Longest PIN verification key in bytes.
const KEY_BYTES_MAX: usize = 24;

/// A verification that is judged; nothing where the role has none counted.
pub(crate) struct AtWork<'p> {
    counting: &'p RefCell<Counting>,
    count: &'p Cell<Option<Count>>,
    judged: Option<Judged>,
}

/// What it is counted under, and what its block is hashed with.
struct Judged {
    guess: Guess,
    secret: Secret,
    domain: u16,
    tenant: u32,
}

/// Begins a verification under a key, of a subject, before the block is clear. The one that it gives is asked for the verdict.
///
/// # Errors
/// 8/90 where failures are too many. Where an earlier verification of the subject is at work, the request is not answered:
/// it comes again.
pub(crate) fn begin<'p>(
    call: &Call<'p, '_>,
    purpose: Purpose,
    key: &SecretBytes,
    subject: &Subject,
) -> Result<AtWork<'p>, Refusal> {
    let (counting, count) = (call.counting, call.count);
    if call.points.permits(Point::PinUncounted) {
        return Ok(AtWork { counting, count, judged: None });
    }
    let entered = counting.borrow_mut().enter(purpose, key, subject, call.tenant);
    let (guess, secret) = entered.map_err(|entry| refusal(count, entry))?;
    let judged = Judged { guess, secret, domain: call.domain, tenant: call.tenant };
    Ok(AtWork { counting, count, judged: Some(judged) })
}

fn refusal(count: &Cell<Option<Count>>, entry: Entry) -> Refusal {
    match entry {
        Entry::Refused => code::ACCESS_DENIED.into(),
        Entry::Waits(digest) => {
            count.set(Some(Count::Waits(digest)));
            Refusal::Outcome(Outcome::NotReady)
        }
    }
}

impl AtWork<'_> {
    /// The same, counted under its block too.
    ///
    /// # Errors
    /// As [`begin`].
    pub(crate) fn of_block(mut self, content: &Subject) -> Result<Self, Refusal> {
        if let Some(judged) = &mut self.judged {
            let entered = self.counting.borrow_mut().enter_block(judged, content);
            judged.guess.block = Some(entered.map_err(|entry| refusal(self.count, entry))?);
        }
        Ok(self)
    }

    /// Counts the verdict: a wrong PIN or a wrong block as a failure.
    pub(crate) fn judged(mut self, is_right: Mask) {
        if is_right.holds() {
            return;
        }
        // It stays at work.
        if let Some(judged) = self.judged.take() {
            self.count.set(Some(Count::Failed(judged.guess)));
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if let Some(judged) = &self.judged {
            self.counting.borrow_mut().counted(&judged.guess);
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
