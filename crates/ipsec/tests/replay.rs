//! Windows beside a plain model: jumps, duplicates, all sizes, extended numbers over 2^32; and by several threads.

use ipsec::*;
use proptest::prelude::*;
use seeded::Random;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every number that was taken, and nothing clever.
struct Model {
    taken: BTreeSet<u64>,
    size: u64,
}

impl Model {
    fn top(&self) -> u64 {
        self.taken.last().copied().unwrap_or(0)
    }

    fn verdict(&self, number: u64) -> Verdict {
        let top = self.top();
        if number == 0 || number + self.size <= top {
            Verdict::TooOld
        } else if self.taken.contains(&number) {
            Verdict::Seen
        } else {
            Verdict::Fresh { advanced: number > top }
        }
    }
}

/// Numbers as they come: mostly near the highest, before and behind it, now and then far ahead, or one that was there.
fn steps(start: u64) -> impl Strategy<Value = (u32, Vec<u64>)> {
    let step = prop_oneof![
        10 => -40_i64..40,
        3 => -5000_i64..5000,
        1 => 0_i64..1 << 33,
        1 => Just(0_i64),
    ];
    let size = prop_oneof![WINDOW_MIN..=WINDOW_MAX, Just(32_u32), Just(33), Just(64), Just(4095), Just(4096)];
    (size, prop::collection::vec(step, 1..400)).prop_map(move |(size, steps)| {
        let mut top = start;
        let numbers = steps
            .into_iter()
            .map(|step| {
                let number = top.saturating_add_signed(step);
                top = top.max(number);
                number
            })
            .collect();
        (size, numbers)
    })
}

fn agrees(size: u32, start: u64, numbers: &[u64]) -> Result<(), TestCaseError> {
    let window = Window::after(size, start).unwrap();
    let mut model = Model { taken: BTreeSet::new(), size: size.into() };
    if start > 0 {
        model.taken.insert(start);
    }
    for number in numbers {
        let expected = model.verdict(*number);
        prop_assert_eq!(window.check(*number), expected, "{} of {}", number, size);
        prop_assert_eq!(window.accept(*number), expected, "{} of {}", number, size);
        if let Verdict::Fresh { .. } = expected {
            model.taken.insert(*number);
            prop_assert_eq!(window.check(*number), Verdict::Seen);
        }
        prop_assert_eq!(window.top(), model.top());
    }
    let (top, map) = window.bitmap();
    prop_assert_eq!(top, model.top());
    for back in 0..u64::from(size).min(top) {
        let place = 32 * map.len() as u64 - 1 - back;
        let is_set = map[(place / 32) as usize] >> (place % 32) & 1 == 1;
        prop_assert_eq!(is_set, model.taken.contains(&(top - back)), "{} back", back);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_window_is_what_the_model_says((size, numbers) in steps(0)) {
        agrees(size, 0, &numbers)?;
    }

    /// Around the places where ages and low halves go round.
    #[test]
    fn a_window_goes_over_borders(
        (size, numbers) in prop_oneof![steps((1 << 32) - 500), steps((1 << 37) - 300), steps((1 << 44) - 300)],
    ) {
        let start = *numbers.first().unwrap_or(&1);
        agrees(size, start, &numbers)?;
    }

    /// Of a number near the highest, only the low half travels; the whole comes out again as long as it is not further
    /// ahead than what the window leaves of a cycle, nor behind the window.
    #[test]
    fn whole_numbers_come_out_of_their_low_halves(
        top in prop_oneof![0_u64..10_000, (1_u64 << 32) - 5000..(1 << 32) + 5000, any::<u64>().prop_map(|top| top >> 1)],
        size in WINDOW_MIN..=WINDOW_MAX,
        step in prop_oneof![-4096_i64..4096, 0_i64..(1 << 32) - 4096],
    ) {
        let Some(number) = top.checked_add_signed(step) else { return Ok(()) };
        prop_assume!(number + u64::from(size) > top && number < top + (1 << 32) - u64::from(size) + 1);
        prop_assert_eq!(whole_number(top, size, number as u32), Some(number));
    }

    #[test]
    fn numbers_are_handed_out_once(
        last in prop_oneof![Just(0_u64), Just((1 << 32) - 100), Just(u64::MAX - 200)],
        counts in prop::collection::vec(0_u64..50, 0..20),
        extended: bool,
    ) {
        let end = if extended { u64::MAX - 1 } else { u64::from(u32::MAX) };
        prop_assume!(last < end);
        let numbers = Numbers::after(last, extended);
        let mut next = last + 1;
        for count in counts {
            let taken = numbers.take(count);
            if taken.is_empty() {
                prop_assert!(count == 0 || next > end);
                continue;
            }
            prop_assert_eq!(taken.start, next);
            prop_assert_eq!(taken.end - taken.start, count.min(end - next + 1));
            next = taken.end;
        }
        prop_assert_eq!(numbers.last(), next - 1);
        prop_assert_eq!(numbers.is_at_end(), next > end);
    }
}

#[test]
fn sizes_and_number_zero() {
    for size in [0, 1, 31, 4097, u32::MAX] {
        assert!(Window::new(size).is_none());
    }
    for size in WINDOW_MIN..=WINDOW_MAX {
        assert_eq!(Window::new(size).unwrap().check(0), Verdict::TooOld);
    }
    // A low half that would belong to the cycle before the first.
    assert_eq!(whole_number(5, 64, u32::MAX), None);
    assert_eq!(whole_number(u64::MAX - 5, 64, 0), None);
}

/// Four threads bring the same numbers in orders of their own: each is taken once.
#[test]
fn threads_take_every_number_once() {
    const NUMBERS: usize = 20_000;
    let window = Window::new(64).unwrap();
    let taken: Vec<AtomicUsize> = (0..=NUMBERS).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (window, taken) = (&window, &taken);
            scope.spawn(move || {
                let mut random = Random(seed);
                for base in 1..=NUMBERS {
                    let number = (base + random.below(40)).min(NUMBERS);
                    if let Verdict::Fresh { .. } = window.accept(number as u64) {
                        taken[number].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let counts: Vec<usize> = taken.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    assert!(counts.iter().all(|count| *count <= 1));
    assert!(counts.iter().sum::<usize>() > NUMBERS / 2, "most came in time");
}

#[test]
fn numbers_have_their_turn_once_those_before_were_sent() {
    let numbers = Numbers::after(7, false);
    let (one, other) = (numbers.take(3), numbers.take(2));
    assert_eq!((one.clone(), other.clone()), (8..11, 11..13));
    assert!(numbers.is_turn(one.start));
    assert!(!numbers.is_turn(other.start));
    // The later ones were sent before their turn, since nobody waits for ever.
    numbers.sent(other.end - 1);
    assert!(numbers.is_turn(one.start) && numbers.is_turn(other.start) && numbers.is_turn(13));
    numbers.sent(one.end - 1);
    assert!(numbers.is_turn(13) && !numbers.is_turn(14));
}
