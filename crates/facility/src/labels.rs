//! Labels that this process has opened: resolved by the daemon once, then sent as references.
//!
//! Each share of the process ([`crate::cards::shares`]) has a table of the labels that its threads used; what it does
//! not have it takes from the table of the process, which asks the daemon. The tables are bounded; the label that was
//! not used for longest, more or less, gives way. A reference goes stale when its record is written, deleted or
//! revoked, or when its entry gave way in the daemon: the card then refuses it, and the label is opened again, a few
//! times a request.

use crate::control::Opened;
use link::world;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use wire::bounds::{KEY_TABLE_UNITS_PER_LABEL, LABEL_BYTES, LABELS_DEFAULT};
use wire::control::Store;
use wire::{KeyReference, Label};

/// One opened label.
pub(crate) struct OpenLabel {
    /// The label.
    pub label: Label,
    reference: Mutex<KeyReference>,
    /// Whether it was used since it last could have given way.
    is_used: AtomicBool,
}

/// Upper bound of the labels in a table: as many AES and DES keys as a home has places for, if its settings name no
/// other number.
const LABELS_MAX: usize = LABELS_DEFAULT as usize * KEY_TABLE_UNITS_PER_LABEL;
/// Placeholder for the reference of a label that is not opened yet: no generation of a key is 0.
const UNOPENED: KeyReference = KeyReference { slot: u32::MAX, generation: 0 };

/// Entry of an event loop's table for a label that the daemon is still asked about.
pub(crate) const NOT_YET: Opened = Opened { reference: UNOPENED, store: Store::Des, token_bytes: 0 };

impl OpenLabel {
    /// Whether its reference is known.
    pub fn is_open(&self) -> bool {
        self.reference() != UNOPENED
    }

    /// Sets the reference that the daemon gave.
    pub fn opened(&self, reference: KeyReference) {
        *world::lock(&self.reference) = reference;
    }

    /// Marks this reference as stale: its label is opened again, unless it has a newer reference already.
    pub fn went_stale(&self, stale: KeyReference) {
        let mut reference = world::lock(&self.reference);
        if *reference == stale {
            *reference = UNOPENED;
        }
    }

    /// The reference to put into a request now.
    pub fn reference(&self) -> KeyReference {
        *world::lock(&self.reference)
    }

    /// Replaces the reference, unless another thread already replaced the one that went stale.
    pub fn refresh<E>(
        &self,
        stale: KeyReference,
        open: impl FnOnce(&Label) -> Result<KeyReference, E>,
    ) -> Result<KeyReference, E> {
        let mut reference = world::lock(&self.reference);
        if *reference == stale {
            *reference = open(&self.label)?;
        }
        Ok(*reference)
    }
}

#[derive(Default)]
struct Table {
    labels: HashMap<[u8; LABEL_BYTES], Arc<OpenLabel>>,
    /// The order in which labels may give way; those that were used meanwhile go to the end. Labels that are forgotten
    /// stay here until their turn comes.
    order: VecDeque<[u8; LABEL_BYTES]>,
}

impl Table {
    fn insert(&mut self, field: &[u8; LABEL_BYTES], label: &Arc<OpenLabel>) {
        // A label that was used goes to the end once, so that this ends after two turns of all at most.
        while self.labels.len() >= LABELS_MAX || self.order.len() >= 2 * LABELS_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            match self.labels.get(&oldest) {
                Some(label) if label.is_used.swap(false, Ordering::Relaxed) => self.order.push_back(oldest),
                Some(_) => drop(self.labels.remove(&oldest)),
                None => {}
            }
        }
        if self.labels.insert(*field, Arc::clone(label)).is_none() {
            self.order.push_back(*field);
        }
    }
}

/// The opened labels of a process, of one of its shares, or of an event loop.
#[derive(Default)]
pub(crate) struct Labels {
    table: RwLock<Table>,
    /// Held while a label is opened for several threads, so that those that need the same one open it once.
    opening: Mutex<()>,
}

impl Labels {
    /// The opened label of a blank-padded field; opened now where it is not yet.
    pub fn resolve<E>(
        &self,
        field: &[u8; LABEL_BYTES],
        label: impl FnOnce() -> Result<Label, E>,
        open: impl FnOnce(&Label) -> Result<KeyReference, E>,
    ) -> Result<Arc<OpenLabel>, E> {
        let table = world::read(&self.table);
        if let Some(found) = table.labels.get(field) {
            if !found.is_used.load(Ordering::Relaxed) {
                found.is_used.store(true, Ordering::Relaxed);
            }
            return Ok(found.clone());
        }
        drop(table);
        let label = label()?;
        let reference = Mutex::new(open(&label)?);
        let entry = Arc::new(OpenLabel { label, reference, is_used: AtomicBool::new(false) });
        world::write(&self.table).insert(field, &entry);
        Ok(entry)
    }

