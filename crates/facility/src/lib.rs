//! The client library of a home: talks to its cards and its daemon, and goes on when either dies.
//!
//! A *home* is one installation of Cryptand; a *card* is a sandboxed process that holds keys and executes *verbs* (CCA
//! functions); the *daemon* decides who may use which card and keeps the key store.
//!
//! | need | where |
//! |---|---|
//! | MACs, by typed calls | [`Facility::mac_generate`], [`Facility::mac_verify`] |
//! | call any verb by its own type, on a card or in the daemon | [`Facility::ask`], [`Answered`] |
//! | the same by position, for callers that are generic | [`Facility::call`], [`Facility::call_into`], [`Reply::ok`] |
//! | keep many requests in flight from one thread | [`Facility::submit`], [`Ticket`], [`Ticket::wait_any`] |
//! | the same from an event loop, behind one descriptor | [`Facility::completions`], [`Completions`] |
//! | signatures and premasters of private keys under labels | [`private_keys`] |
//! | kinds of keys by name, and new keys of them | [`keys`], [`Facility::generate`] |
//! | leave out lengths and counts that follow from the rest | [`fill_in`] |
//! | use only certain cards | [`Facility::with_selection`], for one request [`Facility::call_on`] |
//! | status, settings, backups, officers, key records | the functions of [`Facility`] with these names |
//! | what cards and tenants do, and how long it takes | [`Facility::observe`], [`Observation`] |
//! | encrypt a key part or a passphrase for the keeper | [`officer::seal`] |
//! | clear-key functions in the caller's thread | [`clear`] |
//! | authenticate as a tenant, with the credential in a file | [`credential::read`], [`Options::credential`] |
//! | see and change tenants and cards | [`Facility::tenants`], [`Facility::change`] |
//!
//! The library has no async runtime, and no thread except one that reaps a daemon which it started. A queue to a card
//! is made when a request first needs one; requests then pass through shared memory and not through the daemon. While
//! no daemon runs, existing queues keep working; new queues and new labels wait for it.
//!
//! # Cards that die
//! A request that the dead card had not taken is sent to another card. A request that it had taken is sent
//! once more, in a batch of its own, unless its verb must not run twice; if the second card dies as
//! well, the request fails with [`FacilityError::CardDied`]. The daemon kills a card that hangs.
//!
//! # fork
//! A child of fork attaches queues of its own at its next call; the parent's queues are not affected. Labels
//! are opened again. [`Ticket`]s remain the parent's.
//!
//! # Versions and platforms
//!
//! Versions are 0.x: the interface may change with the minor version. It needs Linux on x86-64, where cards are
//! served, the standard library and Rust 1.91. It builds for aarch64.
#![forbid(unsafe_code)]

mod cards;
mod control;
mod error;
pub mod keys;
mod labels;
mod local;
mod reply;
mod request;
mod state;

use control::connection::{ANSWER_WAIT, Patience, Repeat};
use home::Home;
use local::caller::{self, Holding};
use request::ticket::Progress;
use request::{Prepared, Request, Stay, Surroundings};
use state::FacilityState;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::bounds::CALL_BYTES_MAX;
use wire::code;
use wire::control::{ClientReply, ClientRequest, PollMode, Refusal};
use wire::tenant::Credential;
use wire::verb::{Class, Executor, Filled, TypedAsk, Verb};

pub use cards::counters::CardCounters;
pub use cards::observe::{self, Observation};
pub use cards::pool::{QUEUES_PER_CARD_AND_DOMAIN_MAX, QUEUES_PER_CARD_OF_PROCESS_MAX};
pub use cards::route::Selection;
pub use cards::shares::SHARES_MAX;
pub use control::Opened;
pub use control::connection::Welcome;
pub use control::start::start_daemon;
pub use control::{credential, officer};
pub use error::{FacilityError, Fault, ProtocolError, Ran, StartError};
pub use local::clear;
pub use reply::{Answered, Reply, Timing};
pub use request::completions::{Completions, LOOP_REQUESTS_MAX};
pub use request::filled::fill_in;
pub use request::private_keys;
pub use request::ticket::Ticket;
/// Verbs, labels, codes and messages, as this library speaks them.
pub use wire;
pub use wire::frame::{Argument, Arguments};
pub use wire::{Codes, Label};

