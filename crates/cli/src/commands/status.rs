//! `cryptand status`: the state of a home, its cards, its master keys and the engine.

use super::health::{Health, or_down};
use super::officer;
use crate::args::time;
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::session;
use crate::words::{personality, state};
use engine::{CipherAlgorithm, CipherDirection, Engine, HashAlgorithm, MacAlgorithm, Mode, Operation};
use facility::Facility;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use wire::control::{
    Apart, CardRow, HealthState, Isolation, Outdated, Personality, ProcessQueues, QueueHolders,
    QueueRefusals, Register, RegisterRow, SecretPages, Status, Unsealing,
};
use wire::registers::{HeldRegisters, RegisterSet};
use wire::tenant::{ConfinedRow, Confinement};

/// Groups of operations with lanes of their own, by their usual names.
const KINDS: [(&str, Operation); 9] = [
    ("TDES, DES", Operation::Cipher(CipherAlgorithm::Tdes3, Mode::Cbc, CipherDirection::Encipher)),
    ("X9.19 MAC", Operation::Mac(MacAlgorithm::X919)),
    ("AES-CBC encrypt", Operation::Cipher(CipherAlgorithm::Aes128, Mode::Cbc, CipherDirection::Encipher)),
    ("AES-CMAC", Operation::Mac(MacAlgorithm::CmacAes128)),
    ("AES-GCM", Operation::Gcm(CipherDirection::Encipher)),
    ("SHA-1", Operation::Hash(HashAlgorithm::Sha1)),
    ("SHA-256", Operation::Hash(HashAlgorithm::Sha256)),
    ("RSA private", Operation::RsaPrivate { bits: 2048 }),
    ("RSA public", Operation::RsaPublic { bits: 2048 }),
];

/// The engine of this program: the level at which clear-key calls of programs on this machine run.
#[derive(Serialize)]
struct EngineStatus {
    level: &'static str,
    lanes: Vec<KindLanes>,
}

#[derive(Serialize)]
struct KindLanes {
    kind: &'static str,
    lanes: usize,
}

/// The state of the home, with the engine beside it.
#[derive(Serialize)]
struct Shown<'a> {
    state: HealthState,
    #[serde(flatten)]
    status: &'a Status,
    held: Vec<HeldRow>,
    engine: &'a EngineStatus,
}

/// The registers of one domain that a coprocessor holds a master key of.
#[derive(Serialize)]
struct HeldRow {
    card: u32,
    domain: u16,
    registers: Vec<Register>,
}

impl EngineStatus {
    fn of(engine: &Engine) -> Self {
        let lanes = KINDS.map(|(kind, operation)| KindLanes { kind, lanes: engine.lanes(operation) });
        Self { level: engine.level().name(), lanes: lanes.into() }
    }
}

/// Shows the installation.
pub fn run(asked: Option<&Path>, json: bool) -> Result<(), Failure> {
    let home = session::open_home(asked)?;
    let facility = session::connect(asked).map_err(or_down)?;
    let status = facility.status().map_err(|error| or_down(error.into()))?;
    let held = held(&facility, &status.cards);
    let engine = EngineStatus::of(&session::engine()?);
    let health = Health::of_status(&status);
    if json {
        let rows = held.iter().flat_map(|(card, held)| {
            let row = |domain| HeldRow { card: *card, domain, registers: held.of(domain).iter().collect() };
            held.domains().map(row)
        });
        print_json(&Shown { state: health.state, status: &status, held: rows.collect(), engine: &engine })?;
    } else {
        print(&text(home.folder(), &health, &status, &held, &engine))?;
    }
    health.end()
}

/// The master keys in each serving coprocessor. Guests are not told: to a guest, a card without keys of the guest's own
/// domains counts as sealed.
fn held(facility: &Facility, cards: &[CardRow]) -> Vec<(u32, HeldRegisters)> {
    let coprocessors =
        cards.iter().filter(|card| card.personality == Personality::Coprocessor && card.state.serves());
    coprocessors
        .filter_map(|card| Some((card.index, facility.observe(card.index).ok()?.registers())))
        .collect()
}

