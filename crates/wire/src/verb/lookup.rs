//! Finds the row of a verb by its number, slot or name.

use super::table::ROWS;
use super::{Entry, TABLE, Verb};
use crate::bounds::{VERB_NUMBERS, VERB_SLOTS};
use crate::parameters::is;

/// Stands for a number or slot that no verb has.
const NO_ROW: u16 = u16::MAX;

static BY_NUMBER: [u16; VERB_NUMBERS] = {
    let mut rows = [NO_ROW; VERB_NUMBERS];
    let mut row = 0;
    while row < ROWS.len() {
        let number = ROWS[row].verb as usize;
        assert!(number != 0 && number < VERB_NUMBERS, "a verb's number is within the bounds");
        assert!(rows[number] == NO_ROW, "no two verbs have one number");
        rows[number] = row as u16;
        row += 1;
    }
    rows
};

static BY_SLOT: [u16; VERB_SLOTS] = {
    let mut rows = [NO_ROW; VERB_SLOTS];
    let mut row = 0;
    while row < ROWS.len() {
        let slot = ROWS[row].slot as usize;
        assert!(rows[slot] == NO_ROW, "no two verbs have one slot");
        rows[slot] = row as u16;
        row += 1;
    }
    rows
};

const _: () = assert!(ROWS.len() <= VERB_SLOTS && VERB_SLOTS == u8::MAX as usize + 1);

impl Entry {
    /// The row with this CCA entry point.
    pub const fn of_entry_point(name: &str) -> Option<&'static Self> {
        let mut row = 0;
        while row < ROWS.len() {
            if !name.is_empty() && is(ROWS[row].entry_point, name) {
                return Some(&ROWS[row]);
            }
            row += 1;
        }
        None
    }

    /// The row of the verb with this number: a load from a table.
    #[inline]
    pub fn of_number(number: u16) -> Option<&'static Self> {
        BY_NUMBER.get(number as usize).and_then(|row| TABLE.get(*row as usize))
    }

    /// The row of the verb with this slot: a load from a table.
    #[inline]
    pub fn of_slot(slot: usize) -> Option<&'static Self> {
        BY_SLOT.get(slot).and_then(|row| TABLE.get(*row as usize))
    }
}

impl Verb {
    /// The verb of this number.
    #[inline]
    pub fn from_number(number: u16) -> Option<Self> {
        Entry::of_number(number).map(|entry| entry.verb)
    }

    /// The verb of this kebab-case name or CCA entry point.
    pub fn from_name(name: &str) -> Option<Self> {
        let entry = TABLE.iter().find(|entry| {
            entry.name == name
                || (!entry.entry_point.is_empty() && entry.entry_point.eq_ignore_ascii_case(name))
        });
        entry.map(|entry| entry.verb)
    }

    /// Row of the verb in the table.
    #[inline]
    pub fn entry(self) -> &'static Entry {
        &TABLE[self.row()]
    }

    /// Slot of the verb: see [`Entry::slot`].
    #[inline]
    pub fn slot(self) -> usize {
        self.entry().slot as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::encipher;
    use std::collections::HashSet;

    #[test]
    fn names_and_entry_points_are_unique() {
        let names: HashSet<_> = TABLE.iter().map(|entry| entry.name).collect();
        let entry_points: Vec<_> =
            TABLE.iter().map(|entry| entry.entry_point).filter(|text| !text.is_empty()).collect();
        assert_eq!(names.len(), TABLE.len());
        assert_eq!(entry_points.iter().collect::<HashSet<_>>().len(), entry_points.len());
    }

    #[test]
    fn rows_are_found_by_number_slot_name_and_entry_point() {
        for entry in TABLE {
            assert_eq!(entry.verb.entry().name, entry.name);
            assert_eq!(Verb::from_number(entry.verb as u16), Some(entry.verb));
            assert_eq!(Entry::of_slot(entry.verb.slot()).map(|found| found.verb), Some(entry.verb));
            assert_eq!(Verb::from_name(entry.name), Some(entry.verb));
        }
        assert_eq!(Verb::from_name("csnbenc"), Some(Verb::Encipher));
        assert_eq!(Verb::from_name("key-generate"), Some(Verb::KeyGenerate));
        assert_eq!(Verb::Encipher.entry().parameters[encipher::TEXT_LENGTH].name, "text_length");
        assert_eq!(Verb::from_name(""), None);
        assert_eq!(Entry::of_entry_point("CSNBENC").map(|entry| entry.verb), Some(Verb::Encipher));
        assert!(Entry::of_entry_point("CSNBEN").is_none() && Entry::of_entry_point("").is_none());
        for number in [0, 0x0FFF, 0x1000, u16::MAX] {
            assert_eq!(Verb::from_number(number), None);
        }
        assert!(Entry::of_slot(VERB_SLOTS).is_none() && Entry::of_slot(usize::MAX).is_none());
    }

    // Status pages, records and kept fuzz inputs name verbs by these numbers.
    #[test]
    fn slots_stay_where_they_are() {
        let slots: Vec<_> = TABLE.iter().map(|entry| (entry.slot, entry.name)).collect();
        assert_eq!(slots[0], (0, "null"));
        assert_eq!(Verb::MacGenerate.slot(), 12);
        assert_eq!(Verb::PkaKeyRecordDelete.slot(), 38);
    }
}
