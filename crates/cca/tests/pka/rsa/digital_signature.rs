//! Digital_Signature_Generate and _Verify: both ways with OpenSSL, and every refusal.

use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::{Padding, Rsa};
use openssl::sign::RsaPssSaltlen;
use verb_requests::pka::*;
use wire::code;

type Digest = fn() -> MessageDigest;

const HASHES: &[(&str, Digest)] = &[
    ("SHA-1", MessageDigest::sha1),
    ("SHA-224", MessageDigest::sha224),
    ("SHA-256", MessageDigest::sha256),
    ("SHA-384", MessageDigest::sha384),
    ("SHA-512", MessageDigest::sha512),
];

fn digest(hash: MessageDigest, text: &[u8]) -> Vec<u8> {
    openssl::hash::hash(hash, text).unwrap().to_vec()
}

/// Signs or verifies a digest as OpenSSL does.
struct Openssl {
    key: PKey<Private>,
}

impl Openssl {
    fn new(key: &Rsa<Private>) -> Self {
        Self { key: PKey::from_rsa(key.clone()).unwrap() }
    }

    fn set(context: &mut PkeyCtx<Private>, hash: MessageDigest, salt: Option<usize>) {
        let md = openssl::md::Md::from_nid(hash.type_()).unwrap();
        match salt {
            Some(salt) => {
                context.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                context.set_signature_md(md).unwrap();
                context.set_rsa_mgf1_md(md).unwrap();
                context.set_rsa_pss_saltlen(RsaPssSaltlen::custom(salt as i32)).unwrap();
            }
            None => {
                context.set_rsa_padding(Padding::PKCS1).unwrap();
                context.set_signature_md(md).unwrap();
            }
        }
    }

    fn sign(&self, hash: MessageDigest, salt: Option<usize>, digest: &[u8]) -> Vec<u8> {
        let mut context = PkeyCtx::new(&self.key).unwrap();
        context.sign_init().unwrap();
        Self::set(&mut context, hash, salt);
        let mut out = Vec::new();
        context.sign_to_vec(digest, &mut out).unwrap();
        out
    }

    fn verifies(&self, hash: MessageDigest, salt: Option<usize>, digest: &[u8], signature: &[u8]) -> bool {
        let mut context = PkeyCtx::new(&self.key).unwrap();
        context.verify_init().unwrap();
        Self::set(&mut context, hash, salt);
        context.verify(digest, signature).unwrap_or(false)
    }
}

/// DigestInfo (RFC 8017, 9.2), as callers encode it.
fn digest_info(hash: MessageDigest, digest: &[u8]) -> Vec<u8> {
    let algorithm = match digest.len() {
        20 => engine::HashAlgorithm::Sha1,
        28 => engine::HashAlgorithm::Sha224,
        32 => engine::HashAlgorithm::Sha256,
        48 => engine::HashAlgorithm::Sha384,
        _ => engine::HashAlgorithm::Sha512,
    };
    assert_eq!(hash.size(), digest.len());
    [engine::digest_info_prefix(algorithm), digest].concat()
}

/// Data of PKCS-PSS: salt length, then the hash.
fn with_salt(salt: usize, digest: &[u8]) -> Vec<u8> {
    [&(salt as u32).to_be_bytes()[..], digest].concat()
}

#[test]
fn pkcs_1_1_goes_both_ways_with_openssl() {
    let mut processor = processor();
    for bits in [1024, 1025, 1030, 2048] {
        let key = openssl_key(bits);
        let openssl = Openssl::new(key);
        let public = public_token(&mut processor, key);
        for kind in ["RSA-CRT", "RSA-AESM"] {
            let internal = internal_token(&mut processor, kind, "SIG-ONLY", key);
            for (_, hash) in HASHES {
                let digest = digest(hash(), b"a text");
                let data = digest_info(hash(), &digest);
                let signature = sign(&mut processor, &["PKCS-1.1"], &internal, &data).unwrap();
                assert!(openssl.verifies(hash(), None, &digest, &signature), "{kind} {bits}");
                let theirs = openssl.sign(hash(), None, &digest);
                assert_eq!(theirs, signature);
                for token in [&public, &internal] {
                    assert_eq!(verify(&mut processor, &["RSA", "PKCS-1.1"], token, &data, &theirs), code::OK);
                }
            }
        }
    }
}

