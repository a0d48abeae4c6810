//! Guests that take all they can get: what one of them, one user with several credentials, and all of them leave.

use crate::common::{self, Client, Place, call, des_token, lacks_descriptors, tenant};
use daemon::access::{
    GUEST_CONNECTIONS_MAX, GUEST_QUEUE_BYTES_MAX, GUEST_USER_CONNECTIONS_MAX, GUEST_USER_QUEUE_BYTES_MAX,
    GUESTS_QUEUE_BYTES_MAX,
};
use link::{Channel, KeyTableView, QueueMemory};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;
use wire::bounds::{HOLDERS_LISTED_MAX, LABELS};
use wire::control::{
    CONTROL_VERSION, ClientReply, ClientRequest, ProcessQueues, QueueBound, QueueHolders, Refusal,
};
use wire::tenant::Credential;
use wire::{KeyReference, Label};

/// Tenants 1 to `count`, each known by a credential of its own.
fn place(count: u32) -> Place {
    Place::with(|settings| {
        settings.tenants =
            (1..=count).map(|number| tenant(&format!("t{number}"), number, number as u8)).collect();
        settings.tenant_number_next = count + 1;
        settings.daemon.labels = *LABELS.start();
    })
}

fn attach() -> ClientRequest {
    ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 0 }
}

