//! RSA keys (RFC 8017, 3), 512 to 4096 bits.
//!
//! The constants of a key are computed once: the library's when the key is made, those of the lanes when the key is
//! first used in lanes.

pub(crate) mod batch;
mod lane_keys;
mod lanes;
mod primes;
mod sieve;

use crate::error::RsaKeyError;
use crate::low::aws_lc::rsa::{CrtParts, Part, RsaObject};
use crate::low::cpu::Cpu;
use crate::secret::SecretBytes;
use lane_keys::LaneKey;
use primes::KeySearch;
use std::fmt;

/// The shortest modulus, in bits.
pub const RSA_BITS_MIN: usize = 512;
/// The longest modulus, in bits.
pub const RSA_BITS_MAX: usize = 4096;
/// A key of fewer bits is weak.
pub const RSA_BITS_STRONG: usize = 1024;

/// A public key: modulus and exponent.
pub struct RsaPublicKey(LaneKey);

/// A private key, in Chinese-remainder form or by modulus and exponent; wiped when dropped.
pub struct RsaPrivateKey {
    key: LaneKey,
    form: RsaForm,
}

/// The form in which a private key was given, and is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RsaForm {
    /// By its primes: two exponentiations of half the length (RFC 8017, 3.2, second form).
    Crt,
    /// By modulus and exponent (ME): one exponentiation of the whole length (RFC 8017, 3.2, first form).
    ModulusExponent,
}

/// The numbers of a private key in Chinese-remainder form, big-endian; leading zeros are allowed.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // the names are those of RFC 8017, 3.2
pub struct RsaCrt<'a> {
    pub n: &'a [u8],
    pub e: &'a [u8],
    pub p: &'a [u8],
    pub q: &'a [u8],
    /// d mod (p - 1)
    pub dp: &'a [u8],
    /// d mod (q - 1)
    pub dq: &'a [u8],
    /// q^-1 mod p
    pub qinv: &'a [u8],
}

impl RsaPublicKey {
    /// A key of modulus and exponent, big-endian; leading zeros are allowed. Exponents up to the modulus are allowed.
    pub fn new(n: &[u8], e: &[u8]) -> Result<RsaPublicKey, RsaKeyError> {
        check_public(n, e)?;
        let object = RsaObject::public(n, e).ok_or(RsaKeyError::Exponent)?;
        Ok(RsaPublicKey(LaneKey::public(object)))
    }

    /// Length of the modulus in bits.
    pub fn bits(&self) -> usize {
        bits(&self.0.n)
    }

    /// Length of the modulus, and so of every input and output, in bytes.
    pub fn modulus_bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Whether the key is refused unless the setting for weak algorithms enables it.
    pub fn is_weak(&self) -> bool {
        self.bits() < RSA_BITS_STRONG
    }

    /// The modulus, without leading zeros.
    pub fn n(&self) -> Vec<u8> {
        self.0.n.to_vec()
    }

    /// The public exponent, without leading zeros.
    pub fn e(&self) -> Vec<u8> {
        self.0.e.to_vec()
    }
}

impl RsaPrivateKey {
    /// A key in Chinese-remainder form. All parts are checked against each other; the primes may be in either order.
    pub fn from_crt(parts: &RsaCrt<'_>) -> Result<RsaPrivateKey, RsaKeyError> {
        check_public(parts.n, parts.e)?;
        let RsaCrt { n, e, p, q, dp, dq, qinv } = *parts;
        let object = RsaObject::private_crt(&CrtParts { n: stripped(n), e, p, q, dp, dq, qinv });
        let object = object.ok_or(RsaKeyError::Inconsistent)?;
        Ok(RsaPrivateKey::by_primes(object))
    }

    /// A key of its primes, big-endian, and the inverse of the second one modulo the first; the private exponents are
    /// computed. All parts are checked against each other; leading zeros are allowed.
    pub fn from_primes(
        n: &[u8],
        e: &[u8],
        p: &[u8],
        q: &[u8],
        qinv: &[u8],
    ) -> Result<RsaPrivateKey, RsaKeyError> {
        check_public(n, e)?;
        let object = RsaObject::private_by_primes(stripped(n), e, p, q, qinv);
        object.map(RsaPrivateKey::by_primes).ok_or(RsaKeyError::Inconsistent)
    }

