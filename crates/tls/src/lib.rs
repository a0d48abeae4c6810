//! TLS as bytes in and bytes out: this crate opens no socket and no file, and never blocks.
//!
//! | need | where |
//! |---|---|
//! | which versions, suites and groups are offered | [`Policy`] |
//! | certificate chains, with their private keys or without | [`Chain`] |
//! | choose the chain by the client's name | [`Acceptor`] |
//! | sessions that clients resume | [`TicketKeys`], [`Sessions`] |
//! | which application protocol is spoken | [`Protocols`] |
//! | one connection | [`Connection`] |
//! | private key operations that somebody else computes | [`KeyRequest`], [`Connection::take_request`], [`Connection::answer`] |
//! | certificates of clients that somebody else judges | [`Clients`], [`Connection::take_client_chain`], [`Connection::judge`] |
//! | read X.509 certificates and OCSP responses | [`Certificate`], [`OcspResponse`] |
//! | the client's end | [`Initiator`], [`Client`] |
//!
//! A caller hands in the client's bytes ([`Connection::receive`]), lets the handshake go on
//! ([`Connection::handshake`]), and sends the bytes in [`Connection::outgoing`]. If a chain's key is elsewhere, the
//! handshake stops with [`Progress::NeedsKey`]. The caller takes the request, which is a value, has it computed where
//! the key is, and answers.
//!
//! The protocol itself is s2n-tls. Versions are TLS 1.2 and 1.3, and older ones only under policies that include them.
#![deny(unsafe_code)]

mod acceptor;
mod alpn;
mod authorities;
mod bound;
mod certificate;
mod chain;
mod clients;
mod connection;
mod end;
mod error;
mod exchange;
mod ffi;
mod fields;
mod hello;
mod initiator;
mod key;
mod ocsp;
mod policy;
mod sessions;
mod ticket;

pub use acceptor::{Acceptor, AcceptorError, Serving, Unnamed};
pub use alpn::{Protocols, ProtocolsError};
pub use authorities::Authorities;
pub use certificate::{Certificate, PublicKey};
pub use chain::{Chain, ChainError, ChainParts};
pub use clients::{ClientChain, Clients, Refusal};
pub use connection::Connection;
pub use end::{End, Facts, Progress, Read};
pub use error::{Cause, Failure};
pub use ffi::give_back_memory;
pub use initiator::{Client, Group, Initiator, InitiatorError, Offer, Resuming, Trust};
pub use key::{Hash, KeyOperation, KeyRequest, PREMASTER_BYTES, Scheme};
pub use ocsp::{OcspAnswer, OcspError, OcspHash, OcspResponse, OcspStatus};
pub use policy::{Policy, SUITES};
pub use sessions::{SessionStore, Sessions};
pub use ticket::{TicketKey, TicketKeys};
