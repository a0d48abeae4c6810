//! Tokens of elliptic-curve keys: what is built reads back, every flipped byte is refused or seen, and lengths are the
//! published ones.

use token::pka::ecc::{
    Derivation, DerivedAlgorithm, DerivedType, EccAttributes, EccCurve, EccKeyValues, EccToken, EccValue,
    EccWrappedBuilder, USER_DATA_BYTES_MAX, clear_token, is_ecc, public_token, skeleton_token,
};
use token::pka::{Attributes, Destination, Origin, PkaToken, Problem, Source, Usage};
use wire::code;

const PATTERN: [u8; 8] = [0xEF; 8];

fn point(curve: EccCurve) -> Vec<u8> {
    let mut point: Vec<u8> = (0..curve.point_bytes()).map(|at| (at as u8).wrapping_mul(31) | 1).collect();
    if curve != EccCurve::Ed25519 {
        point[0] = 4;
    }
    point
}

fn value(curve: EccCurve) -> Vec<u8> {
    (0..curve.bytes()).map(|at| (at as u8).wrapping_mul(7) ^ 0x55).collect()
}

fn full() -> EccAttributes {
    let mut name = [b' '; 64];
    name[..8].copy_from_slice(b"MY.KEY.1");
    let common = Attributes { usage: Usage::KeyManagement, translatable: true, name: Some(name) };
    let derivation = Derivation { algorithm: DerivedAlgorithm::Aes, key_type: DerivedType::Data, bits: 256 };
    EccAttributes {
        common,
        is_version_1: true,
        user_data: b"of the user".to_vec(),
        derivation: Some(derivation),
    }
}

fn external(curve: EccCurve, attributes: &EccAttributes) -> Vec<u8> {
    let builder = EccWrappedBuilder::new(Destination::External, curve, &point(curve), attributes).unwrap();
    builder.finish(&[0; 48], &PATTERN, &vec![0xAB; builder.payload_bytes()])
}

fn internal(curve: EccCurve, attributes: &EccAttributes) -> Vec<u8> {
    let builder =
        EccWrappedBuilder::new(Destination::Internal(Source::Random), curve, &point(curve), attributes)
            .unwrap();
    builder.finish(&[0xCD; 48], &PATTERN, &vec![0xAB; builder.payload_bytes()])
}

/// One token of every kind, of a curve.
fn samples(curve: EccCurve) -> Vec<(String, Vec<u8>)> {
    let mut out = vec![(format!("public {curve:?}"), public_token(curve, &point(curve)).unwrap())];
    for (attributes, name) in [(EccAttributes::default(), "plain"), (full(), "full")] {
        let clear = clear_token(curve, &value(curve), &point(curve), &attributes).unwrap();
        out.push((format!("clear {name} {curve:?}"), clear.to_vec()));
        out.push((format!("skeleton {name} {curve:?}"), skeleton_token(curve, &attributes).unwrap()));
        out.push((format!("internal {name} {curve:?}"), internal(curve, &attributes)));
        out.push((format!("transported {name} {curve:?}"), external(curve, &attributes)));
    }
    out
}

/// Everything that a view says, as text.
fn seen(token: &EccToken<'_>) -> String {
    let private = token.private().map(|private| {
        let value = match private.value {
            EccValue::Skeleton => "skeleton".to_owned(),
            EccValue::Clear(value) => format!("{value:?}"),
            EccValue::Wrapped(wrapped) | EccValue::Transported(wrapped) => {
                format!("{:?} {:?} {:?} {:?}", wrapped.pattern, wrapped.opk, wrapped.payload, wrapped.hashed)
            }
        };
        format!("{:?} {value}", private.source)
    });
    let (origin, curve, point) = (token.origin(), token.curve(), token.point());
    format!("{origin:?} {curve:?} {point:?} {private:?} {:?}", token.attributes())
}

