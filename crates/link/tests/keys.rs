//! The key table: references, tenants, generations over daemons, and readers beside the writer.

use link::{JoinError, KeyTable, KeyTableView, NOTE_BYTES_MAX, Stale, key_table_units};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::KeyReference;
use wire::bounds::{KEY_TABLE_ENTRIES, TOKEN_BYTES_MAX};
use wire::uses::Uses;

fn table() -> (tempfile::TempDir, KeyTable, KeyTableView) {
    let folder = tempfile::tempdir().unwrap();
    let table = KeyTable::open(&folder.path().join("keys")).unwrap();
    let view = KeyTableView::join(table.read_only().unwrap().as_fd()).unwrap();
    (folder, table, view)
}

#[test]
fn a_reference_reads_its_token_until_the_entry_changes() {
    let (_folder, table, view) = table();
    let last = KEY_TABLE_ENTRIES as u32 - 1;
    for (slot, token) in
        [(0, vec![1; 64]), (7, vec![2]), (9, vec![3; TOKEN_BYTES_MAX]), (last, vec![4; 3968])]
    {
        let reference = table.put(slot, 9, &token);
        assert_ne!(reference.generation, 0);
        let mut out = Vec::new();
        view.read(reference, 9, &mut out).unwrap();
        assert_eq!(out, token);
        assert_eq!(view.read(reference, 8, &mut out), Err(Stale));
        assert!(out.is_empty());

        let newer = table.put(slot, 9, b"newer");
        assert_eq!(view.read(reference, 9, &mut out), Err(Stale));
        view.read(newer, 9, &mut out).unwrap();
        assert_eq!(out, b"newer");

        table.revoke(slot);
        assert_eq!(view.read(newer, 9, &mut out), Err(Stale));
        assert_eq!(table.entry(slot), None);
    }
}

#[test]
fn references_that_were_never_given_out_are_stale() {
    let (_folder, table, view) = table();
    let good = table.put(3, 0, b"token");
    for slot in [0, 2, 3, 4, KEY_TABLE_ENTRIES as u32, u32::MAX] {
        for generation in [0, 1, good.generation - 1, good.generation + 1, good.generation + 2, u64::MAX] {
            let reference = KeyReference { slot, generation };
            assert_eq!(view.read(reference, 0, &mut Vec::new()), Err(Stale), "{reference:?}");
        }
    }
    // An empty entry has a generation too once it was revoked.
    table.revoke(3);
    let empty = KeyReference { slot: 3, generation: good.generation + 2 };
    assert_eq!(view.read(empty, 0, &mut Vec::new()), Err(Stale));
}

#[test]
fn a_later_daemon_finds_entries_and_goes_on_with_generations() {
    let (folder, table, view) = table();
    let note = vec![b'L'; NOTE_BYTES_MAX];
    let kept = table.put_noted(5, 2, Uses::USE, &note, b"kept");
    let torn = table.put(6, 2, b"torn");
    drop(table);
    // As a daemon leaves an entry that is killed while it writes it.
    let file = std::fs::File::options().write(true).open(folder.path().join("keys")).unwrap();
    file.write_all_at(&(torn.generation | 1).to_le_bytes(), 4096 + 6 * 64).unwrap();

    let table = KeyTable::open(&folder.path().join("keys")).unwrap();
    let entries: Vec<_> = table.entries().collect();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].reference, entries[0].tenant), (kept, 2));
    assert_eq!((&entries[0].note, &entries[0].token[..]), (&note, &b"kept"[..]));
    let mut out = Vec::new();
    view.read(kept, 2, &mut out).unwrap();
    assert_eq!(view.read(torn, 2, &mut out), Err(Stale));
    assert!(table.put(6, 2, b"again").generation > torn.generation);
}

#[test]
fn a_revoked_token_is_gone_from_the_file() {
    let (folder, table, _view) = table();
    table.put_noted(1, 1, Uses::USE, b"note", &[0xA7; 13_000]);
    table.put(1, 1, &[0xA7; 9]);
    let count = || std::fs::read(folder.path().join("keys")).unwrap().iter().filter(|b| **b == 0xA7).count();
    assert_eq!(count(), 9);
    table.revoke(1);
    assert_eq!(count(), 0);
}