/// How the master keys are unsealed, and whether that succeeded.
fn unsealing(status: &Status) -> String {
    let is_sealed = status.registers.is_empty() && !status.insecure_dev;
    match &status.unsealing {
        Unsealing::Attended => {
            "attended: an officer types the passphrase after each start of the keeper".to_owned()
        }
        Unsealing::Unattended => {
            "unattended: the keeper unsealed itself, by its unit's credential".to_owned()
        }
        Unsealing::Failed(why) => {
            let now = if is_sealed { "and is SEALED: `cryptand unseal`" } else { "and was unsealed since" };
            format!("unattended: the keeper did not unseal itself ({why}), {now}")
        }
    }
}

fn text(
    folder: &Path,
    health: &Health,
    status: &Status,
    held: &[(u32, HeldRegisters)],
    engine: &EngineStatus,
) -> String {
    let mut text = String::new();
    if status.insecure_dev {
        text.push_str("INSECURE development home: anyone can compute its master keys\n");
    }
    let resident = status.daemon_resident_bytes as f64 / 1e6;
    let _ = writeln!(text, "home      {}", folder.display());
    let _ = writeln!(text, "health    {}", health.state.name());
    for found in &health.findings {
        let _ = writeln!(text, "          {}: {}", found.finding.name(), found.text);
    }
    let _ = writeln!(
        text,
        "daemon    pid {}, {resident:.1} MB resident, {} connection(s)",
        status.daemon_pid, status.connections
    );
    let keeper = status.keeper_pid.map_or("not running".to_owned(), |pid| format!("pid {pid}"));
    let _ = writeln!(text, "keeper    {keeper}");
    let _ = writeln!(text, "apart     {}", protection(status));
    let _ = writeln!(text, "unseal    {}", unsealing(status));
    let _ = writeln!(text, "records   {}", status.records);
    let memory = &status.queue_memory;
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let _ = writeln!(
        text,
        "memory    queues at most {} MiB; guests {} of {} MiB, each tenant {}, each user {}",
        mib(memory.own),
        mib(memory.guests),
        mib(memory.guests_max),
        mib(memory.tenant_max),
        mib(memory.user_max)
    );
    let weak = if status.weak_algorithms { "served (single DES, RSA below 1024, MD5)" } else { "refused" };
    let _ = writeln!(text, "weak      {weak}");
    let _ = writeln!(
        text,
        "audit     lines in log/audit.log and log/audit-guests.log; uses of keys are counted, not logged"
    );
    if let Some(space) = status.space {
        let _ = writeln!(
            text,
            "room      {} of {} MiB are free on the home's file system",
            space.free >> 20,
            space.total >> 20
        );
    }
    if status.space.is_some() {
        let _ =
            writeln!(text, "backup    {}", status.backup_unix_s.map_or("never written".to_owned(), moment));
    }
    let verified = match status.program_verified {
        true => "matches the installed manifest",
        false => "not checked: the settings name no manifest",
    };
    let _ = writeln!(text, "program   {verified}");
    let outdated = &status.outdated;
    if *outdated != Outdated::default() {
        let mut who: Vec<String> = outdated.cards.iter().map(|card| format!("card {card}")).collect();
        who.extend(outdated.keeper.then(|| "the keeper".to_owned()));
        who.extend(outdated.daemon.then(|| "the daemon".to_owned()));
        let who = who.join(", ");
        let _ =
            writeln!(text, "outdated  not the installed program: {who}; `cryptand upgrade` replaces them");
    }
    text.push('\n');
    let header = ["card", "personality", "state", "pid", "level", "lanes", "queues", "started", "restarts"];
    text.push_str(&table(&header, status.cards.iter().map(card_row)));
    held_by_some(&mut text, held);
    holders(&mut text, &status.holders);
    for card in status.cards.iter().filter(|card| card.pid != 0) {
        isolation(&mut text, &format!("card {}", card.index), &card.isolation);
    }
    if status.keeper_pid.is_some() {
        isolation(&mut text, "the keeper", &status.keeper_isolation);
    }
    if !status.confined.is_empty() {
        text.push_str(
            "\ncards ended with requests of these tenants; `cryptand tenant lift NAME` ends what follows\n",
        );
        let header = ["tenant", "requests", "since", "until", "deaths alone", "with others", "quarantines"];
        text.push_str(&table(&header, status.confined.iter().map(confined_row)));
    }
    if status.pin_failures.is_closed {
        text.push_str(
            "\nno PIN is verified: the table of failures is full, or cannot be read (log/daemon.log)\n",
        );
    } else if status.pin_failures.refused != 0 {
        let refused = status.pin_failures.refused;
        let _ =
            writeln!(text, "\nverifications of PINs are refused of {refused}: `cryptand pin failures list`");
    }
    let _ = writeln!(text, "\nengine, in the caller's thread: level {}", engine.level);
    let lanes =
        engine.lanes.iter().map(|KindLanes { kind, lanes }| vec![(*kind).to_owned(), lanes.to_string()]);
    text.push_str(&table(&["operation", "lanes"], lanes));
    if !status.registers.is_empty() {
        text.push('\n');
        text.push_str(&officer::registers(&status.registers));
        for held in &status.records_under.held {
            let is_held =
                |row: &RegisterRow| row.current_pattern.map(|key| key.name()) == Some(held.key.pattern);
            let age = if status.registers.iter().any(is_held) { "current" } else { "old" };
            let register = held.key.register.name();
            let _ = writeln!(text, "{} record(s) under the {age} key of {register}", held.records);
        }
        if status.records_under.elsewhere != 0 {
            let _ = writeln!(
                text,
                "{} record(s) under master keys that no register holds: no card can use them (`cryptand help officers`)",
                status.records_under.elsewhere
            );
        }
        if !status.registers.iter().all(|row| row.is_sealed) {
            text.push_str(UNSEALED);
        }
    } else if held.iter().any(|(_, held)| !held.is_empty()) {
        text.push_str(
            "\nthe keeper holds no master keys, but cards do: `cryptand unseal`, or a card that ends restarts without keys\n",
        );
    } else if status.cards.iter().any(|card| card.personality == Personality::Coprocessor) {
        // If there are records, new keys would not open them.
        let or_new = if status.records == 0 { ", or `cryptand master-key load` for new ones" } else { "" };
        let _ = writeln!(text, "\nno master keys: `cryptand unseal`{or_new}");
    }
    text
}

