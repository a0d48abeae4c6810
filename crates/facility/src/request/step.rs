//! The steps of a request that an event loop runs one by one; none of them blocks.

use super::Request;
use super::answering::{Judged, RESENT_MAX};
use super::opening::{Unopened, held};
use crate::cards::pool::{Attached, NotSent, Pool, Want};
use crate::cards::route;
use crate::control::Opened;
use crate::error::{FacilityError, ProtocolError, Ran};
use crate::reply::Reply;
use link::{InFlight, LinkError};
use std::sync::Arc;
use std::time::Duration;
use wire::Label;
use wire::bounds::TAKEN_MAX;
use wire::control::ClientReply;
use wire::frame::replace_reference;
use wire::verb::{Class, Verb};

/// What happens to a request that its card will not answer.
pub(crate) enum Fate {
    /// It is sent again.
    Free,
    /// A card died with it: it is sent once more, alone.
    Suspect,
    /// It fails.
    Failed(FacilityError),
}

impl Request {
    /// The verb.
    pub fn verb(&self) -> Verb {
        self.want.entry.verb
    }

    /// What the request needs of a card.
    pub fn wants(&self) -> &Want {
        &self.want
    }

    /// Writes the known references of its labels into the request, and returns the labels without one.
    pub fn unopened(&mut self) -> Vec<Label> {
        let mut unopened = Vec::new();
        for labelled in &mut self.labels {
            let reference = labelled.label.reference();
            if reference != labelled.sent {
                labelled.sent = reference;
                replace_reference(&mut self.payload, labelled.at, reference);
            }
            if !labelled.label.is_open() {
                unopened.push(labelled.label.label.clone());
            }
        }
        unopened.extend(self.targets.unopened().cloned());
        unopened
    }

    /// Takes the daemon's answer about a label, if the request uses it.
    ///
    /// # Errors
    /// Why the request cannot be sent with that label.
    pub fn heard_label(&mut self, label: &Label, outcome: &Result<Opened, Unopened>) -> Result<(), Unopened> {
        let labelled = self.labels.iter().map(|labelled| &labelled.label);
        for unopened in labelled.filter(|unopened| unopened.label == *label && !unopened.is_open()) {
            unopened.opened(outcome.as_ref().map_err(Unopened::again)?.reference);
        }
        let position = self.targets.labels().into_iter().find(|(_, target)| target == label);
        if let Some((position, _)) = position {
            let held = held(outcome.as_ref().copied().map_err(Unopened::again))?;
            self.put_target(position, held);
        }
        Ok(())
    }

    /// Marks labels with stale references to be opened again.
    pub fn close_labels(&mut self) {
        for labelled in &self.labels {
            labelled.label.went_stale(labelled.sent);
        }
        self.targets.close();
        self.resent += 1;
    }

    /// Writes the request into a queue, to be handed over later; returns also whether the daemon should be asked for
    /// another queue.
    pub fn stage(&mut self, pool: &Pool, forsaken: u64) -> (Result<(), NotSent>, bool) {
        self.measure();
        let (staged, wants_more) = pool.stage(forsaken, &self.want, &self.payload, self.reply_bytes_max);
        let staged = staged.map(|flight| {
            self.sent_to = Some(flight.0.card);
            self.flight = Some(flight);
            self.sent_tsc = link::tsc();
        });
        // The only card there is may be the one that could not serve a moment ago.
        if matches!(staged, Err(NotSent::NotReady)) {
            self.want.avoid = None;
        }
        (staged, wants_more)
    }

    /// Queue and slot in which the request is in flight.
    pub fn flight(&self) -> Option<(&Arc<Attached>, &InFlight)> {
        self.flight.as_ref().map(|(attached, in_flight)| (attached, in_flight))
    }

    /// Notes in its slot whose it is: a thread, and a position in that thread's list.
    pub fn own(&self, thread: u32, position: u32) {
        if let Some((attached, in_flight)) = &self.flight {
            attached.own(in_flight.slot(), thread, position);
        }
    }

