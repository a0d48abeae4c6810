//! Keys of variable length under RSA keys by PKOAEP2: payloads that OpenSSL opens and makes, and everything that is
//! none.

use super::exchange::imported;
use super::{generate2, generated2, parsed, skeleton2};
use cca::Processor;
use openssl::bn::{BigNum, BigNumContext};
use openssl::encrypt::{Decrypter, Encrypter};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sha::{sha1, sha256};
use std::sync::OnceLock;
use token::VariableToken;
use token::des::Origin;
use token::pka::{ClearKey, Form, Usage, clear_token};
use token::variable::{Attributes, Completeness, PayloadVersion, Pedigree, VariableType, Wrapper};
use verb_requests::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Reply, Request, aes_key, processor, text};
use verb_requests::uses::ways::{export2, import2, internal, part2, public_part, skeleton_of};
use verb_requests::wrapped::unwrapped;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, key_generate2, pka_decrypt, symmetric_key_import};

/// RSA keys of these lengths, made once.
pub fn rsa(bits: u32) -> &'static Rsa<Private> {
    static KEYS: [OnceLock<Rsa<Private>>; 3] = [const { OnceLock::new() }; 3];
    let at = [1024, 2048, 3072].iter().position(|known| *known == bits).unwrap();
    KEYS[at].get_or_init(|| Rsa::generate(bits).unwrap())
}

/// The tokens of an RSA key: public, and private for each use.
pub struct Tokens {
    pub public: Vec<u8>,
    pub transport: Vec<u8>,
    pub management: Vec<u8>,
    pub signing: Vec<u8>,
    pub clear: Vec<u8>,
}

impl Tokens {
    pub fn new(processor: &mut Processor, key: &Rsa<Private>) -> Self {
        let (n, e, d) = (key.n().to_vec(), key.e().to_vec(), key.d().to_vec());
        let attributes = token::pka::Attributes { usage: Usage::KeyManagement, ..Default::default() };
        let key = ClearKey::Me { n: &n, e: &e, d: &d };
        let clear = clear_token(Form::MeAes, &key, &attributes, &(sha1, sha256)).unwrap().to_vec();
        Self {
            public: public_part(processor, &clear),
            transport: internal(processor, &clear, Usage::KeyManagementOnly),
            management: internal(processor, &clear, Usage::KeyManagement),
            signing: internal(processor, &clear, Usage::SignatureOnly),
            clear,
        }
    }
}

/// The owner of a home, with these points.
pub fn with_points(more: &[Point]) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    more.iter().for_each(|point| points.allow(*point));
    Box::leak(Box::new(points))
}

/// A role that is permitted weaker RSA keys, and transport keys under RSA keys.
fn weak() -> &'static PointSet {
    with_points(&[Point::WeakTransport, Point::WeakImport, Point::TransportUnderRsa])
}

pub fn exported(reply: &Reply) -> Vec<u8> {
    reply.bytes(wire::verb::symmetric_key_export::RSA_ENCIPHERED_KEY)
}

const HASHES: [(&str, u8); 4] = [("SHA-1", 1), ("SHA-256", 2), ("SHA-384", 4), ("SHA-512", 8)];

fn digest(number: u8) -> MessageDigest {
    match number {
        1 => MessageDigest::sha1(),
        2 => MessageDigest::sha256(),
        4 => MessageDigest::sha384(),
        _ => MessageDigest::sha512(),
    }
}

/// A block of OAEP by OpenSSL.
pub fn sealed(key: &Rsa<Private>, number: u8, label: &[u8], message: &[u8]) -> Vec<u8> {
    let key = PKey::from_rsa(key.clone()).unwrap();
    let mut encrypter = Encrypter::new(&key).unwrap();
    encrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
    encrypter.set_rsa_oaep_md(digest(number)).unwrap();
    encrypter.set_rsa_mgf1_md(digest(number)).unwrap();
    if !label.is_empty() {
        encrypter.set_rsa_oaep_label(label).unwrap();
    }
    let mut out = vec![0; encrypter.encrypt_len(message).unwrap()];
    let length = encrypter.encrypt(message, &mut out).unwrap();
    out.truncate(length);
    out
}

