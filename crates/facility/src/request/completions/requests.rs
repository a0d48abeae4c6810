//! The requests of a loop, by a number of the loop's own.

use crate::error::FacilityError;
use crate::reply::Reply;
use crate::request::Request;
use std::time::Instant;
use wire::Codes;
use wire::verb::Verb;

/// How far a request is.
pub(super) enum State {
    /// Labels of it are being opened.
    Labels,
    /// Waits for a queue, or a slot.
    Waiting,
    /// Goes on at this time: a card could not serve it.
    Paused(Instant),
    /// A card died with it: waits until no other suspect is in flight.
    Suspect,
    /// In a queue.
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

/// One request.
pub(super) struct Entry {
    /// The caller's number.
    pub number: u64,
    pub verb: Verb,
    /// None where nothing had to be sent.
    pub request: Option<Request>,
    pub state: State,
    /// Since when it waits.
    pub since: Instant,
}

/// All of them.
#[derive(Default)]
pub(super) struct Requests {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

impl Requests {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Adds one; its number here.
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

    /// The one of this number.
    pub fn get(&mut self, key: u32) -> Option<&mut Entry> {
        self.entries.get_mut(key as usize)?.as_mut()
    }

    /// Takes it out.
    pub fn remove(&mut self, key: u32) -> Option<Entry> {
        let entry = self.entries.get_mut(key as usize)?.take()?;
        self.free.push(key);
        Some(entry)
    }

    /// All, with their numbers here.
    pub fn all(&mut self) -> impl Iterator<Item = (u32, &mut Entry)> {
        self.entries.iter_mut().enumerate().filter_map(|(key, entry)| Some((key as u32, entry.as_mut()?)))
    }
}
