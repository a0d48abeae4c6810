//! Bounds on log lines that others cause, and a count of the lines left out.
//!
//! Anyone who reaches a socket could cause lines without end, and so drive important lines out of the log. So a line
//! that somebody else causes passes an [`Allowance`] first, which bounds the lines of each user and of all users
//! together, and counts those left out. The user's next line says how many were left out; if no such line comes, one
//! line for all users says it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Span in which an allowance counts lines, and the longest time until left-out lines are reported.
pub const EVERY: Duration = Duration::from_secs(60);
/// Span of an allowance for a day.
pub const DAY: Duration = Duration::from_secs(24 * 3600);
/// Upper bound of the users that are counted one by one.
const USERS_MAX: usize = 1024;

/// How many lines others may cause in a span of time.
#[derive(Debug)]
pub struct Allowance {
    span: Duration,
    of_user: u32,
    of_all: u32,
    users: BTreeMap<u32, Used>,
    all: Option<Used>,
    /// Lines left out for users who have no count of their own.
    beyond: u64,
    /// When the first line was left out since the last report ([`Allowance::left_out`]); `None` if none was.
    untold: Option<Instant>,
}

#[derive(Debug)]
struct Used {
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl Used {
    fn new(since: Instant) -> Self {
        Self { since, lines: 0, left_out: 0 }
    }

    fn renew(&mut self, now: Instant, span: Duration) {
        if now.saturating_duration_since(self.since) >= span {
            (self.since, self.lines) = (now, 0);
        }
    }
}

/// Whether an event gets a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The event gets a line, which also says that this many earlier lines were left out.
    Line(u64),
    /// The event gets no line, and is counted.
    LeftOut,
}

/// Left-out lines that no later line of their users has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of lines left out.
    pub lines: u64,
    /// Number of users whose lines these were, as far as users are counted one by one.
    pub users: usize,
}

impl Allowance {
    /// At most `of_user` lines of one user and `of_all` lines of all users together in [`EVERY`].
    pub const fn new(of_user: u32, of_all: u32) -> Self {
        Self::within(EVERY, of_user, of_all)
    }

    /// At most `of_user` lines of one user and `of_all` lines of all users together in `span`.
    pub const fn within(span: Duration, of_user: u32, of_all: u32) -> Self {
        Self { span, of_user, of_all, users: BTreeMap::new(), all: None, beyond: 0, untold: None }
    }

    /// Counts an event of a user, and says whether it gets a line.
    pub fn take(&mut self, user: u32, now: Instant) -> Written {
        self.take_many(user, 1, now)
    }

    /// Counts `times` events of a user that share one line, and says whether that line is written.
    pub fn take_many(&mut self, user: u32, times: u64, now: Instant) -> Written {
        if self.users.len() >= USERS_MAX && !self.users.contains_key(&user) {
            self.make_room(now);
            if self.users.len() >= USERS_MAX {
                self.beyond = self.beyond.saturating_add(times);
                self.untold.get_or_insert(now);
                return Written::LeftOut;
            }
        }
        let all = self.all.get_or_insert_with(|| Used::new(now));
        let used = self.users.entry(user).or_insert_with(|| Used::new(now));
        all.renew(now, self.span);
        used.renew(now, self.span);
        if used.lines >= self.of_user || all.lines >= self.of_all {
            used.left_out = used.left_out.saturating_add(times);
            self.untold.get_or_insert(now);
            return Written::LeftOut;
        }
        (used.lines, all.lines) = (used.lines + 1, all.lines + 1);
        Written::Line(std::mem::take(&mut used.left_out))
    }

    /// Forgets users whose span is over and, of an allowance longer than [`EVERY`], users who caused little and are
    /// older than [`EVERY`]. Otherwise somebody with many user ids would fill the table for a day. Users with
    /// unreported lines stay.
    fn make_room(&mut self, now: Instant) {
        let little = if self.span > EVERY { self.of_user / LITTLE } else { 0 };
        let is_kept = |used: &Used| {
            let age = now.saturating_duration_since(used.since);
            used.left_out != 0 || age < EVERY || (age < self.span && used.lines > little)
        };
        self.users.retain(|_, used| is_kept(used));
    }

    /// The lines left out since the last report; `Some` at most once in [`EVERY`], however long a flood lasts.
    pub fn left_out(&mut self, now: Instant) -> Option<LeftOut> {
        if now < self.due()? {
            return None;
        }
        self.untold = None;
        let mut of = LeftOut { lines: std::mem::take(&mut self.beyond), users: 0 };
        for used in self.users.values_mut().filter(|used| used.left_out != 0) {
            of.lines = of.lines.saturating_add(std::mem::take(&mut used.left_out));
            of.users += 1;
        }
        (of.lines != 0).then_some(of)
    }

    /// When to call [`Allowance::left_out`] next; `None` if no line was left out since the last report.
    pub fn due(&self) -> Option<Instant> {
        self.untold.map(|since| since + EVERY)
    }