/// What OpenSSL finds in a block of OAEP.
pub fn opened(key: &Rsa<Private>, number: u8, block: &[u8]) -> Vec<u8> {
    let key = PKey::from_rsa(key.clone()).unwrap();
    let mut decrypter = Decrypter::new(&key).unwrap();
    decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
    decrypter.set_rsa_oaep_md(digest(number)).unwrap();
    decrypter.set_rsa_mgf1_md(digest(number)).unwrap();
    let mut out = vec![0; decrypter.decrypt_len(block).unwrap()];
    let length = decrypter.decrypt(block, &mut out).unwrap();
    out.truncate(length);
    out
}

fn attributes(key_type: VariableType, keywords: &[&str]) -> Attributes {
    Attributes::new(key_type, keywords.iter().copied(), None).unwrap()
}

fn algorithm(key_type: VariableType) -> &'static str {
    if key_type.is_aes() { "AES" } else { "HMAC" }
}

/// The external token with this payload.
fn token(of: &Attributes, number: u8, payload: Vec<u8>) -> VariableToken {
    let version = VariableToken::default_payload(of.key_type());
    let skeleton = VariableToken::skeleton(Origin::External, version, of.clone()).unwrap();
    skeleton.with_payload(Wrapper::Rsa(number), payload).unwrap()
}

/// The message that is sealed for a key, and what is hashed in it.
fn message(of: &Attributes, number: u8, modulus_bytes: usize, key: &[u8]) -> Vec<u8> {
    let head = token(of, number, vec![0; modulus_bytes]).head();
    [&sha256(&head[30..])[..], &(8 * key.len() as u16).to_be_bytes(), key].concat()
}

/// An external token by OpenSSL.
fn made(key: &Rsa<Private>, number: u8, of: &Attributes, secret: &[u8]) -> Vec<u8> {
    let message = message(of, number, key.size() as usize, secret);
    token(of, number, sealed(key, number, &[], &message)).to_bytes().to_vec()
}

fn export(algorithm: &str, hash: &str, source: &[u8], rsa: &[u8]) -> Request {
    export2(algorithm, source, rsa).rules(&[algorithm, "PKOAEP2", hash])
}

fn import(algorithm: &str, source: &[u8], rsa: &[u8]) -> Request {
    import2(algorithm, source, rsa).rules(&[algorithm, "PKOAEP2"])
}

/// One of each type that a home makes, with what it is built from.
const TYPES: &[(VariableType, &[&str])] = &[
    (VariableType::Cipher, &["ANY-MODE"]),
    (VariableType::Cipher, &["ENCRYPT"]),
    (VariableType::Mac, &["GENERATE"]),
    (VariableType::Exporter, &[]),
    (VariableType::Importer, &["IMPORT"]),
    (VariableType::PinProt, &["ENCRYPT"]),
    (VariableType::PinCalc, &[]),
    (VariableType::PinPrw, &["VERIFY"]),
    (VariableType::DkyGenKy, &["D-ALL"]),
    (VariableType::SecMsg, &[]),
    (VariableType::Hmac, &["GENERATE"]),
];

