//! Key records are listed into files: whose records, where, and what is never overwritten.

use super::{code_text, command, compile, credential, tenant};
use facility::Facility;
use home::{PointItem, RoleSettings};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use system_tests::{Installation, mac_key, rsa_generate, rsa_skeleton, settings};
use tempfile::TempDir;
use wire::code;
use wire::control::Store;
use wire::pattern::{LabelPattern, LabelRule};
use wire::role::GUEST;
use wire::tenant::Tenant;
use wire::uses::Uses;
use wire::verb::{KeyAlgorithm, clear_key_import_multiple as ckm};
use wire::{Codes, Label};

/// Length of the header, and of each record.
const RECORD_BYTES: usize = 154;
/// Where a record has its label, and what says that there is no key.
const LABEL: std::ops::Range<usize> = 3..67;
const KEY_TYPE: std::ops::Range<usize> = 67..75;

/// A program that lists, and the home whose records it lists.
struct Lister {
    folder: TempDir,
    program: PathBuf,
    installation: Installation,
}

impl Lister {
    fn new(installation: Installation, folder: TempDir) -> Self {
        let program = compile(folder.path(), "tests/hosts/lists.c", true, &[]);
        Self { folder, program, installation }
    }

    /// A new folder; its name is short, since the name of a file in it has 64 characters at the most.
    fn place(&self, name: &str) -> PathBuf {
        let place = self.folder.path().join(name);
        fs::create_dir(&place).unwrap();
        place
    }

