//! A security association (RFC 4301, 4.4.2): one direction, one key, numbers, window and limits. Threads share it.
//!
//! ```text
//!             ┌───────────── charged, numbered, window moved ─────────────┐
//!  added ──► good ──► soft: rekeying is asked for, once ──► hard: drops what comes, told once ──► removed by its owner
//! ```
//!
//! Nothing here takes a lock except the address of a peer that moved, which is read once for each run of packets of a
//! batch.

use crate::address::{self, Endpoint, Family};
use crate::congestion::DscpRule;
use crate::esp;
use crate::frame::TAIL_ROOM;
use crate::keys::Keys;
use crate::limits::{Limits, SharedLimits, Standing, Usage};
use crate::mtu::UDP_BYTES;
use crate::parameters::{Direction, FragmentRule, Mode, SaError, SaParameters, check};
use crate::replay::Window;
use crate::selector::Selector;
use crate::sequence::Numbers;
use crate::suite::Suite;
use crate::time::Time;
use engine::Engine;
use std::fmt;
use std::mem::offset_of;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

/// A security association.
///
/// Its fields stand in the order of their use: in the first cache line what look-ups compare and what decides how a
/// packet is laid out, then keys and limits, then what threads write with each run of packets, and at the end what is
/// seldom needed.
#[repr(C, align(64))]
pub struct Sa {
    /// Addresses of both ends as it was added, as numbers, from the end that seals to the one that opens.
    pub(crate) ends: (u128, u128),
    pub(crate) spi: u32,
    pub(crate) request: u32,
    /// Ports of the ends, in the same order.
    ports: (u16, u16),
    pub(crate) rules: Rules,
    pub(crate) direction: Direction,
    pub(crate) mode: Mode,
    /// Family of both ends.
    pub(crate) family: Family,
    pub(crate) suite: Suite,
    pub(crate) extended: bool,
    pub(crate) in_udp: bool,
    /// Whether its owner ended it, or a thread saw that a hard limit was reached.
    ended: AtomicBool,
    /// Whether the other end was ever seen or set at another place than it was added with; until then the lock is not
    /// taken.
    moved: AtomicBool,
    pub(crate) keys: Keys,
    pub(crate) selector: Option<Box<Selector>>,
    limits: SharedLimits,
    pub(crate) usage: Usage,
    pub(crate) numbers: Numbers,
    pub(crate) window: Option<Window>,
    pub(crate) failures: Failures,
    peer: RwLock<Peer>,
}

#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) dscp: DscpRule,
    pub(crate) dscp_in: bool,
    pub(crate) ecn: bool,
    pub(crate) fragments: FragmentRule,
    pub(crate) tfc_bytes: u16,
}

#[derive(Clone, Copy)]
struct Peer {
    known: Endpoint,
    /// The place where the peer was last seen, and reported to be.
    told: Endpoint,
}

// One cache line each: what look-ups compare, and what threads count.
const _: () = assert!(offset_of!(Sa, keys) == 64 && offset_of!(Sa, numbers) - offset_of!(Sa, usage) == 64);

/// Counts of failed packets that named an SA.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    pub(crate) replayed: AtomicU64,
    pub(crate) too_old: AtomicU64,
    pub(crate) unauthenticated: AtomicU64,
}

/// The name of an SA in events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SaName {
    /// Whether the SA opens or seals.
    pub direction: Direction,
    /// SPI of its packets.
    pub spi: u32,
    /// Address that its packets went to as it was added.
    pub destination: IpAddr,
    /// The request number by which policies know the SA.
    pub request: u32,
}

/// Counts and times of an SA's use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SaFigures {
    /// Bytes of packets before they were sealed, or after they were opened.
    pub bytes: u64,
    /// Number of packets.
    pub packets: u64,
    /// When the SA was added.
    pub added: Time,
    /// When its first packet came.
    pub first: Option<Time>,
    /// When its last packet came, to a quarter of a second.
    pub last: Option<Time>,
    /// The last sequence number that was handed out, or the highest that was taken.
    pub sequence: u64,
    /// Number of packets that came again.
    pub replayed: u64,
    /// Number of packets that came too late for the window.
    pub too_old: u64,
    /// Number of packets whose ICV was wrong.
    pub unauthenticated: u64,
}

