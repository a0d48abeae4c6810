//! Tenants and cards: who is taken for whom, what each may use, and what happens when that changes while
//! queues run.

use crate::common::{self, Client, Place, call, ready, tenant};
use home::Settings;
use link::{ChannelError, LinkError, PidFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use wire::control::{CardState, ClientReply, ClientRequest, Personality, PollMode, Refusal, Store};
use wire::frame::Arguments;
use wire::tenant::{CardChange, Change, Credential, Dedicated, Limits, NAMED_TENANT, Tenant};
use wire::verb::{FacilityQuery, TypedGot, Verb};
use wire::{Codes, Label};

/// Two coprocessors, two accelerators, two domains; `web` shows 1s, `db` shows 2s.
fn place(change: impl FnOnce(&mut Settings)) -> Place {
    Place::with(|settings| {
        (settings.cards.coprocessors, settings.cards.accelerators, settings.cards.domains) = (2, 2, 2);
        settings.tenants = vec![tenant("web", 1, 1), tenant("db", 2, 2)];
        settings.tenant_number_next = 3;
        change(settings);
    })
}

fn attach(card: u32, domain: u16) -> ClientRequest {
    ClientRequest::Attach { card, domain, slots: 8, blocks: 0 }
}

fn whole(card: u32) -> Vec<Dedicated> {
    vec![Dedicated { card, share_percent: 100 }]
}

fn indexes(client: &Client) -> Vec<u32> {
    client.cards().iter().map(|row| row.index).collect()
}

fn poll(mode: PollMode) -> CardChange {
    CardChange { poll: Some(mode), ..CardChange::default() }
}

fn personality(personality: Personality) -> CardChange {
    CardChange { personality: Some(personality), ..CardChange::default() }
}

#[test]
fn a_credential_makes_a_process_its_tenants() {
    let place = place(|_| ());
    let _daemon = place.start();
    let web = place.client_as(1);
    assert_eq!((web.tenant, web.tenant_name.as_str()), (NAMED_TENANT | 1, "web"));
    let owner = place.client();
    assert_eq!(owner.tenant, rustix::process::getuid().as_raw());
    let unknown = Client::greet_as(&place.home.guest_socket(), Some(Credential([9; 32]))).err();
    assert_eq!(unknown, Some(Refusal::NoSuchTenant("with this credential".into())));
    let (_, queue) = web.attach(0);
    call(&queue).unwrap();
    let rows = owner.tenants();
    let row = |id| rows.iter().find(|row| row.id == id).unwrap();
    assert_eq!((row(web.tenant).connections, row(web.tenant).queues), (1, 1));
    assert_eq!((row(NAMED_TENANT | 2).account, row(NAMED_TENANT | 2).queues), (None, 0));
    assert_eq!(rows.len(), 3);
}

#[test]
fn a_former_credential_lets_in_until_it_is_ended_also_over_a_reload_and_a_later_daemon() {
    let place = place(|_| ());
    let daemon = place.start();
    let owner = place.client();
    let shows = |number: u8| Client::greet_as(&place.home.guest_socket(), Some(Credential([number; 32])));
    let nobody = |number: u8| {
        assert_eq!(shows(number).err(), Some(Refusal::NoSuchTenant("with this credential".into())))
    };
    let hash = |number: u8| tenant("web", 0, number).credential_sha256;
    let with = |current: u8, former: Option<u8>| Tenant {
        former_credential_sha256: former.and_then(hash),
        ..tenant("web", 0, current)
    };
    let before = place.client_as(1);
    let (_, queue) = before.attach(0);
    owner.change(Change::TenantSet(with(9, Some(1))));
    // Nobody is disconnected by a change that leaves both valid.
    assert_eq!(before.status().cards.len(), 4);
    call(&queue).unwrap();
    for number in [1, 9] {
        assert_eq!(shows(number).unwrap().tenant, NAMED_TENANT | 1);
    }
    nobody(42);
    owner.done(ClientRequest::Reload);
    assert_eq!(shows(1).unwrap().tenant, NAMED_TENANT | 1);
    // What a queue was let in by is known to the next daemon, be it the former one.
    daemon.kill();
    let _daemon = place.start();
    call(&queue).unwrap();
    assert_eq!(shows(1).unwrap().tenant, NAMED_TENANT | 1);

    let (owner, after) = (place.client(), shows(1).unwrap());
    let new = shows(9).unwrap();
    owner.change(Change::TenantSet(with(9, None)));
    nobody(1);
    let end = after.channel.recv_timeout::<ClientReply>(common::PATIENCE);
    assert!(matches!(&end, Err(ChannelError::Closed)), "{end:?}");
    assert_eq!(new.cards().len(), 4);
    assert!(call(&queue).is_err(), "its queue has ended as well");
    assert_eq!(shows(9).unwrap().tenant, NAMED_TENANT | 1);
    let wrong = owner.refused(ClientRequest::Change(Change::TenantSet(with(9, Some(9)))));
    assert!(matches!(wrong, Refusal::Settings(why) if why.contains("former_credential_sha256")));
}

#[test]
fn a_tenant_has_its_domains_and_its_cards() {
    let place = place(|settings| {
        settings.tenants[0].domains = vec![1];
        settings.tenants[0].dedicated = vec![Dedicated { card: 2, share_percent: 100 }];
        settings.tenants[1].dedicated = vec![Dedicated { card: 0, share_percent: 30 }];
        settings.tenants[1].also_shared = true;
    });
    let _daemon = place.start();
    let (web, db, owner) = (place.client_as(1), place.client_as(2), place.client());
    assert_eq!((indexes(&web), indexes(&db), indexes(&owner)), (vec![2], vec![0, 1, 3], vec![0, 1, 3]));
    assert_eq!(owner.status().cards.len(), 4);
    assert_eq!(owner.status().cards[2].dedicated, [("web".to_owned(), 100)]);
    assert_eq!(owner.status().cards[0].dedicated, [("db".to_owned(), 30)]);
    for (client, card) in [(&web, 0), (&db, 2), (&owner, 2)] {
        assert_eq!(client.refused(attach(card, 1)), Refusal::NoSuchCard);
    }
    assert!(matches!(web.refused(attach(2, 0)), Refusal::Invalid(why) if why.contains("tenant web")));
    let its_own = web.ask_with(attach(2, 1));
    assert!(matches!(its_own.0, ClientReply::Attached { card, .. } if card.index == 2));
}

#[test]
fn labels_belong_to_the_tenant_that_opened_them() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    owner.create("A", common::des_token(1));
    let open = ClientRequest::OpenLabel { label: Label::new("A").unwrap() };
    let opened = |client: &Client| match client.ask(open.clone()) {
        ClientReply::Opened { reference, store: Store::Des, .. } => reference,
        other => panic!("{other:?}"),
    };
    let (web, again, db) = (place.client_as(1), place.client_as(1), place.client_as(2));
    assert_eq!(opened(&web), opened(&again));
    assert_ne!(opened(&web), opened(&db));
}

