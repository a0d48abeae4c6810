//! A whole installation for one test: a throw-away home, the real daemon, its real cards.
//!
//! The programs are those that were built beside the tests, unchanged:
//! a test causes faults from outside, with signals, full disks and bytes.
#![forbid(unsafe_code)]

pub mod hostile;
pub mod load;
pub mod part;
pub mod pins;
pub mod poison;
pub mod raw;

use facility::clear::{Clear, ClearKey};
use facility::{Facility, FacilityError, Options, Reply, Ticket};
use home::{Development, Home, Programs, Settings};
use link::PidFd;
use rustix::process::{Pid, Signal};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wire::control::{CardRow, CardState, Status};
use wire::verb::{
    Filled, MacFormat, MacMethod, PkaOutput, PkaTokenKind, PkaUsage, Room, Segment, TypedAsk,
    clear_key_import, mac_generate, null, pka_key_generate, pka_key_token_build,
};

/// The number that every test home derives its master keys from.
pub const SEED: u64 = 7;
/// How long a test waits for something that must happen, on a machine however slow.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How long its requests wait for a card that was killed.
const CARD_WAIT: Duration = Duration::from_secs(60);

/// A program that was built beside the tests.
///
/// # Panics
/// If it was not built.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let path = test.ancestors().nth(2).expect("tests lie in a folder below the programs").join(name);
    assert!(path.exists(), "{} is missing: build it first, with `cargo build --release`", path.display());
    path
}

/// Copies a program. Another process does: a child that another test makes meanwhile would hold the copy open for
/// writing, and nobody could execute it.
///
/// # Panics
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status().expect("cp can be executed");
    assert!(copied.success(), "{} is not copied", from.display());
}

/// Settings of a test home: these cards, weak algorithms on, known master keys.
pub fn settings(coprocessors: u32, accelerators: u32) -> Settings {
    let programs =
        Programs { daemon: program("cryptand-daemon"), card: program("cryptand-card"), manifest: None };
    let mut settings = Settings::new(programs);
    settings.cards.coprocessors = coprocessors;
    settings.cards.accelerators = accelerators;
    settings.weak_algorithms = true;
    settings.development = Some(Development { insecure_seed: SEED });
    settings
}

/// A home and its daemon; both are gone when it is dropped.
pub struct Installation {
    base: TempDir,
    /// The home.
    pub home: Home,
    daemon: Option<Child>,
}

impl Installation {
    /// A home with these cards, and its daemon, ready.
    ///
    /// # Panics
    /// If any of it fails.
    pub fn new(coprocessors: u32, accelerators: u32) -> Self {
        let mut installation = Self::stopped(&settings(coprocessors, accelerators));
        installation.start();
        installation
    }

    /// A home without a daemon.
    ///
    /// # Panics
    /// If the home cannot be made.
    pub fn stopped(settings: &Settings) -> Self {
        Self::stopped_with(|_beside| settings.clone())
    }

    /// A home without a daemon, with settings that may need files in the folder beside it.
    ///
    /// # Panics
    /// If the home cannot be made.
    pub fn stopped_with(settings: impl FnOnce(&Path) -> Settings) -> Self {
        let base = tempfile::tempdir().expect("a temporary folder");
        let settings = settings(base.path());
        let home = Home::create(&base.path().join("home"), &settings).expect("a new home");
        Self { base, home, daemon: None }
    }

