//! A processor with known master keys, verbs as functions, keys made by OpenSSL.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use openssl::bn::{BigNum, BigNumRef};
use openssl::pkey::Private;
use openssl::rsa::Rsa;
use std::sync::OnceLock;
use wire::Codes;
use wire::Verb;
use wire::control::{Handout, MasterKeyPair, Register};
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::role::BUILT_IN;
use wire::verb::{ExportFormat, Filled, Key, Kind, Room, RsaFormat, TransportFormat, TypedAsk};

/// An answer, or the codes of a refusal.
pub type Answered = Result<Vec<u8>, Codes>;

/// A processor with all master keys.
pub fn processor() -> Processor {
    with_keys(true, &[1, 2, 3, 4], &[0; 4])
}

/// A processor whose registers hold repetitions of these bytes; 0 leaves one empty.
pub fn with_keys(weak_algorithms: bool, current: &[u8; 4], old: &[u8; 4]) -> Processor {
    let engine = Engine::new(Options { limit: None, weak_algorithms }).unwrap();
    let mut processor = Processor::new(engine, 2);
    processor.load(&handout(0, current, old)).unwrap();
    processor
}

/// What hands over master keys of these repetitions; 0 leaves one empty.
pub fn handout(domain: u16, current: &[u8; 4], old: &[u8; 4]) -> Handout {
    let key = |register: Register, byte: u8| -> Vec<u8> {
        if byte == 0 {
            return Vec::new();
        }
        // Three different parts, so that no register holds a key of double length.
        (0..register.key_bytes()).map(|at| byte.wrapping_mul(7) ^ (at as u8).wrapping_mul(29)).collect()
    };
    let pair = |index: usize| MasterKeyPair {
        current: key(Register::ALL[index], current[index]),
        old: key(Register::ALL[index], old[index]),
    };
    Handout { domain, keys: [pair(0), pair(1), pair(2), pair(3)] }
}

/// What the owner of a home may do.
pub const OWNER: &PointSet = &BUILT_IN[0].points;

/// Runs one request, whose outcome the caller asserts.
pub fn run(processor: &mut Processor, arguments: &Arguments<'_>) -> (Outcome, Codes, Vec<u8>) {
    let (outcome, codes, answer) = tried(processor, arguments);
    if outcome == Outcome::Answered {
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        crate::exercised::note(arguments.verb(), &payload, codes);
    }
    (outcome, codes, answer)
}

/// Runs one request.
pub fn tried(processor: &mut Processor, arguments: &Arguments<'_>) -> (Outcome, Codes, Vec<u8>) {
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).unwrap();
    let mut batch = Batch::new();
    batch.push(&Incoming { verb: arguments.verb(), domain: 0, points: OWNER, payload: &payload }).unwrap();
    processor.run(&mut batch);
    let answer = &batch.answers()[0];
    (answer.outcome, answer.codes, answer.payload.clone())
}

/// Runs one request that must be answered; gives the codes and the output at `position`.
pub fn ask(processor: &mut Processor, arguments: &Arguments<'_>, position: usize) -> (Codes, Vec<u8>) {
    let (outcome, codes, payload) = run(processor, arguments);
    assert_eq!(outcome, Outcome::Answered);
    let reply = Arguments::read_reply(arguments.verb(), &payload).unwrap();
    let output = reply.bytes(position).to_vec();
    assert!(codes.has_output() || output.is_empty(), "a refusal shows nothing");
    (codes, output)
}

/// A request with these keywords in place of its own: tests say wrong ones too.
pub fn worded<'a>(ask: &'a impl TypedAsk, filled: &'a mut Filled, rules: &'a [u8]) -> Arguments<'a> {
    let mut arguments = ask.arguments(filled);
    let parameters = arguments.verb().entry().parameters.iter().enumerate();
    for (position, parameter) in parameters {
        if let Kind::Keywords(count) = parameter.kind {
            arguments.set_integer(count, rules.len() as i64 / 8).set_bytes(position, rules);
        }
    }
    arguments
}

/// Runs a request with these keywords, which must be answered; gives the codes and the output at `position`.
fn ask_worded(
    processor: &mut Processor,
    request: &impl TypedAsk,
    words: &[&str],
    position: usize,
) -> (Codes, Vec<u8>) {
    ask(processor, &worded(request, &mut Filled::default(), &keywords(words)), position)
}

