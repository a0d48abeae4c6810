//! Cipher_Text_Translate2: texts from under one key under another, against what the ciphers' own verbs make of them,
//! and what a tenant tries who has keys for translations alone.

use crate::variable::{generated2, skeleton2};
use cca::Processor;
use verb_requests::support::{
    DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, Request, entered, generated, imported, processor, text,
};
use verb_requests::uses::ways::{part2, translate};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::cipher_text_translate2::{
    CHAINING_VECTOR, CHAINING_VECTOR_LENGTH, CIPHER_TEXT_OUT, CIPHER_TEXT_OUT_LENGTH, KEY_IDENTIFIER_IN,
};
use wire::verb::{Verb, decipher, encipher};
use wire::verb::{
    key_part_import2, symmetric_algorithm_decipher as sad, symmetric_algorithm_encipher as sae,
};

const DES_METHODS: [&str; 4] = ["CBC", "X9.23", "CUSP", "IPS"];
const AES_METHODS: [&str; 3] = ["CBC", "ECB", "PKCS-PAD"];

/// The keyword of a side for a method.
fn keyword(side: char, method: &str) -> String {
    match method {
        "PKCS-PAD" => format!("{side}PKCSPAD"),
        "X9.23" => format!("{side}-X923"),
        other => format!("{side}-{other}"),
    }
}

fn is_des(method: &str, token: &[u8]) -> bool {
    // Internal DES tokens have version 0, AES tokens 4 and 5.
    !AES_METHODS[1..].contains(&method) && !matches!(token[4], 4 | 5)
}

fn words(input: (&str, &[u8]), output: (&str, &[u8])) -> [String; 4] {
    let name = |method: &str, token| if is_des(method, token) { "DES" } else { "AES" };
    [
        format!("IKEY-{}", name(input.0, input.1)),
        keyword('I', input.0),
        format!("OKEY-{}", name(output.0, output.1)),
        keyword('O', output.0),
    ]
}

/// A request with vectors of 1 and 2.
fn request(input: (&str, &[u8]), output: (&str, &[u8]), text: &[u8]) -> Request {
    let words = words(input, output);
    let bytes = |method, token| if is_des(method, token) { 8 } else { 16 };
    translate(
        &words.each_ref().map(|word| word.as_str()),
        (input.1, &vec![1; bytes(input.0, input.1)]),
        (output.1, &vec![2; bytes(output.0, output.1)]),
        text,
    )
}

/// A text under a data key, by the verb of its algorithm, from a vector of this byte.
fn enciphered(processor: &mut Processor, method: &str, token: &[u8], vector: u8, text: &[u8]) -> Vec<u8> {
    if is_des(method, token) {
        return Request::new(Verb::Encipher)
            .rules(&[method])
            .bytes(encipher::KEY_IDENTIFIER, token)
            .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, text)
            .bytes(encipher::INITIALIZATION_VECTOR, [vector; 8])
            .integer(encipher::PAD_CHARACTER, 0)
            .bytes(encipher::CHAINING_VECTOR, [0; 18])
            .ok(processor)
            .bytes(encipher::CIPHERTEXT);
    }
    Request::new(Verb::SymmetricAlgorithmEncipher)
        .rules(&["AES", "KEYIDENT", method, "ONLY"])
        .counted(sae::KEY_LENGTH, sae::KEY_IDENTIFIER, token)
        .integer(sae::BLOCK_SIZE, 16)
        .counted(sae::INITIALIZATION_VECTOR_LENGTH, sae::INITIALIZATION_VECTOR, [vector; 16])
        .counted(sae::CLEAR_TEXT_LENGTH, sae::CLEAR_TEXT, text)
        .integer(sae::CIPHER_TEXT_LENGTH, 2000)
        .ok(processor)
        .bytes(sae::CIPHER_TEXT)
}

fn deciphered(processor: &mut Processor, method: &str, token: &[u8], vector: u8, text: &[u8]) -> Vec<u8> {
    if is_des(method, token) {
        return Request::new(Verb::Decipher)
            .rules(&[method])
            .bytes(decipher::KEY_IDENTIFIER, token)
            .counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, text)
            .bytes(decipher::INITIALIZATION_VECTOR, [vector; 8])
            .bytes(decipher::CHAINING_VECTOR, [0; 18])
            .ok(processor)
            .bytes(decipher::PLAINTEXT);
    }
    Request::new(Verb::SymmetricAlgorithmDecipher)
        .rules(&["AES", "KEYIDENT", method, "ONLY"])
        .counted(sad::KEY_LENGTH, sad::KEY_IDENTIFIER, token)
        .integer(sad::BLOCK_SIZE, 16)
        .counted(sad::INITIALIZATION_VECTOR_LENGTH, sad::INITIALIZATION_VECTOR, [vector; 16])
        .counted(sad::CIPHER_TEXT_LENGTH, sad::CIPHER_TEXT, text)
        .integer(sad::CLEAR_TEXT_LENGTH, 2000)
        .ok(processor)
        .bytes(sad::CLEAR_TEXT)
}

