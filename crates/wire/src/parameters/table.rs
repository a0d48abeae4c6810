//! Verbs by their numbers, and the parameters of each: made by macros from the rows.

use super::keyed::*;
use super::types::*;
use crate::for_each_verb;
use crate::uses::Uses;

const fn lower<const N: usize>(upper: &str) -> [u8; N] {
    replaced(upper, b'_', b'_')
}

pub(crate) const fn replaced<const N: usize>(from: &str, this: u8, by: u8) -> [u8; N] {
    let mut out = [0; N];
    let mut index = 0;
    while index < N {
        let byte = from.as_bytes()[index].to_ascii_lowercase();
        out[index] = if byte == this { by } else { byte };
        index += 1;
    }
    out
}

pub(crate) const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("identifiers are ASCII"),
    }
}

/// The kind of a parameter, from the kind in its row: a `Length` is an integer that gives the
/// length of another parameter.
macro_rules! kind {
    (Length $(($codes:ident))?) => {
        Kind::Integer
    };
    ($kind:ident $(($($of:tt)*))?) => {
        $kind $(($($of)*))?
    };
}

macro_rules! used_for {
    () => {
        Uses::NONE
    };
    ($use:ident) => {
        Uses::$use
    };
}

macro_rules! is_length {
    (Length $(($codes:ident))?) => {
        true
    };
    ($kind:ident $(($($of:tt)*))?) => {
        false
    };
}

macro_rules! parameters {
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
        /// A verb, by its number on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Verb {
            $($(#[$doc])* $verb = $number,)*
        }

        #[allow(clippy::upper_case_acronyms)]
        enum Row { $($verb),* }

        impl Verb {
            /// Position of the verb in the table.
            pub(crate) const fn row(self) -> usize {
                match self { $(Self::$verb => Row::$verb as usize),* }
            }

            /// Parameters of the verb, in order.
            #[inline]
            pub(crate) fn parameters(self) -> &'static [Parameter] {
                PARAMETERS[self.row()]
            }
        }

        /// The parameters of every verb, in the order of the rows.
        static PARAMETERS: &[&[Parameter]] = &[$($module::PARAMETERS),*];

        $(
            #[doc = concat!("`", stringify!($module), "`: positions of its parameters.")]
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
            pub mod $module {
                #[allow(unused_imports)]
                use super::*;
                #[allow(unused_imports)]
                use {Kind::*, Length::*};
                enum Position { $($parameter,)* #[allow(dead_code)] Count }
                $(pub const $parameter: usize = Position::$parameter as usize;)*
                const _: () = assert!((Position::Count as usize) <= crate::bounds::PARAMETERS_MAX);
                const _: () = assert!(keys(PARAMETERS) <= crate::bounds::KEYS_MAX);
                const _: () = assert!(keys_have_uses(PARAMETERS), "each key says what it is used for");
                const _: () = assert!(lengths_are_named(PARAMETERS, &[$(is_length!($kind $(($($of)*))?)),*]));
                pub(crate) const PARAMETERS: &[Parameter] = &[$(Parameter {
                    name: {
                        const UPPER: &str = stringify!($parameter);
                        const LOWER: [u8; UPPER.len()] = lower(UPPER);
                        text(&LOWER)
                    },
                    direction: Direction::$direction,
                    kind: kind!($kind $(($($of)*))?),
                    secret: has(&[$(stringify!($mark)),*], "secret"),
                    null: null(KINDS, MUST_BE_EMPTY, $parameter, &[$(stringify!($mark)),*]),
                    uses: used_for!($($use)?),
                }),*];
                #[allow(dead_code)]
                const KINDS: &[Kind] = &[$(kind!($kind $(($($of)*))?)),*];
                #[allow(dead_code)]
                const MUST_BE_EMPTY: &[bool] = &[$(has(&[$(stringify!($mark)),*], "empty")),*];
            }
        )*
    };
}

for_each_verb! { parameters }

/// Whether a row marks a parameter with this word.
const fn has(marks: &[&str], wanted: &str) -> bool {
    let mut mark = 0;
    while mark < marks.len() {
        if is(marks[mark], wanted) {
            return true;
        }
        mark += 1;
    }
    false
}

