//! The home whose cards hold the servers' keys.

use super::desk::{Desk, TlsKey};
use crate::load::LabError;
use crate::load::target::{Needs, Target};
use crate::load::tenants::write_credential;
use crate::queues::timed;
use facility::Facility;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};
use wire::tenant::Tenant;

/// The number and kind of a home's cards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Number of coprocessors.
    pub cards: usize,
    /// Processor that the cards are bound to; none leaves it to the system.
    pub processor: Option<u32>,
    /// Timings for the program of timed cards; none for cards that are not timed.
    pub timings: Option<String>,
}

/// A throw-away home with the keys of a desk under their labels.
pub struct Cards {
    target: Target,
    tenants: Vec<Tenant>,
}

/// Counters of the cards so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Requests that were answered.
    pub requests: u64,
    /// Passes that answered them.
    pub passes: u64,
}

impl Done {
    /// Mean requests of a pass since an earlier reading.
    pub fn fill_since(&self, before: Self) -> f64 {
        let passes = self.passes.saturating_sub(before.passes).max(1);
        self.requests.saturating_sub(before.requests) as f64 / passes as f64
    }
}

impl Cards {
    /// Starts a home, and stores the desk's keys under labels.
    ///
    /// # Errors
    /// As [`Target::throwaway`]; [`LabError::Program`] where a key is refused.
    pub fn start(desk: &Desk, wanted: &Wanted, stop: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let needs = Needs {
            coprocessors: wanted.cards,
            processor: wanted.processor,
            poll: PollMode::Adaptive,
            ..Needs::default()
        };
        let target =
            Target::throwaway_with(&needs, Arc::clone(stop), |folder, settings| match &wanted.timings {
                Some(timings) => timed(&mut settings.programs, folder, timings),
                None => Ok(()),
            })?;
        let cards = Self { target, tenants: Vec::new() };
        for kind in TlsKey::ALL {
            let mut command = Command::new(desk.ours());
            command.arg("--home").arg(cards.folder()?).args(["key", "import", kind.label()]);
            desk.run(command.arg(desk.key(kind)).args(["--use", "tls"]))?;
        }
        Ok(cards)
    }

    /// Makes a tenant, unless one of its name exists; gives the file of its credential.
    ///
    /// # Errors
    /// [`LabError::Facility`], [`LabError::Io`].
    pub fn tenant(&mut self, tenant: &Tenant) -> Result<PathBuf, LabError> {
        let path = self.folder()?.with_file_name(format!("credential-{}", tenant.name));
        if !self.tenants.iter().any(|known| known.name == tenant.name) {
            self.tenants.push(tenant.clone());
            self.target.bring(&self.tenants)?;
            let credential = self.target.options_as(&tenant.name, facility::Options::default()).credential;
            let credential = credential.ok_or(crate::load::Refusal::NoHome)?;
            write_credential(&credential, &path)?;
        }
        Ok(path)
    }

    /// Sets the limits and cards of an existing tenant.
    ///
    /// # Errors
    /// [`LabError::Facility`].
    pub fn change(&mut self, tenant: &Tenant) -> Result<(), LabError> {
        match self.tenants.iter_mut().find(|known| known.name == tenant.name) {
            Some(known) => known.clone_from(tenant),
            None => self.tenants.push(tenant.clone()),
        }
        self.target.bring(&self.tenants)
    }

    /// Folder of the home.
    ///
    /// # Errors
    /// Never: a home that was started has one.
    pub fn folder(&self) -> Result<&Path, LabError> {
        self.target.folder().ok_or_else(|| crate::load::Refusal::NoHome.into())
    }

    /// The home, opened as a program of its owner.
    ///
    /// # Errors
    /// As [`Cards::folder`].
    pub fn facility(&self) -> Result<&Facility, LabError> {
        self.target.facility().ok_or_else(|| crate::load::Refusal::NoHome.into())
    }

    /// The home as a target, for measuring its own cards.
    pub fn target(&mut self) -> &mut Target {
        &mut self.target
    }

    /// Processes of the coprocessors, each with the name under which it is booked.
    ///
    /// # Errors
    /// [`LabError::Facility`].
    pub fn processes(&self) -> Result<Vec<(u32, String)>, LabError> {
        let cards = self.target.status()?.cards;
        let own = cards.into_iter().filter(|card| card.personality == Personality::Coprocessor);
        Ok(own.map(|card| (card.pid, format!("card {}", card.index))).collect())
    }

    /// Counters of all coprocessors so far.
    ///
    /// # Errors
    /// [`LabError::Facility`].
    pub fn done(&self) -> Result<Done, LabError> {
        let mut done = Done::default();
        for card in
            self.target.status()?.cards.iter().filter(|card| card.personality == Personality::Coprocessor)
        {
            let counters = self.facility()?.counters(card.index);
            let counters = counters.map_err(LabError::facility("read the counters of a card"))?;
            done.requests += counters.requests;
            done.passes += counters.batches;
        }
        Ok(done)
    }
}
