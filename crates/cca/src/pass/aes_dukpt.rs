//! Keys of transactions by DUKPT with AES: all derivations of a pass step by step beside each other, whatever their
//! counters and the lengths of their keys.

use super::Derive;
use super::derive::Derived;
use engine::{CipherAlgorithm, CipherDirection, Column, ColumnMut, Engine, Mode, SecretBytes};
use payments::dukpt::aes::{Derivation, KeyKind};
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

/// Upper bound of the steps: the initial key, one for each of sixteen bits of a counter, and the key itself.
const STEPS_MAX: usize = 18;
/// The longest key in bytes.
const KEY_BYTES_MAX: usize = 32;
/// Length of a block in bytes.
const BLOCK: usize = 16;

/// One derivation, as far as it has got.
struct Lane {
    /// Index of its answer.
    at: usize,
    /// The key so far, in its first bytes; wiped on drop.
    key: [u8; KEY_BYTES_MAX],
    kind: KeyKind,
    steps: [Option<Derivation>; STEPS_MAX],
    /// How many steps are done.
    done: usize,
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Lane {
    /// The data that is enciphered in the next step; `None` after the last step.
    fn next(&self) -> Option<&Derivation> {
        self.steps.get(self.done)?.as_ref()
    }
}

/// Answers those of the requested derivations that are by DUKPT with AES.
pub(super) fn run(engine: &Engine, asked: &[Derive], answers: &mut [Option<Derived>]) {
    let mut lanes = Vec::new();
    for (at, work) in asked.iter().enumerate() {
        let Derive::AesDukpt { base, transaction } = work else { continue };
        let Some(kind) = KeyKind::aes(base.len()) else {
            answers[at] = Some(Derived::Key(Err(code::KEY_USAGE)));
            continue;
        };
        let mut lane = Lane { at, key: [0; KEY_BYTES_MAX], kind, steps: [None; STEPS_MAX], done: 0 };
        lane.key[..base.len()].copy_from_slice(base);
        for (place, derivation) in lane.steps.iter_mut().zip(transaction.derivations(kind)) {
            *place = Some(derivation);
        }
        lanes.push(lane);
    }
    let done = derive(engine, &mut lanes);
    for lane in lanes {
        let key = &lane.key[..lane.kind.bytes()];
        answers[lane.at] = Some(Derived::Key(done.map(|()| SecretBytes::from_slice(key))));
    }
}

fn derive(engine: &Engine, lanes: &mut [Lane]) -> Result<(), Codes> {
    let most = lanes.iter().map(|lane| lane.steps.iter().flatten().count()).max().unwrap_or(0);
    for number in 0..most {
        for (algorithm, key_bytes) in
            [(CipherAlgorithm::Aes128, 16), (CipherAlgorithm::Aes192, 24), (CipherAlgorithm::Aes256, 32)]
        {
            for blocks in 1..=2 {
                let mut moving: Vec<&mut Lane> = lanes
                    .iter_mut()
                    .filter(|lane| {
                        let is_of_length = |step: &Derivation| step.kind.blocks() == blocks;
                        lane.done == number
                            && lane.kind.bytes() == key_bytes
                            && lane.next().is_some_and(is_of_length)
                    })
                    .collect();
                if !moving.is_empty() {
                    step(engine, algorithm, key_bytes, blocks, &mut moving)?;
                }
            }
        }
    }
    Ok(())
}

/// One step of lanes whose keys have the same length, and whose next keys take the same number of blocks.
fn step(
    engine: &Engine,
    algorithm: CipherAlgorithm,
    key_bytes: usize,
    blocks: usize,
    moving: &mut [&mut Lane],
) -> Result<(), Codes> {
    let mut texts = Zeroizing::new(Vec::with_capacity(moving.len() * blocks * BLOCK));
    for derivation in moving.iter().filter_map(|lane| lane.next()) {
        for block in 1..=blocks {
            texts.extend_from_slice(&derivation.block(block as u8));
        }
    }
    let keys: Vec<&[u8]> = moving.iter().map(|lane| &lane.key[..key_bytes]).collect();
    let keys = Column::scattered(&keys).map_err(|_| code::SELF_CHECK)?;
    let text_bytes = blocks * BLOCK;
    let mut column =
        ColumnMut::contiguous(&mut texts, text_bytes, moving.len()).map_err(|_| code::SELF_CHECK)?;
    let (mode, direction) = (Mode::Ecb, CipherDirection::Encipher);
    engine
        .cipher_columns(algorithm, mode, direction, keys, &mut [], &mut column)
        .map_err(|_| code::SELF_CHECK)?;
    for (lane, text) in moving.iter_mut().zip(texts.chunks_exact(text_bytes)) {
        if let Some(kind) = lane.next().map(|derivation| derivation.kind) {
            lane.key[..kind.bytes()].copy_from_slice(&text[..kind.bytes()]);
            (lane.kind, lane.done) = (kind, lane.done + 1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Level, Options};
    use payments::dukpt::aes::Transaction;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    }

    fn asked(base: &[u8], head: &str, counter: u32) -> Derive {
        let data = hex(&format!("01011000{head}1234567890123456{counter:08X}"));
        let transaction = Transaction::read(&data).unwrap();
        Derive::AesDukpt { base: SecretBytes::from_slice(base), transaction }
    }

    fn keys(engine: &Engine, asked: &[Derive]) -> Vec<Vec<u8>> {
        let mut answers: Vec<_> = asked.iter().map(|_| None).collect();
        run(engine, asked, &mut answers);
        answers.into_iter().map(|answer| answer.unwrap().key().unwrap().to_vec()).collect()
    }

    /// By the rules of X9.24-3, with OpenSSL's AES.
    const LONGER: &str = "08E7849CA40A3F042D28945884667703C18FB183012E38D8";

    /// ANSI X9.24-3, as the tests of openemv/dukpt repeat it.
    #[test]
    fn keys_of_all_counters_and_lengths_are_derived_beside_each_other() {
        let short = hex::<16>("FEDCBA9876543210F1F1F1F1F1F1F1F1");
        let long = [short, short].concat();
        let vectors: [(&[u8], &str, u32, &str); 6] = [
            (&short, "00020080", 1, "AF8CB133A78F8DC2D1359F18527593FB"),
            (&long, "00020080", 1, "09C9C432966811D6B2C3336BAC1B1202"),
            (&short, "00020080", 8, "4D9DF3FBEE3448FC3E676D04320A90F5"),
            (&long, "00040100", 1, "8C1AB7BEE973829E30242E0BBBDD4946D540C98FC1B5BDCF94790001A23FD502"),
            (&short, "00020080", 3, "7D69F01F3B45449F62C7816ECE723268"),
            (&short, "00020080", 2, "D30BDC73EC9714B000BEC66BDB7B6D09"),
        ];
        for limit in [None, Some(Level::Avx2), Some(Level::Portable)] {
            let engine = Engine::new(Options { limit, weak_algorithms: false }).unwrap();
            // Other derivations go beside these: of counters with sixteen bits, and of keys that no published vector
            // covers.
            let middle = [7; 24];
            let mut all: Vec<Derive> =
                vectors.iter().map(|(base, head, counter, _)| asked(base, head, *counter)).collect();
            all.push(asked(&short, "00020080", 0xFFFF_0000));
            for head in ["00000080", "000100C0", "00020080", "000300C0"] {
                all.push(asked(&middle, head, 0x8001));
            }
            // A key that is longer than the one it is derived from.
            all.push(asked(&short, "000100C0", 0x8001));
            let found = keys(&engine, &all);
            for ((.., key), found) in vectors.iter().zip(&found) {
                assert_eq!(found.iter().map(|byte| format!("{byte:02X}")).collect::<String>(), *key);
            }
            for (one, key) in all.iter().zip(&found) {
                assert_eq!(keys(&engine, std::slice::from_ref(one)), std::slice::from_ref(key));
            }
            assert_eq!(found[7..].iter().map(Vec::len).collect::<Vec<_>>(), [16, 24, 16, 24, 24]);
            assert_eq!(found[11], hex::<24>(LONGER));
        }
    }

    #[test]
    fn a_base_key_of_another_length_derives_nothing() {
        let engine = Engine::new(Options::default()).unwrap();
        let mut answers = [None];
        run(&engine, &[asked(&[1; 17], "00020080", 1)], &mut answers);
        assert_eq!(answers[0].take().unwrap().key().err(), Some(code::KEY_USAGE));
    }
}
