//! Rows of bulk data, of the fill of passes, of one connection at a time, of both processors, and of the hybrid group.

use super::handshakes::nginx_name;
use super::sides::{Bench, Case, Ran, Side, Who, of, row};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::machine::processors_online;
use crate::kit::statistics::{compare, median};
use crate::load::LabError;
use crate::queues::promised::Groups;
use crate::tls::cards::{Cards, Wanted};
use crate::tls::desk::TlsKey;
use crate::tls::drive::{Data, Drive, Length};
use crate::tls::server::{Serving, Work};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Bytes of the bulk row.
const BULK_BYTES: u64 = 1_000_000_000;
/// Bytes of the bulk row in short rounds.
const BULK_BYTES_MIN: u64 = 10_000_000;
/// Bytes of a client's request to the backend of the bulk row.
const ASKED_BYTES: usize = 16;
/// Bytes of a write of the backend.
const WRITE_BYTES: usize = 256 << 10;
/// Share of a server's capacity at which latency is stated.
const LOADED: f64 = 0.8;

/// One connection, 1 GB from a backend over TCP.
pub(super) fn bulk(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let share = (bench.effort.seconds / 1.0).min(1.0);
    let bytes = ((BULK_BYTES as f64 * share) as u64).max(BULK_BYTES_MIN);
    let backend = bound(own(1), || backend(bytes))?;
    let mut case = bench.case(TlsKey::Rsa2048);
    case.serving.work = Work::Backend(backend);
    case.drive = Drive {
        connections: 1,
        length: Length::Transactions(1),
        warm_up: 0.0,
        data: Data::Messages { send: ASKED_BYTES as u64, receive: bytes, messages: 1, packets: 1 },
        ..case.drive
    };
    case.per_transaction = bytes as f64 / 1e6;
    let sides = bench.sides(&case, &[Who::Nginx, Who::Process])?;
    let Some(ours) = of(&sides, Who::Process) else { return Ok(Vec::new()) };
    let nginx = nginx_name(bench) + " `stream`";
    let mut bound = ours.where_it_goes(None);
    if let Some(theirs) = of(&sides, Who::Nginx) {
        bound += &format!("; nginx: {}", theirs.where_it_goes(None));
    }
    let name = format!("{} MB from a TCP backend, one connection", bytes / 1_000_000);
    Ok(vec![row(
        &name,
        "MB per processor s",
        ours,
        (&nginx, of(&sides, Who::Nginx)),
        Some((1.2, 1.5)),
        bound,
    )])
}

/// Bytes each way of connections that are forwarded.
const FORWARDED_BYTES: u64 = 2048;

/// Full handshakes, and 2 KiB each way to and from a backend, a connection each.
pub(super) fn forwarded(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let backend = bound(own(1), echo)?;
    let mut case = bench.case(TlsKey::Rsa2048);
    case.serving.work = Work::Backend(backend);
    let (send, receive) = (FORWARDED_BYTES, FORWARDED_BYTES);
    case.drive.data = Data::Messages { send, receive, messages: 1, packets: 1 };
    let sides = bench.sides(&case, &[Who::Nginx, Who::Card])?;
    let Some(card) = of(&sides, Who::Card) else { return Ok(Vec::new()) };
    let nginx = nginx_name(bench) + " `stream`";
    let mut bound = card.where_it_goes(None);
    if let Some(theirs) = of(&sides, Who::Nginx) {
        bound += &format!("; nginx: {}", theirs.where_it_goes(None));
    }
    let name = "full TLS 1.3, RSA-2048 on a card, 2 KiB each way to a TCP backend";
    Ok(vec![row(name, "per processor s", card, (&nginx, of(&sides, Who::Nginx)), None, bound)])
}

