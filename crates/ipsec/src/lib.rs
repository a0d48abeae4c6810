//! IPsec's ESP (RFC 4303) as bytes in and bytes out: packets are sealed and opened in batches, with a time and
//! addresses that the caller gives. There are no sockets here, no threads and no clock; keys come from IKE, which is
//! left to those who do it well.
//!
//! # Which function for which need
//!
//! | need | function |
//! |---|---|
//! | make an SA of what IKE negotiated | [`Sa::new`], [`SaParameters`], [`Suite`] |
//! | keep SAs, allocate SPIs | [`Sad`] |
//! | keep policies | [`Spd`], [`Policy`], [`Selector`] |
//! | decide what to do with a packet | [`Worker::route`]; [`Worker::admit`] for one that came in |
//! | put pieces together before that | [`Worker::gather`], [`Gathering`] |
//! | seal and open | [`Worker::seal`], [`Worker::open`] |
//! | read and write the headers outside, tell IKE from ESP | [`OpenItem::read`], [`Arrival::read`], [`Outer::write`], [`classify`] |
//! | fit packets to a path | [`inner_mtu`], [`fit`], [`fragment_ipv4`], [`fragment_outside`], [`too_big`] |
//! | be told of limits, moved peers and missing SAs | [`Worker::take_events`], [`Event`]; [`Worker::tick`], [`Sa::next_due`] |
//! | count | [`Worker::counters`], [`Reason`], [`Sa::figures`], [`Spd::figures`] |
//!
//! # Threads
//!
//! A thread has a [`Worker`] of its own. SAs are shared: their numbers are handed out in blocks, a run of a batch at a
//! time, and their windows are moved without a lock, so that several threads seal and open packets of one SA. [`Sad`]
//! and [`Spd`] are read as snapshots. Numbers of two threads leave interleaved by as much as a batch: the window of the
//! receiver should hold as many numbers as the threads have in flight.
//!
//! # What a peer can do
//!
//! A peer makes no entry anywhere. It makes no event except one for each limit that it reaches and one for each
//! authenticated move of its own. Packets that arrive are checked by SPI, length and window before anything is
//! computed. A packet with a wrong ICV costs the computation of one; it moves neither window nor peer. Bounds have
//! names: [`SAS_MAX`], [`POLICIES_MAX`], [`EVENTS_MAX`], [`FLOWS_REMEMBERED`], [`EXTENSIONS_MAX`], [`WINDOW_MAX`],
//! [`GATHERED_MAX`].
//!
//! # Left out
//!
//! IKE, AH, IPComp, AES-CTR, -CCM and -GMAC; single fragments in transport mode, which the standard does not allow (RFC
//! 4303, 3.3.4); the resynchronisation of RFC 4303, appendix A3, after 2^32 lost packets.
#![forbid(unsafe_code)]

mod address;
mod atomics;
mod batch;
pub mod checksum;
mod congestion;
mod esp;
mod event;
mod fragment;
mod frame;
mod gathering;
mod hash;
mod inner;
mod keys;
mod limits;
mod mtu;
mod outer;
mod parameters;
mod policy;
mod reason;
mod remembered;
mod replay;
mod sa;
mod sad;
mod selector;
mod sequence;
mod suite;
mod tally;
mod template;
mod time;
mod worker;

pub use address::{Endpoint, Family};
pub use batch::{OpenItem, Opened, PacketOutcome, SealItem, Sealed};
pub use congestion::DscpRule;
pub use esp::NO_NEXT_HEADER;
pub use event::{EVENTS_MAX, Event};
pub use fragment::{fragment_ipv4, fragment_outside, too_big};
pub use frame::{Frame, HEAD_ROOM, TAIL_ROOM};
pub use gathering::{GATHERED_BYTES_MAX, GATHERED_MAX, GATHERING_TIME, Gathered, Gathering, PIECES_MAX};
pub use inner::{EXTENSIONS_MAX, Flow, Inner};
pub use keys::KeyBytes;
pub use limits::{Limit, Limits, Standing};
pub use mtu::{Fit, Path, UDP_BYTES, fit, inner_mtu, payload_bytes_max, sealed_bytes};
pub use outer::{Arrival, Datagram, ESP_PROTOCOL, NAT_PORT, Outer, UDP_PROTOCOL, classify};
pub use parameters::{Direction, FragmentRule, Mode, SPI_MIN, SaError, SaParameters};
pub use policy::{ACQUIRE_INTERVAL, Action, POLICIES_MAX, Policy, PolicyDirection, PolicyId, Spd, SpdError};
pub use reason::{Counters, Reason};
pub use remembered::FLOWS_REMEMBERED;
pub use replay::{Verdict, WINDOW_MAX, WINDOW_MIN, Window};
pub use sa::{Sa, SaFigures, SaName};
pub use sad::{SAS_MAX, Sad, SadError};
pub use selector::{Ports, Prefix, Selector, SelectorError, SelectorFields};
pub use sequence::{Numbers, whole_number};
pub use suite::{
    AesKey, Encryption, ICV_BYTES_MAX, IV_BYTES_MAX, Integrity, SALT_BYTES, SHORT_BLOCK_PACKETS_MAX, Suite,
    Weakness,
};
pub use tally::{Amount, PolicyFigures};
pub use template::Template;
pub use time::Time;
pub use worker::{Route, Worker};
