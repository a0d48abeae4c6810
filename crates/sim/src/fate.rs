//! The actor that causes faults: it starts daemons, kills, suspends and resumes processes, changes settings,
//! makes time jump and memory run out. At the end it checks that nothing is left over.

use crate::outside::{OtherHost, Records};
use crate::plan::{Role, Sabotage};
use crate::stage::Stage;
use crate::{oracle, programs};
use facility::{Facility, FacilityError, Options};
use home::Home;
use link::{Accounts, CardAccounts, world};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::bounds::TENANTS_MAX;
use wire::control::{CardState, Refusal, Store};
use wire::tenant::Change;

/// How long everything may take once nothing goes wrong any more: longer than all waits together.
const PATIENCE: Duration = Duration::from_secs(600);
/// Shortest time between two looks of fate, in nanoseconds.
const LOOK_NS: u64 = 30_000_000;
/// Longest time that a stopped process stays stopped, in nanoseconds.
const STOPPED_NS_MAX: u64 = 4_000_000_000;

/// How often an operator resumes cards that another operator left quiesced.
const ROUND: Duration = Duration::from_secs(60);

/// The actor that causes faults.
pub struct Fate {
    stage: Arc<Stage>,
    folder: PathBuf,
    clients: Vec<usize>,
    reloads: u32,
    /// The key store that another host changes; none if the home uses its own.
    records: Option<Arc<Records>>,
    looked_after: Instant,
    /// The keeper that an officer was last sent to, to load the home's key.
    loaded: Option<usize>,
}

impl Fate {
    /// The fate of the home in this folder.
    pub fn new(stage: Arc<Stage>, folder: PathBuf) -> Self {
        let plan = stage.state().plan.clone();
        let reloads = plan.reloads;
        let records = if plan.outside > 0 { Records::new().ok() } else { None };
        Self {
            stage,
            folder,
            clients: Vec::new(),
            reloads,
            records,
            looked_after: world::now(),
            loaded: None,
        }
    }

    /// Runs the whole simulation to its end.
    pub fn run(mut self) {
        let (clients, tasks, seed) = {
            let state = self.stage.state();
            (state.plan.clients, state.plan.tasks, state.plan.seed)
        };
        self.watch_daemon();
        for number in 0..clients {
            let (stage, folder) = (Arc::clone(&self.stage), self.folder.clone());
            let tenant = crate::plan::is_tenant(seed).then_some(number);
            let client = crate::client::Client::new(stage, folder, seed ^ (u64::from(number) << 40), tenant);
            if let Ok(index) = self.stage.start_process(Role::Client, move || client.run(tasks)) {
                self.clients.push(index);
                let mut state = self.stage.state();
                let (pid, limits) = (state.processes[index].pid, crate::tenants::limits(&state.plan, number));
                limits.into_iter().for_each(|limits| state.oracle.limit(pid, limits));
            }
        }
        let changes = self.stage.state().plan.master_keys;
        if changes > 0 {
            let officer = crate::officer::Officer::new(Arc::clone(&self.stage), self.folder.clone(), !seed);
            let _ = self.stage.start_process(Role::Officer, move || officer.run(changes));
        }
        let changes = self.stage.state().plan.rights;
        if changes > 0 {
            let (stage, folder) = (Arc::clone(&self.stage), self.folder.clone());
            let officer = crate::rights::RightsOfficer::new(stage, folder, seed ^ 0x5197);
            let _ = self.stage.start_process(Role::Officer, move || officer.run(changes));
        }
        let (tries, tenant) = {
            let state = self.stage.state();
            (state.plan.hostile, state.plan.clients)
        };
        if tries > 0 {
            let (stage, folder) = (Arc::clone(&self.stage), self.folder.clone());
            let hostile = crate::hostile::Hostile::new(stage, folder, seed ^ 0xBAD, tenant);
            let _ = self.stage.start_process(Role::Hostile, move || hostile.run(tries));
        }
        let changes = self.stage.state().plan.outside;
        if let Some(records) = &self.records {
            let other =
                OtherHost::new(Arc::clone(&self.stage), &self.folder, Arc::clone(records), seed ^ 0x07E2);
            let _ = self.stage.start_process(Role::Officer, move || other.run(changes));
        }
        let begin = world::now();
        while !self.clients_are_gone() {
            self.look_around();
            if world::elapsed(begin) > PATIENCE {
                let mut state = self.stage.state();
                let standing = state.standing();
                return state.find(format!("clients wait without end: {standing}"));
            }
            let span_ns = self.stage.state().random.u64(1..LOOK_NS);
            world::sleep(Duration::from_nanos(span_ns));
        }
        self.stage.state().plan.faults = 0;
        self.stage.state().scarce_until_ns = 0;
        if let Err(finding) = self.settle() {
            self.stage.state().find(finding);
        }
    }

