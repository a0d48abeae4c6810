//! Plays the daemon: starts the real programs on socket pairs, attaches queues, calls verbs.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub mod thread;

use link::{
    Accounts, CardQueue, Channel, ChannelError, ClientParts, ClientQueue, Doorbell, InFlight, KeyTable,
    Listener, PidFd, QueueMemory, Samples, SamplesView, StatusPage, StatusView,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wire::KeyReference;
use wire::control::{
    CONTROL_VERSION, CardNotice, CardOrder, CardStart, Isolation, KeeperNotice, KeeperOrder, OfficerOrder,
    OfficerReply, Personality, PollMode, Served, TokenForms,
};
use wire::frame::{Arguments, Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::point::{Point, PointSet};
use wire::role::Role;
use wire::verb::{
    Filled, Key, KeyAlgorithm, MacFormat, MacMethod, PkaOutput, PkaTokenKind, PkaUsage, Room, Segment,
    TypedAsk, TypedGot, clear_key_import_multiple as import, mac_generate, null, pka_key_generate,
    pka_key_token_build,
};

/// How long anything may take before a test gives up: far more than it needs on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Room for the token of an RSA key, in bytes.
/// Units of the key tables of cards under test.
pub const UNITS: usize = link::key_table_units_for(*wire::bounds::LABELS.start());
const TOKEN_ROOM: usize = 3500;
/// The verb that does nothing.
pub const NULL: null::Ask<'static> = null::Ask::new();
/// Tenant of queues where nothing else is said.
pub const TENANT: u32 = 100;

const CAP_IPC_LOCK: libc::c_ulong = 14;

/// A program of this crate that runs; killed when dropped.
pub struct Program {
    child: Child,
    pub channel: Channel,
}

impl Program {
    /// Starts the program with its control channel on descriptor 3.
    pub fn spawn(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::spawn_locking(arguments, environment, None)
    }

    /// As [`Program::spawn`], with a limit of locked memory in bytes that holds for root too.
    pub fn spawn_locking(arguments: &[&str], environment: &[(&str, &str)], lock_limit: Option<u64>) -> Self {
        let (near, far) = Channel::pair().expect("a socket pair");
        let far: OwnedFd = far.into_fd();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand-card"));
        command.args(arguments).env_clear().envs(environment.iter().copied()).stdin(Stdio::null());
        let number = far.as_raw_fd();
        // SAFETY: between fork and exec only system calls are made, which are async-signal-safe and touch no memory.
        unsafe {
            command.pre_exec(move || {
                if let Some(bytes) = lock_limit {
                    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
                    // Root locks beyond every limit by this capability; who is not root has none to drop.
                    let _ = libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK);
                    if libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                let placed =
                    if number == 3 { libc::fcntl(3, libc::F_SETFD, 0) } else { libc::dup2(number, 3) };
                if placed < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        let child = command.spawn().expect("the card program");
        Self { child, channel: near }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("a signal");
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }

    /// Stops the process; it does nothing any more when this returns.
    pub fn pause(&self) {
        use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};
        let pid = rustix::process::Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).expect("a signal");
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).expect("its stop");
    }

    /// Lets a stopped process go on.
    pub fn go_on(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("a signal");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    /// Processor time that its first thread has used, in nanoseconds.
    pub fn processor_ns(&self) -> u64 {
        let line = std::fs::read_to_string(format!("/proc/{}/schedstat", self.pid())).expect("its times");
        line.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
    }

    /// A field of `/proc/<pid>/status`.
    pub fn status_field(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field of the status");
        line.trim().to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The role that every card of the tests is told of: everything is permitted.
pub const EVERYTHING: u16 = 0;

/// Nothing is permitted but this.
pub fn only(points: &[Point]) -> PointSet {
    let mut set = PointSet::NOTHING;
    points.iter().for_each(|point| set.allow(*point));
    set
}

/// A start message that tests change to their needs.
pub fn card_start(personality: Personality) -> CardStart {
    CardStart {
        version: CONTROL_VERSION,
        index: 0,
        generation: 7,
        personality,
        domains: 2,
        poll: PollMode::Adaptive,
        separate_tenants: false,
        weak_algorithms: true,
        tokens: TokenForms::default(),
        processors: None,
        prepared_keys_bytes: wire::bounds::PREPARED_KEYS_BYTES as u64,
    }
}

/// A card under a daemon played by the test.
pub struct Card {
    pub program: Program,
    pub start: CardStart,
    pub table: KeyTable,
    pub accounts: Accounts,
    pub folder: tempfile::TempDir,
    status: OwnedFd,
    samples: OwnedFd,
    next_queue: u64,
    /// The keeper's end of the socket pair, until it is given to one.
    pub keeper_end: Option<Channel>,
    pub level: String,
    pub isolation: Isolation,
    pub started_in: Duration,
}

impl Card {
    /// Starts a card and waits until it is ready.
    pub fn ready(start: CardStart) -> Self {
        let mut card = Self::begun(start, &[]);
        card.await_ready();
        card
    }

    /// Starts a card and sends its start message.
    pub fn begun(start: CardStart, environment: &[(&str, &str)]) -> Self {
        Self::begun_locking(start, environment, None)
    }

    /// As [`Card::begun`], with a limit of locked memory in bytes.
    pub fn begun_locking(start: CardStart, environment: &[(&str, &str)], lock_limit: Option<u64>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let table = KeyTable::open(&folder.path().join("keys.table"), UNITS).expect("a key table");
        let doorbell = Doorbell::bind(&folder.path().join("doorbell")).expect("a doorbell").into_fd();
        let listener = Listener::bind(&folder.path().join("listener")).expect("a listener").into_fd();
        let status = StatusPage::create(start.generation).expect("a status page");
        let samples = Samples::create(start.generation).expect("samples");
        let table_view = table.read_only().expect("a view of the table");
        let accounts = Accounts::open(&folder.path().join("accounts")).expect("accounts");
        let shared = accounts.for_card().expect("a descriptor");
        let pair = (start.personality == Personality::Coprocessor).then(|| Channel::pair().expect("a pair"));
        let (keeper_end, card_end) =
            pair.map_or((None, None), |(near, far)| (Some(near), Some(far.into_fd())));

        let begin = Instant::now();
        let program = Program::spawn_locking(&[], environment, lock_limit);
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![
            doorbell.as_fd(),
            listener.as_fd(),
            status.as_fd(),
            table_view.as_fd(),
            shared.as_fd(),
            samples.as_fd(),
        ];
        descriptors.extend(card_end.as_ref().map(|end| end.as_fd()));
        program.channel.send(&CardOrder::Start(start.clone()), &descriptors).expect("a start message");
        Self {
            program,
            start,
            table,
            accounts,
            folder,
            status,
            samples,
            next_queue: 1,
            keeper_end,
            level: String::new(),
            isolation: Isolation::default(),
            started_in: begin.elapsed(),
        }
    }

    pub fn await_ready(&mut self) {
        let begin = Instant::now();
        match self.notice() {
            CardNotice::Ready { level, lanes, isolation } => {
                assert!(lanes >= 1);
                self.started_in += begin.elapsed();
                self.level = level;
                self.tell_role(EVERYTHING, PointSet::EVERYTHING);
                self.isolation = isolation;
            }
            other => panic!("not ready but {other:?}"),
        }
    }

    /// The next notice but those of refusals, which come unasked.
    pub fn notice(&self) -> CardNotice {
        loop {
            match self.program.channel.recv_timeout::<CardNotice>(PATIENCE).expect("a notice").0 {
                CardNotice::Denied { .. } => {}
                notice => return notice,
            }
        }
    }

    pub fn order(&self, order: CardOrder) -> CardNotice {
        self.program.channel.send(&order, &[]).expect("an order");
        self.notice()
    }

    /// Stops the card while it sleeps: what is submitted then is there all at once when it goes on. One that was
    /// stopped while it looks at its queues would first find what is in those that it comes to later.
    pub fn pause_asleep(&self) {
        let (view, begin) = (self.view(), Instant::now());
        loop {
            while !view.is_asleep() {
                assert!(begin.elapsed() < PATIENCE, "it does not go to sleep");
                std::thread::yield_now();
            }
            self.program.pause();
            if view.is_asleep() {
                return;
            }
            self.program.go_on();
        }
    }

    pub fn doorbell(&self) -> PathBuf {
        self.folder.path().join("doorbell")
    }

    pub fn listener(&self) -> PathBuf {
        self.folder.path().join("listener")
    }

    pub fn view(&self) -> StatusView {
        StatusView::join(self.status.as_fd()).expect("the status page")
    }

    pub fn samples(&self) -> SamplesView {
        SamplesView::join(self.samples.as_fd()).expect("the samples")
    }

    /// Tells the card of a role.
    pub fn tell_role(&self, number: u16, points: PointSet) {
        self.program.channel.send(&CardOrder::Role(Role { number, points }), &[]).expect("an order");
    }

    /// A grant for the next queue, in this role.
    pub fn grant(&self, role: u16) -> Grant {
        Grant {
            queue: self.next_queue,
            user: rustix::process::getuid().as_raw(),
            tenant: TENANT,
            domain: 0,
            role,
            account: 0,
            share_percent: 0,
            confinement: wire::tenant::Confinement::None,
            limits: wire::tenant::Limits::default(),
        }
    }

    /// Attaches a queue for which everything is permitted.
    pub fn attach(&mut self) -> Client {
        let grant = self.grant(EVERYTHING);
        self.attach_with(grant, 64)
    }

    pub fn attach_with(&mut self, grant: Grant, slots: u32) -> Client {
        self.attach_completing(grant, slots, None)
    }

    /// A queue of an event loop, with the cards' end of its completion socket.
    pub fn attach_completing(&mut self, grant: Grant, slots: u32, completion: Option<OwnedFd>) -> Client {
        let queue = grant.queue;
        self.next_queue = queue + 1;
        let (memory, notice) = self.offer_completing(grant, slots, completion);
        assert_eq!(notice, CardNotice::Attached { queue });
        let [request, reply] = memory.for_client().expect("the client's ends");
        let parts = ClientParts {
            request,
            reply,
            doorbell: Doorbell::connect(&self.doorbell()).expect("the doorbell"),
            status: StatusPage::read_only(self.status.as_fd()).expect("a view"),
            pidfd: PidFd::open(self.program.pid()).expect("a pidfd").into_fd(),
            slots,
            queue,
            generation: self.start.generation,
        };
        Client { queue: ClientQueue::join(parts).expect("the client's queue"), memory }
    }

    /// Sends the memories of a queue to the card.
    pub fn offer(&self, grant: Grant, slots: u32) -> (QueueMemory, CardNotice) {
        self.offer_completing(grant, slots, None)
    }

    fn offer_completing(
        &self,
        grant: Grant,
        slots: u32,
        completion: Option<OwnedFd>,
    ) -> (QueueMemory, CardNotice) {
        let memory = QueueMemory::create(slots, grant.queue).expect("memory");
        let [request, reply] = memory.for_card().expect("the card's ends");
        let order = CardOrder::Attach { grant, slots };
        let mut descriptors = vec![request.as_fd(), reply.as_fd()];
        descriptors.extend(completion.as_ref().map(|end| end.as_fd()));
        self.program.channel.send(&order, &descriptors).expect("an order");
        (memory, self.notice())
    }

    /// Stops the card as a daemon does; it must end by itself, without fault.
    pub fn stop(mut self) {
        self.program.channel.send(&CardOrder::Stop, &[]).expect("an order");
        assert!(self.program.wait().success());
    }
}

/// A client's end.
pub struct Client {
    pub queue: ClientQueue,
    pub memory: QueueMemory,
}

impl Client {
    /// Calls a verb and waits for its reply.
    pub fn call<A: TypedAsk>(&self, ask: &A) -> (ReplyHeader, Vec<u8>) {
        self.call_raw(A::VERB as u16, &written(ask))
    }

    pub fn call_raw(&self, verb: u16, payload: &[u8]) -> (ReplyHeader, Vec<u8>) {
        let request = self.submit(verb, payload);
        let mut reply = Vec::new();
        let deadline = Some(Instant::now() + PATIENCE);
        let header = self.queue.wait(&request, PollMode::Adaptive, deadline, &mut reply).expect("a reply");
        (header, reply)
    }

    pub fn submit(&self, verb: u16, payload: &[u8]) -> InFlight {
        let slot = self.queue.claim().expect("a slot");
        self.queue.submit_with_room(slot, verb, payload, 0).expect("submitted")
    }

    pub fn send<A: TypedAsk>(&self, ask: &A) -> InFlight {
        self.submit(A::VERB as u16, &written(ask))
    }

    /// The outcome of a call.
    pub fn outcome(&self, ask: &impl TypedAsk) -> Outcome {
        self.call(ask).0.outcome
    }
}

/// The payload of a request.
pub fn written(ask: &impl TypedAsk) -> Vec<u8> {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload).expect("a request");
    payload
}

/// The outputs in a reply.
pub fn got<'r, G: TypedGot<'r>>(payload: &'r [u8]) -> G {
    G::of(&Arguments::read_reply(G::VERB, payload).expect("a reply"))
}

/// A DATA key of 16 bytes under the card's master key.
pub fn import_key(client: &Client, clear: &[u8; 16]) -> Vec<u8> {
    let ask = import::Ask { algorithm: Some(KeyAlgorithm::Des), clear_key: clear, ..import::Ask::new() };
    let (header, payload) = client.call(&ask);
    assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OK));
    got::<import::Got>(&payload).target_key_identifier.to_vec()
}

/// The skeleton of an RSA key.
pub fn skeleton(client: &Client, kind: PkaTokenKind, structure: &[u8]) -> Vec<u8> {
    use pka_key_token_build::*;
    let usage = Some(PkaUsage::KeyManagement);
    let ask = Ask { usage, key_values_structure: structure, token: TOKEN_ROOM, ..Ask::new(kind) };
    let (header, reply) = client.call(&ask);
    assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OK));
    got::<Got>(&reply).token.to_vec()
}

