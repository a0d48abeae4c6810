//! Quarantine at work: reads the roster of a dead card, tells cards about confined tenants, shows and lifts
//! quarantines.
//!
//! A death that this daemon could not observe counts against nobody: one while no daemon ran, and one of a card that an
//! earlier daemon started, since the system does not report how that process ended.

use super::Daemon;
use super::queues::Queue;
use crate::access::user_name;
use crate::quarantine::{Known, Moment, Present};
use link::world;
use std::time::Instant;
use wire::bounds::CONFINED_LISTED_MAX;
use wire::control::Refusal;
use wire::grant::Grant;
use wire::tenant::{ConfinedRow, Confinement, NAMED_TENANT};

impl Daemon {
    /// The tenants with requests in the pass that a card runs, or died in. A queue that is not known here was ended,
    /// and counts as others'.
    pub(super) fn present_in(&self, index: u32) -> Present {
        let samples = self.cards.get(&index).and_then(|card| card.samples.as_ref());
        let Some(roster) = samples.map(|(_, view)| view.roster()) else { return Present::default() };
        let mut present = Present { others: roster.has_more, ..Present::default() };
        for number in roster.queues {
            match self.queues.get(&number).filter(|queue| queue.card == index) {
                Some(queue) => present.add(queue.grant.tenant, queue.is_administrators),
                None => present.others = true,
            }
        }
        present
    }

    /// Handles the death of a card that its requests may have caused: their tenants are confined.
    pub(super) fn hold_against(&mut self, index: u32, present: &Present) {
        let now = world::now();
        if present.tenants.is_empty() {
            return;
        }
        let of_card = |queue: &&Queue| queue.card == index && present.tenants.contains(&queue.grant.tenant);
        let mut users: Vec<u32> =
            self.queues.values().filter(of_card).map(|queue| queue.grant.user).collect();
        users.sort_unstable();
        users.dedup();
        let tenants: Vec<String> = present.tenants.iter().map(|tenant| self.tenant_name(*tenant)).collect();
        let alone = present.is_one();
        tracing::warn!(card = index, ?tenants, ?users, alone, "the card died with requests of these tenants");
        let changed = self.quarantine.died(present, now, &self.settings.quarantine);
        self.confine(&changed, now);
        self.write_quarantine(now);
    }

