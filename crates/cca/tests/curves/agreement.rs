//! EC_Diffie-Hellman against OpenSSL: secrets, derived keys, what they may be, and who may have them.

use cca::{Batch, Incoming, Processor};
use openssl::bn::BigNum;
use openssl::derive::Deriver;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::symm::{Cipher, Crypter, Mode};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::ecc::EccCurve;
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{AesToken, ControlVector, DesToken, KeyType, VariableToken};
use wire::frame::{Arguments, Outcome};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::{Codes, Verb, code};

use crate::peer::*;
use crate::support::*;

/// A role with everything, the legacy points among it.
const ALL: &PointSet = &PointSet::EVERYTHING;

const AES_DATA: u8 = 1;
const EXPORTER: u8 = 2;
const IMPORTER: u8 = 3;
const CIPHER: u8 = 4;

/// What one request says.
#[derive(Clone)]
struct Agreement<'a> {
    words: &'a [&'a str],
    private: &'a [u8],
    public: &'a [u8],
    party: &'a [u8],
    bits: i64,
    kek: &'a [u8],
    output: &'a [u8],
    points: &'static PointSet,
}

impl<'a> Agreement<'a> {
    fn new(words: &'a [&'a str], private: &'a [u8], public: &'a [u8], bits: i64) -> Self {
        Self { words, private, public, party: b"", bits, kek: &[], output: &[], points: OWNER }
    }

    fn run(&self, processor: &mut Processor) -> Answered {
        use wire::verb::ec_diffie_hellman::*;
        let rules = keywords(self.words);
        let mut arguments = Arguments::new(Verb::EcDiffieHellman);
        arguments.set_integer(RULE_ARRAY_COUNT, self.words.len() as i64).set_bytes(RULE_ARRAY, &rules);
        arguments.set_integer(PRIVATE_KEY_IDENTIFIER_LENGTH, self.private.len() as i64);
        arguments.set_bytes(PRIVATE_KEY_IDENTIFIER, self.private);
        arguments.set_integer(PUBLIC_KEY_IDENTIFIER_LENGTH, self.public.len() as i64);
        arguments.set_bytes(PUBLIC_KEY_IDENTIFIER, self.public);
        arguments.set_integer(PARTY_IDENTIFIER_LENGTH, self.party.len() as i64);
        arguments.set_bytes(PARTY_IDENTIFIER, self.party).set_integer(KEY_BIT_LENGTH, self.bits);
        arguments.set_integer(OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, self.kek.len() as i64);
        arguments.set_bytes(OUTPUT_KEK_KEY_IDENTIFIER, self.kek);
        arguments.set_integer(OUTPUT_KEY_IDENTIFIER_LENGTH, CAPACITY);
        arguments.set_bytes(OUTPUT_KEY_IDENTIFIER, self.output);
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        let mut batch = Batch::new();
        let request = Incoming { verb: arguments.verb(), domain: 0, points: self.points, payload: &payload };
        batch.push(&request).unwrap();
        processor.run(&mut batch);
        let answer = &batch.answers()[0];
        assert_eq!(answer.outcome, Outcome::Answered);
        crate::exercised::note(arguments.verb(), &payload, answer.codes);
        let reply = Arguments::read_reply(arguments.verb(), &answer.payload).unwrap();
        let output = reply.bytes(OUTPUT_KEY_IDENTIFIER).to_vec();
        assert!(answer.codes.has_output() || output.is_empty(), "a refusal shows nothing");
        if answer.codes.is_ok() { Ok(output) } else { Err(answer.codes) }
    }
}

/// A key that a card makes, with which this key may be derived; its token and its public one.
fn deriving(processor: &mut Processor, curve: EccCurve, derivation: [u8; 4]) -> (Vec<u8>, Vec<u8>) {
    let structure = pair(curve, &[], &[]);
    let skeleton = build_full(processor, &structure, &["KM-ONLY", "ECC-VER1"], b"", &derivation).unwrap();
    let token = key_generate(processor, &[], &skeleton).unwrap();
    let public = public_key_extract(processor, &token, CAPACITY).unwrap();
    (token, public)
}

