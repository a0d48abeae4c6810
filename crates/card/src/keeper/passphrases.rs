//! How often passphrases of the sealed registers may be tried.
//!
//! The first wrong ones cost only their derivation, since officers mistype. After [`FREE`] of them each costs a wait
//! that doubles up to [`WAIT_MAX`]; a stranger at an officer's terminal can lock officers out no longer than that.

use std::time::{Duration, Instant};
use wire::control::OfficerRefusal;

/// Number of wrong passphrases in a row that cost no wait.
pub const FREE: u32 = 3;
/// Longest wait after a wrong passphrase.
pub const WAIT_MAX: Duration = Duration::from_secs(300);

/// The number of wrong passphrases since the last right one, and the wait that follows.
#[derive(Default)]
pub struct Passphrases {
    wrong: u32,
    not_before: Option<Instant>,
}

impl Passphrases {
    /// Refuses to try a passphrase during a wait.
    ///
    /// # Errors
    /// [`OfficerRefusal::Wait`] with the seconds until the wait is over.
    pub fn may_try(&self, now: Instant) -> Result<(), OfficerRefusal> {
        match self.not_before.map(|at| at.saturating_duration_since(now)) {
            Some(wait) if !wait.is_zero() => {
                let seconds = wait.as_secs() as u32 + u32::from(wait.subsec_nanos() > 0);
                Err(OfficerRefusal::Wait { seconds })
            }
            _ => Ok(()),
        }
    }

    /// Notes that a passphrase was tried at `now`.
    pub fn tried(&mut self, is_right: bool, now: Instant) {
        if is_right {
            *self = Self::default();
            return;
        }
        self.wrong = self.wrong.saturating_add(1);
        if let Some(doublings) = self.wrong.checked_sub(FREE) {
            let wait = Duration::from_secs(1 << doublings.min(10)).min(WAIT_MAX);
            self.not_before = now.checked_add(wait);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_passphrase_after_the_first_costs_a_wait_that_doubles() {
        let (mut passphrases, mut now) = (Passphrases::default(), Instant::now());
        for _ in 1..FREE {
            passphrases.tried(false, now);
            assert_eq!(passphrases.may_try(now), Ok(()));
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            passphrases.tried(false, now);
            assert_eq!(passphrases.may_try(now), Err(OfficerRefusal::Wait { seconds }));
            now += Duration::from_secs(u64::from(seconds)) - Duration::from_millis(1);
            assert_eq!(passphrases.may_try(now), Err(OfficerRefusal::Wait { seconds: 1 }));
            now += Duration::from_millis(1);
            assert_eq!(passphrases.may_try(now), Ok(()));
        }
        passphrases.tried(true, now);
        passphrases.tried(false, now);
        assert_eq!(passphrases.may_try(now), Ok(()));
    }
}
