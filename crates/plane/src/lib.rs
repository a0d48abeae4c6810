//! The packet path of an ESP data plane in user space: from a TUN through [`ipsec`] to sockets and back, with a thread
//! for each processor. Keys, SAs and policies come from the program that publishes [`Tables`]; IKE is not here.
//!
//! # Which function for which need
//!
//! | need | function |
//! |---|---|
//! | make the TUN, its queues | [`open_tun`] |
//! | make sockets, share a port with an IKE daemon | [`open_udp`], [`attach_filter`], [`open_raw`]; [`MARK`] |
//! | start and stop | [`Shared::new`], [`spawn`], [`Shared::stop`] |
//! | hand over SAs and policies | [`Shared::publish`], [`Tables`] |
//! | be told of events | [`Shared::event_fd`], [`Shared::take_events`] |
//! | count | [`Shared::counters`], [`Figures`], [`Loss`] |
//! | add and remove sockets | [`Shared::add_sockets`], [`Shared::remove_sockets`] |
//! | work without sockets | [`Core`], [`Ways`]; [`Superpacket`], [`coalesce`] |
//!
//! # How packets go
//!
//! One read of the TUN brings up to 64 KiB of one flow (TSO, USO), which is routed once, cut into the frames in which
//! it is sealed, and sent with `UDP_SEGMENT`. Datagrams that the kernel put together (`UDP_GRO`) are opened in place,
//! and their payloads are gathered into superpackets for the TUN. Nothing waits for a batch to fill: a look takes what
//! is there, up to [`bounds`].
//!
//! An authenticated packet from a new address raises [`ipsec::Event::Mapping`], and moves nothing. The SAs of both
//! directions follow the peer together, when their owner calls [`ipsec::Sa::follow`].
//!
//! # System calls
//!
//! Everything is opened before [`spawn`]. The threads themselves need `read`, `writev`, `write` (of an eventfd),
//! `recvmsg`, `sendmsg`, `sendmmsg`, `poll` or `ppoll`, `epoll_wait` or `epoll_pwait`, `epoll_ctl` and `close` for
//! sockets that come and go, `clock_gettime` (where the kernel's page does not answer it), `futex`, and of memory
//! `mmap`, `munmap`, `madvise`; at their start `epoll_create1` (in [`spawn`]) and what the C library does for threads.
#![forbid(unsafe_code)]

pub mod bounds;
mod coalesce;
mod core;
mod counters;
mod error;
mod inbound;
mod io;
mod lock;
mod outbound;
mod path;
mod patience;
mod raw;
mod send;
mod shared;
mod split;
mod thread;
mod tun;
mod udp;
mod vnet;

pub use coalesce::coalesce;
pub use core::{Core, Placed, Ways};
pub use counters::{BATCH_CLASSES, Figures, Loss};
pub use error::OpenError;
pub use inbound::Arrivals;
pub use outbound::Batch;
pub use path::PathMtus;
pub use raw::{Raw, open_raw};
pub use shared::{Shared, SocketError, Tables, Totals};
pub use split::{Malformed, Superpacket};
pub use thread::spawn;
pub use tun::{Queue, Queues, open_tun};
pub use udp::{MARK, attach_filter, open_udp};
pub use vnet::{GsoType, VNET_BYTES, Vnet};
