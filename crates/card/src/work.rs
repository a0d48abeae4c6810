//! The worst-case time of a request, estimated from its content before it runs.
//!
//! Learned estimates ([`crate::cost`]) are for a verb and a length, and a client chooses everything else of a request:
//! first a verification under an exponent of two bits, which is learned, then 64 under exponents as long as the
//! modulus. So a batch ends as soon as its requests may take [`WORK_NS_MAX`], whatever was learned. Nobody is charged
//! by these times.
//!
//! | part of a request | grows with |
//! |---|---|
//! | an RSA key, public | bits of the exponent, square of the modulus |
//! | an RSA key, private | cube of the modulus; one by modulus and exponent that was not used lately is tried first, which takes as long again; so does the check of one by its primes, whose exponent is longer than a word |
//! | a key of an elliptic curve | the curve |
//! | a text | its length; of format-preserving encryption its square |
//!
//! Times are those of the library on one processor of 2.5 GHz without kernels of 512 bits. A pass of a kernel with
//! lanes takes less. Times of texts in DES, whose blocks follow one another, depend on the level. With AVX-512, texts
//! side by side take about as long as the longest alone, and count as other texts do. With AVX2, that holds for two at
//! a time. Without either, up to 64 take as long as one, up to 800 ns a byte: ending a batch earlier would make nobody
//! wait less for one that has begun, and the others longer. docs/understand/queues.md says how long passes take.

use engine::Level;
use token::pka::{Claim, claims, stated_token};
use wire::Verb;
use wire::frame::{Argument, Arguments};
use wire::verb::Kind;

/// A batch takes no further request once its requests may take this long, in nanoseconds.
pub const WORK_NS_MAX: u64 = 16_000_000;

/// Time of one multiplication modulo a number of 4,096 bits, in nanoseconds.
const MULTIPLICATION_NS: u64 = 4_500;
/// Length of that modulus in bits.
const BITS: u64 = 4096;
/// Of the operations under private keys in a pass, one in this many counts: kernels with lanes take several side by
/// side.
const PRIVATE_SHARE: u64 = 3;
/// Time in which an RSA key of 4,096 bits by its primes is checked, in nanoseconds, if its public exponent is a word.
const CHECKED_NS: u64 = 100_000;
/// Time of one operation with a key of a curve of 384 bits by general arithmetic, in nanoseconds; [`NIST_CURVE_NS`] is
/// for a curve of 521 bits with arithmetic of its own.
const GENERAL_CURVE_NS: u64 = 2_000_000;
const NIST_CURVE_NS: u64 = 800_000;

/// Time of one byte of a text in triple DES with AVX2, which takes two texts side by side, in nanoseconds.
const CHAINED_AVX2_NS: u64 = 24;

/// The worst-case time of a request of this verb, in nanoseconds, with kernels of this level: for its own payload, and
/// for the tokens behind its key references. `is_prepared` says whether the private key of a token is at hand.
pub fn work_ns(
    level: Level,
    verb: Verb,
    own: &[u8],
    tokens: &[u8],
    is_prepared: impl Fn(&[u8]) -> bool,
) -> u64 {
    let bytes = own.len() as u64;
    let of_texts = match verb {
        Verb::FormatPreservingEncipher | Verb::FormatPreservingDecipher | Verb::FormatPreservingTranslate => {
            bytes.min(4096).pow(2) + bytes
        }
        // One block after the other, and several operations for each.
        Verb::MdcGenerate => 40 * bytes,
        // Hashes have few lanes or none.
        Verb::OneWayHash
        | Verb::HmacGenerate
        | Verb::HmacVerify
        | Verb::DigitalSignatureGenerate
        | Verb::DigitalSignatureVerify => 8 * bytes,
        Verb::Encipher
        | Verb::CipherTextTranslate2
        | Verb::MacGenerate
        | Verb::MacVerify
        | Verb::MacGenerate2
        | Verb::MacVerify2
            if level == Level::Avx2 =>
        {
            CHAINED_AVX2_NS * bytes
        }
        _ => 3 * bytes / 2,
    };
    if takes_pka_keys(verb) { of_texts + keys_ns(verb, own, tokens, is_prepared) } else { of_texts }
}

/// Whether a request may name keys of RSA or elliptic curves.
const fn takes_pka_keys(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::ClearRsaPrivate
            | Verb::ClearRsaPublic
            | Verb::DigitalSignatureGenerate
            | Verb::DigitalSignatureVerify
            | Verb::EcDiffieHellman
            | Verb::PkaDecrypt
            | Verb::PkaEncrypt
            | Verb::PkaKeyGenerate
            | Verb::PkaKeyImport
            | Verb::PkaKeyTokenChange
            | Verb::PkaKeyTranslate
            | Verb::PkaPublicKeyExtract
            | Verb::SymmetricKeyExport
            | Verb::SymmetricKeyGenerate
            | Verb::SymmetricKeyImport
            | Verb::SymmetricKeyImport2
            | Verb::TlsPremaster
    )
}