    /// What the program says: the name of the file that it made, or how it was refused.
    fn run(&self, given: &[&str], variables: &[(&str, &OsStr)], working: &Path) -> Result<String, String> {
        let mut command = command(&self.program, self.installation.home.folder());
        for name in ["CSUDESLD", "CSUAESLD", "CSUPKALD"] {
            command.env_remove(name);
        }
        let output =
            command.args(given).envs(variables.iter().copied()).current_dir(working).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{given:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        match said.trim_end().split_once(' ') {
            Some(("0/0", name)) => Ok(name.to_owned()),
            _ => Err(said.trim_end().to_owned()),
        }
    }

    /// Lists into a folder that a variable names.
    fn list(&self, verb: &str, pattern: &str, place: &Path) -> Result<String, String> {
        let variable = match verb {
            "CSNBKRL" => "CSUDESLD",
            "CSNBAKRL" => "CSUAESLD",
            _ => "CSUPKALD",
        };
        self.run(&[verb, pattern], &[(variable, place.as_os_str())], self.folder.path())
    }
}

fn refused(codes: Codes) -> Result<String, String> {
    Err(code_text(codes))
}

/// The labels of a list, each with what the record says of its key, after its header's form was checked.
fn read(name: &str, title: &str, pattern: &str) -> Vec<(String, String)> {
    assert_eq!(fs::metadata(name).unwrap().permissions().mode() & 0o7777, 0o600);
    let text = fs::read_to_string(name).unwrap();
    let (header, records) = text.split_at(RECORD_BYTES);
    assert_eq!((header[..24].trim_end(), header[77..141].trim_end()), (title, pattern));
    assert_eq!((&header[26..28], &header[58..66]), ("20", "154 154 "));
    assert!(records.len().is_multiple_of(RECORD_BYTES));
    assert_eq!(header[50..56].trim_end(), (records.len() / RECORD_BYTES).to_string());
    let records = (0..records.len() / RECORD_BYTES).map(|at| &records[at * RECORD_BYTES..][..RECORD_BYTES]);
    records
        .map(|record| {
            assert_eq!((&record[75..77], &record[152..], &record[113..115]), ("\r\n", "\r\n", "20"));
            (record[LABEL].trim_end().to_owned(), record[KEY_TYPE].trim_end().to_owned())
        })
        .collect()
}

fn row(label: &str, key_type: &str) -> (String, String) {
    (label.into(), key_type.into())
}

fn record(facility: &Facility, store: Store, label: &str, token: &[u8]) {
    facility.record_create(store, &Label::new(label).unwrap(), token).unwrap();
}

fn aes_key(facility: &Facility) -> Vec<u8> {
    let import = ckm::Ask { algorithm: Some(KeyAlgorithm::Aes), clear_key: &[7; 16], ..ckm::Ask::new() };
    let reply = facility.ask(0, &import).unwrap();
    assert!(reply.codes().is_ok());
    reply.got().target_key_identifier.to_vec()
}

fn rsa_key(facility: &Facility) -> Vec<u8> {
    let reply = facility.ask(0, &rsa_generate(&rsa_skeleton(facility, 2048))).unwrap();
    assert!(reply.codes().is_ok());
    reply.got().generated_key_identifier.to_vec()
}

#[test]
fn records_of_each_store_are_listed_by_a_pattern() {
    let lister = Lister::new(super::installation(), TempDir::new().unwrap());
    let facility = lister.installation.facility();
    let token = mac_key(&facility);
    record(&facility, Store::Des, "PAY.MAC", &token);
    record(&facility, Store::Des, "TILL.MAC", &token);
    record(&facility, Store::Des, "PAY.NONE", &[]);
    record(&facility, Store::Aes, "PAY.AES", &aes_key(&facility));
    record(&facility, Store::Pka, "PAY.PKA", &rsa_key(&facility));
    let place = lister.place("d");
    let first = lister.list("CSNBKRL", "*", &place).unwrap();
    assert_eq!(first, format!("{}/KYRLT001.LST", place.display()));
    let all = [row("PAY.MAC", ""), row("PAY.NONE", "NO-KEY"), row("TILL.MAC", "")];
    assert_eq!(read(&first, "DES KEY-RECORD-LIST", "*"), all);
    let second = lister.list("CSNBKRL", "PAY.*", &place).unwrap();
    assert_eq!(second, format!("{}/KYRLT002.LST", place.display()));
    assert_eq!(read(&second, "DES KEY-RECORD-LIST", "PAY.*"), all[..2]);
    for (verb, title, label) in
        [("CSNBAKRL", "AES KEY-RECORD-LIST", "PAY.AES"), ("CSNDKRL", "PKA KEY-RECORD-LIST", "PAY.PKA")]
    {
        let name = lister.list(verb, "PAY.*", &place).unwrap();
        assert_eq!(read(&name, title, "PAY.*"), [row(label, "")]);
        let name = lister.list(verb, "TILL.*", &place).unwrap();
        assert_eq!(read(&name, title, "TILL.*"), []);
    }
    // Without a variable the working folder is meant, and so is what a name that is not absolute lies in.
    let working = lister.place("w");
    let name = lister.run(&["CSNBKRL", "*"], &[], &working).unwrap();
    assert_eq!(name, format!("{}/KYRLT001.LST", working.display()));
    let name = lister.run(&["CSNBKRL", "*"], &[("CSUDESLD", OsStr::new("w"))], lister.folder.path()).unwrap();
    assert_eq!(name, format!("{}/KYRLT002.LST", working.display()));
}

#[test]
fn what_is_refused_leaves_no_file() {
    let lister = Lister::new(super::installation(), TempDir::new().unwrap());
    let facility = lister.installation.facility();
    for number in 0..10 {
        record(&facility, Store::Des, &format!("PAY.NONE{number}"), &[]);
    }
    let place = lister.place("d");
    for pattern in ["", "pay.*", "PAY/*", "9*", "A..*", "ABCDEFGHI", "*.*.*.*.*.*.*.*"] {
        assert_eq!(lister.list("CSNBKRL", pattern, &place), refused(code::LABEL_FORMAT), "{pattern}");
    }
    assert_eq!(lister.list("CSNBKRL", "*", &place.join("none")), refused(code::DATA_SET));
    let long = lister.place(&"L".repeat(64));
    assert_eq!(lister.list("CSNBKRL", "*", &long), refused(code::BUFFER_TOO_SMALL));
    // The disk takes nothing, and takes the header and some records.
    for bytes in ["0", "500"] {
        let given = ["CSNBKRL", "*", bytes];
        let variable = [("CSUDESLD", place.as_os_str())];
        assert_eq!(lister.run(&given, &variable, lister.folder.path()), refused(code::DISK), "{bytes}");
    }
    for place in [&place, &long] {
        assert_eq!(fs::read_dir(place).unwrap().count(), 0, "{}", place.display());
    }
}

/// Whoever may write to the folder puts links where the next lists will be.
#[test]
fn a_link_is_not_followed_and_a_list_is_not_overwritten() {
    let lister = Lister::new(super::installation(), TempDir::new().unwrap());
    let (place, victim) = (lister.place("d"), lister.folder.path().join("victim"));
    fs::write(&victim, "as it was").unwrap();
    symlink(&victim, place.join("KYRLT001.LST")).unwrap();
    symlink(lister.folder.path().join("new"), place.join("KYRLT002.LST")).unwrap();
    fs::hard_link(&victim, place.join("KYRLT003.LST")).unwrap();
    let name = lister.list("CSNBKRL", "*", &place).unwrap();
    assert_eq!(name, format!("{}/KYRLT004.LST", place.display()));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "as it was");
    assert!(!lister.folder.path().join("new").exists());
}

