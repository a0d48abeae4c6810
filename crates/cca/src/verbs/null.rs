//! Does nothing: for measuring the cost of a request to a card and back.

use crate::call::{Call, Reply, Verdict};
use wire::code;

/// Reads no parameters, and answers without outputs.
pub(crate) async fn null(_call: Call<'_, '_>, _reply: &mut Reply<'_, '_>) -> Verdict {
    Ok(code::OK)
}
