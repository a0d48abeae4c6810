//! `cryptand speed`: measures one operation.

use super::{interrupt, print, print_json};
use crate::args::{InterfaceName, PersonalityName, Speed};
use crate::failure::Failure;
use crate::session;
use lab::operation::Operation;
use lab::target::Target;
use lab::workload::{Interface, Measurement, Workload, find_knee};
use std::fmt::Write as _;
use std::path::Path;
use wire::control::{LevelLimit, Personality};

/// Measures what was typed, or lists the operations.
pub fn run(asked: Option<&Path>, speed: &Speed, level: Option<LevelLimit>) -> Result<(), Failure> {
    if speed.operation == "list" {
        let names: String = Operation::all().iter().map(|operation| format!("{operation}\n")).collect();
        return print(&names);
    }
    let workload = Workload { level, ..workload(speed)? };
    workload.check().map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    let stop = interrupt()?;
    let mut target = match asked {
        Some(folder) => Target::of_home(&session::home_folder(Some(folder))?, stop)?,
        None => Target::for_workload(&workload, stop)?,
    };
    let measurement = match speed.p99 {
        Some(bound_us) if speed.find_knee => {
            let bound_ns = (bound_us * 1e3) as u64;
            let knee = find_knee(&workload, bound_ns, &mut |workload| target.run(workload))?;
            knee.ok_or(Failure::NoKnee { bound_us })?
        }
        _ => target.run(&workload)?,
    };
    if speed.json { print_json(&measurement) } else { print(&text(&measurement)) }
}

fn workload(speed: &Speed) -> Result<Workload, Failure> {
    let operation: Operation = speed.operation.parse().map_err(|error| Failure::Usage(format!("{error}")))?;
    let takes_text = operation.takes_bytes();
    Ok(Workload {
        bytes: if takes_text { speed.bytes } else { 0 },
        jobs: speed.jobs,
        processors: speed.processors,
        interface: match speed.interface {
            InterfaceName::Native => Interface::Native,
            InterfaceName::Facility => Interface::Facility,
            InterfaceName::Card => Interface::Card,
        },
        cards: speed.cards as usize,
        personality: speed.personality.map(|name| match name {
            PersonalityName::Accelerator => Personality::Accelerator,
            PersonalityName::Coprocessor => Personality::Coprocessor,
        }),
        seconds: speed.seconds,
        rate: speed.rate,
        prepared: speed.prepared,
        ..Workload::of(operation)
    })
}

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
    let microseconds = |ns: u64| ns as f64 / 1e3;
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
