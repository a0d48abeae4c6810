//! The plain twin, to be read: FIPS 180-4, 6.1.2, 6.2.2 and 6.4.2, one lane after another.

use super::constants::{SHA1_K, SHA256_K, SHA512_K};
use super::{LaneState, Texts, Word};

pub(super) fn sha1(state: &mut LaneState<u32>, texts: &Texts<'_>, blocks: usize) {
    each_lane(state, texts, blocks, sha1_block);
}

pub(super) fn sha256(state: &mut LaneState<u32>, texts: &Texts<'_>, blocks: usize) {
    each_lane(state, texts, blocks, sha256_block);
}

pub(super) fn sha512(state: &mut LaneState<u64>, texts: &Texts<'_, 128>, blocks: usize) {
    each_lane(state, texts, blocks, sha512_block);
}

fn each_lane<W: Word, const BLOCK: usize>(
    state: &mut LaneState<W>,
    texts: &Texts<'_, BLOCK>,
    blocks: usize,
    compress: fn([W; 8], &[u8; BLOCK]) -> [W; 8],
) {
    for (lane, text) in texts.iter().enumerate() {
        let words = text[..blocks].iter().fold(state.lane(lane), compress);
        state.set_lane(lane, &words);
    }
}

fn sha1_block(start: [u32; 8], block: &[u8; 64]) -> [u32; 8] {
    let mut w = [0u32; 80];
    words_of(block, &mut w);
    for t in 16..80 {
        w[t] = (w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e, ..] = start;
    for (t, w) in w.into_iter().enumerate() {
        let f = match t / 20 {
            0 => (b & c) ^ (!b & d),
            2 => (b & c) ^ (b & d) ^ (c & d),
            _ => b ^ c ^ d,
        };
        let next =
            a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(SHA1_K[t / 20]).wrapping_add(w);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    added(start, [a, b, c, d, e, 0, 0, 0])
}

fn sha256_block(start: [u32; 8], block: &[u8; 64]) -> [u32; 8] {
    let mut w = [0u32; 64];
    words_of(block, &mut w);
    for t in 16..64 {
        let near = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
        let far = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
        w[t] = near.wrapping_add(w[t - 7]).wrapping_add(far).wrapping_add(w[t - 16]);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = start;
    for (w, k) in w.into_iter().zip(SHA256_K) {
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let t1 = h.wrapping_add(sum1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(k).wrapping_add(w);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let t2 = sum0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    added(start, [a, b, c, d, e, f, g, h])
}

fn sha512_block(start: [u64; 8], block: &[u8; 128]) -> [u64; 8] {
    let mut w = [0u64; 80];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    for t in 16..80 {
        let near = w[t - 2].rotate_right(19) ^ w[t - 2].rotate_right(61) ^ (w[t - 2] >> 6);
        let far = w[t - 15].rotate_right(1) ^ w[t - 15].rotate_right(8) ^ (w[t - 15] >> 7);
        w[t] = near.wrapping_add(w[t - 7]).wrapping_add(far).wrapping_add(w[t - 16]);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = start;
    for (w, k) in w.into_iter().zip(SHA512_K) {
        let sum1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
        let t1 = h.wrapping_add(sum1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(k).wrapping_add(w);
        let sum0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
        let t2 = sum0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    let after = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|word| start[word].wrapping_add(after[word]))
}

fn words_of(block: &[u8; 64], w: &mut [u32]) {
    for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
}

fn added(mut start: [u32; 8], after: [u32; 8]) -> [u32; 8] {
    for (word, after) in start.iter_mut().zip(after) {
        *word = word.wrapping_add(after);
    }
    start
}
