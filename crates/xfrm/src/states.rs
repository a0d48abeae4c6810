//! The table of SAs: newest first for listings, by destination and SPI for look-ups, by time for those that are being
//! negotiated.

use crate::names::{write_gone, write_state};
use crate::outbox::{Reply, Writer};
use crate::state::{Given, Stage, XfrmState};
use crate::wire::message;
use ipsec::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Number of an SA in the order of additions.
pub(crate) type StateId = u64;

/// Destination and SPI, by which an SA is looked up.
pub(crate) type Key = (IpAddr, u32);

/// Room that the record of a name has from the start, in bytes.
const NAME_BYTES: usize = 256;

#[derive(Default)]
pub(crate) struct States {
    held: BTreeMap<StateId, XfrmState>,
    by_key: HashMap<Key, StateId>,
    larval: BTreeSet<(Time, StateId)>,
    /// SPIs of larval SAs, which packets to any destination may bear.
    reserved: HashMap<u32, StateId>,
    /// Larval SAs without an SPI, by what they wait for.
    waiting: HashMap<Wanted, StateId>,
    /// Larval SAs by the number of the ACQUIRE that made them.
    by_sequence: HashMap<u32, StateId>,
    next: StateId,
    /// Records of SAs that came and went since they were last taken.
    names: Vec<u8>,
    /// Whether some of these records were not kept.
    has_lost_names: bool,
}

/// Upper bound of the records that are kept, in bytes, before everything is to be written anew: a flush of all SAs
/// fits.
const NAMES_BYTES_MAX: usize = 2 << 20;

/// Ends, mode and request number that a larval SA waits for.
type Wanted = (IpAddr, IpAddr, u8, u32);

fn wanted(given: &Given) -> Wanted {
    (given.source, given.destination, given.mode, given.request)
}

impl States {
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Number of larval SAs without an SPI: they are in no other table, so they have a bound of their own.
    pub(crate) fn without_spi(&self) -> usize {
        self.larval.len() - self.reserved.len()
    }

    /// Number of SAs whose SPI is only reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.len()
    }

    /// Whether an SPI is reserved.
    pub(crate) fn is_reserved(&self, spi: u32) -> bool {
        self.reserved.contains_key(&spi)
    }

    pub(crate) fn get(&self, id: StateId) -> Option<&XfrmState> {
        self.held.get(&id)
    }

    /// An SA, to change fields that do not decide its place in the table.
    pub(crate) fn get_mut(&mut self, id: StateId) -> Option<&mut XfrmState> {
        self.held.get_mut(&id)
    }

    pub(crate) fn find(&self, destination: IpAddr, spi: u32) -> Option<StateId> {
        self.by_key.get(&(destination, spi)).copied()
    }

    /// Adds an SA. The caller has checked that its place is free.
    pub(crate) fn add(&mut self, state: XfrmState) -> StateId {
        let id = self.next;
        self.next += 1;
        self.note(|writer| write_state(writer, &state));
        if state.given.spi != 0 {
            self.by_key.insert((state.given.destination, state.given.spi), id);
        }
        if let Stage::Larval(due) = state.stage {
            self.larval.insert((due, id));
            match state.given.spi {
                0 => self.waiting.insert(wanted(&state.given), id),
                spi => self.reserved.insert(spi, id),
            };
            if state.given.sequence != 0 {
                self.by_sequence.insert(state.given.sequence, id);
            }
        }
        self.held.insert(id, state);
        id
    }

    pub(crate) fn remove(&mut self, id: StateId) -> Option<XfrmState> {
        let state = self.held.remove(&id)?;
        if state.given.spi != 0 {
            self.note_gone(state.given.destination, state.given.spi);
            self.by_key.remove(&(state.given.destination, state.given.spi));
        }
        if let Stage::Larval(due) = state.stage {
            self.larval.remove(&(due, id));
            if self.waiting.get(&wanted(&state.given)) == Some(&id) {
                self.waiting.remove(&wanted(&state.given));
            }
            if state.given.spi != 0 {
                self.reserved.remove(&state.given.spi);
            }
            if self.by_sequence.get(&state.given.sequence) == Some(&id) {
                self.by_sequence.remove(&state.given.sequence);
            }
        }
        Some(state)
    }

    fn note(&mut self, write: impl FnOnce(&mut Writer)) {
        let mut writer = Writer::with_room(NAME_BYTES);
        write(&mut writer);
        self.names.extend_from_slice(&writer.finish());
        if self.names.len() > NAMES_BYTES_MAX {
            self.names = Vec::new();
            self.has_lost_names = true;
        }
    }

    /// Records that an SA is gone, of this process or of an earlier one.
    pub(crate) fn note_gone(&mut self, destination: IpAddr, spi: u32) {
        self.note(|writer| write_gone(writer, destination, spi));
    }

    /// Records that all SAs of an earlier process are gone.
    pub(crate) fn note_flushed(&mut self) {
        self.note(|writer| {
            writer.begin(message::FLUSHSA, Reply::EVENT, &[0]);
            writer.end();
        });
    }

    /// The records since the last call; `None` if some were not kept.
    pub(crate) fn take_names(&mut self) -> Option<Vec<u8>> {
        let names = std::mem::take(&mut self.names);
        (!std::mem::take(&mut self.has_lost_names)).then_some(names)
    }

    /// SAs with a lower number than this, the newest first.
    pub(crate) fn before(&self, id: StateId) -> impl Iterator<Item = (StateId, &XfrmState)> {
        self.held.range(..id).rev().map(|(id, state)| (*id, state))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StateId, &XfrmState)> {
        self.before(StateId::MAX)
    }

    /// The larval SA without an SPI for the same ends, mode and request number.
    pub(crate) fn find_acquired(&self, given: &Given) -> Option<StateId> {
        self.waiting.get(&wanted(given)).copied()
    }

    /// Whether an SPI is reserved for a request number: the daemon that was asked for the SA is at work on it.
    pub(crate) fn is_negotiated(&self, request: u32) -> bool {
        let mut reserved = self.reserved.values().filter_map(|id| self.get(*id));
        reserved.any(|state| state.given.request == request)
    }

    /// Larval SAs without an SPI for a mode and a request number, between these ends if they are known.
    pub(crate) fn acquired_for(
        &self,
        ends: Option<(IpAddr, IpAddr)>,
        mode: u8,
        request: u32,
    ) -> Vec<StateId> {
        if let Some((source, destination)) = ends {
            return self.waiting.get(&(source, destination, mode, request)).copied().into_iter().collect();
        }
        let found = self.waiting.iter().filter(|((_, _, of, asked), _)| (*of, *asked) == (mode, request));
        found.map(|(_, id)| *id).collect()
    }

    /// The larval SA that an ACQUIRE of this number made.
    pub(crate) fn find_sequence(&self, sequence: u32) -> Option<StateId> {
        self.by_sequence.get(&sequence).copied()
    }

    /// When the next larval SA ends.
    pub(crate) fn larval_due(&self) -> Option<Time> {
        self.larval.first().map(|(due, _)| *due)
    }

    /// A larval SA whose time is over.
    pub(crate) fn next_over(&self, now: Time) -> Option<StateId> {
        self.larval.first().filter(|(due, _)| *due <= now).map(|(_, id)| *id)
    }
}
