//! The report of a run, for people and for programs.

use crate::client::Tally;
use crate::plan::Plan;
use options::ipsec::Workload;
use pacing::usage::Seconds;
use pacing::{LATE, Times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Bytes of a gigabyte.
const GB: f64 = 1e9;

/// Percentiles of times, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half took at most this long.
    pub p50: f64,
    /// 90 of 100 took at most this long.
    pub p90: f64,
    /// 99 of 100 took at most this long.
    pub p99: f64,
    /// 999 of 1,000 took at most this long.
    pub p999: f64,
    /// The longest time.
    pub max: f64,
    /// The mean time.
    pub mean: f64,
}

impl Percentiles {
    /// The percentiles of recorded times; None if there are no times.
    pub(crate) fn of(times: &Times) -> Option<Self> {
        (!times.is_empty()).then(|| Self {
            p50: times.quantile_us(0.5),
            p90: times.quantile_us(0.9),
            p99: times.quantile_us(0.99),
            p999: times.quantile_us(0.999),
            max: times.max_us(),
            mean: times.mean_us(),
        })
    }
}

/// Starts of an open loop's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Starts {
    /// Starts a second, as asked for.
    pub rate: f64,
    /// Starts that began.
    pub begun: u64,
    /// Starts in `begun` that began more than a millisecond after their time.
    pub late: u64,
    /// Starts that were due and did not begin.
    pub never: u64,
}

/// Counts of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Datagrams sent within the measured time.
    pub sent: u64,
    /// Datagrams that arrived within the measured time.
    pub received: u64,
    /// Share of all that were sent, warm-up included, that never arrived: 0 to 1.
    pub lost: f64,
    /// Datagrams that arrived more than once, warm-up included.
    pub duplicates: u64,
    /// Datagrams that arrived after one sent later, warm-up included.
    pub reordered: u64,
}

/// Processor time of a process within the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTime {
    /// Process number.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// Seconds in user mode; None if the process ended.
    pub user_s: Option<f64>,
    /// Seconds in the kernel; None if the process ended.
    pub system_s: Option<f64>,
}

impl ProcessTime {
    /// Seconds in user mode and in the kernel together.
    #[must_use]
    pub fn total_s(&self) -> Option<f64> {
        Some(self.user_s? + self.system_s?)
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The workload.
    pub workload: Workload,
    /// Address of the server, as typed.
    pub target: String,
    /// Bytes of a request or datagram.
    pub request: u32,
    /// Bytes of a response.
    pub response: u32,
    /// Number of connections.
    pub connections: usize,
    /// Number of the client's threads.
    pub threads: usize,
    /// Length of the measured time, in seconds.
    pub seconds: f64,
    /// Transactions, or datagrams that arrived; 0 of streams.
    pub transactions: u64,
    /// Transactions or datagrams a second.
    pub per_second: f64,
    /// Bytes from client to server, headers of connections included; of datagrams, those that arrived.
    pub bytes_sent: u64,
    /// Bytes from server to client.
    pub bytes_received: u64,
    /// Both directions together, in 10^9 bits a second.
    pub gbit_per_second: f64,
    /// Time of a transaction, in microseconds: in an open loop from the time at which it was due.
    pub latency_us: Option<Percentiles>,
    /// Starts of an open loop; None for a closed loop.
    pub starts: Option<Starts>,
    /// Counts of datagrams; None for other workloads.
    pub datagrams: Option<Datagrams>,
    /// Number of errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// Processor time of the client's process; a server in the same process is included.
    pub driver: ProcessTime,
    /// Share of the measured time for which the client's threads were busy, 0 to 1.
    pub busy: f64,
    /// Processor times of the processes named in the plan.
    pub processes: Vec<ProcessTime>,
    /// Processor time of `processes` in microseconds a transaction; None without processes or transactions.
    pub processor_us_per_transaction: Option<f64>,
    /// Processor time of `processes` in seconds per 10^9 bytes; None without processes or bytes.
    pub processor_s_per_gb: Option<f64>,
    /// Reasons to doubt the figures, as text.
    pub warnings: Vec<String>,
}

/// Processor times that the kernel counted within the measured time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Booked {
    pub driver: Seconds,
    pub busy: f64,
    /// Processor time of each process of the plan; None if that process ended.
    pub processes: Vec<Option<Seconds>>,
}