/// How a facility behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Start the daemon if none runs, by the program that the home's settings name, unless the home was stopped or a
    /// service manager runs its daemon ([`Home::may_autostart`]). Only the home's owner can do this.
    pub start_daemon: bool,
    /// How callers wait for answers.
    pub poll: PollMode,
    /// How long to wait for a card if none that serves the verb is ready.
    pub card_wait: Duration,
    /// How long to wait for an answer of a living card, or for a free slot.
    pub answer_wait: Duration,
    /// Which cards may be used.
    pub selection: Selection,
    /// Credential with which the process authenticates as a tenant; none to authenticate by the process's user.
    pub credential: Option<Credential>,
    /// Connect to the daemon through the observers' socket: there it answers only
    /// [`Facility::observe`], [`Facility::cards_now`], [`Facility::tenants`] and [`Facility::status`].
    pub observe: bool,
    /// Whether requests with clear keys may run in the caller's thread if that is faster. A selection
    /// of cards, here, by [`Facility::with_selection`] or by [`Facility::call_on`], asks for a card and disables this.
    pub in_caller: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            start_daemon: false,
            poll: PollMode::Adaptive,
            card_wait: Duration::from_secs(10),
            answer_wait: Duration::from_secs(120),
            selection: Selection::default(),
            credential: None,
            observe: false,
            in_caller: true,
        }
    }
}

/// A home, opened. Clones are the same facility, and cheap; all threads may use it at once.
#[derive(Clone)]
pub struct Facility {
    whole: Arc<Whole>,
    selection: Selection,
}

/// What the clones of a facility share.
struct Whole {
    shared: Arc<Shared>,
    /// By the share of a thread: what its tickets hold.
    lent: Box<[Arc<Lent>]>,
}

/// What requests need of a facility.
pub(crate) struct Shared {
    home: Home,
    options: Options,
    state: FacilityState,
}

/// What a ticket holds of a facility, which stays open as long. Each share of threads has one, so that threads of two
/// shares count in words of their own.
#[repr(align(128))]
pub(crate) struct Lent {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facility").field("home", &self.home.folder()).finish_non_exhaustive()
    }
}

impl std::ops::Deref for Lent {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl std::fmt::Debug for Facility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facility").field("home", &self.home().folder()).finish_non_exhaustive()
    }
}

impl Facility {
    /// Opens the home in this folder, and connects to its daemon.
    ///
    /// # Errors
    /// [`FacilityError::Home`] if there is no home, or one of a newer version, [`FacilityError::NotRunning`],
    /// [`FacilityError::NoAutostart`], [`FacilityError::StartDaemon`], [`FacilityError::Denied`], or another error of
    /// the control connection.
    pub fn open(folder: &Path, options: Options) -> Result<Self, FacilityError> {
        let home = Home::open(folder)?;
        let (state, selection) = (FacilityState::new(&home, &options), options.selection);
        state.connection.welcome(Patience::None)?;
        let shared = Arc::new(Shared { home, options, state });
        let lent = || Arc::new(Lent { shared: Arc::clone(&shared) });
        let lent = std::iter::repeat_with(lent).take(shared.state.shares.most()).collect();
        Ok(Self { whole: Arc::new(Whole { shared, lent }), selection })
    }

    /// The same facility, with only these cards for its requests.
    pub fn with_selection(&self, selection: Selection) -> Self {
        Self { whole: Arc::clone(&self.whole), selection }
    }

    /// The home.
    pub fn home(&self) -> &Home {
        &self.shared().home
    }

