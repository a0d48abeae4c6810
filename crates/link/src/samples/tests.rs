//! Samples written by one end and read by the other, and memories that are not samples.

use super::*;
use proptest::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;

fn pair() -> (Samples, SamplesView, OwnedFd) {
    let fd = Samples::create(7).unwrap();
    let reader = Samples::read_only(fd.as_fd()).unwrap();
    (Samples::join(fd.as_fd()).unwrap(), SamplesView::join(reader.as_fd()).unwrap(), fd)
}

/// Number of 512-byte blocks that a memory takes.
fn blocks(fd: &OwnedFd) -> i64 {
    rustix::fs::fstat(fd).unwrap().st_blocks as i64
}

#[test]
fn only_rows_that_are_used_take_memory() {
    let (samples, view, fd) = pair();
    assert_eq!((view.generation(), view.rows()), (7, vec![]));
    let empty = blocks(&fd);
    for row in [SampleSubject::Account(0), SampleSubject::Verb(0)] {
        assert_eq!(view.read(row), None);
    }
    assert_eq!(blocks(&fd), empty, "looking takes nothing");
    let last = SampleSubject::Account(TENANTS_MAX as u32 - 1);
    let writer = samples.row(last).unwrap();
    writer.add_to_bucket(Span::Queue, 3, 1);
    writer.add_to_bucket(Span::Service, 3, 1);
    assert_eq!(view.rows(), [last]);
    assert!(view.read(last).is_some());
    assert_eq!((blocks(&fd) - empty) * 512, ROW_BYTES as i64);
}

#[test]
fn what_a_card_holds_is_read() {
    let (samples, view, _) = pair();
    assert!(view.registers().is_empty());
    let held = HeldRegisters::NONE.with(3, wire::registers::RegisterSet::ALL);
    samples.set_registers(held);
    assert_eq!((view.registers(), view.generation(), view.rows()), (held, 7, vec![]));
}

#[test]
fn the_lanes_of_each_verb_are_read() {
    let (samples, view, _) = pair();
    assert_eq!(view.lanes(0), 1, "before the card has told them");
    samples.set_lanes(|slot| slot as u16);
    for slot in 0..VERB_SLOTS {
        assert_eq!(usize::from(view.lanes(slot)), slot.max(1));
    }
    assert_eq!((view.lanes(VERB_SLOTS), view.lanes(usize::MAX)), (1, 1));
    assert_eq!((view.registers(), view.generation(), view.rows()), (HeldRegisters::NONE, 7, vec![]));
}

#[test]
fn rows_that_do_not_exist_are_neither_written_nor_read() {
    let (samples, view, _) = pair();
    for row in [
        SampleSubject::Account(TENANTS_MAX as u32),
        SampleSubject::Account(u32::MAX),
        SampleSubject::Verb(VERB_SLOTS as u32),
        SampleSubject::Verb(u32::MAX),
    ] {
        assert!(samples.row(row).is_none() && view.read(row).is_none());
    }
    assert!(samples.row(SampleSubject::Verb(VERB_SLOTS as u32 - 1)).is_some());
    assert_eq!(view.rows(), [SampleSubject::Verb(VERB_SLOTS as u32 - 1)]);
}

#[test]
fn a_reader_cannot_join_as_the_card_nor_another_memory_as_samples() {
    let fd = Samples::create(1).unwrap();
    let reader = Samples::read_only(fd.as_fd()).unwrap();
    assert!(matches!(Samples::join(reader.as_fd()), Err(JoinError::System { operation: "mmap", .. })));
    let other = memory::create_sealed("test", SAMPLES_BYTES).unwrap();
    assert!(matches!(SamplesView::join(other.as_fd()), Err(JoinError::Magic { found: 0 })));
    let page = crate::StatusPage::create(1).unwrap();
    assert!(matches!(SamplesView::join(page.as_fd()), Err(JoinError::Size { .. })));
    File::from(fd.try_clone().unwrap())
        .write_all_at(&9_u64.to_le_bytes(), crate::head::VERSION as u64)
        .unwrap();
    assert!(matches!(SamplesView::join(reader.as_fd()), Err(JoinError::Version { found: 9 })));
}

