//! CFB with whole blocks of feedback (SP 800-38A, 6.3) under any block cipher of OpenPGP.
//!
//! ```text
//! C_i = P_i XOR X_i,   X_i = E(C_(i-1)),   C_0 = the initialisation vector
//! ```
//!
//! 1. AES uses the engine's own CFB.
//! 2. Triple DES enciphers by the engine's CBC: X_(i+1) = E(P_i XOR X_i) is CBC of P under the initialisation vector
//!    X_1. Triple DES deciphers by the engine's ECB over the ciphertext, where blocks do not wait for each other.
//! 3. The old ciphers that are only read use rPGP.

use crate::SymmetricKeyAlgorithm;
use crate::body::BodyError;
use engine::{Cfb, CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Longest block in bytes.
pub(super) const BLOCK_BYTES_MAX: usize = 16;
/// Length of the pieces that are worked on if a copy of the text is needed, in bytes.
const PIECE_BYTES: usize = 32 << 10;

/// A prepared key for CFB.
#[derive(Clone)]
pub(super) struct CfbKey {
    engine: Engine,
    cipher: SymmetricKeyAlgorithm,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Aes(Arc<Zeroizing<Vec<u8>>>),
    Tdes(Arc<CipherKey>),
    Other(Arc<Zeroizing<Vec<u8>>>),
}

impl CfbKey {
    /// A key for a cipher that bodies may have.
    ///
    /// # Errors
    /// [`BodyError`] for an unsupported cipher, or a key of another length.
    pub(super) fn new(engine: &Engine, cipher: SymmetricKeyAlgorithm, key: &[u8]) -> Result<Self, BodyError> {
        if cipher.block_size() == 0 {
            return Err(BodyError::Cipher(cipher));
        }
        let length = BodyError::KeyLength { bytes: key.len(), expected: cipher.key_size() };
        if key.len() != cipher.key_size() {
            return Err(length);
        }
        let bytes = || Arc::new(Zeroizing::new(key.to_vec()));
        let kind = match cipher {
            SymmetricKeyAlgorithm::AES128 | SymmetricKeyAlgorithm::AES192 | SymmetricKeyAlgorithm::AES256 => {
                Kind::Aes(bytes())
            }
            SymmetricKeyAlgorithm::TripleDES => {
                let key = engine.cipher_key(CipherAlgorithm::Tdes3, key).map_err(|_| length)?;
                Kind::Tdes(Arc::new(key))
            }
            _ => Kind::Other(bytes()),
        };
        Ok(Self { engine: *engine, cipher, kind })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.cipher.block_size()
    }

    /// The key's bytes if the cipher is AES.
    pub(super) fn aes_key(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::Aes(key) => Some(key),
            _ => None,
        }
    }

    /// Deciphers a piece that begins at a border of blocks; `before` is the block of ciphertext before it.
    pub(super) fn decipher_at(&self, before: &[u8], data: &mut [u8]) {
        let mut stream = CfbStream::new(self.clone(), CipherDirection::Decipher, before);
        stream.update(data);
    }
}

/// CFB over a text that comes in pieces of any length.
pub(super) struct CfbStream {
    key: CfbKey,
    state: State,
}

enum State {
    Aes(Cfb),
    Blocks(Blocks),
}

/// The state of CFB with a cipher other than AES; wiped when dropped.
struct Blocks {
    direction: CipherDirection,
    /// The last whole block of ciphertext; its first `used` bytes are already those of the next block.
    chain: [u8; BLOCK_BYTES_MAX],
    /// E of the last whole block of ciphertext; valid only if `used` is not 0.
    pad: [u8; BLOCK_BYTES_MAX],
    used: usize,
    /// Memory for the pads of a piece, made when it is first needed.
    pads: Zeroizing<Vec<u8>>,
}

impl CfbStream {
    /// Begins a text; the initialisation vector is one block long.
    pub(super) fn new(key: CfbKey, direction: CipherDirection, iv: &[u8]) -> Self {
        let block_bytes = key.block_bytes();
        let mut chain = [0; BLOCK_BYTES_MAX];
        chain[..block_bytes].copy_from_slice(&iv[..block_bytes]);
        let state = match &key.kind {
            Kind::Aes(bytes) => {
                State::Aes(key.engine.cfb(direction, bytes, &chain).expect("a key of the cipher's length"))
            }
            _ => {
                let pads = Zeroizing::new(Vec::new());
                State::Blocks(Blocks { direction, chain, pad: [0; BLOCK_BYTES_MAX], used: 0, pads })
            }
        };
        Self { key, state }
    }

    /// Enciphers or deciphers the next piece in place.
    pub(super) fn update(&mut self, data: &mut [u8]) {
        match &mut self.state {
            State::Aes(cfb) => cfb.update(data),
            State::Blocks(blocks) => blocks.update(&self.key, data),
        }
    }
}

