//! The rows of all families as one table, the positions of their parameters, and their typed requests and answers.

use super::answer::{self, TypedAnswer, answer, is_of_input, step};
use super::ask::{self, Filled, Key, Room, TypedAsk, TypedGot, ask, got};
use super::fault::Fault;
use super::keywords::*;
use super::request::{self, Buffer, TypedRequest, request};
use super::types::*;
use crate::bounds::{KEYWORD_BYTES, KEYWORDS_MAX};
use crate::code::{self, Codes};
use crate::for_each_verb;
use crate::frame::{Argument, Arguments};
use crate::parameters::{self, *};
use crate::point::Point;
use crate::registers::{Register, RegisterSet};

const fn kebab<const N: usize>(snake: &str) -> [u8; N] {
    replaced(snake, b'_', b'-')
}

/// The codes that refuse a field whose length is not the value of this integer.
macro_rules! codes {
    (Length($codes:ident)) => {
        code::$codes
    };
    ($kind:ident $(($($of:tt)*))?) => {
        code::INVALID_PARAMETER
    };
}

macro_rules! rules {
    () => {
        &[]
    };
    ($rules:ident) => {
        $rules
    };
}

macro_rules! is_open {
    () => {
        false
    };
    ($others:ident) => {
        true
    };
}

macro_rules! table {
    ($(
        $(#[$doc:meta])*
        $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $executor:ident {
            class: $class:ident; audited: $audited:ident; needs: [$($register:ident)*]; lanes: $kernel:ident;
            asks: [$($asked:ident)*];
            keywords: $least:tt to $most:tt { $($choice:ident: $group:ident $($required:ident)?),* $(,)? }
                $(, rules $rules:ident)? $(, others $others:ident)? $(, answers $answers:ident)?;
            parameters {
                $($parameter:ident: $direction:ident $kind:ident $(($($of:tt)*))? $(for $use:ident)? $(, $mark:ident)*;)*
            }
        }
    )*) => {
        /// The row of every verb.
        pub static TABLE: &[Entry] = ROWS;

        pub(super) const ROWS: &[Entry] = &[$(Entry {
            verb: Verb::$verb,
            slot: $slot,
            name: $module::VERB_NAME,
            entry_point: $entry_point,
            class: Class::$class,
            executor: Executor::$executor,
            audited: Audit::$audited,
            registers: RegisterSet::of(&[$(Register::$register),*]),
            kernel: Kernel::$kernel,
            point: Point::$verb,
            asks: &[$(Point::$asked),*],
            keywords: $module::KEYWORDS,
            secret: any_secret(parameters::$module::PARAMETERS),
            parameters: parameters::$module::PARAMETERS,
        }),*];

        $(
            #[doc = concat!("`", stringify!($module), "`: positions of its parameters, its request and its answer.")]
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
            pub mod $module {
                use super::*;
                use crate::parameters::$module::PARAMETERS;
                #[allow(unused_imports)]
                pub use crate::parameters::$module::{$($parameter),*};
                pub(super) const VERB_NAME: &str = {
                    const SNAKE: &str = stringify!($module);
                    const KEBAB: [u8; SNAKE.len()] = kebab(SNAKE);
                    text(&KEBAB)
                };
                #[allow(dead_code)]
                enum Chosen { $($choice),* }
                const GROUPS: &[Group] = &[$($group::GROUP),*];
                const RULES: &[Rule] = rules!($($rules)?);
                const WORDS: [u64; count(GROUPS)] = flat(GROUPS);
                const SETS: [GroupSet; GROUPS.len()] = group_sets(GROUPS);
                const CONDITIONS: [Condition; RULES.len()] = conditions(&WORDS, RULES);
                pub(super) const KEYWORDS: RuleArray = RuleArray {
                    least: $least,
                    most: $most,
                    groups: GROUPS,
                    rules: RULES,
                    open: is_open!($($others)?),
                    answers: rules!($($answers)?),
                    words: &WORDS,
                    sets: &SETS,
                    conditions: &CONDITIONS,
                };
                const _: () = assert!(KEYWORDS.least <= KEYWORDS.most && KEYWORDS.most <= KEYWORDS_MAX);
                const _: () = assert!(gives_as_many_as_said(PARAMETERS, &KEYWORDS));
                const KEYWORDS_AT: Option<(usize, usize)> = keywords_at(PARAMETERS);
                #[allow(dead_code)]
                const CODES: &[Codes] = &[$(codes!($kind $(($($of)*))?)),*];
                request! {
                    'a arguments {} {} {} { $verb { $($choice: $group),* } $($others)? }
                    $($parameter: $direction $kind $(($($of)*))? [$($mark)*];)*
                }
                $(const _: () = assert!(is_required::<$group>(&[$(stringify!($required))?]));)*
                ask! {
                    {} {} {} {} {} {} { asked place arguments } { 'a $verb $($others)? }
                    { $($choice: $group $($required)?,)* }
                    { $($parameter: $direction $kind $(($($of)*))? [$($mark)*];)* }
                }
                got! {
                    'r arguments {} {} { $verb }
                    $($parameter: $direction $kind $(($($of)*))? [$($mark)*];)*
                }
                answer! {
                    'a answer {} {} { $verb $($parameter)* }
                    $($parameter: $direction $kind $(($($of)*))? [$($mark)*];)*
                }
            }
        )*
    };
}

for_each_verb! { table }

/// Whether a row marks a group as required exactly if the group is required.
const fn is_required<G: Choice>(marks: &[&str]) -> bool {
    matches!(G::GROUP.need, Need::Required) != marks.is_empty()
}

const fn any_secret(parameters: &[Parameter]) -> bool {
    let mut position = 0;
    while position < parameters.len() {
        if parameters[position].secret {
            return true;
        }
        position += 1;
    }
    false
}

/// Positions of count and keywords of an incoming rule array; none if there is no such array.
const fn keywords_at(parameters: &[Parameter]) -> Option<(usize, usize)> {
    let mut position = 0;
    while position < parameters.len() {
        if let Kind::Keywords(count) = parameters[position].kind
            && !matches!(parameters[position].direction, Direction::Out)
        {
            return Some((count, position));
        }
        position += 1;
    }
    None
}

/// Whether a row lists the elements of a returned rule array exactly if a rule array travels both
/// ways.
const fn gives_as_many_as_said(parameters: &[Parameter], keywords: &RuleArray) -> bool {
    let (mut position, mut is_both) = (0, false);
    while position < parameters.len() {
        is_both |= matches!(parameters[position].kind, Kind::Keywords(_))
            && matches!(parameters[position].direction, Direction::InOut);
        position += 1;
    }
    is_both != keywords.answers.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_names_an_integer_that_travels_before_it() {
        for entry in TABLE {
            for parameter in entry.parameters {
                let by = match parameter.kind {
                    Kind::Bytes(Length::By(by) | Length::Padded { by, .. })
                    | Kind::Key { length: Length::By(by), .. }
                    | Kind::Keywords(by) => by,
                    _ => continue,
                };
                let integer = entry.parameters[by];
                assert_eq!(integer.kind, Kind::Integer, "{}.{}", entry.name, parameter.name);
                assert_ne!(integer.direction, Direction::Out, "{}.{}", entry.name, parameter.name);
            }
        }
    }
}
