//! Sockets of connections, for loops that wait for all of them at once (epoll(7)).
//!
//! | need | where |
//! |---|---|
//! | a server, and a connection to it | [`Server`] |
//! | read and write without waiting | [`StreamSocket`] |
//! | what to watch a socket for | [`WATCHED`] |
#![forbid(unsafe_code)]

mod server;
mod socket;

pub use server::{Server, UNIX_PATH_BYTES_MAX};
pub use socket::{StreamSocket, WATCHED};
