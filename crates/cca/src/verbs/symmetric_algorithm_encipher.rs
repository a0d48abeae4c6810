//! Symmetric_Algorithm_Encipher (CSNBSAE).

use engine::CipherDirection;

use super::aes_cipher::aes_cipher;
use crate::call::{Call, Reply, Verdict};

/// See [`super::aes_cipher`].
pub(crate) async fn symmetric_algorithm_encipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    aes_cipher(call, reply, CipherDirection::Encipher).await
}
