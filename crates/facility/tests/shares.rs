//! Threads of a process: each has queues of its own as far as there are processors, and tickets are found by queues'
//! words.

use crate::fake::{Act, FakeHome, Script, echo, hash, hashed};
use facility::{Facility, FacilityError, Options, SHARES_MAX, Selection, Ticket};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use wire::bounds::QUEUE_SLOTS_DEFAULT;
use wire::control::Personality::Coprocessor;
use wire::control::Refusal;
use wire::frame::{Argument, Outcome};
use wire::verb::{Filled, TypedAsk, mac_generate, null, one_way_hash};
use wire::{KeyReference, Label, code};

/// Longer than any of what is waited for takes.
const PATIENCE: Duration = Duration::from_secs(60);
const NULL: null::Ask<'static> = null::Ask::new();
/// As many threads as a small machine has processors, and many more.
const THREADS: [usize; 2] = [2, 32];

fn open(fake: &FakeHome) -> Facility {
    let options = Options { card_wait: PATIENCE, ..Options::default() };
    Facility::open(fake.home.folder(), options).unwrap()
}

fn submit(facility: &Facility, ask: &impl TypedAsk) -> Ticket {
    facility.submit(0, &ask.arguments(&mut Filled::default())).unwrap()
}

/// Shares of a process on this machine.
fn shares() -> usize {
    std::thread::available_parallelism().unwrap().get().min(SHARES_MAX)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Starts this many threads, which call when all are there and end when all have called.
fn all_at_once(threads: usize, call: impl Fn() + Sync) {
    let (all, call) = (Barrier::new(threads), &call);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                all.wait();
                let called = catch_unwind(AssertUnwindSafe(call));
                // Also for those that wait for one that failed.
                all.wait();
                called.map_err(resume_unwind).unwrap_or_default();
            });
        }
    });
}

#[test]
fn threads_have_queues_of_their_own_as_far_as_there_are_processors() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    all_at_once(shares() + 3, || {
        for _ in 0..20 {
            assert_eq!(facility.ask(0, &NULL).unwrap().codes(), code::OK);
        }
    });
    assert_eq!((facility.queues(), fake.asked("Attach")), (shares(), shares()));
    assert_eq!(facility.in_flight(), 0);
    // Those of the next generation are there already.
    all_at_once(shares() + 3, || assert_eq!(facility.ask(0, &NULL).unwrap().codes(), code::OK));
    assert_eq!((facility.queues(), fake.asked("Attach")), (shares(), shares()));
}

#[test]
fn a_thread_that_ends_leaves_its_queues_to_the_next() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let mut before = 0;
    for number in 0..10_000 {
        let in_thread = facility.clone();
        let work = move || {
            // One that is given up, and one that is answered.
            drop(submit(&in_thread, &NULL));
            in_thread.ask(0, &NULL).unwrap().codes()
        };
        assert_eq!(std::thread::spawn(work).join().unwrap(), code::OK);
        if number == 0 {
            before = descriptors();
        }
    }
    assert_eq!((facility.queues(), fake.asked("Attach")), (1, 1));
    // Other tests of this program open descriptors meanwhile, but not thousands.
    assert!(descriptors() < before + 1_000, "{before} descriptors before, {} after", descriptors());
}

/// Waits until a card has served as many requests as this.
fn until_served(fake: &FakeHome, card: usize, requests: u64) {
    let end = std::time::Instant::now() + PATIENCE;
    while fake.served(card) < requests {
        assert!(std::time::Instant::now() < end, "{} of {requests} are served", fake.served(card));
        std::thread::yield_now();
    }
}

#[test]
fn a_queue_of_answers_that_nobody_collects_is_used_again() {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], echo());
    let facility = open(&fake);
    let [first, second] = [0, 1].map(|card| facility.with_selection(Selection::card(card)));
    assert_eq!(second.ask(0, &NULL).unwrap().codes(), code::OK);
    for _ in 0..QUEUE_SLOTS_DEFAULT {
        drop(submit(&first, &NULL));
    }
    let served = QUEUE_SLOTS_DEFAULT as u64;
    until_served(&fake, 0, served);
    for _ in 0..20 {
        assert_eq!(facility.ask(0, &NULL).unwrap().codes(), code::OK);
    }
    assert!(fake.served(0) > served, "the first card was left out");
}

#[test]
fn a_card_whose_queue_is_full_is_passed_over() {
    let script: Script = Arc::new(|card, _, _| match card {
        0 => Act::Keep,
        _ => Act::Answer(code::OK, Vec::new()),
    });
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], script);
    let facility = open(&fake);
    let [first, second] = [0, 1].map(|card| facility.with_selection(Selection::card(card)));
    assert_eq!(second.ask(0, &NULL).unwrap().codes(), code::OK);
    let kept: Vec<_> = (0..QUEUE_SLOTS_DEFAULT).map(|_| submit(&first, &NULL)).collect();
    for _ in 0..20 {
        assert_eq!(facility.ask(0, &NULL).unwrap().codes(), code::OK);
        assert_eq!(submit(&facility, &NULL).wait().unwrap().codes(), code::OK);
    }
    assert!(kept.iter().all(|ticket| ticket.card() == Some(0)));
}

