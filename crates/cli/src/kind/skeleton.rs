//! Skeletons of kinds: the tokens that keys are generated into, as keywords make them. A wrong keyword is named, with
//! those there are, before a card is asked.

use super::Kind;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::key_type::UsageError;
use token::pka::ecc::{self, Derivation, DerivedAlgorithm, DerivedType, EccAttributes, EccCurve};
use token::pka::{self, Usage};
use token::variable::{Attributes, AttributesError, VariableType};
use token::{DesToken, KeyType, VariableToken};

/// Public exponent of RSA keys.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// Keywords as they were typed, of a key and of the keys that it derives.
#[derive(Debug, Default)]
pub struct Words {
    own: Vec<String>,
    derived: Vec<String>,
}

impl Words {
    /// In upper case, as keywords are.
    pub fn new(own: &[String], derived: &[String]) -> Self {
        let upper = |words: &[String]| words.iter().map(|word| word.trim().to_ascii_uppercase()).collect();
        Self { own: upper(own), derived: upper(derived) }
    }
}

impl Kind {
    /// A token of this kind without a key, internal, as these keywords of usage make it; empty where none is needed.
    ///
    /// # Errors
    /// What is wrong with a keyword, and which there are.
    pub fn skeleton(self, usage: &Words, derived: Option<Self>) -> Result<Vec<u8>, String> {
        if derived.is_some() && !matches!(self, Self::Agreeing(_)) {
            return Err(format!("{}: --derives is for keys that agree, such as p256-agree", self.name()));
        }
        if !usage.derived.is_empty() && !matches!(self, Self::Aes(_, VariableType::DkyGenKy)) {
            return Err(format!(
                "{}: --derived-usage is for keys that derive others, such as aes256-dkygenky",
                self.name()
            ));
        }
        match self {
            Self::Des(form, key_type) => self.des(form, key_type, &usage.own),
            Self::AesData(_) if usage.own.is_empty() => Ok(Vec::new()),
            Self::AesData(bits) => Err(format!(
                "aes{bits}: a key in a token of fixed length has no uses to choose from; aes{bits}-cipher has"
            )),
            Self::Aes(_, key_type) => self.variable(key_type, usage),
            Self::Hmac(_) => self.variable(VariableType::Hmac, usage),
            Self::Rsa(bits, use_of, form) => {
                let attributes = self.private(use_of, &usage.own)?;
                let hashes = (engine::sha1, engine::sha256);
                pka::skeleton_token(form, usize::from(bits), &EXPONENT, &attributes, &hashes)
                    .map_err(|error| error.to_string())
            }
            Self::Signing(curve) => {
                let common = self.private(Usage::SignatureOnly, &usage.own)?;
                let attributes = EccAttributes { common, ..EccAttributes::default() };
                ecc::skeleton_token(curve, &attributes).map_err(|error| error.to_string())
            }
            Self::Agreeing(curve) => {
                let common = self.private(Usage::KeyManagementOnly, &usage.own)?;
                let derivation = Some(derivation(derived.unwrap_or(as_strong_as(curve)))?);
                let attributes =
                    EccAttributes { common, is_version_1: true, derivation, ..EccAttributes::default() };
                ecc::skeleton_token(curve, &attributes).map_err(|error| error.to_string())
            }
        }
    }

    fn des(self, form: KeyForm, key_type: KeyType, usage: &[String]) -> Result<Vec<u8>, String> {
        let words = usage.iter().map(String::as_str);
        let vector = key_type.vector_with(form, words).map_err(|error| match error {
            UsageError::Keyword(at) => self.no_keyword(&usage[at]),
            UsageError::Combination(at) => {
                format!("{}: {} contradicts another keyword of --usage", self.name(), usage[at])
            }
            UsageError::UsageMissing => self.needs_keyword(),
            UsageError::Form => format!("{}: the type has no key of this length", self.name()),
        })?;
        self.check_method(key_type, usage)?;
        if vector.is_key_part() {
            return Err("KEY-PART: `cryptand key part` says that by itself".to_owned());
        }
        let token = DesToken::skeleton(Origin::Internal, vector.form().unwrap_or(form), vector);
        Ok(token.map_err(|error| error.to_string())?.to_bytes().to_vec())
    }

    /// Refuses a key of PINs that says no method. CCA's default is every method, and then a key of PVVs takes offsets
    /// of IBM 3624 as well: whoever may verify PINs chooses the method, and each offset of his choice is a guess of a
    /// chosen PIN.
    fn check_method(self, key_type: KeyType, usage: &[String]) -> Result<(), String> {
        if !matches!(key_type, KeyType::PinGen | KeyType::PinVer) {
            return Ok(());
        }
        let field = |word: &str| key_type.usage_keyword(word).map(|bits| bits.field);
        let every = field("NO-SPEC");
        if usage.iter().any(|word| field(word) == every) {
            return Ok(());
        }
        let methods: Vec<&str> = key_type.usage_keywords().filter(|word| field(word) == every).collect();
        Err(format!(
            "{}: say with --usage by which method its PINs are made; there are {}; NO-SPEC is every method, so that PINs can \
             be guessed by another than the issuer's",
            self.name(),
            methods.join(", ")
        ))
    }

