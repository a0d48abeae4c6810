//! The way of a request, against a daemon and cards that do what a test tells them.

use crate::fake::{Act, FakeHome, Script, answer, echo, generate, hash, hashed, makes_keys, text};
use Personality::{Accelerator, Coprocessor};
use engine::{Engine, Options as EngineOptions};
use facility::{Facility, FacilityError, Options, Ran, Reply, Selection, Ticket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use token::pka::{Attributes, ClearKey, Form, clear_token};
use wire::control::{CardState, Personality, Refusal, Store};
use wire::frame::{Argument, Outcome};
use wire::registers::RegisterSet;
use wire::verb::{
    Filled, Room, TypedAsk, Verb, clear_rsa_private as rsa, clear_rsa_public, des_key_record_read,
    mac_generate, null, one_way_hash, pka_key_generate,
};
use wire::{KeyReference, Label, code};

/// Longer than any of what is waited for takes.
const PATIENCE: Duration = Duration::from_secs(60);
const NULL: null::Ask<'static> = null::Ask::new();

fn open(fake: &FakeHome) -> Facility {
    let options = Options { card_wait: PATIENCE, ..Options::default() };
    Facility::open(fake.home.folder(), options).unwrap()
}

fn impatient(fake: &FakeHome) -> Facility {
    let options = Options { card_wait: Duration::from_millis(50), ..Options::default() };
    Facility::open(fake.home.folder(), options).unwrap()
}

fn submit(facility: &Facility, ask: &impl TypedAsk) -> Result<Ticket, FacilityError> {
    facility.submit(0, &ask.arguments(&mut Filled::default()))
}

fn call_on(facility: &Facility, selection: Selection, ask: &impl TypedAsk) -> Result<(), FacilityError> {
    facility.call_on(selection, 0, &ask.arguments(&mut Filled::default()), &mut Reply::new())
}

#[test]
fn a_call_is_answered_and_a_reply_is_used_again() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let facility = open(&fake);
    let mut reply = Reply::new();
    for length in [0, 1, 100, 4000, 100_000, 3] {
        let content = vec![length as u8; length];
        facility.call_into(0, &hash(&content).arguments(&mut Filled::default()), &mut reply).unwrap();
        assert_eq!(reply.codes(), code::OK);
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), content);
    }
    // One queue for what fits its slots, and one with bulk blocks since there was something longer.
    assert_eq!((facility.queues(), facility.in_flight()), (2, 0));
    assert_eq!(reply.timing().unwrap().card, 0);
}

#[test]
fn what_is_too_long_or_of_another_kind_is_the_callers_fault() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let long = vec![0; wire::bounds::BULK_BYTES_MAX];
    assert!(matches!(facility.ask(0, &hash(&long)), Err(FacilityError::TooLong { .. })));
    let (ask, mut filled) = (hash(b""), Filled::default());
    let mut wrong = ask.arguments(&mut filled);
    let error = facility.call(0, wrong.set_integer(one_way_hash::TEXT, 1)).unwrap_err();
    assert!(matches!(error, FacilityError::Arguments { .. }));
    assert!(error.to_string().contains("text"), "{error}");
    assert!(matches!(
        facility.ask(1, &NULL),
        Err(FacilityError::Refused { refusal: Refusal::Invalid(_), .. })
    ));
}

#[test]
fn many_requests_are_in_flight_and_any_is_awaited() {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let facility = open(&fake);
    let contents: Vec<[u8; 4]> = (0..400u32).map(u32::to_le_bytes).collect();
    let mut tickets: Vec<Ticket> =
        contents.iter().map(|content| submit(&facility, &hash(content)).unwrap()).collect();
    let mut left = tickets.len();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), contents[index]);
        assert!(tickets[index].try_wait().is_none());
        left -= 1;
    }
    assert_eq!(left, 0);
    assert!(fake.served(0) > 0 && fake.served(1) > 0, "both cards worked");
    assert_eq!(facility.in_flight(), 0);
}

#[test]
fn slots_are_bounded_and_come_back() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, _| Act::Keep));
    let facility = open(&fake);
    let mut tickets = Vec::new();
    let error = loop {
        match submit(&facility, &NULL) {
            Ok(ticket) => tickets.push(ticket),
            Err(error) => break error,
        }
    };
    assert_eq!(tickets.len(), facility::QUEUES_PER_CARD_AND_DOMAIN_MAX * 64);
    assert!(matches!(error, FacilityError::Full { in_flight: 1024 }));
    // Only the card's death brings them back.
    fake.respawn(0);
    drop(tickets);
    let ticket = submit(&facility, &NULL).unwrap();
    assert_eq!(facility.in_flight(), 1);
    drop(ticket);
}

