//! `cryptand speed`: measures operations.

use super::{Failure, interrupt, print, print_json};
use lab::load::operation::Operation;
use lab::load::target::Target;
use lab::load::{Measurement, Workload, find_knee};
use measuring::Speed;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use wire::control::LevelLimit;

/// The operation name that lists all operations.
const LIST: &str = "list";
/// Lengths of a text in a table, in bytes: those of `openssl speed`.
const TABLE_BYTES: [usize; 6] = [16, 64, 256, 1024, 8192, 16384];
/// Length of the text of a single measurement, in bytes.
const SINGLE_BYTES: usize = 64;
/// Columns that a line of the list has room for.
const LIST_COLUMNS: usize = 100;

/// Measures the typed workload, or lists the operations.
pub fn run(home: Option<&Path>, speed: &Speed, level: Option<LevelLimit>) -> Result<(), Failure> {
    if speed.operation.as_deref() == Some(LIST) {
        let names: String = Operation::all().iter().map(|operation| format!("{operation}\n")).collect();
        return print(&names);
    }
    if speed.names.iter().any(|name| name == LIST) {
        return print(&list());
    }
    let names = speed.names.iter().chain(&speed.operation);
    let rows = names.map(|name| workloads(speed, name, level)).collect::<Result<Vec<_>, _>>()?;
    for workload in rows.iter().flatten() {
        workload.check().map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    }
    let stop = interrupt()?;
    let alone = speed.names.is_empty();
    if !speed.json && !alone {
        print(HEADER)?;
    }
    for lengths in rows {
        let Some(first) = lengths.first() else { continue };
        let mut target = match home {
            Some(folder) => Target::of_home(folder, Arc::clone(&stop))?,
            None => Target::for_workload(first, Arc::clone(&stop))?,
        };
        for workload in &lengths {
            let measurement = measure(speed, workload, &mut target)?;
            match (speed.json, alone) {
                (true, _) => print_json(&measurement)?,
                (false, true) => print(&text(&measurement))?,
                (false, false) => print(&row(&measurement))?,
            }
        }
    }
    Ok(())
}

fn measure(speed: &Speed, workload: &Workload, target: &mut Target) -> Result<Measurement, Failure> {
    match speed.p99 {
        Some(bound_us) if speed.find_knee => {
            let bound_ns = (bound_us * 1e3) as u64;
            find_knee(workload, bound_ns, &mut |workload| target.run(workload))?
                .ok_or(Failure::NoKnee { bound_us })
        }
        _ => Ok(target.run(workload)?),
    }
}

/// The workloads of one operation, one for each length.
fn workloads(speed: &Speed, name: &str, level: Option<LevelLimit>) -> Result<Vec<Workload>, Failure> {
    let operation: Operation =
        name.parse().map_err(|error| Failure::Usage(format!("{error}; `cryptand speed list` names all")))?;
    let lengths = match (operation.takes_bytes(), speed.bytes.as_slice()) {
        (false, _) => &[0],
        (true, []) if speed.names.is_empty() => &[SINGLE_BYTES],
        (true, []) => &TABLE_BYTES[..],
        (true, lengths) => lengths,
    };
    let of_length = |bytes: &usize| Workload {
        bytes: *bytes,
        jobs: speed.jobs,
        processors: speed.processors,
        interface: speed.interface,
        cards: speed.cards as usize,
        personality: speed.personality.map(Into::into),
        seconds: speed.seconds,
        rate: speed.rate,
        prepared: speed.prepared,
        level,
        ..Workload::of(operation)
    };
    Ok(lengths.iter().map(of_length).collect())
}

/// Titles of the list, in its order.
const TITLES: [&str; 6] = [
    "Ciphers",
    "MACs",
    "Hashes",
    "RSA and elliptic curves",
    "Verbs, with --interface card",
    "Verbs with an RSA key, with --interface card",
];

/// The place of an operation's title in [`TITLES`].
const fn title(operation: Operation) -> usize {
    match operation {
        Operation::Cipher { .. } => 0,
        Operation::Mac(_) | Operation::Hmac(_) => 1,
        Operation::Hash(_) => 2,
        Operation::Rsa { .. } | Operation::EcdsaP256Sign | Operation::EcdhP256 => 3,
        Operation::Verb { key: None, .. } | Operation::Payment(_) | Operation::KeyGenerate2Opex => 4,
        Operation::Verb { key: Some(_), .. } => 5,
    }
}

/// The names of all operations, grouped under [`TITLES`].
fn list() -> String {
    let all = Operation::all();
    let mut text = String::new();
    for (place, heading) in TITLES.iter().enumerate() {
        let of_title = all.iter().filter(|operation| title(**operation) == place);
        let names: Vec<_> = of_title.map(ToString::to_string).collect();
        let width = names.iter().map(String::len).max().unwrap_or(0);
        let _ = writeln!(text, "{heading}");
        for line in names.chunks((LIST_COLUMNS / (width + 2)).max(1)) {
            let line: String = line.iter().map(|name| format!("  {name:<width$}")).collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push('\n');
    }
    text + "RSA keys of other lengths from 512 to 4096 bits are measured too: rsa3072-crt. Lengths of texts: --bytes.\n"
}

/// Above the rows of a table.
const HEADER: &str =
    "operation                                    bytes  operations/s        MB/s   median us     99 % us\n";

/// A row of a table.
fn row(measurement: &Measurement) -> String {
    let or_dash = |value: String, there: bool| if there { value } else { "-".to_owned() };
    format!(
        "{:<41}{:>9}{:>14.0}{:>12}{:>12.2}{:>12.2}\n",
        measurement.operation.to_string(),
        or_dash(measurement.bytes.to_string(), measurement.bytes > 0),
        measurement.ops_per_s,
        or_dash(format!("{:.1}", measurement.bytes_per_s / 1e6), measurement.bytes_per_s > 0.0),
        microseconds(measurement.p50_ns),
        microseconds(measurement.p99_ns),
    )
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// A measurement with all its figures, one line each.
fn text(measurement: &Measurement) -> String {
    let mut text = String::new();
    let cards =
        if measurement.cards > 0 { format!(", {} card(s)", measurement.cards) } else { String::new() };
    let _ = writeln!(
        text,
        "{}, {} bytes, {} job(s), {}{cards}, level {}, {} lane(s)",
        measurement.operation,
        measurement.bytes,
        measurement.jobs,
        measurement.interface,
        measurement.level,
        measurement.lanes
    );
    let _ = write!(text, "  {:.0} operations/s", measurement.ops_per_s);
    if measurement.bytes_per_s > 0.0 {
        let _ = write!(text, ", {:.1} MB/s", measurement.bytes_per_s / 1e6);
    }
    let _ = writeln!(
        text,
        "\n  latency: median {:.1} us, 99 % within {:.1} us",
        microseconds(measurement.p50_ns),
        microseconds(measurement.p99_ns)
    );
    let time = measurement.processor_s;
    let _ = writeln!(
        text,
        "  processor time: caller {:.2} s, daemon {:.2} s, cards {:.2} s of {:.2} s; ITR {:.0}/s",
        time.caller, time.daemon, time.cards, measurement.seconds, measurement.itr
    );
    let _ = writeln!(text, "  {} answers compared in full", measurement.answers_compared);
    text
}
