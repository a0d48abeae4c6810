//! What the way to a card and back costs: `verb_round_trip HOME [accelerator|coprocessor] [jobs]`.
//!
//! The home needs a running daemon, and one card of that personality. For each poll mode of the client:
//! median and 99th percentile of the round trip of an empty verb, one request at a time, and the rate with
//! several in flight; beside each the processor time of this process and of the cards for a request.
//! The cards' own mode is that of the home's settings.

use facility::{Facility, Options, Reply, Selection, Ticket};
use std::time::{Duration, Instant};
use wire::control::{Personality, PollMode};
use wire::verb::{Filled, TypedAsk, null};

const SPAN: Duration = Duration::from_millis(1000);
/// The empty verb.
const NULL: null::Ask<'static> = null::Ask::new();
const MODES: [PollMode; 4] =
    [PollMode::Spin, PollMode::Adaptive, PollMode::Sleep, PollMode::Every { interval_us: 10_000 }];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut given = std::env::args().skip(1);
    let home = given.next().ok_or("usage: verb_round_trip HOME [accelerator|coprocessor] [jobs]")?;
    let personality = match given.next().as_deref() {
        None | Some("coprocessor") => Personality::Coprocessor,
        Some("accelerator") => Personality::Accelerator,
        Some(other) => return Err(format!("no personality is called {other}").into()),
    };
    let jobs: usize = given.next().map_or(Ok(8), |text| text.parse())?;
    for poll in MODES {
        let selection = Selection::personality(personality);
        let facility = Facility::open(home.as_ref(), Options { poll, selection, ..Options::default() })?;
        let pids: Vec<u32> = facility
            .cards()?
            .into_iter()
            .filter(|card| card.personality == personality)
            .map(|card| card.pid)
            .collect();
        println!("{poll:?}");
        let before = processor_ns(&pids)?;
        let mut spans = alone(&facility)?;
        spans.sort_unstable();
        let count = spans.len();
        let (median, p99) = (spans[count / 2], spans[count * 99 / 100]);
        print!("  1 in flight: median {median:?}, p99 {p99:?}, {:.0}/s", count as f64 / SPAN.as_secs_f64());
        per_request(before, processor_ns(&pids)?, count);
        let before = processor_ns(&pids)?;
        let count = many(&facility, jobs)?;
        print!("  {jobs} in flight: {:.0}/s", count as f64 / SPAN.as_secs_f64());
        per_request(before, processor_ns(&pids)?, count);
    }
    Ok(())
}

fn alone(facility: &Facility) -> Result<Vec<Duration>, Failure> {
    let (mut filled, mut reply, mut spans) = (Filled::default(), Reply::new(), Vec::new());
    let null = NULL.arguments(&mut filled);
    let begin = Instant::now();
    while begin.elapsed() < SPAN {
        let sent = Instant::now();
        facility.call_into(0, &null, &mut reply)?;
        spans.push(sent.elapsed());
    }
    Ok(spans)
}

fn many(facility: &Facility, jobs: usize) -> Result<usize, Failure> {
    let (mut filled, mut reply, mut count) = (Filled::default(), Reply::new(), 0);
    let null = NULL.arguments(&mut filled);
    let begin = Instant::now();
    let mut tickets: Vec<Ticket> = (0..jobs).map(|_| facility.submit(0, &null)).collect::<Result<_, _>>()?;
    while begin.elapsed() < SPAN {
        let index = Ticket::wait_any(&mut tickets).ok_or("every ticket is collected")?;
        tickets[index].try_wait_into(&mut reply).ok_or("it is done")??;
        facility.submit_into(&mut tickets[index], 0, &null)?;
        count += 1;
    }
    Ok(count)
}

/// Processor time of this process and of others, in nanoseconds.
fn processor_ns(pids: &[u32]) -> Result<[u64; 2], Failure> {
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let mut cards = 0;
    for pid in pids {
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
        cards += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok([own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64, cards])
}

fn per_request(before: [u64; 2], after: [u64; 2], count: usize) {
    let us = |side: usize| (after[side] - before[side]) as f64 / 1e3 / count.max(1) as f64;
    println!(", processor time {:.2} us here, {:.2} us on cards", us(0), us(1));
}
