//! TR31_Key_Import.

use token::control_vector::KeyForm;
use token::tr31::uses::{Choice, Meaning, ROWS};
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::variable::VariableType;
use token::{DesToken, KeyType};
use verb_requests::chip;
use verb_requests::key_block::*;
use verb_requests::peer;
use verb_requests::support::skeleton;
use verb_requests::twin;
use verb_requests::unique;
use wire::point::Point;
use wire::verb::tr31_key_import::{
    OUTPUT_KEY_IDENTIFIER_LENGTH, WRAP_KEK_IDENTIFIER, WRAP_KEK_IDENTIFIER_LENGTH,
};
use wire::verb::{encipher, symmetric_algorithm_encipher};
use wire::{Codes, code};

const KEY: [u8; 24] = *b"Wj3=UmAd\x01\x02\x04\x07\x08\x0B\x0D\x0E8fghi?jk";

fn vector(token: &[u8]) -> token::ControlVector {
    DesToken::parse(token).unwrap().control_vector()
}

/// A block of another maker: header with usage, algorithm, mode; key of so many bytes.
fn made(version: char, codes: &str, exportability: char, bytes: usize) -> String {
    let header = format!("{version}0000{codes}00{exportability}0000");
    twin::seal(Keys::value(version), &header, &KEY[..bytes])
}

#[test]
fn keys_of_other_makers_encipher_as_they_did() {
    let mut keys = Keys::new();
    let all = with_points(&[Point::Tr31ImportA, Point::Tr31ImportC]);
    for version in ['A', 'B', 'C', 'D'] {
        let text = made(version, "D0TB", 'E', 16);
        let token = token(&keys.import(&text, &[]).points(all).ok(&mut keys.processor));
        let request = verb_requests::support::Request::new(wire::Verb::Encipher)
            .bytes(encipher::KEY_IDENTIFIER, token)
            .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, [5; 8])
            .bytes(encipher::INITIALIZATION_VECTOR, [0; 8])
            .integer(encipher::PAD_CHARACTER, 0)
            .bytes(encipher::CHAINING_VECTOR, [0; 18]);
        let reply = request.ok(&mut keys.processor);
        assert_eq!(reply.bytes(encipher::CIPHERTEXT), peer::des(&KEY[..16], true, &[5; 8]), "{version}");
    }
    for bytes in [16, 24] {
        let text = made('D', "D0AB", 'E', bytes);
        let token = token(&keys.import(&text, &[]).ok(&mut keys.processor));
        use symmetric_algorithm_encipher as sae;
        let request = verb_requests::support::Request::new(wire::Verb::SymmetricAlgorithmEncipher)
            .rules(&["AES", "KEYIDENT", "CBC", "ONLY"])
            .counted(sae::KEY_LENGTH, sae::KEY_IDENTIFIER, token)
            .counted(sae::INITIALIZATION_VECTOR_LENGTH, sae::INITIALIZATION_VECTOR, [0; 16])
            .integer(sae::BLOCK_SIZE, 16)
            .counted(sae::CLEAR_TEXT_LENGTH, sae::CLEAR_TEXT, [5; 16])
            .integer(sae::CIPHER_TEXT_LENGTH, 16);
        let reply = request.ok(&mut keys.processor);
        assert_eq!(reply.bytes(sae::CIPHER_TEXT), peer::aes_ecb(&KEY[..bytes], true, &[5; 16]));
    }
}

