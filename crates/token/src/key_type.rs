//! DES key types by name, their default control vectors, and the keywords that restrict their
//! usage.
//!
//! Default vectors: z/OS ICSF Application Programmer's Guide, table of default control vectors; the
//! same values as in the CCA Basic Services manual, appendix C.

use crate::control_vector::{ControlVector, KeyForm, bit};
use crate::unconfirmed;

macro_rules! key_types {
    ($($(#[$doc:meta])* $variant:ident $name:literal $single:expr, $double:expr;)*) => {
        /// A DES key type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum KeyType { $($(#[$doc])* $variant),* }

        impl KeyType {
            /// Every key type.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Name of the type, without blanks.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            const fn defaults(self) -> (Option<u64>, Option<u64>) {
                match self { $(Self::$variant => ($single, $double)),* }
            }
        }
    };
}

key_types! {
    /// Encipher, decipher, and make MACs.
    Data "DATA" Some(0x0000_7D00_0300_0000), Some(0x0000_7D00_0341_0000);
    /// Encipher and decipher, but make no MACs; a type of the DATA family.
    DataC "DATAC" None, Some(0x0000_7100_0341_0000);
    /// Generate and verify MACs; a type of the DATA family.
    DataM "DATAM" None, Some(0x0000_4D00_0341_0000);
    /// Verify MACs; a type of the DATA family.
    DataMv "DATAMV" None, Some(0x0000_4400_0341_0000);
    /// Encipher and decipher; a type of the CIPHER family.
    Cipher "CIPHER" Some(0x0003_7100_0300_0000), Some(0x0003_7100_0341_0000);
    /// Encipher only.
    Encipher "ENCIPHER" Some(0x0003_6000_0300_0000), Some(0x0003_6000_0341_0000);
    /// Decipher only.
    Decipher "DECIPHER" Some(0x0003_5000_0300_0000), Some(0x0003_5000_0341_0000);
    /// Input key of a cipher-text translation.
    CipherXi "CIPHERXI" None, Some(0x000C_5000_03C0_0000);
    /// Output key of a cipher-text translation.
    CipherXo "CIPHERXO" None, Some(0x000C_6000_03C0_0000);
    /// Either key of a cipher-text translation.
    CipherXl "CIPHERXL" None, Some(0x000C_7100_03C0_0000);
    /// Generate and verify MACs.
    Mac "MAC" Some(0x0005_4D00_0300_0000), Some(0x0005_4D00_0341_0000);
    /// Verify MACs.
    MacVer "MACVER" Some(0x0005_4400_0300_0000), Some(0x0005_4400_0341_0000);
    /// Decipher incoming PIN blocks.
    IPinEnc "IPINENC" None, Some(0x0021_5F00_0341_0000);
    /// Encipher outgoing PIN blocks.
    OPinEnc "OPINENC" None, Some(0x0024_7700_0341_0000);
    /// Generate PINs.
    PinGen "PINGEN" None, Some(0x0022_7E00_0341_0000);
    /// Verify PINs.
    PinVer "PINVER" None, Some(0x0022_4200_0341_0000);
    /// Wrap keys for another system.
    Exporter "EXPORTER" None, Some(0x0041_7D00_0341_0000);
    /// Wrap keys for another system, in translation only.
    OKeyXlat "OKEYXLAT" None, Some(0x0041_4200_0341_0000);
    /// Unwrap keys of another system.
    Importer "IMPORTER" None, Some(0x0042_7D00_0341_0000);
    /// Unwrap keys of another system, in translation only.
    IKeyXlat "IKEYXLAT" None, Some(0x0042_4200_0341_0000);
    /// Unwrap private keys of another system.
    ImpPka "IMP-PKA" None, Some(0x0042_0500_0341_0000);
    /// Derive keys from data: level DKYL0, for MAC keys.
    DKyGenKy "DKYGENKY" None, Some(0x0071_4400_0341_0000);
    /// Derive keys; this type has no default vector, but needs CLR8-ENC or UKPT.
    KeyGenKy "KEYGENKY" None, None;
    /// Encipher keys or PINs in messages for a card; this type has no default vector, but needs
    /// SMKEY or SMPIN.
    SecMsg "SECMSG" None, None;
    /// Encipher cryptographic variables.
    CVarEnc "CVARENC" Some(0x003F_4800_0300_0000), None;
    /// Decipher cryptographic variables.
    CVarDec "CVARDEC" Some(0x003F_4200_0300_0000), None;
    /// Encipher cryptographic variables for PINs.
    CVarPinE "CVARPINE" Some(0x003F_4100_0300_0000), None;
    /// Translate cryptographic variables, left key.
    CVarXcvL "CVARXCVL" Some(0x003F_4400_0300_0000), None;
    /// Translate cryptographic variables, right key.
    CVarXcvR "CVARXCVR" Some(0x003F_4700_0300_0000), None;
}

impl KeyType {
    /// The type of this name; trailing blanks are padding.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let name = name.trim_ascii_end();
        Self::ALL.iter().copied().find(|key_type| key_type.name().as_bytes() == name)
    }

    /// Whether a control vector belongs to this type: it has the same main type and subtype, and
    /// permits no use that the type does not have.
    pub fn covers(self, vector: ControlVector) -> bool {
        if vector.is_zero() {
            return self == Self::Data;
        }
        self.has_type_bits(vector) && vector.left() & USAGE_FIELD & !self.usage_bits() == 0
    }

    /// The type of a control vector: among the types that cover it the one with the fewest uses;
    /// `None` if no type covers it. A vector of zeros is of DATA.
    pub fn of(vector: ControlVector) -> Option<Self> {
        let covering = Self::ALL.iter().copied().filter(|key_type| key_type.covers(vector));
        let is_named = |key_type: &Self| match key_type {
            // An IMPORTER that only imports and may not be exported is for private keys.
            Self::ImpPka => vector.is_for_private_keys(),
            // Without any use of its type, a key protects key blocks.
            Self::OKeyXlat | Self::IKeyXlat => !vector.protects_blocks_alone(),
            _ => true,
        };
        covering.filter(is_named).min_by_key(|key_type| key_type.usage_bits().count_ones())
    }

    /// Whether main type and subtype match. The subtype of a DKYGENKY key is its level, and every
    /// level is of that type.
    fn has_type_bits(self, vector: ControlVector) -> bool {
        let (single, double) = self.defaults();
        let left = double.or(single).or(self.base()).unwrap_or_default();
        let (main, sub) = ((left >> 52) as u8 & 0xF, (left >> 49) as u8 & 0x7);
        vector.type_bits().0 == main && (vector.type_bits().1 == sub || self == Self::DKyGenKy)
    }

    /// The usage bits of the type's default vector, and those that its keywords can add.
    fn usage_bits(self) -> u64 {
        let (single, double) = self.defaults();
        let added = match self {
            Self::Exporter | Self::Importer => bit(22),
            Self::KeyGenKy | Self::SecMsg => bit(18) | bit(19),
            Self::DKyGenKy => USAGE_FIELD,
            _ => 0,
        };
        (single.or(double).unwrap_or(0) & USAGE_FIELD) | added
    }

    /// The default control vector for a key of this form; `None` if the type has none of that
    /// length.
    ///
    /// Of triple length there are keys of every type that has a double length, but those that derive
    /// keys (EMV book 2, A1.4, and ANSI X9.24-1 have two parts), encipher messages to cards, and
    /// translate texts. The original
    /// wrapping is for those of DATA alone. Double-length forms of the DATA and CIPHER families
    /// differ in key form only.
    pub fn default_vector(self, form: KeyForm) -> Option<ControlVector> {
        let (single, double) = self.defaults();
        let vector = |left: Option<u64>| left.and_then(|left| ControlVector::of_left(left).ok());
        match form {
            KeyForm::Single => vector(single),
            KeyForm::Double => vector(double),
            KeyForm::DoubleUnique => vector(double).map(|vector| vector.with_form(form)),
            KeyForm::Triple | KeyForm::TripleUnique => {
                let tail = match self {
                    Self::Data => unconfirmed::TRIPLE_TAIL_ORIGINAL_WRAPPING,
                    Self::DKyGenKy | Self::CipherXi | Self::CipherXo | Self::CipherXl => return None,
                    _ => TRIPLE_TAIL,
                };
                vector(double.map(|left| left | tail)).map(|vector| vector.with_form(form))
            }
        }
    }

    /// Whether keys with this control vector exist in the length that it states: of three parts those
    /// of some types and uses alone.
    pub fn has_length(vector: ControlVector) -> bool {
        let has_three = |key_type: Self| key_type.default_vector(KeyForm::Triple).is_some();
        !vector.is_triple() || !vector.is_of_two_parts() && Self::of(vector).is_some_and(has_three)
    }

    /// The length that Key_Generate and Key_Token_Build use if the caller asks for none.
    pub fn default_form(self) -> KeyForm {
        match self {
            Self::Data | Self::Cipher | Self::Encipher | Self::Decipher | Self::Mac | Self::MacVer => {
                KeyForm::Single
            }
            _ if self.defaults().0.is_some() => KeyForm::Single,
            _ => KeyForm::Double,
        }
    }

    /// The effect of a usage keyword on the vector of this type; `None` if the type does not have
    /// this keyword.
    pub fn usage_keyword(self, keyword: &str) -> Option<UsageBits> {
        const METHODS: u64 = 0xF << 60;
        let usage = |index| Some(UsageBits { field: USAGE_FIELD, value: bit(index) });
        let method = |number: u64| Some(UsageBits { field: METHODS, value: number << 60 });
        match (self, keyword) {
            (_, "XPORT-OK") => Some(UsageBits { field: bit(17), value: bit(17) }),
            (_, "NO-XPORT") => Some(UsageBits { field: bit(17), value: 0 }),
            (_, "ENH-ONLY") => Some(UsageBits { field: bit(56), value: bit(56) }),
            (_, "KEY-PART") => Some(UsageBits { field: bit(44), value: bit(44) }),
            (Self::Mac | Self::MacVer, "ANY-MAC") => method(0),
            (Self::Mac | Self::MacVer, "ANSIX9.9") => method(1),
            (Self::Mac | Self::MacVer, "CVVKEY-A") => method(2),
            (Self::Mac | Self::MacVer, "CVVKEY-B") => method(3),
            (Self::Mac | Self::MacVer, "AMEX-CSC") => method(4),
            (Self::PinGen | Self::PinVer, "NO-SPEC") => method(0),
            (Self::PinGen | Self::PinVer, "IBM-PIN" | "IBM-PINO") => method(1),
            (Self::PinGen | Self::PinVer, "VISA-PVV") => method(2),
            (Self::PinGen | Self::PinVer, "INBK-PIN") => method(3),
            (Self::PinGen | Self::PinVer, "GBP-PIN" | "GBP-PINO") => method(4),
            (Self::PinGen | Self::PinVer, "NL-PIN-1") => method(5),
            (Self::PinGen | Self::PinVer, "NOOFFSET") => Some(UsageBits { field: bit(37), value: bit(37) }),
            (Self::PinGen, "CPINGEN") => usage(18),
            (Self::PinGen, "EPINGENA") => usage(19),
            (Self::PinGen, "EPINGEN") => usage(20),
            (Self::PinGen, "CPINGENA") => usage(21),
            (Self::PinGen, "EPINVER") => usage(22),
            (Self::IPinEnc, "EPINVER") => usage(19),
            (Self::IPinEnc, "CPINGENA") => usage(20),
            (Self::OPinEnc, "CPINENC") => usage(18),
            (Self::OPinEnc, "EPINGEN") => usage(19),
            (Self::IPinEnc | Self::OPinEnc, "TRANSLAT") => usage(21),
            (Self::IPinEnc | Self::OPinEnc, "REFORMAT") => usage(22),
            (Self::Exporter | Self::Importer, "IMEX") => usage(18),
            (Self::Exporter, "OPEX") | (Self::Importer, "OPIM") => usage(19),
            (Self::Exporter, "EXEX") | (Self::Importer, "IMIM") => usage(20),
            (Self::Exporter, "EXPORT") | (Self::Importer, "IMPORT") => usage(21),
            (Self::Exporter | Self::Importer, "XLATE") => usage(22),
            (Self::Exporter | Self::Importer, unconfirmed::BLOCKS_KEYWORD) => {
                Some(UsageBits { field: USAGE_FIELD, value: 0 })
            }
            (Self::KeyGenKy, "UKPT") => usage(18),
            (Self::KeyGenKy, "CLR8-ENC") => usage(19),
            (Self::SecMsg, "SMKEY") => usage(18),
            (Self::SecMsg, "SMPIN") => usage(19),
            (Self::DKyGenKy, _) => derivation_keyword(keyword),
            _ => None,
        }
    }

    /// The control vector that the default vector and a list of usage keywords make.
    ///
    /// The first keyword of a usage group clears the default bits of that group; further keywords
    /// add bits.
    ///
    /// # Errors
    /// [`UsageError`] names the keyword that does not belong to the type, or says what is missing.
    pub fn vector_with<'k>(
        self,
        form: KeyForm,
        keywords: impl IntoIterator<Item = &'k str>,
    ) -> Result<ControlVector, UsageError> {
        let vector = match self.base() {
            Some(_) if form.key_bytes() == KeyForm::Triple.key_bytes() => None,
            Some(left) => ControlVector::of_left(left).ok().map(|vector| vector.with_form(form)),
            None => self.default_vector(form).or_else(|| self.narrowed_to(form)),
        };
        let mut vector = vector.ok_or(UsageError::Form)?;
        let mut cleared = 0u64;
        let mut for_blocks = None;
        for (index, keyword) in keywords.into_iter().enumerate() {
            let bits = self.usage_keyword(keyword).ok_or(UsageError::Keyword(index))?;
            if keyword == unconfirmed::BLOCKS_KEYWORD {
                for_blocks = Some(index);
            }
            if cleared & bits.field == 0 {
                vector = vector.with_bits(bits.field, false).map_err(|_| UsageError::Form)?;
                cleared |= bits.field;
            } else if bits.field != USAGE_FIELD {
                return Err(UsageError::Combination(index));
            }
            vector = vector.with_bits(bits.value, true).map_err(|_| UsageError::Form)?;
        }
        if !self.has_default() && !vector.bit(18) && !vector.bit(19) {
            return Err(UsageError::UsageMissing);
        }
        if let Some(index) = for_blocks.filter(|_| vector.left() & USAGE_FIELD != 0) {
            return Err(UsageError::Combination(index));
        }
        if vector.is_triple() && vector.is_of_two_parts() {
            return Err(UsageError::Form);
        }
        Ok(vector)
    }

    /// Whether the type has a default control vector; the other types need a keyword that gives the
    /// use of their keys.
    pub const fn has_default(self) -> bool {
        self.base().is_none()
    }

    /// Left half of the vector of a type without a default: double length, exportable, with no
    /// usage bit set.
    const fn base(self) -> Option<u64> {
        match self {
            Self::KeyGenKy => Some(KEYGENKY_BASE),
            Self::SecMsg => Some(SECMSG_BASE),
            _ => None,
        }
    }

    /// Single-length forms of the DATA family exist as usage patterns without a printed default.
    fn narrowed_to(self, form: KeyForm) -> Option<ControlVector> {
        match self {
            Self::DataC | Self::DataM | Self::DataMv if form == KeyForm::Single => {
                self.default_vector(KeyForm::Double).map(|vector| vector.with_form(form))
            }
            _ => None,
        }
    }
}

