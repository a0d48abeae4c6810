//! Variable-length symmetric tokens, version X'05'.
//!
//! Sources: z/OS ICSF Application Programmer's Guide, "Variable-length symmetric key token"; Linux
//! on Z CCA, "Variable-length symmetric key tokens". Numbers are big-endian.
//!
//! ```text
//!  0 X'01' internal, X'02' external  1 zero  2 length of all (2)  4 X'05'  5 zero (3)
//!  8 state: X'00' no key, X'01' clear, X'02' under a transport key, X'03' under the master key
//!  9 pattern: X'00' none, X'01' of the AES master key, X'02' of the transport key
//! 10 pattern, left-justified (16)  26 method: X'00' none, X'02' AESKW, X'03' PKOAEP2
//! 27 hash: X'00' none, X'01' SHA-1, X'02' SHA-256, X'04' SHA-384, X'08' SHA-512
//! 28 payload: X'00' as long as its key needs, X'01' of 80 bytes  29 zero
//! 30 associated data: X'01'  31 zero  32 their length (2)  34 of the name: 0 or 64  35 of extended data: 0
//! 36 of the owner's data  37 zero  38 bits of the payload (2)  40 zero  41 algorithm  42 type (2)
//! 44 number of usage fields u  45 usage fields (2u)  45+2u number of management fields: 3
//! 46+2u management fields (6)  then the name, the owner's data, and the payload
//! ```
//! The meaning of the fields depends on the [`VariableType`]. The payload of a clear key is the
//! key. The payload of a key wrapped by AESKW is 12 bytes of header, 32 of hash, the key, and zeros
//! to a multiple of 8, or to 80 at a fixed length. By PKOAEP2 the payload is as long as the
//! modulus. Only AES keys have payloads of a fixed length, which hide the length of the key; types
//! that were defined with such payloads have no others.
//!
//! A writer returns byte for byte what the reader accepted, and a field with an undefined value is
//! refused: see [`VariableToken::parse`].

mod attributes;
mod derivation;
mod keywords;
mod transport;
mod types;
mod uses;

pub use attributes::{Attributes, AttributesError, Completeness, NAME_BYTES, Pedigree, USER_DATA_BYTES_MAX};
pub use keywords::Keywords;
pub use transport::{Carrier, PrivateAlgorithm};
pub use types::VariableType;
pub use uses::{CipherMode, HmacHash, PinField, VariableUse};

use crate::TokenError;
use crate::des::Origin;
use crate::holds::{DescribeError, Holds, Under};
use crate::pattern::PATTERN_BYTES;
use crate::pka::unconfirmed::{AESKW_HASH_BYTES, AESKW_HEADER_BYTES};
use attributes::MANAGEMENT_FIELDS;
use wire::control::Register;
use zeroize::Zeroizing;

/// Length of the longest token that is made here, in bytes.
pub const VARIABLE_TOKEN_BYTES_MAX: usize = 725;

/// A variable-length token.
#[derive(Clone, PartialEq, Eq)]
pub struct VariableToken {
    origin: Origin,
    payload: PayloadVersion,
    attributes: Attributes,
    key: VariableKey,
}

/// The version of a payload, which decides the length of a wrapped key's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PayloadVersion {
    /// The payload is as long as its key needs.
    Variable = 0x00,
    /// The payload has 80 bytes, whatever the length of its key.
    Fixed = 0x01,
}

/// The key in a token, and how it is held.
#[derive(Clone, PartialEq, Eq)]
pub enum VariableKey {
    /// No key: a skeleton.
    Absent,
    /// The clear key itself.
    Clear(Zeroizing<Vec<u8>>),
    /// The key, wrapped under another key.
    Wrapped {
        /// The wrapping key and method.
        under: Wrapper,
        /// The wrapped key.
        payload: Vec<u8>,
    },
}

/// The kind of key that wraps the key of a token, and the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// The AES master key of this pattern, by AESKW.
    Master([u8; PATTERN_BYTES]),
    /// A transport key with this pattern, by AESKW.
    Key([u8; WRAPPER_PATTERN_BYTES]),
    /// An RSA key, by PKOAEP2 with the hash of this number.
    Rsa(u8),
}

/// Length of the pattern field in bytes.
pub const WRAPPER_PATTERN_BYTES: usize = 16;

