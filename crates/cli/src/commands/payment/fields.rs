//! Values of options, in the form of the parameters of payment verbs.

use crate::args::payment::{BlockFormat, Extraction, WorkingKey, name};
use crate::failure::Failure;
use crate::prompt::hexadecimal;
use wire::Label;
use wire::point::Point;

/// Digits of a PAN in blocks of 8 bytes.
const PAN_DIGITS: usize = 12;
/// Length of the serial number of a key of TDES DUKPT in bytes.
const TDES_SERIAL_BYTES: usize = 10;
/// Length of one without its first two bytes, which are FFFF, in bytes.
const TDES_SHORT_BYTES: usize = 8;
/// Length in bytes of a key serial number of AES DUKPT: identifier of the initial key, and counter.
const AES_SERIAL_BYTES: usize = 12;

/// The value of a required option or line member; an error if it is missing.
pub fn given<'a>(option: &str, value: Option<&'a String>) -> Result<&'a str, Failure> {
    value
        .map(String::as_str)
        .ok_or_else(|| Failure::Usage(format!("{option} is missing; --help says what it takes")))
}

/// The label of an option.
pub fn label(option: &str, value: Option<&String>) -> Result<Label, Failure> {
    crate::labels::typed(option, given(option, value)?)
}

/// Exactly `count` bytes from hexadecimal digits; otherwise an error that names the option.
pub fn bytes(option: &str, text: &str, count: usize) -> Result<Vec<u8>, Failure> {
    match hexadecimal(text) {
        Ok(value) if value.len() == count => Ok(value.to_vec()),
        _ => Err(Failure::Usage(format!(
            "{option}: expected {} hexadecimal digits, {}",
            2 * count,
            misfit(text, |letter| letter.is_ascii_hexdigit())
        ))),
    }
}

/// Why a digit string is refused: its first character that is no digit, or else its length.
fn misfit(text: &str, is_digit: impl Fn(char) -> bool) -> String {
    match text.chars().find(|letter| !is_digit(*letter)) {
        Some(letter) => format!("and {letter:?} is none"),
        None => format!("not {}", text.len()),
    }
}

/// The PIN block of an option: 16 bytes for ISO-4, 8 bytes for other formats.
pub fn block(option: &str, value: Option<&String>, format: BlockFormat) -> Result<Vec<u8>, Failure> {
    let count = if format == BlockFormat::Iso4 { 16 } else { 8 };
    bytes(option, given(option, value)?, count)
}

fn are_digits(text: &str, counts: std::ops::RangeInclusive<usize>) -> bool {
    counts.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether these are the digits of a PIN.
pub fn is_pin(digits: &[u8]) -> bool {
    (4..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// A number of decimal digits within `counts`; otherwise an error that names the option.
pub fn digits<'a>(
    option: &str,
    text: &'a str,
    counts: std::ops::RangeInclusive<usize>,
) -> Result<&'a str, Failure> {
    if are_digits(text, counts.clone()) {
        return Ok(text);
    }
    let many = match counts.start() == counts.end() {
        true => counts.start().to_string(),
        false => format!("{} to {}", counts.start(), counts.end()),
    };
    let wrong = misfit(text, |letter| letter.is_ascii_digit());
    Err(Failure::Usage(format!("{option}: expected {many} digits, {wrong}")))
}

/// A whole PAN: 8 to 19 digits, with its check digit.
pub fn pan<'a>(option: &str, value: Option<&'a String>) -> Result<&'a str, Failure> {
    let text = given(option, value)?;
    if are_digits(text, 8..=19) {
        return Ok(text);
    }
    let wrong = misfit(text, |letter| letter.is_ascii_digit());
    Err(Failure::Usage(format!("{option}: expected a PAN of 8 to 19 digits, with its check digit, {wrong}")))
}

/// The PAN digits that a block's format uses: the whole PAN for ISO-4, twelve digits without the check digit for other
/// formats; none for formats without a PAN.
pub fn pan_of_block(
    option: &str,
    value: Option<&String>,
    format: BlockFormat,
) -> Result<Option<String>, Failure> {
    if !format.has_pan() {
        return Ok(None);
    }
    let whole = pan(option, value)?;
    if format == BlockFormat::Iso4 {
        return Ok(Some(whole.to_owned()));
    }
    let digits = format!("{:0>PAN_DIGITS$}", &whole[..whole.len() - 1]);
    let from = if format == BlockFormat::Visa4 { 0 } else { digits.len() - PAN_DIGITS };
    Ok(Some(digits[from..from + PAN_DIGITS].to_owned()))
}