    fn clients_are_gone(&self) -> bool {
        let state = self.stage.state();
        let is_awaited = |role| matches!(role, Role::Officer | Role::Hostile);
        if state.processes.iter().any(|process| is_awaited(process.role) && !process.dead) {
            return false;
        }
        self.clients.iter().all(|client| state.processes[*client].dead)
    }

    fn running(&self, role: Role) -> Option<usize> {
        let state = self.stage.state();
        state.processes.iter().position(|process| process.role == role && !process.dead)
    }

    /// Starts a daemon where none runs.
    fn watch_daemon(&self) {
        if self.running(Role::Daemon).is_none() {
            let (folder, records) = (self.folder.clone(), self.records.clone());
            let start = move || programs::daemon(&folder, records.as_ref());
            let _ = self.stage.start_process(Role::Daemon, start);
        }
    }

    fn look_around(&mut self) {
        self.watch_daemon();
        let mut state = self.stage.state();
        let now_ns = state.now_ns;
        for index in 0..state.processes.len() {
            let since_ns = state.processes[index].stopped_ns.map(|since_ns| now_ns - since_ns);
            if since_ns.is_some_and(|ns| ns > STOPPED_NS_MAX)
                || (since_ns.is_some() && state.random.u32(0..20) == 0)
            {
                state.resume(index);
            }
        }
        if state.plan.scarcity && state.random.u32(0..10) == 0 && state.plan.spend(Role::Fate) {
            state.scarce_until_ns = now_ns + state.random.u64(1_000_000..300_000_000);
        }
        if state.plan.jumps && state.random.u32(0..30) == 0 && state.plan.spend(Role::Fate) {
            let span_ns = state.random.u64(1_000_000..25_000_000_000);
            state.oracle.disturbed();
            state.say(|| format!("time jumps by {} ms", span_ns / 1_000_000));
            state.now_ns += span_ns;
        }
        let reloads = self.reloads > 0 && state.random.u32(0..12) == 0;
        let loads = state.plan.loaded && (self.loaded.is_none() || state.random.u32(0..60) == 0);
        drop(state);
        if loads {
            self.send_officer();
        }
        if world::elapsed(self.looked_after) > ROUND && self.running(Role::Operator).is_none() {
            self.looked_after = world::now();
            self.look_after_cards();
        }
        if reloads && self.running(Role::Operator).is_none() {
            self.reloads -= 1;
            let stops = {
                let mut state = self.stage.state();
                // Keys that an officer loads would have to be loaded again before anything is answered.
                !state.plan.loaded && state.random.u32(0..5) == 0
            };
            if stops { self.stop_home() } else { self.change_settings() }
        }
    }

    /// Has an officer load the key into the keeper, if this is not the keeper of last time.
    fn send_officer(&mut self) {
        let keeper = self.running(Role::Keeper);
        if keeper.is_none() || keeper == self.loaded || self.running(Role::Officer).is_some() {
            return;
        }
        self.loaded = keeper;
        let officer = crate::officer::Officer::new(Arc::clone(&self.stage), self.folder.clone(), 0);
        let _ = self.stage.start_process(Role::Officer, move || officer.load());
    }

    /// Stops the home, as an operator would who starts it again.
    fn stop_home(&self) {
        let mut state = self.stage.state();
        state.oracle.disturbed();
        state.say(|| "the home is stopped".to_owned());
        drop(state);
        let folder = self.folder.clone();
        let _ = self.stage.start_process(Role::Operator, move || {
            if let Ok(facility) = Facility::open(&folder, Options::default()) {
                let _ = facility.shutdown(true);
            }
        });
    }

