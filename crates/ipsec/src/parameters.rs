//! The parameters of an SA, and the check that an SA can be made of them.

use crate::address::{Endpoint, Family};
use crate::congestion::DscpRule;
use crate::keys::KeyBytes;
use crate::limits::Limits;
use crate::replay::Window;
use crate::selector::Selector;
use crate::suite::{Suite, Weakness};
use crate::time::Time;
use engine::KeyError;
use std::fmt;
use std::net::IpAddr;

/// Which packets an SA is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// The SA opens packets that come in.
    In,
    /// The SA seals packets that go out.
    Out,
}

/// The part of a packet that an SA protects (RFC 4303, 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// The whole packet.
    Tunnel,
    /// The part above IP; the packet's own header of IP stays outside.
    Transport,
}

/// Whether routers may cut the packets outside (RFC 4301, 8.1). It has no meaning with IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FragmentRule {
    /// As the packet inside says: for IPv4 its DF; a packet of IPv6 must not be cut.
    #[default]
    Copy,
    /// Routers must not cut the packets outside (DF is set).
    Never,
    /// Routers may cut packets outside that are of IPv4 (DF is clear).
    Always,
}

/// The parameters of an SA.
#[derive(Clone, Copy)]
pub struct SaParameters<'a> {
    /// The SPI, 256 or more (RFC 4303, 2.1).
    pub spi: u32,
    /// Whether the SA opens or seals.
    pub direction: Direction,
    /// The part of a packet that the SA protects.
    pub mode: Mode,
    /// The SA's algorithms.
    pub suite: Suite,
    /// The SA's keys, of the lengths that the suite asks for.
    pub keys: KeyBytes<'a>,
    /// The end that seals.
    pub source: Endpoint,
    /// The end that opens.
    pub destination: Endpoint,
    /// Whether packets travel in UDP (RFC 3948), under the ports of both ends, or as protocol 50, without ports.
    pub in_udp: bool,
    /// Whether sequence numbers are extended to 64 bits.
    pub extended: bool,
    /// Numbers that the replay window holds: [`crate::WINDOW_MIN`] to [`crate::WINDOW_MAX`], or 0 for none. It has no
    /// meaning outbound.
    pub window: u32,
    /// The SA's lifetime, soft and hard.
    pub limits: Limits,
    /// The packets that the SA is for; `None` for all that its policies allow.
    pub selector: Option<Selector>,
    /// The request number by which policies know the SA.
    pub request: u32,
    /// DSCP of the header outside; for the packet inside, see `dscp_in`.
    pub dscp: DscpRule,
    /// Whether an opened packet takes the DSCP that was outside.
    pub dscp_in: bool,
    /// Whether ECN is carried over (RFC 6040); without it the header outside says Not-ECT.
    pub ecn: bool,
    /// Whether routers may cut the packets that the SA seals.
    pub fragments: FragmentRule,
    /// Length in bytes up to which every packet of tunnel mode is filled before it is padded (TFC padding, RFC 4303,
    /// 2.7); 0 for none.
    pub tfc_bytes: u16,
    /// The last number that was handed out, or the highest that was taken; 0 unless the SA was elsewhere before.
    pub number: u64,
    /// When the SA was added.
    pub added: Time,
}

impl<'a> SaParameters<'a> {
    /// Parameters for tunnel mode as protocol 50, without limits, with a window of 64 numbers.
    pub fn tunnel(
        spi: u32,
        direction: Direction,
        suite: Suite,
        keys: KeyBytes<'a>,
        ends: (IpAddr, IpAddr),
    ) -> SaParameters<'a> {
        SaParameters {
            spi,
            direction,
            mode: Mode::Tunnel,
            suite,
            keys,
            source: Endpoint::new(ends.0, 0),
            destination: Endpoint::new(ends.1, 0),
            in_udp: false,
            extended: false,
            window: 64,
            limits: Limits::default(),
            selector: None,
            request: 0,
            dscp: DscpRule::Copy,
            dscp_in: false,
            ecn: true,
            fragments: FragmentRule::Copy,
            tfc_bytes: 0,
            number: 0,
            added: Time::default(),
        }
    }
}

