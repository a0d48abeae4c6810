//! What a key store is asked, and what it answers.
//!
//! Both are plain data without references, so that a store elsewhere can be sent them as they are.

use super::Pattern;
use serde::{Deserialize, Serialize};
use wire::Label;
use wire::control::{MasterKeyName, RecordRow, Replacement, Store};

pub use wire::control::Record;

/// Records that one job writes together, at the most.
pub const WRITES_MAX: usize = 8;

/// One job of a key store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    /// Makes a record, with its token or without one: [`Done::Changed`]. Refused with
    /// [`StoreError::Exists`](super::StoreError::Exists) where any of the stores has the label.
    Create {
        /// The new record; an empty token for none.
        record: Record,
        /// When, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Replaces the tokens of existing records, all or none: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where one of them is not there, or in another store.
    Write {
        /// The records as they shall be, 1 to [`WRITES_MAX`] of them.
        records: Vec<Record>,
        /// When, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Deletes a record, or only its token: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where it is not there, or in another store. What was
    /// deleted is overwritten, as far as what keeps it can.
    Delete {
        /// In which store.
        store: Store,
        /// Under which label.
        label: Label,
        /// Keep the record, and delete only its token.
        token_only: bool,
        /// When, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Looks for a record: [`Done::Found`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where no store has the label.
    Find {
        /// Under which label.
        label: Label,
    },
    /// Lists records: [`Done::Rows`].
    List {
        /// Of which store; none for all.
        store: Option<Store>,
        /// Labels that match.
        pattern: Pattern,
        /// Only labels after this one.
        after: Option<Label>,
        /// Rows, at the most; fewer are the end of the list.
        rows_max: usize,
    },
    /// Counts the records of all stores: [`Done::Census`].
    Census {
        /// Master keys whose records are counted apart.
        keys: Vec<MasterKeyName>,
    },
    /// Reads records in the order of their labels, with their tokens: [`Done::Records`].
    Tokens {
        /// Labels that match.
        pattern: Pattern,
        /// Only labels after this one.
        after: Option<Label>,
        /// Records that are not under one of these master keys; those without a key under any are left out.
        but: Vec<MasterKeyName>,
        /// Bytes of all tokens and labels together, at the most; the first record comes whatever its length.
        bytes_max: usize,
    },
    /// Puts tokens in the place of others, each where the record is still the one that is to be replaced, and leaves
    /// those that are not as they are: [`Done::Replaced`]. All that are replaced are in one transaction.
    Replace {
        /// Which, 1 to [`REPLACEMENTS_MAX`](wire::bounds::REPLACEMENTS_MAX).
        replacements: Vec<Replacement>,
        /// When, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Reads the certificate chain of a record: [`Done::Chain`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where the PKA store has no record of this label.
    Chain {
        /// Under which label.
        label: Label,
    },
    /// Puts a certificate chain beside a record, in place of the one that it has: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where the PKA store has no record of this label. The chain
    /// stays when the record's token is written or deleted, and goes with the record.
    SetChain {
        /// Under which label.
        label: Label,
        /// The chain ([`wire::chain`]); empty for none.
        chain: Vec<u8>,
    },
}

/// How many records there are, and under which master keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// All records.
    pub records: u64,
    /// Those without a key that is under a master key.
    pub keyless: u64,
    /// Those under each of the keys that were asked for.
    pub under: Vec<u64>,
}

/// The master key that a token's key is wrapped under; none for one under none, or that cannot be read.
pub fn master_key_of(token: &[u8]) -> Option<MasterKeyName> {
    let description = token::describe(token).ok()?;
    Some(MasterKeyName { register: description.register()?, pattern: description.pattern()? })
}

impl Job {
    /// Labels of the records whose tokens it changes; empty for one that only reads.
    pub fn changes(&self) -> Vec<&Label> {
        match self {
            Self::Create { record, .. } => vec![&record.label],
            Self::Write { records, .. } => records.iter().map(|record| &record.label).collect(),
            Self::Delete { label, .. } => vec![label],
            Self::Replace { replacements, .. } => {
                replacements.iter().map(|replacement| &replacement.record.label).collect()
            }
            // Its key stays what it is.
            Self::SetChain { .. } => Vec::new(),
            Self::Find { .. }
            | Self::List { .. }
            | Self::Census { .. }
            | Self::Tokens { .. }
            | Self::Chain { .. } => Vec::new(),
        }
    }
}

/// What a job did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Done {
    /// The change is durable.
    Changed,
    /// A record.
    Found(Record),
    /// Records in the order of the bytes of their labels.
    Rows(Vec<RecordRow>),
    /// How many there are.
    Census(Census),
    /// Records in the order of their labels; none are the end of the list.
    Records(Vec<Record>),
    /// Of each replacement whether it was made; all that were are durable.
    Replaced(Vec<bool>),
    /// The certificate chain of a record; empty for none.
    Chain(Vec<u8>),
}
