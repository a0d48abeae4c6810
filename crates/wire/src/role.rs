//! Roles: numbered sets of access-control points.
//!
//! A card is told a role once; grants name the role by its number. The names of roles and their
//! settings stay with the daemon.

use crate::point::{ALL, Group, POINTS, Point, PointSet};
use crate::uses::Uses;
use serde::{Deserialize, Serialize};

/// A role as a card knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// The number by which grants name it, below [`crate::bounds::CARD_ROLES_MAX`].
    pub number: u16,
    /// The rights that the role permits and forbids.
    pub points: PointSet,
}

/// A role that every home has, and that no setting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// Name of the role.
    pub name: &'static str,
    /// Purpose of the role, in words for people.
    pub text: &'static str,
    /// Points of the role.
    pub points: PointSet,
    /// The uses of keys that the role allows under every label.
    pub uses: Uses,
}

/// The role of the home's owner.
pub const OWNER: &str = "owner";
/// The role of everyone else, unless settings name another.
pub const GUEST: &str = "guest";

/// The role of a server whose private keys for TLS are on cards.
pub const TLS_SERVER: &str = "tls-server";

/// The roles that every home has.
pub const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: OWNER,
        text: "everything that can be done with keys, with one purpose per key",
        points: owner(),
        uses: Uses::ALL,
    },
    BuiltIn {
        name: GUEST,
        text: "use keys by their labels; no key is imported or exported, no RSA key deciphers, no PIN is made",
        points: guest(),
        uses: Uses::USE,
    },
    BuiltIn {
        name: "trusted",
        text: "a guest that also sends and reads wrapped tokens, and deciphers with RSA keys",
        points: trusted(),
        uses: Uses::USE.union(Uses::READ),
    },
    BuiltIn {
        name: TLS_SERVER,
        text: "sign as TLS does, open its premaster secrets and take public keys, with the tenant's own labels",
        points: tls_server(),
        uses: Uses::NONE,
    },
    BuiltIn { name: "nobody", text: "nothing", points: PointSet::NOTHING, uses: Uses::NONE },
];

const fn owner() -> PointSet {
    let mut points = PointSet::EVERYTHING;
    let mut at = 0;
    while at < ALL.len() {
        if ALL[at].group.is_legacy() {
            points.deny(ALL[at].point);
        }
        at += 1;
    }
    points
}

const fn guest() -> PointSet {
    let mut points = owner();
    let mut at = 0;
    while at < ALL.len() {
        let kept = matches!(
            ALL[at].group,
            Group::ClearImport
                | Group::Import
                | Group::Export
                | Group::RsaDecipher
                | Group::RecordWrite
                | Group::CardIssue
                | Group::Tokens
        );
        if kept {
            points.deny(ALL[at].point);
        }
        at += 1;
    }
    points.deny(Point::DesKeyRecordRead);
    points.deny(Point::AesKeyRecordRead);
    points.deny(Point::PkaKeyRecordRead);
    // A reference PIN does not say whose it is, nor does a block of ISO-3: no count is of one PIN
    // alone.
    points.deny(Point::EncryptedPinVerify2);
    points.deny(Point::PinBound);
    points.deny(Point::MacVerifyShort);
    points
}

const fn trusted() -> PointSet {
    let mut points = guest();
    let mut at = 0;
    while at < ALL.len() {
        if matches!(ALL[at].group, Group::RsaDecipher | Group::RecordRead | Group::Tokens) {
            points.allow(ALL[at].point);
        }
        at += 1;
    }
    points
}

const fn tls_server() -> PointSet {
    let mut points = PointSet::NOTHING;
    points.allow(Point::Null);
    points.allow(Point::PkaPublicKeyExtract);
    points.allow(Point::DigitalSignatureGenerate);
    points.allow(Point::SignPkcs11);
    points.allow(Point::SignPss);
    points.allow(Point::SignEcdsa);
    points.allow(Point::TlsPremaster);
    points
}

impl BuiltIn {
    /// The built-in role of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        static ROLES: [BuiltIn; 5] = BUILT_IN;
        ROLES.iter().find(|role| role.name == name)
    }
}

