//! Clients: greetings, rights, records and labels, and those that break the rules.

use crate::common::{self, Client, Place, call, calls, des_token, lacks_descriptors, ready};
use daemon::access::GUEST_CONNECTIONS_MAX;
use link::{Channel, ChannelError, ClientQueue, InFlight, KeyTableView, LinkError};
use rustix::fs::{FileType, Mode};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use wire::bounds::{CALL_BYTES_MAX, CONNECTIONS_MAX, LABELS, LIST_ROWS_MAX};
use wire::control::{
    CONTROL_VERSION, ClientReply, ClientRequest, OfficerOrder, OfficerReply, PollMode, Refusal, Sealed, Store,
};
use wire::verb::{RecordWriting, Verb, aes_key_record_read};
use wire::{Codes, KeyReference, Label, code};

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn opened(reply: &ClientReply) -> KeyReference {
    match reply {
        ClientReply::Opened { reference, store: Store::Des, token_bytes: 64 } => *reference,
        other => panic!("{other:?}"),
    }
}

fn verb(codes: Codes) -> ClientReply {
    ClientReply::Refused(Refusal::Verb(codes))
}

#[test]
fn greetings_of_other_versions_and_none_are_refused() {
    let place = Place::new();
    let _daemon = place.start();
    let refusal = |request: &ClientRequest| {
        let channel = Channel::connect(&place.home.admin_socket()).unwrap();
        channel.send(request, &[]).unwrap();
        let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
        assert!(matches!(channel.recv_timeout::<ClientReply>(common::PATIENCE), Err(ChannelError::Closed)));
        reply
    };
    let newer = CONTROL_VERSION + 1;
    assert_eq!(
        refusal(&ClientRequest::Hello { version: newer, credential: None, completions: false }),
        ClientReply::Refused(Refusal::Version { daemon: CONTROL_VERSION, client: newer })
    );
    assert!(matches!(refusal(&ClientRequest::Cards), ClientReply::Refused(Refusal::Invalid(_))));
    let client = place.client();
    // One whose greeting is made otherwise is told the same.
    for version in [1_u8, newer as u8] {
        let channel = Channel::connect(&place.home.admin_socket()).unwrap();
        channel.send(&(0_u8, version, [201_u8, 7, 7, 7]), &[]).unwrap();
        let (reply, _) = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap();
        let refusal = Refusal::Version { daemon: CONTROL_VERSION, client: version.into() };
        let text = refusal.to_string();
        assert_eq!(reply, ClientReply::Refused(refusal));
        assert!(text.contains(&format!("version {CONTROL_VERSION}")) && text.contains("`lock`"), "{text}");
    }
    let again = ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false };
    assert!(matches!(client.refused(again), Refusal::Invalid(_)));
}

#[test]
fn attaching_what_does_not_exist_is_refused_by_name() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let attach = |card, domain, slots| ClientRequest::Attach { card, domain, slots, blocks: 0 };
    assert_eq!(client.refused(attach(9, 0, 8)), Refusal::NoSuchCard);
    assert!(matches!(client.refused(attach(0, 1, 8)), Refusal::Invalid(why) if why.contains("domain 1")));
    for slots in [0, 3, 128] {
        assert!(matches!(client.refused(attach(0, 0, slots)), Refusal::Invalid(_)));
    }
    let (reply, _descriptors) = client.ask_with(attach(1, 0, 8));
    assert!(matches!(reply, ClientReply::Attached { card, .. } if card.index == 1));
}

#[test]
fn a_card_that_dies_as_its_queue_is_handed_out_is_one_that_is_not_ready() {
    let place = Place::new();
    // It takes queues, and nobody hears its doorbell any more: as where it was killed in between.
    place.direct("deaf");
    let _daemon = place.start();
    let client = place.client();
    let attach = ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 0 };
    assert_eq!(client.refused(attach), Refusal::NoCardReady);
    client.cards_until(|rows| rows[0].queues == 0);
}

