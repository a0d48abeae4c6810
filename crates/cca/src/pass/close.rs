//! Closes keys: wraps all keys of one format in one call of its method, and writes their tokens.

use super::{Kernel, Pass, Queue, Work};
use crate::wrap::{
    By, aes_cbc, asym, check_parts, des_cbc, des_ecb, des_enhanced, pka_sections, variable, wide_block,
};
use engine::{CipherDirection, SecretBytes, sha1};
use std::ops::Deref;
use token::pka::ecc::EccWrappedBuilder;
use token::pka::{AsymBuilder, TransportedBuilder, WrappedBuilder};
use token::{DesToken, TOKEN_BYTES, VariableToken};
use wire::control::TokenForm;
use wire::{Codes, code};

/// A key to be put into a token.
pub(crate) struct Close {
    pub(crate) skeleton: Skeleton,
    /// The key, as long as the skeleton says.
    pub(crate) secret: SecretBytes,
    pub(crate) by: By,
}

/// A token without its key.
pub(crate) enum Skeleton {
    /// A fixed-length DES token.
    Des(DesToken),
    /// A fixed-length AES token for a key of 16, 24 or 32 bytes.
    Aes,
    /// A token of variable length, external where a key-encrypting key wraps.
    Variable(Box<VariableToken>),
    /// An RSA token, internal, or external under a key-encrypting key of AES. Its secret is the private values, in the
    /// order of the token.
    Rsa(Box<WrappedBuilder>),
    /// An internal RSA token under the ASYM master key. Its secret is the part of the token that is enciphered.
    Asym(Box<AsymBuilder>),
    /// An external RSA token under a key-encrypting key of DES. Its secret is the part of the token that is enciphered.
    Transported(Box<TransportedBuilder>),
    /// A token of an elliptic curve, internal, or external under a key-encrypting key of AES; its secret is the private
    /// value.
    Ecc(Box<EccWrappedBuilder>),
}

/// The bytes of a token that was made.
pub(crate) enum Token {
    Fixed([u8; TOKEN_BYTES]),
    Long(Vec<u8>),
}

impl Token {
    /// The bytes of a token of the fixed length.
    ///
    /// # Errors
    /// 16/336 for a longer one.
    pub(crate) fn fixed(&self) -> Result<&[u8; TOKEN_BYTES], Codes> {
        match self {
            Self::Fixed(bytes) => Ok(bytes),
            Self::Long(_) => Err(code::SELF_CHECK),
        }
    }
}

impl Deref for Token {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Long(bytes) => bytes,
        }
    }
}

/// The token with the wrapped key.
pub(crate) type Answer = Result<Token, Codes>;

