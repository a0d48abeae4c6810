//! Opens keys: all tokens of one format in one call of the method that wraps it.

mod ecc;
mod pka;
mod rsa;

use super::{Kernel, Pass, Queue, Work};
use crate::ground::Age;
use crate::prepared::{Private, Public};
use crate::wrap::{By, aes_cbc, check_parts, des_ecb, des_enhanced, variable, wide_block};
use engine::SecretBytes;
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
            match (work, work.form()) {
                (_, Some(TokenForm::Compatible))
                    if work.is_internal()
                        && (!kernel.tokens.open_compatible || work.needs_authentication()) =>
                {
                    answers[index] = Some(Err(code::TOKEN_VERSION));
                }
                (Self::Des { by: By::Master(domain), token }, Some(TokenForm::Authenticated)) => {
                    match wide_block::Lane::to_open_des(kernel, *domain, token) {
                        Ok(lane) => wide.push((index, lane)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Self::Aes { domain, token }, Some(TokenForm::Authenticated)) => {
                    match wide_block::Lane::to_open_aes(kernel, *domain, token) {
                        Ok(lane) => wide.push((index, lane)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Self::Des { by, token }, _) if token.is_enhanced() => {
                    match des_enhanced::Lane::to_open(kernel, by, token) {
                        Ok(lane) => enhanced.push((index, lane)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Self::Des { by, token }, _) => match des_ecb::Lane::to_open(kernel, by, token) {
                    Ok(lane) => des.push((index, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                (Self::Aes { domain, token }, _) => match aes_cbc::Lane::to_open(kernel, *domain, token) {
                    Ok(lane) => aes.push((index, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                (Self::Variable { by, token }, _) => match variable::Lane::to_open(kernel, by, token) {
                    Ok(lane) => of_variable.push((index, token, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                (Self::Transported { wrapping, field }, _) => {
                    let opened = pka::open_transported(kernel.engine, wrapping, field);
                    answers[index] = Some(opened.map(|values| Opened::Secret(values, Age::Current)));
                }
                (Self::Private { domain, field }, _) => {
                    answers[index] = Some(pka::load_private(kernel, *domain, field).map(Opened::Private));
                }
                (Self::Public { domain, field }, _) => {
                    answers[index] = Some(pka::load_public(kernel, *domain, field).map(Opened::Public));
                }
            }
        }
        let done = wide_block::open(kernel.engine, wide.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in wide {
            let opened = done.and_then(|()| lane.opened()).and_then(|opened| asked[index].checked(opened));
            answers[index] = Some(opened);
        }
        let done = des_ecb::open(kernel.engine, des.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in des {
            let opened = done.and_then(|()| asked[index].checked((lane.secret(), lane.age)));
            answers[index] = Some(opened);
        }
        let mut lanes: Vec<_> = enhanced.iter_mut().map(|(_, lane)| lane).collect();
        let done = des_enhanced::open(kernel.engine, &mut lanes);
        for (index, lane) in enhanced {
            let opened = done.and_then(|()| asked[index].checked((lane.secret(), lane.age)));
            answers[index] = Some(opened);
        }
        let done = variable::open(kernel.engine, of_variable.iter_mut().map(|(_, _, lane)| lane));
        for (index, token, lane) in of_variable {
            let opened = done.and_then(|()| lane.opened(token));
            answers[index] = Some(opened.map(|(key, age)| Opened::Secret(key, age)));
        }
        let done = aes_cbc::open(kernel.engine, aes.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in aes {
            let opened = done.and_then(|()| lane.unpadded());
            answers[index] = Some(opened.map(|(key, age)| Opened::Secret(key, age)));
        }
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
