//! What is passed on of a report: one screen with the main rates, and its picture with a text, for messages and sites.

use super::Report;
use super::html::{Tile, is_quick, tiles};
use crate::kit::digits::{short, times};
use crate::kit::page::escape;
use crate::published::Row;
use maud::{DOCTYPE, PreEscaped, html};

/// The size that sites give the picture of a link, in pixels.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 60.0;
/// Where the bars begin and end.
const BARS: [f64; 2] = [560.0, 980.0];
/// Rates in the picture.
const TILES_MAX: usize = 6;
/// Characters of a title in the picture.
const TITLE_MAX: usize = 42;

const STYLE: &str = "
svg { --paper: #ffffff; --ink: #16202c; --soft: #5b6875; --bar: #1769aa }
@media (prefers-color-scheme: dark) { svg { --paper: #12171d; --ink: #e8edf2; --soft: #9aa7b4; --bar: #5aa9e6 } }
svg text { font-family: system-ui, 'DejaVu Sans', sans-serif; fill: var(--ink) }
svg .soft { fill: var(--soft) }
";

/// The picture: a bar for each main rate, as long as the logarithm of its ratio; none without a rate.
pub fn picture(report: &Report, published: &[Row]) -> Option<String> {
    let tiles = shown(report, published);
    let longest = tiles.iter().map(decades).reduce(f64::max)?;
    let step = (HEIGHT - 250.0) / tiles.len() as f64;
    let mut drawn = String::new();
    for (number, tile) in tiles.iter().enumerate() {
        let at = 190.0 + step * number as f64;
        let width = (decades(tile) / longest * (BARS[1] - BARS[0])).max(2.0);
        drawn += &format!(
            "<text x=\"{MARGIN}\" y=\"{:.0}\" font-size=\"21\">{}</text>\
             <rect x=\"{}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"26\" rx=\"3\" style=\"fill: var(--bar)\"/>\
             <text x=\"{}\" y=\"{:.0}\" font-size=\"26\" font-weight=\"700\" text-anchor=\"end\">{}</text>\n",
            at + 20.0,
            escape(shortened(&tile.title)),
            BARS[0],
            at,
            WIDTH - MARGIN,
            at + 22.0,
            escape(&times(tile.here / tile.published)),
        );
    }
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"{}\"><style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" style=\"fill: var(--paper)\"/>\n\
         <text x=\"{MARGIN}\" y=\"88\" font-size=\"46\" font-weight=\"700\">This machine beside a mainframe</text>\n\
         <text class=\"soft\" x=\"{MARGIN}\" y=\"132\" font-size=\"23\">{}</text>\n{drawn}\
         <text class=\"soft\" x=\"{MARGIN}\" y=\"{}\" font-size=\"19\">{}</text>\n</svg>\n",
        escape(&text(report, published)),
        escape(&machine(report)),
        HEIGHT - 30.0,
        escape(&conditions(report)),
    ))
}

/// A title without the conditions that make it too long for the picture.
fn shortened(title: &str) -> &str {
    let mut title = title;
    while title.chars().count() > TITLE_MAX
        && let Some((before, _)) = title.rsplit_once(", ")
    {
        title = before;
    }
    title
}

/// The page: the picture, the text beside it, and the rates in figures; none without a rate.
pub fn page(report: &Report, published: &[Row]) -> Option<String> {
    let picture = picture(report, published)?;
    let text = text(report, published);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="description" content=(text);
                meta property="og:title" content="This machine beside a mainframe";
                meta property="og:description" content=(text);
                meta property="og:image" content="share.svg";
                title { "This machine beside a mainframe" }
                style { "body { margin: 0 auto; max-width: 1200px; font: 16px/1.5 system-ui, sans-serif } \
                         svg { width: 100%; height: auto } p { padding: 0 5% }" }
            }
            body {
                (PreEscaped(&picture))
                p { (text) }
                p { a href="report.html" { "The whole report" } }
            }
        }
    };
    Some(page.into_string())
}

/// The text of the picture.
fn text(report: &Report, published: &[Row]) -> String {
    let rates: Vec<String> = shown(report, published)
        .iter()
        .map(|tile| {
            let Tile { title, here, published, unit } = tile;
            format!(
                "{title}: {}{unit}, {} of {}{unit}",
                short(*here),
                times(here / published),
                short(*published)
            )
        })
        .collect();
    format!(
        "{} beside the published figures of mainframe cryptography (2003 to 2008). {}. {}.",
        machine(report),
        rates.join("; "),
        conditions(report)
    )
}

fn machine(report: &Report) -> String {
    let machine = &report.machine;
    format!("{}, {} processors, level {}", machine.processor, machine.processors_online, report.level)
}

fn conditions(report: &Report) -> String {
    let run = if is_quick(report) { "A quick run, with wide spreads" } else { "A full run" };
    format!("{run}, by {}. Bars are logarithms of rates over the published ones", report.program)
}

fn shown(report: &Report, published: &[Row]) -> Vec<Tile> {
    let mut tiles = tiles(report, published);
    tiles.truncate(TILES_MAX);
    tiles
}

/// Decades of a ratio; a ratio of one and less has a tenth.
fn decades(tile: &Tile) -> f64 {
    (tile.here / tile.published).log10().max(0.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;
    use crate::report::html::tests::made;

    #[test]
    fn the_picture_has_a_bar_and_a_text_for_each_rate() {
        let (report, _) = made();
        let published = measurements();
        let picture = picture(&report, &published).unwrap();
        assert_eq!(picture.matches("<rect x=").count(), TILES_MAX);
        for tile in shown(&report, &published) {
            assert!(picture.contains(&escape(&times(tile.here / tile.published))), "{}", tile.title);
        }
        let whole = "DES MAC under a secure key, 64 bytes, one card, 7 jobs";
        assert_eq!(shortened(whole), "DES MAC under a secure key, 64 bytes");
        assert!(picture.contains(&format!("aria-label=\"{}", escape(&report.machine.processor))));
        assert!(
            !picture.contains("NaN") && !picture.contains(">inf") && !picture.contains("\"inf"),
            "{picture}"
        );
    }

    #[test]
    fn the_page_is_one_file_with_its_text_for_sites() {
        let (report, _) = made();
        let page = page(&report, &measurements()).unwrap();
        assert!(page.contains("property=\"og:description\"") && page.contains("href=\"report.html\""));
        for foreign in ["<script", "https://", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_report_without_these_rates_has_neither() {
        let (mut report, _) = made();
        (report.results.0, report.openpgp.0) = Default::default();
        assert_eq!((picture(&report, &measurements()), page(&report, &measurements())), (None, None));
    }
}
