//! PKA_Key_Generate (CSNDPKG): generates an RSA or elliptic-curve key from a skeleton token.
//!
//! Keywords: MASTER (default; an internal token under the APKA master key, or in a home that makes compatible tokens,
//! of an X'08' skeleton under the ASYM master key), CLEAR (a clear external token of the skeleton's form) or XPORT (an
//! external token of the skeleton's form under a transport key).
//!
//! | form of XPORT | transport key |
//! |---|---|
//! | X'02', X'08' | of DES (OKEK-DES): an EXPORTER key with the use EXPORT, or an IMP-PKA key, under which the key is then imported here; an IMPORTER key in a role with `pka-importers-of-both` |
//! | X'30', X'31', X'20' | of AES (OKEK-AES): an EXPORTER or IMPORTER key with the use GEN-PUB that wraps keys of RSA (WR-RSA) or of curves (WR-ECC) |
//!
//! A transport key of the other algorithm, or its keyword, is refused with 8/49. What is stronger than its transport
//! key is refused with 8/170, unless the role permits weak transport keys: of DES a modulus of more than 2048 bits, of
//! AES-128 one of more than 3072 bits or a curve of more than 256, of AES-192 a curve of more than 384.
//!
//! RETAIN needs a card that keeps keys: it is refused. Regeneration data is refused with 8/21: it would make keys from
//! a procedure that only one kind of card knows.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Key;
use crate::key::exchange::side_of_private;
use crate::key::opening::Opening;
use crate::key::pka::internal_ecc;
use crate::key::private::{check_kind, strength_of_curve, strength_of_modulus, values_of};
use crate::key::target::is_null;
use crate::pass::{Asymmetric, Close, Generate, Skeleton, Token};
use crate::wrap::By;
use engine::{RsaPrivateKey, SecretBytes, sha1, sha256};
use token::pka::ecc::{self, EccValue, is_ecc};
use token::pka::{
    AsymBuilder, Attributes, ClearKey, CrtComponents, Destination, Form, PkaToken, PrivateValues, Source,
    TransportedBuilder, WrappedBuilder, clear_token,
};
use token::usage::Wrapping;
use token::variable::PrivateAlgorithm;
use wire::control::{Register, TokenForm};
use wire::point::Point;
use wire::verb::pka_key_generate::{Answer, Request};
use wire::verb::{OutputKekType, PkaOutput};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Longest modulus in bits that a key of TDES may wrap: longer ones are stronger than it.
const TDES_BITS: usize = 2048;
/// Length in bits below which a modulus needs a point of its own.
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
    let is_aes = matches!(form, Form::MeAes | Form::CrtAes);
    let transport = match (is_transported, is_aes) {
        (false, _) => None,
        (true, false) => Some(transport_key(call, &request, &skeleton)?),
        (true, true) => Some(aes_transport_key(call, &request, PrivateAlgorithm::Rsa)?),
    };
    // The generation is asked for before the first wait: there a card looks for the primes that it must search.
    let asked = call.ask(Generate { modulus_bits: skeleton.modulus_bits(), exponent: skeleton.exponent() });
    let transport = match transport {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    if let (Some(key), true) = (&transport, is_aes) {
        key.check_strength(&call, strength_of_modulus(skeleton.modulus_bits()), Point::WeakTransport)?;
    }
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
            let (key, attributes) = (key.clear()?, skeleton.attributes());
            let made = if is_aes {
                transport.wrap_rsa(call, &key, &attributes).await?
            } else {
                external(call, form, &key, &attributes, transport).await?
            };
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(transport.map_or(code::OK, |key| key.age.codes()))
}

/// Starts opening the DES transport key that is to wrap the generated key.
fn transport_key<'p, 'a>(
    call: Call<'p, 'a>,
    request: &Request<'a>,
    skeleton: &PkaToken<'_>,
) -> Result<Opening<'p, 'a>, Refusal> {
    let field = request.transport_key_identifier;
    check_kind(field, false, named(request))?;
    let side = side_of_private(call, field)?;
    if skeleton.modulus_bits() > TDES_BITS && call.permit(Point::WeakTransport).is_err() {
        return Err(code::STRENGTH.into());
    }
    call.private_key_encrypting_key(field, side)
}

/// Whether the transport key is of AES, by its keyword; `None` without one.
fn named(request: &Request<'_>) -> Option<bool> {
    request.transport.map(|kind| kind == OutputKekType::Aes)
}

/// Starts opening the AES transport key that is to wrap the generated key.
fn aes_transport_key<'p, 'a>(
    call: Call<'p, 'a>,
    request: &Request<'a>,
    algorithm: PrivateAlgorithm,
) -> Result<Opening<'p, 'a>, Refusal> {
    let field = request.transport_key_identifier;
    check_kind(field, true, named(request))?;
    call.aes_private_key_encrypting_key(field, None, Wrapping::GeneratedPrivateKeys, algorithm)
}

