//! What every key store promises, asked of each: any jobs in any order have the same outcomes.

use crate::common::records::memory::Memory;
use crate::common::{Place, des_token};
use daemon::store::{Done, Job, KeyStore, Pattern, Record, SqliteStore, StoreError};
use proptest::prelude::*;
use wire::Label;
use wire::control::{MasterKeyName, Replacement, Store};

fn label(number: u8) -> Label {
    Label::new(&format!("K{number}")).unwrap()
}

/// The master key of a record that was filled with this byte, where that is small.
fn master_key(fill: u8) -> MasterKeyName {
    daemon::store::job::master_key_of(&des_token(fill)).unwrap()
}

fn record() -> impl Strategy<Value = Record> {
    let store = prop_oneof![Just(Store::Des), Just(Store::Aes), Just(Store::Pka)];
    (store, 0u8..4, prop_oneof![any::<u8>(), 0u8..3], any::<bool>()).prop_map(
        |(store, number, fill, is_empty)| Record {
            store,
            label: label(number),
            // Which tokens are stored is decided before a store is asked.
            token: if is_empty { Vec::new() } else { des_token(fill) },
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
    prop_oneof![
        (record(), 0u64..9).prop_map(|(record, now_unix_s)| Job::Create { record, now_unix_s }),
        (prop::collection::vec(record(), 1..4), 0u64..9).prop_map(|(mut records, now_unix_s)| {
            // A label twice in one job has no meaning.
            records.sort_by(|one, two| one.label.cmp(&two.label));
            records.dedup_by(|one, two| one.label == two.label);
            Job::Write { records, now_unix_s }
        }),
        (record(), any::<bool>(), 0u64..9).prop_map(|(record, token_only, now_unix_s)| Job::Delete {
            store: record.store,
            label: record.label,
            token_only,
            now_unix_s,
        }),
        (0u8..4).prop_map(|number| Job::Find { label: label(number) }),
        (prop::option::of(record()), "K?[0-3*]?\\*?", prop::option::of(0u8..4), 0usize..5).prop_map(
            |(of, pattern, after, rows_max)| Job::List {
                store: of.map(|record| record.store),
                pattern: Pattern::new(&pattern).unwrap(),
                after: after.map(label),
                rows_max,
            }
        ),
        Just(Job::Census { keys: vec![master_key(1), master_key(2)] }),
        (prop::option::of(0u8..4), prop::collection::vec(0u8..3, 0..3), 0usize..200).prop_map(
            |(after, but, bytes_max)| Job::Tokens {
                pattern: Pattern::new("*").unwrap(),
                after: after.map(label),
                but: but.into_iter().map(master_key).collect(),
                bytes_max,
            }
        ),
        prop::collection::vec((record(), record()), 1..4).prop_map(|pairs| Job::Replace {
            replacements: pairs
                .into_iter()
                .map(|(record, other)| Replacement { record, token: other.token })
                .collect(),
            now_unix_s: 9,
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_stores_answer_alike(jobs in prop::collection::vec(job(), 1..60)) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("keys.sqlite");
        let (file, mut memory) = (SqliteStore::open(&path).unwrap(), Memory::default());
        for job in &jobs {
            prop_assert_eq!(file.run(job), memory.run(job), "{:?}", job);
        }
        // And after an end without a farewell.
        drop(file);
        let file = SqliteStore::open(&path).unwrap();
        for number in 0..4 {
            let find = Job::Find { label: label(number) };
            prop_assert_eq!(file.run(&find), memory.run(&find));
        }
    }
}

#[test]
fn one_label_is_one_record() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    let record = |store| Record { store, label: label(1), token: Vec::new() };
    let create = |kind| store.run(&Job::Create { record: record(kind), now_unix_s: 1 });
    assert_eq!(create(Store::Aes), Ok(Done::Changed));
    assert_eq!(create(Store::Des), Err(StoreError::Exists));
}

#[test]
fn a_file_that_is_no_key_store_is_refused_by_name() {
    let place = Place::new();
    let path = place.home.key_store();
    std::fs::write(&path, "no database, but as long as one must be".repeat(20)).unwrap();
    let mode =
        |mode| std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let (code, said) = place.refuse();
    assert!(code == 1 && said.contains("keys.sqlite: its mode 0644 lets other users"), "{said}");
    mode(0o600);
    let (code, said) = place.refuse();
    assert!(code == 1 && said.contains("keys.sqlite: not a key store"), "{said}");
}
