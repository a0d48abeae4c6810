//! GCM on 512-bit vectors: up to 36 blocks of cipher and hash in flight.

use super::gcm::{GcmTable, GcmText, NONCE_BYTES, PASS_BLOCKS, POWERS, TEXT_BYTES_MAX};
use super::ghash_wide::{Sums, swapped};
use super::vaes::four_times;
use super::vector::{
    load, load_block, load_half, load_some, mask, store, store_block, store_half, store_some,
};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// Vectors of a whole pass.
const WIDE: usize = PASS_BLOCKS / 4;
/// Bytes of text in the first vector, after two places without text.
const HEAD_BYTES: usize = 32;
/// Bytes of text in a whole pass.
const PASS_BYTES: usize = 16 * PASS_BLOCKS;

/// Counters 0 to 35, big-endian.
static COUNTERS: [Vector; WIDE + 1] = {
    let mut vectors = [const { Vector([0; 64]) }; WIDE + 1];
    let mut at = 0;
    while at < PASS_BLOCKS + 4 {
        vectors[at / 4].0[16 * (at % 4) + 15] = at as u8;
        at += 1;
    }
    vectors
};

/// The multiples of 32, as big-endian counters.
static PASSES: [Block; TEXT_BYTES_MAX / PASS_BYTES + 2] = {
    let mut blocks = [[0; 16]; TEXT_BYTES_MAX / PASS_BYTES + 2];
    let mut pass = 0;
    while pass < blocks.len() {
        let counter = ((pass * PASS_BLOCKS) as u32).to_be_bytes();
        blocks[pass] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, counter[0], counter[1], counter[2], counter[3]];
        pass += 1;
    }
    blocks
};

/// A vector that does not cross a cache line.
#[repr(align(64))]
struct Vector([u8; 64]);

/// See [`super::gcm::GcmKernel::seal`].
#[inline]
pub(super) fn seal<'a>(_token: Avx512, texts: impl Iterator<Item = GcmText<'a>>) {
    for text in texts {
        // SAFETY: the token proves every feature that the kernel is compiled for.
        unsafe { run::<false>(&text.keys, text.table, text.nonce, text.aad, text.data, text.tag) }
    }
}

