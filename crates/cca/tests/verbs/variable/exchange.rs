//! Symmetric_Key_Export by AESKW and Symmetric_Key_Import2: keys of variable length under AES key-encrypting keys,
//! opened and made by OpenSSL.

use super::{generate2, generated2, parsed, skeleton2};
use cca::Processor;
use token::variable::{Attributes, Completeness, PayloadVersion, VariableType, Wrapper};
use verb_requests::support::{DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, Reply, aes_key, processor, text};
use verb_requests::uses::ways::{AES_TRANSPORT, entered2, export2, import2, skeleton_of};
use verb_requests::wrapped::{made, pattern, plain, unwrapped};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::key_generate2;
use wire::verb::{symmetric_key_export as syx, symmetric_key_import2 as syi2};
use wire::{Codes, code};

/// AES key-encrypting keys of one value.
pub struct Keks {
    pub importer: Vec<u8>,
    pub exporter: Vec<u8>,
}

impl Keks {
    pub fn new(processor: &mut Processor, value: &[u8]) -> Self {
        let importer = entered2(processor, VariableType::Importer, &[], value);
        let exporter = entered2(processor, VariableType::Exporter, &[], value);
        Self { importer, exporter }
    }
}

fn exported(reply: &Reply) -> Vec<u8> {
    reply.bytes(syx::RSA_ENCIPHERED_KEY)
}

pub fn imported(reply: &Reply) -> Vec<u8> {
    reply.bytes(syi2::TARGET_KEY_IDENTIFIER)
}

fn algorithm(key_type: VariableType) -> &'static str {
    if key_type.is_aes() { "AES" } else { "HMAC" }
}

fn attributes(key_type: VariableType, keywords: &[&str]) -> Attributes {
    Attributes::new(key_type, keywords.iter().copied(), None).unwrap()
}

/// The owner of a home, with one more point.
fn with_point(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.allow(point);
    Box::leak(Box::new(points))
}

/// One of each type that a home makes, with what it is built from.
const TYPES: &[(VariableType, &[&str])] = &[
    (VariableType::Cipher, &["ANY-MODE"]),
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

#[test]
fn keys_of_every_type_go_to_openssl_and_come_back_as_they_were() {
    let mut processor = processor();
    for kek in [&AES_TRANSPORT[..16], &AES_TRANSPORT[..24], &AES_TRANSPORT] {
        let keks = Keks::new(&mut processor, kek);
        for (key_type, keywords) in TYPES {
            for bits in [128, 192, 256] {
                if bits / 8 > kek.len() as i64 {
                    continue;
                }
                let skeleton = skeleton_of(*key_type, keywords);
                let made = generate2(algorithm(*key_type), bits, "TOKEN", &skeleton).ok(&mut processor);
                let token = made.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
                let what = format!("{key_type:?} of {bits} bits");
                let reply = export2(algorithm(*key_type), &token, &keks.exporter).ok(&mut processor);
                let external = exported(&reply);
                let key = unwrapped(&aes_key(false), &token);
                assert_eq!(plain(kek, &external, 30), key, "{what}");
                assert!(key.is_some());
                assert_eq!((external[0], external[8], external[9]), (2, 2, 2));
                assert_eq!((external[26], external[27], external[28]), (2, 2, token[28]));
                assert_eq!(external[10..26], pattern(kek));
                // Reserved bytes and everything that is bound to the key, as the internal token has it.
                let payload_at = 30 + usize::from(u16::from_be_bytes([token[32], token[33]]));
                assert_eq!(external[30..payload_at], token[30..payload_at], "{what}");
                assert_eq!(reply.integer(syx::RSA_ENCIPHERED_KEY_LENGTH), external.len() as i64);

                let back = import2(algorithm(*key_type), &external, &keks.importer).ok(&mut processor);
                let back = imported(&back);
                assert_eq!(unwrapped(&aes_key(false), &back), key, "{what}");
                assert_eq!(back, token, "{what}: nothing of it is random");
            }
        }
    }
}

#[test]
fn tokens_that_another_library_wrapped_come_in() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    for payload in [PayloadVersion::Variable, PayloadVersion::Fixed] {
        for bytes in [16, 24, 32] {
            let of = attributes(VariableType::Cipher, &["GCM", "NOEX-SYM"]);
            let external = made(&AES_TRANSPORT, &of, payload, &text(bytes));
            let token = imported(&import2("AES", &external, &keks.importer).ok(&mut processor));
            assert_eq!(unwrapped(&aes_key(false), &token), Some(text(bytes)));
            assert_eq!(parsed(&token).attributes(), &of);
            assert_eq!(parsed(&token).payload_version(), payload);
            // What comes in and may not go out stays.
            export2("AES", &token, &keks.exporter).refused(&mut processor, code::KEY_USAGE);
        }
    }
    for bytes in 10..=256 {
        let of = attributes(VariableType::Hmac, &["GENERATE"]);
        let external = made(&AES_TRANSPORT, &of, PayloadVersion::Variable, &text(bytes));
        let token = imported(&import2("HMAC", &external, &keks.importer).ok(&mut processor));
        let again = exported(&export2("HMAC", &token, &keks.exporter).ok(&mut processor));
        assert_eq!(again, external, "{bytes}");
    }
}

