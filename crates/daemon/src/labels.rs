//! Opened labels: which tenant has which entry of the key table.
//!
//! An entry belongs to one tenant and one label. It is made at the first opening, reused by every
//! later one, and removed when its record changes or is deleted, when the table is full and its tenant
//! is not connected, or when its tenant needs the place for another label and has asked for this one
//! longest ago. This is pure bookkeeping: the caller writes the table itself.

use crate::access::ADMINISTRATORS_LABELS;
use link::key_table_units;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use wire::bounds::KEY_TABLE_ENTRIES;
use wire::control::Store;
use wire::uses::Uses;
use wire::{KeyReference, Label};

/// A label that a client has opened, and its entry in the key table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opener {
    /// An administrator of the home.
    Administrator,
    /// A guest with this user id; `None` if an earlier daemon let the guest in.
    Guest(Option<u32>),
}

impl Opener {
    /// Number of units of the key table that labels of this opener may take: those at the end are for administrators.
    fn units(self) -> usize {
        match self {
            Self::Administrator => KEY_TABLE_ENTRIES,
            Self::Guest(_) => KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS,
        }
    }
}

impl OpenLabel {
    /// The units of the key table that this label takes.
    fn units(&self) -> std::ops::Range<usize> {
        let first = self.reference.slot as usize;
        first..first + key_table_units(self.token_bytes as usize)
    }
}

/// All opened labels of a home, at most [`KEY_TABLE_ENTRIES`].
pub struct OpenLabels {
    entries: HashMap<(u32, Label), OpenLabel>,
    /// When each entry was last asked for, as a count of questions, and of each tenant the labels in that order.
    asked: HashMap<(u32, Label), u64>,
    in_order: HashMap<u32, BTreeMap<u64, Label>>,
    questions: u64,
    /// Units of each tenant, and of each user that opened labels as a guest.
    units_of_tenant: HashMap<u32, usize>,
    units_of_user: HashMap<u32, usize>,
    /// Which units of the key table belong to an entry.
    taken: Box<[bool; KEY_TABLE_ENTRIES]>,
}

impl Default for OpenLabels {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            asked: HashMap::new(),
            in_order: HashMap::new(),
            questions: 0,
            units_of_tenant: HashMap::new(),
            units_of_user: HashMap::new(),
            taken: Box::new([false; KEY_TABLE_ENTRIES]),
        }
    }
}

impl OpenLabels {
    /// The entry of a tenant for a label.
    pub fn find(&self, tenant: u32, label: &Label) -> Option<&OpenLabel> {
        self.entries.get(&(tenant, label.clone()))
    }

    /// The entry of a tenant that this reference names.
    pub fn of_reference(&self, tenant: u32, reference: KeyReference) -> Option<&OpenLabel> {
        self.entries.values().find(|open| open.tenant == tenant && open.reference == reference)
    }

    /// The first unit of a free run for a token of this length, which [`OpenLabels::insert`] takes; `None` if the table
    /// has no such run for this opener.
    pub fn vacant(&self, token_bytes: usize, opener: Opener) -> Option<u32> {
        let mut runs = self.taken[..opener.units()].windows(key_table_units(token_bytes));
        runs.position(|run| !run.contains(&true)).map(|slot| slot as u32)
    }

    /// Notes an entry as opened. An entry is not noted if one of its units is taken already.
    pub fn insert(&mut self, open: OpenLabel) {
        if let Some(run) = self.taken.get_mut(open.units())
            && !run.contains(&true)
        {
            run.fill(true);
            self.asked_for(open.tenant, &open.label);
            let (units, tenant) = (open.units().len(), open.tenant);
            *self.units_of_tenant.entry(tenant).or_default() += units;
            if let Opener::Guest(Some(user)) = open.opener {
                *self.units_of_user.entry(user).or_default() += units;
            }
            self.entries.insert((open.tenant, open.label.clone()), open);
        }
    }

