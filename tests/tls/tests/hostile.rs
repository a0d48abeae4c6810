//! Clients that mean harm, written with tlslite-ng (`peers/hostile`): malformed and fragmented handshakes, messages in
//! the wrong order, floods, renegotiation, alerts, truncated and changed records, and wrong premasters. Each case says
//! itself what is expected.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use tls_tests::{Place, said};

/// What came of a case.
struct Outcome {
    case: String,
    /// What the peer says: what it was told, and what is expected.
    peer: Value,
    /// The connection in the access log.
    entry: Value,
}

impl Outcome {
    /// Why it ended, with the library's name of the error.
    fn end(&self) -> &str {
        self.entry["end"].as_str().unwrap()
    }
}

/// Runs all cases, at the same time, at a server of a label.
fn run() -> Vec<Outcome> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/tlslite/bin/python");
    assert!(python.exists(), "{} is missing: `scripts/need test` makes it", python.display());
    let place = Place::new(&[("WEB.RSA", "rsa2048-tls", "rsa.test *.rsa.test")]);
    // Whoever stops in a handshake ends by itself: none is to end by its time.
    let server = place.serve_with(&format!(
        "[limits]\nhandshake_seconds = 600\n{}[[listener]]\naddress = \"127.0.0.1:0\"\npolicy = \"compatible\"\nanswer = \"served\\n\"\n",
        place.certificates()
    ));
    let peer = || {
        let mut command = Command::new(&python);
        // It leaves nothing among the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(root.join("peers/hostile")).arg(server.port());
        command
    };
    let text = said(&mut peer());
    // Whatever came, it serves.
    let after = said(peer().arg("premaster_right_to_finished"));
    assert!(after.contains("\"served\""), "{after}");
    let log = server.stop();
    let peers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(log.len(), peers.len() + 1, "a line for each connection");
    let outcome = |peer: Value| {
        let of = |entry: &&Value| {
            entry["client"].as_str().is_some_and(|from| from.ends_with(&format!(":{}", peer["port"])))
        };
        let entry = log.iter().find(of).unwrap_or_else(|| panic!("{peer} is not in the log")).clone();
        Outcome { case: peer["case"].as_str().unwrap().to_owned(), peer, entry }
    };
    peers.into_iter().map(outcome).collect()
}

#[test]
fn each_case_is_told_what_is_right_and_logged_with_its_cause_while_others_are_served() {
    let outcomes = run();
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|outcome| {
            let cause = outcome.end().split([' ', ':']).next();
            let is_alert = outcome.end().split(" (").next();
            let end = outcome.peer["end"].as_str();
            outcome.peer["told"] != outcome.peer["expected"] || (cause != end && is_alert != end)
        })
        .map(|outcome| format!("{}: {:?}\n", outcome.peer, outcome.end()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(outcomes.len() > 200, "{} cases", outcomes.len());
    premasters(&outcomes);
}

/// Nothing tells wrong premasters from each other: not what is told, not when the connection fails, not what the log
/// says of it.
fn premasters(outcomes: &[Outcome]) {
    let forms = || {
        let wrong = |outcome: &&Outcome| {
            let form = outcome.case.strip_prefix("premaster_");
            // A client that knows the secret learns nothing; a ciphertext of no bytes is asked of no key.
            form.is_some_and(|form| {
                !["right", "wrong_version", "nothing"].iter().any(|one| form.starts_with(one))
            })
        };
        outcomes.iter().filter(wrong)
    };
    for (depth, end) in [
        // The answer of the card is taken in silence: such a connection only ends when the client does.
        ("_to_exchange", "cut "),
        ("_to_change", "cut "),
        ("_to_finished", "protocol "),
        ("_to_finished_with_cbc", "protocol "),
    ] {
        let of_depth: Vec<&Outcome> = forms().filter(|outcome| outcome.case.ends_with(depth)).collect();
        assert!(of_depth.len() > 20, "{depth}: {}", of_depth.len());
        assert!(of_depth.iter().all(|outcome| outcome.entry["key_us"].is_u64()), "{depth}: a key was asked");
        let ends: BTreeSet<&str> = of_depth.iter().map(|outcome| outcome.end()).collect();
        assert!(ends.len() == 1 && ends.iter().all(|one| one.starts_with(end)), "{depth}: {ends:?}");
        let told: BTreeSet<String> =
            of_depth.iter().map(|outcome| outcome.peer["told"].to_string()).collect();
        assert_eq!(told.len(), 1, "{depth}: {told:?}");
    }
    // Who knows the secret and sends it with a wrong version fails at Finished as well, and is told the same.
    let knows = |depth: &str| {
        let name = format!("premaster_wrong_version{depth}");
        outcomes.iter().find(|outcome| outcome.case == name).unwrap()
    };
    assert!(knows("_to_change").end().starts_with("cut "));
    assert!(knows("_to_finished").end().starts_with("protocol "));
    assert!(
        knows("_to_finished").entry["version"].as_str().is_none_or(str::is_empty),
        "no handshake is over"
    );
}