impl Report {
    pub(crate) fn new(plan: &Plan, window: Duration, tally: &Tally, booked: &Booked) -> Self {
        let seconds = window.as_secs_f64();
        let a_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let bytes = (tally.bytes_sent + tally.bytes_received) as f64;
        let process = |pid, name: &str, used: Option<Seconds>| {
            let (user_s, system_s) = used.map(|used| (used.user, used.system)).unzip();
            ProcessTime { pid, name: name.to_owned(), user_s, system_s }
        };
        let processes: Vec<_> = plan
            .booked
            .iter()
            .zip(&booked.processes)
            .map(|(booked, used)| process(booked.pid, &booked.name, *used))
            .collect();
        // The sum is known only if each time is.
        let all: Option<f64> = processes.iter().map(ProcessTime::total_s).sum();
        let all = all.filter(|_| !processes.is_empty());
        let per = |count: f64, scale: f64| all.filter(|_| count > 0.0).map(|all| all * scale / count);
        let counts = tally.datagrams;
        let lost = counts.sent_in_all.saturating_sub(counts.received_in_all) as f64;
        Self {
            workload: plan.workload,
            target: plan.target_text.clone(),
            request: plan.request,
            response: plan.response,
            connections: plan.connections,
            threads: plan.threads,
            seconds,
            transactions: tally.transactions,
            per_second: a_second(tally.transactions as f64),
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            gbit_per_second: a_second(bytes * 8.0 / GB),
            latency_us: Percentiles::of(&tally.latency),
            starts: plan.rate.map(|rate| Starts {
                rate,
                begun: tally.begun,
                late: tally.late,
                never: tally.never,
            }),
            datagrams: (plan.workload == Workload::Udp).then(|| Datagrams {
                sent: counts.sent,
                received: counts.received,
                lost: lost / (counts.sent_in_all as f64).max(1.0),
                duplicates: counts.duplicates,
                reordered: counts.late,
            }),
            errors: tally.errors.clone(),
            driver: process(std::process::id(), "driver", Some(booked.driver)),
            busy: booked.busy,
            processor_us_per_transaction: per(tally.transactions as f64, 1e6),
            processor_s_per_gb: per(bytes, GB),
            warnings: warnings(&processes, booked, tally),
            processes,
        }
    }

    /// Whether nothing was completed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions == 0 && self.bytes_sent + self.bytes_received == 0
    }

    /// The report as a table.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        let lengths = match self.workload {
            Workload::Stream | Workload::Download => String::new(),
            Workload::Udp => format!(" of {} bytes", self.request),
            _ => format!(" {}/{}", self.request, self.response),
        };
        line(format!(
            "{}: {}{lengths}, {:.2} s, {} connections",
            self.target, self.workload, self.seconds, self.connections
        ));
        if self.transactions > 0 {
            let what = if self.datagrams.is_some() { "datagrams" } else { "transactions" };
            line(format!("{what:<14} {}, {:.1} a second", self.transactions, self.per_second));
        }
        line(format!(
            "bytes          {} sent, {} received, {:.3} Gbit/s",
            self.bytes_sent, self.bytes_received, self.gbit_per_second
        ));
        if let Some(starts) = &self.starts {
            line(format!(
                "starts         {:.1} a second asked for: {} begun, {} of them late by more than {} ms, {} due and not begun",
                starts.rate,
                starts.begun,
                starts.late,
                LATE.as_millis(),
                starts.never
            ));
        }
        if let Some(datagrams) = &self.datagrams {
            line(format!(
                "lost           {:.3} % ({} sent, {} arrived while it was measured), {} twice, {} out of order",
                datagrams.lost * 100.0,
                datagrams.sent,
                datagrams.received,
                datagrams.duplicates,
                datagrams.reordered
            ));
        }
        for (kind, count) in &self.errors {
            line(format!("errors         {count} {kind}"));
        }
        if let Some(times) = &self.latency_us {
            line(format!(
                "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
                "microseconds", "p50", "p90", "p99", "p99.9", "max", "mean"
            ));
            line(format!(
                "{:<14} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1}",
                "transaction", times.p50, times.p90, times.p99, times.p999, times.max, times.mean
            ));
        }
        line(format!("{:<24} {:>10} {:>10}", "processor seconds", "user", "system"));
        for process in [&self.driver].into_iter().chain(&self.processes) {
            let figure =
                |seconds: Option<f64>| seconds.map_or("?".to_owned(), |seconds| format!("{seconds:.3}"));
            let name = format!("{} ({})", process.name, process.pid);
            line(format!("{name:<24} {:>10} {:>10}", figure(process.user_s), figure(process.system_s)));
        }
        if let Some(each) = self.processor_us_per_transaction {
            line(format!("of the processes       {each:.2} us a transaction"));
        }
        if let Some(each) = self.processor_s_per_gb {
            line(format!("of the processes       {each:.3} s a GB"));
        }
        for warning in &self.warnings {
            line(format!("warning: {warning}"));
        }
        text
    }
}

/// Busy share of the client's threads from which the client counts as the bottleneck.
const BUSY: f64 = 0.95;

