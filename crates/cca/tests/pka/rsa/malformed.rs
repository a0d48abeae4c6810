//! Tokens and payloads that somebody else wrote: refused, or shown not to matter; never a panic.

use cca::{Batch, Incoming};
use proptest::prelude::*;
use verb_requests::pka::*;
use wire::{Verb, code};

/// Every byte of every token flipped in turn: what is signed under a changed token is refused, or the
/// token still says the same key and usage, and the signature is the right one.
#[test]
fn every_flipped_byte_of_every_private_token() {
    let mut processor = processor();
    let key = openssl_key(512);
    let expected = power(b"text", key.d(), key.n());
    let mut name = [b' '; 64];
    name[..6].copy_from_slice(b"MY.KEY");
    for kind in ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"] {
        let is_crt = kind == "RSA-CRT" || kind == "RSA-AESC";
        let values = if is_crt { crt_structure(key) } else { me_structure(key, true) };
        let clear = token_build(&mut processor, &[kind, "KEY-MGMT"], &values, &name).unwrap();
        let internal = key_import(&mut processor, &clear).unwrap();
        for (origin, token) in [("clear", clear), ("internal", internal)] {
            let mut passed = Vec::new();
            for at in 0..token.len() {
                let mut changed = token.clone();
                changed[at] ^= 0x01;
                if let Ok(signature) = sign(&mut processor, &["ZERO-PAD"], &changed, b"text") {
                    assert_eq!(signature, expected, "{kind} {origin} byte {at}");
                    passed.push(at);
                }
            }
            // Nothing of an internal token may be changed. A clear one of the newer forms carries no hash
            // of its own: its attributes are its writer's.
            assert!(passed.is_empty() || origin == "clear", "{kind} {origin}: {passed:?}");
            assert!(passed.len() <= 2, "{kind} {origin}: {passed:?}");
        }
    }
}

#[test]
fn every_flipped_byte_of_a_public_token_is_refused_or_another_key() {
    let mut processor = processor();
    let key = openssl_key(512);
    let public = public_token(&mut processor, key);
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let signature = sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap();
    for at in 0..public.len() {
        for flip in [0x01, 0x80] {
            let mut changed = public.clone();
            changed[at] ^= flip;
            let codes = verify(&mut processor, &["PKCS-1.1"], &changed, b"text", &signature);
            assert_ne!(codes, code::OK, "byte {at} ^ {flip:#x}");
        }
    }
}

#[test]
fn wrapped_parts_of_two_tokens_do_not_mix() {
    let mut processor = processor();
    let key = openssl_key(512);
    let clear = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let signing = key_import(&mut processor, &clear).unwrap();
    let again = key_import(&mut processor, &clear).unwrap();
    let unwrapping = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", key);
    let words = ["PKCS-1.1"];
    assert!(sign(&mut processor, &words, &signing, b"text").is_ok());
    // The object protection key of one with the payload of the other.
    let mut mixed = signing.clone();
    mixed[8 + 68..8 + 116].copy_from_slice(&again[8 + 68..8 + 116]);
    assert_eq!(sign(&mut processor, &words, &mixed, b"text").unwrap_err(), code::TOKEN_INVALID);
    // Another usage over the same key.
    let mut other = unwrapping.clone();
    other[8 + 50] = signing[8 + 50];
    assert_eq!(sign(&mut processor, &words, &other, b"text").unwrap_err(), code::TOKEN_INVALID);
}

/// A key of the caller's that works on nearly every block: the one that it fails on is the caller's
/// fault, and no self-check that failed.
#[test]
fn numbers_that_fail_on_some_blocks_only() {
    use openssl::bn::{BigNum, BigNumContext};
    let mut context = BigNumContext::new().unwrap();
    let prime = |bits| {
        let mut prime = BigNum::new().unwrap();
        // The exponent has an inverse modulo the prime less one.
        while prime.num_bits() == 0 || prime.mod_word(65537).unwrap() == 1 {
            prime.generate_prime(bits, false, None, None).unwrap();
        }
        prime
    };
    let (p, q) = (prime(256), prime(512));
    let mut times = |a: &BigNum, b: &BigNum| {
        let mut product = BigNum::new().unwrap();
        product.checked_mul(a, b, &mut context).unwrap();
        product
    };
    let less_one = |n: &BigNum| n - &BigNum::from_u32(1).unwrap();
    let squared = times(&p, &p);
    let n = times(&squared, &q);
    // A multiple of the order of the units of n = p * p * q.
    let units = times(&p, &less_one(&p));
    let order = times(&units, &less_one(&q));
    let e = BigNum::from_u32(65537).unwrap();
    let mut d = BigNum::new().unwrap();
    d.mod_inverse(&e, &order, &mut BigNumContext::new().unwrap()).unwrap();
    let key = token::pka::ClearKey::Me { n: &n.to_vec(), e: &e.to_vec(), d: &d.to_vec() };
    let attributes = token::pka::Attributes::default();
    let hashes = (openssl::sha::sha1, openssl::sha::sha256);
    let token = token::pka::clear_token(token::pka::Form::MeAes, &key, &attributes, &hashes).unwrap();

    let mut processor = processor();
    let good = clear(&mut processor, Verb::ClearRsaPrivate, &token, b"text").unwrap();
    assert_eq!(good, power(b"text", &d, &n));
    let refused = clear(&mut processor, Verb::ClearRsaPrivate, &token, &p.to_vec()).unwrap_err();
    assert_eq!(refused, code::PKA_FIELD);
    let internal = key_import(&mut processor, &token).unwrap();
    let refused = sign(&mut processor, &["ZERO-PAD"], &internal, &p.to_vec()).unwrap_err();
    assert_eq!(refused, code::PKA_FIELD);
}