/// The processes that hold queues, and the bounds that kept tenants from more.
fn holders(text: &mut String, holders: &QueueHolders) {
    if !holders.processes.is_empty() {
        text.push('\n');
        let header = ["tenant", "pid", "connections", "queues", "cards", "on one card", "memory"];
        text.push_str(&table(&header, holders.processes.iter().map(process_row)));
    }
    if holders.unlisted != 0 {
        let _ = writeln!(text, "{} more process(es) with fewer queues", holders.unlisted);
    }
    if !holders.refused.is_empty() {
        text.push_str(
            "\nqueues refused since the daemon began: threads share those that their process has; no setting raises these bounds \
             (`cryptand help queues`)\n",
        );
        let header = ["tenant", "bound", "limit", "times", "last"];
        text.push_str(&table(&header, holders.refused.iter().map(refused_row)));
    }
}

fn process_row(process: &ProcessQueues) -> Vec<String> {
    vec![
        process.tenant.clone(),
        process.pid.to_string(),
        process.connections.to_string(),
        process.queues.to_string(),
        process.cards.to_string(),
        process.queues_on_one_card.to_string(),
        format!("{:.1} MiB", process.memory_bytes as f64 / f64::from(1 << 20)),
    ]
}

fn refused_row(refused: &QueueRefusals) -> Vec<String> {
    let limit = match refused.bound.is_memory() {
        true => format!("{} MiB", refused.limit >> 20),
        false => refused.limit.to_string(),
    };
    vec![
        refused.tenant.clone().unwrap_or_else(|| "(others)".to_owned()),
        refused.bound.name().to_owned(),
        limit,
        refused.times.to_string(),
        moment(refused.last_unix_s),
    ]
}

