//! A tenant whose requests kill cards: its behaviour, and what must hold for it.
//!
//! Its poisoned requests are known by their numbers, which no code under test can see. A card that runs one crashes.

use crate::oracle::{self, Class};
use crate::plan::Plan;
use crate::requests::hash;
use crate::stage::Stage;
use facility::{Facility, FacilityError, Options, Ticket};
use home::Quarantine;
use link::world;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::control::Refusal;
use wire::tenant::{ConfinedRow, Confinement};

/// Name of the tenant.
pub const NAME: &str = "hostile";
/// From the daemon's saying that it is refused to that no card takes anything of it, where nothing holds them up.
const TOLD_NS: u64 = 1_000_000_000;
/// How often a home without a daemon is tried again.
const RETRY: Duration = Duration::from_millis(50);
const TRIES: u32 = 400;
/// How often it looks for others whose requests may share a pass with its own.
const LOOKS: u32 = 200;
/// Poisoned requests that it has in flight at once, at the most.
const BURST_MAX: usize = 4;

/// When tenants of this plan are refused: after so many deaths, for so long.
pub fn rules(plan: &Plan) -> Quarantine {
    Quarantine { deaths: 1 + plan.seed as u32 % 3, window_s: 600, first_s: 4, longest_s: 20 }
}

/// Whether an error says that the tenant is in quarantine.
pub fn is_quarantine(error: &FacilityError) -> bool {
    matches!(
        error,
        FacilityError::Quarantined { .. }
            | FacilityError::Refused { refusal: Refusal::Quarantined { .. }, .. }
    )
}

/// What is known of the hostile tenant.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    poisoned: BTreeSet<u64>,
    /// Cards that died with poisoned requests and nothing else, and with others' beside.
    pub alone: u32,
    /// Cards that died with others' requests beside.
    pub in_company: u32,
    /// Quarantines that were seen, each with the time from which on nothing of it may run, and until when.
    seen: Vec<(u32, u64, u64)>,
}

impl Watched {
    /// A request of which cards die.
    pub fn poison(&mut self, number: u64) {
        self.poisoned.insert(number);
    }

    /// A card runs these requests: whether it dies of them.
    pub fn runs(&mut self, batch: &[u64]) -> bool {
        let poisoned = batch.iter().filter(|number| self.poisoned.contains(number)).count();
        match poisoned {
            0 => return false,
            count if count == batch.len() => self.alone += 1,
            _ => self.in_company += 1,
        }
        true
    }

    /// What is wrong with a poisoned request's running at this time, in a plan where nothing else goes wrong.
    pub fn wrong(&self, batch: &[u64], now_ns: u64) -> Option<String> {
        let number = batch.iter().find(|number| self.poisoned.contains(number))?;
        let in_quarantine = |(_, from, until): &&(u32, u64, u64)| (*from..*until).contains(&now_ns);
        let (quarantine, ..) = self.seen.iter().find(in_quarantine)?;
        Some(format!("request {number} ran in quarantine {quarantine} of its tenant"))
    }

    /// The daemon says this of it. What is wrong with that.
    pub fn seen(&mut self, row: &ConfinedRow, rules: &Quarantine, now_ns: u64) -> Option<String> {
        if row.confinement != Confinement::Refused {
            return None;
        }
        if row.name != NAME {
            return Some(format!("tenant {} is in quarantine, and ended no card", row.name));
        }
        let (said, expected) =
            (row.until_unix_s - row.since_unix_s, rules.span(row.quarantines - 1).as_secs());
        // Both ends are said in whole seconds.
        if !(expected..=expected + 1).contains(&said) {
            return Some(format!("quarantine {} is of {said} s instead of {expected}", row.quarantines));
        }
        if !self.seen.iter().any(|(quarantine, ..)| *quarantine == row.quarantines) {
            let until_ns = (row.until_unix_s - 1).saturating_sub(1_800_000_000) * 1_000_000_000;
            self.seen.push((row.quarantines, now_ns + TOLD_NS, until_ns));
        }
        None
    }

