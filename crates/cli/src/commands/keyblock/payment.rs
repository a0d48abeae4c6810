//! `cryptand keyblock import --type`: the key of a block as a key or a pair of payments. A block whose mode means one
//! key alone becomes that key of the pair.

use super::super::key::{self, pair};
use crate::args::{GivenBlock, PairEnd};
use crate::describe::tr31;
use crate::encoded::shown;
use crate::failure::Failure;
use crate::kind::TypedKind;
use crate::session;
use facility::keys::{NamedKind, PaymentKey, PaymentKind};
use std::path::Path;
use token::DesToken;
use token::tr31::Tr31;
use token::tr31::uses::{Meaning, UsageRow, rows};
use token::variable::VariableType;
use wire::Label;
use zeroize::Zeroizing;

/// The key that is asked for.
pub struct Wanted {
    pub label: Label,
    pub kind: TypedKind,
    pub only: Option<PairEnd>,
    pub domain: u16,
}

/// Imports the key of a block once for each key of the kind that its header means.
pub fn import(
    asked: Option<&Path>,
    block: &GivenBlock,
    wanted: &Wanted,
    under: &Label,
) -> Result<(), Failure> {
    let TypedKind::Payment(kind) = wanted.kind else {
        return Err(Failure::Usage(
            "--type: a kind of payments, such as zpk; of others the block says the kind, and --as what it leaves open".to_owned(),
        ));
    };
    let keys = pair::keys(&wanted.label, kind, &[], wanted.only)?;
    let (name, text, facility) = match &block.block {
        Some(path) => (shown(path), super::read(path)?, None),
        None => {
            let label = super::parse(block.recorded.as_deref().unwrap_or_default())?;
            let facility = session::connect(asked)?;
            let (_, token) = key::find(&facility, &label)?;
            (label.to_string(), Zeroizing::new(token), Some(facility))
        }
    };
    let meant = meant(&name, &text, kind, &keys)?;
    let facility = facility.map_or_else(|| session::connect(asked), Ok)?;
    let (mut new, mut tokens) = (Vec::new(), Vec::new());
    for (key, row) in meant {
        let words: Vec<String> = row.keyword().into_iter().map(str::to_owned).collect();
        let token = super::imported(&facility, (&text, None), under, &words, wanted.domain)?;
        let is_of_length = DesToken::parse(&token).map(|token| token.form().key_bytes());
        if let Some(bytes) = is_of_length.ok().filter(|bytes| *bytes != kind.key_bytes()) {
            let other = kind.of_length(bytes).map(|kind| format!("; say --type {}", kind.name()));
            return Err(Failure::Usage(format!(
                "{name}: a key of {bytes} bytes, and {} has {}; nothing was recorded{}",
                kind.name(),
                kind.key_bytes(),
                other.unwrap_or_default()
            )));
        }
        new.push(key);
        tokens.push(token);
    }
    pair::create(&facility, &new, &tokens)?;
    for (label, key) in &new {
        eprintln!("{label}: imported and recorded; it {}", key.does);
    }
    for (label, _) in keys.iter().filter(|(label, _)| new.iter().all(|(made, _)| made != label)) {
        eprintln!("{label}: none, for the mode of the block gives no such key");
    }
    pair::print_check_value(&facility, wanted.domain, &new, &tokens)
}

type Labelled = (Label, PaymentKey);

/// The keys of the kind that the header of a block means, each with the row by which it comes in.
fn meant(
    name: &str,
    text: &[u8],
    kind: PaymentKind,
    keys: &[Labelled],
) -> Result<Vec<(Labelled, &'static UsageRow)>, Failure> {
    let block = Tr31::parse(text).map_err(|error| Failure::Damaged(format!("{name}: {error}")))?;
    let (usage, mode, algorithm) = (block.usage(), block.mode(), block.algorithm());
    let unfit = |cause: String| {
        Failure::Usage(format!(
            "{name}: usage {usage}, mode {mode}, {}: {cause}; without --type the block says what its key is",
            tr31::algorithm(algorithm)
        ))
    };
    if !kind.block_usages().contains(&usage) {
        let usages = kind.block_usages().join(" or ");
        return Err(unfit(format!("no {}, whose blocks have usage {usages}", kind.name())));
    }
    let (&[first, second], &[mode], &[algorithm]) = (usage.as_bytes(), mode.as_bytes(), algorithm.as_bytes())
    else {
        return Err(unfit(format!("no {}", kind.name())));
    };
    let row_of = |key: &PaymentKey| rows([first, second], algorithm, mode).find(|row| is_of(key, row));
    let meant: Vec<_> = keys.iter().filter_map(|key| Some((key.clone(), row_of(&key.1)?))).collect();
    if meant.is_empty() {
        return Err(unfit(format!("no key of {} has this mode and algorithm", kind.name())));
    }
    Ok(meant)
}

/// Whether a row means this key: its type, and of PIN keys of AES the direction.
fn is_of(key: &PaymentKey, row: &UsageRow) -> bool {
    match (key.kind, row.meaning) {
        (NamedKind::Des(_, own), Meaning::Des(of, _)) => own == of,
        (NamedKind::Aes(_, own), Meaning::Variable(of, words)) => {
            let is_direction = words.contains(&"ENCRYPT") == (key.end == "OUT");
            own == of && (own != VariableType::PinProt || is_direction)
        }
        _ => false,
    }
}
