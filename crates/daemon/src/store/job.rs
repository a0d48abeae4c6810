//! What a key store is asked, and what it answers.
//!
//! Both are plain data without references, so that a store elsewhere can be sent them as they are.

use super::Pattern;
use serde::{Deserialize, Serialize};
use wire::Label;
use wire::control::{RecordRow, Store};

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
    /// Counts the records of all stores: [`Done::Count`].
    Count,
}

/// One key record.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its store.
    pub store: Store,
    /// Its label.
    pub label: Label,
    /// Its token; empty for none.
    pub token: Vec<u8>,
}

impl std::fmt::Debug for Record {
    /// Tokens are wrapped, and belong in no log all the same.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.token.len();
        f.debug_struct("Record")
            .field("store", &self.store)
            .field("label", &self.label)
            .field("bytes", &bytes)
            .finish()
    }
}

impl Job {
    /// Labels of the records that it changes; empty for one that only reads.
    pub fn changes(&self) -> Vec<&Label> {
        match self {
            Self::Create { record, .. } => vec![&record.label],
            Self::Write { records, .. } => records.iter().map(|record| &record.label).collect(),
            Self::Delete { label, .. } => vec![label],
            Self::Find { .. } | Self::List { .. } | Self::Count => Vec::new(),
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
    /// A number of records.
    Count(u64),
}
