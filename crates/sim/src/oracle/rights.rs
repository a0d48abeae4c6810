//! What must hold for the rights of tenants, which an officer takes away and gives back while clients use them.
//!
//! The right that changes is that of enciphering: by the tenant's role, against which cards check every request, or by
//! the allowed uses of its labels, which are beside each token in the key table.

use crate::plan::{Plan, Sabotage};
use home::{PointItem, RoleSettings};
use std::collections::BTreeMap;
use wire::pattern::{LabelPattern, LabelRule};
use wire::role::OWNER;
use wire::tenant::Tenant;
use wire::uses::Uses;

/// A role that permits everything but to encipher.
const NARROW: &str = "narrow";
/// Longest time from a change of a role until every card knows it, if nothing delays daemon and cards, in nanoseconds.
const GONE_NS: u64 = 1_000_000_000;
/// Longest time from a change of a role if daemon or cards die, are stopped, or lack memory: a new daemon tells the
/// cards.
const GONE_LATE_NS: u64 = 60_000_000_000;

/// The right of a tenant to encipher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Right {
    /// The tenant may do everything.
    #[default]
    All,
    /// The tenant's role lacks the point of enciphering.
    NoPoint,
    /// Keys under labels do not encipher.
    NoUse,
}

impl Right {
    /// A random right.
    pub fn drawn(random: &mut fastrand::Rng) -> Self {
        [Self::All, Self::NoPoint, Self::NoUse][random.usize(0..3)]
    }

    /// Whether the right permits to encipher with a key under a label, or with a token.
    fn permits(self, by_label: bool) -> bool {
        match self {
            Self::All => true,
            Self::NoPoint => false,
            Self::NoUse => !by_label,
        }
    }

    fn apply(self, tenant: &mut Tenant) {
        tenant.role = Some(if self == Self::NoPoint { NARROW } else { OWNER }.into());
        tenant.labels.clear();
        if self == Self::NoUse {
            let others = Uses::NAMES.iter().map(|(_, uses)| *uses);
            let uses = others.filter(|uses| !uses.contains(Uses::ENCIPHER)).fold(Uses::NONE, Uses::union);
            tenant.labels.push(LabelRule { pattern: LabelPattern::every(), uses });
        }
    }
}

/// The rights of the tenants, as far as the officer who changes them was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// By tenant: its right, and when the right was set, none for the beginning of the run. None while the right is
    /// being changed.
    tenants: BTreeMap<u32, Option<(Right, Option<u64>)>>,
}

impl Rights {
    /// The rights of a plan's tenants at the beginning.
    pub fn new(plan: &Plan) -> Self {
        let tenants = (0..plan.clients).map(|tenant| (tenant, Some((first(plan, tenant), None))));
        Self { tenants: tenants.collect() }
    }

    /// Notes that the right of a tenant is being changed.
    pub fn begin(&mut self, tenant: u32) {
        self.tenants.insert(tenant, None);
    }

    /// Notes that the tenant has this right from now on.
    pub fn done(&mut self, tenant: u32, right: Right, now_ns: u64) {
        self.tenants.insert(tenant, Some((right, Some(now_ns))));
    }

    /// Whether a request to encipher that was begun then, and is over now, had to be permitted; none if either is
    /// right, since the tenant's right changed meanwhile.
    pub fn permits(&self, plan: &Plan, tenant: Option<u32>, begun_ns: u64, by_label: bool) -> Option<bool> {
        let Some(known) = tenant.and_then(|tenant| self.tenants.get(&tenant)) else { return Some(true) };
        let (right, since_ns) = (*known)?;
        let after_ns = if plan.is_steady() { GONE_NS } else { GONE_LATE_NS };
        let counts = since_ns.is_none_or(|since_ns| begun_ns >= since_ns + after_ns);
        counts.then(|| right.permits(by_label))
    }
}

/// The roles of the home's settings beside those that every home has.
pub fn roles(plan: &Plan) -> Vec<RoleSettings> {
    let deny = match plan.sabotage {
        Some(Sabotage::ForgetsRights) => Vec::new(),
        _ => PointItem::new("encipher").into_iter().collect(),
    };
    let (name, base) = (NARROW.to_owned(), Some(OWNER.to_owned()));
    vec![RoleSettings { name, base, allow: Vec::new(), deny, labels: Vec::new() }]
}

/// The right of a tenant at the beginning of a run.
pub fn first(plan: &Plan, tenant: u32) -> Right {
    if plan.rights == 0 {
        return Right::All;
    }
    Right::drawn(&mut fastrand::Rng::with_seed(plan.seed ^ u64::from(tenant) ^ 0x0051_6475))
}

/// The tenant as the settings have it, with this right.
pub fn with(mut tenant: Tenant, right: Right) -> Tenant {
    right.apply(&mut tenant);
    tenant
}
