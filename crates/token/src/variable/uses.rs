//! The uses of a variable-length key that its usage fields allow.

use super::VariableToken;
use super::attributes::{Attributes, Completeness};
use super::types::VariableType;
use crate::usage::{PinBlockIn, PinBlockOut, Side, Wrapping};

/// A use of a key that a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableUse {
    /// Encipher texts in this mode.
    Encipher(CipherMode),
    /// Decipher texts in this mode.
    Decipher(CipherMode),
    /// Decipher texts in this mode that are enciphered under another key in the same call.
    TranslateFrom(CipherMode),
    /// Encipher texts in this mode that were deciphered with another key in the same call.
    TranslateTo(CipherMode),
    /// Make CMACs.
    CmacGenerate,
    /// Verify CMACs.
    CmacVerify,
    /// Make HMACs with this hash.
    HmacGenerate(HmacHash),
    /// Verify HMACs with this hash.
    HmacVerify(HmacHash),
    /// Wrap other keys, as a key-encrypting key of this side.
    Wrap(Side, Wrapping),
    /// Protect key blocks (TR-31), as a key-encrypting key of this side.
    ProtectBlocks(Side),
    /// Encipher or decipher PIN blocks of ISO-4 (PINPROT).
    PinField(PinField),
    /// Derive keys for each transaction that encipher or decipher such PIN blocks (DKYGENKY with
    /// A-DUKPT).
    DerivePinField(PinField),
    /// Derive keys of PIN blocks of 8 bytes for each transaction (DKYGENKY with A-DUKPT and D-ALL).
    DerivePinBlock,
    /// Verify that the PAN of a PIN block may change (MAC with VERIFY and PTR2AUTH).
    PanChangeVerify,
}

/// The direction of a block of ISO-4, and what is done with its PIN or where that comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinField {
    /// The block is incoming.
    In(PinBlockIn),
    /// The block is incoming, and its PIN is put into a block of ISO-1, which holds no PAN
    /// (RFMT4TO1).
    InToIso1,
    /// The block is outgoing.
    Out(PinBlockOut),
    /// The block is outgoing, and its PIN comes from a block of ISO-1 (RFMT1TO4).
    OutOfIso1,
}

impl PinField {
    /// The bit of the first usage field that this needs: DECRYPT or ENCRYPT.
    const fn direction(self) -> u16 {
        match self {
            Self::In(_) | Self::InToIso1 => VERIFIES,
            Self::Out(_) | Self::OutOfIso1 => GENERATES,
        }
    }

    /// The bits of the second usage field that this needs, all of them.
    const fn bits(self) -> u16 {
        match self {
            Self::Out(PinBlockOut::Encrypt) => 0x0020,
            Self::In(PinBlockIn::Verify) | Self::Out(PinBlockOut::Generate) => 0x0010,
            Self::In(PinBlockIn::Alternate) => 0x0008,
            Self::In(PinBlockIn::Translate) | Self::Out(PinBlockOut::Translate) => 0x0004,
            Self::In(PinBlockIn::Reformat) | Self::Out(PinBlockOut::Reformat) => 0x0002,
            Self::InToIso1 | Self::OutOfIso1 => 0x0003,
        }
    }

    /// Whether a PINPROT key with these usage fields may be used so.
    fn is_of(self, usage: &[u16]) -> bool {
        matches!(usage, [first, second, 0, ISO_4]
            if first & (GENERATES | VERIFIES) == self.direction()
                && first & UDX_ONLY == 0
                && second & METHOD == CBC
                && second & self.bits() == self.bits())
    }
}

/// A mode of a CIPHER key, by its number in the second usage field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CipherMode {
    /// CBC, with or without padding.
    Cbc = 0x00,
    /// ECB.
    Ecb = 0x01,
    /// GCM.
    Gcm = 0x04,
    /// FF1.
    Ff1 = 0x06,
}

/// A hash of an HMAC key, by its bit in the second usage field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum HmacHash {
    /// SHA-1.
    Sha1 = 0x8000,
    /// SHA-224.
    Sha224 = 0x4000,
    /// SHA-256.
    Sha256 = 0x2000,
    /// SHA-384.
    Sha384 = 0x1000,
    /// SHA-512.
    Sha512 = 0x0800,
}