    /// Takes in the reply that its card says is there.
    pub fn answered(&mut self, pool: &Pool, reply: &mut Reply) -> Result<Judged, FacilityError> {
        let Some((attached, in_flight)) = self.flight.take() else {
            return Err(FacilityError::Forked { verb: self.verb() });
        };
        attached.done();
        match attached.queue.answer(&in_flight, reply.buffer()) {
            Ok(header) => self.judge(pool, reply, &attached, &header),
            Err(cause) => {
                // Nothing that this card says about the request can be believed.
                pool.shun(&attached);
                Err(FacilityError::Protocol { operation: "read a reply", cause: ProtocolError::Link(cause) })
            }
        }
    }

    /// Takes a reply that is there although its card has not announced it, as when the card died in between.
    pub fn answered_last(&mut self, pool: &Pool, reply: &mut Reply) -> Option<Result<Judged, FacilityError>> {
        let (attached, in_flight) = self.flight.as_ref()?;
        if is_broken(attached) {
            return None;
        }
        let looked = attached.queue.try_reply(in_flight, reply.buffer());
        let header = looked.ok().flatten()?;
        let (attached, _) = self.flight.take()?;
        attached.done();
        Some(self.judge(pool, reply, &attached, &header))
    }

    /// What happens to the request after its queue was lost: the card died, or broke the rules.
    pub fn bereaved(&mut self) -> Fate {
        let Some((attached, in_flight)) = self.flight.take() else { return Fate::Free };
        attached.done();
        let verb = self.verb();
        if is_broken(&attached) {
            // A card that lives may run it yet, whatever it says of what it has taken.
            let cause = attached.queue.check().err().unwrap_or(LinkError::Dead);
            let cause = ProtocolError::Link(cause);
            return Fate::Failed(FacilityError::Protocol { operation: "read a reply", cause });
        }
        match attached.queue.was_taken(&in_flight) {
            false => {
                self.resent += 1;
                match self.resent > RESENT_MAX {
                    true => {
                        let ran = if self.deaths == 0 { Ran::No } else { Ran::Maybe };
                        Fate::Failed(FacilityError::CardDied { verb, cards: self.deaths, ran })
                    }
                    false => Fate::Free,
                }
            }
            true => {
                self.deaths += 1;
                if self.want.entry.class == Class::Once || self.deaths >= TAKEN_MAX {
                    return Fate::Failed(FacilityError::CardDied {
                        verb,
                        cards: self.deaths,
                        ran: Ran::Maybe,
                    });
                }
                self.want.alone = true;
                Fate::Suspect
            }
        }
    }

    /// Gives up waiting for the request's answer.
    pub fn abandon(&mut self) {
        if let Some((attached, _)) = self.flight.take() {
            attached.done();
        }
    }

    /// The error of the whole request in place of this attempt's error, if an earlier card may have run the request.
    pub fn blame(&self, error: &FacilityError) -> Option<FacilityError> {
        let is_suspect = self.deaths > 0 && error.ran() == Ran::No;
        let died = FacilityError::CardDied { verb: self.verb(), cards: self.deaths, ran: Ran::Maybe };
        is_suspect.then_some(died)
    }

    /// The card that it was sent to last could not serve it: how long to pause before it goes to another one.
    pub fn refused(&mut self, card_wait: Duration) -> Result<Option<Duration>, FacilityError> {
        self.want.avoid = self.sent_to;
        self.pause_after_refusal(card_wait)
    }

    /// Whether any of its keys is a label, or is to go under one.
    pub fn has_labels(&self) -> bool {
        self.labelled != 0 || !self.targets.is_empty()
    }

    /// Takes the result of writing the tokens of its answer.
    pub fn targets_written(&self, answer: ClientReply, reply: &mut Reply) -> Result<(), FacilityError> {
        self.targets.written(answer, reply)
    }

    /// The error if no card became ready in time.
    pub fn no_card(&self, waited: Duration) -> FacilityError {
        let personality = match route::personalities(self.want.entry) {
            [only] => Some(*only),
            _ => None,
        };
        FacilityError::NoCard { verb: self.verb(), personality, waited }
    }

    /// Time since the request was sent.
    pub fn in_flight_for(&self) -> Duration {
        Duration::from_nanos(link::tsc_to_ns(link::tsc().saturating_sub(self.sent_tsc)))
    }
}

/// Whether the card broke a rule of the queue, so that nothing in it can be trusted.
pub(crate) fn is_broken(attached: &Attached) -> bool {
    matches!(attached.queue.check(), Err(LinkError::Violation(_)))
}
