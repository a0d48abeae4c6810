//! Checks for master keys in use without a sealed copy, before a command that ends the keeper or puts records under
//! them.

use crate::failure::Failure;
use wire::control::Status;

/// Refuses a command if master keys in use are in no sealed copy; `risk` is what the command would do. The message
/// counts the records. A development home is exempt: its keys can be made again. The daemon refuses the same.
///
/// # Errors
/// [`Failure::NotSealed`].
pub fn check(status: &Status, risk: &'static str) -> Result<(), Failure> {
    if !status.insecure_dev && !status.registers.iter().all(|row| row.is_sealed) {
        return Err(Failure::NotSealed { risk, records: status.records });
    }
    Ok(())
}
