//! Cards and daemons that go away under handshakes, and come back.

use crate::support::{self, Client, Folder, VERSIONS, ask, close, ecdsa, output, rsa};
use openssl::ssl::SslVersion;
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use system_tests::Installation;

/// Puts the key of NAME.key under a label.
fn import(installation: &Installation, folder: &Folder, label: &str, name: &str) {
    let file = folder.path(&format!("{name}.key"));
    command(installation, &["key", "import", label, support::path_text(&file), "--use", "tls"]);
}

fn command(installation: &Installation, arguments: &[&str]) {
    let mut command = std::process::Command::new(system_tests::program("cryptand"));
    command.arg("--home").arg(installation.home.folder()).args(arguments);
    let (is_done, said) = output(&mut command, b"");
    assert!(is_done, "{said}");
}

fn settings(installation: &Installation, handshake_seconds: u32) -> String {
    format!(
        "[home]\nfolder = \"{}\"\n[limits]\nhandshake_seconds = {handshake_seconds}\n\
         [[certificate]]\nchain = \"one.pem\"\nlabel = \"WEB.ONE\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n",
        installation.home.folder().display()
    )
}

#[test]
fn cards_killed_each_second_lose_no_handshake() {
    let installation = Installation::new(2, 0);
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    import(&installation, &folder, "WEB.ONE", "one");
    let server = folder.serve(&settings(&installation, 100));
    let (address, is_over, served) = (server.address(), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (is_over, served) = (&is_over, &served);
            scope.spawn(move || {
                let client = Client::new(VERSIONS[worker % 2]);
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = client.connect(address, "one.test").expect("no handshake is lost");
                    assert_eq!(ask(&mut stream), "served\n");
                    close(stream);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..5 {
            let begun = Instant::now();
            // The other one is there.
            let card = installation.until_ready().remove(round % 2);
            system_tests::kill(card.pid);
            std::thread::sleep(Duration::from_secs(1).saturating_sub(begun.elapsed()));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let served = served.into_inner();
    let log = server.stop();
    assert!(served > 5 && log.len() == served, "{served} served, {} in the log", log.len());
    let is_done = |entry: &serde_json::Value| entry["end"] == "done" && entry["key"] == "label WEB.ONE";
    assert!(log.iter().all(is_done), "{log:?}");
}

#[test]
fn handshakes_without_cards_end_in_their_time_and_what_is_open_goes_on() {
    let mut installation = Installation::new(2, 0);
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    import(&installation, &folder, "WEB.ONE", "one");
    let server = folder.serve(&settings(&installation, 2));
    let (address, client) = (server.address(), Client::new(SslVersion::TLS1_3));
    let mut kept = client.connect(address, "one.test").unwrap();
    assert_eq!(ask(&mut kept), "served\n");
    // Who would replace cards that stand still stands still as well.
    let cards = installation.until_ready();
    system_tests::signal(installation.daemon_pid(), Signal::STOP);
    for card in &cards {
        system_tests::signal(card.pid, Signal::STOP);
    }
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = VERSIONS
            .iter()
            .map(|version| scope.spawn(move || Client::new(*version).connect(address, "one.test").err()))
            .collect();
        // They wait for a card, and nobody waits for them.
        for _ in 0..10 {
            assert_eq!(ask(&mut kept), "served\n");
        }
        for client in waiting {
            let why = client.join().unwrap().expect("nobody can have signed");
            assert!(why.contains("alert internal error"), "{why}");
        }
    });
    assert!(begun.elapsed() >= Duration::from_secs(2), "it waits as long as a handshake may take");
    assert_eq!(ask(&mut kept), "served\n");
    for card in &cards {
        system_tests::signal(card.pid, Signal::CONT);
    }
    system_tests::signal(installation.daemon_pid(), Signal::CONT);
    installation.until_ready();
    let again = || {
        let end = Instant::now() + support::PATIENCE;
        // What a card needs to come back may be longer than a handshake.
        let mut stream = loop {
            match client.connect(address, "one.test") {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
        };
        assert_eq!(ask(&mut stream), "served\n");
        close(stream);
    };
    again();
    // Cards outlive a daemon, and the next one takes them over.
    installation.kill_daemon();
    assert_eq!(ask(&mut kept), "served\n");
    installation.start();
    installation.until_ready();
    again();
    assert_eq!(ask(&mut kept), "served\n");
    close(kept);
    let log = server.stop();
    let late = log.iter().filter(|entry| entry["end"] == "handshake-timeout").count();
    let done = log.iter().filter(|entry| entry["end"] == "done").count();
    assert!(late >= 2 && done == 3, "{log:?}");
}

#[test]
fn a_label_made_again_with_another_key_is_refused_by_its_name() {
    let installation = Installation::new(1, 0);
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder.certify("other", &ecdsa(), &["one.test"]);
    import(&installation, &folder, "WEB.ONE", "one");
    let server = folder.serve(&settings(&installation, 30));
    let (address, client) = (server.address(), Client::new(SslVersion::TLS1_3));
    close(client.connect(address, "one.test").unwrap());
    command(&installation, &["key", "delete", "WEB.ONE", "--yes"]);
    assert!(client.connect(address, "one.test").is_err());
    import(&installation, &folder, "WEB.ONE", "other");
    server.reload();
    let said = server.said();
    let refused = said.lines().find(|line| line.contains("not reloaded")).unwrap_or_else(|| panic!("{said}"));
    assert!(refused.contains("WEB.ONE") && refused.contains("another key"), "{said}");
    // A signature of another key than the certificate's is worth nothing to a client.
    assert!(client.connect(address, "one.test").is_err());
    command(&installation, &["key", "delete", "WEB.ONE", "--yes"]);
    import(&installation, &folder, "WEB.ONE", "one");
    server.reload();
    let mut stream = client.connect(address, "one.test").unwrap();
    assert_eq!(ask(&mut stream), "served\n");
    close(stream);
    let log = server.stop();
    assert!(log.iter().any(|entry| entry["end"] == "key"), "{log:?}");
}
