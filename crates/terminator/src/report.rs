//! The running program's report, as JSON. The program that asks for it makes text for people of it ([`crate::status`]).

use crate::metrics::page::{CERTIFICATES_MAX, seconds};
use crate::metrics::{ENDS, KEY_ERRORS, ListenerFacts, Metrics, Read, TimesRead};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// At most this many names of a certificate are reported.
const NAMES_MAX: usize = 100;

/// The report at this moment, with a line feed at its end.
pub(crate) fn report(metrics: &Metrics) -> String {
    let served = metrics.served();
    let (material, tickets) = (Arc::clone(&served.material), served.tickets.clone());
    let facts = served.listeners.clone();
    let (reloads, failed, last) = (served.reloads, served.reloads_failed, served.last_reload.clone());
    drop(served);
    let listeners: Vec<Value> = metrics
        .listeners()
        .iter()
        .map(|listener| {
            let facts = facts.iter().find(|facts| facts.name == listener.name);
            of_listener(&listener.name, facts, &listener.read())
        })
        .collect();
    let certificates: Vec<Value> = material
        .expiring_first(CERTIFICATES_MAX)
        .iter()
        .map(|shown| {
            json!({
                "names": shown.leaf.names.iter().take(NAMES_MAX).collect::<Vec<_>>(),
                "kind": shown.leaf.public_key.kind(),
                "key": shown.key,
                "chain": shown.chain(),
                "not_after": shown.leaf.not_after,
            })
        })
        .collect();
    let now = seconds(SystemTime::now());
    let report = json!({
        "program": concat!("cryptand-tls ", env!("CARGO_PKG_VERSION")),
        "pid": std::process::id(),
        "settings": metrics.file.display().to_string(),
        "now": now,
        "began": seconds(metrics.began),
        "loops": metrics.loops,
        "listeners": listeners,
        "certificates": material.certificates().count(),
        "expiring_first": certificates,
        "ticket_keys": tickets.iter().map(|(policy, since)| json!({"policy": policy, "since": since})).collect::<Vec<_>>(),
        "log_lines_lost": metrics.lines_lost.load(Ordering::Relaxed),
        "reloads": reloads,
        "reloads_refused": failed,
        "last_reload": last.map(|last| json!({"at": seconds(last.at), "error": last.error})),
    });
    format!("{report}\n")
}

fn of_listener(name: &str, facts: Option<&ListenerFacts>, read: &Read) -> Value {
    let resumed: u64 = read.kinds.iter().filter(|(kind, _)| kind.is_resumed).map(|(_, count)| count).sum();
    let handshakes: u64 = read.kinds.iter().map(|(_, count)| count).sum();
    let kinds: Vec<Value> = read
        .kinds
        .iter()
        .map(|(kind, count)| {
            json!({
                "version": kind.version,
                "cipher": kind.cipher,
                "group": kind.group,
                "resumed": kind.is_resumed,
                "count": count,
            })
        })
        .collect();
    let mut of_handshakes = read.full.clone();
    of_handshakes.add_read(&read.resumed);
    json!({
        "name": name,
        // Missing if the listener is closed and has only open connections left.
        "address": facts.map(|facts| &facts.address),
        "policy": facts.map(|facts| facts.policy),
        "service": facts.map(|facts| &facts.service),
        "accepted": read.accepted,
        "open": read.open,
        "held": read.held,
        "handshakes": handshakes,
        "resumed": resumed,
        "negotiated": kinds,
        "failures": counts(&ENDS, &read.failures),
        "ends": counts(&ENDS, &read.ends),
        "key_errors": counts(&KEY_ERRORS, &read.key_errors),
        "key_us": times(&read.key),
        "handshake_us": times(&of_handshakes),
        "bytes_in": read.bytes_in,
        "bytes_out": read.bytes_out,
    })
}

/// The counts that are not 0, by their names.
fn counts(names: &[&str], counts: &[u64]) -> Map<String, Value> {
    let named = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    named.map(|(name, count)| ((*name).to_owned(), json!(count))).collect()
}

fn times(times: &TimesRead) -> Value {
    json!({
        "count": times.count(),
        "p50": times.quantile(0.5),
        "p99": times.quantile(0.99),
    })
}
