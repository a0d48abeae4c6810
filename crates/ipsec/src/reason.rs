//! Why packets are dropped: each reason has a name and is counted.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident: $name:literal, $linux:literal;)+) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant),+];

            /// The reason's name in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name,)+ }
            }

            /// The name under which Linux counts it in `/proc/net/xfrm_stat`; empty if Linux does not.
            pub const fn linux_name(self) -> &'static str {
                match self { $(Reason::$variant => $linux,)+ }
            }
        }
    };
}

reasons! {
    /// No SA has the SPI of the packet.
    UnknownSpi: "unknown-spi", "XfrmInNoStates";
    /// The packet is shorter than its suite's shortest, or not of whole blocks.
    Malformed: "malformed", "XfrmInHdrError";
    /// The packet's sequence number left the replay window.
    TooOld: "too-old", "XfrmInStateSeqError";
    /// The packet's sequence number was taken before.
    Replayed: "replayed", "XfrmInStateSeqError";
    /// The packet's ICV is wrong.
    Unauthenticated: "unauthenticated", "XfrmInStateProtoError";
    /// The packet's padding is not 1, 2, 3 and so on, or longer than the packet.
    Padding: "padding", "XfrmInStateProtoError";
    /// The packet is a dummy: its next header is 59 (RFC 4303, 2.6).
    Dummy: "dummy", "";
    /// The packet's next header does not fit the mode of its SA.
    NextHeader: "next-header", "XfrmInStateModeError";
    /// The packet inside has headers that contradict its length or themselves.
    Inner: "inner-malformed", "XfrmInHdrError";
    /// The packet inside is not one that its SA is for.
    Selector: "selector", "XfrmInStateMismatch";
    /// Congestion was marked outside, and the packet inside cannot say so.
    Congestion: "congestion", "";
    /// The SA has reached its hard limit.
    Expired: "expired", "XfrmInStateExpired";
    /// The memory around the packet is too small.
    NoRoom: "no-room", "XfrmInBufferError";
    /// The SA is for the other direction.
    Direction: "direction", "XfrmInStateInvalid";
    /// No policy is for the packet that was opened.
    NoPolicy: "no-policy", "XfrmInNoPols";
    /// A policy drops such packets.
    Blocked: "blocked", "XfrmInPolBlock";
    /// The policy asks for another SA than the packet came by.
    Template: "template", "XfrmInTmplMismatch";
    /// The policy asks for an SA, and the packet came in clear.
    Clear: "clear", "XfrmInTmplMismatch";
    /// A policy asks for an SA, and there is none.
    NoSa: "no-sa", "XfrmOutNoStates";
    /// The SA has no sequence number left.
    SequenceEnd: "sequence-end", "XfrmOutStateSeqError";
    /// A fragment cannot be sealed in transport mode.
    Fragment: "fragment", "XfrmOutStateModeError";
    /// A piece of a packet whose other pieces did not come in time, or had no place.
    Incomplete: "fragments-incomplete", "";
    /// Pieces of a packet contradict each other, or the first has no ports.
    Pieces: "fragments-malformed", "";
    /// A piece came out of a tunnel, and policies ask for ports, which not every piece has.
    PortsUnknown: "fragment-ports", "XfrmInNoPols";
    /// The packet's addresses are not those of its SA of transport mode.
    Address: "address", "XfrmOutStateInvalid";
    /// Sealed, the packet would be longer than IP allows.
    TooLong: "too-long", "XfrmOutError";
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The counts of one thread; those of several are summed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    dropped: [u64; Reason::ALL.len()],
    /// Packets that were sealed.
    pub sealed: u64,
    /// Bytes of packets before they were sealed.
    pub sealed_bytes: u64,
    /// Packets that were opened.
    pub opened: u64,
    /// Bytes of packets after they were opened.
    pub opened_bytes: u64,
    /// Events that found no place in the queue. Each is raised again while its cause lasts.
    pub events_delayed: u64,
}

impl Counters {
    /// Number of packets that were dropped for this reason.
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Each reason with the number of packets dropped for it.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL.iter().map(|reason| (*reason, self.dropped(*reason)))
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, other: &Counters) {
        for (count, more) in self.dropped.iter_mut().zip(&other.dropped) {
            *count += more;
        }
        self.sealed += other.sealed;
        self.sealed_bytes += other.sealed_bytes;
        self.opened += other.opened;
        self.opened_bytes += other.opened_bytes;
        self.events_delayed += other.events_delayed;
    }

    pub(crate) fn count(&mut self, reason: Reason, packets: u64) {
        self.dropped[reason as usize] += packets;
    }
}
