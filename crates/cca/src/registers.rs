//! The master keys of a domain: current and old, as the keeper handed them out.

use crate::ground::{Age, aes_256};
use crate::patterns;
use crate::prepared::PkaContexts;
use engine::{CipherAlgorithm, CipherKey, Engine, Hctr2Key, SecretBytes};
use std::sync::Arc;
use wire::control::{Handout, MasterKeyPair, Register};
use wire::registers::RegisterSet;
use wire::{Codes, code};

/// The public part of one register: the verification patterns of its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterPatterns {
    /// First 8 bytes of the current key's pattern, as tokens have them.
    pub current: Option<[u8; 8]>,
    /// First 8 bytes of the old key's pattern.
    pub old: Option<[u8; 8]>,
    /// What Key_Test shows of the current key.
    pub(crate) current_test: [u8; 16],
    /// What Key_Test shows of the old key.
    pub(crate) old_test: [u8; 16],
}

/// The public part of the registers of one domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainPatterns {
    registers: [RegisterPatterns; 4],
}

impl DomainPatterns {
    /// The patterns of one register.
    pub fn register(&self, register: Register) -> &RegisterPatterns {
        &self.registers[index(register)]
    }

    /// The registers that have a current key.
    pub fn held(&self) -> RegisterSet {
        let held = |register: &Register| self.register(*register).current.is_some();
        Register::ALL.into_iter().filter(held).fold(RegisterSet::NONE, RegisterSet::with)
    }
}

/// A master-key register with its keys.
#[derive(Default)]
struct MasterKeys {
    /// The key that is current soon: it opens tokens and wraps none.
    next: Option<MasterKey>,
    current: Option<MasterKey>,
    old: Option<MasterKey>,
}

/// One master key and its pattern.
pub(crate) struct MasterKey {
    pub(crate) key: SecretBytes,
    /// The first 8 bytes of its pattern, which name it.
    pub(crate) pattern: [u8; 8],
    /// The next 8 bytes of the pattern; zero for registers with patterns of 8 bytes.
    pub(crate) pattern_rest: [u8; 8],
}

impl MasterKey {
    fn new(engine: &Engine, register: Register, bytes: &[u8]) -> Self {
        let pattern = patterns::master_key_pattern(engine, register, bytes);
        let [.., a, b, c, d, e, f, g, h] = *pattern.field();
        let key = SecretBytes::from_slice(bytes);
        Self { key, pattern: pattern.name(), pattern_rest: [a, b, c, d, e, f, g, h] }
    }
}

/// One domain: its registers, and what is prepared from them.
#[derive(Default)]
pub(crate) struct Domain {
    registers: [MasterKeys; 4],
    /// Prepared AES master keys, by age.
    aes: [Option<Arc<CipherKey>>; 3],
    /// Keys of internal tokens in authenticated form, by register and age.
    tokens: [[Option<Arc<Hctr2Key>>; 3]; 4],
    /// Keys of internal tokens of variable length, by age.
    variable: [Option<Arc<CipherKey>>; 3],
    pub(crate) pka: PkaContexts,
}

/// A master key of the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongLength {
    pub(crate) register: Register,
    pub(crate) given: usize,
}

impl Domain {
    /// A domain with the keys of a handout.
    pub(crate) fn load(engine: &Engine, handout: &Handout) -> Result<(Self, DomainPatterns), WrongLength> {
        let mut domain = Self::default();
        let mut known = DomainPatterns::default();
        for register in Register::ALL {
            let MasterKeyPair { current, old } = &handout.keys[index(register)];
            let keys = &mut domain.registers[index(register)];
            let patterns = &mut known.registers[index(register)];
            for (bytes, key, pattern, test) in [
                (current, &mut keys.current, &mut patterns.current, &mut patterns.current_test),
                (old, &mut keys.old, &mut patterns.old, &mut patterns.old_test),
            ] {
                if bytes.is_empty() {
                    continue;
                }
                if bytes.len() != register.key_bytes() {
                    return Err(WrongLength { register, given: bytes.len() });
                }
                let master = MasterKey::new(engine, register, bytes);
                *pattern = Some(master.pattern);
                *test = patterns::both(engine, register, bytes);
                *key = Some(master);
            }
        }
        Ok((domain, known))
    }

    /// Takes in the keys that are current soon, one for each register; an empty key stands for none.
    ///
    /// # Errors
    /// [`WrongLength`].
    pub(crate) fn expect(&mut self, engine: &Engine, next: &[Vec<u8>; 4]) -> Result<(), WrongLength> {
        for register in Register::ALL {
            let bytes = &next[index(register)];
            if bytes.is_empty() {
                continue;
            }
            if bytes.len() != register.key_bytes() {
                return Err(WrongLength { register, given: bytes.len() });
            }
            self.registers[index(register)].next = Some(MasterKey::new(engine, register, bytes));
        }
        Ok(())
    }

