//! The bench's queue rows and the comparison with a container, each kind run for moments: every figure is there, and
//! every answer was right, or the run would have ended. Whether a promise is kept is for `make bench`, on a quiet
//! machine. Needs daemon, card and the lab's timed card beside the command, as `make test` builds them.

use serde_json::Value;
use std::process::{Command, Stdio};

/// The rows of a group, and whether the bench said that promises are not kept.
fn rows(group: &str) -> Vec<Value> {
    rows_of("queues", group)
}

fn rows_of(part: &str, group: &str) -> Vec<Value> {
    rows_in(part, group, "0.004")
}

/// As [`rows_of`], with sides that work so many seconds.
fn rows_in(part: &str, group: &str, seconds: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_cryptand-lab"))
        .args(["bench", "--only", part, "--rounds", "1", "--seconds", seconds, "--json", "--filter", group])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let rows: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{group}: {error}"));
    assert!(output.status.success() || error.contains("not kept"), "{group}: {error}");
    rows
}

fn has_figures(row: &Value) {
    let ours = row["ours"].as_f64();
    assert!(ours.is_some_and(f64::is_finite), "{row}");
    assert!(!row["unit"].as_str().unwrap().is_empty() && !row["bound"].as_str().unwrap().is_empty(), "{row}");
}

