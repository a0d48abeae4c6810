//! OpenPGP messages as files: stages on their own threads, bounded memory, and no unauthenticated output left behind.
//!
//! | need | function |
//! |---|---|
//! | encrypt, also sign in the same pass | [`encrypt()`] |
//! | decrypt, also verify | [`decrypt()`] |
//! | sign: inline, detached, cleartext | [`sign()`] |
//! | verify | [`verify()`] |
//!
//! Each function takes an [`Input`], an [`Output`], a request, and a [`Run`]. The latter says which stages have threads
//! of their own, the number of workers, the processors and the provider. Each returns a [`Summary`].
//!
//! ```
//! use openpgp::{Form, Passphrase, Protection, SymmetricKeyAlgorithm, Timestamp};
//! use pipeline::{ByPassphrase, Decrypt, Encrypt, Input, Output, Run, decrypt, encrypt};
//! # let folder = tempfile::tempdir()?;
//! # let (plain, sealed, again) = (folder.path().join("a"), folder.path().join("a.pgp"), folder.path().join("b"));
//! # std::fs::write(&plain, "what is said")?;
//!
//! let engine = engine::Engine::new(engine::Options::default())?;
//! let run = Run::new(&engine);
//! let passphrases = [Passphrase::new(b"correct horse".to_vec())];
//! let form = Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 };
//! let what = Encrypt { passphrases: &passphrases, ..Encrypt::new(form, Timestamp::now()) };
//! encrypt(Input::Path(plain), Output::Path { path: sealed.clone(), overwrite: false }, &what, &run)?;
//!
//! let opener = ByPassphrase::new(&passphrases);
//! let what = Decrypt::new(&opener, Timestamp::now());
//! let summary = decrypt(Input::Path(sealed), Output::Path { path: again.clone(), overwrite: false }, &what, &run)?;
//! assert_eq!(std::fs::read_to_string(&again)?, "what is said");
//! assert!(summary.signatures.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Versions and platforms
//!
//! Versions are 0.x: the interface may change with the minor version. The crate needs Linux on x86-64 or aarch64, the
//! standard library and Rust 1.91.
#![forbid(unsafe_code)]

mod block;
pub mod candidates;
mod crew;
mod decrypt;
mod encrypt;
mod entry;
pub mod error;
mod exit;
mod flow;
mod gather;
mod lines;
mod opening;
mod output_path;
mod pieces;
pub mod request;
pub mod run;
mod sealing;
mod sign;
mod signing;
mod sink;
mod source;
pub mod summary;
mod text;
mod times;
mod unnamed;
mod unwrap;
mod verdicts;
mod verify;

pub use candidates::{Candidate, Candidates};
pub use error::Error;
pub use request::{
    ByPassphrase, Compression, Decrypt, Encrypt, Input, Limits, Literal, LiteralMode, NotOpened, Output,
    SessionKeys, Sign, SignatureKind, Unauthenticated, Verifiers, Verify,
};
pub use run::{Async, NoProgress, Progress, Provider, Run};
pub use summary::{SignatureReport, Stage, StageTime, Summary, Verdict};

/// Encrypts a message, and signs it in the same pass if signers are given.
///
/// # Errors
/// See [`Error`]; an output file is then neither created nor replaced.
pub fn encrypt(input: Input, output: Output, what: &Encrypt<'_>, run: &Run<'_>) -> Result<Summary, Error> {
    encrypt::encrypt(input, output, what, run)
}

/// Decrypts a message, and verifies its signatures if certificates are given.
///
/// # Errors
/// See [`Error`]; an output file is then neither created nor replaced.
pub fn decrypt(input: Input, output: Output, what: &Decrypt<'_>, run: &Run<'_>) -> Result<Summary, Error> {
    decrypt::decrypt(input, output, what, run)
}

/// Signs text: inline, detached or as a cleartext message.
///
/// # Errors
/// See [`Error`]; an output file is then neither created nor replaced.
pub fn sign(input: Input, output: Output, what: &Sign<'_>, run: &Run<'_>) -> Result<Summary, Error> {
    sign::sign(input, output, what, run)
}

/// Verifies a signed message, or data with its detached signatures. `output` takes the text of an inline or cleartext
/// message; `None` if only the verdict is wanted.
///
/// # Errors
/// See [`Error`]: [`Error::NoValidSignature`] if no signature is valid; an output file is then neither created nor
/// replaced.
pub fn verify(
    input: Input,
    output: Option<Output>,
    what: &Verify<'_>,
    run: &Run<'_>,
) -> Result<Summary, Error> {
    verify::verify(input, output, what, run)
}
