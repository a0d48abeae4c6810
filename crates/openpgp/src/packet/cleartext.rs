//! The cleartext signature framework (RFC 9580, 7): text that stays readable beside its signature.
//!
//! ```text
//! -----BEGIN PGP SIGNED MESSAGE-----
//! Hash: SHA512
//!
//! text, with "- " before each line that begins with "-"
//! -----BEGIN PGP SIGNATURE-----            as of here armor
//! ```
//! What is signed are the lines without white space at their ends, joined by CR LF; the line end before the signature
//! is not part of it. Text that is read is given out without that white space too: nobody vouches for it.

mod lines;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// What a piece of text gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text for people.
    pub text: Vec<u8>,
    /// The text to hash.
    pub signed: Vec<u8>,
}

impl Text {
    /// Empties both, and keeps their memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.signed.clear();
    }
}

const BEGIN_MESSAGE: &[u8] = b"-----BEGIN PGP SIGNED MESSAGE-----";
const BEGIN_SIGNATURE: &[u8] = b"-----BEGIN PGP SIGNATURE-----";
