//! Which tokens may be stored: complete ones, whose secret parts are wrapped under a master key of the home; PKA keys
//! and TR-31 key blocks that are wrapped under a transport key; and public keys.
//!
//! [`token::describe()`] says what a token holds. No key is touched: the daemon has none.

use token::{DescribeError, Format, Holds, Under, describe};
use wire::bounds::{PKA_TOKEN_BYTES_MAX, TOKEN_BYTES_MAX};
use wire::control::Store;
use wire::{Codes, code};

/// Why a token may not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// No token at all, where one is needed.
    Missing,
    /// Longer or shorter than its form demands.
    Length(usize),
    /// Not a form that this store holds.
    Form,
    /// The token-validation value is wrong.
    ValidationValue,
    /// A key in it is clear.
    Clear,
}

impl TokenFault {
    /// The return and reason code with which a key-record verb refuses the token.
    pub const fn codes(self) -> Codes {
        match self {
            Self::ValidationValue => code::INTERNAL_TVV,
            Self::Missing | Self::Length(_) | Self::Form | Self::Clear => code::TOKEN_INVALID,
        }
    }
}

impl std::fmt::Display for TokenFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("a key is needed, and there is none in the token"),
            Self::Length(bytes) => write!(f, "a token of {bytes} bytes does not have the length of its form"),
            Self::Form => f.write_str("the token is not of a form that this key store holds"),
            Self::ValidationValue => f.write_str("the token-validation value is wrong"),
            Self::Clear => f.write_str("the token holds a clear key; only wrapped keys are stored"),
        }
    }
}