#[test]
fn a_removed_tenants_queues_end_and_nothing_of_it_is_left() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    let (web, db) = (place.client_as(1), place.client_as(2));
    let (_, queue) = web.attach(0);
    let (_, other) = db.attach(0);
    call(&queue).unwrap();
    owner.change(Change::TenantRemove { name: "web".into() });
    assert_eq!(call(&queue), Err(LinkError::Dead));
    call(&other).unwrap();
    owner.cards_until(|rows| rows[0].queues == 1);
    assert!(owner.tenants().iter().all(|row| row.tenant.name != "web"));
    assert!(Client::greet_as(&place.home.guest_socket(), Some(Credential([1; 32]))).is_err());
    // Its number is not given again, not even to one of the same name.
    owner.change(Change::TenantAdd(Tenant { number: 0, ..tenant("web", 0, 1) }));
    assert_eq!(place.client_as(1).tenant, NAMED_TENANT | 3);
    let again = Change::TenantAdd(tenant("third", 1, 3));
    assert!(
        matches!(owner.refused(ClientRequest::Change(again)), Refusal::Invalid(why) if why.contains("number 1"))
    );
}

#[test]
fn queues_follow_the_cards_that_a_tenant_may_use() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    let (web, db) = (place.client_as(1), place.client_as(2));
    let ((_, on_three), (_, on_one)) = (web.attach(3), web.attach(1));
    let (_, of_db) = db.attach(3);
    // Only its weight: nothing ends.
    let heavy = Tenant { limits: Limits { weight: 5, ..Limits::default() }, ..tenant("web", 0, 1) };
    owner.change(Change::TenantSet(heavy.clone()));
    assert!(call(&on_three).is_ok() && call(&on_one).is_ok());
    // Card 3 becomes its own: what it has elsewhere ends, and what others have there.
    owner.change(Change::TenantSet(Tenant { dedicated: whole(3), ..heavy.clone() }));
    call(&on_three).unwrap();
    assert_eq!((call(&on_one), call(&of_db)), (Err(LinkError::Dead), Err(LinkError::Dead)));
    // Its connection goes on.
    assert_eq!(indexes(&web), [3]);
    owner.change(Change::TenantSet(Tenant { dedicated: whole(3), also_shared: true, ..heavy }));
    call(&web.attach(1).1).unwrap();
    let row = owner.tenants().into_iter().find(|row| row.tenant.name == "web").unwrap();
    assert_eq!((row.tenant.number, row.tenant.limits.weight), (1, 5));
}

