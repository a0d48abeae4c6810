//! Starting, stopping, dying and coming back: daemon, cards and keeper.

use crate::common::{self, Place, call, ready, signal};
use daemon::supervise::process::Identity;
use link::LinkError;
use wire::control::{CardState, ClientReply, ClientRequest, Personality, Refusal};
use wire::tenant::{CardChange, Change};

#[test]
fn a_home_is_served_and_stops_cleanly() {
    let place = Place::with(|settings| (settings.cards.coprocessors, settings.cards.accelerators) = (2, 1));
    let daemon = place.start();
    let client = place.client();
    let rows = client.cards();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(ready(&rows) && rows.iter().all(|row| row.generation == 1 && row.restarts == 0));
    assert_eq!(rows[2].personality, Personality::Accelerator);
    let status = client.status();
    assert!(status.insecure_dev && status.keeper_pid.is_some() && status.daemon_resident_bytes > 0);
    assert_eq!((status.registers.len(), status.connections, status.records), (1, 1, 0));

    let other = place.client();
    let (_, queue) = other.attach(1);
    assert_eq!(call(&queue).unwrap(), rows[1].pid);
    assert_eq!(client.cards()[1].queues, 1);
    // A queue goes with the connection that it was made over.
    drop(other);
    client.cards_until(|rows| rows[1].queues == 0);

    let processes = place.processes();
    assert_eq!(processes.len(), 4);
    assert_eq!(daemon.terminate(), 0);
    assert!(processes.iter().all(|(_, row)| row.identity.open().is_none()));
    let left: Vec<_> = std::fs::read_dir(place.home.run()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains('.')), "{left:?}");
}

#[test]
fn a_client_may_stop_it_and_is_told_when_all_has_ended() {
    let place = Place::new();
    let mut daemon = place.start();
    let processes = place.processes();
    place.client().done(ClientRequest::Shutdown { lose_keys: false });
    assert!(processes.iter().all(|(_, row)| row.identity.open().is_none()));
    assert!(daemon.child.wait().unwrap().success());
}

#[test]
fn a_second_daemon_is_refused_by_name() {
    let place = Place::new();
    let daemon = place.start();
    let (code, said) = place.refuse();
    assert_eq!(code, 3);
    assert!(said.contains(&daemon.child.id().to_string()), "{said}");
    assert!(said.contains(&*place.home.folder().to_string_lossy()), "{said}");
    assert!(ready(&place.client().cards()));
}

#[test]
fn a_home_that_cannot_be_served_is_refused_by_name() {
    let place = Place::new();
    let settings = std::fs::read_to_string(place.home.settings_path()).unwrap();
    std::fs::write(place.home.settings_path(), settings.replace("coprocessors", "coprozessors")).unwrap();
    let (code, said) = place.refuse();
    assert!(code == 1 && said.contains("coprozessors") && said.contains("settings.toml"), "{said}");
    std::fs::write(place.home.settings_path(), &settings).unwrap();
    place.change(|settings| settings.access.users = vec!["no-such-user-here".into()]);
    assert!(place.refuse().1.contains("no-such-user-here"));
    std::fs::write(place.home.settings_path(), &settings).unwrap();
    let manifest = place.base.path().join("manifest");
    std::fs::write(&manifest, format!("{}  fake_card\n", "0".repeat(64))).unwrap();
    place.change(|settings| settings.programs.manifest = Some(manifest));
    assert!(place.refuse().1.contains("not the program that was installed"));
    std::fs::write(place.home.settings_path(), &settings).unwrap();
    std::fs::write(place.home.version_path(), "99\n").unwrap();
    let (code, said) = place.refuse();
    assert!(code == 1 && said.contains("99") && said.contains("newer"), "{said}");
    assert_eq!(place.processes(), []);
}

#[test]
fn cards_outlive_a_killed_daemon_and_the_next_adopts_them() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    let (number, queue) = client.attach(0);
    let before = client.cards();
    let keeper = client.status().keeper_pid;
    daemon.kill();
    assert_eq!(call(&queue).unwrap(), before[0].pid);

    let _daemon = place.start();
    let client = place.client();
    let after = client.cards();
    let pids = |rows: &[wire::control::CardRow]| rows.iter().map(|row| row.pid).collect::<Vec<_>>();
    assert_eq!(pids(&after), pids(&before));
    assert_eq!((after[0].generation, after[0].queues, after[0].state), (1, 1, CardState::Ready));
    assert_eq!(client.status().keeper_pid, keeper);
    assert_eq!(call(&queue).unwrap(), before[0].pid);
    // A new queue does not take the old one's number.
    let (second, other) = client.attach(0);
    assert_ne!(second, number);
    assert_eq!(call(&other).unwrap(), before[0].pid);
    assert_eq!((call(&queue).unwrap(), client.cards()[0].queues), (before[0].pid, 2));
}

