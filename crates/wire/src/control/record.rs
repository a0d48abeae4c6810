//! Key records and the master keys that they are under.

use super::Store;
use crate::key::Label;
use crate::registers::Register;
use serde::{Deserialize, Serialize};

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

/// A record's present token, and the token that replaces it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The record as it is.
    pub record: Record,
    /// The token that it shall have.
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
    /// Under master keys that no register holds: no card can use them. All are, while registers are sealed.
    pub elsewhere: u64,
    /// Without a key that is under a master key.
    pub keyless: u64,
}

/// How many key records are under one master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsOfKey {
    /// The master key.
    pub key: MasterKeyName,
    /// How many.
    pub records: u64,
}

/// What a master key is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MasterKeyName {
    /// Its register.
    pub register: Register,
    /// The first 8 bytes of its verification pattern.
    pub pattern: [u8; 8],
}

impl RecordsUnder {
    /// Records under this key; 0 for one that no register holds.
    pub fn of(&self, key: MasterKeyName) -> u64 {
        self.held.iter().find(|held| held.key == key).map_or(0, |held| held.records)
    }
}
