//! Variable-length tokens: real ones, what keywords make, and that a reader gives back what it took.

use proptest::prelude::*;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use token::variable::{
    Attributes, AttributesError, Carrier, CipherMode, Completeness, HmacHash, PayloadVersion, Pedigree,
    PinField, PrivateAlgorithm, VARIABLE_TOKEN_BYTES_MAX, VariableKey, VariableType, VariableUse, Wrapper,
};
use token::{TokenError, VariableToken};

/// Keywords without which a type has no attributes.
fn needed(key_type: VariableType) -> &'static [&'static str] {
    match key_type {
        VariableType::Mac | VariableType::Hmac => &["GENERATE"],
        VariableType::PinProt => &["ENCRYPT"],
        VariableType::PinPrw => &["VERIFY"],
        _ => &[],
    }
}

/// Types that keywords alone make.
fn made() -> impl Iterator<Item = VariableType> {
    VariableType::ALL.into_iter().filter(|key_type| *key_type != VariableType::KdkGenKy)
}

fn attributes(key_type: VariableType, keywords: &[&str]) -> Attributes {
    Attributes::new(key_type, keywords.iter().copied(), None).unwrap()
}

fn skeleton(key_type: VariableType, keywords: &[&str]) -> VariableToken {
    let payload = VariableToken::default_payload(key_type);
    VariableToken::skeleton(Origin::Internal, payload, attributes(key_type, keywords)).unwrap()
}

fn wrapped(token: &VariableToken, key_bytes: usize) -> VariableToken {
    let bytes = token.wrapped_bytes(key_bytes).unwrap();
    token.with_payload(Wrapper::Master([7; 8]), vec![0x5A; bytes]).unwrap()
}

/// Tokens of every type and state.
fn tokens() -> Vec<VariableToken> {
    let mut tokens = Vec::new();
    for key_type in made() {
        let own = skeleton(key_type, needed(key_type));
        let external =
            VariableToken::skeleton(Origin::External, own.payload_version(), own.attributes().clone())
                .unwrap();
        let bytes = own.wrapped_bytes(16).unwrap();
        tokens.push(wrapped(&own, 16));
        tokens.push(external.with_payload(Wrapper::Key([9; 16]), vec![3; bytes]).unwrap());
        tokens.push(external.with_payload(Wrapper::Rsa(0x04), vec![3; 256]).unwrap());
        if key_type.may_be_clear() {
            tokens.push(own.with_clear_key(&[8; 32]).unwrap());
            tokens.push(external.with_clear_key(&[8; 16]).unwrap());
        }
        tokens.extend([own, external]);
    }
    let named =
        attributes(VariableType::Cipher, &[]).named(Some([b'A'; 64])).with_user_data(&[1; 255]).unwrap();
    let named = named.made(Pedigree::Random, Completeness::OneMissing);
    tokens.push(VariableToken::skeleton(Origin::Internal, PayloadVersion::Fixed, named).unwrap());
    let derived = attributes(VariableType::Cipher, &["ENCRYPT", "GCM"]);
    let deriving = Attributes::new(VariableType::DkyGenKy, ["D-CIPHER", "KUF-MBE", "DKYL1"], Some(&derived));
    tokens.push(VariableToken::skeleton(Origin::Internal, PayloadVersion::Fixed, deriving.unwrap()).unwrap());
    tokens
}

#[test]
fn a_skeleton_is_the_one_that_cards_make() {
    // Linux, drivers/s390/crypto/zcrypt_ccamisc.c: what Key_Token_Build2 returned for these keywords.
    let keywords = [
        "ANY-MODE", "NOEX-SYM", "NOEXAASY", "NOEXUASY", "XPRTCPAC", "NOEX-RAW", "NOEX-DES", "NOEX-AES",
        "NOEX-RSA",
    ];
    let mut expected = vec![1, 0, 0, 0x38, 5, 0, 0, 0];
    expected.resize(30, 0);
    expected
        .extend([0x01, 0, 0, 0x1A, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x01, 0x02, 0xC0, 0, 0xFF, 0, 3, 8, 0xC8]);
    expected.extend([0; 4]);
    let made = skeleton(VariableType::Cipher, &keywords);
    assert_eq!(made.to_bytes()[..], expected);
    assert_eq!(VariableToken::parse(&expected).unwrap(), made);
}