#[test]
fn a_key_name_that_is_given_takes_the_place_of_its_own() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let (own, other) = ("ITS.OWN", "ANOTHER");
    let [own, other] = [own, other].map(|name| wire::Label::new(name).unwrap().to_field());
    let of = attributes(VariableType::Cipher, &[]).named(Some(own)).with_user_data(b"theirs").unwrap();
    let external = made(&AES_TRANSPORT, &of, PayloadVersion::Variable, &text(16));
    let request = import2("AES", &external, &keks.importer);
    let name_of = |reply: &Reply| *parsed(&imported(reply)).attributes().name().unwrap();
    assert_eq!(name_of(&request.ok(&mut processor)), own);
    let named = request.clone().counted(syi2::USER_MOD_DATA_LENGTH, syi2::USER_MOD_DATA, other);
    let reply = named.ok(&mut processor);
    assert_eq!(name_of(&reply), other);
    assert_eq!(parsed(&imported(&reply)).attributes().user_data(), b"theirs");
    for wrong in [&other[..63], b"x"] {
        let request = request.clone().counted(syi2::USER_MOD_DATA_LENGTH, syi2::USER_MOD_DATA, wrong);
        assert_eq!(request.run(&mut processor).codes.return_code, 8);
    }
    let bad = [[0xFF; 64], [b'\n'; 64]];
    for wrong in bad {
        let request = request.clone().counted(syi2::USER_MOD_DATA_LENGTH, syi2::USER_MOD_DATA, wrong);
        assert_eq!(request.run(&mut processor).codes.return_code, 8);
    }
}