/// Names the master keys that some coprocessors hold and others do not.
fn held_by_some(text: &mut String, held: &[(u32, HeldRegisters)]) {
    let all = held.iter().fold(0, |all, (_, held)| all | held.bits());
    for domain in HeldRegisters::from_bits(all).domains() {
        let any = HeldRegisters::from_bits(all).of(domain);
        let is_whole = |held: &HeldRegisters| held.of(domain) == any;
        let holders: Vec<u32> =
            held.iter().filter(|(_, held)| is_whole(held)).map(|(card, _)| *card).collect();
        for (card, held) in held.iter().filter(|(_, held)| !is_whole(held)) {
            let what = match held.of(domain) {
                RegisterSet::NONE => "no keys".to_owned(),
                some => format!("keys of {} only", names(some)),
            };
            let _ = writeln!(text, "domain {domain}: card {card} holds {what}; {}", others(&holders, any));
        }
    }
}

/// The coprocessors that hold these keys.
fn others(holders: &[u32], any: RegisterSet) -> String {
    let numbers: Vec<String> = holders.iter().map(u32::to_string).collect();
    match holders {
        [] => format!("no card holds all of {}", names(any)),
        [one] => format!("card {one} holds {}", names(any)),
        _ => format!("cards {} hold {}", numbers.join(", "), names(any)),
    }
}

fn names(registers: RegisterSet) -> String {
    registers.iter().map(Register::name).collect::<Vec<_>>().join(", ")
}

/// Prints how a process is isolated, which protections it lacks, and what to do about each.
fn isolation(text: &mut String, who: &str, isolation: &Isolation) {
    match isolation.landlock_abi {
        Some(version) => {
            let _ = writeln!(text, "{who} runs under Landlock, ABI version {version}");
        }
        None => {
            let _ = writeln!(
                text,
                "{who} runs without Landlock: the kernel has none, or it is not enabled (lsm=)"
            );
        }
    }
    if !isolation.missing.is_empty() {
        let _ = writeln!(text, "{who} lacks: {}", isolation.missing.join(", "));
    }
    let Some(memory) = isolation.memory else { return };
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let limit = memory.limit_bytes.map_or("no limit".to_owned(), mib);
    let raise = format!(
        "RLIMIT_MEMLOCK is {limit} where {} are wanted; start the daemon with more: LimitMEMLOCK= of its unit, `ulimit -l`",
        mib(memory.wanted_bytes)
    );
    match memory.pages {
        SecretPages::Unlocked => {
            let _ = writeln!(
                text,
                "{who}: none of its {} of secret memory is locked, and the kernel may swap it: {raise}",
                mib(memory.bytes)
            );
        }
        SecretPages::Locked => {
            let _ = writeln!(
                text,
                "{who}: its secret memory is locked but not memfd_secret's, so the kernel maps it: boot with secretmem.enable=1"
            );
        }
        SecretPages::Secret => {}
    }
    if memory.bytes < memory.wanted_bytes {
        let _ = writeln!(
            text,
            "{who}: its secret memory is {}, so that passes are shorter and long texts may be answered with 12/10002: {raise}",
            mib(memory.bytes)
        );
    }
}

/// Warning about master keys in use that are in no sealed copy.
pub const UNSEALED: &str = "\nDANGER: master keys in use are not in the sealed copy: when the keeper ends, they are gone, and all records under \
    them with them. `cryptand master-key seal`, now\n";

/// Whether daemon, keeper and cards run as separate users, and what that protects.
fn protection(status: &Status) -> String {
    match status.apart {
        None => {
            "no: daemon, keeper and cards are one user; whoever runs as that user gets the master keys".into()
        }
        Some(Apart { daemon, keeper, cards }) => format!(
            "daemon is user {daemon}, keeper {keeper}, cards {cards}; a daemon taken over uses keys and never gets master keys"
        ),
    }
}

