//! RSA keys that are searched for between passes.
//!
//! A search takes from milliseconds to seconds, and all answers of a pass come at its end. So a request for a key is
//! taken, checked, and set aside with its search, which advances by a step whenever its tenant's turn comes, or nobody
//! else has work; each step is charged to that tenant with the processor time that it took. When the key is found the
//! request is admitted again, under its tenant's rights at that time, and runs in a pass of its own with the key.
//! [`engine::RsaSearch`] says what a step is.
//!
//! One request of a tenant is set aside at a time, and [`GENERATIONS_MAX`] of all; others wait in their slots. A client
//! that leaves, a quarantine, and a card that stops or is quiesced end the search, and what it holds is wiped.

use super::{Server, Taken, room};
use crate::admit::{Admitted, Holder};
use crate::attached::{Attached, Tier};
use cca::{Found, Search};
use link::{Counter, ns_to_tsc, tsc, world};
use std::time::Duration;
use wire::control::PollMode;
use wire::frame::Outcome;
use wire::tenant::Confinement;
use wire::verb::Verb;
use zeroize::Zeroizing;

/// Upper bound of the requests that are set aside.
const GENERATIONS_MAX: usize = 16;

/// A tenant that is owed a turn is waited for as long as a step takes, but at least this long, in nanoseconds;
/// [`OWED_NS_MAX`] is the upper bound.
const OWED_NS_MIN: u64 = 50_000;
const OWED_NS_MAX: u64 = 200_000;

/// A request whose key is searched for.
struct Generation {
    queue: u64,
    slot: u32,
    /// Index of the tenant.
    tenant: usize,
    /// The payload as the client sent it.
    payload: Zeroizing<Vec<u8>>,
    queued_tsc: u64,
    search: Search,
    /// The key, once it is found.
    found: Option<Found>,
    /// Time that the search took so far, in nanoseconds.
    spent_ns: u64,
    /// Time that the last step took, in nanoseconds.
    step_ns: u64,
}

/// The requests that are set aside.
#[derive(Default)]
pub(super) struct Generating {
    generations: Vec<Generation>,
    /// The payload of the last request for a key that was taken, as the client sent it.
    asked: Zeroizing<Vec<u8>>,
    /// The tenants with work or a search, lined up for a step.
    lined_up: Vec<usize>,
    /// The tenant whose step was the last turn: if it has other work, too, that comes next.
    stepped: Option<usize>,
    /// How long the search took for the request of the running pass, in nanoseconds; `None` if that has none.
    provided: Option<u64>,
}

impl Generating {
    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.generations.is_empty()
    }

    /// Whether a request of this tenant may be set aside now.
    pub(super) fn takes(&self, tenant: usize) -> bool {
        self.generations.len() < GENERATIONS_MAX && !self.has(tenant)
    }

    /// Whether a key was found whose request is to run.
    pub(super) fn has_found(&self) -> bool {
        self.generations.iter().any(|generation| generation.found.is_some())
    }

    /// Notes the payload of a request for a key that is about to be admitted.
    pub(super) fn asks(&mut self, payload: &[u8]) {
        self.asked = Zeroizing::new(payload.to_vec());
    }

    fn has(&self, tenant: usize) -> bool {
        self.generations.iter().any(|generation| generation.tenant == tenant)
    }
}

