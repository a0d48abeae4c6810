//! The S-boxes (FIPS 46-3, Appendix 1) as circuits of gates of three inputs: 206 operations in all,
//! the sums with the left half among them. Written by `examples/des_circuits`, which says how they were
//! found; not to be edited.

use super::bit_sliced_words::Ternary;

/// S1: 28 operations.
#[inline(always)]
fn s1<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x71>(n2, n5, n4);
    let n7 = W::lut3::<0xca>(n6, n1, n5);
    let n8 = W::lut3::<0x16>(n7, n2, n4);
    let n9 = W::lut3::<0x6c>(n0, n6, n8);
    let n10 = W::lut3::<0xbd>(n1, n0, n2);
    let n11 = W::lut3::<0x92>(n10, n4, n5);
    let n12 = W::lut3::<0x06>(n1, n4, n0);
    let n13 = W::lut3::<0xb4>(n11, n9, n12);
    let n14 = W::lut3::<0x9a>(n13, n3, n1);
    let n15 = W::lut3::<0xbd>(n14, n0, n3);
    let n16 = W::lut3::<0xb4>(n15, n1, n2);
    let n17 = W::lut3::<0xc9>(n2, n0, n1);
    let n18 = W::lut3::<0xe5>(n4, n10, n17);
    let n19 = W::lut3::<0x6c>(n3, n17, n18);
    let n20 = W::lut3::<0xc6>(n11, n16, n19);
    let n21 = W::lut3::<0x12>(n3, n20, n6);
    let n22 = W::lut3::<0xd2>(n21, n19, n13);
    let n23 = W::lut3::<0x79>(n20, n11, n4);
    let n24 = W::lut3::<0xa6>(n23, n19, n3);
    let n25 = W::lut3::<0xc6>(n0, n22, n24);
    let n26 = W::lut3::<0xa8>(n9, n8, n14);
    let n27 = W::lut3::<0x05>(n21, n7, n7);
    let n28 = W::lut3::<0xda>(n27, n13, n4);
    let n29 = W::lut3::<0xca>(n25, n26, n28);
    let o0 = W::lut3::<0x96>(n14, n9, l0);
    let o1 = W::lut3::<0x96>(n25, n9, l1);
    let o2 = W::lut3::<0x96>(n20, n1, l2);
    let o3 = W::lut3::<0x96>(n29, n20, l3);
    [o0, o1, o2, o3]
}

/// S2: 26 operations.
#[inline(always)]
fn s2<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0xe2>(n3, n1, n0);
    let n7 = W::lut3::<0x52>(n6, n4, n5);
    let n8 = W::lut3::<0x6d>(n3, n0, n5);
    let n9 = W::lut3::<0x2c>(n4, n7, n8);
    let n10 = W::lut3::<0xab>(n6, n1, n5);
    let n11 = W::lut3::<0x7a>(n10, n4, n0);
    let n12 = W::lut3::<0xc6>(n2, n9, n11);
    let n13 = W::lut3::<0x8b>(n2, n11, n1);
    let n14 = W::lut3::<0x5a>(n13, n3, n3);
    let n15 = W::lut3::<0x96>(n11, n5, n4);
    let n16 = W::lut3::<0x58>(n15, n1, n0);
    let n17 = W::lut3::<0xc6>(n12, n14, n16);
    let n18 = W::lut3::<0xad>(n7, n9, n14);
    let n19 = W::lut3::<0x7a>(n18, n8, n11);
    let n20 = W::lut3::<0xa2>(n9, n4, n15);
    let n21 = W::lut3::<0xc2>(n20, n1, n5);
    let n22 = W::lut3::<0xc6>(n2, n19, n21);
    let n23 = W::lut3::<0x8e>(n17, n13, n9);
    let n24 = W::lut3::<0xd6>(n23, n16, n19);
    let n25 = W::lut3::<0x4c>(n8, n15, n17);
    let n26 = W::lut3::<0x16>(n25, n10, n0);
    let n27 = W::lut3::<0xc6>(n22, n24, n26);
    let o0 = W::lut3::<0x96>(n12, n1, l0);
    let o1 = W::lut3::<0x96>(n22, n15, l1);
    let o2 = W::lut3::<0x96>(n27, n2, l2);
    let o3 = W::lut3::<0x96>(n17, n10, l3);
    [o0, o1, o2, o3]
}

