//! `cryptand token`: key tokens as such, without a card.

use super::described;
use crate::args::Token;
use crate::encoded;
use crate::failure::Failure;

/// Prints a token's fields; an error if the token has a defect.
pub fn run(order: &Token) -> Result<(), Failure> {
    let Token::Show { token: path, json } = order;
    described::show(&encoded::shown(path), &encoded::read(path)?, *json)
}