fn keys_ns(verb: Verb, own: &[u8], tokens: &[u8], is_prepared: impl Fn(&[u8]) -> bool) -> u64 {
    let Ok(arguments) = Arguments::read_admitted(verb, own, tokens) else { return 0 };
    let parameters = verb.entry().parameters.iter().enumerate();
    let keys = parameters.filter(|(_, parameter)| {
        // The verbs of clear keys take them as plain bytes.
        matches!(parameter.kind, Kind::Key { .. }) || parameter.name == "key"
    });
    let of = |(position, _)| match arguments.at(position) {
        Argument::Bytes(token) => key_ns(token, &is_prepared),
        _ => 0,
    };
    keys.map(of).sum()
}

/// Time of an operation with the key of the token that starts this field, in nanoseconds; 0 if the field has no such
/// key.
fn key_ns(field: &[u8], is_prepared: impl Fn(&[u8]) -> bool) -> u64 {
    let (mut private, mut is_crt, mut ns) = (false, false, 0);
    for claim in claims(field) {
        match claim {
            Claim::Public { exponent, bits } => {
                let bits = u64::from(bits).min(BITS);
                let exponent_bits = bits_of(exponent).min(BITS);
                ns += 20_000 + exponent_bits * MULTIPLICATION_NS * bits * bits / (BITS * BITS);
                if private {
                    let half = if is_crt { 4 } else { 1 };
                    let operation = bits * MULTIPLICATION_NS * bits * bits / (BITS * BITS) / half;
                    ns += operation / if is_crt { PRIVATE_SHARE } else { 1 };
                    if !is_prepared(stated_token(field)) {
                        let is_word = exponent_bits <= u64::from(u64::BITS);
                        let checked = CHECKED_NS * bits * bits / (BITS * BITS);
                        ns += if is_crt && is_word { checked } else { operation };
                    }
                }
            }
            Claim::Curve { kind, bits } => ns += curve_ns(kind, u64::from(bits)),
            Claim::Private { is_crt: crt } => (private, is_crt) = (true, crt),
        }
    }
    ns
}

/// Length of a number in bits.
fn bits_of(number: &[u8]) -> u64 {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let first = number.get(zeros).map_or(0, |byte| u8::BITS - byte.leading_zeros());
    (number.len() - zeros).saturating_sub(1) as u64 * 8 + u64::from(first)
}

