//! Cards that are killed, suspended, or killed by their requests.

use facility::{Facility, FacilityError, Label, Options, Ran, Selection, Ticket};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::{
    Installation, PATIENCE, expected_mac, kill, mac_key, mac_of, mac_request, null, processor_time,
    rsa_generate, rsa_skeleton, settings, signal, submit,
};
use wire::code;
use wire::control::{CardState, LevelLimit, Store};
use wire::verb::{Filled, MacFormat, MacMethod, TypedAsk, Verb};

/// Requests in flight when a card goes.
const IN_FLIGHT: usize = 1000;

#[test]
fn an_installation_serves() {
    let installation = Installation::new(2, 1);
    let facility = installation.facility();
    assert_eq!(facility.ask(0, &null()).unwrap().codes(), code::OK);
    let key = mac_key(&facility);
    for text in [&b"some text"[..], b"x", &[7; 4000], &[9; 100_000]] {
        assert_eq!(mac_of(&facility.ask(0, &mac_request(&key, text)).unwrap()), expected_mac(text));
    }
}

#[test]
fn macs_are_made_and_verified_by_typed_calls() {
    let installation = Installation::new(1, 0);
    let facility = installation.facility();
    let label = Label::new("PAY.MAC").unwrap();
    facility.record_create(Store::Des, &label, &mac_key(&facility)).unwrap();
    let (method, text) = (MacMethod::X99, b"pay 10 to Bob");
    let mac = facility.mac_generate(0, &label, text, method, MacFormat::Bytes8).unwrap();
    assert_eq!(mac, expected_mac(text));
    for (format, length) in [(MacFormat::Bytes4, 4), (MacFormat::Bytes6, 6), (MacFormat::Hex9, 9)] {
        let mac = facility.mac_generate(0, &label, text, method, format).unwrap();
        assert_eq!(mac.len(), length);
        assert!(facility.mac_verify(0, &label, text, method, format, &mac).unwrap());
        assert!(!facility.mac_verify(0, &label, b"pay 99 to Eve", method, format, &mac).unwrap());
    }
    // A MAC that is wrong is an answer; a key that is not there is an error with its codes.
    let none = Label::new("NO.SUCH").unwrap();
    let refused = facility.mac_verify(0, &none, text, method, MacFormat::Bytes8, &mac).unwrap_err();
    assert!(matches!(refused, FacilityError::Verb { codes: code::LABEL_NOT_FOUND, .. }), "{refused}");
    assert_eq!(refused.codes(), code::LABEL_NOT_FOUND);
    // A key of one part in a method for two.
    let refused = facility.mac_generate(0, &label, text, MacMethod::X919, MacFormat::Bytes8);
    assert!(
        matches!(refused, Err(FacilityError::Verb { codes, .. }) if codes.return_code == 8),
        "{refused:?}"
    );
}

/// Texts that keep a card busy for some 50 us each.
fn texts() -> Vec<Vec<u8>> {
    (0..IN_FLIGHT).map(|number| [&number.to_le_bytes()[..], &[number as u8; 3000]].concat()).collect()
}

/// Submits all, does something to the cards, and expects all answers to be right.
fn all_are_answered(installation: &Installation, disturb: impl FnOnce()) {
    let facility = installation.facility();
    let key = mac_key(&facility);
    let texts = texts();
    let expected: Vec<[u8; 8]> = texts.iter().map(|text| expected_mac(text)).collect();
    let mut tickets: Vec<Ticket> =
        texts.iter().map(|text| submit(&facility, &mac_request(&key, text)).unwrap()).collect();
    assert_eq!(facility.in_flight(), IN_FLIGHT as u64);
    disturb();
    let mut answered = 0;
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        assert_eq!(mac_of(&reply), expected[index]);
        answered += 1;
    }
    assert_eq!(answered, IN_FLIGHT);
}

#[test]
fn a_card_killed_with_a_thousand_requests_loses_none() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    all_are_answered(&installation, || kill(cards[0].pid));
    let status = installation.until("the card is back", |status| {
        status.cards.iter().all(|card| card.state == CardState::Ready) && status.cards[0].pid != cards[0].pid
    });
    assert_eq!(status.cards[1].pid, cards[1].pid, "the other card went on");
    assert!(status.cards[0].generation > cards[0].generation && status.cards[0].restarts > 0);
}

#[test]
fn a_card_stopped_with_a_thousand_requests_loses_none() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    all_are_answered(&installation, || signal(cards[0].pid, Signal::STOP));
    // A stopped card is ended and replaced; its own continuing comes too late.
    installation.until("the stopped card is replaced", |status| {
        status.cards[0].state == CardState::Ready && status.cards[0].pid != cards[0].pid
    });
}

#[test]
fn a_card_stopped_and_continued_loses_none() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    all_are_answered(&installation, || {
        let pid = rustix::process::Pid::from_raw(cards[0].pid as i32).unwrap();
        signal(cards[0].pid, Signal::STOP);
        // The daemon may have ended it in between.
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    });
    installation.until_ready();
}

#[test]
fn the_only_card_is_waited_for() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    all_are_answered(&installation, || kill(cards[0].pid));
}