#[test]
fn an_adopted_queue_ends_with_the_process_that_owned_it() {
    let place = Place::new();
    let daemon = place.start();
    // Another process attaches: this test, executed again.
    let mut other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &path_of("attaches_and_waits"), "--ignored", "--nocapture"])
        .env("CRYPTAND_TEST_SOCKET", place.home.guest_socket())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A queue counts from its order on; it has an owner once the other process holds it.
    let said = std::io::BufReader::new(other.stdout.take().unwrap());
    assert!(std::io::BufRead::lines(said).any(|line| line.unwrap().trim() == "attached"));
    daemon.kill();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.cards()[0].queues, 1);
    drop(other.stdin.take());
    other.wait().unwrap();
    client.cards_until(|rows| rows[0].queues == 0);
}

/// A test of this file as the test program names it.
fn path_of(test: &str) -> String {
    let path = format!("{}::{test}", module_path!());
    path.split_once("::").unwrap().1.to_owned()
}

#[test]
#[ignore = "the other process of an_adopted_queue_ends_with_the_process_that_owned_it"]
fn attaches_and_waits() {
    // Run by itself, there is nothing to attach to.
    let Some(socket) = std::env::var_os("CRYPTAND_TEST_SOCKET") else { return };
    let client = common::Client::greet(std::path::Path::new(&socket));
    let _queue = client.attach(0);
    println!("\nattached");
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}

#[test]
fn what_nobody_serves_is_cleared_away() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    let _queue = client.attach(0);
    let processes = place.processes();
    daemon.kill();
    for (_, row) in &processes {
        row.identity.open().unwrap().kill().unwrap();
    }
    // Sockets of cards that the home no longer has, and of those that died with their daemon.
    drop(link::Listener::bind(&place.home.card_listener(9)).unwrap());
    assert!(place.home.card_listener(0).exists() && place.home.card_listener(9).exists());
    let _daemon = place.start();
    assert!(!place.home.card_listener(9).exists());
    let rows = place.client().cards();
    assert!(ready(&rows) && rows.iter().all(|row| row.queues == 0 && row.generation == 2), "{rows:?}");
}

#[test]
fn a_queue_ends_with_its_connection() {
    let place = Place::new();
    let _daemon = place.start();
    let (one, two) = (place.client(), place.client());
    let _queue = one.attach(0);
    assert_eq!(two.cards()[0].queues, 1);
    drop(one);
    two.cards_until(|rows| rows[0].queues == 0);
}

#[test]
fn a_killed_card_is_replaced_and_counted() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let (_, queue) = client.attach(0);
    let before = client.cards()[0].pid;
    signal(before, "KILL");
    let rows = client.cards_until(|rows| rows[0].pid != before && ready(rows));
    assert_eq!((rows[0].restarts, rows[0].generation, rows[0].queues), (1, 2, 0));
    assert_eq!((rows[1].restarts, rows[1].generation), (0, 1));
    assert!(matches!(call(&queue), Err(LinkError::Dead)));
    assert_eq!(call(&client.attach(0).1).unwrap(), rows[0].pid);
}

#[test]
fn no_process_of_a_card_has_the_generation_of_an_earlier_one() {
    let place = Place::with(|settings| (settings.cards.coprocessors, settings.cards.accelerators) = (1, 0));
    let mut daemon = place.start();
    let add = || {
        Change::CardAdd(CardChange { personality: Some(Personality::Accelerator), ..CardChange::default() })
    };
    for generation in [1, 2] {
        let client = place.client();
        client.change(add());
        let row = client.cards()[1].clone();
        assert_eq!((row.index, row.generation, row.restarts), (1, generation, 0));
        client.change(Change::CardRemove { card: 1 });
    }
    // Everything ends, and whoever met those processes is still there.
    assert_eq!(daemon.terminate(), 0);
    daemon = place.start();
    place.client().change(add());
    let rows = place.client().cards();
    assert_eq!((rows[0].generation, rows[1].generation), (2, 3));
    // A later daemon that takes running cards over goes on from them.
    let before = place.client().cards()[1].pid;
    daemon.kill();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!((client.cards()[1].pid, client.cards()[1].generation), (before, 3));
    signal(before, "KILL");
    let rows = client.cards_until(|rows| rows[1].pid != before && ready(rows));
    assert_eq!((rows[1].generation, rows[1].restarts), (4, 1));
}

