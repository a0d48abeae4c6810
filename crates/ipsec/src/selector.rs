//! The traffic that a policy or an SA is for (RFC 4301, 4.4.1.1), in the form of the kernel's interface.

use crate::address::{self, Family};
use crate::hash::mixed;
use crate::inner::Flow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    /// An address that begins with these bits; its other bits do not count.
    pub address: IpAddr,
    /// Number of bits that count: 0 for all addresses, 32 or 128 for one.
    pub bits: u8,
}

impl Prefix {
    /// Addresses whose first `bits` are those of `address`.
    pub const fn new(address: IpAddr, bits: u8) -> Prefix {
        Prefix { address, bits }
    }

    /// The prefix of exactly one address.
    pub const fn one(address: IpAddr) -> Prefix {
        Prefix { address, bits: Family::of(address).address_bits() }
    }
}

/// Ports whose bits under the mask are the same: 0 with mask 0 for all, a port with mask 0xffff for one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ports {
    /// A port whose bits under the mask are these; its other bits do not count.
    pub port: u16,
    /// Mask of the bits that count.
    pub mask: u16,
}

impl Ports {
    /// All ports.
    pub const ALL: Ports = Ports { port: 0, mask: 0 };

    /// Exactly one port.
    pub const fn one(port: u16) -> Ports {
        Ports { port, mask: u16::MAX }
    }
}

/// The fields of a selector as typed or received, not checked yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectorFields {
    /// Addresses that packets come from.
    pub source: Prefix,
    /// Addresses that packets go to.
    pub destination: Prefix,
    /// The protocol above IP; `None` for all.
    pub protocol: Option<u8>,
    /// Ports of the source; types of ICMP.
    pub source_ports: Ports,
    /// Ports of the destination; codes of ICMP.
    pub destination_ports: Ports,
}

/// Why fields make no selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SelectorError {
    /// The prefix has more bits than an address of its family.
    PrefixBits {
        /// Number of bits that was given.
        bits: u8,
        /// Family of the prefix.
        family: Family,
    },
    /// Source and destination are of two families.
    Families,
    /// Ports are given, and the protocol has none.
    PortsWithoutProtocol {
        /// The protocol; `None` for all.
        protocol: Option<u8>,
    },
}

/// Traffic of one family. Selectors are equal if they match the same packets by the same bits: bits that do not count
/// are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Selector {
    pub(crate) shape: Shape,
    pub(crate) value: Masked,
}

/// The bits of a flow that count for a selector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape {
    pub(crate) family: Family,
    source_bits: u8,
    destination_bits: u8,
    has_protocol: bool,
    source_mask: u16,
    destination_mask: u16,
}

/// A flow of which only the bits that count are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Masked {
    source: u128,
    destination: u128,
    protocol: u8,
    source_port: u16,
    destination_port: u16,
}

impl Masked {
    /// The bits of these fields that count for another shape, all of whose bits their own shape has.
    pub(crate) fn under(&self, shape: &Shape) -> Masked {
        shape.of(&Flow {
            family: shape.family,
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            source_port: self.source_port,
            destination_port: self.destination_port,
        })
    }
}

impl Hash for Masked {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let rest = u64::from(self.protocol) << 32
            | u64::from(self.source_port) << 16
            | u64::from(self.destination_port);
        state.write_u64(mixed(self.source, self.destination, rest));
    }
}

impl Shape {
    /// Whether this shape tells pieces of one packet apart: by ports, which only the first piece has, and with IPv6 by
    /// the protocol, which each piece states for itself (RFC 8200, 4.5).
    pub(crate) fn is_of_whole_packets(&self) -> bool {
        self.source_mask | self.destination_mask != 0 || self.family == Family::V6 && self.has_protocol
    }

    /// The part of the shape that every piece of a packet shows.
    pub(crate) fn of_pieces(self) -> Shape {
        let has_protocol = self.has_protocol && self.family == Family::V4;
        Shape { has_protocol, source_mask: 0, destination_mask: 0, ..self }
    }