/// Who knows a transport key reads what it carries, and anyone can make an RSA key: such a key neither leaves under one
/// nor comes in, nor does one that derives keys.
#[test]
fn keys_that_lead_to_others_stay_away_from_rsa_keys() {
    let mut processor = processor();
    let own = rsa(3072);
    let tokens = Tokens::new(&mut processor, own);
    for (key_type, keywords) in TYPES.iter().filter(|(key_type, _)| key_type.leads_to_keys()) {
        let key = generate2("AES", 128, "TOKEN", &skeleton_of(*key_type, keywords)).ok(&mut processor);
        let key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let out = export("AES", "SHA-256", &key, &tokens.public);
        out.refused(&mut processor, code::KEY_USAGE);
        out.points(with_points(&[Point::TransportUnderRsa])).ok(&mut processor);
        let planted = made(own, 2, &attributes(*key_type, keywords), &[0x5A; 16]);
        let back = import("AES", &planted, &tokens.transport);
        back.refused(&mut processor, code::KEY_USAGE);
        back.points(with_points(&[Point::TransportUnderRsa])).ok(&mut processor);
    }
}

#[test]
fn keys_of_every_type_go_to_openssl_and_come_back_as_they_were() {
    let mut processor = processor();
    for bits in [2048, 3072] {
        let tokens = Tokens::new(&mut processor, rsa(bits));
        for (key_type, keywords) in TYPES {
            for (key_bits, (hash, number)) in [128, 192, 256, 128].into_iter().zip(HASHES) {
                let skeleton = skeleton_of(*key_type, keywords);
                let key = generate2(algorithm(*key_type), key_bits, "TOKEN", &skeleton).ok(&mut processor);
                let key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
                let request = export(algorithm(*key_type), hash, &key, &tokens.public).points(weak());
                let reply = request.ok(&mut processor);
                let external = exported(&reply);
                assert_eq!(
                    reply.integer(wire::verb::symmetric_key_export::RSA_ENCIPHERED_KEY_LENGTH),
                    external.len() as i64
                );
                let head = parsed(&external).head();
                let secret = unwrapped(&aes_key(false), &key).unwrap();
                let expected = [&sha256(&head[30..])[..], &(key_bits as u16).to_be_bytes(), &secret].concat();
                assert_eq!(opened(rsa(bits), number, &external[head.len()..]), expected, "{key_type:?}");
                assert_eq!(external[..30][..10], [2, 0, external[2], external[3], 5, 0, 0, 0, 2, 0]);
                assert_eq!(external[10..30], [&[0; 16][..], &[3, number, key[28], 0]].concat());

                let back = import(algorithm(*key_type), &external, &tokens.transport).points(weak());
                let back = imported(&back.ok(&mut processor));
                assert_eq!(unwrapped(&aes_key(false), &back).unwrap(), secret);
                let (was, is) = (parsed(&key).attributes().clone(), parsed(&back).attributes().clone());
                let weaker = key_bits > 128 || bits < 3072;
                let was = if weaker { was.weakened() } else { was };
                // How the key came to be, its sender claims.
                let was = was.made(Pedigree::Unknown, Completeness::Complete).from_anyone();
                assert_eq!(is, was, "{key_type:?} of {key_bits} bits");
                assert_eq!(parsed(&back).payload_version(), parsed(&key).payload_version());
            }
        }
    }
}

#[test]
fn tokens_that_another_library_made_come_in() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(2048));
    for (hash, number) in HASHES {
        for bytes in [10, 11, 13, 14] {
            let of = attributes(VariableType::Hmac, &["GENERATE", "NOEX-SYM", "NOEXUASY"]);
            let external = made(rsa(2048), number, &of, &text(bytes));
            let back = imported(&import("HMAC", &external, &tokens.transport).ok(&mut processor));
            assert_eq!(parsed(&back).attributes(), &of.clone().from_anyone(), "{hash}");
            // What comes in and may not go out stays, under whatever key.
            export("HMAC", hash, &back, &tokens.public).refused(&mut processor, code::KEY_USAGE);
        }
    }
    let longest = rsa(3072).size() as usize - 2 * 20 - 2 - 34;
    let tokens = Tokens::new(&mut processor, rsa(3072));
    for bytes in [15, 16, 255, 256] {
        assert!(bytes <= longest);
        let external = made(rsa(3072), 1, &attributes(VariableType::Hmac, &["VERIFY"]), &text(bytes));
        import("HMAC", &external, &tokens.transport).points(weak()).ok(&mut processor);
    }
    // Its own name is replaced by one that is given; the clear key of the caller opens as well.
    let of = attributes(VariableType::Cipher, &[]).with_user_data(b"theirs").unwrap();
    let external = made(rsa(3072), 2, &of, &text(16));
    let name = wire::Label::new("A.NAME").unwrap().to_field();
    let request = import("AES", &external, &tokens.clear).counted(
        wire::verb::symmetric_key_import2::USER_MOD_DATA_LENGTH,
        wire::verb::symmetric_key_import2::USER_MOD_DATA,
        name,
    );
    let back = imported(&request.ok(&mut processor));
    assert_eq!(parsed(&back).attributes(), &of.named(Some(name)).from_anyone());
}

