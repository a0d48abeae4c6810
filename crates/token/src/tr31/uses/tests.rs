use super::*;
use crate::usage::{Side, Use, Wrapping};
use std::collections::BTreeSet;

fn letter(row: &UsageRow) -> u8 {
    match row.meaning {
        Meaning::Des(..) => b'T',
        Meaning::Variable(VariableType::Hmac, _) => b'H',
        Meaning::Variable(..) => b'A',
    }
}

/// Every row: an imported block gives its key, and the key is exported under its codes unless they
/// could mean another key.
#[test]
fn every_row_is_tried_both_ways() {
    for row in ROWS {
        assert_eq!(comes_as(row.usage, letter(row), row.mode, row.choice), Ok(row));
        let is_level_one = row.choice == Choice::LevelOne;
        let is_counted =
            |other: &&UsageRow| other.point.is_none() && (other.choice == Choice::LevelOne) == is_level_one;
        let others = rows(row.usage, letter(row), row.mode).filter(is_counted);
        let is_derived = matches!(row.choice, Choice::Derives(_));
        let is_hmac = letter(row) == b'H';
        let leaves =
            row.point.is_none() && row.mode != b'N' && !is_hmac && others.count() == 1 && !is_derived;
        let refusal = if row.mode == b'N' || is_hmac { Refused::Codes } else { Refused::Wider };
        let expected = if leaves { Ok(()) } else { Err(refusal) };
        match row.meaning {
            Meaning::Des(key_type, _) => {
                let vector = row.vector(KeyForm::Double, true).unwrap();
                assert!(key_type.covers(vector), "{row:?}");
                assert!(key_type.keywords_of(vector).is_some(), "{row:?}");
                let needs_vector = is_level_one || is_derived || row.usage == *b"E1";
                assert_eq!(may_leave(vector, row.usage, row.mode, needs_vector), expected, "{row:?}");
                if needs_vector {
                    assert_eq!(may_leave(vector, row.usage, row.mode, false), Err(refusal), "{row:?}");
                }
                let held = row.vector(KeyForm::Double, false).unwrap();
                assert!(!held.may(Use::Export));
                assert_eq!(may_leave(held, row.usage, row.mode, is_level_one), Err(Refused::Export));
                assert_eq!(row.attributes(true), Err(Refused::Codes));
            }
            Meaning::Variable(key_type, _) => {
                let attributes = row.attributes(true).unwrap();
                assert_eq!(attributes.key_type(), key_type);
                assert_eq!(may_leave_variable(&attributes, row.usage, row.mode), expected, "{row:?}");
                let held = row.attributes(false).unwrap();
                assert_eq!(held.management()[0] & 0xFF00, 0);
                assert_eq!(may_leave_variable(&held, row.usage, row.mode), Err(refusal));
                assert_eq!(row.vector(KeyForm::Double, true), Err(Refused::Codes));
            }
        }
    }
}

#[test]
fn each_row_stands_there_once() {
    let keys: BTreeSet<_> =
        ROWS.iter().map(|row| (row.usage, letter(row), row.mode, format!("{:?}", row.choice))).collect();
    assert_eq!(keys.len(), ROWS.len());
}

