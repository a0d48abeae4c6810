//! What Encipher and Decipher share: methods, keys, chaining.
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
//!
//! A call with CUSP or IPS runs the cipher the other way as well: to encipher a short block is to decipher it, and to
//! decipher one takes a block enciphered, which CUSP leaves as chaining value. Their key must be for both. Chaining
//! vectors are not sealed: those of CBC, X9.23 and IPS are ciphertext, and that of CUSP is what its key may encipher.

use crate::call::Call;
use crate::ground::{Algorithm, Refusal};
use crate::key::Key;
use crate::key::opening::Opening;
use crate::pass::{Cipher, KeyRule};
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::verb::{DesChaining, DesMethod};
use wire::{Codes, code};

/// A text with its method and chaining value, as Encipher and Decipher share it.
pub(super) struct Chained<'a> {
    pub(super) method: DesMethod,
    /// Initialization vector, or the chaining value that the previous call returned.
    pub(super) chain: [u8; BLOCK_BYTES],
    pub(super) text: &'a [u8],
}

impl<'a> Chained<'a> {
    /// A text whose chaining value comes from the initialization vector, or with CONTINUE from the chaining vector.
    ///
    /// # Errors
    /// 8/21 if the vector that `chaining` needs is missing.
    pub(super) fn new(
        method: DesMethod,
        chaining: DesChaining,
        initialization_vector: Option<&[u8; BLOCK_BYTES]>,
        chaining_vector: Option<&[u8; CHAINING_BYTES]>,
        text: &'a [u8],
    ) -> Result<Self, Codes> {
        let chain = match chaining {
            DesChaining::Initial => initialization_vector,
            DesChaining::Continue => chaining_vector.and_then(|vector| vector.first_chunk()),
        };
        Ok(Self { method, chain: *chain.ok_or(code::INVALID_PARAMETER)?, text })
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

/// Starts opening the key of a request, which must permit this use and, with CUSP or IPS, the other direction as well.
pub(super) fn key<'p, 'a>(
    call: Call<'p, 'a>,
    field: &'a [u8],
    method: DesMethod,
    usage: Use,
) -> Result<Opening<'p, 'a>, Refusal> {
    let found = call.key(field)?.of(Algorithm::Des)?;
    match method {
        DesMethod::Cbc | DesMethod::X923 => found.for_use(usage),
        DesMethod::Cusp | DesMethod::Ips => found.for_both(Use::Encipher, Use::Decipher),
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

/// Zeros in place of an output chaining vector that is not computed yet: they have its length.
pub(super) const NO_CHAINING: &[u8; CHAINING_BYTES] = &[0; CHAINING_BYTES];
/// Length of a block in bytes.
pub(super) const BLOCK_BYTES: usize = 8;
/// Length of the chaining vector in bytes.
const CHAINING_BYTES: usize = 18;

/// Refuses texts that are not whole blocks, or empty.
pub(super) fn whole_blocks(text: &[u8]) -> Result<(), Codes> {
    if text.is_empty() || !text.len().is_multiple_of(BLOCK_BYTES) { Err(code::TEXT_LENGTH) } else { Ok(()) }
}
