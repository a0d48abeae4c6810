//! How long `cryptand key reencipher` takes for a whole key store, and what requests feel of it.
//!
//! ```text
//! cargo build --release && cargo run --release -p system-tests --example reencipher -- [RECORDS] [THREADS] [SECONDS]
//! ```
//! A throw-away home is filled with records (100,000, every second one of DES and of AES keys), its master keys are
//! changed, and the records are put under the new ones while threads (8) ask its one coprocessor for MACs, each at once
//! again. Printed are the seconds that the command took, the requests that failed, and the 99th percentile of the
//! others' times beside that of as many seconds (5) before. Every MAC is compared. The example fails where a request
//! failed or a record was left.

use facility::{Facility, officer};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::{Installation, expected_mac, mac_key, mac_of, mac_request, program};
use wire::Label;
use wire::control::{OfficerOrder, OfficerReply, Part, Register, Store, purpose_of_part};
use wire::verb::{KeyAlgorithm, clear_key_import_multiple as ckm};

const TEXT: &[u8; 64] = &[0x5A; 64];
/// Threads that fill the key store.
const WRITERS: u64 = 4;
/// Labels that the load uses: spread over the store, and few enough to be open at once.
const LABELS: u64 = 256;

fn main() -> ExitCode {
    let mut typed = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let records = typed.next().unwrap_or(100_000).max(1);
    let threads = typed.next().unwrap_or(8);
    let seconds = typed.next().unwrap_or(5);

    let installation = Installation::new(1, 0);
    installation.until_ready_with_keeper();
    let facility = installation.facility();
    let begun = Instant::now();
    fill(&installation, &facility, records);
    println!("{records} records written in {:.1} s", begun.elapsed().as_secs_f64());
    change_keys(&facility);

    let before =
        under_load(&installation, records, threads, || std::thread::sleep(Duration::from_secs(seconds)));
    let mut took = Duration::ZERO;
    let mut said = String::new();
    let during = under_load(&installation, records, threads, || {
        let begun = Instant::now();
        let mut command = Command::new(program("cryptand"));
        let command = command.arg("--home").arg(installation.home.folder()).args(["key", "reencipher"]);
        let output = command.output().expect("the command runs");
        took = begun.elapsed();
        said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    });
    let left = facility.status().expect("a status").records_under;
    print!("{said}");
    println!(
        "seconds           {:.2} ({:.0} records a second)",
        took.as_secs_f64(),
        records as f64 / took.as_secs_f64()
    );
    println!("failed requests   {} of {}", during.failed, during.times.len());
    for (name, load) in [("without", &before), ("with it", &during)] {
        let rate = load.times.len() as f64 / load.seconds;
        println!(
            "others, {name}   p50 {} us, p99 {} us, {rate:.0} a second",
            load.percentile(50),
            load.percentile(99)
        );
    }
    println!("p99, with it over without: {:.2}", during.percentile(99) as f64 / before.percentile(99) as f64);
    let is_whole = left.elsewhere == 0 && left.held.iter().filter(|held| held.records != 0).count() <= 2;
    if before.failed + during.failed == 0 && is_whole && said.starts_with(&format!("{records} record(s)")) {
        ExitCode::SUCCESS
    } else {
        eprintln!("requests failed, or records were left: {left:?}");
        ExitCode::FAILURE
    }
}

fn label(number: u64) -> Label {
    Label::new(&format!("PAY.K{number:07}")).expect("a label")
}

fn fill(installation: &Installation, facility: &Facility, records: u64) {
    let (des, aes) = (mac_key(facility), aes_key(facility));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (des, aes) = (&des, &aes);
            scope.spawn(move || {
                let facility = installation.facility();
                for number in (writer..records).step_by(WRITERS as usize) {
                    let (store, token) = if number % 2 == 0 { (Store::Des, des) } else { (Store::Aes, aes) };
                    facility.record_create(store, &label(number), token).expect("a record");
                }
            });
        }
    });
}

fn aes_key(facility: &Facility) -> Vec<u8> {
    let ask = ckm::Ask { algorithm: Some(KeyAlgorithm::Aes), clear_key: &[0x3C; 32], ..ckm::Ask::new() };
    let reply = facility.ask(0, &ask).expect("a card imports keys");
    assert!(reply.codes().has_output(), "{}", reply.codes());
    reply.got().target_key_identifier.to_vec()
}

fn change_keys(facility: &Facility) {
    for register in [Register::Sym, Register::Aes] {
        for (part, byte) in [(Part::First, 0x11), (Part::Last, 0x80)] {
            let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey).expect("a key")
            else {
                panic!("no start-up key")
            };
            let value = vec![byte; register.key_bytes()];
            let sealed =
                officer::seal(&key, &purpose_of_part(0, register, part), &value).expect("a sealed part");
            let order = OfficerOrder::LoadPart { domain: 0, register, part, sealed };
            assert!(matches!(facility.officer(order), Ok(OfficerReply::PartLoaded { .. })));
        }
    }
    assert_eq!(facility.officer(OfficerOrder::Set { domain: 0 }).expect("an answer"), OfficerReply::Done);
}

/// What requests felt.
struct Load {
    /// Of each request, in microseconds, sorted.
    times: Vec<u32>,
    failed: u64,
    seconds: f64,
}

impl Load {
    fn percentile(&self, percent: usize) -> u32 {
        self.times.get(self.times.len() * percent / 100).copied().unwrap_or_default()
    }
}

/// Does something while threads ask for MACs with DES keys of the store, one request at a time each.
fn under_load(installation: &Installation, records: u64, threads: u64, act: impl FnOnce()) -> Load {
    let (stop, failed, all) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(Vec::new()));
    let (expected, begun) = (expected_mac(TEXT), Instant::now());
    let facility = installation.facility();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (facility, stop, failed, all) = (&facility, &stop, &failed, &all);
            scope.spawn(move || {
                let mut times = Vec::new();
                let mut number = thread;
                while !stop.load(Ordering::Relaxed) {
                    // An even number: a DES key.
                    let name = label((number % LABELS) * (records / LABELS).max(1) / 2 * 2).to_field();
                    let begun = Instant::now();
                    let reply = facility.ask(0, &mac_request(&name, TEXT));
                    times.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
                    let is_right =
                        reply.is_ok_and(|reply| reply.codes().has_output() && mac_of(&reply) == expected);
                    failed.fetch_add(u64::from(!is_right), Ordering::Relaxed);
                    number += threads;
                }
                all.lock().expect("no thread panics").extend(times);
            });
        }
        act();
        stop.store(true, Ordering::Relaxed);
    });
    let mut times = all.into_inner().expect("no thread panics");
    times.sort_unstable();
    Load { times, failed: failed.into_inner(), seconds: begun.elapsed().as_secs_f64() }
}