#[test]
fn tokens_are_as_long_as_those_that_cards_make() {
    let cipher = skeleton(VariableType::Cipher, &[]);
    for (key_bytes, bytes) in [(16, 120), (24, 128), (32, 136)] {
        assert_eq!(wrapped(&cipher, key_bytes).to_bytes().len(), bytes);
        let mac = wrapped(&skeleton(VariableType::Mac, &["VERIFY"]), key_bytes);
        assert_eq!(mac.to_bytes().len(), 136, "a payload of a fixed length");
    }
    let hmac = skeleton(VariableType::Hmac, &["GENERATE"]);
    for (key_bytes, bits) in [(10, 448), (20, 512), (256, 2432)] {
        let token = wrapped(&hmac, key_bytes).to_bytes();
        assert_eq!(usize::from(u16::from_be_bytes([token[38], token[39]])), bits);
    }
    let longest = hmac.attributes().clone().named(Some([b'A'; 64])).with_user_data(&[1; 255]).unwrap();
    let longest = wrapped(&hmac.with_attributes(longest).unwrap(), 256).to_bytes().len();
    assert_eq!(longest, 679);
    assert!(longest <= VARIABLE_TOKEN_BYTES_MAX);
    for (key_type, key_bytes) in
        [(VariableType::Cipher, 20), (VariableType::Hmac, 9), (VariableType::Hmac, 257)]
    {
        let token = skeleton(key_type, needed(key_type));
        assert_eq!(token.wrapped_bytes(key_bytes), Err(TokenError::KeyLength(key_bytes)));
    }
}

#[test]
fn keywords_set_what_the_manual_says() {
    let usage = |key_type, keywords: &[&str]| attributes(key_type, keywords).usage().to_vec();
    let management = |keywords: &[&str]| attributes(VariableType::Cipher, keywords).management();
    use VariableType::*;
    assert_eq!(usage(Cipher, &[]), [0xC000, 0x0000]);
    assert_eq!(usage(Cipher, &["C-XLATE"]), [0xE000, 0x0000]);
    assert_eq!(usage(Cipher, &["DECRYPT", "FF2.1", "UDX-001"]), [0x4001, 0x0800]);
    assert_eq!(usage(Mac, &["GENONLY", "CMAC", "PTR2AUTH"]), [0x8000, 0x0180]);
    assert_eq!(usage(Mac, &["GENERATE", "DKPINAD2"]), [0xC000, 0x0100, 0x0401]);
    assert_eq!(usage(Exporter, &[]), [0xFC00, 0, 0xFC00, 0xFC00]);
    assert_eq!(usage(Exporter, &["EXPTT31D", "VARDRV-D"]), [0x0100, 0x0100, 0xFC00, 0xFC00]);
    assert_eq!(usage(Importer, &["IMPTT31D", "WR-PIN"]), [0x0100, 0, 0xFC00, 0x2000]);
    assert_eq!(usage(Importer, &["IMPORT", "WR-AES", "WR-KEK", "KEK-RAW"]), [0x8000, 1, 0x4000, 0x4000]);
    assert_eq!(usage(PinProt, &["DECRYPT", "EPINVER", "RFMT4TO1", "ISO-4"]), [0x4000, 0x0011, 0, 0x0100]);
    assert_eq!(usage(PinProt, &["ENCRYPT", "CPINENC", "DKPINOPP"]), [0x8000, 0x0020, 0x0201]);
    assert_eq!(usage(PinCalc, &[]), [0x8000, 0, 0x0101]);
    assert_eq!(usage(PinPrw, &["VERIFY"]), [0x4000, 0x0100, 0x0101]);
    assert_eq!(usage(SecMsg, &["SMPIN", "DPC-ONLY"]), [0, 0x0100]);
    assert_eq!(usage(DkyGenKy, &["A-DUKPT", "KMF-MBP", "DKYL2"]), [0x0080, 0x4002]);
    assert_eq!(usage(Hmac, &["GENERATE"]), [0x8000, 0xF800]);
    assert_eq!(usage(Hmac, &["GENERATE", "VERIFY", "SHA-1", "SHA-512"]), [0xC000, 0x8800]);
    assert_eq!(management(&[]), [0xE000, 0, 0]);
    assert_eq!(management(&["XPRT-RAW", "NOEXUASY", "NOEX-AES"]), [0xB040, 0, 0]);
}

