//! State that outlives the process that holds the keys: policies, reserved SPIs, and the names of SAs, without keys.
//!
//! ```text
//! records, the oldest first, each a message:
//!   UPDPOLICY, DELPOLICY, FLUSHPOLICY   a policy as listings show it; a removed policy, by its index; all are removed
//!   ALLOCSPI, NEWSA, DELSA, FLUSHSA     a reserved SPI; an SA without algorithms; a removed SA; all of an earlier process are removed
//! ```
//!
//! The owner of the records makes sure that they are whole. [`Keeper::keep`] gets the records of policies, each before
//! its change is made; [`Xfrm::take_names`] returns those of SAs; [`Xfrm::journal`] returns shorter records that say
//! the same as all so far.
//!
//! With the policies restored, traffic that they protect is dropped rather than sent in clear. The keys of SAs are
//! gone. Subscribers to EXPIRE are told that the soft limits of these SAs are reached: an IKE daemon then rekeys over
//! IKE, which does not need the SAs, and deletes them, which succeeds.
//!
//! [`Keeper::keep`]: crate::Keeper::keep

use crate::LARVAL_SECONDS;
use crate::client::Client;
use crate::fields::{Clock, address, family};
use crate::keeper::Unkeeping;
use crate::names::{write_name, write_state};
use crate::outbox::{Outbox, Reply, Writer};
use crate::policies::direction;
use crate::refusal::Refusal;
use crate::sas::{sa_key, write_expire};
use crate::state::{Given, Stage, XfrmState};
use crate::view::{Attributes, View, messages};
use crate::wire::{HEADER_BYTES, attribute, message, policy_id, policy_info, protocol, sa_id, sa_info};
use crate::xfrm::Xfrm;
use ipsec::{Direction, SAS_MAX, Time};
use std::fmt;
use std::net::IpAddr;

/// Seconds for which lost SAs are known.
pub const LOST_SECONDS: u64 = 3600;
/// Upper bound of a journal, in bytes: all that the tables can hold.
pub const JOURNAL_BYTES_MAX: usize = 48 << 20;
/// Upper bound of the records that are taken, in bytes: a journal, and as much behind it.
const RECORDS_BYTES_MAX: usize = 2 * JOURNAL_BYTES_MAX;

/// Why records are not taken. None of them is in the tables then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// The records are longer than [`JOURNAL_BYTES_MAX`] allows for a journal and as much behind it.
    Length,
    /// A record makes no sense: another program wrote it.
    Record {
        /// Offset at which the record begins, in bytes.
        at: usize,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Length => write!(out, "it is longer than {} bytes", RECORDS_BYTES_MAX),
            JournalError::Record { at } => write!(out, "the record at byte {at} makes no sense"),
        }
    }
}

impl std::error::Error for JournalError {}

impl Xfrm {
    /// The records that are to outlive this process, in place of all before them. They hold no key.
    pub fn journal(&self, now: Time, wall: u64) -> Vec<u8> {
        let clock = Clock { now, wall };
        let mut writer = Writer::new();
        for entry in self.policies.oldest_first() {
            writer.put(&entry.record(clock));
        }
        for (info, direction) in self.lost.held.values() {
            write_name(&mut writer, message::NEWSA, info, *direction);
        }
        for (_, state) in self.states.iter() {
            write_state(&mut writer, state);
        }
        writer.finish().to_vec()
    }

    /// Records of SAs that came and went since the last call, to be kept behind the earlier records. `None` if they are
    /// too many: then [`Xfrm::journal`] is to replace all records.
    pub fn take_names(&mut self) -> Option<Vec<u8>> {
        self.states.take_names()
    }

    /// Restores tables from records; the tables must be empty.
    ///
    /// # Errors
    /// [`JournalError`]; the tables are empty then.
    pub fn restore(&mut self, records: &[u8], now: Time, wall: u64) -> Result<(), JournalError> {
        if records.len() > RECORDS_BYTES_MAX {
            return Err(JournalError::Length);
        }
        let clock = Clock { now, wall };
        self.lost.until = now.after_seconds(LOST_SECONDS);
        let mut at = 0;
        for (header, message) in messages(records) {
            if self.restore_record(header.kind, message, clock).is_none() {
                return Err(self.refuse_record(at));
            }
            at += message.len().next_multiple_of(4);
        }
        if at < records.len() {
            return Err(self.refuse_record(at));
        }
        // These records are kept already.
        self.states.take_names();
        Ok(())
    }

    fn restore_record(&mut self, kind: u16, message: &[u8], clock: Clock) -> Option<()> {
        match kind {
            message::UPDPOLICY => self.restore_policy(message, clock),
            message::DELPOLICY => {
                Attributes::read(message, policy_id::BYTES).ok()?;
                let id = View(message.get(HEADER_BYTES..)?);
                let direction = direction(id.u8(policy_id::DIRECTION))?;
                let rank = self.policies.find_index(direction, id.u32(policy_id::INDEX))?;
                self.remove_policy(rank, &mut Unkeeping).ok().map(drop)
            }
            message::FLUSHPOLICY => {
                self.clear_policies();
                Some(())
            }
            message::NEWSA | message::ALLOCSPI => self.restore_name(kind, message, clock),
            message::DELSA => {
                Attributes::read(message, sa_id::BYTES).ok()?;
                let (destination, spi) = sa_key(View(message.get(HEADER_BYTES..)?))?;
                self.forget_name(destination, spi);
                Some(())
            }
            message::FLUSHSA => {
                self.lost.clear();
                Some(())
            }
            _ => None,
        }
    }

    /// Forgets an SA of an earlier process, or an SPI that it reserved.
    fn forget_name(&mut self, destination: IpAddr, spi: u32) {
        self.lost.forget(destination, spi);
        if let Some(id) = self.states.find(destination, spi) {
            self.remove_sa(id);
        }
    }

    fn refuse_record(&mut self, at: usize) -> JournalError {
        *self = Xfrm::new(self.engine, self.settings.clone());
        JournalError::Record { at }
    }

    fn restore_policy(&mut self, message: &[u8], clock: Clock) -> Option<()> {
        let attributes = Attributes::read(message, policy_info::BYTES).ok()?;
        let info = View(message.get(HEADER_BYTES..)?);
        let put: Result<_, Refusal> = self.put_policy(info, &attributes, true, clock, &mut Unkeeping);
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
        // Both are recorded for an SA whose SPI was reserved before.
        self.forget_name(destination, spi);
        if kind == message::NEWSA && self.lost.held.len() >= SAS_MAX {
            // Names that earlier processes lost, and this one's own, may be more: policies matter more than names.
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
        self.states.add(XfrmState { given, stage, added: clock.wall });
        self.changed_sas();
        Some(())
    }

    /// Tells a client of lost SAs: of one of each pair, since daemons rekey both by it.
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
