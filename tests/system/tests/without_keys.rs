//! A coprocessor that comes back without master keys, since its keeper is gone: secure requests go to the one that
//! still holds them, by threads and in an event loop, until the keeper is unsealed.

use facility::{Completions, Facility, Reply, Selection, officer};
use std::time::Duration;
use system_tests::{Installation, expected_mac, kill, mac_key, mac_of, mac_request, settings};
use wire::code;
use wire::control::{
    CardState, OfficerOrder, OfficerReply, PURPOSE_PASSPHRASE, Part, Register, purpose_of_part,
};
use wire::registers::RegisterSet;
use wire::verb::{HashMethod, Room, Segment, Verb, one_way_hash};

const TEXT: &[u8] = b"what a card signs that holds the key";
const PASSPHRASE: &[u8] = b"correct horse battery";
/// Requests of each kind.
const REQUESTS: u64 = 200;

fn sealed(facility: &Facility, purpose: &[u8], secret: &[u8]) -> wire::control::Sealed {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    officer::seal(&key, purpose, secret).unwrap()
}

fn done(facility: &Facility, order: OfficerOrder) {
    assert_eq!(facility.officer(order).unwrap(), OfficerReply::Done);
}

/// Loads and sets the master keys of DES and AES keys, and seals them.
fn load(facility: &Facility) {
    for register in [Register::Sym, Register::Aes] {
        for (part, byte) in [(Part::First, 0x37), (Part::Last, 0x80)] {
            let sealed =
                sealed(facility, &purpose_of_part(0, register, part), &vec![byte; register.key_bytes()]);
            let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
            assert!(matches!(facility.officer(order).unwrap(), OfficerReply::PartLoaded { .. }));
        }
    }
    done(facility, OfficerOrder::Set { domain: 0 });
    done(
        facility,
        OfficerOrder::SealUnder { sealed: sealed(facility, PURPOSE_PASSPHRASE, PASSPHRASE), former: None },
    );
}

fn unseal(facility: &Facility) {
    done(facility, OfficerOrder::Unseal { sealed: sealed(facility, PURPOSE_PASSPHRASE, PASSPHRASE) });
}

fn hash() -> one_way_hash::Ask<'static> {
    let segment = Some(Segment::Only);
    one_way_hash::Ask {
        segment,
        text: TEXT,
        hash: Room::of(32),
        ..one_way_hash::Ask::new(HashMethod::Sha256)
    }
}

fn sign(facility: &Facility, key: &[u8]) {
    let reply = facility.ask(0, &mac_request(key, TEXT)).unwrap();
    assert_eq!((reply.codes(), mac_of(&reply)), (code::OK, expected_mac(TEXT)));
}

/// One after the other, and from eight threads at once.
fn sign_all(facility: &Facility, key: &[u8]) {
    (0..REQUESTS).for_each(|_| sign(facility, key));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..REQUESTS).for_each(|_| sign(facility, key)));
        }
    });
}

fn sign_in_loop(completions: &mut Completions, key: &[u8]) {
    let (mut reply, mut answered) = (Reply::new(), 0);
    (0..REQUESTS).for_each(|number| completions.ask(number, 0, &mac_request(key, TEXT)).unwrap());
    while completions.in_flight() > 0 {
        while let Some((_, answer)) = completions.collect(&mut reply) {
            answer.unwrap();
            assert_eq!((reply.codes(), mac_of(&reply)), (code::OK, expected_mac(TEXT)));
            answered += 1;
        }
        completions.wait(Some(Duration::from_millis(20)));
    }
    assert_eq!(answered, REQUESTS);
}

#[test]
fn a_card_that_comes_back_without_keys_gets_no_requests_that_need_them() {
    let mut secure = settings(2, 0);
    secure.development = None;
    secure.seal_memory_mib = 64;
    let mut installation = Installation::stopped(&secure);
    installation.start();
    let officer = installation.facility();
    let both =
        |state| move |status: &wire::control::Status| status.cards.iter().all(|card| card.state == state);
    // Before any key is there both serve, and say that they hold none.
    installation.until("both cards are sealed", both(CardState::Sealed));
    assert_eq!(officer.ask(0, &hash()).unwrap().codes(), code::OK);
    load(&officer);
    let before = installation.until("both cards are ready", both(CardState::Ready));
    let key = mac_key(&officer);
    // These have queues to both cards, and one of an event loop, before anything happens.
    let (facility, mut early) = (installation.facility(), installation.facility().completions().unwrap());
    sign_all(&facility, &key);
    sign_in_loop(&mut early, &key);

    kill(before.keeper_pid.unwrap());
    installation.until("there is another keeper", |status| {
        status.keeper_pid.is_some_and(|pid| Some(pid) != before.keeper_pid) && status.registers.is_empty()
    });
    kill(before.cards[0].pid);
    // Whether it is seen dead, coming up or sealed: what the other one can do does not fail.
    sign_all(&facility, &key);
    sign_in_loop(&mut early, &key);
    let between = installation.until("the card is back, without keys", |status| {
        status.cards[0].pid != before.cards[0].pid && status.cards[0].state == CardState::Sealed
    });
    assert_eq!((between.cards[1].pid, between.cards[1].state), (before.cards[1].pid, CardState::Ready));
    let held = |card: usize| officer.observe(card as u32).unwrap().registers().of(0);
    assert_eq!(held(0), RegisterSet::NONE);
    assert_eq!(held(1), RegisterSet::of(&[Register::Sym, Register::Aes]));
    sign_all(&facility, &key);
    sign_in_loop(&mut early, &key);
    // Who comes now is shown a card that serves and holds nothing, and leaves it to what needs nothing.
    let late = installation.facility();
    sign_all(&late, &key);
    sign_in_loop(&mut late.completions().unwrap(), &key);
    let on_first = late.with_selection(Selection::card(0));
    assert_eq!(on_first.ask(0, &hash()).unwrap().codes(), code::OK);
    let refused = on_first.ask(0, &mac_request(&key, TEXT)).unwrap();
    assert_eq!(refused.codes(), code::MASTER_KEY_NOT_LOADED);
    sign_all(&late, &key);
    let snapshot = officer.observe(0).unwrap().snapshot();
    let secure: u64 = snapshot
        .verbs
        .iter()
        .filter(|(slot, _)| *slot == Verb::MacGenerate.slot())
        .map(|(_, records)| records.counts.requests)
        .sum();
    assert_eq!(
        secure, 1,
        "the card without keys was asked for what it was chosen for by name, and nothing else"
    );

    std::thread::scope(|scope| {
        // While keys come back, and the card that held them is replaced, nothing fails either.
        let signing = scope.spawn(|| sign_all(&facility, &key));
        unseal(&officer);
        signing.join().unwrap();
    });
    installation.until("both cards are ready again, and the second is a new one", |status| {
        status.cards.iter().all(|card| card.state == CardState::Ready)
            && status.cards[1].pid != before.cards[1].pid
    });
    sign_all(&late, &key);
    for card in 0..2 {
        sign(&late.with_selection(Selection::card(card)), &key);
    }
    sign_in_loop(&mut early, &key);
}
