//! An event loop, against a daemon and cards that do what a test tells them.

use crate::fake::{Act, FakeHome, echo, generate, hash, hashed, makes_keys, text};
use Personality::{Accelerator, Coprocessor};
use facility::{Completions, Facility, FacilityError, LOOP_REQUESTS_MAX, Options, Ran, Reply};
use rustix::event::{PollFd, PollFlags};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Once};
use std::time::Duration;
use wire::control::{CardState, Personality, Refusal};
use wire::frame::{Argument, Outcome};
use wire::registers::RegisterSet;
use wire::verb::{
    RecordWriting, Room, aes_key_record_read, des_key_record_read, key_generate, key_records_write,
    mac_generate, one_way_hash, pka_key_generate,
};
use wire::{Codes, KeyReference, Label, code};

/// Longer than any of what is waited for takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(fake: &FakeHome, card_wait: Duration) -> Facility {
    Facility::open(fake.home.folder(), Options { card_wait, ..Options::default() }).unwrap()
}

fn completions(fake: &FakeHome) -> Completions {
    open(fake, PATIENCE).completions().unwrap()
}

/// What became of a request: the text that its answer carries, or the error.
type Ended = Result<Vec<u8>, FacilityError>;

/// Collects until all are over.
fn run(completions: &mut Completions) -> BTreeMap<u64, Ended> {
    run_to(completions, |reply| reply.arguments().bytes(one_way_hash::HASH).to_vec())
}

/// Collects as an event loop does, asleep on the descriptor between rounds, until all are over; what `take` makes of
/// the answers.
fn run_to<T>(
    completions: &mut Completions,
    take: impl Fn(&Reply) -> T,
) -> BTreeMap<u64, Result<T, FacilityError>> {
    let (mut ended, mut reply) = (BTreeMap::new(), Reply::new());
    while completions.in_flight() > 0 {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            let answer = answer.map(|()| take(&reply));
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
            completions.ask(number as u64, 0, &hash(text)).unwrap();
        }
        assert_eq!(completions.in_flight(), 1000);
        let ended = run(&mut completions);
        assert_eq!(ended.len(), 1000);
        for (number, answer) in ended {
            assert_eq!(answer.unwrap(), texts[number as usize]);
        }
    }
    let long = vec![7; 100_000];
    completions.ask(u64::MAX, 0, &hash(&long)).unwrap();
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
    let mac = mac_generate::Ask { key_identifier: (&label).into(), ..mac_generate::Ask::new() };
    let made = generate(&label, &[0; 64]);
    for number in 0..500 {
        completions.ask(number, 0, &hash(b"x")).unwrap();
        completions.ask(1000 + number, 0, &mac).unwrap();
        completions.ask(2000 + number, 0, &des_key_record_read::Ask::new()).unwrap();
        completions.ask(3000 + number, 0, &made).unwrap();
        assert!(completions.collect(&mut reply).is_none());
        assert!(completions.arm());
    }
    drop(world);
    let ended = run(&mut completions);
    assert!((0..500).all(|number| ended[&number].as_ref().is_ok_and(|answer| answer == b"x")));
    assert_eq!((ended.len(), fake.asked("Call")), (2000, 500));
    assert!(fake.asked("OpenLabel") < 10, "a label is asked for once for all who wait for it");
}

