//! The program `cryptand-tls`, which `cryptand tls` starts: it listens, terminates TLS with private keys in files or on
//! cards, and forwards connections to backends.
//!
//! | need | where |
//! |---|---|
//! | the operator's settings | [`settings`] |
//! | start, reload, stop | [`serve`] |
//! | metrics, and the status of a running program | `metrics`, [`status`] |
//! | addresses of backends | `backend`; [`streams`] connects |
//! | the PROXY protocol, networks of proxies | [`proxy`], [`networks`] |
//! | requests, certificates, chains | [`cert`] |
//!
//! One thread starts the others, reads settings and certificates, and waits for signals. Loops, one for each processor,
//! serve connections: `workers` has the loops, `session` one connection. Loops read no file and never block on a card
//! or a backend. They take one lock, for counting connections by address. Signatures of keys under labels go to cards
//! through the event-loop interface of `facility`.
#![forbid(unsafe_code)]

mod backend;
pub mod cert;
mod clients;
mod file_state;
mod labels;
mod limits;
mod log;
mod material;
mod metrics;
pub mod networks;
mod observe;
pub mod proxy;
mod report;
mod said;
pub mod serve;
mod session;
pub mod sessions;
pub mod settings;
mod sockets;
mod staples;
pub mod status;
pub mod ticket_file;
mod tickets;
mod watch;
mod workers;
