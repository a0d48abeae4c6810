//! Homes: made, changed, backed up and restored; officers.

use super::{Bench, PATIENCE, parts};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[test]
fn a_home_is_not_made_of_contradictions() {
    let cases: [(&[&str], &str, i32, &str); 8] = [
        (&["init", "--seed", "3"], "", 2, "--insecure-dev"),
        (&["init", "--insecure-dev", "--no-master-keys"], "", 2, "cannot be used with"),
        (&["init", "--insecure-dev", "--domains", "17"], "", 1, "1 to 16"),
        (&["init", "--no-master-keys", "--seal-memory", "63"], "", 1, "64 to 2048"),
        (&["init", "--insecure-dev", "--coprocessors", "many"], "", 2, "many"),
        (&["restore", "/nonexistent"], "", 7, "not a backup"),
        (&["serve"], "", 7, "cryptand init"),
        (&["unknown"], "", 2, "unknown"),
    ];
    for (arguments, input, code, expected) in cases {
        let bench = Bench::new();
        let error = bench.fails(arguments, input, code);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!bench.home().exists(), "{arguments:?} leaves nothing");
    }
}

#[test]
fn a_development_home_is_made_where_it_is_served_and_no_other_home_is_served_as_one() {
    let bench = Bench::new();
    bench.succeeds(&["serve", "--background", "--insecure-dev"]);
    bench.succeeds(&["key", "generate", "A.B", "--type", "aes128"]);
    bench.succeeds(&["stop"]);
    bench.succeeds(&["serve", "--background", "--insecure-dev"]);
    assert!(bench.succeeds(&["key", "list"]).contains("A.B"), "the home is the same");
    let other = Bench::new();
    other.succeeds(&["init", "--no-master-keys"]);
    let error = other.fails(&["serve", "--insecure-dev"], "", 2);
    assert!(error.contains("is no development home"), "{error}");
}

#[test]
fn officers_who_err_are_told() {
    let bench = Bench::new();
    bench.succeeds(&["init", "--no-master-keys"]);
    bench.succeeds(&["serve", "--background"]);
    let load = |part: &str, input: &str, code: i32| {
        bench.fails(&["master-key", "load", "aes", part, "--from-stdin"], input, code)
    };
    assert!(load("first", "0\n", 2).contains("two digits"));
    assert!(load("first", "zz\n", 2).contains("hexadecimal"));
    assert!(load("first", "", 2).contains("standard input ended"));
    let part = "5A".repeat(32) + "\n";
    assert!(!load("last", &part, 3).is_empty(), "a last part without a first");
    bench.succeeds_with(&["master-key", "load", "aes", "first", "--from-stdin"], &part);
    assert!(!bench.fails(&["master-key", "set"], "", 3).is_empty(), "nothing is complete");
    assert!(bench.fails(&["master-key", "seal"], "short\n", 2).contains("fewer than 12"));
    let differ = bench.fails(&["master-key", "seal"], "a long passphrase\nanother passphrase\n", 2);
    assert!(differ.contains("differ"));
    bench.succeeds(&["master-key", "clear", "aes"]);
    assert!(load("first", "\n", 2).contains("nothing is drawn"));
    // Neither typed nor drawn where a part would end up in a pipe.
    let piped = bench.fails(&["master-key", "load", "aes", "first"], &part, 2);
    assert!(piped.contains("--from-stdin"), "{piped}");
    let drawn = bench.fails(&["master-key", "load", "aes", "first", "--random"], "", 2);
    assert!(drawn.contains("--from-stdin") && drawn.contains("openssl rand"), "{drawn}");
    let other = Bench::new();
    assert!(other.fails(&["init"], &part, 2).contains("--from-stdin"));
    assert!(!other.home().exists());
}