/// S3: 26 operations.
#[inline(always)]
fn s3<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x6d>(n5, n0, n3);
    let n7 = W::lut3::<0x87>(n6, n4, n2);
    let n8 = W::lut3::<0x3a>(n0, n2, n3);
    let n9 = W::lut3::<0xc6>(n4, n7, n8);
    let n10 = W::lut3::<0xd7>(n8, n5, n0);
    let n11 = W::lut3::<0x7c>(n1, n9, n10);
    let n12 = W::lut3::<0xa9>(n0, n4, n1);
    let n13 = W::lut3::<0xad>(n2, n8, n12);
    let n14 = W::lut3::<0x16>(n8, n1, n0);
    let n15 = W::lut3::<0x95>(n14, n9, n3);
    let n16 = W::lut3::<0xc6>(n5, n13, n15);
    let n17 = W::lut3::<0x06>(n8, n7, n14);
    let n18 = W::lut3::<0xac>(n6, n1, n4);
    let n19 = W::lut3::<0x6c>(n3, n17, n18);
    let n20 = W::lut3::<0x47>(n6, n4, n8);
    let n21 = W::lut3::<0xb6>(n20, n0, n12);
    let n22 = W::lut3::<0xc6>(n2, n19, n21);
    let n23 = W::lut3::<0xbc>(n6, n21, n19);
    let n24 = W::lut3::<0xb0>(n23, n10, n3);
    let n25 = W::lut3::<0xd2>(n21, n18, n5);
    let n26 = W::lut3::<0x7a>(n25, n23, n2);
    let n27 = W::lut3::<0xc6>(n0, n24, n26);
    let o0 = W::lut3::<0x96>(n16, n9, l0);
    let o1 = W::lut3::<0x96>(n22, n10, l1);
    let o2 = W::lut3::<0x96>(n27, n4, l2);
    let o3 = W::lut3::<0x96>(n11, n3, l3);
    [o0, o1, o2, o3]
}

/// S4: 22 operations.
#[inline(always)]
fn s4<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0xcb>(n4, n3, n0);
    let n7 = W::lut3::<0xc1>(n2, n6, n3);
    let n8 = W::lut3::<0x94>(n6, n2, n0);
    let n9 = W::lut3::<0xbc>(n8, n3, n4);
    let n10 = W::lut3::<0xca>(n1, n7, n9);
    let n11 = W::lut3::<0xc9>(n1, n4, n7);
    let n12 = W::lut3::<0x8d>(n3, n1, n7);
    let n13 = W::lut3::<0x6c>(n9, n11, n12);
    let n14 = W::lut3::<0xc6>(n5, n10, n13);
    let n15 = W::lut3::<0xc6>(n13, n0, n5);
    let n16 = W::lut3::<0x70>(n13, n10, n6);
    let n17 = W::lut3::<0x5c>(n1, n0, n9);
    let n18 = W::lut3::<0xac>(n2, n16, n17);
    let n19 = W::lut3::<0x70>(n9, n3, n6);
    let n20 = W::lut3::<0xe7>(n0, n9, n1);
    let n21 = W::lut3::<0xac>(n11, n19, n20);
    let n22 = W::lut3::<0xca>(n5, n18, n21);
    let n23 = W::lut3::<0x74>(n18, n5, n21);
    let o0 = W::lut3::<0x96>(n22, n12, l0);
    let o1 = W::lut3::<0x96>(n23, n12, l1);
    let o2 = W::lut3::<0x96>(n15, n10, l2);
    let o3 = W::lut3::<0x96>(n14, n0, l3);
    [o0, o1, o2, o3]
}

