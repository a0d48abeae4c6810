//! The enhanced wrapping of DES keys, and keys that may have no other (ENH-ONLY).

use crate::exchange::Keks;
use cca::Processor;
use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{
    Request, compatible_processor, generate, generated, import, mac, part, processor, skeleton, sym_key, text,
};
use verb_requests::uses::ways::TRANSPORT;
use wire::code;
use wire::verb::{
    Verb, clear_key_import_multiple as ckm, key_export as kex, key_generate as kgn, key_import as kim,
    key_part_import as kpi, key_test, key_test_extended as kytx, key_token_build as ktb,
    key_token_change as ktc, key_translate as ktr, prohibit_export as pex, prohibit_export_extended as pexx,
};

/// What is done to a token.
type Change<'c> = &'c dyn Fn(&mut [u8]);

const KEY: [u8; 24] = [
    0x10, 0x31, 0x52, 0x73, 0x94, 0xB5, 0xD6, 0xF7, 0x08, 0x29, 0x4A, 0x6B, 0x8C, 0xAD, 0xCE, 0xEF, 0x13,
    0x25, 0x37, 0x49, 0x5B, 0x6D, 0x7F, 0x91,
];

fn halves(vector: ControlVector) -> [[u8; 8]; 3] {
    [vector.left(), vector.right(), vector.left()].map(u64::to_be_bytes)
}

/// An external token as another system wraps it under the transport key.
fn theirs(vector: ControlVector, form: KeyForm, enhanced: bool) -> Vec<u8> {
    let key = &KEY[..form.key_bytes()];
    let wrap = if enhanced { peer::wrap_enhanced } else { peer::wrap_des };
    let wrapped = wrap(&TRANSPORT, halves(vector), key);
    let skeleton = DesToken::skeleton(Origin::External, form, vector).unwrap().with_enhanced(enhanced);
    skeleton.with_key([0; 8], &wrapped).unwrap().to_bytes().to_vec()
}

/// The key of an internal token.
fn inside(token: &[u8]) -> Vec<u8> {
    peer::unwrap_token(&sym_key(false), token)
}

/// The key of an external token.
fn outside(token: &[u8]) -> Vec<u8> {
    peer::unwrap_token(&TRANSPORT, token)
}

fn build(key_type: &str, keywords: &[&str]) -> Request {
    Request::new(Verb::KeyTokenBuild).bytes(ktb::KEY_TYPE, format!("{key_type:8}")).rules(keywords)
}

/// A key that may have the enhanced wrapping alone.
fn bound(processor: &mut Processor, key_type: &str) -> Vec<u8> {
    let form = skeleton(processor, key_type, &["KEYLN16", "WRAP-ENH", "ENH-ONLY"]);
    let request = generate("TOKEN", "").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, form);
    request.ok(processor).bytes(kgn::GENERATED_KEY_IDENTIFIER_1)
}

#[test]
fn keys_of_every_type_and_length_come_in_as_another_library_wraps_them() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let mut count = 0;
    for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
        for form in [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique] {
            let Some(vector) = key_type.default_vector(form) else { continue };
            let form = vector.form().unwrap();
            let bound = vector.with_bits(bit(56), true).unwrap();
            for vector in [vector, bound] {
                let token = theirs(vector, form, true);
                assert_eq!((token[7], token[4]), (0x20, 0));
                let own = keks.imported(&mut processor, &token);
                assert_eq!(inside(&own), KEY[..form.key_bytes()], "{key_type:?} {form:?}");
                assert_eq!(own[32..48], token[32..48]);
                count += 1;
            }
        }
    }
    assert!(count > 60);
    // Compatible DATA keys, whose length byte 59 says.
    for form in [KeyForm::Single, KeyForm::Double, KeyForm::Triple] {
        let token = theirs(ControlVector::ZERO, form, true);
        assert_eq!(
            (token[4], token[59]),
            if form == KeyForm::Single { (0, 0) } else { (1, 16 * (form.key_bytes() as u8 / 8 - 1)) }
        );
        let own = keks.imported(&mut processor, &token);
        assert_eq!(inside(&own), KEY[..form.key_bytes()]);
    }
}

