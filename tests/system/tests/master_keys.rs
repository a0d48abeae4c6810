//! A new master key over real cards: with one that hangs, with the daemon killed while the key is being spread, and
//! with the records that are under the old one.

use facility::{Facility, Selection, officer};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};
use system_tests::{Installation, expected_mac, mac_key, mac_of, mac_request, program, signal};
use wire::Label;
use wire::bounds::REPLACEMENTS_MAX;
use wire::control::{
    MasterKeyName, MasterKeyPattern, OfficerOrder, OfficerReply, Part, Record, Register, Store,
    purpose_of_part,
};

const TEXT: &[u8] = b"what every card signs alike";

/// Loads a part of the register that wraps DES keys; the pattern of the key where it is the last.
fn load(facility: &Facility, part: Part, byte: u8) -> Option<MasterKeyPattern> {
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
fn is_set(facility: &Facility, pattern: MasterKeyPattern) -> bool {
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
                // An order that had not left yet is the next daemon's to take: there is one before it is waited for.
                installation.start();
                let _ = set.join().unwrap();
            } else {
                // The card is ended, and waited for no longer.
                assert_eq!(set.join().unwrap().unwrap(), OfficerReply::Done);
            }
        });
        let facility = installation.facility();
        installation.until("the key is set", |_| is_set(&facility, pattern));
        if !kills_daemon {
            // The key is set where it can be before the stopped card has ended. Where the daemon died, the system lets
            // stopped processes go on.
            installation.until("another process is the stopped card", |status| {
                status.cards.len() == cards.len() && status.cards[1].pid != cards[1].pid
            });
        }
        let after = installation.until_ready();
        assert_eq!(after[0].pid, cards[0].pid);
        for (maker, user) in [(0, 1), (1, 2), (2, 0)] {
            let on = |card| facility.with_selection(Selection::card(card));
            let token = mac_key(&on(maker));
            assert_eq!(token[8..16], pattern.name(), "card {maker} wraps under the new key");
            for token in [token, before.clone()] {
                let reply = on(user).ask(0, &mac_request(&token, TEXT)).unwrap();
                assert_eq!(mac_of(&reply), expected_mac(TEXT));
            }
        }
    }
}

/// Runs `cryptand` for the home; whether it succeeded, and what it said.
fn cryptand(installation: &Installation, arguments: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new(program("cryptand"));
    let output = command.arg("--home").arg(installation.home.folder()).args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// Gives the domain a new key that wraps DES keys.
fn load_new(facility: &Facility, byte: u8) {
    load(facility, Part::First, byte);
    load(facility, Part::Last, 0x80).expect("the key is complete");
}

#[test]
fn no_change_of_master_keys_loses_a_record() {
    let installation = Installation::new(2, 0);
    installation.until_ready_with_keeper();
    let facility = installation.facility();
    let label = |number: usize| Label::new(&format!("PAY.KEY{number}")).unwrap();
    let token = mac_key(&facility);
    for number in 0..300 {
        facility.record_create(Store::Des, &label(number), &token).unwrap();
    }
    facility.record_create(Store::Des, &Label::new("EMPTY").unwrap(), &[]).unwrap();
    let under = || facility.status().unwrap().records_under;
    assert_eq!((under().elsewhere, under().keyless), (0, 1));

    load_new(&facility, 1);
    let (done, said) = cryptand(&installation, &["master-key", "set"]);
    assert!(done, "{said}");
    // What is in use is in no sealed copy: everything says so.
    let (_, said) = cryptand(&installation, &["status"]);
    assert!(said.contains("DANGER") && said.contains("300 record(s) under the old key of sym"), "{said}");
    let backup = installation.beside("backup");
    let (done, said) = cryptand(&installation, &["backup", backup.to_str().unwrap()]);
    assert!(done && said.contains("DANGER"), "{said}");

    // A second change would lose them, and is refused; nothing is set.
    load_new(&facility, 2);
    let before = facility.status().unwrap().registers;
    for arguments in [&["master-key", "set"][..], &["master-key", "set", "--lose", "299"]] {
        let (done, said) = cryptand(&installation, arguments);
        assert!(!done && said.contains("300 key record(s)"), "{said}");
    }
    assert_eq!(facility.status().unwrap().registers, before);

    // Put under the current key while requests with them go on, and while one is written by somebody else.
    let (done, said) = cryptand(&installation, &["key", "reencipher", "--dry-run"]);
    assert!(done && said.contains("300 record(s) would be put"), "{said}");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut calls = 0;
            while !stop.load(Ordering::Relaxed) {
                let name = label(calls % 300).to_field();
                let reply = installation.facility().ask(0, &mac_request(&name, TEXT)).unwrap();
                assert!(reply.codes().has_output(), "{}", reply.codes());
                assert_eq!(mac_of(&reply), expected_mac(TEXT));
                calls += 1;
            }
            calls
        });
        let (done, said) = cryptand(&installation, &["key", "reencipher"]);
        stop.store(true, Ordering::Relaxed);
        assert!(done && said.contains("300 record(s) put under"), "{said}");
        assert!(worker.join().unwrap() > 0);
    });
    let (done, said) = cryptand(&installation, &["key", "reencipher"]);
    assert!(done && said.starts_with("0 record(s)"), "{said}");
    let (done, said) = cryptand(&installation, &["master-key", "set"]);
    assert!(done, "{said}");
    // Under the key before the last there is nothing; under the old one all still are, and serve.
    let reply = facility.ask(0, &mac_request(&label(7).to_field(), TEXT)).unwrap();
    assert_eq!(mac_of(&reply), expected_mac(TEXT));
    assert_eq!(under().elsewhere, 0);

    // Told how many, it sets; they are shown as what they are, and stay as they are.
    load_new(&facility, 3);
    let (done, said) = cryptand(&installation, &["master-key", "set", "--lose", "300"]);
    assert!(done, "{said}");
    assert_eq!(under().elsewhere, 300);
    let (done, said) = cryptand(&installation, &["key", "reencipher"]);
    assert!(!done && said.contains("no register holds"), "{said}");
    assert!(said.contains("300 record(s) are not under a current master key"), "{said}");
}

