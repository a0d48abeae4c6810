//! RSA operations: private and public, generation, wrapping. Keys come from [`super::rsa_keys`].
//!
//! The private operations of all requests run in one engine call, and the engine returns no result
//! that the public exponent does not undo.

use std::sync::Arc;

use engine::{
    CipherDirection, Engine, RsaKeyError, RsaPrivateItem, RsaPrivateKey, RsaPublicItem, SecretBytes,
};
use token::pka::unconfirmed::{OPK_BYTES, OPK_FIELD_BYTES};
use token::pka::{InternalBuilder, SectionHash};
use wire::control::Register;
use wire::{Codes, code};

use super::rsa_keys::{PrivateContext, PublicContext, aes_256, block, key_codes};
use super::{Kernel, Pass, Queue, Sink, Work};
use crate::pka::Hashes;
use crate::pka::aeskw;

/// A private operation on a block of the modulus length, below the modulus.
pub(crate) struct RsaPrivate {
    pub(crate) key: Arc<PrivateContext>,
    pub(crate) block: SecretBytes,
}

/// The result, of the modulus length.
pub(crate) type OperationAnswer = Result<SecretBytes, Codes>;

impl<'a> Work<'a> for RsaPrivate {
    type Answer = OperationAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.rsa_private
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        let mut results: Vec<SecretBytes> =
            asked.iter().map(|work| SecretBytes::new(work.block.len())).collect();
        let mut items: Vec<RsaPrivateItem<'_>> = asked
            .iter()
            .zip(&mut results)
            .map(|(work, result)| RsaPrivateItem::new(&work.key.key, &work.block, result.as_mut()))
            .collect();
        kernel.engine.rsa_private_batch(&mut items);
        let done: Vec<bool> = items.into_iter().map(|item| item.result.is_ok()).collect();
        for ((work, result), done) in asked.iter().zip(results).zip(done) {
            answers.push(if done { Ok(result) } else { Err(withheld(work)) });
        }
    }
}

/// Codes for a result that the public exponent did not undo.
///
/// Numbers that a caller gave can be made so that they fail on some blocks (a modulus with a squared
/// prime), or now and then (a private exponent that is off by a square root of one, which the blinding
/// hides or shows by chance): that is the caller's fault, 8/770, and must not stop a card that others
/// use. A failure under numbers that a card generated is a fault of the machine.
fn withheld(work: &RsaPrivate) -> Codes {
    if work.key.generated { code::SELF_CHECK } else { code::PKA_FIELD }
}

/// A public operation on a block of the modulus length, below the modulus.
pub(crate) struct RsaPublic {
    pub(crate) key: Arc<PublicContext>,
    pub(crate) block: SecretBytes,
}

impl<'a> Work<'a> for RsaPublic {
    type Answer = OperationAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.rsa_public
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        let mut results: Vec<SecretBytes> =
            asked.iter().map(|work| SecretBytes::new(work.block.len())).collect();
        let mut items: Vec<RsaPublicItem<'_>> = asked
            .iter()
            .zip(&mut results)
            .map(|(work, result)| RsaPublicItem::new(&work.key.key, &work.block, result.as_mut()))
            .collect();
        kernel.engine.rsa_public_batch(&mut items);
        let done: Vec<bool> = items.into_iter().map(|item| item.result.is_ok()).collect();
        for (result, done) in results.into_iter().zip(done) {
            answers.push(if done { Ok(result) } else { Err(code::PKA_FIELD) });
        }
    }
}

/// Generates a key; the engine has proven it by one operation.
pub(crate) struct RsaGenerate<'a> {
    pub(crate) modulus_bits: usize,
    pub(crate) exponent: &'a [u8],
}

/// The key.
pub(crate) type GenerateAnswer = Result<RsaPrivateKey, Codes>;

impl<'a> Work<'a> for RsaGenerate<'a> {
    type Answer = GenerateAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.rsa_generate
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        for work in asked {
            answers.push(generate(kernel.engine, work));
        }
    }
}

fn generate(engine: &Engine, work: &RsaGenerate<'_>) -> GenerateAnswer {
    for _ in 0..GENERATION_ATTEMPTS {
        match engine.rsa_generate(work.modulus_bits, work.exponent) {
            // An exponent of many small factors leaves few primes: the search may give up in good order.
            Err(RsaKeyError::Generation { .. }) if work.exponent != COMMON_EXPONENT => {}
            other => return other.map_err(key_codes),
        }
    }
    Err(code::PKA_FIELD)
}

/// Searches for a key, where the exponent makes them rare.
const GENERATION_ATTEMPTS: usize = 4;
/// 65537, under which a failed generation is a fault of the machine.
const COMMON_EXPONENT: &[u8] = &[1, 0, 1];

/// Wraps private values, in the order of a token, under the current APKA master key.
pub(crate) struct RsaWrap {
    pub(crate) domain: u16,
    pub(crate) builder: InternalBuilder,
    pub(crate) values: SecretBytes,
}

/// The internal token.
pub(crate) type WrapAnswer = Result<Vec<u8>, Codes>;

impl<'a> Work<'a> for RsaWrap {
    type Answer = WrapAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.rsa_wrap
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        for work in asked {
            answers.push(wrap(kernel, work));
        }
    }
}

fn wrap(kernel: &Kernel<'_>, work: &RsaWrap) -> WrapAnswer {
    let engine = kernel.engine;
    let master = kernel.domains[usize::from(work.domain)].current(Register::Apka)?;
    let mut opk = SecretBytes::new(OPK_BYTES);
    engine.random(opk.as_mut());
    let hash = Hashes(engine).sha256(&work.builder.hashed().concat());
    let key = aes_256(engine, &opk)?;
    let payload = aeskw::wrap(block(engine, &key, CipherDirection::Encipher), &hash, &[&work.values]);
    let key = aes_256(engine, &master.key)?;
    let field = aeskw::wrap(block(engine, &key, CipherDirection::Encipher), &[], &[&opk]);
    let field: [u8; OPK_FIELD_BYTES] = field.try_into().map_err(|_| code::SELF_CHECK)?;
    Ok(work.builder.finish(&field, &master.pattern, &payload))
}
