//! RSA of every served size and form, at the edges of what an input can be.

use engine::*;

const SIZES: [usize; 8] = [512, 520, 768, 1000, 1024, 1032, 2048, 3072];

fn engine() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

fn private(key: &RsaPrivateKey, input: &[u8]) -> Result<Vec<u8>, RsaError> {
    let mut out = vec![0xee; key.modulus_bytes()];
    engine().rsa_private(key, input, &mut out).map(|()| out)
}

fn public(key: &RsaPublicKey, input: &[u8]) -> Result<Vec<u8>, RsaError> {
    let mut out = vec![0xee; key.modulus_bytes()];
    engine().rsa_public(key, input, &mut out).map(|()| out)
}

fn from_parts(parts: &[Vec<u8>; 7]) -> RsaPrivateKey {
    let [n, e, p, q, dp, dq, qinv] = parts;
    RsaPrivateKey::from_crt(&RsaCrt { n, e, p, q, dp, dq, qinv }).unwrap()
}

fn parts(key: &RsaPrivateKey) -> [Vec<u8>; 7] {
    let secret = |part: Option<SecretBytes>| part.unwrap().to_vec();
    [
        key.n(),
        key.e(),
        secret(key.p()),
        secret(key.q()),
        secret(key.dp()),
        secret(key.dq()),
        secret(key.qinv()),
    ]
}

#[test]
fn both_forms_of_every_size_agree_and_invert_the_public_operation() {
    for bits in SIZES {
        let key = engine().rsa_generate(bits, &[1, 0, 1]).unwrap();
        assert_eq!((key.bits(), key.modulus_bytes(), key.form()), (bits, bits / 8, RsaForm::Crt));
        assert_eq!(key.is_weak(), bits < 1024);
        let again = from_parts(&parts(&key));
        let me = RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap();
        assert_eq!(me.form(), RsaForm::ModulusExponent);
        assert!(me.p().is_none() && me.qinv().is_none());
        let public_key = key.public_key().unwrap();
        for first in [0, 1] {
            let mut input = vec![0; bits / 8];
            engine().random(&mut input[1..]);
            input[0] = first;
            let result = private(&key, &input).unwrap();
            assert_eq!(private(&again, &input), Ok(result.clone()), "{bits} bits");
            assert_eq!(private(&me, &input), Ok(result.clone()), "{bits} bits");
            assert_eq!(public(&public_key, &result), Ok(input), "{bits} bits");
        }
    }
}

/// 0, 1 and n - 1 are their own results; n - 2 is the largest input with another one.
#[test]
fn inputs_at_the_edges() {
    for bits in [512, 1000, 1024] {
        let key = engine().rsa_generate(bits, &[3]).unwrap();
        let me = RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap();
        let public_key = key.public_key().unwrap();
        let n = key.n();
        let less = |number: u8| {
            let mut input = n.clone();
            let mut borrow = number;
            for byte in input.iter_mut().rev() {
                let (less, borrowed) = byte.overflowing_sub(borrow);
                (*byte, borrow) = (less, u8::from(borrowed));
            }
            input
        };
        let small = |number: u8| [vec![0; n.len() - 1], vec![number]].concat();
        for own in [small(0), small(1), less(1)] {
            assert_eq!(private(&key, &own), Ok(own.clone()));
            assert_eq!(private(&me, &own), Ok(own.clone()));
            assert_eq!(public(&public_key, &own), Ok(own));
        }
        for input in [small(2), small(3), less(2), less(3)] {
            let result = private(&key, &input).unwrap();
            assert_ne!(result, input);
            assert_eq!(private(&me, &input), Ok(result.clone()));
            assert_eq!(public(&public_key, &result), Ok(input));
        }
        // 2^3 = 8, whatever the modulus.
        assert_eq!(public(&public_key, &small(2)), Ok(small(8)));
    }
}

/// Keys from elsewhere have their primes in either order; the coefficient is always that of the second
/// modulo the first.
#[test]
fn primes_in_either_order() {
    let engine = engine();
    for bits in [512, 1024, 2048] {
        let key = engine.rsa_generate(bits, &[1, 0, 1]).unwrap();
        let [n, e, p, q, dp, dq, _] = parts(&key);
        let qinv = inverse_mod(&p, &q);
        let swapped = from_parts(&[n, e, q, p, dq, dp, qinv]);
        assert!(swapped.p().unwrap().as_slice() < swapped.q().unwrap().as_slice());
        let input = [vec![0], vec![0x77; bits / 8 - 1]].concat();
        assert_eq!(private(&swapped, &input), private(&key, &input));
    }
}

