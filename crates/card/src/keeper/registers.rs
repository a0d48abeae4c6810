//! The master-key registers of a home: new, current and old, of each kind, in each domain.
//!
//! ```text
//! new:  Empty --first part--> Partial --middle*, last part--> Full
//!         ^--------clear-----------'-------------clear---------'
//! set:  all Full new registers of a domain, at once:  old <- current <- new <- Empty
//! ```
//! Parts are combined by exclusive or, so that one officer's part reveals nothing about the key.
//! A key whose pattern is that of the current or the old one is refused when it becomes complete:
//! setting it would lose the old key for nothing.

use serde::{Deserialize, Serialize};
use wire::control::{
    Handout, MasterKeyPair, MasterKeyPattern, NewState, OfficerRefusal, Part, Register, RegisterRow,
};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Computes the verification pattern of a master key of the register's length.
pub type PatternOf<'a> = dyn Fn(Register, &[u8]) -> MasterKeyPattern + 'a;

/// Patterns after a part was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPatterns {
    /// Pattern of the part alone.
    pub part: MasterKeyPattern,
    /// Pattern of the complete key; `None` before the last part.
    pub key: Option<MasterKeyPattern>,
}

/// One register of one domain; an empty vector is no key.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Slot {
    new: Vec<u8>,
    new_full: bool,
    current: Vec<u8>,
    old: Vec<u8>,
}

impl Slot {
    fn new_state(&self) -> NewState {
        match (self.new.is_empty(), self.new_full) {
            (true, _) => NewState::Empty,
            (false, false) => NewState::Partial,
            (false, true) => NewState::Full,
        }
    }

    fn is_valid(&self, register: Register) -> bool {
        let length = |key: &Vec<u8>| key.is_empty() || key.len() == register.key_bytes();
        [&self.new, &self.current, &self.old].into_iter().all(length)
            && !(self.new_full && self.new.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.current.is_empty() && self.old.is_empty()
    }
}

/// The registers of every domain.
#[derive(Clone, PartialEq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Registers {
    domains: Vec<[Slot; Register::ALL.len()]>,
}

impl Registers {
    /// Empty registers of this many domains.
    pub fn new(domains: u16) -> Self {
        Self { domains: (0..domains).map(|_| Default::default()).collect() }
    }

    /// Number of domains.
    pub fn domains(&self) -> u16 {
        self.domains.len() as u16
    }

    /// Whether no register holds anything.
    pub fn is_empty(&self) -> bool {
        self.domains.iter().flatten().all(Slot::is_empty)
    }

    /// Refuses a part, of the right length, that may not be loaded into a new register now.
    ///
    /// # Errors
    /// [`OfficerRefusal::Domain`], or [`OfficerRefusal::RegisterState`]: a first part unless the register is empty, or
    /// a later part unless it is partly loaded.
    pub fn may_load(&self, domain: u16, register: Register, part: Part) -> Result<(), OfficerRefusal> {
        let slots = self.domains.get(domain as usize).ok_or(OfficerRefusal::Domain)?;
        let expected = if part == Part::First { NewState::Empty } else { NewState::Partial };
        if slots[register as usize].new_state() == expected {
            Ok(())
        } else {
            Err(OfficerRefusal::RegisterState)
        }
    }

    /// Loads a part into a new register.
    ///
    /// # Errors
    /// [`OfficerRefusal::Domain`], [`OfficerRefusal::PartLength`], [`OfficerRefusal::RegisterState`]: a first part
    /// unless the register is empty, or a later part unless it is partly loaded; or [`OfficerRefusal::SameKey`], after
    /// which the register is as it was before.
    pub fn load_part(
        &mut self,
        domain: u16,
        register: Register,
        part: Part,
        value: &[u8],
        pattern_of: &PatternOf<'_>,
    ) -> Result<PartPatterns, OfficerRefusal> {
        self.may_load(domain, register, part)?;
        let slot = self.slot(domain, register)?;
        if value.len() != register.key_bytes() {
            return Err(OfficerRefusal::PartLength);
        }
        let mut combined = zeroize::Zeroizing::new(value.to_vec());
        for (byte, before) in combined.iter_mut().zip(&slot.new) {
            *byte ^= before;
        }
        let key = (part == Part::Last).then(|| pattern_of(register, &combined));
        let same = |other: &Vec<u8>| !other.is_empty() && key == Some(pattern_of(register, other));
        if same(&slot.current) || same(&slot.old) {
            return Err(OfficerRefusal::SameKey);
        }
        slot.new.zeroize();
        slot.new.extend_from_slice(&combined);
        slot.new_full = key.is_some();
        Ok(PartPatterns { part: pattern_of(register, value), key })
    }