#[test]
fn what_is_built_reads_back() {
    for curve in EccCurve::ALL {
        for attributes in [EccAttributes::default(), full()] {
            let clear = clear_token(curve, &value(curve), &point(curve), &attributes).unwrap();
            let view = EccToken::parse(&clear).unwrap();
            assert_eq!(
                (view.origin(), view.curve(), view.point()),
                (Origin::External, curve, &point(curve)[..])
            );
            assert_eq!(view.attributes(), attributes);
            let private = view.private().unwrap();
            assert!(matches!(private.value, EccValue::Clear(read) if read == value(curve)));
            assert_eq!(private.source, None);

            let skeleton = skeleton_token(curve, &attributes).unwrap();
            let view = EccToken::parse(&skeleton).unwrap();
            assert_eq!((view.curve(), view.point(), view.attributes()), (curve, &[][..], attributes.clone()));
            assert!(matches!(view.private().unwrap().value, EccValue::Skeleton));

            let token = internal(curve, &attributes);
            let view = EccToken::parse(&token).unwrap();
            assert_eq!(
                (view.origin(), view.curve(), view.point()),
                (Origin::Internal, curve, &point(curve)[..])
            );
            assert_eq!(view.attributes(), attributes);
            let private = view.private().unwrap();
            assert_eq!(private.source, Some(Source::Random));
            let EccValue::Wrapped(wrapped) = private.value else { panic!("{curve:?}") };
            assert_eq!((wrapped.pattern, wrapped.opk), (&PATTERN, &[0xCD; 48]));
            let builder = EccWrappedBuilder::new(
                Destination::Internal(Source::Random),
                curve,
                &point(curve),
                &attributes,
            )
            .unwrap();
            assert_eq!(wrapped.hashed, builder.hashed());

            let token = external(curve, &attributes);
            let view = EccToken::parse(&token).unwrap();
            assert_eq!((view.origin(), view.attributes()), (Origin::External, attributes.clone()));
            let private = view.private().unwrap();
            assert_eq!(private.source, Some(Source::Random));
            let EccValue::Transported(wrapped) = private.value else { panic!("{curve:?}") };
            assert_eq!((wrapped.pattern, wrapped.opk), (&PATTERN, &[0; 48]));
            assert_eq!((token[8 + 10], token[8 + 11], wrapped.hashed[1]), (0x42, 0x24, &[0x24][..]));

            let public = public_token(curve, &point(curve)).unwrap();
            let view = EccToken::parse(&public).unwrap();
            assert!(view.private().is_none() && view.point() == point(curve));
        }
    }
}

#[test]
fn lengths_and_places_are_the_published_ones() {
    let payload = |curve| {
        let builder = EccWrappedBuilder::new(
            Destination::Internal(Source::Random),
            curve,
            &point(curve),
            &EccAttributes::default(),
        )
        .unwrap();
        builder.payload_bytes()
    };
    assert_eq!(EccCurve::ALL.map(payload), [72, 80, 96, 112, 80, 96, 80, 80]);
    let token = internal(EccCurve::P256, &EccAttributes::default());
    let section = &token[8..];
    let halfword = |at: usize| u16::from_be_bytes([section[at], section[at + 1]]);
    assert_eq!(usize::from(u16::from_be_bytes([token[2], token[3]])), token.len());
    assert_eq!((token[0], section[0], section[1], halfword(2)), (0x1F, 0x20, 0, 76 + 16 + 80));
    assert_eq!((section[4], section[5], section[8], section[9], section[10]), (1, 2, 0, 0, 8));
    assert_eq!((section[11], halfword(12), halfword(14)), (0x24, 0x100, 16));
    assert_eq!((&section[16..24], &section[24..72]), (&PATTERN[..], &[0xCD; 48][..]));
    assert_eq!((halfword(72), halfword(74)), (16, 80));
    assert_eq!(section[76..92], [0, 0, 0, 16, 0, 0, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0]);
    let public = &section[172..];
    assert_eq!(public[..14], [0x21, 0, 0, 79, 0, 0, 0, 0, 0, 0, 1, 0, 0, 65]);
    assert_eq!(token.len(), 8 + 172 + 79);
    let longest = internal(EccCurve::P521, &full());
    assert!(longest.ends_with(&[0x23, 0, 0, 8, 2, 1, 1, 0]), "the derivation section");
    assert!(longest.len() < wire::bounds::PKA_TOKEN_BYTES_MAX);
}