/// A key serial number; its length tells TDES DUKPT from AES DUKPT.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Serial {
    /// Key serial number of TDES DUKPT.
    Tdes([u8; TDES_SERIAL_BYTES]),
    /// Key serial number of AES DUKPT: identifier of the initial key, and counter.
    Aes([u8; AES_SERIAL_BYTES]),
}

impl Serial {
    /// The serial number of an option: 20 hexadecimal digits for TDES, or 16, before which FFFF is meant; 24 for AES.
    /// Anything else is an error, which says what was read.
    pub fn of(option: &str, value: Option<&String>) -> Result<Option<Self>, Failure> {
        let Some(text) = value else { return Ok(None) };
        let text: String = text.split_ascii_whitespace().collect();
        let bytes = hexadecimal(&text).map(|bytes| bytes.to_vec()).unwrap_or_default();
        match bytes.len() {
            TDES_SHORT_BYTES => {
                let mut serial = [0xFF; TDES_SERIAL_BYTES];
                serial[TDES_SERIAL_BYTES - TDES_SHORT_BYTES..].copy_from_slice(&bytes);
                return Ok(Some(Self::Tdes(serial)));
            }
            TDES_SERIAL_BYTES => return Ok(bytes.try_into().ok().map(Self::Tdes)),
            AES_SERIAL_BYTES => return Ok(bytes.try_into().ok().map(Self::Aes)),
            _ => {}
        }
        let read = text.bytes().take_while(u8::is_ascii_hexdigit).count();
        let found = match text.chars().nth(read) {
            None if text.is_empty() => "nothing is given".to_owned(),
            None => format!("{read} are given"),
            Some(other) => format!("{other:?} follows {read} of them"),
        };
        Err(Failure::Usage(format!(
            "{option}: expected 20 hexadecimal digits of TDES DUKPT (or 16, before which FFFF is meant), or 24 of AES DUKPT \
             (8 bytes of the initial key's identifier, 4 of the counter); {found}"
        )))
    }

    /// Description of the base key that the serial number belongs to, for messages.
    pub const fn base_key(self) -> &'static str {
        match self {
            Self::Tdes(_) => "a base key of TDES DUKPT (`cryptand dukpt base`, tdes-keygenky with UKPT)",
            Self::Aes(_) => "a base key of AES DUKPT (`cryptand dukpt base`, aes128-dkygenky with A-DUKPT)",
        }
    }

    /// Common prefix of the keywords for derived keys.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tdes(_) => "DUKPT",
            Self::Aes(_) => "ADUKPT",
        }
    }
}

/// Usage of keys of PIN blocks in derivation data.
pub const USAGE_PIN: u16 = 0x1000;

/// Derivation data of a key by AES DUKPT (ANSI X9.24-3, 6.3.2): version, blocks, usage, algorithm and bits; then the
/// serial number.
pub fn derivation_data(usage: u16, key: WorkingKey, serial: &[u8; AES_SERIAL_BYTES]) -> Vec<u8> {
    let (algorithm, bits): (u16, u16) = match key {
        WorkingKey::Tdes2 => (0, 128),
        WorkingKey::Tdes3 => (1, 192),
        WorkingKey::Aes128 => (2, 128),
        WorkingKey::Aes192 => (3, 192),
        WorkingKey::Aes256 => (4, 256),
    };
    let mut data = vec![0x01, 0x01];
    data.extend([usage, algorithm, bits].into_iter().flat_map(u16::to_be_bytes));
    data.extend(serial);
    data
}

/// Profile of a PIN block: its format, its pad digit, and how its key is derived.
pub struct Profile<'a> {
    /// Format of the block.
    pub format: BlockFormat,
    /// Pad digit. If it is not given, formats with a pad digit use F, and VISA-2 uses zero.
    pub pad: Option<&'a String>,
    /// Key serial number; none for a key that is not derived.
    pub serial: Option<Serial>,
    /// Key that AES DUKPT derives; allowed only with its serial number.
    pub working_key: Option<WorkingKey>,
}

impl<'a> Profile<'a> {
    /// The profile of a block under a key that is not derived; the default format is ISO-0.
    pub fn fixed(format: Option<BlockFormat>, pad: Option<&'a String>) -> Self {
        Self { format: format.unwrap_or(BlockFormat::Iso0), pad, serial: None, working_key: None }
    }