/// The payload of a request for the key of a skeleton.
pub fn generation_of(skeleton: &[u8]) -> Vec<u8> {
    use pka_key_generate::*;
    written(&Ask {
        output: Some(PkaOutput::Master),
        skeleton_key_token: skeleton.into(),
        transport_key_identifier: Key::Bytes(&[0; 64]),
        generated_key_identifier: Room::of(TOKEN_ROOM),
        ..Ask::new()
    })
}

/// MAC_Generate, X9.19, 8 bytes, of this text.
pub fn mac_request<'a>(key: impl Into<Key<'a>>, text: &'a [u8]) -> mac_generate::Ask<'a> {
    mac_generate::Ask {
        key_identifier: key.into(),
        text,
        method: Some(MacMethod::X919),
        segment: Some(Segment::Only),
        format: Some(MacFormat::Bytes8),
        chaining_vector: Some(&[0; 18]),
        ..mac_generate::Ask::new()
    }
}

/// The MAC in a reply of MAC_Generate.
pub fn mac_of(payload: &[u8]) -> Vec<u8> {
    got::<mac_generate::Got>(payload).mac.to_vec()
}

/// The same MAC by the engine, with the clear key.
pub fn mac_by_engine(key: &[u8; 16], text: &[u8]) -> Vec<u8> {
    let engine = engine::Engine::new(engine::Options::default()).expect("an engine");
    let key = engine.mac_key(engine::MacAlgorithm::X919, key).expect("a key");
    let mut items = [engine::MacItem::new(&key, text)];
    engine.mac_batch(&mut items);
    items[0].mac[..8].to_vec()
}