    /// A folder beside the home.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Starts a daemon, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start(&mut self) {
        if let Err(said) = self.try_start() {
            panic!("the daemon did not start: {said}");
        }
    }

    /// Starts a daemon, and waits until it is ready or has ended; then what it said.
    ///
    /// # Errors
    /// Its exit status and everything it wrote to standard error.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn try_start(&mut self) -> Result<(), String> {
        self.start_by(Command::new(program("cryptand-daemon")))
    }

    /// Starts a daemon that is told of a file grown beyond its limit by an error, as a full disk
    /// does, and not by a signal that ends it.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_without_size_signal(&mut self) {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program("cryptand-daemon"));
        if let Err(said) = self.start_by(shell) {
            panic!("the daemon did not start: {said}");
        }
    }

    /// Starts a daemon by a command that runs its program in some other way, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_as(&mut self, command: Command) {
        if let Err(said) = self.start_by(command) {
            panic!("the daemon did not start: {said}");
        }
    }

    /// As [`Installation::try_start`], by a command that runs the program in some other way.
    ///
    /// # Errors
    /// As [`Installation::try_start`].
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn try_start_as(&mut self, command: Command) -> Result<(), String> {
        self.start_by(command)
    }

    fn start_by(&mut self, mut command: Command) -> Result<(), String> {
        let said = self.beside("daemon.said");
        let file = std::fs::File::create(&said).expect("a file beside the home");
        let mut child = command
            .arg("--home")
            .arg(self.home.folder())
            .args(["--ready-fd", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .expect("the daemon can be executed");
        let mut ready = [0; 1];
        let mut pipe = child.stdout.take().expect("a pipe was asked for");
        if pipe.read(&mut ready).unwrap_or(0) == 1 {
            self.daemon = Some(child);
            return Ok(());
        }
        let status = child.wait().expect("a child can be waited for");
        Err(format!("{status}: {}", std::fs::read_to_string(said).unwrap_or_default()))
    }

    /// The daemon's process.
    ///
    /// # Panics
    /// If there is none.
    pub fn daemon_pid(&self) -> u32 {
        self.daemon.as_ref().expect("the daemon was started").id()
    }

    /// Kills the daemon, as the kernel would when memory runs out. Its cards live on.
    ///
    /// # Panics
    /// If there is none.
    pub fn kill_daemon(&mut self) {
        let mut daemon = self.daemon.take().expect("the daemon was started");
        daemon.kill().expect("the daemon is ours");
        daemon.wait().expect("a child can be waited for");
    }

    /// Waits until the daemon, which was told to stop, has ended.
    ///
    /// # Panics
    /// If there is none.
    pub fn wait_stopped(&mut self) {
        let mut daemon = self.daemon.take().expect("the daemon was started");
        let status = daemon.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}");
    }

    /// A facility of this home.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn facility(&self) -> Facility {
        let options = Options { card_wait: CARD_WAIT, ..Options::default() };
        Facility::open(self.home.folder(), options).expect("the daemon serves the home")
    }

    /// Waits until something holds of the installation's state, asking the daemon.
    ///
    /// # Panics
    /// If it does not within [`PATIENCE`].
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Status) -> bool) -> Status {
        let facility = self.facility();
        let end = Instant::now() + PATIENCE;
        loop {
            let status = facility.status().expect("the daemon answers");
            if holds(&status) {
                return status;
            }
            assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}; {status:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until every card is ready and there is a keeper.
    ///
    /// # Panics
    /// If they do not become ready.
    pub fn until_ready_with_keeper(&self) -> Status {
        self.until("every card is ready, and there is a keeper", |status| {
            status.keeper_pid.is_some()
                && !status.registers.is_empty()
                && status.cards.iter().all(|card| card.state == CardState::Ready)
        })
    }

    /// Waits until every card is ready.
    ///
    /// # Panics
    /// If they do not become ready.
    pub fn until_ready(&self) -> Vec<CardRow> {
        self.until("every card is ready", |status| {
            !status.cards.is_empty() && status.cards.iter().all(|card| card.state == CardState::Ready)
        })
        .cards
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let mut daemon = self.daemon.take();
        if let Some(pid) = daemon.as_ref().and_then(|daemon| Pid::from_raw(daemon.id() as i32)) {
            // A test that failed may have left it stopped.
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
        // A daemon takes its cards with it; one that was killed left them behind, for the next one.
        let left_any = !self.home.stopped_path().exists();
        let shut_down = || {
            if left_any && Facility::open(self.home.folder(), Options::default()).is_err() {
                facility::start_daemon(&self.home)?;
            }
            Facility::open(self.home.folder(), Options::default())?.shutdown(true)
        };
        if shut_down().is_err()
            && let Some(daemon) = &mut daemon
        {
            let _ = daemon.kill();
            let _ = daemon.wait();
            let _ = shut_down();
        }
        if let Some(mut daemon) = daemon {
            let _ = daemon.wait();
        }
    }
}

/// Kills a process.
///
/// # Panics
/// If it may not be killed.
pub fn kill(pid: u32) {
    if let Ok(process) = PidFd::open(pid) {
        process.kill().expect("the process is ours");
        let _ = process.wait_dead(Some(PATIENCE));
    }
}

/// Stops a process, or lets it go on.
///
/// # Panics
/// If there is no such process of ours.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process has a number");
    rustix::process::kill_process(pid, signal).expect("the process is ours");
}

/// The clear value of the key that [`mac_key`] imports.
pub const CLEAR_KEY: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF];

/// A DES data key of the value [`CLEAR_KEY`], as a token under the home's master key.
///
/// # Panics
/// If the card does not import it.
pub fn mac_key(facility: &Facility) -> Vec<u8> {
    try_mac_key(facility).expect("a card imports keys")
}