/// A key without a derivation.
fn plain(processor: &mut Processor, curve: EccCurve, words: &[&str]) -> Vec<u8> {
    let skeleton = skeleton(processor, curve, words);
    key_generate(processor, &[], &skeleton).unwrap()
}

fn derivation(algorithm: u8, key_type: u8, bits: u16) -> [u8; 4] {
    let [high, low] = bits.to_be_bytes();
    [algorithm, key_type, high, low]
}

/// OpenSSL's secret of its own private key and another's public one.
fn secret(peer: &Peer, point: &[u8]) -> Vec<u8> {
    let other = Peer { curve: peer.curve, value: peer.value.clone(), point: point.to_vec() };
    let (mine, theirs) = (PKey::from_ec_key(peer.weierstrass()).unwrap(), other.public_weierstrass());
    let theirs = PKey::from_ec_key(theirs).unwrap();
    let mut deriver = Deriver::new(&mine).unwrap();
    deriver.set_peer(&theirs).unwrap();
    deriver.derive_to_vec().unwrap()
}

/// ANSI X9.63, 5.6.3.
fn x963(digest: MessageDigest, secret: &[u8], shared: &[u8], bytes: usize) -> Vec<u8> {
    let blocks = (1u32..).take(bytes.div_ceil(digest.size()));
    let mut key: Vec<u8> = blocks
        .flat_map(|counter| {
            hash(digest, &[secret, &counter.to_be_bytes(), shared].concat()).unwrap().to_vec()
        })
        .collect();
    key.truncate(bytes);
    key
}

/// OpenSSL's hash of a keyword.
type Digest = fn() -> MessageDigest;

const HASHES: [(&str, Digest); 4] = [
    ("SHA-224", MessageDigest::sha224),
    ("SHA-256", MessageDigest::sha256),
    ("SHA-384", MessageDigest::sha384),
    ("SHA-512", MessageDigest::sha512),
];

const BLOCK: [u8; 16] = *b"sixteen bytes...";

fn enciphered_by_openssl(cipher: Cipher, key: &[u8]) -> Vec<u8> {
    let mut encipher = Crypter::new(cipher, Mode::Encrypt, key, None).unwrap();
    encipher.pad(false);
    let mut out = vec![0; 32];
    let bytes = encipher.update(&BLOCK, &mut out).unwrap();
    out.truncate(bytes);
    out
}

/// The block under an AES key of a token.
fn aes(processor: &mut Processor, token: &[u8]) -> Answered {
    use wire::verb::symmetric_algorithm_encipher::*;
    let rules = keywords(&["AES", "ECB", "KEYIDENT"]);
    let mut arguments = Arguments::new(Verb::SymmetricAlgorithmEncipher);
    arguments.set_integer(RULE_ARRAY_COUNT, 3).set_bytes(RULE_ARRAY, &rules);
    arguments.set_integer(KEY_LENGTH, token.len() as i64).set_bytes(KEY_IDENTIFIER, token);
    arguments.set_integer(BLOCK_SIZE, 16).set_integer(CLEAR_TEXT_LENGTH, 16).set_bytes(CLEAR_TEXT, &BLOCK);
    arguments.set_integer(CIPHER_TEXT_LENGTH, 16);
    let (codes, text) = ask(processor, &arguments, CIPHER_TEXT);
    if codes.is_ok() { Ok(text) } else { Err(codes) }
}

fn aes_cipher(bits: u16) -> Cipher {
    match bits {
        128 => Cipher::aes_128_ecb(),
        192 => Cipher::aes_192_ecb(),
        _ => Cipher::aes_256_ecb(),
    }
}

/// The verification pattern of a DES key: zeros under it.
fn des_pattern(processor: &mut Processor, token: &[u8]) -> Vec<u8> {
    use wire::verb::key_test::*;
    let rules = keywords(&["GENERATE", "ENC-ZERO"]);
    let mut arguments = Arguments::new(Verb::KeyTest);
    arguments.set_integer(RULE_ARRAY_COUNT, 2).set_bytes(RULE_ARRAY, &rules);
    arguments.set_bytes(KEY_IDENTIFIER, token).set_bytes(VALUE_1, &[0; 8]).set_bytes(VALUE_2, &[0; 8]);
    let (codes, pattern) = ask(processor, &arguments, VALUE_2);
    assert_eq!(codes, code::OK);
    pattern[..4].to_vec()
}

