//! The private values of internal PKA tokens: AES key wrap under an object protection key of the token's own, and that key
//! under the APKA master key.

use engine::{CipherDirection, Engine, SecretBytes, sha256};
use token::pka::ecc::{EccCurve, EccInternalBuilder, EccWrapped};
use token::pka::unconfirmed::{OPK_BYTES, OPK_CONFOUNDER_BYTES, OPK_FIELD_BYTES};
use token::pka::{InternalBuilder, PkaToken, Wrapped};
use wire::control::Register;
use wire::{Codes, code};

use super::By;
use super::aeskw::{self, aes_256, block};
use crate::pass::Kernel;
use crate::registers::{Age, MasterKey};

/// How an object protection key fills its field.
#[derive(Clone, Copy)]
enum KeyField {
    /// X'30', X'31': the key, then padding.
    Padded,
    /// X'20': random bytes, then the key.
    Confounded,
}

/// The private values of an internal RSA token, under the master key of a domain.
///
/// # Errors
/// 8/48 and 12/764 as the register has it; 8/47 where they do not open.
pub(crate) fn open_rsa(
    kernel: &Kernel<'_>,
    domain: u16,
    view: &PkaToken<'_>,
    wrapped: &Wrapped<'_>,
) -> Result<(SecretBytes, Age), Codes> {
    let (age, master) = master_of(kernel, domain, wrapped.pattern)?;
    // Modulus and exponent stand in the token as they are: beside others the private values would be
    // used in a group of the caller's choice.
    let hashed = [wrapped.associated_data, view.modulus(), view.exponent()];
    let opk = open_key(kernel.engine, master, KeyField::Padded, wrapped.opk)?;
    Ok((open_values(kernel.engine, &opk, &hashed, wrapped.payload, wrapped.lengths.total())?, age))
}

/// The private value of an internal token of an elliptic curve, under the master key of a domain.
///
/// # Errors
/// As [`open_rsa`].
pub(crate) fn open_ecc(
    kernel: &Kernel<'_>,
    domain: u16,
    curve: EccCurve,
    wrapped: &EccWrapped<'_>,
) -> Result<(SecretBytes, Age), Codes> {
    let (age, master) = master_of(kernel, domain, wrapped.pattern)?;
    let opk = open_key(kernel.engine, master, KeyField::Confounded, wrapped.opk)?;
    Ok((open_values(kernel.engine, &opk, &wrapped.hashed, wrapped.payload, curve.bytes())?, age))
}

fn master_of<'k>(
    kernel: &'k Kernel<'_>,
    domain: u16,
    pattern: &[u8; 8],
) -> Result<(Age, &'k MasterKey), Codes> {
    let domain = kernel.domains.get(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    domain.of_pattern(Register::Apka, pattern)
}

fn open_key(
    engine: &Engine,
    master: &MasterKey,
    field: KeyField,
    wrapped: &[u8; OPK_FIELD_BYTES],
) -> Result<SecretBytes, Codes> {
    let key = aes_256(engine, &master.key)?;
    let decipher = block(engine, &key, CipherDirection::Decipher);
    match field {
        KeyField::Padded => aeskw::unwrap(decipher, &[], wrapped, OPK_BYTES),
        KeyField::Confounded => aeskw::unwrap_confounded(decipher, wrapped),
    }
    .map_err(|_| code::TOKEN_INVALID)
}

fn open_values(
    engine: &Engine,
    opk: &SecretBytes,
    hashed: &[&[u8]; 3],
    payload: &[u8],
    bytes: usize,
) -> Result<SecretBytes, Codes> {
    let key = aes_256(engine, opk)?;
    let hash = sha256(&hashed.concat());
    let decipher = block(engine, &key, CipherDirection::Decipher);
    aeskw::unwrap(decipher, &hash, payload, bytes).map_err(|_| code::TOKEN_INVALID)
}

/// The internal token of private values of RSA, in the order of a token.
///
/// # Errors
/// 12/764; 8/47 for a transport key, under which no such token is made.
pub(crate) fn close_rsa(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &InternalBuilder,
    values: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let closed = close(kernel, by, KeyField::Padded, &builder.hashed(), values)?;
    Ok(builder.finish(&closed.opk, &closed.pattern, &closed.payload))
}

/// The internal token of a private value of an elliptic curve.
///
/// # Errors
/// As [`close_rsa`].
pub(crate) fn close_ecc(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &EccInternalBuilder,
    value: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let closed = close(kernel, by, KeyField::Confounded, &builder.hashed(), value)?;
    if closed.payload.len() != builder.payload_bytes() {
        return Err(code::SELF_CHECK);
    }
    Ok(builder.finish(&closed.opk, &closed.pattern, &closed.payload))
}

struct Closed {
    opk: [u8; OPK_FIELD_BYTES],
    pattern: [u8; 8],
    payload: Vec<u8>,
}

/// Wraps private values under a new object protection key.
fn close(
    kernel: &Kernel<'_>,
    by: &By,
    field: KeyField,
    hashed: &[&[u8]; 3],
    values: &SecretBytes,
) -> Result<Closed, Codes> {
    let By::Master(domain) = by else { return Err(code::TOKEN_INVALID) };
    let engine = kernel.engine;
    let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let master = domain.current(Register::Apka)?;
    let mut opk = SecretBytes::new(OPK_BYTES);
    engine.random(opk.as_mut());
    let hash = sha256(&hashed.concat());
    let key = aes_256(engine, &opk)?;
    let payload = aeskw::wrap(block(engine, &key, CipherDirection::Encipher), &hash, &[values]);
    let key = aes_256(engine, &master.key)?;
    let encipher = block(engine, &key, CipherDirection::Encipher);
    let opk = match field {
        KeyField::Padded => aeskw::wrap(encipher, &[], &[&opk]),
        KeyField::Confounded => {
            let mut confounder = [0; OPK_CONFOUNDER_BYTES];
            engine.random(&mut confounder);
            aeskw::wrap_confounded(encipher, confounder, &opk)
        }
    };
    let opk = opk.try_into().map_err(|_| code::SELF_CHECK)?;
    Ok(Closed { opk, pattern: master.pattern, payload })
}
