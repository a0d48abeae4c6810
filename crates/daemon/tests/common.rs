//! A home with a real daemon and cards without cryptography, for tests from outside.
#![allow(dead_code, missing_docs)]

pub mod calls;
pub mod records;

use daemon::rows::Rows;
use daemon::supervise::card::ProcessRow;
use home::{Development, Home, Programs, Settings};
use link::{Channel, ClientParts, ClientQueue};
use records::Records;
use records::protocol::SOCKET_VARIABLE;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::control::{
    CONTROL_VERSION, CardRow, CardState, ClientReply, ClientRequest, PollMode, Refusal, Status,
};
use wire::tenant::{Change, Credential, Tenant, TenantRow};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A home in a folder of its own; whatever runs in it is killed at the end.
pub struct Place {
    pub base: tempfile::TempDir,
    pub home: Home,
    /// The key records, where they are not in the home.
    pub records: Option<Records>,
}

/// Whether this test program runs daemons whose key records are not in their homes.
const IS_OVER_ANOTHER: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"over_another_store");

impl Place {
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let base = tempfile::tempdir().unwrap();
        // Who may reach what lies in it is the home's to say.
        std::fs::set_permissions(base.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let programs = Programs { daemon: daemon_program(), card: card_program(), manifest: None };
        let mut settings = Settings::new(programs);
        settings.development = Some(Development { insecure_seed: 1 });
        change(&mut settings);
        let home = Home::create(&base.path().join("home"), &settings).unwrap();
        let records = IS_OVER_ANOTHER.then(|| Records::serve(base.path()));
        Self { base, home, records }
    }

    /// A home that exists already, in a folder that someone else removes.
    pub fn of(home: Home) -> Self {
        Self { base: tempfile::tempdir().unwrap(), home, records: None }
    }

    pub fn change(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.home.settings().unwrap();
        change(&mut settings);
        self.home.write_settings(&settings).unwrap();
    }

    /// What a card without cryptography does at its start.
    pub fn direct(&self, directive: &str) {
        std::fs::write(self.home.folder().join("fake-card"), directive).unwrap();
    }

