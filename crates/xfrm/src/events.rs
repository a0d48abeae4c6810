//! Events of the packet path and of time: EXPIRE, MAPPING and ACQUIRE to their subscribers.

use crate::LARVAL_SECONDS;
use crate::fields::{Clock, Fields, RawSelector};
use crate::keeper::Keeper;
use crate::outbox::{Outbox, Reply};
use crate::policies::LastUses;
use crate::state::{Given, Stage, XfrmState, sa_id_of};
use crate::states::StateId;
use crate::view::View;
use crate::wire::{acquire, group, mapping, message, mode, protocol, template};
use crate::xfrm::Xfrm;
use ipsec::{Direction, Event, Flow, Mode, PolicyDirection, PolicyId, Sa, SaName, Standing, Time};
use std::sync::Arc;

impl Xfrm {
    /// Acts on an event of the packet path, and tells subscribers.
    pub fn event(&mut self, event: &Event, now: Time, wall: u64, out: &mut Outbox) {
        let clock = Clock { now, wall };
        match event {
            Event::Expire { sa, hard } => self.expired(sa, *hard, clock, out),
            Event::Mapping { sa, from, to } => self.moved(sa, *from, *to, out),
            Event::Acquire { policy, flow } => self.acquire(*policy, flow, clock, out),
        }
    }

    /// When [`Xfrm::tick`] is to be called; `None` if not before something changes.
    pub fn due(&self) -> Option<Time> {
        let due = [self.limits_due, self.states.larval_due(), self.policies.next_due(), self.lost.due()];
        due.into_iter().flatten().min()
    }

    /// Does what is due by time: reports limits by time, removes SAs and policies whose time is over, ends reservations
    /// and ACQUIREs. A policy that `keeper` does not let go stays in force until a later call.
    pub fn tick(&mut self, now: Time, wall: u64, keeper: &mut dyn Keeper, out: &mut Outbox) {
        let clock = Clock { now, wall };
        while let Some(id) = self.states.next_over(now) {
            self.tell_expired(id, true, Reply::EVENT, clock, out);
        }
        while let Some(rank) = self.policies.next_over(now) {
            let is_over = self.policies.get(rank).is_some_and(|entry| entry.is_over(now));
            if !is_over {
                self.tell_policy_soft(rank, Reply::EVENT, clock, out);
            } else if self.end_policy(rank, Reply::EVENT, clock, keeper, out).is_err() {
                break;
            }
        }
        self.lost.end(now);
        if self.limits_due.is_some_and(|due| due <= now) {
            self.tick_limits(clock, out);
        }
    }

    /// Reports the limits by time that were reached, and finds out when to look again.
    fn tick_limits(&mut self, clock: Clock, out: &mut Outbox) {
        loop {
            for sa in self.sad.iter() {
                if sa.next_due().is_some_and(|due| due <= clock.now) {
                    self.timer.tick(sa, clock.now);
                }
            }
            // The timer holds a bounded number of events, and raises again what did not fit.
            let events = self.timer.take_events();
            if events.is_empty() {
                break;
            }
            for event in events {
                self.event(&event, clock.now, clock.wall, out);
            }
        }
        self.limits_due = None;
        let sas: Vec<Arc<Sa>> = self.sad.iter().map(Arc::clone).collect();
        for sa in sas {
            self.watch(&sa, clock.now);
        }
    }

    fn find_named(&self, name: &SaName) -> Option<(StateId, &Arc<Sa>)> {
        let id = self.states.find(name.destination, name.spi)?;
        let sa = self.states.get(id)?.sa()?;
        (sa.direction() == name.direction).then_some((id, sa))
    }

    fn expired(&mut self, name: &SaName, is_hard: bool, clock: Clock, out: &mut Outbox) {
        let Some((id, sa)) = self.find_named(name) else { return };
        // The SA that an event is about may have been replaced since.
        let standing = sa.standing(clock.now);
        let is_so = if is_hard { standing == Standing::Hard } else { standing != Standing::Good };
        if is_so {
            self.tell_expired(id, is_hard, Reply::EVENT, clock, out);
        }
    }

