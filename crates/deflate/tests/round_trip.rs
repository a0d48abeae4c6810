//! What one backend writes, every other reads: all levels, cuts, dictionaries, frames and sizes of step.

use crate::common::{self, BACKENDS, compress, frame, inflate, text_like};
use deflate::{Backend, Deflater, Format};
use miniz_oxide::inflate::{decompress_to_vec, decompress_to_vec_zlib};

/// Borders of deflate's window, of a stored block, of the tables and of our own pieces.
const SIZES: &[usize] =
    &[0, 1, 2, 3, 257, 258, 259, 32_767, 32_768, 32_769, 65_535, 65_536, 131_071, 131_072, 131_073, 300_000];

#[test]
fn every_level_of_every_backend_is_read_by_every_reader() {
    for (kind, text) in common::kinds(200_000) {
        for backend in BACKENDS {
            for level in 1..=9 {
                let compressed = compress(level, backend, 64 << 10, true, &text);
                let name = format!("{kind}, {backend:?}, level {level}");
                assert!(decompress_to_vec(&compressed).unwrap() == text, "{name}: miniz_oxide");
                for reader in BACKENDS {
                    let read = inflate(Format::Zip, reader, &compressed, usize::MAX, 1 << 20).unwrap();
                    assert!(read == text, "{name}: {reader:?}");
                }
            }
        }
    }
}

#[test]
fn every_size_and_piece_is_read() {
    let long = text_like(300_000, 7);
    for &bytes in SIZES {
        for piece_bytes in [1 << 10, 32 << 10, 100_000, 1 << 20] {
            for with_dictionary in [false, true] {
                for backend in BACKENDS {
                    let text = &long[..bytes];
                    let compressed = frame(1, backend, piece_bytes, with_dictionary, text);
                    let name = format!("{bytes} bytes in pieces of {piece_bytes}, {backend:?}");
                    assert!(decompress_to_vec_zlib(&compressed).unwrap() == text, "{name}: miniz_oxide");
                    for reader in BACKENDS {
                        let read = inflate(Format::Zlib, reader, &compressed, 10_000, 10_000).unwrap();
                        assert!(read == text, "{name}: {reader:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn steps_of_any_size_give_the_same_text() {
    let text = text_like(90_000, 3);
    for writer in BACKENDS {
        let compressed = frame(1, writer, 20_000, true, &text);
        for reader in BACKENDS {
            for input_bytes in [1, 2, 3, 7, 8, 9, 1000, usize::MAX] {
                for room_bytes in [1, 2, 257, 258, 259, 32_768, 1 << 20] {
                    let read = inflate(Format::Zlib, reader, &compressed, input_bytes, room_bytes).unwrap();
                    assert!(read == text, "{writer:?} -> {reader:?}, steps of {input_bytes}, {room_bytes}");
                }
            }
        }
    }
}

#[test]
fn a_dictionary_is_used() {
    let text = text_like(40_000, 11);
    let (before, after) = text.split_at(20_000);
    for backend in BACKENDS {
        for level in [1, 6, 9] {
            let mut deflater = Deflater::new(level, backend);
            let (mut with, mut without) = (Vec::new(), Vec::new());
            deflater.block(before, before, false, &mut with);
            deflater.block(&[], before, false, &mut without);
            assert!(with.len() * 3 < without.len(), "{backend:?}, level {level}: the same text again");
            let mut apart = Vec::new();
            Deflater::new(level, backend).block(before, after, true, &mut apart);
            let mut again = Vec::new();
            deflater.block(before, after, true, &mut again);
            assert!(apart == again, "{backend:?}, level {level}: nothing stays from the piece before");
        }
    }
}

#[test]
fn higher_levels_give_smaller_streams() {
    let text = text_like(1 << 20, 5);
    let best: Vec<usize> = [1, 2, 3]
        .iter()
        .map(|&level| compress(level, Backend::best(level), 512 << 10, true, &text).len())
        .collect();
    assert!(best.is_sorted_by(|a, b| a >= b), "{best:?}");
    let sizes: Vec<usize> = [1, 3, 6, 9]
        .iter()
        .map(|&level| compress(level, Backend::ZlibRs, 512 << 10, true, &text).len())
        .collect();
    assert!(sizes[1..].iter().all(|&bytes| bytes < sizes[0]), "{sizes:?}");
}

#[test]
fn the_fastest_is_named() {
    let lacks_isal = needs::did_without(needs::Need::IsaL, !Backend::Isal.is_available());
    let isal = if lacks_isal { Backend::ZlibRs } else { Backend::Isal };
    for level in 1..=9 {
        let best = Backend::best(level);
        assert_eq!(best, if level <= 2 { isal } else { Backend::ZlibRs }, "level {level}");
        assert_eq!(Deflater::new(level, best).backend(), best, "it is there");
        assert_eq!(Deflater::new(level, Backend::Isal).backend(), best, "and stands in");
        assert_eq!(Deflater::new(level, Backend::ZlibRs).backend(), Backend::ZlibRs);
    }
}

#[test]
fn levels_out_of_range_are_the_nearest() {
    let text = text_like(50_000, 9);
    let of = |level| compress(level, Backend::ZlibRs, 1 << 20, true, &text);
    assert!(of(0) == of(1) && of(255) == of(9));
}

#[test]
fn text_that_does_not_compress_grows_by_little() {
    let text = common::noise(1 << 20, 1);
    for backend in BACKENDS {
        for level in [1, 6] {
            let compressed = compress(level, backend, 512 << 10, true, &text);
            assert!(compressed.len() < text.len() + text.len() / 16, "{backend:?}: {}", compressed.len());
        }
    }
}
