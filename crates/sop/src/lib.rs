//! The stateless OpenPGP command line (draft-dkg-openpgp-stateless-cli) over `openpgp` and `pipeline`: no key store,
//! no configuration, no agent; what an operation needs is named on its command line.
//!
//! Options, designators (`@FD:`, `@ENV:`) and exit codes are those of the crate `sop`; what is done with them stands
//! in one module each.
//!
//! | need | module |
//! |---|---|
//! | keys, certificates and signatures as files | [`objects`] |
//! | who opens messages and who may have signed them | [`holders`] |
//! | where data comes from and goes | [`data`] |
//! | make keys and change them | [`keys`] |
//! | say whose a certificate is | [`certify`] |
//! | encrypt, decrypt | [`messages`] |
//! | sign, verify, split and armor | [`signatures`], [`detach`], [`armor`] |
//! | the draft's errors for ours | [`failure`] |
//! | other programs' words | [`words`] |
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

/// The operations of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub(crate) streams: Streams,
}

impl Tool {
    /// For a program: data is standard input and output, whatever reader and writer an operation is handed; the
    /// crate `sop` hands it those. Opened by the pipeline itself, a file behind them is read at several places.
    pub fn program() -> Self {
        Self { streams: Streams::Standard }
    }

    /// For callers in the same process: data is read into memory, and written when it is complete.
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
