//! The example that a newcomer starts from, as its user runs it.

use std::process::Command;

#[test]
fn hello_batch_prints_a_mac_for_each_key() {
    let own = std::env::current_exe().unwrap();
    let example = own.parent().unwrap().join("../examples/hello_batch");
    let output = Command::new(&example).arg("20").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let mut macs: Vec<_> =
        printed.lines().filter_map(|line| line.split_once("  ").map(|(_, mac)| mac)).collect();
    macs.sort_unstable();
    macs.dedup();
    assert_eq!(macs.len(), 20, "each key has its own: {printed}");
    assert!(
        printed.ends_with("20 MACs at level portable\n") || printed.contains("at level avx"),
        "{printed}"
    );
    assert!(!Command::new(&example).arg("many").output().unwrap().status.success());
}
