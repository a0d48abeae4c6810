//! The verbs of PKA keys with keys of elliptic curves, through whole batches; the other side is OpenSSL.

mod agreement;
mod attacks;
mod keys;
mod peer;
mod signatures;