/// The bits of a transport key's usage fields, each with the types that it has to do with.
#[test]
fn a_transport_key_wraps_what_its_usage_says_and_nothing_else() {
    let mut processor = processor();
    let every = [
        "WR-DES", "WR-AES", "WR-HMAC", "WR-RSA", "WR-ECC", "WR-QSA", "WR-DATA", "WR-KEK", "WR-PIN",
        "WRDERIVE", "WR-CARD", "WR-CVAR",
    ];
    let kinds = |key_type: VariableType| match key_type {
        VariableType::Cipher | VariableType::Mac => ["WR-AES", "WR-DATA"],
        VariableType::Hmac => ["WR-HMAC", "WR-DATA"],
        VariableType::Exporter | VariableType::Importer => ["WR-AES", "WR-KEK"],
        VariableType::PinProt | VariableType::PinCalc | VariableType::PinPrw => ["WR-AES", "WR-PIN"],
        VariableType::DkyGenKy | VariableType::KdkGenKy => ["WR-AES", "WRDERIVE"],
        VariableType::SecMsg => ["WR-AES", "WR-CARD"],
    };
    let full = Keks::new(&mut processor, &AES_TRANSPORT);
    let keys: Vec<_> = TYPES
        .iter()
        .map(|(key_type, keywords)| {
            let skeleton = skeleton_of(*key_type, keywords);
            let key = generate2(algorithm(*key_type), 128, "TOKEN", &skeleton).ok(&mut processor);
            let key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
            let external = exported(&export2(algorithm(*key_type), &key, &full.exporter).ok(&mut processor));
            (*key_type, key, external)
        })
        .collect();
    let mut check =
        |exporter: &[u8], importer: &[u8], expected: &dyn Fn(VariableType) -> bool, what: &str| {
            for (key_type, key, external) in &keys {
                let codes = if expected(*key_type) { code::OK } else { code::KEY_USAGE };
                let found = export2(algorithm(*key_type), key, exporter).run(&mut processor).codes;
                assert_eq!(found, codes, "{key_type:?} out, {what}");
                let found = import2(algorithm(*key_type), external, importer).run(&mut processor).codes;
                assert_eq!(found, codes, "{key_type:?} in, {what}");
            }
        };
    let mut other = verb_requests::support::processor();
    // With all of the words, with each left out, and with each pair alone.
    let mut sets: Vec<Vec<&str>> = vec![every.to_vec()];
    sets.extend(every.iter().map(|left| every.iter().copied().filter(|word| word != left).collect()));
    sets.extend(every[..6].iter().flat_map(|one| every[6..].iter().map(move |two| vec![*one, *two])));
    for words in sets {
        let with = |words: &[&'static str], first| [&[first][..], words].concat();
        let words: Vec<&'static str> =
            words.iter().map(|word| *every.iter().find(|w| *w == word).unwrap()).collect();
        let exporter = entered2(&mut other, VariableType::Exporter, &with(&words, "EXPORT"), &AES_TRANSPORT);
        let importer = entered2(&mut other, VariableType::Importer, &with(&words, "IMPORT"), &AES_TRANSPORT);
        let expected = |key_type| kinds(key_type).iter().all(|word| words.contains(word));
        check(&exporter, &importer, &expected, &format!("{words:?}"));
    }
    // Other uses of a transport key are not these.
    for (out, back) in [
        ("TRANSLAT", "TRANSLAT"),
        ("GEN-OPEX", "GEN-OPIM"),
        ("GEN-IMEX", "GEN-IMEX"),
        ("GEN-EXEX", "GEN-IMIM"),
        ("GEN-PUB", "GEN-PUB"),
    ] {
        let exporter = entered2(&mut other, VariableType::Exporter, &[out], &AES_TRANSPORT);
        let importer = entered2(&mut other, VariableType::Importer, &[back], &AES_TRANSPORT);
        check(&exporter, &importer, &|_| false, out);
    }
    let (exporter, importer) = (
        entered2(&mut other, VariableType::Exporter, &["EXPORT", "UDX-ONLY"], &AES_TRANSPORT),
        entered2(&mut other, VariableType::Importer, &["IMPORT", "UDX-ONLY"], &AES_TRANSPORT),
    );
    check(&exporter, &importer, &|_| false, "UDX-ONLY");
    // Nor are the keys of the other side.
    check(&full.importer, &full.exporter, &|_| false, "the other side");
}

#[test]
fn what_may_not_leave_does_not() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let codes = |processor: &mut Processor, keywords: &[&str]| -> Codes {
        let token = generated2(processor, "AES", 128, &[&["CIPHER"], keywords].concat());
        export2("AES", &token, &keks.exporter).run(processor).codes
    };
    for keywords in [
        &[][..],
        &["XPRT-SYM", "XPRT-AES"],
        &["NOEX-DES", "NOEX-RSA"],
        &["NOEXUASY", "NOEXAASY", "NOEX-RAW", "NOEXCPAC"],
    ] {
        assert_eq!(codes(&mut processor, keywords), code::OK, "{keywords:?}");
    }
    for keywords in [
        &["NOEX-SYM"][..],
        &["NOEX-AES"],
        &["NOEX-SYM", "NOEX-AES", "XPRTUASY"],
        &["NOEX-AES", "XPRT-RAW", "XPRTCPAC"],
    ] {
        assert_eq!(codes(&mut processor, keywords), code::KEY_USAGE, "{keywords:?}");
    }
    // Nor a key with parts missing, a clear one, a skeleton, or one of another kind or system.
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
    for least in ["MIN1PART", "MIN2PART", "MIN3PART"] {
        let first = verb_requests::uses::ways::part2("AES", &["FIRST", least], &text(16), &skeleton);
        let part = first.ok(&mut processor).bytes(wire::verb::key_part_import2::KEY_IDENTIFIER);
        export2("AES", &part, &keks.exporter).refused(&mut processor, code::KEY_USAGE);
    }
    let clear = parsed(&skeleton).with_clear_key(&text(16)).unwrap().to_bytes().to_vec();
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let external = exported(&export2("AES", &key, &keks.exporter).ok(&mut processor));
    let fixed = verb_requests::support::imported(&mut processor, "AES", &text(16));
    let label = wire::Label::new("A.KEY").unwrap().to_field().to_vec();
    for (source, expected) in [
        (&clear, code::TOKEN_INVALID),
        (&skeleton, code::TOKEN_INVALID),
        (&external, code::TOKEN_INVALID),
        (&fixed, code::TOKEN_INVALID),
        (&label, code::LABEL_NOT_FOUND),
    ] {
        export2("AES", source, &keks.exporter).refused(&mut processor, expected);
    }
    for kek in [&clear, &skeleton, &external, &fixed] {
        let found = export2("AES", &key, kek).run(&mut processor).codes;
        assert!(matches!(found, code::KEY_USAGE | code::TOKEN_INVALID), "{found}");
    }
    export2("HMAC", &key, &keks.exporter).refused(&mut processor, code::TOKEN_INVALID);
    import2("HMAC", &external, &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn incomplete_keys_and_keys_that_are_not_wrapped_do_not_come_in() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    for least in [Completeness::Sufficient, Completeness::OneMissing, Completeness::TwoMissing] {
        let of = attributes(VariableType::Cipher, &[]);
        let of = of.made(token::variable::Pedigree::ClearParts, least);
        let external = made(&AES_TRANSPORT, &of, PayloadVersion::Variable, &text(16));
        import2("AES", &external, &keks.importer).refused(&mut processor, code::KEY_USAGE);
    }
    let skeleton = skeleton2(&mut processor, &["EXTERNAL", "AES", "CIPHER"]);
    let clear = parsed(&skeleton).with_clear_key(&text(16)).unwrap().to_bytes().to_vec();
    let internal = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let rsa = parsed(&skeleton).with_payload(Wrapper::Rsa(2), vec![7; 256]).unwrap().to_bytes().to_vec();
    for source in [&skeleton, &clear, &internal, &rsa, &vec![0; 64], &Vec::new()] {
        import2("AES", source, &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
    }
}

#[test]
fn a_key_goes_under_no_weaker_one_unless_the_role_says_so() {
    let mut processor = processor();
    let (out, back) = (with_point(Point::WeakTransport), with_point(Point::WeakImport));
    for (bits, key_type, weak) in [
        (128, VariableType::Cipher, false),
        (192, VariableType::Cipher, true),
        (256, VariableType::Cipher, true),
        (128, VariableType::Hmac, false),
        (136, VariableType::Hmac, true),
    ] {
        let keks = Keks::new(&mut processor, &AES_TRANSPORT[..16]);
        let name = algorithm(key_type);
        let made = generate2(
            name,
            bits,
            "TOKEN",
            &skeleton_of(key_type, &["GENERATE"][..usize::from(!key_type.is_aes())]),
        );
        let key = made.ok(&mut processor).bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let request = export2(name, &key, &keks.exporter);
        let history = |token: &[u8]| parsed(token).attributes().management()[1];
        if weak {
            request.refused(&mut processor, code::STRENGTH);
            request.clone().points(back).refused(&mut processor, code::STRENGTH);
        }
        let external = exported(&request.points(out).ok(&mut processor));
        // The token says that it was under a weaker key, here and from then on.
        assert_eq!(history(&external), if weak { 4 } else { 0 });
        let request = import2(name, &external, &keks.importer);
        if weak {
            request.refused(&mut processor, code::STRENGTH);
            request.clone().points(out).refused(&mut processor, code::STRENGTH);
        }
        let back = imported(&request.points(back).ok(&mut processor));
        assert_eq!(history(&back), if weak { 4 } else { 0 });
    }
    // No transport key is longer than 256 bits, which HMAC keys of every length may go under.
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let key = generated2(&mut processor, "HMAC", 2048, &["MAC", "GENERATE"]);
    export2("HMAC", &key, &keks.exporter).ok(&mut processor);
}

#[test]
fn every_changed_byte_and_length_of_an_external_token_is_refused() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    for (bits, keywords) in [
        (128, &["CIPHER", "ENCRYPT"][..]),
        (256, &["CIPHER", "V1PYLD"]),
        (192, &["MAC", "GENERATE"]),
        (256, &["EXPORTER"]),
    ] {
        let key = generated2(&mut processor, "AES", bits, keywords);
        let external = exported(&export2("AES", &key, &keks.exporter).ok(&mut processor));
        for index in 0..external.len() {
            for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
                let mut changed = external.clone();
                changed[index] ^= change;
                let reply = import2("AES", &changed, &keks.importer).run(&mut processor);
                // How long the payload is, is not bound where both versions have one of 80 bytes: nothing else differs.
                if reply.codes == code::OK && index == 28 {
                    let token = imported(&reply);
                    assert_eq!(bits, 256);
                    assert_eq!(unwrapped(&aes_key(false), &token), unwrapped(&aes_key(false), &key));
                    assert_eq!(parsed(&token).attributes(), parsed(&key).attributes());
                    continue;
                }
                assert_eq!(reply.codes.return_code, 8, "byte {index} xor {change:02X} of {keywords:?}");
                assert!(imported(&reply).is_empty());
            }
        }
        for length in 0..external.len() {
            let reply = import2("AES", &external[..length], &keks.importer).run(&mut processor);
            assert_eq!(reply.codes.return_code, 8, "{length}");
        }
        // A field may be longer than the token in it.
        let longer = [&external[..], &[7; 9]].concat();
        import2("AES", &longer, &keks.importer).ok(&mut processor);
    }
}

