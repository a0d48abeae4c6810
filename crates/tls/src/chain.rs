//! Certificate chains.

use crate::certificate::{Certificate, key_bits};
use crate::clients::Clients;
use crate::exchange::KeyNumber;
use crate::policy::Policy;
use s2n_tls::cert_chain::{Builder, CertificateChain};
use std::fmt;

/// A certificate with those above it, and its private key or the number of one that is elsewhere. Clones are the same
/// chain.
#[derive(Clone)]
pub struct Chain {
    pub(crate) of_library: CertificateChain<'static>,
    leaf: Certificate,
    key: u32,
    is_elsewhere: bool,
    clients: Option<Clients>,
    policy: Option<Policy>,
}

/// What a chain is made of.
#[derive(Clone, Copy)]
pub struct ChainParts<'a> {
    /// The certificates in PEM, the server's first.
    pub chain: &'a [u8],
    /// The private key in PEM; none where it is elsewhere.
    pub private_key: Option<&'a [u8]>,
    /// An OCSP response in DER, which clients get that ask for one; whether it says anything good nobody looks at here.
    pub staple: Option<&'a [u8]>,
}

/// Why a chain cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// No certificates in PEM, or one that does not hold together.
    Certificates(&'static str),
    /// No private key in PEM, or one of a kind that is not served.
    PrivateKey(&'static str),
    /// The private key is not the first certificate's.
    OtherKey,
    /// A certificate that does not read: its place, from 1.
    Unreadable(usize),
    /// The certificate at this place, from 1, is not of whom the one before it names as its issuer.
    Unordered(usize),
    /// The first certificate has no name that clients could ask for.
    Nameless,
    /// Neither RSA nor an elliptic curve.
    Kind,
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates(why) => write!(f, "no certificate chain in PEM ({why})"),
            Self::PrivateKey(why) => write!(f, "no private key in PEM ({why})"),
            Self::OtherKey => f.write_str("the private key is not that of the chain's first certificate"),
            Self::Unreadable(at) => write!(f, "certificate {at} of the chain does not hold together"),
            Self::Unordered(at) => {
                write!(f, "certificate {at} of the chain is not the issuer of the one before it")
            }
            Self::Nameless => f.write_str(
                "the certificate names no host, neither as an alternative name nor as its common name",
            ),
            Self::Kind => {
                f.write_str("the certificate's key is neither an RSA key nor one of P-256, P-384 or P-521")
            }
        }
    }
}

impl std::error::Error for ChainError {}