/// A clear key of 1024 bits in ME form: its token, an input, and the result.
fn clear_key() -> (Vec<u8>, [u8; 128], Vec<u8>) {
    let engine = Engine::new(EngineOptions { limit: None, weak_algorithms: false }).unwrap();
    let key = engine.rsa_generate(1024, &[1, 0, 1]).unwrap();
    let (n, e, d) = (key.n(), key.e(), key.d());
    let clear = ClearKey::Me { n: &n, e: &e, d: &d };
    let token =
        clear_token(Form::Me1024, &clear, &Attributes::default(), &(engine::sha1, engine::sha256)).unwrap();
    let (input, mut result) = ([7; 128], vec![0; 128]);
    engine.rsa_private(&key, &input, &mut result).unwrap();
    (token.to_vec(), input, result)
}

fn private<'a>(token: &'a [u8], data: &'a [u8], room: usize) -> rsa::Ask<'a> {
    rsa::Ask { key: token, data, result: room, ..rsa::Ask::new() }
}

#[test]
fn a_lonely_request_with_a_clear_key_runs_in_the_caller() {
    let fake = FakeHome::new(&[Accelerator], echo());
    let facility = open(&fake);
    let (token, input, result) = clear_key();
    // Twice: with a key that is prepared, and with one that is found.
    for _ in 0..2 {
        let reply = facility.ask(0, &private(&token, &input, 200)).unwrap().into_reply();
        assert_eq!(reply.arguments().bytes(rsa::RESULT), result);
        assert_eq!(reply.arguments().integer(rsa::RESULT_LENGTH), 128);
        assert!(reply.timing().is_none());
    }
    // Right-justified, as on a card.
    let short = facility.ask(0, &private(&token, &[1], 128)).unwrap();
    assert_eq!(short.got().result, [&[0; 127][..], &[1]].concat());
    let ticket = submit(&facility, &private(&token, &input, 128)).unwrap();
    assert_eq!(ticket.wait().unwrap().arguments().bytes(rsa::RESULT), result);
    assert_eq!((fake.served(0), facility.queues()), (0, 0));
}

#[test]
fn what_does_not_read_in_the_caller_goes_to_a_card_and_so_does_what_is_meant_for_one() {
    let fake = FakeHome::new(&[Accelerator], echo());
    let facility = open(&fake);
    let (token, input, _) = clear_key();
    let mut broken = token.clone();
    broken[100] ^= 1;
    let above = [0xFF; 128];
    let odd = [
        private(&broken, &input, 128),
        private(&token[..60], &input, 128),
        private(&[], &input, 128),
        private(&token, &above, 128),
        private(&token, &[0; 129], 128),
        private(&token, &input, 127),
    ];
    for (number, ask) in odd.iter().enumerate() {
        let _ = facility.ask(0, ask).unwrap();
        assert_eq!(fake.served(0), number as u64 + 1);
    }
    let served = fake.served(0);
    let _ = facility.with_selection(Selection::card(0)).ask(0, &private(&token, &input, 128)).unwrap();
    call_on(&facility, Selection::card(0), &private(&token, &input, 128)).unwrap();
    let options = Options { in_caller: false, ..Options::default() };
    let strict = Facility::open(fake.home.folder(), options).unwrap();
    let _ = strict.ask(0, &private(&token, &input, 128)).unwrap();
    assert_eq!(fake.served(0), served + 3);
}

#[test]
fn of_many_submitted_requests_the_caller_runs_a_share_and_every_one_is_answered() {
    let fake = FakeHome::new(&[Accelerator], echo());
    let facility = open(&fake);
    let (token, input, result) = clear_key();
    let mut tickets: Vec<Ticket> =
        (0..40).map(|_| submit(&facility, &private(&token, &input, 128)).unwrap()).collect();
    // A ticket that is dropped leaves nothing behind, one looked at often enough is run.
    drop(submit(&facility, &private(&token, &input, 128)).unwrap());
    let (mut here, mut left) = (0, tickets.len());
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        // The card of the test answers with nothing.
        if reply.timing().is_none() {
            assert_eq!(reply.arguments().bytes(rsa::RESULT), result);
            here += 1;
        }
        left -= 1;
    }
    assert_eq!(left, 0);
    assert!((1..40).contains(&here), "{here} in the caller");
    let mut one = submit(&facility, &private(&token, &input, 128)).unwrap();
    let looks = (0..100).take_while(|_| one.try_wait().is_none()).count();
    assert!(looks < 100);
}

