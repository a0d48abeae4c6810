//! `cryptand role` as its user types it: what is shown, and by which exit code a check answers.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const ROLES: &str = r#"
[[role]]
name = "till"
base = "guest"
deny = ["mac-x9.9", "encipher"]
[[role.labels]]
pattern = "TILL.*"
uses = ["use"]

[[tenant]]
name = "web"
number = 1
users = ["www-data"]
role = "till"

[[tenant]]
name = "desk"
number = 2
role = "till"
[[tenant.labels]]
pattern = "DESK.*"
uses = ["mac-verify"]
"#;

/// A home that nothing serves: the settings say it all.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { base: tempfile::tempdir().unwrap() };
        assert!(place.run(&["init", "--insecure-dev"]).status.success());
        let path = place.settings();
        let text = fs::read_to_string(&path).unwrap().replacen(
            "tenant_number_next = 1",
            "tenant_number_next = 9",
            1,
        );
        fs::write(&path, format!("{text}{ROLES}")).unwrap();
        place
    }

    fn settings(&self) -> PathBuf {
        self.base.path().join("home/settings.toml")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.base.path().join("home")).args(arguments).stdin(Stdio::null());
        command
            .env_remove("CRYPTAND_HOME")
            .env_remove("CRYPTAND_LEVEL")
            .env_remove("CRYPTAND_CREDENTIAL_FILE");
        command.output().unwrap()
    }

    /// Exit code, output and complaint.
    fn told(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.run(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let (code, output, error) = self.told(arguments);
        (code, serde_json::from_str(&output).unwrap_or_else(|_| panic!("{output}{error}")))
    }
}

#[test]
fn roles_are_listed_with_who_has_them() {
    let place = Place::new();
    let (code, text, _) = place.told(&["role", "list"]);
    assert!(code == 0 && text.contains("TILL.* (use)") && text.contains("web, desk"), "{text}");
    let (_, rows) = place.json(&["role", "list", "--json"]);
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["role"].as_str().unwrap()).collect();
    assert_eq!(names, ["owner", "guest", "trusted", "tls-server", "nobody", "till"]);
}

#[test]
fn a_role_is_shown_point_by_point() {
    let place = Place::new();
    let (code, shown) = place.json(&["role", "show", "till", "--json"]);
    assert_eq!(code, 0);
    let point = |name: &str| {
        let points = shown["points"].as_array().unwrap();
        points.iter().find(|point| point["point"] == name).unwrap().clone()
    };
    let denied = point("mac-x9.9");
    assert_eq!((&denied["permitted"], &denied["role"]), (&false.into(), &"till".into()));
    assert_eq!((&denied["item"], &denied["ours"]), (&"mac-x9.9".into(), &true.into()));
    let kept = point("mac-verify");
    assert_eq!(
        (&kept["permitted"], &kept["role"], &kept["number"]),
        (&true.into(), &"guest".into(), &"0011".into())
    );
    // A point that forbids is set where what it is about is refused.
    let forbids = point("pka-decrypt-pkcs-1.2");
    assert_eq!(
        (&forbids["forbids"], &forbids["set"], &forbids["permitted"]),
        (&true.into(), &true.into(), &false.into())
    );
    let (code, text, _) = place.told(&["role", "show", "guest"]);
    assert!(code == 0 && text.contains("token-bytes") && text.contains("F02B (ours)"), "{text}");
    let (code, _, error) = place.told(&["role", "show", "cashier"]);
    assert!(code == 7 && error.contains("no role \"cashier\"") && error.contains("till"), "{error}");
}

