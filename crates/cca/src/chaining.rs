//! Chaining vectors of MACs and HMACs: the intermediate value of a text in segments, sealed so that only a card of the
//! domain can continue from it.
//!
//! The result of FIRST and MIDDLE is the MAC of the text so far: in the clear, it would let a key that may only verify
//! make MACs. The 18 bytes of CCA's chaining vector hold 8 bytes of value and a tag, with no room for a nonce, so they
//! are sealed deterministically, in the manner of SIV (RFC 5297):
//!
//! ```text
//! tag    (10) = HMAC-SHA-256(K, 1 | bound | value), its first bytes
//! sealed  (8) = value xor HMAC-SHA-256(K, 2 | bound | tag), its first bytes
//! bound       = verb (2) | method (1) | length of the MAC key (1) | the MAC key
//! K           = HMAC-SHA-256(master key, 00000001 | label | 00 | domain (2) | 00000100): SP 800-108, counter mode
//! ```
//! The 128 bytes of an HMAC's vector are sealed alike: a value of 72 bytes, which is the chaining value of the hash and
//! the length of the text so far, masked by three HMACs with the numbers 2 to 4, a tag of 32 bytes, and zeros. Instead
//! of its key, which may be longer, SHA-256 of it is bound.
//!
//! The vectors of a CMAC, whose value is 16 bytes, are sealed alike. So are those of a translation of texts: the
//! chaining values of both its ciphers, 16 bytes each, with SHA-256 of both keys bound. The vector of a translation by
//! CUSP would lay open the text of a short block.
//!
//! A vector of another verb, method, key or domain, or a changed one, opens with a probability of 2^-80 under each of
//! up to three keys; all failures have one code. Equal vectors reveal that two texts have the same value, and nothing
//! more. No card keeps state: the same vector may be continued twice, as a text may be.
//!
//! K follows the master key of the register that the keys of MACs are under, DES or AES, so that the segments of a text
//! may go to any card of the domain. A vector is sealed under the current one and opens under that, the next and the
//! old one, as tokens do.

use crate::ground::Age;
use crate::registers::Domain;
use engine::{Engine, HASH_STATE_BYTES, HashAlgorithm, HmacItem, HmacKey};
use subtle::ConstantTimeEq;
use wire::control::Register;
use wire::verb::{HmacMethod, MacMethod, Verb};
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

/// Length of the chaining vector of a MAC.
pub(crate) const CHAINING_BYTES: usize = VALUE_BYTES + TAG_BYTES;
/// Length of the value that is sealed of a MAC.
const VALUE_BYTES: usize = 8;
const TAG_BYTES: usize = 10;
/// Longest key that makes MACs of DES.
const KEY_BYTES_MAX: usize = 24;
/// Length of the chaining vector of an HMAC.
pub(crate) const HMAC_CHAINING_BYTES: usize = 128;
/// Length of the value that is sealed of an HMAC: a chaining value, and the length of a text.
const HMAC_VALUE_BYTES: usize = WORDS_BYTES + LENGTH_BYTES;
const WORDS_BYTES: usize = 64;
const LENGTH_BYTES: usize = 8;
/// Length of an HMAC-SHA-256: the longest tag, and the piece of a value that one HMAC masks.
const DERIVED_BYTES: usize = 32;
const LABEL: &[u8] = b"cryptand chaining vector of a MAC";
const LABEL_HMAC: &[u8] = b"cryptand chaining vector of an HMAC";
const LABEL_CMAC: &[u8] = b"cryptand chaining vector of a CMAC";
const LABEL_TRANSLATION: &[u8] = b"cryptand chaining vector of a translation";
/// Bits of K.
const KEY_BITS: u32 = 256;

/// The kind of computation that a chaining vector continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chained {
    /// A MAC under a DES key.
    Mac,
    /// An HMAC.
    Hmac,
    /// A CMAC.
    Cmac,
    /// A translation of a text that was under a key of this register.
    Translation(Register),
}

/// The keys that seal the chaining vectors of one domain: one key for each of its master keys.
pub(crate) struct ChainingKeys {
    /// All keys open; the first one seals.
    keys: Vec<HmacKey>,
}

impl ChainingKeys {
    /// The keys of a domain of this number.
    ///
    /// # Errors
    /// 12/764 where the register of such keys is empty.
    pub(crate) fn of(engine: &Engine, domain: &Domain, number: u16, chained: Chained) -> Result<Self, Codes> {
        let (register, label) = match chained {
            Chained::Mac => (Register::Sym, LABEL),
            Chained::Hmac => (Register::Aes, LABEL_HMAC),
            Chained::Cmac => (Register::Aes, LABEL_CMAC),
            Chained::Translation(register) => (register, LABEL_TRANSLATION),
        };
        let mut keys = Vec::with_capacity(3);
        for age in [Age::Current, Age::Next, Age::Old] {
            if let Ok(master) = domain.of_age(register, age) {
                keys.push(derived(engine, &master.key, label, number)?);
            }
        }
        if keys.is_empty() { Err(code::MASTER_KEY_NOT_LOADED) } else { Ok(Self { keys }) }
    }
}

