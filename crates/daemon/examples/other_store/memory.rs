//! Key records in memory, with another writer: what a database that hosts share promises, without one.

use daemon::store::job::WRITES_MAX;
use daemon::store::{Changes, Done, Job, Record, StoreError};
use std::collections::BTreeMap;
use wire::Label;
use wire::control::{RecordRow, Store};

/// Records, and which changes of another writer were told to the daemon that uses them.
#[derive(Default)]
pub struct Memory {
    records: BTreeMap<Label, (Record, u64)>,
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
                });
                return Ok(Done::Rows(rows.collect()));
            }
            Job::Count => return Ok(Done::Count(self.records.len() as u64)),
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
            None => self.records.remove(label),
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
