//! Threads of one process write nothing that another one's requests write: a cache line that two processors write goes
//! back and forth between them for every request.
//!
//! Valgrind's tool lackey runs the process, and tells each write of its program and its libraries with the address, and
//! which thread runs. So reference counts, locks and the allocator are seen as well as words of the library's own. The
//! daemon and the cards run beside it as they are.

use facility::Label;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use system_tests::{Installation, mac_key, program};
use wire::control::Store;

const LABEL: &str = "SHARED.MAC";
/// Requests of each of two threads.
const REQUESTS: usize = 400;
/// A cache line, to the base 2.
const LINE_BITS: u32 = 6;
/// The thread that the others were started by, as valgrind numbers it.
const MAIN_THREAD: u32 = 1;
/// A thread that sends requests writes at least as many cache lines for each of them.
const LINES_OF_REQUESTS: usize = 50;
/// Upper bound of the writers of a cache line that a report names.
const WRITERS_MAX: usize = 8;

/// A thread as valgrind numbers it, and the address of an instruction.
type Writer = (u32, u64);

/// What was written to a cache line.
#[derive(Default)]
struct Written {
    /// Number of writes by each thread.
    by: BTreeMap<u32, usize>,
    writers: HashSet<Writer>,
}

/// A process that was watched to its end.
struct Watched {
    lines: HashMap<u64, Written>,
    /// `/proc/self/maps` of the process.
    maps: String,
}

/// The hexadecimal number that an entry of the trace has before its comma.
fn address(entry: &[u8]) -> Option<u64> {
    let end = entry.iter().position(|byte| *byte == b',')?;
    u64::from_str_radix(std::str::from_utf8(&entry[..end]).ok()?.trim_start(), 16).ok()
}

/// The thread of an entry like `--12-- SCHED[2]:  acquired lock (...)`: it runs from here on.
fn thread_that_runs(entry: &[u8]) -> Option<u32> {
    let entry = std::str::from_utf8(entry).ok()?;
    let (_, rest) = entry.split_once("SCHED[")?;
    let (thread, rest) = rest.split_once(']')?;
    rest.contains("acquired lock").then(|| thread.parse().ok())?
}

