//! External tokens of variable length under AES key-encrypting keys: tested, narrowed, translated, and their payloads
//! changed.

use super::ROOM;
use super::key_test2::{pattern, test2};
use crate::variable::parsed;
use cca::Processor;
use token::VariableToken;
use token::variable::{Attributes, Completeness, PayloadVersion, Pedigree, VariableType};
use verb_requests::support::*;
use verb_requests::uses::ways::{AES_TRANSPORT, entered2, export2, import2, part2, skeleton_of};
use verb_requests::wrapped::{made, plain, unwrapped};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, key_part_import2, key_test2, key_translate2 as ktr2, prohibit_export2 as pex2,
    restrict_key_attribute as rka, symmetric_key_import2 as syi2,
};
use wire::{Codes, code};

/// Another key-encrypting key.
const OTHER: [u8; 32] = [0x6B; 32];

fn tested(token: &[u8], algorithm: &str, kek: &[u8]) -> Request {
    test2(token, &[algorithm, "GENERATE", "IKEK-AES"]).counted(
        key_test2::KEK_KEY_IDENTIFIER_LENGTH,
        key_test2::KEK_KEY_IDENTIFIER,
        kek,
    )
}

fn narrowed(token: &[u8], words: &[&str], kek: &[u8]) -> Request {
    Request::new(Verb::RestrictKeyAttribute)
        .rules(&[words, &["IKEK-AES"]].concat())
        .counted(rka::KEY_IDENTIFIER_LENGTH, rka::KEY_IDENTIFIER, token)
        .counted(rka::KEK_KEY_IDENTIFIER_LENGTH, rka::KEK_KEY_IDENTIFIER, kek)
}

fn prohibited(token: &[u8], algorithm: &str, kek: &[u8]) -> Request {
    Request::new(Verb::ProhibitExport2)
        .rules(&[algorithm, "IKEK-AES"])
        .counted(pex2::KEY_IDENTIFIER_LENGTH, pex2::KEY_IDENTIFIER, token)
        .counted(pex2::KEK_KEY_IDENTIFIER_LENGTH, pex2::KEK_KEY_IDENTIFIER, kek)
}

fn translated(words: &[&str], token: &[u8], input: &[u8], output: &[u8]) -> Request {
    Request::new(Verb::KeyTranslate2)
        .rules(words)
        .counted(ktr2::INPUT_KEY_TOKEN_LENGTH, ktr2::INPUT_KEY_TOKEN, token)
        .counted(ktr2::INPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::INPUT_KEK_KEY_IDENTIFIER, input)
        .counted(ktr2::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::OUTPUT_KEK_KEY_IDENTIFIER, output)
        .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, ROOM)
}

fn attributes(key_type: VariableType, keywords: &[&str]) -> Attributes {
    Attributes::new(key_type, keywords.iter().copied(), None).unwrap()
}

fn cipher(keywords: &[&str]) -> Vec<u8> {
    made(&AES_TRANSPORT, &attributes(VariableType::Cipher, keywords), PayloadVersion::Variable, &text(16))
}

fn with(points: &[Point]) -> &'static PointSet {
    let mut set = BUILT_IN[0].points;
    points.iter().for_each(|point| set.allow(*point));
    Box::leak(Box::new(set))
}

/// Key-encrypting keys of this side and these uses.
fn importer(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Importer, words, value)
}

fn exporter(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Exporter, words, value)
}

/// One of each kind of token, with the keyword of its algorithm.
fn samples(kek: &[u8]) -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let mut samples = Vec::new();
    for payload in [PayloadVersion::Variable, PayloadVersion::Fixed] {
        for bytes in [16, 24, 32] {
            for (key_type, words) in [
                (VariableType::Cipher, &["GCM"][..]),
                (VariableType::Exporter, &[]),
                (VariableType::Importer, &[]),
            ] {
                let token = made(kek, &attributes(key_type, words), payload, &text(bytes));
                samples.push(("AES", token, text(bytes)));
            }
        }
    }
    for bytes in [10, 20, 32, 200] {
        let of = attributes(VariableType::Hmac, &["GENERATE"]);
        samples.push(("HMAC", made(kek, &of, PayloadVersion::Variable, &text(bytes)), text(bytes)));
    }
    samples
}

