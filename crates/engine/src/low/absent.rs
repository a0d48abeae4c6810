//! Stand-ins for the kernels where the processor is not x86-64: the same names, so that other code is written once for
//! every architecture. Each function takes its kernel's token. No token can be made here, so no function ever runs.

// The functions have the signatures of the kernels, but use no argument.
#![allow(unused_variables)]

/// Stand-in for `low::aes`.
pub(super) mod aes {
    /// ECB and CBC of one stream on 512-bit vectors.
    pub(crate) mod blocks_vaes {
        use crate::low::aes::{Block, RoundKeys};
        use crate::low::cpu::{Avx512, NeverMade};

        pub(crate) fn ecb(token: Avx512, keys: RoundKeys<'_>, encipher: bool, data: &mut [u8]) {
            token.never()
        }

        pub(crate) fn cbc_decipher(token: Avx512, keys: RoundKeys<'_>, chain: &mut Block, data: &mut [u8]) {
            token.never()
        }
    }

    /// CFB on 512-bit vectors.
    pub(crate) mod cfb_vaes {
        use crate::low::aes::{Block, RoundKeys};
        use crate::low::cpu::{Avx512, NeverMade};

        pub(crate) fn decipher<'a>(
            token: Avx512,
            keys: RoundKeys<'_>,
            chain: &mut Block,
            blocks: &'a mut [Block],
        ) -> &'a mut [Block] {
            token.never()
        }
    }

    /// CTR on 512-bit vectors.
    pub(crate) mod ctr_vaes {
        use crate::low::aes::{Block, RoundKeys};
        use crate::low::cpu::{Avx512, NeverMade};

        pub(crate) fn ctr(token: Avx512, keys: RoundKeys<'_>, counter: &mut Block, data: &mut [u8]) {
            token.never()
        }
    }

    /// EAX on 128-bit vectors.
    pub(crate) mod eax_ni {
        use crate::low::aes::{Block, RoundKeys};
        use crate::low::cpu::{Aes, NeverMade};

        pub(crate) fn run(
            token: Aes,
            encipher: bool,
            keys: RoundKeys<'_>,
            counter: &mut Block,
            chain: &mut Block,
            blocks: &mut [Block],
        ) {
            token.never()
        }
    }

    /// GCM on 512-bit vectors.
    pub(crate) mod gcm_vaes {
        use crate::low::aes::gcm::GcmText;
        use crate::low::cpu::{Avx512, NeverMade};

        pub(crate) fn seal<'a>(token: Avx512, texts: impl Iterator<Item = GcmText<'a>>) {
            token.never()
        }

        pub(crate) fn open(token: Avx512, text: GcmText<'_>) {
            token.never()
        }
    }

    /// The powers of GCM's hash key.
    pub(crate) mod ghash_wide {
        use crate::low::aes::Block;
        use crate::low::aes::gcm::ENTRIES;
        use crate::low::cpu::{Avx512, NeverMade};

        pub(crate) fn powers(token: Avx512, key: &Block, powers: &mut [Block; ENTRIES]) {
            token.never()
        }
    }

    macro_rules! ocb {
        ($name:ident, $token:ident) => {
            /// OCB on vectors of AES.
            pub(crate) mod $name {
                use crate::low::aes::ocb::{OcbSums, OcbTable};
                use crate::low::aes::{Block, RoundKeys};
                use crate::low::cpu::{NeverMade, $token};

                pub(crate) fn encipher(
                    token: $token,
                    keys: RoundKeys<'_>,
                    table: &OcbTable,
                    offset: &Block,
                    data: &mut [u8],
                ) -> OcbSums {
                    token.never()
                }

                pub(crate) fn decipher(
                    token: $token,
                    keys: RoundKeys<'_>,
                    table: &OcbTable,
                    offset: &Block,
                    data: &mut [u8],
                ) -> OcbSums {
                    token.never()
                }

                pub(crate) fn hash(
                    token: $token,
                    keys: RoundKeys<'_>,
                    table: &OcbTable,
                    data: &[u8],
                ) -> OcbSums {
                    token.never()
                }
            }
        };
    }

    ocb!(ocb_ni, Aes);
    ocb!(ocb_vaes, Avx512);

    macro_rules! streams {
        ($name:ident, $token:ident) => {
            /// CBC and CBC-MAC of many streams.
            pub(crate) mod $name {
                use crate::low::aes::streams::{LaneText, Lanes};
                use crate::low::cpu::{NeverMade, $token};

                pub(crate) const LANES: usize = 0;

                pub(crate) fn run<T: LaneText>(token: $token, lanes: &mut Lanes<T>, blocks: usize) {
                    token.never()
                }
            }
        };
    }

    streams!(streams_ni, Aes);
    streams!(streams_vaes, Avx512);

    macro_rules! wrap {
        ($name:ident, $token:ident) => {
            /// The wrapping function of many keys.
            pub(crate) mod $name {
                use crate::low::aes::wrap::Lanes;
                use crate::low::cpu::{NeverMade, $token};

                pub(crate) fn run(token: $token, lanes: &mut Lanes, encipher: bool, used: usize) {
                    token.never()
                }
            }
        };
    }

    wrap!(wrap_ni, Aes);
    wrap!(wrap_vaes, Avx512);
}