/// Watches two threads send requests in this way, on one processor where it is given.
fn watch(way: &str, processor: Option<usize>) -> Watched {
    let installation = Installation::new(2, 0);
    installation.until_ready();
    let facility = installation.facility();
    facility.record_create(Store::Des, &Label::new(LABEL).unwrap(), &mac_key(&facility)).unwrap();
    let mut command = match processor {
        Some(processor) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &processor.to_string(), "valgrind"]);
            command
        }
        None => Command::new("valgrind"),
    };
    let mut child = command
        // A freed block goes back to the threads that it was made by, and not to the one that freed it.
        .env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")
        .args(["--tool=lackey", "--trace-mem=yes", "--trace-sched=yes", "--fair-sched=yes"])
        .arg(program("threads-at-work"))
        .arg(installation.home.folder())
        .args([&format!("{LABEL:64}"), way, &REQUESTS.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("valgrind starts (apt-get install valgrind)");
    let mut stdout = child.stdout.take().unwrap();
    let maps = std::thread::spawn(move || {
        let mut maps = String::new();
        stdout.read_to_string(&mut maps).map(|_| maps)
    });
    let mut trace = BufReader::with_capacity(1 << 20, child.stderr.take().unwrap());
    let (mut thread, mut instruction, mut entry) = (0, 0, Vec::new());
    let mut lines: HashMap<u64, Written> = HashMap::new();
    let mut said = String::new();
    while trace.read_until(b'\n', &mut entry).unwrap() != 0 {
        match (entry.get(..3), entry.get(3..).and_then(address)) {
            (Some(b"I  "), Some(at)) => instruction = at,
            (Some(b" L "), Some(_)) => {}
            (Some(b" S " | b" M "), Some(at)) => {
                let written = lines.entry(at >> LINE_BITS).or_default();
                *written.by.entry(thread).or_default() += 1;
                if written.writers.len() < WRITERS_MAX {
                    written.writers.insert((thread, instruction));
                }
            }
            _ => match thread_that_runs(&entry) {
                Some(runs) => thread = runs,
                None if entry.starts_with(b"--") => {}
                None => said.push_str(&String::from_utf8_lossy(&entry)),
            },
        }
        entry.clear();
    }
    let maps = maps.join().unwrap().unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {said}");
    Watched { lines, maps }
}

impl Watched {
    /// Number of cache lines that a thread wrote for half of its requests or more, by thread.
    fn busy_lines(&self) -> BTreeMap<u32, usize> {
        let mut busy = BTreeMap::new();
        for written in self.lines.values() {
            for thread in written.busy() {
                *busy.entry(thread).or_default() += 1;
            }
        }
        busy
    }

    /// The cache lines that two threads wrote for half of their requests or more.
    fn shared(&self) -> Vec<(u64, &Written)> {
        let mut shared: Vec<_> = self
            .lines
            .iter()
            .filter(|(_, written)| written.busy().count() > 1)
            .map(|(line, written)| (line << LINE_BITS, written))
            .collect();
        shared.sort_unstable_by_key(|(address, _)| *address);
        shared
    }

    /// Who writes the shared lines, in functions of the source.
    fn report(&self) -> String {
        let mut report = String::new();
        for (address, written) in self.shared() {
            let _ = writeln!(report, "{address:#x}: writes by thread {:?}", written.by);
            for (thread, instruction) in &written.writers {
                let _ = writeln!(report, "    thread {thread}: {}", self.function(*instruction));
            }
        }
        report
    }

    /// The functions that an instruction is of, from the innermost one on.
    fn function(&self, instruction: u64) -> String {
        let mapped = || {
            self.maps.lines().filter_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (begin, end) = range.split_once('-')?;
                let number = |text: &str| u64::from_str_radix(text, 16).ok();
                let offset = number(rest.split_whitespace().nth(1)?)?;
                Some((number(begin)?..number(end)?, offset, &line[line.find('/')?..]))
            })
        };
        let Some((.., file)) = mapped().find(|(range, ..)| range.contains(&instruction)) else {
            return format!("{instruction:#x}");
        };
        let first = mapped().find(|(_, offset, other)| *offset == 0 && *other == file);
        let within = format!("{:#x}", instruction - first.map_or(0, |(range, ..)| range.start));
        let output = Command::new("addr2line").args(["-Cfie", file, &within]).output();
        let output = output.expect("addr2line starts (apt-get install binutils)").stdout;
        let names: Vec<_> = String::from_utf8_lossy(&output).lines().step_by(2).map(str::to_owned).collect();
        format!("{within} of {file}: {}", names.join(" in "))
    }
}

impl Written {
    /// The threads that wrote the line for half of their requests or more.
    fn busy(&self) -> impl Iterator<Item = u32> {
        self.by.iter().filter(|(_, writes)| **writes >= REQUESTS / 2).map(|(thread, _)| *thread)
    }
}

fn nothing_is_shared(way: &str) {
    if needs::lacks(needs::Need::TwoProcessors) {
        return;
    }
    let watched = watch(way, None);
    let busy = watched.busy_lines();
    let at_work =
        busy.iter().filter(|(thread, lines)| **thread != MAIN_THREAD && **lines >= LINES_OF_REQUESTS).count();
    assert_eq!(at_work, 2, "two threads send requests: {busy:?}");
    assert!(watched.shared().is_empty(), "{way}: both threads write for each request:\n{}", watched.report());
}

#[test]
fn calls_of_two_threads_write_no_line_of_each_other() {
    nothing_is_shared("calls");
}

#[test]
fn calls_on_a_chosen_card_of_two_threads_write_no_line_of_each_other() {
    nothing_is_shared("chosen");
}

#[test]
fn tickets_of_two_threads_write_no_line_of_each_other() {
    nothing_is_shared("tickets");
}

#[test]
fn loops_of_two_threads_write_no_line_of_each_other() {
    nothing_is_shared("loops");
}

/// Where there is one processor, there is one share of queues: the watch sees what its threads share.
#[test]
fn the_watch_sees_threads_that_share_queues() {
    let allowed = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|processor| allowed.is_set(*processor)).unwrap();
    for (way, shared) in [("calls", "cards::pool::Pool"), ("tickets", "facility::Lent")] {
        let watched = watch(way, Some(first));
        let report = watched.report();
        assert!(!watched.shared().is_empty() && report.contains(shared), "{way}: {report}");
    }
}
