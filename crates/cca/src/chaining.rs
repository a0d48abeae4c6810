//! Chaining vectors of MACs: the intermediate value of a text in segments, sealed so that only a card of the domain can
//! continue from it.
//!
//! The result of FIRST and MIDDLE is the MAC of the text so far: in the clear, it would let a key that may only verify make
//! MACs. The 18 bytes of CCA's chaining vector hold 8 bytes of value and a tag, with no room for a nonce, so they are sealed
//! deterministically, in the manner of SIV (RFC 5297):
//!
//! ```text
//! tag    (10) = HMAC-SHA-256(K, 1 | bound | value), its first bytes
//! sealed  (8) = value xor HMAC-SHA-256(K, 2 | bound | tag), its first bytes
//! bound       = verb (2) | method (1) | length of the MAC key (1) | the MAC key
//! K           = HMAC-SHA-256(master key, 00000001 | label | 00 | domain (2) | 00000100): SP 800-108, counter mode
//! ```
//!
//! A vector of another verb, method, key or domain, or a changed one, opens with a probability of 2^-80 under each of up
//! to three keys; all failures have one code. Equal vectors reveal that two texts have the same value, and nothing more. No
//! card keeps state: the same vector may be continued twice, as a text may be.
//!
//! K follows the master key of the DES register, so that the segments of a text may go to any card of the domain. A
//! vector is sealed under the current one and opens under that, the next and the old one, as tokens do.

use engine::{Engine, HashAlgorithm, HmacItem, HmacKey};
use subtle::ConstantTimeEq;
use wire::control::Register;
use wire::verb::{MacMethod, Verb};
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

use crate::registers::{Age, Domain};

/// Length of a chaining vector.
pub(crate) const CHAINING_BYTES: usize = VALUE_BYTES + TAG_BYTES;
/// Length of what is sealed.
const VALUE_BYTES: usize = 8;
const TAG_BYTES: usize = 10;
/// Longest key that makes MACs.
const KEY_BYTES_MAX: usize = 24;
const LABEL: &[u8] = b"cryptand chaining vector of a MAC";
/// Bits of K.
const KEY_BITS: u32 = 256;

/// What the chaining vectors of one domain are sealed under: one key for each of its master keys.
pub(crate) struct ChainingKeys {
    /// The first one seals.
    keys: Vec<HmacKey>,
}

impl ChainingKeys {
    /// The keys of a domain of this number.
    ///
    /// # Errors
    /// 12/764 where its DES register is empty.
    pub(crate) fn of(engine: &Engine, domain: &Domain, number: u16) -> Result<Self, Codes> {
        let mut keys = Vec::with_capacity(3);
        for age in [Age::Current, Age::Next, Age::Old] {
            if let Ok(master) = domain.of_age(Register::Sym, age) {
                keys.push(derived(engine, &master.key, number)?);
            }
        }
        if keys.is_empty() { Err(code::MASTER_KEY_NOT_LOADED) } else { Ok(Self { keys }) }
    }
}

fn derived(engine: &Engine, master: &[u8], domain: u16) -> Result<HmacKey, Codes> {
    let data =
        [&1u32.to_be_bytes()[..], LABEL, &[0], &domain.to_be_bytes(), &KEY_BITS.to_be_bytes()].concat();
    let master = hmac_key(engine, master)?;
    let mut key = hmac(engine, &master, &data);
    let prepared = hmac_key(engine, &key[..KEY_BITS as usize / 8]);
    key.zeroize();
    prepared
}

fn hmac_key(engine: &Engine, key: &[u8]) -> Result<HmacKey, Codes> {
    engine.hmac_key(HashAlgorithm::Sha256, key).map_err(|_| code::SELF_CHECK)
}

fn hmac(engine: &Engine, key: &HmacKey, data: &[u8]) -> [u8; 64] {
    let mut items = [HmacItem::new(key, data)];
    engine.hmac_batch(&mut items);
    items[0].mac
}

