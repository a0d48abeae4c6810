//! The end of a flow that makes a message: packet lengths, armor, writing.

use crate::error::Error;
use crate::pieces::{KnownLength, Pieces};
use crate::sink::Sink;
use openpgp::packet::Tag;
use openpgp::packet::armor::Armorer;
use std::io::IoSlice;

/// Writes a message.
pub(crate) struct Exit<'a> {
    sink: Sink<'a>,
    framing: Framing,
    armorer: Option<Armorer>,
    /// Armored bytes, kept so that their memory is reused.
    armored: Vec<u8>,
}

enum Framing {
    /// Bytes are written without a packet around them.
    Plain,
    /// The packet's length is known: `piece` bytes are left in this piece, and `behind` bytes after it.
    Known { lengths: KnownLength, piece: u64, behind: u64 },
    /// The packet's length is not known: the bytes in `held` wait until a piece can be written.
    Unknown { pieces: Pieces, held: Vec<u8> },
}

impl<'a> Exit<'a> {
    /// Writes to a sink, armored if there is an armorer.
    pub(crate) fn new(mut sink: Sink<'a>, armorer: Option<Armorer>) -> Result<Self, Error> {
        if let Some(armorer) = &armorer {
            let mut begin = Vec::new();
            armorer.begin(&[], &mut begin);
            sink.write(&mut [IoSlice::new(&begin)])?;
        }
        Ok(Self { sink, framing: Framing::Plain, armorer, armored: Vec::new() })
    }

    /// Puts all following bytes into a packet; `bytes` is its length, if known.
    pub(crate) fn begin_packet(&mut self, tag: Tag, bytes: Option<u64>) {
        self.framing = match bytes {
            Some(behind) => Framing::Known { lengths: KnownLength::new(tag, behind), piece: 0, behind },
            None => Framing::Unknown { pieces: Pieces::new(tag), held: Vec::new() },
        };
    }

    /// Writes these parts, one after the other; `is_last` ends the packet.
    pub(crate) fn write(&mut self, parts: &[&[u8]], is_last: bool) -> Result<(), Error> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut headers = Vec::new();
        let mut held_before = Vec::new();
        // Each entry is the number of bytes before a piece, and the piece's header.
        match &mut self.framing {
            Framing::Plain => {}
            Framing::Known { lengths, piece, behind } => {
                let mut at = 0;
                loop {
                    let in_piece = usize::try_from(*piece).map_or(bytes - at, |piece| piece.min(bytes - at));
                    *piece -= in_piece as u64;
                    at += in_piece;
                    if at == bytes && !(is_last && *piece == 0) || *piece > 0 {
                        break;
                    }
                    let Some(next) = lengths.next(*behind) else { break };
                    *behind -= next.bytes;
                    *piece = next.bytes;
                    headers.push((at, next.header));
                }
            }
            Framing::Unknown { pieces, held } => {
                held_before = std::mem::take(held);
                let mut at = 0;
                for piece in pieces.of(held_before.len() + bytes, is_last) {
                    headers.push((at, piece.header));
                    at += piece.bytes;
                }
                let mut slices = vec![&held_before[..]];
                slices.extend_from_slice(parts);
                for slice in skip(&slices, at) {
                    held.extend_from_slice(slice);
                }
            }
        }
        let held_now = match &self.framing {
            Framing::Unknown { held, .. } => held.len(),
            _ => 0,
        };
        let mut slices = vec![&held_before[..]];
        slices.extend_from_slice(parts);
        let mut out = weave(&slices, &headers, held_before.len() + bytes - held_now);
        self.put(&mut out)
    }

    fn put(&mut self, slices: &mut [IoSlice<'_>]) -> Result<(), Error> {
        let Some(armorer) = &mut self.armorer else { return self.sink.write(slices) };
        self.armored.clear();
        for slice in slices.iter() {
            armorer.update(slice, &mut self.armored);
        }
        self.sink.write(&mut [IoSlice::new(&self.armored)])
    }

    /// Ends the armor and finishes the output; returns the number of bytes written.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        if let Some(armorer) = self.armorer.take() {
            self.armored.clear();
            armorer.finish(&mut self.armored);
            self.sink.write(&mut [IoSlice::new(&self.armored)])?;
        }
        self.sink.finish()
    }
}

/// The first `bytes` bytes of the slices, with each header inserted before the byte at its place.
fn weave<'s>(slices: &[&'s [u8]], headers: &'s [(usize, Vec<u8>)], bytes: usize) -> Vec<IoSlice<'s>> {
    let mut out = Vec::with_capacity(slices.len() + 2 * headers.len());
    let mut headers = headers.iter().peekable();
    let mut at = 0;
    for &slice in slices {
        let mut rest = &slice[..slice.len().min(bytes - at)];
        loop {
            while let Some((_, header)) = headers.next_if(|(place, _)| *place == at) {
                out.push(IoSlice::new(header));
            }
            if rest.is_empty() {
                break;
            }
            let next = headers.peek().map_or(rest.len(), |(place, _)| rest.len().min(place - at));
            out.push(IoSlice::new(&rest[..next]));
            rest = &rest[next..];
            at += next;
        }
    }
    out
}

/// The slices without their first `bytes` bytes.
fn skip<'s>(slices: &[&'s [u8]], mut bytes: usize) -> Vec<&'s [u8]> {
    let mut rest = Vec::new();
    for slice in slices {
        let skipped = bytes.min(slice.len());
        rest.push(&slice[skipped..]);
        bytes -= skipped;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_stand_where_they_belong() {
        let slices: [&[u8]; 3] = [b"ab", b"", b"cdef"];
        let headers = vec![(0, b"<".to_vec()), (3, b"|".to_vec()), (3, b"!".to_vec()), (6, b">".to_vec())];
        let woven: Vec<u8> = weave(&slices, &headers, 6).iter().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!(woven, b"<abc|!def>");
        let headers = vec![(2, b"|".to_vec())];
        let woven: Vec<u8> = weave(&slices, &headers, 4).iter().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!(woven, b"ab|cd");
    }
}