fn answered((codes, output): (Codes, Vec<u8>)) -> Answered {
    if codes.return_code == 0 { Ok(output) } else { Err(codes) }
}

/// Blank-padded keywords.
pub fn keywords(words: &[&str]) -> Vec<u8> {
    words.iter().flat_map(|word| format!("{word:<8}").into_bytes()).collect()
}

/// Room for any token, in bytes.
pub const CAPACITY: i64 = 2500;

/// A skeleton, or a token of a clear key.
pub fn token_build(processor: &mut Processor, words: &[&str], structure: &[u8], name: &[u8]) -> Answered {
    let rules = keywords(words);
    let arguments = build_arguments(words.len(), &rules, structure, name);
    answered(ask(processor, &arguments, wire::verb::pka_key_token_build::TOKEN))
}

/// A request for a skeleton, by position: its keywords are text, wrong ones among them.
pub fn build_arguments<'a>(
    count: usize,
    rules: &'a [u8],
    structure: &'a [u8],
    name: &'a [u8],
) -> Arguments<'a> {
    use wire::verb::pka_key_token_build::*;
    let mut arguments = Arguments::new(Verb::PkaKeyTokenBuild);
    arguments.set_integer(RULE_ARRAY_COUNT, count as i64).set_bytes(RULE_ARRAY, rules);
    arguments.set_integer(KEY_VALUES_STRUCTURE_LENGTH, structure.len() as i64);
    arguments.set_bytes(KEY_VALUES_STRUCTURE, structure);
    arguments.set_integer(KEY_NAME_LN, name.len() as i64).set_bytes(KEY_NAME, name);
    arguments.set_integer(TOKEN_LENGTH, CAPACITY);
    arguments
}

/// A key of a skeleton.
pub fn key_generate(processor: &mut Processor, words: &[&str], skeleton: &[u8]) -> Answered {
    key_generate_into(processor, words, skeleton, CAPACITY)
}

/// A key of a skeleton, in a field of this length.
pub fn key_generate_into(
    processor: &mut Processor,
    words: &[&str],
    skeleton: &[u8],
    capacity: i64,
) -> Answered {
    use wire::verb::pka_key_generate::*;
    let request = Ask {
        skeleton_key_token: skeleton.into(),
        transport_key_identifier: Key::Bytes(&[0; 64]),
        generated_key_identifier: Room::of(capacity as usize),
        ..Ask::new()
    };
    answered(ask_worded(processor, &request, words, GENERATED_KEY_IDENTIFIER))
}

/// The key of a clear or external token, under the master key.
pub fn key_import(processor: &mut Processor, source: &[u8]) -> Answered {
    key_import_into(processor, source, CAPACITY as usize)
}

/// The same, in a field of this length.
pub fn key_import_into(processor: &mut Processor, source: &[u8], capacity: usize) -> Answered {
    use wire::verb::pka_key_import::*;
    let request = Ask {
        source_key_token: source.into(),
        importer_key_identifier: Key::Bytes(&[0; 64]),
        target_key_identifier: Room::of(capacity),
        ..Ask::new()
    };
    answered(ask(processor, &request.arguments(&mut Filled::default()), TARGET_KEY_IDENTIFIER))
}

/// The public half of a key.
pub fn public_key_extract(processor: &mut Processor, source: &[u8], capacity: i64) -> Answered {
    use wire::verb::pka_public_key_extract::*;
    let request =
        Ask { source_key_identifier: source.into(), target_key_token: capacity as usize, ..Ask::new() };
    answered(ask(processor, &request.arguments(&mut Filled::default()), TARGET_KEY_TOKEN))
}

/// A value enciphered with a public key.
pub fn encrypt(processor: &mut Processor, words: &[&str], key: &[u8], value: &[u8]) -> Answered {
    encrypt_into(processor, words, key, value, CAPACITY)
}

/// A value enciphered with a public key, in a field of this length.
pub fn encrypt_into(
    processor: &mut Processor,
    words: &[&str],
    key: &[u8],
    value: &[u8],
    capacity: i64,
) -> Answered {
    use wire::verb::pka_encrypt::*;
    let request = Ask {
        key_value: value,
        rsa_public_key: key.into(),
        rsa_encipher: capacity as usize,
        ..Ask::new(RsaFormat::ZeroPad)
    };
    answered(ask_worded(processor, &request, words, RSA_ENCIPHER))
}

