//! Which verbs handle keys in the clear.

use crate::verb::Verb;

/// Whether requests or replies of a verb can hold a clear key, so that what held them is wiped after it: buffers by
/// who made them, slots and blocks of a queue by who writes them.
pub fn carries_clear_key(verb: Verb) -> bool {
    verb.entry().secret
}
