//! Key_Encryption_Translate (CSNBKET): a DATA key of double length under a key-encrypting key, between a token and a
//! block.
//!
//! | keyword | key-encrypting key | in | out |
//! |---|---|---|---|
//! | CBCTOECB | IMPORTER | 16 bytes in CBC, from a vector of zeros | external token with a control vector of zeros |
//! | ECBTOCBC | EXPORTER | external token with a control vector of zeros | 16 bytes in CBC |
//!
//! A caller can XOR any difference into the second half of a block in CBC, and the key in the token then has it: so a
//! caller can make related keys of an unknown key. So the verb has a point that no role has by default.

use super::key_import::source;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Key;
use crate::key::exchange::AskedType;
use crate::key::field::KeyField;
use crate::pass::{Cipher, KeyRule};
use crate::wipe::Text;
use engine::{CipherDirection, Mode, SecretBytes};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::usage::{Side, Use, Wrapping};
use token::{ControlVector, DesToken};
use wire::code;
use wire::verb::KeyEncryption;
use wire::verb::key_encryption_translate::{Answer, Request};

pub(crate) async fn key_encryption_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let field = request.kek_identifier;
    let is_token_made = request.translation == KeyEncryption::CbcToEcb;
    request.key_out.holds(if is_token_made { TOKEN_BYTES } else { KEY_BYTES })?;
    let (renewal, age, token, out) = if is_token_made {
        if request.key_in.len() != KEY_BYTES {
            return Err(code::INVALID_PARAMETER.into());
        }
        let key = call.key_encrypting_key(field, Side::Receiving, Wrapping::Keys).await?;
        let renewal = key.renew(call, field)?;
        let clear = cbc(call, &key, CipherDirection::Decipher, request.key_in).await?;
        let form = KeyForm::Double;
        let skeleton = DesToken::skeleton(Origin::External, form, ControlVector::ZERO)?;
        let made = key.wrap(&call, skeleton, SecretBytes::from_slice(&clear))?.await?;
        (renewal, key.age, Some(*made.fixed()?), None)
    } else {
        let token = source(request.key_in, AskedType::Token)?;
        if !token.control_vector().is_zero() {
            return Err(code::CONTROL_VECTOR_NOT_DATA.into());
        }
        if token.export_prohibited() || !token.control_vector().may(Use::Export) {
            return Err(code::KEY_USAGE.into());
        }
        let key = call.key_encrypting_key(field, Side::Sending, Wrapping::Keys).await?;
        let renewal = key.renew(call, field)?;
        let data = KeyField::of_token(call, token).under(&key)?.await?;
        if data.secret.len() != KEY_BYTES {
            return Err(code::TOKEN_INVALID.into());
        }
        let block = cbc(call, &key, CipherDirection::Encipher, &data.secret).await?;
        (renewal, key.age, None, Some(block))
    };
    let renewed = renewal.token().await?;
    let key_out = token.as_ref().map(|token| &token[..]).or(out.as_deref());
    reply.write(Answer { kek_identifier: renewed.as_deref(), key_out })?;
    Ok(age.codes())
}

/// A key of double length under a key-encrypting key in CBC, from a vector of zeros.
async fn cbc(
    call: Call<'_, '_>,
    key: &Key,
    direction: CipherDirection,
    bytes: &[u8],
) -> Result<Text, Refusal> {
    let done = call.ask(Cipher {
        algorithm: key.cipher(),
        rule: KeyRule::Internal,
        mode: Mode::Cbc,
        direction,
        key: key.secret.clone(),
        chain: [0; 16],
        data: Text::from(bytes),
    });
    Ok(done.await?.data)
}

/// Length of a key of double length.
const KEY_BYTES: usize = 16;
const TOKEN_BYTES: usize = 64;
