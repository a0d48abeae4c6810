//! Packets as threads and SAs rise: in process, without sockets, and through tunnels.

use super::rows::load;
use super::sides::{Bench, gbit};
use super::threads::{Sharing, library_engine, rates};
use crate::experiment::growth::{self, GrowthRun, Linear, Series, Workers};
use crate::experiment::promise::Measure;
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::{SERVER, Tunnel, TunnelKind};
use crate::kit::machine::processors_online;
use crate::load::LabError;
use std::sync::atomic::Ordering;
use traffic::namespaces::End;
use traffic::{Load, ProcessTime, Report, Workload};

/// The numbers of threads that each have an SA: in process, and at each end of a tunnel, with a client and a server.
pub(crate) const SERIES: [Series; 2] = [
    Series { what: "threads that seal and open by an SA each:", each: 1, cards: 0 },
    Series {
        what: "threads of each end of a tunnel, an SA, a client and a server's thread each:",
        each: 4,
        cards: 0,
    },
];

/// Upper bound of a data plane's threads.
const THREADS_MAX: usize = 64;

/// Threads of one process that seal and open by an SA each.
pub(super) fn in_process(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let (processors, engine) = (processors_online(), library_engine()?);
    let counts = growth::counts(processors);
    let mut rows = Vec::new();
    for suite in [Suite::Gcm, Suite::CbcSha1] {
        let mut opened = vec![Vec::new(); counts.len()];
        let sealed = growth::in_turn(bench.effort.rounds, counts.len(), |at| {
            if bench.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            let count = counts[at];
            let (directions, idle) =
                growth::with_idle(|| rates(&engine, suite, count, Sharing::AnSaEach, bench.effort.seconds));
            let [seal, open] = directions?.map(|(rate, in_use)| {
                let workers = vec![Workers { name: "threads", count, in_use }];
                GrowthRun { rate, workers, idle }
            });
            opened[at].push(open);
            Ok(seal)
        })?;
        for (direction, runs) in [("seal", &sealed), ("open", &opened)] {
            rows.extend(counts.iter().zip(runs).map(|(count, of_count)| {
                let threads = if *count == 1 { "1 thread".to_owned() } else { format!("{count} threads") };
                let case = format!(
                    "growth of IPsec, in process, an SA each, {}: {direction}, {threads}",
                    suite.name()
                );
                let linear = Linear { times: *count, of: "1 thread", runs: &runs[0] };
                let linear = (*count > 1).then_some(&linear);
                growth::row(&case, "packets/s", of_count, linear, processors)
            }));
        }
    }
    rows.extend(growth::note(&SERIES[..1], processors));
    Ok(rows)
}

/// Tunnels with as many SAs and clients as threads of each end, each client with one stream.
pub(super) fn tunnels(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let processors = processors_online();
    let counts = growth::counts(processors.min(THREADS_MAX));
    let kind = |threads| TunnelKind::Ours { suite: Suite::Gcm, threads, sas: threads, level: None };
    let tunnels = counts.iter().map(|count| Tunnel::start(&bench.desk, kind(*count)));
    let tunnels = tunnels.collect::<Result<Vec<Tunnel>, LabError>>()?;
    let stream = bench.timed(&load(Workload::Stream));
    let runs = growth::in_turn(bench.effort.rounds, counts.len(), |at| {
        run(&tunnels[at], counts[at], &stream, bench)
    })?;
    let rows = counts.iter().zip(&runs).map(|(count, of_count)| {
        let name =
            if *count == 1 { "1 thread and SA".to_owned() } else { format!("{count} threads and SAs") };
        let case =
            format!("growth of IPsec, tunnels, {}, a TCP stream for each SA: {name}", Suite::Gcm.name());
        let linear = Linear { times: *count, of: "1 thread and SA", runs: &runs[0] };
        growth::row(&case, "Gbit/s", of_count, (*count > 1).then_some(&linear), processors)
    });
    Ok(rows.chain(growth::note(&SERIES[1..], processors)).collect())
}

fn run(tunnel: &Tunnel, count: usize, stream: &Load, bench: &Bench) -> Result<GrowthRun, LabError> {
    let (reports, idle) = growth::with_idle(|| tunnel.drive_each(stream, &bench.stop));
    let reports = reports?;
    // Every client books the data planes and the server for its own time, which is nearly the same.
    let booked = |is_one: fn(&ProcessTime) -> bool| {
        let in_use = reports.iter().map(|report| {
            let own = report.processes.iter().filter(|process| is_one(process));
            own.filter_map(ProcessTime::total_s).sum::<f64>() / report.seconds.max(f64::MIN_POSITIVE)
        });
        in_use.sum::<f64>() / reports.len().max(1) as f64
    };
    let of_client =
        |report: &Report| report.driver.total_s().unwrap_or(0.0) / report.seconds.max(f64::MIN_POSITIVE);
    let is_plane = |process: &ProcessTime| End::BOTH.iter().any(|end| end.name() == process.name);
    Ok(GrowthRun {
        rate: reports.iter().map(gbit).sum(),
        workers: vec![
            Workers { name: "threads of the data planes", count: 2 * count, in_use: booked(is_plane) },
            Workers { name: "clients", count, in_use: reports.iter().map(of_client).sum() },
            Workers { name: "the server's threads", count, in_use: booked(|process| process.name == SERVER) },
        ],
        idle,
    })
}
