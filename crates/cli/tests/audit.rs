//! Lines for an auditor: what is done to a real home, by whom, and what of it stands in the log.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const PART: &str = "C4";
const PASSPHRASE: &str = "correct horse battery";
/// A user without any rights.
const NOBODY: u32 = 65534;

/// A throw-away home; its daemon is stopped when the test ends.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.run(&["init", "--no-master-keys", "--seal-memory", "64"], "");
        place.run(&["serve", "--background"], "");
        place
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.home()).args(arguments).env_remove("CRYPTAND_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home().join("log/daemon.log")).unwrap()
    }

    /// The lines for an auditor, from the act on.
    fn lines(&self) -> Vec<String> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| line.split_once(" audit act=")).map(|(_, rest)| rest);
        lines.map(str::to_owned).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).status();
    }
}

#[test]
fn who_did_what_to_what_stands_in_the_log_and_no_secret_does() {
    let place = Place::new();
    for register in ["sym", "aes"] {
        for (part, digits) in [("first", PART), ("last", "1B")] {
            let typed = digits.repeat(if register == "sym" { 24 } else { 32 }) + "\n";
            place.run(&["master-key", "load", register, part, "--from-stdin"], &typed);
        }
    }
    place.run(&["master-key", "load", "aes", "last", "--from-stdin"], &(PART.repeat(32) + "\n"));
    place.run(&["master-key", "set"], "");
    place.run(&["master-key", "seal"], &format!("{PASSPHRASE}\n{PASSPHRASE}\n"));
    place.run(&["master-key", "seal"], &format!("{PASSPHRASE}\n{PASSPHRASE}\nnot the passphrase\n"));
    place.run(&["key", "generate", "PAY.KEY", "--type", "aes256"], "");
    place.run(&["key", "show", "PAY.KEY"], "");
    place.run(&["key", "reencipher"], "");
    place.run(&["tenant", "add", "web", "--user", "root"], "");
    place.run(&["card", "quiesce", "1"], "");
    place.run(&["card", "resume", "1"], "");
    let backup = place.0.path().join("backup");
    place.run(&["backup", backup.to_str().unwrap()], "");
    place.run(&["key", "delete", "PAY.KEY", "--yes"], "");
    let again = r#"{"rule_array": ["LABEL-DL"], "key_label": "text:PAY.KEY"}"#;
    place.run(&["verb", "aes-key-record-delete", again], "");
    place.run(&["reload"], "");
    let lines = place.lines();
    let me = rustix::process::geteuid().as_raw();
    let mut rest = &lines[..];
    for (what, object, result) in [
        ("master-key load", "domain 0 sym first", "done"),
        ("master-key load", "domain 0 sym last", "done"),
        ("master-key load", "domain 0 aes first", "done"),
        ("master-key load", "domain 0 aes last", "done"),
        ("master-key load", "domain 0 aes last", "refused: "),
        ("master-key set", "domain 0", "done"),
        ("master-key seal", "", "done"),
        ("master-key seal", "", "refused: "),
        ("key-record-create", "PAY.KEY", "0/0"),
        ("key-record-read", "PAY.KEY", "0/0"),
        ("tenant add", "web", "done"),
        ("card quiesce", "1", "done"),
        ("card resume", "1", "done"),
        // The daemon's copy, which the command carries out of the home.
        ("backup", place.home().join("backup-").to_str().unwrap(), "done"),
        ("key-record-delete", "PAY.KEY", "0/0"),
        ("aes-key-record-delete", "PAY.KEY", "8/"),
        ("reload", "", "done"),
    ] {
        let is_it = |line: &String| {
            let (act, after) = line.split_once(" object=").unwrap();
            act.contains(what)
                && after.starts_with(format!("{object:?}").trim_end_matches('"'))
                && after.contains(&format!("result=\"{result}"))
                && after.contains(&format!(" user={me} "))
                && after.contains("process=\"cryptand\"")
                && after.contains(" pid=")
        };
        let at = rest.iter().position(is_it);
        let at = at.unwrap_or_else(|| panic!("{what} {object} {result} is not among {rest:#?}"));
        rest = &rest[at + 1..];
    }
    let log = place.log().to_uppercase();
    for secret in [PART.repeat(24).as_str(), PASSPHRASE, "NOT THE PASSPHRASE"] {
        assert!(!log.contains(&secret.to_uppercase()), "{secret} stands in the log");
    }
}

#[test]
fn what_is_refused_is_told_of_everybody_and_floods_nothing() {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let place = Place::new();
    // Guests may come, and do nothing to the home.
    let path = place.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\nusers = []\n", "\nusers = [\"nobody\"]\n")).unwrap();
    assert!(place.run(&["reload"], "").status.success());
    for folder in [place.0.path(), &place.home()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o711)).unwrap();
    }
    let program = place.0.path().join("cryptand");
    needs::copy_program(env!("CARGO_BIN_EXE_cryptand").as_ref(), &program);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut refused = 0;
    for _ in 0..40 {
        let mut command = Command::new(&program);
        let output = command
            .arg("--home")
            .arg(place.home())
            .args(["card", "quiesce", "0"])
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .output()
            .unwrap();
        assert!(!output.status.success());
        refused += 1;
    }
    let of_nobody = |line: &&String| line.contains(&format!(" user={NOBODY} "));
    let lines = place.lines();
    let told: Vec<&String> = lines.iter().filter(of_nobody).collect();
    assert!(!told.is_empty() && told.len() < refused, "{told:#?}");
    assert!(
        told[0].starts_with("\"card quiesce\" object=\"0\"") && told[0].contains("refused: "),
        "{told:#?}"
    );
}
