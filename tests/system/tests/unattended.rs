//! A keeper that unseals itself, with a credential as the service manager gives it: right, wrong, missing, and
//! untrusted. If it does not open the keys they stay sealed, the cause is reported, and there is no retry until the
//! keeper is restarted.

use facility::{Facility, officer};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use system_tests::{Installation, expected_mac, kill, mac_key, mac_of, mac_request, program, settings};
use wire::control::{
    OfficerOrder, OfficerReply, PURPOSE_PASSPHRASE, Part, Register, Sealed, Status, Unseal, Unsealing,
    purpose_of_part,
};

const TEXT: &[u8] = b"what a key that came back signs";
const PASSPHRASE: &[u8] = b"correct horse battery";
const NOBODY: u32 = 65534;

fn sealed(facility: &Facility, purpose: &[u8], secret: &[u8]) -> Sealed {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    officer::seal(&key, purpose, secret).unwrap()
}

/// Loads and sets the master key of DES keys, and seals it.
fn load(facility: &Facility) {
    let register = Register::Sym;
    for (part, byte) in [(Part::First, 0x37), (Part::Last, 0x80)] {
        let purpose = purpose_of_part(0, register, part);
        let sealed = sealed(facility, &purpose, &vec![byte; register.key_bytes()]);
        let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
        assert!(matches!(facility.officer(order).unwrap(), OfficerReply::PartLoaded { .. }));
    }
    let done = |order| assert_eq!(facility.officer(order).unwrap(), OfficerReply::Done);
    done(OfficerOrder::Set { domain: 0 });
    let sealed = sealed(facility, PURPOSE_PASSPHRASE, PASSPHRASE);
    done(OfficerOrder::SealUnder { sealed, former: None });
}

fn put(path: &Path, content: &[u8], mode: u32) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A home whose daemon is given this folder of credentials.
struct Place {
    installation: Installation,
    folder: PathBuf,
}

impl Place {
    fn new() -> Self {
        let mut settings = settings(1, 0);
        (settings.development, settings.seal_memory_mib, settings.unseal) = (None, 64, Unseal::Unattended);
        let mut installation = Installation::stopped(&settings);
        let folder = installation.beside("credentials");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let mut command = Command::new(program("cryptand-daemon"));
        command.env("CREDENTIALS_DIRECTORY", &folder);
        installation.start_as(command);
        Self { installation, folder }
    }

    fn credential(&self) -> PathBuf {
        self.folder.join("cryptand-passphrase")
    }

    /// Puts a credential there as the service manager does.
    fn give(&self, content: &[u8]) {
        self.take();
        put(&self.credential(), content, 0o400);
    }

    fn take(&self) {
        let path = self.credential();
        let _ = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
    }

    /// Kills the keeper; how things stand once there is another one, which has said what came of it.
    fn another_keeper(&self) -> Status {
        let before = self.installation.facility().status().unwrap().keeper_pid.unwrap();
        kill(before);
        self.installation.until("there is another keeper, which has begun", |status| {
            let is_another = status.keeper_pid.is_some_and(|pid| pid != before);
            is_another && officer_is_heard(&self.installation.facility())
        });
        // The status from before it was heard may be of the keeper before.
        self.installation.facility().status().unwrap()
    }
}

fn officer_is_heard(facility: &Facility) -> bool {
    matches!(facility.officer(OfficerOrder::StartupKey), Ok(OfficerReply::StartupKey(_)))
}

fn signs(place: &Place, key: &[u8]) {
    let reply = place.installation.facility().ask(0, &mac_request(key, TEXT)).unwrap();
    assert_eq!(mac_of(&reply), expected_mac(TEXT));
}

