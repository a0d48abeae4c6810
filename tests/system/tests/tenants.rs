//! Tenants over real cards: domains that know nothing of each other's keys, and changes under load.

mod calls;
mod keys;

use calls::{NOT_FOR_THE_OWNER, OPEN, call, calls};
use facility::{Facility, FacilityError, Options, SHARES_MAX, Selection};
use home::Settings;
use keys::Keys;
use link::Channel;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use system_tests::{Installation, expected_mac, mac_key, mac_of, mac_request, null, settings};
use wire::bounds::{BULK_BLOCKS, QUEUE_SLOTS_DEFAULT};
use wire::code;
use wire::control::{
    CONTROL_VERSION, CardState, ClientReply, ClientRequest, Personality, PollMode, QueueBound, Refusal,
};
use wire::tenant::{CardChange, Change, Credential, Dedicated, Limits, Tenant};
use wire::verb::{Direction, Executor, Kind, TABLE};

fn two_domains(change: impl FnOnce(&mut Settings)) -> Installation {
    let mut settings = settings(2, 1);
    settings.cards.domains = 2;
    settings.tenant_number_next = 10;
    change(&mut settings);
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation
}

fn hash(credential: &Credential) -> String {
    let digest = engine::sha256(&credential.0);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tenant(name: &str, number: u32) -> Tenant {
    Tenant {
        credential_sha256: Some(hash(&credential(number))),
        role: Some(wire::role::OWNER.into()),
        ..Tenant::new(name, number)
    }
}

fn credential(number: u32) -> Credential {
    Credential([number as u8; 32])
}

fn facility_of(installation: &Installation, number: u32) -> Facility {
    let options = Options { credential: Some(credential(number)), ..Options::default() };
    Facility::open(installation.home.folder(), options).unwrap()
}

#[test]
fn no_token_of_one_domain_works_in_another() {
    let installation = two_domains(|_| ());
    let facility = installation.facility();
    let keys = Keys::of_domain_0(&facility);
    let calls = calls(&keys);
    for call_of in &calls {
        let name = call_of.0.entry().name;
        let here = call(&facility, 0, call_of);
        assert!(here.codes().has_output(), "{name} in its own domain: {}", here.codes());
        let there = call(&facility, 1, call_of);
        assert!(there.codes().return_code >= 8, "{name} in the other domain: {}", there.codes());
        for (at, parameter) in call_of.0.entry().parameters.iter().enumerate() {
            if parameter.direction == Direction::Out && parameter.kind != Kind::Integer {
                assert!(there.arguments().bytes(at).is_empty(), "{name} shows {}", parameter.name);
            }
        }
    }
    // No verb is forgotten: whatever takes a key is called here, or takes none that is wrapped.
    let mut forgotten = Vec::new();
    for entry in TABLE.iter().filter(|entry| entry.executor == Executor::Coprocessor) {
        let takes_key = entry.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Key { .. }));
        let is_called = calls.iter().any(|(verb, _)| *verb == entry.verb);
        let is_other = [&OPEN[..], &NOT_FOR_THE_OWNER].concat().contains(&entry.verb);
        if takes_key && !is_called && !is_other {
            forgotten.push(entry.name);
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

#[test]
fn a_tenant_of_one_domain_does_not_reach_another() {
    let installation = two_domains(|settings| {
        settings.tenants = vec![Tenant { domains: vec![1], ..tenant("one", 1) }];
    });
    let owner = installation.facility();
    let key = mac_key(&owner);
    let one = facility_of(&installation, 1);
    assert_eq!(one.welcome().unwrap().tenant_name, "one");
    match one.ask(0, &mac_request(&key, b"text")) {
        Err(FacilityError::Refused { refusal: Refusal::Invalid(why), .. }) => {
            assert!(why.contains("domain 0"))
        }
        other => panic!("{other:?}"),
    }
    let refused = one.ask(1, &mac_request(&key, b"text")).unwrap();
    assert!(refused.codes().return_code >= 8, "{}", refused.codes());
}

/// Keeps tenants busy while `meanwhile` runs; gives the number of answers. Every request is answered rightly.
fn under_load(facilities: &[(&Facility, &[u8])], meanwhile: impl FnOnce(&dyn Fn())) -> u64 {
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for (facility, key) in facilities {
            scope.spawn(|| {
                let mut text = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    text += 1;
                    let text = text.to_le_bytes();
                    let reply = facility.ask(0, &mac_request(key, &text)).unwrap();
                    assert_eq!(mac_of(&reply), expected_mac(&text));
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Until every part of the change has been met by requests.
        let more = || {
            let until = answers.load(Ordering::Relaxed) + 50;
            while answers.load(Ordering::Relaxed) < until {
                std::thread::yield_now();
            }
        };
        meanwhile(&more);
        stop.store(true, Ordering::Relaxed);
    });
    answers.into_inner()
}

#[test]
fn no_request_is_lost_while_cards_and_tenants_change() {
    let installation = two_domains(|settings| settings.tenants = vec![tenant("one", 1), tenant("two", 2)]);
    let owner = installation.facility();
    let key = mac_key(&owner);
    let (one, two) = (facility_of(&installation, 1), facility_of(&installation, 2));
    let set = |card, change| owner.change(Change::CardSet { card, change }).unwrap();
    let answers = under_load(&[(&one, &key), (&two, &key), (&owner, &key)], |more| {
        more();
        owner
            .change(Change::CardAdd(CardChange {
                personality: Some(Personality::Coprocessor),
                ..CardChange::default()
            }))
            .unwrap();
        more();
        set(0, CardChange { poll: Some(PollMode::Sleep), ..CardChange::default() });
        more();
        owner.change(Change::CardQuiesce { card: 1 }).unwrap();
        more();
        owner.change(Change::CardResume { card: 1 }).unwrap();
        // A card of its own: what it had elsewhere ends, what others have there, too.
        let dedicated = vec![Dedicated { card: 1, share_percent: 100 }];
        owner.change(Change::TenantSet(Tenant { dedicated, ..tenant("one", 1) })).unwrap();
        more();
        let limits = Limits { weight: 3, ..Limits::default() };
        owner.change(Change::TenantSet(Tenant { limits, ..tenant("one", 1) })).unwrap();
        more();
        owner.change(Change::CardRemove { card: 0 }).unwrap();
        more();
    });
    assert!(answers >= 350);
    let rows = installation.until_ready();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_removed_tenant_is_told_so() {
    let installation = two_domains(|settings| settings.tenants = vec![tenant("one", 1)]);
    let owner = installation.facility();
    let key = mac_key(&owner);
    let one = facility_of(&installation, 1);
    mac_of(&one.ask(0, &mac_request(&key, b"text")).unwrap());
    owner.change(Change::TenantRemove { name: "one".into() }).unwrap();
    match one.ask(0, &mac_request(&key, b"text")) {
        Err(error @ FacilityError::Refused { refusal: Refusal::NoSuchTenant(_), .. }) => {
            assert_eq!(error.ran(), facility::Ran::No);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_quiesced_card_shows_and_stays_so_with_real_cards() {
    let mut installation = two_domains(|_| ());
    let owner = installation.facility();
    owner.change(Change::CardQuiesce { card: 1 }).unwrap();
    drop(owner);
    installation.kill_daemon();
    installation.start();
    let card = || installation.facility().status().unwrap().cards[1].state;
    assert_eq!(card(), CardState::Quiescing);
    let options = Options { card_wait: Duration::from_millis(50), ..Options::default() };
    let options = Options { selection: facility::Selection::card(1), ..options };
    let only = Facility::open(installation.home.folder(), options).unwrap();
    assert!(matches!(only.ask(0, &system_tests::null()), Err(FacilityError::NoCard { .. })));
    installation.facility().change(Change::CardResume { card: 1 }).unwrap();
    let _ = only.ask(0, &system_tests::null()).unwrap();
}

/// How long an answer of the daemon is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes queues of these bulk blocks on card 0 for a tenant, on a connection of its own, until the daemon refuses one.
fn take_all(channel: &Channel, blocks: u32) -> u32 {
    for taken in 0.. {
        let request = ClientRequest::Attach { card: 0, domain: 0, slots: QUEUE_SLOTS_DEFAULT as u32, blocks };
        channel.send(&request, &[]).unwrap();
        match channel.recv_timeout::<ClientReply>(PATIENCE).unwrap().0 {
            ClientReply::Attached { .. } => {}
            ClientReply::Refused(Refusal::Full { .. }) => return taken,
            other => panic!("{other:?}"),
        }
    }
    unreachable!("a tenant's memory of queues has no end")
}

#[test]
fn threads_at_the_bound_of_their_tenant_share_queues_and_the_status_tells_it() {
    let installation = two_domains(|settings| settings.tenants = vec![tenant("narrow", 1)]);
    let (owner, narrow) = (installation.facility(), facility_of(&installation, 1));
    let narrow = narrow.with_selection(Selection::card(0));
    assert_eq!(narrow.ask(0, &null()).unwrap().codes(), code::OK);
    // Another program of the tenant's takes what is left: first in long queues, then in short ones.
    let channel = Channel::connect(&installation.home.guest_socket()).unwrap();
    let greeting = ClientRequest::Hello {
        version: CONTROL_VERSION,
        credential: Some(credential(1)),
        completions: false,
    };
    channel.send(&greeting, &[]).unwrap();
    let welcome = channel.recv_timeout::<ClientReply>(PATIENCE).unwrap().0;
    assert!(matches!(welcome, ClientReply::Welcome { .. }), "{welcome:?}");
    let taken = take_all(&channel, BULK_BLOCKS as u32) + take_all(&channel, 0);
    let refused = || owner.status().unwrap().holders.refused;
    let [before] = &refused()[..] else { panic!("{:?}", refused()) };
    assert_eq!((before.tenant.as_deref(), before.bound), (Some("narrow"), QueueBound::TenantMemory));
    assert_eq!(before.times, 2);
    // Each thread beyond the first is in a share that has no queue, as far as there are processors.
    let shares = std::thread::available_parallelism().unwrap().get().min(SHARES_MAX);
    let all = Barrier::new(shares + 1);
    std::thread::scope(|scope| {
        for _ in 0..=shares {
            scope.spawn(|| {
                all.wait();
                for _ in 0..50 {
                    assert_eq!(narrow.ask(0, &null()).unwrap().codes(), code::OK);
                }
            });
        }
    });
    assert_eq!(narrow.queues(), 1);
    let now = &refused()[0];
    assert!((now.times > before.times) == (shares > 1), "{before:?}, then {now:?} of {shares} share(s)");
    let holders = owner.status().unwrap().holders;
    let its = holders.processes.iter().find(|process| process.tenant == "narrow").unwrap();
    assert_eq!((its.pid, its.connections, its.queues), (std::process::id(), 2, taken + 1));
    assert_eq!((its.cards, its.queues_on_one_card), (1, taken + 1));
    // What has no queue at all is told why.
    let elsewhere = narrow.with_selection(Selection::card(1)).ask(0, &null()).unwrap_err();
    assert!(elsewhere.to_string().contains("memory for queues of this tenant"), "{elsewhere}");
}