/// The external token of a clear key under a key-encrypting key of DES.
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

/// Refuses before the generation, which is by far the most expensive step, all that would be refused after it.
fn check_outcome(call: Call<'_, '_>, request: &Request<'_>, register: Register) -> Result<(), Refusal> {
    request.generated_key_identifier.holds(1)?;
    if request.output == PkaOutput::Master && call.patterns.register(register).current.is_none() {
        return Err(code::MASTER_KEY_NOT_LOADED.into());
    }
    Ok(())
}

/// Generates a key of an elliptic curve.
async fn of_curve<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let skeleton = call.ecc_token(request.skeleton_key_token)?;
    if !skeleton.private().is_some_and(|private| matches!(private.value, EccValue::Skeleton)) {
        return Err(code::TOKEN_INVALID.into());
    }
    check_outcome(call, request, Register::Apka)?;
    let (curve, attributes) = (skeleton.curve(), skeleton.attributes());
    let transport = match request.output {
        PkaOutput::Transported => {
            let key = aes_transport_key(call, request, PrivateAlgorithm::Ecc)?.await?;
            key.check_strength(&call, strength_of_curve(curve), Point::WeakTransport)?;
            Some(key)
        }
        _ => None,
    };
    let pair = call.ask(Asymmetric::Generate { curve }).await?;
    let (value, point) = pair.split_at(curve.bytes());
    let token = match request.output {
        PkaOutput::Clear => {
            ecc::clear_token(curve, value, point, &attributes).map_err(|error| error.codes())?
        }
        PkaOutput::Transported => {
            let Some(transport) = &transport else { return Err(code::SELF_CHECK.into()) };
            let value = SecretBytes::from_slice(value);
            let made = transport.wrap_ecc(call, curve, value, point, &attributes).await?;
            Zeroizing::new(made.to_vec())
        }
        PkaOutput::Retained => return Err(code::KEYWORD.into()),
        PkaOutput::Master => {
            let value = SecretBytes::from_slice(value);
            let made = internal_ecc(call, curve, value, point, &attributes, Source::Random).await?;
            Zeroizing::new(made.to_vec())
        }
    };
    reply.write(Answer { generated_key_identifier: Some(&token) })?;
    Ok(transport.map_or(code::OK, |key| key.age.codes()))
}

/// The register whose master key wraps the internal token of a key of this form: the ASYM register for X'08' in a home
/// that makes compatible tokens, the APKA register otherwise.
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
    under_apka(call, key, attributes, source).await
}

/// The internal token of a clear key, wrapped under the current APKA master key.
pub(super) async fn under_apka(
    call: Call<'_, '_>,
    key: &ClearKey<'_>,
    attributes: &Attributes,
    source: Source,
) -> Result<Token, Refusal> {
    let (n, e) = match *key {
        ClearKey::Me { n, e, .. } | ClearKey::Crt { n, e, .. } => (n, e),
    };
    let destination = Destination::Internal(source);
    let builder = WrappedBuilder::new(destination, attributes, n, e, key.lengths(), &(sha1, sha256))
        .map_err(|error| error.codes())?;
    Ok(call.make(Skeleton::Rsa(Box::new(builder)), values_of(key)).await?)
}

/// The numbers of an RSA key: n, e, and as private numbers either d alone, or p, q, dp, dq and U.
pub(super) struct Generated {
    n: Vec<u8>,
    e: Vec<u8>,
    private: Vec<SecretBytes>,
}

impl Generated {
    /// The numbers of a key that a token of this form holds.
    pub(super) fn of(key: &RsaPrivateKey, form: Form) -> Result<Self, Codes> {
        let private: Option<Vec<SecretBytes>> = if form.is_crt() {
            [key.p(), key.q(), key.dp(), key.dq(), key.qinv()].into_iter().collect()
        } else {
            Some(vec![key.d()])
        };
        Ok(Self { n: key.n(), e: key.e(), private: private.ok_or(code::SELF_CHECK)? })
    }

    /// The numbers as a clear key: with one private number d, with five in CRT form.
    pub(super) fn clear(&self) -> Result<ClearKey<'_>, Codes> {
        let (n, e) = (&self.n[..], &self.e[..]);
        match &self.private[..] {
            [d] => Ok(ClearKey::Me { n, e, d }),
            [p, q, dp, dq, u] => Ok(ClearKey::Crt { n, e, components: CrtComponents { p, q, dp, dq, u } }),
            _ => Err(code::SELF_CHECK),
        }
    }
}