#[test]
fn what_another_version_left_is_ended_and_replaced() {
    let place = Place::new();
    let mut daemon = place.start();
    let run = place.home.run();
    let stores = |name: &str, at: u64, bytes: &[u8]| {
        use std::os::unix::fs::FileExt;
        let file = std::fs::OpenOptions::new().write(true).open(run.join(name)).unwrap();
        file.write_all_at(bytes, at).unwrap();
    };
    // The last version, which did not say which it is, and one to come.
    for version in [None, Some("4095\n")] {
        let client = place.client();
        let (_, queue) = client.attach(0);
        let before: Vec<_> = place.processes();
        assert_eq!(before.len(), 3);
        let generation = client.cards()[0].generation;
        daemon.kill();
        match version {
            None => std::fs::remove_file(run.join("version")).unwrap(),
            Some(version) => std::fs::write(run.join("version"), version).unwrap(),
        }
        // Rows that go on otherwise after who it is, memories of other layouts.
        for (index, row) in &before {
            let head = 2 + postcard_bytes(&row.identity) as u64;
            stores("processes", u64::from(*index) * 4096 + head, &[0xFF; 12]);
        }
        for name in ["key-table", "accounts"] {
            stores(name, 8, &[99]);
        }
        daemon = place.start();
        // Whoever reaps the children of a daemon that is gone may not have done so yet.
        let has_ended = |of: &Identity| of.open().is_none_or(|process| process.is_dead());
        assert!(before.iter().all(|(_, row)| has_ended(&row.identity)), "all of them have ended");
        assert!(matches!(call(&queue), Err(LinkError::Dead)));
        let rows = place.client().cards();
        assert!(ready(&rows) && rows[0].generation > generation, "{rows:?}");
        assert!(place.log().contains("of another version"), "{}", place.log());
    }
}

fn postcard_bytes(of: &impl serde::Serialize) -> usize {
    wire::control::encode(of).unwrap().len()
}

#[test]
fn a_stopped_card_is_killed_and_replaced() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    let before = client.cards()[0].pid;
    signal(before, "STOP");
    client.cards_until(|rows| rows[0].pid != before && rows[0].restarts == 1 && ready(rows));

    // One that stopped while no daemon ran, and one that stops under a daemon that did not start it.
    let stopped: Vec<u32> = client.cards().iter().map(|row| row.pid).collect();
    daemon.kill();
    signal(stopped[0], "STOP");
    let _daemon = place.start();
    let client = place.client();
    client.cards_until(|rows| rows[0].pid != stopped[0] && rows[1].pid == stopped[1] && ready(rows));
    signal(stopped[1], "STOP");
    client.cards_until(|rows| rows[1].pid != stopped[1] && ready(rows));
}

#[test]
fn a_dead_keeper_comes_back_and_disturbs_no_card() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let (_, queue) = client.attach(0);
    let pid = client.cards()[0].pid;
    let keeper = client.status().keeper_pid.unwrap();
    signal(keeper, "KILL");
    let begin = std::time::Instant::now();
    loop {
        let status = client.status();
        if status.keeper_pid.is_some_and(|now| now != keeper) && !status.registers.is_empty() {
            break;
        }
        assert!(begin.elapsed() < common::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(call(&queue).unwrap(), pid);
}

#[test]
fn a_stopped_keeper_goes_on_with_its_keys() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let keeper = client.status().keeper_pid.unwrap();
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{keeper}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    };
    signal(keeper, "STOP");
    let begin = std::time::Instant::now();
    while is_stopped() {
        assert!(begin.elapsed() < common::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(client.status().keeper_pid, Some(keeper));
}

#[test]
fn cards_that_fail_are_not_started_for_ever() {
    let place = Place::with(|settings| settings.cards.accelerators = 0);
    place.direct("fail");
    let _daemon = place.start_unawaited();
    let client = place.client();
    client.cards_until(|rows| rows[0].state == CardState::Failed);
    let attach = ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 0 };
    assert_eq!(client.refused(attach), Refusal::NoCardReady);
    // The settings are read anew: it is tried again.
    place.direct("");
    client.done(ClientRequest::Reload);
    client.cards_until(ready);
}

