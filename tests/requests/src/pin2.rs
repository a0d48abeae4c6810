//! Requests of Encrypted_PIN_Translate2, Encrypted_PIN_Verify2 and Recover_PIN_From_Offset, and blocks of ISO-4 by
//! OpenSSL.

use crate::peer::{aes_ecb, xor};
use crate::pin::{data, hex, profile};
use wire::verb::{Verb, encrypted_pin_translate2, encrypted_pin_verify2, recover_pin_from_offset};

/// The PAN of the requests, whole, and as blocks of 8 bytes have it.
pub const PAN: &str = "4012345678909";
/// The twelve digits of a PAN that formats take.
pub const TWELVE: &str = "401234567890";

/// Sides of a request: keys, profiles, PANs.
pub type Sides<'a> = ((&'a [u8], &'a [u8]), (&'a [u8], &'a [u8]), (&'a str, &'a str));

/// A request to translate a PIN block, of AES or DES keys.
pub fn translate2(
    words: &[&str],
    (keys, profiles, pans): Sides<'_>,
    block: &[u8],
) -> crate::support::Request {
    use encrypted_pin_translate2::*;
    crate::support::Request::new(Verb::EncryptedPinTranslate2)
        .rules(words)
        .counted(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH, INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.0)
        .counted(OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH, OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys.1)
        .counted(INPUT_PIN_PROFILE_LENGTH, INPUT_PIN_PROFILE, profiles.0)
        .counted(OUTPUT_PIN_PROFILE_LENGTH, OUTPUT_PIN_PROFILE, profiles.1)
        .counted(INPUT_PAN_DATA_LENGTH, INPUT_PAN_DATA, pans.0)
        .counted(OUTPUT_PAN_DATA_LENGTH, OUTPUT_PAN_DATA, pans.1)
        .counted(INPUT_PIN_BLOCK_LENGTH, INPUT_PIN_BLOCK, block)
        .integer(OUTPUT_PIN_BLOCK_LENGTH, 16)
}

/// A profile with derivation data, which begin like this behind the version.
pub fn aes_profile(format: &str, kind: &str, counter: u32) -> Vec<u8> {
    let data = hex::<20>(&format!("01011000{kind}1234567890123456{counter:08X}"));
    [&profile(format, "")[..], &data].concat()
}

/// The field of a PAN.
pub fn pan_field(pan: &str) -> [u8; 16] {
    let text = format!("{:X}{pan:0>12}", pan.len().saturating_sub(12));
    hex(&format!("{text:0<32}"))
}

/// A block of ISO-4 by OpenSSL.
pub fn under4(key: &[u8], pan: &str, field: &[u8; 16]) -> Vec<u8> {
    aes_ecb(key, true, &xor(&aes_ecb(key, true, field), &pan_field(pan)))
}

/// The field of a block of ISO-4 by OpenSSL.
pub fn clear4(key: &[u8], pan: &str, block: &[u8]) -> Vec<u8> {
    aes_ecb(key, false, &xor(&aes_ecb(key, false, block), &pan_field(pan)))
}

/// A PIN field with these bytes behind it.
pub fn field4(pin: &str, rest: u64) -> [u8; 16] {
    hex(&format!("4{:X}{pin:A<14}{rest:016X}", pin.len()))
}

/// A side: key, profile, PAN, block.
pub type Side<'a> = (&'a [u8], &'a [u8], &'a str, &'a [u8]);

/// A request to verify the PIN of a block by that of another.
pub fn compare(
    words: &[&str],
    reference_words: &[&str],
    own: Side<'_>,
    other: Side<'_>,
    checked: i64,
) -> crate::support::Request {
    use encrypted_pin_verify2::*;
    let array: String = reference_words.iter().map(|word| format!("{word:8}")).collect();
    crate::support::Request::new(Verb::EncryptedPinVerify2)
        .rules(words)
        .integer(REFERENCE_PIN_RULE_ARRAY_COUNT, reference_words.len() as i64)
        .bytes(REFERENCE_PIN_RULE_ARRAY, array)
        .integer(PIN_CHECK_LENGTH, checked)
        .counted(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH, INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, own.0)
        .counted(
            REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH,
            REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER,
            other.0,
        )
        .counted(INPUT_PIN_PROFILE_LENGTH, INPUT_PIN_PROFILE, own.1)
        .counted(REFERENCE_PIN_PROFILE_LENGTH, REFERENCE_PIN_PROFILE, other.1)
        .counted(INPUT_PIN_BLOCK_LENGTH, INPUT_PIN_BLOCK, own.3)
        .counted(REFERENCE_PIN_BLOCK_LENGTH, REFERENCE_PIN_BLOCK, other.3)
        .bytes(INPUT_PAN_DATA, own.2)
        .bytes(REFERENCE_PAN_DATA, other.2)
}

/// A request for the PIN of an offset, in a block.
pub fn recover(
    keys: (&[u8], &[u8]),
    profile: &[u8],
    pan: &str,
    offset: &str,
    elements: [&str; 3],
) -> crate::support::Request {
    use recover_pin_from_offset::*;
    crate::support::Request::new(Verb::RecoverPinFromOffset)
        .counted(PIN_ENC_KEY_ID_LENGTH, PIN_ENC_KEY_ID, keys.0)
        .counted(PIN_GEN_KEY_ID_LENGTH, PIN_GEN_KEY_ID, keys.1)
        .bytes(PIN_PROFILE, profile)
        .bytes(PAN_DATA, pan)
        .bytes(OFFSET, format!("{offset:16}"))
        .bytes(DATA_ARRAY, data(elements))
        .integer(ENCRYPTED_PIN_BLK_LENGTH, 8)
}