#[test]
fn officers_load_seal_and_unseal() {
    let bench = Bench::new();
    let aes_first = "11".repeat(32);
    let aes_last = "22".repeat(32);
    // Each officer: sym, asym, aes, apka.
    let input = parts(&aes_first, &aes_last) + "correct horse battery\ncorrect horse battery\n";
    bench.succeeds_with(&["init", "--from-stdin", "--seal-memory", "64"], &input);
    bench.succeeds(&["serve", "--background"]);

    let make = ["key", "generate", "A.B", "--type", "aes256"];
    assert!(bench.fails(&make, "", 3).contains("12/"), "no secure verb before unseal");
    assert!(bench.fails(&["unseal"], "wrong passphrase\n", 4).contains("passphrase"));
    bench.succeeds_with(&["unseal"], "correct horse battery\n");
    bench.succeeds(&make);

    // The pattern is that of the exclusive or of both parts: SHA-256(01 || key), first 8 bytes.
    let registers: Value = serde_json::from_str(&bench.succeeds(&["master-key", "show", "--json"])).unwrap();
    let aes = registers.as_array().unwrap().iter().find(|row| row["register"] == "aes").unwrap();
    let digest = openssl::sha::sha256(&[&[1][..], &[0x33; 32]].concat());
    assert_eq!(aes["current_pattern"], json!(digest[..8]));

    let again = bench.fails(&["master-key", "load", "aes", "first", "--from-stdin"], "00\n", 2);
    assert!(again.contains("32 bytes"), "{again}");
}

