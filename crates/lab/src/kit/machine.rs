//! The machine that a result was measured on.

use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// A machine, as far as results depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Processors that are online for this process.
    pub processors_online: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Release of the kernel.
    pub kernel: String,
    /// Name and version of the distribution.
    pub system: String,
}

impl Machine {
    /// The machine that this process runs on; fields that the system hides read *not stated*.
    pub fn this() -> Self {
        let value = |path: &str, key: &str, separator: char| -> Option<String> {
            let text = fs::read_to_string(path).ok()?;
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
        };
        let not_stated = || "not stated".to_owned();
        let memory = value("/proc/meminfo", "MemTotal", ':');
        let memory_kib = memory.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            processor: value("/proc/cpuinfo", "model name", ':').unwrap_or_else(not_stated),
            processors_online: processors_online(),
            memory_bytes: memory_kib.unwrap_or(0) * 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| not_stated(), |text| text.trim().to_owned()),
            system: value("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(not_stated),
        }
    }
}

/// Processors that this process may run on.
pub fn processors_online() -> usize {
    // Asked once: the answer is read from files each time.
    static ONLINE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ONLINE.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Mean number of processes that ran or waited for a processor in the last minute; 0 if the system hides it. More than
/// a fraction of one means that other programs disturbed the measurement.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0.0)
}

/// Time of the processors that this process may run on, in ticks since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    idle: u64,
    all: u64,
}

impl ProcessorTime {
    /// The time so far; none if the system hides it.
    pub fn now() -> Option<Self> {
        let own = sched_getaffinity(None).ok()?;
        Self::of(&fs::read_to_string("/proc/stat").ok()?, |processor| own.is_set(processor))
    }

    /// The sums of these processors in a text as in `/proc/stat`; none if it has none of them.
    fn of(text: &str, is_own: impl Fn(usize) -> bool) -> Option<Self> {
        /// Fields that are parts of time: user, nice, system, idle, waiting, two of interrupts, other machines.
        const FIELDS: usize = 8;
        /// The fields of idle time, the second of them with something to wait for.
        const IDLE: std::ops::RangeInclusive<usize> = 3..=4;
        let mut sum = Self { idle: 0, all: 0 };
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            let number = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if !number.is_some_and(&is_own) {
                continue;
            }
            for (at, ticks) in fields.take(FIELDS).enumerate() {
                let ticks = ticks.parse::<u64>().ok()?;
                sum.all += ticks;
                sum.idle += if IDLE.contains(&at) { ticks } else { 0 };
            }
        }
        (sum.all > 0).then_some(sum)
    }

    /// Share of the time since an earlier reading that the processors were idle, 0 to 1; none within a tick.
    pub fn idle_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some((self.idle.saturating_sub(before.idle) as f64 / all as f64).min(1.0))
    }
}

/// Seconds since 1970, UTC.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time as `2026-11-21 22:15 UTC`.
pub(crate) fn utc_text(unix_seconds: u64) -> String {
    let (days, rest) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Civil date from days since 1970-01-01, counting years from March, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_dates() {
        assert_eq!(utc_text(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc_text(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc_text(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(utc_text(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn idle_time_is_that_of_the_own_processors() {
        let text = |idle| {
            format!(
                "cpu  99 0 0 0 0 0 0 0 0 0\ncpu0 1 0 0 {idle} 2 0 0 1 0 0\ncpu1 50 0 0 0 0 0 0 0 7 7\nintr 5 6\n"
            )
        };
        let of = |idle, processor| ProcessorTime::of(&text(idle), |own| own == processor);
        let (before, after) = (of(4, 0).unwrap(), of(10, 0).unwrap());
        assert_eq!(before, ProcessorTime { idle: 6, all: 8 });
        assert_eq!((after.idle_since(before), before.idle_since(before)), (Some(1.0), None));
        assert_eq!(of(4, 1), Some(ProcessorTime { idle: 0, all: 50 }));
        assert_eq!(of(4, 2), None);
        assert!(ProcessorTime::now().is_none_or(|now| now.idle <= now.all));
    }

    #[test]
    fn this_machine_has_a_processor() {
        let machine = Machine::this();
        assert!(machine.processors_online >= 1 && !machine.processor.is_empty());
        assert!(load() >= 0.0);
    }
}
