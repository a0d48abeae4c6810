//! The rows of all families as one table, and the positions of their parameters.

use super::keywords::*;
use super::types::*;
use crate::for_each_verb;
use crate::point::Point;

const fn kebab<const N: usize>(snake: &str) -> [u8; N] {
    replaced(snake, b'_', b'-')
}

const fn lower<const N: usize>(upper: &str) -> [u8; N] {
    replaced(upper, b'_', b'_')
}

const fn replaced<const N: usize>(from: &str, this: u8, by: u8) -> [u8; N] {
    let mut out = [0; N];
    let mut index = 0;
    while index < N {
        let byte = from.as_bytes()[index].to_ascii_lowercase();
        out[index] = if byte == this { by } else { byte };
        index += 1;
    }
    out
}

const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("identifiers are ASCII"),
    }
}

macro_rules! table {
    ($(
        $(#[$doc:meta])*
        $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $place:ident {
            class: $class:ident; audited: $audited:literal;
            keywords: $keywords:expr;
            parameters { $($parameter:ident: $direction:ident $kind:expr $(, $mark:ident)*;)* }
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
            /// Its position in the table.
            pub(super) const fn row(self) -> usize {
                match self { $(Self::$verb => Row::$verb as usize),* }
            }
        }

        /// Every verb.
        pub static TABLE: &[Entry] = ROWS;

        pub(super) const ROWS: &[Entry] = &[$(Entry {
            verb: Verb::$verb,
            slot: $slot,
            name: $module::NAME,
            entry_point: $entry_point,
            class: Class::$class,
            place: Place::$place,
            audited: $audited,
            point: Point::$verb,
            keywords: $module::KEYWORDS,
            secret: any_secret($module::PARAMETERS),
            parameters: $module::PARAMETERS,
        }),*];

        $(
            #[doc = concat!("Positions of the parameters of `", stringify!($module), "`.")]
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
            pub mod $module {
                use super::*;
                #[allow(unused_imports)]
                use {Kind::*, Length::*};
                enum Position { $($parameter,)* #[allow(dead_code)] Count }
                $(pub const $parameter: usize = Position::$parameter as usize;)*
                const _: () = assert!((Position::Count as usize) <= crate::bounds::PARAMETERS_MAX);
                const _: () = assert!(keys(PARAMETERS) <= crate::bounds::KEYS_MAX);
                pub(super) const NAME: &str = {
                    const SNAKE: &str = stringify!($module);
                    const KEBAB: [u8; SNAKE.len()] = kebab(SNAKE);
                    text(&KEBAB)
                };
                pub(super) const KEYWORDS: RuleArray = $keywords;
                pub(super) const PARAMETERS: &[Parameter] = &[$(Parameter {
                    name: {
                        const UPPER: &str = stringify!($parameter);
                        const LOWER: [u8; UPPER.len()] = lower(UPPER);
                        text(&LOWER)
                    },
                    direction: Direction::$direction,
                    kind: $kind,
                    secret: has(&[$(stringify!($mark)),*], "secret"),
                    null: null($kind, &[$(stringify!($mark)),*]),
                }),*];
            }
        )*
    };
}

for_each_verb! { table }

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

const fn is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// A parameter whose length is said beside it may be missing where that is 0.
const fn null(kind: Kind, marks: &[&str]) -> Null {
    match kind {
        _ if has(marks, "reserved") => Null::Ignored,
        Kind::Bytes(Length::By(_) | Length::Bits(_) | Length::Keyed(_)) => Null::Empty,
        Kind::Key { length: Length::By(_) | Length::Bits(_) | Length::Keyed(_), .. } => Null::Empty,
        Kind::Keywords(_) => Null::Empty,
        _ => Null::Refused,
    }
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

/// Key parameters among these.
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
    fn a_length_names_an_integer_that_travels_before_it() {
        for entry in TABLE {
            for parameter in entry.parameters {
                let by = match parameter.kind {
                    Kind::Bytes(Length::By(by))
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
