//! What outlives the process that holds the keys: policies, reserved SPIs, and the names of SAs, without keys.
//!
//! ```text
//! | magic (8) | length of the messages (8) | messages | check (8) |
//! messages: NEWPOLICY as listings show policies, ALLOCSPI for reserved SPIs, NEWSA without algorithms for SAs
//! ```
//!
//! With the policies back, what they protect is dropped rather than sent in clear. The keys of SAs are gone. Whoever subscribes to EXPIRE is
//! told that the SAs' soft limits are reached: an IKE daemon then rekeys, over IKE, which does not need them, and deletes them, which succeeds.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipsec::{Direction, SAS_MAX, Time};

use crate::LARVAL_SECONDS;
use crate::fields::{Clock, address, family};
use crate::outbox::{Outbox, Reply, Writer};
use crate::policies::LastUses;
use crate::refusal::Refusal;
use crate::sas::write_expire;
use crate::state::{Given, Stage, State};
use crate::view::{Attributes, View, messages};
use crate::wire::{HEADER_BYTES, attribute, message, policy_info, protocol, sa_info};
use crate::xfrm::{Client, Xfrm};

/// How long lost SAs are known.
pub const LOST_SECONDS: u64 = 3600;
/// Longest journal, in bytes: all that the tables hold at most.
pub const JOURNAL_BYTES_MAX: usize = 48 << 20;

/// What a journal begins with: name and version.
const MAGIC: [u8; 8] = *b"xfrm\0\0\0\x01";
const HEAD_BYTES: usize = 16;
const CHECK_BYTES: usize = 8;

/// SAs whose keys are gone.
#[derive(Default)]
pub(crate) struct Lost {
    held: BTreeMap<(IpAddr, u32), ([u8; sa_info::BYTES], Direction)>,
    until: Time,
}

impl Lost {
    /// It is there again, or deleted; whether it was lost.
    pub(crate) fn forget(&mut self, destination: IpAddr, spi: u32) -> bool {
        self.held.remove(&(destination, spi)).is_some()
    }

    /// Whether it is lost: an update changes nothing of it.
    pub(crate) fn renew(&self, destination: IpAddr, spi: u32) -> bool {
        self.held.contains_key(&(destination, spi))
    }

    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }

    pub(crate) fn due(&self) -> Option<Time> {
        (!self.held.is_empty()).then_some(self.until)
    }

    pub(crate) fn end(&mut self, now: Time) {
        if now >= self.until {
            self.clear();
        }
    }
}

/// Why a journal is not read. Nothing of it is in the tables then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// It is none, or of another version.
    Unknown,
    /// It is cut, or longer than it says, or than [`JOURNAL_BYTES_MAX`].
    Length,
    /// Its bytes are not those that were written.
    Damaged,
    /// An entry makes no sense: it was written by something else.
    Entry {
        /// Where it begins, in bytes.
        at: usize,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the journal of policies cannot be read: ")?;
        match self {
            JournalError::Unknown => out.write_str("it is none, or of another version"),
            JournalError::Length => out.write_str("its length is not the one that it says"),
            JournalError::Damaged => out.write_str("its check does not fit its content"),
            JournalError::Entry { at } => write!(out, "the entry at byte {at} makes no sense"),
        }
    }
}

impl std::error::Error for JournalError {}

