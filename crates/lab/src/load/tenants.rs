//! The tenants of a throw-away home: their credentials are not secret, and they are changed while the home runs.

use super::{LabError, keys};
use facility::Facility;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use wire::tenant::{Change, Credential, Dedicated, Limits, Tenant};

/// Stream of test bytes that credentials are made of.
const CREDENTIALS: u64 = 0x7E4A;

/// A tenant that shares all cards within these limits, with all rights of the home's owner.
pub(crate) fn sharing(name: impl Into<String>, limits: Limits) -> Tenant {
    Tenant { role: Some(wire::role::OWNER.into()), limits, also_shared: true, ..Tenant::new(name, 0) }
}

/// Limits of at most `most` requests in flight over all cards.
pub(crate) fn in_flight(most: u32) -> Limits {
    Limits { in_flight_max: most, ..Limits::default() }
}

/// The tenant with these cards as its own, and the shared ones too if `also_shared`.
pub(crate) fn owning(tenant: Tenant, cards: impl Iterator<Item = u32>, also_shared: bool) -> Tenant {
    let dedicated = cards.map(|card| Dedicated { card, share_percent: 100 }).collect();
    Tenant { dedicated, also_shared, ..tenant }
}

/// A tenant for each of these limits, equal but for them.
pub(crate) fn guests(limits: &[Limits]) -> Vec<Tenant> {
    (1..).zip(limits).map(|(number, limits)| sharing(format!("guest-{number}"), *limits)).collect()
}

/// The tenants that a home has so far, with their credentials.
#[derive(Default)]
pub(crate) struct Tenants {
    known: BTreeMap<String, (Tenant, Credential)>,
}

impl Tenants {
    /// Brings a home to these tenants. Others that it knows stay, but give up cards of their own.
    ///
    /// # Errors
    /// [`LabError::Facility`] where a change is refused.
    pub fn bring(&mut self, home: &Facility, wanted: &[Tenant]) -> Result<(), LabError> {
        let change = |change| home.change(change).map_err(LabError::facility("change the tenants of a home"));
        // Cards are first freed, then given to a tenant.
        for (name, (tenant, credential)) in &mut self.known {
            if !tenant.dedicated.is_empty() && wanted.iter().all(|tenant| tenant.name != *name) {
                *tenant = sharing(name.clone(), Limits::default());
                change(Change::TenantSet(described(tenant, credential)))?;
            }
        }
        for tenant in wanted {
            let number = self.known.len();
            if let Some((known, credential)) = self.known.get_mut(&tenant.name) {
                if *known != *tenant {
                    known.clone_from(tenant);
                    change(Change::TenantSet(described(tenant, credential)))?;
                }
                continue;
            }
            let mut credential = Credential([0; 32]);
            credential.0.copy_from_slice(&keys::test_bytes(CREDENTIALS, number, 32));
            change(Change::TenantAdd(described(tenant, &credential)))?;
            self.known.insert(tenant.name.clone(), (tenant.clone(), credential));
        }
        Ok(())
    }

    /// The credential of a tenant; none if the home does not have it.
    pub fn credential(&self, name: &str) -> Option<Credential> {
        self.known.get(name).map(|(_, credential)| credential.clone())
    }
}

/// The tenant in the form that the daemon takes.
fn described(tenant: &Tenant, credential: &Credential) -> Tenant {
    let digest = engine::sha256(&credential.0);
    let text = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Tenant { credential_sha256: Some(text), ..tenant.clone() }
}

/// Writes a credential into a file that only its owner reads.
pub(crate) fn write_credential(credential: &Credential, path: &Path) -> Result<(), LabError> {
    let what = "write the credential of a tenant";
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let text = facility::credential::to_text(credential);
    file.map_err(LabError::io(what))?.write_all(text.as_bytes()).map_err(LabError::io(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let credential = Credential([0xC5; 32]);
        let path = folder.path().join("credential");
        write_credential(&credential, &path).unwrap();
        assert_eq!(facility::credential::read(&path).unwrap(), credential);
        assert!(write_credential(&credential, &path).is_err(), "nothing is overwritten");
    }
}
