//! TR31_Key_Export.

use token::control_vector::{KeyForm, bit};
use token::tr31::uses::{Meaning, ROWS, may_leave, may_leave_variable};
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::{DesToken, KeyType};
use verb_requests::key_block::*;
use verb_requests::support::{entered, generated, imported, skeleton};
use verb_requests::twin;
use verb_requests::uses::ways::{entered2, generate2};
use wire::code;
use wire::point::Point;
use wire::verb::tr31_key_export::{
    KEY_FIELD_LENGTH, KEY_VERSION_NUMBER, OPT_BLKS, OPT_BLKS_LENGTH, TR31_KEY_BLOCK_LENGTH,
    UNWRAP_KEK_IDENTIFIER, UNWRAP_KEK_IDENTIFIER_LENGTH,
};

const VALUE: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
pub const METHODS: [(&str, char); 4] =
    [("VARXOR-A", 'A'), ("VARDRV-B", 'B'), ("VARXOR-C", 'C'), ("VARDRV-D", 'D')];
pub const USAGES: [(&str, &str); 19] = [
    ("BDK", "B0"),
    ("CVK", "C0"),
    ("ENC", "D0"),
    ("EMVACMK", "E0"),
    ("EMVSCMK", "E1"),
    ("EMVSIMK", "E2"),
    ("EMVDAMK", "E3"),
    ("EMVDNMK", "E4"),
    ("EMVCPMK", "E5"),
    ("KEK", "K0"),
    ("KEK-WRAP", "K1"),
    ("ISOMAC0", "M0"),
    ("ISOMAC1", "M1"),
    ("ISOMAC3", "M3"),
    ("ISOMAC6", "M6"),
    ("PINENC", "P0"),
    ("PINVO", "V0"),
    ("PINV3624", "V1"),
    ("VISAPVV", "V2"),
];
pub const MODES: [(&str, u8); 8] = [
    ("ENCDEC", b'B'),
    ("DEC-ONLY", b'D'),
    ("ENC-ONLY", b'E'),
    ("GENVER", b'C'),
    ("GEN-ONLY", b'G'),
    ("VER-ONLY", b'V'),
    ("DERIVE", b'X'),
    ("ANY", b'N'),
];

fn vector(token: &[u8]) -> token::ControlVector {
    DesToken::parse(token).unwrap().control_vector()
}

/// A key of double length, where its type has keys of single length too.
fn entered_double(keys: &mut Keys, key_type: KeyType, words: &[&str]) -> Vec<u8> {
    let has_single = key_type.default_form() == KeyForm::Single;
    let words = if has_single { [&["DOUBLE"], words].concat() } else { words.to_vec() };
    entered(&mut keys.processor, key_type.name(), &words, &VALUE)
}

