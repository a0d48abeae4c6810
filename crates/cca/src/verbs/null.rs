//! Does nothing: what the way to a card and back costs.

use wire::code;

use crate::call::{Call, Reply, Verdict};

/// Answers with nothing.
pub(crate) async fn null(_call: Call<'_, '_>, _reply: &mut Reply<'_, '_>) -> Verdict {
    Ok(code::OK)
}
