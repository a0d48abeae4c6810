//! PIN blocks of 8 bytes, read and made.
//!
//! In the layouts below, each of 16 digits, L is the PIN's length and P a digit of the PIN. A lower-case p is a PIN
//! digit or, behind the last one, the filling. R is random, S a digit of the sequence number and D the pad digit.
//!
//! | format | layout |
//! |---|---|
//! | ISO-0 | `0LPPPPppppppppFF`, of which the last twelve are XORed with the PAN's |
//! | ISO-1 | `1LPPPPppppppppRR`, filled with random digits |
//! | ISO-2 | `2LPPPPppppppppFF` |
//! | ISO-3 | `3LPPPPppppppppRR`, filled with random digits from A to F; XORed as ISO-0 |
//! | VISA-2 | `LPPPPppDDDDDDDDD`, absent digits of the PIN zero |
//! | VISA-3 | `PPPPppppppppFDDD`, an F behind the last digit of the PIN |
//! | VISA-4 | as ISO-0, with other digits of the PAN |
//! | ECI-2 | `PPPPRRRRRRRRRRRR` |
//! | ECI-3 | `LPPPPppRRRRRRRRR`, absent digits of the PIN zero |
//! | 3621 | `SSSSPpppppppppppp`, filled with the pad digit |
//! | 3624 | `Pppppppppppppppp`, filled with the pad digit |
//! | 4704-EPP | `LPPPPppppppppFSS` |
//!
//! Of the PAN, ISO-0 and ISO-3 take the rightmost twelve digits without the check digit, and VISA-4 the leftmost twelve
//! of the digits without the check digit.

use crate::digits::{pack, unpack};
use crate::format::{Extraction, Format, Layout};
use crate::mask::Mask;
use crate::pin::Pin;
use zeroize::{Zeroize, Zeroizing};

/// The twelve digits of a PAN that a block holds.
pub type PanDigits = [u8; 12];

/// The PIN of a clear block, and whether the block is valid in control, length, filling and, if the layout checks them,
/// PIN digits. The PIN of an invalid block means nothing. `pan` is used only by formats with a PAN.
pub fn read(layout: &Layout, pan: &PanDigits, block: &[u8; 8]) -> (Pin, Mask) {
    let mut nibbles = unpack(block);
    let read = read_nibbles(layout, pan, &mut nibbles);
    nibbles.zeroize();
    read
}

fn read_nibbles(layout: &Layout, pan: &PanDigits, nibbles: &mut [u8; 16]) -> (Pin, Mask) {
    if layout.format.has_pan() {
        mask_pan(nibbles, pan);
    }
    let (length, is_any, from_f, from_a) = (
        nibbles[1],
        |_: u8, _: u8| Mask::YES,
        |_: u8, nibble: u8| Mask::same(nibble, 15),
        |_: u8, nibble: u8| Mask::below(nibble, 10).not(),
    );
    let (pin, is_block) = match layout.format {
        Format::Iso0 | Format::Visa4 => {
            Body::at(nibbles, 2, 16).read_any(layout, length, from_f, Mask::same(nibbles[0], 0))
        }
        Format::Iso1 => Body::at(nibbles, 2, 16).read(length, is_any, Mask::same(nibbles[0], 1)),
        Format::Iso2 => Body::at(nibbles, 2, 16).read(length, from_f, Mask::same(nibbles[0], 2)),
        Format::Iso3 => Body::at(nibbles, 2, 16).read_any(layout, length, from_a, Mask::same(nibbles[0], 3)),
        // An ISO-4 block has 16 bytes: 8 of them are never one.
        Format::Iso4 => (Pin::new(&[0; 16], 0), Mask::NO),
        Format::Visa2 => {
            let pad = nibbles[7];
            let filled = |at: u8, nibble: u8| Mask::same(nibble, Mask::below(at, 6).choose(0, pad));
            Body::at(nibbles, 1, 16).read(nibbles[0], filled, Mask::below(pad, 10))
        }
        Format::Eci3 => {
            let filled = |at: u8, nibble: u8| Mask::below(at, 6).not().or(Mask::same(nibble, 0));
            Body::at(nibbles, 1, 16).read(nibbles[0], filled, Mask::YES)
        }
        Format::Visa3 => {
            let body = Body::at(nibbles, 0, 16);
            body.read(body.first(|nibble| Mask::same(nibble, 15)), is_any, Mask::YES)
        }
        Format::Eci2 => Body::at(nibbles, 0, 16).read(4, is_any, Mask::YES),
        Format::Epp4704 => Body::at(nibbles, 1, 14).read(nibbles[0], from_f, Mask::YES),
        Format::Ibm3621 => Body::at(nibbles, 4, 16).read_padded(layout),
        Format::Ibm3624 => Body::at(nibbles, 0, 16).read_padded(layout),
    };
    let (least, most) = layout.format.digits();
    let is_long_enough = Mask::within(pin.length(), least.max(layout.least), most);
    (pin, is_block.and(is_long_enough))
}

