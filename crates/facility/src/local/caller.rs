//! Clear-key requests in the caller's own thread: when that is faster, and how they run there.
//!
//! A clear key belongs to the caller: it needs no card and no right. A single request takes less time
//! here than on a card, which must be woken and then wake its client. Many requests take less time on
//! cards, or in the lanes of the engine. So requests that one thread submits before it waits for any are
//! held, and run as one batch when it waits.
//!
//! | who | how many stay here | why |
//! |---|---|---|
//! | a call | all, while no more are in flight than there are processors | more calls can share lanes on cards |
//! | submitted requests of one thread | a share of those in flight, in whole steps of the lanes | the cards work meanwhile |
//! | submitted requests of as many threads as there are processors | all | a card would only compete for processors |
//!
//! A request that cannot be parsed here (a token that is not clear, a wrong length, a weak key) goes to
//! a card, which refuses it with the right codes.

use crate::reply::Reply;
use engine::{
    Engine, RSA_BITS_STRONG, RsaCrt, RsaPrivateItem, RsaPrivateKey, RsaPublicItem, RsaPublicKey, SecretBytes,
    is_below,
};
use link::{Latch, world};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};
use std::time::Duration;
use token::pka::{PkaToken, PrivateValues, stated_length};
use wire::code::{self, Codes};
use wire::frame::{Argument, Arguments};
use wire::verb::{Verb, clear_rsa_private as places};

/// Lanes of the engine for RSA keys, and lanes of a step: a batch of `STEP` requests takes half as long as one of all
/// lanes.
pub(crate) const LANES: usize = 8;
const STEP: usize = LANES / 2;
/// Upper bound of requests that one thread holds.
const HELD_MAX: usize = 256;
/// Places in which threads that run batches are counted, and how long after a batch its thread still counts, in
/// nanoseconds.
const PLACES: usize = 64;
const AT_IT_NS: u64 = 10_000_000;
/// Polls of a held request after which the polling thread runs it.
const LOOKS_MAX: u32 = 8;
/// How long to wait for cards before a batch; see [`waits_for_cards`].
const CARDS_WAIT: Duration = Duration::from_micros(30);
/// Number of vain waits after which only one in [`MISSES_RETRY`] is tried.
const MISSES_MAX: u32 = 4;
/// See [`MISSES_MAX`].
const MISSES_RETRY: u32 = 16;
/// Prepared keys: sets, found by some bytes of the token, and keys in each.
const SETS: usize = 64;
const KEYS_PER_SET_MAX: usize = 16;
/// The time that a single request takes to a card and back, without its computation, in nanoseconds.
const HANDOFF_NS: u64 = 10_000;
/// How long a measured time is valid, in nanoseconds.
const TIME_AGES_NS: u64 = 500_000_000;
/// Kinds of work with times of their own: form of the operation and length of the modulus in 512 bits.
const FORMS: usize = 3;
const LENGTHS: usize = 9;
/// The average of requests in flight is kept in units of one over this, and a new value has the weight of one unit.
const LEVEL_ONE: u64 = 16;

/// A key, ready for use.
enum Key {
    Private(RsaPrivateKey),
    Public(RsaPublicKey),
}

struct Prepared {
    key: Key,
    modulus: Vec<u8>,
    kind: usize,
}

struct Kept {
    token: SecretBytes,
    verb: Verb,
    used: AtomicU64,
    prepared: Arc<Prepared>,
}

/// A request that can run here.
pub(crate) struct Work {
    verb: Verb,
    prepared: Arc<Prepared>,
    block: SecretBytes,
}

/// State of a held request.
enum State {
    Waiting(Work),
    Running(Verb),
    Done(Verb, Result<SecretBytes, Codes>),
    Gone,
}

/// A request held by a ticket until its thread waits.
pub(crate) struct Held {
    state: Mutex<State>,
    /// Opened when the answer is there.
    done: Latch,
    looks: AtomicU32,
    verb: Verb,
    /// The process that holds it ([`link::fork::epoch`]): in a child of fork a lock may be held, or a pass
    /// be run, by a thread that is not there.
    epoch: u64,
}

