//! An event loop, against a daemon and cards that do what a test tells them.

mod fake;

use facility::{Completions, Facility, FacilityError, LOOP_REQUESTS_MAX, Options, Ran, Reply};
use fake::{Act, FakeHome, echo};
use rustix::event::{PollFd, PollFlags};
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Once};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use wire::control::{CardState, Personality, Refusal};
use wire::frame::{Argument, Arguments, Outcome};
use wire::verb::{Verb, mac_generate, one_way_hash};
use wire::{KeyReference, Label, code};

use Personality::{Accelerator, Coprocessor};

/// Longer than any of what is waited for takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(fake: &FakeHome, card_wait: Duration) -> Facility {
    Facility::open(fake.home.folder(), Options { card_wait, ..Options::default() }).unwrap()
}

fn completions(fake: &FakeHome) -> Completions {
    open(fake, PATIENCE).completions().unwrap()
}

fn hash(text: &[u8]) -> Arguments<'_> {
    let mut arguments = Arguments::new(Verb::OneWayHash);
    arguments.set_integer(one_way_hash::TEXT_LENGTH, text.len() as i64).set_bytes(one_way_hash::TEXT, text);
    arguments
}

fn text<'a>(arguments: &Arguments<'a>) -> &'a [u8] {
    arguments.bytes(one_way_hash::TEXT)
}

/// A reply to a hash request that carries its text back.
fn hashed(arguments: &Arguments<'_>) -> Act {
    let mut reply = Arguments::new(Verb::OneWayHash);
    reply.set_bytes(one_way_hash::HASH, text(arguments));
    let mut payload = Vec::new();
    reply.write_reply(&mut payload).unwrap();
    Act::Answer(code::OK, payload)
}

/// What became of a request: the text that its answer carries, or the error.
type Ended = Result<Vec<u8>, FacilityError>;

/// Collects as an event loop does, asleep on the descriptor between rounds, until all are over.
fn run(completions: &mut Completions) -> BTreeMap<u64, Ended> {
    let (mut ended, mut reply) = (BTreeMap::new(), Reply::new());
    while completions.in_flight() > 0 {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            let answer = answer.map(|()| reply.arguments().bytes(one_way_hash::HASH).to_vec());
            assert!(ended.insert(number, answer).is_none(), "{number} is collected twice");
        }
        if completions.in_flight() > 0 && completions.arm() {
            let mut watched = [PollFd::new(&*completions, PollFlags::IN)];
            rustix::event::poll(&mut watched, None).unwrap();
        }
    }
    ended
}

fn is_readable(completions: &Completions) -> bool {
    let mut watched = [PollFd::new(completions, PollFlags::IN)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut watched, Some(&now)).unwrap() == 1
}

#[test]
fn a_thousand_requests_are_in_flight_and_every_number_comes_back_once() {
    // No card answers before each of the four has a request: none is so quick that it has them all.
    let met = Barrier::new(4);
    let first: [Once; 4] = [const { Once::new() }; 4];
    let fake = FakeHome::new(
        &[Coprocessor; 4],
        Arc::new(move |card, _, arguments| {
            first[card as usize].call_once(|| {
                met.wait();
            });
            hashed(arguments)
        }),
    );
    let mut completions = completions(&fake);
    for round in 0..3_u64 {
        let texts: Vec<Vec<u8>> = (0..1000_u64).map(|n| vec![n as u8; (n + round) as usize % 300]).collect();
        for (number, text) in texts.iter().enumerate() {
            completions.submit(number as u64, 0, &hash(text)).unwrap();
        }
        assert_eq!(completions.in_flight(), 1000);
        let ended = run(&mut completions);
        assert_eq!(ended.len(), 1000);
        for (number, answer) in ended {
            assert_eq!(answer.unwrap(), texts[number as usize]);
        }
    }
    let long = vec![7; 100_000];
    completions.submit(u64::MAX, 0, &hash(&long)).unwrap();
    assert_eq!(run(&mut completions).remove(&u64::MAX).unwrap().unwrap(), long);
    assert_eq!(completions.in_flight(), 0);
}

#[test]
fn nothing_in_a_loop_waits() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let mut completions = completions(&fake);
    // A daemon that answers nothing any more.
    let world = fake.world.lock().unwrap();
    let mut reply = Reply::new();
    let label = Label::new("A.KEY").unwrap().to_field();
    let mut mac = Arguments::new(Verb::MacGenerate);
    mac.set_bytes(mac_generate::KEY_IDENTIFIER, &label);
    for number in 0..500 {
        completions.submit(number, 0, &hash(b"x")).unwrap();
        completions.submit(1000 + number, 0, &mac).unwrap();
        assert!(completions.collect(&mut reply).is_none());
        assert!(completions.arm());
    }
    drop(world);
    let ended = run(&mut completions);
    assert!((0..500).all(|number| ended[&number].as_ref().is_ok_and(|answer| answer == b"x")));
    assert_eq!(ended.len(), 1000);
    assert!(fake.asked("OpenLabel") < 10, "a label is asked for once for all who wait for it");
}

