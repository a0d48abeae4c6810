//! Clear-key functions in the caller's thread, with the key and the keywords named at each call.
//!
//! The counterparts of ICSF's CSNBSYE, CSNBSYD, CSNBSMG and CSNBOWH: each call passes key, rule array,
//! vectors and texts, and resolves them again. There is no system call, no
//! lock and no allocation, and no state between calls. Keywords are 8 characters, blank-padded,
//! in any order:
//!
//! | function | one of | one of | one of |
//! |---|---|---|---|
//! | encipher, decipher | `AES`, `DES` | `CBC` (default), `ECB`, `CTR` | `INITIAL` (default), `CONTINUE` |
//! | mac | `X9.9-1`, `X9.19OPT`, `CMAC` with `AES` or `DES` | `ONLY` (default), `FIRST`, `MIDDLE`, `LAST` | `MACLEN4`, `MACLEN6`, `MACLEN8`, `MACLEN16` |
//! | hmac | `SHA-1` to `SHA-512`, `SHA3-224` to `SHA3-512`, `MD5` | | |
//! | hash | the same | | |
//!
//! `DES` is single, double or triple by the length of the key. `KEY-CLR` (key bytes) and `KEYIDENT`
//! (a clear token) may be given; they must fit the [`ClearKey`]. `CTR` and `CMAC` are additions of ours.

use crate::Facility;
use crate::error::FacilityError;
use engine::{
    CipherAlgorithm, CipherDirection, CipherError, Engine, HashAlgorithm, HmacItem, KeyError, MacAlgorithm,
    MacItem, Mode,
};
use token::aes::{AesKey, AesToken};
use wire::bounds::{KEYWORD_BYTES, KEYWORDS_MAX};
use wire::code::{self, Codes};

/// The key of one call.
#[derive(Clone, Copy)]
pub enum ClearKey<'a> {
    /// The key itself.
    Bytes(&'a [u8]),
    /// A clear 64-byte AES token, version X'04', which is read at each call.
    Token(&'a [u8]),
}

impl std::fmt::Debug for ClearKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bytes(_) => "Bytes(..)",
            Self::Token(_) => "Token(..)",
        })
    }
}

/// Why a clear-key function refused; the caller's fault, and nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClearError {
    /// The rule array is not whole keywords, or has more than [`KEYWORDS_MAX`].
    KeywordCount {
        /// Length of the rule array in bytes.
        bytes: usize,
    },
    /// The function does not know the keyword at this position.
    Keyword {
        /// Position in the rule array.
        position: usize,
    },
    /// Two keywords exclude each other, one does not fit the key, or one that is needed is missing.
    KeywordCombination,
    /// The algorithm has no key of this length.
    KeyLength {
        /// Length of the key in bytes.
        bytes: usize,
    },
    /// The token is malformed, or holds no clear key.
    Token,
    /// The text's length is not allowed for the mode or segment.
    TextLength {
        /// Length of the text in bytes.
        bytes: usize,
    },
    /// The initialization vector is shorter than a block.
    VectorLength {
        /// Length of the vector in bytes.
        bytes: usize,
    },
    /// The output field is too small.
    OutputLength {
        /// Length of the field in bytes.
        bytes: usize,
        /// Length needed in bytes.
        needed: usize,
    },
    /// A weak algorithm that the settings do not enable.
    Weak,
}

impl ClearError {
    /// The codes of the corresponding verb.
    pub fn codes(self) -> Codes {
        match self {
            Self::KeywordCount { .. } => code::KEYWORD_COUNT,
            Self::Keyword { .. } => code::KEYWORD,
            Self::KeywordCombination => code::KEYWORD_COMBINATION,
            Self::KeyLength { .. } | Self::VectorLength { .. } => code::INVALID_PARAMETER,
            Self::Token => code::TOKEN_INVALID,
            Self::TextLength { .. } => code::TEXT_LENGTH,
            Self::OutputLength { .. } => code::BUFFER_TOO_SMALL,
            Self::Weak => code::WEAK_ALGORITHM,
        }
    }
}