/// Starts a backend that echoes one message on each connection; a thread for each connection.
fn echo() -> Result<SocketAddr, LabError> {
    let what = "start a backend";
    let listener = TcpListener::bind("127.0.0.1:0").map_err(LabError::io(what))?;
    let address = listener.local_addr().map_err(LabError::io(what))?;
    let serve = move || {
        for stream in listener.incoming().flatten() {
            let answer = move || {
                let mut stream = stream;
                let mut text = [0; FORWARDED_BYTES as usize];
                // A client that leaves early is no error.
                let _ = stream.read_exact(&mut text).and_then(|()| stream.write_all(&text));
            };
            if thread::Builder::new().name("backend".to_owned()).spawn(answer).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("backend".to_owned()).spawn(serve).map_err(LabError::io(what))?;
    Ok(address)
}

/// Starts a backend that answers the first bytes of each connection with `bytes` bytes, in a thread that ends with this
/// process.
fn backend(bytes: u64) -> Result<SocketAddr, LabError> {
    let what = "start a backend";
    let listener = TcpListener::bind("127.0.0.1:0").map_err(LabError::io(what))?;
    let address = listener.local_addr().map_err(LabError::io(what))?;
    let serve = move || {
        let text = vec![b'x'; WRITE_BYTES];
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut asked = [0; ASKED_BYTES];
            if stream.read_exact(&mut asked).is_err() {
                continue;
            }
            let mut left = bytes;
            while left > 0 {
                let count = left.min(text.len() as u64) as usize;
                if stream.write_all(&text[..count]).is_err() {
                    break;
                }
                left -= count as u64;
            }
        }
    };
    thread::Builder::new().name("backend".to_owned()).spawn(serve).map_err(LabError::io(what))?;
    Ok(address)
}

/// The fill of passes, wherever loop and card run.
pub(super) fn fill(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let mut rows = vec![filled("on one processor", &bench.sides(&case, &[Who::Card])?, String::new())];
    if processors_online() > 1 {
        let wanted = Wanted { cards: 1, processor: own(1), timings: None };
        let apart = Cards::start(&bench.desk, &wanted, &bench.stop)?;
        let together = std::mem::replace(&mut bench.cards, apart);
        let sides = bench.sides(&case, &[Who::Card]);
        bench.cards = together;
        rows.push(filled("on two processors, the driver beside the card", &sides?, String::new()));
    }
    for weights in [(1, 3), (3, 1)] {
        let place = format!("in scheduling groups of weight {}:{}, one processor", weights.0, weights.1);
        let card = bench.cards.processes()?.first().map_or(0, |(pid, _)| *pid);
        // The server inherits the group of the thread that starts it. Plain nice values end with the thread.
        let (sides, means) = thread::scope(|scope| {
            let run = || {
                let groups = Groups::of(weights, card)?;
                Ok::<_, LabError>((bench.sides(&case, &[Who::Card])?, groups.means.clone()))
            };
            scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        rows.push(filled(&place, &sides, format!("by {means}; ")));
    }
    Ok(rows)
}

fn filled(place: &str, sides: &[Side], means: String) -> Measure {
    let fills: Vec<f64> = sides.iter().flat_map(|side| side.values(|ran| ran.fill)).collect();
    let bound = sides.first().map_or(String::new(), |side| side.where_it_goes(None));
    let name = format!("mean fill of passes, loop and card {place}");
    let row = Measure::alone(&name, "of 8", &fills, Some(Promise::AtLeast(6.0)));
    Measure { stretch: Some(7.0), ..row }.bounded_by(means + &bound)
}

/// One connection at a time: what the way to a card adds to a handshake.
pub(super) fn lonely(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let mut case = bench.case(TlsKey::Rsa2048);
    case.drive.connections = 1;
    let sides = bench.sides(&case, &[Who::Nginx, Who::Process, Who::Card])?;
    let (Some(card), Some(process)) = (of(&sides, Who::Card), of(&sides, Who::Process)) else {
        return Ok(Vec::new());
    };
    let p50 = |side: &Side| side.values(|ran| ran.driven.handshake_us.p50);
    let added: Vec<f64> = p50(card).iter().zip(p50(process)).map(|(card, process)| card - process).collect();
    let mut bound = card.where_it_goes(None);
    if let Some(theirs) = of(&sides, Who::Nginx) {
        bound += &format!("; nginx: median {:.0} us", median(&p50(theirs)));
    }
    let row = Measure::alone(
        "one connection at a time, median handshake over in-process",
        "us",
        &added,
        Some(Promise::Below(40.0)),
    );
    Ok(vec![
        Measure { stretch: Some(0.0), ..row }.bounded_by(bound),
        Measure::compared(
            "one connection at a time, median handshake with the key on a card",
            "us",
            "the same server, key in its process",
            compare(&p50(card), &p50(process)),
            None,
        ),
    ])
}

/// Handshakes of a server with a loop for each processor, the driver on the same processors; then latency at a share of
/// that rate.
pub(super) fn both_processors(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let processors = processors_online();
    let wanted = Wanted { cards: processors, processor: None, timings: None };
    let all = Cards::start(&bench.desk, &wanted, &bench.stop)?;
    let one = std::mem::replace(&mut bench.cards, all);
    let rows = on_all(bench, processors);
    bench.cards = one;
    rows
}

fn on_all(bench: &Bench, processors: usize) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let case = Case {
        serving: Serving { loops: processors, processor: None, ..case.serving },
        drive: Drive { threads: processors, processor: None, ..case.drive },
        ..case
    };
    let sides = bench.sides(&case, &[Who::Nginx, Who::Card])?;
    let Some(card) = of(&sides, Who::Card) else { return Ok(Vec::new()) };
    let nginx = nginx_name(bench);
    let rate = |side: &Side| side.values(|ran| ran.driven.per_second);
    let share = card.median(|ran| {
        let own = ran.driven.driver.user_s + ran.driven.driver.system_s;
        own / (own + ran.driven.booked_s()).max(1e-9)
    });
    let bound =
        format!("{:.0} % of the processor time is the driver's; {}", 100.0 * share, card.where_it_goes(None));
    let name = format!("full TLS 1.3, RSA-2048 on cards, {processors} processors with the driver");
    let theirs = of(&sides, Who::Nginx);
    let compared = theirs.and_then(|theirs| compare(&rate(card), &rate(theirs)));
    let mut row = Measure::alone(&name, "handshakes/s", &rate(card), None).bounded_by(bound);
    if compared.is_some() {
        row = row.against(&nginx, compared);
    }
    let mut rows = vec![row];
    let capacity = median(&rate(card));
    let Some(server) = bench.serve(&case, Who::Card)? else { return Ok(rows) };
    let slower =
        Case { drive: Drive { rate: Some((LOADED * capacity).max(1.0)), ..case.drive.clone() }, ..case };
    let mut latencies = Vec::new();
    for _ in 0..bench.effort.rounds {
        match bench.drive(&slower, Who::Card, &server) {
            Ok(ran) => latencies.push(ran.driven.transaction_us.p99),
            // A server that falls behind does not spoil the rows above.
            Err(LabError::Program(why)) => {
                rows.push(
                    Measure::alone("99 of 100 handshakes at 80 % of that", "us", &[0.0], None)
                        .bounded_by(why),
                );
                return Ok(rows);
            }
            Err(error) => return Err(error),
        }
    }
    let name = format!("99 of 100 handshakes at 80 % of that, {:.0} a second", LOADED * capacity);
    rows.push(
        Measure::alone(&name, "us", &latencies, None)
            .bounded_by("from the time at which a connection was to begin to the end of its handshake"),
    );
    Ok(rows)
}

/// The hybrid group, and what it costs beside X25519.
pub(super) fn hybrid(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let plain = bench.case(TlsKey::Rsa2048);
    let mut hybrid = plain.clone();
    hybrid.drive.group = Some("X25519MLKEM768".to_owned());
    let Some(server) = bench.serve(&plain, Who::Card)? else { return Ok(Vec::new()) };
    let mut runs: [Vec<Ran>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..bench.effort.rounds {
        for (case, runs) in [&plain, &hybrid].into_iter().zip(&mut runs) {
            runs.push(bench.drive(case, Who::Card, &server)?);
        }
    }
    let [plain, hybrid] = runs.map(|runs| Side::of_runs(Who::Card, runs));
    let bound = hybrid.where_it_goes(None);
    let name = "full TLS 1.3 with X25519MLKEM768, RSA-2048 on a card";
    Ok(vec![row(name, "per processor s", &hybrid, ("the same with X25519", Some(&plain)), None, bound)])
}