    /// The key that wraps tokens of this register now.
    ///
    /// # Errors
    /// 12/764 where there is none.
    pub(crate) fn current(&self, register: Register) -> Result<&MasterKey, Codes> {
        self.registers[index(register)].current.as_ref().ok_or(code::MASTER_KEY_NOT_LOADED)
    }

    /// The key of this pattern, with its age.
    ///
    /// # Errors
    /// 12/764 where the register is empty, 8/48 where no key of it has the pattern.
    pub(crate) fn of_pattern(
        &self,
        register: Register,
        pattern: &[u8; 8],
    ) -> Result<(Age, &MasterKey), Codes> {
        let MasterKeys { next, current, old } = &self.registers[index(register)];
        let by_age = [(Age::Current, current), (Age::Next, next), (Age::Old, old)];
        let known = by_age.iter().filter_map(|(age, key)| Some((*age, key.as_ref()?)));
        let found = known.clone().find(|(_, key)| key.pattern == *pattern);
        found.ok_or(if current.is_some() || next.is_some() {
            code::MASTER_KEY_MISMATCH
        } else {
            code::MASTER_KEY_NOT_LOADED
        })
    }

    /// The key of this age, which must be there.
    pub(crate) fn of_age(&self, register: Register, age: Age) -> Result<&MasterKey, Codes> {
        match age {
            Age::Current => self.current(register),
            Age::Next => self.registers[index(register)].next.as_ref().ok_or(code::MASTER_KEY_MISMATCH),
            Age::Old => self.registers[index(register)].old.as_ref().ok_or(code::MASTER_KEY_MISMATCH),
        }
    }

    /// The prepared AES master key of this age.
    ///
    /// # Errors
    /// As [`Domain::of_age`].
    pub(crate) fn aes_schedule(&mut self, engine: &Engine, age: Age) -> Result<Arc<CipherKey>, Codes> {
        let slot = age as usize;
        if let Some(prepared) = &self.aes[slot] {
            return Ok(Arc::clone(prepared));
        }
        let master = self.of_age(Register::Aes, age)?;
        let prepared =
            engine.cipher_key(CipherAlgorithm::Aes256, &master.key).map_err(|_| code::SELF_CHECK)?;
        Ok(Arc::clone(self.aes[slot].insert(Arc::new(prepared))))
    }
}

impl Domain {
    /// The key of internal tokens in authenticated form, from the master key of this age.
    ///
    /// # Errors
    /// As [`Domain::of_age`].
    pub(crate) fn token_key(
        &mut self,
        engine: &Engine,
        register: Register,
        age: Age,
    ) -> Result<Arc<Hctr2Key>, Codes> {
        let (row, slot) = (index(register), age as usize);
        if let Some(prepared) = &self.tokens[row][slot] {
            return Ok(Arc::clone(prepared));
        }
        let master = self.of_age(register, age)?;
        let label = match register {
            Register::Sym => LABEL_DES_TOKENS,
            Register::Aes => LABEL_AES_TOKENS,
            Register::Asym | Register::Apka => return Err(code::SELF_CHECK),
        };
        let key = derive(&master.key, label);
        let prepared = engine.hctr2_key(&key).map_err(|_| code::SELF_CHECK)?;
        Ok(Arc::clone(self.tokens[row][slot].insert(Arc::new(prepared))))
    }
}

impl Domain {
    /// The key of internal tokens of variable length, from the AES master key of this age.
    ///
    /// # Errors
    /// As [`Domain::of_age`].
    pub(crate) fn variable_key(&mut self, engine: &Engine, age: Age) -> Result<Arc<CipherKey>, Codes> {
        let slot = age as usize;
        if let Some(prepared) = &self.variable[slot] {
            return Ok(Arc::clone(prepared));
        }
        let key = derive(&self.of_age(Register::Aes, age)?.key, LABEL_VARIABLE_TOKENS);
        let prepared = aes_256(engine, &key)?;
        Ok(Arc::clone(self.variable[slot].insert(Arc::new(prepared))))
    }
}

/// A key of 32 bytes for one purpose, from another key: the counter mode of SP 800-108 with HMAC-SHA-256, with a
/// counter and a length of 32 bits, and no context.
pub(crate) fn derive(from: &[u8], label: &[u8]) -> SecretBytes {
    let mut derived = SecretBytes::new(32);
    engine::kbkdf_sha256(from, &[label, &[0], &256u32.to_be_bytes()], &mut derived);
    derived
}

/// The purposes for which keys of internal tokens are derived.
const LABEL_DES_TOKENS: &[u8] = b"cryptand internal DES token";
const LABEL_AES_TOKENS: &[u8] = b"cryptand internal AES token";
const LABEL_VARIABLE_TOKENS: &[u8] = b"cryptand internal variable-length token";

fn index(register: Register) -> usize {
    match register {
        Register::Sym => 0,
        Register::Asym => 1,
        Register::Aes => 2,
        Register::Apka => 3,
    }
}
