//! `cards.toml` and `settings.toml`: the private keys on cards, and the default key.

use crate::error::KeyringError;
use crate::files::{self, Access};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The place of a private key that is on cards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardPlace {
    /// Folder of the cards' home.
    pub home: PathBuf,
    /// Domain in which the key is used.
    pub domain: u16,
    /// Label of the key in the home.
    pub label: String,
}

/// Private keys on cards: fingerprint of the key (primary key or subkey, lower-case hexadecimal) and its place.
pub type Cards = BTreeMap<String, CardPlace>;

/// The user's settings of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Fingerprint of the certificate that signs by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_key: Option<String>,
    /// Whether messages are also encrypted to the default key.
    #[serde(default)]
    pub encrypt_to_self: bool,
}

pub(crate) fn read<T: for<'de> Deserialize<'de> + Default>(path: &Path) -> Result<T, KeyringError> {
    let Some(bytes) = files::read(path)? else { return Ok(T::default()) };
    let malformed = |cause: String| KeyringError::Malformed { name: path.display().to_string(), cause };
    let text = std::str::from_utf8(&bytes).map_err(|_| malformed("not UTF-8".to_owned()))?;
    toml::from_str(text).map_err(|error| malformed(error.to_string()))
}

pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<(), KeyringError> {
    let malformed = |cause: String| KeyringError::Malformed { name: path.display().to_string(), cause };
    let text = toml::to_string(value).map_err(|error| malformed(error.to_string()))?;
    files::replace(path, text.as_bytes(), Access::Owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_the_rest_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("cards.toml");
        assert_eq!(read::<Cards>(&path).unwrap(), Cards::default());
        let place = CardPlace { home: "/h o".into(), domain: 3, label: "A.B".to_owned() };
        let cards = Cards::from([("ab".repeat(20), place)]);
        write(&path, &cards).unwrap();
        assert_eq!(read::<Cards>(&path).unwrap(), cards);
        for bad in ["x", "[ab]\nhome = 1", "[ab]\nhome = \"h\"\ndomain = 0\nlabel = \"x\"\nmore = 1"] {
            std::fs::write(&path, bad).unwrap();
            assert!(read::<Cards>(&path).is_err(), "{bad}");
        }
    }
}
