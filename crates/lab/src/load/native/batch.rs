//! Jobs as one batch of the engine.

use super::super::pacing::Caller;
use super::super::{LabError, Workload};

/// Items, one for each job; with the calls that run some of them, set up an item, and check its result.
pub(super) struct Batch<I, C, B, R> {
    pub items: Vec<I>,
    pub call: C,
    pub begin: B,
    pub check: R,
}

impl<I, C, B, R> Caller for Batch<I, C, B, R>
where
    C: FnMut(&mut [I]) -> Result<(), LabError>,
    B: Fn(usize, &mut I),
    R: Fn(usize, &I) -> Result<(), LabError>,
{
    fn jobs(&self) -> usize {
        self.items.len()
    }

    #[inline]
    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        (self.call)(&mut self.items[..jobs])
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        self.items.iter_mut().enumerate().for_each(|(job, item)| (self.begin)(job, item));
        (self.call)(&mut self.items)?;
        self.items.iter().enumerate().try_for_each(|(job, item)| (self.check)(job, item))?;
        Ok(self.items.len() as u64)
    }
}

/// Checks the engine's result of all items.
pub(super) fn went<E: std::fmt::Display>(
    workload: &Workload,
    mut results: impl Iterator<Item = Result<(), E>>,
) -> Result<(), LabError> {
    let said = |error: E| LabError::Engine { operation: workload.operation, cause: error.to_string() };
    results.try_for_each(|result| result).map_err(said)
}