fn des_pattern_by_openssl(key: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = key.chunks(8).collect();
    let whole = [parts[0], parts[1 % parts.len()], parts[if parts.len() == 3 { 2 } else { 0 }]].concat();
    let mut encipher = Crypter::new(Cipher::des_ede3(), Mode::Encrypt, &whole, None).unwrap();
    encipher.pad(false);
    let mut out = vec![0; 16];
    encipher.update(&[0; 8], &mut out).unwrap();
    out[..4].to_vec()
}

#[test]
fn derived_keys_are_those_of_openssl_on_every_curve_with_every_hash() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        for (word, digest) in HASHES {
            for bits in [128u16, 192, 256] {
                let (token, _) = deriving(&mut processor, curve, derivation(2, AES_DATA, bits));
                let point = extracted(&mut processor, &token).unwrap();
                let peer = Peer::new(curve);
                let public = peer.public(&mut processor);
                let party = &b"what both parties know"[..usize::from(bits) % 23];
                let words = ["DERIV02", "KEY-AES", word];
                let agreed =
                    Agreement { party, points: ALL, ..Agreement::new(&words, &token, &public, bits.into()) };
                let derived = agreed.run(&mut processor).unwrap();
                assert_eq!(AesToken::parse(&derived).unwrap().key_bytes(), usize::from(bits / 8));
                let key = x963(digest(), &secret(&peer, &point), party, usize::from(bits / 8));
                let expected = enciphered_by_openssl(aes_cipher(bits), &key);
                assert_eq!(aes(&mut processor, &derived).unwrap(), expected, "{curve:?} {word} {bits}");
            }
        }
    }
}

#[test]
fn the_secret_is_that_of_openssl_where_a_role_shows_it() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let token = plain(&mut processor, curve, &["KEY-MGMT"]);
        let point = extracted(&mut processor, &token).unwrap();
        let peer = Peer::new(curve);
        let public = peer.public(&mut processor);
        let agreed = Agreement::new(&["PASSTHRU"], &token, &public, 0);
        assert_eq!(agreed.run(&mut processor).unwrap_err(), code::ACCESS_DENIED, "the owner's role");
        let shown = Agreement { points: ALL, ..agreed }.run(&mut processor).unwrap();
        assert_eq!(shown, secret(&peer, &point), "{curve:?}");
        // Keys that came in agree as well; nothing is derived of them.
        let imported = peer.internal(&mut processor, &["KM-ONLY"]);
        let own = public_key_extract(&mut processor, &token, CAPACITY).unwrap();
        let other = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &imported, &own, 0) };
        assert_eq!(other.run(&mut processor).unwrap(), shown, "{curve:?}");
        // A public key may be given with its private one.
        let other = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &imported, &token, 0) };
        assert_eq!(other.run(&mut processor).unwrap(), shown, "{curve:?}");
    }
}

/// A secret with leading zeros keeps them: shorter, it would derive another key than the other side.
#[test]
fn a_secret_that_begins_with_zeros_is_whole() {
    let mut processor = processor();
    let curve = EccCurve::P256;
    let token = plain(&mut processor, curve, &["KEY-MGMT"]);
    let point = extracted(&mut processor, &token).unwrap();
    let peer = std::iter::repeat_with(|| Peer::new(curve)).find(|peer| secret(peer, &point)[0] == 0).unwrap();
    let public = peer.public(&mut processor);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap(), secret(&peer, &point));
}

