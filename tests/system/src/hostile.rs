//! The ways in which the card program of tests (`src/bin/hostile-card.rs`) lies, and installations with it.

use crate::{Installation, copy_program, program, settings};
use std::os::unix::fs::symlink;

/// How a card answers what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// With the sequence of a request that was never made.
    Sequence,
    /// With a reply word that its header does not bear out.
    Header,
    /// With a length beyond any payload.
    Length,
    /// With a bulk block that it was not lent.
    Block,
    /// With an outcome that does not exist.
    Outcome,
    /// With the right frame around a payload of noise.
    Payload,
    /// That it cannot serve now, always.
    NotReady,
    /// That the key reference is not valid, always.
    Reference,
    /// Not at all.
    Silence,
    /// By ending itself.
    Crash,
    /// With noise on its status page, and that it cannot serve now.
    Status,
    /// With noise on its control channel.
    Notice,
}

impl Lie {
    /// Every lie.
    pub const ALL: [Self; 12] = [
        Self::Sequence,
        Self::Header,
        Self::Length,
        Self::Block,
        Self::Outcome,
        Self::Payload,
        Self::NotReady,
        Self::Reference,
        Self::Silence,
        Self::Crash,
        Self::Status,
        Self::Notice,
    ];

    /// The name of the program file that lies so.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// An installation with so many coprocessors, the first of which lies.
///
/// # Panics
/// If it does not start.
pub fn lying(lie: Lie, coprocessors: u32) -> Installation {
    let mut settings = settings(coprocessors, 0);
    let mut installation = Installation::stopped_with(|beside| {
        let path = beside.join(lie.name());
        copy_program(&program("hostile-card"), &path);
        symlink(program("cryptand-card"), beside.join("cryptand-card")).expect("a link to the real program");
        settings.programs.card = path;
        settings
    });
    installation.start();
    installation
}
