//! `cryptand keyblock`: keys of labels leave and come back in blocks; what a header says; what is refused, with its
//! exit code.

use super::bench::Bench;
use serde_json::{Value, json};

/// Of TR-31, A.7.2.2.
const PUBLISHED: &str = "B0080P0TE00E000094B420079CC80BA3461F86FE26EFC4A3B8E4FA4C5F5341176EED7B727B8A248E";
const PROTECTION: &str = "DD7515F2BFC17F85CE48F3CA25CB21F6";

/// Records a transport key of a known value.
fn enter(bench: &Bench, label: &str, key_type: &str) {
    let words = ["INTERNAL", "DES", "NO-KEY", "DOUBLE"];
    let built = json!({"key_type": format!("text:{key_type}"), "rule_array": words});
    let mut token = bench.verb("key-token-build", &built)["key_token"].clone();
    for (step, part) in [("FIRST", PROTECTION), ("LAST", "00000000000000000000000000000000")] {
        let asked = json!({"rule_array": [step], "key_part": format!("hex:{part}"), "key_identifier": token});
        token = bench.verb("key-part-import", &asked)["key_identifier"].clone();
    }
    bench.succeeds(&["key", "write", label, "-"], token.as_str().unwrap());
}

#[test]
fn keys_come_and_go_under_labels() {
    let bench = Bench::development();
    enter(&bench, "LINK.KBPK.IN", "IMPORTER");
    enter(&bench, "LINK.KBPK.OUT", "EXPORTER");
    let import =
        |label: &'static str| ["keyblock", "import", "-", "--label", label, "--under", "LINK.KBPK.IN"];
    bench.succeeds(&import("LINK.ZPK"), PUBLISHED);
    assert!(bench.succeeds(&["key", "show", "LINK.ZPK"], "").contains("OPINENC"));
    // 3F419E1CB7079442 AA37474C2EFBF8B8 makes 57C409 of zeros.
    bench.succeeds(&["key", "test", "LINK.ZPK", "--check-value", "57C409"], "");
    let out = bench.path("zpk.tr31");
    let out = out.to_str().unwrap();
    let export = ["keyblock", "export", "--label", "LINK.ZPK", "--under", "LINK.KBPK.OUT", "--version", "b"];
    let words =
        |usage: &'static str, mode: &'static str| [&export[..], &["--usage", usage, "--mode", mode]].concat();
    bench.succeeds(&[&words("P0", "E")[..], &["--exportability", "n", "--out", out]].concat(), "");
    let shown: Value =
        serde_json::from_str(&bench.succeeds(&["keyblock", "show", "--json", out], "")).unwrap();
    assert_eq!((&shown["bytes"], &shown["problem"]), (&80.into(), &Value::Null), "{shown}");
    bench.succeeds(&["keyblock", "import", out, "--label", "LINK.ZPK2", "--under", "LINK.KBPK.IN"], "");
    bench.succeeds(&["key", "test", "LINK.ZPK2", "--check-value", "57C409"], "");
    // It came with N.
    let held = words("P0", "E")
        .iter()
        .map(|word| if *word == "LINK.ZPK" { "LINK.ZPK2" } else { word })
        .collect::<Vec<_>>();
    assert!(bench.fails(&held, "", 3).contains("8/39"));
    assert!(bench.succeeds(&words("p0", "e"), "").starts_with("B0080P0TE00E0000"));
    assert!(bench.succeeds(&[&export[..], &["--usage", "cv"]].concat(), "").contains("IBMC01"));

    let refused = bench.fails(&words("P0", "D"), "", 3);
    assert!(
        refused.contains("8/39") && refused.contains("--label takes a key that can do no more"),
        "{refused}"
    );
    let legacy =
        words("P0", "E").iter().map(|word| if *word == "b" { "a" } else { word }).collect::<Vec<_>>();
    assert!(bench.fails(&legacy, "", 3).contains("not permitted"));
    bench.fails(&words("P9", "E"), "", 2);
    bench.fails(&words("P0", "Q"), "", 2);
    bench.fails(&[&export[..], &["--usage", "P0"]].concat(), "", 2);
    let changed = PUBLISHED.replace("P0TE", "P0TD");
    let refused = bench.fails(&import("LINK.BAD"), &changed, 3);
    assert!(refused.contains("8/66") && refused.contains("was changed on its way"), "{refused}");
    let missing = ["keyblock", "import", "-", "--label", "LINK.BAD", "--under", "NO.KBPK"];
    let refused = bench.fails(&missing, PUBLISHED, 3);
    assert!(refused.contains("looked for: --under NO.KBPK; `cryptand key list`"), "{refused}");
    let taken = bench.fails(&import("LINK.ZPK"), PUBLISHED, 1);
    assert!(taken.contains("LINK.ZPK: ") && taken.contains("choose another label"), "{taken}");
    bench.fails(&import("LINK.BAD"), "a text", 2);
    bench.fails(&[&import("LINK.BAD")[..], &["--as", "a long keyword"]].concat(), PUBLISHED, 2);
    bench.fails(&[&import("LINK.BAD")[..], &["--as", "IPINENC"]].concat(), PUBLISHED, 3);
    assert!(bench.fails(&["keyblock", "show", "-"], &PUBLISHED[..79], 2).contains("80 characters"));
    assert!(bench.succeeds(&["keyblock", "show", "-"], PUBLISHED).contains("P0"));
}

