//! Keys of transactions by DUKPT: all derivations of a pass step by step beside each other, whatever their counters.
//!
//! Single DES in a step is no cipher of a caller's: it is part of a construction that nobody inverts without the key of
//! the step before (ANSI X9.24-1:2009, annex A).

use super::Derive;
use super::block::Columns;
use super::derive::Derived;
use engine::{CipherAlgorithm, CipherDirection, Engine, SecretBytes};
use payments::dukpt::tdes::{self, HALF_VARIANT, Purpose};
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

/// Upper bound of the steps of a derivation: the bits that a counter may have set.
const STEPS_MAX: usize = 10;

/// One derivation, as far as it has got.
struct Lane {
    /// Index of its answer.
    at: usize,
    /// The key so far; wiped on drop.
    key: [u8; 16],
    registers: [[u8; 8]; STEPS_MAX],
    steps: usize,
    /// What the key is for; `None` for an initial key.
    purpose: Option<Purpose>,
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Answers those of the requested derivations that are by DUKPT with TDES.
pub(super) fn run(engine: &Engine, asked: &[Derive], answers: &mut [Option<Derived>]) {
    let mut lanes = Vec::new();
    let mut bases: Vec<(&[u8], [u8; 8])> = Vec::new();
    for (at, work) in asked.iter().enumerate() {
        let mut lane = Lane { at, key: [0; 16], registers: [[0; 8]; STEPS_MAX], steps: 0, purpose: None };
        match work {
            Derive::Dukpt { base, serial, purpose } => {
                lane.purpose = Some(*purpose);
                for (place, register) in lane.registers.iter_mut().zip(serial.registers()) {
                    *place = register;
                    lane.steps += 1;
                }
                bases.push((base, serial.initial_block()));
            }
            Derive::DukptInitial { base, block } => bases.push((base, *block)),
            _ => continue,
        }
        lanes.push(lane);
    }
    if lanes.is_empty() {
        return;
    }
    let done = derive(engine, &mut lanes, &bases);
    for lane in lanes {
        answers[lane.at] = Some(Derived::Key(done.map(|()| SecretBytes::from_slice(&lane.key))));
    }
}

fn derive(engine: &Engine, lanes: &mut [Lane], bases: &[(&[u8], [u8; 8])]) -> Result<(), Codes> {
    initial(engine, lanes, bases)?;
    let most = lanes.iter().map(|lane| lane.steps).max().unwrap_or(0);
    let mut halves = Columns::new(CipherAlgorithm::Des, 2 * lanes.len());
    for step in 0..most {
        halves.clear();
        for lane in lanes.iter().filter(|lane| step < lane.steps) {
            for half in tdes::step_halves(&lane.key, &lane.registers[step]) {
                halves.push(&half.key, &half.block);
            }
        }
        halves.run(engine, CipherDirection::Encipher)?;
        let moving = lanes.iter_mut().filter(|lane| step < lane.steps);
        for (lane, pair) in moving.zip(halves.blocks().as_chunks::<2>().0) {
            lane.key = tdes::step_result(&lane.key, pair);
        }
    }
    for lane in lanes.iter_mut() {
        if let Some(purpose) = lane.purpose {
            lane.key = tdes::varied(&lane.key, &purpose.variant());
        }
    }
    // The key of a transaction must not follow from its data key.
    let is_one_way = |lane: &Lane| lane.purpose.is_some_and(Purpose::is_one_way);
    let mut halves = Columns::new(CipherAlgorithm::Tdes2, 2 * lanes.len());
    for lane in lanes.iter().filter(|lane| is_one_way(lane)) {
        lane.key.as_chunks().0.iter().for_each(|half| halves.push(&lane.key, half));
    }
    halves.run(engine, CipherDirection::Encipher)?;
    take(lanes.iter_mut().filter(|lane| is_one_way(lane)), &halves);
    Ok(())
}

/// Fills the lanes with the initial keys of their terminals.
fn initial(engine: &Engine, lanes: &mut [Lane], bases: &[(&[u8], [u8; 8])]) -> Result<(), Codes> {
    let mut halves = Columns::new(CipherAlgorithm::Tdes2, 2 * bases.len());
    for (base, block) in bases {
        let base: &[u8; 16] = base.first_chunk().ok_or(code::KEY_USAGE)?;
        let variant = Zeroizing::new(tdes::varied(base, &HALF_VARIANT));
        halves.push(base, block);
        halves.push(&variant[..], block);
    }
    halves.run(engine, CipherDirection::Encipher)?;
    take(lanes.iter_mut(), &halves);
    Ok(())
}

/// Takes the next two blocks as the key of each lane.
fn take<'l>(lanes: impl Iterator<Item = &'l mut Lane>, halves: &Columns) {
    for (lane, pair) in lanes.zip(halves.blocks().as_chunks::<2>().0) {
        lane.key.copy_from_slice(pair.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;
    use payments::dukpt::tdes::Serial;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    }

    const BASE: &str = "0123456789ABCDEFFEDCBA9876543210";

    fn keys(asked: &[(&str, Purpose)]) -> Vec<Vec<u8>> {
        let engine = Engine::new(Options::default()).unwrap();
        let asked: Vec<Derive> = asked
            .iter()
            .map(|(serial, purpose)| Derive::Dukpt {
                base: SecretBytes::from_slice(&hex::<16>(BASE)),
                serial: Serial::new(hex(serial)).unwrap(),
                purpose: *purpose,
            })
            .collect();
        let mut answers: Vec<_> = asked.iter().map(|_| None).collect();
        run(&engine, &asked, &mut answers);
        answers.into_iter().map(|answer| answer.unwrap().key().unwrap().to_vec()).collect()
    }

    /// ANSI X9.24-1:2009, annex A.4.
    #[test]
    fn an_initial_key_is_derived_among_others() {
        let engine = Engine::new(Options::default()).unwrap();
        let base = || SecretBytes::from_slice(&hex::<16>(BASE));
        let serial = hex("FFFF9876543210E00001");
        let working = || Derive::Dukpt {
            base: base(),
            serial: Serial::new(serial).unwrap(),
            purpose: Purpose::DataRequest,
        };
        let initial = Derive::DukptInitial { base: base(), block: tdes::initial_block(&serial) };
        let asked = [working(), initial, working()];
        let mut answers = [None, None, None];
        run(&engine, &asked, &mut answers);
        let keys = answers.map(|answer| answer.unwrap().key().unwrap().to_vec());
        assert_eq!(keys[1], hex::<16>("6AC292FAA1315B4D858AB3A3D7D5933A"));
        assert_eq!([&keys[0], &keys[2]], [&hex::<16>("448D3F076D8304036A55A3D7E0055A78"); 2]);
    }

    /// ANSI X9.24-1:2009, annex A.4.
    #[test]
    fn keys_of_all_counters_are_derived_beside_each_other() {
        let vectors = [
            ("FFFF9876543210E00001", Purpose::Pin, "042666B49184CF5C68DE9628D0397B36"),
            ("FFFF9876543210EFF800", Purpose::Pin, "F9CDFEBF4F5B1D61B3EC12454527E189"),
            ("FFFF9876543210E00001", Purpose::MacRequest, "042666B4918430A368DE9628D03984C9"),
            ("FFFF9876543210E00003", Purpose::Pin, "0DF3D9422ACA561A47676D07AD6BAD05"),
            ("FFFF9876543210E00001", Purpose::DataRequest, "448D3F076D8304036A55A3D7E0055A78"),
            ("FFFF9876543210E00002", Purpose::Pin, "C46551CEF9FD244FAA9AD834130D3B38"),
        ];
        let asked: Vec<_> = vectors.iter().map(|(serial, purpose, _)| (*serial, *purpose)).collect();
        let expected: Vec<_> = vectors.iter().map(|(.., key)| hex::<16>(key).to_vec()).collect();
        assert_eq!(keys(&asked), expected);
        for (one, key) in asked.iter().zip(&expected) {
            assert_eq!(keys(std::slice::from_ref(one)), std::slice::from_ref(key));
        }
    }
}
