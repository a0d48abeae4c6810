//! The facility's examples, which pages show, as programs of their own beside a real home.

use std::path::Path;
use std::process::Command;
use system_tests::{Installation, program};

fn says(example: &str, home: &Path, label: &str) -> String {
    let output = Command::new(program(&format!("examples/{example}"))).arg(home).arg(label).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn keys_are_made_and_a_mac_under_one_of_them_verifies() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let home = installation.home.folder();
    let enciphered = says("make_keys", home, "EXAMPLE.MAC");
    let bytes =
        enciphered.trim().trim_matches(['[', ']']).split(", ").map(|byte| u8::from_str_radix(byte, 16));
    assert_eq!(bytes.collect::<Result<Vec<u8>, _>>().unwrap().len(), 16, "{enciphered}");
    let said = says("hello_mac", home, "EXAMPLE.MAC");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[1..], ["pay 10 to Bob: verifies", "pay 99 to Eve: DOES NOT VERIFY"], "{said}");
    // The label is taken now.
    let output = Command::new(program("examples/make_keys")).arg(home).arg("EXAMPLE.MAC").output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && complaint.contains("reason_code: 44"), "{complaint}");
}
