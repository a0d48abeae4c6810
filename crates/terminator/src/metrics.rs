//! Counters. Each loop has its own counters for each listener, and only that loop writes them. So nothing on the path
//! of a connection takes a lock or shares a cache line with another loop. Readers add the counters up.

pub(crate) mod page;
mod times;

use crate::material::Material;
use crate::settings::Settings;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
pub(crate) use times::{Times, TimesRead};
use tls::{Facts, SUITES};

/// The reasons of ends that the log states, by their first word; no other words are values of labels.
pub(crate) const ENDS: [&str; 20] = [
    "other",
    "done",
    "cut",
    "idle",
    "handshake-timeout",
    "stopped",
    "unknown-name",
    "unknown-protocol",
    "nothing-in-common",
    "alert",
    "protocol",
    "certificate",
    "key",
    "internal",
    "backend",
    "client",
    "client-certificate",
    "proxy",
    "refused",
    "full",
];

/// Versions, suites and groups of the library; any other one counts as the first.
const VERSIONS: [&str; 5] = ["other", "TLS1.0", "TLS1.1", "TLS1.2", "TLS1.3"];
const CIPHERS: [&str; SUITES.len() + 1] = {
    let mut all = ["other"; SUITES.len() + 1];
    let mut at = 0;
    while at < SUITES.len() {
        all[at + 1] = SUITES[at];
        at += 1;
    }
    all
};
/// The second stands for no group, as with RSA key exchange.
const GROUPS: [&str; 10] = [
    "other",
    "none",
    "X25519MLKEM768",
    "x25519",
    "secp256r1",
    "secp384r1",
    "secp521r1",
    "SecP256r1MLKEM768",
    "SecP384r1MLKEM1024",
    "MLKEM1024",
];

/// Number of kinds of handshakes that a loop counts for a listener; further kinds are counted together.
const KINDS: usize = 64;

/// Why a private key operation has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyError {
    /// No card was asked.
    NotAsked,
    /// The card refused.
    Refused,
    /// No answer came from a card.
    NoAnswer,
}

/// Names of [`KeyError`]'s values, in their order.
pub(crate) const KEY_ERRORS: [&str; 3] = ["not-asked", "refused", "no-answer"];

/// A number that a single thread adds to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the number; only the one writing thread may call this.
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A kind of handshakes, as a packed number, and how many there were. The kind is 0 if the place is free.
#[derive(Debug, Default)]
struct Kind {
    kind: AtomicU32,
    count: Counter,
}

/// The parameters that a handshake agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Agreed {
    pub(crate) version: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) group: &'static str,
    pub(crate) is_resumed: bool,
}

const PRESENT: u32 = 1 << 31;

fn place(names: &[&str], name: &str) -> u32 {
    names.iter().position(|other| *other == name).unwrap_or_default() as u32
}

fn kind_of(facts: &Facts) -> u32 {
    let group = facts.group.as_deref().unwrap_or("none");
    PRESENT
        | place(&VERSIONS, facts.version) << 24
        | place(&CIPHERS, &facts.cipher) << 16
        | place(&GROUPS, group) << 8
        | u32::from(facts.is_resumed)
}

fn agreed(kind: u32) -> Agreed {
    let of = |names: &[&'static str], shift: u32| {
        names.get((kind >> shift & 0x7F) as usize).copied().unwrap_or("other")
    };
    Agreed {
        version: of(&VERSIONS, 24),
        cipher: of(&CIPHERS, 16),
        group: of(&GROUPS, 8),
        is_resumed: kind & 1 == 1,
    }
}

/// Progress of a connection, to be compared with earlier progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) handshake: Option<Duration>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

/// The counters of one loop for one listener.
#[derive(Debug)]
// Two cache lines: processors fetch lines in pairs.
#[repr(align(128))]
pub(crate) struct OfLoop {
    accepted: Counter,
    ended: Counter,
    held: Counter,
    released: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    /// By [`ENDS`]: ends before the handshake was over, and ends after.
    failures: [Counter; ENDS.len()],
    ends: [Counter; ENDS.len()],
    key_errors: [Counter; KEY_ERRORS.len()],
    key: Times,
    full: Times,
    resumed: Times,
    kinds: [Kind; KINDS],
}

