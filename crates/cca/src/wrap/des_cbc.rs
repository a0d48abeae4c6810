//! Private values of RSA under a key-encrypting key of DES (CCA Basic Services, appendices C and D): X'08' by TDES in
//! outer CBC, X'02' by three passes of DES in CBC, one under each part of the key (EDE2); no initialization vector in
//! either.

use engine::{CipherAlgorithm, CipherDirection, CipherItem, Engine, Mode};
use token::pka::Form;
use wire::{Codes, code};

/// Enciphers or deciphers in place the secret part of a section of this form, under a key of two or three parts.
///
/// # Errors
/// 8/39 for a key of another length.
pub(crate) fn run(
    engine: &Engine,
    key: &[u8],
    form: Form,
    direction: CipherDirection,
    values: &mut [u8],
) -> Result<(), Codes> {
    let tdes = match key.len() {
        16 => CipherAlgorithm::Tdes2,
        24 => CipherAlgorithm::Tdes3,
        _ => return Err(code::KEY_USAGE),
    };
    if form == Form::Crt {
        return pass(engine, tdes, key, direction, values);
    }
    let (first, second) = (&key[..8], &key[8..16]);
    let third = key.get(16..24).unwrap_or(first);
    let other = match direction {
        CipherDirection::Encipher => CipherDirection::Decipher,
        CipherDirection::Decipher => CipherDirection::Encipher,
    };
    let steps = match direction {
        CipherDirection::Encipher => [first, second, third],
        CipherDirection::Decipher => [third, second, first],
    };
    for (part, direction) in steps.into_iter().zip([direction, other, direction]) {
        pass(engine, CipherAlgorithm::Des, part, direction, values)?;
    }
    Ok(())
}

fn pass(
    engine: &Engine,
    algorithm: CipherAlgorithm,
    key: &[u8],
    direction: CipherDirection,
    values: &mut [u8],
) -> Result<(), Codes> {
    let key = engine.cipher_key_internal(algorithm, key).map_err(|_| code::SELF_CHECK)?;
    let mut items = [CipherItem { key: &key, chain: [0; 16], data: values, result: Ok(()) }];
    engine.cipher_batch(Mode::Cbc, direction, &mut items);
    let [item] = items;
    item.result.map_err(|_| code::SELF_CHECK)
}
