//! RSA.

use super::ENGINES;
use super::choices::Choices;
use super::peer::power;
use engine::{RsaPrivateItem, RsaPrivateKey, RsaPublicItem, RsaPublicKey};

/// Batches of RSA operations with keys that need not be keys: any odd modulus, any exponents. Public results
/// are OpenSSL's powers; private ones are, or are refused.
pub fn engine_rsa(data: &[u8]) {
    let mut choices = Choices::new(data);
    let count = choices.below(17) + 1;
    let requests: Vec<_> = (0..count)
        .map(|_| {
            let bits = 512 + 8 * choices.below(65);
            let mut n = choices.bytes(bits / 8);
            n[0] |= 0x80;
            *n.last_mut().expect("not empty") |= 1;
            let e = [vec![3], vec![1, 0, 1], vec![choices.byte() | 3], choices.bytes(8)][choices.below(4)]
                .clone();
            let mut input = choices.bytes(bits / 8);
            input[0] &= 0x7f;
            (n, e, choices.bytes(bits / 8 - 1), input)
        })
        .collect();
    for engine in &*ENGINES {
        let keys: Vec<_> = requests
            .iter()
            .map(|(n, e, d, _)| (RsaPublicKey::new(n, e), RsaPrivateKey::from_me(n, e, d)))
            .collect();
        let mut outputs: Vec<_> = requests.iter().map(|(n, ..)| vec![0x5a; n.len()]).collect();
        let mut items: Vec<_> = keys
            .iter()
            .zip(&requests)
            .zip(&mut outputs)
            .filter_map(|(((key, _), (.., input)), output)| {
                Some(RsaPublicItem::new(key.as_ref().ok()?, input, output))
            })
            .collect();
        engine.rsa_public_batch(&mut items);
        for item in &items {
            let expected = power(item.input, &item.key.e(), &item.key.n());
            assert!(item.result.is_ok());
            assert_eq!(item.output, expected, "public at {}", engine.level());
        }
        let mut items: Vec<_> = keys
            .iter()
            .zip(&requests)
            .zip(&mut outputs)
            .filter_map(|(((_, key), (.., input)), output)| {
                Some(RsaPrivateItem::new(key.as_ref().ok()?, input, output))
            })
            .collect();
        engine.rsa_private_batch(&mut items);
        for item in &items {
            // A power that does not lead back is never released.
            if item.result.is_ok() {
                let back = power(item.output, &item.key.e(), &item.key.n());
                assert_eq!(back, item.input, "private at {}", engine.level());
            }
        }
    }
}