/// A home whose card takes only the current reference of a label, and a way to make another one current.
fn home_of_label(label: &Label) -> (FakeHome, impl Fn(u64)) {
    let current = Arc::new(AtomicU64::new(0));
    let known = Arc::clone(&current);
    let script: Script = Arc::new(move |_, _, arguments| {
        let key = arguments.at(mac_generate::KEY_IDENTIFIER);
        let is_current = matches!(key, Argument::Reference(reference)
            if reference.generation == known.load(Ordering::SeqCst));
        if is_current { Act::Answer(code::OK, Vec::new()) } else { Act::Refuse(Outcome::KeyReference) }
    });
    let fake = FakeHome::new(&[Coprocessor], script);
    let (world, label) = (Arc::clone(&fake.world), label.clone());
    let renew = move |generation| {
        world.lock().unwrap().labels.insert(label.clone(), KeyReference { slot: 3, generation });
        current.store(generation, Ordering::SeqCst);
    };
    (fake, renew)
}

fn mac(label: &Label) -> mac_generate::Ask<'_> {
    mac_generate::Ask { key_identifier: label.into(), text: b"a text", ..mac_generate::Ask::new() }
}

#[test]
fn a_label_is_opened_once_for_all_threads_and_again_where_it_went_stale() {
    let label = Label::new("A.B").unwrap();
    let (fake, renew) = home_of_label(&label);
    let facility = open(&fake);
    for (generation, threads) in (1..).zip(THREADS) {
        renew(generation);
        all_at_once(threads, || {
            for _ in 0..10 {
                assert_eq!(facility.ask(0, &mac(&label)).unwrap().codes(), code::OK);
            }
        });
        assert_eq!(fake.asked("OpenLabel"), generation as usize);
    }
}

#[test]
fn a_thread_that_slept_through_two_changes_of_a_key_finds_the_third() {
    let label = Label::new("A.B").unwrap();
    let (fake, renew) = home_of_label(&label);
    let facility = open(&fake);
    let turns = Barrier::new(2);
    renew(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(facility.ask(0, &mac(&label)).unwrap().codes(), code::OK);
            turns.wait();
            turns.wait();
            assert_eq!(facility.ask(0, &mac(&label)).unwrap().codes(), code::OK);
        });
        turns.wait();
        for generation in [2, 3] {
            renew(generation);
            if generation == 2 {
                assert_eq!(facility.ask(0, &mac(&label)).unwrap().codes(), code::OK);
            }
        }
        turns.wait();
    });
}

#[test]
fn threads_share_queues_where_the_daemon_gives_no_more() {
    for threads in THREADS {
        let fake = FakeHome::new(&[Coprocessor], echo());
        fake.world.lock().unwrap().queues_max = 1;
        let facility = open(&fake);
        all_at_once(threads, || {
            for _ in 0..20 {
                assert_eq!(facility.ask(0, &NULL).unwrap().codes(), code::OK);
            }
        });
        assert_eq!(facility.queues(), 1);
        // Threads of a share that begin together may each ask for its queue, once.
        assert!(fake.asked("Attach") <= threads, "{} questions", fake.asked("Attach"));
    }
    let none = FakeHome::new(&[Coprocessor], echo());
    none.world.lock().unwrap().queues_max = 0;
    let error = open(&none).ask(0, &NULL).unwrap_err();
    assert!(
        matches!(error, FacilityError::Refused { refusal: Refusal::Full { limit: 0, .. }, .. }),
        "where no share has a queue that is the answer: {error}"
    );
}

#[test]
fn a_process_at_its_bound_goes_on_with_one_card_and_leaves_the_daemon_in_peace() {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], echo());
    fake.world.lock().unwrap().queues_max = 1;
    let facility = open(&fake);
    // With all of these on one card, the other one promises an answer sooner at each of them.
    let mut tickets: Vec<Ticket> = (0..32).map(|_| submit(&facility, &NULL)).collect();
    for _ in 0..2_000 {
        let index = Ticket::wait_any(&mut tickets).unwrap();
        assert_eq!(tickets[index].try_wait().unwrap().unwrap().codes(), code::OK);
        facility.submit_into(&mut tickets[index], 0, &NULL.arguments(&mut Filled::default())).unwrap();
    }
    assert_eq!(facility.queues(), 1);
    assert!(fake.asked("Attach") <= 3, "{} questions for 2,000 requests", fake.asked("Attach"));
}

#[test]
fn a_card_that_dies_under_many_threads_takes_no_answer_with_it() {
    THREADS.into_iter().for_each(a_card_dies_under);
}

