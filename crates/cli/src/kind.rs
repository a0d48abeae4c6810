//! Kinds of keys, by the names that are typed after `--type`: `key generate` makes each, `key part` enters the symmetric ones.
//!
//! | kinds | tokens |
//! |---|---|
//! | `des-TYPE`, `tdes-TYPE`, `tdes3-TYPE` | DES, of fixed length: single, double, triple |
//! | `aes128`, `aes192`, `aes256` | AES, of fixed length |
//! | `aes128-TYPE`, ...; `hmac-HASH` | AES and HMAC, of variable length |
//! | `rsa2048-USE`, `rsa2048-USE-me` | RSA, X'31' and X'30' |
//! | `p256-sign`, `p256-agree`, ... | elliptic curves |
//!
//! A kind becomes a skeleton: a token that says everything of a key but the key.

use clap::builder::{PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::sync::OnceLock;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::key_type::UsageError;
use token::pka::ecc::{self, Derivation, DerivedAlgorithm, DerivedType, EccAttributes, EccCurve};
use token::pka::{self, Form, Usage};
use token::variable::{Attributes, AttributesError, VariableType};
use token::{DesToken, KeyType, VariableToken};

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// DES.
    Des(KeyForm, KeyType),
    /// AES of fixed length, of so many bits.
    AesData(usize),
    /// AES of variable length: bits, and type.
    Aes(usize, VariableType),
    /// HMAC with a hash.
    Hmac(&'static Hash),
    /// RSA: bits of the modulus, use, and form of the private key.
    Rsa(u16, Usage, Form),
    /// A key pair of a curve, to sign with.
    Signing(EccCurve),
    /// A key pair of a curve, to agree on keys with.
    Agreeing(EccCurve),
}

/// A hash of HMAC: its name in a kind, its keyword, and its length in bits, which a key has too.
#[derive(Debug, PartialEq, Eq)]
pub struct Hash {
    name: &'static str,
    keyword: &'static str,
    bits: usize,
}

const HASHES: &[Hash] = &[
    Hash { name: "sha1", keyword: "SHA-1", bits: 160 },
    Hash { name: "sha224", keyword: "SHA-224", bits: 224 },
    Hash { name: "sha256", keyword: "SHA-256", bits: 256 },
    Hash { name: "sha384", keyword: "SHA-384", bits: 384 },
    Hash { name: "sha512", keyword: "SHA-512", bits: 512 },
];
/// Lengths of DES keys, as kinds name them.
const DES: &[(KeyForm, &str)] =
    &[(KeyForm::Single, "des"), (KeyForm::Double, "tdes"), (KeyForm::Triple, "tdes3")];
const AES_BITS: &[usize] = &[128, 192, 256];
const RSA_BITS: &[u16] = &[1024, 2048, 3072, 4096];
const RSA_USES: &[(Usage, &str)] = &[
    (Usage::SignatureOnly, "sign"),
    (Usage::KeyManagement, "keymgmt"),
    (Usage::KeyManagementOnly, "transport"),
];
/// Public exponent of RSA keys.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// The list of kinds that people read, in lines that fit a manual page too.
pub const HELP: &str = "\
Kinds of keys (TYPE):
  des-TYPE, tdes-TYPE, tdes3-data
      DES of 8 (weak), 16 and 24 bytes. TYPE: data datac datam datamv
      cipher encipher decipher cipherxi cipherxo cipherxl mac macver
      ipinenc opinenc pingen pinver exporter okeyxlat importer ikeyxlat
      imp-pka dkygenky keygenky secmsg; of 8 bytes: data cipher
      encipher decipher mac macver cvarenc cvardec cvarpine cvarxcvl
      cvarxcvr
  aes128, aes192, aes256
      AES in a token of 64 bytes: enciphers and deciphers
  aes128-TYPE, aes192-TYPE, aes256-TYPE
      AES in a token of variable length. TYPE: cipher mac exporter
      importer pinprot pincalc pinprw dkygenky secmsg
  hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512
      HMAC, as long as its hash
  rsa1024-USE, rsa2048-USE, rsa3072-USE, rsa4096-USE
      RSA, the private key as primes (X'31'); USE-me: as an exponent
      (X'30'). USE: sign, keymgmt (signs digests, deciphers data),
      transport (imports keys)
  CURVE-sign, CURVE-agree
      Elliptic curves. CURVE: p224 p256 p384 p521 secp256k1
      brainpool256 brainpool384; ed25519-sign. A key that agrees makes
      CIPHER keys as strong as its curve (AES, of p224 TDES); --derives
      says others

Uses (--usage), by CCA's keywords, narrow a key; what they do not say
stays as the type has it. Types that need them: keygenky (UKPT or
CLR8-ENC), secmsg of DES (SMKEY or SMPIN), pinprot (ENCRYPT or
DECRYPT), pinprw (GENONLY or VERIFY). They also say which ways out a
key has: NO-XPORT (DES), NOEX-SYM and others (AES, HMAC). An error
names the keywords that a type has.

Examples:
  cryptand key generate PAY.MAC.KEY1 --type tdes-mac
  cryptand key generate A.K1 --type aes256-cipher --usage GCM,NOEX-SYM
  cryptand key generate LINK.KEK1 --type aes256-exporter
  cryptand key generate LINK.KEY1 --type p256-agree --derives aes128";

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let des = DES.iter().flat_map(|(form, _)| {
            let has_form = |key_type: &&KeyType| match key_type.has_default() {
                true => key_type.default_vector(*form).is_some(),
                false => *form == KeyForm::Double,
            };
            KeyType::ALL.iter().filter(has_form).map(|key_type| Self::Des(*form, *key_type))
        });
        let types = || VariableType::ALL.into_iter().filter(|key_type| is_made(*key_type));
        let variable =
            AES_BITS.iter().flat_map(move |bits| types().map(|key_type| Self::Aes(*bits, key_type)));
        let rsa = RSA_BITS.iter().flat_map(|bits| {
            let forms = |usage| [Form::CrtAes, Form::MeAes].map(|form| Self::Rsa(*bits, usage, form));
            RSA_USES.iter().flat_map(move |(usage, _)| forms(*usage))
        });
        let agreeing = EccCurve::ALL.into_iter().filter(|curve| *curve != EccCurve::Ed25519);
        des.chain(AES_BITS.iter().copied().map(Self::AesData))
            .chain(variable)
            .chain(HASHES.iter().map(Self::Hmac))
            .chain(rsa)
            .chain(EccCurve::ALL.into_iter().map(Self::Signing))
            .chain(agreeing.map(Self::Agreeing))
    }

    /// Its name.
    pub fn name(self) -> String {
        match self {
            Self::Des(form, key_type) => {
                let length = DES.iter().find(|(own, _)| own.key_bytes() == form.key_bytes());
                format!(
                    "{}-{}",
                    length.map_or("des", |(_, name)| *name),
                    key_type.name().to_ascii_lowercase()
                )
            }
            Self::AesData(bits) => format!("aes{bits}"),
            Self::Aes(bits, key_type) => format!("aes{bits}-{}", key_type.name().to_ascii_lowercase()),
            Self::Hmac(hash) => format!("hmac-{}", hash.name),
            Self::Rsa(bits, usage, form) => {
                let named = RSA_USES.iter().find(|(own, _)| *own == usage).map_or("", |(_, name)| *name);
                format!("rsa{bits}-{named}{}", if form.is_crt() { "" } else { "-me" })
            }
            Self::Signing(curve) => format!("{}-sign", curve_name(curve)),
            Self::Agreeing(curve) => format!("{}-agree", curve_name(curve)),
        }
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// Which names begin like it, or where the names stand.
    pub fn parse(name: &str) -> Result<Self, String> {
        let name = name.to_ascii_lowercase();
        if let Some(kind) = Self::all().find(|kind| kind.name() == name) {
            return Ok(kind);
        }
        // A type of CCA alone, such as `importer`, and a beginning alone, such as `p256`.
        let near: Vec<String> = Self::all()
            .map(Self::name)
            .filter(|kind| kind.ends_with(&format!("-{name}")) || kind.starts_with(&format!("{name}-")))
            .collect();
        if !near.is_empty() {
            return Err(format!("which of these: {}", near.join(", ")));
        }
        let begins = name.split_once('-').map_or("", |(first, _)| first);
        let family: Vec<String> = Self::all()
            .map(Self::name)
            .filter_map(|kind| kind.strip_prefix(&format!("{begins}-")).map(str::to_owned))
            .collect();
        if begins.is_empty() || family.is_empty() {
            return Err("no kind of key; `cryptand key generate --help` lists them".to_owned());
        }
        Err(format!("no kind of key; after `{begins}-` there are {}", family.join(", ")))
    }

    /// Length of a symmetric key in bytes.
    pub fn key_bytes(self) -> Option<usize> {
        match self {
            Self::Des(form, _) => Some(form.key_bytes()),
            Self::AesData(bits) | Self::Aes(bits, _) => Some(bits / 8),
            Self::Hmac(hash) => Some(hash.bits / 8),
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => None,
        }
    }

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
        if vector.is_key_part() {
            return Err("KEY-PART: `cryptand key part` says that by itself".to_owned());
        }
        let token = DesToken::skeleton(Origin::Internal, vector.form().unwrap_or(form), vector);
        Ok(token.map_err(|error| error.to_string())?.to_bytes().to_vec())
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

/// Whether keys of a type are made: the verbs refuse KDKGENKY, and HMAC keys are named by their hash.
fn is_made(key_type: VariableType) -> bool {
    !matches!(key_type, VariableType::KdkGenKy | VariableType::Hmac)
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

fn curve_name(curve: EccCurve) -> &'static str {
    match curve {
        EccCurve::P224 => "p224",
        EccCurve::P256 => "p256",
        EccCurve::P384 => "p384",
        EccCurve::P521 => "p521",
        EccCurve::BrainpoolP256r1 => "brainpool256",
        EccCurve::BrainpoolP384r1 => "brainpool384",
        EccCurve::Ed25519 => "ed25519",
        EccCurve::Secp256k1 => "secp256k1",
    }
}

/// Reads kinds from the command line, and gives a shell's completion all of them.
#[derive(Clone)]
pub struct Parser;

impl TypedValueParser for Parser {
    type Value = Kind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Kind, clap::Error> {
        TypedValueParser::parse_ref(&Kind::parse, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let names = NAMES.get_or_init(|| Kind::all().map(Kind::name).collect());
        Some(Box::new(names.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own_that_the_help_covers() {
        let names: Vec<String> = Kind::all().map(Kind::name).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
        for (kind, name) in Kind::all().zip(&names) {
            assert_eq!(Kind::parse(name), Ok(kind));
            // Each part of a name stands in the help, by itself.
            let parts = HELP.split(|letter: char| letter.is_whitespace() || ",.:;()".contains(letter));
            let whole: Vec<&str> = parts.collect();
            let has = |text: &str| whole.contains(&text);
            let (first, rest) = name.split_once('-').unwrap_or((name, ""));
            let is_named = has(name)
                || has(&format!("{first}-TYPE")) && has(rest)
                || has(&format!("{first}-USE")) && has(rest.trim_end_matches("-me"))
                || has(&format!("CURVE-{rest}")) && has(first);
            assert!(is_named, "{name}");
        }
        // A manual page indents by seven columns, and ends two before the last.
        assert!(HELP.lines().all(|line| line.len() <= 80 - 7 - 2));
    }

    #[test]
    fn every_kind_makes_a_skeleton_without_a_key() {
        for kind in Kind::all() {
            let own: Vec<String> = match kind {
                Kind::Des(_, KeyType::KeyGenKy) => vec!["ukpt".to_owned()],
                Kind::Des(_, KeyType::SecMsg) => vec!["smkey".to_owned()],
                Kind::Aes(_, VariableType::PinProt) => vec!["encrypt".to_owned()],
                Kind::Aes(_, VariableType::PinPrw) => vec!["verify".to_owned()],
                _ => Vec::new(),
            };
            let skeleton = kind.skeleton(&Words::new(&own, &[]), None);
            let skeleton = skeleton.unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!(token::describe(&skeleton).unwrap().holds, token::Holds::Nothing, "{}", kind.name());
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_there_is() {
        let says = |name: &str, expected: &str| {
            let error = Kind::parse(name).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        says("importer", "which of these: tdes-importer, aes128-importer, aes192-importer, aes256-importer");
        says("p256", "which of these: p256-sign, p256-agree");
        says("tdes-foo", "after `tdes-` there are data, datac");
        says("ed25519-agree", "after `ed25519-` there are sign");
        says("blowfish", "cryptand key generate --help");
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
