//! The sockets of a home: nobody administers it through the guests' one, whatever the user id, guests who take all that
//! they can keep no administrator out, and who comes to observe does nothing else.

use crate::common::{self, Client, Place, Refused, call, lacks_descriptors, ready, tenant};
use link::Channel;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use wire::control::{CONTROL_VERSION, ClientReply, ClientRequest, OfficerOrder, Refusal};
use wire::tenant::{Change, Credential};

/// What only an administrator may ask, and what changes nothing where it is refused.
fn orders() -> Vec<ClientRequest> {
    vec![
        ClientRequest::Change(Change::TenantSet(tenant("mine", 0, 7))),
        ClientRequest::Observe { card: 0 },
        ClientRequest::Backup { folder: "/nowhere".into() },
        ClientRequest::Officer(OfficerOrder::StartupKey),
        ClientRequest::Reload,
        ClientRequest::Shutdown { lose_keys: false },
    ]
}

fn credential(byte: u8) -> Option<Credential> {
    Some(Credential([byte; 32]))
}

#[test]
fn the_owners_user_id_is_a_guests_at_the_guests_socket() {
    let place = Place::with(|settings| {
        (settings.tenants, settings.tenant_number_next) = (vec![tenant("web", 1, 1)], 2);
    });
    let daemon = place.start();
    let guest = Client::greet(&place.home.guest_socket());
    let shown = Client::greet_as(&place.home.admin_socket(), credential(1)).unwrap();
    for order in orders() {
        assert_eq!(guest.refused(order.clone()), Refusal::Denied, "{order:?}");
        assert_eq!(shown.refused(order.clone()), Refusal::Denied, "{order:?} with a credential");
    }
    // Keys are used all the same.
    let (_, queue) = guest.attach(0);
    call(&queue).unwrap();
    // A change of the settings does not make anybody more.
    let owner = place.client();
    owner.done(ClientRequest::Reload);
    assert_eq!(guest.refused(ClientRequest::Reload), Refusal::Denied);
    assert_eq!(shown.refused(ClientRequest::Reload), Refusal::Denied);
    // The same orders are the administrator's to give.
    let mut orders = orders();
    let last = orders.pop().unwrap();
    for order in orders {
        let reply = owner.ask(order.clone());
        assert_ne!(reply, ClientReply::Refused(Refusal::Denied), "{order:?}");
    }
    owner.done(last);
    drop(daemon);
}

#[test]
fn only_the_owner_reaches_the_administrators_socket() {
    let place = Place::with(|settings| settings.access.users = vec!["nobody".into()]);
    let _daemon = place.start();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.home.admin_socket()), mode(&place.home.guest_socket())), (0o600, 0o666));
    // Clients of an earlier release are refused by name.
    let channel = Channel::connect(&place.home.earlier_socket()).unwrap();
    let hello = ClientRequest::Hello { version: CONTROL_VERSION - 1, credential: None, completions: false };
    channel.send(&hello, &[]).unwrap();
    let reply = channel.recv_timeout::<ClientReply>(common::PATIENCE).unwrap().0;
    assert!(matches!(reply, ClientReply::Refused(Refusal::Version { .. })), "{reply:?}");
}

#[test]
fn guests_who_take_all_connections_keep_no_administrator_out() {
    let place = Place::with(|settings| {
        settings.tenants =
            (1..=5).map(|number| tenant(&format!("t{number}"), number.into(), number)).collect();
        settings.tenant_number_next = 6;
    });
    if lacks_descriptors() {
        return;
    }
    let _daemon = place.start();
    let greet = |number| Client::greet_as(&place.home.guest_socket(), credential(number));
    let mut held = Vec::new();
    for number in 1..=5 {
        let refused = loop {
            match greet(number) {
                Ok(client) => held.push(client),
                Err(refused) => break refused,
            }
        };
        assert!(matches!(refused, Refusal::Full { .. }), "{refused}");
    }
    // Silent ones beside them, who never greet: as many as find a place in the backlog.
    let silent: Vec<Channel> =
        std::iter::from_fn(|| Channel::connect_now(&place.home.guest_socket()).ok()).take(2000).collect();
    let administrators: Vec<Client> = (0..8).map(|_| place.client()).collect();
    assert!(administrators.iter().all(|client| ready(&client.cards())));
    // All that one user may have, whatever credentials it shows.
    assert_eq!(held.len(), daemon::access::GUEST_USER_CONNECTIONS_MAX);
    drop((held, silent));
}

