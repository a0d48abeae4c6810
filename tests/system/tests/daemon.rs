//! Daemons that are killed, meet a full disk, each other, or what is not theirs.

use facility::{Facility, FacilityError, Options, Ran, Ticket};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use system_tests::load::{Stop, until_grown};
use system_tests::part::{Part, goes_on, say, told};
use system_tests::{
    Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, null, settings, signal, try_mac_key,
};
use wire::Label;
use wire::control::{CardState, Refusal, Store};
use wire::verb::{Filled, TypedAsk};

fn label(number: usize) -> Label {
    Label::new(&format!("KEY.N{number}")).unwrap()
}

#[test]
fn a_daemon_killed_and_restarted_under_load_loses_nothing() {
    let mut installation = Installation::new(2, 1);
    let cards = installation.until_ready();
    let (facility, writer) = (installation.facility(), installation.facility());
    let key = mac_key(&facility);
    facility.record_create(Store::Des, &label(0), &key).unwrap();
    let (stop, answered, written) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let field = label(0).to_field();
    let acknowledged = std::thread::scope(|scope| {
        let stop_all = Stop(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let text = answered.load(Ordering::Relaxed).to_le_bytes();
                    let reply = facility.ask(0, &mac_request(&field, &text)).unwrap();
                    assert_eq!(mac_of(&reply), expected_mac(&text));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let records = scope.spawn(|| {
            let mut acknowledged = Vec::new();
            for number in (1..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                match writer.record_create(Store::Des, &label(number), &key) {
                    Ok(()) => acknowledged.push(label(number)),
                    // It may have been written, and the answer lost.
                    Err(FacilityError::DaemonGone { ran: Ran::Maybe, .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                written.fetch_add(1, Ordering::Relaxed);
            }
            acknowledged
        });
        for _ in 0..3 {
            until_grown(&written, 5);
            installation.kill_daemon();
            // Queues run on without a daemon.
            until_grown(&answered, 500);
            installation.start();
            until_grown(&answered, 500);
        }
        drop(stop_all);
        records.join().unwrap()
    });
    assert!(!acknowledged.is_empty());
    let listed: Vec<Label> = facility.records(None, "*").unwrap().into_iter().map(|row| row.label).collect();
    for label in &acknowledged {
        assert!(listed.contains(label), "{label} was acknowledged and is lost");
    }
    let after = installation.until_ready();
    for (before, after) in cards.iter().zip(&after) {
        assert_eq!((before.pid, before.generation), (after.pid, after.generation), "cards are adopted");
    }
    // New queues and new labels come from the new daemon.
    let field = acknowledged[0].to_field();
    let reply = installation.facility().ask(0, &mac_request(&field, b"new")).unwrap();
    assert_eq!(mac_of(&reply), expected_mac(b"new"));
}

#[test]
fn a_daemon_killed_in_the_middle_of_attaches_leaves_no_queue_behind() {
    let mut installation = Installation::new(2, 0);
    installation.until_ready();
    let mut parts: Vec<Part> = (0..4)
        .map(|who: u64| {
            Part::start("daemon::part_of_attaching", installation.home.folder(), &who.to_string())
        })
        .collect();
    for _ in 0..10 {
        installation.until("clients attach", |status| status.cards.iter().any(|card| card.queues > 0));
        installation.kill_daemon();
        installation.start();
    }
    for mut part in parts.drain(..) {
        part.go_on();
        let answered: u64 = part.says("answered ").parse().unwrap();
        assert!(answered > 0);
    }
    installation.until("no queue is left behind", |status| {
        status.cards.iter().all(|card| card.queues == 0 && card.state == CardState::Ready)
    });
}

#[test]
#[ignore = "a part of another test"]
fn part_of_attaching() {
    let Some((home, who)) = told() else { return };
    let stop = std::thread::spawn(goes_on);
    let (who, mut answered): (u64, u64) = (who.parse().unwrap(), 0);
    while !stop.is_finished() || answered == 0 {
        let text: Vec<u8> = [who, answered].iter().flat_map(|part| part.to_le_bytes()).collect();
        let asked = Facility::open(&home, Options::default()).and_then(|facility| {
            let key = try_mac_key(&facility)?;
            facility.ask(0, &mac_request(&key, &text))
        });
        match asked {
            Ok(reply) => {
                assert_eq!(mac_of(&reply), expected_mac(&text));
                answered += 1;
            }
            Err(FacilityError::NotRunning { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    say(&format!("answered {answered}"));
}

#[test]
fn a_stopped_daemon_holds_up_no_request_and_goes_on() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    facility.record_create(Store::Des, &label(0), &key).unwrap();
    let field = label(0).to_field();
    let served = || mac_of(&facility.ask(0, &mac_request(&field, b"text")).unwrap());
    assert_eq!(served(), expected_mac(b"text"));
    signal(installation.daemon_pid(), Signal::STOP);
    // More than one at a time, so that the daemon would be asked for more queues.
    let begin = Instant::now();
    let (ask, mut filled) = (mac_request(&field, b"text"), Filled::default());
    let request = ask.arguments(&mut filled);
    let mut tickets: Vec<Ticket> = (0..8).map(|_| facility.submit(0, &request).unwrap()).collect();
    for _ in 0..5000 {
        let index = Ticket::wait_any(&mut tickets).unwrap();
        assert_eq!(mac_of(&tickets[index].try_wait().unwrap().unwrap()), expected_mac(b"text"));
        facility.submit_into(&mut tickets[index], 0, &request).unwrap();
    }
    assert!(begin.elapsed() < PATIENCE, "requests waited for the daemon");
    drop(tickets);
    signal(installation.daemon_pid(), Signal::CONT);
    // Answers that came late are not taken for others.
    assert_eq!(facility.status().unwrap().daemon_pid, installation.daemon_pid());
    assert_eq!(facility.record_read(Store::Des, &label(0)).unwrap(), key);
    assert_eq!(served(), expected_mac(b"text"));
    let after = installation.until_ready();
    assert!(cards.iter().zip(&after).all(|(before, after)| before.pid == after.pid));
}

#[test]
fn a_full_disk_under_the_key_store_is_said_and_survived() {
    let mut installation = Installation::stopped(&settings(1, 0));
    installation.start_without_size_signal();
    installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    facility.record_create(Store::Des, &label(0), &key).unwrap();
    // The daemon can write no file beyond this length, as if the disk were full.
    let daemon = Pid::from_raw(installation.daemon_pid() as i32);
    let limit = |bytes| {
        let limits = Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(daemon, Resource::Fsize, limits).unwrap()
    };
    let before = limit(Some(64 * 1024));
    let mut acknowledged = Vec::new();
    let full = (1..5000).find_map(|number| match facility.record_create(Store::Des, &label(number), &key) {
        Ok(()) => {
            acknowledged.push(label(number));
            None
        }
        Err(error) => Some(error),
    });
    let full = full.expect("the disk is full at some record");
    assert!(matches!(full, FacilityError::Refused { refusal: Refusal::Storage { .. }, .. }), "{full}");
    assert!(full.to_string().contains("full"), "{full}");
    // Keys are served meanwhile, from what is there.
    let field = label(0).to_field();
    let served = facility.ask(0, &mac_request(&field, b"meanwhile")).unwrap();
    assert_eq!(mac_of(&served), expected_mac(b"meanwhile"));
    limit(before.current);
    facility.record_create(Store::Des, &label(9999), &key).unwrap();
    for label in acknowledged {
        assert_eq!(facility.record_read(Store::Des, &label).unwrap(), key);
    }
}

#[test]
fn a_second_daemon_of_a_home_ends_and_says_why() {
    let mut installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let first = installation.daemon_pid();
    let said = installation.try_start().unwrap_err();
    assert!(said.contains("exit status: 3") && said.contains(&first.to_string()), "{said}");
    assert_eq!(facility.ask(0, &null()).unwrap().codes(), wire::code::OK);
    assert_eq!(installation.until_ready()[0].pid, cards[0].pid);
    assert_eq!(facility.status().unwrap().daemon_pid, first);
}

#[test]
fn clients_that_start_the_daemon_at_once_get_one() {
    let installation = Installation::stopped(&settings(1, 0));
    let options = Options { start_daemon: true, ..Options::default() };
    let not_running = Facility::open(installation.home.folder(), Options::default()).unwrap_err();
    assert!(not_running.to_string().contains("cryptand serve --home"), "{not_running}");
    let open = || {
        let facility = Facility::open(installation.home.folder(), options.clone()).unwrap();
        assert_eq!(facility.ask(0, &null()).unwrap().codes(), wire::code::OK);
        facility.status().unwrap().daemon_pid
    };
    let pids: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    let session = rustix::process::getsid(Pid::from_raw(pids[0] as i32)).unwrap();
    assert_eq!(session.as_raw_pid() as u32, pids[0], "the daemon has a session of its own");
}

#[test]
fn a_home_of_a_newer_version_is_left_alone() {
    let mut installation = Installation::stopped(&settings(1, 0));
    std::fs::write(installation.home.version_path(), "99\n").unwrap();
    let said = installation.try_start().unwrap_err();
    assert!(said.contains("99") && said.contains("newer"), "{said}");
    let error = Facility::open(installation.home.folder(), Options::default()).unwrap_err();
    assert!(matches!(error, FacilityError::Home(home::HomeError::Newer { version: 99, .. })), "{error}");
    assert!(!installation.home.key_store().exists(), "nothing was made in it");
    std::fs::write(installation.home.version_path(), "1\n").unwrap();
    installation.start();
}

#[test]
fn bad_settings_are_refused_by_name_and_change_nothing() {
    let mut installation = Installation::stopped(&settings(1, 0));
    let path = installation.home.settings_path();
    let good = std::fs::read_to_string(&path).unwrap();
    let bad = [
        ("coprocessors = 1", "coprocesors = 1", "coprocesors"),
        ("coprocessors = 1", "coprocessors = \"one\"", "coprocessors"),
        ("coprocessors = 1", "coprocessors = 65", "64"),
        ("domains = 1", "domains = 17", "domains"),
        ("weak_algorithms = true", "weak_algorithms = ", "weak_algorithms"),
        ("users = []", "users = [\"no-such-user-here\"]", "no-such-user-here"),
    ];
    for (from, to, named) in bad {
        assert!(good.contains(from), "{from}");
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let said = installation.try_start().unwrap_err();
        assert!(said.contains(named), "{to}: {said}");
    }
    std::fs::write(&path, &good).unwrap();
    installation.start();
    let cards = installation.until_ready();
    let facility = installation.facility();
    for (from, to, named) in bad {
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let error = facility.reload().unwrap_err();
        assert!(error.to_string().contains(named), "{to}: {error}");
        assert!(matches!(error, FacilityError::Refused { .. }), "{to}: {error}");
        assert_eq!(facility.ask(0, &null()).unwrap().codes(), wire::code::OK);
    }
    std::fs::write(&path, good.replace("coprocessors = 1", "coprocessors = 2")).unwrap();
    facility.reload().unwrap();
    let after = installation.until("two cards are ready", |status| {
        status.cards.len() == 2 && status.cards.iter().all(|card| card.state == CardState::Ready)
    });
    assert_eq!(after.cards[0].pid, cards[0].pid, "the card that was there is the same");
}
