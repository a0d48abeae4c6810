//! The classifier of key-identifier fields: one table of what it says, and that it never calls harmless
//! what a parser reads as a wrapped key.

use openssl::sha::{sha1, sha256};
use proptest::prelude::*;
use token::control_vector::{ControlVector, KeyForm};
use token::pka::ecc::{self, EccAttributes, EccCurve, EccToken, EccValue, EccWrappedBuilder};
use token::pka::{
    Attributes, ClearKey, Destination, Form, PkaToken, PrivateValues, Source, WrappedBuilder, clear_token,
    public_token, skeleton_token,
};
use token::variable::{self, PayloadVersion, VariableKey, VariableType, Wrapper};
use token::{
    AesToken, DesToken, DescribeError, Description, Format, Holds, KeyType, NULL_TOKEN, Under, VariableToken,
    aes, des, describe, tvv,
};
use wire::Label;
use wire::control::{Register, TokenForm};

/// A key block with one optional block; nobody has its keys.
const BLOCK: &[u8] =
    b"D0136P0AE00E0100KS18000102030405060708090000112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEE";
/// A key block that is as long as a label.
const SHORT_BLOCK: &[u8; 64] = b"B0064D0DN00E000000112233445566778899AABBCCDDEEFF0011223344556677";

const PATTERN: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn sealed(change: impl FnOnce(&mut [u8; 64])) -> Vec<u8> {
    let mut token = [0; 64];
    change(&mut token);
    tvv::seal(&mut token);
    token.to_vec()
}

fn des_skeleton(origin: des::Origin) -> DesToken {
    let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    DesToken::skeleton(origin, KeyForm::Double, vector).unwrap()
}

fn variable(kind: u8, state: u8, method: u8) -> Vec<u8> {
    let mut token = vec![0; 60];
    (token[0], token[3], token[4], token[8], token[26]) = (kind, 60, 0x05, state, method);
    token[10..18].copy_from_slice(&PATTERN);
    token
}

/// Variable-length tokens as the parser takes them, in every state.
fn read_variable() -> Vec<Vec<u8>> {
    let skeleton = |origin| {
        let attributes = variable::Attributes::new(VariableType::Cipher, ["ANY-MODE"], None).unwrap();
        VariableToken::skeleton(origin, PayloadVersion::Variable, attributes).unwrap()
    };
    let (internal, external) = (skeleton(des::Origin::Internal), skeleton(des::Origin::External));
    let tokens = [
        internal.with_payload(Wrapper::Master(PATTERN), vec![2; 64]).unwrap(),
        external.with_payload(Wrapper::Key([3; 16]), vec![2; 64]).unwrap(),
        external.with_payload(Wrapper::Rsa(0x02), vec![2; 128]).unwrap(),
        internal.with_clear_key(&[4; 24]).unwrap(),
        external.with_clear_key(&[4; 24]).unwrap(),
        internal,
        external,
    ];
    tokens.iter().map(|token| token.to_bytes().to_vec()).collect()
}

/// A PKA token of a section of 140 bytes, none of them zero, with this byte at this place, and a public one.
fn pka(first: u8, section: u8, at: usize, format: u8) -> Vec<u8> {
    let mut private = vec![7; 140];
    private[..4].copy_from_slice(&[section, 0, 0, 140]);
    private[at] = format;
    let mut token = vec![first, 0, 0, 0, 0, 0, 0, 0];
    token.extend(&private);
    token.extend([0x04, 0, 0, 15, 0, 0, 0, 3, 8, 0, 0, 0, 1, 0, 1]);
    let length = token.len() as u16;
    token[2..4].copy_from_slice(&length.to_be_bytes());
    token
}

const N: [u8; 128] = [0xC1; 128];
const E: [u8; 3] = [1, 0, 1];
const D: [u8; 128] = [0x55; 128];
const KEY: ClearKey<'static> = ClearKey::Me { n: &N, e: &E, d: &D };

fn internal_pka() -> Vec<u8> {
    let attributes = Attributes { name: Some([b'A'; 64]), ..Attributes::default() };
    let builder = WrappedBuilder::new(
        Destination::Internal(Source::Random),
        &attributes,
        &N,
        &E,
        KEY.lengths(),
        &(sha1, sha256),
    )
    .unwrap();
    let payload = vec![9; builder.payload_bytes()];
    builder.finish(&[7; 48], &PATTERN, &payload)
}

const POINT: [u8; 65] = [4; 65];

