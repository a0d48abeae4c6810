//! The typed answer of a verb, made from its row: its outputs by name.
//!
//! An output that is left out is empty, as a key identifier is that the verb does not change; an integer that is left
//! out is as it came. Lengths are no outputs of their own: each is that of the output that it goes with.
//!
//! The last output of a payload, which is its text in every verb that gives one out, can be made where it will lie:
//! behind as many bytes as the fields in front of it take, which are filled in when all outputs are known.

use super::fault::Fault;
use super::{Direction, Kind, Length, Parameter, Verb};
use crate::frame::{Argument, Arguments, Sink, put_bytes, put_integer, put_length};

/// The outputs of one verb.
pub trait TypedAnswer {
    /// The verb.
    const VERB: Verb;

    /// Appends the payload of the reply to the request with these arguments.
    ///
    /// # Errors
    /// [`Fault::TooSmall`] for an output that is longer than the room that the caller gave; nothing is written.
    fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault>;

    /// How many bytes of the payload stand in front of those of the last output, which need not be known for this. A
    /// payload that ends with an integer is counted whole.
    fn head_bytes(&self) -> usize;

    /// Writes what stands in front of the last output, whose bytes lie behind `head` already. False, and nothing is
    /// written, where that is not as long as [`TypedAnswer::head_bytes`] says.
    ///
    /// # Errors
    /// As [`TypedAnswer::write`].
    fn write_head(&self, arguments: &Arguments<'_>, head: &mut [u8]) -> Result<bool, Fault>;
}

/// Appends the payload of a reply without outputs. Where one needed more room, the length at this position says how
/// many bytes; one that only travels in cannot.
pub fn write_no_outputs(arguments: &Arguments<'_>, needed: Option<(usize, usize)>, out: &mut Vec<u8>) {
    let needed = |position| match needed {
        Some((length, bytes)) if length == position => Argument::Integer(bytes as i64),
        _ => Argument::Absent,
    };
    for (position, parameter) in arguments.verb().entry().parameters.iter().enumerate() {
        let step = match (parameter.direction, parameter.kind) {
            (Direction::In, _) => Step::Nothing,
            (_, Kind::Integer) => Step::Integer,
            _ => Step::Field { room: None },
        };
        put(arguments, position, step, needed, true, out);
    }
}

/// What the field of a parameter is in a reply.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// None.
    Nothing,
    /// An integer: the output, or as it came.
    Integer,
    /// The length of the output at this position, or as it came.
    Length(usize),
    /// The output.
    Field {
        /// Position of the length that is room which the caller gave for it.
        room: Option<usize>,
    },
}

/// What the field of a parameter is in a reply.
pub(super) const fn step(parameters: &[Parameter], position: usize) -> Step {
    if matches!(parameters[position].direction, Direction::In) {
        return Step::Nothing;
    }
    if !matches!(parameters[position].kind, Kind::Integer) {
        let room = match length(parameters, position) {
            Some(length) if !is_of_input(parameters, length) => Some(length),
            _ => None,
        };
        return Step::Field { room };
    }
    let mut output = 0;
    while output < parameters.len() {
        if let Some(length) = length(parameters, output)
            && length == position
            && !matches!(parameters[output].direction, Direction::In)
        {
            return Step::Length(output);
        }
        output += 1;
    }
    Step::Integer
}

/// Position of the last parameter that a reply has a field for; that of the first one where it has none.
pub(super) const fn last(parameters: &[Parameter]) -> usize {
    let mut position = parameters.len();
    while position > 0 {
        position -= 1;
        if !matches!(parameters[position].direction, Direction::In) {
            return position;
        }
    }
    0
}

/// How many bytes the field of a parameter has; of the last one those in front of its output.
#[inline(always)]
pub(super) fn head_bytes(step: Step, is_last: bool, output: Argument<'_>) -> usize {
    match (step, output) {
        (Step::Nothing, _) => 0,
        (Step::Integer | Step::Length(_), _) => size_of::<i64>(),
        (Step::Field { .. }, Argument::Bytes(bytes)) if !is_last => size_of::<u32>() + bytes.len(),
        (Step::Field { .. }, _) => size_of::<u32>(),
    }
}

/// Refuses an output that the caller's field has no room for.
#[inline(always)]
pub(super) fn fits(arguments: &Arguments<'_>, step: Step, output: Argument<'_>) -> Result<(), Fault> {
    if let Step::Field { room: Some(position) } = step
        && let Argument::Bytes(bytes) = output
        && arguments.integer(position) < bytes.len() as i64
    {
        return Err(Fault::TooSmall { position, needed: bytes.len() });
    }
    Ok(())
}

