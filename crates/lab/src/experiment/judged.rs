//! A published statement judged by measurements.

use crate::kit::statistics::Summary;
use crate::published::Claim;
use serde::{Deserialize, Serialize};

/// Two figures count as equal within this share.
pub(crate) const EQUAL_WITHIN: f64 = 0.05;

/// The verdict on a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures bear it out.
    Confirmed,
    /// The figures speak against it.
    Refuted,
    /// This machine, or the spread of its runs, cannot show it; the text says why.
    NotTestable(String),
}

/// A statement with its verdict and the figures behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the statement.
    pub id: String,
    /// Section of the published report.
    pub section: String,
    /// Text of the statement.
    pub text: String,
    /// Unit of the figures; empty where they have none.
    #[serde(default)]
    pub unit: String,
    /// The published figure, where there is one.
    pub published: Option<f64>,
    /// The figure measured here, in the same unit.
    pub measured: Option<f64>,
    /// Description of the compared figures, for people.
    pub compared: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// The condition that a figure must meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    AtLeast(f64),
    AtMost(f64),
    About(f64),
}

impl Expect {
    /// Reads `>=1.8`, `<=2.1` or `~1` (about one); none for any other text.
    pub fn read(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        match text.strip_prefix('~') {
            Some(wanted) => number(wanted).map(Self::About),
            None if text.starts_with("<=") => number(&text[2..]).map(Self::AtMost),
            None => number(text.strip_prefix(">=")?).map(Self::AtLeast),
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::About(wanted) => (value / wanted - 1.0).abs() <= EQUAL_WITHIN,
        }
    }

    /// The figure that speaks most against the expectation.
    fn worst(self, figures: Vec<Figure>) -> Option<Figure> {
        let against = |figure: &Figure| match self {
            Self::AtLeast(_) => -figure.value,
            Self::AtMost(_) => figure.value,
            Self::About(wanted) => (figure.value - wanted).abs(),
        };
        figures.into_iter().max_by(|a, b| against(a).total_cmp(&against(b)))
    }

    /// Weighs the figure that speaks most against the expectation; none without figures.
    pub fn weigh(self, figures: Vec<Figure>) -> Option<Weighed> {
        let worst = self.worst(figures)?;
        let ends = [worst.value - worst.mad, worst.value, worst.value + worst.mad];
        let holding = ends.into_iter().filter(|end| self.holds(*end)).count();
        Some(Weighed { value: worst.value, holds: [Some(false), None, None, Some(true)][holding], ends })
    }
}

/// A figure, and the median distance of its runs from the median.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub value: f64,
    pub mad: f64,
}

impl Figure {
    pub fn of(summary: &Summary) -> Self {
        Self { value: summary.median, mad: summary.mad }
    }

    pub fn exact(value: f64) -> Self {
        Self { value, mad: 0.0 }
    }
}

/// A figure held against an expectation; undecided where its runs spread over the bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    pub value: f64,
    pub holds: Option<bool>,
    pub ends: [f64; 3],
}

impl Weighed {
    /// The figure and its ends in another unit.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { value: of(self.value), ends: self.ends.map(of), ..self }
    }
}

impl Judged {
    /// Judges a statement by a weighed figure; not testable if its runs spread over the bound.
    pub(crate) fn weighed(claim: &Claim, weighed: &Weighed, compared: String) -> Self {
        let verdict = match weighed.holds {
            Some(true) => Verdict::Confirmed,
            Some(false) => Verdict::Refuted,
            None => {
                let [low, _, high] = weighed.ends;
                Verdict::NotTestable(format!("runs spread from {low:.3} to {high:.3}; {compared}"))
            }
        };
        Self::new(claim, Some(weighed.value), compared, verdict)
    }

    /// A statement with the measured figure, the description of the comparison and the verdict.
    pub fn new(claim: &Claim, measured: Option<f64>, compared: String, verdict: Verdict) -> Self {
        Self {
            id: claim.id.clone(),
            section: claim.section.clone(),
            text: claim.text.clone(),
            unit: claim.unit.clone(),
            published: claim.value,
            measured,
            compared,
            verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Expect::{About, AtLeast, AtMost};
    use super::*;

    #[test]
    fn runs_that_spread_over_the_bound_decide_nothing() {
        let figures = |value, mad| vec![Figure { value, mad }];
        assert_eq!(AtLeast(1.8).weigh(figures(1.85, 0.1)).unwrap().holds, None);
        assert_eq!(AtLeast(1.8).weigh(figures(1.95, 0.1)).unwrap().holds, Some(true));
        assert_eq!(AtMost(1.0).weigh(figures(1.3, 0.1)).unwrap().holds, Some(false));
        assert_eq!(About(2.0).weigh(figures(2.05, 0.1)).unwrap().holds, None);
        let worst =
            About(1.0).weigh(vec![Figure::exact(1.01), Figure::exact(0.7), Figure::exact(1.2)]).unwrap();
        assert_eq!((worst.value, worst.holds), (0.7, Some(false)));
        assert_eq!(AtLeast(1.0).weigh(Vec::new()).map(|weighed| weighed.value), None);
    }
}
