//! DUKPT with two-part TDES keys (ANSI X9.24-1:2009, annex A).
//!
//! The initial key is two blocks enciphered under the base key. Each set bit of the counter, from the left, takes one
//! non-reversible step ([`step_halves`], [`step_result`]) to the transaction's key. [`Purpose`] turns that into a
//! working key.

use zeroize::Zeroize;

/// Length of a key serial number in bytes.
pub const SERIAL_BYTES: usize = 10;
/// Length of a key serial number in hexadecimal digits.
const SERIAL_DIGITS: usize = 2 * SERIAL_BYTES;
/// Length of the field of a key serial number in a PIN profile, in bytes.
pub const SERIAL_FIELD_BYTES: usize = 24;
/// Bits of the transaction counter in a key serial number.
const COUNTER_BITS: u32 = 21;
/// At most this many bits are set in a counter.
const BITS_SET_MAX: u32 = 10;
/// The variant for left halves, of a step and of the initial key: XORed with both halves of the key.
pub const HALF_VARIANT: [u8; 16] = [0xC0, 0xC0, 0xC0, 0xC0, 0, 0, 0, 0, 0xC0, 0xC0, 0xC0, 0xC0, 0, 0, 0, 0];

/// A key serial number with a valid counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Serial([u8; SERIAL_BYTES]);

/// A counter that no terminal reaches: zero, or with more than ten bits set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterFault;

impl std::fmt::Display for CounterFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the counter of a key serial number has 1 to 10 bits set")
    }
}

impl std::error::Error for CounterFault {}

/// Why a field or text holds no key serial number with a valid counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialFault {
    /// This number of hexadecimal digits stands where 20 belong.
    Digits(usize),
    /// Neither 20 hexadecimal digits nor 10 bytes have blanks alone, or zeros alone, behind them.
    Filling,
    /// The field has fewer than 10 bytes, or more than 24.
    Length(usize),
    /// No terminal reaches the counter.
    Counter(CounterFault),
}