    /// How many quarantines were seen.
    pub fn quarantines(&self) -> usize {
        self.seen.len()
    }

    /// What is wrong with the number of cards that died, in a plan where nothing else goes wrong: each quarantine takes
    /// one more, and what cards had taken before they were told.
    pub fn judge(&self, plan: &Plan) -> Option<String> {
        let cards = plan.coprocessors + plan.accelerators;
        // A quarantine that was over before somebody looked is one, too.
        let most = rules(plan).deaths + (plan.hostile / 2 + 1) * (1 + cards);
        let (alone, seen) = (self.alone, self.quarantines());
        let is_too_many = alone > most || (alone > rules(plan).deaths + cards && seen == 0);
        is_too_many.then(|| {
            format!("{alone} cards died of a tenant's requests alone, which was refused {seen} times")
        })
    }
}

/// The tenant.
pub struct Hostile {
    stage: Arc<Stage>,
    folder: PathBuf,
    random: fastrand::Rng,
    /// Its number among the tenants.
    tenant: u32,
}

impl Hostile {
    /// One that decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: PathBuf, seed: u64, tenant: u32) -> Self {
        Self { stage, folder, random: fastrand::Rng::with_seed(seed), tenant }
    }

    /// Tries so often to end cards.
    pub fn run(mut self, tries: u32) {
        let credential = Some(crate::tenants::credential(self.tenant));
        let card_wait = Duration::from_secs(90);
        for _ in 0..tries {
            let options = Options { credential: credential.clone(), card_wait, ..Options::default() };
            let Some(facility) = self.open(&options) else { return };
            let is_refused = self.burst(&facility);
            drop(facility);
            self.look();
            let most_ms = if is_refused { 12_000 } else { 400 };
            world::sleep(Duration::from_millis(self.random.u64(1..most_ms)));
        }
    }

    fn open(&self, options: &Options) -> Option<Facility> {
        (0..TRIES).find_map(|_| {
            let opened = Facility::open(&self.folder, options.clone()).ok();
            if opened.is_none() {
                world::sleep(RETRY);
            }
            opened
        })
    }

    /// Sends poisoned requests, some with others of its own before them; whether one was refused.
    fn burst(&mut self, facility: &Facility) -> bool {
        let pid = world::pid();
        let mut sent = Vec::new();
        // It would be seen with others, where there are any.
        if self.random.bool() {
            for _ in 0..LOOKS {
                if self.stage.state().oracle.others_wait(pid) {
                    break;
                }
                world::sleep(Duration::from_micros(self.random.u64(1..200)));
            }
        }
        for _ in 0..self.random.usize(1..=BURST_MAX) {
            let is_poisoned = self.random.u32(0..4) != 0;
            let number = {
                let mut state = self.stage.state();
                let now_ns = state.now_ns;
                let number = state.oracle.begin(pid, Class::Pure, now_ns);
                if is_poisoned {
                    state.oracle.hostile.poison(number);
                }
                number
            };
            let text = oracle::mark(number);
            sent.push((number, facility.submit(0, &hash(&text))));
        }
        let mut is_refused = false;
        for (number, ticket) in sent {
            let result = ticket.and_then(Ticket::wait);
            is_refused |= result.as_ref().is_err_and(is_quarantine);
            let mut state = self.stage.state();
            state.say(|| format!("hostile request {number}: {:?}", result.as_ref().err()));
            state.oracle.given_up(number);
        }
        is_refused
    }

    /// What an administrator is shown.
    fn look(&self) {
        let Some(facility) = self.open(&Options::default()) else { return };
        let Ok(status) = facility.status() else { return };
        let mut state = self.stage.state();
        let (now_ns, rules) = (state.now_ns, rules(&state.plan));
        for row in &status.confined {
            if let Some(finding) = state.oracle.hostile.seen(row, &rules, now_ns) {
                return state.find(finding);
            }
        }
    }
}
