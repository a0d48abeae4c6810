//! Chip cards in the hands of a verb: what the verbs share between their arguments and the arithmetic of
//! [`payments::emv`].
//!
//! | file | what it has |
//! |---|---|
//! | [`card`] | the blocks of a card's number |
//! | [`issuer`] | keys of issuers, from which those of cards are derived |
//! | [`message`] | messages with keys and PIN blocks in them |

pub(crate) mod card;
pub(crate) mod issuer;
pub(crate) mod message;
