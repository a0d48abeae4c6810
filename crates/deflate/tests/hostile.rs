//! Streams that are cut, changed, or made to harm: refused, never believed, never beyond the room.

use crate::common::{BACKENDS, Unread, compress, frame, inflate, noise, text_like};
use deflate::{Backend, Deflater, Format, InflateError, Inflater};

#[test]
fn a_cut_stream_is_never_at_its_end() {
    let text = text_like(3000, 1);
    for writer in BACKENDS {
        for (format, stream) in streams(writer, &text) {
            for reader in BACKENDS {
                for cut in 0..stream.len() {
                    let read = inflate(format, reader, &stream[..cut], usize::MAX, 1000);
                    assert_eq!(read, Err(Unread::Truncated), "{format:?}, {reader:?}, cut at {cut}");
                }
            }
        }
    }
}

#[test]
fn what_lies_behind_is_left() {
    let text = text_like(3000, 2);
    for writer in BACKENDS {
        for (format, mut stream) in streams(writer, &text) {
            stream.extend_from_slice(b"and more than the library reads ahead");
            for reader in BACKENDS {
                for step_bytes in [1, 7, usize::MAX] {
                    for room_bytes in [1, 1000, 4000] {
                        let read = inflate(format, reader, &stream, step_bytes, room_bytes);
                        assert_eq!(read, Err(Unread::Trailing(37)), "{format:?}, {reader:?}, {step_bytes}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_changed_bit_in_a_frame_is_found() {
    let text = text_like(2000, 3);
    for writer in BACKENDS {
        let stream = frame(1, writer, 700, true, &text);
        for reader in BACKENDS {
            for bit in 0..stream.len() * 8 {
                let mut changed = stream.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                match inflate(Format::Zlib, reader, &changed, usize::MAX, 1 << 20) {
                    // Bits of the header's level and of padding mean nothing to the text.
                    Ok(read) => assert!(read == text, "{reader:?}: another text passes, bit {bit}"),
                    Err(Unread::Wrong(_) | Unread::Truncated | Unread::Trailing(_)) => {}
                }
            }
        }
    }
}

#[test]
fn a_changed_bit_in_bzip2_is_found() {
    let (_, stream) = streams(Backend::ZlibRs, b"").remove(2);
    for bit in 0..stream.len() * 8 {
        let mut changed = stream.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let read = inflate(Format::Bzip2, Backend::ZlibRs, &changed, 10, 1000);
        assert!(read.is_err() || read == Ok(BZIP2_TEXT.to_vec()), "bit {bit}: {read:?}");
    }
}

#[test]
fn each_fault_has_its_error() {
    let right = frame(6, Backend::ZlibRs, 1 << 20, true, b"some text, and some text");
    let with = |at: usize, octet: u8| {
        let mut stream = right.clone();
        stream[at] = octet;
        stream
    };
    let cases = [
        ("another method", Format::Zlib, with(0, 0x79), InflateError::Header),
        ("a preset dictionary", Format::Zlib, vec![0x78, 0xbb, 0, 0, 0, 0], InflateError::Header),
        ("a wrong check value", Format::Zlib, with(right.len() - 1, 0), InflateError::Checksum),
        ("a block of type 3", Format::Zip, vec![0x07, 0, 0, 0, 0, 0], InflateError::Stream),
        ("a stored length that is not repeated", Format::Zip, vec![1, 5, 0, 5, 0, 1], InflateError::Stream),
        ("a distance before the start", Format::Zip, vec![0x4b, 0x04, 0x12, 0, 0, 0], InflateError::Stream),
        ("no codes at all", Format::Zip, [&[0x05, 0, 0][..], &[0; 40]].concat(), InflateError::Stream),
        ("not bzip2", Format::Bzip2, b"BZh0 and so on".to_vec(), InflateError::Stream),
        ("gzip's frame", Format::Bzip2, vec![0x1f, 0x8b, 8, 0], InflateError::Stream),
    ];
    for (name, format, stream, error) in cases {
        for backend in BACKENDS {
            let mut inflater = Inflater::new(format, backend);
            let mut room = [0; 4096];
            assert_eq!(inflater.inflate(&stream, &mut room), Err(error), "{name}, {backend:?}");
            assert_eq!(inflater.inflate(&right, &mut room), Err(error), "{name}, {backend:?}: it stays");
        }
    }
}

#[test]
fn the_end_stays_the_end() {
    for backend in BACKENDS {
        let stream = frame(1, backend, 100, true, b"short");
        let mut inflater = Inflater::new(Format::Zlib, backend);
        let mut room = [0; 100];
        let end = inflater.inflate(&stream, &mut room).unwrap();
        assert!(end.is_end && end.consumed == stream.len() && end.produced == 5);
        let after = inflater.inflate(&stream, &mut room).unwrap();
        assert!(after.is_end && after.consumed == 0 && after.produced == 0);
    }
}

#[test]
fn without_room_or_input_nothing_is_lost() {
    let text = text_like(5000, 4);
    for reader in BACKENDS {
        let stream = compress(1, Backend::ZlibRs, 1000, true, &text);
        let mut inflater = Inflater::new(Format::Zip, reader);
        let (mut read, mut at, mut room) = (Vec::new(), 0, [0; 300]);
        loop {
            let empty = inflater.inflate(&[], &mut []).unwrap();
            assert_eq!((empty.consumed, empty.produced), (0, 0));
            let step = inflater.inflate(&stream[at..stream.len().min(at + 11)], &mut []).unwrap();
            assert_eq!(step.produced, 0);
            at += step.consumed;
            let step = inflater.inflate(&stream[at..stream.len().min(at + 13)], &mut room).unwrap();
            at += step.consumed;
            read.extend_from_slice(&room[..step.produced]);
            if step.is_end {
                break;
            }
        }
        assert!(read == text && at == stream.len(), "{reader:?}");
    }
}

#[test]
fn noise_is_refused_or_read_within_the_room() {
    for seed in 0..2000 {
        let stream = noise(600, seed);
        for format in [Format::Zip, Format::Zlib, Format::Bzip2] {
            for backend in BACKENDS {
                let mut inflater = Inflater::new(format, backend);
                let mut room = [0xa5; 1000];
                let limit = seed as usize % 999;
                if let Ok(step) = inflater.inflate(&stream, &mut room[..limit]) {
                    assert!(step.produced <= limit && step.consumed <= stream.len());
                }
                assert!(room[limit..].iter().all(|&octet| octet == 0xa5), "written beyond the room");
            }
        }
    }
}

#[test]
fn streams_beyond_4_gib_are_read_with_a_room_of_one_piece() {
    // The libraries count in 32 bits within; a bomb is told from a text by the caller, who counts what comes.
    let piece = vec![b'0'; PIECE_BYTES];
    for backend in BACKENDS {
        let (mut deflater, mut compressed, mut last) = (Deflater::new(1, backend), Vec::new(), Vec::new());
        deflater.block(&[], &piece, false, &mut compressed);
        deflater.block(&[], b"end", true, &mut last);
        let mut inflater = Inflater::new(Format::Zip, backend);
        let mut room = vec![0; 1 << 20];
        let mut text_bytes = 0u64;
        for _ in 0..PIECES_BEYOND_4_GIB {
            let mut at = 0;
            loop {
                let step = inflater.inflate(&compressed[at..], &mut room).unwrap();
                at += step.consumed;
                text_bytes += step.produced as u64;
                assert!(!step.is_end);
                if step.produced < room.len() {
                    break;
                }
            }
        }
        assert_eq!(text_bytes, PIECE_BYTES as u64 * PIECES_BEYOND_4_GIB as u64, "{backend:?}");
        let step = inflater.inflate(&last, &mut room).unwrap();
        assert!(step.is_end && &room[..step.produced] == b"end", "{backend:?}");
    }
}

/// The text in each format; BZIP2 has a text of its own.
fn streams(writer: Backend, text: &[u8]) -> Vec<(Format, Vec<u8>)> {
    vec![
        (Format::Zip, compress(1, writer, 1100, true, text)),
        (Format::Zlib, frame(1, writer, 1100, true, text)),
        (Format::Bzip2, BZIP2.to_vec()),
    ]
}

const PIECE_BYTES: usize = 64 << 20;
const PIECES_BEYOND_4_GIB: usize = 66;
const BZIP2_TEXT: &[u8] = b"bzip2 has one text here, which is short";
/// By Python's bz2.
const BZIP2: &[u8] = &[
    0x42, 0x5a, 0x68, 0x31, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x53, 0xff, 0xd3, 0x55, 0x00, 0x00, 0x05,
    0x19, 0x80, 0x40, 0x04, 0x10, 0x00, 0x3a, 0x61, 0xdc, 0xd0, 0x20, 0x00, 0x22, 0x23, 0x34, 0x81, 0x84,
    0x68, 0x53, 0x4c, 0x8c, 0x4c, 0x4c, 0x43, 0x9d, 0x49, 0x6f, 0x17, 0x80, 0xac, 0xf2, 0x04, 0x31, 0x75,
    0x96, 0x87, 0xae, 0x9c, 0x71, 0xd4, 0x5a, 0x73, 0x2c, 0x57, 0xc5, 0xdc, 0x91, 0x4e, 0x14, 0x24, 0x14,
    0xff, 0xf4, 0xd5, 0x40,
];
