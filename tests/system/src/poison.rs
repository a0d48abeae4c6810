//! When the card program of tests dies (`src/bin/poisoned-card.rs`), and installations with it.

use crate::{Installation, copy_program, program, settings};
use home::Settings;
use wire::verb::{Verb, random_number_generate};

/// The verb whose requests end cards.
pub const POISON: Verb = Verb::RandomNumberGenerate;

/// When a card dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// Of each request of [`POISON`].
    Always,
    /// Of one that shares a pass with a request for a MAC: whoever asks for MACs is always there when a card dies.
    InCompany,
}

impl Poison {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::Always, Self::InCompany];

    /// The name of the program file that dies so.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// A request of which cards die.
pub fn poison() -> random_number_generate::Ask<'static> {
    random_number_generate::Ask { form: b"RANDOM  ", ..random_number_generate::Ask::new() }
}

/// An installation with so many coprocessors, all of which die so.
///
/// # Panics
/// If it does not start.
pub fn poisoned(poison: Poison, coprocessors: u32, change: impl FnOnce(&mut Settings)) -> Installation {
    let mut settings = settings(coprocessors, 0);
    change(&mut settings);
    let mut installation = Installation::stopped_with(|beside| {
        let path = beside.join(poison.name());
        copy_program(&program("poisoned-card"), &path);
        settings.programs.card = path;
        settings
    });
    installation.start();
    installation
}
