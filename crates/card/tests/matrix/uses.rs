//! The keys and the requests of the tests of verbs.

#[path = "../../../cca/tests/verbs/uses/blocks.rs"]
mod blocks;
#[path = "../../../cca/tests/verbs/uses/others.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
mod others;
#[path = "../../../cca/tests/verbs/uses/pairs.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
mod pairs;
#[path = "../../../cca/tests/verbs/uses/pins.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod pins;
#[path = "../../../cca/tests/verbs/uses/requests.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
mod requests;
#[path = "../../../cca/tests/verbs/uses/samples.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod samples;
#[path = "../../../cca/tests/verbs/uses/ways.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod ways;
#[path = "../../../cca/tests/verbs/uses/wrapped.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod wrapped;
