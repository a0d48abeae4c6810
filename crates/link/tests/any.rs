//! Waiting for several requests at once, and what a card shows of what it took.

use crate::common::Home;
use link::sleep_until_any;
use stand_in::ANSWERED;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_first_answer_of_several_queues_wakes() {
    let home = Home::new();
    let queues: Vec<_> = (1..=3).map(|number| home.queue(8, number)).collect();
    let (clients, mut cards): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
    let mut payload = Vec::new();
    for round in 0..30 {
        let requests: Vec<_> =
            clients.iter().map(|client| client.submit(client.claim().unwrap(), 1, &[]).unwrap()).collect();
        let answered = round % cards.len();
        std::thread::scope(|scope| {
            let (card, slot) = (&mut cards[answered], requests[answered].slot());
            scope.spawn(move || {
                card.take(slot, &mut Vec::new()).unwrap();
                card.reply(slot, &ANSWERED, &[]).unwrap();
            });
            let end = Instant::now() + PATIENCE;
            while clients[answered].try_reply(&requests[answered], &mut payload).unwrap().is_none() {
                assert!(Instant::now() < end, "no answer came");
                sleep_until_any(requests.iter(), Some(end)).unwrap();
            }
        });
        for (at, request) in requests.iter().enumerate().filter(|(at, _)| *at != answered) {
            cards[at].take(request.slot(), &mut payload).unwrap();
            cards[at].reply(request.slot(), &ANSWERED, &[]).unwrap();
            clients[at].try_reply(request, &mut payload).unwrap().unwrap();
        }
    }
}

#[test]
fn what_is_answered_already_does_not_sleep_and_a_passed_deadline_neither() {
    let home = Home::new();
    let (client, mut card) = home.queue(8, 1);
    let request = client.submit(client.claim().unwrap(), 1, &[]).unwrap();
    sleep_until_any([&request].into_iter(), Some(Instant::now())).unwrap();
    card.take(request.slot(), &mut Vec::new()).unwrap();
    card.reply(request.slot(), &ANSWERED, &[]).unwrap();
    // With a deadline this far, sleeping would be noticed.
    sleep_until_any([&request].into_iter(), Some(Instant::now() + PATIENCE)).unwrap();
    client.try_reply(&request, &mut Vec::new()).unwrap().unwrap();
    sleep_until_any([&request].into_iter(), Some(Instant::now() + PATIENCE)).unwrap();
    sleep_until_any([].into_iter(), None).unwrap();
}

#[test]
fn what_was_taken_is_told_from_what_was_not() {
    let home = Home::new();
    let (client, mut card) = home.queue(8, 1);
    let mut payload = Vec::new();
    for _ in 0..3 {
        let requests: Vec<_> =
            (0..4).map(|_| client.submit(client.claim().unwrap(), 1, &[]).unwrap()).collect();
        assert!(requests.iter().all(|request| !client.was_taken(request)));
        assert_eq!(client.waiting(), 4);
        for request in &requests[..2] {
            card.take(request.slot(), &mut payload).unwrap();
        }
        let taken: Vec<_> = requests.iter().map(|request| client.was_taken(request)).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(client.waiting(), 2);
        for request in &requests[2..] {
            card.take(request.slot(), &mut payload).unwrap();
        }
        assert_eq!(client.waiting(), 0);
        for request in &requests {
            card.reply(request.slot(), &ANSWERED, &[]).unwrap();
            assert!(client.was_taken(request));
            client.try_reply(request, &mut payload).unwrap().unwrap();
        }
    }
}