/// Every vector that keywords make, under all codes: a key that is imported again has no use that
/// the key does not have.
#[test]
fn what_comes_back_may_not_do_more() {
    let mut uses = vec![
        Use::Encipher,
        Use::Decipher,
        Use::MacGenerate,
        Use::MacVerify,
        Use::TranslateFrom,
        Use::TranslateTo,
    ];
    for wrapping in [
        Wrapping::Keys,
        Wrapping::Translated,
        Wrapping::GeneratedOnce,
        Wrapping::GeneratedTwice,
        Wrapping::GeneratedForBoth,
    ] {
        uses.extend([Side::Sending, Side::Receiving].map(|side| Use::Wrap(side, wrapping)));
    }
    uses.extend([Side::Sending, Side::Receiving].map(Use::ProtectBlocks));
    let codes: BTreeSet<_> = ROWS.iter().map(|row| (row.usage, row.mode)).collect();
    let (mut left, mut with_vector, mut refused) = (0, 0, 0);
    let mut vectors = vec![ControlVector::ZERO];
    for key_type in KeyType::ALL {
        for one in key_type.usage_keywords() {
            for two in key_type.usage_keywords() {
                let words = if one == two { vec![one] } else { vec![one, two] };
                vectors.extend(key_type.vector_with(KeyForm::Double, words));
            }
        }
        vectors.extend(key_type.default_vector(KeyForm::Double));
    }
    for vector in vectors {
        for (usage, mode) in &codes {
            if may_leave(vector, *usage, *mode, false).is_err() {
                refused += 1;
                // With its control vector the key comes back as what it was.
                with_vector += u32::from(may_leave(vector, *usage, *mode, true).is_ok());
                continue;
            }
            left += 1;
            let is_counted = |row: &&UsageRow| row.point.is_none() && row.choice != Choice::LevelOne;
            assert_ne!(usage, b"E1", "it could come back as a key that makes keys of cards");
            for row in rows(*usage, b'T', *mode).filter(is_counted) {
                let back = row.vector(KeyForm::Double, true).unwrap();
                for usage in &uses {
                    assert!(vector.may(*usage) || !back.may(*usage), "{vector:X?} {row:?} {usage:?}");
                }
                let data = vector.type_bits() == (0, 0);
                assert!(data || vector.type_bits() == back.type_bits(), "{vector:X?} {row:?}");
                assert!(vector.method_bits() == 0 || vector.method_bits() == back.method_bits());
            }
        }
    }
    assert!(left > 100 && refused > 1000, "{left} {refused}");
    // Keys of two steps with DMAC, DMPIN and DDATA, and with all of them, under the usages that have them.
    assert!((5..100).contains(&with_vector), "{with_vector}");
}

#[test]
fn narrowed_keys_do_not_leave_where_they_would_come_back_wider() {
    let des = |key_type: KeyType, words: &[&str]| {
        key_type.vector_with(KeyForm::Double, words.iter().copied()).unwrap()
    };
    let refused = |vector, usage: &[u8; 2], mode, refusal| {
        assert_eq!(may_leave(vector, *usage, mode, false), Err(refusal), "{vector:X?}");
    };
    refused(des(KeyType::IPinEnc, &["TRANSLAT"]), b"P0", b'D', Refused::Wider);
    refused(des(KeyType::PinGen, &["NOOFFSET"]), b"V0", b'C', Refused::Wider);
    refused(des(KeyType::PinGen, &["VISA-PVV"]), b"V1", b'C', Refused::Wider);
    refused(des(KeyType::PinVer, &[]), b"V1", b'G', Refused::Wider);
    refused(des(KeyType::PinVer, &[]), b"V1", b'N', Refused::Codes);
    refused(des(KeyType::Mac, &["CVVKEY-B"]), b"C0", b'C', Refused::Wider);
    refused(des(KeyType::Mac, &["KEY-PART"]), b"M1", b'C', Refused::Wider);
    refused(des(KeyType::DKyGenKy, &["DKYL1", "DMAC"]), b"E0", b'X', Refused::Wider);
    refused(des(KeyType::DKyGenKy, &["DMV"]), b"E0", b'X', Refused::Wider);
    refused(des(KeyType::OPinEnc, &[]), b"P0", b'B', Refused::Wider);
    refused(des(KeyType::OPinEnc, &[]), b"P0", b'D', Refused::Wider);
    refused(des(KeyType::OPinEnc, &[]), b"K1", b'E', Refused::Wider);
    refused(des(KeyType::OKeyXlat, &[]), b"K1", b'E', Refused::Wider);
    refused(des(KeyType::Exporter, &["KBPK"]), b"K0", b'E', Refused::Wider);
    refused(des(KeyType::DataMv, &[]), b"M1", b'G', Refused::Wider);
    refused(des(KeyType::CipherXl, &[]), b"D0", b'B', Refused::Wider);
    for (vector, usage, mode) in [
        (ControlVector::ZERO, b"D0", b'B'),
        (ControlVector::ZERO, b"M3", b'C'),
        (des(KeyType::DataMv, &[]), b"M1", b'V'),
        (des(KeyType::Cipher, &[]), b"D0", b'D'),
        (des(KeyType::PinGen, &[]), b"V2", b'G'),
        (des(KeyType::Mac, &["ENH-ONLY"]), b"M1", b'V'),
    ] {
        assert_eq!(may_leave(vector, *usage, mode, false), Ok(()), "{vector:X?}");
    }
    // A key of every use leaves with its control vector alone: under two usages it would come back as two keys.
    let any = des(KeyType::DKyGenKy, &["DALL"]);
    for usage in [b"E0", b"E4", b"E5"] {
        refused(any, usage, b'X', Refused::Wider);
        assert_eq!(may_leave(any, *usage, b'X', true), Ok(()));
    }
    let one = des(KeyType::DKyGenKy, &["DMAC"]);
    assert_eq!(may_leave(one, *b"E5", b'X', true), Err(Refused::Wider));
    let aes = |key_type, words: &[&str]| Attributes::new(key_type, words.iter().copied(), None).unwrap();
    let any = aes(VariableType::Cipher, &["ANY-MODE"]);
    assert_eq!(may_leave_variable(&any, *b"D0", b'B'), Ok(()));
    for (attributes, usage, mode) in [
        (aes(VariableType::Cipher, &["GCM"]), b"D0", b'B'),
        (aes(VariableType::Cipher, &["ENCRYPT"]), b"D0", b'B'),
        (aes(VariableType::Cipher, &["UDX-ONLY"]), b"D0", b'B'),
        (aes(VariableType::Exporter, &["WR-DES"]), b"K0", b'E'),
        (aes(VariableType::Mac, &["VERIFY"]), b"M6", b'C'),
        (aes(VariableType::Importer, &[]), b"K0", b'E'),
        (aes(VariableType::Exporter, &["EXPTT31D", "VARDRV-D"]), b"K0", b'E'),
        (aes(VariableType::Exporter, &["EXPORT", "WR-TR31"]), b"K1", b'E'),
        (aes(VariableType::Importer, &["IMPTT31D", "VARDRV-D"]), b"K1", b'E'),
    ] {
        assert_eq!(may_leave_variable(&attributes, *usage, mode), Err(Refused::Wider));
    }
    assert_eq!(may_leave_variable(&any, *b"P0", b'X'), Err(Refused::Codes));
}

