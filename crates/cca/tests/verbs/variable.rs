//! Keys in tokens of variable length: AES and HMAC.

mod build;

use cca::Processor;
use token::VariableToken;
use wire::verb::{Verb, key_token_build2};

use crate::support::Request;

/// Room for any token, as clients state it.
pub const ROOM: i64 = 2500;

/// A request for a token.
pub fn build2(keywords: &[&str]) -> Request {
    Request::new(Verb::KeyTokenBuild2)
        .rules(keywords)
        .integer(key_token_build2::TARGET_KEY_TOKEN_LENGTH, ROOM)
}

/// A skeleton.
pub fn skeleton2(processor: &mut Processor, keywords: &[&str]) -> Vec<u8> {
    build2(keywords).ok(processor).bytes(key_token_build2::TARGET_KEY_TOKEN)
}

/// What a token says.
pub fn parsed(token: &[u8]) -> VariableToken {
    VariableToken::parse(token).unwrap()
}