fn internal_ecc() -> Vec<u8> {
    let attributes = EccAttributes::default();
    let builder =
        EccWrappedBuilder::new(Destination::Internal(Source::Random), EccCurve::P256, &POINT, &attributes)
            .unwrap();
    builder.finish(&[7; 48], &PATTERN, &vec![9; builder.payload_bytes()])
}

fn ecc_tokens() -> Vec<Row> {
    use Format::{PkaExternal as External, PkaInternal as Internal};
    let (curve, none) = (EccCurve::P256, EccAttributes::default());
    let clear = ecc::clear_token(curve, &[5; 32], &POINT, &none).unwrap().to_vec();
    let builder = EccWrappedBuilder::new(Destination::External, curve, &POINT, &none).unwrap();
    let transported = builder.finish(&[0; 48], &PATTERN, &vec![9; builder.payload_bytes()]);
    let transported_as = Ok((External, Holds::Wrapped(Under::Key)));
    vec![
        ("a public ECC key", ecc::public_token(curve, &POINT).unwrap(), Ok((External, Holds::Public))),
        ("a wrapped ECC key", internal_ecc(), Ok((Internal, master(Register::Apka)))),
        ("a clear ECC key", clear, Ok((External, Holds::Clear))),
        ("an ECC key under a transport key", transported, transported_as),
        ("an ECC skeleton", ecc::skeleton_token(curve, &none).unwrap(), Ok((External, Holds::Nothing))),
    ]
}

fn master(register: Register) -> Holds {
    Holds::Wrapped(Under::Master { register, pattern: Some(PATTERN) })
}

fn old(register: Register) -> Holds {
    Holds::Wrapped(Under::Master { register, pattern: None })
}