/// FNV-1a of 64 bits: against accidents, not against whoever may write the journal.
fn check(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Xfrm {
    /// What is to outlive this process. There is no key in it.
    pub fn journal(&self, now: Time, wall: u64) -> Vec<u8> {
        let (clock, uses) = (Clock { now, wall }, LastUses::new());
        let mut writer = Writer::new();
        writer.put(&MAGIC);
        writer.put(&[0; 8]);
        for entry in self.policies.oldest_first() {
            entry.write(&mut writer, message::NEWPOLICY, Reply::EVENT, &uses, clock);
        }
        for (info, direction) in self.lost.held.values() {
            write_name(&mut writer, message::NEWSA, info, *direction);
        }
        for (_, state) in self.states.iter().filter(|(_, state)| state.given.spi != 0) {
            let info = state.info(clock);
            match state.direction() {
                Some(direction) => write_name(&mut writer, message::NEWSA, &info, direction),
                None => write_name(&mut writer, message::ALLOCSPI, &info, Direction::In),
            }
        }
        let mut journal = writer.finish().to_vec();
        let length = (journal.len() - HEAD_BYTES) as u64;
        journal[MAGIC.len()..HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
        let check = check(&journal);
        journal.extend_from_slice(&check.to_le_bytes());
        journal
    }

    /// Brings back what a journal holds, into tables that are empty.
    ///
    /// # Errors
    /// [`JournalError`]; the tables are empty then.
    pub fn restore(&mut self, journal: &[u8], now: Time, wall: u64) -> Result<(), JournalError> {
        let body = journal.strip_prefix(&MAGIC).ok_or(JournalError::Unknown)?;
        if journal.len() > JOURNAL_BYTES_MAX {
            return Err(JournalError::Length);
        }
        let (said, body) = body.split_first_chunk::<8>().ok_or(JournalError::Length)?;
        let (body, sum) = body.split_last_chunk::<CHECK_BYTES>().ok_or(JournalError::Length)?;
        if u64::from_le_bytes(*said) != body.len() as u64 {
            return Err(JournalError::Length);
        }
        if u64::from_le_bytes(*sum) != check(&journal[..journal.len() - CHECK_BYTES]) {
            return Err(JournalError::Damaged);
        }
        let clock = Clock { now, wall };
        self.lost.until = now.after_seconds(LOST_SECONDS);
        let mut at = 0;
        for (header, message) in messages(body) {
            let read = match header.kind {
                message::NEWPOLICY => self.restore_policy(message, clock),
                message::NEWSA | message::ALLOCSPI => self.restore_name(header.kind, message, clock),
                _ => None,
            };
            if read.is_none() {
                return Err(self.refuse_entry(at));
            }
            at += message.len().next_multiple_of(4);
        }
        if at < body.len() {
            return Err(self.refuse_entry(at));
        }
        Ok(())
    }

    fn refuse_entry(&mut self, at: usize) -> JournalError {
        *self = Xfrm::new(self.engine, self.settings.clone());
        JournalError::Entry { at: HEAD_BYTES + at }
    }

    fn restore_policy(&mut self, message: &[u8], clock: Clock) -> Option<()> {
        let attributes = Attributes::read(message, policy_info::BYTES).ok()?;
        let info = View(message.get(HEADER_BYTES..)?);
        let put: Result<_, Refusal> = self.put_policy(info, &attributes, false, clock);
        let added = info.u64(policy_info::CURRENT + 16);
        self.policies.set_added(put.ok()?, clock.time_of(added), added);
        Some(())
    }

    fn restore_name(&mut self, kind: u16, message: &[u8], clock: Clock) -> Option<()> {
        let attributes = Attributes::read(message, sa_info::BYTES).ok()?;
        let info = View(message.get(HEADER_BYTES..)?);
        let family = family(info.u16(sa_info::FAMILY))?;
        let destination = address(info, sa_info::DESTINATION, family);
        let spi = info.spi(sa_info::SPI);
        if info.u8(sa_info::PROTOCOL) != protocol::ESP {
            return None;
        }
        if kind == message::NEWSA && self.lost.held.len() >= SAS_MAX {
            // Names that a process lost before, and its own, may be more: policies matter more than they.
            return Some(());
        }
        if kind == message::NEWSA {
            let direction = match attributes.get(attribute::SA_DIR)?.u8(0) {
                1 => Direction::In,
                _ => Direction::Out,
            };
            self.lost.held.insert((destination, spi), (info.array(0), direction));
            return Some(());
        }
        // A negotiation may go on: its SPI is still the daemon's.
        self.sad.reserve(spi..=spi, || spi).ok()?;
        let source = address(info, sa_info::SOURCE, family);
        let (mode, wanted) = (info.u8(sa_info::MODE), info.u32(sa_info::REQUEST));
        let given = Given { spi, ..Given::larval(source, destination, mode, wanted) };
        let stage = Stage::Larval(clock.now.after_seconds(LARVAL_SECONDS));
        self.states.add(State { given, stage, added: clock.wall });
        self.changed_sas();
        Some(())
    }

    /// Tells a client of lost SAs: one of each pair, for daemons rekey both by it.
    pub(crate) fn tell_lost(&mut self, client: Client, clock: Clock, out: &mut Outbox) {
        self.lost.end(clock.now);
        let request = |info: &[u8; sa_info::BYTES]| View(info).u32(sa_info::REQUEST);
        let inbound: std::collections::HashSet<u32> = self
            .lost
            .held
            .values()
            .filter(|(_, direction)| *direction == Direction::In)
            .map(|(info, _)| request(info))
            .collect();
        for (info, direction) in self.lost.held.values() {
            if *direction == Direction::In || !inbound.contains(&request(info)) {
                let mut writer = Writer::new();
                write_expire(&mut writer, Reply::EVENT, info, false);
                out.push(client, writer.finish());
            }
        }
    }
}

/// A name without keys.
fn write_name(writer: &mut Writer, kind: u16, info: &[u8; sa_info::BYTES], direction: Direction) {
    writer.begin(kind, Reply::EVENT, info);
    writer.attribute(attribute::SA_DIR, &[&[if direction == Direction::In { 1 } else { 2 }]]);
    writer.end();
}
