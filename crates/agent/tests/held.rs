//! Keys are held to their time, and no more of them than the bound.

use agent::held::Held;
use agent::message::{HeldKey, KEYS_MAX, Refusal, Reply, Request};
use openpgp::Timestamp;
use openpgp::generate::{NewKey, generate};
use std::time::Duration;

fn request(seconds: u32) -> Request {
    let private = generate(&NewKey::new("a@b.example", Timestamp::from_secs(1_700_000_000)), None).unwrap();
    let key = private.clear_key(&private.certificate().fingerprint(), None).unwrap();
    Request::Add { is_primary: key.is_primary, body: key.body, seconds }
}

fn rows(held: &mut Held, now: Duration) -> Vec<HeldKey> {
    match held.answer(&Request::List, now) {
        Reply::Held(rows) => rows,
        _ => panic!("a list"),
    }
}

#[test]
fn a_key_is_held_to_the_moment_and_no_longer() {
    let (begun, second) = (Duration::from_millis(123_456), Duration::from_secs(1));
    let mut held = Held::default();
    assert!(matches!(held.answer(&request(10), begun), Reply::Done { count: 1 }));
    assert_eq!(held.next_end(), Some(begun + 10 * second));
    let left: Vec<_> =
        [0, 1, 9_999].map(|ms| rows(&mut held, begun + Duration::from_millis(ms))[0].seconds).into();
    assert_eq!(left, [10, 10, 1]);
    assert!(rows(&mut held, begun + 10 * second).is_empty() && held.is_empty());
    assert_eq!(held.next_end(), None);
}

#[test]
fn no_more_keys_are_held_than_the_bound_and_those_that_are_stay() {
    let mut held = Held::default();
    let now = Duration::ZERO;
    let first = request(60);
    assert!(matches!(held.answer(&first, now), Reply::Done { .. }));
    for _ in 1..KEYS_MAX {
        assert!(matches!(held.answer(&request(60), now), Reply::Done { .. }));
    }
    assert!(matches!(held.answer(&request(60), now), Reply::Refused(Refusal::Full)));
    // A key that is already held takes no further room.
    assert!(matches!(held.answer(&first, now), Reply::Done { count: 1 }));
    assert_eq!(rows(&mut held, now).len(), KEYS_MAX);
    let all = Request::Forget { fingerprints: Vec::new() };
    assert!(matches!(held.answer(&all, now), Reply::Done { count } if count as usize == KEYS_MAX));
    assert!(held.is_empty());
}
