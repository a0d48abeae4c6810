//! Keys of every kind, made by those who have them; once for all tests.

use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::{Passphrase, Timestamp};
use openpgp_tests::gpg::Gpg;
use openpgp_tests::helper::Helper;
use openpgp_tests::peer::Key;
use openpgp_tests::samples;
use openpgp_tests::sop::Sop;
use openpgp_tests::sq::Sq;
use std::sync::OnceLock;

/// The helper program, started once.
pub fn pysequoia() -> &'static Helper {
    static HELPER: OnceLock<Helper> = OnceLock::new();
    HELPER.get_or_init(Helper::pysequoia)
}

/// `sqop` of Debian.
pub fn sqop() -> Sop {
    Sop::new("sqop")
}

/// `pgpainless-cli` of Debian.
pub fn pgpainless() -> Sop {
    Sop::new("pgpainless-cli")
}

/// Keys of GnuPG, one of each kind that it makes.
pub fn of_gpg() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let gpg = Gpg::new();
        let curve = |name: &str, sign: &str, primary: &str, encrypt: &str| {
            let lines =
                format!("Key-Type: {sign}\nKey-Curve: {primary}\nSubkey-Type: ECDH\nSubkey-Curve: {encrypt}");
            gpg.generate(name, &lines, None)
        };
        let rsa = "Key-Type: RSA\nKey-Length: 2048\nSubkey-Type: RSA\nSubkey-Length: 2048";
        vec![
            gpg.generate("rsa2048", rsa, None),
            samples::gpg_dsa_elgamal(),
            curve("curve25519", "EDDSA", "ed25519", "cv25519"),
            curve("nistp256", "ECDSA", "nistp256", "nistp256"),
            curve("nistp384", "ECDSA", "nistp384", "nistp384"),
            curve("nistp521", "ECDSA", "nistp521", "nistp521"),
            gpg.generate(
                "locked",
                "Key-Type: EDDSA\nKey-Curve: ed25519\nSubkey-Type: ECDH\nSubkey-Curve: cv25519",
                Some("correct horse"),
            ),
        ]
    })
}

/// A key of GnuPG by its kind.
pub fn gpg_key(name: &str) -> &'static Key {
    of_gpg().iter().find(|key| key.name.ends_with(name)).expect("a kind of the list")
}

/// Keys of RFC 4880's kinds, of the other peers.
pub fn of_sequoia_and_pgpainless() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        vec![
            Sq.generate("sq-curve25519", "cv25519").expect("sq generates"),
            samples::sq_rsa3072(),
            sqop().generate("sqop-default", &[], None).expect("sqop generates"),
            pgpainless().generate("pgpainless-default", &[], None).expect("pgpainless-cli generates"),
            pysequoia().generate("pysequoia-v4", "RFC4880", "Cv25519").expect("pysequoia generates"),
        ]
    })
}

/// Keys of RFC 9580's and RFC 9980's kinds, of pysequoia.
pub fn of_pysequoia_v6() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let suites = ["Cv25519", "Cv448", "P256", "P384", "P521", "MLDSA65_Ed25519", "MLDSA87_Ed448"];
        let generate = |suite: &str| {
            pysequoia().generate(&format!("v6-{suite}"), "RFC9580", suite).expect("pysequoia generates")
        };
        suites.into_iter().map(generate).chain([samples::pysequoia_v6_rsa2048()]).collect()
    })
}

/// Keys that Cryptand makes, of version 4.
pub fn of_ours_v4() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        use CertificateAlgorithms::{Curve25519, P256, P384, P521, Rsa};
        let kinds = [Curve25519, P256, P384, P521, Rsa { bits: 2048 }, Rsa { bits: 4096 }];
        let open = kinds.into_iter().map(|kind| ours(kind, false, None));
        open.chain([ours(Curve25519, false, Some("a Passphrase, ä"))]).collect()
    })
}

/// Keys that Cryptand makes, of version 6.
pub fn of_ours_v6() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        use CertificateAlgorithms::{
            Curve448, Curve25519, MlDsa65MlKem768, MlDsa87MlKem1024, P256, P384, P521, Rsa,
        };
        let kinds =
            [Curve25519, Curve448, P256, P384, P521, MlDsa65MlKem768, MlDsa87MlKem1024, Rsa { bits: 2048 }];
        let open = kinds.into_iter().map(|kind| ours(kind, true, None));
        open.chain([ours(Curve25519, true, Some("a Passphrase, ä"))]).collect()
    })
}

fn ours(kind: CertificateAlgorithms, is_v6: bool, passphrase: Option<&str>) -> Key {
    let lock = if passphrase.is_some() { " locked" } else { "" };
    let name = format!("cryptand v{} {kind:?}{lock}", if is_v6 { 6 } else { 4 });
    let user_id = format!("{} <{}@example.org>", name, name.replace([' ', '{', '}', ':'], "-"));
    let mut what = NewKey::new(&user_id, Timestamp::now());
    what.kind = kind;
    what.is_v6 = is_v6;
    what.announces_seipd_v2 = is_v6;
    let lock = passphrase.map(|passphrase| Passphrase::new(passphrase.as_bytes().to_vec()));
    let private = generate(&what, lock.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
    Key {
        secret: private.to_armor().as_bytes().to_vec(),
        certificate: private.certificate().to_armor().into_bytes(),
        passphrase: passphrase.map(str::to_owned),
        name,
        user_id,
    }
}