/// Does not show a clear key.
impl std::fmt::Debug for VariableToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.key {
            VariableKey::Absent => "absent",
            VariableKey::Clear(_) => "clear",
            VariableKey::Wrapped { .. } => "wrapped",
        };
        f.debug_struct("VariableToken")
            .field("origin", &self.origin)
            .field("payload", &self.payload)
            .field("attributes", &self.attributes)
            .field("key", &state)
            .finish()
    }
}

impl VariableToken {
    /// A token without a key.
    ///
    /// # Errors
    /// [`TokenError::Field`] if keys of the type have no payload of this version.
    pub fn skeleton(
        origin: Origin,
        payload: PayloadVersion,
        attributes: Attributes,
    ) -> Result<Self, TokenError> {
        let row = attributes.key_type.row();
        let is_made = match payload {
            PayloadVersion::Variable => row.has_version_0,
            PayloadVersion::Fixed => attributes.key_type.is_aes(),
        };
        if !is_made {
            return Err(TokenError::Field(PAYLOAD_VERSION_AT));
        }
        Ok(Self { origin, payload, attributes, key: VariableKey::Absent })
    }

    /// The version of the payload for keys of a type if the caller asks for none.
    pub fn default_payload(key_type: VariableType) -> PayloadVersion {
        if key_type.row().has_version_0 { PayloadVersion::Variable } else { PayloadVersion::Fixed }
    }

    /// The same token with this clear key.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`]; [`TokenError::Field`] for a type whose keys may not be clear, and
    /// for a payload of a fixed length.
    pub fn with_clear_key(&self, key: &[u8]) -> Result<Self, TokenError> {
        let key_type = self.attributes.key_type;
        if !key_type.has_length(key.len()) {
            return Err(TokenError::KeyLength(key.len()));
        }
        if !key_type.may_be_clear() || self.payload != PayloadVersion::Variable {
            return Err(TokenError::Field(STATE_AT));
        }
        Ok(Self { key: VariableKey::Clear(Zeroizing::new(key.to_vec())), ..self.without_key() })
    }

    /// The same token with this wrapped key. An internal token holds keys under master keys, an
    /// external token keys under other keys.
    ///
    /// # Errors
    /// [`TokenError::Field`] if origin and wrapping contradict each other, or no key of the type
    /// has such a payload length.
    pub fn with_payload(&self, under: Wrapper, payload: Vec<u8>) -> Result<Self, TokenError> {
        let is_master = matches!(under, Wrapper::Master(_));
        if is_master != (self.origin == Origin::Internal) {
            return Err(TokenError::Field(STATE_AT));
        }
        self.check_payload(under, payload.len() * 8)?;
        Ok(Self { key: VariableKey::Wrapped { under, payload }, ..self.without_key() })
    }

    /// The same token without its key.
    pub fn without_key(&self) -> Self {
        Self {
            origin: self.origin,
            payload: self.payload,
            attributes: self.attributes.clone(),
            key: VariableKey::Absent,
        }
    }

    /// The same token without its key, with these attributes.
    ///
    /// # Errors
    /// As [`VariableToken::skeleton`].
    pub fn with_attributes(&self, attributes: Attributes) -> Result<Self, TokenError> {
        Self::skeleton(self.origin, self.payload, attributes)
    }

    /// The same token without its key, for this system or another.
    pub fn moved_to(&self, origin: Origin) -> Self {
        Self { origin, ..self.without_key() }
    }

    /// Whether the token is for this system or another.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Version of the payload.
    pub fn payload_version(&self) -> PayloadVersion {
        self.payload
    }

    /// Attributes of the key, which are bound to it.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Type of the key.
    pub fn key_type(&self) -> VariableType {
        self.attributes.key_type
    }

    /// The key in the token.
    pub fn key(&self) -> &VariableKey {
        &self.key
    }

    /// The bytes of the wrapping information: state of the key, kind of pattern, method, hash.
    pub fn wrapping_numbers(&self) -> [u8; 4] {
        let head = self.head();
        [head[STATE_AT], head[9], head[METHOD_AT], head[27]]
    }

    /// Length in bytes of the AESKW payload for a key of this length.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] for a length that keys of the type do not have.
    pub fn wrapped_bytes(&self, key_bytes: usize) -> Result<usize, TokenError> {
        if !self.attributes.key_type.has_length(key_bytes) {
            return Err(TokenError::KeyLength(key_bytes));
        }
        Ok(match self.payload {
            PayloadVersion::Variable => least_wrapped_bytes(key_bytes),
            PayloadVersion::Fixed => FIXED_PAYLOAD_BYTES,
        })
    }