#[test]
fn what_is_put_into_a_queue_before_its_card_has_it_is_answered_or_comes_back_untaken() {
    let place = Place::new();
    place.direct("late");
    let pipe = place.home.folder().join("fake-card-go");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _daemon = place.start();
    let client = place.client();
    let null = |queue: &ClientQueue| queue.submit(queue.claim().unwrap(), Verb::Null as u16, &[]).unwrap();
    let answer = |queue: &ClientQueue, request: &InFlight| {
        let deadline = std::time::Instant::now() + common::PATIENCE;
        queue.wait(request, PollMode::Sleep, Some(deadline), &mut Vec::new())
    };

    let (_, queue) = client.attach(0);
    let request = null(&queue);
    assert!(queue.try_reply(&request, &mut Vec::new()).unwrap().is_none());
    // Opens as soon as the card is about to map the queue.
    drop(std::fs::OpenOptions::new().write(true).open(&pipe).unwrap());
    answer(&queue, &request).unwrap();

    let (_, queue) = client.attach(0);
    let request = null(&queue);
    common::signal(client.cards()[0].pid, "KILL");
    assert!(matches!(answer(&queue, &request), Err(LinkError::Dead)));
    assert!(!queue.was_taken(&request));
    client.cards_until(|rows| ready(rows) && rows[0].queues == 0);
}

#[test]
fn who_was_given_a_queue_that_the_card_does_not_want_finds_it_ended_and_hears_why() {
    let place = Place::new();
    place.direct("reject");
    let _daemon = place.start();
    let client = place.client();
    let (_, queue) = client.attach(0);
    assert!(matches!(call(&queue), Err(LinkError::Dead)));
    // The card may have ended the queue before the daemon has read that it did.
    let why = loop {
        match client.ask(ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 0 }) {
            ClientReply::Refused(Refusal::Invalid(why)) => break why,
            other => assert!(matches!(other, ClientReply::Attached { .. }), "{other:?}"),
        }
    };
    assert!(why.contains("card 0 refused the queue: told to"), "{why}");
    client.cards_until(|rows| rows[0].queues == 0);
}

#[test]
fn records_are_kept_over_a_kill() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    for index in 0..20 {
        assert_eq!(client.create(&format!("KEY.N{index}"), des_token(index)), calls::DONE);
    }
    daemon.kill();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.status().records, 20);
    for index in 0..20 {
        let read = calls::read(&format!("KEY.N{index}"));
        assert_eq!(client.ask(read), calls::token(&des_token(index)));
    }
}

#[test]
fn what_was_acknowledged_stands_whenever_the_daemon_is_killed() {
    let place = Place::new();
    let mut acknowledged = 0;
    for round in 1..=4 {
        let daemon = place.start();
        let client = place.client();
        let (killer, at) = std::sync::mpsc::channel::<()>();
        let killing = std::thread::spawn(move || {
            // As soon as this many are acknowledged: in the middle of the next ones.
            let _ = at.recv();
            daemon.kill();
        });
        let until = acknowledged + 7 * round;
        loop {
            let request = calls::create(&format!("K{acknowledged}"), &des_token(1));
            let reply =
                client.channel.send(&request, &[]).and_then(|()| client.channel.recv::<ClientReply>());
            match reply {
                Ok((ClientReply::Called { codes: code::OK, .. }, _)) => acknowledged += 1,
                // The one under way when the daemon before this one was killed was done all the same.
                Ok((reply, _)) => {
                    assert_eq!(reply, calls::refused(code::LABEL_EXISTS));
                    acknowledged += 1;
                }
                Err(_) => break,
            }
            if acknowledged == until {
                killer.send(()).unwrap();
            }
        }
        killing.join().unwrap();
    }
    let _daemon = place.start();
    let client = place.client();
    for index in 0..acknowledged {
        let read = calls::read(&format!("K{index}"));
        assert_eq!(client.ask(read), calls::token(&des_token(1)));
    }
    assert!((acknowledged..=acknowledged + 1).contains(&client.status().records));
}