fn derived(engine: &Engine, master: &[u8], label: &[u8], domain: u16) -> Result<HmacKey, Codes> {
    let data =
        [&1u32.to_be_bytes()[..], label, &[0], &domain.to_be_bytes(), &KEY_BITS.to_be_bytes()].concat();
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
    /// What the vectors are bound to: verb, method, length of the key, and the key.
    bound: Zeroizing<Vec<u8>>,
}

impl Sealer {
    /// For the vectors of this verb, method and MAC key, of 24 bytes at the most.
    pub(crate) fn of_mac(keys: ChainingKeys, verb: Verb, method: MacMethod, key: &[u8]) -> Self {
        let mut padded = Zeroizing::new([0; KEY_BYTES_MAX]);
        padded[..key.len()].copy_from_slice(key);
        Self::new(keys, verb, method as u8, key.len() as u8, &padded[..])
    }

    /// For the vectors of this verb, hash and HMAC key.
    pub(crate) fn of_hmac(keys: ChainingKeys, verb: Verb, method: HmacMethod, key: &[u8]) -> Self {
        let hashed = Zeroizing::new(engine::sha256(key));
        Self::new(keys, verb, method as u8, hashed.len() as u8, &hashed[..])
    }

    /// For the vectors of this verb and AES key.
    pub(crate) fn of_cmac(keys: ChainingKeys, verb: Verb, key: &[u8]) -> Self {
        let hashed = Zeroizing::new(engine::sha256(key));
        Self::new(keys, verb, 0, hashed.len() as u8, &hashed[..])
    }

    /// For the vectors of this verb: a text that is translated from one key to another, in the methods with these
    /// numbers.
    pub(crate) fn of_translation(
        keys: ChainingKeys,
        verb: Verb,
        methods: [u8; 2],
        from: &[u8],
        to: &[u8],
    ) -> Self {
        let mut hashed = Zeroizing::new([0; 1 + 2 * DERIVED_BYTES]);
        hashed[0] = methods[1];
        hashed[1..=DERIVED_BYTES].copy_from_slice(&engine::sha256(from));
        hashed[1 + DERIVED_BYTES..].copy_from_slice(&engine::sha256(to));
        Self::new(keys, verb, methods[0], hashed.len() as u8, &hashed[..])
    }

    fn new(keys: ChainingKeys, verb: Verb, method: u8, key_bytes: u8, key: &[u8]) -> Self {
        let [high, low] = (verb as u16).to_be_bytes();
        let mut bound = Zeroizing::new(Vec::with_capacity(4 + key.len()));
        bound.extend_from_slice(&[high, low, method, key_bytes]);
        bound.extend_from_slice(key);
        Self { keys, bound }
    }

    /// The chaining vector of a MAC's value.
    pub(crate) fn seal(&self, engine: &Engine, value: &[u8; VALUE_BYTES]) -> [u8; CHAINING_BYTES] {
        self.sealed(engine, value)
    }

    /// The value of a MAC's chaining vector.
    ///
    /// # Errors
    /// 8/2036, whatever is wrong with it.
    pub(crate) fn open(
        &self,
        engine: &Engine,
        vector: &[u8; CHAINING_BYTES],
    ) -> Result<[u8; VALUE_BYTES], Codes> {
        self.opened(engine, vector)
    }

    /// The chaining vector of a hash's state.
    pub(crate) fn seal_state(
        &self,
        engine: &Engine,
        state: &[u8; HASH_STATE_BYTES],
    ) -> [u8; HMAC_CHAINING_BYTES] {
        let mut value = Zeroizing::new([0; HMAC_VALUE_BYTES]);
        value[..WORDS_BYTES].copy_from_slice(&state[..WORDS_BYTES]);
        value[WORDS_BYTES..].copy_from_slice(&state[HASH_STATE_BYTES - LENGTH_BYTES..]);
        let mut vector = [0; HMAC_CHAINING_BYTES];
        let sealed: [u8; HMAC_VALUE_BYTES + DERIVED_BYTES] = self.sealed(engine, &value[..]);
        vector[..sealed.len()].copy_from_slice(&sealed);
        vector
    }

