//! The requests of clients.

use crate::oracle;
use facility::Facility;
use wire::code;
use wire::frame::Arguments;
use wire::verb::{
    DesChaining, DesMethod, Filled, HashMethod, Room, Segment, TypedAsk, Verb, decipher, encipher,
    key_generate, one_way_hash,
};

/// The token of a new key.
pub fn generate(facility: &Facility) -> Option<Vec<u8>> {
    let ask = key_generate::Ask {
        key_form: b"OP  ",
        key_length: b"DOUBLE  ",
        key_type_1: b"DATA    ",
        key_type_2: b"        ",
        ..key_generate::Ask::new()
    };
    let answered = facility.ask(0, &ask).ok()?;
    (answered.codes() == code::OK).then(|| answered.got().generated_key_identifier_1.to_vec())
}

/// Sends a request for the hash of a text.
pub fn hash<R>(text: &[u8], send: impl FnOnce(&Arguments<'_>) -> R) -> R {
    let ask = one_way_hash::Ask {
        segment: Some(Segment::Only),
        text,
        hash: Room::from(&[0; 32][..]),
        ..one_way_hash::Ask::new(HashMethod::Sha256)
    };
    send(&ask.arguments(&mut Filled::default()))
}

/// The chaining vector of a request to encipher or decipher: room, which holds the request's number meanwhile.
pub fn marked_vector(number: u64) -> [u8; 18] {
    // Where the verb begins a text, it reads nothing from here.
    let mut vector = [0; 18];
    vector[..16].copy_from_slice(&oracle::mark(number));
    vector
}

/// Position of the parameter in which a verb that enciphers or deciphers returns its text.
pub fn text_of(verb: Verb) -> usize {
    if verb == Verb::Encipher { encipher::CIPHERTEXT } else { decipher::PLAINTEXT }
}

/// Sends a text to be enciphered or deciphered under a token or a label.
pub fn cipher<R>(
    verb: Verb,
    key: &[u8],
    text: &[u8],
    vector: &[u8; 18],
    send: impl FnOnce(&Arguments<'_>) -> R,
) -> R {
    let (method, chaining) = (Some(DesMethod::Cbc), Some(DesChaining::Initial));
    let (key_identifier, initialization_vector, chaining_vector) = (key.into(), Some(&[7; 8]), Some(vector));
    if verb == Verb::Encipher {
        let ask = encipher::Ask {
            method,
            chaining,
            key_identifier,
            plaintext: text,
            initialization_vector,
            chaining_vector,
            ..encipher::Ask::new()
        };
        send(&ask.arguments(&mut Filled::default()))
    } else {
        let ask = decipher::Ask {
            method,
            chaining,
            key_identifier,
            ciphertext: text,
            initialization_vector,
            chaining_vector,
            ..decipher::Ask::new()
        };
        send(&ask.arguments(&mut Filled::default()))
    }
}
