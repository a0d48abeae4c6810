//! PKA key tokens of elliptic curves, read whole or refused.
//!
//! ```text
//! header 8       as of RSA
//! private X'20'  +1 version, X'00' or X'01' | +4 wrapping: zero clear, X'01' AESKW | +5 hash: zero clear, X'02' SHA-256
//!                | +6 zero (2) | +8 usage | +9 curve type | +10 format | +11 source | +12 bits of p
//!                | +14 length of the associated data of IBM | +16 pattern (8) | +24 object protection key (48)
//!                | +72 length of the associated data aa | +74 length of the private value bb | +76 associated data
//!                | +76+aa private value, clear or wrapped; none in a skeleton
//! associated     +0 zero | +1 length of the label kl | +2 16+kl | +4 zero (2) | +6 length of the user's data yyy
//! data           | +7 curve type | +8 bits of p | +10 usage | +11 format | +12 version of the section | +13 zero (3)
//!                | +16 label | +16+kl the user's data
//! public X'21'   +4 zero (4) | +8 curve type | +9 zero | +10 bits of p | +12 length of Q | +14 Q; none in a skeleton
//! derivation     X'23', optional: +4 algorithm | +5 key type | +6 bits
//! ```
//!
//! Q is an uncompressed point (SEC 1, 2.3.3), for Ed25519 the public key of RFC 8032. The private
//! value is the scalar, as long as p; for Ed25519, the 32 bytes that RFC 8032 calls the private
//! key.
//!
//! A view ([`EccToken`]) checks no more of the key than [`PkaToken`](super::PkaToken) does: a
//! public key is a claim. Source: *z/OS ICSF Application Programmer's Guide*, "ECC key token
//! format". Values that it leaves open are in [`unconfirmed`](super::unconfirmed).

mod build;
mod key_values;

pub use build::{EccWrappedBuilder, clear_token, public_token, skeleton_token};
pub use key_values::EccKeyValues;

use super::clear::read_usage;
use super::error::{PkaTokenError, Problem};
use super::section::{ECC_PRIVATE_SECTION, Section, Sections, halfword, start};
use super::unconfirmed::{EXPORTER_TYPE, IMPORTER_TYPE, OPK_FIELD_BYTES, wrapped_payload_bytes};
use super::{Attributes, HEADER_BYTES, NAME_BYTES, Origin, Source, Usage};

const PUBLIC_SECTION: u8 = 0x21;
const DERIVATION_SECTION: u8 = 0x23;
const DERIVATION_SECTION_BYTES: usize = 8;
const SOURCE: usize = 11;
const OPK: usize = 24;
const PATTERN: usize = 16;
const ASSOCIATED: usize = 76;
const ASSOCIATED_BYTES_MIN: usize = 16;
const POINT: usize = 14;
const WRAPPING_AESKW: u8 = 0x01;
const HASH_SHA256: u8 = 0x02;
const FORMAT_CLEAR: u8 = 0x40;
const FORMAT_INTERNAL: u8 = 0x08;
const FORMAT_TRANSPORTED: u8 = 0x42;
/// First byte of an uncompressed point.
const UNCOMPRESSED: u8 = 0x04;

/// Greatest length of user data that a token binds its private key to, in bytes.
pub const USER_DATA_BYTES_MAX: usize = 100;
/// Length of the key derivation data of PKA_Key_Token_Build in bytes.
pub const DERIVATION_BYTES: usize = 4;

/// A curve whose keys are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EccCurve {
    /// NIST P-224.
    P224,
    /// NIST P-256.
    P256,
    /// NIST P-384.
    P384,
    /// NIST P-521.
    P521,
    /// brainpoolP256r1.
    BrainpoolP256r1,
    /// brainpoolP384r1.
    BrainpoolP384r1,
    /// Ed25519.
    Ed25519,
    /// secp256k1.
    Secp256k1,
}

impl EccCurve {
    /// Every curve.
    pub const ALL: [Self; 8] = [
        Self::P224,
        Self::P256,
        Self::P384,
        Self::P521,
        Self::BrainpoolP256r1,
        Self::BrainpoolP384r1,
        Self::Ed25519,
        Self::Secp256k1,
    ];