    /// Everything before the payload, as it stands in the token: header, wrapping information and
    /// associated data. The associated data begin at [`ASSOCIATED_AT`].
    pub fn head(&self) -> Vec<u8> {
        let Attributes { key_type, usage, management, name, user_data } = &self.attributes;
        let payload_bits = 8 * self.payload_bytes();
        let associated_bytes = ASSOCIATED_BYTES_MIN
            + 2 * (usage.len() + MANAGEMENT_FIELDS)
            + name.map_or(0, |name| name.len())
            + user_data.len();
        let length = ASSOCIATED_AT + associated_bytes + self.payload_bytes();
        let mut head = vec![0; HEAD_BYTES];
        head[0] = if self.origin == Origin::Internal { INTERNAL } else { EXTERNAL };
        head[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        head[4] = VERSION;
        head[PAYLOAD_VERSION_AT] = self.payload as u8;
        match &self.key {
            VariableKey::Absent => {}
            VariableKey::Clear(_) => head[STATE_AT] = STATE_CLEAR,
            VariableKey::Wrapped { under: Wrapper::Master(pattern), .. } => {
                (head[STATE_AT], head[9]) = (STATE_MASTER, PATTERN_OF_MASTER);
                head[PATTERN_AT..][..PATTERN_BYTES].copy_from_slice(pattern);
                (head[METHOD_AT], head[27]) = (METHOD_AESKW, HASH_SHA_256);
            }
            VariableKey::Wrapped { under: Wrapper::Key(pattern), .. } => {
                (head[STATE_AT], head[9]) = (STATE_KEY, PATTERN_OF_KEY);
                head[PATTERN_AT..][..WRAPPER_PATTERN_BYTES].copy_from_slice(pattern);
                (head[METHOD_AT], head[27]) = (METHOD_AESKW, HASH_SHA_256);
            }
            VariableKey::Wrapped { under: Wrapper::Rsa(hash), .. } => {
                head[STATE_AT] = STATE_KEY;
                (head[METHOD_AT], head[27]) = (METHOD_PKOAEP2, *hash);
            }
        }
        head[ASSOCIATED_AT] = ASSOCIATED_VERSION;
        head[32..34].copy_from_slice(&(associated_bytes as u16).to_be_bytes());
        head[NAME_LENGTH_AT] = name.map_or(0, |name| name.len() as u8);
        head[USER_DATA_LENGTH_AT] = user_data.len() as u8;
        head[38..40].copy_from_slice(&(payload_bits as u16).to_be_bytes());
        head[ALGORITHM_AT] = key_type.row().algorithm;
        head[42..44].copy_from_slice(&key_type.row().number.to_be_bytes());
        head[USAGE_COUNT_AT] = usage.len() as u8;
        head.truncate(USAGE_COUNT_AT + 1);
        head.extend(usage.iter().flat_map(|field| field.to_be_bytes()));
        head.push(MANAGEMENT_FIELDS as u8);
        head.extend(management.iter().flat_map(|field| field.to_be_bytes()));
        head.extend(name.iter().flatten());
        head.extend(user_data);
        head
    }

    /// Writes the token. The result holds the key of a clear token.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let head = self.head();
        let mut bytes = Zeroizing::new(Vec::with_capacity(head.len() + self.payload_bytes()));
        bytes.extend_from_slice(&head);
        match &self.key {
            VariableKey::Absent => {}
            VariableKey::Clear(key) => bytes.extend_from_slice(key),
            VariableKey::Wrapped { payload, .. } => bytes.extend_from_slice(payload),
        }
        bytes
    }

    fn payload_bytes(&self) -> usize {
        match &self.key {
            VariableKey::Absent => 0,
            VariableKey::Clear(key) => key.len(),
            VariableKey::Wrapped { payload, .. } => payload.len(),
        }
    }

