//! Reporting the home's health: to clients with the status, and to the service manager when it changes.

use super::Daemon;
use crate::health::{CardView, View, findings, line, why_not_started};
use crate::manager::notify;
use crate::supervise::card::Card;
use link::world;
use std::time::{Duration, Instant};
use wire::control::{Finding, Outdated, Personality, RegisterRow, Space};

/// Who is told of the home's health, which bounds what is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Audience {
    /// A peer that may know everything, with numbers of key records if they were counted.
    All(Option<Records>),
    /// A guest of this tenant.
    Tenant(u32),
}

/// Numbers of key records of a home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    /// Number of all key records.
    pub all: u64,
    /// Number of records that no master key opens; `None` while no master key is held.
    pub without_key: Option<u64>,
}

/// The line that the service manager was last shown, and when the home was last looked at for it.
#[derive(Debug, Default)]
pub(super) struct Shown {
    line: String,
    looked: Option<Instant>,
}

impl Daemon {
    /// The findings about the home, as far as this audience may know.
    pub(super) fn findings(&self, audience: Audience) -> Vec<Finding> {
        self.viewed(audience, findings)
    }

    /// Applies `of` to the view of the home that this audience may have.
    fn viewed<T>(&self, audience: Audience, of: impl FnOnce(&View<'_>) -> T) -> T {
        let may_see = |domain| match audience {
            Audience::All(_) => true,
            Audience::Tenant(tenant) => self.check_domain(tenant, domain).is_ok(),
        };
        let may_use = |index| match audience {
            Audience::All(_) => true,
            Audience::Tenant(tenant) => self.may_use(tenant, index),
        };
        let cards = self.cards.values().filter(|card| may_use(card.index));
        let cards = cards.filter_map(|card| CardView::of(card, self.serves(card), may_see)).collect();
        let registers: Vec<RegisterRow> =
            self.keeper.registers.iter().filter(|row| may_see(row.domain)).cloned().collect();
        let (records, outdated, space, audit_trouble) = match audience {
            Audience::All(records) => (records, self.outdated(), self.space(), self.audit_log.trouble()),
            Audience::Tenant(_) => (None, Outdated::default(), None, None),
        };
        let has_sealed = matches!(audience, Audience::All(_)) && self.home.sealed_registers().exists();
        let is_hidden_coprocessor = |card: &Card| {
            let wanted = card.wanted.as_ref();
            wanted.is_some_and(|wanted| wanted.personality == Personality::Coprocessor)
                && !may_use(card.index)
        };
        let hidden_coprocessor = self.cards.values().any(is_hidden_coprocessor);
        of(&View {
            cards,
            keeper_serves: self.keeper.is_serving(),
            registers: &registers,
            records: records.map(|records| records.all),
            records_without_key: records.and_then(|records| records.without_key),
            outdated,
            space,
            has_sealed,
            hidden_coprocessor,
            audit_trouble,
            stopping: self.stopping,
        })
    }

    /// Space on the home's file system; `None` if the system does not tell it.
    pub(super) fn space(&self) -> Option<Space> {
        let found = rustix::fs::statvfs(self.home.folder()).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Space { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }

    /// Reports that the home serves, or ends a start that failed, once nothing more is to be expected.
    pub(super) fn started(&mut self) {
        if self.stopping || self.ready.is_said() {
            return;
        }
        let why = self.viewed(Audience::All(None), why_not_started);
        // Cards adopted from an earlier daemon serve on, whatever became of the rest.
        let Some(why) =
            why.filter(|_| self.ready.is_awaited() && !self.cards.values().any(|card| card.adopted))
        else {
            return self.ready.announce();
        };
        let why = format!("{why}; the reason stands in {}", self.home.logs().display());
        notify(&format!("STATUS=not started: {why}"));
        self.not_started = Some(why);
        self.wind_down();
    }

    /// Shows the service manager how well the home serves, if that has changed. Without a manager, or before it was
    /// told that the home serves, nothing is shown.
    pub(super) fn show_health(&mut self, now: Instant) {
        if !self.ready.is_managed() || !self.ready.is_said() {
            return;
        }
        if self.shown.looked.is_some_and(|looked| now.saturating_duration_since(looked) < SHOW_EVERY) {
            return;
        }
        self.shown.looked = Some(now);
        let found = self.findings(Audience::All(None));
        let line = line(&found);
        if line != self.shown.line {
            tracing::info!("{line}");
            notify(&format!("STATUS={line}"));
            self.shown.line = line;
        }
    }

    /// Notes the present time as that of the last backup.
    pub(super) fn backed_up(&mut self) {
        self.backup_unix_s = Some(world::unix_ms() / 1000);
    }
}

/// Shortest time between two notifications of the service manager.
const SHOW_EVERY: Duration = Duration::from_millis(200);
