//! The cleartext signature framework (RFC 9580, 7): text that stays readable beside its signature.
//!
//! ```text
//! -----BEGIN PGP SIGNED MESSAGE-----
//! Hash: SHA512
//!
//! text, with "- " before each line that begins with "-"
//! -----BEGIN PGP SIGNATURE-----            as of here armor
//! ```
//! The signed bytes are the lines without white space at their ends, joined by CR LF. The line end before the signature
//! is not part of them. The text that is read comes without that white space too, since no signature covers it.

mod lines;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// The text from a piece of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text for people, with its own line ends.
    pub text: Vec<u8>,
    /// The text to be hashed for signatures.
    pub signed: Vec<u8>,
}

impl Text {
    /// Empties both texts, and keeps their memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.signed.clear();
    }
}

const BEGIN_MESSAGE: &[u8] = b"-----BEGIN PGP SIGNED MESSAGE-----";
const BEGIN_SIGNATURE: &[u8] = b"-----BEGIN PGP SIGNATURE-----";