impl Sa {
    /// Makes an SA. Weak suites are refused unless `weak_suites` is set.
    ///
    /// # Errors
    /// [`SaError`] says why; it holds nothing of the keys.
    pub fn new(engine: &Engine, parameters: &SaParameters<'_>, weak_suites: bool) -> Result<Sa, SaError> {
        let SaParameters { spi, suite, source, destination, limits, .. } = *parameters;
        check(parameters, weak_suites)?;
        let keys = Keys::new(engine, suite, parameters.keys).map_err(SaError::Key)?;
        let window = match (parameters.direction, parameters.window) {
            (Direction::Out, _) | (_, 0) => None,
            (Direction::In, size) => {
                Some(Window::after(size, parameters.number).ok_or(SaError::Window { size })?)
            }
        };
        let peer = match parameters.direction {
            Direction::In => source,
            Direction::Out => destination,
        };
        Ok(Sa {
            ends: (address::number(source.address), address::number(destination.address)),
            spi,
            request: parameters.request,
            ports: (source.port, destination.port),
            rules: Rules {
                dscp: parameters.dscp,
                dscp_in: parameters.dscp_in,
                ecn: parameters.ecn,
                fragments: parameters.fragments,
                tfc_bytes: parameters.tfc_bytes,
            },
            direction: parameters.direction,
            mode: parameters.mode,
            family: Family::of(source.address),
            suite,
            extended: parameters.extended,
            in_udp: parameters.in_udp,
            ended: AtomicBool::new(false),
            moved: AtomicBool::new(false),
            keys,
            selector: parameters.selector.map(Box::new),
            limits: SharedLimits::new(&within_suite(suite, limits)),
            usage: Usage::new(parameters.added),
            numbers: Numbers::after(parameters.number, parameters.extended),
            window,
            failures: Failures::default(),
            peer: RwLock::new(Peer { known: peer, told: peer }),
        })
    }

    /// SPI of its packets.
    pub fn spi(&self) -> u32 {
        self.spi
    }

    /// Whether the SA opens or seals.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The part of a packet that the SA protects.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The SA's algorithms.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The request number by which policies know the SA.
    pub fn request(&self) -> u32 {
        self.request
    }

    /// Whether its packets travel in UDP.
    pub fn in_udp(&self) -> bool {
        self.in_udp
    }

    /// Whether its sequence numbers have 64 bits.
    pub fn extended(&self) -> bool {
        self.extended
    }

    /// The packets that the SA is for; `None` for all that its policies allow.
    pub fn selector(&self) -> Option<&Selector> {
        self.selector.as_deref()
    }

    /// The SA's replay window; `None` if it seals, or has none.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// The SA's limits, within those of its suite.
    pub fn limits(&self) -> Limits {
        self.limits.get()
    }

    /// Sets other limits, within those of its suite. Limits that were reported are reported again if they are still
    /// reached. An SA that a thread saw reach a hard limit stays ended.
    ///
    /// # Errors
    /// [`SaError::Limits`]; nothing is changed then.
    pub fn set_limits(&self, limits: Limits) -> Result<(), SaError> {
        if limits.contradict() {
            return Err(SaError::Limits);
        }
        self.limits.set(&within_suite(self.suite, limits));
        self.usage.untell_all();
        Ok(())
    }

    /// Sets the use that the same SA had elsewhere, or before its ends changed: it counts towards the limits.
    pub fn carry_over(&self, bytes: u64, packets: u64, first: Option<Time>) {
        self.usage.set(bytes, packets, first);
    }

    /// Ends an SA that seals for good: it hands out no more numbers, whichever threads still hold it. Returns the last
    /// number that it handed out: an SA with the same key goes on from there.
    pub fn close(&self) -> u64 {
        self.expire();
        self.numbers.close()
    }

    /// Counts numbers up to this one as used, for an SA that seals.
    pub fn skip_to(&self, number: u64) {
        self.numbers.skip_to(number);
    }

    /// Addresses of both ends as it was added, from the end that seals to the one that opens. By these, policies and
    /// removals know it, wherever its peer is now.
    pub fn ends(&self) -> (IpAddr, IpAddr) {
        (address::address(self.family, self.ends.0), address::address(self.family, self.ends.1))
    }

    fn source(&self) -> Endpoint {
        Endpoint::new(address::address(self.family, self.ends.0), self.ports.0)
    }

    fn destination(&self) -> Endpoint {
        Endpoint::new(address::address(self.family, self.ends.1), self.ports.1)
    }

    /// Address and port of this end.
    #[inline]
    pub fn local(&self) -> Endpoint {
        match self.direction {
            Direction::In => self.destination(),
            Direction::Out => self.source(),
        }
    }

    /// Address and port of the other end, as last set by [`Sa::follow`].
    #[inline]
    pub fn peer(&self) -> Endpoint {
        self.places().known
    }

    #[inline]
    fn places(&self) -> Peer {
        if self.moved.load(Ordering::Acquire) {
            return *self.peer.read().unwrap_or_else(PoisonError::into_inner);
        }
        let added = match self.direction {
            Direction::In => self.source(),
            Direction::Out => self.destination(),
        };
        Peer { known: added, told: added }
    }

