//! PKA_Key_Generate (CSNDPKG): generates an RSA or elliptic-curve key from a skeleton token.
//!
//! Keywords: MASTER (default; an internal token under the APKA master key, or in a home that makes compatible tokens, of an
//! X'08' skeleton under the ASYM master key), CLEAR (a clear external token of the skeleton's
//! form) or XPORT (an external token of the skeleton's form under a transport key). Transport keys of XPORT are an EXPORTER
//! key with the use EXPORT, or an IMP-PKA key, under which the key is then imported here; an IMPORTER key in a role with
//! `pka-importers-of-both`. They wrap X'02' and X'08'; skeletons of X'30', X'31' and elliptic curves, which take a transport
//! key of AES, are refused with 8/49. A modulus of more than 2048 bits is stronger than a transport key of DES: 8/170, unless
//! the role permits weak transport keys.
//!
//! RETAIN needs a card that keeps keys: it is refused. Regeneration data is refused with 8/21: it would make keys from
//! a procedure that only one kind of card knows.

use engine::{RsaPrivateKey, SecretBytes, sha1, sha256};
use token::pka::ecc::{self, EccValue, is_ecc};
use token::pka::{
    AsymBuilder, Attributes, ClearKey, CrtComponents, Form, InternalBuilder, PkaToken, PrivateValues, Source,
    TransportedBuilder, clear_token,
};
use wire::control::{Register, TokenForm};
use wire::point::Point;
use wire::verb::PkaOutput;
use wire::verb::pka_key_generate::{Answer, Request};
use wire::{Codes, code};
use zeroize::Zeroizing;

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::Key;
use crate::key::exchange::side_of_private;
use crate::key::opening::Opening;
use crate::key::target::is_null;
use crate::pass::{Asymmetric, Close, Generate, Skeleton, Token};
use crate::pka::curve;
use crate::wrap::By;

/// A longer modulus is stronger than a key of TDES.
const TDES_BITS: usize = 2048;
/// Shorter moduli have a point of their own.
const SHORT_BITS: usize = 2048;

