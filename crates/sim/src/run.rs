//! One run from its seed.

use crate::fate::Fate;
use crate::oracle::Counts;
use crate::oracle::rights::Rights;
use crate::plan::{Plan, Role, Sabotage};
use crate::stage::Stage;
use home::{Development, Home, Programs, Settings};
use std::path::Path;
use std::sync::Arc;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationOutcome {
    /// The seed.
    pub seed: u64,
    /// Violations that were found; empty if there are none.
    pub findings: Vec<String>,
    /// Last log lines of the programs.
    pub said: Vec<String>,
    /// Steps taken.
    pub steps: u64,
    /// Simulated time of the run, in nanoseconds.
    pub ns: u64,
    /// All steps and their times, hashed: the same for the same seed.
    pub hash: u64,
    /// Counts of what happened in the run.
    pub counts: Counts,
}

impl SimulationOutcome {
    /// How this run of a seed differs from an earlier run of the same seed; none if both took the same steps.
    pub fn differs(&self, earlier: &Self) -> Option<String> {
        let told = |outcome: &Self| format!("{} steps, hash {:016x}", outcome.steps, outcome.hash);
        let is_same = (self.steps, self.hash) == (earlier.steps, earlier.hash);
        (!is_same).then(|| {
            let found = self.findings.join("; ");
            format!("run twice, it took {} and then {} {found}", told(earlier), told(self))
        })
    }
}

/// Runs a plan in a home of its own; with `trace`, says on standard error what happens.
///
/// # Errors
/// The system's error, before anything runs.
pub fn run(plan: Plan, trace: bool) -> std::io::Result<SimulationOutcome> {
    let base = folder()?;
    let folder = base.path().join("home");
    let this = std::env::current_exe()?;
    let programs = Programs { daemon: this.clone(), card: this, manifest: None };
    let mut settings = Settings::new(programs);
    settings.development = (!plan.loaded).then_some(Development { insecure_seed: 1 });
    settings.cards.coprocessors = plan.coprocessors;
    settings.cards.accelerators = plan.accelerators;
    settings.cards.poll = plan.poll;
    settings.tenant_number_next = plan.clients + 2;
    settings.quarantine = crate::oracle::quarantine::rules(&plan);
    if plan.sabotage == Some(Sabotage::ForgetsDeaths) {
        settings.quarantine.deaths = 0;
    }
    settings.roles = crate::oracle::rights::roles(&plan);
    settings.tenants = crate::tenants::told(&plan);
    Home::create(&folder, &settings).map_err(std::io::Error::other)?;

    let (seed, rights) = (plan.seed, Rights::new(&plan));
    if trace {
        eprintln!("{plan:?}");
    }
    let (stage, ended) = Stage::new(plan, trace);
    stage.state().oracle.rights = rights;
    stage.state().folder.clone_from(&folder);
    let fate = Fate::new(Arc::clone(&stage), folder);
    stage.start_process(Role::Fate, move || fate.run())?;
    stage.begin();
    // The sender lives in the stage, so this returns at the end of the last actor.
    let _ = ended.recv();
    stage.join();
    let mut state = stage.state();
    if state.oracle.findings.is_empty() {
        let plan = state.plan.clone();
        state.oracle.judge(&plan);
    }
    let hostile = &state.oracle.hostile;
    let (poisoned, quarantines) = (hostile.alone + hostile.in_company, hostile.quarantines());
    let counts = Counts { poisoned: poisoned.into(), quarantines: quarantines as u64, ..state.oracle.counts };
    let findings = std::mem::take(&mut state.oracle.findings);
    let said = if findings.is_empty() { Vec::new() } else { state.said.lines() };
    Ok(SimulationOutcome {
        seed,
        findings,
        said,
        steps: state.steps,
        ns: state.now_ns,
        hash: state.hash,
        counts,
    })
}

/// A folder in memory, if the system has one: durable writes of a home take long on a disk.
fn folder() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let named = tempfile::Builder::new().prefix("cryptand-sim-").tempdir_in(memory);
    named.or_else(|_| tempfile::Builder::new().prefix("cryptand-sim-").tempdir())
}