    /// Curve type in tokens and key-values structures: X'00' prime, X'01' Brainpool, X'02' Edwards, X'03' Koblitz.
    pub const fn kind(self) -> u8 {
        match self {
            Self::P224 | Self::P256 | Self::P384 | Self::P521 => 0x00,
            Self::BrainpoolP256r1 | Self::BrainpoolP384r1 => 0x01,
            Self::Ed25519 => 0x02,
            Self::Secp256k1 => 0x03,
        }
    }

    /// Length of the prime p in bits.
    pub const fn bits(self) -> usize {
        match self {
            Self::P224 => 224,
            Self::P256 | Self::BrainpoolP256r1 | Self::Secp256k1 => 256,
            Self::P384 | Self::BrainpoolP384r1 => 384,
            Self::P521 => 521,
            Self::Ed25519 => 255,
        }
    }

    /// Length of the private value, of a coordinate and of half a signature in bytes.
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Length of a public key in bytes.
    pub const fn point_bytes(self) -> usize {
        match self {
            Self::Ed25519 => self.bytes(),
            _ => 1 + 2 * self.bytes(),
        }
    }

    /// Name of the curve in standards.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P224 => "P-224",
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
            Self::BrainpoolP256r1 => "brainpoolP256r1",
            Self::BrainpoolP384r1 => "brainpoolP384r1",
            Self::Ed25519 => "Ed25519",
            Self::Secp256k1 => "secp256k1",
        }
    }

    /// The curve with this type and length.
    ///
    /// # Errors
    /// [`Problem::Curve`] for a curve that CCA has and this system does not serve,
    /// [`Problem::Value`] for any other.
    pub fn of(kind: u8, bits: usize) -> Result<Self, Problem> {
        let named = |curve: &Self| (curve.kind(), curve.bits()) == (kind, bits);
        match (Self::ALL.into_iter().find(named), kind, bits) {
            (Some(curve), _, _) => Ok(curve),
            (None, 0x00, 192) | (None, 0x01, 160 | 192 | 224 | 320 | 512) | (None, 0x02, 448) => {
                Err(Problem::Curve)
            }
            _ => Err(Problem::Value),
        }
    }

    /// Whether bytes have the form of a public key; whether they are a point of the curve is not
    /// checked.
    fn has_form(self, point: &[u8]) -> bool {
        point.len() == self.point_bytes() && (self == Self::Ed25519 || point[0] == UNCOMPRESSED)
    }
}

/// The keys that EC_Diffie-Hellman may derive with a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Derivation {
    /// Algorithm of the derived key.
    pub algorithm: DerivedAlgorithm,
    /// Type of the derived key.
    pub key_type: DerivedType,
    /// Length of the derived key in bits: 64, 128 or 192 for DES; 128, 192 or 256 for AES.
    pub bits: u16,
}

/// Algorithm of a derived key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DerivedAlgorithm {
    /// X'01': DES.
    Des = 0x01,
    /// X'02': AES.
    Aes = 0x02,
}

/// Type of a derived key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DerivedType {
    /// X'01': DATA.
    Data = 0x01,
    /// X'02': EXPORTER.
    Exporter = EXPORTER_TYPE,
    /// X'03': IMPORTER.
    Importer = IMPORTER_TYPE,
    /// X'04': CIPHER.
    Cipher = 0x04,
}

impl Derivation {
    /// Reads the key derivation data of PKA_Key_Token_Build, which X'23' also holds; none for
    /// values without a meaning.
    pub fn from_bytes(bytes: [u8; DERIVATION_BYTES]) -> Option<Self> {
        let [algorithm, key_type, high, low] = bytes;
        let algorithm = match algorithm {
            0x01 => DerivedAlgorithm::Des,
            0x02 => DerivedAlgorithm::Aes,
            _ => return None,
        };
        let key_type = match key_type {
            0x01 => DerivedType::Data,
            EXPORTER_TYPE => DerivedType::Exporter,
            IMPORTER_TYPE => DerivedType::Importer,
            0x04 => DerivedType::Cipher,
            _ => return None,
        };
        let bits = u16::from_be_bytes([high, low]);
        let lengths = match algorithm {
            DerivedAlgorithm::Des => [64, 128, 192],
            DerivedAlgorithm::Aes => [128, 192, 256],
        };
        lengths.contains(&bits).then_some(Self { algorithm, key_type, bits })
    }