/// The value of a block, deciphered with a private key.
pub fn decrypt(processor: &mut Processor, words: &[&str], key: &[u8], block: &[u8]) -> Answered {
    decrypt_into(processor, words, key, block, CAPACITY)
}

/// The value of a block, in a field of this length.
pub fn decrypt_into(
    processor: &mut Processor,
    words: &[&str],
    key: &[u8],
    block: &[u8],
    capacity: i64,
) -> Answered {
    use wire::verb::pka_decrypt::*;
    let request = Ask {
        enciphered_key: block,
        rsa_private_key: key.into(),
        key_value: capacity as usize,
        ..Ask::new(RsaFormat::ZeroPad)
    };
    answered(ask_worded(processor, &request, words, KEY_VALUE))
}

/// A signature.
pub fn sign(processor: &mut Processor, words: &[&str], key: &[u8], data: &[u8]) -> Answered {
    sign_into(processor, words, key, data, CAPACITY)
}

/// A request for a signature, by position as [`build_arguments`].
pub fn sign_arguments<'a>(count: usize, rules: &'a [u8], key: &'a [u8], data: &'a [u8]) -> Arguments<'a> {
    use wire::verb::digital_signature_generate::*;
    let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
    arguments.set_integer(RULE_ARRAY_COUNT, count as i64).set_bytes(RULE_ARRAY, rules);
    arguments.set_integer(PKA_PRIVATE_KEY_ID_LENGTH, key.len() as i64).set_bytes(PKA_PRIVATE_KEY_ID, key);
    arguments.set_integer(HASH_LENGTH, data.len() as i64).set_bytes(HASH, data);
    arguments.set_integer(SIGNATURE_FIELD_LENGTH, CAPACITY);
    arguments
}

/// A signature, in a field of this length.
pub fn sign_into(
    processor: &mut Processor,
    words: &[&str],
    key: &[u8],
    data: &[u8],
    capacity: i64,
) -> Answered {
    let rules = keywords(words);
    use wire::verb::digital_signature_generate::*;
    let mut arguments = sign_arguments(words.len(), &rules, key, data);
    arguments.set_integer(SIGNATURE_FIELD_LENGTH, capacity);
    answered(ask(processor, &arguments, SIGNATURE_FIELD))
}

/// The codes of a verification.
pub fn verify(processor: &mut Processor, words: &[&str], key: &[u8], data: &[u8], signature: &[u8]) -> Codes {
    use wire::verb::digital_signature_verify::*;
    let request = Ask { pka_public_key_id: key.into(), hash: data, signature_field: signature, ..Ask::new() };
    run(processor, &worded(&request, &mut Filled::default(), &keywords(words))).1
}

/// A symmetric key under a public key.
pub fn export(processor: &mut Processor, words: &[&str], key: &[u8], rsa: &[u8]) -> Answered {
    use wire::verb::symmetric_key_export::*;
    let request = Ask {
        source_key_identifier: key.into(),
        rsa_public_key_identifier: rsa.into(),
        rsa_enciphered_key: CAPACITY as usize,
        ..Ask::new(ExportFormat::ZeroPad)
    };
    answered(ask_worded(processor, &request, words, RSA_ENCIPHERED_KEY))
}

/// The codes and the token of an import.
pub fn import_codes(
    processor: &mut Processor,
    words: &[&str],
    block: &[u8],
    rsa: &[u8],
    capacity: i64,
) -> (Codes, Vec<u8>) {
    use wire::verb::symmetric_key_import::*;
    let request = Ask {
        rsa_enciphered_key: block,
        rsa_private_key_identifier: rsa.into(),
        target_key_identifier: Room::of(capacity as usize),
        ..Ask::new(TransportFormat::ZeroPad)
    };
    ask_worded(processor, &request, words, TARGET_KEY_IDENTIFIER)
}

/// The symmetric key of a block under a public key.
pub fn import(processor: &mut Processor, words: &[&str], block: &[u8], rsa: &[u8]) -> Answered {
    answered(import_codes(processor, words, block, rsa, 64))
}

