//! Checks the signatures over a message (RFC 9580, 5.2.4 and 10.3), computing each hash once.

use super::maker::share;
use super::{Checked, Context, Issuer, Verdict};
use crate::certificate::{Certificate, policy};
use crate::key::{KeyPacket, unserved_curve};
use crate::signed::{Spec, TextHash, trailer};
use crate::{HashAlgorithm, Timestamp};
use pgp::packet::{
    OnePassSignature, OpsVersionSpecific, Signature, SignatureType, SignatureVersion,
    SignatureVersionSpecific, SubpacketData,
};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, VerifyingKey};
use std::sync::Arc;

/// At most this many hashes are computed over one text; signatures that need further ones are reported as bad.
pub const HASHES_MAX: usize = 16;

/// Checks signatures over a text that comes in pieces.
#[derive(Debug, Default)]
pub struct Checker {
    pending: Vec<Pending>,
    hashes: Vec<TextHash>,
}

#[derive(Debug)]
struct Pending {
    /// The one-pass signature before the text, if there was one.
    one_pass: Option<OnePassSignature>,
    signature: Option<Signature>,
    /// Index of the hash that the signature needs, or why there is none.
    hash: Result<usize, String>,
}

impl Checker {
    /// A checker without signatures, which are added afterwards.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a one-pass signature that precedes the text.
    pub fn one_pass(&mut self, packet: &OnePassSignature) {
        let hash = spec_of_one_pass(packet).and_then(|spec| self.hash(spec));
        self.pending.push(Pending { one_pass: Some(packet.clone()), signature: None, hash });
    }

    /// Adds a signature that is known before the text: detached, cleartext, or in the old form before the literal.
    pub fn signature(&mut self, signature: Signature) {
        let hash = spec_of(&signature).and_then(|spec| self.hash(spec));
        self.pending.push(Pending { one_pass: None, signature: Some(signature), hash });
    }

    /// Hashes the next piece of the text.
    pub fn update(&mut self, text: &[u8]) {
        for hash in &mut self.hashes {
            hash.update(text);
        }
    }

    /// Adds a signature that follows the text. It belongs to the last one-pass signature that has none yet. False if
    /// there is none left: the signature was not announced, and is ignored.
    pub fn trailing(&mut self, signature: Signature) -> bool {
        let open = self.pending.iter_mut().rev().find(|it| it.one_pass.is_some() && it.signature.is_none());
        let Some(pending) = open else { return false };
        if pending.one_pass.as_ref().is_some_and(|one_pass| !one_pass.matches(&signature)) {
            pending.hash = Err("it does not fit what was announced before the text".to_owned());
        }
        pending.signature = Some(signature);
        true
    }

    /// Whether no signatures were added.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The verdict on each signature, in the order of the message, judged at `now`. `certificates` gives the
    /// certificates that may have made a signature of an issuer; `context` says where the text was found.
    pub fn finish(
        self,
        certificates: &dyn Fn(&Issuer) -> Vec<Arc<Certificate>>,
        context: &Context,
        now: Timestamp,
    ) -> Vec<Checked> {
        let Self { pending, hashes } = self;
        pending.iter().map(|pending| check(pending, &hashes, certificates, context, now)).collect()
    }

    fn hash(&mut self, spec: Spec) -> Result<usize, String> {
        let is_new = !self.hashes.iter().any(|hash| hash.spec == spec);
        if is_new && self.hashes.len() == HASHES_MAX {
            return Err(format!("the message asks for more than {HASHES_MAX} hashes"));
        }
        let hash = spec.hash;
        share(&mut self.hashes, spec).ok_or_else(|| format!("the hash {hash:?} is not served"))
    }
}

fn spec_of(signature: &Signature) -> Result<Spec, String> {
    let config = signature.config().ok_or("its version is not served")?;
    let salt = match &config.version_specific {
        SignatureVersionSpecific::V6 { salt } => {
            if config.hash_alg.salt_len() != Some(salt.len()) {
                return Err("its salt has a wrong length".to_owned());
            }
            salt.clone()
        }
        _ => Vec::new(),
    };
    spec(config.typ, config.hash_alg, salt)
}

