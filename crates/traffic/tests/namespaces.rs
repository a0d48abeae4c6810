//! Pairs of namespaces, and the commands in them. This program starts itself at both ends, so it has no harness around
//! it.

use needs::Need;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use traffic::command::{self, Itself, PORT};
use traffic::namespaces::{End, Options, Pair, WIRE};
use traffic::{Load, Report, Workload};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let itself = Itself {
        program: std::env::current_exe().unwrap(),
        drive: vec!["--drive".into()],
        serve: vec!["--serve".into()],
    };
    let done = match &arguments[1..] {
        [which, json] if which == "--drive" => command::drive(json, &itself),
        [which, json] if which == "--serve" => command::serve(json),
        [which] if which == "--hold" => return hold(),
        _ => return tests(),
    };
    if let Err(failure) = done {
        eprintln!("{failure}");
        std::process::exit(i32::from(failure.exit_code()));
    }
}

/// Makes a pair with a program in it, says who holds it, and waits to be killed.
fn hold() {
    let mut pair = Pair::new(&Options::default()).unwrap();
    let mut command = pair.command(End::B, "sleep");
    let sleep = pair.keep(command.arg("1000")).unwrap();
    let mut tree = pair.tree(End::A, "sh");
    let tree = pair.keep(tree.args(["-c", "sleep 1000 & sleep 1000"])).unwrap();
    until("the tree runs", || pacing::usage::descendants(&[tree]).len() == 3);
    let tree = pacing::usage::descendants(&[tree]);
    let tree = tree.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    println!("{} {} {sleep} {tree}", pair.holder(End::A), pair.holder(End::B));
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn tests() {
    // Where neither root nor user namespaces are to be had, the reason is told and nothing else.
    if let Err(error) = Pair::new(&Options::default()) {
        println!("no namespaces here: {error}");
        assert!(needs::did_without(Need::Namespaces, true));
        return;
    }
    for (name, test) in [
        ("a_pair_is_joined_and_goes", a_pair_is_joined_and_goes as fn()),
        ("a_pair_without_root", a_pair_without_root),
        ("nothing_is_left_of_one_that_is_killed", nothing_is_left_of_one_that_is_killed),
        ("workloads_between_namespaces", workloads_between_namespaces),
        ("a_tunnel_between_namespaces", a_tunnel_between_namespaces),
        ("a_signal_ends_it_with_what_was_measured", a_signal_ends_it_with_what_was_measured),
    ] {
        println!("test {name}");
        test();
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

fn joined(options: &Options) {
    let pair = Pair::new(options).unwrap();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let of = |end: End| pair.run(end, "readlink", ["/proc/self/ns/net"]).unwrap().trim().to_owned();
    let (a, b) = (of(End::A), of(End::B));
    assert!(a != b && a != own.to_string_lossy() && b != own.to_string_lossy());
    for (from, to) in [(End::A, End::B), (End::B, End::A)] {
        assert!(pair.ip(from, ["address", "show", "dev", WIRE]).unwrap().contains(&from.outer().to_string()));
        let route = pair.ip(from, ["route", "get", &to.outer6().to_string()]).unwrap();
        assert!(route.contains(WIRE), "{route}");
    }
    let why = pair.ip(End::A, ["link", "set", "none0", "up"]).unwrap_err().to_string();
    assert!(why.contains("none0"), "{why}");
    let holders = End::BOTH.map(|end| pair.holder(end));
    assert!(holders.into_iter().all(is_alive));
    drop(pair);
    assert!(!holders.into_iter().any(is_alive));
}

fn a_pair_is_joined_and_goes() {
    joined(&Options::default());
    joined(&Options { has_own_run: true, mtu: Some(9000), ..Options::default() });
    let pair = Pair::new(&Options { has_own_run: true, ..Options::default() }).unwrap();
    pair.run(End::A, "touch", ["/run/mark"]).unwrap();
    assert!(pair.run(End::B, "stat", ["/run/mark"]).is_err() && !fs::exists("/run/mark").unwrap());
    // The folder that this program is in stays the one of programs there.
    let folder = pair.run(End::B, "pwd", [""; 0]).unwrap();
    assert_eq!(folder.trim(), std::env::current_dir().unwrap().to_string_lossy());
}

fn a_pair_without_root() {
    joined(&Options { without_root: true, ..Options::default() });
}

fn nothing_is_left_of_one_that_is_killed() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--hold").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).unwrap();
    let pids: Vec<u32> = said.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 6);
    until("the program runs", || pids.iter().all(|pid| is_alive(*pid)));
    let name = || fs::read_to_string(format!("/proc/{}/comm", pids[2])).unwrap();
    until("it has entered", || name().trim() == "sleep");
    child.kill().unwrap();
    child.wait().unwrap();
    until("nothing is left", || !pids.iter().any(|pid| is_alive(*pid)));
}

fn driven(typed: &Load) -> Report {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--drive").arg(serde_json::to_string(typed).unwrap());
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn between(workload: Workload) -> Load {
    Load { workload, namespaces: true, seconds: 0.3, warm_up: 0.1, json: true, ..Load::default() }
}

fn workloads_between_namespaces() {
    for workload in
        [Workload::Rr, Workload::Crr, Workload::Stream, Workload::Download, Workload::Udp, Workload::Ping]
    {
        let report = driven(&between(workload));
        assert_eq!(report.target, SocketAddr::from((End::B.outer(), PORT)).to_string());
        assert!(!report.is_empty() && report.errors.is_empty(), "{report:?}");
    }
}

/// The simplest tunnel that every machine has: IP in IP would need a module, so it is an address more on the wire.
fn a_tunnel_between_namespaces() {
    let text = format!("ip address add $INNER_LOCAL/24 dev {WIRE} && cat /dev/zero >/dev/null & wait");
    // An end answers once its address is there, which may be before the program that added it has ended.
    let report = loop {
        let report = driven(&Load { both_ends: Some(text.clone()), ..between(Workload::Rr) });
        if !report.warnings.iter().any(|warning| warning.contains("(ip) ended")) {
            break report;
        }
    };
    assert_eq!(report.target, SocketAddr::from((End::B.inner(), PORT)).to_string());
    // Two shells with a child each, at least, and what holds them.
    assert!(report.processes.len() >= 6, "{report:?}");
    let used: f64 = report.processes.iter().filter_map(traffic::ProcessTime::total_s).sum();
    assert!(used > 0.0 && report.processor_us_per_transaction.is_some(), "{report:?}");
    // A tunnel that does not come is said to.
    let typed = Load { both_ends: Some("exit 1".to_owned()), wait: 0.2, ..between(Workload::Rr) };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--drive").arg(serde_json::to_string(&typed).unwrap());
    let output = command.output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("connect to 10.99.0.2"), "{output:?}");
}

fn a_signal_ends_it_with_what_was_measured() {
    let typed = Load { seconds: 600.0, warm_up: 0.0, ..between(Workload::Rr) };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--drive").arg(serde_json::to_string(&typed).unwrap()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    until("the load runs", || {
        pacing::usage::descendants(&[child.id()]).iter().any(|pid| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("--drive")
                && pacing::usage::Used::of(*pid)
                    .is_some_and(|used| used.since(&pacing::usage::Used::default()).total() > 0.05)
        })
    });
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.transactions > 0 && report.warnings.iter().any(|warning| warning.contains("interrupted")));
}
