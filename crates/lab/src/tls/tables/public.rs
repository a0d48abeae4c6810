//! The second system of a start: the clients' tenant, whose requests are public operations on the same cards.

use super::case::Shares;
use crate::load::LabError;
use crate::load::operation::{Operation, RsaForm, RsaKey};
use crate::load::target::Target;
use crate::load::tenants::{owning, sharing};
use crate::load::{Load, LoadOutcome, Workload};
use crate::tls::cards::Cards;
use facility::{Facility, Selection};
use wire::control::Personality;
use wire::tenant::{Limits, Tenant};
use wire::verb::Verb;

/// Requests that the tenant keeps in flight: as many as two cards hold.
const JOBS: usize = 16;
/// Number of requests with different keys.
const KEYS: usize = 8;
/// Cards that the two systems have.
const CARDS: u32 = 2;

/// The server's tenant.
pub(super) fn server(shares: Shares) -> Tenant {
    match shares {
        Shares::Both => sharing("starts-server", Limits::default()),
        Shares::One => owning(sharing("starts-server", Limits::default()), std::iter::once(0), true),
    }
}

/// The clients' tenant at work.
pub(super) struct Clients {
    facility: Facility,
}

impl Clients {
    /// Opens the home as the clients' tenant.
    pub fn open(cards: &mut Cards, shares: Shares) -> Result<Self, LabError> {
        cards.tenant(&sharing("starts-clients", Limits::default()))?;
        // A tenant that is there already may have had other cards.
        cards.change(&server(shares))?;
        let facility = cards.target().open_as("starts-clients", facility::Options::default())?;
        let of = if shares == Shares::Both { 0b11 } else { 0b10 };
        let selection = Selection { personality: Some(Personality::Coprocessor), cards: Some(of) };
        Ok(Self { facility: facility.with_selection(selection) })
    }

    /// Requests that each card has answered so far.
    pub fn look(&self, cards: &Cards) -> Result<Vec<u64>, LabError> {
        let requests = |card| {
            let counters = cards.facility()?.counters(card);
            Ok(counters.map_err(LabError::facility("read the counters of a card"))?.requests)
        };
        (0..CARDS).map(requests).collect()
    }

    /// Keeps public operations in flight for `seconds`.
    pub fn run(&self, target: &mut Target, seconds: f64) -> Result<LoadOutcome, LabError> {
        let key = Some(RsaKey { bits: 1024, form: RsaForm::Me });
        let operation = Operation::Verb { verb: Verb::PkaEncrypt, key };
        let workload = Workload { jobs: JOBS, seconds, ..Workload::of(operation) };
        let mut together =
            target.together(&[Load { facility: &self.facility, workload: &workload, keys: KEYS }])?;
        Ok(together.each.pop().unwrap_or_else(LoadOutcome::new))
    }
}

/// Operations of each card: the clients', and the server's as the rest.
pub(super) fn shares(before: &[u64], after: &[u64], clients: &LoadOutcome) -> Vec<(f64, f64)> {
    let all = before.iter().zip(after).map(|(before, after)| after.saturating_sub(*before) as f64);
    (0..CARDS)
        .zip(all)
        .map(|(card, all)| {
            let public = clients.by_card.get(&card).map_or(0.0, |count| *count as f64);
            (public, (all - public).max(0.0))
        })
        .collect()
}