impl Blocks {
    fn update(&mut self, key: &CfbKey, data: &mut [u8]) {
        let block_bytes = key.block_bytes();
        let head = data.len().min((block_bytes - self.used) % block_bytes);
        let (head, rest) = data.split_at_mut(head);
        self.bytes(head, block_bytes);
        let (whole, tail) = rest.split_at_mut(rest.len() / block_bytes * block_bytes);
        for piece in whole.chunks_mut(PIECE_BYTES) {
            self.whole_blocks(key, piece);
        }
        if !tail.is_empty() {
            self.pad = self.chain;
            key.encipher_block(&mut self.pad[..block_bytes]);
            self.bytes(tail, block_bytes);
        }
    }

    /// Processes bytes within one block, whose pad is known.
    fn bytes(&mut self, data: &mut [u8], block_bytes: usize) {
        for byte in data {
            let text = *byte;
            *byte ^= self.pad[self.used];
            self.chain[self.used] = if self.direction == CipherDirection::Encipher { *byte } else { text };
            self.used = (self.used + 1) % block_bytes;
        }
    }

    fn whole_blocks(&mut self, key: &CfbKey, data: &mut [u8]) {
        let Some(last) = data.len().checked_sub(key.block_bytes()) else { return };
        let chain = &mut self.chain[..key.block_bytes()];
        if self.direction == CipherDirection::Encipher {
            key.encipher_blocks(chain, data, &mut self.pads);
            chain.copy_from_slice(&data[last..]);
        } else {
            let next: [u8; BLOCK_BYTES_MAX] =
                std::array::from_fn(|at| data.get(last + at).copied().unwrap_or(0));
            key.decipher_blocks(chain, data, &mut self.pads);
            chain.copy_from_slice(&next[..key.block_bytes()]);
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.chain.zeroize();
        self.pad.zeroize();
    }
}

/// Processes one piece of whole blocks, not empty, with ciphers other than AES.
impl CfbKey {
    fn encipher_blocks(&self, chain: &[u8], data: &mut [u8], pads: &mut Zeroizing<Vec<u8>>) {
        let Kind::Tdes(key) = &self.kind else { return self.by_rpgp(CipherDirection::Encipher, chain, data) };
        // CBC gives X_2 and the following blocks; X_1 goes before them.
        let (first, rest) = room(pads, chain.len() + data.len()).split_at_mut(chain.len());
        first.copy_from_slice(chain);
        self.encipher_block(first);
        rest.copy_from_slice(data);
        let mut item = [CipherItem::new(key, first, rest)];
        self.engine.cipher_batch(Mode::Cbc, CipherDirection::Encipher, &mut item);
        xor(data, pads);
    }

    fn decipher_blocks(&self, chain: &[u8], data: &mut [u8], pads: &mut Zeroizing<Vec<u8>>) {
        let Kind::Tdes(key) = &self.kind else { return self.by_rpgp(CipherDirection::Decipher, chain, data) };
        let pads = room(pads, data.len());
        let (first, rest) = pads.split_at_mut(chain.len());
        first.copy_from_slice(chain);
        rest.copy_from_slice(&data[..rest.len()]);
        self.engine.cipher_batch(
            Mode::Ecb,
            CipherDirection::Encipher,
            &mut [CipherItem::new(key, &[], pads)],
        );
        xor(data, pads);
    }

    /// Replaces one block by E of it.
    fn encipher_block(&self, block: &mut [u8]) {
        match &self.kind {
            Kind::Tdes(key) => {
                let mut item = [CipherItem::new(key, &[], block)];
                self.engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut item);
            }
            _ => {
                // CFB of a block of zeros gives E of the initialisation vector.
                let mut iv = [0; BLOCK_BYTES_MAX];
                let iv = &mut iv[..block.len()];
                iv.copy_from_slice(block);
                block.fill(0);
                self.by_rpgp(CipherDirection::Encipher, iv, block);
            }
        }
    }

    fn by_rpgp(&self, direction: CipherDirection, chain: &[u8], data: &mut [u8]) {
        let (Kind::Aes(key) | Kind::Other(key)) = &self.kind else {
            unreachable!("triple DES is the engine's")
        };
        let done = match direction {
            CipherDirection::Encipher => self.cipher.encrypt_with_iv_regular(key, chain, data),
            CipherDirection::Decipher => self.cipher.decrypt_with_iv_regular(key, chain, data),
        };
        done.expect("a cipher that rPGP has, a key and a block of its lengths");
    }
}

/// The first `bytes` bytes of memory that is allocated once, so that wiping it at the end is enough.
fn room(pads: &mut Zeroizing<Vec<u8>>, bytes: usize) -> &mut [u8] {
    if pads.len() < bytes {
        **pads = vec![0; PIECE_BYTES.max(bytes) + BLOCK_BYTES_MAX];
    }
    &mut pads[..bytes]
}

fn xor(data: &mut [u8], pads: &[u8]) {
    for (byte, pad) in data.iter_mut().zip(pads) {
        *byte ^= pad;
    }
}
