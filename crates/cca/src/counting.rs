//! Counting of wrong PINs and card verification values: what a verification is counted under, and which ones may not be
//! judged now.
//!
//! | digest | of |
//! |---|---|
//! | key | the verification key |
//! | key and tenant | the same, for one tenant |
//! | subject | the key, and what the caller says that the right PIN belongs to: validation data, or the PAN in the parameter of VISA and Interbank; of a reference, what its block says of itself; of a card verification value, its PAN |
//! | block | the key, and what the block says of itself ([`Form::bound`](crate::pin::form::Form::bound)): the PAN that it is bound to, or the whole clear block; of a card verification value, what is authenticated |
//! | caller | the tenant, and the same of the block, whichever the key |
//!
//! The last three are counted by the day. Offsets, PVVs and decimalisation tables are no part of any digest: with
//! another one of these the same block is another guess of the same PIN. Other validation data give another guess too,
//! so the block counts, whatever it is compared with. A right PIN takes no failure back. Whoever can make blocks has
//! right ones for any PAN, and with them would have the guesses of somebody else's block forgotten.
//!
//! The daemon is told digests under the home's counting key. A key is hashed by its clear value without parity bits:
//! its digest is the same in every token and under every master key. A content without a key is hashed with a secret of
//! the domain's master key, since the counting key stands in a file.
//!
//! For each of these digests but that of the key, a card judges one verification at a time. The next one waits until
//! the first was right, or until its failure is durable: a batch of guesses is not judged before the first of them is
//! counted. A card bounds a tenant's failures that are not durable yet, under one key and under all keys: that an
//! answer comes at all shows whether a PIN was right.

use crate::ground::Refusal;
use engine::{Engine, HashAlgorithm, HmacKey, SecretBytes};
use payments::Mask;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use wire::code;
use wire::frame::Outcome;
use wire::pin::{BlockGuess, CountingKey, Digest, Guess, Standing};
use zeroize::Zeroizing;

/// The failures known under digests: the daemon decides, a card looks them up.
pub trait Failures {
    /// The present standing of this digest.
    fn standing(&self, digest: &Digest) -> Standing;
}

/// How a request that verified a PIN, or would have, is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The PIN was wrong: the answer may be seen once the failure is durable and
    /// [`Processor::counted`](crate::Processor::counted) was told so.
    Failed(Guess),
    /// The PIN was not judged: an earlier verification under this digest is at work. The request is to be brought again
    /// once [`Processor::released`](crate::Processor::released) names the digest.
    Waits(Digest),
}

/// A secret for hashing subjects and blocks.
type Secret = Zeroizing<[u8; 16]>;

/// The state of a processor's verifications: those at work, and failures that are not durable yet.
#[derive(Default)]
pub(crate) struct Counting {
    by: Option<By>,
    /// Number of passes so far.
    pass: u64,
    /// A secret of each domain with a master key, derived from that key: it hashes contents that have no other key in
    /// them.
    domains: Vec<Option<Secret>>,
    /// Digests for which a verification is being judged, or has a failure that is not durable yet.
    at_work: HashSet<Digest, BuildHasherDefault<First>>,
    /// Number of failures that are not durable yet: of a key for a tenant, and of a tenant.
    undurable: HashMap<Digest, usize, BuildHasherDefault<First>>,
    /// Digests that left `at_work` since they were last asked for; other requests may wait for them.
    released: Vec<Digest>,
    /// Whether any request waits for a digest.
    is_waited_for: bool,
}

/// The hashed keys that digests are made with, and the known failures.
struct By {
    keys: HashedKeys,
    failures: Box<dyn Failures>,
}

impl Counting {
    /// Starts counting: under this key, with these known failures.
    pub(crate) fn begin(&mut self, engine: &Engine, key: &CountingKey, failures: Box<dyn Failures>) {
        // SHA-256 is no weak hash: no setting refuses it.
        let key = engine.hmac_key(HashAlgorithm::Sha256, &key.0).ok();
        self.by = key.map(|key| By { keys: HashedKeys::new(key), failures });
    }

    /// Begins a pass, in which keys that were not refused before are looked up again.
    pub(crate) fn begin_pass(&mut self) {
        self.pass += 1;
    }

