//! The figures of a report in the columns of the published table, row beside row.
//!
//! Every published row of the sweeps has its row here, under its own name with `cryptand.` before it:
//! with the value measured today, or empty with *not yet measured*. A cell that the published table
//! keeps aside has a row of its own. The experiments on queues and tenants and OpenPGP files follow, case by case.

use super::Report;
use crate::claims::Verdict;
use crate::openpgp::tables;
use crate::published::{COLUMNS, Row, csv, sweep};
use crate::results::CaseResult;
use crate::tenancy;
use crate::workload::{Interface, Workload};

/// The whole table as text.
pub(super) fn rows(report: &Report, published: &[Row]) -> String {
    let mut out = String::new();
    csv::write_record(&mut out, COLUMNS);
    for row in published.iter().filter(|row| sweep::is_run(row)) {
        write_row(&mut out, report, row, published);
    }
    for table in sweep::tables(published) {
        for (index, cell) in table.cells.iter().enumerate() {
            if let (sweep::Printed::KeptAside, Some(workload)) = (&cell.printed, &cell.workload) {
                let name = &table.rows[index / table.series.len()];
                let series = &table.series[index % table.series.len()];
                let id = format!(
                    "cryptand.{}.{}.{}c{}j.ops",
                    table.id,
                    name.replace(' ', "-"),
                    series.cards,
                    series.jobs
                );
                let like = like_row(published, &table.id);
                write_kept_aside(&mut out, report, &id, workload, like);
            }
        }
    }
    tenancy::rows(&mut out, report, published);
    tables::rows(&mut out, report, published);
    out
}

fn like_row<'a>(published: &'a [Row], table: &str) -> Option<&'a Row> {
    published.iter().find(|row| row.table_id() == table)
}

fn write_row(out: &mut String, report: &Report, row: &Row, published: &[Row]) {
    let (value, note) = measured(report, row, published);
    let mut fields: Vec<String> = row.fields().to_vec();
    let mut set = |column: &str, text: String| {
        if let Some(at) = COLUMNS.iter().position(|name| *name == column) {
            fields[at] = text;
        }
    };
    set("id", format!("cryptand.{}", row.id()));
    set("document", "cryptand".to_owned());
    set("system", report.machine.processor.clone());
    set("software", report.program.clone());
    if let Some(workload) = sweep::workload(row) {
        set("interface", workload.interface.to_string());
        set("engine", engine(report, &workload));
    }
    set("cps", report.machine.processors_online.to_string());
    set("value", value.map_or(String::new(), |value| format!("{value}")));
    set("note", note);
    csv::write_record(out, fields.iter().map(String::as_str));
}

fn write_kept_aside(out: &mut String, report: &Report, id: &str, workload: &Workload, like: Option<&Row>) {
    let case = report.results.of(workload);
    let mut fields = vec![String::new(); COLUMNS.len()];
    let values = [
        ("id", id.to_owned()),
        ("document", "cryptand".to_owned()),
        ("section", like.map_or(String::new(), |row| row.field("section").to_owned())),
        ("table", like.map_or(String::new(), |row| row.field("table").to_owned())),
        ("system", report.machine.processor.clone()),
        ("software", report.program.clone()),
        ("interface", workload.interface.to_string()),
        ("operation", workload.operation.to_string()),
        ("key_bits", workload.rsa().map_or(String::new(), |(bits, _)| bits.to_string())),
        ("key_form", workload.rsa().map_or(String::new(), |(_, form)| form.name().to_owned())),
        ("data_bytes", if workload.bytes > 0 { workload.bytes.to_string() } else { String::new() }),
        ("engine", engine(report, workload)),
        ("engine_count", workload.cards.to_string()),
        ("cps", report.machine.processors_online.to_string()),
        ("jobs", workload.jobs.to_string()),
        ("metric", "ops_per_s".to_owned()),
        ("unit", "ops/s".to_owned()),
        ("value", case.map_or(String::new(), |case| rounded(case.ops_per_s.median))),
        ("note", format!("published figure kept aside; {}", case.map_or("not measured".to_owned(), spread))),
    ];
    for (column, text) in values {
        if let Some(at) = COLUMNS.iter().position(|name| *name == column) {
            fields[at] = text;
        }
    }
    csv::write_record(out, fields.iter().map(String::as_str));
}

fn engine(report: &Report, workload: &Workload) -> String {
    match workload.interface {
        Interface::Card => match workload.personality() {
            wire::control::Personality::Accelerator => "accelerator".to_owned(),
            wire::control::Personality::Coprocessor => "coprocessor".to_owned(),
        },
        _ => report.level.clone(),
    }
}

