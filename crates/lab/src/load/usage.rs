//! Processor time and memory of processes, as the kernel books them.

use std::fs;

/// Processor time that a process has used so far, in seconds; none if it has ended.
///
/// Read from `schedstat` of every thread (nanoseconds); where the kernel keeps none, from `stat`
/// (hundredths of a second).
pub fn process_seconds(pid: u32) -> Option<f64> {
    let mut total = 0.0;
    let mut threads = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        if let Some(ns) = text.split_whitespace().next().and_then(|field| field.parse::<u64>().ok()) {
            total += ns as f64 * 1e-9;
            threads += 1;
        }
    }
    if threads > 0 { Some(total) } else { from_stat(pid) }
}

fn from_stat(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain any character; fields 14 and 15 are counted from its end.
    let after_name = text.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / rustix::param::clock_ticks_per_second() as f64)
}

/// Resident memory of a process in bytes; none if it has ended or hides it.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Processor time of the calling thread so far, in seconds.
pub(crate) fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_time_and_memory() {
        let own = std::process::id();
        let before = thread_seconds();
        let mut sum = 0u64;
        while thread_seconds() - before < 0.02 {
            sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
        }
        assert!(process_seconds(own).unwrap() >= 0.02);
        assert!(from_stat(own).is_some());
        assert!(resident_bytes(own).unwrap() > 100_000);
        assert_eq!(process_seconds(u32::MAX), None);
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
