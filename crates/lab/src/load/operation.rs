//! The operations that can be measured, and their names.

use serde::{Deserialize, Serialize};
use wire::verb::Verb;

pub use engine::{
    CipherAlgorithm as Cipher, CipherDirection as Direction, HashAlgorithm as Hash, MacAlgorithm as Mac,
};

/// Whether a cipher is AES.
pub const fn is_aes(cipher: Cipher) -> bool {
    cipher.block_bytes() == 16
}

/// Values with their names within the name of an operation.
type Names<T, const N: usize> = [(&'static str, T); N];

const CIPHERS: Names<Cipher, 5> = [
    ("des", Cipher::Des),
    ("tdes", Cipher::Tdes3),
    ("aes128", Cipher::Aes128),
    ("aes192", Cipher::Aes192),
    ("aes256", Cipher::Aes256),
];
const MODES: Names<Mode, 4> =
    [("ecb", Mode::Ecb), ("cbc", Mode::Cbc), ("ctr", Mode::Ctr), ("gcm", Mode::Gcm)];
const DIRECTIONS: Names<Direction, 2> =
    [("encipher", Direction::Encipher), ("decipher", Direction::Decipher)];
const MACS: Names<Mac, 3> =
    [("des-mac", Mac::X99), ("tdes-mac", Mac::X919), ("aes128-cmac", Mac::CmacAes128)];
const HASHES: Names<Hash, 9> = [
    ("sha1", Hash::Sha1),
    ("sha224", Hash::Sha224),
    ("sha256", Hash::Sha256),
    ("sha384", Hash::Sha384),
    ("sha512", Hash::Sha512),
    ("sha3-224", Hash::Sha3_224),
    ("sha3-256", Hash::Sha3_256),
    ("sha3-384", Hash::Sha3_384),
    ("sha3-512", Hash::Sha3_512),
];
const FORMS: Names<RsaForm, 3> = [("crt", RsaForm::Crt), ("me", RsaForm::Me), ("public", RsaForm::Public)];

fn name<T: PartialEq, const N: usize>(names: &Names<T, N>, of: T) -> &'static str {
    names.iter().find(|(_, known)| *known == of).map_or("", |(name, _)| name)
}

/// A mode of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Electronic code book.
    Ecb,
    /// Cipher block chaining.
    Cbc,
    /// Counter.
    Ctr,
    /// Galois/counter mode: AES only.
    Gcm,
}

/// How an RSA key is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RsaForm {
    /// Private operation with the Chinese remainder theorem.
    Crt,
    /// Private operation with modulus and exponent alone.
    Me,
    /// Public operation, exponent 65537.
    Public,
}

impl RsaForm {
    /// The name within an operation.
    pub fn name(self) -> &'static str {
        name(&FORMS, self)
    }
}

/// The RSA key that a verb is measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RsaKey {
    /// Bits of the modulus.
    pub bits: u32,
    /// Form of the private key: [`RsaForm::Crt`] or [`RsaForm::Me`].
    pub form: RsaForm,
}

/// The measured operations of payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Payment {
    /// A PIN block of ISO-0 from one key under another, in the same format.
    PinTranslate,
    /// The same between keys of three parts.
    PinTranslateThreeParts,
    /// The PIN of an ISO-0 block, in a block of ISO-3.
    PinReformat,
    /// A PIN block from one key of DUKPT under another; both counters have five bits set.
    PinTranslateDukpt,
    /// A right PIN in a block under a key of DUKPT, verified by IBM-PIN.
    PinVerifyDukpt,
    /// A clear PIN of 16 digits by the method of IBM 3624.
    PinGenerate,
    /// The offset of a PIN in a block of ISO-0, by the method of IBM 3624.
    PinGenerateAlternate,
    /// A right card verification value of three digits, verified.
    CvvVerify,
    /// A TDES key, imported from a key block of version B.
    Tr31ImportB,
    /// An AES-128 key, imported from a key block of version D.
    Tr31ImportD,
    /// A right request cryptogram of a chip card, verified and answered: option A, session key of EMV common.
    ArqcVerify,
    /// A PIN block of ISO-4 from a key of AES DUKPT, whose counter has five bits set, under a fixed key of AES-128.
    PinTranslateAesDukpt,
    /// 16 digits enciphered by FF1 under a key of AES-256.
    Ff1,
}

/// An operation that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Operation {
    /// A cipher in a mode.
    Cipher {
        /// The cipher.
        cipher: Cipher,
        /// The mode.
        mode: Mode,
        /// Enciphering or deciphering.
        direction: Direction,
    },
    /// A MAC.
    Mac(Mac),
    /// A hash.
    Hash(Hash),
    /// HMAC with a 20-byte key.
    Hmac(Hash),
    /// Raw RSA with a clear key.
    Rsa {
        /// Bits of the modulus.
        bits: u32,
        /// How the key is used.
        form: RsaForm,
    },
    /// ECDSA on P-256: signing a 32-byte digest.
    EcdsaP256Sign,
    /// Diffie-Hellman on P-256: the secret that a private key and a peer's public key agree on.
    EcdhP256,
    /// A verb of a coprocessor under secure keys.
    Verb {
        /// The verb.
        verb: Verb,
        /// The RSA key, for verbs that use one.
        key: Option<RsaKey>,
    },
    /// A verb of payments.
    Payment(Payment),
    /// Key_Generate2 in the form OPEX: an AES-256 key once under the master key and once under an EXPORTER key.
    KeyGenerate2Opex,
}