    /// Notes that a tenant has asked for its entry of a label.
    pub fn asked_for(&mut self, tenant: u32, label: &Label) {
        self.questions += 1;
        let order = self.in_order.entry(tenant).or_default();
        if let Some(before) = self.asked.insert((tenant, label.clone()), self.questions) {
            order.remove(&before);
        }
        order.insert(self.questions, label.clone());
    }

    /// Gives up the tenant's entry that was asked for longest ago, of those that may give way; the caller revokes it in
    /// the table. `None` if the tenant has no such entry.
    pub fn take_oldest(
        &mut self,
        tenant: u32,
        may_give_way: impl Fn(&OpenLabel) -> bool,
    ) -> Option<OpenLabel> {
        let label = self.oldest(tenant, may_give_way)?.label.clone();
        let open = self.entries.remove(&(tenant, label))?;
        self.gone(&open);
        Some(open)
    }

    /// Whether a token of this length would find a place if all entries of the tenant went that may give way, and how
    /// many units those have.
    pub fn would_fit(
        &self,
        tenant: u32,
        may_give_way: impl Fn(&OpenLabel) -> bool,
        token_bytes: usize,
        opener: Opener,
    ) -> (bool, usize) {
        let mut taken = self.taken.clone();
        let mut units = 0;
        let of_tenant = self.entries.values().filter(|open| open.tenant == tenant && may_give_way(open));
        for open in of_tenant {
            taken[open.units()].fill(false);
            units += open.units().len();
        }
        let mut runs = taken[..opener.units()].windows(key_table_units(token_bytes));
        (runs.any(|run| !run.contains(&true)), units)
    }

    /// The tenant's entry that was asked for longest ago, of those that may give way.
    pub fn oldest(&self, tenant: u32, may_give_way: impl Fn(&OpenLabel) -> bool) -> Option<&OpenLabel> {
        let find =
            |label: &Label| self.entries.get(&(tenant, label.clone())).filter(|open| may_give_way(open));
        self.in_order.get(&tenant)?.values().find_map(find)
    }

    /// Forgets where an entry that was removed lay, and when it was asked for.
    fn gone(&mut self, open: &OpenLabel) {
        self.taken[open.units()].fill(false);
        let units = open.units().len();
        let less = |units_of: &mut HashMap<u32, usize>, whose: u32| {
            if let Some(count) = units_of.get_mut(&whose) {
                *count -= units;
                if *count == 0 {
                    units_of.remove(&whose);
                }
            }
        };
        less(&mut self.units_of_tenant, open.tenant);
        if let Opener::Guest(Some(user)) = open.opener {
            less(&mut self.units_of_user, user);
        }
        let Some(asked) = self.asked.remove(&(open.tenant, open.label.clone())) else { return };
        if let Some(order) = self.in_order.get_mut(&open.tenant) {
            order.remove(&asked);
            if order.is_empty() {
                self.in_order.remove(&open.tenant);
            }
        }
    }

    /// Gives up the entries of a label, of all tenants; the caller revokes them in the table.
    pub fn take_label(&mut self, label: &Label) -> Vec<OpenLabel> {
        self.take(|open| open.label == *label)
    }

    /// Gives up the entries of tenants other than these; the caller revokes them in the table.
    pub fn take_absent(&mut self, present: &HashSet<u32>) -> Vec<OpenLabel> {
        self.take(|open| !present.contains(&open.tenant))
    }

    /// Gives up the entries of some tenants; the caller revokes them in the table.
    pub fn take_tenants(&mut self, which: impl Fn(u32) -> bool) -> Vec<OpenLabel> {
        self.take(|open| which(open.tenant))
    }

