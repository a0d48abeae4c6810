//! The rounds of SHA-1, SHA-256 and SHA-512 (FIPS 180-4, 6.1.2, 6.2.2 and 6.4.2), written once for words that stand in
//! vectors: where a macro is called, `Words` and the operations on them are in scope.

/// Defines `sha1`: every lane takes `blocks` blocks of its own text.
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

/// Rounds `$t` on the five words `$s`, with the function `$f` and the constant of index `$k`. W(t) replaces
/// W(t - 16) in `$w`.
macro_rules! sha1_rounds {
    ($s:ident, $w:ident, $f:ident, $k:literal; $($t:literal)*) => {
        $(
            if $t >= 16 {
                let far = xor($w[$t & 15], $w[($t + 2) & 15]);
                $w[$t & 15] = rotate_left::<1, 31>(xor3($w[($t + 8) & 15], $w[($t + 13) & 15], far));
            }
            let [a, b, c, d, e] = $s;
            let rest = fixed(add(e, fixed(add($w[$t & 15], splat(SHA1_K[$k])))));
            let rest = fixed(add(rest, $f(b, c, d)));
            $s = [add(rotate_left::<5, 27>(a), rest), a, rotate_left::<30, 2>(b), c, d];
        )*
    };
}

/// Defines `sha256`: every lane takes `blocks` blocks of its own text. SHA-224 differs in its start only.
macro_rules! sha256_lanes {
    ($features:literal, $token:ty) => {
        /// # Safety
        /// Every text is at least `blocks` blocks long.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn sha256(_token: $token, state: &mut LaneState<u32>, texts: &Texts<'_>, blocks: usize) {
            let mut sums = state.0.each_ref().map(|row| get(row));
            for block in 0..blocks {
                // SAFETY: by contract every text has this block.
                let mut w = unsafe { load::<256>(texts, block) };
                let mut s = sums;
                sha256_rounds!(s, w; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                sha256_rounds!(s, w; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
                sha256_rounds!(s, w; 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47);
                sha256_rounds!(s, w; 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
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

/// Rounds `$t` on the eight words `$s`. W(t) replaces W(t - 16) in `$w`.
macro_rules! sha256_rounds {
    ($s:ident, $w:ident; $($t:literal)*) => {
        $(
            if $t >= 16 {
                let (x, y) = ($w[($t + 14) & 15], $w[($t + 1) & 15]);
                let near = xor3(rotate_left::<15, 17>(x), rotate_left::<13, 19>(x), shift_right::<10>(x));
                let far = xor3(rotate_left::<25, 7>(y), rotate_left::<14, 18>(y), shift_right::<3>(y));
                $w[$t & 15] = add(add($w[$t & 15], far), add($w[($t + 9) & 15], near));
            }
            let [a, b, c, d, e, f, g, h] = $s;
            let sum1 = xor3(rotate_left::<26, 6>(e), rotate_left::<21, 11>(e), rotate_left::<7, 25>(e));
            let rest = fixed(add(d, fixed(add(h, fixed(add($w[$t & 15], splat(SHA256_K[$t])))))));
            let next = fixed(add(fixed(add(rest, choose(e, f, g))), sum1));
            let sum0 = xor3(rotate_left::<30, 2>(a), rotate_left::<19, 13>(a), rotate_left::<10, 22>(a));
            let t1 = sub(next, d);
            $s = [add(fixed(add(t1, majority(a, b, c))), sum0), a, b, c, next, e, f, g];
        )*
    };
}

/// Defines `sha512`: every lane takes `blocks` blocks of its own text. SHA-384 differs in its start only.
macro_rules! sha512_lanes {
    ($features:literal, $token:ty) => {
        /// # Safety
        /// Every text is at least `blocks` blocks long.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn sha512(
            _token: $token,
            state: &mut LaneState<u64>,
            texts: &Texts<'_, 128>,
            blocks: usize,
        ) {
            let mut sums = state.0.each_ref().map(|row| get(row));
            for block in 0..blocks {
                // SAFETY: by contract every text has this block.
                let mut w = unsafe { load(texts, block) };
                let mut s = sums;
                sha512_rounds!(s, w; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                sha512_rounds!(s, w; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
                sha512_rounds!(s, w; 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47);
                sha512_rounds!(s, w; 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
                sha512_rounds!(s, w; 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
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

/// As `sha256_rounds`, with the rotations of words of 64 bits.
macro_rules! sha512_rounds {
    ($s:ident, $w:ident; $($t:literal)*) => {
        $(
            if $t >= 16 {
                let (x, y) = ($w[($t + 14) & 15], $w[($t + 1) & 15]);
                let near = xor3(rotate_right::<19, 45>(x), rotate_right::<61, 3>(x), shift_right::<6>(x));
                let far = xor3(rotate_right::<1, 63>(y), rotate_right::<8, 56>(y), shift_right::<7>(y));
                $w[$t & 15] = add(add($w[$t & 15], far), add($w[($t + 9) & 15], near));
            }
            let [a, b, c, d, e, f, g, h] = $s;
            let sum1 = xor3(rotate_right::<14, 50>(e), rotate_right::<18, 46>(e), rotate_right::<41, 23>(e));
            let rest = fixed(add(d, fixed(add(h, fixed(add($w[$t & 15], splat(SHA512_K[$t])))))));
            let next = fixed(add(fixed(add(rest, choose(e, f, g))), sum1));
            let sum0 = xor3(rotate_right::<28, 36>(a), rotate_right::<34, 30>(a), rotate_right::<39, 25>(a));
            let t1 = sub(next, d);
            $s = [add(fixed(add(t1, majority(a, b, c))), sum0), a, b, c, next, e, f, g];
        )*
    };
}

pub(super) use {sha1_lanes, sha1_rounds, sha256_lanes, sha256_rounds, sha512_lanes, sha512_rounds};
