//! Event loops over real cards: the example server keeps a thousand requests in flight over four cards while one of
//! them is killed; keys are made under labels and records changed from a loop; a loop is told of a fork.

use facility::{Completions, FacilityError, Reply};
use rustix::process::{Pid, WaitOptions};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;
use system_tests::{
    CLEAR_KEY, Installation, expected_mac, kill, mac_key, mac_of, mac_request, null, program,
};
use wire::control::{CardState, Store};
use wire::verb::{RecordDeletion, clear_key_import, des_key_record_create, des_key_record_delete};
use wire::{Label, code};

/// Clients of the server, and what each has under way at once.
const CLIENTS: u64 = 20;
const UNDER_WAY: u64 = 60;
/// Requests of each.
const REQUESTS: u64 = 3_000;
const LABEL: &str = "SERVER.MAC";

fn text(client: u64, number: u64) -> Vec<u8> {
    [client.to_le_bytes(), number.to_le_bytes()].concat().repeat(1 + (number % 20) as usize)
}

/// Asks the server, with many requests under way; each answer is compared.
fn ask(socket: &std::path::Path, client: u64, half: &Barrier) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(system_tests::PATIENCE)).unwrap();
    let mut send = {
        let mut stream = stream.try_clone().unwrap();
        move |number: u64| {
            let text = text(client, number);
            let head = [&number.to_le_bytes()[..], &(text.len() as u32).to_le_bytes()].concat();
            stream.write_all(&[head, text].concat()).unwrap();
        }
    };
    (0..UNDER_WAY).for_each(&mut send);
    let mut seen = vec![false; REQUESTS as usize];
    for answered in 0..REQUESTS {
        if answered == REQUESTS / 2 {
            half.wait();
        }
        let mut answer = [0; 20];
        stream.read_exact(&mut answer).unwrap();
        let number = u64::from_le_bytes(answer[..8].try_into().unwrap());
        assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} is answered twice");
        assert_eq!(answer[8..12], [0; 4], "request {number} of client {client} failed");
        assert_eq!(answer[12..], expected_mac(&text(client, number)));
        if answered + UNDER_WAY < REQUESTS {
            send(answered + UNDER_WAY);
        }
    }
}

#[test]
fn a_server_with_one_loop_keeps_a_thousand_requests_in_flight_while_a_card_is_killed() {
    let installation = Installation::new(4, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    facility.record_create(Store::Des, &Label::new(LABEL).unwrap(), &mac_key(&facility)).unwrap();
    let socket = installation.beside("server");
    let mut server = Command::new(program("loop-server"))
        .args([installation.home.folder(), &socket])
        .arg(LABEL)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while !socket.exists() {
        assert!(server.try_wait().unwrap().is_none(), "the server has ended");
        std::thread::yield_now();
    }
    let half = Barrier::new(CLIENTS as usize + 1);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (socket, half) = (&socket, &half);
            scope.spawn(move || ask(socket, client, half));
        }
        half.wait();
        kill(cards[2].pid);
    });
    installation.until("the killed card is back", |status| {
        status.cards[2].state == CardState::Ready && status.cards[2].pid != cards[2].pid
    });
    drop(server.stdin.take());
    let said = server.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let most: u64 = said.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(most, 1000);
}

/// Collects as an event loop does until all are over; what the answers are is `look`'s to say.
fn run(completions: &mut Completions, mut look: impl FnMut(u64, &Reply)) {
    let mut reply = Reply::new();
    while completions.in_flight() > 0 {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            answer.unwrap_or_else(|error| panic!("{number}: {error}"));
            look(number, &reply);
        }
        completions.wait(None);
    }
}

