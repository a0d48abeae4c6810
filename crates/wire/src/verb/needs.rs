//! Which master-key registers a verb may need, so that it goes to cards that hold them.

use super::Verb;
use crate::registers::Register::{Aes, Apka, Asym, Sym};
use crate::registers::RegisterSet;

/// Of DES keys.
const DES: RegisterSet = RegisterSet::of(&[Sym]);
/// Of AES keys.
const AES: RegisterSet = RegisterSet::of(&[Aes]);
/// Of symmetric keys, by what the key is.
const SYMMETRIC: RegisterSet = RegisterSet::of(&[Sym, Aes]);
/// Of elliptic-curve keys, and of symmetric ones.
const AGREEMENT: RegisterSet = RegisterSet::of(&[Sym, Aes, Apka]);
/// Of RSA and elliptic-curve keys, by the form of the token.
const PKA: RegisterSet = RegisterSet::of(&[Asym, Apka]);

/// Of private keys, and of the transport keys that they come and go under.
const PKA_TRANSPORTED: RegisterSet = RegisterSet::of(&[Sym, Aes, Asym, Apka]);

/// Of keys of variable length, and of the RSA keys that they come under.
const AES_TRANSPORTED: RegisterSet = RegisterSet::of(&[Aes, Asym, Apka]);

impl Verb {
    /// The registers that a request for this verb may need, by the kinds of keys that it takes and makes: which of
    /// them one needs, its keys say, and one whose keys are clear or public needs none. Empty for verbs that never
    /// open or wrap a key, and for those of the daemon.
    pub const fn registers(self) -> RegisterSet {
        match self {
            Self::Encipher
            | Self::Decipher
            | Self::MacGenerate
            | Self::MacVerify
            | Self::ClearPinGenerate
            | Self::ClearPinGenerateAlternate
            | Self::EncryptedPinGenerate
            | Self::ClearPinEncrypt
            | Self::RecoverPinFromOffset
            | Self::CvvGenerate
            | Self::CvvVerify
            | Self::TransactionValidation
            | Self::DiversifiedKeyGenerate
            | Self::EmvTransaction
            | Self::DeriveIccMk
            | Self::PinChangeUnblock
            | Self::SecureMessagingForKeys
            | Self::SecureMessagingForPins
            | Self::CvvKeyCombine
            | Self::CryptographicVariableEncipher
            | Self::KeyEncryptionTranslate
            | Self::ClearKeyImport
            | Self::KeyPartImport
            | Self::KeyTestExtended
            | Self::KeyImport
            | Self::KeyExport
            | Self::DataKeyImport
            | Self::DataKeyExport
            | Self::KeyTranslate
            | Self::ProhibitExport
            | Self::ProhibitExportExtended
            | Self::ClearKeyImportMultiple => DES,
            Self::SymmetricAlgorithmEncipher
            | Self::SymmetricAlgorithmDecipher
            | Self::KeyGenerate2
            | Self::DiversifiedKeyGenerate2
            | Self::KeyPartImport2
            | Self::KeyTokenChange2
            | Self::MacGenerate2
            | Self::MacVerify2
            | Self::FormatPreservingEncipher
            | Self::FormatPreservingDecipher
            | Self::FormatPreservingTranslate
            | Self::HmacGenerate
            | Self::HmacVerify => AES,
            // A base key of AES derives keys of TDES as well.
            Self::EncryptedPinTranslate
            | Self::EncryptedPinVerify
            | Self::EncryptedPinTranslate2
            | Self::EncryptedPinVerify2
            | Self::CipherTextTranslate2
            | Self::KeyGenerate
            | Self::KeyTokenChange
            | Self::RestrictKeyAttribute
            | Self::KeyTranslate2
            | Self::ProhibitExport2
            | Self::SymmetricKeyExport
            | Self::UniqueKeyDerive
            | Self::Tr31KeyExport
            | Self::Tr31KeyImport
            | Self::SymmetricKeyGenerate => SYMMETRIC,
            Self::PkaKeyGenerate | Self::PkaKeyImport => PKA_TRANSPORTED,
            Self::PkaKeyTokenChange
            | Self::PkaDecrypt
            | Self::TlsPremaster
            | Self::DigitalSignatureGenerate
            // The public key beside a wrapped one of an elliptic curve is taken from what opens.
            | Self::PkaPublicKeyExtract
            | Self::DigitalSignatureVerify => PKA,
            // Transport keys are of DES and AES, tokens under either register.
            Self::PkaKeyTranslate => RegisterSet::ALL,
            // A test may be of a master key, and an import opens by an RSA key what it wraps as a symmetric one.
            Self::KeyTest | Self::KeyTest2 | Self::SymmetricKeyImport => RegisterSet::ALL,
            // The key comes under one of AES, or of RSA.
            Self::SymmetricKeyImport2 => AES_TRANSPORTED,
            // An agreement makes a symmetric key with one of a curve.
            Self::EcDiffieHellman => AGREEMENT,
            Self::Null
            | Self::ClearRsaPrivate
            | Self::ClearRsaPublic
            | Self::KeyTokenBuild
            | Self::ControlVectorGenerate
            | Self::KeyTokenParse
            | Self::Tr31OptionalDataBuild
            | Self::Tr31KeyTokenParse
            | Self::Tr31OptionalDataRead
            | Self::KeyTokenParse2
            | Self::KeyTokenBuild2
            | Self::OneWayHash
            | Self::MdcGenerate
            | Self::CodeConversion
            | Self::RandomNumberGenerate
            | Self::RandomNumberGenerateLong
            | Self::PkaKeyTokenBuild
            | Self::PkaEncrypt
            | Self::DesKeyRecordCreate
            | Self::DesKeyRecordRead
            | Self::DesKeyRecordWrite
            | Self::DesKeyRecordDelete
            | Self::AesKeyRecordCreate
            | Self::AesKeyRecordRead
            | Self::AesKeyRecordWrite
            | Self::AesKeyRecordDelete
            | Self::PkaKeyRecordCreate
            | Self::PkaKeyRecordRead
            | Self::PkaKeyRecordWrite
            | Self::PkaKeyRecordDelete
            | Self::KeyRecordsWrite
            | Self::CryptographicFacilityQuery
            | Self::AccessControlMaintenance => RegisterSet::NONE,
        }
    }
}
