//! `cryptand tenant` and `cryptand card` as their user types them, over real cards: what is shown, what is
//! refused and by which exit code.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A development home that serves; stopped when the test ends.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { base: tempfile::tempdir().unwrap() };
        place.says(&["init", "--insecure-dev", "--seed", "7", "--domains", "2", "--accelerators", "2"]);
        place.says(&["serve", "--background"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn run(&self, arguments: &[&str], credential: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.path("home")).args(arguments).stdin(Stdio::null());
        command.current_dir(self.base.path()).env_remove("CRYPTAND_HOME").env_remove("CRYPTAND_LEVEL");
        command.env_remove("CRYPTAND_CREDENTIAL_FILE");
        if let Some(file) = credential {
            command.env("CRYPTAND_CREDENTIAL_FILE", file);
        }
        command.output().unwrap()
    }

    /// What a command that succeeds prints.
    fn says(&self, arguments: &[&str]) -> String {
        self.says_as(arguments, None)
    }

    fn says_as(&self, arguments: &[&str], credential: Option<&str>) -> String {
        let output = self.run(arguments, credential);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that fails with this code complains of.
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments, None);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        error
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.says(arguments)).unwrap()
    }

    fn tenant(&self, name: &str) -> Value {
        let all = self.json(&["tenant", "list", "--json"]);
        let found = all.as_array().unwrap().iter().find(|row| row["tenant"]["name"] == name);
        found.unwrap_or(&Value::Null).clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.run(&["stop"], None);
    }
}

