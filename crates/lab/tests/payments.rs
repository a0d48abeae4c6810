//! The bench's part on payments, each kind of rows run for moments: every package that is here says what the card says,
//! or the run would have ended. Whether a promise is kept is for `make bench`, on a quiet machine. Needs daemon, card,
//! the library of the Python package and the environment of other people's packages (`scripts/need test`); jPOS takes
//! part where Maven has it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

fn rows(filter: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_cryptand-lab"))
        .args([
            "bench",
            "--only",
            "payments",
            "--rounds",
            "1",
            "--seconds",
            "0.004",
            "--json",
            "--filter",
            filter,
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let rows: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{filter}: {error}"));
    assert!(output.status.success() || error.contains("not kept"), "{filter}: {error}");
    rows
}

/// The packages in a row that have figures, with their versions.
fn packages(row: &Value) -> Vec<String> {
    let others = row["others"].as_array().unwrap().iter();
    let measured = others.filter(|other| other["value"].as_f64().unwrap() > 0.0);
    measured.map(|other| other["name"].as_str().unwrap().to_owned()).collect()
}

fn has_figure(row: &Value) {
    assert!(row["ours"].as_f64().is_some_and(|ours| ours > 0.0), "{row}");
    assert_eq!(row["part"], "payments");
}

#[test]
fn every_operation_is_measured_beside_the_packages_that_compute_it() {
    let of = |filter: &str| {
        // Other rows have the words of some in their names.
        let rows: Vec<Value> = rows(filter).into_iter().filter(|row| row["unit"] == "ops/s").collect();
        rows.iter().for_each(has_figure);
        rows
    };
    let pins = of("PIN ");
    let beside: Vec<Vec<String>> = pins.iter().map(packages).collect();
    let begins = |packages: &[String], names: &[&str]| {
        let found: Vec<_> = packages.iter().filter(|name| !name.starts_with("jPOS")).collect();
        assert_eq!(found.len(), names.len(), "{packages:?}");
        for (name, expected) in found.iter().zip(names) {
            assert!(name.starts_with(expected), "{packages:?}");
        }
    };
    begins(&beside[0], &["psec 1", "published"]);
    begins(&beside[1], &[]);
    begins(&beside[2], &["psec 1"]);
    begins(&beside[3], &["pydukpt 0.1.0, psec 1", "published"]);
    begins(&beside[4], &[]);
    begins(&beside[5], &["pydukpt 0.1.0, psec 1", "published"]);
    let cases = [("CVV", "psec 1"), ("ARQC", "pyemv 1"), ("TR-31 import, version B", "psec 1")];
    for (filter, name) in cases.into_iter().chain([("version D", "psec 1"), ("FF1", "the crate fpe")]) {
        let [row] = &of(filter)[..] else { panic!("{filter}") };
        let packages = packages(row);
        assert!(packages.iter().any(|package| package.starts_with(name)), "{filter}: {packages:?}");
        assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn one_request_alone_is_measured_from_rust_and_from_python() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = Path::new(env!("CARGO_BIN_EXE_cryptand-lab"));
    // Where `make build` puts it.
    let wheel = Command::new("python3")
        .arg("scripts/wheel")
        .arg(program.parent().unwrap().parent().unwrap())
        .env("BIN", program.parent().unwrap())
        .current_dir(root)
        .output()
        .unwrap();
    assert!(wheel.status.success(), "{}", String::from_utf8_lossy(&wheel.stderr));
    let rows = rows("alone");
    let names: Vec<&str> = rows.iter().map(|row| row["case"].as_str().unwrap()).collect();
    let of = "one PIN translate alone";
    assert_eq!(names, [format!("{of}, the facility"), format!("{of}, the Python package")], "{rows:?}");
    rows.iter().for_each(has_figure);
    assert!(rows.iter().all(|row| row["unit"] == "ns, median" && !row["stretch"].is_null()));
}

#[test]
fn two_cards_are_measured_beside_one() {
    let [row] = &rows("two cards")[..] else { panic!("one row") };
    has_figure(row);
    assert!(row["ratio"].as_f64().unwrap() > 0.0 && row["peer_value"].as_f64().unwrap() > 0.0, "{row}");
}

/// Where the program that runs verbs in process was built, as tests of the whole workspace build it.
#[test]
fn steps_of_a_batch_have_their_time() {
    let rows = rows("time per pass");
    if let [row] = &rows[..] {
        return assert!(row["bound"].as_str().unwrap().contains("pin_passes"), "{row}");
    }
    rows.iter().for_each(has_figure);
    for operation in ["pin-translate", "pin-translate-dukpt"] {
        let of: Vec<&Value> = rows
            .iter()
            .filter(|row| row["case"].as_str().unwrap().split(": ").next() == Some(operation))
            .collect();
        let (all, steps) = of.split_last().unwrap();
        let sum: f64 = steps.iter().map(|row| row["ours"].as_f64().unwrap()).sum();
        assert!((sum / all["ours"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{rows:?}");
        assert!(all["bound"].as_str().unwrap().starts_with("most of it: "), "{all}");
    }
}
