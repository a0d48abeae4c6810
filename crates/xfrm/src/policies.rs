//! The table of policies: newest first for listings, by selector, by index, and by when they end.

use crate::fields::{Clock, Current, Fields, RawLifetime, RawSelector};
use crate::outbox::{Reply, Writer};
use crate::state::Given;
use crate::view::View;
use crate::wire::{attribute, message, policy_id, policy_info, template};
use ipsec::{Direction, Family, Policy, PolicyDirection, Selector, Template, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Rank of a policy in the order of additions.
pub(crate) type PolicyRank = u64;

/// One policy as it was given, and as it is served.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) direction: PolicyDirection,
    pub(crate) raw_selector: RawSelector,
    pub(crate) lifetime: RawLifetime,
    pub(crate) flags: u8,
    pub(crate) is_block: bool,
    /// The templates, `struct xfrm_user_tmpl`, one after the other.
    pub(crate) templates: Vec<u8>,
    /// The policy by which `ipsec` decides.
    pub(crate) policy: Policy,
    pub(crate) added: Time,
    /// When it was added, in seconds of the wall clock.
    pub(crate) added_wall: u64,
    /// Whether its soft limit was reported.
    pub(crate) is_told: bool,
}

/// Room that a record of a policy has from the start, in bytes: enough for a policy with a template.
const RECORD_BYTES: usize = 320;

/// When SAs of a direction and a request number were last used.
pub(crate) type LastUses = HashMap<(Direction, u32), Time>;

impl Entry {
    /// The policy's index, by which requests name it.
    pub(crate) fn index(&self) -> u32 {
        self.policy.id
    }

    /// The template that is served; `None` unless it protects.
    pub(crate) fn template(&self) -> Option<&Template> {
        match &self.policy.action {
            ipsec::Action::Protect(template) => Some(template),
            _ => None,
        }
    }

    /// When its SAs were last used; `None` if they were not.
    pub(crate) fn last_use(&self, uses: &LastUses) -> Option<Time> {
        let direction = match self.direction {
            PolicyDirection::Out => Direction::Out,
            PolicyDirection::In | PolicyDirection::Forward => Direction::In,
        };
        self.template().and_then(|template| uses.get(&(direction, template.request))).copied()
    }

    /// The policy's `struct xfrm_userpolicy_info`.
    pub(crate) fn info(&self, uses: &LastUses, clock: Clock) -> [u8; policy_info::BYTES] {
        let used = self.last_use(uses).map_or(0, |last| clock.wall_of(last));
        let current = Current { added: self.added_wall, used, ..Current::default() };
        let mut fields = Fields::new();
        fields.put(policy_info::SELECTOR, &self.raw_selector.0);
        fields.put(policy_info::LIFETIME, &self.lifetime.0);
        fields.put(policy_info::CURRENT, &current.field());
        fields.put_u32(policy_info::PRIORITY, self.policy.priority);
        fields.put_u32(policy_info::INDEX, self.index());
        let direction = direction_number(self.direction);
        fields.put(policy_info::DIRECTION, &[direction, self.is_block.into(), self.flags]);
        fields.0
    }

    pub(crate) fn write_attributes(&self, writer: &mut Writer) {
        if !self.templates.is_empty() {
            writer.attribute(attribute::TMPL, &[&self.templates]);
        }
        // Type 0 is the main one.
        writer.attribute(attribute::POLICY_TYPE, &[&[0; crate::wire::POLICY_TYPE_BYTES]]);
    }

    pub(crate) fn write(&self, writer: &mut Writer, kind: u16, reply: Reply, uses: &LastUses, clock: Clock) {
        writer.begin(kind, reply, &self.info(uses, clock));
        self.write_attributes(writer);
        writer.end();
    }

    /// The record that restores it in the next process.
    pub(crate) fn record(&self, clock: Clock) -> Vec<u8> {
        let mut writer = Writer::with_room(RECORD_BYTES);
        self.write(&mut writer, message::UPDPOLICY, Reply::EVENT, &LastUses::new(), clock);
        writer.finish().to_vec()
    }