#[test]
fn tokens_that_ask_for_it_are_made_as_another_library_opens_them() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    for (key_type, keywords) in [
        ("MAC", &["KEYLN8"][..]),
        ("MAC", &["DOUBLE"]),
        ("DATA", &["NO-CV", "DOUBLE"]),
        ("DATA", &["NO-CV", "TRIPLE"]),
        ("PINGEN", &[]),
    ] {
        let words = [&["EXTERNAL", "WRAP-ENH"], keywords].concat();
        let external = build(key_type, &words).ok(&mut processor).bytes(ktb::KEY_TOKEN);
        assert_eq!((external[6] & 0x80, external[7]), (0, 0x20), "{words:?}");
        let internal = skeleton(&mut processor, key_type, keywords);
        let length = if key_type == "DATA" { *keywords.last().unwrap() } else { "" };
        let length = if length == "TRIPLE" { "KEYLN24" } else { length };
        let request = generate("TOKEN", length)
            .bytes(kgn::KEY_FORM, "OPEX")
            .bytes(kgn::KEY_TYPE_2, "TOKEN   ")
            .bytes(kgn::KEK_KEY_IDENTIFIER_2, &keks.exporter)
            .bytes(kgn::GENERATED_KEY_IDENTIFIER_1, internal)
            .bytes(kgn::GENERATED_KEY_IDENTIFIER_2, &external);
        if key_type == "PINGEN" {
            request.refused(&mut processor, code::KEYWORD_COMBINATION);
            continue;
        }
        if length == "KEYLN24" {
            request.refused(&mut processor, code::STRENGTH);
            continue;
        }
        let reply = request.ok(&mut processor);
        let (own, external) =
            (reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_1), reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_2));
        assert_eq!(external[7], 0x20);
        assert_eq!(outside(&external), inside(&own), "{words:?}");
        // It is opened wherever an external token is.
        let test = Request::new(Verb::KeyTestExtended)
            .rules(&["GENERATE", "ENC-ZERO"])
            .bytes(kytx::KEY_IDENTIFIER, &external)
            .bytes(kytx::KEK_KEY_IDENTIFIER, &keks.exporter);
        let pattern = test.ok(&mut processor).bytes(kytx::VERIFICATION_PATTERN);
        assert_eq!(pattern[..4], peer::des(&inside(&own), true, &[0; 8])[..4]);
    }
}

/// By every verb that wraps: no key of this kind is ever under the original method.
#[test]
fn a_key_kept_from_the_original_wrapping_never_has_it() {
    for mut processor in [processor(), compatible_processor()] {
        let processor = &mut processor;
        let keks = Keks::new(processor);
        let own = bound(processor, "MAC");
        let is_bound = |token: &[u8]| token[39] & 0x80 != 0 && matches!(token[7], 0x20 | 0xC0);
        assert!(is_bound(&own));
        let external = keks.exported(processor, &own);
        assert!(is_bound(&external));
        assert_eq!(outside(&external), inside(&own));
        let back = keks.imported(processor, &external);
        assert!(is_bound(&back));
        let translated = Request::new(Verb::KeyTranslate)
            .bytes(ktr::INPUT_KEY_TOKEN, &external)
            .bytes(ktr::INPUT_KEK_KEY_IDENTIFIER, &keks.importer)
            .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, &keks.exporter)
            .ok(processor)
            .bytes(ktr::OUTPUT_KEY_TOKEN);
        assert!(is_bound(&translated));
        let kept = Request::new(Verb::ProhibitExportExtended)
            .bytes(pexx::SOURCE_KEY_TOKEN, &external)
            .bytes(pexx::KEK_KEY_IDENTIFIER, &keks.exporter)
            .ok(processor)
            .bytes(pexx::SOURCE_KEY_TOKEN);
        assert!(is_bound(&kept) && outside(&kept) == outside(&external));
        let kept = Request::new(Verb::ProhibitExport).bytes(pex::KEY_IDENTIFIER, &own).ok(processor);
        assert!(is_bound(&kept.bytes(pex::KEY_IDENTIFIER)));
        let change =
            |words: &[&str]| Request::new(Verb::KeyTokenChange).rules(words).bytes(ktc::KEY_IDENTIFIER, &own);
        change(&["RTCMK", "WRAP-ECB"]).refused(processor, code::WRAPPING_TYPE);
        // Entered in parts.
        let empty = skeleton(processor, "MAC", &["DOUBLE", "ENH-ONLY"]);
        part(&empty, "FIRST", &text(16)).rules(&["FIRST", "WRAP-ECB"]).refused(processor, code::WRAPPING_BIT);
        let first = part(&empty, "FIRST", &text(16)).ok(processor).bytes(kpi::KEY_IDENTIFIER);
        let whole = part(&first, "COMPLETE", &[]).ok(processor).bytes(kpi::KEY_IDENTIFIER);
        assert!(is_bound(&whole));
        // Imported in the clear.
        let target = skeleton(processor, "DATA", &["DOUBLE", "ENH-ONLY"]);
        let clear = import("DES", &KEY[..16]).bytes(ckm::TARGET_KEY_IDENTIFIER, &target);
        clear.clone().rules(&["DES", "WRAP-ECB"]).refused(processor, code::WRAPPING_BIT);
        assert!(is_bound(&clear.ok(processor).bytes(ckm::TARGET_KEY_IDENTIFIER)));
        // Built, and taken in.
        build("MAC", &["INTERNAL", "DOUBLE", "ENH-ONLY", "WRAP-ECB"])
            .refused(processor, code::KEYWORD_COMBINATION);
        let vector = DesToken::parse(&own).unwrap().control_vector();
        let mut original =
            theirs(KeyType::Mac.default_vector(KeyForm::Double).unwrap(), KeyForm::Double, false);
        original[32..48].copy_from_slice(&vector.to_bytes());
        original[16..32].copy_from_slice(&peer::wrap_des(&TRANSPORT, halves(vector), &KEY[..16]));
        token::tvv::seal((&mut original[..]).try_into().unwrap());
        keks.import("TOKEN", &original).refused(processor, code::WRAPPING_BIT);
        mac(&own, &["X9.19OPT"], &text(16)).ok(processor);
    }
}

