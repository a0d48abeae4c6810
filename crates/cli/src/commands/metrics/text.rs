//! The text format of Prometheus, version 0.0.4:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use facility::observe::Histogram;
use std::fmt::Write as _;

/// Type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Counter: a value that only grows, except at a restart; its name ends in `_total`.
    Counter,
    /// Gauge: a value that rises and falls.
    Gauge,
    /// Histogram: times in buckets, in seconds.
    Histogram,
}

/// Labels of a sample: names, and values of any text.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page of metrics, family by family.
#[derive(Default)]
pub struct Page {
    text: String,
    family: String,
}

impl Page {
    /// Begins a family: all its samples follow.
    pub fn family(&mut self, name: &str, kind: MetricType, help: &str) {
        let kind = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        };
        name.clone_into(&mut self.family);
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of the family.
    pub fn sample(&mut self, labels: Labels<'_>, value: f64) {
        self.line("", labels, None, value);
    }

    /// The samples of one histogram of the family: its buckets, their sum and their number.
    pub fn histogram(&mut self, labels: Labels<'_>, times: &Histogram) {
        for bits in EDGE_BITS {
            let edge = (1_u64 << bits) as f64 / 1e9;
            self.line("_bucket", labels, Some(&edge.to_string()), times.below_power(bits) as f64);
        }
        let count = times.count() as f64;
        self.line("_bucket", labels, Some("+Inf"), count);
        self.line("_sum", labels, None, times.sum_ns() as f64 / 1e9);
        self.line("_count", labels, None, count);
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, edge: Option<&str>, value: f64) {
        let (text, edge) = (&mut self.text, edge.map(|edge| ("le", edge)));
        let _ = write!(text, "{}{suffix}", self.family);
        let mut opening = '{';
        for (name, value) in labels.iter().copied().chain(edge) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{opening}{name}=\"{value}\"");
            opening = ',';
        }
        let _ = writeln!(text, "{} {value}", if opening == ',' { "}" } else { "" });
    }
}

/// Edges of the exported buckets: 2 to these powers nanoseconds, from 1 us to 17 s. Samples have sixteen
/// buckets per doubling; exporting all of them for every tenant would be too much.
const EDGE_BITS: [u32; 13] = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_any_text() {
        let mut page = Page::default();
        page.family("some_total", MetricType::Counter, "A text with \\ and\na line.");
        page.sample(&[("tenant", "a\"b\\c\nd"), ("card", "0")], 3.0);
        page.sample(&[], 0.5);
        let expected = "# HELP some_total A text with \\\\ and\\na line.\n# TYPE some_total counter\n\
            some_total{tenant=\"a\\\"b\\\\c\\nd\",card=\"0\"} 3\nsome_total 0.5\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn buckets_add_up_to_their_count() {
        let mut times = Histogram::default();
        for ns in [500, 1_023, 1_024, 5_000_000, 100_000_000_000] {
            times.record(ns);
        }
        let mut page = Page::default();
        page.family("some_seconds", MetricType::Histogram, "Times.");
        page.histogram(&[("card", "1")], &times);
        let text = page.finish();
        for line in [
            "some_seconds_bucket{card=\"1\",le=\"0.000001024\"} 2",
            "some_seconds_bucket{card=\"1\",le=\"0.000004096\"} 3",
            "some_seconds_bucket{card=\"1\",le=\"17.179869184\"} 4",
            "some_seconds_bucket{card=\"1\",le=\"+Inf\"} 5",
            "some_seconds_count{card=\"1\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.contains("some_seconds_sum{card=\"1\"} 100.005002547"), "{text}");
    }
}
