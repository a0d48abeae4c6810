//! `cryptand top`: the cards at work, from the counters on their status pages.
//!
//! Between two looks, per card: rate = requests / elapsed; utilisation = time in batches / elapsed;
//! ITR (internal throughput rate) = rate / utilisation, what the card would do at full load;
//! fill = requests / batches.

use super::status::{personality, state};
use super::{print_json, table};
use crate::args::Top;
use crate::failure::Failure;
use crate::session;
use facility::{CardCounters, Facility};
use ratatui::crossterm::event::{self, Event, KeyCode};
use ratatui::widgets::Paragraph;
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::control::CardRow;

/// What happened on one card between two looks.
#[derive(Debug, Serialize)]
struct Row {
    card: u32,
    personality: &'static str,
    state: &'static str,
    requests_per_s: f64,
    utilisation: f64,
    itr_per_s: Option<f64>,
    fill: Option<f64>,
    queue_length: u64,
    sleeps_per_s: f64,
    wakeups_per_s: f64,
    bytes_in_per_s: f64,
    bytes_out_per_s: f64,
    refused_per_s: f64,
}

impl Row {
    /// What happened between two looks; none where another process has become the card since.
    fn between(card: &CardRow, before: &CardCounters, now: &CardCounters, elapsed: Duration) -> Option<Self> {
        if before.generation != now.generation {
            return None;
        }
        let seconds = elapsed.as_secs_f64();
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
        let requests = rate(before.requests, now.requests);
        let batches = rate(before.batches, now.batches);
        let utilisation = (rate(before.busy_ns, now.busy_ns) / 1e9).min(1.0);
        Some(Self {
            card: card.index,
            personality: personality(card.personality),
            state: state(card.state),
            requests_per_s: requests,
            utilisation,
            itr_per_s: (utilisation > 0.0).then(|| requests / utilisation),
            fill: (batches > 0.0).then(|| requests / batches),
            queue_length: now.queue_length,
            sleeps_per_s: rate(before.sleeps, now.sleeps),
            wakeups_per_s: rate(before.wakeups, now.wakeups),
            bytes_in_per_s: rate(before.bytes_in, now.bytes_in),
            bytes_out_per_s: rate(before.bytes_out, now.bytes_out),
            refused_per_s: rate(before.refused, now.refused),
        })
    }

    fn cells(&self) -> Vec<String> {
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        vec![
            self.card.to_string(),
            self.personality.to_owned(),
            self.state.to_owned(),
            format!("{:.0}", self.requests_per_s),
            format!("{:.1} %", self.utilisation * 100.0),
            optional(self.itr_per_s, 0),
            optional(self.fill, 2),
            self.queue_length.to_string(),
            format!("{:.0}", self.sleeps_per_s),
            format!("{:.1}", self.bytes_in_per_s / 1e6),
            format!("{:.1}", self.bytes_out_per_s / 1e6),
        ]
    }
}

const HEADER: &[&str] = &[
    "card",
    "personality",
    "state",
    "requests/s",
    "busy",
    "ITR/s",
    "fill",
    "queued",
    "sleeps/s",
    "MB/s in",
    "MB/s out",
];

/// One look at every card.
struct Look {
    at: Instant,
    cards: Vec<(CardRow, CardCounters)>,
}

impl Look {
    fn take(facility: &Facility) -> Result<Self, Failure> {
        let mut cards = Vec::new();
        for card in facility.cards()? {
            // A card that is just being started again is left out of this look.
            if let Ok(counters) = facility.counters(card.index) {
                cards.push((card, counters));
            }
        }
        Ok(Self { at: Instant::now(), cards })
    }

    fn rows_since(&self, before: &Self) -> Vec<Row> {
        let elapsed = self.at.duration_since(before.at);
        let rows = self.cards.iter().filter_map(|(card, now)| {
            let (_, earlier) = before.cards.iter().find(|(earlier, _)| earlier.index == card.index)?;
            Row::between(card, earlier, now, elapsed)
        });
        rows.collect()
    }
}

/// Watches until stopped, or as many looks as asked for.
pub fn run(asked: Option<&Path>, top: &Top) -> Result<(), Failure> {
    if !(top.interval >= 0.05 && top.interval <= 3600.0) {
        return Err(Failure::Usage(format!("--interval {}: from 0.05 to 3600 seconds", top.interval)));
    }
    let facility = session::connect(asked)?;
    let interval = Duration::from_secs_f64(top.interval);
    if top.json || !std::io::stdout().is_terminal() {
        return lines(&facility, interval, top.count, top.json);
    }
    let mut terminal = ratatui::init();
    let outcome = live(&facility, interval, top.count, &mut terminal);
    ratatui::restore();
    outcome
}

fn lines(facility: &Facility, interval: Duration, count: u64, json: bool) -> Result<(), Failure> {
    let mut before = Look::take(facility)?;
    let mut looks = 0;
    while count == 0 || looks < count {
        std::thread::sleep(interval);
        let now = Look::take(facility)?;
        let rows = now.rows_since(&before);
        if json {
            print_json(&rows)?;
        } else {
            super::print(&table(HEADER, rows.iter().map(Row::cells)))?;
        }
        before = now;
        looks += 1;
    }
    Ok(())
}

fn live(
    facility: &Facility,
    interval: Duration,
    count: u64,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), Failure> {
    let mut before = Look::take(facility)?;
    let mut text = "looking...".to_owned();
    let mut looks = 0;
    loop {
        let shown = format!("cryptand top - every {:.1} s, q ends\n\n{text}", interval.as_secs_f64());
        terminal
            .draw(|frame| frame.render_widget(Paragraph::new(shown), frame.area()))
            .map_err(Failure::io("draw"))?;
        let next = before.at + interval;
        while let Some(left) = next.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if event::poll(left).map_err(Failure::io("read the terminal"))?
                && let Event::Key(key) = event::read().map_err(Failure::io("read the terminal"))?
                && (matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
                    || (key.code == KeyCode::Char('c')
                        && key.modifiers.contains(event::KeyModifiers::CONTROL)))
            {
                return Ok(());
            }
        }
        let now = Look::take(facility)?;
        text = table(HEADER, now.rows_since(&before).iter().map(Row::cells));
        before = now;
        looks += 1;
        if count != 0 && looks >= count {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{CardState, Personality};

    fn card() -> CardRow {
        CardRow {
            index: 3,
            generation: 1,
            personality: Personality::Accelerator,
            state: CardState::Ready,
            pid: 1,
            level: "avx512".to_owned(),
            lanes: 8,
            queues: 1,
            missing: Vec::new(),
            start_us: 1,
            restarts: 0,
            poll: Default::default(),
            processors: None,
            dedicated: Vec::new(),
        }
    }

    #[test]
    fn rates_are_differences_over_time() {
        let before =
            CardCounters { generation: 1, requests: 100, batches: 50, busy_ns: 0, ..CardCounters::default() };
        let now = CardCounters { requests: 500, batches: 100, busy_ns: 1_000_000_000, ..before.clone() };
        let row = Row::between(&card(), &before, &now, Duration::from_secs(2)).unwrap();
        assert_eq!(
            (row.requests_per_s, row.utilisation, row.itr_per_s, row.fill),
            (200.0, 0.5, Some(400.0), Some(8.0))
        );
        let idle = Row::between(&card(), &now, &now, Duration::from_secs(2)).unwrap();
        assert_eq!((idle.itr_per_s, idle.fill), (None, None));
        let other = CardCounters { generation: 2, ..now.clone() };
        assert!(Row::between(&card(), &now, &other, Duration::from_secs(2)).is_none());
    }
}
