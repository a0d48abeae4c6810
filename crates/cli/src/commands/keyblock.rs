//! `cryptand keyblock`: keys of labels in key blocks of TR-31, and what their headers say.

use super::payment::call::Taken;
use super::payment::hints::{Said, hint};
use super::{described, key};
use crate::args::{BlockExport, BlockVersion, GivenBlock, Keyblock};
use crate::describe::describe;
use crate::encoded::{self, shown};
use crate::failure::Failure;
use crate::output::{print, print_json, write_new};
use crate::session;
use facility::Facility;
use std::path::Path;
use token::Format;
use wire::bounds::TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{KeyBlockMode, KeyBlockUsage, Verb, tr31_key_export, tr31_key_import};
use wire::{Codes, Label};
use zeroize::Zeroizing;

/// `cryptand keyblock`.
pub fn run(asked: Option<&Path>, order: &Keyblock) -> Result<(), Failure> {
    match order {
        Keyblock::Import { block, label, under, keywords, domain } => {
            let recorded = block.recorded.as_deref().map(parse).transpose()?;
            let field = match (&block.block, &recorded) {
                (Some(path), _) => read(path)?,
                (None, recorded) => Zeroizing::new(recorded.iter().flat_map(Label::to_field).collect()),
            };
            let (label, under) = (parse(label)?, parse(under)?);
            let given = (&field[..], recorded.as_ref());
            import(&session::connect(asked)?, given, (&label, &under), keywords, *domain)
        }
        Keyblock::Export { label, under, version, usage, mode, exportability, out, record, domain } => {
            let mut words = vec![method(*version)];
            words.extend(meaning(usage, mode.as_deref())?);
            words.push(match exportability {
                BlockExport::E => "EXP-TRST",
                BlockExport::N => "EXP-NONE",
                BlockExport::S => "EXP-ANY",
            });
            let (label, under) = (parse(label)?, parse(under)?);
            let recorded = record.as_deref().map(parse).transpose()?;
            let facility = session::connect(asked)?;
            let text = export(&facility, (&label, &under), &words, *domain)?;
            match (out, recorded) {
                (Some(path), _) => write_new(path, format!("{text}\n").as_bytes()),
                (None, Some(recorded)) => {
                    key::record(&facility, Store::Aes, &recorded, text.as_bytes())?;
                    eprintln!("{recorded}: recorded");
                    Ok(())
                }
                (None, None) => print(&format!("{text}\n")),
            }
        }
        Keyblock::Show { block, json } => show(asked, block, *json),
    }
}

fn parse(label: &str) -> Result<Label, Failure> {
    Label::new(label).map_err(|error| Failure::Usage(format!("{label}: {error}")))
}

/// The text of the block in a file.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = encoded::read(path)?;
    if token::tr31::begins(&bytes) {
        return Ok(bytes);
    }
    Err(Failure::Usage(format!("{}: no TR-31 block begins like that", shown(path))))
}

fn rules(words: &[&str]) -> Vec<u8> {
    words.iter().flat_map(|word| format!("{word:8}").into_bytes()).collect()
}