/// The digits from the start of the PIN to the end of the block's filling, and their count.
struct Body {
    digits: [u8; 16],
    count: u8,
}

impl Body {
    fn at(nibbles: &[u8; 16], start: usize, end: usize) -> Self {
        let mut digits = [0; 16];
        digits[..end - start].copy_from_slice(&nibbles[start..end]);
        Self { digits, count: (end - start) as u8 }
    }

    /// A bit for each digit of this kind, the lowest bit for the first digit. Counting zeros is one instruction; the
    /// compiler would leave a search loop early.
    fn places(&self, kind: impl Fn(u8) -> Mask) -> u32 {
        (0..self.count)
            .zip(&self.digits)
            .fold(0, |places, (at, nibble)| places | u32::from(kind(*nibble).keep(1)) << at)
    }

    /// The number of digits before the first one of this kind; all of them if there is none.
    fn first(&self, kind: impl Fn(u8) -> Mask) -> u8 {
        (self.places(kind) | 1 << self.count).trailing_zeros() as u8
    }

    /// The number of digits before the run of `pad` digits that reaches to the end.
    fn before_run(&self, pad: u8) -> u8 {
        let others = self.places(|nibble| Mask::same(nibble, pad).not());
        (u32::BITS - 1 - (others << 1 | 1).leading_zeros()) as u8
    }

    /// The PIN of `length` decimal digits. For each later digit, `filled` says by place and value whether it is valid
    /// filling.
    fn read(&self, length: u8, filled: impl Fn(u8, u8) -> Mask, is_block: Mask) -> (Pin, Mask) {
        self.read_digits(10, length, filled, is_block)
    }

    /// As [`Body::read`], but with digits up to 15 if the layout does not check PIN digits.
    fn read_any(
        &self,
        layout: &Layout,
        length: u8,
        filled: impl Fn(u8, u8) -> Mask,
        is_block: Mask,
    ) -> (Pin, Mask) {
        self.read_digits(if layout.checks_digits { 10 } else { 16 }, length, filled, is_block)
    }

    /// The PIN of `length` digits below `base`.
    fn read_digits(
        &self,
        base: u8,
        length: u8,
        filled: impl Fn(u8, u8) -> Mask,
        is_block: Mask,
    ) -> (Pin, Mask) {
        let mut is_block = is_block;
        for (at, nibble) in (0..).zip(&self.digits) {
            let is_inside = Mask::below(at, length);
            let is_fill = Mask::below(at, self.count).not().or(filled(at, *nibble));
            let is_digit = Mask::below(*nibble, base);
            is_block = is_block.and(is_inside.and(is_digit).or(is_inside.not().and(is_fill)));
        }
        (Pin::new(&self.digits, length), is_block)
    }

    /// The PIN of a format with a pad digit: 3621 or 3624.
    fn read_padded(&self, layout: &Layout) -> (Pin, Mask) {
        let last = self.digits[usize::from(self.count) - 1];
        let (length, pad) = match layout.extraction {
            Extraction::Length(length) => return self.read(length, |_, _| Mask::YES, Mask::YES),
            Extraction::PadExist => (self.before_run(last), last),
            Extraction::HexDigit => (self.first(|nibble| Mask::below(nibble, 10).not()), last),
            Extraction::PadDigit | Extraction::PinBlock => (self.before_run(layout.pad), layout.pad),
        };
        self.read(length, |_, nibble| Mask::same(nibble, pad), Mask::YES)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.digits.zeroize();
    }
}