/// The keys of both parties of an agreement between two cards.
fn both(
    processor: &mut Processor,
    words: &[&str],
    derivation: [u8; 4],
    output: &[u8],
) -> [Result<Vec<u8>, Codes>; 2] {
    let parties = [0, 1].map(|_| deriving(processor, EccCurve::P521, derivation));
    let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
    [(0, 1), (1, 0)].map(|(mine, theirs)| {
        let (private, public) = (&parties[mine].0, &parties[theirs].1);
        Agreement { party: b"A and B", output, ..Agreement::new(words, private, public, bits) }.run(processor)
    })
}

#[test]
fn both_parties_have_one_key_of_every_aes_type() {
    let mut processor = processor();
    let skeleton = |key_type: VariableType, words: &[&str]| {
        let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
        let payload = VariableToken::default_payload(key_type);
        VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes().to_vec()
    };
    for bits in [128u16, 192, 256] {
        let data = AesToken::skeleton(usize::from(bits / 8)).unwrap().to_bytes().to_vec();
        for (number, key_type, outputs) in [
            (AES_DATA, None, vec![vec![], vec![0; 64], data]),
            (
                CIPHER,
                Some(VariableType::Cipher),
                vec![vec![], skeleton(VariableType::Cipher, &["ANY-MODE", "NOEX-RAW"])],
            ),
            (EXPORTER, Some(VariableType::Exporter), vec![vec![], skeleton(VariableType::Exporter, &[])]),
            (IMPORTER, Some(VariableType::Importer), vec![vec![], skeleton(VariableType::Importer, &[])]),
        ] {
            for output in outputs {
                let words = ["DERIV02", "SHA-256"];
                let [one, two] = both(&mut processor, &words, derivation(2, number, bits), &output);
                let (one, two) = (one.unwrap(), two.unwrap());
                let Some(key_type) = key_type else {
                    let [one, two] = [one, two].map(|token| aes(&mut processor, &token).unwrap());
                    assert_eq!(one, two);
                    continue;
                };
                for token in [&one, &two] {
                    let token = VariableToken::parse(token).unwrap();
                    assert_eq!(token.key_type(), key_type);
                    let expected = match output.is_empty() {
                        true => Attributes::new(key_type, [], None).unwrap(),
                        false => VariableToken::parse(&output).unwrap().attributes().clone(),
                    };
                    let expected = expected.made(Pedigree::Agreement, Completeness::Complete);
                    assert_eq!(token.attributes(), &expected);
                }
                if output.len() > 64 && key_type == VariableType::Cipher {
                    let [one, two] = [one, two].map(|token| aes(&mut processor, &token).unwrap());
                    assert_eq!(one, two);
                }
            }
        }
    }
}

#[test]
fn both_parties_have_one_key_of_every_des_type() {
    let mut processor = processor();
    for (number, key_type, lengths) in [
        (AES_DATA, KeyType::Data, &[64u16, 128, 192][..]),
        (CIPHER, KeyType::Cipher, &[64, 128]),
        (EXPORTER, KeyType::Exporter, &[128]),
        (IMPORTER, KeyType::Importer, &[128]),
    ] {
        for bits in lengths {
            let form = match bits {
                64 => KeyForm::Single,
                128 => KeyForm::Double,
                _ => KeyForm::Triple,
            };
            let vector = key_type.default_vector(form).unwrap();
            let skeleton = DesToken::skeleton(Origin::Internal, form, vector).unwrap().to_bytes().to_vec();
            let mut outputs = vec![(vec![], vector), (skeleton, vector)];
            if key_type == KeyType::Data {
                let zero = DesToken::skeleton(Origin::Internal, KeyForm::Single, ControlVector::ZERO);
                outputs.push((zero.unwrap().to_bytes().to_vec(), ControlVector::ZERO));
            }
            for (output, vector) in outputs {
                let words = ["DERIV02", "KEY-DES", "SHA-384", "USECONFG"];
                let agreed = both(&mut processor, &words, derivation(1, number, *bits), &output);
                let [one, two] = agreed.map(|token| {
                    let token = token.unwrap();
                    let parsed = DesToken::parse(&token).unwrap();
                    assert_eq!(parsed.control_vector(), vector, "{key_type:?} {bits}");
                    assert_eq!(parsed.form().key_bytes(), usize::from(bits / 8));
                    des_pattern(&mut processor, &token)
                });
                assert_eq!(one, two, "{key_type:?} {bits}");
            }
        }
    }
}

