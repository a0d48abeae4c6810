//! The daemon over a key store that is not its own: its life, and records that others change.

mod common;
#[path = "life.rs"]
mod life;

use common::records::memory::Memory;
use common::{Client, Place, calls, des_token};
use daemon::store::Record;
use link::KeyTableView;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use wire::control::{ClientReply, ClientRequest, Refusal, Store};
use wire::{KeyReference, Label, code};

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn record(text: &str, fill: u8) -> Record {
    Record { store: Store::Des, label: label(text), token: des_token(fill) }
}

fn open(client: &Client, text: &str) -> KeyReference {
    match client.ask(ClientRequest::OpenLabel { label: label(text) }) {
        ClientReply::Opened { reference, .. } => reference,
        other => panic!("{other:?}"),
    }
}

/// The token that a card gets for a reference.
fn token(place: &Place, reference: KeyReference, tenant: u32) -> Option<Vec<u8>> {
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let mut token = Vec::new();
    KeyTableView::join(table.as_fd()).unwrap().read(reference, tenant, &mut token).is_ok().then_some(token)
}

#[test]
fn what_another_changed_is_revoked_before_it_is_acknowledged() {
    let place = Place::new();
    let records = place.records.as_ref().unwrap();
    let _daemon = place.start();
    let client = place.client();
    for (text, fill) in [("A", 1), ("B", 2)] {
        records.put(record(text, fill));
        records.await_acknowledged(&label(text));
    }
    let (a, b) = (open(&client, "A"), open(&client, "B"));
    assert_eq!(token(&place, a, client.tenant), Some(des_token(1)));

    // Whatever the daemon has told of as acknowledged, no card could open any more at that moment.
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    let (tenant, seen) = (client.tenant, Arc::new(Mutex::new(Vec::new())));
    let notes = Arc::clone(&seen);
    records.at_asking(move |memory| {
        let is_open = table.read(a, tenant, &mut Vec::new()).is_ok();
        notes.lock().unwrap().push((memory.has_news(), is_open));
    });
    records.put(record("A", 3));
    records.await_acknowledged(&label("A"));
    // The first asking is told of the change; the next one acknowledges it.
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() >= 2 && seen[0] == (true, true), "{seen:?}");
    assert!(seen[1..].iter().all(|(_, is_open)| !is_open), "{seen:?}");

    assert_eq!(token(&place, a, client.tenant), None);
    assert_eq!(token(&place, b, client.tenant), Some(des_token(2)));
    assert_eq!(token(&place, open(&client, "A"), client.tenant), Some(des_token(3)));
    records.delete(&label("A"));
    records.await_acknowledged(&label("A"));
    let gone = client.ask(ClientRequest::OpenLabel { label: label("A") });
    assert_eq!(gone, ClientReply::Refused(Refusal::Verb(code::LABEL_NOT_FOUND)));
    assert_eq!(open(&client, "B"), b);
}

#[test]
fn missed_changes_revoke_everything() {
    let place = Place::new();
    let records = place.records.as_ref().unwrap();
    let _daemon = place.start();
    let client = place.client();
    for (text, fill) in [("A", 1), ("B", 2)] {
        records.put(record(text, fill));
        records.await_acknowledged(&label(text));
    }
    let opened = [open(&client, "A"), open(&client, "B")];
    records.change(Memory::miss);
    records.await_acknowledged(&label("A"));
    assert_eq!(opened.map(|reference| token(&place, reference, client.tenant)), [None, None]);
}

#[test]
fn a_store_that_cannot_tell_is_asked_again() {
    let place = Place::new();
    let records = place.records.as_ref().unwrap();
    let _daemon = place.start();
    let client = place.client();
    records.put(record("A", 1));
    records.await_acknowledged(&label("A"));
    let before = open(&client, "A");
    records.change(|memory| {
        memory.failures = 2;
        memory.change(&label("A"), Some(record("A", 2)));
    });
    records.await_acknowledged(&label("A"));
    assert_eq!(token(&place, before, client.tenant), None);
    assert!(place.log().contains("ask for changes of"), "{}", place.log());
}

#[test]
fn what_changed_while_no_daemon_ran_is_revoked_by_the_next() {
    let place = Place::new();
    let records = place.records.as_ref().unwrap();
    let daemon = place.start();
    let client = place.client();
    for text in ["A", "B"] {
        records.put(record(text, 1));
        records.await_acknowledged(&label(text));
    }
    let (a, b) = (open(&client, "A"), open(&client, "B"));
    daemon.kill();
    records.put(record("A", 2));
    assert_eq!(token(&place, a, client.tenant), Some(des_token(1)));
    let _daemon = place.start();
    records.await_acknowledged(&label("A"));
    assert_eq!(token(&place, a, client.tenant), None);
    assert_eq!(token(&place, b, client.tenant), Some(des_token(1)));
}

#[test]
fn a_clear_key_that_another_wrote_is_not_opened() {
    let place = Place::new();
    let records = place.records.as_ref().unwrap();
    let _daemon = place.start();
    let client = place.client();
    let mut clear = vec![0; 64];
    (clear[0], clear[23], clear[60]) = (1, 1, 1);
    records.put(Record { store: Store::Des, label: label("A"), token: clear });
    let refusal = client.refused(ClientRequest::OpenLabel { label: label("A") });
    assert!(
        matches!(&refusal, Refusal::Storage { operation, .. } if operation == "use record A"),
        "{refusal:?}"
    );
}

#[test]
fn records_outlive_daemons() {
    let place = Place::new();
    let daemon = place.start();
    let client = place.client();
    assert_eq!(client.create("A", des_token(1)), calls::DONE);
    assert_eq!(client.create("A", des_token(1)), calls::refused(code::LABEL_EXISTS));
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(place.client().status().records, 1);
}

#[test]
fn a_store_elsewhere_is_not_backed_up_by_the_daemon() {
    let place = Place::new();
    let _daemon = place.start();
    let folder = place.base.path().join("backup");
    std::fs::create_dir(&folder).unwrap();
    let backup = ClientRequest::Backup { folder: folder.to_str().unwrap().into() };
    let refusal = place.client().refused(backup);
    assert!(
        matches!(&refusal, Refusal::Storage { cause, .. } if cause.contains("not in the home")),
        "{refusal:?}"
    );
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none());
}

#[test]
fn a_daemon_without_its_store_does_not_start() {
    let place = Place::new();
    std::fs::remove_file(&place.records.as_ref().unwrap().socket).unwrap();
    let (code, said) = place.refuse();
    assert!(code == 1 && said.contains("connect to") && said.contains("records"), "{said}");
}
