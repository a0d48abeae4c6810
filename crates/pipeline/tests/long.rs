//! Beyond 4 GiB, where one length cannot say how long a packet is.

use crate::common::*;
use openpgp::{AeadAlgorithm, CompressionAlgorithm};
use pipeline::{Compression, Decrypt, Encrypt, Input, Limits, Output, Unauthenticated};
use std::io::{self, Read, Write};

/// Longer than 32 bits say, by a length that is no multiple of anything.
const BYTES: u64 = (1 << 32) + 12_345_677;

/// Zeros, but for the number of each mebibyte at its begin.
struct Counted {
    at: u64,
}

fn expected(at: u64, out: &mut [u8]) {
    out.fill(0);
    let mebibyte = 1 << 20;
    let mut number = at >> 20;
    while number * mebibyte < at + out.len() as u64 {
        for (index, octet) in number.to_be_bytes().into_iter().enumerate() {
            let place = (number * mebibyte + index as u64).wrapping_sub(at);
            if let Some(cell) = usize::try_from(place).ok().and_then(|place| out.get_mut(place)) {
                *cell = octet;
            }
        }
        number += 1;
    }
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let some = (BYTES - self.at).min(out.len() as u64) as usize;
        expected(self.at, &mut out[..some]);
        self.at += some as u64;
        Ok(some)
    }
}

impl Write for Counted {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut wanted = vec![0; text.len()];
        expected(self.at, &mut wanted);
        if wanted != text {
            return Err(io::Error::other(format!("the text differs behind {}", self.at)));
        }
        self.at += text.len() as u64;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.at == BYTES { Ok(()) } else { Err(io::Error::other(format!("{} bytes came", self.at))) }
    }
}

fn through_a_pipe(algorithm: CompressionAlgorithm, is_known: bool) {
    let protection = seipd_v2(AeadAlgorithm::Gcm, 12);
    let given = Given::new(form(protection));
    let compression = Compression { algorithm, level: 1 };
    let encrypt = Encrypt { session_key: Some(&given.0), compression, ..encrypt_of(protection) };
    let limits = Limits::default();
    let unauthenticated = Unauthenticated::Refuse;
    let decrypt = Decrypt { unauthenticated, limits, ..decrypt_with(&given) };
    let (reader, writer) = io::pipe().unwrap();
    let read = std::thread::scope(|scope| {
        let encrypting = scope.spawn(|| {
            let bytes = is_known.then_some(BYTES);
            let text = Input::Reader { reader: Box::new(Counted { at: 0 }), bytes, name: "text".to_owned() };
            pipeline::encrypt(text, Output::Writer(Box::new(writer)), &encrypt, &run(None, 1)).unwrap();
        });
        let message = Input::Reader { reader: Box::new(reader), bytes: None, name: "pipe".to_owned() };
        let text = Output::Writer(Box::new(Counted { at: 0 }));
        let summary = pipeline::decrypt(message, text, &decrypt, &run(None, 1)).unwrap();
        encrypting.join().unwrap();
        summary
    });
    assert_eq!(read.output_bytes, BYTES);
}

#[test]
fn a_length_that_is_known_is_cut_into_pieces_of_a_gibibyte() {
    through_a_pipe(CompressionAlgorithm::Uncompressed, true);
}

#[test]
fn a_stream_that_is_packed_goes_on_as_long_as_it_likes() {
    through_a_pipe(CompressionAlgorithm::ZIP, false);
}