/// Verbs that can be measured without an RSA key.
pub const PLAIN_VERBS: [Verb; 7] = [
    Verb::Null,
    Verb::RandomNumberGenerate,
    Verb::RandomNumberGenerateLong,
    Verb::KeyGenerate,
    Verb::KeyGenerate2,
    Verb::KeyExport,
    Verb::KeyTest,
];

/// Verbs that can be measured with an RSA key, each with the key forms that it takes.
pub const RSA_VERBS: [(Verb, &[RsaForm]); 6] = [
    (Verb::DigitalSignatureGenerate, &[RsaForm::Crt, RsaForm::Me]),
    (Verb::DigitalSignatureVerify, &[RsaForm::Me]),
    (Verb::PkaEncrypt, &[RsaForm::Me]),
    (Verb::PkaDecrypt, &[RsaForm::Crt, RsaForm::Me]),
    (Verb::SymmetricKeyImport, &[RsaForm::Crt, RsaForm::Me]),
    (Verb::PkaKeyGenerate, &[RsaForm::Crt, RsaForm::Me]),
];

const PAYMENTS: [(&str, Payment); 13] = [
    ("pin-translate", Payment::PinTranslate),
    ("pin-translate-tdes3", Payment::PinTranslateThreeParts),
    ("pin-reformat", Payment::PinReformat),
    ("pin-translate-dukpt", Payment::PinTranslateDukpt),
    ("pin-verify-dukpt", Payment::PinVerifyDukpt),
    ("pin-generate", Payment::PinGenerate),
    ("pin-generate-alternate", Payment::PinGenerateAlternate),
    ("cvv-verify", Payment::CvvVerify),
    ("tr31-import-b", Payment::Tr31ImportB),
    ("tr31-import-d", Payment::Tr31ImportD),
    ("arqc-verify", Payment::ArqcVerify),
    ("pin-translate-aes-dukpt", Payment::PinTranslateAesDukpt),
    ("ff1", Payment::Ff1),
];

/// Sizes of RSA keys that the list of operations names; others from 512 to 4096 are served too.
pub const RSA_BITS: [u32; 4] = [512, 1024, 2048, 4096];

/// Bits of a verb's RSA key if its name gives none; the form is the first that the verb serves.
const RSA_BITS_DEFAULT: u32 = 1024;

impl Operation {
    /// Every operation that has a name of its own. RSA of other sizes is served too.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (_, cipher) in CIPHERS {
            for (_, mode) in MODES {
                for (_, direction) in DIRECTIONS {
                    if mode != Mode::Gcm || is_aes(cipher) {
                        all.push(Self::Cipher { cipher, mode, direction });
                    }
                }
            }
        }
        all.extend(MACS.map(|(_, mac)| Self::Mac(mac)));
        all.extend(HASHES.map(|(_, hash)| Self::Hash(hash)));
        all.extend([Hash::Sha1, Hash::Sha256].map(Self::Hmac));
        for bits in RSA_BITS {
            all.extend(FORMS.map(|(_, form)| Self::Rsa { bits, form }));
        }
        all.extend([Self::EcdsaP256Sign, Self::EcdhP256]);
        all.extend(PLAIN_VERBS.map(|verb| Self::Verb { verb, key: None }));
        all.push(Self::KeyGenerate2Opex);
        all.extend(PAYMENTS.map(|(_, payment)| Self::Payment(payment)));
        for (verb, forms) in RSA_VERBS {
            for bits in RSA_BITS {
                all.extend(forms.iter().map(|&form| Self::Verb { verb, key: Some(RsaKey { bits, form }) }));
            }
        }
        all
    }

    /// A cipher in CBC mode.
    pub const fn cbc(cipher: Cipher, direction: Direction) -> Self {
        Self::Cipher { cipher, mode: Mode::Cbc, direction }
    }

    /// A verb with an RSA key.
    pub const fn rsa_verb(verb: Verb, bits: u32, form: RsaForm) -> Self {
        Self::Verb { verb, key: Some(RsaKey { bits, form }) }
    }

    /// Whether the length of the data is the caller's choice.
    pub const fn takes_bytes(self) -> bool {
        match self {
            Self::Cipher { .. } | Self::Mac(_) | Self::Hash(_) | Self::Hmac(_) => true,
            Self::Rsa { .. }
            | Self::EcdsaP256Sign
            | Self::EcdhP256
            | Self::Payment(_)
            | Self::KeyGenerate2Opex => false,
            Self::Verb { verb, .. } => matches!(verb, Verb::RandomNumberGenerateLong),
        }
    }

    /// Whether only a card can do it.
    pub const fn needs_card(self) -> bool {
        matches!(self, Self::Verb { .. } | Self::Payment(_) | Self::KeyGenerate2Opex)
    }

    /// Length of the block that the data must fill, in bytes; 1 for any length.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Cipher { cipher, mode: Mode::Ecb | Mode::Cbc, .. } => cipher.block_bytes(),
            _ => 1,
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cipher { cipher, mode, direction } => {
                let (mode, direction) = (name(&MODES, *mode), name(&DIRECTIONS, *direction));
                write!(f, "{}-{mode}-{direction}", name(&CIPHERS, *cipher))
            }
            Self::Mac(mac) => f.write_str(name(&MACS, *mac)),
            Self::Hash(hash) => f.write_str(name(&HASHES, *hash)),
            Self::Hmac(hash) => write!(f, "hmac-{}", name(&HASHES, *hash)),
            Self::Rsa { bits, form } => write!(f, "rsa{bits}-{}", form.name()),
            Self::EcdsaP256Sign => f.write_str("ecdsa-p256-sign"),
            Self::EcdhP256 => f.write_str("ecdh-p256"),
            Self::Payment(payment) => f.write_str(name(&PAYMENTS, *payment)),
            Self::KeyGenerate2Opex => f.write_str("key-generate2-opex"),
            Self::Verb { verb, key: None } => f.write_str(verb.entry().name),
            Self::Verb { verb, key: Some(key) } => {
                write!(f, "{}-rsa{}-{}", verb.entry().name, key.bits, key.form.name())
            }
        }
    }
}