impl std::fmt::Display for ClearError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeywordCount { bytes } => {
                write!(
                    f,
                    "a rule array of {bytes} bytes; it holds up to {KEYWORDS_MAX} keywords of {KEYWORD_BYTES}"
                )
            }
            Self::Keyword { position } => write!(f, "keyword {position} is not known here"),
            Self::KeywordCombination => f.write_str("the keywords do not go together, or one is missing"),
            Self::KeyLength { bytes } => write!(f, "no key of this algorithm has {bytes} bytes"),
            Self::Token => f.write_str("the token is not a valid token with a clear key"),
            Self::TextLength { bytes } => write!(f, "a text of {bytes} bytes, which this mode does not take"),
            Self::VectorLength { bytes } => {
                write!(f, "an initialization vector of {bytes} bytes, shorter than a block")
            }
            Self::OutputLength { bytes, needed } => {
                write!(f, "an output field of {bytes} bytes where {needed} are needed")
            }
            Self::Weak => f.write_str("a weak algorithm that the settings do not enable"),
        }
    }
}

impl std::error::Error for ClearError {}

/// The clear-key functions: an engine, called as programs call.
#[derive(Clone, Copy, Debug)]
pub struct Clear {
    engine: Engine,
}

impl Facility {
    /// The clear-key functions of this home, with weak algorithms as its settings say. This call asks the daemon
    /// once; the functions themselves need no daemon.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection, or [`FacilityError::Engine`].
    pub fn clear(&self) -> Result<Clear, FacilityError> {
        let weak_algorithms = self.status()?.weak_algorithms;
        let options = engine::Options { limit: None, weak_algorithms };
        Ok(Clear::new(Engine::new(options).map_err(FacilityError::Engine)?))
    }
}

impl Clear {
    /// The clear-key functions, computed by this engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Enciphers `text` into `out`, and returns the length written, which is that of the text.
    ///
    /// With `INITIAL` the chaining value begins as `initialization_vector` (one block; ignored
    /// with `ECB`), with `CONTINUE` as `chain`. On return `chain` holds what the next call needs.
    ///
    /// # Errors
    /// [`ClearError`].
    #[inline]
    pub fn encipher(
        &self,
        rule_array: &[u8],
        key: ClearKey<'_>,
        initialization_vector: &[u8],
        chain: &mut [u8; 16],
        text: &[u8],
        out: &mut [u8],
    ) -> Result<usize, ClearError> {
        self.cipher(CipherDirection::Encipher, rule_array, key, initialization_vector, chain, text, out)
    }

    /// Deciphers. See [`Clear::encipher`].
    ///
    /// # Errors
    /// [`ClearError`].
    #[inline]
    pub fn decipher(
        &self,
        rule_array: &[u8],
        key: ClearKey<'_>,
        initialization_vector: &[u8],
        chain: &mut [u8; 16],
        text: &[u8],
        out: &mut [u8],
    ) -> Result<usize, ClearError> {
        self.cipher(CipherDirection::Decipher, rule_array, key, initialization_vector, chain, text, out)
    }

    /// A MAC of `text` into `mac`; the length written is that of the keywords: 4 bytes for the MACs of ANSI and a block
    /// for CMAC if no keyword says otherwise, 0 for `FIRST` and `MIDDLE`.
    ///
    /// `chain` is zeroed by `ONLY` and `FIRST`, and carries the chaining value from segment to
    /// segment. Segments but the last are whole blocks.
    ///
    /// # Errors
    /// [`ClearError`].
    pub fn mac(
        &self,
        rule_array: &[u8],
        key: ClearKey<'_>,
        chain: &mut [u8; 16],
        text: &[u8],
        mac: &mut [u8],
    ) -> Result<usize, ClearError> {
        let rules = Rules::read(rule_array, key, Rules::of_mac)?;
        let mut token = None;
        let key = key.bytes(&mut token)?;
        let (algorithm, default_bytes) = rules.mac_algorithm(key.len())?;
        let is_last = !rules.say(Rules::FIRST | Rules::MIDDLE);
        let bytes = if is_last { rules.mac_bytes().unwrap_or(default_bytes) } else { 0 };
        if bytes > algorithm.block_bytes() {
            return Err(ClearError::KeywordCombination);
        }
        room(mac, bytes)?;
        let key = self.engine.mac_key(algorithm, key).map_err(|error| unprepared(error, key.len()))?;
        let mut item = MacItem::new(&key, text);
        item.last = is_last;
        if rules.say(Rules::MIDDLE | Rules::LAST) {
            item.chain = *chain;
        }
        self.engine.mac_batch(std::slice::from_mut(&mut item));
        item.result.map_err(|_| ClearError::TextLength { bytes: text.len() })?;
        *chain = item.chain;
        mac[..bytes].copy_from_slice(&item.mac[..bytes]);
        Ok(bytes)
    }

