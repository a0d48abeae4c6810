//! `cryptand top`: live activity of cards and tenants. docs/howto/observing.md has the formula of every column.
//!
//! | need | module |
//! |---|---|
//! | read the cards' samples, and compute differences | [`crate::watch`] |
//! | columns: titles, widths, values | [`columns`] |
//! | selection, and the effect of keys | [`view`] |
//! | drawing | [`draw`] |

mod columns;
mod draw;
mod view;

use crate::args::Top;
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::session;
use crate::signals::interrupt;
use crate::watch::{Interval, Look, Watcher};
use columns::{Line, Pane};
use ratatui::crossterm::event::{self, Event};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use view::{Command, View};

/// Shows the activity until stopped, or for a given number of looks.
pub fn run(asked: Option<&Path>, top: &Top) -> Result<(), Failure> {
    if !(top.interval >= INTERVAL_S_MIN && top.interval <= INTERVAL_S_MAX) {
        return Err(Failure::Usage(format!(
            "--interval {}: from {INTERVAL_S_MIN} to {INTERVAL_S_MAX} seconds",
            top.interval
        )));
    }
    let folder = session::home_folder(asked)?;
    let mut watcher = Watcher::new(folder.clone());
    let first = watcher.first_look()?;
    let interval = Duration::from_secs_f64(top.interval);
    let count = if top.once { Some(1) } else { top.count };
    if top.json || count.is_some() || !std::io::stdout().is_terminal() {
        return lines(watcher, first, interval, count.unwrap_or(0), top.json);
    }
    let view = View::new(folder.display().to_string(), interval);
    let mut terminal = ratatui::init();
    let outcome = live(watcher, first, view, &mut terminal);
    ratatui::restore();
    outcome
}

fn lines(
    mut watcher: Watcher,
    first: Look,
    interval: Duration,
    count: u64,
    json: bool,
) -> Result<(), Failure> {
    let (mut before, mut looks) = (first, 0);
    while count == 0 || looks < count {
        std::thread::sleep(interval);
        let now = watcher.look();
        let between = Interval::between(&before, &now);
        if json {
            print_json(&between)?;
        } else {
            if let Some(trouble) = &between.trouble {
                eprintln!("cryptand: {trouble}; trying again");
            }
            print(&plain(&between))?;
        }
        before = now;
        looks += 1;
    }
    Ok(())
}

/// All panes as text with every column, for output that is not a terminal.
fn plain(interval: &Interval) -> String {
    let mut text = String::new();
    for pane in Pane::ALL {
        let lines = Line::all(interval, pane);
        if lines.is_empty() {
            continue;
        }
        let columns: Vec<_> = pane.columns().collect();
        let header: Vec<_> = columns.iter().map(|column| column.title(pane)).collect();
        let rows = lines.iter().map(|line| columns.iter().map(|column| column.text(line, false)).collect());
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table(&header, rows));
    }
    text.push('\n');
    text.push_str(&interval.load.words(interval.cards.len()));
    text.push('\n');
    text
}

/// Events that the live view waits for.
enum Happened {
    Looked(Box<Look>),
    Input(Event),
    /// Reading from the terminal failed or ended.
    InputFailed(std::io::Error),
}

fn live(
    watcher: Watcher,
    first: Look,
    mut view: View,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), Failure> {
    let stop = interrupt()?;
    let (happened_to, happened) = sync_channel(HAPPENED_MAX);
    let (interval_to, intervals) = sync_channel(1);
    let inputs = happened_to.clone();
    // Both threads end with the process: one waits for the terminal, the other stops when its receiver is gone.
    let thread = std::thread::Builder::new;
    thread().spawn(move || read_input(&inputs)).map_err(Failure::thread)?;
    thread().spawn(move || keep_looking(watcher, &intervals, &happened_to)).map_err(Failure::thread)?;
    interval_to.send(view.interval).map_err(|_| Failure::Unexpected("the thread that looks at the cards"))?;
    view.looked(first);
    loop {
        terminal.draw(|frame| draw::draw(frame, &mut view)).map_err(Failure::io("draw"))?;
        match happened.recv_timeout(STOP_LOOK_EVERY) {
            Ok(Happened::Looked(look)) => view.looked(*look),
            Ok(Happened::InputFailed(cause)) => return Err(Failure::io("read the terminal")(cause)),
            Ok(Happened::Input(Event::Key(key))) => match view.key(key) {
                Command::Quit => return Ok(()),
                // A look that is under way takes up the next interval.
                Command::Interval => drop(interval_to.try_send(view.interval)),
                Command::Nothing => {}
            },
            Ok(Happened::Input(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

fn read_input(happened: &SyncSender<Happened>) {
    loop {
        let (input, is_last) = match event::read() {
            Ok(input) => (Happened::Input(input), false),
            Err(cause) => (Happened::InputFailed(cause), true),
        };
        if happened.send(input).is_err() || is_last {
            return;
        }
    }
}

/// Takes a reading at once when the interval changes, and then at every interval.
fn keep_looking(mut watcher: Watcher, intervals: &Receiver<Duration>, happened: &SyncSender<Happened>) {
    let Ok(mut interval) = intervals.recv() else { return };
    let mut next = Instant::now() + interval;
    loop {
        match intervals.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(changed) => interval = changed,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        next = Instant::now() + interval;
        if happened.send(Happened::Looked(Box::new(watcher.look()))).is_err() {
            return;
        }
    }
}

/// Shortest and longest interval in seconds.
const INTERVAL_S_MIN: f64 = 0.05;
const INTERVAL_S_MAX: f64 = 3600.0;
/// Capacity of the queue of inputs and looks.
const HAPPENED_MAX: usize = 16;
/// How often a signal is looked for while nothing happens.
const STOP_LOOK_EVERY: Duration = Duration::from_millis(250);
