//! `cryptand report --only`, as typed.

use std::process::{Command, Output};

fn report(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cryptand-lab")).arg("report").args(arguments).output().unwrap()
}

#[test]
fn one_experiment_is_planned_alone() {
    let planned = report(&["--plan", "--only", "balance"]);
    assert!(planned.status.success(), "{planned:?}");
    assert_eq!(String::from_utf8(planned.stdout).unwrap(), "balance/both-shared\nbalance/one-shared\n");
    let all = report(&["--plan", "--quick"]);
    let text = String::from_utf8(all.stdout).unwrap();
    for case in [
        "balance/one-shared",
        "shared/pcica/6/own",
        "tenants/pcica/12-slow/120",
        "des-cbc-encipher/native/64B/1j/1p",
    ] {
        assert!(text.lines().any(|line| line == case), "{case} is not in\n{text}");
    }
}

#[test]
fn an_unknown_experiment_is_refused_with_the_names_of_all() {
    let refused = report(&["--only", "balances"]);
    assert!(!refused.status.success());
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("balances") && text.contains("shared, tenants, balance, jobs, waiting"), "{text}");
}

#[test]
fn an_experiment_and_the_container_are_not_taken_together() {
    let refused = report(&["--only", "shared", "--container", "--plan"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("--only") && text.contains("--container"), "{text}");
}

#[test]
fn openpgp_files_are_reported_beside_the_published_tables() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let made = report(&["--only", "openpgp", "--quick", "--output", output]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(json["left_out"].as_array().unwrap().len(), 0, "{}", json["left_out"]);
    for outcome in json["openpgp"].as_array().unwrap() {
        let run = &outcome["runs"][0];
        let share = run["output_bytes"].as_f64().unwrap() / run["input_bytes"].as_f64().unwrap();
        assert!((0.1..0.4).contains(&share), "{outcome}");
        assert!(
            run["elapsed_s"].as_f64().unwrap() > 0.0 && run["cpu_s"].as_f64().unwrap() > 0.0,
            "{outcome}"
        );
    }
    let csv = read("report.csv");
    for row in ["cryptand.ef2.t1.elapsed", "cryptand.ef2.t4.mbgcpu", "cryptand.ef2.t8.mbcpu"] {
        assert!(csv.lines().any(|line| line.starts_with(&format!("{row},"))), "{row}");
    }
    let page = read("report.html");
    // The published seconds are of a longer text: no ratio stands beside them.
    assert!(page.contains("id=\"openpgp\"") && page.contains("<small>173</small>"));
    assert!(page.contains("seconds are not") && page.contains("A quick run"));
}