    /// The digest of a whole text; returns its length.
    ///
    /// # Errors
    /// [`ClearError`].
    pub fn hash(&self, rule_array: &[u8], text: &[u8], digest: &mut [u8]) -> Result<usize, ClearError> {
        let algorithm = hash_of(rule_array)?;
        room(digest, algorithm.digest_bytes())?;
        let whole = self.engine.hash(algorithm, text).map_err(|_| ClearError::Weak)?;
        digest[..algorithm.digest_bytes()].copy_from_slice(&whole[..algorithm.digest_bytes()]);
        Ok(algorithm.digest_bytes())
    }

    /// The HMAC of a whole text under key bytes of any length; returns its length.
    ///
    /// # Errors
    /// [`ClearError`].
    pub fn hmac(
        &self,
        rule_array: &[u8],
        key: &[u8],
        text: &[u8],
        mac: &mut [u8],
    ) -> Result<usize, ClearError> {
        let algorithm = hash_of(rule_array)?;
        room(mac, algorithm.digest_bytes())?;
        let key = self.engine.hmac_key(algorithm, key).map_err(|error| unprepared(error, key.len()))?;
        let mut item = HmacItem::new(&key, text);
        self.engine.hmac_batch(std::slice::from_mut(&mut item));
        item.result.map_err(|_| ClearError::Weak)?;
        mac[..algorithm.digest_bytes()].copy_from_slice(&item.mac[..algorithm.digest_bytes()]);
        Ok(algorithm.digest_bytes())
    }

    #[allow(clippy::too_many_arguments, reason = "the parameters of the verb")]
    fn cipher(
        &self,
        direction: CipherDirection,
        rule_array: &[u8],
        key: ClearKey<'_>,
        initialization_vector: &[u8],
        chain: &mut [u8; 16],
        text: &[u8],
        out: &mut [u8],
    ) -> Result<usize, ClearError> {
        let rules = Rules::read(rule_array, key, Rules::of_cipher)?;
        let mode = rules.mode();
        room(out, text.len())?;
        let out = &mut out[..text.len()];
        let mut token = None;
        let key = key.bytes(&mut token)?;
        let algorithm = rules.cipher_algorithm(key.len())?;
        let block_bytes = algorithm.block_bytes();
        if mode != Mode::Ctr && !text.len().is_multiple_of(block_bytes) {
            return Err(ClearError::TextLength { bytes: text.len() });
        }
        let mut block = *chain;
        if mode != Mode::Ecb && !rules.say(Rules::CONTINUE) {
            let short = ClearError::VectorLength { bytes: initialization_vector.len() };
            // The length is known to the compiler here: no call for a block.
            match block_bytes {
                16 => block = *initialization_vector.first_chunk().ok_or(short)?,
                _ => block[..8].copy_from_slice(initialization_vector.get(..8).ok_or(short)?),
            }
        }
        if algorithm.is_weak() && !self.engine.weak_algorithms() {
            return Err(ClearError::Weak);
        }
        out.copy_from_slice(text);
        let done = self.engine.cipher(algorithm, mode, direction, key, &mut block[..block_bytes], out);
        done.map_err(|error| match error {
            CipherError::Key(cause) => unprepared(cause, key.len()),
            _ => ClearError::TextLength { bytes: text.len() },
        })?;
        *chain = block;
        Ok(text.len())
    }
}

impl<'a> ClearKey<'a> {
    /// The bytes of the key; those of a token stand in `token`, which wipes them when it is dropped.
    #[inline]
    fn bytes(self, token: &'a mut Option<AesToken>) -> Result<&'a [u8], ClearError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Token(field) => {
                let token = token.insert(AesToken::parse(field).map_err(|_| ClearError::Token)?);
                match token.key() {
                    AesKey::Clear(key) => Ok(&key[..token.key_bytes()]),
                    AesKey::Absent | AesKey::Wrapped { .. } => Err(ClearError::Token),
                }
            }
        }
    }
}

/// The keywords of one call, a bit for each.
#[derive(Clone, Copy)]
struct Rules(u32);

