//! A client program: one process, which opens one facility after the other and sends requests, from one thread or from
//! several that begin and end.

use crate::oracle::outside_key;
use crate::oracle::{self, Class};
use crate::plan::Sabotage;
use crate::requests::{cipher, generate, hash, marked_vector, text_of};
use crate::stage::Stage;
use facility::{Facility, FacilityError, Options, Reply, Selection, Ticket};
use link::world;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wire::control::{PollMode, Store};
use wire::verb::{Filled, TypedAsk, Verb, one_way_hash};
use wire::{Label, code};

/// Upper bound of requests that are in flight at once.
const BURST_MAX: usize = 24;
/// Upper bound of requests that a loop takes in, and that it takes in during one round.
const LOOP_MAX: usize = 200;
const LOOP_ROUND_MAX: usize = 100;
/// Threads that follow one another in a relay, and the requests that each of them leaves in flight: all together more
/// than a queue has slots.
const RELAY_THREADS: usize = 10;
const RELAY_LEFT: usize = 8;
/// In what time the requests that a thread left are answered if nothing goes wrong.
const RELAY_PAUSE: Duration = Duration::from_millis(100);
/// How often a home without a daemon is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// A client program, which sends requests.
pub struct Client {
    stage: Arc<Stage>,
    folder: PathBuf,
    random: fastrand::Rng,
    pid: u32,
    /// The tenant whose credential the client shows; none to be identified by its user.
    tenant: Option<u32>,
    /// Keys made so far, by all threads.
    keys: Arc<AtomicU32>,
    /// Requests that threads left to the next ones when they ended.
    left: Arc<Mutex<Vec<Burst>>>,
}

/// Requests and their tickets, in the same order.
type Burst = (Vec<Asked>, Vec<Ticket>);

/// A request to be answered.
struct Asked {
    number: u64,
    text: Vec<u8>,
}

/// A request to encipher or decipher.
struct Ciphered {
    number: u64,
    verb: Verb,
    /// The token is wrapped under this master key or a later one.
    master_key: u64,
    /// Whether the key is named by a label.
    by_label: bool,
}

/// A request of an event loop.
enum Looped {
    Hash(Asked),
    Cipher(Ciphered),
}

impl Looped {
    fn number(&self) -> u64 {
        match self {
            Self::Hash(asked) => asked.number,
            Self::Cipher(asked) => asked.number,
        }
    }
}

/// A key that a client made.
struct Key {
    label: Label,
    token: Vec<u8>,
    /// The key's token is wrapped under this master key or a later one.
    master_key: u64,
}

