//! The private values of PKA tokens: AES key wrap under an object protection key of the token's own, and that key under
//! the APKA master key, in an external token under a transport key of AES. The private value of an elliptic curve in an
//! external token is under the transport key itself.
//!
//! A content under a transport key shows what it is. An object protection key has no hash, a private value has a hash
//! of the token around it, and a symmetric key has one of its attributes, which begin with another byte. So none of
//! them opens as another.

use super::By;
use super::aeskw;
use super::variable::{pattern_of, transport_key};
use crate::ground::{Age, aes_256};
use crate::kernel::Kernel;
use crate::registers::MasterKey;
use engine::{CipherKey, Engine, SecretBytes, sha256};
use token::pka::ecc::{EccCurve, EccWrapped, EccWrappedBuilder};
use token::pka::unconfirmed::{OPK_BYTES, OPK_CONFOUNDER_BYTES, OPK_FIELD_BYTES};
use token::pka::{PkaToken, Wrapped, WrappedBuilder};
use wire::control::Register;
use wire::{Codes, code};

/// How an object protection key fills its field.
#[derive(Clone, Copy)]
enum KeyField {
    /// Internal X'30', X'31': the key, then padding.
    Padded,
    /// X'20', and external X'30', X'31': random bytes, then the key.
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
    // Modulus and exponent stand in the token in clear. With others beside them, the private values would be used in a
    // group of the caller's choice.
    let hashed = [wrapped.associated_data, view.modulus(), view.exponent()];
    let opk = open_key(kernel.engine, &master_key(kernel.engine, master)?, KeyField::Padded, wrapped.opk)?;
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
    let opk =
        open_key(kernel.engine, &master_key(kernel.engine, master)?, KeyField::Confounded, wrapped.opk)?;
    Ok((open_values(kernel.engine, &opk, &wrapped.hashed, wrapped.payload, curve.bytes())?, age))
}

/// The private values of an external RSA token, under a transport key of AES.
///
/// # Errors
/// 8/47 if the values do not open, whatever is wrong with them.
pub(crate) fn open_transported_rsa(
    engine: &Engine,
    wrapping: &SecretBytes,
    view: &PkaToken<'_>,
    wrapped: &Wrapped<'_>,
) -> Result<SecretBytes, Codes> {
    check_pattern(engine, wrapping, wrapped.pattern)?;
    let key = transport_key(engine, wrapping)?;
    let opk = open_key(engine, &key, KeyField::Confounded, wrapped.opk)?;
    let hashed = [wrapped.associated_data, view.modulus(), view.exponent()];
    open_values(engine, &opk, &hashed, wrapped.payload, wrapped.lengths.total())
}

/// The private value of an external token of an elliptic curve, under a transport key of AES.
///
/// # Errors
/// As [`open_transported_rsa`].
pub(crate) fn open_transported_ecc(
    engine: &Engine,
    wrapping: &SecretBytes,
    curve: EccCurve,
    wrapped: &EccWrapped<'_>,
) -> Result<SecretBytes, Codes> {
    check_pattern(engine, wrapping, wrapped.pattern)?;
    let key = transport_key(engine, wrapping)?;
    open_payload(engine, &key, &wrapped.hashed, wrapped.payload, curve.bytes())
}

/// Refuses a transport key whose pattern is not this one; patterns are public.
fn check_pattern(engine: &Engine, wrapping: &SecretBytes, pattern: &[u8; 8]) -> Result<(), Codes> {
    if pattern_of(engine, wrapping).starts_with(pattern) { Ok(()) } else { Err(code::TOKEN_INVALID) }
}

