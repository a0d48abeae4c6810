//! Charts as vector graphics: lines and bars over two axes, and dots in rows on one.
//!
//! Labels are measured as one of the widest fonts of screens (DejaVu Sans) draws them: the room left of an axis is as
//! wide as its labels, names that need more lines get them, and nothing leaves the frame.

use super::digits::short;
use super::page::escape;
use super::statistics::Summary;
use std::fmt::Write;

/// The style of charts, and the colours of the page around them.
pub(crate) const STYLE: &str = include_str!("chart.css");

/// Width of a chart in a page, in pixels: on a phone it is drawn at three quarters.
const WIDTH: f64 = 480.0;
/// Height of the plot of lines and bars, in pixels.
const DEEP: f64 = 230.0;
/// Size of all letters in pixels, as in the style.
const LETTER: f64 = 13.0;
/// Height of a line of text, in pixels.
const ROW: f64 = 17.0;
/// Gap between a label and the object beside it, in pixels.
const GAP: f64 = 8.0;
/// Space right of the last mark of an axis, in pixels.
const RIGHT: f64 = 20.0;

/// How a series is drawn; the style gives colour, width and dashes to each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Published figures, first series.
    Published,
    /// Published figures, second series.
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
    /// Colours of series side by side.
    pub const SERIES: [Self; 4] = [Self::Published, Self::Ours, Self::OursSecond, Self::Software];

    /// Colours of measured series, each next to the colour of its published series.
    const MEASURED: [Self; 4] = [Self::Ours, Self::OursSecond, Self::Software, Self::Peer];

    const fn class(self) -> &'static str {
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

/// The texts of a chart: its name, for screen readers too, and its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Title<'a> {
    /// The subject of the chart.
    pub name: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Label of the axis below.
    pub under: &'a str,
}

/// The scale of heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heights {
    /// A logarithmic scale.
    Decades,
    /// A linear scale from nought.
    FromNought,
}

/// A line: points of x and a median with its spread.
pub(crate) struct Line {
    pub name: String,
    pub ink: Ink,
    pub points: Vec<(f64, Summary)>,
}

/// A bar: a measured and a published figure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bar {
    /// Median and spread.
    pub measured: Option<Summary>,
    /// The published figure.
    pub published: Option<f64>,
}

/// A series of bars: its name, and a bar for each group.
pub(crate) struct Bars {
    pub name: String,
    pub ink: Ink,
    pub bars: Vec<Bar>,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A measured value.
    Dot,
    /// A published value.
    Ring,
    /// A bound.
    Upright,
}

/// A value in a row of dots.
pub(crate) struct Mark {
    pub shape: Shape,
    pub ink: Ink,
    pub value: f64,
    /// The text shown under the pointer.
    pub says: String,
}

/// A row of dots: its name, and marks on one track for each series.
pub(crate) struct DotRow {
    pub name: String,
    pub tracks: Vec<Vec<Mark>>,
}

/// Upper bound of a text's width, in pixels.
fn width(text: &str) -> f64 {
    let of_letter = |letter: char| match letter {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '(' | ')' | '/' | '-'
        | '\'' | '|' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        letter if letter.is_uppercase() => 0.8,
        _ => 0.65,
    };
    LETTER * text.chars().map(of_letter).sum::<f64>()
}

/// A text in lines of at most this width, parted at spaces; a word that is wider stands alone.
fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn widest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> f64 {
    texts.into_iter().map(|text| width(text.as_ref())).fold(0.0, f64::max)
}

/// A drawing to which elements are added.
struct Canvas {
    out: String,
    width: f64,
}

impl Canvas {
    fn new(width: f64) -> Self {
        Self { out: String::new(), width }
    }

