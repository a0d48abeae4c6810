//! A DES key from clear parts, each typed by another person at a terminal of its own: what two partners share before
//! anything else can be sent.

use super::{Given, TOKEN_BYTES, check, complete, find};
use crate::args::PartStep;
use crate::failure::Failure;
use crate::prompt;
use facility::Facility;
use std::io::{IsTerminal, stdin};
use wire::bounds::KEYWORD_BYTES;
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, key_part_import as kpi, key_token_build as ktb};
use wire::{Label, code};
use zeroize::Zeroizing;

/// Length of a part: of a key of double length.
const PART_BYTES: usize = 16;

/// What a first part begins: a key of this type, for these uses.
pub struct Begun<'a> {
    pub key_type: Option<&'a str>,
    pub usage: &'a [String],
}

/// Takes one part, or completes the key, and records what there is of it under the label.
pub fn run(
    facility: &Facility,
    label: &Label,
    domain: u16,
    step: PartStep,
    begun: &Begun<'_>,
) -> Result<(), Failure> {
    let token = match (step, begun.key_type) {
        (PartStep::First, Some(_)) if is_recorded(facility, label)? => {
            return Err(Failure::Usage(format!(
                "{label}: this record exists; its next part is `last` or `add`"
            )));
        }
        (PartStep::First, Some(key_type)) => skeleton(facility, domain, key_type, begun.usage)?,
        (PartStep::First, None) => {
            return Err(Failure::Usage(
                "the first part begins a key: say of which --type, such as importer".to_owned(),
            ));
        }
        (_, Some(_)) => {
            return Err(Failure::Usage("--type belongs to the first part: the key has its type".to_owned()));
        }
        (_, None) => part_of(facility, label)?,
    };
    let bytes = if step == PartStep::Complete { Zeroizing::default() } else { typed(label)? };
    let mut arguments = Arguments::new(Verb::KeyPartImport);
    let word = keyword(match step {
        PartStep::First => "FIRST",
        PartStep::Add => "ADD-PART",
        PartStep::Last => "LAST",
        PartStep::Complete => "COMPLETE",
    })?;
    arguments
        .set_integer(kpi::RULE_ARRAY_COUNT, 1)
        .set_bytes(kpi::RULE_ARRAY, &word)
        .set_bytes(kpi::KEY_PART, &bytes)
        .set_bytes(kpi::KEY_IDENTIFIER, &token);
    let reply = facility.call(domain, &arguments)?;
    complete("key-part-import", reply.codes())?;
    let token = reply.arguments().bytes(kpi::KEY_IDENTIFIER).to_vec();
    if step == PartStep::First {
        facility.record_create(Store::Des, label, &token)?;
    } else {
        facility.record_write(Store::Des, label, &token)?;
    }
    let said = match step {
        PartStep::First | PartStep::Add => {
            format!("{label}: a part; the next person types `cryptand key part {label} last`")
        }
        PartStep::Last | PartStep::Complete => {
            format!("{label}: complete; compare the check value with the partner's")
        }
    };
    eprintln!("{said}");
    check::run(facility, label, domain, &Given::Nothing, false)
}

fn is_recorded(facility: &Facility, label: &Label) -> Result<bool, Failure> {
    Ok(facility.records(None, label.as_str())?.iter().any(|row| row.label == *label))
}

/// The token of a key that has parts already.
fn part_of(facility: &Facility, label: &Label) -> Result<Vec<u8>, Failure> {
    match find(facility, label)? {
        (Store::Des, token) if token.len() == TOKEN_BYTES => Ok(token),
        _ => Err(Failure::Usage(format!("{label}: a key of DES is entered in parts, and this is none"))),
    }
}

/// A token without a key, of double length.
fn skeleton(facility: &Facility, domain: u16, key_type: &str, usage: &[String]) -> Result<Vec<u8>, Failure> {
    let words = ["INTERNAL", "DOUBLE"].into_iter().chain(usage.iter().map(String::as_str));
    let words = words.map(keyword).collect::<Result<Vec<_>, _>>()?;
    let key_type = keyword(key_type)?;
    let mut arguments = Arguments::new(Verb::KeyTokenBuild);
    let array = words.concat();
    arguments
        .set_bytes(ktb::KEY_TYPE, &key_type)
        .set_integer(ktb::RULE_ARRAY_COUNT, words.len() as i64)
        .set_bytes(ktb::RULE_ARRAY, &array);
    let reply = facility.call(domain, &arguments)?;
    if reply.codes() == code::KEYWORD {
        let text =
            "--type or --usage: no key type or use of DES in CCA; `cryptand verb key-token-build` lists them";
        return Err(Failure::Usage(text.to_owned()));
    }
    complete("key-token-build", reply.codes())?;
    Ok(reply.arguments().bytes(ktb::KEY_TOKEN).to_vec())
}

/// A keyword in its field.
fn keyword(word: &str) -> Result<[u8; KEYWORD_BYTES], Failure> {
    if word.is_empty() || word.len() > KEYWORD_BYTES {
        return Err(Failure::Usage(format!("{word:?}: a keyword has 1 to {KEYWORD_BYTES} characters")));
    }
    let mut field = [b' '; KEYWORD_BYTES];
    field[..word.len()].copy_from_slice(word.to_ascii_uppercase().as_bytes());
    Ok(field)
}

/// A part as a person types it: twice on a terminal, where nothing is shown.
fn typed(label: &Label) -> Result<Zeroizing<Vec<u8>>, Failure> {
    prompt::until_valid(|| {
        let part = once(&format!("Part of {label}, {} hexadecimal digits: ", 2 * PART_BYTES))?;
        if stdin().is_terminal() && *part != *once("  The same once more: ")? {
            return Err(Failure::Usage("the two differ".to_owned()));
        }
        Ok(part)
    })
}

fn once(question: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let part = prompt::hexadecimal(&prompt::secret(question)?)?;
    match part.len() {
        PART_BYTES => Ok(part),
        given => Err(Failure::Usage(format!("a part has {PART_BYTES} bytes, not {given}"))),
    }
}