/// The effect of a usage keyword on the left half of a control vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageBits {
    /// The bits that the keyword's group decides.
    pub field: u64,
    /// The bits among them that the keyword sets.
    pub value: u64,
}

/// Why keywords cannot make a control vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageError {
    /// The key type does not have the keyword at this index.
    Keyword(usize),
    /// The keyword at this index contradicts an earlier one.
    Combination(usize),
    /// The key type has no key of this length.
    Form,
    /// The key type needs a usage keyword.
    UsageMissing,
}

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keyword(index) => write!(f, "usage keyword {index} does not belong to the key type"),
            Self::Combination(index) => write!(f, "usage keyword {index} contradicts an earlier one"),
            Self::Form => f.write_str("the key type has no key of this length"),
            Self::UsageMissing => f.write_str("the key type needs a usage keyword"),
        }
    }
}

impl std::error::Error for UsageError {}

/// Keywords of DKYGENKY: the level in bits 12-14, the derived keys in bits 19-22.
fn derivation_keyword(keyword: &str) -> Option<UsageBits> {
    if let Some(level) = keyword.strip_prefix("DKYL") {
        let level = level.parse::<u64>().ok().filter(|level| *level <= 7 && keyword.len() == 5)?;
        return Some(UsageBits { field: 0b111 << 49, value: level << 49 });
    }
    let number: u64 = match keyword {
        "DDATA" => 1,
        "DMAC" => 2,
        "DMV" => 3,
        "DIMP" => 4,
        "DEXP" => 5,
        "DPVR" => 6,
        "DMKEY" => 8,
        "DMPIN" => 9,
        "DALL" => 15,
        _ => return None,
    };
    Some(UsageBits { field: 0b1111 << 41, value: number << 41 })
}

