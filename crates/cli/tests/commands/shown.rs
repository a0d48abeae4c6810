//! What is printed for people and programs, and what is typed wrong.

use super::{Bench, PATIENCE};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn what_programs_read_is_json() {
    let bench = Bench::development();
    let read = |arguments: &[&str]| -> Value { serde_json::from_str(&bench.succeeds(arguments)).unwrap() };
    assert_eq!(read(&["status", "--json"])["cards"].as_array().unwrap().len(), 2);
    assert_eq!(read(&["master-key", "show", "--json"]).as_array().unwrap().len(), 4);
    assert_eq!(read(&["key", "show", "DEV.DES.DATA", "--json"])["store"], "des");
    let looks = bench.succeeds(&["top", "--json", "--count", "2", "--interval", "0.1"]);
    let looks: Vec<Value> = looks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2);
    assert!(looks.iter().all(|look| look["cards"].as_array().unwrap().len() == 2), "{looks:?}");
    let columns = bench.succeeds(&["top", "--once", "--interval", "0.1"]);
    assert!(
        ["coproc", "ITR/S", "Q-P99", "S-MAX", "WAKE/S", "LANES", "no load on 2 card(s)"]
            .iter()
            .all(|word| columns.contains(word)),
        "{columns}"
    );
    let measured = read(&["speed", "--operation", "aes128-cbc-encipher", "--seconds", "0.05", "--json"]);
    assert!(measured["ops_per_s"].as_f64().unwrap() > 0.0);
    let card = [
        "speed",
        "--operation",
        "tdes-mac",
        "--interface",
        "card",
        "--seconds",
        "0.05",
        "--jobs",
        "2",
        "--json",
    ];
    assert_eq!(read(&card)["cards"], 1);
}

#[test]
fn what_was_done_is_seen() {
    let bench = Bench::development();
    bench.verb("random-number-generate", json!({"form": "text:RANDOM  "}));
    let enciphered =
        json!({"key_identifier": "label:DEV.TDES.DATA", "rule_array": ["X9.23"], "plaintext": "text:a text"});
    bench.verb("encipher", enciphered);
    let look: Value =
        serde_json::from_str(&bench.succeeds(&["top", "--json", "--once", "--interval", "0.05"])).unwrap();
    let verbs = look["verbs"].as_array().unwrap();
    let verb = verbs
        .iter()
        .find(|verb| verb["name"] == "random-number-generate")
        .unwrap_or_else(|| panic!("{look}"));
    let start = &verb["since_start"];
    assert_eq!(start["requests"], 1, "{look}");
    assert!(start["service_us"]["max"].as_f64().unwrap() > 0.0);
    assert!(start["queue_us"]["p50"].as_f64() <= start["queue_us"]["max"].as_f64());
    // One request in a pass of a kernel with lanes, and one of a kernel without.
    let status: Value = serde_json::from_str(&bench.succeeds(&["status", "--json"])).unwrap();
    let kinds = status["engine"]["lanes"].as_array().unwrap();
    let lanes = kinds.iter().find(|row| row["kind"] == "TDES, DES").unwrap()["lanes"].as_f64().unwrap();
    let filled = verbs.iter().find(|verb| verb["name"] == "encipher").unwrap();
    assert_eq!(filled["since_start"]["lane_fill"], json!(1.0 / lanes), "{look}");
    assert_eq!(start["lane_fill"], Value::Null, "{look}");
    assert!(look["load"]["cards"].is_u64() && look["load"]["work"].is_f64(), "{look}");
    let page = bench.succeeds(&["metrics"]);
    let line = page.lines().find(|line| {
        line.starts_with("cryptand_verb_requests_total{") && line.contains("verb=\"random-number-generate\"")
    });
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{page}");
    assert!(page.contains("\ncryptand_queues_refused_total{bound=\"tenant-memory\"} 0\n"), "{page}");
}

/// A child that is killed when the test ends.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn metrics_are_served_with_and_without_a_daemon() {
    use std::io::{BufRead, BufReader, Read};
    let bench = Bench::development();
    let child =
        bench.command(&["metrics", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Killed(child);
    let mut said = String::new();
    BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let end = std::time::Instant::now() + PATIENCE;
    let scrape = || loop {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // As many scrapes as are served at once may not have ended yet.
        if !answer.starts_with("HTTP/1.1 503 ") || std::time::Instant::now() > end {
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer:.200}");
            break answer;
        }
    };
    let up = scrape();
    assert!(up.contains("\ncryptand_daemon_up 1\n") && up.contains("state=\"ready\"} 1"), "{up}");
    bench.succeeds(&["stop"]);
    // A page that was just made is given again.
    while !scrape().contains("\ncryptand_daemon_up 0\n") {
        assert!(std::time::Instant::now() < end, "still up");
    }
    bench.succeeds(&["serve", "--background"]);
    while !scrape().contains("\ncryptand_daemon_up 1\n") {
        assert!(std::time::Instant::now() < end, "not up again");
    }
    let taken = bench.fails(&["metrics", "--listen", address], "", 1);
    assert!(taken.contains(address) && taken.contains("listen"), "{taken}");
}

