//! DES on one block, word for word as in FIPS 46-3, to compare the fast forms with. It reads tables at places that
//! depend on the key, so it is built for tests only.

use super::lines::Lines;
use super::macs::{Macs, Texts};
use super::tables::{E, IP, P, PC1, PC2, S, SHIFTS};
use super::{BLOCK_BYTES, Block, Form, KEYS_MAX, Piece, Stage};

/// Runs a program on one block.
pub(crate) fn block(keys: &[Block; KEYS_MAX], program: &[Stage], block: Block) -> Block {
    program.iter().fold(block, |block, stage| des(&keys[stage.key], stage.encipher, block))
}

/// Single DES of one block.
pub(crate) fn des(key: &Block, encipher: bool, block: Block) -> Block {
    let mut round_keys = round_keys(key);
    if !encipher {
        round_keys.reverse();
    }
    let permuted = select(u64::from_be_bytes(block), 64, &IP);
    let (mut left, mut right) = (permuted >> 32, permuted & 0xffff_ffff);
    for round_key in round_keys {
        (left, right) = (right, left ^ cipher_function(right, round_key));
    }
    inverse_of_ip(right << 32 | left).to_be_bytes()
}

/// The sixteen round keys of 48 bits in the order of encipherment.
pub(crate) fn round_keys(key: &Block) -> [u64; 16] {
    let chosen = select(u64::from_be_bytes(*key), 64, &PC1);
    let (mut c, mut d) = (chosen >> 28, chosen & 0xfff_ffff);
    SHIFTS.map(|shift| {
        c = (c << shift | c >> (28 - shift)) & 0xfff_ffff;
        d = (d << shift | d >> (28 - shift)) & 0xfff_ffff;
        select(c << 28 | d, 56, &PC2)
    })
}

/// f(R, K) of the standard.
fn cipher_function(half: u64, round_key: u64) -> u64 {
    let inputs = select(half, 32, &E) ^ round_key;
    let mut outputs = 0;
    for (index, table) in S.iter().enumerate() {
        let input = inputs >> (42 - 6 * index) & 0x3f;
        let (row, column) = (input >> 4 & 2 | input & 1, input >> 1 & 0xf);
        outputs = outputs << 4 | u64::from(table[row as usize][column as usize]);
    }
    select(outputs, 32, &P)
}

/// The bits of a value of `bits` bits that a table names; bit 1 is the leftmost.
fn select(value: u64, bits: u8, table: &[u8]) -> u64 {
    table.iter().fold(0, |selected, bit| selected << 1 | value >> (bits - bit) & 1)
}

fn inverse_of_ip(value: u64) -> u64 {
    IP.iter().enumerate().fold(0, |out, (index, bit)| out | (value >> (63 - index) & 1) << (64 - bit))
}

/// The plain twin of every form: a pass of a few lanes, computed one after the other. There are few lanes, so that they
/// are refilled often.
pub(crate) struct Plain;

impl Form for Plain {
    const LANES: usize = 5;
    type Token = ();
    type Keys = [[Block; KEYS_MAX]; Plain::LANES];

    fn empty_keys((): ()) -> Self::Keys {
        [[[0; 8]; KEYS_MAX]; Plain::LANES]
    }

    fn set_keys((): (), keys: &mut Self::Keys, index: usize, own: &[Block]) {
        for (keys, own) in keys[..own.len()].iter_mut().zip(own) {
            keys[index] = *own;
        }
    }

    fn set_key((): (), keys: &mut Self::Keys, index: usize, key: &Block) {
        keys.iter_mut().for_each(|keys| keys[index] = *key);
    }

    fn blocks((): (), keys: &Self::Keys, program: &[Stage], blocks: &mut [Block]) {
        for (keys, text) in keys[..blocks.len()].iter().zip(blocks) {
            *text = block(keys, program, *text);
        }
    }

    fn macs<T: Texts>((): (), keys: &Self::Keys, macs: &Macs<'_, T>, chains: &mut [Block]) {
        for (lane, (keys, chain)) in keys[..chains.len()].iter().zip(chains).enumerate() {
            let mut text = macs.texts.text(lane).to_vec();
            if macs.ends.is_some() && text.len() < macs.blocks * BLOCK_BYTES {
                text.push(0x80);
            }
            text.resize(macs.blocks * BLOCK_BYTES, 0);
            for (index, text) in text.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
                let end = macs.ends.filter(|_| index + 1 == macs.blocks).map_or([0; 8], |ends| ends[lane]);
                *chain = block(keys, macs.program, xor(xor(*text, end), *chain));
            }
            *chain = block(keys, macs.last, *chain);
        }
    }

    fn cbc_encipher(
        (): (),
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    ) {
        assert_eq!(chains.len(), pieces.len());
        for ((keys, chain), piece) in keys[..chains.len()].iter().zip(chains).zip(pieces) {
            for text in &mut piece.0[..count] {
                *chain = block(keys, program, xor(*text, *chain));
                *text = *chain;
            }
        }
    }

    fn cbc_lines<L: Lines + ?Sized>(
        (): (),
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    ) {
        assert_eq!(chains.len(), lines.lanes());
        for (lane, (keys, chain)) in keys.iter().zip(chains).enumerate() {
            for piece in 0..pieces {
                let mut line = *lines.line(lane, piece);
                for text in line.as_chunks_mut().0 {
                    *chain = block(keys, program, xor(*text, *chain));
                    *text = *chain;
                }
                if let Some(place) = lines.line_mut(lane, piece) {
                    *place = line;
                }
            }
        }
    }

    fn ecb((): (), keys: &Self::Keys, program: &[Stage], data: &mut [u8]) {
        for text in data.as_chunks_mut::<BLOCK_BYTES>().0 {
            *text = block(&keys[0], program, *text);
        }
    }

    fn cbc_decipher((): (), keys: &Self::Keys, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
        for text in data.as_chunks_mut::<BLOCK_BYTES>().0 {
            let before = std::mem::replace(chain, *text);
            *text = xor(block(&keys[0], program, *text), before);
        }
    }

    fn ctr((): (), keys: &Self::Keys, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
        for part in data.chunks_mut(BLOCK_BYTES) {
            let keystream = block(&keys[0], program, counter.to_be_bytes());
            *counter = counter.wrapping_add(1);
            part.iter_mut().zip(keystream).for_each(|(byte, key_byte)| *byte ^= key_byte);
        }
    }
}

fn xor(one: Block, other: Block) -> Block {
    (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::symm::{Cipher, Crypter, Mode};
    use seeded::Random;

    /// FIPS 81, table B1.
    #[test]
    fn a_published_answer() {
        let key = 0x01234567_89abcdef_u64.to_be_bytes();
        let enciphered = des(&key, true, *b"Now is t");
        assert_eq!(enciphered, 0x3fa40e8a_984d4815_u64.to_be_bytes());
        assert_eq!(des(&key, false, enciphered), *b"Now is t");
    }

    #[test]
    fn triple_des_as_openssl_has_it() {
        let mut random = Random(1);
        let program = [Stage::encipher(0), Stage::decipher(1), Stage::encipher(2)];
        for _ in 0..200 {
            let (keys, text) = ([random.array(), random.array(), random.array()], random.array());
            let mut peer = Crypter::new(Cipher::des_ede3_ecb(), Mode::Encrypt, &keys.concat(), None).unwrap();
            peer.pad(false);
            let mut expected = [0; 16];
            assert_eq!(peer.update(&text, &mut expected).unwrap(), 8);
            assert_eq!(block(&keys, &program, text), expected[..8]);
        }
    }
}
