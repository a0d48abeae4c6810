//! The state that one thread has for itself: the engine, random bytes for IVs, counters, events, and policies that it
//! remembers.

use crate::event::{EVENTS_MAX, Event};
use crate::gathering::{Gathered, Gathering};
use crate::inner::{Flow, Inner};
use crate::limits::Standing;
use crate::policy::{Act, Entry, OfPiece, PolicyDirection, Spd};
use crate::reason::{Counters, Reason};
use crate::remembered::Remembered;
use crate::sa::Sa;
use crate::sad::Sad;
use crate::tally::Amount;
use crate::time::Time;
use engine::{Engine, RandomBlock};
use std::sync::Arc;

/// The state with which one thread seals and opens packets. Any number of workers share SAs and policies.
pub struct Worker {
    pub(crate) engine: Engine,
    pub(crate) random: RandomBlock,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    remembered: Remembered,
}

/// A bounded list of events.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<Event>);

impl Events {
    /// Adds an event; false if there is no room.
    fn push(&mut self, counters: &mut Counters, event: Event) -> bool {
        let fits = self.0.len() < EVENTS_MAX;
        if fits {
            self.0.push(event);
        } else {
            counters.events_delayed += 1;
        }
        fits
    }
}

/// Where a packet that this machine sends goes.
#[derive(Debug)]
pub enum Route<'t> {
    /// The packet goes in clear.
    Bypass,
    /// The packet is sealed by this SA.
    Seal(&'t Arc<Sa>),
    /// The packet is a piece of another, and the whole packet decides: [`Worker::gather`].
    Gather,
}

impl Worker {
    /// A worker for one thread.
    pub fn new(engine: Engine) -> Worker {
        Worker {
            engine,
            random: engine.random_block(),
            counters: Counters::default(),
            events: Events::default(),
            remembered: Remembered::new(),
        }
    }

    /// The counters of this worker so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes the events that have come up.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events.0)
    }

    /// Decides what to do with a packet from this machine or through it, by the policies of [`PolicyDirection::Out`];
    /// without a policy it goes in clear. If its SA is missing, [`Event::Acquire`] asks for the SA, at most once in
    /// [`crate::ACQUIRE_INTERVAL`] for each policy, and the packet is dropped. `amount` is decided about and counted:
    /// it is the packet, or all packets of its flow that came with it.
    ///
    /// A piece of a packet goes by itself if every piece would go the same way. A piece is for [`Worker::gather`], and
    /// not counted here, if a policy that may be for it looks at ports, or with IPv6 at the protocol, or if its SA is
    /// of transport mode.
    ///
    /// # Errors
    /// [`Reason::Inner`], [`Reason::Blocked`], [`Reason::NoSa`]: the packet is dropped, and counted.
    pub fn route<'t>(
        &mut self,
        sad: &'t Sad,
        spd: &Spd,
        now: Time,
        packet: &[u8],
        amount: Amount,
    ) -> Result<Route<'t>, Reason> {
        // Read in its place: a copy would wait for its parts to be written.
        let routed = match &Inner::read(packet) {
            Ok(inner) if !inner.is_fragment => self.route_flow(sad, spd, now, &inner.flow, amount),
            Ok(inner) => match spd.of_piece(PolicyDirection::Out, &inner.flow) {
                OfPiece::Whole => Ok(Route::Gather),
                OfPiece::Every(None) => Ok(Route::Bypass),
                OfPiece::Every(Some(Entry { act: Act::Protect(wanted), .. })) if wanted.is_transport() => {
                    Ok(Route::Gather)
                }
                OfPiece::Every(Some(entry)) => {
                    let (events, counters) = (&mut self.events, &mut self.counters);
                    route_by(events, counters, (sad, spd, now), entry, &inner.flow, amount)
                }
            },
            Err(reason) => Err(*reason),
        };
        routed.inspect_err(|reason| self.counters.count(*reason, amount.packets))
    }

    fn route_flow<'t>(
        &mut self,
        sad: &'t Sad,
        spd: &Spd,
        now: Time,
        flow: &Flow,
        amount: Amount,
    ) -> Result<Route<'t>, Reason> {
        match self.remembered.entry(spd, PolicyDirection::Out, flow) {
            Some(entry) => {
                route_by(&mut self.events, &mut self.counters, (sad, spd, now), entry, flow, amount)
            }
            None => Ok(Route::Bypass),
        }
    }

    /// Keeps a piece of a packet for which [`Worker::route`] gave [`Route::Gather`]; returns the packet if this was its
    /// last piece to come. Dropped pieces are counted: pieces that contradict each other, pieces whose others do not
    /// come in [`crate::GATHERING_TIME`], and pieces that find no place. The packet that comes out is no piece, and is
    /// routed anew.
    pub fn gather(&mut self, gathering: &mut Gathering, now: Time, packet: &[u8]) -> Option<Gathered> {
        let inner = match Inner::read(packet) {
            Ok(inner) if inner.is_fragment => inner,
            _ => {
                self.counters.count(Reason::Pieces, 1);
                return None;
            }
        };
        let added = gathering.add(now, packet, &inner);
        self.counters.count(Reason::Pieces, added.malformed);
        self.counters.count(Reason::Incomplete, added.incomplete);
        added.whole
    }

    /// As [`Worker::admit`], for a piece of a packet. The piece is dropped if some policy may judge its packet by
    /// fields that the piece does not show.
    ///
    /// # Errors
    /// Those of [`Worker::admit`], and [`Reason::PortsUnknown`].
    pub fn admit_piece(
        &mut self,
        spd: &Spd,
        direction: PolicyDirection,
        flow: &Flow,
        sa: Option<&Sa>,
        amount: Amount,
    ) -> Result<(), Reason> {
        match spd.of_piece(direction, flow) {
            OfPiece::Whole => {
                self.counters.count(Reason::PortsUnknown, amount.packets);
                Err(Reason::PortsUnknown)
            }
            OfPiece::Every(entry) => admit_by(&mut self.counters, (spd, direction), entry, sa, amount),
        }
    }

    /// Decides whether a packet may come in that `sa` opened, or that came in clear if `sa` is `None`. `direction` says
    /// whether it is for this machine or goes through it. A packet that was opened needs a policy that asks for such an
    /// SA (RFC 4301, 5.2); a packet in clear passes unless a policy is against it. `amount` is decided about and
    /// counted: one packet, or all packets of its flow that came by its SA together.
    ///
    /// # Errors
    /// [`Reason::Blocked`], [`Reason::NoPolicy`], [`Reason::Template`], [`Reason::Clear`]: the packet is dropped, and
    /// counted.
    pub fn admit(
        &mut self,
        spd: &Spd,
        direction: PolicyDirection,
        flow: &Flow,
        sa: Option<&Sa>,
        amount: Amount,
    ) -> Result<(), Reason> {
        let entry = self.remembered.entry(spd, direction, flow);
        admit_by(&mut self.counters, (spd, direction), entry, sa, amount)
    }

    /// Raises the events of limits by time that an SA has reached. [`Sa::next_due`] says when to call it.
    pub fn tick(&mut self, sa: &Sa, now: Time) {
        self.tell_standing(sa, now);
    }

    /// Raises the events of limits that an SA has reached and that were not reported; returns where it stands.
    pub(crate) fn tell_standing(&mut self, sa: &Sa, now: Time) -> Standing {
        let standing = sa.standing(now);
        if standing == Standing::Hard {
            // So that policies take another SA at once.
            sa.expire();
        }
        // A hard limit takes a soft one's event with it: rekeying is too late.
        if standing != Standing::Good && !sa.usage.is_told(standing) && sa.usage.tell(standing) {
            let hard = standing == Standing::Hard;
            if !self.events.push(&mut self.counters, Event::Expire { sa: sa.name(), hard }) {
                sa.usage.untell(standing);
            }
        }
        standing
    }

    /// Raises the event that a peer has moved, unless another thread did.
    pub(crate) fn tell_mapping(&mut self, sa: &Sa, to: crate::Endpoint) {
        let from = sa.peer();
        if sa.is_news(to) && !self.events.push(&mut self.counters, Event::Mapping { sa: sa.name(), from, to })
        {
            sa.forget_news();
        }
    }
}

