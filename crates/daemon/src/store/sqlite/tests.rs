//! The store over files of every version, whole and broken.

use super::super::admission::tests::{aes_token, des_token};
use super::*;
use wire::bounds::LIST_ROWS_MAX;

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn opened() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    (folder, store)
}

/// The shortest bytes that have the form of a certificate.
const CERTIFICATE: &[u8] = &[0x30, 0x07, 0x30, 0x00, 0x30, 0x00, 0x03, 0x01, 0x00];

fn public_token() -> Vec<u8> {
    vec![0x1E, 0, 0, 23, 0, 0, 0, 0, 0x04, 0, 0, 15, 0, 0, 0, 3, 8, 0, 0, 0, 1, 0, 1]
}

fn labels(store: &SqliteStore, kind: Option<Store>, pattern: &str) -> Vec<String> {
    let rows = store.list(kind, &Pattern::new(pattern).unwrap(), None, LIST_ROWS_MAX).unwrap();
    rows.into_iter().map(|row| row.label.to_string()).collect()
}

fn record(store: Store, text: &str, token: &[u8]) -> Record {
    Record { store, label: label(text), token: token.to_vec() }
}

#[test]
fn a_store_of_the_first_version_learns_the_master_keys_of_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(&format!(
        "CREATE TABLE records (
             label TEXT NOT NULL PRIMARY KEY,
             store INTEGER NOT NULL CHECK (store IN (1, 2, 3)),
             token BLOB NOT NULL,
             written_unix_s INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = 1;"
    ))
    .unwrap();
    let mut insert = old.prepare("INSERT INTO records VALUES (?1, ?2, ?3, 5)").unwrap();
    for (text, number, token) in
        [("A", 1, des_token(1).to_vec()), ("B", 1, Vec::new()), ("C", 2, aes_token(0x04).to_vec())]
    {
        insert.execute(params![text, number, token]).unwrap();
    }
    drop(insert);
    old.close().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let key = job::master_key_of(&des_token(1)).unwrap();
    let census = store.census(&[key]).unwrap();
    assert_eq!((census.records, census.keyless, &census.under[..]), (3, 1, &[1][..]));
    assert_eq!(labels(&store, None, "*"), ["A", "B", "C"]);
    store.verify().unwrap();
    drop(store);
    assert_eq!(SqliteStore::open(&path).unwrap().census(&[key]).unwrap(), census);
}

#[test]
fn a_store_of_the_second_version_takes_chains() {
    let (folder, store) = opened();
    store.create(&record(Store::Pka, "A", &public_token()), 5).unwrap();
    store
        .connection
        .execute_batch("ALTER TABLE records DROP COLUMN chain; PRAGMA user_version = 2;")
        .unwrap();
    drop(store);
    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    assert_eq!(store.chain(&label("A")), Ok(Vec::new()));
    store.set_chain(&label("A"), CERTIFICATE).unwrap();
    store.verify().unwrap();
    drop(store);
    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    assert_eq!(store.chain(&label("A")), Ok(CERTIFICATE.to_vec()));
}