#[test]
fn a_pattern_outside_is_that_of_the_key_inside() {
    let mut processor = processor();
    let both = [
        importer(&mut processor, &[], &AES_TRANSPORT),
        exporter(&mut processor, &[], &AES_TRANSPORT),
        // Whatever else it may do.
        importer(&mut processor, &["GEN-PUB"], &AES_TRANSPORT),
        exporter(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
    ];
    for (algorithm, token, _) in samples(&AES_TRANSPORT) {
        let inside =
            import2(algorithm, &token, &both[0]).ok(&mut processor).bytes(syi2::TARGET_KEY_IDENTIFIER);
        let methods: &[&str] =
            if algorithm == "AES" { &["SHA-256", "ENC-ZERO", "CMACZERO"] } else { &["SHA2VP1"] };
        for method in methods {
            let expected = pattern(&mut processor, &inside, &[algorithm, "GENERATE", method]);
            for kek in &both {
                let request = tested(&token, algorithm, kek).rules(&[algorithm, "GENERATE", method]);
                assert_eq!(request.ok(&mut processor).bytes(key_test2::VERIFICATION_PATTERN), expected);
                let request =
                    tested(&token, algorithm, kek).rules(&[algorithm, "VERIFY", method, "IKEK-AES"]);
                let verified = |value: &[u8]| {
                    let (length, at) =
                        (key_test2::VERIFICATION_PATTERN_LENGTH, key_test2::VERIFICATION_PATTERN);
                    request.clone().counted(length, at, value)
                };
                verified(&expected).ok(&mut processor);
                let mut wrong = expected.clone();
                wrong[0] ^= 1;
                assert_eq!(verified(&wrong).told(&mut processor).codes, code::VERIFICATION_FAILED);
            }
        }
        let other = if algorithm == "AES" { "HMAC" } else { "AES" };
        tested(&token, other, &both[0]).refused(&mut processor, code::TOKEN_INVALID);
    }
    tested(&cipher(&[]), "DES", &both[0])
        .rules(&["DES", "GENERATE"])
        .refused(&mut processor, code::TOKEN_INVALID);
}

/// Whatever is wrong with a token is one refusal, in every verb that opens it: nothing tells a wrong key from a changed
/// byte.
#[test]
fn a_changed_token_and_another_key_are_one_refusal() {
    let mut processor = processor();
    let into = importer(&mut processor, &[], &AES_TRANSPORT);
    let passing = importer(&mut processor, &["TRANSLAT"], &AES_TRANSPORT);
    let going = exporter(&mut processor, &["TRANSLAT"], &OTHER);
    let requests = |token: &[u8]| {
        [
            tested(token, "AES", &into),
            narrowed(token, &["AES"], &into),
            prohibited(token, "AES", &into),
            translated(&["AES"], token, &passing, &going),
            translated(&["V0PYLD"], token, &passing, &[]),
            translated(&["AES", "V1PYLD"], token, &passing, &[]),
        ]
    };
    for request in requests(&cipher(&[])) {
        request.ok(&mut processor);
    }
    let token = cipher(&[]);
    let payload_at = parsed(&token).head().len();
    for at in 0..token.len() {
        for bit in [0x01, 0x80] {
            let mut changed = token.clone();
            changed[at] ^= bit;
            for request in requests(&changed) {
                let codes = request.told(&mut processor).codes;
                // What is bound to the key stands in its head: a head that says nothing is refused as such, or by
                // what it says the key is.
                assert_eq!(codes.return_code, 8, "byte {at}");
                assert!(at < payload_at || codes == code::TOKEN_INVALID, "byte {at}: {codes:?}");
            }
        }
    }
    for other in [&OTHER[..], &AES_TRANSPORT[..16]] {
        let of = attributes(VariableType::Cipher, &[]);
        for request in requests(&made(other, &of, PayloadVersion::Variable, &text(16))) {
            request.refused(&mut processor, code::TOKEN_INVALID);
        }
    }
    // Internal tokens of the same key do not pass for external ones, nor the reverse.
    let inside = import2("AES", &token, &into).ok(&mut processor).bytes(syi2::TARGET_KEY_IDENTIFIER);
    translated(&["AES"], &inside, &passing, &going).refused(&mut processor, code::TOKEN_INVALID);
    let head = parsed(&token).head().len();
    let mixed = [&token[..head], &inside[parsed(&inside).head().len()..]].concat();
    for request in requests(&mixed) {
        request.refused(&mut processor, code::TOKEN_INVALID);
    }
    // Without a key-encrypting key, with one of DES, or an external token in its place.
    let des = generated(&mut processor, "IMPORTER", "DOUBLE");
    for kek in [&[][..], &[0; 64], &des, &token] {
        tested(&token, "AES", kek).refused(&mut processor, code::TOKEN_INVALID);
        narrowed(&token, &["AES"], kek).refused(&mut processor, code::TOKEN_INVALID);
        prohibited(&token, "AES", kek).refused(&mut processor, code::TOKEN_INVALID);
        translated(&["AES"], &token, kek, &going).refused(&mut processor, code::TOKEN_INVALID);
        translated(&["AES"], &token, &passing, kek).refused(&mut processor, code::TOKEN_INVALID);
        translated(&["V1PYLD"], &token, kek, &going).refused(&mut processor, code::TOKEN_INVALID);
    }
    let label = wire::Label::new("A.KEK").unwrap().to_field();
    tested(&token, "AES", &label).refused(&mut processor, code::LABEL_NOT_FOUND);
}

#[test]
fn what_is_narrowed_outside_comes_in_narrow() {
    let mut processor = processor();
    let (into, out) = (
        importer(&mut processor, &["IMPORT"], &AES_TRANSPORT),
        exporter(&mut processor, &["EXPORT"], &AES_TRANSPORT),
    );
    for (algorithm, token, key) in samples(&AES_TRANSPORT) {
        for kek in [&into, &out] {
            let one =
                narrowed(&token, &[algorithm, "NOEXUASY"], kek).ok(&mut processor).bytes(rka::KEY_IDENTIFIER);
            let all = narrowed(&one, &[algorithm], kek).ok(&mut processor).bytes(rka::KEY_IDENTIFIER);
            let named =
                narrowed(&token, &[algorithm, "NOEXPORT"], kek).ok(&mut processor).bytes(rka::KEY_IDENTIFIER);
            let prohibited =
                prohibited(&token, algorithm, kek).ok(&mut processor).bytes(pex2::KEY_IDENTIFIER);
            // Nothing in an external token is random.
            assert!(all == named && named == prohibited, "{algorithm}");
            if key.len() <= 32 && [16, 24, 32].contains(&key.len()) {
                assert_eq!(plain(&AES_TRANSPORT, &all, 30), Some(key.clone()));
            }
            let [before, after] = [&token, &all].map(|token| parsed(token));
            assert_eq!(after.payload_version(), before.payload_version());
            assert_eq!(after.attributes().usage(), before.attributes().usage());
            assert_eq!(after.attributes().management()[1..], before.attributes().management()[1..]);
            assert_eq!(after.attributes().management()[0], 0x00C8);
            let inside =
                import2(algorithm, &all, &into).ok(&mut processor).bytes(syi2::TARGET_KEY_IDENTIFIER);
            assert_eq!(parsed(&inside).attributes(), after.attributes());
            export2(algorithm, &inside, &out).refused(&mut processor, code::KEY_USAGE);
            // Nor does the narrow key go under the wide head.
            let head = before.head().len();
            let mixed = [&token[..head], &all[head..]].concat();
            import2(algorithm, &mixed, &into).refused(&mut processor, code::TOKEN_INVALID);
        }
    }
    narrowed(&cipher(&[]), &["AES", "XPRT-SYM"], &into).refused(&mut processor, code::KEYWORD);
    narrowed(&cipher(&[]), &["HMAC"], &into).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn a_key_goes_from_one_key_encrypting_key_to_another_as_it_is() {
    let mut processor = processor();
    let from = importer(&mut processor, &["TRANSLAT"], &AES_TRANSPORT);
    let to = exporter(&mut processor, &["TRANSLAT"], &OTHER);
    for (algorithm, token, key) in samples(&AES_TRANSPORT) {
        for words in [&[][..], &[algorithm], &["TRANSLAT"], &[algorithm, "TRANSLAT"]] {
            let reply = translated(words, &token, &from, &to).ok(&mut processor);
            let made = reply.bytes(ktr2::OUTPUT_KEY_TOKEN);
            assert_eq!(reply.integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH), made.len() as i64);
            let [before, after] = [&token, &made].map(|token| parsed(token));
            assert_eq!(after.attributes(), before.attributes());
            assert_eq!(after.payload_version(), before.payload_version());
            if [16, 24, 32].contains(&key.len()) {
                assert_eq!(plain(&OTHER, &made, 30), Some(key.clone()));
                assert_eq!(plain(&AES_TRANSPORT, &made, 30), None);
            }
        }
        let short = translated(&[], &token, &from, &to)
            .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, token.len() as i64 - 1);
        short.refused(&mut processor, code::BUFFER_TOO_SMALL);
        let other = if algorithm == "AES" { "HMAC" } else { "AES" };
        translated(&[other], &token, &from, &to).refused(&mut processor, code::TOKEN_INVALID);
        translated(&["DES"], &token, &from, &to).refused(&mut processor, code::TOKEN_INVALID);
    }
    for words in [["HMAC", "REFORMAT"], ["HMAC", "V0PYLD"], ["HMAC", "V1PYLD"], ["HMAC", "WRAP-ECB"]] {
        translated(&words, &cipher(&[]), &from, &to).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    translated(&["AES", "REFORMAT"], &cipher(&[]), &from, &to).refused(&mut processor, code::TOKEN_INVALID);
}

/// A tenant may do with a key-encrypting key what its usage fields say, and nothing by another verb.
#[test]
fn each_use_of_a_key_encrypting_key_is_its_own() {
    let mut processor = processor();
    let token = cipher(&[]);
    let uses = [
        ("IMPORT", "EXPORT"),
        ("TRANSLAT", "TRANSLAT"),
        ("GEN-OPIM", "GEN-OPEX"),
        ("GEN-IMEX", "GEN-IMEX"),
        ("GEN-IMIM", "GEN-EXEX"),
        ("GEN-PUB", "GEN-PUB"),
    ];
    let good = (
        importer(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
        exporter(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
    );
    for (at, (receiving, sending)) in uses.iter().enumerate() {
        let keks = [
            importer(&mut processor, &[receiving], &AES_TRANSPORT),
            exporter(&mut processor, &[sending], &AES_TRANSPORT),
        ];
        let expected = |is_permitted: bool| if is_permitted { code::OK } else { code::KEY_USAGE };
        for kek in &keks {
            assert_eq!(narrowed(&token, &["AES"], kek).told(&mut processor).codes, expected(at == 0));
            assert_eq!(prohibited(&token, "AES", kek).told(&mut processor).codes, expected(at == 0));
            let payload = translated(&["AES", "V1PYLD"], &token, kek, &[]);
            assert_eq!(payload.told(&mut processor).codes, expected(at == 1));
            tested(&token, "AES", kek).ok(&mut processor);
        }
        let [receiving, sending] = &keks;
        for (input, output, is_permitted) in [
            (receiving, &good.1, at == 1),
            (&good.0, sending, at == 1),
            // The sides are not each other's.
            (sending, &good.1, false),
            (&good.0, receiving, false),
            (&good.1, &good.0, false),
        ] {
            let codes = translated(&["AES"], &token, input, output).told(&mut processor).codes;
            assert_eq!(codes, expected(is_permitted));
        }
    }
    // Keys that wrap other kinds or algorithms test, narrow and translate none of these.
    for words in
        [&["WR-KEK", "WR-AES"][..], &["WR-DATA", "WR-HMAC"], &["WR-DATA", "WR-DES"], &["WR-PIN", "WR-RSA"]]
    {
        let narrow = |side: &'static str| [words, &["TRANSLAT", side]].concat();
        let kek = importer(&mut processor, &narrow("IMPORT"), &AES_TRANSPORT);
        let out = exporter(&mut processor, &narrow("EXPORT"), &AES_TRANSPORT);
        for request in [
            tested(&token, "AES", &kek),
            tested(&token, "AES", &out),
            narrowed(&token, &["AES"], &kek),
            prohibited(&token, "AES", &out),
            translated(&["AES"], &token, &kek, &good.1),
            translated(&["AES"], &token, &good.0, &out),
            translated(&["V1PYLD"], &token, &kek, &[]),
        ] {
            request.refused(&mut processor, code::KEY_USAGE);
        }
    }
    let idle = importer(&mut processor, &["TRANSLAT", "UDX-ONLY"], &AES_TRANSPORT);
    translated(&["AES"], &token, &idle, &good.1).refused(&mut processor, code::KEY_USAGE);
    tested(&token, "AES", &idle).refused(&mut processor, code::KEY_USAGE);
}

/// What may not leave does not by way of a third key-encrypting key either.
#[test]
fn keys_that_may_not_leave_are_not_translated() {
    let mut processor = processor();
    let (from, to) = (
        importer(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
        exporter(&mut processor, &["TRANSLAT"], &OTHER),
    );
    for word in ["NOEX-SYM", "NOEX-AES"] {
        translated(&["AES"], &cipher(&[word]), &from, &to).refused(&mut processor, code::KEY_USAGE);
        // Nor once its payload has another form, which is not to leave.
        let made = translated(&["AES", "V1PYLD"], &cipher(&[word]), &from, &[]).ok(&mut processor);
        let made = made.bytes(ktr2::OUTPUT_KEY_TOKEN);
        assert_eq!(parsed(&made).attributes(), parsed(&cipher(&[word])).attributes());
        translated(&["AES"], &made, &from, &to).refused(&mut processor, code::KEY_USAGE);
    }
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    for state in [Completeness::Sufficient, Completeness::OneMissing, Completeness::TwoMissing] {
        let of = attributes(VariableType::Cipher, &[]).made(Pedigree::ClearParts, state);
        let part = made(&AES_TRANSPORT, &of, PayloadVersion::Variable, &text(16));
        for request in [
            translated(&["AES"], &part, &from, &to),
            translated(&["V0PYLD"], &part, &from, &[]),
            narrowed(&part, &["AES"], &into),
            prohibited(&part, "AES", &into),
        ] {
            request.refused(&mut processor, code::KEY_USAGE);
        }
    }
}

#[test]
fn payloads_change_outside_under_the_key_that_they_are_under() {
    let mut processor = processor();
    let both = [
        importer(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
        exporter(&mut processor, &["TRANSLAT"], &AES_TRANSPORT),
    ];
    let aes = samples(&AES_TRANSPORT).into_iter().filter(|(algorithm, ..)| *algorithm == "AES");
    for (_, token, key) in aes {
        for kek in &both {
            for (word, version) in [("V0PYLD", PayloadVersion::Variable), ("V1PYLD", PayloadVersion::Fixed)] {
                let reply = translated(&["AES", word], &token, kek, &[]).ok(&mut processor);
                let of = parsed(&token).attributes().clone();
                assert_eq!(reply.bytes(ktr2::OUTPUT_KEY_TOKEN), made(&AES_TRANSPORT, &of, version, &key));
            }
        }
    }
    // The output key is not looked at.
    translated(&["V1PYLD"], &cipher(&[]), &both[0], &OTHER).ok(&mut processor);
    for (key_type, words) in [(VariableType::Mac, &["GENERATE"][..]), (VariableType::Hmac, &["GENERATE"])] {
        let version = VariableToken::default_payload(key_type);
        let token = made(&AES_TRANSPORT, &attributes(key_type, words), version, &text(16));
        for word in ["V0PYLD", "V1PYLD"] {
            translated(&[word], &token, &both[0], &[]).refused(&mut processor, code::KEY_USAGE);
        }
    }
}

#[test]
fn a_key_under_a_weaker_one_says_so_or_is_refused() {
    let mut processor = processor();
    let weak = &AES_TRANSPORT[..16];
    let of = attributes(VariableType::Cipher, &[]);
    let strong = made(&OTHER, &of, PayloadVersion::Variable, &text(32));
    let weakened = made(weak, &of, PayloadVersion::Variable, &text(32));
    let words = &["TRANSLAT"];
    let (from_strong, to_weak) =
        (importer(&mut processor, words, &OTHER), exporter(&mut processor, words, weak));
    let (from_weak, to_strong) =
        (importer(&mut processor, words, weak), exporter(&mut processor, words, &OTHER));
    let out = translated(&["AES"], &strong, &from_strong, &to_weak);
    let back = translated(&["AES"], &weakened, &from_weak, &to_strong);
    out.refused(&mut processor, code::STRENGTH);
    back.refused(&mut processor, code::STRENGTH);
    out.clone().points(with(&[Point::WeakImport])).refused(&mut processor, code::STRENGTH);
    back.clone().points(with(&[Point::WeakTransport])).refused(&mut processor, code::STRENGTH);
    for (request, point, kek) in [(&out, Point::WeakTransport, weak), (&back, Point::WeakImport, &OTHER[..])]
    {
        let made = request.clone().points(with(&[point])).ok(&mut processor).bytes(ktr2::OUTPUT_KEY_TOKEN);
        assert_eq!(parsed(&made).attributes().management()[1], 0x0004);
        assert_eq!(plain(kek, &made, 30), Some(text(32)));
    }
    let import = importer(&mut processor, &["IMPORT"], weak);
    let narrow = narrowed(&weakened, &["AES"], &import);
    narrow.refused(&mut processor, code::STRENGTH);
    narrow.points(with(&[Point::WeakTransport])).ok(&mut processor);
    let payload = translated(&["V1PYLD"], &weakened, &from_weak, &[]);
    payload.refused(&mut processor, code::STRENGTH);
    payload.points(with(&[Point::WeakTransport])).ok(&mut processor);
}

#[test]
fn key_encrypting_keys_under_the_old_master_key_come_back_renewed() {
    let mut processor = processor();
    let old = |processor: &mut Processor, key_type, words: &[&str], value: &[u8]| {
        let first = part2("AES", &["FIRST", "MIN1PART"], value, &skeleton_of(key_type, words));
        let first = first.domain(OLDER_DOMAIN).ok(processor).bytes(key_part_import2::KEY_IDENTIFIER);
        let whole = part2("AES", &["COMPLETE"], &[], &first).domain(OLDER_DOMAIN);
        whole.ok(processor).bytes(key_part_import2::KEY_IDENTIFIER)
    };
    let token = cipher(&[]);
    let into = old(&mut processor, VariableType::Importer, &["IMPORT", "TRANSLAT"], &AES_TRANSPORT);
    let out = old(&mut processor, VariableType::Exporter, &["TRANSLAT"], &OTHER);
    let renewed = |reply: &Reply, at: usize, value: &[u8]| {
        assert_eq!(reply.codes, code::OLD_MASTER_KEY);
        assert_eq!(unwrapped(&aes_key(false), &reply.bytes(at)), Some(value.to_vec()));
    };
    renewed(
        &tested(&token, "AES", &into).told(&mut processor),
        key_test2::KEK_KEY_IDENTIFIER,
        &AES_TRANSPORT,
    );
    renewed(&narrowed(&token, &["AES"], &into).told(&mut processor), rka::KEK_KEY_IDENTIFIER, &AES_TRANSPORT);
    renewed(&prohibited(&token, "AES", &into).told(&mut processor), pex2::KEK_KEY_IDENTIFIER, &AES_TRANSPORT);
    let payload = translated(&["V1PYLD"], &token, &into, &[]).told(&mut processor);
    renewed(&payload, ktr2::INPUT_KEK_KEY_IDENTIFIER, &AES_TRANSPORT);
    let reply = translated(&["AES"], &token, &into, &out).told(&mut processor);
    renewed(&reply, ktr2::INPUT_KEK_KEY_IDENTIFIER, &AES_TRANSPORT);
    renewed(&reply, ktr2::OUTPUT_KEK_KEY_IDENTIFIER, &OTHER);
    let current = importer(&mut processor, &["IMPORT", "TRANSLAT"], &AES_TRANSPORT);
    let codes: Codes = code::MASTER_KEY_MISMATCH;
    tested(&token, "AES", &current).domain(OLDER_DOMAIN).refused(&mut processor, codes);
    narrowed(&token, &["AES"], &current).domain(OLDER_DOMAIN).refused(&mut processor, codes);
    translated(&["AES"], &token, &current, &out).domain(OLDER_DOMAIN).refused(&mut processor, codes);
    tested(&token, "AES", &current).domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}
