//! The requests of clients.

use crate::oracle;
use facility::Facility;
use wire::code;
use wire::frame::{Argument, Arguments};
use wire::verb::{Verb, decipher, encipher, key_generate, one_way_hash};

/// The token of a new key.
pub fn generate(facility: &Facility) -> Option<Vec<u8>> {
    use key_generate::*;
    const NONE: [u8; 64] = [0; 64];
    let mut arguments = Arguments::new(Verb::KeyGenerate);
    arguments.set_bytes(KEY_FORM, b"OP  ").set_bytes(KEY_LENGTH, b"DOUBLE  ");
    arguments.set_bytes(KEY_TYPE_1, b"DATA    ").set_bytes(KEY_TYPE_2, b"        ");
    for identifier in
        [KEK_KEY_IDENTIFIER_1, KEK_KEY_IDENTIFIER_2, GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2]
    {
        arguments.set_bytes(identifier, &NONE);
    }
    let reply = facility.call(0, &arguments).ok()?;
    (reply.codes() == code::OK).then(|| reply.arguments().bytes(GENERATED_KEY_IDENTIFIER_1).to_vec())
}

/// The hash of a text.
pub fn hash(text: &[u8]) -> Arguments<'_> {
    const ROOM: [u8; 64] = [0; 64];
    let mut arguments = Arguments::new(Verb::OneWayHash);
    arguments
        .set_integer(one_way_hash::RULE_ARRAY_COUNT, 2)
        .set_bytes(one_way_hash::RULE_ARRAY, b"SHA-256 ONLY    ")
        .set_integer(one_way_hash::TEXT_LENGTH, text.len() as i64)
        .set(one_way_hash::TEXT, Argument::Bytes(text))
        .set_integer(one_way_hash::HASH_LENGTH, 32)
        .set_bytes(one_way_hash::HASH, &ROOM[..32]);
    arguments
}

/// The chaining vector of a request to encipher or decipher: room, which holds the request's number meanwhile.
pub fn marked_vector(number: u64) -> [u8; 18] {
    // Where the verb begins a text, it reads nothing from here.
    let mut vector = [0; 18];
    vector[..16].copy_from_slice(&oracle::mark(number));
    vector
}

/// Which parameter of a verb that enciphers or deciphers is its answer.
pub fn text_of(verb: Verb) -> usize {
    if verb == Verb::Encipher { encipher::CIPHERTEXT } else { decipher::PLAINTEXT }
}

/// A text to be enciphered or deciphered under a token or a label.
pub fn cipher<'a>(verb: Verb, key: &'a [u8], text: &'a [u8], vector: &'a [u8; 18]) -> Arguments<'a> {
    let mut arguments = Arguments::new(verb);
    if verb == Verb::Encipher {
        use encipher::*;
        arguments.set_bytes(KEY_IDENTIFIER, key).set_integer(TEXT_LENGTH, text.len() as i64);
        arguments.set_bytes(PLAINTEXT, text).set_bytes(INITIALIZATION_VECTOR, &[7; 8]);
        arguments.set_integer(RULE_ARRAY_COUNT, 2).set_bytes(RULE_ARRAY, b"CBC     INITIAL ");
        arguments.set_integer(PAD_CHARACTER, 0).set_bytes(CHAINING_VECTOR, vector);
    } else {
        use decipher::*;
        arguments.set_bytes(KEY_IDENTIFIER, key).set_integer(TEXT_LENGTH, text.len() as i64);
        arguments.set_bytes(CIPHERTEXT, text).set_bytes(INITIALIZATION_VECTOR, &[7; 8]);
        arguments.set_integer(RULE_ARRAY_COUNT, 2).set_bytes(RULE_ARRAY, b"CBC     INITIAL ");
        arguments.set_bytes(CHAINING_VECTOR, vector);
    }
    arguments
}