impl Server {
    /// Sets the last request that was collected aside if it asks for an RSA key. Its tenant is charged with the time
    /// that this took, rather than with the estimate for such a request.
    pub(super) fn set_aside(&mut self) {
        let payload = std::mem::take(&mut self.generating.asked);
        let kind = self.collecting.kinds.last().copied().filter(|kind| kind.is_generation());
        let (Some(kind), Some(taken)) = (kind, self.collecting.taken.last().copied()) else { return };
        if self.generating.provided.is_some() || self.holding.has_own_lanes() {
            return;
        }
        let worked = world::processor_ns();
        // Requests that are refused, and requests for other keys than RSA, run as any request.
        let Some(search) = self.processor.search(&self.collecting.batch) else { return };
        self.collecting.batch.withdraw();
        self.collecting.taken.pop();
        self.collecting.kinds.pop();
        let queued_tsc = self.accounting.samples.withdraw();
        if !room::has_room_for_search() {
            self.refuse(taken.queue, taken.slot, Outcome::Full);
            return;
        }
        let Attached { tenant, grant, .. } = &self.queues[taken.queue];
        let ns = world::processor_ns().saturating_sub(worked);
        self.turns.charge_instead(*tenant, self.accounting.costs.ns(kind), ns);
        self.generating.generations.push(Generation {
            queue: grant.queue,
            slot: taken.slot,
            tenant: *tenant,
            payload,
            queued_tsc,
            search,
            found: None,
            spent_ns: ns,
            step_ns: 0,
        });
    }

    /// The search that goes on next, if the turn is that of a tenant with a search: it is chosen among tenants with
    /// work, as the last sweep found it, and tenants with a search.
    pub(super) fn next_search(&mut self) -> Option<usize> {
        if self.generating.is_empty() {
            return None;
        }
        let generations = &self.generating.generations;
        let with_work = || self.collecting.active.iter().map(|index| self.queues[*index].tenant);
        let searching = generations.iter().map(|generation| generation.tenant);
        let tenant = self.turns.first(with_work().chain(searching))?;
        let place = generations.iter().position(|generation| generation.tenant == tenant)?;
        // For a tenant that has both, passes and steps take turns.
        let has_passed = self.generating.stepped != Some(tenant) || !with_work().any(|other| other == tenant);
        self.generating.stepped = has_passed.then_some(tenant);
        has_passed.then_some(place)
    }

    /// Waits a moment for tenants that the last pass answered and whose turn is before that of a search, if nobody has
    /// work; returns whether they brought any. Otherwise a client that sends one request after the other would get one
    /// answer for each step.
    pub(super) fn brings_owed(&mut self, place: usize) -> bool {
        let Generation { tenant, step_ns, .. } = self.generating.generations[place];
        if matches!(self.start.poll, PollMode::Every { .. }) {
            return false;
        }
        let (turns, limits) = (&self.turns, &self.limits);
        let searching = [tenant].into_iter();
        if !self.pacing.answered.any_is_owed(turns, searching, |tenant| limits.pushes(tenant)) {
            return false;
        }
        let left = Some(Duration::from_nanos(step_ns.clamp(OWED_NS_MIN, OWED_NS_MAX)));
        let spin = self.client_is_elsewhere();
        let pending = || self.queues.iter().any(Attached::has_newer);
        let _ = self.doorbell.wait(&self.status, self.start.poll, spin, &[], left, pending);
        let brought = self.queues.iter().any(Attached::has_newer);
        if !brought {
            // A tenant that has left is not waited for before each step.
            self.pacing.answered.set(std::iter::empty());
        }
        brought
    }

    /// Goes on with a search by one step.
    pub(super) fn step_search(&mut self, place: usize) {
        // As a batch does, so that a tenant that is idle meanwhile saves up no turns.
        let with_work = self.collecting.active.iter().map(|index| self.queues[*index].tenant);
        let searching = self.generating.generations.iter().map(|generation| generation.tenant);
        self.generating.lined_up.clear();
        self.generating.lined_up.extend(with_work.chain(searching));
        self.turns.begin(&self.generating.lined_up);
        let (begin, worked) = (tsc(), world::processor_ns());
        let generation = &mut self.generating.generations[place];
        self.accounting.samples.enroll(generation.queue);
        generation.found = generation.search.step(self.processor.engine());
        self.accounting.samples.dismiss();
        let ns = world::processor_ns().saturating_sub(worked);
        generation.spent_ns = generation.spent_ns.saturating_add(ns);
        generation.step_ns = ns;
        self.turns.charge(generation.tenant, ns);
        let end = tsc();
        self.status.add(Counter::BusyTsc, end.wrapping_sub(begin));
        self.status.set_heartbeat(end);
    }