    /// Empties a new register.
    ///
    /// # Errors
    /// [`OfficerRefusal::Domain`].
    pub fn clear_new(&mut self, domain: u16, register: Register) -> Result<(), OfficerRefusal> {
        let slot = self.slot(domain, register)?;
        slot.new.zeroize();
        slot.new_full = false;
        Ok(())
    }

    /// Refuses a domain whose new registers may not be set now.
    ///
    /// # Errors
    /// [`OfficerRefusal::Domain`], or [`OfficerRefusal::RegisterState`] if no register is full or one is partly loaded.
    pub fn may_set(&self, domain: u16) -> Result<(), OfficerRefusal> {
        let slots = self.domains.get(domain as usize).ok_or(OfficerRefusal::Domain)?;
        let in_state = |state| slots.iter().any(|slot| slot.new_state() == state);
        if in_state(NewState::Partial) || !in_state(NewState::Full) {
            return Err(OfficerRefusal::RegisterState);
        }
        Ok(())
    }

    /// Sets every full new register of a domain, at once.
    ///
    /// # Errors
    /// As [`Registers::may_set`]; nothing is set then.
    pub fn set(&mut self, domain: u16) -> Result<(), OfficerRefusal> {
        self.may_set(domain)?;
        let slots = self.domains.get_mut(domain as usize).ok_or(OfficerRefusal::Domain)?;
        for slot in slots.iter_mut().filter(|slot| slot.new_full) {
            slot.old.zeroize();
            slot.old = std::mem::take(&mut slot.current);
            slot.current = std::mem::take(&mut slot.new);
            slot.new_full = false;
        }
        Ok(())
    }

    /// Puts a key straight into a current register: for development homes.
    ///
    /// # Errors
    /// [`OfficerRefusal::Domain`] or [`OfficerRefusal::PartLength`].
    pub fn put_current(&mut self, domain: u16, register: Register, key: &[u8]) -> Result<(), OfficerRefusal> {
        let slot = self.slot(domain, register)?;
        if key.len() != register.key_bytes() {
            return Err(OfficerRefusal::PartLength);
        }
        slot.current.zeroize();
        slot.current.extend_from_slice(key);
        Ok(())
    }

    /// The public state of every register, for every domain that holds any key.
    pub fn rows(&self, pattern_of: &PatternOf<'_>) -> Vec<RegisterRow> {
        let mut rows = Vec::new();
        for (domain, slots) in self.domains.iter().enumerate() {
            if slots.iter().all(Slot::is_empty) {
                continue;
            }
            for (register, slot) in Register::ALL.into_iter().zip(slots) {
                let pattern = |key: &Vec<u8>| (!key.is_empty()).then(|| pattern_of(register, key));
                rows.push(RegisterRow {
                    domain: domain as u16,
                    register,
                    new_state: slot.new_state(),
                    new_pattern: slot.new_full.then(|| pattern(&slot.new)).flatten(),
                    current_pattern: pattern(&slot.current),
                    old_pattern: pattern(&slot.old),
                    is_sealed: false,
                });
            }
        }
        rows
    }

    /// The registers that a card gets for a domain; `None` if the domain does not exist.
    pub fn handout(&self, domain: u16) -> Option<Handout> {
        let slots = self.domains.get(domain as usize)?;
        let pair = |slot: &Slot| MasterKeyPair { current: slot.current.clone(), old: slot.old.clone() };
        Some(Handout { domain, keys: std::array::from_fn(|index| pair(&slots[index])) })
    }

    /// The full new keys of a domain, one for each of [`Register::ALL`], empty for a register without one; `None` if
    /// the domain does not exist. The caller wipes them.
    pub fn full_new(&self, domain: u16) -> Option<[Vec<u8>; 4]> {
        let slots = self.domains.get(domain as usize)?;
        let key = |slot: &Slot| if slot.new_full { slot.new.clone() } else { Vec::new() };
        Some(std::array::from_fn(|index| key(&slots[index])))
    }

