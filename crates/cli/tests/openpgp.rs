//! The OpenPGP commands as people and scripts use them: what is typed, what is printed, which exit code, which files.
//!
//! Each script in `tests/openpgp` is a session in a folder of its own. A line with `$ ` is run by `sh`; the lines below
//! it are its standard output and standard error, in this order, where `*` stands for anything; `[3]` is its exit code,
//! if that is not 0.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder with a key store, a home folder and a path of their own.
struct Session {
    base: tempfile::TempDir,
}

impl Session {
    fn new() -> Self {
        let session = Self { base: needs::short_folder() };
        for folder in ["bin", "work", "gnupg"] {
            fs::create_dir(session.base.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cryptand"), session.base.path().join("bin/cryptand"))
            .unwrap();
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(session.base.path().join("gnupg"), fs::Permissions::from_mode(0o700)).unwrap();
        session
    }

    fn run(&self, line: &str) -> Output {
        let base = self.base.path();
        Command::new("sh")
            .args(["-c", line])
            .current_dir(base.join("work"))
            .env(
                "PATH",
                format!("{}:{}", base.join("bin").display(), std::env::var("PATH").unwrap_or_default()),
            )
            .env("HOME", base)
            .env("XDG_DATA_HOME", base.join("data"))
            .env("GNUPGHOME", base.join("gnupg"))
            .env("LC_ALL", "C")
            .env_remove("CRYPTAND_KEYRING")
            .env_remove("CRYPTAND_AGENT")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("CRYPTAND_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn succeeds(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a script, and compares.
    fn script(&self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openpgp").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().enumerate().peekable();
        let mut command_count = 0;
        while let Some((number, line)) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                assert!(line.is_empty() || line.starts_with('#'), "{name}:{}: {line}", number + 1);
                continue;
            };
            command_count += 1;
            let mut expected = Vec::new();
            let mut code = 0;
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
                match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse().ok()) {
                    Some(said) => code = said,
                    None => expected.push(line),
                }
            }
            let output = self.run(command);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let said: Vec<_> = said.lines().map(str::trim_end).collect();
            let is_expected = said.len() == expected.len()
                && expected.iter().zip(&said).all(|(pattern, line)| fits(pattern, line));
            assert!(
                is_expected && output.status.code() == Some(code),
                "{name}:{}: $ {command}\nexpected, with exit code {code}:\n{}\ngot, with exit code {:?}:\n{}",
                number + 1,
                expected.join("\n"),
                output.status.code(),
                said.join("\n")
            );
        }
        assert!(command_count > 0, "{name} holds no command");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if fs::read_dir(self.base.path().join("gnupg")).is_ok_and(|mut entries| entries.next().is_some()) {
            let _ = self.run("gpgconf --kill all");
        }
        if self.base.path().join("work/home").exists() {
            let _ = self.run("cryptand --home home stop");
        }
    }
}

/// Whether a line is what a pattern says; `*` stands for anything.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

#[test]
fn patterns_are_whole_lines() {
    assert!(fits("a*c*", "abbcd") && fits("*", "") && fits("abc", "abc") && fits("*c", "abc"));
    assert!(!fits("a", "ab") && !fits("a*b", "abc") && !fits("b*", "abc") && !fits("", "x"));
}

#[test]
fn keys_are_made_changed_and_given_away() {
    Session::new().script("keys.txt");
}

#[test]
fn a_passphrase_is_typed_once_where_the_agent_holds_the_key() {
    Session::new().script("agent.txt");
}

#[test]
fn files_are_encrypted_and_decrypted() {
    Session::new().script("files.txt");
}

#[test]
fn signatures_are_made_and_verified() {
    Session::new().script("signatures.txt");
}

#[test]
fn what_must_not_be_is_refused() {
    Session::new().script("refused.txt");
}

#[test]
fn folders_go_into_one_message() {
    Session::new().script("archive.txt");
}

#[test]
fn the_guide_from_gnupg_does_what_it_says() {
    let session = Session::new();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto/openpgp.md");
    let guide = fs::read_to_string(guide).unwrap();
    // Who has used GnuPG before has a key and somebody else's; here they have no passphrase, so that nobody is asked.
    for name in ["You <you@example.org>", "Alice <alice@example.org>"] {
        session
            .succeeds(&format!("gpg --batch --passphrase '' --quick-gen-key '{name}' default default never"));
    }
    session.succeeds("gpg --batch --yes --delete-secret-keys $(gpg --with-colons --list-keys alice@example.org | awk -F: '/^fpr/{print $10; exit}')");
    session.succeeds("echo old | gpg --batch --trust-model always -r you@example.org -e -o old.gpg");
    session.succeeds("gpg --armor --export alice@example.org > alice.asc; mkdir reports; for i in 1 2 3; do echo $i > reports/$i.csv; done; echo text > report.pdf");
    let blocks: Vec<_> =
        guide.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() > 5, "the guide has its commands in blocks of sh");
    for line in blocks.iter().flat_map(|block| block.lines()).filter(|line| !line.trim().is_empty()) {
        let output = session.run(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    }
}

