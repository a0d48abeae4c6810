//! RSA in batches against OpenSSL: every length of digits, both forms, keys of all kinds side by side.
//!
//! A thousand random cases for each size and form with `CRYPTAND_TEST_ALL=1`, ten otherwise, the same ones in
//! every run. Keys are made of given primes: without lanes, those of all sizes take most of a minute to find.

use engine::*;
use openssl::bn::{BigNum, BigNumContext};
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use seeded::Random;

/// Lengths at the borders of the kernels' digit counts (260 bits less 2), above, below, and between; those
/// that programs use; and some that are no multiple of 8.
const SIZES: [usize; 30] = [
    512, 520, 640, 768, 776, 784, 1000, 1024, 1032, 1040, 1296, 1304, 1536, 1552, 1560, 1816, 2048, 2072,
    2080, 2344, 2592, 2600, 2856, 3072, 3120, 3376, 3640, 3904, 4088, 4096,
];
const ODD_SIZES: [usize; 9] = [513, 517, 519, 777, 778, 1037, 1039, 1557, 1559];

const LANES: usize = 8;

/// Four primes of each length that a test asks for, as lines of length and hexadecimal digits, in the order of
/// their lengths. Their two top bits are set, so that a product has full length, and none is 1 modulo 3, 17 or
/// 65537, so that these are public exponents of all. (`openssl prime -generate -bits LENGTH -hex`)
const PRIMES: &str = include_str!("rsa/primes.txt");

/// As long as the modulus, and below it.
fn input(random: &mut Random, n: &[u8]) -> Vec<u8> {
    loop {
        let mut input = random.bytes(n.len());
        input[0] &= 0xff >> n[0].leading_zeros();
        if *input < *n {
            return input;
        }
    }
}

fn cases(all: usize) -> usize {
    if std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1") { all } else { all / 100 }
}

fn engine() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

fn number(bytes: &[u8]) -> BigNum {
    BigNum::from_slice(bytes).unwrap()
}

fn theirs(key: &RsaPrivateKey) -> Rsa<Private> {
    let secret = |bytes: Option<SecretBytes>| number(&bytes.unwrap());
    Rsa::from_private_components(
        number(&key.n()),
        number(&key.e()),
        number(&key.d()),
        secret(key.p()),
        secret(key.q()),
        secret(key.dp()),
        secret(key.dq()),
        secret(key.qinv()),
    )
    .unwrap()
}

/// A key of two primes, in this order.
fn from_primes(p: &BigNum, q: &BigNum, e: u32) -> RsaPrivateKey {
    let mut scratch = BigNumContext::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    let e = BigNum::from_u32(e).unwrap();
    let inverse = |value: &BigNum, modulus: &BigNum, scratch: &mut BigNumContext| {
        let mut inverse = BigNum::new().unwrap();
        inverse.mod_inverse(value, modulus, scratch).unwrap();
        inverse.to_vec()
    };
    let dp = inverse(&e, &(p - &one), &mut scratch);
    let dq = inverse(&e, &(q - &one), &mut scratch);
    let qinv = inverse(q, p, &mut scratch);
    let (n, e, p, q) = ((p * q).to_vec(), e.to_vec(), p.to_vec(), q.to_vec());
    RsaPrivateKey::from_crt(&RsaCrt { n: &n, e: &e, p: &p, q: &q, dp: &dp, dq: &dq, qinv: &qinv }).unwrap()
}

fn primes(bits: usize) -> Vec<BigNum> {
    let of_length = |line: &str| {
        let (length, digits) = line.split_once(' ').unwrap();
        (length.parse() == Ok(bits)).then(|| BigNum::from_hex_str(digits).unwrap())
    };
    let primes: Vec<_> = PRIMES.lines().filter_map(of_length).collect();
    assert!(primes.len() == 4 && primes.iter().all(|prime| prime.num_bits() as usize == bits));
    primes
}

/// The prime of a lane and the one to go with it, each of its length; never the same one twice.
fn pair(lane: usize, first: usize, second: usize) -> [BigNum; 2] {
    let (at, distance) = (lane % 4, 1 + lane / 4 % 2);
    [primes(first).swap_remove(at), primes(second).swap_remove((at + distance) % 4)]
}

