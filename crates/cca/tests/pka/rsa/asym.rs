//! Internal X'08' tokens, under the ASYM master key: written and read by OpenSSL as the layout says, and forged.

use openssl::rsa::{Padding, Rsa};
use openssl::sha::{sha1, sha256};
use openssl::symm::{Cipher, Crypter, Mode};
use token::pka::{Form, PkaToken, Source, Usage};
use verb_requests::pka::*;
use wire::control::{Register, TokenForm, TokenForms};
use wire::verb::{
    Filled, PrivateKeyTranslation, Room, TokenChange, TypedAsk, pka_key_token_change as ktc,
    pka_key_translate as pkt,
};
use wire::{Codes, code};

const FORMAT: usize = 8 + 28;
const SOURCE: usize = 8 + 29;
const USAGE: usize = 8 + 50;
const PATTERN: usize = 8 + 76;
const OPK: usize = 8 + 92;
const VALUES: usize = 8 + 124;

/// Makes and takes compatible tokens.
const COMPATIBLE: TokenForms = TokenForms { form: TokenForm::Compatible, open_compatible: true };

fn compatible() -> cca::Processor {
    let mut processor = processor();
    processor.set_token_forms(COMPATIBLE);
    processor
}

/// The DigestInfo of a SHA-256 value: keys that also decipher sign nothing without structure.
fn digest_info() -> Vec<u8> {
    let head = [0x30, 0x31, 0x30, 0x0D, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20];
    [&head[..], &sha256(b"a text")].concat()
}

/// TDES in outer CBC, without an initialization vector.
fn tdes(key: &[u8], mode: Mode, text: &[u8]) -> Vec<u8> {
    let mut crypter = Crypter::new(Cipher::des_ede3_cbc(), mode, key, Some(&[0; 8])).unwrap();
    crypter.pad(false);
    let mut out = vec![0; text.len() + 8];
    let length = crypter.update(text, &mut out).unwrap();
    out.truncate(length);
    out
}

fn master_key() -> Vec<u8> {
    handout(0, &[1, 2, 3, 4], &[0; 4]).keys[Register::Asym as usize].current.clone()
}

fn token_change(processor: &mut cca::Processor, token: &[u8]) -> (Codes, Vec<u8>) {
    let mut field = token.to_vec();
    field.resize(CAPACITY as usize, 0);
    let request = ktc::Ask { key_identifier: (&field).into(), ..ktc::Ask::new(TokenChange::Current) };
    ask(processor, &request.arguments(&mut Filled::default()), ktc::KEY_IDENTIFIER)
}

/// The token of a key as the layout says, written without the cards.
fn written(key: &Rsa<openssl::pkey::Private>, usage: u8, source: u8, opk: &[u8; 24]) -> Vec<u8> {
    let mut processor = processor();
    let mut token = clear_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    let values_end = token.len() - public_bytes(&token) - key.size() as usize;
    token[0] = 0x1F;
    (token[FORMAT], token[SOURCE], token[USAGE]) = (0x08, source, usage);
    let engine = engine::Engine::new(engine::Options::default()).unwrap();
    let pattern = cca::patterns::master_key_pattern(&engine, Register::Asym, &master_key());
    token[PATTERN..OPK].copy_from_slice(pattern.bytes());
    let field = tdes(&master_key(), Mode::Encrypt, &[&[0x3C; 8][..], opk].concat());
    token[OPK..VALUES].copy_from_slice(&field);
    token[VALUES..VALUES + 8].fill(0x5A);
    let private_end = token.len() - public_bytes(&token);
    let hash = sha1(&token[FORMAT..private_end]);
    token[8 + 4..8 + 24].copy_from_slice(&hash);
    let enciphered = tdes(opk, Mode::Encrypt, &token[VALUES..values_end]);
    token[VALUES..values_end].copy_from_slice(&enciphered);
    token
}

/// Length of what follows the private section.
fn public_bytes(token: &[u8]) -> usize {
    token.len() - 8 - usize::from(u16::from_be_bytes([token[10], token[11]]))
}

const SECRET: [u8; 24] = *b"opk-one-opk-two-opk-thre";

