//! When connections of an open loop begin: at a fixed rate, whether or not earlier connections have ended.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The epoll data of the timer: no other file of the epoll instance may have this number.
pub const TIMER: u64 = u64::MAX;

/// Starts, evenly spread over time. A start that begins late keeps the time at which it was due.
pub struct Pace {
    timer: OwnedFd,
    since: Instant,
    /// Seconds from one start to the next.
    between: f64,
    /// When the first start is due, as a fraction of `between`.
    first: f64,
    /// How many starts have begun.
    begun: u64,
    /// The number of the start that the timer is set for.
    set_for: Option<u64>,
}

impl Pace {
    /// The starts of loop `number` of `loops`, which together make `rate` starts a second. Adds the timer that ends a
    /// wait to `epoll` as [`TIMER`].
    ///
    /// # Errors
    /// The [`Errno`] of timerfd_create(2) or epoll_ctl(2).
    pub fn new(epoll: &OwnedFd, rate: f64, number: usize, loops: usize) -> Result<Self, Errno> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let (between, first) = (loops as f64 / rate, number as f64 / loops as f64);
        Ok(Self { timer, since: Instant::now(), between, first, begun: 0, set_for: None })
    }

    /// When the next start is due.
    fn due(&self) -> Instant {
        self.since + Duration::from_secs_f64((self.begun as f64 + self.first) * self.between)
    }

    /// When the next start was due; `None` if that is after `now`.
    pub fn due_by(&self, now: Instant) -> Option<Instant> {
        Some(self.due()).filter(|due| *due <= now)
    }

    /// Counts the next start as begun.
    pub fn begin(&mut self) {
        self.begun += 1;
    }

    /// How many starts were due by `now` and have not begun.
    pub fn behind(&self, now: Instant) -> u64 {
        let passed = (now - self.since).as_secs_f64() / self.between - self.first;
        if passed < 0.0 { 0 } else { (passed.floor() as u64 + 1).saturating_sub(self.begun) }
    }

    /// Sets the timer to end a wait when the next start is due.
    ///
    /// # Errors
    /// The [`Errno`] of timerfd_settime(2).
    pub fn set(&mut self, now: Instant) -> Result<(), Errno> {
        if self.set_for == Some(self.begun) {
            return Ok(());
        }
        // A time of zero would stop the timer.
        let wait = self.due().saturating_duration_since(now).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let once = Itimerspec { it_interval: zero, it_value: wait };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.set_for = Some(self.begun);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll::{CreateFlags, Event};

    #[test]
    fn starts_keep_their_times_however_late_they_begin() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        // The second of two loops: at 50 ms, 150 ms, 250 ms.
        let mut pace = Pace::new(&epoll, 20.0, 1, 2).unwrap();
        let at = |ms: u64| pace.since + Duration::from_millis(ms);
        let [before, first, later, third] = [at(49), at(50), at(249), at(250)];
        assert_eq!((pace.due_by(before), pace.behind(before)), (None, 0));
        assert_eq!((pace.due_by(first), pace.behind(first)), (Some(first), 1));
        assert_eq!((pace.due_by(later), pace.behind(later)), (Some(first), 2));
        pace.begin();
        assert_eq!((pace.behind(later), pace.behind(third)), (1, 2));
        pace.begin();
        assert_eq!(pace.due_by(later), None);
        assert_eq!(pace.due_by(third), Some(third));
    }

    #[test]
    fn the_timer_ends_a_wait_once_a_start() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let mut pace = Pace::new(&epoll, 1000.0, 0, 1).unwrap();
        for _ in 0..3 {
            pace.set(Instant::now()).unwrap();
            let mut events = Vec::<Event>::with_capacity(4);
            epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
            assert_eq!(events.len(), 1);
            let data = events[0].data;
            assert_eq!(data.u64(), TIMER);
            assert!(pace.due_by(Instant::now()).is_some());
            pace.begin();
        }
    }
}
