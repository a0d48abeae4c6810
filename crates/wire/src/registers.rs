//! Master-key registers and sets of them: those that a card holds in each domain, and those that a
//! verb may need.
//!
//! A card publishes which registers hold a current key: in each queue's memory those of the queue's
//! domain, and in its records those of all domains. Only administrators and observers read the
//! records, so no client learns of a domain that its queue is not in.

use crate::bounds::DOMAINS_MAX;
use serde::{Deserialize, Serialize};

/// A master-key register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Register {
    /// DES keys: 24 bytes.
    Sym,
    /// RSA keys of the older tokens: 24 bytes.
    Asym,
    /// AES keys: 32 bytes.
    Aes,
    /// RSA and EC keys: 32 bytes.
    Apka,
}

impl Register {
    /// Name of the register in commands and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sym => "sym",
            Self::Asym => "asym",
            Self::Aes => "aes",
            Self::Apka => "apka",
        }
    }

    /// Every register.
    pub const ALL: [Self; 4] = [Self::Sym, Self::Asym, Self::Aes, Self::Apka];

    /// Length of the register's master key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Sym | Self::Asym => 24,
            Self::Aes | Self::Apka => 32,
        }
    }
}

/// A set of the registers of one domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisterSet(u8);

impl RegisterSet {
    /// No register.
    pub const NONE: Self = Self(0);
    /// All registers.
    pub const ALL: Self = Self::of(&Register::ALL);

    /// The set of these registers.
    pub const fn of(registers: &[Register]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < registers.len() {
            bits |= bit(registers[at]);
            at += 1;
        }
        Self(bits)
    }

    /// The registers whose bits are set, in the order of [`Register::ALL`] from the lowest bit;
    /// higher bits are ignored.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & Self::ALL.0)
    }

    /// The set as bits, one for each register.
    pub const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// This set and one more register.
    #[must_use]
    pub const fn with(self, register: Register) -> Self {
        Self(self.0 | bit(register))
    }

    /// Whether the register is in this set.
    pub const fn contains(self, register: Register) -> bool {
        self.0 & bit(register) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The registers that are in either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The registers that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The registers of the set, in the order of [`Register::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Register> {
        Register::ALL.into_iter().filter(move |register| self.contains(*register))
    }
}

/// The registers of each domain in which a card holds a current key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeldRegisters(u64);

/// Bits of one domain in the word.
const DOMAIN_BITS: usize = Register::ALL.len();

const _: () = assert!(DOMAINS_MAX * DOMAIN_BITS <= u64::BITS as usize, "all domains stand in one word");

impl HeldRegisters {
    /// No register of any domain.
    pub const NONE: Self = Self(0);

    /// From the word that a card wrote; every word has a meaning.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word: four bits for each domain, from the lowest.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The registers of a domain; none for a domain beyond [`DOMAINS_MAX`].
    pub const fn of(self, domain: u16) -> RegisterSet {
        match shift(domain) {
            Some(shift) => RegisterSet::from_bits(self.0 >> shift),
            None => RegisterSet::NONE,
        }
    }

    /// The same with these registers for one domain; unchanged for a domain beyond [`DOMAINS_MAX`].
    #[must_use]
    pub const fn with(self, domain: u16, registers: RegisterSet) -> Self {
        match shift(domain) {
            Some(shift) => Self(self.0 & !(RegisterSet::ALL.bits() << shift) | registers.bits() << shift),
            None => self,
        }
    }

    /// Whether no register of any domain is held.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Domains with at least one held register, in ascending order.
    pub fn domains(self) -> impl Iterator<Item = u16> {
        (0..DOMAINS_MAX as u16).filter(move |domain| !self.of(*domain).is_empty())
    }
}

const fn shift(domain: u16) -> Option<usize> {
    if (domain as usize) < DOMAINS_MAX { Some(domain as usize * DOMAIN_BITS) } else { None }
}

const fn bit(register: Register) -> u8 {
    match register {
        Register::Sym => 1,
        Register::Asym => 1 << 1,
        Register::Aes => 1 << 2,
        Register::Apka => 1 << 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_has_the_bit_of_its_place() {
        for (place, register) in Register::ALL.into_iter().enumerate() {
            assert_eq!(RegisterSet::of(&[register]).bits(), 1 << place);
            assert!(RegisterSet::ALL.contains(register) && !RegisterSet::NONE.contains(register));
        }
        assert_eq!(RegisterSet::from_bits(u64::MAX), RegisterSet::ALL);
        assert_eq!(RegisterSet::ALL.iter().collect::<Vec<_>>(), Register::ALL);
    }

    #[test]
    fn domains_do_not_touch_each_other() {
        let last = DOMAINS_MAX as u16 - 1;
        let aes = RegisterSet::of(&[Register::Aes]);
        let held = HeldRegisters::NONE.with(1, RegisterSet::ALL).with(last, aes);
        assert_eq!((held.of(0), held.of(1), held.of(last)), (RegisterSet::NONE, RegisterSet::ALL, aes));
        assert_eq!(held.domains().collect::<Vec<_>>(), [1, last]);
        let less = held.with(1, RegisterSet::NONE).with(last + 1, RegisterSet::ALL);
        assert_eq!(
            (less.of(1), less.of(last), less.of(last + 1)),
            (RegisterSet::NONE, aes, RegisterSet::NONE)
        );
        assert!(!less.is_empty() && less.with(last, RegisterSet::NONE).is_empty());
        assert_eq!(HeldRegisters::from_bits(held.bits()), held);
    }
}
