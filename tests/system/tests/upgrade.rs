//! Programs that are installed anew under load: `cryptand upgrade` replaces every process, and no request fails.

use facility::{Facility, FacilityError, Reply, officer};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::load::{Stop, until_grown};
use system_tests::{
    Installation, copy_program, expected_mac, kill, mac_key, mac_of, mac_request, program, settings,
};
use wire::Label;
use wire::control::{
    CardState, OfficerOrder, OfficerReply, Outdated, PURPOSE_PASSPHRASE, Part, Record, Refusal, Register,
    Replacement, Sealed, Status, Store, Unseal, Unsealing, Upgrade, purpose_of_part,
};

const PASSPHRASE: &[u8] = b"correct horse battery";
const LABEL: &str = "UPGRADE.MAC";

/// Installs the programs that were built, in the place of those that are there.
fn install(folder: &Path) {
    for name in ["cryptand-daemon", "cryptand-card"] {
        let next = folder.join(format!("{name}.new"));
        copy_program(&program(name), &next);
        std::fs::rename(next, folder.join(name)).unwrap();
    }
}

fn sealed(facility: &Facility, purpose: &[u8], secret: &[u8]) -> Sealed {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    officer::seal(&key, purpose, secret).unwrap()
}

fn part(facility: &Facility, part: Part, byte: u8) {
    let register = Register::Sym;
    let sealed = sealed(facility, &purpose_of_part(0, register, part), &vec![byte; register.key_bytes()]);
    let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
    assert!(matches!(facility.officer(order).unwrap(), OfficerReply::PartLoaded { .. }));
}

fn done(facility: &Facility, order: OfficerOrder) {
    assert_eq!(facility.officer(order).unwrap(), OfficerReply::Done);
}

/// A home with programs of its own, in the folder that is returned, and with master keys of officers.
fn secure(cards: u32) -> (Installation, PathBuf) {
    secure_home(cards, Unseal::Attended)
}

/// As [`secure`], with a keeper that is unsealed in this way.
fn secure_home(cards: u32, unseal: Unseal) -> (Installation, PathBuf) {
    let mut folder = PathBuf::new();
    let mut installation = Installation::stopped_with(|beside| {
        folder = beside.join("programs");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
        install(&folder);
        let mut settings = settings(cards, 0);
        settings.development = None;
        settings.seal_memory_mib = 64;
        settings.programs.daemon = folder.join("cryptand-daemon");
        settings.programs.card = folder.join("cryptand-card");
        settings.unseal = unseal;
        settings
    });
    let command = daemon(&installation, &folder);
    installation.start_as(command);
    installation.until("there is a keeper", |status| status.keeper_pid.is_some());
    let facility = installation.facility();
    part(&facility, Part::First, 0x37);
    part(&facility, Part::Last, 0x80);
    done(&facility, OfficerOrder::Set { domain: 0 });
    let under = sealed(&facility, PURPOSE_PASSPHRASE, PASSPHRASE);
    done(&facility, OfficerOrder::SealUnder { sealed: under, former: None });
    installation.until_ready();
    (installation, folder)
}

/// The installed daemon, as the service manager starts it with a credential.
fn daemon(installation: &Installation, folder: &Path) -> Command {
    let mut command = Command::new(folder.join("cryptand-daemon"));
    command.env("CREDENTIALS_DIRECTORY", installation.beside("credentials"));
    command
}

