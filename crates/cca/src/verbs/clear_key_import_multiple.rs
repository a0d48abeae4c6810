//! Clear_Key_Import_Multiple (CSNBCKM): a clear AES or DES key becomes an internal DATA key.

use engine::SecretBytes;
use wire::code;
use wire::verb::clear_key_import_multiple::{
    CLEAR_KEY, CLEAR_KEY_LENGTH, RULE_ARRAY, RULE_ARRAY_COUNT, TARGET_KEY_IDENTIFIER,
};

use super::clear_key_import::import_des;
use crate::call::{Call, Reply, Verdict};
use crate::key::Algorithm;
use crate::pass::Skeleton;
use crate::rules::{Rules, Word, word};

/// Answers with the token. DES (the default) takes 8, 16 or 24 bytes, AES 16, 24 or 32.
pub(crate) async fn clear_key_import_multiple(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 0, 1)?;
    let algorithm = rules.one_or(ALGORITHMS, Algorithm::Des)?;
    rules.finish()?;
    let clear = call.counted(CLEAR_KEY_LENGTH, CLEAR_KEY)?;
    if algorithm == Algorithm::Des {
        return import_des(call, reply, clear, TARGET_KEY_IDENTIFIER).await;
    }
    if !matches!(clear.len(), 16 | 24 | 32) {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    call.aes_target(TARGET_KEY_IDENTIFIER)?;
    let token = call.make(Skeleton::Aes, SecretBytes::from_slice(clear)).await?;
    reply.bytes(TARGET_KEY_IDENTIFIER, &token);
    Ok(code::OK)
}

const ALGORITHMS: &[(Word, Algorithm)] = &[(word("DES"), Algorithm::Des), (word("AES"), Algorithm::Aes)];
