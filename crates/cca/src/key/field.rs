//! Key-identifier fields: which token is in one, and what its key may be used for.

use super::opening::Opening;
use super::{Key, Under};
use crate::call::Call;
use crate::ground::{Algorithm, Refusal};
use crate::pass::{Open, Opened, Skeleton};
use crate::prepared::{Private, Public, ecc, rsa};
use crate::wrap::By;
use std::sync::Arc;
use token::aes::AesKey;
use token::des::Origin;
use token::usage::Use;
use token::variable::{VariableKey, VariableUse};
use token::{AesToken, DesToken, Format, VariableToken};
use wire::code;
use wire::control::TokenForm;
use wire::point::Point;
use wire::verb::SymmetricAlgorithm;

/// A key-identifier field: it holds a token, or no key at all, but never a label.
#[derive(Clone, Copy)]
pub(crate) struct KeyField<'p, 'a> {
    call: Call<'p, 'a>,
    field: &'a [u8],
}

impl<'p, 'a> Call<'p, 'a> {
    /// The key in a field of the request.
    ///
    /// # Errors
    /// 8/30 for a label, which the caller's side resolves.
    pub(crate) fn key(&self, field: &'a [u8]) -> Result<KeyField<'p, 'a>, Refusal> {
        match Format::of(field) {
            Format::Label => Err(code::LABEL_NOT_FOUND.into()),
            _ => Ok(KeyField::new(*self, field)),
        }
    }
}

impl<'p, 'a> KeyField<'p, 'a> {
    /// The key in these bytes.
    pub(crate) fn new(call: Call<'p, 'a>, field: &'a [u8]) -> Self {
        Self { call, field }
    }

    /// A DES token that was read before.
    pub(crate) fn of_token(call: Call<'p, 'a>, token: DesToken) -> Found<'p, 'a> {
        Found { call, token: SymmetricToken::Des(token), is_of_record: false }
    }

