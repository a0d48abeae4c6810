//! Clear_Key_Import_Multiple (CSNBCKM): a clear AES or DES key becomes an internal DATA key.

use super::clear_key_import::import_des;
use crate::call::{Call, Reply, Verdict};
use crate::key::target::aes_target;
use crate::pass::Skeleton;
use engine::SecretBytes;
use wire::code;
use wire::verb::KeyAlgorithm;
use wire::verb::clear_key_import_multiple::{Answer, Request};

/// Answers with the token. DES (the default) takes 8, 16 or 24 bytes, AES 16, 24 or 32. In a home of compatible tokens
/// a DES key is wrapped as the keyword says, or as the target token is. WRAP-ECB is refused if the target's control
/// vector forbids it (8/2111). AES tokens have one wrapping.
pub(crate) async fn clear_key_import_multiple(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (clear, target) = (request.clear_key, request.target_key_identifier);
    let (token, codes) = match request.algorithm {
        KeyAlgorithm::Des => import_des(call, clear, target, request.wrapping).await?,
        KeyAlgorithm::Aes => {
            if !matches!(clear.len(), 16 | 24 | 32) {
                return Err(code::KEY_LENGTH_KEYWORD.into());
            }
            aes_target(target)?;
            (call.make(Skeleton::Aes, SecretBytes::from_slice(clear)).await?, code::OK)
        }
    };
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
}
