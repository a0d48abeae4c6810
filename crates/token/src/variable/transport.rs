//! The keys that a transport key wraps, and the ways in which a key may be exported.
//!
//! Source: Linux on Z CCA, "Key Token Build2, keywords reference". The third usage field of a
//! transport key names the algorithms of the keys that it wraps (WR-AES, WR-HMAC and others), the
//! fourth their kinds (WR-DATA, WR-KEK and others). The first management field of a key names the
//! ways in which it may be exported (XPRT-SYM and others), and those in which it may not (NOEX-AES
//! and others). Which types belong to which kind is our reading.

use super::attributes::{Attributes, Completeness};
use super::types::{BLOCKS_ALONE, VariableType};
use crate::control_vector::ControlVector;
use crate::unconfirmed::MANAGEMENT_BLOCKS_ALONE;

/// The kind of key under which a key is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// An AES transport key: XPRT-SYM, and not NOEX-AES.
    Aes,
    /// A DES transport key: XPRT-SYM, and not NOEX-DES.
    Des,
    /// An unauthenticated RSA public key: XPRTUASY, and not NOEX-RSA.
    Rsa,
}

impl Carrier {
    /// All carriers.
    pub const ALL: [Self; 3] = [Self::Aes, Self::Des, Self::Rsa];

    /// The bits of the first management field that permit and forbid export under this carrier.
    const fn bits(self) -> (u16, u16) {
        match self {
            Self::Aes => (0x8000, 0x0040),
            Self::Des => (0x8000, 0x0080),
            Self::Rsa => (0x4000, 0x0008),
        }
    }
}

/// Algorithm of a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivateAlgorithm {
    /// RSA keys: WR-RSA.
    Rsa,
    /// Elliptic-curve keys: WR-ECC.
    Ecc,
}

impl Attributes {
    /// Whether a complete key with these attributes may be exported under this carrier. A key with
    /// missing parts never may.
    pub fn may_leave(&self, under: Carrier) -> bool {
        self.may_leave_in_blocks(under) && !self.leaves_in_blocks_alone()
    }

    /// Whether a complete key with these attributes may be exported in a key block of X9.143 under
    /// this carrier.
    pub fn may_leave_in_blocks(&self, under: Carrier) -> bool {
        let (permits, forbids) = under.bits();
        let export = self.management[0];
        self.completeness() == Completeness::Complete && export & permits != 0 && export & forbids == 0
    }

    /// Whether the key may be exported only in key blocks with exportability E.
    pub fn leaves_in_blocks_alone(&self) -> bool {
        self.management[0] & MANAGEMENT_BLOCKS_ALONE != 0
    }

    /// The same attributes for a key that may be exported only in key blocks with exportability E,
    /// as keys that came in with exportability E.
    #[must_use]
    pub fn with_blocks_alone(mut self) -> Self {
        self.management[0] |= MANAGEMENT_BLOCKS_ALONE;
        self
    }

    /// Whether a transport key with these attributes wraps keys with the attributes `wrapped`;
    /// false for any other key.
    pub fn wraps_kind_of(&self, wrapped: &Self) -> bool {
        let (algorithm, kind) = kind_of(wrapped.key_type);
        let is_transport = matches!(self.key_type, VariableType::Exporter | VariableType::Importer);
        is_transport && self.usage[2] & algorithm != 0 && self.usage[3] & kind != 0
    }

    /// Whether a transport key with these attributes protects key blocks with AES or HMAC keys with
    /// the attributes `wrapped`.
    pub fn protects_blocks_of(&self, wrapped: &Self) -> bool {
        self.protects_blocks() && self.wraps_kind_of(wrapped)
    }

    /// Whether a transport key with these attributes protects key blocks with DES keys of this
    /// type.
    pub fn protects_blocks_of_des(&self, vector: ControlVector) -> bool {
        self.protects_blocks() && self.usage[2] & WR_DES != 0 && self.usage[3] & kind_of_des(vector) != 0
    }