#[test]
fn a_tenant_is_made_shown_changed_and_removed() {
    let place = Place::new();
    place.says(&["tenant", "add", "web", "--user", "nobody", "--weight", "2", "--in-flight", "8"]);
    let row = place.tenant("web");
    assert_eq!(
        (&row["tenant"]["users"][0], &row["tenant"]["limits"]["weight"]),
        (&"nobody".into(), &2.into())
    );
    place.says(&["tenant", "set", "web", "--dedicate", "1", "--dedicate", "2:40", "--domain", "1"]);
    place.says(&["tenant", "set", "web", "--per-second", "500", "--also-shared"]);
    let tenant = place.tenant("web")["tenant"].clone();
    assert_eq!(tenant["dedicated"][1]["share_percent"], 40);
    assert_eq!(
        (&tenant["limits"]["in_flight_max"], &tenant["limits"]["per_second_max"]),
        (&8.into(), &500.into())
    );
    assert_eq!((&tenant["also_shared"], &tenant["domains"][0]), (&true.into(), &1.into()));
    let shown = place.says(&["tenant", "list"]);
    assert!(
        shown.contains("nobody") && shown.contains("2:40 %") && shown.contains("500 a second"),
        "{shown}"
    );
    let cards = place.says(&["card", "list"]);
    assert!(cards.contains("web 40 %"), "{cards}");
    place.says(&["tenant", "set", "web", "--clear", "dedicated", "--clear", "users", "--also-shared=false"]);
    let tenant = place.tenant("web")["tenant"].clone();
    assert_eq!((&tenant["dedicated"], &tenant["users"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    assert_eq!(tenant["also_shared"], false);
    place.says(&["tenant", "remove", "web"]);
    assert_eq!(place.tenant("web"), Value::Null);
}

#[test]
fn a_credential_makes_a_process_its_tenants() {
    let place = Place::new();
    place.says(&["tenant", "add", "web", "--domain", "1"]);
    place.says(&["tenant", "credential", "web", "-o", "web.credential"]);
    let file = place.path("web.credential");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let own: Value =
        serde_json::from_str(&place.says_as(&["tenant", "list", "--json"], Some("web.credential"))).unwrap();
    let web = own.as_array().unwrap().iter().find(|row| row["tenant"]["name"] == "web").unwrap();
    assert_eq!(web["connections"], 1);
    // Not its domain.
    let output = place
        .run(&["verb", "random-number-generate", "{\"form\": \"text:RANDOM  \"}"], Some("web.credential"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("tenant web may use the domains 1"), "{error}");
    // What could not be given is not kept.
    place.fails(&["tenant", "credential", "nix", "--output", "nix.credential"], 7);
    assert!(!place.path("nix.credential").exists());
    // Who else may read it may not use it.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let output = place.run(&["key", "list"], Some("web.credential"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("chmod 600"));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn a_credential_is_replaced_while_both_are_valid_or_revoked_at_once() {
    let place = Place::new();
    let draws = |more: &[&str]| place.says(&[&["tenant", "credential", "web"], more].concat());
    let refused = |file: &str| {
        let output = place.run(&["key", "list"], Some(file));
        assert_eq!(output.status.code(), Some(7), "{file}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no tenant with this credential"));
    };
    let lets_in = |file: &str| drop(place.says_as(&["key", "list"], Some(file)));
    let copied = |name: &str| {
        std::fs::copy(place.path("web.credential"), place.path(name)).unwrap();
        name.to_owned()
    };
    place.says(&["tenant", "add", "web"]);
    draws(&["--output", "web.credential"]);
    assert!(place.says(&["tenant", "list"]).contains(" credential "));
    place.fails(&["tenant", "credential", "web", "--end-former"], 7);
    let first = copied("first");
    // The same line again: the file is that of the new one, and the one before is valid beside it.
    draws(&["--output", "web.credential"]);
    assert!(place.says(&["tenant", "list"]).contains("2 credentials"));
    assert!(!place.path("web.credential.new").exists());
    let second = copied("second");
    assert_ne!(std::fs::read(place.path(&first)).unwrap(), std::fs::read(place.path(&second)).unwrap());
    lets_in(&first);
    lets_in(&second);
    // No third one, and nothing is changed by asking for it.
    let settings = std::fs::read(place.path("home/settings.toml")).unwrap();
    let why = place.fails(&["tenant", "credential", "web", "--output", "third"], 2);
    assert!(why.contains("--end-former") && why.contains("--revoke"), "{why}");
    // A guest cannot bring itself another one, nor end those of others.
    for more in [&["--end-former"][..], &["--output", "own", "--revoke"]] {
        let output = place.run(&[&["tenant", "credential", "web"], more].concat(), Some(&second));
        assert_eq!(output.status.code(), Some(3));
        assert!(!place.path("own").exists());
    }
    assert_eq!(std::fs::read(place.path("home/settings.toml")).unwrap(), settings);

    draws(&["--end-former"]);
    refused(&first);
    lets_in(&second);
    draws(&["--output", "web.credential"]);
    draws(&["--output", "web.credential", "--end-former"]);
    let fourth = copied("fourth");
    refused(&second);
    lets_in(&fourth);
    assert!(place.says(&["tenant", "list"]).contains("2 credentials"));
    draws(&["--output", "web.credential", "--revoke"]);
    refused(&fourth);
    lets_in("web.credential");
    place.fails(&["tenant", "credential", "web", "--output", "x", "--revoke", "--end-former"], 2);
    place.fails(&["tenant", "credential", "web"], 2);
    // A file that holds anything else is not written over: not text, not one of no tenant, not one behind a link.
    std::os::unix::fs::symlink(place.path("web.credential"), place.path("link")).unwrap();
    std::fs::write(place.path("text"), "mine").unwrap();
    for file in ["text", "first", "link"] {
        let before = std::fs::read(place.path(file)).unwrap();
        let why = place.fails(&["tenant", "credential", "web", "--output", file], 8);
        assert!(why.contains(file) && why.contains("no credential of web"), "{why}");
        assert_eq!(std::fs::read(place.path(file)).unwrap(), before);
    }
    draws(&["--output", "web.credential"]);
    place.says(&["tenant", "set", "web", "--clear", "credential"]);
    refused("web.credential");
    refused(&fourth);
}

#[test]
fn cards_come_and_go_while_others_serve() {
    let place = Place::new();
    let card = |index: usize| place.json(&["card", "list", "--json"])[index].clone();
    let pid = card(0)["pid"].clone();
    place.says(&["card", "add", "--personality", "coprocessor", "--processors", "0"]);
    assert_eq!((&card(3)["personality"], &card(3)["processors"][0]), (&"coprocessor".into(), &0.into()));
    place.says(&["card", "set", "3", "--poll", "every:10ms", "--processors", "all", "--level", "portable"]);
    let changed = card(3);
    assert_eq!(changed["poll"]["every"]["interval_us"], 10_000);
    assert_eq!((&changed["processors"], &changed["level"]), (&Value::Null, &"portable".into()));
    place.says(&["card", "quiesce", "3"]);
    assert_eq!(card(3)["state"], "quiescing");
    place.says(&["stop"]);
    place.says(&["serve", "--background"]);
    assert_eq!(card(3)["state"], "quiescing");
    place.says(&["card", "resume", "3"]);
    assert_eq!(card(3)["state"], "ready");
    // An accelerator of two; the last of a kind only after a question, which nobody can be asked here.
    place.says(&["card", "remove", "1"]);
    assert_eq!(card(1)["index"], 2);
    assert_ne!(pid, Value::Null);
}

#[test]
fn what_makes_no_sense_is_named() {
    let place = Place::new();
    place.says(&["tenant", "add", "db", "--dedicate", "0"]);
    let cases: [(&[&str], i32, &str); 20] = [
        (&["tenant", "add", "db"], 8, "there is a tenant db"),
        (&["tenant", "add", "a b"], 1, "letters, digits"),
        (&["tenant", "add", "web", "--user", "no-such-user-here"], 1, "no user \"no-such-user-here\""),
        (&["tenant", "add", "web", "--domain", "5"], 1, "domains: 5"),
        (&["tenant", "add", "web", "--dedicate", "9"], 1, "no card 9"),
        (&["tenant", "add", "web", "--dedicate", "0:1"], 1, "101 percent"),
        (&["tenant", "add", "web", "--dedicate", "0:0"], 2, "1 to 100"),
        (&["tenant", "add", "web", "--weight", "0"], 1, "limits.weight"),
        (&["tenant", "set", "nix", "--weight", "1"], 7, "no tenant nix"),
        (&["tenant", "set", "db"], 2, "nothing to change"),
        (&["tenant", "remove", "nix"], 7, "no tenant nix"),
        (&["card", "set", "0"], 2, "nothing to change"),
        (&["card", "set", "0", "--poll", "often"], 2, "every:TIME"),
        (
            &["card", "set", "0", "--personality", "accelerator"],
            3,
            "tenant db would be left without a coprocessor",
        ),
        (&["card", "remove", "0"], 2, "Card 0 is the last coprocessor"),
        (&["card", "remove", "0", "--yes"], 3, "tenant db would be left without card 0"),
        (&["card", "quiesce", "9"], 7, "card 9: "),
        (&["card", "quiesce", "9"], 7, "no such card; `cryptand card list`"),
        (&["tenant", "remove", "nix"], 7, "no tenant nix; `cryptand tenant list`"),
        (&["card", "set", "0", "--processors", "8000"], 1, "no processor 8000"),
    ];
    for (arguments, code, expected) in cases {
        let said = place.fails(arguments, code);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    for page in ["tenant", "card"] {
        let help = place.says(&[page, "--help"]);
        assert!(help.contains("Examples:") && help.contains("settings.toml"), "{help}");
    }
    // Nothing of it was written.
    let settings = std::fs::read_to_string(place.path("home/settings.toml")).unwrap();
    assert_eq!(settings.matches("\n[[").count(), 1, "{settings}");
}
