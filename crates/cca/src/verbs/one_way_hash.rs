//! One_Way_Hash (CSNBOWH): the digest of a text, whole or in segments.
//!
//! FIRST and MIDDLE take whole blocks of the hash (64 bytes; 128 for SHA-384 and SHA-512) and carry the
//! state in the chaining vector of 128 bytes. The state of SHA-3 is longer than that: SHA-3 texts come
//! whole.

use std::borrow::Cow;

use engine::HashAlgorithm;
use wire::code;
use wire::verb::one_way_hash::{Answer, Request};
use wire::verb::{HashMethod, Segment};

use crate::call::{Call, Reply, Verdict};
use crate::pass::{Hash, HashOutput, HashText};

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
    if !(first && last) {
        request.chaining_vector.holds(engine::HASH_STATE_BYTES)?;
    }
    if last {
        request.hash.holds(algorithm.digest_bytes())?;
    }
    let state = if first { None } else { request.chaining_vector.given()?.get(..engine::HASH_STATE_BYTES) };

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
    }
}
