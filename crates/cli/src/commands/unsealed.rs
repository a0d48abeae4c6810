//! Master keys in use that no sealed copy holds, before a command that ends the keeper or puts records under them.

use crate::failure::Failure;
use wire::control::Status;

/// Refuses what `risk` says where master keys in use are in no sealed copy. Those of a development home repeat, and those of a
/// system service are its keeper's, which no command of the home ends.
///
/// # Errors
/// [`Failure::NotSealed`].
pub fn check(status: &Status, risk: &'static str) -> Result<(), Failure> {
    let are_ours = status.apart.is_none() && !status.insecure_dev;
    if are_ours && !status.registers.iter().all(|row| row.is_sealed) {
        return Err(Failure::NotSealed { risk, records: status.records });
    }
    Ok(())
}
