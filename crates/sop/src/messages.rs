//! The subcommands `encrypt` and `decrypt`.

use crate::Tool;
use crate::data::{self, Streams};
use crate::failure::{of_recipient, told};
use crate::holders::{Known, Openers, normalized, signers, variants};
use crate::keys::{described, now, unsupported};
use crate::objects::{Certs, Keys};
use crate::signatures::{Window, literal, run_options, uncompressed, verifications};
use openpgp::certificate::{Announced, EncryptionKey, strongest_form};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::private_key::PrivateCertificate;
use openpgp::{
    AeadAlgorithm, Form, Passphrase, PlainSessionKey, Protection, SymmetricKeyAlgorithm, Timestamp,
};
use pipeline::{Limits, Unauthenticated};
use sop::errors::Error;
use sop::ops::{self, EncryptAs, Ready, Verification};
use sop::{Password, Result, SessionKey};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::SystemTime;

/// The profiles of `encrypt`, the default one first.
const PROFILES: [(&str, &str); 3] = [
    ("default", "the strongest form that every certificate announces; for a password alone as rfc4880"),
    ("rfc4880", "SEIPD version 1 with AES-256, which everything reads"),
    ("rfc9580", "SEIPD version 2 with AES-256 and OCB"),
];

/// The draft's aliases for profiles, by purpose.
const ALIASES: [(&str, &str); 3] =
    [("compatibility", "rfc4880"), ("performance", "rfc9580"), ("security", "rfc9580")];

/// The subcommand `encrypt`.
pub struct Encrypt<'s> {
    tool: &'s Tool,
    armor: bool,
    form: Option<Form>,
    is_text: bool,
    signers: Vec<PrivateCertificate>,
    key_passphrases: Vec<Passphrase>,
    passphrases: Vec<Passphrase>,
    recipients: Vec<EncryptionKey>,
    announced: Vec<Announced>,
    now: Timestamp,
}

impl<'s> Encrypt<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self {
            tool,
            armor: true,
            form: None,
            is_text: false,
            signers: Vec::new(),
            key_passphrases: Vec::new(),
            passphrases: Vec::new(),
            recipients: Vec::new(),
            announced: Vec::new(),
            now: now(),
        }
    }
}

impl<'s> ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> for Encrypt<'s> {
    fn no_armor(mut self: Box<Self>) -> Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's> {
        self.armor = false;
        self
    }

    fn list_profiles(&self) -> Vec<(String, String)> {
        PROFILES.map(|(name, meaning)| described(name, meaning, &ALIASES)).to_vec()
    }

    fn profile(
        mut self: Box<Self>,
        profile: &str,
    ) -> Result<Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        let cipher = SymmetricKeyAlgorithm::AES256;
        let profile = ALIASES.iter().find(|(alias, _)| *alias == profile).map_or(profile, |(_, name)| name);
        self.form = match profile {
            "default" => None,
            "rfc4880" => Some(Form { cipher, protection: Protection::SeipdV1 }),
            "rfc9580" => {
                let (aead, chunk_bits) = (AeadAlgorithm::Ocb, CHUNK_BITS_WRITTEN);
                Some(Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits } })
            }
            _ => return Err(unsupported("encrypt", profile)),
        };
        Ok(self)
    }

    fn mode(
        mut self: Box<Self>,
        mode: EncryptAs,
    ) -> Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's> {
        self.is_text = mode == EncryptAs::Text;
        self
    }

    fn sign_with_keys(
        mut self: Box<Self>,
        keys: &Keys<'s>,
    ) -> Result<Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.signers.extend(keys.content.iter().cloned());
        Ok(self)
    }

    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.key_passphrases.extend(variants(&password));
        Ok(self)
    }

    fn with_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.passphrases.push(normalized(&password));
        Ok(self)
    }

    fn with_certs(
        mut self: Box<Self>,
        certs: &Certs<'s>,
    ) -> Result<Box<dyn ops::Encrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        for certificate in &certs.content {
            let valid = certificate.check(self.now).map_err(|error| of_recipient(&error))?;
            self.recipients.extend(valid.encryption_keys().map_err(|error| of_recipient(&error))?);
            self.announced.push(valid.announces());
        }
        Ok(self)
    }

    fn plaintext<'d>(
        self: Box<Self>,
        plaintext: &'d mut (dyn Read + Send + Sync),
    ) -> Result<Box<dyn Ready<Option<SessionKey>> + 'd>>
    where
        's: 'd,
    {
        if self.recipients.is_empty() && self.passphrases.is_empty() {
            return Err(told("name a certificate or a password", Error::MissingArg));
        }
        Ok(Box::new(ReadyToEncrypt { encrypt: *self, plaintext }))
    }
}

struct ReadyToEncrypt<'s, 'd> {
    encrypt: Encrypt<'s>,
    plaintext: &'d mut (dyn Read + Send + Sync),
}