#[test]
fn cards_are_added_changed_and_removed_while_others_serve() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    let (_, queue) = owner.attach(0);
    let before = owner.cards();
    owner.change(Change::CardAdd(personality(Personality::Coprocessor)));
    let rows = owner.cards();
    assert!(ready(&rows) && rows.len() == 5 && rows[4].personality == Personality::Coprocessor);
    owner.change(Change::CardSet { card: 1, change: poll(PollMode::Sleep) });
    let rows = owner.cards();
    assert!(ready(&rows) && rows[1].poll == PollMode::Sleep && rows[1].pid != before[1].pid);
    assert_eq!((rows[0].pid, rows[2].pid, rows[1].restarts), (before[0].pid, before[2].pid, 0));
    owner.change(Change::CardRemove { card: 1 });
    assert_eq!(indexes(&owner), [0, 2, 3, 4]);
    assert!(
        PidFd::open(rows[1].pid).is_err()
            || !std::path::Path::new(&format!("/proc/{}/exe", rows[1].pid)).exists()
    );
    // The index that is free is given first; what the others are does not change.
    owner.change(Change::CardAdd(CardChange::default()));
    let rows = owner.cards();
    assert_eq!((rows[1].index, rows[1].personality), (1, Personality::Accelerator));
    assert_eq!(rows.len(), 5);
    call(&queue).unwrap();
    assert_eq!(owner.refused(ClientRequest::Change(Change::CardRemove { card: 9 })), Refusal::NoSuchCard);
    // The next daemon reads it all from the settings.
    let settings = place.home.settings().unwrap();
    assert_eq!(settings.wanted_cards().len(), 5);
}

#[test]
fn a_quiesced_card_takes_nothing_also_after_a_restart() {
    let place = place(|_| ());
    let daemon = place.start();
    let owner = place.client();
    let (_, queue) = owner.attach(1);
    call(&queue).unwrap();
    owner.change(Change::CardQuiesce { card: 1 });
    assert_eq!(owner.cards()[1].state, CardState::Quiescing);
    assert_eq!(owner.refused(attach(1, 0)), Refusal::NoCardReady);
    daemon.kill();
    let daemon = place.start();
    let owner = place.client();
    assert_eq!(owner.cards()[1].state, CardState::Quiescing);
    assert_eq!(daemon.terminate(), 0);
    let _daemon = place.start();
    let owner = place.client();
    let rows = owner.cards();
    assert_eq!((rows[0].state, rows[1].state), (CardState::Ready, CardState::Quiescing));
    // A change of it does not wake it.
    owner.change(Change::CardSet { card: 1, change: poll(PollMode::Sleep) });
    assert_eq!(owner.cards()[1].state, CardState::Quiescing);
    owner.change(Change::CardResume { card: 1 });
    assert!(ready(&owner.cards()));
    call(&owner.attach(1).1).unwrap();
}