fn import(
    facility: &Facility,
    (block, recorded): (&[u8], Option<&Label>),
    (label, under): (&Label, &Label),
    keywords: &[String],
    domain: u16,
) -> Result<(), Failure> {
    use tr31_key_import::*;
    if let Some(long) = keywords.iter().find(|word| word.is_empty() || word.len() > 8 || !word.is_ascii()) {
        return Err(Failure::Usage(format!("--as {long}: a keyword has one to eight characters")));
    }
    let mut words = vec!["INTERNAL"];
    words.extend(keywords.iter().map(String::as_str));
    let (array, under_label, under) = (rules(&words), under, under.to_field());
    let mut arguments = Arguments::new(Verb::Tr31KeyImport);
    arguments
        .set_integer(RULE_ARRAY_COUNT, words.len() as i64)
        .set_bytes(RULE_ARRAY, &array)
        .set_integer(TR31_KEY_BLOCK_LENGTH, block.len() as i64)
        .set_bytes(TR31_KEY_BLOCK, block)
        .set_integer(UNWRAP_KEK_IDENTIFIER_LENGTH, under.len() as i64)
        .set_bytes(UNWRAP_KEK_IDENTIFIER, &under)
        .set_integer(OUTPUT_KEY_IDENTIFIER_LENGTH, TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    let importer = "an IMPORTER key (--type tdes-importer; for blocks of version D aes256-importer --usage IMPORT,WR-TR31 and the \
                    kind of the key, such as WR-PIN)";
    let mut keys = vec![("--under", under_label, importer)];
    keys.extend(
        recorded.map(|label| ("--recorded", label, "a key block, which `cryptand key write` records")),
    );
    complete(Verb::Tr31KeyImport, &words, reply.codes(), &keys)?;
    let token = reply.arguments().bytes(OUTPUT_KEY_IDENTIFIER).to_vec();
    // Of variable length are AES keys alone.
    let store = if token.get(4) == Some(&0x05) { Store::Aes } else { Store::Des };
    key::record(facility, store, label, &token)?;
    eprintln!("{label}: imported and recorded");
    Ok(())
}

fn export(
    facility: &Facility,
    (label, under): (&Label, &Label),
    words: &[&str],
    domain: u16,
) -> Result<String, Failure> {
    use tr31_key_export::*;
    let (array, source, under_label, under) = (rules(words), label.to_field(), under, under.to_field());
    let mut arguments = Arguments::new(Verb::Tr31KeyExport);
    arguments
        .set_integer(RULE_ARRAY_COUNT, words.len() as i64)
        .set_bytes(RULE_ARRAY, &array)
        .set_bytes(KEY_VERSION_NUMBER, b"00")
        .set_integer(SOURCE_KEY_IDENTIFIER_LENGTH, source.len() as i64)
        .set_bytes(SOURCE_KEY_IDENTIFIER, &source)
        .set_integer(WRAP_KEK_IDENTIFIER_LENGTH, under.len() as i64)
        .set_bytes(WRAP_KEK_IDENTIFIER, &under)
        .set_integer(TR31_KEY_BLOCK_LENGTH, TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    let keys = [
        (
            "--label",
            label,
            "a key that can do no more under this usage and mode than it can here (docs/keyblocks.md)",
        ),
        (
            "--under",
            under_label,
            "an EXPORTER key (--type tdes-exporter; for version D aes256-exporter --usage EXPORT,WR-TR31 and the kind of the key, \
             such as WR-PIN)",
        ),
    ];
    complete(Verb::Tr31KeyExport, words, reply.codes(), &keys)?;
    Ok(String::from_utf8_lossy(reply.arguments().bytes(TR31_KEY_BLOCK)).into_owned())
}

/// Whether the verb did it; otherwise what these keys, by their options, have to be.
fn complete(
    verb: Verb,
    words: &[&str],
    codes: Codes,
    keys: &[(&'static str, &Label, &'static str)],
) -> Result<(), Failure> {
    if codes.is_ok() {
        return Ok(());
    }
    let array = rules(words);
    let words = array.as_chunks().0;
    let takes: Vec<Taken> = keys.iter().map(|(option, _, what)| (*option, *what)).collect();
    let labels: Vec<_> = keys.iter().map(|(option, label, _)| (*option, label.to_string())).collect();
    let said = Said { takes: &takes, labels: &labels, controls: &[] };
    Err(Failure::Payment { verb: verb.entry().name, codes, hint: hint(verb, words, codes, &said) })
}

fn method(version: BlockVersion) -> &'static str {
    match version {
        BlockVersion::A => "VARXOR-A",
        BlockVersion::B => "VARDRV-B",
        BlockVersion::C => "VARXOR-C",
        BlockVersion::D => "VARDRV-D",
    }
}

/// The keywords of usage and mode, which people know by the codes of X9.143.
fn meaning(usage: &str, mode: Option<&str>) -> Result<Vec<&'static str>, Failure> {
    if usage.eq_ignore_ascii_case("cv") {
        return match mode {
            None => Ok(vec!["ATTR-CV"]),
            Some(_) => Err(Failure::Usage("--usage cv: the control vector says the mode".to_owned())),
        };
    }
    let usage_word = USAGES.iter().find(|(code, _)| code.eq_ignore_ascii_case(usage));
    let usage_word = usage_word.ok_or_else(|| {
        let known: Vec<&str> = USAGES.iter().map(|(code, _)| *code).collect();
        Failure::Usage(format!("--usage {usage}: one of {}, or cv", known.join(", ")))
    })?;
    let mode = mode.ok_or_else(|| Failure::Usage("--mode is missing: how the key may be used".to_owned()))?;
    let mode_word = MODES.iter().find(|(code, _)| code.eq_ignore_ascii_case(mode));
    let mode_word = mode_word.ok_or_else(|| {
        let known: Vec<&str> = MODES.iter().map(|(code, _)| *code).collect();
        Failure::Usage(format!("--mode {mode}: one of {}", known.join(", ")))
    })?;
    Ok(vec![usage_word.1.keyword().text, mode_word.1.keyword().text])
}

