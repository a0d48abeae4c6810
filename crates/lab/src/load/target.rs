//! The targets of workloads: this process's engine, and if needed a home with its cards.
//!
//! A throw-away home is a development home in a temporary folder, with the weak algorithms that the
//! originals served, started through the same facility that any program uses. It is stopped and
//! removed when its [`Target`] is dropped; an interrupt ends the run first, so that this happens.

use crate::load::Bench;
use crate::load::requests::{Case, Maker, Request};
use crate::load::tenants::Tenants;
use crate::load::{
    Context, Interface, LabError, Load, LoadOutcome, Measurement, Refusal, Together, Tokens, Window,
    Workload, card, level_name, looped, measure, process_seconds,
};
use engine::{Engine, Options};
use facility::Facility;
use home::{Development, Home, Programs, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wire::control::{CardRow, LevelLimit, PollMode, Status};
use wire::tenant::Tenant;

/// How long a stopped home's processes may take to end.
const STOP_WAIT: Duration = Duration::from_secs(10);
/// The seed of throw-away homes: their master keys are known to anyone.
const SEED: u64 = 990;

/// The cards and settings of a throw-away home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Number of coprocessors; at least one is there, to make keys.
    pub coprocessors: usize,
    /// Number of accelerators.
    pub accelerators: usize,
    /// Level that the cards are held to; none for the machine's best.
    pub level: Option<LevelLimit>,
    /// How cards and callers wait.
    pub poll: PollMode,
    /// Processor that the cards are bound to; none leaves it to the system.
    pub processor: Option<u32>,
}

impl Needs {
    /// The home that a workload needs; none if it runs in the caller's thread alone.
    pub fn of(workload: &Workload) -> Option<Self> {
        use crate::load::operation::Operation;
        use wire::control::Personality::{Accelerator, Coprocessor};
        let verb = workload.operation.needs_card() || matches!(workload.operation, Operation::Rsa { .. });
        let cards = |personality| {
            let wanted = workload.interface == Interface::Card && workload.personality() == personality;
            if wanted { workload.cards } else { 0 }
        };
        match workload.interface {
            Interface::Native => None,
            Interface::Facility if !verb => None,
            _ => Some(Self {
                coprocessors: cards(Coprocessor).max(1),
                accelerators: cards(Accelerator),
                level: workload.level,
                ..Self::default()
            }),
        }
    }
}

impl Default for Needs {
    fn default() -> Self {
        Self { coprocessors: 1, accelerators: 0, level: None, poll: PollMode::Adaptive, processor: None }
    }
}

/// The engine of this process, and the home if there is one.
pub struct Target {
    engine: Engine,
    home: Option<Opened>,
    tokens: Tokens,
    tenants: Tenants,
    stop: Arc<AtomicBool>,
}

struct Opened {
    facility: Facility,
    throwaway: Option<TempDir>,
}

/// An engine with the weak algorithms that the originals served.
pub(crate) fn engine() -> Result<Engine, LabError> {
    Engine::new(Options { limit: None, weak_algorithms: true }).map_err(LabError::facility("make an engine"))
}

impl Target {
    /// This process's engine alone, weak algorithms on.
    ///
    /// # Errors
    /// [`LabError::Facility`] if the engine cannot be made.
    pub fn native(stop: Arc<AtomicBool>) -> Result<Self, LabError> {
        Ok(Self {
            engine: engine()?,
            home: None,
            tokens: Tokens::default(),
            tenants: Tenants::default(),
            stop,
        })
    }

    /// The home in a folder; its daemon is started if none runs. The target shows the credential that the environment
    /// names.
    ///
    /// # Errors
    /// [`LabError::Facility`].
    pub fn of_home(folder: &Path, stop: Arc<AtomicBool>) -> Result<Self, LabError> {
        let credential = facility::credential::from_environment()
            .map_err(LabError::facility("read the credential of this process"))?;
        let options = facility::Options { start_daemon: true, credential, ..Default::default() };
        let facility = open_with(folder, options)?;
        Ok(Self { home: Some(Opened { facility, throwaway: None }), ..Self::native(stop)? })
    }

    /// A throw-away home with running cards. Its programs lie beside the current one.
    ///
    /// # Errors
    /// [`LabError::Home`], [`LabError::Io`] where the programs are missing, [`LabError::Facility`]
    /// where the home does not start.
    pub fn throwaway(needs: &Needs, stop: Arc<AtomicBool>) -> Result<Self, LabError> {
        Self::throwaway_with(needs, stop, |_, _| Ok(()))
    }

