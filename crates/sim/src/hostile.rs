//! A tenant whose requests kill cards: a card that runs a poisoned one crashes.

use crate::oracle::quarantine::{is_quarantine, rules};
use crate::oracle::{self, Class};
use crate::requests::hash;
use crate::stage::Stage;
use facility::{Facility, Options, Ticket};
use link::world;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often a home without a daemon is tried again.
const RETRY: Duration = Duration::from_millis(50);
const TRIES: u32 = 400;
/// How often the tenant looks for others whose requests may share a pass with its own.
const LOOKS: u32 = 200;
/// Upper bound of poisoned requests in flight at once.
const BURST_MAX: usize = 4;

/// A hostile tenant's program.
pub struct Hostile {
    stage: Arc<Stage>,
    folder: PathBuf,
    random: fastrand::Rng,
    /// Number of the tenant.
    tenant: u32,
}

impl Hostile {
    /// A hostile program that decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: PathBuf, seed: u64, tenant: u32) -> Self {
        Self { stage, folder, random: fastrand::Rng::with_seed(seed), tenant }
    }

    /// Tries this many times to end cards.
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
        // The hostile requests are to share a pass with requests of others, if there are any.
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
            sent.push((number, hash(&text, |request| facility.submit(0, request))));
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

    /// Looks at the quarantine that an administrator is shown, and reports it to the oracle.
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
