//! The status as text for people, 80 columns wide.

use serde_json::{Value, json};
use std::fmt::Write;

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns before a listener's values.
const INDENT: usize = 15;
/// At most this many certificates are shown, those that expire first.
const CERTIFICATES_MAX: usize = 20;
/// At most this many kinds of handshakes are shown for each listener, the most frequent ones.
const KINDS_MAX: usize = 5;

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_default()
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Adds `handshakes_per_second` to each listener of a later report: the rate since an earlier report of the same
/// program.
pub(super) fn add_rates(before: &Value, last: &mut Value) {
    let span = last["now"].as_f64().unwrap_or_default() - before["now"].as_f64().unwrap_or_default();
    let is_same = last["began"] == before["began"];
    let Some(listeners) = last.get_mut("listeners").and_then(Value::as_array_mut) else { return };
    for listener in listeners {
        // A listener that is new counted from 0.
        let old = list(before, "listeners").iter().find(|old| is_same && old["name"] == listener["name"]);
        let old = old.map_or(0, |old| number(old, "handshakes"));
        let more = number(listener, "handshakes").saturating_sub(old);
        if let Some(listener) = listener.as_object_mut().filter(|_| span > 0.0 && is_same) {
            listener.insert("handshakes_per_second".to_owned(), json!(more as f64 / span));
        }
    }
}

/// The text of a report, with rates if there is an earlier report.
pub(super) fn text(before: Option<&Value>, last: &Value) -> String {
    let mut last = last.clone();
    if let Some(before) = before {
        add_rates(before, &mut last);
    }
    let now = last["now"].as_f64().unwrap_or_default();
    let ago = |at: &Value| span((now - at.as_f64().unwrap_or(now)).max(0.0) as u64);
    let mut text = String::new();
    let loops = number(&last, "loops");
    let _ = writeln!(
        text,
        "{}, process {}, {loops} {}, for {}",
        plain(&last["program"]),
        number(&last, "pid"),
        if loops == 1 { "loop" } else { "loops" },
        ago(&last["began"])
    );
    let mut head = |name: &str, value: String| row(&mut text, "", name, &[value]);
    head("settings", plain(&last["settings"]));
    let reload = &last["last_reload"];
    if reload["error"].is_string() {
        head("last reload", format!("REFUSED {} ago: {}", ago(&reload["at"]), plain(&reload["error"])));
    } else if reload.is_object() {
        head("last reload", format!("served, {} ago", ago(&reload["at"])));
    }
    let lost = number(&last, "log_lines_lost");
    if lost > 0 {
        head("access log", format!("{lost} lines LOST"));
    }
    for listener in list(&last, "listeners") {
        text.push('\n');
        of_listener(&mut text, listener);
    }
    text.push('\n');
    certificates(&mut text, &last, now);
    text
}

fn of_listener(text: &mut String, listener: &Value) {
    let (name, address) = (plain(&listener["name"]), plain(&listener["address"]));
    let _ = match &listener["address"] {
        Value::Null => writeln!(text, "{name}, not listened at any more"),
        _ if name == address => writeln!(text, "{name}"),
        _ => writeln!(text, "{name} ({address})"),
    };
    let mut line = |name: &str, values: &[String]| row(text, "  ", name, values);
    if listener["policy"].is_string() {
        line("serves", &[plain(&listener["policy"]), format!("for {}", plain(&listener["service"]))]);
    }
    line(
        "connections",
        &[
            format!("{} open", number(listener, "open")),
            format!("{} failed and held", number(listener, "held")),
            format!("{} accepted", number(listener, "accepted")),
        ],
    );
    let (handshakes, resumed) = (number(listener, "handshakes"), number(listener, "resumed"));
    let mut values = vec![handshakes.to_string()];
    if let Some(rate) = listener["handshakes_per_second"].as_f64() {
        values.push(format!("{rate:.0} a second now"));
    }
    if let Some(share) = (100 * resumed).checked_div(handshakes) {
        values.push(format!("{share} % resumed"));
        values.extend(times(&listener["handshake_us"]));
    }
    line("handshakes", &values);
    let mut values = times(&listener["key_us"]);
    let errors = counts(&listener["key_errors"]);
    if !errors.is_empty() {
        values.push(format!("ERRORS: {}", errors.join(", ")));
    }
    if !values.is_empty() {
        line("keys on cards", &values);
    }
    for (name, of) in [("failed", &listener["failures"]), ("ended", &listener["ends"])] {
        let values = counts(of);
        if !values.is_empty() {
            line(name, &values);
        }
    }
    let (bytes_in, bytes_out) = (number(listener, "bytes_in"), number(listener, "bytes_out"));
    line("data", &[format!("{} in", bytes(bytes_in)), format!("{} out", bytes(bytes_out))]);
    let mut kinds: Vec<&Value> = list(listener, "negotiated").iter().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(number(kind, "count")));
    for (at, kind) in kinds.iter().take(KINDS_MAX).enumerate() {
        let words = [&kind["version"], &kind["cipher"], &kind["group"]].map(plain);
        let resumed = if kind["resumed"] == json!(true) { " resumed" } else { "" };
        let value =
            format!("{} %  {}{resumed}", 100 * number(kind, "count") / handshakes.max(1), words.join(" "));
        line(if at == 0 { "agreed" } else { "" }, &[value]);
    }
}

