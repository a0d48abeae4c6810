//! The summary for one file, as text and as JSON.

use crate::args::time;
use pipeline::{SignatureReport, Stage, Summary, Verdict};
use serde::Serialize;
use std::time::Duration;

/// One file, as `--json` prints it.
#[derive(Serialize)]
pub struct FileReport<'a> {
    /// Name of the input.
    input: &'a str,
    /// Name of the output, if one is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    /// Cipher and packet format of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<String>,
    input_bytes: u64,
    output_bytes: u64,
    seconds: f64,
    cpu_seconds_caller: f64,
    cpu_seconds_all: f64,
    mb_per_cpu_second_caller: Option<f64>,
    mb_per_cpu_second_all: Option<f64>,
    stages: Vec<StageReport>,
    signatures: Vec<SignatureJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened_by: Option<&'a str>,
    /// File name in the message, which its sender chose and which is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    literal_name: Option<String>,
}

#[derive(Serialize)]
struct StageReport {
    stage: &'static str,
    cpu_seconds_caller: f64,
    cpu_seconds_offloaded: f64,
    mb_per_cpu_second: Option<f64>,
}

#[derive(Serialize)]
struct SignatureJson<'a> {
    issuer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<u32>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// A file that failed, as `--json` prints it.
#[derive(Serialize)]
pub struct FailureReport<'a> {
    input: &'a str,
    error: String,
    exit_code: u8,
}

impl<'a> FileReport<'a> {
    /// The report of a file with this summary.
    pub fn new(input: &'a str, output: Option<&'a str>, summary: &'a Summary) -> Self {
        let bytes = summary.text_bytes;
        let stages = summary.stages.iter().map(|time| StageReport {
            stage: stage(time.stage),
            cpu_seconds_caller: time.caller.as_secs_f64(),
            cpu_seconds_offloaded: time.offloaded.as_secs_f64(),
            mb_per_cpu_second: rate(bytes, time.caller + time.offloaded),
        });
        let literal_name = String::from_utf8_lossy(&summary.literal_name).into_owned();
        Self {
            input,
            output,
            form: summary.form.map(|form| form.to_string()),
            input_bytes: summary.input_bytes,
            output_bytes: summary.output_bytes,
            seconds: summary.elapsed.as_secs_f64(),
            cpu_seconds_caller: summary.cpu_caller.as_secs_f64(),
            cpu_seconds_all: summary.cpu_all.as_secs_f64(),
            mb_per_cpu_second_caller: rate(bytes, summary.cpu_caller),
            mb_per_cpu_second_all: rate(bytes, summary.cpu_all),
            stages: stages.collect(),
            signatures: summary.signatures.iter().map(SignatureJson::of).collect(),
            opened_by: summary.opened_by.as_deref(),
            literal_name: (!literal_name.is_empty()).then_some(literal_name),
        }
    }
}

impl<'a> SignatureJson<'a> {
    fn of(report: &'a SignatureReport) -> Self {
        let (verdict, certificate, key, why) = match &report.verdict {
            Verdict::Good { certificate, key, .. } => {
                ("good", Some(format!("{certificate:X}")), Some(format!("{key:X}")), None)
            }
            Verdict::Bad { why } => ("bad", None, None, Some(why.as_str())),
            Verdict::Unchecked => ("unchecked", None, None, None),
        };
        let made = report.made.map(|made| made.as_secs());
        Self { issuer: &report.issuer, made, verdict, certificate, key, why }
    }
}

impl<'a> FailureReport<'a> {
    /// The report of a file with this failure.
    pub fn new(input: &'a str, failure: &crate::failure::Failure) -> Self {
        Self { input, error: failure.to_string(), exit_code: failure.exit_code() }
    }
}

/// Shortest time for which a rate is shown, in seconds.
const RATED_SECONDS_MIN: f64 = 0.05;

/// The line for people, behind the names of input and output. `signatures_in` names the file that signatures were found
/// in.
pub fn line(summary: &Summary, signatures_in: Option<&str>) -> String {
    let mut parts = Vec::new();
    parts.extend(signatures_in.map(|name| format!("signatures in {name}")));
    parts.extend(summary.form.map(|form| form.to_string()));
    let seconds = summary.elapsed.as_secs_f64();
    let bytes = summary.text_bytes as f64;
    let rate =
        if seconds >= RATED_SECONDS_MIN { format!(", {}/s", size(bytes / seconds)) } else { String::new() };
    parts.push(format!("{} in {seconds:.2} s{rate}", size(bytes)));
    parts.extend(summary.opened_by.as_ref().map(|by| format!("opened by {by}")));
    parts.join("; ")
}

