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

    /// What administrators did, then what others did.
    fn log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.home().join("log").join(name)).unwrap();
        read("audit.log") + &read("audit-guests.log")
    }

    /// The lines for an auditor, from the act on.
    fn lines(&self) -> Vec<String> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| line.split_once(" audit act=")).map(|(_, rest)| rest);
        lines.map(str::to_owned).collect()
    }

    /// Names a user in the settings, who may come and do nothing to the home, and opens the way to the socket.
    fn lets_in(&self, user: &str) {
        let path = self.home().join("settings.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\nusers = []\n", &format!("\nusers = [{user:?}]\n"))).unwrap();
        assert!(self.run(&["reload"], "").status.success());
        for folder in [self.0.path(), &self.home()] {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o711)).unwrap();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.command(&["stop", "--lose-keys"]).status();
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
    let daemon = std::fs::read_to_string(place.home().join("log/daemon.log")).unwrap();
    assert!(!daemon.contains(" audit act="), "an auditor's lines lie in files of their own: {daemon}");
    let log = (place.log() + &daemon).to_uppercase();
    for secret in [PART.repeat(24).as_str(), PASSPHRASE, "NOT THE PASSPHRASE"] {
        assert!(!log.contains(&secret.to_uppercase()), "{secret} stands in the log");
    }
}

/// A thread of this process that has become [`NOBODY`] opens connections and sends what is no greeting.
fn floods(socket: PathBuf, connections: usize) -> usize {
    let flooding = std::thread::spawn(move || {
        // Of this thread alone: the library's function would change all of the process.
        // SAFETY: plain system calls on numbers.
        let done = unsafe {
            libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) == 0
                && libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0
        };
        assert!(done);
        let address = rustix::net::SocketAddrUnix::new(socket).unwrap();
        let mut sent = 0;
        for _ in 0..connections {
            let family = rustix::net::AddressFamily::UNIX;
            let one = rustix::net::socket(family, rustix::net::SocketType::SEQPACKET, None).unwrap();
            if rustix::net::connect(&one, &address).is_err() {
                continue;
            }
            if rustix::net::send(&one, b"no greeting at all", rustix::net::SendFlags::NOSIGNAL).is_ok() {
                sent += 1;
                // Until it is answered or ended: so the daemon has read it.
                let _ = rustix::net::recv(&one, &mut [0; 256], rustix::net::RecvFlags::empty());
            }
        }
        sent
    });
    flooding.join().unwrap()
}

#[test]
fn a_user_named_nowhere_drives_no_line_out() {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let place = Place::new();
    // Somebody is named, so that the socket is there for all.
    place.lets_in("daemon");
    let before = place.lines();
    assert!(before.iter().any(|line| line.starts_with("\"reload\"")), "{before:#?}");
    let sent = floods(place.home().join("run/guest.sock"), 20_000);
    assert!(sent > 1000, "{sent} were sent");
    assert_eq!(place.lines(), before);
    let daemon = std::fs::read_to_string(place.home().join("log/daemon.log")).unwrap();
    let about = daemon.lines().filter(|line| line.contains(&format!("user={NOBODY}"))).count();
    // Twenty in each minute that the flood has lasted, however long that was.
    let minutes = 1 + place_age(&place) / 60;
    assert!(about > 0 && about as u64 <= 20 * minutes, "{about} lines of {sent} in {minutes} min");
    for name in ["audit.log", "audit-guests.log", "daemon.log"] {
        let mode = std::fs::metadata(place.home().join("log").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// For how many seconds the home has been there.
fn place_age(place: &Place) -> u64 {
    std::fs::metadata(place.home().join("version")).unwrap().modified().unwrap().elapsed().unwrap().as_secs()
}

/// What a card decides stands there as well: a verb that the role has not, and a label that it may not use.
#[test]
fn what_a_card_refuses_a_guest_is_told_with_verb_point_and_label() {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let place = Place(tempfile::tempdir().unwrap());
    place.run(&["init", "--insecure-dev", "--accelerators", "0"], "");
    let path = place.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\nusers = []\n", "\nusers = [\"nobody\", \"daemon\"]\n")).unwrap();
    place.run(&["serve", "--background"], "");
    assert!(
        place.run(&["tenant", "add", "till", "--user", "daemon", "--label", "TILL.*"], "").status.success()
    );
    for folder in [place.0.path(), &place.home()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o711)).unwrap();
    }
    let program = place.0.path().join("cryptand");
    needs::copy_program(env!("CARGO_BIN_EXE_cryptand").as_ref(), &program);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let refused = |user: u32, verb: &str, request: &str| {
        let mut command = Command::new(&program);
        command.arg("--home").arg(place.home()).args(["verb", verb, request]).uid(user).gid(user);
        let output = command.current_dir("/").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("permit"), "{verb}: {said}");
    };
    let export = r#"{"rule_array": ["AES", "PKOAEP2", "SHA-256"], "source_key_identifier": "label:DEV.AES256.DATA",
        "rsa_public_key_identifier": "label:DEV.RSA2048.KEY"}"#;
    let generate = r#"{"pin_generating_key_identifier": "label:DEV.TDES.DATA", "rule_array": ["IBM-PIN"],
        "pin_length": 4, "pin_check_length": 4, "data_array": "text:012345678901234512345678901234560000000000000000"}"#;
    let mac =
        r#"{"key_identifier": "label:DEV.TDES.DATA", "text": "text:hello", "rule_array": ["X9.19OPT"]}"#;
    for _ in 0..3 {
        refused(NOBODY, "symmetric-key-export", export);
    }
    refused(NOBODY, "clear-pin-generate", generate);
    refused(1, "mac-generate", mac);
    let expected = [
        ("symmetric-key-export", "DEV.AES256.DATA", NOBODY, "point=\"symmetric-key-export\""),
        ("clear-pin-generate", "DEV.TDES.DATA", NOBODY, "point=\"clear-pin-generate\""),
        ("use key", "DEV.TDES.DATA", 1, "refused: "),
    ];
    // Cards tell at their next turn.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for (act, object, user, rest) in expected {
        let is_it = |line: &String| {
            line.starts_with(&format!("{act:?} object={object:?} "))
                && line.contains(&format!(" user={user} "))
                && line.contains(rest)
        };
        while !place.lines().iter().any(is_it) {
            assert!(std::time::Instant::now() < deadline, "{act} is not among {:#?}", place.lines());
            std::thread::yield_now();
        }
    }
    let of_exports = |line: &&String| line.starts_with("\"symmetric-key-export\"");
    let times = |line: &String| {
        line.rsplit_once("times=").unwrap().1.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let told = || place.lines().iter().filter(of_exports).map(times).sum::<u32>();
    while told() != 3 {
        assert!(std::time::Instant::now() < deadline, "{:#?}", place.lines());
        std::thread::yield_now();
    }
}

#[test]
fn what_is_refused_is_told_of_everybody_and_floods_nothing() {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let place = Place::new();
    place.lets_in("nobody");
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
