//! What a process knows of the cards of its home: the daemon's last list of them, and which of their processes are
//! gone. All shares of a process ([`crate::cards::shares`]) read it at each choice; it is written when the daemon
//! answers, or a card is lost.

use super::pool::{Table, after, bit};
use link::world;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use wire::bounds::CARDS_MAX;
use wire::control::CardRow;

/// How long the daemon's list of cards is used unless something forces a new question: the first time after
/// a card was lost, doubled after each answer with nothing new, up to the longest time.
pub(super) const ROWS_FRESH_MIN: Duration = Duration::from_millis(10);
const ROWS_FRESH_MAX: Duration = Duration::from_secs(4);
/// How long the daemon is not asked again after it did not answer, as long as there are queues to use.
const SILENT_PAUSE: Duration = Duration::from_secs(10);
/// How long a card is not asked for again after the daemon gave no further queue to it, as long as there are queues to
/// use.
const FULL_PAUSE: Duration = Duration::from_secs(10);

/// The daemon's last list of its cards, with its age.
#[derive(Default)]
pub(super) struct Rows {
    pub rows: Vec<CardRow>,
    pub asked: bool,
    /// When the daemon said so, by the time-stamp counter.
    pub asked_tsc: u64,
    /// Whether the daemon answered.
    pub answered: bool,
    /// How long the daemon's answer is used without a new question.
    fresh: Duration,
}

/// The cards of a home as one process knows them.
pub(crate) struct Roster {
    /// Held while a queue is made, so that threads that need the same one make it once.
    rows: Mutex<Rows>,
    /// Cards that served when the daemon was last asked, and were not lost since.
    ready: AtomicU64,
    /// When the daemon may be asked again if there is a queue to use, by the time-stamp counter.
    ask_tsc: AtomicU64,
    /// Cards that the daemon refused a further queue to because a bound is reached, one bit each, and until when they
    /// are not asked for again where there is another way.
    refused: AtomicU64,
    refused_tsc: AtomicU64,
    /// Whether the daemon did not answer, so that it is not asked before `ask_tsc`.
    is_silent: AtomicBool,
    /// Whether a card was lost since the daemon was last asked.
    has_lost: AtomicBool,
    /// For each card the latest generation that nothing more is sent to: its process ended, or was replaced, or broke
    /// the rules.
    gone: Box<[AtomicU64]>,
    /// For each card the process of it that broke the rules: it is not attached to again.
    shunned: Mutex<BTreeMap<u32, u64>>,
    /// Queues of this process to each card.
    queues: Box<[AtomicU32]>,
    /// The queues of all shares, so that those of shares without work go too when their card is gone.
    tables: Mutex<Vec<Weak<Table>>>,
}

impl Default for Roster {
    fn default() -> Self {
        Self {
            rows: Mutex::default(),
            ready: AtomicU64::new(0),
            ask_tsc: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            refused_tsc: AtomicU64::new(0),
            is_silent: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
            gone: (0..CARDS_MAX).map(|_| AtomicU64::new(0)).collect(),
            shunned: Mutex::default(),
            queues: (0..CARDS_MAX).map(|_| AtomicU32::new(0)).collect(),
            tables: Mutex::default(),
        }
    }
}

/// A queue in the count of its card's queues, until it is dropped.
pub(super) struct Counted {
    roster: Arc<Roster>,
    card: u32,
}

