//! The cipher stages of encryption: CFB with its hash goes in order, chunks are enciphered in parallel.

use crate::block::Block;
use crate::error::Error;
use crate::flow::Step;
use crate::summary::Stage;
use engine::Engine;
use openpgp::body::chunked::{self, ChunkCipher, TAG_BYTES};
use openpgp::body::{BodyError, seipd1};
use openpgp::packet::Tag;
use openpgp::{Form, PlainSessionKey, Protection, session_key};

/// The cipher of a message that is encrypted.
pub(crate) struct Sealing {
    header: Vec<u8>,
    kind: Kind,
}

enum Kind {
    Cfb { sealer: seipd1::Sealer, overhead_bytes: u64 },
    Chunks { cipher: ChunkCipher, tag: Tag },
}

impl Sealing {
    pub(crate) fn new(engine: &Engine, form: Form, session_key: &PlainSessionKey) -> Result<Self, Error> {
        let failed = |cause: BodyError| Error::Unsupported { what: format!("{form}: {cause}") };
        let key = session_key::bytes(session_key);
        if form.protection == Protection::SeipdV1 {
            let mut sealer = seipd1::Sealer::new(engine, form.cipher, key).map_err(failed)?;
            let overhead_bytes = seipd1::overhead_bytes(form.cipher) as u64;
            return Ok(Self { header: sealer.begin(), kind: Kind::Cfb { sealer, overhead_bytes } });
        }
        let header = chunked::Header::random(engine, form).map_err(failed)?;
        let cipher = ChunkCipher::new(engine, header, key).map_err(failed)?;
        let header = cipher.header();
        Ok(Self { header: header.to_bytes(), kind: Kind::Chunks { tag: header.tag(), cipher } })
    }

    /// The first bytes of the packet's body.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Type of the packet.
    pub(crate) fn tag(&self) -> Tag {
        match &self.kind {
            Kind::Cfb { .. } => Tag::SymEncryptedProtectedData,
            Kind::Chunks { tag, .. } => *tag,
        }
    }

    /// Length of chunks in bytes; `None` for CFB, which has no chunks.
    pub(crate) fn chunk_bytes(&self) -> Option<usize> {
        match &self.kind {
            Kind::Cfb { .. } => None,
            Kind::Chunks { cipher, .. } => Some(cipher.chunk_bytes()),
        }
    }

    /// Length of the packet's body in bytes for a stream of this length; `None` if it is too long.
    pub(crate) fn body_bytes(&self, stream_bytes: u64) -> Option<u64> {
        match &self.kind {
            Kind::Cfb { overhead_bytes, .. } => stream_bytes.checked_add(*overhead_bytes),
            Kind::Chunks { cipher, .. } => cipher.body_bytes(stream_bytes),
        }
    }

    /// The step that enciphers the pieces of blocks. With chunks, pieces are laid out as [`ChunkCipher::seal_run`]
    /// takes them.
    pub(crate) fn step<'a>(self) -> Step<'a> {
        match self.kind {
            Kind::Cfb { sealer, .. } => {
                let mut sealer = Some(sealer);
                let step = Step::in_order(Stage::Cipher, move |block| {
                    if let Some(open) = &mut sealer {
                        open.update(block.piece_mut());
                    }
                    if block.is_last
                        && let Some(sealer) = sealer.take()
                    {
                        block.end = sealer.finish().to_vec();
                    }
                    Ok(())
                });
                step.bottleneck()
            }
            Kind::Chunks { cipher, .. } => Step::any_order(Stage::Cipher, move |block: &mut Block| {
                if block.len() > 0 {
                    let first = block.chunk;
                    cipher.seal_run(first, block.piece_mut());
                }
                if block.is_last {
                    let chunks = block.len().div_ceil(cipher.chunk_bytes() + TAG_BYTES);
                    let text_bytes = block.at + (block.len() - chunks * TAG_BYTES) as u64;
                    block.end = cipher.final_tag(text_bytes, block.chunk + chunks as u64).to_vec();
                }
                Ok(())
            }),
        }
    }
}
