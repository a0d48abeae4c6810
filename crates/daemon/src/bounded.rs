//! Lines that others cause: how many of them stand in a log, and how many were left out.
//!
//! Whoever reaches a socket could write lines without end, and with them drive out those that matter. So a line that somebody
//! else causes passes an [`Allowance`] first, which bounds those of each user and of all users together, and counts the
//! others: the next line of that user says how many were left out, and one line for all says it where none comes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Span of time that the numbers of an allowance are for.
pub const EVERY: Duration = Duration::from_secs(60);
/// Users that are counted one by one.
const USERS_MAX: usize = 1024;

/// How many lines others may cause in [`EVERY`].
#[derive(Debug)]
pub struct Allowance {
    of_user: u32,
    of_all: u32,
    users: BTreeMap<u32, Used>,
    all: Option<Used>,
    /// Left out of users that are not counted one by one.
    beyond: u64,
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

    fn renew(&mut self, now: Instant) {
        if now.saturating_duration_since(self.since) >= EVERY {
            (self.since, self.lines) = (now, 0);
        }
    }
}

/// What is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A line, which also says how many before it were left out.
    Line(u64),
    /// Nothing: it is counted.
    LeftOut,
}

/// Lines that were left out, and of which no later line of their users has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub lines: u64,
    /// Of how many users, as far as they were told apart.
    pub users: usize,
}

impl Allowance {
    /// So many lines of one user, and so many of all users together.
    pub const fn new(of_user: u32, of_all: u32) -> Self {
        Self { of_user, of_all, users: BTreeMap::new(), all: None, beyond: 0 }
    }

    /// Counts an event of a user.
    pub fn take(&mut self, user: u32, now: Instant) -> Written {
        self.take_many(user, 1, now)
    }

    /// Counts so many events of a user that one line tells of.
    pub fn take_many(&mut self, user: u32, times: u64, now: Instant) -> Written {
        if self.users.len() >= USERS_MAX && !self.users.contains_key(&user) {
            let is_new =
                |used: &Used| now.saturating_duration_since(used.since) < EVERY || used.left_out != 0;
            self.users.retain(|_, used| is_new(used));
            if self.users.len() >= USERS_MAX {
                self.beyond = self.beyond.saturating_add(times);
                return Written::LeftOut;
            }
        }
        let all = self.all.get_or_insert_with(|| Used::new(now));
        let used = self.users.entry(user).or_insert_with(|| Used::new(now));
        all.renew(now);
        used.renew(now);
        if used.lines >= self.of_user || all.lines >= self.of_all {
            used.left_out = used.left_out.saturating_add(times);
            return Written::LeftOut;
        }
        (used.lines, all.lines) = (used.lines + 1, all.lines + 1);
        Written::Line(std::mem::take(&mut used.left_out))
    }

    /// What was left out in spans that are over, once.
    pub fn left_out(&mut self, now: Instant) -> Option<LeftOut> {
        let mut of = LeftOut { lines: 0, users: 0 };
        for used in self.users.values_mut() {
            if used.left_out != 0 && now.saturating_duration_since(used.since) >= EVERY {
                of.lines = of.lines.saturating_add(std::mem::take(&mut used.left_out));
                of.users += 1;
            }
        }
        if self.all.as_ref().is_some_and(|all| now.saturating_duration_since(all.since) >= EVERY) {
            of.lines = of.lines.saturating_add(std::mem::take(&mut self.beyond));
        }
        (of.lines != 0).then_some(of)
    }

    /// Writes a warning that this user's process caused to the program's log; none for a process that is not known.
    pub fn warn(&mut self, user: u32, pid: Option<u32>, now: Instant, text: fmt::Arguments<'_>) {
        match self.take(user, now) {
            Written::LeftOut => {}
            Written::Line(0) => tracing::warn!(pid, user, "{text}"),
            Written::Line(left_out) => tracing::warn!(pid, user, left_out, "{text}"),
        }
    }

    /// Writes how many warnings were left out, where no later line has told it.
    pub fn tell_left_out(&mut self, now: Instant) {
        if let Some(LeftOut { lines, users }) = self.left_out(now) {
            tracing::warn!(users, "{lines} more lines like these were left out");
        }
    }
}

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
