//! What threads count: by one writer each, read by anyone at any time.

use ipsec::Counters;
use std::fmt;
use std::sync::{Mutex, PoisonError};

macro_rules! losses {
    ($($(#[doc = $doc:literal])+ $variant:ident: $name:literal;)+) => {
        /// Why the data plane itself dropped a packet; [`ipsec::Reason`] has what ESP and policies say.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Loss {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Loss {
            /// All of them.
            pub const ALL: &'static [Loss] = &[$(Loss::$variant),+];

            /// The name in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self { $(Loss::$variant => $name,)+ }
            }
        }
    };
}

losses! {
    /// What the TUN gave made no sense.
    TunMalformed: "tun-malformed";
    /// The TUN refused it, as one that is down does.
    TunWrite: "tun-write";
    /// The TUN stayed full.
    TunFull: "tun-full";
    /// A socket stayed full.
    SocketFull: "socket-full";
    /// A socket refused to send it.
    Send: "send";
    /// No socket has the address and port of its SA.
    NoSocket: "no-socket";
    /// It was longer than the path, and its sender was told.
    TooLong: "path-too-long";
    /// It could not be put before an SA at all: no room for its pieces.
    NoRoom: "no-room-to-seal";
    /// A datagram that is not ESP came to a socket of ESP.
    NotEsp: "not-esp";
    /// A keepalive.
    Keepalive: "keepalive";
    /// It came without headers that say from where.
    NoAddress: "no-address";
    /// It should have gone in clear, and no raw socket could send it.
    Bypass: "bypass";
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Sizes of batches that are told apart: 1, 2 to 3, 4 to 7, and so on; the last is 128 and more.
pub const BATCH_CLASSES: usize = 8;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What one thread, or all of them, did.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Figures {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Batches that were sealed, by their size: see [`BATCH_CLASSES`].
            pub sealed_batches: [u64; BATCH_CLASSES],
            /// Batches that were opened, by their size.
            pub opened_batches: [u64; BATCH_CLASSES],
            /// What ESP and policies counted, drops by reason among it.
            pub esp: Counters,
            losses: [u64; Loss::ALL.len()],
        }

        impl Figures {
            /// Adds another thread's.
            pub fn add(&mut self, other: &Figures) {
                $(self.$name += other.$name;)+
                let arrays = [
                    (&mut self.sealed_batches[..], &other.sealed_batches[..]),
                    (&mut self.opened_batches[..], &other.opened_batches[..]),
                    (&mut self.losses[..], &other.losses[..]),
                ];
                for (to, from) in arrays {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                }
                self.esp.add(&other.esp);
            }
        }
    };
}

counts! {
    /// Reads of the TUN, of which each brought a packet or a superpacket.
    tun_reads,
    /// Writes to the TUN.
    tun_writes,
    /// Packets that were written to the TUN, superpackets counted by what is in them.
    tun_packets,
    /// Calls that sent.
    sends,
    /// Packets of ESP that were sent.
    sent_packets,
    /// Their bytes, headers outside not counted.
    sent_bytes,
    /// Calls that received.
    receives,
    /// Packets of ESP that came.
    received_packets,
    /// Their bytes.
    received_bytes,
    /// Packets that went in clear because no policy protects them.
    bypassed,
    /// Messages that told a sender the MTU.
    told,
    /// Packets that were cut, before they were sealed or after.
    cut,
    /// Paths whose MTU was learnt.
    paths_learnt,
}

impl Figures {
    /// How many were dropped for this reason.
    pub fn lost(&self, loss: Loss) -> u64 {
        self.losses[loss as usize]
    }

    /// Each reason of the data plane's own with its number; those of ESP are in [`Figures::esp`].
    pub fn losses(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL.iter().map(|loss| (*loss, self.lost(*loss)))
    }

    pub(crate) fn lose(&mut self, loss: Loss, packets: usize) {
        self.losses[loss as usize] += packets as u64;
    }

    pub(crate) fn batch(batches: &mut [u64; BATCH_CLASSES], packets: usize) {
        if let Some(class) = packets.checked_ilog2() {
            batches[(class as usize).min(BATCH_CLASSES - 1)] += 1;
        }
    }
}

/// Where a thread's figures can be read while it works.
#[derive(Default)]
pub(crate) struct Window(Mutex<Figures>);

impl Window {
    /// Shows figures; where a reader has them at this moment, the next batch shows them.
    pub(crate) fn show(&self, some: &Figures, others: &Figures, esp: &Counters) {
        if let Ok(mut shown) = self.0.try_lock() {
            shown.clone_from(some);
            shown.add(others);
            shown.esp.clone_from(esp);
        }
    }

    pub(crate) fn read(&self) -> Figures {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
