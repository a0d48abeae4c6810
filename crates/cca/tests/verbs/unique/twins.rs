//! Keys of random terminals and transactions, compared with those of other programs, as `pin/twins.rs` compares PIN
//! blocks: by TDES with those of PyPI's pydukpt, by AES with a twin in Python. Of counters, half are to be refused.

use crate::chip::odd;
use crate::pin::profile;
use crate::pin::twins::{Numbers, aes_bases, answers, cases, hexadecimal, tdes_bases, tdes_serial};
use crate::variable::encipher;
use token::variable::VariableType;
use verb_requests::peer::{aes_ecb, cmac_aes};
use verb_requests::pin2::{PAN, field4, translate2, under4};
use verb_requests::twin;
use verb_requests::unique::*;
use verb_requests::uses::ways::{AES_TRANSPORT, TRANSPORT, entered2, mac2};
use wire::code;
use wire::verb::{encrypted_pin_translate2, mac_generate2, symmetric_algorithm_encipher};

#[test]
fn keys_by_tdes_are_those_of_pydukpt() {
    let mut keys = Keys::new();
    let mut numbers = Numbers(24_11);
    let bases = tdes_bases(&mut keys.processor, &mut numbers);
    let fields = [keys.des("CIPHER", &[]), keys.des("MAC", &[]), keys.des("OPINENC", &[])];
    let fields = fields.each_ref().map(|field| &field[..]);
    let (mut lines, mut requests) = (Vec::new(), Vec::new());
    for number in 0..cases() {
        let (value, base) = &bases[numbers.below(16) as usize];
        let serial = tdes_serial(&mut numbers, number);
        for purpose in ["initial", "data", "mac", "pin"] {
            lines.push(format!("tdes-key {} {} {purpose}", hexadecimal(value), hexadecimal(&serial)));
        }
        let initial = unique(&["K3IPEK", "TR31-TOK"], base, &serial, [&[]; 3], &keys.exporter);
        let working = unique(&["K1DATA", "K2MAC", "K3PIN"], base, &serial, fields, &[]);
        requests.push((initial.points(everything()), working));
    }
    let all = answers(&lines);
    for (number, ((initial, working), expected)) in requests.iter().zip(all.chunks(4)).enumerate() {
        let text = block(&initial.run(&mut keys.processor));
        let key = expected[0].as_ref().unwrap();
        assert_eq!(&twin::opened(&TRANSPORT, &text)[2..18], &key[..], "{}", lines[4 * number]);
        let reply = working.run(&mut keys.processor);
        if number % 2 == 1 {
            assert_eq!(reply.codes, code::SERIAL_COUNTER);
            assert!(expected[1..].iter().all(Option::is_none));
            continue;
        }
        assert_eq!(reply.codes, code::OK);
        for (token, key) in tokens(&reply).iter().zip(&expected[1..]) {
            assert_eq!(value(token), odd(key.as_ref().unwrap()), "{}", lines[4 * number]);
        }
    }
}

