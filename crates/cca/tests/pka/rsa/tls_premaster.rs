//! TLS premaster secrets: enciphered by OpenSSL, and every ciphertext that an attacker of RFC 5246, section 7.4.7.1,
//! sends.

use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use std::collections::HashSet;
use verb_requests::pka::*;
use wire::frame::Arguments;
use wire::point::PointSet;
use wire::role::BuiltIn;
use wire::verb::{
    Filled, KeyAlgorithm, Room, RsaFormat, TransportFormat, TypedAsk, pka_decrypt as pkd,
    symmetric_key_import as syi, tls_premaster as premaster,
};
use wire::{Codes, code};

const SECRET: usize = 48;

fn request<'a>(key: &'a [u8], ciphertext: &'a [u8]) -> premaster::Ask<'a> {
    premaster::Ask { encrypted_premaster: ciphertext, rsa_private_key: key.into(), ..premaster::Ask::new() }
}

fn opened(processor: &mut cca::Processor, key: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Codes> {
    let (request, mut filled) = (request(key, ciphertext), Filled::default());
    let (codes, output) = ask(processor, &request.arguments(&mut filled), premaster::PREMASTER_SECRET);
    if codes == code::OK { Ok(output) } else { Err(codes) }
}

fn sealed(key: &Rsa<Private>, value: &[u8]) -> Vec<u8> {
    let mut out = vec![0; key.size() as usize];
    key.public_encrypt(value, &mut out, Padding::PKCS1).unwrap();
    out
}

/// A block as it is, deciphered by the key to itself.
fn raw(key: &Rsa<Private>, block: &[u8]) -> Vec<u8> {
    let mut out = vec![0; key.size() as usize];
    key.public_encrypt(block, &mut out, Padding::NONE).unwrap();
    out
}

fn secret(seed: u8) -> Vec<u8> {
    let random = (0..46u8).map(|at| at.wrapping_mul(seed | 1) ^ seed);
    [3, 3].into_iter().chain(random).collect()
}

#[test]
fn secrets_that_openssl_enciphered_come_out() {
    let mut processor = processor();
    for bits in [1024, 1025, 2048] {
        let key = openssl_key(bits);
        let value = secret(7);
        let ciphertext = sealed(key, &value);
        for kind in ["RSA-AESC", "RSA-AESM", "RSA-CRT"] {
            let token = internal_token(&mut processor, kind, "TLS-ONLY", key);
            assert_eq!(opened(&mut processor, &token, &ciphertext), Ok(value.clone()), "{kind} {bits}");
        }
        let clear = clear_token(&mut processor, "RSA-CRT", "TLS-ONLY", key);
        assert_eq!(opened(&mut processor, &clear, &ciphertext), Ok(value.clone()));
    }
}

/// Blocks that are none of a premaster secret, by what is wrong with them.
fn wrong_blocks(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let good = [&[0, 2][..], &vec![0xA5; bytes - 3 - SECRET], &[0], &secret(9)].concat();
    let with = |at: usize, byte: u8| {
        let mut block = good.clone();
        block[at] = byte;
        block
    };
    vec![
        ("type 1", with(1, 1)),
        ("type 0", with(1, 0)),
        ("a zero in the first eight bytes", with(4, 0)),
        ("a zero in the padding: a longer secret", with(40, 0)),
        ("47 bytes", {
            let mut block = with(bytes - SECRET - 1, 0xA5);
            block[bytes - SECRET] = 0;
            block
        }),
        ("no zero", with(bytes - SECRET - 1, 1)),
        ("nothing", vec![0; bytes]),
        ("the number one", [vec![0; bytes - 1], vec![1]].concat()),
    ]
}

#[test]
fn whatever_comes_is_answered_by_48_bytes() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let token = internal_token(&mut processor, "RSA-AESC", "TLS-ONLY", key);
    let mut ciphertexts: Vec<(String, Vec<u8>)> =
        wrong_blocks(128).iter().map(|(what, block)| ((*what).to_owned(), raw(key, block))).collect();
    for length in [0, 1, 47, 48, 127, 129, 256, 512] {
        ciphertexts.push((format!("{length} bytes"), vec![1; length]));
    }
    for value in [number(key.n()), vec![0xFF; 128]] {
        ciphertexts.push(("not below the modulus".to_owned(), value));
    }
    // Lengths that TLS does not allow for the secret itself.
    for length in [0, 1, 47, 49, 117] {
        ciphertexts.push((format!("a secret of {length} bytes"), sealed(key, &vec![3; length])));
    }
    let mut seen = HashSet::new();
    for (what, ciphertext) in &ciphertexts {
        let first =
            opened(&mut processor, &token, ciphertext).unwrap_or_else(|codes| panic!("{what}: {codes}"));
        assert_eq!(first.len(), SECRET, "{what}");
        // Equal each time, or two answers would tell that it is a substitute.
        assert_eq!(opened(&mut processor, &token, ciphertext).as_ref(), Ok(&first), "{what}");
        assert!(!first.starts_with(&secret(9)[..24]) && first != vec![0; SECRET], "{what}");
        assert!(seen.insert(first), "{what}: one substitute for two ciphertexts");
    }
    // Another key has other substitutes for the same bytes.
    let other = internal_token(&mut processor, "RSA-AESC", "TLS-ONLY", openssl_key(2048));
    let ciphertext = &ciphertexts[8].1;
    assert_ne!(opened(&mut processor, &token, ciphertext), opened(&mut processor, &other, ciphertext));
}

