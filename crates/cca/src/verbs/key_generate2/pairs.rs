//! The types of keys that Key_Generate2 makes in each form.
//!
//! The types of single keys are those of CCA for Linux on IBM Z, Key_Generate2, usage notes, table 1. Of table 2 only
//! the names of the forms were read: the pairs are those of Key_Generate with AES types in the place of the DES types.

use super::super::key_generate::forms::{Form, Set, TokenPurpose};
use token::variable::{Attributes, VariableType};

/// A condition on one token of a pair: its key type, and the value of its first usage field under a mask.
struct Half {
    key_type: VariableType,
    mask: u16,
    value: u16,
}

impl Half {
    fn takes(&self, attributes: &Attributes) -> bool {
        attributes.key_type() == self.key_type && attributes.usage()[0] & self.mask == self.value
    }
}

/// Whether a key may be made for another place as one token of these attributes.
pub(super) fn takes_one(attributes: &Attributes) -> bool {
    SINGLE.iter().any(|half| half.takes(attributes))
}

/// The set of this pair if a key may be made as tokens of these attributes in this form; `None` if it may not.
pub(super) fn takes_pair(form: Form, one: &Attributes, two: &Attributes) -> Option<Set> {
    let pair = PAIRS.iter().find(|(first, second, _)| first.takes(one) && second.takes(two))?;
    // With an exportable second token each system has one token; in other forms one system has both, and can undo its
    // own work.
    if form.second == Some(TokenPurpose::Exportable) { Some(Set::Usual) } else { pair.2 }
}

const fn half(key_type: VariableType, mask: u16, value: u16) -> Half {
    Half { key_type, mask, value }
}

/// A condition on the two highest bits of the usage: ENCRYPT (GENERATE, GENONLY) and DECRYPT (VERIFY).
const fn with(key_type: VariableType, uses: u16) -> Half {
    half(key_type, BOTH, uses)
}

/// A condition for DKYGENKY keys that derive keys of the type with this number.
const fn deriving(number: u16) -> Half {
    half(VariableType::DkyGenKy, 0xFF00, number << 8)
}

const BOTH: u16 = 0xC000;
const FIRST: u16 = 0x8000;
const SECOND: u16 = 0x4000;

const CIPHER: Half = with(VariableType::Cipher, BOTH);
const ENCRYPT: Half = with(VariableType::Cipher, FIRST);
const DECRYPT: Half = with(VariableType::Cipher, SECOND);
const MAC: Half = with(VariableType::Mac, BOTH);
const MAC_GENONLY: Half = with(VariableType::Mac, FIRST);
const MAC_VERIFY: Half = with(VariableType::Mac, SECOND);
/// Only GENERATE is compared: a key with it verifies its own MACs even without VERIFY.
const HMAC: Half = half(VariableType::Hmac, FIRST, FIRST);
const HMAC_VERIFY: Half = with(VariableType::Hmac, SECOND);
const EXPORTER: Half = half(VariableType::Exporter, 0, 0);
const IMPORTER: Half = half(VariableType::Importer, 0, 0);
const PINPROT_ENCRYPT: Half = with(VariableType::PinProt, FIRST);
const PINPROT_DECRYPT: Half = with(VariableType::PinProt, SECOND);
const PINPRW_GENONLY: Half = with(VariableType::PinPrw, FIRST);
const PINPRW_VERIFY: Half = with(VariableType::PinPrw, SECOND);
const PINCALC: Half = half(VariableType::PinCalc, 0, 0);
const D_ALL: Half = deriving(0);
const D_CIPHER: Half = deriving(1);
const D_MAC: Half = deriving(2);
const D_EXP: Half = deriving(3);
const D_IMP: Half = deriving(4);
const D_PPROT: Half = deriving(5);
const D_PCALC: Half = deriving(6);
const D_PPRW: Half = deriving(7);
const D_SECMSG: Half = deriving(8);

const SINGLE: &[Half] = &[CIPHER, MAC, HMAC, PINCALC, D_ALL, D_CIPHER, D_MAC];

const HERE: Option<Set> = Some(Set::Usual);
const EXTENDED: Option<Set> = Some(Set::Extended);

/// Each pair is served in OPEX, EXEX and IMEX, and in OPIM, OPOP and IMIM if a set is given.
const PAIRS: &[(Half, Half, Option<Set>)] = &[
    (CIPHER, CIPHER, HERE),
    (CIPHER, ENCRYPT, HERE),
    (CIPHER, DECRYPT, HERE),
    (ENCRYPT, CIPHER, HERE),
    (ENCRYPT, DECRYPT, HERE),
    (DECRYPT, CIPHER, HERE),
    (DECRYPT, ENCRYPT, HERE),
    (MAC, MAC, HERE),
    (MAC, MAC_VERIFY, HERE),
    (MAC_VERIFY, MAC, HERE),
    (MAC_GENONLY, MAC_VERIFY, HERE),
    (MAC_VERIFY, MAC_GENONLY, HERE),
    (HMAC, HMAC, HERE),
    (HMAC, HMAC_VERIFY, HERE),
    (HMAC_VERIFY, HMAC, HERE),
    (EXPORTER, IMPORTER, None),
    (IMPORTER, EXPORTER, None),
    (PINPROT_ENCRYPT, PINPROT_DECRYPT, EXTENDED),
    (PINPROT_DECRYPT, PINPROT_ENCRYPT, EXTENDED),
    (PINPRW_GENONLY, PINPRW_VERIFY, None),
    (PINPRW_VERIFY, PINPRW_GENONLY, None),
    (D_ALL, D_ALL, None),
    (D_CIPHER, D_CIPHER, HERE),
    (D_MAC, D_MAC, HERE),
    (D_EXP, D_IMP, None),
    (D_IMP, D_EXP, None),
    (D_PPROT, D_PPROT, None),
    (D_PCALC, D_PCALC, None),
    (D_PPRW, D_PPRW, None),
    (D_SECMSG, D_SECMSG, None),
];
