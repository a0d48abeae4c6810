//! AES over columns: keys are expanded in one place, for as many texts at a time as there are lanes.

use super::streams::{self, Stream};
use crate::low::aes::streams::LANES_MAX;
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::mid::columns::{Column, ColumnMut};

/// CBC enciphering in place of texts of one length, whole blocks, under keys of 16, 24 or 32 bytes, one per text.
pub(crate) fn cbc_encipher(cpu: Cpu, keys: Column<'_>, chains: &mut [[u8; 16]], texts: &mut ColumnMut<'_>) {
    let kernel = streams::choose(cpu, keys.lanes(), keys.lanes().saturating_mul(texts.bytes()));
    let mut schedules: [AesSchedule; LANES_MAX] = std::array::from_fn(|_| AesSchedule::empty());
    let (mut pieces, mut lane) = (texts.pieces(), 0);
    for chains in chains.chunks_mut(LANES_MAX) {
        let schedules = &mut schedules[..chains.len()];
        for schedule in &mut *schedules {
            // No key fails, since its length was checked before.
            let is_made = schedule.set_encipher(keys.lane(lane));
            debug_assert!(is_made);
            lane += 1;
        }
        let rounds = schedules.first().and_then(|schedule| Some(schedule.round_keys()?.rounds()));
        let all = schedules.iter().zip(chains).zip(&mut pieces);
        match (kernel, rounds) {
            (Some(kernel), Some(rounds)) => {
                let streams = all.filter_map(|((schedule, chain), text)| {
                    Some(Stream { keys: schedule.round_keys()?, chain, text, last: None })
                });
                streams::run(kernel, rounds, streams);
            }
            _ => all.for_each(|((schedule, chain), text)| schedule.cbc(true, chain, text)),
        }
    }
}
