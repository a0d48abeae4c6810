//! Watching cards at work: their pages and their samples, read in shared memory.
//!
//! An [`Observation`] is obtained once and read as often as wanted, without a message to daemon or card, until the
//! card's process ends; then [`Observation::is_of`] is false for the card's next process. What is read is
//! the card's claim about itself, copied before anything is computed from it.
//!
//! Only administrators and observers of a home may observe, because samples show all tenants.

use crate::Facility;
use crate::cards::counters::CardCounters;
use crate::control::connection::{Patience, Repeat};
use crate::control::{refusals, unexpected};
use crate::error::{FacilityError, ProtocolError};
use link::{JoinError, SamplesView, StatusView};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use wire::control::{CardRow, ClientReply, ClientRequest};
use wire::registers::HeldRegisters;
use wire::verb::Entry;

pub use link::{Counts, Histogram, RowSamples, SAMPLE_NS_MAX, SampleSubject};

/// A card under observation: one process of it.
#[derive(Debug)]
pub struct Observation {
    card: u32,
    generation: u64,
    page: StatusView,
    samples: SamplesView,
}

/// A copy of a card's samples. It is not taken at one instant: sums of its parts may differ by the requests in
/// progress.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The card's own counts.
    pub counters: CardCounters,
    /// Master-key registers that it holds a current key of.
    pub registers: HeldRegisters,
    /// How its requests waited and were served, all tenants together. Fill and batches are in the counters.
    pub total: RowSamples,
    /// Per tenant, by account, in ascending order.
    pub accounts: Vec<(u32, RowSamples)>,
    /// Per verb, by its row in the verb table, in ascending order; rows that the table does not have are left out.
    pub verbs: Vec<(usize, RowSamples)>,
    /// How many requests the kernel of each of these verbs takes side by side, by row in the verb table: at least 1.
    pub lanes: BTreeMap<usize, u16>,
}

impl Observation {
    /// Index of the card.
    pub fn card(&self) -> u32 {
        self.card
    }

    /// Generation of the process that is observed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether this is still the card's process.
    pub fn is_of(&self, row: &CardRow) -> bool {
        (row.index, row.generation) == (self.card, self.generation)
    }

    /// Master-key registers that the card says it holds a current key of.
    pub fn registers(&self) -> HeldRegisters {
        self.samples.registers()
    }

    /// Copies counters and samples.
    pub fn snapshot(&self) -> Snapshot {
        let (counters, registers) = (CardCounters::read(&self.page), self.registers());
        let mut snapshot = Snapshot { counters, registers, ..Snapshot::default() };
        for row in self.samples.rows() {
            let Some(samples) = self.samples.read(row) else { continue };
            match row {
                SampleSubject::Account(account) => {
                    snapshot.total.merge(&samples);
                    snapshot.accounts.push((account, samples));
                }
                SampleSubject::Verb(slot) => {
                    if let Some(entry) = Entry::of_slot(slot as usize) {
                        let slot = entry.verb.slot();
                        snapshot.verbs.push((slot, samples));
                        snapshot.lanes.insert(slot, self.samples.lanes(slot));
                    }
                }
            }
        }
        snapshot
    }
}

impl Facility {
    /// Observes the process that a card is now.
    ///
    /// # Errors
    /// [`FacilityError::Denied`] where the caller is neither an administrator nor an observer of the home,
    /// [`FacilityError::Refused`] where the card does not exist or has no process, or another error of the control
    /// connection.
    pub fn observe(&self, card: u32) -> Result<Observation, FacilityError> {
        let operation = "observe a card";
        let request = ClientRequest::Observe { card };
        let connection = &self.state().connection;
        let (answer, descriptors) =
            connection.ask(operation, &request, Repeat::Safe, Patience::None, OBSERVE_WAIT)?;
        let ClientReply::Observed { generation } = refusals(operation, answer)? else {
            return Err(unexpected(operation));
        };
        let came = descriptors.len();
        let [page, samples]: [OwnedFd; 2] = descriptors.try_into().map_err(|_| FacilityError::Protocol {
            operation,
            cause: ProtocolError::Descriptors { came, expected: 2 },
        })?;
        let failed = |cause: JoinError| FacilityError::Io {
            operation: "map a card's pages",
            cause: std::io::Error::other(cause),
        };
        let page = StatusView::join(page.as_fd()).map_err(failed)?;
        let samples = SamplesView::join(samples.as_fd()).map_err(failed)?;
        for found in [page.generation(), samples.generation()] {
            if found != generation {
                return Err(failed(JoinError::Generation { found }));
            }
        }
        Ok(Observation { card, generation, page, samples })
    }

    /// All cards of the home, whoever may use them. Does not wait for a daemon that is gone.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn cards_now(&self) -> Result<Vec<CardRow>, FacilityError> {
        let operation = "ask for the cards";
        let connection = &self.state().connection;
        let asked =
            connection.ask(operation, &ClientRequest::Status, Repeat::Safe, Patience::None, OBSERVE_WAIT)?;
        match refusals(operation, asked.0)? {
            ClientReply::Status(status) => Ok(status.cards),
            _ => Err(unexpected(operation)),
        }
    }

    /// Names of the tenants by their accounts. A tenant that is only a user is named while it has a connection or
    /// a queue.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn account_names(&self) -> Result<Vec<(u32, String)>, FacilityError> {
        let tenants = self.tenants()?.into_iter();
        Ok(tenants.filter_map(|row| Some((row.account?, row.tenant.name))).collect())
    }
}

/// How long an observer waits for an answer of a daemon that is connected.
const OBSERVE_WAIT: Duration = Duration::from_secs(5);