    /// Reads the token at the beginning of a field, which may be longer.
    ///
    /// # Errors
    /// [`TokenError`]: every field must have a value that is defined for the type, every reserved byte be zero, every
    /// length fit the others.
    pub fn parse(field: &[u8]) -> Result<Self, TokenError> {
        let header: &[u8; HEAD_BYTES] =
            field.first_chunk().ok_or(TokenError::Length { given: field.len(), needed: HEAD_BYTES })?;
        let origin = match header[0] {
            INTERNAL => Origin::Internal,
            EXTERNAL => Origin::External,
            other => return Err(TokenError::Kind(other)),
        };
        if header[4] != VERSION {
            return Err(TokenError::Version(header[4]));
        }
        for at in [1, 5, 6, 7, 29, 31, EXTENDED_LENGTH_AT, 37, 40] {
            expect(header[at] == 0, at)?;
        }
        expect(header[ASSOCIATED_AT] == ASSOCIATED_VERSION, ASSOCIATED_AT)?;
        let pair = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
        let (length, associated_bytes, payload_bits) = (pair(2), pair(32), pair(38));
        let token = field.get(..length).ok_or(TokenError::Length { given: field.len(), needed: length })?;
        let key_type = VariableType::of_bytes(header[ALGORITHM_AT], pair(42) as u16);
        let key_type = key_type.ok_or(TokenError::Field(ALGORITHM_AT))?;
        let name_bytes = usize::from(header[NAME_LENGTH_AT]);
        expect(matches!(name_bytes, 0 | NAME_BYTES), NAME_LENGTH_AT)?;
        let user_bytes = usize::from(header[USER_DATA_LENGTH_AT]);
        let usage_fields = usize::from(header[USAGE_COUNT_AT]);
        let fields = 2 * (usage_fields + MANAGEMENT_FIELDS);
        expect(associated_bytes == ASSOCIATED_BYTES_MIN + fields + name_bytes + user_bytes, 32)?;
        let payload_at = ASSOCIATED_AT + associated_bytes;
        expect(length == payload_at + payload_bits.div_ceil(8), 2)?;

        let management_at = USAGE_COUNT_AT + 1 + 2 * usage_fields;
        expect(usize::from(token[management_at]) == MANAGEMENT_FIELDS, management_at)?;
        let words = |bytes: &[u8]| -> Vec<u16> {
            bytes.as_chunks().0.iter().map(|field| u16::from_be_bytes(*field)).collect()
        };
        let usage = words(&token[USAGE_COUNT_AT + 1..management_at]);
        let name_at = management_at + 1 + 2 * MANAGEMENT_FIELDS;
        let mut management = [0; MANAGEMENT_FIELDS];
        management.copy_from_slice(&words(&token[management_at + 1..name_at]));
        let (name, user_data) = token[name_at..payload_at].split_at(name_bytes);
        let attributes = Attributes {
            key_type,
            usage,
            management,
            name: name.first_chunk().copied(),
            user_data: user_data.to_vec(),
        };
        attributes.check()?;
        let version = match header[PAYLOAD_VERSION_AT] {
            0x00 => PayloadVersion::Variable,
            0x01 => PayloadVersion::Fixed,
            _ => return Err(TokenError::Field(PAYLOAD_VERSION_AT)),
        };
        let skeleton = Self::skeleton(origin, version, attributes)?;
        skeleton.with_read_key(header, &token[payload_at..], payload_bits)
    }

    /// The same token with the key in a token's wrapping information and payload.
    fn with_read_key(
        self,
        header: &[u8; HEAD_BYTES],
        payload: &[u8],
        payload_bits: usize,
    ) -> Result<Self, TokenError> {
        let pattern: &[u8; WRAPPER_PATTERN_BYTES] =
            header[PATTERN_AT..].first_chunk().ok_or(TokenError::Field(PATTERN_AT))?;
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        expect(payload_bits.is_multiple_of(8), 38)?;
        let (state, kind, method, hash) = (header[STATE_AT], header[9], header[METHOD_AT], header[27]);
        let under = match (self.origin, state, kind, method) {
            (_, STATE_NONE | STATE_CLEAR, PATTERN_NONE, METHOD_NONE) => {
                expect(hash == HASH_NONE, 27)?;
                expect(is_zero(pattern), PATTERN_AT)?;
                if state == STATE_CLEAR {
                    return self.with_clear_key(payload);
                }
                expect(payload_bits == 0, 38)?;
                return Ok(self);
            }
            (Origin::Internal, STATE_MASTER, PATTERN_OF_MASTER, METHOD_AESKW) => {
                expect(hash == HASH_SHA_256, 27)?;
                let (own, rest) = pattern.split_at(PATTERN_BYTES);
                expect(is_zero(rest), PATTERN_AT + PATTERN_BYTES)?;
                Wrapper::Master(own.try_into().map_err(|_| TokenError::Field(PATTERN_AT))?)
            }
            (Origin::External, STATE_KEY, PATTERN_OF_KEY, METHOD_AESKW) => {
                expect(hash == HASH_SHA_256, 27)?;
                Wrapper::Key(*pattern)
            }
            (Origin::External, STATE_KEY, PATTERN_NONE, METHOD_PKOAEP2) => {
                expect(is_zero(pattern), PATTERN_AT)?;
                expect(matches!(hash, 0x01 | HASH_SHA_256 | 0x04 | 0x08), 27)?;
                Wrapper::Rsa(hash)
            }
            _ => return Err(TokenError::Field(STATE_AT)),
        };
        self.with_payload(under, payload.to_vec())
    }

