//! Parses certificates and private keys (RFC 9580, 10.1 and 10.2), leniently where files in use need it.
//!
//! Subkeys that cannot be read are kept as they are ([`Opaque`]), so that nobody loses a key by passing it on. Other
//! packets that cannot be read, and kinds that do not belong here (trust, padding, markers), are skipped. Components
//! without a signature that binds them are not used anyway. Components may come in any order after the primary key.

use super::bounds::Count;
use super::opaque::Opaque;
use super::{CertificateError, unserved};
use crate::key::{KeyPacket, SecretPacket};
use crate::packet::armor::Dearmorer;
use pgp::composed::{SignedKeyDetails, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{PacketHeader, PublicKey, PublicSubkey, Signature, SignatureType, UserAttribute, UserId};
use pgp::types::{PacketLength, SignedUser, SignedUserAttribute, Tag};
use zeroize::Zeroizing;

/// Longest user id that is kept, in bytes; GnuPG takes 2,048.
const USER_ID_BYTES_MAX: usize = 16 << 10;
/// At most this many revocations are read at once.
const REVOCATIONS_MAX: usize = 1024;
/// The first bytes of every block of armor.
const ARMOR_START: &[u8] = b"-----BEGIN PGP ";
/// The last bytes of the first line of a block of armor.
const ARMOR_DASHES: &[u8] = b"-----";

/// A certificate, with the private halves of its keys if there were any.
pub(crate) struct Parsed {
    pub(crate) public: SignedPublicKey,
    pub(crate) secret: Vec<SecretPacket>,
    /// Subkeys of an unsupported kind, public and private.
    pub(crate) opaque: Vec<Opaque>,
}

/// Every key in these bytes, armored (any number of blocks) or not, each with a result of its own.
pub(crate) fn keys(bytes: &[u8]) -> Result<Vec<Result<Parsed, CertificateError>>, CertificateError> {
    let mut keys = Keys::default();
    each_block(bytes, |packets| keys.take(packets))?;
    let found = keys.finish();
    if found.is_empty() { Err(CertificateError::NoKey) } else { Ok(found) }
}

/// Every key revocation in these bytes, armored or not, at most [`REVOCATIONS_MAX`].
pub(crate) fn revocations(bytes: &[u8]) -> Result<Vec<Signature>, CertificateError> {
    let mut found = Vec::new();
    each_block(bytes, |packets| {
        let mut rest = packets;
        while let Some(Ok(Raw { header, body })) = next_packet(&mut rest) {
            if header.tag() == Tag::Signature
                && let Ok(signature) = whole(&body, |body| Signature::try_from_reader(header, body))
                && signature.typ() == Some(SignatureType::KeyRevocation)
                && found.len() < REVOCATIONS_MAX
            {
                found.push(signature);
            }
        }
    })?;
    if found.is_empty() { Err(CertificateError::NoKey) } else { Ok(found) }
}

/// Calls `take` with the packets of each block of armor, or with all bytes if they are not armored.
fn each_block(bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), CertificateError> {
    if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        take(bytes);
        return Ok(());
    }
    for block in blocks(bytes) {
        if is_one_line(block) {
            let cause = "its line breaks are lost, so that nothing tells its lines apart".to_owned();
            return Err(CertificateError::Armor { cause });
        }
        let mut plain = Zeroizing::new(Vec::with_capacity(block.len()));
        let mut dearmorer = Dearmorer::new();
        let read = dearmorer.update(block, &mut plain).and_then(|_| dearmorer.finish());
        read.map_err(|error| CertificateError::Armor { cause: error.to_string() })?;
        take(&plain);
    }
    Ok(())
}

/// Whether the first line of a block of armor has anything but white space behind its title.
fn is_one_line(block: &[u8]) -> bool {
    let line = block.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let title = &line[ARMOR_START.len().min(line.len())..];
    let end = title.windows(ARMOR_DASHES.len()).position(|window| window == ARMOR_DASHES);
    end.is_some_and(|end| !title[end + ARMOR_DASHES.len()..].trim_ascii().is_empty())
}

/// The parts of a text, each from the first line of a block of armor up to the next block.
fn blocks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts: Vec<usize> = text
        .windows(ARMOR_START.len())
        .enumerate()
        .filter(|(at, window)| *window == ARMOR_START && (*at == 0 || text[at - 1] == b'\n'))
        .map(|(at, _)| at)
        .collect();
    let ends: Vec<usize> = starts.iter().copied().skip(1).chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