#[test]
fn a_loop_holds_so_many_requests_and_no_more() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, _| Act::Keep));
    let mut completions = completions(&fake);
    for number in 0..LOOP_REQUESTS_MAX as u64 {
        completions.ask(number, 0, &hash(b"")).unwrap();
    }
    let error = completions.ask(0, 0, &hash(b"")).unwrap_err();
    assert!(matches!(error, FacilityError::Full { in_flight: LOOP_REQUESTS_MAX }));
    assert_eq!(error.ran(), Ran::No);
    let (long, mut reply) = (vec![0; wire::bounds::BULK_BYTES_MAX], Reply::new());
    drop(completions);
    let mut completions = open(&fake, PATIENCE).completions().unwrap();
    assert!(matches!(completions.ask(0, 0, &hash(&long)), Err(FacilityError::TooLong { .. })));
    let record = key_records_write::Ask {
        key_token_1: &long[..wire::bounds::CALL_BYTES_MAX],
        ..key_records_write::Ask::new(RecordWriting::Replace)
    };
    assert!(matches!(completions.ask(0, 0, &record), Err(FacilityError::TooLong { .. })));
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
        completions.ask(number, 0, &hash(b"live")).unwrap();
    }
    completions.ask(1000, 0, &hash(b"kill")).unwrap();
    for number in 200..400 {
        completions.ask(number, 0, &hash(b"live")).unwrap();
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
    hasty.ask(1, 0, &hash(b"x")).unwrap();
    let error = run(&mut hasty).remove(&1).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::NoCard { personality: Some(Coprocessor) | None, .. }), "{error}");

    let mut patient = completions(&fake);
    patient.ask(1, 0, &hash(b"x")).unwrap();
    let mut reply = Reply::new();
    for _ in 0..20 {
        assert!(patient.collect(&mut reply).is_none());
        patient.wait(Some(Duration::from_millis(2)));
    }
    fake.set_state(0, CardState::Ready);
    assert_eq!(run(&mut patient).remove(&1).unwrap().unwrap(), b"x");

    patient.ask(2, 7, &hash(b"x")).unwrap();
    let error = run(&mut patient).remove(&2).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::Refused { refusal: Refusal::Invalid(_), .. }), "{error}");
    let other = FakeHome::new(&[Accelerator], echo());
    let mut loop_of_other = completions(&other);
    loop_of_other.ask(3, 0, &generate(&[0; 64], &[0; 64])).unwrap();
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
    completions.ask(9, 0, &hash(b"y")).unwrap();
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
    let mac = mac_generate::Ask { key_identifier: (&label).into(), ..mac_generate::Ask::new() };
    let mut completions = completions(&fake);
    let mut calls = |count: u64| {
        (0..count).for_each(|number| completions.ask(number, 0, &mac).unwrap());
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
    let none = Label::new("NONE").unwrap();
    let none = mac_generate::Ask { key_identifier: (&none).into(), ..mac };
    let mut again = self::completions(&fake);
    again.ask(1, 0, &none).unwrap();
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
    completions.ask(1, 0, &hash(b"a")).unwrap();
    run(&mut completions);
    fake.stop_daemon();
    completions.ask(2, 0, &hash(b"b")).unwrap();
    assert_eq!(run(&mut completions).remove(&2).unwrap().unwrap(), b"b");
    // A new loop has no queue, and waits for a daemon without keeping its caller.
    let mut late = facility.completions().unwrap();
    late.ask(3, 0, &hash(b"c")).unwrap();
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
    completions.ask(1, 0, &hash(b"x")).unwrap();
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
    completions.ask(1, 0, &hash(b"x")).unwrap();
    run(&mut completions);
    // Nothing under way: there is nothing to wait for without end, and the descriptor becomes quiet once the timer that
    // was set before has gone off, which may be just after a wait that ended by the same deadline.
    assert!(!completions.wait(None));
    let becomes_quiet = (0..10).any(|_| {
        assert!(completions.collect(&mut reply).is_none() && completions.arm());
        !completions.wait(Some(Duration::from_millis(60))) && !is_readable(&completions)
    });
    assert!(becomes_quiet);
    for number in 0..50 {
        completions.ask(number, 0, &hash(b"z")).unwrap();
        assert!(completions.arm() || completions.collect(&mut reply).is_some());
        if completions.in_flight() > 0 {
            run(&mut completions);
        }
    }
}

/// Codes of an answer, and the bytes at a position.
fn bytes_at(position: usize) -> impl Fn(&Reply) -> (Codes, Vec<u8>) {
    move |reply| (reply.codes(), reply.arguments().bytes(position).to_vec())
}