/// Raw RSA of a number.
pub fn power(key: &Rsa<Private>, block: &[u8]) -> Vec<u8> {
    let mut context = BigNumContext::new().unwrap();
    let mut out = BigNum::new().unwrap();
    out.mod_exp(&BigNum::from_slice(block).unwrap(), key.e(), key.n(), &mut context).unwrap();
    out.to_vec_padded(key.size().cast_signed()).unwrap()
}

/// Blocks that a distinguisher would send: whatever is wrong with them, the answer is the same.
#[test]
fn what_is_wrong_with_a_block_is_not_told() {
    let mut processor = processor();
    let key = rsa(2048);
    let (bytes, of) = (256, attributes(VariableType::Hmac, &["GENERATE"]));
    let tokens = Tokens::new(&mut processor, key);
    let good = message(&of, 2, bytes, &text(12));
    let with = |at: usize, change: u8| {
        let mut message = good.clone();
        message[at] ^= change;
        message
    };
    let mut messages = vec![
        Vec::new(),
        good[..31].to_vec(),
        good[..33].to_vec(),
        good[..34].to_vec(),
        good[..good.len() - 1].to_vec(),
        [&good[..], &[0]].concat(),
        good[34..].to_vec(),
        // Lengths that the type does not have, told as they are.
        message(&of, 2, bytes, &text(9)),
        message(&of, 2, bytes, &[]),
        // Of another token: another use, another type, another hash, another modulus.
        message(&attributes(VariableType::Hmac, &["VERIFY"]), 2, bytes, &text(12)),
        message(&attributes(VariableType::Cipher, &[]), 2, bytes, &text(16)),
        message(&of, 2, bytes - 1, &text(12)),
    ];
    messages.extend((0..34).map(|at| with(at, 1 << (at % 8))));
    let mut blocks: Vec<_> = messages.iter().map(|message| sealed(key, 2, &[], message)).collect();
    blocks.push(sealed(key, 2, b"a label", &good));
    blocks.push(sealed(key, 1, &[], &good));
    let mut other = vec![0; bytes];
    key.public_encrypt(&good, &mut other, Padding::PKCS1).unwrap();
    blocks.push(other);
    blocks.push(sealed(&Rsa::generate(2048).unwrap(), 2, &[], &good));
    // Manger's: numbers of the length of the modulus, and shorter by a byte, by two.
    for zeros in 0..3 {
        let mut block = vec![0x5A; bytes];
        block[..zeros].fill(0);
        if zeros == 0 {
            block[0] = 1;
        }
        blocks.push(power(key, &block));
    }
    blocks.extend([vec![0; bytes], [&vec![0; bytes - 1][..], &[1]].concat(), vec![0xFF; bytes]]);
    blocks.push(key.n().to_vec());
    let sealed_good = sealed(key, 2, &[], &good);
    for at in (0..bytes).step_by(17) {
        let mut changed = sealed_good.clone();
        changed[at] ^= 0x10;
        blocks.push(changed);
    }
    for block in blocks.into_iter().filter(|block| block.len() == bytes) {
        let external = token(&of, 2, block).to_bytes();
        import("HMAC", &external, &tokens.transport).refused(&mut processor, code::RSA_BLOCK);
    }
    for length in [64, bytes - 1, bytes + 1] {
        let external = token(&of, 2, vec![1; length]).to_bytes();
        import("HMAC", &external, &tokens.transport).refused(&mut processor, code::RSA_BLOCK);
    }
    let external = token(&of, 2, sealed_good).to_bytes();
    import("HMAC", &external, &tokens.transport).ok(&mut processor);
}

