//! Fields of structures: addresses, selectors, lifetimes and times, from and to the types of `ipsec`.

use crate::refusal::Refusal;
use crate::view::View;
use crate::wire::{
    ADDRESS_BYTES, AF_INET, AF_INET6, AF_UNSPEC, CURRENT_BYTES, LIFETIME_BYTES, errno, selector,
};
use ipsec::{Family, Flow, Limit, Limits, Ports, Prefix, Selector, SelectorError, SelectorFields, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// The present time as the caller counts it, and as the wall clock shows it, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Time,
    pub(crate) wall: u64,
}

impl Clock {
    /// The wall clock's time for a time of the caller's.
    pub(crate) fn wall_of(&self, time: Time) -> u64 {
        self.wall.saturating_sub(self.now.since(time).as_secs())
    }

    /// The caller's time for a time of the wall clock; the caller's first instant for everything before it.
    pub(crate) fn time_of(&self, wall: u64) -> Time {
        let past = Duration::from_secs(self.wall.saturating_sub(wall));
        Time(self.now.0.saturating_sub(past))
    }
}

/// An address in its field of sixteen bytes.
pub(crate) fn address_field(address: IpAddr) -> [u8; ADDRESS_BYTES] {
    let mut field = [0; ADDRESS_BYTES];
    match address {
        IpAddr::V4(address) => field[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => field = address.octets(),
    }
    field
}

/// The address of this family in a field at `at`.
pub(crate) fn address(view: View<'_>, at: usize, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from(view.array::<4>(at)).into(),
        Family::V6 => Ipv6Addr::from(view.array::<ADDRESS_BYTES>(at)).into(),
    }
}

/// The family of a number; `None` for any other than the two.
pub(crate) fn family(number: u16) -> Option<Family> {
    match number {
        AF_INET => Some(Family::V4),
        AF_INET6 => Some(Family::V6),
        _ => None,
    }
}

/// The number of a family.
pub(crate) fn family_number(family: Family) -> u16 {
    match family {
        Family::V4 => AF_INET,
        Family::V6 => AF_INET6,
    }
}

/// A selector as it was given, which listings give back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawSelector(pub(crate) [u8; selector::BYTES]);

impl RawSelector {
    pub(crate) fn read(view: View<'_>, at: usize) -> RawSelector {
        RawSelector(view.array(at))
    }

    fn view(&self) -> View<'_> {
        View(&self.0)
    }

    pub(crate) fn family_number(&self) -> u16 {
        self.view().u16(selector::FAMILY)
    }

    pub(crate) fn set_family(&mut self, number: u16) {
        self.0[selector::FAMILY..selector::FAMILY + 2].copy_from_slice(&number.to_ne_bytes());
    }

    /// Refuses a prefix that has more bits than an address of the family.
    pub(crate) fn check_prefixes(&self) -> Result<(), Refusal> {
        let view = self.view();
        let bits = view.u8(selector::DESTINATION_BITS).max(view.u8(selector::SOURCE_BITS));
        match self.family_number() {
            AF_INET if bits > 32 => {
                Err(Refusal::invalid("Invalid prefix length in selector (must be <= 32 for IPv4)"))
            }
            AF_INET6 if bits > 128 => {
                Err(Refusal::invalid("Invalid prefix length in selector (must be <= 128 for IPv6)"))
            }
            _ => Ok(()),
        }
    }

    /// The traffic that it selects; `None` for all traffic of no family in particular.
    pub(crate) fn selector(&self) -> Result<Option<Selector>, Refusal> {
        let view = self.view();
        if view.u32(selector::INTERFACE) != 0 {
            return Err(Refusal::new(errno::EOPNOTSUPP, "Selectors by interface are not served"));
        }
        let number = self.family_number();
        let Some(family) = family(number) else {
            // Without a family there is no prefix that could count.
            return if number == AF_UNSPEC {
                Ok(None)
            } else {
                Err(Refusal::invalid("Invalid selector family"))
            };
        };
        let prefix = |at, bits| Prefix::new(address(view, at, family), view.u8(bits));
        let ports = |at, mask| Ports { port: view.port(at), mask: view.port(mask) };
        let fields = SelectorFields {
            source: prefix(selector::SOURCE, selector::SOURCE_BITS),
            destination: prefix(selector::DESTINATION, selector::DESTINATION_BITS),
            protocol: Some(view.u8(selector::PROTOCOL)).filter(|protocol| *protocol != 0),
            source_ports: ports(selector::SOURCE_PORT, selector::SOURCE_MASK),
            destination_ports: ports(selector::DESTINATION_PORT, selector::DESTINATION_MASK),
        };
        match Selector::new(&fields) {
            Ok(selector) => Ok(Some(selector)),
            Err(SelectorError::PrefixBits { .. }) => {
                self.check_prefixes()?;
                Err(Refusal::bare(errno::EINVAL))
            }
            Err(error) => Err(Refusal::new(errno::EINVAL, error.to_string())),
        }
    }

    /// The selector of an SA; `None` if it is for all traffic of a family: in a tunnel, policies say which.
    pub(crate) fn of_sa(&self) -> Result<Option<Selector>, Refusal> {
        let all = |selector: &Selector| *selector == Selector::all(selector.family());
        Ok(self.selector()?.filter(|selector| !all(selector)))
    }

    /// The selector of exactly one flow.
    pub(crate) fn of_flow(flow: &Flow) -> RawSelector {
        let mut raw = [0; selector::BYTES];
        let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
        put(selector::DESTINATION, &address_field(flow.destination()));
        put(selector::SOURCE, &address_field(flow.source()));
        let bits = flow.family().address_bits();
        put(selector::DESTINATION_BITS, &[bits]);
        put(selector::SOURCE_BITS, &[bits]);
        put(selector::PROTOCOL, &[flow.protocol]);
        put(selector::FAMILY, &family_number(flow.family()).to_ne_bytes());
        if flow.source_port != 0 || flow.destination_port != 0 {
            put(selector::DESTINATION_PORT, &flow.destination_port.to_be_bytes());
            put(selector::DESTINATION_MASK, &[0xff; 2]);
            put(selector::SOURCE_PORT, &flow.source_port.to_be_bytes());
            put(selector::SOURCE_MASK, &[0xff; 2]);
        }
        RawSelector(raw)
    }

    /// The selector of two addresses, without protocol and ports.
    pub(crate) fn of_ends(source: IpAddr, destination: IpAddr) -> RawSelector {
        let flow = Flow::new(source, destination, 0, (0, 0));
        flow.map_or(RawSelector([0; selector::BYTES]), |flow| RawSelector::of_flow(&flow))
    }
}