#[test]
fn contradicting_missing_and_unknown_keywords_are_told_apart() {
    let refused =
        |key_type, keywords: &[&str]| Attributes::new(key_type, keywords.iter().copied(), None).err();
    use AttributesError::*;
    assert_eq!(refused(VariableType::Cipher, &["CBC", "GCM"]), Some(Combination));
    assert_eq!(refused(VariableType::Cipher, &["ENCRYPT", "ENCRYPT"]), Some(Combination));
    assert_eq!(refused(VariableType::Cipher, &["XPRT-SYM", "NOEX-SYM"]), Some(Combination));
    assert_eq!(refused(VariableType::Mac, &["VERIFY", "GENONLY"]), Some(Combination));
    assert_eq!(refused(VariableType::PinProt, &["DECRYPT", "CPINENC"]), Some(Combination));
    assert_eq!(refused(VariableType::PinProt, &["DECRYPT", "DKPINOP", "ISO-4"]), Some(Combination));
    assert_eq!(refused(VariableType::Mac, &["CMAC"]), Some(Missing));
    assert_eq!(refused(VariableType::Hmac, &["SHA-1"]), Some(Missing));
    assert_eq!(refused(VariableType::Hmac, &["GENERATE", "CMAC"]), Some(Keyword));
    assert_eq!(refused(VariableType::Exporter, &["IMPORT"]), Some(Keyword));
    // A key that protects blocks alone does nothing else.
    for other in ["EXPORT", "TRANSLAT", "GEN-OPEX", "GEN-IMEX", "GEN-EXEX", "GEN-PUB"] {
        assert_eq!(refused(VariableType::Exporter, &["EXPTT31D", other]), Some(Combination));
        assert_eq!(refused(VariableType::Exporter, &[other, "EXPTT31D"]), Some(Combination));
    }
    assert_eq!(refused(VariableType::Importer, &["EXPTT31D"]), Some(Keyword));
    assert_eq!(refused(VariableType::Cipher, &["COMP-TAG"]), Some(Keyword));
    assert_eq!(refused(VariableType::DkyGenKy, &["D-MAC"]), Some(Derived));
    let derived = attributes(VariableType::Mac, &["VERIFY"]);
    let of = |keyword| Attributes::new(VariableType::DkyGenKy, [keyword], Some(&derived));
    assert_eq!(of("D-MAC").unwrap().usage(), [0x0200, 0, 0x4000, 0x0100]);
    assert_eq!(of("D-CIPHER"), Err(Derived));
    assert_eq!(of("D-ALL"), Err(Derived));
    assert_eq!(attributes(VariableType::Cipher, &[]).with_user_data(&[0; 256]), Err(UserData));
}

#[test]
fn what_is_forbidden_is_not_given_back() {
    let all = attributes(VariableType::Cipher, &["XPRT-RAW", "XPRTCPAC"]);
    assert_eq!(all.management()[0], 0xF800);
    let less = all.restricted(["NOEX-SYM", "NOEX-RSA"]).unwrap();
    assert_eq!(less.management()[0], 0x7808);
    assert_eq!(less.clone().restricted(["XPRT-SYM"]), Err(AttributesError::Keyword));
    assert_eq!(less.restricted(["ENCRYPT"]), Err(AttributesError::Keyword));
}