fn card_row(card: &CardRow) -> Vec<String> {
    vec![
        card.index.to_string(),
        personality(card.personality).to_owned(),
        state(card.state).to_owned(),
        card.pid.to_string(),
        card.level.clone(),
        card.lanes.to_string(),
        card.queues.to_string(),
        format!("{:.1} ms", card.start_us as f64 / 1e3),
        card.restarts.to_string(),
    ]
}

pub(super) fn moment(unix_s: u64) -> String {
    time::to_text(u32::try_from(unix_s).unwrap_or(u32::MAX))
}

fn confined_row(row: &ConfinedRow) -> Vec<String> {
    let held_to = match row.confinement {
        Confinement::Refused => "refused: in quarantine",
        Confinement::Apart => "in passes of their own",
        Confinement::None => "as others'",
    };
    vec![
        row.name.clone(),
        held_to.to_owned(),
        moment(row.since_unix_s),
        moment(row.until_unix_s),
        row.deaths.to_string(),
        row.shared_deaths.to_string(),
        row.quarantines.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::QueueBound;

    #[test]
    fn bounds_that_kept_tenants_from_queues_are_named() {
        let said = |holders: &QueueHolders| {
            let mut text = String::new();
            super::holders(&mut text, holders);
            text
        };
        assert_eq!(said(&QueueHolders::default()), "");
        let process = ProcessQueues {
            tenant: "bank".to_owned(),
            pid: 77,
            connections: 2,
            queues: 9,
            cards: 3,
            queues_on_one_card: 4,
            memory_bytes: 3 << 19,
        };
        let refused = |tenant: Option<&str>, bound, limit| QueueRefusals {
            tenant: tenant.map(str::to_owned),
            bound,
            limit,
            times: 12,
            last_unix_s: 0,
        };
        let holders = QueueHolders {
            processes: vec![process],
            unlisted: 5,
            refused: vec![
                refused(Some("bank"), QueueBound::TenantMemory, 1 << 30),
                refused(None, QueueBound::CardQueues, 4096),
            ],
        };
        let text = said(&holders);
        let fields = |word: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{text}"));
            line.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(fields("77"), ["bank", "77", "2", "9", "3", "4", "1.5", "MiB"]);
        assert_eq!(fields("tenant-memory")[..5], ["bank", "tenant-memory", "1024", "MiB", "12"]);
        assert_eq!(fields("card-queues")[..4], ["(others)", "card-queues", "4096", "12"]);
        assert!(text.contains("5 more process(es)") && text.contains("cryptand help queues"), "{text}");
    }

    #[test]
    fn keys_that_only_some_cards_hold_are_named() {
        let all = HeldRegisters::NONE.with(0, RegisterSet::ALL);
        let said = |held: &[(u32, HeldRegisters)]| {
            let mut text = String::new();
            held_by_some(&mut text, held);
            text
        };
        assert_eq!(said(&[(0, all), (2, all)]), "");
        assert_eq!(said(&[(0, HeldRegisters::NONE), (2, HeldRegisters::NONE)]), "");
        let keys = names(RegisterSet::ALL);
        assert_eq!(
            said(&[(0, HeldRegisters::NONE), (2, all)]),
            format!("domain 0: card 0 holds no keys; card 2 holds {keys}\n")
        );
        let sym = RegisterSet::of(&[Register::Sym]);
        let [one, other] = [all.with(1, sym), all.with(0, sym)];
        let (name, both) = (names(sym), [(3, one), (4, all), (5, other)]);
        assert_eq!(
            said(&both),
            format!(
                "domain 0: card 5 holds keys of {name} only; cards 3, 4 hold {keys}\n\
                 domain 1: card 4 holds no keys; card 3 holds {name}\n\
                 domain 1: card 5 holds no keys; card 3 holds {name}\n"
            )
        );
        let aes = HeldRegisters::NONE.with(0, RegisterSet::of(&[Register::Aes]));
        assert!(said(&[(0, aes), (1, aes.with(0, sym))]).contains("no card holds all of"));
    }
}
