//! The part of a report's page on queues and tenants: what all experiments share of it.

use super::{Experiment, Outcome, Outcomes, balance, jobs, shared, tenants, waiting};
use crate::published::Row;
use crate::report::chart::escape;
use crate::statistics::Summary;
use std::fmt::Write;

/// Where the part begins.
pub(crate) const ANCHOR: &str = "queues";
/// Its heading.
pub(crate) const TITLE: &str = "Queues and tenants";

/// The part; empty where no experiment ran.
pub(crate) fn section(outcomes: &Outcomes, published: &[Row]) -> String {
    if outcomes.0.is_empty() {
        return String::new();
    }
    let mut page = Page { out: String::new(), outcomes, published };
    let _ = writeln!(page.out, "<h2 id=\"{ANCHOR}\">{TITLE}</h2>");
    page.remark(
        "How cards are shared, divided and waited for. The load is clear-key RSA with 1024 bits, private operations \
         where nothing else is said. Experiments marked <span class=\"timed\">timed</span> run on timed cards: processes that do \
         the real work and hold each answer until a card of the published speed would have given it, so that \
         two processors carry twelve of them. Their speed is given, not found; what is found is what queues, \
         limits and routing make of it. So they are compared as ratios. A ring is a published figure, a thin \
         upright line the spread of the runs, and utilisation of a timed card its rate over its published full rate.",
    );
    for experiment in Experiment::ALL.into_iter().filter(|experiment| outcomes.has(*experiment)) {
        match experiment {
            Experiment::Shared => shared::show(&mut page),
            Experiment::Tenants => tenants::show(&mut page),
            Experiment::Balance => balance::show(&mut page),
            Experiment::Jobs => jobs::show(&mut page),
            Experiment::Waiting => waiting::show(&mut page),
        }
    }
    page.out
}

/// A page in the making.
pub(super) struct Page<'a> {
    out: String,
    pub outcomes: &'a Outcomes,
    published: &'a [Row],
}

impl Page<'_> {
    /// An experiment's heading; says whether it ran on timed cards.
    pub fn heading(&mut self, experiment: Experiment, title: &str, timed: bool) {
        let mark = if timed { " <span class=\"timed\">timed</span>" } else { "" };
        let _ = writeln!(self.out, "<h3 id=\"{ANCHOR}-{experiment}\">{title}{mark}</h3>");
    }

    /// A paragraph, as it stands in HTML.
    pub fn remark(&mut self, text: &str) {
        let _ = writeln!(self.out, "<p class=\"remark\">{text}</p>");
    }

    /// Charts side by side; those with nothing to draw are left out.
    pub fn charts(&mut self, charts: &[(&str, String)]) {
        let drawn: Vec<_> = charts.iter().filter(|(_, chart)| !chart.is_empty()).collect();
        if drawn.is_empty() {
            return;
        }
        self.out.push_str("<figure><div class=\"pair\">");
        for (title, chart) in drawn {
            let _ = write!(self.out, "<div><p class=\"over\">{}</p>{chart}</div>", escape(title));
        }
        self.out.push_str("</div></figure>\n");
    }

    /// A table: the names of the columns, the first of them of text, and the rows.
    pub fn table(&mut self, columns: &[&str], rows: Vec<TableRow>) {
        self.out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
        for (index, column) in columns.iter().enumerate() {
            let class = if index == 0 { " class=\"l\"" } else { "" };
            let _ = write!(self.out, "<th{class}>{column}</th>");
        }
        self.out.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            let _ = match row {
                TableRow::Head(text) => writeln!(
                    self.out,
                    "<tr class=\"head\"><td colspan=\"{}\">{}</td></tr>",
                    columns.len(),
                    escape(&text)
                ),
                TableRow::Cells(cells) => writeln!(self.out, "<tr>{}</tr>", cells.concat()),
            };
        }
        self.out.push_str("</tbody>\n</table></div>\n");
    }

    /// The outcome of a case.
    pub fn of(&self, experiment: Experiment, name: &str) -> Option<&Outcome> {
        self.outcomes.of(experiment, name)
    }

    /// The published figure of a row.
    pub fn row(&self, id: &str) -> Option<f64> {
        self.published.iter().find(|row| row.id() == id)?.value
    }
}

/// A row of a table.
pub(super) enum TableRow {
    /// A line of text over the rows below it.
    Head(String),
    /// Its cells, in HTML.
    Cells(Vec<String>),
}

/// The name of a row.
pub(super) fn name(text: &str) -> String {
    format!("<td class=\"l\">{}</td>", escape(text))
}

/// A plain figure; empty where there is none.
pub(super) fn plain(value: Option<f64>, digits: usize) -> String {
    value.map_or("<td></td>".to_owned(), |value| format!("<td>{}</td>", fixed(value, digits)))
}

/// A measured figure; empty where there is none.
pub(super) fn measured(value: Option<f64>, digits: usize) -> String {
    value.map_or("<td class=\"m\"></td>".to_owned(), |value| {
        format!("<td class=\"m\">{}</td>", fixed(value, digits))
    })
}

/// Half the distance between the ends as a share of the median; of one run there is none.
pub(super) fn spread(summary: Option<&Summary>) -> String {
    let text = match summary {
        None => String::new(),
        Some(Summary { runs: 1, .. }) => "1 run".to_owned(),
        Some(summary) => format!("{:.1} %", summary.spread() * 50.0),
    };
    format!("<td>{text}</td>")
}

/// A share as per cent.
pub(super) fn percent(share: Option<f64>, digits: usize) -> String {
    let text = share.map(|share| format!("{:.digits$} %", share * 100.0)).unwrap_or_default();
    format!("<td>{text}</td>")
}

/// A measured share as per cent.
pub(super) fn percent_measured(share: Option<f64>, digits: usize) -> String {
    percent(share, digits).replacen("<td>", "<td class=\"m\">", 1)
}

/// A time in milliseconds.
pub(super) fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    let digits = if ms < 0.1 { 3 } else { 2 };
    format!("<td>{ms:.digits$}</td>")
}

/// A time in microseconds.
pub(super) fn microseconds(ns: f64) -> String {
    format!("<td>{:.1}</td>", ns / 1e3)
}

fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && digit.is_ascii_digit() {
            out.push(',');
        }
        out.push(digit);
    }
    if rest.is_empty() { out } else { format!("{out}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!((fixed(1234567.4, 0), fixed(0.5, 2)), ("1,234,567".into(), "0.50".into()));
        assert_eq!(milliseconds(9_183_000.0), "<td>9.18</td>");
        assert_eq!(percent_measured(Some(0.13), 1), "<td class=\"m\">13.0 %</td>");
        assert_eq!(
            (plain(None, 1), measured(Some(2.0), 1)),
            ("<td></td>".into(), "<td class=\"m\">2.0</td>".into())
        );
    }
}
