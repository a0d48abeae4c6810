//! Policies (RFC 4301, 4.4.1): which traffic is protected, passes in clear or is dropped, by selector and priority.
//!
//! ```text
//! shapes, by the best priority in each        a flow under the mask of a shape is one key of its table
//!   /24 to /24, any protocol       ──►  10.1.1/24 to 10.2.2/24 ─► policy 7   priority 100
//!                                       10.1.3/24 to 10.2.4/24 ─► policy 9   priority 300
//!   /32 to /32, TCP, one port      ──►  ...
//! ```
//!
//! Policies whose selectors compare the same bits are in one table, where a look-up finds the only policy that can
//! match. Tables are searched in the order of their best policies, until no table that is left can have a better policy
//! than was found. A thousand policies of a gateway have a handful of shapes; whatever they are, the number of shapes
//! bounds a look-up.
//!
//! Before that, a look-up uses what a thread remembers of flows (`remembered.rs`).

use crate::address::Family;
use crate::hash::Mix;
use crate::inner::Flow;
use crate::selector::{Masked, Selector, Shape};
use crate::tally::{PolicyFigures, Tally};
use crate::template::{Template, Wanted};
use crate::time::Time;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bound of the policies of one direction.
pub const POLICIES_MAX: usize = 16_384;
/// Time within which a policy asks only once for an SA that is missing. An owner that was not ready for the first
/// question, such as a daemon that is still loading its connections, hears the second soon.
pub const ACQUIRE_INTERVAL: Duration = Duration::from_millis(500);

/// The packets that a policy is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PolicyDirection {
    /// Packets for this machine.
    In,
    /// Packets from this machine or through it.
    Out,
    /// Packets through this machine, opened or in clear.
    Forward,
}

impl PolicyDirection {
    /// All directions.
    pub const ALL: [PolicyDirection; 3] =
        [PolicyDirection::In, PolicyDirection::Out, PolicyDirection::Forward];
}

/// The treatment of traffic by a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Traffic passes in clear.
    Bypass,
    /// Traffic is dropped.
    Discard,
    /// Traffic passes by an SA of this template.
    Protect(Template),
}

/// The number that an owner gives a policy; it has no meaning here.
pub type PolicyId = u32;

/// A policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The number by which events name the policy.
    pub id: PolicyId,
    /// The traffic that the policy is for.
    pub selector: Selector,
    /// The lowest priority wins; of two policies with the same, the older one.
    pub priority: u32,
    /// What the policy does with that traffic.
    pub action: Action,
}

/// Why policies were not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SpdError {
    /// There is a policy with this selector already.
    Exists,
    /// The direction has [`POLICIES_MAX`] policies.
    Full,
}

/// The policies of one machine. Threads read one snapshot; the owner changes a clone and hands that to them.
#[derive(Clone, Debug)]
pub struct Spd {
    directions: [Rules; 3],
    /// A number that differs for each change and each set of policies, so that threads do not rely on what they
    /// remember of another one.
    version: u64,
}

#[derive(Clone, Debug, Default)]
struct Rules {
    tables: Vec<Table>,
    /// The policies, in no order.
    policies: Vec<CountedPolicy>,
    /// Number of policies that were ever added.
    added: u64,
}

#[derive(Clone, Debug)]
struct Table {
    shape: Shape,
    best: Rank,
    policies: HashMap<Masked, Entry, BuildHasherDefault<Mix>>,
    /// If policies tell pieces of one packet apart: the part of their selectors that every piece shows, with the number
    /// of policies that have it.
    pieces: HashMap<Masked, u32, BuildHasherDefault<Mix>>,
}

impl Table {
    fn new(shape: Shape, best: Rank) -> Table {
        Table { shape, best, policies: HashMap::default(), pieces: HashMap::default() }
    }

    /// The key of a policy in [`Table::pieces`]; `None` if all pieces of a packet show everything that it compares.
    fn piece(&self, value: &Masked) -> Option<Masked> {
        self.shape.is_of_whole_packets().then(|| value.under(&self.shape.of_pieces()))
    }

    fn insert(&mut self, value: Masked, entry: Entry) {
        self.policies.insert(value, entry);
        if let Some(piece) = self.piece(&value) {
            *self.pieces.entry(piece).or_default() += 1;
        }
    }

    fn remove(&mut self, value: &Masked) -> Option<Entry> {
        let entry = self.policies.remove(value)?;
        if let Some(piece) = self.piece(value)
            && let Some(count) = self.pieces.get_mut(&piece)
        {
            *count -= 1;
            if *count == 0 {
                self.pieces.remove(&piece);
            }
        }
        Some(entry)
    }
}

/// The decision of policies about a piece of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfPiece<'s> {
    /// The whole packet decides: a policy that may be for it compares fields that this piece does not show.
    Whole,
    /// The decision is the same for every piece: this policy, or none.
    Every(Option<&'s Entry>),
}

/// Rank of a policy, lower is better: priority, then age.
type Rank = (u32, u64);