fn upgrade(installation: &Installation, more: &[&str]) -> Output {
    let mut command = Command::new(program("cryptand"));
    command.arg("--home").arg(installation.home.folder()).arg("upgrade").args(more).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn pids(status: &Status) -> Vec<u32> {
    status.cards.iter().map(|card| card.pid).chain(status.keeper_pid).collect()
}

#[test]
fn every_process_is_replaced_under_load_and_no_request_fails() {
    for cards in [4, 1] {
        let (installation, folder) = secure(cards);
        let facility = installation.facility();
        let token = mac_key(&facility);
        facility.record_create(Store::Des, &Label::new(LABEL).unwrap(), &token).unwrap();
        let field = Label::new(LABEL).unwrap().to_field();
        let before = installation.facility().status().unwrap();
        assert_eq!(before.outdated, Outdated::default());
        assert!(said(&upgrade(&installation, &[])).contains("every process runs the installed program"));

        install(&folder);
        let all = Outdated { daemon: true, keeper: true, cards: (0..cards).collect() };
        assert_eq!(facility.status().unwrap().outdated, all);
        let planned = upgrade(&installation, &["--dry-run", "--json"]);
        let named: String = (0..cards).map(|card| format!(",\"card {card}\"")).collect();
        let plan = format!("\"dry_run\":true,\"replaced\":[\"keeper\"{named},\"daemon\"]");
        assert!(said(&planned).contains(&plan), "{}", said(&planned));
        assert_eq!(facility.status().unwrap().outdated, all, "nothing was done");

        let (stop, answered, written) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let longest = std::thread::scope(|scope| {
            let stop_all = Stop(&stop);
            let calling = || {
                let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
                while !stop.load(Ordering::Relaxed) {
                    let text = answered.fetch_add(1, Ordering::Relaxed).to_le_bytes();
                    let reply = facility.ask(0, &mac_request(&field, &text)).unwrap();
                    assert_eq!(mac_of(&reply), expected_mac(&text));
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                longest
            };
            let threads = [scope.spawn(calling), scope.spawn(calling)];
            scope.spawn(|| looping(&installation.facility(), &field, &stop));
            let writer = installation.facility();
            let (token, stopped, count) = (&token, &stop, &written);
            scope.spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    let label = Label::new(&format!("UPGRADE.N{number}")).unwrap();
                    writer.record_create(Store::Des, &label, token).unwrap();
                }
            });
            until_grown(&answered, 100);
            let begin = Instant::now();
            let output = upgrade(&installation, &[]);
            println!(
                "{cards} card(s), keeper and daemon replaced in {:?}: {}",
                begin.elapsed(),
                said(&output)
            );
            assert!(output.status.success(), "{}", said(&output));
            until_grown(&answered, 100);
            until_grown(&written, 5);
            drop(stop_all);
            threads.map(|thread| thread.join().unwrap())
        });
        println!("longest pause of a thread: {longest:?}");

        let after = installation.until_ready_with_keeper();
        assert_eq!(after.outdated, Outdated::default());
        assert!(pids(&before).iter().all(|pid| !pids(&after).contains(pid)), "{before:?} {after:?}");
        // A service manager's main process is still the one that it started.
        assert_eq!(after.daemon_pid, installation.daemon_pid());
        assert_eq!(after.registers, before.registers, "the keys are those that were sealed");
        // The new keeper has them: a card that starts gets them of it.
        kill(after.cards[0].pid);
        installation.until("the card is back", |status| {
            status.cards[0].pid != after.cards[0].pid && status.cards[0].state == CardState::Ready
        });
        let reply = facility.ask(0, &mac_request(&field, b"after")).unwrap();
        assert_eq!(mac_of(&reply), expected_mac(b"after"));
        // And it is an officer's like the one before.
        let former = sealed(&facility, PURPOSE_PASSPHRASE, PASSPHRASE);
        let under = sealed(&facility, PURPOSE_PASSPHRASE, b"another one");
        done(&facility, OfficerOrder::SealUnder { sealed: under, former: Some(former) });
    }
}

#[test]
fn how_the_keys_were_unsealed_is_known_of_the_next_keeper_and_to_a_later_daemon() {
    let (mut installation, folder) = secure_home(1, Unseal::Unattended);
    let credentials = installation.beside("credentials");
    std::fs::create_dir(&credentials).unwrap();
    std::fs::set_permissions(&credentials, PermissionsExt::from_mode(0o700)).unwrap();
    let credential = credentials.join("cryptand-passphrase");
    std::fs::write(&credential, PASSPHRASE).unwrap();
    std::fs::set_permissions(&credential, PermissionsExt::from_mode(0o400)).unwrap();
    let status = installation.facility().status().unwrap();
    assert!(matches!(&status.unsealing, Unsealing::Failed(_)), "there was no credential yet: {status:?}");
    kill(status.keeper_pid.unwrap());
    let has_unsealed_itself = |status: &Status| status.unsealing == Unsealing::Unattended;
    let status = installation.until("the keeper has unsealed itself", has_unsealed_itself);
    // Should the next keeper need it, the passphrase is not there: it has the keys of the one before.
    std::fs::remove_file(&credential).unwrap();

    install(&folder);
    let output = upgrade(&installation, &[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("not replaced"), "{}", said(&output));
    let after = installation.until_ready_with_keeper();
    assert_ne!(after.keeper_pid, status.keeper_pid);
    assert_eq!((&after.unsealing, after.outdated), (&Unsealing::Unattended, Outdated::default()));
    installation.kill_daemon();
    let command = daemon(&installation, &folder);
    installation.start_as(command);
    let later = installation.until_ready_with_keeper();
    assert_eq!((later.keeper_pid, later.unsealing), (after.keeper_pid, Unsealing::Unattended));
}

#[test]
fn a_keeper_in_the_middle_of_a_ceremony_stays_and_is_named() {
    let (installation, folder) = secure(1);
    let before = installation.until_ready_with_keeper();
    let facility = installation.facility();
    part(&facility, Part::First, 0x55);
    installation.until("the part is there", |status| {
        status.registers.iter().any(|row| row.new_state != wire::control::NewState::Empty)
    });
    install(&folder);
    let output = upgrade(&installation, &[]);
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("keeper: not replaced") && text.contains("unseal"), "{text}");
    let after = installation.until_ready_with_keeper();
    assert_eq!(after.outdated, Outdated { keeper: true, ..Outdated::default() });
    assert_eq!(after.keeper_pid, before.keeper_pid);
    assert_ne!(after.cards[0].pid, before.cards[0].pid);
    // The ceremony goes on where it was.
    part(&facility, Part::Last, 0x10);
    done(&facility, OfficerOrder::Set { domain: 0 });
    // What is in no sealed copy is with this keeper alone: it is not replaced unasked.
    let output = upgrade(&installation, &[]);
    let text = said(&output);
    assert!(!output.status.success() && text.contains("`cryptand master-key seal`"), "{text}");
    assert_eq!(installation.until_ready_with_keeper().keeper_pid, before.keeper_pid);
    let [former, under] = [PASSPHRASE, PASSPHRASE].map(|one| sealed(&facility, PURPOSE_PASSPHRASE, one));
    done(&facility, OfficerOrder::SealUnder { sealed: under, former: Some(former) });
    assert!(upgrade(&installation, &[]).status.success());
    assert_eq!(installation.until_ready_with_keeper().outdated, Outdated::default());
}