/// Bleichenbacher's question, whether `ciphertext * s^e` is well formed, asked by somebody who may use the key: of
/// blocks whose content he does not know no answer shows it, neither by itself nor by its repetition.
#[test]
fn a_caller_of_the_key_has_no_oracle() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let token = internal_token(&mut processor, "RSA-AESC", "TLS-ONLY", key);
    let (mut of_good, mut of_bad) = (Vec::new(), Vec::new());
    for seed in 0..200u32 {
        // The contents are random to the caller: hashes of what only the test knows.
        let filler: Vec<u8> = (0..4)
            .flat_map(|part: u8| openssl::sha::sha256(&[&seed.to_be_bytes()[..], &[part]].concat()))
            .map(|byte| byte.max(1))
            .collect();
        let mut good = [&[0, 2][..], &filler[..126]].concat();
        good[128 - SECRET - 1] = 0;
        let mut bad = good.clone();
        bad[1] = 1;
        for (block, answers) in [(&good, &mut of_good), (&bad, &mut of_bad)] {
            let ciphertext = raw(key, block);
            let first = opened(&mut processor, &token, &ciphertext).unwrap();
            assert_eq!(opened(&mut processor, &token, &ciphertext).unwrap(), first);
            let well_formed = first == block[128 - SECRET..];
            assert_eq!(well_formed, block[1] == 2, "the test knows what the caller does not");
            answers.push(first);
        }
    }
    // Bytes of both are as random: no bit is set oftener in one kind than chance has it (six standard deviations).
    for bit in 0..8 * SECRET {
        let set = |answers: &[Vec<u8>]| {
            answers.iter().filter(|answer| answer[bit / 8] >> (bit % 8) & 1 == 1).count() as i64
        };
        let (good, bad) = (set(&of_good), set(&of_bad));
        assert!((good - bad).abs() < 60, "bit {bit}: {good} and {bad} of 200");
    }
}

#[test]
fn only_a_key_made_for_it_opens_secrets_and_it_opens_nothing_else() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let ciphertext = sealed(key, &secret(3));
    for usage in ["SIG-ONLY", "KEY-MGMT", "KM-ONLY"] {
        let token = internal_token(&mut processor, "RSA-AESC", usage, key);
        assert_eq!(opened(&mut processor, &token, &ciphertext), Err(code::KEY_USAGE), "{usage}");
        let token = clear_token(&mut processor, "RSA-CRT", usage, key);
        assert_eq!(opened(&mut processor, &token, &ciphertext), Err(code::KEY_USAGE), "clear {usage}");
    }
    // Not even in a role that lets one key do everything.
    let token = internal_token(&mut processor, "RSA-AESC", "TLS-ONLY", key);
    let every = &PointSet::EVERYTHING;
    for format in [RsaFormat::Pkcs1, RsaFormat::Oaep, RsaFormat::ZeroPad] {
        let codes = decrypt_as(&mut processor, every, format, &token, &ciphertext);
        assert_eq!(codes, code::KEY_USAGE, "{format:?}");
    }
    assert_eq!(import_as(&mut processor, every, &token, &ciphertext), code::KEY_USAGE);
    // Two signatures over any data are the private operation on any block.
    let digest_info = [engine::digest_info_prefix(engine::HashAlgorithm::Sha256), &[7; 32]].concat();
    let salted = [&32u32.to_be_bytes()[..], &[7; 32]].concat();
    for (words, data, signs) in [
        (&["PKCS-1.1"][..], &digest_info[..], true),
        (&["PKCS-PSS", "SHA-256"], &salted, true),
        (&["PKCS-1.1"], &[7; 32], false),
        (&["PKCS-1.0"], &[7; 32], false),
        (&["ZERO-PAD"], &[7; 32], false),
    ] {
        let expected = if signs { code::OK } else { code::KEY_USAGE };
        for points in [OWNER, every] {
            assert_eq!(sign_as(&mut processor, points, words, &token, data), expected, "{words:?}");
        }
    }
}

