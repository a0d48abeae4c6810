//! How many requests of a verb one pass of its kernel takes side by side.
//!
//! A kernel takes about as long for one lane as for all, so a pass that leaves lanes empty wastes them,
//! and one request more than there are lanes costs another pass. The verb decides which kernel a request goes to;
//! that a text may take fewer rounds than another of its batch is left to the engine, which
//! refills lanes whose text has ended.

use engine::{CipherAlgorithm, CipherDirection, Engine, HashAlgorithm, MacAlgorithm, Mode, Operation};
use wire::Verb;
use wire::bounds::{BATCH_MAX, VERB_SLOTS};
use wire::control::Personality;
use wire::verb::{Entry, Place, TABLE};

/// The lanes of each verb.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// By slot of the verb table: of the kernel, and of its form for the most requests.
    of: Vec<[usize; 2]>,
}

impl Lanes {
    /// As the kernels of this engine have them.
    pub fn of_engine(engine: &Engine) -> Self {
        Self::new(|verb| {
            operation(verb)
                .map_or([1; 2], |operation| [engine.lanes(operation), engine.lanes_wide(operation)])
        })
    }

    /// By verb: of the kernel, and of its form for the most requests. None counts as one, and a batch is full
    /// at the latest with [`BATCH_MAX`].
    pub fn new(lanes: impl Fn(Verb) -> [usize; 2]) -> Self {
        let mut of = vec![[1; 2]; VERB_SLOTS];
        for entry in TABLE {
            of[entry.slot as usize] = lanes(entry.verb).map(|lanes| lanes.clamp(1, BATCH_MAX));
        }
        Self { of }
    }

    /// Of the verb with this slot of the verb table; one for a slot that no verb has.
    #[inline]
    pub fn of(&self, slot: usize) -> usize {
        self.of.get(slot).map_or(1, |[lanes, _]| *lanes)
    }

    /// As [`Lanes::of`], of the form for the most requests.
    #[inline]
    pub fn wide(&self, slot: usize) -> usize {
        self.of.get(slot).map_or(1, |[_, wide]| *wide)
    }

    /// The most of the verbs that cards of a personality serve.
    pub fn most(&self, personality: Personality) -> usize {
        let is_served = |entry: &Entry| match entry.place {
            Place::AnyCard => true,
            Place::Coprocessor => personality == Personality::Coprocessor,
            _ => false,
        };
        TABLE
            .iter()
            .filter(|entry| is_served(entry))
            .map(|entry| self.of(entry.slot as usize))
            .max()
            .unwrap_or(1)
    }
}

/// Whether a verb's requests are operations under private RSA keys.
pub(crate) fn runs_rsa_private(verb: Verb) -> bool {
    matches!(operation(verb), Some(Operation::RsaPrivate { .. }))
}

