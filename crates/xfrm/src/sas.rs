//! Requests about SAs: NEWSA, UPDSA, DELSA, GETSA, ALLOCSPI, FLUSHSA, EXPIRE.

use crate::asked::Request;
use crate::fields::{Clock, Current, address, family};
use crate::outbox::{Outbox, Reply, Writer};
use crate::refusal::Refusal;
use crate::request::read_sa;
use crate::state::{Given, Stage, XfrmState};
use crate::states::StateId;
use crate::view::{Attributes, View};
use crate::wire::{attribute, errno, group, message, protocol, sa_id, sa_info};
use crate::xfrm::Xfrm;
use crate::{ACQUIRES_MAX, LARVAL_SECONDS, RESERVED_MAX};
use ipsec::{Direction, Sa, SadError, Time};
use std::net::IpAddr;
use std::sync::Arc;

/// Value of XFRMA_SA_DIR for an SA that opens; [`SAID_OUT`] is for one that seals.
const SAID_IN: u8 = 1;
const SAID_OUT: u8 = 2;

impl Xfrm {
    /// NEWSA and UPDSA: adds an SA, or changes one.
    pub(crate) fn add_sa(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, sa_info::BYTES)?;
        let given = read_sa(request.structure(), &attributes)?;
        let found = self.states.find(given.destination, given.spi);
        let is_update = request.header.kind == message::UPDSA;
        let current = attributes.get(attribute::LTIME_VAL).map(|value| Current::read(value, 0));
        let id = match found {
            None if is_update && self.lost.renew(given.destination, given.spi) => {
                // The SA's keys went with the process that held it. The daemon is being told to make another SA.
                return Ok(());
            }
            None if is_update => return Err(Refusal::bare(errno::ESRCH)),
            Some(id) if is_update => match self.states.get(id).map(|state| &state.stage) {
                Some(Stage::Larval(_)) => self.insert_sa(given, Some(id), current, request.clock)?,
                _ => {
                    self.update_sa(id, &given)?;
                    id
                }
            },
            Some(_) => return Err(Refusal::bare(errno::EEXIST)),
            None => self.insert_sa(given, None, current, request.clock)?,
        };
        if let Some(state) = self.states.get(id) {
            let (kind, clock) = (request.header.kind, request.clock);
            self.multicast(group::SA, out, |writer| state.write(writer, kind, request.reply, clock));
        }
        Ok(())
    }

    /// Makes an SA and puts it into the tables, in the place of a larval one if `larval` names it.
    pub(crate) fn insert_sa(
        &mut self,
        given: Given,
        larval: Option<StateId>,
        current: Option<Current>,
        clock: Clock,
    ) -> Result<StateId, Refusal> {
        self.close_same(&given);
        let direction = self.direction(&given, larval);
        self.insert_as(direction, given, larval, current, clock)
    }

    /// As [`Xfrm::insert_sa`], for an SA of which it is known whether it opens or seals.
    pub(crate) fn insert_as(
        &mut self,
        direction: Direction,
        given: Given,
        larval: Option<StateId>,
        current: Option<Current>,
        clock: Clock,
    ) -> Result<StateId, Refusal> {
        if direction == Direction::In && larval.is_none() && self.states.is_reserved(given.spi) {
            return Err(Refusal::new(errno::EEXIST, "The SPI is reserved for another SA"));
        }
        self.close_same(&given);
        let mut number = given.number(direction);
        if direction == Direction::Out {
            number = number.max(self.numbers.last(&self.engine, given.algorithms.keys()));
        }
        let added = current.map_or(clock.now, |current| clock.time_of(current.added));
        let sa = given.make(&self.engine, direction, self.settings.weak_suites, number, added)?;
        if let Some(current) = current {
            let first = Some(current.used).filter(|used| *used != 0).map(|used| clock.time_of(used));
            sa.carry_over(current.bytes, current.packets, first);
        }
        // An SA that answers an ACQUIRE takes the place of the ACQUIRE's larval SA.
        let is_same = |id: &StateId| {
            larval != Some(*id)
                && self.states.get(*id).is_some_and(|state| state.given.destination == given.destination)
        };
        let of_sequence = self.states.find_sequence(given.sequence).filter(is_same);
        let acquired = of_sequence.or_else(|| self.states.find_acquired(&given));
        if larval.is_some_and(|id| self.states.get(id).is_some_and(|state| state.given.spi != 0))
            && direction == Direction::Out
        {
            self.sad.remove_inbound(given.spi);
        }
        self.sad.add(Arc::clone(&sa)).map_err(|error| refuse_sad(&error))?;
        if let Some(larval) = larval {
            self.states.remove(larval);
        }
        if let Some(acquired) = acquired {
            self.remove_sa(acquired);
        }
        self.lost.forget(given.destination, given.spi);
        self.watch(&sa, clock.now);
        self.changed_sas();
        let added = current.map_or(clock.wall, |current| current.added);
        Ok(self.states.add(XfrmState { given, stage: Stage::Full(sa), added }))
    }

    /// Whether an SA opens or seals. XFRMA_SA_DIR says it, or a reserved SPI; else the addresses of this machine; else
    /// its direction before it was deleted, or the policies that wait for it.
    fn direction(&self, given: &Given, larval: Option<StateId>) -> Direction {
        match given.said_direction {
            Some(SAID_IN) => return Direction::In,
            Some(SAID_OUT) => return Direction::Out,
            _ if larval.is_some() => return Direction::In,
            _ => {}
        }
        let is_local = |address: IpAddr| self.local.contains(&address);
        match (is_local(given.source), is_local(given.destination)) {
            (true, false) => Direction::Out,
            (false, true) => Direction::In,
            // The SA moved to an address that is not known yet, or is between addresses that are both here.
            _ => {
                let keys = given.algorithms.keys();
                let before = self.numbers.direction(&self.engine, keys, given.spi);
                // A daemon adds the SA that it sends with before its own end is known, and asks for SPIs of SAs that it
                // receives with.
                before.or_else(|| self.policies.direction_for(given)).unwrap_or(Direction::Out)
            }
        }
    }

    /// UPDSA of an SA that is in use: changes lifetimes and ports, not keys and numbers.
    fn update_sa(&mut self, id: StateId, given: &Given) -> Result<(), Refusal> {
        let Some(state) = self.states.get_mut(id) else { return Ok(()) };
        let Stage::Full(sa) = &state.stage else { return Ok(()) };
        if state.given.encap.is_some() != given.encap.is_some()
            || state.given.care_of.is_some() != given.care_of.is_some()
        {
            return Err(Refusal::bare(errno::EINVAL));
        }
        let sa = Arc::clone(sa);
        sa.set_limits(given.lifetime.limits())?;
        if let Some(encap) = given.encap {
            let port = match sa.direction() {
                Direction::In => encap.source_port,
                Direction::Out => encap.destination_port,
            };
            if port == 0 {
                return Err(Refusal::invalid("in UDP both ends have a port"));
            }
            let peer = sa.peer();
            if peer.port != port {
                sa.follow(ipsec::Endpoint { port, ..peer });
            }
            state.given.encap = given.encap;
        }
        state.given.lifetime = given.lifetime;
        state.given.care_of = given.care_of;
        self.limits_due = Some(Time::default());
        Ok(())
    }

    /// Ends SAs that seal and were removed: they seal nothing more, whichever threads still hold them. The caller must
    /// have published tables without them, and waited until no thread uses other tables: until then a packet may find
    /// no other SA, and would be dropped.
    pub fn close_removed(&mut self) {
        for (print, sa) in std::mem::take(&mut self.removed) {
            let last = sa.close();
            if let Some(print) = print {
                self.numbers.remember(print, &sa, last);
            }
        }
    }

    /// Whether [`Xfrm::close_removed`] has SAs to end.
    pub fn has_removed(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Ends SAs that were removed if an SA with the same keys comes: its numbers go on behind theirs.
    fn close_same(&mut self, given: &Given) {
        if !self.removed.is_empty() {
            let print = self.numbers.print(&self.engine, given.algorithms.keys());
            if self.removed.iter().any(|(removed, _)| *removed == print) {
                self.close_removed();
            }
        }
    }

    /// Takes an SA out of all tables. An SA that opens takes nothing more from then on; one that seals goes on until
    /// [`Xfrm::close_removed`].
    pub(crate) fn remove_sa(&mut self, id: StateId) -> Option<XfrmState> {
        let state = self.states.remove(id)?;
        match &state.stage {
            Stage::Larval(_) if state.given.spi == 0 => {}
            Stage::Larval(_) => {
                self.sad.remove_inbound(state.given.spi);
            }
            Stage::Full(sa) if sa.direction() == Direction::In => {
                sa.expire();
                if let Some(print) = self.numbers.print(&self.engine, state.given.algorithms.keys()) {
                    self.numbers.remember(print, sa, 0);
                }
                self.sad.remove_inbound(sa.spi());
            }
            Stage::Full(sa) => {
                if self.removed.len() >= ipsec::SAS_MAX {
                    self.close_removed();
                }
                let print = self.numbers.print(&self.engine, state.given.algorithms.keys());
                self.removed.push((print, Arc::clone(sa)));
                self.sad.remove_outbound(sa.spi(), sa.ends().1);
            }
        }
        self.changed_sas();
        Some(state)
    }

    /// The SA that a `struct xfrm_usersa_id` names.
    fn find_sa(&self, view: View<'_>, attributes: &Attributes<'_>) -> Result<StateId, Refusal> {
        let kind = view.u8(sa_id::PROTOCOL);
        if ![protocol::ESP, protocol::AH, protocol::COMP].contains(&kind)
            && !attributes.has(attribute::SRCADDR)
        {
            return Err(Refusal::bare(errno::EINVAL));
        }
        let missing = || Refusal::bare(errno::ESRCH);
        let (destination, spi) = sa_key(view).filter(|_| kind == protocol::ESP).ok_or_else(missing)?;
        self.states.find(destination, spi).ok_or_else(missing)
    }

    /// DELSA: removes an SA, also one that was lost with an earlier process.
    pub(crate) fn delete_sa(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, sa_id::BYTES)?;
        let view = request.structure();
        let id = match self.find_sa(view, &attributes) {
            Ok(id) => id,
            Err(refusal) => {
                return match sa_key(view) {
                    Some((destination, spi)) if self.lost.forget(destination, spi) => {
                        self.states.note_gone(destination, spi);
                        Ok(())
                    }
                    _ => Err(refusal),
                };
            }
        };
        if let Some(state) = self.remove_sa(id) {
            let clock = request.clock;
            self.multicast(group::SA, out, |writer| state.write_deleted(writer, request.reply, clock));
        }
        Ok(())
    }

    /// GETSA: replies with one SA.
    pub(crate) fn get_sa(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, sa_id::BYTES)?;
        let id = self.find_sa(request.structure(), &attributes)?;
        self.reply_with_sa(id, request, out);
        Ok(())
    }

    fn reply_with_sa(&self, id: StateId, request: &Request<'_>, out: &mut Outbox) {
        let Some(state) = self.states.get(id) else { return };
        let mut writer = Writer::new();
        state.write(&mut writer, message::NEWSA, request.reply, request.clock);
        out.push(request.client, writer.finish());
    }

    /// ALLOCSPI: reserves an SPI for an SA that comes in.
    pub(crate) fn allocate_spi(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, sa_info::WITH_RANGE_BYTES)?;
        let view = request.structure();
        match view.u8(sa_info::PROTOCOL) {
            protocol::ESP => {}
            protocol::AH | protocol::COMP => {
                return Err(Refusal::new(errno::EPROTONOSUPPORT, "Requested type not found"));
            }
            _ => return Err(Refusal::invalid("Invalid protocol, must be one of AH, ESP, IPCOMP")),
        }
        let (first, last) = (view.u32(sa_info::SPI_MIN), view.u32(sa_info::SPI_MAX));
        if first > last {
            return Err(Refusal::invalid("Invalid SPI range, min > max"));
        }
        let Some(family) = family(view.u16(sa_info::FAMILY)) else {
            return Err(Refusal::invalid("Invalid address family"));
        };
        if attributes.u32(attribute::IF_ID).is_some_and(|id| id != 0) {
            return Err(crate::request::no_interfaces());
        }
        let destination = address(view, sa_info::DESTINATION, family);
        let source = address(view, sa_info::SOURCE, family);
        let (mode, wanted) = (view.u8(sa_info::MODE), view.u32(sa_info::REQUEST));
        let mut given = Given::larval(source, destination, mode, wanted);
        given.sequence = view.u32(sa_info::SEQUENCE);
        // A larval SA that waits for its SPI is taken; otherwise one is made.
        let of_sequence = self.states.find_sequence(given.sequence).filter(|id| {
            self.states
                .get(*id)
                .is_some_and(|state| state.given.destination == destination && state.given.spi == 0)
        });
        let waiting = of_sequence.or_else(|| self.states.find_acquired(&given));
        if self.states.reserved() >= RESERVED_MAX {
            let text = format!("There are {RESERVED_MAX} reserved SPIs");
            return Err(Refusal::new(errno::ENOMEM, text));
        }
        let mut random = self.engine.random_block();
        let draw = || {
            let mut bytes = [0; 4];
            random.fill(&mut bytes);
            u32::from_ne_bytes(bytes)
        };
        let is_one = first == last;
        let spi = self.sad.reserve(first.max(ipsec::SPI_MIN)..=last, draw).map_err(|error| match error {
            SadError::NoSpi if is_one => Refusal::new(errno::ENOENT, "Requested SPI is already in use"),
            SadError::NoSpi | SadError::Range => {
                Refusal::new(errno::ENOENT, "No SPI available in the requested range")
            }
            error => refuse_sad(&error),
        })?;
        if let Some(state) = waiting.and_then(|id| self.states.remove(id)) {
            given.sequence = state.given.sequence;
        }
        given.spi = spi;
        let clock = request.clock;
        let stage = Stage::Larval(clock.now.after_seconds(LARVAL_SECONDS));
        let id = self.states.add(XfrmState { given, stage, added: clock.wall });
        self.changed_sas();
        self.reply_with_sa(id, request, out);
        Ok(())
    }

    /// FLUSHSA: removes all SAs.
    pub(crate) fn flush_sas(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, 1)?;
        let kind = request.structure().u8(0);
        if ![protocol::ANY, protocol::ESP, protocol::IPSEC_ANY].contains(&kind) {
            return Ok(());
        }
        if self.lost.clear() {
            self.states.note_flushed();
        }
        let all: Vec<StateId> = self.states.iter().map(|(id, _)| id).collect();
        if all.is_empty() {
            return Ok(());
        }
        for id in all {
            self.remove_sa(id);
        }
        self.multicast(group::SA, out, |writer| {
            writer.begin(message::FLUSHSA, request.reply, &[kind]);
            writer.end();
        });
        Ok(())
    }

    /// EXPIRE as a request: sends the event, and after a hard limit removes the SA.
    pub(crate) fn expire_sa(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, sa_info::WITH_HARD_BYTES)?;
        let view = request.structure();
        let key = family(view.u16(sa_info::FAMILY))
            .filter(|_| view.u8(sa_info::PROTOCOL) == protocol::ESP)
            .map(|family| (address(view, sa_info::DESTINATION, family), view.spi(sa_info::SPI)));
        let found = key.and_then(|(destination, spi)| self.states.find(destination, spi));
        let id = found.ok_or_else(|| Refusal::bare(errno::ENOENT))?;
        if self.states.get(id).is_some_and(XfrmState::is_larval) {
            return Err(Refusal::invalid("SA must be in VALID state"));
        }
        let reply = Reply { sequence: 0, ..request.reply };
        self.tell_expired(id, view.u8(sa_info::HARD) != 0, reply, request.clock, out);
        Ok(())
    }

    /// Sends EXPIRE, and after a hard limit removes the SA.
    pub(crate) fn tell_expired(
        &mut self,
        id: StateId,
        is_hard: bool,
        reply: Reply,
        clock: Clock,
        out: &mut Outbox,
    ) {
        if let Some(state) = self.states.get(id) {
            let info = state.info(clock);
            self.multicast(group::EXPIRE, out, |writer| write_expire(writer, reply, &info, is_hard));
        }
        if is_hard {
            self.remove_sa(id);
        }
    }

    /// Whether there is room for another larval SA without an SPI.
    pub(crate) fn has_room_to_acquire(&self) -> bool {
        self.states.without_spi() < ACQUIRES_MAX
    }

    /// Has the limits by time of an SA looked at from now on.
    pub(crate) fn watch(&mut self, sa: &Sa, now: Time) {
        let limits = sa.limits();
        let by_use = [limits.soft, limits.hard].iter().any(|limit| limit.seconds_used.is_some());
        let due = sa.next_due().into_iter().chain(by_use.then(|| now.after_seconds(1)));
        self.limits_due = self.limits_due.into_iter().chain(due).min();
    }
}

/// Writes an EXPIRE message with its `struct xfrm_user_expire`.
pub(crate) fn write_expire(writer: &mut Writer, reply: Reply, info: &[u8; sa_info::BYTES], is_hard: bool) {
    let mut structure = [0; sa_info::WITH_HARD_BYTES];
    structure[..sa_info::BYTES].copy_from_slice(info);
    structure[sa_info::HARD] = is_hard.into();
    writer.begin(message::EXPIRE, reply, &structure);
    writer.end();
}

/// Destination and SPI of `struct xfrm_usersa_id`.
pub(crate) fn sa_key(view: View<'_>) -> Option<(IpAddr, u32)> {
    let family = family(view.u16(sa_id::FAMILY))?;
    Some((address(view, sa_id::DESTINATION, family), view.spi(sa_id::SPI)))
}

fn refuse_sad(error: &SadError) -> Refusal {
    match error {
        SadError::Exists => Refusal::new(errno::EEXIST, error.to_string()),
        _ => Refusal::new(errno::ENOMEM, error.to_string()),
    }
}
