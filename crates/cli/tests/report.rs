//! `cryptand report --only`, as typed.

use std::process::{Command, Output};

fn report(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cryptand")).arg("report").args(arguments).output().unwrap()
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
