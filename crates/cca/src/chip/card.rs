//! What the key of a card is derived from, as the arguments of a verb say it.

use engine::sha1;
use payments::emv::card_key::{self, Card};
use wire::verb::{EmvCardKey, EmvSequence};
use wire::{Codes, code};

/// Digits of the longest PAN.
const PAN_DIGITS_MAX: usize = 19;

/// The two blocks that are enciphered under an issuer's key to that of a card: of a PAN of 8 to 19 digits, and of two
/// digits of a sequence number where these take part.
///
/// # Errors
/// 8/110 for another PAN, 8/111 for a sequence number that is missing or other than two digits.
pub(crate) fn blocks(
    pan: &[u8],
    sequence: Option<&[u8; 2]>,
    is_appended: Option<EmvSequence>,
    option: EmvCardKey,
) -> Result<[u8; 16], Codes> {
    let digits: [u8; PAN_DIGITS_MAX] = payments::digits(pan).map_err(|_| code::PAN)?;
    let sequence = match is_appended {
        Some(EmvSequence::Appended) => {
            let given = sequence.ok_or(code::SEQUENCE_NUMBER)?;
            payments::digits(given).map_err(|_| code::SEQUENCE_NUMBER)?
        }
        None => [0; 2],
    };
    let card = Card::new(&digits[..pan.len()], sequence).ok_or(code::PAN)?;
    let message = card.option_b_message().filter(|_| option == EmvCardKey::B);
    let number = match message {
        Some(message) => card_key::option_b(&sha1(&message)),
        None => card.option_a(),
    };
    Ok(card_key::blocks(&number))
}
