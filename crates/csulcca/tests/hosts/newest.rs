//! A client in C makes the calls of the newest openCryptoki, which no package of these systems has.

use super::{command, compile, credential, tenant};
use facility::{Facility, officer};
use home::{PointItem, RoleSettings};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use system_tests::{Installation, settings};
use tempfile::TempDir;
use wire::control::{OfficerOrder, OfficerReply, Part, Register, purpose_of_part};
use wire::role::OWNER;
use wire::verb::{Entry, Verb};

/// Loads a part of a register.
fn load(facility: &Facility, register: Register, part: Part, byte: u8) {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    let purpose = purpose_of_part(0, register, part);
    let sealed = officer::seal(&key, &purpose, &vec![byte; register.key_bytes()]).unwrap();
    let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
    let reply = facility.officer(order).unwrap();
    assert!(matches!(reply, OfficerReply::PartLoaded { .. }), "{reply:?}");
}

/// Gives the domain new master keys.
fn change(facility: &Facility, byte: u8) {
    for register in [Register::Sym, Register::Asym, Register::Aes, Register::Apka] {
        load(facility, register, Part::First, byte);
        load(facility, register, Part::Last, 0x80);
    }
    assert_eq!(facility.officer(OfficerOrder::Set { domain: 0 }).unwrap(), OfficerReply::Done);
}

/// Whether what the client names is not served.
fn is_missing(name: &str) -> bool {
    let takes = |rules: &[u8]| {
        let words: Vec<u64> = wire::verb::words(rules).unwrap().collect();
        Verb::SymmetricKeyExport.entry().keywords.check(&words).is_ok()
    };
    if name == "CKM-RAKW" { !takes(b"AES     CKM-RAKW") } else { Entry::of_entry_point(name).is_none() }
}

#[test]
fn calls_and_tokens_of_the_newest_client() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "tests/hosts/newest.c", true, &[]);
    // Its RSA keys are KEY-MGMT alone, with which it signs, deciphers data and imports keys.
    let (shown, file) = credential(&folder, 1);
    let mut settings = settings(1, 0);
    settings.tenant_number_next = 10;
    settings.roles.push(RoleSettings {
        name: "newest".into(),
        base: Some(OWNER.into()),
        allow: vec![PointItem::new("legacy").unwrap()],
        deny: Vec::new(),
        labels: Vec::new(),
    });
    settings.tenants = vec![tenant("newest", 1, &shown, "newest")];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready_with_keeper();
    let mut command = command(&program, installation.home.folder());
    command.env("CRYPTAND_CREDENTIAL_FILE", file).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = Vec::new();
    let mut changes = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.strip_prefix("missing ") {
            Some(name) => assert!(is_missing(name), "{name} is served, and the client is refused"),
            None if line == "change" => {
                changes += 1;
                change(&installation.facility(), changes);
                writeln!(child.stdin.as_mut().unwrap(), "done").unwrap();
            }
            None => said.push(line),
        }
    }
    assert_eq!((said, changes), (vec!["done".to_owned()], 2));
    assert!(child.wait().unwrap().success());
}
