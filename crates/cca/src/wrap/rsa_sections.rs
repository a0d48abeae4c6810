//! The private values of internal RSA tokens: AES key wrap under an object protection key of the token's own,
//! and that key under the APKA master key.

use engine::{CipherDirection, SecretBytes, sha256};
use token::pka::unconfirmed::{OPK_BYTES, OPK_FIELD_BYTES};
use token::pka::{InternalBuilder, PkaToken, Wrapped};
use wire::control::Register;
use wire::{Codes, code};

use super::By;
use super::aeskw::{self, aes_256, block};
use crate::pass::Kernel;
use crate::registers::Age;

/// The private values of an internal token, under the master key of a domain.
///
/// # Errors
/// 8/48 and 12/764 as the register has it; 8/47 where they do not open.
pub(crate) fn open(
    kernel: &Kernel<'_>,
    domain: u16,
    view: &PkaToken<'_>,
    wrapped: &Wrapped<'_>,
) -> Result<(SecretBytes, Age), Codes> {
    let engine = kernel.engine;
    let domain = kernel.domains.get(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let (age, master) = domain.of_pattern(Register::Apka, wrapped.pattern)?;
    let opk = {
        let key = aes_256(engine, &master.key)?;
        aeskw::unwrap(block(engine, &key, CipherDirection::Decipher), &[], wrapped.opk, OPK_BYTES)
            .map_err(|_| code::TOKEN_INVALID)?
    };
    let key = aes_256(engine, &opk)?;
    // Modulus and exponent stand in the token as they are: beside others the private values would be
    // used in a group of the caller's choice.
    let hashed = [wrapped.associated_data, view.modulus(), view.exponent()].concat();
    let hash = sha256(&hashed);
    let decipher = block(engine, &key, CipherDirection::Decipher);
    let values = aeskw::unwrap(decipher, &hash, wrapped.payload, wrapped.lengths.total())
        .map_err(|_| code::TOKEN_INVALID)?;
    Ok((values, age))
}

/// The internal token of private values, in the order of a token.
///
/// # Errors
/// 12/764; 8/47 for a transport key, under which no such token is made.
pub(crate) fn close(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &InternalBuilder,
    values: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let By::Master(domain) = by else { return Err(code::TOKEN_INVALID) };
    let engine = kernel.engine;
    let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let master = domain.current(Register::Apka)?;
    let mut opk = SecretBytes::new(OPK_BYTES);
    engine.random(opk.as_mut());
    let hash = sha256(&builder.hashed().concat());
    let key = aes_256(engine, &opk)?;
    let payload = aeskw::wrap(block(engine, &key, CipherDirection::Encipher), &hash, &[values]);
    let key = aes_256(engine, &master.key)?;
    let field = aeskw::wrap(block(engine, &key, CipherDirection::Encipher), &[], &[&opk]);
    let field: [u8; OPK_FIELD_BYTES] = field.try_into().map_err(|_| code::SELF_CHECK)?;
    Ok(builder.finish(&field, &master.pattern, &payload))
}
