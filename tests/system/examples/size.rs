//! How long a daemon takes for each thing that programs ask of it, while more and more connections are open.
//!
//! ```text
//! cargo build --release && cargo run --release -p system-tests --example size -- [CONNECTIONS] [CARDS] [TENANTS]
//! ```
//! A throw-away home with 12 cards and 120 tenants gets 480 connections of one tenant, a quarter at a time, each with a
//! queue. At each size a connection is made and ended, a queue attached, a label opened, the state asked for and a page
//! of metrics made, several times; the medians are printed in microseconds. Then 64 threads begin at once, each with a
//! request. What grows with the connections shows by its column. The program fails where a request fails.

use facility::{Facility, Options};
use std::process::{Command, ExitCode};
use std::sync::Barrier;
use std::time::Instant;
use system_tests::{Installation, mac_key, null, program, settings};
use wire::Label;
use wire::control::Store;
use wire::tenant::{Change, Tenant};

/// Repetitions of each measurement.
const ROUNDS: usize = 21;
const THREADS: usize = 64;

/// Median time of several calls, in microseconds.
fn median(mut call: impl FnMut(usize)) -> f64 {
    let mut taken: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let begin = Instant::now();
            call(round);
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    taken.sort_unstable_by(f64::total_cmp);
    taken[ROUNDS / 2]
}

fn open(installation: &Installation) -> Facility {
    Facility::open(installation.home.folder(), Options::default()).expect("the daemon serves the home")
}

fn call(facility: &Facility) {
    assert!(facility.ask(0, &null()).expect("a card answers").codes().is_ok());
}

fn label(number: usize) -> Label {
    Label::new(&format!("SIZE.N{number}")).expect("a label")
}

/// Times at this size: a connection, a first request, a label, the state, a page of metrics.
fn measure(installation: &Installation, labels: &mut usize) -> [f64; 5] {
    let facility = open(installation);
    let connection = median(|_| drop(open(installation)));
    let fresh: Vec<Facility> = (0..ROUNDS).map(|_| open(installation)).collect();
    let first_request = median(|round| call(&fresh[round]));
    let opened = median(|_| {
        *labels += 1;
        facility.open_label(&label(*labels - 1)).expect("the label is there");
    });
    let state = median(|_| assert!(!facility.status().expect("the daemon answers").cards.is_empty()));
    let metrics = median(|_| {
        let mut command = Command::new(program("cryptand"));
        let output = command.args(["metrics", "--home"]).arg(installation.home.folder()).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    [connection, first_request, opened, state, metrics]
}

fn main() -> ExitCode {
    let mut numbers = Vec::new();
    for text in std::env::args().skip(1) {
        match text.parse::<usize>() {
            Ok(number) => numbers.push(number),
            Err(_) => {
                eprintln!("size: {text} is no number of connections, cards or tenants");
                return ExitCode::from(2);
            }
        }
    }
    let at = |place: usize, default: usize| numbers.get(place).copied().unwrap_or(default);
    let (connections, cards, tenants) = (at(0, 480), at(1, 12), at(2, 120));
    let settings = settings(u32::try_from(cards).expect("a number of cards"), 0);
    let installation = {
        let mut installation = Installation::stopped(&settings);
        installation.start();
        installation
    };
    installation.until_ready();
    let facility = open(&installation);
    for number in 0..tenants {
        facility.change(Change::TenantAdd(tenant(number))).expect("a tenant is added");
    }
    let key = mac_key(&facility);
    for number in 0..5 * ROUNDS {
        facility.record_create(Store::Des, &label(number), &key).expect("a record is written");
    }
    println!("{cards} cards, {tenants} tenants, medians of {ROUNDS} in microseconds");
    println!(
        "{:>11} {:>11} {:>13} {:>8} {:>8} {:>9}",
        "connections", "connection", "first request", "label", "state", "metrics"
    );
    let (mut all, mut labels) = (Vec::new(), 0);
    for part in 0..=4 {
        while all.len() < connections * part / 4 {
            let facility = open(&installation);
            call(&facility);
            all.push(facility);
        }
        let [connection, first_request, opened, state, metrics] = measure(&installation, &mut labels);
        println!(
            "{:>11} {connection:>11.0} {first_request:>13.0} {opened:>8.0} {state:>8.0} {metrics:>9.0}",
            all.len()
        );
    }
    let (facility, begin) = (open(&installation), Barrier::new(THREADS + 1));
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    begin.wait();
                    call(&facility);
                })
            })
            .collect();
        let since = Instant::now();
        begin.wait();
        threads.into_iter().for_each(|thread| thread.join().expect("a card answers"));
        since.elapsed()
    });
    println!(
        "{THREADS} threads that begin at once, until all have an answer: {:.0} us",
        taken.as_secs_f64() * 1e6
    );
    ExitCode::SUCCESS
}

fn tenant(number: usize) -> Tenant {
    Tenant {
        credential_sha256: Some(format!("{:064x}", number + 1)),
        ..Tenant::new(format!("tenant-{number}"), 0)
    }
}