#[test]
fn a_loop_makes_keys_under_labels_and_changes_records_beside_its_other_requests() {
    const KEYS: u64 = 20;
    let mut installation = Installation::new(2, 0);
    installation.until_ready();
    let mut completions = installation.facility().completions().unwrap();
    let labels: Vec<Label> = (0..KEYS).map(|n| Label::new(&format!("LOOP.K{n}")).unwrap()).collect();
    let fields: Vec<_> = labels.iter().map(Label::to_field).collect();
    for (number, field) in fields.iter().enumerate() {
        let create = des_key_record_create::Ask { key_label: field, ..des_key_record_create::Ask::new() };
        completions.ask(number as u64, 0, &create).unwrap();
    }
    run(&mut completions, |number, reply| assert!(reply.codes().has_output(), "{number}: {}", reply.codes()));
    for (number, field) in fields.iter().enumerate() {
        let import = clear_key_import::Ask {
            clear_key: &CLEAR_KEY,
            target_key_identifier: field.into(),
            ..clear_key_import::Ask::new()
        };
        completions.ask(number as u64, 0, &import).unwrap();
        (0..20).for_each(|_| completions.ask(KEYS, 0, &null()).unwrap());
    }
    let mut others = 0;
    run(&mut completions, |number, reply| {
        assert!(reply.codes().has_output(), "{number}: {}", reply.codes());
        match fields.get(number as usize) {
            Some(field) => {
                assert_eq!(reply.arguments().bytes(clear_key_import::TARGET_KEY_IDENTIFIER), field);
            }
            None => others += 1,
        }
    });
    assert_eq!(others, 20 * KEYS);
    // What was answered is durable, and the loop finds the next daemon.
    installation.kill_daemon();
    installation.start();
    installation.until_ready();
    for (number, field) in fields.iter().enumerate() {
        completions.ask(number as u64, 0, &mac_request(field, b"kept")).unwrap();
    }
    run(&mut completions, |_, reply| assert_eq!(mac_of(reply), expected_mac(b"kept")));
    let delete = des_key_record_delete::Ask {
        key_identifier: &fields[0],
        ..des_key_record_delete::Ask::new(RecordDeletion::Record)
    };
    completions.ask(0, 0, &delete).unwrap();
    run(&mut completions, |_, reply| assert!(reply.codes().has_output(), "{}", reply.codes()));
    completions.ask(0, 0, &mac_request(&fields[0], b"gone")).unwrap();
    run(&mut completions, |_, reply| assert_eq!(reply.codes(), code::LABEL_NOT_FOUND));
}

#[test]
fn in_a_child_of_fork_every_request_of_a_loop_is_said_to_be_the_parents() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    let mut completions = facility.completions().unwrap();
    let mut reply = Reply::new();
    completions.ask(0, 0, &null()).unwrap();
    while completions.collect(&mut reply).is_none() {
        completions.wait(None);
    }
    for number in 0..5 {
        completions.ask(number, 0, &mac_request(&key, b"fork")).unwrap();
    }
    // SAFETY: the child uses this thread's values only, allocates (glibc's allocator works after fork), and
    // ends without running anything else.
    match unsafe { libc::fork() } {
        0 => {
            let mut told = 0;
            while let Some((_, answer)) = completions.collect(&mut reply) {
                told += i32::from(matches!(answer, Err(FacilityError::Forked { .. })));
            }
            let refused = completions.ask(9, 0, &null());
            told += i32::from(matches!(refused, Err(FacilityError::Forked { .. })));
            // One of its own serves it.
            let answered = facility.completions().ok().and_then(|mut own| {
                own.ask(1, 0, &mac_request(&key, b"fork")).ok()?;
                loop {
                    match own.collect(&mut reply) {
                        Some(ended) => break ended.1.ok(),
                        None => own.wait(Some(Duration::from_secs(1))),
                    };
                }
            });
            told += i32::from(answered.is_some() && mac_of(&reply) == expected_mac(b"fork"));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(told) }
        }
        child => {
            let child = Pid::from_raw(child).expect("fork failed");
            let (_, status) = rustix::process::waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
            assert_eq!(status.exit_status(), Some(7));
        }
    }
    // The parent's go on.
    let mut answered = 0;
    while answered < 5 {
        match completions.collect(&mut reply) {
            Some((_, answer)) => {
                answer.unwrap();
                assert_eq!(mac_of(&reply), expected_mac(b"fork"));
                answered += 1;
            }
            None => {
                completions.wait(None);
            }
        }
    }
}
