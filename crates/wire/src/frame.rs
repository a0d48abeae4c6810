//! The header and the arguments of a request and of a reply.
//!
//! A slot holds one 64-byte header and an inline payload; a longer payload lies in the bulk block
//! that the header names. A payload is the sequence of a verb's arguments, in the order of the
//! [verb table](crate::verb), in little-endian:
//!
//! ```text
//! request, per parameter   Integer, In or InOut    i64
//!                          Integer, Out            nothing
//!                          bytes, In or InOut      u32 length, the bytes
//!                          bytes, Out              nothing (capacity: the table's length)
//!                          key, In or InOut        u32 length, the bytes; or u32 0xFFFF_FFFF,
//!                                                  u32 slot, u64 generation
//! reply, per parameter     Integer, InOut or Out   i64
//!                          bytes, key, InOut, Out  u32 length, the bytes
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `header` | the first line of a request and of a reply |
//! | `arguments` | arguments by position, to be written and read |
//! | `walk` | the one reader of payloads |

mod arguments;
mod error;
mod header;
mod walk;

pub use arguments::{Argument, Arguments, KeyField};
pub use error::FrameError;
pub use header::{BULK_NONE, FRAME_VERSION, Outcome, ReplyHeader, RequestHeader};
pub use walk::{Field, Walk, place_token, replace_reference};
pub(crate) use walk::{Sink, put_bytes, put_integer, put_length};