#[test]
fn verbs_of_the_daemon_are_answered_in_a_loop_and_asked_again_where_that_is_safe() {
    let mut fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let mut completions = completions(&fake);
    let read = des_key_record_read::Ask::new();
    for number in 0..50 {
        completions.ask(number, 0, &read).unwrap();
        completions.ask(100 + number, 0, &hash(b"x")).unwrap();
    }
    let ended = run_to(&mut completions, bytes_at(des_key_record_read::KEY_TOKEN));
    assert_eq!(ended.len(), 100);
    let token = (code::OK, vec![9; 64]);
    assert!(ended.range(..50).all(|(_, answer)| answer.as_ref().is_ok_and(|answer| *answer == token)));
    // What the daemon does not serve.
    completions.ask(1, 0, &aes_key_record_read::Ask::new()).unwrap();
    let refused = run(&mut completions).remove(&1).unwrap().unwrap_err();
    assert!(matches!(refused, FacilityError::Refused { .. }), "{refused}");
    // Without a daemon a loop waits for the next one, and its caller does not.
    fake.stop_daemon();
    completions.ask(2, 0, &read).unwrap();
    let mut reply = Reply::new();
    for _ in 0..20 {
        assert!(completions.collect(&mut reply).is_none());
        completions.wait(Some(Duration::from_millis(1)));
    }
    fake.start_daemon();
    let ended = run_to(&mut completions, bytes_at(des_key_record_read::KEY_TOKEN)).remove(&2).unwrap();
    assert_eq!(ended.unwrap(), token);
    // What changes something is not asked twice.
    let label = Label::new("A.KEY").unwrap();
    fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    fake.world.lock().unwrap().goes_away = Some(true);
    let write = key_records_write::Ask {
        key_label_1: &label.to_field(),
        key_token_1: &[5; 64],
        key_label_2: &[b' '; 64],
        ..key_records_write::Ask::new(RecordWriting::Replace)
    };
    completions.ask(3, 0, &write).unwrap();
    completions.ask(4, 0, &read).unwrap();
    let mut ended = run_to(&mut completions, bytes_at(des_key_record_read::KEY_TOKEN));
    assert_eq!(ended.remove(&3).unwrap().unwrap_err().ran(), Ran::Maybe);
    assert_eq!(ended.remove(&4).unwrap().unwrap(), token);
    assert_eq!(fake.world.lock().unwrap().records[&label], [5; 64]);
}

#[test]
fn keys_that_a_loop_makes_are_under_their_labels_when_it_is_told() {
    use key_generate::{GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2};
    let fake = FakeHome::new(&[Coprocessor], makes_keys());
    let mut completions = completions(&fake);
    let labels: Vec<Label> = (0..20).map(|n| Label::new(&format!("NEW.K{n}")).unwrap()).collect();
    for label in &labels {
        fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    }
    let fields: Vec<_> = labels.iter().map(Label::to_field).collect();
    let record = |label: &Label| fake.world.lock().unwrap().records[label].clone();
    // Two at once.
    for number in (0..20).step_by(2) {
        completions.ask(number as u64, 0, &generate(&fields[number], &fields[number + 1])).unwrap();
    }
    let ended = run_to(&mut completions, |reply| {
        let made = reply.arguments();
        let labels =
            [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| made.bytes(at).to_vec());
        let written = labels.clone().map(|field| record(&Label::from_field(&field).unwrap()));
        (reply.codes(), labels, written)
    });
    assert_eq!(ended.len(), 10);
    for (number, answer) in ended {
        let (codes, [first, second], written) = answer.unwrap();
        assert_eq!((codes, written), (code::OK, [vec![1; 64], vec![2; 64]]));
        assert_eq!(
            (&first[..], &second[..]),
            (&fields[number as usize][..], &fields[number as usize + 1][..])
        );
    }
    // A token of any length; a record that is not there; one label for two keys.
    let label = Label::new("NEW.RSA").unwrap();
    fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    let field = label.to_field();
    let generated_key_identifier = Room::from(&field[..]);
    let rsa = pka_key_generate::Ask { generated_key_identifier, ..pka_key_generate::Ask::new() };
    completions.ask(1, 0, &rsa).unwrap();
    let none = Label::new("NONE").unwrap().to_field();
    completions.ask(2, 0, &generate(&none, &[0; 64])).unwrap();
    completions.ask(3, 0, &generate(&fields[0], &fields[0])).unwrap();
    let served = fake.served(0);
    let mut ended = run_to(&mut completions, bytes_at(pka_key_generate::GENERATED_KEY_IDENTIFIER));
    assert_eq!(ended.remove(&1).unwrap().unwrap(), (code::OK, field.to_vec()));
    assert_eq!(record(&label), [3; 1100]);
    assert_eq!(ended.remove(&2).unwrap().unwrap().0, code::LABEL_NOT_FOUND);
    assert_eq!(ended.remove(&3).unwrap().unwrap().0, code::INVALID_PARAMETER);
    assert_eq!(fake.served(0), served + 1, "no card is asked to make a key that has no place");
}

