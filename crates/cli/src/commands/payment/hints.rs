//! What to do about a refusal of a payment verb: which key, which point of a role, which command.

use super::call::Taken;
use wire::bounds::KEYWORD_BYTES;
use wire::point::{Point, PointEffect, keywords};
use wire::verb::Verb;
use wire::{Codes, code};

/// The parts of a request that may be the cause of a refusal.
#[derive(Default)]
pub struct Said<'a> {
    /// Options of the keys, and the key types that they take.
    pub takes: &'a [Taken],
    /// The option that each label came from.
    pub labels: &'a [(&'static str, String)],
    /// Access-control points needed besides those of the keywords.
    pub controls: &'a [Point],
}

/// The advice that follows the codes in a message.
pub fn hint(verb: Verb, words: &[[u8; KEYWORD_BYTES]], codes: Codes, said: &Said<'_>) -> String {
    let Said { takes, labels, controls } = said;
    match codes {
        code::ACCESS_DENIED => points(verb, words, controls),
        code::KEY_USAGE | code::TOKEN_INVALID | code::CONTROL_VECTOR_NOT_DATA | code::TOKEN_VERSION => {
            listed(
                takes.iter().map(|(option, what)| format!("{option} takes {what}")),
                "`cryptand key show LABEL` says what a key is",
            )
        }
        code::LABEL_NOT_FOUND => listed(
            labels.iter().enumerate().map(|(at, (option, label))| {
                format!("{}{option} {label}", if at == 0 { "looked for: " } else { "" })
            }),
            "`cryptand key list` shows those there are",
        ),
        code::PIN_FORMAT if matches!(verb, Verb::EncryptedPinVerify2 | Verb::EncryptedPinTranslate2) => {
            "it takes blocks of iso-0 to iso-3 and 3624, of translations also iso-4".to_owned()
        }
        code::PIN_CHECK_LENGTH => {
            "fewer than four digits are checked in roles with pin-enhanced-security lifted alone".to_owned()
        }
        code::PAN => "a PAN has 8 to 19 digits; for --change-of digits both have equally many".to_owned(),
        code::SEQUENCE_NUMBER => "--sequence gives the one of blocks of 3621 and 4704-epp".to_owned(),
        code::VERIFICATION_FAILED => "what is to prove that another PAN takes the place does not".to_owned(),
        code::PIN_BLOCK => "the block is not under this key, or of another format or PAN".to_owned(),
        code::DECIMALISATION_TABLE => {
            "`cryptand pin table list` shows those that are stored, `cryptand pin table add` stores one"
                .to_owned()
        }
        code::KEY_SERIAL if verb == Verb::UniqueKeyDerive => {
            "an initial key is as long as its base key: --kind says which that is".to_owned()
        }
        code::KEY_SERIAL | code::SERIAL_COUNTER => {
            "`cryptand dukpt show KSN` says what it is of, and which counters there are".to_owned()
        }
        code::RSA_BLOCK if verb == Verb::Tr31KeyImport => {
            "the block was changed on its way, or its protection key is another: compare check values (`cryptand key test`)"
                .to_owned()
        }
        code::KEY_LENGTH_KEYWORD if verb == Verb::Tr31KeyImport => {
            "keys of this usage have another length: of B0, C0, E0 to E6 and V2 two parts (`cryptand help keyblocks`)".to_owned()
        }
        code::KEYWORD_REQUIRED if verb == Verb::Tr31KeyImport => {
            "usage and mode mean more than one key: --as says which (`cryptand help keyblocks`)".to_owned()
        }
        code::KEY_REPLICATED => {
            "two parts of the key are equal, so that it is as weak as a shorter one: issuer keys like that are for homes that permit weak \
             algorithms, keys that wrap others for none"
                .to_owned()
        }
        code::STRENGTH => "a key goes under one that is at least as strong, and derives of such a one".to_owned(),
        code::MASTER_KEY_NOT_LOADED => "`cryptand health` says what to do".to_owned(),
        _ => format!("`cryptand verb {}` describes the verb", verb.entry().name),
    }
}

/// The known causes, separated by commas, and the command to look further.
fn listed(known: impl Iterator<Item = String>, next: &str) -> String {
    let known = known.collect::<Vec<_>>().join(", ");
    if known.is_empty() { next.to_owned() } else { format!("{known}; {next}") }
}

/// The access-control points that a request needs, and other possible causes of a refusal.
fn points(verb: Verb, words: &[[u8; KEYWORD_BYTES]], controls: &[Point]) -> String {
    let mut needed = vec![verb.entry().point];
    let rows = keywords::of(verb).iter().filter(|row| row.applies(words)).map(|row| row.point);
    for point in rows.chain(controls.iter().copied()) {
        if !needed.contains(&point) {
            needed.push(point);
        }
    }
    let name = |point: &Point| match point.entry().effect {
        PointEffect::Permits => point.entry().name.to_owned(),
        PointEffect::Forbids => format!("{} lifted", point.entry().name),
    };
    let names: Vec<String> = needed.iter().map(name).collect();
    let text = format!(
        "it takes a role with {}: `cryptand role check WHO LABEL {}` says what is refused, `cryptand help payments` what lifting it \
         re-opens",
        names.join(", "),
        verb.entry().name
    );
    if matches!(verb, Verb::EncryptedPinVerify | Verb::EncryptedPinVerify2) {
        return format!("too many PINs were wrong (`cryptand pin failures list`), or {text}");
    }
    text
}