    /// The state of a hash from its chaining vector.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    pub(crate) fn open_state(
        &self,
        engine: &Engine,
        vector: &[u8; HMAC_CHAINING_BYTES],
    ) -> Result<[u8; HASH_STATE_BYTES], Codes> {
        let (sealed, rest) = vector.split_at(HMAC_VALUE_BYTES + DERIVED_BYTES);
        if rest.iter().any(|byte| *byte != 0) {
            return Err(code::CHAINING_VECTOR);
        }
        let value: Zeroizing<[u8; HMAC_VALUE_BYTES]> = Zeroizing::new(self.opened(engine, sealed)?);
        let mut state = [0; HASH_STATE_BYTES];
        state[..WORDS_BYTES].copy_from_slice(&value[..WORDS_BYTES]);
        state[HASH_STATE_BYTES - LENGTH_BYTES..].copy_from_slice(&value[WORDS_BYTES..]);
        Ok(state)
    }

    /// The chaining vector of the value of a CMAC or a translation.
    pub(crate) fn seal_long<const V: usize>(
        &self,
        engine: &Engine,
        value: &[u8; V],
    ) -> [u8; HMAC_CHAINING_BYTES] {
        let mut vector = [0; HMAC_CHAINING_BYTES];
        self.seal_into(engine, value, &mut vector[..V + DERIVED_BYTES]);
        vector
    }

    /// The value of such a chaining vector.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    pub(crate) fn open_long<const V: usize>(
        &self,
        engine: &Engine,
        vector: &[u8; HMAC_CHAINING_BYTES],
    ) -> Result<[u8; V], Codes> {
        let (sealed, rest) = vector.split_at(V + DERIVED_BYTES);
        if rest.iter().any(|byte| *byte != 0) {
            return Err(code::CHAINING_VECTOR);
        }
        self.opened(engine, sealed)
    }

    /// A value and its tag, of `N` bytes together.
    fn sealed<const N: usize>(&self, engine: &Engine, value: &[u8]) -> [u8; N] {
        let mut vector = [0; N];
        self.seal_into(engine, value, &mut vector);
        vector
    }

    /// Seals a value and its tag into `vector`; the tag has what room the value leaves.
    fn seal_into(&self, engine: &Engine, value: &[u8], vector: &mut [u8]) {
        let key = &self.keys.keys[0];
        let mut tag = self.derive(engine, key, 1, value);
        let (masked, shown) = vector.split_at_mut(value.len());
        shown.copy_from_slice(&tag[..shown.len()]);
        tag.zeroize();
        masked.copy_from_slice(value);
        self.mask(engine, key, masked, shown);
    }

    fn opened<const V: usize>(&self, engine: &Engine, vector: &[u8]) -> Result<[u8; V], Codes> {
        let (sealed, tag) = vector.split_at(V);
        for key in &self.keys.keys {
            let mut value = [0; V];
            value.copy_from_slice(sealed);
            self.mask(engine, key, &mut value, tag);
            let mut own = self.derive(engine, key, 1, &value);
            let is_own = bool::from(own[..tag.len()].ct_eq(tag));
            own.zeroize();
            if is_own {
                return Ok(value);
            }
            value.zeroize();
        }
        Err(code::CHAINING_VECTOR)
    }

    /// Masks a value, or takes the mask off again.
    fn mask(&self, engine: &Engine, key: &HmacKey, value: &mut [u8], tag: &[u8]) {
        for (number, piece) in (2..).zip(value.chunks_mut(DERIVED_BYTES)) {
            let mut mask = self.derive(engine, key, number, tag);
            piece.iter_mut().zip(&mask).for_each(|(byte, other)| *byte ^= other);
            mask.zeroize();
        }
    }

    /// The HMAC of what is bound, between a number and these bytes.
    fn derive(&self, engine: &Engine, key: &HmacKey, number: u8, bytes: &[u8]) -> [u8; DERIVED_BYTES] {
        let mut input = Zeroizing::new(Vec::with_capacity(1 + self.bound.len() + bytes.len()));
        input.push(number);
        input.extend_from_slice(&self.bound);
        input.extend_from_slice(bytes);
        let mut whole = hmac(engine, key, &input);
        let mut first = [0; DERIVED_BYTES];
        first.copy_from_slice(&whole[..DERIVED_BYTES]);
        whole.zeroize();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;
    use proptest::prelude::*;

    const METHODS: [MacMethod; 6] = [
        MacMethod::X99,
        MacMethod::X919,
        MacMethod::Tdes,
        MacMethod::Emv,
        MacMethod::EmvDouble,
        MacMethod::Cmac,
    ];

    fn sealer(engine: &Engine, masters: &[u8], domain: u16, verb: Verb, at: usize, key: &[u8]) -> Sealer {
        let keys = masters.iter().map(|byte| derived(engine, &[*byte; 24], LABEL, domain).unwrap()).collect();
        Sealer::of_mac(ChainingKeys { keys }, verb, METHODS[at], key)
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
