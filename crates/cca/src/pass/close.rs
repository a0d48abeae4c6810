//! Closes keys: wraps all keys of one format in one call of its method, and writes their tokens.

use super::{Kernel, Pass, Queue, Work};
use crate::wrap::{
    By, Method, aes_cbc, asym, check_parts, des_cbc, des_ecb, des_enhanced, pka_sections, variable,
    wide_block,
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
        for (index, Self { skeleton, secret, by }) in asked.iter().enumerate() {
            if let Skeleton::Des(skeleton) = skeleton
                && let Err(codes) = check_parts(skeleton.form(), skeleton.control_vector(), secret)
            {
                answers[index] = Some(Err(codes));
                continue;
            }
            let mut answer = |token| answers[index] = Some(Ok(Token::Long(token)));
            let begun = match (skeleton, by) {
                (Skeleton::Des(skeleton), By::Master(domain))
                    if is_authenticated || skeleton.needs_authentication() =>
                {
                    wide_block::Lane::to_close_des(kernel, *domain, skeleton, secret)
                        .map(|lane| wide.push((index, lane)))
                }
                (Skeleton::Aes, By::Master(domain)) if is_authenticated => {
                    wide_block::Lane::to_close_aes(kernel, *domain, secret)
                        .map(|lane| wide.push((index, lane)))
                }
                (Skeleton::Des(skeleton), _) if skeleton.is_enhanced() => {
                    des_enhanced::Lane::to_close(kernel, by, skeleton, secret)
                        .map(|lane| enhanced.push((index, lane)))
                }
                (Skeleton::Des(skeleton), _) => {
                    des_ecb::Lane::to_close(kernel, by, skeleton, secret).map(|lane| des.push((index, lane)))
                }
                (Skeleton::Aes, _) => {
                    aes_cbc::Lane::to_close(kernel, by, secret).map(|lane| aes.push((index, lane)))
                }
                (Skeleton::Variable(skeleton), _) => variable::Closing::new(kernel, by, skeleton, secret)
                    .map(|closing| of_variable.push((index, closing))),
                (Skeleton::Rsa(builder), _) => {
                    pka_sections::close_rsa(kernel, by, builder, secret).map(&mut answer)
                }
                (Skeleton::Asym(builder), _) => asym::close(kernel, by, builder, secret).map(&mut answer),
                (Skeleton::Transported(builder), _) => {
                    close_transported(kernel, by, builder, secret).map(&mut answer)
                }
                (Skeleton::Ecc(builder), _) => {
                    pka_sections::close_ecc(kernel, by, builder, secret).map(&mut answer)
                }
            };
            if let Err(codes) = begun {
                answers[index] = Some(Err(codes));
            }
        }
        let (engine, direction) = (kernel.engine, CipherDirection::Encipher);
        Method::answer(engine, direction, wide, answers, |index, lane| match &asked[index].skeleton {
            Skeleton::Aes => lane.to_aes_token().map(|token| Token::Fixed(token.to_bytes())),
            skeleton => skeleton.filled(|skeleton| lane.to_des_token(skeleton)),
        });
        Method::answer(engine, direction, des, answers, |index, lane| {
            asked[index].skeleton.filled(|skeleton| lane.to_token(skeleton))
        });
        Method::answer(engine, direction, enhanced, answers, |index, lane| {
            asked[index].skeleton.filled(|skeleton| lane.to_token(skeleton))
        });
        Method::answer(engine, direction, of_variable, answers, |_, closing| {
            Ok(Token::Long(closing.into_token()))
        });
        Method::answer(engine, direction, aes, answers, |_, lane| {
            lane.into_token().map(|token| Token::Fixed(token.to_bytes()))
        });
    }
}

impl Skeleton {
    /// The token that the DES token becomes; 16/336 for a skeleton of another kind.
    fn filled(&self, fill: impl Fn(&DesToken) -> Result<DesToken, Codes>) -> Result<Token, Codes> {
        let Self::Des(skeleton) = self else { return Err(code::SELF_CHECK) };
        fill(skeleton).map(|token| Token::Fixed(token.to_bytes()))
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