    /// The key derivation data, as PKA_Key_Token_Build takes them.
    pub fn to_bytes(self) -> [u8; DERIVATION_BYTES] {
        let [high, low] = self.bits.to_be_bytes();
        [self.algorithm as u8, self.key_type as u8, high, low]
    }
}

/// The attributes of a private token beside its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EccAttributes {
    /// Usage, translation and label.
    pub common: Attributes,
    /// ECC-VER1: the private section is of version X'01'.
    pub is_version_1: bool,
    /// User data that the private key is bound to, at most [`USER_DATA_BYTES_MAX`] bytes.
    pub user_data: Vec<u8>,
    /// The keys that may be derived with the private key; in version X'01' only.
    pub derivation: Option<Derivation>,
}

/// A wrapped private key, as it stands in a token.
#[derive(Clone, Copy)]
pub struct EccWrapped<'a> {
    /// Verification pattern of the APKA master key, or in an external token of the transport key.
    pub pattern: &'a [u8; 8],
    /// The object protection key, wrapped under that master key; zero in an external token.
    pub opk: &'a [u8; OPK_FIELD_BYTES],
    /// The private value, wrapped under the object protection key; in an external token, under the
    /// transport key itself.
    pub payload: &'a [u8],
    /// The data that the hash in the payload covers, one after the other: the associated data, the
    /// source, and everything after the private section.
    pub hashed: [&'a [u8]; 3],
}

/// The private value in a private section.
#[derive(Clone, Copy)]
pub enum EccValue<'a> {
    /// No value yet: a skeleton to generate a key from.
    Skeleton,
    /// A clear private value.
    Clear(&'a [u8]),
    /// A private value wrapped under the APKA master key.
    Wrapped(EccWrapped<'a>),
    /// A private value wrapped under a transport key of AES.
    Transported(EccWrapped<'a>),
}

/// A private section: attributes of the key, and its private value.
#[derive(Clone, Copy)]
pub struct EccPrivate<'a> {
    /// Whether the section is of version X'01'.
    pub is_version_1: bool,
    /// The uses of the key.
    pub usage: Usage,
    /// XLATE-OK: the key may be translated to another transport key.
    pub translatable: bool,
    /// The origin of the key; under a transport key none, or that it was generated at random.
    pub source: Option<Source>,
    /// The label of the key; none in a section without a label.
    pub name: Option<&'a [u8; NAME_BYTES]>,
    /// User data that the private key is bound to.
    pub user_data: &'a [u8],
    /// The private value, clear or wrapped, or none.
    pub value: EccValue<'a>,
    curve: EccCurve,
}

/// A token that has passed all checks of its layout.
#[derive(Clone, Copy)]
pub struct EccToken<'a> {
    bytes: &'a [u8],
    origin: Origin,
    curve: EccCurve,
    private: Option<EccPrivate<'a>>,
    point: &'a [u8],
    derivation: Option<Derivation>,
}

/// Whether a field begins with a PKA token of an elliptic curve, by its first section.
pub fn is_ecc(field: &[u8]) -> bool {
    super::stated_length(field).is_some()
        && matches!(field.get(HEADER_BYTES), Some(&(ECC_PRIVATE_SECTION | PUBLIC_SECTION)))
}

impl<'a> EccToken<'a> {
    /// Reads the token at the beginning of `field`; bytes after its stated length are not read.
    ///
    /// # Errors
    /// [`PkaTokenError`] names the section, the offset in it and the rule that it breaks.
    pub fn parse(field: &'a [u8]) -> Result<Self, PkaTokenError> {
        let (origin, bytes) = super::header(field)?;
        let mut sections = Sections::new(bytes);
        let mut section = sections.next()?;
        let mut private = None;
        if section.id() == ECC_PRIVATE_SECTION {
            private = Some(read_private(&section, origin, sections.rest())?);
            section = sections.next()?;
        }
        let (curve, point) = read_public(&section)?;
        match &private {
            Some(private) if private.curve != curve => return Err(section.problem(8, Problem::Inconsistent)),
            None if origin == Origin::Internal => return Err(section.problem(0, Problem::Order)),
            _ => {}
        }
        let is_skeleton = private.is_some_and(|private| matches!(private.value, EccValue::Skeleton));
        if is_skeleton != point.is_empty() {
            return Err(section.problem(12, Problem::Inconsistent));
        }
        let mut derivation = None;
        if !sections.rest().is_empty() {
            let section = sections.next()?;
            if section.id() != DERIVATION_SECTION || !private.is_some_and(|private| private.is_version_1) {
                return Err(section.problem(0, Problem::Order));
            }
            derivation = Some(read_derivation(&section)?);
        }
        sections.finish()?;
        Ok(Self { bytes, origin, curve, private, point, derivation })
    }

