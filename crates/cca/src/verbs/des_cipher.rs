//! What Encipher and Decipher share: keywords, keys, chaining.
//!
//! | keyword | text | output chaining value |
//! |---|---|---|
//! | CBC (default) | whole blocks | last block of ciphertext |
//! | X9.23 | any; padded with zeros and their count | last block of ciphertext |
//! | CUSP | any; a short last block is xored with the block before it, enciphered again | that last whole block, enciphered again |
//! | IPS | as CUSP | last 8 bytes of ciphertext |
//!
//! A CUSP or IPS text of less than a block takes the initial chaining value as the block before it.
//! (z/OS ICSF Application Programmer's Guide, cipher processing rules.) For an IPS text of less than a
//! block the output chaining value is the last 8 bytes of initial value and ciphertext together.

use engine::{CipherDirection, Mode};
use wire::verb::{decipher, encipher};
use wire::{Codes, code};

use crate::call::Call;
use crate::key::Key;
use crate::pass::{Cipher, KeyRule};
use crate::rules::{Rules, Word, word};
use crate::wipe::Text;

/// How a text that is not whole blocks is treated, and what is carried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Cbc,
    X923,
    Cusp,
    Ips,
}

/// The checked arguments of either verb.
pub(super) struct Request<'a> {
    pub(super) method: Method,
    /// Initialization vector, or the chaining value of the call before.
    pub(super) chain: [u8; BLOCK_BYTES],
    pub(super) text: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads keywords, text and the chaining value, which CONTINUE takes from `chaining_vector`.
    pub(super) fn read(call: &Call<'_, 'a>, chaining_vector: usize) -> Result<Self, Codes> {
        let mut rules = Rules::read(call, RULE_ARRAY_COUNT, RULE_ARRAY, 0, 3)?;
        let method = rules.one_or(METHODS, Method::Cbc)?;
        let continued = rules.one_or(CHAINING, false)?;
        rules.optional(ALGORITHMS)?;
        rules.finish()?;
        let mut chain = [0; BLOCK_BYTES];
        if continued {
            let vector: [u8; CHAINING_BYTES] = call.array(chaining_vector)?;
            chain.copy_from_slice(&vector[..BLOCK_BYTES]);
        } else {
            chain = call.array(INITIALIZATION_VECTOR)?;
        }
        Ok(Self { method, chain, text: call.text(TEXT_LENGTH, TEXT)? })
    }

    /// The text up to its last whole block, and the short block after it.
    pub(super) fn split(&self) -> (&'a [u8], &'a [u8]) {
        self.text.split_at(self.text.len() - self.text.len() % BLOCK_BYTES)
    }

    /// The last 8 bytes of initial value and ciphertext together.
    pub(super) fn ips_chain(&self, ciphertext: &[u8]) -> [u8; BLOCK_BYTES] {
        let mut chain = [0; BLOCK_BYTES];
        let fresh = ciphertext.len().min(BLOCK_BYTES);
        chain[..BLOCK_BYTES - fresh].copy_from_slice(&self.chain[fresh..]);
        chain[BLOCK_BYTES - fresh..].copy_from_slice(&ciphertext[ciphertext.len() - fresh..]);
        chain
    }
}

/// Kernel work over a text under a DES key of any length.
pub(super) fn work(key: &Key, mode: Mode, direction: CipherDirection, chain: &[u8; 8], data: Text) -> Cipher {
    let mut whole = [0; 16];
    whole[..BLOCK_BYTES].copy_from_slice(chain);
    let (algorithm, key) = (key.cipher(), key.secret.clone());
    Cipher { algorithm, rule: KeyRule::Chosen, mode, direction, key, chain: whole, data }
}

/// The short block xored with a block of key stream.
pub(super) fn short_block(text: &[u8], stream: &[u8]) -> Text {
    let mut short = Text::from(text);
    short.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
    short
}

/// A chaining value as the 18-byte chaining vector.
pub(super) fn chaining_vector(chain: &[u8]) -> [u8; CHAINING_BYTES] {
    let mut vector = [0; CHAINING_BYTES];
    vector[..BLOCK_BYTES].copy_from_slice(&chain[..BLOCK_BYTES]);
    vector
}

/// Length of a block in bytes.
pub(super) const BLOCK_BYTES: usize = 8;
/// Length of the chaining vector in bytes.
const CHAINING_BYTES: usize = 18;

const METHODS: &[(Word, Method)] = &[
    (word("CBC"), Method::Cbc),
    (word("X9.23"), Method::X923),
    (word("CUSP"), Method::Cusp),
    (word("IPS"), Method::Ips),
];
const CHAINING: &[(Word, bool)] = &[(word("INITIAL"), false), (word("CONTINUE"), true)];
/// Both name what the key token says anyway.
const ALGORITHMS: &[(Word, ())] = &[(word("TOKEN"), ()), (word("DES"), ())];

// Both verbs have these parameters in the same places.
const TEXT_LENGTH: usize = encipher::TEXT_LENGTH;
const TEXT: usize = encipher::PLAINTEXT;
const INITIALIZATION_VECTOR: usize = encipher::INITIALIZATION_VECTOR;
const RULE_ARRAY_COUNT: usize = encipher::RULE_ARRAY_COUNT;
const RULE_ARRAY: usize = encipher::RULE_ARRAY;
const _: () = assert!(
    TEXT_LENGTH == decipher::TEXT_LENGTH
        && TEXT == decipher::CIPHERTEXT
        && INITIALIZATION_VECTOR == decipher::INITIALIZATION_VECTOR
        && RULE_ARRAY_COUNT == decipher::RULE_ARRAY_COUNT
        && RULE_ARRAY == decipher::RULE_ARRAY
);

/// Refuses texts that are not whole blocks, or empty.
pub(super) fn whole_blocks(text: &[u8]) -> Result<(), Codes> {
    if text.is_empty() || !text.len().is_multiple_of(BLOCK_BYTES) { Err(code::TEXT_LENGTH) } else { Ok(()) }
}
