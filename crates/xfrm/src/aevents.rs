//! NEWAE and GETAE: numbers, windows and counts of an SA, read and set by daemons that hand SAs over.

use crate::asked::Request;
use crate::fields::Current;
use crate::outbox::{Outbox, Writer};
use crate::refusal::Refusal;
use crate::sas::sa_key;
use crate::state::Stage;
use crate::states::StateId;
use crate::view::Attributes;
use crate::wire::{aevent, attribute, errno, group, netlink, protocol, sa_id};
use crate::xfrm::Xfrm;
use ipsec::Direction;

impl Xfrm {
    fn find_for_aevent(&self, request: &Request<'_>) -> Result<StateId, Refusal> {
        let view = request.structure();
        let key = sa_key(view).filter(|_| view.u8(sa_id::PROTOCOL) == protocol::ESP);
        let found = key.and_then(|(destination, spi)| self.states.find(destination, spi));
        found.ok_or_else(|| Refusal::bare(errno::ESRCH))
    }

    pub(crate) fn get_aevent(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, aevent::BYTES)?;
        let id = self.find_for_aevent(request)?;
        if let Some(state) = self.states.get(id) {
            let mut writer = Writer::new();
            let flags = request.structure().u32(aevent::FLAGS);
            state.write_aevent(&mut writer, request.reply, flags, request.clock);
            out.push(request.client, writer.finish());
        }
        Ok(())
    }

    /// NEWAE: numbers and windows go forward only. A number that was used is not used again, even if a request asks for
    /// it.
    pub(crate) fn change_aevent(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, aevent::BYTES)?;
        let kinds = [
            attribute::LTIME_VAL,
            attribute::REPLAY_VAL,
            attribute::REPLAY_ESN_VAL,
            attribute::ETIMER_THRESH,
            attribute::REPLAY_THRESH,
        ];
        if !kinds.iter().any(|kind| attributes.has(*kind)) {
            return Err(Refusal::invalid("Missing required attribute for AE"));
        }
        if request.header.flags & netlink::REPLACE == 0 {
            return Err(Refusal::invalid("NLM_F_REPLACE flag is required"));
        }
        let id = self.find_for_aevent(request)?;
        let Some(state) = self.states.get_mut(id) else { return Ok(()) };
        let Stage::Full(sa) = &state.stage else {
            return Err(Refusal::invalid("SA must be in VALID state"));
        };
        let change = state.given.replay.read_change(&attributes)?;
        if let Some(change) = &change {
            match (sa.direction(), sa.window()) {
                (Direction::Out, _) if change.out_number() < sa.figures().sequence => {
                    return Err(Refusal::invalid("Sequence numbers of an SA that seals only go forward"));
                }
                (Direction::Out, _) => sa.skip_to(change.out_number()),
                (Direction::In, Some(window)) => {
                    window.accept(change.in_number());
                    change.taken().for_each(|number| {
                        window.accept(number);
                    });
                }
                (Direction::In, None) => {}
            }
        }
        if let Some(current) = attributes.get(attribute::LTIME_VAL).map(|value| Current::read(value, 0)) {
            let first = Some(current.used).filter(|used| *used != 0);
            sa.carry_over(current.bytes, current.packets, first.map(|used| request.clock.time_of(used)));
        }
        if let Some(change) = change {
            state.given.replay = change;
        }
        if let Some(threshold) = attributes.u32(attribute::REPLAY_THRESH) {
            state.given.replay_threshold = threshold;
        }
        if let Some(threshold) = attributes.u32(attribute::ETIMER_THRESH) {
            state.given.timer_threshold = threshold;
        }
        if let Some(state) = self.states.get(id) {
            self.multicast(group::AEVENTS, out, |writer| {
                state.write_aevent(writer, request.reply, aevent::UPDATED, request.clock);
            });
        }
        Ok(())
    }
}
