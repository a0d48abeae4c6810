//! DES over blocks that do not wait for each other: ECB, CBC decipherment, CTR.
//!
//! ```text
//! a text alone:    lanes are its blocks, one key in all lanes  | t0 t1 t2 t3 t4 t5 t6 t7 |
//! texts together:  lanes are the blocks of short texts,       | a0 a1 b0 c0 c1 c2 d0 e0 |
//!                  each under the key of its own              | A  A  B  C  C  C  D  E  |
//! texts under one  lanes are the blocks of all of them,       | a0 a1 a2 b0 b1 b2 b3 c0 |
//! key:             one key in all                             | K  K  K  K  K  K  K  K  |
//! ```
//!
//! 1. A text that fills passes of the narrow form goes alone, since one key is cheaper to set than one per lane. Its
//!    whole wide passes run in the wide form, the rest in narrower ones if that is cheaper.
//! 2. Shorter texts share passes, if that needs fewer of them.
//! 3. Neighbouring texts under one key, such as packets of one connection, are divided as if they were one text: 47
//!    texts of 178 blocks are 17 wide passes, whereas each by itself is three narrow ones. Their blocks are copied into
//!    the lanes and back, except for whole wide passes of a long text. Keys count as equal if their address is equal.
//! 4. A text may extend over two shared passes; its request keeps the chaining value between them.

use super::forms::{self, Forms, Job, KeyColumns};
use super::{DesKey, Entry, Program};
use crate::algorithm::Mode;
use crate::low::cpu::Cpu;
use crate::low::des::{BLOCK_BYTES, Block, Form};
use crate::low::wipe_bytes;
use crate::mid::cipher::CipherItem;
use std::{iter, ptr};

/// Runs the requests of the queue, all of whose keys are DES keys.
pub(crate) fn run(cpu: Cpu, mode: Mode, program: Program, items: &mut [CipherItem<'_>], queue: &mut [Entry]) {
    let queue = run_under_one_key(cpu, mode, program, items, queue);
    let forms = Forms::of(cpu);
    let (mut together, mut blocks) = (0, 0);
    for index in 0..queue.len() {
        let left = queue[index].left;
        if left < forms.narrow {
            blocks += left;
            queue.swap(index, together);
            together += 1;
        }
    }
    let passes = blocks.div_ceil(if blocks < forms.wide_min { forms.narrow } else { forms.wide });
    if passes >= together {
        together = 0;
    }
    let (together, alone) = queue.split_at_mut(together);
    for entry in alone {
        run_alone(cpu, mode, program, &mut items[entry.item as usize]);
    }
    let mut together = together;
    while !together.is_empty() {
        let done =
            forms::in_fitting_form(cpu, blocks, Shared { mode, program, items, queue: together, key: None });
        blocks -= done.blocks;
        together = &mut together[done.items..];
    }
}

/// Runs neighbours under one key that together fill passes. Returns the other entries, moved to the front of the queue.
fn run_under_one_key<'q>(
    cpu: Cpu,
    mode: Mode,
    program: Program,
    items: &mut [CipherItem<'_>],
    queue: &'q mut [Entry],
) -> &'q mut [Entry] {
    let forms = Forms::of(cpu);
    let (mut at, mut others) = (0, 0);
    while at < queue.len() {
        let key = items[queue[at].item as usize].key;
        let has_key = |entry: &&Entry| ptr::eq(items[entry.item as usize].key, key);
        let count = queue[at..].iter().take_while(has_key).count();
        let run = &mut queue[at..at + count];
        let mut blocks: usize = run.iter().map(|entry| entry.left).sum();
        if count > 1 && blocks >= forms.narrow {
            for entry in &mut *run {
                blocks -= run_wide_passes(cpu, forms, mode, program, &mut items[entry.item as usize], entry);
            }
            let mut run = run;
            while blocks > 0 {
                let key = Some(key.des_key());
                let done =
                    forms::in_fitting_form(cpu, blocks, Shared { mode, program, items, queue: run, key });
                blocks -= done.blocks;
                run = &mut run[done.items..];
            }
        } else {
            queue.copy_within(at..at + count, others);
            others += count;
        }
        at += count;
    }
    &mut queue[..others]
}

