//! The numbers by which programs in C name their loops.
//!
//! A handle is a number and not a pointer: one that was closed, or never was, is refused and not followed. No call
//! waits for another thread's call: a handle that another thread uses is busy. So there is no lock that a child of fork
//! could wait for.

use crate::error::{OffloadError, Status};
use crate::offload::Offload;
use capi::Witness;
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

/// Upper bound of the handles that a process has open at once.
pub const HANDLES_MAX: usize = 256;
/// The number that no handle has.
const NOBODY: u64 = 0;

/// One loop, with the witness that its descriptors are still its own.
struct Held {
    witness: Witness,
    offload: Offload,
}

struct Slot {
    /// Number of the handle in this place, or [`NOBODY`].
    number: AtomicU64,
    /// The process that opened the handle.
    process: AtomicU32,
    held: Mutex<Option<Held>>,
}

static SLOTS: [Slot; HANDLES_MAX] =
    [const { Slot { number: AtomicU64::new(NOBODY), process: AtomicU32::new(0), held: Mutex::new(None) } };
        HANDLES_MAX];
/// Number of handles opened so far: no number is used again.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Opens a loop with this function, and makes a handle of it.
pub(crate) fn open(make: impl FnOnce() -> Result<Offload, OffloadError>) -> Result<u64, OffloadError> {
    // The witness comes first, so that its descriptor's number is the lowest: a host that closes all descriptors from
    // some number on closes it too.
    let witness = Witness::new()
        .ok_or_else(|| OffloadError::new(Status::Failed, "open: no descriptor, or no memory, is left"))?;
    let held = Held { witness, offload: make()? };
    for (index, slot) in SLOTS.iter().enumerate() {
        let Ok(mut place) = slot.held.try_lock() else { continue };
        if place.is_none() {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
            let number = serial * HANDLES_MAX as u64 + index as u64;
            slot.process.store(std::process::id(), Ordering::Relaxed);
            slot.number.store(number, Ordering::Release);
            *place = Some(held);
            return Ok(number);
        }
    }
    Err(OffloadError::new(Status::Again, format!("open: {HANDLES_MAX} handles are open, and no more can be")))
}

/// Runs a function on the loop of a handle.
pub(crate) fn with<T>(
    number: u64,
    operation: &str,
    act: impl FnOnce(&mut Offload) -> Result<T, OffloadError>,
) -> Result<T, OffloadError> {
    held(number, operation, |place| {
        let Some(held) = place else { return Err(nobody(operation, number)) };
        if !held.witness.stands() {
            let text = format!(
                "{operation}: the host has closed descriptors of handle {number:#x}, and may have opened others of their numbers; \
                 close the handle and open another"
            );
            return Err(OffloadError::new(Status::Closed, text));
        }
        if held.offload.is_forked() {
            return Err(forked(operation, number));
        }
        act(&mut held.offload)
    })
}

/// Closes a handle.
pub(crate) fn close(number: u64) -> Result<(), OffloadError> {
    let operation = "close";
    held(number, operation, |place| {
        let Some(mut held) = place.take() else { return Err(nobody(operation, number)) };
        slot(number).number.store(NOBODY, Ordering::Release);
        if !held.witness.stands() {
            // The numbers of its descriptors are the host's by now: they must not be closed.
            mem::forget(held);
        } else if held.offload.is_forked() {
            // The requests belong to the parent: they are let go of, not ended.
            while held.offload.collect().is_some() {}
        }
        Ok(())
    })
}

fn slot(number: u64) -> &'static Slot {
    &SLOTS[(number % HANDLES_MAX as u64) as usize]
}

fn held<T>(
    number: u64,
    operation: &str,
    act: impl FnOnce(&mut Option<Held>) -> Result<T, OffloadError>,
) -> Result<T, OffloadError> {
    let slot = slot(number);
    let is_meant = || number != NOBODY && slot.number.load(Ordering::Acquire) == number;
    if !is_meant() {
        return Err(nobody(operation, number));
    }
    let mut place = match slot.held.try_lock() {
        Ok(place) => place,
        Err(TryLockError::WouldBlock) if slot.process.load(Ordering::Relaxed) != std::process::id() => {
            return Err(forked(operation, number));
        }
        Err(TryLockError::WouldBlock) => {
            let text = format!("{operation}: another thread is in a call with handle {number:#x}");
            return Err(OffloadError::new(Status::Busy, text));
        }
        Err(TryLockError::Poisoned(poisoned)) => {
            // A panic has left the loop in an unknown state: it must not be used.
            let mut place = poisoned.into_inner();
            slot.number.store(NOBODY, Ordering::Release);
            mem::forget(place.take());
            slot.held.clear_poison();
            let text = format!("{operation}: handle {number:#x} met a fault of this library, and is closed");
            return Err(OffloadError::new(Status::Fault, text));
        }
    };
    // The handle may have been closed in between, and its place given to another.
    if !is_meant() {
        return Err(nobody(operation, number));
    }
    act(&mut place)
}

fn nobody(operation: &str, number: u64) -> OffloadError {
    OffloadError::new(Status::Handle, format!("{operation}: {number:#x} is no open handle"))
}

fn forked(operation: &str, number: u64) -> OffloadError {
    let text = format!(
        "{operation}: handle {number:#x} belongs to the process that this one is a forked child of; open another here"
    );
    OffloadError::new(Status::Forked, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nobody_are_refused() {
        for number in [0, 1, 255, 256, 257, u64::MAX] {
            let error = with(number, "arm", |_| Ok(())).unwrap_err();
            assert_eq!(error.status, Status::Handle);
            assert!(
                error.text.starts_with("arm: ") && error.text.contains(&format!("{number:#x}")),
                "{error}"
            );
            assert_eq!(close(number).unwrap_err().status, Status::Handle);
        }
    }

    #[test]
    fn what_cannot_be_opened_takes_no_place() {
        for _ in 0..2 * HANDLES_MAX {
            let error = open(|| Err(OffloadError::new(Status::Home, "open /nowhere: it is not there")));
            assert_eq!(error.unwrap_err().status, Status::Home);
        }
        assert!(SLOTS.iter().all(|slot| slot.number.load(Ordering::Relaxed) == NOBODY));
    }
}
