//! A key from clear parts, each typed by another person at a terminal of its own: what two partners share before
//! anything else can be sent.
//!
//! | step | DES, by Key_Part_Import | AES and HMAC, by Key_Part_Import2 |
//! |---|---|---|
//! | `first` | FIRST | FIRST, MIN2PART or MIN3PART |
//! | `add` | ADD-PART | ADD-PART |
//! | `last` | LAST | ADD-PART, COMPLETE |
//! | `complete` | COMPLETE | COMPLETE |
//!
//! What can be refused is refused before anybody types a part. A record changes once in a step, when the step has
//! succeeded: who leaves in the middle, or types a part that is refused, changes nothing.

pub mod component;
mod sheet;

use super::{TOKEN_BYTES, check, complete, find, pair};
use crate::args::{PairEnd, PartStep};
use crate::failure::Failure;
use crate::kind::TypedKind;
use crate::output::print;
use crate::prompt;
use crate::session;
use facility::Facility;
use facility::keys::{NamedKind, PaymentKey, Usage};
pub use sheet::sheet;
use sheet::{Algorithm, Sheet};
use std::io::{IsTerminal, stdin};
use token::variable::{Completeness, VariableKey, Wrapper};
use token::{DesToken, VariableToken};
use wire::bounds::TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::verb::{
    KeyPart, KeyPartsLeast, Room, VariableAlgorithm, VariableKeyPart, key_part_import as kpi,
    key_part_import2 as kpi2,
};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

/// Shortest part that Key_Part_Import takes, in bytes; shorter keys use it too.
const DES_PART_BYTES: usize = 16;
/// Bytes of a variable-length token's payload besides the key: header and hash of AESKW.
const PAYLOAD_BYTES: usize = 44;

/// The key that a first part begins: its kind, its usage, and its least number of parts.
pub struct Begun<'a> {
    pub kind: TypedKind,
    /// One key of a pair alone.
    pub only: Option<PairEnd>,
    /// The key's usage keywords.
    pub usage: &'a [String],
    /// The least number of parts; none means two.
    pub parts: Option<u8>,
}

/// Takes one part, or completes the key, and records the resulting token under the label. Of a pair the part goes into
/// both keys.
pub fn run(
    facility: &Facility,
    label: &Label,
    domain: u16,
    step: PartStep,
    begins: Option<Begun<'_>>,
    sheet: &Sheet,
) -> Result<(), Failure> {
    if step == PartStep::Complete {
        sheet.is_of_no_part()?;
    }
    let entries = match (step, begins) {
        (PartStep::First, Some(begun)) => begin(facility, label, &begun)?,
        (PartStep::First, None) => {
            return Err(Failure::Usage(
                "the first part begins a key: say of which --type, such as zmk or aes256-kbpk".to_owned(),
            ));
        }
        (_, Some(_)) => {
            return Err(Failure::Usage("--type belongs to the first part: the key has its type".to_owned()));
        }
        (_, None) => go_on(facility, label, step)?,
    };
    let Some(entry) = entries.first() else { return Err(Failure::NoRecord(label.clone())) };
    if entries.len() > 2 {
        return Err(Failure::Usage(format!(
            "{label}: more than one pair has this label: give the part to each key by its own label, such as {}",
            entry.label
        )));
    }
    let part = if step == PartStep::Complete { Zeroizing::default() } else { entry.typed(label, sheet)? };
    let with = |entry: &Entry| entry.with(facility, domain, step, &part);
    let tokens = entries.iter().map(with).collect::<Result<Vec<_>, _>>()?;
    // The keys of a pair have one value.
    let values = check::values(facility, domain, entry.store, &tokens[0])?;
    if matches!(step, PartStep::Last | PartStep::Complete) && sheet::is_zero(entry.algorithm, &values) {
        return Err(Failure::Usage(format!(
            "{label}: its parts cancel each other: the same part was entered twice, and the key would be known to \
             everybody. Nothing was recorded. If the part before was the wrong one, begin anew: {}",
            deletions(&entries)
        )));
    }
    for (other, token) in entries.iter().zip(&tokens).skip(1) {
        let own = check::values(facility, domain, other.store, token)?;
        if own.check.customary().map(|(_, value)| value) != values.check.customary().map(|(_, value)| value) {
            return Err(Failure::Usage(format!(
                "{label}: {} and {} have parts of different values, and would be no pair; nothing was recorded: give the part to each by \
                 its own label",
                entry.label, other.label
            )));
        }
    }
    record(facility, step, &entries, &tokens)?;
    let next = if needs_more(&tokens[0]) { "add" } else { "last" };
    for entry in entries.iter().filter(|entry| !entry.does.is_empty()) {
        eprintln!("{}: it {}", entry.label, entry.does);
    }
    eprintln!(
        "{}",
        match step {
            PartStep::First | PartStep::Add => {
                format!("{label}: not complete; the next person types `cryptand key part {label} {next}`")
            }
            PartStep::Last | PartStep::Complete => {
                format!("{label}: complete; compare this with the partner's")
            }
        }
    );
    print(&values.text())
}

