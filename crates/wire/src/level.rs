//! The limit on instruction-set levels, as settings and the environment name it.

use serde::{Deserialize, Serialize};

/// Highest instruction-set level that a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelLimit {
    /// No AES-NI, SHA-NI or wide vectors.
    Portable,
    /// Up to AVX2, AES-NI and SHA-NI.
    Avx2,
    /// No limit: every level up to AVX-512.
    Avx512,
}

/// The environment variable that limits every program of the project; the lower of the variable and
/// a setting counts.
pub const LEVEL_VARIABLE: &str = "CRYPTAND_LEVEL";

impl LevelLimit {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name used on the command line, in settings and in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The level that [`LEVEL_VARIABLE`] names; none if the variable is unset or empty.
    ///
    /// # Errors
    /// [`UnknownLevel`] for any other value.
    pub fn from_variable(value: Option<&std::ffi::OsStr>) -> Result<Option<Self>, UnknownLevel> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
        let known = Self::ALL.into_iter().find(|level| value == level.name());
        known.map(Some).ok_or_else(|| UnknownLevel(value.to_string_lossy().into_owned()))
    }
}

/// A value of [`LEVEL_VARIABLE`] that names no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel(pub String);

impl std::fmt::Display for UnknownLevel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{LEVEL_VARIABLE}={}: no such level; use portable, avx2 or avx512", self.0)
    }
}

impl std::error::Error for UnknownLevel {}
