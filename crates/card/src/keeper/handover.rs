//! Master keys handed from a keeper to its successor.
//!
//! Only in a home of one user: there the daemon already decides who is given registers, and whoever has the home's user
//! id decides what the daemon is. So the successor gets no more than a card does. Parts of a key that is being loaded,
//! each one officer's, are not handed over. A keeper of a system service hands nothing over; its officers unseal the
//! next.

use super::Keeper;
use super::registers::Registers;
use link::Channel;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::control::{NewState, RegisterRow, Unsealing};

/// How long the successor waits for the registers: the other keeper sends them as soon as it reads its order.
const WAIT: Duration = Duration::from_secs(5);

/// The message from one keeper to the next, which the daemon never sees.
#[derive(Serialize, Deserialize)]
struct HandedOver {
    registers: Registers,
    knows_sealed: bool,
    sealed_rows: Vec<RegisterRow>,
    /// How these registers were unsealed, for the successor, which did not unseal them itself.
    unsealing: Unsealing,
}

impl Keeper {
    /// Gives the registers to the keeper at the other end, unless a key is being loaded or handed out: then the
    /// successor finds the end of the channel. Returns whether they were given.
    pub(super) fn hand_over(&self, to: &Channel) -> bool {
        let is_loading = |row: &RegisterRow| row.new_state != NewState::Empty;
        if self.officers.is_some() || !self.spread.all_settled() || self.rows().iter().any(is_loading) {
            return false;
        }
        let all = HandedOver {
            registers: self.registers.clone(),
            knows_sealed: self.knows_sealed,
            sealed_rows: self.sealed_rows.clone(),
            unsealing: self.unsealing.clone(),
        };
        to.try_send(&all, &[]).is_ok()
    }

    /// Takes the registers of the keeper at the other end, if this keeper holds none.
    pub(super) fn take_over(&mut self, from: &Channel) {
        if self.officers.is_some() {
            return;
        }
        let Ok((handed, _)) = from.recv_timeout::<HandedOver>(WAIT) else {
            return;
        };
        if self.registers.adopt(handed.registers).is_ok() {
            (self.knows_sealed, self.sealed_rows) = (handed.knows_sealed, handed.sealed_rows);
            self.unsealing = handed.unsealing;
        }
    }
}
