//! Who may do what: the role of a tenant, and what it may do with a label's key.
//!
//! Rights are determined at greetings, at attach, when a label is opened and when a record is requested; the result is
//! written into grants and key-table entries, against which cards check requests. Rights are determined again when the
//! settings change.

use home::{Labels, Resolved, Settings};
use std::collections::HashMap;
use wire::point::PointSet;
use wire::role::{GUEST, OWNER};
use wire::tenant::NAMED_TENANT;
use wire::uses::Uses;
use wire::{Label, Verb};

/// The peer whose rights are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The tenant that the peer's queues belong to: a named tenant, or the peer's user.
    pub tenant: u32,
    /// Whether the peer is the home's owner, or root, and has shown no credential: what is permitted to such a peer
    /// does not depend on its tenant.
    pub owner: bool,
}

/// A role: its name and the points that it permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Name of the role.
    pub name: String,
    /// Points that the role permits.
    pub points: PointSet,
}

/// The rights of peers.
pub trait Rights {
    /// The role of a peer.
    fn role(&self, who: Who) -> &Role;

    /// What a peer may do with the key of a label: nothing if the label may not be opened.
    fn may_open(&self, who: Who, label: &Label) -> Uses;

    /// Whether a peer may use a verb on a label: its role must permit the verb, and the label what the verb does with
    /// its key or record.
    fn may(&self, who: Who, verb: Verb, label: &Label) -> bool {
        let (entry, uses) = (verb.entry(), self.may_open(who, label));
        self.role(who).points.permits(entry.point) && !uses.is_none() && uses.contains(entry.uses())
    }
}

/// The rights that settings give.
#[derive(Clone, Debug)]
pub struct RightsTable {
    owner: Row,
    others: Row,
    tenants: HashMap<u32, Row>,
}

#[derive(Clone, Debug)]
struct Row {
    role: Role,
    labels: Labels,
}

impl Row {
    /// The rights of a role; `None` if the settings have no such role, which their check rules out.
    fn of(settings: &Settings, tenant: Option<&wire::tenant::Tenant>, role: &str) -> Option<Self> {
        let resolved = settings.role(role)?;
        let labels = settings.labels_of(tenant, &resolved);
        let Resolved { name, points, .. } = resolved;
        Some(Self { role: Role { name, points }, labels })
    }

    fn nothing() -> Self {
        let labels = Labels { rules: Vec::new(), table: String::new() };
        Self { role: Role { name: GUEST.to_owned(), points: PointSet::NOTHING }, labels }
    }
}

impl RightsTable {
    /// The rights that checked settings give.
    pub fn of(settings: &Settings) -> Self {
        let row = |tenant: Option<&wire::tenant::Tenant>, role: &str| {
            Row::of(settings, tenant, role).unwrap_or_else(Row::nothing)
        };
        let tenants = settings.tenants.iter().map(|tenant| {
            (NAMED_TENANT | tenant.number, row(Some(tenant), settings.role_name_of(Some(tenant))))
        });
        Self {
            owner: row(None, OWNER),
            others: row(None, settings.role_name_of(None)),
            tenants: tenants.collect(),
        }
    }

    fn row(&self, who: Who) -> &Row {
        if who.owner {
            return &self.owner;
        }
        // A removed tenant has the rights of unnamed users; its queues are ended and its labels revoked anyway.
        self.tenants.get(&who.tenant).unwrap_or(&self.others)
    }
}

impl Rights for RightsTable {
    fn role(&self, who: Who) -> &Role {
        &self.row(who).role
    }

    fn may_open(&self, who: Who, label: &Label) -> Uses {
        self.row(who).labels.uses(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
tenant_number_next = 3
[programs]
daemon = "/d"
card = "/c"
[access]
role = "macs"
[[role]]
name = "macs"
allow = ["mac-verify", "mac-x9.19"]
[[role.labels]]
pattern = "MAC.*"
uses = ["mac-verify", "mac-generate"]
[[tenant]]
name = "shop"
number = 1
role = "trusted"
[[tenant.labels]]
pattern = "SHOP.*"
uses = ["use", "read"]
[[tenant]]
name = "plain"
number = 2
"#;

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    #[test]
    fn the_table_says_what_the_settings_say() {
        let table = RightsTable::of(&Settings::from_text(TEXT).unwrap());
        let who = |tenant: u32, owner: bool| Who { tenant, owner };
        let (shop, plain, user) = (NAMED_TENANT | 1, NAMED_TENANT | 2, 1000);
        let names = [who(shop, false), who(plain, false), who(user, false), who(user, true), who(shop, true)];
        assert_eq!(
            names.map(|who| table.role(who).name.clone()),
            ["trusted", "guest", "macs", "owner", "owner"]
        );
        assert_eq!(table.may_open(who(shop, false), &label("SHOP.A")), Uses::USE.union(Uses::READ));
        assert_eq!(table.may_open(who(shop, false), &label("MAC.A")), Uses::NONE);
        assert_eq!(table.may_open(who(plain, false), &label("MAC.A")), Uses::USE);
        assert_eq!(table.may_open(who(user, true), &label("MAC.A")), Uses::ALL);
        assert!(table.may(who(user, false), Verb::MacVerify, &label("MAC.A")));
        // Refused by the role, though the label allows it; by the label, though the role does; by both.
        assert!(!table.may(who(user, false), Verb::MacGenerate, &label("MAC.A")));
        assert!(!table.may(who(user, false), Verb::MacVerify, &label("SHOP.A")));
        assert!(!table.may(who(user, false), Verb::Encipher, &label("SHOP.A")));
        assert!(table.may(who(shop, false), Verb::DesKeyRecordRead, &label("SHOP.A")));
        assert!(!table.may(who(plain, false), Verb::DesKeyRecordRead, &label("SHOP.A")));
    }
}
