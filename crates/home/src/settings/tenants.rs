//! Tenants of a home: the cards that each may use, and the checks of their tables.

use super::{NAMED_TENANTS_MAX, Settings, SettingsError};
use std::collections::{BTreeMap, HashMap, HashSet};
use wire::bounds::{
    DEDICATED_MAX, MEMBER_NAME_BYTES_MAX, TENANT_MEMBERS_MAX, TENANT_NAME_BYTES_MAX, TENANT_WEIGHT_MAX,
};
use wire::tenant::{NAMED_TENANT, Tenant};

/// A tenant's dedicated share of a card's time, in percent; 0 if it has none.
pub fn share_percent(tenant: &Tenant, card: u32) -> u8 {
    tenant.dedicated.iter().find(|part| part.card == card).map_or(0, |part| part.share_percent)
}

impl Settings {
    /// The tenant of this name.
    pub fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.name == name)
    }

    /// The tenant that a whole card is dedicated to.
    pub fn owner_of_card(&self, card: u32) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| share_percent(tenant, card) == 100)
    }

    /// Whether a tenant, or without a tenant a user who has none, may use a card of this index.
    pub fn may_use(&self, tenant: Option<&Tenant>, card: u32) -> bool {
        let own = tenant.is_some_and(|tenant| share_percent(tenant, card) > 0);
        let shares = tenant.is_none_or(|tenant| tenant.dedicated.is_empty() || tenant.also_shared);
        own || (shares && self.owner_of_card(card).is_none())
    }

    /// Names of the tenants to which a part of a card is dedicated, with the percentage.
    pub fn dedicated_to(&self, card: u32) -> Vec<(String, u8)> {
        let parts = self.tenants.iter().map(|tenant| (tenant.name.clone(), share_percent(tenant, card)));
        parts.filter(|(_, percent)| *percent > 0).collect()
    }

    pub(super) fn check_tenants(&self) -> Result<(), SettingsError> {
        if self.tenants.len() > NAMED_TENANTS_MAX {
            return Err(SettingsError::Tenants(self.tenants.len()));
        }
        let numbers = self.tenants.iter().map(|tenant| tenant.number);
        let least = numbers.max().unwrap_or(0).saturating_add(1);
        let mut earlier = Earlier::default();
        for tenant in &self.tenants {
            let wrong = |(key, cause)| SettingsError::Tenant { name: tenant.name.clone(), key, cause };
            check_names(tenant).map_err(wrong)?;
            check_limits(tenant).map_err(wrong)?;
            self.check_use(tenant).map_err(wrong)?;
            earlier.check(tenant).map_err(wrong)?;
        }
        if !(least..NAMED_TENANT).contains(&self.tenant_number_next) {
            return Err(SettingsError::NumberNext { next: self.tenant_number_next, least });
        }
        Ok(())
    }

    /// Checks that the tenant's domains and dedicated cards exist, and are named once.
    fn check_use(&self, tenant: &Tenant) -> Result<(), Wrong> {
        let cards = self.wanted_cards();
        for (at, domain) in tenant.domains.iter().enumerate() {
            if *domain >= self.cards.domains {
                let last = self.cards.domains - 1;
                return Err(("domains", format!("{domain}: this home has the domains 0 to {last}")));
            }
            if tenant.domains[..at].contains(domain) {
                return Err(("domains", format!("{domain} is named twice")));
            }
        }
        for (at, part) in tenant.dedicated.iter().enumerate() {
            if !cards.contains_key(&part.card) {
                return Err(("dedicated", format!("this home has no card {}", part.card)));
            }
            if !(1..=100).contains(&part.share_percent) {
                let percent = part.share_percent;
                return Err(("dedicated", format!("share_percent = {percent}; allowed are 1 to 100")));
            }
            if tenant.dedicated[..at].iter().any(|other| other.card == part.card) {
                return Err(("dedicated", format!("card {} is named twice", part.card)));
            }
        }
        Ok(())
    }

    /// Checks that every tenant has a card that it may use.
    pub(super) fn check_reach(&self) -> Result<(), SettingsError> {
        let cards = self.wanted_cards();
        let lacks = |tenant: &&Tenant| !cards.keys().any(|card| self.may_use(Some(tenant), *card));
        match self.tenants.iter().find(lacks) {
            Some(tenant) => Err(SettingsError::Stranded { name: tenant.name.clone() }),
            None => Ok(()),
        }
    }
}

