//! Models of threads that open, and of threads that seal, packets of one SA.
#![forbid(unsafe_code)]

use ipsec_loom::replay::{Verdict, Window};
use ipsec_loom::sequence::Numbers;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

const PREEMPTIONS: usize = 3;

/// A window of 32 numbers is a ring of two words: numbers 1, 33, 65 and 97 are of the first, second, first and second.
fn model(threads: &'static [&'static [u64]], check: impl Fn(&Window) + Copy + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(move || {
        let window = Arc::new(Window::new(32).expect("32 is a size"));
        // How often each number was taken.
        let taken: Arc<Vec<AtomicU64>> = Arc::new((0..130).map(|_| AtomicU64::new(0)).collect());
        let run = |window: &Window, taken: &[AtomicU64], numbers: &[u64]| {
            for number in numbers {
                if let Verdict::Fresh { .. } = window.accept(*number) {
                    let before = taken[*number as usize].fetch_add(1, Ordering::Relaxed);
                    assert_eq!(before, 0, "number {number} was taken twice");
                }
            }
        };
        let others: Vec<_> = threads[1..]
            .iter()
            .map(|numbers| {
                let (window, taken) = (Arc::clone(&window), Arc::clone(&taken));
                thread::spawn(move || run(&window, &taken, numbers))
            })
            .collect();
        run(&window, &taken, threads[0]);
        for other in others {
            other.join().expect("no thread fails");
        }
        // Whatever the order was, the newest was taken by someone, and is the top.
        let newest = threads.iter().flat_map(|numbers| numbers.iter()).max().expect("there are numbers");
        assert_eq!(taken[*newest as usize].load(Ordering::Relaxed), 1);
        assert_eq!(window.top(), *newest);
        for numbers in threads {
            for number in *numbers {
                assert!(
                    !matches!(window.accept(*number), Verdict::Fresh { .. }) || {
                        // Not taken before only where it left the window; then it is too late now.
                        taken[*number as usize].load(Ordering::Relaxed) == 0 && *number + 32 > *newest
                    }
                );
            }
        }
        check(&window);
    });
}

#[test]
fn a_number_is_taken_once_by_two_threads() {
    model(&[&[5], &[5]], |_| {});
}

#[test]
fn a_number_is_taken_once_by_three_threads() {
    model(&[&[5], &[5], &[5]], |_| {});
}

#[test]
fn neighbours_in_a_word_are_both_taken() {
    model(&[&[5, 6], &[6, 5]], |window| {
        assert_eq!(window.check(5), Verdict::Seen);
        assert_eq!(window.check(6), Verdict::Seen);
    });
}

/// One thread moves the window over the word in which the other takes a number.
#[test]
fn a_word_that_is_taken_over_gives_no_number_twice() {
    model(&[&[1, 65], &[1, 2]], |_| {});
}

/// Two threads take the same word over, for numbers of the same and of two blocks.
#[test]
fn a_word_is_taken_over_by_two() {
    model(&[&[1, 65], &[66, 1]], |window| {
        assert_eq!(window.check(66), Verdict::Seen);
    });
    model(&[&[1, 65], &[129, 1]], |_| {});
}

/// Numbers are handed out once, and all of them.
#[test]
fn numbers_are_handed_out_once() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let numbers = Arc::new(Numbers::between(0, 5));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let numbers = Arc::clone(&numbers);
                thread::spawn(move || [numbers.take(2), numbers.take(1)])
            })
            .collect();
        let mut taken: Vec<u64> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no thread fails"))
            .flatten()
            .collect();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3, 4, 5], "six were asked for");
        assert!(numbers.is_at_end() && numbers.take(1).is_empty());
    });
}

/// A window of one word whose bit is looked at and set in two steps: what the model finds where there is something to
/// find.
#[test]
#[should_panic(expected = "taken twice")]
fn a_word_that_is_loaded_and_stored_gives_a_number_twice() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let (word, taken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (word, taken) = (Arc::clone(&word), Arc::clone(&taken));
                thread::spawn(move || {
                    let before = word.load(Ordering::Relaxed);
                    word.store(before | 1, Ordering::Relaxed);
                    if before & 1 == 0 {
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
        assert!(taken.load(Ordering::Relaxed) < 2, "taken twice");
    });
}