/// S5: 27 operations.
#[inline(always)]
fn s5<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x29>(n4, n0, n2);
    let n7 = W::lut3::<0x5a>(n6, n1, n1);
    let n8 = W::lut3::<0xc8>(n5, n0, n4);
    let n9 = W::lut3::<0x12>(n8, n3, n6);
    let n10 = W::lut3::<0x97>(n2, n0, n5);
    let n11 = W::lut3::<0xc6>(n7, n9, n10);
    let n12 = W::lut3::<0xc6>(n3, n7, n11);
    let n13 = W::lut3::<0xb4>(n11, n3, n4);
    let n14 = W::lut3::<0x61>(n5, n4, n1);
    let n15 = W::lut3::<0xac>(n12, n13, n14);
    let n16 = W::lut3::<0x65>(n3, n5, n10);
    let n17 = W::lut3::<0xb6>(n16, n4, n1);
    let n18 = W::lut3::<0xac>(n0, n15, n17);
    let n19 = W::lut3::<0xd5>(n17, n16, n6);
    let n20 = W::lut3::<0x9a>(n19, n8, n5);
    let n21 = W::lut3::<0x35>(n0, n4, n16);
    let n22 = W::lut3::<0xbc>(n21, n12, n1);
    let n23 = W::lut3::<0xac>(n18, n20, n22);
    let n24 = W::lut3::<0x62>(n21, n6, n3);
    let n25 = W::lut3::<0x52>(n24, n12, n20);
    let n26 = W::lut3::<0x47>(n5, n3, n2);
    let n27 = W::lut3::<0x36>(n26, n14, n7);
    let n28 = W::lut3::<0x6c>(n17, n25, n27);
    let o0 = W::lut3::<0x96>(n28, n9, l0);
    let o1 = W::lut3::<0x96>(n12, n5, l1);
    let o2 = W::lut3::<0x96>(n18, n3, l2);
    let o3 = W::lut3::<0x96>(n23, n13, l3);
    [o0, o1, o2, o3]
}

/// S6: 26 operations.
#[inline(always)]
fn s6<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x63>(n2, n3, n1);
    let n7 = W::lut3::<0x96>(n6, n4, n0);
    let n8 = W::lut3::<0x67>(n4, n2, n7);
    let n9 = W::lut3::<0x6b>(n8, n0, n2);
    let n10 = W::lut3::<0xd3>(n9, n6, n1);
    let n11 = W::lut3::<0x6c>(n5, n8, n10);
    let n12 = W::lut3::<0x58>(n11, n0, n1);
    let n13 = W::lut3::<0xbd>(n0, n3, n1);
    let n14 = W::lut3::<0xa8>(n5, n12, n13);
    let n15 = W::lut3::<0x36>(n6, n5, n0);
    let n16 = W::lut3::<0xd3>(n15, n12, n7);
    let n17 = W::lut3::<0x9c>(n16, n2, n4);
    let n18 = W::lut3::<0x49>(n11, n2, n1);
    let n19 = W::lut3::<0x97>(n18, n3, n0);
    let n20 = W::lut3::<0xce>(n10, n19, n15);
    let n21 = W::lut3::<0x95>(n6, n14, n12);
    let n22 = W::lut3::<0xca>(n17, n20, n21);
    let n23 = W::lut3::<0xb4>(n7, n15, n10);
    let n24 = W::lut3::<0x1e>(n23, n16, n21);
    let n25 = W::lut3::<0xc6>(n11, n2, n1);
    let n26 = W::lut3::<0x5c>(n25, n20, n16);
    let n27 = W::lut3::<0xc6>(n0, n24, n26);
    let o0 = W::lut3::<0x96>(n11, n1, l0);
    let o1 = W::lut3::<0x96>(n27, n12, l1);
    let o2 = W::lut3::<0x96>(n17, n14, l2);
    let o3 = W::lut3::<0x96>(n22, n7, l3);
    [o0, o1, o2, o3]
}

