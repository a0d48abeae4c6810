//! Addresses: their families, addresses as numbers with a prefix, and addresses with a port.

use std::net::IpAddr;

/// A version of IP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The family of an address.
    pub const fn of(address: IpAddr) -> Family {
        match address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    /// Length of an address in bits.
    pub const fn address_bits(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    /// Length of a header without options or extensions, in bytes.
    pub const fn header_bytes(self) -> usize {
        match self {
            Family::V4 => 20,
            Family::V6 => 40,
        }
    }

    /// The next-header number of a packet of this family as a payload (RFC 4303, 2.6).
    pub const fn next_header(self) -> u8 {
        match self {
            Family::V4 => 4,
            Family::V6 => 41,
        }
    }
}

/// An address as a number whose top bits are the address, so that a prefix is a mask at the same place for both
/// families.
pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address that a number stands for.
pub(crate) fn address(family: Family, number: u128) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(((number >> 96) as u32).into()),
        Family::V6 => IpAddr::V6(number.into()),
    }
}

/// The mask of a prefix of `bits` bits.
pub(crate) fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

/// An address with a port of UDP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// The address, of either family.
    pub address: IpAddr,
    /// The port; 0 if packets travel as protocol 50.
    pub port: u16,
}

impl Endpoint {
    /// An address with a port.
    pub const fn new(address: IpAddr, port: u16) -> Endpoint {
        Endpoint { address, port }
    }
}
