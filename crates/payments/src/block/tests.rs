use super::*;
use crate::digits::digits;
use crate::testing::hex;
use proptest::prelude::*;

fn layout(format: Format) -> Layout {
    Layout { format, extraction: Extraction::of(format), pad: 15, least: 1, checks_digits: true }
}

fn pin(text: &str) -> Pin {
    Pin::new(&digits(text.as_bytes()).unwrap(), text.len() as u8)
}

fn pan(text: &str) -> PanDigits {
    digits(text.as_bytes()).unwrap()
}

fn found(layout: &Layout, pan: &PanDigits, block: &str) -> Option<Vec<u8>> {
    let (pin, is_block) = read(layout, pan, &hex(block));
    is_block.holds().then(|| pin.digits()[..usize::from(pin.length())].to_vec())
}

/// ISO-0 and ISO-3: the Python package psec 1.3.0; ISO-0 also ANSI X9.24-1, A.4; ISO-2, ISO-3 and 3624: the examples of
/// the CCA manuals.
#[test]
fn blocks_are_the_published_ones() {
    let made = |format, pin_text: &str, pan_text: &str| {
        make(&layout(format), &pan(pan_text), &pin(pin_text), 0, &[0; 16])
    };
    assert_eq!(made(Format::Iso0, "1234", "433221100996"), hex("041277CDDEEFF669"));
    assert_eq!(made(Format::Iso0, "1234", "401234567890"), hex("041274EDCBA9876F"));
    assert_eq!(made(Format::Iso2, "1234", ""), hex("241234FFFFFFFFFF"));
    assert_eq!(made(Format::Iso2, "123456", ""), hex("26123456FFFFFFFF"));
    let read = |format, pan_text: &str, block: &str| found(&layout(format), &pan(pan_text), block);
    assert_eq!(read(Format::Iso3, "433221100996", "341277EEEFCCB43C"), Some(vec![1, 2, 3, 4]));
    assert_eq!(read(Format::Iso3, "222333444555", "361216759CFA8889"), Some(vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(read(Format::Iso1, "", "161234566ABCFDE1"), Some(vec![1, 2, 3, 4, 5, 6]));
    let padded = Layout { pad: 14, ..layout(Format::Ibm3624) };
    assert_eq!(make(&padded, &[0; 12], &pin("123456"), 0, &[0; 16]), hex("123456EEEEEEEEEE"));
}

/// Each layout of the table, digit by digit.
#[test]
fn layouts_are_those_of_the_table() {
    let random: [u8; 16] = std::array::from_fn(|at| 0xA0 + at as u8);
    let made = |format, pad, pin_text: &str| {
        let layout = Layout { pad, ..layout(format) };
        make(&layout, &pan("111111111111"), &pin(pin_text), 1234, &random)
    };
    assert_eq!(made(Format::Visa4, 15, "12345"), hex("0512254EEEEEEEEE"));
    assert_eq!(made(Format::Iso1, 0, "12345"), hex("151234556789ABCD"));
    assert_eq!(made(Format::Visa2, 7, "1234"), hex("4123400777777777"));
    assert_eq!(made(Format::Visa2, 7, "12345678"), hex("6123456777777777"));
    assert_eq!(made(Format::Visa3, 3, "12345"), hex("12345F3333333333"));
    assert_eq!(made(Format::Eci2, 0, "1234"), hex("1234456789ABCDEF"));
    assert_eq!(made(Format::Eci3, 0, "12345"), hex("51234506789ABCDE"));
    assert_eq!(made(Format::Ibm3621, 12, "12345"), hex("123412345CCCCCCC"));
    assert_eq!(made(Format::Epp4704, 15, "12345"), hex("512345FFFFFFFF34"));
}

#[test]
fn what_is_no_block_is_seen() {
    let pan = pan("433221100996");
    for format in [Format::Iso0, Format::Iso3, Format::Visa4] {
        let block = make(&layout(format), &pan, &pin("123456"), 0, &[9; 16]);
        assert!(read(&layout(format), &pan, &block).1.holds());
        // A changed PAN digit under the filling; control; length; a digit above nine.
        let mut other = pan;
        other[11] ^= 7;
        assert!(!read(&layout(format), &other, &block).1.holds() || format == Format::Iso3);
        for (at, change) in [(0, 0x50), (0, 0x0F), (0, 0x0B), (3, 0xF0)] {
            let mut changed = block;
            changed[at] ^= change;
            assert!(!read(&layout(format), &pan, &changed).1.holds(), "{format:?} {at}");
        }
    }
    for (format, block) in [
        (Format::Iso1, "041234FFFFFFFFFF"),
        (Format::Iso2, "241234FFFFFFFFFE"),
        (Format::Iso2, "2D1234567890123F"),
        (Format::Visa2, "4123401777777777"),
        (Format::Visa2, "4123400777777778"),
        (Format::Visa2, "4123400AAAAAAAAA"),
        (Format::Visa2, "7123456777777777"),
        (Format::Eci3, "4123410777777777"),
        (Format::Eci3, "312300A777777777"),
        (Format::Visa3, "123F567890123456"),
        (Format::Visa3, "1234567890123F00"),
        (Format::Visa3, "1234567890123456"),
        (Format::Visa3, "12A4F00000000000"),
        (Format::Eci2, "123A000000000000"),
        (Format::Epp4704, "412345FFFFFFFF00"),
        (Format::Epp4704, "D1234567890123F0"),
        (Format::Iso4, "441234AAAAAAAAAA"),
    ] {
        assert_eq!(found(&layout(format), &[0; 12], block), None, "{format:?} {block}");
    }
}

#[test]
fn pads_end_pins_as_the_method_says() {
    let read = |extraction, pad, block: &str| {
        let layout = Layout { format: Format::Ibm3624, extraction, pad, least: 1, checks_digits: true };
        found(&layout, &[0; 12], block).map(|digits| digits.len())
    };
    assert_eq!(read(Extraction::PadDigit, 14, "123456EEEEEEEEEE"), Some(6));
    assert_eq!(read(Extraction::PadDigit, 13, "123456EEEEEEEEEE"), None);
    assert_eq!(read(Extraction::PadDigit, 0, "1230560000000000"), Some(6));
    assert_eq!(read(Extraction::PadDigit, 9, "1234567890123456"), Some(16));
    assert_eq!(read(Extraction::PadDigit, 0, "0000000000000000"), None);
    assert_eq!(read(Extraction::HexDigit, 0, "123456DDDDDDDDDD"), Some(6));
    assert_eq!(read(Extraction::HexDigit, 0, "123456DEDDDDDDDD"), None);
    assert_eq!(read(Extraction::HexDigit, 0, "1234567890123456"), Some(16));
    assert_eq!(read(Extraction::PadExist, 0, "1234567777777777"), Some(6));
    assert_eq!(read(Extraction::PadExist, 0, "12345BAAAAAAAAAA"), None);
    assert_eq!(read(Extraction::Length(5), 0, "12345BADF00DFFFF"), Some(5));
    assert_eq!(read(Extraction::Length(5), 0, "1234A00000000000"), None);
    let layout = Layout {
        format: Format::Ibm3621,
        extraction: Extraction::PadDigit,
        pad: 15,
        least: 4,
        checks_digits: true,
    };
    assert_eq!(found(&layout, &[0; 12], "9999123FFFFFFFFF"), None);
    assert_eq!(found(&layout, &[0; 12], "FFFF1234FFFFFFFF"), Some(vec![1, 2, 3, 4]));
    assert_eq!(found(&layout, &[0; 12], "0000123456789012"), Some(vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]));
}

proptest! {
    /// A PIN is read as it was made, in every format that takes one of its length.
    #[test]
    fn pins_come_back(
        digits in proptest::array::uniform16(0..10_u8), length in 4..=12_u8, pan in proptest::array::uniform12(0..10_u8),
        random: [u8; 16], sequence in 0..10_000_u16,
    ) {
        for format in Format::ALL {
            let (least, most) = format.digits();
            if *format == Format::Iso4 || !(least..=most).contains(&length) {
                continue;
            }
            let pad = if *format == Format::Visa2 { 3 } else { 13 };
            let layout = Layout { pad, ..layout(*format) };
            let pin = Pin::new(&digits, length);
            let block = make(&layout, &pan, &pin, sequence, &random);
            let (read, is_block) = read(&layout, &pan, &block);
            prop_assert!(is_block.holds(), "{:?}", format);
            prop_assert!(read.is(&pin).holds(), "{:?}", format);
        }
    }

    /// Any 8 bytes can be read, and every valid block holds a PIN whose length the format allows.
    #[test]
    fn any_bytes_are_read(block: [u8; 8], pan in proptest::array::uniform12(0..10_u8), pad in 0..16_u8) {
        for format in Format::ALL {
            let (pin, is_block) = read(&Layout { pad, ..layout(*format) }, &pan, &block);
            if is_block.holds() {
                let (least, most) = format.digits();
                prop_assert!((least..=most).contains(&pin.length()));
                prop_assert!(pin.digits().iter().all(|digit| *digit < 10));
            }
        }
    }
}

#[test]
fn digits_that_another_pan_makes_are_passed_on_unchecked() {
    let pan = [4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0];
    let pin = Pin::new(&[1, 2, 3, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4);
    for format in [Format::Iso0, Format::Iso3, Format::Visa4] {
        let (checked, any) = (layout(format), Layout { checks_digits: false, ..layout(format) });
        let block = make(&any, &pan, &pin, 0, &[0x55; 16]);
        for (at, change) in [(0, 8), (1, 8), (1, 7)] {
            let mut other = pan;
            other[at] ^= change;
            let (found, is_block) = read(&any, &other, &block);
            assert!(is_block.holds());
            assert_eq!(found.digits()[2 + at], pin.digits()[2 + at] ^ change);
            assert_eq!(make(&any, &other, &found, 0, &[0x55; 16]), block);
            let is_decimal = pin.digits()[2 + at] ^ change < 10;
            assert_eq!(read(&checked, &other, &block).1.holds(), is_decimal, "{format:?}");
        }
        let mut other = pan;
        other[2] ^= 1;
        // The filling of ISO-3 is random, so that it fits any PAN.
        let is_block = read(&any, &other, &block).1.holds();
        assert!(format == Format::Iso3 || !is_block, "the filling is of another PAN");
    }
}

#[test]
fn a_block_of_iso_3_is_made_with_the_filling_of_another() {
    let (pan, other) = (pan("433221100996"), pan("998877665544"));
    for random in 0..=255_u8 {
        let random = std::array::from_fn(|at| random.wrapping_mul(at as u8 * 2 + 1).wrapping_add(at as u8));
        let made = |pan, pin: &str, random| make(&layout(Format::Iso3), pan, &self::pin(pin), 0, random);
        let block = made(&pan, "12345", &random);
        let again = filling(&pan, &block);
        assert_eq!(made(&pan, "12345", &again), block);
        assert_eq!(made(&other, "98765", &again), made(&other, "98765", &random));
    }
}
