//! `cryptand decrypt`.

use super::encrypt::name_of;
use super::verify::holds_signatures;
use crate::args::Decrypt;
use crate::args::openpgp::UnauthenticatedName;
use crate::failure::Failure;
use crate::messages::archive::{Listed, Unpacking};
use crate::messages::batch::{self, Reporter};
use crate::messages::failure::PgpFailure;
use crate::messages::keys::{Keys, Known, Opening};
use crate::messages::names::{self, Pair, Target};
use crate::messages::passphrases::{self, Asker};
use crate::messages::screen::Screen;
use crate::messages::{self, Layout};
use openpgp::Fingerprint;
use pipeline::{Error, Limits, Output, Summary, Unauthenticated};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Longest text that is held back on its way to standard output.
const HELD_BACK_BYTES_MAX: u64 = 16 << 20;

/// Decrypts every input.
pub fn run(home: Option<&Path>, typed: &Decrypt) -> Result<(), Failure> {
    let layout = Layout::new(&typed.run)?;
    let interrupted = super::interrupt()?;
    let pairs = pairs(typed)?;
    let total = (pairs.len() > 1).then(|| batch::bytes_of(&pairs));
    let screen = Screen::new(typed.show.quiet || typed.show.json, total);
    let asker = Asker::new(typed.keys.batch, &screen, &interrupted);
    let store = messages::store(&typed.keys.store)?;
    let for_keys = passphrases::given(&typed.keys.key_passphrase_file, &typed.keys.key_passphrase_fd)?;
    let for_messages = passphrases::given(&typed.passphrase_file, &typed.passphrase_fd)?;
    let keys =
        Keys::new(&store, &asker)?.with_passphrases(for_keys, for_messages).on(layout.accelerators(home)?);
    let known = verifiers(typed, &keys)?;
    let is_stdout_taken = typed.list || pairs.iter().any(|pair| pair.target == Target::Stdout);
    let name = |fingerprint: &Fingerprint| name_of(&keys, fingerprint);
    let reporter = Reporter::new(&typed.show, &screen, is_stdout_taken, &name);
    let now = messages::now();
    batch::run(&pairs, layout.threads(), &reporter, &interrupted, |pair, is_beside| {
        loop {
            let opening = Opening::new(&keys);
            let what = pipeline::Decrypt {
                session_keys: &opening,
                verifiers: Some(&known),
                must_be_signed: typed.signed || !typed.verify_with.is_empty(),
                unauthenticated: unauthenticated(typed),
                limits: Limits { text_bytes_max: typed.text_bytes_max, ..Limits::default() },
                now,
            };
            let outcome = decrypt(typed, pair, &what, &layout, &screen, &interrupted, is_beside);
            match outcome {
                Err(failure) if opening.was_guess() && is_wrong(&failure) => {
                    if pair.input.is_none() || !keys.may_type_again() {
                        return Err(PgpFailure::Passphrase { name: pair.name() }.into());
                    }
                    screen.say("That is not it.");
                }
                Ok(summary) => {
                    keys.was_opened();
                    return Ok(summary);
                }
                failed => return failed,
            }
        }
    })
}

/// A passphrase may show only at the body that it is not the right one.
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
    layout: &Layout,
    screen: &Screen,
    interrupted: &AtomicBool,
    is_beside: bool,
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
        let run = layout.run(screen, interrupted, is_beside);
        return pipeline::decrypt(input, output, what, &run).map_err(messages::failed(&pair.name()));
    }
    let target = match &pair.target {
        _ if typed.list => None,
        Target::File(path) => Some(path.as_path()),
        Target::Stdout => {
            let said = "--archive makes a folder: name it with -o, or leave --archive out and pipe into tar";
            return Err(Failure::Usage(said.to_owned()));
        }
    };
    let (unpacking, writer) = Unpacking::begin(pair.name(), target)?;
    let silent = screen.without_warnings();
    let run = layout.run(&silent, interrupted, is_beside);
    match pipeline::decrypt(input, Output::Writer(writer), what, &run) {
        Ok(summary) => {
            let listed = unpacking.finish()?;
            if typed.list {
                list(typed, &listed)?;
            }
            Ok(summary)
        }
        Err(error) => Err(unpacking.give_up(error)),
    }
}

/// Whether a file may hold signatures alone by its name: others are not read twice.
fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "sig" || ending == "asc")
}

fn list(typed: &Decrypt, listed: &[Listed]) -> Result<(), Failure> {
    if typed.show.json {
        return super::print_json(&listed);
    }
    let rows = listed.iter().map(|entry| {
        // A stranger's names: what would steer a terminal is shown as it is written in Rust.
        let name = entry
            .name
            .chars()
            .flat_map(|c| {
                if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
                    .chars()
                    .collect::<Vec<_>>()
            })
            .collect();
        vec![entry.kind.to_owned(), entry.bytes.to_string(), name]
    });
    super::print(&super::table(&["kind", "bytes", "name"], rows))
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

fn verifiers<'a>(typed: &Decrypt, keys: &Keys<'a>) -> Result<Known<'a>, Failure> {
    if typed.verify_with.is_empty() {
        return Ok(Known::Store(keys.store()));
    }
    let mut named = Vec::new();
    for who in &typed.verify_with {
        named.extend(keys.find(who)?);
    }
    Ok(Known::Named(named))
}

fn unauthenticated(typed: &Decrypt) -> Unauthenticated {
    match typed.unauthenticated {
        // Extracted into a hidden folder, which goes unless all is authentic: that is as good as a temporary file.
        _ if typed.archive => Unauthenticated::WriteWithWarning,
        UnauthenticatedName::Buffer => Unauthenticated::Buffer { bytes_max: HELD_BACK_BYTES_MAX },
        UnauthenticatedName::Refuse => Unauthenticated::Refuse,
        UnauthenticatedName::Write => Unauthenticated::WriteWithWarning,
    }
}