#[test]
fn records_answer_with_the_codes_of_their_verbs() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.create("A", vec![]), calls::DONE);
    assert_eq!(client.create("A", vec![]), calls::refused(code::LABEL_EXISTS));
    let open = ClientRequest::OpenLabel { label: label("A") };
    assert_eq!(client.ask(open), verb(code::TOKEN_INVALID));
    assert_eq!(client.ask(calls::write("A", &des_token(3))), calls::DONE);
    let mut changed = des_token(3);
    changed[30] ^= 1;
    assert_eq!(client.ask(calls::write("A", &changed)), calls::refused(code::INTERNAL_TVV));
    let mut clear = vec![0; 64];
    (clear[0], clear[63]) = (1, 0);
    clear[60] = 1;
    assert_eq!(client.ask(calls::write("A", &clear)), calls::refused(code::TOKEN_INVALID));
    assert_eq!(client.ask(calls::read("A")), calls::token(&des_token(3)));
    assert_eq!(client.ask(calls::read("B")), calls::refused(code::LABEL_NOT_FOUND));
    let key_label = &label("A").to_field();
    let of_another_store = aes_key_record_read::Ask { key_label, ..aes_key_record_read::Ask::new() };
    assert_eq!(client.ask(calls::of(&of_another_store)), calls::refused(code::LABEL_NOT_FOUND));
    assert_eq!(client.ask(ClientRequest::OpenLabel { label: label("B") }), verb(code::LABEL_NOT_FOUND));
    let list =
        |pattern: &str| ClientRequest::RecordList { store: None, pattern: pattern.into(), after: None };
    assert_eq!(client.ask(list("a*")), verb(code::LABEL_FORMAT));
    assert_eq!(client.ask(list(&"é".repeat(20_000))), verb(code::LABEL_FORMAT));
    assert!(matches!(client.ask(list("*")), ClientReply::Records(rows) if rows.len() == 1));
    assert_eq!(client.ask(calls::delete("A", true)), calls::DONE);
    assert_eq!(client.ask(calls::read("A")), calls::token(&[]));
    assert_eq!(client.ask(calls::delete("A", false)), calls::DONE);
    assert_eq!(client.ask(calls::read("A")), calls::refused(code::LABEL_NOT_FOUND));
}

#[test]
fn two_records_are_written_or_neither() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    for name in ["A", "B"] {
        assert_eq!(client.create(name, vec![]), calls::DONE);
    }
    let (one, two) = (des_token(1), des_token(2));
    let both = |second| calls::put(RecordWriting::Replace, &[("A", &one), (second, &two)]);
    assert_eq!(client.ask(both("C")), calls::refused(code::LABEL_NOT_FOUND));
    assert_eq!(client.ask(calls::read("A")), calls::token(&[]));
    assert_eq!(client.ask(both("A")), calls::refused(code::KEYWORD_COMBINATION));
    assert_eq!(client.ask(both("B")), calls::DONE);
    assert_eq!(client.ask(calls::read("A")), calls::token(&one));
    let reference = opened(&client.ask(ClientRequest::OpenLabel { label: label("B") }));
    // What was open of either is not any more.
    assert_eq!(client.ask(both("B")), calls::DONE);
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    assert!(table.read(reference, client.tenant, &mut Vec::new()).is_err());
    assert_eq!(
        client.ask(calls::put(RecordWriting::Create, &[("A", &one)])),
        calls::refused(code::LABEL_EXISTS)
    );
    let made_two = calls::put(RecordWriting::Create, &[("C", &one), ("D", &two)]);
    assert_eq!(client.ask(made_two), calls::refused(code::KEYWORD_COMBINATION));
}

#[test]
fn calls_that_are_none_are_refused_by_name_and_harm_nobody() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.create("A", des_token(1)), calls::DONE);
    let call = |verb, payload| ClientRequest::Call { domain: 0, card: None, verb, payload };
    let names = |request, name: &str| {
        let refusal = client.refused(request);
        assert!(matches!(&refusal, Refusal::Invalid(why) if why.contains(name)), "{refusal:?}");
    };
    names(call(0xFFFF, vec![]), "0xffff");
    names(call(Verb::Encipher as u16, vec![]), "encipher");
    names(call(Verb::DesKeyRecordRead as u16, vec![]), "des-key-record-read");
    names(call(Verb::DesKeyRecordRead as u16, vec![0xFF; CALL_BYTES_MAX]), "des-key-record-read");
    let ClientRequest::Call { verb, payload, .. } = calls::read("A") else { panic!() };
    for at in 0..payload.len() {
        names(call(verb, payload[..at].to_vec()), "des-key-record-read");
    }
    names(call(verb, [&payload[..], &[0]].concat()), "des-key-record-read");
    // Before a greeting nothing is called.
    let channel = Channel::connect(&place.home.admin_socket()).unwrap();
    channel.send(&calls::read("A"), &[]).unwrap();
    let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
    assert!(matches!(reply, ClientReply::Refused(Refusal::Invalid(_))), "{reply:?}");
    assert_eq!(client.ask(calls::read("A")), calls::token(&des_token(1)));
}