#[test]
fn a_held_request_may_be_waited_for_by_another_thread() {
    let fake = FakeHome::new(&[Accelerator], echo());
    let facility = open(&fake);
    let (token, input, result) = clear_key();
    let ticket = submit(&facility, &private(&token, &input, 128)).unwrap();
    let other = std::thread::spawn(move || ticket.wait().unwrap());
    assert_eq!(other.join().unwrap().arguments().bytes(rsa::RESULT), result);
}

#[test]
fn a_lonely_caller_stays_with_one_card() {
    let fake = FakeHome::new(&[Coprocessor; 3], echo());
    let facility = open(&fake);
    for _ in 0..50 {
        let _ = facility.ask(0, &NULL).unwrap();
    }
    assert_eq!((facility.queues(), fake.served(0)), (1, 50));
}

#[test]
fn clear_rsa_attaches_accelerators_first_and_a_selection_binds() {
    let fake = FakeHome::new(&[Coprocessor, Accelerator], echo());
    let facility = open(&fake);
    let rsa = clear_rsa_public::Ask::new();
    let _ = facility.ask(0, &rsa).unwrap();
    assert_eq!((fake.served(0), fake.served(1)), (0, 1));
    let _ = facility.with_selection(Selection::card(0)).ask(0, &rsa).unwrap();
    let _ = facility.with_selection(Selection::personality(Coprocessor)).ask(0, &rsa).unwrap();
    assert_eq!((fake.served(0), fake.served(1)), (2, 1));
    // That of a call binds it in the place of the facility's.
    let on_second = facility.with_selection(Selection::card(1));
    call_on(&on_second, Selection::card(0), &rsa).unwrap();
    call_on(&facility, Selection::personality(Coprocessor), &rsa).unwrap();
    assert_eq!((fake.served(0), fake.served(1)), (4, 1));
    for error in [
        on_second.ask(0, &hash(b"x")).map(drop).unwrap_err(),
        call_on(&facility, Selection::card(1), &hash(b"x")).unwrap_err(),
    ] {
        assert!(matches!(error, FacilityError::NotServed { verb: Verb::OneWayHash }), "{error}");
    }
    // Without accelerators the coprocessors serve it.
    fake.kill(1);
    let _ = facility.ask(0, &rsa).unwrap();
    assert_eq!(fake.served(0), 5);
}

#[test]
fn a_card_that_is_not_ready_is_passed_over() {
    let script: Script =
        Arc::new(
            |card, _, _| {
                if card == 0 { Act::Refuse(Outcome::NotReady) } else { Act::Answer(code::OK, Vec::new()) }
            },
        );
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], script);
    let facility = open(&fake);
    assert_eq!(facility.ask(0, &NULL).unwrap().into_reply().timing().unwrap().card, 1);
    fake.set_state(1, CardState::Quiescing);
    fake.set_state(0, CardState::Quiescing);
    let error = impatient(&fake).ask(0, &NULL).unwrap_err();
    assert!(matches!(error, FacilityError::NoCard { .. }), "{error}");
    assert_eq!(error.codes(), code::NO_CARD);
}

#[test]
fn blocks_for_long_texts_are_asked_for_when_there_is_one_and_once() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, arguments| hashed(arguments)));
    let facility = open(&fake);
    let long = vec![7; 100_000];
    let (short, attached) = (&hash(b"short"), || fake.asked("Attach"));
    assert_eq!((facility.ask(0, short).unwrap().codes(), attached()), (code::OK, 1));
    for _ in 0..3 {
        assert_eq!(facility.ask(0, &hash(&long)).unwrap().got().hash, long);
        assert_eq!((facility.ask(0, short).unwrap().codes(), attached()), (code::OK, 2));
    }
    // Who begins with a long one needs no other queue.
    let other = open(&fake);
    let _ = other.ask(0, &hash(&long)).unwrap();
    assert_eq!((other.ask(0, short).unwrap().codes(), attached()), (code::OK, 3));
}

