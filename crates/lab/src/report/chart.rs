//! Plots as vector graphics: lines over two logarithmic axes, and dots on one.

use std::fmt::Write;

/// How a series is drawn; the page's style sheet gives colour, width and dashes to each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// What was published, first series.
    Published,
    /// What was published, second series.
    PublishedSecond,
    /// The engine or a card, first series.
    Ours,
    /// The engine or a card, second series.
    OursSecond,
    /// The portable provider.
    Software,
    /// Another library.
    Peer,
}

impl Ink {
    pub const fn class(self) -> &'static str {
        match self {
            Self::Published => "pub",
            Self::PublishedSecond => "pub2",
            Self::Ours => "ours",
            Self::OursSecond => "ours2",
            Self::Software => "soft",
            Self::Peer => "peer",
        }
    }
}

/// One line of a plot.
pub(crate) struct Line {
    pub name: String,
    pub ink: Ink,
    pub points: Vec<(f64, f64)>,
}

/// Text as it stands in HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number for people: `3.35 M`, `98.6 k`, `0.69`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = if scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{unit}")
}

/// Decades that hold all values: exponents of the lowest and the highest.
fn decades(values: impl Iterator<Item = f64>) -> Option<(i32, i32)> {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return None;
    }
    let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    Some((low, high.max(low + 1)))
}

fn axis_label(exponent: i32) -> String {
    let value = 10f64.powi(exponent);
    if exponent >= 0 { short(value).replace(".00", "").replace(".0", "") } else { format!("{value}") }
}

/// Rates over lengths, both logarithmic. Empty text where there is nothing to draw.
pub(crate) fn over_length(title: &str, unit: &str, lines: &[Line]) -> String {
    const WIDTH: f64 = 560.0;
    const HEIGHT: f64 = 320.0;
    const LEFT: f64 = 62.0;
    const RIGHT: f64 = 14.0;
    const TOP: f64 = 14.0;
    const BOTTOM: f64 = 44.0;
    let points = || lines.iter().flat_map(|line| &line.points);
    let Some((low, high)) = decades(points().map(|point| point.1)) else { return String::new() };
    let lengths = points().map(|point| point.0);
    let (first, last) = lengths.fold((f64::INFINITY, 1.0f64), |(a, b), x| (a.min(x), b.max(x)));
    let (first, last) = (first.log2(), last.log2().max(first.log2() + 1.0));
    let x = |bytes: f64| LEFT + (bytes.log2() - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let y =
        |rate: f64| TOP + (f64::from(high) - rate.log10()) / f64::from(high - low) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    for exponent in low..=high {
        let at = y(10f64.powi(exponent));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            axis_label(exponent)
        );
    }
    let mut ticks: Vec<u64> = points().map(|point| point.0 as u64).collect();
    ticks.sort_unstable();
    ticks.dedup();
    for bytes in ticks {
        let at = x(bytes as f64);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 17.0,
            length(bytes)
        );
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">bytes per operation</text>\
         <text class=\"axis\" transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(unit)
    );
    for line in lines {
        let mut path = String::new();
        for (index, (bytes, rate)) in line.points.iter().filter(|(_, rate)| *rate > 0.0).enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if index == 0 { "M" } else { "L" }, x(*bytes), y(*rate));
        }
        let class = line.ink.class();
        let _ = write!(out, "<path class=\"line {class}\" d=\"{path}\"/>");
        for (bytes, rate) in line.points.iter().filter(|(_, rate)| *rate > 0.0) {
            let _ = write!(
                out,
                "<circle class=\"dot {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}: {} bytes, {}</title></circle>",
                x(*bytes),
                y(*rate),
                escape(&line.name),
                bytes,
                short(*rate)
            );
        }
    }
    out.push_str("</svg>");
    legend(&mut out, lines.iter().map(|line| (line.ink, line.name.as_str())));
    out
}

/// A length as the axis shows it.
pub(crate) fn length(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}"),
        1024..1_048_576 => format!("{}K", bytes / 1024),
        _ => format!("{}M", bytes / 1_048_576),
    }
}

/// One row of a plot of dots: a name, and a pair of (published, measured) for each series.
pub(crate) struct DotRow {
    pub name: String,
    pub pairs: Vec<(Option<f64>, Option<f64>)>,
}

