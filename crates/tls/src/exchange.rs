//! Data that passes between a connection and the library's callbacks: a private key operation and its answer, a
//! client's certificates and the verdict.

use crate::alpn::Protocols;
use crate::clients::{ClientChain, Clients, Refusal, split};
use crate::ffi;
use crate::key::{Hash, KeyOperation, KeyRequest, Scheme};
use s2n_tls::callbacks::{
    CertValidationCallback, CertValidationInfo, ConnectionFuture, OperationType, PrivateKeyCallback,
    PrivateKeyOperation,
};
use s2n_tls::connection::Connection;
use s2n_tls::enums::{HashAlgorithm, SignatureAlgorithm};
use s2n_tls::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use zeroize::Zeroizing;

/// Data that passes between a connection and the library's callbacks.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) asked: Option<KeyRequest>,
    pub(crate) answer: Option<Option<Zeroizing<Vec<u8>>>>,
    /// Whether the client is refused, since no chain is for the name that the client asked for.
    pub(crate) is_unknown_name: bool,
    /// The application protocols that the server speaks; `None` for no list.
    pub(crate) protocols: Option<Protocols>,
    /// Whether the client offered only other protocols.
    pub(crate) is_unknown_protocol: bool,
    /// The certificates that the client has shown, until the caller takes them.
    pub(crate) client_chain: Option<ClientChain>,
    pub(crate) verdict: Option<Result<(), Refusal>>,
    /// The refusal in the verdict, once the library was told of it.
    pub(crate) refusal: Option<Refusal>,
    pub(crate) is_client_verified: bool,
    /// The last session ticket that the server gave its client.
    pub(crate) session: Option<Zeroizing<Vec<u8>>>,
}

/// The number of a chain's private key, as the chain's context in the library.
pub(crate) struct KeyNumber(pub(crate) u32);

/// The callback that asks the caller for private key operations.
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
            OperationType::Decrypt => KeyOperation::Premaster { ciphertext: input },
            OperationType::Sign(algorithm, hash) => {
                let hash = hash_of(hash).ok_or_else(|| refused("a hash that keys do not sign"))?;
                if input.len() != hash.bytes() {
                    return Err(refused("a digest of another length"));
                }
                KeyOperation::Sign { scheme: scheme_of(algorithm)?, hash, digest: input }
            }
            _ => return Err(refused("an operation that keys do not have")),
        };
        let exchange = connection
            .application_context_mut::<Exchange>()
            .ok_or_else(|| refused("a connection that is nobody's"))?;
        exchange.asked = Some(KeyRequest { key, work });
        Ok(Some(Box::pin(AwaitsAnswer { operation: Some(operation) })))
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

/// A future that is ready when the caller has answered an operation.
struct AwaitsAnswer {
    operation: Option<PrivateKeyOperation>,
}

impl ConnectionFuture for AwaitsAnswer {
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

/// The callback that has the caller judge a client's certificates.
pub(crate) struct AskForVerdict(pub(crate) Clients);

impl CertValidationCallback for AskForVerdict {
    fn validate_cert(
        &self,
        connection: &mut Connection,
        info: CertValidationInfo,
    ) -> Result<Option<Pin<Box<dyn ConnectionFuture>>>, Error> {
        let certificates = ffi::client_chain(connection).and_then(|chain| split(&chain));
        let certificates = certificates.ok_or_else(|| refused("a chain that does not hold together"))?;
        let exchange = connection
            .application_context_mut::<Exchange>()
            .ok_or_else(|| refused("a connection that is nobody's"))?;
        exchange.client_chain = Some(ClientChain { number: self.0.number, certificates });
        Ok(Some(Box::pin(AwaitsVerdict { info: Some(info) })))
    }
}

/// A future that is ready when the caller has given its verdict.
struct AwaitsVerdict {
    info: Option<CertValidationInfo>,
}

impl ConnectionFuture for AwaitsVerdict {
    fn poll(
        mut self: Pin<&mut Self>,
        connection: &mut Connection,
        _context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        let Some(exchange) = connection.application_context_mut::<Exchange>() else {
            return Poll::Ready(Err(refused("a connection that is nobody's")));
        };
        let Some(verdict) = exchange.verdict.take() else { return Poll::Pending };
        exchange.refusal = verdict.err();
        exchange.is_client_verified = verdict.is_ok();
        match self.info.take() {
            Some(info) => Poll::Ready(ffi::resolve(info, connection, verdict.is_ok())),
            None => Poll::Ready(Err(refused("a verdict that nobody waits for"))),
        }
    }
}