/// S7: 26 operations.
#[inline(always)]
fn s7<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x69>(n0, n4, n3);
    let n7 = W::lut3::<0x65>(n3, n4, n1);
    let n8 = W::lut3::<0xc6>(n2, n6, n7);
    let n9 = W::lut3::<0xd7>(n6, n2, n0);
    let n10 = W::lut3::<0x74>(n9, n7, n1);
    let n11 = W::lut3::<0x6c>(n5, n8, n10);
    let n12 = W::lut3::<0x59>(n0, n4, n2);
    let n13 = W::lut3::<0x1c>(n12, n5, n1);
    let n14 = W::lut3::<0x5b>(n5, n13, n4);
    let n15 = W::lut3::<0x2b>(n5, n7, n3);
    let n16 = W::lut3::<0xca>(n0, n14, n15);
    let n17 = W::lut3::<0x6c>(n8, n13, n16);
    let n18 = W::lut3::<0x29>(n4, n15, n7);
    let n19 = W::lut3::<0x96>(n18, n16, n3);
    let n20 = W::lut3::<0x47>(n13, n3, n11);
    let n21 = W::lut3::<0x1e>(n20, n5, n8);
    let n22 = W::lut3::<0xc6>(n0, n19, n21);
    let n23 = W::lut3::<0xd7>(n11, n15, n3);
    let n24 = W::lut3::<0x94>(n23, n1, n13);
    let n25 = W::lut3::<0x87>(n16, n2, n1);
    let n26 = W::lut3::<0xb0>(n25, n10, n23);
    let n27 = W::lut3::<0xca>(n0, n24, n26);
    let o0 = W::lut3::<0x96>(n17, n10, l0);
    let o1 = W::lut3::<0x96>(n27, n4, l1);
    let o2 = W::lut3::<0x96>(n22, n2, l2);
    let o3 = l3.xor(n11);
    [o0, o1, o2, o3]
}

/// S8: 25 operations.
#[inline(always)]
fn s8<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    let [n0, n1, n2, n3, n4, n5] = inputs;
    let [l0, l1, l2, l3] = left;
    let n6 = W::lut3::<0x59>(n2, n1, n4);
    let n7 = W::lut3::<0x8e>(n2, n6, n0);
    let n8 = W::lut3::<0x94>(n7, n4, n1);
    let n9 = W::lut3::<0xca>(n3, n6, n8);
    let n10 = W::lut3::<0xf6>(n3, n6, n7);
    let n11 = W::lut3::<0xe5>(n6, n0, n2);
    let n12 = W::lut3::<0xc6>(n1, n10, n11);
    let n13 = W::lut3::<0xc6>(n5, n9, n12);
    let n14 = W::lut3::<0x61>(n3, n2, n1);
    let n15 = W::lut3::<0xf1>(n14, n9, n10);
    let n16 = W::lut3::<0xe6>(n10, n2, n8);
    let n17 = W::lut3::<0xd7>(n16, n15, n0);
    let n18 = W::lut3::<0xc6>(n5, n15, n17);
    let n19 = W::lut3::<0xe6>(n0, n5, n17);
    let n20 = W::lut3::<0xd1>(n18, n19, n14);
    let n21 = W::lut3::<0xd0>(n11, n13, n6);
    let n22 = W::lut3::<0x78>(n21, n10, n7);
    let n23 = W::lut3::<0xbf>(n6, n1, n21);
    let n24 = W::lut3::<0x6c>(n20, n22, n23);
    let n25 = W::lut3::<0xef>(n11, n18, n10);
    let n26 = W::lut3::<0x9c>(n25, n12, n13);
    let o0 = W::lut3::<0x96>(n26, n19, l0);
    let o1 = W::lut3::<0x96>(n18, n7, l1);
    let o2 = W::lut3::<0x96>(n24, n0, l2);
    let o3 = W::lut3::<0x96>(n13, n0, l3);
    [o0, o1, o2, o3]
}

/// An S-box, counted from 0, added to bits of the left half.
#[inline(always)]
pub(super) fn s_box<W: Ternary, const BOX: usize>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {
    match BOX {
        0 => s1(inputs, left),
        1 => s2(inputs, left),
        2 => s3(inputs, left),
        3 => s4(inputs, left),
        4 => s5(inputs, left),
        5 => s6(inputs, left),
        6 => s7(inputs, left),
        _ => s8(inputs, left),
    }
}
