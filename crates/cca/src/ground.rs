//! Types that modules of every layer use: why a verb stops, steps of a batch, algorithms and ages of keys.

use engine::{CipherAlgorithm, CipherKey, Engine};
use wire::frame::Outcome;
use wire::verb::{Fault, KeyAlgorithm};
use wire::{Codes, code};

/// Why a verb stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The verb ends with these codes.
    Codes(Codes),
    /// The output whose length parameter is at this position needs `needed` bytes: 8/72, or 4/16 for a rule array.
    TooSmall { position: usize, needed: usize },
    /// The verb did not run at all.
    Outcome(Outcome),
    /// A result under numbers that a card generated failed its check, and is withheld: 16/336. No argument of a
    /// caller's may lead here, since the card stops.
    Unsound,
}

impl From<Codes> for Refusal {
    fn from(codes: Codes) -> Self {
        Self::Codes(codes)
    }
}

impl From<token::TokenError> for Refusal {
    fn from(error: token::TokenError) -> Self {
        Self::Codes(error.codes())
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused { codes, .. } => Self::Codes(codes),
            Fault::Reference { .. } => Self::Outcome(Outcome::KeyReference),
            Fault::TooSmall { position, needed } => Self::TooSmall { position, needed },
        }
    }
}

/// The step of a batch that has just ended, for a caller that has a clock (see
/// [`Processor::run_watched`](crate::Processor::run_watched)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStep {
    /// The arguments of all requests were read.
    Read,
    /// The computations went on as far as they get without kernel work.
    Computed,
    /// A pass did the kernel work of this kind, by the name of its queue.
    Kernel(&'static str),
    /// The answers are complete.
    Answered,
}

/// Algorithm of a symmetric key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Des,
    Aes,
}

impl From<KeyAlgorithm> for Algorithm {
    fn from(keyword: KeyAlgorithm) -> Self {
        match keyword {
            KeyAlgorithm::Des => Self::Des,
            KeyAlgorithm::Aes => Self::Aes,
        }
    }
}

impl Algorithm {
    /// The cipher for a key of this length; for a length that no key has, the cipher of the longest key.
    pub(crate) fn cipher(self, key_bytes: usize) -> CipherAlgorithm {
        match (self, key_bytes) {
            (Self::Des, 8) => CipherAlgorithm::Des,
            (Self::Des, 16) => CipherAlgorithm::Tdes2,
            (Self::Des, _) => CipherAlgorithm::Tdes3,
            (Self::Aes, 16) => CipherAlgorithm::Aes128,
            (Self::Aes, 24) => CipherAlgorithm::Aes192,
            (Self::Aes, _) => CipherAlgorithm::Aes256,
        }
    }
}

/// The age of the master key that wraps a token. The newest comes first: of several ages the oldest is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// The master key that is current soon, and that other cards already use.
    Next,
    /// The current one.
    Current,
    /// The previous master key: it still opens tokens, 0/10001.
    Old,
}

impl Age {
    /// The codes of a verb that did everything with a key of this age.
    pub(crate) fn codes(self) -> Codes {
        match self {
            Self::Next | Self::Current => code::OK,
            Self::Old => code::OLD_MASTER_KEY,
        }
    }
}

/// A prepared wrapping key.
pub(crate) fn aes_256(engine: &Engine, key: &[u8]) -> Result<CipherKey, Codes> {
    engine.cipher_key_internal(CipherAlgorithm::Aes256, key).map_err(|_| code::SELF_CHECK)
}