/// Runs the whole wide passes at the start of a text, in place; returns their number of blocks.
fn run_wide_passes(
    cpu: Cpu,
    forms: Forms,
    mode: Mode,
    program: Program,
    item: &mut CipherItem<'_>,
    entry: &mut Entry,
) -> usize {
    let blocks = entry.left - entry.left % forms.wide;
    if blocks > 0 {
        let bytes = item.data.len().min(blocks * BLOCK_BYTES);
        let chain = super::first_half(&mut item.chain);
        let data = &mut item.data[..bytes];
        forms::in_fitting_form(cpu, blocks, Alone { mode, program, key: item.key.des_key(), chain, data });
        entry.left -= blocks;
    }
    blocks
}

/// ECB of whole blocks under one key, in place.
pub(super) fn ecb_alone(cpu: Cpu, program: Program, key: &DesKey, data: &mut [u8]) {
    alone(cpu, Mode::Ecb, program, key, &mut [0; BLOCK_BYTES], data);
}

fn run_alone(cpu: Cpu, mode: Mode, program: Program, item: &mut CipherItem<'_>) {
    let chain = super::first_half(&mut item.chain);
    alone(cpu, mode, program, item.key.des_key(), chain, item.data);
}

fn alone(cpu: Cpu, mode: Mode, program: Program, key: &DesKey, chain: &mut Block, data: &mut [u8]) {
    let forms = Forms::of(cpu);
    let bytes = data.len();
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    let rest = blocks % forms.wide;
    let in_wide = if rest >= forms.wide_min { blocks } else { blocks - rest };
    // A few last blocks after whole narrow passes are cheaper in rows.
    let rest = (blocks - in_wide) % forms.narrow;
    let in_rows = if rest <= forms.rows_max { rest } else { 0 };
    let (head, tail) = data.split_at_mut(bytes.min((blocks - in_rows) * BLOCK_BYTES));
    let (head, middle) = head.split_at_mut(bytes.min(in_wide * BLOCK_BYTES));
    for data in [head, middle, tail] {
        if !data.is_empty() {
            let blocks = data.len().div_ceil(BLOCK_BYTES);
            forms::in_fitting_form(cpu, blocks, Alone { mode, program, key, chain, data });
        }
    }
}

/// One text, or part of a text, under one key.
struct Alone<'r> {
    mode: Mode,
    program: Program,
    key: &'r DesKey,
    chain: &'r mut Block,
    data: &'r mut [u8],
}

impl Job for Alone<'_> {
    type Output = ();

    fn run<F: Form, const LANES: usize>(self, token: F::Token) {
        let Alone { mode, program, key, chain, data } = self;
        let mut keys = F::empty_keys(token);
        for (index, part) in key.parts()[..program.key_parts].iter().enumerate() {
            F::set_key(token, &mut keys, index, part);
        }
        match mode {
            Mode::Ecb => F::ecb(token, &keys, program.stages, data),
            Mode::Cbc => F::cbc_decipher(token, &keys, program.stages, chain, data),
            Mode::Ctr => {
                let mut counter = u64::from_be_bytes(*chain);
                F::ctr(token, &keys, program.stages, &mut counter, data);
                *chain = counter.to_be_bytes();
            }
        }
    }
}

/// One pass over texts, in their order; if all have one key, as many passes as they fill.
struct Shared<'r, 'a> {
    mode: Mode,
    program: Program,
    items: &'r mut [CipherItem<'a>],
    queue: &'r mut [Entry],
    /// The key of all texts; `None` if each lane has its own.
    key: Option<&'r DesKey>,
}

/// The result of passes: the number of blocks done, and of requests at the front of the queue that ended.
struct Done {
    blocks: usize,
    items: usize,
}

