//! Which labels are open: who holds which entry of the key table.
//!
//! An entry belongs to one tenant and one label. It is made at the first opening, reused by every
//! later one, and given up when its record changes or goes, or when the table is full and its tenant
//! is no longer connected. Pure bookkeeping: the table itself is written by the caller.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use wire::bounds::KEY_TABLE_ENTRIES;
use wire::control::Store;
use wire::{KeyReference, Label};

/// An opened label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLabel {
    /// Tenant that may use the entry.
    pub tenant: u32,
    /// The label.
    pub label: Label,
    /// Store that it was found in.
    pub store: Store,
    /// Length of the token in bytes.
    pub token_bytes: u32,
    /// The entry and its generation.
    pub reference: KeyReference,
}

/// All opened labels of a home, at most [`KEY_TABLE_ENTRIES`].
pub struct OpenLabels {
    entries: HashMap<(u32, Label), OpenLabel>,
    free: Vec<u32>,
}

impl Default for OpenLabels {
    fn default() -> Self {
        Self { entries: HashMap::new(), free: (0..KEY_TABLE_ENTRIES as u32).rev().collect() }
    }
}

impl OpenLabels {
    /// The entry of a tenant for a label.
    pub fn find(&self, tenant: u32, label: &Label) -> Option<&OpenLabel> {
        self.entries.get(&(tenant, label.clone()))
    }

    /// A free entry, which is taken by [`OpenLabels::insert`]; `None` where the table is full.
    pub fn vacant(&self) -> Option<u32> {
        self.free.last().copied()
    }

    /// Notes an entry as opened. An entry whose place is taken is not noted.
    pub fn insert(&mut self, open: OpenLabel) {
        if let Some(at) = self.free.iter().rposition(|slot| *slot == open.reference.slot) {
            self.free.swap_remove(at);
            self.entries.insert((open.tenant, open.label.clone()), open);
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

    /// Number of labels that a tenant has open.
    pub fn of_tenant(&self, tenant: u32) -> usize {
        self.entries.keys().filter(|(owner, _)| *owner == tenant).count()
    }

    /// Number of opened labels.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn take(&mut self, which: impl Fn(&OpenLabel) -> bool) -> Vec<OpenLabel> {
        let taken: Vec<_> = self.entries.extract_if(|_, open| which(open)).map(|(_, open)| open).collect();
        self.free.extend(taken.iter().map(|open| open.reference.slot));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(slot: u32, tenant: u32, label: &str) -> OpenLabel {
        OpenLabel {
            tenant,
            label: Label::new(label).unwrap(),
            store: Store::Des,
            token_bytes: 64,
            reference: KeyReference { slot, generation: 1 },
        }
    }

    #[test]
    fn a_full_table_gives_up_the_absent_only() {
        let mut labels = OpenLabels::default();
        for index in 0..KEY_TABLE_ENTRIES {
            let slot = labels.vacant().unwrap();
            labels.insert(open(slot, (index % 2) as u32, &format!("K{index}")));
        }
        assert_eq!(labels.vacant(), None);
        assert_eq!(labels.take_absent(&HashSet::from([0, 1])), []);
        assert_eq!(labels.take_absent(&HashSet::from([1])).len(), KEY_TABLE_ENTRIES / 2);
        assert!(labels.vacant().is_some());
        assert!(labels.find(1, &Label::new("K1").unwrap()).is_some());
        assert!(labels.find(0, &Label::new("K0").unwrap()).is_none());
    }

    proptest! {
        #[test]
        fn no_entry_has_two_owners(steps in proptest::collection::vec((0u32..3, 0u32..6, any::<bool>()), 0..200)) {
            let mut labels = OpenLabels::default();
            for (tenant, name, opens) in steps {
                let label = format!("K{name}");
                if opens {
                    if labels.find(tenant, &Label::new(&label).unwrap()).is_none() {
                        let slot = labels.vacant().unwrap();
                        labels.insert(open(slot, tenant, &label));
                    }
                } else {
                    labels.take_label(&Label::new(&label).unwrap());
                }
                let taken: HashSet<u32> = labels.entries.values().map(|open| open.reference.slot).collect();
                prop_assert_eq!(taken.len(), labels.len());
                prop_assert!(labels.free.iter().all(|slot| !taken.contains(slot)));
                prop_assert_eq!(taken.len() + labels.free.len(), KEY_TABLE_ENTRIES);
            }
        }
    }
}