#[test]
fn every_flipped_byte_is_refused_or_seen() {
    for curve in EccCurve::ALL {
        for (kind, token) in samples(curve) {
            let original = seen(&EccToken::parse(&token).unwrap());
            let mut refused = 0;
            for at in 0..token.len() {
                for flip in [0x01, 0x02, 0x10, 0x80, 0xFF] {
                    let mut changed = token.clone();
                    changed[at] ^= flip;
                    match EccToken::parse(&changed) {
                        Err(_) => refused += 1,
                        Ok(view) => assert_ne!(seen(&view), original, "{kind}: byte {at} ^ {flip:#x}"),
                    }
                }
            }
            assert!(refused >= 5 * 16, "{kind}: {refused}");
        }
    }
}

/// What the hash does not cover of an internal token is refused when it is changed, but for the fields that do not open
/// then: pattern, object protection key and payload.
#[test]
fn the_hash_covers_all_that_may_be_changed() {
    for attributes in [EccAttributes::default(), full()] {
        let token = internal(EccCurve::P256, &attributes);
        let view = EccToken::parse(&token).unwrap();
        let EccValue::Wrapped(wrapped) = view.private().unwrap().value else { panic!() };
        let hashed = wrapped.hashed.concat();
        for at in 0..token.len() {
            let is_wrapped =
                (24..80).contains(&at) || wrapped.payload.as_ptr_range().contains(&(&raw const token[at]));
            for flip in 1..=255 {
                let mut changed = token.clone();
                changed[at] ^= flip;
                let Ok(view) = EccToken::parse(&changed) else { continue };
                let EccValue::Wrapped(wrapped) = view.private().unwrap().value else { panic!("byte {at}") };
                assert_eq!(wrapped.hashed.concat() == hashed, is_wrapped, "byte {at} ^ {flip:#x}");
            }
        }
    }
}

#[test]
fn every_cut_and_every_changed_length_is_refused() {
    for (kind, token) in samples(EccCurve::P521) {
        for length in 0..token.len() {
            assert!(EccToken::parse(&token[..length]).is_err(), "{kind} cut to {length}");
        }
        let mut longer = token.clone();
        longer.resize(2500, 0x55);
        assert_eq!(EccToken::parse(&longer).unwrap().bytes(), token, "{kind}");
        // Offsets of all lengths: of token and section, and in a private section.
        let lengths = if kind.contains("public") { &[2, 10][..] } else { &[2, 10, 22, 80, 82, 86] };
        for at in lengths {
            for step in [-8i32, -1, 1, 8, 256] {
                let mut changed = token.clone();
                let stated = i32::from(u16::from_be_bytes([changed[*at], changed[at + 1]]));
                changed[*at..at + 2].copy_from_slice(&((stated + step) as u16).to_be_bytes());
                // Without its last section a token is another one, which the hash of an internal one tells.
                let is_other = kind.contains("full") && (step, *at) == (-8, 2);
                assert_eq!(EccToken::parse(&changed).is_ok(), is_other, "{kind}: {step} at {at}");
            }
        }
    }
}