type Row = (&'static str, Vec<u8>, Result<(Format, Holds), DescribeError>);

fn fixed_tokens() -> Vec<Row> {
    let internal = des_skeleton(des::Origin::Internal);
    let external = des_skeleton(des::Origin::External);
    let wrapped = internal.with_key(PATTERN, &[2; 16]).unwrap().to_bytes();
    let mut damaged = wrapped.to_vec();
    damaged[20] ^= 1;
    vec![
        ("nothing", vec![], Ok((Format::Null, Holds::Nothing))),
        ("a null token", NULL_TOKEN.to_vec(), Ok((Format::Null, Holds::Nothing))),
        ("a null token of one byte", vec![0], Ok((Format::Null, Holds::Nothing))),
        ("a wrapped DES key", wrapped.to_vec(), Ok((Format::DesInternal, master(Register::Sym)))),
        (
            "a DES key by the method of this system",
            internal.with_authenticated_key(PATTERN, [2; 24]).unwrap().to_bytes().to_vec(),
            Ok((Format::DesInternal, master(Register::Sym))),
        ),
        // A control vector alone is not a key.
        ("a DES skeleton", internal.to_bytes().to_vec(), Ok((Format::DesInternal, Holds::Nothing))),
        (
            "a DES key under a transport key",
            external.with_key([0; 8], &[2; 16]).unwrap().to_bytes().to_vec(),
            Ok((Format::DesExternal, Holds::Wrapped(Under::Key))),
        ),
        ("an external skeleton", external.to_bytes().to_vec(), Ok((Format::DesExternal, Holds::Nothing))),
        // A third part stands apart from the others, behind the control vector.
        (
            "a clear third part",
            sealed(|token| (token[0], token[48]) = (1, 9)),
            Ok((Format::DesInternal, Holds::Clear)),
        ),
        (
            "a clear DES key",
            sealed(|token| (token[0], token[16]) = (1, 9)),
            Ok((Format::DesInternal, Holds::Clear)),
        ),
        (
            "a short pattern",
            sealed(|token| (token[0], token[4], token[6]) = (1, 3, 0x80)),
            Ok((Format::DesInternal, old(Register::Sym))),
        ),
        (
            "a short pattern in an external token",
            sealed(|token| (token[0], token[4], token[6]) = (2, 3, 0x80)),
            Err(DescribeError::Form),
        ),
        ("DES, version 2", sealed(|token| (token[0], token[4]) = (1, 2)), Err(DescribeError::Form)),
        ("a damaged token", damaged, Err(DescribeError::ValidationValue)),
        ("a cut token", wrapped[..63].to_vec(), Err(DescribeError::Length { given: 63 })),
        (
            "a wrapped AES key",
            AesToken::wrapped(32, PATTERN, TokenForm::Compatible, [2; 32]).unwrap().to_bytes().to_vec(),
            Ok((Format::AesInternal, master(Register::Aes))),
        ),
        (
            "an AES key by the method of this system",
            AesToken::wrapped(32, PATTERN, TokenForm::Authenticated, [2; 32]).unwrap().to_bytes().to_vec(),
            Ok((Format::AesInternal, master(Register::Aes))),
        ),
        (
            "a clear AES key",
            AesToken::clear(&[3; 16]).unwrap().to_bytes().to_vec(),
            Ok((Format::AesInternal, Holds::Clear)),
        ),
        (
            "an AES skeleton",
            AesToken::skeleton(16).unwrap().to_bytes().to_vec(),
            Ok((Format::AesInternal, Holds::Nothing)),
        ),
        ("a key block", BLOCK.to_vec(), Ok((Format::KeyBlock, Holds::Wrapped(Under::Key)))),
        (
            "a key block of the length of a label",
            SHORT_BLOCK.to_vec(),
            Ok((Format::KeyBlock, Holds::Wrapped(Under::Key))),
        ),
        ("a key block that is cut", BLOCK[..135].to_vec(), Err(DescribeError::Length { given: 135 })),
        ("a key block of an unknown character", [&BLOCK[..135], &[7]].concat(), Err(DescribeError::Form)),
        (
            "a label that begins as a key block",
            Label::new("B0064D0D.N00E0000").unwrap().to_field().to_vec(),
            Ok((Format::Label, Holds::Named)),
        ),
        ("a label", Label::new("A.KEY").unwrap().to_field().to_vec(), Ok((Format::Label, Holds::Named))),
        ("a short label", b"A.KEY".to_vec(), Err(DescribeError::Length { given: 5 })),
        ("no known first byte", vec![3; 64], Err(DescribeError::Form)),
        ("no known first byte, high", vec![0xFF; 64], Err(DescribeError::Form)),
        ("one byte of a token", vec![1], Err(DescribeError::Length { given: 1 })),
    ]
}

fn variable_tokens() -> Vec<Row> {
    use Format::{VariableExternal as External, VariableInternal as Internal};
    let mut long = variable(1, 3, 2);
    long[3] = 61;
    let mut short = variable(1, 3, 2);
    short[3] = 45;
    vec![
        ("variable, empty", variable(1, 0, 0), Ok((Internal, Holds::Nothing))),
        ("variable, clear", variable(1, 1, 0), Ok((Internal, Holds::Clear))),
        ("variable, wrapped", variable(1, 3, 2), Ok((Internal, master(Register::Aes)))),
        ("internal under a transport key", variable(1, 2, 2), Err(DescribeError::Form)),
        ("external, clear", variable(2, 1, 0), Ok((External, Holds::Clear))),
        ("external under a key", variable(2, 2, 2), Ok((External, Holds::Wrapped(Under::Key)))),
        ("external under RSA", variable(2, 2, 3), Ok((External, Holds::Wrapped(Under::Rsa)))),
        ("external under a master key", variable(2, 3, 2), Err(DescribeError::Form)),
        ("longer than its field", long, Err(DescribeError::Length { given: 60 })),
        ("shorter than its header", short, Err(DescribeError::Length { given: 60 })),
    ]
}

fn pka_tokens() -> Vec<Row> {
    use Format::{PkaExternal as External, PkaInternal as Internal};
    let none = Attributes::default();
    let clear = |form| clear_token(form, &KEY, &none, &(sha1, sha256)).unwrap().to_vec();
    let skeleton = |form| skeleton_token(form, 1024, &E, &none, &(sha1, sha256)).unwrap();
    let pattern_of_sevens =
        |register| Ok((Internal, Holds::Wrapped(Under::Master { register, pattern: Some([7; 8]) })));
    let transported = Holds::Wrapped(Under::Key);
    vec![
        ("a public key", public_token(&N, &E).unwrap(), Ok((External, Holds::Public))),
        ("a wrapped private key", internal_pka(), Ok((Internal, master(Register::Apka)))),
        ("clear, X'02'", clear(Form::Me1024), Ok((External, Holds::Clear))),
        ("clear, X'30'", clear(Form::MeAes), Ok((External, Holds::Clear))),
        ("skeleton, X'02'", skeleton(Form::Me1024), Ok((External, Holds::Nothing))),
        ("skeleton, X'08'", skeleton(Form::Crt), Ok((External, Holds::Nothing))),
        ("skeleton, X'30'", skeleton(Form::MeAes), Ok((External, Holds::Nothing))),
        ("skeleton, X'31'", skeleton(Form::CrtAes), Ok((External, Holds::Nothing))),
        ("X'30' under APKA", pka(0x1F, 0x30, 11, 0x02), pattern_of_sevens(Register::Apka)),
        ("X'31' under APKA", pka(0x1F, 0x31, 11, 0x08), pattern_of_sevens(Register::Apka)),
        ("X'20' under APKA", pka(0x1F, 0x20, 10, 0x08), pattern_of_sevens(Register::Apka)),
        ("X'06' under ASYM", pka(0x1F, 0x06, 28, 0x02), Ok((Internal, old(Register::Asym)))),
        ("X'08' under ASYM", pka(0x1F, 0x08, 28, 0x08), pattern_of_sevens(Register::Asym)),
        // External tokens are not harmless by their first byte: these are wrapped.
        ("X'02' under a transport key", pka(0x1E, 0x02, 28, 0x82), Ok((External, transported))),
        ("X'08' under a transport key", pka(0x1E, 0x08, 28, 0x42), Ok((External, transported))),
        ("X'30' under a transport key", pka(0x1E, 0x30, 11, 0x82), Ok((External, transported))),
        ("X'20', clear", pka(0x1E, 0x20, 10, 0x40), Ok((External, Holds::Clear))),
        ("X'31', another format", pka(0x1F, 0x31, 11, 0x41), Err(DescribeError::Form)),
        ("a section that is not known", pka(0x1F, 0x77, 11, 0), Err(DescribeError::Form)),
        ("no section", vec![0x1F, 0, 0, 8, 0, 0, 0, 0], Ok((Internal, Holds::Nothing))),
        ("a cut header", vec![0x1F, 0, 0, 8], Err(DescribeError::Length { given: 4 })),
        ("longer than its field", vec![0x1F, 0, 1, 0, 0, 0, 0, 0], Err(DescribeError::Length { given: 8 })),
    ]
}

fn all_tokens() -> impl Iterator<Item = Row> {
    fixed_tokens().into_iter().chain(variable_tokens()).chain(pka_tokens()).chain(ecc_tokens())
}

#[test]
fn every_field_is_called_what_it_is() {
    for (name, field, expected) in all_tokens() {
        let found = describe(&field);
        assert_eq!(found.map(|found| (found.format, found.holds)), expected, "{name}");
        let Ok(found) = found else { continue };
        assert_eq!((found.format, found.bytes), (Format::of(&field), field.len()), "{name}");
        // What follows a token in its field is not part of it.
        let longer = [&field[..], &[0xAA; 9]].concat();
        if found.format != Format::Null {
            assert_eq!(describe(&longer), Ok(found), "{name}, in a longer field");
        }
    }
}

#[test]
fn register_and_pattern_are_those_of_the_master_key() {
    let wrapped = describe(&internal_pka()).unwrap();
    assert_eq!((wrapped.register(), wrapped.pattern()), (Some(Register::Apka), Some(PATTERN)));
    let public = describe(&public_token(&N, &E).unwrap()).unwrap();
    assert_eq!((public.register(), public.pattern()), (None, None));
}

#[test]
fn the_first_byte_tells_labels_from_tokens() {
    let mut field = NULL_TOKEN;
    for byte in 0..=255u8 {
        field[0] = byte;
        assert_eq!(Format::of(&field) == Format::Label, Label::is_label_field(&field), "{byte:02X}");
    }
}

/// What the parsers read, against what the classifier says: they agree wherever a parser reads anything.
fn agrees(field: &[u8]) {
    let described = describe(field);
    let holds = || described.map(|Description { holds, .. }| holds);
    if let Ok(token) = DesToken::parse(field) {
        let expected = match (token.wrapped(), token.origin()) {
            (None, _) => Holds::Nothing,
            (Some(_), des::Origin::External) => Holds::Wrapped(Under::Key),
            (Some(wrapped), des::Origin::Internal) => {
                let pattern = Some(wrapped.pattern);
                Holds::Wrapped(Under::Master { register: Register::Sym, pattern })
            }
        };
        assert_eq!(holds(), Ok(expected), "{field:02x?}");
    }
    if let Ok(token) = AesToken::parse(field) {
        let expected = match token.key() {
            aes::AesKey::Absent => Holds::Nothing,
            aes::AesKey::Clear(_) => Holds::Clear,
            aes::AesKey::Wrapped { pattern, .. } => {
                Holds::Wrapped(Under::Master { register: Register::Aes, pattern: Some(*pattern) })
            }
        };
        assert_eq!(holds(), Ok(expected), "{field:02x?}");
    }
    if let Ok(token) = VariableToken::parse(field) {
        let expected = match (token.key(), token.origin()) {
            (VariableKey::Absent, _) => Holds::Nothing,
            (VariableKey::Clear(_), _) => Holds::Clear,
            (VariableKey::Wrapped { under: Wrapper::Master(pattern), .. }, des::Origin::Internal) => {
                Holds::Wrapped(Under::Master { register: Register::Aes, pattern: Some(*pattern) })
            }
            (VariableKey::Wrapped { under: Wrapper::Key(_), .. }, des::Origin::External) => {
                Holds::Wrapped(Under::Key)
            }
            (VariableKey::Wrapped { under: Wrapper::Rsa(_), .. }, des::Origin::External) => {
                Holds::Wrapped(Under::Rsa)
            }
            (key, origin) => {
                panic!("{:?} in an {origin:?} token", matches!(key, VariableKey::Wrapped { .. }))
            }
        };
        assert_eq!(holds(), Ok(expected), "{field:02x?}");
        assert_eq!(described.map(|described| described.bytes), Ok(token.to_bytes().len()));
    }
    agrees_on_ecc(field);
    if let Ok(token) = PkaToken::parse(field, &(sha1, sha256)) {
        let expected = match token.private().map(|private| private.values) {
            None => Holds::Public,
            Some(PrivateValues::Skeleton) => Holds::Nothing,
            Some(PrivateValues::ClearMe { .. } | PrivateValues::ClearCrt(_)) => Holds::Clear,
            Some(PrivateValues::Transported(_) | PrivateValues::TransportedAes(_)) => {
                Holds::Wrapped(Under::Key)
            }
            Some(PrivateValues::Asym(wrapped)) => {
                let pattern = wrapped.pattern.first_chunk().copied();
                Holds::Wrapped(Under::Master { register: Register::Asym, pattern })
            }
            Some(PrivateValues::Wrapped(wrapped)) => {
                let pattern = Some(*wrapped.pattern);
                Holds::Wrapped(Under::Master { register: Register::Apka, pattern })
            }
        };
        assert_eq!(holds(), Ok(expected), "{field:02x?}");
        assert_eq!(described.map(|described| described.bytes), Ok(token.bytes().len()));
    }
}

/// As above, of the parser of elliptic-curve keys.
fn agrees_on_ecc(field: &[u8]) {
    let Ok(token) = EccToken::parse(field) else { return };
    let expected = match token.private().map(|private| private.value) {
        None => Holds::Public,
        Some(EccValue::Skeleton) => Holds::Nothing,
        Some(EccValue::Clear(_)) => Holds::Clear,
        Some(EccValue::Transported(_)) => Holds::Wrapped(Under::Key),
        Some(EccValue::Wrapped(wrapped)) => {
            let pattern = Some(*wrapped.pattern);
            Holds::Wrapped(Under::Master { register: Register::Apka, pattern })
        }
    };
    let described = describe(field).unwrap();
    assert_eq!((described.holds, described.bytes), (expected, token.bytes().len()), "{field:02x?}");
}

#[test]
fn it_agrees_with_the_parsers_on_every_changed_bit() {
    let zero_vector =
        DesToken::skeleton(des::Origin::Internal, KeyForm::Triple, ControlVector::ZERO).unwrap();
    let tokens =
        fixed_tokens().into_iter().chain(pka_tokens()).chain(ecc_tokens()).map(|(_, field, _)| field);
    let zero_vector = zero_vector.with_key(PATTERN, &[3; 24]).unwrap().to_bytes().to_vec();
    for token in tokens.chain([zero_vector]).chain(read_variable()) {
        agrees(&token);
        let mut changed = token.clone();
        for bit in 0..token.len() * 8 {
            changed[bit / 8] ^= 0x80 >> (bit % 8);
            agrees(&changed);
            if let Ok(mut fixed) = <[u8; 64]>::try_from(&changed[..]) {
                tvv::seal(&mut fixed);
                agrees(&fixed);
            }
            changed[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
}

proptest! {
    #[test]
    fn it_agrees_with_the_parsers_on_any_bytes(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        first in prop::sample::select(vec![0x01u8, 0x02, 0x1E, 0x1F]),
        version in 0u8..6,
    ) {
        if let Some(start) = bytes.first_chunk_mut::<5>() {
            (start[0], start[4]) = (first, version);
        }
        agrees(&bytes);
        if let Some(fixed) = bytes.first_chunk_mut::<64>() {
            tvv::seal(fixed);
            agrees(&fixed.clone());
        }
    }

    #[test]
    fn a_cut_token_is_not_called_harmless(index in 0usize..64, at: prop::sample::Index) {
        let rows: Vec<Row> = all_tokens().collect();
        let (_, field, expected) = &rows[index % rows.len()];
        if let Ok((_, Holds::Wrapped(_))) = expected {
            let cut = &field[..1 + at.index(field.len() - 1)];
            prop_assert!(describe(cut).is_err());
        }
    }
}
