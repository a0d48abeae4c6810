//! The program: its arguments, its instruction-set level, and the steps from its start to its first request.
//!
//! ```text
//! arguments -> level (one execution of itself) -> start message -> memories and sockets
//!   -> processors, clock, entropy, engine -> sandbox -> self-tests -> ready -> requests
//! ```
//! Nothing else is taken from the environment, and nothing from files.

use crate::control::{Control, Identity};
use crate::held::Waits;
use crate::keeper::{self, Keeper};
use crate::lanes::Lanes;
use crate::life::Life;
use crate::serve::{End, Memories, Server};
use crate::start::{self, StartError};
use cca::Processor;
use confine::sandbox::SandboxError;
use confine::{arena, sandbox};
use engine::{Engine, Level, Options};
use link::Channel;
use std::path::Path;
use std::process::ExitCode;
use wire::bounds::PREPARED_KEYS_BYTES;
use wire::control::{
    CONTROL_VERSION, CardNotice, CardStart, CardState, Isolation, LEVEL_VARIABLE, LevelLimit, SecretMemory,
    SecretPages, UnknownLevel,
};

const HELP: &str = "\
A card of Cryptand. It is started by cryptand-daemon, not by hand: descriptor 3 is its control
channel.

Usage: cryptand-card [--keeper | --keeper-at PATH | --version | --help]

  --keeper   hold the master keys of a home instead of serving requests
  --keeper-at PATH
             get the master keys from the keeper that listens there: cards of a system service
  --version  show the version
  --help     show this text

CRYPTAND_LEVEL names the highest instruction-set level that it may use: portable, avx2 or avx512.
";

/// Exit codes besides 0, which is the end that the daemon ordered.
mod exit {
    /// The arguments are not valid.
    pub const USAGE: u8 = 2;
    /// The card could not begin: the reason was sent to the daemon, or written to standard error.
    pub const START: u8 = 3;
    /// A self-check of the card failed.
    pub const SELF_CHECK: u8 = 4;
}

/// Why a card or the keeper failed before its first request.
#[derive(Debug)]
enum Failure {
    Channel(std::io::Error),
    Start(StartError),
    Keeper(keeper::StartError),
    Level(UnknownLevel),
    Execute(std::io::Error),
    Engine(engine::EngineError),
    Sandbox(SandboxError),
    SelfTest(cca::SelfTestFailure),
    Waits(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(cause) => write!(
                f,
                "descriptor 3 is not a control channel ({cause}); this program is started by cryptand-daemon"
            ),
            Self::Start(cause) => cause.fmt(f),
            Self::Keeper(cause) => cause.fmt(f),
            Self::Level(cause) => cause.fmt(f),
            Self::Execute(cause) => write!(f, "executing this program again with its level: {cause}"),
            Self::Engine(cause) => cause.fmt(f),
            Self::Sandbox(cause) => cause.fmt(f),
            Self::SelfTest(cause) => cause.fmt(f),
            Self::Waits(why) => write!(f, "what the answers of this card wait for: {why}"),
        }
    }
}

/// Runs the program with these arguments (without its name).
pub fn main(arguments: &[String]) -> ExitCode {
    main_with(arguments, |_| Ok(None))
}

/// As [`main`], for cards whose answers are held by rules. `load` gives the rules; it runs before the sandbox and may
/// read files. If it fails, the card ends with that reason.
pub fn main_with(
    arguments: &[String],
    load: impl Fn(&CardStart) -> Result<Option<Box<dyn Waits>>, String>,
) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run_alone = |level| run_card(level, None, &load);
    let keeper_at = match arguments.as_slice() {
        ["--keeper-at", path] => Some(Path::new(*path)),
        _ => None,
    };
    let run_served = |level| run_card(level, keeper_at, &load);
    let role: &dyn Fn(Option<Level>) -> Result<ExitCode, Failure> = match arguments.as_slice() {
        [] => &run_alone,
        ["--keeper-at", _] => &run_served,
        ["--keeper"] => &run_keeper,
        ["--version"] => {
            let version = env!("CARGO_PKG_VERSION");
            let said = format_args!("cryptand-card {version}\ncontrol protocol {CONTROL_VERSION}\n");
            return saying::answer("cryptand-card", said);
        }
        ["--help"] => {
            return saying::answer("cryptand-card", format_args!("{HELP}"));
        }
        _ => {
            eprint!("cryptand-card: unknown arguments {arguments:?}\n\n{HELP}");
            return ExitCode::from(exit::USAGE);
        }
    };
    // From here on the frames of functions lie in the arena as well.
    match arena::on_arena_stack(|| level().and_then(role)) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("cryptand-card: {failure}");
            ExitCode::from(exit::START)
        }
    }
}

