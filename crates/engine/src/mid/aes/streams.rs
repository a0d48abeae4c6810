//! Many AES streams in lanes: CBC enciphering and CMAC, which are serial within a text, over many texts.
//!
//! Texts are put into lanes in their order. All lanes advance by as many blocks as the shortest text has left. A lane
//! whose text ended takes the next text. If there is none, it takes over the last lane, so that the lanes in use are
//! always the first ones. Nothing is allocated; keys, chaining values and last blocks are wiped.

use crate::low::aes::streams::{Kernel, LANES_MAX, LaneText, Lanes};
use crate::low::aes::{Block, RoundKeys, Rounds};
use crate::low::cpu::Cpu;
use crate::low::{wipe_block, wipe_stack};

/// One text for a lane.
pub(crate) struct Stream<'a, T> {
    /// The round keys of this text.
    pub(crate) keys: RoundKeys<'a>,
    /// The chaining value; updated.
    pub(crate) chain: &'a mut Block,
    /// The text, whole blocks.
    pub(crate) text: T,
    /// The padded last block of a CMAC, XORed with its subkey; only the chaining value is written for it.
    pub(crate) last: Option<Block>,
}

/// The kernel, if lanes are faster than one stream after the other. Setting up and wiping the lanes costs as much as
/// some 60 blocks of one stream, and a single stream gains nothing.
#[inline]
pub(crate) fn choose(cpu: Cpu, streams: usize, bytes: usize) -> Option<Kernel> {
    if streams < 2 || bytes < BYTES_MIN {
        return None;
    }
    Kernel::choose(cpu)
}

/// The number of streams that fills one batch.
pub(crate) fn lanes(cpu: Cpu) -> usize {
    Kernel::choose(cpu).map_or(1, Kernel::lanes)
}

/// Lanes pay off from this many bytes of all streams together.
const BYTES_MIN: usize = 1280;

/// The stream in a lane.
struct Lane<'a> {
    chain: &'a mut Block,
    last: Option<Block>,
    /// The number of blocks left in the text.
    left: usize,
}

/// Runs every stream to its end. All keys must have the same number of rounds.
pub(crate) fn run<'a, T: LaneText>(
    kernel: Kernel,
    rounds: Rounds,
    mut streams: impl Iterator<Item = Stream<'a, T>>,
) {
    // Sets up lanes only if there is a stream.
    if let Some(first) = streams.next() {
        run_from(kernel, rounds, first, streams);
    }
}

fn run_from<'a, T: LaneText>(
    kernel: Kernel,
    rounds: Rounds,
    first: Stream<'a, T>,
    mut streams: impl Iterator<Item = Stream<'a, T>>,
) {
    let mut lanes = Lanes::new(rounds);
    let mut state: [Option<Lane<'a>>; LANES_MAX] = [const { None }; LANES_MAX];
    state[0] = Some(fill(&mut lanes, 0, first));
    let mut used = 1;
    while used < kernel.lanes() {
        let Some(stream) = streams.next() else { break };
        state[used] = Some(fill(&mut lanes, used, stream));
        used += 1;
    }
    loop {
        let left = state[..used].iter().flatten().map(|lane| lane.left).min();
        let Some(blocks) = left else { break };
        if blocks != 0 {
            lanes.run(kernel, used, blocks);
        }
        // From the last lane, so that no lane that ends at the same time is moved.
        for at in (0..used).rev() {
            let Some(lane) = &mut state[at] else { continue };
            lane.left -= blocks;
            if lane.left != 0 {
                continue;
            }
            if let Some(last) = &mut lane.last {
                xor(lanes.chain(at), last);
                // Wiped in place: taking it out would leave a copy behind.
                wipe_block(last);
                lane.last = None;
                lanes.follow_with(at, T::default());
                lane.left = 1;
                continue;
            }
            *lane.chain = *lanes.chain(at);
            state[at] = match streams.next() {
                Some(stream) => Some(fill(&mut lanes, at, stream)),
                None => {
                    used -= 1;
                    if at != used {
                        lanes.shift(used, at);
                    }
                    state[used].take()
                }
            };
        }
    }
    // With sixteen lanes, round keys may be left on the stack.
    wipe_stack();
}

fn fill<'a, T: LaneText>(lanes: &mut Lanes<T>, at: usize, stream: Stream<'a, T>) -> Lane<'a> {
    let Stream { keys, chain, text, last } = stream;
    let left = text.bytes() / 16;
    lanes.load(at, keys, chain, text);
    Lane { chain, last, left }
}

