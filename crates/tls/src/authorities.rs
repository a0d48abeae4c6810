//! Names of authorities that clients are told: a client with several certificates chooses by them (RFC 8446, 4.2.4; RFC
//! 5246, 7.4.4).

use s2n_tls::config::Builder;
use s2n_tls::error::Error;
use std::fmt;

/// Authorities whose names clients are told when they are asked for a certificate. The caller decides which authorities
/// it checks clients' certificates against.
#[derive(Clone)]
pub struct Authorities {
    pem: Vec<u8>,
}

impl Authorities {
    /// The authorities with these certificates in PEM, one behind the other. `None` if the library does not read them,
    /// or if their names together are too long for it (20,000 bytes). Clients are then told no names, and show
    /// whichever certificate they have.
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let authorities = Self { pem: pem.to_vec() };
        let mut builder = Builder::new();
        builder.with_system_certs(false).ok()?;
        authorities.add_to(&mut builder).ok()?;
        Some(authorities)
    }

    /// Has the configuration send the names. The configuration's trust store is empty before and after.
    pub(crate) fn add_to(&self, builder: &mut Builder) -> Result<(), Error> {
        builder.trust_pem(&self.pem)?.set_certificate_authorities_from_trust_store()?;
        builder.wipe_trust_store()?;
        Ok(())
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities").field("bytes", &self.pem.len()).finish()
    }
}