impl Ready<Option<SessionKey>> for ReadyToEncrypt<'_, '_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<Option<SessionKey>> {
        let Encrypt { tool, now, is_text, .. } = self.encrypt;
        let signers = signers(&self.encrypt.signers, &self.encrypt.key_passphrases, now)?;
        let form = self.encrypt.form.unwrap_or_else(|| strongest_form(&self.encrypt.announced));
        let what = pipeline::Encrypt {
            form,
            recipients: &self.encrypt.recipients,
            passphrases: &self.encrypt.passphrases,
            session_key: None,
            signers: &signers,
            compression: uncompressed(),
            literal: literal(is_text),
            armor: self.encrypt.armor,
            now,
        };
        let input = data::input(tool.streams, self.plaintext)?;
        let run = run_options();
        let summary = data::run(tool.streams, sink, |output| pipeline::encrypt(input, output, &what, &run))?;
        summary.session_key.map(|key| exported(&key, form)).transpose()
    }
}

/// A session key in the form that the draft writes to a file: its cipher's number and its bytes.
fn exported(key: &PlainSessionKey, form: Form) -> Result<SessionKey> {
    SessionKey::new(u8::from(form.cipher), openpgp::session_key::bytes(key))
}

/// The subcommand `decrypt`.
pub struct Decrypt<'s> {
    tool: &'s Tool,
    window: Window,
    openers: Openers,
    known: Known,
}

impl<'s> Decrypt<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, window: Window::default(), openers: Openers::default(), known: Known::default() }
    }
}

impl<'s> ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> for Decrypt<'s> {
    fn verify_not_before(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's> {
        self.window.not_before = Some(time);
        self
    }

    fn verify_not_after(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's> {
        self.window.not_after = Some(time);
        self
    }

    fn verify_with_certs(
        mut self: Box<Self>,
        certs: &Certs<'s>,
    ) -> Result<Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.known.0.extend(certs.content.iter().cloned().map(Arc::new));
        Ok(self)
    }

    fn with_session_key(
        mut self: Box<Self>,
        key: SessionKey,
    ) -> Result<Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        let cipher = SymmetricKeyAlgorithm::from(key.algorithm());
        if cipher.key_size() == 0 || cipher.key_size() != key.key().len() {
            return Err(told("the session key has not the length that its cipher has", Error::BadData));
        }
        // The packet that follows is not known yet, so the key is given in both forms: the message tells which one it
        // is.
        self.openers.session_keys.extend([
            PlainSessionKey::V3_4 { sym_alg: cipher, key: key.key().into() },
            PlainSessionKey::V6 { key: key.key().into() },
        ]);
        Ok(self)
    }

    fn with_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.openers.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn with_keys(
        mut self: Box<Self>,
        keys: &Keys<'s>,
    ) -> Result<Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.openers.keys.extend(keys.content.iter().cloned());
        Ok(self)
    }

    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::Decrypt<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.openers.key_passphrases.extend(variants(&password));
        Ok(self)
    }

    fn ciphertext<'d>(
        self: Box<Self>,
        ciphertext: &'d mut (dyn Read + Send + Sync),
    ) -> Result<Box<dyn Ready<(Option<SessionKey>, Vec<Verification>)> + 'd>>
    where
        's: 'd,
    {
        let openers = &self.openers;
        if openers.keys.is_empty() && openers.passphrases.is_empty() && openers.session_keys.is_empty() {
            return Err(told("name a key, a password or a session key", Error::MissingArg));
        }
        Ok(Box::new(ReadyToDecrypt { decrypt: *self, ciphertext }))
    }
}

struct ReadyToDecrypt<'s, 'd> {
    decrypt: Decrypt<'s>,
    ciphertext: &'d mut (dyn Read + Send + Sync),
}

impl Ready<(Option<SessionKey>, Vec<Verification>)> for ReadyToDecrypt<'_, '_> {
    fn to_writer(
        self: Box<Self>,
        sink: &mut (dyn Write + Send + Sync),
    ) -> Result<(Option<SessionKey>, Vec<Verification>)> {
        let Decrypt { tool, window, openers, known } = self.decrypt;
        let streams: Streams = tool.streams;
        let what = pipeline::Decrypt {
            session_keys: &openers,
            verifiers: (!known.0.is_empty()).then_some(&known),
            // A message without a valid signature is opened all the same; the list of verifications is then empty.
            must_be_signed: false,
            // The text is held back outside the pipeline, however long it is.
            unauthenticated: Unauthenticated::WriteWithWarning,
            has_local_lines: false,
            limits: Limits::default(),
            now: now(),
        };
        let input = data::input(streams, self.ciphertext)?;
        let run = run_options();
        let summary = data::run_waiting(sink, |output| pipeline::decrypt(input, output, &what, &run))?;
        let session_key = match (&summary.session_key, summary.form) {
            (Some(key), Some(form)) => Some(exported(key, form)?),
            _ => None,
        };
        Ok((session_key, verifications(&summary, window)?))
    }
}