#[test]
fn blocks_are_recorded_under_labels() {
    let bench = Bench::development();
    enter(&bench, "LINK.KBPK.IN", "IMPORTER");
    enter(&bench, "LINK.KBPK.OUT", "EXPORTER");
    bench.succeeds(&["key", "write", "LINK.BLOCK1", "-"], PUBLISHED);
    assert_eq!(bench.succeeds(&["key", "show", "--raw", "LINK.BLOCK1"], ""), PUBLISHED);
    let listed: Value =
        serde_json::from_str(&bench.succeeds(&["key", "list", "LINK.BLOCK1", "--json"], "")).unwrap();
    assert_eq!((&listed[0]["store"], &listed[0]["token_bytes"]), (&"aes".into(), &80.into()), "{listed}");
    let of_label = bench.succeeds(&["keyblock", "show", "--json", "--recorded", "LINK.BLOCK1"], "");
    assert_eq!(of_label, bench.succeeds(&["keyblock", "show", "--json", "-"], PUBLISHED));
    let import = |block: &'static str, label: &'static str| {
        ["keyblock", "import", "--recorded", block, "--label", label, "--under", "LINK.KBPK.IN"]
    };
    bench.succeeds(&import("LINK.BLOCK1", "LINK.ZPK"), "");
    bench.succeeds(&["key", "test", "LINK.ZPK", "--check-value", "57C409"], "");
    let export = ["keyblock", "export", "--label", "LINK.ZPK", "--under", "LINK.KBPK.OUT", "--version", "b"];
    let export = [&export[..], &["--usage", "P0", "--mode", "E", "--record", "LINK.BLOCK2"]].concat();
    assert_eq!(bench.succeeds(&export, ""), "");
    assert!(bench.fails(&export, "", 1).contains("8/44"));
    bench.succeeds(&import("LINK.BLOCK2", "LINK.ZPK2"), "");
    bench.succeeds(&["key", "test", "LINK.ZPK2", "--check-value", "57C409"], "");

    // The verbs take the label of a block where they take one; and a block is a key for none.
    let label = format!("text:{:64}", "LINK.BLOCK1");
    let parsed = bench.verb(
        "tr31-key-token-parse",
        &json!({"rule_array_count": 1, "tr31_key_length": 64, "tr31_key": label}),
    );
    assert_eq!(
        (&parsed["key_usage"], &parsed["key_block_length"]),
        (&"hex:5030".into(), &80.into()),
        "{parsed}"
    );
    let listed =
        json!({"rule_array": ["INFO"], "tr31_key_length": 64, "tr31_key": label, "num_opt_blocks": 9});
    assert_eq!(bench.verb("tr31-optional-data-read", &listed)["num_opt_blocks"], 0);
    assert!(bench.fails(&["key", "test", "LINK.BLOCK1"], "", 3).contains("8/47"));
    assert!(bench.fails(&import("LINK.ZPK", "LINK.BAD"), "", 3).contains("8/47"));
    assert!(bench.fails(&import("LINK.NONE", "LINK.BAD"), "", 3).contains("8/30"));
    assert!(bench.fails(&["keyblock", "show", "--recorded", "LINK.KBPK.IN"], "", 2).contains("LINK.KBPK.IN"));
    bench.fails(&["keyblock", "show"], "", 2);
    bench.fails(&["keyblock", "show", "-", "--recorded", "LINK.BLOCK1"], "", 2);
    bench.fails(&["key", "write", "LINK.BAD", "-"], &PUBLISHED[..79], 1);
}
