//! `cryptand health`, `status` and the exporter's `/health` in every state that a home can be in, and the alert rules:
//! real processes, really ended, sealed and starved, and a real Prometheus.

mod alerts;
mod bench;

use bench::{Bench, Exporter, PASSPHRASE, PATIENCE, get, load_keys};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

#[test]
fn each_state_of_cards_keys_and_daemon_is_told() {
    let bench = Bench::new(&["init", "--no-master-keys", "--seal-memory", "64"]);
    bench.until("down", &["daemon-down"]);
    bench.done(&["serve", "--background"], "");
    bench.until("sealed", &["no-keys"]);
    load_keys(&bench);
    bench.done(&["master-key", "set"], "");
    bench.until("degraded", &["keys-not-sealed"]);
    bench.done(&["master-key", "seal"], &PASSPHRASE.repeat(2));
    bench.until("healthy", &[]);

    bench.done(&["card", "quiesce", "0"], "");
    bench.until("degraded", &["card-quiesced"]);
    bench.done(&["card", "quiesce", "1"], "");
    bench.until("down", &["no-card", "card-quiesced", "card-quiesced"]);
    bench.done(&["card", "resume", "0"], "");
    bench.done(&["card", "resume", "1"], "");
    bench.until("healthy", &[]);

    // A card that ends without a keeper that holds keys comes back without; unsealing gives them to it.
    let before = bench.status();
    bench.end(&before["keeper_pid"], Signal::KILL);
    bench.until("degraded", &["keeper-sealed"]);
    bench.end(&before["cards"][0]["pid"], Signal::KILL);
    bench.until("degraded", &["card-sealed", "keeper-sealed"]);
    bench.done(&["unseal"], PASSPHRASE);
    bench.until("healthy", &[]);

    // All of it ends and starts, as after a loss of power.
    let before = bench.status();
    bench.end(&before["daemon_pid"], Signal::KILL);
    bench.until("down", &["daemon-down"]);
    let cards = before["cards"].as_array().unwrap().iter().map(|card| &card["pid"]);
    cards.chain([&before["keeper_pid"]]).for_each(|pid| bench.end(pid, Signal::KILL));
    bench.done(&["serve", "--background"], "");
    bench.until("sealed", &["no-keys"]);
    bench.done(&["unseal"], PASSPHRASE);
    bench.until("healthy", &[]);

    let backup = bench.base.path().join("backup");
    assert_eq!(bench.status()["backup_unix_s"], Value::Null);
    bench.done(&["backup", backup.to_str().unwrap()], "");
    let noted = bench.status()["backup_unix_s"].as_u64().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!((now - 600..=now).contains(&noted), "{noted}");
    bench.done(&["stop"], "");
    bench.until("down", &["daemon-down"]);
}

