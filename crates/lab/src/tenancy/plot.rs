//! Charts of the experiments: grouped bars and lines, both over a linear axis from nought, with spread and
//! published figures.

use crate::report::chart::{Ink, escape, short};
use crate::statistics::Summary;
use std::fmt::Write;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Height of the plot within its frame.
const DEEP: f64 = HEIGHT - TOP - BOTTOM;

/// A bar: what was measured, and what was published.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bar {
    /// Median with its ends.
    pub measured: Option<Summary>,
    /// The published figure.
    pub published: Option<f64>,
}

/// One series of bars: its name, the number of its colour, and a bar for each group.
pub(super) struct Bars {
    pub name: String,
    pub colour: usize,
    pub bars: Vec<Bar>,
}

/// One line: points of (x, median with its ends).
pub(super) struct Line {
    pub name: String,
    pub ink: Ink,
    pub points: Vec<(f64, Summary)>,
}

/// A summary in another unit.
pub(super) fn scaled(summary: &Summary, by: f64) -> Summary {
    let Summary { runs, median, min, max, mad } = *summary;
    Summary { runs, median: median * by, min: min * by, max: max * by, mad: mad * by }
}

/// A figure without spread.
pub(super) fn exact(value: f64) -> Summary {
    Summary { runs: 1, median: value, min: value, max: value, mad: 0.0 }
}

/// The end of an axis from nought that holds all values, and the distance of its marks.
fn axis(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let rough = most / 4.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * decade).find(|step| *step >= rough)?;
    Some(((most / step).ceil() * step, step))
}

fn frame(title: &str, unit: &str, under: &str, (end, step): (f64, f64)) -> String {
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    let mut mark = 0.0;
    while mark <= end * 1.000_001 {
        let y = height(mark, end);
        let label =
            if mark == 0.0 { "0".to_owned() } else { short(mark).replace(".00", "").replace(".0", "") };
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0
        );
        mark += step;
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text class=\"axis\" transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        escape(under),
        TOP + DEEP / 2.0,
        escape(unit)
    );
    out
}

fn height(value: f64, end: f64) -> f64 {
    TOP + (1.0 - value / end) * DEEP
}

/// Grouped bars. Empty text where there is nothing to draw.
pub(super) fn bars(title: &str, unit: &str, under: &str, groups: &[String], series: &[Bars]) -> String {
    let all = || series.iter().flat_map(|series| &series.bars);
    let values = all().flat_map(|bar| [bar.measured.map(|measured| measured.max), bar.published]);
    let Some((end, step)) = axis(values.flatten()) else { return String::new() };
    let mut out = frame(title, unit, under, (end, step));
    let wide = (WIDTH - LEFT - RIGHT) / groups.len().max(1) as f64;
    let bar_wide = (wide * 0.78 / series.len().max(1) as f64).min(46.0);
    for (index, group) in groups.iter().enumerate() {
        let middle = LEFT + (index as f64 + 0.5) * wide;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM + 17.0,
            escape(group)
        );
        for (place, series_of) in series.iter().enumerate() {
            let Some(bar) = series_of.bars.get(index) else { continue };
            let x = middle + (place as f64 - series.len() as f64 / 2.0) * bar_wide;
            one_bar(&mut out, bar, series_of, group, (x, bar_wide), end);
        }
    }
    out.push_str("</svg><p class=\"legend\">");
    for Bars { name, colour, .. } in series {
        let _ = write!(out, "<span><i class=\"swatch s{colour}\"></i>{}</span>", escape(name));
    }
    if all().any(|bar| bar.published.is_some()) {
        out.push_str("<span><i class=\"ring\"></i>published</span>");
    }
    out.push_str("</p>");
    out
}

