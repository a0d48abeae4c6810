//! Bodies in authenticated chunks: SEIPDv2 (RFC 9580, 5.13.2) and GnuPG's AEAD packet, tag 20
//! (draft-koch-librepgp, 5.16).
//!
//! ```text
//! header | chunk 0, tag | chunk 1, tag | ... | last chunk (1 byte to a whole one), tag | tag of all
//! ```
//! Each chunk is sealed by itself, under a nonce made of its number, so any thread may take any chunk. The last tag is
//! that of an empty chunk, and covers the length of the text: without it a message could end after any chunk unnoticed.

use crate::body::{BodyError, Unauthentic};
use crate::form::{CHUNK_BITS_MAX, Form, Protection};
use crate::{AeadAlgorithm, SymmetricKeyAlgorithm};
use engine::{CipherDirection, EaxItem, EaxKey, Engine, GcmItem, GcmKey, OcbItem, OcbKey, hkdf_sha256};
use pgp::types::Tag;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Length of a tag in bytes.
pub const TAG_BYTES: usize = 16;
/// Longest header in bytes: that of SEIPDv2, with its version octet.
pub const HEADER_BYTES_MAX: usize = 4 + SALT_BYTES;

/// The header of a body: its protection, and the salt or nonce that its nonces are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    form: Form,
    /// Salt (SEIPDv2) or starting nonce (packet 20).
    start: Vec<u8>,
}

impl Header {
    /// A new header, with random salt or starting nonce.
    ///
    /// # Errors
    /// [`BodyError`] for a form without chunks, and for unsupported ciphers, modes and chunk lengths.
    pub fn random(engine: &Engine, form: Form) -> Result<Self, BodyError> {
        let mut start = vec![0; start_bytes(&form)?];
        engine.random(&mut start);
        Ok(Self { form, start })
    }

    /// Reads the header of a packet's body, with the version octet; also returns its length in bytes. `None` if bytes
    /// are missing.
    ///
    /// # Errors
    /// [`BodyError`] for other packets and versions, and for unsupported ciphers, modes and chunk lengths.
    pub fn parse(tag: Tag, body: &[u8]) -> Result<Option<(Self, usize)>, BodyError> {
        let Some(&[version, cipher, aead, chunk_bits]) = body.first_chunk() else { return Ok(None) };
        let aead = AeadAlgorithm::from(aead);
        let protection = match (tag, version) {
            (Tag::SymEncryptedProtectedData, 2) => Protection::SeipdV2 { aead, chunk_bits },
            (Tag::GnupgAeadData, 1) => Protection::GnupgAead { aead, chunk_bits },
            _ => return Err(BodyError::Version { tag, version }),
        };
        let form = Form { cipher: SymmetricKeyAlgorithm::from(cipher), protection };
        let header_bytes = FIXED_BYTES + start_bytes(&form)?;
        let Some(start) = body.get(FIXED_BYTES..header_bytes) else { return Ok(None) };
        Ok(Some((Self { form, start: start.to_vec() }, header_bytes)))
    }

    /// The cipher, the mode and the chunk length.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Type of the packet that the header is for.
    pub fn tag(&self) -> Tag {
        match self.form.protection {
            Protection::GnupgAead { .. } => Tag::GnupgAeadData,
            _ => Tag::SymEncryptedProtectedData,
        }
    }

    /// The header as bytes: the beginning of the packet's body.
    pub fn to_bytes(&self) -> Vec<u8> {
        let [_, fixed @ ..] = self.associated();
        [&fixed, &self.start[..]].concat()
    }

    /// Associated data: the packet's type as an octet of the new format, then version, cipher, mode and chunk length.
    fn associated(&self) -> [u8; ASSOCIATED_BYTES] {
        let (version, aead, chunk_bits) = match self.form.protection {
            Protection::SeipdV2 { aead, chunk_bits } => (2, aead, chunk_bits),
            Protection::GnupgAead { aead, chunk_bits } => (1, aead, chunk_bits),
            Protection::SeipdV1 => unreachable!("a header is made for chunks only"),
        };
        [0xc0 | u8::from(self.tag()), version, self.form.cipher.into(), aead.into(), chunk_bits]
    }
}

/// Seals and opens the chunks of one body; copies share the key.
///
/// A caller that seals must number the chunks from 0 and use each number once: a repeated nonce reveals the text.
#[derive(Clone)]
pub struct ChunkCipher {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    header: Header,
    chunk_bytes: usize,
    key: Key,
    nonce: [u8; NONCE_BYTES_MAX],
}