    /// A text whose middle, begin or end stands at `x`; moved inwards if it would leave the frame.
    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let wide = width(text);
        let before = match anchor {
            "end" => wide,
            "middle" => wide / 2.0,
            _ => 0.0,
        };
        let x = x.min(self.width - wide + before).max(before);
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        );
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn rect(&mut self, class: &str, (x, y): (f64, f64), (wide, high): (f64, f64), says: &str) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\">{}</rect>",
            spoken(says)
        );
    }

    fn mark(&mut self, shape: Shape, ink: Ink, (x, y): (f64, f64), says: &str) {
        let class = match shape {
            Shape::Dot => "dot",
            Shape::Ring => "ring",
            Shape::Upright => {
                return self.line(&format!("upright {}", ink.class()), (x, y - 6.0), (x, y + 6.0));
            }
        };
        let _ = write!(
            self.out,
            "<circle class=\"{class} {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\">{}</circle>",
            ink.class(),
            spoken(says)
        );
    }

    /// Draws the names of series, each behind its mark (a line for none), in as many rows as needed from `y` on; gives
    /// the `y` below them.
    fn legend<'a>(
        &mut self,
        y: f64,
        entries: impl IntoIterator<Item = (Option<Shape>, Ink, &'a str)>,
    ) -> f64 {
        let (mut x, mut y) = (0.0, y + ROW);
        for (shape, ink, name) in entries {
            let wide = 22.0 + GAP + width(name);
            if x > 0.0 && x + wide > self.width {
                (x, y) = (0.0, y + ROW);
            }
            match shape {
                Some(shape) => self.mark(shape, ink, (x + 11.0, y - 4.0), ""),
                None => self.line(&format!("line {}", ink.class()), (x, y - 4.0), (x + 22.0, y - 4.0)),
            }
            self.text("tick", x + 22.0 + GAP, y, "start", name);
            x += wide + 2.0 * GAP;
        }
        y + GAP
    }

    fn finish(self, name: &str, height: f64) -> String {
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {:.0} {height:.0}\" role=\"img\" \
             aria-label=\"{}\">{}</svg>",
            self.width,
            escape(name),
            self.out
        )
    }
}

fn spoken(says: &str) -> String {
    if says.is_empty() { String::new() } else { format!("<title>{}</title>", escape(says)) }
}

/// A scale: the values at the ends of an axis, and the values that are marked.
struct Scale {
    low: f64,
    high: f64,
    of: fn(f64) -> f64,
    marks: Vec<f64>,
}

impl Scale {
    /// Whole decades around all values above nought; none without such a value.
    fn decades(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) =
            values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let low = low.log10().floor();
        let high = high.log10().ceil().max(low + 1.0);
        let marks = (low as i32..=high as i32).map(|exponent| 10f64.powi(exponent)).collect();
        Some(Self { low, high, of: f64::log10, marks })
    }

    /// A linear scale from nought to above all values, with three to six marks; none without a value above nought.
    fn from_nought(values: impl Iterator<Item = f64>) -> Option<Self> {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        if most <= 0.0 {
            return None;
        }
        let rough = most / 4.0;
        let decade = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * decade);
        let step = steps.into_iter().find(|step| *step >= rough)?;
        let count = (most / step).ceil();
        let marks = (0..=count as u32).map(|mark| f64::from(mark) * step).collect();
        Some(Self { low: 0.0, high: count * step, of: |value| value, marks })
    }

    /// A logarithmic scale from the smallest value to the largest; each value is marked.
    fn octaves(values: impl Iterator<Item = f64>) -> Self {
        let mut marks: Vec<f64> = values.collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let low = marks.first().map_or(0.0, |first| first.log2());
        let high = marks.last().map_or(0.0, |last| last.log2()).max(low + 1.0);
        Self { low, high, of: f64::log2, marks }
    }

    /// The position of a value on the scale, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        ((self.of)(value) - self.low) / (self.high - self.low)
    }

    fn labels(&self) -> Vec<String> {
        self.marks.iter().map(|mark| label(*mark)).collect()
    }
}

fn label(value: f64) -> String {
    match value {
        small if small > 0.0 && small < 1.0 => format!("{}", (small * 1e6).round() / 1e6),
        large => short(large).replace(".00", "").replace(".0", ""),
    }
}

/// A plot with its axis at the left, and the scale of its values.
struct Plot {
    canvas: Canvas,
    scale: Scale,
    left: f64,
}

/// Top of the plot of lines and bars, in pixels from above, and its bottom.
const TOP: f64 = ROW + GAP;
const BOTTOM: f64 = TOP + DEEP;

impl Plot {
    fn new(title: Title<'_>, scale: Scale) -> Self {
        let mut canvas = Canvas::new(WIDTH);
        let labels = scale.labels();
        let left = widest(&labels) + GAP;
        canvas.text("axis", 0.0, LETTER, "start", title.unit);
        let plot = Self { canvas, scale, left };
        plot.with_marks(&labels)
    }

