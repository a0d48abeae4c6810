//! The tenants of a running house: each has a credential, and they are changed while the house runs.

use super::case::TenantOf;
use crate::load::{LabError, keys};
use engine::{Engine, HashAlgorithm};
use facility::Facility;
use std::collections::BTreeMap;
use wire::tenant::{Change, Credential, Tenant};

/// Stream of test bytes that credentials are taken from.
const CREDENTIALS: u64 = 0x7E4A;

/// The tenants that a house knows by now.
#[derive(Default)]
pub(super) struct People {
    known: BTreeMap<String, Known>,
}

struct Known {
    tenant: TenantOf,
    credential: Credential,
}

impl People {
    /// Brings a house to these tenants. Others that it knows stay, but give up cards of their own.
    ///
    /// # Errors
    /// [`LabError::Facility`] where a change is refused.
    pub fn bring(&mut self, engine: &Engine, house: &Facility, wanted: &[TenantOf]) -> Result<(), LabError> {
        // Cards first become free, then somebody's.
        for (name, known) in &mut self.known {
            if !known.tenant.dedicated.is_empty() && wanted.iter().all(|tenant| tenant.name != *name) {
                known.tenant = TenantOf::sharing(name.clone());
                change(house, Change::TenantSet(described(engine, known)?))?;
            }
        }
        for tenant in wanted {
            if self.known.get(&tenant.name).is_some_and(|known| known.tenant == *tenant) {
                continue;
            }
            let number = self.known.len();
            let place = self.known.entry(tenant.name.clone());
            let is_new = matches!(place, std::collections::btree_map::Entry::Vacant(_));
            let known =
                place.or_insert_with(|| Known { tenant: tenant.clone(), credential: credential(number) });
            known.tenant = tenant.clone();
            let described = described(engine, known)?;
            change(house, if is_new { Change::TenantAdd(described) } else { Change::TenantSet(described) })?;
        }
        Ok(())
    }

    /// What a tenant shows.
    pub fn credential(&self, name: &str) -> Option<&Credential> {
        self.known.get(name).map(|known| &known.credential)
    }
}

/// The credential of a throw-away home's tenant: known to anyone.
fn credential(number: usize) -> Credential {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(&keys::test_bytes(CREDENTIALS, number, 32));
    Credential(bytes)
}

fn described(engine: &Engine, known: &Known) -> Result<Tenant, LabError> {
    let hash = engine
        .hash(HashAlgorithm::Sha256, &known.credential.0)
        .map_err(|error| LabError::Facility { what: "hash a credential", cause: error.to_string() })?;
    let TenantOf { name, limits, dedicated, also_shared } = known.tenant.clone();
    Ok(Tenant {
        name,
        number: 0,
        users: Vec::new(),
        groups: Vec::new(),
        credential_sha256: Some(hash[..32].iter().map(|byte| format!("{byte:02x}")).collect()),
        former_credential_sha256: None,
        domains: Vec::new(),
        role: Some(wire::role::OWNER.into()),
        labels: Vec::new(),
        limits,
        dedicated,
        also_shared,
    })
}

fn change(house: &Facility, change: Change) -> Result<(), LabError> {
    house.change(change).map_err(|error| LabError::Facility {
        what: "change the tenants of a house",
        cause: error.to_string(),
    })
}
