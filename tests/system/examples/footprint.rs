//! What a home takes of the machine: memory, locked memory, descriptors and disk, for each of its parts.
//!
//! ```text
//! cargo build --release && sudo cargo run --release -p system-tests --example footprint -- [CLIENTS] [TENANTS]
//! ```
//! A throw-away home with one coprocessor is grown by one kind of part at a time: tenants (64), key records, client
//! processes (16) with a queue each, a second queue of each of them, bulk memory of each, cards. Printed is what one of
//! them adds to the process itself, to the card, to the daemon and to the home's folder, from `/proc` and the files'
//! blocks. Every request is compared with what it must answer. The example fails where a figure is above what
//! docs/reference/operations.md says of it, and where clients that end leave descriptors or queue memory behind. It
//! needs root: processes that hold keys show their memory to nobody else.

use facility::{Facility, Options};
use home::Home;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;
use system_tests::{Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, settings};
use wire::Label;
use wire::bounds::TEXT_BYTES_MAX;
use wire::control::{Personality, SecretPages, Store};
use wire::tenant::{CardChange, Change, Tenant};

/// What a process takes, in KiB and descriptors.
#[derive(Clone, Copy, Default, Debug)]
struct Use {
    /// Its share of what is resident: memory that several processes have mapped is divided among them.
    memory: i64,
    locked: i64,
    descriptors: i64,
    threads: i64,
}

impl Use {
    fn of(pid: u32) -> Self {
        let read = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            fs::read_to_string(&path).unwrap_or_else(|cause| panic!("read {path}: {cause}"))
        };
        let descriptors =
            fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors of the process").count();
        Self {
            memory: kib(&read("smaps_rollup"), "Pss:"),
            locked: kib(&read("status"), "VmLck:"),
            descriptors: descriptors as i64,
            threads: kib(&read("status"), "Threads:"),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            memory: self.memory - before.memory,
            locked: self.locked - before.locked,
            descriptors: self.descriptors - before.descriptors,
            threads: self.threads - before.threads,
        }
    }

    fn each(self, of: usize) -> Self {
        let of = of as i64;
        let part = |sum: i64| (sum + sum.signum() * of / 2) / of;
        Self {
            memory: part(self.memory),
            locked: part(self.locked),
            descriptors: part(self.descriptors),
            threads: part(self.threads),
        }
    }
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>9} {:>9} {:>6} {:>8}", self.memory, self.locked, self.descriptors, self.threads)
    }
}

fn kib(text: &str, key: &str) -> i64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {key} in {text}"))
}

/// KiB of all blocks of a folder's files.
fn disk(folder: &Path) -> i64 {
    let entries = fs::read_dir(folder).expect("a folder of the home").flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => disk(&entry.path()),
        Ok(found) => found.blocks() as i64 / 2,
        Err(_gone) => 0,
    });
    sizes.sum()
}

/// All of a home at one time.
struct Sample {
    daemon: Use,
    keeper: Use,
    card: Use,
    disk: i64,
}

fn sample(installation: &Installation) -> Sample {
    let status = installation.until_ready_with_keeper();
    Sample {
        daemon: Use::of(status.daemon_pid),
        keeper: Use::of(status.keeper_pid.expect("a keeper")),
        card: Use::of(status.cards[0].pid),
        disk: disk(installation.home.folder()),
    }
}

/// A program that uses the home, as a process of its own.
struct Client(Child);

impl Client {
    fn start(home: &Home) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(CLIENT).arg(home.folder()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = Self(command.spawn().expect("a client starts"));
        client.hear();
        client
    }

    /// Has it do the next step, and waits until it has.
    fn step(&mut self) {
        self.0.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("the client reads");
        self.hear();
    }

    fn hear(&mut self) {
        let mut said = [0];
        self.0.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("the client has done it");
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("a child").success(), "a client failed");
    }
}

/// The daemon keeps the memory of one queue ready for whoever comes next.
const SPARE_DESCRIPTORS: i64 = 3;
/// Key records that are written.
const RECORDS: i64 = 10_000;
/// Threads of one process of a home.
const THREADS_MAX: i64 = 4;
const CLIENT: &str = "as-a-client";