    /// The record that removes it in the next process.
    pub(crate) fn removal_record(&self) -> Vec<u8> {
        let mut fields = Fields::<{ policy_id::BYTES }>::new();
        fields.put(policy_id::DIRECTION, &[direction_number(self.direction)]);
        fields.put_u32(policy_id::INDEX, self.index());
        let mut writer = Writer::with_room(RECORD_BYTES);
        writer.begin(message::DELPOLICY, Reply::EVENT, &fields.0);
        writer.end();
        writer.finish().to_vec()
    }

    /// Writes the message that it was deleted, by its index or by its selector.
    pub(crate) fn write_deleted(&self, writer: &mut Writer, reply: Reply, by_index: bool, clock: Clock) {
        let mut fields = Fields::<{ policy_id::BYTES }>::new();
        fields.put(policy_id::DIRECTION, &[direction_number(self.direction)]);
        match by_index {
            true => fields.put_u32(policy_id::INDEX, self.index()),
            false => fields.put(policy_id::SELECTOR, &self.raw_selector.0),
        }
        writer.begin(message::DELPOLICY, reply, &fields.0);
        writer.attribute(attribute::POLICY, &[&self.info(&LastUses::new(), clock)]);
        self.write_attributes(writer);
        writer.end();
    }

    pub(crate) fn write_expired(&self, writer: &mut Writer, reply: Reply, is_hard: bool, clock: Clock) {
        let mut structure = [0; policy_info::WITH_HARD_BYTES];
        structure[..policy_info::BYTES].copy_from_slice(&self.info(&LastUses::new(), clock));
        structure[policy_info::HARD] = is_hard.into();
        writer.begin(message::POLEXPIRE, reply, &structure);
        self.write_attributes(writer);
        writer.end();
    }

    /// When a limit of its lifetime is to be reported next.
    fn due(&self) -> Option<Time> {
        let limits = self.lifetime.limits();
        let soft = limits.soft.seconds.filter(|_| !self.is_told);
        soft.into_iter().chain(limits.hard.seconds).min().map(|seconds| self.added.after_seconds(seconds))
    }

    /// Whether its hard limit is reached.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        let hard = self.lifetime.limits().hard.seconds;
        hard.is_some_and(|seconds| now >= self.added.after_seconds(seconds))
    }
}

/// The record that removes all policies in the next process.
pub(crate) fn flush_record() -> Vec<u8> {
    let mut writer = Writer::with_room(RECORD_BYTES);
    writer.begin(message::FLUSHPOLICY, Reply::EVENT, &[]);
    writer.end();
    writer.finish().to_vec()
}

/// A direction of policies by its number; `None` for any other than the three.
pub(crate) fn direction(number: u8) -> Option<PolicyDirection> {
    match number {
        0 => Some(PolicyDirection::In),
        1 => Some(PolicyDirection::Out),
        2 => Some(PolicyDirection::Forward),
        _ => None,
    }
}

pub(crate) fn direction_number(direction: PolicyDirection) -> u8 {
    match direction {
        PolicyDirection::In => 0,
        PolicyDirection::Out => 1,
        PolicyDirection::Forward => 2,
    }
}

/// Bits of an index that state its direction; the bits above are counted up.
pub(crate) const INDEX_DIRECTION: u32 = 7;
const INDEX_STEP: u32 = INDEX_DIRECTION + 1;

#[derive(Default)]
pub(crate) struct Policies {
    held: BTreeMap<PolicyRank, Entry>,
    by_selector: HashMap<(PolicyDirection, Selector), PolicyRank>,
    by_index: HashMap<u32, PolicyRank>,
    due: BTreeSet<(Time, PolicyRank)>,
    next: PolicyRank,
    next_index: u32,
}

impl Policies {
    pub(crate) fn get(&self, rank: PolicyRank) -> Option<&Entry> {
        self.held.get(&rank)
    }

    pub(crate) fn find(&self, direction: PolicyDirection, selector: &Selector) -> Option<PolicyRank> {
        self.by_selector.get(&(direction, *selector)).copied()
    }

    pub(crate) fn find_index(&self, direction: PolicyDirection, index: u32) -> Option<PolicyRank> {
        let rank = self.by_index.get(&index).copied()?;
        self.held.get(&rank).is_some_and(|entry| entry.direction == direction).then_some(rank)
    }