#[test]
fn a_record_that_is_written_while_its_new_key_is_made_is_opened_again() {
    let valid = Arc::new(AtomicU64::new(1));
    let (now_valid, make) = (Arc::clone(&valid), makes_keys());
    let fake = FakeHome::new(
        &[Coprocessor],
        Arc::new(move |card, verb, arguments| match arguments.at(key_generate::GENERATED_KEY_IDENTIFIER_1) {
            Argument::Reference(held) if held.generation == now_valid.load(Ordering::SeqCst) => {
                make(card, verb, arguments)
            }
            _ => Act::Refuse(Outcome::KeyReference),
        }),
    );
    let label = Label::new("OLD.KEY").unwrap();
    fake.world.lock().unwrap().records.insert(label.clone(), vec![7; 64]);
    let open_as = |generation| {
        let reference = KeyReference { slot: 3, generation };
        fake.world.lock().unwrap().labels.insert(label.clone(), reference);
    };
    open_as(1);
    let field = label.to_field();
    let (facility, made) = (open(&fake, PATIENCE), generate(&field, &[0; 64]));
    let mut completions = facility.completions().unwrap();
    completions.ask(1, 0, &made).unwrap();
    let mut reply = Reply::new();
    // Its label is opened, and before a card has it the record is written.
    fake.world.lock().unwrap().paused.store(true, Ordering::SeqCst);
    while completions.queues() == 0 {
        assert!(completions.collect(&mut reply).is_none());
        completions.wait(Some(Duration::from_millis(1)));
    }
    valid.store(2, Ordering::SeqCst);
    open_as(2);
    fake.world.lock().unwrap().paused.store(false, Ordering::SeqCst);
    let ended = run_to(&mut completions, bytes_at(key_generate::GENERATED_KEY_IDENTIFIER_1));
    assert_eq!(*ended[&1].as_ref().unwrap(), (code::OK, field.to_vec()));
    assert_eq!((fake.served(0), fake.asked("OpenLabel")), (2, 2));
    // It is replaced again and again: nothing runs, and that is said, in a loop and to a caller that waits.
    valid.store(3, Ordering::SeqCst);
    completions.ask(2, 0, &made).unwrap();
    let error = run(&mut completions).remove(&2).unwrap().unwrap_err();
    assert!(matches!(error, FacilityError::StaleKey { .. }), "{error}");
    let error = facility.ask(0, &made).unwrap_err();
    assert!(matches!(error, FacilityError::StaleKey { .. }), "{error}");
    assert_eq!((fake.served(0), fake.asked("OpenLabel")), (12, 12));
}

#[test]
fn a_daemon_that_goes_away_over_the_write_of_a_loops_key_leaves_an_error_that_says_so() {
    for writes in [true, false] {
        let fake = FakeHome::new(&[Coprocessor], makes_keys());
        let label = Label::new("NEW.KEY").unwrap();
        fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
        fake.world.lock().unwrap().goes_away = Some(writes);
        let mut completions = completions(&fake);
        completions.ask(1, 0, &generate(&label.to_field(), &[0; 64])).unwrap();
        let error = run(&mut completions).remove(&1).unwrap().unwrap_err();
        assert_eq!(error.ran(), Ran::Maybe, "{error}");
        assert!(error.to_string().contains("label"), "{error}");
        assert_eq!(fake.world.lock().unwrap().records[&label].is_empty(), !writes);
    }
}