fn master_key(engine: &Engine, master: &MasterKey) -> Result<CipherKey, Codes> {
    aes_256(engine, &master.key)
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
    key: &CipherKey,
    field: KeyField,
    wrapped: &[u8; OPK_FIELD_BYTES],
) -> Result<SecretBytes, Codes> {
    match field {
        KeyField::Padded => aeskw::unwrap(engine, key, &[], wrapped, OPK_BYTES),
        KeyField::Confounded => aeskw::unwrap_confounded(engine, key, wrapped),
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
    open_payload(engine, &aes_256(engine, opk)?, hashed, payload, bytes)
}

fn open_payload(
    engine: &Engine,
    key: &CipherKey,
    hashed: &[&[u8]; 3],
    payload: &[u8],
    bytes: usize,
) -> Result<SecretBytes, Codes> {
    let hash = sha256(&hashed.concat());
    aeskw::unwrap(engine, key, &hash, payload, bytes).map_err(|_| code::TOKEN_INVALID)
}

/// The token of private values of RSA, in the order of a token.
///
/// # Errors
/// 12/764.
pub(crate) fn close_rsa(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &WrappedBuilder,
    values: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let engine = kernel.engine;
    let under = Under::of(kernel, by)?;
    let field = if under.is_master { KeyField::Padded } else { KeyField::Confounded };
    let (opk, payload) = close_values(engine, &under.key, field, &builder.hashed(), values)?;
    Ok(builder.finish(&opk, &under.pattern, &payload))
}

/// The token of a private value of an elliptic curve.
///
/// # Errors
/// As [`close_rsa`].
pub(crate) fn close_ecc(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &EccWrappedBuilder,
    value: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let engine = kernel.engine;
    let (under, hashed) = (Under::of(kernel, by)?, builder.hashed());
    let (opk, payload) = if under.is_master {
        close_values(engine, &under.key, KeyField::Confounded, &hashed, value)?
    } else {
        ([0; OPK_FIELD_BYTES], close_payload(engine, &under.key, &hashed, value)?)
    };
    if payload.len() != builder.payload_bytes() {
        return Err(code::SELF_CHECK);
    }
    Ok(builder.finish(&opk, &under.pattern, &payload))
}

/// The prepared wrapping key, and the pattern that names it.
struct Under {
    key: CipherKey,
    pattern: [u8; 8],
    is_master: bool,
}

impl Under {
    /// # Errors
    /// 12/764.
    fn of(kernel: &Kernel<'_>, by: &By) -> Result<Self, Codes> {
        let engine = kernel.engine;
        match by {
            By::Master(domain) => {
                let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
                let master = domain.current(Register::Apka)?;
                Ok(Self { key: master_key(engine, master)?, pattern: master.pattern, is_master: true })
            }
            By::Key(wrapping) => {
                let pattern = *pattern_of(engine, wrapping).first_chunk().ok_or(code::SELF_CHECK)?;
                Ok(Self { key: transport_key(engine, wrapping)?, pattern, is_master: false })
            }
        }
    }
}

/// Wraps private values under a new object protection key, and that under this key.
fn close_values(
    engine: &Engine,
    under: &CipherKey,
    field: KeyField,
    hashed: &[&[u8]; 3],
    values: &SecretBytes,
) -> Result<([u8; OPK_FIELD_BYTES], Vec<u8>), Codes> {
    let mut opk = SecretBytes::new(OPK_BYTES);
    engine.random(opk.as_mut());
    let payload = close_payload(engine, &aes_256(engine, &opk)?, hashed, values)?;
    let opk = match field {
        KeyField::Padded => aeskw::wrap(engine, under, &[], &opk)?,
        KeyField::Confounded => {
            let mut confounder = [0; OPK_CONFOUNDER_BYTES];
            engine.random(&mut confounder);
            aeskw::wrap_confounded(engine, under, confounder, &opk)?
        }
    };
    Ok((opk.try_into().map_err(|_| code::SELF_CHECK)?, payload))
}

fn close_payload(
    engine: &Engine,
    key: &CipherKey,
    hashed: &[&[u8]; 3],
    values: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let hash = sha256(&hashed.concat());
    aeskw::wrap(engine, key, &hash, values)
}
