//! Messages that standards print, and test keys that take long to make; `samples/README.md` and `keys/README.md` say
//! where each is from.

use crate::peer::Key;

/// A message that somebody else made.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Where it is printed.
    pub name: &'static str,
    /// The message, armored.
    pub message: &'static [u8],
    /// The private key that opens it, armored; empty where a passphrase does.
    pub key: &'static [u8],
    /// The passphrase that opens it; empty where a key does.
    pub passphrase: &'static str,
    /// What comes out; none where only its length is known.
    pub text: Option<&'static [u8]>,
    /// How many bytes come out.
    pub text_bytes: usize,
}

const fn by_passphrase(name: &'static str, message: &'static [u8]) -> Sample {
    Sample { name, message, key: &[], passphrase: "password", text: Some(HELLO), text_bytes: HELLO.len() }
}

const fn by_key(
    name: &'static str,
    message: &'static [u8],
    key: &'static [u8],
    text: &'static [u8],
) -> Sample {
    Sample { name, message, key, passphrase: "", text: Some(text), text_bytes: text.len() }
}

const HELLO: &[u8] = b"Hello, world!";
const TESTING: &[u8] = b"Testing\n";

/// The private key of RFC 9580, A.4.
pub const RFC9580_KEY: &[u8] = include_bytes!("../samples/rfc9580-a4-key.asc");
/// The cleartext signed message of RFC 9580, A.6, by the key of A.4.
pub const RFC9580_CLEARTEXT: &[u8] = include_bytes!("../samples/rfc9580-a6-cleartext.asc");
/// The inline signed message of RFC 9580, A.7, by the key of A.4.
pub const RFC9580_INLINE: &[u8] = include_bytes!("../samples/rfc9580-a7-inline.asc");
/// What is signed in A.6 and A.7, with its line ends as A.7 has them.
pub const RFC9580_SIGNED_TEXT: &[u8] =
    b"What we need from the grocery store:\n\n- tofu\n- vegetables\n- noodles\n";
/// The private key of RFC 9980 with ML-DSA-65 and Ed25519.
pub const RFC9980_MLDSA_KEY: &[u8] = include_bytes!("../samples/rfc9980-v6-mldsa-65-key.asc");
/// Its detached signature over [`RFC9980_SIGNED_TEXT`].
pub const RFC9980_MLDSA_SIGNATURE: &[u8] = include_bytes!("../samples/rfc9980-v6-mldsa-65-signature.asc");
/// What [`RFC9980_MLDSA_SIGNATURE`] signs.
pub const RFC9980_SIGNED_TEXT: &[u8] = TESTING;

const BOB_KEY: &[u8] = include_bytes!("../samples/draft-bre-bob-key.asc");

/// Every encrypted sample.
pub const ENCRYPTED: &[Sample] = &[
    by_key(
        "RFC 9580, A.8, X25519 and OCB",
        include_bytes!("../samples/rfc9580-a8-x25519-ocb.asc"),
        RFC9580_KEY,
        HELLO,
    ),
    by_passphrase("RFC 9580, A.9, EAX", include_bytes!("../samples/rfc9580-aead-eax.asc")),
    by_passphrase("RFC 9580, A.10, OCB", include_bytes!("../samples/rfc9580-aead-ocb.asc")),
    by_passphrase("RFC 9580, A.11, GCM", include_bytes!("../samples/rfc9580-aead-gcm.asc")),
    by_passphrase("RFC 9580, A.12, Argon2, AES-128", include_bytes!("../samples/rfc9580-argon2-aes128.asc")),
    by_passphrase("RFC 9580, A.12, Argon2, AES-192", include_bytes!("../samples/rfc9580-argon2-aes192.asc")),
    by_passphrase("RFC 9580, A.12, Argon2, AES-256", include_bytes!("../samples/rfc9580-argon2-aes256.asc")),
    by_key(
        "RFC 9980, version 6, Ed25519 and ML-KEM-768",
        include_bytes!("../samples/rfc9980-v6-eddsa-message.asc"),
        include_bytes!("../samples/rfc9980-v6-eddsa-key.asc"),
        TESTING,
    ),
    by_key(
        "RFC 9980, version 4, SEIPDv1",
        include_bytes!("../samples/rfc9980-v4-eddsa-message-seipdv1.asc"),
        include_bytes!("../samples/rfc9980-v4-eddsa-key.asc"),
        TESTING,
    ),
    by_key(
        "RFC 9980, version 4, SEIPDv2",
        include_bytes!("../samples/rfc9980-v4-eddsa-message-seipdv2.asc"),
        include_bytes!("../samples/rfc9980-v4-eddsa-key.asc"),
        TESTING,
    ),
    by_key(
        "RFC 9980, version 6, ML-DSA-65 and ML-KEM-768",
        include_bytes!("../samples/rfc9980-v6-mldsa-65-message.asc"),
        RFC9980_MLDSA_KEY,
        TESTING,
    ),
    by_key(
        "GnuPG 2.4, AEAD packet with OCB",
        include_bytes!("../samples/gnupg-aead-ocb-to-bob.asc"),
        BOB_KEY,
        b"foo\n",
    ),
    Sample {
        name: "GnuPG 2.4, AEAD packet with OCB in several chunks",
        message: include_bytes!("../samples/gnupg-aead-ocb-chunks-to-bob.asc"),
        key: BOB_KEY,
        passphrase: "",
        text: None,
        text_bytes: 300,
    },
];

macro_rules! kept {
    ($name:literal) => {
        Key {
            name: $name.to_owned(),
            user_id: crate::gpg::user_id($name),
            secret: include_bytes!(concat!("../keys/", $name, ".asc")).to_vec(),
            certificate: include_bytes!(concat!("../keys/", $name, ".cert.asc")).to_vec(),
            passphrase: None,
        }
    };
}

/// A DSA key with an ElGamal subkey, by GnuPG.
pub fn gpg_dsa_elgamal() -> Key {
    kept!("gpg-dsa-elgamal")
}

/// An RSA-4096 key, by GnuPG.
pub fn gpg_rsa4096() -> Key {
    kept!("gpg-rsa4096")
}

/// An RSA-3072 key, by sq.
pub fn sq_rsa3072() -> Key {
    kept!("sq-rsa3072")
}

/// A version 6 RSA-2048 key, by pysequoia.
pub fn pysequoia_v6_rsa2048() -> Key {
    kept!("pysequoia-v6-rsa2048")
}