    /// The bytes of the token, up to its stated length.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The systems for which the token is made.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Curve of the token's key.
    pub fn curve(&self) -> EccCurve {
        self.curve
    }

    /// The token's private section; `None` for a public token.
    pub fn private(&self) -> Option<&EccPrivate<'a>> {
        self.private.as_ref()
    }

    /// The public key; empty in a skeleton.
    pub fn point(&self) -> &'a [u8] {
        self.point
    }

    /// The keys that EC_Diffie-Hellman may derive with the private key.
    pub fn derivation(&self) -> Option<Derivation> {
        self.derivation
    }

    /// The attributes beside the key, for a new token like this one.
    pub fn attributes(&self) -> EccAttributes {
        let Some(private) = &self.private else { return EccAttributes::default() };
        EccAttributes {
            common: Attributes {
                usage: private.usage,
                translatable: private.translatable,
                name: private.name.copied(),
            },
            is_version_1: private.is_version_1,
            user_data: private.user_data.to_vec(),
            derivation: self.derivation,
        }
    }
}

fn read_curve(section: &Section<'_>, kind_at: usize, bits_at: usize) -> Result<EccCurve, PkaTokenError> {
    EccCurve::of(section.byte(kind_at)?, section.halfword(bits_at)?)
        .map_err(|problem| section.problem(kind_at, problem))
}

fn read_private<'a>(
    section: &Section<'a>,
    origin: Origin,
    following: &'a [u8],
) -> Result<EccPrivate<'a>, PkaTokenError> {
    let is_internal = origin == Origin::Internal;
    let is_wrapped = match (is_internal, section.byte(10)?) {
        (true, FORMAT_INTERNAL) | (false, FORMAT_TRANSPORTED) => true,
        (false, FORMAT_CLEAR) => false,
        _ => return Err(section.problem(10, Problem::NotServed)),
    };
    let method = if is_wrapped { [WRAPPING_AESKW, HASH_SHA256] } else { [0, 0] };
    if *section.array::<2>(4)? != method {
        return Err(section.problem(4, Problem::Value));
    }
    section.reserved(6, 2)?;
    let (usage, translatable) = read_usage(section, 8)?;
    if usage.may_open_premasters() {
        return Err(section.problem(8, Problem::Value));
    }
    let curve = read_curve(section, 9, 12)?;
    let source = match (is_wrapped, section.byte(SOURCE)?) {
        (true, 0) if !is_internal => None,
        (true, byte) => match Source::from_byte(byte) {
            None => return Err(section.problem(SOURCE, Problem::Value)),
            Some(source) if !is_internal && source != Source::Random => {
                return Err(section.problem(SOURCE, Problem::Value));
            }
            source => source,
        },
        (false, _) => section.reserved(SOURCE, 1).map(|()| None)?,
    };
    let associated = read_associated(section)?;
    let value_bytes = section.halfword(74)?;
    let value_at = ASSOCIATED + associated.bytes.len();
    let value = section.range(value_at, value_bytes)?;
    if value_at + value_bytes != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    let value = if is_wrapped {
        if value_bytes != wrapped_payload_bytes(curve.bytes()) {
            return Err(section.problem(74, Problem::Inconsistent));
        }
        let hashed = [associated.bytes, section.range(SOURCE, 1)?, following];
        let (pattern, opk) = (section.array(PATTERN)?, section.array(OPK)?);
        let wrapped = EccWrapped { pattern, opk, payload: value, hashed };
        if is_internal {
            EccValue::Wrapped(wrapped)
        } else {
            section.reserved(OPK, OPK_FIELD_BYTES)?;
            EccValue::Transported(wrapped)
        }
    } else {
        section.reserved(PATTERN, 72 - PATTERN)?;
        match value_bytes {
            0 => EccValue::Skeleton,
            bytes if bytes == curve.bytes() => EccValue::Clear(value),
            _ => return Err(section.problem(74, Problem::Inconsistent)),
        }
    };
    Ok(EccPrivate {
        is_version_1: section.version() != 0,
        usage,
        translatable,
        source,
        name: associated.name,
        user_data: associated.user_data,
        value,
        curve,
    })
}

