//! Skeletons of kinds: the tokens that keys are generated into, as keywords make them. A wrong keyword is named, with
//! the ones that the kind has, before a card is asked.

use super::NamedKind;
use std::fmt;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::key_type::UsageError;
use token::pka::ecc::{self, Derivation, DerivedAlgorithm, DerivedType, EccAttributes, EccCurve};
use token::pka::{self, Usage as RsaUse};
use token::variable::{Attributes, AttributesError, VariableType};
use token::{DesToken, KeyType, VariableToken};

/// Public exponent of RSA keys.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// Keywords of CCA that narrow what a key is for. What they leave open stays as the kind has it.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pub(super) own: Vec<String>,
    derived: Vec<String>,
}

impl Usage {
    /// Keywords of a key, and of the keys that it derives, in either case.
    pub fn new<W: AsRef<str>>(own: &[W], derived: &[W]) -> Self {
        let upper =
            |words: &[W]| words.iter().map(|word| word.as_ref().trim().to_ascii_uppercase()).collect();
        Self { own: upper(own), derived: upper(derived) }
    }
}

/// Which part of a wanted key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The keywords of the key.
    Usage,
    /// The keywords of the keys that it derives.
    DerivedUsage,
    /// The kind of the keys that it agrees on.
    Derives,
}

/// Why a kind has no such skeleton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkeletonError {
    /// The kind of the key.
    pub kind: NamedKind,
    /// The part that is refused.
    pub about: About,
    /// The cause, with the keywords or kinds that are allowed.
    pub cause: String,
}

impl std::error::Error for SkeletonError {}

impl fmt::Display for SkeletonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = match self.about {
            About::Usage => "usage",
            About::DerivedUsage => "derived usage",
            About::Derives => "keys to agree on",
        };
        write!(f, "{}: {about}: {}", self.kind.name(), self.cause)
    }
}

impl NamedKind {
    /// An internal token of this kind without a key. Empty for AES in tokens of fixed length, which need none.
    ///
    /// `derives` is the kind of the keys that a key of a curve agrees on; without it, CIPHER keys as strong as the
    /// curve.
    ///
    /// # Errors
    /// The first keyword that the kind does not have, a keyword that is missing, or a contradiction.
    pub fn skeleton(self, usage: &Usage, derives: Option<Self>) -> Result<Vec<u8>, SkeletonError> {
        if derives.is_some() && !matches!(self, Self::Agreeing(_)) {
            return Err(self.refused(About::Derives, "for keys that agree, such as p256-agree"));
        }
        if !usage.derived.is_empty() && !matches!(self, Self::Aes(_, VariableType::DkyGenKy)) {
            return Err(
                self.refused(About::DerivedUsage, "for keys that derive others, such as aes256-dkygenky")
            );
        }
        match self {
            Self::Des(form, key_type) => self.des(form, key_type, &usage.own),
            Self::AesData(_) if usage.own.is_empty() => Ok(Vec::new()),
            Self::AesData(bits) => Err(self.usage(format!(
                "a key in a token of fixed length has no uses to choose from; aes{bits}-cipher has"
            ))),
            Self::Aes(_, key_type) => self.variable(key_type, usage),
            Self::Hmac(_) => self.variable(VariableType::Hmac, usage),
            Self::Rsa(bits, use_of, form) => {
                let attributes = self.private(use_of, &usage.own)?;
                let hashes = (engine::sha1, engine::sha256);
                pka::skeleton_token(form, usize::from(bits), &EXPONENT, &attributes, &hashes)
                    .map_err(|error| self.usage(error.to_string()))
            }
            Self::Signing(curve) => {
                let common = self.private(RsaUse::SignatureOnly, &usage.own)?;
                let attributes = EccAttributes { common, ..EccAttributes::default() };
                ecc::skeleton_token(curve, &attributes).map_err(|error| self.usage(error.to_string()))
            }
            Self::Agreeing(curve) => {
                let common = self.private(RsaUse::KeyManagementOnly, &usage.own)?;
                let derivation = Some(self.derivation(derives.unwrap_or(as_strong_as(curve)))?);
                let attributes =
                    EccAttributes { common, is_version_1: true, derivation, ..EccAttributes::default() };
                ecc::skeleton_token(curve, &attributes).map_err(|error| self.usage(error.to_string()))
            }
        }
    }

    /// A refusal of a part of the key.
    fn refused(self, about: About, cause: impl Into<String>) -> SkeletonError {
        SkeletonError { kind: self, about, cause: cause.into() }
    }

    /// A refusal of the keywords of the key.
    fn usage(self, cause: impl Into<String>) -> SkeletonError {
        self.refused(About::Usage, cause)
    }