#[test]
fn every_changed_byte_and_length_of_a_token_is_refused() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let key = generated2(&mut processor, "AES", 128, &["CIPHER", "ENCRYPT"]);
    let external = exported(&export("AES", "SHA-256", &key, &tokens.public).ok(&mut processor));
    let head = parsed(&external).head().len();
    for index in (0..head).chain((head..external.len()).step_by(31)) {
        for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
            let mut changed = external.clone();
            changed[index] ^= change;
            let reply = import("AES", &changed, &tokens.transport).run(&mut processor);
            if reply.codes == code::OK && index == 28 {
                // The version of the payload that the key has here is not bound to it, as by AESKW: nothing else
                // differs.
                assert_eq!(parsed(&imported(&reply)).payload_version(), PayloadVersion::Fixed);
                continue;
            }
            assert_eq!(reply.codes.return_code, 8, "byte {index} xor {change:02X}");
            assert!(imported(&reply).is_empty());
        }
    }
    for length in (0..head).chain([external.len() - 1]) {
        let reply = import("AES", &external[..length], &tokens.transport).run(&mut processor);
        assert_eq!(reply.codes.return_code, 8, "{length}");
    }
}

#[test]
fn only_what_may_leave_under_rsa_keys_leaves() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    for (keywords, may) in [
        (&[][..], true),
        (&["XPRTUASY", "NOEX-SYM", "NOEX-AES", "NOEX-DES", "NOEXAASY"], true),
        (&["NOEXUASY"], false),
        (&["NOEX-RSA"], false),
        (&["NOEXUASY", "XPRT-SYM", "XPRTAASY", "XPRT-RAW", "XPRTCPAC"], false),
    ] {
        let key = generated2(&mut processor, "AES", 128, &[&["CIPHER"], keywords].concat());
        let request = export("AES", "SHA-1", &key, &tokens.public);
        if may { drop(request.ok(&mut processor)) } else { request.refused(&mut processor, code::KEY_USAGE) }
    }
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
    for least in ["MIN1PART", "MIN2PART", "MIN3PART"] {
        let first = part2("AES", &["FIRST", least], &text(16), &skeleton);
        let part = first.ok(&mut processor).bytes(wire::verb::key_part_import2::KEY_IDENTIFIER);
        export("AES", "SHA-1", &part, &tokens.public).refused(&mut processor, code::KEY_USAGE);
    }
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let external = exported(&export("AES", "SHA-1", &key, &tokens.public).ok(&mut processor));
    let clear = parsed(&skeleton).with_clear_key(&text(16)).unwrap().to_bytes().to_vec();
    let fixed = verb_requests::support::imported(&mut processor, "AES", &text(16));
    for source in [&clear, &skeleton, &external, &fixed] {
        export("AES", "SHA-1", source, &tokens.public).refused(&mut processor, code::TOKEN_INVALID);
    }
    export("HMAC", "SHA-1", &key, &tokens.public).refused(&mut processor, code::TOKEN_INVALID);
    for other in [&key, &external, &fixed, &vec![0; 64]] {
        export("AES", "SHA-1", &key, other).refused(&mut processor, code::TOKEN_INVALID);
        import("AES", &external, other).refused(&mut processor, code::TOKEN_INVALID);
    }
    for source in [&clear, &skeleton, &key, &fixed] {
        import("AES", source, &tokens.transport).refused(&mut processor, code::TOKEN_INVALID);
    }
    import("HMAC", &external, &tokens.transport).refused(&mut processor, code::TOKEN_INVALID);
    // An AES key-encrypting key opens no token under an RSA key, and the other way round.
    let keks = super::exchange::Keks::new(&mut processor, &verb_requests::uses::ways::AES_TRANSPORT);
    import2("AES", &external, &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
    let under = exported(&export2("AES", &key, &keks.exporter).ok(&mut processor));
    import("AES", &under, &tokens.transport).refused(&mut processor, code::TOKEN_INVALID);
    for least in [Completeness::Sufficient, Completeness::OneMissing] {
        let of = attributes(VariableType::Cipher, &[]).made(Pedigree::ClearParts, least);
        let external = made(rsa(3072), 2, &of, &text(16));
        import("AES", &external, &tokens.transport).refused(&mut processor, code::KEY_USAGE);
    }
}

