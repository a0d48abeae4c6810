//! `libcsulcca.so`: the C interface of IBM's CCA over the cards of a home.
//!
//! All names that programs written for CCA ask for are exported. The verb table says what a name does. A name whose
//! verb is not served is refused with 8/713, for a reason that `REFUSED` states. The header `csulincl.h` declares them
//! all; docs/reference/c-library.md is the guide.

mod names;
mod refused;

pub use names::*;
pub use refused::REFUSED;
