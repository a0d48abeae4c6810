//! The keywords that describe a control vector: the inverse of [`KeyType::vector_with`].

use crate::control_vector::ControlVector;
use crate::key_type::{KeyType, USAGE_FIELD};
use crate::unconfirmed::BLOCKS_KEYWORD;

/// Every usage keyword of every type. Of two keywords with the same effect the first is used.
const WORDS: &[&str] = &[
    "XPORT-OK",
    "NO-XPORT",
    "KEY-PART",
    "ANY-MAC",
    "ANSIX9.9",
    "CVVKEY-A",
    "CVVKEY-B",
    "AMEX-CSC",
    "NO-SPEC",
    "IBM-PIN",
    "VISA-PVV",
    "INBK-PIN",
    "GBP-PIN",
    "NL-PIN-1",
    "NOOFFSET",
    "CPINGEN",
    "EPINGENA",
    "EPINGEN",
    "CPINGENA",
    "EPINVER",
    "CPINENC",
    "TRANSLAT",
    "REFORMAT",
    "IMEX",
    "OPEX",
    "OPIM",
    "EXEX",
    "IMIM",
    "EXPORT",
    "IMPORT",
    "XLATE",
    BLOCKS_KEYWORD,
    "UKPT",
    "CLR8-ENC",
    "DKYL0",
    "DKYL1",
    "DKYL2",
    "DKYL3",
    "DKYL4",
    "DKYL5",
    "DKYL6",
    "DKYL7",
    "DDATA",
    "DMAC",
    "DMV",
    "DIMP",
    "DEXP",
    "DPVR",
    "DMKEY",
    "DMPIN",
    "DALL",
    "SMKEY",
    "SMPIN",
    "ENH-ONLY",
];

impl KeyType {
    /// Every usage keyword of the type, without those that have the same effect as another.
    pub fn usage_keywords(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().copied().filter(move |word| self.usage_keyword(word).is_some())
    }

    /// The usage keywords with which [`KeyType::vector_with`] makes this vector of this type;
    /// `None` if no keywords make it.
    pub fn keywords_of(self, vector: ControlVector) -> Option<Vec<&'static str>> {
        let form = vector.form()?;
        let is_said = |word: &&&str| {
            self.usage_keyword(word).is_some_and(|bits| {
                let found = vector.left() & bits.field;
                // Several uses may be set, or none; of any other field one value is.
                let is_use = bits.field == USAGE_FIELD && bits.value != 0;
                if is_use { found & bits.value != 0 } else { found == bits.value }
            })
        };
        let words: Vec<&'static str> = WORDS.iter().filter(is_said).copied().collect();
        (self.vector_with(form, words.iter().copied()) == Ok(vector)).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_vector::{KeyForm, bit};

    #[test]
    fn what_keywords_make_says_them() {
        let forms = [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique, KeyForm::Triple];
        let mut tried = 0;
        for key_type in KeyType::ALL.iter().copied() {
            let own: Vec<&str> = key_type.usage_keywords().collect();
            for form in forms {
                for one in &own {
                    for two in own.iter().chain([one]) {
                        let words = if one == two { vec![*one] } else { vec![*one, *two] };
                        let Ok(vector) = key_type.vector_with(form, words.iter().copied()) else { continue };
                        let said =
                            key_type.keywords_of(vector).unwrap_or_else(|| panic!("{key_type:?} {words:?}"));
                        let form = vector.form().unwrap();
                        assert_eq!(key_type.vector_with(form, said.iter().copied()), Ok(vector));
                        assert!(
                            words.iter().all(|word| said.contains(word)),
                            "{key_type:?} {words:?} {said:?}"
                        );
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 500, "{tried}");
    }

    #[test]
    fn what_no_keyword_makes_says_none() {
        let mac = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        assert_eq!(KeyType::Mac.keywords_of(mac), Some(vec!["XPORT-OK", "ANY-MAC"]));
        assert_eq!(KeyType::Mac.keywords_of(mac.with_bits(bit(20), false).unwrap()), None);
        assert_eq!(KeyType::MacVer.keywords_of(mac), None);
        assert_eq!(KeyType::Data.keywords_of(ControlVector::ZERO), None);
    }
}