/// A private exponent that is right but for a square root of one: whether the result fits the public
/// exponent hangs on the blinding, which is drawn anew each time. However it falls, no caller's key may
/// make the card doubt itself, since that stops it.
#[test]
fn numbers_that_fail_now_and_then() {
    use openssl::bn::{BigNum, BigNumContext};
    let key = openssl_key(1024);
    let one = BigNum::from_u32(1).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let (p, q) = (key.p().unwrap() - &one, key.q().unwrap() - &one);
    let (mut order, mut common, mut half) =
        (BigNum::new().unwrap(), BigNum::new().unwrap(), BigNum::new().unwrap());
    common.gcd(&p, &q, &mut context).unwrap();
    half.checked_div(&p, &common, &mut context).unwrap();
    order.checked_mul(&half, &q, &mut context).unwrap();
    half.rshift1(&order).unwrap();
    let (mut right, mut d) = (BigNum::new().unwrap(), BigNum::new().unwrap());
    right.mod_inverse(key.e(), &order, &mut context).unwrap();
    d.mod_add(&right, &half, &order, &mut context).unwrap();
    let (n, e) = (number(key.n()), number(key.e()));
    let numbers = token::pka::ClearKey::Me { n: &n, e: &e, d: &d.to_vec() };
    let hashes = (openssl::sha::sha1, openssl::sha::sha256);
    let attributes = token::pka::Attributes::default();
    let token = token::pka::clear_token(token::pka::Form::MeAes, &numbers, &attributes, &hashes).unwrap();
    let mut seen = [0, 0];
    for _ in 0..8 {
        // A new processor: the token is tried anew, and may pass.
        let mut processor = with_keys(true, &[0; 4], &[0; 4]);
        // Enough for the library to draw its blinding anew several times.
        for text in 2..300u16 {
            let result = clear(&mut processor, Verb::ClearRsaPrivate, &token, &text.to_be_bytes());
            seen[usize::from(result.is_ok())] += 1;
            assert!(matches!(result, Ok(_) | Err(code::PKA_FIELD)), "{result:?}");
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "it fails now and then: {seen:?}");
}

/// An order to which `d` is prime, and a modulus of 512 bits whose units all have it; none where too few small
/// primes are prime to `d`.
fn modulus_of_order_prime_to(d: &openssl::bn::BigNumRef) -> Option<(u64, openssl::bn::BigNum)> {
    use openssl::bn::BigNum;
    let is_prime = |n: u64| (2..).take_while(|by| by * by <= n).all(|by| !n.is_multiple_of(by));
    let mut order = 1u64;
    for (factor, prime) in [(16, 2), (27, 3), (25, 5), (7, 7), (11, 11), (13, 13), (17, 17), (19, 19)] {
        if d.mod_word(prime).unwrap() != 0 && order * factor < 1 << 24 {
            order *= factor;
        }
    }
    let primes: Vec<u64> = (3..=order + 1).filter(|p| order.is_multiple_of(p - 1) && is_prime(*p)).collect();
    let product = |first: usize| {
        let mut product = BigNum::from_u32(1).unwrap();
        for prime in primes.iter().cycle().skip(first).take(primes.len()) {
            if product.num_bits() < 512 {
                product = &product * &BigNum::from_u32(*prime as u32).unwrap();
            }
        }
        product
    };
    let n = (0..primes.len()).map(product).find(|n| n.num_bits() == 512)?;
    Some((order, n))
}

/// A wrapped private exponent beside a modulus and an exponent of somebody else's choice: were it used, each
/// pair that is accepted would tell the exponent modulo the order of a group of their choice.
#[test]
fn a_wrapped_exponent_is_of_its_modulus_and_public_exponent_only() {
    use openssl::bn::{BigNum, BigNumContext};
    let mut processor = processor();
    // Some private exponents share so many small factors with every order that no modulus is left; another key does.
    let (key, order, n) = std::iter::repeat_with(|| openssl::rsa::Rsa::generate(512).unwrap())
        .find_map(|key| modulus_of_order_prime_to(key.d()).map(|(order, n)| (key, order, n)))
        .unwrap();
    let token = internal_token(&mut processor, "RSA-AESM", "SIG-ONLY", &key);
    assert!(sign(&mut processor, &["PKCS-1.1"], &token, b"text").is_ok());
    let (group, mut e) = (BigNum::from_u32(order as u32).unwrap(), BigNum::new().unwrap());
    e.mod_inverse(key.d(), &group, &mut BigNumContext::new().unwrap()).unwrap();
    let replace = |token: &mut Vec<u8>, from: &[u8], to: &[u8]| {
        let at = token.windows(from.len()).rposition(|window| window == from).unwrap();
        token[at..at + from.len()].copy_from_slice(to);
    };
    let mut other = token.clone();
    replace(&mut other, &number(key.n()), &n.to_vec());
    replace(
        &mut other,
        &[0, 3, 2, 0, 0, 0, 1, 0, 1],
        &[&[0, 3, 2, 0, 0, 0][..], &e.to_vec_padded(3).unwrap()].concat(),
    );
    let refused = sign(&mut processor, &["PKCS-1.1"], &other, b"text").unwrap_err();
    assert_eq!(refused, code::TOKEN_INVALID);
}

const VERBS: &[Verb] = &[
    Verb::ClearRsaPrivate,
    Verb::ClearRsaPublic,
    Verb::PkaKeyTokenBuild,
    Verb::PkaKeyGenerate,
    Verb::PkaKeyImport,
    Verb::PkaPublicKeyExtract,
    Verb::PkaEncrypt,
    Verb::PkaDecrypt,
    Verb::DigitalSignatureGenerate,
    Verb::DigitalSignatureVerify,
    Verb::SymmetricKeyExport,
    Verb::SymmetricKeyImport,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_payload_is_answered(payload in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut processor = processor();
        let mut batch = Batch::new();
        for verb in VERBS {
            batch.push(&Incoming { verb: *verb, domain: 0, points: OWNER, payload: &payload }).unwrap();
        }
        processor.run(&mut batch);
        prop_assert_eq!(batch.answers().len(), VERBS.len());
    }

    /// Well-formed frames whose arguments are anything: keywords of the right shape, tokens that begin
    /// like tokens, lengths that agree or not.
    #[test]
    fn any_arguments_are_answered(
        material in proptest::collection::vec(any::<u8>(), 0..200),
        words in proptest::collection::vec(
            prop::sample::select(vec![
                "PKCS-1.1", "PKCS-1.2", "ZERO-PAD", "PKCSOAEP", "PKOAEP2", "SHA-256", "X9.31", "PKCS-PSS",
                "RSA-CRT", "RSA-AESM", "RSA-PUBL", "AES", "DES", "CLEAR", "KEY-MGMT",
            ]), 0..4),
        which in 0usize..4,
        at in 0usize..600,
        flip: u8,
        integer in prop::sample::select(vec![0i64, 1, 64, 128, 2500, -1, i64::MAX, i64::MIN]),
        agree: bool,
    ) {
        use wire::verb::{Direction, Kind, Length};
        let mut processor = processor();
        let key = openssl_key(512);
        let mut token = match which {
            0 => clear_token(&mut processor, "RSA-CRT", "KEY-MGMT", key),
            1 => internal_token(&mut processor, "RSA-AESM", "KEY-MGMT", key),
            2 => public_token(&mut processor, key),
            _ => material.clone(),
        };
        if let Some(byte) = token.get_mut(at) {
            *byte ^= flip;
        }
        let rules = keywords(&words);
        for verb in VERBS {
            let mut arguments = wire::frame::Arguments::new(*verb);
            for (position, parameter) in verb.entry().parameters.iter().enumerate() {
                if parameter.direction == Direction::Out {
                    continue;
                }
                match parameter.kind {
                    Kind::Integer => {
                        arguments.set_integer(position, integer);
                    }
                    Kind::Keywords(count) => {
                        arguments.set_integer(count, words.len() as i64).set_bytes(position, &rules);
                    }
                    Kind::Bytes(length) | Kind::Key { length, .. } => {
                        let bytes = if matches!(parameter.kind, Kind::Key { .. }) || parameter.name == "key" {
                            &token[..]
                        } else {
                            &material[..]
                        };
                        if let (Length::By(by), true) = (length, agree) {
                            arguments.set_integer(by, bytes.len() as i64);
                        }
                        arguments.set_bytes(position, bytes);
                    }
                }
            }
            let (_, codes, payload) = tried(&mut processor, &arguments);
            prop_assert!(codes.return_code < 16, "{:?}: {codes}", verb);
            prop_assert!(payload.is_empty() || wire::frame::Arguments::read_reply(*verb, &payload).is_ok());
        }
    }
}
