//! Packet framing: headers, lengths, armor (RFC 9580, sections 4, 6 and 7).
//!
//! | need | item |
//! |---|---|
//! | header of a packet whose length is known | [`header()`] |
//! | lengths of a packet that is too long for one length, or whose length is not yet known | [`PartialLengths`] |
//! | packets of a stream, pushed in slices of any size | [`Splitter`] |
//! | ASCII armor, both ways | [`armor`] |
//! | text that stays readable beside its signature | [`cleartext`] |

pub mod armor;
pub mod cleartext;
mod error;
mod header;
mod partial;
mod splitter;

pub use error::PacketError;
pub use header::{DEFINITE_BYTES_MAX, Header, Length, PARTIAL_BITS_MAX, PARTIAL_BITS_MIN, header};
pub use partial::{PartialLengths, Piece};
pub use pgp::types::Tag;
pub use splitter::{Event, SplitStep, Splitter};
