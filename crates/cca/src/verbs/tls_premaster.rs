//! Opens the premaster secret of TLS that a client enciphered for an RSA key (RFC 5246, section 7.4.7.1). CCA has no
//! such verb.
//!
//! Every ciphertext, of any length, gets an answer of 48 bytes for the same work. If the secret does not open, other
//! bytes replace it ([`crate::pka::premaster`]), and the handshake fails at its end. The key must be TLS-ONLY: such a
//! key opens nothing else, and any other key is refused with 8/39. Whether the version in the secret is the one that
//! the client offered is for the caller to compare, or to write over, in constant time.

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::{premaster, right_justified};
use subtle::Choice;
use wire::code;
use wire::verb::tls_premaster::{Answer, Request};

pub(crate) async fn tls_premaster(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let key = call.key(request.rsa_private_key)?.private().await?;
    let substitutes = key.premaster.as_ref().ok_or(code::KEY_USAGE)?;
    let ciphertext = request.encrypted_premaster;
    let substitute = substitutes.of(ciphertext);
    // Whether a ciphertext is a number below the modulus is no secret. A larger ciphertext costs the same work.
    let block = Some(ciphertext)
        .filter(|ciphertext| ciphertext.len() == key.bytes())
        .and_then(|ciphertext| right_justified(ciphertext, &key.modulus, code::TEXT_LENGTH).ok());
    let is_whole = Choice::from(u8::from(block.is_some()));
    let block = match block {
        Some(block) => block,
        None => right_justified(&substitute, &key.modulus, code::SELF_CHECK)?,
    };
    let (codes, opened) = (key.codes(), call.ask(Asymmetric::Private { key, block }).await?);
    reply.write(Answer { premaster_secret: Some(&premaster::open(&opened, &substitute, is_whole)) })?;
    Ok(codes)
}
