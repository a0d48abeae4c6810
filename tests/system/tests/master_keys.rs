//! A new master key over real cards: with one that gets nowhere, and with the daemon killed while it is on its way.

use facility::{Facility, Selection, officer};
use rustix::process::Signal;
use system_tests::{Installation, expected_mac, mac_key, mac_of, mac_request, signal};
use wire::control::{OfficerOrder, OfficerReply, Part, Register, purpose_of_part};

const TEXT: &[u8] = b"what every card signs alike";

/// Loads a part of the register that wraps DES keys; the pattern of the key where it is the last.
fn load(facility: &Facility, part: Part, byte: u8) -> Option<[u8; 8]> {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    let register = Register::Sym;
    let purpose = purpose_of_part(0, register, part);
    let sealed = officer::seal(&key, &purpose, &vec![byte; register.key_bytes()]).unwrap();
    let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
    match facility.officer(order).unwrap() {
        OfficerReply::PartLoaded { key_pattern, .. } => key_pattern,
        reply => panic!("{reply:?}"),
    }
}

/// Whether the current key is this one; where it is not, it is set again, as an officer would who had no answer.
fn is_set(facility: &Facility, pattern: [u8; 8]) -> bool {
    let Ok(OfficerReply::Registers(rows)) = facility.officer(OfficerOrder::Registers) else { return false };
    let current = rows.iter().find(|row| row.register == Register::Sym).unwrap().current_pattern;
    current == Some(pattern) || {
        let _ = facility.officer(OfficerOrder::Set { domain: 0 });
        false
    }
}

#[test]
fn a_new_key_reaches_every_card_though_one_is_stopped_and_the_daemon_dies() {
    let mut installation = Installation::new(3, 0);
    for (round, kills_daemon) in [(1, false), (2, true), (3, true)] {
        let cards = installation.until_ready_with_keeper().cards;
        let facility = installation.facility();
        load(&facility, Part::First, round);
        let pattern = load(&facility, Part::Last, 0x80).expect("the key is complete");
        let before = mac_key(&facility);
        signal(cards[1].pid, Signal::STOP);
        std::thread::scope(|scope| {
            let set = scope.spawn(|| facility.officer(OfficerOrder::Set { domain: 0 }));
            if kills_daemon {
                installation.kill_daemon();
                let _ = set.join().unwrap();
            } else {
                // The card is ended, and waited for no longer.
                assert_eq!(set.join().unwrap().unwrap(), OfficerReply::Done);
            }
        });
        if kills_daemon {
            installation.start();
        }
        let facility = installation.facility();
        installation.until("the key is set", |_| is_set(&facility, pattern));
        let after = installation.until_ready();
        assert_eq!(after[0].pid, cards[0].pid);
        // The system lets stopped processes go on where those who could do that have ended.
        assert!(kills_daemon || after[1].pid != cards[1].pid, "{cards:?} {after:?}");
        for (maker, user) in [(0, 1), (1, 2), (2, 0)] {
            let on = |card| facility.with_selection(Selection::card(card));
            let token = mac_key(&on(maker));
            assert_eq!(token[8..16], pattern, "card {maker} wraps under the new key");
            for token in [token, before.clone()] {
                let reply = on(user).call(0, &mac_request(&token, TEXT)).unwrap();
                assert_eq!(mac_of(&reply), expected_mac(TEXT));
            }
        }
    }
}