impl Client {
    /// A client that decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: PathBuf, seed: u64, tenant: Option<u32>) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { stage, folder, random, pid: 0, tenant, keys: Arc::default(), left: Arc::default() }
    }

    /// A further thread of this client.
    fn another(&mut self) -> Self {
        Self {
            stage: Arc::clone(&self.stage),
            folder: self.folder.clone(),
            random: self.random.fork(),
            pid: self.pid,
            tenant: self.tenant,
            keys: Arc::clone(&self.keys),
            left: Arc::clone(&self.left),
        }
    }

    /// Runs this many tasks, in several sessions with a facility each.
    pub fn run(mut self, tasks: u32) {
        self.pid = world::pid();
        let mut left = tasks;
        while left > 0 {
            let facility = self.open();
            // Tickets that were never looked at are given up with the facility.
            let mut unread = Vec::new();
            let session = self.random.u32(1..=left);
            let threads = self.stage.state().plan.threads;
            match threads {
                0 | 1 => (0..session).for_each(|_| self.task(&facility, &mut unread)),
                threads => self.run_threads(&facility, threads, session, &mut unread),
            }
            left -= session;
            drop(unread);
            if facility.in_flight() != 0 {
                let count = facility.in_flight();
                self.stage.state().find(format!("{count} requests are in flight that nobody holds"));
            }
            if self.stage.state().sabotages(Sabotage::Stays) {
                std::mem::forget(facility);
            }
        }
    }

    /// Runs tasks in threads, of which this many run at a time, and some in this thread.
    fn run_threads(&mut self, facility: &Facility, most: u32, tasks: u32, unread: &mut Vec<Ticket>) {
        if self.stage.state().plan.calm || self.random.u32(0..4) == 0 {
            self.relay(facility);
        }
        let mut running: Vec<world::Thread> = Vec::new();
        for _ in 0..tasks.max(most) {
            if running.len() == most as usize {
                running.swap_remove(self.random.usize(0..running.len())).join();
            }
            let (next, facility_of_next) = (self.another(), facility.clone());
            let tasks = self.random.u32(1..=2);
            running.extend(self.start(move || next.run_thread(&facility_of_next, tasks)));
            if self.random.u32(0..4) == 0 {
                self.task(facility, unread);
            }
        }
        running.into_iter().for_each(world::Thread::join);
        while self.collect_left() {}
    }

    fn start(&self, work: impl FnOnce() + Send + 'static) -> Option<world::Thread> {
        let stage = Arc::clone(&self.stage);
        let counted = move || {
            work();
            stage.state().oracle.counts.threads += 1;
        };
        let started = world::spawn("client's thread", counted);
        started.map_err(|error| self.stage.state().find(format!("no thread: {error}"))).ok()
    }

    /// A thread, which ends with requests in flight now and then: they are given up, or left to the next thread.
    fn run_thread(mut self, facility: &Facility, tasks: u32) {
        let mut unread = Vec::new();
        if self.random.bool() {
            self.collect_left();
        }
        for _ in 0..tasks {
            self.task(facility, &mut unread);
        }
        match self.random.u32(0..3) {
            0 => (0..3).for_each(|_| self.leave_unread(facility, &mut unread)),
            1 => {
                let count = self.random.usize(1..=BURST_MAX);
                let burst = self.send_burst(facility, count);
                self.left.lock().unwrap_or_else(PoisonError::into_inner).push(burst);
            }
            _ => {}
        }
    }

    /// Collects the answers to requests that a thread left when it ended; false if there are none.
    fn collect_left(&mut self) -> bool {
        let burst = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some((asked, mut tickets)) = burst else { return false };
        while let Some(index) = Ticket::wait_any(&mut tickets) {
            let Some(result) = tickets[index].try_wait() else {
                self.stage.state().find("a ticket was done, and then had no answer".to_owned());
                return false;
            };
            self.ended_some_time(&asked[index], result);
            self.stage.state().oracle.counts.inherited += 1;
        }
        true
    }

    /// Threads one after the other, which leave requests in flight: if nothing goes wrong, the queue of the first has
    /// the place and the slots for all of them.
    fn relay(&mut self, facility: &Facility) {
        let mut most = None;
        for _ in 0..RELAY_THREADS {
            let (mut next, facility_of_next) = (self.another(), facility.with_selection(Selection::card(0)));
            let thread = self.start(move || {
                let mut unread = Vec::new();
                // Short ones: a long one would need a queue of another kind.
                for filler in 0..RELAY_LEFT {
                    let asked = next.ask_of(filler);
                    next.leave_one_unread(&facility_of_next, asked, &mut unread);
                }
                let asked = next.ask_of(RELAY_LEFT);
                next.call(&facility_of_next, &asked);
            });
            thread.into_iter().for_each(world::Thread::join);
            world::sleep(RELAY_PAUSE);
            let queues = facility.queues();
            let before = *most.get_or_insert(queues);
            let mut state = self.stage.state();
            if state.plan.calm && queues > before {
                state.find(format!("{queues} queues for threads one after the other, which had {before}"));
            }
        }
    }

    fn open(&mut self) -> Facility {
        let poll = match self.random.u32(0..8) {
            0 => PollMode::Spin,
            1 => PollMode::Sleep,
            2 => PollMode::Every { interval_us: self.random.u32(10..2_000) },
            _ => PollMode::Adaptive,
        };
        let credential = self.tenant.map(crate::tenants::credential);
        let (in_caller, card_wait) = (self.random.bool(), Duration::from_secs(90));
        let options = Options { poll, credential, in_caller, card_wait, ..Options::default() };
        loop {
            match Facility::open(&self.folder, options.clone()) {
                Ok(facility) => return facility,
                Err(_) => world::sleep(RETRY),
            }
        }
    }

    fn task(&mut self, facility: &Facility, unread: &mut Vec<Ticket>) {
        if self.stage.state().plan.master_keys > 0 && self.random.bool() {
            return self.use_everywhere(facility);
        }
        if self.stage.state().plan.loaded && self.random.bool() {
            // Master keys are lost and loaded again slowly, compared with the time of a request.
            world::sleep(Duration::from_micros(self.random.u64(1..60_000)));
            return if self.random.bool() { self.use_key(facility) } else { self.run_loop(facility) };
        }
        if self.stage.state().plan.outside > 0 && self.random.u32(0..3) == 0 {
            return self.use_outside(facility);
        }
        // Rights are looked at where keys are used, and some time after they changed.
        let rights = self.stage.state().plan.rights > 0;
        match if rights { self.random.u32(0..32) } else { self.random.u32(0..24) } {
            0..4 => {
                let asked = self.ask();
                self.call(facility, &asked);
            }
            4 | 16 | 17 | 28.. => self.use_key(facility),
            5..10 => self.burst(facility, false),
            10 => self.burst(facility, true),
            11 => self.leave_unread(facility, unread),
            12 | 13 => self.create(facility),
            14 => drop(facility.status()),
            18 | 19 => self.use_clear_key(facility),
            20 => self.observe(facility),
            21..24 => self.run_loop(facility),
            // Long enough for what an officer of rights changed to count.
            24..28 => world::sleep(Duration::from_millis(self.random.u64(1..2_500))),
            _ => world::sleep(Duration::from_micros(self.random.u64(1..40_000))),
        }
        if self.stage.state().sabotages(Sabotage::Panics) {
            panic!("told to");
        }
        if self.stage.state().sabotages(Sabotage::Hangs) {
            world::sleep(Duration::from_secs(1 << 40));
        }
        while self.stage.state().plan.sabotage == Some(Sabotage::Circles) {
            world::step("circle");
        }
    }

    fn begin(&mut self, class: Class) -> u64 {
        let mut state = self.stage.state();
        let now_ns = state.now_ns;
        let number = state.oracle.begin(self.pid, class, now_ns);
        drop(state);
        number
    }

    fn ask(&mut self) -> Asked {
        let filler = match self.random.u32(0..20) {
            0 => self.random.usize(4_000..60_000),
            _ => self.random.usize(0..200),
        };
        self.ask_of(filler)
    }

    /// A request with a text of 16 bytes and this many more.
    fn ask_of(&mut self, filler: usize) -> Asked {
        let number = self.begin(Class::Pure);
        let mut text = oracle::mark(number).to_vec();
        text.resize(16 + filler, number as u8);
        Asked { number, text }
    }

    fn call(&mut self, facility: &Facility, asked: &Asked) {
        let result = hash(&asked.text, |request| facility.call(0, request));
        self.ended(asked, result);
    }

    /// Sends many requests at once; all are collected, or some are given up.
    fn burst(&mut self, facility: &Facility, gives_up: bool) {
        let count = self.random.usize(1..=BURST_MAX);
        let (asked, mut tickets) = self.send_burst(facility, count);
        while let Some(index) = Ticket::wait_any(&mut tickets) {
            let Some(result) = tickets[index].try_wait() else {
                self.stage.state().find("a ticket was done, and then had no answer".to_owned());
                return;
            };
            self.ended(&asked[index], result);
            if gives_up && self.random.u32(0..6) == 0 {
                let mut state = self.stage.state();
                asked.iter().for_each(|asked| state.oracle.given_up(asked.number));
                return;
            }
        }
    }

    fn send_burst(&mut self, facility: &Facility, count: usize) -> Burst {
        let (mut asked, mut tickets) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let next = self.ask();
            match hash(&next.text, |request| facility.submit(0, request)) {
                Ok(ticket) => {
                    asked.push(next);
                    tickets.push(ticket);
                }
                Err(error) => self.ended(&next, Err(error)),
            }
        }
        (asked, tickets)
    }

    /// An event loop: requests of several rounds in flight, some beyond what queues hold, some with labels that are
    /// not opened yet; given up in the middle now and then.
    fn run_loop(&mut self, facility: &Facility) {
        let Ok(mut completions) = facility.completions() else { return };
        let (mut asked, mut reply) = (BTreeMap::new(), Reply::new());
        // A key that the loop finds by its label, as soon as the daemon has opened it.
        let key = if self.random.bool() { self.make_key(facility) } else { None };
        let field = key.as_ref().map(|key| key.label.to_field());
        let mut left = match self.random.u32(0..8) {
            0 => self.random.usize(100..LOOP_MAX),
            _ => self.random.usize(1..=BURST_MAX),
        };
        let gives_up = self.random.u32(0..12) == 0;
        while left > 0 || !asked.is_empty() {
            for _ in 0..self.random.usize(0..=left.min(LOOP_ROUND_MAX)) {
                left -= 1;
                let next = match &key {
                    Some(key) if self.random.u32(0..3) == 0 => {
                        Looped::Cipher(self.begin_cipher(Verb::Encipher, true, key.master_key))
                    }
                    _ => Looped::Hash(self.ask()),
                };
                let sent = match &next {
                    Looped::Hash(asked) => {
                        hash(&asked.text, |request| completions.submit(asked.number, 0, request))
                    }
                    Looped::Cipher(asked) => {
                        let vector = marked_vector(asked.number);
                        let field = field.as_ref().map_or(&[][..], |field| field);
                        cipher(asked.verb, field, &[7; 64], &vector, |request| {
                            completions.submit(asked.number, 0, request)
                        })
                    }
                };
                match sent {
                    Ok(()) => drop(asked.insert(next.number(), next)),
                    Err(error) => self.loop_ended(&next, Err(error)),
                }
            }
            while let Some((number, answer)) = completions.collect(&mut reply) {
                let Some(asked) = asked.remove(&number) else {
                    let finding = format!("a loop was given request {number}, which it has not or no more");
                    return self.stage.state().find(finding);
                };
                let answer = answer.map(|()| std::mem::take(&mut reply));
                self.loop_ended(&asked, answer);
            }
            if gives_up && self.random.u32(0..4) == 0 {
                let mut state = self.stage.state();
                asked.values().for_each(|asked| state.oracle.given_up(asked.number()));
                return;
            }
            if !asked.is_empty() {
                completions.wait(None);
            }
        }
        if completions.in_flight() != 0 {
            let count = completions.in_flight();
            self.stage.state().find(format!("a loop holds {count} requests that nobody made"));
        }
        self.stage.state().oracle.counts.loops += 1;
    }

    fn loop_ended(&mut self, asked: &Looped, answer: Result<Reply, FacilityError>) {
        match asked {
            Looped::Hash(asked) => self.ended(asked, answer),
            Looped::Cipher(asked) => drop(self.judge_cipher(asked, answer, None)),
        }
    }

    fn leave_unread(&mut self, facility: &Facility, unread: &mut Vec<Ticket>) {
        // Given up with the thread, or each at once: its slot is free again as soon as the card has answered.
        let is_hasty = self.random.bool();
        for _ in 0..self.random.usize(1..=BURST_MAX) {
            let asked = self.ask();
            self.leave_one_unread(facility, asked, unread);
            if is_hasty {
                unread.pop();
            }
        }
    }

    fn leave_one_unread(&mut self, facility: &Facility, asked: Asked, unread: &mut Vec<Ticket>) {
        match hash(&asked.text, |request| facility.submit(0, request)) {
            Ok(ticket) => {
                unread.push(ticket);
                self.stage.state().oracle.given_up(asked.number);
            }
            Err(error) => self.ended(&asked, Err(error)),
        }
    }

    /// Runs one or several requests that may run in this process, beside requests that cards run.
    fn use_clear_key(&mut self, facility: &Facility) {
        let Some(ask) = crate::clear::ask() else { return };
        let mut filled = Filled::default();
        let request = ask.arguments(&mut filled);
        let beside = self.random.bool().then(|| self.ask());
        let asked = beside.as_ref().map(|asked| hash(&asked.text, |request| facility.submit(0, request)));
        let count = if self.random.bool() { 0 } else { self.random.usize(1..=BURST_MAX) };
        let tickets: Vec<_> = (0..count).map(|_| facility.submit(0, &request)).collect();
        // Before the others: a client that waits at ticks takes long if it waits for one after the other.
        if let (Some(next), Some(ticket)) = (beside, asked) {
            self.ended(&next, ticket.and_then(Ticket::wait));
        }
        let called = (count == 0).then(|| facility.call(0, &request));
        let results = tickets.into_iter().map(|ticket| ticket.and_then(Ticket::wait));
        for result in results.chain(called) {
            let mut state = self.stage.state();
            let calm = state.plan.calm;
            match result {
                Ok(reply) if reply.codes() == code::OK && crate::clear::is_right(&reply.arguments()) => {
                    state.oracle.counts.clear += 1;
                }
                Ok(reply) if reply.codes() == code::OK => {
                    state.find("a request with a clear key got a wrong answer".to_owned());
                }
                Ok(reply) if calm => {
                    state.find(format!("a clear key was refused with {:?}", reply.codes()));
                }
                Err(error) if calm => state.find(format!("a clear key failed: {error}")),
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Looks at the records of a card, which only the home's owner may.
    fn observe(&mut self, facility: &Facility) {
        let Ok(observed) = facility.observe(self.random.u32(0..4)) else { return };
        let first = observed.snapshot().total.counts.requests;
        world::sleep(Duration::from_micros(self.random.u64(1..5_000)));
        let then = observed.snapshot().total.counts.requests;
        let mut state = self.stage.state();
        state.oracle.counts.observed += 1;
        if then < first {
            state.find(format!("a card recorded {first} requests, and then {then}"));
        }
    }

    fn create(&mut self, facility: &Facility) {
        let number = self.begin(Class::Once);
        let mut result = facility.record_create(Store::Des, &oracle::label(number), &[]);
        if self.stage.state().sabotages(Sabotage::StoresTwice) {
            result = facility.record_create(Store::Des, &oracle::label(number), &[]);
        }
        let calm = self.stage.state().plan.fails_nothing();
        let mut state = self.stage.state();
        let now_ns = state.now_ns;
        match result {
            // The time limit of calm runs is for cards, not for a disk.
            Ok(()) => state.oracle.answered(number, true, false, now_ns),
            Err(error) => {
                state.say(|| format!("request {number} failed: {error}"));
                state.oracle.failed(number, &error, calm);
            }
        }
    }

    /// A key that only cards can use, kept under a label.
    fn make_key(&mut self, facility: &Facility) -> Option<Key> {
        let number = self.keys.fetch_add(1, Ordering::Relaxed) + 1;
        let label = Label::new(&format!("SIM.K{}.N{number}", self.pid)).ok()?;
        let master_key = self.stage.state().oracle.master_keys.oldest();
        let token = generate(facility)?;
        facility.record_create(Store::Des, &label, &token).ok()?;
        Some(Key { label, token, master_key })
    }

    /// Makes a key that only cards can use, keeps it under a label, and uses it by the label, whose record is written
    /// again now and then.
    fn use_key(&mut self, facility: &Facility) {
        let Some(Key { label, token, master_key: key }) = self.make_key(facility) else { return };
        let field = label.to_field();
        for _ in 0..self.random.usize(1..6) {
            let text: Vec<u8> = (0..8 * self.random.usize(1..40)).map(|_| self.random.u8(..)).collect();
            let Some(ciphertext) = self.cipher(facility, Verb::Encipher, &field, key, &text, None) else {
                return;
            };
            if self.random.u32(0..4) == 0 && facility.record_write(Store::Des, &label, &token).is_err() {
                return;
            }
            self.cipher(facility, Verb::Decipher, &field, key, &ciphertext, Some(&text));
        }
    }

    /// Uses the key of a label that another host changes, again and again.
    fn use_outside(&mut self, facility: &Facility) {
        let Ok(label) = Label::new(outside_key::LABEL) else { return };
        for _ in 0..self.random.usize(1..8) {
            let number = self.begin(Class::Pure);
            self.stage.state().oracle.needs_key(number);
            let (field, vector) = (label.to_field(), marked_vector(number));
            let result = cipher(Verb::Encipher, &field, &outside_key::TEXT, &vector, |request| {
                facility.call(0, request)
            });
            let mut state = self.stage.state();
            match result {
                Ok(reply) if reply.codes() == code::OK => {
                    let ciphertext = reply.arguments().bytes(text_of(Verb::Encipher)).to_vec();
                    state.oracle.used_outside(number, Some(&ciphertext));
                }
                Ok(reply) if reply.codes() == code::LABEL_NOT_FOUND => {
                    state.oracle.used_outside(number, None)
                }
                Ok(reply) => state.find(format!("request {number} was refused: {:?}", reply.codes())),
                // The key was replaced as often as it was opened.
                Err(FacilityError::StaleKey { .. }) => state.oracle.given_up(number),
                Err(error) => {
                    let calm = state.plan.fails_nothing();
                    state.oracle.failed(number, &error, calm);
                }
            }
            drop(state);
            world::sleep(Duration::from_micros(self.random.u64(1..60_000)));
        }
    }

    /// Makes a key on one card, and uses it on all others at once.
    fn use_everywhere(&mut self, facility: &Facility) {
        let cards = self.stage.state().plan.coprocessors;
        let on = |card: u32| facility.with_selection(Selection::card(card));
        for _ in 0..self.random.usize(1..4) {
            // A card that has much to do looks at its control channels between passes only.
            let busy: Vec<_> = (0..self.random.u32(0..8) * cards)
                .map(|number| {
                    let asked = self.ask();
                    let sent = hash(&asked.text, |request| on(number % cards).submit(0, request));
                    (asked, sent)
                })
                .collect();
            let key = self.stage.state().oracle.master_keys.oldest();
            let token = generate(&on(self.random.u32(0..cards)));
            let used: Vec<_> = token
                .iter()
                .flat_map(|token| (0..cards).map(move |card| (token, card)))
                .map(|(token, card)| self.send_cipher(&on(card), Verb::Encipher, token, key, &[7; 64]))
                .collect();
            for (asked, sent) in used {
                self.judge_cipher(&asked, sent.and_then(Ticket::wait), None);
            }
            for (asked, sent) in busy {
                self.ended_some_time(&asked, sent.and_then(Ticket::wait));
            }
        }
    }

    /// Enciphers or deciphers under a token or a label, whose token is wrapped under this master key or a later one.
    /// Returns the answer, if there is one.
    fn cipher(
        &mut self,
        facility: &Facility,
        verb: Verb,
        key: &[u8],
        master_key: u64,
        text: &[u8],
        expected: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let (asked, sent) = self.send_cipher(facility, verb, key, master_key, text);
        self.judge_cipher(&asked, sent.and_then(Ticket::wait), expected)
    }

    /// Sends a request of [`Client::cipher`].
    fn send_cipher(
        &mut self,
        facility: &Facility,
        verb: Verb,
        key: &[u8],
        master_key: u64,
        text: &[u8],
    ) -> (Ciphered, Result<Ticket, FacilityError>) {
        let asked = self.begin_cipher(verb, Label::is_label_field(key), master_key);
        let vector = marked_vector(asked.number);
        let sent = cipher(verb, key, text, &vector, |request| facility.submit(0, request));
        (asked, sent)
    }

    fn begin_cipher(&mut self, verb: Verb, by_label: bool, master_key: u64) -> Ciphered {
        let number = self.begin(Class::Pure);
        self.stage.state().oracle.needs_key(number);
        Ciphered { number, verb, master_key, by_label }
    }

    /// Reports the result of a cipher request to the oracle; returns the answer, if there is one.
    fn judge_cipher(
        &mut self,
        asked: &Ciphered,
        result: Result<Reply, FacilityError>,
        expected: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let Ciphered { number, verb, master_key, by_label } = *asked;
        let mut state = self.stage.state();
        let (now_ns, calm) = (state.now_ns, state.plan.fails_nothing());
        let plan = state.plan.clone();
        match result {
            Err(FacilityError::Forbidden { .. }) if verb == Verb::Encipher => {
                state.oracle.enciphered(&plan, number, self.tenant, by_label, false);
                state.oracle.forbidden(number);
                None
            }
            Ok(reply) if [code::OK, code::OLD_MASTER_KEY].contains(&reply.codes()) => {
                state.oracle.counts.old_keys += u64::from(reply.codes() == code::OLD_MASTER_KEY);
                if verb == Verb::Encipher {
                    state.oracle.enciphered(&plan, number, self.tenant, by_label, true);
                }
                let answer = reply.arguments().bytes(text_of(verb)).to_vec();
                let right = expected.is_none_or(|expected| answer == expected);
                // The daemon may have been asked for the label: the time limit of calm runs is for cards, not for a
                // disk.
                state.oracle.answered(number, right, false, now_ns);
                Some(answer)
            }
            Ok(reply) => {
                let codes = reply.codes();
                state.say(|| format!("request {number} is answered with {codes:?}"));
                if codes == code::MASTER_KEY_NOT_LOADED {
                    let holder = state.holder(state.oracle.begun_ns(number));
                    state.oracle.refused_without_key(number, holder);
                }
                state.oracle.refused(number, calm, master_key, codes);
                None
            }
            Err(error) => {
                state.say(|| format!("request {number} failed: {error}"));
                state.oracle.failed(number, &error, calm);
                None
            }
        }
    }

    fn ended(&mut self, asked: &Asked, result: Result<Reply, FacilityError>) {
        let calm = self.stage.state().plan.calm;
        self.judge(asked, result, calm);
    }

    /// As [`Client::ended`], of an answer that may have been there for long.
    fn ended_some_time(&mut self, asked: &Asked, result: Result<Reply, FacilityError>) {
        self.judge(asked, result, false);
    }

    fn judge(&mut self, asked: &Asked, result: Result<Reply, FacilityError>, timely: bool) {
        let mut state = self.stage.state();
        let (now_ns, calm, number) = (state.now_ns, state.plan.fails_nothing(), asked.number);
        match result {
            Ok(reply) => {
                let swapped = state.sabotages(Sabotage::SwapsAnswers);
                let expected: [u8; 32] = Sha256::digest(&asked.text[usize::from(swapped)..]).into();
                let arguments = reply.arguments();
                let right = arguments.bytes(one_way_hash::HASH) == expected;
                state.say(|| format!("request {number} is answered"));
                state.oracle.answered(number, right, timely, now_ns);
                if state.sabotages(Sabotage::RunsTwice) {
                    state.oracle.executed(number);
                    state.oracle.executed(number);
                }
            }
            Err(error) => {
                state.say(|| format!("request {number} failed: {error}"));
                state.oracle.failed(number, &error, calm);
            }
        }
        if !state.oracle.findings.is_empty() {
            let finding = state.oracle.findings.pop().unwrap_or_default();
            state.find(finding);
        }
    }
}