    fn des(self, form: KeyForm, key_type: KeyType, usage: &[String]) -> Result<Vec<u8>, SkeletonError> {
        let words = usage.iter().map(String::as_str);
        let vector = key_type.vector_with(form, words).map_err(|error| match error {
            UsageError::Keyword(at) => self.no_keyword(&usage[at]),
            UsageError::Combination(at) => self.contradiction(&usage[at]),
            UsageError::UsageMissing => self.needs_keyword(),
            UsageError::Form => self.usage("the type has no key of this length"),
        })?;
        self.check_method(key_type, usage)?;
        if vector.is_key_part() {
            return Err(self.usage("KEY-PART: set by itself where a key is entered in parts"));
        }
        let token = DesToken::skeleton(Origin::Internal, vector.form().unwrap_or(form), vector);
        Ok(token.map_err(|error| self.usage(error.to_string()))?.to_bytes().to_vec())
    }

    /// Refuses a key of PINs without a method. CCA's default is every method, and then a key of PVVs takes offsets of
    /// IBM 3624 as well: each offset that a verifier chooses is a guess of a chosen PIN.
    fn check_method(self, key_type: KeyType, usage: &[String]) -> Result<(), SkeletonError> {
        if !matches!(key_type, KeyType::PinGen | KeyType::PinVer) {
            return Ok(());
        }
        let field = |word: &str| key_type.usage_keyword(word).map(|bits| bits.field);
        let every = field("NO-SPEC");
        if usage.iter().any(|word| field(word) == every) {
            return Ok(());
        }
        let methods: Vec<&str> = key_type.usage_keywords().filter(|word| field(word) == every).collect();
        Err(self.usage(format!(
            "say by which method its PINs are made; there are {}; NO-SPEC is every method, so that PINs can be guessed by \
             another than the issuer's",
            methods.join(", ")
        )))
    }

    fn variable(self, key_type: VariableType, usage: &Usage) -> Result<Vec<u8>, SkeletonError> {
        let mut words: Vec<&str> = usage.own.iter().map(String::as_str).collect();
        for (usual, others) in usual(key_type) {
            if !words.iter().any(|word| usual.contains(word) || others.contains(word)) {
                words.extend_from_slice(usual);
            }
        }
        if let Self::Hmac(hash) = self {
            words.push(hash.keyword);
        }
        let derived = match self.derived_type(&words) {
            Some(derived) => {
                let words = usage.derived.iter().map(String::as_str);
                let attributes = Attributes::new(derived, words, None);
                Some(attributes.map_err(|error| self.of_derived(derived, &usage.derived, error))?)
            }
            None if usage.derived.is_empty() => None,
            None => {
                return Err(self.refused(
                    About::DerivedUsage,
                    "goes with one type among the key's own keywords, such as D-MAC",
                ));
            }
        };
        let attributes = Attributes::new(key_type, words.iter().copied(), derived.as_ref());
        let attributes = attributes.map_err(|error| match error {
            AttributesError::Keyword => {
                let known: Vec<&str> = self.keywords();
                let unknown = words.iter().find(|word| !known.contains(word));
                unknown.map_or_else(|| self.usage(error.to_string()), |word| self.no_keyword(word))
            }
            AttributesError::Missing => self.needs_keyword(),
            _ => self.usage(error.to_string()),
        })?;
        let payload = VariableToken::default_payload(key_type);
        let token = VariableToken::skeleton(Origin::Internal, payload, attributes);
        Ok(token.map_err(|error| self.usage(error.to_string()))?.to_bytes().to_vec())
    }

    /// The type of the keys that a DKYGENKY key derives by these keywords.
    fn derived_type(self, words: &[&str]) -> Option<VariableType> {
        if !matches!(self, Self::Aes(_, VariableType::DkyGenKy)) {
            return None;
        }
        words.iter().find_map(|word| VariableType::derived_by(word))
    }

    /// The attributes of a private key.
    fn private(self, usage: RsaUse, words: &[String]) -> Result<pka::Attributes, SkeletonError> {
        let mut translatable = None;
        for word in words {
            let means = match word.as_str() {
                "XLATE-OK" => true,
                "NO-XLATE" => false,
                _ => return Err(self.no_keyword(word)),
            };
            if translatable.replace(means).is_some() {
                return Err(self.contradiction(word));
            }
        }
        Ok(pka::Attributes { usage, translatable: translatable.unwrap_or(false), name: None })
    }

