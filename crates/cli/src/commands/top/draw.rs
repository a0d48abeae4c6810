//! Drawing the live view, at any size of the terminal.
//!
//! ```text
//! home, interval, what is chosen        1 line
//! sums over all cards, or what is wrong 1 line
//! cards                                 a title and a line each, up to a third of what is left
//! tenants                               the rest
//! verbs                                 where there is room, or keys go to it
//! the selected line in full             3 lines, where there is room
//! keys                                  1 line
//! ```

use super::columns::{Line, Pane, number, time};
use super::view::View;
use crate::watch::{Figures, Times};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as TextLine, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState};

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, view: &mut View) {
    let area = frame.area();
    let detail_height = if area.height >= 20 { 3 } else { 0 };
    let [head, body, detail, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(detail_height),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head_text(view, head.width)), head);
    for (pane, place) in places(view, body) {
        draw_pane(frame, view, pane, place);
    }
    frame.render_widget(Paragraph::new(detail_text(view)), detail);
    frame.render_widget(Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::REVERSED)), keys);
    if view.help {
        draw_help(frame, area);
    }
}

/// The area of each pane: all three if there is room, otherwise cards and the pane that keys go to.
fn places(view: &View, body: Rect) -> Vec<(Pane, Rect)> {
    let lines = |pane| Line::all(&view.shown, pane).len() as u16;
    if body.height < 6 {
        return vec![(view.focus, body)];
    }
    let cards = (lines(Pane::Cards) + 1).clamp(2, (body.height / 3).max(3));
    if body.height >= 30 {
        let tenants = (lines(Pane::Tenants) + 1).clamp(2, (body.height - cards) / 2);
        let constraints = [Constraint::Length(cards), Constraint::Length(tenants), Constraint::Min(1)];
        let places: [Rect; 3] = Layout::vertical(constraints).spacing(1).areas(body);
        return Pane::ALL.into_iter().zip(places).collect();
    }
    let other = if view.focus == Pane::Verbs { Pane::Verbs } else { Pane::Tenants };
    let [above, below] = Layout::vertical([Constraint::Length(cards), Constraint::Min(1)]).areas(body);
    vec![(Pane::Cards, above), (other, below)]
}

fn head_text(view: &View, width: u16) -> Text<'static> {
    let mut first = vec![
        Span::styled("cryptand top", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!("  every {:.2} s", view.interval.as_secs_f64())),
    ];
    let chosen = if view.since_start { "times since start" } else { "times of the interval" };
    first.push(Span::raw(format!("  {chosen}")));
    if view.paused {
        first.push(Span::styled("  PAUSED", Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)));
    }
    let used: usize = first.iter().map(Span::width).sum();
    let room = usize::from(width).saturating_sub(used + 2);
    if view.home.chars().count() <= room {
        first.push(Span::raw(format!("  {}", view.home)));
    }
    Text::from(vec![TextLine::from(first), second_line(view, width)])
}

/// The current problem, or the sums over all cards.
fn second_line(view: &View, width: u16) -> TextLine<'static> {
    if let Some(trouble) = &view.shown.trouble {
        let text = format!("trying again: {trouble}");
        return TextLine::from(Span::styled(text, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)));
    }
    let cards = &view.shown.cards;
    let rate: f64 = cards.iter().map(|card| card.activity.requests_per_s).sum();
    let busy: f64 = cards.iter().map(|card| card.activity.utilisation).sum();
    let waiting: u64 = cards.iter().map(|card| card.queue_length).sum();
    let share = if cards.is_empty() { 0.0 } else { busy / cards.len() as f64 };
    let said =
        format!(" {:5.1}% of {} card(s)  {}/s  {waiting} waiting", share * 100.0, cards.len(), number(rate));
    // Where the line has room for it, beside a bar that can still be read.
    let would_do = format!("  {} would do", view.shown.load.cards);
    let has_room = usize::from(width) >= said.len() + would_do.len() + 2 + BAR_WIDTH_MIN;
    let said = if has_room { said + &would_do } else { said };
    let bar_width = usize::from(width).saturating_sub(said.len() + 2).min(BAR_WIDTH_MAX);
    let full = ((share * bar_width as f64).round() as usize).min(bar_width);
    TextLine::from(vec![
        Span::raw("["),
        Span::styled("|".repeat(full), Style::new().fg(color_of(share))),
        Span::raw(" ".repeat(bar_width - full)),
        Span::raw("]"),
        Span::raw(said),
    ])
}

