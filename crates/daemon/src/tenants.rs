//! Tenants: which one a process belongs to, and which rows of the accounts they have.
//!
//! A process is matched at its greeting: by the credential that it shows, else by its user, else by its groups. A
//! process of no named tenant belongs to its user's own, which has the number of the user.

use crate::access::{AccessError, Members, table_of, user_name};
use crate::rows::{RowValue, Rows};
use home::Settings;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;
use subtle::ConstantTimeEq;
use wire::bounds::TENANTS_MAX;
use wire::control::Refusal;
use wire::tenant::{Credential, NAMED_TENANT, Tenant};

/// The first 8 bytes of a [`CredentialHash`], from which a later daemon knows which credential was shown.
pub type CredentialMark = [u8; 8];

/// The mark of a credential that was shown.
pub fn mark(hash: &CredentialHash) -> CredentialMark {
    std::array::from_fn(|at| hash[at])
}

/// SHA-256 of a credential.
pub type CredentialHash = [u8; 32];

/// SHA-256 of a credential, as the settings hold it.
pub fn hash(credential: &Credential) -> CredentialHash {
    Sha256::digest(credential.0).into()
}

/// A tenant of the settings.
#[derive(Clone, Debug)]
pub struct Named {
    /// The tenant as the settings describe it.
    pub tenant: Tenant,
    members: Members,
    /// Hashes of the current credential, and of the former one while it is replaced: both are accepted.
    credentials: [Option<CredentialHash>; 2],
}

impl Named {
    /// The number by which grants and key references name the tenant.
    pub fn id(&self) -> u32 {
        NAMED_TENANT | self.tenant.number
    }
}

/// The tenants of the settings, with users and groups as numbers.
#[derive(Clone, Debug, Default)]
pub struct Tenants {
    named: Vec<Named>,
}

impl Tenants {
    /// Looks up the users and groups that the settings name.
    ///
    /// # Errors
    /// [`AccessError`] names the first unknown name.
    pub fn resolve(settings: &Settings) -> Result<Self, AccessError> {
        let named = |tenant: &Tenant| {
            let members = Members::resolve(&table_of(&tenant.name), &tenant.users, &tenant.groups)?;
            let credentials = [&tenant.credential_sha256, &tenant.former_credential_sha256]
                .map(|hash| hash.as_deref().and_then(from_hexadecimal));
            Ok(Named { tenant: tenant.clone(), members, credentials })
        };
        Ok(Self { named: settings.tenants.iter().map(named).collect::<Result<_, _>>()? })
    }

    /// The named tenant of a process; `None` if its user is a tenant of its own.
    ///
    /// # Errors
    /// [`Refusal::NoSuchTenant`] for a credential of no tenant, [`Refusal::Invalid`] if the user or its groups belong
    /// to more than one tenant, or if the user's number is one that names tenants.
    pub fn find(
        &self,
        user: u32,
        group: u32,
        credential: Option<&CredentialHash>,
    ) -> Result<Option<&Named>, Refusal> {
        if let Some(shown) = credential {
            let found = self.with_credential(shown);
            return found.map(Some).ok_or_else(|| Refusal::NoSuchTenant("with this credential".into()));
        }
        let by_user: Vec<_> = self.named.iter().filter(|named| named.members.users.contains(&user)).collect();
        let in_group = |named: &&Named| named.members.has_group_of(user, group);
        let found = if by_user.is_empty() { self.named.iter().filter(in_group).collect() } else { by_user };
        match found[..] {
            [] if user >= NAMED_TENANT => {
                Err(Refusal::Invalid(format!("user {user}: numbers this high belong to no tenant")))
            }
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [one, other, ..] => Err(Refusal::Invalid(format!(
                "user {} belongs to the tenants {} and {}: show a credential, or name the user in one of them",
                user_name(user),
                one.tenant.name,
                other.tenant.name
            ))),
        }
    }

    /// As [`Tenants::find`], but an administrator whose groups belong to two tenants is let in as a tenant of its own:
    /// nobody else could mend that.
    ///
    /// # Errors
    /// As [`Tenants::find`].
    pub fn find_as(
        &self,
        administers: bool,
        user: u32,
        group: u32,
        credential: Option<&CredentialHash>,
    ) -> Result<Option<&Named>, Refusal> {
        match self.find(user, group, credential) {
            Err(Refusal::Invalid(_)) if administers && user < NAMED_TENANT => Ok(None),
            found => found,
        }
    }