#[test]
fn parts_of_two_external_tokens_and_tokens_of_other_keys_open_nowhere() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let foreign = Keks::new(&mut processor, &[0x5A; 32]);
    let mut external = |kek: &Keks, keywords: &[&str]| {
        let key = generated2(&mut processor, "AES", 256, keywords);
        exported(&export2("AES", &key, &kek.exporter).ok(&mut processor))
    };
    let tokens = [
        external(&keks, &["CIPHER", "ENCRYPT", "NOEX-SYM", "XPRT-SYM"][..2]),
        external(&keks, &["CIPHER", "DECRYPT"]),
        external(&keks, &["CIPHER", "NOEXUASY"]),
        external(&foreign, &["CIPHER"]),
        external(&foreign, &["CIPHER", "ENCRYPT"]),
    ];
    let payload_at = 56;
    for (one, first) in tokens.iter().enumerate() {
        for (two, second) in tokens.iter().enumerate() {
            // Wrapping information, associated data and payload, each of one of the two.
            for of in [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]] {
                let part = |at: usize, range: std::ops::Range<usize>| {
                    let from = if of[at] == 0 { first } else { second };
                    from[range].to_vec()
                };
                let spliced =
                    [part(0, 0..30), part(1, 30..payload_at), part(2, payload_at..first.len())].concat();
                if tokens.contains(&spliced) || one == two {
                    continue;
                }
                let reply = import2("AES", &spliced, &keks.importer).run(&mut processor);
                assert_eq!(reply.codes, code::TOKEN_INVALID, "{one} {two} {of:?}");
            }
        }
    }
    // Under the wrong key, also where the token names the right one.
    import2("AES", &tokens[3], &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
    import2("AES", &tokens[0], &foreign.importer).refused(&mut processor, code::TOKEN_INVALID);
    let mut renamed = tokens[3].clone();
    renamed[10..26].copy_from_slice(&pattern(&AES_TRANSPORT));
    import2("AES", &renamed, &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
    import2("AES", &tokens[3], &foreign.importer).ok(&mut processor);
}

/// An internal token is none for another system, and the other way round, whatever its head says.
#[test]
fn internal_and_external_tokens_do_not_pass_for_one_another() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let key = generated2(&mut processor, "AES", 256, &["CIPHER"]);
    let external = exported(&export2("AES", &key, &keks.exporter).ok(&mut processor));
    let as_external = [&external[..30], &key[30..]].concat();
    import2("AES", &as_external, &keks.importer).refused(&mut processor, code::TOKEN_INVALID);
    let as_internal = [&key[..30], &external[30..]].concat();
    export2("AES", &as_internal, &keks.exporter).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn old_foreign_and_missing_master_keys() {
    let mut processor = processor();
    let old = |processor: &mut Processor, name: &str| {
        let made = generate2("AES", 256, name, &[]).domain(OLDER_DOMAIN).ok(processor);
        made.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1)
    };
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let (key, exporter) = (old(&mut processor, "CIPHER"), old(&mut processor, "EXPORTER"));
    let new = generated2(&mut processor, "AES", 256, &["CIPHER"]);
    for (key, kek) in [(&key, &keks.exporter), (&new, &exporter), (&key, &exporter)] {
        let reply = export2("AES", key, kek).domain(DOMAIN).run(&mut processor);
        assert_eq!(reply.codes, code::OLD_MASTER_KEY);
        assert!(!exported(&reply).is_empty());
    }
    let external = exported(&export2("AES", &new, &keks.exporter).ok(&mut processor));
    for (request, importer) in
        [(export2("AES", &new, &keks.exporter), false), (import2("AES", &external, &keks.importer), true)]
    {
        request.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
        request.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
        assert!(request.run(&mut processor).codes.is_ok(), "{importer}");
    }
    // An IMPORTER under the old key: what comes in is under the current one.
    let kek = old(&mut processor, "IMPORTER");
    let value = unwrapped(&aes_key(true), &kek).unwrap();
    let external = made(&value, &attributes(VariableType::Cipher, &[]), PayloadVersion::Variable, &text(32));
    let reply = import2("AES", &external, &kek).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    assert_eq!(unwrapped(&aes_key(false), &imported(&reply)), Some(text(32)));
}

