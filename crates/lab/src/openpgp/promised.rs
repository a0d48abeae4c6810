//! `make bench`, the part on OpenPGP: whole programs on one text, in turn, each with what the kernel booked for it.
//!
//! The sides of a row run round by round, in changing order. The first round also decrypts what was encrypted, by
//! another tool if one can, and compares the result with the text. A wrong text ends the measures.

use super::bound::{Floor, Lengths, Moving};
use super::cases::{Act, GROUPS, Group, Ours, aes128};
use super::desk::{Desk, Tool, missing};
use super::file::{Mode, Task};
use super::input;
use super::many;
use super::memory::{Rates, Step};
use super::process::{Program, Usage};
use crate::experiment::promise::{Measure, Options, Part, Promise};
use crate::kit::machine::processors_online;
use crate::kit::statistics::{Comparison, Summary, compare, median};
use crate::load::LabError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of rounds of a row: a round of some rows takes half a minute.
pub const ROUNDS_MAX: usize = 3;
/// Seconds that each step from memory to memory is measured in each round.
const MEMORY_SECONDS: f64 = 0.1;
/// Peak memory that is promised, in MiB.
const PEAK_MIB: f64 = 64.0;

/// Measures every row whose name contains the filter.
///
/// # Errors
/// [`LabError::Program`] where a tool fails or a text comes out wrong, [`LabError::Interrupted`], [`LabError::Io`].
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let groups: Vec<Group> = GROUPS.iter().filter(|group| is_wanted(group, options)).copied().collect();
    let engine = Step::ENGINE.iter().any(|(case, _)| options.wants(case));
    let many = options.wants(many::CASE);
    if groups.is_empty() && !engine && !many {
        return Ok(Vec::new());
    }
    progress("OpenPGP: the text");
    let rounds = options.rounds.clamp(1, ROUNDS_MAX);
    let mut bench = Bench::new(text_bytes(options), rounds, stop)?;
    let mut rows = Vec::new();
    for group in &groups {
        bench.group(group, options, progress, &mut rows)?;
    }
    if engine {
        bench.engine_rows(options, &mut rows)?;
    }
    if many {
        progress(many::CASE);
        rows.extend(many::run(&bench.desk, rounds, stop)?);
    }
    rows.extend(bench.peak_row());
    for row in &mut rows {
        row.part = Part::Openpgp;
    }
    Ok(rows)
}

/// Length of the text in bytes: the published length times the asked share of the default time, at least a hundredth.
pub fn text_bytes(options: &Options) -> u64 {
    let share = (options.seconds / Options::default().seconds).clamp(0.01, 1.0);
    (input::PUBLISHED_BYTES as f64 * share) as u64
}

fn is_wanted(group: &Group, options: &Options) -> bool {
    group.ours.iter().any(|ours| options.wants(ours.case))
}

/// A side: its tool and its work.
type Side = (Tool, Act);

struct Bench<'a> {
    desk: Desk,
    rounds: usize,
    stop: &'a AtomicBool,
    rates: Rates,
    moving: Moving,
    /// gpg's rate for its plainest message, in bytes per second of processor time; none until it is measured.
    gpg_rate: Option<f64>,
    peaks: Vec<f64>,
}

impl<'a> Bench<'a> {
    fn new(bytes: u64, rounds: usize, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let desk = Desk::new(bytes, stop)?;
        let moving = moving(&desk, rounds, stop)?;
        let rates = Rates::measure(rounds, MEMORY_SECONDS)?;
        Ok(Self { desk, rounds, stop, rates, moving, gpg_rate: None, peaks: Vec::new() })
    }

