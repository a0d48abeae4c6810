//! The key of a session, derived from the card's. Every session key gets [odd parity](super::with_parity) at the end.
//!
//! | method | function |
//! |---|---|
//! | EMV common (EMV 4.3, book 2, annex A1.3.1) | [`common`] of [`application`] for cryptograms, of the ARQC for scripts |
//! | MasterCard SKD | [`common`] of [`mastercard`] |
//! | Visa for scripts; TDES-XOR of CCA | [`visa`], XORed with the key |
//! | EMV 2000 tree (EMV 4.1, book 2, annex A1.3) | [`Tree::session`] |

use zeroize::Zeroize;

/// The two blocks to encipher under the card's key, from eight bytes that differ in each session.
pub fn common(diversifier: &[u8; 8]) -> [u8; 16] {
    std::array::from_fn(|at| match at {
        2 => 0xF0,
        10 => 0x0F,
        _ => diversifier[at % 8],
    })
}

/// The diversifier for application cryptograms: the transaction counter, then zeros.
pub fn application(counter: [u8; 2]) -> [u8; 8] {
    [counter[0], counter[1], 0, 0, 0, 0, 0, 0]
}

/// MasterCard's diversifier: the transaction counter, zeros, and the terminal's unpredictable number.
pub fn mastercard(counter: [u8; 2], unpredictable: [u8; 4]) -> [u8; 8] {
    let [a, b, c, d] = unpredictable;
    [counter[0], counter[1], 0, 0, a, b, c, d]
}

/// The mask to XOR with the card's key: the transaction counter at the end of the left half, its complement at the end
/// of the right half.
pub fn visa(counter: [u8; 2]) -> [u8; 16] {
    let mut mask = [0; 16];
    (mask[6], mask[7]) = (counter[0], counter[1]);
    (mask[14], mask[15]) = (!counter[0], !counter[1]);
    mask
}

/// A tree of keys with a leaf for every transaction counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// Two branches at each key, sixteen levels (TDESEMV2).
    Two,
    /// Four branches at each key, eight levels (TDESEMV4).
    Four,
}

impl Tree {
    const fn bits(self) -> u32 {
        match self {
            Self::Two => 1,
            Self::Four => 2,
        }
    }

    /// The session's key before parity, from the card's key and an initial vector, which is zero for most issuers.
    /// `encipher` is called once per level and enciphers two blocks, each by itself, under a two-part key.
    pub fn session(
        self,
        card: &[u8; 16],
        vector: &[u8; 16],
        counter: [u8; 2],
        mut encipher: impl FnMut(&[u8; 16], [u8; 16]) -> [u8; 16],
    ) -> [u8; 16] {
        let mut walk = Walk::new(self, *card, vector, counter);
        while let Some(step) = walk.step() {
            walk.take(encipher(&step.key, step.blocks));
        }
        walk.parent
    }
}

/// A walk down the tree from a card's key to a session's, one level at a time, so that many walks share a pass.
pub struct Walk {
    tree: Tree,
    counter: u16,
    /// The number of levels that are left.
    left: u32,
    parent: [u8; 16],
    grandparent: [u8; 16],
}

/// The encipherment of one level.
pub struct LevelStep {
    /// The two-part key to encipher under.
    pub key: [u8; 16],
    /// Two blocks, each enciphered by itself.
    pub blocks: [u8; 16],
}

impl Walk {
    /// Starts at the card's key.
    pub fn new(tree: Tree, card: [u8; 16], vector: &[u8; 16], counter: [u8; 2]) -> Self {
        let left = u16::BITS / tree.bits();
        Self { tree, counter: u16::from_be_bytes(counter), left, parent: card, grandparent: *vector }
    }

    /// The next encipherment; `None` once the session's key is reached.
    pub fn step(&self) -> Option<LevelStep> {
        let level = self.left.checked_sub(1)?;
        let bits = self.tree.bits();
        let branch = (self.counter >> (bits * level)) as u8 & ((1 << bits) - 1);
        let mut blocks = self.grandparent;
        blocks[7] ^= branch;
        blocks[15] ^= branch ^ 0xF0;
        Some(LevelStep { key: self.parent, blocks })
    }

    /// Goes down one level, with the enciphered blocks of a [`LevelStep`].
    pub fn take(&mut self, mut enciphered: [u8; 16]) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            enciphered.iter_mut().zip(&self.grandparent).for_each(|(byte, other)| *byte ^= other);
        }
        self.grandparent = std::mem::replace(&mut self.parent, enciphered);
        enciphered.zeroize();
    }

    /// The session's key before parity, at the end of the walk.
    pub fn key(&self) -> [u8; 16] {
        self.parent
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.parent.zeroize();
        self.grandparent.zeroize();
    }
}

impl Drop for LevelStep {
    fn drop(&mut self) {
        self.key.zeroize();
        self.blocks.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emv::with_parity;
    use crate::testing::{KEY, encipher, hex};
    use engine::CipherAlgorithm::Tdes2;

    fn enciphered(blocks: &[u8; 16]) -> [u8; 16] {
        with_parity(&encipher(Tdes2, &hex::<16>(KEY), blocks))
    }

    /// For counter 001C all but the second and fifth vectors are from the documentation of the Python package pyemv
    /// 1.5.0. The others were computed with pyemv.
    #[test]
    fn keys_are_those_of_another_program() {
        let (counter, key) = ([0, 0x1C], hex::<16>(KEY));
        assert_eq!(enciphered(&common(&application(counter))), hex("E9FB384AF807B940FEDCEA613461B0C4"));
        let diversifier = mastercard(counter, hex("3804823E"));
        assert_eq!(enciphered(&common(&diversifier)), hex("70131CB0BFB9ABC8E5375BFD9470B3EF"));
        let mask = visa(counter);
        let xored = std::array::from_fn(|at| key[at] ^ mask[at]);
        assert_eq!(with_parity(&xored), hex("0123456789ABCDF2FEDCBA987654CDF2"));
        let (zeros, other) = ([0; 16], std::array::from_fn(|at| at as u8));
        for (tree, vector, counter, expected) in [
            (Tree::Four, &zeros, counter, "E5BF6D1067F194B0A89B7F5D83BC64A2"),
            (Tree::Two, &zeros, counter, "5BD69B2676F464F4B3D3D549C1737C61"),
            (Tree::Four, &zeros, [0xFF, 0xFF], "C70815AB641575C1AEDF86A4D61FD0B3"),
            (Tree::Two, &zeros, [0, 0], "A88352F152BFAD46F4EA1A9D13E9CBB0"),
            (Tree::Four, &other, [0xA5, 0xC3], "07BAC1EC751C34B6F72F85C468E057E6"),
        ] {
            let mut levels = 0;
            let session = tree.session(&key, vector, counter, |key, blocks| {
                levels += 1;
                encipher(Tdes2, key, &blocks)
            });
            assert_eq!(with_parity(&session), hex(expected), "{tree:?} {counter:?}");
            assert_eq!(levels, if tree == Tree::Two { 16 } else { 8 });
        }
    }
}
