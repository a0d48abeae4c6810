//! Requests of PIN verbs, of the tests of verbs.

#[path = "../../../cca/tests/verbs/pin/requests.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod requests;
#[path = "../../../cca/tests/verbs/pin/requests2.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod requests2;

pub use requests::*;