/// Refuses a token that may not be stored in this store.
///
/// # Errors
/// [`TokenFault`] says why the token is refused.
pub fn admit(store: Store, token: &[u8]) -> Result<(), TokenFault> {
    if token.is_empty() {
        return Err(TokenFault::Missing);
    }
    let longest = if store == Store::Pka { PKA_TOKEN_BYTES_MAX } else { TOKEN_BYTES_MAX };
    if token.len() > longest {
        return Err(TokenFault::Length(token.len()));
    }
    if Format::of(token).store() != Some(store) {
        return Err(TokenFault::Form);
    }
    let description = describe(token).map_err(|error| match error {
        DescribeError::Length { .. } => TokenFault::Length(token.len()),
        DescribeError::Form => TokenFault::Form,
        DescribeError::ValidationValue => TokenFault::ValidationValue,
    })?;
    if description.bytes != token.len() {
        return Err(TokenFault::Length(token.len()));
    }
    match description.holds {
        Holds::Public | Holds::Wrapped(Under::Master { .. } | Under::Key) => Ok(()),
        Holds::Nothing => Err(TokenFault::Missing),
        Holds::Clear => Err(TokenFault::Clear),
        Holds::Named | Holds::Wrapped(Under::Rsa) => Err(TokenFault::Form),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn validated(mut token: [u8; 64]) -> Vec<u8> {
        token::tvv::seal(&mut token);
        token.to_vec()
    }

    /// A well-formed wrapped DES token whose key field holds this byte.
    pub(crate) fn des_token(fill: u8) -> Vec<u8> {
        let mut token = [0; 64];
        token[0] = 0x01;
        token[6] = 0xC0;
        token[8..48].fill(fill);
        validated(token)
    }

    /// A well-formed wrapped AES token.
    pub(crate) fn aes_token(fill: u8) -> Vec<u8> {
        let mut token = [0; 64];
        (token[0], token[4], token[6]) = (0x01, 0x04, 0xC0);
        token[8..48].fill(fill);
        validated(token)
    }

    /// A PKA token of one section with this format byte, and a public one.
    pub(crate) fn pka_token(first: u8, section: u8, position: usize, format: u8) -> Vec<u8> {
        let mut private = vec![7; 140];
        private[..4].copy_from_slice(&[section, 0, 0, 140]);
        private[position] = format;
        let mut token = vec![first, 0, 0, 0, 0, 0, 0, 0];
        token.extend(&private);
        token.extend([0x04, 0, 0, 15, 0, 0, 0, 3, 8, 0, 0, 0, 1, 0, 1]);
        let length = token.len() as u16;
        token[2..4].copy_from_slice(&length.to_be_bytes());
        token
    }

    #[test]
    fn wrapped_tokens_are_admitted() {
        admit(Store::Des, &des_token(7)).unwrap();
        admit(Store::Aes, &aes_token(7)).unwrap();
        for (section, position, format) in
            [(0x30, 11, 0x02), (0x31, 11, 0x08), (0x08, 28, 0x42), (0x02, 28, 0x82), (0x20, 10, 0x08)]
        {
            admit(Store::Pka, &pka_token(0x1F, section, position, format)).unwrap();
        }
        let public = [0x1E, 0, 0, 23, 0, 0, 0, 0, 0x04, 0, 0, 15, 0, 0, 0, 3, 8, 0, 0, 0, 1, 0, 1];
        admit(Store::Pka, &public).unwrap();
    }

    #[test]
    fn clear_tokens_are_refused() {
        let mut des = [0; 64];
        (des[0], des[23]) = (0x01, 1);
        assert_eq!(admit(Store::Des, &validated(des)), Err(TokenFault::Clear));
        let mut aes = [0; 64];
        (aes[0], aes[4], aes[47]) = (0x01, 0x04, 1);
        assert_eq!(admit(Store::Aes, &validated(aes)), Err(TokenFault::Clear));
        for (section, position, format) in
            [(0x30, 11, 0x00), (0x31, 11, 0x40), (0x08, 28, 0x40), (0x02, 28, 0x00), (0x20, 10, 0x40)]
        {
            let token = pka_token(0x1E, section, position, format);
            assert_eq!(admit(Store::Pka, &token), Err(TokenFault::Clear), "{section:#x}");
        }
        let mut variable = vec![0; 64];
        (variable[0], variable[3], variable[4], variable[8]) = (0x01, 64, 0x05, 0x01);
        assert_eq!(admit(Store::Aes, &variable), Err(TokenFault::Clear));
    }

    #[test]
    fn what_the_builders_make_is_told_apart() {
        use token::pka::{Attributes, ClearKey, WrappedBuilder, clear_token, public_token};
        use token::pka::{Destination, Form, Source};
        use token::{AesToken, control_vector::KeyForm, des};
        use wire::control::TokenForm;
        let des =
            des::DesToken::skeleton(des::Origin::Internal, KeyForm::Double, Default::default()).unwrap();
        admit(Store::Des, &des.with_key([1; 8], &[2; 16]).unwrap().to_bytes()).unwrap();
        assert_eq!(admit(Store::Des, &des.to_bytes()), Err(TokenFault::Missing));
        admit(Store::Des, &des.with_authenticated_key([1; 8], [2; 24]).unwrap().to_bytes()).unwrap();
        for form in [TokenForm::Authenticated, TokenForm::Compatible] {
            admit(Store::Aes, &AesToken::wrapped(32, [1; 8], form, [2; 32]).unwrap().to_bytes()).unwrap();
        }
        let clear = AesToken::clear(&[3; 16]).unwrap().to_bytes();
        assert_eq!(admit(Store::Aes, &clear), Err(TokenFault::Clear));
        let skeleton = AesToken::skeleton(16).unwrap().to_bytes();
        assert_eq!(admit(Store::Aes, &skeleton), Err(TokenFault::Missing));

        let (n, e, d) = ([0xC1; 128], [1, 0, 1], [0x55; 128]);
        admit(Store::Pka, &public_token(&n, &e).unwrap()).unwrap();
        let key = ClearKey::Me { n: &n, e: &e, d: &d };
        // The hashes within a token say nothing of whether its key is clear.
        let hashes = (|_: &[u8]| [0; 20], |_: &[u8]| [0; 32]);
        let attributes = Attributes { name: Some([b'A'; 64]), ..Attributes::default() };
        for form in [Form::Me1024, Form::MeAes] {
            let clear = clear_token(form, &key, &attributes, &hashes).unwrap();
            assert_eq!(admit(Store::Pka, &clear), Err(TokenFault::Clear), "{form:?}");
        }
        let builder = WrappedBuilder::new(
            Destination::Internal(Source::Random),
            &attributes,
            &n,
            &e,
            key.lengths(),
            &hashes,
        )
        .unwrap();
        let payload = vec![9; builder.payload_bytes()];
        admit(Store::Pka, &builder.finish(&[7; 48], &[1; 8], &payload)).unwrap();
    }

    #[test]
    fn other_faults_are_named() {
        assert_eq!(admit(Store::Des, &[]), Err(TokenFault::Missing));
        assert_eq!(admit(Store::Des, &[1; 63]), Err(TokenFault::Length(63)));
        assert_eq!(admit(Store::Des, &aes_token(1)), Err(TokenFault::Form));
        assert_eq!(admit(Store::Pka, &pka_token(0x1F, 0x77, 11, 0)), Err(TokenFault::Form));
        assert_eq!(admit(Store::Pka, &[0x1F, 0, 0, 8, 0, 0, 0, 0]), Err(TokenFault::Missing));
        let mut changed = des_token(1);
        changed[20] ^= 1;
        assert_eq!(admit(Store::Des, &changed), Err(TokenFault::ValidationValue));
        assert_eq!(TokenFault::ValidationValue.codes(), code::INTERNAL_TVV);
        assert_eq!(admit(Store::Pka, &[0x1F; PKA_TOKEN_BYTES_MAX + 1]), Err(TokenFault::Length(3501)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_admitted_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for store in [Store::Des, Store::Aes, Store::Pka] {
                let _ = admit(store, &bytes);
            }
        }

        #[test]
        fn a_cut_or_changed_length_is_refused(cut in 0usize..162) {
            let token = pka_token(0x1F, 0x30, 11, 0x02);
            prop_assert!(admit(Store::Pka, &token[..cut]).is_err());
        }
    }
}
