//! Bodies of messages: their encryption, and what they contain.
//!
//! | need | item |
//! |---|---|
//! | a body with a modification detection code, SEIPDv1 | [`seipd1::Sealer`], [`seipd1::Opener`]; on several threads [`seipd1::Decipherer`] and [`seipd1::Check`] |
//! | a body in authenticated chunks, SEIPDv2 and GnuPG's packet 20, on any number of threads | [`chunked::ChunkCipher`] |
//! | the packets around a body and inside it | [`grammar::Outer`], [`grammar::Inner`] |
//!
//! All functions work in place, on pieces of any size, and buffer no more than the format demands.

mod cfb;
pub mod chunked;
mod error;
pub mod grammar;
pub mod seipd1;

pub use error::{BodyError, Unauthentic};
