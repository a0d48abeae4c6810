//! Clear_Key_Import and Clear_Key_Import_Multiple.

use verb_requests::peer;
use verb_requests::support::{
    Request, aes_key, compatible_processor, generated, import, imported, processor, skeleton, sym_key, text,
};
use wire::code;
use wire::verb::{Verb, clear_key_import, clear_key_import_multiple as multiple};

const TARGET: usize = multiple::TARGET_KEY_IDENTIFIER;

fn single(key: &[u8], target: &[u8]) -> Request {
    Request::new(Verb::ClearKeyImport)
        .bytes(clear_key_import::CLEAR_KEY, key)
        .bytes(clear_key_import::TARGET_KEY_IDENTIFIER, target)
}

#[test]
fn compatible_des_tokens_are_what_the_original_method_makes() {
    let mut processor = compatible_processor();
    let odd: Vec<u8> = (0..24u8)
        .map(|index| 2 * index + 1)
        .map(|byte| byte ^ u8::from(byte.count_ones() % 2 == 0))
        .collect();
    for (length, left) in
        [(8, 0x0000_7D00_0300_0000u64), (16, 0x0000_7D00_0341_0000), (24, 0x0000_7D00_0360_0000)]
    {
        let key = &odd[..length];
        let right = match length {
            8 => 0,
            16 => 0x0000_7D00_0321_0000,
            _ => left,
        };
        let reply = import("DES", key).ok(&mut processor);
        let token = reply.bytes(TARGET);
        let halves = [left.to_be_bytes(), right.to_be_bytes(), left.to_be_bytes()];
        let wrapped = peer::wrap_des(&sym_key(false), halves, key);
        let mut expected = vec![0; 64];
        expected[0] = 1;
        expected[6] = 0xC0;
        let digest = openssl::sha::sha1(&[&[1], sym_key(false).as_slice()].concat());
        expected[8..16].copy_from_slice(&digest[..8]);
        for (index, part) in wrapped.chunks(8).enumerate() {
            let at = [16, 24, 48][index];
            expected[at..at + 8].copy_from_slice(part);
        }
        expected[32..40].copy_from_slice(&left.to_be_bytes());
        expected[40..48].copy_from_slice(&right.to_be_bytes());
        let sum = expected[..60]
            .chunks(4)
            .fold(0u32, |sum, word| sum.wrapping_add(u32::from_be_bytes(word.try_into().unwrap())));
        expected[60..].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(token, expected, "{length}");
        assert_eq!(peer::unwrap_token(&sym_key(false), &token), key);
        if length == 8 {
            assert_eq!(
                single(key, &[0; 64]).ok(&mut processor).bytes(clear_key_import::TARGET_KEY_IDENTIFIER),
                token
            );
        }
    }
}

#[test]
fn compatible_aes_tokens_are_cbc_under_the_master_key() {
    let mut processor = compatible_processor();
    for length in [16, 24, 32] {
        let key = text(length);
        let token = import("AES", &key).ok(&mut processor).bytes(TARGET);
        let mut padded = key.clone();
        padded.resize(32, 0);
        assert_eq!(token[16..48], peer::aes_cbc(&aes_key(false), &[0; 16], true, &padded));
        let digest = openssl::sha::sha256(&[&[1], aes_key(false).as_slice()].concat());
        assert_eq!(token[8..16], digest[..8]);
        assert_eq!(token[..8], [1, 0, 0, 0, 4, 0, 0xC0, 0]);
        assert_eq!(token[56..60], [(length >> 5) as u8, (length << 3) as u8, 0, 32]);
    }
}

#[test]
fn even_parity_is_told_and_kept() {
    let mut processor = processor();
    let reply = single(&[2; 8], &[0; 64]).run(&mut processor);
    assert_eq!(reply.codes, code::OK);
    let reply = single(&[3; 8], &[0; 64]).run(&mut processor);
    assert_eq!(reply.codes, code::PARITY_NOT_ODD);
    let token = reply.bytes(clear_key_import::TARGET_KEY_IDENTIFIER);
    assert_eq!(peer::unwrap_token(&sym_key(false), &token), [3; 8]);
}

#[test]
fn a_target_gives_the_control_vector_of_a_data_key() {
    let mut processor = processor();
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let token = import("DES", &[2; 16]).bytes(TARGET, &zero).ok(&mut processor).bytes(TARGET);
    assert_eq!((token[4], token[6], token[59]), (1, 0x80, 0x10));
    assert_eq!(token[32..48], [0; 16]);
    assert_eq!(peer::unwrap_token(&sym_key(false), &token), [2; 16]);
    let maced = skeleton(&mut processor, "DATAM", &[]);
    let token = import("DES", &[2; 16]).bytes(TARGET, &maced).ok(&mut processor).bytes(TARGET);
    assert_eq!(token[32..48], maced[32..48]);
    let other = generated(&mut processor, "MAC", "DOUBLE");
    import("DES", &[2; 16]).bytes(TARGET, &other).refused(&mut processor, code::CONTROL_VECTOR_NOT_DATA);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    for length in [0, 7, 9, 15, 23, 25, 32] {
        import("DES", &text(length)).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
    for length in [0, 8, 15, 31, 33] {
        import("AES", &text(length)).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
    import("RSA", &text(16)).refused(&mut processor, code::KEYWORD);
    import("AES", &text(16))
        .integer(multiple::CLEAR_KEY_LENGTH, 15)
        .refused(&mut processor, code::INVALID_PARAMETER);
    import("AES", &text(16)).bytes(TARGET, b"MY.LABEL").refused(&mut processor, code::LABEL_NOT_FOUND);
    let des = imported(&mut processor, "DES", &[2; 8]);
    import("AES", &text(16)).bytes(TARGET, des).refused(&mut processor, code::TOKEN_INVALID);
    single(&[2; 7], &[0; 64]).refused(&mut processor, code::INVALID_PARAMETER);
    import("DES", &[2; 16])
        .domain(verb_requests::support::EMPTY_DOMAIN)
        .refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    import("AES", &[2; 16])
        .domain(verb_requests::support::EMPTY_DOMAIN)
        .refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}