#[test]
fn a_backup_makes_the_same_home_elsewhere() {
    let bench = Bench::new();
    let input = parts(&"5A".repeat(32), &"C3".repeat(32)) + "pass phrase of mine\npass phrase of mine\n";
    bench.succeeds_with(&["init", "--from-stdin", "--seal-memory", "64"], &input);
    bench.succeeds(&["serve", "--background"]);
    bench.succeeds_with(&["unseal"], "pass phrase of mine\n");
    bench.succeeds(&["key", "generate", "A.B", "--type", "aes128"]);
    let pattern = |bench: &Bench| {
        let rule = json!({"rule_array": ["AES", "ECB", "KEYIDENT"], "key_identifier": "label:A.B",
            "clear_text": format!("hex:{}", "00".repeat(16)), "block_size": 16});
        bench.verb("symmetric-algorithm-encipher", rule)["cipher_text"].clone()
    };
    let before = pattern(&bench);
    let copy = bench.base.path().join("backup");
    let copy = copy.to_str().unwrap();
    bench.succeeds(&["backup", copy]);
    assert!(bench.fails(&["backup", copy], "", 8).contains("not empty"));

    // As an archive, and of the home as it is stopped: the same.
    let said = bench.succeeds(&["backup", "--verify", copy]);
    assert!(said.contains("1 key records are sound; with the sealed master keys of the home"), "{said}");
    let names = |path: &Path| {
        let mut names: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(
        names(Path::new(copy)),
        ["keys.sqlite", "master-keys.sealed", "pin-failures", "settings.toml", "version"]
    );
    bench.succeeds(&["stop"]);
    let archive = bench.run(&["backup", "-"], "");
    assert!(archive.status.success(), "{}", String::from_utf8_lossy(&archive.stderr));
    let unpacked = bench.base.path().join("unpacked");
    tar::Archive::new(&archive.stdout[..]).unpack(&unpacked).unwrap();
    let said = bench.succeeds(&["backup", "--verify", unpacked.to_str().unwrap()]);
    assert!(said.contains("1 key records are sound"), "{said}");
    assert_eq!(names(&unpacked), names(Path::new(copy)));
    // Nothing is left of either in the home, and a damaged one is found.
    assert!(names(&bench.home()).iter().all(|name| !name.to_string_lossy().starts_with("backup-")));
    let mut bytes = std::fs::read(unpacked.join("keys.sqlite")).unwrap();
    bytes.truncate(5_000);
    std::fs::write(unpacked.join("keys.sqlite"), bytes).unwrap();
    let damaged = bench.fails(&["backup", "--verify", unpacked.to_str().unwrap()], "", 5);
    assert!(!damaged.is_empty());
    std::fs::remove_dir_all(&unpacked).unwrap();

    let other = Bench::new();
    other.succeeds(&["restore", copy]);
    other.succeeds(&["serve", "--background"]);
    other.succeeds_with(&["unseal"], "pass phrase of mine\n");
    assert!(before.is_string());
    assert_eq!(pattern(&other), before);
}

/// Whoever made a backup may be a stranger: a link would name a file of the reader's, a pipe would never end.
#[test]
fn a_backup_with_anything_but_regular_files_is_refused() {
    let bench = Bench::development();
    let copy = bench.base.path().join("backup");
    let copy = copy.to_str().unwrap();
    bench.succeeds(&["backup", copy]);
    let elsewhere = bench.base.path().join("elsewhere");
    let other = Bench::new();
    for name in ["settings.toml", "version", "keys.sqlite", "master-keys.sealed", "pin-failures"] {
        let path = Path::new(copy).join(name);
        let kept = std::fs::read(&path).ok();
        std::fs::write(&elsewhere, kept.as_deref().unwrap_or_default()).unwrap();
        let make: [(&str, &dyn Fn()); 5] = [
            ("link", &|| std::os::unix::fs::symlink(&elsewhere, &path).unwrap()),
            ("dangling link", &|| std::os::unix::fs::symlink("nowhere", &path).unwrap()),
            ("FIFO", &|| {
                let mode = nix::sys::stat::Mode::S_IRWXU;
                nix::unistd::mkfifo(&path, mode).unwrap();
            }),
            ("folder", &|| std::fs::create_dir(&path).unwrap()),
            ("device", &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap()),
        ];
        for (what, made) in make {
            let _ = std::fs::remove_file(&path);
            made();
            for arguments in [&["restore", copy, "--yes"][..], &["backup", "--verify", copy]] {
                // The home that verifies is the one that it was made of.
                let bench = if arguments[0] == "restore" { &other } else { &bench };
                let output = bench.run(arguments, "");
                let said = String::from_utf8(output.stderr).unwrap();
                assert!(matches!(output.status.code(), Some(1 | 5)), "{name}, {what}: {said}");
                assert!(said.contains(name) || said.contains("not a backup"), "{name}, {what}: {said}");
            }
            assert!(!other.home().exists(), "{name}, {what}");
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
        }
        if let Some(kept) = kept {
            std::fs::write(&path, kept).unwrap();
        }
    }
    other.succeeds(&["restore", copy, "--yes"]);
}

/// The home's owner may stage what he likes there, and root makes the backup.
#[test]
fn a_backup_waits_for_no_pipe_of_a_home() {
    let bench = Bench::development();
    let refused = |name: &str| {
        let path = bench.home().join(name);
        let aside = bench.home().join("aside");
        let _ = std::fs::rename(&path, &aside);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let copy = bench.base.path().join("copy");
        let said = bench.fails(&["backup", copy.to_str().unwrap()], "", 1);
        assert!(said.contains(name) && said.contains("a pipe, not a regular file"), "{name}: {said}");
        assert!(!copy.exists(), "{name}");
        std::fs::remove_file(&path).unwrap();
        let _ = std::fs::rename(&aside, &path);
    };
    ["master-keys.sealed", "pin-failures"].into_iter().for_each(refused);
    // Of a stopped home the command's own process is the one that reads.
    bench.succeeds(&["stop"]);
    ["master-keys.sealed", "pin-failures", "keys.sqlite"].into_iter().for_each(refused);
    // What cannot be read of the home is told, and not taken for nothing.
    let copy = bench.base.path().join("copy");
    bench.succeeds(&["backup", copy.to_str().unwrap()]);
    std::fs::create_dir(bench.home().join("master-keys.sealed")).unwrap();
    let said = bench.fails(&["backup", "--verify", copy.to_str().unwrap()], "", 1);
    assert!(said.contains("master-keys.sealed") && said.contains("a folder"), "{said}");
}

#[test]
fn a_restored_home_keeps_what_was_asked_about() {
    let bench = Bench::development();
    let settings = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    let text = text.replace("open_compatible = false", "open_compatible = true");
    let text = text.replace("observers = []", "observers = [\"root\"]");
    let role = "\n[[role]]\nname = \"older\"\nbase = \"owner\"\nallow = [\"legacy\"]\n";
    std::fs::write(&settings, text + role).unwrap();
    bench.succeeds(&["reload"]);
    let copy = bench.base.path().join("backup");
    let copy = copy.to_str().unwrap();
    bench.succeeds(&["backup", copy]);

    // Nobody can be asked: nothing is done, and each setting is named.
    let other = Bench::new();
    let refused = other.fails(&["restore", copy], "", 2);
    assert!(refused.contains("--keep access,legacy,compatible,weak,development"), "{refused}");
    assert!(refused.contains("observers root") && refused.contains("older"), "{refused}");
    assert!(!other.home().exists());
    let refused = other.fails(&["restore", copy, "--keep", "access,weak", "--leave-out", "legacy"], "", 2);
    assert!(refused.contains("--keep compatible,development tak"), "{refused}");

    let restored = |bench: &Bench| -> toml::Value {
        toml::from_str(&std::fs::read_to_string(bench.home().join("settings.toml")).unwrap()).unwrap()
    };
    other.succeeds(&[
        "restore",
        copy,
        "--keep",
        "access,development",
        "--leave-out",
        "legacy,compatible,weak",
    ]);
    let settings = restored(&other);
    assert_eq!(settings["access"]["observers"][0].as_str(), Some("root"));
    assert!(settings.get("development").is_some());
    assert!(settings["role"][0].get("allow").is_none());
    assert_eq!(settings["tokens"]["open_compatible"].as_bool(), Some(false));
    assert_eq!(settings["weak_algorithms"].as_bool(), Some(false));

    let (all, none) = (Bench::new(), Bench::new());
    all.succeeds(&["restore", copy, "--yes"]);
    let settings = restored(&all);
    assert!(
        settings["role"][0]["allow"][0].as_str() == Some("legacy")
            && settings["weak_algorithms"].as_bool() == Some(true)
    );
    // A copied home is restored as a backup is.
    let home = bench.home();
    bench.succeeds(&["stop"]);
    let what = "access,legacy,compatible,weak,development";
    none.succeeds(&["restore", home.to_str().unwrap(), "--leave-out", what]);
    let settings = restored(&none);
    assert!(settings.get("development").is_none());
    assert_eq!(settings["access"]["observers"].as_array().map(Vec::len), Some(0));
}

#[test]
fn settings_change_the_cards_while_they_serve() {
    let bench = Bench::development();
    let cards = |bench: &Bench| {
        // While one is started, the home is degraded, and the exit code says so.
        let status: Value = serde_json::from_slice(&bench.run(&["status", "--json"], "").stdout).unwrap();
        status["cards"].as_array().unwrap().iter().filter(|card| card["state"] == "ready").count()
    };
    assert_eq!(cards(&bench), 2);
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("coprocessors = 1", "coprocesors = 2")).unwrap();
    assert!(bench.fails(&["reload"], "", 1).contains("coprocesors"));
    assert_eq!(cards(&bench), 2, "bad settings leave what runs");
    std::fs::write(&path, text.replace("coprocessors = 1", "coprocessors = 2")).unwrap();
    bench.succeeds(&["reload"]);
    let asked = std::time::Instant::now();
    while cards(&bench) != 3 {
        assert!(asked.elapsed() < PATIENCE, "{:?}", bench.run(&["status"], ""));
    }
}