/// Each row by the verb: the type that comes of it, and what else is needed.
#[test]
fn every_row_comes_in_as_its_key() {
    let mut keys = Keys::new();
    let pins = with_points(&[Point::Tr31PinAnyMode, Point::Tr31SecurityCode, Point::DiversifyAny]);
    for row in ROWS {
        let usage = str::from_utf8(&row.usage).unwrap();
        let is_aes = matches!(row.meaning, Meaning::Variable(..));
        if matches!(row.meaning, Meaning::Variable(VariableType::Hmac, _)) {
            continue;
        }
        let codes = format!("{usage}{}{}", if is_aes { 'A' } else { 'T' }, row.mode as char);
        let text = made(if is_aes { 'D' } else { 'B' }, &codes, 'E', 16);
        let word = row.keyword();
        let words: Vec<&str> = word.into_iter().collect();
        let request = keys.import(&text, &words);
        if row.point.is_some() {
            request.refused(&mut keys.processor, code::ACCESS_DENIED);
        }
        if word.is_some() && !matches!(row.choice, Choice::SecurityCode | Choice::LevelOne) {
            keys.import(&text, &[]).points(pins).refused(&mut keys.processor, code::KEYWORD_REQUIRED);
        }
        if word.is_some()
            && !matches!(row.choice, Choice::SecurityCode | Choice::LevelOne | Choice::Derives(_))
        {
            keys.import(&text, &["CVK-CVV"]).points(pins).refused(&mut keys.processor, code::TYPE_AND_VECTOR);
        }
        let token = token(&request.points(pins).ok(&mut keys.processor));
        match row.meaning {
            Meaning::Des(..) => {
                assert_eq!(vector(&token), row.vector(KeyForm::Double, true).unwrap(), "{row:?}")
            }
            Meaning::Variable(key_type, _) => {
                assert_eq!(crate::variable::parsed(&token).key_type(), key_type);
            }
        }
        // A key that its maker keeps in its block is kept here.
        let text = made(if is_aes { 'D' } else { 'B' }, &codes, 'N', 16);
        let held = keys.import(&text, &words).points(pins).ok(&mut keys.processor);
        let held = verb_requests::key_block::token(&held);
        let source = [if is_aes { "VARDRV-D" } else { "VARDRV-B" }, "ENC", "ENCDEC"];
        keys.export(&held, &source).refused(&mut keys.processor, code::KEY_USAGE);
    }
}

