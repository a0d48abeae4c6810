//! What lies between the ciphers of PIN verbs, over marked blocks: digits, lengths and verdicts are secret until the
//! end.

use crate::secret;
use payments::{
    Decimalisation, Extraction, Format, Layout, Pin, block, cvv, ibm3624, interbank, iso4, security_code,
    visa,
};
use std::hint::black_box;

/// Digits of a PAN, which are public.
const PAN: [u8; 12] = [4, 3, 3, 2, 2, 1, 1, 0, 0, 9, 9, 6];

/// A marked block of so many bytes.
pub(crate) fn marked<const N: usize>(seed: usize) -> [u8; N] {
    let mut block = [0; N];
    block.copy_from_slice(&secret(N, seed));
    block
}

/// Keeps the compiler from leaving out what nobody looks at.
pub(crate) fn used<T>(value: T) {
    let _ = black_box(value);
}

/// Blocks of every format, read by every method and made again.
pub(crate) fn blocks() {
    let methods = [Extraction::PinBlock, Extraction::PadDigit, Extraction::HexDigit, Extraction::PadExist];
    let lengths = (4..=16).map(Extraction::Length);
    let methods: Vec<_> = methods.into_iter().chain(lengths).collect();
    for (seed, format) in (0..).zip(Format::ALL) {
        for extraction in methods.iter().copied().filter(|method| method.fits(*format)) {
            eprintln!("PIN block {} read by {extraction:?}, and made", format.keyword());
            let layout = Layout { format: *format, extraction, pad: 14, least: 4, checks_digits: true };
            let (pin, is_block) = block::read(&layout, &PAN, &marked(seed));
            used((&pin, is_block));
            used(block::make(&layout, &PAN, &pin, 1234, &marked(seed + 1)));
        }
    }
    eprintln!("PIN fields of ISO-4");
    let (pin, is_field) = iso4::read(&marked(40));
    used((is_field, iso4::pin_field(&pin, &marked(41))));
}

/// PINs, offsets and values of enciphered blocks.
pub(crate) fn methods() {
    let (pin, _) = iso4::read(&marked(50));
    let other = Pin::new(&[1; 16], 4);
    eprintln!("PINs compared");
    used(pin.is(&other).and(pin.has_length(4)).and(pin.has_at_least(4)));
    eprintln!("PINs of IBM 3624 and of the German banking pool");
    let found = ibm3624::Intermediate::new(&Decimalisation::DEFAULT, &marked(51));
    used((found.pin(4), found.offset(&pin, 4), found.with_offset(6, &[3; 16], 4)));
    used(found.verifies(&pin, &[3; 16], 4));
    used((found.pool_pin(&[5; 4]), found.pool_offset(&pin)));
    eprintln!("VISA PVV");
    used(visa::block(&[4; 11], 1, &pin));
    used(visa::verifies(&marked(52), &[4, 0, 2, 1]));
    eprintln!("Interbank PIN");
    used(interbank::pin(&marked(53)));
    eprintln!("CVV");
    used(cvv::verifies(&marked(54), &[5, 6, 1]));
    eprintln!("card security codes");
    used(security_code::verifies(&marked(55), security_code::Code::All, &[5; 12]));
}