#[test]
fn keywords_that_do_not_go_together() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let export = export2("AES", &key, &keks.exporter);
    let external = exported(&export.ok(&mut processor));
    let import = import2("AES", &external, &keks.importer);
    for (words, expected) in [
        (&["AESKW"][..], code::KEYWORD_COMBINATION),
        (&["DES", "AESKW"], code::KEYWORD_COMBINATION),
        (&["AES", "AESKW", "SHA-256"], code::KEYWORD_COMBINATION),
        (&["HMAC", "PKCSOAEP"], code::KEYWORD_COMBINATION),
        (&["HMAC", "PKCS-1.2"], code::KEYWORD_COMBINATION),
        (&["HMAC", "ZERO-PAD"], code::KEYWORD_COMBINATION),
        (&["DES", "AESKWCV"], code::KEYWORD),
    ] {
        export.clone().rules(words).refused(&mut processor, expected);
    }
    for words in [
        &["DES", "AESKW"][..],
        &["DES", "AESKWCV"],
        &["AES", "AESKWCV"],
        &["AES", "AESKW", "USECONFG"],
        &["AES", "AESKW", "WRAP-ENH"],
        &["AES", "AESKW", "WRAP-ECB", "ENH-ONLY"],
    ] {
        import.clone().rules(words).refused(&mut processor, code::KEYWORD);
    }
    import.clone().rules(&["AES"]).refused(&mut processor, code::KEYWORD_COUNT);
}
