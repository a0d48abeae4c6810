//! Many small files: one command of ours beside gpg started for each.

use super::cases::aes128;
use super::desk::{Desk, Tool, USER, missing};
use super::file::Mode;
use super::input;
use super::process::{Job, Program, Usage};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::statistics::compare;
use crate::load::LabError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Name of the row, without the number of files.
pub const CASE: &str = "files of 10 kB in one command";
/// Number of files.
const FILES: usize = 10_000;
/// Number of files for gpg, which is started for each: its rate does not depend on the number.
const FILES_GPG: usize = 200;
const FILE_BYTES: usize = 10_000;
/// Promised ratio of files per second of processor time.
const RATIO: f64 = 10.0;

/// Runs one command of ours and gpg in turn; gives the rows.
///
/// # Errors
/// As `promised::run`.
pub fn run(desk: &Desk, rounds: usize, stop: &AtomicBool) -> Result<Vec<Measure>, LabError> {
    // No more files than the text has bytes for: a shorter text is used to save time.
    let count = ((desk.bytes() / FILE_BYTES as u64) as usize).min(FILES);
    let (from, to) = (desk.path("many"), desk.path("messages"));
    let files = make(&from, count).map_err(LabError::io("write many files"))?;
    let with_gpg = desk.has(Tool::Gpg);
    let (mut ours, mut gpg): (Vec<Usage>, Vec<Usage>) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if with_gpg {
            gpg.push(Job { programs: loop_of_gpg(desk, &files, &to)?, processors: Vec::new() }.run(stop)?);
        }
        clear(&to)?;
        ours.push(one_command(desk, &files, &to).run(stop)?);
        if round == 0 {
            check(desk, &files, &to, stop)?;
        }
        clear(&to)?;
    }
    let rows =
        [("per processor second", Usage::cpu_s as fn(&Usage) -> f64), ("elapsed", |usage| usage.wall_s)];
    let rows = rows.map(|(what, seconds)| {
        let rates = |runs: &[Usage], files: usize| {
            runs.iter().map(|usage| files as f64 / seconds(usage).max(1e-6)).collect::<Vec<f64>>()
        };
        let own = rates(&ours, count);
        let both = compare(&own, &rates(&gpg, count.min(FILES_GPG)));
        let missing = || missing(Tool::Gpg).to_string();
        let peer =
            both.as_ref().map_or_else(missing, |_| format!("gpg in a loop, {} files", count.min(FILES_GPG)));
        let promise = (what != "elapsed").then_some(Promise::RatioAtLeast(RATIO));
        Measure::alone(&format!("{count} {CASE}: {what}"), "files/s", &own, promise)
            .against(&peer, both)
            .bounded_by(
                "a new session key for the recipient's RSA key, and making, naming and closing a file",
            )
    });
    Ok(rows.into())
}

fn make(folder: &Path, count: usize) -> std::io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let mut block = Vec::new();
    let per_block = input::BLOCK_BYTES / FILE_BYTES;
    let mut files = Vec::with_capacity(count);
    for index in 0..count {
        if index % per_block == 0 {
            input::make((index / per_block) as u64, &mut block);
        }
        let path = folder.join(format!("{index:05}"));
        fs::write(&path, &block[index % per_block * FILE_BYTES..][..FILE_BYTES])?;
        files.push(path);
    }
    Ok(files)
}

fn clear(folder: &Path) -> Result<(), LabError> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).map_err(LabError::io("make a folder for many messages"))
}

fn one_command(desk: &Desk, files: &[PathBuf], to: &Path) -> Program {
    let program =
        desk.ours(["encrypt", "-q", "-r", USER, "--cipher", "aes128", "--mode", "cfb", "--compress", "none"]);
    let program = program.with(["-o".to_owned(), to.to_string_lossy().into_owned()]);
    program.with(files.iter().map(|path| path.to_string_lossy().into_owned()))
}

fn loop_of_gpg(desk: &Desk, files: &[PathBuf], to: &Path) -> Result<Vec<Program>, LabError> {
    clear(to)?;
    let form = aes128(Mode::Cfb, None);
    let some = files.iter().take(FILES_GPG);
    some.map(|from| desk.encrypt(Tool::Gpg, form, from, &to.join(name(from)))).collect()
}

fn name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(PathBuf::new, PathBuf::from)
}

/// Checks that each file has a message, and that the last message decrypts to its file.
fn check(desk: &Desk, files: &[PathBuf], to: &Path, stop: &AtomicBool) -> Result<(), LabError> {
    let wrong = |what: String| LabError::Program(format!("many files in one command: {what}"));
    let count = fs::read_dir(to).map_err(LabError::io("look at many messages"))?.count();
    if count != files.len() {
        return Err(wrong(format!("{count} messages of {} files", files.len())));
    }
    let Some(last) = files.last() else { return Ok(()) };
    let mut message = to.join(name(last)).into_os_string();
    message.push(".pgp");
    let again = desk.path("again");
    desk.decrypt(Tool::Rpgp, Path::new(&message), &again)?.run(stop)?;
    let read = |path: &Path| fs::read(path).map_err(LabError::io("compare a text"));
    let is_same = read(&again)? == read(last)?;
    desk.remove(&again);
    if is_same { Ok(()) } else { Err(wrong("what was decrypted is not the file".to_owned())) }
}
