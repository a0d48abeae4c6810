//! A deflater for the pieces of a deflate stream: each piece is compressed independently of all others.
//!
//! ISA-L takes any match that its hash table shows, near or far. In records of fields, far matches are short
//! coincidences of digits that cost more than they save. Limited to 16 or 8 KiB, the output is 1 to 4 % smaller, in 2
//! to 10 % less time. In prose and programs far matches pay: with the limit, the output is 2 to 13 % larger. Only
//! trying shows which case a text is: now and then a sample is compressed in each way, and the smallest output decides.

use crate::backend::{Backend, isal_level};
use crate::isal_ffi;
use zeroize::Zeroize;
use zlib_rs::{Deflate, DeflateFlush, Status};

/// How far back deflate can refer, in bytes, which is the useful length of a dictionary.
pub const DICTIONARY_BYTES_MAX: usize = 32 << 10;

/// A good length of pieces, in bytes of text: without dictionaries they cost about 2 bytes in a thousand more than one
/// long piece, and text and output stay in a core's cache.
pub const PIECE_BYTES: usize = 512 << 10;

/// Compresses pieces of a deflate stream, each independently: threads with a deflater each compress pieces of
/// one stream in parallel. Reused for many pieces, it allocates nothing.
pub struct Deflater {
    engine: Engine,
}

enum Engine {
    Isal(Isal),
    ZlibRs(Box<Deflate>),
}

impl Deflater {
    /// A deflater at `level`, 1 (fastest) to 9 (smallest); other values become the nearest of these.
    #[must_use]
    pub fn new(level: u8, backend: Backend) -> Self {
        let level = level.clamp(1, 9);
        let isal = isal_level(level).filter(|_| backend == Backend::Isal).and_then(isal_ffi::Deflater::new);
        let engine = match isal {
            Some(deflater) => Engine::Isal(Isal::new(deflater)),
            None => Engine::ZlibRs(Box::new(Deflate::new(i32::from(level), false, WINDOW_BITS))),
        };
        Self { engine }
    }

    /// The backend in use: the requested one, or its substitute.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.engine {
            Engine::Isal(_) => Backend::Isal,
            Engine::ZlibRs(_) => Backend::ZlibRs,
        }
    }

    /// Appends to `out` the raw deflate of `text`, ending on a byte border; with `is_last` it also ends the stream.
    ///
    /// `dictionary` is the text just before, of which the last 32 KiB count. It is empty at the start of a stream, or
    /// if each piece must be readable by itself. Nothing is appended for an empty `text` that is not the last. The
    /// output for a text may depend on what was compressed before, but always inflates to that text.
    pub fn block(&mut self, dictionary: &[u8], text: &[u8], is_last: bool, out: &mut Vec<u8>) {
        if text.is_empty() && !is_last {
            return;
        }
        let dictionary = &dictionary[dictionary.len().saturating_sub(DICTIONARY_BYTES_MAX)..];
        match &mut self.engine {
            Engine::Isal(isal) => isal.block(dictionary, text, is_last, out),
            Engine::ZlibRs(zlib) => block_zlib_rs(zlib, dictionary, text, is_last, out),
        }
    }
}

/// ISA-L's deflater, and the window that the last trial chose.
struct Isal {
    deflater: isal_ffi::Deflater,
    /// log2 of the window in bytes, one of [`WINDOWS_BITS`].
    window_bits: u16,
    pieces_to_trial: u32,
    /// Output of a trial, kept only for its length and then wiped.
    sample: Vec<u8>,
}

impl Isal {
    fn new(deflater: isal_ffi::Deflater) -> Self {
        Self {
            deflater,
            window_bits: WINDOWS_BITS[0],
            pieces_to_trial: PIECES_BEFORE_TRIAL,
            sample: Vec::new(),
        }
    }

    fn block(&mut self, dictionary: &[u8], text: &[u8], is_last: bool, out: &mut Vec<u8>) {
        match text.get(..SAMPLE_TEXT_BYTES) {
            Some(sample) if self.pieces_to_trial == 0 => self.trial(dictionary, sample),
            _ => self.pieces_to_trial = self.pieces_to_trial.saturating_sub(1),
        }
        self.deflater.block(self.window_bits, dictionary, text, is_last, out);
    }