#[test]
fn requests_of_a_dead_card_go_to_another() {
    let fake = FakeHome::new(
        &[Coprocessor, Coprocessor],
        Arc::new(|card, _, arguments| if card == 0 { Act::Keep } else { hashed(arguments) }),
    );
    let facility = open(&fake);
    fake.set_state(1, CardState::Quiescing);
    let contents: Vec<[u8; 4]> = (0..200u32).map(u32::to_le_bytes).collect();
    let mut tickets: Vec<Ticket> =
        contents.iter().map(|content| submit(&facility, &hash(content)).unwrap()).collect();
    let caller = {
        let facility = facility.clone();
        std::thread::spawn(move || facility.ask(0, &hash(b"from a thread")).map(|reply| reply.codes()))
    };
    while fake.served(0) < 201 {
        std::thread::yield_now();
    }
    fake.set_state(1, CardState::Ready);
    fake.kill(0);
    let mut left = tickets.len();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), contents[index]);
        left -= 1;
    }
    assert_eq!(left, 0);
    assert_eq!(caller.join().unwrap().unwrap(), code::OK);
}

#[test]
fn a_request_that_kills_every_card_fails_alone() {
    let script: Script =
        Arc::new(|_, _, arguments| if text(arguments) == b"poison" { Act::Die } else { hashed(arguments) });
    let fake = FakeHome::new(&[Coprocessor; 4], script);
    let facility = open(&fake);
    let contents: Vec<[u8; 4]> = (0..100u32).map(u32::to_le_bytes).collect();
    let mut tickets: Vec<Ticket> =
        contents[..50].iter().map(|content| submit(&facility, &hash(content)).unwrap()).collect();
    let poison = submit(&facility, &hash(b"poison")).unwrap();
    tickets.extend(contents[50..].iter().map(|content| submit(&facility, &hash(content)).unwrap()));
    let error = poison.wait().unwrap_err();
    assert!(
        matches!(error, FacilityError::CardDied { verb: Verb::OneWayHash, cards: 2, ran: Ran::Maybe }),
        "{error}"
    );
    for (ticket, content) in tickets.into_iter().zip(&contents) {
        let reply = ticket.wait().unwrap();
        assert_eq!(reply.arguments().bytes(one_way_hash::HASH), content);
    }
    assert_eq!(facility.ask(0, &hash(b"after")).unwrap().codes(), code::OK);
}

#[test]
fn what_a_dead_card_took_may_have_run_where_no_other_card_takes_it() {
    let fake = FakeHome::new(&[Coprocessor], Arc::new(|_, _, _| Act::Die));
    let error = impatient(&fake).ask(0, &hash(b"text")).unwrap_err();
    assert!(matches!(error, FacilityError::CardDied { cards: 1, ran: Ran::Maybe, .. }), "{error}");
    // One that nobody takes has not run.
    let error = impatient(&fake).ask(0, &hash(b"text")).unwrap_err();
    assert_eq!(error.ran(), Ran::No, "{error}");
}

#[test]
fn what_dead_cards_had_not_taken_is_sent_again_freely() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let _ = facility.ask(0, &NULL).unwrap();
    let paused = Arc::clone(&fake.world.lock().unwrap().paused);
    paused.store(true, Ordering::SeqCst);
    let tickets: Vec<Ticket> = (0..20).map(|_| submit(&facility, &NULL).unwrap()).collect();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = tickets.into_iter().map(|ticket| scope.spawn(|| ticket.wait())).collect();
        // More deaths than a request that was taken survives.
        for _ in 0..wire::bounds::TAKEN_MAX + 2 {
            let before = fake.asked("Attach");
            fake.respawn(0);
            let end = std::time::Instant::now() + PATIENCE;
            while fake.asked("Attach") == before || facility.in_flight() < 20 {
                assert!(std::time::Instant::now() < end, "not sent again");
                std::thread::yield_now();
            }
        }
        paused.store(false, Ordering::SeqCst);
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap().unwrap().codes(), code::OK);
        }
    });
    assert_eq!(facility.in_flight(), 0);
}

#[test]
fn a_respawned_card_is_waited_for() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let _ = facility.ask(0, &NULL).unwrap();
    fake.kill(0);
    let asked = fake.asked("Cards");
    let caller = {
        let facility = facility.clone();
        std::thread::spawn(move || facility.ask(0, &NULL).map(|reply| reply.codes()))
    };
    while fake.asked("Cards") < asked + 2 {
        std::thread::yield_now();
    }
    fake.respawn(0);
    assert_eq!(caller.join().unwrap().unwrap(), code::OK);
    fake.kill(0);
    assert!(matches!(impatient(&fake).ask(0, &NULL), Err(FacilityError::NoCard { .. })));
}

