//! Requests of the PIN verbs, keys of known values, and blocks by OpenSSL.

use crate::peer;
use crate::support::{Request, entered, processor};
use cca::Processor;
use wire::point::{Group, PointSet};
use wire::verb::{
    Verb, clear_pin_encrypt, clear_pin_generate, clear_pin_generate_alternate, cvv_generate, cvv_verify,
    encrypted_pin_generate, encrypted_pin_translate, encrypted_pin_verify, transaction_validation,
};

/// The key of the published values.
pub const KEY: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
/// Another key.
pub const OTHER: [u8; 16] = 0x1011_1213_1415_1617_2021_2223_2526_2829u128.to_be_bytes();
/// A decimalisation table that every role takes.
pub const TABLE: &str = "0123456789012345";

/// A role without any control: every point permits.
pub const NO_CONTROL: &PointSet = &PointSet::EVERYTHING;

/// The owner's role with these points of older programs.
pub fn with_points(points: &[wire::point::Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    for point in points {
        assert_eq!(point.entry().group, Group::LegacyPin);
        set.allow(*point);
    }
    Box::leak(Box::new(set))
}

/// The bytes of hexadecimal digits.
pub fn hex<const N: usize>(text: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// A profile of this format and pad digit.
pub fn profile(format: &str, pad: &str) -> Vec<u8> {
    format!("{format:8}NONE    {pad:>8}").into_bytes()
}

/// The same with a key serial number.
pub fn derived_profile(format: &str, pad: &str, serial: &str) -> Vec<u8> {
    [&profile(format, pad)[..], &hex::<10>(serial), &[b' '; 14]].concat()
}

/// Three elements of a data array.
pub fn data(elements: [&str; 3]) -> Vec<u8> {
    elements.iter().map(|element| format!("{element:16}")).collect::<String>().into_bytes()
}

/// Tokens of known keys.
pub struct Keys {
    /// The processor that has the keys.
    pub processor: Processor,
    /// PINGEN of [`KEY`], for every method and step.
    pub generating: Vec<u8>,
    /// PINVER of [`KEY`].
    pub verifying: Vec<u8>,
    /// IPINENC and OPINENC of [`KEY`] and of [`OTHER`], for every step.
    pub inbound: Vec<u8>,
    /// A key for PIN blocks that leave.
    pub outbound: Vec<u8>,
    /// Another key for PIN blocks that arrive.
    pub other_inbound: Vec<u8>,
    /// The same key for PIN blocks that leave.
    pub other_outbound: Vec<u8>,
    /// KEYGENKY of [`KEY`] for DUKPT.
    pub deriving: Vec<u8>,
}

impl Keys {
    /// The keys, in a processor of their own.
    pub fn new() -> Self {
        let mut processor = processor();
        let mut make =
            |key_type: &str, words: &[&str], value| entered(&mut processor, key_type, words, value);
        Self {
            generating: make("PINGEN", &[], &KEY),
            verifying: make("PINVER", &[], &KEY),
            inbound: make("IPINENC", &[], &KEY),
            outbound: make("OPINENC", &[], &KEY),
            other_inbound: make("IPINENC", &[], &OTHER),
            other_outbound: make("OPINENC", &[], &OTHER),
            deriving: make("KEYGENKY", &["UKPT"], &KEY),
            processor,
        }
    }
}

/// A block under a key, by OpenSSL.
pub fn under(key: &[u8], block: &[u8]) -> Vec<u8> {
    peer::des(&odd(key), true, block)
}

/// What is in a block under a key, by OpenSSL.
pub fn clear(key: &[u8], block: &[u8]) -> Vec<u8> {
    peer::des(&odd(key), false, block)
}

/// Key parts are entered with odd parity, which DES does not look at.
fn odd(key: &[u8]) -> Vec<u8> {
    key.iter().map(|byte| byte ^ u8::from(byte.count_ones() % 2 == 0)).collect()
}

/// A clear block of ISO-0: PIN and twelve digits of a PAN.
pub fn iso0(pin: &str, pan: &str) -> [u8; 8] {
    let digits = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let field = digits(&format!("{:02X}{pin:F<14}", pin.len()));
    (field ^ digits(pan)).to_be_bytes()
}

/// A request to translate a PIN block.
pub fn translate(
    keys: (&[u8], &[u8]),
    words: &[&str],
    profiles: (&[u8], &[u8]),
    pans: (&str, &str),
    block: &[u8],
) -> Request {
    use encrypted_pin_translate::*;
    crate::support::Request::new(Verb::EncryptedPinTranslate)
        .bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.0)
        .bytes(OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.1)
        .bytes(INPUT_PIN_PROFILE, profiles.0)
        .bytes(PAN_DATA_IN, pans.0)
        .bytes(PIN_BLOCK_IN, block)
        .rules(words)
        .bytes(OUTPUT_PIN_PROFILE, profiles.1)
        .bytes(PAN_DATA_OUT, pans.1)
        .integer(SEQUENCE_NUMBER, 1234)
}

/// A request to verify the PIN of a block.
pub fn verify(
    keys: (&[u8], &[u8]),
    words: &[&str],
    profile: &[u8],
    pan: &str,
    block: &[u8],
    checked: i64,
    elements: [&str; 3],
) -> Request {
    use encrypted_pin_verify::*;
    crate::support::Request::new(Verb::EncryptedPinVerify)
        .bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.0)
        .bytes(PIN_VERIFYING_KEY_IDENTIFIER, keys.1)
        .bytes(INPUT_PIN_PROFILE, profile)
        .bytes(PAN_DATA, pan)
        .bytes(ENCRYPTED_PIN_BLOCK, block)
        .rules(words)
        .integer(PIN_CHECK_LENGTH, checked)
        .bytes(DATA_ARRAY, data(elements))
}