#[test]
fn des_keys_are_the_start_of_what_is_derived_with_odd_parity() {
    let mut processor = processor();
    for bits in [64u16, 128, 192] {
        let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(1, AES_DATA, bits));
        let point = extracted(&mut processor, &token).unwrap();
        let peer = Peer::new(EccCurve::P256);
        let public = peer.public(&mut processor);
        let words = ["DERIV02", "SHA-512"];
        let derived = Agreement::new(&words, &token, &public, bits.into()).run(&mut processor).unwrap();
        let key = x963(MessageDigest::sha512(), &secret(&peer, &point), b"", usize::from(bits / 8));
        assert_eq!(des_pattern(&mut processor, &derived), des_pattern_by_openssl(&key), "{bits}");
    }
}

#[test]
fn what_a_private_key_does_not_say_is_not_derived() {
    let mut processor = processor();
    let (curve, words) = (EccCurve::P521, ["DERIV02", "SHA-256"]);
    let public = Peer::new(curve).public(&mut processor);
    let mut refused = |agreed: &Agreement<'_>, codes: Codes, what: &str| {
        let agreed = Agreement { public: &public, ..agreed.clone() };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{what}");
    };
    let mut others = crate::support::processor();
    let (data, _) = deriving(&mut others, curve, derivation(2, AES_DATA, 256));
    let (cipher, _) = deriving(&mut others, curve, derivation(2, CIPHER, 256));
    let (des, _) = deriving(&mut others, curve, derivation(1, CIPHER, 128));
    let data_request = Agreement::new(&words, &data, &[], 256);
    for bits in [0, 128, 192, 255, 257, 512, -1, i64::MAX, i64::MIN] {
        refused(&Agreement { bits, ..data_request.clone() }, code::KEY_BITS, "another length");
    }
    refused(
        &Agreement { words: &["DERIV02", "SHA-256", "KEY-DES"], ..data_request.clone() },
        code::KEY_USAGE,
        "DES",
    );
    let variable = |key_type: VariableType, words: &[&str]| {
        let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
        let payload = VariableToken::default_payload(key_type);
        VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes().to_vec()
    };
    let exporter = variable(VariableType::Exporter, &[]);
    let cipher_token = variable(VariableType::Cipher, &[]);
    let hmac = variable(VariableType::Hmac, &["GENERATE"]);
    let aes_128 = AesToken::skeleton(16).unwrap().to_bytes();
    let des_token = |key_type: KeyType, form, origin| {
        let vector = key_type.default_vector(form).unwrap();
        DesToken::skeleton(origin, form, vector).unwrap().to_bytes()
    };
    let des_cipher = des_token(KeyType::Cipher, KeyForm::Double, Origin::Internal);
    for (output, codes, what) in [
        (&cipher_token[..], code::KEY_USAGE, "CIPHER of DATA"),
        (&exporter, code::KEY_USAGE, "EXPORTER of DATA"),
        (&hmac, code::KEY_USAGE, "HMAC of DATA"),
        (&aes_128, code::KEY_BITS, "AES-128 of AES-256"),
        (&des_cipher, code::TOKEN_INVALID, "DES of AES"),
        (&[0xFF; 64], code::TOKEN_INVALID, "no token"),
    ] {
        refused(&Agreement { output, ..data_request.clone() }, codes, what);
    }
    let cipher_request = Agreement { private: &cipher, ..data_request.clone() };
    for (output, what) in
        [(&exporter[..], "EXPORTER of CIPHER"), (&hmac, "HMAC of CIPHER"), (&aes_128, "DATA of CIPHER")]
    {
        refused(&Agreement { output, ..cipher_request.clone() }, code::KEY_USAGE, what);
    }
    let des_request = Agreement { private: &des, bits: 128, ..data_request.clone() };
    for (key_type, form, codes) in [
        (KeyType::Exporter, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Importer, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Mac, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Data, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Cipher, KeyForm::Single, code::KEY_BITS),
    ] {
        let output = &des_token(key_type, form, Origin::Internal)[..];
        refused(&Agreement { output, ..des_request.clone() }, codes, key_type.name());
    }
    let part = KeyType::Cipher.vector_with(KeyForm::Double, ["KEY-PART"]).unwrap();
    let output = &DesToken::skeleton(Origin::Internal, KeyForm::Double, part).unwrap().to_bytes()[..];
    refused(&Agreement { output, ..des_request.clone() }, code::KEY_USAGE, "a part of a key");
    let output = &des_token(KeyType::Cipher, KeyForm::Double, Origin::External)[..];
    refused(
        &Agreement { output, ..des_request },
        code::TOKEN_INVALID,
        "an external token without a key for it",
    );
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    refused(&Agreement { output: &label, ..data_request.clone() }, code::LABEL_NOT_FOUND, "a label");
    refused(&Agreement { party: &[7; 257], ..data_request.clone() }, code::INVALID_PARAMETER, "257 bytes");
    // Where the key stands that shows it: no derived key is told by the secret.
    let passing = Agreement { words: &["PASSTHRU"], points: ALL, ..data_request };
    refused(&passing, code::KEY_USAGE, "PASSTHRU of a key that derives");
}

