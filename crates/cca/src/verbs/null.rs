//! Does nothing: for measuring the cost of a request to a card and back.

use wire::code;

use crate::call::{Call, Reply, Verdict};

/// Answers with nothing.
pub(crate) async fn null(_call: Call<'_, '_>, _reply: &mut Reply<'_, '_>) -> Verdict {
    Ok(code::OK)
}