#[test]
fn where_every_card_answers_nonsense_nothing_is_waited_for_but_another_process_is_asked() {
    let lies = Arc::new(AtomicBool::new(true));
    let script: Script = {
        let lies = Arc::clone(&lies);
        Arc::new(move |_, _, arguments| match lies.load(Ordering::SeqCst) {
            true => Act::Answer(code::OK, vec![0xFF; 3]),
            false => hashed(arguments),
        })
    };
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], script);
    let facility = open(&fake);
    let error = loop {
        match facility.ask(0, &hash(b"text")).unwrap_err() {
            FacilityError::Protocol { .. } => {}
            error => break error,
        }
    };
    assert!(matches!(error, FacilityError::CardsUnsound { verb: Verb::OneWayHash }), "{error}");
    assert_eq!((error.ran(), fake.served(0), fake.served(1)), (Ran::No, 1, 1));
    // An honest answer would come now, of a process that is asked nothing more.
    lies.store(false, Ordering::SeqCst);
    fake.set_state(1, CardState::Quiescing);
    let error = facility.ask(0, &hash(b"text")).unwrap_err();
    assert!(matches!(error, FacilityError::CardsUnsound { .. }), "it is the same process: {error}");
    fake.respawn(1);
    assert_eq!(facility.ask(0, &hash(b"text")).unwrap().codes(), code::OK);
    assert_eq!((fake.served(0), fake.served(1)), (1, 1));
}

#[test]
fn a_label_is_opened_once_and_again_when_it_went_stale() {
    let stale = Arc::new(AtomicU64::new(0));
    let current = Arc::new(AtomicU64::new(1));
    let script: Script = {
        let (stale, current) = (Arc::clone(&stale), Arc::clone(&current));
        Arc::new(move |_, _, arguments| {
            let Argument::Reference(reference) = arguments.at(mac_generate::KEY_IDENTIFIER) else {
                panic!("the label did not become a reference")
            };
            assert_eq!(arguments.bytes(mac_generate::TEXT), b"text");
            if reference.generation != current.load(Ordering::SeqCst) {
                stale.fetch_add(1, Ordering::SeqCst);
                return Act::Refuse(Outcome::KeyReference);
            }
            let (key_identifier, mac) = (Some(&[1; 64][..]), Some(&[5; 8][..]));
            answer(arguments, &mac_generate::Answer { key_identifier, mac, ..Default::default() })
        })
    };
    let fake = FakeHome::new(&[Coprocessor], script);
    let facility = open(&fake);
    let label = Label::new("DEV.MAC").unwrap();
    let ask =
        mac_generate::Ask { key_identifier: (&label).into(), text: b"text", ..mac_generate::Ask::new() };
    assert_eq!(facility.ask(0, &ask).unwrap().codes(), code::LABEL_NOT_FOUND);
    let set = |generation| {
        let reference = KeyReference { slot: 7, generation };
        fake.world.lock().unwrap().labels.insert(label.clone(), reference);
    };
    set(1);
    for _ in 0..3 {
        let reply = facility.ask(0, &ask).unwrap().into_reply();
        assert_eq!(reply.arguments().bytes(mac_generate::MAC), [5; 8]);
        assert_eq!(reply.arguments().at(mac_generate::KEY_IDENTIFIER), Argument::Absent);
    }
    assert_eq!(fake.asked("OpenLabel"), 2);
    // The record is written: another generation.
    current.store(2, Ordering::SeqCst);
    set(2);
    assert_eq!(facility.ask(0, &ask).unwrap().codes(), code::OK);
    assert_eq!((fake.asked("OpenLabel"), stale.load(Ordering::SeqCst)), (3, 1));
    // It goes stale for ever: four more openings, then an error.
    current.store(99, Ordering::SeqCst);
    assert!(matches!(facility.ask(0, &ask), Err(FacilityError::StaleKey { .. })));
    assert_eq!(stale.load(Ordering::SeqCst), 6);
    // It is deleted: the codes of a verb that does not find its key.
    fake.world.lock().unwrap().labels.clear();
    assert_eq!(facility.ask(0, &ask).unwrap().codes(), code::LABEL_NOT_FOUND);
}