fn certificates(text: &mut String, last: &Value, now: f64) {
    let all = number(last, "certificates");
    let _ = writeln!(text, "{:<34} {:<9} {:<25} {:>9}", "CERTIFICATE", "KIND", "KEY", "DAYS LEFT");
    let shown = list(last, "expiring_first");
    for certificate in shown.iter().take(CERTIFICATES_MAX) {
        let names = list(certificate, "names");
        let more = names.len().saturating_sub(1);
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        let name = names.first().map_or_else(|| "(no name)".to_owned(), plain);
        let name = format!("{}{more}", short(&name, 34 - more.len()));
        let left = certificate["not_after"].as_i64().unwrap_or_default() - now as i64;
        let left = if left < 0 { "EXPIRED".to_owned() } else { (left / 86_400).to_string() };
        let (kind, key) = (plain(&certificate["kind"]), short(&plain(&certificate["key"]), 25));
        let _ = writeln!(text, "{name:<34} {kind:<9} {key:<25} {left:>9}");
    }
    if all > CERTIFICATES_MAX as u64 {
        let _ = writeln!(text, "... of {all}; these expire first");
    }
}

/// Writes a line that begins with a name; values that do not fit go onto further lines.
fn row(text: &mut String, before: &str, name: &str, values: &[String]) {
    let mut line = format!("{before}{name}");
    line = format!("{line:<INDENT$}");
    let mut is_empty = true;
    for (at, value) in values.iter().enumerate() {
        let comma = if at + 1 < values.len() { "," } else { "" };
        for (word_at, word) in value.split(' ').enumerate() {
            let word = if word_at == value.split(' ').count() - 1 {
                format!("{word}{comma}")
            } else {
                word.to_owned()
            };
            if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(text, "{}", line.trim_end());
                line = " ".repeat(INDENT);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&word);
            is_empty = false;
        }
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// A text with `?` for each control character, which a terminal might obey: names come from certificates and files.
fn plain(of: &Value) -> String {
    of.as_str()
        .unwrap_or_default()
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// The end of a text that is too long, marked by two dots; names differ at the end more often than paths do.
fn short(of: &str, width: usize) -> String {
    let count = of.chars().count();
    if count <= width {
        return of.to_owned();
    }
    let rest: String = of.chars().skip(count - width + 2).collect();
    format!("..{rest}")
}

fn counts(of: &Value) -> Vec<String> {
    let mut counts: Vec<(&String, u64)> = of
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, count)| (name, count.as_u64().unwrap_or_default()))
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect()
}

fn times(of: &Value) -> Vec<String> {
    let time = |name: &str| {
        let micros = of[name].as_u64()?;
        Some(match micros {
            0..10_000 => format!("{name} {micros} us"),
            10_000..10_000_000 => format!("{name} {} ms", micros / 1_000),
            _ => format!("{name} {} s", micros / 1_000_000),
        })
    };
    ["p50", "p99"].into_iter().filter_map(time).collect()
}

fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn bytes(count: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1_000.0 && unit + 1 < units.len() {
        value /= 1_000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Value {
        json!({
            "program": "cryptand-tls 1", "pid": 7, "settings": "/etc/cryptand/tls.toml", "now": 1_000_000.0, "began": 1_000.0,
            "loops": 2, "certificates": 30, "log_lines_lost": 3,
            "last_reload": {"at": 999_000.0, "error": "/etc/cryptand/tls.toml, line 4, chain: garbage.pem: no certificate chain is in it, or more"},
            "listeners": [{
                "name": "127.0.0.1:0", "address": "127.0.0.1:4711", "policy": "modern", "service": "127.0.0.1:8080 127.0.0.1:8081 127.0.0.1:8082 127.0.0.1:8083",
                "accepted": 130, "open": 7, "held": 1, "handshakes": 100, "resumed": 64,
                "negotiated": [{"version": "TLS1.3", "cipher": "TLS_AES_128_GCM_SHA256", "group": "X25519MLKEM768", "resumed": true, "count": 64}],
                "failures": {"alert": 20, "cut": 9}, "ends": {"done": 93}, "key_errors": {"refused": 2},
                "key_us": {"count": 36, "p50": 90, "p99": 12_345}, "handshake_us": {"count": 100, "p50": 300, "p99": 20_000_000},
                "bytes_in": 999, "bytes_out": 1_234_567,
            }],
            "expiring_first": [
                {"names": ["a-rather-long-name.of-some-department.example.org", "b"], "kind": "P-256", "key": "file /etc/ssl/private/example.org.key", "not_after": 2_000_000},
                {"names": ["\u{1b}[31mred"], "kind": "RSA-2048", "key": "label A", "not_after": 1},
            ],
        })
    }

    #[test]
    fn everything_fits_and_nothing_reaches_the_terminal_as_a_command() {
        let (mut before, last) = (report(), report());
        before["now"] = json!(999_990.0);
        before["listeners"][0]["handshakes"] = json!(50);
        let text = text(Some(&before), &last);
        for part in [
            "for 11 days",
            "REFUSED 16 min ago",
            "3 lines LOST",
            "5 a second now, 64 % resumed, p50 300 us, p99 20 s",
            "p50 90 us, p99 12 ms, ERRORS: refused 2",
            "alert 20, cut 9",
            "999 B in, 1.2 MB out",
            "64 %  TLS1.3 TLS_AES_128_GCM_SHA256 X25519MLKEM768 resumed",
            "EXPIRED",
            " 11\n",
            "?[31mred",
            "... of 30",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_report_of_another_program_is_shown_as_far_as_it_goes() {
        assert!(super::text(None, &json!({})).contains("CERTIFICATE"));
        assert!(super::text(Some(&json!(3)), &json!([1])).contains("CERTIFICATE"));
    }
}
