//! A request in flight, until it is answered: its answer is looked for or waited for, and judged.
//!
//! Some requests are sent again: those whose key references are stale, those that a card could not serve, and those
//! whose card died.

use super::opening::{Unopened, held, open, opened_key};
use super::target::WRITE_TARGETS;
use super::{PAUSE_FIRST, PAUSE_LONGEST, Request, Surroundings};
use crate::cards::pool::{Attached, NotSent, Pool};
use crate::control::connection::{ANSWER_WAIT, Patience, Repeat};
use crate::error::{FacilityError, ProtocolError, Ran};
use crate::reply::Reply;
use link::{LinkError, world};
use std::sync::Arc;
use std::time::Duration;
use wire::Label;
use wire::bounds::{LIVENESS_WAIT_NS, TAKEN_MAX};
use wire::code::{self, Codes};
use wire::control::{ClientRequest, PollMode};
use wire::frame::{Outcome, ReplyHeader, replace_reference};
use wire::registers::RegisterSet;
use wire::verb::Class;

/// Times that a request is sent again because cards died that had not taken it, or a key was replaced.
pub(super) const RESENT_MAX: u32 = 16;
/// Times that the labels of a request are opened again because a card refused their references: another share may have
/// opened a label again meanwhile, and its entry may have given way again.
const REOPENED_MAX: u32 = 4;

/// How long to stay with a request.
#[derive(Clone, Copy)]
pub(crate) enum Stay {
    /// Look once. Only the death of a card, and a card that cannot serve, make this wait.
    Look,
    /// Until it is answered.
    Wait(PollMode),
}

/// What a card's reply means for its request.
pub(crate) enum Judged {
    /// It is answered.
    Answered,
    /// The card answers that it holds no master key for it: another may. The reply holds that answer.
    WithoutKeys,
    /// The card cannot serve it now; nothing ran.
    NotReady,
    /// A label's reference went stale; nothing ran.
    StaleKey,
}

enum Received {
    Nothing,
    Header(Arc<Attached>, ReplyHeader),
    /// The card died, with or without having taken the request.
    Death {
        taken: bool,
    },
}

impl Request {
    /// Whether there is nothing to collect: neither an answer, nor a card that may have died since
    /// this was last looked for. A few loads.
    pub fn is_quiet(&mut self, now_tsc: u64, liveness_tsc: u64) -> bool {
        let Some((attached, in_flight)) = &self.flight else { return false };
        if self.looked_tsc == 0 {
            self.looked_tsc = now_tsc;
        }
        !in_flight.is_over()
            && now_tsc.wrapping_sub(self.looked_tsc) < liveness_tsc
            && attached.queue.check().is_ok()
    }

    /// Collects the answer into `reply`; false where there is none yet.
    pub fn collect(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        stay: Stay,
    ) -> Result<bool, FacilityError> {
        loop {
            match self.receive(around, reply, stay)? {
                Received::Nothing => return Ok(false),
                Received::Header(attached, header) => {
                    if self.interpret(around, reply, &attached, &header)? {
                        return Ok(true);
                    }
                }
                Received::Death { taken: true } => return self.again_alone(around, reply).map(|()| true),
                Received::Death { taken: false } => self.again_freely(around)?,
            }
        }
    }

    fn receive(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        stay: Stay,
    ) -> Result<Received, FacilityError> {
        let verb = self.want.entry.verb;
        let Some((attached, in_flight)) = &self.flight else {
            return Err(FacilityError::Forked { verb });
        };
        let looked = match stay {
            Stay::Look => match attached.queue.try_reply(in_flight, reply.buffer()) {
                Ok(None) if !may_be_dead(attached, &mut self.looked_tsc) => {
                    if !is_overdue(&mut self.awaited_tsc, around.answer_wait) {
                        return Ok(Received::Nothing);
                    }
                    Err(LinkError::TimedOut)
                }
                // The answer may have come between the look and the death.
                Ok(None) => attached.queue.try_reply(in_flight, reply.buffer()),
                looked => looked,
            },
            Stay::Wait(mode) => {
                let deadline = world::now() + around.answer_wait;
                attached.queue.wait(in_flight, mode, Some(deadline), reply.buffer()).map(Some)
            }
        };
        if let Err(LinkError::TimedOut) = looked {
            return Err(FacilityError::TimedOut { verb, waited: around.answer_wait });
        }
        let Some((attached, in_flight)) = self.flight.take() else {
            return Err(FacilityError::Forked { verb });
        };
        attached.done();
        match looked {
            Ok(Some(header)) => Ok(Received::Header(attached, header)),
            Ok(None) | Err(LinkError::Dead) => {
                around.pool.lose(&attached);
                Ok(Received::Death { taken: attached.queue.was_taken(&in_flight) })
            }
            Err(LinkError::Forked) => Err(FacilityError::Forked { verb }),
            Err(cause) => {
                // Nothing that this card says about the request can be believed.
                around.pool.shun(&attached);
                Err(FacilityError::Protocol { operation: "read a reply", cause: ProtocolError::Link(cause) })
            }
        }
    }

