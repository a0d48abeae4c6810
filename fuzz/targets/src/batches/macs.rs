//! MACs, hashes and HMACs.

use super::choices::Choices;
use super::peer::{digest, their_mac};
use super::{BLOCKS_MAX, ENGINES, ITEMS_MAX};
use engine::{HashAlgorithm, HashItem, HmacItem, MacAlgorithm, MacItem};
use openssl::pkey::PKey;
use openssl::sign::Signer;

/// Batches of MACs, hashes and HMACs at every level.
pub fn engine_macs(data: &[u8]) {
    let mut choices = Choices::new(data);
    let count = choices.below(ITEMS_MAX) + 1;
    let requests: Vec<_> = (0..count)
        .map(|_| {
            let algorithm = MacAlgorithm::ALL[choices.below(7)];
            let bytes = choices.below(BLOCKS_MAX * algorithm.block_bytes());
            (algorithm, choices.bytes(algorithm.key_bytes()), choices.bytes(bytes))
        })
        .collect();
    let hash = HashAlgorithm::ALL[choices.below(6)];
    for engine in &*ENGINES {
        let keys: Vec<_> = requests
            .iter()
            .map(|(algorithm, key, _)| engine.mac_key(*algorithm, key).expect("a key of its length"))
            .collect();
        let mut items: Vec<_> =
            keys.iter().zip(&requests).map(|(key, (.., text))| MacItem::new(key, text)).collect();
        engine.mac_batch(&mut items);
        for (item, (algorithm, key, text)) in items.iter().zip(&requests) {
            assert!(item.result.is_ok());
            let expected = their_mac(*algorithm, key, text);
            assert_eq!(item.mac[..expected.len()], expected, "{algorithm} at {}", engine.level());
        }
        let mut items: Vec<_> = requests.iter().map(|(.., text)| HashItem::new(text)).collect();
        engine.hash_batch(hash, &mut items);
        let keys: Vec<_> =
            requests.iter().map(|(_, key, _)| engine.hmac_key(hash, key).expect("any length")).collect();
        let mut macs: Vec<_> =
            keys.iter().zip(&requests).map(|(key, (.., text))| HmacItem::new(key, text)).collect();
        engine.hmac_batch(&mut macs);
        for ((item, mac), (_, key, text)) in items.iter().zip(&macs).zip(&requests) {
            let expected = openssl::hash::hash(digest(hash), text).expect("OpenSSL hashes");
            assert_eq!(item.digest[..expected.len()], *expected, "{hash} at {}", engine.level());
            let key = PKey::hmac(key).expect("OpenSSL takes the key");
            let expected = Signer::new(digest(hash), &key)
                .and_then(|mut signer| signer.sign_oneshot_to_vec(text))
                .expect("OpenSSL makes an HMAC");
            assert_eq!(mac.mac[..expected.len()], expected, "HMAC-{hash} at {}", engine.level());
        }
    }
}
