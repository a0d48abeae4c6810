//! TR31_Optional_Data_Read (CSNBT31R): which optional blocks a key block has (INFO), or the data of one (DATA).
//!
//! The lists have two bytes for each block: its identifier, and the length of its data in the machine's byte order. The
//! caller gives their room as a count, and gets the number of blocks back (8/72 if there are more). A missing block is
//! answered with 8/21. The MAC is not verified and no key is opened, so the data may be forged.

use super::tr31_key_token_parse::parse;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use wire::code;
use wire::verb::KeyBlockReading;
use wire::verb::tr31_optional_data_read::{Answer, NUM_OPT_BLOCKS, Request};

/// Answers with the lists, or the data.
pub(crate) async fn tr31_optional_data_read(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let block = parse(request.tr31_key).map_err(|_| code::TOKEN_INVALID)?;
    let count = block.optional().count();
    if request.reading == KeyBlockReading::Data {
        let identifier = request.opt_block_id.ok_or(code::INVALID_PARAMETER)?;
        let data = block.optional_data(*identifier).ok_or(code::INVALID_PARAMETER)?;
        reply.write(Answer {
            num_opt_blocks: Some(count as i64),
            opt_block_data: Some(data),
            ..Answer::default()
        })?;
        return Ok(code::OK);
    }
    if request.num_opt_blocks < count as i64 {
        return Err(Refusal::TooSmall { position: NUM_OPT_BLOCKS, needed: count });
    }
    let identifiers: Vec<u8> = block.optional().flat_map(|one| one.identifier).collect();
    let lengths: Vec<u8> = block.optional().flat_map(|one| (one.data.len() as u16).to_ne_bytes()).collect();
    reply.write(Answer {
        num_opt_blocks: Some(count as i64),
        opt_block_ids: Some(&identifiers),
        opt_block_lengths: Some(&lengths),
        opt_block_data: Some(&[]),
    })?;
    Ok(code::OK)
}
