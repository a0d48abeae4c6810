//! Key records and the master keys that they are under.

use super::Store;
use crate::key::Label;
use crate::registers::Register;
use serde::{Deserialize, Serialize};

/// One key record, with its token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Key store of the record.
    pub store: Store,
    /// Label of the record.
    pub label: Label,
    /// Token of the record; empty for none.
    pub token: Vec<u8>,
}

impl std::fmt::Debug for Record {
    /// Shows the length of the token alone: even wrapped tokens belong in no log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.token.len();
        f.debug_struct("Record")
            .field("store", &self.store)
            .field("label", &self.label)
            .field("bytes", &bytes)
            .finish()
    }
}

/// A record's present token, and the token that replaces it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The record with its present token.
    pub record: Record,
    /// The token that replaces the present one.
    pub token: Vec<u8>,
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("record", &self.record).field("bytes", &self.token.len()).finish()
    }
}

/// How many key records are under which master keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsUnder {
    /// Under the keys that the registers hold.
    pub held: Vec<RecordsOfKey>,
    /// Records under master keys that no register holds: no card can use these records. While
    /// registers are sealed, all records with a key count here.
    pub elsewhere: u64,
    /// Records without a key that is under a master key.
    pub keyless: u64,
}

/// How many key records are under one master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsOfKey {
    /// Name of the master key.
    pub key: MasterKeyName,
    /// Number of records under the key.
    pub records: u64,
}

/// The name of a master key: its register, and the beginning of its verification pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MasterKeyName {
    /// Register of the key.
    pub register: Register,
    /// The first 8 bytes of its verification pattern.
    pub pattern: [u8; 8],
}

impl RecordsUnder {
    /// Number of records under this key; 0 for a key that no register holds.
    pub fn of(&self, key: MasterKeyName) -> u64 {
        self.held.iter().find(|held| held.key == key).map_or(0, |held| held.records)
    }
}