#[test]
fn a_chain_stays_beside_its_record_and_goes_with_it() {
    let (folder, store) = opened();
    let a = label("A");
    let bytes = |store: &SqliteStore| {
        store.list(None, &Pattern::new("A").unwrap(), None, 9).unwrap()[0].chain_bytes as usize
    };
    assert_eq!(store.set_chain(&a, CERTIFICATE), Err(StoreError::NotFound));
    store.create(&record(Store::Pka, "A", &public_token()), 5).unwrap();
    store.create(&record(Store::Des, "D", &des_token(1)), 5).unwrap();
    assert_eq!((store.chain(&a), bytes(&store)), (Ok(Vec::new()), 0));
    store.set_chain(&a, &CERTIFICATE.repeat(2)).unwrap();
    store.set_chain(&a, CERTIFICATE).unwrap();
    assert_eq!((store.chain(&a), bytes(&store)), (Ok(CERTIFICATE.to_vec()), CERTIFICATE.len()));
    // Certificates are of PKA keys.
    assert_eq!(store.set_chain(&label("D"), CERTIFICATE), Err(StoreError::NotFound));
    assert_eq!(store.chain(&label("D")), Err(StoreError::NotFound));
    // As a reenciphered token is written.
    store.write(&record(Store::Pka, "A", &public_token()), 6).unwrap();
    store.delete(Store::Pka, &a, true, 7).unwrap();
    assert_eq!(store.chain(&a), Ok(CERTIFICATE.to_vec()));
    let copy = folder.path().join("copy.sqlite");
    store.backup(&copy, &mut || ()).unwrap();
    let copy = SqliteStore::open(&copy).unwrap();
    copy.verify().unwrap();
    assert_eq!(copy.chain(&a), Ok(CERTIFICATE.to_vec()));
    store.set_chain(&a, &[]).unwrap();
    assert_eq!((store.chain(&a), bytes(&store)), (Ok(Vec::new()), 0));
    copy.delete(Store::Pka, &a, false, 8).unwrap();
    copy.create(&record(Store::Pka, "A", &public_token()), 9).unwrap();
    assert_eq!(copy.chain(&a), Ok(Vec::new()));
    copy.connection.execute("UPDATE records SET chain = X'3000'", []).unwrap();
    assert!(matches!(copy.verify(), Err(StoreError::Damaged { .. })));
}

#[test]
fn what_was_changed_meanwhile_is_not_replaced() {
    let (_folder, store) = opened();
    let (was, is, shall) = (des_token(1), des_token(2), des_token(3));
    store.create(&record(Store::Des, "A", &was), 1).unwrap();
    store.create(&record(Store::Des, "B", &is), 1).unwrap();
    let replacement =
        |text, from: &[u8]| Replacement { record: record(Store::Des, text, from), token: shall.to_vec() };
    let asked = [replacement("A", &was), replacement("B", &was), replacement("C", &was)];
    assert_eq!(store.replace(&asked, 2), Ok(vec![true, false, false]));
    assert_eq!(store.find(&label("A")).unwrap().token, shall);
    assert_eq!(store.find(&label("B")).unwrap().token, is);
    assert_eq!(store.replace(&asked, 3), Ok(vec![false; 3]));
}

#[test]
fn records_live_and_die() {
    let (folder, store) = opened();
    let a = label("A.KEY");
    let des = |token: &[u8]| record(Store::Des, "A.KEY", token);
    assert_eq!(store.find(&a), Err(StoreError::NotFound));
    assert_eq!(store.write_all(&[des(&des_token(1))], 1), Err(StoreError::NotFound));
    store.create(&des(&[]), 5).unwrap();
    assert_eq!(store.find(&a), Ok(des(&[])));
    assert_eq!(store.create(&record(Store::Aes, "A.KEY", &aes_token(1)), 5), Err(StoreError::Exists));
    store.write_all(&[des(&des_token(1))], 6).unwrap();
    assert_eq!(store.write(&record(Store::Aes, "A.KEY", &aes_token(1)), 6), Err(StoreError::NotFound));
    drop(store);

    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    assert_eq!(store.find(&a), Ok(des(&des_token(1))));
    store.delete(Store::Des, &a, true, 7).unwrap();
    let rows = store.list(None, &Pattern::new("*").unwrap(), None, 9).unwrap();
    assert_eq!(
        rows,
        [RecordRow {
            label: a.clone(),
            store: Store::Des,
            token_bytes: 0,
            written_unix_s: 7,
            chain_bytes: 0
        }]
    );
    store.delete(Store::Des, &a, false, 8).unwrap();
    assert_eq!(store.delete(Store::Des, &a, false, 9), Err(StoreError::NotFound));
    assert_eq!(store.count().unwrap(), 0);
}

#[test]
fn several_records_are_written_or_none() {
    let (_folder, store) = opened();
    let written = |text| record(Store::Des, text, &des_token(2));
    for text in ["A", "B"] {
        store.create(&record(Store::Des, text, &des_token(1)), 1).unwrap();
    }
    assert_eq!(store.write_all(&[written("A"), written("C")], 2), Err(StoreError::NotFound));
    assert_eq!(store.find(&label("A")).unwrap().token, des_token(1));
    store.write_all(&[written("A"), written("B")], 2).unwrap();
    assert_eq!(store.find(&label("A")), Ok(written("A")));
    assert_eq!(store.find(&label("B")), Ok(written("B")));
}

