//! The packets around a body and inside it: the grammar of messages (RFC 9580, 10.3), parsed from slices of any
//! size.
//!
//! ```text
//! around:  { session key | marker | padding } protected body { marker | padding }        Outer
//! inside:  { one-pass signature | signature | marker | padding }
//!          ( literal | compressed )
//!          { signature, one for each one-pass | marker | padding }                        Inner
//! ```
//! The contents of a compressed packet are read by another [`Inner`], made by [`Inner::nested`], so that the bounds
//! hold for the whole message.

mod inner;
mod outer;
mod packets;
mod session_keys;
mod write;

pub use inner::{Inner, InnerEvent, InnerStep, LITERAL_HEADER_BYTES_MAX, LiteralHeader};
pub use outer::{Outer, OuterEvent, OuterStep, Protected};
pub use packets::{Limits, PACKET_BYTES_MAX};
pub use pgp::packet::DataMode;
pub use session_keys::SessionKeyPacket;
pub use write::{compressed_header, literal_header};
