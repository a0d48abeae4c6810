//! The packets before a body, as keys and passphrases take them.

use openpgp::body::grammar::{Limits, Outer, OuterEvent, Protected};
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::session_key::{SessionKeyPacket, check_demands, fails_silently, open, open_passphrase};
use openpgp::{Passphrase, PrivateKey, Timestamp};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::StringToKey;
use std::sync::{Arc, LazyLock};

const LIMITS: Limits = Limits { nesting_max: 2, packets_max: 64 };
/// Longest Argon2 that is computed here, as the binary logarithm of kibibytes, and most passes.
const ARGON2: (u8, u8) = (8, 4);
/// Largest coded count of iterated hashing that is computed here: 64 KiB.
const COUNT_MAX: u8 = 96;

/// Keys that open session keys.
static KEYS: LazyLock<Vec<Arc<dyn PrivateKey>>> = LazyLock::new(|| {
    let kinds = [
        CertificateAlgorithms::Rsa { bits: 2048 },
        CertificateAlgorithms::Curve25519,
        CertificateAlgorithms::P256,
    ];
    let key = |kind| {
        let what = NewKey { kind, ..NewKey::new("A", Timestamp::from_secs(1_700_000_000)) };
        generate(&what, None).expect("a key").unlock(None).expect("it is open").remove(1)
    };
    kinds.into_iter().map(key).collect()
});

/// Session keys for keys and passphrases: whatever a packet holds, RSA gives a session key that goes with the body, and
/// all else gives one or says why not.
pub fn openpgp_session_keys(data: &[u8]) {
    let Some((packets, body)) = before_the_body(data) else { return };
    let is_within = check_demands(&packets).is_ok();
    for packet in packets.iter().filter(|packet| body.goes_with(packet)) {
        match packet {
            SessionKeyPacket::Public(packet) => {
                KEYS.iter().for_each(|key| by_key(key.as_ref(), packet, &body))
            }
            SessionKeyPacket::Passphrase(packet) => {
                let is_short = packet.s2k().is_some_and(|s2k| match *s2k {
                    StringToKey::Argon2 { t, m_enc, .. } => m_enc <= ARGON2.0 && t <= ARGON2.1,
                    StringToKey::IteratedAndSalted { count, .. } => count <= COUNT_MAX,
                    _ => true,
                });
                if is_within && is_short {
                    let _ = open_passphrase(packet, &Passphrase::new(b"open sesame".to_vec()));
                }
            }
        }
    }
}

fn by_key(key: &dyn PrivateKey, packet: &PublicKeyEncryptedSessionKey, body: &Protected) {
    let opened = open(key, packet, body);
    if fails_silently(key.public().algorithm()) {
        let opened = opened.expect("a session key, whatever the packet holds");
        assert!(body.takes(&opened.session_key) && body.key(&opened.session_key).is_ok());
    }
}

fn before_the_body(data: &[u8]) -> Option<(Vec<SessionKeyPacket>, Protected)> {
    let (mut outer, mut packets, mut at) = (Outer::new(LIMITS), Vec::new(), 0);
    loop {
        let step = outer.step(&data[at..]).ok()?;
        at += step.consumed;
        match step.event {
            OuterEvent::SessionKey(packet) => packets.push(packet),
            OuterEvent::Protected(body) => return Some((packets, body)),
            OuterEvent::UnknownSessionKey => {}
            _ => return None,
        }
    }
}
