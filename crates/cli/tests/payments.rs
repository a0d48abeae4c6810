//! docs/start/payments.md, as its reader types it: one shell session with two homes.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_page_of_payments_does_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start/payments.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks: Vec<_> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() > 5, "the page has its commands in blocks of sh");
    let base = needs::short_folder();
    let programs = Path::new(env!("CARGO_BIN_EXE_cryptand")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let shell = |script: &str| {
        Command::new("sh")
            .args(["-e", "-c", script])
            .current_dir(base.path())
            .env("PATH", &path)
            .env_remove("CRYPTAND_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let output = shell(&blocks.concat());
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        shell("for home in ours theirs; do cryptand --home $home stop || true; done");
    }
    assert!(output.status.success(), "{said}");
    // The forgery was told as one, and the partner verified what was sent.
    assert_eq!(said.matches("the value does not verify").count(), 1, "{said}");
    assert_eq!(said.matches("the MAC verifies\n").count(), 3, "{said}");
    assert!(said.contains("\"meaning\": \"done\""), "{said}");
    // PINs: the right one, again after the wrong one, and when what was counted is cleared; a wrong one, and ten more.
    assert_eq!(said.matches("the PIN verifies\n").count(), 3, "{said}");
    assert_eq!(said.matches("4/19 (the PIN does not verify)").count(), 11, "{said}");
    // Each control refused what stands in its chapter, by its name or its code.
    for refusal in [
        "tr31-key-import: 8/66",
        "pin-disallow-iso-1 lifted",
        "pin-pan-change",
        "encrypted-pin-generate: 8/102",
        "too many PINs were wrong",
        "8/2514",
        "clear-pin-encrypt: ",
        "tr31-key-export: 8/90",
        "tr31-key-export: 8/39",
        "unique-key-derive-initial",
    ] {
        assert!(said.contains(refusal), "{refusal}: {said}");
    }
}

#[test]
fn the_first_page_says_that_nothing_is_approved() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start/payments.md");
    let page = fs::read_to_string(page).unwrap();
    let first = page.split("\n## ").next().unwrap();
    assert!(first.contains("no approval for PCI PIN or PCI HSM"), "{first}");
}

#[test]
fn verbs_that_the_page_names_are_served() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start/payments.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("## From your simulator's commands").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.contains("verb `") || line.contains("verbs `"));
    let mut named = 0;
    for row in rows {
        let verbs = row.rsplit("verb").next().unwrap();
        for verb in verbs.split('`').skip(1).step_by(2) {
            let known = wire::verb::TABLE.iter().any(|entry| entry.name == verb);
            assert!(known, "{verb}: no verb of this name");
            named += 1;
        }
    }
    assert!(named >= 10, "{named} verbs are named");
}