impl VariableUse {
    /// Every use.
    pub const ALL: [Self; 62] = [
        Self::Encipher(CipherMode::Cbc),
        Self::Encipher(CipherMode::Ecb),
        Self::Encipher(CipherMode::Gcm),
        Self::Decipher(CipherMode::Cbc),
        Self::Decipher(CipherMode::Ecb),
        Self::Decipher(CipherMode::Gcm),
        Self::TranslateFrom(CipherMode::Cbc),
        Self::TranslateFrom(CipherMode::Ecb),
        Self::TranslateTo(CipherMode::Cbc),
        Self::TranslateTo(CipherMode::Ecb),
        Self::CmacGenerate,
        Self::CmacVerify,
        Self::HmacGenerate(HmacHash::Sha1),
        Self::HmacGenerate(HmacHash::Sha224),
        Self::HmacGenerate(HmacHash::Sha256),
        Self::HmacGenerate(HmacHash::Sha384),
        Self::HmacGenerate(HmacHash::Sha512),
        Self::HmacVerify(HmacHash::Sha1),
        Self::HmacVerify(HmacHash::Sha224),
        Self::HmacVerify(HmacHash::Sha256),
        Self::HmacVerify(HmacHash::Sha384),
        Self::HmacVerify(HmacHash::Sha512),
        Self::Wrap(Side::Sending, Wrapping::Keys),
        Self::Wrap(Side::Sending, Wrapping::Translated),
        Self::Wrap(Side::Sending, Wrapping::GeneratedOnce),
        Self::Wrap(Side::Sending, Wrapping::GeneratedForBoth),
        Self::Wrap(Side::Sending, Wrapping::GeneratedTwice),
        Self::Wrap(Side::Sending, Wrapping::PrivateKeys),
        Self::Wrap(Side::Sending, Wrapping::GeneratedPrivateKeys),
        Self::Wrap(Side::Sending, Wrapping::Tested),
        Self::Wrap(Side::Receiving, Wrapping::Keys),
        Self::Wrap(Side::Receiving, Wrapping::Translated),
        Self::Wrap(Side::Receiving, Wrapping::GeneratedOnce),
        Self::Wrap(Side::Receiving, Wrapping::GeneratedForBoth),
        Self::Wrap(Side::Receiving, Wrapping::GeneratedTwice),
        Self::Wrap(Side::Receiving, Wrapping::PrivateKeys),
        Self::Wrap(Side::Receiving, Wrapping::GeneratedPrivateKeys),
        Self::Wrap(Side::Receiving, Wrapping::Tested),
        Self::ProtectBlocks(Side::Sending),
        Self::ProtectBlocks(Side::Receiving),
        Self::PinField(PinField::In(PinBlockIn::Verify)),
        Self::PinField(PinField::In(PinBlockIn::Alternate)),
        Self::PinField(PinField::In(PinBlockIn::Translate)),
        Self::PinField(PinField::In(PinBlockIn::Reformat)),
        Self::PinField(PinField::InToIso1),
        Self::PinField(PinField::Out(PinBlockOut::Encrypt)),
        Self::PinField(PinField::Out(PinBlockOut::Generate)),
        Self::PinField(PinField::Out(PinBlockOut::Translate)),
        Self::PinField(PinField::Out(PinBlockOut::Reformat)),
        Self::PinField(PinField::OutOfIso1),
        Self::DerivePinField(PinField::In(PinBlockIn::Verify)),
        Self::DerivePinField(PinField::In(PinBlockIn::Translate)),
        Self::DerivePinField(PinField::In(PinBlockIn::Reformat)),
        Self::DerivePinField(PinField::Out(PinBlockOut::Translate)),
        Self::DerivePinField(PinField::Out(PinBlockOut::Reformat)),
        Self::DerivePinField(PinField::OutOfIso1),
        Self::DerivePinBlock,
        Self::PanChangeVerify,
        Self::Encipher(CipherMode::Ff1),
        Self::Decipher(CipherMode::Ff1),
        Self::TranslateFrom(CipherMode::Ff1),
        Self::TranslateTo(CipherMode::Ff1),
    ];
}

impl VariableToken {
    /// Whether the token's key may be used in this way. See [`Attributes::may`].
    pub fn may(&self, usage: VariableUse) -> bool {
        self.attributes().may(usage)
    }
}

impl Attributes {
    /// Whether the key is a CIPHER key that only translates texts (C-XLATE).
    pub fn only_translates(&self) -> bool {
        self.key_type == VariableType::Cipher && self.usage[0] & TRANSLATES != 0
    }