impl Chain {
    /// A chain whose private key this process has: both in PEM, the server's certificate first. `key` is what
    /// [`crate::Facts::key`] says of connections with it.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn with_private_key(chain: &[u8], private_key: &[u8], key: u32) -> Result<Self, ChainError> {
        Self::from_parts(ChainParts { chain, private_key: Some(private_key), staple: None }, key)
    }

    /// A chain whose private key is elsewhere: connections with it ask for each operation, and name `key`.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn with_key_elsewhere(chain: &[u8], key: u32) -> Result<Self, ChainError> {
        Self::from_parts(ChainParts { chain, private_key: None, staple: None }, key)
    }

    /// A chain of all that is there. `key` is what [`crate::Facts::key`] and [`crate::KeyRequest::key`] say of
    /// connections with it.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn from_parts(parts: ChainParts<'_>, key: u32) -> Result<Self, ChainError> {
        Self::loaded(parts, key, true)
    }

    fn loaded(parts: ChainParts<'_>, key: u32, needs_names: bool) -> Result<Self, ChainError> {
        let of_chain = |error: s2n_tls::error::Error| ChainError::Certificates(error.message());
        let mut builder = Builder::new().map_err(of_chain)?;
        if let Some(private_key) = parts.private_key {
            // What is wrong with the chain is said of the chain.
            Self::new(&public(parts.chain)?, key, false, needs_names)?;
            builder.load_pem(parts.chain, private_key).map_err(|error| {
                if error.name().contains("MISMATCH") {
                    ChainError::OtherKey
                } else {
                    ChainError::PrivateKey(error.message())
                }
            })?;
        } else {
            builder.load_public_pem(parts.chain).map_err(of_chain)?;
        }
        if let Some(staple) = parts.staple {
            builder.set_ocsp_data(staple).map_err(of_chain)?;
        }
        Self::new(&finished(builder, key)?, key, parts.private_key.is_none(), needs_names)
    }

    /// A client's chain with its private key, both in PEM, the client's certificate first. It need not name a host.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn of_client(chain: &[u8], private_key: &[u8]) -> Result<Self, ChainError> {
        Self::loaded(ChainParts { chain, private_key: Some(private_key), staple: None }, 0, false)
    }

    /// A client's chain as [`Chain::of_client`], whose private key is elsewhere: connections with it ask for each
    /// operation, by the number 0.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn of_client_elsewhere(chain: &[u8]) -> Result<Self, ChainError> {
        Self::loaded(ChainParts { chain, private_key: None, staple: None }, 0, false)
    }

    fn new(
        of_library: &CertificateChain<'static>,
        key: u32,
        is_elsewhere: bool,
        needs_names: bool,
    ) -> Result<Self, ChainError> {
        let mut leaf: Option<Certificate> = None;
        let mut issuer = Vec::new();
        for (at, certificate) in of_library.iter().enumerate() {
            let unreadable = ChainError::Unreadable(at + 1);
            let certificate = certificate.map_err(|_| unreadable.clone())?;
            let der = certificate.der().map_err(|_| unreadable.clone())?;
            let certificate = Certificate::from_der(der).ok_or(unreadable)?;
            if at > 0 && certificate.subject != issuer {
                return Err(ChainError::Unordered(at + 1));
            }
            issuer.clone_from(&certificate.issuer);
            leaf.get_or_insert(certificate);
        }
        let leaf = leaf.ok_or(ChainError::Certificates("it is empty"))?;
        if needs_names && leaf.names.is_empty() {
            return Err(ChainError::Nameless);
        }
        if matches!(leaf.public_key, crate::PublicKey::Other) {
            return Err(ChainError::Kind);
        }
        Ok(Self { of_library: of_library.clone(), leaf, key, is_elsewhere, clients: None, policy: None })
    }

    /// The same chain for names whose clients are asked for certificates, or are not.
    #[must_use]
    pub fn with_clients(mut self, clients: Option<Clients>) -> Self {
        self.clients = clients;
        self
    }

    /// Whether clients of its names are asked for certificates.
    pub fn clients(&self) -> Option<Clients> {
        self.clients
    }

    /// The same chain for names with a policy of their own, or with that of the listener.
    #[must_use]
    pub fn with_policy(mut self, policy: Option<Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// The policy of its names; none where it is the listener's.
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }

    /// The server's own certificate.
    pub fn leaf(&self) -> &Certificate {
        &self.leaf
    }

    /// The bits of the public key of who signed it, where the chain has that certificate, too.
    pub fn issuer_key_bits(&self) -> Option<Vec<u8>> {
        key_bits(self.of_library.iter().nth(1)?.ok()?.der().ok()?)
    }

    /// Whether its key is elsewhere.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("names", &self.leaf.names)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

fn public(chain: &[u8]) -> Result<CertificateChain<'static>, ChainError> {
    let failed = |error: s2n_tls::error::Error| ChainError::Certificates(error.message());
    let mut builder = Builder::new().map_err(failed)?;
    builder.load_public_pem(chain).map_err(failed)?;
    builder.build().map_err(failed)
}

fn finished(mut builder: Builder, key: u32) -> Result<CertificateChain<'static>, ChainError> {
    let failed = |error: s2n_tls::error::Error| ChainError::Certificates(error.message());
    builder.set_application_context(KeyNumber(key)).map_err(failed)?;
    builder.build().map_err(failed)
}
