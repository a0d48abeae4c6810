//! The check in front of every store: tokens and chains that may not be stored do not get in, and are not found.

use super::{Changes, Done, Job, KeyStore, Record, StoreError, admission};
use link::world::{self, Event};
use std::os::fd::BorrowedFd;
use wire::chain;
use wire::control::{Replacement, Store};

/// A store behind the rules of [`admission`]. Others may have written its records, so a token or chain is checked again
/// when it is found.
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
            Job::SetChain { chain, .. } if !chain.is_empty() => {
                chain::certificates(chain).map_err(StoreError::Chain)?;
            }
            Job::Delete { .. }
            | Job::Find { .. }
            | Job::List { .. }
            | Job::Census { .. }
            | Job::Tokens { .. }
            | Job::Chain { .. }
            | Job::SetChain { .. } => {}
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
        if let (Job::Chain { label }, Done::Chain(found)) = (job, &done)
            && !found.is_empty()
        {
            chain::certificates(found)
                .map_err(|fault| StoreError::InadmissibleChain { label: label.clone(), fault })?;
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
    use wire::bounds::CHAIN_BYTES_MAX;
    use wire::chain::ChainError;

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
    fn chains_are_certificates_and_nothing_else() {
        let (_folder, store) = opened();
        let label = Label::new("A").unwrap();
        let wrapped = record(Store::Pka, &pka_token(0x1F, 0x30, 11, 0x02));
        store.run(&Job::Create { record: wrapped, now_unix_s: 1 }).unwrap();
        let set = |chain: &[u8]| store.run(&Job::SetChain { label: label.clone(), chain: chain.to_vec() });
        let certificate = [0x30, 0x07, 0x30, 0x00, 0x30, 0x00, 0x03, 0x01, 0x00];
        set(&certificate).unwrap();
        let private = [0x30, 0x06, 0x02, 0x01, 0x00, 0x04, 0x01, 0x07];
        assert_eq!(set(&private), Err(StoreError::Chain(ChainError::Form(1))));
        let long = certificate.repeat(CHAIN_BYTES_MAX / certificate.len() + 1);
        assert_eq!(set(&long), Err(StoreError::Chain(ChainError::TooLong(long.len()))));
        let get = || store.run(&Job::Chain { label: label.clone() });
        assert_eq!(get(), Ok(Done::Chain(certificate.to_vec())));
        // As another wrote it.
        store.0.run(&Job::SetChain { label: label.clone(), chain: private.to_vec() }).unwrap();
        assert_eq!(
            get(),
            Err(StoreError::InadmissibleChain { label: label.clone(), fault: ChainError::Form(1) })
        );
        set(&[]).unwrap();
        assert_eq!(get(), Ok(Done::Chain(Vec::new())));
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
