//! Pages in HTML: one file without network and script, and tables that a phone shows row by row.

use super::chart;
use super::digits::{fixed, times};
use super::statistics::Summary;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style of pages.
const STYLE: &str = include_str!("page.css");

/// Text with the special characters of HTML escaped.
pub(crate) fn escape(text: &str) -> String {
    html! { (text) }.into_string()
}

/// A whole page of HTML with this title and body.
pub(crate) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(chart::STYLE)) (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// Charts side by side, each under its heading; charts without values are left out.
pub(crate) fn charts(charts: &[(&str, String)]) -> Markup {
    let drawn: Vec<_> = charts.iter().filter(|(_, chart)| !chart.is_empty()).collect();
    html! {
        @if !drawn.is_empty() {
            figure.pair {
                @for (title, chart) in drawn { div { @if !title.is_empty() { p.over { (title) } } (PreEscaped(chart)) } }
            }
        }
    }
}

/// A row of a table.
pub(crate) enum TableRow {
    /// A line of text over the rows below it.
    Head(String),
    /// Cells in the order of the columns.
    Cells(Vec<Cell>),
}

/// A cell of a table.
pub(crate) struct Cell {
    class: Option<&'static str>,
    content: Markup,
}

/// A table: the names of the columns, with line ends where a head may be parted, and the rows. Columns whose name
/// begins with `<` hold text, which stands at the left. Where a font makes it wider than the page, it scrolls in
/// a frame of its own.
pub(crate) fn table(columns: &[&str], rows: impl IntoIterator<Item = TableRow>) -> Markup {
    let names: Vec<String> =
        columns.iter().map(|column| column.trim_start_matches('<').replace('\n', " ")).collect();
    html! {
        div.held {
            table {
                thead {
                    tr {
                        @for column in columns {
                            th class=[column.starts_with('<').then_some("l")] {
                                @for (index, line) in column.trim_start_matches('<').lines().enumerate() {
                                    @if index > 0 { br; }
                                    (line)
                                }
                            }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        @match row {
                            TableRow::Head(text) => { tr.head { td colspan=(columns.len()) { (text) } } }
                            TableRow::Cells(cells) => {
                                tr {
                                    @for (cell, name) in cells.iter().zip(&names) {
                                        td class=[cell.class] data-is=(name) { (cell.content) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Cell {
    fn of(class: &'static str, content: Markup) -> Self {
        Self { class: (!class.is_empty()).then_some(class), content }
    }
}

/// The name of a row.
pub(crate) fn name(text: &str) -> Cell {
    Cell::of("l", html! { (text) })
}

/// A remark in the place of a figure.
pub(crate) fn said(text: &str) -> Cell {
    Cell::of("q", html! { (text) })
}

/// A cell with a rendered figure.
pub(crate) fn cell(content: impl maud::Render) -> Cell {
    Cell::of("", content.render())
}

/// A cell with a measured figure as text.
pub(crate) fn measured_text(text: &str) -> Cell {
    Cell::of("m", html! { (text) })
}

/// A measured figure over a published one; empty without a ratio.
pub(crate) fn ratio(ratio: Option<f64>) -> Cell {
    Cell::of("x", html! { @if let Some(ratio) = ratio { (times(ratio)) } })
}

/// A measured figure, and below it the published one and their ratio; `ratio` is false where the two are of
/// different sizes.
pub(crate) fn beside(
    published: Option<f64>,
    measured: f64,
    is_comparable: bool,
    figure: fn(f64) -> String,
) -> Cell {
    let content = html! {
        (figure(measured))
        @if let Some(published) = published {
            small {
                (figure(published))
                @if is_comparable && published > 0.0 { " " b { (times(measured / published)) } }
            }
        }
    };
    Cell::of("m", content)
}

/// A measured figure whose published one is kept aside.
pub(crate) fn aside(measured: &str) -> Cell {
    Cell::of("m", html! { (measured) small { i { "kept aside" } } })
}

/// A plain figure; empty without a value.
pub(crate) fn plain(value: Option<f64>, digits: usize) -> Cell {
    Cell::of("", html! { @if let Some(value) = value { (fixed(value, digits)) } })
}

/// A measured figure; empty without a value.
pub(crate) fn measured(value: Option<f64>, digits: usize) -> Cell {
    Cell::of("m", plain(value, digits).content)
}

/// Half the distance between the ends as a share of the median; empty for a single run.
pub(crate) fn spread(summary: Option<&Summary>) -> Cell {
    cell(match summary {
        None => String::new(),
        Some(Summary { runs: 1, .. }) => "1 run".to_owned(),
        Some(summary) => format!("{:.1} %", summary.spread() * 50.0),
    })
}

/// A share as per cent.
pub(crate) fn percent(share: Option<f64>, digits: usize) -> Cell {
    cell(share.map(|share| format!("{:.digits$} %", share * 100.0)).unwrap_or_default())
}

/// A measured share as per cent.
pub(crate) fn percent_measured(share: Option<f64>, digits: usize) -> Cell {
    Cell::of("m", percent(share, digits).content)
}

/// A time in milliseconds.
pub(crate) fn milliseconds(ns: f64) -> Cell {
    let ms = ns / 1e6;
    let digits = if ms < 0.1 { 3 } else { 2 };
    cell(format!("{ms:.digits$}"))
}

/// A time in microseconds.
pub(crate) fn microseconds(ns: f64) -> Cell {
    cell(format!("{:.1}", ns / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_what_people_read() {
        let text = |cell: Cell| cell.content.into_string();
        assert_eq!(text(milliseconds(9_183_000.0)), "9.18");
        assert_eq!(text(percent_measured(Some(0.13), 1)), "13.0 %");
        assert_eq!((text(plain(None, 1)), text(measured(Some(2.0), 1))), (String::new(), "2.0".to_owned()));
        let of = |is_comparable| text(beside(Some(172.86), 4.0, is_comparable, crate::kit::digits::figure));
        assert!(of(true).contains("173") && of(true).contains("\u{d7}\u{2009}0.02"), "{}", of(true));
        assert!(of(false).contains("173") && !of(false).contains('\u{d7}'));
    }

    #[test]
    fn a_table_names_the_column_of_each_cell() {
        let rows = [TableRow::Head("a<b".to_owned()), TableRow::Cells(vec![name("x"), plain(Some(1.0), 0)])];
        let text = table(&["<row", "caller\nper op"], rows).into_string();
        assert!(text.contains("<th class=\"l\">row</th><th>caller<br>per op</th>"), "{text}");
        assert!(text.contains("a&lt;b") && text.contains("<td data-is=\"caller per op\">1</td>"), "{text}");
    }
}