#[test]
fn cards_that_die_at_once_are_started_ever_more_slowly() {
    let place = Place::new();
    place.direct("exit");
    let daemon = place.start_unawaited();
    let client = place.client();
    let rows = client.cards_until(|rows| rows.iter().all(|row| row.restarts >= 4));
    // Waits of 100, 200, 400 ... milliseconds: a loop without them would have made hundreds by now.
    assert!(rows.iter().all(|row| row.restarts < 12), "{rows:?}");
    assert_eq!(daemon.terminate(), 0);
}

#[test]
fn a_card_that_closes_its_channel_is_replaced() {
    let place = Place::with(|settings| settings.cards.accelerators = 0);
    place.direct("leave");
    let _daemon = place.start();
    let client = place.client();
    place.direct("");
    client.cards_until(|rows| rows[0].restarts == 1 && ready(rows));
}

#[test]
fn reload_changes_the_cards_and_leaves_the_others() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let (_, queue) = client.attach(0);
    let before = client.cards();
    place.change(|settings| settings.cards.accelerators = 3);
    client.done(ClientRequest::Reload);
    let rows = client.cards_until(|rows| rows.len() == 4 && ready(rows));
    assert_eq!((rows[0].pid, rows[1].pid), (before[0].pid, before[1].pid));
    place.change(|settings| (settings.cards.coprocessors, settings.cards.accelerators) = (2, 0));
    client.done(ClientRequest::Reload);
    let coprocessors = |rows: &[wire::control::CardRow]| {
        rows.len() == 2 && rows.iter().all(|row| row.personality == Personality::Coprocessor)
    };
    let rows = client.cards_until(|rows| coprocessors(rows) && ready(rows));
    assert_eq!((rows[0].pid, rows[1].restarts), (before[0].pid, 0));
    assert_eq!(call(&queue).unwrap(), before[0].pid);

    // Settings that are not valid change nothing.
    std::fs::write(place.home.settings_path(), "[cards]\ndomains = 99\n").unwrap();
    assert!(matches!(client.refused(ClientRequest::Reload), Refusal::Settings(_)));
    assert_eq!(client.cards().len(), 2);
}

#[test]
fn changed_settings_meet_adopted_cards() {
    let place = Place::new();
    let daemon = place.start();
    let before = place.client().cards();
    daemon.kill();
    place.change(|settings| settings.weak_algorithms = true);
    let _daemon = place.start();
    let client = place.client();
    let rows =
        client.cards_until(|rows| ready(rows) && rows.iter().zip(&before).all(|(a, b)| a.pid != b.pid));
    assert!(rows.iter().all(|row| row.restarts == before[0].restarts), "{rows:?}");
    assert!(
        matches!(client.ask(ClientRequest::Status), ClientReply::Status(status) if status.weak_algorithms)
    );
}

#[test]
fn cards_know_their_keeper_over_a_change_of_daemons() {
    use wire::control::{OfficerOrder, OfficerReply, Sealed};
    let place = Place::with(|settings| settings.development = None);
    let daemon = place.start();
    let client = place.client();
    let sealed = || Sealed { share: [1; 32], ciphertext: vec![2; 40] };
    let done = ClientReply::Officer(OfficerReply::Done);
    let unseal = ClientRequest::Officer(OfficerOrder::Unseal { sealed: sealed() });
    assert_eq!(
        client.ask(ClientRequest::Officer(OfficerOrder::SealUnder { sealed: sealed(), former: None })),
        done
    );
    let before = client.cards();
    let keeper = client.status().keeper_pid.unwrap();
    daemon.kill();
    // Adopted with its keeper: a change of keys reaches the card as before.
    let daemon = place.start();
    let client = place.client();
    assert_eq!(client.ask(unseal.clone()), done);
    assert_eq!(client.cards()[0].pid, before[0].pid);
    daemon.kill();
    // Adopted without: the card keeps its keys until the new keeper has some.
    signal(keeper, "KILL");
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.cards()[0].pid, before[0].pid);
    assert_eq!(client.ask(unseal), done);
    let rows = client.cards_until(|rows| rows[0].pid != before[0].pid && ready(rows));
    assert_eq!(rows[1].pid, before[1].pid);
}
