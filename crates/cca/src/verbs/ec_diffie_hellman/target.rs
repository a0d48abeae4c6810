//! The token of a derived key.

use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::Skeleton;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::ecc::{Derivation, DerivedAlgorithm, DerivedType};
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{AesToken, ControlVector, DesToken, Format, KeyType, TOKEN_BYTES, VariableToken};
use wire::code;
use wire::point::Point;
use wire::verb::OutputKekType;
use wire::verb::ec_diffie_hellman::Request;

/// The token of a derived key, without the key.
pub(super) enum Target {
    /// Under the master key.
    Internal(Skeleton),
    /// Under a key-encrypting key of DES.
    External(DesToken),
    /// Under a key-encrypting key of AES.
    ExternalAes(Box<VariableToken>),
}

impl Target {
    /// The token that the output field describes or, if the field is empty, the private key's derivation data. The
    /// field has room for it.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for a token that cannot hold the derived key, for a key-encrypting key without an
    /// external token, and for the reverse; 8/39 for a token of another type than that of the private key, 8/2114 for
    /// one of another length.
    pub(super) fn of(
        call: &Call<'_, '_>,
        request: &Request<'_>,
        derivation: Derivation,
    ) -> Result<Self, Refusal> {
        let field = request.output_key_identifier.start();
        let target = match (derivation.algorithm, Format::of(field)) {
            (_, Format::Label) => return Err(code::LABEL_NOT_FOUND.into()),
            (DerivedAlgorithm::Aes, Format::VariableExternal) => {
                call.permit(Point::KeyGenerateTransported)?;
                Self::ExternalAes(Box::new(variable(field, derivation)?))
            }
            (DerivedAlgorithm::Aes, _) => Self::Internal(aes(field, derivation)?),
            (DerivedAlgorithm::Des, Format::Null) => Self::Internal(Skeleton::Des(des_default(derivation)?)),
            (DerivedAlgorithm::Des, Format::DesInternal) => {
                Self::Internal(Skeleton::Des(des(&DesToken::parse(field)?, derivation)?))
            }
            (DerivedAlgorithm::Des, Format::DesExternal) => {
                call.permit(Point::KeyGenerateTransported)?;
                Self::External(des(&DesToken::parse(field)?, derivation)?)
            }
            _ => return Err(code::TOKEN_INVALID.into()),
        };
        let has_kek = !request.output_kek_key_identifier.is_empty();
        let named = request.output_kek_type;
        let is_right = match &target {
            Self::Internal(_) => !has_kek && named.is_none(),
            Self::External(_) => has_kek && named != Some(OutputKekType::Aes),
            Self::ExternalAes(_) => has_kek && named != Some(OutputKekType::Des),
        };
        if !is_right {
            return Err(code::TOKEN_INVALID.into());
        }
        let bytes = usize::from(derivation.bits / 8);
        request.output_key_identifier.holds(match &target {
            Self::Internal(Skeleton::Variable(token)) | Self::ExternalAes(token) => {
                token.head().len() + token.wrapped_bytes(bytes)?
            }
            _ => TOKEN_BYTES,
        })?;
        Ok(target)
    }
}

/// The type of an AES key in a token of variable length; `None` for a DATA key.
fn variable_type(derivation: Derivation) -> Option<VariableType> {
    match derivation.key_type {
        DerivedType::Data => None,
        DerivedType::Cipher => Some(VariableType::Cipher),
        DerivedType::Exporter => Some(VariableType::Exporter),
        DerivedType::Importer => Some(VariableType::Importer),
    }
}

/// These attributes, with the pedigree of an agreed and complete key.
fn made(attributes: Attributes) -> Attributes {
    attributes.made(Pedigree::Agreement, Completeness::Complete)
}

/// The token of variable length for an AES key, as the token in a field describes it.
fn variable(field: &[u8], derivation: Derivation) -> Result<VariableToken, Refusal> {
    let token = VariableToken::parse(field)?;
    if Some(token.key_type()) != variable_type(derivation) {
        return Err(code::KEY_USAGE.into());
    }
    Ok(token.with_attributes(made(token.attributes().clone()))?)
}

/// The token of an AES key under the master key.
fn aes(field: &[u8], derivation: Derivation) -> Result<Skeleton, Refusal> {
    match (Format::of(field), variable_type(derivation)) {
        (Format::Null, None) => Ok(Skeleton::Aes),
        (Format::Null, Some(key_type)) => {
            let attributes = Attributes::new(key_type, [], None).map_err(|_| code::SELF_CHECK)?;
            let payload = VariableToken::default_payload(key_type);
            let token = VariableToken::skeleton(Origin::Internal, payload, made(attributes))?;
            Ok(Skeleton::Variable(Box::new(token)))
        }
        (Format::AesInternal, key_type) => {
            let bits = 8 * AesToken::parse(field)?.key_bytes();
            if key_type.is_some() {
                return Err(code::KEY_USAGE.into());
            }
            let fits = bits == 0 || bits == usize::from(derivation.bits);
            if fits { Ok(Skeleton::Aes) } else { Err(code::KEY_BITS.into()) }
        }
        (Format::VariableInternal, _) => Ok(Skeleton::Variable(Box::new(variable(field, derivation)?))),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

fn des_type(derivation: Derivation) -> KeyType {
    match derivation.key_type {
        DerivedType::Data => KeyType::Data,
        DerivedType::Cipher => KeyType::Cipher,
        DerivedType::Exporter => KeyType::Exporter,
        DerivedType::Importer => KeyType::Importer,
    }
}

fn des_form(derivation: Derivation) -> KeyForm {
    match derivation.bits {
        64 => KeyForm::Single,
        128 => KeyForm::Double,
        _ => KeyForm::Triple,
    }
}

/// The token of a DES key with the default control vector of its type.
fn des_default(derivation: Derivation) -> Result<DesToken, Refusal> {
    let form = des_form(derivation);
    let vector = des_type(derivation).default_vector(form).ok_or(code::KEY_BITS)?;
    Ok(DesToken::skeleton(Origin::Internal, vector.form().unwrap_or(form), vector)?)
}

/// The token of a DES key, as the token in the output field describes it.
fn des(there: &DesToken, derivation: Derivation) -> Result<DesToken, Refusal> {
    let vector = there.control_vector();
    if vector.is_key_part() || !des_type(derivation).covers(vector) {
        return Err(code::KEY_USAGE.into());
    }
    if vector.is_zero() {
        return Ok(DesToken::skeleton(there.origin(), des_form(derivation), ControlVector::ZERO)?);
    }
    if 8 * there.form().key_bytes() != usize::from(derivation.bits) {
        return Err(code::KEY_BITS.into());
    }
    Ok(there.without_key())
}
