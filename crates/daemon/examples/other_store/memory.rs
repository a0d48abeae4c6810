//! Key records in memory, with another writer: what a database that hosts share promises, without one.

use daemon::store::job::{Census, WRITES_MAX, master_key_of};
use daemon::store::{Changes, Done, Job, Record, StoreError};
use std::collections::BTreeMap;
use wire::Label;
use wire::control::{RecordRow, Replacement, Store};

/// Records, and which changes of another writer were told to the daemon that uses them.
#[derive(Default)]
pub struct Memory {
    records: BTreeMap<Label, (Record, u64)>,
    chains: BTreeMap<Label, Vec<u8>>,
    /// Labels that the other writer changed and that were not told yet.
    pending: Vec<Label>,
    /// Labels that were told at the last asking.
    told: Vec<Label>,
    /// Changes were missed: they are told as any.
    missed: bool,
    /// Any were told at the last asking.
    told_any: bool,
    /// How often the next askings for changes fail.
    pub failures: u32,
}

impl Memory {
    /// Does a job; what `KeyStore::run` promises.
    pub fn run(&mut self, job: &Job) -> Result<Done, StoreError> {
        match job {
            Job::Create { record, now_unix_s } => {
                if self.records.contains_key(&record.label) {
                    return Err(StoreError::Exists);
                }
                self.records.insert(record.label.clone(), (record.clone(), *now_unix_s));
            }
            Job::Write { records, now_unix_s } => {
                assert!((1..=WRITES_MAX).contains(&records.len()));
                if !records.iter().all(|record| self.has(record.store, &record.label)) {
                    return Err(StoreError::NotFound);
                }
                for record in records {
                    self.records.insert(record.label.clone(), (record.clone(), *now_unix_s));
                }
            }
            Job::Delete { store, label, token_only, now_unix_s } => {
                if !self.has(*store, label) {
                    return Err(StoreError::NotFound);
                }
                if *token_only {
                    let empty = Record { store: *store, label: label.clone(), token: Vec::new() };
                    self.records.insert(label.clone(), (empty, *now_unix_s));
                } else {
                    self.records.remove(label);
                    self.chains.remove(label);
                }
            }
            Job::Find { label } => {
                let found = self.records.get(label).ok_or(StoreError::NotFound)?;
                return Ok(Done::Found(found.0.clone()));
            }
            Job::List { store, pattern, after, rows_max } => {
                let is_listed = |record: &Record| {
                    store.is_none_or(|store| record.store == store)
                        && pattern.matches(record.label.as_str())
                        && after.as_ref().is_none_or(|after| record.label > *after)
                };
                let rows = self.records.values().filter(|(record, _)| is_listed(record));
                let rows = rows.take(*rows_max).map(|(record, written_unix_s)| RecordRow {
                    label: record.label.clone(),
                    store: record.store,
                    token_bytes: record.token.len() as u32,
                    written_unix_s: *written_unix_s,
                    chain_bytes: self.chains.get(&record.label).map_or(0, Vec::len) as u32,
                });
                return Ok(Done::Rows(rows.collect()));
            }
            Job::Census { keys } => {
                let names: Vec<_> =
                    self.records.values().map(|(record, _)| master_key_of(&record.token)).collect();
                let number = |name| names.iter().filter(|of| **of == name).count() as u64;
                let under = keys.iter().map(|key| number(Some(*key))).collect();
                let census = Census { records: names.len() as u64, keyless: number(None), under };
                return Ok(Done::Census(census));
            }
            Job::Tokens { pattern, after, but, bytes_max } => {
                let mut bytes = 0;
                let is_listed = |record: &&Record| {
                    let key = master_key_of(&record.token);
                    pattern.matches(record.label.as_str())
                        && after.as_ref().is_none_or(|after| record.label > *after)
                        && key.is_some_and(|key| !but.contains(&key))
                };
                let mut page: Vec<Record> = Vec::new();
                for record in self.records.values().map(|(record, _)| record).filter(is_listed) {
                    bytes += record.token.len() + record.label.as_str().len();
                    if bytes > *bytes_max && !page.is_empty() {
                        break;
                    }
                    page.push(record.clone());
                }
                return Ok(Done::Records(page));
            }
            Job::Replace { replacements, now_unix_s } => {
                let replaced = replacements.iter().map(|Replacement { record, token }| {
                    let found = self.records.get_mut(&record.label).filter(|(there, _)| there == record);
                    let Some((there, written_unix_s)) = found else { return false };
                    there.token.clone_from(token);
                    *written_unix_s = *now_unix_s;
                    true
                });
                return Ok(Done::Replaced(replaced.collect()));
            }
            Job::Chain { label } => {
                if !self.has(Store::Pka, label) {
                    return Err(StoreError::NotFound);
                }
                return Ok(Done::Chain(self.chains.get(label).cloned().unwrap_or_default()));
            }
            Job::SetChain { label, chain } => {
                if !self.has(Store::Pka, label) {
                    return Err(StoreError::NotFound);
                }
                self.chains.insert(label.clone(), chain.clone());
            }
        }
        Ok(Done::Changed)
    }

    fn has(&self, store: Store, label: &Label) -> bool {
        self.records.get(label).is_some_and(|(record, _)| record.store == store)
    }

    /// What the other writer changed; acknowledges what the call before told.
    pub fn changed(&mut self) -> Changes {
        self.told = std::mem::take(&mut self.pending);
        self.told_any = std::mem::take(&mut self.missed);
        if self.told_any { Changes::Any } else { Changes::Labels(self.told.clone()) }
    }

    /// The daemon that used these records is gone: what it was told last was not acknowledged.
    pub fn left(&mut self) {
        self.pending.append(&mut self.told);
        self.missed |= std::mem::take(&mut self.told_any);
    }

    /// The other writer puts a record there, or takes it away.
    pub fn change(&mut self, label: &Label, record: Option<Record>) {
        match record {
            Some(record) => self.records.insert(label.clone(), (record, 0)),
            None => {
                self.chains.remove(label);
                self.records.remove(label)
            }
        };
        self.pending.push(label.clone());
    }

    /// From now on it is not known any more what the other writer changed before.
    pub fn miss(&mut self) {
        self.missed = true;
    }

    /// Whether there is something to tell.
    pub fn has_news(&self) -> bool {
        !self.pending.is_empty() || self.missed
    }

    /// Whether every change of a label is acknowledged.
    pub fn is_acknowledged(&self, label: &Label) -> bool {
        let is_open = self.missed || self.told_any;
        !is_open && !self.pending.contains(label) && !self.told.contains(label)
    }
}
