//! The two sockets of a home: nobody administers it through the guests' one, whatever the user id, and guests who take
//! all that they can keep no administrator out.

mod common;

use common::{Client, Place, call, raise_descriptor_limit, ready, tenant};
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
        ClientRequest::Shutdown,
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
    raise_descriptor_limit();
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
    assert!(held.len() > 1500, "{}", held.len());
    drop((held, silent));
}