    /// Updates every entry to its tenant's present rights. Removes those that have no allowed use, which the
    /// caller revokes in the table, and returns those whose uses changed, which the caller writes into it.
    pub fn review(&mut self, uses: impl Fn(u32, &Label) -> Uses) -> (Vec<OpenLabel>, Vec<OpenLabel>) {
        let mut changed = Vec::new();
        for open in self.entries.values_mut() {
            let now = uses(open.tenant, &open.label);
            if now != open.uses {
                open.uses = now;
                changed.push(open.clone());
            }
        }
        let gone = self.take(|open| open.uses.is_none());
        changed.retain(|open| !open.uses.is_none());
        (gone, changed)
    }

    /// Units of the key table that a tenant's labels take: one for each but those with the longest tokens.
    pub fn of_tenant(&self, tenant: u32) -> usize {
        self.units_of_tenant.get(&tenant).copied().unwrap_or(0)
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

    fn take(&mut self, which: impl Fn(&OpenLabel) -> bool) -> Vec<OpenLabel> {
        let taken: Vec<_> = self.entries.extract_if(|_, open| which(open)).map(|(_, open)| open).collect();
        taken.iter().for_each(|open| self.gone(open));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(slot: u32, tenant: u32, label: &str) -> OpenLabel {
        open_long(slot, tenant, label, 64)
    }

    fn open_long(slot: u32, tenant: u32, label: &str, token_bytes: usize) -> OpenLabel {
        OpenLabel {
            tenant,
            label: Label::new(label).unwrap(),
            store: Store::Des,
            token_bytes: token_bytes as u32,
            reference: KeyReference { slot, generation: 1 },
            uses: Uses::USE,
            opener: Opener::Administrator,
        }
    }

    #[test]
    fn a_full_table_gives_up_the_absent_only() {
        let mut labels = OpenLabels::default();
        for index in 0..KEY_TABLE_ENTRIES {
            let slot = labels.vacant(64, Opener::Administrator).unwrap();
            labels.insert(open(slot, (index % 2) as u32, &format!("K{index}")));
        }
        assert_eq!(labels.vacant(64, Opener::Administrator), None);
        assert_eq!(labels.take_absent(&HashSet::from([0, 1])), []);
        assert_eq!(labels.take_absent(&HashSet::from([1])).len(), KEY_TABLE_ENTRIES / 2);
        assert!(
            labels.vacant(64, Opener::Administrator).is_some()
                && labels.vacant(5000, Opener::Administrator).is_none()
        );
        assert!(labels.find(1, &Label::new("K1").unwrap()).is_some());
        assert!(labels.find(0, &Label::new("K0").unwrap()).is_none());
    }

    #[test]
    fn of_a_tenants_entries_the_one_asked_for_longest_ago_gives_way() {
        let mut labels = OpenLabels::default();
        for (tenant, label) in [(1, "A"), (2, "A"), (1, "B"), (1, "C")] {
            let slot = labels.vacant(64, Opener::Administrator).unwrap();
            labels.insert(open(slot, tenant, label));
        }
        labels.asked_for(1, &Label::new("A").unwrap());
        let oldest = |labels: &mut OpenLabels, not: &str| {
            let open = labels.take_oldest(1, |open| open.label.as_str() != not)?;
            assert_eq!(open.tenant, 1);
            Some(open.label.to_string())
        };
        assert_eq!(oldest(&mut labels, "B").as_deref(), Some("C"));
        assert_eq!(labels.vacant(64, Opener::Administrator), Some(3));
        assert_eq!(oldest(&mut labels, "").as_deref(), Some("B"));
        assert_eq!(oldest(&mut labels, "").as_deref(), Some("A"));
        assert_eq!(oldest(&mut labels, ""), None);
        assert_eq!((labels.len(), labels.of_tenant(2)), (1, 1));
        // Nothing is left of what is gone.
        assert_eq!((labels.asked.len(), labels.in_order.len()), (1, 1));
    }

    #[test]
    fn what_would_make_room_is_weighed_before_anything_goes() {
        let (mut labels, guest) = (OpenLabels::default(), Opener::Guest(Some(7)));
        // Those of tenant 1 and those of tenant 2 in turn, up to the administrators' part.
        for index in 0..KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS {
            let slot = labels.vacant(64, guest).unwrap();
            labels.insert(OpenLabel {
                opener: guest,
                ..open(slot, 1 + index as u32 % 2, &format!("K{index}"))
            });
        }
        let of_one = (KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS) / 2;
        assert_eq!(labels.would_fit(1, |_| true, 64, guest), (true, of_one));
        // A long token needs a run, which neighbours' entries break.
        assert_eq!(labels.would_fit(1, |_| true, 5000, guest), (false, of_one));
        assert_eq!(labels.would_fit(1, |_| false, 64, guest), (false, 0));
        assert_eq!(labels.oldest(1, |_| true).unwrap().label.as_str(), "K0");
        assert_eq!(labels.len(), KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS);
    }

    #[test]
    fn guests_leave_room_for_administrators_and_a_long_token_finds_it() {
        let (mut labels, guest) = (OpenLabels::default(), Opener::Guest(Some(7)));
        for index in 0..KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS {
            let slot = labels.vacant(64, guest).unwrap();
            labels.insert(OpenLabel { opener: guest, ..open(slot, 1, &format!("K{index}")) });
        }
        assert_eq!(labels.vacant(64, guest), None);
        assert_eq!(labels.vacant(64, Opener::Guest(None)), None);
        assert_eq!(labels.of_user(7), KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS);
        assert_eq!(labels.of_user(8), 0);
        // Whatever places guests leave between theirs, those at the end are in one piece.
        let label = |index| Label::new(&format!("K{index}")).unwrap();
        (0..KEY_TABLE_ENTRIES - ADMINISTRATORS_LABELS)
            .step_by(2)
            .for_each(|index| drop(labels.take_label(&label(index))));
        assert!(labels.vacant(16 * 1024, Opener::Administrator).is_some());
        assert_eq!(labels.vacant(16 * 1024, guest), None);
    }

    #[test]
    fn a_review_gives_up_what_may_no_longer_be_used() {
        let mut labels = OpenLabels::default();
        for (tenant, label) in [(1, "A"), (1, "B"), (2, "A")] {
            let slot = labels.vacant(64, Opener::Administrator).unwrap();
            labels.insert(open(slot, tenant, label));
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
        assert_eq!(labels.find(1, &Label::new("B").unwrap()).unwrap().uses, Uses::MAC_VERIFY);
        assert_eq!((labels.len(), labels.of_tenant(2)), (2, 1));
        assert_eq!(labels.review(|_, _| Uses::USE).0, []);
    }

    proptest! {
        #[test]
        fn no_entry_has_two_owners(steps in proptest::collection::vec((0u32..3, 0u32..6, 0usize..20_000, any::<bool>()), 0..200)) {
            let mut labels = OpenLabels::default();
            for (tenant, name, token_bytes, opens) in steps {
                let label = format!("K{name}");
                if opens {
                    if labels.find(tenant, &Label::new(&label).unwrap()).is_none() {
                        let slot = labels.vacant(token_bytes, Opener::Administrator).unwrap();
                        labels.insert(open_long(slot, tenant, &label, token_bytes));
                    }
                } else {
                    labels.take_label(&Label::new(&label).unwrap());
                }
                let units: Vec<_> = labels.entries.values().flat_map(OpenLabel::units).collect();
                prop_assert_eq!(units.iter().collect::<HashSet<_>>().len(), units.len());
                prop_assert_eq!(labels.taken.iter().filter(|taken| **taken).count(), units.len());
                prop_assert!(units.iter().all(|unit| labels.taken[*unit]));
                for tenant in 0..3 {
                    let of_tenant = labels.entries.values().filter(|open| open.tenant == tenant);
                    prop_assert_eq!(labels.of_tenant(tenant), of_tenant.map(|open| open.units().len()).sum::<usize>());
                }
                prop_assert_eq!(labels.in_order.values().map(BTreeMap::len).sum::<usize>(), labels.len());
            }
        }
    }
}