pub(crate) const fn is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Whether a parameter may be a null pointer. A field whose length is another parameter may be null at length 0, and
/// so may the length of a field that must be empty.
const fn null(kinds: &[Kind], must_be_empty: &[bool], position: usize, marks: &[&str]) -> Null {
    match kinds[position] {
        _ if has(marks, "reserved") => Null::Ignored,
        _ if has(marks, "optional") => Null::Empty,
        Kind::Integer if counts_nothing(kinds, must_be_empty, position) => Null::Empty,
        Kind::Bytes(
            Length::By(_) | Length::Padded { .. } | Length::Bits(_) | Length::Words(_) | Length::Keyed(_),
        ) => Null::Empty,
        Kind::Key { length: Length::By(_) | Length::Bits(_) | Length::Keyed(_), .. } => Null::Empty,
        Kind::Keywords(_) => Null::Empty,
        _ => Null::Refused,
    }
}

/// Whether an integer is the length of a field that must be empty.
const fn counts_nothing(kinds: &[Kind], must_be_empty: &[bool], integer: usize) -> bool {
    let mut position = 0;
    while position < kinds.len() {
        if let Kind::Bytes(Length::By(by)) = kinds[position]
            && by == integer
            && must_be_empty[position]
        {
            return true;
        }
        position += 1;
    }
    false
}

const fn uses(length: Length) -> Kind {
    Kind::Key { length, role: Role::Uses }
}

const fn renews(length: Length) -> Kind {
    Kind::Key { length, role: Role::Renews }
}

const fn makes(length: Length) -> Kind {
    Kind::Key { length, role: Role::Makes }
}

const fn skeleton(length: Length) -> Kind {
    Kind::Key { length, role: Role::Skeleton }
}

/// Whether the parameters marked as lengths, and no other integers, give the length of another
/// parameter.
const fn lengths_are_named(parameters: &[Parameter], lengths: &[bool]) -> bool {
    let mut position = 0;
    while position < parameters.len() {
        let (mut named, mut other) = (false, 0);
        while other < parameters.len() {
            named |= match parameters[other].kind {
                Kind::Bytes(
                    Length::By(by) | Length::Padded { by, .. } | Length::Bits(by) | Length::Words(by),
                )
                | Kind::Key { length: Length::By(by) | Length::Bits(by), .. }
                | Kind::Keywords(by) => by == position,
                _ => false,
            };
            other += 1;
        }
        if named != lengths[position] {
            return false;
        }
        position += 1;
    }
    true
}

/// Whether every key says what it is used for.
const fn keys_have_uses(parameters: &[Parameter]) -> bool {
    let mut position = 0;
    while position < parameters.len() {
        let parameter = &parameters[position];
        if matches!(parameter.kind, Kind::Key { .. }) && parameter.uses.is_none() {
            return false;
        }
        position += 1;
    }
    true
}

/// Number of key parameters among these.
const fn keys(parameters: &[Parameter]) -> usize {
    let (mut position, mut count) = (0, 0);
    while position < parameters.len() {
        if matches!(parameters[position].kind, Kind::Key { .. }) {
            count += 1;
        }
        position += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verb_does_without_may_be_null() {
        let null = |verb: Verb, position: usize| verb.parameters()[position].null;
        let build = Verb::PkaKeyTokenBuild;
        assert_eq!(null(build, pka_key_token_build::RESERVED_5_LENGTH), Null::Empty);
        assert_eq!(null(build, pka_key_token_build::RESERVED_5), Null::Empty);
        assert_eq!(null(build, pka_key_token_build::KEY_NAME_LN), Null::Refused);
        assert_eq!(null(Verb::Encipher, encipher::INITIALIZATION_VECTOR), Null::Empty);
        assert_eq!(null(Verb::Encipher, encipher::CHAINING_VECTOR), Null::Refused);
        assert_eq!(null(Verb::KeyTokenBuild, key_token_build::RESERVED_FIELD_2), Null::Ignored);
    }
}