    /// Whether the key is a transport key that protects key blocks: one that wraps tokens with
    /// WR-TR31, or one for blocks alone (EXPTT31D, IMPTT31D) with VARDRV-D.
    pub(super) fn protects_blocks(&self) -> bool {
        let is_transport = matches!(self.key_type, VariableType::Exporter | VariableType::Importer);
        let wraps_tokens = self.usage[0] & WRAPS_TOKENS != 0 && self.usage[1] & WR_TR31 != 0;
        let is_alone = self.usage[0] & (WRAPS_ANY | BLOCKS_ALONE) == BLOCKS_ALONE;
        is_transport && (wraps_tokens || is_alone && self.usage[1] & VARDRV_D != 0)
    }

    /// Whether a transport key with these attributes wraps private keys of this algorithm; false
    /// for any other key. The fourth usage field names no kind for private keys.
    pub fn wraps_private(&self, algorithm: PrivateAlgorithm) -> bool {
        let bit = match algorithm {
            PrivateAlgorithm::Rsa => WR_RSA,
            PrivateAlgorithm::Ecc => WR_ECC,
        };
        let is_transport = matches!(self.key_type, VariableType::Exporter | VariableType::Importer);
        is_transport && self.usage[2] & bit != 0
    }

    /// The same attributes for a key that was under a weaker key: the history in the second
    /// management field records it.
    pub fn weakened(mut self) -> Self {
        self.management[1] |= UNDER_WEAKER_KEY;
        self
    }

    /// The same attributes for a key that came under an RSA public key, which anyone may have used:
    /// the history records it.
    pub fn from_anyone(mut self) -> Self {
        self.management[1] |= UNDER_UNTRUSTED_KEY;
        self
    }

    /// The same attributes for a key from another kind of system, in a form without attributes: the
    /// history records it.
    pub fn from_elsewhere(mut self) -> Self {
        self.management[1] |= WITHOUT_ATTRIBUTES | NOT_OF_CCA;
        self
    }
}

/// The bits of a transport key's third and fourth usage fields that cover a type of key.
const fn kind_of(key_type: VariableType) -> (u16, u16) {
    let algorithm = if matches!(key_type, VariableType::Hmac) { WR_HMAC } else { WR_AES };
    let kind = match key_type {
        VariableType::Cipher | VariableType::Mac | VariableType::Hmac => WR_DATA,
        VariableType::Exporter | VariableType::Importer => WR_KEK,
        VariableType::PinProt | VariableType::PinCalc | VariableType::PinPrw => WR_PIN,
        VariableType::DkyGenKy | VariableType::KdkGenKy => WR_DERIVE,
        VariableType::SecMsg => WR_CARD,
    };
    (algorithm, kind)
}

/// The bit of a transport key's fourth usage field that covers a DES key, by the key's main type.
const fn kind_of_des(vector: ControlVector) -> u16 {
    match vector.type_bits().0 {
        0 if matches!(vector.method_bits(), 2..=4) => WR_CARD,
        0 => WR_DATA,
        2 => WR_PIN,
        3 => WR_VARIABLE,
        4 => WR_KEK,
        _ => WR_DERIVE,
    }
}

/// EXPORT, IMPORT.
const WRAPS_TOKENS: u16 = 0x8000;
/// All ways of wrapping tokens.
const WRAPS_ANY: u16 = 0xFC00;
const WR_TR31: u16 = 0x8000;
const VARDRV_D: u16 = 0x0100;
const WR_DES: u16 = 0x8000;
const WR_VARIABLE: u16 = 0x0400;
const WR_AES: u16 = 0x4000;
const WR_HMAC: u16 = 0x2000;
const WR_RSA: u16 = 0x1000;
const WR_ECC: u16 = 0x0800;
const WR_DATA: u16 = 0x8000;
const WR_KEK: u16 = 0x4000;
const WR_PIN: u16 = 0x2000;
const WR_DERIVE: u16 = 0x1000;
const WR_CARD: u16 = 0x0800;
const UNDER_UNTRUSTED_KEY: u16 = 0x0010;
const WITHOUT_ATTRIBUTES: u16 = 0x0008;
const UNDER_WEAKER_KEY: u16 = 0x0004;
const NOT_OF_CCA: u16 = 0x0002;
