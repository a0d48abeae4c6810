//! What stands before every store: tokens that may not be stored reach none, and come out of none.

use super::{Changes, Done, Job, KeyStore, Record, StoreError, admission};
use link::world::{self, Event};
use std::os::fd::BorrowedFd;
use wire::control::{Replacement, Store};

/// A store behind the rules of [`admission`]. What it holds may have been written by others, and is looked at
/// again when it is read.
pub struct Checked<S>(pub S);

impl<S: KeyStore> KeyStore for Checked<S> {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        match job {
            Job::Create { record, .. } if record.token.is_empty() && record.store == Store::Des => {}
            Job::Create { record, .. } => admit(record)?,
            Job::Write { records, .. } => records.iter().try_for_each(admit)?,
            Job::Replace { replacements, .. } => {
                for Replacement { record, token } in replacements {
                    admission::admit(record.store, token).map_err(StoreError::Token)?;
                }
            }
            Job::Delete { .. }
            | Job::Find { .. }
            | Job::List { .. }
            | Job::Census { .. }
            | Job::Tokens { .. } => {}
        }
        world::step("storage");
        for label in job.changes() {
            world::saw(Event::Storing(label.as_str()));
        }
        let done = self.0.run(job)?;
        if let Done::Found(record) = &done
            && !record.token.is_empty()
        {
            admission::admit(record.store, &record.token)
                .map_err(|fault| StoreError::Inadmissible { label: record.label.clone(), fault })?;
        }
        Ok(done)
    }

    fn changed(&self) -> Result<Changes, StoreError> {
        self.0.changed()
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.0.wakes()
    }
}

fn admit(record: &Record) -> Result<(), StoreError> {
    admission::admit(record.store, &record.token).map_err(StoreError::Token)
}

#[cfg(test)]
mod tests {
    use super::super::admission::tests::{des_token, pka_token};
    use super::super::{SqliteStore, TokenFault};
    use super::*;
    use wire::Label;

    fn record(store: Store, token: &[u8]) -> Record {
        Record { store, label: Label::new("A").unwrap(), token: token.to_vec() }
    }

    fn opened() -> (tempfile::TempDir, Checked<SqliteStore>) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
        (folder, Checked(store))
    }

    #[test]
    fn what_may_not_be_stored_is_not() {
        let (_folder, store) = opened();
        let clear = pka_token(0x1E, 0x30, 11, 0x00);
        let create = |store, token: &[u8]| Job::Create { record: record(store, token), now_unix_s: 1 };
        for (kind, token) in
            [(Store::Pka, &clear[..]), (Store::Pka, &[]), (Store::Aes, &[]), (Store::Aes, &des_token(1))]
        {
            assert!(matches!(store.run(&create(kind, token)), Err(StoreError::Token(_))), "{kind:?}");
        }
        let wrapped = pka_token(0x1F, 0x30, 11, 0x02);
        store.run(&create(Store::Pka, &wrapped)).unwrap();
        let write = Job::Write { records: vec![record(Store::Pka, &clear)], now_unix_s: 1 };
        assert_eq!(store.run(&write), Err(StoreError::Token(TokenFault::Clear)));
        let find = Job::Find { label: Label::new("A").unwrap() };
        assert_eq!(store.run(&find), Ok(Done::Found(record(Store::Pka, &wrapped))));
    }

    #[test]
    fn what_another_wrote_is_not_believed() {
        let (_folder, store) = opened();
        let clear = record(Store::Pka, &pka_token(0x1E, 0x30, 11, 0x00));
        store.0.run(&Job::Create { record: clear.clone(), now_unix_s: 1 }).unwrap();
        let found = store.run(&Job::Find { label: clear.label.clone() });
        assert_eq!(found, Err(StoreError::Inadmissible { label: clear.label, fault: TokenFault::Clear }));
    }

    #[test]
    fn a_record_without_a_key_is_des_alone() {
        let (_folder, store) = opened();
        let empty = record(Store::Des, &[]);
        store.run(&Job::Create { record: empty.clone(), now_unix_s: 1 }).unwrap();
        assert_eq!(store.run(&Job::Find { label: empty.label.clone() }), Ok(Done::Found(empty.clone())));
        let write = Job::Write { records: vec![empty], now_unix_s: 1 };
        assert_eq!(store.run(&write), Err(StoreError::Token(TokenFault::Missing)));
    }
}
