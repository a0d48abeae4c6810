//! POLYVAL (RFC 8452, section 3), the universal hash of HCTR2: one file per instruction set.
//!
//! Sums and keys are elements of GF(2^128) modulo x^128 + x^127 + x^126 + x^121 + 1; their lowest bit is the lowest of
//! the first byte. `dot(a, b)` is a * b * x^-128: the 256-bit product is reduced to 128 bits from below. The polynomial
//! gives the value of a low word 128 bits higher: 1 = x^128 * (1 + x^-1 + x^-2 + x^-7).

#[cfg(not(target_arch = "x86_64"))]
use super::absent::polyval::clmul;
use super::aes::Block;
use super::cpu::Cpu;

#[cfg(target_arch = "x86_64")]
mod clmul;
mod plain;

/// `sum = dot(sum XOR block, key)` for each block in turn.
#[inline]
pub(crate) fn absorb(cpu: Cpu, key: &Block, sum: &mut Block, blocks: &[Block]) {
    if let Some(token) = cpu.aes {
        return clmul::absorb(token, key, sum, blocks);
    }
    plain::absorb(key, sum, blocks);
}

/// The element times x (mulX_POLYVAL of RFC 8452, appendix A), without a branch on it.
#[inline]
pub(crate) fn double(element: &mut Block) {
    const POLYNOMIAL: u128 = 0xC200_0000_0000_0000_0000_0000_0000_0001;
    let value = u128::from_le_bytes(*element);
    *element = (value << 1 ^ POLYNOMIAL & (value >> 127).wrapping_neg()).to_le_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeded::Random;

    fn block(text: u128) -> Block {
        text.to_be_bytes()
    }

    fn both(key: &Block, start: &Block, blocks: &[Block]) -> Block {
        let (mut one, mut two) = (*start, *start);
        absorb(Cpu::PORTABLE, key, &mut one, blocks);
        absorb(Cpu::up_to_avx2(), key, &mut two, blocks);
        assert_eq!(one, two);
        one
    }

    /// RFC 8452, appendix A.
    #[test]
    fn the_published_answer() {
        let key = block(0x2562_9347_5892_4276_1d31_f826_ba4b_757b);
        let blocks = [
            block(0x4f4f_9566_8c83_dfb6_4017_62bb_2d01_a262),
            block(0xd1a2_4ddd_2721_d006_bbe4_5f20_d3c9_f362),
        ];
        assert_eq!(both(&key, &[0; 16], &blocks), block(0xf7a3_b47b_8461_19fa_e5b7_866c_f5e5_b77e));
    }

    /// RFC 8452, appendix A: mulX_POLYVAL.
    #[test]
    fn the_published_doubles() {
        for (element, doubled) in [
            (0x0100_0000_0000_0000_0000_0000_0000_0000, 0x0200_0000_0000_0000_0000_0000_0000_0000),
            (0x9c98_c04d_f938_7ded_8281_75a9_2ba6_52d8, 0x3931_819b_f271_fada_0503_eb52_574c_a572),
        ] {
            let mut element = block(element);
            double(&mut element);
            assert_eq!(element, block(doubled));
        }
    }

    /// The kernels agree, and the product is linear in each factor.
    #[test]
    fn kernels_agree() {
        let mut random = Random(1);
        for round in 0..2000 {
            let (mut key, one, two) = (random.array(), random.array(), random.array());
            if round < 128 {
                key = (1u128 << round).to_le_bytes();
            }
            let xor = |a: Block, b: Block| (u128::from_le_bytes(a) ^ u128::from_le_bytes(b)).to_le_bytes();
            let sum = both(&key, &[0; 16], &[xor(one, two)]);
            assert_eq!(sum, xor(both(&key, &[0; 16], &[one]), both(&key, &[0; 16], &[two])));
            assert_eq!(both(&key, &one, &[two]), sum);
            assert_eq!(both(&one, &[0; 16], &[key]), both(&key, &[0; 16], &[one]));
        }
    }
}
