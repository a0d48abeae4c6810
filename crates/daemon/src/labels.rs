//! Opened labels: which tenant has which entry of the key table.
//!
//! An entry belongs to one tenant and one label. It is made at the first opening, reused by every
//! later one, and removed when its record changes or is deleted, when the table is full and its tenant
//! is not connected, or when its tenant needs the room for another label: first what no connection holds,
//! then what was asked for longest ago. A connection holds what it asked for until it ends, since its process may use
//! the reference at any time without a question. A tenant's connections hold at most as many labels as the table has
//! units, all tenants' four times as many; what is beyond that is held by nobody. This is pure bookkeeping: the caller
//! writes the table itself.
//!
//! The table is counted in units, of which an entry takes as many as its token needs ([`key_table_units`]):
//!
//! | at most | of the units |
//! |---|---|
//! | one tenant's, that its guests opened | a quarter |
//! | one user's, that it opened as a guest, of all tenants together | half |
//! | all guests' | all but an eighth, which is left to administrators |
//!
//! All that a request needs is found without a look at every entry.

use link::key_table_units;
use std::collections::{BTreeMap, HashMap, HashSet};
use wire::control::Store;
use wire::uses::Uses;
use wire::{KeyReference, Label};

/// A label that a client has opened, and its entry in the key table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLabel {
    /// Tenant that may use the entry.
    pub tenant: u32,
    /// The label that was opened.
    pub label: Label,
    /// Store in which the label's record was found.
    pub store: Store,
    /// Length of the token in bytes.
    pub token_bytes: u32,
    /// Number and generation of the entry in the key table.
    pub reference: KeyReference,
    /// Uses of the key that the tenant may make.
    pub uses: Uses,
    /// Who opened the label first.
    pub opener: Opener,
}

/// Who opened a label, as far as this daemon knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// An administrator of the home.
    Administrator,
    /// A guest with this user id; `None` if an earlier daemon let the guest in.
    Guest(Option<u32>),
}

/// What is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// What guests of this tenant may take.
    Tenant,
    /// What this user may take as a guest.
    User,
    /// The table, or the part of it that guests may take.
    Table,
}

impl OpenLabel {
    /// Number of units of the key table that this label takes.
    fn units(&self) -> usize {
        key_table_units(self.token_bytes as usize)
    }

    /// The lists in which it waits for giving way.
    fn lists(&self) -> impl Iterator<Item = List> {
        let tenant = self.tenant;
        let (first, second) = match self.opener {
            Opener::Administrator => (List::Administrators { tenant }, None),
            Opener::Guest(user) => (List::Guests { tenant }, user.map(|user| List::User { tenant, user })),
        };
        std::iter::once(first).chain(second)
    }
}

/// Entries of a tenant that may give way for the same request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum List {
    Administrators { tenant: u32 },
    Guests { tenant: u32 },
    User { tenant: u32, user: u32 },
}

/// An opened label.
struct Entry {
    open: OpenLabel,
    /// When it was last asked for, as a count of questions.
    asked: u64,
    /// The connections that asked for it and have not ended, in ascending order.
    holders: Vec<u64>,
}

impl Entry {
    fn place(&self) -> Place {
        Place { is_held: !self.holders.is_empty(), asked: self.asked }
    }
}

/// The place of an entry among those that may give way; the first gives way first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_held: bool,
    asked: u64,
}

/// All opened labels of a home.
pub struct OpenLabels {
    /// Units of the key table.
    units: usize,
    entries: HashMap<u32, Entry>,
    by_label: BTreeMap<(Label, u32), u32>,
    /// Of each list the entries in the order in which they give way.
    in_order: HashMap<List, BTreeMap<Place, u32>>,
    /// What each connection holds, and how many holds each tenant has.
    held: HashMap<u64, HashSet<u32>>,
    holds_of_tenant: HashMap<u32, usize>,
    holds: usize,
    questions: u64,
    /// Units of each tenant, of each user that opened labels as a guest, and of all guests.
    units_of_tenant: HashMap<u32, usize>,
    /// Of these, what guests opened.
    guests_of_tenant: HashMap<u32, usize>,
    units_of_user: HashMap<u32, usize>,
    units_of_guests: usize,
}