    /// Takes over the registers of `other`, as far as this home has their domains.
    ///
    /// # Errors
    /// [`OfficerRefusal::AlreadyUnsealed`] if a register here holds anything; [`OfficerRefusal::Domain`] if `other`
    /// holds a key of a domain that this home does not have, which would be lost at the next sealing;
    /// [`OfficerRefusal::RegisterState`] if a key does not have the length of its register. Nothing is taken over then.
    pub fn adopt(&mut self, mut other: Self) -> Result<(), OfficerRefusal> {
        if !self.is_empty() {
            return Err(OfficerRefusal::AlreadyUnsealed);
        }
        let domains = self.domains.len();
        if other.domains.iter().skip(domains).flatten().any(|slot| !slot.is_empty()) {
            return Err(OfficerRefusal::Domain);
        }
        let valid = |slots: &[Slot; 4]| {
            Register::ALL.iter().zip(slots).all(|(register, slot)| slot.is_valid(*register))
        };
        if !other.domains.iter().all(valid) {
            return Err(OfficerRefusal::RegisterState);
        }
        for (ours, theirs) in self.domains.iter_mut().zip(&mut other.domains) {
            std::mem::swap(ours, theirs);
        }
        Ok(())
    }

    fn slot(&mut self, domain: u16, register: Register) -> Result<&mut Slot, OfficerRefusal> {
        let slots = self.domains.get_mut(domain as usize).ok_or(OfficerRefusal::Domain)?;
        Ok(&mut slots[register as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for a pattern, which differs by key and by register.
    fn pattern(register: Register, key: &[u8]) -> MasterKeyPattern {
        let mut out = [register as u8; 16];
        for (index, byte) in key.iter().enumerate() {
            out[index % 8] ^= byte.rotate_left(index as u32 / 8);
        }
        MasterKeyPattern::new(register, out)
    }

    fn load(registers: &mut Registers, part: Part, byte: u8) -> Result<PartPatterns, OfficerRefusal> {
        registers.load_part(0, Register::Aes, part, &[byte; 32], &pattern)
    }

    #[test]
    fn parts_are_combined_and_set() {
        let mut registers = Registers::new(2);
        assert!(registers.is_empty() && registers.rows(&pattern).is_empty());
        let first = load(&mut registers, Part::First, 1).unwrap();
        assert_eq!(first, PartPatterns { part: pattern(Register::Aes, &[1; 32]), key: None });
        load(&mut registers, Part::Middle, 2).unwrap();
        let last = load(&mut registers, Part::Last, 4).unwrap();
        assert_eq!(last.key, Some(pattern(Register::Aes, &[7; 32])));
        assert_eq!(last.part, pattern(Register::Aes, &[4; 32]));
        registers.set(0).unwrap();
        let handout = registers.handout(0).unwrap();
        assert_eq!(handout.keys[Register::Aes as usize].current, [7; 32]);
        assert!(handout.keys[Register::Aes as usize].old.is_empty());
        assert!(handout.keys[Register::Sym as usize].current.is_empty());
        assert!(registers.handout(2).is_none());

        load(&mut registers, Part::First, 8).unwrap();
        load(&mut registers, Part::Last, 1).unwrap();
        registers.set(0).unwrap();
        let handout = registers.handout(0).unwrap();
        assert_eq!(handout.keys[Register::Aes as usize].current, [9; 32]);
        assert_eq!(handout.keys[Register::Aes as usize].old, [7; 32]);
        let rows = registers.rows(&pattern);
        assert_eq!(rows.len(), Register::ALL.len());
        assert_eq!(rows[2].old_pattern, Some(pattern(Register::Aes, &[7; 32])));
        assert_eq!((rows[2].new_state, rows[2].new_pattern), (NewState::Empty, None));
    }

    #[test]
    fn what_does_not_fit_the_register_is_refused() {
        let mut registers = Registers::new(1);
        let may = |registers: &Registers, part| registers.may_load(0, Register::Aes, part);
        assert_eq!(may(&registers, Part::First), Ok(()));
        assert_eq!(may(&registers, Part::Last), Err(OfficerRefusal::RegisterState));
        assert_eq!(registers.may_load(1, Register::Aes, Part::First), Err(OfficerRefusal::Domain));
        assert_eq!(load(&mut registers, Part::Last, 1), Err(OfficerRefusal::RegisterState));
        assert_eq!(load(&mut registers, Part::Middle, 1), Err(OfficerRefusal::RegisterState));
        let short = registers.load_part(0, Register::Aes, Part::First, &[1; 24], &pattern);
        assert_eq!(short, Err(OfficerRefusal::PartLength));
        let stranger = registers.load_part(1, Register::Aes, Part::First, &[1; 32], &pattern);
        assert_eq!(stranger, Err(OfficerRefusal::Domain));
        assert_eq!(registers.set(0), Err(OfficerRefusal::RegisterState));
        load(&mut registers, Part::First, 1).unwrap();
        assert_eq!(may(&registers, Part::First), Err(OfficerRefusal::RegisterState));
        assert_eq!((may(&registers, Part::Middle), may(&registers, Part::Last)), (Ok(()), Ok(())));
        assert_eq!(load(&mut registers, Part::First, 1), Err(OfficerRefusal::RegisterState));
        assert_eq!(registers.set(0), Err(OfficerRefusal::RegisterState));
        registers.clear_new(0, Register::Aes).unwrap();
        assert!(registers.is_empty());
        assert_eq!(registers.clear_new(1, Register::Aes), Err(OfficerRefusal::Domain));
        assert_eq!(registers.set(7), Err(OfficerRefusal::Domain));
    }

    #[test]
    fn the_current_and_the_old_key_are_not_set_again() {
        let mut registers = Registers::new(1);
        for (first, last) in [(1, 2), (4, 8)] {
            load(&mut registers, Part::First, first).unwrap();
            load(&mut registers, Part::Last, last).unwrap();
            registers.set(0).unwrap();
        }
        for (first, last) in [(1, 2), (4, 8), (8, 4)] {
            load(&mut registers, Part::First, first).unwrap();
            assert_eq!(load(&mut registers, Part::Last, last), Err(OfficerRefusal::SameKey));
            // Another last part may still complete it.
            assert_eq!(registers.rows(&pattern)[2].new_state, NewState::Partial);
            registers.clear_new(0, Register::Aes).unwrap();
        }
    }

    #[test]
    fn all_full_registers_of_a_domain_are_set_at_once_or_none() {
        let mut registers = Registers::new(2);
        for (domain, register) in [(0, Register::Aes), (0, Register::Sym), (1, Register::Apka)] {
            let value = vec![3; register.key_bytes()];
            registers.load_part(domain, register, Part::First, &value, &pattern).unwrap();
        }
        let value = vec![5; 32];
        registers.load_part(0, Register::Aes, Part::Last, &value, &pattern).unwrap();
        assert_eq!(registers.set(0), Err(OfficerRefusal::RegisterState));
        assert!(registers.handout(0).unwrap().keys.iter().all(|pair| pair.current.is_empty()));
        registers.load_part(0, Register::Sym, Part::Last, &[5; 24], &pattern).unwrap();
        registers.set(0).unwrap();
        let handout = registers.handout(0).unwrap();
        assert_eq!(handout.keys[Register::Sym as usize].current, [6; 24]);
        assert_eq!(handout.keys[Register::Aes as usize].current, [6; 32]);
        assert!(registers.handout(1).unwrap().keys.iter().all(|pair| pair.current.is_empty()));
    }

    #[test]
    fn registers_are_adopted_whole_or_not_at_all() {
        let mut sealed = Registers::new(2);
        sealed.put_current(1, Register::Sym, &[9; 24]).unwrap();
        let mut narrow = Registers::new(1);
        assert_eq!(narrow.adopt(sealed.clone()), Err(OfficerRefusal::Domain));
        assert!(narrow.is_empty());
        let mut wide = Registers::new(3);
        wide.adopt(sealed.clone()).unwrap();
        assert_eq!(wide.handout(1).unwrap().keys[0].current, [9; 24]);
        assert_eq!((wide.domains(), wide.adopt(sealed)), (3, Err(OfficerRefusal::AlreadyUnsealed)));
        let mut broken = Registers::new(1);
        broken.domains[0][0].current = vec![1; 5];
        assert_eq!(narrow.adopt(broken), Err(OfficerRefusal::RegisterState));
    }
}