/// Keys of both algorithms with the methods that take them.
fn data_keys(processor: &mut Processor) -> Vec<(&'static str, Vec<u8>)> {
    let mut keys = Vec::new();
    let (double, triple) =
        (imported(processor, "DES", &text(16)), imported(processor, "DES", &text(25)[1..]));
    for method in DES_METHODS {
        keys.push((method, if method == "CUSP" { triple.clone() } else { double.clone() }));
    }
    let fixed = imported(processor, "AES", &text(32));
    let variable = generated2(processor, "AES", 128, &["CIPHER", "ANY-MODE"]);
    for method in AES_METHODS {
        keys.push((method, if method == "ECB" { variable.clone() } else { fixed.clone() }));
    }
    keys
}

#[test]
fn every_method_from_and_to_every_other() {
    let mut processor = processor();
    let keys = data_keys(&mut processor);
    for (from, key_in) in &keys {
        for (to, key_out) in &keys {
            for length in [1, 7, 8, 9, 15, 16, 17, 24, 32, 48] {
                let message = text(length);
                let fits = |method: &str, token: &[u8]| match method {
                    "CBC" | "ECB" => length % if is_des(method, token) { 8 } else { 16 } == 0,
                    _ => true,
                };
                if !fits(from, key_in) {
                    continue;
                }
                let input = enciphered(&mut processor, from, key_in, 1, &message);
                let request = request((from, key_in), (to, key_out), &input);
                if !fits(to, key_out) {
                    request.refused(&mut processor, code::TEXT_LENGTH);
                    continue;
                }
                let output = request.ok(&mut processor).bytes(CIPHER_TEXT_OUT);
                let expected = enciphered(&mut processor, to, key_out, 2, &message);
                assert_eq!(output, expected, "{from} to {to}, {length} bytes");
                assert_eq!(deciphered(&mut processor, to, key_out, 2, &output), message);
                let small = request.integer(CIPHER_TEXT_OUT_LENGTH, output.len() as i64 - 1);
                small.refused(&mut processor, code::BUFFER_TOO_SMALL);
            }
        }
    }
}

#[test]
fn a_text_goes_on_from_a_sealed_vector() {
    let mut processor = processor();
    let keys = data_keys(&mut processor);
    for (from, key_in) in keys.iter().filter(|(method, _)| !matches!(*method, "X9.23" | "PKCS-PAD")) {
        for (to, key_out) in keys.iter().filter(|(method, _)| !matches!(*method, "X9.23" | "PKCS-PAD")) {
            let message = text(64);
            let input = enciphered(&mut processor, from, key_in, 1, &message);
            let first = request((from, key_in), (to, key_out), &input[..32]);
            let first = first.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; 128]).ok(&mut processor);
            let vector = first.bytes(CHAINING_VECTOR);
            let mut words = words((from, key_in), (to, key_out)).to_vec();
            words.push("CONTINUE".into());
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let further = |vector: &[u8]| {
                let request = translate(&words, (key_in, &[]), (key_out, &[]), &input[32..]);
                request.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, vector)
            };
            let second = further(&vector).ok(&mut processor);
            let output = [first.bytes(CIPHER_TEXT_OUT), second.bytes(CIPHER_TEXT_OUT)].concat();
            let expected = enciphered(&mut processor, to, key_out, 2, &message);
            // CUSP enciphers its chaining value once more at the end of a call.
            if *from != "CUSP" && *to != "CUSP" {
                assert_eq!(output, expected, "{from} to {to}");
            } else {
                assert_eq!(output[..32], expected[..32]);
            }
            for index in 0..vector.len() {
                let mut changed = vector.clone();
                changed[index] ^= 4;
                further(&changed).refused(&mut processor, code::CHAINING_VECTOR);
            }
            further(&[0; 128]).refused(&mut processor, code::CHAINING_VECTOR);
            further(&vector[..127]).refused(&mut processor, code::INVALID_PARAMETER);
        }
    }
    // To another key, and the other way.
    let (one, two) = (imported(&mut processor, "DES", &[7; 16]), imported(&mut processor, "DES", &text(16)));
    let first = request(("CBC", &one), ("CBC", &two), &text(16));
    let first = first.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; 128]).ok(&mut processor);
    let vector = first.bytes(CHAINING_VECTOR);
    let words = ["IKEY-DES", "I-CBC", "OKEY-DES", "O-CBC", "CONTINUE"];
    for (from, to) in [(&two, &one), (&one, &one), (&two, &two)] {
        let request = translate(&words, (from, &[]), (to, &[]), &text(16));
        let request = request.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, &vector);
        request.refused(&mut processor, code::CHAINING_VECTOR);
    }
    let other = ["IKEY-DES", "I-IPS", "OKEY-DES", "O-CBC", "CONTINUE"];
    let request = translate(&other, (&one, &[]), (&two, &[]), &text(16));
    let request = request.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, &vector);
    request.refused(&mut processor, code::CHAINING_VECTOR);
    let short = translate(&words[..4], (&one, &[1; 8]), (&two, &[1; 8]), &text(16));
    for bytes in [1, 127] {
        short.clone().integer(CHAINING_VECTOR_LENGTH, bytes).refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
}

