//! How keys are wrapped: a file a method.
//!
//! | method | keys | file |
//! |---|---|---|
//! | DES in ECB under a key xor the control vector | DES keys of fixed-length tokens | [`des_ecb`] |
//! | AES in CBC under the AES master key | AES keys of fixed-length tokens | [`aes_cbc`] |
//! | AES key wrap of ANSI X9.102 | what other methods wrap by it | [`aeskw`] |
//! | AES key wrap under an object protection key | the private values of PKA tokens | [`rsa_sections`] |
//!
//! A method prepares a lane for each key and runs all of them in one kernel call.

pub(crate) mod aes_cbc;
pub(crate) mod aeskw;
pub(crate) mod des_ecb;
pub(crate) mod rsa_sections;

use engine::SecretBytes;

/// What wraps a key.
pub(crate) enum By {
    /// The master key of this domain, in the register that goes with the method.
    Master(u16),
    /// A key-encrypting key that an earlier pass opened.
    Key(Box<KeyEncryptingKey>),
}

/// A key that wraps others.
pub(crate) struct KeyEncryptingKey {
    pub(crate) key: SecretBytes,
    /// Whether the control vector of the wrapped key enters its wrapping.
    pub(crate) with_vector: bool,
}