/// Why an SA cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SaError {
    /// SPIs below 256 are reserved.
    ReservedSpi {
        /// The SPI that was given.
        spi: u32,
    },
    /// The key of the cipher has another length than the suite's.
    EncryptionKey {
        /// The suite of the SA.
        suite: Suite,
        /// Length of the key that was given, in bytes.
        bytes: usize,
    },
    /// The key of the MAC has another length than the suite's.
    IntegrityKey {
        /// The suite of the SA.
        suite: Suite,
        /// Length of the key that was given, in bytes.
        bytes: usize,
    },
    /// The setting for weak suites is off.
    Weak {
        /// The suite of the SA.
        suite: Suite,
        /// Why it is weak.
        why: Weakness,
    },
    /// A replay window of a size that is not served.
    Window {
        /// The size that was given.
        size: u32,
    },
    /// Extended sequence numbers cannot be told apart without a window (RFC 4303, 3.3.3).
    ExtendedWithoutWindow,
    /// The ends are of two families.
    Families,
    /// The SA is in UDP, and a port is 0.
    Port,
    /// The number has more than 32 bits, and numbers are not extended.
    Number,
    /// A soft limit lies beyond its hard one.
    Limits,
    /// The DSCP has more than six bits.
    Dscp {
        /// The DSCP that was given.
        dscp: u8,
    },
    /// In transport mode the selector must be of the ends' family, and is not.
    Selector,
    /// The engine refused the key.
    Key(KeyError),
}

/// Refuses parameters of which no SA can be made; `weak_suites` says whether weak suites may be used.
pub(crate) fn check(parameters: &SaParameters<'_>, weak_suites: bool) -> Result<(), SaError> {
    let SaParameters { spi, suite, keys, source, destination, window, .. } = *parameters;
    if spi < SPI_MIN {
        return Err(SaError::ReservedSpi { spi });
    }
    if keys.encryption.len() != suite.encryption_key_bytes() {
        return Err(SaError::EncryptionKey { suite, bytes: keys.encryption.len() });
    }
    if keys.integrity.len() != suite.integrity_key_bytes() {
        return Err(SaError::IntegrityKey { suite, bytes: keys.integrity.len() });
    }
    if let Some(why) = suite.weakness().filter(|_| !weak_suites) {
        return Err(SaError::Weak { suite, why });
    }
    let family = Family::of(source.address);
    if family != Family::of(destination.address) {
        return Err(SaError::Families);
    }
    if parameters.in_udp && (source.port == 0 || destination.port == 0) {
        return Err(SaError::Port);
    }
    if parameters.direction == Direction::In {
        if window != 0 && Window::new(window).is_none() {
            return Err(SaError::Window { size: window });
        }
        if window == 0 && parameters.extended {
            return Err(SaError::ExtendedWithoutWindow);
        }
    }
    if !parameters.extended && parameters.number > u64::from(u32::MAX) {
        return Err(SaError::Number);
    }
    if parameters.limits.contradict() {
        return Err(SaError::Limits);
    }
    if let DscpRule::Set(dscp) = parameters.dscp
        && dscp > 63
    {
        return Err(SaError::Dscp { dscp });
    }
    let other_family = |selector: &Selector| selector.family() != family;
    if parameters.mode == Mode::Transport && parameters.selector.as_ref().is_some_and(other_family) {
        return Err(SaError::Selector);
    }
    Ok(())
}

/// Lowest SPI that is not reserved.
pub const SPI_MIN: u32 = 256;

impl fmt::Display for SaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaError::ReservedSpi { spi } => {
                write!(out, "SPI {spi} is reserved: it must be {SPI_MIN} or more")
            }
            SaError::EncryptionKey { suite, bytes } => write!(
                out,
                "the encryption key of {suite} has {} bytes, not {bytes}",
                suite.encryption_key_bytes()
            ),
            SaError::IntegrityKey { suite, bytes } => write!(
                out,
                "the integrity key of {suite} has {} bytes, not {bytes}",
                suite.integrity_key_bytes()
            ),
            SaError::Weak { suite, why } => {
                write!(out, "{suite} is weak, for {}: enable weak suites to use it", why.name())
            }
            SaError::Window { size } => write!(
                out,
                "a replay window has {} to {} numbers, or none, not {size}",
                crate::WINDOW_MIN,
                crate::WINDOW_MAX
            ),
            SaError::ExtendedWithoutWindow => out.write_str("extended sequence numbers need a replay window"),
            SaError::Families => out.write_str("its ends are of two families"),
            SaError::Port => out.write_str("in UDP both ends have a port"),
            SaError::Number => out.write_str("its sequence number has more than 32 bits"),
            SaError::Limits => out.write_str("a soft limit lies behind its hard one"),
            SaError::Dscp { dscp } => write!(out, "a DSCP is at most 63, not {dscp}"),
            SaError::Selector => out.write_str("the selector is not of the family of a transport SA"),
            SaError::Key(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SaError {}
