//! `cryptand keyblock`: keys of labels in TR-31 key blocks, and the headers of such blocks.
//!
//! Keys and pairs of payments come in by [`payment`].

mod payment;
mod refused;

use super::payment::call::Taken;
use super::payment::hints::{Said, hint};
use super::{described, key};
use crate::args::{BlockExport, BlockVersion, GivenBlock, Keyblock};
use crate::describe::{is_incomplete, tr31};
use crate::encoded::{self, shown};
use crate::failure::Failure;
use crate::output::{print, write_new};
use crate::session;
use facility::Facility;
use std::path::Path;
use token::Format;
use token::tr31::Tr31;
use token::tr31::uses::{Choice, UsageRow, rows, why_absent};
use wire::bounds::TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{
    Filled, KeyBlockExport, KeyBlockMethod, KeyBlockMode, KeyBlockPlace, KeyBlockUsage, KeyBlockVector, Room,
    TypedAsk, tr31_key_export, tr31_key_import,
};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

/// Runs the subcommands of `cryptand keyblock`.
pub fn run(asked: Option<&Path>, order: &Keyblock) -> Result<(), Failure> {
    match order {
        Keyblock::Import { block, label, under, kind: Some(kind), only, domain, .. } => {
            let wanted = payment::Wanted { label: parse(label)?, kind: *kind, only: *only, domain: *domain };
            payment::import(asked, block, &wanted, &parse(under)?)
        }
        Keyblock::Import { block, label, under, keywords, domain, .. } => {
            let recorded = block.recorded.as_deref().map(parse).transpose()?;
            let field = match (&block.block, &recorded) {
                (Some(path), _) => {
                    let text = read(path)?;
                    judge(&shown(path), &text, keywords)?;
                    text
                }
                (None, recorded) => Zeroizing::new(recorded.iter().flat_map(Label::to_field).collect()),
            };
            let (label, under) = (parse(label)?, parse(under)?);
            let given = (&field[..], recorded.as_ref());
            import(&session::connect(asked)?, given, (&label, &under), keywords, *domain)?;
            eprintln!("{label}: imported and recorded");
            Ok(())
        }
        Keyblock::Export {
            label,
            under,
            version,
            usage,
            mode,
            exportability,
            vector,
            unpadded,
            out,
            record,
            domain,
        } => {
            let exportability = match exportability {
                BlockExport::E => KeyBlockExport::Trusted,
                BlockExport::N => KeyBlockExport::None,
                BlockExport::S => KeyBlockExport::Any,
            };
            let block = block(*version, usage, mode.as_deref())?;
            // Version D pads by itself.
            let is_hidden = *version != BlockVersion::D && !*unpadded;
            let vector = block.vector.or(vector.then_some(KeyBlockVector::Included));
            let ask = tr31_key_export::Ask { export: Some(exportability), vector, ..block };
            let (label, under) = (parse(label)?, parse(under)?);
            let recorded = record.as_deref().map(parse).transpose()?;
            let facility = session::connect(asked)?;
            let lengths = if is_hidden { &LONGEST_FIELDS[..] } else { &[0] };
            let text = export(&facility, (&label, &under), &ask, lengths, *domain)
                .map_err(|failure| explained(failure, &facility, &label, usage, mode.as_deref()))?;
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
    if token::tr31::begins(path.as_os_str().as_encoded_bytes()) && !path.exists() {
        return Err(Failure::Usage(
            "the block stands where its file is meant: put it into a file, or give `-` and the block on standard input"
                .to_owned(),
        ));
    }
    let bytes = encoded::read(path)?;
    if token::tr31::begins(&bytes) {
        return Ok(bytes);
    }
    let what = token::tr31::of_another_form(&bytes).unwrap_or("no TR-31 block begins like that");
    Err(Failure::Damaged(format!("{}: {what}", shown(path))))
}

/// Refuses a block whose header names no key here, or several without a choice, before a card is asked. A control
/// vector in the block says more than its header, and is the card's to judge.
fn judge(name: &str, text: &[u8], keywords: &[String]) -> Result<(), Failure> {
    let block = Tr31::parse(text).map_err(|error| Failure::Damaged(format!("{name}: {error}")))?;
    let (usage, mode) = (block.usage(), block.mode());
    let (&[first, second], &[mode_of], &[algorithm]) =
        (usage.as_bytes(), mode.as_bytes(), block.algorithm().as_bytes())
    else {
        return Ok(());
    };
    if block.optional_blocks().flatten().any(|(optional, _)| optional == VECTOR_BLOCK) {
        return Ok(());
    }
    let codes = [first, second];
    let what = format!("usage {usage}, mode {mode}, {}", tr31::algorithm(block.algorithm()));
    let named: Vec<&UsageRow> = rows(codes, algorithm, mode_of).collect();
    if let Some(why) = why_absent(codes, algorithm, mode_of) {
        return Err(Failure::Usage(format!(
            "{name}: no key here for {what}: {why} (`cryptand help keyblocks`)"
        )));
    }
    let has_usual = named.iter().any(|row| row.choice == Choice::Usual);
    if keywords.is_empty() && !has_usual {
        let words: Vec<String> =
            named.iter().filter_map(|row| row.keyword()).map(|word| format!("--as {word}")).collect();
        return Err(Failure::Usage(format!(
            "{name}: {what}, is one of several keys; say {}",
            words.join(" or ")
        )));
    }
    Ok(())
}

/// The identifier of IBM's optional block.
const VECTOR_BLOCK: &str = "10";
/// Lengths in bytes of fields for the longest keys of DES and of AES, with length and padding.
const LONGEST_FIELDS: [i64; 2] = [32, 40];

fn import(
    facility: &Facility,
    given: (&[u8], Option<&Label>),
    (label, under): (&Label, &Label),
    keywords: &[String],
    domain: u16,
) -> Result<(), Failure> {
    let token = imported(facility, given, under, keywords, domain)?;
    // Variable-length tokens here hold AES and HMAC keys.
    let store = if token.get(4) == Some(&0x05) { Store::Aes } else { Store::Des };
    key::record(facility, store, label, &token)?;
    eprintln!("{label}: imported and recorded");
    match key::check::customary(facility, domain, (store, label), &token)? {
        Some((_, value)) => print(&format!("check value {value}\n")),
        None => Ok(()),
    }
}

/// The token of the key of a block.
fn imported(
    facility: &Facility,
    (block, recorded): (&[u8], Option<&Label>),
    under: &Label,
    keywords: &[String],
    domain: u16,
) -> Result<Vec<u8>, Failure> {
    use tr31_key_import::*;
    if let Some(long) = keywords.iter().find(|word| word.is_empty() || word.len() > 8 || !word.is_ascii()) {
        return Err(Failure::Usage(format!("--as {long}: a keyword has one to eight characters")));
    }
    let words =
        ["INTERNAL".to_owned()].into_iter().chain(keywords.iter().map(|word| word.to_ascii_uppercase()));
    let array: String = words.map(|word| format!("{word:8}")).collect();
    let ask = Ask {
        tr31_key_block: block.into(),
        unwrap_kek_identifier: under.into(),
        output_key_identifier: Room::of(TOKEN_BYTES_MAX),
        ..Ask::new(KeyBlockPlace::Internal)
    };
    let mut filled = Filled::default();
    let mut arguments = ask.arguments(&mut filled);
    // The caller's keywords are sent unchecked.
    arguments
        .set_integer(RULE_ARRAY_COUNT, 1 + keywords.len() as i64)
        .set_bytes(RULE_ARRAY, array.as_bytes());
    let reply = facility.call(domain, &arguments)?;
    let importer = "an IMPORTER key (the .IN of kbpk or zmk; for blocks of version D of aes256-kbpk)";
    let mut keys = vec![("--under", under, importer)];
    keys.extend(
        recorded.map(|label| ("--recorded", label, "a key block, which `cryptand key write` records")),
    );
    protects(facility, under, reply.codes())?;
    complete(&arguments, RULE_ARRAY, reply.codes(), &keys)?;
    Ok(reply.arguments().bytes(OUTPUT_KEY_IDENTIFIER).to_vec())
}

/// Refuses by its name a protection key that lacks parts, where the verb refused a key (8/39) without saying which.
fn protects(facility: &Facility, under: &Label, codes: Codes) -> Result<(), Failure> {
    let lacks = || key::find(facility, under).is_ok_and(|(_, token)| is_incomplete(&token));
    if codes == code::KEY_USAGE && lacks() {
        return Err(Failure::Usage(format!(
            "--under {under}: a key that lacks its last part, which protects nothing; `cryptand key part {under} last` adds it"
        )));
    }
    Ok(())
}

/// The block, with a key field of the first of these lengths that has room for the key.
fn export(
    facility: &Facility,
    (label, under): (&Label, &Label),
    block: &tr31_key_export::Ask<'static>,
    lengths: &[i64],
    domain: u16,
) -> Result<String, Failure> {
    use tr31_key_export::*;
    let keys = [
        (
            "--label",
            label,
            "a key that can do no more under this usage and mode than it can here, one of DKYL1 with --vector (`cryptand help keyblocks`)",
        ),
        ("--under", under, "an EXPORTER key (--type tdes-exporter; for version D the .OUT of aes256-kbpk)"),
    ];
    let (longest, shorter) = lengths.split_last().unwrap_or((&0, &[]));
    for key_field_length in shorter.iter().chain([longest]) {
        let ask = Ask {
            key_version_number: b"00",
            key_field_length: *key_field_length,
            source_key_identifier: label.into(),
            wrap_kek_identifier: under.into(),
            tr31_key_block: TOKEN_BYTES_MAX,
            ..*block
        };
        let mut filled = Filled::default();
        let arguments = ask.arguments(&mut filled);
        let reply = facility.call(domain, &arguments)?;
        if reply.codes() == code::INVALID_PARAMETER && key_field_length != longest {
            continue;
        }
        protects(facility, under, reply.codes())?;
        complete(&arguments, RULE_ARRAY, reply.codes(), &keys)?;
        return Ok(String::from_utf8_lossy(reply.arguments().bytes(TR31_KEY_BLOCK)).into_owned());
    }
    Err(Failure::Unexpected("a key block"))
}

/// A refused export, with the words of the key that are the cause where they are.
fn explained(
    failure: Failure,
    facility: &Facility,
    label: &Label,
    usage: &str,
    mode: Option<&str>,
) -> Failure {
    let upper = |text: &str| text.to_ascii_uppercase().into_bytes();
    let (Ok(usage), Some(&[mode])) = (<[u8; 2]>::try_from(upper(usage)), mode.map(upper).as_deref()) else {
        return failure;
    };
    match failure {
        Failure::Payment { verb, codes: codes @ code::KEY_USAGE, hint } => {
            let token = key::find(facility, label).map(|(_, token)| token).unwrap_or_default();
            let hint = match refused::why(&token, usage, mode) {
                Some(why) => format!("{label}: {why} (`cryptand help keyblocks`)"),
                None => hint,
            };
            Failure::Payment { verb, codes, hint }
        }
        failure => failure,
    }
}

/// Checks that the verb succeeded. The error names the options and the key types that they take.
fn complete(
    asked: &Arguments<'_>,
    rule_array: usize,
    codes: Codes,
    keys: &[(&'static str, &Label, &'static str)],
) -> Result<(), Failure> {
    if codes.is_ok() {
        return Ok(());
    }
    let (verb, words) = (asked.verb(), asked.bytes(rule_array).as_chunks().0);
    let takes: Vec<Taken> = keys.iter().map(|(option, _, what)| (*option, *what)).collect();
    let labels: Vec<_> = keys.iter().map(|(option, label, _)| (*option, label.to_string())).collect();
    let said = Said { takes: &takes, labels: &labels, controls: &[] };
    Err(Failure::Payment { verb: verb.entry().name, codes, hint: hint(verb, words, codes, &said) })
}

/// The header fields of a block: version, usage and mode, by the codes of X9.143.
fn block(
    version: BlockVersion,
    usage: &str,
    mode: Option<&str>,
) -> Result<tr31_key_export::Ask<'static>, Failure> {
    use tr31_key_export::Ask;
    let new = Ask::new(match version {
        BlockVersion::A => KeyBlockMethod::A,
        BlockVersion::B => KeyBlockMethod::B,
        BlockVersion::C => KeyBlockMethod::C,
        BlockVersion::D => KeyBlockMethod::D,
    });
    if usage.eq_ignore_ascii_case("cv") {
        return match mode {
            None => Ok(Ask { vector: Some(KeyBlockVector::Alone), ..new }),
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
    if let Some(why) = goes_one_way(usage_word.0, mode_word.0) {
        return Err(Failure::Usage(format!("--mode {}: {why} (`cryptand help keyblocks`)", mode_word.0)));
    }
    Ok(Ask { usage: Some(usage_word.1), mode: Some(mode_word.1), ..new })
}

/// Why no key leaves under a usage with a mode that means keys of more than one way; `None` where one may.
fn goes_one_way(usage: &str, mode: &str) -> Option<&'static str> {
    match (usage, mode) {
        (_, "N") => Some(
            "blocks without restrictions come in, and none leaves: the mode says what the receiver may do",
        ),
        ("P0" | "K0" | "K1", "B") => Some(
            "a key here goes one way, and the mode says what the receiver may do: of a pair LABEL.OUT leaves with mode E, \
             for who enciphers, and LABEL.IN with mode D, for who deciphers",
        ),
        _ => None,
    }
}

const USAGES: [(&str, KeyBlockUsage); 19] = [
    ("B0", KeyBlockUsage::B0),
    ("C0", KeyBlockUsage::C0),
    ("D0", KeyBlockUsage::D0),
    ("E0", KeyBlockUsage::E0),
    ("E1", KeyBlockUsage::E1),
    ("E2", KeyBlockUsage::E2),
    ("E3", KeyBlockUsage::E3),
    ("E4", KeyBlockUsage::E4),
    ("E5", KeyBlockUsage::E5),
    ("K0", KeyBlockUsage::K0),
    ("K1", KeyBlockUsage::K1),
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
    described::show(&name, &bytes, json)
}
