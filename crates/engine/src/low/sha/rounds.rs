//! The rounds of SHA-1, SHA-256 and SHA-512 (FIPS 180-4, 6.1.2, 6.2.2 and 6.4.2), written once for words in vectors. A
//! macro needs `Words`, the word length and the operations in scope.

/// Rotates the words of `$x` right by `$bits` bits.
macro_rules! rotated {
    ($x:ident, $bits:literal) => {
        rotate_right::<$bits, { WORD_BITS - $bits }>($x)
    };
}

/// Defines `load`, using a `quarter_columns` that makes four of the sixteen vectors. Blocks have `$block` bytes.
macro_rules! load_by_quarters {
    ($features:literal, $block:literal) => {
        /// Block `block` of every stream as sixteen vectors of big-endian words. `SHA` gives each kernel a copy of its
        /// own, which the compiler then inlines, so the rounds start before all is loaded.
        ///
        /// # Safety
        /// Every text has a block of this number.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn load<const SHA: usize>(texts: &Texts<'_, $block>, block: usize) -> [Words; 16] {
            // SAFETY: by contract.
            let columns = unsafe {
                [
                    quarter_columns::<SHA, 0>(texts, block),
                    quarter_columns::<SHA, 1>(texts, block),
                    quarter_columns::<SHA, 2>(texts, block),
                    quarter_columns::<SHA, 3>(texts, block),
                ]
            };
            let [[w0, w1, w2, w3], [w4, w5, w6, w7], [w8, w9, w10, w11], [w12, w13, w14, w15]] = columns;
            [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
        }
    };
}

/// Defines `sha1`, which compresses `blocks` blocks of each lane's own text.
macro_rules! sha1_lanes {
    ($features:literal, $token:ty) => {
        /// # Safety
        /// Every text is at least `blocks` blocks long.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn sha1(_token: $token, state: &mut LaneState<u32>, texts: &Texts<'_>, blocks: usize) {
            let [a, b, c, d, e, ..] = &mut state.0;
            let rows = [a, b, c, d, e];
            let mut sums = rows.each_ref().map(|row| get(row));
            for block in 0..blocks {
                // SAFETY: by contract every text has this block.
                let mut w = unsafe { load::<1>(texts, block) };
                let mut s = sums;
                sha1_rounds!(s, w, choose, 0; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
                sha1_rounds!(s, w, xor3, 1; 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);
                sha1_rounds!(s, w, majority, 2; 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59);
                sha1_rounds!(s, w, xor3, 3; 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
                for (sum, word) in sums.iter_mut().zip(s) {
                    *sum = add(*sum, word);
                }
            }
            for (row, sum) in rows.into_iter().zip(sums) {
                put(row, sum);
            }
        }
    };
}

/// Rounds `$t` on the five words `$s`, with the function `$f` and the constant of index `$k`. W(t) replaces W(t - 16)
/// in `$w`. The standard rotates left here: left by one is right by 31.
macro_rules! sha1_rounds {
    ($s:ident, $w:ident, $f:ident, $k:literal; $($t:literal)*) => {
        $(
            if $t >= 16 {
                let far = xor($w[$t & 15], $w[($t + 2) & 15]);
                let word = xor3($w[($t + 8) & 15], $w[($t + 13) & 15], far);
                $w[$t & 15] = rotated!(word, 31);
            }
            let [a, b, c, d, e] = $s;
            let rest = fixed(add(e, fixed(add($w[$t & 15], splat(SHA1_K[$k])))));
            let rest = fixed(add(rest, $f(b, c, d)));
            $s = [add(rotated!(a, 27), rest), a, rotated!(b, 2), c, d];
        )*
    };
}

/// Defines `sha256`; SHA-224 differs only in its initial chaining value.
macro_rules! sha256_lanes {
    ($features:literal, $token:ty) => {
        sha2_lanes! { sha256($features, $token, u32, 64, 256, SHA256_K)
        sum0 2 13 22, sum1 6 11 25, far 7 18 3, near 17 19 10;
        0 1 2 3 4 5 6 7 8 9 10 11
        12 13 14 15 16 17 18 19 20 21 22 23
        24 25 26 27 28 29 30 31 32 33 34 35
        36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59
        60 61 62 63 }
    };
}

/// Defines `sha512`; SHA-384 differs only in its initial chaining value.
macro_rules! sha512_lanes {
    ($features:literal, $token:ty) => {
        sha2_lanes! { sha512($features, $token, u64, 128, 512, SHA512_K)
        sum0 28 34 39, sum1 14 18 41, far 1 8 7, near 19 61 6;
        0 1 2 3 4 5 6 7 8 9 10 11
        12 13 14 15 16 17 18 19 20 21 22 23
        24 25 26 27 28 29 30 31 32 33 34 35
        36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59
        60 61 62 63 64 65 66 67 68 69 70 71
        72 73 74 75 76 77 78 79 }
    };
}

/// Defines `$name`, which compresses `blocks` blocks of each lane's own text. Blocks have `$block` bytes in words
/// `$word`, and rounds `$t` have a constant of `$k` each. The functions of one word (4.1.2, 4.1.3) are given by their
/// rotations; those of the schedule, `far` and `near`, end with a shift.
macro_rules! sha2_lanes {
    (
        $name:ident($features:literal, $token:ty, $word:ty, $block:literal, $sha:literal, $k:ident)
        sum0 $a0:literal $a1:literal $a2:literal, sum1 $e0:literal $e1:literal $e2:literal,
        far $f0:literal $f1:literal $f2:literal, near $n0:literal $n1:literal $n2:literal;
        $($t:literal)*
    ) => {
        /// # Safety
        /// Every text is at least `blocks` blocks long.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(
            _token: $token,
            state: &mut LaneState<$word>,
            texts: &Texts<'_, $block>,
            blocks: usize,
        ) {
            let mut sums = state.0.each_ref().map(|row| get(row));
            for block in 0..blocks {
                // SAFETY: by contract every text has this block.
                let mut w = unsafe { load::<$sha>(texts, block) };
                let mut s = sums;
                $(
                    // W(t) replaces W(t - 16).
                    if $t >= 16 {
                        let (x, y) = (w[($t + 14) & 15], w[($t + 1) & 15]);
                        let near = xor3(rotated!(x, $n0), rotated!(x, $n1), shift_right::<$n2>(x));
                        let far = xor3(rotated!(y, $f0), rotated!(y, $f1), shift_right::<$f2>(y));
                        w[$t & 15] = add(add(w[$t & 15], far), add(w[($t + 9) & 15], near));
                    }
                    let [a, b, c, d, e, f, g, h] = s;
                    let sum1 = xor3(rotated!(e, $e0), rotated!(e, $e1), rotated!(e, $e2));
                    let rest = fixed(add(d, fixed(add(h, fixed(add(w[$t & 15], splat($k[$t])))))));
                    let next = fixed(add(fixed(add(rest, choose(e, f, g))), sum1));
                    let sum0 = xor3(rotated!(a, $a0), rotated!(a, $a1), rotated!(a, $a2));
                    let t1 = sub(next, d);
                    s = [add(fixed(add(t1, majority(a, b, c))), sum0), a, b, c, next, e, f, g];
                )*
                for (sum, word) in sums.iter_mut().zip(s) {
                    *sum = add(*sum, word);
                }
            }
            for (row, sum) in state.0.iter_mut().zip(sums) {
                put(row, sum);
            }
        }
    };
}

pub(super) use {load_by_quarters, rotated, sha1_lanes, sha1_rounds, sha2_lanes, sha256_lanes, sha512_lanes};
