//! HMAC (RFC 2104) with SHA-1 and with SHA-2 of 32-bit words, over texts of one length under raw keys of one length.
//! All lanes are at the same block, so nothing is scheduled, and keys are hashed in the lanes too.
//!
//! ```text
//! lanes    key ^ ipad | blocks of the text | its padded end |          each arrow down is one call of the kernel
//!          key ^ opad |                        padded digest | -> MAC
//! ```

use super::digest;
use super::lanes::{Tail, Tails, pad, pad_digest, write_digest};
use crate::algorithm::HashAlgorithm;
use crate::low::cpu::Cpu;
use crate::low::sha::constants::{SHA1_START, SHA224_START, SHA256_START};
use crate::low::sha::{Kernel, LaneState, SHA_LANES_MAX, ShaFamily, ShaLanes};
use crate::low::{wipe_bytes, wipe_words};
use crate::mid::columns::Column;

/// MACs of the texts from `first` on, as many as the kernel has lanes, each in its place in `macs`. Returns their
/// number; `None` if there is no kernel for them.
pub(crate) fn hmac_pass(
    cpu: Cpu,
    algorithm: HashAlgorithm,
    keys: Column<'_>,
    texts: Column<'_>,
    first: usize,
    macs: &mut [u8],
) -> Option<usize> {
    let (family, start) = match algorithm {
        HashAlgorithm::Sha1 => (ShaFamily::Sha1, &SHA1_START),
        HashAlgorithm::Sha224 => (ShaFamily::Sha256, &SHA224_START),
        HashAlgorithm::Sha256 => (ShaFamily::Sha256, &SHA256_START),
        _ => return None,
    };
    let digest_bytes = algorithm.digest_bytes();
    let kernel = ShaLanes::of(cpu, family, (macs.len() / digest_bytes).min(SHA_LANES_MAX))?;
    let lanes = kernel.lanes().min(macs.len() / digest_bytes);
    // A lane without a text repeats the first one.
    let text = |lane: usize| texts.lane(first + if lane < lanes { lane } else { 0 });
    let mut blocks = Tails([[[0; 64]; 2]; SHA_LANES_MAX]);
    let mut state = LaneState::zero();
    for (lane, block) in blocks.0[..lanes].iter_mut().enumerate() {
        place_key(algorithm, keys.lane(first + lane), block);
    }

    begin(&mut state, start);
    masked(&mut blocks, 0x36);
    kernel.compress(&mut state, &std::array::from_fn(|lane| &blocks.0[lane][1..]));
    kernel.compress(&mut state, &std::array::from_fn(|lane| text(lane).as_chunks().0));
    // A new room for the ends of texts, which can need both blocks: the second block of `blocks` holds the key.
    let mut ends = Tails([[[0; 64]; 2]; SHA_LANES_MAX]);
    let mut count = 1;
    for (lane, end) in ends.0.iter_mut().enumerate() {
        let text = text(lane);
        count = pad(end, text.as_chunks::<64>().1, 64 + text.len() as u64);
    }
    kernel.compress(&mut state, &std::array::from_fn(|lane| &ends.0[lane][2 - count..]));
    for (lane, end) in ends.0.iter_mut().enumerate() {
        let mut words = state.lane(lane);
        end[1] = [0; 64];
        pad_digest(end, &words, digest_bytes);
        wipe_words(&mut words);
    }

    begin(&mut state, start);
    masked(&mut blocks, 0x36 ^ 0x5c);
    kernel.compress(&mut state, &std::array::from_fn(|lane| &blocks.0[lane][1..]));
    kernel.compress(&mut state, &std::array::from_fn(|lane| &ends.0[lane][1..]));
    for (lane, mac) in macs.chunks_exact_mut(digest_bytes).take(lanes).enumerate() {
        let (mut words, mut digest) = (state.lane(lane), [0; 64]);
        write_digest(&words, digest_bytes, &mut digest);
        mac.copy_from_slice(&digest[..digest_bytes]);
        wipe_words(&mut words);
    }
    Some(lanes)
}

fn begin(state: &mut LaneState<u32>, start: &[u32; 8]) {
    for lane in 0..SHA_LANES_MAX {
        state.set_lane(lane, start);
    }
}

/// Puts the key into the second block, followed by zeros; a key longer than a block is hashed first.
fn place_key(algorithm: HashAlgorithm, key: &[u8], block: &mut Tail<64>) {
    let [_, block] = block;
    if key.len() <= block.len() {
        block[..key.len()].copy_from_slice(key);
    } else {
        let mut hashed = digest(algorithm, &[key]);
        *block = hashed;
        wipe_bytes(&mut hashed);
    }
}

/// XORs a byte into every byte of each key.
fn masked(blocks: &mut Tails<64>, mask: u8) {
    for [_, block] in &mut blocks.0 {
        block.iter_mut().for_each(|byte| *byte ^= mask);
    }
}