    /// Refuses a payload length that no key of the type has.
    fn check_payload(&self, under: Wrapper, bits: usize) -> Result<(), TokenError> {
        let key_type = self.attributes.key_type;
        let bytes = bits / 8;
        let is_made = match (under, self.payload) {
            (Wrapper::Rsa(_), _) => (64..=1024).contains(&bytes),
            (_, PayloadVersion::Fixed) => bytes == FIXED_PAYLOAD_BYTES,
            (_, PayloadVersion::Variable) => {
                // A key whose length fills the payload up to the last semiblock.
                (bytes.saturating_sub(least_wrapped_bytes(0) + 7)..=bytes).any(|key_bytes| {
                    key_type.has_length(key_bytes) && least_wrapped_bytes(key_bytes) == bytes
                })
            }
        };
        expect(is_made, 38)
    }
}

/// Length in bytes of the shortest AESKW payload for a key of this length.
const fn least_wrapped_bytes(key_bytes: usize) -> usize {
    (AESKW_HEADER_BYTES + AESKW_HASH_BYTES + key_bytes).next_multiple_of(8)
}

fn expect(is_right: bool, at: usize) -> Result<(), TokenError> {
    if is_right { Ok(()) } else { Err(TokenError::Field(at)) }
}

/// The kind of key in the token at the beginning of `field`, and the token's length in bytes.
pub(crate) fn holds(field: &[u8]) -> Result<(Holds, usize), DescribeError> {
    let length = DescribeError::Length { given: field.len() };
    let header = field.first_chunk::<HEAD_BYTES>().ok_or(length)?;
    let bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if bytes < HEAD_BYTES || bytes > field.len() {
        return Err(length);
    }
    let holds = match (header[0], header[STATE_AT]) {
        (_, STATE_NONE) => Holds::Nothing,
        (_, STATE_CLEAR) => Holds::Clear,
        (INTERNAL, STATE_MASTER) => {
            let pattern = header[PATTERN_AT..].first_chunk().copied();
            Holds::Wrapped(Under::Master { register: Register::Aes, pattern })
        }
        (INTERNAL, _) => return Err(DescribeError::Form),
        (_, STATE_KEY) if header[METHOD_AT] == METHOD_PKOAEP2 => Holds::Wrapped(Under::Rsa),
        (_, STATE_KEY) => Holds::Wrapped(Under::Key),
        _ => return Err(DescribeError::Form),
    };
    Ok((holds, bytes))
}

/// Length in bytes of header, wrapping information and the fixed part of the associated data, with
/// the count of management fields.
const HEAD_BYTES: usize = 46;
/// Length in bytes of associated data without fields, name and user data.
const ASSOCIATED_BYTES_MIN: usize = 16;
/// Length of a payload of version X'01' in bytes.
const FIXED_PAYLOAD_BYTES: usize = 80;
const STATE_AT: usize = 8;
const PATTERN_AT: usize = 10;
const METHOD_AT: usize = 26;
const PAYLOAD_VERSION_AT: usize = 28;
/// Offset of the associated data.
pub const ASSOCIATED_AT: usize = 30;
const NAME_LENGTH_AT: usize = 34;
const EXTENDED_LENGTH_AT: usize = 35;
const USER_DATA_LENGTH_AT: usize = 36;
const ALGORITHM_AT: usize = 41;
const USAGE_COUNT_AT: usize = 44;

const INTERNAL: u8 = 0x01;
const EXTERNAL: u8 = 0x02;
const VERSION: u8 = 0x05;
const ASSOCIATED_VERSION: u8 = 0x01;
const STATE_NONE: u8 = 0x00;
const STATE_CLEAR: u8 = 0x01;
const STATE_KEY: u8 = 0x02;
const STATE_MASTER: u8 = 0x03;
const PATTERN_NONE: u8 = 0x00;
const PATTERN_OF_MASTER: u8 = 0x01;
const PATTERN_OF_KEY: u8 = 0x02;
const METHOD_NONE: u8 = 0x00;
const METHOD_AESKW: u8 = 0x02;
const METHOD_PKOAEP2: u8 = 0x03;
const HASH_NONE: u8 = 0x00;
const HASH_SHA_256: u8 = 0x02;