/// An AES key of a known value for translations alone.
fn translating_aes(processor: &mut Processor, value: &[u8]) -> Vec<u8> {
    let keywords = ["INTERNAL", "AES", "CIPHER", "ANY-MODE", "C-XLATE", "ENCRYPT", "DECRYPT"];
    let skeleton = skeleton2(processor, &keywords);
    let first = part2("AES", &["FIRST", "MIN1PART"], value, &skeleton).ok(processor);
    let part = first.bytes(key_part_import2::KEY_IDENTIFIER);
    part2("AES", &["COMPLETE"], &[], &part).ok(processor).bytes(key_part_import2::KEY_IDENTIFIER)
}

#[test]
fn keys_for_translations_translate_in_their_direction() {
    let mut processor = processor();
    let (one, two): ([u8; 16], [u8; 16]) = (std::array::from_fn(|at| at as u8 * 2), [0x5B; 16]);
    let mut two = two;
    two[3] = 0x10;
    let input = entered(&mut processor, "CIPHERXI", &[], &one);
    let output = entered(&mut processor, "CIPHERXO", &[], &two);
    let both = entered(&mut processor, "CIPHERXL", &[], &two);
    let (data_in, data_out) = (imported(&mut processor, "DES", &one), imported(&mut processor, "DES", &two));
    let message = text(40);
    let text_in = enciphered(&mut processor, "CBC", &data_in, 1, &message);
    let expected = enciphered(&mut processor, "CBC", &data_out, 2, &message);
    for to in [&output, &both] {
        let reply = request(("CBC", &input), ("CBC", to), &text_in).ok(&mut processor);
        assert_eq!(reply.bytes(CIPHER_TEXT_OUT), expected);
    }
    for (from, to) in [(&output, &output), (&input, &input), (&output, &input)] {
        request(("CBC", from), ("CBC", to), &text_in).refused(&mut processor, code::KEY_USAGE);
    }
    let (wide, known) =
        (translating_aes(&mut processor, &text(32)), imported(&mut processor, "AES", &text(32)));
    let text_in = enciphered(&mut processor, "CBC", &data_in, 1, &text(48));
    for method in ["CBC", "ECB"] {
        let reply = request(("CBC", &input), (method, &wide), &text_in).ok(&mut processor);
        let expected = enciphered(&mut processor, method, &known, 2, &text(48));
        assert_eq!(reply.bytes(CIPHER_TEXT_OUT), expected);
        let back = request((method, &wide), ("CBC", &output), &text_in).ok(&mut processor);
        assert_eq!(back.bytes(CIPHER_TEXT_OUT).len(), 48);
    }
}