/// Up to eight keys of one size, no two with the same primes in the same places; either prime may be the larger.
fn keys(bits: usize, count: usize, e: &[u32]) -> Vec<RsaPrivateKey> {
    let key = |lane: usize| {
        let [p, q] = pair(lane, bits.div_ceil(2), bits / 2);
        let key = from_primes(&p, &q, e[lane % e.len()]);
        assert_eq!(key.bits(), bits);
        key
    };
    (0..count).map(key).collect()
}

fn key(bits: usize, e: u32) -> RsaPrivateKey {
    keys(bits, 1, &[e]).remove(0)
}

fn by_exponent(key: &RsaPrivateKey) -> RsaPrivateKey {
    RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap()
}

fn private(engine: &Engine, requests: &[(&RsaPrivateKey, &[u8])]) -> Vec<Result<Vec<u8>, RsaError>> {
    let mut outputs: Vec<Vec<u8>> = requests.iter().map(|(key, _)| vec![0xee; key.modulus_bytes()]).collect();
    let mut items: Vec<_> = requests
        .iter()
        .zip(&mut outputs)
        .map(|((key, input), output)| RsaPrivateItem::new(key, input, output))
        .collect();
    engine.rsa_private_batch(&mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    let result = |(result, output): (Result<(), RsaError>, Vec<u8>)| {
        if result == Err(RsaError::Verification) {
            assert!(output.iter().all(|byte| *byte == 0), "an unverified result was released");
        }
        result.map(|()| output)
    };
    results.into_iter().zip(outputs).map(result).collect()
}

fn public(engine: &Engine, requests: &[(&RsaPublicKey, &[u8])]) -> Vec<Result<Vec<u8>, RsaError>> {
    let mut outputs: Vec<Vec<u8>> = requests.iter().map(|(key, _)| vec![0xee; key.modulus_bytes()]).collect();
    let mut items: Vec<_> = requests
        .iter()
        .zip(&mut outputs)
        .map(|((key, input), output)| RsaPublicItem::new(key, input, output))
        .collect();
    engine.rsa_public_batch(&mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    results.into_iter().zip(outputs).map(|(result, output)| result.map(|()| output)).collect()
}

/// Eights of the keys, in turn.
fn check_random(bits: usize, keys: &[RsaPrivateKey]) {
    let (engine, mut random) = (engine(), Random(bits as u64));
    let me: Vec<_> = keys.iter().map(by_exponent).collect();
    let publics: Vec<_> = keys.iter().map(|key| key.public_key().unwrap()).collect();
    let theirs: Vec<_> = keys.iter().map(theirs).collect();
    let count = cases(1000).next_multiple_of(LANES);
    for first in (0..count).step_by(LANES) {
        let lanes = (first..first + LANES).map(|case| case % keys.len());
        let inputs: Vec<_> = lanes.clone().map(|at| input(&mut random, &keys[at].n())).collect();
        let power = |(at, input): (usize, &Vec<u8>)| {
            let mut out = vec![0; input.len()];
            theirs[at].private_encrypt(input, &mut out, Padding::NONE).unwrap();
            out
        };
        let expected: Vec<_> = lanes.clone().zip(&inputs).map(power).collect();
        for (keys, form) in [(keys, "primes"), (&me, "exponent")] {
            let requests: Vec<_> =
                lanes.clone().zip(&inputs).map(|(at, input)| (&keys[at], &**input)).collect();
            let results = private(&engine, &requests).into_iter().map(Result::unwrap);
            assert!(results.eq(expected.iter().cloned()), "{bits} bits by {form}, case {first}");
        }
        let requests: Vec<_> = lanes.zip(&expected).map(|(at, output)| (&publics[at], &**output)).collect();
        let back = public(&engine, &requests).into_iter().map(Result::unwrap);
        assert!(back.eq(inputs), "{bits} bits, public, case {first}");
    }
}

#[test]
fn random_cases_of_every_size_and_form() {
    for bits in SIZES {
        // Long keys take long to check, where there are no lanes.
        let different = if bits > 1600 { 3 } else { LANES };
        check_random(bits, &keys(bits, different, &[65537, 3, 17]));
    }
}

#[test]
fn random_cases_of_odd_sizes() {
    for bits in ODD_SIZES {
        let keys = keys(bits, LANES, &[65537]);
        check_random(bits, &keys);
        // A public exponent as long as the modulus, whose bytes may be more than its digits.
        let (n, d) = (keys[0].n(), keys[0].d());
        let traded = RsaPublicKey::new(&n, &d).unwrap();
        let (input, mut expected) = (input(&mut Random(1), &n), BigNum::new().unwrap());
        expected
            .mod_exp(&number(&input), &number(&d), &number(&n), &mut BigNumContext::new().unwrap())
            .unwrap();
        let expected = Ok(expected.to_vec_padded(n.len() as i32).unwrap());
        assert_eq!(public(&engine(), &[(&traded, &*input); 2]), [expected.clone(), expected]);
    }
}

/// The second prime may be the larger one, and much longer or shorter than the first.
#[test]
fn primes_of_unlike_lengths_in_either_order() {
    // The longest are too long for lanes.
    for (first, second) in
        [(256, 256), (240, 272), (300, 724), (520, 519), (200, 1000), (1040, 1038), (2100, 1000)]
    {
        let mut random = Random(first as u64);
        let key = |lane| {
            let [a, b] = pair(lane, first, second);
            let (p, q) = if (a > b) == (lane % 2 == 0) { (a, b) } else { (b, a) };
            from_primes(&p, &q, if lane % 3 == 0 { 3 } else { 65537 })
        };
        let keys: Vec<_> = (0..LANES).map(key).collect();
        let engine = engine();
        let inputs: Vec<_> = keys.iter().map(|key| input(&mut random, &key.n())).collect();
        let requests: Vec<_> = keys.iter().zip(&inputs).map(|(key, input)| (key, &**input)).collect();
        for ((result, key), input) in private(&engine, &requests).into_iter().zip(&keys).zip(&inputs) {
            let mut expected = vec![0; input.len()];
            theirs(key).private_encrypt(input, &mut expected, Padding::NONE).unwrap();
            assert_eq!(result, Ok(expected), "{first} and {second} bits");
        }
    }
}

/// From one request to more than two passes, of keys that fit each other and that do not, good and wrong
/// ones: each gets what it would get alone, from the library.
#[test]
fn batches_of_every_fill_and_mixture() {
    let engine = engine();
    let library = Engine::new(Options { weak_algorithms: true, limit: Some(Level::Portable) }).unwrap();
    let mut keys = Vec::new();
    for (bits, e) in [(512, 3), (520, 65537), (1024, 65537), (1000, 3), (776, 17)] {
        let key = key(bits, e);
        keys.push(by_exponent(&key));
        let mut d = key.d();
        d[20] ^= 0x10;
        keys.push(RsaPrivateKey::from_me(&key.n(), &key.e(), &d).unwrap());
        keys.push(key);
    }
    let mut random = Random(2);
    for fill in 1..=17 {
        for mixture in [1, 2, 3, 6, keys.len()] {
            let first = random.below(keys.len());
            let chosen: Vec<_> =
                (0..fill).map(|_| &keys[(first + random.below(mixture)) % keys.len()]).collect();
            let mut inputs: Vec<_> = chosen.iter().map(|key| input(&mut random, &key.n())).collect();
            // Some that are refused, and one whose result is itself.
            if random.below(2) == 0 {
                inputs[random.below(fill)].fill(0xff);
                inputs[random.below(fill)].fill(0);
                inputs[random.below(fill)].pop();
            }
            let requests: Vec<_> = chosen.iter().zip(&inputs).map(|(key, input)| (*key, &**input)).collect();
            assert_eq!(private(&engine, &requests), private(&library, &requests), "{fill} of {mixture}");

            let publics: Vec<_> = chosen.iter().map(|key| key.public_key().unwrap()).collect();
            let requests: Vec<_> = publics.iter().zip(&inputs).map(|(key, input)| (key, &**input)).collect();
            assert_eq!(public(&engine, &requests), public(&library, &requests), "{fill} of {mixture}");
        }
    }
}

/// 0, 1 and n - 1 are their own results; 2 and n - 2 are not; n is refused.
#[test]
fn edges_side_by_side() {
    let engine = engine();
    for bits in [512, 776, 1024, 2048] {
        let key = key(bits, 65537);
        let n = number(&key.n());
        let less =
            |value: u32| (&n - &BigNum::from_u32(value).unwrap()).to_vec_padded(bits as i32 / 8).unwrap();
        let small = |value: u32| BigNum::from_u32(value).unwrap().to_vec_padded(bits as i32 / 8).unwrap();
        let inputs = [small(0), small(1), less(1), small(2), less(2), key.n(), small(3), less(3)];
        let public_key = key.public_key().unwrap();
        for key in [by_exponent(&key), key] {
            let requests: Vec<_> = inputs.iter().map(|input| (&key, &**input)).collect();
            let results = private(&engine, &requests);
            for own in 0..3 {
                assert_eq!(results[own].as_ref(), Ok(&inputs[own]));
            }
            assert_eq!(results[5], Err(RsaError::InputRange));
            for at in [3, 4, 6, 7] {
                let result = results[at].as_ref().unwrap();
                assert_ne!(*result, inputs[at]);
                let back = public(&engine, &[(&public_key, result), (&public_key, &inputs[2])]);
                assert_eq!(back, [Ok(inputs[at].clone()), Ok(inputs[2].clone())]);
            }
        }
    }
}

/// A wrong key beside good ones of its shape is found out, and disturbs none of them.
#[test]
fn wrong_exponents_in_some_lanes() {
    let engine = engine();
    let key = key(1024, 65537);
    let good = by_exponent(&key);
    let input = input(&mut Random(3), &key.n());
    let expected = private(&engine, &[(&key, &input)]).pop().unwrap();
    for lane in 0..LANES {
        let mut d = key.d();
        d[127 - lane * 13] ^= 1 << lane;
        let wrong = RsaPrivateKey::from_me(&key.n(), &key.e(), &d).unwrap();
        let requests: Vec<_> =
            (0..LANES).map(|at| (if at == lane { &wrong } else { &good }, &*input)).collect();
        for (at, result) in private(&engine, &requests).into_iter().enumerate() {
            assert_eq!(result, if at == lane { Err(RsaError::Verification) } else { expected.clone() });
        }
    }
}

/// Public exponents of any length, different in each lane.
#[test]
fn public_exponents_of_every_length() {
    let engine = engine();
    let key = key(1024, 65537);
    let n = key.n();
    let mut random = Random(5);
    let mut exponent = |bytes: usize| {
        let mut e = random.bytes(bytes);
        e[0] = e[0] >> 1 | 0x40;
        e[bytes - 1] |= 1;
        e
    };
    let short: Vec<_> = (1..=8).map(&mut exponent).collect();
    let long: Vec<_> = [1, 8, 9, 16, 64, 127, 128, 3].map(&mut exponent).into_iter().collect();
    let mut random = Random(6);
    for exponents in [short, long] {
        let exponents: Vec<_> =
            exponents.into_iter().map(|e| if e.len() == 128 { key.d().to_vec() } else { e }).collect();
        let keys: Vec<_> = exponents.iter().map(|e| RsaPublicKey::new(&n, e).unwrap()).collect();
        let inputs: Vec<_> = keys.iter().map(|key| input(&mut random, &key.n())).collect();
        let requests: Vec<_> = keys.iter().zip(&inputs).map(|(key, input)| (key, &**input)).collect();
        let mut scratch = BigNumContext::new().unwrap();
        for ((result, e), input) in public(&engine, &requests).into_iter().zip(&exponents).zip(&inputs) {
            let mut power = BigNum::new().unwrap();
            power.mod_exp(&number(input), &number(e), &number(&n), &mut scratch).unwrap();
            assert_eq!(result, Ok(power.to_vec_padded(128).unwrap()), "exponent of {} bytes", e.len());
        }
    }
    // A private key whose public exponent is long: verified by it.
    let traded = RsaPrivateKey::from_me(&n, &key.d(), &key.e()).unwrap();
    let input = input(&mut Random(4), &n);
    let together = private(&engine, &[(&traded, &input), (&traded, &input), (&traded, &input)]);
    let expected = public(&engine, &[(&key.public_key().unwrap(), &input)]).pop().unwrap();
    assert_eq!(together, vec![expected; 3]);
}

/// A public modulus is a peer's claim: any odd number of a served length, with any odd exponent below it.
#[test]
fn public_keys_that_no_primes_made() {
    let (engine, mut random, mut scratch) = (engine(), Random(7), BigNumContext::new().unwrap());
    for bits in [512, 519, 520, 1037, 1040, 2080, 4096] {
        let power_of_2 = |bit: usize| {
            let mut power = BigNum::new().unwrap();
            power.set_bit(bit as i32).unwrap();
            power
        };
        let (one, two) = (BigNum::from_u32(1).unwrap(), BigNum::from_u32(2).unwrap());
        let prime = &primes(bits / 2)[0];
        let moduli = [prime * prime, &power_of_2(bits) - &one, &power_of_2(bits - 1) + &one];
        for n in &moduli {
            let exponents = [n - &two, BigNum::from_u32(3).unwrap()];
            let bytes = n.to_vec();
            let [long, short] = exponents.each_ref().map(|e| RsaPublicKey::new(&bytes, &e.to_vec()).unwrap());
            let less = (n - &one).to_vec_padded(bytes.len() as i32).unwrap();
            let inputs = [input(&mut random, &bytes), less, input(&mut random, &bytes)];
            for (key, e) in [(&long, &exponents[0]), (&short, &exponents[1])] {
                let expected = |input: &Vec<u8>| {
                    let mut power = BigNum::new().unwrap();
                    power.mod_exp(&number(input), e, n, &mut scratch).unwrap();
                    Ok(power.to_vec_padded(bytes.len() as i32).unwrap())
                };
                let expected: Vec<_> = inputs.iter().map(expected).collect();
                let requests = inputs.each_ref().map(|input| (key, &**input));
                assert_eq!(public(&engine, &requests), expected, "{bits} bits");
                assert_eq!(public(&engine, &requests[..1]), expected[..1], "{bits} bits, alone");
            }
        }
    }
}

/// Many threads meet a key at once, before it ever stood in lanes.
#[test]
fn a_new_key_is_shared_by_threads() {
    let engine = engine();
    for bits in [1024, 2048] {
        let key = key(bits, 65537);
        let input = input(&mut Random(3), &key.n());
        let mut expected = vec![0; input.len()];
        theirs(&key).private_encrypt(&input, &mut expected, Padding::NONE).unwrap();
        for key in [by_exponent(&key), key] {
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        let results = private(&engine, &[(&key, &*input); 5]);
                        assert_eq!(results, vec![Ok(expected.clone()); 5]);
                    });
                }
            });
        }
    }
}

