//! The officer who changes what tenants may do while clients use it.

use crate::oracle::rights::{Right, with};
use crate::plan::Sabotage;
use crate::stage::Stage;
use crate::tenants;
use facility::{Facility, FacilityError, Options};
use link::world;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::tenant::{Change, Tenant};

/// How often a refused or unanswered request is tried again.
const TRIES: u32 = 400;
const RETRY: Duration = Duration::from_millis(50);

/// A program of the home's owner that changes what tenants may do.
pub struct RightsOfficer {
    stage: Arc<Stage>,
    folder: PathBuf,
    random: fastrand::Rng,
}

impl RightsOfficer {
    /// An officer of the home in this folder who decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: PathBuf, seed: u64) -> Self {
        Self { stage, folder, random: fastrand::Rng::with_seed(seed) }
    }

    /// Makes this many changes, one after the other.
    pub fn run(mut self, changes: u32) {
        for _ in 0..changes {
            world::sleep(Duration::from_micros(self.random.u64(1..3_000_000)));
            let plan = self.stage.state().plan.clone();
            let number = self.random.u32(0..plan.clients);
            let right = Right::drawn(&mut self.random);
            let Some(tenant) = tenants::all(&plan).into_iter().nth(number as usize) else { return };
            self.stage.state().oracle.rights.begin(number);
            if self.change(with(tenant, right)).is_none() {
                return;
            }
            let mut state = self.stage.state();
            let now_ns = state.now_ns;
            state.oracle.rights.done(number, right, now_ns);
            state.say(|| format!("tenant t{number} may do {right:?}"));
        }
    }

    /// Has the daemon set a tenant, with repetition; none if no daemon answers for long.
    fn change(&self, tenant: Tenant) -> Option<()> {
        if self.stage.state().sabotages(Sabotage::KeepsRights) {
            return Some(());
        }
        for _ in 0..TRIES {
            let change = Change::TenantSet(tenant.clone());
            let set: Result<(), FacilityError> = Facility::open(&self.folder, Options::default())
                .and_then(|facility| facility.change(change).map(drop));
            if set.is_ok() {
                return Some(());
            }
            world::sleep(RETRY);
        }
        None
    }
}