    /// Whether a key with these attributes may be used in this way. A key that lacks parts, or that
    /// is for functions of the installation alone (UDX-ONLY), has no use.
    ///
    /// A key that only translates (C-XLATE) takes part in translations alone. A key that enciphers
    /// or deciphers also takes part in them, on its side.
    ///
    /// An HMAC key that makes MACs also verifies them. An AES MAC key that only makes them (GENONLY) does not.
    pub fn may(&self, usage: VariableUse) -> bool {
        if self.completeness() != Completeness::Complete || self.usage[0] & UDX_ONLY != 0 {
            return false;
        }
        let (first, second) = (self.usage[0], self.usage[1]);
        let has_mode = |mode: CipherMode| [mode as u8, ANY_MODE].contains(&(second.to_be_bytes()[0]));
        match (self.key_type, usage) {
            (VariableType::Cipher, VariableUse::Encipher(mode)) => {
                first & (GENERATES | TRANSLATES) == GENERATES && has_mode(mode)
            }
            (VariableType::Cipher, VariableUse::Decipher(mode)) => {
                first & (VERIFIES | TRANSLATES) == VERIFIES && has_mode(mode)
            }
            (VariableType::Cipher, VariableUse::TranslateFrom(mode)) => {
                first & VERIFIES != 0 && has_mode(mode)
            }
            (VariableType::Cipher, VariableUse::TranslateTo(mode)) => {
                first & GENERATES != 0 && has_mode(mode)
            }
            (VariableType::PinProt, VariableUse::PinField(field)) => field.is_of(&self.usage),
            (VariableType::DkyGenKy, VariableUse::DerivePinField(field)) => {
                let (own, derived) = self.usage.split_at(2);
                derives_transactions(own)
                    && match self.derived_type() {
                        None => true,
                        Some(derived_type) => derived_type == VariableType::PinProt && field.is_of(derived),
                    }
            }
            (VariableType::DkyGenKy, VariableUse::DerivePinBlock) => {
                derives_transactions(&self.usage) && self.derived_type().is_none()
            }
            (VariableType::Mac, VariableUse::PanChangeVerify) => {
                first & (GENERATES | VERIFIES) == VERIFIES && second & PAN_CHANGE != 0 && is_for_cmac(self)
            }
            (VariableType::Mac, VariableUse::CmacGenerate) => first & GENERATES != 0 && is_for_cmac(self),
            (VariableType::Mac, VariableUse::CmacVerify) => first & VERIFIES != 0 && is_for_cmac(self),
            (VariableType::Hmac, VariableUse::HmacGenerate(hash)) => {
                first & GENERATES != 0 && second & hash as u16 != 0
            }
            (VariableType::Hmac, VariableUse::HmacVerify(hash)) => {
                first & (GENERATES | VERIFIES) != 0 && second & hash as u16 != 0
            }
            (VariableType::Exporter, VariableUse::Wrap(Side::Sending, wrapping))
            | (VariableType::Importer, VariableUse::Wrap(Side::Receiving, wrapping)) => {
                first & wraps(wrapping) != 0
            }
            (VariableType::Exporter, VariableUse::ProtectBlocks(Side::Sending))
            | (VariableType::Importer, VariableUse::ProtectBlocks(Side::Receiving)) => self.protects_blocks(),
            _ => false,
        }
    }
}

/// The bits of a transport key's first usage field of which one permits a wrapping.
const fn wraps(wrapping: Wrapping) -> u16 {
    match wrapping {
        // EXPORT, IMPORT.
        Wrapping::Keys | Wrapping::PrivateKeys => 0x8000,
        // TRANSLAT.
        Wrapping::Translated => 0x4000,
        // GEN-OPEX, GEN-OPIM.
        Wrapping::GeneratedOnce => 0x2000,
        // GEN-IMEX.
        Wrapping::GeneratedForBoth => 0x1000,
        // GEN-EXEX, GEN-IMIM.
        Wrapping::GeneratedTwice => 0x0800,
        // GEN-PUB.
        Wrapping::GeneratedPrivateKeys => 0x0400,
        // Every key that wraps tokens.
        Wrapping::Tested => 0xFC00,
    }
}

/// Whether a MAC key makes CMACs of texts: method CMAC, and not for the PIN functions of one
/// protocol alone (DKPINOP and the like, in the third field).
fn is_for_cmac(attributes: &Attributes) -> bool {
    attributes.usage[1] & METHOD == CMAC && attributes.usage.get(2).is_none_or(|field| *field == 0)
}

/// Whether a DKYGENKY key with these usage fields is a base key of AES DUKPT.
fn derives_transactions(usage: &[u16]) -> bool {
    matches!(usage, [first, second, ..]
        if first & (TRANSACTIONS | UDX_ONLY) == TRANSACTIONS && second & LEVEL == 0)
}

const METHOD: u16 = 0xFF00;
const CBC: u16 = 0x0000;
/// ISO-4, the only format of a PINPROT key.
const ISO_4: u16 = 0x0100;
/// A-DUKPT: the key derives transaction keys.
const TRANSACTIONS: u16 = 0x0080;
/// The level of a DKYGENKY key, which is 0 for DKYL0.
const LEVEL: u16 = 0x00FF;
/// PTR2AUTH: the key verifies changes of PANs.
const PAN_CHANGE: u16 = 0x0080;
const CMAC: u16 = 0x0100;
/// ENCRYPT or GENERATE, in the first usage field.
const GENERATES: u16 = 0x8000;
/// DECRYPT or VERIFY, in the first usage field.
const VERIFIES: u16 = 0x4000;
/// C-XLATE: the key only translates.
const TRANSLATES: u16 = 0x2000;
const UDX_ONLY: u16 = 0x0008;
const ANY_MODE: u8 = 0xFF;
