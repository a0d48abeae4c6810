//! Models of cards that keep a limit together: never more in flight than it, in any order of the cards.
#![forbid(unsafe_code)]

use link_loom::cells;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

const PREEMPTIONS: usize = 3;

struct Row {
    cells: [AtomicU64; 3],
    /// Requests that really are in flight.
    inside: AtomicU64,
}

impl Row {
    fn new() -> Arc<Self> {
        Arc::new(Self { cells: std::array::from_fn(|_| AtomicU64::new(0)), inside: AtomicU64::new(0) })
    }

    /// A card that tries to have `tries` requests in flight, one after the other.
    fn card(&self, card: usize, tries: usize, limit: u64, enter: impl Fn(&Self, usize, u64) -> bool) {
        for _ in 0..tries {
            if enter(self, card, limit) {
                assert!(self.inside.fetch_add(1, Ordering::Relaxed) < limit, "beyond the limit");
                self.inside.fetch_sub(1, Ordering::Relaxed);
                cells::leave(&self.cells[card], 0);
            }
        }
    }

    fn others(&self, card: usize) -> impl Iterator<Item = &AtomicU64> {
        self.cells.iter().enumerate().filter(move |(index, _)| *index != card).map(|(_, cell)| cell)
    }

    fn enter(&self, card: usize, limit: u64) -> bool {
        cells::enter(&self.cells[card], 0, self.others(card), limit)
    }

    /// As [`Row::enter`], without the fence.
    fn enter_unfenced(&self, card: usize, limit: u64) -> bool {
        self.cells[card].store(1, Ordering::Relaxed);
        let sum: u64 = 1 + self.others(card).map(|cell| cell.load(Ordering::Relaxed)).sum::<u64>();
        if sum > limit {
            self.cells[card].store(0, Ordering::Relaxed);
        }
        sum <= limit
    }
}

fn model(
    cards: usize,
    tries: usize,
    limit: u64,
    enter: impl Fn(&Row, usize, u64) -> bool + Copy + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(move || {
        let row = Row::new();
        let others: Vec<_> = (1..cards)
            .map(|card| {
                let row = Arc::clone(&row);
                thread::spawn(move || row.card(card, tries, limit, enter))
            })
            .collect();
        row.card(0, tries, limit, enter);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn two_cards_stay_within_a_limit() {
    model(2, 2, 1, Row::enter);
}

#[test]
fn three_cards_stay_within_a_limit() {
    model(3, 1, 1, Row::enter);
    model(3, 1, 2, Row::enter);
}

#[test]
#[should_panic(expected = "beyond the limit")]
fn without_the_fence_they_do_not() {
    model(2, 1, 1, Row::enter_unfenced);
}

#[test]
fn of_a_rate_no_request_is_drawn_twice() {
    loom::model(|| {
        let next = Arc::new(AtomicU64::new(0));
        let other = {
            let next = Arc::clone(&next);
            thread::spawn(move || (0..2).filter(|_| cells::draw(&next, 1000, 10, 10).is_ok()).count())
        };
        let mine = (0..2).filter(|_| cells::draw(&next, 1000, 10, 10).is_ok()).count();
        assert_eq!(mine + other.join().unwrap(), 2);
    });
}