impl Rules {
    const AES: u32 = 1;
    const DES: u32 = 1 << 1;
    const ALGORITHM: u32 = Self::AES | Self::DES;
    const CBC: u32 = 1 << 2;
    const ECB: u32 = 1 << 3;
    const CTR: u32 = 1 << 4;
    const MODE: u32 = Self::CBC | Self::ECB | Self::CTR;
    const INITIAL: u32 = 1 << 5;
    const CONTINUE: u32 = 1 << 6;
    const CHAINING: u32 = Self::INITIAL | Self::CONTINUE;
    const X9_9: u32 = 1 << 7;
    const X9_19: u32 = 1 << 8;
    const CMAC: u32 = 1 << 9;
    const METHOD: u32 = Self::X9_9 | Self::X9_19 | Self::CMAC;
    const ONLY: u32 = 1 << 10;
    const FIRST: u32 = 1 << 11;
    const MIDDLE: u32 = 1 << 12;
    const LAST: u32 = 1 << 13;
    const SEGMENT: u32 = Self::ONLY | Self::FIRST | Self::MIDDLE | Self::LAST;
    const MACLEN4: u32 = 1 << 14;
    const MACLEN6: u32 = 1 << 15;
    const MACLEN8: u32 = 1 << 16;
    const MACLEN16: u32 = 1 << 17;
    const LENGTH: u32 = Self::MACLEN4 | Self::MACLEN6 | Self::MACLEN8 | Self::MACLEN16;

    /// Reads a rule array. `of` gives the bit of a keyword, and the bits of those that it excludes, itself
    /// among them.
    #[inline]
    fn read(
        rule_array: &[u8],
        key: ClearKey<'_>,
        of: impl Fn(u64) -> Option<(u32, u32)>,
    ) -> Result<Self, ClearError> {
        let mut said = 0;
        for (position, keyword) in keywords(rule_array)?.enumerate() {
            match of(keyword) {
                Some((_, group)) if said & group != 0 => return Err(ClearError::KeywordCombination),
                Some((rule, _)) => said |= rule,
                None => key_rule(keyword, position, key)?,
            }
        }
        Ok(Self(said))
    }

    #[inline]
    fn of_cipher(keyword: u64) -> Option<(u32, u32)> {
        Some(match keyword {
            AES => (Self::AES, Self::ALGORITHM),
            DES => (Self::DES, Self::ALGORITHM),
            CBC => (Self::CBC, Self::MODE),
            ECB => (Self::ECB, Self::MODE),
            CTR => (Self::CTR, Self::MODE),
            INITIAL => (Self::INITIAL, Self::CHAINING),
            CONTINUE => (Self::CONTINUE, Self::CHAINING),
            _ => return None,
        })
    }

    fn of_mac(keyword: u64) -> Option<(u32, u32)> {
        Some(match keyword {
            AES => (Self::AES, Self::ALGORITHM),
            DES => (Self::DES, Self::ALGORITHM),
            X9_9 => (Self::X9_9, Self::METHOD),
            X9_19 => (Self::X9_19, Self::METHOD),
            CMAC => (Self::CMAC, Self::METHOD),
            ONLY => (Self::ONLY, Self::SEGMENT),
            FIRST => (Self::FIRST, Self::SEGMENT),
            MIDDLE => (Self::MIDDLE, Self::SEGMENT),
            LAST => (Self::LAST, Self::SEGMENT),
            MACLEN4 => (Self::MACLEN4, Self::LENGTH),
            MACLEN6 => (Self::MACLEN6, Self::LENGTH),
            MACLEN8 => (Self::MACLEN8, Self::LENGTH),
            MACLEN16 => (Self::MACLEN16, Self::LENGTH),
            _ => return None,
        })
    }

    /// Whether the rules hold one of these keywords.
    #[inline]
    fn say(self, any: u32) -> bool {
        self.0 & any != 0
    }

    #[inline]
    fn mode(self) -> Mode {
        match self.0 & Self::MODE {
            Self::ECB => Mode::Ecb,
            Self::CTR => Mode::Ctr,
            _ => Mode::Cbc,
        }
    }

    #[inline]
    fn cipher_algorithm(self, key_bytes: usize) -> Result<CipherAlgorithm, ClearError> {
        Ok(match (self.0 & Self::ALGORITHM, key_bytes) {
            (Self::AES, 16) => CipherAlgorithm::Aes128,
            (Self::AES, 24) => CipherAlgorithm::Aes192,
            (Self::AES, 32) => CipherAlgorithm::Aes256,
            (Self::DES, 8) => CipherAlgorithm::Des,
            (Self::DES, 16) => CipherAlgorithm::Tdes2,
            (Self::DES, 24) => CipherAlgorithm::Tdes3,
            (0, _) => return Err(ClearError::KeywordCombination),
            (_, bytes) => return Err(ClearError::KeyLength { bytes }),
        })
    }

