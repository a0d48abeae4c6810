//! TR31_Optional_Data_Build (CSNBT31O): appends an optional block to those in the buffer, for TR31_Key_Export.
//!
//! Padding blocks (PB) are added when the header is made. Each identifier may occur once. No key is used.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use payments::key_block::{OptionalBlock, optional_blocks};
use wire::code;
use wire::verb::tr31_optional_data_build::{Answer, OPT_BLOCKS_BFR_LENGTH, Request};

/// Answers with the blocks.
pub(crate) async fn tr31_optional_data_build(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (buffer, room) = (request.opt_blocks.start(), request.opt_blocks.capacity());
    let before = usize::try_from(request.opt_blocks_length).ok().filter(|length| *length <= room);
    let before = before.and_then(|length| buffer.get(..length));
    let mut blocks = before.ok_or(code::INVALID_PARAMETER)?.to_vec();
    let block = OptionalBlock { identifier: *request.opt_block_id, data: request.opt_block_data };
    block.write(&mut blocks).ok_or(code::INVALID_PARAMETER)?;
    let count = optional_blocks(&blocks).map_err(|_| code::INVALID_PARAMETER)?.len();
    if count > OPTIONAL_BLOCKS_MAX {
        return Err(code::INVALID_PARAMETER.into());
    }
    let length = blocks.len();
    if length > room {
        return Err(Refusal::TooSmall { position: OPT_BLOCKS_BFR_LENGTH, needed: length });
    }
    reply.write(Answer {
        opt_blocks_length: Some(length as i64),
        opt_blocks: Some(&blocks),
        num_opt_blocks: Some(count as i64),
    })?;
    Ok(code::OK)
}

/// Upper bound of optional blocks: the header counts them with two digits.
const OPTIONAL_BLOCKS_MAX: usize = 99;
