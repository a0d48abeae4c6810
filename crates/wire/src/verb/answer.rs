//! The typed answer of a verb, made from its row: its outputs by name.
//!
//! An output that is left out is empty; so is a key identifier that the verb does not change. An
//! integer that is left out keeps the value of the request. Lengths are no outputs of their own:
//! each follows from the output that it belongs to.
//!
//! The last output of a payload, the text of every verb that returns one, can be made in its final
//! place: behind room for the fields before it, which are filled in once all outputs are known.

use super::fault::Fault;
use super::{Direction, Kind, Length, Parameter, Verb};
use crate::bounds::KEYWORD_BYTES;
use crate::code::{self, Codes};
use crate::frame::{Argument, Arguments, Sink, put_bytes, put_integer, put_length};

/// The outputs of one verb.
pub trait TypedAnswer {
    /// The verb that the answer belongs to.
    const VERB: Verb;

    /// Appends the payload of the reply to the request with these arguments.
    ///
    /// # Errors
    /// [`Fault::TooSmall`] for an output that is longer than the caller's room for it; nothing is
    /// written.
    fn write(&self, arguments: &Arguments<'_>, out: &mut Vec<u8>) -> Result<(), Fault>;

    /// Number of bytes of the payload before those of the last output, which need not be known for
    /// this. A payload that ends with an integer is counted whole.
    fn head_bytes(&self) -> usize;

    /// Writes everything before the last output, whose bytes already lie behind `head`. False, and
    /// nothing is written, if `head` is not [`TypedAnswer::head_bytes`] long.
    ///
    /// # Errors
    /// As [`TypedAnswer::write`].
    fn write_head(&self, arguments: &Arguments<'_>, head: &mut [u8]) -> Result<bool, Fault>;
}

/// The codes of a verb whose output needs more room than the integer at this position says: 4/16 for a rule array, 8/72
/// for anything else.
pub fn too_small(verb: Verb, position: usize) -> Codes {
    let counts = |parameter: &Parameter| parameter.kind == Kind::Keywords(position);
    let is_count = verb.entry().parameters.iter().any(counts);
    if is_count { code::RULE_ARRAY_TOO_SMALL } else { code::BUFFER_TOO_SMALL }
}

/// Appends the payload of a reply without outputs. If one output needed more room, the length at
/// this position gives the bytes needed; a length that only travels in cannot.
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

/// The content of a parameter's field in a reply.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// No field.
    Nothing,
    /// An integer: the output, or the value of the request.
    Integer,
    /// The length of the output at this position, in units of this many bytes, or the value of the
    /// request.
    Length(usize, usize),
    /// An output in bytes.
    Field {
        /// Position of the length parameter that gives the caller's room for the output, and its
        /// unit in bytes.
        room: Option<(usize, usize)>,
    },
}

/// The content of a parameter's field in a reply.
pub(super) const fn step(parameters: &[Parameter], position: usize) -> Step {
    if matches!(parameters[position].direction, Direction::In) {
        return Step::Nothing;
    }
    if !matches!(parameters[position].kind, Kind::Integer) {
        let room = match length(parameters, position) {
            // The row says how many elements a rule array that travels both ways gives out.
            Some((_, KEYWORD_BYTES)) if matches!(parameters[position].direction, Direction::InOut) => None,
            Some((length, unit)) if !is_of_input(parameters, length) => Some((length, unit)),
            _ => None,
        };
        return Step::Field { room };
    }
    let mut output = 0;
    while output < parameters.len() {
        if let Some((length, unit)) = length(parameters, output)
            && length == position
            && !matches!(parameters[output].direction, Direction::In)
        {
            return Step::Length(output, unit);
        }
        output += 1;
    }
    Step::Integer
}

/// Position of the last parameter that has a field in a reply; 0 if none has one.
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

/// Number of bytes of a parameter's field; for the last field the bytes before its output.
#[inline(always)]
pub(super) fn head_bytes(step: Step, is_last: bool, output: Argument<'_>) -> usize {
    match (step, output) {
        (Step::Nothing, _) => 0,
        (Step::Integer | Step::Length(..), _) => size_of::<i64>(),
        (Step::Field { .. }, Argument::Bytes(bytes)) if !is_last => size_of::<u32>() + bytes.len(),
        (Step::Field { .. }, _) => size_of::<u32>(),
    }
}

/// Refuses an output that is longer than the caller's field.
#[inline(always)]
pub(super) fn fits(arguments: &Arguments<'_>, step: Step, output: Argument<'_>) -> Result<(), Fault> {
    if let Step::Field { room: Some((position, unit)) } = step
        && let Argument::Bytes(bytes) = output
        && arguments.integer(position) < counted(bytes.len(), unit) as i64
    {
        return Err(Fault::TooSmall { position, needed: counted(bytes.len(), unit) });
    }
    Ok(())
}

/// Appends the field of a parameter, without the output itself if `is_whole` is false: it lies in
/// its place already.
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
        Step::Length(of, unit) => match output(of) {
            Argument::Bytes(bytes) => Some(counted(bytes.len(), unit) as i64),
            _ => None,
        },
    };
    put_integer(out, value.unwrap_or_else(|| arguments.integer(position)));
}