fn a_card_dies_under(threads: usize) {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let facility = open(&fake);
    let done = AtomicU64::new(0);
    let threads = threads as u64;
    const REQUESTS: u64 = 200;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (facility, done) = (&facility, &done);
            scope.spawn(move || {
                for number in 0..REQUESTS {
                    let text = (thread * REQUESTS + number).to_le_bytes();
                    let reply = facility.ask(0, &hash(&text)).unwrap().ok().unwrap();
                    assert_eq!(reply.got().hash, text);
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while done.load(Ordering::SeqCst) < threads * REQUESTS / 4 {
            std::thread::yield_now();
        }
        fake.respawn(0);
    });
    assert_eq!((done.load(Ordering::SeqCst), facility.in_flight()), (threads * REQUESTS, 0));
    // Each share has found out that its queue to the dead card is of no use.
    let _ = facility.with_selection(Selection::card(0)).ask(0, &hash(b"again")).unwrap();
    assert!(facility.queues() <= 2 * shares(), "{} queues", facility.queues());
}

/// A script of a card that answers with the text.
fn texts() -> Script {
    Arc::new(|_, _, arguments| hashed(arguments))
}

#[test]
fn every_answer_is_found_once_and_at_its_place_in_a_closed_loop() {
    let fake = FakeHome::new(&[Coprocessor; 4], texts());
    let facility = open(&fake);
    let (mut next, mut sent) = (0_u64, Vec::new());
    let mut ask = || {
        next += 1;
        next.to_le_bytes()
    };
    let mut tickets: Vec<Ticket> = (0..300)
        .map(|_| {
            sent.push(ask());
            submit(&facility, &hash(sent.last().unwrap()))
        })
        .collect();
    let mut left = 20_000;
    let mut answered = vec![0; tickets.len()];
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().expect("it was found").unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), sent[index]);
        answered[index] += 1;
        if left > 0 {
            left -= 1;
            sent[index] = ask();
            let filled = &mut Filled::default();
            facility.submit_into(&mut tickets[index], 0, &hash(&sent[index]).arguments(filled)).unwrap();
        }
    }
    assert_eq!(answered.iter().sum::<u64>(), 20_300);
    // No slot and no queue waits while others are answered again and again.
    assert!(answered.iter().all(|answers| *answers > 1), "{answered:?}");
    assert_eq!(facility.in_flight(), 0);
}

#[test]
fn tickets_are_found_wherever_they_were_moved_to() {
    let fake = FakeHome::new(&[Coprocessor; 2], texts());
    let facility = open(&fake);
    let number = |index: usize| (index as u64).to_le_bytes();
    let numbered = |range: std::ops::Range<usize>| -> Vec<(usize, Ticket)> {
        range.map(|index| (index, submit(&facility, &hash(&number(index))))).collect()
    };
    // Two slices in turn, of which the answered ones are taken out, so that the last one takes their place.
    let split =
        |numbered: Vec<(usize, Ticket)>| -> (Vec<usize>, Vec<Ticket>) { numbered.into_iter().unzip() };
    let mut slices = [split(numbered(0..100)), split(numbered(100..250))];
    let mut seen = BTreeSet::new();
    let mut turn = 0;
    while slices.iter().any(|(_, tickets)| !tickets.is_empty()) {
        turn += 1;
        let (numbers, tickets) = &mut slices[turn % 2];
        let Some(index) = Ticket::wait_any(tickets) else { continue };
        let reply = tickets[index].try_wait().expect("it was found").unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), number(numbers[index]));
        assert!(seen.insert(numbers[index]), "found twice: {}", numbers[index]);
        numbers.swap_remove(index);
        drop(tickets.swap_remove(index));
    }
    assert_eq!(seen.len(), 250);
    // Those of another thread, and some that are collected already.
    let mut tickets = std::thread::scope(|scope| {
        let work = || (0..100).map(|index| submit(&facility, &hash(&number(index)))).collect::<Vec<_>>();
        scope.spawn(work).join().unwrap()
    });
    tickets.extend((100..150).map(|index| submit(&facility, &hash(&number(index)))));
    let mut seen = BTreeSet::new();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().expect("it was found").unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), number(index));
        assert!(seen.insert(index));
    }
    assert_eq!((seen.len(), facility.in_flight()), (150, 0));
}

#[test]
fn answers_of_one_card_are_found_while_another_keeps_its_requests() {
    let fake = FakeHome::new(
        &[Coprocessor; 2],
        Arc::new(|card, _, arguments| if card == 0 { Act::Keep } else { hashed(arguments) }),
    );
    let facility = open(&fake);
    let on = |card, index: u64| {
        let facility = facility.with_selection(Selection::card(card));
        submit(&facility, &hash(&index.to_le_bytes()))
    };
    let mut tickets: Vec<Ticket> = (0..40).map(|index| on((index % 2) as u32, index)).collect();
    for _ in 0..20 {
        let index = Ticket::wait_any(&mut tickets).unwrap();
        assert_eq!(index % 2, 1);
        assert_eq!(tickets[index].try_wait().unwrap().unwrap().codes(), code::OK);
    }
    assert!((0..40).step_by(2).all(|index| !tickets[index].is_done()));
}