/// Stand-in for `low::cfb`.
pub(super) mod cfb {
    /// CFB and SHA-1 in one loop.
    pub(crate) mod ni {
        use crate::low::aes::{Block, ROUND_KEYS_MAX};
        use crate::low::cpu::{Aes, NeverMade, Sha};

        pub(crate) unsafe fn expand(token: Aes, key: &[u8], round_keys: &mut [Block; ROUND_KEYS_MAX]) {
            token.never()
        }

        pub(crate) unsafe fn encipher<const ROUNDS: usize>(
            token: Aes,
            round_keys: &[Block; ROUND_KEYS_MAX],
            chain: &mut Block,
            data: &mut [Block],
        ) {
            token.never()
        }

        pub(crate) unsafe fn decipher<const ROUNDS: usize>(
            token: Aes,
            round_keys: &[Block; ROUND_KEYS_MAX],
            chain: &mut Block,
            data: &mut [Block],
        ) {
            token.never()
        }

        pub(crate) unsafe fn encipher_sha1<const ROUNDS: usize>(
            (aes, _): (Aes, Sha),
            round_keys: &[Block; ROUND_KEYS_MAX],
            chain: &mut Block,
            sums: &mut [u32; 5],
            data: &mut [[Block; 4]],
        ) {
            aes.never()
        }

        pub(crate) unsafe fn decipher_sha1<const ROUNDS: usize>(
            (aes, _): (Aes, Sha),
            round_keys: &[Block; ROUND_KEYS_MAX],
            chain: &mut Block,
            sums: &mut [u32; 5],
            data: &mut [[Block; 4]],
        ) {
            aes.never()
        }
    }
}

/// Stand-in for `low::curves`.
pub(super) mod curves {
    /// 52-bit multiplication in eight lanes.
    pub(crate) mod ifma {
        use crate::low::cpu::{Avx512, NeverMade};
        use crate::low::curves::{
            BaseTable, DIGITS, Entry, Extended, Fraction, Number, Point, Row, Secret, Table, Wide,
        };

        macro_rules! doors {
            ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
                $(
                    pub(crate) fn $name(token: Avx512, $($argument: $kind),*) {
                        token.never()
                    }
                )*
            };
        }