#[test]
fn keys_by_aes_are_those_of_the_twin() {
    let mut keys = Keys::new();
    let mut numbers = Numbers(24_13);
    let bases = aes_bases(&mut keys.processor, &mut numbers);
    let from = entered2(&mut keys.processor, VariableType::PinProt, PIN_IN, &AES_TRANSPORT);
    let (four, field) = (profile("ISO-4", ""), field4("1234", 7));
    let given = under4(&AES_TRANSPORT, PAN, &field);
    let aes_fields = [
        aes(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "ECB"]),
        aes(VariableType::Mac, &["GENERATE", "CMAC"]),
        aes(VariableType::PinProt, PIN_OUT),
    ];
    let double = [keys.des("CIPHER", &[]), keys.des("MAC", &[]), keys.des("OPINENC", &[])];
    let mut right = 0;
    let (mut lines, mut requests) = (Vec::new(), Vec::new());
    for number in 0..cases() {
        let (value, base) = &bases[numbers.below(24) as usize];
        let at = numbers.below(4) as usize;
        let (word, usage) =
            [("K1DATA", 0x3002_u16), ("K2MAC", 0x2002), ("K3PIN", 0x1000), ("K3IPEK", 0x8001)][at];
        let own = [16, 24, 32].iter().position(|bytes| *bytes == value.len()).unwrap();
        let kind = if at == 3 { 2 + own as u16 } else { numbers.below(5) as u16 };
        let bits = [128_u16, 192, 128, 192, 256][usize::from(kind)];
        let counter = match (at, number % 2) {
            (3, _) => 0,
            (_, 0) => {
                let set = 1 + numbers.below(16) as u32;
                numbers.counter(32, set)
            }
            _ => [0, numbers.counter(32, 17), 0xFFFF_0001][numbers.below(3) as usize],
        };
        let mut data = [&[1, 1][..], &usage.to_be_bytes(), &kind.to_be_bytes(), &bits.to_be_bytes()].concat();
        data.extend(numbers.bytes(8));
        data.extend(counter.to_be_bytes());
        if at == 3 && number % 2 == 1 {
            data[numbers.below(8) as usize] ^= 1 << numbers.below(8);
        }
        lines.push(format!("aes-key {} {} {usage:04X}", hexadecimal(value), hexadecimal(&data)));
        let request = if at == 3 {
            unique(&["A-DUKPT", word, "TR31-TOK"], base, &data, [&[]; 3], &keys.aes_exporter)
        } else {
            let field = [&double, &double, &aes_fields, &aes_fields, &aes_fields][usize::from(kind)];
            unique(&["A-DUKPT", word], base, &data, in_field(word, &field[at]), &[])
        };
        requests.push((at, kind, request.points(everything())));
    }
    for ((line, (at, kind, request)), expected) in lines.iter().zip(&requests).zip(answers(&lines)) {
        let reply = request.run(&mut keys.processor);
        // Keys of TDES of three parts have no token.
        let Some(key) = expected.filter(|_| *kind != 1) else {
            let refusals = [code::KEY_SERIAL, code::SERIAL_COUNTER, code::STRENGTH, code::KEY_LENGTH_KEYWORD];
            assert!(refusals.contains(&reply.codes), "{line}: {}", reply.codes);
            continue;
        };
        assert_eq!(reply.codes, code::OK, "{line}");
        right += 1;
        if *at == 3 {
            let payload = twin::opened(&AES_TRANSPORT, &block(&reply));
            assert_eq!(payload[2..2 + key.len()], key, "{line}");
            continue;
        }
        let token = &tokens(&reply)[*at];
        let processor = &mut keys.processor;
        match (*kind, *at) {
            (0, _) => assert_eq!(value(token), odd(&key), "{line}"),
            (_, 0) => {
                let request = encipher(token, "ECB");
                let text = request
                    .counted(
                        symmetric_algorithm_encipher::CLEAR_TEXT_LENGTH,
                        symmetric_algorithm_encipher::CLEAR_TEXT,
                        [0x5A; 32],
                    )
                    .run(processor);
                let text = text.bytes(symmetric_algorithm_encipher::CIPHER_TEXT);
                assert_eq!(text, aes_ecb(&key, true, &[0x5A; 32]), "{line}");
            }
            (_, 1) => {
                let mac = mac2(token, &["AES"], b"a text").run(processor).bytes(mac_generate2::MAC_TEXT);
                assert_eq!(mac, cmac_aes(&key, b"a text"), "{line}");
            }
            _ => {
                let sides = ((&from[..], &token[..]), (&four[..], &four[..]), (PAN, PAN));
                let reply = translate2(&["TRANSLAT"], sides, &given).run(processor);
                let block = reply.bytes(encrypted_pin_translate2::OUTPUT_PIN_BLOCK);
                assert_eq!(block, under4(&key, PAN, &field), "{line}");
            }
        }
    }
    assert!(right > cases() / 4 && right < cases() * 3 / 4, "{right}");
}