#[test]
fn who_asks_without_taking_answers_waits_for_itself() {
    let place = Place::new();
    let _daemon = place.start();
    let (flood, other) = (place.client(), place.client());
    assert_eq!(other.create("A", des_token(1)), calls::DONE);
    // As many as the socket holds, none of which is waited for.
    let mut sent = 0;
    while sent < 10_000 && flood.channel.try_send(&calls::read("A"), &[]).is_ok() {
        sent += 1;
    }
    assert_eq!(other.ask(calls::write("A", &des_token(2))), calls::DONE);
    assert_eq!(other.ask(calls::read("A")), calls::token(&des_token(2)));
    assert!(ready(&other.cards()));
    // Answers come in the order of the questions, for as long as it takes them.
    let mut last = 1;
    for _ in 0..sent {
        match flood.channel.recv_timeout::<ClientReply>(common::PATIENCE) {
            Ok((reply, _)) if reply == calls::token(&des_token(1)) => assert_eq!(last, 1),
            Ok((reply, _)) => {
                assert_eq!(reply, calls::token(&des_token(2)));
                last = 2;
            }
            Err(error) => {
                // It took no answers for too long, and was disconnected.
                assert!(matches!(error, ChannelError::Closed), "{error}");
                break;
            }
        }
    }
}

#[test]
fn listings_come_in_pages() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    for index in 0..LIST_ROWS_MAX + 10 {
        client.create(&format!("K{index:05}"), des_token(1));
    }
    let mut after = None;
    let mut pages = Vec::new();
    loop {
        let request = ClientRequest::RecordList { store: Some(Store::Des), pattern: "K*".into(), after };
        let ClientReply::Records(rows) = client.ask(request) else { panic!() };
        pages.push(rows.len());
        after = rows.last().map(|row| row.label.clone());
        if rows.len() < LIST_ROWS_MAX {
            break;
        }
    }
    assert_eq!(pages, [LIST_ROWS_MAX, 10]);
}

#[test]
fn an_opened_label_is_reused_and_revoked_with_its_record() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    client.create("A", des_token(1));
    client.create("B", des_token(2));
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    let token = |reference, tenant| {
        let mut token = Vec::new();
        table.read(reference, tenant, &mut token).map(|_| token)
    };
    let open = |client: &Client, text| opened(&client.ask(ClientRequest::OpenLabel { label: label(text) }));
    let first = open(&client, "A");
    assert_eq!(token(first, client.tenant).unwrap(), des_token(1));
    assert!(token(first, client.tenant + 1).is_err());
    assert_eq!(open(&place.client(), "A"), first);

    assert_eq!(client.ask(calls::write("A", &des_token(5))), calls::DONE);
    assert!(token(first, client.tenant).is_err());
    let second = open(&client, "A");
    assert_eq!(token(second, client.tenant).unwrap(), des_token(5));

    // The next daemon goes on with the entries, and with their generations.
    let kept = open(&client, "B");
    daemon.kill();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!((open(&client, "A"), open(&client, "B")), (second, kept));
    assert_eq!(client.ask(calls::delete("A", false)), calls::DONE);
    assert!(token(second, client.tenant).is_err());
    assert_eq!(token(kept, client.tenant).unwrap(), des_token(2));
}

#[test]
fn a_record_that_changed_unseen_is_revoked_by_the_next_daemon() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    client.create("A", des_token(1));
    let before = opened(&client.ask(ClientRequest::OpenLabel { label: label("A") }));
    daemon.kill();
    {
        use daemon::store::{Job, KeyStore, Record, SqliteStore};
        let store = SqliteStore::open(&place.home.key_store()).unwrap();
        let record = Record { store: Store::Des, label: label("A"), token: des_token(9) };
        store.run(&Job::Write { records: vec![record], now_unix_s: 1 }).unwrap();
    }
    let _daemon = place.start();
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    assert!(table.read(before, client.tenant, &mut Vec::new()).is_err());
}