fn one_bar(out: &mut String, bar: &Bar, series: &Bars, group: &str, (x, wide): (f64, f64), end: f64) {
    let (name, colour) = (escape(&series.name), series.colour);
    let middle = x + wide / 2.0;
    if let Some(measured) = bar.measured {
        let y = height(measured.median, end);
        let _ = write!(
            out,
            "<rect class=\"bar s{colour}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{name}, {}: {}</title></rect>\
             <line class=\"whisker\" x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            x + 1.0,
            wide - 2.0,
            HEIGHT - BOTTOM - y,
            escape(group),
            short(measured.median),
            height(measured.max, end),
            height(measured.min, end)
        );
    }
    if let Some(published) = bar.published {
        let _ = write!(
            out,
            "<circle class=\"was s{colour}\" cx=\"{middle:.1}\" cy=\"{:.1}\" r=\"5\"><title>{name}, {}, published: {}</title></circle>",
            height(published, end),
            escape(group),
            short(published)
        );
    }
}

/// Lines over a logarithmic count. Empty text where there is nothing to draw.
pub(super) fn lines(title: &str, unit: &str, under: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let Some((end, step)) = axis(points().map(|(_, summary)| summary.max)) else { return String::new() };
    let mut out = frame(title, unit, under, (end, step));
    let last = points().map(|(x, _)| x.log2()).fold(1.0, f64::max);
    let x = |count: f64| LEFT + 12.0 + count.log2() / last * (WIDTH - LEFT - RIGHT - 24.0);
    let mut marks: Vec<u64> = points().map(|(count, _)| *count as u64).collect();
    marks.sort_unstable();
    marks.dedup();
    let mut free_from = 0.0;
    for count in marks {
        let at = x(count as f64);
        if at < free_from {
            continue;
        }
        free_from = at + 24.0;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{count}</text>",
            HEIGHT - BOTTOM + 17.0
        );
    }
    for line in lines {
        let class = line.ink.class();
        let mut path = String::new();
        for (index, (count, summary)) in line.points.iter().enumerate() {
            let begin = if index == 0 { "M" } else { "L" };
            let _ = write!(path, "{begin}{:.1} {:.1}", x(*count), height(summary.median, end));
        }
        let _ = write!(out, "<path class=\"line {class}\" d=\"{path}\"/>");
        for (count, summary) in &line.points {
            let (at, name) = (x(*count), escape(&line.name));
            let _ = write!(
                out,
                "<line class=\"whisker\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                 <circle class=\"dot {class}\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"4\"><title>{name}, {count}: {}</title></circle>",
                height(summary.max, end),
                height(summary.min, end),
                height(summary.median, end),
                short(summary.median)
            );
        }
    }
    out.push_str("</svg><p class=\"legend\">");
    for line in lines {
        let _ =
            write!(out, "<span><i class=\"stroke {}\"></i>{}</span>", line.ink.class(), escape(&line.name));
    }
    out.push_str("</p>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values_with_few_marks() {
        for most in [0.013, 0.9, 1.0, 7.3, 99.0, 12_345.0] {
            let (end, step) = axis([0.0, most].into_iter()).unwrap();
            assert!(
                end >= most && end <= 1.5 * most + step && (3.0..=6.0).contains(&(end / step)),
                "{most}: {end} {step}"
            );
        }
        assert_eq!(axis([0.0, f64::NAN].into_iter()), None);
    }

    #[test]
    fn charts_stay_within_their_frame() {
        let wide = Summary { runs: 3, median: 2.0, min: 1.0, max: 3.0, mad: 0.5 };
        let bar = Bar { measured: Some(wide), published: Some(2.5) };
        let series = [Bars { name: "a<b".into(), colour: 1, bars: vec![bar, Bar::default()] }];
        let text = bars("t", "u", "x", &["1".into(), "2".into()], &series);
        assert!(text.contains("a&lt;b") && text.matches("<rect").count() == 1 && text.contains("published"));
        let points = vec![(1.0, wide), (96.0, exact(0.1))];
        let text = lines("t", "u", "x", &[Line { name: "n".into(), ink: Ink::Ours, points }]);
        assert!(!text.contains("NaN"));
        for part in text.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x));
        }
        assert_eq!(
            (bars("t", "u", "x", &[], &[]), lines("t", "u", "x", &[])),
            (String::new(), String::new())
        );
    }
}