enum Key {
    Gcm(GcmKey),
    Ocb(OcbKey),
    Eax(EaxKey),
}

impl ChunkCipher {
    /// A cipher for the body that this header begins, under a session key of the cipher's length.
    ///
    /// # Errors
    /// [`BodyError`] for a key of another length.
    pub fn new(engine: &Engine, header: Header, session_key: &[u8]) -> Result<Self, BodyError> {
        let Form { cipher, protection } = header.form;
        if session_key.len() != cipher.key_size() {
            return Err(BodyError::KeyLength { bytes: session_key.len(), expected: cipher.key_size() });
        }
        let mut nonce = [0; NONCE_BYTES_MAX];
        let (key, chunk_bits) = match protection {
            Protection::SeipdV2 { aead, chunk_bits } => {
                let counted_from = aead.nonce_size() - COUNTER_BYTES;
                let mut derived = Zeroizing::new(vec![0; cipher.key_size() + counted_from]);
                hkdf_sha256(&header.start, session_key, &header.associated(), &mut derived)
                    .expect("a key and a nonce are shorter than what HKDF gives");
                let (key, iv) = derived.split_at(cipher.key_size());
                nonce[..counted_from].copy_from_slice(iv);
                (Key::new(engine, aead, key)?, chunk_bits)
            }
            Protection::GnupgAead { aead, chunk_bits } => {
                nonce[..header.start.len()].copy_from_slice(&header.start);
                (Key::new(engine, aead, session_key)?, chunk_bits)
            }
            Protection::SeipdV1 => unreachable!("a header is made for chunks only"),
        };
        let chunk_bytes = 1 << (chunk_bits + CHUNK_BITS_LEAST);
        Ok(Self { shared: Arc::new(Shared { engine: *engine, header, chunk_bytes, key, nonce }) })
    }

    /// The header that the body begins with.
    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// Length of a chunk in bytes, without its tag; the last one may be shorter.
    pub fn chunk_bytes(&self) -> usize {
        self.shared.chunk_bytes
    }

    /// Length of a body with `text_bytes` bytes of text, with header and tags; `None` beyond 2^64 bytes.
    pub fn body_bytes(&self, text_bytes: u64) -> Option<u64> {
        let chunks = text_bytes.div_ceil(self.chunk_bytes() as u64);
        let header_bytes = (FIXED_BYTES + self.shared.header.start.len()) as u64;
        let tags_bytes = chunks.checked_add(1)?.checked_mul(TAG_BYTES as u64)?;
        text_bytes.checked_add(tags_bytes)?.checked_add(header_bytes)
    }

    /// Seals the chunk with this number in place, and returns its tag.
    ///
    /// # Panics
    /// If the chunk is longer than [`ChunkCipher::chunk_bytes`].
    pub fn seal(&self, index: u64, data: &mut [u8]) -> [u8; TAG_BYTES] {
        assert!(data.len() <= self.chunk_bytes(), "a chunk of {} bytes", data.len());
        let mut tag = [0; TAG_BYTES];
        self.shared.seal(index, &mut [(data, &mut tag)], &[]);
        tag
    }

    /// Checks and opens the chunk with this number in place.
    ///
    /// # Errors
    /// [`Unauthentic`] if the chunk is not authentic; its bytes are then zeros.
    pub fn open(&self, index: u64, data: &mut [u8], tag: &[u8; TAG_BYTES]) -> Result<(), Unauthentic> {
        if data.len() > self.chunk_bytes() {
            data.fill(0);
            return Err(Unauthentic);
        }
        self.shared.open(index, &mut [(data, tag)], &[])
    }

    /// Seals several chunks at once: chunk, room for its tag, chunk, room for its tag and so on. The last chunk may
    /// have any length from one byte. For EAX this is faster than one by one, since chunks are processed in parallel.
    ///
    /// # Panics
    /// If the last chunk has no room for a tag and one byte.
    pub fn seal_run(&self, first_index: u64, data: &mut [u8]) {
        let mut index = first_index;
        for run in data.chunks_mut(RUN_CHUNKS * (self.chunk_bytes() + TAG_BYTES)) {
            let mut chunks = Vec::with_capacity(RUN_CHUNKS);
            for chunk in run.chunks_mut(self.chunk_bytes() + TAG_BYTES) {
                let (chunk, tag) = chunk.split_last_chunk_mut().expect("a chunk with room for its tag");
                assert!(!chunk.is_empty(), "a chunk of at least one byte");
                chunks.push((chunk, tag));
            }
            self.shared.seal(index, &mut chunks, &[]);
            index += chunks.len() as u64;
        }
    }