/// Seals and opens the chaining vectors of one request; wiped on drop.
pub(crate) struct Sealer {
    keys: ChainingKeys,
    bound: Zeroizing<[u8; BOUND_BYTES]>,
}

/// Verb, method, key length and key; a byte before them, a value or a tag after them.
const BOUND_BYTES: usize = 4 + KEY_BYTES_MAX;
const INPUT_BYTES: usize = 1 + BOUND_BYTES + TAG_BYTES;

impl Sealer {
    /// For the vectors of this verb, method and MAC key, of 24 bytes at the most.
    pub(crate) fn new(keys: ChainingKeys, verb: Verb, method: MacMethod, key: &[u8]) -> Self {
        let mut bound = Zeroizing::new([0; BOUND_BYTES]);
        bound[..2].copy_from_slice(&(verb as u16).to_be_bytes());
        bound[2] = method as u8;
        bound[3] = key.len() as u8;
        bound[4..4 + key.len()].copy_from_slice(key);
        Self { keys, bound }
    }

    /// The chaining vector of a value.
    pub(crate) fn seal(&self, engine: &Engine, value: &[u8; VALUE_BYTES]) -> [u8; CHAINING_BYTES] {
        let key = &self.keys.keys[0];
        let tag = self.tag(engine, key, value);
        let mut vector = [0; CHAINING_BYTES];
        vector[..VALUE_BYTES].copy_from_slice(&self.masked(engine, key, value, &tag));
        vector[VALUE_BYTES..].copy_from_slice(&tag);
        vector
    }

    /// The value of a chaining vector.
    ///
    /// # Errors
    /// 8/2036, whatever is wrong with it.
    pub(crate) fn open(
        &self,
        engine: &Engine,
        vector: &[u8; CHAINING_BYTES],
    ) -> Result<[u8; VALUE_BYTES], Codes> {
        let (mut sealed, mut tag) = ([0; VALUE_BYTES], [0; TAG_BYTES]);
        sealed.copy_from_slice(&vector[..VALUE_BYTES]);
        tag.copy_from_slice(&vector[VALUE_BYTES..]);
        for key in &self.keys.keys {
            let mut value = self.masked(engine, key, &sealed, &tag);
            if bool::from(self.tag(engine, key, &value).ct_eq(&tag)) {
                return Ok(value);
            }
            value.zeroize();
        }
        Err(code::CHAINING_VECTOR)
    }

    fn tag(&self, engine: &Engine, key: &HmacKey, value: &[u8; VALUE_BYTES]) -> [u8; TAG_BYTES] {
        self.first(engine, key, 1, value)
    }

    fn masked(
        &self,
        engine: &Engine,
        key: &HmacKey,
        value: &[u8; VALUE_BYTES],
        tag: &[u8; TAG_BYTES],
    ) -> [u8; VALUE_BYTES] {
        let mut masked: [u8; VALUE_BYTES] = self.first(engine, key, 2, tag);
        masked.iter_mut().zip(value).for_each(|(byte, other)| *byte ^= other);
        masked
    }

