//! The metrics page for Prometheus: text format, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use super::{ENDS, KEY_ERRORS, Metrics, OfListener, Read, TimesRead};
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// At most this many certificates are listed, those that expire first: each is a series.
pub(crate) const CERTIFICATES_MAX: usize = 1_000;

struct Page {
    text: String,
    family: &'static str,
}

type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, labels: Labels<'_>, value: f64) {
        self.line("", labels, value);
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, value: f64) {
        let text = &mut self.text;
        let _ = write!(text, "{}{suffix}", self.family);
        for (at, (name, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{}{name}=\"{value}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn times(&mut self, labels: Labels<'_>, times: &TimesRead) {
        let count = times.count();
        for (edge, below) in times.doublings() {
            let edge = edge.to_string();
            self.line("_bucket", &[labels, &[("le", &edge)]].concat(), below as f64);
        }
        self.line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count as f64);
        self.line("_sum", labels, times.seconds());
        self.line("_count", labels, count as f64);
    }
}

pub(crate) fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The text of the page at this moment.
pub(crate) fn page(metrics: &Metrics) -> String {
    let mut page = Page { text: String::new(), family: "" };
    page.family("cryptand_tls_build_info", "gauge", "1, with the version of the program.");
    page.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.family("cryptand_tls_start_time_seconds", "gauge", "When the program began, in seconds since 1970.");
    page.sample(&[], seconds(metrics.began));
    let listeners: Vec<(Arc<OfListener>, Read)> = metrics
        .listeners()
        .into_iter()
        .map(|listener| {
            let read = listener.read();
            (listener, read)
        })
        .collect();
    of_listeners(&mut page, &listeners);
    page.family("cryptand_tls_log_lines_lost_total", "counter", "Lines of the access log that were lost.");
    page.sample(&[], metrics.lines_lost.load(Ordering::Relaxed) as f64);
    of_served(&mut page, metrics);
    page.text
}

fn of_listeners(page: &mut Page, listeners: &[(Arc<OfListener>, Read)]) {
    type Value = fn(&Read) -> u64;
    let plain: [(&'static str, &str, &str, Value); 3] = [
        ("cryptand_tls_connections_total", "counter", "Connections accepted.", |read| read.accepted),
        (
            "cryptand_tls_connections",
            "gauge",
            "Connections open, without those that failed and are held.",
            |read| read.open,
        ),
        (
            "cryptand_tls_failed_connections_held",
            "gauge",
            "Failed connections held open for a time.",
            |read| read.held,
        ),
    ];
    for (name, kind, help, value) in plain {
        page.family(name, kind, help);
        for (listener, read) in listeners {
            page.sample(&[("listener", &listener.name)], value(read) as f64);
        }
    }
    page.family("cryptand_tls_handshakes_total", "counter", "Handshakes that came to their end.");
    for (listener, read) in listeners {
        for (agreed, count) in &read.kinds {
            let labels = [
                ("listener", listener.name.as_str()),
                ("version", agreed.version),
                ("cipher", agreed.cipher),
                ("group", agreed.group),
                ("resumed", if agreed.is_resumed { "yes" } else { "no" }),
            ];
            page.sample(&labels, *count as f64);
        }
    }
    page.family(
        "cryptand_tls_handshake_failures_total",
        "counter",
        "Connections that ended before, by the log's word.",
    );
    for (listener, read) in listeners {
        for (cause, count) in ENDS.iter().zip(read.failures) {
            page.sample(&[("listener", &listener.name), ("cause", cause)], count as f64);
        }
    }
    page.family(
        "cryptand_tls_connection_ends_total",
        "counter",
        "Connections that ended after, by the log's word.",
    );
    for (listener, read) in listeners {
        for (end, count) in ENDS.iter().zip(read.ends) {
            page.sample(&[("listener", &listener.name), ("end", end)], count as f64);
        }
    }
    page.family("cryptand_tls_handshake_seconds", "histogram", "From accepting to the end of the handshake.");
    for (listener, read) in listeners {
        for (resumed, times) in [("no", &read.full), ("yes", &read.resumed)] {
            page.times(&[("listener", &listener.name), ("resumed", resumed)], times);
        }
    }
    page.family("cryptand_tls_key_seconds", "histogram", "From asking a label's key to its answer.");
    for (listener, read) in listeners {
        page.times(&[("listener", &listener.name)], &read.key);
    }
    page.family("cryptand_tls_key_errors_total", "counter", "Key operations without an answer.");
    for (listener, read) in listeners {
        for (reason, count) in KEY_ERRORS.iter().zip(read.key_errors) {
            page.sample(&[("listener", &listener.name), ("reason", reason)], count as f64);
        }
    }
    page.family("cryptand_tls_bytes_total", "counter", "Bytes of data, from clients (in) and to them (out).");
    for (listener, read) in listeners {
        for (direction, count) in [("in", read.bytes_in), ("out", read.bytes_out)] {
            page.sample(&[("listener", &listener.name), ("direction", direction)], count as f64);
        }
    }
}

fn of_served(page: &mut Page, metrics: &Metrics) {
    let served = metrics.served();
    let (material, tickets) = (Arc::clone(&served.material), served.tickets.clone());
    let (reloads, failed, last) = (served.reloads, served.reloads_failed, served.last_reload.clone());
    drop(served);
    page.family("cryptand_tls_reloads_total", "counter", "Reloads, by whether what was read is served.");
    page.sample(&[("outcome", "served")], reloads as f64);
    page.sample(&[("outcome", "refused")], failed as f64);
    if let Some(last) = last {
        page.family("cryptand_tls_last_reload_timestamp_seconds", "gauge", "When the last reload was over.");
        page.sample(&[], seconds(last.at));
        page.family("cryptand_tls_last_reload_successful", "gauge", "1 where what it read is served.");
        page.sample(&[], f64::from(u8::from(last.error.is_none())));
    }
    if !tickets.is_empty() {
        page.family(
            "cryptand_tls_ticket_key_timestamp_seconds",
            "gauge",
            "When the newest key for tickets was made.",
        );
        for (policy, since) in tickets {
            page.sample(&[("policy", policy)], since as f64);
        }
    }
    page.family("cryptand_tls_certificates", "gauge", "Certificates that are served.");
    page.sample(&[], material.certificates().count() as f64);
    page.family(
        "cryptand_tls_certificate_expiry_timestamp_seconds",
        "gauge",
        "When certificates expire; of many, those that do so first.",
    );
    let mut seen = HashSet::new();
    for certificate in material.expiring_first(CERTIFICATES_MAX) {
        let (name, kind) =
            (certificate.leaf.names.first().map_or("", String::as_str), certificate.leaf.public_key.kind());
        let chain = certificate.chain();
        // No series may be on the page twice.
        if seen.insert((name, kind.clone(), chain.clone())) {
            page.sample(
                &[("name", name), ("kind", &kind), ("chain", &chain)],
                certificate.leaf.not_after as f64,
            );
        }
    }
}