#[test]
fn parts_of_two_tokens_do_not_go_together() {
    let error = |token: &[u8]| EccToken::parse(token).map(|_| ()).unwrap_err();
    let with_length = |mut bytes: Vec<u8>| {
        let length = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&length);
        bytes
    };
    let private =
        |token: &[u8]| token[..8 + usize::from(u16::from_be_bytes([token[10], token[11]]))].to_vec();
    let token = internal(EccCurve::P256, &full());
    let plain = internal(EccCurve::P256, &EccAttributes::default());
    let other = public_token(EccCurve::BrainpoolP256r1, &point(EccCurve::BrainpoolP256r1)).unwrap();
    let public = public_token(EccCurve::P256, &point(EccCurve::P256)).unwrap();
    let skeleton = skeleton_token(EccCurve::P256, &full()).unwrap();

    let spliced = with_length([&private(&token), &other[8..]].concat());
    assert_eq!(error(&spliced).problem, Problem::Inconsistent, "another curve");
    assert_eq!(error(&spliced).codes(), code::PKA_FIELD);
    let spliced = with_length([&private(&skeleton), &public[8..]].concat());
    assert_eq!(error(&spliced).problem, Problem::Inconsistent, "a skeleton with a public key");
    let spliced = with_length([&private(&token), &skeleton[private(&skeleton).len()..]].concat());
    assert_eq!(error(&spliced).problem, Problem::Inconsistent, "a private key without a public one");
    let derivation = &token[token.len() - 8..];
    let spliced = with_length([&plain[..], derivation].concat());
    assert_eq!(error(&spliced).problem, Problem::Order, "a derivation in version 0");
    let spliced = with_length([&token[..], derivation].concat());
    assert_eq!(error(&spliced).problem, Problem::Order, "two derivations");
    let spliced = with_length([&public[..], derivation].concat());
    assert_eq!(error(&spliced).problem, Problem::Order, "a derivation without a private key");
    assert!(EccToken::parse(&with_length(private(&token))).is_err(), "no public section");
    let mut inside = public.clone();
    inside[0] = 0x1F;
    assert_eq!(error(&inside).problem, Problem::Order, "an internal public key");
    let mut wrapped =
        clear_token(EccCurve::P256, &[1; 32], &point(EccCurve::P256), &full()).unwrap().to_vec();
    wrapped[18] = 0x42;
    assert_eq!(error(&wrapped).codes(), code::PKA_FIELD, "clear, and said to be under a transport key");
    wrapped[18] = 0x08;
    assert_eq!(error(&wrapped).codes(), code::TOKEN_VERSION, "external, and said to be under a master key");
    let mut external = external(EccCurve::P256, &full());
    for (source, problem) in
        [(0, None), (0x24, None), (0x21, Some(Problem::Value)), (7, Some(Problem::Value))]
    {
        external[8 + 11] = source;
        assert_eq!(EccToken::parse(&external).err().map(|error| error.problem), problem, "{source:#x}");
    }
    (external[8 + 11], external[8 + 24]) = (0, 1);
    assert_eq!(error(&external).problem, Problem::Reserved, "an object protection key outside");
    // Both parsers refuse what is the other's.
    let hashes = (openssl::sha::sha1, openssl::sha::sha256);
    for (kind, token) in samples(EccCurve::P256) {
        assert!(is_ecc(&token), "{kind}");
        assert!(PkaToken::parse(&token, &hashes).is_err_and(|error| error.codes() == code::TOKEN_VERSION));
    }
    let rsa = token::pka::public_token(&[0xC1; 128], &[1, 0, 1]).unwrap();
    assert!(!is_ecc(&rsa) && !is_ecc(&[0x1E]) && !is_ecc(&[]));
    assert_eq!(error(&rsa).problem, Problem::Order);
}

#[test]
fn curves_that_are_not_served_have_a_code_of_their_own() {
    let error = |kind: u8, bits: u16| {
        let mut token = public_token(EccCurve::P256, &point(EccCurve::P256)).unwrap();
        token[16] = kind;
        token[18..20].copy_from_slice(&bits.to_be_bytes());
        EccToken::parse(&token).map(|_| ()).unwrap_err().codes()
    };
    for (kind, bits) in [(0, 192), (1, 160), (1, 192), (1, 224), (1, 320), (1, 512), (2, 448)] {
        assert_eq!(error(kind, bits), code::CURVE, "{kind} {bits}");
    }
    for (kind, bits) in [(0, 0), (0, 255), (0, 512), (1, 521), (2, 256), (3, 255), (4, 256), (0xFF, 0xFFFF)] {
        assert_eq!(error(kind, bits), code::PKA_FIELD, "{kind} {bits}");
    }
}

