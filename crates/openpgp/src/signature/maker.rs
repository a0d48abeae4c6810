//! Makes signatures over a message, by several signers at once.

use super::{Signer, over_keys};
use crate::signed::{Spec, TextHash, trailer};
use crate::{Fingerprint, PrivateKey, PrivateKeyError, Timestamp};
use pgp::packet::{
    PacketHeader, PacketTrait, Signature, SignatureConfig, SignatureType, SignatureVersionSpecific,
    Subpacket, SubpacketData,
};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, Tag};
use std::sync::Arc;

/// At most this many recipients are named by a signature: 23 or 35 bytes each, in an area of at most 64 KiB.
pub const INTENDED_MAX: usize = 256;

/// Makes signatures over a text that comes in pieces; each hash is computed once.
pub struct Maker {
    making: Vec<Making>,
    hashes: Vec<TextHash>,
}

struct Making {
    key: Arc<dyn PrivateKey>,
    config: SignatureConfig,
    /// Index of the hash that this signature needs.
    hash: usize,
}

impl Maker {
    /// Begins signatures over bytes (type 0x00), or over text whose line ends are normalised (type 0x01). They name the
    /// `recipients` that the text is encrypted to, by their primary keys. So nobody can pass the text on as if it were
    /// meant for others (RFC 9580, 13.12). With more than [`INTENDED_MAX`] recipients they name none.
    ///
    /// # Errors
    /// [`PrivateKeyError::Unsupported`] for a signer's hash or key that is not served.
    pub fn new(
        signers: &[Signer],
        is_text: bool,
        recipients: &[Fingerprint],
        now: Timestamp,
    ) -> Result<Self, PrivateKeyError> {
        let recipients = if recipients.len() > INTENDED_MAX { &[] } else { recipients };
        let mut maker = Self { making: Vec::new(), hashes: Vec::new() };
        for signer in signers {
            let unsupported = || PrivateKeyError::Unsupported {
                operation: "sign with this hash",
                algorithm: format!("{:?}", signer.key.public().algorithm()),
            };
            let config = config(signer, is_text, recipients, now).ok_or_else(unsupported)?;
            let salt = match &config.version_specific {
                SignatureVersionSpecific::V6 { salt } => salt.clone(),
                _ => Vec::new(),
            };
            let hash = share(&mut maker.hashes, Spec { hash: signer.hash, is_text, salt })
                .ok_or_else(unsupported)?;
            maker.making.push(Making { key: Arc::clone(&signer.key), config, hash });
        }
        Ok(maker)
    }

    /// The one-pass signature packets, with headers, which precede the text; the first signer's is the outermost.
    pub fn one_pass(&self) -> Vec<u8> {
        let mut packets = Vec::new();
        for (index, making) in self.making.iter().enumerate() {
            let body = one_pass(making, index + 1 == self.making.len());
            let header =
                PacketHeader::new_fixed(Tag::OnePassSignature, u32::try_from(body.len()).unwrap_or(0));
            packets.extend(header.to_bytes().unwrap_or_default());
            packets.extend(body);
        }
        packets
    }

    /// The hash algorithms in use, for the header of a cleartext signature.
    pub fn hashes(&self) -> Vec<crate::HashAlgorithm> {
        let mut hashes: Vec<_> = self.hashes.iter().map(|hash| hash.spec.hash).collect();
        hashes.dedup();
        hashes
    }

    /// Hashes the next piece of the text.
    pub fn update(&mut self, text: &[u8]) {
        for hash in &mut self.hashes {
            hash.update(text);
        }
    }

    /// Signs, and returns the signature packets, with headers, which follow the text, the innermost first.
    ///
    /// # Errors
    /// The error of a private key.
    pub fn finish(self) -> Result<Vec<u8>, PrivateKeyError> {
        let malformed = || PrivateKeyError::Malformed { cause: "its signature cannot be written".to_owned() };
        let mut packets = Vec::new();
        for making in self.making.into_iter().rev() {
            let end = over_keys::unsigned(&making.config)
                .and_then(|signature| trailer(&signature))
                .ok_or_else(malformed)?;
            let digest = self.hashes[making.hash].digest(&end).ok_or_else(malformed)?;
            let bytes = making.key.sign(making.config.hash_alg, &digest)?;
            let signature = Signature::from_config(making.config, [digest[0], digest[1]], bytes);
            signature
                .and_then(|signature| signature.to_writer_with_header(&mut packets))
                .map_err(|_| malformed())?;
        }
        Ok(packets)
    }
}

/// Index of the hash for these parameters, added unless it is there already; `None` if the hash is not supported.
pub(super) fn share(hashes: &mut Vec<TextHash>, spec: Spec) -> Option<usize> {
    if let Some(index) = hashes.iter().position(|hash| hash.spec == spec) {
        return Some(index);
    }
    hashes.push(TextHash::new(spec)?);
    Some(hashes.len() - 1)
}

fn config(
    signer: &Signer,
    is_text: bool,
    recipients: &[Fingerprint],
    now: Timestamp,
) -> Option<SignatureConfig> {
    let public = signer.key.public();
    let kind = if is_text { SignatureType::Text } else { SignatureType::Binary };
    let mut config = over_keys::config(signer.key.as_ref(), kind, signer.hash)?;
    let hashed = [
        Some(SubpacketData::SignatureCreationTime(now)),
        Some(SubpacketData::IssuerFingerprint(public.fingerprint())),
        signer.user_id.as_ref().map(|id| SubpacketData::SignersUserID(id.clone().into_bytes().into())),
    ];
    let intended = recipients.iter().cloned().map(SubpacketData::IntendedRecipientFingerprint);
    for data in hashed.into_iter().flatten().chain(intended) {
        config.hashed_subpackets.push(Subpacket::regular(data).ok()?);
    }
    if public.version() != KeyVersion::V6 {
        let id = SubpacketData::IssuerKeyId(public.legacy_key_id());
        config.unhashed_subpackets.push(Subpacket::regular(id).ok()?);
    }
    Some(config)
}

/// The body of a one-pass signature packet (RFC 9580, 5.4).
fn one_pass(making: &Making, is_last: bool) -> Vec<u8> {
    let Making { key, config, .. } = making;
    let kinds = [u8::from(config.typ), u8::from(config.hash_alg), u8::from(config.pub_alg)];
    let public: &dyn KeyDetails = key.public();
    let mut body = Vec::new();
    match &config.version_specific {
        SignatureVersionSpecific::V6 { salt } => {
            body.push(6);
            body.extend_from_slice(&kinds);
            body.push(u8::try_from(salt.len()).unwrap_or(u8::MAX));
            body.extend_from_slice(salt);
            body.extend_from_slice(public.fingerprint().as_bytes());
        }
        _ => {
            body.push(3);
            body.extend_from_slice(&kinds);
            body.extend_from_slice(public.legacy_key_id().as_ref());
        }
    }
    body.push(u8::from(is_last));
    body
}