fn spec_of_one_pass(packet: &OnePassSignature) -> Result<Spec, String> {
    let salt = match packet.version_specific() {
        OpsVersionSpecific::V3 { .. } => Vec::new(),
        OpsVersionSpecific::V6 { salt, .. } => salt.to_vec(),
        OpsVersionSpecific::Unknown { version, .. } => {
            return Err(format!("one-pass signatures of version {version} are not served"));
        }
    };
    // Version, type and hash are read from the octets: the packet's type gives no access to these fields.
    let octets = packet.to_bytes().map_err(|error| error.to_string())?;
    let [_, typ, hash, ..] = octets[..] else { return Err("it is cut short".to_owned()) };
    spec(SignatureType::from(typ), HashAlgorithm::from(hash), salt)
}

fn spec(typ: SignatureType, hash: HashAlgorithm, salt: Vec<u8>) -> Result<Spec, String> {
    policy::hash_for_messages(hash)?;
    match typ {
        SignatureType::Binary => Ok(Spec { hash, is_text: false, salt }),
        SignatureType::Text => Ok(Spec { hash, is_text: true, salt }),
        other => Err(format!("a signature of type {other:?} is not one over a message")),
    }
}

fn check(
    pending: &Pending,
    hashes: &[TextHash],
    certificates: &dyn Fn(&Issuer) -> Vec<Arc<Certificate>>,
    context: &Context,
    now: Timestamp,
) -> Checked {
    let Some(signature) = &pending.signature else {
        let issuer = pending.one_pass.as_ref().map_or(Issuer::Unnamed, issuer_of_one_pass);
        let why = "it was announced before the text and does not follow it".to_owned();
        return Checked { issuer, made: None, is_text: false, verdict: Verdict::Bad { why } };
    };
    let made = signature.created();
    let is_text = signature.typ() == Some(SignatureType::Text);
    let framed = match frame(pending, hashes, signature, context, made, now) {
        Ok(framed) => framed,
        Err(why) => {
            return Checked { issuer: Issuer::of(signature), made, is_text, verdict: Verdict::Bad { why } };
        }
    };
    let (digest, at) = framed;
    let mut found: Option<(Issuer, Verdict)> = None;
    for issuer in Issuer::all_of(signature) {
        let verdict = judge(signature, &digest, &issuer, &certificates(&issuer), at, now);
        let is_good = matches!(verdict, Verdict::Good { .. });
        // Among invalid verdicts, one from a known certificate says more than an unknown issuer.
        let is_judged = verdict != Verdict::Unknown;
        if is_good || found.as_ref().is_none_or(|(_, before)| is_judged && *before == Verdict::Unknown) {
            found = Some((issuer, verdict));
        }
        if is_good {
            break;
        }
    }
    let (issuer, verdict) = found.unwrap_or((Issuer::Unnamed, Verdict::Unknown));
    Checked { issuer, made, is_text, verdict }
}

/// Judges a signature as far as possible without a key; returns its digest, and when it was made.
///
/// # Errors
/// A text that says why the signature is bad.
fn frame(
    pending: &Pending,
    hashes: &[TextHash],
    signature: &Signature,
    context: &Context,
    made: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Vec<u8>, Timestamp), String> {
    let hash = &hashes[pending.hash.clone()?];
    let made = made.ok_or("it does not say when it was made")?;
    if policy::has_two_times(signature) {
        return Err("it names two times at which it was made".to_owned());
    }
    if made > now {
        return Err("it says that it was made in the future".to_owned());
    }
    let lifetime = signature.signature_expiration_time().map_or(0, |lifetime| lifetime.as_secs());
    if lifetime != 0 && made.as_secs().saturating_add(lifetime) <= now.as_secs() {
        return Err("it has expired".to_owned());
    }
    if let Some(unknown) = policy::critical_unknown(signature) {
        return Err(format!("it rests on something critical that is not known here: {unknown}"));
    }
    if !is_intended(signature, context) {
        return Err(
            "its maker named other recipients: the text was encrypted to somebody else, and passed on"
                .to_owned(),
        );
    }
    let end = trailer(signature).ok_or("its version is not served")?;
    let digest = hash.digest(&end).ok_or("its hash is not served")?;
    let is_v6 = signature.version() == SignatureVersion::V6;
    if is_v6 && signature.signed_hash_value().is_some_and(|start| digest[..2] != start) {
        return Err("it does not hold for this text".to_owned());
    }
    Ok((digest, made))
}

