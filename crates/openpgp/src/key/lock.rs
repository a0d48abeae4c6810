//! The lock of a private key (RFC 9580, 3.7.2 and 5.5.3). It is none, CFB with SHA-1 or with a sum, AEAD, or one of
//! GnuPG's marks for keys that are elsewhere.

use super::PrivateKeyError;
use super::packet::KeyPacket;
use crate::aead::{self, TAG_BYTES};
use crate::compute::{engine, random};
use crate::s2k::{S2k, is_fit_for_v6, s2k_key};
use crate::{AeadAlgorithm, HashAlgorithm, Passphrase, SymmetricKeyAlgorithm};
use engine::hkdf_sha256;
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, StringToKey};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// S2K usage octets (RFC 9580, 3.7.2). Other values are the number of a cipher, whose key is the MD5 of the passphrase.
const USAGE_NONE: u8 = 0;
const USAGE_AEAD: u8 = 253;
const USAGE_CFB: u8 = 254;
const USAGE_CFB_SUM: u8 = 255;
/// S2K specifier of GnuPG's marks, and the two modes of a mark.
const S2K_GNU: u8 = 101;
const GNU_DUMMY: u8 = 1;
const GNU_CARD: u8 = 2;
/// Length of a SHA-1 digest in bytes.
const SHA1_BYTES: usize = 20;

/// How a private key is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locking {
    /// The key is in the clear.
    Open,
    /// The key is locked under a passphrase.
    Passphrase,
    /// The key is not here: a mark of GnuPG takes its place.
    Elsewhere {
        /// Serial number of the smart card, if the mark has one.
        card: Option<Vec<u8>>,
    },
}

/// The lock of the private fields, with its parameters.
#[derive(Clone, Debug)]
pub(super) enum Lock {
    None,
    Cfb {
        usage: u8,
        cipher: SymmetricKeyAlgorithm,
        s2k: StringToKey,
        iv: Vec<u8>,
    },
    Aead {
        cipher: SymmetricKeyAlgorithm,
        mode: AeadAlgorithm,
        s2k: StringToKey,
        nonce: Vec<u8>,
    },
    /// A mark: the octets from the usage octet on, as they were read, and the card's serial number if they have one.
    Elsewhere {
        octets: Vec<u8>,
        card: Option<Vec<u8>>,
    },
}

impl Lock {
    /// Reads the lock from the beginning of `rest`, which is left with the data behind it.
    pub(super) fn parse(version: KeyVersion, rest: &mut &[u8]) -> Result<Self, String> {
        let start = *rest;
        let usage = octet(rest)?;
        if usage == USAGE_NONE {
            return Ok(Self::None);
        }
        let is_v6 = version == KeyVersion::V6;
        if is_v6 {
            if usage != USAGE_AEAD && usage != USAGE_CFB {
                return Err(format!("S2K usage {usage} does not go with keys of version 6"));
            }
            octet(rest)?; // how long the parameters are: they say so themselves
        }
        if !(USAGE_AEAD..=USAGE_CFB_SUM).contains(&usage) {
            let cipher = SymmetricKeyAlgorithm::from(usage);
            let iv = take(rest, cipher.block_size())?.to_vec();
            let s2k = StringToKey::Simple { hash_alg: HashAlgorithm::Md5 };
            return Ok(Self::Cfb { usage, cipher, s2k, iv });
        }
        let cipher = SymmetricKeyAlgorithm::from(octet(rest)?);
        let mode = if usage == USAGE_AEAD { Some(AeadAlgorithm::from(octet(rest)?)) } else { None };
        if is_v6 {
            octet(rest)?; // how long the specifier is: likewise
        }
        if rest.first() == Some(&S2K_GNU) {
            return Self::gnu(start, rest);
        }
        let s2k = StringToKey::try_from_reader(&mut *rest).map_err(|error| error.to_string())?;
        let is_argon2 = matches!(s2k, StringToKey::Argon2 { .. });
        match mode {
            Some(mode) => {
                let nonce = take(rest, mode.nonce_size())?.to_vec();
                Ok(Self::Aead { cipher, mode, s2k, nonce })
            }
            // RFC 9580, 3.7.2.1: Argon2 is used only with AEAD.
            None if is_argon2 => Err("Argon2 without AEAD".to_owned()),
            None => {
                let iv = take(rest, cipher.block_size())?.to_vec();
                Ok(Self::Cfb { usage, cipher, s2k, iv })
            }
        }
    }

