//! Gathers pieces of any length into a body's chunks, with framing and room for tags.

use crate::block::Block;
use crate::pieces::Pieces;
use openpgp::CompressionAlgorithm;
use openpgp::body::chunked::TAG_BYTES;
use openpgp::body::grammar::compressed_header;
use openpgp::packet::Tag;

/// Puts compressed pieces into a compressed packet.
pub(crate) struct Packed {
    pieces: Pieces,
    /// Bytes that wait for a full piece: at first the packet's header, later the rest of the block before.
    held: Vec<u8>,
    sum: Option<deflate::Adler32>,
}

impl Packed {
    pub(crate) fn new(algorithm: CompressionAlgorithm, level: u8) -> Self {
        let mut held = compressed_header(algorithm).to_vec();
        let is_zlib = algorithm == CompressionAlgorithm::ZLIB;
        if is_zlib {
            held.extend_from_slice(&deflate::zlib_header(level));
        }
        let sum = is_zlib.then(deflate::Adler32::new);
        Self { pieces: Pieces::new(Tag::CompressedData), held, sum }
    }

    /// Passes the piece of a block with its framing to `out`; `block` itself gets ZLIB's check value if it is the last.
    fn append(&mut self, block: &mut Block, out: &mut impl FnMut(&[u8])) {
        if let Some(sum) = &mut self.sum {
            sum.combine(block.sum.0, block.sum.1);
            if block.is_last {
                let value = sum.value().to_be_bytes();
                block.append(&value);
            }
        }
        let piece = block.piece();
        let mut held = std::mem::take(&mut self.held);
        let mut at = 0;
        for next in self.pieces.of(held.len() + piece.len(), block.is_last) {
            out(&next.header);
            let from_held = held.len().min(next.bytes);
            out(&held[..from_held]);
            held.drain(..from_held);
            let from_piece = next.bytes - from_held;
            out(&piece[at..at + from_piece]);
            at += from_piece;
        }
        held.extend_from_slice(&piece[at..]);
        self.held = held;
    }
}

/// Makes pieces of the length that the cipher takes from pieces of any length.
pub(crate) struct Gather {
    packed: Option<Packed>,
    /// Length of the body's chunks in bytes; `None` if it has no chunks.
    chunk_bytes: Option<usize>,
    /// The beginning of a chunk that waits for its rest.
    carry: Vec<u8>,
    next_chunk: u64,
    at: u64,
}

impl Gather {
    pub(crate) fn new(packed: Option<Packed>, chunk_bytes: Option<usize>) -> Self {
        Self { packed, chunk_bytes, carry: Vec::new(), next_chunk: 0, at: 0 }
    }

    /// Replaces the piece of a block by whole chunks, each with room for its tag. The last block also gets the last,
    /// shorter chunk.
    pub(crate) fn gather(&mut self, block: &mut Block) {
        let mut made = block.take_spare();
        let chunk_bytes = self.chunk_bytes.unwrap_or(usize::MAX);
        let mut in_chunk = self.carry.len();
        made.extend_from_slice(&self.carry);
        self.carry.clear();
        let mut text_bytes = in_chunk as u64;
        let mut chunks = 0;
        let mut push = |mut bytes: &[u8]| {
            text_bytes += bytes.len() as u64;
            while !bytes.is_empty() {
                let fits = bytes.len().min(chunk_bytes - in_chunk);
                made.extend_from_slice(&bytes[..fits]);
                bytes = &bytes[fits..];
                in_chunk += fits;
                if in_chunk == chunk_bytes {
                    made.extend_from_slice(&[0; TAG_BYTES]);
                    in_chunk = 0;
                    chunks += 1;
                }
            }
        };
        match &mut self.packed {
            Some(packed) => packed.append(block, &mut push),
            None => push(block.piece()),
        }
        if self.chunk_bytes.is_some() && in_chunk > 0 {
            if block.is_last {
                made.extend_from_slice(&[0; TAG_BYTES]);
            } else {
                let whole = made.len() - in_chunk;
                self.carry.extend_from_slice(&made[whole..]);
                made.truncate(whole);
                text_bytes -= in_chunk as u64;
            }
        }
        block.put_spare(made);
        block.chunk = self.next_chunk;
        block.at = self.at;
        self.next_chunk += chunks;
        self.at += text_bytes;
    }
}
