//! Private key operations of TLS on the cards of a home, for the event loops of other programs.
//!
//! A server asks for a signature or a premaster by a number of its own, watches one descriptor, and collects what has
//! ended. Nothing waits. The library `libcryptand-offload.so.1` offers the same to C (`cryptand-offload.h`);
//! docs/howto/offload.md is the guide.
//!
//! ```text
//! let mut offload = Offload::open(home, Options::default(), LoopOptions::default())?;
//! let key = offload.key("WEB.EXAMPLE.ORG")?;
//! loop {
//!     poll(offload.as_fd(), ..)                    readable, or something else is
//!     .. offload.sign(number, key, scheme, &digest)? ..
//!     while let Some(finished) = offload.collect() { .. }
//!     if !offload.arm() { collect again }          before sleeping
//! }
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `offload` | one loop's requests |
//! | `work` | what is asked of a card, and what its answer means |
//! | `error` | what can go wrong, as statuses and texts |
//! | `handles` | the numbers by which programs in C name their loops, through threads, fork and closed descriptors |
//! | [`given`] | what programs in C pass, as far as it is read before a home is asked |
//! | `ffi` | the functions of the header |

mod error;
mod ffi;
pub mod given;
mod handles;
mod offload;
mod work;

pub use error::{OffloadError, Status};
pub use facility::{Facility, Options, private_keys};
pub use ffi::*;
pub use handles::HANDLES_MAX;
pub use offload::{Finished, KEYS_MAX, Key, LoopOptions, Offload};
pub use work::{
    ANSWER_BYTES_MAX, Answer, CIPHERTEXT_BYTES_MAX, Hash, Operation, PREMASTER_BYTES, Padding, PublicKeyKind,
    Scheme,
};
