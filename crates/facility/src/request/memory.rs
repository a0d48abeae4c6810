//! The memory of a request, by its arguments: how much its reply may take, and whether it must be wiped.

use super::opening::label_field;
use token::Holds;
use wire::bounds::{BULK_BYTES_MAX, KEYWORD_BYTES, TOKEN_BYTES_MAX};
use wire::frame::{Argument, Arguments};
use wire::secret::gives_clear_key;
use wire::verb::{Direction, Entry, Kind, Length, Parameter};

/// Room in a reply beside what its arguments ask for: padding that a verb adds.
const REPLY_SLACK: usize = 64;

/// Whether a request or its reply may hold a clear key, and must be wiped. Of a verb that takes clear keys as well as
/// wrapped ones, wrapped keys and references need not be wiped. Bytes that only look like a token without a key may be
/// a clear key.
pub(super) fn holds_clear_key(entry: &'static Entry, arguments: &Arguments<'_>) -> bool {
    let is_wrapped =
        |field| token::describe(field).is_ok_and(|described| matches!(described.holds, Holds::Wrapped(_)));
    let may_be_clear = |(position, parameter): (usize, &Parameter)| {
        parameter.secret
            && parameter.direction != Direction::Out
            && match (parameter.kind, arguments.at(position)) {
                (Kind::Key { .. }, Argument::Bytes(field)) => {
                    label_field(field).is_none() && !is_wrapped(field)
                }
                (_, argument) => matches!(argument, Argument::Bytes(_)),
            }
    };
    entry.secret && (gives_clear_key(entry.verb) || entry.parameters.iter().enumerate().any(may_be_clear))
}

/// Length of the longest reply that the arguments leave room for.
pub(super) fn reply_bytes_max(entry: &'static Entry, arguments: &Arguments<'_>) -> usize {
    let mut bytes = REPLY_SLACK;
    for parameter in entry.parameters.iter().filter(|parameter| parameter.direction != Direction::In) {
        let (length, bound) = match parameter.kind {
            Kind::Integer => (4, usize::MAX),
            Kind::Bytes(length) => (length_of(length, arguments), usize::MAX),
            Kind::Key { length, .. } => (length_of(length, arguments), TOKEN_BYTES_MAX),
            Kind::Keywords(count) => {
                let count = usize::try_from(arguments.integer(count)).unwrap_or(0);
                let elements = entry.keywords.most_given(parameter.direction, count);
                (elements.saturating_mul(KEYWORD_BYTES), usize::MAX)
            }
        };
        bytes = bytes.saturating_add(length.min(bound).saturating_add(4));
    }
    bytes.min(BULK_BYTES_MAX)
}

fn length_of(length: Length, arguments: &Arguments<'_>) -> usize {
    match length {
        Length::By(position) => usize::try_from(arguments.integer(position)).unwrap_or(0),
        Length::Padded { by, block, .. } => usize::try_from(arguments.integer(by)).unwrap_or(0) + block,
        Length::Bits(position) => usize::try_from(arguments.integer(position)).unwrap_or(0).div_ceil(8),
        Length::Words(position) => {
            usize::try_from(arguments.integer(position)).unwrap_or(0).saturating_mul(KEYWORD_BYTES)
        }
        length => length.longest().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::{Verb, encipher};
    use wire::{KeyReference, Label};

    #[test]
    fn a_request_is_secret_by_what_it_holds() {
        fn holds(verb: Verb, position: usize, argument: Argument<'_>) -> bool {
            let mut arguments = Arguments::new(verb);
            arguments.set(position, argument);
            holds_clear_key(verb.entry(), &arguments)
        }
        fn aes(argument: Argument<'_>) -> bool {
            let position = wire::verb::symmetric_algorithm_encipher::KEY_IDENTIFIER;
            holds(Verb::SymmetricAlgorithmEncipher, position, argument)
        }
        let reference = KeyReference { slot: 1, generation: 1 };
        assert!(!aes(Argument::Reference(reference)) && !aes(Argument::Absent));
        assert!(!aes(Argument::Bytes(&Label::new("A.B").unwrap().to_field())));
        // Clear keys, one of which begins as a null token does.
        for first in [0, 1, 0x1F, 0x41] {
            let mut key = [7; 16];
            key[0] = first;
            assert!(aes(Argument::Bytes(&key)), "{first}");
        }
        let mut wrapped = [0; 64];
        (wrapped[0], wrapped[4], wrapped[6]) = (1, 4, 0xC0);
        token::tvv::seal(&mut wrapped);
        assert!(!aes(Argument::Bytes(&wrapped)));
        let import = wire::verb::clear_key_import::CLEAR_KEY;
        assert!(holds(Verb::ClearKeyImport, import, Argument::Bytes(&[0; 8])));
        let generated = wire::verb::pka_key_generate::GENERATED_KEY_IDENTIFIER;
        assert!(holds(Verb::PkaKeyGenerate, generated, Argument::Absent));
        assert!(!holds(Verb::Encipher, encipher::KEY_IDENTIFIER, Argument::Bytes(&[0; 64])));
    }

    #[test]
    fn room_follows_the_arguments() {
        // By position: lengths without texts.
        let mut arguments = Arguments::new(Verb::Encipher);
        let small = reply_bytes_max(Verb::Encipher.entry(), &arguments);
        assert!(small < 300);
        arguments.set_integer(encipher::TEXT_LENGTH, 1 << 20);
        assert_eq!(reply_bytes_max(Verb::Encipher.entry(), &arguments), small + (1 << 20));
        for length in [i64::MAX, -1] {
            arguments.set_integer(encipher::TEXT_LENGTH, length);
            assert!(reply_bytes_max(Verb::Encipher.entry(), &arguments) <= BULK_BYTES_MAX);
        }
    }
}