/// Records a key, or a pair, of a known value: drawn parts of it, entered one after the other. For development homes.
/// The labels, each with what its key does.
pub fn of_value(
    facility: &Facility,
    label: &Label,
    domain: u16,
    begun: &Begun<'_>,
    value: &[u8],
) -> Result<Vec<(Label, &'static str)>, Failure> {
    let mut entries = begin(facility, label, begun)?;
    if let Some(entry) = entries.iter().find(|entry| !entry.lengths.contains(&value.len())) {
        return Err(Failure::Usage(format!("the key has {} bytes, not {}", entry.lengths(1), value.len())));
    }
    let mut first = vec![0; value.len()];
    session::engine()?.random(&mut first);
    let last: Vec<u8> = value.iter().zip(&first).map(|(value, first)| value ^ first).collect();
    let mut tokens = Vec::new();
    for entry in &mut entries {
        entry.token = entry.with(facility, domain, PartStep::First, &first)?;
        entry.least = None;
        tokens.push(entry.with(facility, domain, PartStep::Last, &last)?);
    }
    record(facility, PartStep::First, &entries, &tokens)?;
    Ok(entries.into_iter().map(|entry| (entry.label, entry.does)).collect())
}

/// The keys that a first part begins: one, or those of a pair.
fn begin(facility: &Facility, label: &Label, begun: &Begun<'_>) -> Result<Vec<Entry>, Failure> {
    match begun.kind {
        TypedKind::Cca(_) if begun.only.is_some() => {
            Err(Failure::Usage("--only: this is one key, and no pair".to_owned()))
        }
        TypedKind::Cca(kind) => {
            let words = Usage::new(begun.usage, &[]);
            Ok(vec![Entry::begin(facility, label, (kind, &words), begun.parts)?])
        }
        TypedKind::Payment(kind) => {
            let keys = pair::keys(label, kind, begun.usage, begun.only)?;
            let entry = |(label, key): &(Label, PaymentKey)| {
                let entry = Entry::begin(facility, label, (key.kind, &key.usage), begun.parts)?;
                Ok(Entry { does: key.does, ..entry })
            };
            keys.iter().map(entry).collect()
        }
    }
}

/// The keys under a label that have a part: the one under it, or those of a pair.
fn go_on(facility: &Facility, label: &Label, step: PartStep) -> Result<Vec<Entry>, Failure> {
    match find(facility, label) {
        Err(Failure::NoRecord(_)) => {}
        found => return Ok(vec![Entry::go_on(label, found?, step)?]),
    }
    let of_pair = |label: &Label| Entry::go_on(label, find(facility, label)?, step);
    pair::recorded(facility, label)?.iter().map(of_pair).collect()
}

/// Records the tokens: of a pair both or none. Fails if somebody else has changed a record meanwhile, since that would
/// lose a part.
fn record(facility: &Facility, step: PartStep, entries: &[Entry], tokens: &[Vec<u8>]) -> Result<(), Failure> {
    if step == PartStep::First {
        for (at, (entry, token)) in entries.iter().zip(tokens).enumerate() {
            if let Err(error) = facility.record_create(entry.store, &entry.label, token) {
                // The store makes one record in a call.
                for entry in &entries[..at] {
                    facility.record_delete(entry.store, &entry.label, false)?;
                }
                return Err(error.into());
            }
        }
        return Ok(());
    }
    for entry in entries {
        if facility.record_read(entry.store, &entry.label)? != entry.token {
            return Err(Failure::Usage(format!(
                "{}: somebody else entered a part meanwhile, and this one is not in the key: enter it again",
                entry.label
            )));
        }
    }
    if let ([one, two], [first, second]) = (entries, tokens) {
        return Ok(facility.record_write_both([(&one.label, &first[..]), (&two.label, &second[..])])?);
    }
    for (entry, token) in entries.iter().zip(tokens) {
        facility.record_write(entry.store, &entry.label, token)?;
    }
    Ok(())
}

/// The commands that delete what was begun.
fn deletions(entries: &[Entry]) -> String {
    let each = entries.iter().map(|entry| format!("`cryptand key delete {}`", entry.label));
    each.collect::<Vec<_>>().join(", ")
}