/// A keeper under a daemon played by the test.
pub struct Keeper {
    pub program: Program,
    pub folder: tempfile::TempDir,
}

impl Keeper {
    pub fn ready(domains: u16, insecure_seed: Option<u64>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = Listener::bind(&folder.path().join("listener")).expect("a listener").into_fd();
        let program = Program::spawn(&["--keeper"], &[]);
        let order = KeeperOrder::Start {
            version: CONTROL_VERSION,
            domains,
            insecure_seed,
            service: false,
            unattended: None,
        };
        program.channel.send(&order, &[listener.as_fd()]).expect("a start message");
        let keeper = Self { program, folder };
        assert!(matches!(keeper.notice(), KeeperNotice::Ready { .. }));
        keeper
    }

    pub fn listener(&self) -> PathBuf {
        self.folder.path().join("listener")
    }

    pub fn notice(&self) -> KeeperNotice {
        self.program.channel.recv_timeout::<KeeperNotice>(PATIENCE).expect("a notice").0
    }

    /// The next notice that answers an order.
    pub fn answer(&self) -> KeeperNotice {
        loop {
            match self.notice() {
                KeeperNotice::Holds(_) | KeeperNotice::Spread { .. } | KeeperNotice::Lagging(_) => {}
                answer => return answer,
            }
        }
    }

