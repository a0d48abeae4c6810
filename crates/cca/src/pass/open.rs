//! Opens keys: all tokens of one format in one call of the method that wraps it.

mod ecc;
mod pka;
mod rsa;

use super::{Kernel, Pass, Queue, Work};
use crate::ground::Age;
use crate::prepared::{Private, Public};
use crate::wrap::{By, Method, aes_cbc, check_parts, des_ecb, des_enhanced, variable, wide_block};
use engine::{CipherDirection, SecretBytes};
use token::aes::AesKey;
use token::{AesToken, DesToken, VariableToken};
use wire::control::TokenForm;
use wire::{Codes, code};

/// A key to be taken out of its token.
pub(crate) enum Open<'a> {
    /// The key of a fixed-length DES token.
    Des { by: By, token: DesToken },
    /// The key of a fixed-length AES token, wrapped under the master key of this domain.
    Aes { domain: u16, token: AesToken },
    /// The key of a variable-length token.
    Variable { by: By, token: Box<VariableToken> },
    /// The private values of the external PKA token that starts the field, wrapped under this key.
    Transported { wrapping: SecretBytes, field: &'a [u8] },
    /// The private PKA key of a token, internal or clear, which starts the field.
    Private { domain: u16, field: &'a [u8] },
    /// The public PKA key of a token - public, clear or internal - which starts the field.
    Public { domain: u16, field: &'a [u8] },
}

/// An opened key.
pub(crate) enum Opened {
    /// A symmetric key or private values, with the age of the master key that wrapped them; current if no master key
    /// did.
    Secret(SecretBytes, Age),
    Private(Private),
    Public(Public),
}

/// The key, or why there is none.
pub(crate) type Answer = Result<Opened, Codes>;

impl<'a> Work<'a> for Open<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.open
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let mut wide = Vec::with_capacity(asked.len());
        let (mut des, mut enhanced, mut aes) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_variable = Vec::new();
        for (index, work) in asked.iter().enumerate() {
            let mut answer = |opened| answers[index] = Some(Ok(opened));
            let begun = match (work, work.form()) {
                (_, Some(TokenForm::Compatible))
                    if work.is_internal()
                        && (!kernel.tokens.open_compatible || work.needs_authentication()) =>
                {
                    Err(code::TOKEN_VERSION)
                }
                (Self::Des { by: By::Master(domain), token }, Some(TokenForm::Authenticated)) => {
                    wide_block::Lane::to_open_des(kernel, *domain, token).map(|lane| wide.push((index, lane)))
                }
                (Self::Aes { domain, token }, Some(TokenForm::Authenticated)) => {
                    wide_block::Lane::to_open_aes(kernel, *domain, token).map(|lane| wide.push((index, lane)))
                }
                (Self::Des { by, token }, _) if token.is_enhanced() => {
                    des_enhanced::Lane::to_open(kernel, by, token).map(|lane| enhanced.push((index, lane)))
                }
                (Self::Des { by, token }, _) => {
                    des_ecb::Lane::to_open(kernel, by, token).map(|lane| des.push((index, lane)))
                }
                (Self::Aes { domain, token }, _) => {
                    aes_cbc::Lane::to_open(kernel, *domain, token).map(|lane| aes.push((index, lane)))
                }
                (Self::Variable { by, token }, _) => {
                    variable::Lane::to_open(kernel, by, token).map(|lane| of_variable.push((index, lane)))
                }
                (Self::Transported { wrapping, field }, _) => {
                    pka::open_transported(kernel.engine, wrapping, field)
                        .map(|values| answer(Opened::Secret(values, Age::Current)))
                }
                (Self::Private { domain, field }, _) => {
                    pka::load_private(kernel, *domain, field).map(|key| answer(Opened::Private(key)))
                }
                (Self::Public { domain, field }, _) => {
                    pka::load_public(kernel, *domain, field).map(|key| answer(Opened::Public(key)))
                }
            };
            if let Err(codes) = begun {
                answers[index] = Some(Err(codes));
            }
        }
        let (engine, direction) = (kernel.engine, CipherDirection::Decipher);
        Method::answer(engine, direction, wide, answers, |index, lane| asked[index].checked(lane.opened()?));
        Method::answer(engine, direction, des, answers, |index, lane| {
            asked[index].checked((lane.secret(), lane.age))
        });
        Method::answer(engine, direction, enhanced, answers, |index, lane| {
            asked[index].checked((lane.secret(), lane.age))
        });
        Method::answer(engine, direction, of_variable, answers, |index, lane| {
            asked[index].checked(lane.opened()?)
        });
        Method::answer(engine, direction, aes, answers, |index, lane| asked[index].checked(lane.unpadded()?));
    }
}

impl Open<'_> {
    /// The wrapping form of a symmetric key's token; `None` if the work has none.
    fn form(&self) -> Option<TokenForm> {
        match self {
            Self::Des { token, .. } => token.wrapped().map(|wrapped| wrapped.form),
            Self::Aes { token, .. } => match token.key() {
                AesKey::Wrapped { form, .. } => Some(*form),
                AesKey::Absent | AesKey::Clear(_) => None,
            },
            Self::Variable { .. } | Self::Transported { .. } | Self::Private { .. } | Self::Public { .. } => {
                None
            }
        }
    }

    /// Whether a master key wraps its symmetric key.
    fn is_internal(&self) -> bool {
        matches!(self, Self::Des { by: By::Master(_), .. } | Self::Aes { .. })
    }

    /// Whether only an authenticated token may hold its key.
    fn needs_authentication(&self) -> bool {
        matches!(self, Self::Des { token, .. } if token.needs_authentication())
    }

    /// The opened key; refused with 8/442 if parts of a DES key are equal that its token requires to differ.
    fn checked(&self, (key, age): (SecretBytes, Age)) -> Result<Opened, Codes> {
        if let Self::Des { token, .. } = self {
            check_parts(token.form(), token.control_vector(), &key)?;
        }
        Ok(Opened::Secret(key, age))
    }
}
