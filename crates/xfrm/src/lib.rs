//! The kernel's interface to IPsec, NETLINK_XFRM (`linux/xfrm.h`, netlink(7)), as bytes in and bytes out over the SAs
//! and policies of [`ipsec`]. IKE daemons and `ip xfrm` that speak to it take it for the kernel's. There are no sockets
//! here, no threads and no clock: the caller passes times in.
//!
//! # Which function for which need
//!
//! | need | function |
//! |---|---|
//! | answer what a program sent | [`Xfrm::request`], [`Outbox`]; [`Xfrm::continue_dump`] for long listings; [`Xfrm::forget`] when it is gone |
//! | seal and open packets | [`Xfrm::sad`], [`Xfrm::spd`], whose snapshots are renewed once [`Xfrm::versions`] changed |
//! | end SAs that were removed, once no packet is routed to them | [`Xfrm::close_removed`] |
//! | act on what the packet path tells | [`Xfrm::event`] |
//! | act on time | [`Xfrm::due`], [`Xfrm::tick`] |
//! | know what routes must lead here | [`Xfrm::protected`] |
//! | survive the process | [`Xfrm::journal`], [`Xfrm::restore`]; [`Keeper`], [`Xfrm::take_names`] for what changes in between |
//! | refuse a change of policies that does not hold outside | [`Keeper`] |
//! | show | [`Xfrm::list_sas`], [`Xfrm::list_policies`] |
//!
//! # Who speaks
//!
//! A client first sends a message of type NOOP, with the port to which its replies go and the groups that it belongs
//! to: `u32` port, `u32` groups and, if it wants, `u32` flags, of which 1 asks for extended acknowledgements. That
//! message has no answer, and comes again whenever its content changes. The owner of the sockets decides who may speak
//! at all: every client may read keys, as under a kernel every one with CAP_NET_ADMIN may. Even so nothing in a message
//! is believed before it is checked, and every table has a bound: [`ipsec::SAS_MAX`], [`ipsec::POLICIES_MAX`],
//! [`RESERVED_MAX`], [`ACQUIRES_MAX`], [`CLIENTS_MAX`], [`OUTBOX_BYTES_MAX`], [`DUMP_BYTES`], [`NUMBERS_REMEMBERED`],
//! [`JOURNAL_BYTES_MAX`].
//!
//! # Keys
//!
//! Requests bring keys and listings give them back, since daemons that move an SA read its keys here. Requests are read
//! in place and wiped afterwards; keys are copied once, into memory that is wiped; replies are wiped when they are
//! dropped. That is why no library reads the messages: none of them wipes its copies. No error text and no journal
//! holds a key.
//!
//! # Numbers
//!
//! No outbound sequence number is used twice under one key: an SA that is deleted and added again goes on behind the
//! last number that it used, if its key is among the newest [`NUMBERS_REMEMBERED`], or with the number that the request
//! names, whichever is higher. A kernel believes the request. Whoever adds keys by hand and keeps them over a restart
//! of the process must change them, as with a kernel's.
//!
//! # Otherwise than the kernel
//!
//! AH, IPComp, marks, XFRM interfaces, offload, BEET, more than one template, outbound templates that are optional,
//! selectors by interface and a default that blocks are refused, with an error that says so. The replay window of UPDSA
//! stays as it is, as in the kernel. Policies live by seconds since their addition, not by use.
#![forbid(unsafe_code)]

mod aevents;
mod algorithms;
mod answers;
mod asked;
mod client;
mod dump;
mod events;
mod fields;
mod info;
mod journal;
mod keeper;
mod listing;
mod lost;
mod migrate;
mod names;
mod numbers;
mod outbox;
mod policies;
mod policy;
mod refusal;
mod replay;
mod request;
mod sas;
mod state;
mod states;
mod view;
mod wire;
mod xfrm;

pub use client::Client;
pub use dump::DUMP_BYTES;
pub use journal::{JOURNAL_BYTES_MAX, JournalError, LOST_SECONDS};
pub use keeper::{Change, Keeper, Unkeeping, Unkept};
pub use listing::{PolicyListing, Protected, SaInUse, SaListing};
pub use numbers::NUMBERS_REMEMBERED;
pub use outbox::{OUTBOX_BYTES_MAX, Outbox};
pub use xfrm::{CLIENTS_MAX, Settings, Xfrm};

/// Seconds for which an SPI stays reserved and an ACQUIRE unanswered: the value to which strongSwan sets
/// `net.core.xfrm_acq_expires`.
pub const LARVAL_SECONDS: u64 = 165;
/// Upper bound of the SPIs that are reserved at once: half of all SAs, so that there is room for SAs that are
/// negotiated.
pub const RESERVED_MAX: usize = ipsec::SAS_MAX / 2;
/// Upper bound of the ACQUIREs without an answer.
pub const ACQUIRES_MAX: usize = 4096;