#[test]
fn json_is_one_object_a_file() {
    let session = Session::new();
    session.succeeds("cryptand pgp generate --no-passphrase 'A <a@example.org>'; seq 1000 > a; seq 10 > b");
    let lines = session.succeeds("cryptand encrypt --json -s -r a@example.org a b");
    let rows: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0]["input"].as_str(), rows[0]["output"].as_str()), (Some("a"), Some("a.pgp")));
    assert_eq!(rows[0]["form"], "SEIPDv2, AES-256 GCM");
    assert_eq!(rows[0]["input_bytes"], fs::metadata(session.base.path().join("work/a")).unwrap().len());
    let output = session.run("cryptand decrypt --json -o - a.pgp");
    assert_eq!(output.stdout, fs::read(session.base.path().join("work/a")).unwrap());
    // Standard output carries the text, so the object goes beside it.
    let row: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(row["signatures"][0]["verdict"], "good");
    let output =
        session.run("mkdir out; rm b.pgp; echo x > b.pgp; cryptand decrypt --json -o out/ a.pgp b.pgp");
    let rows: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.iter().any(|row| row["exit_code"] == 5 && row["input"] == "b.pgp"), "{rows:?}");
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let session = Session::new();
    session.succeeds("cryptand pgp generate --no-passphrase 'A <a@example.org>'; mkfifo input");
    for (signal, name) in [("INT", "SIGINT"), ("TERM", "SIGTERM")] {
        // The pipe stays open and empty behind its first bytes: the command is in the middle of its work.
        let line = format!(
            "(printf begun; exec sleep 60) > input & sleeper=$!
             cryptand encrypt -r a@example.org -o out.pgp input & work=$!
             while ! ls -A | grep -q '^\\.' && ! ls /proc/$work/fd -l | grep -q 'work/'; do :; done
             kill -{signal} $work; kill $sleeper; wait $work"
        );
        let output = session.run(&line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{name}: {said}");
        assert!(said.contains("interrupted"), "{name}: {said}");
        let left: Vec<_> = fs::read_dir(session.base.path().join("work")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{name}: only the pipe is there: {left:?}");
    }
}

#[test]
fn a_private_key_can_be_a_label_in_a_home() {
    let session = Session::new();
    session.succeeds("cryptand --home home init --insecure-dev");
    session.script("cards.txt");
}

#[test]
fn a_card_tells_nothing_of_what_is_in_a_packet() {
    let session = Session::new();
    session.succeeds("cryptand --home home init --insecure-dev; seq 100000 > text");
    session.succeeds("cryptand --home home pgp generate --label PGP.CARD.KEY 'Carla <carla@example.org>'");
    session.succeeds("cryptand pgp generate --no-passphrase --algorithm rsa2048 'Fred <fred@example.org>'");
    let work = session.base.path().join("work");
    for (name, provider) in [("Carla", ""), ("Fred", "--provider card")] {
        for mode in ["cfb", "gcm"] {
            let message = || {
                session
                    .succeeds(&format!("cryptand encrypt -q --force --mode {mode} -r {name} -o m.pgp text"));
                fs::read(work.join("m.pgp")).unwrap()
            };
            let (message, other) = (message(), message());
            // The packet with the session key: two octets of length, as RSA-2048 has it, and a number at its end.
            let packet_bytes =
                |message: &[u8]| 195 + ((usize::from(message[1]) - 192) << 8) + usize::from(message[2]);
            let packet = packet_bytes(&message);
            let changed = |at: usize| {
                let mut changed = message.clone();
                changed[at] ^= 1;
                changed
            };
            let number = packet - 256;
            let bits = u16::from_be_bytes([message[number - 2], message[number - 1]]);
            let mut too_large = changed(packet - 2);
            if (2041..=2048).contains(&bits) {
                too_large[number - 2..number].copy_from_slice(&[8, 0]);
                too_large[number..packet].fill(0xff);
            }
            let wrong = [
                changed(packet - 1),
                too_large,
                [&other[..packet_bytes(&other)], &message[packet..]].concat(),
                changed(message.len() / 2),
                changed(message.len() - 1),
            ];
            let line = format!("cryptand --home home decrypt {provider} --json --batch -o out m.pgp");
            let answers = wrong.map(|message| {
                fs::write(work.join("m.pgp"), message).unwrap();
                let answer = session.run(&line);
                assert!(!work.join("out").exists());
                answer
            });
            let said = String::from_utf8_lossy(&answers[0].stderr);
            assert_eq!(answers[0].status.code(), Some(5), "{line}: {said}");
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{name} {mode}: {answers:#?}");
            fs::write(work.join("m.pgp"), &message).unwrap();
            session.succeeds(&format!("cryptand --home home decrypt {provider} -q -o - m.pgp | cmp - text"));
        }
    }
}