/// Time of an operation with a key of a curve of this type and this length of the prime in bits, in nanoseconds.
fn curve_ns(kind: Option<u8>, bits: u64) -> u64 {
    let bits = bits.min(BITS);
    match kind {
        Some(0x01 | 0x03) => GENERAL_CURVE_NS * bits * bits / (384 * 384),
        _ => NIST_CURVE_NS * bits * bits / (521 * 521),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use token::pka::ecc::{self, EccCurve};
    use token::pka::{Attributes, ClearKey, CrtComponents, Form, clear_token, public_token};
    use wire::bounds::{BATCH_BYTES_MAX, TEXT_BYTES_MAX};
    use wire::verb::{Filled, Key, TypedAsk, clear_rsa_public, digital_signature_verify as dsv};

    /// A verification under the public key of this token, as a key reference or as bytes.
    fn verification(token: &[u8], by_reference: bool) -> u64 {
        let reference = wire::KeyReference { slot: 0, generation: 0 };
        let key = if by_reference { Key::Reference(reference) } else { token.into() };
        let ask = dsv::Ask { pka_public_key_id: key, ..dsv::Ask::new() };
        let mut payload = Vec::new();
        ask.arguments(&mut Filled::default()).write_request(&mut payload).unwrap();
        if !by_reference {
            return work_ns(Level::Avx512, Verb::DigitalSignatureVerify, &payload, &[], |_| false);
        }
        let mut fields =
            wire::frame::Walk::request(Verb::DigitalSignatureVerify, &payload).map(Result::unwrap);
        let at = fields.find(|field| field.position == dsv::PKA_PUBLIC_KEY_ID).unwrap().range.start;
        assert!(wire::frame::place_token(&mut payload, at, 0..token.len()));
        work_ns(Level::Avx512, Verb::DigitalSignatureVerify, &payload, token, |_| false)
    }

    fn public(modulus_bits: usize, exponent_bits: usize) -> Vec<u8> {
        let number = |bits: usize| {
            let mut number = vec![0xFF; bits.div_ceil(8)];
            number[0] = if bits.is_multiple_of(8) { 0xFF } else { (1 << (bits % 8)) - 1 };
            number
        };
        public_token(&number(modulus_bits), &number(exponent_bits)).unwrap()
    }

    /// How many requests of this work a batch takes, and how many multiplications of 4,096 bits those are.
    fn taken(work: u64, multiplications: u64) -> (u64, u64) {
        let count = WORK_NS_MAX.div_ceil(work).min(wire::bounds::BATCH_MAX as u64);
        (count, count * multiplications)
    }

    /// Whatever exponents a client chooses after those that were learned: a batch of them is some ten thousand
    /// multiplications, of which one operation under the longest has 4,095.
    #[test]
    fn long_exponents_are_known_before_they_run() {
        for by_reference in [true, false] {
            for exponent_bits in [2, 17, 64, 256, 1024, 2048, 4095] {
                let work = verification(&public(4096, exponent_bits), by_reference);
                let (count, multiplications) = taken(work, exponent_bits as u64);
                assert!(multiplications <= 8_192, "{count} of {exponent_bits} bits");
                assert!(exponent_bits > 17 || count >= 64, "{count} usual ones share a pass");
            }
        }
        let short = verification(&public(1024, 1024), true);
        assert!(verification(&public(2048, 1024), true) > 3 * short);
    }

    #[test]
    fn a_private_key_that_was_not_used_lately_counts_for_its_preparation() {
        let number = [0xFF; 512];
        let half = &number[..256];
        let components = CrtComponents { p: half, q: half, dp: half, dq: half, u: half };
        let hashes = (engine::sha1, engine::sha256);
        let of = |form: Form, e: &[u8], is_prepared: bool| {
            let key = match form.is_crt() {
                true => ClearKey::Crt { n: &number, e, components },
                false => ClearKey::Me { n: &number, e, d: &number },
            };
            let token = clear_token(form, &key, &Attributes::default(), &hashes).unwrap();
            key_ns(&token, |asked| {
                assert_eq!(asked, &token[..]);
                is_prepared
            })
        };
        // Eight of them fill the lanes of a kernel.
        const F4: &[u8] = &[1, 0, 1];
        assert!(8 * of(Form::CrtAes, F4, true) < WORK_NS_MAX);
        // A check takes a few multiplications, where the public exponent is a word.
        let check = |e: &[u8]| of(Form::CrtAes, e, false) - of(Form::CrtAes, e, true);
        assert!(10 * check(F4) < of(Form::CrtAes, F4, true) && check(&[0xFF; 8]) == check(F4));
        assert!(check(&[1; 9]) > 30 * check(F4));
        assert!(of(Form::MeAes, F4, true) > 2 * of(Form::CrtAes, &[1; 9], false));
        assert!(of(Form::MeAes, F4, false) > WORK_NS_MAX && of(Form::MeAes, F4, false) < 45_000_000);
    }

    #[test]
    fn curves_and_texts_count_as_they_cost() {
        let of = |curve: EccCurve| {
            let mut point = vec![4; curve.point_bytes()];
            point[1..].fill(1);
            key_ns(&ecc::public_token(curve, &point).unwrap(), |_| false)
        };
        assert!(of(EccCurve::BrainpoolP384r1) > 2 * of(EccCurve::P521));
        assert!(EccCurve::ALL.into_iter().all(|curve| of(curve) > 100_000 && of(curve) < 3_000_000));
        let of = |verb, bytes: usize| work_ns(Level::Avx512, verb, &vec![0; bytes], &[], |_| false);
        assert!(of(Verb::OneWayHash, 2 * TEXT_BYTES_MAX) > WORK_NS_MAX);
        assert!(of(Verb::Encipher, BATCH_BYTES_MAX / 2) < WORK_NS_MAX);
        assert!(512 * of(Verb::MacGenerate, 1024) < WORK_NS_MAX, "short texts fill every lane");
        let with_avx2 =
            |bytes: usize| work_ns(Level::Avx2, Verb::MacGenerate, &vec![0; bytes], &[], |_| false);
        assert!(512 * with_avx2(1024) < WORK_NS_MAX, "short texts fill every lane");
        assert!(with_avx2(TEXT_BYTES_MAX) > WORK_NS_MAX, "a long one goes alone");
        let preserving = of(Verb::FormatPreservingEncipher, 1000);
        assert!(preserving > 900_000 && 128 * of(Verb::FormatPreservingEncipher, 300) < WORK_NS_MAX);
    }

    #[test]
    fn what_is_no_token_counts_nothing_and_harms_nobody() {
        for field in [
            &[][..],
            &[0x1E],
            &[0x1E, 0, 0, 12, 0, 0, 0, 0, 4, 0, 0, 0],
            &[0x1E, 0, 0, 12, 0, 0, 0, 0, 4, 0, 0, 4],
        ] {
            assert!(key_ns(field, |_| false) <= 20_000, "{field:?}");
        }
        let token = public(4096, 4095);
        let ask = clear_rsa_public::Ask { key: &token, ..clear_rsa_public::Ask::new() };
        let mut payload = Vec::new();
        ask.arguments(&mut Filled::default()).write_request(&mut payload).unwrap();
        assert!(work_ns(Level::Avx512, Verb::ClearRsaPublic, &payload, &[], |_| false) > WORK_NS_MAX);
        assert_eq!(work_ns(Level::Avx512, Verb::ClearRsaPublic, &[1, 2, 3], &[], |_| false), 4);
        for length in 0..token.len() {
            key_ns(&token[..length], |_| false);
        }
    }
}
