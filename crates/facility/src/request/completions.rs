//! Many requests in flight from one event loop, behind one descriptor.
//!
//! ```text
//! loop {
//!     epoll_wait(..)                        completions.as_fd() is readable, or something else is
//!     while let Some((number, answer)) = completions.collect(&mut reply) { .. submit(..) .. }
//!     if !completions.arm() { collect again }
//! }
//! ```
//! A loop has a connection to the daemon and queues of its own. Its descriptor stands for the completion socket of
//! all its queues, the processes of their cards, the control socket and a timer: a server with 64 cards watches one.
//! What is submitted is handed to the cards at the end of a round, with one ring for each card; cards are asked to
//! tell of answers only before the loop sleeps; and of what is still in flight nothing is looked at but one word a
//! queue.
//!
//! Nothing here waits; what a call does instead is in the table at the head of [`crate::request`]. Opening labels,
//! attaching queues, waiting for a slot or a card, sending again what died with a card, verbs of the daemon and writes
//! of records go on between calls; a request that cannot go on for [`Options::card_wait`](crate::Options::card_wait)
//! fails.
//!
//! ```text
//! submit --> Labels --> Waiting --> InFlight --answered--------> collect
//!       \                 ^  ^---------' | '--makes a record's key-.  ^
//!        \                |  not taken, no card ready (after a     v  |
//!         \               |  pause), stale key (through Labels)  Called
//!          \              '-- Suspect <-- a card died with it     ^
//!           '--a verb of the daemon------------------------------'
//! ```

mod control;
mod moves;
mod queues;
mod requests;
mod sources;

use crate::Facility;
use crate::cards::pool::Pool;
use crate::control::connection::Repeat;
use crate::error::FacilityError;
use crate::labels::{Labels, NOT_YET};
use crate::reply::Reply;
use crate::request::target::WRITE_TARGETS;
use crate::request::{Judged, Prepared, Request};
use control::Control;
use link::world;
use queues::Queues;
use requests::{End, Entry, RequestState, Requests};
use rustix::event::{PollFd, PollFlags};
use rustix::time::Timespec;
use sources::Sources;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::control::PollMode;
use wire::frame::Arguments;
use wire::verb::{Executor, Filled, TypedAsk, Verb};

/// Upper bound of requests that a loop holds: those of 16 full queues on each of 16 cards.
pub const LOOP_REQUESTS_MAX: usize = 16 * 1024;
/// How often a loop that does not sleep polls for events other than answers, in nanoseconds.
const EVENTS_EVERY_NS: u64 = 1_000_000;
/// How often a loop that has anything under way looks whether it can go on, and whether cards live.
const TICK: Duration = Duration::from_nanos(wire::bounds::LIVENESS_WAIT_NS);

/// Requests of one event loop. Used by one thread at a time. Dropped, it ends its queues: requests that neither a card
/// nor the daemon has taken do not run, others are finished unheard.
///
/// In a child of fork it is the parent's: every request in it is collected once as [`FacilityError::Forked`], and
/// what is submitted fails so; the child makes its own with [`Facility::completions`].
pub struct Completions {
    facility: Facility,
    /// The process that these requests belong to ([`link::fork::epoch`]).
    epoch: u64,
    pool: Pool,
    labels: Labels,
    control: Control,
    sources: Sources,
    queues: Queues,
    requests: Requests,
    /// Requests that are to be collected.
    over: VecDeque<u32>,
    /// Requests that wait for a queue or a slot.
    waiting: VecDeque<u32>,
    /// Requests whose labels are being opened, requests that the daemon is asked for, and requests that pause.
    labelled: Vec<u32>,
    called: VecDeque<u32>,
    paused: Vec<u32>,
    /// Requests that a card died with, and the one of them that is sent.
    suspects: VecDeque<u32>,
    suspect: Option<u32>,
    /// Whether an event may let waiting requests go on.
    may_go_on: bool,
    /// When a queue may be asked for again after the daemon refused one.
    ask_at: Instant,
    /// When the daemon is asked for its cards again, because none serves a request that waits, and the pause before
    /// the question after that.
    ask_again_at: Option<Instant>,
    ask_pause: Duration,
    /// Number of the last sleep, and whether it lasts.
    sleep: u64,
    is_armed: bool,
    looked_tsc: u64,
    tick_at: Instant,
    scan_at: Instant,
}

impl std::fmt::Debug for Completions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completions").field("in_flight", &self.requests.len()).finish_non_exhaustive()
    }
}