#[test]
fn every_token_reads_back_in_a_longer_field() {
    for token in tokens() {
        let bytes = token.to_bytes();
        let read = VariableToken::parse(&bytes).unwrap();
        assert_eq!(read, token);
        let longer = [&bytes[..], &[0xAA; 9]].concat();
        assert_eq!(VariableToken::parse(&longer).unwrap(), token);
        for length in 0..bytes.len() {
            assert!(VariableToken::parse(&bytes[..length]).is_err(), "{token:?} cut to {length}");
        }
    }
}

#[test]
fn every_changed_byte_is_refused_or_seen() {
    for token in tokens() {
        let bytes = token.to_bytes().to_vec();
        for index in 0..bytes.len() {
            for change in 1..=255u8 {
                let mut changed = bytes.clone();
                changed[index] ^= change;
                if let Ok(read) = VariableToken::parse(&changed) {
                    assert_ne!(read, token, "byte {index} xor {change:02X}");
                    assert_eq!(read.to_bytes()[..], changed[..], "byte {index} xor {change:02X}");
                }
            }
        }
    }
}

#[test]
fn keys_of_pin_blocks_go_one_way_and_base_keys_derive_what_they_say() {
    use token::usage::{PinBlockIn, PinBlockOut};
    use token::variable::PinField::{In, InToIso1, Out, OutOfIso1};
    let may = |key_type, keywords: &[&str], derived: Option<&Attributes>| -> Vec<VariableUse> {
        let attributes = Attributes::new(key_type, keywords.iter().copied(), derived).unwrap();
        VariableUse::ALL.into_iter().filter(|usage| attributes.may(*usage)).collect()
    };
    let pin = |keywords: &[&str]| may(VariableType::PinProt, keywords, None);
    let fields = |fields: &[PinField]| fields.iter().copied().map(VariableUse::PinField).collect::<Vec<_>>();
    assert_eq!(pin(&["DECRYPT", "ISO-4"]), []);
    assert_eq!(pin(&["DECRYPT", "PINXLATE"]), []);
    assert_eq!(pin(&["DECRYPT", "PINXLATE", "ISO-4"]), fields(&[In(PinBlockIn::Translate)]));
    assert_eq!(pin(&["ENCRYPT", "PINXLATE", "ISO-4"]), fields(&[Out(PinBlockOut::Translate)]));
    assert_eq!(pin(&["DECRYPT", "REFORMAT", "ISO-4"]), fields(&[In(PinBlockIn::Reformat)]));
    assert_eq!(pin(&["ENCRYPT", "REFORMAT", "ISO-4"]), fields(&[Out(PinBlockOut::Reformat)]));
    let both = fields(&[In(PinBlockIn::Reformat), InToIso1]);
    assert_eq!(pin(&["DECRYPT", "REFORMAT", "RFMT4TO1", "ISO-4"]), both);
    let both = fields(&[Out(PinBlockOut::Reformat), OutOfIso1]);
    assert_eq!(pin(&["ENCRYPT", "REFORMAT", "RFMT1TO4", "ISO-4"]), both);
    assert_eq!(pin(&["DECRYPT", "RFMT4TO1", "ISO-4"]), []);
    assert_eq!(pin(&["DECRYPT", "EPINVER", "ISO-4"]), fields(&[In(PinBlockIn::Verify)]));
    assert_eq!(pin(&["DECRYPT", "CPINGENA", "ISO-4"]), fields(&[In(PinBlockIn::Alternate)]));
    assert_eq!(pin(&["ENCRYPT", "CPINENC", "ISO-4"]), fields(&[Out(PinBlockOut::Encrypt)]));
    assert_eq!(pin(&["ENCRYPT", "EPINGEN", "ISO-4"]), fields(&[Out(PinBlockOut::Generate)]));
    assert_eq!(pin(&["DECRYPT", "PINXLATE", "UDX-ONLY", "ISO-4"]), []);
    assert_eq!(pin(&["DECRYPT", "PINXLATE", "DKPINOP"]), []);

    let base =
        |keywords: &[&str], derived: Option<&Attributes>| may(VariableType::DkyGenKy, keywords, derived);
    assert_eq!(base(&["D-ALL"], None), []);
    let all = base(&["D-ALL", "A-DUKPT"], None);
    let derives =
        |usage: &VariableUse| matches!(usage, VariableUse::DerivePinField(_) | VariableUse::DerivePinBlock);
    assert!(all.len() == 7 && all.iter().all(derives));
    for keyword in ["DKYL1", "DKYL2", "UDX-ONLY"] {
        assert_eq!(base(&["D-ALL", "A-DUKPT", keyword], None), []);
    }
    let one = attributes(VariableType::PinProt, &["DECRYPT", "PINXLATE", "ISO-4"]);
    assert_eq!(
        base(&["D-PPROT", "A-DUKPT", "KUF-MBE"], Some(&one)),
        [VariableUse::DerivePinField(In(PinBlockIn::Translate))]
    );
    let other = attributes(VariableType::Mac, &["GENERATE"]);
    assert_eq!(base(&["D-MAC", "A-DUKPT", "KUF-MBE"], Some(&other)), []);
}

