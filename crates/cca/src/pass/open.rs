//! Opens keys: all tokens of one format in one call of the method that wraps it.

use std::sync::Arc;

use engine::SecretBytes;
use token::{AesToken, DesToken};
use wire::Codes;

use super::{Kernel, Pass, Queue, Work};
use crate::key::rsa::{self, PrivateContext, PublicContext};
use crate::registers::Age;
use crate::wrap::{By, aes_cbc, des_ecb};

/// A key to be taken out of its token.
pub(crate) enum Open<'a> {
    /// Of a fixed-length DES token.
    Des { by: By, token: DesToken },
    /// Of a fixed-length AES token, wrapped under the master key of this domain.
    Aes { domain: u16, token: AesToken },
    /// The private RSA key of a token, internal or clear, which starts the field.
    Private { domain: u16, field: &'a [u8] },
    /// The public RSA key of a token - public, clear or internal - which starts the field.
    Public { domain: u16, field: &'a [u8] },
}

/// An opened key.
pub(crate) enum Opened {
    /// A symmetric one, and how old the master key is that wrapped it; current, where none did.
    Secret(SecretBytes, Age),
    Private(Arc<PrivateContext>),
    Public(Arc<PublicContext>),
}

/// The key, or why there is none.
pub(crate) type Answer = Result<Opened, Codes>;

impl<'a> Work<'a> for Open<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.open
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let (mut des, mut aes) = (Vec::with_capacity(asked.len()), Vec::new());
        for (index, work) in asked.iter().enumerate() {
            match work {
                Self::Des { by, token } => match des_ecb::Lane::to_open(kernel, by, token) {
                    Ok(lane) => des.push((index, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                Self::Aes { domain, token } => match aes_cbc::Lane::to_open(kernel, *domain, token) {
                    Ok(lane) => aes.push((index, lane)),
                    Err(codes) => answers[index] = Some(Err(codes)),
                },
                Self::Private { domain, field } => {
                    answers[index] = Some(rsa::load_private(kernel, *domain, field).map(Opened::Private));
                }
                Self::Public { domain, field } => {
                    answers[index] = Some(rsa::load_public(kernel, *domain, field).map(Opened::Public));
                }
            }
        }
        let done = des_ecb::open(kernel.engine, des.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in des {
            answers[index] = Some(done.map(|()| Opened::Secret(lane.secret(), lane.age)));
        }
        let done = aes_cbc::open(kernel.engine, aes.iter_mut().map(|(_, lane)| lane));
        for (index, lane) in aes {
            let opened = done.and_then(|()| lane.unpadded());
            answers[index] = Some(opened.map(|(key, age)| Opened::Secret(key, age)));
        }
    }
}
