//! Bodies with a modification detection code: symmetrically encrypted and integrity protected data, version 1
//! (RFC 9580, 5.13.1).
//!
//! ```text
//! version octet 1
//! CFB, initialisation vector zero, of:  random block, its last two bytes again   the prefix
//!                                       packets                                  the text
//!                                       D3 14, SHA-1 of all before it            22 bytes: the code
//! ```
//! Hash and CFB are both sequential, so one thread encrypts. Decryption can be parallel: any number of threads have a
//! [`Decipherer`], and one thread computes the hash with a [`Check`].

use crate::SymmetricKeyAlgorithm;
use crate::body::cfb::{BLOCK_BYTES_MAX, CfbKey, CfbStream};
use crate::body::{BodyError, Unauthentic};
use engine::{CfbSha1, CipherDirection, Engine, HashAlgorithm, HashState};
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// Version octet at the beginning of the packet's body.
pub const VERSION: u8 = 1;
/// Length of the modification detection code packet in bytes, header included.
pub const CODE_BYTES: usize = 22;
/// Longest prefix in bytes.
pub const PREFIX_BYTES_MAX: usize = BLOCK_BYTES_MAX + 2;

/// Length of the prefix in bytes: a block, and two more.
pub fn prefix_bytes(cipher: SymmetricKeyAlgorithm) -> usize {
    cipher.block_size() + 2
}

/// Number of bytes by which the packet's body is longer than the text.
pub fn overhead_bytes(cipher: SymmetricKeyAlgorithm) -> usize {
    1 + prefix_bytes(cipher) + CODE_BYTES
}

/// Enciphers one body.
pub struct Sealer {
    work: Work,
}

impl Sealer {
    /// Begins a body, under a key of the cipher's length.
    ///
    /// # Errors
    /// [`BodyError`] for an unknown cipher, or a key of another length.
    pub fn new(engine: &Engine, cipher: SymmetricKeyAlgorithm, key: &[u8]) -> Result<Self, BodyError> {
        let key = CfbKey::new(engine, cipher, key)?;
        Ok(Self { work: Work::new(key, CipherDirection::Encipher) })
    }

    /// The beginning of the packet's body: version octet and enciphered prefix. Call it once, first.
    pub fn begin(&mut self) -> Vec<u8> {
        let block_bytes = self.work.block_bytes;
        let mut out = vec![VERSION; 1 + block_bytes + 2];
        let prefix = &mut out[1..];
        self.work.engine.random(&mut prefix[..block_bytes]);
        prefix.copy_within(block_bytes - 2..block_bytes, block_bytes);
        self.work.update(prefix);
        out
    }

    /// Enciphers the next piece of the text, in place.
    pub fn update(&mut self, data: &mut [u8]) {
        self.work.update(data);
    }

    /// The end of the packet's body: the enciphered code.
    pub fn finish(mut self) -> [u8; CODE_BYTES] {
        let mut code = [0; CODE_BYTES];
        code[..2].copy_from_slice(&CODE_HEADER);
        self.work.update(&mut code[..2]);
        let digest = self.work.digest();
        code[2..].copy_from_slice(&digest);
        self.work.update_unhashed(&mut code[2..]);
        code
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("seipd1::Sealer")
    }
}

/// Deciphers one body, on one thread. No text is authentic before [`Opener::finish`] has succeeded.
pub struct Opener {
    work: Work,
    repeats: bool,
    held: [u8; CODE_BYTES],
    held_bytes: usize,
}

/// Text from one piece: first `before`, which was held back from earlier pieces, then `text`, within the piece.
#[derive(Debug)]
pub struct Opened<'a> {
    before: [u8; CODE_BYTES],
    before_bytes: usize,
    /// The part of the text that lies in the piece.
    pub text: &'a mut [u8],
}

impl Opened<'_> {
    /// The text that was held back from earlier pieces.
    pub fn before(&self) -> &[u8] {
        &self.before[..self.before_bytes]
    }
}

