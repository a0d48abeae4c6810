//! `cryptand key part`.

use super::bench::{Bench, hex};
use super::check_value::{check_value, older_check_value};
use crate::terminal::Terminal;
use serde_json::json;
use std::os::unix::process::ExitStatusExt;

const FIRST: [u8; 32] = [0x3A; 32];
const LAST: [u8; 32] = [0xC5; 32];

fn both(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// Types this at a question, once it is not shown.
fn answers(terminal: &mut Terminal, question: &str, line: &str) {
    terminal.says(question);
    terminal.until_hidden();
    terminal.types(line);
}

/// Asks for a key here, and for the other side under the transport key.
fn for_both() -> serde_json::Value {
    json!({"rule_array": ["AES", "OPEX"], "clear_key_bit_length": 256, "key_type_1": "text:CIPHER  ",
        "key_type_2": "text:CIPHER  ", "kek_key_identifier_2": "label:LINK.KEK1"})
}

/// Two people at their terminals, on both sides; a key then goes from one side to the other.
#[test]
fn two_people_enter_a_transport_key_of_aes() {
    let (ours, theirs) = (Bench::development(), Bench::development());
    let whole = both(&FIRST, &both(&LAST, &[7; 32]));
    for (bench, kind) in [(&ours, "aes256-exporter"), (&theirs, "aes256-importer")] {
        let mut alice = Terminal::new(bench.command(&["key", "part", "LINK.KEK1", "first", "--type", kind]));
        // Too short, once this and once that, and zeros.
        let zeros = hex(&[0; 32]);
        for (one, again, expected) in [
            ("3A", None, "a part has 32 bytes, not 1; once more"),
            (&*hex(&FIRST), Some(&*hex(&LAST)), "the two differ; once more"),
            (&*zeros, Some(&*zeros), "leaves the key to who typed the others; once more"),
        ] {
            answers(&mut alice, "Part of LINK.KEK1, 64 hexadecimal digits: ", one);
            if let Some(again) = again {
                answers(&mut alice, "once more: ", again);
            }
            alice.says(expected);
        }
        for question in ["64 hexadecimal digits: ", "once more: "] {
            answers(&mut alice, question, &hex(&FIRST));
        }
        alice.says(&format!("this part: check value {}", check_value(&FIRST)));
        let (status, heard, echoes) = alice.ends();
        assert!(status.success() && echoes && !heard.contains("3A3A3A"), "{heard}");
        assert!(heard.contains("the next person types `cryptand key part LINK.KEK1 last`"), "{heard}");
        // Not complete, it does nothing.
        assert_ne!(bench.verb("CSNBKGN2", &for_both())["return_code"], 0);

        // A third person between them, from a pipe, with the check value of the sheet, which may be an older one.
        let sheet =
            if kind == "aes256-exporter" { check_value(&[7; 32]) } else { older_check_value(&[7; 32]) };
        let add = ["key", "part", "LINK.KEK1", "add", "--check-value", &sheet];
        let error = bench.fails(&add, &hex(&[8; 32]), 2);
        assert!(error.contains("another part than that of the sheet") && error.contains(&sheet), "{error}");
        bench.succeeds(&add, &hex(&[7; 32]));

        let mut bob = Terminal::new(bench.command(&["key", "part", "LINK.KEK1", "last"]));
        for question in ["64 hexadecimal digits: ", "once more: "] {
            answers(&mut bob, question, &hex(&LAST));
        }
        bob.says(&format!("this part: check value {}", check_value(&LAST)));
        bob.says("complete; compare this with the partner's");
        bob.says(&format!("check value {}", check_value(&whole)));
        assert!(bob.ends().0.success());
        let error = bench.fails(&["key", "part", "LINK.KEK1", "add"], "", 2);
        assert!(error.contains("complete, and takes no further part"), "{error}");
        for (value, method) in [(check_value(&whole), "CMAC"), (older_check_value(&whole), "ENC-ZERO")] {
            let said = bench.succeeds(&["key", "test", "LINK.KEK1", "--check-value", &value], "");
            assert!(said.contains(&format!("the same key ({method}, 3 bytes)")), "{said}");
        }
    }
    // A key made for both sides, under it.
    let made = ours.verb("CSNBKGN2", &for_both());
    assert_eq!(made["return_code"], 0, "{made}");
    let token = |name: &str| made[name].clone();
    let text = json!({"rule_array": ["AES", "CBC", "KEYIDENT"], "block_size": 16,
        "initialization_vector": format!("hex:{}", "00".repeat(16)), "clear_text": "text:sixteen bytes...",
        "chain_data": format!("hex:{}", "00".repeat(32))});
    let enciphered = |bench: &Bench, key: serde_json::Value| {
        let mut parameters = text.clone();
        parameters["key_identifier"] = key;
        let answer = bench.verb("CSNBSAE", &parameters);
        assert_eq!(answer["return_code"], 0, "{answer}");
        answer["cipher_text"].clone()
    };
    let imported = theirs.verb(
        "CSNDSYI2",
        &json!({"rule_array": ["AES", "AESKW"], "rsa_enciphered_key": token("generated_key_identifier_2"),
            "rsa_private_key_identifier": "label:LINK.KEK1"}),
    );
    assert_eq!(imported["return_code"], 0, "{imported}");
    let here = enciphered(&ours, token("generated_key_identifier_1"));
    assert_eq!(here, enciphered(&theirs, imported["target_key_identifier"].clone()));
}

#[test]
fn repeated_and_foreign_parts_are_refused_and_change_nothing() {
    let bench = Bench::development();
    let shown = |label: &str| bench.succeeds(&["key", "show", label, "--json"], "");
    for (label, kind, bytes) in [
        ("A.KEK1", "aes256-importer", 32),
        ("A.KEK2", "aes128-exporter", 16),
        ("A.KEK3", "tdes-importer", 16),
        ("A.KEK4", "tdes-exporter", 16),
        ("A.DATA3", "tdes3-data", 24),
        ("A.MAC1", "aes192-mac", 24),
        ("A.HMAC1", "hmac-sha256", 32),
    ] {
        let part = hex(&FIRST[..bytes]);
        bench.succeeds(&["key", "part", label, "first", "--type", kind], &part);
        let before = shown(label);
        let refused = |step: &str, input: &str, code: i32, expected: &str| {
            let error = bench.fails(&["key", "part", label, step], input, code);
            assert!(error.contains(expected), "{error}");
            assert_eq!(shown(label), before, "{error}");
        };
        // The same person twice: what is left is known to everybody.
        refused("last", &part, 2, "the same part");
        refused("last", "3A", 2, "a part has");
        refused("last", "no digits here", 2, "hexadecimal");
        refused("last", "", 2, "ended before every question");
        refused("last", &"00".repeat(bytes), 2, "leaves the key to who typed the others");
        if !kind.starts_with("tdes") {
            refused("complete", "", 2, "a part is missing");
        }
        let again = bench.fails(&["key", "part", label, "first", "--type", kind], &part, 2);
        assert!(again.contains("this record exists"), "{again}");
        let typed = bench.fails(&["key", "part", label, "last", "--type", kind], &part, 2);
        assert!(typed.contains("belongs to the first part"), "{typed}");
        let mut other = LAST[..bytes].to_vec();
        // Thirds that differ.
        (other[0], other[8]) = (1, 2);
        bench.succeeds(&["key", "part", label, "last"], &hex(&other));
        let complete = bench.fails(&["key", "part", label, "last"], &hex(&other), 2);
        assert!(complete.contains("complete, and takes no further part"), "{complete}");
    }
    // A token that hides the length of its key cannot tell what a part has.
    bench.succeeds(&["key", "part", "A.MAC2", "first", "--type", "aes192-mac"], &hex(&FIRST[..24]));
    let error = bench.fails(&["key", "part", "A.MAC2", "last"], &hex(&LAST[..16]), 2);
    assert!(error.contains("of another length than those before"), "{error}");
    for (kind, expected) in [
        ("aes128", "aes128-cipher is"),
        ("rsa2048-sign", "a key pair"),
        ("exporter", "which of these: tdes-exporter"),
    ] {
        let error = bench.fails(&["key", "part", "A.NEW", "first", "--type", kind], "", 2);
        assert!(error.contains(expected), "{error}");
    }
    assert!(bench.fails(&["key", "part", "A.NEW", "first"], "", 2).contains("--type"));
    assert!(bench.fails(&["key", "part", "A.NEW", "last"], "", 7).contains("no key record"));
    assert!(
        bench.fails(&["key", "part", "DEV.AES128.DATA", "last"], "", 2).contains("no key that is entered")
    );
    assert!(
        bench.fails(&["key", "part", "DEV.RSA2048.KEY", "last"], "", 2).contains("no key that is entered")
    );
    let value = ["key", "part", "A.MAC2", "complete", "--check-value", "8CA64D"];
    assert!(bench.fails(&value, "", 2).contains("takes no part"));
    // Three people, and not fewer.
    let first = ["key", "part", "A.THREE", "first", "--type", "aes128-importer", "--parts", "3"];
    let output = bench.run(&first, &hex(&FIRST[..16]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`cryptand key part A.THREE add`"));
    assert!(bench.fails(&["key", "part", "A.THREE", "last"], "", 2).contains("a part is missing"));
    bench.succeeds(&["key", "part", "A.THREE", "add"], &hex(&LAST[..16]));
    bench.succeeds(&["key", "part", "A.THREE", "last"], &hex(&[7; 16]));
    let des = ["key", "part", "A.NEW", "first", "--type", "tdes-importer", "--parts", "3"];
    assert!(bench.fails(&des, "", 2).contains("does not count"));
    // A part never stands on a command line.
    let argument =
        bench.fails(&["key", "part", "A.NEW", "first", "--type", "aes128-mac", &"3A".repeat(16)], "", 2);
    assert!(argument.contains("unexpected argument"), "{argument}");
}

#[test]
fn an_interrupted_entry_is_gone_on_with() {
    let bench = Bench::development();
    let part = |step: &str| bench.command(&["key", "part", "A.KEK", step]);
    // Ctrl-C at each question of the first part: there is no record yet.
    let first = ["key", "part", "A.KEK", "first", "--type", "aes256-importer"];
    for questions in 1..=2 {
        let mut terminal = Terminal::new(bench.command(&first));
        terminal.says("hexadecimal digits: ");
        if questions == 2 {
            terminal.until_hidden();
            terminal.types(&hex(&FIRST));
            terminal.says("once more: ");
        }
        terminal.until_hidden();
        std::io::Write::write_all(&mut terminal.near, b"\x03").unwrap();
        let (status, heard, echoes) = terminal.ends();
        assert_eq!(status.signal(), Some(libc::SIGINT), "{heard}");
        assert!(echoes, "{heard}");
        assert!(bench.fails(&["key", "show", "A.KEK"], "", 7).contains("no key record"));
    }
    bench.succeeds(&first, &hex(&FIRST));
    let before = bench.succeeds(&["key", "show", "A.KEK", "--json"], "");
    let mut terminal = Terminal::new(part("last"));
    terminal.says("hexadecimal digits: ");
    terminal.until_hidden();
    std::io::Write::write_all(&mut terminal.near, b"\x03").unwrap();
    assert_eq!(terminal.ends().0.signal(), Some(libc::SIGINT));
    assert_eq!(bench.succeeds(&["key", "show", "A.KEK", "--json"], ""), before);

    // Somebody else enters a part while one is typed: the one that comes later is not lost silently.
    let mut late = Terminal::new(part("last"));
    late.says("hexadecimal digits: ");
    bench.succeeds(&["key", "part", "A.KEK", "add"], &hex(&[7; 32]));
    late.until_hidden();
    late.types(&hex(&LAST));
    answers(&mut late, "once more: ", &hex(&LAST));
    late.says("somebody else entered a part meanwhile");
    assert!(!late.ends().0.success());
    bench.succeeds(&["key", "part", "A.KEK", "last"], &hex(&LAST));
    let value = check_value(&both(&FIRST, &both(&LAST, &[7; 32])));
    assert!(bench.succeeds(&["key", "test", "A.KEK"], "").contains(&value));
}

/// As docs/howto/programs.md has it: roles with which one person cannot enter a whole key.
#[test]
fn a_role_enters_the_first_part_or_the_last_one() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto/programs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let roles = page.split("```toml\n").map(|rest| rest.split("```").next().unwrap());
    let roles = roles.filter(|block| block.contains("key-part-import2")).collect::<String>();
    let tenants = ["alice", "bob"].iter().zip(["first-part", "last-part"]).enumerate();
    let tenants = tenants.map(|(at, (name, role))| {
        format!("[[tenant]]\nname = \"{name}\"\nnumber = {}\nrole = \"{role}\"\n", at + 1)
    });
    let bench = Bench::with_settings(&format!("\n{roles}\n{}", tenants.collect::<String>()));
    let as_person = |name: &str, step: &[&str], input: &[u8]| {
        let file = bench.path(name);
        if !file.exists() {
            bench.succeeds(&["tenant", "credential", name, "-o", file.to_str().unwrap()], "");
        }
        let mut command = bench.command(&[&["key", "part", "LINK.KEK1"], step].concat());
        command.env("CRYPTAND_CREDENTIAL_FILE", &file);
        let output = Bench::fed(command, &hex(input));
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let first = ["first", "--type", "aes256-exporter"];
    let (done, said) = as_person("bob", &first, &LAST);
    assert!(!done && said.contains("8/90 (not permitted); `cryptand role check"), "{said}");
    let (done, said) = as_person("alice", &first, &FIRST);
    assert!(done, "{said}");
    for step in ["add", "last", "complete"] {
        let (done, said) = as_person("alice", &[step], &LAST);
        assert!(!done && said.contains("not permitted"), "{said}");
    }
    let (done, said) = as_person("bob", &["last"], &LAST);
    assert!(done, "{said}");
    bench.succeeds(&["key", "test", "LINK.KEK1", "--check-value", &check_value(&both(&FIRST, &LAST))], "");
    // What is complete neither of them changes.
    for name in ["alice", "bob"] {
        assert!(!as_person(name, &["last"], &FIRST).0);
    }
}
