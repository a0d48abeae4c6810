//! OpenPGP certificates and private keys, as they come from files, key servers and other programs.

use openpgp::Timestamp;
use openpgp::certificate::{Certificate, strongest_form};
use openpgp::private_key::{Locking, PrivateCertificate};

/// A time at which the keys of the seeds are valid.
const AT_SECONDS: u32 = 1_700_000_000;

/// Certificates, armored or not, and the private keys with them: what is read can be written, and reads as the same.
pub fn openpgp_certificate(data: &[u8]) {
    for certificate in Certificate::parse_each(data).unwrap_or_default().into_iter().flatten() {
        let written = certificate.to_bytes();
        let again = Certificate::parse_all(&written).expect("what was read can be written");
        assert_eq!(again.len(), 1, "one stays one");
        assert_eq!(again[0].to_bytes(), written, "reading and writing agree");
        // Taking over what is there already may join what stands in it twice; once done, it changes nothing.
        let mut merged = certificate.clone();
        if merged.merge(&certificate).is_ok() {
            let once = merged.to_bytes();
            if merged.merge(&certificate).is_ok() {
                assert_eq!(merged.to_bytes(), once, "merging agrees with itself");
            }
            Certificate::parse_all(&once).expect("what was merged can be read");
        }
        let at = Timestamp::from_secs(AT_SECONDS);
        if let Ok(valid) = certificate.check(at) {
            let _ = (valid.user_ids(), valid.expiration(), valid.signing_keys(), valid.encryption_keys());
            let _ = strongest_form(&[valid.announces()]);
        }
    }
    for private in PrivateCertificate::parse_each(data).unwrap_or_default().into_iter().flatten() {
        let written = private.to_bytes();
        let again = PrivateCertificate::parse_all(&written).expect("what was read can be written");
        assert_eq!(again[0].to_bytes(), written, "reading and writing agree");
        for (fingerprint, locking) in private.locking() {
            if locking == Locking::Open {
                let _ = private.unlock_key(&fingerprint, None);
            }
        }
    }
}
