//! Homes as earlier versions left them are opened, and everything in them is there.

use crate::common::{self, Place, calls, ready};
use daemon::store::{Done, Job, KeyStore, Record, SqliteStore};
use std::path::Path;
use wire::Label;
use wire::control::{ClientReply, ClientRequest, Store};

/// Labels of the sample keys of a development home.
const SAMPLES: [(&str, Store, u32); 6] = [
    ("DEV.AES128.DATA", Store::Aes, 64),
    ("DEV.AES192.DATA", Store::Aes, 64),
    ("DEV.AES256.DATA", Store::Aes, 64),
    ("DEV.DES.DATA", Store::Des, 64),
    ("DEV.RSA2048.KEY", Store::Pka, 1101),
    ("DEV.TDES.DATA", Store::Des, 64),
];

/// A home of layout 1, as its program wrote it, in a folder of its own; its programs are those of these tests.
fn home_of_layout_1() -> Place {
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/homes/1");
    for name in ["keys.sqlite", "version", "settings.toml"] {
        let to = place.home.folder().join(name);
        std::fs::copy(kept.join(name), &to).unwrap();
        // As that program left it: its owner's alone.
        std::fs::set_permissions(to, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let programs = Place::new().home.settings().unwrap().programs;
    place.change(|settings| settings.programs = programs);
    place
}

#[test]
fn a_home_of_the_version_before_is_served() {
    let place = home_of_layout_1();
    let checked = place.command().arg("--check").output().unwrap();
    assert!(String::from_utf8_lossy(&checked.stdout).contains("6 key records"), "{checked:?}");
    let daemon = place.start();
    let client = place.client();
    assert!(ready(&client.cards()));
    let list = ClientRequest::RecordList { store: None, pattern: "*".into(), after: None };
    let ClientReply::Records(rows) = client.ask(list) else { panic!() };
    let rows: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.store, row.token_bytes)).collect();
    assert_eq!(rows, SAMPLES);
    for (name, store, token_bytes) in SAMPLES {
        let opened = client.ask(ClientRequest::OpenLabel { label: Label::new(name).unwrap() });
        assert!(
            matches!(opened, ClientReply::Opened { store: of, token_bytes: bytes, .. } if of == store && bytes == token_bytes),
            "{name}: {opened:?}"
        );
    }
    assert_eq!(client.ask(calls::delete("DEV.DES.DATA", false)), calls::DONE);
    assert_eq!(client.ask(calls::create("NEW", &common::des_token(1))), calls::DONE);
    assert_eq!(daemon.terminate(), 0);
    let store = SqliteStore::open(&place.home.key_store()).unwrap();
    store.verify().unwrap();
    let label = Label::new("NEW").unwrap();
    let new = Record { store: Store::Des, label: label.clone(), token: common::des_token(1) };
    assert_eq!(store.run(&Job::Find { label }), Ok(Done::Found(new)));
    assert_eq!(store.count(), Ok(6));
}
