//! Processor time, as the kernel books it.

use std::collections::BTreeSet;
use std::fs;

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Time in user mode.
    pub user: f64,
    /// Time in the kernel.
    pub system: f64,
}

impl Seconds {
    /// User and kernel time together.
    #[must_use]
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

/// Processor time that a process has used so far; zero by default.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// Time of all its threads, ended ones included, in clock ticks (as a rule hundredths of a second).
    booked: Seconds,
    /// The numbers of its live threads, with the nanoseconds that each has used.
    threads: Vec<(u32, u64)>,
}

impl Used {
    /// The processor time of a process; `None` if the process is gone.
    pub fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold any character, so fields 14 and 15 are counted from its end.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let mut next = || Some(fields.next()?.parse::<f64>().ok()? / per_second);
        let booked = Seconds { user: next()?, system: next()? };
        let threads = threads(pid).into_iter().filter_map(|thread| Some((thread, nanoseconds(pid, thread)?)));
        Some(Self { booked, threads: threads.collect() })
    }

    /// The processor time used since `before`. If both have the same threads, the sum is exact, and only its split into
    /// user and kernel time is as coarse as clock ticks.
    pub fn since(&self, before: &Self) -> Seconds {
        let user = (self.booked.user - before.booked.user).max(0.0);
        let system = (self.booked.system - before.booked.system).max(0.0);
        let numbers = |used: &Self| used.threads.iter().map(|(thread, _)| *thread).collect::<BTreeSet<_>>();
        let sum = |used: &Self| used.threads.iter().map(|(_, time)| *time).sum::<u64>();
        if self.threads.is_empty() || numbers(self) != numbers(before) {
            return Seconds { user, system };
        }
        let exact = sum(self).saturating_sub(sum(before)) as f64 * 1e-9;
        if user + system == 0.0 {
            return Seconds { user: exact, system: 0.0 };
        }
        let scale = exact / (user + system);
        Seconds { user: user * scale, system: system * scale }
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let Ok(folder) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The nanoseconds that a thread has used so far; `None` if the thread is gone.
pub fn nanoseconds(pid: u32, thread: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The processors that a process may run on; empty if the kernel does not list them.
pub fn processors(pid: u32) -> BTreeSet<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(read_list).unwrap_or_default()
}

/// Reads a list of processors such as `0-2,5`.
fn read_list(list: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The live descendants of these processes, as far as every process in between is alive.
pub fn descendants(pids: &[u32]) -> Vec<u32> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let parent = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u32)> = numbers.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut known: Vec<u32> = pids.to_vec();
    let mut at = 0;
    while let Some(one) = known.get(at).copied() {
        let children = parents.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| *pid);
        let more: Vec<u32> = children.filter(|pid| !known.contains(pid)).collect();
        known.extend(more);
        at += 1;
    }
    known.split_off(pids.len())
}

/// The name of a process; `None` if the process is gone.
pub fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_is_booked() {
        let own = std::process::id();
        let before = Used::of(own).unwrap();
        let mut sum = 0_u64;
        let seconds = loop {
            sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
            let seconds = Used::of(own).unwrap().since(&before);
            if seconds.total() > 0.05 {
                break seconds;
            }
        };
        assert!(seconds.total() > 0.0 && sum > 0);
        assert!(name(own).is_some() && !processors(own).is_empty());
        assert!(Used::of(u32::MAX).is_none());
    }

    #[test]
    fn children_are_found() {
        let mut shell = std::process::Command::new("sh");
        // A shell's background process reads from /dev/null unless its input is redirected.
        let waits = "exec 3<&0; cat <&3 & wait";
        let shell = shell.args(["-c", waits]).stdin(std::process::Stdio::piped());
        let mut shell = shell.stdout(std::process::Stdio::null()).spawn().unwrap();
        let found = loop {
            let found = descendants(&[shell.id()]);
            if !found.is_empty() {
                break found;
            }
        };
        assert!(descendants(&[std::process::id()]).contains(&shell.id()));
        assert_eq!(found.len(), 1);
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn lists_of_processors_read() {
        assert_eq!(read_list("\t0-2,5\n"), BTreeSet::from([0, 1, 2, 5]));
        assert_eq!(read_list(""), BTreeSet::new());
    }
}
