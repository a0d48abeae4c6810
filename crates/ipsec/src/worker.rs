//! What one thread has for itself: the engine, random bytes for IVs, counters, events, and what it remembers of
//! policies.

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

/// What one thread seals and opens with. Any number of them share SAs and policies.
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
    /// False where there is no room.
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

/// What becomes of a packet that this machine sends.
#[derive(Debug)]
pub enum Route<'t> {
    /// It goes in clear.
    Bypass,
    /// It is sealed by this SA.
    Seal(&'t Arc<Sa>),
    /// It is a piece of a packet, and the whole decides: [`Worker::gather`].
    Gather,
}

impl Worker {
    /// For one thread.
    pub fn new(engine: Engine) -> Worker {
        Worker {
            engine,
            random: engine.random_block(),
            counters: Counters::default(),
            events: Events::default(),
            remembered: Remembered::new(),
        }
    }

    /// What it counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes the events that have come up.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events.0)
    }

    /// What becomes of a packet from this machine or through it, by the policies of [`PolicyDirection::Out`]. Without
    /// one it goes in clear. Where its SA is missing, [`Event::Acquire`] asks for it, at most once in
    /// [`crate::ACQUIRE_INTERVAL`] for each policy, and the packet is dropped. `amount` is what is decided about and
    /// counted: the packet, or all of its flow that came with it.
    ///
    /// A piece of a packet goes by itself where every piece would go the same way. Where some policy that may be for it
    /// looks at ports, or with IPv6 at the protocol, and where its SA is of transport mode, it is for
    /// [`Worker::gather`], and not counted here.
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

    /// Keeps a piece of a packet for which [`Worker::route`] said so; the packet, if this was the last piece to come.
    /// What is dropped is counted: pieces that contradict each other, those whose others do not come in
    /// [`crate::GATHERING_TIME`], and those that find no place. What comes out is no piece, and is routed anew.
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

    /// As [`Worker::admit`], for a piece of a packet. One whose packet some policy may judge by what this piece does
    /// not show is dropped.
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

    /// Whether a packet may come in: one that `sa` opened, or in clear where that is None. `direction` says whether it
    /// is for this machine or goes through it. A packet that was opened needs a policy that asks for such an SA (RFC
    /// 4301, 5.2); one in clear passes where no policy is against it. `amount` is what is decided about and counted:
    /// one packet, or all of its flow that came by its SA together.
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

    /// Raises what a timer brings for an SA. [`Sa::next_due`] says when.
    pub fn tick(&mut self, sa: &Sa, now: Time) {
        self.tell_standing(sa, now);
    }

    /// Raises the events of limits that an SA has reached and that were not told; how far it has come.
    pub(crate) fn tell_standing(&mut self, sa: &Sa, now: Time) -> Standing {
        let standing = sa.standing(now);
        if standing == Standing::Hard {
            // So that policies take another at once.
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

    /// Raises the event that a peer is elsewhere.
    pub(crate) fn tell_mapping(&mut self, sa: &Sa, to: crate::Endpoint) {
        let from = sa.peer();
        if sa.is_news(to) && !self.events.push(&mut self.counters, Event::Mapping { sa: sa.name(), from, to })
        {
            sa.forget_news();
        }
    }
}

/// What becomes of a packet that this policy is for.
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
                // The batch that it is placed in reads all of it.
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

/// Whether a packet may come in that this policy, or none, is for.
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
