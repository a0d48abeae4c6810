//! Symmetric_Algorithm_Decipher (CSNBSAD).

use engine::CipherDirection;

use super::aes_cipher::aes_cipher;
use crate::call::{Call, Reply, Verdict};

/// See [`super::aes_cipher`].
pub(crate) async fn symmetric_algorithm_decipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    aes_cipher(call, reply, CipherDirection::Decipher).await
}