fn xor(block: &mut Block, other: &Block) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::aws_lc::aes::AesSchedule;
    use seeded::Random;

    fn kernels() -> impl Iterator<Item = Kernel> {
        [Cpu::up_to_avx2(), Cpu::up_to_avx512()].into_iter().filter_map(Kernel::choose)
    }

    fn rounds_of(key_bytes: usize) -> Rounds {
        Rounds::ALL[key_bytes / 8 - 2]
    }

    fn schedule(key: &[u8]) -> AesSchedule {
        let mut schedule = AesSchedule::empty();
        assert!(schedule.set_encipher(key));
        schedule
    }

    fn cases(all: usize) -> usize {
        if std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|value| value == "1") { all } else { all / 100 }
    }

    /// Random lengths near the size of a step, and sometimes a long one.
    fn blocks(random: &mut Random) -> usize {
        match random.below(8) {
            0 => random.below(40),
            1 => 64,
            _ => random.below(10),
        }
    }

    #[test]
    fn streams_come_out_as_each_would_alone() {
        for kernel in kernels() {
            let mut random = Random(2026);
            for _ in 0..cases(10_000) {
                let key_bytes = 16 + 8 * random.below(3);
                let count = random.below(41);
                let keys: Vec<_> = (0..count).map(|_| schedule(&random.bytes(key_bytes))).collect();
                let texts: Vec<_> = (0..count)
                    .map(|_| {
                        let blocks = blocks(&mut random);
                        random.bytes(16 * blocks)
                    })
                    .collect();
                let chains: Vec<_> = (0..count).map(|_| random.array()).collect();
                let lasts: Vec<_> =
                    (0..count).map(|_| (random.below(2) == 0).then(|| random.array())).collect();

                let (mut ours, mut ours_chains) = (texts.clone(), chains.clone());
                let streams = keys.iter().zip(&mut ours).zip(&mut ours_chains).map(|((key, text), chain)| {
                    Stream { keys: key.round_keys().unwrap(), chain, text: &mut text[..], last: None }
                });
                run(kernel, rounds_of(key_bytes), streams);
                let mut macs = chains.clone();
                let streams =
                    keys.iter().zip(&texts).zip(&mut macs).zip(&lasts).map(|(((key, text), chain), last)| {
                        Stream { keys: key.round_keys().unwrap(), chain, text: &text[..], last: *last }
                    });
                run(kernel, rounds_of(key_bytes), streams);

                for at in 0..count {
                    let (mut text, mut chain) = (texts[at].clone(), chains[at]);
                    keys[at].cbc(true, &mut chain, &mut text);
                    assert!(ours[at] == text && ours_chains[at] == chain, "stream {at} of {count}");
                    if let Some(mut last) = lasts[at] {
                        keys[at].cbc(true, &mut chain, &mut last);
                    }
                    assert_eq!(macs[at], chain, "MAC {at} of {count}");
                }
            }
        }
    }

    /// Every length from zero to more than two steps, alone and in every lane.
    #[test]
    fn every_length_in_every_lane() {
        for kernel in kernels() {
            let mut random = Random(7);
            let key = schedule(&random.bytes(32));
            for blocks in 0..11 {
                for lane in 0..kernel.lanes() + 1 {
                    let mut texts: Vec<_> = (0..=lane)
                        .map(|at| random.bytes(if at == lane { 16 * blocks } else { 32 }))
                        .collect();
                    let expected: Vec<_> = texts
                        .iter()
                        .map(|text| {
                            let (mut text, mut chain) = (text.clone(), [0; 16]);
                            key.cbc(true, &mut chain, &mut text);
                            (text, chain)
                        })
                        .collect();
                    let mut chains = vec![[0; 16]; texts.len()];
                    let streams = texts.iter_mut().zip(&mut chains).map(|(text, chain)| Stream {
                        keys: key.round_keys().unwrap(),
                        chain,
                        text: &mut text[..],
                        last: None,
                    });
                    run(kernel, Rounds::Fourteen, streams);
                    let got: Vec<_> = texts.into_iter().zip(chains).collect();
                    assert_eq!(got, expected, "{blocks} blocks, lane {lane}");
                }
            }
        }
    }
}