    fn with_marks(mut self, labels: &[String]) -> Self {
        for (index, label) in labels.iter().enumerate() {
            let y = self.y(self.scale.marks[index]);
            self.canvas.line("grid", (self.left, y), (WIDTH - RIGHT, y));
            self.canvas.text("tick", self.left - GAP, y + 4.0, "end", label);
        }
        self
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.scale.share(value) * DEEP
    }

    fn wide(&self) -> f64 {
        WIDTH - RIGHT - self.left
    }

    fn whisker(&mut self, x: f64, summary: &Summary) {
        if summary.max > summary.min {
            let (high, low) = (self.y(summary.max), self.y(summary.min.max(f64::MIN_POSITIVE)));
            self.canvas.line("whisker", (x, high), (x, low.min(BOTTOM)));
        }
    }
}

/// A chart of lines; `mark` labels the values along the axis below. Empty text without values.
pub(crate) fn lines(title: Title<'_>, heights: Heights, mark: fn(u64) -> String, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let scale = match heights {
        Heights::Decades => Scale::decades(points().flat_map(|(_, summary)| [summary.min, summary.max])),
        Heights::FromNought => Scale::from_nought(points().map(|(_, summary)| summary.max)),
    };
    let Some(scale) = scale else { return String::new() };
    let mut plot = Plot::new(title, scale);
    let along = Scale::octaves(points().map(|(x, _)| *x));
    let (left, wide) = (plot.left + GAP, plot.wide() - GAP);
    let x = |value: f64| left + along.share(value) * wide;
    let mut free_from = 0.0;
    for value in &along.marks {
        let (at, text) = (x(*value), mark(*value as u64));
        plot.canvas.line("grid", (at, TOP), (at, BOTTOM));
        if at - width(&text) / 2.0 >= free_from {
            plot.canvas.text("tick", at, BOTTOM + ROW, "middle", &text);
            free_from = at + width(&text) / 2.0 + GAP;
        }
    }
    plot.canvas.text("axis", left + wide / 2.0, BOTTOM + 2.0 * ROW, "middle", title.under);
    for line in lines {
        let is_drawn = |summary: &Summary| heights == Heights::FromNought || summary.min > 0.0;
        let drawn: Vec<_> = line.points.iter().filter(|(_, summary)| is_drawn(summary)).collect();
        let mut path = String::new();
        for (value, summary) in &drawn {
            let begin = if path.is_empty() { "M" } else { "L" };
            let _ = write!(path, "{begin}{:.1} {:.1}", x(*value), plot.y(summary.median));
        }
        let _ = write!(plot.canvas.out, "<path class=\"line {}\" d=\"{path}\"/>", line.ink.class());
        for (value, summary) in drawn {
            let (at, y) = (x(*value), plot.y(summary.median));
            plot.whisker(at, summary);
            let says = format!("{}, {value}: {}", line.name, short(summary.median));
            plot.canvas.mark(Shape::Dot, line.ink, (at, y), &says);
        }
    }
    let entries = lines.iter().map(|line| (None, line.ink, line.name.as_str()));
    let height = plot.canvas.legend(BOTTOM + 2.0 * ROW + GAP, entries);
    plot.canvas.finish(title.name, height)
}

