//! `cryptand decrypt`: decrypts messages into files, or extracts or lists an archive.

use crate::args::Decrypt;
use crate::args::openpgp::UnauthenticatedName;
use crate::failure::{Failure, PgpFailure};
use crate::messages::archive::{Listed, Unpacking};
use crate::messages::desk::{Desk, takes_stdout};
use crate::messages::detached::holds_signatures;
use crate::messages::keys::Opening;
use crate::messages::names::{self, Pair, Target};
use crate::messages::passphrases;
use crate::messages::screen::Screen;
use crate::messages::{self, Layout};
use crate::output::{print, print_json, table};
use keyring::store::printable;
use pipeline::{Error, Limits, Output, Progress, Run, Summary, Unauthenticated};
use std::fs::File;
use std::io;
use std::path::Path;

/// Longest text that is held back on its way to standard output.
const HELD_BACK_BYTES_MAX: u64 = 16 << 20;

/// Decrypts every input.
pub fn run(home: Option<&Path>, typed: &Decrypt) -> Result<(), Failure> {
    let work = &typed.work;
    let layout = Layout::new(&work.run, typed.output.sync)?;
    let pairs = pairs(typed)?;
    let desk = Desk::new(&work.show, &work.keys.store, &pairs)?;
    let for_messages = passphrases::given(&typed.passphrase_file, &typed.passphrase_fd)?;
    let keys = desk.keys(&work.keys, for_messages)?.on(layout.accelerators(home)?);
    let known = keys.known(&typed.verify_with)?;
    let now = messages::now();
    desk.each(&layout, &pairs, &work.show, typed.list || takes_stdout(&pairs), |pair, run| {
        loop {
            let opening = Opening::new(&keys);
            let what = pipeline::Decrypt {
                session_keys: &opening,
                verifiers: Some(&known),
                must_be_signed: typed.signed || !typed.verify_with.is_empty(),
                unauthenticated: unauthenticated(typed),
                // An archive is bytes, whatever its literal packet says.
                has_local_lines: !typed.archive && !typed.list,
                limits: Limits { text_bytes_max: typed.text_bytes_max, ..Limits::default() },
                now,
            };
            match decrypt(typed, pair, &what, &desk.screen, run) {
                Err(failure) if opening.was_guess() && is_wrong(&failure) => {
                    if pair.input.is_none() || !keys.may_type_again() {
                        return Err(PgpFailure::Passphrase { name: pair.name() }.into());
                    }
                    desk.screen.say("That is not it.");
                }
                Ok(summary) => {
                    keys.was_opened();
                    return Ok(summary.into());
                }
                Err(failure) => return Err(failure),
            }
        }
    })
}

/// A wrong passphrase may be detected only at the body.
fn is_wrong(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::OpenPgp(PgpFailure::Pipeline {
            error: Error::NotOpened(_)
                | Error::Unauthentic { .. }
                | Error::Malformed { .. }
                | Error::Truncated { .. },
            ..
        })
    )
}

fn decrypt(
    typed: &Decrypt,
    pair: &Pair,
    what: &pipeline::Decrypt<'_>,
    screen: &Screen,
    run: &Run<'_>,
) -> Result<Summary, Failure> {
    let input = messages::input(pair.input.as_ref())?;
    if let Some(path) = pair.input.as_ref().filter(|path| is_named_so(path) && holds_signatures(path)) {
        let path = path.display();
        let said =
            format!("{path}: signatures alone, nothing to decrypt; `cryptand verify {path}` verifies them");
        return Err(Failure::Usage(said));
    }
    if !typed.archive {
        let output = messages::output(&pair.target, typed.output.force);
        return pipeline::decrypt(input, output, what, run).map_err(messages::failed(&pair.name()));
    }
    let target = match &pair.target {
        _ if typed.list => None,
        Target::File(path) => Some(path.as_path()),
        Target::Stdout => {
            let said = "--archive makes a folder: name it with -o, or leave --archive out and pipe into tar";
            return Err(Failure::Usage(said.to_owned()));
        }
    };
    let (unpacking, writer) = Unpacking::begin(pair.name(), target, typed.outside_links)?;
    let silent = screen.without_warnings();
    let run = Run { progress: &silent, ..*run };
    match pipeline::decrypt(input, Output::Writer(writer), what, &run) {
        Ok(summary) => {
            let unpacked = unpacking.finish()?;
            unpacked.left_out.lines().for_each(|line| screen.warn(&line));
            if let Some(folder) = target.filter(|_| typed.output.sync) {
                bring_to_the_disk(folder)?;
            }
            if typed.list {
                list(typed, &unpacked.listed)?;
            }
            Ok(summary)
        }
        Err(error) => Err(unpacking.give_up(error)),
    }
}

/// Flushes the whole file system of a folder to the disk, and with it the folder, its contents and its name.
fn bring_to_the_disk(folder: &Path) -> Result<(), Failure> {
    let failed = |cause: io::Error| Failure::io(format!("bring {} to the disk", folder.display()))(cause);
    let folder = File::open(folder).map_err(failed)?;
    rustix::fs::syncfs(folder).map_err(|error| failed(error.into()))
}

/// Whether a file's name says that it may hold only signatures: files of other names are not read twice.
fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "sig" || ending == "asc")
}

fn list(typed: &Decrypt, listed: &[Listed]) -> Result<(), Failure> {
    if typed.work.show.json {
        return print_json(&listed);
    }
    let rows = listed.iter().map(|entry| {
        let name = printable(&entry.name);
        vec![entry.kind.to_owned(), entry.bytes.to_string(), name]
    });
    print(&table(&["kind", "bytes", "name"], rows))
}

fn pairs(typed: &Decrypt) -> Result<Vec<Pair>, Failure> {
    let asked = typed.output.output.as_deref();
    if typed.list {
        // Nothing is written, so no name is needed.
        return names::pairs(&typed.inputs, Some(Path::new("-")), |path| Ok(path.to_owned()));
    }
    if !typed.archive {
        return names::pairs(&typed.inputs, asked, names::without_ending);
    }
    if asked.is_none() && (typed.inputs.is_empty() || typed.inputs == [Path::new("-")]) {
        return Err(Failure::Usage("an archive from standard input: name the folder with -o".to_owned()));
    }
    names::pairs(&typed.inputs, asked, |path| {
        let path = names::without_ending(path)?;
        // `year.tar` becomes `year`.
        Ok(if path.extension().is_some_and(|ending| ending == "tar") {
            path.with_extension("")
        } else {
            path
        })
    })
}

fn unauthenticated(typed: &Decrypt) -> Unauthenticated {
    match typed.unauthenticated {
        // Extracted into a hidden folder, which is removed unless all is authentic: that is as safe as a temporary
        // file.
        _ if typed.archive => Unauthenticated::WriteWithWarning,
        UnauthenticatedName::Buffer => Unauthenticated::Buffer { bytes_max: HELD_BACK_BYTES_MAX },
        UnauthenticatedName::Refuse => Unauthenticated::Refuse,
        UnauthenticatedName::Write => Unauthenticated::WriteWithWarning,
    }
}
