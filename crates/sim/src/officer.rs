//! An officer's program: loads master keys in parts and sets them, while clients send requests.

use crate::plan::Role;
use crate::stage::{Process, Stage};
use facility::{Facility, FacilityError, Options, officer};
use link::world;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::control::{MasterKeyPattern, OfficerOrder, OfficerReply, Part, Register, purpose_of_part};

/// The register that wraps the keys which clients make.
pub const REGISTER: Register = Register::Sym;
const DOMAIN: u16 = 0;
/// How often a step is tried again that a daemon or keeper left undone when it died.
const TRIES: u32 = 40;
const RETRY: Duration = Duration::from_millis(50);

/// A program of an officer.
pub struct Officer {
    stage: Arc<Stage>,
    folder: PathBuf,
    random: fastrand::Rng,
}

impl Officer {
    /// An officer of the home in this folder who decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: PathBuf, seed: u64) -> Self {
        Self { stage, folder, random: fastrand::Rng::with_seed(seed) }
    }

    /// Sets this many master keys, one after the other.
    pub fn run(mut self, changes: u32) {
        for _ in 0..changes {
            world::sleep(Duration::from_micros(self.random.u64(1..30_000)));
            if self.change().is_none() {
                return;
            }
        }
    }

    /// Loads and sets the one key of a home, unless the home's keeper has it.
    pub fn load(self) {
        let parts = [0x37, 0x80].map(|byte| vec![byte; REGISTER.key_bytes()]);
        let is_set = self.ask(|facility| {
            if has_key(facility)? {
                return Ok(Some(()));
            }
            facility.officer(OfficerOrder::ClearNew { domain: DOMAIN, register: REGISTER })?;
            load(facility, Part::First, &parts[0])?;
            load(facility, Part::Last, &parts[1])?;
            facility.officer(OfficerOrder::Set { domain: DOMAIN })?;
            Ok(has_key(facility)?.then_some(()))
        });
        if is_set.is_some() {
            self.stage.state().say(|| "the master key is loaded".to_owned());
        }
    }

    /// Repeats a request until it gives a value; none after [`TRIES`] tries.
    fn ask<T>(&self, mut ask: impl FnMut(&Facility) -> Result<Option<T>, FacilityError>) -> Option<T> {
        for _ in 0..TRIES {
            let opened = Facility::open(&self.folder, Options::default());
            match opened.and_then(|facility| ask(&facility)) {
                Ok(Some(found)) => return Some(found),
                Ok(None) | Err(_) => world::sleep(RETRY),
            }
        }
        None
    }

    /// Loads a new key and sets it. After a refusal, or without an answer, the registers show what was done.
    fn change(&mut self) -> Option<()> {
        let (first, last) = (self.part(), self.part());
        let pattern = self.ask(|facility| {
            facility.officer(OfficerOrder::ClearNew { domain: DOMAIN, register: REGISTER })?;
            load(facility, Part::First, &first)?;
            Ok(load(facility, Part::Last, &last)?.flatten())
        })?;
        self.stage.state().oracle.master_keys.begin();
        let slow = self.slow_card();
        if let Some(index) = slow {
            self.stage.state().stop(index);
        }
        let set = self.ask(|facility| {
            let OfficerReply::Registers(rows) = facility.officer(OfficerOrder::Registers)? else {
                return Ok(None);
            };
            let is_ours =
                |row: &&wire::control::RegisterRow| (row.domain, row.register) == (DOMAIN, REGISTER);
            let row = rows.iter().find(is_ours);
            if row.is_some_and(|row| row.current_pattern == Some(pattern)) {
                return Ok(Some(()));
            }
            let set = facility.officer(OfficerOrder::Set { domain: DOMAIN })?;
            Ok((set == OfficerReply::Done).then_some(()))
        });
        if let Some(index) = slow {
            world::sleep(Duration::from_micros(self.random.u64(1..10_000)));
            self.stage.state().resume(index);
        }
        set?;
        let mut state = self.stage.state();
        state.oracle.master_keys.done();
        state.say(|| "a master key is set".to_owned());
        Some(())
    }

    /// A random card, to be delayed while the key is set; none in a calm run, and in half of the others.
    fn slow_card(&mut self) -> Option<usize> {
        let state = self.stage.state();
        let living = |process: &Process| process.role == Role::Card && !process.dead;
        let cards: Vec<usize> =
            (0..state.processes.len()).filter(|index| living(&state.processes[*index])).collect();
        if state.plan.calm || self.random.bool() {
            return None;
        }
        self.random.choice(cards)
    }

    fn part(&mut self) -> Vec<u8> {
        (0..REGISTER.key_bytes()).map(|_| self.random.u8(..)).collect()
    }
}

/// Whether the keeper has a current key.
fn has_key(facility: &Facility) -> Result<bool, FacilityError> {
    let reply = facility.officer(OfficerOrder::Registers)?;
    let OfficerReply::Registers(rows) = reply else { return Ok(false) };
    Ok(rows
        .iter()
        .any(|row| (row.domain, row.register) == (DOMAIN, REGISTER) && row.current_pattern.is_some()))
}

/// Loads a part; returns the pattern of the key after the last part.
fn load(
    facility: &Facility,
    part: Part,
    value: &[u8],
) -> Result<Option<Option<MasterKeyPattern>>, FacilityError> {
    let OfficerReply::StartupKey(key) = facility.officer(OfficerOrder::StartupKey)? else { return Ok(None) };
    let Ok(sealed) = officer::seal(&key, &purpose_of_part(DOMAIN, REGISTER, part), value) else {
        return Ok(None);
    };
    let order = OfficerOrder::LoadPart { domain: DOMAIN, register: REGISTER, part, sealed };
    match facility.officer(order)? {
        OfficerReply::PartLoaded { key_pattern, .. } => Ok(Some(key_pattern)),
        _ => Ok(None),
    }
}
