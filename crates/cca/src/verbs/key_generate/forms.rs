//! Key forms: the purpose of each token of a generated key, the key that wraps it, and the permitted pairs of
//! types.

use token::KeyType;
use token::usage::{Side, Wrapping};
use wire::{Codes, code};

/// The purpose of a token: the system and the time in which its key is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verbs) enum TokenPurpose {
    /// Here: under the master key.
    Operational,
    /// Here, later: under an IMPORTER key.
    Importable,
    /// Another system: under an EXPORTER key.
    Exportable,
}

/// The purposes of the one or two tokens of a key form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verbs) struct Form {
    pub(in crate::verbs) first: TokenPurpose,
    pub(in crate::verbs) second: Option<TokenPurpose>,
}

impl Form {
    /// Reads the key-form parameter.
    ///
    /// # Errors
    /// 8/41.
    pub(in crate::verbs) fn read(name: &[u8; 4]) -> Result<Self, Codes> {
        use TokenPurpose::{Exportable, Importable, Operational};
        let (first, second) = match name {
            b"OP  " => (Operational, None),
            b"IM  " => (Importable, None),
            b"EX  " => (Exportable, None),
            b"OPOP" => (Operational, Some(Operational)),
            b"OPIM" => (Operational, Some(Importable)),
            b"OPEX" => (Operational, Some(Exportable)),
            b"IMIM" => (Importable, Some(Importable)),
            b"IMEX" => (Importable, Some(Exportable)),
            b"EXEX" => (Exportable, Some(Exportable)),
            _ => return Err(code::KEY_FORM),
        };
        Ok(Self { first, second })
    }

    /// The side of the key-encrypting key for a purpose, and the usage it needs; `None` if the master key wraps. A
    /// single exportable token needs the usage of EXEX, a single importable one that of IMEX (CCA for Linux on IBM Z,
    /// Key_Generate and Key_Generate2, parameters).
    pub(in crate::verbs) fn wrapping(self, purpose: TokenPurpose) -> Option<(Side, Wrapping)> {
        let side = match purpose {
            TokenPurpose::Operational => return None,
            TokenPurpose::Importable => Side::Receiving,
            TokenPurpose::Exportable => Side::Sending,
        };
        let wrapping = match (self.first, self.second) {
            (TokenPurpose::Operational, _) => Wrapping::GeneratedOnce,
            (TokenPurpose::Exportable, None) => Wrapping::GeneratedTwice,
            (TokenPurpose::Importable, None) => Wrapping::GeneratedForBoth,
            (first, Some(second)) if first == second => Wrapping::GeneratedTwice,
            (_, Some(_)) => Wrapping::GeneratedForBoth,
        };
        Some((side, wrapping))
    }

    /// Whether a token goes under a key-encrypting key.
    pub(in crate::verbs) fn is_transported(self) -> bool {
        self.first != TokenPurpose::Operational
            || self.second.is_some_and(|second| second != TokenPurpose::Operational)
    }

    /// Whether a key may be made in this form as one token of this type.
    pub(in crate::verbs) fn takes_one(self, key_type: KeyType) -> bool {
        self.first == TokenPurpose::Operational || SINGLE.contains(&key_type)
    }

    /// The set of this pair of types if a key may be made as such tokens in this form; `None` if it may not.
    pub(in crate::verbs) fn takes_pair(self, one: KeyType, two: KeyType) -> Option<Set> {
        if VARIABLES.contains(&(one, two)) {
            let is_for_another =
                self.first != TokenPurpose::Importable && self.second == Some(TokenPurpose::Exportable);
            return is_for_another.then_some(Set::Extended);
        }
        let pair = PAIRS.iter().find(|pair| (pair.0, pair.1) == (one, two))?;
        match (self.first, self.second?) {
            (TokenPurpose::Operational, TokenPurpose::Exportable)
            | (TokenPurpose::Importable | TokenPurpose::Exportable, TokenPurpose::Exportable) => {
                Some(Set::Usual)
            }
            _ => pair.2,
        }
    }
}

/// The set that a pair of types belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verbs) enum Set {
    Usual,
    /// Both tokens are for one system, which can then undo what it does; or they are for cryptographic variables.
    Extended,
}

/// Types of single keys that leave or come later (CCA for Linux on IBM Z, Key_Generate, usage notes, table 1).
const SINGLE: &[KeyType] = &[
    KeyType::Data,
    KeyType::DataC,
    KeyType::DataM,
    KeyType::DKyGenKy,
    KeyType::KeyGenKy,
    KeyType::Mac,
    KeyType::PinGen,
];

