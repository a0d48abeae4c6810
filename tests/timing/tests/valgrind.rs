//! Valgrind watches the engine's kernels over marked secrets, at the levels that it knows: portable and AVX2.

use engine::{Level, level_environment};
use std::process::{Command, Output};

/// No report reaches beyond this many frames.
const FRAMES: &str = "--num-callers=16";
const FOUND: i32 = 99;
const LEVEL_MISSING: i32 = 3;

fn watched(level: Level, more: &[&str]) -> Output {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--error-limit=no", FRAMES]).arg(format!("--error-exitcode={FOUND}"));
    command.arg(env!("CARGO_BIN_EXE_marked_secrets")).arg(level.name()).args(more);
    if let Some((name, value)) = level_environment(level) {
        command.env(name, value);
    }
    command.output().expect("valgrind starts (apt-get install valgrind)")
}

fn no_secret_steers(level: Level) {
    let output = watched(level, &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(LEVEL_MISSING) {
        println!("not watched: {told}");
        return;
    }
    let at = told.find("==").unwrap_or(told.len());
    let before = told[..at].lines().next_back().unwrap_or_default();
    let reports: Vec<_> = told[at..].lines().take(60).collect();
    assert!(output.status.success(), "{level}: after \"{before}\":\n{}", reports.join("\n"));
    assert!(told.contains("all operations ran"), "it ended early: {told}");
}

#[test]
fn the_watch_sees_a_branch_on_a_secret() {
    assert_eq!(watched(Level::Portable, &["leak"]).status.code(), Some(FOUND));
}

#[test]
fn no_secret_steers_at_the_portable_level() {
    no_secret_steers(Level::Portable);
}

#[test]
fn no_secret_steers_at_avx2() {
    no_secret_steers(Level::Avx2);
}

/// Where a verdict is branched on, which the caller is told anyway: the only places that reports of refusals may name.
const VERDICTS: [&str; 10] = [
    "oaep_unpad",
    "pkcs1_v15_encrypt_unpad",
    "AES_unwrap_key_padded",
    "unwrap_padded",
    // Whether numbers of RSA keys have too many words, and belong to each other.
    "numbers::Words::of",
    "numbers::Exponents::of",
    "numbers::Exponents::are",
    "numbers::Words::inverse_modulo",
    "numbers::is_inverse",
    "private_numbers",
];
/// The sources of the standard library, which valgrind names where its functions were inlined.
const STANDARD_LIBRARY: &str = "(library/";

/// Which byte of a block is wrong is what an attacker of RFC 8017, 7.2, or of Manger's wants to learn.
fn refusals_tell_the_verdict_alone(level: Level) {
    let output = watched(level, &["refusals"]);
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(LEVEL_MISSING) {
        println!("not watched: {told}");
        return;
    }
    assert!(told.contains("all operations ran"), "it ended early: {told}");
    let mut lines = told.lines().peekable();
    let mut places = Vec::new();
    while let Some(line) = lines.next() {
        let is_report = line.starts_with("==") && !line.contains(" at 0x") && !line.contains(" by 0x");
        if is_report && lines.peek().is_some_and(|next| next.contains(" at 0x")) {
            let frame = std::iter::from_fn(|| {
                lines.next_if(|next| next.contains(" at 0x") || next.contains(" by 0x"))
            })
            .find(|frame| !frame.contains(STANDARD_LIBRARY))
            .unwrap_or_default();
            let place = frame.split_once(": ").map_or(frame, |(_, place)| place);
            assert!(line.contains("Conditional jump"), "{level}: an address depends on a secret in {place}");
            places.push(place.to_owned());
        }
    }
    println!("{level}: {places:#?}");
    assert!(!places.is_empty(), "the watch sees no verdict");
    for place in &places {
        assert!(
            VERDICTS.iter().any(|known| place.contains(known)),
            "{level}: a branch on a secret in {place}"
        );
    }
    let of = |name: &str| {
        places.iter().filter(|place| place.contains(name)).collect::<std::collections::BTreeSet<_>>()
    };
    // One line each: before it everything is looked at.
    for name in ["oaep_unpad", "pkcs1_v15_encrypt_unpad"] {
        assert_eq!(of(name).len(), 1, "{level}: {name} branches at {:?}", of(name));
    }
    // Whether there are as many words as there may be, p and q are odd, their product is n, and there are inverses.
    for (name, most) in [("Exponents::of", 5), ("Words::inverse_modulo", 1), ("is_inverse", 3)] {
        assert!((1..=most).contains(&of(name).len()), "{level}: {name} branches at {:?}", of(name));
    }
}

#[test]
fn refusals_tell_the_verdict_alone_at_the_portable_level() {
    refusals_tell_the_verdict_alone(Level::Portable);
}

#[test]
fn refusals_tell_the_verdict_alone_at_avx2() {
    refusals_tell_the_verdict_alone(Level::Avx2);
}