/// Keys that no sealed copy holds end with their keeper: nothing that ends or replaces it does so unasked.
#[test]
fn keys_in_no_sealed_copy_are_not_lost_without_a_word() {
    let bench = Bench::new(&["init", "--no-master-keys", "--seal-memory", "64"]);
    bench.done(&["serve", "--background"], "");
    load_keys(&bench);
    bench.done(&["master-key", "set"], "");
    bench.done(&["key", "generate", "A.KEY", "--type", "aes256"], "");
    let refused = |arguments: &[&str], says: &[&str]| {
        let output = bench.run(arguments, "");
        let said = String::from_utf8(output.stderr).unwrap();
        // Of a reload it is the settings that are not valid.
        let code = if arguments == ["reload"] { 1 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(says.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
    };
    let way_out = ["in no sealed copy", "1 key record(s)", "`cryptand master-key seal`", "--lose-keys"];
    refused(&["stop"], &way_out);
    refused(&["key", "reencipher"], &way_out);
    refused(&["key", "renew"], &way_out);
    bench.done(&["key", "reencipher", "--dry-run"], "");
    bench.done(&["key", "renew", "--dry-run"], "");
    // Other domains take another keeper.
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("domains = 1", "domains = 2")).unwrap();
    refused(&["reload"], &["in no sealed copy", "`cryptand master-key seal`"]);
    std::fs::write(&path, &text).unwrap();
    bench.done(&["reload"], "");
    bench.until("degraded", &["keys-not-sealed"]);
    bench.done(&["key", "test", "A.KEY"], "");

    bench.done(&["master-key", "seal"], &PASSPHRASE.repeat(2));
    bench.done(&["key", "reencipher"], "");
    bench.done(&["stop"], "");
    bench.done(&["serve", "--background"], "");
    bench.done(&["unseal"], PASSPHRASE);
    bench.done(&["key", "test", "A.KEY"], "");

    // Who says so loses them, and a signal stops the home in any case; the log says what was lost.
    for (part, digits) in [("first", "11"), ("last", "22")] {
        bench.done(&["master-key", "load", "aes", part, "--from-stdin"], &(digits.repeat(32) + "\n"));
    }
    bench.done(&["master-key", "set"], "");
    refused(&["stop"], &way_out);
    bench.end(&bench.status()["daemon_pid"], Signal::TERM);
    bench.until("down", &["daemon-down"]);
    let log = std::fs::read_to_string(bench.home().join("log/daemon.log")).unwrap();
    assert!(log.contains("master keys in use were in no sealed copy"), "{log}");

    // The keys of a development home repeat, whatever was set there.
    let development = Bench::new(&["init", "--insecure-dev", "--seed", "7"]);
    development.done(&["serve", "--background"], "");
    load_keys(&development);
    development.done(&["master-key", "set"], "");
    development.done(&["stop"], "");
}

#[test]
fn a_home_whose_settings_have_no_card_for_its_keys_is_down_and_can_be_given_one() {
    let bench = Bench::new(&["init", "--no-master-keys", "--seal-memory", "64"]);
    bench.done(&["serve", "--background"], "");
    load_keys(&bench);
    bench.done(&["master-key", "set"], "");
    bench.done(&["master-key", "seal"], &PASSPHRASE.repeat(2));
    bench.done(&["key", "generate", "A.KEY", "--type", "aes256"], "");
    bench.done(&["card", "remove", "1"], "");
    bench.until("healthy", &[]);
    // The last of its kind only after a question, which nobody can be asked here.
    let remove = |card: &str, kind: &str| {
        let output = bench.run(&["card", "remove", card], "");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("--yes"), "{said}");
        assert!(said.contains(&format!("the last {kind}")), "{said}");
        bench.done(&["card", "remove", card, "--yes"], "");
    };
    bench.until("healthy", &[]);
    remove("0", "coprocessor");
    bench.until("down", &["no-card"]);
    // Sealed as well, in a start that succeeds all the same.
    bench.done(&["stop"], "");
    bench.done(&["serve", "--background"], "");
    bench.until("down", &["no-card"]);
    remove("2", "accelerator");
    bench.until("down", &["no-card"]);
    bench.done(&["stop"], "");
    bench.done(&["serve", "--background"], "");
    bench.until("down", &["no-card"]);
    bench.done(&["card", "add", "--personality", "coprocessor"], "");
    bench.until("sealed", &["no-keys"]);
    bench.done(&["unseal"], PASSPHRASE);
    bench.until("healthy", &[]);
    bench.done(&["key", "test", "A.KEY"], "");
}