    /// The profile as verbs take it: format, format control and pad digit in 24 bytes, then the derivation data.
    pub fn field(&self) -> Result<Vec<u8>, Failure> {
        use BlockFormat::*;
        let pad = match (self.pad, self.format) {
            (Some(pad), _) if pad.len() == 1 && hexadecimal(&format!("0{pad}")).is_ok() => pad.to_uppercase(),
            (Some(_), _) => {
                return Err(Failure::Usage("--pad: expected one hexadecimal digit".to_owned()));
            }
            (None, Visa2) => "0".to_owned(),
            (None, Visa3 | Visa4 | Ibm3621 | Ibm3624 | Epp4704) => "F".to_owned(),
            (None, _) => String::new(),
        };
        let mut field = format!("{:8}NONE    {pad:>8}", self.format.keyword()).into_bytes();
        match self.serial {
            None if self.working_key.is_some() => {
                return Err(Failure::Usage(
                    "--working-key goes with a key serial number of AES DUKPT".to_owned(),
                ));
            }
            None => {}
            Some(Serial::Tdes(serial)) => {
                field.extend(serial);
                field.extend([b' '; 14]);
            }
            Some(Serial::Aes(serial)) => {
                let usual = if self.format == Iso4 { WorkingKey::Aes128 } else { WorkingKey::Tdes2 };
                field.extend(derivation_data(USAGE_PIN, self.working_key.unwrap_or(usual), &serial));
            }
        }
        Ok(field)
    }
}

/// The access-control points that blocks of these formats need: in a translation, or in another verb.
pub fn controls(formats: &[BlockFormat], is_translation: bool) -> Vec<Point> {
    let is_ansi =
        |format: &BlockFormat| matches!(format, BlockFormat::Iso0 | BlockFormat::Iso3 | BlockFormat::Iso4);
    let mut points = Vec::new();
    if !formats.iter().all(is_ansi) {
        points.push(Point::PinUnrestricted);
        points.extend(is_translation.then_some(Point::PinAnyBlock));
    }
    points.extend(formats.contains(&BlockFormat::Iso1).then_some(Point::PinIso1));
    points
}

/// CCA's keyword for how a PIN is found.
pub fn extraction(value: Option<Extraction>) -> Option<String> {
    value.map(|value| name(value).to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_pan_goes_into_blocks_as_their_format_has_it() {
        let of = |pan: &str, format| pan_of_block("--pan", some(pan).as_ref(), format).unwrap();
        assert_eq!(of("4012345678909", BlockFormat::Iso0), some("401234567890"));
        assert_eq!(of("4012345678901234567", BlockFormat::Iso3), some("567890123456"));
        assert_eq!(of("40123456", BlockFormat::Iso0), some("000004012345"));
        assert_eq!(of("4012345678901234567", BlockFormat::Visa4), some("401234567890"));
        assert_eq!(of("4012345678901234567", BlockFormat::Iso4), some("4012345678901234567"));
        assert_eq!(of("4012345678901234567", BlockFormat::Iso1), None);
        for wrong in ["", "4012345", "40123456789012345678", "4012345x"] {
            assert!(pan("--pan", some(wrong).as_ref()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn serial_numbers_say_how_keys_are_derived() {
        let serial = |text: &str| Serial::of("--ksn", some(text).as_ref());
        let profile = |format, serial, working_key| Profile { format, pad: None, serial, working_key };
        let tdes = serial("FFFF9876543210E00001").unwrap();
        let field = profile(BlockFormat::Iso0, tdes, None).field().unwrap();
        assert_eq!(field[..24], *b"ISO-0   NONE            ");
        assert_eq!(field[24..], *b"\xFF\xFF\x98\x76\x54\x32\x10\xE0\x00\x01              ");
        let aes = serial("123456789012345600000001").unwrap();
        let field = profile(BlockFormat::Iso4, aes, None).field().unwrap();
        assert_eq!(crate::prompt::to_hexadecimal(&field[24..]), "0101100000020080123456789012345600000001");
        let field = profile(BlockFormat::Ibm3624, aes, Some(WorkingKey::Tdes3)).field().unwrap();
        assert_eq!(field[..24], *b"3624    NONE           F");
        assert_eq!(crate::prompt::to_hexadecimal(&field[24..32]), "01011000000100C0");
        assert!(profile(BlockFormat::Iso0, None, Some(WorkingKey::Tdes2)).field().is_err());
        assert!(
            serial("9876543210E00001").unwrap() == tdes && serial("9876 5432 10e0 0001").unwrap() == tdes
        );
        for (wrong, said) in [
            ("", "nothing is given"),
            ("FFFF9876", "8 are given"),
            ("FFFF987654", "10 are given"),
            ("FFFF98765432", "12 are given"),
            ("FFFF9876543210E000", "18 are given"),
            ("FFFF9876543210E0000100", "22 are given"),
            ("FFFF9876543210E0000G", "'G' follows 19 of them"),
            ("FFFF9876543210E0000100000x", "'x' follows 25"),
        ] {
            let error = serial(wrong).err().unwrap().to_string();
            assert!(error.starts_with("--ksn: ") && error.contains(said), "{error}");
        }
    }
}
