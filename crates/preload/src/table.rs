//! The descriptors of the host that stand for XFRM netlink sockets, and what is known of each.
//!
//! A bit for every descriptor tells, without a lock, whether it may be ours; nearly none is.

use crate::message::{HEADER_BYTES, Header, headers};
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bound of XFRM sockets that a process has at once.
pub const SOCKETS_MAX: usize = 64;
/// Upper bound of requests of one socket that are noted until they are answered, to be refused if the data plane ends.
pub const ASKED_MAX: usize = 16;
/// Upper bound of interest lists of epoll that are noted for one socket.
pub const WATCHES_MAX: usize = 4;
/// Descriptors from this number on are never ours.
pub const DESCRIPTORS_MAX: usize = 1 << 16;

static OURS: [AtomicU64; DESCRIPTORS_MAX / 64] = [const { AtomicU64::new(0) }; DESCRIPTORS_MAX / 64];

/// The word and the bit of a descriptor; `None` if it is negative or too high.
fn place(fd: i32) -> Option<(&'static AtomicU64, u64)> {
    let at = usize::try_from(fd).ok()?;
    Some((OURS.get(at / 64)?, 1 << (at % 64)))
}

/// Whether a descriptor may be ours.
pub fn maybe_ours(fd: i32) -> bool {
    place(fd).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
}

/// The descriptors from `first` to `last`, both included, that may be ours.
pub fn maybe_ours_between(first: u32, last: u32) -> impl Iterator<Item = i32> {
    let end = last.min(DESCRIPTORS_MAX as u32 - 1);
    (first..=end).filter_map(|fd| i32::try_from(fd).ok()).filter(|&fd| maybe_ours(fd))
}

/// The kinds of file that a descriptor of ours is open on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DescriptorState {
    /// A connection to the data plane.
    #[default]
    Connected,
    /// Refusals of requests to a data plane that has ended; then the end.
    Refusals,
    /// A notifier, which becomes readable when the data plane may be back.
    Waiting,
}

/// A descriptor's place in an interest list of epoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Descriptor of the interest list.
    pub epoll: i32,
    /// The events that are wanted.
    pub events: u32,
    /// The value that comes back with each event.
    pub data: u64,
}

/// What is known of one descriptor of ours.
#[derive(Clone, Copy, Debug)]
pub struct OpenDescriptor {
    /// Number of the descriptor.
    pub fd: i32,
    /// Device and inode of the file that it is open on: if they differ, it was closed unseen and is open on another
    /// file.
    pub identity: (u64, u64),
    /// The kind of file that it is open on.
    pub state: DescriptorState,
    /// SOCK_RAW or SOCK_DGRAM, as the host asked.
    pub kind: i32,
    /// The socket's netlink port.
    pub port: u32,
    /// Groups of events that the socket has joined, as bits.
    pub groups: u32,
    /// The socket's options, as the bits of a hello.
    pub options: u32,
    /// Whether a call has waited for the data plane in vain since the last connection.
    pub tired: bool,
    asked: [Option<Header>; ASKED_MAX],
    watches: [Option<Watch>; WATCHES_MAX],
}

impl OpenDescriptor {
    /// The entry of a socket that was just opened.
    pub const fn new(fd: i32, identity: (u64, u64), kind: i32, port: u32) -> Self {
        Self {
            fd,
            identity,
            state: DescriptorState::Connected,
            kind,
            port,
            groups: 0,
            options: 0,
            tired: false,
            asked: [None; ASKED_MAX],
            watches: [None; WATCHES_MAX],
        }
    }

    /// The entry of a copy under another number: it has no open requests, and is in no interest list.
    pub const fn copied_to(self, fd: i32) -> Self {
        Self { fd, asked: [None; ASKED_MAX], watches: [None; WATCHES_MAX], ..self }
    }

    /// Notes the requests in a datagram before it is sent. Requests beyond [`ASKED_MAX`] are not noted.
    pub fn asks(&mut self, datagram: &[u8]) {
        for header in headers(datagram).filter(Header::awaits) {
            if let Some(free) = self.asked.iter_mut().find(|place| place.is_none()) {
                *free = Some(header);
            }
        }
    }

    /// Takes back what [`OpenDescriptor::asks`] noted of a datagram.
    pub fn has_not_asked(&mut self, datagram: &[u8]) {
        for header in headers(datagram) {
            if let Some(place) = self.asked.iter_mut().rev().find(|place| **place == Some(header)) {
                *place = None;
            }
        }
    }

    /// Forgets the requests that the messages of a datagram end.
    pub fn answered(&mut self, datagram: &[u8]) {
        if datagram.len() < HEADER_BYTES {
            return;
        }
        for header in headers(datagram) {
            for place in &mut self.asked {
                if place.is_some_and(|request| header.ends(&request)) {
                    *place = None;
                }
            }
        }
    }

