//! Wrong PINs: reports of cards are written down, counted and answered, and refusals are shown to all cards.
//!
//! ```text
//! card: Guesses --pending--> the log's thread --durable--> counted --in the table--> card: Counted
//! ```
//! Nothing is counted before it is durable, and a card is told only after the table shows the result: a card that
//! judges the next guess finds the result there. While the log cannot be written, answers to wrong PINs wait, and
//! answers to right ones do not.

use super::Daemon;
use crate::pin_failures::log::{self, Log, RECORD_BYTES, Task};
use crate::pin_failures::{Event, Failures, KeyBounds};
use crate::poller::{Interest, Poller, Source};
use crate::supervise::card::Card;
use home::{Home, Settings};
use link::{FailureTable, world};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::bounds::LIST_ROWS_MAX;
use wire::control::{CardOrder, ClientReply, Personality, Refusal};
use wire::pin::{CountingKey, Digest, FailureCount, FailureRow, Standing, Told};

/// How long the log is left alone after it could not be written.
const AGAIN: Duration = Duration::from_secs(1);
/// The file is written anew if it is at least this long, in bytes, and twice as long as when it was last written anew.
const BYTES_MIN: u64 = 1 << 20;

/// The counts of wrong PINs, the table that shows cards the refusals, and the file that keeps the counts.
pub(super) struct Pins {
    failures: Failures,
    table: FailureTable,
    /// Changes of standing that found no room in the table yet.
    unplaced: BTreeMap<Digest, Standing>,
    is_closed: bool,
    log: Log,
    key: CountingKey,
    /// Length of the file in bytes.
    bytes: u64,
    /// Length of the file when it was last written anew, in bytes.
    shortest: u64,
    pending: Vec<Pending>,
    /// The events that the log's thread writes now, and the length of the file if it is written anew.
    writing: Option<(Vec<Pending>, Option<u64>)>,
    again: Option<Instant>,
}

/// An event that is not durable yet.
struct Pending {
    at: u64,
    event: Event,
    owed: Owed,
}

/// Who is told that an event is durable.
#[derive(Clone, Copy)]
enum Owed {
    /// The card's process of this generation, which reported the failure under this number.
    Card {
        index: u32,
        generation: u64,
        number: u64,
    },
    Client(u64),
}

