//! AES key wrap without padding: the wrapping function W of SP 800-38F over many keys, each under its own wrapping key.

use super::super::cipher::CipherKey;
use crate::algorithm::CipherDirection;
use crate::error::CipherError;
use crate::low::aes::RoundKeys;
use crate::low::aes::wrap::{Kernel, Lanes, PASSES, SEMIBLOCK};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::low::wipe_block;
use std::fmt;

/// One request of a batch. The text is changed in place. Its first semiblock is W's initial value, which the caller
/// sets before wrapping, and checks in constant time after unwrapping.
pub struct KeyWrapItem<'a> {
    /// The wrapping key, an AES key.
    pub key: &'a CipherKey,
    /// Initial value and key, at least three whole semiblocks of 8 bytes.
    pub data: &'a mut [u8],
    /// The result of the request; after an error, the text is unchanged.
    pub result: Result<(), CipherError>,
}

impl<'a> KeyWrapItem<'a> {
    /// A request not yet run, to wrap or unwrap `data` under `key`.
    pub fn new(key: &'a CipherKey, data: &'a mut [u8]) -> KeyWrapItem<'a> {
        KeyWrapItem { key, data, result: Ok(()) }
    }
}

/// Hides the text, which may be a clear key.
impl fmt::Debug for KeyWrapItem<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut item = out.debug_struct("KeyWrapItem");
        item.field("key", self.key).field("bytes", &self.data.len()).field("result", &self.result);
        item.finish_non_exhaustive()
    }
}

/// The least number of semiblocks in a text (SP 800-38F, 5.3.1).
const SEMIBLOCKS_MIN: usize = 3;

/// The longest text in bytes that goes into lanes. Lanes take 32 bytes of memory for each byte of text, here 16 KiB.
/// AES keys, and HMAC keys of up to 2048 bits, are shorter.
const LANES_BYTES_MAX: usize = 512;

