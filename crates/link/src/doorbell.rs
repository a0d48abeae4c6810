//! The doorbell: how a card sleeps, and how a client wakes it.
//!
//! A card has one doorbell: a datagram socket bound in the home's run folder. A client holds a
//! connected socket of its own, made by the daemon, and sends one byte when the card's status page
//! says that the card sleeps. A full socket means that it has been rung already. The card never
//! sleeps on words of its queues, of which it has thousands, nor on anything that a client could
//! block or keep quiet.
//!
//! Datagrams are discarded unread: a datagram says only "look". A client that rings without end
//! costs its card a wake-up each time, and no client its turn.

use crate::address;
use crate::clock::{ns_to_tsc, tsc, tsc_to_ns};
use crate::process::timespec;
use crate::protocol;
use crate::status::{Counter, StatusPage};
use crate::world;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wire::bounds::CONTROL_DESCRIPTORS_MAX;
use wire::control::PollMode;

/// How long a card that may spin polls for work before it sleeps, in nanoseconds: about the cost of
/// sleeping and being woken.
pub const CARD_SPIN_NS: u64 = 10_000;
/// How long it polls if work of late came back within this time, in nanoseconds. A client that was
/// woken by its answers needs some tens of microseconds until it sends the next requests. A card
/// that sleeps by then would make both sides sleep and be woken for ever.
pub const CARD_SPIN_LONG_NS: u64 = 50_000;
/// How many short gaps a card remembers: after a burst, the number of halvings until it spins only
/// shortly again.
const GAPS_MAX: u32 = 8;
/// At most this many other descriptors are watched by a sleeping card.
pub const EXTRA_DESCRIPTORS_MAX: usize = 2 * CONTROL_DESCRIPTORS_MAX;
/// At most this many datagrams are discarded after one wake-up; the others wake the card again.
const DRAIN_MAX: usize = 64;
/// How often a spinning card polls its other descriptors, in nanoseconds.
const EXTRA_EVERY_NS: u64 = 50_000;

/// Why a card stopped waiting; all false or zero after a timeout or a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// The caller's check found work.
    pub work: bool,
    /// The doorbell was rung; there may be work.
    pub rung: bool,
    /// Bit `n`: the `n`-th other descriptor is readable, closed or broken.
    pub extra: u64,
}

/// A card's doorbell.
#[derive(Debug)]
pub struct Doorbell {
    socket: OwnedFd,
    /// The ticks of [`PollMode::Every`] are counted from here.
    made: Instant,
    gaps: Gaps,
}

/// How soon work has come back of late.
#[derive(Debug, Default)]
struct Gaps {
    /// Counted up by a short gap, and halved by a long one. Touched by the card's thread only.
    short: AtomicU32,
}

impl Gaps {
    /// How long to look for work before sleeping, in nanoseconds.
    fn spin_ns(&self) -> u64 {
        if self.short.load(Ordering::Relaxed) == 0 { CARD_SPIN_NS } else { CARD_SPIN_LONG_NS }
    }

    /// Takes note that work came this long after the card had none.
    fn saw(&self, gap_ns: u64) {
        let short = self.short.load(Ordering::Relaxed);
        let short = if gap_ns <= CARD_SPIN_LONG_NS { (short + 1).min(GAPS_MAX) } else { short / 2 };
        self.short.store(short, Ordering::Relaxed);
    }
}

