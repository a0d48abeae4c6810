//! Symmetric_Key_Import2 (CSNDSYI2): an AES or HMAC key of an external token of variable length comes under the master key.
//!
//! | method | the key came under |
//! |---|---|
//! | AESKW | an AES IMPORTER key with the usage IMPORT, which must wrap keys of this algorithm and kind |
//! | PKOAEP2, CKM-RAKW | refused with 8/33 |
//!
//! All that the token says of its key stays as it is, but that a key name which is given takes the place of its own, and that a
//! key which came under a weaker one says so from then on. An incomplete key is refused with 8/39. DES, with AESKWCV and the keywords
//! of how a DES key is wrapped, is refused with 8/33: how a control vector lies in such a token is not published where it was read.

use token::des::Origin;
use token::usage::{Side, Wrapping};
use wire::code;
use wire::verb::Import2Algorithm;
use wire::verb::symmetric_key_import2::{Answer, Request};

use super::pka_key_token_build::name;
use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::key::variable_exchange::may_come;
use crate::pass::Skeleton;

/// Answers with the token.
pub(crate) async fn symmetric_key_import2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let source = KeyField::new(call, request.rsa_enciphered_key).external_variable()?;
    let token = may_come(&source)?;
    if token.key_type().is_aes() != (request.algorithm == Import2Algorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    let mut attributes = token.attributes().clone();
    let skeleton = token.moved_to(Origin::Internal);
    let kek = request.rsa_private_key_identifier;
    let kek = call.aes_key_encrypting_key(kek, Side::Receiving, Wrapping::Keys, &attributes).await?;
    let key = source.under(&kek)?.await?;
    if let Some(name) = name(request.user_mod_data)? {
        attributes = attributes.named(Some(name));
    }
    let skeleton = skeleton.with_attributes(kek.imported(&call, attributes, &key.secret)?)?;
    request.target_key_identifier.holds(skeleton.head().len() + skeleton.wrapped_bytes(key.secret.len())?)?;
    let token = call.make(Skeleton::Variable(Box::new(skeleton)), key.secret).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(kek.age.codes())
}
