//! Streams that Python 3.11 wrote with zlib 1.2.13 and libbzip2 1.0.8.

use crate::common::{BACKENDS, inflate};
use deflate::{Adler32, Backend, Deflater, Format, zlib_header};

#[test]
fn streams_of_zlib_and_libbzip2_are_read() {
    for backend in BACKENDS {
        for (format, stream) in [
            (Format::Zip, ZIP_1),
            (Format::Zip, ZIP_6),
            (Format::Zip, ZIP_9),
            (Format::Zip, ZIP_FIXED),
            (Format::Zlib, ZLIB_6),
            (Format::Bzip2, BZIP2_9),
        ] {
            for step_bytes in [1, 5, usize::MAX] {
                let read = inflate(format, backend, &bytes(stream), step_bytes, 777).unwrap();
                assert_eq!(String::from_utf8(read).unwrap(), bottles(), "{format:?}, {backend:?}");
            }
        }
    }
}

#[test]
fn the_frame_is_that_of_zlib() {
    let stream = bytes(ZLIB_6);
    assert_eq!(zlib_header(6), stream[..2]);
    let mut sum = Adler32::new();
    sum.update(bottles().as_bytes());
    assert_eq!(sum.value().to_be_bytes(), stream[stream.len() - 4..]);
}

#[test]
fn no_text_is_a_stream_too() {
    for backend in BACKENDS {
        let mut out = Vec::new();
        Deflater::new(1, backend).block(&[], &[], true, &mut out);
        assert_eq!(inflate(Format::Zip, Backend::ZlibRs, &out, 100, 100), Ok(Vec::new()));
        // An empty last block: with fixed codes, or stored.
        for stream in [&[0x03, 0x00][..], &[0x01, 0x00, 0x00, 0xff, 0xff]] {
            assert_eq!(inflate(Format::Zip, backend, stream, 100, 100), Ok(Vec::new()));
        }
    }
}

/// What all of them hold.
fn bottles() -> String {
    let line = |n| format!("{n} bottles of beer on the wall, {n} bottles of beer.\n");
    (80..100).rev().map(line).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Raw, level 1.
const ZIP_1: &str = "\
    85d2310ec2301044d1dea7d803208b4008f171886494c2c252b0c4f5332dfb8badbf5e35538a6d7d8c56bfd6dfb6d57a\
    58ffd8d8abfd5ead5daca0e754d6c0a0cb3c03832eb304065de6111874993930e832f7c0a0cbdc02832e3305065de61a\
    18f49c56ecfcff037619ecec0cba0c7676065d063b3b832e839d9d4197c1cecea0cb606767d065b0b333e832d8d91974\
    19ecec0c7a4e27";
/// Raw, level 6.
const ZIP_6: &str = "\
    85d2310ac3301404d15ea7f807082289edc43a4e0c322e84058e20d7cff6536c3dbc6e4a89ad8fd1ea37fa1e5bad57f4\
    33c651e3f769ed16053da7b21a832ef336065de6650cbacc620cbacc6c0cbacc640cbaccd31874998731e8327763d073\
    5acd07ec32e6037619f301bb8cf9805dc67cc02e633e6097311fb0cb980fd865cc07ec32e603f69cfe";
/// Raw, level 9.
const ZIP_9: &str = "\
    85d2cb09c3301405d17daa780584e0bf47e558209385882011a47d17e00b773dcceea414b9f55ecb2fda19b9946fb44f\
    f47789ff51eb33d2adbf1e09f3209edd3cbb7836f36ce259cdb38a6731cf229ed93cb37826f34ce219cd338a6730cf70\
    7f300e100e300e100e300e100e300e100e300e100e300e100e300e100e300e100e300e100e300e100e2e";
/// Raw, with the codes that the standard fixes.
const ZIP_FIXED: &str = "\
    b3b45448ca2f29c9492d56c84f53484a4d2d52c8cf5328c94855284fccc9d151b0c490d7e3b2b420a007431ea8c79c80\
    1e0c79a01e33027a30e4817a4c09e8c19007ea3121a007431ea8c798801e0c79a01e23027a30e4817a0c09e8c19007ea\
    3120a007435e8fcb82403ac09407ea21900e30e5817a08a4034c79a01e02e900531ea887403ac09407ea21900e30e581\
    7a08a4034c79a01e02e900531ea887403ac09407ea21900e30e5f5b800";
/// In the frame of ZLIB, level 6.
const ZLIB_6: &str = "\
    789c85d2310ac3301404d15ea7f807082289edc43a4e0c322e84058e20d7cff6536c3dbc6e4a89ad8fd1ea37fa1e5bad\
    57f433c651e3f769ed16053da7b21a832ef336065de6650cbacc620cbacc6c0cbacc640cbaccd31874998731e8327763\
    d0735acd07ec32e6037619f301bb8cf9805dc67cc02e633e6097311fb0cb980fd865cc07ec32e603f69cfe46a15780";
/// bzip2, level 9.
const BZIP2_9: &str = "\
    425a68393141592653593a47a55b0000a95980001040057fe033459c803000c18253d553d437b550d006d40a00000c99\
    0152a9ea60011a69830146028f0051c38e973973e9af592492492eeeeeeeee492492499028c851b051ec28d828c051a6\
    822aaaaaaaaaaaaaabe7d2aaaaaaaae30b8c2aaaaaaaafe0a100a3214640a20144023a11d91423d08ec8f645a492c116\
    04508ac4542284782ee48a70a120748f4ab6";