#[test]
fn a_change_that_strands_a_tenant_is_refused_and_changes_nothing() {
    let place = place(|settings| {
        (settings.cards.coprocessors, settings.cards.accelerators) = (2, 1);
        settings.tenants[0].dedicated = whole(1);
    });
    let _daemon = place.start();
    let owner = place.client();
    let text = || std::fs::read_to_string(place.home.settings_path()).unwrap();
    let (before, cards) = (text(), owner.status().cards);
    let accelerator = personality(Personality::Accelerator);
    let db = |dedicated: Vec<Dedicated>| Tenant { dedicated, ..tenant("db", 0, 2) };
    let both = vec![Dedicated { card: 0, share_percent: 100 }, Dedicated { card: 1, share_percent: 100 }];
    let cases = [
        (Change::CardRemove { card: 1 }, "web", "card 1"),
        (Change::CardQuiesce { card: 1 }, "web", "any card"),
        (Change::CardSet { card: 1, change: accelerator.clone() }, "web", "a coprocessor"),
        // The only coprocessor that is shared.
        (Change::CardSet { card: 0, change: accelerator }, "db", "a coprocessor"),
        (Change::CardRemove { card: 0 }, "db", "a coprocessor"),
        (Change::CardQuiesce { card: 0 }, "db", "a coprocessor"),
        (Change::TenantSet(Tenant { dedicated: both, ..tenant("web", 0, 1) }), "db", "a coprocessor"),
    ];
    for (change, name, what) in cases {
        match owner.refused(ClientRequest::Change(change.clone())) {
            Refusal::Strands { tenant, lacks } => {
                assert!(tenant == name && lacks.contains(what), "{change:?}: {tenant} {lacks}");
            }
            other => panic!("{change:?}: {other:?}"),
        }
    }
    // A user without a tenant counts as soon as it has a queue.
    let (_, queue) = owner.attach(2);
    let all = vec![Dedicated { card: 0, share_percent: 100 }, Dedicated { card: 2, share_percent: 100 }];
    let taken = owner.refused(ClientRequest::Change(Change::TenantSet(db(all.clone()))));
    assert!(matches!(&taken, Refusal::Strands { lacks, .. } if lacks.contains("any card")), "{taken:?}");
    assert_eq!(text(), before);
    let pids = |rows: &[wire::control::CardRow]| rows.iter().map(|row| row.pid).collect::<Vec<_>>();
    assert_eq!(pids(&owner.status().cards), pids(&cards));
    call(&queue).unwrap();
    // Settings that are read anew are held to the same.
    place.change(|settings| settings.cards.accelerators = 0);
    owner.done(ClientRequest::Reload);
    place.change(|settings| {
        settings.put_card(home::CardSettings { index: 1, quiesced: true, ..Default::default() });
    });
    assert!(
        matches!(owner.refused(ClientRequest::Reload), Refusal::Strands { tenant, .. } if tenant == "web")
    );
    // What was read anew is done once the card has gone, not when that was begun.
    owner.status_until(|status| status.cards.iter().map(|row| row.index).eq([0, 1]));
}

#[test]
fn a_change_is_refused_over_an_edited_file_and_by_name() {
    let place = place(|_| ());
    let _daemon = place.start();
    let (owner, web) = (place.client(), place.client_as(1));
    let refused = |change: Change| owner.refused(ClientRequest::Change(change));
    assert_eq!(refused(Change::TenantSet(tenant("nobody", 0, 5))), Refusal::NoSuchTenant("nobody".into()));
    assert_eq!(refused(Change::TenantRemove { name: "x".into() }), Refusal::NoSuchTenant("x".into()));
    assert!(matches!(refused(Change::TenantAdd(tenant("web", 0, 5))), Refusal::Invalid(_)));
    for (change, key) in [
        (Change::TenantAdd(tenant("a b", 0, 5)), "name"),
        (Change::TenantAdd(tenant("third", 0, 1)), "credential_sha256"),
        (Change::TenantAdd(Tenant { domains: vec![2], ..tenant("third", 0, 5) }), "domains"),
        (Change::TenantAdd(Tenant { dedicated: whole(9), ..tenant("third", 0, 5) }), "dedicated"),
        (
            Change::TenantAdd(Tenant { users: vec!["no-such-user-here".into()], ..tenant("third", 0, 5) }),
            "users",
        ),
        (Change::CardSet { card: 0, change: poll(PollMode::Every { interval_us: 0 }) }, "poll"),
    ] {
        let why = refused(change.clone());
        assert!(matches!(&why, Refusal::Settings(why) if why.contains(key)), "{change:?}: {why:?}");
    }
    // Whoever shows a credential is its tenant, the owner's processes too.
    let own = Change::TenantSet(tenant("web", 0, 1));
    assert_eq!(web.refused(ClientRequest::Change(own)), Refusal::Denied);
    place.change(|settings| settings.cards.poll = PollMode::Sleep);
    let why = refused(Change::TenantRemove { name: "web".into() });
    assert!(matches!(why, Refusal::Invalid(why) if why.contains("cryptand reload")));
    owner.done(ClientRequest::Reload);
    owner.cards_until(ready);
    owner.change(Change::TenantRemove { name: "web".into() });
    assert_eq!(place.home.settings().unwrap().cards.poll, PollMode::Sleep);
}

