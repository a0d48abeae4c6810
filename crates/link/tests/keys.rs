//! The key table: references, tenants, generations over daemons, and readers beside the writer.

use link::{
    JoinError, KeyTable, KeyTableView, NOTE_BYTES_MAX, Stale, key_table_bytes, key_table_units,
    key_table_units_for,
};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::KeyReference;
use wire::bounds::{LABELS, TOKEN_BYTES_MAX};
use wire::uses::Uses;

/// Units of the smallest table.
const UNITS: usize = key_table_units_for(*LABELS.start());

fn table() -> (tempfile::TempDir, KeyTable, KeyTableView) {
    let folder = tempfile::tempdir().unwrap();
    let table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
    let view = KeyTableView::join(table.read_only().unwrap().as_fd()).unwrap();
    (folder, table, view)
}

/// The file of a table, to be changed as a daemon would leave it that is killed, or as a disk that fails.
fn file(folder: &tempfile::TempDir) -> std::fs::File {
    std::fs::File::options().write(true).open(folder.path().join("keys")).unwrap()
}

fn is_stale(view: &KeyTableView, reference: KeyReference, tenant: u32) -> bool {
    let mut out = vec![1];
    let read = view.read(reference, tenant, &mut out);
    assert!(read.is_ok() || out.is_empty());
    read == Err(Stale)
}

#[test]
fn a_reference_reads_its_token_until_the_entry_changes() {
    let (_folder, mut table, view) = table();
    for token in [vec![1; 64], vec![2], vec![3; TOKEN_BYTES_MAX], vec![4; 384], vec![5; 385], vec![6; 897]] {
        let reference = table.put(9, &token).unwrap();
        assert_ne!(reference.generation, 0);
        let mut out = Vec::new();
        view.read(reference, 9, &mut out).unwrap();
        assert_eq!(out, token);
        assert!(is_stale(&view, reference, 8));
        assert_eq!(table.entry(reference.slot).unwrap().token, token);

        table.revoke(reference.slot);
        assert!(is_stale(&view, reference, 9));
        assert_eq!(table.entry(reference.slot), None);
        assert_eq!(table.free(), UNITS);

        // The next one begins at the same unit.
        let newer = table.put(9, b"newer").unwrap();
        assert_eq!(newer.slot, reference.slot);
        assert!(is_stale(&view, reference, 9) && !is_stale(&view, newer, 9));
        table.revoke(newer.slot);
    }
}

#[test]
fn references_that_were_never_given_out_are_stale() {
    let (_folder, mut table, view) = table();
    let references: Vec<_> = (0..4).map(|_| table.put(0, b"token").unwrap()).collect();
    let good = references[3];
    table.revoke(0);
    for slot in [0, 2, 3, 4, UNITS as u32 - 1, UNITS as u32, u32::MAX] {
        for generation in [0, 1, good.generation - 1, good.generation + 1, good.generation + 4, u64::MAX] {
            let reference = KeyReference { slot, generation };
            assert!(is_stale(&view, reference, 0), "{reference:?}");
        }
    }
    // An empty entry has a generation too once it was revoked.
    table.revoke(3);
    assert!(is_stale(&view, KeyReference { slot: 3, generation: good.generation + 2 }, 0));
    // What was revoked already, or never was, is left alone.
    table.revoke(3);
    table.revoke(UNITS as u32 - 1);
    table.revoke(u32::MAX);
    assert_eq!(table.free(), UNITS - 2);
}

#[test]
fn a_reference_names_nothing_in_the_table_that_takes_the_place_of_a_lost_one() {
    let (folder, mut table, _view) = table();
    let lost: Vec<_> = (0..3).map(|_| table.put(1, b"key of the former table").unwrap()).collect();
    std::fs::remove_file(folder.path().join("keys")).unwrap();
    let mut table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
    let view = KeyTableView::join(table.read_only().unwrap().as_fd()).unwrap();
    for reference in lost {
        // As many changes as the former table had, and some more.
        for _ in 0..5 {
            let newer = table.put(1, b"another key").unwrap();
            assert_ne!(newer, reference);
            assert!(is_stale(&view, reference, 1));
            table.revoke(newer.slot);
        }
        table.put(1, b"another key").unwrap();
        assert!(is_stale(&view, reference, 1));
    }
}