#[test]
fn what_cannot_run_beside_is_refused_and_nothing_is_changed() {
    let (installation, folder) = secure(1);
    let before = installation.until_ready_with_keeper();
    let card = folder.join("cryptand-card");
    for (said_by_it, named) in [("echo control protocol 1", "version 1"), ("true", "which it does not name")]
    {
        std::fs::remove_file(&card).unwrap();
        needs::write_script(&card, &format!("#!/bin/sh\n{said_by_it}\n"));
        let output = upgrade(&installation, &[]);
        let text = said(&output);
        assert!(
            !output.status.success() && text.contains(named) && text.contains("nothing was changed"),
            "{text}"
        );
    }
    let facility = installation.facility();
    // No such card, and programs that are not there.
    let refused = |step| match facility.upgrade(step) {
        Err(FacilityError::Refused { refusal, .. }) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Upgrade::Card { card: 63 }), Refusal::NoSuchCard);
    std::fs::remove_file(&card).unwrap();
    for step in
        [Upgrade::Check, Upgrade::Keeper { lose_keys: false }, Upgrade::Card { card: 0 }, Upgrade::Daemon]
    {
        assert!(matches!(refused(step), Refusal::Storage { .. }), "{step:?}");
    }
    install(&folder);
    assert_eq!(pids(&installation.until_ready_with_keeper()), pids(&before));
}

/// The daemon refuses by itself, whichever program asks.
#[test]
fn nothing_ends_a_keeper_that_alone_has_keys_in_use_unless_it_is_told_to() {
    let (installation, _) = secure(1);
    let facility = installation.facility();
    let token = mac_key(&facility);
    let label = Label::new(LABEL).unwrap();
    facility.record_create(Store::Des, &label, &token).unwrap();
    let replacements = || {
        let record = Record { store: Store::Des, label: label.clone(), token: token.clone() };
        vec![Replacement { record, token: token.clone() }]
    };
    assert_eq!(facility.token_replace(replacements(), false).unwrap(), [true]);
    part(&facility, Part::First, 0x12);
    part(&facility, Part::Last, 0x45);
    done(&facility, OfficerOrder::Set { domain: 0 });
    let before =
        installation.until("the next key", |status| !status.registers.iter().all(|row| row.is_sealed));

    let keeper = |lose_keys| facility.upgrade(Upgrade::Keeper { lose_keys });
    let replaced = facility.token_replace(replacements(), false).map(|_| ());
    for refused in [facility.shutdown(false), keeper(false), replaced] {
        match refused {
            Err(FacilityError::Refused { refusal: refusal @ Refusal::NotSealed { .. }, .. }) => {
                let said = refusal.to_string();
                assert!(
                    said.contains("domain 0 sym") && said.contains("`cryptand master-key seal`"),
                    "{said}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pids(&facility.status().unwrap()), pids(&before));
    assert_eq!(facility.token_replace(replacements(), true).unwrap(), [true]);
    // Replaced, the next one has them too.
    keeper(true).unwrap();
    let after = installation.until("another keeper", |status| {
        status.keeper_pid.is_some() && status.keeper_pid != before.keeper_pid && !status.registers.is_empty()
    });
    assert_eq!(after.registers, before.registers);
    facility.shutdown(true).unwrap();
}

fn looping(facility: &Facility, field: &[u8], stop: &AtomicBool) {
    let _stop = Stop(stop);
    let mut completions = facility.completions().unwrap();
    let mut reply = Reply::new();
    (0..40).for_each(|number| completions.ask(number, 0, &mac_request(field, b"loop")).unwrap());
    while !stop.load(Ordering::Relaxed) {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            answer.unwrap();
            assert_eq!(mac_of(&reply), expected_mac(b"loop"));
            completions.ask(number, 0, &mac_request(field, b"loop")).unwrap();
        }
        completions.wait(Some(Duration::from_millis(100)));
    }
}