    /// Changes the number of cards, or how they wait, as an operator would.
    fn change_settings(&self) {
        let Ok(home) = Home::open(&self.folder) else { return };
        let Ok(mut settings) = home.settings() else { return };
        {
            let mut state = self.stage.state();
            state.oracle.disturbed();
            match state.random.u32(0..4) {
                0 => settings.cards.coprocessors = state.random.u32(1..5),
                1 => settings.cards.accelerators = state.random.u32(0..3),
                2 => settings.cards.separate_tenants = !settings.cards.separate_tenants,
                _ => settings.cards.domains = state.random.u16(1..3),
            }
            state.say(|| format!("the settings become {:?}", settings.cards));
        }
        let folder = self.folder.clone();
        let changes = {
            let mut state = self.stage.state();
            let plan = state.plan.clone();
            let changes = crate::tenants::changes(&plan, &mut state.random);
            if state.random.bool() { changes } else { Vec::new() }
        };
        let _ = self.stage.start_process(Role::Operator, move || {
            if !changes.is_empty() {
                for change in changes {
                    if let Ok(facility) = Facility::open(&folder, Options::default()) {
                        let _ = facility.change(change);
                        world::sleep(Duration::from_millis(5));
                    }
                }
                return;
            }
            if home.write_settings(&settings).is_ok()
                && let Ok(facility) = Facility::open(&folder, Options::default())
            {
                let _ = facility.reload();
            }
        });
    }

    /// An operator who was cut short leaves a card quiesced: another resumes it, since clients would wait for
    /// it, with each request as long as they wait for any card.
    fn look_after_cards(&self) {
        let folder = self.folder.clone();
        let _ = self.stage.start_process(Role::Operator, move || {
            if let Ok(facility) = Facility::open(&folder, Options::default()) {
                resume_quiesced(&facility);
            }
        });
    }

    /// Ends all faults, and checks that resources are given back and that every process can be ended.
    fn settle(&mut self) -> Result<(), String> {
        {
            let mut state = self.stage.state();
            for index in 0..state.processes.len() {
                state.resume(index);
            }
        }
        // An operator may be about to stop the home: who is asked before that is gone when he is asked again.
        let operators = || {
            self.watch_daemon();
            let state = self.stage.state();
            state.processes.iter().all(|process| process.dead || process.role != Role::Operator).then_some(())
        };
        self.until("the end of every operator", operators)?;
        let facility = self.until("a daemon", || {
            self.watch_daemon();
            Facility::open(&self.folder, Options::default()).ok()
        })?;
        let mut last = String::new();
        let cleared = self.until("all cards ready, and no queue of those who left", || {
            // An operator who died may have told the daemon to stop, and it has not read so before it answers.
            self.watch_daemon();
            let cards = facility.cards().ok()?;
            last = cards
                .iter()
                .map(|card| format!("; {} {:?} {}", card.index, card.state, card.queues))
                .collect();
            resume_quiesced(&facility);
            let is_clear = |card: &wire::control::CardRow| card.state.serves() && card.queues == 0;
            cards.iter().all(is_clear).then_some(())
        });
        cleared.map_err(|finding| finding + &last)?;
        self.until("no connection of those who left", || {
            self.watch_daemon();
            (facility.status().ok()?.connections == 1).then_some(())
        })?;
        self.check_records(&facility)?;
        self.check_accounts(&facility)?;
        if self.stage.state().plan.loaded {
            self.check_keys_are_kept(&facility)?;
        }
        facility.shutdown(true).map_err(|error| format!("the daemon does not stop: {error}"))?;
        drop(facility);
        let others = || {
            let state = self.stage.state();
            state.processes.iter().all(|process| process.dead || process.role == Role::Fate).then_some(())
        };
        self.until("the end of every process", others)?;
        check_home(&self.folder)
    }

