//! The rows on rates, datagrams, threads and the kernel's ESP.

use super::sides::{Bench, Figure, Side, gbit, of, p50, rate, row, seconds_a_gb, us_a_packet_and_end};
use crate::experiment::promise::{Measure, Promise};
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::TunnelKind;
use crate::kit::statistics::median;
use crate::load::LabError;
use traffic::{Load, Workload};

/// Datagrams a second that all sides carry.
const SMALL_RATE: f64 = 20_000.0;
/// Lengths of datagrams, in bytes.
const SIZES: [u32; 5] = [64, 256, 512, 1024, 1372];

pub(super) fn load(workload: Workload) -> Load {
    Load { workload, ..Load::default() }
}

/// A promised ratio of at least `least`, with the ratio hoped for.
fn at_least(least: f64, stretch: f64) -> Option<(Promise, f64)> {
    Some((Promise::RatioAtLeast(least), stretch))
}

/// A promised ratio of at most `most`, with the ratio hoped for.
fn at_most(most: f64, stretch: f64) -> Option<(Promise, f64)> {
    Some((Promise::RatioAtMost(most), stretch))
}

fn ours(sides: &[Side]) -> Result<&Side, LabError> {
    sides.first().ok_or_else(|| LabError::Program("nothing was measured".to_owned()))
}

/// One stream under AES-128-GCM: rates and processor time beside both peers, and without a tunnel.
pub(super) fn stream_gcm(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let (libipsec, wireguard) = (TunnelKind::Libipsec(Suite::Gcm), TunnelKind::Wireguard);
    let kinds = [TunnelKind::ours(Suite::Gcm), libipsec, wireguard, TunnelKind::Plain];
    let sides = bench.sides(&kinds, &load(Workload::Stream))?;
    let own = ours(&sides)?;
    let [libipsec, wireguard, plain] = [libipsec, wireguard, TunnelKind::Plain].map(|kind| of(&sides, kind));
    let name = |what: &str, peer: &str| format!("one TCP stream, AES-128-GCM: {what} against {peer}");
    let theirs =
        |side: Option<&Side>| side.map_or(String::new(), |side| format!("peer: {}", side.where_it_goes()));
    let (time, a_gb, a_second) = ("processor time", "s per GB", "Gbit/s");
    Ok(vec![
        row(&name(time, "libipsec"), a_gb, seconds_a_gb, (own, libipsec), at_most(1.0 / 12.0, 1.0 / 20.0))
            .bounded_by(own.where_it_goes()),
        row(&name("rate", "libipsec"), a_second, gbit, (own, libipsec), at_least(4.5, 8.0))
            .bounded_by(theirs(libipsec)),
        row(&name("rate", "wireguard-go"), a_second, gbit, (own, wireguard), at_least(2.0, 3.0))
            .bounded_by(theirs(wireguard)),
        row(&name(time, "wireguard-go"), a_gb, seconds_a_gb, (own, wireguard), at_most(1.0 / 3.5, 1.0 / 5.5)),
        row(&name("rate", "no tunnel"), a_second, gbit, (own, plain), None),
    ])
}

/// One stream under AES-CBC with HMAC-SHA-1.
pub(super) fn stream_cbc(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let (own, libipsec) = (TunnelKind::ours(Suite::CbcSha1), TunnelKind::Libipsec(Suite::CbcSha1));
    let sides = bench.sides(&[own, libipsec], &load(Workload::Stream))?;
    let (own, libipsec) = (ours(&sides)?, of(&sides, libipsec));
    let name = "one TCP stream, AES-128-CBC + SHA-1";
    Ok(vec![
        row(&format!("{name}: rate"), "Gbit/s", gbit, (own, libipsec), at_least(8.0, 14.0))
            .bounded_by(own.where_it_goes()),
        row(&format!("{name}: processor time"), "s per GB", seconds_a_gb, (own, libipsec), None),
    ])
}

/// Requests of 200 bytes with responses of 32,768 bytes over 8 connections.
fn rr(
    bench: &Bench,
    suite: Suite,
    promised: (f64, f64),
    others: &[TunnelKind],
) -> Result<Vec<Measure>, LabError> {
    let (own, libipsec) = (TunnelKind::ours(suite), TunnelKind::Libipsec(suite));
    let kinds: Vec<TunnelKind> = [own, libipsec].into_iter().chain(others.iter().copied()).collect();
    let load = Load { request: Some(200), response: Some(32_768), connections: 8, ..load(Workload::Rr) };
    let sides = bench.sides(&kinds, &load)?;
    let (own, libipsec) = (ours(&sides)?, of(&sides, libipsec));
    let name = format!("rr 200/32768, {}, 8 connections", suite.name());
    let each: Figure = |report| report.processor_us_per_transaction.unwrap_or(f64::NAN);
    let mut rows = vec![
        row(&name, "transactions/s", rate, (own, libipsec), at_least(promised.0, promised.1))
            .bounded_by(own.where_it_goes()),
        row(&format!("{name}: processor time"), "us each", each, (own, libipsec), None),
    ];
    for kind in others {
        rows.push(row(
            &format!("{name}, beside {}", kind.name()),
            "transactions/s",
            rate,
            (own, of(&sides, *kind)),
            None,
        ));
    }
    Ok(rows)
}

/// [`rr`] under AES-128-GCM.
pub(super) fn rr_gcm(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    rr(bench, Suite::Gcm, (3.5, 5.0), &[TunnelKind::Wireguard, TunnelKind::Plain])
}

/// [`rr`] under AES-CBC with HMAC-SHA-1.
pub(super) fn rr_cbc(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    rr(bench, Suite::CbcSha1, (5.0, 8.0), &[])
}