impl Opener {
    /// Begins a body whose enciphered prefix follows the version octet: [`prefix_bytes`] bytes.
    ///
    /// # Errors
    /// [`BodyError`] for an unknown cipher, or a key or prefix of another length.
    pub fn new(
        engine: &Engine,
        cipher: SymmetricKeyAlgorithm,
        key: &[u8],
        prefix: &[u8],
    ) -> Result<Self, BodyError> {
        let key = CfbKey::new(engine, cipher, key)?;
        if prefix.len() != prefix_bytes(cipher) {
            return Err(BodyError::Short { tag: pgp::types::Tag::SymEncryptedProtectedData });
        }
        let mut work = Work::new(key, CipherDirection::Decipher);
        let mut clear = Zeroizing::new(prefix.to_vec());
        work.update(&mut clear);
        let repeats = repeats(&clear);
        Ok(Self { work, repeats, held: [0; CODE_BYTES], held_bytes: 0 })
    }

    /// Whether the prefix repeats its two bytes. Use it only to choose among session keys that came from passphrases,
    /// which have no check of their own. Revealed to an attacker, it is an oracle (RFC 9580, 13.4).
    pub fn prefix_repeats(&self) -> bool {
        self.repeats
    }

    /// Deciphers the next piece of the packet's body in place. The last 22 bytes so far are held back, since they may
    /// be the code.
    pub fn update<'a>(&mut self, data: &'a mut [u8]) -> Opened<'a> {
        let released = (self.held_bytes + data.len()).saturating_sub(CODE_BYTES);
        let before_bytes = released.min(self.held_bytes);
        let mut before = [0; CODE_BYTES];
        before[..before_bytes].copy_from_slice(&self.held[..before_bytes]);
        self.held.copy_within(before_bytes..self.held_bytes, 0);
        self.held_bytes -= before_bytes;
        let (text, rest) = data.split_at_mut(released - before_bytes);
        self.held[self.held_bytes..][..rest.len()].copy_from_slice(rest);
        self.held_bytes += rest.len();
        self.work.update(&mut before[..before_bytes]);
        self.work.update(text);
        Opened { before, before_bytes, text }
    }

    /// Checks the code, at the end of the packet's body.
    ///
    /// # Errors
    /// [`Unauthentic`]: all of the text must then be discarded.
    pub fn finish(mut self) -> Result<(), Unauthentic> {
        if self.held_bytes != CODE_BYTES {
            return Err(Unauthentic);
        }
        let (header, digest) = self.held.split_at_mut(CODE_HEADER.len());
        self.work.update(header);
        let expected = self.work.digest();
        self.work.update_unhashed(digest);
        is_code(&self.held, &expected)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("seipd1::Opener")
    }
}

/// Deciphers pieces of one body on any number of threads, each piece by itself. Positions count from the first byte of
/// the enciphered prefix, after the version octet. The output of the first piece begins with the prefix, and that of
/// the last piece ends with the code.
#[derive(Clone)]
pub struct Decipherer {
    key: CfbKey,
}

impl Decipherer {
    /// A decipherer for bodies under this key.
    ///
    /// # Errors
    /// [`BodyError`] for an unknown cipher, or a key of another length.
    pub fn new(engine: &Engine, cipher: SymmetricKeyAlgorithm, key: &[u8]) -> Result<Self, BodyError> {
        Ok(Self { key: CfbKey::new(engine, cipher, key)? })
    }

    /// Length of a block in bytes; pieces begin at multiples of this length.
    pub fn block_bytes(&self) -> usize {
        self.key.block_bytes()
    }

    /// Deciphers a piece in place. `before` is the block of ciphertext before it, or empty for the first piece.
    ///
    /// # Panics
    /// If `before` is neither empty nor one block long.
    pub fn decipher_at(&self, before: &[u8], data: &mut [u8]) {
        let zeros = [0; BLOCK_BYTES_MAX];
        let before = if before.is_empty() { &zeros[..self.block_bytes()] } else { before };
        assert_eq!(before.len(), self.block_bytes(), "the block before a piece");
        self.key.decipher_at(before, data);
    }

    /// Whether a deciphered prefix repeats its two bytes; see [`Opener::prefix_repeats`].
    pub fn prefix_repeats(&self, prefix: &[u8]) -> bool {
        prefix.len() == self.block_bytes() + 2 && repeats(prefix)
    }
}