/// A packet within the bytes that are parsed.
pub(crate) struct Raw<'a> {
    pub(crate) header: PacketHeader,
    pub(crate) body: &'a [u8],
}

/// The next packet of a certificate, which must have a definite length; `None` at the end.
pub(crate) fn next_packet<'a>(rest: &mut &'a [u8]) -> Option<Result<Raw<'a>, CertificateError>> {
    if rest.is_empty() {
        return None;
    }
    let malformed = |cause: String| Some(Err(CertificateError::Packet { cause }));
    let header = match PacketHeader::try_from_reader(&mut *rest) {
        Ok(header) => header,
        Err(error) => return malformed(format!("packet header: {error}")),
    };
    let PacketLength::Fixed(bytes) = header.packet_length() else {
        return malformed(format!("a packet of type {:?} without a definite length", header.tag()));
    };
    let Some((body, after)) = rest.split_at_checked(bytes as usize) else {
        return malformed(format!("a packet of type {:?} is cut short", header.tag()));
    };
    *rest = after;
    Some(Ok(Raw { header, body }))
}

#[derive(Default)]
struct Keys {
    done: Vec<Result<Parsed, CertificateError>>,
    current: Option<Result<Builder, CertificateError>>,
}

impl Keys {
    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(packet) = next_packet(&mut rest) {
            match packet {
                Ok(packet) => self.packet(&packet),
                Err(error) => {
                    self.close();
                    self.done.push(Err(error));
                    return;
                }
            }
        }
    }

    fn packet(&mut self, packet: &Raw<'_>) {
        match packet.header.tag() {
            Tag::PublicKey | Tag::SecretKey => {
                self.close();
                self.current = Some(Builder::new(packet));
            }
            _ => {
                if let Some(Ok(builder)) = &mut self.current
                    && let Err(error) = builder.packet(packet)
                {
                    self.current = Some(Err(error));
                }
            }
        }
    }

    fn close(&mut self) {
        if let Some(current) = self.current.take() {
            self.done.push(current.map(|builder| builder.parsed));
        }
    }

    fn finish(mut self) -> Vec<Result<Parsed, CertificateError>> {
        self.close();
        self.done
    }
}

/// The component that the following signatures belong to.
#[derive(Clone, Copy)]
enum Component {
    Primary,
    User,
    Attribute,
    Subkey,
    /// A subkey of an unsupported kind.
    Opaque,
    /// A component that was skipped.
    Nothing,
}

struct Builder {
    parsed: Parsed,
    component: Component,
    count: Count,
}

impl Builder {
    fn new(packet: &Raw<'_>) -> Result<Self, CertificateError> {
        let (primary_key, secret) = match packet.header.tag() {
            Tag::SecretKey => {
                let secret = SecretPacket::parse(true, packet.body)
                    .map_err(|cause| not_read(packet.body, &format!("private key: {cause}")))?;
                let KeyPacket::Primary(key) = secret.public().clone() else {
                    return Err(CertificateError::NoKey);
                };
                (key, vec![secret])
            }
            _ => (public_key(packet)?, Vec::new()),
        };
        let details = SignedKeyDetails {
            revocation_signatures: Vec::new(),
            direct_signatures: Vec::new(),
            users: Vec::new(),
            user_attributes: Vec::new(),
        };
        let public = SignedPublicKey { primary_key, details, public_subkeys: Vec::new() };
        let count = Count::new(&public.primary_key);
        Ok(Self {
            parsed: Parsed { public, secret, opaque: Vec::new() },
            component: Component::Primary,
            count,
        })
    }