#[test]
fn pkcs_pss_goes_both_ways_with_openssl() {
    let mut processor = processor();
    for bits in [1024, 1025, 1030, 1536, 2048] {
        let key = openssl_key(bits);
        let openssl = Openssl::new(key);
        let public = public_token(&mut processor, key);
        let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
        for (word, hash) in HASHES {
            let digest = digest(hash(), b"a text");
            for salt in [0, digest.len(), digest.len() + 5] {
                if digest.len() + salt + 2 > bits as usize / 8 {
                    continue;
                }
                let words = ["PKCS-PSS", word];
                let data = with_salt(salt, &digest);
                let signature = sign(&mut processor, &words, &internal, &data).unwrap();
                assert!(openssl.verifies(hash(), Some(salt), &digest, &signature), "{word} {salt} {bits}");
                let theirs = openssl.sign(hash(), Some(salt), &digest);
                assert_eq!(verify(&mut processor, &words, &public, &data, &theirs), code::OK);
                let exact = ["PKCS-PSS", word, "EXMATCH"];
                assert_eq!(verify(&mut processor, &exact, &public, &data, &theirs), code::OK);
                let other = with_salt(digest.len() + 7, &digest);
                let codes = verify(&mut processor, &words, &public, &other, &theirs);
                assert_eq!(codes, code::SIGNATURE_NOT_VERIFIED);
            }
        }
    }
}

#[test]
fn x9_31_goes_both_ways_with_openssl() {
    let mut processor = processor();
    // The padding's number in OpenSSL's rsa.h; hash and identifier are the caller's there.
    let padding = Padding::from_raw(5);
    for bits in [1024, 1536, 2048] {
        let key = openssl_key(bits);
        let public = public_token(&mut processor, key);
        let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
        let hashes = HASHES.iter().copied().chain([("RPMD-160", MessageDigest::ripemd160 as Digest)]);
        for ((word, hash), identifier) in hashes.zip([0x33, 0x38, 0x34, 0x36, 0x35, 0x31]) {
            for text in 0..4u8 {
                let digest = digest(hash(), &[text]);
                let words = ["X9.31", word];
                let signature = sign(&mut processor, &words, &internal, &digest).unwrap();
                let mut theirs = vec![0; bits as usize / 8];
                let body = [&digest[..], &[identifier]].concat();
                key.private_encrypt(&body, &mut theirs, padding).unwrap();
                assert_eq!(signature, theirs, "{word} {bits}");
                assert_eq!(verify(&mut processor, &words, &public, &digest, &theirs), code::OK);
                // The larger of the two roots is not a signature.
                let mut larger = openssl::bn::BigNum::new().unwrap();
                larger.checked_sub(key.n(), &openssl::bn::BigNum::from_slice(&theirs).unwrap()).unwrap();
                let larger = larger.to_vec_padded(bits as i32 / 8).unwrap();
                let codes = verify(&mut processor, &words, &public, &digest, &larger);
                assert_eq!(codes, code::SIGNATURE_NOT_VERIFIED);
            }
        }
    }
}

#[test]
fn formats_without_a_hash() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let public = public_token(&mut processor, key);
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    for (word, longest) in [("PKCS-1.0", 117), ("ZERO-PAD", 127), ("PKCS-1.1", 117)] {
        for length in [1, 20, longest] {
            let data = vec![0x5A; length];
            let signature = sign(&mut processor, &[word], &internal, &data).unwrap();
            let opened = power(&signature, key.e(), key.n());
            assert_eq!(opened[128 - length..], data);
            let filler = &opened[..128 - length];
            if word == "PKCS-1.1" {
                assert_eq!((filler[..2].to_vec(), filler.last()), (vec![0, 1], Some(&0)));
                assert!(filler[2..filler.len() - 1].iter().all(|byte| *byte == 0xFF));
            } else {
                assert!(filler.iter().all(|byte| *byte == 0));
            }
            assert_eq!(verify(&mut processor, &[word], &public, &data, &signature), code::OK);
        }
        if word != "ZERO-PAD" {
            let refused = sign(&mut processor, &[word], &internal, &vec![1; longest + 1]);
            assert_eq!(refused.unwrap_err(), code::TEXT_LENGTH);
        }
    }
    let refused = sign(&mut processor, &["ZERO-PAD"], &internal, &number(key.n()));
    assert_eq!(refused.unwrap_err(), code::TEXT_LENGTH);
}

