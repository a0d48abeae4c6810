//! The SA that a policy asks for: as its owner states it, and as tables compare it.

use crate::address::{self, Family};
use crate::hash::mixed;
use crate::inner::Flow;
use crate::parameters::{Direction, Mode};
use crate::sa::Sa;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// The SA that a policy asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// The request number by which its SAs are known.
    pub request: u32,
    /// The part of a packet that the SA protects.
    pub mode: Mode,
    /// Both ends, from source to destination; `None` for any, as in transport mode, where they are the packet's own.
    pub ends: Option<(IpAddr, IpAddr)>,
    /// The SA's SPI, if only one SA will do.
    pub spi: Option<u32>,
}

/// A template in words that are quickly compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The ends as numbers; without a family they have no meaning.
    ends: (u128, u128),
    request: u32,
    pub(crate) spi: Option<u32>,
    mode: Mode,
    /// Family of the ends; `None` for any.
    family: Option<Family>,
}

/// The key by which outbound SAs are found: SAs of one bond differ in SPI and age alone. It is packed, so that it
/// shares a cache line with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(8))]
pub(crate) struct Bond {
    ends: (u128, u128),
    request: u32,
    mode: Mode,
    family: Family,
}

impl Hash for Bond {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (source, destination) = self.ends;
        let rest = u64::from(self.request) << 2 | (self.mode as u64) << 1 | self.family as u64;
        state.write_u64(mixed(source, destination, rest));
    }
}

impl Bond {
    pub(crate) fn of(sa: &Sa) -> Bond {
        Bond { ends: sa.ends, request: sa.request, mode: sa.mode, family: sa.family }
    }
}

impl Wanted {
    pub(crate) fn of(template: &Template) -> Wanted {
        let Template { request, mode, ends, spi } = *template;
        let numbers =
            ends.map(|(source, destination)| (address::number(source), address::number(destination)));
        Wanted {
            ends: numbers.unwrap_or_default(),
            request,
            spi,
            mode,
            family: ends.map(|(source, _)| Family::of(source)),
        }
    }

    /// Whether the SA is in transport mode, so that packets keep their own headers of IP.
    pub(crate) fn is_transport(&self) -> bool {
        self.mode == Mode::Transport
    }

    /// The bond of the SAs that it asks for; if it names no ends, they are those of the packet.
    #[inline]
    pub(crate) fn bond(&self, flow: &Flow) -> Bond {
        let (ends, family) = match self.family {
            Some(family) => (self.ends, family),
            None => ((flow.source, flow.destination), flow.family),
        };
        Bond { ends, request: self.request, mode: self.mode, family }
    }

    /// Whether an SA is what the template asks for. The SA's ends count as they were added: a peer behind NAT that
    /// moved is still the one that was meant.
    #[inline]
    pub(crate) fn fits(&self, sa: &Sa) -> bool {
        // A packet that arrived may have come by any SA if a policy names no request.
        let is_any = self.request == 0 && sa.direction == Direction::In;
        (is_any || self.request == sa.request)
            && self.mode == sa.mode
            && self.spi.is_none_or(|spi| spi == sa.spi)
            && self.family.is_none_or(|family| family == sa.family && self.ends == sa.ends)
    }
}