    /// The tenant that has a valid credential with this mark.
    pub fn marked(&self, shown: CredentialMark) -> Option<&Named> {
        self.named.iter().find(|named| named.credentials.iter().flatten().any(|known| mark(known) == shown))
    }

    /// The tenant that has this number in grants.
    pub fn by_id(&self, id: u32) -> Option<&Named> {
        self.named.iter().find(|named| named.id() == id)
    }

    /// All named tenants, in the order of the settings.
    pub fn all(&self) -> &[Named] {
        &self.named
    }

    /// The tenant that has this credential. All are compared, so that the time tells nothing.
    fn with_credential(&self, shown: &CredentialHash) -> Option<&Named> {
        let mut found = None;
        for named in &self.named {
            for known in named.credentials.iter().flatten() {
                if bool::from(known.ct_eq(shown)) {
                    found = Some(named);
                }
            }
        }
        found
    }
}

/// A user without a named tenant, as listings show it.
pub fn of_user(user: u32) -> Tenant {
    let name = user_name(user);
    Tenant { users: vec![name.clone()], ..Tenant::new(name, user) }
}

fn from_hexadecimal(text: &str) -> Option<CredentialHash> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// A row of the file from which a later daemon learns whose each row of the accounts is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct AccountRow {
    tenant: u32,
}

impl RowValue for AccountRow {
    const BYTES: usize = 16;
}

/// Which tenant has which row in the accounts and in the records of cards. A row is given at a tenant's first
/// queue, written down before any grant names it, and given to another only when all are taken and nothing of
/// its tenant is left.
pub struct AccountRows {
    tenants: Vec<Option<u32>>,
    file: Rows<AccountRow>,
}