#[test]
fn a_home_of_compatible_tokens_makes_them_where_it_is_asked_to() {
    let mut processor = compatible_processor();
    let keks = Keks::new(&mut processor);
    let plain = generated(&mut processor, "MAC", "DOUBLE");
    assert_eq!(plain[7], 0);
    let change = |words: &[&str], token: &[u8]| {
        Request::new(Verb::KeyTokenChange).rules(words).bytes(ktc::KEY_IDENTIFIER, token)
    };
    let changed = change(&["RTCMK", "DES", "WRAP-ENH"], &plain).ok(&mut processor).bytes(ktc::KEY_IDENTIFIER);
    assert_eq!((changed[7], inside(&changed)), (0x20, inside(&plain)));
    assert_eq!(changed[32..48], plain[32..48]);
    mac(&changed, &["X9.19OPT"], &text(16)).ok(&mut processor);
    change(&["RTCMK", "WRAP-ECB"], &changed).refused(&mut processor, code::WRAPPING_TYPE);
    change(&["RTCMK", "WRAP-ECB"], &plain).ok(&mut processor);
    change(&["RTCMK", "USECONFG"], &plain).ok(&mut processor);
    let bound = change(&["RTCMK", "WRAP-ENH", "ENH-ONLY"], &plain).ok(&mut processor);
    let bound = bound.bytes(ktc::KEY_IDENTIFIER);
    assert_eq!((bound[7], bound[39], inside(&bound)), (0x20, 0x81, inside(&plain)));
    change(&["RTCMK", "ENH-ONLY"], &plain).refused(&mut processor, code::KEYWORD_COMBINATION);
    change(&["RTNMK"], &plain).refused(&mut processor, code::REGISTER_STATE);
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let zero = generate("TOKEN", "DOUBLE").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, zero).ok(&mut processor);
    let zero = zero.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    change(&["RTCMK", "WRAP-ENH", "ENH-ONLY"], &zero).refused(&mut processor, code::KEY_USAGE);
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    change(&["RTCMK", "WRAP-ENH"], &label).refused(&mut processor, code::LABEL_NOT_FOUND);
    // Of a key of another system in either wrapping, over a skeleton that asks for it.
    for enhanced in [false, true] {
        let token = theirs(KeyType::Mac.default_vector(KeyForm::Double).unwrap(), KeyForm::Double, enhanced);
        let target = skeleton(&mut processor, "MAC", &["DOUBLE", "WRAP-ENH"]);
        let own = keks.import("MAC", &token).bytes(kim::TARGET_KEY_IDENTIFIER, target).ok(&mut processor);
        let own = own.bytes(kim::TARGET_KEY_IDENTIFIER);
        assert_eq!((own[7], inside(&own)), (0x20, KEY[..16].to_vec()));
        // What has it keeps it on its way out.
        let external = keks.export("MAC", &own).ok(&mut processor).bytes(kex::TARGET_KEY_TOKEN);
        assert_eq!((external[7], outside(&external)), (0x20, KEY[..16].to_vec()));
    }
    let clear = |words: &[&str]| import("DES", &KEY).rules(words).bytes(ckm::TARGET_KEY_IDENTIFIER, [0; 64]);
    for (words, method) in [(&["DES", "WRAP-ENH"][..], 0x20), (&["WRAP-ECB"], 0), (&["USECONFG"], 0)] {
        let token = clear(words).answers(&mut processor, code::OK).bytes(ckm::TARGET_KEY_IDENTIFIER);
        assert_eq!((token[7], inside(&token)), (method, KEY.to_vec()), "{words:?}");
    }
    let empty = skeleton(&mut processor, "MAC", &["DOUBLE"]);
    let first = part(&empty, "FIRST", &KEY[..16]).rules(&["FIRST", "USECONFG"]).ok(&mut processor);
    let last = part(&first.bytes(kpi::KEY_IDENTIFIER), "LAST", &[0; 16]).rules(&["LAST", "WRAP-ENH"]);
    let token = last.ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);
    assert_eq!((token[7], inside(&token)), (0x20, KEY[..16].to_vec()));
    // A home of authenticated tokens has its own, whatever is asked for.
    let mut own = verb_requests::support::processor();
    let token = clear(&["WRAP-ENH"]).ok(&mut own).bytes(ckm::TARGET_KEY_IDENTIFIER);
    assert_eq!(token[7], 0xC0);
}