#[test]
fn a_loop_holds_so_many_requests_and_no_more() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, _| Act::Keep));
    let mut completions = completions(&fake);
    for number in 0..LOOP_REQUESTS_MAX as u64 {
        completions.submit(number, 0, &hash(b"")).unwrap();
    }
    let error = completions.submit(0, 0, &hash(b"")).unwrap_err();
    assert!(matches!(error, FacilityError::Full { in_flight: LOOP_REQUESTS_MAX }));
    assert_eq!(error.ran(), Ran::No);
    let (long, mut reply) = (vec![0; wire::bounds::BULK_BYTES_MAX], Reply::new());
    drop(completions);
    let mut completions = open(&fake, PATIENCE).completions().unwrap();
    assert!(matches!(completions.submit(0, 0, &hash(&long)), Err(FacilityError::TooLong { .. })));
    let record = Arguments::new(Verb::DesKeyRecordRead);
    assert!(matches!(completions.submit(0, 0, &record), Err(FacilityError::NotServed { .. })));
    assert!(completions.in_flight() == 0 && completions.collect(&mut reply).is_none());
}

#[test]
fn requests_of_a_dead_card_go_to_another_and_what_killed_two_fails_alone() {
    // A card dies with what says so; one request that it had taken, others that it had not.
    let died = Arc::new(AtomicU64::new(0));
    let deaths = Arc::clone(&died);
    let fake = FakeHome::new(
        &[Coprocessor, Coprocessor, Coprocessor],
        Arc::new(move |_, _, arguments| match text(arguments) {
            b"kill" => {
                deaths.fetch_add(1, Ordering::SeqCst);
                Act::Die
            }
            _ => hashed(arguments),
        }),
    );
    let mut completions = completions(&fake);
    for number in 0..200 {
        completions.submit(number, 0, &hash(b"live")).unwrap();
    }
    completions.submit(1000, 0, &hash(b"kill")).unwrap();
    for number in 200..400 {
        completions.submit(number, 0, &hash(b"live")).unwrap();
    }
    let ended = run(&mut completions);
    assert_eq!((ended.len(), died.load(Ordering::SeqCst)), (401, 2));
    for (number, answer) in &ended {
        match (number, answer) {
            (1000, Err(error)) => {
                assert!(
                    matches!(error, FacilityError::CardDied { cards: 2, ran: Ran::Maybe, .. }),
                    "{error}"
                );
            }
            (number, answer) => assert_eq!(answer.as_ref().unwrap(), b"live", "{number}"),
        }
    }
}

#[test]
fn a_card_that_comes_up_is_found_and_none_for_too_long_is_an_error() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    fake.set_state(0, CardState::Quiescing);
    let mut hasty = open(&fake, Duration::from_millis(50)).completions().unwrap();
    hasty.submit(1, 0, &hash(b"x")).unwrap();
    let error = run(&mut hasty).remove(&1).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::NoCard { personality: Some(Coprocessor) | None, .. }), "{error}");

    let mut patient = completions(&fake);
    patient.submit(1, 0, &hash(b"x")).unwrap();
    let mut reply = Reply::new();
    for _ in 0..20 {
        assert!(patient.collect(&mut reply).is_none());
        patient.wait(Some(Duration::from_millis(2)));
    }
    fake.set_state(0, CardState::Ready);
    assert_eq!(run(&mut patient).remove(&1).unwrap().unwrap(), b"x");

    patient.submit(2, 7, &hash(b"x")).unwrap();
    let error = run(&mut patient).remove(&2).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::Refused { refusal: Refusal::Invalid(_), .. }), "{error}");
    let other = FakeHome::new(&[Accelerator], echo());
    let mut loop_of_other = completions(&other);
    loop_of_other.submit(3, 0, &Arguments::new(Verb::KeyGenerate)).unwrap();
    let error = run(&mut loop_of_other).remove(&3).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::NotServed { .. }), "{error}");
}

#[test]
fn a_card_that_cannot_serve_now_is_asked_again_later() {
    let refusals = Arc::new(AtomicU64::new(5));
    let left = Arc::clone(&refusals);
    let fake = FakeHome::new(
        &[Coprocessor],
        Arc::new(move |_, _, arguments| {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Act::Refuse(Outcome::NotReady),
                Err(_) => hashed(arguments),
            }
        }),
    );
    let mut completions = completions(&fake);
    completions.submit(9, 0, &hash(b"y")).unwrap();
    assert_eq!(run(&mut completions).remove(&9).unwrap().unwrap(), b"y");
    assert_eq!(refusals.load(Ordering::SeqCst), 0);
}