/// A ticket's hold on a request. Dropped before anybody has begun with it, the request is forgotten.
pub(crate) struct Holding(Arc<Held>);

/// A running batch: dropped in any way, also by a panic, it releases those who wait for it.
struct Pass<'a> {
    caller: &'a Caller,
    batch: &'a [Arc<Held>],
}

/// How long one kind of work takes here.
#[derive(Default)]
struct Time {
    /// Time without disturbance, and recent average, in nanoseconds; 0 before the first request.
    best_ns: AtomicU64,
    recent_ns: AtomicU64,
    measured_tsc: AtomicU64,
}

/// Engine, prepared keys and measured times with which a process runs requests itself.
pub(crate) struct Caller {
    engine: OnceLock<Option<Engine>>,
    keys: Box<[RwLock<Vec<Kept>>]>,
    times: [Time; FORMS * LENGTHS],
    running: AtomicU64,
    /// When the threads of a place last began a batch that they held, by the time-stamp counter.
    batches_tsc: [AtomicU64; PLACES],
    /// Threads that were given a place.
    threads: AtomicUsize,
    /// Requests under way, averaged over calls, in sixteenths.
    level: AtomicU64,
}

/// Held requests of one thread, and the figures by which it decides how many to hold.
#[derive(Default)]
struct Mine {
    held: Vec<Arc<Held>>,
    /// Requests that were under way when this thread last waited.
    under_way: usize,
    /// When this thread last began a batch, by the time-stamp counter.
    batch_tsc: u64,
    /// Place of this thread among the threads that run batches, counted from 1; 0 before its first batch.
    place: usize,
    /// Waits for cards in a row that were in vain.
    misses: u32,
}

thread_local! {
    static MINE: RefCell<Mine> = RefCell::default();
}

/// Whether a verb can run here at all.
pub(crate) fn serves(verb: Verb) -> bool {
    matches!(verb, Verb::ClearRsaPrivate | Verb::ClearRsaPublic)
}

impl Caller {
    /// A caller that has measured nothing yet.
    pub fn new() -> Self {
        Self {
            engine: OnceLock::new(),
            keys: (0..SETS).map(|_| RwLock::default()).collect(),
            times: std::array::from_fn(|_| Time::default()),
            running: AtomicU64::new(0),
            batches_tsc: [const { AtomicU64::new(0) }; PLACES],
            threads: AtomicUsize::new(0),
            level: AtomicU64::new(0),
        }
    }

    /// Threads of this process that run requests now.
    pub fn running(&self) -> u64 {
        self.running.load(Relaxed)
    }

    /// The request, if it can run here; `None` if it must go to a card.
    pub fn work(&self, arguments: &Arguments<'_>) -> Option<Work> {
        let verb = arguments.verb();
        if !serves(verb) {
            return None;
        }
        let field = counted(arguments, places::KEY_LENGTH, places::KEY)?;
        let data = counted(arguments, places::DATA_LENGTH, places::DATA)?;
        let token = field.get(..stated_length(field)?)?;
        let prepared = self.prepared(verb, token)?;
        let bytes = prepared.modulus.len();
        let room = usize::try_from(arguments.integer(places::RESULT_LENGTH)).ok()?;
        if room < bytes || data.len() > bytes {
            return None;
        }
        let mut block = SecretBytes::new(bytes);
        block[bytes - data.len()..].copy_from_slice(data);
        is_below(&block, &prepared.modulus).then_some(Work { verb, prepared, block })
    }

