//! Jobs of a key store, and their answers.
//!
//! Both are plain data without references, so that a store elsewhere can be sent them as they are.

use super::Pattern;
use serde::{Deserialize, Serialize};
use wire::Label;
use wire::control::{MasterKeyName, RecordRow, Replacement, Store};

pub use wire::control::Record;

/// Upper bound of the records that one job writes together.
pub const WRITES_MAX: usize = 8;

/// One job of a key store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    /// Makes a record, with its token or without one: [`Done::Changed`]. Refused with
    /// [`StoreError::Exists`](super::StoreError::Exists) if any of the stores has the label.
    Create {
        /// The new record; its token is empty if it has none.
        record: Record,
        /// Time of the change, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Replaces the tokens of existing records, all or none: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) if one of them does not exist, or is in another store.
    Write {
        /// The records as they shall be, 1 to [`WRITES_MAX`] of them.
        records: Vec<Record>,
        /// Time of the change, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Deletes a record, or only its token: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) if the record does not exist, or is in another store.
    /// Deleted bytes are overwritten, as far as the store can.
    Delete {
        /// The store of the record.
        store: Store,
        /// The label of the record.
        label: Label,
        /// Whether the record is kept, and only its token deleted.
        token_only: bool,
        /// Time of the change, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Looks for a record: [`Done::Found`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) where no store has the label.
    Find {
        /// The label of the record.
        label: Label,
    },
    /// Lists records: [`Done::Rows`].
    List {
        /// The store whose records are listed; `None` for all.
        store: Option<Store>,
        /// Pattern that the labels match.
        pattern: Pattern,
        /// Only labels after this one.
        after: Option<Label>,
        /// Upper bound of the rows; fewer rows are the end of the list.
        rows_max: usize,
    },
    /// Counts the records of all stores: [`Done::Census`].
    Census {
        /// Master keys whose records are counted apart.
        keys: Vec<MasterKeyName>,
    },
    /// Reads records in the order of their labels, with their tokens: [`Done::Records`].
    Tokens {
        /// Pattern that the labels match.
        pattern: Pattern,
        /// Only labels after this one.
        after: Option<Label>,
        /// Master keys whose records are left out; records without a key under any master key are left out, too.
        but: Vec<MasterKeyName>,
        /// Upper bound of the bytes of all tokens and labels together; the first record comes whatever its length.
        bytes_max: usize,
    },
    /// Replaces the tokens of records that still are as the replacements expect, and leaves other records as they are:
    /// [`Done::Replaced`]. All records that are replaced are in one transaction.
    Replace {
        /// The replacements, 1 to [`REPLACEMENTS_MAX`](wire::bounds::REPLACEMENTS_MAX) of them.
        replacements: Vec<Replacement>,
        /// Time of the change, in seconds since 1970.
        now_unix_s: u64,
    },
    /// Reads the certificate chain of a record: [`Done::Chain`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) if the PKA store has no record of this label.
    Chain {
        /// The label of the record.
        label: Label,
    },
    /// Puts a certificate chain beside a record, in place of the one that it has: [`Done::Changed`]. Refused with
    /// [`StoreError::NotFound`](super::StoreError::NotFound) if the PKA store has no record of this label. The chain
    /// stays when the record's token is written or deleted, and goes with the record.
    SetChain {
        /// The label of the record.
        label: Label,
        /// The chain ([`wire::chain`]); empty for none.
        chain: Vec<u8>,
    },
}

/// How many records there are, and under which master keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// Number of all records.
    pub records: u64,
    /// Number of records that hold no key under a master key.
    pub keyless: u64,
    /// Number of records under each of the master keys that were asked for, in their order.
    pub under: Vec<u64>,
}

/// The master key that a token's key is wrapped under; `None` if it is under none, or if the token cannot be read.
pub fn master_key_of(token: &[u8]) -> Option<MasterKeyName> {
    let description = token::describe(token).ok()?;
    Some(MasterKeyName { register: description.register()?, pattern: description.pattern()? })
}

impl Job {
    /// Labels of the records whose tokens the job changes; empty for a job that changes none.
    pub fn changes(&self) -> Vec<&Label> {
        match self {
            Self::Create { record, .. } => vec![&record.label],
            Self::Write { records, .. } => records.iter().map(|record| &record.label).collect(),
            Self::Delete { label, .. } => vec![label],
            Self::Replace { replacements, .. } => {
                replacements.iter().map(|replacement| &replacement.record.label).collect()
            }
            // The record's key stays what it is.
            Self::SetChain { .. } => Vec::new(),
            Self::Find { .. }
            | Self::List { .. }
            | Self::Census { .. }
            | Self::Tokens { .. }
            | Self::Chain { .. } => Vec::new(),
        }
    }
}

/// The answer to a job that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Done {
    /// The change is durable.
    Changed,
    /// The record that was found, with its token.
    Found(Record),
    /// Records in the order of the bytes of their labels.
    Rows(Vec<RecordRow>),
    /// Numbers of records, in all and under master keys.
    Census(Census),
    /// Records in the order of their labels; an empty page is the end of the list.
    Records(Vec<Record>),
    /// Whether each replacement was made, in their order; all that were made are durable.
    Replaced(Vec<bool>),
    /// The certificate chain of a record; empty for none.
    Chain(Vec<u8>),
}
