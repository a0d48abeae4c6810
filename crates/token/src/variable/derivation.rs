//! The AES keys that may be derived from a DKYGENKY key (CCA for Linux on IBM Z, "Diversified Key
//! Generate2").
//!
//! A key of level DKYLn derives DKYGENKY keys of the next lower level with the same fields. A key
//! of DKYL0 derives keys of the type that it names, whose usage fields equal those that it carries
//! (KUF-MBE), or permit no more (KUF-MBP). D-ALL derives keys of every type but DKYGENKY and
//! KDKGENKY. Ways of export must be equal (KMF-MBE), and are never more than those of the
//! generating key.

use super::attributes::{Attributes, Completeness};
use super::types::{AttributeField, VariableType};

impl Attributes {
    /// Whether a complete key with these attributes derives keys with the attributes `made`. A key
    /// for DUKPT (A-DUKPT), or for functions of the installation (UDX-ONLY), derives none.
    pub fn derives(&self, made: &Self) -> bool {
        let is_whole = |one: &Self| one.completeness() == Completeness::Complete;
        if self.key_type != VariableType::DkyGenKy || !is_whole(self) || !is_whole(made) {
            return false;
        }
        if self.usage[0] & (UDX_ONLY | A_DUKPT) != 0 || !self.leaves_for(made) {
            return false;
        }
        match (self.usage[1] & LEVEL).checked_sub(1) {
            Some(below) => {
                let mut expected = self.usage.clone();
                expected[1] = self.usage[1] & !LEVEL | below;
                made.key_type == VariableType::DkyGenKy && made.usage == expected
            }
            None => match self.derived_type() {
                Some(derived) => made.key_type == derived && self.gives(made),
                None => {
                    let derives_others = matches!(
                        made.key_type,
                        VariableType::DkyGenKy | VariableType::KdkGenKy | VariableType::Hmac
                    );
                    !derives_others && made.usage[0] & UDX_ONLY == 0
                }
            },
        }
    }

    /// Whether a complete base key of DUKPT (DKYGENKY with A-DUKPT, DKYL0) with these attributes
    /// derives transaction keys with the attributes `made`: PINPROT, MAC and CIPHER keys. If the
    /// base key names a type, they must have that type, with fields that permit no more.
    pub fn derives_for_transactions(&self, made: &Self) -> bool {
        let is_whole = |one: &Self| one.completeness() == Completeness::Complete;
        let is_base = self.key_type == VariableType::DkyGenKy
            && self.usage[0] & (UDX_ONLY | A_DUKPT) == A_DUKPT
            && self.usage[1] & LEVEL == 0;
        if !is_base || !is_whole(self) || !is_whole(made) || !self.leaves_for(made) {
            return false;
        }
        let types = [VariableType::PinProt, VariableType::Mac, VariableType::Cipher];
        let is_named = match self.derived_type() {
            Some(derived) => made.key_type == derived && self.gives(made),
            None => true,
        };
        is_named && types.contains(&made.key_type) && made.usage[0] & UDX_ONLY == 0
    }

    /// Whether the key derives keys of every type.
    pub fn derives_any(&self) -> bool {
        self.key_type == VariableType::DkyGenKy && self.usage[0] & 0xFF00 == 0
    }

    /// Whether the usage fields of a key are those that this key carries, or permit no more.
    fn gives(&self, made: &Self) -> bool {
        let carried = &self.usage[2..];
        if self.usage[1] & KUF_EQUAL != 0 || carried.len() != made.usage.len() {
            return carried == made.usage;
        }
        let words = made.key_type.row().words;
        (0..).zip(carried).zip(&made.usage).all(|((field, carried), made)| {
            let of_field = words.iter().filter(|word| word.field == AttributeField::Usage(field));
            let (mut permits, mut known) = (0, 0);
            for word in of_field {
                known |= word.mask;
                let narrows = matches!(word.text, "C-XLATE" | "UDX-ONLY" | "UDX-100" | "UDX-010" | "UDX-001");
                // A bit by itself, or one of the two bits for making and verifying.
                if (word.mask.is_power_of_two() || word.mask == WAYS) && !narrows {
                    permits |= word.mask;
                }
            }
            let same = known & !permits;
            made & permits & !carried == 0 && made & same == carried & same && made & !known == 0
        })
    }

    /// Whether a key with the attributes `made` may be exported only in ways in which this key may
    /// be exported.
    fn leaves_for(&self, made: &Self) -> bool {
        let (own, other) = (self.management[0], made.management[0]);
        let is_equal = own == other;
        let is_permitted = other & 0xFF00 & !own == 0 && own & 0x00FF & !other == 0;
        is_equal || (self.usage[1] & KMF_EQUAL == 0 && is_permitted)
    }
}

