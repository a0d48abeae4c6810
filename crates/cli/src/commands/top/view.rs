//! The state of the live view, and how keys change it.

use super::columns::{Column, Line, Pane};
use super::{INTERVAL_S_MAX, INTERVAL_S_MIN};
use crate::watch::{Interval, Look};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::cmp::Ordering;
use std::time::Duration;

/// What a key press asks of the loop around the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ends the program.
    Quit,
    /// Changes the interval between looks.
    Interval,
    /// Draws the view again.
    Nothing,
}

/// How a pane is sorted, and which of its lines is selected.
#[derive(Clone, Debug)]
pub struct Arranged {
    /// Column that it is sorted by.
    pub sort: Column,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Name of the selected line.
    pub selected: Option<String>,
    /// First line that is shown.
    pub offset: usize,
}

/// The state of the view.
pub struct View {
    /// The home's folder.
    pub home: String,
    /// Time between two looks.
    pub interval: Duration,
    /// Pane that keys go to.
    pub focus: Pane,
    /// Whether times and fill count from the cards' start, rather than in the last interval.
    pub since_start: bool,
    /// Whether the view is paused: new looks are discarded.
    pub paused: bool,
    /// Whether the help text is shown.
    pub help: bool,
    /// The interval that is shown.
    pub shown: Interval,
    before: Option<Look>,
    panes: [Arranged; 3],
}

impl View {
    /// The view of a home, before its first look.
    pub fn new(home: String, interval: Duration) -> Self {
        let arranged = |sort, descending| Arranged { sort, descending, selected: None, offset: 0 };
        let busiest = || arranged(Column::Rate, true);
        Self {
            home,
            interval,
            focus: Pane::Cards,
            since_start: false,
            paused: false,
            help: false,
            shown: Interval::default(),
            before: None,
            panes: [arranged(Column::Name, false), busiest(), busiest()],
        }
    }

    /// Takes a new look in; ignored while the view is paused.
    pub fn looked(&mut self, look: Look) {
        if self.paused {
            return;
        }
        let before = self.before.as_ref().unwrap_or(&look);
        self.shown = Interval::between(before, &look);
        self.before = Some(look);
    }

    /// The order and selection of a pane.
    pub fn arranged(&self, pane: Pane) -> &Arranged {
        &self.panes[pane as usize]
    }

    /// The same as [`View::arranged`], mutable.
    pub fn arranged_mut(&mut self, pane: Pane) -> &mut Arranged {
        &mut self.panes[pane as usize]
    }

    /// The lines of a pane as they are shown, and the position of the selected one.
    pub fn lines(&self, pane: Pane) -> (Vec<Line<'_>>, Option<usize>) {
        let arranged = self.arranged(pane);
        let mut lines = Line::all(&self.shown, pane);
        // A stable sort: equal lines stay in their own order, and none jumps about.
        lines.sort_by(|a, b| {
            let order = self.compare(arranged.sort, a, b);
            if arranged.descending { order.reverse() } else { order }
        });
        let selected = arranged.selected.as_ref();
        let selected = selected.and_then(|name| lines.iter().position(|line| line.name == *name));
        (lines, selected)
    }

    fn compare(&self, column: Column, a: &Line<'_>, b: &Line<'_>) -> Ordering {
        match column {
            // The order of cards is that of their numbers.
            Column::Name if a.card.is_some() => {
                a.card.map(|card| card.card).cmp(&b.card.map(|card| card.card))
            }
            column if column.is_text() => {
                column.text(a, self.since_start).cmp(&column.text(b, self.since_start))
            }
            column => {
                let value = |line| column.value(line, self.since_start).unwrap_or(-1.0);
                value(a).total_cmp(&value(b))
            }
        }
    }

    /// Changes the view as the key asks; returns what the loop has to do.
    pub fn key(&mut self, key: KeyEvent) -> Command {
        if key.kind == KeyEventKind::Release {
            return Command::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Command::Quit,
            KeyCode::Char('q') | KeyCode::F(10) => return Command::Quit,
            KeyCode::Esc if !self.help => return Command::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.help = !self.help,
            _ if self.help => self.help = false,
            KeyCode::Tab | KeyCode::Right => self.turn_to(1),
            KeyCode::BackTab | KeyCode::Left => self.turn_to(2),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::PageDown => self.select(10),
            KeyCode::PageUp => self.select(-10),
            KeyCode::Home => self.select(isize::MIN),
            KeyCode::End => self.select(isize::MAX),
            KeyCode::Char('>' | '.') => self.sort_by_next(1),
            KeyCode::Char('<' | ',') => self.sort_by_next(-1),
            KeyCode::Char('r') => {
                let arranged = self.arranged_mut(self.focus);
                arranged.descending = !arranged.descending;
            }
            KeyCode::Char('t') => self.since_start = !self.since_start,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('+' | '=') => return self.set_interval(2.0),
            KeyCode::Char('-') => return self.set_interval(0.5),
            _ => {}
        }
        Command::Nothing
    }

    fn turn_to(&mut self, steps: usize) {
        self.focus = Pane::ALL[(self.focus as usize + steps) % Pane::ALL.len()];
    }

