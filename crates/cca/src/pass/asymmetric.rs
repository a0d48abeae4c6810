//! RSA operations, private and public, under keys that an earlier pass opened.
//!
//! The private operations of all requests run in one engine call, which verifies every result with the
//! public exponent; the public operations run in another.

use std::sync::Arc;

use engine::{RsaPrivateItem, RsaPublicItem, SecretBytes};
use wire::code;

use super::{Kernel, Pass, Queue, Work};
use crate::call::Refusal;
use crate::key::rsa::{PrivateContext, PublicContext};

/// An operation on a block of the modulus length, below the modulus.
pub(crate) enum Asymmetric {
    /// `block^d mod n`.
    Private { key: Arc<PrivateContext>, block: SecretBytes },
    /// `block^e mod n`.
    Public { key: Arc<PublicContext>, block: SecretBytes },
}

/// The result, of the modulus length.
pub(crate) type Answer = Result<SecretBytes, Refusal>;

impl<'a> Work<'a> for Asymmetric {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.asymmetric
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let mut results: Vec<SecretBytes> =
            asked.iter().map(|work| SecretBytes::new(work.block().len())).collect();
        let (mut private, mut public) = (Vec::new(), Vec::new());
        let (mut at_private, mut at_public) = (Vec::new(), Vec::new());
        for (index, (work, result)) in asked.iter().zip(&mut results).enumerate() {
            match work {
                Self::Private { key, block } => {
                    private.push(RsaPrivateItem::new(&key.key, block, result.as_mut()));
                    at_private.push(index);
                }
                Self::Public { key, block } => {
                    public.push(RsaPublicItem::new(&key.key, block, result.as_mut()));
                    at_public.push(index);
                }
            }
        }
        kernel.engine.rsa_private_batch(&mut private);
        kernel.engine.rsa_public_batch(&mut public);
        let mut done = vec![false; asked.len()];
        for (index, item) in at_private.into_iter().zip(private) {
            done[index] = item.result.is_ok();
        }
        for (index, item) in at_public.into_iter().zip(public) {
            done[index] = item.result.is_ok();
        }
        for (((work, result), done), answer) in asked.iter().zip(results).zip(done).zip(answers) {
            *answer = Some(if done { Ok(result) } else { Err(work.withheld()) });
        }
    }
}

impl Asymmetric {
    fn block(&self) -> &SecretBytes {
        match self {
            Self::Private { block, .. } | Self::Public { block, .. } => block,
        }
    }

    /// The codes for a missing result: for a private operation, one that the public exponent did not
    /// undo.
    ///
    /// A caller can supply numbers that fail on some blocks (a modulus with a squared
    /// prime), or now and then (a private exponent that is off by a square root of one, which the blinding
    /// hides or shows by chance): that is the caller's fault, 8/770, and must not stop a card that others
    /// use. A failure under numbers that a card generated is a fault of the hardware.
    fn withheld(&self) -> Refusal {
        match self {
            Self::Private { key, .. } if key.generated => Refusal::Unsound,
            Self::Private { .. } | Self::Public { .. } => code::PKA_FIELD.into(),
        }
    }
}