/// The value measured for a published row, and the note on it.
fn measured(report: &Report, row: &Row, published: &[Row]) -> (Option<f64>, String) {
    let not_yet = || (None, "not yet measured".to_owned());
    match row.metric() {
        "ops_per_s" | "api_per_s" => match case(report, row) {
            Some(case) => (rounded(case.ops_per_s.median).parse().ok(), spread(case)),
            None => not_yet(),
        },
        "bytes_per_s" | "mb_per_s" => match case(report, row) {
            Some(case) => {
                let unit = if row.metric() == "mb_per_s" { 1e6 } else { 1.0 };
                (rounded(case.bytes_per_s() / unit).parse().ok(), spread(case))
            }
            None => not_yet(),
        },
        "ratio" if row.field("table") != "prose" => match cell_ratio(report, row, published) {
            Some(ratio) => {
                (Some((ratio * 1000.0).round() / 1000.0), "median of neighbouring runs".to_owned())
            }
            None => not_yet(),
        },
        // What the text says without a table: the statement of the same name.
        _ => {
            let claim = row.field("note").rsplit_once("claim ").map(|(_, id)| id);
            match report.judged.iter().find(|judged| Some(judged.id.as_str()) == claim) {
                Some(judged) => match &judged.verdict {
                    Verdict::NotTestable(why) => (None, format!("not testable: {why}")),
                    _ => (
                        judged.measured.map(|value| (value * 1000.0).round() / 1000.0),
                        judged.compared.clone(),
                    ),
                },
                None => not_yet(),
            }
        }
    }
}

fn case<'a>(report: &'a Report, row: &Row) -> Option<&'a CaseResult> {
    report.results.of(&sweep::workload(row)?)
}

/// A printed ratio: the row's own configuration over one card with its jobs.
fn cell_ratio(report: &Report, row: &Row, published: &[Row]) -> Option<f64> {
    let over = sweep::workload(row)?;
    let under = published.iter().filter(|other| {
        other.table_id() == row.table_id()
            && other.metric() == "ops_per_s"
            && other.field("engine") == "pcixcc"
    });
    let same_service = |other: &&Row| {
        ["operation", "algorithm", "key_bits", "key_form", "data_bytes"]
            .iter()
            .all(|column| other.field(column) == row.field(column))
    };
    let under = under.filter(same_service).find_map(sweep::workload)?;
    report.results.ratio(&over, &under)
}

fn spread(case: &CaseResult) -> String {
    let rates = case.ops_per_s;
    format!("median of {}; {} to {} ops/s", rates.runs, rounded(rates.min), rounded(rates.max))
}

/// Five significant digits are more than any run carries.
pub(crate) fn rounded(value: f64) -> String {
    if value <= 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = (4 - value.log10().floor() as i32).max(0) as usize;
    if value >= 1e5 {
        let step = 10f64.powi(value.log10().floor() as i32 - 4);
        return format!("{:.0}", (value / step).round() * step);
    }
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{measurements, read_measurements};
    use crate::report::tests::MadeUp;
    use crate::report::{Plan, Thoroughness, run};

    #[test]
    fn figures_are_rounded_to_what_they_carry() {
        for (value, text) in [
            (3_347_438.2, "3347400"),
            (123.456_78, "123.46"),
            (0.691_23, "0.69123"),
            (99_999.7, "100000"),
            (2.5, "2.5"),
            (0.0, "0"),
            (f64::INFINITY, "0"),
        ] {
            assert_eq!(rounded(value), text);
        }
    }

    #[test]
    fn every_published_row_of_the_sweeps_has_its_row() {
        let folder = tempfile::tempdir().unwrap();
        let published = measurements();
        let thoroughness = Thoroughness { passes: 1, seconds: 0.1, seconds_max: None };
        let plan = Plan::with_peer(&published, thoroughness, true);
        let report = run(&plan, &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
        let text = rows(&report, &published);
        let ours = read_measurements(&text).unwrap();
        let run_rows: Vec<_> = published.iter().filter(|row| sweep::is_run(row)).collect();
        assert_eq!(ours.len(), run_rows.len() + 2 * 8 + 2 * 15 + 2);
        for row in &run_rows {
            let id = format!("cryptand.{}", row.id());
            let found = ours.iter().find(|ours| ours.id() == id).unwrap();
            assert_eq!(found.metric(), row.metric());
            if row.field("operation").starts_with("pin-") {
                assert_eq!((found.value, found.field("note")), (None, "not yet measured"));
            }
        }
        let value = |id: &str| ours.iter().find(|row| row.id() == id).unwrap().value;
        // 1 job, native: 1 / (200 ns + 64 ns).
        assert_eq!(value("cryptand.z990.4.2.1.kmc-dea.64.ops"), Some(3_787_900.0));
        assert_eq!(value("cryptand.z990.4.2.1.kmc-dea.64.bps"), Some(242_420_000.0));
        assert_eq!(value("cryptand.z990.5.2.1.mac-multi.64.ratio"), Some(2.0));
        let aside =
            ours.iter().find(|row| row.id() == "cryptand.z990.4.5.1.des-cbc-7jobs.1024.1c7j.ops").unwrap();
        assert!(aside.value.is_some() && aside.field("note").starts_with("published figure kept aside"));
    }
}