/// The wrong key, and what is wrong with it.
type Wrong = (&'static str, String);

/// Names, numbers, members, credentials and shares that earlier tenants have taken.
#[derive(Default)]
struct Earlier<'a> {
    names: HashSet<&'a str>,
    numbers: HashMap<u32, &'a str>,
    members: HashMap<(bool, &'a str), &'a str>,
    credentials: HashMap<String, &'a str>,
    shares: BTreeMap<u32, (u32, &'a str)>,
    dedicated: usize,
}

impl<'a> Earlier<'a> {
    fn check(&mut self, tenant: &'a Tenant) -> Result<(), Wrong> {
        let name = tenant.name.as_str();
        let taken = |what: &str, other: &str| format!("{what} is also that of tenant {other}");
        if !self.names.insert(name) {
            return Err(("name", "there are two tenants of this name".into()));
        }
        if let Some(other) = self.numbers.insert(tenant.number, name) {
            return Err(("number", taken(&tenant.number.to_string(), other)));
        }
        let users = tenant.users.iter().map(|user| ("users", user));
        for (key, member) in users.chain(tenant.groups.iter().map(|group| ("groups", group))) {
            if let Some(other) = self.members.insert((key == "users", member), name) {
                return Err((key, taken(member, other)));
            }
        }
        for (key, hash) in credentials(tenant) {
            if let Some(other) = self.credentials.insert(hash.to_ascii_lowercase(), name) {
                return Err((key, taken("it", other)));
            }
        }
        for part in &tenant.dedicated {
            let (sum, other) = self.shares.entry(part.card).or_insert((0, name));
            *sum += u32::from(part.share_percent);
            if *sum > 100 {
                let card = part.card;
                return Err((
                    "dedicated",
                    format!("the shares of card {card} come to {sum} percent; tenant {other} has one, too"),
                ));
            }
        }
        self.dedicated += tenant.dedicated.len();
        if self.dedicated > DEDICATED_MAX {
            return Err(("dedicated", format!("a home has at most {DEDICATED_MAX} shares of cards")));
        }
        Ok(())
    }
}

fn check_names(tenant: &Tenant) -> Result<(), Wrong> {
    let letters =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if tenant.name.is_empty() || tenant.name.len() > TENANT_NAME_BYTES_MAX || !letters(&tenant.name) {
        let cause = format!("names are letters, digits, - and _, 1 to {TENANT_NAME_BYTES_MAX} of them");
        return Err(("name", cause));
    }
    if tenant.number == 0 || tenant.number >= NAMED_TENANT {
        let (number, last) = (tenant.number, NAMED_TENANT - 1);
        return Err(("number", format!("{number}; allowed are 1 to {last}")));
    }
    for (key, names) in [("users", &tenant.users), ("groups", &tenant.groups)] {
        if names.len() > TENANT_MEMBERS_MAX {
            return Err((key, format!("{} names; at most {TENANT_MEMBERS_MAX}", names.len())));
        }
        if let Some(bad) = names.iter().find(|name| name.is_empty() || name.len() > MEMBER_NAME_BYTES_MAX) {
            return Err((key, format!("{bad:?}: names have 1 to {MEMBER_NAME_BYTES_MAX} bytes")));
        }
    }
    for (key, hash) in credentials(tenant) {
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err((key, "a SHA-256 is 64 hexadecimal digits".into()));
        }
    }
    if tenant.former_credential_sha256.is_some() && tenant.credential_sha256.is_none() {
        return Err((
            "former_credential_sha256",
            "there is no credential_sha256 that it comes before".into(),
        ));
    }
    Ok(())
}

/// The credentials of a tenant that are valid now, with their keys in the settings.
fn credentials(tenant: &Tenant) -> impl Iterator<Item = (&'static str, &String)> {
    let current = tenant.credential_sha256.iter().map(|hash| ("credential_sha256", hash));
    current.chain(tenant.former_credential_sha256.iter().map(|hash| ("former_credential_sha256", hash)))
}

fn check_limits(tenant: &Tenant) -> Result<(), Wrong> {
    let weight = tenant.limits.weight;
    if weight == 0 || weight > TENANT_WEIGHT_MAX {
        return Err(("limits.weight", format!("{weight}; allowed are 1 to {TENANT_WEIGHT_MAX}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Programs;
    use wire::tenant::Dedicated;

    fn tenant(name: &str, number: u32) -> Tenant {
        Tenant::new(name, number)
    }

    fn settings(tenants: Vec<Tenant>) -> Settings {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        settings.tenant_number_next = 100;
        settings.tenants = tenants;
        settings
    }

    fn part(card: u32, share_percent: u8) -> Vec<Dedicated> {
        vec![Dedicated { card, share_percent }]
    }

    #[test]
    fn a_whole_card_is_its_tenants_alone() {
        let (mut own, mut part_of, plain) = (tenant("own", 1), tenant("part", 2), tenant("plain", 3));
        own.dedicated = part(0, 100);
        part_of.dedicated = part(1, 40);
        let settings = settings(vec![own, part_of, plain]);
        settings.check().unwrap();
        let may = |name: &str| [0, 1].map(|card| settings.may_use(settings.tenant(name), card));
        assert_eq!(may("own"), [true, false]);
        assert_eq!(may("part"), [false, true]);
        assert_eq!(may("plain"), [false, true]);
        assert_eq!([0, 1].map(|card| settings.may_use(None, card)), [false, true]);
        assert_eq!(settings.dedicated_to(1), [("part".to_owned(), 40)]);
    }

    #[test]
    fn with_cards_of_its_own_a_tenant_shares_others_only_where_it_says_so() {
        let mut own = tenant("own", 1);
        own.dedicated = part(0, 100);
        own.also_shared = true;
        let settings = settings(vec![own]);
        assert!(settings.may_use(settings.tenant("own"), 1));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_tenant_and_key() {
        let two = |change: fn(&mut Tenant, &mut Tenant)| {
            let (mut a, mut b) = (tenant("a", 1), tenant("b", 2));
            change(&mut a, &mut b);
            settings(vec![a, b])
        };
        let cases: [(Settings, &str); 20] = [
            (two(|_, b| b.name = "a".into()), "two tenants of this name"),
            (two(|_, b| b.name = "b c".into()), "\"b c\", name"),
            (two(|_, b| b.name = "x".repeat(33)), "1 to 32"),
            (two(|_, b| b.number = 1), "\"b\", number: 1 is also that of tenant a"),
            (two(|_, b| b.number = 0), "\"b\", number: 0"),
            (two(|_, b| b.number = NAMED_TENANT), "number"),
            (two(|_, b| b.number = 100), "tenant_number_next = 100"),
            (two(|a, b| (a.users, b.users) = (vec!["u".into()], vec!["u".into()])), "users: u is also"),
            (two(|a, b| (a.groups, b.groups) = (vec!["g".into()], vec!["g".into()])), "groups: g is also"),
            (two(|a, _| a.credential_sha256 = Some("12".into())), "64 hexadecimal"),
            (
                two(|a, b| {
                    a.credential_sha256 = Some("ab".repeat(32));
                    b.credential_sha256 = Some("AB".repeat(32));
                }),
                "credential_sha256: it is also that of tenant a",
            ),
            (
                two(|a, b| {
                    a.credential_sha256 = Some("ab".repeat(32));
                    b.credential_sha256 = Some("cd".repeat(32));
                    b.former_credential_sha256 = Some("AB".repeat(32));
                }),
                "\"b\", former_credential_sha256: it is also that of tenant a",
            ),
            (
                two(|a, _| {
                    a.credential_sha256 = Some("ab".repeat(32));
                    a.former_credential_sha256 = Some("cd".repeat(31));
                }),
                "former_credential_sha256: a SHA-256 is 64",
            ),
            (two(|a, _| a.former_credential_sha256 = Some("ab".repeat(32))), "no credential_sha256"),
            (two(|a, _| a.domains = vec![1]), "\"a\", domains: 1"),
            (two(|a, _| a.dedicated = part(2, 100)), "no card 2"),
            (two(|a, _| a.dedicated = part(0, 101)), "share_percent = 101"),
            (two(|a, b| (a.dedicated, b.dedicated) = (part(0, 100), part(0, 100))), "200 percent"),
            (
                two(|a, b| {
                    (a.dedicated, b.dedicated) = (part(0, 100), part(1, 100));
                    b.limits.weight = 0;
                }),
                "limits.weight: 0",
            ),
            (
                {
                    let mut alone = two(|a, _| a.dedicated = part(0, 100));
                    alone.cards.accelerators = 0;
                    alone
                },
                "\"b\", dedicated: no card is left",
            ),
        ];
        for (settings, expected) in cases {
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
