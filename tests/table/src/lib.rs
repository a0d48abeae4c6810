//! Example shells: functions for programs in other languages, made from rows of the verb table and nothing else.
//!
//! They show that the table says all that such a shell has to know: names, order and direction of parameters, how many
//! bytes of a caller's field are read and written, where a null pointer may stand, and what memory is wiped.
//!
//! | shell | module |
//! |---|---|
//! | C, with CCA's calling convention: every parameter a pointer | [`c`] |
//! | Python, over the C functions by ctypes | [`python`] |
//!
//! A shell sends the payload of [`wire::frame`] and checks no argument. An impossible length (negative, or longer than
//! a payload) is sent without the bytes that it counts, and the verb answers what is wrong with it. The shell itself
//! refuses only a null pointer where the table does not allow one, with 8/21.
#![forbid(unsafe_code)]

pub mod c;
pub mod python;

use wire::verb::{Direction, Entry, Kind, Length, Parameter};

/// The field of a parameter; none for an integer.
fn field_of(kind: Kind) -> Option<Field> {
    match kind {
        Kind::Integer => None,
        Kind::Bytes(length) | Kind::Key { length, .. } => Some(Field::Bytes(length)),
        Kind::Keywords(count) => Some(Field::Keywords(count)),
    }
}

/// How long a field is.
#[derive(Clone, Copy)]
enum Field {
    Bytes(Length),
    Keywords(usize),
}

/// Whether a parameter is a rule array that goes in and out.
fn returns_keywords(parameter: &Parameter) -> bool {
    matches!(parameter.kind, Kind::Keywords(_)) && parameter.direction == Direction::InOut
}

/// Name of the rule array that a verb is given; `None` where it takes none.
fn rule_array(entry: &Entry) -> Option<&'static str> {
    let is_rules = |kind| matches!(kind, Kind::Keywords(_));
    let given = entry
        .parameters
        .iter()
        .find(|parameter| is_rules(parameter.kind) && parameter.direction != Direction::Out);
    given.map(|parameter| parameter.name)
}
