//! MAC_Generate and MAC_Verify.

use verb_requests::peer;
use verb_requests::support::{self, generated, imported, mac, processor, text, verify};
use wire::code;
use wire::verb::mac_generate::{CHAINING_VECTOR, KEY_IDENTIFIER, MAC};

const SINGLE: [u8; 8] = 0x0123_4567_89AB_CDEFu64.to_be_bytes();

fn double() -> [u8; 16] {
    0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes()
}

fn triple() -> [u8; 24] {
    std::array::from_fn(|at| 0x2Fu8.wrapping_mul(at as u8 + 1))
}

/// CMAC by TDES of two or three keys, from single blocks of OpenSSL's: SP 800-38B, 6.
fn cmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let double = |block: &[u8]| {
        let number = u64::from_be_bytes(block.try_into().unwrap());
        ((number << 1) ^ if number >> 63 == 1 { 0x1B } else { 0 }).to_be_bytes().to_vec()
    };
    let whole = double(&peer::des(key, true, &[0; 8]));
    let (subkey, last) = match text.chunks(8).last() {
        Some(last) if last.len() == 8 => (whole, last.to_vec()),
        last => {
            let last = [last.unwrap_or_default(), &[0x80]].concat();
            (double(&whole), [&last[..], &[0; 8]].concat()[..8].to_vec())
        }
    };
    let before = text.len().saturating_sub(1) / 8 * 8;
    let blocks = [&text[..before], &peer::xor(&last, &subkey)].concat();
    peer::cbc_mac(key, &blocks)
}

/// SP 800-38B's examples with three and with two keys (D.4, D.5).
#[test]
fn the_published_cmacs() {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let message = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
    let (three, two) =
        ("8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5", "4cf15134a2850dd58a3d10ba80570d38");
    for (key, length, expected) in [
        (three, 8, "8e8f293136283797"),
        (three, 20, "743ddbe0ce2dc2ed"),
        (three, 32, "33e6b1092400eae5"),
        (two, 8, "4ff2ab813c53ce83"),
        (two, 20, "62dd1b471902bd4e"),
        (two, 32, "31b1e431dabc4eb8"),
    ] {
        let key = hex(key);
        assert_eq!(cmac(&key, &message[..length]), hex(expected));
        let mut processor = processor();
        let token = imported(&mut processor, "DES", &key);
        let reply = mac(&token, &["CMAC", "MACLEN8"], &message[..length]).ok(&mut processor);
        assert_eq!(reply.bytes(MAC), hex(expected));
    }
}

/// FIPS 113 gives this value for this text under this key.
#[test]
fn the_published_x9_9_value() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &SINGLE);
    let message = b"7654321 Now is the time for ";
    let reply = mac(&token, &["X9.9-1", "MACLEN4"], message).ok(&mut processor);
    assert_eq!(reply.bytes(MAC), 0xF1D3_0F68u32.to_be_bytes());
    assert_eq!(mac(&token, &[], message).ok(&mut processor).bytes(MAC), reply.bytes(MAC));
}

#[test]
fn every_method_agrees_with_openssl_at_every_length() {
    let mut processor = processor();
    let single = imported(&mut processor, "DES", &SINGLE);
    let double_token = imported(&mut processor, "DES", &double());
    let triple_token = imported(&mut processor, "DES", &triple());
    for length in 0..=40 {
        let message = text(length);
        let (zeros, emv) = (peer::zero_padded(&message), peer::emv_padded(&message));
        let with_text = |mac: Vec<u8>| if length == 0 { Vec::new() } else { mac };
        let cases: [(&str, &[u8], Vec<u8>); 7] = [
            ("CMAC", &double_token, with_text(cmac(&double(), &message))),
            ("CMAC", &triple_token, with_text(cmac(&triple(), &message))),
            ("X9.9-1", &single, if length == 0 { Vec::new() } else { peer::cbc_mac(&SINGLE, &zeros) }),
            ("EMVMAC", &single, peer::cbc_mac(&SINGLE, &emv)),
            (
                "X9.19OPT",
                &double_token,
                if length == 0 { Vec::new() } else { peer::retail_mac(&double(), &zeros) },
            ),
            (
                "TDES-MAC",
                &double_token,
                if length == 0 { Vec::new() } else { peer::cbc_mac(&double(), &zeros) },
            ),
            ("EMVMACD", &double_token, peer::retail_mac(&double(), &emv)),
        ];
        for (method, token, expected) in cases {
            let request = mac(token, &[method, "MACLEN8", "ONLY"], &message);
            if expected.is_empty() {
                request.refused(&mut processor, code::TEXT_LENGTH);
                continue;
            }
            assert_eq!(request.ok(&mut processor).bytes(MAC), expected, "{method} {length}");
            verify(token, &[method, "MACLEN8"], &message, &expected).ok(&mut processor);
            for byte in 0..8 {
                let mut wrong = expected.clone();
                wrong[byte] ^= 0x10;
                let wrong = verify(token, &[method, "MACLEN8", "ONLY"], &message, &wrong);
                wrong.answers(&mut processor, code::VERIFICATION_FAILED);
            }
        }
    }
}