    /// Sets the secret of a domain from this master key; `None` if the domain has none.
    pub(crate) fn set_domain(&mut self, engine: &Engine, domain: u16, master: Option<&[u8]>) {
        let place = usize::from(domain);
        self.domains.resize(self.domains.len().max(place + 1), None);
        let key = master.and_then(|master| engine.hmac_key(HashAlgorithm::Sha256, master).ok());
        self.domains[place] = key.map(|key| {
            let mut state = key.begin();
            state.update(b"cryptand: failures counted for a tenant");
            let made = Zeroizing::new(key.end(state));
            Zeroizing::new(std::array::from_fn(|at| made[at]))
        });
    }

    fn of_domain(&self, domain: u16) -> Option<&Secret> {
        self.domains.get(usize::from(domain))?.as_ref()
    }

    /// The pseudo-random bytes for a block that is made of one with this content: always the same for the content, and
    /// not to be guessed. `None` if the domain has no master key.
    pub(crate) fn filling(&self, domain: u16, content: &Subject) -> Option<Secret> {
        Some(Zeroizing::new(hashed(self.of_domain(domain)?, b'F', content, 0).0))
    }

    /// Wipes the secrets of all domains: no domain has a master key any more.
    pub(crate) fn forget_domains(&mut self) {
        self.domains.clear();
        self.forget_keys();
    }

    /// Wipes the keys that were hashed lately.
    pub(crate) fn forget_keys(&mut self) {
        if let Some(by) = &mut self.by {
            by.keys.forget();
        }
    }

    pub(crate) fn standing(&self, digest: &Digest) -> Option<Standing> {
        self.by.as_ref().map(|by| by.failures.standing(digest))
    }

    /// Notes that this failure of this tenant's is durable.
    pub(crate) fn counted(&mut self, guess: &Guess, tenant: u32) {
        self.leave(guess);
        for (digest, most) in undurable(&guess.key, tenant) {
            let Some(failures) = self.undurable.get_mut(&digest) else { continue };
            *failures -= 1;
            // Not at each failure: every release brings back all requests that wait.
            if *failures == most / 2 && self.is_waited_for {
                self.released.push(digest);
            }
            if *failures == 0 {
                self.undurable.remove(&digest);
            }
        }
    }

    /// Counts a wrong PIN as a failure that is not durable yet.
    fn failed(&mut self, guess: &Guess, tenant: u32) {
        for (digest, _) in undurable(&guess.key, tenant) {
            *self.undurable.entry(digest).or_default() += 1;
        }
    }

    /// Releases every digest of the guess.
    fn leave(&mut self, guess: &Guess) {
        guess.rows().for_each(|digest| self.release(digest));
    }

    /// The digests that were released since the last call.
    pub(crate) fn released(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.released)
    }

    /// Sets whether requests wait for digests to be released.
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

    /// Marks a verification as at work under this digest.
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
        let by = self.by.as_mut().ok_or(Entry::Refused)?;
        let found = by.keys.hashed(purpose, key);
        let (key, secret) = (found.digest, found.secret.clone());
        if found.unrefused != Some((self.pass, tenant)) {
            let bounds = [key, key.by_tenant(tenant), Digest::of_tenant(tenant)];
            if bounds.iter().any(|digest| by.failures.standing(digest) == Standing::Refused) {
                return Err(Entry::Refused);
            }
            found.unrefused = Some((self.pass, tenant));
        }
        if !self.undurable.is_empty() {
            for (digest, most) in undurable(&key, tenant) {
                if self.undurable.get(&digest).is_some_and(|failures| *failures >= most) {
                    self.is_waited_for = true;
                    return Err(Entry::Waits(digest));
                }
            }
        }
        let subject = hashed(&secret, b'S', subject, 0);
        self.take(subject)?;
        Ok((Guess { key, subject, block: None }, secret))
    }

    fn enter_block(&mut self, judged: &Judged, content: &Subject) -> Result<BlockGuess, Entry> {
        let of_domain = self.of_domain(judged.domain).ok_or(Entry::Refused)?;
        let caller = hashed(of_domain, b'C', content, judged.tenant);
        let block = hashed(&judged.secret, b'B', content, 0);
        self.take(block)?;
        self.take(caller).inspect_err(|_| self.release(block))?;
        Ok(BlockGuess { block, caller })
    }
}

