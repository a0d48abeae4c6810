//! The private values of internal X'08' tokens (CCA's RSA private internal token with an object protection key): TDES
//! in outer CBC under a key of the token's own, and that key under the ASYM master key.
//!
//! Such a token is authenticated by SHA-1 over a text that holds the private key. Whoever knows that key can write any
//! token of it, so a token's statement of where its numbers came from is not believed.

use super::{By, des_cbc};
use crate::ground::Age;
use crate::kernel::Kernel;
use engine::{CipherDirection, SecretBytes, sha1};
use subtle::ConstantTimeEq;
use token::pka::{ASYM_OPK_CONFOUNDER_BYTES, ASYM_OPK_FIELD_BYTES, AsymBuilder, AsymWrapped, Form};
use wire::control::Register;
use wire::{Codes, code};

/// The private values of a token, in its order.
///
/// # Errors
/// 8/48 and 12/764 as the register has it; 8/47 where they do not open, whatever is wrong with them.
pub(crate) fn open(
    kernel: &Kernel<'_>,
    domain: u16,
    wrapped: &AsymWrapped<'_>,
) -> Result<(SecretBytes, Age), Codes> {
    let domain = kernel.domains.get(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let [a, b, c, d, e, f, g, h, rest @ ..] = *wrapped.pattern;
    let (age, master) = domain.of_pattern(Register::Asym, &[a, b, c, d, e, f, g, h])?;
    if rest != master.pattern_rest {
        return Err(code::MASTER_KEY_MISMATCH);
    }
    let mut opk = SecretBytes::from_slice(wrapped.opk);
    des_cbc::run(kernel.engine, &master.key, Form::Crt, CipherDirection::Decipher, opk.as_mut())?;
    let opk = SecretBytes::from_slice(&opk[ASYM_OPK_CONFOUNDER_BYTES..]);
    let mut values = SecretBytes::from_slice(wrapped.values.enciphered);
    des_cbc::run(kernel.engine, &opk, Form::Crt, CipherDirection::Decipher, values.as_mut())?;
    let hash = sha1(&wrapped.values.hashed(&values));
    if !bool::from(hash.ct_eq(wrapped.values.hash)) {
        return Err(code::TOKEN_INVALID);
    }
    let values = wrapped.values.values(&values).ok_or(code::TOKEN_INVALID)?;
    Ok((SecretBytes::from_slice(values), age))
}

/// The token of private values, which stand behind the room for their random bytes.
///
/// # Errors
/// 12/764; 8/47 for a transport key, under which no such token is made.
pub(crate) fn close(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &AsymBuilder,
    secret: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let By::Master(domain) = by else { return Err(code::TOKEN_INVALID) };
    let engine = kernel.engine;
    let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let master = domain.current(Register::Asym)?;
    let mut field = SecretBytes::new(ASYM_OPK_FIELD_BYTES);
    engine.random(field.as_mut());
    let opk = SecretBytes::from_slice(&field[ASYM_OPK_CONFOUNDER_BYTES..]);
    des_cbc::run(engine, &master.key, Form::Crt, CipherDirection::Encipher, field.as_mut())?;
    let mut values = secret.clone();
    engine.random(&mut values[..builder.confounder_bytes()]);
    let mut pattern = [0; 16];
    pattern[..8].copy_from_slice(&master.pattern);
    pattern[8..].copy_from_slice(&master.pattern_rest);
    let mut builder = builder.clone();
    builder.put_key(&pattern, field.first_chunk().ok_or(code::SELF_CHECK)?);
    let hash = sha1(&builder.hashed(&values));
    des_cbc::run(engine, &opk, Form::Crt, CipherDirection::Encipher, values.as_mut())?;
    Ok(builder.finish(&hash, &values))
}