#[test]
fn what_a_long_token_holds_is_no_entry() {
    let (_folder, table, view) = table();
    let mut forged = vec![0; TOKEN_BYTES_MAX];
    // Whatever unit of the run is taken for an entry: its token holds lines that would be valid ones.
    for line in forged.chunks_exact_mut(64) {
        for (at, word) in [(0, 2_u64), (8, 7), (16, 0), (24, 64)] {
            line[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    let reference = table.put(10, 7, &forged);
    for slot in 11..10 + key_table_units(TOKEN_BYTES_MAX) as u32 {
        assert_eq!(view.read(KeyReference { slot, generation: 2 }, 7, &mut Vec::new()), Err(Stale));
        assert_eq!(table.entry(slot), None);
    }
    assert_eq!(table.entries().count(), 1);
    let mut out = Vec::new();
    view.read(reference, 7, &mut out).unwrap();
    assert_eq!(out, forged);
}

#[test]
fn a_length_that_leaves_the_table_is_no_token() {
    let (folder, table, view) = table();
    let last = KEY_TABLE_ENTRIES as u32 - 1;
    let reference = table.put(last, 1, b"token");
    let file = std::fs::File::options().write(true).open(folder.path().join("keys")).unwrap();
    for bytes in [3969, TOKEN_BYTES_MAX as u64, TOKEN_BYTES_MAX as u64 + 1, u64::MAX] {
        file.write_all_at(&bytes.to_le_bytes(), 4096 + u64::from(last) * 64 + 24).unwrap();
        assert_eq!(view.read(reference, 1, &mut Vec::new()), Err(Stale), "{bytes}");
        assert_eq!(table.entry(last), None);
    }
}

#[test]
#[should_panic(expected = "existing slots")]
fn a_run_beyond_the_end_is_the_daemons_fault() {
    let (_folder, table, _view) = table();
    table.put(KEY_TABLE_ENTRIES as u32 - 1, 0, &[0; 4096]);
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, b"something else").unwrap();
    assert_eq!(KeyTable::open(&path).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    let file = std::fs::File::open(&path).unwrap();
    assert!(matches!(KeyTableView::join(file.as_fd()), Err(JoinError::Size { .. })));
    let (_folder, table, _view) = table();
    let file = std::fs::File::create(&path).unwrap();
    let size = std::fs::File::from(table.read_only().unwrap()).metadata().unwrap().len();
    file.set_len(size).unwrap();
    file.write_all_at(b"not ours", 0).unwrap();
    assert_eq!(KeyTable::open(&path).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(KeyTable::open(&link).is_err());
}

#[test]
fn readers_beside_the_writer_see_whole_tokens_only() {
    const WRITES: u64 = 20_000;
    let (_folder, table, view) = table();
    let (newest, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut out, mut read) = (Vec::new(), 0_u64);
            while !ended.load(Ordering::Acquire) {
                let reference = KeyReference { slot: 2, generation: newest.load(Ordering::Acquire) };
                if view.read(reference, 4, &mut out).is_ok() {
                    read += 1;
                    let tag = reference.generation as u8;
                    assert_eq!(out.len(), 100 + usize::from(tag));
                    assert!(out.iter().all(|byte| *byte == tag));
                }
            }
            read
        });
        let mut generation = 0_u64;
        for _ in 0..WRITES {
            let tag = (generation + 2) as u8;
            generation = table.put(2, 4, &vec![tag; 100 + usize::from(tag)]).generation;
            newest.store(generation, Ordering::Release);
        }
        while !reader.is_finished() {
            ended.store(true, Ordering::Release);
            std::thread::yield_now();
        }
        reader.join().unwrap();
    });
    let mut out = Vec::new();
    let reference = KeyReference { slot: 2, generation: newest.load(Ordering::Relaxed) };
    view.read(reference, 4, &mut out).unwrap();
}

#[test]
#[should_panic(expected = "longer than an entry holds")]
fn a_token_beyond_the_bound_is_the_daemons_fault() {
    let (_folder, table, _view) = table();
    table.put(0, 0, &[0; TOKEN_BYTES_MAX + 1]);
}