/// The operation that a verb spends most of its time on, if that has lanes; one key size represents all.
fn operation(verb: Verb) -> Option<Operation> {
    const RSA_BITS: usize = 2048;
    Some(match verb {
        Verb::ClearRsaPrivate
        | Verb::DigitalSignatureGenerate
        | Verb::PkaDecrypt
        | Verb::TlsPremaster
        | Verb::SymmetricKeyImport => Operation::RsaPrivate { bits: RSA_BITS },
        Verb::CryptographicVariableEncipher => {
            Operation::Cipher(CipherAlgorithm::Des, Mode::Cbc, CipherDirection::Encipher)
        }
        Verb::ClearRsaPublic
        | Verb::DigitalSignatureVerify
        | Verb::PkaEncrypt
        | Verb::SymmetricKeyExport
        | Verb::SymmetricKeyGenerate => Operation::RsaPublic { bits: RSA_BITS },
        Verb::Encipher => Operation::Cipher(CipherAlgorithm::Tdes3, Mode::Cbc, CipherDirection::Encipher),
        Verb::Decipher => Operation::Cipher(CipherAlgorithm::Tdes3, Mode::Cbc, CipherDirection::Decipher),
        Verb::MacGenerate | Verb::MacVerify | Verb::CvvGenerate | Verb::CvvVerify | Verb::EmvTransaction => {
            Operation::Mac(MacAlgorithm::X919)
        }
        Verb::EncryptedPinTranslate
        | Verb::EncryptedPinVerify
        | Verb::ClearPinGenerate
        | Verb::ClearPinGenerateAlternate
        | Verb::EncryptedPinGenerate
        | Verb::ClearPinEncrypt
        | Verb::DiversifiedKeyGenerate
        | Verb::DeriveIccMk
        | Verb::UniqueKeyDerive
        | Verb::TransactionValidation
        | Verb::PinChangeUnblock
        | Verb::SecureMessagingForKeys
        | Verb::SecureMessagingForPins
        | Verb::EncryptedPinVerify2
        | Verb::RecoverPinFromOffset => {
            Operation::Cipher(CipherAlgorithm::Tdes2, Mode::Ecb, CipherDirection::Encipher)
        }
        Verb::EncryptedPinTranslate2
        | Verb::FormatPreservingEncipher
        | Verb::FormatPreservingDecipher
        | Verb::FormatPreservingTranslate => {
            Operation::Cipher(CipherAlgorithm::Aes128, Mode::Ecb, CipherDirection::Encipher)
        }
        // Keys of a block are CMACs, and its header and key are MACed.
        Verb::Tr31KeyExport | Verb::Tr31KeyImport => Operation::Mac(MacAlgorithm::CmacTdes2),
        Verb::SymmetricAlgorithmEncipher | Verb::DiversifiedKeyGenerate2 => {
            Operation::Cipher(CipherAlgorithm::Aes256, Mode::Cbc, CipherDirection::Encipher)
        }
        // Each text takes two lanes.
        Verb::MdcGenerate => Operation::Cipher(CipherAlgorithm::Des, Mode::Ecb, CipherDirection::Encipher),
        Verb::MacGenerate2 | Verb::MacVerify2 => Operation::Mac(MacAlgorithm::CmacAes256),
        // The second half of it waits for the first in every lane.
        Verb::CipherTextTranslate2 => {
            Operation::Cipher(CipherAlgorithm::Aes256, Mode::Cbc, CipherDirection::Encipher)
        }
        Verb::OneWayHash | Verb::HmacGenerate | Verb::HmacVerify => Operation::Hash(HashAlgorithm::Sha256),
        // These only wrap and unwrap keys.
        Verb::KeyGenerate
        | Verb::KeyTest
        | Verb::KeyTokenChange
        | Verb::KeyTestExtended
        | Verb::KeyTest2
        | Verb::RestrictKeyAttribute
        | Verb::ProhibitExport2
        | Verb::KeyTranslate2
        | Verb::CvvKeyCombine
        | Verb::KeyPartImport
        | Verb::KeyImport
        | Verb::KeyExport
        | Verb::DataKeyImport
        | Verb::DataKeyExport
        | Verb::KeyTranslate
        | Verb::KeyEncryptionTranslate
        | Verb::ProhibitExport
        | Verb::ProhibitExportExtended
        | Verb::ClearKeyImport
        | Verb::ClearKeyImportMultiple => {
            Operation::Cipher(CipherAlgorithm::Tdes3, Mode::Ecb, CipherDirection::Encipher)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Level, Options};

    fn row(verb: Verb) -> usize {
        verb.slot()
    }

    #[test]
    fn lanes_are_those_of_the_kernels() {
        for level in [None, Some(Level::Portable)] {
            let engine = Engine::new(Options { limit: level, weak_algorithms: false }).unwrap();
            let lanes = Lanes::of_engine(&engine);
            let of = |verb| lanes.of(row(verb));
            assert_eq!(of(Verb::ClearRsaPrivate), engine.lanes(Operation::RsaPrivate { bits: 1024 }));
            assert_eq!(of(Verb::DigitalSignatureGenerate), of(Verb::ClearRsaPrivate));
            assert_eq!(of(Verb::MacGenerate), engine.lanes(Operation::Mac(MacAlgorithm::X919)));
            assert_eq!(of(Verb::Encipher), of(Verb::MacGenerate));
            assert_eq!((of(Verb::Null), of(Verb::PkaKeyGenerate)), (1, 1));
            assert!(lanes.wide(row(Verb::Encipher)) >= of(Verb::Encipher));
            assert_eq!(lanes.wide(row(Verb::OneWayHash)), of(Verb::OneWayHash));
            assert_eq!((lanes.of(VERB_SLOTS), lanes.wide(VERB_SLOTS)), (1, 1));
        }
    }

    #[test]
    fn no_number_of_lanes_is_out_of_bounds() {
        let lanes = Lanes::new(|verb| [if verb == Verb::Null { usize::MAX } else { 0 }; 2]);
        assert_eq!((lanes.of(row(Verb::Null)), lanes.of(row(Verb::MacGenerate))), (BATCH_MAX, 1));
        assert_eq!(lanes.most(Personality::Accelerator), BATCH_MAX);
        let lanes = Lanes::new(|verb| [if verb == Verb::MacGenerate { 64 } else { 1 }; 2]);
        assert_eq!((lanes.most(Personality::Accelerator), lanes.most(Personality::Coprocessor)), (1, 64));
    }
}