impl OpenLabels {
    /// Those of a key table of this many units; none is open.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            entries: HashMap::new(),
            by_label: BTreeMap::new(),
            in_order: HashMap::new(),
            held: HashMap::new(),
            holds_of_tenant: HashMap::new(),
            holds: 0,
            questions: 0,
            units_of_tenant: HashMap::new(),
            guests_of_tenant: HashMap::new(),
            units_of_user: HashMap::new(),
            units_of_guests: 0,
        }
    }

    /// The entry of a tenant for a label.
    pub fn find(&self, tenant: u32, label: &Label) -> Option<&OpenLabel> {
        let slot = self.by_label.get(&(label.clone(), tenant))?;
        Some(&self.entries.get(slot)?.open)
    }

    /// The entry of a tenant that this reference names.
    pub fn of_reference(&self, tenant: u32, reference: KeyReference) -> Option<&OpenLabel> {
        let open = &self.entries.get(&reference.slot)?.open;
        (open.tenant == tenant && open.reference == reference).then_some(open)
    }

    /// Notes an entry as opened, for a connection that holds it from now on; whatever was noted of its place is gone.
    pub fn insert(&mut self, open: OpenLabel, holder: Option<u64>) {
        self.remove(open.reference.slot);
        self.questions += 1;
        let holders = holder.into_iter().filter(|_| self.may_hold(open.tenant)).collect();
        self.put(Entry { open, asked: self.questions, holders });
    }

    fn put(&mut self, entry: Entry) {
        let (open, slot) = (&entry.open, entry.open.reference.slot);
        for list in open.lists() {
            self.in_order.entry(list).or_default().insert(entry.place(), slot);
        }
        for holder in &entry.holders {
            self.held.entry(*holder).or_default().insert(slot);
        }
        self.holds += entry.holders.len();
        more(&mut self.holds_of_tenant, open.tenant, entry.holders.len());
        let units = open.units();
        *self.units_of_tenant.entry(open.tenant).or_default() += units;
        if let Opener::Guest(user) = open.opener {
            self.units_of_guests += units;
            *self.guests_of_tenant.entry(open.tenant).or_default() += units;
            if let Some(user) = user {
                *self.units_of_user.entry(user).or_default() += units;
            }
        }
        self.by_label.insert((open.label.clone(), open.tenant), slot);
        self.entries.insert(slot, entry);
    }

    fn remove(&mut self, slot: u32) -> Option<Entry> {
        let entry = self.entries.remove(&slot)?;
        let (open, units) = (&entry.open, entry.open.units());
        for list in open.lists() {
            if let Some(order) = self.in_order.get_mut(&list) {
                order.remove(&entry.place());
                if order.is_empty() {
                    self.in_order.remove(&list);
                }
            }
        }
        for holder in &entry.holders {
            if let Some(slots) = self.held.get_mut(holder) {
                slots.remove(&slot);
                if slots.is_empty() {
                    self.held.remove(holder);
                }
            }
        }
        self.holds -= entry.holders.len();
        less(&mut self.holds_of_tenant, open.tenant, entry.holders.len());
        less(&mut self.units_of_tenant, open.tenant, units);
        if let Opener::Guest(user) = open.opener {
            self.units_of_guests -= units;
            less(&mut self.guests_of_tenant, open.tenant, units);
            if let Some(user) = user {
                less(&mut self.units_of_user, user, units);
            }
        }
        self.by_label.remove(&(open.label.clone(), open.tenant));
        Some(entry)
    }

    /// Notes that a connection has asked for its tenant's entry of a label, and holds it from now on.
    pub fn asked_for(&mut self, holder: u64, tenant: u32, label: &Label) {
        self.questions += 1;
        let Some(slot) = self.by_label.get(&(label.clone(), tenant)) else { return };
        let (asked, may_hold) = (self.questions, self.may_hold(tenant));
        let mut is_new = false;
        move_entry(&mut self.entries, &mut self.in_order, *slot, |entry| {
            entry.asked = asked;
            if let (true, Err(at)) = (may_hold, entry.holders.binary_search(&holder)) {
                entry.holders.insert(at, holder);
                is_new = true;
            }
        });
        if is_new {
            self.held.entry(holder).or_default().insert(*slot);
            self.holds += 1;
            more(&mut self.holds_of_tenant, tenant, 1);
        }
    }

    /// Whether a connection of a tenant may hold one more label: what is noted is bounded.
    fn may_hold(&self, tenant: u32) -> bool {
        let of_tenant = self.holds_of_tenant.get(&tenant).copied().unwrap_or(0);
        of_tenant < self.units && self.holds < 4 * self.units
    }

    /// Notes that a connection has ended, which holds nothing any more.
    pub fn let_go(&mut self, holder: u64) {
        for slot in self.held.remove(&holder).into_iter().flatten() {
            let (holds, of_tenant) = (&mut self.holds, &mut self.holds_of_tenant);
            move_entry(&mut self.entries, &mut self.in_order, slot, |entry| {
                if let Ok(at) = entry.holders.binary_search(&holder) {
                    entry.holders.remove(at);
                    *holds -= 1;
                    less(of_tenant, entry.open.tenant, 1);
                }
            });
        }
    }

    /// What stands in the way of a further entry with a token of this length, where `free` units of the table are free,
    /// and how many units that has.
    pub fn exceeds(
        &self,
        opener: Opener,
        tenant: u32,
        token_bytes: usize,
        free: usize,
    ) -> Option<(Bound, usize)> {
        let units = key_table_units(token_bytes);
        if let Opener::Guest(user) = opener {
            let (of_tenant, of_user) = (self.units / 4, self.units / 2);
            if self.of_guests(tenant) + units > of_tenant {
                return Some((Bound::Tenant, of_tenant));
            }
            if user.is_some_and(|user| self.of_user(user) + units > of_user) {
                return Some((Bound::User, of_user));
            }
            let of_guests = self.units - self.units / 8;
            if self.units_of_guests + units > of_guests {
                return Some((Bound::Table, of_guests));
            }
        }
        (units > free).then_some((Bound::Table, self.units))
    }

    /// Gives up entries of a tenant, first those that no connection holds, then those asked for longest ago, until
    /// nothing [stands in the way](OpenLabels::exceeds) of a further one; the caller revokes them in the table. None if
    /// something would stand in the way even so. A guest gives up none that an administrator opened, and one whose user
    /// has too many only its user's own.
    pub fn make_room(
        &mut self,
        opener: Opener,
        tenant: u32,
        token_bytes: usize,
        mut free: usize,
    ) -> Vec<OpenLabel> {
        let mut gone: Vec<Entry> = Vec::new();
        while let Some((bound, _)) = self.exceeds(opener, tenant, token_bytes, free) {
            let lists = match (opener, bound) {
                (Opener::Administrator, _) => &[List::Administrators { tenant }, List::Guests { tenant }][..],
                (Opener::Guest(Some(user)), Bound::User) => &[List::User { tenant, user }],
                (Opener::Guest(_), _) => &[List::Guests { tenant }],
            };
            let oldest = lists.iter().filter_map(|list| self.in_order.get(list)?.first_key_value()).min();
            let Some(entry) = oldest.map(|(_, slot)| *slot).and_then(|slot| self.remove(slot)) else {
                gone.into_iter().for_each(|entry| self.put(entry));
                return Vec::new();
            };
            free += entry.open.units();
            gone.push(entry);
        }
        gone.into_iter().map(|entry| entry.open).collect()
    }

    /// Gives up the entries of a label, of all tenants; the caller revokes them in the table.
    pub fn take_label(&mut self, label: &Label) -> Vec<OpenLabel> {
        let all = (label.clone(), 0)..=(label.clone(), u32::MAX);
        let slots: Vec<_> = self.by_label.range(all).map(|(_, slot)| *slot).collect();
        self.take(slots)
    }

    /// Gives up the entries of tenants other than these; the caller revokes them in the table.
    pub fn take_absent(&mut self, present: &HashSet<u32>) -> Vec<OpenLabel> {
        self.take_tenants(|tenant| !present.contains(&tenant))
    }

    /// Gives up the entries of some tenants; the caller revokes them in the table.
    pub fn take_tenants(&mut self, which: impl Fn(u32) -> bool) -> Vec<OpenLabel> {
        if !self.units_of_tenant.keys().any(|tenant| which(*tenant)) {
            return Vec::new();
        }
        self.take_where(|open| which(open.tenant))
    }

    /// Updates every entry to its tenant's present rights. Removes those that have no allowed use, which the
    /// caller revokes in the table, and returns those whose uses changed, which the caller writes into it.
    pub fn review(&mut self, uses: impl Fn(u32, &Label) -> Uses) -> (Vec<OpenLabel>, Vec<OpenLabel>) {
        let mut changed = Vec::new();
        for Entry { open, .. } in self.entries.values_mut() {
            let now = uses(open.tenant, &open.label);
            if now != open.uses {
                open.uses = now;
                changed.push(open.clone());
            }
        }
        let gone = self.take_where(|open| open.uses.is_none());
        changed.retain(|open| !open.uses.is_none());
        (gone, changed)
    }

    /// Units of the key table that a tenant's labels take.
    pub fn of_tenant(&self, tenant: u32) -> usize {
        self.units_of_tenant.get(&tenant).copied().unwrap_or(0)
    }

    /// Units of the key table that the labels take which guests of a tenant opened.
    pub fn of_guests(&self, tenant: u32) -> usize {
        self.guests_of_tenant.get(&tenant).copied().unwrap_or(0)
    }

    /// Units of the key table taken by labels that guests with this user id opened, of all tenants together.
    pub fn of_user(&self, user: u32) -> usize {
        self.units_of_user.get(&user).copied().unwrap_or(0)
    }

    /// Number of opened labels.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no label is open.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn take_where(&mut self, which: impl Fn(&OpenLabel) -> bool) -> Vec<OpenLabel> {
        let which = |(slot, entry): (&u32, &Entry)| which(&entry.open).then_some(*slot);
        let slots = self.entries.iter().filter_map(which).collect();
        self.take(slots)
    }

    fn take(&mut self, slots: Vec<u32>) -> Vec<OpenLabel> {
        slots.into_iter().filter_map(|slot| Some(self.remove(slot)?.open)).collect()
    }
}

