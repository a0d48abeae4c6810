//! `cryptand speed`, as typed.

use serde_json::Value;
use std::process::{Command, Output};

fn speed(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand-lab"));
    command.arg("speed").args(arguments).env_remove("CRYPTAND_HOME").output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = speed(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = speed(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "nothing is measured before all is understood");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn operations_are_measured_by_name_with_a_row_for_each_length() {
    let table = printed(&["sha256", "aes128-cbc-encipher", "ecdsa-p256-sign", "--seconds", "0.002"]);
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let of = |name: &str| rows.iter().filter(|row| row[0] == name).map(|row| row[1]).collect::<Vec<_>>();
    let lengths = ["16", "64", "256", "1024", "8192", "16384"];
    assert_eq!(of("sha256"), lengths);
    assert_eq!(of("aes128-cbc-encipher"), lengths);
    assert_eq!(of("ecdsa-p256-sign"), ["-"], "a digest has one length");
    assert!(rows.iter().all(|row| row.len() == 6 && row[2].parse::<f64>().unwrap() > 0.0), "{table}");
}

#[test]
fn json_is_a_line_a_row() {
    let lines =
        printed(&["sha1", "--operation", "tdes-mac", "--bytes", "8,80", "--seconds", "0.002", "--json"]);
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let what: Vec<_> =
        rows.iter().map(|row| (row["operation"].as_str().unwrap(), row["bytes"].as_u64().unwrap())).collect();
    assert_eq!(what, [("sha1", 8), ("sha1", 80), ("tdes-mac", 8), ("tdes-mac", 80)]);
}

#[test]
fn the_list_names_every_operation_once() {
    let names = printed(&["--operation", "list"]);
    let list = printed(&["list"]);
    for name in names.lines() {
        let times = list.split_whitespace().filter(|word| *word == name).count();
        assert_eq!(times, 1, "{name} in\n{list}");
    }
    assert!(list.lines().all(|line| line.len() <= 120), "{list}");
}

#[test]
fn what_is_typed_wrong_is_refused_before_anything_is_measured() {
    assert!(refused(&["sha256", "aes128"]).contains("speed list"));
    assert!(refused(&["sha256", "aes128-cbc-encipher", "--bytes", "16,17"]).contains("multiples of 16"));
    assert!(refused(&[]).contains("NAME"));
    assert!(refused(&["sha256", "--find-knee"]).contains("--p99"));
}