/// The longest numbers fit a quarter of the stack that threads usually have.
#[cfg(not(debug_assertions))]
#[test]
fn the_stack_is_bounded() {
    let run = || {
        let engine = engine();
        let key = key(4096, 65537);
        let (me, public_key) = (by_exponent(&key), key.public_key().unwrap());
        let input = input(&mut Random(8), &key.n());
        let expected = vec![private(&engine, &[(&me, &*input); 8]).remove(0); 8];
        assert_eq!(private(&engine, &[(&key, &*input); 8]), expected);
        assert_eq!(private(&engine, &[(&key, &*input); 3]), expected[..3]);
        let result = expected[0].clone().unwrap();
        assert_eq!(public(&engine, &[(&public_key, &*result); 8]), vec![Ok(input); 8]);
        engine.rsa_generate(if engine.level() == Level::Avx512 { 4096 } else { 1024 }, &[1, 0, 1]).unwrap();
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn lanes_are_named() {
    for level in Level::ALL {
        let engine = Engine::new(Options { limit: Some(level), ..Options::default() }).unwrap();
        let expected = if engine.level() == Level::Avx512 { 8 } else { 1 };
        for bits in [512, 2048, 4096] {
            assert_eq!(engine.lanes(Operation::RsaPrivate { bits }), expected);
            assert_eq!(engine.lanes(Operation::RsaPublic { bits }), expected);
        }
    }
}