fn limit_of(what: &str, refusal: &Refusal) -> usize {
    match refusal {
        Refusal::Full { what: said, limit } if said == what => *limit as usize,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_user_with_several_credentials_leaves_connections_to_other_guests_and_to_administrators() {
    if lacks_descriptors() {
        return;
    }
    let place = place(3);
    let _daemon = place.start();
    let greet = |number: u8| Client::greet_as(&place.home.guest_socket(), Some(Credential([number; 32])));
    let mut all: Vec<Client> = (0..GUEST_CONNECTIONS_MAX).map(|_| greet(1).unwrap()).collect();
    assert_eq!(limit_of("client connections", &greet(1).err().unwrap()), GUEST_CONNECTIONS_MAX);
    let refusal = loop {
        match greet(2) {
            Ok(client) => all.push(client),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(limit_of("client connections of this user", &refusal), GUEST_USER_CONNECTIONS_MAX);
    assert_eq!(all.len(), GUEST_USER_CONNECTIONS_MAX);
    assert!(greet(3).is_err());
    call(&place.client().attach(0).1).unwrap();
    // Whoever leaves makes a place.
    drop(all.pop());
    let begin = Instant::now();
    while let Err(refusal) = greet(3) {
        assert!(begin.elapsed() < common::PATIENCE, "{refusal:?}");
    }
}

#[test]
fn one_user_with_several_credentials_leaves_labels_to_other_guests_and_to_administrators() {
    let place = place(3);
    // A quarter of the key table is for a tenant, half for a user, in tokens of one unit.
    let of_tenant = link::key_table_units_for(*LABELS.start()) / 4;
    let name = |index: usize| Label::new(&format!("K{index}")).unwrap();
    {
        // In one transaction: thousands of flushes would take long.
        drop(daemon::store::SqliteStore::open(&place.home.key_store()).unwrap());
        let store = rusqlite::Connection::open(place.home.key_store()).unwrap();
        store.execute_batch("BEGIN").unwrap();
        for index in 0..=of_tenant {
            let values = (name(index).to_string(), des_token(1));
            let insert = "INSERT INTO records (label, store, token, written_unix_s) VALUES (?1, 1, ?2, 0)";
            store.execute(insert, values).unwrap();
        }
        store.execute_batch("COMMIT").unwrap();
    }
    let daemon = place.start();
    let open = |client: &Client, index| client.ask(ClientRequest::OpenLabel { label: name(index) });
    let reference = |answer: ClientReply| match answer {
        ClientReply::Opened { reference, .. } => reference,
        other => panic!("{other:?}"),
    };
    let table = std::fs::File::open(place.home.key_table()).unwrap();
    let table = KeyTableView::join(table.as_fd()).unwrap();
    // More labels than a tenant may have open: its own oldest gives way, and nobody else's.
    let fill = |client: &Client| -> Vec<KeyReference> {
        let all: Vec<_> = (0..=of_tenant).map(|index| reference(open(client, index))).collect();
        let is_open =
            |reference: &&KeyReference| table.read(**reference, client.tenant, &mut Vec::new()).is_ok();
        assert_eq!(all.iter().filter(is_open).count(), of_tenant);
        assert!(!is_open(&&all[0]));
        all
    };
    let clients: Vec<Client> = (1..=3).map(|credential| place.client_as(credential)).collect();
    let first = fill(&clients[0]);
    fill(&clients[1]);
    let of_first =
        |reference: &&KeyReference| table.read(**reference, clients[0].tenant, &mut Vec::new()).is_ok();
    assert_eq!(first.iter().filter(of_first).count(), of_tenant);
    // One user has as many as it may with two credentials: with a third it has none that could give way.
    match open(&clients[2], 0) {
        ClientReply::Refused(refusal) => {
            let what = "opened labels of this user ([daemon] labels in the settings)";
            assert_eq!(limit_of(what, &refusal), *LABELS.start() as usize / 2);
        }
        other => panic!("{other:?}"),
    }
    reference(open(&place.client(), 0));
    // A later daemon knows what guests have open as theirs, though no longer whose.
    daemon.kill();
    let _daemon = place.start();
    fill(&place.client_as(1));
}

#[test]
fn guests_leave_room_for_administrators_in_what_a_card_can_tell_of_its_queues() {
    if lacks_descriptors() {
        return;
    }
    let place = place(2);
    let daemon = place.start();
    let guests = [place.client_as(1), place.client_as(2)];
    let mut count = 0;
    let refusal = loop {
        // The descriptors are closed at once: the queue is the connection's.
        match guests[count % 2].ask(attach()) {
            ClientReply::Attached { .. } => count += 1,
            ClientReply::Refused(refusal) => break refusal,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(limit_of("queues of guests on this card", &refusal), count);
    assert!(count >= 1000, "{count}");
    // Its queue is there as long as the connection is.
    let administrator = place.client();
    call(&administrator.attach(0).1).unwrap();
    // All of them fit into the message to a later daemon, which counts them again.
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(place.client().cards()[0].queues as usize, count + 1);
    assert!(matches!(place.client_as(1).refused(attach()), Refusal::Full { .. }));
    call(&place.client().attach(0).1).unwrap();
}

/// Pages that exist of a shared memory, in bytes.
fn backed(memory: &OwnedFd) -> u64 {
    rustix::fs::fstat(memory).unwrap().st_blocks as u64 * 512
}

/// Has every page of a memory come into being that can: by writes where they are allowed, else by looking at it, and
/// tries to make it longer.
fn touch_all(memory: &OwnedFd) {
    use rustix::fs::{FallocateFlags, fallocate, fstat, ftruncate};
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let bytes = fstat(memory).unwrap().st_size as u64;
    assert!(ftruncate(memory, 2 * bytes).is_err() && ftruncate(memory, 0).is_err());
    assert!(fallocate(memory, FallocateFlags::empty(), bytes, 4096).is_err());
    assert!(rustix::io::pwrite(memory, &[1; 4096], bytes).is_err());
    let _ = fallocate(memory, FallocateFlags::empty(), 0, bytes);
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing else uses; only bytes within it are
    // read, one of each page, and whatever they are is thrown away.
    unsafe {
        let base =
            mmap(std::ptr::null_mut(), bytes as usize, ProtFlags::READ, MapFlags::SHARED, memory, 0).unwrap();
        for offset in (0..bytes as usize).step_by(4096) {
            base.cast::<u8>().add(offset).read_volatile();
        }
        munmap(base, bytes as usize).unwrap();
    }
}

#[test]
fn what_the_queues_of_one_guest_can_pin_is_what_its_bound_says_to_a_page() {
    let place = place(4);
    let _daemon = place.start();
    let guest = place.client_as(1);
    let own = |client: &Client| client.status().queue_memory.own;
    let long = |slots, blocks| ClientRequest::Attach { card: 0, domain: 0, slots, blocks };
    let mut pinned = 0;
    for (slots, blocks) in [(64, 0), (1, 0), (64, 16), (8, 3)] {
        let (reply, descriptors) = guest.ask_with(long(slots, blocks));
        assert!(matches!(reply, ClientReply::Attached { .. }), "{reply:?}");
        let before = own(&guest);
        // A queue costs next to nothing until somebody touches it, and never more than it was booked for.
        assert!(descriptors[..2].iter().map(backed).sum::<u64>() <= 4 * 4096);
        descriptors[..2].iter().for_each(touch_all);
        pinned += descriptors[..2].iter().map(backed).sum::<u64>();
        assert_eq!((pinned, own(&guest)), (before, before), "{slots} slots, {blocks} blocks");
    }
    assert!(matches!(guest.refused(long(64, 17)), Refusal::Invalid(why) if why.contains("17 bulk blocks")));
    // Nobody has to touch anything for the bound to hold: what could be pinned counts.
    let fill = |client: &Client, whose: &str, limit: u64| {
        let refusal = loop {
            match client.ask(long(64, 16)) {
                ClientReply::Attached { .. } => {}
                ClientReply::Refused(refusal) => break refusal,
                other => panic!("{other:?}"),
            }
        };
        let what = format!("bytes of memory for queues of {whose}, until some of its processes end");
        assert_eq!(refusal, Refusal::Full { what, limit });
    };
    fill(&guest, "this tenant", GUEST_QUEUE_BYTES_MAX);
    let largest = own(&guest);
    assert!(largest <= GUEST_QUEUE_BYTES_MAX && largest + (40 << 20) > GUEST_QUEUE_BYTES_MAX, "{largest}");
    // With other credentials the same user has as much again, and no more.
    let others = [2, 3].map(|credential| place.client_as(credential));
    fill(&others[0], "this tenant", GUEST_QUEUE_BYTES_MAX);
    fill(&others[1], "this user", GUEST_USER_QUEUE_BYTES_MAX);
    let owner = place.client();
    let said = owner.status().queue_memory;
    assert_eq!(said.guests, largest + own(&others[0]) + own(&others[1]));
    assert!(matches!(owner.ask(long(64, 16)), ClientReply::Attached { .. }));
    assert_eq!((said.tenant_max, said.guests_max), (GUEST_QUEUE_BYTES_MAX, GUESTS_QUEUE_BYTES_MAX));
    // Closed half-way, it is booked off as soon as its card has let it go.
    drop((guest, others));
    owner.cards_until(|rows| rows[0].queues == 1);
    assert_eq!(owner.status().queue_memory.guests, 0);
    fill(&place.client_as(1), "this tenant", GUEST_QUEUE_BYTES_MAX);
}

#[test]
fn a_later_daemon_knows_what_the_queues_of_guests_take() {
    let place = place(1);
    let daemon = place.start();
    let guest = place.client_as(1);
    let (_, _descriptors) =
        guest.ask_with(ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 16 });
    let before = place.client().status().queue_memory.guests;
    daemon.kill();
    let _daemon = place.start();
    assert_eq!((place.client().status().queue_memory.guests, before > 0), (before, true));
}

#[test]
fn a_status_tells_who_holds_queues_and_which_bound_kept_whom_from_more() {
    let place = place(2);
    let daemon = place.start();
    let (owner, guest, other) = (place.client(), place.client_as(1), place.client_as(2));
    assert_eq!(*owner.status().holders, QueueHolders::default());
    let long = || ClientRequest::Attach { card: 0, domain: 0, slots: 64, blocks: 16 };
    for request in [attach(), attach(), long()] {
        assert!(matches!(guest.ask(request), ClientReply::Attached { .. }));
    }
    assert!(matches!(other.ask(attach()), ClientReply::Attached { .. }));
    let memory_bytes = 2 * QueueMemory::bytes_of(8, 0) + QueueMemory::bytes_of(64, 16);
    let of_guest = ProcessQueues {
        tenant: "t1".into(),
        pid: std::process::id(),
        connections: 1,
        queues: 3,
        cards: 1,
        queues_on_one_card: 3,
        memory_bytes,
    };
    let holders = owner.status().holders;
    let shown: Vec<_> = holders.processes.iter().map(|row| (row.tenant.as_str(), row.queues)).collect();
    assert_eq!((shown, &holders.processes[0]), (vec![("t1", 3), ("t2", 1)], &of_guest));
    assert_eq!((holders.unlisted, holders.refused), (0, Vec::new()));
    // A guest is shown its own alone.
    assert_eq!(guest.status().holders.processes, std::slice::from_ref(&of_guest));
    assert_eq!(other.status().holders.processes.len(), 1);

    while matches!(guest.ask(long()), ClientReply::Attached { .. }) {}
    for _ in 0..2 {
        assert!(matches!(guest.refused(long()), Refusal::Full { limit: GUEST_QUEUE_BYTES_MAX, .. }));
    }
    // What is wrong with a request is no bound's doing.
    assert!(matches!(
        guest.refused(ClientRequest::Attach { card: 0, domain: 99, slots: 8, blocks: 0 }),
        Refusal::Invalid(_)
    ));
    let refused = owner.status().holders.refused;
    let [of_guest] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!((of_guest.tenant.as_deref(), of_guest.bound), (Some("t1"), QueueBound::TenantMemory));
    assert_eq!((of_guest.limit, of_guest.times), (GUEST_QUEUE_BYTES_MAX, 3));
    assert!(of_guest.last_unix_s > 1_600_000_000);
    assert_eq!(guest.status().holders.refused, refused);
    assert_eq!(other.status().holders.refused, Vec::new());
    // The processes go with their queues; what was refused stays, until the daemon goes.
    drop((guest, other));
    let left = owner.status_until(|status| status.holders.processes.is_empty());
    assert_eq!(left.holders.refused, refused);
    let _queue = owner.attach(0);
    daemon.kill();
    let _daemon = place.start();
    let later = place.client().status().holders;
    let [adopted] = &later.processes[..] else { panic!("{later:?}") };
    assert_eq!((adopted.pid, adopted.connections, adopted.queues), (std::process::id(), 1, 1));
    assert_eq!(later.refused, Vec::new());
}

#[test]
fn a_status_lists_few_of_many_holders_and_counts_the_others() {
    const TENANTS: u32 = HOLDERS_LISTED_MAX as u32 + 3;
    if lacks_descriptors() {
        return;
    }
    let place = place(TENANTS);
    let _daemon = place.start();
    let clients: Vec<Client> = (1..=TENANTS).map(|number| place.client_as(number as u8)).collect();
    for client in &clients {
        assert!(matches!(client.ask(attach()), ClientReply::Attached { .. }));
    }
    assert!(matches!(clients[40].ask(attach()), ClientReply::Attached { .. }));
    let holders = place.client().status().holders;
    assert_eq!((holders.processes.len(), holders.unlisted), (HOLDERS_LISTED_MAX, 3));
    assert_eq!((holders.processes[0].tenant.as_str(), holders.processes[0].queues), ("t41", 2));
}

/// Descriptors that a process has open, and memories of queues that it maps.
fn held(pid: u32) -> (usize, usize) {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    (descriptors, maps.lines().filter(|line| line.contains("cryptand re")).count())
}

#[test]
fn ten_thousand_guests_that_attach_and_leave_leave_nothing_and_keep_no_administrator_waiting() {
    const ROUNDS: usize = 10_000;
    let place = place(1);
    let daemon = place.start();
    let owner = place.client();
    // What is made ahead of the first is there before anything is counted.
    call(&owner.attach(0).1).unwrap();
    drop(place.client_as(1).attach(0));
    let card = owner.cards()[0].pid;
    let settled = |rows: &[wire::control::CardRow]| rows[0].queues == 1;
    owner.cards_until(settled);
    let before = [held(daemon.child.id()), held(card)];

    for round in 0..ROUNDS {
        match round % 4 {
            0 => drop(place.client_as(1).attach(0)),
            1 => {
                let client = place.client_as(1);
                call(&client.attach(0).1).unwrap();
            }
            // Half-way: nobody takes the answers.
            2 => half_greeted(&place.home.guest_socket()),
            _ => place.client_as(1).channel.send(&attach(), &[]).unwrap(),
        }
        if round % 500 == 0 {
            let administrator = place.client();
            call(&administrator.attach(0).1).unwrap();
            assert!(administrator.status().connections >= 2);
        }
    }
    let begin = Instant::now();
    loop {
        owner.cards_until(settled);
        let after = [held(daemon.child.id()), held(card)];
        if after == before {
            break;
        }
        assert!(begin.elapsed() < common::PATIENCE, "{before:?} before, {after:?} after");
    }
    assert_eq!(owner.cards()[0].pid, card);
    // A row for each queue that there was at once, not for each that there ever was.
    let rows = std::fs::metadata(place.home.run().join("queues")).unwrap().len() / 64;
    assert!(rows < 1000, "{rows} rows");
}

/// A connection that is closed before its greeting is answered, with an attach behind it.
fn half_greeted(socket: &Path) {
    let channel = Channel::connect(socket).unwrap();
    let credential = Some(Credential([1; 32]));
    let hello = ClientRequest::Hello { version: CONTROL_VERSION, credential, completions: false };
    channel.send(&hello, &[]).unwrap();
    let _ = channel.send(&attach(), &[]);
}