impl fmt::Debug for Decipherer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("seipd1::Decipherer")
    }
}

/// Checks the output of [`Decipherer`]s, in order, on one thread.
pub struct Check {
    hash: HashState,
}

impl Check {
    /// A check at the beginning of the prefix.
    pub fn new(engine: &Engine) -> Self {
        Self { hash: sha1(engine) }
    }

    /// Hashes deciphered bytes: prefix, then text, without the code at the end.
    pub fn update(&mut self, clear: &[u8]) {
        self.hash.update(clear);
    }

    /// Checks the deciphered code: the last 22 bytes.
    ///
    /// # Errors
    /// [`Unauthentic`]: all of the text must then be discarded.
    pub fn finish(mut self, code: &[u8]) -> Result<(), Unauthentic> {
        let code = <&[u8; CODE_BYTES]>::try_from(code).map_err(|_| Unauthentic)?;
        self.hash.update(&code[..CODE_HEADER.len()]);
        is_code(code, &digest(&self.hash))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("seipd1::Check")
    }
}

/// Cipher and hash of one body: one pass of the engine for AES, two passes for other ciphers.
struct Work {
    engine: Engine,
    block_bytes: usize,
    kind: Kind,
}

enum Kind {
    OnePass(Box<CfbSha1>),
    TwoPasses { direction: CipherDirection, cfb: Box<CfbStream>, hash: Box<HashState> },
}

impl Work {
    fn new(key: CfbKey, direction: CipherDirection) -> Self {
        let engine = *key.engine();
        let block_bytes = key.block_bytes();
        let iv = [0; BLOCK_BYTES_MAX];
        let kind = match key.aes_key() {
            Some(aes) => {
                let work = engine.cfb_sha1(direction, aes, &iv).expect("a key of the cipher's length");
                Kind::OnePass(Box::new(work))
            }
            None => {
                let cfb = Box::new(CfbStream::new(key, direction, &iv[..block_bytes]));
                Kind::TwoPasses { direction, cfb, hash: Box::new(sha1(&engine)) }
            }
        };
        Self { engine, block_bytes, kind }
    }

    fn update(&mut self, data: &mut [u8]) {
        match &mut self.kind {
            Kind::OnePass(work) => work.update(data),
            Kind::TwoPasses { direction, cfb, hash } => {
                for piece in data.chunks_mut(PIECE_BYTES) {
                    if *direction == CipherDirection::Encipher {
                        hash.update(piece);
                        cfb.update(piece);
                    } else {
                        cfb.update(piece);
                        hash.update(piece);
                    }
                }
            }
        }
    }

    fn update_unhashed(&mut self, data: &mut [u8]) {
        match &mut self.kind {
            Kind::OnePass(work) => work.update_unhashed(data),
            Kind::TwoPasses { cfb, .. } => cfb.update(data),
        }
    }

    fn digest(&self) -> [u8; 20] {
        match &self.kind {
            Kind::OnePass(work) => work.digest(),
            Kind::TwoPasses { hash, .. } => digest(hash),
        }
    }
}

fn sha1(engine: &Engine) -> HashState {
    engine.hash_state(HashAlgorithm::Sha1).expect("SHA-1 is always served")
}

fn digest(hash: &HashState) -> [u8; 20] {
    *hash.clone().finish().first_chunk().expect("20 of 64 bytes")
}

fn repeats(prefix: &[u8]) -> bool {
    let Some((_, &[a, b, c, d])) = prefix.split_last_chunk() else { return false };
    bool::from([a, b].ct_eq(&[c, d]))
}

/// Compares the code's header and digest, in a time that does not depend on either.
fn is_code(code: &[u8; CODE_BYTES], digest: &[u8; 20]) -> Result<(), Unauthentic> {
    let is_code = code[..2].ct_eq(&CODE_HEADER) & code[2..].ct_eq(digest);
    if bool::from(is_code) { Ok(()) } else { Err(Unauthentic) }
}

/// Header of the modification detection code packet.
const CODE_HEADER: [u8; 2] = [0xd3, 20];
/// Length of the pieces that go through both passes, in bytes.
const PIECE_BYTES: usize = 32 << 10;