/// Numbers of failures that are not durable at which a card stops judging: of a key for a tenant, and of a tenant.
const UNDURABLE_MAX: (usize, usize) = (16, 256);

/// The digests by which failures that are not durable are bounded, each with its bound.
fn undurable(key: &Digest, tenant: u32) -> [(Digest, usize); 2] {
    [(key.by_tenant(tenant), UNDURABLE_MAX.0), (Digest::of_tenant(tenant), UNDURABLE_MAX.1)]
}

/// Why a verification is not judged now.
enum Entry {
    Refused,
    Waits(Digest),
}

/// The kind of value that is verified: failures of one kind do not count for another, even under the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Pin,
    /// A card verification value, or a card security code.
    CardValue,
}

/// A key with its digest and its secret.
struct HashedKey {
    purpose: Purpose,
    key: SecretBytes,
    digest: Digest,
    /// Secret for hashing the key's subjects and blocks.
    secret: Secret,
    /// The pass and the tenant for which the key is known not to be refused.
    unrefused: Option<(u64, u32)>,
}

/// Keys that were hashed lately.
struct HashedKeys {
    digests: HmacKey,
    /// Factors that map the words of a key to its place. They are secret, so that the place tells nothing of the key.
    factors: [Zeroizing<u64>; KEY_BYTES_MAX / 8],
    keys: Vec<Option<HashedKey>>,
}

impl HashedKeys {
    /// Logarithm of the number of places, to base 2.
    const PLACES_LOG: u32 = 6;

    fn new(digests: HmacKey) -> Self {
        let mut state = digests.begin();
        state.update(b"places");
        let made = Zeroizing::new(digests.end(state));
        let factor = |at: usize| made[8 * at..].first_chunk().map_or(1, |word| u64::from_le_bytes(*word) | 1);
        let factors = std::array::from_fn(|at| Zeroizing::new(factor(at)));
        Self { digests, factors, keys: (0..1 << Self::PLACES_LOG).map(|_| None).collect() }
    }

    fn hashed(&mut self, purpose: Purpose, key: &SecretBytes) -> &mut HashedKey {
        let mut bare = Zeroizing::new([0; KEY_BYTES_MAX]);
        for (place, byte) in bare.iter_mut().zip(&key[..]) {
            *place = byte & 0xFE;
        }
        let words = bare.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let sum =
            words.zip(&self.factors).fold(0_u64, |sum, (word, by)| sum.wrapping_add(word.wrapping_mul(**by)));
        let place = &mut self.keys[(sum >> (u64::BITS - Self::PLACES_LOG)) as usize];
        if place.as_ref().is_some_and(|last| last.purpose != purpose || !last.key.ct_eq(key)) {
            *place = None;
        }
        place.get_or_insert_with(|| HashedKey::new(&self.digests, purpose, key, &bare))
    }

    /// Wipes all keys.
    fn forget(&mut self) {
        self.keys.fill_with(|| None);
    }
}

impl HashedKey {
    fn new(digests: &HmacKey, purpose: Purpose, key: &SecretBytes, bare: &[u8; KEY_BYTES_MAX]) -> Self {
        // A key longer than any TDES key is of AES.
        let length = if key.len() > TDES_BYTES_MAX { KEY_BYTES_MAX } else { TDES_BYTES_MAX };
        let mut state = digests.begin();
        state.update(match purpose {
            Purpose::Pin => b"key",
            Purpose::CardValue => b"cvv",
        });
        state.update(&bare[..length]);
        let made = Zeroizing::new(digests.end(state));
        let half = |at: usize| std::array::from_fn(|of| made[at + of]);
        let (digest, secret) = (Digest(half(0)), Zeroizing::new(half(16)));
        Self { purpose, key: key.clone(), digest, secret, unrefused: None }
    }
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
pub(crate) const SUBJECT_BYTES: usize = 17;
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

/// The subject of a card verification value: the digits of a PAN, of which there are at most 19.
pub(crate) fn of_card(digits: &[u8]) -> Subject {
    let mut packed = [0xFF; 10];
    for (at, digit) in digits.iter().take(2 * packed.len()).enumerate() {
        let (place, rest) = (&mut packed[at / 2], digit & 0x0F);
        *place = if at % 2 == 0 { rest << 4 | 0x0F } else { *place & 0xF0 | rest };
    }
    subject(b'D', &packed)
}

/// The content of a card verification value: the 16 bytes that are authenticated. Their digits could be split into
/// other PANs, which take in first digits of the expiration date.
pub(crate) fn of_text(text: &[u8; 16]) -> Subject {
    subject(b'T', text)
}

/// The content of a block that is bound to a PAN: these digits of it.
pub(crate) fn of_bound_pan(digits: &[u8; 8]) -> Subject {
    subject(b'A', digits)
}

/// The content of a block that is bound to no PAN: the clear block, which is the same under every key.
pub(crate) fn of_clear_block(block: &[u8; 8]) -> Subject {
    subject(b'C', block)
}

fn subject(kind: u8, what: &[u8]) -> Subject {
    let mut subject = [0; SUBJECT_BYTES];
    subject[0] = kind;
    subject[1..=what.len()].copy_from_slice(what);
    subject
}

/// Longest key in bytes under which a value, or a block with a reference, is verified: a base key of AES.
const KEY_BYTES_MAX: usize = 32;
/// Longest key of TDES in bytes.
const TDES_BYTES_MAX: usize = 24;

/// A verification that is judged; `judged` is `None` if the role has none counted.
pub(crate) struct AtWork<'p> {
    counting: &'p RefCell<Counting>,
    count: &'p Cell<Option<Count>>,
    judged: Option<Judged>,
}