#[test]
fn cards_inherit_the_level_and_status_names_it() {
    let bench = Bench::new();
    bench.succeeds(&["init", "--insecure-dev"]);
    // A daemon that is told nonsense does not serve, and says why.
    let daemon = Path::new(env!("CARGO_BIN_EXE_cryptand")).with_file_name("cryptand-daemon");
    let refused =
        Command::new(daemon).arg("--home").arg(bench.home()).env("CRYPTAND_LEVEL", "x").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("CRYPTAND_LEVEL=x"));

    bench.succeeds(&["--level", "portable", "serve", "--background"]);
    let status = || -> Value { serde_json::from_str(&bench.succeeds(&["status", "--json"])).unwrap() };
    let levels = |status: &Value| -> Vec<Value> {
        status["cards"].as_array().unwrap().iter().map(|card| card["level"].clone()).collect()
    };
    assert_eq!(levels(&status()), ["portable", "portable"]);
    // The settings cannot lift what the daemon was told.
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("# level =", "level = \"avx2\"")).unwrap();
    bench.succeeds(&["reload"]);
    assert_eq!(levels(&status()), ["portable", "portable"]);
    let engine = status()["engine"].clone();
    assert!(engine["lanes"].as_array().unwrap().iter().all(|kind| kind["lanes"].as_u64().unwrap() >= 1));
    let shown = bench.succeeds(&["--level", "portable", "status"]);
    assert!(shown.contains("level portable") && shown.contains("X9.19 MAC"), "{shown}");
    let on_card = ["speed", "--operation", "null", "--interface", "card", "--seconds", "0.01", "--json"];
    let answer: Value =
        serde_json::from_str(&bench.succeeds(&[&["--level", "portable"], &on_card[..]].concat())).unwrap();
    assert_eq!(answer["level"], "portable");
    bench.succeeds(&["stop"]);

    // Without the variable, the setting alone counts.
    bench.succeeds(&["serve", "--background"]);
    let unlike = |levels: Vec<Value>| levels.iter().all(|level| *level == "avx2" || *level == "portable");
    assert!(unlike(levels(&status())));
}