impl Facility {
    /// An event loop's way to the cards that this facility selects. Connects to the daemon by itself, and never
    /// starts one.
    ///
    /// # Errors
    /// [`FacilityError::Io`] where no descriptor is left.
    pub fn completions(&self) -> Result<Completions, FacilityError> {
        let failed = |cause| FacilityError::Io { operation: "make the descriptor of a loop", cause };
        let shared = self.shared();
        let now = world::now();
        let mut completions = Completions {
            facility: self.clone(),
            epoch: link::fork::epoch(),
            pool: Pool::new(&Arc::default()),
            labels: Labels::default(),
            control: Control::new(shared.home.clone(), shared.options.credential.clone()),
            sources: Sources::new().map_err(failed)?,
            queues: Queues::default(),
            requests: Requests::default(),
            over: VecDeque::new(),
            waiting: VecDeque::new(),
            labelled: Vec::new(),
            called: VecDeque::new(),
            paused: Vec::new(),
            suspects: VecDeque::new(),
            suspect: None,
            may_go_on: false,
            ask_at: now,
            ask_again_at: None,
            ask_pause: moves::ASK_PAUSE_FIRST,
            sleep: 0,
            is_armed: false,
            looked_tsc: 0,
            tick_at: now,
            scan_at: now,
        };
        completions.go_on_asking();
        Ok(completions)
    }
}

impl Completions {
    /// Takes a request in, under a number of the caller's, which [`Completions::collect`] gives back; the arguments
    /// are copied. Labels and cards are as with [`Facility::call`], but that nothing runs in the calling
    /// thread: a loop has other things to do. Verbs of the daemon, and writes of keys that were made under labels, go
    /// to the daemon one after the other.
    ///
    /// # Errors
    /// [`FacilityError::Full`] with [`LOOP_REQUESTS_MAX`] requests, [`FacilityError::Arguments`],
    /// [`FacilityError::TooLong`], [`FacilityError::Forked`]. The result of a request that was taken in is collected,
    /// errors too.
    pub fn ask<A: TypedAsk>(&mut self, number: u64, domain: u16, ask: &A) -> Result<(), FacilityError> {
        let mut filled = Filled::default();
        self.submit(number, domain, &ask.arguments(&mut filled))
    }

    /// As [`Completions::ask`], by position.
    ///
    /// # Errors
    /// As [`Completions::ask`].
    pub fn submit(
        &mut self,
        number: u64,
        domain: u16,
        arguments: &Arguments<'_>,
    ) -> Result<(), FacilityError> {
        let verb = arguments.verb();
        if self.is_forked() {
            return Err(FacilityError::Forked { verb });
        }
        if self.requests.len() >= LOOP_REQUESTS_MAX {
            return Err(FacilityError::Full { in_flight: self.requests.len() });
        }
        if verb.entry().executor == Executor::Daemon {
            let (question, repeat) = crate::daemon_call(domain, self.facility.selection, arguments)?;
            let key = self.add(number, verb, None);
            self.call(key, verb.entry().name, question, repeat, None);
            return Ok(());
        }
        let selection = self.facility.selection;
        let prepared = Request::prepare_with(
            &self.labels,
            |_| Ok(NOT_YET.reference),
            |_| Ok(NOT_YET),
            domain,
            selection,
            arguments,
        )?;
        match prepared {
            Prepared::Answered(codes) => {
                let key = self.add(number, verb, None);
                self.end(key, End::Codes(codes));
            }
            Prepared::Request(request) => {
                let has_labels = request.has_labels();
                let key = self.add(number, verb, Some(request));
                if !has_labels || self.has_references(key) {
                    self.send(key);
                }
            }
        }
        Ok(())
    }

    /// The next finished request: its number as the caller gave it, and its result; the answer is in `reply`. None if
    /// no request has finished: the round then ends, and the requests submitted in it are handed to the cards. Requests
    /// come in the order in which they end.
    pub fn collect(&mut self, reply: &mut Reply) -> Option<(u64, Result<(), FacilityError>)> {
        if self.is_forked() {
            self.leave_to_parent();
        }
        if self.is_armed {
            self.wake();
        }
        loop {
            if let Some(key) = self.over.pop_front() {
                return self.give(key, reply);
            }
            while let Some(key) = self.queues.next_ready() {
                // A slot is free.
                self.may_go_on = true;
                let Some(request) = self.requests.get(key).and_then(|entry| entry.request.as_mut()) else {
                    continue;
                };
                match request.answered(&self.pool, reply) {
                    Ok(Judged::Answered) => {
                        self.suspect.take_if(|suspect| *suspect == key);
                        if let Some(write) = request.write_of_targets(reply) {
                            let reply = Box::new(std::mem::take(reply));
                            self.call(key, WRITE_TARGETS, write, Repeat::Never, Some(reply));
                            continue;
                        }
                        let number = self.requests.remove(key).map(|entry| entry.number)?;
                        return Some((number, Ok(())));
                    }
                    judged => self.judged(key, judged),
                }
            }
            self.end_round();
            if !self.queues.sweep() && self.over.is_empty() {
                return None;
            }
        }
    }

    /// Hands what was submitted to the cards at once; [`Completions::collect`] and [`Completions::arm`] do so at the
    /// end of a round.
    pub fn flush(&mut self) {
        if !self.is_forked() {
            self.queues.hand_over();
        }
    }

