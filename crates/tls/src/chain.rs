//! Certificate chains, with private keys in this process or elsewhere.

use crate::certificate::{Certificate, key_bits};
use crate::clients::Clients;
use crate::exchange::KeyNumber;
use crate::policy::Policy;
use s2n_tls::cert_chain::{Builder, CertificateChain};
use std::fmt;

/// A certificate with those of its issuers, and its private key or the number of a key that is elsewhere. Clones are
/// the same chain.
#[derive(Clone)]
pub struct Chain {
    pub(crate) of_library: CertificateChain<'static>,
    leaf: Certificate,
    key: u32,
    is_elsewhere: bool,
    clients: Option<Clients>,
    policy: Option<Policy>,
}

/// The parts that a chain is made of.
#[derive(Clone, Copy)]
pub struct ChainParts<'a> {
    /// The certificates in PEM, the server's first.
    pub chain: &'a [u8],
    /// The private key in PEM; `None` if it is elsewhere.
    pub private_key: Option<&'a [u8]>,
    /// An OCSP response in DER, which clients get that ask for one. Its contents are not checked here.
    pub staple: Option<&'a [u8]>,
}

/// Why a chain cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// There are no certificates in PEM, or one is malformed: the library's message.
    Certificates(&'static str),
    /// There is no private key in PEM, or it is of a kind that is not served: the library's message.
    PrivateKey(&'static str),
    /// The private key does not belong to the first certificate.
    OtherKey,
    /// The certificate at this place, from 1, cannot be read.
    Unreadable(usize),
    /// The certificate at this place, from 1, does not have the subject that the one before it names as its issuer.
    Unordered(usize),
    /// The first certificate has no name that clients could ask for.
    Nameless,
    /// The key of the first certificate is neither RSA nor of an elliptic curve.
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
    /// A chain whose private key is in this process: both in PEM, the server's certificate first. [`crate::Facts::key`]
    /// gives `key` for connections with this chain.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn with_private_key(chain: &[u8], private_key: &[u8], key: u32) -> Result<Self, ChainError> {
        Self::from_parts(ChainParts { chain, private_key: Some(private_key), staple: None }, key)
    }

    /// A chain whose private key is elsewhere. Connections with this chain ask for each operation, with the number
    /// `key`.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn with_key_elsewhere(chain: &[u8], key: u32) -> Result<Self, ChainError> {
        Self::from_parts(ChainParts { chain, private_key: None, staple: None }, key)
    }

    /// A chain of all these parts. [`crate::Facts::key`] and [`crate::KeyRequest::key`] give `key` for connections with
    /// this chain.
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
            // Checked first, so that an error of the chain is not reported as one of the private key.
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

    /// A client's chain with its private key, both in PEM, the client's certificate first. The certificate need not
    /// name a host.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn of_client(chain: &[u8], private_key: &[u8]) -> Result<Self, ChainError> {
        Self::loaded(ChainParts { chain, private_key: Some(private_key), staple: None }, 0, false)
    }

    /// A client's chain, as [`Chain::of_client`], with its private key elsewhere: connections with this chain ask for
    /// each operation, with the number 0.
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

    /// The same chain; clients of its names are asked for certificates as `clients` says, or not asked if `None`.
    #[must_use]
    pub fn with_clients(mut self, clients: Option<Clients>) -> Self {
        self.clients = clients;
        self
    }

    /// How clients of the chain's names are asked for certificates; `None` if they are not asked.
    pub fn clients(&self) -> Option<Clients> {
        self.clients
    }

    /// The same chain, with this policy for its names; with `None` they have the listener's.
    #[must_use]
    pub fn with_policy(mut self, policy: Option<Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// The policy of the chain's names; `None` if it is the listener's.
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }

    /// The server's own certificate.
    pub fn leaf(&self) -> &Certificate {
        &self.leaf
    }

    /// The bits of the issuer's public key, if the chain has the issuer's certificate too.
    pub fn issuer_key_bits(&self) -> Option<Vec<u8>> {
        key_bits(self.of_library.iter().nth(1)?.ok()?.der().ok()?)
    }

    /// Whether the chain's private key is elsewhere.
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
