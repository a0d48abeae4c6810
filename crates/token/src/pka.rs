//! PKA key tokens: a header, then sections in a fixed order, read whole or refused. Those of elliptic curves are in
//! [`ecc`]; of RSA:
//!
//! ```text
//! header 8      00 X'1E' external, X'1F' internal | 01 zero | 02 length of all | 04 zero
//! private       X'02' ME to 1024 bits, X'08' CRT, X'30' ME and X'31' CRT with an AES object protection key
//! public        X'04'; its modulus is empty where a private section carries one
//! name          X'10', optional
//! ```
//!
//! A view ([`PkaToken`]) exists only for a token whose every length lies within its area, whose
//! sections stand in order, whose reserved bytes are zero and whose own hashes agree. It does not
//! check the key itself: public sections are claims, and a wrapped private key is checked when it
//! is unwrapped.
//!
//! All integers are big-endian; numbers are right-justified, padded with zeros on the left.
//! Sources: *Linux on Z CCA Programmer's Guide*, "PKA key tokens"; *z/OS ICSF Application
//! Programmer's Guide*, "PKA key tokens". Values that these leave open are in [`unconfirmed`].

mod aes;
mod asym;
mod build;
mod claims;
mod clear;
pub mod ecc;
mod error;
mod holds;
mod key_values;
mod public;
mod section;
mod transported;
pub mod unconfirmed;

pub use aes::{SplitValues, Wrapped};
pub use asym::{
    ASYM_OPK_CONFOUNDER_BYTES, ASYM_OPK_FIELD_BYTES, ASYM_PATTERN_BYTES, AsymBuilder, AsymWrapped,
};
pub use build::{Attributes, ClearKey, Lengths, WrappedBuilder, clear_token, public_token, skeleton_token};
pub use claims::{Claim, claims, stated_token};
pub use error::{PkaTokenError, Problem};
pub(crate) use holds::holds;
pub use holds::{SectionHeader, sections};
pub use key_values::{KeyValues, KeyValuesError};

pub use transported::{Transported, TransportedBuilder};

use section::Sections;

/// Length of a token's header.
pub const HEADER_BYTES: usize = 8;
/// First byte of an external token.
pub const EXTERNAL: u8 = 0x1E;
/// First byte of an internal token.
pub const INTERNAL: u8 = 0x1F;
/// Shortest modulus that a token may hold, in bits.
pub const MODULUS_BITS_MIN: usize = 512;
/// Longest modulus that a token may hold, in bits.
pub const MODULUS_BITS_MAX: usize = 4096;
/// Length of the private-key name in bytes.
pub const NAME_BYTES: usize = 64;
/// Longest modulus of an X'02' section, in bits.
pub const ME1024_BITS_MAX: usize = 1024;

/// The hashes in tokens, of the tokens' own sections. The caller provides them, as this crate
/// computes none: a pair of functions, SHA-1 and SHA-256.
pub trait SectionHash {
    /// SHA-1 of `data`.
    fn sha1(&self, data: &[u8]) -> [u8; 20];
    /// SHA-256 of `data`.
    fn sha256(&self, data: &[u8]) -> [u8; 32];
}

impl<A: Fn(&[u8]) -> [u8; 20], B: Fn(&[u8]) -> [u8; 32]> SectionHash for (A, B) {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        self.0(data)
    }

    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        self.1(data)
    }
}

/// The systems for which a token is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// X'1E': travels between systems; with a public or clear key, or under a transport key.
    External,
    /// X'1F': stays here, wrapped under the master key of one domain.
    Internal,
}

/// Form of a private section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Form {
    /// X'02': modulus and exponent, at most 1024 bits.
    Me1024 = 0x02,
    /// X'08': Chinese remainder theorem.
    Crt = 0x08,
    /// X'30': modulus and exponent, AES object protection key.
    MeAes = 0x30,
    /// X'31': Chinese remainder theorem, AES object protection key.
    CrtAes = 0x31,
}

impl Form {
    /// Whether the private key is held as CRT components.
    pub const fn is_crt(self) -> bool {
        matches!(self, Self::Crt | Self::CrtAes)
    }

    /// The form in which an internal token holds a key of this form.
    pub const fn internal(self) -> Self {
        if self.is_crt() { Self::CrtAes } else { Self::MeAes }
    }
}

/// The uses of a private key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Usage {
    /// SIG-ONLY: signatures.
    #[default]
    SignatureOnly,
    /// KEY-MGMT: signatures over structured data, and deciphering of data.
    KeyManagement,
    /// KM-ONLY: deciphering of keys.
    KeyManagementOnly,
    /// TLS-ONLY, of this system and of RSA alone: signatures over structured data, and premaster
    /// secrets of TLS.
    TlsOnly,
}

impl Usage {
    /// Whether the key may sign.
    pub const fn may_sign(self) -> bool {
        !matches!(self, Self::KeyManagementOnly)
    }

