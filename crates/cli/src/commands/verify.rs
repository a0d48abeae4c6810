//! `cryptand verify`.

use super::encrypt::name_of;
use crate::args::Verify;
use crate::failure::Failure;
use crate::messages::batch::{self, Reporter};
use crate::messages::keys::{self, Keys, Known};
use crate::messages::names::{self, Pair, Target};
use crate::messages::passphrases::Asker;
use crate::messages::screen::Screen;
use crate::messages::{self, Layout};
use openpgp::{Fingerprint, Timestamp};
use pipeline::Limits;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const NO_TEXT: &str = "a detached signature holds no text: leave -o out";

/// Longest file of detached signatures.
const SIGNATURES_BYTES_MAX: u64 = 1 << 20;

/// Verifies every input.
pub fn run(typed: &Verify) -> Result<(), Failure> {
    let layout = Layout::new(&typed.run)?;
    let interrupted = super::interrupt()?;
    let (asked, pairs) = asked(typed)?;
    let total = (pairs.len() > 1).then(|| batch::bytes_of(&pairs));
    let screen = Screen::new(typed.show.quiet || typed.show.json, total);
    let asker = Asker::new(true, &screen, &interrupted);
    let store = messages::store(&typed.store)?;
    let keys = Keys::new(&store, &asker)?;
    let known = known(typed, &keys)?;
    let signature = asked.map(signatures).transpose()?;
    let is_stdout_taken = typed.output.as_deref() == Some(Path::new("-"));
    let name = |fingerprint: &Fingerprint| name_of(&keys, fingerprint);
    let reporter = Reporter::new(&typed.show, &screen, is_stdout_taken, &name);
    let now = messages::now();
    batch::run(&pairs, layout.threads(), &reporter, &interrupted, |pair, is_beside| {
        let beside = match (&signature, &pair.input) {
            (None, Some(path)) => beside(path)?,
            _ => None,
        };
        let (text, detached) = match (&signature, &beside) {
            (Some(signature), _) => (pair.input.as_ref(), Some(signature.as_slice())),
            (None, Some((text, signature))) => (Some(text), Some(signature.as_slice())),
            (None, None) => (pair.input.as_ref(), None),
        };
        if let (Some(path), None) = (text, &detached)
            && holds_signatures(path)
        {
            let path = path.display();
            let said =
                format!("{path}: signatures alone; name what they sign too: `cryptand verify {path} FILE`");
            return Err(Failure::Usage(said));
        }
        if detached.is_some() && typed.output.is_some() {
            return Err(Failure::Usage(NO_TEXT.to_owned()));
        }
        let what = pipeline::Verify {
            verifiers: &known,
            detached,
            limits: Limits::default(),
            now,
            not_before: typed.not_before.map(Timestamp::from_secs),
            not_after: typed.not_after.map(Timestamp::from_secs),
        };
        let output = typed.output.is_some().then(|| messages::output(&pair.target, typed.force));
        let run = layout.run(&screen, &interrupted, is_beside);
        pipeline::verify(messages::input(text)?, output, &what, &run).map_err(messages::failed(&pair.name()))
    })
}

/// The detached signatures that were named, and the inputs. `verify SIG FILE` is what other programs take: a signature
/// and its text, unless each of the two can be verified by itself.
fn asked(typed: &Verify) -> Result<(Option<&Path>, Vec<Pair>), Failure> {
    if let (None, [signature, text]) = (&typed.signature, typed.inputs.as_slice())
        && !holds_signatures(text)
        && holds_signatures(signature)
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

/// Whether a file that holds no signatures alone is the text of one that does, and no message of its own.
fn is_text_of(text: &Path, signature: &Path) -> bool {
    let beside = names::without_ending(signature).ok().filter(|path| path.is_file());
    names::without_ending(text).is_err() || beside.is_none_or(|beside| beside == text)
}

fn pairs(typed: &Verify) -> Result<Vec<Pair>, Failure> {
    if typed.inputs.len() > 1 && (typed.signature.is_some() || typed.output.is_some()) {
        return Err(Failure::Usage("--signature and -o go with one input".to_owned()));
    }
    // Where nothing is written, no name is needed.
    let asked = typed.output.as_deref().unwrap_or(Path::new("-"));
    if typed.output.is_none() && typed.inputs.len() > 1 {
        let pair = |path: &PathBuf| Pair { input: Some(path.clone()), target: Target::Stdout };
        return Ok(typed.inputs.iter().map(pair).collect());
    }
    names::pairs(&typed.inputs, Some(asked), names::without_ending)
}

fn known<'a>(typed: &Verify, keys: &Keys<'a>) -> Result<Known<'a>, Failure> {
    if typed.verify_with.is_empty() {
        return Ok(Known::Store(keys.store()));
    }
    let mut named = Vec::new();
    for who in &typed.verify_with {
        named.extend(keys.find(who)?);
    }
    Ok(Known::Named(named))
}

fn signatures(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = keys::read(path)?.to_vec();
    if bytes.len() as u64 > SIGNATURES_BYTES_MAX {
        return Err(Failure::Usage(format!("{}: longer than any signatures", path.display())));
    }
    Ok(bytes)
}

/// The text and the signatures, where a file holds signatures alone and its name without the ending is there: as
/// `release.tar.gz.sig` lies beside `release.tar.gz`.
fn beside(path: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, Failure> {
    let Ok(text) = names::without_ending(path) else { return Ok(None) };
    if !text.is_file() {
        return Ok(None);
    }
    let head = head(path).map_err(Failure::io(format!("read {}", path.display())))?;
    Ok(are_signatures(&head).then_some((text, head)))
}

/// Whether a file can be read and holds signatures alone.
pub fn holds_signatures(path: &Path) -> bool {
    // Only a plain file is read twice: a pipe's bytes would be gone.
    path.is_file() && head(path).is_ok_and(|head| are_signatures(&head))
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(SIGNATURES_BYTES_MAX + 1).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether these bytes are signature packets from first to last, or an armored block of them.
fn are_signatures(bytes: &[u8]) -> bool {
    if bytes.len() as u64 > SIGNATURES_BYTES_MAX {
        return false;
    }
    if bytes.is_ascii() {
        let text = String::from_utf8_lossy(bytes);
        return text.lines().any(|line| line.trim_end() == "-----BEGIN PGP SIGNATURE-----")
            && !text.contains("-----BEGIN PGP SIGNED MESSAGE-----");
    }
    // The first packet's tag, in either format of headers; a message that begins so has its text behind it, in
    // packets of other tags.
    matches!(bytes.first(), Some(0x88..=0x8B | 0xC2))
}
