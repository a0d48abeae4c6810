//! Unique_Key_Derive: keys of transactions, and initial keys of terminals.

mod aes;
mod tdes;
mod twins;

pub use verb_requests::unique::*;
