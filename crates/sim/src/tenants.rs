//! Tenants of a run: each client has one, with limits; an operator changes tenants and cards.

use crate::oracle::quarantine::NAME;
use crate::oracle::rights::{first, with};
use crate::plan::{Plan, Sabotage, is_tenant};
use sha2::{Digest, Sha256};
use wire::control::{Personality, PollMode};
use wire::tenant::{CardChange, Change, Credential, Limits, Tenant};

/// The credential of this client's tenant.
pub fn credential(number: u32) -> Credential {
    Credential([number as u8 + 1; 32])
}

/// The tenants of all clients, with limits of this plan.
pub fn all(plan: &Plan) -> Vec<Tenant> {
    let mut random = fastrand::Rng::with_seed(plan.seed ^ 0x7E4A_0717);
    (0..plan.clients).map(|number| tenant(number, plan.limited, &mut random)).collect()
}

/// The tenants as the home's settings hold them at the beginning.
pub fn told(plan: &Plan) -> Vec<Tenant> {
    let first = |(number, tenant)| with(tenant, first(plan, number));
    let mut tenants: Vec<_> = (0..).zip(all(plan)).map(first).collect();
    if plan.hostile > 0 {
        let plain = tenant(plan.clients, false, &mut fastrand::Rng::with_seed(plan.seed));
        tenants.push(Tenant { name: NAME.into(), ..plain });
    }
    if plan.sabotage == Some(Sabotage::ForgetsLimits) {
        tenants.iter_mut().for_each(|tenant| tenant.limits = Limits::default());
    }
    tenants
}

/// The limits that a client's requests are held to throughout; none if the client shows no tenant, or if the tenant may
/// be changed.
pub fn limits(plan: &Plan, client: u32) -> Option<Limits> {
    let tenant = all(plan).into_iter().nth(client as usize)?;
    (is_tenant(plan.seed) && plan.reloads == 0).then_some(tenant.limits)
}

fn tenant(number: u32, limited: bool, random: &mut fastrand::Rng) -> Tenant {
    let hash = Sha256::digest(credential(number).0);
    let mut limits = Limits { weight: random.u32(1..5), ..Limits::default() };
    if limited {
        let mut limit = |of: u32| if random.bool() { random.u32(1..of) } else { 0 };
        limits.in_flight_max = limit(12);
        limits.in_flight_per_card_max = limit(8);
        limits.per_second_max = limit(4_000).max(20) * u32::from(number.is_multiple_of(2));
    }
    Tenant {
        credential_sha256: Some(hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some(wire::role::OWNER.into()),
        limits,
        also_shared: true,
        ..Tenant::new(format!("t{number}"), number + 1)
    }
}

/// Random changes of an operator: a quiesced card is resumed by the next change.
pub fn changes(plan: &Plan, random: &mut fastrand::Rng) -> Vec<Change> {
    let card = random.u32(0..plan.coprocessors + plan.accelerators);
    let change = CardChange {
        personality: [None, Some(Personality::Coprocessor), Some(Personality::Accelerator)]
            [random.usize(0..3)],
        poll: [None, Some(PollMode::Sleep), Some(PollMode::Adaptive)][random.usize(0..3)],
        processors: None,
        level: None,
    };
    match random.u32(0..5) {
        0 | 1 => vec![Change::TenantSet(tenant(random.u32(0..plan.clients), plan.limited, random))],
        2 => vec![Change::CardQuiesce { card }, Change::CardResume { card }],
        3 => vec![Change::CardSet { card, change }],
        _ => vec![Change::CardAdd(change), Change::CardRemove { card }],
    }
}