#[test]
fn segments_give_what_the_whole_gives() {
    let mut processor = processor();
    let single = imported(&mut processor, "DES", &SINGLE);
    let double_token = imported(&mut processor, "DES", &double());
    let triple_token = imported(&mut processor, "DES", &triple());
    let message = text(61);
    for (method, token) in [
        ("CMAC", &double_token),
        ("CMAC", &triple_token),
        ("X9.9-1", &single),
        ("EMVMAC", &single),
        ("X9.19OPT", &double_token),
        ("TDES-MAC", &double_token),
        ("EMVMACD", &double_token),
    ] {
        for end in [56, 61] {
            let whole = mac(token, &[method, "MACLEN8"], &message[..end]).ok(&mut processor).bytes(MAC);
            for (one, two) in [(8, 16), (24, 56), (8, 56)] {
                let (mut vector, mut checked) = (vec![0xEE; 18], vec![0xEE; 18]);
                for (keyword, part) in
                    [("FIRST", &message[..one]), ("MIDDLE", &message[one..two]), ("LAST", &message[two..end])]
                {
                    let request =
                        mac(token, &[keyword, method, "MACLEN8"], part).bytes(CHAINING_VECTOR, &vector);
                    if keyword == "LAST" {
                        if part.is_empty() && !method.starts_with("EMV") {
                            request.refused(&mut processor, code::TEXT_LENGTH);
                            continue;
                        }
                        assert_eq!(
                            request.ok(&mut processor).bytes(MAC),
                            whole,
                            "{method} {one} {two} {end}"
                        );
                        let check = verify(token, &[keyword, method, "MACLEN8"], part, &whole);
                        check.bytes(CHAINING_VECTOR, &checked).ok(&mut processor);
                    } else {
                        let reply = request.ok(&mut processor);
                        assert!(reply.bytes(MAC).is_empty());
                        vector = reply.bytes(CHAINING_VECTOR);
                        let check = verify(token, &[keyword, method, "MACLEN8"], part, &[]);
                        checked = check
                            .bytes(CHAINING_VECTOR, &checked)
                            .ok(&mut processor)
                            .bytes(wire::verb::mac_verify::CHAINING_VECTOR);
                        assert_eq!((vector.len(), checked.len()), (18, 18));
                    }
                }
            }
        }
    }
    mac(&single, &["FIRST"], &message[..9]).refused(&mut processor, code::TEXT_LENGTH);
    mac(&single, &["MIDDLE"], &[]).refused(&mut processor, code::TEXT_LENGTH);
    mac(&single, &["LAST"], &message[..8])
        .bytes(CHAINING_VECTOR, [0; 17])
        .refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn shown_lengths_and_digits() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &double());
    let full = mac(&token, &["X9.19OPT", "MACLEN8"], &text(20)).ok(&mut processor).bytes(MAC);
    let digits: String = full[..4].iter().map(|byte| format!("{byte:02X}")).collect();
    for (keyword, shown) in [
        ("MACLEN4", full[..4].to_vec()),
        ("MACLEN6", full[..6].to_vec()),
        ("HEX-8", digits.clone().into_bytes()),
        ("HEX-9", format!("{} {}", &digits[..4], &digits[4..]).into_bytes()),
    ] {
        let reply = mac(&token, &["X9.19OPT", keyword], &text(20)).ok(&mut processor);
        assert_eq!(reply.bytes(MAC), shown, "{keyword}");
        verify(&token, &["X9.19OPT", keyword], &text(20), &shown).ok(&mut processor);
        let longer = [shown.as_slice(), &[0; 3]].concat();
        verify(&token, &["X9.19OPT", keyword], &text(20), &longer).ok(&mut processor);
        verify(&token, &["X9.19OPT", keyword], &text(20), &shown[..shown.len() - 1])
            .refused(&mut processor, code::INVALID_PARAMETER);
    }
}