#[test]
fn every_changed_byte_of_a_signature_is_noticed() {
    let mut processor = processor();
    let key = openssl_key(512);
    let public = public_token(&mut processor, key);
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let digest = digest(MessageDigest::sha1(), b"text");
    for (words, data) in [
        (&["PKCS-1.1"][..], digest.clone()),
        (&["PKCS-1.0"], digest.clone()),
        (&["ZERO-PAD"], digest.clone()),
        (&["PKCS-PSS", "SHA-1"], with_salt(20, &digest)),
    ] {
        let signature = sign(&mut processor, words, &internal, &data).unwrap();
        for at in 0..signature.len() {
            let mut changed = signature.clone();
            changed[at] ^= 0x10;
            let codes = verify(&mut processor, words, &public, &data, &changed);
            assert_eq!(codes, code::SIGNATURE_NOT_VERIFIED, "{words:?} byte {at}");
        }
        for at in 0..data.len() {
            let mut changed = data.clone();
            changed[at] ^= 1;
            let codes = verify(&mut processor, words, &public, &changed, &signature);
            // A changed salt length may be one that is refused before.
            assert!(
                codes == code::SIGNATURE_NOT_VERIFIED
                    || (words.len() == 2 && at < 4 && codes == code::TEXT_LENGTH),
                "{words:?} data byte {at}: {codes}"
            );
        }
        for wrong in [&signature[..63], &[&signature[..], &[0]].concat(), &[], &number(key.n())] {
            let codes = verify(&mut processor, words, &public, &data, wrong);
            assert_eq!(codes, code::SIGNATURE_NOT_VERIFIED);
        }
    }
}

#[test]
fn lengths_are_answered() {
    use wire::verb::digital_signature_generate::*;
    let mut processor = processor();
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(1024));
    let rules = keywords(&["PKCS-1.1"]);
    let arguments = sign_arguments(1, &rules, &internal, b"text");
    let (_, codes, payload) = run(&mut processor, &arguments);
    let reply = wire::frame::Arguments::read_reply(arguments.verb(), &payload).unwrap();
    assert_eq!(codes, code::OK);
    assert_eq!((reply.integer(SIGNATURE_FIELD_LENGTH), reply.integer(SIGNATURE_BIT_LENGTH)), (128, 1024));
    let short = sign_into(&mut processor, &["PKCS-1.1"], &internal, b"text", 127);
    assert_eq!(short.unwrap_err(), code::BUFFER_TOO_SMALL);
    assert!(sign_into(&mut processor, &["PKCS-1.1"], &internal, b"text", 128).is_ok());
}