    /// As [`Target::throwaway`], with other settings than those of `needs`. Files of these settings may be put into the
    /// folder, which is removed with the home.
    pub(crate) fn throwaway_with(
        needs: &Needs,
        stop: Arc<AtomicBool>,
        change: impl FnOnce(&Path, &mut Settings) -> Result<(), LabError>,
    ) -> Result<Self, LabError> {
        let target = Self::native(stop)?;
        let folder =
            TempDir::with_prefix("cryptand-lab-").map_err(LabError::io("make a temporary folder"))?;
        let mut settings = Settings::new(programs()?);
        settings.cards.coprocessors = needs.coprocessors.max(1) as u32;
        settings.cards.accelerators = needs.accelerators as u32;
        settings.cards.level = needs.level;
        settings.cards.poll = needs.poll;
        settings.cards.processors = needs.processor.map(|processor| vec![processor]);
        settings.weak_algorithms = true;
        settings.development = Some(Development { insecure_seed: SEED });
        change(folder.path(), &mut settings)?;
        let home = Home::create(&folder.path().join("home"), &settings)?;
        let options = facility::Options { start_daemon: true, poll: needs.poll, ..Default::default() };
        let facility = open_with(home.folder(), options)?;
        let home = Opened { facility, throwaway: Some(folder) };
        home.wait_ready(needs.coprocessors.max(1) + needs.accelerators)?;
        Ok(Self { home: Some(home), ..target })
    }

    /// Brings a throw-away home to these tenants; others stay, but give up cards of their own.
    ///
    /// # Errors
    /// [`Refusal::NoHome`]; [`LabError::Facility`] where a change is refused.
    pub(crate) fn bring(&mut self, tenants: &[Tenant]) -> Result<(), LabError> {
        let home = self.home.as_ref().ok_or(Refusal::NoHome)?;
        self.tenants.bring(&home.facility, tenants)
    }

    /// The options with which a tenant of [`Target::bring`] opens the home.
    pub(crate) fn options_as(&self, tenant: &str, options: facility::Options) -> facility::Options {
        facility::Options { credential: self.tenants.credential(tenant), ..options }
    }

    /// Opens the home as a tenant of [`Target::bring`].
    ///
    /// # Errors
    /// As [`Target::open_again`].
    pub(crate) fn open_as(&self, tenant: &str, options: facility::Options) -> Result<Facility, LabError> {
        self.open_again(self.options_as(tenant, options))
    }

    /// Writes the credential of a tenant of [`Target::bring`] into a file beside the home, which is removed with the
    /// home.
    ///
    /// # Errors
    /// [`LabError::Io`]; [`Refusal::NoHome`].
    pub(crate) fn write_credential(&self, tenant: &str) -> Result<PathBuf, LabError> {
        let credential = self.tenants.credential(tenant).ok_or(Refusal::NoHome)?;
        let path = self.folder().ok_or(Refusal::NoHome)?.with_file_name("credential");
        crate::load::tenants::write_credential(&credential, &path)?;
        Ok(path)
    }

