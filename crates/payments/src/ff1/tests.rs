use super::*;
use crate::testing::encipher;
use engine::CipherAlgorithm;
use proptest::prelude::*;

const KEY: &str = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94";
const DECIMAL: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn through(key: &[u8], alphabet: &[u8], tweak: &[u8], text: &[u8], direction: Direction) -> Vec<u8> {
    let alphabet = Alphabet::new(alphabet).unwrap();
    let (digits, is_known) = alphabet.digits(text);
    assert!(is_known.holds());
    let algorithm = match key.len() {
        16 => CipherAlgorithm::Aes128,
        24 => CipherAlgorithm::Aes192,
        _ => CipherAlgorithm::Aes256,
    };
    let ff1 = Ff1::new(alphabet.radix(), &digits, tweak, direction).unwrap();
    alphabet.text(&ff1.run(|block| encipher(algorithm, key, &block))).to_vec()
}

/// NIST's samples of FF1, 1 to 9.
#[test]
fn texts_are_the_published_ones() {
    let key = bytes(KEY);
    let (short, long) = ("39383736353433323130", "3737373770717273373737");
    let digits = "0123456789";
    for (key_bytes, alphabet, tweak, clear, enciphered) in [
        (16, DECIMAL, "", digits, "2433477484"),
        (16, DECIMAL, short, digits, "6124200773"),
        (16, LETTERS, long, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
        (24, DECIMAL, "", digits, "2830668132"),
        (24, DECIMAL, short, digits, "2496655549"),
        (24, LETTERS, long, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
        (32, DECIMAL, "", digits, "6657667009"),
        (32, DECIMAL, short, digits, "1001623463"),
        (32, LETTERS, long, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
    ] {
        let (key, tweak) = (&key[..key_bytes], bytes(tweak));
        let there = through(key, alphabet, &tweak, clear.as_bytes(), Direction::Encipher);
        assert_eq!(std::str::from_utf8(&there), Ok(enciphered));
        let back = through(key, alphabet, &tweak, &there, Direction::Decipher);
        assert_eq!(std::str::from_utf8(&back), Ok(clear));
    }
}

#[test]
fn what_is_too_short_or_long_is_refused() {
    let radix = |value| Radix::new(value).unwrap();
    let fault = |value, digits: &[u8], tweak: usize| {
        Ff1::new(radix(value), digits, &vec![0; tweak], Direction::Encipher).err()
    };
    assert_eq!(fault(10, &[0; 5], 0), Some(Fault::TooShort));
    assert_eq!(fault(10, &[0; 6], TWEAK_BYTES_MAX), None);
    assert_eq!(fault(2, &[0; 19], 0), Some(Fault::TooShort));
    assert_eq!(fault(255, &[0; 2], 0), Some(Fault::TooShort));
    assert_eq!(fault(255, &[0; 3], 0), None);
    assert_eq!(fault(10, &[], 0), Some(Fault::TooShort));
    assert_eq!(fault(10, &[0; DIGITS_MAX], 0), None);
    assert_eq!(fault(10, &[0; DIGITS_MAX + 1], 0), Some(Fault::TooLong));
    assert_eq!(fault(10, &[0; 6], TWEAK_BYTES_MAX + 1), Some(Fault::Tweak));
    let run =
        |digits: &[u8]| Ff1::new(radix(10), digits, &[], Direction::Encipher).unwrap().run(|block| block);
    assert_eq!(run(&[1, 2, 3, 4, 5, 10]), run(&[1, 2, 3, 4, 5, 0]));
}

/// Requests of the same radix and lengths need equally many blocks, whatever their digits, so that they can share
/// passes.
#[test]
fn requests_of_one_shape_keep_step() {
    let count = |digits: &[u8]| {
        let mut ff1 = Ff1::new(Radix::new(36).unwrap(), digits, &[7; 20], Direction::Decipher).unwrap();
        let mut count = 0;
        while let Some(block) = ff1.block() {
            ff1.take(&block.map(|byte| byte.wrapping_mul(167) ^ count as u8));
            count += 1;
        }
        ff1.take(&[0; 16]);
        assert!(ff1.block().is_none());
        count
    };
    assert_eq!(count(&[0; 60]), count(&[35; 60]));
    assert!(count(&[0; 60]) > 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn the_crate_fpe_says_the_same(
        radix in 2..=255_u8, seed in proptest::collection::vec(any::<u8>(), 20..120), key: [u8; 32], length in 0..3_usize,
        tweak in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let digits: Vec<u8> = seed.iter().map(|byte| byte % radix).collect();
        let numerals = fpe::ff1::FlexibleNumeralString::from(digits.iter().map(|digit| u16::from(*digit)).collect::<Vec<_>>());
        let theirs = |enciphers: bool| -> Vec<u8> {
            macro_rules! with {
                ($cipher:ty, $bytes:literal) => {{
                    let ff1 = fpe::ff1::FF1::<$cipher>::new(&key[..$bytes], radix.into()).unwrap();
                    if enciphers { ff1.encrypt(&tweak, &numerals).unwrap() } else { ff1.decrypt(&tweak, &numerals).unwrap() }
                }};
            }
            let result = match length {
                0 => with!(aes::Aes128, 16),
                1 => with!(aes::Aes192, 24),
                _ => with!(aes::Aes256, 32),
            };
            Vec::<u16>::from(result).into_iter().map(|digit| digit as u8).collect()
        };
        let (algorithm, key_bytes) =
            [(CipherAlgorithm::Aes128, 16), (CipherAlgorithm::Aes192, 24), (CipherAlgorithm::Aes256, 32)][length];
        for direction in [Direction::Encipher, Direction::Decipher] {
            let ours = Ff1::new(Radix::new(radix).unwrap(), &digits, &tweak, direction).unwrap();
            let ours = ours.run(|block| encipher(algorithm, &key[..key_bytes], &block));
            prop_assert_eq!(&ours[..], theirs(direction == Direction::Encipher));
        }
    }
}