    /// Whether the key may decipher: [data](Self::may_decipher_data),
    /// [keys](Self::may_import_keys), or either, if a role lets one key do both.
    pub const fn may_decipher(self) -> bool {
        matches!(self, Self::KeyManagement | Self::KeyManagementOnly)
    }

    /// Whether the key opens premaster secrets, and nothing else.
    pub const fn may_open_premasters(self) -> bool {
        matches!(self, Self::TlsOnly)
    }

    /// Whether data that the key has deciphered may be shown.
    pub const fn may_decipher_data(self) -> bool {
        matches!(self, Self::KeyManagement)
    }

    /// Whether the key deciphers other keys, so that nothing it deciphers may be shown.
    pub const fn may_import_keys(self) -> bool {
        matches!(self, Self::KeyManagementOnly)
    }

    /// Whether the private key of a curve may agree on keys. Its signatures reveal nothing of
    /// agreed keys, nor these of the signatures.
    pub const fn may_agree(self) -> bool {
        matches!(self, Self::KeyManagement | Self::KeyManagementOnly)
    }

    const fn bits(self) -> u8 {
        match self {
            Self::SignatureOnly => 0x00,
            Self::KeyManagement => 0x80,
            Self::KeyManagementOnly => 0xC0,
            // CCA leaves the third bit 0: other systems refuse such a token.
            Self::TlsOnly => 0xA0,
        }
    }
}

/// The origin of an internal private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// X'21': imported from a clear external token.
    ExternalClear = 0x21,
    /// X'22': imported from a wrapped external token.
    ExternalEncrypted = 0x22,
    /// X'23': generated from regeneration data.
    RegenerationData = 0x23,
    /// X'24': generated at random.
    Random = 0x24,
}

impl Source {
    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x21 => Some(Self::ExternalClear),
            0x22 => Some(Self::ExternalEncrypted),
            0x23 => Some(Self::RegenerationData),
            0x24 => Some(Self::Random),
            _ => None,
        }
    }
}

/// The system that a private key is wrapped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// This system, under a master key, with the origin of the key.
    Internal(Source),
    /// Another system, under a transport key of AES.
    External,
}

impl Destination {
    /// First byte of the token.
    pub(crate) const fn header(self) -> u8 {
        match self {
            Self::Internal(_) => INTERNAL,
            Self::External => EXTERNAL,
        }
    }
}

/// CRT components of a clear private key.
#[derive(Clone, Copy)]
pub struct CrtComponents<'a> {
    /// First prime.
    pub p: &'a [u8],
    /// Second prime.
    pub q: &'a [u8],
    /// `d mod (p - 1)`.
    pub dp: &'a [u8],
    /// `d mod (q - 1)`.
    pub dq: &'a [u8],
    /// `q^-1 mod p`, which the standard calls U.
    pub u: &'a [u8],
}

impl<'a> CrtComponents<'a> {
    pub(crate) fn each(&self) -> [&'a [u8]; 5] {
        [self.p, self.q, self.dp, self.dq, self.u]
    }
}