/// The level that the environment names. The bound library chooses its own level once, when it is loaded. If the
/// library does not know of the limit yet, the program executes itself again, once, with the library's variable.
fn level() -> Result<Option<Level>, Failure> {
    let limit = LevelLimit::from_variable(std::env::var_os(LEVEL_VARIABLE).as_deref());
    let level = match limit.map_err(Failure::Level)? {
        None => return Ok(None),
        Some(LevelLimit::Portable) => Level::Portable,
        Some(LevelLimit::Avx2) => Level::Avx2,
        Some(LevelLimit::Avx512) => Level::Avx512,
    };
    let Some((variable, value)) = engine::level_environment(level) else { return Ok(Some(level)) };
    if std::env::var_os(variable).is_some_and(|present| present == value) {
        return Ok(Some(level));
    }
    use std::os::unix::process::CommandExt;
    // `exec` returns only if it failed. The arguments are known by now.
    let cause = std::process::Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .env(variable, value)
        .exec();
    Err(Failure::Execute(cause))
}

fn open_channel() -> Result<Channel, Failure> {
    let descriptor = sandbox::inherited_socket().map_err(|cause| Failure::Channel(cause.into()))?;
    Channel::from_fd(descriptor).map_err(Failure::Channel)
}

/// Opens the engine, and does what later calls would do once and lazily, and what the sandbox forbids: seeding the
/// random generator, measuring the clock's rate, finding the kernel's shared page.
fn open_engine(level: Option<Level>, weak_algorithms: bool) -> Result<Engine, Failure> {
    let engine = Engine::new(Options { limit: level, weak_algorithms }).map_err(Failure::Engine)?;
    engine.random(&mut [0; 32]);
    link::tsc_per_us();
    rustix::thread::sched_getcpu();
    rustix::param::page_size();
    Ok(engine)
}

/// Makes timed sleeps end on time, not up to 50 us later as in ordinary processes (timer slack).
fn wake_in_time() {
    // If the kernel refuses, sleeps are longer by that much.
    let _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
}

/// Maps the memory that prepared keys take beyond the region's part for them, and returns how many bytes they may take
/// in all. Where the region could not be locked as a whole, its part is smaller in proportion.
fn make_room_for_keys(wanted_bytes: u64) -> usize {
    let wanted = usize::try_from(wanted_bytes).unwrap_or(usize::MAX);
    let region_bytes = arena::report().region_bytes as u64;
    let part = region_bytes.saturating_mul(PREPARED_KEYS_BYTES as u64) / arena::ARENA_BYTES as u64;
    let part = usize::try_from(part).unwrap_or(usize::MAX).min(PREPARED_KEYS_BYTES);
    let further = wanted.saturating_sub(PREPARED_KEYS_BYTES);
    let added = if further == 0 { 0 } else { arena::add(further) };
    wanted.min(part + added)
}

/// Enters the sandbox, and returns how this process is confined.
fn enter_sandbox() -> Result<Isolation, Failure> {
    let entered = sandbox::enter().map_err(Failure::Sandbox)?;
    let report = arena::report();
    let pages = match report.region {
        Some(arena::PageKind::Secret) => SecretPages::Secret,
        Some(arena::PageKind::Locked) => SecretPages::Locked,
        Some(arena::PageKind::Plain) | None => SecretPages::Unlocked,
    };
    let memory = SecretMemory {
        pages,
        bytes: report.region_bytes as u64,
        wanted_bytes: report.wanted_bytes as u64,
        limit_bytes: report.limit_bytes,
    };
    let missing = confine::lacks(&entered).into_iter().map(str::to_owned).collect();
    Ok(Isolation { missing, landlock_abi: entered.landlock_abi, memory: Some(memory) })
}

