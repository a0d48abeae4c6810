//! Making signatures: the text is hashed as it passes, and the signature packets follow it.

use crate::error::Error;
use crate::flow::Step;
use crate::summary::Stage;
use openpgp::signature::{Maker, Signer};
use openpgp::{Fingerprint, HashAlgorithm, Timestamp};

/// Signatures that are being made; none if there are no signers.
pub(crate) struct Signing {
    maker: Option<Maker>,
}

impl Signing {
    pub(crate) fn new(
        signers: &[Signer],
        recipients: &[Fingerprint],
        now: Timestamp,
        is_text: bool,
    ) -> Result<Self, Error> {
        if signers.is_empty() {
            return Ok(Self { maker: None });
        }
        let maker = Maker::new(signers, is_text, recipients, now).map_err(Error::PrivateKey)?;
        Ok(Self { maker: Some(maker) })
    }

    /// Whether there are no signers.
    pub(crate) fn is_empty(&self) -> bool {
        self.maker.is_none()
    }

    /// The one-pass signature packets, which precede the text.
    pub(crate) fn one_pass_packets(&self) -> Vec<u8> {
        self.maker.as_ref().map_or_else(Vec::new, Maker::one_pass)
    }

    /// The hash algorithms of the signatures.
    pub(crate) fn hashes(&self) -> Vec<HashAlgorithm> {
        self.maker.as_ref().map_or_else(Vec::new, Maker::hashes)
    }

    /// Hashes the next piece of the text.
    pub(crate) fn update(&mut self, text: &[u8]) {
        if let Some(maker) = &mut self.maker {
            maker.update(text);
        }
    }

    /// The signature packets, after the whole text was hashed.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Error> {
        self.maker.map_or(Ok(Vec::new()), |maker| maker.finish().map_err(Error::PrivateKey))
    }

    /// Adds a step that hashes the texts of blocks, and appends the signature packets to the last block.
    pub(crate) fn add_steps<'a>(self, steps: &mut Vec<Step<'a>>) {
        if self.is_empty() {
            return;
        }
        let mut signing = Some(self);
        steps.push(Step::in_order(Stage::Cipher, move |block| {
            if let Some(signing) = &mut signing {
                block.texts().for_each(|text| signing.update(text));
            }
            if block.is_last
                && let Some(signing) = signing.take()
            {
                let packets = signing.finish()?;
                block.append(&packets);
            }
            Ok(())
        }));
    }
}