#[test]
fn a_change_that_cards_do_not_follow_says_so() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    place.direct("fail");
    let why = owner.refused(ClientRequest::Change(Change::CardAdd(CardChange::default())));
    assert!(matches!(why, Refusal::Invalid(why) if why.contains("card 4")));
    // The next change is not kept waiting by it.
    place.direct("");
    owner.change(Change::CardRemove { card: 4 });
    assert_eq!(owner.status().cards.len(), 4);
}

#[test]
fn a_daemon_killed_in_a_change_leaves_the_old_or_the_new() {
    let place = place(|_| ());
    let mut expected = place.home.settings().unwrap();
    for round in 0..8 {
        let daemon = place.start();
        let owner = place.client();
        assert_eq!(owner.cards().len(), expected.wanted_cards().len());
        let changes = [
            Change::TenantAdd(tenant(&format!("t{round}"), 0, 10 + round)),
            Change::CardAdd(CardChange::default()),
            Change::CardSet { card: 1, change: poll(PollMode::Every { interval_us: 1 + u32::from(round) }) },
        ];
        let change = ClientRequest::Change(changes[usize::from(round) % changes.len()].clone());
        owner.channel.send(&change, &[]).unwrap();
        // Spread over what a change does; whatever the machine's speed, either is right.
        for _ in 0..u32::from(round) * 400 {
            std::hint::spin_loop();
        }
        daemon.kill();
        let found = place.home.settings().unwrap();
        let tenants = found.tenants.len() - expected.tenants.len();
        let cards = found.wanted_cards().len() - expected.wanted_cards().len();
        assert!(tenants + cards <= 1);
        expected = found;
    }
    let _daemon = place.start();
    let rows = place.client().cards();
    assert!(ready(&rows));
    for (row, (index, card)) in rows.iter().zip(expected.wanted_cards()) {
        assert_eq!((row.index, row.personality, row.poll), (index, card.personality, card.poll));
    }
}

#[test]
fn a_tenant_keeps_its_row_over_a_killed_daemon() {
    let place = place(|_| ());
    let daemon = place.start();
    let (web, db) = (place.client_as(1), place.client_as(2));
    let (_, queue) = web.attach(0);
    drop(db.attach(1));
    let account = |client: &Client, name: &str| {
        client.tenants().into_iter().find(|row| row.tenant.name == name).unwrap().account
    };
    let owner = place.client();
    assert_eq!((account(&owner, "web"), account(&owner, "db")), (Some(0), Some(1)));
    drop(db);
    daemon.kill();
    // While no daemon runs, one is taken out of the settings: what its processes hold ends.
    place.change(|settings| drop(settings.tenants.remove(0)));
    let _daemon = place.start();
    let owner = place.client();
    assert_eq!(account(&owner, "db"), Some(1));
    assert_eq!(call(&queue), Err(LinkError::Dead));
    owner.attach(0);
    assert_eq!(account(&owner, &owner.tenant_name), Some(2));
}

#[test]
fn many_tenants_are_listed_in_pages() {
    let place = place(|settings| {
        let user = "x".repeat(3);
        settings.tenants = (1..=400).map(|number| tenant(&format!("{user}-{number}"), number, 0)).collect();
        for tenant in &mut settings.tenants {
            tenant.credential_sha256 = Some(format!("{:064x}", tenant.number));
        }
        settings.tenant_number_next = 401;
    });
    let _daemon = place.start();
    let owner = place.client();
    let rows = owner.tenants();
    assert_eq!(rows.len(), 401);
    assert!(rows.is_sorted_by_key(|row| row.id));
    let ClientReply::Tenants(page) = owner.ask(ClientRequest::Tenants { after: None }) else { panic!() };
    assert!(page.len() < 401);
}