/// Appends the field of a parameter, without the output itself where that lies in its place already.
#[inline(always)]
pub(super) fn put<'a>(
    arguments: &Arguments<'_>,
    position: usize,
    step: Step,
    output: impl Fn(usize) -> Argument<'a>,
    is_whole: bool,
    out: &mut impl Sink,
) {
    let value = match step {
        Step::Nothing => return,
        Step::Field { .. } => {
            return match output(position) {
                Argument::Bytes(bytes) if is_whole => put_bytes(out, bytes),
                Argument::Bytes(bytes) => put_length(out, bytes.len()),
                _ => put_bytes(out, &[]),
            };
        }
        Step::Integer => match output(position) {
            Argument::Integer(value) => Some(value),
            _ => None,
        },
        Step::Length(of) => match output(of) {
            Argument::Bytes(bytes) => Some(bytes.len() as i64),
            _ => None,
        },
    };
    put_integer(out, value.unwrap_or_else(|| arguments.integer(position)));
}

/// Position of the integer that says how many bytes a parameter has.
const fn length(parameters: &[Parameter], position: usize) -> Option<usize> {
    match parameters[position].kind {
        Kind::Bytes(Length::By(length) | Length::Padded { by: length, .. })
        | Kind::Key { length: Length::By(length), .. } => Some(length),
        _ => None,
    }
}

/// Whether the integer at `at` is the length of something that only travels in.
const fn is_of_input(parameters: &[Parameter], at: usize) -> bool {
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
    ($a:lifetime $from:ident $fields:tt $outputs:tt $head:tt
        $name:ident: $direction:ident $kind:ident $(($($of:tt)*))? [reserved]; $($rest:tt)*) => {
        answer! { $a $from $fields $outputs $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $outputs:tt $head:tt
        $name:ident: In $kind:ident $(($($of:tt)*))? [$($mark:ident)*]; $($rest:tt)*) => {
        answer! { $a $from $fields $outputs $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $outputs:tt $head:tt
        $name:ident: $direction:ident Length $(($codes:ident))? []; $($rest:tt)*) => {
        answer! { $a $from $fields $outputs $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $head:tt
        $name:ident: $direction:ident Integer []; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<i64>, }
            { $($outputs)* $name => answer::integer($from.[<$name:lower>]), }
            $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $head:tt
        $name:ident: $direction:ident Bytes(Fixed($bytes:tt)) [$(secret)?]; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8; $bytes]>, }
            { $($outputs)* $name => answer::bytes($from.[<$name:lower>].map(|field| &field[..])), }
            $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} $head:tt
        $name:ident: $direction:ident $kind:ident($($of:tt)*) [$(secret)?]; $($rest:tt)*) => {
        answer! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8]>, }
            { $($outputs)* $name => answer::bytes($from.[<$name:lower>]), }
            $head $($rest)* }
    };
    ($a:lifetime $from:ident {} {} { $verb:ident $($name:ident)* }) => {
        #[doc = concat!("The answer of [`Verb::", stringify!($verb), "`], which has no outputs.")]
        #[derive(Clone, Copy, Default)]
        pub struct Answer;

        impl TypedAnswer for Answer {
            const VERB: Verb = Verb::$verb;

            fn write(&self, _: &Arguments<'_>, _: &mut Vec<u8>) -> Result<(), Fault> {
                Ok(())
            }

            fn head_bytes(&self) -> usize {
                0
            }

            fn write_head(&self, _: &Arguments<'_>, head: &mut [u8]) -> Result<bool, Fault> {
                Ok(head.is_empty())
            }
        }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($outputs:tt)*} { $verb:ident $($name:ident)* }) => {
        pastey::paste! {
            #[doc = concat!("The outputs of [`Verb::", stringify!($verb), "`].")]
            #[derive(Clone, Copy, Default)]
            pub struct Answer<$a> {
                $($fields)*
            }

            impl<$a> Answer<$a> {
                // Asked of constants only: inlined, each match is one that the compiler has made.
                #[inline(always)]
                fn output(&self, position: usize) -> Argument<$a> {
                    let $from = self;
                    match position {
                        $($outputs)*
                        _ => Argument::Absent,
                    }
                }
            }

            impl TypedAnswer for Answer<'_> {
                const VERB: Verb = Verb::$verb;

                #[inline]
                fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
                    $(answer::fits(arguments, const { step(PARAMETERS, $name) }, self.output($name))?;)*
                    $(answer::put(
                        arguments, $name, const { step(PARAMETERS, $name) }, |position| self.output(position), true,
                        out,
                    );)*
                    Ok(())
                }

                #[inline]
                fn head_bytes(&self) -> usize {
                    0 $(+ answer::head_bytes(
                        const { step(PARAMETERS, $name) }, const { $name == answer::last(PARAMETERS) },
                        self.output($name),
                    ))*
                }

                #[inline]
                fn write_head(&self, arguments: &Arguments<'_>, mut head: &mut [u8]) -> Result<bool, Fault> {
                    $(answer::fits(arguments, const { step(PARAMETERS, $name) }, self.output($name))?;)*
                    if head.len() != self.head_bytes() {
                        return Ok(false);
                    }
                    $(answer::put(
                        arguments, $name, const { step(PARAMETERS, $name) }, |position| self.output(position),
                        const { $name != answer::last(PARAMETERS) }, &mut head,
                    );)*
                    Ok(true)
                }
            }
        }
    };
}

pub(super) use answer;