        doors! {
            ladder(scalar: &Number, u: &Number, out: &mut Number);
            base_fraction(table: &BaseTable, scalar: &Number, fraction: &mut Fraction);
            quotients(fractions: &mut [Secret<{ 2 * DIGITS }>]);
            add_entry_to(point: &mut Extended, entry: &Entry);
            entry_of(point: &Extended, entry: &mut Entry);
            base_multiple(table: &Table, scalar: &Number, point: &mut Point, used: &mut Number);
            add_to(point: &mut Point, other: &Point);
            affine(point: &Point, z_inverse: &Number, x: &mut Number, y: &mut Number);
            inverses(z: &Number, k: &Number, z_inverse: &mut Number, k_inverse: &mut Number);
            reduce_wide(wide: &Wide, out: &mut Number);
            first_half(point: &Point, z_inverse: &Number, r: &mut Number);
            second_half(k_inverse: &Number, digest: &Number, r: &Number, d: &Number, s: &mut Number);
            is_other(point: &Point, place: [&Number; 2], faults: &mut Row);
            is_other_x(point: &Point, x: &Number, faults: &mut Row);
            faults(
                point: &Point, z_inverse: &Number, used: &Number, request: [&Number; 2], signature: [&Number; 2],
        faults: &mut Row
            );
        }
    }
}

/// Stand-in for `low::des`.
pub(super) mod des {
    use crate::low::cpu::NeverMade;
    use crate::low::des::lines::Lines;
    use crate::low::des::macs::{Macs, Texts};
    use crate::low::des::{Block, Form, Piece, Stage};
    use std::marker::PhantomData;

    /// DES on the vectors of AVX2, one bit of each block in a vector.
    pub(crate) mod bit_sliced_avx2 {
        pub(crate) type BitSliced256 = super::Absent<crate::low::cpu::Avx2, 256>;
    }

    /// DES on the vectors of AVX-512, one bit of each block in a vector.
    pub(crate) mod bit_sliced_avx512 {
        pub(crate) type BitSliced512 = super::Absent<crate::low::cpu::Avx512, 512>;
    }

    /// DES on the vectors of AVX-512, one byte of each block in a vector.
    pub(crate) mod byte_sliced_avx512 {
        pub(crate) type ByteSliced = super::Absent<crate::low::cpu::Avx512, 64>;
    }

    /// DES on the vectors of AVX2, half a block as a row of indices.
    pub(crate) mod rows_avx2 {
        pub(crate) type RowsAvx2 = super::Absent<crate::low::cpu::Avx2, 16>;
    }

    /// DES on the vectors of AVX-512, half a block as the rows of a matrix.
    pub(crate) mod rows_avx512 {
        pub(crate) type Rows8 = super::Absent<crate::low::cpu::Avx512, 8>;
        pub(crate) type Rows16 = super::Absent<crate::low::cpu::Avx512, 16>;
        pub(crate) type Rows24 = super::Absent<crate::low::cpu::Avx512, 24>;
    }

    /// A form of DES that no processor here has.
    pub(crate) struct Absent<Token, const LANES: usize>(PhantomData<Token>);

    impl<Token: NeverMade, const LANES: usize> Form for Absent<Token, LANES> {
        const LANES: usize = LANES;
        type Token = Token;
        type Keys = ();

        fn empty_keys(token: Token) {
            token.never()
        }

        fn set_keys(token: Token, keys: &mut (), index: usize, own: &[Block]) {
            token.never()
        }

        fn set_key(token: Token, keys: &mut (), index: usize, key: &Block) {
            token.never()
        }

        fn blocks(token: Token, keys: &(), program: &[Stage], blocks: &mut [Block]) {
            token.never()
        }

        fn macs<T: Texts>(token: Token, keys: &(), macs: &Macs<'_, T>, chains: &mut [Block]) {
            token.never()
        }

        fn cbc_encipher(
            token: Token,
            keys: &(),
            program: &[Stage],
            chains: &mut [Block],
            pieces: &mut [Piece],
            count: usize,
        ) {
            token.never()
        }

        fn cbc_lines<L: Lines + ?Sized>(
            token: Token,
            keys: &(),
            program: &[Stage],
            chains: &mut [Block],
            lines: &mut L,
            pieces: usize,
        ) {
            token.never()
        }

