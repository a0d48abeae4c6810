//! Keys in tokens of variable length: AES and HMAC.

mod build;
mod cipher;
mod exchange;
mod forms;
mod generate;
mod hmac;
mod mac2;
mod oaep2;
mod parts;
mod rakw;
mod tokens;

use cca::Processor;
pub use cipher::encipher;
pub use hmac::clear as hmac_key;
pub use mac2::key as cmac_key;
use token::VariableToken;
use verb_requests::support::Request;
pub use verb_requests::uses::ways::generate2;
use wire::verb::{Verb, key_generate2, key_token_build2};

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

/// A key with the attributes of a skeleton by these keywords.
pub fn generated2(processor: &mut Processor, algorithm: &str, bits: i64, keywords: &[&str]) -> Vec<u8> {
    let keywords: Vec<_> = ["INTERNAL", algorithm].into_iter().chain(keywords.iter().copied()).collect();
    let skeleton = skeleton2(processor, &keywords);
    let reply = generate2(algorithm, bits, "TOKEN", &skeleton).ok(processor);
    reply.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1)
}

/// What a token says.
pub fn parsed(token: &[u8]) -> VariableToken {
    VariableToken::parse(token).unwrap()
}
