//! The head of shared memory, which is read and checked before anything else there.
//!
//! ```text
//! 0 magic, 8 version of the layout, 16 generation of the card's process, in what a card's process writes
//! ```

use crate::memory::{JoinError, Mapping};

pub(crate) const MAGIC: usize = 0;
pub(crate) const VERSION: usize = 8;
const GENERATION: usize = 16;

/// The words that the head of one kind of memory must hold.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    magic: u64,
    version: u64,
}

impl Head {
    pub(crate) const fn new(magic: [u8; 8], version: u64) -> Self {
        Self { magic: u64::from_le_bytes(magic), version }
    }

    /// Offset and value of each word of the head.
    pub(crate) const fn words(self) -> [(usize, u64); 2] {
        [(MAGIC, self.magic), (VERSION, self.version)]
    }

    /// Begins memory that a card's process of this generation is to write.
    pub(crate) fn begin(self, mapping: &Mapping, generation: u64) {
        self.words().iter().for_each(|(place, word)| mapping.store(*place, *word));
        mapping.store(GENERATION, generation);
    }

    /// Begins a new file, whose words are 0, or checks the head of an existing file.
    ///
    /// # Errors
    /// See [`Head::check`].
    pub(crate) fn begin_or_check(self, mapping: &Mapping) -> Result<(), JoinError> {
        if self.words().iter().all(|(place, _)| mapping.load(*place) == 0) {
            // The magic comes last: if a daemon ends in between, the next one finds a head that it
            // refuses.
            self.words().iter().rev().for_each(|(place, word)| mapping.store(*place, *word));
        }
        self.check(mapping)
    }

    /// # Errors
    /// Another magic or another version.
    pub(crate) fn check(self, mapping: &Mapping) -> Result<(), JoinError> {
        match (mapping.load(MAGIC), mapping.load(VERSION)) {
            (magic, version) if magic == self.magic && version == self.version => Ok(()),
            (magic, found) if magic == self.magic => Err(JoinError::Version { found }),
            (found, _) => Err(JoinError::Magic { found }),
        }
    }

    /// The generation that [`Head::begin`] was given.
    pub(crate) fn generation(mapping: &Mapping) -> u64 {
        mapping.load(GENERATION)
    }
}