    /// Has the keeper serve this card; its registers are in the card's socket afterwards, or soon.
    pub fn serve(&self, card: &mut Card) {
        let end = card.keeper_end.take().expect("a coprocessor not served yet").into_fd();
        let order = KeeperOrder::Serve(Served { card: card.start.index, generation: card.start.generation });
        self.program.channel.send(&order, &[end.as_fd()]).expect("an order");
        assert!(matches!(self.answer(), KeeperNotice::Done));
    }

    pub fn officer(
        &self,
        order: OfficerOrder,
        sealed_registers: Option<Vec<u8>>,
    ) -> (OfficerReply, Option<Vec<u8>>) {
        let order = KeeperOrder::Officer { order, sealed_registers, seal_memory_mib: 64, officer: None };
        self.program.channel.send(&order, &[]).expect("an order");
        let (reply, store, mut spreads) = match self.answer() {
            KeeperNotice::Officer { reply, store, spreads } => (reply, store, spreads),
            other => panic!("not an officer's answer but {other:?}"),
        };
        while spreads != 0 {
            match self.notice() {
                KeeperNotice::Spread { domain } => spreads &= !(1 << domain),
                KeeperNotice::Holds(_) => {}
                other => panic!("keys are not spread but {other:?}"),
            }
        }
        (reply, store)
    }

