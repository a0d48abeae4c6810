//! Texts, and whole streams from pieces.

use deflate::{Adler32, Backend, Deflater, Format, InflateError, Inflater, zlib_header};
use seeded::Random;

/// Where ISA-L is not installed the first is the second.
pub const BACKENDS: [Backend; 2] = [Backend::Isal, Backend::ZlibRs];

/// Bytes that do not compress.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    Random(seed).bytes(bytes)
}

/// Words of few kinds, with numbers between them: compresses to about a quarter.
pub fn text_like(bytes: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Random(seed);
    let words: Vec<Vec<u8>> = (0..800)
        .map(|_| (0..3 + numbers.below(9)).map(|_| b'a' + (numbers.below(26)) as u8).collect())
        .collect();
    let mut text = Vec::with_capacity(bytes + 32);
    while text.len() < bytes {
        if numbers.below(12) == 0 {
            text.extend_from_slice(format!("{:08}\n", numbers.below(100_000_000)).as_bytes());
        } else {
            let rank = numbers.below(800) * numbers.below(800) / 800;
            text.extend_from_slice(&words[rank]);
            text.push(b' ');
        }
    }
    text.truncate(bytes);
    text
}

/// Each kind of text that takes its own way through a compressor.
pub fn kinds(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut mixed = text_like(bytes / 2, 21);
    mixed.extend(noise(bytes / 4, 22));
    mixed.resize(bytes, b'=');
    vec![
        ("words", text_like(bytes, 20)),
        ("noise", noise(bytes, 23)),
        ("one octet", vec![b'x'; bytes]),
        ("mixed", mixed),
    ]
}

/// A stream of pieces.
pub fn compress(level: u8, backend: Backend, piece_bytes: usize, dictionary: bool, text: &[u8]) -> Vec<u8> {
    let mut deflater = Deflater::new(level, backend);
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let end = (at + piece_bytes).min(text.len());
        let before = if dictionary { &text[..at] } else { &[] };
        deflater.block(before, &text[at..end], end == text.len(), &mut out);
        if end == text.len() {
            return out;
        }
        at = end;
    }
}

/// The same in the frame of ZLIB.
pub fn frame(level: u8, backend: Backend, piece_bytes: usize, dictionary: bool, text: &[u8]) -> Vec<u8> {
    let mut out = zlib_header(level).to_vec();
    out.extend(compress(level, backend, piece_bytes, dictionary, text));
    let mut sum = Adler32::new();
    sum.update(text);
    out.extend(sum.value().to_be_bytes());
    out
}

/// Why a stream was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is wrong.
    Wrong(InflateError),
    /// It ends too early.
    Truncated,
    /// Something lies behind it, so many bytes.
    Trailing(usize),
}

/// Reads a whole stream, given in steps of `input_bytes` into rooms of `room_bytes`.
pub fn inflate(
    format: Format,
    backend: Backend,
    compressed: &[u8],
    input_bytes: usize,
    room_bytes: usize,
) -> Result<Vec<u8>, Unread> {
    let mut inflater = Inflater::new(format, backend);
    let mut room = vec![0; room_bytes];
    let (mut text, mut at) = (Vec::new(), 0usize);
    loop {
        let end = at.saturating_add(input_bytes).min(compressed.len());
        let step = inflater.inflate(&compressed[at..end], &mut room).map_err(Unread::Wrong)?;
        assert!(step.consumed <= end - at && step.produced <= room_bytes);
        text.extend_from_slice(&room[..step.produced]);
        at += step.consumed;
        if step.is_end {
            return if at == compressed.len() {
                Ok(text)
            } else {
                Err(Unread::Trailing(compressed.len() - at))
            };
        }
        if step.consumed == 0 && step.produced == 0 {
            assert_eq!(at, compressed.len(), "no step where there is input and room");
            return Err(Unread::Truncated);
        }
    }
}
