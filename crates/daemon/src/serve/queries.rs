//! Answers queries from what the daemon knows, as far as the caller may know it.

use super::Daemon;
use crate::rights::Rights;
use crate::verbs::{self, Answer, Facts};
use wire::control::{ClientReply, Personality, Refusal};
use wire::verb::Entry;

/// The serial number in an answer if the caller may use no such card: blanks.
const NO_CARD: [u8; 8] = [b' '; 8];

impl Daemon {
    /// Answers a query about a domain, and about a coprocessor: the given card, or the first that the caller may use.
    pub(super) fn query(
        &mut self,
        client: u64,
        entry: &'static Entry,
        payload: &[u8],
        (domain, card): (u16, Option<u32>),
    ) -> Result<(), Refusal> {
        let peer = self.clients.get(&client).ok_or(Refusal::Denied)?;
        let (tenant, who) = (peer.tenant(), peer.who());
        self.check_domain_of(tenant, domain)?;
        let domains = self.settings.cards.domains;
        let usable: Vec<u16> =
            (0..domains).filter(|other| self.check_domain(tenant, *other).is_ok()).collect();
        let is_coprocessor = |index: &u32| {
            let wanted = self.cards.get(index).and_then(|card| card.wanted.as_ref());
            wanted.is_some_and(|wanted| wanted.personality == Personality::Coprocessor)
        };
        let its: Vec<u32> = self
            .cards
            .keys()
            .copied()
            .filter(|index| is_coprocessor(index) && self.may_use(tenant, *index))
            .collect();
        let asked = match card {
            Some(card) => its.iter().find(|index| **index == card),
            None => its.first(),
        };
        let facts = Facts {
            domain,
            domains,
            usable: &usable,
            registers: &self.keeper.registers,
            adapters: its.len(),
            serial: asked.map_or(NO_CARD, |index| self.serials.card(*index)),
            role: self.rights.role(who),
        };
        let Answer { codes, payload } = match verbs::query(entry, payload, &facts) {
            Ok(answer) => answer,
            Err(Refusal::Verb(codes)) => Answer::bare(codes),
            Err(refusal) => return Err(refusal),
        };
        self.reply(client, &ClientReply::Called { codes, payload }, &[]);
        Ok(())
    }
}
