//! Values derived from keys and secrets: verification patterns, the keys that seal chaining vectors, and keys from
//! secrets that parties agree on.

use super::emv::{self, Cryptograms, Diversify};
use super::{Kernel, Pass, Queue, Work, aes_dukpt, dukpt};
use crate::chaining::{Chained, ChainingKeys};
use crate::patterns;
use crate::pka::x963;
use engine::{HashAlgorithm, SecretBytes};
use payments::dukpt::aes::Transaction;
use payments::dukpt::tdes::{Purpose, Serial};
use wire::control::Register;
use wire::{Codes, code};

/// A value to be derived from a key or a secret.
pub(crate) enum Derive {
    /// The pattern of Key_Test for a DES key of 8 or 16 bytes and a random number.
    KeyTest { key: SecretBytes, random: [u8; 8] },
    /// The first eight bytes of SHA-256 of X'01' and an AES key.
    Sha256 { key: SecretBytes },
    /// The first sixteen bytes of SHA-256 of a token's description of an HMAC key, and the key.
    Sha2Vp1 { key: SecretBytes },
    /// The keys that seal the chaining vectors of this domain.
    ChainingKeys { domain: u16, chained: Chained },
    /// A key of `bytes` bytes by ANSI X9.63 from a secret and `shared`, what both parties know.
    X963 { secret: SecretBytes, hash: HashAlgorithm, shared: Vec<u8>, bytes: usize },
    /// The working key of a transaction by DUKPT from a base key of 16 bytes.
    Dukpt { base: SecretBytes, serial: Serial, purpose: Purpose },
    /// The initial key of a terminal by DUKPT from a base key of 16 bytes, and the
    /// [block](payments::dukpt::tdes::initial_block) of its serial number.
    DukptInitial { base: SecretBytes, block: [u8; 8] },
    /// The key of a transaction, or the initial one of a terminal, by DUKPT with AES from a base key of AES.
    AesDukpt { base: SecretBytes, transaction: Transaction },
    /// The key of a chip card, or of one of its sessions.
    Diversify(Box<Diversify>),
    /// The cryptograms of a transaction of a chip card.
    Transaction(Box<emv::Transaction>),
}

/// The derived value, by the kind that was asked for.
pub(crate) enum Derived {
    /// Of [`Derive::KeyTest`] and [`Derive::Sha256`].
    Pattern([u8; 8]),
    /// Of [`Derive::Sha2Vp1`].
    LongPattern([u8; 16]),
    /// Of [`Derive::ChainingKeys`]; 12/764 if the register has no master key.
    ChainingKeys(Result<ChainingKeys, Codes>),
    /// Of [`Derive::X963`], [`Derive::Dukpt`], [`Derive::DukptInitial`], [`Derive::AesDukpt`] and
    /// [`Derive::Diversify`].
    Key(Result<SecretBytes, Codes>),
    /// Of [`Derive::Transaction`].
    Cryptograms(Result<Cryptograms, Codes>),
}

/// The derived value.
pub(crate) type Answer = Derived;

impl Derived {
    /// The pattern that was asked for.
    pub(crate) fn pattern(self) -> Result<[u8; 8], Codes> {
        match self {
            Self::Pattern(pattern) => Ok(pattern),
            _ => Err(code::SELF_CHECK),
        }
    }

    /// The long pattern that was asked for.
    pub(crate) fn long_pattern(self) -> Result<[u8; 16], Codes> {
        match self {
            Self::LongPattern(pattern) => Ok(pattern),
            _ => Err(code::SELF_CHECK),
        }
    }

    /// The keys that were asked for.
    pub(crate) fn chaining_keys(self) -> Result<ChainingKeys, Codes> {
        match self {
            Self::ChainingKeys(keys) => keys,
            _ => Err(code::SELF_CHECK),
        }
    }

    /// The key that was asked for.
    pub(crate) fn key(self) -> Result<SecretBytes, Codes> {
        match self {
            Self::Key(key) => key,
            _ => Err(code::SELF_CHECK),
        }
    }

    /// The cryptograms that were asked for.
    pub(crate) fn cryptograms(self) -> Result<Cryptograms, Codes> {
        match self {
            Self::Cryptograms(cryptograms) => cryptograms,
            _ => Err(code::SELF_CHECK),
        }
    }
}

impl<'a> Work<'a> for Derive {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.derive
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let engine = kernel.engine;
        dukpt::run(engine, asked, answers);
        aes_dukpt::run(engine, asked, answers);
        emv::run(engine, asked, answers);
        let others = asked.iter().zip(answers).filter(|(_, answer)| answer.is_none());
        for (work, answer) in others {
            *answer = Some(match work {
                Self::Dukpt { .. }
                | Self::DukptInitial { .. }
                | Self::AesDukpt { .. }
                | Self::Diversify(_) => Derived::Key(Err(code::SELF_CHECK)),
                Self::Transaction(_) => Derived::Cryptograms(Err(code::SELF_CHECK)),
                Self::KeyTest { key, random } => Derived::Pattern(patterns::key_test(engine, key, random)),
                Self::Sha256 { key } => {
                    Derived::Pattern(patterns::master_key_pattern(engine, Register::Aes, key).name())
                }
                Self::X963 { secret, hash, shared, bytes } => {
                    Derived::Key(x963::derive(engine, *hash, secret, shared, *bytes))
                }
                Self::Sha2Vp1 { key } => Derived::LongPattern(patterns::hmac_key(key)),
                Self::ChainingKeys { domain, chained } => Derived::ChainingKeys(
                    kernel
                        .domains
                        .get(usize::from(*domain))
                        .ok_or(code::MASTER_KEY_NOT_LOADED)
                        .and_then(|keys| ChainingKeys::of(engine, keys, *domain, *chained)),
                ),
            });
        }
    }
}