#[test]
fn refusals() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let public = public_token(&mut processor, key);
    let internal = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    let unwrapping = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", key);
    let digest = [7; 32];
    let salted = with_salt(32, &digest);
    for (words, data, codes) in [
        (&[][..], &digest[..], code::KEYWORD),
        (&["ISO-9796"], &digest, code::KEYWORD),
        (&["EC-SDSA"], &digest, code::KEYWORD),
        (&["EC-SDSA", "SHA-256", "HASH"], &digest, code::KEYWORD),
        (&["CRDL-DSA", "MESSAGE"], &digest, code::KEYWORD),
        (&["CRDL-DSA", "CRDLHASH"], &digest, code::KEYWORD),
        (&["PKCS-1.1", "CRDLHASH"], &digest, code::KEYWORD),
        (&["PKCS-PSS", "RPMD-160"], &salted, code::KEYWORD_COMBINATION),
        (&["PKCS-1.1", "RPMD-160"], &digest, code::KEYWORD_COMBINATION),
        (&["ECDSA", "RPMD-160"], &digest, code::KEYWORD_COMBINATION),
        (&["PKCS-1.1", "ZERO-PAD"], &digest, code::KEYWORD_COMBINATION),
        (&["X9.31"], &digest, code::KEYWORD_COMBINATION),
        (&["PKCS-PSS"], &digest, code::KEYWORD_COMBINATION),
        (&["PKCS-PSS", "SHA-1", "SHA-256"], &digest, code::KEYWORD_COMBINATION),
        (&["ECDSA"], &digest, code::TOKEN_INVALID),
        (&["PKCS-1.1", "MESSAGE"], &digest, code::KEYWORD_COMBINATION),
        (&["EDDSA", "ED-HASH", "MESSAGE"], &digest, code::TOKEN_INVALID),
        (&["X9.31", "SHA-1"], &digest, code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &digest, code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &salted[..35], code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &with_salt(31, &digest), code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &with_salt(95, &digest), code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &with_salt(0xFFFF_FFFF, &digest), code::TEXT_LENGTH),
        (&["PKCS-PSS", "SHA-256"], &[], code::TEXT_LENGTH),
    ] {
        assert_eq!(sign(&mut processor, words, &internal, data).unwrap_err(), codes, "{words:?}");
        let refused = verify(&mut processor, words, &public, data, &[1; 128]);
        let expected = if codes == code::TEXT_LENGTH && data.len() == 36 && data[0] == 0 && data[3] == 95 {
            // No signature can have so long a salt.
            code::SIGNATURE_NOT_VERIFIED
        } else {
            codes
        };
        assert_eq!(refused, expected, "{words:?}");
    }
    let words = ["PKCS-1.1", "EXMATCH"];
    assert_eq!(verify(&mut processor, &words, &public, &digest, &[1; 128]), code::KEYWORD_COMBINATION);
    let words = ["PKCS-PSS", "SHA-256", "NEXMATCH"];
    assert_eq!(verify(&mut processor, &words, &public, &salted, &[1; 128]), code::KEYWORD);
    let words = ["PKCS-1.1", "TPK-ONLY"];
    assert_eq!(verify(&mut processor, &words, &public, &digest, &[1; 128]), code::KEYWORD);

    let words = ["PKCS-1.1", "RSA", "HASH", "SHA-256"];
    let encoded = digest_info(MessageDigest::sha256(), &digest);
    assert!(sign(&mut processor, &words, &internal, &encoded).is_ok());
    let words = ["PKCS-1.1"];
    assert_eq!(sign(&mut processor, &words, &unwrapping, &digest).unwrap_err(), code::KEY_USAGE);
    assert_eq!(sign(&mut processor, &words, &public, &digest).unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(sign(&mut processor, &words, &[b'A'; 64], &digest).unwrap_err(), code::LABEL_NOT_FOUND);
    let mut other = with_keys(true, &[1, 2, 3, 5], &[0; 4]);
    assert_eq!(sign(&mut other, &words, &internal, &digest).unwrap_err(), code::MASTER_KEY_MISMATCH);

    let small = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(512));
    let small_public = public_token(&mut processor, openssl_key(512));
    let signature = sign(&mut processor, &words, &small, &digest).unwrap();
    assert_eq!(
        sign(&mut processor, &["X9.31", "SHA-256"], &small, &digest).unwrap_err(),
        code::RSA_KEY_LENGTH
    );
    let mut strong = with_keys(false, &[1, 2, 3, 4], &[0; 4]);
    assert_eq!(sign(&mut strong, &words, &small, &digest).unwrap_err(), code::WEAK_ALGORITHM);
    assert_eq!(verify(&mut strong, &words, &small_public, &digest, &signature), code::WEAK_ALGORITHM);
}

#[test]
fn a_key_under_the_old_master_key_works_and_says_so() {
    let mut processor = processor();
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(1024));
    let words = ["PKCS-1.1"];
    let expected = sign(&mut processor, &words, &internal, b"text").unwrap();
    processor.load(&handout(0, &[1, 2, 3, 9], &[0, 0, 0, 4])).unwrap();
    use wire::verb::digital_signature_generate::SIGNATURE_FIELD;
    let rules = keywords(&words);
    // The second time the key comes from the contexts.
    for _ in 0..2 {
        let arguments = sign_arguments(1, &rules, &internal, b"text");
        let (codes, signature) = ask(&mut processor, &arguments, SIGNATURE_FIELD);
        assert_eq!((codes, signature), (code::OLD_MASTER_KEY, expected.clone()));
    }
    processor.load(&handout(0, &[1, 2, 3, 9], &[0; 4])).unwrap();
    assert_eq!(sign(&mut processor, &words, &internal, b"text").unwrap_err(), code::MASTER_KEY_MISMATCH);
}