    /// The bytes of the field.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.field
    }

    /// The token of a symmetric key of this algorithm.
    ///
    /// # Errors
    /// 8/47 for another token, but 8/49 for a variable-length token of AES, which few verbs take
    /// ([`KeyField::variable`]); the errors of the token itself.
    pub(crate) fn of(self, algorithm: Algorithm) -> Result<Found<'p, 'a>, Refusal> {
        let token = match (algorithm, Format::of(self.field)) {
            (Algorithm::Des, Format::DesInternal | Format::DesExternal) => {
                SymmetricToken::Des(DesToken::parse(self.field)?)
            }
            (Algorithm::Aes, Format::AesInternal) => SymmetricToken::Aes(AesToken::parse(self.field)?),
            (Algorithm::Aes, Format::VariableInternal | Format::VariableExternal) => {
                return Err(code::TOKEN_VERSION.into());
            }
            _ => return Err(code::TOKEN_INVALID.into()),
        };
        Ok(Found { call: self.call, token, is_of_record: self.call.is_of_record(self.field) })
    }

    /// The token of a key of variable length.
    ///
    /// # Errors
    /// 8/47 for another token, and for an external one; the errors of the token itself.
    pub(crate) fn variable(self) -> Result<Found<'p, 'a>, Refusal> {
        self.variable_as(Format::VariableInternal)
    }

    /// The external token of a key of variable length, which goes to another system or comes from one.
    ///
    /// # Errors
    /// As [`KeyField::variable`], for an internal token.
    pub(crate) fn external_variable(self) -> Result<Found<'p, 'a>, Refusal> {
        self.variable_as(Format::VariableExternal)
    }

    fn variable_as(self, format: Format) -> Result<Found<'p, 'a>, Refusal> {
        if Format::of(self.field) != format {
            return Err(code::TOKEN_INVALID.into());
        }
        let token = Box::new(VariableToken::parse(self.field)?);
        let is_of_record = self.call.is_of_record(self.field);
        Ok(Found { call: self.call, token: SymmetricToken::Variable(token), is_of_record })
    }

    /// The token of a symmetric key of this algorithm, of fixed or variable length.
    ///
    /// # Errors
    /// 8/47 for a key of another algorithm; the errors of the token itself.
    pub(crate) fn of_any_length(self, algorithm: SymmetricAlgorithm) -> Result<Found<'p, 'a>, Refusal> {
        let found = match (algorithm, Format::of(self.field)) {
            (SymmetricAlgorithm::Des, _) => self.of(Algorithm::Des)?,
            (SymmetricAlgorithm::Aes, Format::AesInternal) => self.of(Algorithm::Aes)?,
            _ => self.variable()?,
        };
        let is_of_aes = algorithm == SymmetricAlgorithm::Aes;
        if found.is_of_aes() == is_of_aes { Ok(found) } else { Err(code::TOKEN_INVALID.into()) }
    }

    /// The token of a symmetric key of either algorithm.
    ///
    /// # Errors
    /// As [`KeyField::of`].
    pub(crate) fn any(self) -> Result<Found<'p, 'a>, Refusal> {
        self.of(if Format::of(self.field) == Format::AesInternal { Algorithm::Aes } else { Algorithm::Des })
    }

    /// The prepared private RSA key of a token, internal or clear.
    ///
    /// # Errors
    /// 8/47 for a key of an elliptic curve; why the token gives no key.
    pub(crate) async fn private(self) -> Result<Arc<rsa::PrivateContext>, Refusal> {
        match self.any_private().await? {
            Private::Rsa(key) => Ok(key),
            Private::Ecc(_) => Err(code::TOKEN_INVALID.into()),
        }
    }

    /// The prepared private elliptic-curve key of a token, internal or clear.
    ///
    /// # Errors
    /// 8/47 for an RSA key; why the token gives no key.
    pub(crate) async fn private_ecc(self) -> Result<Arc<ecc::PrivateContext>, Refusal> {
        match self.any_private().await? {
            Private::Ecc(key) => Ok(key),
            Private::Rsa(_) => Err(code::TOKEN_INVALID.into()),
        }
    }

    async fn any_private(self) -> Result<Private, Refusal> {
        match self.call.ask(Open::Private { domain: self.call.domain, field: self.field }).await? {
            Opened::Private(key) => Ok(key),
            _ => Err(code::SELF_CHECK.into()),
        }
    }

    /// The prepared public RSA key of a public, clear or internal token.
    ///
    /// # Errors
    /// As [`KeyField::private`].
    pub(crate) async fn public(self) -> Result<Arc<rsa::PublicContext>, Refusal> {
        match self.any_public().await? {
            Public::Rsa(key) => Ok(key),
            Public::Ecc(_) => Err(code::TOKEN_INVALID.into()),
        }
    }

    /// The prepared public elliptic-curve key of a public, clear or internal token.
    ///
    /// # Errors
    /// As [`KeyField::private_ecc`].
    pub(crate) async fn public_ecc(self) -> Result<Arc<ecc::PublicContext>, Refusal> {
        match self.any_public().await? {
            Public::Ecc(key) => Ok(key),
            Public::Rsa(_) => Err(code::TOKEN_INVALID.into()),
        }
    }

    async fn any_public(self) -> Result<Public, Refusal> {
        match self.call.ask(Open::Public { domain: self.call.domain, field: self.field }).await? {
            Opened::Public(key) => Ok(key),
            _ => Err(code::SELF_CHECK.into()),
        }
    }
}

/// A token of a symmetric key.
pub(super) enum SymmetricToken {
    Des(DesToken),
    Aes(AesToken),
    Variable(Box<VariableToken>),
}

impl SymmetricToken {
    /// Whether the token has nothing that shows if its key is the one that was wrapped.
    fn is_unchecked(&self) -> bool {
        match self {
            Self::Des(token) => token.is_unchecked(),
            Self::Aes(token) => token.is_unchecked(),
            Self::Variable(_) => false,
        }
    }
}

/// A token of a symmetric key in a verb's arguments, not yet opened.
pub(crate) struct Found<'p, 'a> {
    pub(super) call: Call<'p, 'a>,
    pub(super) token: SymmetricToken,
    /// Whether the token came from a key record, by its label.
    pub(super) is_of_record: bool,
}