impl AccountRows {
    /// Opens the file of rows, and reads what an earlier daemon wrote down.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn open(path: &Path) -> io::Result<Self> {
        // A user who comes for the first time needs a row, on a full disk too.
        let file = Rows::<AccountRow>::open_with_room(path, TENANTS_MAX)?;
        let mut tenants = vec![None; TENANTS_MAX];
        for (row, noted) in file.load().unwrap_or_default() {
            if (row as usize) < TENANTS_MAX && !tenants.contains(&Some(noted.tenant)) {
                tenants[row as usize] = Some(noted.tenant);
            }
        }
        Ok(Self { tenants, file })
    }

    /// The row of a tenant; `None` if it has none.
    pub fn find(&self, tenant: u32) -> Option<u32> {
        self.tenants.iter().position(|row| *row == Some(tenant)).map(|row| row as u32)
    }

    /// The row of a tenant, or a free one that it is given; `is_present` says whether anything is left of another
    /// tenant.
    ///
    /// # Errors
    /// [`Refusal::Full`] if no row is free; [`Refusal::Storage`] if the row cannot be written down.
    pub fn give(&mut self, tenant: u32, is_present: impl Fn(u32) -> bool) -> Result<u32, Refusal> {
        if let Some(row) = self.find(tenant) {
            return Ok(row);
        }
        let free = self.tenants.iter().position(Option::is_none);
        let left = || self.tenants.iter().position(|row| row.is_some_and(|other| !is_present(other)));
        let full = || Refusal::Full { what: "tenants with queues".into(), limit: TENANTS_MAX as u64 };
        let row = free.or_else(left).ok_or_else(full)?;
        self.file.write(row as u32, &AccountRow { tenant }).map_err(|error| Refusal::Storage {
            operation: "note whose a row of the accounts is".into(),
            cause: error.to_string(),
        })?;
        self.tenants[row] = Some(tenant);
        Ok(row as u32)
    }

    /// Takes over a tenant's row from the grant of an adopted queue; false if the row or the tenant is noted otherwise.
    pub fn learn(&mut self, tenant: u32, row: u32) -> bool {
        let known = self.find(tenant);
        match self.tenants.get_mut(row as usize) {
            Some(place) if *place == Some(tenant) => true,
            Some(place @ None) if known.is_none() => {
                *place = Some(tenant);
                // If it is not written down, a later daemon learns it as this one did.
                let _ = self.file.write(row, &AccountRow { tenant });
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::Programs;

    /// Name, number, users, groups, credential.
    type Row<'a> = (&'a str, u32, &'a [&'a str], &'a [&'a str], Option<&'a Credential>);

    fn tenants(tenants: &[Row<'_>]) -> Tenants {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        settings.tenants = tenants
            .iter()
            .map(|(name, number, users, groups, credential)| Tenant {
                users: users.iter().map(ToString::to_string).collect(),
                groups: groups.iter().map(ToString::to_string).collect(),
                credential_sha256: credential
                    .map(|shown| hash(shown).iter().map(|byte| format!("{byte:02x}")).collect()),
                ..Tenant::new(*name, *number)
            })
            .collect();
        Tenants::resolve(&settings).unwrap()
    }

    fn found(
        tenants: &Tenants,
        user: u32,
        group: u32,
        shown: Option<&Credential>,
    ) -> Result<String, Refusal> {
        let hash = shown.map(hash);
        let found = tenants.find(user, group, hash.as_ref())?;
        Ok(found.map_or_else(|| "none".into(), |named| named.tenant.name.clone()))
    }

    #[test]
    fn a_credential_goes_before_the_user_and_the_user_before_groups() {
        let (secret, other) = (Credential([7; 32]), Credential([8; 32]));
        let daemon_group = nix::unistd::Group::from_name("daemon").unwrap().unwrap().gid.as_raw();
        let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid.as_raw();
        let tenants = tenants(&[
            ("shown", 1, &[], &[], Some(&secret)),
            ("user", 2, &["nobody"], &[], None),
            ("group", 3, &[], &["daemon"], None),
        ]);
        assert_eq!(found(&tenants, nobody, daemon_group, Some(&secret)).unwrap(), "shown");
        assert_eq!(found(&tenants, nobody, daemon_group, None).unwrap(), "user");
        assert_eq!(found(&tenants, 4242, daemon_group, None).unwrap(), "group");
        assert_eq!(found(&tenants, 4242, 4242, None).unwrap(), "none");
        let unknown = found(&tenants, nobody, 1, Some(&other));
        assert_eq!(unknown, Err(Refusal::NoSuchTenant("with this credential".into())));
        assert!(matches!(found(&tenants, NAMED_TENANT | 1, 4242, None), Err(Refusal::Invalid(_))));
        assert_eq!(tenants.by_id(NAMED_TENANT | 3).unwrap().tenant.name, "group");
    }

    #[test]
    fn who_is_in_groups_of_two_tenants_is_told_so() {
        let daemon_group = nix::unistd::Group::from_name("daemon").unwrap().unwrap().gid.as_raw();
        let tenants = tenants(&[("a", 1, &[], &["daemon"], None), ("b", 2, &[], &["daemon"], None)]);
        let Err(Refusal::Invalid(why)) = found(&tenants, 4242, daemon_group, None) else { panic!() };
        assert!(why.contains("tenants a and b"), "{why}");
        // The owner can still come and mend it.
        assert!(tenants.find_as(true, 4242, daemon_group, None).unwrap().is_none());
        assert!(tenants.find_as(false, 4242, daemon_group, None).is_err());
        assert!(tenants.find_as(true, 4242, daemon_group, Some(&[7; 32])).is_err());
    }

    #[test]
    fn rows_last_and_go_to_another_only_when_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut rows = AccountRows::open(&path).unwrap();
        assert_eq!((rows.give(5, |_| true).unwrap(), rows.give(6, |_| true).unwrap()), (0, 1));
        assert_eq!(rows.give(5, |_| true).unwrap(), 0);
        drop(rows);
        let mut rows = AccountRows::open(&path).unwrap();
        assert_eq!((rows.find(6), rows.find(7)), (Some(1), None));
        // What adopted grants say is taken over unless it contradicts.
        assert!(rows.learn(7, 3) && rows.learn(7, 3) && !rows.learn(7, 4) && !rows.learn(8, 0));
        for tenant in 100..100 + TENANTS_MAX as u32 - 3 {
            rows.give(tenant, |_| true).unwrap();
        }
        assert!(matches!(rows.give(9, |_| true), Err(Refusal::Full { .. })));
        assert_eq!(rows.give(9, |tenant| tenant != 6).unwrap(), 1);
        assert_eq!((rows.find(9), rows.find(6)), (Some(1), None));
        assert!(!rows.learn(1, TENANTS_MAX as u32));
    }
}