/// Whether the token lacks more than one part.
fn needs_more(token: &[u8]) -> bool {
    VariableToken::parse(token)
        .is_ok_and(|token| token.attributes().completeness() == Completeness::TwoMissing)
}

/// A key whose parts are being entered.
struct Entry {
    label: Label,
    /// What a key of payments does, for people.
    does: &'static str,
    store: Store,
    /// The key's token so far: a skeleton, or the key with some of its parts.
    token: Vec<u8>,
    algorithm: Algorithm,
    /// Lengths that a part may have, in bytes. Some tokens hide the length of their key.
    lengths: Vec<usize>,
    /// The least number of parts, given with the first part.
    least: Option<KeyPartsLeast>,
}

impl Entry {
    /// A key without parts: its skeleton.
    fn begin(
        facility: &Facility,
        label: &Label,
        (kind, words): (NamedKind, &Usage),
        parts: Option<u8>,
    ) -> Result<Self, Failure> {
        let algorithm = match kind {
            NamedKind::Des(..) => Algorithm::Des,
            NamedKind::Aes(..) => Algorithm::Aes,
            NamedKind::Hmac(_) => Algorithm::Hmac,
            NamedKind::AesData(bits) => {
                return Err(Failure::Usage(format!(
                    "aes{bits}: a key in a token of fixed length is not entered in parts; aes{bits}-cipher is"
                )));
            }
            NamedKind::Rsa(..) | NamedKind::Signing(_) | NamedKind::Agreeing(_) => {
                return Err(Failure::Usage(format!("{}: a key pair is not entered in parts", kind.name())));
            }
        };
        if algorithm == Algorithm::Des && parts.is_some() {
            return Err(Failure::Usage(
                "--parts: the token of a DES key does not count its parts".to_owned(),
            ));
        }
        let least = if parts == Some(3) { KeyPartsLeast::Three } else { KeyPartsLeast::Two };
        let token = kind.skeleton(words, None)?;
        let is_there = facility.records(None, label.as_str())?.iter().any(|row| row.label == *label);
        if is_there {
            return Err(Failure::Usage(format!(
                "{label}: this record exists: if it waits for another part, that is `last` or `add`; \
                 `cryptand key show {label}` says what it is"
            )));
        }
        let lengths = kind.key_bytes().into_iter().collect();
        let label = label.clone();
        Ok(Self { label, does: "", store: kind.store(), token, algorithm, lengths, least: Some(least) })
    }

    /// A key that has at least one part, from its record.
    fn go_on(label: &Label, (store, token): (Store, Vec<u8>), step: PartStep) -> Result<Self, Failure> {
        let is_complete =
            || Failure::Usage(format!("{label}: the key is complete, and takes no further part"));
        if let Ok(read) = DesToken::parse(&token) {
            if !read.control_vector().is_key_part() {
                return Err(is_complete());
            }
            let lengths = vec![read.form().key_bytes()];
            let (label, algorithm) = (label.clone(), Algorithm::Des);
            return Ok(Self { label, does: "", store, token, algorithm, lengths, least: None });
        }
        let Ok(read) = VariableToken::parse(&token) else {
            return Err(Failure::Usage(format!(
                "{label}: this is no key that is entered in parts; `cryptand key show {label}` says what it is"
            )));
        };
        let VariableKey::Wrapped { under: Wrapper::Master(_), payload } = read.key() else {
            return Err(Failure::Usage(format!(
                "{label}: a key from another system is not entered in parts"
            )));
        };
        match (read.attributes().completeness(), step) {
            (Completeness::Complete, _) => return Err(is_complete()),
            (Completeness::TwoMissing | Completeness::OneMissing, PartStep::Complete)
            | (Completeness::TwoMissing, PartStep::Last) => {
                return Err(Failure::Usage(format!(
                    "{label}: a part is missing: the next person types `cryptand key part {label} add`"
                )));
            }
            _ => {}
        }
        let key_type = read.key_type();
        let longest = payload.len().saturating_sub(PAYLOAD_BYTES);
        let hides = read.payload_version() == token::variable::PayloadVersion::Fixed;
        let shortest = if hides { 0 } else { longest.saturating_sub(7) };
        let lengths = (shortest..=longest).filter(|bytes| key_type.has_length(*bytes)).collect();
        let algorithm = if key_type.is_aes() { Algorithm::Aes } else { Algorithm::Hmac };
        Ok(Self { label: label.clone(), does: "", store, token, algorithm, lengths, least: None })
    }

