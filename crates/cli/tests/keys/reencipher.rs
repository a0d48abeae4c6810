//! `cryptand key reencipher`: records of every form after a change of master keys.

use super::bench::{Bench, hex};
use serde_json::Value;

const KINDS: &[&str] = &[
    "tdes-mac",
    "aes128",
    "aes256-exporter",
    "aes192-cipher",
    "aes128-mac",
    "hmac-sha512",
    "rsa1024-sign",
    "p256-sign",
    "ed25519-sign",
];

/// Every register is given a new key; each record is then under it, and its key is the one that it was.
#[test]
fn records_of_every_form_are_under_the_new_keys() {
    let bench = Bench::development();
    for (at, kind) in KINDS.iter().enumerate() {
        bench.succeeds(&["key", "generate", &format!("A.K{at}"), "--type", kind], "");
    }
    // One that waits for its second part goes on waiting.
    let parts = ["key", "part", "A.PART", "first", "--type", "aes256-importer"];
    bench.succeeds(&parts, &hex(&[0x3A; 32]));
    let records = bench.succeeds(&["key", "list", "--json"], "");
    let records = serde_json::from_str::<Value>(&records).unwrap().as_array().unwrap().len();
    // The check value; of HMAC the pattern.
    let value = |label: &str| bench.succeeds(&["key", "test", label], "").lines().next().unwrap().to_owned();
    let labels: Vec<String> = (0..6).map(|at| format!("A.K{at}")).chain(["A.PART".to_owned()]).collect();
    let values = || -> Vec<String> { labels.iter().map(|label| value(label)).collect() };
    let before = values();
    for change in 1..=2u8 {
        for (register, bytes) in [("sym", 24), ("aes", 32), ("apka", 32)] {
            for (part, salt) in [("first", 0x10), ("last", 0x80)] {
                let part_bytes: Vec<u8> = (0..bytes).map(|at| salt + change + 5 * (at % 20)).collect();
                bench.succeeds(&["master-key", "load", register, part, "--from-stdin"], &hex(&part_bytes));
            }
        }
        bench.succeeds(&["master-key", "set"], "");
        let outcome: Value =
            serde_json::from_str(&bench.succeeds(&["key", "reencipher", "--json"], "")).unwrap();
        assert_eq!(outcome["failed"].as_array().unwrap().len(), 0, "{outcome}");
        assert_eq!(outcome["reenciphered"], records, "{outcome}");
        assert_eq!(values(), before);
    }
    bench.succeeds(&["key", "part", "A.PART", "last"], &hex(&[0xC5; 32]));
}
