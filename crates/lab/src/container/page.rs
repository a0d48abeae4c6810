//! What was compared, for people and for programs.

use super::{Agreement, Case, Compared};
use crate::published::csv::write_record;
use crate::published::{Row, measurements};
use crate::report::{STYLE, escape};
use std::fmt::Write;

/// The section of a report.
pub(crate) fn section(out: &mut String, compared: &Compared, published: &[Row]) {
    out.push_str("<h2 id=\"container\">Native against a tenant in a container of its own</h2>\n");
    let namespaces = &compared.namespaces;
    for (name, why) in &namespaces.refused {
        let _ = writeln!(
            out,
            "<p class=\"remark\">This machine refuses a {} namespace: {}.</p>",
            escape(name),
            escape(why)
        );
    }
    let (Some(all), tables) = compared.agreements() else {
        out.push_str("<p>Nothing was compared.</p>\n");
        return;
    };
    let _ = writeln!(
        out,
        "<p>The same program twice on one home: as its owner, and as tenant {} in {} namespaces of its own. {} passes of {} s for \
         each side, in turn, case by case; a ratio is the container's rate over the native one, the median of its \
         passes. <em>Native beside itself</em> is a second process of the owner over the first: what noise alone makes \
         of these figures.</p>",
        escape(&compared.tenant),
        escape(&namespaces.granted.join(", ")),
        compared.effort.passes,
        compared.effort.seconds,
    );
    head(out, "cases of");
    row(out, "all", &all, true);
    if let Some(noise) = compared.noise() {
        row(out, "native beside itself", &noise, true);
    }
    tables.iter().for_each(|(table, agreement)| row(out, table, agreement, true));
    out.push_str("</tbody>\n</table></div>\n");
    originals(out, published);
}

/// The published comparisons: a guest's rate over that of a partition.
fn originals(out: &mut String, published: &[Row]) {
    let figure = |run: &str, what: &str| {
        let row = published.iter().find(|row| row.id() == format!("{run}.{what}"));
        row.and_then(|row| row.value)
    };
    out.push_str("<h3>Published: a guest against a partition</h3>\n");
    head(out, "cases of");
    let mut total = 0;
    let averages = published.iter().filter_map(|row| row.id().strip_suffix(".avg"));
    for run in averages.filter(|run| run.starts_with(ORIGINALS)) {
        let sweep = run.rsplit_once('.').map_or(run, |(sweep, _)| sweep);
        let (Some(cases), Some(average), Some(min), Some(max)) =
            (figure(sweep, "cases"), figure(run, "avg"), figure(run, "min"), figure(run, "max"))
        else {
            continue;
        };
        total += cases as usize;
        let agreement = Agreement { cases: cases as usize, average, min, max, within_1: 0.0, within_2: 0.0 };
        row(out, run, &agreement, false);
    }
    let _ = writeln!(
        out,
        "</tbody>\n</table></div>\n<p class=\"remark\">{total} comparisons; 85 % of them within 1 %, 95 % within 2 %.</p>"
    );
}

fn head(out: &mut String, first: &str) {
    let _ = write!(
        out,
        "<div class=\"scroll\"><table>\n<thead><tr><th class=\"l\">{first}</th><th>compared</th><th>average</th>\
         <th>smallest</th><th>largest</th><th>within 1 %</th><th>within 2 %</th></tr></thead>\n<tbody>\n"
    );
}

fn row(out: &mut String, name: &str, agreement: &Agreement, with_shares: bool) {
    let Agreement { cases, average, min, max, within_1, within_2 } = agreement;
    let share = |share: &f64| if with_shares { format!("{share:.0} %") } else { String::new() };
    let _ = writeln!(
        out,
        "<tr><td class=\"l\">{}</td><td>{cases}</td><td class=\"m\">{average:.3}</td><td>{min:.3}</td><td>{max:.3}</td>\
         <td>{}</td><td>{}</td></tr>",
        escape(name),
        share(within_1),
        share(within_2)
    );
}

/// A page of its own.
pub(super) fn page(compared: &Compared) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>Native against a \
         container</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    section(&mut out, compared, &measurements());
    for left in &compared.left_out {
        let _ = writeln!(out, "<p class=\"remark\">{}: {}</p>", escape(&left.case), escape(&left.why));
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// A line for each case.
pub(super) fn csv(compared: &Compared) -> String {
    let mut out = String::new();
    write_record(&mut out, COLUMNS);
    for Case { workload, tables, native, container, ratio, itself } in &compared.cases {
        let number = |value: f64| format!("{value:.4}");
        let fields = [
            workload.case(),
            tables.join(" "),
            workload.operation.to_string(),
            workload.bytes.to_string(),
            workload.jobs.to_string(),
            number(native.median),
            number(container.median),
            number(ratio.median),
            number(ratio.min),
            number(ratio.max),
            number(itself.median),
        ];
        write_record(&mut out, fields.iter().map(String::as_str));
    }
    out
}

const COLUMNS: [&str; 11] = [
    "case",
    "tables",
    "operation",
    "data_bytes",
    "jobs",
    "native_ops_per_s",
    "container_ops_per_s",
    "ratio",
    "ratio_min",
    "ratio_max",
    "native_beside_itself",
];
/// The table of the published comparisons.
const ORIGINALS: &str = "zvm.t7.";

#[cfg(test)]
mod tests {
    use super::super::{Effort, Namespaces};
    use super::*;
    use crate::statistics::Summary;
    use crate::workload::Workload;

    fn compared() -> Compared {
        let summary = |value: f64| Summary::of(&[value]).unwrap();
        let case = Case {
            workload: Workload::of("rsa2048-crt".parse().unwrap()),
            tables: vec!["z990.4.4.pka".to_owned()],
            native: summary(100.0),
            container: summary(99.5),
            ratio: summary(0.995),
            itself: summary(1.03),
        };
        Compared {
            effort: Effort::QUICK,
            namespaces: Namespaces {
                granted: vec!["user".to_owned(), "PID".to_owned()],
                refused: vec![("network".to_owned(), "not <allowed>".to_owned())],
            },
            tenant: "guest".to_owned(),
            cases: vec![case],
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_page_shows_ours_beside_the_published_comparisons() {
        let page = page(&compared());
        assert!(page.contains("663 comparisons"), "{page}");
        assert!(page.contains("z990.4.4.pka</td><td>1</td><td class=\"m\">0.995</td>"), "{page}");
        assert!(page.contains("refuses a network namespace: not &lt;allowed&gt;."), "{page}");
        assert!(page.contains("native beside itself") && page.contains("zvm.t7.pcxa.pcica1-1j"));
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
    }

    #[test]
    fn what_nobody_could_compare_is_said() {
        let page = page(&Compared { cases: Vec::new(), ..compared() });
        assert!(page.contains("Nothing was compared") && page.contains("refuses a network"));
    }

    #[test]
    fn each_case_is_a_line() {
        let csv = csv(&compared());
        let records = crate::published::csv::records(&csv).unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!((&records[1][7][..], records[1].len()), ("0.9950", COLUMNS.len()));
    }
}
