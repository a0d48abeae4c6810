//! What the way to a card and back costs: `round_trip HOME [accelerator|coprocessor] [jobs]`.
//!
//! The home needs a running daemon. Prints the median and the 99th percentile of the round trip of an
//! empty verb, one request at a time, and the rate with several in flight.

use facility::{Facility, Options, Reply, Selection, Ticket};
use std::time::{Duration, Instant};
use wire::control::{Personality, PollMode};
use wire::frame::Arguments;
use wire::verb::Verb;

const ROUNDS: usize = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let home = given.next().ok_or("usage: round_trip HOME [accelerator|coprocessor] [jobs]")?;
    let personality = match given.next().as_deref() {
        None | Some("coprocessor") => Personality::Coprocessor,
        Some("accelerator") => Personality::Accelerator,
        Some(other) => return Err(format!("no personality is called {other}").into()),
    };
    let jobs: usize = given.next().map_or(Ok(8), |text| text.parse())?;
    for poll in [PollMode::Spin, PollMode::Adaptive, PollMode::Sleep] {
        let selection = Selection::personality(personality);
        let options = Options { poll, selection, ..Options::default() };
        let facility = Facility::open(home.as_ref(), options)?;
        let null = Arguments::new(Verb::Null);
        let mut reply = Reply::new();
        let rounds = if poll == PollMode::Sleep { ROUNDS / 10 } else { ROUNDS };
        let mut spans: Vec<Duration> = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begin = Instant::now();
            facility.call_into(0, &null, &mut reply)?;
            spans.push(begin.elapsed());
        }
        spans.sort_unstable();
        let (median, p99) = (spans[rounds / 2], spans[rounds * 99 / 100]);
        let begin = Instant::now();
        let mut tickets = Vec::new();
        for _ in 0..jobs {
            tickets.push(facility.submit(0, &null)?);
        }
        for _ in 0..rounds {
            let index = Ticket::wait_any(&mut tickets).ok_or("every ticket is collected")?;
            tickets[index].try_wait_into(&mut reply).ok_or("it is done")??;
            facility.submit_into(&mut tickets[index], 0, &null)?;
        }
        let rate = rounds as f64 / begin.elapsed().as_secs_f64();
        println!("{poll:?}: median {median:?}, p99 {p99:?}; {jobs} in flight: {rate:.0}/s");
    }
    Ok(())
}