#[test]
fn keys_are_used_as_their_control_vectors_say() {
    let mut processor = processor();
    let generate_key = generated(&mut processor, "MAC", "DOUBLE");
    let verify_key = generated(&mut processor, "MACVER", "DOUBLE");
    let cipher_key = generated(&mut processor, "CIPHER", "DOUBLE");
    let single = generated(&mut processor, "MAC", "SINGLE");
    let rules = ["X9.19OPT"];
    let value = mac(&generate_key, &rules, &text(64)).ok(&mut processor).bytes(MAC);
    verify(&generate_key, &rules, &text(64), &value).ok(&mut processor);
    mac(&verify_key, &rules, &text(64)).refused(&mut processor, code::KEY_USAGE);
    assert_eq!(
        verify(&verify_key, &rules, &text(64), &value).run(&mut processor).codes,
        code::VERIFICATION_FAILED
    );
    mac(&cipher_key, &rules, &text(64)).refused(&mut processor, code::KEY_USAGE);
    verify(&cipher_key, &rules, &text(64), &value).refused(&mut processor, code::KEY_USAGE);
    mac(&single, &rules, &text(64)).refused(&mut processor, code::KEY_USAGE);
    mac(&generate_key, &["X9.9-1"], &text(64)).refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn weak_methods_need_the_setting() {
    let mut processor = support::processor_with(false);
    let single = imported(&mut processor, "DES", &SINGLE);
    let double_token = imported(&mut processor, "DES", &double());
    mac(&single, &["X9.9-1"], &text(8)).refused(&mut processor, code::WEAK_ALGORITHM);
    mac(&single, &["EMVMAC"], &text(8)).refused(&mut processor, code::WEAK_ALGORITHM);
    mac(&double_token, &["X9.19OPT"], &text(8)).ok(&mut processor);
    mac(&double_token, &["TDES-MAC"], &text(8)).ok(&mut processor);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &double());
    let run = |keywords: &[&str]| mac(&token, keywords, &text(16));
    run(&["X9.19"]).refused(&mut processor, code::KEYWORD);
    run(&["X9.19OPT", "TDES-MAC"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    run(&["X9.19OPT", "ONLY", "MACLEN4", "HEX-8"]).refused(&mut processor, code::KEYWORD_COUNT);
    run(&["X9.19OPT"])
        .integer(wire::verb::mac_generate::RULE_ARRAY_COUNT, 2)
        .refused(&mut processor, code::KEYWORD_COUNT);
    run(&["X9.19OPT"])
        .integer(wire::verb::mac_generate::RULE_ARRAY_COUNT, -1)
        .refused(&mut processor, code::KEYWORD_COUNT);
    run(&["X9.19OPT"])
        .integer(wire::verb::mac_generate::TEXT_LENGTH, 15)
        .refused(&mut processor, code::TEXT_LENGTH);
    run(&["X9.19OPT"]).bytes(KEY_IDENTIFIER, "A.LABEL").refused(&mut processor, code::LABEL_NOT_FOUND);
    run(&["X9.19OPT"]).bytes(KEY_IDENTIFIER, [0; 64]).refused(&mut processor, code::TOKEN_INVALID);
    run(&["X9.19OPT"]).bytes(KEY_IDENTIFIER, &token[..63]).refused(&mut processor, code::TOKEN_INVALID);
    let long = vec![0; wire::bounds::TEXT_BYTES_MAX + 8];
    mac(&token, &["X9.19OPT"], &long).refused(&mut processor, code::TEXT_LENGTH);
    mac(&token, &["X9.19OPT"], &long[8..]).ok(&mut processor);
}