/// Each row of the table, there and back by the verbs, under every method: what comes back is what left, or narrower.
#[test]
fn every_usage_and_mode_leaves_and_comes_back_no_wider() {
    let mut keys = Keys::new();
    let all = with_points(&[Point::Tr31ExportA, Point::Tr31ExportC, Point::Tr31ImportA, Point::Tr31ImportC]);
    let mut round = 0;
    for row in ROWS.iter().filter(|row| row.point.is_none()) {
        // Keys of D3 and E6 leave as those of D0 and E5, those of HMAC in no block.
        let Some((usage, _)) = USAGES.iter().find(|(_, usage)| usage.as_bytes() == row.usage) else {
            continue;
        };
        let mode = MODES.iter().find(|(_, mode)| *mode == row.mode).unwrap().0;
        let (source, leaves) = match row.meaning {
            Meaning::Des(key_type, words) => {
                let source = entered_double(&mut keys, key_type, words);
                let vector = DesToken::parse(&source).unwrap().control_vector();
                (source, may_leave(vector, row.usage, row.mode, false))
            }
            Meaning::Variable(key_type, words) => {
                let source = entered2(&mut keys.processor, key_type, words, &VALUE);
                let token = crate::variable::parsed(&source);
                (source, may_leave_variable(token.attributes(), row.usage, row.mode))
            }
        };
        for (method, version) in METHODS {
            let is_aes = matches!(row.meaning, Meaning::Variable(..));
            let request = keys.export(&source, &[method, usage, mode]).points(all);
            if leaves.is_err() {
                request.refused(&mut keys.processor, code::KEY_USAGE);
                continue;
            }
            if is_aes && version != 'D' {
                // No key of AES is as weak as those of DES.
                request.refused(&mut keys.processor, code::STRENGTH);
                continue;
            }
            let text = block(&request.ok(&mut keys.processor));
            assert_eq!(text.as_bytes()[0], version as u8);
            assert_eq!(
                &text.as_bytes()[5..9],
                [&row.usage[..], &[if is_aes { b'A' } else { b'T' }, row.mode]].concat()
            );
            let back = token(&keys.import(&text, &[]).points(all).ok(&mut keys.processor));
            round += 1;
            match row.meaning {
                Meaning::Des(..) => {
                    let (back, source) = (DesToken::parse(&back).unwrap(), DesToken::parse(&source).unwrap());
                    assert_eq!(back.control_vector(), source.control_vector(), "{row:?}");
                }
                Meaning::Variable(..) => {
                    let (back, source) = (crate::variable::parsed(&back), crate::variable::parsed(&source));
                    assert_eq!(back.attributes().usage(), source.attributes().usage(), "{row:?}");
                }
            }
            // It leaves as the same key: under the least padding the payload has nothing random but what fills it. What
            // came with exportability E does not leave in these versions.
            let again = keys.export(&back, &[method, usage, mode]).points(all);
            if matches!(version, 'A' | 'C') {
                again.refused(&mut keys.processor, code::KEY_USAGE);
                continue;
            }
            let again = block(&again.ok(&mut keys.processor));
            let third = token(&keys.import(&again, &[]).points(all).ok(&mut keys.processor));
            assert_eq!(third.len(), back.len());
        }
    }
    assert!(round > 80, "{round}");
}

/// A key that derives keys of every type leaves with its control vector alone, and under E5, whose receivers take it
/// for one of every use, no other key does.
#[test]
fn a_key_of_every_use_leaves_with_its_control_vector() {
    let mut keys = Keys::new();
    let any = entered(&mut keys.processor, "DKYGENKY", &["DKYL0", "DALL"], &VALUE);
    let one = entered(&mut keys.processor, "DKYGENKY", &["DKYL0", "DMAC"], &VALUE);
    for usage in ["EMVACMK", "EMVDNMK", "EMVCPMK"] {
        let words = ["VARDRV-B", usage, "DERIVE"];
        keys.export(&any, &words).refused(&mut keys.processor, code::KEY_USAGE);
        let text = block(&keys.export(&any, &[&words[..], &["INCL-CV"]].concat()).ok(&mut keys.processor));
        let back = token(&keys.import(&text, &[]).ok(&mut keys.processor));
        assert_eq!(vector(&back), vector(&any));
    }
    for words in [&["VARDRV-B", "EMVCPMK", "DERIVE"][..], &["VARDRV-B", "EMVCPMK", "DERIVE", "INCL-CV"]] {
        keys.export(&one, words).refused(&mut keys.processor, code::KEY_USAGE);
    }
}

