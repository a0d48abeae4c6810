//! Operations with private and public keys that an earlier pass opened, agreements among them, and new keys of elliptic
//! curves.
//!
//! The private RSA operations of all requests run in one engine call, which verifies every result with the
//! public exponent; the public operations run in another. So do signatures and verifications by ECDSA.

use super::{Kernel, Pass, Queue, Work};
use crate::ground::Refusal;
use crate::prepared::{ecc, rsa};
use engine::{
    EcError, EcdsaSignItem, EcdsaVerifyItem, Engine, RsaPrivateItem, RsaPublicItem, SecretBytes,
    ed25519_verify,
};
use std::sync::Arc;
use token::pka::ecc::EccCurve;
use wire::code;

/// An operation; for RSA, on a block that is as long as the modulus, and below it.
pub(crate) enum Asymmetric<'a> {
    /// `block^d mod n`.
    Private { key: Arc<rsa::PrivateContext>, block: SecretBytes },
    /// `block^e mod n`.
    Public { key: Arc<rsa::PublicContext>, block: SecretBytes },
    /// A signature: by ECDSA of a digest, by Ed25519 of a text.
    Sign { key: Arc<ecc::PrivateContext>, data: &'a [u8] },
    /// A verification, whose result is empty if the signature is one of the data; else 4/429.
    Verify { key: Arc<ecc::PublicContext>, data: &'a [u8], signature: &'a [u8] },
    /// The secret that a private key and the public key of another party agree on: both of one curve of Weierstrass's
    /// form, else 8/874.
    Agree { key: Arc<ecc::PrivateContext>, peer: Arc<ecc::PublicContext> },
    /// A new key of a curve: its private value, then its public key.
    Generate { curve: EccCurve },
}

/// The bytes of the result; for RSA, as long as the modulus.
pub(crate) type Answer = Result<SecretBytes, Refusal>;

impl<'a> Work<'a> for Asymmetric<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.asymmetric
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        run_rsa(kernel.engine, asked, answers);
        run_curves(kernel.engine, asked, answers);
    }
}

fn run_rsa(engine: &Engine, asked: &[Asymmetric<'_>], answers: &mut [Option<Answer>]) {
    let mut results: Vec<SecretBytes> =
        asked.iter().map(|work| SecretBytes::new(work.block().map_or(0, |block| block.len()))).collect();
    let (mut private, mut public) = (Vec::new(), Vec::new());
    let (mut at_private, mut at_public) = (Vec::new(), Vec::new());
    for (index, (work, result)) in asked.iter().zip(&mut results).enumerate() {
        match work {
            Asymmetric::Private { key, block } => {
                private.push(RsaPrivateItem::new(&key.key, block, result.as_mut()));
                at_private.push(index);
            }
            Asymmetric::Public { key, block } => {
                public.push(RsaPublicItem::new(&key.key, block, result.as_mut()));
                at_public.push(index);
            }
            _ => {}
        }
    }
    engine.rsa_private_batch(&mut private);
    engine.rsa_public_batch(&mut public);
    let mut done = vec![false; asked.len()];
    for (index, item) in at_private.into_iter().zip(private) {
        done[index] = item.result.is_ok();
    }
    for (index, item) in at_public.into_iter().zip(public) {
        done[index] = item.result.is_ok();
    }
    for (((work, result), done), answer) in asked.iter().zip(results).zip(done).zip(answers) {
        if work.block().is_some() {
            *answer = Some(if done { Ok(result) } else { Err(work.withheld()) });
        }
    }
}

fn run_curves(engine: &Engine, asked: &[Asymmetric<'_>], answers: &mut [Option<Answer>]) {
    let (mut sign, mut verify) = (Vec::new(), Vec::new());
    let (mut at_sign, mut at_verify) = (Vec::new(), Vec::new());
    for (index, work) in asked.iter().enumerate() {
        match work {
            Asymmetric::Private { .. } | Asymmetric::Public { .. } => {}
            Asymmetric::Sign { key, data } => match &key.key {
                ecc::PrivateKey::Weierstrass(key) => {
                    sign.push(EcdsaSignItem::new(key, data));
                    at_sign.push(index);
                }
                ecc::PrivateKey::Edwards(key) => {
                    answers[index] = Some(signed(key.sign(data).as_ref().map(|made| &made[..])));
                }
            },
            Asymmetric::Verify { key, data, signature } => match &key.key {
                ecc::PublicKey::Weierstrass(key) => {
                    verify.push(EcdsaVerifyItem::new(key, data, signature));
                    at_verify.push(index);
                }
                ecc::PublicKey::Edwards(public) => {
                    answers[index] = Some(verified(ed25519_verify(public, data, signature)));
                }
            },
            Asymmetric::Agree { key, peer } => {
                answers[index] = Some(ecc::agree(key, peer).map_err(Refusal::Codes));
            }
            Asymmetric::Generate { curve } => {
                let made = ecc::PrivateKey::generate(engine, *curve);
                answers[index] = Some(made.map(|key| pair(&key)).map_err(Refusal::Codes));
            }
        }
    }
    engine.ecdsa_sign_batch(&mut sign);
    engine.ecdsa_verify_batch(&mut verify);
    for (index, item) in at_sign.into_iter().zip(sign) {
        answers[index] = Some(signed(item.result.as_ref().map(|()| item.signature())));
    }
    for (index, item) in at_verify.into_iter().zip(verify) {
        answers[index] = Some(verified(item.result));
    }
}

/// A signature, or 16/336: a key that was prepared gives no cause to fail.
fn signed(made: Result<&[u8], &EcError>) -> Answer {
    made.map(SecretBytes::from_slice).map_err(|_| code::SELF_CHECK.into())
}

fn verified(result: Result<(), EcError>) -> Answer {
    result.map(|()| SecretBytes::new(0)).map_err(|_| code::SIGNATURE_NOT_VERIFIED.into())
}

fn pair(key: &ecc::PrivateKey) -> SecretBytes {
    let (value, point) = (key.value(), key.point());
    let mut pair = SecretBytes::new(value.len() + point.len());
    pair[..value.len()].copy_from_slice(&value);
    pair[value.len()..].copy_from_slice(&point);
    pair
}

impl Asymmetric<'_> {
    /// The block of an RSA operation.
    fn block(&self) -> Option<&SecretBytes> {
        match self {
            Self::Private { block, .. } | Self::Public { block, .. } => Some(block),
            _ => None,
        }
    }

    /// The codes for a missing result; of a private operation it is missing if the public exponent did not undo it.
    ///
    /// A caller can supply numbers that fail on some blocks (a modulus with a squared
    /// prime), or now and then (a private exponent that is off by a square root of one, which the blinding
    /// hides or shows by chance): that is the caller's fault, 8/770, and must not stop a card that others
    /// use. A failure under numbers that a card generated is a fault of the hardware.
    fn withheld(&self) -> Refusal {
        match self {
            Self::Private { key, .. } if key.generated => Refusal::Unsound,
            _ => code::PKA_FIELD.into(),
        }
    }
}