const UDX_ONLY: u16 = 0x0008;
const A_DUKPT: u16 = 0x0080;
const LEVEL: u16 = 0x00FF;
/// KUF-MBE: usage fields must be equal.
const KUF_EQUAL: u16 = 0x8000;
/// KMF-MBE: management fields must be equal.
const KMF_EQUAL: u16 = 0x2000;
const WAYS: u16 = 0xC000;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key_type: VariableType, words: &[&str], derived: Option<&Attributes>) -> Attributes {
        Attributes::new(key_type, words.iter().copied(), derived).unwrap()
    }

    fn deriving(words: &[&str], derived: &Attributes) -> Attributes {
        of(VariableType::DkyGenKy, words, Some(derived))
    }

    /// A sample of each type, and the keyword of a key that derives that type.
    fn types() -> Vec<(Attributes, Option<&'static str>)> {
        vec![
            (of(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "CBC"], None), Some("D-CIPHER")),
            (of(VariableType::Mac, &["GENERATE", "CMAC"], None), Some("D-MAC")),
            (of(VariableType::Exporter, &[], None), Some("D-EXP")),
            (of(VariableType::Importer, &[], None), Some("D-IMP")),
            (of(VariableType::PinProt, &["ENCRYPT", "EPINGEN", "NOFLDFMT", "ISO-4"], None), Some("D-PPROT")),
            (of(VariableType::PinCalc, &[], None), Some("D-PCALC")),
            (of(VariableType::PinPrw, &["GENONLY"], None), Some("D-PPRW")),
            (of(VariableType::SecMsg, &[], None), Some("D-SECMSG")),
            (of(VariableType::DkyGenKy, &["D-ALL"], None), None),
            (of(VariableType::Hmac, &["GENERATE"], None), None),
        ]
    }

    #[test]
    fn every_pair_of_a_generating_key_and_a_type_is_permitted_or_not() {
        let any = of(VariableType::DkyGenKy, &["D-ALL", "DKYL0"], None);
        for (made, word) in types() {
            assert_eq!(any.derives(&made), word.is_some(), "{made:?}");
            assert!(!made.derives(&any) && any.derives_any() && !made.derives(&made));
            for (other, other_word) in types() {
                let Some(word) = other_word else { continue };
                let lowest = deriving(&[word, "DKYL0"], &other);
                assert_eq!(lowest.derives(&made), other == made, "{word} {made:?}");
                assert!(!deriving(&[word, "DKYL1"], &other).derives(&made) && !lowest.derives_any());
            }
        }
    }

    #[test]
    fn levels_go_down_by_one_with_the_same_fields() {
        let mac = of(VariableType::Mac, &["GENERATE", "CMAC"], None);
        let other = of(VariableType::Mac, &["VERIFY", "CMAC"], None);
        let levels = ["DKYL0", "DKYL1", "DKYL2"];
        for (at, level) in levels.iter().enumerate() {
            let key = deriving(&["D-MAC", level], &mac);
            for (below, other_level) in levels.iter().enumerate() {
                assert_eq!(key.derives(&deriving(&["D-MAC", other_level], &mac)), below + 1 == at);
                assert!(!key.derives(&deriving(&["D-MAC", other_level], &other)));
                assert!(!key.derives(&deriving(&["D-MAC", "KUF-MBE", other_level], &mac)));
                assert!(!key.derives(&of(VariableType::DkyGenKy, &["D-ALL", other_level], None)));
            }
        }
    }

    #[test]
    fn fields_permit_no_more_than_those_that_are_carried() {
        let both = of(VariableType::Mac, &["GENERATE", "CMAC"], None);
        let verifies = of(VariableType::Mac, &["VERIFY", "CMAC"], None);
        let makes = of(VariableType::Mac, &["GENONLY", "CMAC"], None);
        let permitted = deriving(&["D-MAC", "DKYL0", "KUF-MBP"], &both);
        assert!(permitted.derives(&both) && permitted.derives(&verifies) && permitted.derives(&makes));
        let equal = deriving(&["D-MAC", "DKYL0", "KUF-MBE"], &both);
        assert!(equal.derives(&both) && !equal.derives(&verifies) && !equal.derives(&makes));
        let narrow = deriving(&["D-MAC", "DKYL0"], &verifies);
        assert!(narrow.derives(&verifies) && !narrow.derives(&both) && !narrow.derives(&makes));
        let translates = of(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "C-XLATE", "CBC"], None);
        let enciphers = of(VariableType::Cipher, &["ENCRYPT", "CBC"], None);
        let kept = deriving(&["D-CIPHER", "DKYL0"], &translates);
        assert!(kept.derives(&translates) && !kept.derives(&enciphers));
    }

    #[test]
    fn a_derived_key_leaves_in_no_way_in_which_the_generating_key_does_not() {
        let mac = of(VariableType::Mac, &["GENERATE", "CMAC"], None);
        let of_export =
            |words: &[&str]| of(VariableType::Mac, &[&["GENERATE", "CMAC"], words].concat(), None);
        let free = deriving(&["D-MAC", "XPRT-SYM", "XPRT-AES"], &mac);
        let kept = deriving(&["D-MAC", "NOEX-SYM", "NOEX-AES"], &mac);
        let leaving = of_export(&["XPRT-SYM", "XPRT-AES"]);
        let staying = of_export(&["NOEX-SYM", "NOEX-AES"]);
        assert!(free.derives(&leaving) && free.derives(&staying));
        assert!(!kept.derives(&leaving) && kept.derives(&staying));
        let equal = deriving(&["D-MAC", "KMF-MBE", "XPRT-SYM", "XPRT-AES"], &mac);
        assert!(equal.derives(&leaving) && !equal.derives(&staying));
    }

    #[test]
    fn keys_for_others_and_parts_derive_nothing() {
        let mac = of(VariableType::Mac, &["GENERATE", "CMAC"], None);
        let any = of(VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"], None);
        assert!(!any.derives(&mac));
        assert!(!deriving(&["D-MAC", "UDX-ONLY"], &mac).derives(&mac));
        let part = super::super::Pedigree::ClearParts;
        let key = deriving(&["D-MAC"], &mac);
        assert!(key.derives(&mac) && !key.clone().made(part, Completeness::OneMissing).derives(&mac));
        assert!(!key.derives(&mac.clone().made(part, Completeness::Sufficient)));
    }
}