    /// The keywords of usage that this kind has.
    pub fn keywords(self) -> Vec<&'static str> {
        match self {
            Self::Des(_, key_type) => key_type.usage_keywords().filter(|word| *word != "KEY-PART").collect(),
            Self::AesData(_) => Vec::new(),
            Self::Aes(_, key_type) => key_type.keywords().collect(),
            Self::Hmac(_) => VariableType::Hmac.keywords().collect(),
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => vec!["XLATE-OK", "NO-XLATE"],
        }
    }

    fn no_keyword(self, word: &str) -> SkeletonError {
        let there_are = self.keywords().join(", ");
        self.usage(format!("{word} is no keyword of {}, which has {there_are}", self.name()))
    }

    fn needs_keyword(self) -> SkeletonError {
        self.usage(format!("say what the key is for; there are {}", self.keywords().join(", ")))
    }

    fn contradiction(self, word: &str) -> SkeletonError {
        self.usage(format!("{word} contradicts another keyword"))
    }

    /// A refusal of the attributes of derived keys.
    fn of_derived(self, derived: VariableType, words: &[String], error: AttributesError) -> SkeletonError {
        let known: Vec<&str> = derived.keywords().collect();
        let unknown = words.iter().find(|word| !known.contains(&word.as_str()));
        let cause = match (error, unknown) {
            (AttributesError::Keyword, Some(word)) => format!("{word} is no keyword of {}", derived.name()),
            _ => format!("{} keys: {error}", derived.name()),
        };
        self.refused(About::DerivedUsage, format!("{cause}; there are {}", known.join(", ")))
    }

    /// The attributes of the keys that are agreed on.
    fn derivation(self, derives: Self) -> Result<Derivation, SkeletonError> {
        let (algorithm, key_type) = match derives {
            Self::Des(_, KeyType::Data) => (DerivedAlgorithm::Des, DerivedType::Data),
            Self::Des(_, KeyType::Exporter) => (DerivedAlgorithm::Des, DerivedType::Exporter),
            Self::Des(_, KeyType::Importer) => (DerivedAlgorithm::Des, DerivedType::Importer),
            Self::Des(_, KeyType::Cipher) => (DerivedAlgorithm::Des, DerivedType::Cipher),
            Self::AesData(_) => (DerivedAlgorithm::Aes, DerivedType::Data),
            Self::Aes(_, VariableType::Exporter) => (DerivedAlgorithm::Aes, DerivedType::Exporter),
            Self::Aes(_, VariableType::Importer) => (DerivedAlgorithm::Aes, DerivedType::Importer),
            Self::Aes(_, VariableType::Cipher) => (DerivedAlgorithm::Aes, DerivedType::Cipher),
            other => {
                let cause = format!(
                    "{} keys cannot be agreed on; of DES and AES there are data (aes128, ...), cipher, exporter and importer",
                    other.name()
                );
                return Err(self.refused(About::Derives, cause));
            }
        };
        let bits = derives.key_bytes().unwrap_or(0) * 8;
        Ok(Derivation { algorithm, key_type, bits: bits as u16 })
    }
}