fn warnings(processes: &[ProcessTime], booked: &Booked, tally: &Tally) -> Vec<String> {
    let mut warnings = Vec::new();
    if booked.busy >= BUSY && tally.transactions + tally.bytes_sent + tally.bytes_received > 0 {
        warnings.push(format!(
            "the client is the limit: its threads were busy for {:.0} % of the time; give it --threads, or a processor of its own",
            booked.busy * 100.0
        ));
    }
    for process in processes.iter().filter(|process| process.user_s.is_none()) {
        warnings.push(format!("process {} ({}) ended: its time is not known", process.pid, process.name));
    }
    if (tally.late + tally.never) * 100 > tally.begun + tally.never {
        warnings.push(format!(
            "overload: {} of {} starts were late or never came, because all --connections were in flight or the client was busy",
            tally.late + tally.never,
            tally.begun + tally.never
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::DatagramCounts;
    use crate::plan::Booked as Pid;
    use options::ipsec::Load;
    use proptest::prelude::*;

    fn plan(workload: Workload, pids: usize, rate: Option<f64>) -> Plan {
        let booked = (0..pids).map(|pid| Pid { pid: pid as u32, name: format!("plane {pid}") }).collect();
        let typed = Load { workload, target: "192.0.2.1:7".to_owned(), rate, ..Load::default() };
        Plan::at(&typed, ([192, 0, 2, 1], 7).into(), booked).unwrap()
    }

    #[test]
    fn figures_are_those_of_a_plain_model() {
        let mut tally = Tally { bytes_sent: 200_000, bytes_received: 1_800_000, ..Tally::default() };
        for us in 1..=1000 {
            tally.transactions += 1;
            tally.latency.record(Duration::from_micros(us));
        }
        let used = |user, system| Some(Seconds { user, system });
        let booked = Booked {
            driver: Seconds::default(),
            busy: 0.5,
            processes: vec![used(0.25, 0.5), used(0.75, 0.5)],
        };
        let plan = plan(Workload::Rr, 2, None);
        let report = Report::new(&plan, Duration::from_millis(500), &tally, &booked);
        assert_eq!(report.per_second, 2000.0);
        assert!((report.gbit_per_second - 0.032).abs() < 1e-12);
        assert_eq!(report.processor_us_per_transaction, Some(2000.0));
        assert_eq!(report.processor_s_per_gb, Some(1000.0));
        let times = report.latency_us.unwrap();
        for (figure, expected) in [
            (times.p50, 500.0),
            (times.p90, 900.0),
            (times.p99, 990.0),
            (times.p999, 999.0),
            (times.max, 1000.0),
        ] {
            assert!((figure / expected - 1.0).abs() < 0.002, "{figure} for {expected}");
        }
        assert!(report.warnings.is_empty() && !report.is_empty());
        let table = report.table();
        assert!(table.contains("rr 200/1000, 0.50 s") && table.contains("2000.0 a second"), "{table}");
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }

    #[test]
    fn what_is_not_known_has_no_figure() {
        let booked =
            Booked { processes: vec![Some(Seconds::default()), None], busy: 0.99, ..Booked::default() };
        let tally = Tally { transactions: 1, ..Tally::default() };
        let report = Report::new(&plan(Workload::Rr, 2, None), Duration::from_secs(1), &tally, &booked);
        assert_eq!((report.processor_us_per_transaction, report.processor_s_per_gb), (None, None));
        assert!(report.warnings[0].contains("limit") && report.warnings[1].contains("plane 1"));
        assert!(report.table().contains('?'));
        let none =
            Report::new(&plan(Workload::Rr, 0, None), Duration::ZERO, &Tally::default(), &Booked::default());
        assert_eq!((none.per_second, none.processor_us_per_transaction), (0.0, None));
        assert!(none.is_empty() && none.latency_us.is_none());
    }

    #[test]
    fn an_open_loop_that_falls_behind_says_so() {
        let tally = Tally { begun: 99, late: 1, never: 1, ..Tally::default() };
        let plan = plan(Workload::Rr, 0, Some(10.0));
        let report = Report::new(&plan, Duration::from_secs(1), &tally, &Booked::default());
        assert!(report.warnings[0].contains("overload: 2 of 100"));
        assert_eq!(report.starts, Some(Starts { rate: 10.0, begun: 99, late: 1, never: 1 }));
    }

    proptest! {
        #[test]
        fn loops_together_are_one(
            counts in proptest::collection::vec((0u64..1000, 0u64..1000, 0u64..9), 1..8),
        ) {
            let mut all = Tally::default();
            for (sent, received, errors) in &counts {
                let mut one = Tally { transactions: *sent, bytes_sent: *sent, ..Tally::default() };
                one.datagrams =
                    DatagramCounts { sent_in_all: *sent, received_in_all: *received, ..DatagramCounts::default() };
                (0..*errors).for_each(|_| one.fail("timeout"));
                all.add(&one);
            }
            let sum = |of: fn(&(u64, u64, u64)) -> u64| counts.iter().map(of).sum::<u64>();
            let (sent, received) = (sum(|one| one.0), sum(|one| one.1));
            let plan = plan(Workload::Udp, 0, None);
            let report = Report::new(&plan, Duration::from_secs(2), &all, &Booked::default());
            prop_assert_eq!(report.transactions, sent);
            prop_assert_eq!(report.errors.get("timeout").copied().unwrap_or(0), sum(|one| one.2));
            let lost = if sent > received { (sent - received) as f64 / sent as f64 } else { 0.0 };
            prop_assert!((report.datagrams.unwrap().lost - lost).abs() < 1e-12);
        }
    }
}