    /// The MAC algorithm, and the length of a MAC if no keyword gives it.
    fn mac_algorithm(self, key_bytes: usize) -> Result<(MacAlgorithm, usize), ClearError> {
        let (algorithm, bytes) = match (self.0 & Self::METHOD, self.0 & Self::ALGORITHM, key_bytes) {
            (Self::X9_9, 0 | Self::DES, _) => (MacAlgorithm::X99, 4),
            (Self::X9_19, 0 | Self::DES, _) => (MacAlgorithm::X919, 4),
            (Self::CMAC, Self::DES, 24) => (MacAlgorithm::CmacTdes3, 8),
            (Self::CMAC, Self::DES, _) => (MacAlgorithm::CmacTdes2, 8),
            (Self::CMAC, Self::AES, 24) => (MacAlgorithm::CmacAes192, 16),
            (Self::CMAC, Self::AES, 32) => (MacAlgorithm::CmacAes256, 16),
            (Self::CMAC, Self::AES, _) => (MacAlgorithm::CmacAes128, 16),
            _ => return Err(ClearError::KeywordCombination),
        };
        if algorithm.key_bytes() == key_bytes {
            Ok((algorithm, bytes))
        } else {
            Err(ClearError::KeyLength { bytes: key_bytes })
        }
    }

    /// The length of a MAC in bytes, if a keyword gives it.
    fn mac_bytes(self) -> Option<usize> {
        match self.0 & Self::LENGTH {
            Self::MACLEN4 => Some(4),
            Self::MACLEN6 => Some(6),
            Self::MACLEN8 => Some(8),
            Self::MACLEN16 => Some(16),
            _ => None,
        }
    }
}

/// The keywords of a rule array, each as one number.
#[inline]
fn keywords(rule_array: &[u8]) -> Result<impl Iterator<Item = u64> + '_, ClearError> {
    let (keywords, rest) = rule_array.as_chunks::<KEYWORD_BYTES>();
    if !rest.is_empty() || keywords.len() > KEYWORDS_MAX {
        return Err(ClearError::KeywordCount { bytes: rule_array.len() });
    }
    Ok(keywords.iter().map(|keyword| u64::from_le_bytes(*keyword)))
}

fn key_rule(keyword: u64, position: usize, key: ClearKey<'_>) -> Result<(), ClearError> {
    match (keyword, key) {
        (KEY_CLR, ClearKey::Bytes(_)) | (KEYIDENT, ClearKey::Token(_)) => Ok(()),
        (KEY_CLR | KEYIDENT, _) => Err(ClearError::KeywordCombination),
        _ => Err(ClearError::Keyword { position }),
    }
}

fn hash_of(rule_array: &[u8]) -> Result<HashAlgorithm, ClearError> {
    let mut found = None;
    for (position, keyword) in keywords(rule_array)?.enumerate() {
        let algorithm = HASHES.iter().find(|(name, _)| *name == keyword);
        let (_, algorithm) = algorithm.ok_or(ClearError::Keyword { position })?;
        if found.replace(*algorithm).is_some() {
            return Err(ClearError::KeywordCombination);
        }
    }
    found.ok_or(ClearError::KeywordCombination)
}

fn room(out: &[u8], needed: usize) -> Result<(), ClearError> {
    if out.len() < needed { Err(ClearError::OutputLength { bytes: out.len(), needed }) } else { Ok(()) }
}

fn unprepared(error: KeyError, key_bytes: usize) -> ClearError {
    match error {
        KeyError::WeakCipher(_) | KeyError::WeakMac(_) | KeyError::WeakHash(_) => ClearError::Weak,
        // All others mean that the algorithm has no key of this length.
        _ => ClearError::KeyLength { bytes: key_bytes },
    }
}

const fn keyword(text: &[u8; KEYWORD_BYTES]) -> u64 {
    u64::from_le_bytes(*text)
}