/// Changes an entry, and its place in the lists with it.
fn move_entry(
    entries: &mut HashMap<u32, Entry>,
    in_order: &mut HashMap<List, BTreeMap<Place, u32>>,
    slot: u32,
    change: impl FnOnce(&mut Entry),
) {
    let Some(entry) = entries.get_mut(&slot) else { return };
    let before = entry.place();
    change(entry);
    if entry.place() == before {
        return;
    }
    for list in entry.open.lists() {
        let order = in_order.entry(list).or_default();
        order.remove(&before);
        order.insert(entry.place(), slot);
    }
}

/// Counts units, or holds, as taken.
fn more(units_of: &mut HashMap<u32, usize>, whose: u32, units: usize) {
    if units != 0 {
        *units_of.entry(whose).or_default() += units;
    }
}

/// Counts units, or holds, as given up.
fn less(units_of: &mut HashMap<u32, usize>, whose: u32, units: usize) {
    if let Some(count) = units_of.get_mut(&whose) {
        *count -= units;
        if *count == 0 {
            units_of.remove(&whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GUEST: Opener = Opener::Guest(Some(7));
    /// Length of a token that takes 33 units, the longest.
    const LONG: usize = 16 * 1024;

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    fn open(slot: u32, tenant: u32, text: &str, opener: Opener) -> OpenLabel {
        OpenLabel {
            tenant,
            label: label(text),
            store: Store::Des,
            token_bytes: 64,
            reference: KeyReference { slot, generation: 1 },
            uses: Uses::USE,
            opener,
        }
    }

    const OPENERS: [Opener; 4] = [Opener::Administrator, Opener::Guest(None), GUEST, Opener::Guest(Some(8))];

    fn of_long(slot: u32, tenant: u32, text: &str, token_bytes: usize, opener: Opener) -> OpenLabel {
        OpenLabel { token_bytes: token_bytes as u32, ..open(slot, tenant, text, opener) }
    }

    #[test]
    fn the_absent_give_up_what_they_have_and_nobody_else() {
        let mut labels = OpenLabels::new(4096);
        for slot in 0..100 {
            labels.insert(open(slot, slot % 2, &format!("K{slot}"), Opener::Administrator), None);
        }
        assert_eq!(labels.take_absent(&HashSet::from([0, 1])), []);
        assert_eq!(labels.take_absent(&HashSet::from([1])).len(), 50);
        assert!(labels.find(1, &label("K1")).is_some() && labels.find(0, &label("K0")).is_none());
        let reference = KeyReference { slot: 1, generation: 1 };
        assert_eq!(labels.of_reference(1, reference).unwrap().label, label("K1"));
        assert_eq!(labels.of_reference(0, reference), None);
        assert_eq!(labels.of_reference(1, KeyReference { generation: 2, ..reference }), None);
    }

    #[test]
    fn of_a_tenants_entries_the_one_asked_for_longest_ago_gives_way() {
        let mut labels = OpenLabels::new(4096);
        for (slot, (tenant, text)) in [(1, "A"), (2, "A"), (1, "B"), (1, "C")].into_iter().enumerate() {
            labels.insert(open(slot as u32, tenant, text, Opener::Administrator), None);
        }
        labels.asked_for(9, 1, &label("A"));
        let mut gives_way = |tenant, bytes| {
            let gone = labels.make_room(Opener::Administrator, tenant, bytes, 0);
            gone.into_iter().map(|open| open.label.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(gives_way(1, 64), ["B"]);
        // Two units more than there are: nothing goes in vain.
        assert_eq!(gives_way(1, 1000), Vec::<String>::new());
        assert_eq!(gives_way(1, 500), ["C", "A"]);
        assert_eq!(gives_way(1, 64), Vec::<String>::new());
        assert_eq!((labels.len(), labels.of_tenant(2), labels.in_order.len()), (1, 1, 1));
    }

    #[test]
    fn what_no_connection_holds_gives_way_before_what_one_may_be_using() {
        let mut labels = OpenLabels::new(4096);
        // Connection 1 opens its keys and asks no more; connections 2 and 3 come and go with keys of their own.
        for (slot, (holder, text)) in [(1, "HOT"), (2, "A"), (2, "B"), (3, "C")].into_iter().enumerate() {
            labels.insert(open(slot as u32, 1, text, GUEST), Some(holder));
        }
        labels.asked_for(3, 1, &label("B"));
        labels.let_go(2);
        let mut gives_way = || {
            let gone = labels.make_room(GUEST, 1, 64, 0);
            gone.into_iter().map(|open| open.label.to_string()).collect::<Vec<_>>()
        };
        // Connection 3 holds B too. What all hold gives way in the order of their questions.
        assert_eq!([gives_way(), gives_way(), gives_way()], [["A"], ["HOT"], ["C"]]);
        labels.let_go(3);
        labels.let_go(1);
        assert!(labels.held.is_empty());
        assert_eq!(labels.find(1, &label("B")).unwrap().reference.slot, 2);
    }

    /// Many connections of one tenant that ask for everything fill no memory, and take nothing from other tenants.
    #[test]
    fn what_connections_hold_is_bounded_by_tenant_and_over_all() {
        let units = 64;
        let mut labels = OpenLabels::new(units);
        for slot in 0..units as u32 {
            labels.insert(open(slot, slot % 8, &format!("K{slot}"), GUEST), None);
        }
        for holder in 0..1000 {
            for slot in 0..units as u32 {
                labels.asked_for(holder, slot % 8, &label(&format!("K{slot}")));
            }
        }
        assert_eq!(labels.holds, 4 * units);
        assert!(labels.holds_of_tenant.values().all(|holds| *holds <= units));
        (0..1000).for_each(|holder| labels.let_go(holder));
        assert_eq!((labels.holds, labels.held.len(), labels.holds_of_tenant.len()), (0, 0, 0));
        for holder in 0..1000 {
            (0..units as u32).for_each(|slot| labels.asked_for(holder, 0, &label(&format!("K{slot}"))));
        }
        assert_eq!(labels.holds, units, "of one tenant alone");
    }

    #[test]
    fn a_guest_is_bounded_by_tenant_by_user_and_by_what_is_left_to_administrators() {
        let mut labels = OpenLabels::new(4096);
        let mut slot = 0;
        let mut fill = |labels: &mut OpenLabels, tenant, opener| {
            let before = slot;
            let exceeded = loop {
                match labels.exceeds(opener, tenant, 64, 4096 - labels.len()) {
                    None => labels.insert(open(slot, tenant, &format!("K{slot}"), opener), None),
                    Some(exceeded) => break exceeded,
                }
                slot += 1;
            };
            (slot - before, exceeded)
        };
        assert_eq!(fill(&mut labels, 1, GUEST), (1024, (Bound::Tenant, 1024)));
        assert_eq!(fill(&mut labels, 2, GUEST), (1024, (Bound::Tenant, 1024)));
        assert_eq!(fill(&mut labels, 3, GUEST), (0, (Bound::User, 2048)));
        for (user, count) in [(8, 1024), (9, 512)] {
            let (filled, (bound, _)) = fill(&mut labels, 10 + user, Opener::Guest(Some(user)));
            let expected = if count == 512 { Bound::Table } else { Bound::Tenant };
            assert_eq!((filled, bound), (count, expected));
        }
        // Of tenant 3 this user has nothing that could give way, and others' do not.
        assert_eq!(labels.make_room(GUEST, 3, 64, 512), []);
        assert_eq!(labels.make_room(GUEST, 1, 64, 512)[0].label, label("K0"));
        assert_eq!(labels.of_user(7), 2047);
        // Administrators have the rest, also for the longest token.
        assert_eq!(labels.exceeds(Opener::Administrator, 4, LONG, 512), None);
        assert_eq!(fill(&mut labels, 4, Opener::Administrator), (513, (Bound::Table, 4096)));
        // A guest of that tenant takes nothing that they opened.
        assert_eq!(labels.make_room(GUEST, 4, 64, 0), []);
        assert_eq!(labels.make_room(Opener::Administrator, 4, LONG, 0).len(), 33);
    }

    #[test]
    fn a_review_gives_up_what_may_no_longer_be_used() {
        let mut labels = OpenLabels::new(4096);
        for (slot, (tenant, text)) in [(1, "A"), (1, "B"), (2, "A")].into_iter().enumerate() {
            labels.insert(open(slot as u32, tenant, text, Opener::Administrator), None);
        }
        let (gone, changed) = labels.review(|tenant, label| match (tenant, label.as_str()) {
            (1, "A") => Uses::NONE,
            (1, _) => Uses::MAC_VERIFY,
            _ => Uses::USE,
        });
        assert_eq!(
            gone.iter().map(|open| (open.tenant, open.label.as_str())).collect::<Vec<_>>(),
            [(1, "A")]
        );
        assert_eq!(changed.len(), 1);
        assert_eq!(labels.find(1, &label("B")).unwrap().uses, Uses::MAC_VERIFY);
        assert_eq!((labels.len(), labels.of_tenant(2)), (2, 1));
        assert_eq!(labels.review(|_, _| Uses::USE).0, []);
        assert_eq!(labels.take_label(&label("A")).len(), 1);
    }

    proptest! {
        #[test]
        fn counts_and_lists_agree_with_the_entries(
            steps in proptest::collection::vec((0_u32..3, 0_u32..6, 0_usize..20_000, 0..5, 0_usize..4), 0..200),
        ) {
            let mut labels = OpenLabels::new(4096);
            for (slot, (tenant, name, token_bytes, step, opener)) in steps.into_iter().enumerate() {
                let (text, opener) = (format!("K{name}"), OPENERS[opener]);
                let before = labels.len();
                match step {
                    0 => drop(labels.take_label(&label(&text))),
                    1 => drop(labels.make_room(opener, tenant, token_bytes, 20)),
                    // Nothing would make so much room: all is put back.
                    2 => {
                        let room = labels.make_room(opener, tenant, 4096 * 512, 0);
                        prop_assert!(room.is_empty() && labels.len() == before);
                    }
                    3 => labels.let_go(u64::from(name)),
                    _ if labels.find(tenant, &label(&text)).is_none() => {
                        let open = of_long(slot as u32, tenant, &text, token_bytes, opener);
                        labels.insert(open, Some(u64::from(tenant % 2)));
                    }
                    _ => labels.asked_for(slot as u64 % 5, tenant, &label(&text)),
                }
                let units = |which: &dyn Fn(&OpenLabel) -> bool| {
                    let of = labels.entries.values().map(|entry| &entry.open).filter(|open| which(open));
                    of.map(OpenLabel::units).sum::<usize>()
                };
                let is_guests = |open: &OpenLabel| open.opener != Opener::Administrator;
                for tenant in 0..3 {
                    prop_assert_eq!(labels.of_tenant(tenant), units(&|open| open.tenant == tenant));
                    let guests = units(&|open| open.tenant == tenant && is_guests(open));
                    prop_assert_eq!(labels.of_guests(tenant), guests);
                }
                for user in [7, 8] {
                    prop_assert_eq!(labels.of_user(user), units(&|open| open.opener == Opener::Guest(Some(user))));
                }
                prop_assert_eq!(labels.units_of_guests, units(&is_guests));
                let listed: usize = labels.in_order.values().map(BTreeMap::len).sum();
                let lists: usize = labels.entries.values().map(|entry| entry.open.lists().count()).sum();
                prop_assert_eq!((listed, labels.by_label.len()), (lists, labels.len()));
                let held: BTreeMap<(u64, u32), ()> = labels
                    .entries
                    .iter()
                    .flat_map(|(slot, entry)| entry.holders.iter().map(|holder| ((*holder, *slot), ())))
                    .collect();
                let by_holder = labels.held.iter().flat_map(|(holder, slots)| slots.iter().map(|slot| (*holder, *slot)));
                prop_assert!(labels.held.values().all(|slots| !slots.is_empty()));
                prop_assert_eq!(labels.holds, held.len());
                let of_tenants = |which: u32| {
                    let own = labels.entries.values().filter(|entry| entry.open.tenant == which);
                    own.map(|entry| entry.holders.len()).sum::<usize>()
                };
                for tenant in 0..3 {
                    let counted = labels.holds_of_tenant.get(&tenant).copied();
                    prop_assert_eq!(counted, Some(of_tenants(tenant)).filter(|holds| *holds != 0));
                }
                prop_assert_eq!(by_holder.map(|hold| (hold, ())).collect::<BTreeMap<_, _>>(), held);
                for (slot, entry) in &labels.entries {
                    for list in entry.open.lists() {
                        prop_assert_eq!(labels.in_order[&list].get(&entry.place()), Some(slot));
                    }
                }
            }
        }
    }
}