#[test]
fn keys_that_may_not_leave_stay() {
    let mut keys = Keys::new();
    let words = ["VARDRV-B", "ENC", "ENCDEC"];
    let no_export = entered(&mut keys.processor, "CIPHER", &["DOUBLE", "NO-XPORT"], &VALUE);
    let vector = KeyType::Cipher.vector_with(KeyForm::Double, []).unwrap();
    let no_block = vector.with_bits(bit(CONTROL_VECTOR_BIT_NO_TR31), true).unwrap();
    let no_block = of_vector(&mut keys.processor, KeyForm::Double, no_block, &VALUE);
    for source in [no_export, no_block] {
        keys.export(&source, &words).refused(&mut keys.processor, code::KEY_USAGE);
        keys.export(&source, &["VARDRV-B", "ATTR-CV"]).refused(&mut keys.processor, code::KEY_USAGE);
    }
    let narrow = entered(&mut keys.processor, "ENCIPHER", &["DOUBLE"], &VALUE);
    keys.export(&narrow, &words).refused(&mut keys.processor, code::KEY_USAGE);
    keys.export(&narrow, &["VARDRV-B", "ENC", "ENC-ONLY"]).ok(&mut keys.processor);
    let aes = entered2(&mut keys.processor, token::variable::VariableType::Cipher, &["NOEX-SYM"], &VALUE);
    keys.export(&aes, &["VARDRV-D", "ENC", "ENCDEC"]).refused(&mut keys.processor, code::KEY_USAGE);
    // A part of a key is none yet.
    let part = skeleton(&mut keys.processor, "CIPHER", &["DOUBLE"]);
    let part = verb_requests::support::part(&part, "FIRST", &VALUE).ok(&mut keys.processor);
    let part = part.bytes(wire::verb::key_part_import::KEY_IDENTIFIER);
    keys.export(&part, &["VARDRV-B", "ATTR-CV"]).refused(&mut keys.processor, code::KEY_USAGE);
    let empty = skeleton(&mut keys.processor, "CIPHER", &["DOUBLE"]);
    keys.export(&empty, &words).refused(&mut keys.processor, code::TOKEN_INVALID);
}

#[test]
fn only_a_key_that_protects_blocks_protects_them() {
    let mut keys = Keys::new();
    let source = entered(&mut keys.processor, "CIPHER", &["DOUBLE"], &VALUE);
    let des = ["VARDRV-B", "ENC", "ENCDEC"];
    let aes = ["VARDRV-D", "ENC", "ENCDEC"];
    let kek = entered(&mut keys.processor, "EXPORTER", &["OPEX"], &VALUE);
    export(&source, &kek, &des).refused(&mut keys.processor, code::KEY_USAGE);
    export(&source, &keys.importer, &des).refused(&mut keys.processor, code::KEY_USAGE);
    export(&source, &source, &des).refused(&mut keys.processor, code::KEY_USAGE);
    export(&source, &keys.exporter, &aes).refused(&mut keys.processor, code::TOKEN_INVALID);
    export(&source, &keys.aes_exporter, &des).refused(&mut keys.processor, code::TOKEN_INVALID);
    export(&source, &keys.aes_importer, &aes).refused(&mut keys.processor, code::KEY_USAGE);
    use token::variable::VariableType::Exporter;
    for words in [
        &[][..],
        &["WR-TR31", "WR-DES", "WR-PIN"],
        &["WR-TR31", "WR-AES", "WR-DATA"],
        &["WR-TR31", "GEN-OPEX"],
        &["EXPTT31D"],
        &["EXPTT31D", "WR-TR31"],
        &["EXPTT31D", "VARDRV-D", "WR-AES"],
        &["EXPORT", "VARDRV-D"],
    ] {
        // Keywords of a group take the place of its defaults.
        let kek = entered2(&mut keys.processor, Exporter, words, &[7; 32]);
        export(&source, &kek, &aes).refused(&mut keys.processor, code::KEY_USAGE);
    }
    for words in [&["WR-TR31", "WR-DES", "WR-DATA"][..], &["EXPTT31D", "VARDRV-D"]] {
        let kek = entered2(&mut keys.processor, Exporter, words, &[7; 32]);
        export(&source, &kek, &aes).ok(&mut keys.processor);
    }
}