impl Default for OfLoop {
    fn default() -> Self {
        Self {
            accepted: Counter::default(),
            ended: Counter::default(),
            held: Counter::default(),
            released: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            failures: Default::default(),
            ends: Default::default(),
            key_errors: Default::default(),
            key: Times::default(),
            full: Times::default(),
            resumed: Times::default(),
            kinds: std::array::from_fn(|_| Kind::default()),
        }
    }
}

impl OfLoop {
    pub(crate) fn accepted(&self) {
        self.accepted.add(1);
    }

    /// Counts a connection that was closed at once. `end` is the log's reason.
    pub(crate) fn refused(&self, end: &str) {
        self.accepted.add(1);
        self.ended(end, false);
    }

    /// Counts the end of a connection, even if it is still held open ([`OfLoop::held`]). `end` is the log's reason.
    pub(crate) fn ended(&self, end: &str, is_shaken: bool) {
        let word = end.split([' ', ':', '(']).next().unwrap_or_default();
        let counts = if is_shaken { &self.ends } else { &self.failures };
        counts[place(&ENDS, word) as usize].add(1);
        self.ended.add(1);
    }

    /// Counts a failed connection that stays open for the library's delay.
    pub(crate) fn held(&self) {
        self.held.add(1);
    }

    pub(crate) fn released(&self) {
        self.released.add(1);
    }

    /// Counts a private key operation on a card that took this time.
    pub(crate) fn key_took(&self, time: Duration) {
        self.key.add(time);
    }

    pub(crate) fn key_failed(&self, error: KeyError) {
        self.key_errors[error as usize].add(1);
    }

    /// Counts the progress of a connection from `before` to `after`.
    pub(crate) fn went_on(&self, before: Seen, after: Seen, facts: &Facts) {
        if after.bytes_in != before.bytes_in {
            self.bytes_in.add(after.bytes_in - before.bytes_in);
        }
        if after.bytes_out != before.bytes_out {
            self.bytes_out.add(after.bytes_out - before.bytes_out);
        }
        if let (None, Some(took)) = (before.handshake, after.handshake) {
            let times = if facts.is_resumed { &self.resumed } else { &self.full };
            times.add(took);
            self.shaken(kind_of(facts));
        }
    }

    fn shaken(&self, kind: u32) {
        for each in &self.kinds[..KINDS - 1] {
            match each.kind.load(Ordering::Relaxed) {
                0 => each.kind.store(kind, Ordering::Relaxed),
                other if other == kind => {}
                _ => continue,
            }
            each.count.add(1);
            return;
        }
        let last = &self.kinds[KINDS - 1];
        last.kind.store(PRESENT | kind & 1, Ordering::Relaxed);
        last.count.add(1);
    }
}

/// The counters of all loops for one listener, since the program began or the listener was added.
#[derive(Debug)]
pub(crate) struct OfListener {
    pub(crate) name: String,
    loops: Box<[OfLoop]>,
}

impl OfListener {
    fn new(name: String, loops: usize) -> Self {
        Self { name, loops: (0..loops.max(1)).map(|_| OfLoop::default()).collect() }
    }

    /// The counters of the loop with this number, which only that loop writes.
    pub(crate) fn of(&self, loop_number: usize) -> &OfLoop {
        &self.loops[loop_number % self.loops.len()]
    }

    fn sum(&self, of: impl Fn(&OfLoop) -> &Counter) -> u64 {
        self.loops.iter().map(|each| of(each).read()).sum()
    }

    fn times(&self, of: impl Fn(&OfLoop) -> &Times) -> TimesRead {
        let mut sum = TimesRead::default();
        for each in &self.loops {
            sum.add(of(each));
        }
        sum
    }

