//! Diffie-Hellman on elliptic curves.

use super::super::Workload;
use super::super::pacing::Caller;
use super::batch::{Batch, went};
use super::{expect, text};
use engine::{Curve, EcError, EcPrivateKey, SecretBytes};

pub(super) struct EcdhJob {
    private: EcPrivateKey,
    /// The public key of the other party, uncompressed.
    peer: Vec<u8>,
    /// The secret, as computed with the other party's key.
    expected: Vec<u8>,
}

impl EcdhJob {
    pub fn new() -> Result<Self, String> {
        let private = EcPrivateKey::generate(Curve::P256).map_err(text)?;
        let other = EcPrivateKey::generate(Curve::P256).map_err(text)?;
        let expected = other.ecdh(&private.public_bytes()).map_err(text)?.to_vec();
        Ok(Self { private, peer: other.public_bytes(), expected })
    }
}

/// One agreement after the other: the engine has no batch of them.
pub(super) fn agree<'a>(workload: &'a Workload, jobs: &'a [EcdhJob]) -> impl Caller + 'a {
    type Item<'a> = (&'a EcdhJob, Result<SecretBytes, EcError>);
    Batch {
        items: jobs.iter().map(|job| (job, Ok(SecretBytes::new(0)))).collect(),
        call: move |items: &mut [Item<'a>]| {
            for (job, secret) in items.iter_mut() {
                *secret = job.private.ecdh(&job.peer);
            }
            went(
                workload,
                items.iter().map(|(_, secret)| secret.as_ref().map(|_| ()).map_err(|error| *error)),
            )
        },
        begin: |_, _: &mut Item<'a>| {},
        check: move |number: usize, (job, secret): &Item<'a>| {
            let secret = secret.as_ref().map_or(&[][..], |secret| secret);
            expect(workload, number, secret, &job.expected)
        },
    }
}
