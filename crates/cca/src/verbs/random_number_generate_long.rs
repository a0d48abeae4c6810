//! Random_Number_Generate_Long (CSNBRNGL): up to 8192 random bytes, as they are or with parity.

use wire::bounds::RANDOM_BYTES_MAX;
use wire::code;
use wire::verb::random_number_generate_long::{
    RANDOM_NUMBER, RANDOM_NUMBER_LENGTH, RESERVED, RESERVED_LENGTH, RULE_ARRAY, RULE_ARRAY_COUNT,
};

use super::random_number_generate::FORMS;
use crate::call::{Call, Reply, Verdict};
use crate::rules::Rules;

/// Answers with as many bytes as the length asks for, 1 to [`RANDOM_BYTES_MAX`].
pub(crate) async fn random_number_generate_long(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, 1)?;
    let form = rules.optional(FORMS)?;
    rules.finish()?;
    let form = form.ok_or(code::KEYWORD)?;
    if call.integer(RESERVED_LENGTH) != 0 || !call.bytes(RESERVED).is_empty() {
        return Err(code::INVALID_PARAMETER.into());
    }
    let length = call.length(RANDOM_NUMBER_LENGTH, code::INVALID_PARAMETER)?;
    if length == 0 || length > RANDOM_BYTES_MAX {
        return Err(code::INVALID_PARAMETER.into());
    }
    let mut number = vec![0; length];
    form.fill(&call, &mut number);
    reply.counted(RANDOM_NUMBER_LENGTH, RANDOM_NUMBER, &number);
    Ok(code::OK)
}