/// The guess that a verification is counted as, and the secret for hashing its block.
struct Judged {
    guess: Guess,
    secret: Secret,
    domain: u16,
    tenant: u32,
}

/// The verifier of a request: its tenant and domain, and the place in which its count is noted.
#[derive(Clone, Copy)]
pub(crate) struct Verifier<'p> {
    pub(crate) counting: &'p RefCell<Counting>,
    pub(crate) count: &'p Cell<Option<Count>>,
    /// Whether the role has verifications counted.
    pub(crate) is_counted: bool,
    pub(crate) domain: u16,
    pub(crate) tenant: u32,
}

/// Begins a verification under a key, of a subject, before the block is clear. The verdict is given to the [`AtWork`]
/// that is returned.
///
/// # Errors
/// 8/90 where failures are too many. If an earlier verification of the subject is at work, the request is not answered,
/// and comes again.
pub(crate) fn begin<'p>(
    verifier: Verifier<'p>,
    purpose: Purpose,
    key: &SecretBytes,
    subject: &Subject,
) -> Result<AtWork<'p>, Refusal> {
    let Verifier { counting, count, is_counted, domain, tenant } = verifier;
    if !is_counted {
        return Ok(AtWork { counting, count, judged: None });
    }
    let entered = counting.borrow_mut().enter(purpose, key, subject, tenant);
    let (guess, secret) = entered.map_err(|entry| refusal(count, entry))?;
    let judged = Judged { guess, secret, domain, tenant };
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
    /// Also counts the verification under its block.
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
        // The guess stays at work until its failure is durable.
        if let Some(judged) = self.judged.take() {
            self.counting.borrow_mut().failed(&judged.guess, judged.tenant);
            self.count.set(Some(Count::Failed(judged.guess)));
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if let Some(judged) = &self.judged {
            self.counting.borrow_mut().leave(&judged.guess);
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Failures for Nothing {
        fn standing(&self, _: &Digest) -> Standing {
            Standing::Clean
        }
    }

    /// Each of these is a key in the clear.
    #[test]
    fn no_key_that_was_hashed_is_left_where_keys_are_forgotten() {
        let engine = Engine::new(engine::Options::default()).unwrap();
        let mut counting = Counting::default();
        counting.begin(&engine, &CountingKey([5; 32]), Box::new(Nothing));
        let held = |counting: &Counting| counting.by.as_ref().unwrap().keys.keys.iter().flatten().count();
        for forget in [Counting::forget_domains, Counting::forget_keys] {
            let entered = [16_u8, 24, 32].map(|length| {
                let key = SecretBytes::from_slice(&vec![length; usize::from(length)]);
                counting.enter(Purpose::Pin, &key, &of_pan(&[1; 11]), 0).ok().map(|(guess, _)| guess.key)
            });
            assert!(entered.iter().all(Option::is_some) && entered[0] != entered[1] && held(&counting) > 0);
            forget(&mut counting);
            assert_eq!(held(&counting), 0);
            counting.at_work.clear();
        }
    }
}
