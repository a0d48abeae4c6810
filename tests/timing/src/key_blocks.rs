//! Payloads of key blocks, texts that are enciphered with their format, and what chip cards are sent, over marked
//! bytes.

use crate::pins::{marked, used};
use payments::emv::{cvc3, script, with_parity};
use payments::ff1::{Alphabet, Direction, Ff1};
use payments::iso4;
use payments::key_block::{Version, key_length, verifies};

/// Lengths, MACs and digits are secret until a verdict is asked.
pub(crate) fn blocks() {
    eprintln!("payloads and MACs of key blocks");
    for algorithm in [b'T', b'A', b'D', b'H'] {
        used(key_length(&marked::<48>(60), algorithm));
    }
    used(verifies(Version::D, &marked::<16>(61), &[7; 16]));
    eprintln!("texts by FF1");
    for (characters, text) in [(&b"0123456789"[..], 16), (b"abcdefghijklmnopqrstuvwxyz", 7)] {
        let alphabet = Alphabet::new(characters).expect("it is one");
        for direction in [Direction::Encipher, Direction::Decipher] {
            let (digits, is_known) = alphabet.digits(&marked::<16>(62)[..text]);
            let ff1 = Ff1::new(alphabet.radix(), &digits, b"tweak", direction).expect("it is long enough");
            let digits = ff1.run(|block| block.map(|byte| byte.rotate_left(3).wrapping_mul(167)));
            used((alphabet.text(&digits), is_known));
        }
    }
    eprintln!("values and PIN blocks for chip cards");
    let (pin, _) = iso4::read(&marked(63));
    let (current, _) = iso4::read(&marked(64));
    used(script::visa_pin_block(&marked(65), &pin, Some(&current)));
    used((cvc3::digits(&marked(66)), with_parity(&marked(67))));
    used(payments::emv::verifies(&marked(68), &[1; 4]));
}