#[test]
fn codes_that_mean_no_key_are_refused() {
    for (usage, algorithm, mode, choice, refusal) in [
        (b"B1", b'T', b'X', Choice::Usual, Refused::Codes),
        (b"E5", b'T', b'X', Choice::Usual, Refused::Choice),
        (b"E6", b'T', b'X', Choice::Derives("DMV"), Refused::Choice),
        (b"M7", b'A', b'C', Choice::Usual, Refused::Codes),
        (b"P0", b'T', b'B', Choice::Usual, Refused::Choice),
        (b"P0", b'T', b'E', Choice::Receiving, Refused::Choice),
        (b"V1", b'T', b'N', Choice::Usual, Refused::Choice),
        (b"V1", b'A', b'V', Choice::Usual, Refused::Codes),
        (b"P0", b'R', b'E', Choice::Usual, Refused::Codes),
        (b"P0", b'T', b'N', Choice::Usual, Refused::Choice),
        (b"K0", b'A', b'N', Choice::Usual, Refused::Choice),
        (b"M3", b'A', b'N', Choice::Usual, Refused::Codes),
    ] {
        assert_eq!(comes_as(*usage, algorithm, mode, choice), Err(refusal));
    }
    let single = comes_as(*b"P0", b'D', b'E', Choice::Usual).unwrap().vector(KeyForm::Single, true);
    assert_eq!(single, Err(Refused::Length));
    let three = |usage: &[u8; 2], mode, choice| {
        comes_as(*usage, b'T', mode, choice).unwrap().vector(KeyForm::Triple, true).map(ControlVector::form)
    };
    for (usage, mode) in [(b"C0", b'C'), (b"V2", b'V'), (b"E0", b'X'), (b"B0", b'X')] {
        assert_eq!(three(usage, mode, Choice::Usual), Err(Refused::Length));
    }
    for (usage, mode) in
        [(b"P0", b'E'), (b"K0", b'D'), (b"K1", b'E'), (b"D0", b'B'), (b"M3", b'C'), (b"V1", b'G')]
    {
        assert_eq!(three(usage, mode, Choice::Usual), Ok(Some(KeyForm::Triple)));
    }
    assert_eq!([&b"21"[..], b"24", b"2", b""].map(hash_keyword), [Some("SHA-256"), None, None, None]);
    assert!(comes_as(*b"D0", b'D', b'E', Choice::Usual).unwrap().vector(KeyForm::Single, true).is_ok());
    for row in ROWS.iter().filter(|row| row.mode == b'N') {
        assert_eq!(row.point == Some(POINT_PIN_ANY_MODE), row.choice == Choice::Generating, "{row:?}");
    }
}