    /// Checks and opens several chunks at once in place, laid out as for [`ChunkCipher::seal_run`].
    ///
    /// # Errors
    /// [`Unauthentic`] if one of them is not authentic, or too short. That chunk is then zeros or untouched, and
    /// nothing of the run may be used.
    pub fn open_run(&self, first_index: u64, data: &mut [u8]) -> Result<(), Unauthentic> {
        let mut index = first_index;
        for run in data.chunks_mut(RUN_CHUNKS * (self.chunk_bytes() + TAG_BYTES)) {
            let mut chunks = Vec::with_capacity(RUN_CHUNKS);
            for chunk in run.chunks_mut(self.chunk_bytes() + TAG_BYTES) {
                let (chunk, tag) = chunk.split_last_chunk_mut::<TAG_BYTES>().ok_or(Unauthentic)?;
                if chunk.is_empty() {
                    return Err(Unauthentic);
                }
                chunks.push((chunk, &*tag));
            }
            self.shared.open(index, &mut chunks, &[])?;
            index += chunks.len() as u64;
        }
        Ok(())
    }

    /// The tag after the last chunk, for a text of this many bytes in this many chunks.
    pub fn final_tag(&self, text_bytes: u64, chunks: u64) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        self.shared.seal(chunks, &mut [(&mut [], &mut tag)], &text_bytes.to_be_bytes());
        tag
    }

    /// Checks the tag after the last chunk.
    ///
    /// # Errors
    /// [`Unauthentic`] if the text was cut, or is not the text that was sealed.
    pub fn check_final(
        &self,
        text_bytes: u64,
        chunks: u64,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Unauthentic> {
        self.shared.open(chunks, &mut [(&mut [], tag)], &text_bytes.to_be_bytes())
    }
}

impl fmt::Debug for ChunkCipher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ChunkCipher({})", self.shared.header.form)
    }
}

impl Key {
    fn new(engine: &Engine, aead: AeadAlgorithm, key: &[u8]) -> Result<Self, BodyError> {
        let length = |_| BodyError::KeyLength { bytes: key.len(), expected: 16 };
        Ok(match aead {
            AeadAlgorithm::Gcm => Self::Gcm(engine.gcm_key(key).map_err(length)?),
            AeadAlgorithm::Ocb => Self::Ocb(engine.ocb_key(key).map_err(length)?),
            AeadAlgorithm::Eax => Self::Eax(engine.eax_key(key).map_err(length)?),
            other => return Err(BodyError::Aead(other)),
        })
    }
}

/// Nonce and associated data of one chunk.
struct Names {
    nonce: [u8; NONCE_BYTES_MAX],
    nonce_bytes: usize,
    associated: [u8; NAMES_BYTES_MAX],
    associated_bytes: usize,
}

impl Names {
    fn nonce(&self) -> &[u8] {
        &self.nonce[..self.nonce_bytes]
    }

    fn associated(&self) -> &[u8] {
        &self.associated[..self.associated_bytes]
    }
}

impl Shared {
    fn names(&self, index: u64, end: &[u8]) -> Names {
        let (nonce_bytes, is_gnupg) = match self.header.form.protection {
            Protection::SeipdV2 { aead, .. } => (aead.nonce_size(), false),
            Protection::GnupgAead { aead, .. } => (aead.nonce_size(), true),
            Protection::SeipdV1 => unreachable!("a header is made for chunks only"),
        };
        // The counter is XORed into the starting nonce. In SEIPDv2 that nonce is zero in the counter's place.
        let mut nonce = self.nonce;
        for (byte, count) in
            nonce[nonce_bytes - COUNTER_BYTES..nonce_bytes].iter_mut().zip(index.to_be_bytes())
        {
            *byte ^= count;
        }
        let mut associated = [0; NAMES_BYTES_MAX];
        let mut associated_bytes = 0;
        let counter = index.to_be_bytes();
        let counter = if is_gnupg { &counter[..] } else { &[] };
        for part in [&self.header.associated()[..], counter, end] {
            associated[associated_bytes..][..part.len()].copy_from_slice(part);
            associated_bytes += part.len();
        }
        Names { nonce, nonce_bytes, associated, associated_bytes }
    }