#[test]
fn what_could_be_measured_is_listed_without_measuring() {
    let bench = Bench::new();
    let operations = bench.succeeds(&["speed", "--operation", "list"]);
    assert!(operations.lines().any(|line| line == "tdes-mac"), "{operations}");
    let folder = bench.base.path().join("report");
    let folder = folder.to_str().unwrap();
    let cases = bench.succeeds(&["report", "--plan", "--output", folder]);
    assert!(cases.lines().count() > 100, "{cases}");
    assert!(!Path::new(folder).exists(), "a plan writes nothing");
    let nothing =
        bench.fails(&["bench", "--only", "engine", "--one-level", "--filter", "no such row"], "", 2);
    assert!(nothing.contains("no such row"), "{nothing}");
    let compare = bench.fails(&["report", "compare", folder, folder], "", 1);
    assert!(compare.contains(folder), "{compare}");
}

#[test]
fn what_is_typed_wrong_is_named() {
    let bench = Bench::new();
    assert!(bench.fails(&["status"], "", 7).contains("no such folder"));
    assert!(bench.fails(&["speed", "--operation", "aes1-cbc-encipher"], "", 2).contains("aes1-cbc-encipher"));
    assert!(
        bench.fails(&["speed", "--operation", "aes128-cbc-encipher", "--bytes", "7"], "", 2).contains("7")
    );
    let refused = ["speed", "--operation", "tdes-mac", "--interface", "card", "--personality", "accelerator"];
    assert!(bench.fails(&refused, "", 2).contains("accelerator"));
    assert!(bench.fails(&["verb", "no-such-verb"], "", 2).contains("no-such-verb"));
    bench.succeeds(&["init", "--insecure-dev"]);
    assert!(bench.fails(&["init", "--insecure-dev"], "", 8).contains("a home already"));
    assert!(bench.fails(&["status"], "", 6).contains("cryptand serve"));
    bench.succeeds(&["serve", "--background"]);
    assert!(bench.fails(&["verb", "mac-generate", "{"], "", 2).contains("parameters"));
    assert!(bench.fails(&["verb", "mac-generate", "{\"texts\":1}"], "", 2).contains("texts"));
    assert!(bench.fails(&["verb", "mac-generate", "@/nonexistent"], "", 7).contains("/nonexistent"));
    assert!(bench.fails(&["verb", "mac-generate", "[]"], "", 2).contains("JSON object"));
    let unknown = r#"{"rule_array": ["X9.99"]}"#;
    assert!(
        bench
            .fails(&["verb", "mac-generate", unknown], "", 2)
            .contains("X9.99 is not known; at most one of X9.9-1")
    );
    let elsewhere =
        ["verb", "mac-generate", "--domain", "3", "{\"key_identifier\": \"label:DEV.TDES.DATA\"}"];
    assert!(bench.fails(&elsewhere, "", 3).contains("domain 3"));
    assert!(bench.fails(&["key", "show", "lower"], "", 2).contains("A-Z"));
    assert!(bench.fails(&["key", "generate", "A.B", "--type", "aes"], "", 2).contains("aes256"));
    assert!(bench.fails(&["top", "--interval", "0"], "", 2).contains("0.05"));
    assert!(bench.fails(&["metrics", "--listen", "9418"], "", 2).contains("9418"));
    assert!(bench.fails(&["metrics", "--tenants", "9999"], "", 2).contains("1024"));
}

