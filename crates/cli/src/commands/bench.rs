//! `cryptand bench`: what the project promises, measured.

use super::{interrupt, print};
use crate::args::Bench;
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(120);

/// Measures, prints, and writes where asked; fails where a promise is not kept.
pub fn run(bench: &Bench) -> Result<(), Failure> {
    let stop = interrupt()?;
    let spinner = ProgressBar::new_spinner();
    spinner.set_style(
        ProgressStyle::with_template("{spinner} {elapsed} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    spinner.enable_steady_tick(TICK);
    let measured = lab::bench::run(&stop, &mut |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    let measures = measured?;
    if let Some(folder) = &bench.write {
        lab::bench::write(&measures, folder)?;
    }
    print(&lab::bench::table(&measures))?;
    match measures.iter().filter(|measure| !measure.is_kept()).count() {
        0 => Ok(()),
        count => Err(Failure::NotKept(count)),
    }
}
