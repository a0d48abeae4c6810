//! HMAC (RFC 2104, FIPS 198-1) with any hash, under prepared keys, for many independent requests in one call.

use crate::algorithm::HashAlgorithm;
use crate::error::HashError;
use crate::low::cpu::Cpu;
use crate::low::sha::{SHA_LANES_MAX, Sha512Lanes, ShaFamily, ShaLanes};
use crate::low::wipe_bytes;
use crate::mid::hash::lanes::{self, LaneJob, LaneJobs, Start};
use crate::mid::hash::{HashState, digest};
use std::fmt;

/// The longest block of any supported hash, in bytes.
const BLOCK_BYTES_MAX: usize = 144;

/// An HMAC key with both paddings already hashed; wiped when dropped.
#[derive(Clone)]
pub struct HmacKey {
    inner: HashState,
    outer: HashState,
}

impl HmacKey {
    /// Prepares a key of any length; a key longer than the block is hashed first.
    pub(crate) fn new(algorithm: HashAlgorithm, key: &[u8]) -> HmacKey {
        let block_bytes = algorithm.block_bytes();
        let mut block = [0; BLOCK_BYTES_MAX];
        if key.len() > block_bytes {
            let mut hashed = digest(algorithm, &[key]);
            block[..hashed.len()].copy_from_slice(&hashed);
            wipe_bytes(&mut hashed);
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let block = &mut block[..block_bytes];
        let mut inner = HashState::new(algorithm);
        let mut outer = HashState::new(algorithm);
        block.iter_mut().for_each(|byte| *byte ^= 0x36);
        inner.update(block);
        block.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
        outer.update(block);
        wipe_bytes(block);
        HmacKey { inner, outer }
    }

    /// The hash function for which the key was prepared.
    pub fn algorithm(&self) -> HashAlgorithm {
        self.inner.algorithm()
    }

    /// A hash state that takes the text in segments and may be exported between them. [`HmacKey::end`] then computes
    /// the MAC.
    pub fn begin(&self) -> HashState {
        self.inner.clone()
    }

    /// The MAC of a text given in parts: the bytes of the digest length, then zeros.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 64] {
        let mut inner = self.begin();
        for part in parts {
            inner.update(part);
        }
        self.end_in_place(&mut inner)
    }

    /// The MAC of the text that a state took: the bytes of the digest length, then zeros. Meaningless unless this key
    /// began the state.
    pub fn end(&self, mut inner: HashState) -> [u8; 64] {
        self.end_in_place(&mut inner)
    }

    fn end_in_place(&self, inner: &mut HashState) -> [u8; 64] {
        let mut hashed = inner.finish_in_place();
        let mut outer = self.outer.clone();
        outer.update(&hashed[..self.algorithm().digest_bytes()]);
        wipe_bytes(&mut hashed);
        outer.finish_in_place()
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HmacKey({})", self.algorithm())
    }
}

/// One text of a batch, and its MAC.
#[derive(Debug)]
pub struct HmacItem<'a> {
    /// The key of this request; the keys of a batch may differ.
    pub key: &'a HmacKey,
    /// The whole text to authenticate.
    pub data: &'a [u8],
    /// The MAC: the bytes of the digest length, then zeros.
    pub mac: [u8; 64],
    /// Always `Ok` after the batch: weak hashes are refused when a key is prepared.
    pub result: Result<(), HashError>,
}

impl<'a> HmacItem<'a> {
    /// A request not yet run: the MAC is zeros.
    pub fn new(key: &'a HmacKey, data: &'a [u8]) -> HmacItem<'a> {
        HmacItem { key, data, mac: [0; 64], result: Ok(()) }
    }
}

/// Hashes that can share lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// SHA-1, or SHA-224 and SHA-256: words of 32 bits.
    Narrow(ShaFamily),
    /// SHA-384 and SHA-512: words of 64 bits.
    Wide,
}

const FAMILIES: [Family; 3] =
    [Family::Narrow(ShaFamily::Sha1), Family::Narrow(ShaFamily::Sha256), Family::Wide];

/// Runs every request; those with SHA-1 and SHA-2 in lanes, if there are enough of one family.
pub(crate) fn batch(cpu: Cpu, items: &mut [HmacItem<'_>]) {
    let is_done = FAMILIES.map(|family| run_in_lanes(cpu, family, items));
    for item in items {
        let family = family_of(item.key);
        if FAMILIES.iter().zip(is_done).any(|(of, is_done)| is_done && Some(*of) == family) {
            continue;
        }
        item.mac = item.key.mac(&[item.data]);
        item.result = Ok(());
    }
}

/// Runs the requests of one family in lanes. Returns false, without a change, if there are too few or there is no
/// kernel.
fn run_in_lanes(cpu: Cpu, family: Family, items: &mut [HmacItem<'_>]) -> bool {
    let of_family = items.iter().filter(|item| family_of(item.key) == Some(family));
    let texts = of_family.take(SHA_LANES_MAX).count();
    let mut queue = Queue { family, items, next: 0 };
    match family {
        Family::Narrow(hash) => {
            ShaLanes::of(cpu, hash, texts).map(|kernel| lanes::run(cpu, kernel, &mut queue)).is_some()
        }
        Family::Wide => {
            Sha512Lanes::of(cpu, texts).map(|kernel| lanes::run(cpu, kernel, &mut queue)).is_some()
        }
    }
}

/// The family whose lanes could run this key's hash.
fn family_of(key: &HmacKey) -> Option<Family> {
    match key.algorithm() {
        HashAlgorithm::Sha1 => Some(Family::Narrow(ShaFamily::Sha1)),
        HashAlgorithm::Sha224 | HashAlgorithm::Sha256 => Some(Family::Narrow(ShaFamily::Sha256)),
        HashAlgorithm::Sha384 | HashAlgorithm::Sha512 => Some(Family::Wide),
        _ => None,
    }
}

/// The requests of one call whose keys belong to one family, in their order.
struct Queue<'q, 'a> {
    family: Family,
    items: &'q mut [HmacItem<'a>],
    next: usize,
}

impl<'a, W> LaneJobs<'a, W> for Queue<'_, 'a> {
    fn next(&mut self) -> Option<LaneJob<'a, W>> {
        let rest = &self.items[self.next..];
        let index = self.next + rest.iter().position(|item| family_of(item.key) == Some(self.family))?;
        self.next = index + 1;
        let HmacItem { key, data: text, .. } = self.items[index];
        let HmacKey { inner, outer } = key;
        let digest_bytes = key.algorithm().digest_bytes();
        Some(LaneJob { index, start: Start::Keyed { inner, outer }, text, digest_bytes })
    }

    fn digest(&mut self, index: usize) -> &mut [u8; 64] {
        let item = &mut self.items[index];
        item.result = Ok(());
        &mut item.mac
    }
}