#[test]
fn keys_do_what_their_fields_say_and_nothing_before_they_are_complete() {
    let may = |key_type, keywords: &[&str]| -> Vec<VariableUse> {
        let token = skeleton(key_type, keywords);
        VariableUse::ALL.into_iter().filter(|usage| token.may(*usage)).collect()
    };
    use CipherMode::*;
    use VariableUse::*;
    assert_eq!(may(VariableType::Cipher, &["ENCRYPT"]), [Encipher(Cbc), TranslateTo(Cbc)]);
    assert_eq!(may(VariableType::Cipher, &["DECRYPT", "GCM"]), [Decipher(Gcm)]);
    assert_eq!(may(VariableType::Cipher, &["XTS"]), []);
    assert_eq!(may(VariableType::Cipher, &["ANY-MODE"]).len(), 14);
    let translations = [
        TranslateFrom(Cbc),
        TranslateFrom(Ecb),
        TranslateTo(Cbc),
        TranslateTo(Ecb),
        TranslateFrom(Ff1),
        TranslateTo(Ff1),
    ];
    assert_eq!(may(VariableType::Cipher, &["FF1", "ENCRYPT"]), [Encipher(Ff1), TranslateTo(Ff1)]);
    assert_eq!(may(VariableType::Cipher, &["FF1", "DECRYPT"]), [Decipher(Ff1), TranslateFrom(Ff1)]);
    assert_eq!(may(VariableType::Cipher, &["FF2"]), []);
    assert_eq!(may(VariableType::Cipher, &["ANY-MODE", "C-XLATE"]), translations);
    assert_eq!(may(VariableType::Cipher, &["ECB", "C-XLATE", "DECRYPT"]), translations[1..2]);
    assert_eq!(may(VariableType::Cipher, &["ANY-MODE", "UDX-ONLY"]), []);
    assert_eq!(may(VariableType::Mac, &["GENERATE"]), [CmacGenerate, CmacVerify]);
    assert_eq!(may(VariableType::Mac, &["GENONLY"]), [CmacGenerate]);
    assert_eq!(may(VariableType::Mac, &["VERIFY"]), [CmacVerify]);
    for keyword in ["DKPINOP", "DKPINAD1", "DKPINAD2"] {
        assert_eq!(may(VariableType::Mac, &["GENONLY", keyword]), []);
    }
    // What may change a PAN makes no MACs.
    assert_eq!(may(VariableType::Mac, &["VERIFY", "PTR2AUTH"]), [CmacVerify, PanChangeVerify]);
    assert_eq!(may(VariableType::Mac, &["GENERATE", "PTR2AUTH"]), [CmacGenerate, CmacVerify]);
    // A key that was built with GENERATE alone is given to verify, too.
    let both = [HmacGenerate(HmacHash::Sha256), HmacVerify(HmacHash::Sha256)];
    assert_eq!(may(VariableType::Hmac, &["GENERATE", "SHA-256"]), both);
    assert_eq!(may(VariableType::Hmac, &["VERIFY", "SHA-256"]), both[1..]);
    for key_type in made() {
        let own = !may(key_type, needed(key_type)).is_empty();
        let known = matches!(
            key_type,
            VariableType::Cipher
                | VariableType::Mac
                | VariableType::Hmac
                | VariableType::Exporter
                | VariableType::Importer
        );
        assert_eq!(own, known, "{key_type:?}");
    }
    let wrap = |side, wrapping| vec![Wrap(side, wrapping), Wrap(side, Wrapping::Tested)];
    let of_keys =
        |side| [Wrapping::Keys, Wrapping::PrivateKeys, Wrapping::Tested].map(|wrapping| Wrap(side, wrapping));
    assert_eq!(may(VariableType::Exporter, &["EXPORT"]), of_keys(Side::Sending));
    assert_eq!(may(VariableType::Importer, &["IMPORT"]), of_keys(Side::Receiving));
    let generated = wrap(Side::Sending, Wrapping::GeneratedPrivateKeys);
    assert_eq!(may(VariableType::Exporter, &["GEN-PUB"]), generated);
    assert_eq!(may(VariableType::Exporter, &["GEN-EXEX"]), wrap(Side::Sending, Wrapping::GeneratedTwice));
    assert_eq!(may(VariableType::Importer, &["TRANSLAT"]), wrap(Side::Receiving, Wrapping::Translated));
    assert_eq!(may(VariableType::Importer, &["GEN-OPIM"]), wrap(Side::Receiving, Wrapping::GeneratedOnce));
    assert_eq!(may(VariableType::Importer, &["GEN-IMEX"]), wrap(Side::Receiving, Wrapping::GeneratedForBoth));
    assert_eq!(may(VariableType::Importer, &["IMPORT", "UDX-ONLY"]), []);
    let blocks = [ProtectBlocks(Side::Sending)];
    assert_eq!(may(VariableType::Exporter, &["EXPTT31D", "VARDRV-D"]), blocks);
    assert_eq!(may(VariableType::Exporter, &["EXPTT31D", "WR-TR31"]), []);
    assert_eq!(may(VariableType::Importer, &["IMPTT31D", "VARDRV-D"]), [ProtectBlocks(Side::Receiving)]);
    assert!(may(VariableType::Exporter, &["EXPORT", "WR-TR31"]).contains(&blocks[0]));
    assert_eq!((may(VariableType::Exporter, &[]).len(), may(VariableType::Importer, &[]).len()), (8, 8));
    for incomplete in [Completeness::Sufficient, Completeness::OneMissing, Completeness::TwoMissing] {
        let part = attributes(VariableType::Cipher, &["ANY-MODE"]).made(Pedigree::ClearParts, incomplete);
        assert_eq!(part.completeness(), incomplete);
        assert!(VariableUse::ALL.into_iter().all(|usage| !part.may(usage)), "{incomplete:?}");
    }
}

