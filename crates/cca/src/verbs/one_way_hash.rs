//! One_Way_Hash (CSNBOWH): the digest of a text, whole or in segments.
//!
//! FIRST and MIDDLE take whole blocks of the hash (64 bytes; 128 for SHA-384 and SHA-512) and carry the
//! state in the chaining vector of 128 bytes. The state of SHA-3 is longer than that: SHA-3 texts come
//! whole.

use engine::HashAlgorithm;
use wire::code;
use wire::verb::one_way_hash::{
    CHAINING_VECTOR, CHAINING_VECTOR_LENGTH, HASH, HASH_LENGTH, RULE_ARRAY, RULE_ARRAY_COUNT, TEXT,
    TEXT_LENGTH,
};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::pass::{Hash, HashOutput};
use crate::rules::{Rules, Word, word};

/// Answers with the digest after ONLY and LAST, with the chaining vector after FIRST and MIDDLE.
pub(crate) async fn one_way_hash(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, 2)?;
    let algorithm = rules.optional(ALGORITHMS)?;
    let (first, last) = rules.one_or(SEGMENTS, (true, true))?;
    rules.finish()?;
    let algorithm = algorithm.ok_or(code::KEYWORD_COMBINATION)?;
    let text = call.text(TEXT_LENGTH, TEXT)?;
    if !last && !text.len().is_multiple_of(algorithm.block_bytes()) {
        return Err(code::TEXT_LENGTH.into());
    }
    if !(first && last) && CHAINED.iter().all(|chained| *chained != algorithm) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    if !(first && last) {
        let needed = engine::HASH_STATE_BYTES;
        if call.integer(CHAINING_VECTOR_LENGTH) < needed as i64 {
            return Err(code::BUFFER_TOO_SMALL.into());
        }
    }
    if last && call.integer(HASH_LENGTH) < algorithm.digest_bytes() as i64 {
        return Err(code::BUFFER_TOO_SMALL.into());
    }
    let state = if first { None } else { Some(carried(&call)?) };

    match call.ask(Hash { algorithm, state, text, last }).await? {
        HashOutput::Digest(digest) => reply.bytes(HASH, &digest[..algorithm.digest_bytes()]),
        HashOutput::State(state) => reply.bytes(CHAINING_VECTOR, &state),
    }
    Ok(code::OK)
}

fn carried<'a>(call: &Call<'_, 'a>) -> Result<&'a [u8], Refusal> {
    let state = call.bytes(CHAINING_VECTOR).get(..engine::HASH_STATE_BYTES);
    Ok(state.ok_or(code::INVALID_PARAMETER)?)
}

const ALGORITHMS: &[(Word, HashAlgorithm)] = &[
    (word("MD5"), HashAlgorithm::Md5),
    (word("SHA-1"), HashAlgorithm::Sha1),
    (word("SHA-224"), HashAlgorithm::Sha224),
    (word("SHA-256"), HashAlgorithm::Sha256),
    (word("SHA-384"), HashAlgorithm::Sha384),
    (word("SHA-512"), HashAlgorithm::Sha512),
    (word("SHA3-224"), HashAlgorithm::Sha3_224),
    (word("SHA3-256"), HashAlgorithm::Sha3_256),
    (word("SHA3-384"), HashAlgorithm::Sha3_384),
    (word("SHA3-512"), HashAlgorithm::Sha3_512),
];

/// Hashes whose state fits the chaining vector.
const CHAINED: &[HashAlgorithm] = &[
    HashAlgorithm::Md5,
    HashAlgorithm::Sha1,
    HashAlgorithm::Sha224,
    HashAlgorithm::Sha256,
    HashAlgorithm::Sha384,
    HashAlgorithm::Sha512,
];

/// Whether the text begins, and whether it ends, with this call.
const SEGMENTS: &[(Word, (bool, bool))] = &[
    (word("ONLY"), (true, true)),
    (word("FIRST"), (true, false)),
    (word("MIDDLE"), (false, false)),
    (word("LAST"), (false, true)),
];