    /// The sums of the counters over all loops.
    pub(crate) fn read(&self) -> Read {
        let mut kinds = Vec::<(Agreed, u64)>::new();
        for each in self.loops.iter().flat_map(|of_loop| &of_loop.kinds) {
            let kind = each.kind.load(Ordering::Relaxed);
            if kind == 0 {
                continue;
            }
            let (kind, count) = (agreed(kind), each.count.read());
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, sum)) => *sum += count,
                None => kinds.push((kind, count)),
            }
        }
        kinds.sort_unstable();
        // Ends are read before begins, so that a connection that ends meanwhile is not counted as ended before it
        // began.
        let (ended, released) = (self.sum(|of| &of.ended), self.sum(|of| &of.released));
        let (accepted, held) = (self.sum(|of| &of.accepted), self.sum(|of| &of.held));
        Read {
            accepted,
            open: accepted.saturating_sub(ended),
            held: held.saturating_sub(released),
            bytes_in: self.sum(|of| &of.bytes_in),
            bytes_out: self.sum(|of| &of.bytes_out),
            failures: std::array::from_fn(|at| self.sum(|of| &of.failures[at])),
            ends: std::array::from_fn(|at| self.sum(|of| &of.ends[at])),
            key_errors: std::array::from_fn(|at| self.sum(|of| &of.key_errors[at])),
            key: self.times(|of| &of.key),
            full: self.times(|of| &of.full),
            resumed: self.times(|of| &of.resumed),
            kinds,
        }
    }
}

/// The counts of one listener, summed over all loops.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) accepted: u64,
    pub(crate) open: u64,
    pub(crate) held: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) failures: [u64; ENDS.len()],
    pub(crate) ends: [u64; ENDS.len()],
    pub(crate) key_errors: [u64; KEY_ERRORS.len()],
    pub(crate) key: TimesRead,
    pub(crate) full: TimesRead,
    pub(crate) resumed: TimesRead,
    pub(crate) kinds: Vec<(Agreed, u64)>,
}

/// Properties of a listener in the settings, for people.
#[derive(Clone, Debug)]
pub(crate) struct ListenerFacts {
    /// Name of the listener in logs and metrics.
    pub(crate) name: String,
    /// Address of the listener's socket.
    pub(crate) address: String,
    pub(crate) policy: &'static str,
    pub(crate) service: String,
}

/// Result of the last reload.
#[derive(Clone, Debug)]
pub(crate) struct Reload {
    pub(crate) at: SystemTime,
    /// The error; `None` if the reload was carried out.
    pub(crate) error: Option<String>,
}

/// State of what is served, as the supervising thread sets it.
pub(crate) struct Served {
    pub(crate) material: Arc<Material>,
    pub(crate) listeners: Vec<ListenerFacts>,
    /// For each policy, when its newest ticket key was made, in seconds since 1970.
    pub(crate) tickets: Vec<(&'static str, u64)>,
    pub(crate) reloads: u64,
    pub(crate) reloads_failed: u64,
    pub(crate) last_reload: Option<Reload>,
}

/// All counters and the state of what is served.
pub(crate) struct Metrics {
    pub(crate) loops: usize,
    pub(crate) began: SystemTime,
    pub(crate) file: std::path::PathBuf,
    /// Number of lines that the access log lost.
    pub(crate) lines_lost: Arc<AtomicU64>,
    listeners: Mutex<Vec<Arc<OfListener>>>,
    served: Mutex<Served>,
}

impl Metrics {
    pub(crate) fn new(
        settings: &Settings,
        loops: usize,
        material: Arc<Material>,
        lines_lost: Arc<AtomicU64>,
    ) -> Self {
        let served = Served {
            material,
            listeners: Vec::new(),
            tickets: Vec::new(),
            reloads: 0,
            reloads_failed: 0,
            last_reload: None,
        };
        Self {
            loops,
            began: SystemTime::now(),
            file: settings.file.clone(),
            lines_lost,
            listeners: Mutex::default(),
            served: Mutex::new(served),
        }
    }

    /// The counters of the listener with this name; existing ones are kept.
    pub(crate) fn listener(&self, name: &str) -> Arc<OfListener> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listeners.iter().find(|known| known.name == name) {
            return Arc::clone(known);
        }
        let new = Arc::new(OfListener::new(name.to_owned(), self.loops));
        listeners.push(Arc::clone(&new));
        new
    }