    /// A label's reference, opened now where it is not yet; by one of the threads that need it.
    pub fn reference<E>(
        &self,
        label: &Label,
        open: impl FnOnce(&Label) -> Result<KeyReference, E>,
    ) -> Result<KeyReference, E> {
        let is_known = |table: &Table| table.labels.contains_key(&label.to_field());
        let known = is_known(&world::read(&self.table));
        let _opening = (!known).then(|| world::lock(&self.opening));
        Ok(self.resolve(&label.to_field(), || Ok(label.clone()), open)?.reference())
    }

    /// A label's reference after this one went stale; opened again unless another thread did that.
    pub fn renewed<E>(
        &self,
        label: &Label,
        stale: KeyReference,
        open: impl Fn(&Label) -> Result<KeyReference, E>,
    ) -> Result<KeyReference, E> {
        self.resolve(&label.to_field(), || Ok(label.clone()), &open)?.refresh(stale, open)
    }

    /// Forgets a label, so that its next use opens it again.
    pub fn forget(&self, label: &Label) {
        world::write(&self.table).labels.remove(&label.to_field());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn opened(slot: u32) -> KeyReference {
        KeyReference { slot, generation: 1 }
    }

    fn resolve(labels: &Labels, text: &str, opens: &Cell<u32>) -> Arc<OpenLabel> {
        let label = Label::new(text).unwrap();
        let open = |_: &Label| -> Result<KeyReference, ()> {
            opens.set(opens.get() + 1);
            Ok(opened(opens.get()))
        };
        labels.resolve(&label.to_field(), || Ok(label.clone()), open).unwrap()
    }

    #[test]
    fn a_label_is_opened_once() {
        let (labels, opens) = (Labels::default(), Cell::new(0));
        let first = resolve(&labels, "A.B", &opens).reference();
        assert_eq!(resolve(&labels, "A.B", &opens).reference(), first);
        assert_eq!(opens.get(), 1);
        labels.forget(&Label::new("A.B").unwrap());
        assert_ne!(resolve(&labels, "A.B", &opens).reference(), first);
        assert_eq!(opens.get(), 2);
    }

    #[test]
    fn the_label_unused_for_longest_gives_way() {
        let (labels, opens) = (Labels::default(), Cell::new(0));
        for number in 0..LABELS_MAX {
            resolve(&labels, &format!("L{number}"), &opens);
        }
        resolve(&labels, "L0", &opens);
        resolve(&labels, "NEW", &opens);
        let before = opens.get();
        resolve(&labels, "L0", &opens);
        resolve(&labels, "NEW", &opens);
        assert_eq!(opens.get(), before);
        resolve(&labels, "L1", &opens);
        assert_eq!(opens.get(), before + 1);
    }

    #[test]
    fn labels_that_are_opened_and_forgotten_without_end_take_no_more_room() {
        let (labels, opens) = (Labels::default(), Cell::new(0));
        for number in 0..5 * LABELS_MAX {
            let name = format!("L{}", number % 3);
            resolve(&labels, &name, &opens);
            labels.forget(&Label::new(&name).unwrap());
        }
        let table = labels.table.read().unwrap();
        assert!(table.labels.is_empty() && table.order.len() <= 2 * LABELS_MAX, "{}", table.order.len());
    }

    #[test]
    fn one_thread_refreshes_a_stale_reference() {
        let (labels, opens) = (Labels::default(), Cell::new(0));
        let entry = resolve(&labels, "A", &opens);
        let stale = entry.reference();
        let fresh = entry.refresh(stale, |_| Ok::<_, ()>(opened(9))).unwrap();
        assert_eq!(fresh.slot, 9);
        let again = entry.refresh(stale, |_| Err(())).unwrap();
        assert_eq!(again, fresh);
    }

    #[test]
    fn a_share_takes_references_from_its_process_and_one_of_them_renews_a_stale_one() {
        let (process, opens) = (Labels::default(), Cell::new(0));
        let open = |_: &Label| -> Result<KeyReference, ()> {
            opens.set(opens.get() + 1);
            Ok(opened(opens.get()))
        };
        let label = Label::new("A.B").unwrap();
        let shares = [Labels::default(), Labels::default()];
        let of = |share: &Labels| {
            let ask = |label: &Label| process.reference(label, open);
            share.resolve(&label.to_field(), || Ok(label.clone()), ask).unwrap()
        };
        let [first, second] = shares.each_ref().map(of);
        assert_eq!((first.reference(), second.reference(), opens.get()), (opened(1), opened(1), 1));
        for entry in [&first, &second, &first] {
            let fresh = entry.refresh(opened(1), |label| process.renewed(label, opened(1), open)).unwrap();
            assert_eq!((fresh, opens.get()), (opened(2), 2));
        }
    }

    #[test]
    fn a_failed_opening_leaves_nothing() {
        let labels = Labels::default();
        let label = Label::new("A").unwrap();
        assert!(
            labels.resolve(&label.to_field(), || Ok(label.clone()), |_| Err::<KeyReference, _>(5)).is_err()
        );
        assert!(labels.table.read().unwrap().labels.is_empty());
    }
}