#[test]
fn keys_that_are_made_go_under_their_labels() {
    use wire::verb::key_generate::GENERATED_KEY_IDENTIFIER_2;
    let fake = FakeHome::new(&[Coprocessor], makes_keys());
    let facility = open(&fake);
    let [one, two, three] = ["NEW.ONE", "NEW.TWO", "NEW.THREE"].map(|text| Label::new(text).unwrap());
    let fields = [&one, &two, &three].map(Label::to_field);
    let record = |label: &Label| fake.world.lock().unwrap().records.get(label).cloned();
    // There is no such record: nothing is asked of a card.
    assert_eq!(facility.ask(0, &generate(&fields[0], &[0; 64])).unwrap().codes(), code::LABEL_NOT_FOUND);
    assert_eq!(fake.served(0), 0);
    for label in [&one, &two] {
        fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    }
    let reply = facility.ask(0, &generate(&fields[0], &[0; 64])).unwrap();
    assert_eq!((reply.codes(), record(&one)), (code::OK, Some(vec![1; 64])));
    assert_eq!(reply.got().generated_key_identifier_1, fields[0]);
    assert_eq!(reply.got().generated_key_identifier_2, [2; 64]);
    fake.world.lock().unwrap().records.insert(one.clone(), Vec::new());
    // Two at once, as a ticket.
    let mut ticket = submit(&facility, &generate(&fields[0], &fields[1])).unwrap();
    while !ticket.is_done() {
        std::thread::yield_now();
    }
    let reply = ticket.try_wait().unwrap().unwrap();
    assert_eq!((record(&one), record(&two)), (Some(vec![1; 64]), Some(vec![2; 64])));
    assert_eq!(reply.arguments().bytes(GENERATED_KEY_IDENTIFIER_2), fields[1]);
    // One of them is not there, or is the other: neither is written.
    for label in [&one, &two] {
        fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    }
    let missing = facility.ask(0, &generate(&fields[0], &fields[2])).unwrap();
    assert_eq!((missing.codes(), record(&one)), (code::LABEL_NOT_FOUND, Some(vec![])));
    let twice = facility.ask(0, &generate(&fields[0], &fields[0])).unwrap();
    assert_eq!((twice.codes(), record(&one)), (code::INVALID_PARAMETER, Some(vec![])));
    let bad = facility.ask(0, &generate(&[b'1'; 64], &[0; 64])).unwrap();
    assert_eq!(bad.codes(), code::LABEL_FORMAT);
}

#[test]
fn a_label_makes_room_for_any_token() {
    use pka_key_generate::*;
    let fake = FakeHome::new(&[Coprocessor], makes_keys());
    let label = Label::new("NEW.RSA").unwrap();
    fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
    let field = label.to_field();
    let ask = Ask { generated_key_identifier: Room::from(&field[..]), ..Ask::new() };
    let reply = open(&fake).ask(0, &ask).unwrap().into_reply();
    assert_eq!(reply.arguments().integer(GENERATED_KEY_IDENTIFIER_LENGTH), 64);
    assert_eq!(reply.arguments().bytes(GENERATED_KEY_IDENTIFIER), field);
    assert_eq!(fake.world.lock().unwrap().records[&label], [3; 1100]);
}

#[test]
fn a_daemon_that_goes_away_over_the_write_leaves_an_error_that_says_so() {
    for writes in [true, false] {
        let fake = FakeHome::new(&[Coprocessor], makes_keys());
        let label = Label::new("NEW.KEY").unwrap();
        fake.world.lock().unwrap().records.insert(label.clone(), Vec::new());
        fake.world.lock().unwrap().goes_away = Some(writes);
        let error = open(&fake).ask(0, &generate(&label.to_field(), &[0; 64])).unwrap_err();
        assert_eq!(error.ran(), Ran::Maybe, "{error}");
        assert!(error.to_string().contains("label"), "{error}");
        assert_eq!(fake.world.lock().unwrap().records[&label].is_empty(), !writes);
    }
}

#[test]
fn a_label_that_is_none_is_refused_before_any_card_is_asked() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let bad = [b'1'; 64];
    let ask = mac_generate::Ask { key_identifier: (&bad).into(), ..mac_generate::Ask::new() };
    assert_eq!(facility.ask(0, &ask).unwrap().codes(), code::LABEL_FORMAT);
    assert_eq!(fake.served(0), 0);
}

#[test]
fn a_new_daemon_is_found_and_queues_outlive_the_old_one() {
    let mut fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let _ = facility.ask(0, &NULL).unwrap();
    fake.stop_daemon();
    for _ in 0..10 {
        let _ = facility.ask(0, &NULL).unwrap();
    }
    let impatient = {
        let error = Facility::open(fake.home.folder(), Options::default()).unwrap_err();
        assert!(matches!(error, FacilityError::NotRunning { .. }));
        error.to_string()
    };
    assert!(impatient.contains("cryptand serve --home"), "{impatient}");
    fake.start_daemon();
    assert_eq!(facility.record_read(Store::Des, &Label::new("A").unwrap()).unwrap(), [9; 64]);
    facility.reload().unwrap();
    let _ = facility.ask(0, &NULL).unwrap();
}