    fn group(
        &mut self,
        group: &Group,
        options: &Options,
        progress: &mut dyn FnMut(&str),
        rows: &mut Vec<Measure>,
    ) -> Result<(), LabError> {
        let text = self.text_of(group)?;
        let bytes = fs::metadata(&text).map_err(LabError::io("look at the text"))?.len();
        let wanted: Vec<&Ours> = group.ours.iter().filter(|ours| options.wants(ours.case)).collect();
        let mut sides: Vec<Side> = vec![(group.peer, group.act)];
        sides.extend(wanted.iter().map(|ours| (Tool::Cryptand, ours.act)));
        if !self.desk.has(group.peer) {
            sides.remove(0);
        }
        let mut runs: Vec<Vec<Usage>> = vec![Vec::new(); sides.len()];
        let mut lengths = vec![bytes; sides.len()];
        for round in 0..self.rounds {
            for turn in 0..sides.len() {
                let at = (turn + round) % sides.len();
                let (tool, act) = sides[at];
                progress(&format!(
                    "OpenPGP, round {} of {}: {}",
                    round + 1,
                    self.rounds,
                    describe(tool, act)
                ));
                let (usage, length) = self.side(tool, act, &text, round == 0)?;
                runs[at].push(usage);
                lengths[at] = length;
            }
        }
        self.forget(&text);
        let peer = sides.len() > wanted.len();
        let name = self.desk.name(group.peer);
        for (index, ours) in wanted.into_iter().enumerate() {
            let own = &runs[index + usize::from(peer)];
            self.peaks.extend(own.iter().map(|usage| usage.peak_bytes as f64 / f64::from(1 << 20)));
            let message = lengths[index + usize::from(peer)];
            let floor =
                Floor::new(ours.act, ours.steps, Lengths { text: bytes, message }, self.moving, &self.rates);
            rows.extend(pair((group, &name), ours, own, peer.then(|| &runs[0][..]), bytes, floor.as_ref()));
        }
        if peer && (group.peer, group.act) == (Tool::Gpg, Act::Encrypt(aes128(Mode::Cfb, None))) {
            self.gpg_rate = Some(median(&rates(&runs[0], bytes, Usage::cpu_s)));
        }
        Ok(())
    }

    /// Path of a group's text: the whole text, or a part of it under a name of its own.
    fn text_of(&self, group: &Group) -> Result<PathBuf, LabError> {
        if group.part == 1 {
            self.desk.make_text()?;
            return Ok(self.desk.text());
        }
        let part = self.desk.path("part");
        input::write(&part, self.desk.bytes() / group.part, processors_online())
            .map_err(LabError::io("write a part of the text"))?;
        Ok(part)
    }

    /// Removes a group's messages, and its text if that is a part.
    fn forget(&self, text: &Path) {
        for maker in [Tool::Cryptand, Tool::Gpg] {
            for form in GROUPS.iter().filter_map(|group| group.act.form()) {
                self.desk.remove(&self.message(form, maker));
            }
        }
        if text != self.desk.text() {
            self.desk.remove(text);
        }
    }

    fn message(&self, form: super::desk::Form, maker: Tool) -> PathBuf {
        let zip = form.zip.map_or(String::new(), |level| format!("-zip{level}"));
        let bits = if form.aes256 { 256 } else { 128 };
        self.desk.path(&format!("message-{}-{bits}-{}{zip}", maker.name(), form.mode.name()))
    }

    /// Runs one side once; gives the resources that it used and the length of the message.
    fn side(&mut self, tool: Tool, act: Act, text: &Path, check: bool) -> Result<(Usage, u64), LabError> {
        let out = self.desk.path("out");
        let bytes = fs::metadata(text).map_or(self.desk.bytes(), |data| data.len());
        let length = |path: &Path| fs::metadata(path).map_or(0, |data| data.len());
        match act {
            Act::Read => {
                let usage = Task::Read { from: text.to_owned() }.program()?.run(self.stop)?;
                Ok((usage, bytes))
            }
            Act::EncryptToNull(form) => {
                let program = self.desk.encrypt(tool, form, text, Path::new("/dev/null"))?;
                Ok((program.run(self.stop)?, bytes))
            }
            Act::Encrypt(form) => {
                let usage = self.desk.encrypt(tool, form, text, &out)?.run(self.stop)?;
                let message = length(&out);
                if check && tool == Tool::Cryptand {
                    let checker = checker(&self.desk, form.mode);
                    self.check(self.desk.decrypt(checker, &out, &self.desk.path("again"))?, text, bytes)?;
                }
                self.desk.remove(&out);
                Ok((usage, message))
            }
            Act::Decrypt(form, maker) => {
                let message = self.message(form, maker);
                if !message.exists() {
                    self.desk.encrypt(maker, form, text, &message)?.run(self.stop)?;
                }
                let usage = self.desk.decrypt(tool, &message, &out)?.run(self.stop)?;
                if check {
                    same(&out, bytes)?;
                }
                self.desk.remove(&out);
                Ok((usage, length(&message)))
            }
        }
    }