/// The table of `--verbose`: megabytes of text per processor second, by stage.
pub fn table(summary: &Summary) -> String {
    let bytes = summary.text_bytes;
    let row = |name: &str, caller: Duration, offloaded: Duration| {
        let rate =
            rate(bytes, caller + offloaded).map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        vec![
            name.to_owned(),
            format!("{:.3}", caller.as_secs_f64()),
            format!("{:.3}", offloaded.as_secs_f64()),
            rate,
        ]
    };
    let mut rows: Vec<_> =
        summary.stages.iter().map(|time| row(stage(time.stage), time.caller, time.offloaded)).collect();
    rows.push(row("all, caller's processors", summary.cpu_caller, Duration::ZERO));
    rows.push(row("all", summary.cpu_caller, summary.cpu_all.saturating_sub(summary.cpu_caller)));
    crate::output::table(&["stage", "CPU s", "offloaded", "MB per CPU s"], rows)
}

/// A line for each signature. `name` gives a certificate's first user id.
pub fn signatures(
    reports: &[SignatureReport],
    name: impl Fn(&openpgp::Fingerprint) -> Option<String>,
) -> Vec<String> {
    let made = |report: &SignatureReport| {
        report.made.map_or_else(String::new, |made| format!(", made {}", time::to_text(made.as_secs())))
    };
    let line = |report: &SignatureReport| match &report.verdict {
        Verdict::Good { certificate, .. } => {
            let who = name(certificate).map_or_else(String::new, |name| format!(" {name}"));
            format!("good signature: {certificate:X}{who}{}", made(report))
        }
        Verdict::Bad { why } => format!("BAD signature: {why}"),
        Verdict::Unchecked => {
            format!(
                "signature not checked: made by {}{}, whose certificate is not among those that count here: \
                 name it with --verify-with, or import it where --verify-with is left out",
                report.issuer,
                made(report)
            )
        }
    };
    reports.iter().map(line).collect()
}

fn rate(bytes: u64, time: Duration) -> Option<f64> {
    (time > Duration::ZERO).then(|| bytes as f64 / 1e6 / time.as_secs_f64())
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "read",
        Stage::Compress => "compress",
        Stage::Cipher => "cipher",
        Stage::Write => "write",
    }
}

fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1e9 => format!("{:.2} GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            form: None,
            input_bytes: 2_000_000,
            output_bytes: 2_500_000,
            text_bytes: 2_000_000,
            elapsed: Duration::from_millis(500),
            stages: vec![pipeline::StageTime {
                stage: Stage::Cipher,
                caller: Duration::from_millis(100),
                offloaded: Duration::from_millis(300),
            }],
            cpu_caller: Duration::from_millis(200),
            cpu_all: Duration::from_millis(500),
            signatures: vec![SignatureReport {
                issuer: "AB".to_owned(),
                made: None,
                verdict: Verdict::Bad { why: "expired".to_owned() },
            }],
            opened_by: Some("passphrase".to_owned()),
            session_key: None,
            literal_name: b"../x".to_vec(),
            literal_modified: None,
        }
    }

    #[test]
    fn rates_are_of_the_text_and_of_processor_time() {
        let summary = summary();
        assert_eq!(line(&summary, None), "2.0 MB in 0.50 s, 4.0 MB/s; opened by passphrase");
        let json = serde_json::to_value(FileReport::new("a", None, &summary)).unwrap();
        assert_eq!(json["stages"][0]["mb_per_cpu_second"], 5.0);
        assert_eq!(json["mb_per_cpu_second_caller"], 10.0);
        assert_eq!(json["mb_per_cpu_second_all"], 4.0);
        assert_eq!(json["signatures"][0]["verdict"], "bad");
        assert_eq!(json["signatures"][0]["why"], "expired");
        assert!(table(&summary).contains("cipher"));
        assert_eq!(signatures(&summary.signatures, |_| None), ["BAD signature: expired"]);
    }
}