    /// Locks the places of the peer for a change.
    fn move_peer(&self) -> RwLockWriteGuard<'_, Peer> {
        let peer = self.peer.write().unwrap_or_else(PoisonError::into_inner);
        self.moved.store(true, Ordering::Release);
        peer
    }

    /// Sets the place of the other end: the receiver of [`crate::Event::Mapping`] does this for the SAs of both
    /// directions. False, without a change, for an address of another family.
    pub fn follow(&self, peer: Endpoint) -> bool {
        let fits = Family::of(peer.address) == self.family;
        if fits {
            *self.move_peer() = Peer { known: peer, told: peer };
        }
        fits
    }

    /// Whether this thread is the one that reports another place of the peer, which counts as reported from then on.
    pub(crate) fn is_news(&self, seen: Endpoint) -> bool {
        if seen == self.places().told || Family::of(seen.address) != self.family {
            return false;
        }
        let mut peer = self.move_peer();
        let is_news = peer.told != seen;
        peer.told = seen;
        is_news
    }

    /// Has the place of the peer reported again with the next packet, since it could not be reported.
    pub(crate) fn forget_news(&self) {
        let mut peer = self.move_peer();
        peer.told = peer.known;
    }

    /// The SA's name in events.
    pub fn name(&self) -> SaName {
        SaName { direction: self.direction, spi: self.spi, destination: self.ends().1, request: self.request }
    }

    /// Whether packets with numbers from `first` on would now leave in order: a receiver with a narrow window drops
    /// packets that too many others overtake. See [`Numbers::is_turn`].
    #[inline]
    pub fn is_turn(&self, first: u64) -> bool {
        self.numbers.is_turn(first)
    }

    /// Notes that packets with numbers up to `last` have left, or never will.
    #[inline]
    pub fn sent(&self, last: u64) {
        self.numbers.sent(last);
    }

    /// Where the SA stands within its limits at this time.
    pub fn standing(&self, now: Time) -> Standing {
        if self.is_ended() {
            return Standing::Hard;
        }
        let by_limits = self.usage.standing(&self.limits.get(), now);
        if by_limits == Standing::Hard || self.direction == Direction::In {
            return by_limits;
        }
        if self.numbers.is_at_end() {
            Standing::Hard
        } else if self.numbers.is_soft() {
            Standing::Soft
        } else {
            by_limits
        }
    }

    /// Ends the SA: it seals and opens nothing more, and the event of its hard limit is raised.
    pub fn expire(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether the SA was ended: by its owner, or by a thread that saw a hard limit reached.
    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The next time at which a limit by time is reached that was not reported, for the caller's timer.
    pub fn next_due(&self) -> Option<Time> {
        self.usage.next_due(&self.limits.get())
    }

    /// Counts and times of its use so far.
    pub fn figures(&self) -> SaFigures {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SaFigures {
            bytes: self.usage.bytes(),
            packets: self.usage.packets(),
            added: self.usage.added(),
            first: self.usage.first(),
            last: self.usage.last(),
            sequence: match (self.direction, &self.window) {
                (Direction::Out, _) => self.numbers.last(),
                (Direction::In, window) => window.as_ref().map_or(0, Window::top),
            },
            replayed: count(&self.failures.replayed),
            too_old: count(&self.failures.too_old),
            unauthenticated: count(&self.failures.unauthenticated),
        }
    }

    /// Bytes that sealing a packet of IP of `packet_bytes` bytes adds before and behind it, without the headers outside
    /// ESP. In transport mode they are upper bounds: the header of IP is taken away, unless it has options or
    /// extensions.
    pub fn room(&self, packet_bytes: usize) -> (usize, usize) {
        // A header of UDP stands between a packet's own headers and ESP.
        let is_whole = self.mode == Mode::Transport && self.in_udp;
        let before = esp::HEADER_BYTES + self.suite.iv_bytes() + if is_whole { UDP_BYTES } else { 0 };
        let behind = match self.mode {
            Mode::Tunnel => {
                let filled = packet_bytes.max(usize::from(self.rules.tfc_bytes));
                filled - packet_bytes
                    + esp::padding_bytes(self.suite, filled)
                    + esp::TRAILER_BYTES
                    + self.suite.icv_bytes()
            }
            Mode::Transport => TAIL_ROOM,
        };
        (before, behind)
    }

    /// Family of the headers outside.
    pub fn family(&self) -> Family {
        self.family
    }
}

fn within_suite(suite: Suite, limits: Limits) -> Limits {
    match suite.packets_max() {
        Some(packets) => limits.with_packets_max(packets),
        None => limits,
    }
}

impl fmt::Debug for Sa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Sa({:?} {:08x}, {}, {:?})", self.direction, self.spi, self.suite, self.mode)
    }
}