#[test]
fn the_exporter_tells_health_answers_and_room() {
    let bench = Bench::new(&["init", "--insecure-dev", "--seed", "7"]);
    let exporter = Exporter::new(&bench);
    exporter.until("503", "daemon-down");
    bench.done(&["serve", "--background"], "");
    exporter.until("200", r#""state":"healthy""#);
    // One answer with return code 8, of a key that there is not.
    let typed =
        r#"{"rule_array": ["AES", "ECB", "KEYIDENT"], "key_identifier": "label:NO.KEY", "block_size": 16}"#;
    assert!(!bench.run(&["verb", "symmetric-algorithm-encipher", typed], "").status.success());
    let token = r#"{"rule_array": ["SHA-1", "ONLY"], "text": "hex:00", "hash_length": 19}"#;
    let refused = bench.run(&["verb", "one-way-hash", token], "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("8/"), "{refused:?}");
    let end = Instant::now() + PATIENCE;
    let sample = |page: &str, name: &str, part: &str| -> f64 {
        let mut lines = page.lines().filter(|line| line.starts_with(name) && line.contains(part));
        lines.next().unwrap_or_else(|| panic!("{name} {part}")).rsplit(' ').next().unwrap().parse().unwrap()
    };
    loop {
        let page = get(&exporter.1, "/metrics");
        let failed = page.lines().filter(|line| line.starts_with("cryptand_verb_answers_total"));
        let mut failed = failed.filter(|line| line.contains("one-way-hash") && line.contains(r#""8""#));
        if failed.any(|line| line.ends_with(" 1")) {
            assert_eq!(sample(&page, "cryptand_health", "healthy"), 1.0);
            assert_eq!(sample(&page, "cryptand_findings", "no-card"), 0.0);
            assert!(sample(&page, "cryptand_home_free_bytes", "") > 0.0);
            assert_eq!(sample(&page, "cryptand_last_backup_timestamp_seconds", ""), 0.0);
            break;
        }
        assert!(Instant::now() < end, "{page}");
    }
    bench.done(&["stop"], "");
    exporter.until("503", "daemon-down");
    // No card is said to be in a state of its last process.
    let page = get(&exporter.1, "/metrics");
    assert_eq!(sample(&page, "cryptand_health", "down"), 1.0);
    assert!(sample(&page, "cryptand_card_state", r#"state="created""#) == 1.0, "{page}");
}

/// A small file system, unmounted when the test ends.
struct Small(PathBuf);

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn little_room_is_told() {
    let base = tempfile::tempdir().unwrap();
    let mount = |folder: &Path| {
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=60m", "none"]).arg(folder).output()
    };
    let is_mounted = mount(base.path()).is_ok_and(|done| done.status.success());
    if needs::did_without(needs::Need::Mount, !is_mounted) {
        return;
    }
    let _small = Small(base.path().to_owned());
    let bench =
        Bench::below(tempfile::tempdir_in(base.path()).unwrap(), &["init", "--insecure-dev", "--seed", "7"]);
    bench.done(&["serve", "--background"], "");
    bench.until("degraded", &["space-low"]);
}

/// Somebody who waits for readiness, as a service manager does, over the socket that it names.
fn managed(bench: &Bench) -> (std::os::unix::net::UnixDatagram, Child) {
    let path = bench.base.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = bench.command(&["serve"]);
    let child = command.env("NOTIFY_SOCKET", &path).stderr(Stdio::piped()).spawn().unwrap();
    (socket, child)
}

fn told(socket: &std::os::unix::net::UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let read = needs::uninterrupted(|| socket.recv(&mut buffer));
    let read = read.expect("the service manager is told something");
    String::from_utf8(buffer[..read].to_vec()).unwrap()
}

#[test]
fn a_service_manager_is_told_the_state_as_it_changes() {
    let bench = Bench::new(&["init", "--no-master-keys", "--seal-memory", "64"]);
    let (socket, mut child) = managed(&bench);
    assert_eq!(told(&socket), "READY=1");
    let status = told(&socket);
    assert!(status.starts_with("STATUS=sealed: ") && status.contains("cryptand unseal"), "{status}");
    load_keys(&bench);
    bench.done(&["master-key", "set"], "");
    while !told(&socket).contains("STATUS=degraded: master keys in use are in no sealed copy") {}
    bench.done(&["master-key", "seal"], &PASSPHRASE.repeat(2));
    while told(&socket) != "STATUS=healthy" {}
    bench.done(&["stop"], "");
    while told(&socket) != "STOPPING=1" {}
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_start_from_which_nothing_comes_fails_with_the_reason() {
    let bench = Bench::new(&["init", "--insecure-dev", "--seed", "7"]);
    // A card program that ends at once, in the place of cards and keeper.
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.starts_with("card = ")).unwrap().to_owned();
    std::fs::write(&path, text.replace(&line, "card = \"/bin/false\"")).unwrap();
    let (socket, child) = managed(&bench);
    let said = told(&socket);
    assert!(said.starts_with("STATUS=not started: "), "{said}");
    for part in ["no coprocessor serves", "no accelerator serves", "the keeper does not serve", "/log"] {
        assert!(said.contains(part), "{said}");
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("no coprocessor serves"), "{error}");
    // Whoever starts it by hand is told the same.
    let output = bench.run(&["serve", "--background"], "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("no coprocessor serves"), "{error}");
    bench.until("down", &["daemon-down"]);
}