/// What those who watch are answered.
fn looks() -> Vec<ClientRequest> {
    vec![ClientRequest::Status, ClientRequest::Tenants { after: None }, ClientRequest::Observe { card: 0 }]
}

/// Every other message that a client can send.
fn other_orders() -> Vec<ClientRequest> {
    let label = wire::Label::new("SOME.KEY").unwrap();
    let more = vec![
        ClientRequest::Attach { card: 0, domain: 0, slots: 8, blocks: 0 },
        ClientRequest::Cards,
        ClientRequest::OpenLabel { label: label.clone() },
        ClientRequest::RecordList { store: None, pattern: "*".into(), after: None },
        common::calls::create("SOME.KEY", &[]),
    ];
    let orders = more.into_iter().chain(orders().into_iter().filter(|order| !looks().contains(order)));
    orders.collect()
}

#[test]
fn whoever_comes_to_observe_is_answered_nothing_else() {
    let place = Place::with(|settings| {
        (settings.tenants, settings.tenant_number_next) = (vec![tenant("web", 1, 1)], 2);
    });
    let daemon = place.start();
    // Even the owner, who may do all of it elsewhere.
    let owner = Client::greet(&place.home.observe_socket());
    for order in other_orders() {
        assert_eq!(owner.refused(order.clone()), Refusal::Denied, "{order:?}");
        let elsewhere = place.client().ask(order.clone());
        if order == (ClientRequest::Shutdown { lose_keys: false }) {
            assert_eq!(elsewhere, ClientReply::Done);
        } else {
            assert_ne!(elsewhere, ClientReply::Refused(Refusal::Denied), "{order:?}");
        }
    }
    drop((owner, daemon));
    let _daemon = place.start();
    let owner = Client::greet(&place.home.observe_socket());
    for look in looks() {
        let seen = owner.ask(look.clone());
        assert!(!matches!(seen, ClientReply::Refused(_)), "{look:?}: {seen:?}");
    }
    // A credential is for guests: it makes nobody an observer.
    let refused = Client::greet_as(&place.home.observe_socket(), credential(1)).err();
    assert_eq!(refused, Some(Refusal::Denied));
}

#[test]
fn an_observer_of_the_settings_watches_and_does_nothing_else() {
    let place = Place::with(|settings| {
        settings.access.observers = vec!["nobody".into()];
        settings.access.users = vec!["daemon".into()];
    });
    let _daemon = place.start();
    let Some([observer, guest]) = common::users(["nobody", "daemon"]) else { return };
    let at = |user, socket: &Path| common::as_user(user, || common::try_greet(socket));
    let (admin, guests, observe) =
        (place.home.admin_socket(), place.home.guest_socket(), place.home.observe_socket());
    assert_eq!(at(observer, &admin).err(), Some(Refused::Unreachable));
    assert_eq!(at(observer, &guests).err(), Some(Refused::By(Refusal::Denied)));
    assert_eq!(at(guest, &observe).err(), Some(Refused::By(Refusal::Denied)));
    let client = at(observer, &observe).unwrap();
    for order in other_orders() {
        assert_eq!(client.refused(order.clone()), Refusal::Denied, "{order:?}");
    }
    for look in looks() {
        let seen = client.ask(look.clone());
        assert!(!matches!(seen, ClientReply::Refused(_)), "{look:?}: {seen:?}");
    }
    // Once it is named no more, it is let in no more.
    place.change(|settings| settings.access.observers.clear());
    place.client().done(ClientRequest::Reload);
    assert!(client.channel.recv_timeout::<ClientReply>(common::PATIENCE).is_err());
    assert!(at(observer, &observe).is_err());
}