#[test]
fn a_later_daemon_finds_entries_and_goes_on_with_generations() {
    let (folder, mut table, view) = table();
    let note = vec![b'L'; NOTE_BYTES_MAX];
    let long: Vec<u8> = (0..3000).map(|byte| byte as u8).collect();
    let gone = table.put(2, &[8; 2000]).unwrap();
    let kept = table.put_noted(2, Uses::USE, &note, &long).unwrap();
    let torn = table.put(2, &[9; 1000]).unwrap();
    // A hole before the others, which a chain of two pieces fills.
    table.revoke(gone.slot);
    let split = table.put(2, &[7; 5000]).unwrap();
    let free = table.free();
    drop(table);
    file(&folder).write_all_at(&(torn.generation | 1).to_le_bytes(), line(torn.slot)).unwrap();

    let mut table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
    let entries: Vec<_> = (0..table.used()).filter_map(|slot| table.entry(slot)).collect();
    assert_eq!(entries.iter().map(|entry| entry.reference).collect::<Vec<_>>(), [split, kept]);
    assert_eq!((entries[1].tenant, &entries[1].note, &entries[1].token), (2, &note, &long));
    assert_eq!(entries[0].token, [7; 5000]);
    assert_eq!(table.free(), free + key_table_units(1000));
    assert!(!is_stale(&view, kept, 2) && is_stale(&view, torn, 2));
    let again = table.put(2, b"again").unwrap();
    assert!(again.slot != torn.slot || again.generation > torn.generation);
    assert!(is_stale(&view, torn, 2));
}

/// Offset of a unit's line.
fn line(unit: u32) -> u64 {
    4096 + u64::from(unit) * 64
}

#[test]
fn a_revoked_token_is_gone_from_the_file() {
    let (folder, mut table, _view) = table();
    let count = || std::fs::read(folder.path().join("keys")).unwrap().iter().filter(|b| **b == 0xA7).count();
    let long = table.put_noted(1, Uses::USE, b"note", &[0xA7; 13_000]).unwrap();
    assert_eq!(count(), 13_000);
    table.revoke(long.slot);
    assert_eq!(count(), 0);
    // Also one that a daemon left torn.
    let torn = table.put(1, &[0xA7; 3000]).unwrap();
    drop(table);
    file(&folder).write_all_at(&(torn.generation | 1).to_le_bytes(), line(torn.slot)).unwrap();
    let table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
    assert_eq!((count(), table.free()), (0, UNITS));
}