#[test]
fn what_has_no_published_definition_is_refused_by_name() {
    let mut processor = processor();
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let empty = skeleton(&mut processor, "MAC", &["DOUBLE"]);
    for method in ["WRAPENH2", "WRAPENH3"] {
        build("MAC", &["INTERNAL", method]).refused(&mut processor, code::WRAPPING_TYPE);
        part(&empty, "FIRST", &[7; 16])
            .rules(&["FIRST", method])
            .refused(&mut processor, code::WRAPPING_TYPE);
        import("DES", &KEY[..16]).rules(&["DES", method]).refused(&mut processor, code::WRAPPING_TYPE);
        let change = Request::new(Verb::KeyTokenChange).rules(&["RTCMK", method]);
        change.bytes(ktc::KEY_IDENTIFIER, &token).refused(&mut processor, code::WRAPPING_TYPE);
    }
    for byte in [0x40, 0x60] {
        let mut other = token.clone();
        other[7] = byte;
        // Of the methods with numbers of CCA's own, these bytes are zero.
        [1, 2, 3, 5, 56, 57, 58].iter().for_each(|at| other[*at] = 0);
        token::tvv::seal((&mut other[..]).try_into().unwrap());
        mac(&other, &["X9.19OPT"], &text(16)).refused(&mut processor, code::WRAPPING_TYPE);
    }
    build("USE-CV", &["INTERNAL"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("CLRDES", &["INTERNAL", "KEYLN8"]).refused(&mut processor, code::KEYWORD);
}

/// What a partner of a transport key, who does not know it, gains by moving parts of tokens: no key of which he knows a
/// part.
#[test]
fn parts_of_tokens_of_either_wrapping_make_no_known_key() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    let (enhanced, original) =
        (theirs(vector, KeyForm::Double, true), theirs(vector, KeyForm::Double, false));
    let other = {
        let key = text(16);
        let wrapped = peer::wrap_enhanced(&TRANSPORT, halves(vector), &key);
        let form = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap().with_enhanced(true);
        form.with_key([0; 8], &wrapped).unwrap().to_bytes().to_vec()
    };
    let known: Vec<Vec<u8>> =
        [&KEY[..16], &text(16)].iter().flat_map(|key| key.chunks(8)).map(<[u8]>::to_vec).collect();
    let opens_to = |processor: &mut Processor, change: Change<'_>| {
        let mut token = enhanced.clone();
        change(&mut token);
        token::tvv::seal((&mut token[..]).try_into().unwrap());
        inside(&keks.imported(processor, &token))
    };
    // As if of the original wrapping; with the halves of an original token; with halves of another; in another order.
    let changes: [Change<'_>; 6] = [
        &|token| token[7] = 0,
        &|token| token[16..32].copy_from_slice(&original[16..32]),
        &|token| token[16..24].copy_from_slice(&other[16..24]),
        &|token| token[24..32].copy_from_slice(&other[24..32]),
        &|token| token[16..32].rotate_left(8),
        &|token| token.copy_within(16..24, 24),
    ];
    for (number, change) in changes.iter().enumerate() {
        let key = opens_to(&mut processor, change);
        let same = known.iter().filter(|part| key.chunks(8).any(|own| own == &part[..]));
        assert_eq!(same.count(), 0, "change {number}");
        assert_ne!(key[..8], key[8..], "change {number}");
    }
    for at in 16..32 {
        let key = opens_to(&mut processor, &|token| token[at] ^= 1);
        assert!(known.iter().all(|part| key[..8] != part[..]), "byte {at}");
    }
    assert_eq!(opens_to(&mut processor, &|_| ()), KEY[..16]);
}

#[test]
fn its_pattern_is_shown_from_a_token_under_the_master_key() {
    let mut processor = compatible_processor();
    let token =
        import("DES", &KEY[..16]).rules(&["DES", "WRAP-ENH"]).bytes(ckm::TARGET_KEY_IDENTIFIER, [0; 64]);
    let token = token.ok(&mut processor).bytes(ckm::TARGET_KEY_IDENTIFIER);
    let test = Request::new(Verb::KeyTest)
        .rules(&["GENERATE", "ENC-ZERO"])
        .bytes(key_test::KEY_IDENTIFIER, &token)
        .bytes(key_test::VALUE_1, [0; 8])
        .bytes(key_test::VALUE_2, [0; 8]);
    let pattern = test.ok(&mut processor).bytes(key_test::VALUE_2);
    assert_eq!(pattern[..4], peer::des(&KEY[..16], true, &[0; 8])[..4]);
}
