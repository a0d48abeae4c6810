//! What a row of the verb table says.

use super::keywords::RuleArray;
use crate::parameters::{Parameter, Verb};
use crate::point::{Point, keywords};

/// Whether a verb may run again when the card that took it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Has no effect but its answer: may be sent again.
    Pure,
    /// Changes something: never sent again once taken; its error says whether it ran.
    Once,
}

/// Who executes a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A card of the coprocessor personality.
    Coprocessor,
    /// A card of any personality.
    AnyCard,
    /// The daemon: key records, and queries about the home.
    Daemon,
}

/// One row of the verb table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The verb.
    pub verb: Verb,
    /// Its place on status pages, in costs and in records: below [`VERB_SLOTS`](crate::bounds::VERB_SLOTS),
    /// stated by the row, and never given to another verb.
    pub slot: u8,
    /// Its name in kebab case.
    pub name: &'static str,
    /// Its CCA entry point; empty for verbs of our own.
    pub entry_point: &'static str,
    /// May it run twice.
    pub class: Class,
    /// Who executes it.
    pub place: Place,
    /// Whether it is written to the audit log before it is answered.
    pub audited: bool,
    /// The access-control point that is asked before it runs: the one of its name.
    pub point: Point,
    /// The keywords of its rule array.
    pub keywords: RuleArray,
    /// Whether any of its parameters is secret.
    pub secret: bool,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
}

impl Entry {
    /// Every point that it may ask: the first before it runs, the others by its keywords and parameters.
    pub fn points(&self) -> Vec<Point> {
        let others = keywords::of(self.verb).iter().map(|row| row.point);
        let mut points = vec![self.point];
        for point in others.chain(keywords::asked_by(self.verb).iter().copied()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }
}
