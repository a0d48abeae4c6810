//! Kinds of keys, by the names that are typed after `--type`: `key generate` makes each, `key part` enters the
//! symmetric ones.
//!
//! | kinds | tokens |
//! |---|---|
//! | `des-TYPE`, `tdes-TYPE`, `tdes3-TYPE` | DES, of fixed length: single, double, triple |
//! | `aes128`, `aes192`, `aes256` | AES, of fixed length |
//! | `aes128-TYPE`, ...; `hmac-HASH` | AES and HMAC, of variable length |
//! | `rsa2048-USE`, `rsa2048-USE-me` | RSA, X'31' and X'30' |
//! | `p256-sign`, `p256-agree`, ... | elliptic curves |
//!
//! A kind becomes a token that says everything of a key but the key: [`skeleton`].

mod skeleton;

pub use skeleton::Words;

use clap::builder::{PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::sync::OnceLock;
use token::KeyType;
use token::control_vector::KeyForm;
use token::pka::ecc::EccCurve;
use token::pka::{Form, Usage};
use token::variable::VariableType;

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
    (Usage::TlsOnly, "tls"),
];

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
      transport (imports keys), tls (signs digests, opens premaster
      secrets of TLS 1.2)
  CURVE-sign, CURVE-agree
      Elliptic curves. CURVE: p224 p256 p384 p521 secp256k1
      brainpool256 brainpool384; ed25519-sign. A key that agrees makes
      CIPHER keys as strong as its curve (AES, of p224 TDES); --derives
      says others

Uses (--usage), by CCA's keywords, narrow a key; what they do not say
stays as the type has it. Types that need them: keygenky (UKPT or
CLR8-ENC), secmsg of DES (SMKEY or SMPIN), pingen and pinver (the
method of its PINs: IBM-PIN, VISA-PVV, INBK-PIN, GBP-PIN; NO-SPEC is
every method, which makes guesses easier), pinprot (ENCRYPT or
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
            // Such as `aes` and `rsa`.
            let mut heads: Vec<String> =
                Self::all().map(Self::name).filter(|kind| kind.starts_with(&name)).collect();
            heads.iter_mut().for_each(|kind| kind.truncate(kind.find('-').unwrap_or(kind.len())));
            heads.sort();
            heads.dedup();
            let near = if heads.is_empty() || name.is_empty() {
                String::new()
            } else {
                format!(", but such begin with {}", heads.join(", "))
            };
            return Err(format!("no kind of key{near}; `cryptand key generate --help` lists them"));
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
    fn what_is_wrong_is_named_with_what_there_is() {
        let says = |name: &str, expected: &str| {
            let error = Kind::parse(name).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        says("importer", "which of these: tdes-importer, aes128-importer, aes192-importer, aes256-importer");
        says("p256", "which of these: p256-sign, p256-agree");
        says("tdes-foo", "after `tdes-` there are data, datac");
        says("ed25519-agree", "after `ed25519-` there are sign");
        says("aes", "such begin with aes128, aes192, aes256; `cryptand key generate --help`");
        says("rsa", "such begin with rsa1024, rsa2048, rsa3072, rsa4096; ");
        says("blowfish", "no kind of key; `cryptand key generate --help`");
        says("", "no kind of key; `cryptand key generate --help`");
    }
}