/// The block of a PIN. A longer PIN than the format takes is cut to its leftmost digits. `random` is used only by
/// formats with random digits. Of `sequence`, which is below 10,000, the format's last two or four digits are written.
pub fn make(layout: &Layout, pan: &PanDigits, pin: &Pin, sequence: u16, random: &[u8; 16]) -> [u8; 8] {
    let most = layout.format.digits().1;
    let length = Mask::below(most, pin.length()).choose(most, pin.length());
    let (pad, digits) = (layout.pad, pin.digits());
    // Writes the PIN digits, then the filling, which depends on the place.
    let fill = |out: &mut [u8], filling: &dyn Fn(u8) -> u8| {
        for ((at, place), digit) in (0..).zip(out).zip(digits) {
            *place = Mask::below(at, length).choose(*digit, filling(at));
        }
    };
    let mut nibbles = [0; 16];
    match layout.format {
        Format::Iso0 | Format::Visa4 | Format::Iso2 => {
            nibbles[0] = if layout.format == Format::Iso2 { 2 } else { 0 };
            nibbles[1] = length;
            fill(&mut nibbles[2..], &|_| 15);
        }
        Format::Iso1 => {
            (nibbles[0], nibbles[1]) = (1, length);
            fill(&mut nibbles[2..], &|at| random[usize::from(at)] & 15);
        }
        Format::Iso3 => {
            (nibbles[0], nibbles[1]) = (3, length);
            fill(&mut nibbles[2..], &|at| 10 + (u16::from(random[usize::from(at)]) * 6 / 256) as u8);
        }
        Format::Iso4 => {}
        Format::Visa2 | Format::Eci3 => {
            nibbles[0] = length;
            let is_random = layout.format == Format::Eci3;
            fill(&mut nibbles[1..], &|at| match (at < 6, is_random) {
                (true, _) => 0,
                (false, true) => random[usize::from(at)] & 15,
                (false, false) => pad,
            });
        }
        Format::Visa3 => fill(&mut nibbles, &|at| Mask::same(at, length).choose(15, pad)),
        Format::Eci2 => fill(&mut nibbles, &|at| random[usize::from(at)] & 15),
        Format::Epp4704 => {
            nibbles[0] = length;
            fill(&mut nibbles[1..14], &|_| 15);
            (nibbles[14], nibbles[15]) = ((sequence / 10 % 10) as u8, (sequence % 10) as u8);
        }
        Format::Ibm3621 => {
            let mut rest = sequence;
            for place in nibbles[..4].iter_mut().rev() {
                (*place, rest) = ((rest % 10) as u8, rest / 10);
            }
            fill(&mut nibbles[4..], &|_| pad);
        }
        Format::Ibm3624 => fill(&mut nibbles, &|_| pad),
    }
    if layout.format.has_pan() {
        mask_pan(&mut nibbles, pan);
    }
    let block = pack(&nibbles);
    nibbles.zeroize();
    block
}

/// The random bytes with which [`make`] fills a block as this ISO-3 block is filled. The bytes at the places of PIN
/// digits have no meaning.
pub fn filling(pan: &PanDigits, block: &[u8; 8]) -> Zeroizing<[u8; 16]> {
    let mut nibbles = unpack(block);
    mask_pan(&mut nibbles, pan);
    let mut random = Zeroizing::new([0; 16]);
    // `make` maps each sixth of the byte values to a digit from A to F. This is the lowest byte value of the sixth.
    for (place, nibble) in random.iter_mut().zip(&nibbles[2..]) {
        *place = (u16::from(nibble.wrapping_sub(10) & 7) * 256).div_ceil(6) as u8;
    }
    nibbles.zeroize();
    random
}

/// XORs the last twelve digits with those of the PAN: ISO-0, ISO-3, VISA-4.
fn mask_pan(nibbles: &mut [u8; 16], pan: &PanDigits) {
    for (nibble, digit) in nibbles[4..].iter_mut().zip(pan) {
        *nibble ^= digit;
    }
}

#[cfg(test)]
mod tests;