#[test]
fn a_compatible_home_makes_tokens_of_the_asym_master_key() {
    let mut processor = compatible();
    for bits in [1024, 2048] {
        let key = openssl_key(bits);
        let clear = clear_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
        let skeleton = token_build(
            &mut processor,
            &["RSA-CRT", "KEY-MGMT"],
            &generate_structure(bits as i32, true),
            &[],
        )
        .unwrap();
        let imported = key_import(&mut processor, &clear).unwrap();
        let generated = key_generate(&mut processor, &["MASTER"], &skeleton).unwrap();
        for (token, source) in [(&imported, Source::ExternalClear), (&generated, Source::Random)] {
            let view = PkaToken::parse(token, &(sha1, sha256)).unwrap();
            let private = view.private().unwrap();
            assert_eq!((private.form, private.source), (Form::Crt, Some(source)));
            // What it holds, opened without the cards.
            let field = tdes(&master_key(), Mode::Decrypt, &token[OPK..VALUES]);
            let private_end = token.len() - public_bytes(token);
            let values_end = private_end - view.modulus().len();
            let values = tdes(&field[8..], Mode::Decrypt, &token[VALUES..values_end]);
            let cleartext = [&token[FORMAT..VALUES], &values, view.modulus()].concat();
            assert_eq!(sha1(&cleartext), token[8 + 4..8 + 24]);
            let half = view.modulus().len() / 2;
            let [p, q] = [0, 1].map(|at| {
                openssl::bn::BigNum::from_slice(&values[8 + at * half..8 + (at + 1) * half]).unwrap()
            });
            assert_eq!((&p * &q).to_vec(), view.modulus(), "p and q of {bits} bits");
            // And what it does.
            let signature = sign(&mut processor, &["PKCS-1.1"], token, &digest_info()).unwrap();
            assert_eq!(verify(&mut processor, &["PKCS-1.1"], token, &digest_info(), &signature), code::OK);
        }
        let mut sealed = vec![0; key.size() as usize];
        key.public_encrypt(b"text", &mut sealed, Padding::PKCS1).unwrap();
        assert_eq!(decrypt(&mut processor, &["PKCS-1.2"], &imported, &sealed).unwrap(), b"text");
        let again = key_import(&mut processor, &clear).unwrap();
        assert_ne!(again[OPK..], imported[OPK..], "another object protection key each time");
        // X'31' stays what it is.
        let clear = clear_token(&mut processor, "RSA-AESC", "KEY-MGMT", key);
        let token = key_import(&mut processor, &clear).unwrap();
        let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
        assert_eq!(view.private().unwrap().form, Form::CrtAes);
    }
    // Without the master key there is none.
    let mut processor = with_keys(true, &[1, 0, 3, 4], &[0; 4]);
    processor.set_token_forms(COMPATIBLE);
    let skeleton =
        token_build(&mut processor, &["RSA-CRT", "KEY-MGMT"], &generate_structure(1024, true), &[]).unwrap();
    assert_eq!(key_generate(&mut processor, &["MASTER"], &skeleton), Err(code::MASTER_KEY_NOT_LOADED));
}

#[test]
fn tokens_from_elsewhere_serve_where_compatible_ones_open() {
    let key = openssl_key(1024);
    let token = written(key, 0x80, 0x21, &SECRET);
    for form in [TokenForm::Compatible, TokenForm::Authenticated] {
        let mut processor = processor();
        processor.set_token_forms(TokenForms { form, open_compatible: true });
        let signature = sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()).unwrap();
        let mut opened = vec![0; signature.len()];
        let length = key.public_decrypt(&signature, &mut opened, Padding::PKCS1).unwrap();
        assert!(opened[..length] == digest_info());
        // Also those that are prepared already.
        processor.set_token_forms(TokenForms { form, open_compatible: false });
        assert_eq!(sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()), Err(code::TOKEN_VERSION));
        let public = public_key_extract(&mut processor, &token, CAPACITY).unwrap();
        assert_eq!(PkaToken::parse(&public, &(sha1, sha256)).unwrap().modulus(), number(key.n()));
    }
    // Of a usage that the key has not it is refused, as every other token.
    let mut processor = compatible();
    let token = written(key, 0xC0, 0x21, &SECRET);
    assert_eq!(sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()), Err(code::KEY_USAGE));
}

#[test]
fn no_byte_of_a_token_can_be_another() {
    let mut processor = compatible();
    let key = openssl_key(1024);
    let token = written(key, 0x80, 0x21, &SECRET);
    sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()).unwrap();
    for at in 0..token.len() {
        let mut wrong = token.clone();
        wrong[at] ^= 0x40;
        assert!(sign(&mut processor, &["PKCS-1.1"], &wrong, &digest_info()).is_err(), "byte {at}");
    }
    for length in [0, 8, 131, token.len() - 1] {
        assert!(sign(&mut processor, &["PKCS-1.1"], &token[..length], &digest_info()).is_err(), "{length}");
    }
    // Whatever does not open is one refusal.
    for at in [OPK, OPK + 31, VALUES, VALUES + 40, 8 + 4] {
        let mut wrong = token.clone();
        wrong[at] ^= 1;
        assert_eq!(
            sign(&mut processor, &["PKCS-1.1"], &wrong, &digest_info()),
            Err(code::TOKEN_INVALID),
            "{at}"
        );
    }
    // What was enciphered for one token does not open another.
    let other = written(&Rsa::generate(1024).unwrap(), 0x80, 0x21, b"another-object-protectio");
    for part in [OPK..VALUES, VALUES..VALUES + 8, 8 + 4..8 + 24] {
        let mut wrong = token.clone();
        wrong[part.clone()].copy_from_slice(&other[part]);
        assert_eq!(sign(&mut processor, &["PKCS-1.1"], &wrong, &digest_info()), Err(code::TOKEN_INVALID));
    }
    // Nor does a wider usage, by one who does not know the private key.
    for usage in [0x00, 0xC0, 0x82] {
        let mut wider = token.clone();
        wider[USAGE] = usage;
        let hash = sha1(&wider[FORMAT..wider.len() - public_bytes(&wider)]);
        wider[8 + 4..8 + 24].copy_from_slice(&hash);
        assert_eq!(sign(&mut processor, &["PKCS-1.1"], &wider, &digest_info()), Err(code::TOKEN_INVALID));
    }
}