/// Wraps or unwraps every text; each gets its own result.
pub(crate) fn batch(cpu: Cpu, direction: CipherDirection, items: &mut [KeyWrapItem<'_>]) {
    let encipher = direction == CipherDirection::Encipher;
    let kernel = Kernel::choose(cpu);
    let mut in_lanes = Vec::new();
    for item in items {
        let bytes = item.data.len();
        if !bytes.is_multiple_of(SEMIBLOCK) || bytes / SEMIBLOCK < SEMIBLOCKS_MIN {
            item.result = Err(CipherError::KeyWrapLength { bytes });
            continue;
        }
        let Some(schedule) = item.key.aes_schedule(encipher) else {
            item.result = Err(CipherError::KeyWrapKey { algorithm: item.key.algorithm() });
            continue;
        };
        item.result = Ok(());
        let fits = kernel.is_some() && bytes <= LANES_BYTES_MAX;
        match schedule.round_keys().filter(|_| fits) {
            Some(keys) => in_lanes.push((keys, &mut *item.data)),
            None => alone(schedule, encipher, item.data),
        }
    }
    if let Some(kernel) = kernel {
        side_by_side(kernel, encipher, &mut in_lanes);
    }
}

/// Runs texts of one length and one number of rounds side by side.
fn side_by_side(kernel: Kernel, encipher: bool, texts: &mut [(RoundKeys<'_>, &mut [u8])]) {
    let kind = |(keys, data): &(RoundKeys<'_>, &mut [u8])| (data.len(), keys.rounds().count());
    texts.sort_by_key(kind);
    for alike in texts.chunk_by_mut(|a, b| kind(a) == kind(b)) {
        let (keys, data) = &alike[0];
        let mut lanes = Lanes::new(keys.rounds(), data.len() / SEMIBLOCK);
        for group in alike.chunks_mut(kernel.lanes()) {
            for (lane, (keys, data)) in group.iter().enumerate() {
                lanes.load(lane, *keys, data);
            }
            lanes.run(kernel, encipher, group.len());
            for (lane, (_, data)) in group.iter_mut().enumerate() {
                lanes.store(lane, data);
            }
        }
    }
}

/// Wraps or unwraps one text with the library, one block at a time: SP 800-38F, algorithms 1 and 2.
fn alone(schedule: &AesSchedule, encipher: bool, data: &mut [u8]) {
    let (semiblocks, _) = data.as_chunks_mut::<SEMIBLOCK>();
    let [first, rest @ ..] = semiblocks else { return };
    let steps = PASSES * rest.len();
    let mut block = [0; 16];
    block[..SEMIBLOCK].copy_from_slice(first);
    for step in 0..steps {
        let number = if encipher { step + 1 } else { steps - step };
        let semiblock = &mut rest[(number - 1) % (steps / PASSES)];
        if !encipher {
            count_into(&mut block, number);
        }
        block[SEMIBLOCK..].copy_from_slice(semiblock);
        schedule.ecb(encipher, &mut block);
        semiblock.copy_from_slice(&block[SEMIBLOCK..]);
        if encipher {
            count_into(&mut block, number);
        }
    }
    first.copy_from_slice(&block[..SEMIBLOCK]);
    wipe_block(&mut block);
}

/// XORs a step's number into the first semiblock.
fn count_into(block: &mut [u8; 16], number: usize) {
    for (byte, count) in block.iter_mut().zip((number as u64).to_be_bytes()) {
        *byte ^= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::CipherAlgorithm;
    use openssl::aes::{AesKey, unwrap_key, wrap_key};
    use seeded::Random;

    const ALGORITHMS: [CipherAlgorithm; 3] =
        [CipherAlgorithm::Aes128, CipherAlgorithm::Aes192, CipherAlgorithm::Aes256];

    fn levels() -> [Cpu; 3] {
        [Cpu::PORTABLE, Cpu::up_to_avx2(), Cpu::up_to_avx512()]
    }

    /// Wraps with OpenSSL, with the first semiblock as the initial value.
    fn openssl(wrapping: &[u8], text: &[u8]) -> Vec<u8> {
        let initial = *text.first_chunk().unwrap();
        let mut wrapped = vec![0; text.len()];
        wrap_key(&AesKey::new_encrypt(wrapping).unwrap(), Some(initial), &mut wrapped, &text[8..]).unwrap();
        wrapped
    }

    /// With `CRYPTAND_TEST_ALL=1` a million random keys a level, otherwise a hundredth.
    #[test]
    fn batches_of_any_composition_are_what_openssl_wraps_and_come_back() {
        let is_all = std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|value| value == "1");
        for cpu in levels() {
            let mut random = Random(2026);
            let mut left = if is_all { 1_000_000 } else { 10_000_usize };
            for count in (0..=35).chain([63, 64, 65]).cycle() {
                if left == 0 {
                    break;
                }
                left = left.saturating_sub(count);
                let keys: Vec<_> = (0..count)
                    .map(|_| {
                        let algorithm = ALGORITHMS[random.below(3)];
                        let key = random.bytes(algorithm.key_bytes());
                        (CipherKey::new(algorithm, &key).unwrap(), key)
                    })
                    .collect();
                let texts: Vec<_> = (0..count)
                    .map(|_| {
                        let semiblocks = match random.below(8) {
                            0 => 3 + random.below(60),
                            1 => 63 + random.below(4),
                            _ => 10,
                        };
                        random.bytes(8 * semiblocks)
                    })
                    .collect();
                let mut wrapped = texts.clone();
                let run = |direction, wrapped: &mut Vec<Vec<u8>>| {
                    let mut items: Vec<_> = keys
                        .iter()
                        .zip(wrapped)
                        .map(|((key, _), text)| KeyWrapItem::new(key, text))
                        .collect();
                    batch(cpu, direction, &mut items);
                    assert!(items.iter().all(|item| item.result == Ok(())));
                };
                run(CipherDirection::Encipher, &mut wrapped);
                for (((_, key), text), wrapped) in keys.iter().zip(&texts).zip(&wrapped) {
                    assert_eq!(*wrapped, openssl(key, text), "{count} keys");
                    let mut back = vec![0; text.len() - 8];
                    let initial = Some(*text.first_chunk().unwrap());
                    unwrap_key(&AesKey::new_decrypt(key).unwrap(), initial, &mut back, wrapped).unwrap();
                    assert_eq!(back, text[8..]);
                }
                run(CipherDirection::Decipher, &mut wrapped);
                assert_eq!(wrapped, texts, "{count} keys");
            }
        }
    }

    /// RFC 3394, 4.6.
    #[test]
    fn gives_the_value_of_the_standard() {
        for cpu in levels() {
            let key: Vec<u8> = (0..32).collect();
            let key = CipherKey::new(CipherAlgorithm::Aes256, &key).unwrap();
            let value: Vec<u8> = (0..16u8).map(|at| at * 0x11).chain(0..16).collect();
            let mut text = [&[0xa6; 8][..], &value].concat();
            let mut items = [KeyWrapItem::new(&key, &mut text)];
            batch(cpu, CipherDirection::Encipher, &mut items);
            assert_eq!(items[0].result, Ok(()));
            let expected = [
                0x28c9_f404_c4b8_10f4_u64,
                0xcbcc_b35c_fb87_f826,
                0x3f57_86e2_d80e_d326,
                0xcbc7_f0e7_1a99_f43b,
                0xfb98_8b9b_7a02_dd21,
            ];
            assert_eq!(text, expected.map(u64::to_be_bytes).concat());
        }
    }

    #[test]
    fn what_cannot_be_wrapped_stays_as_it_is_and_holds_up_no_other() {
        for cpu in levels() {
            let key = CipherKey::new(CipherAlgorithm::Aes128, &[1; 16]).unwrap();
            let des = CipherKey::new(CipherAlgorithm::Tdes2, &[1; 16]).unwrap();
            for bytes in (0..24).chain([25, 31, 33, 79]) {
                let (mut wrong, mut of_des, mut good) = (vec![7; bytes], [7; 24], [7; 24]);
                let mut items = [
                    KeyWrapItem::new(&key, &mut wrong),
                    KeyWrapItem::new(&des, &mut of_des),
                    KeyWrapItem::new(&key, &mut good),
                ];
                batch(cpu, CipherDirection::Encipher, &mut items);
                assert_eq!(items[0].result, Err(CipherError::KeyWrapLength { bytes }));
                let algorithm = CipherAlgorithm::Tdes2;
                assert_eq!(items[1].result, Err(CipherError::KeyWrapKey { algorithm }));
                assert_eq!(items[2].result, Ok(()));
                assert!(wrong.iter().chain(&of_des).all(|byte| *byte == 7));
                assert_eq!(good[..], openssl(&[1; 16], &[7; 24]));
            }
        }
    }
}