    /// Checks that a home whose keys an officer loaded, and sealed nowhere, says so, and does not stop unless it is
    /// told to lose them.
    fn check_keys_are_kept(&self, facility: &Facility) -> Result<(), String> {
        crate::officer::Officer::new(Arc::clone(&self.stage), self.folder.clone(), 0).load();
        self.until("keys in no sealed copy", || {
            facility.status().ok()?.registers.iter().any(|row| !row.is_sealed).then_some(())
        })?;
        match facility.shutdown(false) {
            Err(FacilityError::Refused { refusal: Refusal::NotSealed { .. }, .. }) => {}
            done => {
                return Err(format!("keys are in no sealed copy, and the daemon is told to stop: {done:?}"));
            }
        }
        let registers = facility.status().map_err(|error| format!("the status: {error}"))?.registers;
        if registers.iter().all(|row| row.is_sealed) {
            return Err("a stop that was refused took the keys".to_owned());
        }
        self.stage.state().oracle.counts.kept += 1;
        Ok(())
    }

    fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
        let begin = world::now();
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if world::elapsed(begin) > PATIENCE {
                return Err(format!("waited in vain for {what}: {}", self.stage.state().standing()));
            }
            world::sleep(Duration::from_millis(50));
        }
    }

    /// Checks that no tenant has a request in flight on any card, and that each card's counts by tenant and by verb
    /// agree.
    fn check_accounts(&self, facility: &Facility) -> Result<(), String> {
        let home = Home::open(&self.folder).map_err(|error| error.to_string())?;
        let accounts = Accounts::open(&home.accounts()).map_err(|error| format!("the accounts: {error}"))?;
        if self.stage.state().plan.sabotage == Some(Sabotage::KeepsInFlight)
            && let Ok(fd) = accounts.for_card()
            && let Ok(mut card) = CardAccounts::join(fd.as_fd(), 0)
        {
            card.add(0, 1);
        }
        let mut left = Vec::new();
        let empty = || {
            let found = (0..TENANTS_MAX as u32).map(|account| (account, accounts.in_flight(account)));
            left = found.filter(|(_, requests)| *requests != 0).collect();
            left.is_empty().then_some(())
        };
        let emptied = self.until("accounts of nothing in flight", empty);
        emptied.map_err(|finding| format!("{finding}; {left:?}"))?;
        for card in facility.cards().map_err(|error| error.to_string())? {
            let observed = facility.observe(card.index);
            let observed =
                observed.map_err(|error| format!("a card that is ready has no records: {error}"))?;
            if !observed.is_of(&card) {
                return Err(format!("the records of card {} are of another process", card.index));
            }
            self.stage.state().oracle.counts.observed += 1;
            let snapshot = observed.snapshot();
            let of_verbs: u64 = snapshot.verbs.iter().map(|(_, row)| row.counts.requests).sum();
            let of_tenants = snapshot.total.counts.requests;
            if of_tenants != of_verbs {
                let index = card.index;
                return Err(format!("card {index}: {of_tenants} requests of tenants, {of_verbs} of verbs"));
            }
        }
        Ok(())
    }

    /// Checks that acknowledged records exist, and that records whose request did not run do not.
    fn check_records(&self, facility: &Facility) -> Result<(), String> {
        let records = self.stage.state().oracle.records();
        for (number, expected) in records {
            let found = facility.record_read(Store::Des, &oracle::label(number)).is_ok();
            if found != expected {
                let is = if found { "there" } else { "not there" };
                return Err(format!("the record of request {number} is {is}, against what was answered"));
            }
        }
        Ok(())
    }
}

fn resume_quiesced(facility: &Facility) {
    for card in facility.cards().unwrap_or_default() {
        if card.state == CardState::Quiescing {
            let _ = facility.change(Change::CardResume { card: card.index });
        }
    }
}

/// Checks that a stopped home has no socket left.
fn check_home(folder: &Path) -> Result<(), String> {
    let run = folder.join("run");
    let entries = std::fs::read_dir(&run).map_err(|error| format!("{}: {error}", run.display()))?;
    for entry in entries.flatten() {
        use std::os::unix::fs::FileTypeExt;
        if entry.file_type().is_ok_and(|kind| kind.is_socket()) {
            return Err(format!("{} is left behind", entry.path().display()));
        }
    }
    Ok(())
}
