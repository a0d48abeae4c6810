//! Private key operations as values: what a handshake asks for, and what it takes for an answer.

use crate::alpn::Protocols;
use crate::clients::{ClientChain, Refusal};
use s2n_tls::callbacks::{ConnectionFuture, OperationType, PrivateKeyCallback, PrivateKeyOperation};
use s2n_tls::connection::Connection;
use s2n_tls::enums::{HashAlgorithm, SignatureAlgorithm};
use s2n_tls::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use zeroize::Zeroizing;

/// Bytes of a premaster secret: no other length is an answer to [`Work::Premaster`] (RFC 5246, 7.4.7.1).
pub const PREMASTER_BYTES: usize = 48;

/// What a handshake needs of a private key that is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// The number that the chain was given.
    pub key: u32,
    /// What is to be computed.
    pub work: Work,
}

/// What is to be computed with a private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A signature over a digest. The answer is as long as the modulus for RSA, and ECDSA-Sig-Value in DER
    /// for ECDSA (RFC 3279, 2.2.3).
    Sign {
        /// Padding, or ECDSA.
        scheme: Scheme,
        /// What the digest was made with.
        hash: Hash,
        /// The digest, as long as [`Hash::bytes`] says.
        digest: Vec<u8>,
    },
    /// The premaster of RSA key exchange: PKCS #1 v1.5 decryption, answered with [`PREMASTER_BYTES`] bytes whatever the ciphertext
    /// holds, random ones where its padding or length is wrong, in the same time (RFC 5246, 7.4.7.1): everything else tells an
    /// attacker which ciphertexts are well formed.
    Premaster {
        /// What the client sent.
        ciphertext: Vec<u8>,
    },
}

/// Kind of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2), in TLS 1.2.
    RsaPkcs1,
    /// RSASSA-PSS with MGF1 of the same hash and a salt as long as the digest (RFC 8446, 4.2.3).
    RsaPss,
    /// ECDSA over the curve of the key.
    Ecdsa,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1, in old versions only.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// Length of its digests in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// What passes between a connection and the library's callbacks.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) asked: Option<KeyRequest>,
    pub(crate) answer: Option<Option<Zeroizing<Vec<u8>>>>,
    /// The client named a server that there is not.
    pub(crate) is_unknown_name: bool,
    /// What the server speaks; none where it does not say.
    pub(crate) protocols: Option<Protocols>,
    /// The client speaks nothing of it.
    pub(crate) is_unknown_protocol: bool,
    /// What the client has shown, until it is taken.
    pub(crate) client_chain: Option<ClientChain>,
    pub(crate) verdict: Option<Result<(), Refusal>>,
    /// The verdict, once the library was told.
    pub(crate) refusal: Option<Refusal>,
    pub(crate) is_client_verified: bool,
    /// What a server gave its client last to go on with.
    pub(crate) session: Option<Zeroizing<Vec<u8>>>,
}

/// The number of a chain's key, at the chain.
pub(crate) struct KeyNumber(pub(crate) u32);

/// Asks the caller instead of computing.
pub(crate) struct AskCaller;

impl PrivateKeyCallback for AskCaller {
    fn handle_operation(
        &self,
        connection: &mut Connection,
        operation: PrivateKeyOperation,
    ) -> Result<Option<Pin<Box<dyn ConnectionFuture>>>, Error> {
        let key = connection
            .selected_cert()
            .and_then(|chain| chain.application_context::<KeyNumber>().map(|number| number.0))
            .ok_or_else(|| refused("a chain without a key's number"))?;
        let mut input = vec![0; operation.input_size()?];
        operation.input(&mut input)?;
        let work = match operation.kind()? {
            OperationType::Decrypt => Work::Premaster { ciphertext: input },
            OperationType::Sign(algorithm, hash) => {
                let hash = hash_of(hash).ok_or_else(|| refused("a hash that keys do not sign"))?;
                if input.len() != hash.bytes() {
                    return Err(refused("a digest of another length"));
                }
                Work::Sign { scheme: scheme_of(algorithm)?, hash, digest: input }
            }
            _ => return Err(refused("an operation that keys do not have")),
        };
        let exchange = connection
            .application_context_mut::<Exchange>()
            .ok_or_else(|| refused("a connection that is nobody's"))?;
        exchange.asked = Some(KeyRequest { key, work });
        Ok(Some(Box::pin(Waiting { operation: Some(operation) })))
    }
}

fn scheme_of(algorithm: &SignatureAlgorithm) -> Result<Scheme, Error> {
    match algorithm {
        SignatureAlgorithm::RSA_PKCS1 => Ok(Scheme::RsaPkcs1),
        SignatureAlgorithm::RSA_PSS_RSAE | SignatureAlgorithm::RSA_PSS_PSS => Ok(Scheme::RsaPss),
        SignatureAlgorithm::ECDSA => Ok(Scheme::Ecdsa),
        _ => Err(refused("a kind of signature that keys do not make")),
    }
}

fn hash_of(hash: &HashAlgorithm) -> Option<Hash> {
    match hash {
        HashAlgorithm::SHA1 => Some(Hash::Sha1),
        HashAlgorithm::SHA224 => Some(Hash::Sha224),
        HashAlgorithm::SHA256 => Some(Hash::Sha256),
        HashAlgorithm::SHA384 => Some(Hash::Sha384),
        HashAlgorithm::SHA512 => Some(Hash::Sha512),
        _ => None,
    }
}

pub(crate) fn refused(why: &'static str) -> Error {
    Error::application(why.into())
}

/// An operation that waits for the caller's answer.
struct Waiting {
    operation: Option<PrivateKeyOperation>,
}

impl ConnectionFuture for Waiting {
    fn poll(
        mut self: Pin<&mut Self>,
        connection: &mut Connection,
        _context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        let answer =
            connection.application_context_mut::<Exchange>().and_then(|exchange| exchange.answer.take());
        let Some(answer) = answer else { return Poll::Pending };
        let (Some(operation), Some(bytes)) = (self.operation.take(), answer) else {
            return Poll::Ready(Err(refused("no answer of the key")));
        };
        Poll::Ready(operation.set_output(connection, &bytes))
    }
}