#[test]
fn builders_refuse_what_a_token_cannot_hold() {
    let (curve, none) = (EccCurve::P256, EccAttributes::default());
    let good = point(curve);
    for value in [&[][..], &[1; 33]] {
        assert!(clear_token(curve, value, &good, &none).is_err());
    }
    // Leading zeros may be missing.
    let short = clear_token(curve, &[7; 30], &good, &none).unwrap();
    let view = EccToken::parse(&short).unwrap();
    let EccValue::Clear(value) = view.private().unwrap().value else { panic!() };
    assert_eq!(value, [&[0; 2][..], &[7; 30]].concat());
    assert!(clear_token(EccCurve::Ed25519, &[7; 31], &[9; 32], &none).is_err(), "no number");
    for bad in [&good[..64], &[&good[..], &[0]].concat(), &[&[2], &good[1..]].concat(), &[2; 33], &[0], &[]] {
        assert!(public_token(curve, bad).is_err(), "{bad:?}");
        assert!(clear_token(curve, &[7; 32], bad, &none).is_err(), "{bad:?}");
        assert!(
            EccWrappedBuilder::new(Destination::Internal(Source::Random), curve, bad, &none).is_err(),
            "{bad:?}"
        );
    }
    let long = EccAttributes { user_data: vec![1; USER_DATA_BYTES_MAX + 1], ..full() };
    assert!(skeleton_token(curve, &long).is_err());
    let early = EccAttributes { is_version_1: false, ..full() };
    assert!(skeleton_token(curve, &early).is_err());
    for bytes in [[0, 1, 0, 128], [3, 1, 0, 128], [2, 0, 0, 128], [2, 5, 0, 128], [2, 1, 0, 64], [1, 1, 1, 0]]
    {
        assert_eq!(Derivation::from_bytes(bytes), None, "{bytes:?}");
    }
    for bytes in [[1, 1, 0, 64], [1, 4, 0, 192], [2, 1, 0, 128], [2, 2, 0, 192], [1, 3, 0, 128], [2, 4, 1, 0]]
    {
        assert_eq!(Derivation::from_bytes(bytes).unwrap().to_bytes(), bytes);
    }
}

#[test]
fn key_values_structures_are_read() {
    for curve in EccCurve::ALL {
        let bits = (curve.bits() as u16).to_be_bytes();
        let (value, point) = (value(curve), point(curve));
        let head = [curve.kind(), 0, bits[0], bits[1]];
        let halfword = |length: usize| (length as u16).to_be_bytes();
        let pair = [&head[..], &halfword(value.len()), &halfword(point.len()), &value, &point].concat();
        assert!(matches!(
            EccKeyValues::pair(&pair),
            Ok(EccKeyValues::Private { curve: c, value: d, point: q }) if c == curve && d == value && q == point
        ));
        let public = [&head[..], &halfword(point.len()), &point, &[0; 9]].concat();
        assert!(matches!(
            EccKeyValues::public(&public),
            Ok(EccKeyValues::Public { curve: c, point: q }) if c == curve && q == point
        ));
        let generate = [&head[..], &[0; 4]].concat();
        assert!(
            matches!(EccKeyValues::pair(&generate), Ok(EccKeyValues::Generate { curve: c }) if c == curve)
        );
        // As a little-endian machine writes it.
        let exchanged = [&[curve.kind(), 0, bits[1], bits[0]][..], &[0; 4]].concat();
        let found = EccKeyValues::pair(&exchanged);
        if curve == EccCurve::Ed25519 {
            assert_eq!(found.err().unwrap().codes(), code::PKA_FIELD);
        } else {
            assert!(matches!(found, Ok(EccKeyValues::Generate { curve: c }) if c == curve));
        }
        for length in 0..pair.len() {
            assert!(EccKeyValues::pair(&pair[..length]).is_err(), "cut to {length}");
        }
        for length in 0..public.len() - 9 {
            assert!(EccKeyValues::public(&public[..length]).is_err(), "cut to {length}");
        }
    }
    let error = |bytes: &[u8]| EccKeyValues::pair(bytes).err().unwrap();
    assert_eq!(error(&[0, 1, 1, 0, 0, 0, 0, 0]).problem, Problem::Reserved);
    assert_eq!(error(&[0, 0, 1, 0, 0, 1, 0, 0, 7]).problem, Problem::Inconsistent);
    assert_eq!(error(&[0, 0, 1, 0, 0, 0, 0, 1, 4]).problem, Problem::Inconsistent);
    for bits in [192u16, 192u16.swap_bytes()] {
        let [high, low] = bits.to_be_bytes();
        assert_eq!(error(&[0, 0, high, low, 0, 0, 0, 0]).codes(), code::CURVE);
    }
    assert_eq!(error(&[2, 0, 1, 0xC0, 0, 0, 0, 0]).codes(), code::CURVE);
    assert_eq!(error(&[9, 0, 1, 0, 0, 0, 0, 0]).codes(), code::PKA_FIELD);
}
