//! Master keys in use that no sealed copy holds, before a command that ends the keeper or puts records under them.

use crate::failure::Failure;
use wire::control::Status;

/// Refuses what `risk` says where master keys in use are in no sealed copy, and says how many records it is about.
/// Those of a development home repeat. The daemon refuses the same, whoever asks it.
///
/// # Errors
/// [`Failure::NotSealed`].
pub fn check(status: &Status, risk: &'static str) -> Result<(), Failure> {
    if !status.insecure_dev && !status.registers.iter().all(|row| row.is_sealed) {
        return Err(Failure::NotSealed { risk, records: status.records });
    }
    Ok(())
}