/// Opens the home; then, a step for each line: a queue, a queue in another domain, a text that needs bulk memory.
fn client(home: &Path) {
    let facility = Facility::open(home, Options::default()).expect("the home is served");
    let mut lines = std::io::stdin().lines();
    let mut done = || {
        std::io::stdout().write_all(b".").and_then(|()| std::io::stdout().flush()).expect("somebody listens");
        lines.next().is_some()
    };
    let small = [0x5A; 64];
    let big = vec![0x5A; TEXT_BYTES_MAX];
    let mut key = Vec::new();
    let mut mac = |facility: &Facility, domain: u16, text: &[u8]| {
        if key.is_empty() {
            key = mac_key(facility);
        }
        let reply = facility.ask(domain, &mac_request(&key, text)).expect("a card answers");
        if domain == 0 {
            assert_eq!(mac_of(&reply), expected_mac(text), "the card answers rightly");
        }
    };
    if done() {
        mac(&facility, 0, &small);
    }
    if done() {
        let reply = facility.ask(1, &system_tests::null()).expect("a card answers");
        assert!(reply.codes().is_ok());
    }
    if done() {
        mac(&facility, 0, &big);
    }
    while done() {}
}

/// A line of the table, and whether it is within what the documentation says.
struct Table {
    is_well: bool,
}

impl Table {
    fn head(&self, what: &str) {
        println!("\n{what:<44} {:>9} {:>9} {:>6} {:>8}", "KiB", "locked", "fds", "threads");
    }

    fn row(&mut self, name: &str, found: Use, most: Use) {
        let over = found.memory > most.memory
            || found.locked > most.locked
            || found.descriptors > most.descriptors
            || found.threads > most.threads;
        println!("{name:<44} {found}{}", if over { format!("   above {most}") } else { String::new() });
        self.is_well &= !over;
    }

    fn disk(&mut self, name: &str, found: i64, most: i64) {
        let over = found > most;
        println!("{name:<44} {found:>9}{}", if over { format!("   above {most}") } else { String::new() });
        self.is_well &= !over;
    }
}

fn most(memory_kib: i64, locked_kib: i64, descriptors: i64) -> Use {
    Use { memory: memory_kib, locked: locked_kib, descriptors, threads: THREADS_MAX }
}