impl Doorbell {
    /// Binds a doorbell at a path, replacing a socket that lies there; only this user can connect.
    /// The daemon does this and hands the socket to the card.
    ///
    /// # Errors
    /// Of the system calls; `AlreadyExists` if something other than a socket lies there.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let socket = address::bind(path, SocketType::DGRAM)?;
        Ok(Self { socket, made: world::now(), gaps: Gaps::default() })
    }

    /// Takes a doorbell that was handed over.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a datagram socket.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        match rustix::net::sockopt::socket_type(&socket) {
            Ok(SocketType::DGRAM) => Ok(Self { socket, made: world::now(), gaps: Gaps::default() }),
            Ok(_) | Err(Errno::NOTSOCK) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "a doorbell is a datagram socket"))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// The socket, to be handed over.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// A client's end of the doorbell that is bound at this path.
    ///
    /// # Errors
    /// Of the system calls; `ConnectionRefused` if the card is gone.
    pub fn connect(path: &Path) -> io::Result<OwnedFd> {
        address::connect(path, SocketType::DGRAM)
    }

    /// Waits, as `mode` says, until `pending` finds work, another descriptor is ready, or the timeout
    /// has passed.
    ///
    /// `pending` must look at every queue ([`crate::CardQueue::pending`]), and is called many
    /// times. `spin` tells [`PollMode::Adaptive`] whether it may spin: false if the clients of late
    /// share this processor ([`crate::CardQueue::client_is_elsewhere`]). [`PollMode::Every`] looks
    /// at whole multiples of its interval since the doorbell was made or taken over. Also publishes
    /// in the status page which processor the card runs on.
    ///
    /// # Errors
    /// Of the system calls.
    pub fn wait(
        &self,
        status: &StatusPage,
        mode: PollMode,
        spin: bool,
        extra: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
        mut pending: impl FnMut() -> bool,
    ) -> io::Result<Woken> {
        let woken = match mode {
            PollMode::Spin => self.spin(status, extra, timeout, &mut pending)?,
            PollMode::Adaptive if spin => {
                let begin = tsc();
                let bound = Duration::from_nanos(self.gaps.spin_ns());
                let woken = if spin_until(status, bound, &mut pending) {
                    Woken { work: true, ..Woken::default() }
                } else {
                    self.sleep(status, extra, timeout, pending)?
                };
                if woken.work || woken.rung {
                    self.gaps.saw(tsc_to_ns(tsc().wrapping_sub(begin)));
                }
                woken
            }
            PollMode::Adaptive | PollMode::Sleep => self.sleep(status, extra, timeout, pending)?,
            PollMode::Every { interval_us } => {
                let interval = Duration::from_micros(u64::from(interval_us.max(1)));
                tick(interval, self.made, extra, timeout, &mut pending)?
            }
        };
        if let Some(processor) = current_processor() {
            status.set_processor(processor);
        }
        Ok(woken)
    }

    /// Sleeps until the doorbell rings, another descriptor is ready, or the timeout has passed. It
    /// does not sleep if `pending` finds work after the sleep was announced.
    ///
    /// # Errors
    /// Of the system calls.
    ///
    /// # Panics
    /// If there are more than [`EXTRA_DESCRIPTORS_MAX`] other descriptors.
    pub fn sleep(
        &self,
        status: &StatusPage,
        extra: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
        mut pending: impl FnMut() -> bool,
    ) -> io::Result<Woken> {
        protocol::announce_sleep(status.asleep());
        world::step("announce sleep");
        if pending() {
            protocol::announce_awake(status.asleep());
            return Ok(Woken { work: true, ..Woken::default() });
        }
        status.add(Counter::Sleeps, 1);
        let woken = self.poll(extra, timeout);
        protocol::announce_awake(status.asleep());
        let woken = woken?;
        if woken.rung {
            status.add(Counter::Wakeups, 1);
            self.drain();
        }
        Ok(woken)
    }

    fn spin(
        &self,
        status: &StatusPage,
        extra: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
        pending: &mut impl FnMut() -> bool,
    ) -> io::Result<Woken> {
        let begin = world::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(world::elapsed(begin)));
            let span = left.unwrap_or(Duration::MAX).min(Duration::from_nanos(EXTRA_EVERY_NS));
            if spin_until(status, span, pending) {
                return Ok(Woken { work: true, ..Woken::default() });
            }
            let extra = poll_extra(extra, Duration::ZERO)?;
            if extra != 0 || left.is_some_and(|left| left <= span) {
                return Ok(Woken { extra, ..Woken::default() });
            }
        }
    }

    fn poll(&self, extra: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Woken> {
        assert!(extra.len() <= EXTRA_DESCRIPTORS_MAX, "too many descriptors beside the doorbell");
        let mut fds: [PollFd<'_>; EXTRA_DESCRIPTORS_MAX + 1] =
            std::array::from_fn(|_| PollFd::new(&self.socket, PollFlags::IN));
        for (at, fd) in extra.iter().enumerate() {
            fds[at + 1] = PollFd::from_borrowed_fd(*fd, PollFlags::IN);
        }
        let fds = &mut fds[..=extra.len()];
        let timeout = timeout.map(timespec);
        match world::poll(fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Woken::default()),
            Err(errno) => return Err(errno.into()),
        }
        let rung = !fds[0].revents().is_empty();
        Ok(Woken { work: false, rung, extra: ready(&fds[1..]) })
    }

    fn drain(&self) {
        let mut byte = [0; 1];
        for _ in 0..DRAIN_MAX {
            // Without a place for control messages the kernel closes descriptors sent along.
            if rustix::net::recv(&self.socket, &mut byte, RecvFlags::DONTWAIT).is_err() {
                return;
            }
        }
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Rings a doorbell. An error is ignored: the doorbell has been rung already, or the card is gone,
/// which its pidfd shows.
pub(crate) fn ring(socket: BorrowedFd<'_>) {
    world::ring(socket);
}

/// The processor that the calling thread runs on; none if unknown.
#[inline]
pub(crate) fn current_processor() -> Option<u32> {
    u32::try_from(world::processor()).ok()
}

fn spin_until(status: &StatusPage, span: Duration, pending: &mut impl FnMut() -> bool) -> bool {
    let begin = tsc();
    let bound = ns_to_tsc(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
    let mut polls = 0;
    let found = loop {
        polls += 1;
        if pending() {
            break true;
        }
        if tsc().wrapping_sub(begin) >= bound {
            break false;
        }
        std::hint::spin_loop();
    };
    status.add(Counter::Polls, polls);
    found
}

fn tick(
    interval: Duration,
    ticks: Instant,
    extra: &[BorrowedFd<'_>],
    timeout: Option<Duration>,
    pending: &mut impl FnMut() -> bool,
) -> io::Result<Woken> {
    let begin = world::now();
    loop {
        let past = world::elapsed(ticks).as_nanos() % interval.as_nanos();
        let until_tick = interval - Duration::from_nanos(past as u64);
        let left = timeout.map(|timeout| timeout.saturating_sub(world::elapsed(begin)));
        let ready = poll_extra(extra, left.map_or(until_tick, |left| left.min(until_tick)))?;
        if ready != 0 {
            return Ok(Woken { extra: ready, ..Woken::default() });
        }
        if left.is_some_and(|left| left < until_tick) {
            return Ok(Woken::default());
        }
        if pending() {
            return Ok(Woken { work: true, ..Woken::default() });
        }
    }
}

fn poll_extra(extra: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<u64> {
    let mut fds: Vec<_> = extra.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match world::poll(&mut fds, Some(&timespec(timeout))) {
        Ok(_) => Ok(ready(&fds)),
        Err(Errno::INTR) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}

fn ready(fds: &[PollFd<'_>]) -> u64 {
    let bits = fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| 1 << at);
    bits.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_spins_longer_while_work_comes_back_soon() {
        let gaps = Gaps::default();
        assert_eq!(gaps.spin_ns(), CARD_SPIN_NS);
        // A gap of a client that had to be woken: too long for the short spin, short enough for the
        // long one.
        gaps.saw(CARD_SPIN_LONG_NS);
        assert_eq!(gaps.spin_ns(), CARD_SPIN_LONG_NS);
        gaps.saw(CARD_SPIN_LONG_NS + 1);
        assert_eq!(gaps.spin_ns(), CARD_SPIN_NS);
        for _ in 0..1000 {
            gaps.saw(1_000);
        }
        let spins = (0..10).take_while(|_| {
            gaps.saw(1_000_000_000);
            gaps.spin_ns() == CARD_SPIN_LONG_NS
        });
        assert_eq!(spins.count(), 3);
    }
}