#[test]
fn a_loop_sends_to_cards_that_hold_the_keys_and_once_more_where_one_does_not() {
    let holders = Arc::new(AtomicU64::new(1 << 1));
    let holds = Arc::clone(&holders);
    let fake = FakeHome::new(
        &[Coprocessor, Coprocessor, Coprocessor],
        Arc::new(move |card, _, _| match holds.load(Ordering::SeqCst) >> card & 1 {
            0 => Act::Answer(code::MASTER_KEY_NOT_LOADED, Vec::new()),
            _ => Act::Answer(code::OK, Vec::new()),
        }),
    );
    fake.set_registers(0, RegisterSet::NONE);
    let mut completions = completions(&fake);
    let ask = |completions: &mut Completions| {
        for number in 0..200 {
            completions.ask(number, 0, &generate(&[0; 64], &[0; 64])).unwrap();
        }
        let ended = run_to(completions, Reply::codes);
        let codes: Vec<Codes> = ended.into_values().map(Result::unwrap).collect();
        assert!(codes.len() == 200 && codes.iter().all(|code| *code == codes[0]), "{codes:?}");
        codes[0]
    };
    assert_eq!((ask(&mut completions), fake.served(0)), (code::OK, 0));
    // The one that is used first holds none, by its word and by the daemon's, and is told so before the other comes up.
    fake.set_registers(1, RegisterSet::NONE);
    fake.set_registers(2, RegisterSet::NONE);
    holders.store(0, Ordering::SeqCst);
    assert_eq!(ask(&mut completions), code::MASTER_KEY_NOT_LOADED);
    holders.store(1 << 2, Ordering::SeqCst);
    fake.set_registers(2, RegisterSet::ALL);
    let end = std::time::Instant::now() + PATIENCE;
    // Of those submitted together the first are sent before the card has said so.
    completions.ask(0, 0, &generate(&[0; 64], &[0; 64])).unwrap();
    while run_to(&mut completions, Reply::codes).into_values().any(|codes| codes.unwrap() != code::OK) {
        assert!(std::time::Instant::now() < end, "the card that holds its keys by now is not asked");
        completions.ask(0, 0, &generate(&[0; 64], &[0; 64])).unwrap();
    }
    assert_eq!(ask(&mut completions), code::OK);
}

/// What the daemon said of a card before the card was lost is not believed: it may be back without keys.
#[test]
fn a_card_that_was_lost_and_is_back_without_keys_gets_nothing_where_another_holds_them() {
    let mut fake = FakeHome::new(&[Coprocessor, Coprocessor], makes_keys());
    (0..2).for_each(|card| fake.set_registers(card, RegisterSet::ALL));
    let facility = open(&fake, PATIENCE);
    let mut completions = facility.completions().unwrap();
    let generate = generate(&[0; 64], &[0; 64]);
    completions.ask(0, 0, &generate).unwrap();
    run_to(&mut completions, Reply::codes).remove(&0).unwrap().unwrap();
    assert_eq!(facility.ask(0, &generate).unwrap().codes(), code::OK);
    assert_eq!(
        (fake.served(0), fake.served(1)),
        (2, 0),
        "both ways of asking have a queue to the first card alone"
    );
    fake.kill(0);
    fake.respawn(0);
    fake.set_registers(0, RegisterSet::NONE);
    (1..=80).for_each(|number| completions.ask(number, 0, &generate).unwrap());
    assert!(run_to(&mut completions, Reply::codes).into_values().all(|codes| codes.unwrap() == code::OK));
    assert_eq!(facility.ask(0, &generate).unwrap().codes(), code::OK);
    assert_eq!((fake.served(0), fake.served(1)), (0, 81));
    // It is found again where it is the only one.
    fake.kill(1);
    fake.set_registers(0, RegisterSet::ALL);
    completions.ask(81, 0, &generate).unwrap();
    assert_eq!(run_to(&mut completions, Reply::codes).remove(&81).unwrap().unwrap(), code::OK);
    assert_eq!(facility.ask(0, &generate).unwrap().codes(), code::OK);
    assert_eq!(fake.served(0), 2);
    fake.stop_daemon();
}
