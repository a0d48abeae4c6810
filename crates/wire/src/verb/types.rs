//! What a row of the verb table says.

use super::keywords::RuleArray;
use crate::parameters::{Parameter, Verb};
use crate::point::{Point, keywords};
use crate::registers::RegisterSet;

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

/// What an audit log has of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// No line.
    Nothing,
    /// A line for each key that it takes in, lets out, or puts under another.
    Keys,
    /// A line for each record that it changes.
    Records,
}

/// The kernel that a verb's requests spend most of their time in, which says how many go side by side. One key length
/// stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// None that takes several requests.
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
    /// CMACs with TDES, of which key blocks have their keys and their MACs.
    CmacTdes,
    /// CMACs with AES.
    CmacAes,
    /// SHA-256, and HMAC with it.
    Sha256,
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
    /// What is written to the audit log before it is answered.
    pub audited: Audit,
    /// The master-key registers that a request may need, by the kinds of keys that the verb takes and makes: which of
    /// them one needs, its keys say, and one whose keys are clear or public needs none. Empty for verbs that never open
    /// or wrap a key, and for those of the daemon.
    pub registers: RegisterSet,
    /// The kernel that its requests spend most of their time in.
    pub kernel: Kernel,
    /// The access-control point that is asked before it runs: the one of its name.
    pub point: Point,
    /// The points that it asks by what its parameters are rather than by a keyword.
    pub asks: &'static [Point],
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
        for point in others.chain(self.asks.iter().copied()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }
}
