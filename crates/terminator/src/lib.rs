//! The program `cryptand-tls`, which `cryptand tls` starts: it listens, terminates TLS with private keys in files or on
//! cards, and forwards what clients send to servers behind it.
//!
//! | need | where |
//! |---|---|
//! | what an operator decides | [`settings`] |
//! | start, reload, stop | [`serve`] |
//! | metrics, and the status of a running program | `metrics`, [`status`] |
//! | where connections are forwarded to | `backend`; [`streams`] connects |
//! | what is said of a connection before its first byte | [`proxy`], [`networks`] |
//! | requests, certificates, chains | [`cert`] |
//!
//! One thread starts the others, reads settings and certificates, and waits for signals. A loop for each processor
//! serves connections: `workers` has the loops, `session` one connection. Loops read no file, wait for no card and no
//! backend, and take one lock, for counting connections by address; signatures of labels go to cards through the
//! event-loop interface of `facility`.
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
