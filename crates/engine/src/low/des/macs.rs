//! CBC-MACs of many texts of one length, read in place.
//!
//! ```text
//! lane 0   |line 0 ................|line 1 ..|     a line is up to eight blocks: 64 bytes, or what is left of the text,
//! lane 1   |line 0 ................|line 1 ..|     loaded in one instruction, zeros behind it
//! ...                                              all lanes begin and end together
//! ```
//!
//! 1. Only the last block of ciphertext leaves the state, so blocks are moved into the lanes but never back. That saves
//!    half of a CBC step's cost other than its rounds.
//! 2. The state between two blocks is the chaining value: IP and its inverse cancel, so the pre-output of one block is
//!    added to the next.
//! 3. The last step of X9.19 continues from the same state.

use super::{BLOCK_BYTES, Block, PIECE_BLOCKS, Piece, Stage};

/// Texts of one length, one for each lane.
pub(crate) trait Texts {
    /// Length of each text in bytes.
    fn bytes(&self) -> usize;

    /// The text of a lane.
    fn text(&self, lane: usize) -> &[u8];

    /// The whole line of a lane's text that begins at byte `at`; the text must have all of it.
    fn line(&self, lane: usize, at: usize) -> &[u8; LINE_BYTES];
}

/// The MACs of one pass.
pub(crate) struct Macs<'a, T> {
    /// The program for each block.
    pub(crate) program: &'a [Stage],
    /// The program for the last chaining value; empty if there is none.
    pub(crate) last: &'a [Stage],
    /// The texts, one per lane.
    pub(crate) texts: &'a T,
    /// The number of blocks of each text, padded with zeros to whole blocks.
    pub(crate) blocks: usize,
    /// The block that CMAC adds to the last block of each text, which then exists; `None` for other MACs.
    pub(crate) ends: Option<&'a [Block]>,
}

impl<T: Texts> Macs<'_, T> {
    /// The text of line number `line` (from 0) and all text after it.
    #[inline]
    pub(super) fn line(&self, lane: usize, line: usize) -> &[u8] {
        let text = self.texts.text(lane);
        text.get(line * LINE_BYTES..).unwrap_or_default()
    }

    /// Whether a line is text to its end.
    #[inline]
    pub(super) fn is_whole(&self, line: usize) -> bool {
        (line + 1) * LINE_BYTES <= self.texts.bytes()
    }

    /// The place of CMAC's mark in a line, if it ends a text that is not whole blocks there.
    #[inline]
    pub(super) fn mark(&self, line: usize) -> Option<usize> {
        let bytes = self.texts.bytes();
        let is_marked = self.ends.is_some() && (bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES));
        let at = bytes.checked_sub(line * LINE_BYTES).filter(|at| *at < LINE_BYTES);
        if is_marked { at } else { None }
    }

    /// The number of blocks in a line.
    #[inline]
    pub(super) fn count(&self, line: usize) -> usize {
        (self.blocks - line * PIECE_BLOCKS).min(PIECE_BLOCKS)
    }

    /// The number of lines.
    #[inline]
    pub(super) fn lines(&self) -> usize {
        self.blocks.div_ceil(PIECE_BLOCKS)
    }

    /// The blocks to add to the last block of each lane, if `line` is the last line.
    #[inline]
    pub(super) fn ends(&self, line: usize) -> Option<&[Block]> {
        self.ends.filter(|_| line + 1 == self.lines())
    }

    /// Copies a line with its padding, mark and added block.
    pub(super) fn copy(&self, lane: usize, line: usize, piece: &mut Piece) {
        let bytes = piece.0.as_flattened_mut();
        if self.is_whole(line) {
            bytes.copy_from_slice(self.texts.line(lane, line * LINE_BYTES));
        } else {
            let text = self.line(lane, line);
            bytes[..text.len()].copy_from_slice(text);
            bytes[text.len()..].fill(0);
        }
        if let Some(at) = self.mark(line) {
            bytes[at] = MARK;
        }
        if let Some(ends) = self.ends(line) {
            for (byte, end) in piece.0[self.count(line) - 1].iter_mut().zip(&ends[lane]) {
                *byte ^= end;
            }
        }
    }
}

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = PIECE_BLOCKS * BLOCK_BYTES;

