//! Requests in flight, held by the caller.

use crate::Facility;
use crate::error::FacilityError;
use crate::local::caller::{self, Holding};
use crate::reply::Reply;
use crate::request::{Request, Stay, liveness_tsc};
use std::sync::Arc;
use std::time::Duration;
use wire::control::PollMode;

/// A request on its way. Dropped before its answer was collected, the request goes on, and its
/// slot is used again once the card has answered.
///
/// Polling may block in one case: if the card of a request died, the request is sent again,
/// alone, and waited for.
#[derive(Debug)]
pub struct Ticket {
    pub(crate) facility: Facility,
    pub(crate) progress: Progress,
    pub(crate) reply: Reply,
}

/// State of a ticket.
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each request")]
pub(crate) enum Progress {
    InFlight(Request),
    /// Waits for its thread to run it.
    Held(Holding),
    Answered,
    Failed(FacilityError),
    Collected,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::InFlight(_) => "in flight",
            Self::Held(_) => "held",
            Self::Answered => "answered",
            Self::Failed(_) => "failed",
            Self::Collected => "collected",
        })
    }
}

impl Ticket {
    /// The card that the request is in flight on.
    pub fn card(&self) -> Option<u32> {
        match &self.progress {
            Progress::InFlight(request) => request.card(),
            _ => None,
        }
    }