    /// Whether a call is to run here, given the number of this process's requests in flight on cards, and the time that
    /// a request would wait on a card; `None` if nothing is known of the cards.
    pub fn takes_call(&self, work: &Work, in_flight: u64, processors: u64, wait_ns: Option<u64>) -> bool {
        let under_way = (in_flight + self.running() + 1).saturating_mul(LEVEL_ONE);
        let level = self.level.load(Relaxed);
        let level = level - level / LEVEL_ONE + under_way / LEVEL_ONE;
        self.level.store(level, Relaxed);
        if self.running() >= processors || level > processors * LEVEL_ONE {
            return false;
        }
        let time = &self.times[work.prepared.kind];
        let best_ns = time.best_ns.load(Relaxed);
        let age_tsc = link::tsc().saturating_sub(time.measured_tsc.load(Relaxed));
        let is_old = age_tsc > link::ns_to_tsc(TIME_AGES_NS);
        let here_ns = if is_old { best_ns } else { time.recent_ns.load(Relaxed) };
        wait_ns.is_none_or(|wait_ns| here_ns <= best_ns.saturating_add(wait_ns).saturating_add(HANDOFF_NS))
    }

    /// Runs one request at once.
    pub fn run_now(&self, work: Work, reply: &mut Reply) {
        let held = [Arc::new(Held::new(work.verb, State::Running(work.verb)))];
        self.run(&held, vec![work]);
        held[0].collect(reply);
    }

    /// Holds a request for this thread, given the number of this process's requests in flight on cards. Gives the
    /// request back if the thread's share is full.
    pub fn hold(&self, work: Work, in_flight: u64, processors: u64) -> Result<Holding, Work> {
        if self.running() >= processors {
            return Err(work);
        }
        let each = processors / self.threads(link::tsc()).max(1);
        let has_room = MINE.try_with(|mine| mine.borrow_mut().has_room(in_flight, each));
        if has_room != Ok(true) {
            return Err(work);
        }
        let held = Arc::new(Held::new(work.verb, State::Waiting(work)));
        let _ = MINE.try_with(|mine| mine.borrow_mut().held.push(Arc::clone(&held)));
        Ok(Holding(held))
    }

    /// Runs a held request, and with it others that this thread holds, as one batch. Does nothing where
    /// it has run; waits where another thread runs it.
    pub fn finish(&self, held: &Arc<Held>) {
        let Some(own) = held.take() else { return };
        let epoch = held.epoch;
        let mut batch = vec![Arc::clone(held)];
        let mut works = vec![own];
        let _ = MINE.try_with(|mine| {
            let mine = &mut *mine.borrow_mut();
            mine.held.retain(|other| {
                // Removes the requested one, those whose ticket is gone, and those of the parent of a fork.
                if Arc::ptr_eq(other, held) || Arc::strong_count(other) == 1 || other.epoch != epoch {
                    return false;
                }
                if works.len() == LANES {
                    return true;
                }
                if let Some(work) = other.take() {
                    works.push(work);
                    batch.push(Arc::clone(other));
                }
                false
            });
        });
        let begin_tsc = link::tsc();
        let place = MINE.try_with(|mine| mine.borrow_mut().begins(&self.threads, begin_tsc)).unwrap_or(0);
        self.batches_tsc[place].store(begin_tsc, Relaxed);
        self.run(&batch, works);
    }

    /// Threads that run one batch of held requests after the other.
    fn threads(&self, now_tsc: u64) -> u64 {
        let since_tsc = now_tsc.saturating_sub(link::ns_to_tsc(AT_IT_NS)).max(1);
        self.batches_tsc.iter().filter(|begun| begun.load(Relaxed) >= since_tsc).count() as u64
    }

    fn run(&self, batch: &[Arc<Held>], works: Vec<Work>) {
        self.running.fetch_add(1, Relaxed);
        let pass = Pass { caller: self, batch };
        let begin = link::tsc();
        let results = match self.engine() {
            Some(engine) => run(engine, &works),
            None => works.iter().map(|_| Err(code::SELF_CHECK)).collect(),
        };
        if let [work] = &works[..] {
            self.times[work.prepared.kind].learn(begin, link::tsc());
        }
        for (held, result) in batch.iter().zip(results) {
            held.answer(result);
        }
        drop(pass);
    }

    fn engine(&self) -> Option<&Engine> {
        let make = || Engine::new(engine::Options { limit: None, weak_algorithms: false }).ok();
        self.engine.get_or_init(make).as_ref()
    }

