//! The DES keys that may be derived from a generating key: what bits 19 to 22 of a DKYGENKY key,
//! and its level, permit (CCA for Linux on IBM Z, "Key Token Build", keywords of DKYGENKY).
//!
//! A key of level DKYLn derives DKYGENKY keys of the next lower level with the same keyword. A key
//! of level DKYL0 derives keys of these types:
//!
//! | keyword | types |
//! |---|---|
//! | DDATA | DATA, DATAC |
//! | DMAC | MAC, DATAM |
//! | DMV | MACVER, DATAMV |
//! | DIMP, DEXP | IMPORTER, IKEYXLAT, IMP-PKA; EXPORTER, OKEYXLAT |
//! | DPVR | PINVER |
//! | DMKEY, DMPIN | SECMSG with SMKEY, with SMPIN |
//! | DALL | every type but DKYGENKY and KEYGENKY |
//!
//! A derived key may be exported only in ways in which its generating key may be exported.

use crate::control_vector::{ControlVector, bit};
use crate::key_type::KeyType;
use crate::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;

/// The keys that a DKYGENKY key derives, by bits 19 to 22.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Derived {
    /// DDATA: DATA and DATAC keys.
    Data = 1,
    /// DMAC: MAC and DATAM keys.
    Mac = 2,
    /// DMV: MACVER and DATAMV keys.
    MacVer = 3,
    /// DIMP: keys that import or translate.
    Importer = 4,
    /// DEXP: keys that export or translate.
    Exporter = 5,
    /// DPVR: PINVER keys.
    PinVer = 6,
    /// DMKEY: SECMSG keys for messages with keys.
    KeyMessages = 8,
    /// DMPIN: SECMSG keys for messages with PINs.
    PinMessages = 9,
    /// DALL: keys of every type that derives no others.
    Any = 15,
}

impl Derived {
    /// All variants.
    pub const ALL: [Self; 9] = [
        Self::Data,
        Self::Mac,
        Self::MacVer,
        Self::Importer,
        Self::Exporter,
        Self::PinVer,
        Self::KeyMessages,
        Self::PinMessages,
        Self::Any,
    ];

    /// Whether a key with this vector may be derived at the lowest level.
    fn takes(self, vector: ControlVector) -> bool {
        let Some(key_type) = KeyType::of(vector) else { return false };
        match self {
            Self::Data => matches!(key_type, KeyType::Data | KeyType::DataC),
            Self::Mac => matches!(key_type, KeyType::Mac | KeyType::DataM),
            Self::MacVer => matches!(key_type, KeyType::MacVer | KeyType::DataMv),
            Self::Importer => {
                matches!(key_type, KeyType::Importer | KeyType::IKeyXlat | KeyType::ImpPka)
            }
            Self::Exporter => matches!(key_type, KeyType::Exporter | KeyType::OKeyXlat),
            Self::PinVer => key_type == KeyType::PinVer,
            Self::KeyMessages => key_type == KeyType::SecMsg && vector.bit(18) && !vector.bit(19),
            Self::PinMessages => key_type == KeyType::SecMsg && vector.bit(19) && !vector.bit(18),
            Self::Any => !matches!(key_type, KeyType::DKyGenKy | KeyType::KeyGenKy),
        }
    }
}

/// A key that derives others, from its control vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deriving {
    vector: ControlVector,
    /// Number of levels of DKYGENKY keys below this key.
    pub level: u8,
    /// The keys that are derived at the lowest level.
    pub derived: Derived,
}

impl Deriving {
    /// From a control vector; `None` for a key of another type, a part of a key, or bits without a
    /// meaning.
    pub fn of(vector: ControlVector) -> Option<Self> {
        let (main, level) = vector.type_bits();
        let number = (vector.left() >> 41) as u8 & 0xF;
        let derived = Derived::ALL.into_iter().find(|derived| *derived as u8 == number)?;
        let is_one = main == MAIN_DERIVING_FROM_DATA && !vector.bit(18) && !vector.is_key_part();
        is_one.then_some(Self { vector, level, derived })
    }