/// Why a keeper stayed sealed.
fn why(status: &Status) -> &str {
    assert!(status.registers.is_empty(), "{status:?}");
    match &status.unsealing {
        Unsealing::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_keeper_unseals_itself_with_its_credential_and_with_nothing_else() {
    let place = Place::new();
    let status = place.installation.until("a keeper", |status| status.keeper_pid.is_some());
    assert!(why(&status).contains("No such file"), "{status:?}");
    let facility = place.installation.facility();
    load(&facility);
    let key = mac_key(&facility);

    // With a line feed, as most programs write, and without.
    for content in [&b"correct horse battery"[..], b"correct horse battery\n"] {
        place.give(content);
        let status = place.another_keeper();
        assert_eq!((status.unsealing, status.registers.len()), (Unsealing::Unattended, 4));
        signs(&place, &key);
    }
    nobody_else_has_it(&place);

    let elsewhere = place.installation.beside("elsewhere");
    fs::write(&elsewhere, PASSPHRASE).unwrap();
    type Prepare<'a> = Box<dyn Fn(&Path) + 'a>;
    let mut cases: Vec<(&str, Prepare<'_>)> = vec![
        ("does not open the sealed master keys", Box::new(|path| put(path, b"another passphrase", 0o400))),
        ("empty", Box::new(|path| put(path, b"\n", 0o400))),
        ("longer than", Box::new(|path| put(path, &vec![b'x'; 1 << 20], 0o400))),
        ("symbolic link", Box::new(|path| symlink(&elsewhere, path).unwrap())),
        ("not a regular file", Box::new(|path| fs::create_dir(path).unwrap())),
        ("No such file", Box::new(|_| {})),
        ("lets other users", Box::new(|path| put(path, PASSPHRASE, 0o644))),
    ];
    if rustix::process::geteuid().is_root() {
        cases.push((
            "belongs to user 65534",
            Box::new(|path| {
                put(path, PASSPHRASE, 0o400);
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }),
        ));
    } else {
        cases.push(("Permission denied", Box::new(|path| put(path, PASSPHRASE, 0o000))));
    }
    for (expected, prepare) in cases {
        place.take();
        prepare(&place.credential());
        let status = place.another_keeper();
        assert!(why(&status).contains(expected), "{expected}: {status:?}");
    }
    // It was tried once: the next passphrase is that of an officer, without a wait, and unseals.
    let officer = place.installation.facility();
    let typed = sealed(&officer, PURPOSE_PASSPHRASE, PASSPHRASE);
    assert_eq!(officer.officer(OfficerOrder::Unseal { sealed: typed }).unwrap(), OfficerReply::Done);
    signs(&place, &key);
    let log = fs::read_to_string(place.installation.beside("daemon.said")).unwrap_or_default()
        + &fs::read_to_string(place.installation.home.logs().join("daemon.log")).unwrap_or_default();
    assert!(log.contains("SEALED") && log.contains("does not open the sealed master keys"), "{log}");
    assert!(!log.contains("correct horse") && !log.contains("another passphrase"));
}

/// Neither the variable nor the file is in any process but that of the daemon, and no process keeps the file open.
fn nobody_else_has_it(place: &Place) {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let status = place.installation.facility().status().unwrap();
    let others = status.cards.iter().map(|card| card.pid).chain(status.keeper_pid);
    for pid in others.clone() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        let text = String::from_utf8_lossy(&environment);
        assert!(!text.contains("CREDENTIALS"), "{text}");
    }
    for pid in others.chain([status.daemon_pid]) {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            assert!(!target.ends_with("cryptand-passphrase"), "process {pid} keeps {}", target.display());
        }
    }
}

#[test]
fn a_keeper_that_is_attended_reads_no_credential() {
    let place = Place::new();
    load(&place.installation.facility());
    place.give(PASSPHRASE);
    let mut settings = place.installation.home.settings().unwrap();
    settings.unseal = Unseal::Attended;
    place.installation.home.write_settings(&settings).unwrap();
    place.installation.facility().reload().unwrap();
    let status = place.another_keeper();
    assert!(status.registers.is_empty());
    assert_eq!(status.unsealing, Unsealing::Attended);
}