/// A request for the PIN, or its offset or value, of these elements.
pub fn generate(key: &[u8], method: &str, lengths: (i64, i64), elements: [&str; 3]) -> Request {
    use clear_pin_generate::*;
    crate::support::Request::new(Verb::ClearPinGenerate)
        .bytes(PIN_GENERATING_KEY_IDENTIFIER, key)
        .rules(&[method])
        .integer(PIN_LENGTH, lengths.0)
        .integer(PIN_CHECK_LENGTH, lengths.1)
        .bytes(DATA_ARRAY, data(elements))
}

/// A request for the offset or value of the PIN of a block.
pub fn alternate(
    keys: (&[u8], &[u8]),
    words: &[&str],
    profile: &[u8],
    pan: &str,
    block: &[u8],
    checked: i64,
    elements: [&str; 3],
) -> Request {
    use clear_pin_generate_alternate::*;
    crate::support::Request::new(Verb::ClearPinGenerateAlternate)
        .bytes(PIN_ENCRYPTION_KEY_IDENTIFIER, keys.0)
        .bytes(PIN_GENERATION_KEY_IDENTIFIER, keys.1)
        .bytes(PIN_PROFILE, profile)
        .bytes(PAN_DATA, pan)
        .bytes(ENCRYPTED_PIN_BLOCK, block)
        .rules(words)
        .integer(PIN_CHECK_LENGTH, checked)
        .bytes(DATA_ARRAY, data(elements))
}

/// A request for a block of a PIN that is made.
pub fn encrypted(
    keys: (&[u8], &[u8]),
    method: &str,
    length: i64,
    elements: [&str; 3],
    profile: &[u8],
    pan: &str,
) -> Request {
    use encrypted_pin_generate::*;
    crate::support::Request::new(Verb::EncryptedPinGenerate)
        .bytes(PIN_GENERATING_KEY_IDENTIFIER, keys.0)
        .bytes(OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.1)
        .rules(&[method])
        .integer(PIN_LENGTH, length)
        .bytes(DATA_ARRAY, data(elements))
        .bytes(PIN_PROFILE, profile)
        .bytes(PAN_DATA, pan)
        .integer(SEQUENCE_NUMBER, 12)
}

/// A request for a block of a clear PIN.
pub fn encrypt(key: &[u8], words: &[&str], pin: &str, profile: &[u8], pan: &str) -> Request {
    use clear_pin_encrypt::*;
    crate::support::Request::new(Verb::ClearPinEncrypt)
        .bytes(PIN_ENCRYPTING_KEY_IDENTIFIER, key)
        .rules(words)
        .bytes(CLEAR_PIN, format!("{pin:16}"))
        .bytes(PIN_PROFILE, profile)
        .bytes(PAN_DATA, pan)
        .integer(SEQUENCE_NUMBER, 99999)
}

/// A request for a CVV.
pub fn value(keys: (&[u8], &[u8]), words: &[&str], card: [&str; 3]) -> Request {
    Request::new(Verb::CvvGenerate)
        .rules(words)
        .bytes(cvv_generate::PAN_DATA, card[0])
        .bytes(cvv_generate::EXPIRATION_DATE, card[1])
        .bytes(cvv_generate::SERVICE_CODE, card[2])
        .bytes(cvv_generate::CVV_KEY_A_IDENTIFIER, keys.0)
        .bytes(cvv_generate::CVV_KEY_B_IDENTIFIER, keys.1)
}

/// A request to verify a CVV.
pub fn verified(keys: (&[u8], &[u8]), words: &[&str], card: [&str; 3], value: &str) -> Request {
    Request::new(Verb::CvvVerify)
        .rules(words)
        .bytes(cvv_verify::PAN_DATA, card[0])
        .bytes(cvv_verify::EXPIRATION_DATE, card[1])
        .bytes(cvv_verify::SERVICE_CODE, card[2])
        .bytes(cvv_verify::CVV_KEY_A_IDENTIFIER, keys.0)
        .bytes(cvv_verify::CVV_KEY_B_IDENTIFIER, keys.1)
        .bytes(cvv_verify::CVV_VALUE, format!("{value:5}"))
}

/// Card security codes of a card: expiration date, PAN, and for the second version the service code.
pub fn codes_of(key: &[u8], words: &[&str], card: &str) -> Request {
    use transaction_validation::*;
    crate::support::Request::new(Verb::TransactionValidation)
        .rules(words)
        .counted(TRANSACTION_KEY_LENGTH, TRANSACTION_KEY, key)
        .counted(TRANSACTION_INFO_LENGTH, TRANSACTION_INFO, card)
        .integer(VALIDATION_VALUES_LENGTH, 12)
}

/// A request to verify card security codes.
pub fn code_verified(key: &[u8], words: &[&str], card: &str, codes: &str) -> Request {
    use transaction_validation::{VALIDATION_VALUES, VALIDATION_VALUES_LENGTH};
    codes_of(key, words, card).counted(VALIDATION_VALUES_LENGTH, VALIDATION_VALUES, codes)
}
