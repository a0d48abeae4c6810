//! Names of levels, personalities and interfaces as they are typed.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use wire::control::{LevelLimit, Personality};

/// Instruction-set levels.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelName {
    /// No AES-NI, SHA-NI or wide vectors
    Portable,
    /// Up to AVX2
    Avx2,
    /// Everything
    Avx512,
}

impl From<LevelName> for LevelLimit {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Portable => Self::Portable,
            LevelName::Avx2 => Self::Avx2,
            LevelName::Avx512 => Self::Avx512,
        }
    }
}

/// Personalities of cards.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonalityName {
    /// Clear-key RSA
    Accelerator,
    /// Secure keys
    Coprocessor,
}

impl From<PersonalityName> for Personality {
    fn from(name: PersonalityName) -> Self {
        match name {
            PersonalityName::Accelerator => Self::Accelerator,
            PersonalityName::Coprocessor => Self::Coprocessor,
        }
    }
}

/// Interfaces that `speed` measures: how an operation is reached.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceName {
    /// The engine, one batch per thread
    Native,
    /// The call as a program makes it
    Facility,
    /// Through queues to cards
    Card,
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Facility => "facility",
            Self::Card => "card",
        })
    }
}