/// Kills the card of this index once it works on what takes it long; false where the request of
/// `is_over` was over before.
fn kill_at_work(installation: &Installation, index: usize, is_over: impl Fn() -> bool) -> bool {
    let pid = installation.facility().cards().unwrap()[index].pid;
    let before = processor_time(pid);
    let end = Instant::now() + PATIENCE;
    while processor_time(pid) < before + Duration::from_millis(60) {
        if is_over() {
            return false;
        }
        assert!(Instant::now() < end, "card {index} does not work on the request");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(pid);
    true
}

/// The request is made a killer from outside: whoever works on it is killed.
#[test]
fn a_request_that_kills_every_card_fails_alone() {
    // Without vectors a key takes a card long enough to be killed over it.
    let mut settings = settings(4, 0);
    settings.cards.level = Some(LevelLimit::Portable);
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let facility = installation.facility();
    let (key, skeleton) = (mac_key(&facility), rsa_skeleton(&facility, 4096));
    let first_two = Selection { personality: None, cards: Some(0b11) };
    let options = Options { selection: first_two, ..Options::default() };
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let others = installation.facility();
                let text = [5; 100];
                let (ask, mut filled) = (mac_request(&key, &text), Filled::default());
                let request = ask.arguments(&mut filled);
                let mut tickets: Vec<Ticket> = (0..8).map(|_| others.submit(0, &request).unwrap()).collect();
                while !stop.load(Ordering::Relaxed) {
                    let index = Ticket::wait_any(&mut tickets).unwrap();
                    assert_eq!(mac_of(&tickets[index].try_wait().unwrap().unwrap()), expected_mac(&text));
                    answered.fetch_add(1, Ordering::Relaxed);
                    others.submit_into(&mut tickets[index], 0, &request).unwrap();
                }
            });
        }
        // A key may be found before its card is seen to work; then the next one is the killer.
        let died = std::iter::repeat_with(|| {
            let killer = Facility::open(installation.home.folder(), options.clone()).unwrap();
            // By one thread, so that all queues are of its share.
            let (card_of, cards) = std::sync::mpsc::channel();
            let (in_thread, skeleton) = (killer.clone(), &skeleton);
            let waiter = scope.spawn(move || {
                for card in 0..2 {
                    let _ = in_thread.with_selection(Selection::card(card)).ask(0, &null()).unwrap();
                }
                let ticket = submit(&in_thread, &rsa_generate(skeleton)).unwrap();
                card_of.send(ticket.card().unwrap() as usize).unwrap();
                ticket.wait()
            });
            let first = cards.recv().unwrap();
            let sent_again = || {
                let end = Instant::now() + PATIENCE;
                while !waiter.is_finished() && (killer.queues(), killer.in_flight()) != (1, 1) {
                    assert!(Instant::now() < end, "the request is not sent again");
                    std::thread::yield_now();
                }
                !waiter.is_finished()
            };
            let _ = kill_at_work(&installation, first, || waiter.is_finished())
                && sent_again()
                && kill_at_work(&installation, 1 - first, || waiter.is_finished());
            let result = waiter.join().unwrap();
            installation.until_ready();
            result
        })
        .take(20)
        .find_map(Result::err);
        stop.store(true, Ordering::Relaxed);
        let died = died.expect("one of twenty keys takes long enough");
        assert!(
            matches!(died, FacilityError::CardDied { verb: Verb::PkaKeyGenerate, cards: 2, ran: Ran::Maybe }),
            "{died}"
        );
    });
    assert!(answered.load(Ordering::Relaxed) > 0, "others were served meanwhile");
    assert_eq!(facility.ask(0, &null()).unwrap().codes(), code::OK);
}

/// Numbers that pass for generated ones and are not sound: see the test of them in `cca`.
const UNSOUND_TOKEN: &[u8] = include_bytes!("../../../crates/cca/tests/known/unsound.token");
const UNSOUND_BLOCK: &[u8] = include_bytes!("../../../crates/cca/tests/known/unsound.block");

#[test]
fn a_card_whose_result_fails_its_check_is_back_whatever_it_is_asked() {
    use wire::verb::{SignatureFormat, digital_signature_generate as dsg};
    // The token is wrapped under the master key of this seed.
    let settings =
        home::Settings { development: Some(home::Development { insecure_seed: 1 }), ..settings(1, 0) };
    let mut installation = Installation::stopped(&settings);
    installation.start();
    let facility = installation.facility();
    let ask = dsg::Ask {
        format: Some(SignatureFormat::ZeroPad),
        pka_private_key_id: UNSOUND_TOKEN.into(),
        hash: UNSOUND_BLOCK,
        signature_field: 256,
        ..dsg::Ask::new()
    };
    for times in 1..=3 {
        let before = installation.until_ready()[0].pid;
        let reply = facility.ask(0, &ask).unwrap();
        assert_eq!(reply.codes(), code::SELF_CHECK);
        assert!(reply.got().signature_field.is_empty(), "withheld");
        let status = installation.until("another process is the card", |status| {
            status.cards[0].state == CardState::Ready && status.cards[0].pid != before
        });
        assert_eq!(status.cards[0].restarts, times);
        assert_eq!(facility.ask(0, &null()).unwrap().codes(), code::OK);
    }
}