impl Job for Shared<'_, '_> {
    type Output = Done;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> Done {
        const { assert!(F::LANES == LANES) }
        let Shared { mode, program, items, queue, key } = self;
        let mut blocks = [[0; BLOCK_BYTES]; LANES];
        let mut keys = F::empty_keys(token);
        let mut done = Done { blocks: 0, items: 0 };
        let Some(key) = key else {
            let mut columns = KeyColumns::<LANES>::new();
            let lanes = gather(mode, items, queue, &mut blocks);
            let taken = queue.iter().flat_map(|entry| iter::repeat_n(entry.item, entry.left)).take(lanes);
            taken.for_each(|item| columns.push(items[item as usize].key.des_key()));
            columns.set::<F>(token, &mut keys, program.key_parts);
            F::blocks(token, &keys, program.stages, &mut blocks[..lanes]);
            scatter(mode, items, queue, &blocks[..lanes], &mut done);
            wipe_bytes(blocks[..lanes].as_flattened_mut());
            return done;
        };
        for (index, part) in key.parts()[..program.key_parts].iter().enumerate() {
            F::set_key(token, &mut keys, index, part);
        }
        let mut left: usize = queue.iter().map(|entry| entry.left).sum();
        loop {
            let lanes = gather(mode, items, &queue[done.items..], &mut blocks);
            F::blocks(token, &keys, program.stages, &mut blocks[..lanes]);
            scatter(mode, items, queue, &blocks[..lanes], &mut done);
            left -= lanes;
            // An incomplete pass runs in a form that fits it.
            if left < LANES {
                break;
            }
        }
        wipe_bytes(blocks.as_flattened_mut());
        done
    }
}

/// Copies the next blocks of the queue into the lanes; returns the number of lanes in use.
#[inline]
fn gather(mode: Mode, items: &[CipherItem<'_>], queue: &[Entry], lanes: &mut [Block]) -> usize {
    let mut used = 0;
    for entry in queue {
        if used == lanes.len() {
            break;
        }
        let taken = entry.left.min(lanes.len() - used);
        fill(mode, &items[entry.item as usize], entry.left, &mut lanes[used..][..taken]);
        used += taken;
    }
    used
}

/// Copies the blocks of the lanes back to the requests, starting with the first that has not ended.
#[inline]
fn scatter(mode: Mode, items: &mut [CipherItem<'_>], queue: &mut [Entry], lanes: &[Block], done: &mut Done) {
    let mut at = 0;
    for entry in &mut queue[done.items..] {
        let taken = entry.left.min(lanes.len() - at);
        // Texts that consisted of whole wide passes have no blocks left.
        if taken > 0 {
            take(mode, &mut items[entry.item as usize], entry.left, &lanes[at..][..taken]);
            at += taken;
            entry.left -= taken;
        }
        if entry.left > 0 {
            break;
        }
        done.items += 1;
    }
    done.blocks += at;
}

/// The inputs of the lanes for the next blocks of a text: its blocks, or its counters.
#[inline]
fn fill(mode: Mode, item: &CipherItem<'_>, left: usize, lanes: &mut [Block]) {
    if mode == Mode::Ctr {
        let mut counter = counter(item);
        for lane in lanes {
            *lane = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
    } else {
        let first = item.data.len() - left * BLOCK_BYTES;
        let (text, _) = item.data[first..].as_chunks();
        lanes.copy_from_slice(&text[..lanes.len()]);
    }
}

/// Turns the outputs of the lanes into the next blocks of the text.
#[inline]
fn take(mode: Mode, item: &mut CipherItem<'_>, left: usize, lanes: &[Block]) {
    let blocks = item.data.len().div_ceil(BLOCK_BYTES);
    let data = &mut item.data[(blocks - left) * BLOCK_BYTES..];
    match mode {
        Mode::Ecb => data.as_chunks_mut().0[..lanes.len()].copy_from_slice(lanes),
        Mode::Cbc => {
            let chain = super::first_half(&mut item.chain);
            for (text, lane) in data.as_chunks_mut().0.iter_mut().zip(lanes) {
                let before = std::mem::replace(chain, *text);
                *text = (u64::from_ne_bytes(*lane) ^ u64::from_ne_bytes(before)).to_ne_bytes();
            }
        }
        Mode::Ctr => {
            for (byte, key_byte) in data.iter_mut().zip(lanes.as_flattened()) {
                *byte ^= key_byte;
            }
            let next = counter(item).wrapping_add(lanes.len() as u64);
            item.chain[..BLOCK_BYTES].copy_from_slice(&next.to_be_bytes());
        }
    }
}

fn counter(item: &CipherItem<'_>) -> u64 {
    let (counter, _) = item.chain.split_first_chunk().expect("8 <= 16");
    u64::from_be_bytes(*counter)
}
