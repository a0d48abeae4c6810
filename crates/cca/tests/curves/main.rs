//! The verbs of PKA keys with keys of elliptic curves, through whole batches; the other side is OpenSSL.

mod agreement;
mod attacks;
#[path = "../exercised/mod.rs"]
mod exercised;
mod keys;
mod peer;
mod signatures;
#[path = "../rsa/support.rs"]
#[allow(dead_code, reason = "made for the tests of RSA")]
mod support;