    fn prepared(&self, verb: Verb, token: &[u8]) -> Option<Arc<Prepared>> {
        let set = &self.keys[set_of(token)];
        let now = link::tsc();
        {
            let keys = world::read(set);
            let found = keys.iter().find(|kept| kept.verb == verb && is_equal(kept.token.as_slice(), token));
            if let Some(kept) = found {
                kept.used.store(now, Relaxed);
                return Some(Arc::clone(&kept.prepared));
            }
        }
        let prepared = Arc::new(prepare(self.engine()?, verb, token)?);
        let mut keys = world::write(set);
        if keys.len() >= KEYS_PER_SET_MAX {
            let oldest = (0..keys.len()).min_by_key(|place| keys[*place].used.load(Relaxed))?;
            keys.swap_remove(oldest);
        }
        let (token, used) = (SecretBytes::from_slice(token), AtomicU64::new(now));
        keys.push(Kept { token, verb, used, prepared: Arc::clone(&prepared) });
        Some(prepared)
    }
}

impl Mine {
    /// Notes that a batch begins, and returns the place of this thread.
    fn begins(&mut self, threads: &AtomicUsize, now_tsc: u64) -> usize {
        self.batch_tsc = now_tsc;
        if self.place == 0 {
            self.place = threads.fetch_add(1, Relaxed) % PLACES + 1;
        }
        self.place - 1
    }

    fn has_room(&mut self, in_flight: u64, processors: u64) -> bool {
        let epoch = link::fork::epoch();
        let in_flight = usize::try_from(in_flight).unwrap_or(usize::MAX);
        let has_room = |held: usize, under_way: usize| {
            let all = in_flight.saturating_add(held + 1).max(under_way);
            held < share(all, processors)
        };
        let is_own = self.held.first().is_none_or(|held| held.epoch == epoch);
        if is_own && has_room(self.held.len(), self.under_way) {
            return true;
        }
        // Removes requests whose ticket was dropped, that another thread has begun, or that belong to the parent of a
        // fork.
        self.held.retain(|held| held.epoch == epoch && Arc::strong_count(held) > 1 && held.is_waiting());
        has_room(self.held.len(), self.under_way)
    }
}

/// Whether this thread holds requests, and will compute when it waits.
pub(crate) fn will_run() -> bool {
    MINE.try_with(|mine| !mine.borrow().held.is_empty()).unwrap_or(false)
}

/// Notes how many requests are under way as this thread waits for the first of them.
pub(crate) fn waits_for(under_way: usize) {
    let _ = MINE.try_with(|mine| mine.borrow_mut().under_way = under_way);
}

/// Whether a thread that has a batch to run should first wait a little for a card: few requests are under
/// way, those on cards were sent before its last batch, and it was not in vain of late. Otherwise a card
/// that is some microseconds slower than this thread would lie idle for a batch.
pub(crate) fn waits_for_cards(sent_tsc: u64) -> Option<Duration> {
    let waits = MINE.try_with(|mine| {
        let mine = &mut *mine.borrow_mut();
        let is_due = mine.under_way <= LANES && sent_tsc < mine.batch_tsc;
        if is_due && mine.misses >= MISSES_MAX {
            mine.misses += 1;
            return mine.misses.is_multiple_of(MISSES_RETRY);
        }
        is_due
    });
    (waits == Ok(true)).then_some(CARDS_WAIT)
}

/// Notes whether a wait for cards ([`waits_for_cards`]) brought an answer.
pub(crate) fn waited_for_cards(answered: bool) {
    let _ = MINE.try_with(|mine| {
        let mine = &mut *mine.borrow_mut();
        mine.misses = if answered { 0 } else { mine.misses.wrapping_add(1) };
    });
}

/// How many of the requests under way a thread runs itself. With fewer than two processors, all. Of two, one, so that a
/// card runs the other beside it. Else all below half of the lanes, then half of the lanes, and from twice the lanes on
/// all lanes.
fn share(under_way: usize, processors: u64) -> usize {
    match under_way {
        _ if processors < 2 => HELD_MAX,
        2 => 1,
        0..STEP => under_way,
        _ if under_way < 2 * LANES => STEP,
        _ => LANES,
    }
}

