//! A measure of this project: our figure, what it is compared with, and what is promised of it.

use crate::kit::statistics::{Comparison, Summary, median};
pub use measuring::BenchPart as Part;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One measure: a row of `make bench`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measure {
    /// Name of the measure.
    pub case: String,
    /// Our figure: the median of the runs.
    pub ours: f64,
    /// Unit of all figures; empty for a remark without figures.
    pub unit: String,
    /// Name of the peer; empty without one.
    pub peer: String,
    /// The figure of the peer.
    pub peer_value: Option<f64>,
    /// Ours over the peer's: the median of the rounds.
    pub ratio: Option<f64>,
    /// The smallest and the largest run of ours.
    pub spread: Option<(f64, f64)>,
    /// The promise; none for figures stated for the record.
    pub promise: Option<Promise>,
    /// The figure hoped for: a ratio, or our figure if the promise is about that.
    pub stretch: Option<f64>,
    /// The part of the bench.
    pub part: Part,
    /// Level of the engine; empty if the measure is not tied to one.
    pub level: String,
    /// Every other library of the row.
    pub others: Vec<Other>,
    /// The port limit of the core for this work.
    pub limit: Option<Limit>,
    /// The smallest and the largest ratio of a round; none if rounds were not kept.
    pub ratio_spread: Option<(f64, f64)>,
    /// What bounds the figure, for people; empty if unstated.
    pub bound: String,
}

/// Another library in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Other {
    /// Name and version of the library.
    pub name: String,
    /// Figure of that library, in the unit of the row.
    pub value: f64,
    /// Our figure over that of the library: the median of the rounds.
    pub ratio: f64,
    /// Smallest and largest run of the library.
    pub spread: Option<(f64, f64)>,
    /// The smallest and the largest ratio of a round; none if rounds were not kept.
    pub ratio_spread: Option<(f64, f64)>,
}

/// A port limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The limit, in the unit of the row.
    pub value: f64,
    /// Our figure as a share of the limit.
    pub share: f64,
}

/// The promise for a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The ratio is at least this.
    RatioAtLeast(f64),
    /// The ratio is at most this.
    RatioAtMost(f64),
    /// Our share of the limit of the ports is at least this.
    ShareAtLeast(f64),
    /// Our figure is at least this.
    AtLeast(f64),
    /// Our figure is above this.
    Above(f64),
    /// Our figure is below this.
    Below(f64),
}

impl Promise {
    /// Whether a figure, its ratio to the peer, and its limit keep the promise. A promised ratio whose peer is missing
    /// is not kept, and neither is a share of a limit that was not measured.
    pub fn is_kept(self, ours: f64, ratio: Option<f64>, limit: Option<Limit>) -> bool {
        match self {
            Self::RatioAtLeast(least) => ratio.is_some_and(|ratio| ratio >= least),
            Self::RatioAtMost(most) => ratio.is_some_and(|ratio| ratio <= most),
            Self::ShareAtLeast(least) => limit.is_some_and(|limit| limit.share >= least),
            Self::AtLeast(least) => ours >= least,
            Self::Above(bound) => ours > bound,
            Self::Below(bound) => ours < bound,
        }
    }

    /// Whether it is about the ratio to a peer.
    pub fn is_ratio(self) -> bool {
        matches!(self, Self::RatioAtLeast(_) | Self::RatioAtMost(_))
    }
}

/// Default of [`Options::kill_seconds`], in seconds.
const KILL_SECONDS: f64 = 10.0;

/// Which measures to run, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Only this part; none for all.
    pub only: Option<Part>,
    /// Only measures whose name contains this text, in upper or lower case; the part on cards runs as a whole.
    pub filter: Option<String>,
    /// Rounds of each row of engine and queues.
    pub rounds: usize,
    /// Seconds that each side of an engine row works in each round; a side of a queue row works five times as long.
    /// The part on OpenPGP shortens its text by the ratio of these seconds to the default.
    pub seconds: f64,
    /// Whether the levels below this process's own are measured too.
    pub levels_below: bool,
    /// How long the part on faults kills cards, in seconds.
    pub kill_seconds: f64,
    /// Folder with the programs of another build, to compare rates with.
    pub beside: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            only: None,
            filter: None,
            rounds: 7,
            seconds: 0.1,
            levels_below: true,
            kill_seconds: KILL_SECONDS,
            beside: None,
        }
    }
}

impl Options {
    /// Rounds of the engine rows at a level below: differences there are orders of magnitude.
    const ROUNDS_BELOW: usize = 3;
    /// Seconds of each side in a round of the engine rows at a level below.
    const SECONDS_BELOW: f64 = 0.03;

    /// Whether a measure of this name is wanted.
    pub fn wants(&self, case: &str) -> bool {
        let case = case.to_lowercase();
        self.filter.as_ref().is_none_or(|filter| case.contains(&filter.to_lowercase()))
    }

    pub(crate) fn has(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    pub(crate) fn below(&self) -> Self {
        Self {
            rounds: self.rounds.min(Self::ROUNDS_BELOW),
            seconds: self.seconds.min(Self::SECONDS_BELOW),
            ..self.clone()
        }
    }
}

impl Measure {
    pub(crate) fn alone(case: &str, unit: &str, runs: &[f64], promise: Option<Promise>) -> Self {
        Self {
            case: case.to_owned(),
            ours: median(runs),
            unit: unit.to_owned(),
            spread: Summary::of(runs).map(|summary| (summary.min, summary.max)),
            promise,
            ..Self::default()
        }
    }

    /// A measure of two sides that ran in turn; without a figure if `sides` is none.
    pub(crate) fn compared(
        case: &str,
        unit: &str,
        peer: &str,
        sides: Option<Comparison>,
        promise: Option<Promise>,
    ) -> Self {
        let ours = sides.as_ref().map(|sides| sides.ours);
        Self {
            ours: ours.map_or(0.0, |ours| ours.median),
            spread: ours.map(|ours| (ours.min, ours.max)),
            ..Self::alone(case, unit, &[], promise)
        }
        .against(peer, sides)
    }

    /// This measure with a peer and the ratio to it; without peer figure and ratio if `sides` is none.
    pub(crate) fn against(self, peer: &str, sides: Option<Comparison>) -> Self {
        let peer_value = sides.as_ref().map(|sides| sides.peer.median);
        let ratio = sides.map(|sides| sides.ratio);
        Self {
            peer: peer.to_owned(),
            peer_value,
            ratio: ratio.map(|ratio| ratio.median),
            ratio_spread: ratio.map(|ratio| (ratio.min, ratio.max)),
            ..self
        }
    }

    pub(crate) fn bounded_by(self, bound: impl Into<String>) -> Self {
        Self { bound: bound.into(), ..self }
    }

    pub(crate) fn beside(self, peer: &str, peer_value: f64) -> Self {
        let ratio = (peer_value > 0.0).then(|| self.ours / peer_value);
        Self { peer: peer.to_owned(), peer_value: Some(peer_value), ratio, ..self }
    }

    /// A remark among the measures of the engine.
    pub(crate) fn note(text: &str, level: &str) -> Self {
        Self { case: text.to_owned(), level: level.to_owned(), part: Part::Engine, ..Self::default() }
    }

    /// Whether this is a remark without a figure.
    pub fn is_note(&self) -> bool {
        self.unit.is_empty()
    }

    /// Whether the promise is kept; true without a promise. A promised ratio whose peer is missing is not kept.
    pub fn is_kept(&self) -> bool {
        self.promise.is_none_or(|promise| promise.is_kept(self.ours, self.ratio, self.limit))
    }
}