/// A key that also deciphers data would show what it imports, and no other verb opens what was sealed for keys.
#[test]
fn the_rsa_key_must_be_for_keys_alone() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let external = exported(&export("AES", "SHA-1", &key, &tokens.public).ok(&mut processor));
    let both = with_points(&[Point::DecipherBoth]);
    import("AES", &external, &tokens.management).refused(&mut processor, code::KEY_USAGE);
    import("AES", &external, &tokens.signing).refused(&mut processor, code::KEY_USAGE);
    import("AES", &external, &tokens.signing).points(both).refused(&mut processor, code::KEY_USAGE);
    import("AES", &external, &tokens.management).points(both).ok(&mut processor);

    let payload = &external[parsed(&external).head().len()..];
    let decrypted = Request::new(Verb::PkaDecrypt)
        .rules(&["PKCSOAEP", "SHA-1"])
        .counted(pka_decrypt::ENCIPHERED_KEY_LENGTH, pka_decrypt::ENCIPHERED_KEY, payload)
        .counted(pka_decrypt::RSA_PRIVATE_KEY_LENGTH, pka_decrypt::RSA_PRIVATE_KEY, &tokens.transport)
        .integer(pka_decrypt::KEY_VALUE_LENGTH, 400);
    decrypted.refused(&mut processor, code::KEY_USAGE);
    // As a DATA key, free of its attributes, it does not come in either: the block is longer than any.
    use symmetric_key_import as syi;
    for algorithm in ["AES", "DES"] {
        let request = Request::new(Verb::SymmetricKeyImport)
            .rules(&[algorithm, "PKCSOAEP", "SHA-1"])
            .counted(syi::RSA_ENCIPHERED_KEY_LENGTH, syi::RSA_ENCIPHERED_KEY, payload)
            .counted(syi::RSA_PRIVATE_KEY_IDENTIFIER_LEN, syi::RSA_PRIVATE_KEY_IDENTIFIER, &tokens.transport)
            .counted(syi::TARGET_KEY_IDENTIFIER_LENGTH, syi::TARGET_KEY_IDENTIFIER, [0; 64]);
        request.refused(&mut processor, code::RSA_BLOCK);
    }
}