#[test]
fn in_a_full_key_table_the_label_asked_for_longest_ago_gives_way() {
    let place = Place::with(|settings| settings.daemon.labels = *LABELS.start());
    // Of tokens of one unit.
    let labels = link::key_table_units_for(*LABELS.start());
    let name = |index| label(&format!("K{index}"));
    {
        // In one transaction: thousands of flushes would take long.
        drop(daemon::store::SqliteStore::open(&place.home.key_store()).unwrap());
        let store = rusqlite::Connection::open(place.home.key_store()).unwrap();
        store.execute_batch("BEGIN").unwrap();
        for index in 0..labels + 2 {
            let values = (name(index).to_string(), des_token(1));
            store
                .execute(
                    "INSERT INTO records (label, store, token, written_unix_s) VALUES (?1, 1, ?2, 0)",
                    values,
                )
                .unwrap();
        }
        store.execute_batch("COMMIT").unwrap();
    }
    let _daemon = place.start();
    let client = place.client();
    let open = |index| opened(&client.ask(ClientRequest::OpenLabel { label: name(index) }));
    let references: Vec<KeyReference> = (0..labels).map(open).collect();
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    let is_open = |reference| table.read(reference, client.tenant, &mut Vec::new()).is_ok();
    assert!(references.iter().all(|reference| is_open(*reference)));
    // The first is asked for again, so the second is the oldest.
    assert_eq!(open(0), references[0]);
    open(labels);
    let gone = |references: &[KeyReference]| -> Vec<usize> {
        (0..references.len()).filter(|index| !is_open(references[*index])).collect()
    };
    assert_eq!(gone(&references), [1]);
    // It comes back at another's cost, and what named it before stays stale.
    assert_ne!(open(1), references[1]);
    assert_eq!(gone(&references), [1, 2]);
    // A record that goes gives its entry up: nothing else has to.
    assert_eq!(client.ask(calls::delete("K7", true)), calls::DONE);
    open(labels + 1);
    assert_eq!(gone(&references), [1, 2, 7]);
}

#[test]
fn another_number_of_labels_takes_effect_once_no_card_has_the_key_table() {
    let place = Place::with(|settings| settings.daemon.labels = *LABELS.start());
    let bytes = |labels| link::key_table_bytes(link::key_table_units_for(labels)) as u64;
    let found = || std::fs::metadata(place.home.key_table()).unwrap().len();
    let daemon = place.start();
    let client = place.client();
    client.create("A", des_token(1));
    let open = |client: &Client| opened(&client.ask(ClientRequest::OpenLabel { label: label("A") }));
    let before = open(&client);
    assert_eq!(found(), bytes(1024));
    place.change(|settings| settings.daemon.labels = 2000);
    client.done(ClientRequest::Reload);
    assert!(place.log().contains("labels = 2000 takes effect"), "{}", place.log());
    // Cards go on with the table that they have, and so does what is open in it.
    daemon.kill();
    let daemon = place.start();
    assert_eq!((found(), open(&place.client())), (bytes(1024), before));
    assert!(place.log().contains("cards have the present key table mapped"), "{}", place.log());
    assert_eq!(daemon.terminate(), 0);
    let daemon = place.start();
    assert_eq!(found(), bytes(2000));
    // Nothing of the former table names anything in this one.
    let after = open(&place.client());
    assert!(after.slot == before.slot && after.generation != before.generation);
    // So where all was killed: rows of processes are there, and no process.
    place.change(|settings| settings.daemon.labels = 3000);
    daemon.kill();
    for (_, row) in place.processes() {
        let process = row.identity.open().unwrap();
        process.kill().unwrap();
        while !process.is_dead() {
            std::thread::yield_now();
        }
    }
    let daemon = place.start();
    assert_eq!(found(), bytes(3000));
    // One that finds no room leaves the table that is there: its place is taken by a folder.
    assert_eq!(daemon.terminate(), 0);
    place.change(|settings| settings.daemon.labels = 4000);
    std::fs::create_dir(place.home.key_table().with_extension("new")).unwrap();
    let _daemon = place.start();
    assert_eq!(found(), bytes(3000));
    assert!(place.log().contains("labels = 4000 does not take effect"), "{}", place.log());
}

#[test]
fn sealed_registers_are_stored_before_the_officer_is_told() {
    let place = Place::with(|settings| settings.development = None);
    let daemon = place.start();
    let client = place.client();
    let officer = |order| client.ask(ClientRequest::Officer(order));
    let sealed = || Sealed { share: [1; 32], ciphertext: vec![2; 40] };
    assert_eq!(client.status().registers, []);
    let key = officer(OfficerOrder::StartupKey);
    assert_eq!(key, ClientReply::Officer(OfficerReply::StartupKey([9; 32])));
    let refused = officer(OfficerOrder::Unseal { sealed: sealed() });
    assert!(matches!(refused, ClientReply::Officer(OfficerReply::Refused(_))));
    let done = ClientReply::Officer(OfficerReply::Done);
    assert_eq!(officer(OfficerOrder::SealUnder { sealed: sealed(), former: None }), done);
    assert_eq!(std::fs::read(place.home.sealed_registers()).unwrap(), b"sealed");
    assert_eq!(officer(OfficerOrder::Unseal { sealed: sealed() }), done);
    assert_eq!(client.status().registers.len(), 1);
    // A folder in the way of the file: the officer is told that nothing was stored.
    std::fs::create_dir(place.home.folder().join("master-keys.sealed.new")).unwrap();
    let failed = officer(OfficerOrder::SealUnder { sealed: sealed(), former: None });
    assert!(
        matches!(failed, ClientReply::Refused(Refusal::Storage { operation, .. }) if operation.contains("master-keys"))
    );
    drop(daemon);
}