/// Published and measured rates on one logarithmic axis, row by row. Empty text where there is
/// nothing to draw.
pub(crate) fn dots(title: &str, unit: &str, series: &[String], rows: &[DotRow]) -> String {
    const WIDTH: f64 = 760.0;
    const LEFT: f64 = 190.0;
    const RIGHT: f64 = 18.0;
    const TOP: f64 = 8.0;
    const STEP: f64 = 15.0;
    const GAP: f64 = 9.0;
    const BOTTOM: f64 = 40.0;
    let values = rows.iter().flat_map(|row| &row.pairs).flat_map(|pair| [pair.0, pair.1]).flatten();
    let Some((low, high)) = decades(values) else { return String::new() };
    let row_height = series.len() as f64 * STEP + GAP;
    let height = TOP + rows.len() as f64 * row_height + BOTTOM;
    let x =
        |rate: f64| LEFT + (rate.log10() - f64::from(low)) / f64::from(high - low) * (WIDTH - LEFT - RIGHT);
    let mut out = format!(
        "<svg class=\"plot wide\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    for exponent in low..=high {
        let at = x(10f64.powi(exponent));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - BOTTOM,
            height - BOTTOM + 16.0,
            axis_label(exponent)
        );
    }
    for (index, row) in rows.iter().enumerate() {
        let top = TOP + index as f64 * row_height;
        if index % 2 == 1 {
            let _ = write!(
                out,
                "<rect class=\"band\" x=\"0\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{row_height:.1}\"/>"
            );
        }
        let _ = write!(
            out,
            "<text class=\"label\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 12.0,
            top + row_height / 2.0 + 4.0,
            escape(&row.name)
        );
        for (series_index, (published, measured)) in row.pairs.iter().enumerate() {
            let y = top + GAP / 2.0 + (series_index as f64 + 0.5) * STEP;
            let class = format!("s{}", series_index.min(3));
            if let (Some(from), Some(to)) = (published, measured) {
                let _ = write!(
                    out,
                    "<line class=\"reach {class}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                    x(*from),
                    x(*to)
                );
            }
            for (value, kind, words) in [(published, "was", "published"), (measured, "is", "measured")] {
                if let Some(value) = value.filter(|value| *value > 0.0) {
                    let _ = write!(
                        out,
                        "<circle class=\"{kind} {class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\"><title>{}, {}, {words}: {}</title></circle>",
                        x(value),
                        escape(&row.name),
                        escape(&series[series_index]),
                        short(value)
                    );
                }
            }
        }
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        height - 6.0,
        escape(unit)
    );
    out.push_str("<p class=\"legend\">");
    for (index, name) in series.iter().enumerate() {
        let _ = write!(out, "<span><i class=\"swatch s{}\"></i>{}</span>", index.min(3), escape(name));
    }
    out.push_str(
        "<span><i class=\"ring\"></i>published</span><span><i class=\"full\"></i>measured here</span></p>",
    );
    out
}

fn legend<'a>(out: &mut String, entries: impl Iterator<Item = (Ink, &'a str)>) {
    out.push_str("<p class=\"legend\">");
    for (ink, name) in entries {
        let _ = write!(out, "<span><i class=\"stroke {}\"></i>{}</span>", ink.class(), escape(name));
    }
    out.push_str("</p>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (3_347_438.0, "3.35 M"),
            (98_600.0, "98.6 k"),
            (0.69, "0.69"),
            (100.0, "100"),
            (1e9, "1.00 G"),
            (12.34, "12.3"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!((length(64), length(65_536), length(1_048_576)), ("64".into(), "64K".into(), "1M".into()));
    }

    #[test]
    fn points_lie_within_the_plot() {
        let points = vec![(64.0, 3e6), (1_048_576.0, 0.4)];
        let text = over_length("t", "ops/s", &[Line { name: "a<b".into(), ink: Ink::Ours, points }]);
        assert!(text.contains("a&lt;b") && !text.contains("NaN"));
        for part in text.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=560.0).contains(&x));
        }
        assert_eq!(over_length("t", "u", &[]), "");
        assert_eq!(dots("t", "u", &["s".into()], &[]), "");
        let row = DotRow { name: "r".into(), pairs: vec![(Some(5.0), None)] };
        assert!(dots("t", "u", &["s".into()], &[row]).contains("class=\"was s0\""));
    }
}
