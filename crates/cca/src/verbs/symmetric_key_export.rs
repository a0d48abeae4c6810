//! Symmetric_Key_Export (CSNDSYX): a DES or AES DATA key, enciphered under an RSA public key.
//!
//! Keywords: DES (default) or AES; PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256). PKOAEP2 and
//! AESKW belong to variable-length tokens, which are refused. A DES key must be a DATA key for every use
//! (8/31: DATAC, DATAM and DATAMV would come out as more than they are), whose control vector and flags allow export.

use wire::code;
use wire::verb::symmetric_key_export::{Answer, Request};

use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::key::transport::Transport;
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;

pub(crate) async fn symmetric_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let transport = Transport {
        algorithm: request.algorithm.into(),
        format: Encryption::of_transport(request.format, request.hash_method),
    };
    let source = call.key(request.source_key_identifier)?.bytes();
    // A field may be longer than the fixed-length token in it.
    let source = source.get(..token::TOKEN_BYTES).ok_or(code::OUT_OF_AREA)?;
    let key = call.key(request.rsa_public_key_identifier)?.public().await?;
    request.rsa_enciphered_key.holds(key.bytes())?;
    let exported = KeyField::new(call, source).of(transport.algorithm)?.for_export()?.await?;
    let block = transport.format.seal(&exported.secret, &key.modulus)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.write(Answer { rsa_enciphered_key: Some(&result) })?;
    Ok(exported.age.codes())
}