/// A policy as a look-up sees it: everything that decides stands beside its key, both in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    added: u64,
    priority: u32,
    /// Place of the policy among the policies of its direction.
    place: u32,
    pub(crate) act: Act,
}

/// The treatment of traffic, as a look-up returns it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Bypass,
    Discard,
    Protect(Wanted),
}

impl Entry {
    fn new(policy: &Policy, added: u64, place: usize) -> Entry {
        let act = match &policy.action {
            Action::Bypass => Act::Bypass,
            Action::Discard => Act::Discard,
            Action::Protect(template) => Act::Protect(Wanted::of(template)),
        };
        Entry { added, priority: policy.priority, place: place as u32, act }
    }

    #[inline]
    fn rank(&self) -> Rank {
        (self.priority, self.added)
    }
}

/// The parts of a policy that a look-up does not see: the policy itself, and counts that go on if another replaces it.
#[derive(Clone, Debug)]
struct CountedPolicy {
    held: Arc<Held>,
    tally: Arc<Tally>,
}

/// A policy and when its SA was last asked for.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) policy: Policy,
    /// Time of that in nanoseconds, plus 1; 0 for never.
    asked: AtomicU64,
}

impl Held {
    /// Whether this thread is the one that asks for the SA: it was not asked for within [`ACQUIRE_INTERVAL`].
    pub(crate) fn asks(&self, now: Time) -> bool {
        let last = self.asked.load(Ordering::Relaxed);
        let now_nanos = now.nanos().saturating_add(1);
        let is_due = last == 0 || now.since(Time::of_nanos(last - 1)) >= ACQUIRE_INTERVAL;
        is_due && self.asked.compare_exchange(last, now_nanos, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Has the SA asked for again, since it could not be asked for after all.
    pub(crate) fn unask(&self) {
        self.asked.store(0, Ordering::Relaxed);
    }
}

/// A version number that no other set of policies, and no other version of this one, has.
fn next_version() -> u64 {
    static VERSIONS: AtomicU64 = AtomicU64::new(1);
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

impl Default for Spd {
    fn default() -> Spd {
        Spd::new()
    }
}

impl Spd {
    /// A set without policies: all traffic passes in clear.
    pub fn new() -> Spd {
        Spd { directions: Default::default(), version: next_version() }
    }

    /// Number of policies of a direction.
    pub fn len(&self, direction: PolicyDirection) -> usize {
        self.directions[direction as usize].policies.len()
    }

    /// Whether there is no policy in any direction.
    pub fn is_empty(&self) -> bool {
        self.directions.iter().all(|rules| rules.policies.is_empty())
    }

    /// The policies of a direction, in no order.
    pub fn iter(&self, direction: PolicyDirection) -> impl Iterator<Item = &Policy> {
        self.directions[direction as usize].policies.iter().map(|counted| &counted.held.policy)
    }

    /// Adds a policy.
    ///
    /// # Errors
    /// [`SpdError`] says why; nothing is changed then.
    pub fn add(&mut self, direction: PolicyDirection, policy: Policy) -> Result<(), SpdError> {
        if self.find(direction, &policy.selector).is_some() {
            return Err(SpdError::Exists);
        }
        if self.len(direction) >= POLICIES_MAX {
            return Err(SpdError::Full);
        }
        self.put(direction, policy, Arc::default());
        Ok(())
    }

    /// Adds a policy, or replaces the one with its selector, as the newest of its priority. Returns the replaced
    /// policy; its counts go on for the new one.
    ///
    /// # Errors
    /// [`SpdError::Full`]; nothing is changed then.
    pub fn replace(
        &mut self,
        direction: PolicyDirection,
        policy: Policy,
    ) -> Result<Option<Policy>, SpdError> {
        let before = self.take(direction, &policy.selector);
        if self.len(direction) >= POLICIES_MAX {
            return Err(SpdError::Full);
        }
        let tally = before.as_ref().map(|before| Arc::clone(&before.tally));
        self.put(direction, policy, tally.unwrap_or_default());
        Ok(before.map(|before| before.held.policy))
    }

    /// The policy with exactly this selector.
    pub fn find(&self, direction: PolicyDirection, selector: &Selector) -> Option<&Policy> {
        self.counted(direction, selector).map(|counted| &counted.held.policy)
    }

    /// Counts of what the policy with exactly this selector has decided so far.
    pub fn figures(&self, direction: PolicyDirection, selector: &Selector) -> Option<PolicyFigures> {
        self.counted(direction, selector).map(|counted| counted.tally.figures())
    }

    fn counted(&self, direction: PolicyDirection, selector: &Selector) -> Option<&CountedPolicy> {
        let Rules { tables, policies, .. } = &self.directions[direction as usize];
        let table = tables.iter().find(|table| table.shape == selector.shape)?;
        table.policies.get(&selector.value).map(|entry| &policies[entry.place as usize])
    }

    /// Removes the policy with exactly this selector.
    pub fn remove(&mut self, direction: PolicyDirection, selector: &Selector) -> Option<Policy> {
        self.take(direction, selector).map(|counted| counted.held.policy)
    }

    fn take(&mut self, direction: PolicyDirection, selector: &Selector) -> Option<CountedPolicy> {
        let rules = &mut self.directions[direction as usize];
        let at = rules.tables.iter().position(|table| table.shape == selector.shape)?;
        let entry = rules.tables[at].remove(&selector.value)?;
        match rules.tables[at].policies.values().map(Entry::rank).min() {
            Some(best) => rules.tables[at].best = best,
            None => drop(rules.tables.remove(at)),
        }
        let removed = rules.policies.swap_remove(entry.place as usize);
        // The last policy took the place of the removed one.
        if let Some(moved) = rules.policies.get(entry.place as usize) {
            let Selector { shape, value } = moved.held.policy.selector;
            let table = rules.tables.iter_mut().find(|table| table.shape == shape);
            if let Some(moved) = table.and_then(|table| table.policies.get_mut(&value)) {
                moved.place = entry.place;
            }
        }
        rules.order();
        self.version = next_version();
        Some(removed)
    }

    fn put(&mut self, direction: PolicyDirection, policy: Policy, tally: Arc<Tally>) {
        let rules = &mut self.directions[direction as usize];
        let entry = Entry::new(&policy, rules.added, rules.policies.len());
        let rank = entry.rank();
        let Selector { shape, value } = policy.selector;
        let at = rules.tables.iter().position(|table| table.shape == shape).unwrap_or_else(|| {
            rules.tables.push(Table::new(shape, rank));
            rules.tables.len() - 1
        });
        rules.tables[at].insert(value, entry);
        let held = Arc::new(Held { policy, asked: AtomicU64::new(0) });
        rules.policies.push(CountedPolicy { held, tally });
        rules.tables[at].best = rules.tables[at].best.min(rank);
        rules.added += 1;
        rules.order();
        self.version = next_version();
    }

    /// The policy for a packet: of all that match the one of the lowest priority, of those the oldest; `None` if none
    /// matches.
    #[inline]
    pub fn lookup(&self, direction: PolicyDirection, flow: &Flow) -> Option<&Policy> {
        self.entry(direction, flow).map(|entry| &self.held(direction, entry).policy)
    }

    /// The policy of an entry.
    pub(crate) fn held(&self, direction: PolicyDirection, entry: &Entry) -> &Held {
        &self.directions[direction as usize].policies[entry.place as usize].held
    }

    /// The counts of an entry's policy.
    #[inline]
    pub(crate) fn tally(&self, direction: PolicyDirection, entry: &Entry) -> &Tally {
        &self.directions[direction as usize].policies[entry.place as usize].tally
    }

    /// The version of these policies: another number after each change.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Number of tables that a look-up may go through.
    #[inline]
    pub(crate) fn shapes(&self, direction: PolicyDirection) -> usize {
        self.directions[direction as usize].tables.len()
    }

    /// As [`Spd::lookup`], but returns the entry.
    #[inline]
    pub(crate) fn entry(&self, direction: PolicyDirection, flow: &Flow) -> Option<&Entry> {
        self.best(direction, flow.family, |table| {
            table.policies.get(&table.shape.of(flow)).map(|entry| (entry.rank(), entry))
        })
    }

    /// The decision of policies about any piece of a packet, also the first, by the fields that all pieces show.
    pub(crate) fn of_piece(&self, direction: PolicyDirection, flow: &Flow) -> OfPiece<'_> {
        let best = self.best(direction, flow.family, |table| {
            if table.shape.is_of_whole_packets() {
                // Which policy of the table it is for is not known: it may be the best one.
                let may_be = table.pieces.contains_key(&table.shape.of_pieces().of(flow));
                return may_be.then_some((table.best, OfPiece::Whole));
            }
            let entry = table.policies.get(&table.shape.of(flow))?;
            Some((entry.rank(), OfPiece::Every(Some(entry))))
        });
        best.unwrap_or(OfPiece::Every(None))
    }

    /// The result of `find` with the best rank among the tables of a family; each table gives at most one.
    #[inline]
    fn best<'s, T>(
        &'s self,
        direction: PolicyDirection,
        family: Family,
        find: impl Fn(&'s Table) -> Option<(Rank, T)>,
    ) -> Option<T> {
        let mut best: Option<(Rank, T)> = None;
        for table in &self.directions[direction as usize].tables {
            if best.as_ref().is_some_and(|(rank, _)| *rank < table.best) {
                break;
            }
            if table.shape.family != family {
                continue;
            }
            if let Some(found) = find(table)
                && best.as_ref().is_none_or(|(rank, _)| found.0 < *rank)
            {
                best = Some(found);
            }
        }
        best.map(|(_, found)| found)
    }
}

impl Rules {
    /// Sorts the tables by their best policies.
    fn order(&mut self) {
        self.tables.sort_unstable_by_key(|table| table.best);
    }
}

impl fmt::Display for SpdError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpdError::Exists => out.write_str("a policy with this selector is there"),
            SpdError::Full => write!(out, "there are {POLICIES_MAX} policies"),
        }
    }
}

impl std::error::Error for SpdError {}