    /// Tells cards how the requests of these tenants are confined.
    fn confine(&mut self, tenants: &[u32], now: Instant) {
        for tenant in tenants {
            let name = self.tenant_name(*tenant);
            match self.quarantine.known(*tenant, now) {
                Some(Known { confinement: Confinement::Refused, until, deaths, quarantines, .. }) => {
                    let span = until.saturating_duration_since(now);
                    tracing::warn!(
                        tenant = name,
                        ?span,
                        deaths,
                        quarantines,
                        "in quarantine: its requests are refused"
                    );
                }
                Some(_) => tracing::warn!(tenant = name, "its requests run in passes of their own"),
                None => tracing::info!(tenant = name, "its requests run as others' again"),
            }
            let of_tenant = |(_, queue): &(&u64, &Queue)| queue.grant.tenant == *tenant;
            let numbers: Vec<u64> = self.queues.iter().filter(of_tenant).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(queue) = self.queues.get(&number) else { continue };
                let confinement = self.confinement(queue.grant.tenant, queue.is_administrators);
                self.regrant(number, Grant { confinement, ..queue.grant.clone() });
            }
        }
    }

    /// The confinement of a queue's requests: none for administrators, or if the settings want no quarantine.
    pub(super) fn confinement(&self, tenant: u32, is_administrators: bool) -> Confinement {
        if is_administrators || self.settings.quarantine.deaths == 0 {
            return Confinement::None;
        }
        self.quarantine.confinement(tenant, world::now())
    }

    /// Refuses a queue to a tenant in quarantine.
    pub(super) fn check_quarantine(&self, tenant: u32, is_administrators: bool) -> Result<(), Refusal> {
        if self.confinement(tenant, is_administrators) != Confinement::Refused {
            return Ok(());
        }
        let now = world::now();
        let known = self.quarantine.known(tenant, now);
        let (deaths, until) = known.map_or((0, now), |known| (known.deaths, known.until));
        let left_s = until.saturating_duration_since(now).as_millis().div_ceil(1_000) as u64;
        Err(Refusal::Quarantined { deaths, left_s })
    }

    /// Ends confinements whose time is over, and tells cards.
    pub(super) fn quarantine_on_time(&mut self, now: Instant) {
        if self.quarantine.due().is_none_or(|due| now < due) {
            return;
        }
        let changed = self.quarantine.on_time(now);
        self.confine(&changed, now);
        self.write_quarantine(now);
    }

    /// Ends the confinement of a tenant, and forgets its deaths. The name is a tenant's, or a user's name or number.
    pub(super) fn lift(&mut self, name: &str) -> Result<(), Refusal> {
        let now = world::now();
        let named = self.tenants.all().iter().find(|named| named.tenant.name == name);
        let is_it = |known: &Known| {
            known.tenant < NAMED_TENANT
                && (user_name(known.tenant) == name || known.tenant.to_string() == name)
        };
        let user = || self.quarantine.all(now).into_iter().find(is_it).map(|known| known.tenant);
        let tenant = named.map(|named| named.id()).or_else(user);
        let Some(tenant) = tenant else {
            return Err(Refusal::NoSuchTenant(format!("{name:?} that cards died with")));
        };
        if !self.quarantine.lift(tenant) {
            return Err(Refusal::Invalid(format!("no card has died with requests of tenant {name} lately")));
        }
        tracing::info!(tenant = name, "its quarantine is lifted by an administrator");
        self.confine(&[tenant], now);
        self.write_quarantine(now);
        Ok(())
    }

    /// Rows of a status about tenants that cards died with: all of them if the client may see all, otherwise its own
    /// tenant.
    pub(super) fn confined_rows(&self, tenant: u32, sees_all: bool) -> Vec<ConfinedRow> {
        let now = Moment { at: world::now(), unix_ms: world::unix_ms() };
        let mut known = self.quarantine.all(now.at);
        known.retain(|known| sees_all || known.tenant == tenant);
        known.truncate(CONFINED_LISTED_MAX);
        let row = |known: Known| ConfinedRow {
            tenant: known.tenant,
            name: self.tenant_name(known.tenant),
            confinement: known.confinement,
            deaths: known.deaths,
            shared_deaths: known.shared,
            quarantines: known.quarantines,
            since_unix_s: now.unix_ms_of(known.since) / 1_000,
            until_unix_s: now.unix_ms_of(known.until).div_ceil(1_000),
        };
        known.into_iter().map(row).collect()
    }

    /// The name of a tenant; for a user who is a tenant alone, the name or number of the user.
    pub(super) fn tenant_name(&self, tenant: u32) -> String {
        match self.tenants.by_id(tenant) {
            Some(named) => named.tenant.name.clone(),
            None if tenant < NAMED_TENANT => user_name(tenant),
            None => format!("of number {}, which is no more", tenant - NAMED_TENANT),
        }
    }

    /// Writes the quarantine down for a later daemon.
    fn write_quarantine(&mut self, now: Instant) {
        let rows = self.quarantine.rows(Moment { at: now, unix_ms: world::unix_ms() });
        let before = std::mem::replace(&mut self.quarantine_written, rows.len() as u32);
        let written = (0..).zip(&rows).try_for_each(|(at, row)| self.quarantine_rows.write(at, row));
        let cleared = (rows.len() as u32..before).try_for_each(|at| self.quarantine_rows.clear(at));
        if let Err(error) = written.and(cleared) {
            tracing::warn!("a later daemon will not know who is in quarantine: {error}");
        }
    }
}