/// Whoever has keys for translations alone, and keys of his own for data, brings no text under a key that deciphers it,
/// and none of his own choice under a key that only translates.
#[test]
fn a_key_for_translations_deciphers_and_enciphers_nothing() {
    let mut processor = processor();
    let input = generated(&mut processor, "CIPHERXI", "DOUBLE");
    let both = generated(&mut processor, "CIPHERXL", "DOUBLE");
    let own = imported(&mut processor, "DES", &text(16));
    let own_aes = imported(&mut processor, "AES", &text(16));
    let wide = translating_aes(&mut processor, &text(16));
    let cipher = generated2(&mut processor, "AES", 256, &["CIPHER", "ANY-MODE"]);
    for translating in [&input, &both, &wide] {
        for data in [&own, &own_aes, &cipher] {
            request(("CBC", translating), ("CBC", data), &text(16)).refused(&mut processor, code::KEY_USAGE);
            request(("CBC", data), ("CBC", translating), &text(16)).refused(&mut processor, code::KEY_USAGE);
        }
    }
    // Nor do the verbs of the ciphers take them.
    for token in [&input, &both] {
        let request = Request::new(Verb::Decipher)
            .rules(&["CBC"])
            .bytes(decipher::KEY_IDENTIFIER, token)
            .counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, text(16))
            .bytes(decipher::INITIALIZATION_VECTOR, [0; 8])
            .bytes(decipher::CHAINING_VECTOR, [0; 18]);
        request.refused(&mut processor, code::KEY_USAGE);
    }
    // A clear token of a key that he knows.
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "C-XLATE"]);
    let clear = crate::variable::parsed(&skeleton).with_clear_key(&[9; 16]).unwrap().to_bytes().to_vec();
    request(("CBC", &input), ("CBC", &clear), &text(16)).refused(&mut processor, code::KEY_USAGE);
    request(("CBC", &clear), ("CBC", &both), &text(16)).refused(&mut processor, code::KEY_USAGE);
}

/// A card that tells whether a padding is right tells the text: each byte by 256 requests at the most.
#[test]
fn no_padding_is_told_of_texts_under_keys_for_translations() {
    let mut processor = processor();
    let key = text(16);
    let known = imported(&mut processor, "AES", &key);
    let secret = b"the text is told";
    let ciphertext = enciphered(&mut processor, "PKCS-PAD", &known, 1, secret);
    let block = &ciphertext[..16];
    // It bites where the padding is removed, as it is between data keys: the last byte of the first block.
    let other = imported(&mut processor, "DES", &text(16));
    let told = |processor: &mut Processor, from: &[u8], to: (&str, &[u8])| {
        (0..=255u8).find(|guess| {
            // The block before the last is the attacker's: it changes the padding that comes out of the last.
            let blocks = [&[0x77; 15][..], &[*guess], block].concat();
            request(("PKCS-PAD", from), to, &blocks).run(processor).codes == code::OK
        })
    };
    // A padding of one byte came out: the byte deciphered is the guess over 1, and over the vector's 1 the text's.
    let guess = told(&mut processor, &known, ("X9.23", &other));
    assert_eq!(guess, Some(secret[15]), "the oracle works between data keys");

    let from = translating_aes(&mut processor, &key);
    let to = generated(&mut processor, "CIPHERXO", "DOUBLE");
    assert_eq!(told(&mut processor, &from, ("X9.23", &to)), None);
    for method in ["CBC", "ECB"] {
        let request = request(("PKCS-PAD", &from), (method, &from), &ciphertext);
        request.refused(&mut processor, code::KEY_USAGE);
    }
    // The same padding stays as it is, right or wrong: every change of the last block is answered alike.
    for byte in 0..=255u8 {
        let mut changed = ciphertext.clone();
        changed[15] ^= byte;
        let reply = request(("PKCS-PAD", &from), ("PKCS-PAD", &from), &changed).ok(&mut processor);
        assert_eq!(reply.bytes(CIPHER_TEXT_OUT).len(), ciphertext.len());
    }
    let kept = request(("PKCS-PAD", &from), ("PKCS-PAD", &from), &ciphertext).ok(&mut processor);
    assert_eq!(deciphered(&mut processor, "PKCS-PAD", &known, 2, &kept.bytes(CIPHER_TEXT_OUT)), secret);
}

/// With CUSP the chaining value is what the key makes of the last block: it would be the mask of the short block behind
/// it.
#[test]
fn the_vector_of_cusp_shows_no_mask() {
    let mut processor = processor();
    let value = [0x1F; 16].map(|byte| byte ^ 0x20);
    let mut value = value;
    value[9] = 0x44;
    let known = imported(&mut processor, "DES", &value);
    let message = text(20);
    let ciphertext = enciphered(&mut processor, "CUSP", &known, 1, &message);
    let mask = verb_requests::peer::des(&value, true, &ciphertext[8..16]);
    assert_eq!(verb_requests::peer::xor(&mask, &ciphertext[16..]), message[16..], "the mask tells the rest");
    let both = entered(&mut processor, "CIPHERXL", &[], &value);
    let first = request(("CUSP", &both), ("CBC", &both), &ciphertext[..16]);
    let first = first.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; 128]).ok(&mut processor);
    let vector = first.bytes(CHAINING_VECTOR);
    assert!(!vector.windows(4).any(|window| mask.windows(4).any(|other| window == other)));
}