    /// Runs a program that decrypts into the file `again`, and checks that the file is the text. The text is removed
    /// meanwhile, to make room.
    fn check(&self, program: Program, text: &Path, bytes: u64) -> Result<(), LabError> {
        self.desk.remove(text);
        program.run(self.stop)?;
        let again = self.desk.path("again");
        same(&again, bytes)?;
        // The decrypted file is the text: it takes the text's place.
        fs::rename(&again, text).map_err(LabError::io("put the text back"))
    }

    /// Rows of the engine from memory to memory, beside gpg's rate for a file.
    fn engine_rows(&mut self, options: &Options, rows: &mut Vec<Measure>) -> Result<(), LabError> {
        for (case, step) in Step::ENGINE.iter().filter(|(case, _)| options.wants(case)) {
            let Some(rate) = self.rates.of(*step) else { continue };
            let ours = rate.median / 1e6;
            rows.push(Measure {
                case: (*case).to_owned(),
                ours,
                unit: "MB/s".to_owned(),
                spread: Some((rate.min / 1e6, rate.max / 1e6)),
                peer: self
                    .gpg_rate
                    .map_or(String::new(), |_| "gpg encrypts AES-128 CFB, file to file".to_owned()),
                peer_value: self.gpg_rate.map(|gpg| gpg / 1e6),
                ratio: self.gpg_rate.map(|gpg| ours * 1e6 / gpg),
                promise: (*step == Step::GcmSeal && self.gpg_rate.is_some())
                    .then_some(Promise::RatioAtLeast(5.0)),
                bound: "instructions of AES, see the engine's rows".to_owned(),
                ..Measure::default()
            });
        }
        if self.stop.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
    }

    fn peak_row(&self) -> Option<Measure> {
        let peaks = Summary::of(&self.peaks)?;
        Some(Measure {
            case: format!("peak memory, the largest of {} runs above", peaks.runs),
            ours: peaks.max,
            unit: "MiB".to_owned(),
            spread: Some((peaks.min, peaks.max)),
            promise: Some(Promise::Below(PEAK_MIB)),
            bound: "blocks on their way between stages, tables of deflate, the program".to_owned(),
            ..Measure::default()
        })
    }
}

impl Step {
    /// The engine's rows from memory to memory.
    const ENGINE: [(&'static str, Step); 2] = [
        ("engine alone, AES-128 GCM, memory to memory, one core", Step::GcmSeal),
        ("engine alone, AES-128 OCB, memory to memory, one core", Step::OcbSeal),
    ];
}

/// The cost of moving bytes: of reading the text, and of reading and writing it. The first turn, which allocates fresh
/// memory, does not count.
fn moving(desk: &Desk, rounds: usize, stop: &AtomicBool) -> Result<Moving, LabError> {
    let (text, out) = (desk.text(), desk.path("out"));
    let (mut read, mut copy) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let alone = Task::Read { from: text.clone() }.program()?.run(stop)?.cpu_s();
        let task = Task::Copy { from: text.clone(), to: out.clone(), bytes: u64::MAX };
        let both = task.program()?.run(stop)?.cpu_s();
        desk.remove(&out);
        if round > 0 {
            read.push(alone);
            copy.push(both);
        }
    }
    let bytes = desk.bytes() as f64;
    let read = median(&read);
    Ok(Moving { read: read / bytes, write: (median(&copy) - read).max(0.0) / bytes })
}

/// The tool that decrypts messages of this program: gpg for CFB if it is installed, else rPGP.
fn checker(desk: &Desk, mode: Mode) -> Tool {
    if mode == Mode::Cfb && desk.has(Tool::Gpg) { Tool::Gpg } else { Tool::Rpgp }
}

fn same(path: &Path, bytes: u64) -> Result<(), LabError> {
    let is_text = input::is_text(path, bytes, processors_online()).map_err(LabError::io("compare a text"))?;
    if is_text {
        return Ok(());
    }
    Err(LabError::Program(
        "what was decrypted is not the text; no figure is given for wrong texts".to_owned(),
    ))
}

fn describe(tool: Tool, act: Act) -> String {
    let what = match act {
        Act::Encrypt(_) => "encrypts",
        Act::EncryptToNull(_) => "encrypts to /dev/null",
        Act::Decrypt(..) => "decrypts",
        Act::Read => return "a plain read".to_owned(),
    };
    let form = act.form().map_or(String::new(), |form| {
        let zip = form.zip.map_or(String::new(), |level| format!(", ZIP level {level}"));
        format!("AES-{} {}{zip}", if form.aes256 { 256 } else { 128 }, form.mode.name().to_uppercase())
    });
    format!("{} {what} {form}", tool.name())
}

