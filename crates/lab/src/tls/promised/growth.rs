//! Handshakes of a server as its loops rise, with the key on as many cards and in the process.

use super::sides::{Bench, Case, Who};
use crate::experiment::growth::{self, GrowthRun, Linear, Series, Workers};
use crate::experiment::promise::Measure;
use crate::kit::machine::processors_online;
use crate::load::LabError;
use crate::tls::cards::{Cards, Wanted};
use crate::tls::desk::TlsKey;
use crate::tls::drive::Drive;
use crate::tls::server::{Server, Serving};

/// The numbers of loops, each of which takes a thread of the driver, and a card that holds the key.
pub(crate) const SERIES: [Series; 2] = [
    Series { what: "loops of the TLS terminator, a card and a driver's thread each:", each: 3, cards: 0 },
    Series {
        what: "loops of the TLS terminator, the key in the process, a driver's thread each:",
        each: 2,
        cards: 0,
    },
];

/// A server, the number of its loops, and the cards that hold its key.
struct LoopSide {
    loops: usize,
    case: Case,
    cards: Option<Cards>,
    server: Server,
}

/// Full handshakes by TLS 1.3 with RSA-2048 of servers with one loop to as many as there are processors.
pub(super) fn loops(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let processors = processors_online();
    let mut rows = Vec::new();
    for (who, place) in [(Who::Card, "on cards"), (Who::Process, "in the process")] {
        let mut sides = Vec::new();
        for loops in growth::counts(processors) {
            sides.extend(side(bench, who, loops)?);
        }
        let runs = growth::in_turn(bench.effort.rounds, sides.len(), |at| run(bench, who, &mut sides[at]))?;
        let Some(of_one) = runs.first() else { continue };
        for (side, runs) in sides.iter().zip(&runs) {
            let loops = if side.loops == 1 { "1 loop".to_owned() } else { format!("{} loops", side.loops) };
            let case = format!("growth of the TLS terminator, RSA-2048 {place}: {loops}");
            let linear = Linear { times: side.loops, of: "1 loop", runs: of_one };
            let linear = (side.loops > 1).then_some(&linear);
            rows.push(growth::row(&case, "handshakes/s", runs, linear, processors));
        }
    }
    rows.extend(growth::note(&SERIES, processors));
    Ok(rows)
}

/// Starts a side; none without the program.
fn side(bench: &mut Bench, who: Who, loops: usize) -> Result<Option<LoopSide>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let case = Case {
        serving: Serving { loops, processor: None, ..case.serving },
        drive: Drive {
            threads: loops,
            connections: loops * case.drive.connections,
            processor: None,
            ..case.drive
        },
        ..case
    };
    let wanted = Wanted { cards: loops, processor: None, timings: None };
    let mut cards = match who {
        Who::Card => Some(Cards::start(&bench.desk, &wanted, &bench.stop)?),
        Who::Process | Who::Nginx => None,
    };
    let server = with_cards(bench, &mut cards, |bench| bench.serve(&case, who))?;
    Ok(server.map(|server| LoopSide { loops, case, cards, server }))
}

fn run(bench: &mut Bench, who: Who, side: &mut LoopSide) -> Result<GrowthRun, LabError> {
    let LoopSide { loops, case, cards, server } = side;
    let (ran, idle) = growth::with_idle(|| with_cards(bench, cards, |bench| bench.drive(case, who, server)));
    let driven = ran?.driven;
    let workers = |name, seconds: f64| {
        let in_use = seconds / driven.seconds.max(f64::MIN_POSITIVE);
        Workers { name, count: *loops, in_use }
    };
    let mut all = vec![workers("loops", driven.booked_of("server"))];
    if who == Who::Card {
        all.push(workers("cards", driven.booked_of("card")));
    }
    all.push(workers("the driver's threads", driven.driver.user_s + driven.driver.system_s));
    Ok(GrowthRun { rate: driven.per_second, workers: all, idle })
}

/// Does something while these cards are those of the bench.
fn with_cards<T>(bench: &mut Bench, cards: &mut Option<Cards>, run: impl FnOnce(&mut Bench) -> T) -> T {
    let mut swap = |bench: &mut Bench| {
        if let Some(cards) = cards.as_mut() {
            std::mem::swap(&mut bench.cards, cards);
        }
    };
    swap(bench);
    let result = run(bench);
    swap(bench);
    result
}