    pub fn startup_key(&self) -> [u8; 32] {
        match self.officer(OfficerOrder::StartupKey, None).0 {
            OfficerReply::StartupKey(key) => key,
            other => panic!("not a key but {other:?}"),
        }
    }
}

/// A coprocessor with the master keys of a development home.
pub fn coprocessor() -> (Keeper, Card) {
    coprocessor_with(card_start(Personality::Coprocessor))
}

pub fn coprocessor_with(start: CardStart) -> (Keeper, Card) {
    coprocessor_locking(start, None)
}

/// With a limit of locked memory in bytes for the card.
pub fn coprocessor_locking(start: CardStart, lock_limit: Option<u64>) -> (Keeper, Card) {
    let keeper = Keeper::ready(start.domains, Some(1));
    let mut card = Card::begun_locking(start, &[], lock_limit);
    keeper.serve(&mut card);
    card.await_ready();
    (keeper, card)
}

/// A token of 16 bytes of `clear` in the key table of a card.
pub fn opened_key(card: &mut Card, client: &Client, clear: &[u8; 16]) -> KeyReference {
    let token = import_key(client, clear);
    card.table.put(TENANT, &token).expect("a free unit")
}

/// Whether the other end of a channel is closed.
pub fn is_closed(channel: &Channel) -> bool {
    matches!(channel.recv_timeout::<CardNotice>(PATIENCE), Err(ChannelError::Closed))
}

/// Joins the card's end of a queue, as no client should be able to.
pub fn card_end(parts: link::CardParts) -> CardQueue {
    CardQueue::join(parts).expect("the card's end")
}