    /// Collects a request whose key is found, as a batch of its own; false if there is none. If its tenant has lost the
    /// right to it, it is refused now.
    pub(super) fn collect_found(&mut self) -> bool {
        self.generating.provided = None;
        let is_found = |generation: &Generation| generation.found.is_some();
        let Some(place) = self.generating.generations.iter().position(is_found) else { return false };
        let generation = self.generating.generations.remove(place);
        let index = self.queues.iter().position(|attached| attached.grant.queue == generation.queue);
        let (Some(index), Some(found)) = (index, generation.found) else { return false };
        let Ok(payload) = self.collecting.batch.lend() else { return false };
        payload.extend_from_slice(&generation.payload);
        let attached = &mut self.queues[index];
        if attached.joins(self.collecting.pass) {
            self.accounting.samples.enroll(generation.queue);
        }
        let points = self.roles.points(attached.grant.role);
        let holder = Holder { tenant: attached.grant.tenant, points };
        let number = Verb::PkaKeyGenerate as u16;
        let admitted = match attached.grant.confinement {
            Confinement::Refused => Err(Outcome::Quarantined),
            _ if !self.life.serves() => Err(Outcome::NotReady),
            _ => {
                let checked = self.admission.check(number, payload, holder, &self.tokens);
                checked.map_err(|refused| refused.outcome)
            }
        };
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(outcome) => {
                // Lending the payload's place anew wipes it.
                let _ = self.collecting.batch.lend();
                self.refuse(index, generation.slot, outcome);
                return true;
            }
        };
        let (account, bytes) = (attached.grant.account, admitted.payload_bytes);
        let of = (attached.grant.tenant, attached.grant.domain);
        self.collecting.batch.keep(admitted.verb, of, points, bytes);
        self.processor.provide(found);
        self.accounting.samples.took(account, admitted.slot, generation.queued_tsc, bytes);
        let kind = self.accounting.costs.kind(admitted.slot, bytes);
        let Admitted { slot: verb_slot, key, .. } = admitted;
        let taken = Taken { queue: index, slot: generation.slot, verb_slot, key };
        self.collecting.taken.push(taken);
        self.collecting.kinds.push(kind);
        self.collecting.has_dear = true;
        self.collecting.runs_alone = true;
        self.collecting.last = index;
        self.pacing.tier = Tier::Dear;
        self.turns.charge(generation.tenant, self.accounting.costs.ns(kind));
        self.generating.provided = Some(generation.spent_ns);
        true
    }

    /// How long the search took for the request of the pass that ran, as time-stamp counts and in nanoseconds; 0
    /// without a search.
    pub(super) fn searched(&self) -> (u64, u64) {
        let ns = self.generating.provided.unwrap_or(0);
        (ns_to_tsc(ns), ns)
    }

    /// Ends the search for a queue that has ended.
    pub(super) fn forget_searches(&mut self, queue: u64) {
        let is_its = |generation: &mut Generation| generation.queue == queue;
        for generation in self.generating.generations.extract_if(.., is_its) {
            self.limits.leave(generation.tenant, tsc);
        }
    }

    /// Ends the searches for a queue, and answers their requests with this outcome.
    pub(super) fn end_search(&mut self, queue: u64, outcome: Outcome) {
        let is_its = |generation: &Generation| generation.queue == queue;
        while let Some(place) = self.generating.generations.iter().position(is_its) {
            let generation = self.generating.generations.remove(place);
            let index = self.queues.iter().position(|attached| attached.grant.queue == queue);
            if let Some(index) = index {
                self.refuse(index, generation.slot, outcome);
            }
        }
    }

    /// Ends all searches: another card may serve their clients.
    pub fn end_searches(&mut self) {
        while let Some(generation) = self.generating.generations.first() {
            self.end_search(generation.queue, Outcome::NotReady);
        }
    }
}