    /// Policies of a lower rank than this, the newest first.
    pub(crate) fn before(&self, rank: PolicyRank) -> impl Iterator<Item = (PolicyRank, &Entry)> {
        self.held.range(..rank).rev().map(|(rank, entry)| (*rank, entry))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PolicyRank, &Entry)> {
        self.before(PolicyRank::MAX)
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &Entry> {
        self.held.values()
    }

    /// Sets when a policy was added, if that was before this process began.
    pub(crate) fn set_added(&mut self, rank: PolicyRank, added: Time, wall: u64) {
        let Some(entry) = self.held.get_mut(&rank) else { return };
        if let Some(due) = entry.due() {
            self.due.remove(&(due, rank));
        }
        (entry.added, entry.added_wall) = (added, wall);
        self.due.extend(entry.due().map(|due| (due, rank)));
    }

    pub(crate) fn count(&self, direction: PolicyDirection) -> usize {
        self.held.values().filter(|entry| entry.direction == direction).count()
    }

    /// An index that is free: the wanted one, if it is.
    pub(crate) fn free_index(&mut self, direction: PolicyDirection, wanted: u32) -> u32 {
        if wanted != 0 && !self.by_index.contains_key(&wanted) {
            return wanted;
        }
        // There are fewer policies than indices.
        loop {
            self.next_index = self.next_index.wrapping_add(INDEX_STEP) & !INDEX_DIRECTION;
            let index = self.next_index | u32::from(direction_number(direction));
            if self.next_index != 0 && !self.by_index.contains_key(&index) {
                return index;
            }
        }
    }

    /// Adds a policy. The caller has removed the policy that it replaces.
    pub(crate) fn add(&mut self, entry: Entry) -> PolicyRank {
        let rank = self.next;
        self.next += 1;
        self.by_selector.insert((entry.direction, entry.policy.selector), rank);
        self.by_index.insert(entry.index(), rank);
        self.due.extend(entry.due().map(|due| (due, rank)));
        self.held.insert(rank, entry);
        rank
    }

    pub(crate) fn remove(&mut self, rank: PolicyRank) -> Option<Entry> {
        let entry = self.held.remove(&rank)?;
        self.by_selector.remove(&(entry.direction, entry.policy.selector));
        self.by_index.remove(&entry.index());
        if let Some(due) = entry.due() {
            self.due.remove(&(due, rank));
        }
        Some(entry)
    }

    /// Sets other templates of a policy, and with them what it does.
    pub(crate) fn set_templates(&mut self, rank: PolicyRank, templates: Vec<u8>, policy: Policy) {
        if let Some(entry) = self.held.get_mut(&rank) {
            (entry.templates, entry.policy) = (templates, policy);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.held.clear();
        self.by_selector.clear();
        self.by_index.clear();
        self.due.clear();
    }

    /// Notes that a policy's soft limit was reported.
    pub(crate) fn set_told(&mut self, rank: PolicyRank) {
        let Some(entry) = self.held.get_mut(&rank) else { return };
        let before = entry.due();
        entry.is_told = true;
        if let Some(due) = before {
            self.due.remove(&(due, rank));
        }
        self.due.extend(entry.due().map(|due| (due, rank)));
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// A policy with a limit of its lifetime that is to be reported now.
    pub(crate) fn next_over(&self, now: Time) -> Option<PolicyRank> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, rank)| *rank)
    }

    /// Whether an SA of a tunnel opens or seals, by the first policy that asks for it.
    pub(crate) fn direction_for(&self, given: &Given) -> Option<Direction> {
        let ends = (given.source, given.destination);
        let asks = |entry: &&Entry| {
            entry
                .template()
                .is_some_and(|template| template.request == given.request && template.ends == Some(ends))
        };
        self.held.values().find(asks).map(|entry| match entry.direction {
            PolicyDirection::Out => Direction::Out,
            PolicyDirection::In | PolicyDirection::Forward => Direction::In,
        })
    }
}

/// The ends of a template; `None` if it leaves the source open.
pub(crate) fn template_ends(view: View<'_>, family: Family) -> Option<(IpAddr, IpAddr)> {
    let source = crate::fields::address(view, template::SOURCE, family);
    let destination = crate::fields::address(view, template::DESTINATION, family);
    (!source.is_unspecified()).then_some((source, destination))
}