    /// The first bytes of the HMAC of what is bound, between a purpose and these bytes.
    fn first<const N: usize>(&self, engine: &Engine, key: &HmacKey, purpose: u8, bytes: &[u8]) -> [u8; N] {
        let mut input = Zeroizing::new([0; INPUT_BYTES]);
        input[0] = purpose;
        input[1..=BOUND_BYTES].copy_from_slice(&self.bound[..]);
        input[1 + BOUND_BYTES..][..bytes.len()].copy_from_slice(bytes);
        let mut whole = hmac(engine, key, &input[..1 + BOUND_BYTES + bytes.len()]);
        let mut first = [0; N];
        first.copy_from_slice(&whole[..N]);
        whole.zeroize();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;
    use proptest::prelude::*;

    const METHODS: [MacMethod; 5] =
        [MacMethod::X99, MacMethod::X919, MacMethod::Tdes, MacMethod::Emv, MacMethod::EmvDouble];

    fn sealer(engine: &Engine, masters: &[u8], domain: u16, verb: Verb, at: usize, key: &[u8]) -> Sealer {
        let keys = masters.iter().map(|byte| derived(engine, &[*byte; 24], domain).unwrap()).collect();
        Sealer::new(ChainingKeys { keys }, verb, METHODS[at], key)
    }

    #[test]
    fn it_is_what_the_head_of_this_file_says() {
        let engine = Engine::new(Options::default()).unwrap();
        let (key, value) = ([0xA5; 16], *b"8 bytes.");
        let sealer = sealer(&engine, &[7], 3, Verb::MacVerify, 1, &key);
        let vector = sealer.seal(&engine, &value);
        let theirs = |key: &[u8], data: &[u8]| {
            let key = openssl::pkey::PKey::hmac(key).unwrap();
            let mut signer =
                openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).unwrap();
            signer.sign_oneshot_to_vec(data).unwrap()
        };
        let input = [&[0, 0, 0, 1][..], LABEL, &[0, 0, 3, 0, 0, 1, 0]].concat();
        let derived = theirs(&[7; 24], &input);
        let verb = (Verb::MacVerify as u16).to_be_bytes();
        let bound = [&verb[..], &[MacMethod::X919 as u8, 16], &key, &[0; 8]].concat();
        let tag = theirs(&derived, &[&[1][..], &bound, &value].concat());
        let mask = theirs(&derived, &[&[2][..], &bound, &tag[..10]].concat());
        assert_eq!(vector[8..], tag[..10]);
        assert!(
            vector[..8].iter().zip(&value).zip(&mask).all(|((sealed, value), mask)| sealed ^ value == *mask)
        );
    }

    #[test]
    fn a_vector_opens_under_every_master_key_of_the_register() {
        let engine = Engine::new(Options::default()).unwrap();
        let of = |masters: &[u8]| sealer(&engine, masters, 0, Verb::MacGenerate, 0, &[1; 8]);
        let vector = of(&[1, 2]).seal(&engine, &[9; 8]);
        assert_eq!(vector, of(&[1]).seal(&engine, &[9; 8]));
        for masters in [&[1][..], &[2, 1], &[3, 2, 1]] {
            assert_eq!(of(masters).open(&engine, &vector), Ok([9; 8]));
        }
        assert_eq!(of(&[2, 3]).open(&engine, &vector), Err(code::CHAINING_VECTOR));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_comes_back_where_everything_is_as_it_was(
            value: [u8; 8],
            key: [u8; 16],
            at in 0..METHODS.len(),
            byte in 0..CHAINING_BYTES,
            flip in 1u8..,
        ) {
            let engine = Engine::new(Options::default()).unwrap();
            let same = sealer(&engine, &[1], 0, Verb::MacGenerate, at, &key);
            let vector = same.seal(&engine, &value);
            prop_assert_eq!(same.open(&engine, &vector), Ok(value));
            let mut changed = vector;
            changed[byte] ^= flip;
            let mut other_key = key;
            other_key[byte % 16] ^= flip;
            let refused = Err(code::CHAINING_VECTOR);
            prop_assert_eq!(same.open(&engine, &changed), refused);
            let others = [
                sealer(&engine, &[2], 0, Verb::MacGenerate, at, &key),
                sealer(&engine, &[1], 1, Verb::MacGenerate, at, &key),
                sealer(&engine, &[1], 0, Verb::MacVerify, at, &key),
                sealer(&engine, &[1], 0, Verb::MacGenerate, (at + 1) % METHODS.len(), &key),
                sealer(&engine, &[1], 0, Verb::MacGenerate, at, &key[..8]),
                sealer(&engine, &[1], 0, Verb::MacGenerate, at, &other_key),
            ];
            for other in &others {
                prop_assert_eq!(other.open(&engine, &vector), refused);
            }
        }
    }
}
