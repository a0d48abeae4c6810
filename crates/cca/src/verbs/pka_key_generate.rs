//! PKA_Key_Generate (CSNDPKG): generates an RSA or elliptic-curve key from a skeleton token.
//!
//! Keywords: MASTER (default; an internal token under the APKA master key) or CLEAR (a clear external
//! token of the skeleton's form). XPORT needs a transport key and RETAIN a card that keeps keys: both
//! are refused as not known here. Regeneration data is refused with 8/21: it would make keys from
//! a procedure that only one kind of card knows.

use engine::{RsaPrivateKey, SecretBytes, sha1, sha256};
use token::pka::ecc::{self, EccValue, is_ecc};
use token::pka::{
    Attributes, ClearKey, CrtComponents, Form, InternalBuilder, PrivateValues, Source, clear_token,
};
use wire::point::Point;
use wire::verb::PkaOutput;
use wire::verb::pka_key_generate::{Answer, Request};
use wire::{Codes, code};
use zeroize::Zeroizing;

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::target::is_null;
use crate::pass::{Asymmetric, Generate, Skeleton, Token};
use crate::pka::curve;

/// Shorter moduli have a point of their own.
const SHORT_BITS: usize = 2048;

pub(crate) async fn pka_key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if !is_null(request.transport_key_identifier) {
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
    check_outcome(call, &request)?;
    let asked = Generate { modulus_bits: skeleton.modulus_bits(), exponent: skeleton.exponent() };
    let key = Generated::of(&call.ask(asked).await?, form)?;
    let token = match request.output {
        PkaOutput::Clear => clear_token(form, &key.clear()?, &skeleton.attributes(), &(sha1, sha256))
            .map_err(|error| error.codes())?,
        PkaOutput::Master => {
            let made = internal(call, &key.clear()?, &skeleton.attributes(), Source::Random).await?;
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

/// Generation costs most by far: what would be refused after it is refused before.
fn check_outcome(call: Call<'_, '_>, request: &Request<'_>) -> Result<(), Refusal> {
    request.generated_key_identifier.holds(1)?;
    if request.output == PkaOutput::Master
        && call.patterns.register(wire::control::Register::Apka).current.is_none()
    {
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
    check_outcome(call, request)?;
    let (curve, attributes) = (skeleton.curve(), skeleton.attributes());
    let pair = call.ask(Asymmetric::Generate { curve }).await?;
    let (value, point) = pair.split_at(curve.bytes());
    let token = match request.output {
        PkaOutput::Clear => {
            ecc::clear_token(curve, value, point, &attributes).map_err(|error| error.codes())?
        }
        PkaOutput::Master => {
            let value = SecretBytes::from_slice(value);
            let made = curve::internal(call, curve, value, point, &attributes, Source::Random).await?;
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

/// The internal token of a clear key, wrapped under the current master key.
pub(super) async fn internal(
    call: Call<'_, '_>,
    key: &ClearKey<'_>,
    attributes: &Attributes,
    source: Source,
) -> Result<Token, Refusal> {
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