    /// A target for a workload: the engine alone, or a throw-away home.
    ///
    /// # Errors
    /// As [`Target::throwaway`].
    pub fn for_workload(workload: &Workload, stop: Arc<AtomicBool>) -> Result<Self, LabError> {
        match Needs::of(workload) {
            None => Self::native(stop),
            Some(needs) => Self::throwaway(&needs, stop),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The facility of the home; none without a home.
    pub fn facility(&self) -> Option<&Facility> {
        self.home.as_ref().map(|home| &home.facility)
    }

    /// Folder of the home; none without a home.
    pub fn folder(&self) -> Option<&Path> {
        self.facility().map(|facility| facility.home().folder())
    }

    /// State of the home.
    ///
    /// # Errors
    /// [`LabError::Facility`]; [`Refusal::NoHome`].
    pub fn status(&self) -> Result<Status, LabError> {
        self.home.as_ref().ok_or(Refusal::NoHome)?.status()
    }

    /// Runs a workload.
    ///
    /// # Errors
    /// [`LabError::Refused`] where the workload makes no sense, or something does not serve it;
    /// [`LabError::WrongAnswer`]; [`LabError::Interrupted`]; whatever engine and facility say.
    pub fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError> {
        workload.check()?;
        if workload.peer {
            return Err(Refusal::Peer(workload.operation).into());
        }
        let status = match workload.interface {
            Interface::Native => None,
            _ => self.facility().map(|_| self.status()).transpose()?,
        };
        let cards = self.cards(workload, status.as_ref())?;
        self.check_level(workload, &cards)?;
        let processes = status.as_ref().map(Processes::of);
        let others = || processes.as_ref().map_or((0.0, 0.0), Processes::seconds);
        let context = Context { stop: &self.stop, others: &others, window: None };
        let facility = self.home.as_ref().map(|home| &home.facility);
        let outcome = measure(workload, &self.engine, facility, &cards, &mut self.tokens, context)?;
        let (level, lanes) = match cards.first() {
            Some(card) => (card.level.clone(), card.lanes as usize),
            None => (self.engine.level().name().to_owned(), crate::load::lanes(&self.engine, workload)),
        };
        Ok(Measurement::new(workload, &outcome, &level, lanes))
    }

    /// Runs loads at the same time, each through its facility.
    ///
    /// # Errors
    /// As [`Target::run`].
    pub(crate) fn together(&mut self, loads: &[Load<'_>]) -> Result<Together, LabError> {
        let processes = Processes::of(&self.status()?);
        self.together_within(None, loads, &|| processes.seconds())
    }

    /// As [`Target::together`], counted within a window; `others` is called at the start and at the end of the counted
    /// time.
    ///
    /// # Errors
    /// As [`Target::run`].
    pub(crate) fn together_within(
        &mut self,
        window: Option<Window>,
        loads: &[Load<'_>],
        others: &(dyn Fn() -> (f64, f64) + Sync),
    ) -> Result<Together, LabError> {
        let home = &self.home.as_ref().ok_or(Refusal::NoHome)?.facility;
        let context = Context { stop: &self.stop, others, window };
        for load in loads {
            on_card(load.workload).check()?;
        }
        card::measure_together(loads, &self.engine, home, &mut self.tokens, context)
    }

    /// The cases of a workload's requests for other programs; empty if the operation has none.
    ///
    /// # Errors
    /// As [`Target::run`].
    pub(crate) fn cases(&mut self, workload: &Workload) -> Result<Vec<Case>, LabError> {
        let mut cases = Vec::new();
        for job in 0..workload.jobs {
            cases.extend(self.request_of(workload, job)?.case().cloned());
        }
        Ok(cases)
    }

    /// The request of a workload's first job.
    ///
    /// # Errors
    /// As [`Target::run`].
    pub(crate) fn request(&mut self, workload: &Workload) -> Result<Request, LabError> {
        self.request_of(workload, 0)
    }

    fn request_of(&mut self, workload: &Workload, job: usize) -> Result<Request, LabError> {
        let home = &self.home.as_ref().ok_or(Refusal::NoHome)?.facility;
        Maker::new(&self.engine, home, &mut self.tokens).request(workload, job)
    }

    /// Keeps a workload's jobs in flight from an event loop of `facility` for each thread. A loop `sleeps` while no
    /// answer is ready, or looks again at once.
    ///
    /// # Errors
    /// As [`Target::run`].
    pub(crate) fn looped(
        &mut self,
        facility: &Facility,
        workload: &Workload,
        sleeps: bool,
    ) -> Result<LoadOutcome, LabError> {
        let processes = Processes::of(&self.status()?);
        let others = || processes.seconds();
        let home = &self.home.as_ref().ok_or(Refusal::NoHome)?.facility;
        let context = Context { stop: &self.stop, others: &others, window: None };
        on_card(workload).check()?;
        looped::measure(workload, &self.engine, facility, home, &mut self.tokens, context, sleeps)
    }

    /// The home once more, opened as another program of it would.
    ///
    /// # Errors
    /// [`Refusal::NoHome`]; [`LabError::Facility`].
    pub(crate) fn open_again(&self, options: facility::Options) -> Result<Facility, LabError> {
        open_with(self.folder().ok_or(Refusal::NoHome)?, options)
    }

    /// The first cards of the personality that are ready, as many as are asked for.
    fn cards(&self, workload: &Workload, status: Option<&Status>) -> Result<Vec<CardRow>, LabError> {
        if workload.interface != Interface::Card {
            return Ok(Vec::new());
        }
        let status = status.ok_or(Refusal::NoHome)?;
        let personality = workload.personality();
        let fit = |card: &&CardRow| card.personality == personality && card.state.serves();
        let mut cards: Vec<CardRow> = status.cards.iter().filter(fit).cloned().collect();
        if cards.len() < workload.cards {
            let (asked, ready) = (workload.cards, cards.len());
            return Err(Refusal::TooFewCards { personality, asked, ready }.into());
        }
        cards.truncate(workload.cards);
        Ok(cards)
    }

    /// Checks that the level asked for is the level in use: of the engine's own code and the bound library, or of the
    /// cards.
    fn check_level(&self, workload: &Workload, cards: &[CardRow]) -> Result<(), LabError> {
        let Some(asked) = workload.level.map(level_name) else { return Ok(()) };
        let refuse = |got| Err(Refusal::Level { asked, got }.into());
        match workload.interface {
            Interface::Card => match cards.iter().find(|card| card.level != asked) {
                Some(card) => refuse(card.level.clone()),
                None => Ok(()),
            },
            _ => match self.engine.library_level().max(self.engine.level()).name() {
                got if got == asked => Ok(()),
                got => refuse(got.to_owned()),
            },
        }
    }
}

impl Bench for Target {
    fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError> {
        Target::run(self, workload)
    }

    fn level(&self) -> String {
        self.engine.level().name().to_owned()
    }
}

impl Opened {
    fn status(&self) -> Result<Status, LabError> {
        self.facility.status().map_err(LabError::facility("ask for the state of the home"))
    }

    fn wait_ready(&self, cards: usize) -> Result<(), LabError> {
        let end = Instant::now() + STOP_WAIT;
        loop {
            let status = self.status()?;
            let ready = status.cards.iter().filter(|card| card.state.serves()).count();
            if ready >= cards {
                return Ok(());
            }
            if Instant::now() > end {
                let cause = format!("{ready} of {cards} cards are ready");
                return Err(LabError::Facility { what: "start the cards of a throw-away home", cause });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.throwaway.is_none() {
            return;
        }
        let pids: Vec<u32> =
            self.facility.status().map(|status| Processes::of(&status).all()).unwrap_or_default();
        // A daemon that does not answer has ended; the folder is removed in any case.
        let _ = self.facility.shutdown(true);
        let end = Instant::now() + STOP_WAIT;
        while pids.iter().any(|pid| alive(*pid)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether a process runs; a zombie does not.
fn alive(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The workload with the interface of cards, to be checked.
fn on_card(workload: &Workload) -> Workload {
    Workload { interface: Interface::Card, ..workload.clone() }
}

fn open_with(folder: &Path, options: facility::Options) -> Result<Facility, LabError> {
    Facility::open(folder, options).map_err(LabError::facility("open the home"))
}

/// The programs of a home: those installed with this one.
pub(crate) fn programs() -> Result<Programs, LabError> {
    beside("find cryptand-daemon and cryptand-card beside this program", Programs::beside)
}

/// The command `cryptand` of this installation.
pub(crate) fn command() -> Result<PathBuf, LabError> {
    beside("find cryptand beside this program", |own| home::program_beside(own, "cryptand"))
}

fn beside<T>(what: &'static str, find: impl Fn(&Path) -> Option<T>) -> Result<T, LabError> {
    let own = std::env::current_exe().map_err(LabError::io("find this program"))?;
    let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, own.display().to_string());
    find(&own).ok_or_else(missing).map_err(LabError::io(what))
}

/// The processes of a home.
pub(crate) struct Processes {
    daemon: u32,
    keeper: Option<u32>,
    cards: Vec<u32>,
}

impl Processes {
    pub fn of(status: &Status) -> Self {
        Self {
            daemon: status.daemon_pid,
            keeper: status.keeper_pid,
            cards: status.cards.iter().map(|card| card.pid).collect(),
        }
    }

    /// Processor time of the daemon and of all cards so far.
    pub fn seconds(&self) -> (f64, f64) {
        let of = |pid: &u32| process_seconds(*pid).unwrap_or(0.0);
        (of(&self.daemon), self.cards.iter().map(of).sum())
    }

    fn all(&self) -> Vec<u32> {
        self.cards.iter().copied().chain([self.daemon]).chain(self.keeper).collect()
    }
}