#[test]
fn a_server_of_tls_has_the_verbs_that_it_needs() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let token = internal_token(&mut processor, "RSA-AESC", "TLS-ONLY", key);
    let server =
        |name: &str| -> &'static PointSet { Box::leak(Box::new(BuiltIn::from_name(name).unwrap().points)) };
    let salted = [&32u32.to_be_bytes()[..], &[7; 32]].concat();
    let ciphertext = sealed(key, &secret(5));
    let points = server("tls-server");
    assert_eq!(sign_as(&mut processor, points, &["PKCS-PSS", "SHA-256"], &token, &salted), code::OK);
    assert_eq!(asked_as(&mut processor, points, &request(&token, &ciphertext)), code::OK);
    let refused = decrypt_as(&mut processor, points, RsaFormat::Pkcs1, &token, &ciphertext);
    assert_eq!(refused, code::ACCESS_DENIED);
    let refused = asked_as(&mut processor, server("guest"), &request(&token, &ciphertext));
    assert_eq!(refused, code::ACCESS_DENIED);
    assert_eq!(asked_as(&mut processor, server("trusted"), &request(&token, &ciphertext)), code::OK);
}

fn answer_as(processor: &mut cca::Processor, points: &PointSet, arguments: &Arguments<'_>) -> Codes {
    let verb = arguments.verb();
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).unwrap();
    if !points.permits(verb.entry().point) {
        return code::ACCESS_DENIED;
    }
    let mut batch = cca::Batch::new();
    batch.push(&cca::Incoming { verb, domain: 0, points, payload: &payload }).unwrap();
    processor.run(&mut batch);
    batch.answers()[0].codes
}

fn asked_as(processor: &mut cca::Processor, points: &PointSet, ask: &impl TypedAsk) -> Codes {
    answer_as(processor, points, &ask.arguments(&mut Filled::default()))
}

fn decrypt_as(
    processor: &mut cca::Processor,
    points: &PointSet,
    format: RsaFormat,
    key: &[u8],
    block: &[u8],
) -> Codes {
    let request = pkd::Ask {
        enciphered_key: block,
        rsa_private_key: key.into(),
        key_value: CAPACITY as usize,
        ..pkd::Ask::new(format)
    };
    asked_as(processor, points, &request)
}

fn import_as(processor: &mut cca::Processor, points: &PointSet, key: &[u8], block: &[u8]) -> Codes {
    let request = syi::Ask {
        algorithm: Some(KeyAlgorithm::Aes),
        rsa_enciphered_key: block,
        rsa_private_key_identifier: key.into(),
        target_key_identifier: Room::from(&[0; 64][..]),
        ..syi::Ask::new(TransportFormat::Pkcs1)
    };
    asked_as(processor, points, &request)
}

fn sign_as(
    processor: &mut cca::Processor,
    points: &PointSet,
    words: &[&str],
    key: &[u8],
    data: &[u8],
) -> Codes {
    let rules = keywords(words);
    answer_as(processor, points, &sign_arguments(words.len(), &rules, key, data))
}

#[test]
fn the_keyword_is_for_rsa_pairs() {
    let mut processor = processor();
    for kind in ["ECC-PAIR", "ECC-PUBL", "RSA-PUBL"] {
        let refused = token_build(&mut processor, &[kind, "TLS-ONLY"], &[], &[]).unwrap_err();
        assert_eq!(refused, code::KEYWORD_COMBINATION, "{kind}");
    }
}
