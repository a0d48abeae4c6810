//! How many requests of a verb one pass of its kernel takes side by side.
//!
//! A kernel takes about as long for one lane as for all, so a pass that leaves lanes empty wastes them, and one request
//! more than there are lanes costs another pass. The verb decides which kernel a request goes to. Texts of different
//! length in a batch are the engine's matter: it refills lanes whose text has ended.

use engine::{CipherAlgorithm, CipherDirection, Engine, HashAlgorithm, MacAlgorithm, Mode, Operation};
use wire::bounds::{BATCH_MAX, VERB_SLOTS};
use wire::control::Personality;
use wire::verb::{Entry, Executor, Kernel, TABLE};

/// The number of lanes of each verb's kernel.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// By slot of the verb table: the lanes of the kernel, and those of its form for the most requests.
    of: Vec<[usize; 2]>,
}

impl Lanes {
    /// The lanes of this engine's kernels.
    pub fn of_engine(engine: &Engine) -> Self {
        Self::new(|entry| {
            operation(entry.kernel)
                .map_or([1; 2], |operation| [engine.lanes(operation), engine.lanes_wide(operation)])
        })
    }

    /// The lanes that a function gives for each row: those of the kernel, and those of its form for the most requests.
    /// They are limited to 1 to [`BATCH_MAX`].
    pub fn new(lanes: impl Fn(&Entry) -> [usize; 2]) -> Self {
        let mut of = vec![[1; 2]; VERB_SLOTS];
        for entry in TABLE {
            of[entry.slot as usize] = lanes(entry).map(|lanes| lanes.clamp(1, BATCH_MAX));
        }
        Self { of }
    }

    /// Lanes of the kernel for the verb with this slot of the verb table; 1 for a slot that no verb has.
    #[inline]
    pub fn of(&self, slot: usize) -> usize {
        self.of.get(slot).map_or(1, |[lanes, _]| *lanes)
    }

    /// As [`Lanes::of`], for the kernel's form for the most requests.
    #[inline]
    pub fn wide(&self, slot: usize) -> usize {
        self.of.get(slot).map_or(1, |[_, wide]| *wide)
    }

    /// The largest number of lanes among the verbs that cards of a personality serve.
    pub fn most(&self, personality: Personality) -> usize {
        let is_served = |entry: &Entry| match entry.executor {
            Executor::AnyCard => true,
            Executor::Coprocessor => personality == Personality::Coprocessor,
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

/// The engine's operation whose lanes a kernel has; `None` for a kernel that takes one request at a time.
fn operation(kernel: Kernel) -> Option<Operation> {
    use CipherAlgorithm::{Aes128, Aes256, Des, Tdes2, Tdes3};
    use CipherDirection::{Decipher, Encipher};
    const RSA_BITS: usize = 2048;
    Some(match kernel {
        Kernel::One => return None,
        Kernel::RsaPrivate => Operation::RsaPrivate { bits: RSA_BITS },
        Kernel::RsaPublic => Operation::RsaPublic { bits: RSA_BITS },
        Kernel::DesCbc => Operation::Cipher(Des, Mode::Cbc, Encipher),
        Kernel::DesEcb => Operation::Cipher(Des, Mode::Ecb, Encipher),
        Kernel::TdesCbcEncipher => Operation::Cipher(Tdes3, Mode::Cbc, Encipher),
        Kernel::TdesCbcDecipher => Operation::Cipher(Tdes3, Mode::Cbc, Decipher),
        Kernel::TdesDouble => Operation::Cipher(Tdes2, Mode::Ecb, Encipher),
        Kernel::TdesTriple => Operation::Cipher(Tdes3, Mode::Ecb, Encipher),
        Kernel::AesEcb => Operation::Cipher(Aes128, Mode::Ecb, Encipher),
        Kernel::AesCbc => Operation::Cipher(Aes256, Mode::Cbc, Encipher),
        Kernel::X919 => Operation::Mac(MacAlgorithm::X919),
        Kernel::CmacTdes => Operation::Mac(MacAlgorithm::CmacTdes2),
        Kernel::CmacAes => Operation::Mac(MacAlgorithm::CmacAes256),
        Kernel::Sha256 => Operation::Hash(HashAlgorithm::Sha256),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Level, Options};
    use wire::Verb;

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
        let lanes = Lanes::new(|entry| [if entry.verb == Verb::Null { usize::MAX } else { 0 }; 2]);
        assert_eq!((lanes.of(row(Verb::Null)), lanes.of(row(Verb::MacGenerate))), (BATCH_MAX, 1));
        assert_eq!(lanes.most(Personality::Accelerator), BATCH_MAX);
        let lanes = Lanes::new(|entry| [if entry.verb == Verb::MacGenerate { 64 } else { 1 }; 2]);
        assert_eq!((lanes.most(Personality::Accelerator), lanes.most(Personality::Coprocessor)), (1, 64));
    }
}
