//! Orders that take two officers, and which officer has done which half.
//!
//! | what | who |
//! |---|---|
//! | first and last part of a new key | two different officers |
//! | putting new keys into use | one orders it, another one confirms |
//! | sealing under a passphrase | one gives the passphrase, another one confirms |
//! | clearing a new register, unsealing, looking | one |
//!
//! A pending order is dropped after [`WAIT`], and when the registers change in any way, so that what is confirmed is
//! what was ordered. Officers are identified by user ids, which the program that started the keeper determines.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wire::control::{OfficerOrder, OfficerRefusal, Part, PendingOrder, Register, TwoOfficers};

/// How long an order waits for the second officer.
pub const WAIT: Duration = Duration::from_secs(15 * 60);

/// The halves that officers have done, and the order that waits for a second officer.
#[derive(Default)]
pub struct Officers {
    /// Officers who gave the first part of a key that is not complete yet, by domain and register.
    first_parts: BTreeMap<(u16, u8), u32>,
    waiting: Option<Waiting>,
    given: u64,
}

struct Waiting {
    shown: PendingOrder,
    order: OfficerOrder,
    since: Instant,
}

impl Officers {
    /// Refuses an order that this officer may not give alone after the earlier orders.
    ///
    /// # Errors
    /// [`OfficerRefusal::SameOfficer`] for the last part of a key whose first part came from the same officer, or from
    /// an unknown one since it was unsealed; and for orders that another officer must confirm.
    pub fn may(&self, officer: u32, order: &OfficerOrder) -> Result<(), OfficerRefusal> {
        match order {
            OfficerOrder::LoadPart { domain, register, part: Part::Last, .. }
            | OfficerOrder::MayLoad { domain, register, part: Part::Last } => {
                match self.first_parts.get(&place(*domain, *register)) {
                    Some(first) if *first != officer => Ok(()),
                    _ => Err(OfficerRefusal::SameOfficer),
                }
            }
            OfficerOrder::Set { .. } | OfficerOrder::SealUnder { .. } => Err(OfficerRefusal::SameOfficer),
            _ => Ok(()),
        }
    }

    /// Notes an officer's order that was carried out. If it changed registers, the order that waits is dropped.
    pub fn done(&mut self, officer: u32, order: &OfficerOrder) {
        match order {
            OfficerOrder::LoadPart { domain, register, part: Part::First, .. } => {
                self.first_parts.insert(place(*domain, *register), officer);
            }
            OfficerOrder::LoadPart { part: Part::Middle, .. } => {}
            OfficerOrder::LoadPart { domain, register, part: Part::Last, .. }
            | OfficerOrder::ClearNew { domain, register } => {
                self.first_parts.remove(&place(*domain, *register));
            }
            OfficerOrder::Set { .. } | OfficerOrder::SealUnder { .. } | OfficerOrder::Unseal { .. } => {}
            OfficerOrder::StartupKey
            | OfficerOrder::Registers
            | OfficerOrder::Pending
            | OfficerOrder::MayLoad { .. }
            | OfficerOrder::Confirm { .. } => return,
        }
        self.waiting = None;
    }

    /// Keeps an order for a second officer's confirmation. An order that waited before is dropped.
    ///
    /// # Errors
    /// [`OfficerRefusal::NothingPending`] for an order that does not take two officers.
    pub fn ask(
        &mut self,
        officer: u32,
        order: OfficerOrder,
        now: Instant,
    ) -> Result<PendingOrder, OfficerRefusal> {
        let what = match order {
            OfficerOrder::Set { domain } => TwoOfficers::Set { domain },
            OfficerOrder::SealUnder { .. } => TwoOfficers::Seal,
            _ => return Err(OfficerRefusal::NothingPending),
        };
        self.given += 1;
        let shown = PendingOrder { number: self.given, officer, what };
        self.waiting = Some(Waiting { shown, order, since: now });
        Ok(shown)
    }

    /// The order that waits for a second officer; `None` if there is none, or if it waited for [`WAIT`].
    pub fn pending(&mut self, now: Instant) -> Option<PendingOrder> {
        self.waiting.take_if(|waiting| now.saturating_duration_since(waiting.since) >= WAIT);
        self.waiting.as_ref().map(|waiting| waiting.shown)
    }

