//! The stateless OpenPGP command line (draft-dkg-openpgp-stateless-cli) over `openpgp` and `pipeline`: no key store, no
//! configuration, no agent; the command line names everything that an operation needs.
//!
//! Options, designators (`@FD:`, `@ENV:`) and exit codes are those of the crate `sop`. Each module here carries out
//! some of its operations.
//!
//! | need | module |
//! |---|---|
//! | keys, certificates and signatures as files | [`objects`] |
//! | keys that open messages, certificates of possible signers | [`holders`] |
//! | an operation's input and output | [`data`] |
//! | make, update and revoke keys | [`keys`] |
//! | certify and validate user ids | [`certify`] |
//! | encrypt, decrypt | [`messages`] |
//! | sign, verify, split and armor | [`signatures`], [`detach`], [`armor`] |
//! | our errors as the draft's exit codes | [`failure`] |
//! | options as other programs spell them | [`words`] |
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

pub mod armor;
pub mod certify;
pub mod data;
mod dates;
pub mod detach;
pub mod failure;
pub mod holders;
pub mod keys;
pub mod messages;
pub mod objects;
pub mod signatures;
mod version;
pub mod words;

use crate::data::Streams;
use crate::objects::{Certs, Keys, Sigs};
use sop::ops;
use sop::{Result, SOP};

/// The operations of the command line, for one kind of streams.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub(crate) streams: Streams,
}

impl Tool {
    /// The operations for a program. They ignore the reader and writer that they are handed, and use standard input and
    /// output, which the crate `sop` hands over anyway. The pipeline opens both itself, so that it can read a file
    /// behind standard input at several places.
    pub fn program() -> Self {
        Self { streams: Streams::Standard }
    }

    /// The operations for callers in the same process: input is read into memory, and output is written when it is
    /// complete.
    pub fn library() -> Self {
        Self { streams: Streams::Given }
    }
}

impl<'s> SOP<'s> for Tool {
    type Keys = Keys<'s>;
    type Certs = Certs<'s>;
    type Sigs = Sigs<'s>;

    fn sopv_version(&'s self) -> Result<&'static str> {
        Ok("1.0")
    }

    fn version(&self) -> Result<Box<dyn ops::Version<'_>>> {
        Ok(Box::new(version::Version))
    }

    fn generate_key(&'s self) -> Result<Box<dyn ops::GenerateKey<'s, Self, Self::Keys> + 's>> {
        Ok(Box::new(keys::Generate::new(self)))
    }

    fn change_key_password(&'s self) -> Result<Box<dyn ops::ChangeKeyPassword<'s, Self, Self::Keys> + 's>> {
        Ok(Box::new(keys::ChangePassword::new(self)))
    }

    fn revoke_key(&'s self) -> Result<Box<dyn ops::RevokeKey<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(keys::Revoke::new(self)))
    }

    fn extract_cert(&'s self) -> Result<Box<dyn ops::ExtractCert<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(keys::Extract::new(self)))
    }

    fn update_key(&'s self) -> Result<Box<dyn ops::UpdateKey<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(keys::Update::new(self)))
    }

    fn merge_certs(&'s self) -> Result<Box<dyn ops::MergeCerts<'s, Self, Self::Certs> + 's>> {
        Ok(Box::new(keys::Merge::new(self)))
    }

    fn certify_userid(
        &'s self,
    ) -> Result<Box<dyn ops::CertifyUserID<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(certify::Certify::new(self)))
    }

    fn validate_userid(&'s self) -> Result<Box<dyn ops::ValidateUserID<'s, Self, Self::Certs> + 's>> {
        Ok(Box::new(certify::Validate::new()))
    }

    fn sign(&'s self) -> Result<Box<dyn ops::Sign<'s, Self, Self::Keys, Self::Sigs> + 's>> {
        Ok(Box::new(signatures::Sign::new(self)))
    }

    fn verify(&'s self) -> Result<Box<dyn ops::Verify<'s, Self, Self::Certs, Self::Sigs> + 's>> {
        Ok(Box::new(signatures::Verify::new(self)))
    }

    fn encrypt(&'s self) -> Result<Box<dyn ops::Encrypt<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(messages::Encrypt::new(self)))
    }

    fn decrypt(&'s self) -> Result<Box<dyn ops::Decrypt<'s, Self, Self::Certs, Self::Keys> + 's>> {
        Ok(Box::new(messages::Decrypt::new(self)))
    }

    fn armor(&'s self) -> Result<Box<dyn ops::Armor<'s> + 's>> {
        Ok(Box::new(armor::Armor::new()))
    }

    fn dearmor(&'s self) -> Result<Box<dyn ops::Dearmor<'s> + 's>> {
        Ok(Box::new(armor::Dearmor::new()))
    }

    fn inline_detach(&'s self) -> Result<Box<dyn ops::InlineDetach<'s, Self::Sigs> + 's>> {
        Ok(Box::new(detach::InlineDetach::new(self)))
    }

    fn inline_verify(&'s self) -> Result<Box<dyn ops::InlineVerify<'s, Self, Self::Certs> + 's>> {
        Ok(Box::new(signatures::InlineVerify::new(self)))
    }

    fn inline_sign(&'s self) -> Result<Box<dyn ops::InlineSign<'s, Self, Self::Keys> + 's>> {
        Ok(Box::new(signatures::InlineSign::new(self)))
    }
}