/// Types of the two tokens of a key (as above, table 2): each pair is served in OPEX, EXEX and IMEX, and in OPIM, OPOP
/// and IMIM if a set is given. Pairs of CVAR keys are served in OPEX and EXEX alone, and of the extended set in each:
/// see [`Set`].
const PAIRS: &[(KeyType, KeyType, Option<Set>)] = {
    use KeyType::*;
    const HERE: Option<Set> = Some(Set::Usual);
    const EXTENDED: Option<Set> = Some(Set::Extended);
    &[
        (Cipher, Cipher, HERE),
        (Cipher, Decipher, HERE),
        (Cipher, Encipher, HERE),
        (Data, Data, HERE),
        (DataC, DataC, HERE),
        (DataM, DataM, HERE),
        (DataM, DataMv, HERE),
        (DataMv, DataM, HERE),
        (Decipher, Cipher, HERE),
        (Decipher, Encipher, HERE),
        (DKyGenKy, DKyGenKy, HERE),
        (Encipher, Cipher, HERE),
        (Encipher, Decipher, HERE),
        (Exporter, IKeyXlat, None),
        (Exporter, Importer, None),
        (IKeyXlat, Exporter, None),
        (IKeyXlat, OKeyXlat, None),
        (Importer, Exporter, None),
        (Importer, OKeyXlat, None),
        (IPinEnc, OPinEnc, EXTENDED),
        (KeyGenKy, KeyGenKy, HERE),
        (Mac, Mac, HERE),
        (Mac, MacVer, HERE),
        (MacVer, Mac, HERE),
        (OKeyXlat, IKeyXlat, None),
        (OKeyXlat, Importer, None),
        (OPinEnc, IPinEnc, EXTENDED),
        (PinGen, PinVer, None),
        (PinVer, PinGen, None),
    ]
};

/// Pairs of keys for cryptographic variables (as above, table 2).
const VARIABLES: &[(KeyType, KeyType)] = {
    use KeyType::*;
    &[
        (CVarDec, CVarEnc),
        (CVarDec, CVarPinE),
        (CVarEnc, CVarDec),
        (CVarEnc, CVarXcvL),
        (CVarEnc, CVarXcvR),
        (CVarXcvL, CVarEnc),
        (CVarXcvR, CVarEnc),
        (CVarPinE, CVarDec),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_stands_once_and_with_its_reverse() {
        for (index, (one, two, set)) in PAIRS.iter().enumerate() {
            assert!(
                PAIRS[index + 1..].iter().all(|other| (other.0, other.1) != (*one, *two)),
                "{one:?} {two:?}"
            );
            assert!(PAIRS.contains(&(*two, *one, *set)), "{one:?} {two:?}");
        }
    }

    #[test]
    fn pairs_for_variables_are_of_the_extended_set_and_for_another_system() {
        for (one, two) in VARIABLES {
            assert!(VARIABLES.contains(&(*two, *one)), "{one:?} {two:?}");
            for form in [b"OPEX", b"EXEX", b"IMEX", b"OPOP", b"OPIM", b"IMIM"] {
                let expected = [b"OPEX", b"EXEX"].contains(&form).then_some(Set::Extended);
                assert_eq!(Form::read(form).unwrap().takes_pair(*one, *two), expected);
            }
        }
    }

    #[test]
    fn a_form_says_what_wraps_each_token() {
        let used = |name: &[u8; 4]| {
            let form = Form::read(name).unwrap();
            [Some(form.first), form.second].map(|purpose| purpose.and_then(|purpose| form.wrapping(purpose)))
        };
        let wrap = |side, wrapping| Some((side, wrapping));
        use Side::{Receiving, Sending};
        use Wrapping::{GeneratedForBoth, GeneratedOnce, GeneratedTwice};
        assert_eq!(used(b"OP  "), [None, None]);
        assert_eq!(used(b"IM  "), [wrap(Receiving, GeneratedForBoth), None]);
        assert_eq!(used(b"EX  "), [wrap(Sending, GeneratedTwice), None]);
        assert_eq!(used(b"OPEX"), [None, wrap(Sending, GeneratedOnce)]);
        assert_eq!(used(b"OPIM"), [None, wrap(Receiving, GeneratedOnce)]);
        assert_eq!(used(b"IMEX"), [wrap(Receiving, GeneratedForBoth), wrap(Sending, GeneratedForBoth)]);
        assert_eq!(used(b"EXEX"), [wrap(Sending, GeneratedTwice); 2]);
        assert_eq!(used(b"IMIM"), [wrap(Receiving, GeneratedTwice); 2]);
        for other in [b"EXIM", b"EXOP", b"op  ", b"    "] {
            assert_eq!(Form::read(other), Err(code::KEY_FORM));
        }
    }
}