#[test]
fn a_reencipherment_that_is_killed_after_any_write_leaves_each_record_under_one_key_that_is_held() {
    // Several transactions, the last of them shorter than the others.
    const WRITES: usize = 5;
    const RECORDS: usize = WRITES * REPLACEMENTS_MAX - 7;
    let installation = Installation::new(1, 0);
    installation.until_ready_with_keeper();
    let facility = installation.facility();
    let label = |number: usize| Label::new(&format!("PAY.KEY{number}")).unwrap();
    let token = mac_key(&facility);
    for number in 0..RECORDS {
        facility.record_create(Store::Des, &label(number), &token).unwrap();
    }
    // Killed before the first write, after each, and after the last.
    for writes in 0..=WRITES {
        load_new(&facility, 1 + writes as u8);
        let (done, said) = cryptand(&installation, &["master-key", "set"]);
        assert!(done, "{said}");
        let row = facility.status().unwrap().registers.into_iter().find(|row| row.register == Register::Sym);
        let [current, old]: [MasterKeyName; 2] = row.unwrap().keys().collect::<Vec<_>>().try_into().unwrap();
        let count = |name| facility.status().unwrap().records_under.of(name) as usize;
        assert_eq!((count(current), count(old)), (0, RECORDS));
        let mut command = std::process::Command::new(program("cryptand"));
        command.arg("--home").arg(installation.home.folder()).args(["key", "reencipher"]);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        while count(current) < (writes * REPLACEMENTS_MAX).min(RECORDS) {}
        child.kill().unwrap();
        child.wait().unwrap();

        // What the command had sent may still be written; nothing comes after that.
        let mut tokens: Vec<Record> = Vec::new();
        loop {
            let after = tokens.last().map(|record| record.label.clone());
            let page = facility.token_list("*", after.as_ref(), &[]).unwrap();
            if page.is_empty() {
                break;
            }
            tokens.extend(page);
        }
        assert_eq!(tokens.len(), RECORDS);
        for record in &tokens {
            let description = token::describe(&record.token).unwrap();
            let name = (description.register(), description.pattern());
            let is = |key: MasterKeyName| name == (Some(key.register), Some(key.pattern));
            assert!(is(current) != is(old), "{}: {name:?}", record.label);
            let reply = facility.ask(0, &mac_request(&record.label.to_field(), TEXT)).unwrap();
            assert_eq!(mac_of(&reply), expected_mac(TEXT));
        }
        let left = count(old);
        assert_eq!(count(current) + left, RECORDS);
        let (done, said) = cryptand(&installation, &["key", "reencipher"]);
        assert!(done && said.starts_with(&format!("{left} record(s) put under")), "{said}");
        assert_eq!((count(current), count(old)), (RECORDS, 0));
    }
}
