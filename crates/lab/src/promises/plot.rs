//! The ratios of the engine's rows as a drawing: a row for each, a dot for each kind, on a logarithmic scale.

use super::Part;
use super::data::ProcessorKind;
use crate::kit::chart::{DotRow, Ink, Mark, Shape, dots_alone};

pub(super) const PEER: &str = "OpenSSL";

/// Colours of kinds, in their order; of more kinds the last are alike.
const INKS: [Ink; 4] = [Ink::Ours, Ink::OursSecond, Ink::Published, Ink::PublishedSecond];

/// The rows that have OpenSSL beside them at the level of their kind, as an SVG; none if there is no such row.
pub(super) fn ratios(kinds: &[ProcessorKind]) -> Option<String> {
    let mut drawn: Vec<DotRow> = Vec::new();
    let kinds: Vec<&ProcessorKind> =
        kinds.iter().filter(|kind| !kind.rows(Part::Engine).is_empty()).collect();
    for (kind, ink) in kinds.iter().enumerate().map(|(index, kind)| (kind, ink(index))) {
        for row in kind.rows(Part::Engine).iter().filter(|row| row.level == kind.level()) {
            let ratio = row.peers.iter().find(|peer| peer.name == PEER).and_then(|peer| peer.ratio);
            let Some(value) = ratio else { continue };
            let place = drawn.iter().position(|line| line.name == row.case).unwrap_or_else(|| {
                drawn.push(DotRow { name: row.case.clone(), tracks: vec![Vec::new()] });
                drawn.len() - 1
            });
            let says = format!("{}: {value:.2}", kind.kind);
            drawn[place].tracks[0].push(Mark { shape: Shape::Dot, ink, value, says });
        }
    }
    let legend: Vec<_> =
        kinds.iter().enumerate().map(|(index, kind)| (Shape::Dot, ink(index), kind.kind.clone())).collect();
    let what = "rate of the engine over that of the system's OpenSSL, one core";
    Some(dots_alone("The engine beside OpenSSL", what, &legend, &drawn)).filter(|svg| !svg.is_empty())
}

fn ink(index: usize) -> Ink {
    INKS[index.min(INKS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::chart::tests::clipped;
    use crate::promises::data::{MeasuredPart, Peer, Row};

    fn row(case: &str, level: &str, ratio: f64) -> Row {
        let peer = Peer { name: PEER.to_owned(), ratio: Some(ratio), ..Peer::default() };
        Row { case: case.to_owned(), level: level.to_owned(), peers: vec![peer], ..Row::default() }
    }

    fn kind(name: &str, rows: Vec<Row>) -> ProcessorKind {
        let part = MeasuredPart { part: Part::Engine, rows, ..MeasuredPart::default() };
        ProcessorKind { kind: name.to_owned(), parts: vec![part], ..ProcessorKind::default() }
    }

    #[test]
    fn a_row_has_a_line_with_a_dot_for_each_kind() {
        let kinds = [
            kind("a-avx512", vec![row("TDES <1>", "avx512", 80.0), row("TDES <1>", "avx2", 7.0)]),
            kind("b-avx2", vec![row("TDES <1>", "avx2", 20.0), row("SHA", "avx2", 0.5)]),
        ];
        let svg = ratios(&kinds).unwrap();
        assert_eq!(svg.matches("<title>").count(), 3, "the level below is not drawn: {svg}");
        assert!(svg.contains("TDES &lt;1&gt;") && svg.contains("<title>b-avx2: 20.00</title>"));
        assert_eq!(clipped(&svg), Vec::<String>::new());
    }

    #[test]
    fn without_openssl_there_is_nothing_to_draw() {
        let alone = Row { peers: Vec::new(), ..row("TDES", "avx512", 80.0) };
        assert_eq!(ratios(&[kind("a-avx512", vec![alone])]), None);
    }
}