const USAGES: [(&str, KeyBlockUsage); 17] = [
    ("B0", KeyBlockUsage::B0),
    ("C0", KeyBlockUsage::C0),
    ("D0", KeyBlockUsage::D0),
    ("E0", KeyBlockUsage::E0),
    ("E1", KeyBlockUsage::E1),
    ("E2", KeyBlockUsage::E2),
    ("E3", KeyBlockUsage::E3),
    ("E4", KeyBlockUsage::E4),
    ("K0", KeyBlockUsage::K0),
    ("M0", KeyBlockUsage::M0),
    ("M1", KeyBlockUsage::M1),
    ("M3", KeyBlockUsage::M3),
    ("M6", KeyBlockUsage::M6),
    ("P0", KeyBlockUsage::P0),
    ("V0", KeyBlockUsage::V0),
    ("V1", KeyBlockUsage::V1),
    ("V2", KeyBlockUsage::V2),
];

const MODES: [(&str, KeyBlockMode); 8] = [
    ("B", KeyBlockMode::Both),
    ("C", KeyBlockMode::Mac),
    ("D", KeyBlockMode::Decipher),
    ("E", KeyBlockMode::Encipher),
    ("G", KeyBlockMode::Generate),
    ("N", KeyBlockMode::Any),
    ("V", KeyBlockMode::Verify),
    ("X", KeyBlockMode::Derive),
];

fn show(asked: Option<&Path>, block: &GivenBlock, json: bool) -> Result<(), Failure> {
    let (name, bytes) = match (&block.block, &block.recorded) {
        (Some(path), _) => (shown(path), read(path)?),
        (None, recorded) => {
            let label = parse(recorded.as_deref().unwrap_or_default())?;
            let (_, token) = key::find(&session::connect(asked)?, &label)?;
            if Format::of(&token) != Format::KeyBlock {
                return Err(Failure::Usage(format!(
                    "{label}: holds a key token, no block; see `cryptand key show`"
                )));
            }
            (label.to_string(), Zeroizing::new(token))
        }
    };
    let found = describe(&bytes);
    if json {
        print_json(&serde_json::json!({
            "bytes": bytes.len(), "fields": described::json(&found.fields), "problem": found.problem,
        }))?;
    } else {
        print(&described::text(&found.fields))?;
    }
    match found.problem {
        None => Ok(()),
        Some(problem) => Err(Failure::Usage(format!("{name}: {problem}"))),
    }
}
