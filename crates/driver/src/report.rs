//! The report of a run, for people and for programs.

use crate::knee::Step;
use crate::plan::{Plan, Work};
use crate::tally::Tally;
use pacing::usage::Seconds;
use pacing::{LATE, Search, Times};
use serde_json::{Value, json};
use std::fmt::Write;
use tls::Trust;

/// Results of a run.
pub(crate) struct DriveOutcome {
    /// Length of the measured time, in seconds.
    pub(crate) seconds: f64,
    pub(crate) tally: Tally,
    /// Processor time of the driver's process.
    pub(crate) own: Seconds,
    /// Share of the measured time for which the driver's threads were busy, 0 to 1.
    pub(crate) busy: f64,
    pub(crate) is_limit: bool,
    pub(crate) processes: Vec<Process>,
    pub(crate) warnings: Vec<String>,
    /// Starts a second of an open loop; None for a closed loop.
    pub(crate) rate: Option<f64>,
    /// The search for the highest rate, and the closed loop's transactions a second, if these gave the first rate.
    pub(crate) search: Option<(Search<Step>, Option<f64>)>,
}

/// A process whose processor time was counted; `used` is None if the process ended.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) used: Option<Seconds>,
}

impl DriveOutcome {
    pub(crate) fn per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.tally.transactions as f64 / self.seconds } else { 0.0 }
    }

    /// Processor time a transaction, in microseconds.
    fn each_us(&self, used: Seconds) -> f64 {
        used.total() * 1e6 / (self.tally.transactions as f64).max(1.0)
    }
}

/// The report as one JSON object in one line.
pub(crate) fn json(plan: &Plan, outcome: &DriveOutcome) -> String {
    let tally = &outcome.tally;
    let agreed = tally.agreed.iter().map(|(agreed, count)| {
        json!({"version": agreed.version, "suite": agreed.suite, "group": agreed.group, "count": count})
    });
    let processes = outcome.processes.iter().map(|process| {
        let (user, system) = process.used.map(|used| (used.user, used.system)).unzip();
        json!({"pid": process.pid, "name": process.name, "user_s": user, "system_s": system})
    });
    let value = json!({
        "target": plan.target_text,
        "library": if plan.priorities.is_some() { "gnutls" } else { "s2n" },
        "seconds": outcome.seconds,
        "connections": plan.connections,
        "threads": plan.threads,
        "transactions": tally.transactions,
        "per_second": outcome.per_second(),
        "full": tally.full,
        "resumed": tally.resumed,
        "messages": tally.messages,
        "bytes_sent": tally.bytes_sent,
        "bytes_received": tally.bytes_received,
        "errors": tally.errors,
        "negotiated": agreed.collect::<Vec<_>>(),
        "certificates_checked": plan.trust != Trust::Everybody,
        "connect_us": times(&tally.connect),
        "handshake_us": times(&tally.handshake),
        "first_byte_us": times(&tally.first_byte),
        "message_us": times(&tally.message),
        "transaction_us": times(&tally.transaction),
        "starts": outcome.rate.map(|rate| starts(rate, tally)),
        "knee": outcome.search.as_ref().map(|(search, closed)| knee(plan, search, *closed)),
        "driver": {
            "user_s": outcome.own.user,
            "system_s": outcome.own.system,
            "busy": outcome.busy,
            "limit": outcome.is_limit,
        },
        "processes": processes.collect::<Vec<_>>(),
        "warnings": outcome.warnings,
    });
    format!("{value}\n")
}

fn starts(rate: f64, tally: &Tally) -> Value {
    json!({
        "rate": rate,
        "begun": tally.begun,
        "late": tally.late,
        "never": tally.never,
        "late_us": times(&tally.start),
    })
}

fn knee(plan: &Plan, search: &Search<Step>, closed: Option<f64>) -> Value {
    let steps = search.steps.iter().map(|step| {
        json!({
            "rate": step.rate,
            "per_second": step.per_second,
            "p99_us": step.p99_us,
            "late": step.late,
            "errors": step.errors,
            "holds": step.holds,
        })
    });
    json!({
        "rate": search.knee,
        "within_ms": plan.knee.map(|bound| bound.as_secs_f64() * 1e3),
        "closed_loop_per_second": closed,
        "steps": steps.collect::<Vec<_>>(),
    })
}