    fn seal(&self, first_index: u64, chunks: &mut [(&mut [u8], &mut [u8; TAG_BYTES])], end: &[u8]) {
        let way = CipherDirection::Encipher;
        let names: Vec<_> = (first_index..).take(chunks.len()).map(|index| self.names(index, end)).collect();
        let with_names = chunks.iter_mut().zip(&names);
        macro_rules! run {
            ($item:ident, $key:expr, $batch:ident) => {{
                let (mut items, tags): (Vec<_>, Vec<_>) = with_names
                    .map(|((data, tag), names)| {
                        ($item::encipher($key, names.nonce(), names.associated(), data), &mut **tag)
                    })
                    .unzip();
                self.engine.$batch(way, &mut items);
                for (item, tag) in items.into_iter().zip(tags) {
                    item.result.expect("a chunk and a nonce of lengths that the mode takes");
                    *tag = item.tag;
                }
            }};
        }
        match &self.key {
            Key::Gcm(key) => run!(GcmItem, key, gcm_batch),
            Key::Ocb(key) => run!(OcbItem, key, ocb_batch),
            Key::Eax(key) => run!(EaxItem, key, eax_batch),
        }
    }

    fn open(
        &self,
        first_index: u64,
        chunks: &mut [(&mut [u8], &[u8; TAG_BYTES])],
        end: &[u8],
    ) -> Result<(), Unauthentic> {
        let way = CipherDirection::Decipher;
        let names: Vec<_> = (first_index..).take(chunks.len()).map(|index| self.names(index, end)).collect();
        let with_names = chunks.iter_mut().zip(&names);
        macro_rules! run {
            ($item:ident, $key:expr, $batch:ident) => {{
                let mut items: Vec<_> = with_names
                    .map(|((data, tag), names)| {
                        $item::decipher($key, names.nonce(), names.associated(), data, *tag)
                    })
                    .collect();
                self.engine.$batch(way, &mut items);
                items.iter().all(|item| item.result.is_ok())
            }};
        }
        let are_authentic = match &self.key {
            Key::Gcm(key) => run!(GcmItem, key, gcm_batch),
            Key::Ocb(key) => run!(OcbItem, key, ocb_batch),
            Key::Eax(key) => run!(EaxItem, key, eax_batch),
        };
        if are_authentic { Ok(()) } else { Err(Unauthentic) }
    }
}

/// Length of the salt or starting nonce in bytes.
///
/// # Errors
/// [`BodyError`] for a form without chunks or with an unsupported cipher, mode or chunk length.
fn start_bytes(form: &Form) -> Result<usize, BodyError> {
    let (aead, chunk_bits, is_gnupg) = match form.protection {
        Protection::SeipdV2 { aead, chunk_bits } => (aead, chunk_bits, false),
        Protection::GnupgAead { aead, chunk_bits } => (aead, chunk_bits, true),
        Protection::SeipdV1 => return Err(BodyError::Aead(AeadAlgorithm::None)),
    };
    use SymmetricKeyAlgorithm::{AES128, AES192, AES256};
    if !matches!(form.cipher, AES128 | AES192 | AES256) {
        return Err(BodyError::Cipher(form.cipher));
    }
    match aead {
        AeadAlgorithm::Eax | AeadAlgorithm::Ocb => {}
        AeadAlgorithm::Gcm if !is_gnupg => {}
        other => return Err(BodyError::Aead(other)),
    }
    if chunk_bits > CHUNK_BITS_MAX {
        return Err(BodyError::ChunkBits { bits: chunk_bits, bits_max: CHUNK_BITS_MAX });
    }
    Ok(if is_gnupg { aead.nonce_size() } else { SALT_BYTES })
}

/// Length of version, cipher, mode and chunk length in bytes.
const FIXED_BYTES: usize = 4;
const SALT_BYTES: usize = 32;
/// Shortest chunk, as the binary logarithm of its bytes.
const CHUNK_BITS_LEAST: u8 = 6;
const COUNTER_BYTES: usize = 8;
const NONCE_BYTES_MAX: usize = 16;
const ASSOCIATED_BYTES: usize = 5;
/// Longest associated data in bytes: with the counter of packet 20, and the length at the end.
const NAMES_BYTES_MAX: usize = ASSOCIATED_BYTES + 8 + 8;
/// Number of chunks that the engine gets at a time: enough parallel lanes for EAX.
const RUN_CHUNKS: usize = 32;
