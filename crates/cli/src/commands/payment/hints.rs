//! What to do about a refusal of a payment verb: which key, which point of a role, which command.

use super::call::Taken;
use wire::bounds::KEYWORD_BYTES;
use wire::point::{Kind, Point, keywords};
use wire::verb::Verb;
use wire::{Codes, code};

/// What stands behind the codes in a message.
pub fn hint(
    verb: Verb,
    words: &[[u8; KEYWORD_BYTES]],
    codes: Codes,
    (takes, controls): (&[Taken], &[Point]),
) -> String {
    match codes {
        code::ACCESS_DENIED => points(verb, words, controls),
        code::KEY_USAGE | code::TOKEN_INVALID | code::CONTROL_VECTOR_NOT_DATA | code::TOKEN_VERSION => {
            let keys: Vec<String> =
                takes.iter().map(|(option, what)| format!("{option} takes {what}")).collect();
            format!("{}; `cryptand key show LABEL` says what a key is", keys.join(", "))
        }
        code::LABEL_NOT_FOUND => "`cryptand key list` shows those there are".to_owned(),
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
        code::MASTER_KEY_NOT_LOADED => "`cryptand health` says what to do".to_owned(),
        _ => format!("`cryptand verb {}` describes the verb", verb.entry().name),
    }
}

/// Which points a request takes, and what else may be the cause.
fn points(verb: Verb, words: &[[u8; KEYWORD_BYTES]], controls: &[Point]) -> String {
    let mut needed = vec![verb.entry().point];
    let rows = keywords::of(verb).iter().filter(|row| row.applies(words)).map(|row| row.point);
    for point in rows.chain(controls.iter().copied()) {
        if !needed.contains(&point) {
            needed.push(point);
        }
    }
    let name = |point: &Point| match point.entry().kind {
        Kind::Permits => point.entry().name.to_owned(),
        Kind::Forbids => format!("{} lifted", point.entry().name),
    };
    let names: Vec<String> = needed.iter().map(name).collect();
    let text = format!(
        "it takes a role with {}: `cryptand role check WHO LABEL {}` says what is refused, docs/payments.md what lifting it \
         re-opens",
        names.join(", "),
        verb.entry().name
    );
    if matches!(verb, Verb::EncryptedPinVerify | Verb::EncryptedPinVerify2) {
        return format!("too many PINs were wrong (`cryptand pin failures list`), or {text}");
    }
    text
}
