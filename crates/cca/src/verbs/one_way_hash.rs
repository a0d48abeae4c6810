//! One_Way_Hash (CSNBOWH): the digest of a text, whole or in segments.
//!
//! FIRST and MIDDLE take whole blocks of the hash and return its state in the chaining vector.
//!
//! | hash | block | chaining vector |
//! |---|---|---|
//! | MD5, RPMD-160, SHA-1, SHA-224, SHA-256 | 64 bytes | 128 bytes |
//! | SHA-384, SHA-512 | 128 | 128 |
//! | SHA3-224, SHA3-256, SHA3-384, SHA3-512 | 144, 136, 104, 72 | 256 |

use crate::call::{Call, Reply, Verdict};
use crate::pass::{Hash, HashOutput, HashText};
use engine::{HASH_STATE_BYTES, HashAlgorithm, SHA3_STATE_BYTES};
use std::borrow::Cow;
use wire::code;
use wire::verb::one_way_hash::{Answer, Request};
use wire::verb::{HashMethod, Segment};

/// Answers with the digest after ONLY and LAST, with the chaining vector after FIRST and MIDDLE.
pub(crate) async fn one_way_hash(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let algorithm = algorithm(request.method);
    let (first, last) = match request.segment {
        Segment::Only => (true, true),
        Segment::First => (true, false),
        Segment::Middle => (false, false),
        Segment::Last => (false, true),
    };
    if !last && !request.text.len().is_multiple_of(algorithm.block_bytes()) {
        return Err(code::TEXT_LENGTH.into());
    }
    let state_bytes = if algorithm.is_sha3() { SHA3_STATE_BYTES } else { HASH_STATE_BYTES };
    if !(first && last) {
        request.chaining_vector.holds(state_bytes)?;
    }
    if last {
        request.hash.holds(algorithm.digest_bytes())?;
    }
    let state = if first { None } else { request.chaining_vector.given()?.get(..state_bytes) };

    let state = state.map(Cow::Borrowed);
    let text = HashText { algorithm, key: None, state, text: request.text, last };
    match call.ask(Hash::Text(text)).await? {
        HashOutput::Digest(digest) => {
            let hash = Some(&digest[..algorithm.digest_bytes()]);
            reply.write(Answer { hash, ..Answer::default() })?;
        }
        HashOutput::State(state) => {
            reply.write(Answer { chaining_vector: Some(&state), ..Answer::default() })?;
        }
        HashOutput::LongState(state) => {
            reply.write(Answer { chaining_vector: Some(&state[..]), ..Answer::default() })?;
        }
    }
    Ok(code::OK)
}

fn algorithm(method: HashMethod) -> HashAlgorithm {
    match method {
        HashMethod::Md5 => HashAlgorithm::Md5,
        HashMethod::Sha1 => HashAlgorithm::Sha1,
        HashMethod::Sha224 => HashAlgorithm::Sha224,
        HashMethod::Sha256 => HashAlgorithm::Sha256,
        HashMethod::Sha384 => HashAlgorithm::Sha384,
        HashMethod::Sha512 => HashAlgorithm::Sha512,
        HashMethod::Sha3_224 => HashAlgorithm::Sha3_224,
        HashMethod::Sha3_256 => HashAlgorithm::Sha3_256,
        HashMethod::Sha3_384 => HashAlgorithm::Sha3_384,
        HashMethod::Sha3_512 => HashAlgorithm::Sha3_512,
        HashMethod::Ripemd160 => HashAlgorithm::Ripemd160,
    }
}