fn draw_pane(frame: &mut Frame<'_>, view: &mut View, pane: Pane, place: Rect) {
    let columns = pane.columns_within(place.width);
    let arranged = view.arranged(pane).clone();
    let (lines, selected) = view.lines(pane);
    let cell = |text: String, is_text: bool| {
        Cell::from(Text::from(text).alignment(if is_text { Alignment::Left } else { Alignment::Right }))
    };
    let header = columns.iter().map(|column| {
        let is_sorted = *column == arranged.sort;
        let title = cell(column.title(pane).to_owned(), column.is_text());
        if is_sorted {
            title.style(Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD))
        } else {
            title
        }
    });
    let color = if pane == view.focus { Color::Cyan } else { Color::Gray };
    let header = Row::new(header).style(Style::new().fg(Color::Black).bg(color));
    let rows = lines.iter().map(|line| {
        let cells = columns.iter().map(|column| {
            let shown = cell(column.text(line, view.since_start), column.is_text());
            shown.style(style_of(*column, line))
        });
        Row::new(cells.collect::<Vec<_>>())
    });
    let widths = columns.iter().map(|column| Constraint::Length(column.width(pane)));
    let table = Table::new(rows.collect::<Vec<_>>(), widths)
        .header(header)
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_offset(arranged.offset.min(lines.len())).with_selected(selected);
    frame.render_stateful_widget(table, place, &mut state);
    view.arranged_mut(pane).offset = state.offset();
}

fn style_of(column: super::columns::Column, line: &Line<'_>) -> Style {
    use super::columns::Column;
    match column {
        Column::Utilisation => Style::new().fg(color_of(line.activity.utilisation)),
        Column::State if line.card.is_some_and(|card| card.state != "ready") => {
            Style::new().fg(Color::Yellow)
        }
        Column::Refused if line.activity.refused_per_s > 0.0 => Style::new().fg(Color::Red),
        _ => Style::new(),
    }
}

fn color_of(share: f64) -> Color {
    match share {
        share if share >= 0.9 => Color::Red,
        share if share >= 0.6 => Color::Yellow,
        _ => Color::Green,
    }
}

/// All values of the selected line of the pane that keys go to, including those without room for a column.
fn detail_text(view: &View) -> Text<'static> {
    let (lines, selected) = view.lines(view.focus);
    let Some(line) = selected.and_then(|at| lines.get(at)) else {
        return Text::from("up and down select a line, which is then shown here in full");
    };
    let activity = line.activity;
    let first = match line.card {
        Some(card) => format!(
            "card {} {} {}, {} queue(s), a second: {} polls {} sleeps {} wakes {} refused",
            card.card,
            card.personality,
            card.state,
            card.queues,
            number(card.polls_per_s),
            number(card.sleeps_per_s),
            number(card.wakeups_per_s),
            number(activity.refused_per_s),
        ),
        None => format!(
            "{} on {} card(s), a second: {} refused, {} bytes in, {} out",
            line.name,
            line.cards,
            number(activity.refused_per_s),
            number(activity.bytes_in_per_s),
            number(activity.bytes_out_per_s),
        ),
    };
    let figures = |figures: &Figures| {
        let fill = figures.fill.map_or_else(|| "-".to_owned(), |fill| format!("{fill:.2}"));
        format!(
            "q {}  s {}  fill {fill}  {} requests",
            times(figures.queue_us),
            times(figures.service_us),
            number(figures.requests as f64)
        )
    };
    Text::from(vec![
        TextLine::from(first),
        TextLine::from(format!("interval: {}", figures(&activity.interval))),
        TextLine::from(format!("start:    {}", figures(&activity.since_start))),
    ])
}