#[test]
fn private_keys_come_under_what_wraps_their_algorithm() {
    use PrivateAlgorithm::{Ecc, Rsa};
    let wraps = |key_type, keywords: &[&str]| {
        [Rsa, Ecc].map(|algorithm| attributes(key_type, keywords).wraps_private(algorithm))
    };
    for key_type in [VariableType::Exporter, VariableType::Importer] {
        assert_eq!(wraps(key_type, &[]), [true, true]);
        assert_eq!(wraps(key_type, &["WR-RSA"]), [true, false]);
        assert_eq!(wraps(key_type, &["WR-ECC"]), [false, true]);
        assert_eq!(wraps(key_type, &["WR-AES", "WR-QSA"]), [false, false]);
    }
    assert_eq!(wraps(VariableType::Cipher, &[]), [false, false]);
}

#[test]
fn a_key_leaves_by_what_it_permits_and_does_not_forbid() {
    let leaves = |keywords: &[&str]| -> Vec<Carrier> {
        let key = attributes(VariableType::Cipher, keywords);
        Carrier::ALL.into_iter().filter(|under| key.may_leave(*under)).collect()
    };
    assert_eq!(leaves(&[]), Carrier::ALL);
    assert_eq!(leaves(&["NOEX-SYM"]), [Carrier::Rsa]);
    assert_eq!(leaves(&["NOEX-AES"]), [Carrier::Des, Carrier::Rsa]);
    assert_eq!(leaves(&["NOEX-DES"]), [Carrier::Aes, Carrier::Rsa]);
    assert_eq!(leaves(&["NOEX-RSA"]), [Carrier::Aes, Carrier::Des]);
    assert_eq!(leaves(&["NOEXUASY"]), [Carrier::Aes, Carrier::Des]);
    assert_eq!(leaves(&["NOEX-SYM", "NOEXUASY", "XPRT-RAW", "XPRTCPAC", "XPRTAASY"]), []);
    let part = attributes(VariableType::Cipher, &[]).made(Pedigree::ClearParts, Completeness::Sufficient);
    assert!(Carrier::ALL.into_iter().all(|under| !part.may_leave(under)));
}

