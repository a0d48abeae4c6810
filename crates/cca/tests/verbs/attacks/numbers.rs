//! What an attacker of RSA computes by himself.

use cca::Processor;
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::sha::{sha1, sha256};
use token::pka::{PkaToken, Usage};
use verb_requests::support::Request;
use verb_requests::uses::ways::{Others, internal};
use wire::Codes;
use wire::point::PointSet;
use wire::role::BUILT_IN;
use wire::verb::{Verb, digital_signature_generate as dsg, pka_decrypt};

/// What a home's owner may do.
pub const OWNER: &PointSet = &BUILT_IN[0].points;
/// What may be done where one key serves two purposes.
pub const BOTH: &PointSet = &PointSet::EVERYTHING;

/// An RSA key of a card, in a token for each purpose.
pub struct Target {
    /// For data, and for keys.
    pub others: Others,
    /// For signatures alone.
    pub signing: Vec<u8>,
    pub n: BigNum,
    pub e: BigNum,
}

impl Target {
    pub fn new() -> Self {
        let mut others = Others::new();
        let signing = internal(&mut others.processor, &others.clear, Usage::SignatureOnly);
        let view = PkaToken::parse(&others.public, &(sha1, sha256)).unwrap();
        let (n, e) =
            (BigNum::from_slice(view.modulus()).unwrap(), BigNum::from_slice(view.exponent()).unwrap());
        Self { others, signing, n, e }
    }
}

fn context() -> BigNumContext {
    BigNumContext::new().unwrap()
}

/// `base^exponent mod n`.
pub fn power(base: &BigNumRef, exponent: &BigNumRef, n: &BigNumRef) -> BigNum {
    let mut out = BigNum::new().unwrap();
    out.mod_exp(base, exponent, n, &mut context()).unwrap();
    out
}

/// `one * other mod n`.
pub fn product(one: &BigNumRef, other: &BigNumRef, n: &BigNumRef) -> BigNum {
    let mut out = BigNum::new().unwrap();
    out.mod_mul(one, other, n, &mut context()).unwrap();
    out
}

/// `one / other mod n`.
pub fn quotient(one: &BigNumRef, other: &BigNumRef, n: &BigNumRef) -> BigNum {
    let mut inverse = BigNum::new().unwrap();
    inverse.mod_inverse(other, n, &mut context()).unwrap();
    product(one, &inverse, n)
}

fn times(one: &BigNumRef, other: &BigNumRef) -> BigNum {
    let mut out = BigNum::new().unwrap();
    out.checked_mul(one, other, &mut context()).unwrap();
    out
}

fn over(one: &BigNumRef, other: &BigNumRef) -> BigNum {
    let mut out = BigNum::new().unwrap();
    out.checked_div(one, other, &mut context()).unwrap();
    out
}

fn bit(index: i32) -> BigNum {
    let mut out = BigNum::new().unwrap();
    out.set_bit(index).unwrap();
    out
}

fn small(value: i32) -> BigNum {
    let mut out = BigNum::from_u32(value.unsigned_abs()).unwrap();
    out.set_negative(value < 0);
    out
}

type Vector = [BigNum; 2];

fn scaled_sum(a: &BigNumRef, one: &Vector, b: &BigNumRef, other: &Vector) -> Vector {
    [0, 1].map(|at| &times(a, &one[at]) + &times(b, &other[at]))
}

fn dot(one: &Vector, other: &Vector) -> BigNum {
    &times(&one[0], &other[0]) + &times(&one[1], &other[1])
}

/// `pattern + x` and `pattern + y` with `x` and `y` of so many bits, the first the second times `factor` modulo `n`:
/// the point of a lattice of two dimensions that is nearest to the middle of what is allowed.
pub fn two_with_quotient(
    pattern: &BigNumRef,
    free_bits: i32,
    factor: &BigNumRef,
    n: &BigNumRef,
) -> Option<[BigNum; 2]> {
    let owned = |number: &BigNumRef| number.to_owned().unwrap();
    let mut long: Vector = [owned(n), BigNum::new().unwrap()];
    let mut short: Vector = [owned(factor), small(1)];
    // Gauss: the rounding goes towards zero, which is near enough.
    loop {
        if dot(&long, &long) < dot(&short, &short) {
            std::mem::swap(&mut long, &mut short);
        }
        let doubled = times(&dot(&long, &short), &small(2));
        let mut steps = over(&(&doubled + &dot(&short, &short)), &times(&dot(&short, &short), &small(2)));
        if steps.num_bits() == 0 && doubled.is_negative() {
            steps = over(&(&doubled - &dot(&short, &short)), &times(&dot(&short, &short), &small(2)));
        }
        if steps.num_bits() == 0 {
            break;
        }
        let is_negative = steps.is_negative();
        steps.set_negative(!is_negative);
        long = scaled_sum(&small(1), &long, &steps, &short);
    }
    let middle = pattern + &bit(free_bits - 1);
    let determinant = &times(&long[0], &short[1]) - &times(&short[0], &long[1]);
    let of_long = over(&times(&middle, &(&short[1] - &short[0])), &determinant);
    let of_short = over(&times(&middle, &(&long[0] - &long[1])), &determinant);
    let end = pattern + &bit(free_bits);
    for a in -2..=2 {
        for b in -2..=2 {
            let found = scaled_sum(&(&of_long + &small(a)), &long, &(&of_short + &small(b)), &short);
            if found.iter().all(|number| **number >= *pattern && **number < *end) {
                return Some(found);
            }
        }
    }
    None
}

/// A number at the end of so many bytes.
pub fn padded(number: &BigNumRef, bytes: usize) -> Vec<u8> {
    number.to_vec_padded(bytes as i32).unwrap()
}

/// Digital_Signature_Generate.
pub fn sign(
    processor: &mut Processor,
    points: &'static PointSet,
    key: &[u8],
    words: &[&str],
    data: &[u8],
) -> Result<Vec<u8>, Codes> {
    let reply = Request::new(Verb::DigitalSignatureGenerate)
        .points(points)
        .rules(words)
        .counted(dsg::PKA_PRIVATE_KEY_ID_LENGTH, dsg::PKA_PRIVATE_KEY_ID, key)
        .counted(dsg::HASH_LENGTH, dsg::HASH, data)
        .integer(dsg::SIGNATURE_FIELD_LENGTH, 512)
        .run(processor);
    if reply.codes.has_output() { Ok(reply.bytes(dsg::SIGNATURE_FIELD)) } else { Err(reply.codes) }
}

/// PKA_Decrypt.
pub fn decrypt(
    processor: &mut Processor,
    points: &'static PointSet,
    key: &[u8],
    block: &[u8],
) -> Result<Vec<u8>, Codes> {
    let reply = Request::new(Verb::PkaDecrypt)
        .points(points)
        .rules(&["PKCS-1.2"])
        .counted(pka_decrypt::ENCIPHERED_KEY_LENGTH, pka_decrypt::ENCIPHERED_KEY, block)
        .counted(pka_decrypt::RSA_PRIVATE_KEY_LENGTH, pka_decrypt::RSA_PRIVATE_KEY, key)
        .integer(pka_decrypt::KEY_VALUE_LENGTH, 512)
        .run(processor);
    if reply.codes.has_output() { Ok(reply.bytes(pka_decrypt::KEY_VALUE)) } else { Err(reply.codes) }
}
