//! Other libraries, called each in its best way, to be measured beside the engine and cards; and what a port of this
//! core can do.
//!
//! A crate of its own, because it is the one place above the engine that calls C: the lab, which judges, stays without
//! unsafe code; [`rpgp`] and [`ff1`] need none. One module for each bound library, `ffi` in its name, holds all of that
//! library's unsafe code:
//!
//! - [`openssl_ffi`]: the system's OpenSSL 3, found when the program runs: nothing of it is needed to build.
//! - [`ipsec_mb_ffi`]: Intel's multi-buffer library 1.3, likewise.
//! - [`aws_lc_ffi`]: AWS-LC as the engine is linked with it, called directly.
//! - `table_ffi`: how the functions of a library that is found at run time are declared.
//! - [`rpgp`]: rPGP's own message builder and reader, for whole files.
//! - [`ff1`]: FF1 of the crate `fpe`.
//! - [`core_ffi`]: instructions of this core in a counted loop, and its time-stamp counter.
//!
//! Nothing here is for keys that are worth anything: nothing is wiped.

pub mod aws_lc_ffi;
pub mod core_ffi;
pub mod ff1;
pub mod ipsec_mb_ffi;
pub mod openssl_ffi;
pub mod rpgp;
mod table_ffi;

/// An RSA key as its numbers, big-endian; without primes it is a key by modulus and exponent.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names of RFC 8017
pub struct RsaNumbers<'a> {
    pub n: &'a [u8],
    pub e: &'a [u8],
    pub d: &'a [u8],
    /// p, q, dp, dq, qinv.
    pub crt: Option<[&'a [u8]; 5]>,
}

/// Why a peer cannot take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The library's name.
    pub library: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// What the loader said.
    pub cause: String,
}

/// What the loader said, down to the name of the file or the function.
fn cause(error: &libloading::Error) -> String {
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl std::fmt::Display for Missing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} is not here ({}); install {}", self.library, self.cause, self.package)
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads that a library is missing learns which file, or which function of it.
    #[test]
    fn causes_name_what_is_not_found() {
        // SAFETY: there is no such library.
        let error = unsafe { libloading::Library::new("no-such-library.so") }.unwrap_err();
        assert!(cause(&error).contains("no-such-library.so"), "{}", cause(&error));
    }
}