struct Associated<'a> {
    bytes: &'a [u8],
    name: Option<&'a [u8; NAME_BYTES]>,
    user_data: &'a [u8],
}

/// Reads the associated data, which must repeat the section's fields.
fn read_associated<'a>(section: &Section<'a>) -> Result<Associated<'a>, PkaTokenError> {
    let wrong = |at, problem| Err(section.problem(ASSOCIATED + at, problem));
    let byte = |at| section.byte(ASSOCIATED + at);
    if byte(0)? != 0 {
        return wrong(0, Problem::Version);
    }
    let (name_bytes, user_bytes) = (usize::from(byte(1)?), usize::from(byte(6)?));
    if !matches!(name_bytes, 0 | NAME_BYTES) {
        return wrong(1, Problem::Value);
    }
    if user_bytes > USER_DATA_BYTES_MAX {
        return wrong(6, Problem::Value);
    }
    let own_bytes = ASSOCIATED_BYTES_MIN + name_bytes;
    if section.halfword(ASSOCIATED + 2)? != own_bytes || section.halfword(14)? != own_bytes {
        return wrong(2, Problem::Inconsistent);
    }
    section.reserved(ASSOCIATED + 4, 2)?;
    section.reserved(ASSOCIATED + 13, 3)?;
    if section.halfword(72)? != own_bytes + user_bytes {
        return Err(section.problem(72, Problem::Inconsistent));
    }
    let bytes = section.range(ASSOCIATED, own_bytes + user_bytes)?;
    let repeated = [
        (7, section.byte(9)?),
        (8, section.byte(12)?),
        (9, section.byte(13)?),
        (10, section.byte(8)?),
        (11, section.byte(10)?),
        (12, section.version()),
    ];
    for (at, expected) in repeated {
        if bytes[at] != expected {
            return wrong(at, Problem::Inconsistent);
        }
    }
    let name = match name_bytes {
        0 => None,
        _ => Some(section.array(ASSOCIATED + ASSOCIATED_BYTES_MIN)?),
    };
    Ok(Associated { bytes, name, user_data: &bytes[own_bytes..] })
}

fn read_public<'a>(section: &Section<'a>) -> Result<(EccCurve, &'a [u8]), PkaTokenError> {
    if section.id() != PUBLIC_SECTION {
        return Err(section.problem(0, Problem::Order));
    }
    section.reserved(4, 4)?;
    let curve = read_curve(section, 8, 10)?;
    section.reserved(9, 1)?;
    let point = section.range(POINT, section.halfword(12)?)?;
    if POINT + point.len() != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    if !point.is_empty() && !curve.has_form(point) {
        return Err(section.problem(POINT, Problem::Value));
    }
    Ok((curve, point))
}

fn read_derivation(section: &Section<'_>) -> Result<Derivation, PkaTokenError> {
    if section.len() != DERIVATION_SECTION_BYTES {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    Derivation::from_bytes(*section.array(4)?).ok_or(section.problem(4, Problem::Value))
}

fn write_public(curve: EccCurve, point: &[u8]) -> Vec<u8> {
    let mut bytes = start(PUBLIC_SECTION, POINT + point.len());
    bytes[8] = curve.kind();
    bytes[10..12].copy_from_slice(&halfword(curve.bits()));
    bytes[12..14].copy_from_slice(&halfword(point.len()));
    bytes[POINT..].copy_from_slice(point);
    bytes
}

fn write_derivation(derivation: Derivation) -> Vec<u8> {
    let mut bytes = start(DERIVATION_SECTION, DERIVATION_SECTION_BYTES);
    bytes[4..].copy_from_slice(&derivation.to_bytes());
    bytes
}