#[test]
fn a_check_answers_by_its_exit_code_and_says_what_decides() {
    let place = Place::new();
    let cases = [
        (["web", "TILL.A", "mac-verify"], 0, "role guest permits it"),
        (["www-data", "TILL.A", "CSNBMVR"], 0, "matching TILL.*"),
        (["web", "TILL.A", "encipher"], 3, "role till, \"encipher\" refuses it"),
        (["web", "SHOP.A", "mac-verify"], 3, "no pattern matches"),
        (["desk", "DESK.A", "mac-verify"], 0, "[[tenant]] name = \"desk\" allows mac-verify"),
        (["desk", "DESK.A", "mac-generate"], 3, "needs mac-generate"),
        (["desk", "TILL.A", "mac-verify"], 3, "no pattern matches"),
        (["owner", "ANY.A", "symmetric-key-export"], 0, "role owner permits it"),
        (["web", "TILL.A", "pka-decrypt"], 3, "role guest refuses it"),
    ];
    for (typed, expected, cause) in cases {
        let arguments: Vec<&str> = ["role", "check"].into_iter().chain(typed).collect();
        let (code, text, error) = place.told(&arguments);
        assert_eq!(code, expected, "{typed:?}: {text}{error}");
        assert!(text.contains(cause), "{typed:?}: {text}");
        let with_json: Vec<&str> = arguments.into_iter().chain(["--json"]).collect();
        let (code, answer) = place.json(&with_json);
        assert_eq!((code, answer["allowed"].as_bool()), (expected, Some(expected == 0)), "{typed:?}");
    }
    let (_, text, _) = place.told(&["role", "check", "web", "TILL.A", "mac-generate"]);
    assert!(text.contains("not with it: mac-x9.9"), "{text}");
    for (wrong, expected, cause) in [
        (["web", "till.a", "mac-verify"], 2, "a label holds"),
        (["web", "TILL.A", "make-coffee"], 2, "no verb \"make-coffee\""),
        (["strangers", "TILL.A", "mac-verify"], 7, "name no tenant and no user \"strangers\""),
    ] {
        let arguments: Vec<&str> = ["role", "check"].into_iter().chain(wrong).collect();
        let (code, _, error) = place.told(&arguments);
        assert!(code == expected && error.contains(cause), "{error}");
    }
}

/// Lines of a database of the machine, in their fields.
fn lines(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(':').map(str::to_owned).collect()).collect()
}

#[test]
fn who_comes_by_a_group_is_found_and_the_owner_is_the_owner() {
    let place = Place::new();
    let own = rustix::process::getuid().as_raw().to_string();
    let (accounts, groups) = (lines("/etc/passwd"), lines("/etc/group"));
    let known = |name: &str| {
        let account = accounts.iter().find(|account| account[0] == name);
        account.filter(|account| account[2] != "0" && account[2] != own)
    };
    // By the group of an account, and by a group that lists it, as far as this machine has such.
    let of_account = accounts.iter().filter_map(|account| {
        let group = groups.iter().find(|group| group[2] == account[3])?;
        Some((known(&account[0])?[0].clone(), group[0].clone()))
    });
    let listed = groups.iter().filter_map(|group| {
        let member = group[3].split(',').next()?;
        Some((known(member)?[0].clone(), group[0].clone()))
    });
    let cases: Vec<_> = of_account.take(1).chain(listed.take(1)).collect();
    assert!(!cases.is_empty(), "a machine has users besides root");
    let text = fs::read_to_string(place.settings()).unwrap();
    for (user, group) in cases {
        let asked = ["role", "check", &user, "TILL.A", "mac-verify"];
        fs::write(place.settings(), &text).unwrap();
        if user != "www-data" {
            assert_eq!(place.told(&asked).0, 7, "{user} is nobody to the home yet");
        }
        let tenant =
            format!("\n[[tenant]]\nname = \"hall\"\nnumber = 3\nrole = \"till\"\ngroups = [{group:?}]\n");
        fs::write(place.settings(), format!("{text}{tenant}")).unwrap();
        let (code, said, error) = place.told(&asked);
        assert_eq!(code, 0, "{user} in {group}: {said}{error}");
        assert!(said.contains("role till"), "{said}");
        // One group is never that of two tenants.
        let other = tenant.replace("hall", "yard").replace("number = 3", "number = 4");
        fs::write(place.settings(), format!("{text}{tenant}{other}")).unwrap();
        let (code, _, error) = place.told(&asked);
        assert!(code != 0 && error.contains("is also that of tenant hall"), "{error}");
    }
    fs::write(place.settings(), text).unwrap();
    let (code, said, _) = place.told(&["role", "check", "root", "ANY.A", "symmetric-key-export"]);
    assert!(code == 0 && said.contains("role owner"), "{said}");
}

#[test]
fn settings_that_contradict_themselves_are_named_by_line() {
    let place = Place::new();
    let text = fs::read_to_string(place.settings()).unwrap();
    fs::write(place.settings(), text.replacen("\nbase = \"guest\"", "\nbase = \"till\"", 1)).unwrap();
    let line = text.lines().position(|line| line == "base = \"guest\"").unwrap() + 1;
    let (code, _, error) = place.told(&["role", "list"]);
    assert!(code == 1 && error.contains("in a circle") && error.contains(&format!("line {line}")), "{error}");
}