fn role(name: &str, deny: &[&str]) -> RoleSettings {
    let deny = deny.iter().map(|name| PointItem::new(name).unwrap()).collect();
    RoleSettings { name: name.into(), base: Some(GUEST.into()), allow: Vec::new(), deny, labels: Vec::new() }
}

#[test]
fn a_tenant_lists_its_own_labels_and_no_others() {
    let folder = TempDir::new().unwrap();
    let names = ["pay", "till", "blind"];
    let shown: Vec<_> = (1..=3).map(|number| credential(&folder, number)).collect();
    let mut settings = settings(1, 0);
    settings.tenant_number_next = 10;
    settings.roles = vec![role("lists", &[]), role("blind", &["record-list"])];
    let tenants = names.iter().zip(1..).zip(&shown).map(|((name, number), (credential, _))| Tenant {
        labels: vec![LabelRule {
            pattern: LabelPattern::new(if *name == "till" { "TILL.*" } else { "PAY.*" }).unwrap(),
            uses: Uses::USE,
        }],
        ..tenant(name, number, credential, if *name == "blind" { "blind" } else { "lists" })
    });
    settings.tenants = tenants.collect();
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let lister = Lister::new(installation, folder);
    let facility = lister.installation.facility();
    for label in ["PAY.ONE", "PAY.TWO", "TILL.ONE"] {
        record(&facility, Store::Des, label, &[]);
    }
    let place = lister.place("d");
    let list = |file: &OsString, pattern: &str| {
        let variables = [("CSUDESLD", place.as_os_str()), ("CRYPTAND_CREDENTIAL_FILE", file.as_os_str())];
        lister.run(&["CSNBKRL", pattern], &variables, lister.folder.path())
    };
    let labels = |file: &OsString, pattern: &str| -> Vec<String> {
        let name = list(file, pattern).unwrap();
        read(&name, "DES KEY-RECORD-LIST", pattern).into_iter().map(|(label, _)| label).collect()
    };
    let [pay, till, blind] = [0, 1, 2].map(|at: usize| &shown[at].1);
    for (pattern, own) in [("*", vec!["PAY.ONE", "PAY.TWO"]), ("PAY.TWO", vec!["PAY.TWO"])] {
        assert_eq!(labels(pay, pattern), own, "{pattern}");
    }
    assert_eq!(labels(till, "*.*"), ["TILL.ONE"]);
    // Whether there is another's record is not told: a list of those that are not there looks the same.
    for pattern in ["TILL.*", "TILL.ONE", "TILL.NONE", "*.ON*E.*"] {
        assert!(labels(pay, pattern).is_empty(), "{pattern}");
    }
    let before = fs::read_dir(&place).unwrap().count();
    for pattern in ["*", "PAY.ONE", "TILL.NONE"] {
        assert_eq!(list(blind, pattern), refused(code::ACCESS_DENIED), "{pattern}");
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), before);
}