#[test]
fn keywords_that_say_what_the_block_says_are_taken_and_others_refused() {
    let mut keys = Keys::new();
    for (codes, words, answer) in [
        ("K0TE", &["EXPORTER"][..], code::OK),
        ("K0TE", &["IMPORTER"], code::TYPE_AND_VECTOR),
        ("K0TE", &["OKEYXLAT"], code::KEYWORD),
        ("K0TD", &["IKEYXLAT"], code::KEYWORD),
        ("C0TC", &["CVK-CVV"], code::OK),
        ("C0TC", &["CVK-CSC"], code::ACCESS_DENIED),
        ("D0TB", &["CVK-CVV"], code::TYPE_AND_VECTOR),
        ("E0TX", &["DMAC", "DKYL0"], code::OK),
        ("E0TX", &["DMV"], code::KEYWORD),
        ("E0TX", &["DKYL1"], code::OK),
        ("E0TN", &["DKYL1", "DMAC"], code::OK),
        ("E0TX", &["DKYL1", "DDATA"], code::TYPE_AND_VECTOR),
        ("D0TB", &["DKYL1"], code::TYPE_AND_VECTOR),
        ("E0TX", &["DALL"], code::KEYWORD),
        ("E1TX", &["DMPIN"], code::OK),
        ("E4TX", &["DDATA", "DKYL0"], code::OK),
        ("V1TV", &["PINVER", "NOOFFSET"], code::OK),
        ("V1TV", &["PINGEN"], code::TYPE_AND_VECTOR),
        ("V1TC", &["PINGEN"], code::OK),
        ("D0TB", &["NOOFFSET"], code::TYPE_AND_VECTOR),
        ("P0TE", &["OPINENC"], code::OK),
        ("P0TE", &["IPINENC"], code::TYPE_AND_VECTOR),
        ("P0TB", &["IPINENC"], code::OK),
        ("D0TB", &["WKEY-DES"], code::KEYWORD),
        ("D0TB", &["WKEY-AES"], code::KEYWORD),
        ("D0TB", &["USECONFG"], code::OK),
        ("D0TB", &["WRAP-ECB"], code::OK),
        ("D0TB", &["WRAP-ENH"], code::OK),
        ("D0TB", &["WRAP-ENH", "ENH-ONLY"], code::OK),
        ("D0TB", &["ENH-ONLY"], code::KEYWORD_COMBINATION),
        ("K1TE", &[], code::OK),
        ("K1TB", &[], code::KEYWORD_REQUIRED),
        ("K1TB", &["IMPORTER"], code::OK),
        ("B1TX", &[], code::KEY_USAGE),
        ("E5TX", &[], code::KEYWORD_REQUIRED),
        ("E5TX", &["DKYL0"], code::TYPE_AND_VECTOR),
        ("E5TX", &["DMAC"], code::OK),
        ("E6TN", &["DMPIN"], code::ACCESS_DENIED),
        ("E5TX", &["DDATA"], code::ACCESS_DENIED),
        ("E6TX", &["DKYL1", "DMAC"], code::TYPE_AND_VECTOR),
        ("D3TE", &[], code::OK),
        ("M6TC", &[], code::OK),
        ("P0TN", &[], code::KEYWORD_REQUIRED),
        ("P0TN", &["OPINENC"], code::OK),
        ("P0TN", &["IPINENC"], code::OK),
        ("K0TN", &[], code::KEYWORD_REQUIRED),
        ("K0TN", &["IMPORTER"], code::OK),
        ("M3TN", &[], code::OK),
        ("D0TN", &[], code::OK),
        ("B0TN", &[], code::OK),
        ("V2TN", &["PINVER"], code::OK),
        ("V2TN", &["PINGEN"], code::ACCESS_DENIED),
        ("P0RE", &[], code::KEY_USAGE),
        ("00TB", &[], code::KEY_USAGE),
        ("10T1", &[], code::KEY_USAGE),
    ] {
        let request = keys.import(&made('B', codes, 'E', 16), words);
        match answer {
            code::OK => drop(request.ok(&mut keys.processor)),
            codes => request.refused(&mut keys.processor, codes),
        }
    }
    let text = made('B', "V1TV", 'E', 16);
    let narrow = token(&keys.import(&text, &["NOOFFSET"]).ok(&mut keys.processor));
    assert!(vector(&narrow).bit(37));
    let text = made('B', "D0TB", 'E', 16);
    let bound = token(&keys.import(&text, &["WRAP-ENH", "ENH-ONLY"]).ok(&mut keys.processor));
    assert!(vector(&bound).is_enhanced_only());
    // A control vector in the block that asks for the enhanced wrapping has it.
    let source = keys.export(&bound, &["VARDRV-B", "ATTR-CV"]).ok(&mut keys.processor);
    let of_vector = verb_requests::key_block::block(&source);
    keys.import(&of_vector, &["WRAP-ECB"]).refused(&mut keys.processor, code::WRAPPING_BIT);
    keys.import(&of_vector, &["WRAP-ENH"]).ok(&mut keys.processor);
    let request = import(&text, &keys.importer, &["EXTERNAL"]);
    request.refused(&mut keys.processor, code::KEYWORD);
    import(&text, &keys.importer, &["PINVER"]).refused(&mut keys.processor, code::KEYWORD_COMBINATION);
    let importer = keys.importer.clone();
    keys.import(&text, &[])
        .counted(WRAP_KEK_IDENTIFIER_LENGTH, WRAP_KEK_IDENTIFIER, importer)
        .refused(&mut keys.processor, code::TOKEN_INVALID);
    let short = keys.import(&text, &[]).integer(OUTPUT_KEY_IDENTIFIER_LENGTH, 63);
    short.refused(&mut keys.processor, code::BUFFER_TOO_SMALL);
}

/// A key of HMAC has its hash from the block HM, and is for that hash alone.
#[test]
fn keys_of_hmac_come_in_for_the_hash_that_the_block_names() {
    let mut keys = Keys::new();
    let value: [u8; 40] = std::array::from_fn(|at| (0x1D * at + 5) as u8);
    let hashes =
        [("10", "SHA-1"), ("20", "SHA-224"), ("21", "SHA-256"), ("22", "SHA-384"), ("23", "SHA-512")];
    for (number, hash) in hashes {
        let text = twin::seal(Keys::value('D'), &format!("D0000M7HC00E0200HM06{number}PB0A000000"), &value);
        let token = token(&keys.import(&text, &[]).ok(&mut keys.processor));
        for (_, other) in hashes {
            let asked = verb_requests::keys::hmac(&token, &[other, "ONLY"], b"a text");
            if other != hash {
                asked.refused(&mut keys.processor, code::KEY_USAGE);
                continue;
            }
            let made = asked.ok(&mut keys.processor).bytes(wire::verb::hmac_generate::MAC_TEXT);
            let digest = openssl::hash::MessageDigest::from_name(&hash.replace('-', "")).unwrap();
            let key = openssl::pkey::PKey::hmac(&value).unwrap();
            let expected =
                openssl::sign::Signer::new(digest, &key).unwrap().sign_oneshot_to_vec(b"a text").unwrap();
            assert_eq!(made, expected, "{hash}");
        }
    }
    // Without a hash, with one that no verb takes, or too short, it does not come in.
    for (blocks, bytes, answer) in [
        ("E0000", 40, code::TOKEN_INVALID),
        ("E0200HM0624PB0A000000", 40, code::TOKEN_INVALID),
        ("E0200HM0621PB0A000000", 8, code::KEY_LENGTH_KEYWORD),
    ] {
        let text = twin::seal(Keys::value('D'), &format!("D0000M7HC00{blocks}"), &value[..bytes]);
        keys.import(&text, &[]).refused(&mut keys.processor, answer);
    }
}