fn main() -> ExitCode {
    let mut typed = std::env::args().skip(1);
    let first = typed.next();
    if first.as_deref() == Some(CLIENT) {
        client(Path::new(&typed.next().expect("a home")));
        return ExitCode::SUCCESS;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("footprint: processes that hold keys show their memory to root alone; run it as root");
        return ExitCode::FAILURE;
    }
    let number = |text: Option<String>, default| {
        text.map_or(default, |text| text.parse::<usize>().expect("a number")).max(1)
    };
    let (clients, tenants) = (number(first, 16), number(typed.next(), 64));

    let mut settings = settings(1, 0);
    settings.cards.domains = 2;
    let mut installation = Installation::stopped(&settings);
    installation.start();
    let facility = installation.facility();
    let mut table = Table { is_well: true };
    let idle = sample(&installation);
    let status = facility.status().expect("a status");
    // Of other memory than secret memory every page is there from the start.
    let secret = status.cards[0].isolation.memory;
    let is_secret = secret.is_some_and(|memory| memory.pages == SecretPages::Secret);
    let region = if is_secret { 48 << 10 } else { 192 << 10 };
    table.head("a home with one coprocessor, idle");
    table.row("daemon", idle.daemon, most(48 << 10, 1 << 10, 64));
    table.row("keeper", idle.keeper, most(region, 160 << 10, 24));
    table.row("card", idle.card, most(region, 160 << 10, 32));
    table.disk("home, of it run/ below", idle.disk, 44 << 10);
    table.disk("run/", disk(&installation.home.run()), 42 << 10);

    for number in 0..tenants {
        facility.change(Change::TenantAdd(tenant(number))).expect("a tenant is added");
    }
    let with_tenants = sample(&installation);
    table.head("one more tenant without processes");
    table.row("daemon", with_tenants.daemon.since(idle.daemon).each(tenants), most(64, 0, 0));
    table.row("card", with_tenants.card.since(idle.card).each(tenants), most(8, 0, 0));
    table.disk("home", (with_tenants.disk - idle.disk) / tenants as i64, 4);

    let token = mac_key(&facility);
    let before = disk(installation.home.folder());
    for number in 0..RECORDS {
        let label = Label::new(&format!("SIZE.N{number}")).expect("a label");
        facility.record_create(Store::Des, &label, &token).expect("a record is written");
    }
    println!();
    let written = (disk(installation.home.folder()) - before) * 1024 / RECORDS;
    table.disk("bytes on disk for one more key record", written, 4096);

    let alone = sample(&installation);
    let bytes_alone = facility.status().expect("a status").queue_memory.own;
    let mut all: Vec<Client> = (0..clients).map(|_| Client::start(&installation.home)).collect();
    let mut before = sample(&installation);
    table.head("one more client process, connected");
    let of_client =
        |all: &[Client]| all.iter().map(|client| Use::of(client.0.id())).fold(Use::default(), add);
    let mut own = of_client(&all);
    table.row("client", own.each(clients), most(24 << 10, 0, 24));
    table.row("daemon", before.daemon.since(alone.daemon).each(clients), most(256, 0, 4));
    for (what, client_most, card_most, daemon_most) in [
        ("its first queue, used", most(2048, 1024, 8), most(1024, 0, 8), most(256, 0, 8)),
        ("its second queue, used", most(1024, 1024, 8), most(1024, 0, 8), most(256, 0, 8)),
        ("1 MiB as text over its first queue", most(4096, 4096, 8), most(4096, 8192, 8), most(256, 0, 8)),
    ] {
        all.iter_mut().for_each(Client::step);
        let after = sample(&installation);
        let now = of_client(&all);
        table.head(what);
        table.row("client", now.since(own).each(clients), client_most);
        table.row("card", after.card.since(before.card).each(clients), card_most);
        table.row("daemon", after.daemon.since(before.daemon).each(clients), daemon_most);
        (before, own) = (after, now);
    }
    table.head("card after 1 MiB texts of all clients");
    table.row("card", before.card, most(256 << 10, 160 << 10, 1024));
    all.into_iter().for_each(Client::end);
    // What clients had goes with them, once the card has let it go; there is no event for that from outside.
    let end = Instant::now() + PATIENCE;
    loop {
        let after = sample(&installation);
        let left = [
            after.daemon.descriptors - alone.daemon.descriptors,
            after.card.descriptors - alone.card.descriptors,
        ];
        let bytes = facility.status().expect("a status").queue_memory.own;
        if left[0] <= SPARE_DESCRIPTORS && left[1] <= 0 && bytes == bytes_alone {
            break;
        }
        assert!(Instant::now() < end, "left by clients that ended: {left:?} descriptors, {bytes} bytes");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }

    for (name, personality) in
        [("coprocessor", Personality::Coprocessor), ("accelerator", Personality::Accelerator)]
    {
        let before = sample(&installation);
        let change = CardChange { personality: Some(personality), ..CardChange::default() };
        facility.change(Change::CardAdd(change)).expect("a card is added");
        let after = sample(&installation);
        let card = facility.status().expect("a status").cards.last().expect("the card").pid;
        table.head(&format!("one more {name}"));
        table.row("card", Use::of(card), most(region, 160 << 10, 32));
        table.row("keeper", after.keeper.since(before.keeper), most(256, 0, 4));
        table.row("daemon", after.daemon.since(before.daemon), most(512, 0, 16));
        table.disk("home", after.disk - before.disk, 64);
    }
    if table.is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn add(sum: Use, other: Use) -> Use {
    Use {
        memory: sum.memory + other.memory,
        locked: sum.locked + other.locked,
        descriptors: sum.descriptors + other.descriptors,
        threads: sum.threads + other.threads,
    }
}

fn tenant(number: usize) -> Tenant {
    Tenant {
        credential_sha256: Some(format!("{:064x}", number + 1)),
        ..Tenant::new(format!("tenant-{number}"), 0)
    }
}
