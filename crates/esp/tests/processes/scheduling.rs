//! How the worker's threads are scheduled.

use crate::net::{Net, with_rights};
use crate::plane::Plane;
use std::fs;

/// The 41st field of `/proc/PID/task/TID/stat` (proc(5)), and the thread's name.
fn policies(process: u32) -> Vec<(String, i32)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let read = |path: std::path::PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap();
        // The name, which may have spaces in it, is in parentheses, and is the second field.
        let (front, fields) = stat.rsplit_once(") ").unwrap();
        let name = front.split_once('(').unwrap().1.to_owned();
        (name, fields.split(' ').nth(41 - 3).unwrap().parse().unwrap())
    };
    threads.map(|thread| read(thread.unwrap().path())).collect()
}

#[test]
fn threads_of_packets_are_of_the_batch_and_the_one_that_answers_is_not() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &["--threads", "2"]);
        let (packets, others): (Vec<_>, Vec<_>) =
            policies(plane.worker()).into_iter().partition(|(name, _)| name.starts_with("plane-"));
        assert_eq!(
            packets.iter().map(|(_, policy)| *policy).collect::<Vec<_>>(),
            [nix::libc::SCHED_BATCH; 2]
        );
        assert!(!others.is_empty() && others.iter().all(|(_, policy)| *policy == nix::libc::SCHED_OTHER));
    });
}