/// A chart of grouped bars. Empty text without values.
pub(crate) fn bars(title: Title<'_>, groups: &[String], series: &[Bars]) -> String {
    let all = || series.iter().flat_map(|series| &series.bars);
    let values = all().flat_map(|bar| [bar.measured.map(|measured| measured.max), bar.published]);
    let Some(scale) = Scale::from_nought(values.flatten()) else { return String::new() };
    let mut plot = Plot::new(title, scale);
    let wide = plot.wide() / groups.len().max(1) as f64;
    let bar_wide = (wide * 0.78 / series.len().max(1) as f64).min(46.0);
    let mut below = 1;
    for (index, group) in groups.iter().enumerate() {
        let middle = plot.left + (index as f64 + 0.5) * wide;
        let lines = wrapped(group, wide - 4.0);
        for (row, line) in lines.iter().enumerate() {
            plot.canvas.text("tick", middle, BOTTOM + ROW * (row + 1) as f64, "middle", line);
        }
        below = below.max(lines.len());
        for (place, one) in series.iter().enumerate() {
            let Some(bar) = one.bars.get(index) else { continue };
            let x = middle + (place as f64 - series.len() as f64 / 2.0) * bar_wide;
            let at = x + bar_wide / 2.0;
            if let Some(measured) = bar.measured {
                let y = plot.y(measured.median);
                let says = format!("{}, {group}: {}", one.name, short(measured.median));
                let class = format!("bar {}", one.ink.class());
                plot.canvas.rect(&class, (x + 1.0, y), (bar_wide - 2.0, BOTTOM - y), &says);
                plot.whisker(at, &measured);
            }
            if let Some(published) = bar.published {
                let says = format!("{}, {group}, published: {}", one.name, short(published));
                let y = plot.y(published);
                plot.canvas.mark(Shape::Ring, one.ink, (at, y), &says);
            }
        }
    }
    let under = BOTTOM + ROW * (below + 1) as f64;
    plot.canvas.text("axis", plot.left + plot.wide() / 2.0, under, "middle", title.under);
    let names = series.iter().map(|one| (Some(Shape::Dot), one.ink, one.name.as_str()));
    let published = all().any(|bar| bar.published.is_some());
    let ring = published.then_some((Some(Shape::Ring), Ink::Published, "published"));
    let height = plot.canvas.legend(under + GAP, names.chain(ring));
    plot.canvas.finish(title.name, height)
}

/// A chart of values on one logarithmic axis, row by row; `entries` are the legend's. Empty text without values.
pub(crate) fn dots(name: &str, unit: &str, entries: &[(Shape, Ink, String)], rows: &[DotRow]) -> String {
    dots_within(WIDTH, name, unit, entries, rows)
}

