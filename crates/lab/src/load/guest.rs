//! Tenants of throw-away homes, each known by a credential that anyone can know.

use crate::load::LabError;
use engine::{Engine, HashAlgorithm};
use home::Settings;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use wire::tenant::{Credential, Limits, Tenant};

/// A tenant and what its processes show.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    /// As settings describe it.
    pub tenant: Tenant,
    /// Of 32 bytes that follow from its number.
    pub credential: Credential,
}

impl Guest {
    /// The tenant of this number, from 1, with these limits.
    pub fn new(number: u32, limits: Limits) -> Result<Self, LabError> {
        let failed = |cause: String| LabError::Facility { what: "make a tenant", cause };
        let mut secret = [0xC5; 32];
        secret[..4].copy_from_slice(&number.to_le_bytes());
        let engine = Engine::new(engine::Options::default()).map_err(|error| failed(error.to_string()))?;
        let digest =
            engine.hash(HashAlgorithm::Sha256, &secret).map_err(|error| failed(error.to_string()))?;
        let tenant = Tenant {
            name: format!("guest-{number}"),
            number,
            users: Vec::new(),
            groups: Vec::new(),
            credential_sha256: Some(digest[..32].iter().map(|byte| format!("{byte:02x}")).collect()),
            former_credential_sha256: None,
            domains: Vec::new(),
            role: Some(wire::role::OWNER.into()),
            labels: Vec::new(),
            limits,
            dedicated: Vec::new(),
            also_shared: false,
        };
        Ok(Self { tenant, credential: Credential(secret) })
    }

    /// Tenants of these limits, numbered from 1.
    pub fn several(limits: &[Limits]) -> Result<Vec<Self>, LabError> {
        (1..).zip(limits).map(|(number, limits)| Self::new(number, *limits)).collect()
    }

    /// Lets guests into a home.
    pub fn admit(guests: &[Self], settings: &mut Settings) {
        settings.tenants = guests.iter().map(|guest| guest.tenant.clone()).collect();
        let last = guests.iter().map(|guest| guest.tenant.number).max().unwrap_or(0);
        settings.tenant_number_next = last + 1;
    }

    /// Writes its credential into a file that only its owner reads.
    pub fn write_credential(&self, path: &Path) -> Result<(), LabError> {
        let what = "write the credential of a tenant";
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = file.as_mut().map_err(|error| LabError::Io { what, cause: error.kind().into() })?;
        let text = facility::credential::to_text(&self.credential);
        file.write_all(text.as_bytes()).map_err(LabError::io(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::Programs;

    #[test]
    fn guests_are_told_apart_and_settings_take_them() {
        let guests = Guest::several(&[Limits::default(); 30]).unwrap();
        assert!(guests[0].credential != guests[29].credential);
        let program = |name| Path::new("/usr/bin").join(name);
        let programs =
            Programs { daemon: program("cryptand-daemon"), card: program("cryptand-card"), manifest: None };
        let mut settings = Settings::new(programs);
        Guest::admit(&guests, &mut settings);
        settings.check().unwrap();
        assert_eq!(settings.tenant_number_next, 31);
    }

    #[test]
    fn a_credential_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let guest = Guest::new(7, Limits::default()).unwrap();
        let path = folder.path().join("credential");
        guest.write_credential(&path).unwrap();
        assert_eq!(facility::credential::read(&path).unwrap(), guest.credential);
        assert!(guest.write_credential(&path).is_err(), "nothing is overwritten");
    }
}