#[test]
fn what_a_long_token_holds_is_no_entry() {
    let (_folder, mut table, view) = table();
    let mut forged = vec![0; TOKEN_BYTES_MAX];
    // Whatever unit of the chain is taken for an entry: its token holds lines that would be valid ones.
    for line in forged.chunks_exact_mut(64) {
        for (at, word) in [(0, 2_u64), (8, 7), (16, 0), (24, 64)] {
            line[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    let reference = table.put(7, &forged).unwrap();
    for slot in reference.slot + 1..key_table_units(TOKEN_BYTES_MAX) as u32 {
        for generation in [0, 2, reference.generation] {
            assert!(is_stale(&view, KeyReference { slot, generation }, 7));
        }
        assert_eq!(table.entry(slot), None);
    }
    assert_eq!((0..table.used()).filter_map(|slot| table.entry(slot)).count(), 1);
    let mut out = Vec::new();
    view.read(reference, 7, &mut out).unwrap();
    assert_eq!(out, forged);
}

#[test]
fn a_chain_that_leaves_the_table_is_no_token() {
    let (folder, mut table, view) = table();
    let long = table.put(1, &[2; 1400]).unwrap();
    for bytes in [TOKEN_BYTES_MAX as u64 + 1, u64::MAX] {
        file(&folder).write_all_at(&bytes.to_le_bytes(), line(long.slot) + 24).unwrap();
        assert!(table.entry(long.slot).is_none() && is_stale(&view, long, 1), "{bytes}");
    }
    file(&folder).write_all_at(&1400_u64.to_le_bytes(), line(long.slot) + 24).unwrap();
    for next in [table.used().into(), UNITS as u64, u64::MAX] {
        file(&folder).write_all_at(&next.to_le_bytes(), line(long.slot) + 40).unwrap();
        assert!(table.entry(long.slot).is_none() && is_stale(&view, long, 1), "{next}");
    }
}

#[test]
fn entries_with_a_unit_that_another_has_too_are_given_up_by_a_later_daemon() {
    // Three entries of three units each; one of the first two goes on in any unit, its own and free ones among them.
    for (from, next) in (0..2_u32).flat_map(|entry| (0..12_u64).map(move |next| (3 * entry, next))) {
        let (folder, mut table, view) = table();
        let put = |table: &mut KeyTable, byte| table.put(1, &[byte; 1400]).unwrap();
        let entries = [1, 2, 3].map(|byte| put(&mut table, byte));
        let extra = put(&mut table, 4);
        table.revoke(extra.slot);
        assert_eq!(entries.map(|entry| entry.slot), [0, 3, 6]);
        drop(table);
        file(&folder).write_all_at(&next.to_le_bytes(), line(from) + 40).unwrap();
        let mut table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
        // What is kept is whole, and was not written by this.
        let kept: Vec<_> = entries.iter().filter(|entry| !is_stale(&view, **entry, 1)).collect();
        for entry in &kept {
            let byte = entry.slot as u8 / 3 + 1;
            let is_changed = entry.slot == from;
            assert!(is_changed || table.entry(entry.slot).unwrap().token == [byte; 1400], "{from} {next}");
        }
        // What the changed chain goes through: the last unit of an entry and a free one say that they go on in unit 0.
        let then = if next < 9 && next % 3 < 2 { next + 1 } else { 0 };
        let is_untouched =
            |slot: u32| [from.into(), next, then].iter().all(|unit| unit / 3 != u64::from(slot) / 3);
        assert!(
            entries.iter().all(|entry| !is_untouched(entry.slot) || kept.contains(&entry)),
            "{from} {next}"
        );
        // Whatever is revoked and made again: no unit has two owners.
        kept.iter().for_each(|entry| table.revoke(entry.slot));
        assert_eq!(table.free(), UNITS, "{from} {next}");
        let made: Vec<_> = (0..UNITS).map(|_| table.put(1, b"one").unwrap().slot).collect();
        let all: std::collections::HashSet<_> = made.iter().collect();
        assert_eq!((all.len(), table.put(1, b"more")), (UNITS, None), "{from} {next}");
    }
}

#[test]
fn what_cannot_be_read_back_is_given_up_by_a_later_daemon() {
    for (place, value) in [(16, 129_u64), (16, u64::MAX), (32, u64::MAX), (24, u64::MAX), (0, 3)] {
        let (folder, mut table, view) = table();
        let entry = table.put(1, &[1; 1400]).unwrap();
        drop(table);
        file(&folder).write_all_at(&value.to_le_bytes(), line(entry.slot) + place).unwrap();
        let mut table = KeyTable::open(&folder.path().join("keys"), UNITS).unwrap();
        assert!(table.entry(entry.slot).is_none() && is_stale(&view, entry, 1), "{place} {value}");
        assert_eq!(table.free(), UNITS, "{place} {value}");
        assert!(table.put(1, &[2; 1400]).is_some());
    }
}

#[test]
fn a_full_table_takes_nothing_and_a_long_token_finds_whatever_units_are_free() {
    let (_folder, mut table, view) = table();
    let short: Vec<_> = (0..UNITS).map(|_| table.put(3, &[1; 64]).unwrap()).collect();
    assert_eq!((table.free(), table.put(3, b"more")), (0, None));
    // Every second one goes: no two free units lie side by side.
    short.iter().step_by(2).for_each(|reference| table.revoke(reference.slot));
    let token: Vec<u8> = (0..TOKEN_BYTES_MAX).map(|at| (at / 7) as u8).collect();
    let mut long = Vec::new();
    while let Some(reference) = table.put(3, &token) {
        long.push(reference);
    }
    assert_eq!(long.len(), UNITS / 2 / key_table_units(TOKEN_BYTES_MAX));
    assert_eq!(table.free(), UNITS / 2 % key_table_units(TOKEN_BYTES_MAX));
    let mut out = Vec::new();
    for reference in &long {
        view.read(*reference, 3, &mut out).unwrap();
        assert_eq!(out, token);
    }
    assert!(short.iter().skip(1).step_by(2).all(|reference| !is_stale(&view, *reference, 3)));
    assert!(short.iter().step_by(2).all(|reference| is_stale(&view, *reference, 3)));
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, b"something else").unwrap();
    let open = || KeyTable::open(&path, UNITS).unwrap_err().kind();
    assert_eq!(open(), std::io::ErrorKind::InvalidInput);
    assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    let joined = || KeyTableView::join(std::fs::File::open(&path).unwrap().as_fd());
    assert!(matches!(joined(), Err(JoinError::Size { .. })));
    // Of the right length, and of another kind.
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(key_table_bytes(UNITS) as u64).unwrap();
    file.write_all_at(b"not ours", 0).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(open(), std::io::ErrorKind::InvalidInput);
    assert!(matches!(joined(), Err(JoinError::Magic { .. })));
    assert!(std::fs::read(&path).unwrap() == before);
    // Of a length that its head does not state.
    let (other, table, _view) = table();
    let at = other.path().join("keys");
    let longer = key_table_bytes(2 * UNITS) as u64;
    std::fs::File::options().write(true).open(&at).unwrap().set_len(longer).unwrap();
    assert!(matches!(KeyTableView::join(table.read_only().unwrap().as_fd()), Err(JoinError::Size { .. })));
    assert_eq!(KeyTable::open(&at, UNITS).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    // A table that is there keeps its size.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(KeyTable::open(&path, 2 * UNITS).unwrap().units(), 2 * UNITS);
    assert_eq!(KeyTable::open(&path, UNITS).unwrap().units(), 2 * UNITS);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(KeyTable::open(&link, UNITS).is_err());
}

#[test]
fn readers_beside_the_writer_see_whole_tokens_only() {
    const WRITES: u64 = 20_000;
    let (_folder, mut table, view) = table();
    let (newest, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut out, mut read) = (Vec::new(), 0_u64);
            while !ended.load(Ordering::Acquire) {
                let reference = KeyReference { slot: 0, generation: newest.load(Ordering::Acquire) };
                if view.read(reference, 4, &mut out).is_ok() {
                    read += 1;
                    let tag = reference.generation as u8;
                    assert_eq!(out.len(), 100 + 4 * usize::from(tag));
                    assert!(out.iter().all(|byte| *byte == tag));
                }
            }
            read
        });
        // An entry of one unit to three, which is revoked and made again at the same ones.
        let mut generation = table.put(4, b"first").unwrap().generation;
        for _ in 0..WRITES {
            table.revoke(0);
            let tag = (generation + 4) as u8;
            generation = table.put(4, &vec![tag; 100 + 4 * usize::from(tag)]).unwrap().generation;
            newest.store(generation, Ordering::Release);
        }
        while !reader.is_finished() {
            ended.store(true, Ordering::Release);
            std::thread::yield_now();
        }
        reader.join().unwrap();
    });
    let mut out = Vec::new();
    let reference = KeyReference { slot: 0, generation: newest.load(Ordering::Relaxed) };
    view.read(reference, 4, &mut out).unwrap();
}

#[test]
#[should_panic(expected = "longer than an entry holds")]
fn a_token_beyond_the_bound_is_the_daemons_fault() {
    let (_folder, mut table, _view) = table();
    table.put(0, &[0; TOKEN_BYTES_MAX + 1]);
}