fn rates(runs: &[Usage], bytes: u64, seconds: fn(&Usage) -> f64) -> Vec<f64> {
    runs.iter().map(|usage| bytes as f64 / seconds(usage).max(1e-6)).collect()
}

/// A row's quantity: its name, and the seconds of a run.
type By = (&'static str, fn(&Usage) -> f64);

/// The two rows of a case: by processor time, and by elapsed time.
fn pair(
    (group, name): (&Group, &str),
    ours: &Ours,
    own: &[Usage],
    peer: Option<&[Usage]>,
    bytes: u64,
    floor: Option<&Floor>,
) -> [Measure; 2] {
    let processors = processors_online();
    let cpu = median(&own.iter().map(Usage::cpu_s).collect::<Vec<_>>());
    let wall = median(&own.iter().map(|usage| usage.wall_s).collect::<Vec<_>>());
    let bounds = [
        floor.map_or(String::new(), |floor| floor.cpu_text(cpu)),
        floor.map_or(String::new(), |floor| floor.elapsed_text(processors, wall)),
    ];
    let promised = [ours.promised.map(|both| both.0), ours.promised.map(|both| both.1)];
    let by: [By; 2] = [("per processor second", Usage::cpu_s), ("elapsed", |usage| usage.wall_s)];
    let mut bounds = bounds.into_iter();
    [0, 1].map(|index| {
        let (what, seconds) = by[index];
        let own = rates(own, bytes, seconds);
        let both = peer.and_then(|peer| compare(&own, &rates(peer, bytes, seconds)));
        let part = if group.part == 1 { String::new() } else { format!(", 1/{} of the text", group.part) };
        let peer = both.as_ref().map_or_else(|| missing(group.peer).to_string(), |_| peer_text(group, name));
        let own: Vec<f64> = own.iter().map(|rate| rate / 1e6).collect();
        let both = both.map(|both| Comparison { peer: both.peer.scaled(1e-6), ..both });
        let promise = promised[index].map(Promise::RatioAtLeast);
        Measure::alone(&format!("{}{part}: {what}", ours.case), "MB/s", &own, promise)
            .against(&peer, both)
            .bounded_by(bounds.next().unwrap_or_default())
    })
}

fn peer_text(group: &Group, name: &str) -> String {
    if group.act == Act::Read {
        return "a plain read, 1 MiB at a time".to_owned();
    }
    describe(group.peer, group.act).replacen(group.peer.name(), name, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cpu: f64, wall: f64) -> Usage {
        Usage { user_s: cpu, wall_s: wall, ..Usage::default() }
    }

    #[test]
    fn a_case_is_judged_by_processor_time_and_by_elapsed_time() {
        let group = &GROUPS[0];
        let own = [usage(1.0, 0.5), usage(1.0, 0.5), usage(2.0, 1.0)];
        let peer = [usage(2.0, 2.0), usage(2.0, 2.0), usage(2.0, 2.0)];
        let rows = pair((group, "gpg 2.2"), &group.ours[0], &own, Some(&peer), 100_000_000, None);
        assert_eq!((rows[0].ours, rows[0].ratio, rows[0].is_kept()), (100.0, Some(2.0), true));
        assert_eq!((rows[1].ours, rows[1].peer_value, rows[1].ratio), (200.0, Some(50.0), Some(4.0)));
        assert_eq!(rows[1].ratio_spread, Some((2.0, 4.0)));
        assert!(rows[0].peer.contains("gpg 2.2 encrypts AES-128 CFB"), "{}", rows[0].peer);
        let alone = pair((group, "gpg 2.2"), &group.ours[0], &own, None, 100_000_000, None);
        assert!(!alone[0].is_kept() && alone[0].peer.contains("install gnupg"), "{}", alone[0].peer);
    }

    #[test]
    fn the_text_is_the_published_one_or_a_share_of_it() {
        assert_eq!(text_bytes(&Options::default()), input::PUBLISHED_BYTES);
        let tenth = text_bytes(&Options { seconds: 0.01, ..Options::default() });
        assert_eq!(tenth, input::PUBLISHED_BYTES / 10);
    }

    #[test]
    fn a_filter_that_fits_no_row_measures_nothing() {
        let options = Options { filter: Some("no such row".to_owned()), ..Options::default() };
        assert_eq!(run(&options, &AtomicBool::new(false), &mut |_| ()).unwrap(), []);
    }
}