#[test]
fn listings_come_in_order_and_in_pages() {
    let (_folder, store) = opened();
    for index in 0..20 {
        store.create(&record(Store::Des, &format!("A.K{index:03}"), &des_token(1)), 1).unwrap();
    }
    store.create(&record(Store::Aes, "B.AES", &aes_token(1)), 1).unwrap();
    store.create(&record(Store::Des, "A", &[]), 1).unwrap();
    assert_eq!(labels(&store, None, "*").len(), 22);
    assert_eq!(labels(&store, Some(Store::Aes), ""), ["B.AES"]);
    assert_eq!(labels(&store, None, "*.K00*").len(), 10);
    assert_eq!(labels(&store, None, "A"), ["A"]);
    assert_eq!(labels(&store, None, "A.K01*"), (10..20).map(|i| format!("A.K{i:03}")).collect::<Vec<_>>());

    let pattern = Pattern::new("A.*").unwrap();
    let (mut seen, mut after) = (0, None);
    loop {
        let page = store.list(None, &pattern, after.as_ref(), 7).unwrap();
        seen += page.len();
        match page.last() {
            Some(row) if page.len() == 7 => after = Some(row.label.clone()),
            _ => break,
        }
    }
    assert_eq!(seen, 20);
}

#[test]
fn another_file_or_a_newer_one_is_refused_by_name() {
    let (folder, store) = opened();
    store.connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(store);
    let path = folder.path().join("keys.sqlite");
    let error = SqliteStore::open(&path).err().unwrap();
    assert_eq!(error, StoreError::Newer { path: path.clone(), version: SCHEMA_VERSION + 1 });
    assert!(error.to_string().contains("newer"));

    let foreign = folder.path().join("foreign.sqlite");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(SqliteStore::open(&foreign).err(), Some(StoreError::NotAKeyStore { path: foreign }));
    let text = folder.path().join("text");
    std::fs::write(&text, "not a database at all, but longer than a header".repeat(40)).unwrap();
    assert_eq!(SqliteStore::open(&text).err(), Some(StoreError::NotAKeyStore { path: text }));
}

#[test]
fn a_second_opening_is_refused() {
    let (folder, _store) = opened();
    let error = SqliteStore::open(&folder.path().join("keys.sqlite")).err().unwrap();
    assert!(matches!(error, StoreError::Failed { cause: StorageCause::InUse, .. }), "{error}");
}

#[test]
fn a_backup_is_whole_though_records_change_meanwhile() {
    let (folder, store) = opened();
    for index in 0..2000 {
        // One commit each would be two thousand flushes.
        if index == 0 {
            store.connection.execute_batch("BEGIN").unwrap();
        }
        store.create(&record(Store::Des, &format!("K{index}"), &des_token(1)), 1).unwrap();
    }
    store.connection.execute_batch("COMMIT").unwrap();
    let copy = folder.path().join("copy.sqlite");
    let mut calls = 0;
    store
        .backup(&copy, &mut || {
            calls += 1;
            store.create(&record(Store::Des, &format!("MEAN{calls}"), &des_token(2)), 2).unwrap();
        })
        .unwrap();
    assert!(calls > 0);
    assert!(matches!(store.backup(&copy, &mut || ()), Err(StoreError::Occupied { .. })));
    let opened = SqliteStore::open(&copy).unwrap();
    opened.verify().unwrap();
    assert_eq!(opened.count().unwrap(), 2000 + calls);
}

#[test]
fn a_check_finds_damage() {
    let (folder, store) = opened();
    store.create(&record(Store::Des, "A", &des_token(1)), 1).unwrap();
    store.verify().unwrap();
    store.connection.execute("UPDATE records SET token = X'0102'", []).unwrap();
    assert!(matches!(store.verify(), Err(StoreError::Damaged { .. })));
    drop(store);
    let path = folder.path().join("keys.sqlite");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let found = SqliteStore::open(&path).and_then(|store| store.verify());
    assert!(found.is_err());
}
