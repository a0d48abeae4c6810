//! The states of a card, and who may cause which transition.
//!
//! ```text
//! Created --self-tests passed--> Ready <--resume-- Quiescing
//!                                  |----quiesce-----^   |
//!                                  '---zeroize---v------'
//!                                             Zeroized
//!    any --a check of the card's own failed--> Failed
//! ```
//! The daemon orders quiesce, resume and zeroize; the card makes every other transition. Only the end of the process
//! leads out of Zeroized and Failed. Every card that serves is Ready: it publishes which master keys it
//! holds in its samples and to each queue, and the daemon shows one that holds none as Sealed.

use wire::control::CardState;

/// A transition that does not exist from this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPlace(pub CardState);

impl std::fmt::Display for OutOfPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the card is {:?}, from where this order leads nowhere", self.0)
    }
}

impl std::error::Error for OutOfPlace {}

/// The state of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life(CardState);

impl Life {
    /// A card whose process exists, and that has not tested itself.
    pub const fn new() -> Self {
        Self(CardState::Created)
    }

    /// The present state.
    pub const fn state(self) -> CardState {
        self.0
    }

    /// Whether the card takes requests.
    pub fn serves(self) -> bool {
        self.0 == CardState::Ready
    }

    /// The self-tests passed: the card is Ready.
    ///
    /// # Errors
    /// [`OutOfPlace`] from any state but Created.
    pub fn tested(&mut self) -> Result<(), OutOfPlace> {
        self.step(&[CardState::Created], CardState::Ready)
    }

    /// The card is to take nothing new; no change if it quiesces already.
    ///
    /// # Errors
    /// [`OutOfPlace`] from any state but Ready and Quiescing.
    pub fn quiesce(&mut self) -> Result<(), OutOfPlace> {
        self.step(&[CardState::Ready, CardState::Quiescing], CardState::Quiescing)
    }

    /// The card is to serve again; no change if it serves.
    ///
    /// # Errors
    /// [`OutOfPlace`] from any state but Ready and Quiescing.
    pub fn resume(&mut self) -> Result<(), OutOfPlace> {
        self.step(&[CardState::Ready, CardState::Quiescing], CardState::Ready)
    }

    /// The secrets are wiped: the card is Zeroized.
    ///
    /// # Errors
    /// [`OutOfPlace`] from Created and Failed.
    pub fn zeroize(&mut self) -> Result<(), OutOfPlace> {
        let from = [CardState::Ready, CardState::Quiescing, CardState::Zeroized];
        self.step(&from, CardState::Zeroized)
    }

    /// A self-check failed: the card is Failed, whatever its state was.
    pub fn fail(&mut self) {
        self.0 = CardState::Failed;
    }

    fn step(&mut self, from: &[CardState], to: CardState) -> Result<(), OutOfPlace> {
        if !from.contains(&self.0) {
            return Err(OutOfPlace(self.0));
        }
        self.0 = to;
        Ok(())
    }
}

impl Default for Life {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Move = fn(&mut Life) -> Result<(), OutOfPlace>;

    #[test]
    fn every_move_from_every_state_is_as_drawn() {
        use CardState::{Created, Failed, Quiescing, Ready, Sealed, Zeroized};
        let moves: [(Move, &[(CardState, CardState)]); 4] = [
            (Life::tested, &[(Created, Ready)]),
            (Life::quiesce, &[(Ready, Quiescing), (Quiescing, Quiescing)]),
            (Life::resume, &[(Quiescing, Ready), (Ready, Ready)]),
            (Life::zeroize, &[(Ready, Zeroized), (Quiescing, Zeroized), (Zeroized, Zeroized)]),
        ];
        for (make, drawn) in moves {
            for state in [Created, Sealed, Ready, Quiescing, Zeroized, Failed] {
                let mut life = Life(state);
                let result = make(&mut life);
                match drawn.iter().find(|(from, _)| *from == state) {
                    Some((_, to)) => assert_eq!((result, life.state()), (Ok(()), *to)),
                    None => assert_eq!((result, life.state()), (Err(OutOfPlace(state)), state)),
                }
                life.fail();
                assert_eq!(life.state(), Failed);
                assert!(!life.serves());
            }
        }
    }
}
