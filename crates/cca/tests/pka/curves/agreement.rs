//! EC_Diffie-Hellman against OpenSSL: requests, and the other side.

mod keys;
mod rights;
mod secrets;
mod types;

use super::peer::*;
use cca::{Batch, Incoming, Processor};
use openssl::derive::Deriver;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::symm::{Cipher, Crypter, Mode};
use token::pka::ecc::EccCurve;
use verb_requests::pka::*;
use wire::code;
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::verb::{
    AesAlgorithm, AesKeyRule, AesMethod, Filled, KeyAgreement, Room, TestAlgorithm, TestProcess, TypedAsk,
    key_test as kyt, symmetric_algorithm_encipher as sae,
};

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
        let request = Ask {
            private_key_identifier: self.private.into(),
            public_key_identifier: self.public.into(),
            party_identifier: self.party,
            key_bit_length: self.bits,
            output_kek_key_identifier: self.kek.into(),
            output_key_identifier: Room { given: self.output, bytes: CAPACITY as usize },
            ..Ask::new(KeyAgreement::Derive1)
        };
        let (rules, mut filled) = (keywords(self.words), Filled::default());
        let arguments = worded(&request, &mut filled, &rules);
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        let mut batch = Batch::new();
        let request = Incoming { verb: arguments.verb(), domain: 0, points: self.points, payload: &payload };
        batch.push(&request).unwrap();
        processor.run(&mut batch);
        let answer = &batch.answers()[0];
        assert_eq!(answer.outcome, Outcome::Answered);
        verb_requests::exercised::note(arguments.verb(), &payload, answer.codes);
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
    let request = sae::Ask {
        method: Some(AesMethod::Ecb),
        key_rule: Some(AesKeyRule::Identifier),
        key_identifier: token.into(),
        block_size: 16,
        clear_text: &BLOCK,
        cipher_text: 16,
        ..sae::Ask::new(AesAlgorithm::Aes)
    };
    let (codes, text) = ask(processor, &request.arguments(&mut Filled::default()), sae::CIPHER_TEXT);
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
    let request = kyt::Ask {
        algorithm: Some(TestAlgorithm::EncZero),
        key_identifier: token.into(),
        value_1: Some(&[0; 8]),
        value_2: Some(&[0; 8]),
        ..kyt::Ask::new(TestProcess::Generate)
    };
    let (codes, pattern) = ask(processor, &request.arguments(&mut Filled::default()), kyt::VALUE_2);
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