    /// The requests that are not answered yet.
    pub fn asked(&self) -> impl Iterator<Item = Header> + '_ {
        self.asked.iter().flatten().copied()
    }

    /// Forgets all requests.
    pub fn forget_asked(&mut self) {
        self.asked = [None; ASKED_MAX];
    }

    /// Notes an interest list, in place of an earlier note of the same list. Lists beyond [`WATCHES_MAX`] are not
    /// noted.
    pub fn watch(&mut self, watch: Watch) {
        self.unwatch(watch.epoll);
        if let Some(free) = self.watches.iter_mut().find(|place| place.is_none()) {
            *free = Some(watch);
        }
    }

    /// Notes that the descriptor has left an interest list.
    pub fn unwatch(&mut self, epoll: i32) {
        for place in &mut self.watches {
            if place.is_some_and(|watch| watch.epoll == epoll) {
                *place = None;
            }
        }
    }

    /// The interest lists that the descriptor is in.
    pub fn watches(&self) -> impl Iterator<Item = Watch> + '_ {
        self.watches.iter().flatten().copied()
    }
}

/// The entries of all descriptors that are ours.
#[derive(Debug)]
pub struct DescriptorTable {
    entries: [Option<OpenDescriptor>; SOCKETS_MAX],
}

impl DescriptorTable {
    /// A table without entries.
    pub const fn new() -> Self {
        Self { entries: [None; SOCKETS_MAX] }
    }

    /// Adds an entry, in place of an earlier one of the same descriptor. False if there is no room, or if the
    /// descriptor's number is too high.
    pub fn insert(&mut self, entry: OpenDescriptor) -> bool {
        self.remove(entry.fd);
        let (Some((word, bit)), Some(free)) =
            (place(entry.fd), self.entries.iter_mut().find(|place| place.is_none()))
        else {
            return false;
        };
        *free = Some(entry);
        word.fetch_or(bit, Ordering::Release);
        true
    }

    /// Removes the entry of a descriptor.
    pub fn remove(&mut self, fd: i32) {
        for place in &mut self.entries {
            if place.is_some_and(|entry| entry.fd == fd) {
                *place = None;
            }
        }
        if let Some((word, bit)) = place(fd) {
            word.fetch_and(!bit, Ordering::Release);
        }
    }

    /// The entry of a descriptor.
    pub fn get(&mut self, fd: i32) -> Option<&mut OpenDescriptor> {
        self.entries.iter_mut().flatten().find(|entry| entry.fd == fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(sequence: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&16u32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&0x10u16.to_ne_bytes());
        bytes[6..8].copy_from_slice(&5u16.to_ne_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        bytes
    }

    #[test]
    fn descriptors_come_and_go() {
        let mut table = DescriptorTable::new();
        assert!(table.insert(OpenDescriptor::new(60_001, (1, 2), 3, 4)) && maybe_ours(60_001));
        assert!(table.insert(OpenDescriptor { groups: 9, ..OpenDescriptor::new(60_001, (1, 3), 3, 4) }));
        assert_eq!(table.get(60_001).map(|entry| entry.groups), Some(9));
        assert_eq!(maybe_ours_between(60_000, 60_999).collect::<Vec<_>>(), [60_001]);
        table.remove(60_001);
        assert!(!maybe_ours(60_001) && table.get(60_001).is_none());
    }

    #[test]
    fn no_more_than_the_bound() {
        let mut table = DescriptorTable::new();
        for fd in 0..SOCKETS_MAX as i32 {
            assert!(table.insert(OpenDescriptor::new(61_000 + fd, (0, 0), 3, 1)));
        }
        assert!(!table.insert(OpenDescriptor::new(61_999, (0, 0), 3, 1)) && !maybe_ours(61_999));
        assert!(!DescriptorTable::new().insert(OpenDescriptor::new(DESCRIPTORS_MAX as i32, (0, 0), 3, 1)));
        assert!(!DescriptorTable::new().insert(OpenDescriptor::new(-1, (0, 0), 3, 1)) && !maybe_ours(-1));
    }

    #[test]
    fn requests_wait_until_they_are_answered() {
        let mut entry = OpenDescriptor::new(3, (0, 0), 3, 1);
        for sequence in 0..ASKED_MAX as u32 + 3 {
            entry.asks(&request(sequence));
        }
        assert_eq!(entry.asked().count(), ASKED_MAX);
        let header = headers(&request(1)).next().unwrap();
        entry.answered(&crate::message::refusal(&header, 1, 0));
        assert!(entry.asked().all(|waiting| waiting.sequence != 1));
        entry.has_not_asked(&request(0));
        assert_eq!(entry.asked().count(), ASKED_MAX - 2);
        entry.answered(&[0; 3]);
        entry.forget_asked();
        assert_eq!(entry.asked().count(), 0);
    }

    #[test]
    fn copies_have_asked_nothing() {
        let mut entry = OpenDescriptor::new(3, (0, 0), 3, 1);
        entry.asks(&request(1));
        entry.watch(Watch { epoll: 9, events: 1, data: 2 });
        let copy = entry.copied_to(4);
        assert_eq!((copy.fd, copy.asked().count(), copy.watches().count()), (4, 0, 0));
    }

    #[test]
    fn an_interest_list_is_noted_once() {
        let mut entry = OpenDescriptor::new(3, (0, 0), 3, 1);
        entry.watch(Watch { epoll: 9, events: 1, data: 2 });
        entry.watch(Watch { epoll: 9, events: 5, data: 2 });
        assert_eq!(entry.watches().collect::<Vec<_>>(), [Watch { epoll: 9, events: 5, data: 2 }]);
        entry.unwatch(9);
        assert_eq!(entry.watches().count(), 0);
    }
}
