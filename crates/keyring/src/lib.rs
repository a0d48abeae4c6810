//! OpenPGP keys in a folder, and finding the key that a name means.
//!
//! | file | holds |
//! |---|---|
//! | `certs/FINGERPRINT.pgp` | a certificate, as packets |
//! | `private/FINGERPRINT.pgp` | the certificate with its private keys, locked as in OpenPGP;
//! readable by its owner only |
//! | `cards.toml` | private keys that are on cards, with their homes and labels |
//! | `settings.toml` | the default key |
//! | `.lock` | held while the store is changed |
//!
//! Names hold fingerprints in lower-case hexadecimal digits. Files are replaced, never changed in
//! place, so readers take no lock. There is no index: a command that looks for anything but a
//! primary key's fingerprint reads the whole store once. A user who can read `private` can guess
//! passphrases; otherwise nothing in it is secret.
#![forbid(unsafe_code)]

pub mod error;
mod files;
mod settings;
pub mod store;
pub mod who;

pub use error::{FindError, KeyringError};
pub use settings::{CardPlace, Cards, Settings};
pub use store::{Change, Imported, Keyring, Problem};
pub use who::Who;