impl std::fmt::Display for SerialFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Digits(digits) => {
                write!(f, "a key serial number has {SERIAL_DIGITS} hexadecimal digits, and these are {digits}")
            }
            Self::Filling => f.write_str(
                "a key serial number is 20 hexadecimal digits or 10 bytes, with blanks alone or zeros alone behind them",
            ),
            Self::Length(bytes) => write!(
                f,
                "the field of a key serial number has {SERIAL_FIELD_BYTES} bytes, and this one has {bytes}"
            ),
            Self::Counter(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for SerialFault {}

/// The bytes of a key serial number in hexadecimal digits.
fn of_digits(digits: &[u8]) -> [u8; SERIAL_BYTES] {
    let mut serial = [0; SERIAL_BYTES];
    for (place, pair) in serial.iter_mut().zip(digits.as_chunks::<2>().0) {
        let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
        *place = value(pair[0]) << 4 | value(pair[1]);
    }
    serial
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
}

impl Serial {
    /// Reads the field of a key serial number in a PIN profile.
    ///
    /// | form | field |
    /// |---|---|
    /// | characters, as CCA has it ("Current key serial number") | 20 hexadecimal digits, then at most 4 blanks or 4 zeros (X'00') |
    /// | bytes, as the package and the commands of this system write it | 10 bytes, then at most 14 blanks or zeros |
    ///
    /// Digits with blanks behind them are characters, however many they are, and so are eight and more with zeros
    /// behind them: a number of fewer digits is refused, and not read as bytes. A number of eight bytes cannot be told
    /// from one of ten that ends in blanks or zeros.
    ///
    /// # Errors
    /// [`SerialFault`].
    pub fn of_field(field: &[u8]) -> Result<Self, SerialFault> {
        if !(SERIAL_BYTES..=SERIAL_FIELD_BYTES).contains(&field.len()) {
            return Err(SerialFault::Length(field.len()));
        }
        let is_filling = |rest: &[u8]| [b' ', 0].iter().any(|fill| rest.iter().all(|byte| byte == fill));
        let digits = leading_digits(field);
        let rest = &field[digits..];
        let is_text =
            rest.iter().all(|byte| *byte == b' ') || (digits >= 8 && rest.iter().all(|byte| *byte == 0));
        let serial = match field.first_chunk::<SERIAL_BYTES>() {
            _ if digits == SERIAL_DIGITS && is_filling(rest) => of_digits(&field[..SERIAL_DIGITS]),
            _ if digits > 0 && is_text => return Err(SerialFault::Digits(digits)),
            Some(serial) if is_filling(&field[SERIAL_BYTES..]) => *serial,
            _ => return Err(SerialFault::Filling),
        };
        Self::new(serial).map_err(SerialFault::Counter)
    }

    /// Checks the counter of a key serial number.
    ///
    /// # Errors
    /// [`CounterFault`].
    pub fn new(serial: [u8; SERIAL_BYTES]) -> Result<Self, CounterFault> {
        let new = Self(serial);
        if (1..=BITS_SET_MAX).contains(&new.counter().count_ones()) { Ok(new) } else { Err(CounterFault) }
    }

    /// The transaction counter: the last 21 bits.
    pub fn counter(&self) -> u32 {
        let [.., high, middle, low] = self.0;
        u32::from_be_bytes([0, high, middle, low]) & ((1 << COUNTER_BITS) - 1)
    }

    /// The block that gives the initial key: enciphered under the base key its left half, enciphered under the base
    /// key's [variant](HALF_VARIANT) its right half.
    pub fn initial_block(&self) -> [u8; 8] {
        initial_block(&self.0)
    }

    /// The registers of the steps from the initial key to the transaction's key: one for each set bit, highest first.
    pub fn registers(&self) -> impl Iterator<Item = [u8; 8]> + use<> {
        let counter = self.counter();
        let mut register = [0; 8];
        register.copy_from_slice(&self.0[2..]);
        let base = u64::from_be_bytes(register) & !((1 << COUNTER_BITS) - 1);
        let mut so_far = 0;
        (0..COUNTER_BITS).rev().filter(move |bit| counter >> bit & 1 == 1).map(move |bit| {
            so_far |= 1 << bit;
            (base | so_far).to_be_bytes()
        })
    }
}

/// As [`Serial::initial_block`], for a key serial number with any counter.
pub fn initial_block(serial: &[u8; SERIAL_BYTES]) -> [u8; 8] {
    let mut block = [0; 8];
    block.copy_from_slice(&serial[..8]);
    block[7] &= 0xE0;
    block
}

/// A block and the eight-byte key to encipher it under, for one half of a [step](step_halves). Both are wiped.
pub struct Half {
    /// The key to encipher the block under.
    pub key: [u8; 8],
    /// The block to encipher.
    pub block: [u8; 8],
}

impl Drop for Half {
    fn drop(&mut self) {
        self.key.zeroize();
        self.block.zeroize();
    }
}

/// The non-reversible step for one register, up to its encipherments: the left half of the next key, then the right
/// half.
pub fn step_halves(key: &[u8; 16], register: &[u8; 8]) -> [Half; 2] {
    let half = |key: &[u8; 16]| {
        let (left, right) = halves(key);
        Half { key: left, block: xor(*register, right) }
    };
    [half(&varied(key, &HALF_VARIANT)), half(key)]
}

/// The next key, from the enciphered blocks of [`step_halves`].
pub fn step_result(key: &[u8; 16], enciphered: &[[u8; 8]; 2]) -> [u8; 16] {
    let mut next = [0; 16];
    for ((half, key), enciphered) in
        next.chunks_exact_mut(8).zip([varied(key, &HALF_VARIANT), *key]).zip(enciphered)
    {
        half.copy_from_slice(&xor(*enciphered, halves(&key).1));
    }
    next
}

/// The purpose of a working key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Enciphers PIN blocks.
    Pin,
    /// MACs of requests, or of both directions.
    MacRequest,
    /// MACs of responses.
    MacResponse,
    /// Enciphers data of requests, or of both directions.
    DataRequest,
    /// Enciphers data of responses.
    DataResponse,
}

