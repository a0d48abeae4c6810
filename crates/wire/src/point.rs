//! Access-control points: the rights that a role permits or forbids, one by one.
//!
//! A verb has a point that is asked before it runs, and keywords have points of their own
//! ([`keywords`]). A number is CCA's if a page of its documentation names it ("Required commands",
//! one page for each verb, CCA for Linux on IBM Z and IBM Power). Numbers from [`OURS`] on are
//! ours, and mean nothing anywhere else. Most points permit when they are set, but some *forbid*:
//! with every bit set a role is not at its most powerful. Only [`PointSet::permits`] knows the
//! difference.

pub mod keywords;
mod set;
mod table;

pub use set::{PointSet, UnknownPoints};
pub(crate) use table::ALL;
pub use table::{POINTS, Point};

/// Numbers from here on are not CCA's.
pub const OURS: u16 = 0xF000;
/// Number of points that a set has room for.
pub const POINTS_MAX: usize = 384;

/// The effect of a set point in a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointEffect {
    /// The set point permits; without it the right is refused.
    Permits,
    /// The set point forbids; without it the right is permitted.
    Forbids,
}

/// Points that settings may name together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Verbs that need no secret key.
    Public,
    /// Hash methods.
    Hash,
    /// Texts enciphered and deciphered under secure keys.
    Cipher,
    /// MACs under secure keys.
    Mac,
    /// PIN blocks translated, and PINs in them verified; card verification values verified.
    Pin,
    /// Card issuing: PINs, offsets, PVVs and card verification values made.
    CardIssue,
    /// New secure keys.
    Generate,
    /// Keys that are clear on the way in.
    ClearImport,
    /// Keys that come in under other keys.
    Import,
    /// Keys that go out under other keys.
    Export,
    /// Keys that are clear on the way out.
    ClearExport,
    /// Signatures with secure private keys.
    Sign,
    /// Texts enciphered with public keys.
    RsaEncipher,
    /// Texts deciphered with secure private keys.
    RsaDecipher,
    /// RSA with keys that are clear in the request.
    ClearRsa,
    /// Key records listed and read.
    RecordRead,
    /// Key records created, written and deleted.
    RecordWrite,
    /// Wrapped keys as bytes in requests.
    Tokens,
    /// Algorithms and keys that can be broken.
    Weak,
    /// Uses that older programs need although they weaken keys: one key for two purposes of which
    /// one breaks the other, and keys under weaker ones.
    Legacy,
    /// Uses that older programs need although they reveal PINs: blocks, tables and answers by which
    /// a PIN is found in a few tries.
    LegacyPin,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 21] = [
        Self::Public,
        Self::Hash,
        Self::Cipher,
        Self::Mac,
        Self::Pin,
        Self::CardIssue,
        Self::Generate,
        Self::ClearImport,
        Self::Import,
        Self::Export,
        Self::ClearExport,
        Self::Sign,
        Self::RsaEncipher,
        Self::RsaDecipher,
        Self::ClearRsa,
        Self::RecordRead,
        Self::RecordWrite,
        Self::Tokens,
        Self::Weak,
        Self::Legacy,
        Self::LegacyPin,
    ];

    /// Name of the group in settings. No point has a group's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Hash => "hash",
            Self::Cipher => "cipher",
            Self::Mac => "mac",
            Self::Pin => "pin",
            Self::CardIssue => "card-issue",
            Self::Generate => "generate",
            Self::ClearImport => "clear-import",
            Self::Import => "import",
            Self::Export => "export",
            Self::ClearExport => "clear-export",
            Self::Sign => "sign",
            Self::RsaEncipher => "rsa-encipher",
            Self::RsaDecipher => "rsa-decipher",
            Self::ClearRsa => "clear-rsa",
            Self::RecordRead => "record-read",
            Self::RecordWrite => "record-write",
            Self::Tokens => "tokens",
            Self::Weak => "weak",
            Self::Legacy => "legacy",
            Self::LegacyPin => "legacy-pin",
        }
    }

    /// Whether the group's points are in no built-in role, and only in roles whose settings name
    /// the group or the point.
    pub const fn is_legacy(self) -> bool {
        matches!(self, Self::Legacy | Self::LegacyPin)
    }

    /// The group of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }
}

/// A row of the table of points.
#[derive(Clone, Copy, Debug)]
pub struct PointEntry {
    /// The point of this row.
    pub point: Point,
    /// Number of the point: CCA's, or one from [`OURS`] on.
    pub number: u16,
    /// Name of the point in settings and listings.
    pub name: &'static str,
    /// The effect of the point if it is set.
    pub effect: PointEffect,
    /// The group that the point belongs to.
    pub group: Group,
    /// The right that the point permits or forbids, in words for people.
    pub text: &'static str,
}

impl PointEntry {
    /// Whether the number is not CCA's.
    pub const fn is_ours(&self) -> bool {
        self.number >= OURS
    }
}

impl Point {
    /// Row of the point in [`POINTS`].
    pub fn entry(self) -> &'static PointEntry {
        &POINTS[self as usize]
    }

    /// The point of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        POINTS.iter().find(|entry| entry.name == name).map(|entry| entry.point)
    }

    /// The point of this number.
    pub fn from_number(number: u16) -> Option<Self> {
        POINTS.iter().find(|entry| entry.number == number).map(|entry| entry.point)
    }
}

/// The number as CCA's documentation writes it, and the name.
impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entry = self.entry();
        write!(f, "{} (X'{:04X}')", entry.name, entry.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_stand_at_their_points_and_names_and_numbers_are_unique() {
        for (at, entry) in POINTS.iter().enumerate() {
            assert_eq!(entry.point as usize, at, "{}", entry.name);
            assert_eq!(Point::from_name(entry.name), Some(entry.point));
            assert_eq!(Point::from_number(entry.number), Some(entry.point));
            assert_eq!(Group::from_name(entry.name), None, "{} is a group's name too", entry.name);
            assert!(!entry.text.is_empty() && entry.name.len() <= 40, "{}", entry.name);
        }
        let numbers: HashSet<_> = POINTS.iter().map(|entry| entry.number).collect();
        let names: HashSet<_> = POINTS.iter().map(|entry| entry.name).collect();
        assert_eq!((numbers.len(), names.len()), (POINTS.len(), POINTS.len()));
        assert_eq!(Point::from_number(0xFFFF), None);
        assert_eq!(Point::Encipher.to_string(), "encipher (X'000E')");
    }

    #[test]
    fn every_group_has_points() {
        for group in Group::ALL {
            assert!(POINTS.iter().any(|entry| entry.group == group), "{}", group.name());
            assert_eq!(Group::from_name(group.name()), Some(group));
        }
    }
}
