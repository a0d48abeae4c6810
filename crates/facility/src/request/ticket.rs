//! Requests in flight, held by the caller.
//!
//! A thread that waits for any of many tickets looks at the queues of its share, whose words say which slots are
//! answered, and not at each ticket: a slot knows its ticket's position in the slice that was waited for. All tickets
//! are looked at only now and then ([`Looks`]): for those whose position is not known, and for cards that died.

use crate::Lent;
use crate::cards::pool::{AnsweredSlots, Pool};
use crate::error::FacilityError;
use crate::local::caller::{self, Held, Holding};
use crate::reply::Reply;
use crate::request::{Request, Stay, liveness_tsc};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wire::control::PollMode;

/// A request on its way. Dropped before its answer was collected, the request goes on, and its
/// slot is used again once the card has answered.
///
/// Polling may block in one case: if the card of a request died, the request is sent again,
/// alone, and waited for.
#[derive(Debug)]
pub struct Ticket {
    pub(crate) facility: Arc<Lent>,
    pub(crate) progress: Progress,
    pub(crate) reply: Reply,
    /// Position in the slice that was last waited for.
    position: u32,
}

/// Position of a ticket that was not waited for.
const NO_POSITION: u32 = u32::MAX;
/// More tickets than this wait for words of queues, fewer for their own, which say more of whether to spin.
const MANY: usize = 64;
/// Up to this many tickets are looked at one by one, which costs less than asking the queues.
const FEW: usize = 2;

/// How a thread looks for the answers to its tickets.
struct Looks {
    /// Number of the thread, not 0, in owners of slots.
    thread: u32,
    /// What the last look found answered.
    ready: AnsweredSlots,
    /// The queue that is looked at first.
    turn: usize,
    /// The ticket that is looked at first when all are.
    first: usize,
    /// Whether a queue's word says that a request is answered whose answer is not there: the next wait is for answers.
    doubts: bool,
    /// When all tickets are to be looked at again, by the time-stamp counter; 0 for at once.
    all_tsc: u64,
}

thread_local! {
    static LOOKS: RefCell<Looks> = RefCell::new(Looks::new());
}

impl Looks {
    fn new() -> Self {
        static THREADS: AtomicU32 = AtomicU32::new(0);
        // After four thousand million threads a number comes again; its owner's tickets are found by looking at all.
        Self {
            thread: THREADS.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1),
            ready: AnsweredSlots::default(),
            turn: 0,
            first: 0,
            doubts: false,
            all_tsc: 0,
        }
    }

    /// The thread's own.
    fn with<T>(f: impl FnOnce(&mut Self) -> T) -> T {
        LOOKS.with(|looks| f(&mut looks.borrow_mut()))
    }
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

/// What a look at all tickets found where none has its answer.
struct Seen {
    mode: Option<PollMode>,
    /// The first ticket that waits for its thread to run it.
    held: Option<(usize, Arc<Held>)>,
    under_way: usize,
    /// Whether queues' words show every answer.
    are_known: bool,
}

impl Ticket {
    /// A ticket that holds no request.
    pub(crate) fn new(facility: Arc<Lent>) -> Self {
        Self { facility, progress: Progress::Collected, reply: Reply::new(), position: NO_POSITION }
    }

    /// Notes that a request begins: where it is in flight its slot knows the ticket, else all tickets are looked at.
    pub(crate) fn begun(&self) {
        Looks::with(|looks| match &self.progress {
            Progress::InFlight(request) => request.own(looks.thread, self.position),
            _ => looks.all_tsc = 0,
        });
    }

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

