//! The authorities that clients are told of: who has several certificates chooses by them (RFC 8446, 4.2.4; RFC 5246,
//! 7.4.4).

use s2n_tls::config::Builder;
use s2n_tls::error::Error;
use std::fmt;

/// Authorities whose names clients are told with the question for a certificate. What is held against their
/// certificates is the caller's business.
#[derive(Clone)]
pub struct Authorities {
    pem: Vec<u8>,
}

impl Authorities {
    /// The authorities with these certificates in PEM, one behind the other. None where the library does not read them,
    /// and where their names are too long for it together (20,000 bytes): then clients are told none, and show what
    /// they have.
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let authorities = Self { pem: pem.to_vec() };
        let mut builder = Builder::new();
        builder.with_system_certs(false).ok()?;
        authorities.add_to(&mut builder).ok()?;
        Some(authorities)
    }

    /// Has a configuration tell the names. Its trust store is empty before and after.
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