        fn ecb(token: Token, keys: &(), program: &[Stage], data: &mut [u8]) {
            token.never()
        }

        fn cbc_decipher(token: Token, keys: &(), program: &[Stage], chain: &mut Block, data: &mut [u8]) {
            token.never()
        }

        fn ctr(token: Token, keys: &(), program: &[Stage], counter: &mut u64, data: &mut [u8]) {
            token.never()
        }
    }
}

/// Stand-in for `low::polyval`.
pub(super) mod polyval {
    /// Carry-less multiplication.
    pub(crate) mod clmul {
        use crate::low::aes::Block;
        use crate::low::cpu::{Aes, NeverMade};

        pub(crate) fn absorb(token: Aes, key: &Block, sum: &mut Block, blocks: &[Block]) {
            token.never()
        }
    }
}

/// Stand-in for `low::rsa`.
pub(super) mod rsa {
    /// 52-bit multiplication in eight lanes.
    pub(crate) mod ifma_power {
        use crate::low::cpu::{Avx512, NeverMade};
        use crate::low::rsa::{LANES, Moduli, Row};

        pub(crate) fn power(
            token: Avx512,
            m: &Moduli,
            base: &[Row],
            exponent: &[Row],
            exponent_bits: usize,
            out: &mut [Row],
        ) {
            token.never()
        }

        pub(crate) fn power_pair(
            token: Avx512,
            m: [&Moduli; 2],
            base: [&[Row]; 2],
            exponent: [&[Row]; 2],
            exponent_bits: usize,
            out: [&mut [Row]; 2],
        ) {
            token.never()
        }

        pub(crate) fn power_public_vartime(
            token: Avx512,
            m: &Moduli,
            base: &[Row],
            exponents: &[u64; LANES],
            out: &mut [Row],
        ) {
            token.never()
        }

        pub(crate) fn multiply(token: Avx512, m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
            token.never()
        }

        pub(crate) fn reduce(token: Avx512, m: &Moduli, wide: &[Row], out: &mut [Row]) {
            token.never()
        }

        pub(crate) fn radix_square(token: Avx512, m: &Moduli, out: &mut [Row]) {
            token.never()
        }
    }
}

/// Stand-in for `low::sha`.
pub(super) mod sha {
    macro_rules! lanes {
        ($name:ident, $token:ident $(, $lanes:ident)?) => {
            /// SHA-1 and SHA-256 of many texts.
            pub(crate) mod $name {
                use crate::low::cpu::{$token, NeverMade};
                use crate::low::sha::{LaneState, Texts};

                pub(crate) unsafe fn sha1$(<const $lanes: usize>)?(
                    token: $token,
                    state: &mut LaneState<u32>,
                    texts: &Texts<'_>,
                    blocks: usize,
                ) {
                    token.never()
                }

                pub(crate) unsafe fn sha256$(<const $lanes: usize>)?(
                    token: $token,
                    state: &mut LaneState<u32>,
                    texts: &Texts<'_>,
                    blocks: usize,
                ) {
                    token.never()
                }
            }
        };
    }

    lanes!(avx2, Avx2);
    lanes!(avx512, Avx512);
    lanes!(ni, Sha, LANES);

    macro_rules! wide_lanes {
        ($name:ident, $token:ident) => {
            /// SHA-512 of many texts.
            pub(crate) mod $name {
                use crate::low::cpu::{NeverMade, $token};
                use crate::low::sha::{LaneState, Texts};

                pub(crate) unsafe fn sha512(
                    token: $token,
                    state: &mut LaneState<u64>,
                    texts: &Texts<'_, 128>,
                    blocks: usize,
                ) {
                    token.never()
                }
            }
        };
    }

    wide_lanes!(wide_avx2, Avx2);
    wide_lanes!(wide_avx512, Avx512);
}
