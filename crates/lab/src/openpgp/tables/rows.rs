//! The cases in the columns of the published table: each published row under its own name, and cases of our own.

use super::{Case, Outcome, Run, cases};
use crate::published::{COLUMNS, Row, csv};
use crate::report::Report;
use crate::report::csv::rounded;

/// Adds a row for each published figure that a case stands for, then the cases that were not published.
pub(crate) fn rows(out: &mut String, report: &Report, published: &[Row]) {
    for row in published.iter().filter(|row| row.field("document") == "ef2") {
        let case = Case::of_table(row.field("table"));
        let Some((case, outcome)) = case.and_then(|case| Some((case, report.openpgp.of(&case)?))) else {
            continue;
        };
        let Some(figure) = of_metric(row.metric()) else { continue };
        let id = format!("cryptand.{}", row.id());
        let keys = [row.field("section"), row.field("table"), row.metric(), row.field("unit")];
        write(out, report, &case, outcome, &id, keys, figure);
    }
    for case in cases().into_iter().filter(Case::is_ours) {
        let Some(outcome) = report.openpgp.of(&case) else { continue };
        for (end, metric, unit) in [
            ("elapsed", "elapsed_s", "s"),
            ("mbs", "mb_per_s", "MB(2^20)/s"),
            ("mbcpu", "mb_per_cpu_s", "MB(2^20)/CPU-s"),
            ("output", "output_bytes", "bytes"),
        ] {
            let Some(figure) = of_metric(metric) else { continue };
            let id = format!("cryptand.openpgp.{}.{end}", case.name().replace(", ", ".").replace(' ', "-"));
            write(out, report, &case, outcome, &id, ["openpgp", "cases", metric, unit], figure);
        }
    }
}

type Of = fn(&Run, &Case) -> f64;

fn of_metric(metric: &str) -> Option<Of> {
    Some(match metric {
        "input_bytes" => |run, _| run.input_bytes as f64,
        "output_bytes" => |run, _| run.output_bytes as f64,
        "elapsed_s" => |run, _| run.elapsed_s,
        "mb_per_s" => |run, _| run.megabytes() / run.elapsed_s.max(1e-9),
        "mb_per_cpu_s" | "mb_per_general_plus_zaap_s" => |run, _| run.megabytes() / run.cpu_s.max(1e-9),
        "mb_per_general_cpu_s" => |run, _| run.megabytes() / (run.cpu_s - run.offloaded_s).max(1e-9),
        "cpu_util_pct" => {
            |run, case| 100.0 * run.cpu_s / (run.elapsed_s * case.processors_used() as f64).max(1e-9)
        }
        "general_cpu_util_pct" => |run, _| 100.0 * (run.cpu_s - run.offloaded_s) / run.elapsed_s.max(1e-9),
        "zaap_util_pct" => |run, case| {
            let others = case.processors_used().saturating_sub(1).max(1);
            100.0 * run.offloaded_s / (run.elapsed_s * others as f64).max(1e-9)
        },
        _ => return None,
    })
}

impl Case {
    /// Whether it stands for no published table with figures.
    fn is_ours(&self) -> bool {
        self.tables.is_empty() || self.tables.contains(&"t9")
    }
}

fn write(
    out: &mut String,
    report: &Report,
    case: &Case,
    outcome: &Outcome,
    id: &str,
    [section, table, metric, unit]: [&str; 4],
    of: Of,
) {
    let Some(figure) = outcome.figure(|run| of(run, case)) else { return };
    let whole = ["input_bytes", "output_bytes"].contains(&metric);
    let value = if whole { format!("{:.0}", figure.median) } else { rounded(figure.median) };
    let engine = if case.is_software { "software" } else { &report.level };
    let bytes = outcome.runs.first().map_or(0, |run| run.input_bytes);
    let mut fields = vec![String::new(); COLUMNS.len()];
    let values = [
        ("id", id.to_owned()),
        ("document", "cryptand".to_owned()),
        ("section", section.to_owned()),
        ("table", table.to_owned()),
        ("system", report.machine.processor.clone()),
        ("software", report.program.clone()),
        ("interface", "openpgp".to_owned()),
        ("operation", "openpgp-encrypt".to_owned()),
        ("algorithm", "aes128".to_owned()),
        ("key_bits", "128".to_owned()),
        ("data_bytes", bytes.to_string()),
        ("engine", engine.to_owned()),
        ("cps", case.processors_used().to_string()),
        ("metric", metric.to_owned()),
        ("unit", unit.to_owned()),
        ("value", value),
        ("note", format!("{}; {} runs, {:.1} % apart", case.name(), figure.runs, figure.spread() * 100.0)),
    ];
    for (column, text) in values {
        if let Some(at) = COLUMNS.iter().position(|name| *name == column) {
            fields[at] = text;
        }
    }
    csv::write_record(out, fields.iter().map(String::as_str));
}
