//! How much of a path's MTU a suite leaves, and how long a packet becomes.

use crate::address::Family;
use crate::esp;
use crate::inner::Inner;
use crate::parameters::Mode;
use crate::suite::Suite;

/// Length of a header of UDP in bytes.
pub const UDP_BYTES: usize = 8;

/// The form in which packets travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// Family of the headers outside.
    pub family: Family,
    /// Whether packets travel in UDP.
    pub in_udp: bool,
}

impl Path {
    /// Length of the headers outside, in bytes: IP without options, and UDP.
    pub const fn header_bytes(self) -> usize {
        self.family.header_bytes() + if self.in_udp { UDP_BYTES } else { 0 }
    }
}

/// Length in bytes of a packet outside, from IP's header on, with `payload_bytes` of payload: in tunnel mode the packet
/// inside, in transport mode the part above IP.
pub fn sealed_bytes(suite: Suite, path: Path, payload_bytes: usize) -> usize {
    path.header_bytes()
        + esp::HEADER_BYTES
        + suite.iv_bytes()
        + payload_bytes
        + esp::padding_bytes(suite, payload_bytes)
        + esp::TRAILER_BYTES
        + suite.icv_bytes()
}

/// The largest payload, in bytes, whose packet outside has no more than `mtu`; 0 if nothing fits.
pub fn payload_bytes_max(suite: Suite, path: Path, mtu: usize) -> usize {
    let around = path.header_bytes() + esp::HEADER_BYTES + suite.iv_bytes() + suite.icv_bytes();
    let enciphered = mtu.saturating_sub(around) / suite.pad_to() * suite.pad_to();
    enciphered.saturating_sub(esp::TRAILER_BYTES)
}

/// The MTU inside, as a packet's sender sees it; in transport mode it includes the header of IP, which stays outside.
pub fn inner_mtu(suite: Suite, path: Path, mode: Mode, mtu: usize) -> usize {
    let payload = payload_bytes_max(suite, path, mtu);
    match mode {
        Mode::Tunnel => payload,
        Mode::Transport if payload == 0 => 0,
        Mode::Transport => payload + path.family.header_bytes(),
    }
}

/// How a packet is treated before it is sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The packet fits: seal it.
    Fits,
    /// Cut it first ([`crate::fragment_ipv4`]) into pieces of this MTU.
    Cut {
        /// MTU of the pieces.
        mtu: usize,
    },
    /// Tell its sender ([`crate::too_big`]) this MTU, and drop it.
    Tell {
        /// MTU that the message states.
        mtu: usize,
    },
}

/// What to do with a packet, given the MTU inside (RFC 4301, 8.2). A packet that may be cut is cut before it is sealed,
/// so that the receiver need not put pieces together before it can authenticate them.
pub fn fit(inner: &Inner, mtu: usize) -> Fit {
    if inner.bytes <= mtu {
        Fit::Fits
    } else if inner.flow.family() == Family::V4 && !inner.dont_fragment {
        Fit::Cut { mtu }
    } else {
        Fit::Tell { mtu: mtu.max(inner.flow.family().mtu_min()) }
    }
}

impl Family {
    /// The MTU that every link has (RFC 791, 3.2; RFC 8200, 5).
    pub const fn mtu_min(self) -> usize {
        match self {
            Family::V4 => 68,
            Family::V6 => 1280,
        }
    }
}