/// No operation has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOperation(pub String);

impl std::fmt::Display for UnknownOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no operation is called {:?}", self.0)
    }
}

impl std::error::Error for UnknownOperation {}

impl std::str::FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(name: &str) -> Result<Self, UnknownOperation> {
        if let Some(operation) = Self::all().into_iter().find(|operation| operation.to_string() == name) {
            return Ok(operation);
        }
        if let Some((verb, forms)) = RSA_VERBS.iter().find(|(verb, _)| verb.entry().name == name) {
            let key = RsaKey { bits: RSA_BITS_DEFAULT, form: forms[0] };
            return Ok(Self::Verb { verb: *verb, key: Some(key) });
        }
        other_rsa(name).ok_or_else(|| UnknownOperation(name.to_owned()))
    }
}

/// `rsa<bits>-<form>` of a size that the list does not name.
fn other_rsa(name: &str) -> Option<Operation> {
    let (bits, form) = name.strip_prefix("rsa")?.split_once('-')?;
    let bits: u32 = bits.parse().ok()?;
    let (_, form) = FORMS.into_iter().find(|(known, _)| *known == form)?;
    ((512..=4096).contains(&bits) && bits.is_multiple_of(8)).then_some(Operation::Rsa { bits, form })
}

impl TryFrom<String> for Operation {
    type Error = UnknownOperation;
    fn try_from(name: String) -> Result<Self, UnknownOperation> {
        name.parse()
    }
}

impl From<Operation> for String {
    fn from(operation: Operation) -> String {
        operation.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_operation_is_read_by_its_name() {
        let all = Operation::all();
        assert_eq!(all.iter().map(ToString::to_string).collect::<HashSet<_>>().len(), all.len());
        for operation in all {
            assert_eq!(operation.to_string().parse::<Operation>().unwrap(), operation);
        }
    }

    #[test]
    fn the_names_are_those_of_the_manual() {
        for name in [
            "des-ecb-encipher",
            "tdes-cbc-decipher",
            "aes192-ctr-encipher",
            "aes256-gcm-decipher",
            "des-mac",
            "tdes-mac",
            "aes128-cmac",
            "sha1",
            "sha3-512",
            "hmac-sha1",
            "hmac-sha256",
            "rsa2048-crt",
            "rsa1024-me",
            "rsa4096-public",
            "rsa3072-crt",
            "ecdsa-p256-sign",
            "ecdh-p256",
            "key-generate2-opex",
            "null",
            "key-generate",
            "random-number-generate",
            "digital-signature-generate-rsa512-crt",
            "symmetric-key-import-rsa1024-crt",
        ] {
            assert_eq!(name.parse::<Operation>().unwrap().to_string(), name);
        }
        let default: Operation = "digital-signature-verify".parse().unwrap();
        assert_eq!(default.to_string(), "digital-signature-verify-rsa1024-me");
        for name in ["des-gcm-encipher", "rsa511-crt", "rsa513-crt", "rsa2048-x", "", "AES128-CBC-ENCIPHER"] {
            assert_eq!(name.parse::<Operation>().unwrap_err(), UnknownOperation(name.to_owned()));
        }
    }
}
