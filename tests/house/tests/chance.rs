//! The numbers that other tests take for chance.

use seeded::Random;

/// The first numbers of seed 0, as java.util.SplittableRandom gives them.
#[test]
fn numbers_are_those_of_splitmix64() {
    let mut random = Random(0);
    assert_eq!(random.number(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(random.bytes(9)[..8], 0x6e78_9e6a_a1b9_65f4_u64.to_le_bytes());
}