    pub fn command(&self) -> Command {
        let mut command = match &self.records {
            None => Command::new(daemon_program()),
            Some(records) => {
                let mut command = Command::new(beside_daemon("other_store"));
                command.env(SOCKET_VARIABLE, &records.socket);
                command
            }
        };
        command.arg("--home").arg(self.home.folder()).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a daemon and waits until it says that its cards are ready.
    pub fn start(&self) -> Daemon {
        let mut child = self.command().args(["--ready-fd", "1"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the log says: {}", self.log());
        Daemon { child }
    }

    /// Starts a daemon that nobody waits for to be ready, so that it stays though nothing comes up; it takes clients.
    pub fn start_unawaited(&self) -> Daemon {
        let daemon = Daemon { child: self.command().spawn().unwrap() };
        let end = std::time::Instant::now() + PATIENCE;
        while Channel::connect(&self.home.admin_socket()).is_err() {
            assert!(std::time::Instant::now() < end, "the log says: {}", self.log());
            std::thread::yield_now();
        }
        daemon
    }

    /// Starts a daemon that must not start, and returns its exit code and what it said.
    pub fn refuse(&self) -> (i32, String) {
        let output = self.command().stderr(Stdio::piped()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.logs().join("daemon.log")).unwrap_or_default()
    }

    pub fn client(&self) -> Client {
        Client::greet(&self.home.admin_socket())
    }

    pub fn client_as(&self, credential: u8) -> Client {
        Client::greet_as(&self.home.guest_socket(), Some(Credential([credential; 32]))).unwrap()
    }

    pub fn processes(&self) -> Vec<(u32, ProcessRow)> {
        Rows::open(&self.home.run().join("processes")).and_then(|rows| rows.load()).unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        for (_, row) in self.processes() {
            if let Some(process) = row.identity.open() {
                let _ = process.kill();
            }
        }
    }
}

pub struct Daemon {
    pub child: Child,
}

impl Daemon {
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn terminate(mut self) -> i32 {
        signal(self.child.id(), "TERM");
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Client {
    pub channel: Channel,
    pub tenant: u32,
    pub tenant_name: String,
}

/// Asks until the answer is as expected. There is no event for this from outside.
fn until<T: std::fmt::Debug>(ask: impl Fn() -> T, expected: impl Fn(&T) -> bool) -> T {
    let begin = Instant::now();
    loop {
        let answer = ask();
        if expected(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < PATIENCE, "{answer:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Client {
    pub fn greet(socket: &Path) -> Self {
        Self::greet_as(socket, None).unwrap()
    }

    pub fn greet_as(socket: &Path, credential: Option<Credential>) -> Result<Self, Refusal> {
        Self::greet_on(Channel::connect(socket).unwrap(), credential)
    }

    fn greet_on(channel: Channel, credential: Option<Credential>) -> Result<Self, Refusal> {
        channel
            .send(&ClientRequest::Hello { version: CONTROL_VERSION, credential, completions: false }, &[])
            .unwrap();
        match channel.recv_timeout::<ClientReply>(PATIENCE).unwrap().0 {
            ClientReply::Welcome { tenant, tenant_name, .. } => Ok(Self { channel, tenant, tenant_name }),
            ClientReply::Refused(refusal) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    pub fn ask_with(&self, request: ClientRequest) -> (ClientReply, Vec<OwnedFd>) {
        self.channel.send(&request, &[]).unwrap();
        self.channel.recv_timeout(PATIENCE).unwrap()
    }

    pub fn ask(&self, request: ClientRequest) -> ClientReply {
        self.ask_with(request).0
    }

    pub fn done(&self, request: ClientRequest) {
        assert_eq!(self.ask(request), ClientReply::Done);
    }

    pub fn refused(&self, request: ClientRequest) -> Refusal {
        match self.ask(request) {
            ClientReply::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    pub fn cards(&self) -> Vec<CardRow> {
        match self.ask(ClientRequest::Cards) {
            ClientReply::Cards(rows) => rows,
            other => panic!("{other:?}"),
        }
    }

    pub fn status(&self) -> Status {
        match self.ask(ClientRequest::Status) {
            ClientReply::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    /// Asks until the daemon is as expected.
    pub fn status_until(&self, expected: impl Fn(&Status) -> bool) -> Status {
        until(|| self.status(), expected)
    }

    /// Asks until the cards are as expected.
    pub fn cards_until(&self, expected: impl Fn(&[CardRow]) -> bool) -> Vec<CardRow> {
        until(|| self.cards(), |rows| expected(rows))
    }

    pub fn tenants(&self) -> Vec<TenantRow> {
        let mut all: Vec<TenantRow> = Vec::new();
        loop {
            let after = all.last().map(|row| row.id);
            match self.ask(ClientRequest::Tenants { after }) {
                ClientReply::Tenants(rows) if rows.is_empty() => return all,
                ClientReply::Tenants(rows) => all.extend(rows),
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn change(&self, change: Change) {
        self.done(ClientRequest::Change(change));
    }

    pub fn attach(&self, card: u32) -> (u64, ClientQueue) {
        let request = ClientRequest::Attach { card, domain: 0, slots: 8, blocks: 0 };
        match self.ask_with(request) {
            (ClientReply::Attached { queue, card, slots }, descriptors) => {
                (queue, joined(queue, &card, slots, descriptors))
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn create(&self, label: &str, token: Vec<u8>) -> ClientReply {
        self.ask(calls::create(label, &token))
    }
}

/// Why somebody was not let in.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// The socket is out of reach.
    Unreachable,
    /// The daemon said so.
    By(Refusal),
}

/// Greets a daemon as whoever the calling thread is.
pub fn try_greet(socket: &Path) -> Result<Client, Refused> {
    let channel = Channel::connect(socket).map_err(|cause| {
        assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied, "{cause}");
        Refused::Unreachable
    })?;
    Client::greet_on(channel, None).map_err(Refused::By)
}

/// The numbers of users; none, and said so, where this process cannot act as them.
pub fn users<const N: usize>(names: [&str; N]) -> Option<[u32; N]> {
    if needs::lacks(needs::Need::Root) {
        return None;
    }
    Some(names.map(|name| nix::unistd::User::from_name(name).unwrap().unwrap().uid.as_raw()))
}

/// Does something as another user, in a thread that ends with it.
pub fn as_user<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
    use rustix::process::{Gid, Uid};
    let become_and_act = || {
        let (group, user) = (Gid::from_raw(user), Uid::from_raw(user));
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(group, group, group).unwrap();
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        act()
    };
    std::thread::scope(|scope| scope.spawn(become_and_act).join().unwrap())
}

fn joined(queue: u64, card: &CardRow, slots: u32, descriptors: Vec<OwnedFd>) -> ClientQueue {
    let [request, reply, doorbell, status, pidfd]: [OwnedFd; 5] = descriptors.try_into().unwrap();
    let generation = card.generation;
    let parts = ClientParts { request, reply, doorbell, status, pidfd, slots, queue, generation };
    ClientQueue::join(parts).unwrap()
}

/// A tenant of this name and number, whose processes show a credential of 32 such bytes.
pub fn tenant(name: &str, number: u32, credential: u8) -> Tenant {
    let hash = daemon::tenants::hash(&Credential([credential; 32]));
    Tenant {
        credential_sha256: Some(hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        ..Tenant::new(name, number)
    }
}

/// Calls the empty verb; the answer of a card without cryptography is its process id.
pub fn call(queue: &ClientQueue) -> Result<u32, link::LinkError> {
    let in_flight = queue.submit(queue.claim()?, wire::Verb::Null as u16, &[])?;
    let mut payload = Vec::new();
    queue.wait(&in_flight, PollMode::Sleep, Some(Instant::now() + PATIENCE), &mut payload)?;
    Ok(u32::from_le_bytes(payload[..].try_into().unwrap()))
}

pub fn ready(rows: &[CardRow]) -> bool {
    rows.iter().all(|row| row.state == CardState::Ready)
}

pub fn signal(pid: u32, name: &str) {
    assert!(pid > 1, "0 would be the tests themselves");
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().unwrap();
    assert!(sent.success());
}

/// Whether this process may not have what as many connections and queues as the daemon takes need at both ends, which
/// are in it.
pub fn lacks_descriptors() -> bool {
    needs::lacks_descriptors(3 * wire::bounds::CONNECTIONS_MAX as u64)
}

/// A well-formed wrapped DES token.
pub fn des_token(fill: u8) -> Vec<u8> {
    let mut token = vec![0; 64];
    (token[0], token[6]) = (1, 0xC0);
    token[8..48].fill(fill);
    let sum = token[..60]
        .chunks(4)
        .fold(0u32, |sum, word| sum.wrapping_add(u32::from_be_bytes(word.try_into().unwrap())));
    token[60..].copy_from_slice(&sum.to_be_bytes());
    token
}

fn daemon_program() -> PathBuf {
    env!("CARGO_BIN_EXE_cryptand-daemon").into()
}

fn card_program() -> PathBuf {
    beside_daemon("fake_card")
}

/// A program beside those of the same build; Cargo builds it with the tests.
fn beside_daemon(name: &str) -> PathBuf {
    let programs = daemon_program();
    let program = programs.parent().unwrap().join("examples").join(name);
    assert!(program.exists(), "{} is missing: cargo build -p daemon --examples", program.display());
    program
}