/// The low byte of the second management field, as CCA's books have it.
#[test]
fn a_history_only_grows() {
    let of = attributes(VariableType::Cipher, &[]);
    let history = |of: &Attributes| of.management()[1];
    assert_eq!(history(&of), 0);
    assert_eq!(history(&of.clone().weakened()), 0x04);
    assert_eq!(history(&of.clone().from_anyone()), 0x10);
    assert_eq!(history(&of.clone().from_elsewhere()), 0x0A);
    let all = of.weakened().from_anyone().from_elsewhere();
    assert_eq!(history(&all), 0x1E);
    assert_eq!(history(&all.clone().weakened().from_anyone().from_elsewhere()), 0x1E);
    // It is no matter of how complete a key is, and of nothing else.
    assert_eq!(
        (all.completeness(), all.management()[0], all.management()[2]),
        (Completeness::Complete, 0xE000, 0)
    );
    skeleton(VariableType::Cipher, &[]).with_attributes(all).unwrap();
}

#[test]
fn a_clear_key_is_not_shown() {
    let token = skeleton(VariableType::Cipher, &[]).with_clear_key(&[0xAB; 16]).unwrap();
    let shown = format!("{token:?}").to_lowercase();
    assert!(shown.contains("clear") && !shown.contains("171") && !shown.contains("abab"));
    assert!(matches!(token.key(), VariableKey::Clear(key) if key[..] == [0xAB; 16]));
    assert!(matches!(token.without_key().key(), VariableKey::Absent));
}

#[test]
fn a_key_is_in_the_form_of_its_origin_and_type() {
    let cipher = skeleton(VariableType::Cipher, &[]);
    assert!(cipher.with_payload(Wrapper::Key([1; 16]), vec![1; 64]).is_err());
    assert!(cipher.with_payload(Wrapper::Master([1; 8]), vec![1; 56]).is_err());
    assert!(cipher.with_clear_key(&[1; 17]).is_err());
    assert!(skeleton(VariableType::Mac, &["VERIFY"]).with_clear_key(&[1; 16]).is_err());
    let of = |payload, key_type| {
        VariableToken::skeleton(Origin::Internal, payload, attributes(key_type, needed(key_type))).is_ok()
    };
    assert!(of(PayloadVersion::Fixed, VariableType::Cipher) && of(PayloadVersion::Fixed, VariableType::Mac));
    assert!(
        !of(PayloadVersion::Variable, VariableType::Mac) && !of(PayloadVersion::Fixed, VariableType::Hmac)
    );
}