/// See [`super::gcm::GcmKernel::open`].
#[inline]
pub(super) fn open(_token: Avx512, text: GcmText<'_>) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe { run::<true>(&text.keys, text.table, text.nonce, text.aad, text.data, text.tag) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
fn run<const OPEN: bool>(
    keys: &RoundKeys<'_>,
    table: &GcmTable,
    nonce: &[u8; NONCE_BYTES],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut Block,
) {
    match keys.rounds() {
        Rounds::Ten => run_on::<10, OPEN>(*keys, table, nonce, aad, data, tag),
        Rounds::Twelve => run_on::<12, OPEN>(*keys, table, nonce, aad, data, tag),
        Rounds::Fourteen => run_on::<14, OPEN>(*keys, table, nonce, aad, data, tag),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
fn run_on<const ROUNDS: usize, const OPEN: bool>(
    keys: RoundKeys<'_>,
    table: &GcmTable,
    nonce: &[u8; NONCE_BYTES],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut Block,
) {
    assert!(data.len() <= TEXT_BYTES_MAX);
    let nonce = load_some(nonce);
    let counters = _mm512_xor_si512(_mm512_shuffle_i32x4::<0>(nonce, nonce), four_times(&keys.blocks[0]));
    let text = Text { keys, table, counters };
    let lengths = _mm_set_epi64x(8 * aad.len() as i64, 8 * data.len() as i64);
    let before = text.additional(aad);
    // Comparisons, since a table of addresses would be an indirect jump.
    let bytes = data.len();
    let (hash, hider) = if bytes <= HEAD_BYTES {
        text.short::<ROUNDS, OPEN, 1, 0>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 64 {
        text.short::<ROUNDS, OPEN, 2, 0>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 2 * 64 {
        text.short::<ROUNDS, OPEN, 3, 0>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 3 * 64 {
        text.short_by::<ROUNDS, OPEN, 4, 2, 2>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 4 * 64 {
        text.short_by::<ROUNDS, OPEN, 5, 3, 2>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 5 * 64 {
        text.short_by::<ROUNDS, OPEN, 6, 3, 3>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 6 * 64 {
        text.short_by::<ROUNDS, OPEN, 7, 4, 3>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + 7 * 64 {
        text.short_by::<ROUNDS, OPEN, 8, 4, 4>(data, before, lengths)
    } else if bytes <= HEAD_BYTES + PASS_BYTES {
        text.short_by::<ROUNDS, OPEN, 9, 5, 4>(data, before, lengths)
    } else {
        text.long::<ROUNDS, OPEN>(data, before, lengths)
    };
    // Reverses the bytes of the hash back into GHASH's order.
    let hash = _mm512_castsi512_si128(swapped(_mm512_castsi128_si512(hash)));
    store_block(tag, _mm_xor_si128(hash, hider));
}

/// One text of a batch, with its key.
struct Text<'a> {
    keys: RoundKeys<'a>,
    table: &'a GcmTable,
    /// In four places: the nonce with counter 0, XORed with the first round key.
    counters: __m512i,
}

impl Text<'_> {
    /// The two places before the text, in the upper half: the last two blocks of additional data. The hash of the
    /// earlier blocks is added to the first of them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
    fn additional(&self, aad: &[u8]) -> __m512i {
        let blocks = aad.len().div_ceil(16);
        let (before, last) = aad.split_at(16 * blocks.saturating_sub(2));
        let last = swapped(load_some(last));
        // A single block goes into the second place.
        let mut pair = if blocks < 2 {
            _mm512_shuffle_i64x2::<0b00_01_01_01>(last, last)
        } else {
            _mm512_shuffle_i64x2::<0b01_00_01_00>(last, last)
        };
        if !before.is_empty() {
            let sum = _mm512_zextsi128_si512(self.hash_blocks(before));
            pair = _mm512_xor_si512(pair, _mm512_shuffle_i64x2::<0b01_00_01_01>(sum, sum));
        }
        pair
    }

    /// The hash of whole blocks, in POLYVAL's byte order.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
    fn hash_blocks(&self, blocks: &[u8]) -> __m128i {
        let mut hash = _mm_setzero_si128();
        for part in blocks.chunks(16 * PASS_BLOCKS) {
            let mut sums = Sums::none();
            let mut before = _mm512_zextsi128_si512(hash);
            let powers = &self.table.powers[POWERS - part.len() / 16..];
            for (vector, powers) in part.chunks(64).zip(powers.chunks(4)) {
                let blocks = _mm512_xor_si512(swapped(load_some(vector)), before);
                sums.add(blocks, load_some(powers.as_flattened()));
                before = _mm512_setzero_si512();
            }
            hash = sums.reduced();
        }
        hash
    }

    /// The table from an entry on, four powers a vector.
    #[inline]
    fn powers(&self, from: usize) -> &[[u8; 64]] {
        self.table.powers[from..].as_flattened().as_chunks().0
    }

    /// Ciphers and hashes a text of one pass. A text to decipher is hashed at once. A text to encipher is taken in two
    /// parts: the first is hashed while the second is enciphered.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn short_by<const ROUNDS: usize, const OPEN: bool, const ALL: usize, const A: usize, const B: usize>(
        &self,
        data: &mut [u8],
        before: __m512i,
        lengths: __m128i,
    ) -> (__m128i, __m128i) {
        if OPEN {
            self.short::<ROUNDS, OPEN, ALL, 0>(data, before, lengths)
        } else {
            self.short::<ROUNDS, OPEN, A, B>(data, before, lengths)
        }
    }

    /// Ciphers and hashes a text of one pass in `A` vectors, the first of which has two places before the text, and
    /// then `B` more. Returns the hash, and the block that hides the tag.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn short<const ROUNDS: usize, const OPEN: bool, const A: usize, const B: usize>(
        &self,
        data: &mut [u8],
        before: __m512i,
        lengths: __m128i,
    ) -> (__m128i, __m128i) {
        let from = POWERS - 3 - data.len().div_ceil(16);
        let powers = self.powers(from);
        let mut sums = Sums::of_block(lengths, load_block(&self.table.powers[POWERS - 1]));
        let mut state = [self.counters; A];
        for n in 0..A {
            state[n] = _mm512_xor_si512(self.counters, load(&COUNTERS[n].0));
        }
        let stream = self.enciphered::<ROUNDS, OPEN, true, A>(state);
        let hider = _mm512_extracti32x4_epi32::<1>(stream[0]);
        let key = upper_half(stream[0]);
        let mut cipher = [before; A];
        let mut rest = data;
        for n in 0..A {
            let is_end = B == 0 && n == A - 1;
            let bytes = if n == 0 { HEAD_BYTES } else { 64 };
            let (part, more) = rest.split_at_mut(if is_end { rest.len() } else { bytes });
            rest = more;
            let text = match part.first_chunk_mut() {
                Some(head) if n == 0 && !is_end => cipher_half::<OPEN>(head, key),
                _ if n == 0 => cipher_some::<OPEN>(part, key),
                _ if is_end => cipher_some::<OPEN>(part, stream[n]),
                _ => cipher_vector::<OPEN>(part, stream[n]),
            };
            let text = swapped(text);
            cipher[n] = if n == 0 { _mm512_alignr_epi64::<4>(text, before) } else { text };
        }
        if B == 0 {
            for n in 0..A {
                sums.add(cipher[n], load(&powers[n]));
            }
            return (sums.reduced(), hider);
        }
        let mut state = [self.counters; B];
        for n in 0..B {
            state[n] = _mm512_xor_si512(self.counters, load(&COUNTERS[A + n].0));
        }
        for r in 1..ROUNDS {
            let key = four_times(&self.keys.blocks[r]);
            for n in 0..B {
                state[n] = _mm512_aesenc_epi128(state[n], key);
            }
            if r <= A {
                sums.add(cipher[r - 1], load(&powers[r - 1]));
            }
        }
        let key = four_times(&self.keys.blocks[ROUNDS]);
        for n in 0..B {
            state[n] = _mm512_aesenclast_epi128(state[n], key);
        }
        let hash = self.rest::<OPEN, B>(rest, state, 0, sums, from + 4 * A, _mm512_setzero_si512());
        (hash, hider)
    }

    /// Ciphers and hashes a text of more than one pass. Does nothing with a shorter text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn long<const ROUNDS: usize, const OPEN: bool>(
        &self,
        data: &mut [u8],
        before: __m512i,
        lengths: __m128i,
    ) -> (__m128i, __m128i) {
        let none = _mm_setzero_si128();
        let Some((head, data)) = data.split_first_chunk_mut::<HEAD_BYTES>() else { return (none, none) };
        let Some((mut part, rest)) = data.split_first_chunk_mut::<PASS_BYTES>() else { return (none, none) };
        // The last pass has at least one byte.
        let (passes, rest) = rest.split_at_mut(rest.len().saturating_sub(1) / PASS_BYTES * PASS_BYTES);
        let mut state = [self.counters; WIDE + 1];
        for n in 0..WIDE + 1 {
            state[n] = _mm512_xor_si512(self.counters, load(&COUNTERS[n].0));
        }
        let stream = self.enciphered::<ROUNDS, OPEN, true, { WIDE + 1 }>(state);
        let hider = _mm512_extracti32x4_epi32::<1>(stream[0]);
        let cipher = cipher_half::<OPEN>(head, upper_half(stream[0]));
        let mut sums = Sums::none();
        sums.add(_mm512_alignr_epi64::<4>(swapped(cipher), before), load(&self.powers(1)[0]));
        let mut hash = none;
        if OPEN {
            hash = self.hash_pass(part, sums);
            sums = Sums::none();
        }
        let (vectors, _) = part.as_chunks_mut::<64>();
        for n in 0..WIDE {
            let text = load(&vectors[n]);
            store(&mut vectors[n], _mm512_xor_si512(text, stream[n + 1]));
        }
        let mut pass = 1;
        // A pass to encipher is hashed once the next pass has begun, which does not wait for it.
        for next in passes.as_chunks_mut::<PASS_BYTES>().0 {
            hash = self.whole::<ROUNDS, OPEN>(next, pass, part, sums, hash);
            sums = Sums::none();
            part = next;
            pass += 1;
        }
        let before = (&*part, sums, hash);
        let bytes = rest.len();
        let hash = if bytes <= 64 {
            self.last::<ROUNDS, OPEN, 1>(rest, pass, before, lengths)
        } else if bytes <= 2 * 64 {
            self.last::<ROUNDS, OPEN, 2>(rest, pass, before, lengths)
        } else if bytes <= 3 * 64 {
            self.last::<ROUNDS, OPEN, 3>(rest, pass, before, lengths)
        } else if bytes <= 4 * 64 {
            self.last::<ROUNDS, OPEN, 4>(rest, pass, before, lengths)
        } else if bytes <= 5 * 64 {
            self.last::<ROUNDS, OPEN, 5>(rest, pass, before, lengths)
        } else if bytes <= 6 * 64 {
            self.last::<ROUNDS, OPEN, 6>(rest, pass, before, lengths)
        } else if bytes <= 7 * 64 {
            self.last::<ROUNDS, OPEN, 7>(rest, pass, before, lengths)
        } else {
            self.last::<ROUNDS, OPEN, 8>(rest, pass, before, lengths)
        };
        (hash, hider)
    }

    /// Ciphers and hashes the last vectors of a long text, after `pass` passes. Hashes also what `before` leaves to be
    /// hashed.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn last<const ROUNDS: usize, const OPEN: bool, const N: usize>(
        &self,
        data: &mut [u8],
        pass: usize,
        (before, mut sums, mut hash): (&[u8; PASS_BYTES], Sums, __m128i),
        lengths: __m128i,
    ) -> __m128i {
        let from = POWERS - 1 - data.len().div_ceil(16);
        let state = self.counters_of::<N>(pass);
        let stream = if OPEN {
            self.enciphered::<ROUNDS, OPEN, false, N>(state)
        } else {
            let stream = self.enciphered_beside::<ROUNDS, OPEN, N>(state, before, &mut sums, hash);
            hash = sums.reduced();
            stream
        };
        let sums = Sums::of_block(lengths, load_block(&self.table.powers[POWERS - 1]));
        self.rest::<OPEN, N>(data, stream, 0, sums, from, _mm512_zextsi128_si512(hash))
    }

    /// Ciphers the rest of the text with the key stream from vector `first` on; returns the hash.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
    fn rest<const OPEN: bool, const N: usize>(
        &self,
        data: &mut [u8],
        stream: [__m512i; N],
        first: usize,
        mut sums: Sums,
        from: usize,
        before: __m512i,
    ) -> __m128i {
        let powers = self.powers(from);
        let mut rest = data;
        for n in first..N {
            let (part, more) = rest.split_at_mut(if n == N - 1 { rest.len() } else { 64 });
            let cipher = match part.first_chunk_mut() {
                Some(vector) if n != N - 1 => cipher_whole::<OPEN>(vector, stream[n]),
                _ => cipher_some::<OPEN>(part, stream[n]),
            };
            let mut cipher = swapped(cipher);
            if n == 0 {
                cipher = _mm512_xor_si512(cipher, before);
            }
            sums.add(cipher, load(&powers[n]));
            rest = more;
        }
        sums.reduced()
    }

    /// Enciphers or deciphers a whole pass after `pass` others. Returns the hash of the pass's own ciphertext when
    /// deciphering, else of the pass before, whose products are added to `sums`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn whole<const ROUNDS: usize, const OPEN: bool>(
        &self,
        part: &mut [u8; PASS_BYTES],
        pass: usize,
        before: &[u8; PASS_BYTES],
        mut sums: Sums,
        hash: __m128i,
    ) -> __m128i {
        let state = self.counters_of::<WIDE>(pass);
        let hashed = if OPEN { &*part } else { before };
        let stream = self.enciphered_beside::<ROUNDS, OPEN, WIDE>(state, hashed, &mut sums, hash);
        let (vectors, _) = part.as_chunks_mut::<64>();
        for n in 0..WIDE {
            let text = load(&vectors[n]);
            store(&mut vectors[n], _mm512_xor_si512(text, stream[n]));
        }
        sums.reduced()
    }

    /// As `enciphered`. Between the rounds, adds to `sums` the products of a pass of ciphertext, and of the hash before
    /// it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,vpclmulqdq,pclmulqdq")]
    fn enciphered_beside<const ROUNDS: usize, const OPEN: bool, const N: usize>(
        &self,
        mut state: [__m512i; N],
        hashed: &[u8; PASS_BYTES],
        sums: &mut Sums,
        hash: __m128i,
    ) -> [__m512i; N] {
        let (vectors, _) = hashed.as_chunks::<64>();
        let powers = self.powers(POWERS - PASS_BLOCKS);
        for r in 1..ROUNDS {
            let key = four_times(&self.keys.blocks[r]);
            for n in 0..N {
                state[n] = _mm512_aesenc_epi128(state[n], key);
            }
            // The first vector is taken last, since it waits for the hash before.
            if r <= WIDE {
                let n = r % WIDE;
                let mut cipher = swapped(load(&vectors[n]));
                if n == 0 {
                    cipher = _mm512_xor_si512(cipher, _mm512_zextsi128_si512(hash));
                }
                sums.add(cipher, load(&powers[n]));
            }
        }
        let key = four_times(&self.keys.blocks[ROUNDS]);
        for n in 0..N {
            state[n] = _mm512_aesenclast_epi128(state[n], key);
        }
        state
    }

    /// The hash of a whole pass, whose products are added to `sums`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
    fn hash_pass(&self, part: &[u8; PASS_BYTES], mut sums: Sums) -> __m128i {
        for (vector, powers) in part.as_chunks::<64>().0.iter().zip(self.powers(POWERS - PASS_BLOCKS)) {
            sums.add(swapped(load(vector)), load(powers));
        }
        sums.reduced()
    }

    /// The counters of the pass after `pass` others, XORed with the first round key. Each pass begins with counter 4 of
    /// its 32.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn counters_of<const N: usize>(&self, pass: usize) -> [__m512i; N] {
        let base = |pass: usize| _mm512_xor_si512(self.counters, four_times(&PASSES[pass]));
        let this = base(pass);
        let mut state = [this; N];
        for n in 0..N {
            state[n] = if n + 1 < WIDE {
                _mm512_xor_si512(this, load(&COUNTERS[n + 1].0))
            } else {
                _mm512_xor_si512(base(pass + 1), load(&COUNTERS[0].0))
            };
        }
        state
    }

    /// Enciphers blocks to which the first round key has been added. `FIRST` makes a separate function for the first
    /// pass: each is used in one place only and inlined there, and the vectors stay in registers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
    fn enciphered<const ROUNDS: usize, const OPEN: bool, const FIRST: bool, const N: usize>(
        &self,
        mut state: [__m512i; N],
    ) -> [__m512i; N] {
        for r in 1..ROUNDS {
            let key = four_times(&self.keys.blocks[r]);
            for n in 0..N {
                state[n] = _mm512_aesenc_epi128(state[n], key);
            }
        }
        let key = four_times(&self.keys.blocks[ROUNDS]);
        for n in 0..N {
            state[n] = _mm512_aesenclast_epi128(state[n], key);
        }
        state
    }
}

/// XORs the key stream over a vector of text, in place. Returns the ciphertext.
#[inline]
#[target_feature(enable = "avx512f")]
fn cipher_whole<const OPEN: bool>(vector: &mut [u8; 64], key: __m512i) -> __m512i {
    let text = load(vector);
    let out = _mm512_xor_si512(text, key);
    store(vector, out);
    if OPEN { text } else { out }
}

/// As [`cipher_whole`], for a slice that must have 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn cipher_vector<const OPEN: bool>(part: &mut [u8], key: __m512i) -> __m512i {
    match part.first_chunk_mut() {
        Some(vector) => cipher_whole::<OPEN>(vector, key),
        None => key,
    }
}

/// As [`cipher_whole`], for half a vector. Uses no mask: a load from the 64 bytes of a masked store would wait until
/// the store is done.
#[inline]
#[target_feature(enable = "avx512f")]
fn cipher_half<const OPEN: bool>(half: &mut [u8; HEAD_BYTES], key: __m512i) -> __m512i {
    let text = load_half(half);
    let out = _mm512_xor_si512(text, key);
    store_half(half, out);
    if OPEN { text } else { out }
}

/// As [`cipher_whole`], for at most a vector; zeros follow the ciphertext.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn cipher_some<const OPEN: bool>(part: &mut [u8], key: __m512i) -> __m512i {
    let text = load_some(part);
    let out = _mm512_xor_si512(text, key);
    store_some(part, out);
    if OPEN { text } else { _mm512_maskz_mov_epi8(mask(part.len()), out) }
}

/// Moves the upper half of a vector into its lower half.
#[inline]
#[target_feature(enable = "avx512f")]
fn upper_half(vector: __m512i) -> __m512i {
    _mm512_shuffle_i64x2::<0b11_10_11_10>(vector, vector)
}
