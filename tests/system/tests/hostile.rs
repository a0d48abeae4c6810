//! A card that lies: no lie becomes an answer or a panic, every request ends, and the other card serves on.

use facility::{Facility, FacilityError, Options, Ran, Selection, Ticket};
use std::time::{Duration, Instant};
use system_tests::hostile::{Lie, lying};
use system_tests::{Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, submit};
use wire::control::CardState;
use wire::verb::Verb;

/// Requests to the card that lies.
const ASKED: u64 = 12;
/// How long what does not come is waited for.
const SHORT: Duration = Duration::from_millis(100);

/// An installation with one card that lies and one that does not, and a facility with either alone.
fn installation(lie: Lie) -> (Installation, Facility, Facility) {
    let installation = lying(lie, 2);
    // An answer that came late would be none of the errors that are expected: only silence is not waited for.
    let answer_wait = if matches!(lie, Lie::Silence) { SHORT } else { PATIENCE };
    let of_liar = Options { answer_wait, card_wait: SHORT, ..Options::default() };
    installation.until("both cards are ready", |status| {
        status.cards.len() == 2 && status.cards.iter().all(|card| card.state == CardState::Ready)
    });
    let liar =
        Facility::open(installation.home.folder(), of_liar).unwrap().with_selection(Selection::card(0));
    let honest = installation.facility().with_selection(Selection::card(1));
    (installation, liar, honest)
}

/// What the card that lies makes of requests: each of them ends with an error that a lie can bring about.
fn errors(lie: Lie, is_expected: impl Fn(&FacilityError) -> bool) -> (Installation, Vec<u8>) {
    let (installation, liar, honest) = installation(lie);
    let key = mac_key(&honest);
    for number in 0..ASKED {
        let text = number.to_le_bytes();
        let error = liar.ask(0, &mac_request(&key, &text)).map(|reply| reply.codes()).unwrap_err();
        assert!(is_expected(&error), "{lie:?}: {error:?}");
        // That it did not run is said only where that is known.
        let is_refusal = matches!(
            error,
            FacilityError::NoCard { .. }
                | FacilityError::CardsUnsound { .. }
                | FacilityError::StaleKey { .. }
        );
        assert_eq!(error.ran() == Ran::No, is_refusal, "{lie:?}: {error}");
        assert_eq!(error.to_string().contains("it may have run"), !is_refusal, "{lie:?}: {error}");
        assert_eq!(mac_of(&honest.ask(0, &mac_request(&key, &text)).unwrap()), expected_mac(&text));
    }
    (installation, key)
}

/// One who may use both cards is served, once the one that lies is known to: no errors but these until then.
fn is_served((installation, key): (Installation, Vec<u8>), is_expected: impl Fn(&FacilityError) -> bool) {
    let both = Facility::open(installation.home.folder(), Options::default()).unwrap();
    let end = Instant::now() + PATIENCE;
    let mut served = 0;
    while served < 50 {
        assert!(Instant::now() < end, "{served} requests were served");
        match both.ask(0, &mac_request(&key, b"both")) {
            Ok(reply) => {
                assert_eq!(mac_of(&reply), expected_mac(b"both"));
                served += 1;
            }
            Err(error) => assert!(is_expected(&error), "{error:?}"),
        }
    }
}

/// A lie about a frame is seen, once, and nothing more is asked of the card.
fn is_seen(error: &FacilityError) -> bool {
    matches!(error, FacilityError::Protocol { .. } | FacilityError::CardsUnsound { .. })
}

fn seen(lie: Lie) {
    is_served(errors(lie, is_seen), is_seen);
}

#[test]
fn a_sequence_that_was_never_asked_is_seen() {
    seen(Lie::Sequence);
    seen(Lie::Header);
}

#[test]
fn lengths_and_blocks_that_cannot_be_are_seen() {
    seen(Lie::Length);
    seen(Lie::Block);
}

#[test]
fn outcomes_and_payloads_that_do_not_read_are_seen() {
    seen(Lie::Outcome);
    seen(Lie::Payload);
}

#[test]
fn a_card_that_never_serves_is_passed_over_for_one_that_does() {
    let never = |error: &FacilityError| matches!(error, FacilityError::NoCard { .. });
    is_served(errors(Lie::NotReady, never), |_| false);
    is_served(errors(Lie::Status, never), |_| false);
    errors(Lie::Reference, |error| matches!(error, FacilityError::StaleKey { .. }));
}

#[test]
fn a_card_that_does_not_answer_is_not_waited_for_longer_than_asked() {
    errors(Lie::Silence, |error| {
        matches!(error, FacilityError::TimedOut { .. } | FacilityError::NoCard { .. })
    });
}

#[test]
fn a_ticket_is_not_waited_for_longer_than_asked_either() {
    let (_installation, liar, honest) = installation(Lie::Silence);
    let key = mac_key(&honest);
    let mut tickets: Vec<Ticket> =
        (0..ASKED).map(|_| submit(&liar, &mac_request(&key, b"text")).unwrap()).collect();
    let mut failed = 0;
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let error = tickets[index].try_wait().unwrap().unwrap_err();
        assert!(matches!(error, FacilityError::TimedOut { .. }) && error.ran() == Ran::Maybe, "{error}");
        failed += 1;
    }
    assert_eq!(failed, ASKED);
}

/// A card that ends itself over each request, and one that the daemon ends for what it says.
#[test]
fn a_card_that_dies_of_each_request_is_started_ever_more_slowly_and_the_other_serves() {
    let died = |error: &FacilityError| {
        matches!(
            error,
            FacilityError::CardDied { verb: Verb::MacGenerate, ran: Ran::Maybe, .. }
                | FacilityError::NoCard { .. }
        )
    };
    for lie in [Lie::Crash, Lie::Notice] {
        let made = errors(lie, died);
        let restarts = made.0.facility().cards().unwrap()[0].restarts;
        assert!((2..ASKED as u32).contains(&restarts), "{lie:?}: {restarts} starts for {ASKED} requests");
        is_served(made, died);
    }
}