impl Pins {
    /// Reads what an earlier daemon counted, or begins to count.
    ///
    /// # Errors
    /// The error of a system call that failed, or of a file that is not one of failures.
    pub(super) fn open(home: &Home, settings: &Settings, poller: &Poller) -> io::Result<Self> {
        let path = log::path(home);
        let now = now();
        let mut failures = Failures::new(bounds(settings));
        failures.set_tenants(settings.tenants.len());
        let (key, events, bytes) = match log::open(&path)? {
            Some(said) => {
                if said.damaged != 0 {
                    tracing::error!("{}: {} damaged records are passed over", path.display(), said.damaged);
                }
                // Nothing is appended to an older file: it is written anew.
                let bytes = (!said.is_old).then_some(said.bytes);
                (said.key, said.events, bytes)
            }
            None => (CountingKey(random()?), Vec::new(), None),
        };
        events.iter().for_each(|(at, event)| failures.apply(event, *at, now));
        failures.on_time(now);
        // A long file is written anew later, when it has grown.
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => {
                let content = log::whole(&key, failures.events());
                let written = home::write_durably(&path, &content);
                written.map_err(|error| io::Error::other(error.to_string()))?;
                content.len() as u64
            }
        };
        let mut pins = Self {
            failures,
            table: FailureTable::create()?,
            unplaced: BTreeMap::new(),
            is_closed: false,
            log: Log::start(&path)?,
            key,
            bytes,
            shortest: 0,
            pending: Vec::new(),
            writing: None,
            again: None,
        };
        poller.watch(&pins.log, Source::Failures, Interest::Reading)?;
        pins.publish();
        Ok(pins)
    }

    /// Puts changes of standing into the table that cards read, and logs them.
    fn publish(&mut self) {
        for (digest, standing) in self.failures.changes() {
            match (standing, self.failures.stopped(&digest)) {
                (Standing::Refused, Some(tenant)) => {
                    tracing::warn!(
                        tenant,
                        "its verifications of PINs are refused: its failures fill its part of the table"
                    );
                }
                (Standing::Refused, None) => tracing::warn!(%digest, "verifications of PINs are refused"),
                (Standing::Counted | Standing::Clean, _) => {
                    tracing::debug!(%digest, ?standing, "verifications of PINs");
                }
            }
            self.unplaced.insert(digest, standing);
        }
        let table = &self.table;
        self.unplaced.retain(|digest, standing| !table.set(digest, *standing));
        let is_closed = !self.unplaced.is_empty() || self.failures.is_full();
        if is_closed && !std::mem::replace(&mut self.is_closed, is_closed) {
            tracing::error!(
                "the table of failures of PINs is full: no PIN is verified until some are cleared"
            );
        }
        self.is_closed = is_closed;
        self.table.refuse_everybody(is_closed);
    }

    /// Writes pending events, unless something is being written or was not written a moment ago.
    fn write(&mut self) {
        if self.writing.is_some() || self.pending.is_empty() || self.again.is_some_and(|at| world::now() < at)
        {
            return;
        }
        self.again = None;
        let batch = std::mem::take(&mut self.pending);
        let bytes: Vec<u8> =
            batch.iter().flat_map(|pending| log::record(&self.key, pending.at, &pending.event)).collect();
        self.log.give(Task::Append { at: self.bytes, bytes });
        self.writing = Some((batch, None));
    }

    /// Writes the file anew if it has grown long ([`BYTES_MIN`]) and nothing is being written.
    fn shorten(&mut self) {
        let is_long = self.bytes >= BYTES_MIN.max(2 * self.shortest);
        if self.writing.is_some() || !is_long || self.again.is_some() {
            return;
        }
        let bytes = log::whole(&self.key, self.failures.events());
        self.shortest = bytes.len() as u64;
        self.writing = Some((Vec::new(), Some(self.shortest)));
        self.log.give(Task::Replace { bytes });
    }
}

impl Daemon {
    /// Gives a running coprocessor the key of the digests and the table of standings.
    pub(super) fn tell_counting(&mut self, index: u32) {
        let is_coprocessor = |card: &Card| {
            card.running_as.as_ref().is_some_and(|of| of.personality == Personality::Coprocessor)
        };
        if !self.cards.get(&index).is_some_and(|card| card.process.is_some() && is_coprocessor(card)) {
            return;
        }
        let counted = match &self.pins {
            Some(pins) => pins.table.read_only().map(|table| (pins.key.clone(), table)),
            // Otherwise a card that an earlier daemon started would go on with that daemon's table, and nobody would
            // count its wrong PINs.
            None => for_nobody().map(|table| (CountingKey([0; 32]), table)),
        };
        match counted {
            Ok((key, table)) => self.order_card(index, CardOrder::Counting { key }, vec![table]),
            Err(error) => {
                tracing::error!(
                    card = index,
                    "it verifies no PINs, for want of the table of failures: {error}"
                );
            }
        }
    }

    /// Takes the failed verifications that a card reports, and has the log's thread write them.
    pub(super) fn guesses(&mut self, index: u32, told: Vec<Told>) {
        let Some(generation) = self.cards.get(&index).map(|card| card.generation) else { return };
        let Some(pins) = &mut self.pins else { return };
        let at = now();
        for Told { number, guess, tenant } in told {
            let (event, owed) = (Event::Failed { guess, tenant }, Owed::Card { index, generation, number });
            pins.pending.push(Pending { at, event, owed });
        }
        pins.write();
    }