fn run_card(
    level: Option<Level>,
    keeper_at: Option<&Path>,
    load: &impl Fn(&CardStart) -> Result<Option<Box<dyn Waits>>, String>,
) -> Result<ExitCode, Failure> {
    let channel = open_channel()?;
    match begin_card(level, &channel, keeper_at, load) {
        Ok((mut server, parts)) => {
            let mut control =
                Control::new(channel, parts.keeper, parts.listener, parts.identity, parts.views);
            if server.await_registers(&mut control).is_break() {
                return Ok(ExitCode::SUCCESS);
            }
            control.ready();
            match server.run(&mut control) {
                End::Stopped => {
                    server.zeroize();
                    Ok(ExitCode::SUCCESS)
                }
                End::SelfCheck => {
                    server.zeroize();
                    server.life.fail();
                    server.status.set_state(CardState::Failed);
                    control.failed("a result did not pass its own check and was withheld".to_owned());
                    Ok(ExitCode::from(exit::SELF_CHECK))
                }
            }
        }
        // No failure of the card's own is reported: the daemon starts the card again.
        Err(failure @ Failure::Start(StartError::Keeper { .. })) => Err(failure),
        Err(failure) => {
            let _ = channel.try_send(&CardNotice::Failed { why: failure.to_string() }, &[]);
            Err(failure)
        }
    }
}

/// The parts that a card's control channels are made of.
struct ControlParts {
    keeper: Option<Channel>,
    listener: link::Listener,
    identity: Identity,
    views: [std::os::fd::OwnedFd; 2],
}

fn begin_card(
    level: Option<Level>,
    channel: &Channel,
    keeper_at: Option<&Path>,
    load: &impl Fn(&CardStart) -> Result<Option<Box<dyn Waits>>, String>,
) -> Result<(Server, ControlParts), Failure> {
    let parts = start::receive_in(channel, keeper_at).map_err(Failure::Start)?;
    let waits = load(&parts.start).map_err(Failure::Waits)?;
    wake_in_time();
    start::bind_to_processors(&parts.start).map_err(Failure::Start)?;
    let engine = open_engine(level, parts.start.weak_algorithms)?;
    let lanes = Lanes::of_engine(&engine);
    let user = keeper_at.is_none().then(|| rustix::process::geteuid().as_raw());
    let prepared_bytes = make_room_for_keys(parts.start.prepared_keys_bytes);
    let mut life = Life::new();
    let isolation = enter_sandbox()?;
    let level = engine.level().name().to_owned();
    let mut processor = Processor::new(engine, parts.start.domains);
    processor.set_token_forms(parts.start.tokens);
    processor.set_prepared_bytes(prepared_bytes);
    if let Err(cause) = processor.self_test() {
        parts.status.set_state(CardState::Failed);
        return Err(Failure::SelfTest(cause));
    }
    let _ = life.tested();
    parts.status.set_state(life.state());
    let identity = Identity { level, lanes: lanes.most(parts.start.personality) as u32, isolation, user };
    let start::Parts { start, doorbell, listener, status, keys, accounts, samples, views, keeper } = parts;
    let memories = Memories { status, doorbell, keys, accounts, samples };
    let server = Server::new(start, life, memories, processor, lanes, waits);
    Ok((server, ControlParts { keeper, listener, identity, views }))
}

fn run_keeper(level: Option<Level>) -> Result<ExitCode, Failure> {
    let channel = open_channel()?;
    let start = keeper::receive(&channel).map_err(Failure::Keeper)?;
    let engine = open_engine(level, false)?;
    let user = rustix::process::geteuid().as_raw();
    let isolation = enter_sandbox()?;
    Processor::new(engine, 1).self_test().map_err(Failure::SelfTest)?;
    Keeper::new(engine, start, channel, isolation, user).run();
    Ok(ExitCode::SUCCESS)
}