#[test]
fn coprocessors_of_a_dead_keeper_are_renewed_once_the_new_one_has_keys() {
    let place = Place::with(|settings| {
        settings.development = None;
        (settings.cards.coprocessors, settings.cards.accelerators) = (2, 1);
    });
    let _daemon = place.start();
    let client = place.client();
    let sealed = || Sealed { share: [1; 32], ciphertext: vec![2; 40] };
    let officer = |order| client.ask(ClientRequest::Officer(order));
    let done = ClientReply::Officer(OfficerReply::Done);
    assert_eq!(officer(OfficerOrder::SealUnder { sealed: sealed(), former: None }), done);
    let before = client.cards();
    common::signal(client.status().keeper_pid.unwrap(), "KILL");
    let begin = std::time::Instant::now();
    loop {
        match officer(OfficerOrder::Unseal { sealed: sealed() }) {
            ClientReply::Refused(Refusal::NoKeeper) => assert!(begin.elapsed() < common::PATIENCE),
            reply => break assert_eq!(reply, done),
        }
    }
    // They kept their keys until now, and would not hear of the next change: one after the other.
    let renewed = |rows: &[wire::control::CardRow]| {
        ready(rows) && rows[0].pid != before[0].pid && rows[1].pid != before[1].pid
    };
    let rows = client.cards_until(renewed);
    assert_eq!(rows[2].pid, before[2].pid);
    assert!(rows.iter().all(|row| row.restarts == 0), "{rows:?}");
}

#[test]
fn a_service_manager_is_told() {
    let place = Place::new();
    let path = place.base.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(common::PATIENCE)).unwrap();
    let child = place.command().env("NOTIFY_SOCKET", &path).spawn().unwrap();
    let daemon = common::Daemon { child };
    let told = || {
        let mut text = [0; 4096];
        let bytes = needs::uninterrupted(|| socket.recv(&mut text)).unwrap();
        String::from_utf8_lossy(&text[..bytes]).into_owned()
    };
    assert_eq!(told(), "READY=1");
    assert!(told().starts_with("STATUS="));
    assert!(ready(&place.client().cards()));
    assert_eq!(daemon.terminate(), 0);
    while told() != "STOPPING=1" {}
}

#[test]
fn a_backup_opens_as_a_home_and_holds_everything() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    for index in 0..50 {
        client.create(&format!("K{index}"), des_token(index));
    }
    let folder = place.base.path().join("copy");
    let backup = |folder: &std::path::Path| ClientRequest::Backup { folder: folder.to_str().unwrap().into() };
    assert!(matches!(client.refused(backup(&folder)), Refusal::Storage { .. }));
    std::fs::create_dir(&folder).unwrap();
    client.done(backup(&folder));
    assert!(
        matches!(client.refused(backup(&folder)), Refusal::Storage { cause, .. } if cause.contains("not empty"))
    );
    assert!(matches!(client.refused(backup(std::path::Path::new("copy"))), Refusal::Invalid(_)));

    let copy = home::Home::open(&folder).unwrap();
    assert_eq!(copy.settings().unwrap(), place.home.settings().unwrap());
    let restored = Place::of(copy);
    let checked = restored.command().arg("--check").output().unwrap();
    assert!(String::from_utf8_lossy(&checked.stdout).contains("50 key records"), "{checked:?}");
    let _other = restored.start();
    let client = restored.client();
    assert_eq!(client.status().records, 50);
    let read = calls::read("K49");
    assert_eq!(client.ask(read), calls::token(&des_token(49)));
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    let place = Place::new();
    let _daemon = place.start();
    let client = place.client();
    let (_, queue) = client.attach(0);
    for garbage in [&b""[..], &[0xFF; 64], &[1; 70_000], b"GET / HTTP/1.1\r\n\r\n"] {
        let channel = Channel::connect(&place.home.admin_socket()).unwrap();
        rustix::net::send(&channel, garbage, rustix::net::SendFlags::NOSIGNAL).unwrap();
        assert!(matches!(channel.recv_timeout::<ClientReply>(common::PATIENCE), Err(ChannelError::Closed)));
    }
    // Descriptors that nobody asked for are closed, and do no harm.
    let (read, write) = rustix::pipe::pipe().unwrap();
    client.channel.send(&ClientRequest::Cards, &[write.as_fd()]).unwrap();
    client.channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap();
    drop(write);
    assert_eq!(rustix::io::read(&read, &mut [0; 1]).unwrap(), 0);
    assert_eq!(call(&queue).unwrap(), client.cards()[0].pid);
}