    /// Counts events that the log's thread has written, and answers the cards and clients that wait. Events that were
    /// not written are tried again.
    pub(super) fn failures_written(&mut self) {
        let Some(pins) = &mut self.pins else { return };
        let Some(outcome) = pins.log.outcome() else { return };
        let Some((batch, replaced)) = pins.writing.take() else { return };
        if let Err(cause) = outcome {
            tracing::error!("failures of PINs are not written, and their answers wait: {cause}");
            pins.again = Some(world::now() + AGAIN);
            let later = std::mem::replace(&mut pins.pending, batch);
            pins.pending.extend(later);
            return;
        }
        pins.bytes = replaced.unwrap_or(pins.bytes + (batch.len() * RECORD_BYTES) as u64);
        let time = now();
        batch.iter().for_each(|pending| pins.failures.apply(&pending.event, pending.at, time));
        pins.publish();
        pins.shorten();
        pins.write();
        let mut cards: Vec<(u32, u64, u64)> = Vec::new();
        for owed in batch.iter().map(|pending| pending.owed) {
            match owed {
                Owed::Client(client) => self.reply(client, &ClientReply::Done, &[]),
                Owed::Card { index, generation, number } => {
                    match cards.iter_mut().find(|(card, of, _)| (*card, *of) == (index, generation)) {
                        Some((_, _, last)) => *last = number.max(*last),
                        None => cards.push((index, generation, number)),
                    }
                }
            }
        }
        for (index, generation, number) in cards {
            if self.cards.get(&index).is_some_and(|card| card.generation == generation) {
                self.order_card(index, CardOrder::Counted { number }, Vec::new());
            }
        }
    }

    /// Forgets failures that are old, shows cards the change, and writes what is pending.
    pub(super) fn failures_on_time(&mut self) {
        let Some(pins) = &mut self.pins else { return };
        pins.failures.on_time(now());
        pins.publish();
        pins.shorten();
        pins.write();
    }

    /// Applies the rules of changed settings to the counts.
    pub(super) fn review_failures(&mut self) {
        let Some(pins) = &mut self.pins else { return };
        pins.failures.set_keys(bounds(&self.settings));
        pins.failures.set_tenants(self.settings.tenants.len());
        pins.publish();
    }

    /// A page of rows of failures after a digest, at most [`LIST_ROWS_MAX`]; with `refused`, refused rows alone.
    pub(super) fn failure_rows(
        &self,
        after: Option<Digest>,
        refused: bool,
    ) -> Result<Vec<FailureRow>, Refusal> {
        let pins = self.pins.as_ref().ok_or_else(not_counted)?;
        Ok(pins.failures.rows(after, refused, LIST_ROWS_MAX))
    }

    /// Forgets the failures under a digest, or all; the client is answered when that is durable.
    pub(super) fn clear_failures(&mut self, client: u64, digest: Option<Digest>) -> Result<(), Refusal> {
        let pins = self.pins.as_mut().ok_or_else(not_counted)?;
        if let Some(digest) = digest.filter(|digest| !pins.failures.has(digest)) {
            return Err(Refusal::Invalid(format!("no failures are counted under {digest}")));
        }
        pins.pending.push(Pending { at: now(), event: Event::Cleared(digest), owed: Owed::Client(client) });
        pins.write();
        Ok(())
    }

    /// Numbers of rows of failures, as a status shows them.
    pub(super) fn failure_count(&self) -> FailureCount {
        let closed = FailureCount { is_closed: true, ..FailureCount::default() };
        self.pins
            .as_ref()
            .map_or(closed, |pins| FailureCount { is_closed: pins.is_closed, ..pins.failures.count() })
    }
}

/// The bounds of keys' failures that the settings give.
fn bounds(settings: &Settings) -> KeyBounds {
    KeyBounds { all: settings.pin.key_failures_per_hour, tenant: settings.pin.tenant_key_failures_per_hour }
}

/// A table by which everybody's verifications are refused.
fn for_nobody() -> io::Result<OwnedFd> {
    let table = FailureTable::create()?;
    table.refuse_everybody(true);
    table.read_only()
}

fn not_counted() -> Refusal {
    Refusal::Invalid(
        "failures of PINs are not counted, and cards verify none; log/daemon.log says why".into(),
    )
}

/// Seconds since 1970.
fn now() -> u64 {
    world::unix_ms() / 1000
}

/// 32 random bytes of the kernel, which nobody can know.
fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
