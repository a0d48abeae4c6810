//! `cryptand bench`: runs the measures that the project promises.

use super::{Failure, interrupt, print, print_json};
use indicatif::{ProgressBar, ProgressStyle};
use lab::promises::Options;
use measuring::{Bench, BenchPart};
use std::fs;
use std::path::Path;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(120);

/// Runs the measures, prints them, and writes the files asked for; fails if a promise is not kept.
pub fn run(bench: &Bench) -> Result<(), Failure> {
    if let Some(folder) = &bench.pages {
        return pages(folder);
    }
    if bench.write.is_some() && bench.filter.is_some() {
        let text = "--write keeps whole parts: leave out --filter, or name a part with --only";
        return Err(Failure::Usage(text.to_owned()));
    }
    let stop = interrupt()?;
    let spinner = ProgressBar::new_spinner();
    spinner.set_style(
        ProgressStyle::with_template("{spinner} {elapsed} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    spinner.enable_steady_tick(TICK);
    let options = options(bench)?;
    let measured = lab::promises::run(&options, &stop, &mut |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    let measures = measured?;
    if measures.iter().all(|measure| measure.is_note()) {
        // What a part says instead of figures; the engine's remarks stand beside some.
        let said = measures.iter().find(|note| note.part != BenchPart::Engine);
        return Err(said.map_or_else(|| nothing_measured(bench), |note| Failure::Usage(note.case.clone())));
    }
    if let Some(folder) = &bench.write {
        lab::promises::write(&measures, folder)?;
        write_block(&folder.join("README.md"), &lab::promises::data::read_all(folder)?)?;
    }
    if bench.json {
        print_json(&measures.rows)?
    } else {
        print(&lab::promises::table(&measures))?
    }
    match measures.iter().filter(|measure| !measure.is_kept()).count() {
        0 => Ok(()),
        count => Err(Failure::NotKept(count)),
    }
}

/// Writes the pages of what was measured, and prints which parts are older than their code.
fn pages(folder: &Path) -> Result<(), Failure> {
    let kinds = lab::promises::data::read_all(folder)?;
    if kinds.is_empty() {
        let folder = folder.join(lab::promises::data::FOLDER);
        return Err(Failure::Usage(format!(
            "{} has no file of a kind of processor: `cryptand bench --write DIR` makes one",
            folder.display()
        )));
    }
    lab::promises::pages::write(&kinds, folder)?;
    write_block(&folder.join("README.md"), &kinds)?;
    let older = lab::promises::tree::older(folder, &kinds);
    print(&older.into_iter().map(|line| line + "\n").collect::<String>())
}

/// Writes the figures of a page anew; a page that is not there, or has no block of figures, is left.
fn write_block(path: &Path, kinds: &[lab::promises::data::ProcessorKind]) -> Result<(), Failure> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(()) };
    match lab::promises::pages::with_block(&text, kinds) {
        Some(made) if made != text => {
            fs::write(path, made).map_err(Failure::io(format!("write {}", path.display())))
        }
        _ => Ok(()),
    }
}

fn nothing_measured(bench: &Bench) -> Failure {
    let filter = bench.filter.as_deref().unwrap_or_default();
    Failure::Usage(format!(
        "no measure has \"{filter}\" in its name; `cryptand help performance` lists the names, and cards are not filtered"
    ))
}

fn options(bench: &Bench) -> Result<Options, Failure> {
    let usual = Options::default();
    let kills = bench.only == Some(BenchPart::Kills);
    let range = if kills { 1.0..=3600.0 } else { 0.001..=60.0 };
    if bench.seconds.is_some_and(|seconds| !range.contains(&seconds)) {
        let what = if kills { "cards are killed for" } else { "a side works in a round for" };
        return Err(Failure::Usage(format!("{what} {} to {} seconds", range.start(), range.end())));
    }
    Ok(Options {
        only: bench.only,
        filter: bench.filter.clone(),
        rounds: bench.rounds,
        seconds: bench.seconds.filter(|_| !kills).unwrap_or(usual.seconds),
        levels_below: !bench.one_level,
        beside: bench.beside.clone(),
        kill_seconds: bench.seconds.filter(|_| kills).unwrap_or(usual.kill_seconds),
    })
}