fn times(of: Times) -> String {
    let [median, high, longest] = [of.p50, of.p99, of.max].map(|us| us.map_or_else(|| "-".to_owned(), time));
    format!("{median}/{high}/{longest}")
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let height = (HELP.lines().count() as u16 + 2).min(area.height);
    let width = (HELP.lines().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4).min(area.width);
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), place);
}

const KEYS: &str = "q quit  tab pane  up/down line  < > sort  r reverse  t start  p pause  +- time  ?";
const HELP: &str = " q, Esc          quit
 Tab, left/right cards, tenants, verbs
 up/down, PgUp.. select a line; it is shown in full below
 < >             sort by the column to the left or right
 r               reverse the order
 t               times and fill of the interval, or since the start
 p, space        pause; looks are passed over meanwhile
 + -             longer or shorter interval

 RATE/S requests answered a second   UTIL   time in batches / time
 ITR/S  rate / utilisation           FILL   requests / batches
 LANES  filled lanes / lanes         would do: cards, at 80 % of their time
 Q-...  from submission to the start of the pass
 S-...  from the start of the pass to its end
 P50, P99, MAX: median, 99th percentile, longest";
/// Longest bar of the sum.
const BAR_WIDTH_MAX: usize = 40;
/// Shortest bar beside how many cards would do.
const BAR_WIDTH_MIN: usize = 10;

#[cfg(test)]
mod tests {
    use super::super::view::tests::view;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(view: &mut View, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn everything_is_there_at_the_usual_sizes() {
        for (width, height) in [(80, 24), (200, 50)] {
            let mut view = view(4, 40);
            let shown = screen(&mut view, width, height);
            for word in ["cryptand top", "CARD", "TENANT", "RATE/S", "ITR/S", "accel", "tenant-39", "q quit"]
            {
                assert!(shown.contains(word), "{width}x{height} lacks {word}:\n{shown}");
            }
            assert_eq!(shown.contains("VERB"), height == 50);
            assert!(shown.contains("3 would do"), "{width}x{height}:\n{shown}");
        }
        assert!(screen(&mut view(4, 4), 200, 50).contains("POLL/S"));
    }

    #[test]
    fn any_size_is_drawn() {
        for width in [1, 2, 7, 30, 79, 300] {
            for height in [1, 2, 3, 5, 9, 24, 60] {
                for (cards, tenants) in [(0, 0), (64, 200)] {
                    let mut view = view(cards, tenants);
                    view.help = height % 2 == 0;
                    view.arranged_mut(Pane::Cards).selected = Some("0".to_owned());
                    screen(&mut view, width, height);
                }
            }
        }
    }

    #[test]
    fn a_selected_line_is_shown_in_full_and_stays_in_sight() {
        let mut view = view(12, 300);
        view.focus = Pane::Tenants;
        view.arranged_mut(Pane::Tenants).selected = Some("tenant-3".to_owned());
        let shown = screen(&mut view, 80, 24);
        assert!(shown.contains("tenant-3 on 1 card(s)") && shown.contains("start:"), "{shown}");
        assert_eq!(shown.matches("tenant-3 ").count(), 2, "{shown}");
    }

    #[test]
    fn trouble_is_told() {
        let mut view = view(1, 1);
        view.shown.trouble = Some("no daemon serves /home".to_owned());
        view.paused = true;
        let shown = screen(&mut view, 80, 24);
        assert!(shown.contains("trying again: no daemon serves") && shown.contains("PAUSED"), "{shown}");
    }
}