const STRANGER: u32 = 54_322;

/// Runs an ignored test of this file as another user; root only.
fn as_user(place: &Place, user: u32, test: &str) {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    std::fs::set_permissions(place.base.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let program = place.base.path().join("test");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let output = Command::new(program)
        .args(["--exact", &format!("tenants::{test}"), "--ignored", "--nocapture"])
        .env("CRYPTAND_TEST_SOCKET", place.home.guest_socket())
        .uid(user)
        .gid(user)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_credential_lets_a_stranger_in_where_the_socket_does() {
    let place = place(|settings| {
        settings.tenants[1].users = vec!["nobody".into()];
        settings.tenants[1].dedicated = whole(2);
        settings.tenants[1].domains = vec![1];
        settings.tenants[1].dedicated.push(Dedicated { card: 0, share_percent: 30 });
        settings.tenants[0].dedicated = vec![Dedicated { card: 0, share_percent: 20 }];
        settings.tenants[0].also_shared = true;
    });
    let _daemon = place.start();
    as_user(&place, STRANGER, "the_stranger");
    // With nobody but the owner named, the way to the socket is the owner's.
    let owner = place.client();
    owner.change(Change::TenantSet(tenant("db", 0, 2)));
    assert_eq!(owner.status().cards.len(), 4);
    let mode = std::fs::metadata(place.home.folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
#[ignore = "what the stranger of a_credential_lets_a_stranger_in_where_the_socket_does does"]
fn the_stranger() {
    let Some(socket) = std::env::var_os("CRYPTAND_TEST_SOCKET") else { return };
    let socket = std::path::Path::new(&socket);
    let shown = |byte| Client::greet_as(socket, Some(Credential([byte; 32])));
    assert_eq!(Client::greet_as(socket, None).err(), Some(Refusal::Denied));
    assert_eq!(shown(7).err(), Some(Refusal::NoSuchTenant("with this credential".into())));
    let web = shown(1).unwrap();
    assert_eq!(web.tenant_name, "web");
    call(&web.attach(0).1).unwrap();
    // Whose shares there are is not for it to know, nor what the cards are that it may not use.
    let status = web.status();
    assert_eq!(status.cards.iter().map(|row| row.index).collect::<Vec<_>>(), [0, 1, 3]);
    for row in status.cards.iter().cloned().chain(web.cards()) {
        let own = if row.index == 0 { vec![("web".to_owned(), 20)] } else { Vec::new() };
        assert_eq!(row.dedicated, own, "card {}", row.index);
    }
    // A guest's rights, and its own row only.
    assert_eq!(web.tenants().iter().map(|row| row.id).collect::<Vec<_>>(), [web.tenant]);
    for denied in [
        ClientRequest::Change(Change::TenantRemove { name: "db".into() }),
        ClientRequest::Change(Change::CardQuiesce { card: 0 }),
        ClientRequest::Reload,
        common::calls::create("B", &[]),
    ] {
        assert_eq!(web.refused(denied), Refusal::Denied);
    }
    // No tenant takes all connections, by whichever process.
    use daemon::access::GUEST_CONNECTIONS_MAX;
    if common::lacks_descriptors() {
        return;
    }
    let _others: Vec<Client> = (1..GUEST_CONNECTIONS_MAX).map(|_| shown(1).unwrap()).collect();
    assert!(matches!(shown(1).err(), Some(Refusal::Full { .. })));
    // Nor does one see the registers of domains that are not its own.
    assert_eq!((status.registers.len(), shown(2).unwrap().status().registers), (1, Vec::new()));
}

#[test]
fn who_becomes_another_tenants_by_its_own_change_is_told_that_it_is_done() {
    let place = place(|_| ());
    let _daemon = place.start();
    let name = daemon::access::user_name(rustix::process::getuid().as_raw());
    let owner = place.client();
    owner.change(Change::TenantAdd(Tenant { users: vec![name.clone()], ..tenant("own", 0, 3) }));
    // Told so, it is disconnected, and comes back as that.
    assert!(owner.channel.recv_timeout::<ClientReply>(common::PATIENCE).is_err());
    let owner = place.client();
    assert_eq!(owner.tenant_name, "own");
    place.change(|settings| settings.tenants.retain(|tenant| tenant.name != "own"));
    owner.done(ClientRequest::Reload);
    assert_eq!(place.client().tenant_name, name);
}

#[test]
fn a_number_is_not_another_tenants_after_an_edit() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    owner.change(Change::TenantRemove { name: "web".into() });
    place.change(|settings| settings.tenants.push(tenant("new", 1, 3)));
    let why = owner.refused(ClientRequest::Reload);
    assert!(
        matches!(&why, Refusal::Settings(why) if why.contains("number: 1 may") && why.contains("3 or above"))
    );
    place.change(|settings| drop(settings.tenants.pop()));
    owner.done(ClientRequest::Reload);
    place.change(|settings| {
        settings.tenants.clear();
        settings.tenant_number_next = 1;
    });
    let why = owner.refused(ClientRequest::Reload);
    assert!(matches!(&why, Refusal::Settings(why) if why.contains("tenant_number_next = 1")), "{why:?}");
    // Another name is the same tenant.
    place.change(|settings| {
        settings.tenants = vec![tenant("store", 2, 2)];
        settings.tenant_number_next = 3;
    });
    owner.done(ClientRequest::Reload);
    assert_eq!(place.client_as(2).tenant, NAMED_TENANT | 2);
}

#[test]
fn a_tenant_that_is_given_another_name_is_not_stranded_by_that() {
    let place = place(|settings| (settings.cards.coprocessors, settings.cards.accelerators) = (1, 1));
    let _daemon = place.start();
    place.change(|settings| {
        settings.tenants[0].name = "shop".into();
        settings.put_card(home::CardSettings { index: 0, quiesced: true, ..Default::default() });
    });
    let why = place.client().refused(ClientRequest::Reload);
    assert!(matches!(&why, Refusal::Strands { tenant, .. } if tenant == "shop"), "{why:?}");
}

#[test]
fn a_card_is_not_put_on_processors_that_are_not_there() {
    let place = place(|_| ());
    let _daemon = place.start();
    let owner = place.client();
    let before = owner.cards();
    let on = |processors| CardChange { processors: Some(processors), ..CardChange::default() };
    for change in [Change::CardSet { card: 0, change: on(vec![0, 8000]) }, Change::CardAdd(on(vec![8000]))] {
        let why = owner.refused(ClientRequest::Change(change));
        assert!(matches!(&why, Refusal::Settings(why) if why.contains("no processor 8000")), "{why:?}");
    }
    assert_eq!(owner.cards(), before);
    // What is in the file already does not keep other changes from being made.
    place.change(|settings| settings.cards.processors = Some(vec![8000]));
    assert!(matches!(owner.refused(ClientRequest::Reload), Refusal::Settings(_)));
}

#[test]
fn a_credential_that_was_replaced_keeps_no_queue_of_an_earlier_daemon() {
    let place = place(|_| ());
    let daemon = place.start();
    let (web, db) = (place.client_as(1), place.client_as(2));
    let ((_, queue), (_, other)) = (web.attach(0), db.attach(0));
    daemon.kill();
    let _daemon = place.start();
    call(&queue).unwrap();
    place.client().change(Change::TenantSet(tenant("web", 0, 5)));
    assert_eq!(call(&queue), Err(LinkError::Dead));
    call(&other).unwrap();
}

#[test]
fn what_a_card_says_of_its_queues_is_checked() {
    let place = place(|_| ());
    place.direct("claim");
    let daemon = place.start();
    let web = place.client_as(1);
    let (_first, _second) = (web.attach(0), web.attach(1));
    daemon.kill();
    place.direct("");
    let _daemon = place.start();
    // Of the two that claim the same queue, one is kept.
    let owner = place.client();
    let rows = owner.cards_until(ready);
    assert_eq!(rows.len(), 4);
    for card in 0..4 {
        call(&owner.attach(card).1).unwrap();
    }
}

#[test]
fn a_daemon_that_stops_takes_over_no_settings() {
    let place = place(|_| ());
    // Cards that can be told nothing take a while to end.
    place.direct("leave");
    let daemon = place.start();
    let owner = place.client();
    common::signal(daemon.child.id(), "TERM");
    let begin = std::time::Instant::now();
    while place.home.admin_socket().exists() {
        assert!(begin.elapsed() < common::PATIENCE);
        std::thread::yield_now();
    }
    assert_eq!(owner.refused(ClientRequest::Reload), Refusal::Stopping);
}

/// The answer to a query: its codes, the elements of its rule array, its data.
fn query(
    client: &Client,
    domain: u16,
    card: Option<u32>,
    query: FacilityQuery,
) -> Result<(Codes, Vec<String>, Vec<u8>), Refusal> {
    use wire::verb::cryptographic_facility_query::*;
    let request = common::calls::of(&Ask { verb_data: 256, ..Ask::new(query) });
    let ClientRequest::Call { verb, payload, .. } = request else { panic!("a call is asked") };
    match client.ask(ClientRequest::Call { domain, card, verb, payload }) {
        ClientReply::Called { codes, payload } => {
            let got = Got::of(&Arguments::read_reply(Got::VERB, &payload).unwrap());
            let elements =
                got.rule_array.iter().map(|element| String::from_utf8_lossy(element).trim_end().to_owned());
            Ok((codes, elements.collect(), got.verb_data.to_vec()))
        }
        ClientReply::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_tells_a_tenant_of_its_own_domains_cards_and_role() {
    let place = place(|settings| {
        settings.tenants[0].domains = vec![1];
        settings.tenants[0].dedicated = vec![Dedicated { card: 1, share_percent: 100 }];
        settings.tenants[1].role = Some("nobody".into());
    });
    let daemon = place.start();
    let (web, db, owner) = (place.client_as(1), place.client_as(2), place.client());
    let ask = |client: &Client, card, about| query(client, 1, card, about).unwrap();
    assert_eq!(ask(&web, None, FacilityQuery::UsableDomains).2, [0, 1]);
    assert_eq!(ask(&owner, None, FacilityQuery::UsableDomains).2, [0, 0, 0, 1]);
    assert_eq!(ask(&web, None, FacilityQuery::Domains).2, [0, 0, 0, 2]);
    // Its one coprocessor, whichever it asks about; others have serial numbers of their own, which it does not learn.
    let serial = |client: &Client, card| ask(client, card, FacilityQuery::Adapters).1[14].clone();
    let (its, owners) = (serial(&web, None), serial(&owner, None));
    assert_eq!((ask(&web, None, FacilityQuery::Adapters).1[0].as_str(), its.len()), ("1", 8));
    assert!(its == serial(&web, Some(1)) && its != owners && owners == serial(&owner, Some(0)));
    for card in [0, 2, 3, 64, u32::MAX] {
        assert_eq!(serial(&web, Some(card)), "", "{card}");
    }
    assert_eq!(ask(&web, None, FacilityQuery::Sym).1[5], "DFLTGUES");
    assert_eq!(ask(&owner, None, FacilityQuery::Sym).1[5], "DFLTOWNE");
    // Of a domain that is not its own it learns nothing, nor does who has no right to ask.
    for about in [
        FacilityQuery::SymAndAsym,
        FacilityQuery::AllPatterns,
        FacilityQuery::Adapters,
        FacilityQuery::UsableDomains,
    ] {
        assert!(
            matches!(query(&web, 0, None, about), Err(Refusal::Invalid(why)) if why.contains("tenant web"))
        );
        assert!(matches!(query(&web, 2, None, about), Err(Refusal::Invalid(_))));
        assert_eq!(query(&db, 1, None, about), Err(Refusal::Denied));
    }
    drop(daemon);
    let _daemon = place.start();
    assert_eq!((serial(&place.client_as(1), None), serial(&place.client(), None)), (its, owners));
}

#[test]
fn who_asks_queries_without_taking_answers_waits_for_itself() {
    let place = place(|_| ());
    let _daemon = place.start();
    let (flood, other) = (place.client_as(1), place.client_as(2));
    let (mut sent, payload) = (0, vec![0; 24]);
    let verb = Verb::AccessControlMaintenance as u16;
    let request = ClientRequest::Call { domain: 0, card: None, verb, payload };
    while sent < 10_000 && flood.channel.try_send(&request, &[]).is_ok() {
        sent += 1;
        if sent % 100 == 0 {
            assert_eq!(query(&other, 0, None, FacilityQuery::Domains).unwrap().2, [0, 0, 0, 2]);
        }
    }
    assert!(sent > 1);
    assert_eq!(query(&other, 0, None, FacilityQuery::Domains).unwrap().2, [0, 0, 0, 2]);
}
