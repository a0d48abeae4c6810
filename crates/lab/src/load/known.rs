//! Published answers that the engine must give before it is measured.
//!
//! The answers that jobs are compared with come from the same engine; these vectors tie it to the standards.

use super::LabError;
use super::native::{engine_mode, refused};
use crate::kit::records;
use crate::load::operation::{Cipher, Direction, Mac, Mode, Operation};
use engine::{Engine, GcmItem, HmacItem, MacItem};

/// Operation, key, chaining value, text and answer, or the beginning of it: FIPS 81 (DES), SP 800-67 (triple DES), FIPS
/// 197 and SP 800-38A (AES), McGrew and Viega (GCM), FIPS 180-4 and FIPS 202, RFC 4493, RFC 2202 and RFC 4231.
type Vector = (Operation, String, String, String, String);

/// Holds the engine against the published vectors of an operation. RSA and ECDSA have none here: each of
/// their jobs is checked with another arithmetic, or by verifying.
///
/// # Errors
/// [`LabError::WrongAnswer`].
pub(super) fn check(engine: &Engine, operation: Operation) -> Result<(), LabError> {
    let all = records::<Vector>(include_str!("../../data/vectors.csv"));
    for (known, key, iv, text, expected) in all.filter(|vector| is_like(operation, vector.0)) {
        let expected = bytes(&expected);
        let got =
            answer(engine, known, &bytes(&key), &bytes(&iv), &bytes(&text)).map_err(refused(operation))?;
        if got.get(..expected.len()) != Some(&expected[..]) {
            let what = "the engine does not give the published answer";
            return Err(LabError::WrongAnswer { operation, job: 0, what });
        }
    }
    Ok(())
}

/// Whether a vector belongs to an operation: a cipher has the vectors of all its modes; GCM has one of its own with
/// AES-128. The DES MACs have the vectors of DES, for each job's expected MAC is worked out in single-DES steps.
fn is_like(operation: Operation, known: Operation) -> bool {
    match (operation, known) {
        (Operation::Cipher { cipher, mode, .. }, Operation::Cipher { cipher: of, mode: known, .. }) => {
            cipher == of && (mode == Mode::Gcm && cipher == Cipher::Aes128) == (known == Mode::Gcm)
        }
        (Operation::Mac(Mac::X99 | Mac::X919), Operation::Cipher { cipher, .. }) => cipher == Cipher::Des,
        _ => operation == known,
    }
}

fn answer(
    engine: &Engine,
    operation: Operation,
    key: &[u8],
    iv: &[u8],
    text: &[u8],
) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let mut data = text.to_vec();
    match operation {
        Operation::Cipher { mode: Mode::Gcm, .. } => {
            let key = engine.gcm_key(key).map_err(|error| failed(&error))?;
            let mut items = [GcmItem::encipher(&key, iv, &[], &mut data)];
            engine.gcm_batch(Direction::Encipher, &mut items);
            let tag = items[0].tag;
            data.extend_from_slice(&tag);
            Ok(data)
        }
        Operation::Cipher { cipher, mode, direction } => {
            let mut iv = iv.to_vec();
            iv.resize(cipher.block_bytes(), 0);
            let (mode, key) = (engine_mode(mode), &key[..cipher.key_bytes()]);
            let done = engine.cipher(cipher, mode, direction, key, &mut iv, &mut data);
            done.map(|()| data).map_err(|error| failed(&error))
        }
        Operation::Mac(mac) => {
            let key = engine.mac_key(mac, key).map_err(|error| failed(&error))?;
            let mut items = [MacItem::new(&key, text)];
            engine.mac_batch(&mut items);
            Ok(items[0].mac.to_vec())
        }
        Operation::Hash(hash) => {
            engine.hash(hash, text).map(|digest| digest.to_vec()).map_err(|error| failed(&error))
        }
        Operation::Hmac(hash) => {
            let key = engine.hmac_key(hash, key).map_err(|error| failed(&error))?;
            let mut items = [HmacItem::new(&key, text)];
            engine.hmac_batch(&mut items);
            Ok(items[0].mac.to_vec())
        }
        Operation::Rsa { .. } | Operation::EcdsaP256Sign | Operation::EcdhP256 => Ok(Vec::new()),
        Operation::Verb { .. } | Operation::Payment(_) | Operation::KeyGenerate2Opex => Ok(Vec::new()),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter_map(|c| (c as char).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_with_a_published_answer_is_held_against_one() {
        let known: Vec<Operation> =
            records::<Vector>(include_str!("../../data/vectors.csv")).map(|vector| vector.0).collect();
        let has_none = |operation: &&Operation| !known.iter().any(|known| is_like(**operation, *known));
        let all = Operation::all();
        for operation in all.iter().filter(has_none) {
            let kind =
                matches!(operation, Operation::Rsa { .. } | Operation::EcdsaP256Sign | Operation::EcdhP256);
            assert!(kind || operation.needs_card(), "{operation}");
        }
    }
}