    /// Whether a key with this vector may be derived from this key.
    pub fn may_make(&self, made: ControlVector) -> bool {
        if made.is_key_part() || !leaves_in_no_other_way(self.vector, made) {
            return false;
        }
        match self.level.checked_sub(1) {
            None => self.derived.takes(made),
            Some(below) => {
                Self::of(made).is_some_and(|other| other.level == below && other.derived == self.derived)
            }
        }
    }

    /// Whether this key derives the keys `wanted`, alone or among all others.
    pub fn is_for(&self, wanted: Derived) -> bool {
        self.derived == wanted || self.derived == Derived::Any
    }

    /// The vector of the DKYGENKY key one level below that derives only `derived`; `None` at the
    /// lowest level, and if this key does not derive them.
    pub fn below(&self, derived: Derived) -> Option<ControlVector> {
        let level = self.level.checked_sub(1)?;
        if !self.is_for(derived) {
            return None;
        }
        let cleared = self.vector.with_bits(0b111 << 49 | 0b1111 << 41, false).ok()?;
        cleared.with_bits(u64::from(level) << 49 | (derived as u64) << 41, true).ok()
    }
}

/// Whether a key with the second vector may be exported, under keys or in TR-31 blocks, only if a
/// key with the first may.
pub fn leaves_in_no_other_way(generating: ControlVector, made: ControlVector) -> bool {
    let exports = |vector: ControlVector| vector.is_zero() || vector.bit(17);
    let in_blocks = |vector: ControlVector| vector.left() & bit(CONTROL_VECTOR_BIT_NO_TR31) == 0;
    (exports(generating) || !exports(made)) && (in_blocks(generating) || !in_blocks(made))
}