    /// Compresses a sample with each window, and continues with the one of the smallest output.
    fn trial(&mut self, dictionary: &[u8], sample: &[u8]) {
        self.pieces_to_trial = PIECES_TO_TRIAL;
        let mut least = usize::MAX;
        for window_bits in WINDOWS_BITS {
            self.deflater.block(window_bits, dictionary, sample, false, &mut self.sample);
            if self.sample.len() < least {
                (least, self.window_bits) = (self.sample.len(), window_bits);
            }
            self.sample.zeroize();
        }
    }
}

fn block_zlib_rs(zlib: &mut Deflate, dictionary: &[u8], text: &[u8], is_last: bool, out: &mut Vec<u8>) {
    zlib.reset();
    if !dictionary.is_empty() {
        zlib.set_dictionary(dictionary).expect("a raw stream takes a dictionary at its start");
    }
    let flush = if is_last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
    let mut room = zlib_rs::compress_bound(text.len()).max(ROOM_BYTES_MIN);
    loop {
        let start = out.len();
        out.resize(start + room, 0);
        let (read, written) = (zlib.total_in(), zlib.total_out());
        let rest = &text[usize::try_from(read).expect("at most the text's length")..];
        let status = zlib.compress(rest, &mut out[start..], flush).expect("a prepared stream compresses");
        let written = usize::try_from(zlib.total_out() - written).expect("at most the room");
        out.truncate(start + written);
        // A flush is complete when it leaves room; the last piece when the stream says so.
        if status == Status::StreamEnd || (!is_last && written < room) {
            return;
        }
        room = ROOM_BYTES_MIN;
    }
}

/// log2 of the window, 32 KiB.
const WINDOW_BITS: u8 = 15;
/// Room that is added when the output is longer than expected, in bytes.
const ROOM_BYTES_MIN: usize = 64 << 10;
/// log2 of the windows that are tried, in bytes. Narrower windows give larger output for any text.
const WINDOWS_BITS: [u16; 3] = [WINDOW_BITS as u16, 14, 13];
/// Length of the sample that a trial compresses with each window, in bytes. With shorter samples chance decides.
const SAMPLE_TEXT_BYTES: usize = 128 << 10;
/// Pieces from one trial to the next. A trial takes three quarters of the time of a piece, so it adds 3 in 1,000.
const PIECES_TO_TRIAL: u32 = 255;
/// Pieces before the first trial: for a text of at most one piece, a trial would nearly double the time.
const PIECES_BEFORE_TRIAL: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of digits whose first fields stay the same for a while.
    fn records() -> Vec<u8> {
        let mut state = 1u64;
        let mut text = Vec::new();
        for line in 0..8000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let line =
                format!("{:08}{:010}{:012}EUR PAYMENT\n", line / 20, state >> 40, (state >> 20) % 1_000_000);
            text.extend_from_slice(line.as_bytes());
        }
        text
    }

    /// Bytes that come again 20,000 later.
    fn far() -> Vec<u8> {
        let noise: Vec<u8> =
            (0..20_000u64).map(|i| (i.wrapping_mul(i).wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        noise.repeat(10)
    }

    #[test]
    fn trials_find_how_far_to_look_back() {
        let Some(deflater) = isal_ffi::Deflater::new(1) else { return };
        let mut isal = Isal::new(deflater);
        let mut out = Vec::new();
        let (records, far) = (records(), far());
        isal.block(&[], &records, false, &mut out);
        assert_eq!((isal.window_bits, isal.pieces_to_trial), (15, 0), "one piece alone is not tried");
        isal.block(&[], &records[..1000], false, &mut out);
        assert_eq!((isal.window_bits, isal.pieces_to_trial), (15, 0), "too short for a trial");
        isal.block(&[], &records, false, &mut out);
        assert!(isal.window_bits < 15 && isal.pieces_to_trial == PIECES_TO_TRIAL);
        let narrow_bits = isal.window_bits;
        for _ in 0..PIECES_TO_TRIAL {
            isal.block(&[], &far, false, &mut out);
            assert_eq!(isal.window_bits, narrow_bits, "no trial yet");
        }
        let before = out.len();
        isal.block(&[], &far, false, &mut out);
        assert_eq!(isal.window_bits, 15);
        assert!(out.len() - before < far.len() / 2, "what was far is found");
    }
}