/// The keywords that a key has by default, each with the keywords that take their place.
fn usual(key_type: VariableType) -> &'static [(&'static [&'static str], &'static [&'static str])] {
    match key_type {
        VariableType::Cipher => {
            &[(&["ANY-MODE"], &["CBC", "ECB", "CFB", "OFB", "GCM", "XTS", "FF1", "FF2", "FF2.1"])]
        }
        VariableType::Mac => &[(&["GENERATE"], &["GENONLY", "VERIFY"])],
        VariableType::Hmac => &[(&["GENERATE", "VERIFY"], &[])],
        _ => &[],
    }
}

/// The keys that a curve is strong enough to agree on.
fn as_strong_as(curve: EccCurve) -> NamedKind {
    match curve.bits() {
        ..256 => NamedKind::Des(KeyForm::Double, KeyType::Cipher),
        256..384 => NamedKind::Aes(128, VariableType::Cipher),
        384..512 => NamedKind::Aes(192, VariableType::Cipher),
        _ => NamedKind::Aes(256, VariableType::Cipher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_makes_a_skeleton_without_a_key() {
        for kind in NamedKind::all() {
            let own: Vec<String> = match kind {
                NamedKind::Des(_, KeyType::KeyGenKy) => vec!["ukpt".to_owned()],
                NamedKind::Des(_, KeyType::SecMsg) => vec!["smkey".to_owned()],
                NamedKind::Des(_, KeyType::PinGen | KeyType::PinVer) => vec!["ibm-pin".to_owned()],
                NamedKind::Aes(_, VariableType::PinProt) => vec!["encrypt".to_owned()],
                NamedKind::Aes(_, VariableType::PinPrw) => vec!["verify".to_owned()],
                _ => Vec::new(),
            };
            let skeleton = kind.skeleton(&Usage::new(&own, &[]), None);
            let skeleton = skeleton.unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!(token::describe(&skeleton).unwrap().holds, token::Holds::Nothing, "{}", kind.name());
        }
    }

    /// A PIN key is of the named method alone, except with NO-SPEC, which must be named.
    #[test]
    fn a_key_of_pins_is_of_the_method_that_is_named() {
        use token::usage::{PinMethod, PinStep, Use};
        const METHODS: &[(&str, &[PinMethod])] = &[
            ("IBM-PIN", &[PinMethod::Ibm, PinMethod::IbmOffset]),
            ("IBM-PINO", &[PinMethod::Ibm, PinMethod::IbmOffset]),
            ("IBM-PIN,NOOFFSET", &[PinMethod::Ibm]),
            ("VISA-PVV", &[PinMethod::Visa]),
            ("INBK-PIN", &[PinMethod::Interbank]),
            ("GBP-PIN", &[PinMethod::Pool, PinMethod::PoolOffset]),
            ("NO-SPEC", &ALL),
        ];
        const ALL: [PinMethod; 6] = [
            PinMethod::Ibm,
            PinMethod::IbmOffset,
            PinMethod::Visa,
            PinMethod::Interbank,
            PinMethod::Pool,
            PinMethod::PoolOffset,
        ];
        for kind in ["tdes-pingen", "tdes-pinver"] {
            for (words, methods) in METHODS {
                let words: Vec<String> = words.split(',').map(str::to_owned).collect();
                let skeleton =
                    NamedKind::parse(kind).unwrap().skeleton(&Usage::new(&words, &[]), None).unwrap();
                let vector = DesToken::parse(&skeleton).unwrap().control_vector();
                let is_of = |method: &PinMethod| vector.may(Use::Pin(PinStep::Verify, *method));
                let found: Vec<PinMethod> = ALL.into_iter().filter(is_of).collect();
                assert_eq!(found, *methods, "{kind} {words:?}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_there_is() {
        let refused = |name: &str, own: &[&str], derived: &[&str], expected: &str| {
            let words = Usage::new(own, derived);
            let error = NamedKind::parse(name).unwrap().skeleton(&words, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        refused(
            "tdes-mac",
            &["CLR8-ENC"],
            &[],
            "CLR8-ENC is no keyword of tdes-mac, which has XPORT-OK, NO-XPORT",
        );
        refused("tdes-mac", &["ANY-MAC", "ANSIX9.9"], &[], "tdes-mac: usage: ANSIX9.9 contradicts");
        refused("tdes-mac", &["KEY-PART"], &[], "set by itself");
        refused("tdes-keygenky", &[], &[], "say what the key is for; there are XPORT-OK, NO-XPORT");
        let methods =
            "its PINs are made; there are NO-SPEC, IBM-PIN, VISA-PVV, INBK-PIN, GBP-PIN, NL-PIN-1; NO-SPEC";
        refused("tdes-pingen", &[], &[], methods);
        refused("tdes-pinver", &["NOOFFSET", "NO-XPORT"], &[], methods);
        refused("tdes-pinver", &["PVV"], &[], "PVV is no keyword of tdes-pinver");
        refused("tdes-pinver", &["IBM-PIN", "VISA-PVV"], &[], "VISA-PVV contradicts");
        refused("aes128", &["CBC"], &[], "aes128-cipher has");
        refused("aes128-cipher", &["CMAC"], &[], "CMAC is no keyword of aes128-cipher");
        refused("aes128-cipher", &["CBC", "GCM"], &[], "exclude each other");
        refused("aes128-pinprw", &[], &[], "say what the key is for; there are GENONLY, VERIFY");
        refused("aes128-mac", &[], &["VERIFY"], "derived usage: for keys that derive");
        refused("aes128-dkygenky", &[], &["VERIFY"], "such as D-MAC");
        refused("aes128-dkygenky", &["D-MAC"], &["ECB"], "ECB is no keyword of MAC; there are GENERATE");
        refused("rsa2048-sign", &["KM-ONLY"], &[], "which has XLATE-OK, NO-XLATE");
        refused("p256-sign", &["XLATE-OK", "NO-XLATE"], &[], "contradicts");
        let agree = NamedKind::parse("p256-agree").unwrap();
        let derives = |name| agree.skeleton(&Usage::default(), NamedKind::parse(name).ok());
        assert!(derives("tdes-mac").unwrap_err().cause.contains("of DES and AES there are data"));
        assert!(derives("aes128-importer").is_ok());
        let mac = NamedKind::parse("tdes-mac").unwrap().skeleton(&Usage::default(), Some(agree));
        assert_eq!(mac.unwrap_err().about, About::Derives);
    }
}