    /// Collects the answer, if it is there, of a request in flight.
    fn is_over_now(&mut self) -> bool {
        self.advance(Stay::Look);
        matches!(self.progress, Progress::Answered | Progress::Failed(_))
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
    /// As [`Facility::call`](crate::Facility::call), within the option.
    pub fn try_wait(&mut self) -> Option<Result<Reply, FacilityError>> {
        let mut reply = Reply::new();
        self.try_wait_into(&mut reply).map(|collected| collected.map(|()| reply))
    }

    /// As [`Ticket::try_wait`], into an existing reply, whose buffer is reused.
    ///
    /// # Errors
    /// As [`Facility::call`](crate::Facility::call), within the option.
    pub fn try_wait_into(&mut self, reply: &mut Reply) -> Option<Result<(), FacilityError>> {
        self.advance(Stay::Look);
        self.collect(reply)
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Facility::call`](crate::Facility::call).
    pub fn wait(mut self) -> Result<Reply, FacilityError> {
        let mut reply = Reply::new();
        self.advance(Stay::Wait(self.facility.poll_mode()));
        self.collect(&mut reply).unwrap_or(Ok(())).map(|()| reply)
    }

    /// Waits until one of these tickets has its answer, and says which; it is then collected with [`Ticket::try_wait`].
    /// Collected tickets are passed over; `None` if all tickets are collected.
    ///
    /// Answers are found by their queues, without a look at each ticket, as long as one thread submits the requests,
    /// waits for them, and leaves each ticket at its place in the slice.
    pub fn wait_any(tickets: &mut [Self]) -> Option<usize> {
        let mut seen: Option<Seen> = None;
        loop {
            if tickets.len() > FEW
                && let Some(index) = Self::answered(tickets)
            {
                return Some(index);
            }
            let last = seen.take().filter(|_| Looks::with(|looks| link::tsc() < looks.all_tsc));
            let now = match last {
                Some(last) => last,
                None => match Self::look_at_all(tickets) {
                    Ok(index) => return Some(index),
                    Err(now) => now,
                },
            };
            if let Some((index, held)) = &now.held {
                // Held requests run here before the thread sleeps.
                caller::waits_for(now.under_way);
                // A timer shows nothing before it ticks.
                if !matches!(now.mode, Some(PollMode::Every { .. })) && Self::gets_from_cards(tickets) {
                    continue;
                }
                // Where another thread runs it, that is for one pass.
                if held.wait(&tickets[*index].facility.state().caller) {
                    return Some(*index);
                }
            }
            let doubts = Looks::with(|looks| std::mem::take(&mut looks.doubts));
            Self::wait_a_while(tickets, now.mode?, now.are_known && !doubts);
            seen = Some(now);
        }
    }

    /// The queues of the calling thread.
    fn pool(&self) -> &Pool {
        &self.facility.state().shares.own().pool
    }

    /// A ticket whose slot says that it is answered, if the positions of all are known.
    fn answered(tickets: &mut [Self]) -> Option<usize> {
        loop {
            let (found, is_fresh) = Looks::with(|looks| {
                if link::tsc() >= looks.all_tsc {
                    looks.ready.clear();
                    return None;
                }
                if let Some(found) = looks.ready.take() {
                    return Some((found, false));
                }
                tickets.first()?.pool().answered_of(looks.thread, &mut looks.turn, &mut looks.ready);
                looks.ready.take().map(|found| (found, true))
            })?;
            let index = found.position();
            let is_at_its_place = |ticket: &&mut Self| match &ticket.progress {
                Progress::InFlight(request) => request.flight().is_some_and(|flight| found.is_of(flight)),
                _ => false,
            };
            let ticket = tickets.get_mut(index).filter(is_at_its_place);
            let is_there = ticket.is_some();
            // The queue's word says that there is something to collect.
            if ticket.is_some_and(Self::is_over_now) {
                return Some(index);
            }
            // Of a look of before it may be collected by now.
            if is_fresh {
                // Unless it is found at another place of this slice, nobody waits for it here.
                if let Some(ticket) = tickets.first() {
                    ticket.pool().disown(&found);
                }
                Looks::with(|looks| (looks.all_tsc, looks.doubts) = (0, is_there));
            }
        }
    }

    /// Looks at all tickets, and notes their positions. Returns one that has its answer, or what is under way.
    fn look_at_all(tickets: &mut [Self]) -> Result<usize, Seen> {
        let (now_tsc, liveness_tsc) = (link::tsc(), liveness_tsc());
        let (thread, first) = Looks::with(|looks| (looks.thread, looks.first));
        let mut seen = Seen { mode: None, held: None, under_way: 0, are_known: true };
        let mut over = None;
        let mut is_any_left = false;
        let is_few = tickets.len() <= FEW;
        let facility = tickets.first().filter(|_| !is_few).map(|ticket| Arc::clone(&ticket.facility));
        let share = facility.as_ref().map(|facility| facility.state().shares.own());
        let mut last = std::ptr::null();
        let count = tickets.len();
        for step in 0..count {
            let index = (first + step) % count;
            let ticket = &mut tickets[index];
            ticket.leave_to_parent();
            match &ticket.progress {
                Progress::Collected => continue,
                Progress::Held(work) => {
                    seen.are_known = false;
                    if work.is_over() {
                        over = over.or(Some(index));
                        continue;
                    }
                    seen.under_way += 1;
                    seen.held = seen.held.or_else(|| Some((index, Arc::clone(&**work))));
                    seen.mode = seen.mode.or(Some(ticket.facility.poll_mode()));
                    continue;
                }
                _ if over.is_some() => {}
                Progress::InFlight(request) => {
                    let is_visible = match ticket.facility.poll_mode() {
                        PollMode::Every { interval_us } => request.has_ticked(now_tsc, interval_us),
                        _ => true,
                    };
                    if is_visible && ticket.is_done_at(now_tsc, liveness_tsc) {
                        over = Some(index);
                        continue;
                    }
                }
                Progress::Answered | Progress::Failed(_) => {
                    over = Some(index);
                    continue;
                }
            }
            let Progress::InFlight(request) = &ticket.progress else {
                is_any_left = true;
                continue;
            };
            seen.under_way += 1;
            let mode = ticket.facility.poll_mode();
            seen.mode = Some(mode);
            if is_few {
                seen.are_known = false;
                continue;
            }
            ticket.position = index as u32;
            request.own(thread, ticket.position);
            // All that this looks for is found by queues' words, if they are the queues of this thread's share.
            let queue = request.flight().map_or(std::ptr::null(), |(attached, _)| Arc::as_ptr(attached));
            if queue != last {
                last = queue;
                let is_known = request
                    .flight()
                    .zip(share)
                    .is_some_and(|((attached, _), share)| share.pool.has(attached));
                seen.are_known &= is_known && !matches!(mode, PollMode::Every { .. });
            }
        }
        Looks::with(|looks| {
            looks.first = over.map_or(0, |index| index + 1);
            looks.all_tsc = if seen.are_known && !is_any_left { now_tsc + liveness_tsc } else { 0 };
        });
        over.ok_or(seen)
    }

    /// Waits for an answer as the poll mode says; for a bounded time, and perhaps without a cause.
    fn wait_a_while(tickets: &[Self], mode: PollMode, are_known: bool) {
        let sleeps = match mode {
            PollMode::Spin => return std::hint::spin_loop(),
            PollMode::Every { interval_us } => {
                let interval = Duration::from_micros(interval_us.max(1).into());
                return link::world::sleep(link::until_tick(interval));
            }
            PollMode::Adaptive => false,
            PollMode::Sleep => true,
        };
        if are_known
            && tickets.len() > MANY
            && let Some(ticket) = tickets.first()
        {
            let thread = Looks::with(|looks| looks.thread);
            let queues = ticket.pool().all();
            let is_answered = || queues.iter().any(|attached| attached.has_answer_of(thread));
            let queues =
                queues.iter().map(|attached| &attached.queue).filter(|queue| queue.slots_used() != 0);
            if sleeps || !link::spin_until_answer(queues.clone(), is_answered) {
                // An error shows at the next look, at the ticket that it belongs to.
                let _ = link::sleep_until_answer(queues, is_answered, None);
            }
            return;
        }
        let in_flight = tickets.iter().filter_map(|ticket| match &ticket.progress {
            Progress::InFlight(request) => request.in_flight(),
            _ => None,
        });
        if sleeps || !link::spin_until_any(in_flight.clone()) {
            let _ = link::sleep_until_any(in_flight, None);
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
            // It may have been sent again.
            Ok(false) => Looks::with(|looks| request.own(looks.thread, self.position)),
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