#[test]
fn verbs_of_the_daemon_come_back_as_replies() {
    let fake = FakeHome::new(&[Coprocessor], echo());
    let facility = open(&fake);
    let field = Label::new("A.B").unwrap().to_field();
    let ask = des_key_record_read::Ask { key_label: &field, ..des_key_record_read::Ask::new() };
    let reply = facility.ask(0, &ask).unwrap();
    assert_eq!(reply.got().key_token, [9; 64]);
    let mut ticket = submit(&facility, &ask).unwrap();
    assert!(ticket.is_done());
    assert_eq!(ticket.try_wait().unwrap().unwrap().codes(), code::OK);
    let error = facility.backup(std::path::Path::new("/x")).unwrap_err();
    assert!(matches!(error, FacilityError::Refused { .. }), "{error}");
}

#[test]
fn homes_that_are_none_are_refused_by_name() {
    let base = tempfile::tempdir().unwrap();
    let missing = Facility::open(&base.path().join("x"), Options::default()).unwrap_err();
    assert!(missing.to_string().contains("no such folder"), "{missing}");
    let fake = FakeHome::new(&[], echo());
    std::fs::write(fake.home.version_path(), "99\n").unwrap();
    let newer = Facility::open(fake.home.folder(), Options::default()).unwrap_err();
    assert!(newer.to_string().contains("newer"), "{newer}");
}

#[test]
fn cards_that_cannot_serve_are_asked_again_for_as_long_as_a_card_is_waited_for() {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], Arc::new(|_, _, _| Act::Refuse(Outcome::NotReady)));
    let begin = std::time::Instant::now();
    let error = impatient(&fake).ask(0, &NULL).unwrap_err();
    let elapsed = begin.elapsed();
    let FacilityError::NoCard { waited, .. } = error else { panic!("{error}") };
    assert!(waited >= Duration::from_millis(50) && waited <= elapsed, "said {waited:?} of {elapsed:?}");
    assert_eq!(error.ran(), Ran::No);
    // One that serves in the end does so.
    let refusals = AtomicU64::new(0);
    let script: Script = Arc::new(move |_, _, _| match refusals.fetch_add(1, Ordering::SeqCst) {
        0..30 => Act::Refuse(Outcome::NotReady),
        _ => Act::Answer(code::OK, Vec::new()),
    });
    let fake = FakeHome::new(&[Coprocessor], script);
    assert_eq!(open(&fake).ask(0, &NULL).unwrap().codes(), code::OK);
}

#[test]
fn a_queue_that_a_living_card_ends_takes_no_other_queue_with_it() {
    let taken = AtomicU64::new(0);
    let script: Script = Arc::new(move |_, _, arguments| match taken.fetch_add(1, Ordering::SeqCst) {
        0..65 => Act::Keep,
        _ => hashed(arguments),
    });
    let fake = FakeHome::new(&[Coprocessor], script);
    let facility = open(&fake);
    // Two queues of one card: the slots of the first are all in use.
    let mut kept: Vec<Ticket> = (0..65).map(|_| submit(&facility, &hash(b"kept")).unwrap()).collect();
    assert_eq!((facility.queues(), fake.asked("Attach")), (2, 2));
    while fake.served(0) < 65 {
        std::thread::yield_now();
    }
    fake.end_queue(0, 1);
    for ticket in kept.drain(..64) {
        // Taken, and not answered: once more, over the other queue.
        assert_eq!(ticket.wait().unwrap().arguments().bytes(one_way_hash::HASH), b"kept");
    }
    assert_eq!((facility.queues(), fake.asked("Attach"), facility.in_flight()), (1, 2, 1));
    assert!(!kept[0].is_done());
}

/// Cards of which those in `holders`, a bit each, make keys, and the others have no master key for it.
fn keys_on(holders: &Arc<AtomicU64>) -> Script {
    let holders = Arc::clone(holders);
    Arc::new(move |card, verb, arguments| match verb {
        Verb::KeyGenerate if holders.load(Ordering::SeqCst) >> card & 1 == 0 => {
            Act::Answer(code::MASTER_KEY_NOT_LOADED, Vec::new())
        }
        Verb::KeyGenerate => Act::Answer(code::OK, Vec::new()),
        _ => hashed(arguments),
    })
}