#[test]
fn cusp_and_ips_need_keys_for_both_ways() {
    let mut processor = processor();
    let input = generated(&mut processor, "CIPHERXI", "DOUBLE");
    let output = generated(&mut processor, "CIPHERXO", "DOUBLE");
    let both = generated(&mut processor, "CIPHERXL", "DOUBLE");
    for method in ["CUSP", "IPS"] {
        request((method, &input), ("CBC", &output), &text(16)).refused(&mut processor, code::KEY_USAGE);
        request(("CBC", &input), (method, &output), &text(16)).refused(&mut processor, code::KEY_USAGE);
        request((method, &both), (method, &both), &text(13)).ok(&mut processor);
    }
}

#[test]
fn weaker_keys_and_data_keys_by_their_points() {
    let mut processor = processor();
    let (double, triple) =
        (imported(&mut processor, "DES", &text(16)), imported(&mut processor, "DES", &text(24)));
    let (short, long) =
        (imported(&mut processor, "AES", &text(16)), imported(&mut processor, "AES", &text(32)));
    let without = |point| -> &'static PointSet {
        let mut points = BUILT_IN[0].points;
        points.deny(point);
        Box::leak(Box::new(points))
    };
    for (point, from, to) in [
        (Point::TranslateAesToDes, &long, &triple),
        (Point::TranslateWeakerAes, &long, &short),
        (Point::TranslateWeakerDes, &triple, &double),
        (Point::TranslateDataKeys, &double, &double),
    ] {
        let request = request(("CBC", from), ("CBC", to), &text(16));
        request.ok(&mut processor);
        request.clone().points(without(point)).refused(&mut processor, code::ACCESS_DENIED);
        let back = crate::translate::request(("CBC", to), ("CBC", from), &text(16));
        if point != Point::TranslateDataKeys {
            back.points(without(point)).ok(&mut processor);
        }
    }
}

#[test]
fn what_clients_ask_for_and_what_is_refused_by_name() {
    let mut processor = processor();
    let aes = imported(&mut processor, "AES", &text(16));
    let des = imported(&mut processor, "DES", &text(24));
    // openCryptoki: algorithm first, ECB without vectors, a chaining vector of zeros.
    let words = ["IKEY-AES", "I-ECB", "OKEY-DES", "O-CBC", "INITIAL"];
    let asked = translate(&words, (&aes, &[]), (&des, &[3; 8]), &text(32));
    let reply = asked.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; 128]).ok(&mut processor);
    assert_eq!(reply.bytes(CIPHER_TEXT_OUT).len(), 32);
    for words in [
        ["IKEY-AES", "I-CUSP", "OKEY-DES", "O-CBC"],
        ["IKEY-AES", "I-X923", "OKEY-DES", "O-CBC"],
        ["IKEY-DES", "I-ECB", "OKEY-DES", "O-CBC"],
        ["IKEY-DES", "IPKCSPAD", "OKEY-DES", "O-CBC"],
        ["IKEY-DES", "I-CBC", "OKEY-DES", "O-ECB"],
        ["IKEY-DES", "I-CBC", "OKEY-AES", "O-IPS"],
    ] {
        let request = translate(&words, (&aes, &[0; 16]), (&des, &[0; 8]), &text(16));
        request.refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    let words = ["IKEY-DES", "I-CBC", "OKEY-AES", "O-CBC"];
    let good = |text: &[u8]| translate(&words, (&des, &[0; 8]), (&aes, &[0; 16]), text);
    good(&[]).refused(&mut processor, code::TEXT_LENGTH);
    good(&text(12)).refused(&mut processor, code::TEXT_LENGTH);
    for (one, two) in [(7, 16), (9, 16), (8, 8), (8, 15), (0, 16), (8, 0)] {
        let request = translate(&words, (&des, &vec![0; one]), (&aes, &vec![0; two]), &text(16));
        request.refused(&mut processor, code::INVALID_PARAMETER);
    }
    translate(&words, (&aes, &[0; 8]), (&aes, &[0; 16]), &text(16))
        .refused(&mut processor, code::TOKEN_INVALID);
    good(&text(16)).domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    good(&text(16)).domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    let old = verb_requests::support::import("DES", &text(24)).domain(OLDER_DOMAIN).run(&mut processor);
    let old = old.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    let reply = translate(&words, (&old, &[0; 8]), (&aes, &[0; 16]), &text(16)).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let renewed = reply.bytes(KEY_IDENTIFIER_IN);
    let again = translate(&words, (&renewed, &[0; 8]), (&aes, &[0; 16]), &text(16)).domain(DOMAIN);
    assert_eq!(again.ok(&mut processor).bytes(CIPHER_TEXT_OUT), reply.bytes(CIPHER_TEXT_OUT));
}
