//! Kinds of keys, by the names that people type: what a key is for, the skeleton that says so, and the verb that
//! generates the key.
//!
//! | kinds | tokens | verb |
//! |---|---|---|
//! | `des-TYPE`, `tdes-TYPE`, `tdes3-TYPE` | DES, of fixed length: single, double, triple | CSNBKGN |
//! | `aes128`, `aes192`, `aes256` | AES, of fixed length | CSNBKGN |
//! | `aes128-TYPE`, ...; `hmac-HASH` | AES and HMAC, of variable length | CSNBKGN2 |
//! | `rsa2048-USE`, `rsa2048-USE-me` | RSA, X'31' and X'30' | CSNDPKG |
//! | `p256-sign`, `p256-agree`, ... | elliptic curves | CSNDPKG |
//!
//! Keys and pairs by the names of payments, such as `zpk`, are [`PaymentKind`].
//!
//! ```no_run
//! use facility::keys::{NamedKind, Wanted};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cards = facility::Facility::open("/var/lib/cryptand".as_ref(), facility::Options::default())?;
//! let label = wire::Label::new("PAY.MAC.KEY1")?;
//! cards.generate_under(0, &label, &Wanted::from(NamedKind::parse("tdes-mac")?))?;
//! # Ok(())
//! # }
//! ```

mod generate;
mod payment;
mod skeleton;

pub use generate::{GenerateError, Wanted};
pub use payment::{NoSuchEnd, PaymentKey, PaymentKind};
pub use skeleton::{About, SkeletonError, Usage};

use std::fmt;
use token::KeyType;
use token::control_vector::KeyForm;
use token::pka::ecc::EccCurve;
use token::pka::{Form, Usage as RsaUse};
use token::variable::VariableType;
use wire::control::Store;

/// A kind of key that has a name, such as `tdes-mac`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind {
    /// DES: form and type.
    Des(KeyForm, KeyType),
    /// AES in a token of fixed length: bits.
    AesData(usize),
    /// AES in a token of variable length: bits and type.
    Aes(usize, VariableType),
    /// HMAC with a hash.
    Hmac(&'static Hash),
    /// RSA: bits of the modulus, use, form of the private key.
    Rsa(u16, RsaUse, Form),
    /// A key pair of a curve, to sign with.
    Signing(EccCurve),
    /// A key pair of a curve, to agree on keys with.
    Agreeing(EccCurve),
}

/// A hash of HMAC: its name in a kind, its keyword, and its length in bits, which is also the length of a key.
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
const RSA_USES: &[(RsaUse, &str)] = &[
    (RsaUse::SignatureOnly, "sign"),
    (RsaUse::KeyManagement, "keymgmt"),
    (RsaUse::KeyManagementOnly, "transport"),
    (RsaUse::TlsOnly, "tls"),
];

impl NamedKind {
    /// Every kind, symmetric ones first.
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

    /// The name that people type, such as `tdes-mac`.
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

    /// The kind of this name, in either case.
    ///
    /// # Errors
    /// [`NoKind`], with the names that may have been meant.
    pub fn parse(name: &str) -> Result<Self, NoKind> {
        let name = name.to_ascii_lowercase();
        Self::all()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| NoKind::near(&name, &Self::all().map(Self::name).collect::<Vec<_>>()))
    }

    /// The store of tokens of this kind.
    pub fn store(self) -> Store {
        match self {
            Self::Des(..) => Store::Des,
            Self::AesData(_) | Self::Aes(..) | Self::Hmac(_) => Store::Aes,
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => Store::Pka,
        }
    }

    /// Length of a symmetric key in bytes; none of a key pair.
    pub fn key_bytes(self) -> Option<usize> {
        match self {
            Self::Des(form, _) => Some(form.key_bytes()),
            Self::AesData(bits) | Self::Aes(bits, _) => Some(bits / 8),
            Self::Hmac(hash) => Some(hash.bits / 8),
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => None,
        }
    }
}

/// Whether keys of a type are made: the verbs refuse KDKGENKY, and HMAC keys are named by their hash.
fn is_made(key_type: VariableType) -> bool {
    !matches!(key_type, VariableType::KdkGenKy | VariableType::Hmac)
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

/// Why a name names no kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoKind {
    /// Names of the kinds that have the given name as their first part, or as their end.
    Several(Vec<String>),
    /// Some kinds begin with the first part of the name, but none has its end.
    End {
        /// The part of the name before its first hyphen.
        begin: String,
        /// What the kinds with this beginning have after the hyphen.
        ends: Vec<String>,
    },
    /// No kind resembles the name.
    Unknown {
        /// First parts of kinds that begin with the name, such as `aes128` for `aes`.
        heads: Vec<String>,
    },
}

impl NoKind {
    /// What may have been meant by a name in small letters that is none of these.
    pub fn near(name: &str, names: &[String]) -> Self {
        // A type of CCA alone, such as `importer`, and a beginning alone, such as `p256`.
        let is_near =
            |kind: &&String| kind.ends_with(&format!("-{name}")) || kind.starts_with(&format!("{name}-"));
        let near: Vec<String> = names.iter().filter(is_near).cloned().collect();
        if !near.is_empty() {
            return Self::Several(near);
        }
        let begin = name.split_once('-').map_or("", |(first, _)| first);
        let ends: Vec<String> = names
            .iter()
            .filter_map(|kind| kind.strip_prefix(&format!("{begin}-")).map(str::to_owned))
            .collect();
        if begin.is_empty() || ends.is_empty() {
            // Such as `aes` and `rsa`.
            let mut heads: Vec<String> =
                names.iter().filter(|kind| !name.is_empty() && kind.starts_with(name)).cloned().collect();
            heads.iter_mut().for_each(|kind| kind.truncate(kind.find('-').unwrap_or(kind.len())));
            heads.sort();
            heads.dedup();
            return Self::Unknown { heads };
        }
        Self::End { begin: begin.to_owned(), ends }
    }
}

impl std::error::Error for NoKind {}

impl fmt::Display for NoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Several(names) => write!(f, "which of these: {}", names.join(", ")),
            Self::End { begin, ends } => {
                write!(f, "no kind of key; after `{begin}-` there are {}", ends.join(", "))
            }
            Self::Unknown { heads } if heads.is_empty() => f.write_str("no kind of key"),
            Self::Unknown { heads } => {
                write!(f, "no kind of key, but such begin with {}", heads.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: Vec<String> = NamedKind::all().map(NamedKind::name).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
        for (kind, name) in NamedKind::all().zip(&names) {
            assert_eq!(NamedKind::parse(name), Ok(kind));
            assert_eq!(NamedKind::parse(&name.to_uppercase()), Ok(kind));
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_near_ones() {
        let says = |name: &str, expected: &str| {
            let error = NamedKind::parse(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        says("importer", "which of these: tdes-importer, tdes3-importer, aes128-importer, aes192-importer");
        says("p256", "which of these: p256-sign, p256-agree");
        says("tdes-foo", "after `tdes-` there are data, datac");
        says("ed25519-agree", "after `ed25519-` there are sign");
        says("aes", "such begin with aes128, aes192, aes256");
        says("rsa", "such begin with rsa1024, rsa2048, rsa3072, rsa4096");
        for name in ["blowfish", ""] {
            assert_eq!(NamedKind::parse(name), Err(NoKind::Unknown { heads: Vec::new() }));
        }
    }
}