    /// Reads `gnu-dummy` or `gnu-divert-to-card` as in GnuPG's DETAILS: type, hash, "GNU" and mode; for a card also
    /// length and serial number.
    fn gnu(start: &[u8], rest: &mut &[u8]) -> Result<Self, String> {
        let mark = take(rest, 6)?;
        if &mark[2..5] != b"GNU" {
            return Err("an S2K specifier of type 101 that is not GnuPG's".to_owned());
        }
        let card = match mark[5] {
            GNU_DUMMY => None,
            GNU_CARD => {
                let bytes = usize::from(octet(rest)?);
                Some(take(rest, bytes.min(rest.len()))?.to_vec())
            }
            other => return Err(format!("GnuPG's S2K mode {other} is not known")),
        };
        // Some versions write an initialisation vector without use.
        *rest = &[];
        Ok(Self::Elsewhere { octets: start.to_vec(), card })
    }

    pub(super) fn locking(&self) -> Locking {
        match self {
            Self::None => Locking::Open,
            Self::Cfb { .. } | Self::Aead { .. } => Locking::Passphrase,
            Self::Elsewhere { card, .. } => Locking::Elsewhere { card: card.clone() },
        }
    }

    /// The lock as in the packet, from the usage octet on.
    pub(super) fn to_bytes(&self, version: KeyVersion) -> Vec<u8> {
        let (usage, mut fixed, s2k, end) = match self {
            Self::None => return vec![USAGE_NONE],
            Self::Elsewhere { octets, .. } => return octets.clone(),
            Self::Cfb { usage: usage @ (USAGE_CFB | USAGE_CFB_SUM), cipher, s2k, iv } => {
                (*usage, vec![u8::from(*cipher)], s2k, iv)
            }
            Self::Cfb { usage, iv, .. } => return [&[*usage][..], iv].concat(),
            Self::Aead { cipher, mode, s2k, nonce } => {
                (USAGE_AEAD, vec![u8::from(*cipher), u8::from(*mode)], s2k, nonce)
            }
        };
        let s2k = s2k.to_bytes().unwrap_or_default();
        if version == KeyVersion::V6 {
            fixed.push(length(&s2k));
        }
        let parameters = [&fixed[..], &s2k, end].concat();
        let counted = (version == KeyVersion::V6).then(|| length(&parameters));
        [usage].into_iter().chain(counted).chain(parameters).collect()
    }

