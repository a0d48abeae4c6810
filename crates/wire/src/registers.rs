//! Master-key registers and sets of them: what a card holds of each domain, and what a verb may need.
//!
//! A card says of each of its queues which registers of the queue's domain hold a current key, in the queue's own
//! memory, and of all domains in its records, which administrators and observers read. No client reads of a domain
//! that its queue is not in.

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
    /// Its name in commands and messages.
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

    /// Length of the master key in bytes.
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
    /// None.
    pub const NONE: Self = Self(0);
    /// All of them.
    pub const ALL: Self = Self::of(&Register::ALL);

    /// These registers.
    pub const fn of(registers: &[Register]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < registers.len() {
            bits |= bit(registers[at]);
            at += 1;
        }
        Self(bits)
    }

    /// Those whose bit is set, in the order of [`Register::ALL`] from the lowest; bits beyond are left out.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & Self::ALL.0)
    }

    /// A bit for each.
    pub const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, register: Register) -> Self {
        Self(self.0 | bit(register))
    }

    /// Whether this one is among them.
    pub const fn contains(self, register: Register) -> bool {
        self.0 & bit(register) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in this set or the other.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Its registers.
    pub fn iter(self) -> impl Iterator<Item = Register> {
        Register::ALL.into_iter().filter(move |register| self.contains(*register))
    }
}

/// Which registers a card holds a current key of, in each domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeldRegisters(u64);

/// Bits of a domain in one word.
const DOMAIN_BITS: usize = Register::ALL.len();

const _: () = assert!(DOMAINS_MAX * DOMAIN_BITS <= u64::BITS as usize, "all domains stand in one word");

impl HeldRegisters {
    /// None of any domain.
    pub const NONE: Self = Self(0);

    /// As a card wrote it; any word has a meaning.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Those of a domain; none of one beyond [`DOMAINS_MAX`].
    pub const fn of(self, domain: u16) -> RegisterSet {
        match shift(domain) {
            Some(shift) => RegisterSet::from_bits(self.0 >> shift),
            None => RegisterSet::NONE,
        }
    }

    /// With these in the place of a domain's.
    #[must_use]
    pub const fn with(self, domain: u16, registers: RegisterSet) -> Self {
        match shift(domain) {
            Some(shift) => Self(self.0 & !(RegisterSet::ALL.bits() << shift) | registers.bits() << shift),
            None => self,
        }
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Domains that any register is held of, in ascending order.
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