/// A base key and an issuer's key of partners that keep them in their blocks (N) derive keys, which are kept likewise:
/// a token has no keyword that says so.
#[test]
fn keys_that_stay_derive_keys_that_stay() {
    let mut keys = Keys::new();
    let processor = &mut keys.processor;
    let skeletons = ["MAC", "IPINENC"].map(|key_type| skeleton(processor, key_type, &["DOUBLE", "NO-XPORT"]));
    let text = made('B', "B0TX", 'N', 16);
    let base = token(&keys.import(&text, &[]).ok(&mut keys.processor));
    let fields = [&[0u8; 64][..], &skeletons[0], &skeletons[1]];
    let words = ["K2MAC", "K3PIN"];
    let derived = unique::unique(&words, &base, &unique::SERIAL, fields, &[0; 64]).ok(&mut keys.processor);
    let [_, mac, pin] = unique::tokens(&derived);
    let text = made('B', "E2TX", 'N', 16);
    let issuer = token(&keys.import(&text, &[]).ok(&mut keys.processor));
    let request = chip::derive(&issuer, &["TDES-ENC"], &[0x5A; 16], &skeletons[0]);
    let session = chip::derived(&request, &mut keys.processor);
    for (key, usage) in [(&mac, "ISOMAC3"), (&pin, "PINENC"), (&session, "ISOMAC3")] {
        let vector = vector(key);
        assert!(vector.bit(CONTROL_VECTOR_BIT_NO_TR31) && !vector.may(token::usage::Use::Export), "{usage}");
        let mode = if usage == "PINENC" { "DEC-ONLY" } else { "GENVER" };
        keys.export(key, &["VARDRV-B", usage, mode]).refused(&mut keys.processor, code::KEY_USAGE);
    }
    // One that could leave as a token is not derived.
    let leaving = skeleton(&mut keys.processor, "MAC", &["DOUBLE"]);
    chip::derive(&issuer, &["TDES-ENC"], &[0x5A; 16], &leaving).refused(&mut keys.processor, code::KEY_USAGE);
}

/// Every character of blocks of all versions changed: refused, and what the MAC covers with one answer.
#[test]
fn every_character_of_a_block_counts() {
    let mut keys = Keys::new();
    let all = with_points(&[Point::Tr31ImportA, Point::Tr31ImportC]);
    for version in ['A', 'B', 'C', 'D'] {
        let header = format!("{version}0000D0TB00E0200KS1800604B120F9292800000KC0C00123456");
        let header =
            if version == 'D' { format!("{header}TS0A123456").replace("E0200", "E0300") } else { header };
        let header = match header.len() % if version == 'D' { 16 } else { 8 } {
            0 => header,
            _ => {
                let count: usize = header[12..14].parse().unwrap();
                let fill = if version == 'D' { 16 } else { 8 };
                let missing = (header.len() + 4).next_multiple_of(fill) - header.len();
                let padded = format!("{header}PB{missing:02X}{}", "0".repeat(missing - 4));
                format!("{}{:02}{}", &padded[..12], count + 1, &padded[14..])
            }
        };
        let text = twin::seal(Keys::value(version), &header, &KEY[..16]);
        keys.import(&text, &[]).points(all).ok(&mut keys.processor);
        for at in 0..text.len() {
            for flip in [1u8, 2, 0x10] {
                let mut changed = text.clone().into_bytes();
                changed[at] ^= flip;
                let changed = String::from_utf8(changed).unwrap();
                let kek = if version == 'D' { &keys.aes_importer } else { &keys.importer };
                let request = import(&changed, kek, &["INTERNAL"]).points(all);
                let codes = request.told(&mut keys.processor).codes;
                assert_eq!(codes.return_code, 8, "{version} {at} {flip}: {codes}");
                if at >= header.len() {
                    let is_digit = matches!(changed.as_bytes()[at], b'0'..=b'9' | b'A'..=b'F');
                    let expected = if is_digit { code::RSA_BLOCK } else { code::TOKEN_INVALID };
                    assert_eq!(codes, expected, "{version} {at} {flip}");
                }
            }
        }
        for length in 0..text.len() {
            let cut = keys.import(&text[..length], &[]).points(all).told(&mut keys.processor).codes;
            assert_eq!(cut, code::TOKEN_INVALID, "{version} {length}");
        }
    }
}

