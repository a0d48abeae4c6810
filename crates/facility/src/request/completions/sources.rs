//! The event sources of an event loop: one descriptor for all of them, and a timer.

use link::world;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Upper bound of events taken per poll; the next poll returns the rest.
const EVENTS_MAX: usize = 64;
const ID_BITS: u32 = 56;

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The timer of the loop.
    Timer,
    /// The connection to the daemon.
    Control,
    /// The completion socket of the connection of this number.
    Completion(u64),
    /// The process of a card, by the place of a queue.
    Card(u32),
}

impl Source {
    fn number(self) -> u64 {
        let (kind, id) = match self {
            Self::Timer => (0, 0),
            Self::Control => (1, 0),
            Self::Completion(serial) => (2, serial),
            Self::Card(place) => (3, u64::from(place)),
        };
        kind << ID_BITS | id
    }

    fn from_number(number: u64) -> Option<Self> {
        let id = number & ((1 << ID_BITS) - 1);
        Some(match number >> ID_BITS {
            0 => Self::Timer,
            1 => Self::Control,
            2 => Self::Completion(id),
            3 => Self::Card(id as u32),
            _ => return None,
        })
    }
}

/// The descriptors of a loop behind one.
pub(super) struct Sources {
    epoll: OwnedFd,
    /// None in a simulation, whose time no descriptor knows: there [`super::Completions::wait`] keeps it.
    timer: Option<OwnedFd>,
    /// When the timer is to go off.
    set: Option<Instant>,
}

impl Sources {
    /// An instance that watches its timer alone.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut sources = Self { epoll, timer: None, set: None };
        if !world::is_simulated() {
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            sources.watch(&timer, Source::Timer)?;
            sources.timer = Some(timer);
        }
        Ok(sources)
    }

    /// Watches a descriptor for something to read. A process's descriptor, which stays readable once the process has
    /// ended, is reported once.
    pub fn watch(&self, descriptor: impl AsFd, source: Source) -> io::Result<()> {
        let flags = match source {
            Source::Card(_) => EventFlags::IN | EventFlags::ONESHOT,
            _ => EventFlags::IN | EventFlags::RDHUP,
        };
        let added = epoll::add(&self.epoll, descriptor, EventData::new_u64(source.number()), flags);
        added.map_err(|errno| home::limits::watching(errno.into()))
    }

    /// Stops watching. Closing alone is not enough where a child of fork holds a copy of the descriptor.
    pub fn forget(&self, descriptor: impl AsFd) {
        // An error says that it is not watched.
        let _ = epoll::delete(&self.epoll, descriptor);
    }

    /// Sources that have something to read now; does not wait.
    pub fn look(&mut self) -> Vec<Source> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::<Event>::uninit() }; EVENTS_MAX];
        // After an error, the next look finds the events.
        let events = epoll::wait(&self.epoll, &mut room, Some(&now));
        let events = events.map(|(events, _)| &*events).unwrap_or_default();
        let found: Vec<Source> = events
            .iter()
            .filter_map(|event| {
                // The structure is packed: the field is copied before use.
                let data = event.data;
                Source::from_number(data.u64())
            })
            .collect();
        if found.contains(&Source::Timer) {
            self.set = None;
            if let Some(timer) = &self.timer {
                let _ = rustix::io::read(timer, &mut [0_u8; 8][..]);
            }
        }
        found
    }

    /// Makes the descriptor readable at this time or earlier.
    pub fn wake_at(&mut self, deadline: Option<Instant>) {
        let (Some(timer), Some(deadline)) = (&self.timer, deadline) else { return };
        if self.set.is_some_and(|set| set <= deadline) {
            return;
        }
        let span = deadline.saturating_duration_since(world::now()).max(Duration::from_nanos(1));
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(span.subsec_nanos()),
            },
        };
        if timerfd_settime(timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            self.set = Some(deadline);
        }
    }
}

impl AsFd for Sources {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_back() {
        for source in [Source::Timer, Source::Control, Source::Completion(77), Source::Card(u32::MAX)] {
            assert_eq!(Source::from_number(source.number()), Some(source));
        }
        assert_eq!(Source::from_number(u64::MAX), None);
    }

    #[test]
    fn the_timer_and_what_is_watched_show_and_go() {
        let mut sources = Sources::new().unwrap();
        let (pipe, end) = rustix::pipe::pipe().unwrap();
        sources.watch(&pipe, Source::Control).unwrap();
        assert_eq!(sources.look(), []);
        rustix::io::write(&end, b"x").unwrap();
        assert_eq!(sources.look(), [Source::Control]);
        sources.forget(&pipe);
        assert_eq!(sources.look(), []);
        sources.wake_at(Some(Instant::now()));
        let mut watched = [rustix::event::PollFd::new(&sources, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut watched, None).unwrap();
        assert_eq!(sources.look(), [Source::Timer]);
        assert_eq!(sources.look(), []);
    }
}