#[test]
fn a_key_goes_under_no_weaker_rsa_key_unless_the_role_says_so() {
    let mut processor = processor();
    let (out, back) = (with_points(&[Point::WeakTransport]), with_points(&[Point::WeakImport]));
    for (rsa_bits, name, bits, is_weak) in [
        (1024, "HMAC", 80, false),
        (1024, "HMAC", 88, true),
        (2048, "HMAC", 112, false),
        (2048, "HMAC", 120, true),
        (2048, "AES", 128, true),
        (3072, "AES", 128, false),
        (3072, "HMAC", 128, false),
        (3072, "HMAC", 136, true),
        (3072, "AES", 192, true),
        (3072, "AES", 256, true),
    ] {
        let tokens = Tokens::new(&mut processor, rsa(rsa_bits));
        let keywords = if name == "AES" { &["CIPHER"][..] } else { &["MAC", "GENERATE"] };
        let key = generated2(&mut processor, name, bits, keywords);
        let request = export(name, "SHA-1", &key, &tokens.public);
        if is_weak {
            request.refused(&mut processor, code::STRENGTH);
            request.clone().points(back).refused(&mut processor, code::STRENGTH);
        }
        let external = exported(&request.points(out).ok(&mut processor));
        let request = import(name, &external, &tokens.transport);
        if is_weak {
            request.refused(&mut processor, code::STRENGTH);
            request.clone().points(out).refused(&mut processor, code::STRENGTH);
        }
        let history = |token: &[u8]| parsed(token).attributes().management()[1];
        assert_eq!(history(&external), if is_weak { 0x04 } else { 0 });
        let back = imported(&request.points(back).ok(&mut processor));
        assert_eq!(history(&back), if is_weak { 0x14 } else { 0x10 });
    }
    // A modulus that is too short for its message.
    let tokens = Tokens::new(&mut processor, rsa(1024));
    let key = generated2(&mut processor, "HMAC", 80, &["MAC", "GENERATE"]);
    export("HMAC", "SHA-512", &key, &tokens.public).refused(&mut processor, code::TEXT_LENGTH);
}

#[test]
fn old_foreign_and_missing_master_keys() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let old = generate2("AES", 128, "CIPHER", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let old = old.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let external = export("AES", "SHA-256", &old, &tokens.public);
    let external = exported(&external.answers(&mut processor, code::OLD_MASTER_KEY));
    let request = import("AES", &external, &tokens.transport);
    request.ok(&mut processor);
    request.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    request.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    let new = imported(&request.ok(&mut processor));
    let request = export("AES", "SHA-256", &new, &tokens.public);
    request.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    request.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

#[test]
fn keywords_and_room() {
    use wire::verb::symmetric_key_export::{RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH};
    use wire::verb::symmetric_key_import2::{TARGET_KEY_IDENTIFIER, TARGET_KEY_IDENTIFIER_LENGTH};
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let request = export("AES", "SHA-256", &key, &tokens.public);
    for words in [
        &["PKOAEP2", "SHA-256"][..],
        &["DES", "PKOAEP2", "SHA-256"],
        &["AES", "PKOAEP2"],
        &["AES", "PKOAEP2", "SHA-224"],
        &["AES", "PKOAEP2", "AESKW"],
    ] {
        request.clone().rules(words).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    let external = exported(&request.ok(&mut processor));
    let length = external.len() as i64;
    let room = |request: &Request, at, room| request.clone().integer(at, room);
    assert_eq!(
        room(&request, RSA_ENCIPHERED_KEY_LENGTH, length).ok(&mut processor).bytes(RSA_ENCIPHERED_KEY).len()
            as i64,
        length
    );
    room(&request, RSA_ENCIPHERED_KEY_LENGTH, length - 1).refused(&mut processor, code::BUFFER_TOO_SMALL);
    let request = import("AES", &external, &tokens.transport);
    let length = imported(&request.ok(&mut processor)).len() as i64;
    assert_eq!(
        room(&request, TARGET_KEY_IDENTIFIER_LENGTH, length)
            .ok(&mut processor)
            .bytes(TARGET_KEY_IDENTIFIER)
            .len() as i64,
        length
    );
    room(&request, TARGET_KEY_IDENTIFIER_LENGTH, length - 1).refused(&mut processor, code::BUFFER_TOO_SMALL);
    request.clone().rules(&["AES", "PKOAEP2", "USECONFG"]).refused(&mut processor, code::KEYWORD);
    request.clone().rules(&["DES", "PKOAEP2"]).refused(&mut processor, code::KEYWORD);
}