/// Keys whose length is none, and payloads with no room for what they say, have the answer of a wrong MAC.
#[test]
fn a_wrong_length_in_a_right_block_is_told_like_a_wrong_mac() {
    let mut keys = Keys::new();
    for (codes, bits, refused) in [
        ("D0TB", 128u16, false),
        ("D0TB", 192, true),
        ("D0TB", 64, true),
        ("D0TB", 127, true),
        ("D0TB", 0, true),
        ("D0TB", 65528, true),
        ("D0DB", 64, false),
        ("D0DB", 128, true),
    ] {
        let mut payload = bits.to_be_bytes().to_vec();
        payload.extend_from_slice(&KEY[..22]);
        let header = format!("B0000{codes}00E0000");
        let text = twin::seal_payload(Keys::value('B'), &header, &payload);
        let request = keys.import(&text, &[]);
        match refused {
            true => request.refused(&mut keys.processor, code::RSA_BLOCK),
            false => drop(request.ok(&mut keys.processor)),
        }
    }
    let value: [u8; 16] = std::array::from_fn(|at| 0x31 + 7 * at as u8);
    let other = verb_requests::support::entered(&mut keys.processor, "IMPORTER", &[], &value);
    let text = made('B', "D0TB", 'E', 16);
    import(&text, &other, &["INTERNAL"]).refused(&mut keys.processor, code::RSA_BLOCK);
}

#[test]
fn only_a_key_that_protects_blocks_opens_them() {
    let mut keys = Keys::new();
    use token::variable::VariableType::Importer;
    let (des, aes) = (made('B', "D0TB", 'E', 16), made('D', "D0TB", 'E', 16));
    let value = Keys::value('B');
    let refused = |keys: &mut Keys, text: &str, kek: &[u8], codes: Codes| {
        import(text, kek, &["INTERNAL"]).refused(&mut keys.processor, codes);
    };
    let exporter = keys.exporter.clone();
    refused(&mut keys, &des, &exporter, code::KEY_USAGE);
    for (key_type, words) in
        [("IMPORTER", &["OPIM"][..]), ("IMP-PKA", &[]), ("IKEYXLAT", &[]), ("CIPHER", &[])]
    {
        let kek = verb_requests::support::entered(&mut keys.processor, key_type, words, value);
        refused(&mut keys, &des, &kek, code::KEY_USAGE);
    }
    let importer = keys.importer.clone();
    refused(&mut keys, &aes, &importer, code::TOKEN_INVALID);
    let aes_importer = keys.aes_importer.clone();
    refused(&mut keys, &des, &aes_importer, code::TOKEN_INVALID);
    let exporter = keys.aes_exporter.clone();
    refused(&mut keys, &aes, &exporter, code::KEY_USAGE);
    for words in [
        &[][..],
        &["WR-TR31", "WR-DES", "WR-PIN"],
        &["WR-TR31", "GEN-OPIM"],
        &["IMPTT31D", "WR-TR31"],
        &["IMPTT31D", "VARDRV-D", "WR-DES", "WR-PIN"],
        &["IMPORT", "VARDRV-D"],
    ] {
        let kek = verb_requests::uses::ways::entered2(&mut keys.processor, Importer, words, Keys::value('D'));
        refused(&mut keys, &aes, &kek, code::KEY_USAGE);
    }
}

#[test]
fn transport_keys_with_equal_halves_do_not_come_in() {
    let mut keys = Keys::new();
    let text = twin::seal(Keys::value('B'), "B0000K0TE00E0000", &[&KEY[..8], &KEY[..8]].concat());
    keys.import(&text, &[]).refused(&mut keys.processor, code::KEY_REPLICATED);
    assert!(KeyType::Exporter.default_vector(KeyForm::Double).is_some());
}
