//! Key tokens, as cards and people's tools read them.

use token::aes::AesKey;
use token::pka::ecc::{EccToken, EccValue, is_ecc};
use token::pka::{self, PkaToken, PrivateValues};
use token::tr31::{self, Tr31};
use token::variable::{VariableKey, VariableToken};
use token::{AesToken, DesToken, Holds, KeyType, TOKEN_BYTES, Under, describe, tvv};

/// DES, AES, variable-length and PKA tokens; fixed-length ones also with their token-validation value made right, so
/// that the fields behind it are reached. What one of their parsers reads, the classifier calls the same.
pub fn key_token(data: &[u8]) {
    fixed(data);
    curve(data);
    shown(data);
    if let Some(field) = data.first_chunk::<TOKEN_BYTES>() {
        let mut sealed = *field;
        tvv::seal(&mut sealed);
        fixed(&sealed);
    }
    if let Ok(token) = VariableToken::parse(data) {
        assert!(data.starts_with(&token.to_bytes()), "what is read is written back");
        let described = describe(data).expect("a token that is read is described");
        assert_eq!(described.bytes, token.to_bytes().len());
        match token.key() {
            VariableKey::Absent => assert_eq!(described.holds, Holds::Nothing),
            VariableKey::Clear(_) => assert_eq!(described.holds, Holds::Clear),
            VariableKey::Wrapped { .. } => assert!(matches!(described.holds, Holds::Wrapped(_))),
        }
    }
    if let Ok(token) = PkaToken::parse(data, &(engine::sha1, engine::sha256)) {
        assert!(token.modulus_bits() >= 512, "a shorter modulus is refused");
        assert!(data.starts_with(token.bytes()));
        let described = describe(data).expect("a token that is read is described");
        assert_eq!(described.bytes, token.bytes().len());
        match token.private().map(|private| private.values) {
            None => assert_eq!(described.holds, Holds::Public),
            Some(PrivateValues::Skeleton) => assert_eq!(described.holds, Holds::Nothing),
            Some(PrivateValues::ClearMe { .. } | PrivateValues::ClearCrt(_)) => {
                assert_eq!(described.holds, Holds::Clear);
            }
            Some(PrivateValues::Transported(key)) => {
                assert!(matches!(described.holds, Holds::Wrapped(_)));
                assert!(key.values(key.enciphered).is_some_and(|values| values.len() == key.lengths.total()));
            }
            Some(PrivateValues::TransportedAes(key)) => {
                assert_eq!(described.holds, Holds::Wrapped(Under::Key));
                assert!(key.payload.len() > key.lengths.total());
            }
            Some(PrivateValues::Wrapped(key)) => assert_eq!(described.pattern(), Some(*key.pattern)),
            Some(PrivateValues::Asym(key)) => {
                assert_eq!(described.pattern(), key.pattern.first_chunk().copied());
                let values = key.values.values(key.values.enciphered);
                assert!(values.is_some_and(|values| values.len() == key.values.lengths.total()));
            }
        }
    }
}

/// What only people are shown: the header of a TR-31 block, the sections of a PKA token, and keywords.
fn shown(data: &[u8]) {
    let other = tr31::of_another_form(data);
    assert!(other.is_none() || !tr31::begins(data), "a block is of one form");
    if let Ok(block) = Tr31::parse(data) {
        assert_eq!(block.length(), data.len());
        let optional: Option<usize> = block.optional_blocks().map(|found| Some(found.ok()?.1.len())).sum();
        assert!(optional.is_some_and(|bytes| bytes + tr31::HEADER_BYTES <= data.len()));
    }
    let listed: usize = pka::sections(data).map(|section| section.bytes).sum();
    assert!(listed <= data.len());
    if let Ok(token) = DesToken::parse(data.get(..TOKEN_BYTES).unwrap_or_default()) {
        let vector = token.control_vector();
        let said = KeyType::of(vector).and_then(|key_type| Some((key_type, key_type.keywords_of(vector)?)));
        if let (Some((key_type, words)), Some(form)) = (said, vector.form()) {
            assert_eq!(
                key_type.vector_with(form, words),
                Ok(vector),
                "keywords make the vector that says them"
            );
        }
    }
    if let Ok(token) = VariableToken::parse(data) {
        let said = token.attributes().keywords();
        assert!(
            said.usage
                .iter()
                .chain(&said.management)
                .all(|word| token.key_type().keywords().any(|own| own == *word))
        );
    }
}

/// Elliptic-curve tokens: as above, and read by no other parser.
fn curve(data: &[u8]) {
    let Ok(token) = EccToken::parse(data) else { return };
    assert!(is_ecc(data) && data.starts_with(token.bytes()));
    let described = describe(data).expect("a token that is read is described");
    assert_eq!(described.bytes, token.bytes().len());
    let agrees = match token.private().map(|private| private.value) {
        None => described.holds == Holds::Public,
        Some(EccValue::Skeleton) => described.holds == Holds::Nothing && token.point().is_empty(),
        Some(EccValue::Clear(value)) => {
            described.holds == Holds::Clear && value.len() == token.curve().bytes()
        }
        Some(EccValue::Transported(key)) => {
            described.holds == Holds::Wrapped(Under::Key) && key.payload.len() > token.curve().bytes()
        }
        Some(EccValue::Wrapped(key)) => described.pattern() == Some(*key.pattern),
    };
    assert!(agrees, "the classifier says otherwise");
    assert!(PkaToken::parse(data, &(engine::sha1, engine::sha256)).is_err());
}

fn fixed(field: &[u8]) {
    if let Ok(token) = DesToken::parse(field) {
        assert_eq!(token.to_bytes()[..], field[..TOKEN_BYTES], "what is read is written back");
        let holds = describe(field).expect("a token that is read is described").holds;
        assert_eq!(token.wrapped().is_some(), matches!(holds, Holds::Wrapped(_)));
        assert!(token.wrapped().is_some() || holds == Holds::Nothing);
    }
    if let Ok(token) = AesToken::parse(field) {
        assert_eq!(token.to_bytes()[..], field[..TOKEN_BYTES], "what is read is written back");
        let holds = describe(field).expect("a token that is read is described").holds;
        match token.key() {
            AesKey::Absent => assert_eq!(holds, Holds::Nothing),
            AesKey::Clear(_) => assert_eq!(holds, Holds::Clear),
            AesKey::Wrapped { .. } => assert!(matches!(holds, Holds::Wrapped(Under::Master { .. }))),
        }
    }
}