    /// Ends the round before the caller sleeps on the descriptor: from here on it becomes readable when there is
    /// something to collect or to go on with. False if there is something already; the descriptor may then stay
    /// unreadable.
    pub fn arm(&mut self) -> bool {
        if self.is_forked() {
            self.leave_to_parent();
            return self.over.is_empty();
        }
        if !self.is_armed {
            self.end_round();
            if !self.over.is_empty() {
                return false;
            }
            self.sleep += 1;
            self.queues.arm(self.sleep);
            self.is_armed = true;
            if self.queues.sweep() {
                self.is_armed = false;
                self.queues.disarm();
                return false;
            }
        }
        let deadline = self.deadline();
        self.sources.wake_at(deadline);
        true
    }

    /// Waits until something can be collected, for callers that have no other descriptor to watch; false after the
    /// timeout, and at once if nothing is in flight and no timeout is given. It may also return without a reason.
    pub fn wait(&mut self, timeout: Option<Duration>) -> bool {
        if timeout.is_none() && self.requests.len() == 0 {
            return false;
        }
        let until = timeout.map(|timeout| world::now() + timeout);
        if self.spins() {
            return true;
        }
        if !self.arm() {
            return true;
        }
        let now = world::now();
        let next = [until, self.deadline()].into_iter().flatten().min();
        let span = next.map(|next| next.saturating_duration_since(now)).map(|span| Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(span.subsec_nanos()),
        });
        let mut watched = [PollFd::new(&self.sources, PollFlags::IN)];
        let _ = world::poll(&mut watched, span.as_ref());
        until.is_none_or(|until| world::now() < until)
    }

    /// Requests taken in and not collected.
    pub fn in_flight(&self) -> usize {
        self.requests.len()
    }

    /// Number of queues attached.
    pub fn queues(&self) -> usize {
        self.pool.queues()
    }

    /// Whether these requests belong to the parent of this process, which is a child of fork.
    pub fn is_forked(&self) -> bool {
        self.epoch != link::fork::epoch()
    }

    /// Looks for answers for a while before sleeping, as the poll mode of the facility says.
    fn spins(&mut self) -> bool {
        let span_ns = match self.facility.poll_mode() {
            _ if self.is_armed || self.is_forked() => return false,
            PollMode::Spin if self.queues.any_in_flight() => wire::bounds::LIVENESS_WAIT_NS,
            PollMode::Adaptive if self.queues.any_is_awake_elsewhere() => link::CLIENT_SPIN_NS,
            _ => return false,
        };
        self.end_round();
        let (begin, span) = (link::tsc(), link::ns_to_tsc(span_ns));
        loop {
            if !self.over.is_empty() || self.queues.sweep() {
                return true;
            }
            let now_tsc = link::tsc();
            if now_tsc.wrapping_sub(begin) >= span {
                return false;
            }
            if now_tsc.wrapping_sub(self.looked_tsc) >= link::ns_to_tsc(EVENTS_EVERY_NS) {
                self.look(now_tsc);
                self.end_round();
            }
            std::hint::spin_loop();
        }
    }

    fn add(&mut self, number: u64, verb: Verb, request: Option<Request>) -> u32 {
        let since = world::now();
        self.requests.add(Entry { number, verb, request, state: RequestState::Waiting, since })
    }

    /// Ends a request, which is then to be collected.
    fn end(&mut self, key: u32, end: End) {
        self.suspect.take_if(|suspect| *suspect == key);
        if let Some(entry) = self.requests.get(key) {
            entry.state = RequestState::Over(end);
            self.over.push_back(key);
        }
    }

    fn fail(&mut self, key: u32, error: FacilityError) {
        let request = self.requests.get(key).and_then(|entry| entry.request.as_ref());
        let error = request.and_then(|request| request.blame(&error)).unwrap_or(error);
        self.end(key, End::Failed(error));
    }

    fn give(&mut self, key: u32, reply: &mut Reply) -> Option<(u64, Result<(), FacilityError>)> {
        let Entry { number, verb, state, .. } = self.requests.remove(key)?;
        let RequestState::Over(end) = state else { return None };
        Some((
            number,
            match end {
                End::Reply(mut answer) => {
                    std::mem::swap(&mut *answer, reply);
                    Ok(())
                }
                End::Codes(codes) => {
                    reply.fill(verb, codes, &[]);
                    Ok(())
                }
                End::Failed(error) => Err(error),
            },
        ))
    }

    /// In a child of fork: lets go of everything, since all of it is the parent's.
    fn leave_to_parent(&mut self) {
        self.control.abandon();
        self.queues.abandon();
        self.pool.abandon();
        self.is_armed = false;
        for list in [&mut self.waiting, &mut self.called, &mut self.suspects, &mut self.over] {
            list.clear();
        }
        (self.labelled, self.paused, self.suspect) = (Vec::new(), Vec::new(), None);
        let over = &mut self.over;
        for (key, entry) in self.requests.all() {
            if let Some(request) = &mut entry.request {
                request.abandon();
            }
            entry.state = RequestState::Over(End::Failed(FacilityError::Forked { verb: entry.verb }));
            over.push_back(key);
        }
    }
}

impl AsFd for Completions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sources.as_fd()
    }
}