    /// Takes in a card's reply; false if the request was sent again.
    fn interpret(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        attached: &Arc<Attached>,
        header: &ReplyHeader,
    ) -> Result<bool, FacilityError> {
        match self.judge(around.pool, reply, attached, header)? {
            Judged::Answered => {
                if let Some(write) = self.write_of_targets(reply) {
                    let (repeat, patience) = (Repeat::Never, Patience::Reconnect);
                    let answer =
                        around.connection.ask(WRITE_TARGETS, &write, repeat, patience, ANSWER_WAIT)?.0;
                    self.targets.written(answer, reply)?;
                }
                return Ok(true);
            }
            Judged::NotReady => {
                self.pause_refused(around)?;
                self.want.avoid = Some(attached.card);
                self.send(around, true)?;
                return Ok(false);
            }
            // If no other card holds the request's keys, that refusal is the answer.
            Judged::WithoutKeys => return Ok(!self.send_to_holder(around)),
            Judged::StaleKey => {
                if let Some(codes) = self.reopen(around)? {
                    reply.fill(self.want.entry.verb, codes, &[]);
                    return Ok(true);
                }
            }
        }
        self.resent += 1;
        self.send(around, true)?;
        Ok(false)
    }

    /// Sends a request to a card that holds its keys and was not tried; false if there is none. Waits only for a slot
    /// of a card that holds them.
    fn send_to_holder(&mut self, around: &Surroundings<'_>) -> bool {
        let (begin, mut pause) = (world::now(), PAUSE_FIRST);
        loop {
            let (payload, room) = (&self.payload, self.reply_bytes_max);
            match around.pool.send(around.connection, &self.want, payload, room, around.running, false) {
                Ok(flight) => {
                    self.flight = Some(flight);
                    self.awaited_tsc = 0;
                    self.sent_tsc = link::tsc();
                    return true;
                }
                Err(NotSent::Full) if world::elapsed(begin) < around.answer_wait => world::sleep(pause),
                Err(_) => return false,
            }
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    /// The request by which the daemon writes new tokens into their records before the answer is given; none if there
    /// are no such tokens.
    pub fn write_of_targets(&self, reply: &Reply) -> Option<ClientRequest> {
        self.targets.write(self.want.domain, reply)
    }

    /// What a card's reply means for the request, given that its frame is valid.
    pub(super) fn judge(
        &mut self,
        pool: &Pool,
        reply: &mut Reply,
        attached: &Arc<Attached>,
        header: &ReplyHeader,
    ) -> Result<Judged, FacilityError> {
        let (verb, card) = (self.want.entry.verb, attached.card);
        let malformed = |cause| FacilityError::Protocol { operation: "read a reply", cause };
        match header.outcome {
            Outcome::Answered => {
                reply.accept(verb, header, self.labelled, card).map_err(|cause| {
                    pool.shun(attached);
                    malformed(cause)
                })?;
                let heeds_keys = !world::needs(RegisterSet::ALL).is_empty();
                let is_pure = self.want.entry.class == Class::Pure;
                if heeds_keys && is_pure && reply.codes() == code::MASTER_KEY_NOT_LOADED {
                    self.want.note_without_keys(card);
                    return Ok(Judged::WithoutKeys);
                }
                Ok(Judged::Answered)
            }
            Outcome::Malformed => Err(malformed(ProtocolError::Malformed)),
            Outcome::Denied => Err(FacilityError::Forbidden { verb }),
            Outcome::NotServed => Err(FacilityError::NotServed { verb }),
            Outcome::Quarantined => Err(FacilityError::Quarantined { verb }),
            Outcome::NotReady => Ok(Judged::NotReady),
            Outcome::Full => Err(FacilityError::CardFull { verb, card }),
            Outcome::KeyReference
                if self.reopened >= REOPENED_MAX || (self.labelled == 0 && self.targets.is_empty()) =>
            {
                Err(FacilityError::StaleKey { verb })
            }
            Outcome::KeyReference => {
                self.reopened += 1;
                Ok(Judged::StaleKey)
            }
        }
    }

    /// Before a request goes to another card because one could not serve it: at once the first time, then
    /// ever more slowly, for as long as a card is waited for.
    fn pause_refused(&mut self, around: &Surroundings<'_>) -> Result<(), FacilityError> {
        if let Some(pause) = self.pause_after_refusal(around.card_wait)? {
            world::sleep(pause);
        }
        Ok(())
    }

    /// The pause before a refused request goes to another card; none if it may go at once.
    pub(super) fn pause_after_refusal(
        &mut self,
        card_wait: Duration,
    ) -> Result<Option<Duration>, FacilityError> {
        let first = *self.refused_first.get_or_insert_with(world::now);
        let waited = world::elapsed(first);
        if self.refused > 0 && waited >= card_wait {
            return Err(FacilityError::NoCard { verb: self.want.entry.verb, personality: None, waited });
        }
        let pause = PAUSE_FIRST.saturating_mul(1 << self.refused.min(16)).min(PAUSE_LONGEST);
        let pause = (self.refused > 0).then(|| pause.min(card_wait.saturating_sub(waited)));
        self.refused += 1;
        Ok(pause)
    }

    /// Opens the labels of the request again, and writes the new references into it.
    fn reopen(&mut self, around: &Surroundings<'_>) -> Result<Option<Codes>, FacilityError> {
        for labelled in &mut self.labels {
            let stale = labelled.sent;
            let renewed = |label: &Label| {
                around.process_labels.renewed(label, stale, |label| opened_key(around, label))
            };
            match labelled.label.refresh(stale, renewed) {
                Ok(reference) => {
                    labelled.sent = reference;
                    replace_reference(&mut self.payload, labelled.at, reference);
                }
                Err(unopened) => {
                    for labels in [around.labels, around.process_labels] {
                        labels.forget(&labelled.label.label);
                    }
                    return match unopened {
                        Unopened::Codes(codes) => Ok(Some(codes)),
                        Unopened::Failed(error) => Err(error),
                    };
                }
            }
        }
        for (position, label) in self.targets.labels() {
            match held(open(around, &label)) {
                Ok(held) => self.put_target(position, held),
                Err(Unopened::Codes(codes)) => return Ok(Some(codes)),
                Err(Unopened::Failed(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Sends a request again that no card has taken.
    fn again_freely(&mut self, around: &Surroundings<'_>) -> Result<(), FacilityError> {
        self.resent += 1;
        if self.resent > RESENT_MAX {
            let verb = self.want.entry.verb;
            return Err(FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::No });
        }
        self.send(around, true)
    }

    /// Sends a suspect once more: of this process's suspects the only one in flight, and on its card
    /// in a batch of its own, so that no other client's request is taken with it.
    fn again_alone(&mut self, around: &Surroundings<'_>, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = self.want.entry.verb;
        self.deaths += 1;
        if self.want.entry.class == Class::Once || self.deaths >= TAKEN_MAX {
            return Err(FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::Maybe });
        }
        self.want.alone = true;
        let _alone = world::lock(around.alone);
        self.once_more(around, reply).map_err(|error| match error.ran() {
            Ran::Maybe => error,
            // This attempt did not run, but the card before may have run the request.
            Ran::No => FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::Maybe },
        })
    }

    fn once_more(&mut self, around: &Surroundings<'_>, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = self.want.entry.verb;
        self.send(around, true)?;
        loop {
            match self.receive(around, reply, Stay::Wait(PollMode::Adaptive))? {
                Received::Header(attached, header) => {
                    if self.interpret(around, reply, &attached, &header)? {
                        return Ok(());
                    }
                }
                Received::Death { taken: false } => self.again_freely(around)?,
                Received::Death { taken: true } | Received::Nothing => {
                    return Err(FacilityError::CardDied { verb, cards: self.deaths + 1, ran: Ran::Maybe });
                }
            }
        }
    }
}

/// How often the kernel is asked whether a card has died, in counts of the time-stamp counter.
pub(crate) fn liveness_tsc() -> u64 {
    link::ns_to_tsc(LIVENESS_WAIT_NS / 4)
}

/// Whether the card has died; asks the kernel only now and then.
fn may_be_dead(attached: &Attached, looked_tsc: &mut u64) -> bool {
    let now = link::tsc();
    if *looked_tsc == 0 {
        *looked_tsc = now;
    }
    let is_due = now.wrapping_sub(*looked_tsc) >= liveness_tsc();
    if !is_due && attached.queue.check().is_ok() {
        return false;
    }
    *looked_tsc = now;
    attached.queue.is_dead()
}

/// Whether an answer has been looked for in vain for too long.
fn is_overdue(awaited_tsc: &mut u64, answer_wait: Duration) -> bool {
    let now = link::tsc();
    if *awaited_tsc == 0 {
        *awaited_tsc = now;
    }
    let answer_wait = u64::try_from(answer_wait.as_nanos()).unwrap_or(u64::MAX);
    now.wrapping_sub(*awaited_tsc) >= link::ns_to_tsc(answer_wait)
}