    /// Writes a warning that this user's process caused to the program's log, if the allowance permits it; `pid` is
    /// none if the process is not known.
    pub fn warn(&mut self, user: u32, pid: Option<u32>, now: Instant, text: fmt::Arguments<'_>) {
        match self.take(user, now) {
            Written::LeftOut => {}
            Written::Line(0) => tracing::warn!(pid, user, "{text}"),
            Written::Line(left_out) => tracing::warn!(pid, user, left_out, "{text}"),
        }
    }

    /// Writes a warning with the number of lines left out, if such a report is due ([`Allowance::left_out`]).
    pub fn tell_left_out(&mut self, now: Instant) {
        if let Some(LeftOut { lines, users }) = self.left_out(now) {
            tracing::warn!(users, "{lines} more lines like these were left out");
        }
    }
}

/// When the table is full, an allowance longer than [`EVERY`] forgets users who caused at most this fraction (1/16) of
/// what one user may.
const LITTLE: u32 = 16;

/// Warnings to the log of a program about others: refused connections, broken rules.
impl Default for Allowance {
    fn default() -> Self {
        Self::new(20, 200)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_without_end_does_not_fill_the_log() {
        let (mut allowance, begin) = (Allowance::new(20, 200), Instant::now());
        let lines = (0..1_000_000).filter(|_| allowance.take(7, begin) != Written::LeftOut).count();
        assert_eq!(lines, 20);
        // Nobody else's lines are left out for that.
        assert_eq!(allowance.take(8, begin), Written::Line(0));
        let later = begin + EVERY;
        assert_eq!(allowance.take_many(7, 5, later), Written::Line(1_000_000 - 20));
        assert_eq!(allowance.take(7, later), Written::Line(0));
        // A later line has told it.
        assert_eq!(allowance.left_out(later + EVERY), None);
        assert_eq!(allowance.due(), None);
    }

    /// Left-out lines are reported while a flood lasts, and not once it is over.
    #[test]
    fn what_is_left_out_is_told_each_minute() {
        let (mut allowance, begin) = (Allowance::within(DAY, 20, 200), Instant::now());
        let mut told = Vec::new();
        for second in 0..600 {
            let now = begin + Duration::from_secs(second);
            (0..10).for_each(|_| _ = allowance.take(7, now));
            told.extend(allowance.left_out(now).map(|left_out| (second, left_out.lines)));
        }
        assert_eq!(told.first(), Some(&(62, 63 * 10 - 20)));
        assert!(told.len() >= 9 && told.windows(2).all(|two| two[1].0 - two[0].0 <= 61), "{told:?}");
    }

    /// Somebody with many user ids fills the table of a day for a minute at most.
    #[test]
    fn the_table_of_a_day_has_room_for_others_again() {
        let (mut allowance, begin) = (Allowance::within(DAY, 160, 10_000), Instant::now());
        (0..2000).for_each(|user| _ = allowance.take(user, begin));
        (0..100).for_each(|_| _ = allowance.take(1, begin));
        assert_eq!(allowance.take(5000, begin), Written::LeftOut);
        assert_eq!(allowance.take(5000, begin + EVERY), Written::Line(0));
        // What somebody used of his day stays used.
        let lines = (0..1000).filter(|_| allowance.take(1, begin + EVERY) != Written::LeftOut).count();
        assert_eq!(lines, 160 - 101);
    }

    #[test]
    fn many_users_together_are_bounded_in_lines_and_memory_and_counted() {
        let (mut allowance, begin) = (Allowance::new(20, 200), Instant::now());
        let mut lines = 0;
        for _ in 0..3 {
            lines += (0..10_000).filter(|user| allowance.take(*user, begin) != Written::LeftOut).count();
        }
        assert_eq!((lines, allowance.users.len()), (200, USERS_MAX));
        assert_eq!(allowance.left_out(begin), None);
        let later = begin + EVERY;
        let told = allowance.left_out(later).unwrap();
        assert_eq!(told.lines, 30_000 - 200);
        assert!(told.users <= USERS_MAX);
        assert_eq!(allowance.left_out(later), None);
        // Those who have been told of make room.
        assert_eq!(allowance.take(1 << 30, later), Written::Line(0));
    }

    /// Every source that hears strangers: what it says of them is said through an allowance.
    #[test]
    fn what_is_said_of_a_client_goes_through_an_allowance() {
        let sources = [
            ("serve/client.rs", include_str!("serve/client.rs")),
            ("serve/queues.rs", include_str!("serve/queues.rs")),
            ("serve/records.rs", include_str!("serve/records.rs")),
            ("serve/audit.rs", include_str!("serve/audit.rs")),
            ("service/keeper.rs", include_str!("service/keeper.rs")),
            ("service/launcher.rs", include_str!("service/launcher.rs")),
        ];
        for (name, source) in sources {
            for (at, _) in source.match_indices("tracing::") {
                let rest = &source[at..];
                let call = &rest[..rest.find(';').unwrap_or(rest.len())];
                let names_client = ["user", "client.pid", "pid,", "peer"].iter().any(|of| call.contains(of));
                assert!(!names_client, "{name}: {call}");
            }
        }
    }
}
