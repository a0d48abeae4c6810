//! How much memory the keeper may take for one computation: what the machine has free, and its control groups allow.

use std::fs;
use std::path::Path;

/// Free memory in KiB, by the machine and by the control groups. It is read before the sandbox closes, since afterwards
/// there are no files. 0 if the kernel does not tell it.
pub fn available_kib() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text)).unwrap_or(0);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    let within = root.join(group);
    let left = within.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(|folder| {
        let number = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // A limit that is not there reads as "max".
        Some(number("memory.max")?.saturating_sub(number("memory.current")?) / 1024)
    });
    left.fold(machine, u64::min)
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_what_is_free() {
        assert_eq!(
            of_machine("MemTotal:  9 kB\nMemAvailable:   24012345 kB\nSwapFree: 0 kB\n"),
            Some(24_012_345)
        );
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
        assert!(available_kib() > 0);
    }
}