fn times(times: &Times) -> Value {
    json!({
        "p50": times.quantile_us(0.5),
        "p90": times.quantile_us(0.9),
        "p99": times.quantile_us(0.99),
        "p999": times.quantile_us(0.999),
        "max": times.max_us(),
        "mean": times.mean_us(),
    })
}

/// The report as a table.
pub(crate) fn table(plan: &Plan, outcome: &DriveOutcome) -> String {
    let tally = &outcome.tally;
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!(
        "{}: {} transactions in {:.2} s, {:.1} a second, {} connections in flight",
        plan.target_text,
        tally.transactions,
        outcome.seconds,
        outcome.per_second(),
        plan.connections
    ));
    if let Some(rate) = outcome.rate {
        line(format!(
            "starts         {rate:.1} a second asked for: {} begun, {} of them late by more than {} ms, {} due and not begun",
            tally.begun,
            tally.late,
            LATE.as_millis(),
            tally.never
        ));
    }
    line(format!("handshakes     {} full, {} resumed", tally.full, tally.resumed));
    for (agreed, count) in &tally.agreed {
        let group = agreed.group.as_deref().unwrap_or("no group");
        line(format!("               {count} {} {} {group}", agreed.version, agreed.suite));
    }
    if plan.work != Work::Nothing {
        line(format!(
            "messages       {}, {} bytes sent, {} received",
            tally.messages, tally.bytes_sent, tally.bytes_received
        ));
    }
    if tally.failed() > 0 {
        line(format!("errors         {}", tally.failed()));
        for (kind, count) in &tally.errors {
            line(format!("               {count} {kind}"));
        }
    }
    line(String::new());
    line(format!(
        "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "microseconds", "p50", "p90", "p99", "p99.9", "max", "mean"
    ));
    for (name, times) in [
        ("start, late by", &tally.start),
        ("connect", &tally.connect),
        ("handshake", &tally.handshake),
        ("first byte", &tally.first_byte),
        ("message", &tally.message),
        ("transaction", &tally.transaction),
    ] {
        if times.is_empty() {
            continue;
        }
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|quantile| times.quantile_us(quantile));
        let (max, mean) = (times.max_us(), times.mean_us());
        line(format!("{name:<14} {p50:>10.0} {p90:>10.0} {p99:>10.0} {p999:>10.0} {max:>10.0} {mean:>10.0}"));
    }
    if let Some((search, closed)) = &outcome.search {
        line(String::new());
        steps(&mut line, plan, search, *closed);
    }
    line(String::new());
    line(format!("{:<24} {:>10} {:>10} {:>14}", "processor seconds", "user", "system", "us/transaction"));
    let mut row = |name: &str, used: Seconds| {
        let each = outcome.each_us(used);
        let _ = writeln!(text, "{name:<24} {:>10.3} {:>10.3} {each:>14.1}", used.user, used.system);
    };
    row("driver", outcome.own);
    for process in &outcome.processes {
        if let Some(used) = process.used {
            row(&format!("{} ({})", process.name, process.pid), used);
        }
    }
    let _ = writeln!(text, "driver's threads busy    {:.0} %", outcome.busy * 100.0);
    if plan.trust == Trust::Everybody {
        let _ = writeln!(text, "certificates were not checked (--ca FILE checks them)");
    }
    for warning in &outcome.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Adds a line for each rate that was tried.
fn steps(line: &mut impl FnMut(String), plan: &Plan, search: &Search<Step>, closed: Option<f64>) {
    let bound = plan.knee.unwrap_or_default().as_secs_f64() * 1e3;
    line(match search.knee {
        Some(rate) => format!(
            "knee           {rate:.1} a second: the highest rate at which 99 of 100 took {bound} ms at most"
        ),
        None => format!("knee           none: at no rate 99 of 100 took {bound} ms at most"),
    });
    if let Some(closed) = closed {
        line(format!("               a closed loop did {closed:.1} a second"));
    }
    line(format!(
        "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "rates tried", "a second", "done", "p99, us", "late", "errors"
    ));
    for step in &search.steps {
        let holds = if step.holds { "holds" } else { "does not hold" };
        let (rate, done, p99) = (step.rate, step.per_second, step.p99_us);
        line(format!(
            "{holds:<14} {rate:>10.1} {done:>10.1} {p99:>10.0} {:>10} {:>10}",
            step.late, step.errors
        ));
    }
}