/// The byte that CMAC appends to a text that is not whole blocks (SP 800-38B, 6.2).
pub(super) const MARK: u8 = 0x80;

/// Every form against the plain twin.
#[cfg(test)]
mod tests {
    use super::super::bit_sliced_portable::BitSliced64;
    use super::super::plain::Plain;
    use super::super::{Form, KEYS_MAX};
    use super::*;
    use seeded::Random;

    struct Own(Vec<Vec<u8>>);

    impl Texts for Own {
        fn bytes(&self) -> usize {
            self.0[0].len()
        }

        fn text(&self, lane: usize) -> &[u8] {
            &self.0[lane]
        }

        fn line(&self, lane: usize, at: usize) -> &[u8; LINE_BYTES] {
            &self.0[lane][at..].as_chunks().0[0]
        }
    }

    const TDES: [Stage; 3] = [Stage::encipher(0), Stage::decipher(1), Stage::encipher(2)];
    const RETAIL: [Stage; 2] = [Stage::decipher(1), Stage::encipher(0)];

    /// The chaining values of all lanes, computed a pass at a time.
    fn made<F: Form>(
        token: F::Token,
        own: &[[Block; KEYS_MAX]],
        texts: &Own,
        of: (&[Stage], &[Stage]),
        ends: Option<&[Block]>,
        chains: &[Block],
    ) -> Vec<Block> {
        let mut made = chains.to_vec();
        let blocks = texts.bytes().div_ceil(BLOCK_BYTES).max(usize::from(ends.is_some()));
        for (pass, chains) in made.chunks_mut(F::LANES).enumerate() {
            let first = pass * F::LANES;
            let lanes = first..first + chains.len();
            let mut keys = F::empty_keys(token);
            for index in 0..KEYS_MAX {
                let part: Vec<_> = own[lanes.clone()].iter().map(|own| own[index]).collect();
                F::set_keys(token, &mut keys, index, &part);
            }
            let texts = Own(texts.0[lanes.clone()].to_vec());
            let ends = ends.map(|ends| &ends[lanes]);
            F::macs(token, &keys, &Macs { program: of.0, last: of.1, texts: &texts, blocks, ends }, chains);
        }
        made
    }

    fn check<F: Form>(token: F::Token) {
        let mut random = Random(0x1442_6950);
        for lanes in
            [1, 2, 7, 8, 9, 23, 24, 25, 63, 64, 65, 300, 512].into_iter().filter(|lanes| *lanes <= F::LANES)
        {
            for bytes in [0, 3, 8, 56, 61, 64, 65, 72, 130] {
                let own: Vec<_> =
                    (0..lanes).map(|_| [random.array(), random.array(), random.array()]).collect();
                let texts = Own((0..lanes).map(|_| random.bytes(bytes)).collect());
                let (chains, ends) = (random.arrays(lanes), random.arrays(lanes));
                for (of, ends) in [
                    ((&TDES[..1], &RETAIL[..]), None),
                    ((&TDES[..], &[][..]), None),
                    ((&TDES, &[]), Some(&ends[..])),
                ] {
                    let ours = made::<F>(token, &own, &texts, of, ends, &chains);
                    let plain = made::<Plain>((), &own, &texts, of, ends, &chains);
                    assert!(ours == plain, "{lanes} lanes, {bytes} bytes, {of:?}");
                }
            }
        }
    }

    #[test]
    fn every_form_makes_the_macs_of_the_plain_twin() {
        check::<BitSliced64>(());
        #[cfg(target_arch = "x86_64")]
        {
            use super::super::{
                bit_sliced_avx2, bit_sliced_avx512, byte_sliced_avx512, rows_avx2, rows_avx512,
            };
            use crate::low::cpu::Cpu;
            if let Some(token) = Cpu::up_to_avx2().avx2 {
                check::<rows_avx2::RowsAvx2>(token);
                check::<bit_sliced_avx2::BitSliced256>(token);
            }
            if let Some(token) = Cpu::up_to_avx512().avx512 {
                check::<rows_avx512::Rows8>(token);
                check::<rows_avx512::Rows16>(token);
                check::<rows_avx512::Rows24>(token);
                check::<byte_sliced_avx512::ByteSliced>(token);
                check::<bit_sliced_avx512::BitSliced512>(token);
            }
        }
    }
}
