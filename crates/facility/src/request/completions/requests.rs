//! The requests of a loop, by a number of the loop's own.

use crate::error::FacilityError;
use crate::reply::Reply;
use crate::request::Request;
use std::time::Instant;
use wire::Codes;
use wire::verb::Verb;

/// State of a request in an event loop.
pub(super) enum RequestState {
    /// Its labels are being opened.
    Labels,
    /// Waits for a queue, or a slot.
    Waiting,
    /// Goes on at this time: a card could not serve it.
    Paused(Instant),
    /// A card died with it: waits until no other suspect is in flight.
    Suspect,
    /// In a card's queue.
    InFlight,
    /// The daemon is asked, by a call of this number: to run a verb of its own, or to write tokens of this answer.
    Called { number: u64, operation: &'static str, reply: Option<Box<Reply>> },
    /// To be collected.
    Over(End),
}

/// How a request ended.
pub(super) enum End {
    /// With a reply that was read before anybody asked for it.
    Reply(Box<Reply>),
    /// With codes that no card gave.
    Codes(Codes),
    /// With an error.
    Failed(FacilityError),
}

/// One request of a loop, and its state.
pub(super) struct Entry {
    /// The caller's number.
    pub number: u64,
    pub verb: Verb,
    /// The request to a card; none if nothing had to be sent.
    pub request: Option<Request>,
    pub state: RequestState,
    /// Start of the request's wait.
    pub since: Instant,
}

/// All requests of a loop, by key.
#[derive(Default)]
pub(super) struct Requests {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

impl Requests {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Adds a request, and returns its key.
    pub fn add(&mut self, entry: Entry) -> u32 {
        match self.free.pop() {
            Some(key) => {
                self.entries[key as usize] = Some(entry);
                key
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() as u32 - 1
            }
        }
    }

    /// The request of this key.
    pub fn get(&mut self, key: u32) -> Option<&mut Entry> {
        self.entries.get_mut(key as usize)?.as_mut()
    }

    /// Removes the request of this key, and returns it.
    pub fn remove(&mut self, key: u32) -> Option<Entry> {
        let entry = self.entries.get_mut(key as usize)?.take()?;
        self.free.push(key);
        Some(entry)
    }

    /// All requests, with their keys.
    pub fn all(&mut self) -> impl Iterator<Item = (u32, &mut Entry)> {
        self.entries.iter_mut().enumerate().filter_map(|(key, entry)| Some((key as u32, entry.as_mut()?)))
    }
}