#[test]
fn a_level_is_forced_by_flag_or_environment_and_shown() {
    let measured = |arguments: &[&str], level: Option<&str>| -> Result<Value, String> {
        let base = ["speed", "--operation", "sha256", "--bytes", "64", "--seconds", "0.01", "--json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.args(base).args(arguments).env_remove("CRYPTAND_LEVEL").env_remove("CRYPTAND_HOME");
        let output = command.envs(level.map(|level| ("CRYPTAND_LEVEL", level))).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if output.status.success() { Ok(serde_json::from_slice(&output.stdout).unwrap()) } else { Err(said) }
    };
    // Without a home: the engine of the command itself.
    let own = |arguments: &[&str], level| measured(arguments, level).unwrap()["level"].clone();
    assert_eq!(own(&["--level", "portable"], None), "portable");
    assert_eq!(own(&[], Some("portable")), "portable");
    assert_eq!(own(&["--level", "portable"], Some("avx512")), "portable", "what is typed goes first");
    assert_eq!(own(&[], Some("")), own(&[], None), "empty is unset");
    assert_eq!(own(&[], Some("avx512")), own(&[], None), "a limit above the best changes nothing");
    let wrong = measured(&[], Some("avx1024")).unwrap_err();
    for word in ["CRYPTAND_LEVEL=avx1024", "portable", "avx2", "avx512"] {
        assert!(wrong.contains(word), "{wrong}");
    }
    let wrong = measured(&["--level", "avx1024"], None).unwrap_err();
    for word in ["--level", "avx1024", "portable", "avx2", "avx512"] {
        assert!(wrong.contains(word), "{wrong}");
    }
}

#[test]
fn parts_of_the_bench_run_alone() {
    let bench = Bench::new();
    let quick = ["--rounds", "1", "--seconds", "0.001", "--one-level", "--json"];
    let rows = |arguments: &[&str]| -> Vec<Value> {
        let output = bench.run(&[&["bench"], arguments, &quick[..]].concat(), "");
        // What is not kept in a millisecond is no failure of the command.
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
    };
    let engine = rows(&["--only", "engine", "--filter", "gcm seal, 1 kib"]);
    assert!(engine.iter().any(|row| row["case"] == "AES-128-GCM seal, 1 KiB" && row["part"] == "engine"));
    let timing = rows(&["--only", "timing", "--filter", "first byte or another one"]);
    assert_eq!((timing.len(), &timing[0]["unit"]), (1, &json!("t")));
    assert!(bench.fails(&["bench", "--rounds", "0"], "", 2).contains("1 to 1000"));
    assert!(bench.fails(&["bench", "--only", "all"], "", 2).contains("engine"));
    let negative = bench.fails(&["bench", "--seconds", "-1"], "", 2);
    assert!(negative.contains("--seconds") && negative.contains("0.001"), "{negative}");
    // It is the laboratory's program that refuses this one.
    let negative = bench.fails(&["speed", "sha256", "--seconds", "-1"], "", 2);
    assert!(negative.contains("-1 seconds"), "{negative}");
}

#[test]
fn pages_are_made() {
    let bench = Bench::new();
    let folder = bench.base.path().join("man");
    std::fs::create_dir(&folder).unwrap();
    bench.succeeds(&["man", folder.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    assert!(page("cryptand.1").contains("cryptand"));
    assert!(page("cryptand-speed.1").contains("operation"));
    assert!(page("cryptand-metrics.1").contains("listen") && page("cryptand-top.1").contains("interval"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.succeeds(&["completions", shell]).contains("master-key"));
    }
}

/// As of a visitor who has typed nothing else yet, and of one whose environment names a home.
#[test]
fn a_command_without_its_subcommand_prints_help() {
    for (words, expected) in [(&[][..], "OpenPGP files:"), (&["key"], "generate"), (&["tls"], "serve")] {
        for home in [None, Some("/nonexistent")] {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cryptand"));
            command.args(words).env_remove("CRYPTAND_HOME");
            home.map(|home| command.env("CRYPTAND_HOME", home));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?} {home:?}: {said}");
            assert!(said.contains("Usage:") && said.contains(expected), "{words:?} {home:?}: {said}");
        }
    }
}

#[test]
fn help_prints_commands_and_pages() {
    let bench = Bench::new();
    let page = bench.succeeds(&["help", "keyblocks"]);
    assert_eq!(page, include_str!("../../../../docs/reference/keyblocks.md"));
    assert_eq!(bench.succeeds(&["help", "reference/keyblocks.md"]), page);
    let of_command = bench.succeeds(&["help", "key", "list"]);
    assert!(of_command.contains("Usage: cryptand key list"), "{of_command}");
    // A command and a page of one name.
    let both = bench.succeeds(&["help", "tls"]);
    assert!(both.contains("Usage: cryptand tls") && both.contains("`cryptand help howto/tls`"), "{both}");
    assert!(bench.succeeds(&["help", "howto/tls"]).starts_with('#'));
    let topics = bench.succeeds(&["help", "topics"]);
    assert!(topics.lines().any(|line| line.starts_with("reference/exit-codes  ")), "{topics}");
    let unknown = bench.fails(&["help", "keyblok"], "", 7);
    assert!(unknown.contains("did you mean") && unknown.contains("exit-codes"), "{unknown}");
    assert!(bench.succeeds(&["help"]).contains("Usage: cryptand"));
}

#[test]
fn who_has_no_home_yet_is_told_of_one_for_trying_things_out() {
    let bench = Bench::new();
    for command in [&["status"][..], &["key", "list"], &["serve"]] {
        assert!(bench.fails(command, "", 7).contains("--insecure-dev"), "{command:?}");
    }
}

#[test]
fn the_version_says_revision_and_level() {
    let said = Command::new(env!("CARGO_BIN_EXE_cryptand")).arg("--version").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let (version, rest) = said.trim_end().split_once(" (revision ").unwrap();
    assert_eq!(version, concat!("cryptand ", env!("CARGO_PKG_VERSION")));
    let (revision, level) = rest.split_once(", level ").unwrap();
    assert!(
        revision == "unknown" || revision.trim_end_matches('+').bytes().all(|one| one.is_ascii_hexdigit())
    );
    assert!(["portable)", "avx2)", "avx512)"].contains(&level), "{said}");
}
