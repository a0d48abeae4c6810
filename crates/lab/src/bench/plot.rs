//! The ratios of the engine's rows as a drawing: a line for each row, a dot for each level, on a
//! logarithmic scale.

use super::{Measure, Part, Promise};
use engine::Level;
use std::fmt::Write;

/// The rows that have OpenSSL beside them, as an SVG; None where there is none.
pub(super) fn ratios(rows: &[Measure]) -> Option<String> {
    let lines = lines(rows);
    let ratios = || lines.iter().flat_map(|line| line.dots.iter().map(|dot| dot.ratio));
    let low = ratios().reduce(f64::min)?.min(1.0).log10().floor();
    let high = ratios().reduce(f64::max)?.max(1.0).log10().ceil().max(low + 1.0);
    let at = |ratio: f64| LEFT + (ratio.log10() - low) / (high - low) * (WIDTH - LEFT - MARGIN);
    let bottom = TOP + ROW * lines.len() as f64;
    let height = bottom + 3.0 * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"15\">The engine's rate over that of the system's OpenSSL, one core</text>\n"
    );
    for decade in low as i32..=high as i32 {
        let (ratio, x) = (10f64.powi(decade), at(10f64.powi(decade)));
        let stroke = if decade == 0 { "#666" } else { "#ddd" };
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"{stroke}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{ratio}</text>",
            bottom + ROW
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 12.0,
            y + 4.0,
            escaped(line.case)
        );
        if let Some(promise) = line.promise {
            let x = at(promise);
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#c00\" stroke-width=\"2\"/>",
                y - 6.0,
                y + 6.0
            );
        }
        for dot in &line.dots {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{}\"><title>{}: {:.2}</title></circle>",
                at(dot.ratio),
                colour(&dot.level),
                dot.level,
                dot.ratio
            );
        }
    }
    let mut x = LEFT;
    for level in Level::ALL.into_iter().rev() {
        let y = bottom + 2.2 * ROW;
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{level}</text>",
            colour(level.name()),
            x + 10.0,
            y + 4.0
        );
        x += 100.0;
    }
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#c00\">| promised at {}</text>\n</svg>",
        bottom + 2.2 * ROW + 4.0,
        Level::Avx512
    );
    Some(out)
}

struct Line<'a> {
    case: &'a str,
    promise: Option<f64>,
    dots: Vec<Dot>,
}

struct Dot {
    level: String,
    ratio: f64,
}

fn lines(rows: &[Measure]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in rows.iter().filter(|row| row.part == Part::Engine) {
        let Some(other) = row.others.iter().find(|other| other.name == PEER && other.ratio > 0.0) else {
            continue;
        };
        let dot = Dot { level: row.level.clone(), ratio: other.ratio };
        match lines.iter_mut().find(|line| line.case == row.case) {
            Some(line) => line.dots.push(dot),
            None => {
                let is_judged = row.peer == PEER && row.level == Level::Avx512.name();
                let promise = match row.promise {
                    Some(Promise::RatioAtLeast(least)) if is_judged => Some(least),
                    _ => None,
                };
                lines.push(Line { case: &row.case, promise, dots: vec![dot] });
            }
        }
    }
    lines
}

fn colour(level: &str) -> &'static str {
    match level {
        "avx512" => "#06c",
        "avx2" => "#3a3",
        _ => "#999",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

const PEER: &str = "OpenSSL";
/// Pixels.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 480.0;
const MARGIN: f64 = 20.0;
const TOP: f64 = 36.0;
const ROW: f64 = 18.0;

#[cfg(test)]
mod tests {
    use super::super::Other;
    use super::*;

    fn row(case: &str, level: &str, ratio: f64) -> Measure {
        let others = vec![Other { name: PEER.to_owned(), value: 1.0, ratio, spread: None }];
        Measure {
            case: case.to_owned(),
            unit: "MB/s".to_owned(),
            peer: PEER.to_owned(),
            promise: Some(Promise::RatioAtLeast(8.0)),
            part: Part::Engine,
            level: level.to_owned(),
            others,
            ..Measure::default()
        }
    }

    #[test]
    fn a_row_has_a_line_with_a_dot_for_each_level() {
        let rows =
            [row("TDES <1>", "avx512", 80.0), row("TDES <1>", "avx2", 20.0), row("SHA", "avx512", 0.5)];
        let svg = ratios(&rows).unwrap();
        assert_eq!(svg.matches("<title>").count(), 3);
        assert_eq!(svg.matches("stroke=\"#c00\"").count(), 2, "both promises are for avx512");
        assert!(svg.contains("TDES &lt;1>") && svg.contains("<title>avx2: 20.00</title>"));
        // One decade below 1, two above: 0.5 lies left of 1, 80 right of 20.
        let at = |ratio: f64| LEFT + (ratio.log10() + 1.0) / 3.0 * (WIDTH - LEFT - MARGIN);
        for ratio in [80.0, 20.0, 0.5] {
            assert!(svg.contains(&format!("cx=\"{:.1}\"", at(ratio))), "{ratio}: {svg}");
        }
    }

    #[test]
    fn without_openssl_there_is_nothing_to_draw() {
        let alone = Measure { others: Vec::new(), ..row("TDES", "avx512", 80.0) };
        assert_eq!(ratios(&[alone]), None);
    }
}