#[test]
fn a_client_that_never_reads_is_disconnected_and_delays_nobody() {
    let place = Place::new();
    let _daemon = place.start();
    let greedy = place.client();
    let other = place.client();
    // Until its replies find no room: then its connection, and with it this loop, ends.
    while greedy.channel.send(&ClientRequest::Cards, &[]).is_ok() {}
    assert!(ready(&other.cards()));
    assert_eq!(other.status().connections, 1);
}

#[test]
fn connections_beyond_the_bound_are_refused_by_name() {
    let place = Place::new();
    if lacks_descriptors() {
        return;
    }
    let _daemon = place.start();
    let mut clients: Vec<Client> = (0..CONNECTIONS_MAX).map(|_| place.client()).collect();
    let channel = Channel::connect(&place.home.admin_socket()).unwrap();
    channel
        .send(&ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false }, &[])
        .unwrap();
    let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
    assert!(
        matches!(reply, ClientReply::Refused(Refusal::Full { limit, .. }) if limit == CONNECTIONS_MAX as u64)
    );
    assert!(ready(&clients[0].cards()));
    clients.truncate(1);
    let connected = |client: &Client| client.status().connections;
    let begin = std::time::Instant::now();
    while connected(&clients[0]) > 1 {
        assert!(begin.elapsed() < common::PATIENCE);
    }
    assert!(ready(&place.client().cards()));
}

#[test]
fn a_thousand_queues_are_ordinary() {
    let place = Place::with(|settings| (settings.cards.coprocessors, settings.cards.accelerators) = (4, 0));
    if lacks_descriptors() {
        return;
    }
    let _daemon = place.start();
    let client = place.client();
    let queues: Vec<_> = (0..1000).map(|number| client.attach(number % 4).1).collect();
    let rows = client.cards();
    assert!(rows.iter().all(|row| row.queues == 250));
    for (number, queue) in queues.iter().enumerate() {
        assert_eq!(call(queue).unwrap(), rows[number % 4].pid);
    }
    let other = place.client();
    drop(client);
    other.cards_until(|rows| rows.iter().all(|row| row.queues == 0));
}

/// Runs a test of this file as another user; root only. Gives back whether it passed.
fn as_user(place: &Place, user: u32, test: &str) -> Option<bool> {
    let output = spawn_as(place, user, test)?.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    Some(true)
}

/// Begins a test of this file as another user; root only.
fn spawn_as(place: &Place, user: u32, test: &str) -> Option<std::process::Child> {
    if needs::lacks(needs::Need::Root) {
        return None;
    }
    for folder in [place.base.path(), place.home.folder(), &place.home.run()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o711)).unwrap();
    }
    // The program may lie where the other user cannot reach it: it gets a copy of its own.
    let program = place.base.path().join("test");
    // By another process: a child that another test makes meanwhile would hold the copy open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let child = Command::new(program)
        .args(["--exact", &format!("clients::{test}"), "--ignored", "--nocapture"])
        .env("CRYPTAND_TEST_SOCKET", place.home.guest_socket())
        .uid(user)
        .gid(user)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Some(child.unwrap())
}

const STRANGER: u32 = 54_321;

#[test]
fn a_stranger_is_refused() {
    let place = Place::new();
    let _daemon = place.start();
    as_user(&place, STRANGER, "the_stranger");
    assert!(ready(&place.client().cards()));
}

#[test]
#[ignore = "what the stranger of a_stranger_is_refused does"]
fn the_stranger() {
    let Some(socket) = std::env::var_os("CRYPTAND_TEST_SOCKET") else { return };
    let channel = Channel::connect(std::path::Path::new(&socket)).unwrap();
    channel
        .send(&ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false }, &[])
        .unwrap();
    let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
    assert_eq!(reply, ClientReply::Refused(Refusal::Denied));
    assert!(matches!(channel.recv_timeout::<ClientReply>(common::PATIENCE), Err(ChannelError::Closed)));
}

#[test]
fn a_guest_uses_keys_and_changes_nothing() {
    let place = Place::with(|settings| settings.access.users = vec!["nobody".into()]);
    let _daemon = place.start();
    let client = place.client();
    client.create("A", des_token(1));
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    as_user(&place, nobody.uid.as_raw(), "the_guest");
    assert_eq!(client.status().records, 1);
}

