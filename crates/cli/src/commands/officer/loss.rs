//! The records that a change of master keys would lose: those under the keys that it drops.
//!
//! Putting new keys into use makes the current ones the old ones, and the previous old ones disappear from the
//! registers. No card can then open tokens under those.

use super::{Keeper, Orders};
use crate::args::Loss;
use crate::failure::Failure;
use facility::{Facility, Options};
use wire::control::{MasterKeyName, NewState, OfficerOrder, OfficerReply, RegisterRow, Status};

/// Refuses a change that would lose a number of records other than the allowed one.
pub fn check(keeper: &Keeper, domain: u16, allowed: Option<Loss>) -> Result<(), Failure> {
    if allowed == Some(Loss::All) {
        return Ok(());
    }
    let OfficerReply::Registers(rows) = keeper.order(OfficerOrder::Registers)? else {
        return Err(Failure::Unexpected("the keeper"));
    };
    let dropped = dropped(&rows, domain);
    if dropped.is_empty() {
        return Ok(());
    }
    let status = match keeper {
        Keeper::OfHome(facility) => facility.status()?,
        Keeper::OfService { home: None, .. } => {
            return Err(uncounted("the file of the service does not name its home (home = ...)".to_owned()));
        }
        Keeper::OfService { home: Some(home), .. } => {
            Facility::open(home, Options { observe: true, ..Options::default() })
                .and_then(|facility| facility.status())
                .map_err(|cause| {
                    uncounted(format!("{cause}; `observers` in [access] of its settings lets officers look"))
                })?
        }
    };
    let lost = lost(&status, &dropped);
    let allowed = match allowed {
        Some(Loss::Records(number)) => number,
        _ => 0,
    };
    if lost == allowed { Ok(()) } else { Err(Failure::Lost { records: lost, allowed }) }
}

/// The keys that registers would drop.
fn dropped(rows: &[RegisterRow], domain: u16) -> Vec<MasterKeyName> {
    // A key that another register holds as well is not gone.
    let stays = |name: &MasterKeyName| {
        rows.iter().any(|row| {
            let drops = row.domain == domain && row.new_state == NewState::Full;
            row.register == name.register
                && (row.current_pattern.map(|key| key.name()) == Some(name.pattern)
                    || (!drops && row.old_pattern.map(|key| key.name()) == Some(name.pattern)))
        })
    };
    let mut names: Vec<MasterKeyName> = rows
        .iter()
        .filter(|row| row.domain == domain && row.new_state == NewState::Full)
        .filter_map(|row| Some(MasterKeyName { register: row.register, pattern: row.old_pattern?.name() }))
        .filter(|name| !stays(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn lost(status: &Status, dropped: &[MasterKeyName]) -> u64 {
    dropped.iter().map(|name| status.records_under.of(*name)).sum()
}

fn uncounted(cause: String) -> Failure {
    Failure::Usage(format!(
        "the records that would be left under no master key cannot be counted: {cause}. --lose all sets without counting"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{MasterKeyPattern, Register};

    fn row(domain: u16, new_state: NewState, current: u8, old: Option<u8>) -> RegisterRow {
        RegisterRow {
            domain,
            register: Register::Aes,
            new_state,
            new_pattern: None,
            current_pattern: Some(MasterKeyPattern::new(Register::Aes, [current; 16])),
            old_pattern: old.map(|old| MasterKeyPattern::new(Register::Aes, [old; 16])),
            is_sealed: true,
        }
    }

    #[test]
    fn the_old_keys_of_the_registers_that_are_set_are_dropped() {
        let name = |pattern| MasterKeyName { register: Register::Aes, pattern: [pattern; 8] };
        assert_eq!(dropped(&[row(0, NewState::Full, 2, Some(1))], 0), [name(1)]);
        assert_eq!(dropped(&[row(0, NewState::Full, 2, None)], 0), []);
        assert_eq!(dropped(&[row(0, NewState::Partial, 2, Some(1))], 0), []);
        assert_eq!(dropped(&[row(0, NewState::Full, 2, Some(1))], 1), []);
        // Another domain still holds this key.
        let rows = [row(0, NewState::Full, 2, Some(1)), row(1, NewState::Full, 3, Some(1))];
        assert_eq!(dropped(&rows, 0), []);
        let rows = [row(0, NewState::Full, 2, Some(1)), row(1, NewState::Empty, 1, None)];
        assert_eq!(dropped(&rows, 0), []);
    }
}