const MAIN_DERIVING_FROM_DATA: u8 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_vector::KeyForm;

    fn deriving(words: &[&str]) -> ControlVector {
        KeyType::DKyGenKy.vector_with(KeyForm::Double, words.iter().copied()).unwrap()
    }

    const WORDS: [(&str, Derived); 9] = [
        ("DDATA", Derived::Data),
        ("DMAC", Derived::Mac),
        ("DMV", Derived::MacVer),
        ("DIMP", Derived::Importer),
        ("DEXP", Derived::Exporter),
        ("DPVR", Derived::PinVer),
        ("DMKEY", Derived::KeyMessages),
        ("DMPIN", Derived::PinMessages),
        ("DALL", Derived::Any),
    ];

    /// Every type, and the keyword beside DALL that derives it at the lowest level.
    fn types() -> Vec<(ControlVector, Option<Derived>)> {
        let mut all = Vec::new();
        for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
            for form in [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique] {
                let Some(vector) = key_type.default_vector(form) else { continue };
                let derived = match key_type {
                    KeyType::Data | KeyType::DataC => Some(Derived::Data),
                    KeyType::Mac | KeyType::DataM => Some(Derived::Mac),
                    KeyType::MacVer | KeyType::DataMv => Some(Derived::MacVer),
                    KeyType::Importer | KeyType::IKeyXlat | KeyType::ImpPka => Some(Derived::Importer),
                    KeyType::Exporter | KeyType::OKeyXlat => Some(Derived::Exporter),
                    KeyType::PinVer => Some(Derived::PinVer),
                    _ => None,
                };
                all.push((vector, derived));
            }
        }
        for (word, derived) in [("SMKEY", Derived::KeyMessages), ("SMPIN", Derived::PinMessages)] {
            all.push((KeyType::SecMsg.vector_with(KeyForm::Double, [word]).unwrap(), Some(derived)));
        }
        all.push((ControlVector::ZERO, Some(Derived::Data)));
        all
    }

    #[test]
    fn every_pair_of_a_generating_key_and_a_type_is_permitted_or_not() {
        for (word, derived) in WORDS {
            let lowest = Deriving::of(deriving(&["DKYL0", word])).unwrap();
            assert_eq!((lowest.level, lowest.derived), (0, derived));
            for (vector, of) in types() {
                let is_deriving = vector.type_bits().0 == MAIN_DERIVING_FROM_DATA;
                let expected = of == Some(derived) || (derived == Derived::Any && !is_deriving);
                assert_eq!(lowest.may_make(vector), expected, "{word} {vector:?}");
                let part = if vector.is_zero() { vector } else { vector.with_bits(bit(44), true).unwrap() };
                assert!(vector.is_zero() || !lowest.may_make(part));
                for level in 1..8 {
                    let higher = Deriving::of(deriving(&[&format!("DKYL{level}"), word])).unwrap();
                    let is_lowest = vector.with_form(KeyForm::Double) == deriving(&["DKYL0", "DMAC"]);
                    let is_below = is_lowest && level == 1 && word == "DMAC";
                    assert!(!higher.may_make(vector) || is_below, "DKYL{level} {word} {vector:?}");
                }
            }
            let key_generating = KeyType::KeyGenKy.vector_with(KeyForm::Double, ["UKPT"]).unwrap();
            assert!(!lowest.may_make(key_generating));
        }
    }

    #[test]
    fn levels_go_down_by_one_for_the_same() {
        for (word, derived) in WORDS {
            for level in 0..8u8 {
                let key = Deriving::of(deriving(&[&format!("DKYL{level}"), word])).unwrap();
                for (other, _) in WORDS {
                    for below in 0..8 {
                        let made = deriving(&[&format!("DKYL{below}"), other]);
                        let expected = below + 1 == level && other == word;
                        assert_eq!(key.may_make(made), expected, "{word} {level} {other} {below}");
                    }
                }
                let below = level.checked_sub(1).map(|below| deriving(&[&format!("DKYL{below}"), word]));
                assert_eq!(key.below(derived), below);
                for (other_word, other) in WORDS.into_iter().filter(|(_, other)| *other != derived) {
                    let is_any = derived == Derived::Any;
                    let below = level.checked_sub(1).filter(|_| is_any);
                    let below = below.map(|below| deriving(&[&format!("DKYL{below}"), other_word]));
                    assert_eq!((key.is_for(other), key.below(other)), (is_any, below));
                }
            }
        }
    }

    #[test]
    fn a_derived_key_leaves_in_no_way_in_which_the_generating_key_does_not() {
        let kept = Deriving::of(deriving(&["DKYL0", "DMAC", "NO-XPORT"])).unwrap();
        let free = Deriving::of(deriving(&["DKYL0", "DMAC"])).unwrap();
        let leaving = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        let staying = KeyType::Mac.vector_with(KeyForm::Double, ["NO-XPORT"]).unwrap();
        assert!(free.may_make(leaving) && free.may_make(staying));
        assert!(!kept.may_make(leaving) && kept.may_make(staying));
        let block = bit(CONTROL_VECTOR_BIT_NO_TR31);
        let kept = Deriving::of(deriving(&["DKYL0", "DMAC"]).with_bits(block, true).unwrap()).unwrap();
        assert!(!kept.may_make(leaving) && kept.may_make(leaving.with_bits(block, true).unwrap()));
        let data = Deriving::of(deriving(&["DKYL0", "DDATA", "NO-XPORT"])).unwrap();
        assert!(!data.may_make(ControlVector::ZERO));
        let below = Deriving::of(deriving(&["DKYL1", "DMAC", "NO-XPORT"])).unwrap().below(Derived::Mac);
        assert!(!below.unwrap().bit(17));
    }

    #[test]
    fn other_keys_derive_nothing() {
        for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
            let vector = key_type.default_vector(key_type.default_form()).unwrap();
            assert_eq!(Deriving::of(vector).is_some(), key_type == KeyType::DKyGenKy, "{key_type:?}");
        }
        let vector = deriving(&["DMAC"]);
        assert!(Deriving::of(vector.with_bits(bit(44), true).unwrap()).is_none());
        assert!(Deriving::of(vector.with_bits(bit(18), true).unwrap()).is_none());
        for number in [0u64, 7, 10, 11, 12, 13, 14] {
            let cleared = vector.with_bits(0b1111 << 41, false).unwrap();
            assert!(Deriving::of(cleared.with_bits(number << 41, true).unwrap()).is_none(), "{number}");
        }
    }
}
