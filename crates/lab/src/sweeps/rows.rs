//! The figures of the sweeps in the columns of the published table, row beside row.
//!
//! Every published row of the sweeps has its row here, under its own name with `cryptand.` before it:
//! with the value measured today, or empty with *not yet measured*. A cell that the published table
//! keeps aside has a row of its own.

use super::results::{CaseResult, Results};
use super::sweep;
use crate::experiment::judged::{Judged, Verdict};
use crate::kit::digits::rounded;
use crate::load::{Interface, Workload};
use crate::published::{Row, Sheet};

/// The measured results, the judged statements, and the engine's level.
#[derive(Clone, Copy)]
pub(crate) struct Measured<'a> {
    pub results: &'a Results,
    pub judged: &'a [Judged],
    pub level: &'a str,
}

/// Adds all rows.
pub(crate) fn rows(sheet: &mut Sheet, report: Measured<'_>, published: &[Row]) {
    for row in published.iter().filter(|row| sweep::is_run(row)) {
        let (value, note) = measured(report, row, published);
        let mut columns = vec![
            ("id", format!("cryptand.{}", row.id())),
            ("value", value.map_or(String::new(), |value| format!("{value}"))),
            ("note", note),
        ];
        if let Some(workload) = sweep::workload(row) {
            columns.push(("interface", workload.interface.to_string()));
            columns.push(("engine", engine(report, &workload)));
        }
        sheet.add(Some(row), &columns);
    }
    for table in sweep::tables(published) {
        for (index, cell) in table.cells.iter().enumerate() {
            if let (sweep::Printed::KeptAside, Some(workload)) = (&cell.printed, &cell.workload) {
                let name = table.rows[index / table.series.len()].replace(' ', "-");
                let series = &table.series[index % table.series.len()];
                let id = format!("cryptand.{}.{name}.{}c{}j.ops", table.id, series.cards, series.jobs);
                let like = published.iter().find(|row| row.table_id() == table.id);
                kept_aside(sheet, report, id, workload, like);
            }
        }
    }
}

fn kept_aside(sheet: &mut Sheet, report: Measured<'_>, id: String, workload: &Workload, like: Option<&Row>) {
    let case = report.results.of(workload);
    let of_table = |column: &str| like.map_or(String::new(), |row| row.field(column).to_owned());
    let columns = [
        ("id", id),
        ("section", of_table("section")),
        ("table", of_table("table")),
        ("interface", workload.interface.to_string()),
        ("operation", workload.operation.to_string()),
        ("key_bits", workload.rsa().map_or(String::new(), |(bits, _)| bits.to_string())),
        ("key_form", workload.rsa().map_or(String::new(), |(_, form)| form.name().to_owned())),
        ("data_bytes", if workload.bytes > 0 { workload.bytes.to_string() } else { String::new() }),
        ("engine", engine(report, workload)),
        ("engine_count", workload.cards.to_string()),
        ("jobs", workload.jobs.to_string()),
        ("metric", "ops_per_s".to_owned()),
        ("unit", "ops/s".to_owned()),
        ("value", case.map_or(String::new(), |case| rounded(case.ops_per_s.median))),
        ("note", format!("published figure kept aside; {}", case.map_or("not measured".to_owned(), spread))),
    ];
    sheet.add(None, &columns);
}

fn engine(report: Measured<'_>, workload: &Workload) -> String {
    match workload.interface {
        Interface::Card => match workload.personality() {
            wire::control::Personality::Accelerator => "accelerator".to_owned(),
            wire::control::Personality::Coprocessor => "coprocessor".to_owned(),
        },
        _ => report.level.to_owned(),
    }
}

/// The value measured for a published row, and the note on it.
fn measured(report: Measured<'_>, row: &Row, published: &[Row]) -> (Option<f64>, String) {
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
        // A published row of the text without a table: the statement of the same name gives its figure.
        _ => {
            let claim = row.field("note").rsplit_once("claim ").map(|(_, id)| id);
            match report.judged.iter().find(|judged| Some(judged.id.as_str()) == claim) {
                Some(judged) => match &judged.verdict {
                    Verdict::NotTestable(why) => (None, format!("not tried: {why}")),
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

fn case<'a>(report: Measured<'a>, row: &Row) -> Option<&'a CaseResult> {
    report.results.of(&sweep::workload(row)?)
}

/// A printed ratio: the row's own configuration over one card with the jobs of one card.
fn cell_ratio(report: Measured<'_>, row: &Row, published: &[Row]) -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Thoroughness;
    use crate::load::made_up::MadeUp;
    use crate::published::{measurements, read_measurements};
    use crate::sweeps::{Plan, run};

    #[test]
    fn every_published_row_of_the_sweeps_has_its_row() {
        let folder = tempfile::tempdir().unwrap();
        let published = measurements();
        let thoroughness = Thoroughness { passes: 1, seconds: 0.1, seconds_max: None };
        let plan = Plan::with_peer(&published, thoroughness, true);
        let (results, _) = run(&plan, &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
        let mut sheet = Sheet::new(Vec::new());
        rows(&mut sheet, Measured { results: &results, judged: &[], level: "avx512" }, &published);
        let ours = read_measurements(&sheet.finish()).unwrap();
        let run_rows: Vec<_> = published.iter().filter(|row| sweep::is_run(row)).collect();
        assert_eq!(ours.len(), run_rows.len() + 2 * 8 + 2 * 15 + 2);
        for row in &run_rows {
            let id = format!("cryptand.{}", row.id());
            let found = ours.iter().find(|ours| ours.id() == id).unwrap();
            assert_eq!(found.metric(), row.metric());
            if row.field("operation").starts_with("pin-") {
                assert!(found.value.is_some(), "{}", row.id());
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
