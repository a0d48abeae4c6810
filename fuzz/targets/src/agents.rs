//! The agent that holds private keys: its requests, one after the other, as a client writes them.

use agent::held::Held;
use agent::message::{KEYS_MAX, Reply, Request, SECONDS_MAX};
use openpgp::Timestamp;
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::private_key::ClearKey;
use std::sync::LazyLock;
use std::time::Duration;

/// Keys of two kinds, primary key and subkey of each.
static KEYS: LazyLock<Vec<(Vec<u8>, ClearKey)>> = LazyLock::new(|| {
    let made = |kind| {
        let what = NewKey { kind, ..NewKey::new("a@b.example", Timestamp::from_secs(1_700_000_000)) };
        let private = generate(&what, None).expect("a new key");
        let clear = |(fingerprint, _)| {
            let key = private.clear_key(&fingerprint, None).expect("an unlocked key");
            (fingerprint.as_bytes().to_vec(), key)
        };
        private.locking().into_iter().map(clear).collect::<Vec<_>>()
    };
    [CertificateAlgorithms::Curve25519, CertificateAlgorithms::P256].into_iter().flat_map(made).collect()
});

/// Reads requests from the input one after the other, a second apart. A fingerprint of one byte stands for that of a
/// held key.
pub fn agent_requests(input: &[u8]) {
    let mut held = Held::default();
    let mut now = Duration::ZERO;
    for (_, key) in KEYS.iter() {
        let request = Request::Add { is_primary: key.is_primary, body: key.body.clone(), seconds: 60 };
        assert!(matches!(held.answer(&request, now), Reply::Done { count: 1 }));
    }
    let mut rest = input;
    while let Ok((mut request, behind)) = postcard::take_from_bytes::<Request>(rest) {
        rest = behind;
        now += Duration::from_secs(1);
        match &mut request {
            Request::Open { fingerprint, .. } | Request::Sign { fingerprint, .. } => {
                if let [number] = fingerprint[..] {
                    fingerprint.clone_from(&KEYS[usize::from(number) % KEYS.len()].0);
                }
            }
            _ => {}
        }
        let forgets_all = matches!(&request, Request::Forget { fingerprints } if fingerprints.is_empty());
        let reply = held.answer(&request, now);
        assert!(!forgets_all || held.is_empty());
        assert!(!matches!(reply, Reply::Ready { .. }), "who greets is not told of keys");
        if let Reply::Held(rows) = reply {
            assert!(rows.len() <= KEYS_MAX);
            assert!(rows.iter().all(|row| (1..=SECONDS_MAX).contains(&row.seconds)));
        }
    }
    held.expire(now + Duration::from_secs(SECONDS_MAX.into()));
    assert!(held.is_empty());
}
