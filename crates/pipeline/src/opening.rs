//! The cipher stages of decryption. Deciphering is parallel; the hash of SEIPDv1 goes in order, on another thread.

use crate::block::Block;
use crate::candidates::Candidate;
use crate::entry::{Entry, body_error};
use crate::error::Error;
use crate::flow::Step;
use crate::summary::Stage;
use engine::Engine;
use openpgp::body::chunked::{ChunkCipher, TAG_BYTES};
use openpgp::body::grammar::Protected;
use openpgp::body::{BodyError, seipd1};
use openpgp::{Form, SymmetricKeyAlgorithm};
use zeroize::Zeroizing;

/// The cipher of a message that is decrypted.
pub(crate) struct Opening {
    form: Form,
    kind: Kind,
    name: String,
    engine: Engine,
}

enum Kind {
    Cfb { decipherer: seipd1::Decipherer, cipher: SymmetricKeyAlgorithm },
    Chunks(ChunkCipher),
}

/// The first bytes of a body, read to try keys on.
pub(crate) type First = Vec<u8>;

impl Opening {
    /// Finds the right key among the candidates. Returns the cipher, the candidate's number, and the bytes of the body
    /// that were read for this.
    pub(crate) fn choose(
        engine: &Engine,
        protected: &Protected,
        candidates: &[Candidate],
        entry: &mut Entry<'_>,
    ) -> Result<(Self, usize, First), Error> {
        let name = entry.name().to_owned();
        let mut usable = Vec::new();
        let mut failed = None;
        for (number, candidate) in candidates.iter().enumerate() {
            match Self::new(engine, protected, candidate, &name) {
                Ok(opening) => usable.push((opening, number)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let is_to_be_tried = usable.len() > 1;
        let mut first = Vec::new();
        if is_to_be_tried {
            // Ciphers of different block lengths show at different lengths.
            let tried_bytes = usable.iter().map(|(it, _)| it.tried_bytes()).max().unwrap_or(0);
            first.resize(tried_bytes, 0);
            let read = entry.fill(&mut first)?;
            first.truncate(read);
            // The first octets of SEIPDv1 are looked at only for passphrases, or if every packet has proved to be
            // whole. They say little, while the code at the end says all. They are never looked at for session keys
            // from RSA and ElGamal.
            let candidate = |it: &(Self, usize)| &candidates[it.1];
            let shows = candidate(&usable[0]).is_guess || usable.iter().all(|it| candidate(it).is_proven);
            let is_first = protected == &Protected::SeipdV1 && !shows;
            let position = if is_first { None } else { usable.iter().position(|(it, _)| it.opens(&first)) };
            let (opening, number) = usable.swap_remove(position.unwrap_or(0));
            return Ok((opening, number, first));
        }
        match (usable.pop(), failed) {
            (Some((opening, number)), _) => Ok((opening, number, first)),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::Unauthentic { name }),
        }
    }

    fn new(engine: &Engine, protected: &Protected, candidate: &Candidate, name: &str) -> Result<Self, Error> {
        let failed = |cause: BodyError| match cause {
            // A session key that does not fit the body is a wrong key, of which nothing more is said.
            BodyError::KeyLength { .. } | BodyError::KeyVersion => {
                Error::Unauthentic { name: name.to_owned() }
            }
            cause => body_error(cause, name),
        };
        let (cipher, key) = protected.key(&candidate.session_key).map_err(failed)?;
        let kind = match protected {
            Protected::SeipdV1 => {
                let decipherer = seipd1::Decipherer::new(engine, cipher, key).map_err(failed)?;
                Kind::Cfb { decipherer, cipher }
            }
            Protected::Chunked(header) => {
                Kind::Chunks(ChunkCipher::new(engine, header.clone(), key).map_err(failed)?)
            }
        };
        Ok(Self { form: protected.form(cipher), kind, name: name.to_owned(), engine: *engine })
    }

    /// Cipher and kind of packet.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Whether pieces are authentic before the end of the message.
    pub(crate) fn is_authentic_in_pieces(&self) -> bool {
        matches!(self.kind, Kind::Chunks(_))
    }

    /// Length of a block's memory in bytes.
    pub(crate) fn block_bytes(&self) -> usize {
        self.piece_bytes() + self.held_bytes()
    }

    fn piece_bytes(&self) -> usize {
        match &self.kind {
            Kind::Cfb { .. } => BLOCK_BYTES,
            Kind::Chunks(cipher) => {
                let chunks = (BLOCK_BYTES / cipher.chunk_bytes()).max(1);
                chunks * (cipher.chunk_bytes() + TAG_BYTES)
            }
        }
    }

    /// Number of bytes that are held back from a piece, since they may be the end of the body: a code or a tag.
    fn held_bytes(&self) -> usize {
        match &self.kind {
            Kind::Cfb { .. } => CFB_HELD_BYTES,
            Kind::Chunks(_) => TAG_BYTES,
        }
    }

    /// Number of the body's first bytes that show whether a key is right.
    fn tried_bytes(&self) -> usize {
        match &self.kind {
            Kind::Cfb { cipher, .. } => seipd1::prefix_bytes(*cipher),
            Kind::Chunks(cipher) => cipher.chunk_bytes() + 2 * TAG_BYTES,
        }
    }

    fn opens(&self, first: &[u8]) -> bool {
        match &self.kind {
            Kind::Cfb { decipherer, cipher } => {
                let bytes = first.len().min(seipd1::prefix_bytes(*cipher));
                let mut prefix = Zeroizing::new(first[..bytes].to_vec());
                decipherer.decipher_at(&[], &mut prefix);
                decipherer.prefix_repeats(&prefix)
            }
            Kind::Chunks(cipher) => {
                let whole = cipher.chunk_bytes() + TAG_BYTES;
                let chunk_bytes = whole.min(first.len().saturating_sub(TAG_BYTES));
                let mut chunk = Zeroizing::new(first[..chunk_bytes].to_vec());
                !chunk.is_empty() && cipher.open_run(0, &mut chunk).is_ok()
                    || chunk.is_empty() && first.len() == TAG_BYTES
            }
        }
    }

    /// The step that reads pieces of the body. `first`, the bytes that [`Opening::choose`] read, come first.
    pub(crate) fn reading<'a>(&self, entry: &'a mut Entry<'_>, first: First) -> Step<'a> {
        let (piece_bytes, held_bytes) = (self.piece_bytes(), self.held_bytes());
        let block_bytes = match &self.kind {
            Kind::Cfb { decipherer, .. } => decipherer.block_bytes(),
            Kind::Chunks(_) => 0,
        };
        let chunks_per_piece = match &self.kind {
            Kind::Cfb { .. } => 0,
            Kind::Chunks(cipher) => (piece_bytes / (cipher.chunk_bytes() + TAG_BYTES)) as u64,
        };
        let text_per_piece = piece_bytes as u64 - chunks_per_piece * TAG_BYTES as u64;
        let name = self.name.clone();
        let mut held = first;
        let mut before = Vec::new();
        Step::in_order(Stage::Read, move |block| {
            let wanted = piece_bytes + held_bytes;
            block.before.extend_from_slice(&before);
            block.chunk = block.index * chunks_per_piece;
            block.at = block.index * text_per_piece;
            let memory = block.memory(wanted.max(held.len()));
            let at = held.len();
            memory[..at].copy_from_slice(&held);
            let filled = if at < wanted { at + entry.fill(&mut memory[at..wanted])? } else { at };
            held.clear();
            if filled == wanted {
                held.extend_from_slice(&memory[piece_bytes..filled]);
                before.clear();
                before.extend_from_slice(&memory[piece_bytes - block_bytes..piece_bytes]);
                block.keep(0..piece_bytes);
                return Ok(());
            }
            // The code was enciphered together with the piece and stays with it; the tag of all chunks does not.
            let behind = if block_bytes > 0 { 0 } else { held_bytes };
            let end = filled.checked_sub(behind).ok_or_else(|| Error::Truncated { name: name.clone() })?;
            let tag = memory[end..filled].to_vec();
            block.end = tag;
            block.is_last = true;
            block.keep(0..end);
            Ok(())
        })
    }

    /// Adds the steps that decipher the body and check its authenticity.
    pub(crate) fn add_steps<'a>(self, steps: &mut Vec<Step<'a>>) {
        let name = self.name;
        match self.kind {
            Kind::Chunks(cipher) => {
                steps.push(Step::any_order(Stage::Cipher, move |block: &mut Block| {
                    open_chunks(&cipher, block).ok_or_else(|| Error::Unauthentic { name: name.clone() })
                }));
            }
            Kind::Cfb { decipherer, cipher } => {
                steps.push(Step::any_order(Stage::Cipher, move |block: &mut Block| {
                    let before = std::mem::take(&mut block.before);
                    decipherer.decipher_at(&before, block.piece_mut());
                    block.before = before;
                    Ok(())
                }));
                let mut check = Some(seipd1::Check::new(&self.engine));
                let mut prefix = seipd1::prefix_bytes(cipher);
                let step = Step::in_order(Stage::Cipher, move |block| {
                    let unauthentic = || Error::Unauthentic { name: name.clone() };
                    if block.is_last {
                        let text_bytes = block.len().checked_sub(seipd1::CODE_BYTES);
                        let text_bytes = text_bytes.ok_or_else(unauthentic)?;
                        let mut check = check.take().ok_or_else(unauthentic)?;
                        check.update(&block.piece()[..text_bytes]);
                        check.finish(block.cut(seipd1::CODE_BYTES)).map_err(|_| unauthentic())?;
                    } else if let Some(check) = &mut check {
                        check.update(block.piece());
                    }
                    let in_prefix = prefix.min(block.len());
                    if block.is_last && in_prefix < prefix {
                        return Err(unauthentic());
                    }
                    block.skip(in_prefix);
                    prefix -= in_prefix;
                    Ok(())
                });
                steps.push(step.bottleneck());
            }
        }
    }
}

/// Opens the chunks of a block and moves their text together; `None` if they are not authentic.
fn open_chunks(cipher: &ChunkCipher, block: &mut Block) -> Option<()> {
    let whole = cipher.chunk_bytes() + TAG_BYTES;
    let chunks = block.len().div_ceil(whole);
    let (first, at, is_last) = (block.chunk, block.at, block.is_last);
    let end = <[u8; TAG_BYTES]>::try_from(&block.end[..]);
    let piece = block.piece_mut();
    cipher.open_run(first, piece).ok()?;
    let mut text_bytes = piece.len().min(cipher.chunk_bytes());
    for chunk in 1..chunks {
        let from = chunk * whole;
        let to = (from + cipher.chunk_bytes()).min(piece.len() - TAG_BYTES);
        piece.copy_within(from..to, text_bytes);
        text_bytes += to - from;
    }
    if chunks == 1 {
        text_bytes = piece.len() - TAG_BYTES;
    }
    if is_last {
        cipher.check_final(at + text_bytes as u64, first + chunks as u64, &end.ok()?).ok()?;
    }
    block.keep(0..text_bytes);
    Some(())
}

/// Length of a piece in bytes: it fits a processor's second-level cache beside other data.
const BLOCK_BYTES: usize = 256 * 1024;
/// Bytes that are held back with CFB: at least the code, and a multiple of every cipher's block length.
const CFB_HELD_BYTES: usize = 32;
