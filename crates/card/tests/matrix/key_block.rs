//! Requests of key blocks, and a second way to make blocks, of the tests of verbs.

#[path = "../../../cca/tests/verbs/key_block/requests.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod requests;
#[path = "../../../cca/tests/verbs/key_block/twin.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod twin;
