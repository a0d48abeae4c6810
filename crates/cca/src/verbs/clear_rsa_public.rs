//! ClearRsaPublic: the raw RSA public operation under any token, on any card.

use wire::code;
use wire::verb::clear_rsa_public::{DATA, DATA_LENGTH, KEY, KEY_LENGTH, RESULT, RESULT_LENGTH};

use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::pass::Asymmetric;
use crate::pka::right_justified;

/// `data^e mod n`, in as many bytes as the modulus has. The data must be below the modulus.
pub(crate) async fn clear_rsa_public(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let field = call.counted(KEY_LENGTH, KEY)?;
    let data = call.counted(DATA_LENGTH, DATA)?;
    let key = KeyField::new(call, field).public().await?;
    call.capacity(RESULT_LENGTH, key.bytes())?;
    let block = right_justified(data, &key.modulus, code::TEXT_LENGTH)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.counted(RESULT_LENGTH, RESULT, &result);
    Ok(code::OK)
}