    /// A key of modulus and private exponent; `e` is needed to verify results. A `d` that does not belong to `e` gives
    /// [`crate::RsaError::Verification`] at its first use.
    pub fn from_me(n: &[u8], e: &[u8], d: &[u8]) -> Result<RsaPrivateKey, RsaKeyError> {
        check_public(n, e)?;
        if stripped(d).is_empty() || stripped(d).len() > stripped(n).len() {
            return Err(RsaKeyError::Inconsistent);
        }
        let object = RsaObject::private_me(n, e, d).ok_or(RsaKeyError::Inconsistent)?;
        Ok(RsaPrivateKey { key: LaneKey::by_exponent(object), form: RsaForm::ModulusExponent })
    }

    /// Generates a key in Chinese-remainder form with p > q, tested by one operation, with the bound library only.
    /// [`crate::Engine::rsa_generate`] is faster if it has lanes.
    ///
    /// `bits` is a multiple of 8 from 512 to 4096, and exactly the length of the modulus. For multiples of 128 and
    /// exponents of at most 32 bits the library's FIPS 186-5 procedure is used. Other sizes and exponents use the same
    /// procedure over the library's random numbers and prime test, with the two top bits of each prime set.
    pub fn generate(bits: usize, e: &[u8]) -> Result<RsaPrivateKey, RsaKeyError> {
        RsaPrivateKey::generate_with(Cpu::PORTABLE, bits, e)
    }

    /// As [`RsaPrivateKey::generate`]; if there are lanes, they generate all sizes by FIPS 186-5, A.1.3.
    pub(crate) fn generate_with(cpu: Cpu, bits: usize, e: &[u8]) -> Result<RsaPrivateKey, RsaKeyError> {
        let e = check_generated(bits, e)?;
        let object = match cpu.avx512 {
            Some(token) => primes::generate(Some(token), bits, e),
            None => RsaObject::generate(bits, e),
        };
        object.map(RsaPrivateKey::by_primes).ok_or(RsaKeyError::Generation { bits })
    }

    /// As [`RsaPrivateKey::generate_with`], in steps.
    pub(crate) fn search_with(cpu: Cpu, bits: usize, e: &[u8]) -> Result<RsaSearch, RsaKeyError> {
        let e = check_generated(bits, e)?;
        let search = KeySearch::new(cpu.avx512, bits, e).ok_or(RsaKeyError::Generation { bits })?;
        Ok(RsaSearch { search, bits })
    }

    fn by_primes(object: RsaObject) -> RsaPrivateKey {
        RsaPrivateKey { key: LaneKey::by_primes(object), form: RsaForm::Crt }
    }

    /// The form of the key.
    pub fn form(&self) -> RsaForm {
        self.form
    }

    /// Length of the modulus in bits.
    pub fn bits(&self) -> usize {
        bits(&self.key.n)
    }

    /// Length of the modulus, and so of every input and output, in bytes.
    pub fn modulus_bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Whether the key is refused unless the setting for weak algorithms enables it.
    pub fn is_weak(&self) -> bool {
        self.bits() < RSA_BITS_STRONG
    }

    /// The modulus, without leading zeros.
    pub fn n(&self) -> Vec<u8> {
        self.key.n.to_vec()
    }

    /// The public exponent, without leading zeros.
    pub fn e(&self) -> Vec<u8> {
        self.key.e.to_vec()
    }

    /// The private exponent, as long as the modulus. For a key given by its primes it is computed, and may differ from
    /// the original one by a multiple of lcm(p - 1, q - 1).
    pub fn d(&self) -> SecretBytes {
        self.secret_part(Part::D, self.modulus_bytes()).unwrap_or_else(|| SecretBytes::new(0))
    }

    /// The first prime, half as long as the modulus (rounded up); `None` for a key by modulus and exponent.
    pub fn p(&self) -> Option<SecretBytes> {
        self.secret_part(Part::P, self.prime_bytes())
    }