#[test]
fn keys_that_do_not_agree() {
    let mut processor = processor();
    let curve = EccCurve::P521;
    let words = ["DERIV02", "SHA-256"];
    let peer = Peer::new(curve);
    let public = peer.public(&mut processor);
    let build = |processor: &mut Processor, structure: &[u8], usage: &str| {
        build_full(processor, structure, &[usage, "ECC-VER1"], b"", &derivation(2, AES_DATA, 256)).unwrap()
    };
    let clear = build(&mut processor, &peer.pair(), "KEY-MGMT");
    let imported = key_import(&mut processor, &clear).unwrap();
    let skeleton = build(&mut processor, &pair(curve, &[], &[]), "KEY-MGMT");
    let signing = build(&mut processor, &pair(curve, &[], &[]), "SIG-ONLY");
    let signing = key_generate(&mut processor, &[], &signing).unwrap();
    let without = plain(&mut processor, curve, &["KEY-MGMT"]);
    let rsa = internal_token(&mut processor, "RSA-AESM", "KEY-MGMT", openssl_key(512));
    for (private, codes, what) in [
        (&clear, code::KEY_USAGE, "a clear key"),
        (&imported, code::KEY_USAGE, "a key that came in, and that somebody has"),
        (&skeleton, code::TOKEN_INVALID, "no key"),
        (&signing, code::KEY_USAGE, "SIG-ONLY"),
        (&without, code::KEY_USAGE, "a key without a derivation"),
        (&rsa, code::TOKEN_INVALID, "an RSA key"),
        (&public, code::TOKEN_INVALID, "a public key"),
    ] {
        let agreed = Agreement::new(&words, private, &public, 256).run(&mut processor);
        assert_eq!(agreed.unwrap_err(), codes, "{what}");
    }
    for (private, codes, what) in [
        (&clear, code::KEY_USAGE, "a clear key"),
        (&signing, code::KEY_USAGE, "SIG-ONLY"),
        (&imported, code::KEY_USAGE, "a key that derives"),
        (&rsa, code::TOKEN_INVALID, "an RSA key"),
    ] {
        let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], private, &public, 0) };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{what}");
    }
    let edwards = plain(&mut processor, EccCurve::Ed25519, &["KEY-MGMT"]);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &edwards, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap_err(), code::CURVE);
    let (token, _) = deriving(&mut processor, curve, derivation(2, AES_DATA, 256));
    for other in EccCurve::ALL.into_iter().filter(|other| *other != curve) {
        let public = Peer::new(other).public(&mut processor);
        let agreed = Agreement::new(&words, &token, &public, 256).run(&mut processor);
        assert_eq!(agreed.unwrap_err(), code::PKA_FIELD, "{other:?}");
    }
    for other in [&rsa, &skeleton] {
        assert!(Agreement::new(&words, &token, other, 256).run(&mut processor).is_err());
    }
}