    /// The daemon's greeting: the caller's tenant and role.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn welcome(&self) -> Result<Welcome, FacilityError> {
        self.state().connection.welcome(Patience::Reconnect)
    }

    /// Calls a verb and waits for its answer, wherever it is executed.
    ///
    /// Key identifiers may be token bytes, references of [`Facility::open_label`], or the 64-byte
    /// fields of labels, which are opened once and then sent as references. A label in a parameter where the verb
    /// returns a new token names an existing record: the record's content goes to the verb as input,
    /// the new token is written into the record, and the call returns when that is durable. Return codes of the write
    /// are returned as the verb's; see [`FacilityError::ran`] if the daemon goes away meanwhile.
    ///
    /// # Errors
    /// [`FacilityError`]. Return codes of the verb are not errors.
    pub fn call(&self, domain: u16, arguments: &Arguments<'_>) -> Result<Reply, FacilityError> {
        let mut reply = Reply::new();
        self.call_into(domain, arguments, &mut reply)?;
        Ok(reply)
    }

    /// As [`Facility::call`], by the verb's own type, which fills in lengths, counts and keywords:
    ///
    /// ```
    /// use wire::verb::{MacFormat, mac_generate};
    /// fn mac(cards: &facility::Facility, key: &wire::Label) -> Result<Vec<u8>, facility::FacilityError> {
    ///     let ask = mac_generate::Ask {
    ///         key_identifier: key.into(),
    ///         text: b"a text",
    ///         format: Some(MacFormat::Bytes8),
    ///         ..mac_generate::Ask::new()
    ///     };
    ///     Ok(cards.ask(0, &ask)?.ok()?.got().mac.to_vec())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Facility::call`].
    pub fn ask<A: TypedAsk>(&self, domain: u16, ask: &A) -> Result<Answered<A::Of>, FacilityError> {
        let mut filled = Filled::default();
        self.call(domain, &ask.arguments(&mut filled)).map(Answered::of)
    }

    /// As [`Facility::call`], into an existing reply, whose buffer is reused.
    ///
    /// # Errors
    /// As [`Facility::call`].
    pub fn call_into(
        &self,
        domain: u16,
        arguments: &Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), FacilityError> {
        self.call_on(self.selection, domain, arguments, reply)
    }

    /// As [`Facility::call_into`], with only these cards for this one request, whatever those of the facility are. It
    /// counts no reference, which [`Facility::with_selection`] does in a word that all threads write.
    ///
    /// # Errors
    /// As [`Facility::call`].
    pub fn call_on(
        &self,
        selection: Selection,
        domain: u16,
        arguments: &Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), FacilityError> {
        if arguments.verb().entry().executor == Executor::Daemon {
            return self.call_daemon(selection, domain, arguments, reply);
        }
        let around = self.around();
        if self.runs_here(&around, selection, domain, arguments, reply) {
            return Ok(());
        }
        match Request::prepare(&around, domain, selection, arguments)? {
            Prepared::Answered(codes) => reply.fill(arguments.verb(), codes, &[]),
            Prepared::Request(mut request) => {
                request.send(&around, true)?;
                request.collect(&around, reply, Stay::Wait(self.poll_mode()))?;
            }
        }
        Ok(())
    }

    /// Sends a request and returns without waiting for its answer. Verbs of the daemon are
    /// answered at once.
    ///
    /// # Errors
    /// As [`Facility::call`], and [`FacilityError::Full`] if no slot is free: collect answers first.
    pub fn submit(&self, domain: u16, arguments: &Arguments<'_>) -> Result<Ticket, FacilityError> {
        let mut ticket = Ticket::new(self.lent());
        self.begin(&mut ticket, domain, arguments)?;
        Ok(ticket)
    }

    /// As [`Facility::submit`], with an existing ticket, which is reused. A request that it still held
    /// runs on, and its answer is dropped.
    ///
    /// # Errors
    /// As [`Facility::submit`]; the ticket then holds nothing.
    pub fn submit_into(
        &self,
        ticket: &mut Ticket,
        domain: u16,
        arguments: &Arguments<'_>,
    ) -> Result<(), FacilityError> {
        ticket.progress = Progress::Collected;
        self.begin(ticket, domain, arguments)?;
        if !Arc::ptr_eq(&ticket.facility.shared, &self.whole.shared) {
            ticket.facility = self.lent();
        }
        Ok(())
    }

    /// Number of requests that this process has in flight on queues.
    pub fn in_flight(&self) -> u64 {
        self.state().shares.in_flight()
    }

    /// Number of queues that this process has attached.
    pub fn queues(&self) -> usize {
        self.state().shares.all().map(|share| share.pool.queues()).sum()
    }

    /// Begins a request in a ticket that holds none. The request is constructed in place: moving it would cost as much
    /// as sending it.
    fn begin(
        &self,
        ticket: &mut Ticket,
        domain: u16,
        arguments: &Arguments<'_>,
    ) -> Result<(), FacilityError> {
        let begun = self.begin_in(ticket, domain, arguments);
        ticket.begun();
        begun
    }

    fn begin_in(
        &self,
        ticket: &mut Ticket,
        domain: u16,
        arguments: &Arguments<'_>,
    ) -> Result<(), FacilityError> {
        let Ticket { progress, reply, .. } = ticket;
        if arguments.verb().entry().executor == Executor::Daemon {
            self.call_daemon(self.selection, domain, arguments, reply)?;
            *progress = Progress::Answered;
            return Ok(());
        }
        let around = self.around();
        if let Some(held) = self.holds(arguments) {
            *progress = Progress::Held(held);
            return Ok(());
        }
        match Request::prepare(&around, domain, self.selection, arguments)? {
            Prepared::Answered(codes) => {
                reply.fill(arguments.verb(), codes, &[]);
                *progress = Progress::Answered;
            }
            Prepared::Request(request) => {
                *progress = Progress::InFlight(request);
                if let Progress::InFlight(request) = progress
                    && let Err(error) = request.send(&around, false)
                {
                    *progress = Progress::Collected;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether requests of this verb, for these cards, may run in this thread.
    fn may_run_here(&self, selection: Selection, verb: Verb) -> bool {
        caller::serves(verb) && self.shared().options.in_caller && selection == Selection::default()
    }

    /// Runs a call in this thread, if that is allowed and promises the answer sooner.
    fn runs_here(
        &self,
        around: &Surroundings<'_>,
        selection: Selection,
        domain: u16,
        arguments: &Arguments<'_>,
        reply: &mut Reply,
    ) -> bool {
        let verb = arguments.verb();
        if !self.may_run_here(selection, verb) {
            return false;
        }
        let caller = &self.state().caller;
        let Some(work) = caller.work(arguments) else { return false };
        let want = Request::want(domain, selection, verb.entry());
        let wait_ns = around.pool.wait_ns(around.connection, &want);
        let in_flight = self.state().shares.in_flight();
        if !caller.takes_call(&work, in_flight, link::world::processors(), wait_ns) {
            return false;
        }
        caller.run_now(work, reply);
        true
    }

    /// Holds a request for this thread, if that is allowed and the thread's share is not full.
    fn holds(&self, arguments: &Arguments<'_>) -> Option<Holding> {
        if !self.may_run_here(self.selection, arguments.verb()) {
            return None;
        }
        let state = self.state();
        let work = state.caller.work(arguments)?;
        state.caller.hold(work, state.shares.in_flight(), state.shares.processors()).ok()
    }

    fn call_daemon(
        &self,
        selection: Selection,
        domain: u16,
        arguments: &Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), FacilityError> {
        let verb = arguments.verb();
        called(verb, self.ask_verb(verb.entry().name, selection, domain, arguments)?, reply)
    }

    /// Asks the daemon to run a verb of its own.
    pub(crate) fn ask_verb(
        &self,
        operation: &'static str,
        selection: Selection,
        domain: u16,
        arguments: &Arguments<'_>,
    ) -> Result<ClientReply, FacilityError> {
        let (request, repeat) = daemon_call(domain, selection, arguments)?;
        let connection = &self.state().connection;
        let answer = connection.ask(operation, &request, repeat, Patience::Reconnect, ANSWER_WAIT)?;
        Ok(answer.0)
    }

    /// What a ticket of the calling thread holds.
    fn lent(&self) -> Arc<Lent> {
        let lent = &self.whole.lent;
        // The shares of the process that opened the facility; a child of fork has its own.
        Arc::clone(&lent[self.state().shares.own_index() % lent.len()])
    }

    fn shared(&self) -> &Shared {
        &self.whole.shared
    }

    pub(crate) fn around(&self) -> Surroundings<'_> {
        self.shared().around()
    }

    pub(crate) fn poll_mode(&self) -> PollMode {
        self.shared().poll_mode()
    }

    pub(crate) fn state(&self) -> &FacilityState {
        self.shared().state()
    }
}

impl Shared {
    pub(crate) fn around(&self) -> Surroundings<'_> {
        let state = self.state();
        let share = state.shares.own();
        Surroundings {
            connection: &state.connection,
            shares: &state.shares,
            pool: &share.pool,
            labels: &share.labels,
            process_labels: &state.labels,
            alone: &state.alone,
            running: state.caller.running() + u64::from(caller::will_run()),
            card_wait: self.options.card_wait,
            answer_wait: self.options.answer_wait,
        }
    }

    pub(crate) fn poll_mode(&self) -> PollMode {
        self.options.poll
    }

    /// State of this process; a child of fork has its own.
    pub(crate) fn state(&self) -> &FacilityState {
        self.state.of_this_process(&self.home, &self.options)
    }
}

/// The request by which the daemon runs one of its verbs, and whether it may be sent again.
fn daemon_call(
    domain: u16,
    selection: Selection,
    arguments: &Arguments<'_>,
) -> Result<(ClientRequest, Repeat), FacilityError> {
    let entry = arguments.verb().entry();
    let mut payload = Vec::new();
    arguments
        .write_request(&mut payload)
        .map_err(|cause| FacilityError::Arguments { verb: entry.verb, cause })?;
    if payload.len() > CALL_BYTES_MAX {
        let (verb, bytes) = (entry.verb, payload.len());
        return Err(FacilityError::TooLong { verb, bytes, bytes_max: CALL_BYTES_MAX });
    }
    // A verb of class once may have run when its daemon was lost.
    let repeat = if entry.class == Class::Pure { Repeat::Safe } else { Repeat::Never };
    let card = selection.only_card();
    Ok((ClientRequest::Call { domain, card, verb: entry.verb as u16, payload }, repeat))
}

/// Reads the daemon's answer to a verb of its own into `reply`.
fn called(verb: Verb, answer: ClientReply, reply: &mut Reply) -> Result<(), FacilityError> {
    let operation = verb.entry().name;
    match answer {
        ClientReply::Called { codes, payload } => {
            reply.take(verb, codes, payload).map_err(|cause| FacilityError::Protocol { operation, cause })
        }
        ClientReply::Refused(Refusal::Denied) => {
            reply.fill(verb, code::ACCESS_DENIED, &[]);
            Ok(())
        }
        ClientReply::Refused(Refusal::Storage { .. }) => {
            reply.fill(verb, code::KEY_STORE, &[]);
            Ok(())
        }
        answer => {
            control::refusals(operation, answer)?;
            Err(control::unexpected(operation))
        }
    }
}
