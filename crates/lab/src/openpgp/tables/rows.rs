//! The cases in the columns of the published table: each published row under its own name, and cases of our own.

use super::page::COLUMNS;
use super::{Case, OpenpgpOutcome, Outcomes, Run, cases};
use crate::kit::digits::rounded;
use crate::published::{Row, Sheet};

/// Adds a row for each published figure that a case stands for, then the cases that were not published.
pub(crate) fn rows(sheet: &mut Sheet, outcomes: &Outcomes, level: &str, published: &[Row]) {
    for row in published.iter().filter(|row| row.field("document") == "ef2") {
        let case = Case::of_table(row.field("table"));
        let Some((case, outcome)) = case.and_then(|case| Some((case, outcomes.of(&case)?))) else {
            continue;
        };
        let Some(figure) = of_metric(row.metric()) else { continue };
        let id = format!("cryptand.{}", row.id());
        let keys = [row.field("section"), row.field("table"), row.metric(), row.field("unit")];
        write(sheet, level, &case, outcome, &id, keys, figure);
    }
    for case in cases().into_iter().filter(Case::is_ours) {
        let Some(outcome) = outcomes.of(&case) else { continue };
        for (end, metric, unit) in [
            ("elapsed", "elapsed_s", "s"),
            ("mbs", "mb_per_s", "MB(2^20)/s"),
            ("mbcpu", "mb_per_cpu_s", "MB(2^20)/CPU-s"),
            ("output", "output_bytes", "bytes"),
        ] {
            let Some(figure) = of_metric(metric) else { continue };
            let id = format!("cryptand.openpgp.{}.{end}", case.name().replace(", ", ".").replace(' ', "-"));
            write(sheet, level, &case, outcome, &id, ["openpgp", "cases", metric, unit], figure);
        }
    }
}

type Of = fn(&Run, &Case) -> f64;

fn of_metric(metric: &str) -> Option<Of> {
    match metric {
        "input_bytes" => Some(|run, _| run.input_bytes as f64),
        "output_bytes" => Some(|run, _| run.output_bytes as f64),
        _ => COLUMNS.iter().find(|column| column.metrics.contains(&metric)).map(|column| column.figure),
    }
}

impl Case {
    /// Whether the case stands for no published table with figures.
    fn is_ours(&self) -> bool {
        self.tables.is_empty() || self.tables.contains(&"t9")
    }
}

fn write(
    sheet: &mut Sheet,
    level: &str,
    case: &Case,
    outcome: &OpenpgpOutcome,
    id: &str,
    [section, table, metric, unit]: [&str; 4],
    of: Of,
) {
    let Some(figure) = outcome.summary(|run| of(run, case)) else { return };
    let whole = ["input_bytes", "output_bytes"].contains(&metric);
    let value = if whole { format!("{:.0}", figure.median) } else { rounded(figure.median) };
    let engine = if case.is_software { "software" } else { level };
    let bytes = outcome.runs.first().map_or(0, |run| run.input_bytes);
    let columns = [
        ("id", id.to_owned()),
        ("section", section.to_owned()),
        ("table", table.to_owned()),
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
    sheet.add(None, &columns);
}