fn inverse_mod(value: &[u8], modulus: &[u8]) -> Vec<u8> {
    use openssl::bn::{BigNum, BigNumContext};
    let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
    let mut inverse = BigNum::new().unwrap();
    inverse.mod_inverse(&number(value), &number(modulus), &mut BigNumContext::new().unwrap()).unwrap();
    inverse.to_vec()
}

/// Leading zeros in any part change nothing.
#[test]
fn parts_with_leading_zeros() {
    let key = engine().rsa_generate(1024, &[1, 0, 1]).unwrap();
    let padded = from_parts(&parts(&key).map(|part| [vec![0; 5], part].concat()));
    assert_eq!((padded.n(), padded.e()), (key.n(), key.e()));
    let pad = |part: &[u8]| [&[0, 0], part].concat();
    let me = RsaPrivateKey::from_me(&pad(&key.n()), &pad(&key.e()), &pad(&key.d())).unwrap();
    let input = [vec![0], vec![0x77; 127]].concat();
    assert_eq!(private(&padded, &input), private(&key, &input));
    assert_eq!(private(&me, &input), private(&key, &input));
}

/// A private exponent that is wrong in any bit never yields a result: it would not return under the public
/// one.
#[test]
fn a_wrong_private_exponent_is_detected() {
    let key = engine().rsa_generate(512, &[1, 0, 1]).unwrap();
    let input = [vec![0], vec![0x77; 63]].concat();
    for bit in (0..512).step_by(7) {
        let mut d = key.d();
        d[bit / 8] ^= 1 << (bit % 8);
        let wrong = RsaPrivateKey::from_me(&key.n(), &key.e(), &d).unwrap();
        let mut out = [0xee; 64];
        let result = engine().rsa_private(&wrong, &input, &mut out);
        assert_eq!((result, out), (Err(RsaError::Verification), [0; 64]), "bit {bit}");
    }
}

/// A public exponent as long as the modulus.
#[test]
fn long_public_exponents() {
    let key = engine().rsa_generate(1024, &[1, 0, 1]).unwrap();
    // The exponents trade places: d is odd and below the modulus.
    let d = key.d();
    let traded = RsaPrivateKey::from_me(&key.n(), &d, &key.e()).unwrap();
    let input = [vec![0], vec![0x77; 127]].concat();
    let out = private(&traded, &input).unwrap();
    assert_eq!(out, public(&key.public_key().unwrap(), &input).unwrap());
    assert_eq!(public(&traded.public_key().unwrap(), &out), Ok(input));
}

#[test]
fn generated_keys_have_exactly_the_size_asked_for() {
    let engine = engine();
    for bits in (512..=1024).step_by(56) {
        for e in [&[3][..], &[1, 0, 1]] {
            let key = engine.rsa_generate(bits, e).unwrap();
            assert_eq!((key.bits(), key.e()), (bits, e.to_vec()));
            assert_eq!(key.p().unwrap().len(), bits.div_ceil(16));
        }
    }
}

#[test]
fn the_largest_size() {
    let key = engine().rsa_generate(4096, &[1, 0, 1]).unwrap();
    let me = RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap();
    let input = [vec![0], vec![0x77; 511]].concat();
    let out = private(&key, &input).unwrap();
    assert_eq!(private(&me, &input), Ok(out.clone()));
    assert_eq!(public(&key.public_key().unwrap(), &out), Ok(input));
}

/// One key serves many threads at once.
#[test]
fn a_key_is_shared_by_threads() {
    let key = engine().rsa_generate(1024, &[1, 0, 1]).unwrap();
    let public_key = key.public_key().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (key, public_key) = (&key, &public_key);
            scope.spawn(move || {
                for round in 0..20 {
                    let input = [vec![0, thread, round], vec![0x77; 125]].concat();
                    let out = private(key, &input).unwrap();
                    assert_eq!(public(public_key, &out), Ok(input));
                }
            });
        }
    });
}