/// The points that an item of a list names: one point, or all of a group. `all` names every point
/// but those of [`Group::Legacy`] and [`Group::LegacyPin`], which must be named.
pub fn points_named(name: &str) -> Option<Vec<Point>> {
    let of = |wanted: &dyn Fn(&crate::point::PointEntry) -> bool| {
        POINTS.iter().filter(|entry| wanted(entry)).map(|entry| entry.point).collect()
    };
    if name == ALL_POINTS {
        return Some(of(&|entry| !entry.group.is_legacy()));
    }
    match Group::from_name(name) {
        Some(group) => Some(of(&|entry| entry.group == group)),
        None => Point::from_name(name).map(|point| vec![point]),
    }
}

/// The item of a list that names every point but those of [`Group::Legacy`] and
/// [`Group::LegacyPin`].
pub const ALL_POINTS: &str = "all";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_takes_no_key_in_or_out() {
        let guest = BuiltIn::from_name(GUEST).unwrap();
        for denied in [
            Point::TokenBytes,
            Point::PkaDecrypt,
            Point::PkaDecryptOaep,
            Point::SymmetricKeyExport,
            Point::SymmetricKeyImport,
            Point::ClearKeyImport,
            Point::PkaKeyImport,
            Point::DesKeyRecordWrite,
            Point::PkaKeyRecordRead,
        ] {
            assert!(!guest.points.permits(denied), "{denied}");
        }
        for allowed in [Point::Null, Point::MacX919, Point::DigitalSignatureGenerate, Point::RecordList] {
            assert!(guest.points.permits(allowed), "{allowed}");
        }
        assert!(!guest.uses.contains(Uses::READ) && guest.uses.contains(Uses::MAC_VERIFY));
        for entry in crate::verb::TABLE.iter().filter(|entry| entry.uses().contains(Uses::READ)) {
            assert!(!guest.points.permits(entry.point), "{} gives tokens out", entry.name);
        }
    }

    #[test]
    fn what_breaks_the_purpose_of_a_key_is_in_no_role_of_a_home() {
        for role in BUILT_IN {
            for entry in POINTS.iter().filter(|entry| entry.group.is_legacy()) {
                assert!(!role.points.permits(entry.point), "{}: {}", role.name, entry.name);
            }
        }
        let owner = BuiltIn::from_name(OWNER).unwrap();
        let denied = POINTS.iter().filter(|entry| !owner.points.permits(entry.point));
        assert!(denied.map(|entry| entry.group).all(Group::is_legacy));
    }

    #[test]
    fn who_is_trusted_is_a_guest_with_more() {
        let (guest, trusted) = (BuiltIn::from_name(GUEST).unwrap(), BuiltIn::from_name("trusted").unwrap());
        let more: Vec<Group> = trusted
            .points
            .permitted()
            .filter(|point| !guest.points.permits(*point))
            .map(|point| point.entry().group)
            .collect();
        assert!(guest.points.permitted().all(|point| trusted.points.permits(point)));
        assert!(more.contains(&Group::Tokens) && more.contains(&Group::RsaDecipher));
        assert!(!more.contains(&Group::RecordWrite) && !more.contains(&Group::Export));
    }

    #[test]
    fn a_server_of_tls_signs_and_opens_premasters_and_nothing_else() {
        let server = BuiltIn::from_name(TLS_SERVER).unwrap();
        let permitted: Vec<&str> = server.points.permitted().map(|point| point.entry().name).collect();
        let expected = [
            "null",
            "pka-public-key-extract",
            "digital-signature-generate",
            "digital-signature-pkcs-1.1",
            "digital-signature-pss",
            "digital-signature-ecdsa",
            "tls-premaster",
        ];
        assert_eq!(permitted, expected);
        assert!(server.uses.is_none(), "no label but those that its tenant is given");
    }

    #[test]
    fn lists_name_points_groups_or_all() {
        assert_eq!(points_named("encipher"), Some(vec![Point::Encipher]));
        assert_eq!(points_named("tokens"), Some(vec![Point::TokenBytes]));
        assert_eq!(points_named("mac").map(|points| points.len()), Some(25));
        let legacy = points_named("legacy").unwrap();
        assert!(!legacy.is_empty() && legacy.iter().all(|point| point.entry().group == Group::Legacy));
        let of_pins = points_named("legacy-pin").unwrap();
        assert!(of_pins.contains(&Point::PinUnrestricted) && !legacy.contains(&Point::PinUnrestricted));
        let named = legacy.len() + of_pins.len();
        assert_eq!(points_named("all").map(|points| points.len()), Some(POINTS.len() - named));
        assert_eq!(points_named("make-coffee"), None);
        assert_eq!(BuiltIn::from_name("root"), None);
    }
}
