//! Tenants that cards have died with: their requests share no pass with others', or are refused, as their grants say.

use crate::common::*;
use std::time::Instant;
use wire::Verb;
use wire::control::{CardOrder, PollMode};
use wire::frame::Outcome;
use wire::grant::Grant;
use wire::tenant::Confinement;

const SUSPECT: u32 = 7;
const OTHER: u32 = 8;

/// Two tenants, the first held to this, each with so many requests that come at once; in how large batches each of them
/// was answered.
fn fills(confinement: Confinement, each: usize) -> [Vec<u32>; 2] {
    let (_keeper, mut card) = coprocessor();
    let clients = [(SUSPECT, confinement), (OTHER, Confinement::None)].map(|(tenant, confinement)| {
        let grant = Grant { tenant, account: tenant, confinement, ..card.grant(EVERYTHING) };
        card.attach_with(grant, 64)
    });
    card.pause_asleep();
    let sent = clients
        .each_ref()
        .map(|client| (0..each).map(|_| client.submit(Verb::Null as u16, &[])).collect::<Vec<_>>());
    card.program.go_on();
    let deadline = Some(Instant::now() + PATIENCE);
    let mut of_client = clients.iter().zip(&sent).map(|(client, sent)| {
        let fill = |request| {
            let header =
                client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply");
            assert_eq!(header.outcome, Outcome::Answered);
            header.batch_fill
        };
        sent.iter().map(fill).collect::<Vec<u32>>()
    });
    let fills = [of_client.next(), of_client.next()].map(Option::unwrap_or_default);
    drop(of_client);
    // A pass is over when the next order is answered.
    card.order(CardOrder::Resume);
    assert!(card.samples().roster().queues.is_empty());
    card.stop();
    fills
}

#[test]
fn a_suspect_s_requests_share_no_pass_with_others() {
    // They do else.
    let shared = fills(Confinement::None, 8);
    assert!(shared.iter().flatten().all(|fill| *fill == 16), "{shared:?}");
    let apart = fills(Confinement::Apart, 8);
    assert!(apart.iter().flatten().all(|fill| *fill <= 8), "{apart:?}");
}

#[test]
fn a_tenant_in_quarantine_is_refused_and_served_again_when_it_is_over() {
    let (_keeper, mut card) = coprocessor();
    let grant = Grant { tenant: SUSPECT, account: SUSPECT, ..card.grant(EVERYTHING) };
    let (suspect, other) = (card.attach_with(grant.clone(), 64), card.attach());
    let held_to = |confinement| {
        let grant = Grant { confinement, ..grant.clone() };
        card.program.channel.send(&CardOrder::Regrant { grant }, &[]).expect("an order");
        // What was ordered before is done when this is answered.
        card.order(CardOrder::Resume);
        assert_eq!(other.outcome(&NULL), Outcome::Answered);
        suspect.outcome(&NULL)
    };
    assert_eq!(held_to(Confinement::None), Outcome::Answered);
    assert_eq!(held_to(Confinement::Refused), Outcome::Quarantined);
    assert_eq!(held_to(Confinement::Apart), Outcome::Answered);
    assert_eq!(held_to(Confinement::Refused), Outcome::Quarantined);
    assert_eq!(held_to(Confinement::None), Outcome::Answered);
}
