//! The types of a row of the verb table.

use super::keywords::RuleArray;
use crate::parameters::{Parameter, Verb};
use crate::point::{Point, keywords};
use crate::registers::RegisterSet;
use crate::uses::Uses;

/// Whether a verb may run again when the card that took it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The verb has no effect but its answer: it may be sent again.
    Pure,
    /// The verb changes something: it is never sent again once taken; its error says whether it
    /// ran.
    Once,
}

/// The process that executes a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// A card of the coprocessor personality.
    Coprocessor,
    /// A card of any personality.
    AnyCard,
    /// The daemon: key records, and queries about the home.
    Daemon,
}

/// The lines that an audit log gets about a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// The audit log gets no line about the verb.
    Nothing,
    /// A line for each key that the verb takes in, gives out, or puts under another key.
    Keys,
    /// A line for each record that the verb changes.
    Records,
}

/// The kernel that a verb's requests spend most of their time in, which decides how many run side
/// by side. One key length stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// No kernel that takes several requests.
    One,
    /// Operations under private RSA keys.
    RsaPrivate,
    /// Operations under public RSA keys.
    RsaPublic,
    /// Texts enciphered in CBC under DES.
    DesCbc,
    /// Blocks enciphered under DES; a text of MDC takes two lanes.
    DesEcb,
    /// Texts enciphered in CBC under TDES.
    TdesCbcEncipher,
    /// Texts deciphered in CBC under TDES.
    TdesCbcDecipher,
    /// Blocks under TDES keys of two parts.
    TdesDouble,
    /// Keys wrapped and unwrapped under TDES keys of three parts, and nothing else.
    TdesTriple,
    /// Blocks under AES.
    AesEcb,
    /// Texts enciphered in CBC under AES.
    AesCbc,
    /// MACs by X9.19.
    X919,
    /// CMACs with TDES, by which the keys of key blocks are derived and their MACs made.
    CmacTdes,
    /// CMACs with AES.
    CmacAes,
    /// SHA-256, and HMAC with it.
    Sha256,
}

/// One row of the verb table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The verb of this row.
    pub verb: Verb,
    /// Place of the verb on status pages, in costs and in records: below
    /// [`VERB_SLOTS`](crate::bounds::VERB_SLOTS), stated by the row, and never given to another
    /// verb.
    pub slot: u8,
    /// Name of the verb in kebab case.
    pub name: &'static str,
    /// CCA entry point of the verb; empty for verbs of our own.
    pub entry_point: &'static str,
    /// Whether the verb may run twice.
    pub class: Class,
    /// The process that executes the verb.
    pub executor: Executor,
    /// The lines that are written to the audit log before the verb is answered.
    pub audited: Audit,
    /// The master-key registers that a request may need, by the kinds of keys that the verb takes
    /// and makes. Which of them it needs follows from its keys: clear and public keys need none.
    /// Empty for verbs that never open or wrap a key, and for those of the daemon.
    pub registers: RegisterSet,
    /// The kernel that requests of the verb spend most of their time in.
    pub kernel: Kernel,
    /// The access-control point that is asked before the verb runs: the point of the verb's name.
    pub point: Point,
    /// The points that the verb asks because of its parameters rather than a keyword.
    pub asks: &'static [Point],
    /// The keywords of the verb's rule array.
    pub keywords: RuleArray,
    /// Whether any parameter of the verb is secret.
    pub secret: bool,
    /// Parameters of the verb, in order.
    pub parameters: &'static [Parameter],
}

impl Entry {
    /// All that the verb does with the keys of a request, or with the records that it names.
    pub fn uses(&self) -> Uses {
        self.parameters.iter().fold(Uses::NONE, |sum, parameter| sum.union(parameter.uses))
    }

    /// Every point that the verb may ask: the first before it runs, the others for its keywords and
    /// parameters.
    pub fn points(&self) -> Vec<Point> {
        let others = keywords::of(self.verb).iter().map(|row| row.point);
        let mut points = vec![self.point];
        for point in others.chain(self.asks.iter().copied()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }
}