/// A key that derives others at two steps leaves with its control vector, and comes back as that; without it, its block
/// would come in as a key of one step too.
#[test]
fn a_key_of_two_steps_leaves_with_its_control_vector() {
    let mut keys = Keys::new();
    for (usage, derived) in [
        ("EMVACMK", "DMAC"),
        ("EMVSCMK", "DMPIN"),
        ("EMVSIMK", "DMAC"),
        ("EMVDAMK", "DMAC"),
        ("EMVDNMK", "DDATA"),
    ] {
        let source = entered(&mut keys.processor, "DKYGENKY", &["DKYL1", derived], &VALUE);
        for method in ["VARDRV-B", "VARDRV-D"] {
            let words = [method, usage, "DERIVE"];
            keys.export(&source, &words).refused(&mut keys.processor, code::KEY_USAGE);
            let words = [&words[..], &["INCL-CV"]].concat();
            let text = block(&keys.export(&source, &words).ok(&mut keys.processor));
            for words in [&[][..], &["DKYL1"], &["DKYL1", derived]] {
                let back = keys.import(&text, words).ok(&mut keys.processor);
                assert_eq!(vector(&token(&back)), vector(&source), "{usage} as {words:?}");
            }
            // Its control vector says what it is, whatever a keyword says.
            for words in [&["DKYL0"][..], &[if derived == "DMAC" { "DDATA" } else { "DMAC" }]] {
                keys.import(&text, words).refused(&mut keys.processor, code::TYPE_AND_VECTOR);
            }
            let other = [method, if derived == "DMAC" { "EMVDNMK" } else { "EMVACMK" }, "DERIVE", "INCL-CV"];
            keys.export(&source, &other).refused(&mut keys.processor, code::KEY_USAGE);
        }
        // One of three steps is in no usage.
        let deeper = entered(&mut keys.processor, "DKYGENKY", &["DKYL2", derived], &VALUE);
        let words = ["VARDRV-B", usage, "DERIVE", "INCL-CV"];
        keys.export(&deeper, &words).refused(&mut keys.processor, code::KEY_USAGE);
    }
}

