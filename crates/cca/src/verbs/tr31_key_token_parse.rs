//! TR31_Key_Token_Parse (CSNBT31P): parses the header of a key block. The field may be longer than the block in it. The
//! MAC is not verified and no key is opened, so the header may be forged.
//!
//! A rule array with room gets the permitted storage of the key: STOREXCH (0), INTERNAL (1), EXTERNAL (2).

use super::key_token_parse::padded;
use crate::call::{Call, Reply, Verdict};
use payments::key_block::{Block, Fault};
use wire::code;
use wire::verb::tr31_key_token_parse::{Answer, RULE_ARRAY_COUNT, Request};

/// Answers with the fields.
pub(crate) async fn tr31_key_token_parse(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let block = parse(request.tr31_key).map_err(|_| code::TOKEN_INVALID)?;
    let attributes = block.attributes();
    let context = padded(match attributes.context {
        b'1' => "INTERNAL",
        b'2' => "EXTERNAL",
        _ => "STOREXCH",
    });
    // Programs for older releases of CCA pass no rule array.
    let has_room = call.arguments.integer(RULE_ARRAY_COUNT) > 0;
    reply.write(Answer {
        rule_array: Some(if has_room { &context } else { &[] }),
        key_block_version: Some(&[attributes.version.letter()]),
        key_block_length: Some(block.text().len() as i64),
        key_usage: Some(&attributes.usage),
        algorithm: Some(&[attributes.algorithm]),
        mode: Some(&[attributes.mode]),
        key_version_number: Some(&attributes.key_version),
        exportability: Some(&[attributes.exportability.letter()]),
        num_opt_blocks: Some(block.optional().count() as i64),
    })?;
    Ok(code::OK)
}

/// The block that a field begins with.
///
/// # Errors
/// [`Fault`], if the field does not begin with a well-formed block.
pub(super) fn parse(field: &[u8]) -> Result<Block<'_>, Fault> {
    let digits = field.get(1..5).unwrap_or_default();
    let length = digits.iter().try_fold(0, |all, digit| match digit {
        b'0'..=b'9' => Some(10 * all + usize::from(digit - b'0')),
        _ => None,
    });
    Block::parse(length.and_then(|length| field.get(..length)).unwrap_or(field))
}
