//! Keys of issuers: DKYGENKY keys, from which those of cards are derived.

use crate::call::Call;
use crate::ground::{Algorithm, Refusal};
use crate::key::opening::Opening;
use crate::wrap::check_parts;
use engine::SecretBytes;
use token::ControlVector;
use token::control_vector::KeyForm;
use token::derivation::{Derived, Deriving};
use wire::point::Point;
use wire::{Codes, code};

/// What a key that derives others says, as far as the role permits it.
///
/// # Errors
/// 8/39 for another key, 8/90 for one that derives keys of every type where the role does not permit it.
pub(crate) fn deriving(call: &Call<'_, '_>, vector: ControlVector) -> Result<Deriving, Codes> {
    let deriving = Deriving::of(vector).ok_or(code::KEY_USAGE)?;
    if deriving.derived == Derived::Any {
        call.permit(Point::DiversifyAny)?;
    }
    Ok(deriving)
}

/// Starts opening an issuer's key, for keys of cards (DKYL1) or of sessions (DKYL0) that are for this.
///
/// # Errors
/// 8/39 for a key that derives other keys; as [`deriving`].
pub(crate) fn open<'p, 'a>(
    call: Call<'p, 'a>,
    field: &'a [u8],
    wanted: Derived,
) -> Result<Opening<'p, 'a>, Refusal> {
    let found = call.key(field)?.of(Algorithm::Des)?;
    let vector = found.des().ok_or(code::TOKEN_INVALID)?.control_vector();
    let deriving = deriving(&call, vector)?;
    if deriving.level > 1 || !deriving.is_for(wanted) {
        return Err(code::KEY_USAGE.into());
    }
    found.open()
}

/// The key, where its halves differ, or the home permits weak algorithms: what a key with equal halves derives by TDES
/// is what a key of single DES derives.
///
/// # Errors
/// 8/442 for equal halves, 8/39 for another length.
pub(crate) fn checked(call: &Call<'_, '_>, key: &SecretBytes) -> Result<SecretBytes, Codes> {
    if key.len() != 16 {
        return Err(code::KEY_USAGE);
    }
    check_halves(call, key)?;
    Ok(key.clone())
}

/// Refuses a key that comes in, or derives keys, if it is an issuer's that [`checked`] would refuse.
///
/// # Errors
/// 8/442 for equal halves.
pub(crate) fn check_coming(call: &Call<'_, '_>, vector: ControlVector, key: &[u8]) -> Result<(), Codes> {
    if Deriving::of(vector).is_some() { check_halves(call, key) } else { Ok(()) }
}

fn check_halves(call: &Call<'_, '_>, key: &[u8]) -> Result<(), Codes> {
    if call.engine.weak_algorithms() {
        return Ok(());
    }
    check_parts(KeyForm::DoubleUnique, ControlVector::ZERO, key)
}