#[test]
fn tokens_follow_their_master_key() {
    let key = openssl_key(1024);
    let token = written(key, 0x80, 0x24, &SECRET);
    let old = |form| {
        let mut processor = with_keys(true, &[1, 9, 3, 4], &[0, 2, 0, 0]);
        processor.set_token_forms(TokenForms { form, open_compatible: true });
        processor
    };
    for (form, kept) in [(TokenForm::Compatible, Form::Crt), (TokenForm::Authenticated, Form::CrtAes)] {
        let mut processor = old(form);
        let rules = keywords(&["PKCS-1.1"]);
        let data = digest_info();
        let arguments = sign_arguments(1, &rules, &token, &data);
        let (codes, signature) = ask(&mut processor, &arguments, 8);
        assert_eq!(codes, code::OLD_MASTER_KEY);
        assert_eq!(verify(&mut processor, &["PKCS-1.1"], &token, &digest_info(), &signature), code::OK);
        let (codes, changed) = token_change(&mut processor, &token);
        let view = PkaToken::parse(&changed, &(sha1, sha256)).unwrap();
        let private = view.private().unwrap();
        assert_eq!((codes, private.form, private.usage), (code::OK, kept, Usage::KeyManagement));
        // That a card made these numbers, whoever knows them could have written.
        let source = if kept == Form::Crt { Source::Random } else { Source::ExternalEncrypted };
        assert_eq!(private.source, Some(source));
        sign(&mut processor, &["PKCS-1.1"], view.bytes(), &digest_info()).unwrap();
    }
    // Under the current key it stays in a home that makes its form, and becomes the stronger one in another.
    let (codes, same) = token_change(&mut compatible(), &token);
    assert_eq!((codes, same), (code::OK, Vec::new()), "the caller's field stays as it was");
    let (codes, stronger) = token_change(&mut processor(), &token);
    assert_eq!((codes, stronger[8]), (code::OK, 0x31));
    // Under a key that no register holds, one half of whose pattern is right.
    let mut unknown = token;
    for at in [PATTERN + 8, PATTERN] {
        unknown[at] ^= 1;
        let refused = sign(&mut compatible(), &["PKCS-1.1"], &unknown, &digest_info());
        assert_eq!(refused, Err(code::MASTER_KEY_MISMATCH));
    }
    let mut empty = with_keys(true, &[1, 0, 3, 4], &[0; 4]);
    empty.set_token_forms(COMPATIBLE);
    assert_eq!(sign(&mut empty, &["PKCS-1.1"], &unknown, &digest_info()), Err(code::MASTER_KEY_NOT_LOADED));
}

#[test]
fn a_token_is_translated_from_under_the_asym_master_key() {
    let key = openssl_key(1024);
    let token = written(key, 0x82, 0x24, &SECRET);
    let request = pkt::Ask {
        source_key_identifier: (&token).into(),
        target_key_token: Room::of(CAPACITY as usize),
        ..pkt::Ask::new(PrivateKeyTranslation::Internal)
    };
    let mut filled = Filled::default();
    let arguments = request.arguments(&mut filled);
    // In every home that opens such tokens, whatever it makes.
    for form in [TokenForm::Compatible, TokenForm::Authenticated] {
        let mut processor = processor();
        processor.set_token_forms(TokenForms { form, open_compatible: true });
        let (codes, translated) = ask(&mut processor, &arguments, pkt::TARGET_KEY_TOKEN);
        let view = PkaToken::parse(&translated, &(sha1, sha256)).unwrap();
        let private = view.private().unwrap();
        assert_eq!((codes, private.form, private.usage), (code::OK, Form::CrtAes, Usage::KeyManagement));
        assert_eq!((private.translatable, private.source), (true, Some(Source::ExternalEncrypted)));
        let signature = sign(&mut processor, &["PKCS-1.1"], &translated, &digest_info()).unwrap();
        let mut opened = vec![0; signature.len()];
        let length = key.public_decrypt(&signature, &mut opened, Padding::PKCS1).unwrap();
        assert_eq!(opened[..length], digest_info());
        processor.set_token_forms(TokenForms { form: TokenForm::Authenticated, open_compatible: false });
        assert_eq!(ask(&mut processor, &arguments, pkt::TARGET_KEY_TOKEN).0, code::TOKEN_VERSION);
    }
    let mut older = with_keys(true, &[1, 9, 3, 4], &[0, 2, 0, 0]);
    older.set_token_forms(COMPATIBLE);
    assert_eq!(ask(&mut older, &arguments, pkt::TARGET_KEY_TOKEN).0, code::OLD_MASTER_KEY);
}
