//! The types that transaction keys derived by DUKPT may have (CCA for Linux on IBM Z, "Unique Key
//! Derive", table 1).
//!
//! | key | DES types, of two or three parts with any usage that is theirs by default | AES types |
//! |---|---|---|
//! | of data | CIPHER, ENCIPHER, DECIPHER | CIPHER, but for texts that keep their format |
//! | of MACs | MAC, MACVER for any purpose | MAC with CMAC, but for changes of PANs |
//! | of PIN blocks | IPINENC, OPINENC | PINPROT with ISO-4 |
//! | of PIN blocks, as DATA | DATA | |
//!
//! With AES the derivation also names the terminal's side: this system has the other side.

use crate::control_vector::{ControlVector, KeyForm, bit};
use crate::key_type::KeyType;
use crate::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use crate::usage::Use;
use crate::variable::{Attributes, CipherMode, VariableUse};

/// The purpose that a transaction key is derived for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionKey {
    /// Enciphering and deciphering of data.
    Data,
    /// Making and verifying of MACs.
    Mac,
    /// Enciphering and deciphering of PIN blocks.
    Pin,
    /// Enciphering and deciphering of PIN blocks, but the key is a DATA key.
    PinAsData,
}

/// The operations of the terminal with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalSide {
    /// The terminal makes MACs, or enciphers.
    Makes,
    /// The terminal verifies MACs, or deciphers.
    Takes,
    /// The terminal does both.
    Both,
}

impl TerminalSide {
    /// Whether a key with these operations does only what the terminal leaves to others. `makes`:
    /// it makes MACs or enciphers; `takes`: it verifies MACs or deciphers.
    fn leaves(self, makes: bool, takes: bool) -> bool {
        !(makes && self == Self::Makes || takes && self == Self::Takes)
    }
}

impl TransactionKey {
    /// Whether this key may become a DES key with this control vector, if the terminal has this
    /// side. Export and wrapping of that key are not checked.
    pub fn takes(self, side: TerminalSide, vector: ControlVector) -> bool {
        let types: &[KeyType] = match self {
            Self::Data => &[KeyType::Cipher, KeyType::Encipher, KeyType::Decipher],
            Self::Mac => &[KeyType::Mac, KeyType::MacVer],
            Self::Pin => &[KeyType::IPinEnc, KeyType::OPinEnc],
            Self::PinAsData => &[KeyType::Data],
        };
        let (Some(form @ (KeyForm::Double | KeyForm::Triple)), Some(key_type)) =
            (vector.form(), KeyType::of(vector))
        else {
            return false;
        };
        let Ok(whole) = key_type.vector_with(form, []) else { return false };
        let is_of_side = match self {
            Self::Data => side.leaves(vector.may(Use::Encipher), vector.may(Use::Decipher)),
            Self::Mac => side.leaves(vector.may(Use::MacGenerate), vector.may(Use::MacVerify)),
            Self::Pin | Self::PinAsData => true,
        };
        types.contains(&key_type) && is_of_side && vector.left() & !whole.left() & !NOT_USES == 0
    }

    /// Whether this key may become an AES key with these attributes, if the terminal has this side.
    pub fn takes_variable(self, side: TerminalSide, made: &Attributes) -> bool {
        let is_of_texts =
            |mode: CipherMode| matches!(mode, CipherMode::Cbc | CipherMode::Ecb | CipherMode::Gcm);
        let is_for_it = |usage: VariableUse| match (self, usage) {
            (Self::Pin, VariableUse::PinField(_)) => true,
            (Self::Mac, VariableUse::CmacGenerate) => side.leaves(true, false),
            (Self::Mac, VariableUse::CmacVerify) => side.leaves(false, true),
            (Self::Data, VariableUse::Encipher(mode) | VariableUse::TranslateTo(mode)) => {
                side.leaves(true, false) && is_of_texts(mode)
            }
            (Self::Data, VariableUse::Decipher(mode) | VariableUse::TranslateFrom(mode)) => {
                side.leaves(false, true) && is_of_texts(mode)
            }
            _ => false,
        };
        let mut uses = VariableUse::ALL.into_iter().filter(|usage| made.may(*usage)).peekable();
        uses.peek().is_some() && uses.all(is_for_it)
    }
}