#[test]
fn requests_go_to_cards_that_hold_their_keys() {
    let holders = Arc::new(AtomicU64::new(1 << 1));
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], keys_on(&holders));
    fake.set_registers(0, RegisterSet::NONE);
    let facility = open(&fake);
    // A queue to the card without keys, which is as good as any for what needs none.
    let on_first = facility.with_selection(Selection::card(0));
    assert_eq!(on_first.ask(0, &hash(b"x")).unwrap().codes(), code::OK);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let reply = facility.ask(0, &generate(&[0; 64], &[0; 64])).unwrap();
                    assert_eq!(reply.codes(), code::OK);
                }
            });
        }
    });
    assert_eq!((fake.served(0), fake.served(1)), (1, 400));
    // Asked of that card alone, that is the answer, at once.
    let codes = on_first.ask(0, &generate(&[0; 64], &[0; 64])).unwrap().codes();
    assert_eq!((codes, fake.served(0)), (code::MASTER_KEY_NOT_LOADED, 2));
}

/// Which cards hold keys changes while the daemon is away: what it said before is not believed once it answers again.
#[test]
fn a_daemon_that_answers_again_is_asked_for_the_cards_that_hold_keys() {
    let holders = Arc::new(AtomicU64::new(0));
    let mut fake = FakeHome::new(&[Coprocessor, Coprocessor], keys_on(&holders));
    (0..2).for_each(|card| fake.set_registers(card, RegisterSet::NONE));
    let facility = impatient(&fake);
    let ask = || facility.ask(0, &generate(&[0; 64], &[0; 64]));
    assert_eq!(ask().unwrap().codes(), code::MASTER_KEY_NOT_LOADED);
    fake.stop_daemon();
    (0..2).for_each(|card| fake.kill(card));
    ask().unwrap_err();
    (0..2).for_each(|card| fake.respawn(card));
    fake.set_registers(0, RegisterSet::NONE);
    fake.set_registers(1, RegisterSet::ALL);
    holders.store(1 << 1, Ordering::SeqCst);
    fake.start_daemon();
    for _ in 0..3 {
        assert_eq!(ask().unwrap().codes(), code::OK);
    }
    assert_eq!(fake.served(1), 3);
}

#[test]
fn an_answer_without_a_master_key_is_asked_for_once_on_each_card_that_says_it_holds_one() {
    let holders = Arc::new(AtomicU64::new(1 << 2));
    let fake = FakeHome::new(&[Coprocessor; 4], keys_on(&holders));
    fake.set_registers(3, RegisterSet::NONE);
    let facility = open(&fake);
    for _ in 0..20 {
        let reply = facility.ask(0, &generate(&[0; 64], &[0; 64])).unwrap().into_reply();
        assert_eq!((reply.codes(), reply.timing().map(|timing| timing.card)), (code::OK, Some(2)));
    }
    holders.store(0, Ordering::SeqCst);
    let before: Vec<u64> = (0..4).map(|card| fake.served(card)).collect();
    let reply = facility.ask(0, &generate(&[0; 64], &[0; 64])).unwrap();
    assert_eq!(reply.codes(), code::MASTER_KEY_NOT_LOADED);
    let tried: Vec<u64> = (0..4).map(|card| fake.served(card) - before[card]).collect();
    assert_eq!(tried, [1, 1, 1, 0]);
    let tickets: Vec<Ticket> =
        (0..10).map(|_| submit(&facility, &generate(&[0; 64], &[0; 64])).unwrap()).collect();
    for ticket in tickets {
        assert_eq!(ticket.wait().unwrap().codes(), code::MASTER_KEY_NOT_LOADED);
    }
    holders.store(1 << 3, Ordering::SeqCst);
    fake.set_registers(3, RegisterSet::ALL);
    // The daemon is asked about its cards anew, though not for every one of many that fail.
    let end = std::time::Instant::now() + PATIENCE;
    let again = || submit(&facility, &generate(&[0; 64], &[0; 64])).unwrap().wait().unwrap().codes();
    while again() != code::OK {
        assert!(std::time::Instant::now() < end, "the card that holds its keys by now is not asked");
    }
}

#[test]
fn where_no_card_holds_a_key_that_is_the_answer_at_once() {
    let fake = FakeHome::new(&[Coprocessor, Coprocessor], keys_on(&Arc::default()));
    (0..2).for_each(|card| fake.set_registers(card, RegisterSet::NONE));
    // It waits for a card without end: what it is not to do.
    let facility = open(&fake);
    for _ in 0..20 {
        let reply = facility.ask(0, &generate(&[0; 64], &[0; 64])).unwrap();
        assert_eq!(reply.codes(), code::MASTER_KEY_NOT_LOADED);
    }
    assert_eq!(fake.served(0) + fake.served(1), 20);
    assert_eq!(facility.ask(0, &hash(b"x")).unwrap().codes(), code::OK);
}