pub(crate) async fn pka_key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let is_transported = request.output == PkaOutput::Transported;
    if is_null(request.transport_key_identifier) == is_transported {
        return Err(code::INVALID_PARAMETER.into());
    }
    if is_ecc(request.skeleton_key_token) {
        return of_curve(call, &request, reply).await;
    }
    let skeleton = call.pka_token(request.skeleton_key_token)?;
    let form = match skeleton.private() {
        Some(private) if matches!(private.values, PrivateValues::Skeleton) => private.form,
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    if skeleton.modulus_bits() < SHORT_BITS {
        call.permit(Point::ShortRsa)?;
    }
    check_outcome(call, &request, register_of(call, form))?;
    let transport = if is_transported { Some(transport_key(call, &request, form, &skeleton)?) } else { None };
    // Asked before anything is awaited: a card looks there for what it has to search for.
    let asked = call.ask(Generate { modulus_bits: skeleton.modulus_bits(), exponent: skeleton.exponent() });
    let transport = match transport {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let key = Generated::of(&asked.await?, form)?;
    let token = match request.output {
        PkaOutput::Clear => clear_token(form, &key.clear()?, &skeleton.attributes(), &(sha1, sha256))
            .map_err(|error| error.codes())?,
        PkaOutput::Master => {
            let made = internal(call, form, &key.clear()?, &skeleton.attributes(), Source::Random).await?;
            Zeroizing::new(made.to_vec())
        }
        PkaOutput::Retained => return Err(code::KEYWORD.into()),
        PkaOutput::Transported => {
            let Some(transport) = &transport else { return Err(code::SELF_CHECK.into()) };
            let made = external(call, form, &key.clear()?, &skeleton.attributes(), transport).await?;
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(transport.map_or(code::OK, |key| key.age.codes()))
}

/// The transport key of a key that is to be generated.
fn transport_key<'p, 'a>(
    call: Call<'p, 'a>,
    request: &Request<'a>,
    form: Form,
    skeleton: &PkaToken<'_>,
) -> Result<Opening<'p, 'a>, Refusal> {
    if !matches!(form, Form::Me1024 | Form::Crt) {
        return Err(code::TOKEN_VERSION.into());
    }
    let field = request.transport_key_identifier;
    let side = side_of_private(call, field)?;
    if skeleton.modulus_bits() > TDES_BITS && call.permit(Point::WeakTransport).is_err() {
        return Err(code::STRENGTH.into());
    }
    call.private_key_encrypting_key(field, side)
}

/// The external token of a clear key under a key-encrypting key.
async fn external(
    call: Call<'_, '_>,
    form: Form,
    key: &ClearKey<'_>,
    attributes: &Attributes,
    transport: &Key,
) -> Result<Token, Refusal> {
    let (builder, secret) =
        TransportedBuilder::new(form, key, attributes, &(sha1, sha256)).map_err(|error| error.codes())?;
    let by = By::Key(Box::new(transport.secret.clone()));
    let (skeleton, secret) = (Skeleton::Transported(Box::new(builder)), SecretBytes::from_slice(&secret));
    Ok(call.ask(Close { skeleton, secret, by }).await?)
}

/// Generation costs most by far: what would be refused after it is refused before.
fn check_outcome(call: Call<'_, '_>, request: &Request<'_>, register: Register) -> Result<(), Refusal> {
    request.generated_key_identifier.holds(1)?;
    if request.output == PkaOutput::Master && call.patterns.register(register).current.is_none() {
        return Err(code::MASTER_KEY_NOT_LOADED.into());
    }
    Ok(())
}

/// A key of an elliptic curve.
async fn of_curve<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let skeleton = call.ecc_token(request.skeleton_key_token)?;
    if !skeleton.private().is_some_and(|private| matches!(private.value, EccValue::Skeleton)) {
        return Err(code::TOKEN_INVALID.into());
    }
    check_outcome(call, request, Register::Apka)?;
    let (curve, attributes) = (skeleton.curve(), skeleton.attributes());
    if request.output == PkaOutput::Transported {
        return Err(code::TOKEN_VERSION.into());
    }
    let pair = call.ask(Asymmetric::Generate { curve }).await?;
    let (value, point) = pair.split_at(curve.bytes());
    let token = match request.output {
        PkaOutput::Clear => {
            ecc::clear_token(curve, value, point, &attributes).map_err(|error| error.codes())?
        }
        PkaOutput::Transported | PkaOutput::Retained => return Err(code::KEYWORD.into()),
        PkaOutput::Master => {
            let value = SecretBytes::from_slice(value);
            let made = curve::internal(call, curve, value, point, &attributes, Source::Random).await?;
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

/// The register whose master key wraps an internal token of a key that came in this form: that of the form X'08' where the home
/// makes compatible tokens, and the APKA register otherwise.
pub(super) fn register_of(call: Call<'_, '_>, form: Form) -> Register {
    let is_compatible = call.tokens.form == TokenForm::Compatible;
    if is_compatible && form == Form::Crt { Register::Asym } else { Register::Apka }
}

/// The internal token of a clear key of this form, wrapped under the current master key.
pub(super) async fn internal(
    call: Call<'_, '_>,
    form: Form,
    key: &ClearKey<'_>,
    attributes: &Attributes,
    source: Source,
) -> Result<Token, Refusal> {
    if register_of(call, form) == Register::Asym {
        let (builder, secret) =
            AsymBuilder::new(source, key, attributes, &(sha1, sha256)).map_err(|error| error.codes())?;
        return Ok(call.make(Skeleton::Asym(Box::new(builder)), SecretBytes::from_slice(&secret)).await?);
    }
    let (n, e) = match *key {
        ClearKey::Me { n, e, .. } | ClearKey::Crt { n, e, .. } => (n, e),
    };
    let builder = InternalBuilder::new(source, attributes, n, e, key.lengths(), &(sha1, sha256))
        .map_err(|error| error.codes())?;
    let mut values = SecretBytes::new(key.lengths().total());
    let mut at = 0;
    for value in key.values() {
        values[at..at + value.len()].copy_from_slice(value);
        at += value.len();
    }
    Ok(call.make(Skeleton::Rsa(Box::new(builder)), values).await?)
}

/// The numbers of a key: of the private ones d alone, or p, q, dp, dq and U.
pub(super) struct Generated {
    n: Vec<u8>,
    e: Vec<u8>,
    private: Vec<SecretBytes>,
}

impl Generated {
    /// Those of a key, as a token of this form has them.
    pub(super) fn of(key: &RsaPrivateKey, form: Form) -> Result<Self, Codes> {
        let private: Option<Vec<SecretBytes>> = if form.is_crt() {
            [key.p(), key.q(), key.dp(), key.dq(), key.qinv()].into_iter().collect()
        } else {
            Some(vec![key.d()])
        };
        Ok(Self { n: key.n(), e: key.e(), private: private.ok_or(code::SELF_CHECK)? })
    }

    /// The key.
    pub(super) fn clear(&self) -> Result<ClearKey<'_>, Codes> {
        let (n, e) = (&self.n[..], &self.e[..]);
        match &self.private[..] {
            [d] => Ok(ClearKey::Me { n, e, d }),
            [p, q, dp, dq, u] => Ok(ClearKey::Crt { n, e, components: CrtComponents { p, q, dp, dq, u } }),
            _ => Err(code::SELF_CHECK),
        }
    }
}