    /// Unlocks the private fields.
    ///
    /// # Errors
    /// [`PrivateKeyError::Locked`] for a wrong passphrase and for changed bytes, which cannot be told apart.
    pub(super) fn open(
        &self,
        public: &KeyPacket,
        data: &[u8],
        passphrase: Option<&Passphrase>,
    ) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        let passphrase = || passphrase.ok_or(PrivateKeyError::Locked);
        match self {
            Self::None if public.version() == KeyVersion::V6 => Ok(Zeroizing::new(data.to_vec())),
            Self::None => without_sum(data).ok_or_else(|| PrivateKeyError::Malformed {
                cause: "the checksum of the private fields is wrong".to_owned(),
            }),
            Self::Cfb { usage, cipher, s2k, iv } => {
                check_s2k(public.version(), s2k)?;
                let key = s2k_key(s2k, passphrase()?, cipher.key_size()).map_err(unsupported_s2k)?;
                let mut plain = Zeroizing::new(data.to_vec());
                cipher
                    .decrypt_with_iv_regular(&key, iv, &mut plain)
                    .map_err(|_| unsupported_cipher(*cipher))?;
                let fields = if *usage == USAGE_CFB { without_sha1(&plain) } else { without_sum(&plain) };
                fields.ok_or(PrivateKeyError::Locked)
            }
            Self::Aead { cipher, mode, s2k, nonce } => {
                check_s2k(public.version(), s2k)?;
                let key = s2k_key(s2k, passphrase()?, cipher.key_size()).map_err(unsupported_s2k)?;
                let (sealing, aad) = aead_parameters(public, *cipher, *mode, &key)?;
                let (text, tag) = data.split_last_chunk::<TAG_BYTES>().ok_or(PrivateKeyError::Locked)?;
                let mut plain = Zeroizing::new(text.to_vec());
                aead::open((*cipher, *mode), &sealing, nonce, &aad, &mut plain, tag)
                    .ok_or(PrivateKeyError::Locked)?;
                Ok(plain)
            }
            Self::Elsewhere { card, .. } => Err(PrivateKeyError::Unsupported {
                operation: if card.is_some() {
                    "be used (it is on a smart card)"
                } else {
                    "be used (it is not here)"
                },
                algorithm: format!("{:?}", public.algorithm()),
            }),
        }
    }

    /// Locks private fields with AES-256: version 4 in a form that GnuPG reads, version 6 with AEAD under Argon2.
    pub(super) fn close(
        public: &KeyPacket,
        fields: &[u8],
        passphrase: &Passphrase,
    ) -> Result<(Self, Vec<u8>), PrivateKeyError> {
        let cipher = SymmetricKeyAlgorithm::AES256;
        let is_v6 = public.version() == KeyVersion::V6;
        let s2k = S2k::for_keys(is_v6).specifier();
        let key = s2k_key(&s2k, passphrase, cipher.key_size()).map_err(unsupported_s2k)?;
        let mut plain = Zeroizing::new(Vec::with_capacity(fields.len() + SHA1_BYTES));
        plain.extend_from_slice(fields);
        if is_v6 {
            let mode = AeadAlgorithm::Ocb;
            let nonce = random::<15>().to_vec();
            let (sealing, aad) = aead_parameters(public, cipher, mode, &key)?;
            let tag = aead::seal((cipher, mode), &sealing, &nonce, &aad, &mut plain)
                .ok_or_else(|| unsupported_cipher(cipher))?;
            return Ok((Self::Aead { cipher, mode, s2k, nonce }, [&plain[..], &tag].concat()));
        }
        plain.extend_from_slice(&sha1(fields));
        let iv = random::<16>().to_vec();
        cipher.encrypt_with_iv_regular(&key, &iv, &mut plain).map_err(|_| unsupported_cipher(cipher))?;
        Ok((Self::Cfb { usage: USAGE_CFB, cipher, s2k, iv }, plain.to_vec()))
    }
}

/// The key and the associated data for AEAD over private fields (RFC 9580, 3.7.2.1). The public half is part of the
/// associated data, so that it cannot be exchanged.
fn aead_parameters(
    public: &KeyPacket,
    cipher: SymmetricKeyAlgorithm,
    mode: AeadAlgorithm,
    key: &[u8],
) -> Result<(Zeroizing<Vec<u8>>, Vec<u8>), PrivateKeyError> {
    let packet_type = 0xc0 | if public.is_primary() { 5 } else { 7 };
    let info = [packet_type, u8::from(public.version()), u8::from(cipher), u8::from(mode)];
    let mut sealing = Zeroizing::new(vec![0; cipher.key_size()]);
    hkdf_sha256(&[], key, &info, &mut sealing).map_err(|_| unsupported_cipher(cipher))?;
    Ok((sealing, [&[packet_type][..], &public.to_bytes().unwrap_or_default()].concat()))
}

/// Refuses ways of hashing a passphrase that keys of version 6 must not have (RFC 9580, 9.5 and 3.7.2.1).
fn check_s2k(version: KeyVersion, s2k: &StringToKey) -> Result<(), PrivateKeyError> {
    if version != KeyVersion::V6 {
        return Ok(());
    }
    let cause = "its passphrase is hashed in a way that is too weak for version 6".to_owned();
    is_fit_for_v6(s2k).then_some(()).ok_or(PrivateKeyError::Malformed { cause })
}

/// The sum of all octets, modulo 65536 (RFC 9580, 5.5.3).
pub(super) fn checksum(fields: &[u8]) -> [u8; 2] {
    fields.iter().fold(0u16, |sum, octet| sum.wrapping_add(u16::from(*octet))).to_be_bytes()
}

fn without_sum(data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (fields, sum) = data.split_last_chunk::<2>()?;
    let fits: bool = checksum(fields).ct_eq(sum).into();
    fits.then(|| Zeroizing::new(fields.to_vec()))
}

fn without_sha1(data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (fields, digest) = data.split_last_chunk::<SHA1_BYTES>()?;
    let fits: bool = sha1(fields).ct_eq(digest).into();
    fits.then(|| Zeroizing::new(fields.to_vec()))
}