    /// A typed part: asked for twice on a terminal, without echo.
    fn typed(&self, label: &Label, sheet: &Sheet) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let (part, found) = prompt::until_valid(|| {
            let digits = self.lengths(2);
            let part = self.once(&format!("Part of {label}, {digits} hexadecimal digits: "))?;
            if stdin().is_terminal() && *part != *self.once("  The same once more: ")? {
                return Err(Failure::Usage("the two differ".to_owned()));
            }
            // The low bits of DES are parity, and no part of the key.
            let counts = if self.algorithm == Algorithm::Des { 0xFE } else { 0xFF };
            if part.iter().fold(0, |all, byte| all | byte & counts) == 0 {
                return Err(Failure::Usage(
                    "a part of zeros leaves the key to who typed the others".to_owned(),
                ));
            }
            let found = sheet.has(self.algorithm, &part)?;
            Ok((part, found))
        })?;
        let of_sheet = found.map(|found| format!("; that of the sheet: {found}")).unwrap_or_default();
        eprintln!("  this part: {}{of_sheet}", sheet::value(self.algorithm, &part)?);
        Ok(part)
    }

    fn once(&self, question: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let part = prompt::hexadecimal(&prompt::secret(question)?)?;
        if self.lengths.contains(&part.len()) {
            return Ok(part);
        }
        Err(Failure::Usage(format!("a part has {} bytes, not {}", self.lengths(1), part.len())))
    }

    /// The allowed lengths of a part as text, in units of which a byte has `units` (2 for hexadecimal digits).
    fn lengths(&self, units: usize) -> String {
        match self.lengths.as_slice() {
            [first, .., last] if self.lengths.len() > 3 => format!("{} to {}", first * units, last * units),
            lengths => {
                let lengths: Vec<String> = lengths.iter().map(|bytes| (bytes * units).to_string()).collect();
                lengths.join(" or ")
            }
        }
    }

    /// The token after this step: with the part added, or completed without a further part.
    fn with(
        &self,
        facility: &Facility,
        domain: u16,
        step: PartStep,
        part: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let algorithm = match self.algorithm {
            Algorithm::Des => {
                let step = match step {
                    PartStep::First => KeyPart::First,
                    PartStep::Add => KeyPart::Added,
                    PartStep::Last => KeyPart::Last,
                    PartStep::Complete => KeyPart::Complete,
                };
                return des(facility, domain, step, &self.token, part);
            }
            Algorithm::Aes => VariableAlgorithm::Aes,
            Algorithm::Hmac => VariableAlgorithm::Hmac,
        };
        let step_by = |step, given: &[u8], clear_key_part: &[u8]| {
            let ask = kpi2::Ask {
                least: self.least,
                clear_key_part,
                key_identifier: Room { given, bytes: TOKEN_BYTES_MAX },
                ..kpi2::Ask::new(algorithm, step)
            };
            let answered = facility.ask(domain, &ask)?;
            explained("key-part-import2", answered.codes())?;
            Ok(answered.got().key_identifier.to_vec())
        };
        let add = |part| step_by(VariableKeyPart::Add, &self.token, part);
        match step {
            PartStep::First => step_by(VariableKeyPart::First, &self.token, part),
            PartStep::Add => add(part),
            PartStep::Last => step_by(VariableKeyPart::Complete, &add(part)?, &[]),
            PartStep::Complete => step_by(VariableKeyPart::Complete, &self.token, &[]),
        }
    }
}

fn des(
    facility: &Facility,
    domain: u16,
    step: KeyPart,
    token: &[u8],
    part: &[u8],
) -> Result<Vec<u8>, Failure> {
    let mut padded =
        Zeroizing::new(vec![0; if part.is_empty() { 0 } else { part.len().max(DES_PART_BYTES) }]);
    padded.iter_mut().zip(part).for_each(|(byte, typed)| *byte = *typed);
    let ask = kpi::Ask { key_part: &padded, key_identifier: token.into(), ..kpi::Ask::new(step) };
    let answered = facility.ask(domain, &ask)?;
    explained("key-part-import", answered.codes())?;
    let token = answered.got().key_identifier.to_vec();
    if token.len() == TOKEN_BYTES { Ok(token) } else { Err(Failure::Unexpected("key-part-import")) }
}

/// The error for a refused part, in terms of the part that was typed.
fn explained(verb: &'static str, codes: Codes) -> Result<(), Failure> {
    match codes {
        code::KEY_BITS => {
            Err(Failure::Usage("the part is of another length than those before; nothing was recorded".to_owned()))
        }
        code::KEY_REPLICATED => Err(Failure::Usage(
            "with this part two pieces of 8 bytes of the key are equal, as when the same part is entered twice; nothing was recorded"
                .to_owned(),
        )),
        _ => complete(verb, codes),
    }
}