/// A card that writes without end, and a reader whose copies are torn.
#[test]
fn copies_grow_whatever_they_were_torn_from() {
    let (samples, view, _) = pair();
    let row = SampleSubject::Account(5);
    samples.row(row).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for ns in 0..200_000_u64 {
                let row = samples.row(row).unwrap();
                row.count(&Counts { requests: 1, bytes_in: 3, ..Counts::default() });
                row.add_to_bucket(Span::Queue, bucket(ns), 1);
                row.add_times(Span::Queue, ns, ns);
            }
        });
        let mut before = view.read(row).unwrap();
        while !writer.is_finished() {
            let now = view.read(row).unwrap();
            let between = now.since(&before);
            assert!(
                now.counts.requests >= before.counts.requests && now.queue.count() >= before.queue.count()
            );
            assert_eq!(before.queue.count() + between.queue.count(), now.queue.count());
            assert!(between.queue.quantile_ns(0.5) <= between.queue.longest_ns());
            assert!(now.queue.longest_ns() < Some(200_000 + 200_000 / 16));
            before = now;
        }
    });
    let end = view.read(row).unwrap();
    assert_eq!((end.counts.requests, end.counts.bytes_in, end.queue.count()), (200_000, 600_000, 200_000));
    assert_eq!(end.queue.longest_ns(), Some(199_999));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_recorded_is_read(
        entries in proptest::collection::vec(
            (0..TENANTS_MAX as u32, 0..VERB_SLOTS as u32, 0..SAMPLE_NS_MAX, 0..SAMPLE_NS_MAX, any::<u32>()),
            1..60,
        ),
    ) {
        let (samples, view, _) = pair();
        let mut expected = std::collections::BTreeMap::<SampleSubject, RowSamples>::new();
        for (account, verb, queue_ns, service_ns, bytes) in entries {
            for row in [SampleSubject::Account(account), SampleSubject::Verb(verb)] {
                let counts =
                    Counts { requests: 1, batches: 1, fill_sum: 8, bytes_out: bytes.into(), ..Counts::default() };
                let writer = samples.row(row).unwrap();
                writer.count(&counts);
                let of_row = expected.entry(row).or_default();
                of_row.counts.merge(&counts);
                for (span, ns) in [(Span::Queue, queue_ns), (Span::Service, service_ns)] {
                    writer.add_to_bucket(span, bucket(ns), 1);
                    writer.add_times(span, ns, ns);
                }
                of_row.queue.record(queue_ns);
                of_row.service.record(service_ns);
            }
        }
        prop_assert_eq!(view.rows(), expected.keys().copied().collect::<Vec<_>>());
        for (row, expected) in expected {
            prop_assert_eq!(view.read(row).unwrap(), expected);
        }
    }

    #[test]
    fn any_content_is_read_without_harm(
        runs in proptest::collection::vec((0..SAMPLES_BYTES as u64 - 64, any::<[u8; 32]>()), 0..40),
        filled in any::<u8>(),
    ) {
        let (_, view, fd) = pair();
        let memory = File::from(fd);
        memory.write_all_at(&[filled; ROW_BYTES], PAGE_BYTES as u64).unwrap();
        memory.write_all_at(&[filled; 64], IN_USE as u64).unwrap();
        for (offset, run) in runs {
            memory.write_all_at(&run, offset).unwrap();
        }
        let rows = view.rows();
        prop_assert!(rows.len() <= ROWS);
        let mut sum = RowSamples::default();
        for row in rows.into_iter().take(20) {
            let Some(found) = view.read(row) else { continue };
            sum.merge(&found);
            for times in [&found.queue, &found.service, &sum.queue, &found.since(&sum).service] {
                prop_assert!(times.quantile_ns(0.5) <= times.quantile_ns(0.99));
                prop_assert!(times.quantile_ns(0.99) <= times.longest_ns());
                prop_assert!(times.longest_ns() <= Some(SAMPLE_NS_MAX));
            }
        }
    }
}