fn judge(
    signature: &Signature,
    digest: &[u8],
    issuer: &Issuer,
    certificates: &[Arc<Certificate>],
    made: Timestamp,
    now: Timestamp,
) -> Verdict {
    let mut why = None;
    for certificate in certificates {
        for key in certificate.keys().into_iter().filter(|key| is_issuer(issuer, key)) {
            match judge_key(signature, digest, certificate, &key, made, now) {
                Ok(()) => {
                    return Verdict::Good { certificate: certificate.fingerprint(), key: key.fingerprint() };
                }
                Err(cause) => why = Some(cause),
            }
        }
    }
    why.map_or(Verdict::Unknown, |why| Verdict::Bad { why })
}

fn judge_key(
    signature: &Signature,
    digest: &[u8],
    certificate: &Certificate,
    key: &KeyPacket,
    made: Timestamp,
    now: Timestamp,
) -> Result<(), String> {
    let is_v6 = signature.version() == SignatureVersion::V6;
    if is_v6 != (key.version() == KeyVersion::V6) {
        return Err(format!("its version is not that of the key {:X}", key.fingerprint()));
    }
    let (Some(hash), Some(bytes)) = (signature.hash_alg(), signature.signature()) else {
        return Err("its version is not served".to_owned());
    };
    if signature.config().is_none_or(|config| config.pub_alg != key.algorithm()) {
        return Err(format!("its algorithm is not that of the key {:X}", key.fingerprint()));
    }
    if let Some(algorithm) = unserved_curve(key) {
        return Err(format!("it cannot be checked by the key {:X}: {algorithm}", key.fingerprint()));
    }
    key.verify(hash, digest, bytes)
        .map_err(|_| format!("it does not hold for this text and the key {:X}", key.fingerprint()))?;
    was_valid(certificate, key, made, now)
}

/// Whether the key was allowed to sign when this signature was made. Programs renew the signatures that bind a key and
/// drop the old ones. If none is as old as the message, the present ones count.
///
/// # Errors
/// A text that says why it was not.
fn was_valid(
    certificate: &Certificate,
    key: &KeyPacket,
    made: Timestamp,
    now: Timestamp,
) -> Result<(), String> {
    let fingerprint = key.fingerprint();
    let at = |time| certificate.check(time).and_then(|valid| valid.signed_with(&fingerprint).map(|_| ()));
    match at(made) {
        Err(crate::certificate::Unusable::Unbound { .. }) if key.created_at() <= made => at(now),
        other => other,
    }
    .map_err(|unusable| unusable.to_string())
}

fn is_issuer(issuer: &Issuer, key: &KeyPacket) -> bool {
    match issuer {
        Issuer::Fingerprint(fingerprint) => key.fingerprint() == *fingerprint,
        Issuer::KeyId(id) => key.legacy_key_id() == *id,
        Issuer::Unnamed => true,
    }
}

/// Whether a signature may be in this context. If it names recipients, one of them must have opened the message (RFC
/// 9580, 5.2.3.36). If a passphrase or a session key opened the message, the recipient is not known and the signature
/// counts.
fn is_intended(signature: &Signature, context: &Context) -> bool {
    let hashed = signature.config().into_iter().flat_map(|config| config.hashed_subpackets());
    let mut intended = hashed
        .filter_map(|subpacket| match &subpacket.data {
            SubpacketData::IntendedRecipientFingerprint(fingerprint) => Some(fingerprint),
            _ => None,
        })
        .peekable();
    if intended.peek().is_none() {
        return true;
    }
    match context {
        Context::Clear => false,
        Context::Encrypted { opened_by: None } => true,
        Context::Encrypted { opened_by: Some(own) } => intended.any(|fingerprint| fingerprint == own),
    }
}

fn issuer_of_one_pass(packet: &OnePassSignature) -> Issuer {
    match packet.version_specific() {
        OpsVersionSpecific::V3 { key_id } => Issuer::of_id(*key_id),
        OpsVersionSpecific::V6 { fingerprint, .. } => {
            Issuer::Fingerprint(crate::Fingerprint::V6(*fingerprint))
        }
        OpsVersionSpecific::Unknown { .. } => Issuer::Unnamed,
    }
}