#[test]
fn labels_are_opened_between_calls_and_again_when_they_went_stale() {
    let references = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&references);
    let valid = Arc::new(AtomicU64::new(1));
    let now_valid = Arc::clone(&valid);
    let fake = FakeHome::new(
        &[Coprocessor],
        Arc::new(move |_, _, arguments| {
            let Argument::Reference(reference) = arguments.at(mac_generate::KEY_IDENTIFIER) else {
                return Act::Refuse(Outcome::Malformed);
            };
            seen.lock().unwrap().push(reference);
            match reference.generation == now_valid.load(Ordering::SeqCst) {
                true => Act::Answer(code::OK, Vec::new()),
                false => Act::Refuse(Outcome::KeyReference),
            }
        }),
    );
    let label = Label::new("A.KEY").unwrap();
    let open_as = |generation| {
        let reference = KeyReference { slot: 3, generation };
        fake.world.lock().unwrap().labels.insert(label.clone(), reference);
    };
    open_as(1);
    let field = label.to_field();
    let mut mac = Arguments::new(Verb::MacGenerate);
    mac.set_bytes(mac_generate::KEY_IDENTIFIER, &field);
    let mut completions = completions(&fake);
    let mut calls = |count: u64| {
        (0..count).for_each(|number| completions.submit(number, 0, &mac).unwrap());
        run(&mut completions)
    };
    assert!(calls(5).into_values().all(|answer| answer.is_ok()));
    assert_eq!(fake.asked("OpenLabel"), 1);
    // The record was written anew.
    valid.store(2, Ordering::SeqCst);
    open_as(2);
    assert!(calls(5).into_values().all(|answer| answer.is_ok()));
    assert_eq!(fake.asked("OpenLabel"), 2);
    // It is replaced again and again: nothing runs, and that is said.
    valid.store(3, Ordering::SeqCst);
    let ended = calls(2);
    assert!(ended.values().all(|answer| matches!(answer, Err(FacilityError::StaleKey { .. }))), "{ended:?}");
    assert!(references.lock().unwrap().iter().all(|reference| reference.slot == 3));

    // One that there is not has the verb's own codes.
    let field = Label::new("NONE").unwrap().to_field();
    let mut none = Arguments::new(Verb::MacGenerate);
    none.set_bytes(mac_generate::KEY_IDENTIFIER, &field);
    let mut again = self::completions(&fake);
    again.submit(1, 0, &none).unwrap();
    let mut reply = Reply::new();
    let answer = loop {
        match again.collect(&mut reply) {
            Some(answer) => break answer,
            None => {
                again.wait(None);
            }
        }
    };
    assert!(matches!(answer, (1, Ok(()))) && reply.codes() == code::LABEL_NOT_FOUND);
}

#[test]
fn queues_outlive_a_daemon_and_the_next_one_is_found() {
    let mut fake = FakeHome::new(&[Coprocessor, Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let facility = open(&fake, PATIENCE);
    let mut completions = facility.completions().unwrap();
    completions.submit(1, 0, &hash(b"a")).unwrap();
    run(&mut completions);
    fake.stop_daemon();
    completions.submit(2, 0, &hash(b"b")).unwrap();
    assert_eq!(run(&mut completions).remove(&2).unwrap().unwrap(), b"b");
    // A new loop has no queue, and waits for a daemon without keeping its caller.
    let mut late = facility.completions().unwrap();
    late.submit(3, 0, &hash(b"c")).unwrap();
    for _ in 0..20 {
        assert!(late.collect(&mut Reply::new()).is_none());
        late.wait(Some(Duration::from_millis(1)));
    }
    fake.start_daemon();
    assert_eq!(run(&mut late).remove(&3).unwrap().unwrap(), b"c");
}

#[test]
fn a_queue_that_ends_while_the_loop_sleeps_wakes_it() {
    let holds = Arc::new(AtomicBool::new(true));
    let held = Arc::clone(&holds);
    let fake = FakeHome::new(
        &[Coprocessor],
        Arc::new(move |_, _, arguments| match held.load(Ordering::SeqCst) {
            true => Act::Keep,
            false => hashed(arguments),
        }),
    );
    let mut completions = completions(&fake);
    completions.submit(1, 0, &hash(b"x")).unwrap();
    let mut reply = Reply::new();
    while fake.served(0) == 0 {
        assert!(completions.collect(&mut reply).is_none());
        completions.wait(Some(Duration::from_millis(1)));
    }
    holds.store(false, Ordering::SeqCst);
    fake.end_queue(0, 1);
    // The card had taken it: it is sent once more, and answered.
    assert_eq!(run(&mut completions).remove(&1).unwrap().unwrap(), b"x");
    assert_eq!((fake.served(0), completions.queues()), (2, 1));
}

#[test]
fn the_descriptor_is_quiet_while_nothing_is_there_and_readable_once_it_is() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let mut completions = completions(&fake);
    let mut reply = Reply::new();
    completions.submit(1, 0, &hash(b"x")).unwrap();
    run(&mut completions);
    // Nothing under way: after the tick that was ordered before it stays quiet.
    completions.wait(Some(Duration::from_millis(60)));
    assert!(completions.collect(&mut reply).is_none() && completions.arm());
    assert!(!completions.wait(Some(Duration::from_millis(60))) && !is_readable(&completions));
    for number in 0..50 {
        completions.submit(number, 0, &hash(b"z")).unwrap();
        assert!(completions.arm() || completions.collect(&mut reply).is_some());
        if completions.in_flight() > 0 {
            run(&mut completions);
        }
    }
}
