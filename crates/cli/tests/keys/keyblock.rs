//! `cryptand keyblock`: keys of labels leave and come back in blocks; what a header says; what is refused, with its
//! exit code.

use super::bench::Bench;
use serde_json::{Value, json};

/// Of TR-31, A.7.2.2.
const PUBLISHED: &str = "B0080P0TE00E000094B420079CC80BA3461F86FE26EFC4A3B8E4FA4C5F5341176EED7B727B8A248E";
const PROTECTION: &str = "DD7515F2BFC17F85CE48F3CA25CB21F6";

/// Records a transport key of a known value.
fn enter(bench: &Bench, label: &str, key_type: &str) {
    enter_value(bench, label, key_type, PROTECTION);
}

/// Records a transport key of DES of this value.
fn enter_value(bench: &Bench, label: &str, key_type: &str, value: &str) {
    let words = ["INTERNAL", "DES", "NO-KEY", "DOUBLE"];
    let built = json!({"key_type": format!("text:{key_type}"), "rule_array": words});
    let mut token = bench.verb("key-token-build", &built)["key_token"].clone();
    for (step, part) in [("FIRST", value), ("LAST", "00000000000000000000000000000000")] {
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
    assert_eq!((&shown["bytes"], &shown["problem"]), (&96.into(), &Value::Null), "{shown}");
    bench.succeeds(&["keyblock", "import", out, "--label", "LINK.ZPK2", "--under", "LINK.KBPK.IN"], "");
    bench.succeeds(&["key", "test", "LINK.ZPK2", "--check-value", "57C409"], "");
    // It came with N.
    let held = words("P0", "E")
        .iter()
        .map(|word| if *word == "LINK.ZPK" { "LINK.ZPK2" } else { word })
        .collect::<Vec<_>>();
    assert!(bench.fails(&held, "", 3).contains("8/39"));
    // As long as for a key of three parts, unless it is to tell.
    assert!(bench.succeeds(&words("p0", "e"), "").starts_with("B0096P0TE00E0000"));
    let told = [&words("P0", "E")[..], &["--unpadded"]].concat();
    assert!(bench.succeeds(&told, "").starts_with("B0080P0TE00E0000"));
    assert!(bench.succeeds(&[&export[..], &["--usage", "cv"]].concat(), "").contains("IBMC01"));

    let refused = bench.fails(&words("P0", "D"), "", 3);
    assert!(
        refused.contains("8/39") && refused.contains("LINK.ZPK: OPINENC keys leave under P0 with the mode E"),
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
    let refused = bench.fails(&missing, PUBLISHED, 7);
    assert!(refused.contains("looked for: --under NO.KBPK; `cryptand key list`"), "{refused}");
    let taken = bench.fails(&import("LINK.ZPK"), PUBLISHED, 8);
    assert!(taken.contains("LINK.ZPK: ") && taken.contains("choose another label"), "{taken}");
    bench.fails(&import("LINK.BAD"), "a text", 5);
    bench.fails(&[&import("LINK.BAD")[..], &["--as", "a long keyword"]].concat(), PUBLISHED, 2);
    bench.fails(&[&import("LINK.BAD")[..], &["--as", "IPINENC"]].concat(), PUBLISHED, 3);
    assert!(bench.fails(&["keyblock", "show", "-"], &PUBLISHED[..79], 5).contains("80 characters"));
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
    assert!(bench.fails(&export, "", 8).contains("8/44"));
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
    assert!(bench.fails(&import("LINK.NONE", "LINK.BAD"), "", 7).contains("8/30"));
    assert!(bench.fails(&["keyblock", "show", "--recorded", "LINK.KBPK.IN"], "", 2).contains("LINK.KBPK.IN"));
    bench.fails(&["keyblock", "show"], "", 2);
    bench.fails(&["keyblock", "show", "-", "--recorded", "LINK.BLOCK1"], "", 2);
    bench.fails(&["key", "write", "LINK.BAD", "-"], &PUBLISHED[..79], 3);
}

/// Records a protection key of AES-256 of this value, by key parts.
fn enter_aes(bench: &Bench, label: &str, usage: &str, value: &str) {
    let kind = if usage.starts_with("EXP") { "aes256-exporter" } else { "aes256-importer" };
    bench.succeeds(&["key", "part", label, "first", "--type", kind, "--usage", usage], value);
    bench.succeeds(&["key", "part", label, "last"], &("0".repeat(63) + "1"));
}

/// Blocks as payment HSMs and the standard's own example have them, under modes without restrictions and with optional
/// blocks of text: protection key, block, what says which key is meant, check value.
#[test]
fn blocks_of_partners_come_in() {
    let bench = Bench::development();
    enter_value(&bench, "P.KBPK.B", "IMPORTER", "EFE0853B256B583D868F251CE99EA1D9");
    let k0 = "B0080K0TN00N00001C414014375212C24995E405B5EE052CB92B67F455EA2680F6751088F9F1C228";
    let import = |label: &'static str, under: &'static str| {
        ["keyblock", "import", "-", "--label", label, "--under", under]
    };
    let several = bench.fails(&import("P.KEK", "P.KBPK.B"), k0, 2);
    assert!(
        several.contains("usage K0, mode N, TDES") && several.contains("--as EXPORTER or --as IMPORTER"),
        "{several}"
    );
    bench.succeeds(&[&import("P.KEK", "P.KBPK.B")[..], &["--as", "IMPORTER"]].concat(), k0);
    bench.succeeds(&["key", "test", "P.KEK", "--check-value", "5C9405"], "");

    enter_aes(&bench, "P.KBPK.D", "IMPTT31D,VARDRV-D", &("41".repeat(31) + "40"));
    let b0 = "D0112B0TN00N000037DB9B046B7B0048785690759580ABC3B9842AB4BB7717B49E92528E575785D8123559376A2553B27BE94F054F4E971C";
    bench.succeeds(&import("P.BDK", "P.KBPK.D"), b0);
    bench.succeeds(&["key", "test", "P.BDK", "--check-value", "FF5087"], "");
    let d0 = "D0144D0AN00N0000127862F945C2DED04530FAF7CDBC8B0BA10C7AA79BD5E0C2C5D6AC173BF588E4B19ACF1357178D50EA0AB193228E13958304FC6149632DFDCADF3A5B3D57E814";
    bench.succeeds(&import("P.DATA", "P.KBPK.D"), d0);
    let shown = bench.succeeds(&["key", "show", "P.DATA"], "");
    assert!(shown.contains("ENCRYPT") && shown.contains("DECRYPT"), "{shown}");

    // What comes with mode N leaves under a mode that says what it does here; and no key that protects blocks alone
    // wraps a token.
    let text_ks = "D0192C0AVA1N0300KS08VM9ATS1A2018-06-18T20:42:39.22PB0E00000000005FDAFA00A1E84F599C2EB51A1F7A767D5E42314F0E84A3FC1A7B84C1DE81114659E6306AD544208F68F15602BD3E12DA0C7F9FC551F1C8E6385FAFC1F7B499F5";
    assert!(bench.succeeds(&["keyblock", "show", "-"], text_ks).contains("KS"));
    let none = bench.fails(&import("P.CVK", "P.KBPK.D"), text_ks, 2);
    assert!(none.contains("no key here for usage C0, mode V, AES"), "{none}");
    let none = bench.fails(&import("P.B1", "P.KBPK.B"), &k0.replace("K0TN", "B1TX"), 2);
    assert!(none.contains("usage B1, mode X, TDES: an initial key of DUKPT is for a terminal"), "{none}");
    let none = bench.fails(&import("P.M3", "P.KBPK.B"), &k0.replace("K0TN", "M3TX"), 2);
    assert!(none.contains("comes in with the modes C, G, N, V"), "{none}");
    let three =
        "B0096P0TE00E000087468EC5A87BB394D5A1A0BD92CE4275477108CCE6BA8446346D0ECDBAAB72C6A9D62F8F685A50F5";
    let refused = bench.fails(&import("P.THREE", "P.KBPK.B"), three, 3);
    assert!(refused.contains("8/66"), "under another protection key: {refused}");
    let part = ["key", "part", "P.KBPK.T", "first", "--type", "tdes3-importer", "--usage", "KBPK"];
    bench.succeeds(&part, "361882093071D8661BCF334E0609A047A324EEC0FFB75F22");
    let unfinished = bench.fails(&import("P.THREE", "P.KBPK.T"), three, 2);
    assert!(unfinished.contains("lacks its last part"), "{unfinished}");
    bench.succeeds(&["key", "part", "P.KBPK.T", "last"], &"10".repeat(24));
    bench.succeeds(&import("P.THREE", "P.KBPK.T"), three);
    let shown = bench.succeeds(&["key", "show", "P.THREE"], "");
    assert!(shown.contains("24 bytes, three parts") && shown.contains("OPINENC"), "{shown}");
}

/// What is no block of TR-31, but another maker's, is named before a card is asked.
#[test]
fn blocks_of_other_makers_are_named() {
    let bench = Bench::development();
    let import = ["keyblock", "import", "-", "--label", "P.KEY", "--under", "P.KBPK"];
    let k0 = "B0080K0TN00N00001C414014375212C24995E405B5EE052CB92B67F455EA2680F6751088F9F1C228";
    for (given, word) in [
        (format!("R{k0}"), "leave that letter out"),
        (format!("S1{}", &k0[1..]), "Thales"),
        (k0.replacen('B', "E", 1), "ISO 20038"),
        ("1PUNE000,0123".to_owned(), "Atalla"),
        ("U0123456789ABCDEFFEDCBA9876543210".to_owned(), "variant"),
        ("no block".to_owned(), "no TR-31 block begins like that"),
    ] {
        let said = bench.fails(&import, &given, 5);
        assert!(said.contains(word), "{said}");
    }
    // Every usage of X9.143 that means no key here says why.
    for (codes, word) in [
        ("S0TS", "RSA"),
        ("M4TC", "ISO 9797-1"),
        ("P0TX", "modes B, D, E, N"),
        ("00TB", "maker's own"),
        ("P0QE", "no such algorithm"),
        ("E5TX", "--as DDATA or --as DMAC or --as DMPIN"),
    ] {
        let said = bench.fails(&import, &k0.replace("K0TN", codes), 2);
        assert!(said.contains(word), "{said}");
    }
}

/// An issuer's key that derives those of cards leaves as docs/reference/chip-cards.md makes it, comes back, and is of
/// two steps.
#[test]
fn an_issuers_key_of_two_steps_travels() {
    let bench = Bench::development();
    enter(&bench, "E.KBPK.IN", "IMPORTER");
    enter(&bench, "E.KBPK.OUT", "EXPORTER");
    bench.succeeds(&["key", "generate", "EMV.AC", "--type", "tdes-dkygenky", "--usage", "DKYL1,DMAC"], "");
    let export = ["keyblock", "export", "--label", "EMV.AC", "--under", "E.KBPK.OUT", "--version", "b"];
    let export = [&export[..], &["--usage", "E0", "--mode", "X"]].concat();
    let refused = bench.fails(&export, "", 3);
    assert!(refused.contains("8/39") && refused.contains("--vector"), "{refused}");
    let block = bench.succeeds(&[&export[..], &["--vector"]].concat(), "");
    let import = ["keyblock", "import", "-", "--label", "EMV.AC2", "--under", "E.KBPK.IN", "--as", "DKYL1"];
    bench.succeeds(&import, &block);
    let shown = bench.succeeds(&["key", "show", "EMV.AC2"], "");
    assert!(shown.contains("DKYL1") && shown.contains("DMAC"), "{shown}");
}