/// A request for an operation with a clear RSA key, by either verb.
pub fn clear_arguments<'a>(verb: Verb, key: &'a [u8], data: &'a [u8]) -> Arguments<'a> {
    use wire::verb::clear_rsa_private::*;
    let mut arguments = Arguments::new(verb);
    arguments.set_integer(KEY_LENGTH, key.len() as i64).set_bytes(KEY, key);
    arguments.set_integer(DATA_LENGTH, data.len() as i64).set_bytes(DATA, data);
    arguments.set_integer(RESULT_LENGTH, CAPACITY);
    arguments
}

/// The outcome of an operation with a clear RSA key.
pub fn clear(processor: &mut Processor, verb: Verb, key: &[u8], data: &[u8]) -> Answered {
    let arguments = clear_arguments(verb, key, data);
    answered(ask(processor, &arguments, wire::verb::clear_rsa_private::RESULT))
}

/// Lengths of the keys below; 1025 and 1030 are no whole bytes.
const BITS: [u32; 6] = [512, 1024, 1025, 1030, 1536, 2048];

/// Keys made once for a test program.
pub fn openssl_key(bits: u32) -> &'static Rsa<Private> {
    static KEYS: [OnceLock<Rsa<Private>>; BITS.len()] = [const { OnceLock::new() }; BITS.len()];
    let index = BITS.iter().position(|known| *known == bits).unwrap();
    KEYS[index].get_or_init(|| Rsa::generate(bits).unwrap())
}

/// A number in as few bytes as hold it.
pub fn number(number: &BigNumRef) -> Vec<u8> {
    number.to_vec()
}

/// The RSA-PRIV, RSA-AESM and RSA-PUBL structure of a key.
pub fn me_structure(key: &Rsa<Private>, private: bool) -> Vec<u8> {
    let d = if private { number(key.d()) } else { Vec::new() };
    structure(key.n().num_bits(), &[number(key.n()), number(key.e()), d], false)
}

/// The RSA-CRT and RSA-AESC structure of a key.
pub fn crt_structure(key: &Rsa<Private>) -> Vec<u8> {
    let parts = [
        key.n(),
        key.e(),
        key.p().unwrap(),
        key.q().unwrap(),
        key.dmp1().unwrap(),
        key.dmq1().unwrap(),
        key.iqmp().unwrap(),
    ];
    structure(key.n().num_bits(), &parts.map(number), true)
}

/// A structure that asks for a key with exponent 65537, in a buffer of 2500 bytes.
pub fn generate_structure(bits: i32, crt: bool) -> Vec<u8> {
    let e = vec![1, 0, 1];
    let mut parts = vec![Vec::new(), e, Vec::new()];
    if crt {
        parts.extend([const { Vec::new() }; 4]);
    }
    let mut out = structure(bits, &parts, crt);
    out.resize(2500, 0);
    out
}

fn structure(bits: i32, parts: &[Vec<u8>], crt: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut halfword = |value: usize| out.extend_from_slice(&(value as u16).to_be_bytes());
    halfword(bits as usize);
    halfword(parts[0].len());
    halfword(parts[1].len());
    if crt {
        halfword(0);
    }
    parts[2..].iter().for_each(|part| halfword(part.len()));
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Clear external token of an OpenSSL key.
pub fn clear_token(processor: &mut Processor, kind: &str, usage: &str, key: &Rsa<Private>) -> Vec<u8> {
    let structure = match kind {
        "RSA-CRT" | "RSA-AESC" => crt_structure(key),
        _ => me_structure(key, true),
    };
    token_build(processor, &[kind, usage], &structure, &[]).unwrap()
}

/// Internal token of an OpenSSL key.
pub fn internal_token(processor: &mut Processor, kind: &str, usage: &str, key: &Rsa<Private>) -> Vec<u8> {
    let clear = clear_token(processor, kind, usage, key);
    key_import(processor, &clear).unwrap()
}

/// The token of the public half of a key.
pub fn public_token(processor: &mut Processor, key: &Rsa<Private>) -> Vec<u8> {
    token_build(processor, &["RSA-PUBL"], &me_structure(key, false), &[]).unwrap()
}

/// `base^exponent mod n`, as long as n.
pub fn power(base: &[u8], exponent: &BigNumRef, n: &BigNumRef) -> Vec<u8> {
    let mut context = openssl::bn::BigNumContext::new().unwrap();
    let mut out = BigNum::new().unwrap();
    out.mod_exp(&BigNum::from_slice(base).unwrap(), exponent, n, &mut context).unwrap();
    out.to_vec_padded(n.num_bytes()).unwrap()
}