/// As [`mac_key`], where the daemon may be away.
///
/// # Errors
/// [`FacilityError`] of the call.
///
/// # Panics
/// If a card refuses to import it.
pub fn try_mac_key(facility: &Facility) -> Result<Vec<u8>, FacilityError> {
    let reply =
        facility.ask(0, &clear_key_import::Ask { clear_key: &CLEAR_KEY, ..clear_key_import::Ask::new() })?;
    assert!(reply.codes().has_output(), "Clear_Key_Import: {}", reply.codes());
    Ok(reply.got().target_key_identifier.to_vec())
}

/// Sends a request of domain 0 and returns without waiting for its answer.
///
/// # Errors
/// As [`Facility::submit`].
pub fn submit(facility: &Facility, ask: &impl TypedAsk) -> Result<Ticket, FacilityError> {
    facility.submit(0, &ask.arguments(&mut Filled::default()))
}

/// A request for the X9.9 MAC of a text; the key is a token or the field of a label.
pub fn mac_request<'a>(key: &'a [u8], text: &'a [u8]) -> mac_generate::Ask<'a> {
    mac_generate::Ask {
        key_identifier: key.into(),
        text,
        method: Some(MacMethod::X99),
        segment: Some(Segment::Only),
        format: Some(MacFormat::Bytes8),
        chaining_vector: Some(&[0; 18]),
        ..mac_generate::Ask::new()
    }
}

/// The MAC that [`mac_request`] has to make, computed with the clear key in this process.
///
/// # Panics
/// If the engine does not work.
pub fn expected_mac(text: &[u8]) -> [u8; 8] {
    // Made once: it tests itself.
    static CLEAR: OnceLock<Clear> = OnceLock::new();
    let options = engine::Options { limit: None, weak_algorithms: true };
    let clear = CLEAR.get_or_init(|| Clear::new(engine::Engine::new(options).expect("the engine works")));
    let mut mac = [0; 8];
    clear
        .mac(b"X9.9-1  MACLEN8 ", ClearKey::Bytes(&CLEAR_KEY), &mut [0; 16], text, &mut mac)
        .expect("the request is well formed");
    mac
}

/// The MAC in a reply.
///
/// # Panics
/// If the verb did not make one.
pub fn mac_of(reply: &impl AsRef<Reply>) -> [u8; 8] {
    let reply = reply.as_ref();
    assert!(reply.codes().has_output(), "MAC_Generate: {}", reply.codes());
    reply.arguments().bytes(mac_generate::MAC)[..8].try_into().expect("eight bytes")
}

/// A skeleton for an RSA key of this many bits, which signs and deciphers data.
///
/// # Panics
/// If the card does not build it.
pub fn rsa_skeleton(facility: &Facility, bits: u16) -> Vec<u8> {
    rsa_skeleton_for(facility, bits, PkaUsage::KeyManagement)
}

/// As [`rsa_skeleton`], of a key with this usage keyword.
///
/// # Panics
/// If the card does not build it.
pub fn rsa_skeleton_for(facility: &Facility, bits: u16, usage: PkaUsage) -> Vec<u8> {
    // RSA-CRT: bits, n, e length, reserved, p, q, dp, dq, U lengths, then e.
    let mut values = Vec::new();
    for halfword in [bits, 0, 3, 0, 0, 0, 0, 0, 0] {
        values.extend_from_slice(&halfword.to_be_bytes());
    }
    values.extend_from_slice(&[1, 0, 1]);
    let ask = pka_key_token_build::Ask {
        usage: Some(usage),
        key_values_structure: &values,
        token: 3500,
        ..pka_key_token_build::Ask::new(PkaTokenKind::Crt)
    };
    let reply = facility.ask(0, &ask).expect("a card builds tokens");
    assert!(reply.codes().has_output(), "PKA_Key_Token_Build: {}", reply.codes());
    reply.got().token.to_vec()
}

/// A request for a new RSA key of this skeleton, under the home's master key.
pub fn rsa_generate(skeleton: &[u8]) -> pka_key_generate::Ask<'_> {
    pka_key_generate::Ask {
        output: Some(PkaOutput::Master),
        skeleton_key_token: skeleton.into(),
        transport_key_identifier: (&[0; 64]).into(),
        generated_key_identifier: Room::of(3500),
        ..pka_key_generate::Ask::new()
    }
}

/// Processor time that a process has used.
///
/// # Panics
/// If there is no such process.
pub fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    // After the name, which may hold anything: state is field 3, user and system time 14 and 15.
    let fields = stat.rsplit_once(')').expect("a name in brackets").1.split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

/// The request that costs nothing.
pub fn null() -> null::Ask<'static> {
    null::Ask::new()
}
