//! What callers may leave out of a call: lengths and counts that follow from what they gave, fields of fixed length,
//! and the room for what comes back.

use wire::bounds::{KEYWORD_BYTES, KEYWORDS_MAX, TOKEN_BYTES_MAX};
use wire::frame::{Argument, Arguments};
use wire::verb::{Direction, Kind, Length};

/// The longest field of fixed length is filled with a part of these.
static ZEROS: [u8; 4096] = [0; 4096];

/// Fills in the arguments that are absent and follow from the others:
///
/// | argument | is then |
/// |---|---|
/// | a field of fixed length that goes in | zeros |
/// | the length of a text or a key, in bytes, bits or keywords | that of what is given |
/// | the count of a rule array | that of its keywords; of one that comes back, the most there can be |
/// | the length of what comes back | room for a token, or for the longest text and its padding |
///
/// What is given is not changed. A fixed length above 4096 bytes is not filled.
pub fn fill_in(arguments: &mut Arguments<'_>) {
    let parameters = arguments.verb().entry().parameters;
    for (position, parameter) in parameters.iter().enumerate() {
        let given = arguments.at(position);
        let fixed = match parameter.kind {
            Kind::Bytes(Length::Fixed(bytes)) | Kind::Key { length: Length::Fixed(bytes), .. } => {
                ZEROS.get(..bytes)
            }
            _ => None,
        };
        if let (Some(zeros), Direction::In | Direction::InOut, Argument::Absent) =
            (fixed, parameter.direction, given)
        {
            arguments.set_bytes(position, zeros);
        }
        let (length_at, length) = match (parameter.kind, given) {
            (Kind::Keywords(at), Argument::Bytes(bytes)) => (at, bytes.len() / KEYWORD_BYTES),
            (Kind::Keywords(at), Argument::Absent) if parameter.direction == Direction::Out => {
                (at, KEYWORDS_MAX)
            }
            (
                Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. },
                Argument::Bytes(bytes),
            ) => (at, bytes.len()),
            (Kind::Bytes(Length::Bits(at)), Argument::Bytes(bytes)) => (at, 8 * bytes.len()),
            (Kind::Bytes(Length::Words(at)), Argument::Bytes(bytes)) => (at, bytes.len() / KEYWORD_BYTES),
            // What is changed in place, in a length that is not answered, is changed only where it is there.
            (Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. }, Argument::Absent)
                if parameter.direction == Direction::Out
                    || parameter.direction == Direction::InOut
                        && parameters[at].direction != Direction::In =>
            {
                (at, room(arguments))
            }
            _ => continue,
        };
        if matches!(arguments.at(length_at), Argument::Absent) {
            arguments.set_integer(length_at, length as i64);
        }
    }
}

/// Room for an output whose length was left out.
fn room(arguments: &Arguments<'_>) -> usize {
    let count = arguments.verb().entry().parameters.len();
    let longest = (0..count).map(|position| arguments.bytes(position).len()).max().unwrap_or(0);
    TOKEN_BYTES_MAX.max(longest + 32)
}
