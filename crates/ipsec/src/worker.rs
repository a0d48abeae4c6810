//! What one thread has for itself: the engine, random bytes for IVs, counters, events, and what it remembers of policies.

use std::sync::Arc;

use engine::{Engine, RandomBlock};

use crate::event::{EVENTS_MAX, Event};
use crate::inner::{Flow, Inner};
use crate::limits::Standing;
use crate::policy::{Act, PolicyDirection, Spd};
use crate::reason::{Counters, Reason};
use crate::remembered::Remembered;
use crate::sa::Sa;
use crate::sad::Sad;
use crate::tally::Amount;
use crate::time::Time;

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

    /// What becomes of a packet from this machine or through it, by the policies of [`PolicyDirection::Out`]. Without one it goes in clear. Where
    /// its SA is missing, [`Event::Acquire`] asks for it, at most once in [`crate::ACQUIRE_INTERVAL`] for each policy, and the packet is dropped. `amount` is what is
    /// decided about and counted: the packet, or all of its flow that came with it.
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
            Ok(inner) => self.route_flow(sad, spd, now, &inner.flow, amount),
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
        let Some(entry) = self.remembered.entry(spd, PolicyDirection::Out, flow) else {
            return Ok(Route::Bypass);
        };
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
                        if !self.events.push(&mut self.counters, event) {
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

    /// Whether a packet may come in: one that `sa` opened, or in clear where that is None. `direction` says whether it is for this machine or goes
    /// through it. A packet that was opened needs a policy that asks for such an SA (RFC 4301, 5.2); one in clear passes where no policy is
    /// against it. `amount` is what is decided about and counted: one packet, or all of its flow that came by its SA together.
    ///
    /// # Errors
    /// [`Reason::Blocked`], [`Reason::NoPolicy`], [`Reason::Template`], [`Reason::Clear`]: the packet is dropped, and counted.
    pub fn admit(
        &mut self,
        spd: &Spd,
        direction: PolicyDirection,
        flow: &Flow,
        sa: Option<&Sa>,
        amount: Amount,
    ) -> Result<(), Reason> {
        let entry = self.remembered.entry(spd, direction, flow);
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
        admitted.inspect_err(|reason| self.counters.count(*reason, amount.packets))
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