impl std::ops::Deref for Holding {
    type Target = Arc<Held>;

    fn deref(&self) -> &Arc<Held> {
        &self.0
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // The request is dropped now, not when its thread next goes through its held requests.
        if self.0.is_forked() {
            return;
        }
        let mut state = self.0.lock();
        if matches!(*state, State::Waiting(_)) {
            *state = State::Gone;
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.caller.running.fetch_sub(1, Relaxed);
        if std::thread::panicking() {
            for held in self.batch {
                held.answer(Err(code::SELF_CHECK));
            }
        }
    }
}

impl Held {
    fn new(verb: Verb, state: State) -> Self {
        let epoch = link::fork::epoch();
        Self { state: Mutex::new(state), done: Latch::new(), looks: AtomicU32::new(0), verb, epoch }
    }

    /// The verb.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Whether the request belongs to the parent of this process, which alone can have the answer.
    pub fn is_forked(&self) -> bool {
        self.epoch != link::fork::epoch()
    }

    /// Whether the answer is there.
    pub fn is_over(&self) -> bool {
        self.done.is_open()
    }

    /// Stores the answer, if the request is running.
    fn answer(&self, result: Result<SecretBytes, Codes>) {
        let mut state = self.lock();
        if let State::Running(verb) = *state {
            *state = State::Done(verb, result);
            drop(state);
            self.done.open();
        }
    }

    /// Whether the answer is there. After [`LOOKS_MAX`] looks the looking thread computes it.
    pub fn look(self: &Arc<Self>, caller: &Caller) -> bool {
        if self.is_waiting() && self.looks.fetch_add(1, Relaxed) + 1 >= LOOKS_MAX {
            caller.finish(self);
        }
        self.is_over()
    }

    /// Computes the answer, or waits for the thread that does.
    pub fn wait(self: &Arc<Self>, caller: &Caller) -> bool {
        caller.finish(self);
        // Another thread may be at it, for one pass.
        self.done.wait();
        self.is_over()
    }

    /// Whether no thread has begun with the request.
    pub fn is_waiting(&self) -> bool {
        matches!(*self.lock(), State::Waiting(_))
    }

    /// Moves the answer into `reply`; false where there is none.
    pub fn collect(&self, reply: &mut Reply) -> bool {
        let mut state = self.lock();
        let State::Done(verb, result) = &mut *state else { return false };
        match result {
            Ok(result) => {
                let length = Argument::Integer(result.len() as i64);
                let outputs =
                    [(places::RESULT_LENGTH, length), (places::RESULT, Argument::Bytes(result.as_slice()))];
                reply.fill(*verb, code::OK, &outputs);
            }
            Err(codes) => reply.fill(*verb, *codes, &[]),
        }
        *state = State::Gone;
        true
    }