/// Points on other curves: of (x, y) any pair is a point on some curve with the same first coefficient, which may have
/// small subgroups; the answers would tell the private key modulo their orders.
#[test]
fn points_on_other_curves_are_refused() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let token = plain(&mut processor, curve, &["KEY-MGMT"]);
        let peer = Peer::new(curve);
        let half = curve.bytes();
        let mut tried = 0;
        for round in 0..=20u8 {
            let mut point = peer.point.clone();
            match round {
                // Order 2 on the other curve: y is zero.
                0 => point[1 + half..].fill(0),
                1 => point[1..=half].fill(0),
                2 => point[1..].fill(0),
                3 => point[1..].fill(0xFF),
                _ => point[2 * half - usize::from(round % 4)] ^= round,
            }
            let public = point_token(&mut processor, curve, &point).unwrap();
            let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
            assert_eq!(agreed.run(&mut processor).unwrap_err(), code::PKA_FIELD, "{curve:?} {round}");
            tried += 1;
        }
        assert_eq!(tried, 21);
        // The generator is a key of a kind: its private value is one, and the secret is the caller's own coordinate.
        let one = Peer::of(curve, &BigNum::from_u32(1).unwrap());
        let public = one.public(&mut processor);
        let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
        let point = extracted(&mut processor, &token).unwrap();
        assert_eq!(agreed.run(&mut processor).unwrap(), point[1..=half]);
    }
}

#[test]
fn every_flipped_byte_of_the_private_token_is_refused() {
    let mut processor = processor();
    let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(2, AES_DATA, 128));
    let public = Peer::new(EccCurve::P256).public(&mut processor);
    let words = ["DERIV02", "SHA-256"];
    assert!(Agreement::new(&words, &token, &public, 128).run(&mut processor).is_ok());
    for at in 0..token.len() {
        for flip in [0x01u8, 0x03, 0x80] {
            let mut changed = token.clone();
            changed[at] ^= flip;
            let agreed = Agreement { points: ALL, ..Agreement::new(&words, &changed, &public, 128) };
            assert!(agreed.run(&mut processor).is_err(), "byte {at} ^ {flip:#x}");
        }
    }
    // A transport key of a key that derives DATA keys, and without the derivation the secret.
    let end = token.len() - 4;
    let mut exchanged = token.clone();
    exchanged[end..].copy_from_slice(&derivation(2, EXPORTER, 128));
    let agreed = Agreement::new(&words, &exchanged, &public, 128).run(&mut processor);
    assert_eq!(agreed.unwrap_err(), code::TOKEN_INVALID);
    let mut cut = token[..token.len() - 8].to_vec();
    let length = (cut.len() as u16).to_be_bytes();
    cut[2..4].copy_from_slice(&length);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &cut, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap_err(), code::TOKEN_INVALID);
}

/// A role without this point.
const fn without(point: Point) -> PointSet {
    let mut points = BUILT_IN[0].points;
    points.deny(point);
    points
}