impl<'p, 'a> Found<'p, 'a> {
    /// Algorithm of the key.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.token {
            SymmetricToken::Des(_) => Algorithm::Des,
            SymmetricToken::Aes(_) | SymmetricToken::Variable(_) => Algorithm::Aes,
        }
    }

    /// Whether the key is of AES. A key in a variable-length token may also be of HMAC.
    pub(crate) fn is_of_aes(&self) -> bool {
        match &self.token {
            SymmetricToken::Des(_) => false,
            SymmetricToken::Aes(_) => true,
            SymmetricToken::Variable(token) => token.key_type().is_aes(),
        }
    }

    /// The token of variable length.
    ///
    /// # Errors
    /// 8/47 for another token.
    pub(crate) fn variable(&self) -> Result<&VariableToken, Refusal> {
        match &self.token {
            SymmetricToken::Variable(token) => Ok(token),
            SymmetricToken::Des(_) | SymmetricToken::Aes(_) => Err(code::TOKEN_INVALID.into()),
        }
    }

    /// Whether the key is kept for translations of texts and may do nothing else with texts.
    pub(crate) fn only_translates(&self) -> bool {
        match &self.token {
            SymmetricToken::Des(token) => token.control_vector().only_translates(),
            SymmetricToken::Aes(_) => false,
            SymmetricToken::Variable(token) => token.attributes().only_translates(),
        }
    }

    /// Whether the token is of variable length.
    pub(crate) fn is_variable(&self) -> bool {
        matches!(self.token, SymmetricToken::Variable(_))
    }

    /// The token of variable length; `None` of one of fixed length.
    pub(crate) fn as_variable(&self) -> Option<&VariableToken> {
        match &self.token {
            SymmetricToken::Variable(token) => Some(token),
            SymmetricToken::Des(_) | SymmetricToken::Aes(_) => None,
        }
    }

    /// The token without its key.
    pub(super) fn skeleton(&self) -> Skeleton {
        match &self.token {
            SymmetricToken::Des(token) => Skeleton::Des(token.without_key()),
            SymmetricToken::Aes(_) => Skeleton::Aes,
            SymmetricToken::Variable(token) => Skeleton::Variable(Box::new(token.without_key())),
        }
    }

    /// Opens the key of variable length for this use. A clear one is taken as it is.
    ///
    /// # Errors
    /// 8/39 where the fields of its token forbid it, and for every use while it lacks parts; as [`Found::open`].
    pub(crate) fn for_variable_use(self, usage: VariableUse) -> Result<Opening<'p, 'a>, Refusal> {
        match &self.token {
            SymmetricToken::Variable(token) if token.may(usage) => self.open(),
            _ => Err(code::KEY_USAGE.into()),
        }
    }

    /// Opens the key for this use. Fixed-length AES tokens hold DATA keys, which serve every use of texts and of keys
    /// that are exported, and wrap no keys. A key-encrypting key that leaves the control vectors out (NOCV) wraps no
    /// keys either: whoever gives the token would choose the type of the key in it.
    ///
    /// # Errors
    /// 8/39 where the control vector forbids it; as [`Found::open`].
    pub(crate) fn for_use(self, usage: Use) -> Result<Opening<'p, 'a>, Refusal> {
        let is_wrapping = matches!(usage, Use::Wrap(..));
        let is_permitted = match &self.token {
            SymmetricToken::Des(token) => {
                token.control_vector().may(usage) && !(is_wrapping && token.transports_without_vector())
            }
            SymmetricToken::Aes(_) => !is_wrapping,
            SymmetricToken::Variable(_) => false,
        };
        if is_permitted { self.open() } else { Err(code::KEY_USAGE.into()) }
    }

    /// The DES token; `None` of an AES key.
    pub(crate) fn des(&self) -> Option<&DesToken> {
        match &self.token {
            SymmetricToken::Des(token) => Some(token),
            SymmetricToken::Aes(_) | SymmetricToken::Variable(_) => None,
        }
    }

    /// Opens the key for both of these uses at once.
    ///
    /// # Errors
    /// As [`Found::for_use`].
    pub(crate) fn for_both(self, first: Use, second: Use) -> Result<Opening<'p, 'a>, Refusal> {
        match &self.token {
            SymmetricToken::Des(token) if !token.control_vector().may(second) => Err(code::KEY_USAGE.into()),
            _ => self.for_use(first),
        }
    }

    /// Opens the key to be wrapped for another system as a plain DATA key.
    ///
    /// # Errors
    /// 8/31 for a DES key that is no DATA key for every use, 8/39 where its flags or control vector forbid export,
    /// 8/47 for an AES token without a wrapped key; as [`Found::open`].
    pub(crate) fn for_export(self) -> Result<Opening<'p, 'a>, Refusal> {
        match &self.token {
            SymmetricToken::Des(token) => {
                let vector = token.control_vector();
                if !vector.is_plain_data() {
                    return Err(code::CONTROL_VECTOR_NOT_DATA.into());
                }
                if token.export_prohibited()
                    || token.leaves_in_blocks_alone()
                    || !vector.may(Use::TransportAsData)
                {
                    return Err(code::KEY_USAGE.into());
                }
            }
            SymmetricToken::Aes(token) if matches!(token.key(), AesKey::Wrapped { .. }) => {}
            SymmetricToken::Aes(_) | SymmetricToken::Variable(_) => return Err(code::TOKEN_INVALID.into()),
        }
        self.open()
    }

    /// Opens the key under the master key, whatever its use; a clear one is taken as it is.
    ///
    /// # Errors
    /// 8/47 for an external token; 8/90 for one that is [unchecked](DesToken::is_unchecked) and not of a key record, if
    /// the role may not name such tokens. The opening itself refuses with 8/47 if there is no key, with 8/48 and 12/764
    /// as the register has it.
    pub(crate) fn open(self) -> Result<Opening<'p, 'a>, Refusal> {
        let Self { call, token, is_of_record } = self;
        // In an unchecked token any bytes open as a key.
        if token.is_unchecked() && !is_of_record {
            call.permit(Point::TokenUnchecked)?;
        }
        match token {
            SymmetricToken::Des(token) if token.origin() == Origin::Internal => {
                let by = By::Master(call.domain);
                let is_outdated = is_outdated(&call, &token);
                let ask = call.ask(Open::Des { by, token });
                Ok(Opening::asked(ask, super::Format::Des, Under::Master, is_outdated))
            }
            SymmetricToken::Des(_) => Err(code::TOKEN_INVALID.into()),
            SymmetricToken::Aes(token) => match token.key() {
                AesKey::Clear(key) => Ok(Opening::clear(Key::clear_aes(&key[..token.key_bytes()]))),
                key => {
                    let is_compatible = matches!(key, AesKey::Wrapped { form: TokenForm::Compatible, .. });
                    let is_outdated = call.tokens.form == TokenForm::Authenticated
                        && (is_compatible || token.is_of_unchecked_method());
                    let ask = call.ask(Open::Aes { domain: call.domain, token });
                    Ok(Opening::asked(ask, super::Format::Aes, Under::Master, is_outdated))
                }
            },
            SymmetricToken::Variable(token) => match token.key() {
                VariableKey::Clear(key) => Ok(Opening::clear(Key::clear_variable(key))),
                _ => {
                    let ask = call.ask(Open::Variable { by: By::Master(call.domain), token });
                    Ok(Opening::asked(ask, super::Format::Variable, Under::Master, false))
                }
            },
        }
    }

    /// Opens the key of an external token under a key-encrypting key that was opened before.
    ///
    /// # Errors
    /// 8/47 for a token that no such key wraps: a DES key wraps DES keys, an AES key those of variable length.
    pub(crate) fn under(self, wrapping: &Key) -> Result<Opening<'p, 'a>, Refusal> {
        let Self { call, token, .. } = self;
        match (token, wrapping.format) {
            (SymmetricToken::Des(token), super::Format::Des) if token.origin() == Origin::External => {
                let by = By::Key(Box::new(wrapping.secret.clone()));
                Ok(Opening::asked(call.ask(Open::Des { by, token }), super::Format::Des, Under::Key, false))
            }
            (SymmetricToken::Variable(token), super::Format::Variable)
                if token.origin() == Origin::External =>
            {
                let by = By::Key(Box::new(wrapping.secret.clone()));
                let ask = call.ask(Open::Variable { by, token });
                Ok(Opening::asked(ask, super::Format::Variable, Under::Key, false))
            }
            _ => Err(code::TOKEN_INVALID.into()),
        }
    }
}

/// Whether a new token of the key would get another form or method than this token: authenticated instead of
/// compatible, or checked instead of unchecked.
fn is_outdated(call: &Call<'_, '_>, token: &DesToken) -> bool {
    let makes_authenticated = call.tokens.form == TokenForm::Authenticated;
    match token.wrapped().map(|wrapped| wrapped.form) {
        Some(TokenForm::Compatible) => makes_authenticated,
        _ => token.is_of_unchecked_method() && (makes_authenticated || token.needs_authentication()),
    }
}