/// A lifetime as it was given: eight numbers, soft and hard in turn, of bytes, packets, seconds since the addition and
/// of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawLifetime(pub(crate) [u8; LIFETIME_BYTES]);

/// XFRM_INF: no limit.
const NO_LIMIT: u64 = u64::MAX;

impl RawLifetime {
    pub(crate) fn read(view: View<'_>, at: usize) -> RawLifetime {
        RawLifetime(view.array(at))
    }

    /// A lifetime that ends `seconds` seconds after the addition and has no other limit.
    pub(crate) fn ending_after(seconds: u64) -> RawLifetime {
        let numbers = [NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, 0, seconds, 0, 0];
        let mut raw = [0; LIFETIME_BYTES];
        for (to, number) in raw.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        RawLifetime(raw)
    }

    /// Soft and hard limits. A soft limit beyond its hard one is never reached first: it counts as the hard one.
    pub(crate) fn limits(&self) -> Limits {
        let view = View(&self.0);
        let amount = |at: usize| Some(view.u64(8 * at)).filter(|limit| *limit != NO_LIMIT);
        // A limit in seconds is off at 0, a limit of an amount is not.
        let seconds = |at: usize| amount(at).filter(|limit| *limit != 0);
        let limit = |at: usize| Limit {
            bytes: amount(at),
            packets: amount(2 + at),
            seconds: seconds(4 + at),
            seconds_used: seconds(6 + at),
        };
        let (mut soft, hard) = (limit(0), limit(1));
        let within = |soft: &mut Option<u64>, hard: Option<u64>| {
            if let (Some(value), Some(hard)) = (*soft, hard) {
                *soft = Some(value.min(hard));
            }
        };
        within(&mut soft.bytes, hard.bytes);
        within(&mut soft.packets, hard.packets);
        within(&mut soft.seconds, hard.seconds);
        within(&mut soft.seconds_used, hard.seconds_used);
        Limits { soft, hard }
    }
}

/// `struct xfrm_lifetime_cur`: bytes, packets, and when something was added and first used, by the wall clock; 0 for
/// not yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Current {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) added: u64,
    pub(crate) used: u64,
}

impl Current {
    pub(crate) fn read(view: View<'_>, at: usize) -> Current {
        Current {
            bytes: view.u64(at),
            packets: view.u64(at + 8),
            added: view.u64(at + 16),
            used: view.u64(at + 24),
        }
    }

    pub(crate) fn field(&self) -> [u8; CURRENT_BYTES] {
        let mut field = [0; CURRENT_BYTES];
        let numbers = [self.bytes, self.packets, self.added, self.used];
        for (to, number) in field.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        field
    }
}

/// A fixed structure that is being filled.
pub(crate) struct Fields<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Fields<N> {
    pub(crate) fn new() -> Fields<N> {
        Fields([0; N])
    }

    /// Writes bytes at an offset within it.
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    pub(crate) fn put_u16(&mut self, at: usize, number: u16) {
        self.put(at, &number.to_ne_bytes());
    }

    pub(crate) fn put_u32(&mut self, at: usize, number: u32) {
        self.put(at, &number.to_ne_bytes());
    }

    pub(crate) fn put_address(&mut self, at: usize, address: IpAddr) {
        self.put(at, &address_field(address));
    }

    /// Writes an SPI in the network's byte order.
    pub(crate) fn put_spi(&mut self, at: usize, spi: u32) {
        self.put(at, &spi.to_be_bytes());
    }
}