/// The last two bytes of the default control vectors of triple-length keys: only the enhanced
/// wrapping, and parity.
const TRIPLE_TAIL: u64 = 0x0081;
/// Bits 18-22, which hold the usage.
pub(crate) const USAGE_FIELD: u64 = 0b1_1111 << 41;
/// Left half of KEYGENKY: double length, exportable, with no usage bit set; the usage bit brings
/// the parity.
const KEYGENKY_BASE: u64 = 0x0053_4100_0341_0000;
/// Left half of SECMSG: double length, exportable, with no usage bit set.
const SECMSG_BASE: u64 = 0x000A_4100_0341_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_of_the_narrowest_type_that_covers_it() {
        for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
            let form = key_type.default_form();
            assert_eq!(KeyType::of(key_type.default_vector(form).unwrap()), Some(key_type));
        }
        let of = |key_type: KeyType, words: &[&str]| {
            KeyType::of(key_type.vector_with(KeyForm::Double, words.iter().copied()).unwrap())
        };
        assert_eq!(of(KeyType::KeyGenKy, &["UKPT"]), Some(KeyType::KeyGenKy));
        assert_eq!(of(KeyType::Exporter, &["XLATE"]), Some(KeyType::OKeyXlat));
        assert_eq!(of(KeyType::Importer, &["IMPORT"]), Some(KeyType::Importer));
        assert_eq!(of(KeyType::DKyGenKy, &["DKYL3", "DALL"]), Some(KeyType::DKyGenKy));
        assert_eq!(of(KeyType::Data, &["NO-XPORT"]), Some(KeyType::Data));
        assert_eq!(KeyType::of(ControlVector::ZERO), Some(KeyType::Data));
        assert!(KeyType::Mac.covers(KeyType::MacVer.default_vector(KeyForm::Double).unwrap()));
        assert!(!KeyType::MacVer.covers(KeyType::Mac.default_vector(KeyForm::Double).unwrap()));
        assert!(!KeyType::DataC.covers(ControlVector::ZERO));
    }

    #[test]
    fn every_default_is_well_formed_and_found_by_name() {
        for key_type in KeyType::ALL.iter().copied() {
            let padded = format!("{:8}", key_type.name());
            assert_eq!(KeyType::from_name(padded.as_bytes()), Some(key_type));
            let (single, double) = key_type.defaults();
            for (left, form) in [(single, KeyForm::Single), (double, KeyForm::Double)] {
                let vector = key_type.default_vector(form);
                assert_eq!(left.is_some(), vector.is_some(), "{key_type:?} {form:?}");
                let Some(vector) = vector else { continue };
                assert_eq!(Some(vector.left()), left);
                assert_eq!(vector.form().unwrap().key_bytes(), form.key_bytes(), "{key_type:?}");
            }
            if key_type.has_default() {
                assert!(key_type.default_vector(key_type.default_form()).is_some(), "{key_type:?}");
            }
        }
        assert_eq!(KeyType::from_name(b"data    "), None);
        assert_eq!(KeyType::from_name(b""), None);
    }

    #[test]
    fn keywords_make_vectors() {
        let left = |key_type: KeyType, keywords: &[&str]| {
            key_type.vector_with(KeyForm::Double, keywords.iter().copied()).map(ControlVector::left)
        };
        assert_eq!(left(KeyType::KeyGenKy, &["CLR8-ENC"]), Ok(unconfirmed::KEYGENKY_CLR8_ENC));
        assert_eq!(left(KeyType::KeyGenKy, &["UKPT"]), Ok(unconfirmed::KEYGENKY_UKPT));
        assert_eq!(left(KeyType::KeyGenKy, &[]), Err(UsageError::UsageMissing));
        assert_eq!(left(KeyType::DKyGenKy, &["DKYL0", "DMAC"]), Ok(0x0071_4400_0341_0000));
        assert_eq!(left(KeyType::Mac, &["CVVKEY-A"]).map(|left| left >> 60), Ok(2));
        assert_eq!(left(KeyType::Mac, &["CVVKEY-A", "ANY-MAC"]), Err(UsageError::Combination(1)));
        assert_eq!(left(KeyType::Mac, &["CLR8-ENC"]), Err(UsageError::Keyword(0)));
        assert_eq!(left(KeyType::IPinEnc, &["TRANSLAT", "REFORMAT"]), Ok(0x0021_4600_0341_0000 | bit(23)));
        assert_eq!(left(KeyType::CVarEnc, &[]), Err(UsageError::Form));
        assert_eq!(left(KeyType::Exporter, &["NO-XPORT"]).map(|left| left & bit(17)), Ok(0));
    }
}