/// The keywords that attributes say make them again.
#[test]
fn attributes_say_the_keywords_that_make_them() {
    let mut tried = 0;
    for (key_type, own) in [
        (VariableType::Cipher, &["ENCRYPT", "C-XLATE", "UDX-100", "GCM", "ANY-MODE"][..]),
        (VariableType::Mac, &["GENERATE", "GENONLY", "VERIFY", "PTR2AUTH", "DKPINOP"]),
        (VariableType::Exporter, &["EXPORT", "GEN-PUB", "WR-TR31", "KEK-RAW", "WR-AES", "WR-KEK"]),
        (VariableType::Importer, &["IMPORT", "GEN-OPIM", "KEK-RAW", "WR-HMAC", "WRDERIVE"]),
        (
            VariableType::PinProt,
            &["ENCRYPT", "DECRYPT", "CPINENC", "CPINGENA", "PINXLATE", "DKPINAD1", "ISO-4"],
        ),
        (VariableType::PinCalc, &["UDX-001"]),
        (VariableType::PinPrw, &["GENONLY", "VERIFY"]),
        (VariableType::DkyGenKy, &["D-ALL", "KUF-MBE", "KMF-MBP", "KMF-MBE", "DKYL2", "A-DUKPT"]),
        (VariableType::SecMsg, &["DPC-ONLY"]),
        (VariableType::Hmac, &["GENERATE", "VERIFY", "SHA-224", "SHA-512"]),
    ] {
        let managed = ["NOEX-SYM", "NOEXUASY", "XPRT-RAW", "XPRTCPAC", "NOEX-DES", "NOEX-RSA"];
        let words: Vec<&str> = own.iter().copied().chain(managed).collect();
        for set in 0..1usize << words.len() {
            let given = words.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, word)| *word);
            let Ok(attributes) = Attributes::new(key_type, given.clone(), None) else { continue };
            let said = attributes.keywords();
            assert!(!said.is_partial && said.derived.is_none());
            let all: Vec<&str> = said.usage.iter().chain(&said.management).copied().collect();
            assert!(given.clone().all(|word| all.contains(&word)), "{key_type:?} {all:?}");
            assert_eq!(
                Attributes::new(key_type, all.iter().copied(), None),
                Ok(attributes),
                "{key_type:?} {all:?}"
            );
            tried += 1;
        }
    }
    assert!(tried > 1_000, "{tried}");
    let derived = Attributes::new(VariableType::Mac, ["VERIFY", "CMAC"], None).unwrap();
    let deriving = Attributes::new(VariableType::DkyGenKy, ["D-MAC"], Some(&derived)).unwrap().keywords();
    assert_eq!(deriving.derived, Some((VariableType::Mac, vec!["VERIFY", "CMAC", "NOP2AUTH"])));
}

proptest! {
    #[test]
    fn what_is_read_is_written_back(
        at: prop::sample::Index,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let tokens = tokens();
        let mut bytes = tokens[at.index(tokens.len())].to_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(token) = VariableToken::parse(&bytes) {
            let written = token.to_bytes();
            prop_assert_eq!(&written[..], &bytes[..written.len()]);
        }
    }

    #[test]
    fn any_keywords_of_any_type_make_a_token_or_a_refusal(
        at in 0..VariableType::ALL.len(),
        words in proptest::collection::vec(prop::sample::select(vec![
            "ENCRYPT", "DECRYPT", "C-XLATE", "GENERATE", "GENONLY", "VERIFY", "CMAC", "EXPORT", "IMPORT",
            "WR-AES", "WR-KEK", "EPINVER", "CPINENC", "DKPINOP", "ISO-4", "D-ALL", "A-DUKPT", "DKYL1", "SMPIN",
            "UDX-ONLY", "SHA-256", "XPRT-RAW", "NOEX-SYM", "KEK-RAW", "PINXLATE", "PTR2AUTH",
        ]), 0..6),
    ) {
        let key_type = VariableType::ALL[at];
        if let Ok(attributes) = Attributes::new(key_type, words, None) {
            let payload = VariableToken::default_payload(key_type);
            let token = VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap();
            prop_assert_eq!(VariableToken::parse(&token.to_bytes()).unwrap(), token);
        }
    }
}