    fn variable(self, key_type: VariableType, usage: &Words) -> Result<Vec<u8>, String> {
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
                Some(attributes.map_err(|error| of_derived(derived, &usage.derived, error))?)
            }
            None if usage.derived.is_empty() => None,
            None => {
                return Err(format!(
                    "{}: --derived-usage goes with one type in --usage, such as D-MAC",
                    self.name()
                ));
            }
        };
        let attributes = Attributes::new(key_type, words.iter().copied(), derived.as_ref());
        let attributes = attributes.map_err(|error| match error {
            AttributesError::Keyword => {
                let known: Vec<&str> = self.keywords();
                let unknown = words.iter().find(|word| !known.contains(word));
                unknown.map_or_else(|| error.to_string(), |word| self.no_keyword(word))
            }
            AttributesError::Missing => self.needs_keyword(),
            _ => format!("{}: --usage: {error}", self.name()),
        })?;
        let payload = VariableToken::default_payload(key_type);
        let token = VariableToken::skeleton(Origin::Internal, payload, attributes);
        Ok(token.map_err(|error| error.to_string())?.to_bytes().to_vec())
    }

    /// Which type a DKYGENKY key derives by these keywords, where it is one.
    fn derived_type(self, words: &[&str]) -> Option<VariableType> {
        if !matches!(self, Self::Aes(_, VariableType::DkyGenKy)) {
            return None;
        }
        words.iter().find_map(|word| VariableType::derived_by(word))
    }

    /// What a private key says beside its use.
    fn private(self, usage: Usage, words: &[String]) -> Result<pka::Attributes, String> {
        let mut translatable = None;
        for word in words {
            let means = match word.as_str() {
                "XLATE-OK" => true,
                "NO-XLATE" => false,
                _ => return Err(self.no_keyword(word)),
            };
            if translatable.replace(means).is_some() {
                return Err(format!("{}: {word} contradicts another keyword of --usage", self.name()));
            }
        }
        Ok(pka::Attributes { usage, translatable: translatable.unwrap_or(false), name: None })
    }

    /// The keywords that `--usage` takes.
    fn keywords(self) -> Vec<&'static str> {
        match self {
            Self::Des(_, key_type) => key_type.usage_keywords().filter(|word| *word != "KEY-PART").collect(),
            Self::AesData(_) => Vec::new(),
            Self::Aes(_, key_type) => key_type.keywords().collect(),
            Self::Hmac(_) => VariableType::Hmac.keywords().collect(),
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => vec!["XLATE-OK", "NO-XLATE"],
        }
    }

    fn no_keyword(self, word: &str) -> String {
        format!("--usage: {word} is no keyword of {}, which has {}", self.name(), self.keywords().join(", "))
    }

    fn needs_keyword(self) -> String {
        format!("{}: say with --usage what for; there are {}", self.name(), self.keywords().join(", "))
    }
}

/// What a key says where `--usage` does not: keywords, and those that take their place.
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

/// What is wrong with the attributes of derived keys.
fn of_derived(derived: VariableType, words: &[String], error: AttributesError) -> String {
    let known: Vec<&str> = derived.keywords().collect();
    let unknown = words.iter().find(|word| !known.contains(&word.as_str()));
    let cause = match (error, unknown) {
        (AttributesError::Keyword, Some(word)) => format!("{word} is no keyword of {}", derived.name()),
        _ => format!("derived {} keys: {error}", derived.name()),
    };
    format!("--derived-usage: {cause}; there are {}", known.join(", "))
}

/// The keys that a curve is strong enough to agree on.
fn as_strong_as(curve: EccCurve) -> Kind {
    match curve.bits() {
        ..256 => Kind::Des(KeyForm::Double, KeyType::Cipher),
        256..384 => Kind::Aes(128, VariableType::Cipher),
        384..512 => Kind::Aes(192, VariableType::Cipher),
        _ => Kind::Aes(256, VariableType::Cipher),
    }
}

