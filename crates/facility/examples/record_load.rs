//! Records what cards do while others load them: `record_load HOME MILLISECONDS CARDS...`.
//!
//! The home needs a running daemon. Prints, for each card and every two milliseconds, the requests
//! answered since, the queue length, and the mean time and fill of the passes since, for the replay in
//! `src/route/`.

use facility::{CardCounters, Facility, Options};
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(home), Some(span)) = (given.next(), given.next()) else {
        return Err("usage: record_load HOME MILLISECONDS CARDS...".into());
    };
    let span = Duration::from_millis(span.parse()?);
    let cards: Vec<u32> = given.map(|card| card.parse()).collect::<Result<_, _>>()?;
    let facility = Facility::open(home.as_ref(), Options::default())?;
    let read = |card: &u32| facility.counters(*card);
    let mut before: Vec<CardCounters> = cards.iter().map(read).collect::<Result<_, _>>()?;
    println!("ms,card,requests,queue_length,pass_us,fill");
    let begin = Instant::now();
    let mut next = STEP;
    while begin.elapsed() < span {
        std::thread::sleep(next.saturating_sub(begin.elapsed()));
        for (place, card) in cards.iter().enumerate() {
            let now = read(card)?;
            let was = std::mem::replace(&mut before[place], now.clone());
            let (requests, batches) = (now.requests - was.requests, now.batches - was.batches);
            let pass_us = (now.busy_ns - was.busy_ns) / 1000 / batches.max(1);
            let fill = requests as f64 / batches.max(1) as f64;
            let ms = next.as_millis();
            println!("{ms},{place},{requests},{},{pass_us},{fill:.1}", now.queue_length);
        }
        next += STEP;
    }
    Ok(())
}
