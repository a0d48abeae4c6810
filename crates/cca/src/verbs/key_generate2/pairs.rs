//! Which types of keys Key_Generate2 makes in which form.
//!
//! The types of single keys are those of CCA for Linux on IBM Z, Key_Generate2, usage notes, table 1. Of table 2 only
//! the names of the forms were read: the pairs are those of Key_Generate with AES types in the place of the DES types.

use super::super::key_generate::forms::{Form, Place, Set};
use token::variable::{Attributes, VariableType};

/// What one of the tokens says of its key: the type, and what its first usage field is under a mask.
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

/// Whether a key may be made in this form as tokens of these attributes, and if so whether only where the role permits
/// the extended set.
pub(super) fn takes_pair(form: Form, one: &Attributes, two: &Attributes) -> Option<Set> {
    let pair = PAIRS.iter().find(|(first, second, _)| first.takes(one) && second.takes(two))?;
    // One of two systems has each token, or one system has both and can undo what it does.
    if form.second == Some(Place::Exportable) { Some(Set::Usual) } else { pair.2 }
}

const fn half(key_type: VariableType, mask: u16, value: u16) -> Half {
    Half { key_type, mask, value }
}

/// By ENCRYPT (GENERATE, GENONLY) and DECRYPT (VERIFY), the two highest bits.
const fn with(key_type: VariableType, uses: u16) -> Half {
    half(key_type, BOTH, uses)
}

/// Keys that derive keys of the type of this number.
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
/// Also without VERIFY: it verifies what it makes.
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

/// Each pair is served in OPEX, EXEX and IMEX, and in OPIM, OPOP and IMIM where a set says so.
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