    fn packet(&mut self, packet: &Raw<'_>) -> Result<(), CertificateError> {
        let Raw { header, body } = packet;
        if header.tag() == Tag::Signature && matches!(self.component, Component::Opaque) {
            self.count.packet()?;
            if let Some(opaque) = self.parsed.opaque.last_mut() {
                opaque.add_signature(*header, body);
            }
            return Ok(());
        }
        if header.tag() == Tag::Signature {
            // A signature that cannot be read is left out, like surplus signatures by others.
            return match whole(body, |body| Signature::try_from_reader(*header, body)) {
                Ok(signature) => self.signature(signature),
                Err(_) => Ok(()),
            };
        }
        self.count.packet()?;
        let key = &mut self.parsed.public;
        match header.tag() {
            Tag::UserId => {
                self.component = Component::Nothing;
                if body.len() <= USER_ID_BYTES_MAX
                    && let Ok(id) = UserId::try_from_reader(*header, *body)
                {
                    key.details.users.push(SignedUser { id, signatures: Vec::new() });
                    self.component = Component::User;
                }
            }
            Tag::UserAttribute => {
                self.component = Component::Nothing;
                if let Ok(attr) = UserAttribute::try_from_reader(*header, *body) {
                    key.details.user_attributes.push(SignedUserAttribute { attr, signatures: Vec::new() });
                    self.component = Component::Attribute;
                }
            }
            Tag::PublicSubkey => match whole(body, |body| PublicSubkey::try_from_reader(*header, body)) {
                Ok(subkey) => self.subkey(subkey),
                Err(_) => self.opaque(Opaque::new(false, body)),
            },
            Tag::SecretSubkey => {
                let secret = SecretPacket::parse(false, body).ok();
                match secret.map(|secret| (secret.public().clone(), secret)) {
                    Some((KeyPacket::Sub(subkey), secret)) => {
                        self.parsed.secret.push(secret);
                        self.subkey(subkey);
                    }
                    _ => self.opaque(Opaque::new(true, body)),
                }
            }
            // RFC 9580, 4.3: an unknown critical packet may change the meaning of the packets around it.
            tag @ Tag::UnassignedCritical(_) => {
                let number = u8::from(tag);
                let cause = format!("a packet of type {number}, which is critical and not known");
                return Err(CertificateError::Packet { cause });
            }
            _ => {}
        }
        Ok(())
    }

    fn opaque(&mut self, opaque: Opaque) {
        self.parsed.opaque.push(opaque);
        self.component = Component::Opaque;
    }

    fn subkey(&mut self, key: PublicSubkey) {
        self.parsed.public.public_subkeys.push(SignedPublicSubKey { key, signatures: Vec::new() });
        self.component = Component::Subkey;
    }

    fn signature(&mut self, signature: Signature) -> Result<(), CertificateError> {
        if matches!(self.component, Component::Nothing) || !self.count.signature(&signature)? {
            return Ok(());
        }
        let key = &mut self.parsed.public;
        let list = match self.component {
            Component::Primary if signature.typ() == Some(SignatureType::KeyRevocation) => {
                Some(&mut key.details.revocation_signatures)
            }
            Component::Primary => Some(&mut key.details.direct_signatures),
            Component::User => key.details.users.last_mut().map(|user| &mut user.signatures),
            Component::Attribute => key.details.user_attributes.last_mut().map(|it| &mut it.signatures),
            Component::Subkey => key.public_subkeys.last_mut().map(|subkey| &mut subkey.signatures),
            Component::Opaque | Component::Nothing => None,
        };
        if let Some(list) = list {
            list.push(signature);
        }
        Ok(())
    }
}

fn public_key(packet: &Raw<'_>) -> Result<PublicKey, CertificateError> {
    whole(&packet.body, |body| PublicKey::try_from_reader(packet.header, body))
        .map_err(|cause| not_read(packet.body, &format!("public key: {cause}")))
}

/// The error for a primary key that was not read.
fn not_read(body: &[u8], cause: &str) -> CertificateError {
    match unserved::kind(body) {
        Some(kind) => CertificateError::Unserved { kind },
        None => CertificateError::Packet { cause: cause.to_owned() },
    }
}

/// Reads a body to its end; surplus bytes are an error, since they would be lost when the packet is written again.
fn whole<T>(
    body: &&[u8],
    read: impl FnOnce(&mut &[u8]) -> Result<T, pgp::errors::Error>,
) -> Result<T, String> {
    let mut rest = *body;
    let value = read(&mut rest).map_err(|error| error.to_string())?;
    if rest.is_empty() { Ok(value) } else { Err(format!("{} bytes too many", rest.len())) }
}

#[cfg(test)]
mod tests {
    use crate::certificate::Certificate;
    use crate::generate::{NewKey, generate};

    #[test]
    fn armor_without_line_breaks_says_so() {
        let made = crate::Timestamp::from_secs(1_700_000_000);
        let private = generate(&NewKey::new("A <a@example.org>", made), None).unwrap();
        let whole = private.certificate().to_armor();
        for joined in [whole.replace('\n', ""), whole.replace('\n', " ")] {
            let failed = Certificate::parse_all(joined.as_bytes()).unwrap_err();
            assert!(failed.to_string().contains("line breaks are lost"), "{failed}");
        }
        for ends in ["\r\n", " \n"] {
            let changed = whole.replace('\n', ends);
            assert_eq!(Certificate::parse_all(changed.as_bytes()).unwrap().len(), 1);
        }
    }
}
