//! Private keys under AES transport keys, as the tests of verbs make them.

#[path = "../../../cca/tests/verbs/pka_transport_aes/book.rs"]
#[allow(dead_code, reason = "made for the tests of verbs")]
pub mod book;