    /// Takes the order with this number, which another officer gave, to be carried out now. It is not pending any
    /// longer.
    ///
    /// # Errors
    /// [`OfficerRefusal::NothingPending`] if no order of this number waits; [`OfficerRefusal::SameOfficer`] if this
    /// officer gave it, after which it remains pending.
    pub fn confirm(
        &mut self,
        officer: u32,
        number: u64,
        now: Instant,
    ) -> Result<OfficerOrder, OfficerRefusal> {
        match self.pending(now) {
            Some(shown) if shown.number != number => Err(OfficerRefusal::NothingPending),
            Some(shown) if shown.officer == officer => Err(OfficerRefusal::SameOfficer),
            _ => self.waiting.take().map(|waiting| waiting.order).ok_or(OfficerRefusal::NothingPending),
        }
    }
}

fn place(domain: u16, register: Register) -> (u16, u8) {
    (domain, register as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::Sealed;

    const ALICE: u32 = 1001;
    const BOB: u32 = 1002;

    fn load(register: Register, part: Part) -> OfficerOrder {
        let sealed = Sealed { share: [0; 32], ciphertext: Vec::new() };
        OfficerOrder::LoadPart { domain: 0, register, part, sealed }
    }

    fn may_load(register: Register, part: Part) -> OfficerOrder {
        OfficerOrder::MayLoad { domain: 0, register, part }
    }

    #[test]
    fn the_last_part_comes_from_another_officer_than_the_first() {
        let mut officers = Officers::default();
        let last = load(Register::Aes, Part::Last);
        // Of a part that was unsealed nobody knows whose it was.
        assert_eq!(officers.may(ALICE, &last), Err(OfficerRefusal::SameOfficer));
        officers.done(ALICE, &load(Register::Aes, Part::First));
        officers.done(BOB, &load(Register::Aes, Part::Middle));
        assert_eq!(officers.may(ALICE, &last), Err(OfficerRefusal::SameOfficer));
        assert_eq!(officers.may(BOB, &last), Ok(()));
        // Asked before, the answers are the same.
        let asked = may_load(Register::Aes, Part::Last);
        assert_eq!(officers.may(ALICE, &asked), Err(OfficerRefusal::SameOfficer));
        assert_eq!(officers.may(BOB, &asked), Ok(()));
        let elsewhere = load(Register::Sym, Part::Last);
        assert_eq!(officers.may(BOB, &elsewhere), Err(OfficerRefusal::SameOfficer));
        officers.done(BOB, &OfficerOrder::ClearNew { domain: 0, register: Register::Aes });
        assert_eq!(officers.may(BOB, &last), Err(OfficerRefusal::SameOfficer));
    }

    #[test]
    fn what_was_ordered_is_confirmed_by_another_officer_while_it_stands() {
        let (mut officers, now) = (Officers::default(), Instant::now());
        let set = OfficerOrder::Set { domain: 3 };
        assert_eq!(officers.may(ALICE, &set), Err(OfficerRefusal::SameOfficer));
        let asked = officers.ask(ALICE, set.clone(), now).unwrap();
        assert_eq!(officers.pending(now), Some(asked));
        assert_eq!(officers.confirm(ALICE, asked.number, now), Err(OfficerRefusal::SameOfficer));
        assert_eq!(officers.confirm(BOB, asked.number + 1, now), Err(OfficerRefusal::NothingPending));
        assert_eq!(officers.confirm(BOB, asked.number, now), Ok(set.clone()));
        assert_eq!(officers.confirm(BOB, asked.number, now), Err(OfficerRefusal::NothingPending));

        // Looking changes nothing, a part does.
        let asked = officers.ask(ALICE, set.clone(), now).unwrap();
        officers.done(ALICE, &OfficerOrder::Registers);
        officers.done(ALICE, &may_load(Register::Aes, Part::First));
        assert_eq!(officers.pending(now), Some(asked));
        officers.done(ALICE, &load(Register::Aes, Part::First));
        assert_eq!(officers.confirm(BOB, asked.number, now), Err(OfficerRefusal::NothingPending));

        let (early, late) = (officers.ask(ALICE, set.clone(), now).unwrap(), now + WAIT);
        assert_eq!(officers.confirm(BOB, early.number, late), Err(OfficerRefusal::NothingPending));
        let (first, second) =
            (officers.ask(ALICE, set.clone(), now).unwrap(), officers.ask(BOB, set, now).unwrap());
        assert_eq!(officers.confirm(BOB, first.number, now), Err(OfficerRefusal::NothingPending));
        assert!(officers.confirm(ALICE, second.number, now).is_ok());
        assert!(officers.ask(ALICE, OfficerOrder::Registers, now).is_err());
    }
}