impl<'a> Work<'a> for Close {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.close
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let (mut wide, mut des, mut aes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut enhanced, mut of_variable) = (Vec::new(), Vec::new());
        let is_authenticated = kernel.tokens.form == TokenForm::Authenticated;
        for (index, work) in asked.iter().enumerate() {
            if let Skeleton::Des(skeleton) = &work.skeleton
                && let Err(codes) = check_parts(skeleton.form(), skeleton.control_vector(), &work.secret)
            {
                answers[index] = Some(Err(codes));
                continue;
            }
            match (&work.skeleton, &work.by) {
                (Skeleton::Des(skeleton), By::Master(domain))
                    if is_authenticated || skeleton.needs_authentication() =>
                {
                    match wide_block::Lane::to_close_des(kernel, *domain, skeleton, &work.secret) {
                        Ok(lane) => wide.push((index, lane)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Skeleton::Aes, By::Master(domain)) if is_authenticated => {
                    match wide_block::Lane::to_close_aes(kernel, *domain, &work.secret) {
                        Ok(lane) => wide.push((index, lane)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Skeleton::Des(skeleton), _) if skeleton.is_enhanced() => {
                    match des_enhanced::Lane::to_close(kernel, &work.by, skeleton, &work.secret) {
                        Ok(lane) => enhanced.push((index, (skeleton, lane))),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Skeleton::Des(skeleton), _) => {
                    match des_ecb::Lane::to_close(kernel, &work.by, skeleton, &work.secret) {
                        Ok(lane) => des.push((index, (skeleton, lane))),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Skeleton::Aes, _) => match aes_cbc::Lane::to_close(kernel, &work.by, &work.secret) {
                    Ok(lane) => aes.push((index, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                (Skeleton::Variable(skeleton), by) => {
                    match variable::Closing::new(kernel, by, skeleton, &work.secret) {
                        Ok(closing) => of_variable.push((index, closing)),
                        Err(codes) => answers[index] = Some(Err(codes)),
                    }
                }
                (Skeleton::Rsa(builder), _) => {
                    let token = pka_sections::close_rsa(kernel, &work.by, builder, &work.secret);
                    answers[index] = Some(token.map(Token::Long));
                }
                (Skeleton::Asym(builder), by) => {
                    let token = asym::close(kernel, by, builder, &work.secret);
                    answers[index] = Some(token.map(Token::Long));
                }
                (Skeleton::Transported(builder), by) => {
                    let token = close_transported(kernel, by, builder, &work.secret);
                    answers[index] = Some(token.map(Token::Long));
                }
                (Skeleton::Ecc(builder), _) => {
                    let token = pka_sections::close_ecc(kernel, &work.by, builder, &work.secret);
                    answers[index] = Some(token.map(Token::Long));
                }
            }
        }
        let done = wide_block::close(kernel.engine, wide.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in wide {
            let token = done.and_then(|()| match &asked[index].skeleton {
                Skeleton::Des(skeleton) => lane.to_des_token(skeleton).map(|token| token.to_bytes()),
                Skeleton::Aes => lane.to_aes_token().map(|token| token.to_bytes()),
                _ => Err(code::SELF_CHECK),
            });
            answers[index] = Some(token.map(Token::Fixed));
        }
        let done = des_ecb::close(kernel.engine, des.iter_mut().map(|(_, (_, lane))| lane));
        for (index, (skeleton, lane)) in des {
            let token = done.and_then(|()| lane.to_token(skeleton));
            answers[index] = Some(token.map(|token| Token::Fixed(token.to_bytes())));
        }
        let mut lanes: Vec<_> = enhanced.iter_mut().map(|(_, (_, lane))| lane).collect();
        let done = des_enhanced::close(kernel.engine, &mut lanes);
        for (index, (skeleton, lane)) in enhanced {
            let token = done.and_then(|()| lane.to_token(skeleton));
            answers[index] = Some(token.map(|token| Token::Fixed(token.to_bytes())));
        }
        let done = variable::close(kernel.engine, of_variable.iter_mut().map(|(_, closing)| closing));
        for (index, closing) in of_variable {
            answers[index] = Some(done.map(|()| Token::Long(closing.into_token())));
        }
        let done = aes_cbc::close(kernel.engine, aes.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in aes {
            let token = done.and_then(|()| lane.into_token());
            answers[index] = Some(token.map(|token| Token::Fixed(token.to_bytes())));
        }
    }
}

/// The external token of private values of RSA, enciphered behind random bytes.
///
/// # Errors
/// 8/47 for a master key, under which no such token is made; as [`des_cbc::run`].
fn close_transported(
    kernel: &Kernel<'_>,
    by: &By,
    builder: &TransportedBuilder,
    secret: &SecretBytes,
) -> Result<Vec<u8>, Codes> {
    let By::Key(wrapping) = by else { return Err(code::TOKEN_INVALID) };
    let mut values = secret.clone();
    kernel.engine.random(&mut values[..builder.confounder_bytes()]);
    let hash = sha1(&builder.hashed(&values));
    des_cbc::run(kernel.engine, wrapping, builder.form(), CipherDirection::Encipher, values.as_mut())?;
    Ok(builder.finish(&hash, &values))
}