/// What a key says of the keys that it agrees on.
fn derivation(derived: Kind) -> Result<Derivation, String> {
    let (algorithm, key_type) = match derived {
        Kind::Des(_, KeyType::Data) => (DerivedAlgorithm::Des, DerivedType::Data),
        Kind::Des(_, KeyType::Exporter) => (DerivedAlgorithm::Des, DerivedType::Exporter),
        Kind::Des(_, KeyType::Importer) => (DerivedAlgorithm::Des, DerivedType::Importer),
        Kind::Des(_, KeyType::Cipher) => (DerivedAlgorithm::Des, DerivedType::Cipher),
        Kind::AesData(_) => (DerivedAlgorithm::Aes, DerivedType::Data),
        Kind::Aes(_, VariableType::Exporter) => (DerivedAlgorithm::Aes, DerivedType::Exporter),
        Kind::Aes(_, VariableType::Importer) => (DerivedAlgorithm::Aes, DerivedType::Importer),
        Kind::Aes(_, VariableType::Cipher) => (DerivedAlgorithm::Aes, DerivedType::Cipher),
        other => {
            return Err(format!(
                "--derives: keys cannot be agreed on that are {}; of DES and AES there are data (aes128, ...), cipher, \
                 exporter and importer",
                other.name()
            ));
        }
    };
    let bits = derived.key_bytes().unwrap_or(0) * 8;
    Ok(Derivation { algorithm, key_type, bits: bits as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_makes_a_skeleton_without_a_key() {
        for kind in Kind::all() {
            let own: Vec<String> = match kind {
                Kind::Des(_, KeyType::KeyGenKy) => vec!["ukpt".to_owned()],
                Kind::Des(_, KeyType::SecMsg) => vec!["smkey".to_owned()],
                Kind::Des(_, KeyType::PinGen | KeyType::PinVer) => vec!["visa-pvv".to_owned()],
                Kind::Aes(_, VariableType::PinProt) => vec!["encrypt".to_owned()],
                Kind::Aes(_, VariableType::PinPrw) => vec!["verify".to_owned()],
                _ => Vec::new(),
            };
            let skeleton = kind.skeleton(&Words::new(&own, &[]), None);
            let skeleton = skeleton.unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!(token::describe(&skeleton).unwrap().holds, token::Holds::Nothing, "{}", kind.name());
        }
    }

    /// Of each method, and of no other: but with NO-SPEC, which is asked for by its name.
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
                let skeleton = Kind::parse(kind).unwrap().skeleton(&Words::new(&words, &[]), None).unwrap();
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
            let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
            let words = Words::new(&owned(own), &owned(derived));
            let error = Kind::parse(name).unwrap().skeleton(&words, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        refused(
            "tdes-mac",
            &["CLR8-ENC"],
            &[],
            "CLR8-ENC is no keyword of tdes-mac, which has XPORT-OK, NO-XPORT",
        );
        refused("tdes-mac", &["ANY-MAC", "ANSIX9.9"], &[], "ANSIX9.9 contradicts");
        refused("tdes-mac", &["KEY-PART"], &[], "cryptand key part");
        refused("tdes-keygenky", &[], &[], "say with --usage what for; there are XPORT-OK, NO-XPORT");
        let methods =
            "its PINs are made; there are NO-SPEC, IBM-PIN, VISA-PVV, INBK-PIN, GBP-PIN, NL-PIN-1; NO-SPEC";
        refused("tdes-pingen", &[], &[], methods);
        refused("tdes-pinver", &["NOOFFSET", "NO-XPORT"], &[], methods);
        refused("tdes-pinver", &["PVV"], &[], "PVV is no keyword of tdes-pinver");
        refused("tdes-pinver", &["IBM-PIN", "VISA-PVV"], &[], "VISA-PVV contradicts");
        refused("aes128", &["CBC"], &[], "aes128-cipher has");
        refused("aes128-cipher", &["CMAC"], &[], "CMAC is no keyword of aes128-cipher");
        refused("aes128-cipher", &["CBC", "GCM"], &[], "exclude each other");
        refused("aes128-pinprw", &[], &[], "say with --usage what for; there are GENONLY, VERIFY");
        refused("aes128-mac", &[], &["VERIFY"], "--derived-usage is for keys that derive");
        refused("aes128-dkygenky", &[], &["VERIFY"], "such as D-MAC");
        refused("aes128-dkygenky", &["D-MAC"], &["ECB"], "ECB is no keyword of MAC; there are GENERATE");
        refused("rsa2048-sign", &["KM-ONLY"], &[], "which has XLATE-OK, NO-XLATE");
        refused("p256-sign", &["XLATE-OK", "NO-XLATE"], &[], "contradicts");
        let agree = Kind::parse("p256-agree").unwrap();
        let derives = |name| agree.skeleton(&Words::default(), Kind::parse(name).ok());
        assert!(derives("tdes-mac").unwrap_err().contains("of DES and AES there are data"));
        assert!(derives("aes128-importer").is_ok());
        let mac = Kind::parse("tdes-mac").unwrap().skeleton(&Words::default(), Some(agree));
        assert!(mac.unwrap_err().contains("--derives is for keys that agree"));
    }
}