#[test]
fn blocks_of_version_d_do_not_tell_how_long_a_key_is() {
    let mut keys = Keys::new();
    let mut lengths = Vec::new();
    for bits in [128, 192, 256] {
        let skeleton = verb_requests::uses::ways::skeleton_of(token::variable::VariableType::Cipher, &[]);
        let source = generate2("AES", bits, "TOKEN", &skeleton).ok(&mut keys.processor);
        let source = source.bytes(wire::verb::key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let request = keys.export(&source, &["VARDRV-D", "ENC", "ENCDEC", "SKEY-AES"]);
        lengths.push(block(&request.ok(&mut keys.processor)).len());
        // Nor does whoever asks for less.
        request.integer(KEY_FIELD_LENGTH, 32).refused(&mut keys.processor, code::INVALID_PARAMETER);
    }
    for length in ["SINGLE", "DOUBLE"] {
        let source = generated(&mut keys.processor, "CIPHER", length);
        let reply = keys.export(&source, &["VARDRV-D", "ENC", "ENCDEC"]).ok(&mut keys.processor);
        lengths.push(block(&reply).len());
    }
    // A single DES key is of an algorithm of its own, whose keys have one length.
    assert_eq!(lengths, [144, 144, 144, 80, 112]);
}

#[test]
fn a_stronger_key_needs_a_role_for_it() {
    let mut keys = Keys::new();
    let weak = with_points(&[Point::WeakTransport]);
    let triple = imported(&mut keys.processor, "DES", &std::array::from_fn::<u8, 24, _>(|at| 3 * at as u8));
    let request = keys.export(&triple, &["VARDRV-B", "ATTR-CV"]);
    request.refused(&mut keys.processor, code::STRENGTH);
    let text = block(&request.points(weak).ok(&mut keys.processor));
    keys.import(&text, &[]).refused(&mut keys.processor, code::STRENGTH);
    keys.import(&text, &[]).points(with_points(&[Point::WeakImport])).ok(&mut keys.processor);
    let text = block(&keys.export(&triple, &["VARDRV-D", "ATTR-CV"]).ok(&mut keys.processor));
    keys.import(&text, &[]).ok(&mut keys.processor);
    keys.export(&triple, &["VARDRV-D", "ENC", "ENCDEC"]).ok(&mut keys.processor);
    let text = twin::seal(Keys::value('D'), "D0000D0TB00E0000", &[5; 24]);
    keys.import(&text, &[]).ok(&mut keys.processor);
    let text = twin::seal(Keys::value('D'), "D0000C0TC00E0000", &[5; 24]);
    keys.import(&text, &[]).refused(&mut keys.processor, code::KEY_LENGTH_KEYWORD);
    let aes = entered2(&mut keys.processor, token::variable::VariableType::Cipher, &[], &[9; 16]);
    keys.export(&aes, &["VARDRV-B", "ENC", "ENCDEC"]).refused(&mut keys.processor, code::STRENGTH);
}

#[test]
fn versions_a_and_c_are_in_no_role_that_does_not_name_them() {
    let mut keys = Keys::new();
    let source = entered(&mut keys.processor, "CIPHER", &["DOUBLE"], &VALUE);
    for (method, point) in [("VARXOR-A", Point::Tr31ExportA), ("VARXOR-C", Point::Tr31ExportC)] {
        let request = keys.export(&source, &[method, "ENC", "ENCDEC"]);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        let text = block(&request.points(with_points(&[point])).ok(&mut keys.processor));
        keys.import(&text, &[]).refused(&mut keys.processor, code::ACCESS_DENIED);
    }
}

#[test]
fn a_control_vector_goes_beside_usage_and_mode_or_in_their_place() {
    let mut keys = Keys::new();
    let source = entered(&mut keys.processor, "PINVER", &["VISA-PVV", "NOOFFSET"], &VALUE);
    keys.export(&source, &["VARDRV-B", "VISAPVV", "VER-ONLY"]).refused(&mut keys.processor, code::KEY_USAGE);
    let text = block(&keys.export(&source, &["VARDRV-B", "ATTR-CV"]).ok(&mut keys.processor));
    assert_eq!((&text[5..9], &text[12..22]), ("10T1", "0200102CIB"));
    let reply = keys.import(&text, &[]).ok(&mut keys.processor);
    use wire::verb::tr31_key_import::{CV_SOURCE, NUM_OPT_BLKS, PROTECTION_METHOD};
    assert_eq!([CV_SOURCE, NUM_OPT_BLKS, PROTECTION_METHOD].map(|at| reply.integer(at)), [2, 2, 1]);
    let vector = |token: &[u8]| DesToken::parse(token).unwrap().control_vector();
    assert_eq!(vector(&token(&reply)), vector(&source));
    let words = ["VARDRV-B", "VISAPVV", "VER-ONLY", "INCL-CV"];
    keys.export(&source, &words).refused(&mut keys.processor, code::KEY_USAGE);
    let any = with_points(&[Point::Tr31AnyWithVector]);
    let text = block(&keys.export(&source, &words).points(any).ok(&mut keys.processor));
    let reply = keys.import(&text, &["PINVER"]).ok(&mut keys.processor);
    assert_eq!((reply.integer(CV_SOURCE), vector(&token(&reply))), (1, vector(&source)));
    keys.import(&text, &["PINGEN"]).refused(&mut keys.processor, code::TYPE_AND_VECTOR);
    let words = ["VARDRV-B", "VISAPVV", "ANY", "INCL-CV"];
    let text = block(&keys.export(&source, &words).points(any).ok(&mut keys.processor));
    assert_eq!(&text[5..9], "V2TN");
    let words = ["VARDRV-B", "ENC", "ENCDEC", "SKEYHMAC"];
    keys.export(&source, &words).refused(&mut keys.processor, code::KEYWORD);
    // Beside codes of another type it is not taken in.
    let words = ["VARDRV-B", "PINENC", "ENC-ONLY", "INCL-CV"];
    let text = block(&keys.export(&source, &words).points(any).ok(&mut keys.processor));
    keys.import(&text, &[]).refused(&mut keys.processor, code::TYPE_AND_VECTOR);
    // A key that may not leave again does not leave.
    let words = ["VARDRV-B", "ATTR-CV", "EXP-NONE"];
    let text = block(&keys.export(&source, &words).ok(&mut keys.processor));
    let back = token(&keys.import(&text, &[]).ok(&mut keys.processor));
    assert_ne!(vector(&back), vector(&source));
    keys.export(&back, &["VARDRV-B", "ATTR-CV"]).refused(&mut keys.processor, code::KEY_USAGE);
    let zero = imported(&mut keys.processor, "DES", &VALUE);
    keys.export(&zero, &["VARDRV-B", "ATTR-CV"]).ok(&mut keys.processor);
}

#[test]
fn what_the_caller_says_of_a_block_is_in_it() {
    let mut keys = Keys::new();
    let source = entered(&mut keys.processor, "CIPHER", &["DOUBLE"], &VALUE);
    let words = ["VARDRV-B", "ENC", "ENCDEC"];
    let optional = "KS1800604B120F9292800000";
    let request = keys.export(&source, &words).counted(OPT_BLKS_LENGTH, OPT_BLKS, optional);
    let text = block(&request.bytes(KEY_VERSION_NUMBER, "c1").ok(&mut keys.processor));
    assert_eq!(&text[..40], &format!("B0104D0TB{}E0100{optional}", "c1"));
    for (word, letter) in [("EXP-ANY", "S"), ("EXP-TRST", "E"), ("EXP-NONE", "N")] {
        let reply = keys.export(&source, &[&words[..], &[word]].concat()).ok(&mut keys.processor);
        assert_eq!(&block(&reply)[11..12], letter);
    }
    let longer = keys.export(&source, &words).integer(KEY_FIELD_LENGTH, 40);
    assert_eq!(block(&longer.ok(&mut keys.processor)).len(), 16 + 80 + 16);
    for wrong in [-1, 8, 16, 23, 41, 1032, i64::MAX] {
        let request = keys.export(&source, &words).integer(KEY_FIELD_LENGTH, wrong);
        request.refused(&mut keys.processor, code::INVALID_PARAMETER);
    }
    for wrong in ["PB08AAAA", "KS18", "KS1800604B120F9292800000KS1800604B120F9292800000", "ks04"] {
        let request = keys.export(&source, &words).counted(OPT_BLKS_LENGTH, OPT_BLKS, wrong);
        request.refused(&mut keys.processor, code::INVALID_PARAMETER);
    }
    let short = keys.export(&source, &words).integer(TR31_KEY_BLOCK_LENGTH, 79);
    short.refused(&mut keys.processor, code::BUFFER_TOO_SMALL);
    keys.export(&source, &["VARDRV-B", "ENC"]).refused(&mut keys.processor, code::KEYWORD_REQUIRED);
    keys.export(&source, &["VARDRV-B", "ENCDEC"]).refused(&mut keys.processor, code::KEYWORD_REQUIRED);
    keys.export(&source, &["VARDRV-D", "ENC", "ENCDEC", "SKEY-AES"])
        .refused(&mut keys.processor, code::TOKEN_INVALID);
    keys.export(&source, &["VARDRV-B", "ENC", "ENCDEC", "SKEY-DES"]).ok(&mut keys.processor);
    let unwrapping = keys.export(&source, &words);
    let importer = keys.importer.clone();
    unwrapping
        .counted(UNWRAP_KEK_IDENTIFIER_LENGTH, UNWRAP_KEK_IDENTIFIER, importer)
        .refused(&mut keys.processor, code::TOKEN_INVALID);
    let single = generated(&mut keys.processor, "CIPHER", "SINGLE");
    let text = block(&keys.export(&single, &words).ok(&mut keys.processor));
    assert_eq!(&text[5..9], "D0DB");
    assert!(KeyType::Cipher.vector_with(KeyForm::Single, []).is_ok());
    keys.import(&text, &[]).ok(&mut keys.processor);
}
