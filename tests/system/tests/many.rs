//! Many at once: a thousand attachments, and a hundred and twenty tenants on twelve cards, with cards, clients
//! and the daemon killed among them. Every request is answered once and rightly, or its error says what is known.

use facility::{Facility, FacilityError, Options, Ran, Selection, Ticket};
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use system_tests::part::{Part, goes_on, say, told};
use system_tests::{
    Installation, PATIENCE, copy_program, expected_mac, kill, mac_key, mac_of, mac_request, settings, submit,
};
use wire::Label;
use wire::control::{CardState, Status, Store};

/// Processes, and the attachments of each.
const PROCESSES: u64 = 20;
const ATTACHMENTS: u64 = 50;
/// Tenants, cards, and the requests of each tenant in one round.
const TENANTS: u32 = 120;
const CARDS: u32 = 12;
const REQUESTS: u64 = 40;
/// The label of the key that everyone uses.
const LABEL: &str = "MANY.MAC";

fn queues(status: &Status) -> u64 {
    status.cards.iter().map(|card| u64::from(card.queues)).sum()
}

/// Makes the key that everyone uses.
fn shared_key(installation: &Installation) {
    let facility = installation.facility();
    let label = Label::new(LABEL).unwrap();
    facility.record_create(Store::Des, &label, &mac_key(&facility)).unwrap();
}

/// Sends so many requests that no other has, all at once, and collects each answer. Returns how many there were;
/// no request may fail.
fn ask(facility: &Facility, who: u64, round: u64) -> u64 {
    let field = Label::new(LABEL).unwrap().to_field();
    let texts: Vec<Vec<u8>> = (0..REQUESTS)
        .map(|number| [who, round, number].iter().flat_map(|part| part.to_le_bytes()).collect())
        .collect();
    let mut tickets: Vec<Ticket> =
        texts.iter().map(|text| submit(facility, &mac_request(&field, text)).unwrap()).collect();
    let mut answered = HashSet::new();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().expect("it was said to be there").unwrap();
        assert_eq!(mac_of(&reply), expected_mac(&texts[index]), "{who}, round {round}, request {index}");
        assert!(answered.insert(index), "answered twice");
        assert!(tickets[index].try_wait().is_none(), "an answer is collected once");
    }
    answered.len() as u64
}

#[test]
fn a_thousand_attachments_from_twenty_processes_are_ordinary() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    shared_key(&installation);
    let mut parts: Vec<Part> = (0..PROCESSES)
        .map(|who| Part::start("part_of_many_attachments", installation.home.folder(), &who.to_string()))
        .collect();
    parts.iter_mut().for_each(|part| drop(part.says("attached")));
    let status = installation.facility().status().unwrap();
    assert!(queues(&status) >= PROCESSES * ATTACHMENTS, "{} queues", queues(&status));
    parts.iter_mut().for_each(Part::go_on);
    // A card, and some of the clients, go while all are at work.
    kill(cards[0].pid);
    for part in parts.drain(..3) {
        part.kill();
    }
    for part in &mut parts {
        assert_eq!(part.says("answered ").parse(), Ok(ATTACHMENTS * 2));
    }
    drop(parts);
    let after = installation.until("all queues are given back", |status| {
        queues(status) == 0 && status.cards.iter().all(|card| card.state == CardState::Ready)
    });
    assert_eq!(after.cards[1].pid, cards[1].pid, "the other card went on");
}

#[test]
#[ignore = "a part of another test"]
fn part_of_many_attachments() {
    let Some((home, who)) = told() else { return };
    let who: u64 = who.parse().unwrap();
    let field = Label::new(LABEL).unwrap().to_field();
    let facilities: Vec<Facility> = (0..ATTACHMENTS)
        .map(|number| {
            let selection = Selection::card((number % 2) as u32);
            Facility::open(&home, Options { selection, ..Options::default() }).unwrap()
        })
        .collect();
    let ask_all = || {
        for (number, facility) in facilities.iter().enumerate() {
            let text: Vec<u8> = [who, number as u64].iter().flat_map(|part| part.to_le_bytes()).collect();
            assert_eq!(mac_of(&facility.ask(0, &mac_request(&field, &text)).unwrap()), expected_mac(&text));
        }
    };
    ask_all();
    say("attached");
    if !goes_on() {
        return;
    }
    ask_all();
    say(&format!("answered {}", 2 * ATTACHMENTS));
    goes_on();
}

/// Starts the process of a tenant: another user, in the group that the settings name.
fn tenant(copy: &Path, home: &Path, number: u32) -> Part {
    let mut command = Command::new(copy);
    command.current_dir("/").uid(FIRST_USER + number).gid(GROUP);
    Part::start_by(command, "part_of_a_tenant", home, &number.to_string())
}

/// User ids that belong to nobody, and a group that every Debian has.
const FIRST_USER: u32 = 60_000;
const GROUP: u32 = 100;
const GROUP_NAME: &str = "users";

/// Opens the way to this test's program and to the home for others.
fn for_others(installation: &Installation) -> PathBuf {
    let copy = installation.beside("tenant");
    copy_program(&std::env::current_exe().unwrap(), &copy);
    for path in [&copy, &installation.beside("")] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    copy
}

#[test]
fn a_hundred_and_twenty_tenants_share_twelve_cards() {
    if needs::lacks(needs::Need::Root) {
        // Only root can become others.
        return;
    }
    let mut settings = settings(CARDS, 0);
    settings.access.groups = vec![GROUP_NAME.to_owned()];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    shared_key(&installation);
    let copy = for_others(&installation);
    let mut tenants: Vec<Part> =
        (0..TENANTS).map(|number| tenant(&copy, installation.home.folder(), number)).collect();
    tenants.iter_mut().for_each(|tenant| drop(tenant.says("attached")));
    let status = installation.facility().status().unwrap();
    assert!(queues(&status) >= u64::from(TENANTS), "{} queues", queues(&status));
    tenants.iter_mut().for_each(Part::go_on);
    // Two cards, then the daemon, then one more card go while all are at work.
    let pids: Vec<u32> = status.cards.iter().map(|card| card.pid).collect();
    kill(pids[0]);
    kill(pids[5]);
    installation.kill_daemon();
    installation.start();
    kill(pids[7]);
    for tenant in &mut tenants {
        assert_eq!(tenant.says("answered ").parse(), Ok(2 * REQUESTS));
    }
    drop(tenants);
    let after = installation.until("all queues are given back", |status| {
        queues(status) == 0 && status.cards.iter().all(|card| card.state == CardState::Ready)
    });
    assert_eq!(after.cards.len(), CARDS as usize);
}

#[test]
#[ignore = "a part of another test"]
fn part_of_a_tenant() {
    let Some((home, number)) = told() else { return };
    let number: u64 = number.parse().unwrap();
    // Under this load a card may be long in coming back.
    let options = Options { card_wait: PATIENCE, ..Options::default() };
    let facility = Facility::open(&home, options).unwrap();
    let first = ask(&facility, number, 0);
    say("attached");
    if !goes_on() {
        return;
    }
    let second = ask(&facility, number, 1);
    // What only the owner may do is refused to each of them, and did not run.
    // The daemon may be killed over it; then nobody knows, which is said.
    let label = Label::new("TENANT.OWN").unwrap();
    let denied = std::iter::repeat_with(|| facility.record_create(Store::Des, &label, &[]).unwrap_err())
        .find(|error| error.ran() == Ran::No)
        .expect("errors without end");
    assert!(matches!(denied, FacilityError::Denied { .. }), "{denied}");
    say(&format!("answered {}", first + second));
    goes_on();
}
