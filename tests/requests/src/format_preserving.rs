//! Requests of the verbs that encipher texts by FF1.

use crate::support::Request;
use wire::verb::{Verb, format_preserving_decipher, format_preserving_encipher, format_preserving_translate};

/// Keywords, alphabet, tweak, alphabet of the tweak.
pub type Format<'a> = (&'a str, &'a [u8], &'a [u8], &'a [u8]);

/// A request to encipher a text of an alphabet.
pub fn encipher(token: &[u8], format: Format<'_>, text: &[u8]) -> Request {
    use format_preserving_encipher::*;
    crate::support::Request::new(Verb::FormatPreservingEncipher)
        .rules(&["FF1", "AES", format.0])
        .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
        .counted(ALPHABET_LENGTH, ALPHABET, format.1)
        .counted(TWEAK_LENGTH, TWEAK, format.2)
        .counted(TWEAK_ALPHABET_LENGTH, TWEAK_ALPHABET, format.3)
        .counted(PLAINTEXT_LENGTH, PLAINTEXT, text)
        .integer(CIPHERTEXT_LENGTH, 600)
}

/// A request to decipher it.
pub fn decipher(token: &[u8], format: Format<'_>, text: &[u8]) -> Request {
    use format_preserving_decipher::*;
    crate::support::Request::new(Verb::FormatPreservingDecipher)
        .rules(&["FF1", "AES", format.0])
        .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
        .counted(ALPHABET_LENGTH, ALPHABET, format.1)
        .counted(TWEAK_LENGTH, TWEAK, format.2)
        .counted(TWEAK_ALPHABET_LENGTH, TWEAK_ALPHABET, format.3)
        .counted(CIPHERTEXT_LENGTH, CIPHERTEXT, text)
        .integer(PLAINTEXT_LENGTH, 600)
}

/// A request to decipher it under one key and to encipher it under another.
pub fn translate(keys: (&[u8], &[u8]), formats: (Format<'_>, Format<'_>), text: &[u8]) -> Request {
    use format_preserving_translate::*;
    let (from, to) = formats;
    let words = [format!("I{}", from.0), format!("O{}", to.0)];
    crate::support::Request::new(Verb::FormatPreservingTranslate)
        .rules(&["ICFF1", "OCFF1", "AES", &words[0], &words[1]])
        .counted(INPUT_KEY_IDENTIFIER_LENGTH, INPUT_KEY_IDENTIFIER, keys.0)
        .counted(OUTPUT_KEY_IDENTIFIER_LENGTH, OUTPUT_KEY_IDENTIFIER, keys.1)
        .counted(INPUT_ALPHABET_LENGTH, INPUT_ALPHABET, from.1)
        .counted(INPUT_TWEAK_LENGTH, INPUT_TWEAK, from.2)
        .counted(INPUT_TWEAK_ALPHABET_LENGTH, INPUT_TWEAK_ALPHABET, from.3)
        .counted(OUTPUT_ALPHABET_LENGTH, OUTPUT_ALPHABET, to.1)
        .counted(OUTPUT_TWEAK_LENGTH, OUTPUT_TWEAK, to.2)
        .counted(OUTPUT_TWEAK_ALPHABET_LENGTH, OUTPUT_TWEAK_ALPHABET, to.3)
        .counted(CIPHERTEXT_LENGTH, CIPHERTEXT, text)
}