    /// The second prime, as long as the first; `None` for a key by modulus and exponent.
    pub fn q(&self) -> Option<SecretBytes> {
        self.secret_part(Part::Q, self.prime_bytes())
    }

    /// d mod (p - 1), as long as p; `None` for a key by modulus and exponent.
    pub fn dp(&self) -> Option<SecretBytes> {
        self.secret_part(Part::Dp, self.prime_bytes())
    }

    /// d mod (q - 1), as long as q; `None` for a key by modulus and exponent.
    pub fn dq(&self) -> Option<SecretBytes> {
        self.secret_part(Part::Dq, self.prime_bytes())
    }

    /// q^-1 mod p, as long as p; `None` for a key by modulus and exponent.
    pub fn qinv(&self) -> Option<SecretBytes> {
        self.secret_part(Part::Qinv, self.prime_bytes())
    }

    /// The public key of the pair.
    pub fn public_key(&self) -> Result<RsaPublicKey, RsaKeyError> {
        RsaPublicKey::new(&self.key.n, &self.key.e)
    }

    /// The length of both primes in bytes. Primes may differ in length; both are returned as long as the longer one.
    fn prime_bytes(&self) -> usize {
        let half = self.bits().div_ceil(16);
        [Part::P, Part::Q]
            .into_iter()
            .filter_map(|part| self.key.object.part_bytes(part))
            .fold(half, usize::max)
    }

    fn secret_part(&self, part: Part, bytes: usize) -> Option<SecretBytes> {
        self.key.object.part_bytes(part)?;
        let mut secret = SecretBytes::new(bytes);
        self.key.object.part(part, secret.as_mut()).then_some(secret)
    }
}

impl fmt::Debug for RsaPublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RsaPublicKey({} bits)", self.bits())
    }
}

impl fmt::Debug for RsaPrivateKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RsaPrivateKey({} bits, {:?})", self.bits(), self.form)
    }
}

fn check_public(n: &[u8], e: &[u8]) -> Result<(), RsaKeyError> {
    let n = stripped(n);
    let bits = bits(n);
    if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
        return Err(RsaKeyError::Size { bits });
    }
    if n.last().is_none_or(|last| last % 2 == 0) {
        return Err(RsaKeyError::EvenModulus);
    }
    let e = stripped(e);
    let below_modulus = (e.len(), e) < (n.len(), n);
    if e.last().is_none_or(|last| last % 2 == 0) || e == [1] || !below_modulus {
        return Err(RsaKeyError::Exponent);
    }
    Ok(())
}

/// Length in bits of a number without leading zeros.
fn bits(stripped: &[u8]) -> usize {
    8 * stripped.len() - stripped.first().map_or(0, |first| first.leading_zeros() as usize)
}

/// Checks size and exponent of a key to generate; returns the exponent without leading zeros.
fn check_generated(bits: usize, e: &[u8]) -> Result<&[u8], RsaKeyError> {
    if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
        return Err(RsaKeyError::Size { bits });
    }
    if !bits.is_multiple_of(8) {
        return Err(RsaKeyError::SizeStep { bits });
    }
    let e = stripped(e);
    if e.last().is_none_or(|last| last % 2 == 0) || e == [1] || 8 * e.len() > bits / 2 {
        return Err(RsaKeyError::Exponent);
    }
    Ok(e)
}

/// A search for a new key in steps, between which its thread can do other work. In lanes a step is one pass over
/// candidates; without lanes it is a slice of a Miller-Rabin round of one candidate. The last steps make a key of two
/// primes and test it. The search is wiped when dropped.
pub struct RsaSearch {
    search: KeySearch,
    bits: usize,
}

impl RsaSearch {
    /// Runs one step; `None` until the search ends. Drop the search after its result.
    pub fn step(&mut self) -> Option<Result<RsaPrivateKey, RsaKeyError>> {
        let ended = self.search.step()?;
        let failed = RsaKeyError::Generation { bits: self.bits };
        Some(ended.map(RsaPrivateKey::by_primes).ok_or(failed))
    }

    /// Length of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }
}

impl fmt::Debug for RsaSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSearch").field("bits", &self.bits).finish_non_exhaustive()
    }
}

fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
