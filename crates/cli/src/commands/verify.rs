//! `cryptand verify`: verifies signed messages, and files with detached signatures.

use crate::args::Verify;
use crate::failure::{Failure, PgpFailure};
use crate::messages::batch::Done;
use crate::messages::desk::Desk;
use crate::messages::detached::{self, Content};
use crate::messages::keys::Keys;
use crate::messages::names::{self, Pair, Target};
use crate::messages::{self, Layout};
use openpgp::Timestamp;
use pipeline::Limits;
use std::path::{Path, PathBuf};

const NO_TEXT: &str = "a detached signature holds no text: leave -o out";

/// Verifies every input.
pub fn run(typed: &Verify) -> Result<(), Failure> {
    let layout = Layout::new(&typed.run, typed.sync)?;
    let (asked, pairs) = asked(typed)?;
    let desk = Desk::new(&typed.show, &typed.store, &pairs)?;
    let known = Keys::new(&desk.store, desk.asker(true))?.known(&typed.verify_with)?;
    let signature = asked.map(detached::signatures).transpose()?;
    let is_stdout_taken = typed.output.as_deref() == Some(Path::new("-"));
    let now = messages::now();
    desk.each(&layout, &pairs, &typed.show, is_stdout_taken, |pair, run| {
        let found = match (&signature, &pair.input) {
            (None, Some(path)) => beside(path, typed.output.is_some())?,
            _ => None,
        };
        let (text, detached) = match (&signature, &found) {
            (Some(signature), _) => (pair.input.as_ref(), Some(signature.as_slice())),
            (None, Some(found)) => (Some(&found.text), Some(found.signatures.as_slice())),
            (None, None) => (pair.input.as_ref(), None),
        };
        if detached.is_some() && typed.output.is_some() {
            return Err(Failure::Usage(NO_TEXT.to_owned()));
        }
        let what = pipeline::Verify {
            verifiers: &known,
            detached,
            has_local_lines: true,
            limits: Limits::default(),
            now,
            not_before: typed.not_before.map(Timestamp::from_secs),
            not_after: typed.not_after.map(Timestamp::from_secs),
        };
        let output = typed.output.is_some().then(|| messages::output(&pair.target, typed.force));
        let signatures_in =
            found.as_ref().and_then(|found| found.name.as_ref()).map(|name| name.display().to_string());
        let name = match &signatures_in {
            Some(signatures) => format!("{}, by {signatures}", pair.name()),
            None => pair.name(),
        };
        let summary =
            pipeline::verify(messages::input(text)?, output, &what, run).map_err(messages::failed(&name))?;
        Ok(Done { summary, signatures_in })
    })
}

/// The named detached signatures, and the inputs. `verify SIG FILE` is accepted as in other programs: a signature and
/// its text. It does not apply if each of the two files can be verified by itself.
fn asked(typed: &Verify) -> Result<(Option<&Path>, Vec<Pair>), Failure> {
    if let (None, [signature, text]) = (&typed.signature, typed.inputs.as_slice())
        && !detached::holds_signatures(text)
        && detached::holds_signatures(signature)
        && is_text_of(text, signature)
    {
        if typed.output.is_some() {
            return Err(Failure::Usage(NO_TEXT.to_owned()));
        }
        let input = (text != Path::new("-")).then(|| text.clone());
        return Ok((Some(signature), vec![Pair { input, target: Target::Stdout }]));
    }
    Ok((typed.signature.as_deref(), pairs(typed)?))
}

/// Whether `text`, which is no file of signatures alone, is the text that `signature` signs, and no message of its own.
fn is_text_of(text: &Path, signature: &Path) -> bool {
    names::without_ending(text).is_err() || detached::text_of(signature).is_none_or(|beside| beside == text)
}

/// A file and its signatures, if one of the two was named and the other is beside it.
struct Beside {
    text: PathBuf,
    signatures: Vec<u8>,
    /// File in which the signatures were found; none if that file was the one named.
    name: Option<PathBuf>,
}

/// The signatures and the text beside an input; none if the input is itself a message. With `is_text_asked`, a file
/// that may be a message counts as one, since detached signatures yield no text.
fn beside(path: &Path, is_text_asked: bool) -> Result<Option<Beside>, Failure> {
    let content = detached::content(path);
    match content {
        Content::Signatures => {
            let shown = path.display();
            let alone = || {
                let next = format!("`cryptand verify {shown} FILE`");
                Failure::Usage(format!("{shown}: signatures alone; name what they sign too: {next}"))
            };
            let text = detached::text_of(path).ok_or_else(alone)?;
            return Ok(Some(Beside { text, signatures: detached::signatures(path)?, name: None }));
        }
        Content::Message => return Ok(None),
        Content::Perhaps if is_text_asked => return Ok(None),
        Content::Perhaps | Content::Other => {}
    }
    match detached::signatures_of(path) {
        Some(name) => {
            let signatures = detached::signatures(&name)?;
            Ok(Some(Beside { text: path.to_owned(), signatures, name: Some(name) }))
        }
        None if content == Content::Perhaps => Ok(None),
        None => Err(PgpFailure::NoSignatures { name: path.display().to_string() }.into()),
    }
}

fn pairs(typed: &Verify) -> Result<Vec<Pair>, Failure> {
    if typed.inputs.len() > 1 && (typed.signature.is_some() || typed.output.is_some()) {
        return Err(Failure::Usage("--signature and -o go with one input".to_owned()));
    }
    // If nothing is written, no name is needed.
    let asked = typed.output.as_deref().unwrap_or(Path::new("-"));
    if typed.output.is_none() && typed.inputs.len() > 1 {
        let pair = |path: &PathBuf| Pair { input: Some(path.clone()), target: Target::Stdout };
        return Ok(typed.inputs.iter().map(pair).collect());
    }
    names::pairs(&typed.inputs, Some(asked), names::without_ending)
}