/// A unit of no bytes stands for bits.
const BITS: usize = 0;

/// The value of an output's length parameter for this many bytes.
fn counted(bytes: usize, unit: usize) -> usize {
    if unit == BITS { 8 * bytes } else { bytes.div_ceil(unit) }
}

/// Position of the integer that gives the length of a parameter, and the unit of that length in
/// bytes.
const fn length(parameters: &[Parameter], position: usize) -> Option<(usize, usize)> {
    match parameters[position].kind {
        Kind::Bytes(Length::By(length) | Length::Padded { by: length, .. })
        | Kind::Key { length: Length::By(length), .. } => Some((length, 1)),
        Kind::Bytes(Length::Bits(length)) => Some((length, BITS)),
        Kind::Bytes(Length::Words(length)) => Some((length, KEYWORD_BYTES)),
        Kind::Keywords(count) => Some((count, KEYWORD_BYTES)),
        _ => None,
    }
}

/// Whether the integer at `at` is the length of a parameter that only travels in.
pub(super) const fn is_of_input(parameters: &[Parameter], at: usize) -> bool {
    let mut position = 0;
    while position < parameters.len() {
        if let Some((length, _)) = length(parameters, position)
            && length == at
            && matches!(parameters[position].direction, Direction::In)
        {
            return true;
        }
        position += 1;
    }
    false
}

/// An integer output as an argument; absent if it is left out.
pub(super) fn integer(value: Option<i64>) -> Argument<'static> {
    value.map_or(Argument::Absent, Argument::Integer)
}

/// A byte output as an argument; absent if it is left out.
pub(super) fn bytes(value: Option<&[u8]>) -> Argument<'_> {
    value.map_or(Argument::Absent, Argument::Bytes)
}

/// Makes the answer of a verb: walks over its parameters and gathers the outputs.
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
                // Called with constants only: once inlined, the compiler decides each match.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uses::Uses;
    use crate::verb::Null;

    const fn parameter(direction: Direction, kind: Kind) -> Parameter {
        Parameter { name: "", direction, kind, secret: false, null: Null::Refused, uses: Uses::NONE }
    }

    const COUNT: Parameter = parameter(Direction::InOut, Kind::Integer);
    const OUT: &[Parameter] = &[COUNT, parameter(Direction::Out, Kind::Keywords(0))];
    const BOTH: &[Parameter] = &[COUNT, parameter(Direction::InOut, Kind::Keywords(0))];
    const IN: &[Parameter] =
        &[parameter(Direction::In, Kind::Integer), parameter(Direction::In, Kind::Keywords(0))];

    #[test]
    fn a_rule_array_that_goes_out_is_counted_in_elements() {
        for parameters in [OUT, BOTH] {
            let elements = [7; 3 * KEYWORD_BYTES];
            let output = |position| if position == 1 { Argument::Bytes(&elements) } else { Argument::Absent };
            let (arguments, mut out) = (Arguments::new(Verb::Null), Vec::new());
            for position in 0..parameters.len() {
                put(&arguments, position, step(parameters, position), output, true, &mut out);
            }
            assert_eq!(out[..8], 3i64.to_le_bytes());
            assert_eq!((out[8], out[12..].len()), (24, 24));
        }
        assert!(matches!((step(IN, 0), step(IN, 1)), (Step::Nothing, Step::Nothing)));
    }

    #[test]
    fn its_count_is_room_unless_it_travels_both_ways() {
        let mut arguments = Arguments::new(Verb::Null);
        arguments.set_integer(0, 2);
        let (two, three) = ([7; 2 * KEYWORD_BYTES], [7; 3 * KEYWORD_BYTES]);
        let fits = |parameters, elements| fits(&arguments, step(parameters, 1), Argument::Bytes(elements));
        assert_eq!(fits(OUT, &two), Ok(()));
        assert_eq!(fits(OUT, &three), Err(Fault::TooSmall { position: 0, needed: 3 }));
        assert_eq!(fits(OUT, &three[..17]), Err(Fault::TooSmall { position: 0, needed: 3 }));
        assert_eq!((fits(BOTH, &two), fits(BOTH, &three)), (Ok(()), Ok(())));
    }

    #[test]
    fn only_a_rule_array_that_is_too_small_is_so_with_4_16() {
        use crate::verb::random_number_generate_long::{RANDOM_NUMBER_LENGTH, RULE_ARRAY_COUNT};
        let codes = |position| too_small(Verb::RandomNumberGenerateLong, position);
        assert_eq!(codes(RANDOM_NUMBER_LENGTH), code::BUFFER_TOO_SMALL);
        assert_eq!(codes(RULE_ARRAY_COUNT), code::RULE_ARRAY_TOO_SMALL);
    }
}