    /// Whether the answer is there. Does not wait for it.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        self.is_done_at(link::tsc(), liveness_tsc())
    }

    fn is_done_at(&mut self, now_tsc: u64, liveness_tsc: u64) -> bool {
        if let Progress::InFlight(request) = &mut self.progress
            && !request.is_quiet(now_tsc, liveness_tsc)
        {
            self.advance(Stay::Look);
        }
        self.leave_to_parent();
        if let Progress::Held(held) = &self.progress {
            return held.look(&self.facility.state().caller);
        }
        matches!(self.progress, Progress::Answered | Progress::Failed(_))
    }

    /// The answer, if it is there; `None` before that, and after it was collected.
    ///
    /// # Errors
    /// As [`Facility::call`], within the option.
    pub fn try_wait(&mut self) -> Option<Result<Reply, FacilityError>> {
        let mut reply = Reply::new();
        self.try_wait_into(&mut reply).map(|collected| collected.map(|()| reply))
    }

    /// As [`Ticket::try_wait`], into an existing reply, whose buffer is reused.
    ///
    /// # Errors
    /// As [`Facility::call`], within the option.
    pub fn try_wait_into(&mut self, reply: &mut Reply) -> Option<Result<(), FacilityError>> {
        self.advance(Stay::Look);
        self.collect(reply)
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Facility::call`].
    pub fn wait(mut self) -> Result<Reply, FacilityError> {
        let mut reply = Reply::new();
        self.advance(Stay::Wait(self.facility.poll_mode()));
        self.collect(&mut reply).unwrap_or(Ok(())).map(|()| reply)
    }

    /// Waits until one of these tickets has its answer, and says which; it is then collected with [`Ticket::try_wait`].
    /// Collected tickets are passed over; `None` if all tickets are collected.
    pub fn wait_any(tickets: &mut [Self]) -> Option<usize> {
        let liveness_tsc = liveness_tsc();
        loop {
            let (mut mode, mut held, mut under_way) = (None, None, 0);
            let now_tsc = link::tsc();
            for (index, ticket) in tickets.iter_mut().enumerate() {
                ticket.leave_to_parent();
                if let Progress::Held(work) = &ticket.progress {
                    if work.is_over() {
                        return Some(index);
                    }
                    under_way += 1;
                    held = held.or_else(|| Some((index, Arc::clone(&**work))));
                    mode = mode.or(Some(ticket.facility.poll_mode()));
                    continue;
                }
                let is_visible = match (&ticket.progress, ticket.facility.poll_mode()) {
                    (Progress::InFlight(request), PollMode::Every { interval_us }) => {
                        request.has_ticked(now_tsc, interval_us)
                    }
                    _ => true,
                };
                if is_visible && ticket.is_done_at(now_tsc, liveness_tsc) {
                    return Some(index);
                }
                if matches!(ticket.progress, Progress::InFlight(_)) {
                    under_way += 1;
                    mode = Some(ticket.facility.poll_mode());
                }
            }
            if let Some((index, held)) = held {
                // Held requests run here before the thread sleeps.
                caller::waits_for(under_way);
                // A timer shows nothing before it ticks.
                if !matches!(mode, Some(PollMode::Every { .. })) && Self::gets_from_cards(tickets) {
                    continue;
                }
                // Where another thread runs it, that is for one pass.
                if held.wait(&tickets[index].facility.state().caller) {
                    return Some(index);
                }
            }
            let in_flight = tickets.iter().filter_map(|ticket| match &ticket.progress {
                Progress::InFlight(request) => request.in_flight(),
                _ => None,
            });
            match mode? {
                PollMode::Spin => std::hint::spin_loop(),
                PollMode::Adaptive if link::spin_until_any(in_flight.clone()) => {}
                PollMode::Adaptive | PollMode::Sleep => {
                    // An error shows at the next look, at the ticket that it belongs to.
                    let _ = link::sleep_until_any(in_flight, None);
                }
                PollMode::Every { interval_us } => {
                    link::world::sleep(link::until_tick(Duration::from_micros(interval_us.max(1).into())));
                }
            }
        }
    }

    /// Waits a little for requests on cards, if a batch of this thread should not run first; true if a request on a
    /// card is over.
    fn gets_from_cards(tickets: &[Self]) -> bool {
        let on_cards = tickets.iter().filter_map(|ticket| match &ticket.progress {
            Progress::InFlight(request) => Some(request),
            _ => None,
        });
        let Some(sent_tsc) = on_cards.clone().map(Request::sent_tsc).min() else { return false };
        let Some(span) = caller::waits_for_cards(sent_tsc) else { return false };
        let in_flight = on_cards.filter_map(Request::in_flight);
        let _ = link::sleep_until_any(in_flight.clone(), Some(link::world::now() + span));
        let is_over = in_flight.clone().any(link::InFlight::is_over);
        caller::waited_for_cards(is_over);
        is_over
    }

    /// In a child of fork: requests that the parent holds are not run here as well.
    fn leave_to_parent(&mut self) {
        if let Progress::Held(held) = &self.progress
            && held.is_forked()
        {
            self.progress = Progress::Failed(FacilityError::Forked { verb: held.verb() });
        }
    }

    fn advance(&mut self, stay: Stay) {
        self.leave_to_parent();
        if let Progress::Held(held) = &self.progress {
            let caller = &self.facility.state().caller;
            let is_over = match stay {
                Stay::Look => held.look(caller),
                Stay::Wait(_) => held.wait(caller),
            };
            if is_over {
                held.collect(&mut self.reply);
                self.progress = Progress::Answered;
            }
        }
        let Progress::InFlight(request) = &mut self.progress else { return };
        match request.collect(&self.facility.around(), &mut self.reply, stay) {
            Ok(false) => {}
            Ok(true) => self.progress = Progress::Answered,
            Err(error) => self.progress = Progress::Failed(error),
        }
    }

    fn collect(&mut self, reply: &mut Reply) -> Option<Result<(), FacilityError>> {
        match &self.progress {
            Progress::InFlight(_) | Progress::Held(_) | Progress::Collected => None,
            Progress::Answered | Progress::Failed(_) => {
                match std::mem::replace(&mut self.progress, Progress::Collected) {
                    Progress::Failed(error) => Some(Err(error)),
                    _ => {
                        std::mem::swap(&mut self.reply, reply);
                        Some(Ok(()))
                    }
                }
            }
        }
    }
}
