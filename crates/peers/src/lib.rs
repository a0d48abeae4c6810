//! Other libraries, each called by its fastest interface, to be measured beside engine and cards. Also the measured
//! throughput of this core's execution ports.
//!
//! This crate exists because only it, besides the engine, calls C: the lab, which compares, stays without unsafe code.
//! [`rpgp`] and [`ff1`] need none. Each bound library has one module with `ffi` in its name, which holds all unsafe
//! code for it:
//!
//! - [`openssl_ffi`]: the system's OpenSSL 3, loaded when the program runs: not needed to build.
//! - [`ipsec_mb_ffi`]: Intel's multi-buffer library 1.3, likewise.
//! - [`aws_lc_ffi`]: AWS-LC in the build that the engine links, called directly.
//! - `table_ffi`: a macro that declares the functions of a library loaded at run time.
//! - [`rpgp`]: rPGP's own message builder and reader, for whole files.
//! - [`ff1`]: FF1 of the crate `fpe`.
//! - [`core_ffi`]: counted loops of one instruction each on this core, and its time-stamp counter.
//!
//! Only for test keys: nothing is wiped.

#[cfg(test)]
mod agree;
pub mod aws_lc_ffi;
pub mod core_ffi;
pub mod ff1;
pub mod ipsec_mb_ffi;
pub mod openssl_ffi;
pub mod rpgp;
mod table_ffi;

/// The numbers of an RSA key, big-endian. Without primes, the key has only modulus and exponents.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names of RFC 8017
pub struct RsaNumbers<'a> {
    pub n: &'a [u8],
    pub e: &'a [u8],
    pub d: &'a [u8],
    /// p, q, dp, dq, qinv; `None` for a key without primes.
    pub crt: Option<[&'a [u8]; 5]>,
}

/// Why a library cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of the library.
    pub library: &'static str,
    /// The Debian package that contains the library.
    pub package: &'static str,
    /// The loader's message.
    pub cause: String,
}

/// The loader's message with all its causes, which name the missing file or function.
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

    /// The message for a missing library names the file or function that was not found.
    #[test]
    fn causes_name_what_is_not_found() {
        // SAFETY: there is no such library.
        let error = unsafe { libloading::Library::new("no-such-library.so") }.unwrap_err();
        assert!(cause(&error).contains("no-such-library.so"), "{}", cause(&error));
    }
}
