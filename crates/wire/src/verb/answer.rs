//! The typed answer of a verb, made from its row: its outputs by name.
//!
//! An output that is left out is empty, as a key identifier is that the verb does not change; an integer that is left
//! out is as it came. Lengths are no outputs of their own: each is that of the output that it goes with.

use super::fault::Fault;
use super::{Direction, Kind, Length, Parameter, Verb};
use crate::frame::{Argument, Arguments, put_bytes, put_integer};

/// The outputs of one verb.
pub trait TypedAnswer {
    /// The verb.
    const VERB: Verb;

    /// Appends the payload of the reply to the request with these arguments.
    ///
    /// # Errors
    /// [`Fault::TooSmall`] for an output that is longer than the room that the caller gave; nothing is written.
    fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault>;
}

/// Appends the payload of a reply without outputs; where one needed more room, its length says how much.
///
/// # Panics
/// Where the verb has no parameter at the position of the length.
pub fn write_no_outputs(arguments: &Arguments<'_>, needed: Option<(usize, usize)>, out: &mut Vec<u8>) {
    for (position, parameter) in arguments.verb().entry().parameters.iter().enumerate() {
        let needed = needed.filter(|(length, _)| *length == position);
        put(
            arguments,
            position,
            parameter,
            needed.map_or(Argument::Absent, |(_, bytes)| integer(Some(bytes as i64))),
            out,
        );
    }
}

/// Outputs by position, as a reply: lengths are filled in, and room is checked once, before anything is written.
///
/// `rooms` has a bit for each output that the caller gave room for.
pub(super) fn write(
    arguments: &Arguments<'_>,
    parameters: &[Parameter],
    rooms: u64,
    outputs: &mut [Argument<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for position in 0..outputs.len() {
        let (Argument::Bytes(bytes), Some(length)) = (outputs[position], length(parameters, position)) else {
            continue;
        };
        let needed = bytes.len();
        if (rooms >> position) & 1 == 1 && arguments.integer(length) < needed as i64 {
            return Err(Fault::TooSmall { position: length, needed });
        }
        outputs[length] = Argument::Integer(needed as i64);
    }
    for (position, (parameter, output)) in parameters.iter().zip(outputs).enumerate() {
        put(arguments, position, parameter, *output, out);
    }
    Ok(())
}

fn put(
    arguments: &Arguments<'_>,
    position: usize,
    parameter: &Parameter,
    output: Argument<'_>,
    out: &mut Vec<u8>,
) {
    if parameter.direction == Direction::In {
        return;
    }
    match (parameter.kind, output) {
        (Kind::Integer, Argument::Integer(value)) => put_integer(out, value),
        (Kind::Integer, _) => put_integer(out, arguments.integer(position)),
        (_, Argument::Bytes(bytes)) => put_bytes(out, bytes),
        _ => put_bytes(out, &[]),
    }
}

/// Position of the integer that says how many bytes a parameter has.
const fn length(parameters: &[Parameter], position: usize) -> Option<usize> {
    match parameters[position].kind {
        Kind::Bytes(Length::By(length)) | Kind::Key { length: Length::By(length), .. } => Some(length),
        _ => None,
    }
}

/// A bit for each output whose length parameter is room that the caller gave for it, and not the length of an input.
pub(super) const fn rooms(parameters: &[Parameter]) -> u64 {
    let (mut rooms, mut position) = (0, 0);
    while position < parameters.len() {
        if let Some(at) = length(parameters, position)
            && !matches!(parameters[position].direction, Direction::In)
            && !is_input(parameters, at)
        {
            rooms |= 1 << position;
        }
        position += 1;
    }
    rooms
}

/// Whether the integer at `at` is the length of something that only travels in.
const fn is_input(parameters: &[Parameter], at: usize) -> bool {
    let mut position = 0;
    while position < parameters.len() {
        if let Some(length) = length(parameters, position)
            && length == at
            && matches!(parameters[position].direction, Direction::In)
        {
            return true;
        }
        position += 1;
    }
    false
}

/// An integer output.
pub(super) fn integer(value: Option<i64>) -> Argument<'static> {
    value.map_or(Argument::Absent, Argument::Integer)
}

/// A byte output.
pub(super) fn bytes(value: Option<&[u8]>) -> Argument<'_> {
    value.map_or(Argument::Absent, Argument::Bytes)
}

/// Makes the answer of a verb: walks over its parameters, gathers the outputs.
macro_rules! answer {
    ($a:lifetime $from:ident $fields:tt {$($outputs:tt)*} $verb:ident
        $name:ident: $direction:ident $kind:ident $(($($of:tt)*))? [reserved]; $($rest:tt)*) => {
        answer! { $a $from $fields { $($outputs)* Argument::Absent, } $verb $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt {$($outputs:tt)*} $verb:ident
        $name:ident: In $kind:ident $(($($of:tt)*))? [$($mark:ident)*]; $($rest:tt)*) => {
        answer! { $a $from $fields { $($outputs)* Argument::Absent, } $verb $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt {$($outputs:tt)*} $verb:ident
        $name:ident: $direction:ident Length $(($codes:ident))? []; $($rest:tt)*) => {
        answer! { $a $from $fields { $($outputs)* Argument::Absent, } $verb $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $verb:ident
        $name:ident: $direction:ident Integer []; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<i64>, }
            { $($outputs)* answer::integer($from.[<$name:lower>]), }
            $verb $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $verb:ident
        $name:ident: $direction:ident Bytes(Fixed($bytes:tt)) [$(secret)?]; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8; $bytes]>, }
            { $($outputs)* answer::bytes($from.[<$name:lower>].map(|field| &field[..])), }
            $verb $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $verb:ident
        $name:ident: $direction:ident $kind:ident($($of:tt)*) [$(secret)?]; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8]>, }
            { $($outputs)* answer::bytes($from.[<$name:lower>]), }
            $verb $($rest)* }
    };
    ($a:lifetime $from:ident {} {$($outputs:tt)*} $verb:ident) => {
        #[doc = concat!("The answer of [`Verb::", stringify!($verb), "`], which has no outputs.")]
        #[derive(Clone, Copy, Default)]
        pub struct Answer;

        impl TypedAnswer for Answer {
            const VERB: Verb = Verb::$verb;

            fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
                answer::write(arguments, PARAMETERS, ROOMS, &mut [$($outputs)*], out)
            }
        }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $verb:ident) => {
        pastey::paste! {
            #[doc = concat!("The outputs of [`Verb::", stringify!($verb), "`].")]
            #[derive(Clone, Copy, Default)]
            pub struct Answer<$a> {
                $($fields)*
            }

            impl TypedAnswer for Answer<'_> {
                const VERB: Verb = Verb::$verb;

                #[inline]
                fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
                    let $from = self;
                    answer::write(arguments, PARAMETERS, ROOMS, &mut [$($outputs)*], out)
                }
            }
        }
    };
}

pub(super) use answer;
