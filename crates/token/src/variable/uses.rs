//! Which use of a variable-length key its usage fields allow.

use super::VariableToken;
use super::attributes::{Attributes, Completeness};
use super::types::VariableType;
use crate::usage::{Side, Wrapping};

/// A use of a key that a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableUse {
    /// Encipher texts in this mode.
    Encipher(CipherMode),
    /// Decipher texts in this mode.
    Decipher(CipherMode),
    /// Decipher texts in this mode that come under another key at once.
    TranslateFrom(CipherMode),
    /// Encipher texts in this mode that come from under another key at once.
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
}

/// A mode of a CIPHER key, by its number in the second usage field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CipherMode {
    /// CBC, also with padding.
    Cbc = 0x00,
    /// ECB.
    Ecb = 0x01,
    /// GCM.
    Gcm = 0x04,
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
    pub const ALL: [Self; 38] = [
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
    ];
}

impl VariableToken {
    /// Whether its key may be used in this way. See [`Attributes::may`].
    pub fn may(&self, usage: VariableUse) -> bool {
        self.attributes().may(usage)
    }
}

impl Attributes {
    /// Whether it is a CIPHER key that translates texts and does nothing else with them (C-XLATE).
    pub fn only_translates(&self) -> bool {
        self.key_type == VariableType::Cipher && self.usage[0] & TRANSLATES != 0
    }

    /// Whether a key of these attributes may be used in this way: not one that lacks parts, one for functions of the
    /// installation alone (UDX-ONLY), or one that is only translated (C-XLATE).
    ///
    /// A key that is only translated takes part in translations; so does one that enciphers or deciphers, on its side of them.
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
                wraps(wrapping).is_none_or(|bit| first & bit != 0)
            }
            _ => false,
        }
    }
}

/// The bit of the first usage field of a transport key that permits a wrapping; `None` where every transport key may.
const fn wraps(wrapping: Wrapping) -> Option<u16> {
    Some(match wrapping {
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
        Wrapping::Tested => return None,
    })
}

/// CMAC, and of no key that is for the PIN functions of one protocol alone (DKPINOP and the like, in the third field).
fn is_for_cmac(attributes: &Attributes) -> bool {
    attributes.usage[1] & METHOD == CMAC && attributes.usage.get(2).is_none_or(|field| *field == 0)
}

const METHOD: u16 = 0xFF00;
const CMAC: u16 = 0x0100;
/// ENCRYPT or GENERATE.
const GENERATES: u16 = 0x8000;
/// DECRYPT or VERIFY.
const VERIFIES: u16 = 0x4000;
/// C-XLATE.
const TRANSLATES: u16 = 0x2000;
const UDX_ONLY: u16 = 0x0008;
const ANY_MODE: u8 = 0xFF;