#[test]
fn a_guest_who_is_no_longer_named_loses_what_it_holds() {
    let place = Place::with(|settings| settings.access.users = vec!["nobody".into()]);
    let daemon = place.start();
    let client = place.client();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid.as_raw();
    let Some(mut guest) = spawn_as(&place, nobody, "the_guest_who_stays") else { return };
    client.cards_until(|rows| rows[0].queues == 1);
    // Neither a settings file that says the same, nor the next daemon, takes it away.
    client.done(ClientRequest::Reload);
    assert_eq!(client.cards()[0].queues, 1);
    daemon.kill();
    let _daemon = place.start();
    let client = place.client();
    assert_eq!(client.cards()[0].queues, 1);
    place.change(|settings| settings.access.users.clear());
    client.done(ClientRequest::Reload);
    client.cards_until(|rows| rows[0].queues == 0);
    guest.kill().unwrap();
    guest.wait().unwrap();
}

#[test]
fn a_connected_guest_who_is_no_longer_named_is_disconnected() {
    let place = Place::with(|settings| settings.access.users = vec!["nobody".into()]);
    let _daemon = place.start();
    let client = place.client();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid.as_raw();
    let Some(mut guest) = spawn_as(&place, nobody, "the_guest_who_stays") else { return };
    client.cards_until(|rows| rows[0].queues == 1);
    assert_eq!(client.status().connections, 2);
    place.change(|settings| settings.access.users.clear());
    client.done(ClientRequest::Reload);
    assert_eq!(client.status().connections, 1);
    client.cards_until(|rows| rows[0].queues == 0);
    guest.kill().unwrap();
    guest.wait().unwrap();
}

#[test]
#[ignore = "what the guests of the tests above do"]
fn the_guest_who_stays() {
    let Some(socket) = std::env::var_os("CRYPTAND_TEST_SOCKET") else { return };
    let client = Client::greet(std::path::Path::new(&socket));
    let (_, queue) = client.attach(0);
    call(&queue).unwrap();
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "what the guest of a_guest_uses_keys_and_changes_nothing does"]
fn the_guest() {
    let Some(socket) = std::env::var_os("CRYPTAND_TEST_SOCKET") else { return };
    let socket = std::path::Path::new(&socket);
    // A program knows a home by its version before it looks for the socket.
    let home = home::Home::open(socket.ancestors().nth(2).unwrap()).unwrap();
    assert_eq!(home.guest_socket(), socket);
    assert!(home.settings().is_err() && std::fs::read(home.key_store()).is_err());
    assert!(std::fs::read_dir(home.folder()).is_err() && std::fs::read_dir(home.logs()).is_err());
    let client = Client::greet(socket);
    let (_, queue) = client.attach(0);
    call(&queue).unwrap();
    opened(&client.ask(ClientRequest::OpenLabel { label: label("A") }));
    let list = ClientRequest::RecordList { store: None, pattern: String::new(), after: None };
    assert!(matches!(client.ask(list), ClientReply::Records(rows) if rows.len() == 1));
    for denied in [
        calls::read("A"),
        calls::create("B", &[]),
        calls::create("B", &des_token(1)),
        calls::delete("A", false),
        calls::write("A", &des_token(2)),
        ClientRequest::Reload,
        ClientRequest::Shutdown { lose_keys: false },
        ClientRequest::Backup { folder: "/tmp".into() },
        ClientRequest::Officer(OfficerOrder::Set { domain: 0 }),
        ClientRequest::Observe { card: 0 },
        ClientRequest::Observe { card: 99 },
        ClientRequest::Lift { tenant: "0".into() },
        ClientRequest::Tables,
        ClientRequest::Failures { after: None, refused: false },
        ClientRequest::ClearFailures { digest: None },
    ] {
        assert_eq!(client.refused(denied), Refusal::Denied);
    }
    // One guest does not take all connections.
    let socket = std::path::Path::new(&socket);
    if lacks_descriptors() {
        return;
    }
    let _others: Vec<Client> = (1..GUEST_CONNECTIONS_MAX).map(|_| Client::greet(socket)).collect();
    let channel = Channel::connect(socket).unwrap();
    channel
        .send(&ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false }, &[])
        .unwrap();
    let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
    let limit = GUEST_CONNECTIONS_MAX as u64;
    assert!(matches!(reply, ClientReply::Refused(Refusal::Full { limit: told, .. }) if told == limit));
}
