//! A passphrase: bytes that are wiped when dropped and never shown.

use std::fmt;
use zeroize::Zeroizing;

/// A passphrase, as the bytes that were typed (UTF-8 if a person typed them).
#[derive(Clone)]
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// A passphrase of these bytes.
    pub fn new(bytes: impl Into<Zeroizing<Vec<u8>>>) -> Self {
        Self(bytes.into())
    }

    /// The passphrase's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Passphrase")
    }
}