/// Bits of a left half that are not uses: export, wrapping, key blocks, parity.
const NOT_USES: u64 = bit(17) | bit(56) | bit(CONTROL_VECTOR_BIT_NO_TR31) | 0x0101_0101_0101_0101;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variable::VariableType;

    const KEYS: [TransactionKey; 4] =
        [TransactionKey::Data, TransactionKey::Mac, TransactionKey::Pin, TransactionKey::PinAsData];

    #[test]
    fn des_types_are_those_of_the_table() {
        let mut taken = Vec::new();
        for key in KEYS {
            for key_type in KeyType::ALL {
                for form in [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique, KeyForm::Triple] {
                    let Ok(vector) = key_type.vector_with(form, []) else { continue };
                    if key.takes(TerminalSide::Both, vector) {
                        assert!(matches!(form, KeyForm::Double | KeyForm::Triple), "{form:?}");
                        taken.push((key, key_type.name()));
                    }
                    let kept = key_type.vector_with(form, ["NO-XPORT"]).unwrap_or(vector);
                    let of = |vector| key.takes(TerminalSide::Both, vector);
                    assert_eq!(of(kept), of(vector), "{key:?} {key_type:?}");
                }
            }
        }
        taken.dedup();
        let names = |key| taken.iter().filter(|one| one.0 == key).map(|one| one.1).collect::<Vec<_>>();
        assert_eq!(names(TransactionKey::Data), ["CIPHER", "ENCIPHER", "DECIPHER"]);
        assert_eq!(names(TransactionKey::Mac), ["MAC", "MACVER"]);
        assert_eq!(names(TransactionKey::Pin), ["IPINENC", "OPINENC"]);
        assert_eq!(names(TransactionKey::PinAsData), ["DATA"]);
        assert!(KEYS.iter().all(|key| !key.takes(TerminalSide::Both, ControlVector::ZERO)));
    }

    #[test]
    fn usage_may_be_less_and_not_more() {
        let of = |key_type: KeyType, words: &[&str]| {
            key_type.vector_with(KeyForm::Double, words.iter().copied()).unwrap()
        };
        let takes = |key: TransactionKey, vector| key.takes(TerminalSide::Both, vector);
        assert!(takes(TransactionKey::Pin, of(KeyType::IPinEnc, &["TRANSLAT"])));
        assert!(takes(TransactionKey::Pin, of(KeyType::OPinEnc, &["REFORMAT"])));
        for word in ["CVVKEY-A", "CVVKEY-B", "AMEX-CSC"] {
            assert!(!takes(TransactionKey::Mac, of(KeyType::Mac, &[word])), "{word}");
        }
        let part = of(KeyType::Mac, &[]).with_bits(bit(44), true).unwrap();
        assert!(!takes(TransactionKey::Mac, part));
        // A terminal that makes MACs leaves the verifying to others.
        for (side, key, key_type, expected) in [
            (TerminalSide::Makes, TransactionKey::Mac, KeyType::Mac, false),
            (TerminalSide::Makes, TransactionKey::Mac, KeyType::MacVer, true),
            (TerminalSide::Takes, TransactionKey::Mac, KeyType::MacVer, false),
            (TerminalSide::Makes, TransactionKey::Data, KeyType::Decipher, true),
            (TerminalSide::Makes, TransactionKey::Data, KeyType::Encipher, false),
            (TerminalSide::Takes, TransactionKey::Data, KeyType::Encipher, true),
            (TerminalSide::Takes, TransactionKey::Data, KeyType::Cipher, false),
        ] {
            assert_eq!(key.takes(side, of(key_type, &[])), expected, "{side:?} {key_type:?}");
        }
    }

    #[test]
    fn aes_keys_are_on_the_other_side_of_the_terminals() {
        use TerminalSide::{Both, Makes, Takes};
        let of = |key_type, words: &[&str]| Attributes::new(key_type, words.iter().copied(), None).unwrap();
        let verifies = of(VariableType::Mac, &["VERIFY", "CMAC"]);
        let makes = of(VariableType::Mac, &["GENONLY", "CMAC"]);
        let both = of(VariableType::Mac, &["GENERATE", "CMAC"]);
        let changes = of(VariableType::Mac, &["VERIFY", "CMAC", "PTR2AUTH"]);
        let enciphers = of(VariableType::Cipher, &["ENCRYPT", "CBC"]);
        let deciphers = of(VariableType::Cipher, &["DECRYPT", "CBC"]);
        let either = of(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "CBC"]);
        let formats = of(VariableType::Cipher, &["ENCRYPT", "FF1"]);
        let pins = of(VariableType::PinProt, &["DECRYPT", "PINXLATE", "ISO-4"]);
        let all = [&verifies, &makes, &both, &changes, &enciphers, &deciphers, &either, &formats, &pins];
        for (key, side, expected) in [
            (TransactionKey::Mac, Makes, vec![&verifies]),
            (TransactionKey::Mac, Takes, vec![&makes]),
            (TransactionKey::Mac, Both, vec![&verifies, &makes, &both]),
            (TransactionKey::Data, Makes, vec![&deciphers]),
            (TransactionKey::Data, Takes, vec![&enciphers]),
            (TransactionKey::Data, Both, vec![&enciphers, &deciphers, &either]),
            (TransactionKey::Pin, Both, vec![&pins]),
            (TransactionKey::PinAsData, Both, vec![]),
        ] {
            let taken: Vec<_> = all.into_iter().filter(|made| key.takes_variable(side, made)).collect();
            assert_eq!(taken, expected, "{key:?} {side:?}");
        }
    }
}