    fn select(&mut self, by: isize) {
        let pane = self.focus;
        let (lines, selected) = self.lines(pane);
        let Some(last) = lines.len().checked_sub(1) else { return };
        let at = match selected {
            Some(at) => at.saturating_add_signed(by).min(last),
            None if by == isize::MAX => last,
            None => 0,
        };
        let name = lines[at].name.clone();
        self.arranged_mut(pane).selected = Some(name);
    }

    fn sort_by_next(&mut self, by: isize) {
        let pane = self.focus;
        let columns: Vec<Column> = pane.columns().collect();
        let arranged = self.arranged_mut(pane);
        let at = columns.iter().position(|column| *column == arranged.sort).unwrap_or(0);
        arranged.sort = columns[at.saturating_add_signed(by).min(columns.len() - 1)];
        arranged.descending = !arranged.sort.is_text();
    }

    fn set_interval(&mut self, factor: f64) -> Command {
        let seconds = (self.interval.as_secs_f64() * factor).clamp(INTERVAL_S_MIN, INTERVAL_S_MAX);
        self.interval = Duration::from_secs_f64(seconds);
        Command::Interval
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::watch::{Activity, CardActivity, HomeLoad, NamedActivity};

    fn activity(requests_per_s: f64) -> Activity {
        Activity { requests_per_s, utilisation: 0.5, ..Activity::default() }
    }

    /// A view of this many cards and tenants; a higher number is busier.
    pub fn view(cards: u32, tenants: u32) -> View {
        let mut view = View::new("/home/of/a/test".to_owned(), Duration::from_secs(1));
        let card = |card| CardActivity {
            card,
            personality: "accelerator",
            state: "ready",
            generation: 1,
            queues: 3,
            queue_length: 0,
            polls_per_s: 1.0,
            sleeps_per_s: 2.0,
            wakeups_per_s: 3.0,
            activity: activity(f64::from(card)),
        };
        let tenant = |number| NamedActivity {
            name: format!("tenant-{number}"),
            cards: 1,
            activity: activity(f64::from(number)),
        };
        view.shown.load = HomeLoad { busy: 2.5, work: 2.0, cards: 3 };
        view.shown.cards = (0..cards).map(card).collect();
        view.shown.tenants = (0..tenants).map(tenant).collect();
        view.shown.verbs = (0..3).map(tenant).collect();
        view
    }

    fn press(view: &mut View, codes: &[KeyCode]) -> Command {
        codes.iter().fold(Command::Nothing, |_, code| view.key(KeyEvent::from(*code)))
    }

    #[test]
    fn keys_sort_and_select() {
        let mut view = view(12, 30);
        let names = |view: &View, pane| -> Vec<String> {
            view.lines(pane).0.into_iter().map(|line| line.name).collect()
        };
        assert_eq!(names(&view, Pane::Cards)[..3], ["0", "1", "2"]);
        assert_eq!(names(&view, Pane::Tenants)[0], "tenant-29");
        press(&mut view, &[KeyCode::Char('r')]);
        assert_eq!(names(&view, Pane::Cards)[..2], ["11", "10"]);
        press(&mut view, &[KeyCode::Down, KeyCode::Down]);
        assert_eq!(view.lines(Pane::Cards).1, Some(1));
        // The selection stays with its line.
        press(&mut view, &[KeyCode::Char('r')]);
        assert_eq!(view.lines(Pane::Cards).1, Some(10));
        press(&mut view, &[KeyCode::End, KeyCode::PageDown]);
        assert_eq!(view.lines(Pane::Cards).1, Some(11));
        press(&mut view, &[KeyCode::Home]);
        assert_eq!(view.lines(Pane::Cards).1, Some(0));
        for _ in 0..40 {
            press(&mut view, &[KeyCode::Char('>')]);
        }
        assert_eq!(view.arranged(Pane::Cards).sort, Column::Requests);
        press(&mut view, &[KeyCode::Tab]);
        assert_eq!(view.focus, Pane::Tenants);
        press(&mut view, &[KeyCode::Left, KeyCode::Left]);
        assert_eq!(view.focus, Pane::Verbs);
    }

    #[test]
    fn a_selected_line_that_goes_is_selected_no_more() {
        let mut view = view(3, 0);
        press(&mut view, &[KeyCode::End]);
        view.shown.cards.pop();
        assert_eq!(view.lines(Pane::Cards).1, None);
        press(&mut view, &[KeyCode::Tab, KeyCode::Down, KeyCode::End]);
        assert_eq!(view.lines(Pane::Tenants).1, None);
    }

    #[test]
    fn keys_end_pause_and_change_the_interval() {
        let mut view = view(1, 1);
        assert_eq!(press(&mut view, &[KeyCode::Char('?'), KeyCode::Esc]), Command::Nothing);
        assert!(!view.help);
        for code in [KeyCode::Char('q'), KeyCode::Esc, KeyCode::F(10)] {
            assert_eq!(press(&mut view, &[code]), Command::Quit);
        }
        assert_eq!(press(&mut view, &[KeyCode::Char('+')]), Command::Interval);
        assert_eq!(view.interval, Duration::from_secs(2));
        press(&mut view, &[KeyCode::Char('-'); 20]);
        assert_eq!(view.interval, Duration::from_secs_f64(INTERVAL_S_MIN));
        press(&mut view, &[KeyCode::Char('p')]);
        assert!(view.paused);
    }
}
