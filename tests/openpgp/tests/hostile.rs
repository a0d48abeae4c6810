//! Hostile messages: modified ones, and ones that demand too many resources.

mod bombs;
mod mutations;

use std::fs;

/// Peak memory of this whole process; the pipeline's own bound is 64 MiB, and tests keep messages beside.
const MEMORY_KIB_MAX: u64 = 320 * 1024;

fn memory_is_bounded() {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < MEMORY_KIB_MAX, "peak memory {kib} KiB");
}