/// [`rr`] under 3DES with HMAC-SHA-1.
pub(super) fn rr_tdes(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    rr(bench, Suite::TdesSha1, (8.0, 15.0), &[])
}

/// One request of 200 bytes at a time, with a response of the same length.
pub(super) fn ping(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let kinds = [
        TunnelKind::ours(Suite::Gcm),
        TunnelKind::Libipsec(Suite::Gcm),
        TunnelKind::Wireguard,
        TunnelKind::Plain,
    ];
    let sides = bench.sides(&kinds, &load(Workload::Ping))?;
    let own = ours(&sides)?;
    let rows = kinds.iter().skip(1).map(|kind| {
        let promise = matches!(kind, TunnelKind::Libipsec(_)).then_some((Promise::RatioAtMost(0.4), 0.25));
        let name = format!("ping-pong of 200 bytes, AES-128-GCM: median, beside {}", kind.name());
        row(&name, "us there and back", p50, (own, of(&sides, *kind)), promise)
    });
    Ok(rows.collect())
}

/// Datagrams of 64 bytes: as many as the tunnel takes, and at a rate that all sides carry, at which each datagram wakes
/// both data planes.
pub(super) fn small(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let (own, libipsec) = (TunnelKind::ours(Suite::Gcm), TunnelKind::Libipsec(Suite::Gcm));
    let mut rows = Vec::new();
    for (title, at, promise) in [
        ("as many as go".to_owned(), None, at_most(0.25, 1.0 / 6.0)),
        (format!("{SMALL_RATE} a second"), Some(SMALL_RATE), None),
    ] {
        let udp = Load { request: Some(64), rate: at, ..load(Workload::Udp) };
        let sides = bench.sides(&[own, libipsec, TunnelKind::Wireguard], &udp)?;
        let own = ours(&sides)?;
        let name = format!("64-byte UDP, {title}, AES-128-GCM: processor time");
        let unit = "us a packet and end";
        let bound = |peer: Option<&Side>| {
            let theirs = peer.filter(|peer| !peer.runs.is_empty());
            let theirs = theirs.map_or(String::new(), |peer| format!("; peer: {}", lost(peer)));
            format!("{}; {}{theirs}", own.where_it_goes(), lost(own))
        };
        let [libipsec, wireguard] = [libipsec, TunnelKind::Wireguard].map(|kind| of(&sides, kind));
        rows.push(
            row(&name, unit, us_a_packet_and_end, (own, libipsec), promise).bounded_by(bound(libipsec)),
        );
        let name = format!("{name}, beside wireguard-go");
        rows.push(row(&name, unit, us_a_packet_and_end, (own, wireguard), None).bounded_by(bound(wireguard)));
    }
    Ok(rows)
}

/// The numbers of datagrams that arrived and that were lost, as text.
fn lost(side: &Side) -> String {
    let lost = side.runs.iter().filter_map(|run| run.datagrams.map(|datagrams| 100.0 * datagrams.lost));
    let (lost, arrived) = (median(&lost.collect::<Vec<_>>()), median(&side.values(rate)));
    format!("{arrived:.0} a second arrived, {lost:.1} % did not")
}

/// Datagrams of each length, as many as the tunnel takes.
pub(super) fn sizes(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let kinds = [TunnelKind::ours(Suite::Gcm), TunnelKind::Libipsec(Suite::Gcm), TunnelKind::Wireguard];
    let mut rows = Vec::new();
    for size in SIZES {
        let sides = bench.sides(&kinds, &Load { request: Some(size), ..load(Workload::Udp) })?;
        let own = ours(&sides)?;
        for kind in kinds.iter().skip(1) {
            let peer = of(&sides, *kind);
            let name =
                format!("UDP by size: {size} bytes, as many as go, AES-128-GCM, beside {}", kind.name());
            rows.push(row(&name, "packets/s", rate, (own, peer), None).bounded_by(own.where_it_goes()));
            let name = format!("{name}: processor time");
            rows.push(row(&name, "us a packet and end", us_a_packet_and_end, (own, peer), None));
        }
    }
    Ok(rows)
}

/// Two connections over one SA, which one or two threads of each end carry.
pub(super) fn threads(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let kind = |threads| TunnelKind::Ours { suite: Suite::Gcm, threads, sas: 1, level: None };
    let load = Load { connections: 8, threads: 2, ..load(Workload::Stream) };
    let sides = bench.sides(&[kind(2), kind(1)], &load)?;
    let (two, one) = (ours(&sides)?, of(&sides, kind(1)));
    let name = "two threads on one SA, 8 streams, AES-128-GCM";
    Ok(vec![
        row(&format!("{name}: rate"), "Gbit/s", gbit, (two, one), None).bounded_by(two.where_it_goes()),
        row(&format!("{name}: processor time"), "s per GB", seconds_a_gb, (two, one), None),
    ])
}

/// Our data plane beside the kernel's own ESP, on a machine that has it.
pub(super) fn kernel(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let mut rows = Vec::new();
    for suite in [Suite::Gcm, Suite::CbcSha1] {
        let kinds = [TunnelKind::ours(suite), TunnelKind::Kernel(suite)];
        let sides = bench.sides(&kinds, &load(Workload::Stream))?;
        let own = ours(&sides)?;
        let name = format!("beside the kernel's ESP: one TCP stream, {}", suite.name());
        let peer = of(&sides, kinds[1]);
        let row = row(&name, "Gbit/s", gbit, (own, peer), None);
        rows.push(match peer.filter(|peer| peer.runs.is_empty()) {
            Some(peer) => Measure { peer: format!("not on this machine: {}", peer.why), ..row },
            None => row,
        });
    }
    Ok(rows)
}