fn is_compared(row: &Value) {
    has_figures(row);
    assert!(row["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{row}");
    assert!(row["peer_value"].as_f64().is_some_and(|value| value > 0.0), "{row}");
}

#[test]
fn full_cards_are_measured_beside_the_engine_and_openssl() {
    let full = rows("full cards");
    assert_eq!(full.len(), 3);
    full[..2].iter().for_each(is_compared);
    has_figures(&full[2]);
    let fill = full[2]["ours"].as_f64().unwrap();
    assert!((1.0..9.0).contains(&fill), "a pass has 1 to 8 lanes: {fill}");
    let isolated = rows("isolated");
    assert!(!isolated.is_empty());
    isolated.iter().for_each(has_figures);
}

#[test]
fn job_counts_are_measured_and_the_worst_is_judged() {
    let rows = rows("job counts");
    let (worst, counts) = rows.split_last().unwrap();
    assert_eq!(counts.len(), 13);
    let ratios: Vec<f64> = counts.iter().map(|row| row["ratio"].as_f64().unwrap()).collect();
    assert!(ratios.iter().all(|ratio| *ratio > 0.0));
    assert_eq!(worst["ratio"].as_f64().unwrap(), ratios.iter().copied().fold(f64::INFINITY, f64::min));
    assert!(!worst["promise"].is_null() && counts.iter().all(|row| row["promise"].is_null()));
    has_figures(worst);
}

#[test]
fn a_lonely_key_and_every_way_of_waiting_are_measured() {
    let lonely = rows("lonely");
    assert_eq!(lonely.len(), 1);
    has_figures(&lonely[0]);
    assert!(lonely[0]["peer_value"].as_f64().unwrap() > 0.0);
    let modes = rows("poll modes");
    assert_eq!(modes.len(), 16);
    for mode in &modes {
        has_figures(mode);
        let others = mode["others"].as_array().unwrap();
        assert_eq!(others.len(), 2, "the caller's time and the card's: {mode}");
        assert!(others.iter().all(|other| other["value"].as_f64().unwrap() > 0.0), "{mode}");
    }
}

#[test]
fn threads_and_tickets_are_measured_beside_fewer() {
    for (group, count) in [("threads of one process", 2), ("tickets over cards", 2)] {
        let rows = rows_of("scale", group);
        assert_eq!(rows.len(), count, "{group}");
        rows.iter().for_each(is_compared);
        assert!(rows.iter().all(|row| !row["promise"].is_null()), "{group}");
    }
}

#[test]
fn growth_is_measured_in_each_way_and_says_what_needs_more_processors() {
    let processors = std::thread::available_parallelism().unwrap().get();
    for (subject, way) in [
        ("empty verbs", "tickets"),
        ("X9.19 of 64 bytes", "calls"),
        ("PIN translations", "event loops"),
        ("RSA-2048 signatures", "processes"),
        ("ECDSA P-256 signatures", "tickets"),
    ] {
        let group = format!("growth of {subject}: {way}");
        let (remarks, rows): (Vec<Value>, Vec<Value>) =
            rows_of("scale", &group).into_iter().partition(|row| row["unit"] == "");
        let (one, more) = rows.split_first().unwrap();
        has_figures(one);
        assert_eq!(more.is_empty(), processors == 1, "{group}");
        more.iter().for_each(is_compared);
        for row in &rows {
            let case = row["case"].as_str().unwrap();
            assert!(case.starts_with(subject) && case.contains(way), "{case}");
            let others = row["others"].as_array().unwrap();
            assert_eq!(others.len(), 2, "the callers' time and the cards': {row}");
            assert!(others.iter().all(|other| other["value"].as_f64().unwrap() > 0.0), "{row}");
        }
        let said = remarks.iter().map(|remark| remark["case"].as_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(said.len(), usize::from(processors < 12), "{said:?}");
        let says = |text: &str| said.iter().all(|said| said.contains(text));
        assert!(processors >= 4 || says("growth needs 4 processors"), "{said:?}");
        assert!(processors >= 12 || says("callers on 12 cards: "), "{said:?}");
    }
}

#[test]
fn the_terminator_and_ipsec_grow_with_loops_threads_and_sas() {
    let processors = std::thread::available_parallelism().unwrap().get();
    // Handshakes in flight take long where others use the machine too.
    for (group, kinds, seconds) in [
        ("growth of the TLS terminator", 2, "0.3"),
        ("growth of IPsec: threads with an SA each", 4, "0.004"),
        ("growth of IPsec: tunnels", 1, "0.05"),
    ] {
        let (remarks, rows): (Vec<Value>, Vec<Value>) =
            rows_in("scale", group, seconds).into_iter().partition(|row| row["unit"] == "");
        if rows[0]["bound"].as_str().unwrap().contains("namespaces") {
            continue;
        }
        assert_eq!(rows.len() % kinds, 0, "{rows:?}");
        for rows in rows.chunks(rows.len() / kinds) {
            has_figures(&rows[0]);
            assert_eq!(rows.len() == 1, processors == 1, "{group}");
            rows[1..].iter().for_each(is_compared);
        }
        let used = |row: &Value| row["bound"].as_str().unwrap().contains("processors in use: ");
        assert!(rows.iter().all(used), "{rows:?}");
        assert_eq!(remarks.is_empty(), processors >= 12, "{group} on {processors} processors");
    }
}

#[test]
fn tenants_are_measured_side_by_side() {
    let fairness = rows("fairness");
    assert_eq!(fairness.len(), 9);
    fairness.iter().for_each(has_figures);
    let limits = rows("limits");
    assert_eq!(limits.len(), 8);
    limits.iter().for_each(is_compared);
}

#[test]
fn unequal_cards_are_measured_together_and_alone() {
    let rows = rows("unequal");
    assert_eq!(rows.len(), 1);
    is_compared(&rows[0]);
}

#[test]
fn an_event_loop_is_measured_on_one_processor_on_two_and_in_scheduling_groups() {
    let fills = rows("event loop: fill");
    assert_eq!(fills.len(), 4);
    fills.iter().for_each(has_figures);
    assert!(fills.iter().all(|row| row["ours"].as_f64().is_some_and(|fill| (1.0..9.0).contains(&fill))));
    let said = |row: &Value| row["bound"].as_str().unwrap().to_owned();
    assert!(said(&fills[2]).starts_with(&said(&fills[0])) && said(&fills[2]).len() > said(&fills[0]).len());
    let first = rows("first request");
    assert_eq!(first.len(), 1);
    has_figures(&first[0]);
}

#[test]
fn openpgp_files_are_measured_beside_others() {
    let rows = rows_of("openpgp", "beside rPGP");
    assert_eq!(rows.len(), 2 * 7 + 1, "processor time and elapsed time of seven cases, and peak memory");
    let (peak, cases) = rows.split_last().unwrap();
    for row in cases {
        let figures = ["ours", "peer_value", "ratio"].map(|name| row[name].as_f64().unwrap());
        assert!(figures.iter().all(|figure| *figure > 0.0), "{row}");
        assert!(!row["promise"].is_null(), "{row}");
    }
    has_figures(peak);
    let to_null = rows_of("openpgp", "/dev/null");
    to_null[..2].iter().for_each(is_compared);
}

#[test]
fn a_container_is_compared_with_native() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cryptand-lab"))
        .args(["report", "--container", "--quick", "--filter", "rsa2048-crt/card/1x", "--output"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let compared: Value = serde_json::from_str(&read("container.json")).unwrap();
    let namespaces = &compared["namespaces"];
    if namespaces["granted"].as_array().unwrap().is_empty() {
        assert!(!namespaces["refused"].as_array().unwrap().is_empty());
        return assert!(read("container.html").contains("refuses a user namespace"));
    }
    assert_eq!(compared["left_out"].as_array().unwrap().len(), 0, "{compared}");
    assert_eq!(compared["tenant"], "guest-1");
    let cases = compared["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        for rate in ["native", "container", "ratio", "itself"] {
            assert_eq!(case[rate]["runs"], 3, "{case}");
            assert!(case[rate]["median"].as_f64().unwrap() > 0.0, "{case}");
        }
    }
    assert_eq!(read("container.csv").lines().count(), cases.len() + 1);
}