/// Decides what to do with a packet that this policy is for.
#[inline]
fn route_by<'t>(
    events: &mut Events,
    counters: &mut Counters,
    (sad, spd, now): (&'t Sad, &Spd, Time),
    entry: &Entry,
    flow: &Flow,
    amount: Amount,
) -> Result<Route<'t>, Reason> {
    let routed = match &entry.act {
        Act::Bypass => Ok(Route::Bypass),
        Act::Discard => Err(Reason::Blocked),
        Act::Protect(wanted) => match sad.wanted(wanted, flow) {
            Some(sa) => {
                // The batch that the packet is placed in reads all of the SA.
                engine::prefetch(&**sa);
                Ok(Route::Seal(sa))
            }
            None => {
                let held = spd.held(PolicyDirection::Out, entry);
                if held.asks(now) {
                    let event = Event::Acquire { policy: held.policy.id, flow: *flow };
                    if !events.push(counters, event) {
                        held.unask();
                    }
                }
                Err(Reason::NoSa)
            }
        },
    };
    spd.tally(PolicyDirection::Out, entry).count(routed.as_ref().err().copied(), amount);
    routed
}

/// Decides whether a packet may come in, by the policy that is for it, or without one.
#[inline]
fn admit_by(
    counters: &mut Counters,
    (spd, direction): (&Spd, PolicyDirection),
    entry: Option<&Entry>,
    sa: Option<&Sa>,
    amount: Amount,
) -> Result<(), Reason> {
    let admitted = match (entry.map(|entry| &entry.act), sa) {
        (Some(Act::Discard), _) => Err(Reason::Blocked),
        (Some(Act::Protect(wanted)), Some(sa)) if wanted.fits(sa) => Ok(()),
        (Some(Act::Protect(_)), Some(_)) => Err(Reason::Template),
        (Some(Act::Protect(_)), None) => Err(Reason::Clear),
        (Some(Act::Bypass), _) | (None, None) => Ok(()),
        (None, Some(_)) => Err(Reason::NoPolicy),
    };
    if let Some(entry) = entry {
        spd.tally(direction, entry).count(admitted.err(), amount);
    }
    admitted.inspect_err(|reason| counters.count(*reason, amount.packets))
}