const AES: u64 = keyword(b"AES     ");
const DES: u64 = keyword(b"DES     ");
const CBC: u64 = keyword(b"CBC     ");
const ECB: u64 = keyword(b"ECB     ");
const CTR: u64 = keyword(b"CTR     ");
const INITIAL: u64 = keyword(b"INITIAL ");
const CONTINUE: u64 = keyword(b"CONTINUE");
const KEY_CLR: u64 = keyword(b"KEY-CLR ");
const KEYIDENT: u64 = keyword(b"KEYIDENT");
const X9_9: u64 = keyword(b"X9.9-1  ");
const X9_19: u64 = keyword(b"X9.19OPT");
const CMAC: u64 = keyword(b"CMAC    ");
const ONLY: u64 = keyword(b"ONLY    ");
const FIRST: u64 = keyword(b"FIRST   ");
const MIDDLE: u64 = keyword(b"MIDDLE  ");
const LAST: u64 = keyword(b"LAST    ");
const MACLEN4: u64 = keyword(b"MACLEN4 ");
const MACLEN6: u64 = keyword(b"MACLEN6 ");
const MACLEN8: u64 = keyword(b"MACLEN8 ");
const MACLEN16: u64 = keyword(b"MACLEN16");
const HASHES: [(u64, HashAlgorithm); 11] = [
    (keyword(b"SHA-1   "), HashAlgorithm::Sha1),
    (keyword(b"SHA-224 "), HashAlgorithm::Sha224),
    (keyword(b"SHA-256 "), HashAlgorithm::Sha256),
    (keyword(b"SHA-384 "), HashAlgorithm::Sha384),
    (keyword(b"SHA-512 "), HashAlgorithm::Sha512),
    (keyword(b"SHA3-224"), HashAlgorithm::Sha3_224),
    (keyword(b"SHA3-256"), HashAlgorithm::Sha3_256),
    (keyword(b"SHA3-384"), HashAlgorithm::Sha3_384),
    (keyword(b"SHA3-512"), HashAlgorithm::Sha3_512),
    (keyword(b"MD5     "), HashAlgorithm::Md5),
    (keyword(b"RPMD-160"), HashAlgorithm::Ripemd160),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clear(weak_algorithms: bool) -> Clear {
        Clear::new(Engine::new(engine::Options { limit: None, weak_algorithms }).unwrap())
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    // SP 800-38A, F.2.1: CBC-AES128.Encrypt, the first two blocks.
    #[test]
    fn aes_cbc_goes_on_from_call_to_call() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let vector: Vec<u8> = (0..16).collect();
        let text = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let expected = hex("7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2");
        let token = AesToken::clear(&key).unwrap().to_bytes();
        for key in [ClearKey::Bytes(&key), ClearKey::Token(&token)] {
            let (mut chain, mut out) = ([0; 16], [0; 32]);
            let clear = clear(false);
            clear.encipher(b"AES     CBC     ", key, &vector, &mut chain, &text[..16], &mut out).unwrap();
            let rules = b"CONTINUEAES     ";
            assert_eq!(clear.encipher(rules, key, &[], &mut chain, &text[16..], &mut out[16..]), Ok(16));
            assert_eq!(out, expected[..]);
            let mut back = [0; 32];
            clear.decipher(b"AES     INITIAL ", key, &vector, &mut chain, &out, &mut back).unwrap();
            assert_eq!(back, text[..]);
        }
    }

    // FIPS 113, appendix: the example of a MAC, and SP 800-38B, D.1 example 2.
    #[test]
    fn macs_come_whole_and_in_segments() {
        let key = hex("0123456789abcdef");
        let text = b"7654321 Now is the time for ";
        let (mut chain, mut mac) = ([0; 16], [0; 16]);
        let clear = clear(true);
        let key = ClearKey::Bytes(&key);
        assert_eq!(clear.mac(b"X9.9-1  ", key, &mut chain, text, &mut mac), Ok(4));
        assert_eq!(mac[..4], hex("f1d30f68"));
        assert_eq!(clear.mac(b"X9.9-1  FIRST   ", key, &mut chain, &text[..16], &mut []), Ok(0));
        assert_eq!(clear.mac(b"X9.9-1  LAST    MACLEN8 ", key, &mut chain, &text[16..], &mut mac), Ok(8));
        assert_eq!(mac[..8], hex("f1d30f6849312ca4"));
        let aes = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let text = hex("6bc1bee22e409f96e93d7e117393172a");
        let rules = b"CMAC    AES     ";
        assert_eq!(clear.mac(rules, ClearKey::Bytes(&aes), &mut chain, &text, &mut mac), Ok(16));
        assert_eq!(mac[..], hex("070a16b46b4d4144f79bdd9dd04a287c"));
    }

    // FIPS 180-4 example "abc"; RFC 4231, test case 2.
    #[test]
    fn hashes_and_hmacs_come_by_name() {
        let (clear, mut out) = (clear(false), [0; 64]);
        assert_eq!(clear.hash(b"SHA-256 ", b"abc", &mut out), Ok(32));
        assert_eq!(out[..32], hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert_eq!(clear.hmac(b"SHA-256 ", b"Jefe", b"what do ya want for nothing?", &mut out), Ok(32));
        assert_eq!(out[..32], hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
        assert_eq!(clear.hash(b"MD5     ", b"abc", &mut out), Err(ClearError::Weak));
        assert_eq!(clear.hash(b"", b"abc", &mut out), Err(ClearError::KeywordCombination));
        let short = clear.hash(b"SHA-512 ", b"abc", &mut out[..63]);
        assert_eq!(short, Err(ClearError::OutputLength { bytes: 63, needed: 64 }));
    }

    #[test]
    fn every_refusal_names_its_cause() {
        let clear = clear(false);
        let (key, des) = ([1; 16], [1; 8]);
        let wrapped = [1; 64];
        let bytes = ClearKey::Bytes(&key);
        let cases: &[(&[u8], ClearKey<'_>, usize, usize, ClearError)] = &[
            (b"AES     ECB", bytes, 16, 16, ClearError::KeywordCount { bytes: 11 }),
            (b"AES     WHAT    ", bytes, 16, 16, ClearError::Keyword { position: 1 }),
            (b"CBC     ", bytes, 16, 16, ClearError::KeywordCombination),
            (b"AES     CBC     ECB     ", bytes, 16, 16, ClearError::KeywordCombination),
            (b"AES     KEYIDENT", bytes, 16, 16, ClearError::KeywordCombination),
            (b"AES     ", ClearKey::Bytes(&des), 16, 16, ClearError::KeyLength { bytes: 8 }),
            (b"AES     ", ClearKey::Token(&wrapped), 16, 16, ClearError::Token),
            (b"AES     ", bytes, 15, 16, ClearError::TextLength { bytes: 15 }),
            (b"AES     ", bytes, 16, 15, ClearError::OutputLength { bytes: 15, needed: 16 }),
            (b"DES     ", ClearKey::Bytes(&des), 16, 16, ClearError::Weak),
        ];
        for (rules, key, text_bytes, out_bytes, expected) in cases {
            let (mut chain, text, mut out) = ([0; 16], [7; 16], [9; 16]);
            let refused = clear.encipher(
                rules,
                *key,
                &[0; 16],
                &mut chain,
                &text[..*text_bytes],
                &mut out[..*out_bytes],
            );
            assert_eq!(refused, Err(*expected));
            assert_eq!((chain, out), ([0; 16], [9; 16]), "{expected}: something was written");
            assert_ne!(expected.codes(), code::OK);
        }
        let short = clear.encipher(b"AES     ", bytes, &[0; 15], &mut [0; 16], &[0; 16], &mut [0; 16]);
        assert_eq!(short, Err(ClearError::VectorLength { bytes: 15 }));
    }

    fn rules(words: &[&[u8; KEYWORD_BYTES]]) -> Vec<u8> {
        words.iter().copied().flatten().copied().collect()
    }

    /// Every order of four keywords.
    fn orders(words: [&[u8; 8]; 4]) -> Vec<Vec<u8>> {
        let mut orders = Vec::new();
        for at in 0..256_usize {
            let places = [at % 4, at / 4 % 4, at / 16 % 4, at / 64];
            if (0..4).all(|place| places.contains(&place)) {
                orders.push(places.iter().flat_map(|place| *words[*place]).collect());
            }
        }
        assert_eq!(orders.len(), 24);
        orders
    }

    #[test]
    fn keywords_stand_in_any_order() {
        let (clear, key, text) = (clear(true), [5; 16], [7; 16]);
        let key = ClearKey::Bytes(&key);
        let enciphered = |rules: &[u8]| {
            let (mut chain, mut out) = ([3; 16], [0; 16]);
            clear.encipher(rules, key, &[1; 16], &mut chain, &text, &mut out).unwrap();
            out
        };
        for words in [
            [b"AES     ", b"CBC     ", b"KEY-CLR ", b"INITIAL "],
            [b"AES     ", b"CTR     ", b"KEY-CLR ", b"CONTINUE"],
            [b"DES     ", b"ECB     ", b"KEY-CLR ", b"INITIAL "],
        ] {
            let expected = enciphered(&rules(&words));
            assert!(orders(words).iter().all(|rules| enciphered(rules) == expected));
        }
        let mac = |rules: &[u8]| {
            let (mut chain, mut mac) = ([3; 16], [0; 16]);
            clear.mac(rules, key, &mut chain, &text, &mut mac).map(|bytes| (bytes, mac))
        };
        let words = [b"CMAC    ", b"AES     ", b"MACLEN8 ", b"LAST    "];
        let expected = mac(&rules(&words));
        assert_eq!(expected.map(|(bytes, _)| bytes), Ok(8));
        assert!(orders(words).iter().all(|rules| mac(rules) == expected));
    }

    #[test]
    fn keywords_of_one_group_exclude_each_other_and_themselves() {
        let (clear, key) = (clear(true), [5; 16]);
        let key = ClearKey::Bytes(&key);
        let enciphered = |rules: &[u8]| {
            clear.encipher(rules, key, &[1; 16], &mut [0; 16], &[7; 16], &mut [0; 16]).map(|_| ())
        };
        let mac = |rules: &[u8]| clear.mac(rules, key, &mut [0; 16], &[7; 16], &mut [0; 16]).map(|_| ());
        let refuses = |groups: &[&[&[u8; KEYWORD_BYTES]]], call: &dyn Fn(&[u8]) -> Result<(), ClearError>| {
            for group in groups {
                for (first, second) in group.iter().flat_map(|one| group.iter().map(move |two| (one, two))) {
                    // The refusal comes with the second of them: what follows is not looked at.
                    let refused = call(&rules(&[first, b"KEY-CLR ", second, b"WHAT    "]));
                    assert_eq!(refused, Err(ClearError::KeywordCombination), "{first:?} {second:?}");
                }
            }
        };
        let algorithms: &[&[u8; KEYWORD_BYTES]] = &[b"AES     ", b"DES     "];
        refuses(
            &[algorithms, &[b"CBC     ", b"ECB     ", b"CTR     "], &[b"INITIAL ", b"CONTINUE"]],
            &enciphered,
        );
        refuses(
            &[
                algorithms,
                &[b"X9.9-1  ", b"X9.19OPT", b"CMAC    "],
                &[b"ONLY    ", b"FIRST   ", b"MIDDLE  ", b"LAST    "],
                &[b"MACLEN4 ", b"MACLEN6 ", b"MACLEN8 ", b"MACLEN16"],
            ],
            &mac,
        );
        let known_elsewhere = Err(ClearError::Keyword { position: 1 });
        assert_eq!(enciphered(b"AES     ONLY    "), known_elsewhere);
        assert_eq!(mac(b"X9.9-1  CBC     "), known_elsewhere);
        assert_eq!(enciphered(b"KEY-CLR AES     KEY-CLR "), Ok(()));
        assert_eq!(enciphered(b""), Err(ClearError::KeywordCombination));
        assert_eq!(
            enciphered(&b"KEY-CLR ".repeat(KEYWORDS_MAX + 1)),
            Err(ClearError::KeywordCount { bytes: KEYWORD_BYTES * (KEYWORDS_MAX + 1) })
        );
    }

    proptest! {
        #[test]
        fn what_was_enciphered_deciphers(
            key in proptest::collection::vec(any::<u8>(), 24),
            text in proptest::collection::vec(any::<u8>(), 0..200),
            mode in 0usize..3,
            is_des in any::<bool>(),
        ) {
            let rules = [b"CBC     ", b"ECB     ", b"CTR     "][mode];
            let rules = [rules.as_slice(), if is_des { b"DES     " } else { b"AES     " }].concat();
            let text = &text[..if mode == 2 { text.len() } else { text.len() / 16 * 16 }];
            let (clear, key) = (clear(false), ClearKey::Bytes(&key));
            let (mut out, mut back) = (vec![0; text.len()], vec![0; text.len()]);
            clear.encipher(&rules, key, &[3; 16], &mut [0; 16], text, &mut out).unwrap();
            clear.decipher(&rules, key, &[3; 16], &mut [0; 16], &out, &mut back).unwrap();
            prop_assert_eq!(back, text);
        }
    }
}