    /// The bits of a flow that count.
    #[inline]
    pub(crate) fn of(&self, flow: &Flow) -> Masked {
        Masked {
            source: flow.source & address::mask(self.source_bits),
            destination: flow.destination & address::mask(self.destination_bits),
            protocol: if self.has_protocol { flow.protocol } else { 0 },
            source_port: flow.source_port & self.source_mask,
            destination_port: flow.destination_port & self.destination_mask,
        }
    }
}

impl Selector {
    /// All traffic of a family.
    pub fn all(family: Family) -> Selector {
        let any = Prefix::new(address::address(family, 0), 0);
        let fields = SelectorFields {
            source: any,
            destination: any,
            protocol: None,
            source_ports: Ports::ALL,
            destination_ports: Ports::ALL,
        };
        Selector::new(&fields).expect("no bits are within every address")
    }

    /// Checks fields, and makes a selector of them.
    ///
    /// # Errors
    /// [`SelectorError`] says what makes no sense.
    pub fn new(fields: &SelectorFields) -> Result<Selector, SelectorError> {
        let SelectorFields { source, destination, protocol, source_ports, destination_ports } = *fields;
        let family = Family::of(source.address);
        if family != Family::of(destination.address) {
            return Err(SelectorError::Families);
        }
        if let Some(prefix) = [source, destination].iter().find(|prefix| prefix.bits > family.address_bits())
        {
            return Err(SelectorError::PrefixBits { bits: prefix.bits, family });
        }
        // Types and codes of ICMP count as ports.
        let has_ports = matches!(protocol, Some(1 | 6 | 17 | 33 | 58 | 132 | 135 | 136));
        if (source_ports.mask != 0 || destination_ports.mask != 0) && !has_ports {
            return Err(SelectorError::PortsWithoutProtocol { protocol });
        }
        let shape = Shape {
            family,
            source_bits: source.bits,
            destination_bits: destination.bits,
            has_protocol: protocol.is_some(),
            source_mask: source_ports.mask,
            destination_mask: destination_ports.mask,
        };
        let value = shape.of(&Flow {
            family,
            source: address::number(source.address),
            destination: address::number(destination.address),
            protocol: protocol.unwrap_or(0),
            source_port: source_ports.port,
            destination_port: destination_ports.port,
        });
        Ok(Selector { shape, value })
    }

    /// The fields that it was made of, with zeros for bits that do not count.
    pub fn fields(&self) -> SelectorFields {
        let Selector { shape, value } = self;
        let prefix = |number, bits| Prefix::new(address::address(shape.family, number), bits);
        SelectorFields {
            source: prefix(value.source, shape.source_bits),
            destination: prefix(value.destination, shape.destination_bits),
            protocol: shape.has_protocol.then_some(value.protocol),
            source_ports: Ports { port: value.source_port, mask: shape.source_mask },
            destination_ports: Ports { port: value.destination_port, mask: shape.destination_mask },
        }
    }

    /// Version of IP.
    pub fn family(&self) -> Family {
        self.shape.family
    }

    /// Whether the selector selects a packet of this flow.
    #[inline]
    pub fn matches(&self, flow: &Flow) -> bool {
        self.shape.family == flow.family && self.shape.of(flow) == self.value
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectorError::PrefixBits { bits, family } => {
                write!(out, "a prefix of {bits} bits, where an address has {}", family.address_bits())
            }
            SelectorError::Families => out.write_str("source and destination are of two families"),
            SelectorError::PortsWithoutProtocol { protocol: Some(protocol) } => {
                write!(out, "ports are selected, and protocol {protocol} has none")
            }
            SelectorError::PortsWithoutProtocol { protocol: None } => {
                out.write_str("ports are selected without a protocol")
            }
        }
    }
}

impl std::error::Error for SelectorError {}