    /// The counters of listeners that still listen or have connections; others are dropped.
    pub(crate) fn listeners(&self) -> Vec<Arc<OfListener>> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| Arc::strong_count(listener) > 1);
        listeners.clone()
    }

    /// The state of what is served, locked.
    pub(crate) fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a reload, with its error if it failed.
    pub(crate) fn reloaded(&self, error: Option<String>) {
        let mut served = self.served();
        *if error.is_none() { &mut served.reloads } else { &mut served.reloads_failed } += 1;
        served.last_reload = Some(Reload { at: SystemTime::now(), error });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Full;
    use tls::Cause;

    #[test]
    fn loops_are_added_up_and_kinds_are_bounded() {
        let listener = OfListener::new("one".to_owned(), 2);
        let facts = |cipher: &str, is_resumed| Facts {
            version: "TLS1.3",
            cipher: cipher.to_owned(),
            group: Some("x25519".to_owned()),
            is_resumed,
            ..Facts::default()
        };
        let took = Seen { handshake: Some(Duration::from_micros(300)), bytes_in: 5, bytes_out: 7 };
        for (at, cipher) in [(0, CIPHERS[1]), (1, CIPHERS[1]), (1, "never heard of")] {
            listener.of(at).accepted();
            listener.of(at).went_on(Seen::default(), took, &facts(cipher, false));
        }
        listener.of(1).ended("backend: refused", true);
        listener.of(0).ended("alert 48 (x)", false);
        listener.of(0).ended("something new: x", false);
        listener.of(0).refused(Full::All.name());
        listener.of(1).refused("refused: accept_proxy");
        let read = listener.read();
        assert_eq!((read.accepted, read.open, read.bytes_in, read.bytes_out), (5, 0, 15, 21));
        let kinds: Vec<_> = read.kinds.iter().map(|(kind, count)| (kind.cipher, *count)).collect();
        assert_eq!(kinds, [(CIPHERS[1], 2), ("other", 1)]);
        let at = |word: &str| place(&ENDS, word) as usize;
        assert_eq!((read.ends[at("backend")], read.failures[at("alert")]), (1, 1));
        assert_eq!((read.failures[0], read.failures[at("full")], read.failures[at("refused")]), (1, 1, 1));
        assert_eq!((read.full.count(), read.resumed.count()), (3, 0));
        for cipher in CIPHERS {
            for is_resumed in [true, false] {
                listener.of(0).went_on(Seen::default(), took, &facts(cipher, is_resumed));
            }
        }
        let read = listener.read();
        assert_eq!(read.kinds.iter().map(|(_, count)| count).sum::<u64>(), 3 + 2 * CIPHERS.len() as u64);
        assert!(read.kinds.len() <= KINDS + 1);
    }

    #[test]
    fn ends_have_the_words_of_the_library_and_of_the_manual() {
        let causes = [
            Cause::UnknownName,
            Cause::UnknownProtocol,
            Cause::Alert(48),
            Cause::NothingInCommon,
            Cause::Protocol,
            Cause::Cut,
            Cause::Certificate,
            Cause::Key,
            Cause::Client,
            Cause::Internal,
        ];
        for cause in causes {
            assert!(ENDS.contains(&cause.name()), "{cause:?}");
        }
        let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/howto/tls.md");
        let manual = std::fs::read_to_string(manual).unwrap();
        let (_, table) = manual.split_once("| end | what happened |\n|---|---|\n").unwrap();
        let mut count = 0;
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            // Each end stands between backquotes.
            for end in row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
                assert!(ENDS.contains(&end.split([' ', ':']).next().unwrap()), "{end}");
                count += 1;
            }
        }
        assert!(count > 10);
    }

    #[test]
    fn names_fit_into_a_kind() {
        for names in [&VERSIONS[..], &CIPHERS, &GROUPS] {
            assert!(names.len() < 0x80);
        }
        assert!(VERSIONS.len() < 0x7F);
    }
}
