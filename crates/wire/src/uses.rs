//! Uses of the key behind a label that a tenant is allowed.
//!
//! The daemon decides them when a label is opened, and writes them beside the token into the key
//! table. The card compares them with what a verb does with each key of its request.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of uses. Settings write it as a list of names, messages as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uses(u32);

/// Error: a set names uses that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownUses;

impl std::fmt::Display for UnknownUses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a set of uses that names unknown ones")
    }
}

impl std::error::Error for UnknownUses {}

impl Uses {
    /// No use.
    pub const NONE: Self = Self(0);
    /// Encipher texts.
    pub const ENCIPHER: Self = Self(1);
    /// Decipher texts.
    pub const DECIPHER: Self = Self(1 << 1);
    /// Make MACs.
    pub const MAC_GENERATE: Self = Self(1 << 2);
    /// Verify MACs.
    pub const MAC_VERIFY: Self = Self(1 << 3);
    /// Sign.
    pub const SIGN: Self = Self(1 << 4);
    /// Verify signatures, and take the public key out.
    pub const VERIFY: Self = Self(1 << 5);
    /// Encipher with the public key.
    pub const RSA_ENCIPHER: Self = Self(1 << 6);
    /// Decipher with the private key.
    pub const RSA_DECIPHER: Self = Self(1 << 7);
    /// Export the key, or export other keys under it.
    pub const EXPORT: Self = Self(1 << 8);
    /// Import other keys under the key.
    pub const IMPORT: Self = Self(1 << 9);
    /// Generate keys from it, under it, or after its form.
    pub const GENERATE: Self = Self(1 << 10);
    /// Compute the verification pattern of the key.
    pub const TEST: Self = Self(1 << 11);
    /// Compute with PINs; key type and role say which computations.
    pub const PIN: Self = Self(1 << 12);
    /// Create the record, or write its token.
    pub const WRITE: Self = Self(1 << 13);
    /// Delete the record, or its token.
    pub const DELETE: Self = Self(1 << 14);
    /// Read the token.
    pub const READ: Self = Self(1 << 15);
    /// Make and verify the cryptograms of a transaction.
    pub const AUTHENTICATE: Self = Self(0b1100);
    /// Translate texts from or to encipherment under the key: no less than both ways of a cipher.
    pub const TRANSLATE: Self = Self(0b11);
    /// Everything that neither changes the record nor gives out its token: all but [`Uses::WRITE`],
    /// [`Uses::DELETE`] and [`Uses::READ`].
    pub const USE: Self = Self((1 << 13) - 1);
    /// All uses.
    pub const ALL: Self = Self((1 << 16) - 1);

    /// Each use by its name in settings, and the two sums.
    pub const NAMES: [(&'static str, Self); 18] = [
        ("encipher", Self::ENCIPHER),
        ("decipher", Self::DECIPHER),
        ("mac-generate", Self::MAC_GENERATE),
        ("mac-verify", Self::MAC_VERIFY),
        ("sign", Self::SIGN),
        ("verify", Self::VERIFY),
        ("rsa-encipher", Self::RSA_ENCIPHER),
        ("rsa-decipher", Self::RSA_DECIPHER),
        ("export", Self::EXPORT),
        ("import", Self::IMPORT),
        ("generate", Self::GENERATE),
        ("test", Self::TEST),
        ("pin", Self::PIN),
        ("write", Self::WRITE),
        ("delete", Self::DELETE),
        ("read", Self::READ),
        ("use", Self::USE),
        ("all", Self::ALL),
    ];

    /// The uses of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, uses)| *uses)
    }

    /// The uses in either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every use of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The shortest list of names: `all`, `use`, or each by itself.
    pub fn names(self) -> Vec<&'static str> {
        let (mut left, mut names) = (self, Vec::new());
        if self.is_none() {
            return names;
        }
        for (name, uses) in Self::NAMES.iter().rev() {
            if left.contains(*uses) {
                left = Self(left.0 & !uses.0);
                names.push(*name);
            }
            if left.is_none() {
                break;
            }
        }
        names
    }

    /// Whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The set as a number, as the key table holds it.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set with this number, as [`Uses::bits`] gives it.
    ///
    /// # Errors
    /// [`UnknownUses`] for a number with other bits.
    pub const fn from_bits(bits: u32) -> Result<Self, UnknownUses> {
        if bits & !Self::ALL.0 == 0 { Ok(Self(bits)) } else { Err(UnknownUses) }
    }
}

/// The shortest list of names: `all`, `use`, or each by itself.
impl std::fmt::Display for Uses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.names();
        f.write_str(&if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })
    }
}

impl Serialize for Uses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.names().serialize(serializer)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Uses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Self::from_bits(u32::deserialize(deserializer)?).map_err(D::Error::custom);
        }
        let mut sum = Self::NONE;
        let names = Vec::<String>::deserialize(deserializer)?;
        if names.is_empty() {
            return Err(D::Error::custom(
                "no use is named; a label that nothing may be done with needs no rule",
            ));
        }
        for name in names {
            let uses = Self::from_name(&name).ok_or_else(|| {
                let known: Vec<&str> = Self::NAMES.iter().map(|(known, _)| *known).collect();
                D::Error::custom(format!("there is no use {name:?}; known are {}", known.join(", ")))
            })?;
            if sum.contains(uses) {
                return Err(D::Error::custom(format!("use {name:?} is named twice, or part of another")));
            }
            sum = sum.union(uses);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cover_all_uses_and_numbers_beyond_are_refused() {
        let single = Uses::NAMES.iter().filter(|(_, uses)| uses.bits().is_power_of_two());
        let sum = single.clone().fold(Uses::NONE, |sum, (_, uses)| sum.union(*uses));
        assert_eq!((sum, single.count()), (Uses::ALL, 16));
        for (name, uses) in Uses::NAMES {
            assert_eq!(Uses::from_name(name), Some(uses));
            assert_eq!(uses.to_string(), name);
        }
        assert_eq!(Uses::from_name("everything"), None);
        assert_eq!(Uses::from_bits(1 << 16), Err(UnknownUses));
        assert_eq!(Uses::USE.union(Uses::READ).to_string(), "use, read");
        assert_eq!(Uses::NONE.to_string(), "nothing");
        assert_eq!(Uses::NONE.names(), Vec::<&str>::new());
        let kept = Uses::WRITE.union(Uses::DELETE).union(Uses::READ);
        assert!(!Uses::USE.contains(Uses::WRITE) && Uses::USE.union(kept) == Uses::ALL);
    }

    #[test]
    fn messages_carry_numbers_and_refuse_unknown_ones() {
        use crate::control::{MessageError, decode, encode};
        let uses = Uses::MAC_VERIFY.union(Uses::READ);
        assert_eq!(decode::<Uses>(&encode(&uses).unwrap()).unwrap(), uses);
        assert_eq!(decode::<Uses>(&encode(&0x1_0000_u32).unwrap()), Err(MessageError::Malformed));
    }
}