    fn take(&self) -> Option<Work> {
        let mut state = self.lock();
        if !matches!(*state, State::Waiting(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Running(self.verb)) {
            State::Waiting(work) => Some(work),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        world::lock(&self.state)
    }
}

impl Time {
    fn learn(&self, begin_tsc: u64, end_tsc: u64) {
        let ns = link::tsc_to_ns(end_tsc.saturating_sub(begin_tsc)).max(1);
        let (best_ns, recent_ns) = (self.best_ns.load(Relaxed), self.recent_ns.load(Relaxed));
        // A best time that is never reached again fades.
        let best_ns = if best_ns == 0 { ns } else { ns.min(best_ns + best_ns / 1024 + 1) };
        let recent_ns = if recent_ns == 0 { ns } else { recent_ns - recent_ns / 8 + ns / 8 };
        self.best_ns.store(best_ns, Relaxed);
        self.recent_ns.store(recent_ns.max(best_ns), Relaxed);
        self.measured_tsc.store(end_tsc, Relaxed);
    }
}

fn run(engine: &Engine, works: &[Work]) -> Vec<Result<SecretBytes, Codes>> {
    let mut results: Vec<_> = works.iter().map(|work| Ok(SecretBytes::new(work.block.len()))).collect();
    let (mut private, mut public) = (Vec::new(), Vec::new());
    let (mut private_places, mut public_places) = (Vec::new(), Vec::new());
    for (place, (work, result)) in works.iter().zip(&mut results).enumerate() {
        let Ok(output) = result else { continue };
        match &work.prepared.key {
            Key::Private(key) => {
                private.push(RsaPrivateItem::new(key, &work.block, output.as_mut()));
                private_places.push(place);
            }
            Key::Public(key) => {
                public.push(RsaPublicItem::new(key, &work.block, output.as_mut()));
                public_places.push(place);
            }
        }
    }
    engine.rsa_private_batch(&mut private);
    engine.rsa_public_batch(&mut public);
    let failed = private.iter().map(|item| item.result.is_err()).zip(private_places);
    let failed = failed.chain(public.iter().map(|item| item.result.is_err()).zip(public_places));
    let failed: Vec<usize> = failed.filter_map(|(is_err, place)| is_err.then_some(place)).collect();
    for place in failed {
        // Numbers that a caller gave can be such that the public exponent does not undo a result.
        results[place] = Err(code::PKA_FIELD);
    }
    results
}

fn prepare(engine: &Engine, verb: Verb, token: &[u8]) -> Option<Prepared> {
    let view = PkaToken::parse(token, &(engine::sha1, engine::sha256)).ok()?;
    let (n, e) = (view.modulus(), view.exponent());
    if n.is_empty() || view.modulus_bits() < RSA_BITS_STRONG {
        return None;
    }
    let length = (view.modulus_bits().div_ceil(512)).min(LENGTHS - 1);
    let (key, form) = match (verb, view.private().map(|private| private.values)) {
        (Verb::ClearRsaPublic, _) => (Key::Public(RsaPublicKey::new(n, e).ok()?), 0),
        (_, Some(PrivateValues::ClearCrt(c))) => {
            let parts = RsaCrt { n, e, p: c.p, q: c.q, dp: c.dp, dq: c.dq, qinv: c.u };
            (Key::Private(RsaPrivateKey::from_crt(&parts).ok()?), 1)
        }
        (_, Some(PrivateValues::ClearMe { d })) => (Key::Private(me_key(engine, n, e, d)?), 2),
        _ => return None,
    };
    Some(Prepared { key, modulus: n.to_vec(), kind: form * LENGTHS + length })
}

/// Whether an exponent belongs to its modulus shows at the first use, which is made here, as on a card.
fn me_key(engine: &Engine, n: &[u8], e: &[u8], d: &[u8]) -> Option<RsaPrivateKey> {
    let key = RsaPrivateKey::from_me(n, e, d).ok()?;
    let mut trial = vec![0; n.len()];
    engine.random(&mut trial[1..]);
    let mut result = SecretBytes::new(n.len());
    engine.rsa_private(&key, &trial, result.as_mut()).ok()?;
    Some(key)
}

/// An argument that is as long as its length says.
fn counted<'a>(arguments: &Arguments<'a>, length: usize, place: usize) -> Option<&'a [u8]> {
    let bytes = arguments.bytes(place);
    (usize::try_from(arguments.integer(length)) == Ok(bytes.len())).then_some(bytes)
}

/// Which set a token's key is kept in, by its length and some bytes of its end, where the public part is.
fn set_of(token: &[u8]) -> usize {
    let end = token.rchunks_exact(8).take(8).filter_map(|word| word.try_into().ok());
    let mixed = end.fold(token.len() as u64, |mixed, word| {
        (mixed.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> 32) as usize % SETS
}

/// Compares in a time that depends only on the lengths: clear tokens are secrets.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let ((left, left_tail), (right, right_tail)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let words = left.iter().zip(right).map(|(l, r)| u64::from_ne_bytes(*l) ^ u64::from_ne_bytes(*r));
    let tail = left_tail.iter().zip(right_tail).map(|(l, r)| u64::from(l ^ r));
    words.chain(tail).fold(0, |differing, word| std::hint::black_box(differing | word)) == 0
}

#[cfg(test)]
mod tests;