    fn moved(&mut self, name: &SaName, from: ipsec::Endpoint, to: ipsec::Endpoint, out: &mut Outbox) {
        let Some((_, sa)) = self.find_named(name) else { return };
        // As the kernel: without UDP an address is the daemon's business alone.
        if !sa.in_udp() {
            return;
        }
        let local = sa.local();
        let mut fields = Fields::<{ mapping::BYTES }>::new();
        fields.put(0, &sa_id_of(name.destination, name.spi));
        fields.put_u32(mapping::REQUEST, name.request);
        fields.put_address(mapping::OLD_SOURCE, from.address);
        fields.put_address(mapping::NEW_SOURCE, to.address);
        fields.put(mapping::OLD_PORT, &from.port.to_be_bytes());
        fields.put(mapping::NEW_PORT, &to.port.to_be_bytes());
        if self.settings.follow_mappings {
            let is_same = |sa: &&Arc<Sa>| {
                sa.in_udp()
                    && sa.request() == name.request
                    && sa.local().address == local.address
                    && (sa.peer() == from || (sa.direction() == Direction::In && sa.spi() == name.spi))
            };
            self.sad.iter().filter(is_same).for_each(|sa| {
                sa.follow(to);
            });
        }
        self.multicast(group::MAPPING, out, |writer| {
            writer.begin(message::MAPPING, Reply::EVENT, &fields.0);
            writer.end();
        });
    }

    /// Asks subscribers for an SA; without subscribers nothing is asked. Until one of them reserves an SPI in answer,
    /// or the SA is there, each event asks again under the same number: a subscriber may not have been ready.
    fn acquire(&mut self, index: PolicyId, flow: &Flow, clock: Clock, out: &mut Outbox) {
        let found = self.policies.find_index(PolicyDirection::Out, index);
        let Some(entry) = found.and_then(|rank| self.policies.get(rank)) else { return };
        let Some(wanted) = entry.template() else { return };
        let (source, destination) = wanted.ends.unwrap_or((flow.source(), flow.destination()));
        let number = if wanted.mode == Mode::Tunnel { mode::TUNNEL } else { mode::TRANSPORT };
        let mut given = Given::larval(source, destination, number, wanted.request);
        given.selector = RawSelector::of_flow(flow);
        let asked = self.states.find_acquired(&given).and_then(|id| self.states.get(id));
        if let Some(asked) = asked {
            given.sequence = asked.given.sequence;
        } else {
            self.acquire_sequence = self.acquire_sequence.wrapping_add(1).max(1);
            given.sequence = self.acquire_sequence;
        }
        let is_first = asked.is_none();
        if is_first && !self.has_room_to_acquire() || self.states.is_negotiated(wanted.request) {
            return;
        }
        let mut fields = Fields::<{ acquire::BYTES }>::new();
        fields.put_address(acquire::DESTINATION, destination);
        fields.put_spi(acquire::SPI, wanted.spi.unwrap_or(0));
        fields.put(acquire::PROTOCOL, &[protocol::ESP]);
        fields.put_address(acquire::SOURCE, source);
        fields.put(acquire::SELECTOR, &given.selector.0);
        fields.put(acquire::POLICY, &entry.info(&LastUses::new(), clock));
        // The algorithms that the template allows.
        fields.put(acquire::ALGORITHMS, &View(&entry.templates).array::<12>(template::ALGORITHMS));
        fields.put_u32(acquire::SEQUENCE, given.sequence);
        let is_asked = self.multicast(group::ACQUIRE, out, |writer| {
            writer.begin(message::ACQUIRE, Reply::EVENT, &fields.0);
            entry.write_attributes(writer);
            writer.end();
        });
        if is_asked && is_first {
            let stage = Stage::Larval(clock.now.after_seconds(LARVAL_SECONDS));
            self.states.add(XfrmState { given, stage, added: clock.wall });
        }
    }
}
