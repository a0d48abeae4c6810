//! Counters of the threads: each thread writes its own, and anyone may read them at any time.

use ipsec::Counters;
use std::fmt;
use std::sync::{Mutex, PoisonError};

macro_rules! losses {
    ($($(#[doc = $doc:literal])+ $variant:ident: $name:literal;)+) => {
        /// Why the data plane itself dropped a packet; [`ipsec::Reason`] has the reasons of ESP and policies.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Loss {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Loss {
            /// All reasons.
            pub const ALL: &'static [Loss] = &[$(Loss::$variant),+];

            /// The name in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self { $(Loss::$variant => $name,)+ }
            }
        }
    };
}

losses! {
    /// The bytes read from the TUN have headers that contradict each other, or their length.
    TunMalformed: "tun-malformed";
    /// The TUN refused the packet, as a TUN does that is down.
    TunWrite: "tun-write";
    /// The TUN was full, and stayed so while the thread waited ([`crate::bounds::FULL_WAIT_MS`]).
    TunFull: "tun-full";
    /// A socket was full, and stayed so while the thread waited ([`crate::bounds::FULL_WAIT_MS`]).
    SocketFull: "socket-full";
    /// A socket refused to send the packet.
    Send: "send";
    /// No socket has the address and port of the packet's SA, or there is no raw socket of its family.
    NoSocket: "no-socket";
    /// The packet was longer than its path, and was not cut. If that was found before sealing, its sender is told.
    TooLong: "path-too-long";
    /// The memory had no room for sealing the packet, or for its headers.
    NoRoom: "no-room-to-seal";
    /// A datagram that is not ESP came to a socket of ESP.
    NotEsp: "not-esp";
    /// A NAT keepalive came (RFC 3948, 2.3).
    Keepalive: "keepalive";
    /// A datagram came without the address of its sender.
    NoAddress: "no-address";
    /// The packet should have left in clear, but no raw socket could send it, or its hop limit was used up.
    Bypass: "bypass";
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Classes of batch sizes: 1, 2 to 3, 4 to 7, and so on; the last is 128 and more.
pub const BATCH_CLASSES: usize = 8;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The figures of one thread, or the sum of all threads'.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Figures {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Batches that were sealed, by their size: see [`BATCH_CLASSES`].
            pub sealed_batches: [u64; BATCH_CLASSES],
            /// Batches that were opened, by their size.
            pub opened_batches: [u64; BATCH_CLASSES],
            /// Counters of ESP and policies, drops by reason among them.
            pub esp: Counters,
            losses: [u64; Loss::ALL.len()],
        }

        impl Figures {
            /// Adds the figures of another thread.
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
    /// Packets that were written to the TUN; of a superpacket, each packet in it.
    tun_packets,
    /// System calls that sent packets of ESP.
    sends,
    /// Packets of ESP that were sent.
    sent_packets,
    /// Bytes of the packets of ESP that were sent, without the headers outside.
    sent_bytes,
    /// System calls that read from sockets.
    receives,
    /// Packets of ESP that were received.
    received_packets,
    /// Bytes of the packets of ESP that were received.
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
    /// Number of packets that were dropped for this reason.
    pub fn lost(&self, loss: Loss) -> u64 {
        self.losses[loss as usize]
    }

    /// Each of the data plane's own reasons with its number of packets; the reasons of ESP are in [`Figures::esp`].
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

/// A thread's figures, to be read while it works.
#[derive(Default)]
pub(crate) struct Window(Mutex<Figures>);

impl Window {
    /// Shows figures; if a reader holds the lock at this moment, they are shown after the next batch.
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