impl Purpose {
    /// The mask that is XORed with the transaction's key.
    pub fn variant(self) -> [u8; 16] {
        let at = match self {
            Self::Pin => 7,
            Self::MacRequest => 6,
            Self::MacResponse => 4,
            Self::DataRequest => 5,
            Self::DataResponse => 3,
        };
        std::array::from_fn(|byte| if byte % 8 == at { 0xFF } else { 0 })
    }

    /// Whether each half of the varied key is then enciphered under the whole varied key, so that the transaction's key
    /// cannot be computed from the working key.
    pub fn is_one_way(self) -> bool {
        matches!(self, Self::DataRequest | Self::DataResponse)
    }
}

/// A key XORed with a variant.
pub fn varied(key: &[u8; 16], variant: &[u8; 16]) -> [u8; 16] {
    std::array::from_fn(|at| key[at] ^ variant[at])
}

fn xor(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
    std::array::from_fn(|at| a[at] ^ b[at])
}

fn halves(key: &[u8; 16]) -> ([u8; 8], [u8; 8]) {
    let (mut left, mut right) = ([0; 8], [0; 8]);
    left.copy_from_slice(&key[..8]);
    right.copy_from_slice(&key[8..]);
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{KEY, des, hex, tdes as encipher};

    fn step(key: &[u8; 16], register: &[u8; 8]) -> [u8; 16] {
        let [left, right] = step_halves(key, register);
        step_result(key, &[des(&left.key, &left.block), des(&right.key, &right.block)])
    }

    fn initial(base: &[u8; 16], block: &[u8; 8]) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&encipher(base, block));
        key[8..].copy_from_slice(&encipher(&varied(base, &HALF_VARIANT), block));
        key
    }

    fn transaction(serial: &str) -> [u8; 16] {
        let serial = Serial::new(hex(serial)).unwrap();
        let base = initial(&hex(KEY), &serial.initial_block());
        serial.registers().fold(base, |key, register| step(&key, &register))
    }

    fn working(serial: &str, purpose: Purpose) -> [u8; 16] {
        let key = varied(&transaction(serial), &purpose.variant());
        if !purpose.is_one_way() {
            return key;
        }
        let (left, right) = halves(&key);
        let mut once = [0; 16];
        once[..8].copy_from_slice(&encipher(&key, &left));
        once[8..].copy_from_slice(&encipher(&key, &right));
        once
    }

    /// ANSI X9.24-1, annex A.4.
    #[test]
    fn keys_are_the_published_ones() {
        assert_eq!(
            initial(&hex(KEY), &initial_block(&hex("FFFF9876543210E00000"))),
            hex("6AC292FAA1315B4D858AB3A3D7D5933A")
        );
        assert_eq!(transaction("FFFF9876543210E00001"), hex("042666B49184CFA368DE9628D0397BC9"));
        let of = |serial, purpose| working(serial, purpose);
        assert_eq!(of("FFFF9876543210E00001", Purpose::Pin), hex("042666B49184CF5C68DE9628D0397B36"));
        assert_eq!(of("FFFF9876543210E00001", Purpose::MacRequest), hex("042666B4918430A368DE9628D03984C9"));
        assert_eq!(of("FFFF9876543210E00001", Purpose::DataRequest), hex("448D3F076D8304036A55A3D7E0055A78"));
        assert_eq!(of("FFFF9876543210E00002", Purpose::Pin), hex("C46551CEF9FD244FAA9AD834130D3B38"));
        assert_eq!(of("FFFF9876543210E00003", Purpose::Pin), hex("0DF3D9422ACA561A47676D07AD6BAD05"));
        assert_eq!(of("FFFF9876543210EFF800", Purpose::Pin), hex("F9CDFEBF4F5B1D61B3EC12454527E189"));
        let block = encipher(&of("FFFF9876543210E00001", Purpose::Pin), &hex("041274EDCBA9876F"));
        assert_eq!(block, hex("1B9C1845EB993A7A"));
    }

    #[test]
    fn counters_have_one_to_ten_bits() {
        let serial = |counter: u32| {
            let low = counter.to_be_bytes();
            Serial::new([0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0 | low[1], low[2], low[3]])
        };
        assert_eq!(serial(0), Err(CounterFault));
        assert_eq!(serial(0x7FF), Err(CounterFault));
        assert_eq!(serial(0x3FF).unwrap().registers().count(), 10);
        assert_eq!(serial(0x1F_FC00 >> 1 & 0x1F_F800).unwrap().counter(), 0xF_F800 & 0x1F_F800);
        let registers: Vec<_> = serial(0x10_0005).unwrap().registers().collect();
        assert_eq!(registers, [hex("9876543210F00000"), hex("9876543210F00004"), hex("9876543210F00005")]);
    }

    #[test]
    fn responses_have_variants_of_their_own() {
        assert_eq!(Purpose::MacResponse.variant(), hex("00000000FF00000000000000FF000000"));
        assert_eq!(Purpose::DataResponse.variant(), hex("000000FF00000000000000FF00000000"));
    }

    fn field(text: &[u8], fill: u8) -> Vec<u8> {
        let mut field = text.to_vec();
        field.resize(SERIAL_FIELD_BYTES, fill);
        field
    }

    #[test]
    fn a_field_is_read_in_both_forms() {
        let expected = Serial::new(hex("FFFF9876543210E00001")).unwrap();
        for fill in [b' ', 0] {
            for text in
                [&b"FFFF9876543210E00001"[..], b"ffff9876543210e00001", &hex::<10>("FFFF9876543210E00001")]
            {
                assert_eq!(Serial::of_field(&field(text, fill)), Ok(expected), "{text:02X?}");
                assert_eq!(Serial::of_field(text), Ok(expected), "{text:02X?}");
            }
        }
        // Bytes that are digits and none: a counter in zeros, and digits at the start.
        for serial in ["00000000000000000020", "3030FFFFFFFFFFE00001", "30303030303030300001"] {
            let bytes = hex::<10>(serial);
            assert_eq!(Serial::of_field(&field(&bytes, 0)), Ok(Serial::new(bytes).unwrap()), "{serial}");
        }
    }

    #[test]
    fn what_is_neither_form_is_refused_by_what_it_is() {
        let digits = b"FFFF9876543210E00001FFFF";
        for length in [8, 10, 12, 16, 19, 21, 24] {
            for fill in [b' ', 0] {
                let found = Serial::of_field(&field(&digits[..length], fill));
                assert_eq!(found, Err(SerialFault::Digits(length)), "{length}");
            }
        }
        assert_eq!(Serial::of_field(&field(b"FFFF", b' ')), Err(SerialFault::Digits(4)));
        let half = |text: &[u8]| [text, b"  ", &[0; 12]].concat();
        let bytes = hex::<10>("FFFF9876543210E00001");
        for wrong in [
            [&digits[..20], b"  \0\0"].concat(),
            [&digits[..20], b"   x"].concat(),
            half(&bytes),
            // Of 12, 16 and 20 bytes it is not said which ten are meant.
            field(&[&bytes[..], &[1, 2]].concat(), 0),
            field(&[&bytes[..], &[0xFF; 6]].concat(), b' '),
            field(&[&bytes[..], &bytes].concat(), 0),
        ] {
            assert_eq!(Serial::of_field(&wrong), Err(SerialFault::Filling), "{wrong:02X?}");
        }
        assert_eq!(Serial::of_field(&bytes[..9]), Err(SerialFault::Length(9)));
        assert_eq!(Serial::of_field(&[b'1'; 25]), Err(SerialFault::Length(25)));
        assert_eq!(
            Serial::of_field(&field(b"FFFF9876543210E00000", b' ')),
            Err(SerialFault::Counter(CounterFault))
        );
        assert!(SerialFault::Digits(16).to_string().contains("these are 16"));
    }
}
