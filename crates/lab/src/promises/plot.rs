//! The ratios of the engine's rows as a drawing: a row for each, a dot for each level, on a logarithmic scale.

use super::{Measure, Part, Promise};
use crate::kit::chart::{DotRow, Ink, Mark, Shape, dots_alone};
use engine::Level;

pub(super) const PEER: &str = "OpenSSL";

/// The rows that have OpenSSL beside them, as an SVG; none if there is no such row.
pub(super) fn ratios(rows: &[Measure]) -> Option<String> {
    let mut drawn: Vec<DotRow> = Vec::new();
    for row in rows.iter().filter(|row| row.part == Part::Engine) {
        let Some(other) = row.others.iter().find(|other| other.name == PEER && other.ratio > 0.0) else {
            continue;
        };
        let says = format!("{}: {:.2}", row.level, other.ratio);
        let dot = Mark { shape: Shape::Dot, ink: ink(&row.level), value: other.ratio, says };
        let is_judged = row.peer == PEER && row.level == Level::Avx512.name();
        let promise = match row.promise {
            Some(Promise::RatioAtLeast(least)) if is_judged => {
                Some(Mark { shape: Shape::Upright, ink: Ink::Promise, value: least, says: String::new() })
            }
            _ => None,
        };
        let place = drawn.iter().position(|line| line.name == row.case).unwrap_or_else(|| {
            drawn.push(DotRow { name: row.case.clone(), tracks: vec![Vec::new()] });
            drawn.len() - 1
        });
        // The mark of the highest level is drawn above the others.
        drawn[place].tracks[0].splice(0..0, promise.into_iter().chain([dot]));
    }
    let levels = Level::ALL.into_iter().rev();
    let levels = levels.map(|level| (Shape::Dot, ink(level.name()), level.name().to_owned()));
    let promise = (Shape::Upright, Ink::Promise, format!("promised at {}", Level::Avx512));
    let legend: Vec<_> = levels.chain([promise]).collect();
    let what = "rate of the engine over that of the system's OpenSSL, one core";
    Some(dots_alone("The engine beside OpenSSL", what, &legend, &drawn)).filter(|svg| !svg.is_empty())
}

fn ink(level: &str) -> Ink {
    match level {
        "avx512" => Ink::Ours,
        "avx2" => Ink::OursSecond,
        _ => Ink::Published,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::promise::Other;
    use crate::kit::chart::tests::clipped;

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
        assert_eq!(
            svg.matches("class=\"upright bad\"").count(),
            2 + 1,
            "both promises are for avx512, and the legend"
        );
        assert!(svg.contains("TDES &lt;1&gt;") && svg.contains("<title>avx2: 20.00</title>"));
        assert_eq!(clipped(&svg), Vec::<String>::new());
    }

    #[test]
    fn without_openssl_there_is_nothing_to_draw() {
        let alone = Measure { others: Vec::new(), ..row("TDES", "avx512", 80.0) };
        assert_eq!(ratios(&[alone]), None);
    }
}