fn sha1(text: &[u8]) -> [u8; SHA1_BYTES] {
    let mut digest = [0; SHA1_BYTES];
    if let Ok(hashed) = engine().hash(engine::HashAlgorithm::Sha1, text) {
        digest.copy_from_slice(&hashed[..SHA1_BYTES]);
    }
    digest
}

fn unsupported_cipher(cipher: SymmetricKeyAlgorithm) -> PrivateKeyError {
    PrivateKeyError::Malformed { cause: format!("it is locked with {cipher:?}, which is not served") }
}

fn unsupported_s2k(cause: String) -> PrivateKeyError {
    PrivateKeyError::Malformed { cause }
}

fn length(octets: &[u8]) -> u8 {
    u8::try_from(octets.len()).unwrap_or(u8::MAX)
}

fn octet(rest: &mut &[u8]) -> Result<u8, String> {
    take(rest, 1).map(|octet| octet[0])
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Result<&'a [u8], String> {
    let (taken, after) = rest.split_at_checked(bytes).ok_or("it is cut short")?;
    *rest = after;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::policy::SHA1_END_SECONDS;
    use crate::generate::{NewKey, generate};
    use pgp::types::Timestamp;

    /// Private fields under each lock of former times, as programs wrote them before SHA-1 guarded the fields.
    #[test]
    fn locks_of_the_past_are_opened() {
        let made = generate(&NewKey::new("a", Timestamp::from_secs(SHA1_END_SECONDS)), None).unwrap();
        let public = made.certificate().keys().remove(0);
        let fields = [0, 9, 1, 255];
        let pass = Passphrase::new(b"p".to_vec());
        let wrong = Passphrase::new(b"q".to_vec());
        let sha1 = StringToKey::Salted { hash_alg: HashAlgorithm::Sha1, salt: [7; 8] };
        let md5 = StringToKey::Simple { hash_alg: HashAlgorithm::Md5 };
        let cast5 = SymmetricKeyAlgorithm::CAST5;
        for (usage, cipher, s2k) in [
            (USAGE_CFB_SUM, SymmetricKeyAlgorithm::AES128, sha1.clone()),
            (USAGE_CFB, SymmetricKeyAlgorithm::TripleDES, sha1),
            (u8::from(cast5), cast5, md5),
        ] {
            let key = s2k_key(&s2k, &pass, cipher.key_size()).unwrap();
            let iv = vec![3; cipher.block_size()];
            let check =
                if usage == USAGE_CFB { super::sha1(&fields).to_vec() } else { checksum(&fields).to_vec() };
            let mut data = [&fields[..], &check].concat();
            cipher.encrypt_with_iv_regular(&key, &iv, &mut data).unwrap();
            let lock = Lock::Cfb { usage, cipher, s2k, iv };
            let written = lock.to_bytes(KeyVersion::V4);
            let read = Lock::parse(KeyVersion::V4, &mut &written[..]).unwrap();
            assert_eq!(read.to_bytes(KeyVersion::V4), written);
            assert_eq!(read.open(&public, &data, Some(&pass)).unwrap()[..], fields, "usage {usage}");
            assert_eq!(read.open(&public, &data, Some(&wrong)).unwrap_err(), PrivateKeyError::Locked);
            assert_eq!(read.open(&public, &data, None).unwrap_err(), PrivateKeyError::Locked);
            assert_eq!(read.open(&public, &data[..1], Some(&pass)).unwrap_err(), PrivateKeyError::Locked);
            for end in 0..written.len() {
                assert!(Lock::parse(KeyVersion::V4, &mut &written[..end]).is_err(), "usage {usage}, {end}");
            }
        }
    }

    #[test]
    fn marks_of_gnupg_are_read_and_written() {
        let dummy = [&[254, 0, 101, 0][..], b"GNU", &[1]].concat();
        let card = [&[255, 0, 101, 0][..], b"GNU", &[2, 3, 10, 11, 12]].concat();
        for (octets, serial) in [(dummy, None), (card, Some(vec![10, 11, 12]))] {
            let lock = Lock::parse(KeyVersion::V4, &mut &octets[..]).unwrap();
            assert_eq!(lock.locking(), Locking::Elsewhere { card: serial });
            assert_eq!(lock.to_bytes(KeyVersion::V4), octets);
        }
        let other = [&[254, 0, 101, 0][..], b"GNU", &[9]].concat();
        assert!(Lock::parse(KeyVersion::V4, &mut &other[..]).is_err());
    }
}
