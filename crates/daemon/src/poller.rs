//! The descriptors that the event loop polls, and what each of them means.

use crate::access::Door;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The source of a descriptor's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A socket that connections come through.
    Listener(Door),
    /// The descriptor from which the daemon reads its signals.
    Signals,
    /// The storage thread, which has finished a job.
    Storage,
    /// The thread that writes failures of PINs.
    Failures,
    /// Changes of the key store by other hosts.
    Outside,
    /// A client's connection.
    Client(u64),
    /// A card's control channel.
    CardChannel(u32),
    /// A card's process.
    CardProcess(u32),
    /// The keeper's control channel.
    KeeperChannel,
    /// The keeper's process.
    KeeperProcess,
    /// The process that owns this adopted queue, by the row of the queue.
    Owner(u32),
}

impl Source {
    fn number(self) -> u64 {
        let (kind, id) = match self {
            Self::Listener(Door::Guests) => (0, 0),
            Self::Listener(Door::Administrators) => (0, 1),
            Self::Listener(Door::Observers) => (0, 2),
            Self::Signals => (1, 0),
            Self::Storage => (2, 0),
            Self::Client(id) => (3, id & ID_MASK),
            Self::CardChannel(index) => (4, u64::from(index)),
            Self::CardProcess(index) => (5, u64::from(index)),
            Self::KeeperChannel => (6, 0),
            Self::KeeperProcess => (7, 0),
            Self::Owner(row) => (8, u64::from(row)),
            Self::Outside => (9, 0),
            Self::Failures => (10, 0),
        };
        kind << ID_BITS | id
    }

    fn from_number(number: u64) -> Option<Self> {
        let id = number & ID_MASK;
        Some(match number >> ID_BITS {
            0 if id == 0 => Self::Listener(Door::Guests),
            0 if id == 1 => Self::Listener(Door::Administrators),
            0 => Self::Listener(Door::Observers),
            1 => Self::Signals,
            2 => Self::Storage,
            3 => Self::Client(id),
            4 => Self::CardChannel(id as u32),
            5 => Self::CardProcess(id as u32),
            6 => Self::KeeperChannel,
            7 => Self::KeeperProcess,
            8 => Self::Owner(id as u32),
            9 => Self::Outside,
            10 => Self::Failures,
            _ => return None,
        })
    }
}

/// The events that a descriptor is polled for. Closing and errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Only closing and errors.
    Closing,
    /// Something to read.
    Reading,
    /// Something to read, and room to write.
    Both,
}

/// An event of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    /// The source of the event.
    pub source: Source,
    /// There is something to read.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The other end is closed, or the descriptor broken.
    pub closed: bool,
}

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// An instance that watches no descriptor yet.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(EVENTS_MAX) })
    }

    /// Watches a descriptor, or changes what it is watched for.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn watch(&self, descriptor: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Closing => EventFlags::RDHUP,
            Interest::Reading => EventFlags::RDHUP | EventFlags::IN,
            Interest::Both => EventFlags::RDHUP | EventFlags::IN | EventFlags::OUT,
        };
        let data = EventData::new_u64(source.number());
        match epoll::add(&self.epoll, descriptor.as_fd(), data, flags) {
            Err(rustix::io::Errno::EXIST) => epoll::modify(&self.epoll, descriptor.as_fd(), data, flags)?,
            other => other.map_err(|errno| home::limits::watching(errno.into()))?,
        }
        Ok(())
    }

    /// Stops watching a descriptor. Closing it is not enough if others hold duplicates of it.
    pub fn forget(&self, descriptor: impl AsFd) {
        // An error only says that the descriptor is not watched.
        let _ = epoll::delete(&self.epoll, descriptor.as_fd());
    }

    /// Waits for something to happen, at most for this long.
    ///
    /// # Errors
    /// The error of the system call that failed; an interruption by a signal is no error.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Vec<Happened>> {
        let timeout = link::world::before_wait(&self.epoll, timeout);
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let happened = self.events.iter().filter_map(|event| {
            // The structure is packed: fields are copied before use.
            let (data, flags) = (event.data, event.flags);
            Some(Happened {
                source: Source::from_number(data.u64())?,
                readable: flags.contains(EventFlags::IN),
                writable: flags.contains(EventFlags::OUT),
                closed: flags.intersects(EventFlags::HUP | EventFlags::RDHUP | EventFlags::ERR),
            })
        });
        Ok(happened.collect())
    }
}

const ID_BITS: u32 = 56;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
const EVENTS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_back() {
        for source in [
            Source::Listener(Door::Guests),
            Source::Listener(Door::Administrators),
            Source::Listener(Door::Observers),
            Source::Signals,
            Source::Storage,
            Source::Client(77),
            Source::CardChannel(3),
            Source::CardProcess(63),
            Source::KeeperChannel,
            Source::KeeperProcess,
            Source::Owner(9),
            Source::Outside,
            Source::Failures,
        ] {
            assert_eq!(Source::from_number(source.number()), Some(source));
        }
        assert_eq!(Source::from_number(u64::MAX), None);
    }

    #[test]
    fn only_what_is_watched_for_is_told() {
        let mut poller = Poller::new().unwrap();
        let (mut here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut &there, b"x").unwrap();
        poller.watch(&here, Source::Client(1), Interest::Closing).unwrap();
        assert_eq!(poller.wait(Duration::ZERO).unwrap(), []);
        poller.watch(&here, Source::Client(1), Interest::Reading).unwrap();
        let told = poller.wait(Duration::ZERO).unwrap();
        assert_eq!((told.len(), told[0].source, told[0].readable), (1, Source::Client(1), true));
        std::io::Read::read_exact(&mut here, &mut [0]).unwrap();
        drop(there);
        poller.watch(&here, Source::Client(1), Interest::Closing).unwrap();
        assert!(poller.wait(Duration::from_secs(10)).unwrap()[0].closed);
        poller.forget(&here);
        assert_eq!(poller.wait(Duration::ZERO).unwrap(), []);
    }
}