impl Counted {
    /// Counts one more queue to a card.
    pub fn new(roster: &Arc<Roster>, card: u32) -> Self {
        if let Some(queues) = roster.queues.get(card as usize) {
            queues.fetch_add(1, Ordering::Relaxed);
        }
        Self { roster: Arc::clone(roster), card }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(queues) = self.roster.queues.get(self.card as usize) {
            queues.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Roster {
    /// A table for the queues of one share more.
    pub(super) fn table(&self) -> Arc<Table> {
        let table = Arc::<Table>::default();
        world::lock(&self.tables).push(Arc::downgrade(&table));
        table
    }

    /// Drops the queues of all shares that are lost, or whose card's process is gone.
    #[cold]
    pub(super) fn drop_lost(&self) {
        // The list of tables is not locked while one of them is waited for.
        let tables: Vec<_> = world::lock(&self.tables).iter().filter_map(Weak::upgrade).collect();
        for table in tables {
            let is_any = world::read(&table).iter().any(|it| it.is_of_no_use(self));
            if is_any {
                world::write(&table).retain(|it| !it.is_of_no_use(self));
            }
        }
    }

    /// The daemon's list.
    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
        world::lock(&self.rows)
    }

    /// The daemon's list, unless another thread is asking for it or for a queue.
    pub(super) fn try_rows(&self) -> Option<MutexGuard<'_, Rows>> {
        self.rows.try_lock().ok()
    }

    /// Whether a card served when the daemon last told of it, and was not lost since.
    pub(super) fn is_listed(&self, card: u32) -> bool {
        self.ready.load(Ordering::Relaxed) & bit(card) != 0
    }

    /// Whether any of these cards, one bit each, is listed.
    pub(super) fn lists_any(&self, cards: u64) -> bool {
        self.ready.load(Ordering::Relaxed) & cards != 0
    }

    /// Notes that a card does not serve.
    pub(super) fn unlist(&self, card: u32) {
        self.ready.fetch_and(!bit(card), Ordering::Relaxed);
    }

    /// Whether the time has come to ask the daemon again.
    pub(super) fn is_time_to_ask(&self) -> bool {
        link::tsc() >= self.ask_tsc.load(Ordering::Relaxed)
    }

    /// Whether the daemon did not answer when it was last asked.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    /// Whether the daemon is not to be asked yet, because it did not answer lately.
    pub(super) fn is_left_in_peace(&self) -> bool {
        self.is_silent() && !self.is_time_to_ask()
    }

    /// Notes that the daemon did not answer: it is not asked again for a while where there is another way.
    pub(super) fn fell_silent(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
        self.ask_tsc.store(after(SILENT_PAUSE), Ordering::Relaxed);
    }

    /// Notes that the daemon gives this process no further queue to a card, since a bound is reached.
    pub(super) fn refused(&self, card: u32) {
        let before = self.full();
        self.refused.store(before | bit(card), Ordering::Relaxed);
        // Cards that are refused later are asked for again with the first of them: none is left for longer.
        if before == 0 {
            self.refused_tsc.store(after(FULL_PAUSE), Ordering::Relaxed);
        }
    }

    /// Cards, one bit each, to which the daemon lately gave no further queue.
    pub(super) fn full(&self) -> u64 {
        let is_past = link::tsc() >= self.refused_tsc.load(Ordering::Relaxed);
        if is_past { 0 } else { self.refused.load(Ordering::Relaxed) }
    }

    /// Notes that the daemon answers again: its list of cards is from before its silence, and due.
    pub(super) fn spoke(&self) {
        if self.is_silent.swap(false, Ordering::Relaxed) {
            self.ask_tsc.store(link::tsc(), Ordering::Relaxed);
        }
    }

    /// Whether the daemon's list of cards was obtained after the last loss of a card.
    pub(super) fn is_current(&self) -> bool {
        !self.has_lost.load(Ordering::Relaxed)
    }

    /// Notes that a queue to a card was lost: the daemon is asked for its cards soon.
    pub(super) fn lost(&self, card: u32) {
        self.unlist(card);
        self.has_lost.store(true, Ordering::Relaxed);
        if !self.is_silent() {
            self.ask_tsc.store(after(ROWS_FRESH_MIN), Ordering::Relaxed);
        }
    }

    /// Notes that nothing more is sent to the processes of a card up to this generation.
    pub(super) fn ended(&self, card: u32, generation: u64) {
        if let Some(gone) = self.gone.get(card as usize) {
            gone.fetch_max(generation, Ordering::Relaxed);
        }
    }

    /// Whether a process of a card is gone.
    pub(super) fn is_gone(&self, card: u32, generation: u64) -> bool {
        self.gone.get(card as usize).is_some_and(|gone| generation <= gone.load(Ordering::Relaxed))
    }

    /// Notes that a card's process broke the rules.
    pub(super) fn shun(&self, card: u32, generation: u64) {
        self.shunned().insert(card, generation);
        self.ended(card, generation);
    }

    /// The processes that broke the rules, by their cards.
    pub(super) fn shunned(&self) -> MutexGuard<'_, BTreeMap<u32, u64>> {
        world::lock(&self.shunned)
    }

    /// Queues of this process to a card.
    pub(super) fn queues(&self, card: u32) -> usize {
        self.queues.get(card as usize).map_or(0, |queues| queues.load(Ordering::Relaxed) as usize)
    }

    /// Begins to take in the daemon's answer to the question for its cards; whether a card was lost before.
    pub(super) fn heard(&self, rows: &mut Rows, is_answer: bool) -> bool {
        let has_lost = self.has_lost.swap(false, Ordering::Relaxed);
        rows.asked = true;
        rows.asked_tsc = link::tsc();
        rows.answered = is_answer;
        match is_answer {
            true => self.is_silent.store(false, Ordering::Relaxed),
            false => self.fell_silent(),
        }
        has_lost
    }

    /// Takes in the daemon's list of its cards. Queues to processes that were replaced are lost: callers with requests
    /// in flight there find that out by themselves, but an unused queue would stay.
    pub(super) fn take_in(&self, rows: &mut Rows, cards: Vec<CardRow>, has_lost: bool) {
        let ready = cards.iter().filter(|row| row.state.serves());
        let ready = ready.fold(0, |cards, row| cards | bit(row.index));
        let is_news = self.ready.swap(ready, Ordering::Relaxed) != ready;
        rows.fresh = if is_news || has_lost {
            ROWS_FRESH_MIN
        } else {
            (rows.fresh * 2).clamp(ROWS_FRESH_MIN, ROWS_FRESH_MAX)
        };
        self.ask_tsc.store(after(rows.fresh), Ordering::Relaxed);
        for row in &cards {
            let before = row.generation.saturating_sub(1);
            self.ended(row.index, before);
            // A daemon that counts anew: what was gone says nothing of its cards.
            if let Some(gone) = self.gone.get(row.index as usize)
                && gone.load(Ordering::Relaxed) > row.generation
            {
                gone.store(before, Ordering::Relaxed);
            }
        }
        rows.rows = cards;
    }
}