/// As [`dots`], as an image file: with its style and background, and wide enough for the names.
pub(crate) fn dots_alone(
    name: &str,
    unit: &str,
    entries: &[(Shape, Ink, String)],
    rows: &[DotRow],
) -> String {
    /// Width at which letters keep their size on a page of a repository.
    const WIDE: f64 = 840.0;
    let ground = format!("<style>{STYLE}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
    let svg = dots_within(WIDE, name, unit, entries, rows);
    match svg.split_once('>') {
        Some((tag, rest)) => format!("{tag} xmlns=\"http://www.w3.org/2000/svg\">{ground}{rest}"),
        None => svg,
    }
}

fn dots_within(
    wide: f64,
    name: &str,
    unit: &str,
    entries: &[(Shape, Ink, String)],
    rows: &[DotRow],
) -> String {
    const TRACK: f64 = 14.0;
    let marks = rows.iter().flat_map(|row| row.tracks.iter().flatten());
    let Some(scale) =
        Scale::decades(marks.map(|mark| mark.value).chain([1.0].into_iter().filter(|_| wide > WIDTH)))
    else {
        return String::new();
    };
    if rows.is_empty() {
        return String::new();
    }
    let mut canvas = Canvas::new(wide);
    let names = widest(rows.iter().map(|row| &row.name)) + 2.0 * GAP;
    // Long names stand above their tracks.
    let is_beside = names <= 0.6 * wide;
    let (left, above) = if is_beside { (names, 0.0) } else { (RIGHT, ROW) };
    let x = |value: f64| left + scale.share(value) * (wide - left - RIGHT);
    let high =
        |row: &DotRow| above + (row.tracks.len() as f64 * TRACK).max(if is_beside { ROW } else { 0.0 }) + 4.0;
    let bottom = GAP + rows.iter().map(high).sum::<f64>();
    let mut top = GAP;
    for (index, row) in rows.iter().enumerate() {
        if index % 2 == 1 {
            canvas.rect("band", (0.0, top), (wide, high(row)), "");
        }
        top += high(row);
    }
    for (mark, label) in scale.marks.iter().zip(scale.labels()) {
        let class = if *mark == 1.0 { "one" } else { "grid" };
        canvas.line(class, (x(*mark), GAP), (x(*mark), bottom));
        canvas.text("tick", x(*mark), bottom + ROW, "middle", &label);
    }
    let mut top = GAP;
    for row in rows {
        if is_beside {
            canvas.text("label", left - GAP, top + high(row) / 2.0 + 4.0, "end", &row.name);
        } else {
            canvas.text("label", 0.0, top + LETTER, "start", &row.name);
        }
        let inset = (high(row) - above - row.tracks.len() as f64 * TRACK) / 2.0;
        for (place, track) in row.tracks.iter().enumerate() {
            let y = top + above + inset + (place as f64 + 0.5) * TRACK;
            let shown = || track.iter().filter(|mark| mark.value > 0.0 && mark.value.is_finite());
            let dots = || shown().filter(|mark| mark.shape != Shape::Upright);
            if let (Some(last), 2..) = (dots().next_back(), dots().count()) {
                let ends = dots()
                    .fold((f64::INFINITY, 0.0f64), |(a, b), mark| (a.min(mark.value), b.max(mark.value)));
                canvas.line(&format!("reach {}", last.ink.class()), (x(ends.0), y), (x(ends.1), y));
            }
            for mark in shown() {
                canvas.mark(mark.shape, mark.ink, (x(mark.value), y), &mark.says);
            }
        }
        top += high(row);
    }
    canvas.text("axis", left + (wide - left) / 2.0, bottom + 2.0 * ROW, "middle", unit);
    let entries = entries.iter().map(|(shape, ink, name)| (Some(*shape), *ink, name.as_str()));
    let height = canvas.legend(bottom + 2.0 * ROW + GAP, entries);
    canvas.finish(name, height)
}

/// A row of published and measured values, a track for each series.
pub(crate) fn pairs(name: String, series: &[String], pairs: Vec<(Option<f64>, Option<f64>)>) -> DotRow {
    let track = |(place, (published, measured)): (usize, (Option<f64>, Option<f64>))| {
        let ink = Ink::MEASURED[place.min(Ink::MEASURED.len() - 1)];
        [(Shape::Ring, published, "published"), (Shape::Dot, measured, "measured")]
            .into_iter()
            .filter_map(|(shape, value, word)| {
                let value = value?;
                let says = format!("{name}, {}, {word}: {}", series[place], short(value));
                Some(Mark { shape, ink, value, says })
            })
            .collect()
    };
    let tracks = pairs.into_iter().enumerate().map(track).collect();
    DotRow { name, tracks }
}

/// The legend of [`pairs`].
pub(crate) fn pairs_legend(series: &[String]) -> Vec<(Shape, Ink, String)> {
    let ink = |place: usize| Ink::MEASURED[place.min(Ink::MEASURED.len() - 1)];
    let several = series.iter().enumerate().filter(|_| series.len() > 1);
    let names = several.map(|(place, name)| (Shape::Dot, ink(place), name.clone()));
    let words = [(Shape::Ring, Ink::Published, "published"), (Shape::Dot, Ink::Published, "measured here")];
    names.chain(words.map(|(shape, ink, word)| (shape, ink, word.to_owned()))).collect()
}

/// A length in bytes as an axis shows it.
pub(crate) fn length(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}"),
        1024..1_048_576 => format!("{}K", bytes / 1024),
        _ => format!("{}M", bytes / 1_048_576),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The labels of all charts of a text that leave their frame, or overlap another label of their line.
    pub(crate) fn clipped(text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for svg in text.split("<svg ").skip(1) {
            let svg = svg.split("</svg>").next().unwrap();
            let attribute = |tag: &str, name: &str| -> String {
                let (_, rest) =
                    tag.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{name}: {tag}"));
                rest.split('"').next().unwrap().to_owned()
            };
            let frame: Vec<f64> =
                attribute(&format!(" {svg}"), "viewBox").split(' ').map(|n| n.parse().unwrap()).collect();
            let mut seen: Vec<(f64, f64, f64)> = Vec::new();
            for label in svg.split("<text").skip(1) {
                let (tag, rest) = label.split_once('>').unwrap();
                let words = rest.split('<').next().unwrap();
                let plain = words.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
                let number = |name: &str| attribute(tag, name).parse::<f64>().unwrap();
                let (x, y, wide) = (number("x"), number("y"), width(&plain));
                let from = match attribute(tag, "text-anchor").as_str() {
                    "end" => x - wide,
                    "middle" => x - wide / 2.0,
                    _ => x,
                };
                let inside =
                    from >= -0.1 && from + wide <= frame[2] + 0.1 && y >= LETTER * 0.75 && y <= frame[3];
                let over = seen.iter().any(|(a, b, line)| {
                    (line - y).abs() < LETTER * 0.7 && from < b - 1.0 && *a < from + wide - 1.0
                });
                if !inside || over {
                    wrong.push(format!("{words} at {from:.0} to {:.0}, {y:.0} of {frame:?}", from + wide));
                }
                seen.push((from, from + wide, y));
            }
        }
        wrong
    }

    fn summary(median: f64) -> Summary {
        Summary { runs: 3, median, min: median / 2.0, max: median * 1.5, mad: 0.5 }
    }

    fn centres(text: &str) -> Vec<f64> {
        text.split("cx=\"").skip(1).map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
    }

    const TITLE: Title<'static> = Title { name: "t", unit: "operations per second", under: "bytes" };

    #[test]
    fn an_axis_holds_its_values_with_few_marks() {
        for most in [0.013, 0.9, 1.0, 7.3, 99.0, 12_345.0] {
            let Scale { high, marks, .. } = Scale::from_nought([0.0, most].into_iter()).unwrap();
            assert!(
                high >= most && high <= 1.5 * most + marks[1] && (4..=7).contains(&marks.len()),
                "{most}: {marks:?}"
            );
        }
        assert!(Scale::from_nought([0.0, f64::NAN].into_iter()).is_none());
        assert_eq!(Scale::decades([0.5, 80.0].into_iter()).unwrap().labels(), ["0.1", "1", "10", "100"]);
        assert!(Scale::decades([0.0].into_iter()).is_none());
    }

    #[test]
    fn lines_and_their_labels_lie_within_the_frame() {
        let points = vec![(64.0, summary(3e6)), (80.0, summary(3e9)), (1_048_576.0, summary(0.000_4))];
        for heights in [Heights::Decades, Heights::FromNought] {
            let line = Line { name: "a<b".into(), ink: Ink::Ours, points: points.clone() };
            let text = lines(TITLE, heights, length, &[line]);
            assert!(text.contains("a&lt;b") && !text.contains("NaN"));
            assert_eq!(centres(&text).len(), 3);
            assert!(centres(&text).iter().all(|x| (0.0..=WIDTH).contains(x)));
            assert_eq!(clipped(&text), Vec::<String>::new());
        }
        assert_eq!(lines(TITLE, Heights::Decades, length, &[]), "");
    }

    #[test]
    fn bars_and_their_labels_lie_within_the_frame() {
        let bar = Bar { measured: Some(summary(2.0)), published: Some(2.5) };
        let series = Ink::SERIES.map(|ink| Bars {
            name: "eight in flight, at an interval".into(),
            ink,
            bars: vec![bar, Bar::default()],
        });
        let groups: Vec<String> = (1..9).map(|group| format!("as it is, {group}")).collect();
        let text = bars(TITLE, &groups, &series);
        assert_eq!(text.matches("<rect").count(), 4);
        assert!(text.contains(">published<"));
        assert_eq!(clipped(&text), Vec::<String>::new());
        assert_eq!(bars(TITLE, &[], &[]), "");
    }

    #[test]
    fn names_of_rows_lie_within_the_frame_however_long() {
        let series = ["one".to_owned(), "two".to_owned()];
        for name in ["r", "a name that is much too long to stand beside what it names"] {
            let row = || pairs(name.into(), &series, vec![(Some(5.0), None), (Some(1.0), Some(4e7))]);
            let text = dots("t", "u", &pairs_legend(&series), &[row(), row()]);
            assert!(text.contains("class=\"ring ours\"") && text.contains("class=\"reach ours2\""));
            assert_eq!(clipped(&text), Vec::<String>::new());
        }
        assert_eq!(dots("t", "u", &[], &[]), "");
        assert_eq!(dots_alone("t", "u", &[], &[]), "");
        let row = pairs("r".into(), &series[..1], vec![(None, Some(20.0))]);
        let alone = dots_alone("t", "u", &[], &[row]);
        assert!(alone.contains("<style>") && alone.contains("class=\"one\""), "a ratio of 1 is on the axis");
    }
}