/// The private values in a private section.
#[derive(Clone, Copy)]
pub enum PrivateValues<'a> {
    /// No value yet: a skeleton to generate a key from.
    Skeleton,
    /// A clear private exponent.
    ClearMe {
        /// The private exponent.
        d: &'a [u8],
    },
    /// Clear CRT components.
    ClearCrt(CrtComponents<'a>),
    /// A private key wrapped under the APKA master key.
    Wrapped(Wrapped<'a>),
    /// A private key under a transport key of DES.
    Transported(Transported<'a>),
    /// A private key wrapped under the ASYM master key.
    Asym(AsymWrapped<'a>),
    /// A private key under a transport key of AES.
    TransportedAes(Wrapped<'a>),
}

/// A private section: attributes of the key, and its private values.
#[derive(Clone, Copy)]
pub struct PrivateSection<'a> {
    /// Form of the section.
    pub form: Form,
    /// The uses of the key.
    pub usage: Usage,
    /// XLATE-OK: the key may be translated to another transport key.
    pub translatable: bool,
    /// The origin of the key; none in an external token.
    pub source: Option<Source>,
    /// The private values.
    pub values: PrivateValues<'a>,
}

/// A token that has passed all checks of its layout.
#[derive(Clone, Copy)]
pub struct PkaToken<'a> {
    bytes: &'a [u8],
    origin: Origin,
    private: Option<PrivateSection<'a>>,
    exponent: &'a [u8],
    modulus: &'a [u8],
    modulus_bits: usize,
    name: Option<&'a [u8; NAME_BYTES]>,
}

impl<'a> PkaToken<'a> {
    /// Reads the token at the beginning of `field`; bytes after its stated length are not read.
    ///
    /// # Errors
    /// [`PkaTokenError`] names the section, the offset in it and the rule that it breaks.
    pub fn parse(field: &'a [u8], hashes: &impl SectionHash) -> Result<Self, PkaTokenError> {
        let (origin, bytes) = header(field)?;
        let mut sections = Sections::new(bytes);
        let mut private = None;
        let mut following_hash = None;
        let mut modulus: &[u8] = &[];
        let mut section = sections.next()?;
        if section.id() != public::PUBLIC_SECTION {
            let read = match section.id() {
                0x02 | 0x08 => clear::read(&section, origin, hashes)?,
                0x30 | 0x31 => aes::read(&section, origin)?,
                _ => return Err(section.problem(0, Problem::NotServed)),
            };
            private = Some(read.section);
            following_hash = Some((section, read.following_hash));
            modulus = read.modulus;
            section = sections.next()?;
        }
        let public = public::read(&section, private.is_some())?;
        let is_skeleton = matches!(private, Some(PrivateSection { values: PrivateValues::Skeleton, .. }));
        if private.is_none() {
            modulus = public.modulus;
        }
        if is_skeleton {
            if !modulus.is_empty() {
                return Err(section.problem(10, Problem::Inconsistent));
            }
        } else if bit_length(modulus) != public.modulus_bits
            || modulus.len() != public.modulus_bits.div_ceil(8)
        {
            return Err(section.problem(8, Problem::Inconsistent));
        }
        let rest = sections.rest();
        if let Some((section, stated)) = following_hash {
            stated.check(&section, rest, hashes)?;
        }
        let name = if rest.is_empty() { None } else { Some(section::read_name(&mut sections)?) };
        if name.is_some() && private.is_none() {
            return Err(PkaTokenError { section: section::NAME_SECTION, offset: 0, problem: Problem::Order });
        }
        sections.finish()?;
        if origin == Origin::Internal && private.is_none() {
            return Err(PkaTokenError {
                section: public::PUBLIC_SECTION,
                offset: 0,
                problem: Problem::Order,
            });
        }
        Ok(Self {
            bytes,
            origin,
            private,
            exponent: public.exponent,
            modulus,
            modulus_bits: public.modulus_bits,
            name,
        })
    }

    /// The bytes of the token, up to its stated length.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The systems for which the token is made.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The token's private section; `None` for a public token.
    pub fn private(&self) -> Option<&PrivateSection<'a>> {
        self.private.as_ref()
    }

    /// The public exponent, without leading zero bytes.
    pub fn exponent(&self) -> &'a [u8] {
        let zeros = self.exponent.iter().take_while(|byte| **byte == 0).count();
        &self.exponent[zeros..]
    }

    /// The modulus, without leading zero bytes; empty in a skeleton.
    pub fn modulus(&self) -> &'a [u8] {
        self.modulus
    }

    /// Length of the modulus in bits; in a skeleton, of the modulus to be generated.
    pub fn modulus_bits(&self) -> usize {
        self.modulus_bits
    }

    /// The private-key name, 64 bytes; none in a token without a name.
    pub fn name(&self) -> Option<&'a [u8; NAME_BYTES]> {
        self.name
    }

    /// The attributes beside the key, for a new token like this one.
    pub fn attributes(&self) -> Attributes {
        match self.private {
            Some(private) => Attributes {
                usage: private.usage,
                translatable: private.translatable,
                name: self.name.copied(),
            },
            None => Attributes::default(),
        }
    }
}

/// Whether the internal token at the beginning of a field has a private section for the ASYM master
/// key: X'08', or an older one.
pub fn is_asym(field: &[u8]) -> bool {
    field.first() == Some(&INTERNAL) && matches!(field.get(HEADER_BYTES), Some(0x02 | 0x05 | 0x06 | 0x08))
}

/// Length in bytes that the header of a PKA token gives; none if the field begins with no such
/// header.
pub fn stated_length(field: &[u8]) -> Option<usize> {
    let header = field.first_chunk::<HEADER_BYTES>()?;
    matches!(header[0], EXTERNAL | INTERNAL).then(|| usize::from(u16::from_be_bytes([header[2], header[3]])))
}

fn header(field: &[u8]) -> Result<(Origin, &[u8]), PkaTokenError> {
    let problem = |offset, problem| PkaTokenError { section: 0, offset, problem };
    let origin = match field.first() {
        Some(&EXTERNAL) => Origin::External,
        Some(&INTERNAL) => Origin::Internal,
        _ => return Err(problem(0, Problem::NotServed)),
    };
    let header = field.first_chunk::<HEADER_BYTES>().ok_or(problem(0, Problem::OutOfArea))?;
    if header[1] != 0 {
        return Err(problem(1, Problem::Version));
    }
    if header[4..] != [0; 4] {
        return Err(problem(4, Problem::Reserved));
    }
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let bytes = field.get(..length).ok_or(problem(2, Problem::OutOfArea))?;
    if !(HEADER_BYTES..=wire::bounds::PKA_TOKEN_BYTES_MAX).contains(&length) {
        return Err(problem(2, Problem::OutOfArea));
    }
    Ok((origin, bytes))
}

pub(crate) fn bit_length(number: &[u8]) -> usize {
    match number.iter().position(|byte| *byte != 0) {
        Some(at) => (number.len() - at) * 8 - number[at].leading_zeros() as usize,
        None => 0,
    }
}