#[test]
fn curves_strengths_and_kinds_have_points() {
    let mut processor = processor();
    let words = ["DERIV02", "SHA-256"];
    macro_rules! denied {
        ($point:ident, $curve:ident, $derivation:expr) => {
            static POINTS: PointSet = without(Point::$point);
            let (curve, derivation) = (EccCurve::$curve, $derivation);
            let (token, _) = deriving(&mut processor, curve, derivation);
            let public = Peer::new(curve).public(&mut processor);
            let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
            let agreed = Agreement::new(&words, &token, &public, bits);
            assert!(agreed.run(&mut processor).is_ok(), stringify!($point));
            let denied = Agreement { points: &POINTS, ..agreed }.run(&mut processor);
            assert_eq!(denied.unwrap_err(), code::ACCESS_DENIED, stringify!($point));
        };
    }
    {
        denied!(AgreementP224, P224, derivation(1, AES_DATA, 128));
    }
    {
        denied!(AgreementP256, P256, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementP384, P384, derivation(2, AES_DATA, 192));
    }
    {
        denied!(AgreementP521, P521, derivation(2, AES_DATA, 256));
    }
    {
        denied!(AgreementBrainpool256, BrainpoolP256r1, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementBrainpool384, BrainpoolP384r1, derivation(2, AES_DATA, 192));
    }
    {
        denied!(AgreementKoblitz256, Secp256k1, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementDerive2, P256, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementTransportKey, P521, derivation(2, EXPORTER, 256));
    }
    {
        denied!(AgreementTransportKey, P256, derivation(1, IMPORTER, 128));
    }
    {
        denied!(SingleLengthDes, P256, derivation(1, AES_DATA, 64));
    }
    // Stronger than the curve.
    for (curve, derivation) in [
        (EccCurve::P224, derivation(2, AES_DATA, 128)),
        (EccCurve::P256, derivation(2, AES_DATA, 192)),
        (EccCurve::BrainpoolP256r1, derivation(2, CIPHER, 192)),
        (EccCurve::Secp256k1, derivation(2, AES_DATA, 256)),
        (EccCurve::P384, derivation(2, AES_DATA, 256)),
        (EccCurve::BrainpoolP384r1, derivation(2, CIPHER, 256)),
    ] {
        let (token, _) = deriving(&mut processor, curve, derivation);
        let public = Peer::new(curve).public(&mut processor);
        let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
        let agreed = Agreement::new(&words, &token, &public, bits);
        assert_eq!(agreed.run(&mut processor).unwrap_err(), code::AGREEMENT, "{curve:?} {derivation:?}");
        assert!(Agreement { points: ALL, ..agreed }.run(&mut processor).is_ok());
    }
}

/// Whoever may agree may choose the key: with a private key of their own on the other side they know what is derived. A
/// guest, whose keys are others' to choose, may not.
#[test]
fn a_guest_brings_in_no_key_of_its_choice() {
    let mut processor = processor();
    let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(2, AES_DATA, 128));
    let mine = Peer::new(EccCurve::P256);
    let public = mine.public(&mut processor);
    let agreed = Agreement::new(&["DERIV02", "SHA-256"], &token, &public, 128);
    let derived = agreed.run(&mut processor).unwrap();
    let point = extracted(&mut processor, &token).unwrap();
    let known = x963(MessageDigest::sha256(), &secret(&mine, &point), b"", 16);
    let expected = enciphered_by_openssl(Cipher::aes_128_ecb(), &known);
    assert_eq!(aes(&mut processor, &derived).unwrap(), expected, "the attack bites");
    for role in ["guest", "trusted", "nobody"] {
        let role = &wire::role::BuiltIn::from_name(role).unwrap().points;
        for point in [Point::EcDiffieHellman, Point::AgreementDerive2, Point::AgreementPassThrough] {
            assert!(!role.permits(point), "{point:?}");
        }
    }
}

#[test]
fn keywords_that_are_not_served() {
    let mut processor = processor();
    let (token, public) = deriving(&mut processor, EccCurve::P256, derivation(1, AES_DATA, 128));
    for (words, codes) in [
        (&["DERIV01"][..], code::KEYWORD),
        (&["DERIV02", "SHA-256", "QSA-ECDH"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "OKEK-AES"], code::KEYWORD),
        (&["DERIV02", "SHA-1"], code::KEYWORD),
        (&["DERIV02"], code::KEYWORD_COMBINATION),
        (&["SHA-256"], code::KEYWORD_COMBINATION),
        (&["DERIV02", "SHA-256", "WRAP-ECB"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAP-ENH"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAPENH2"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAPENH3"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "ENH-ONLY"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "KEY-AES", "USECONFG"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "SHA-256"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "KEY-AES"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "DERIV02"], code::KEYWORD_COMBINATION),
    ] {
        let agreed = Agreement { points: ALL, ..Agreement::new(words, &token, &public, 128) };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{words:?}");
    }
    let words = ["ECDH", "DERIV02", "SHA-256", "KEY-DES", "USECONFG"];
    assert!(Agreement::new(&words, &token, &public, 128).run(&mut processor).is_ok());
}
