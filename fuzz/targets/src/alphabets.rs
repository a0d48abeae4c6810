//! Alphabets of format-preserving encryption.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use fpe::ff1::{FF1, FlexibleNumeralString};
use payments::ff1::{Alphabet, Direction, Fault, Ff1};

/// The key of NIST's first samples.
const KEY: [u8; 16] = 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C_u128.to_be_bytes();

/// The length of an alphabet, the alphabet, the length of a tweak, the tweak, a text. What is enciphered is of the
/// alphabet, is as long, deciphers, and is what the crate fpe makes of it; only what the standard forbids is refused.
pub fn ff1_alphabet(data: &[u8]) {
    let Some((characters, rest)) = counted(data) else { return };
    let Ok(alphabet) = Alphabet::new(characters) else {
        let mut sorted = characters.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(characters.len() < 2 || sorted.len() < characters.len(), "an alphabet is read");
        return;
    };
    let Some((tweak, text)) = counted(rest) else { return };
    let (digits, is_known) = alphabet.digits(text);
    assert_eq!(is_known.holds(), text.iter().all(|character| characters.contains(character)));
    if !is_known.holds() {
        return;
    }
    let run = |digits: &[u8], direction| {
        Ff1::new(alphabet.radix(), digits, tweak, direction).map(|ff1| ff1.run(enciphered))
    };
    let there = match run(&digits, Direction::Encipher) {
        Ok(there) => there,
        Err(fault) => {
            let texts = (characters.len() as f64).powi(text.len().min(100) as i32);
            let expected =
                if text.len() > payments::ff1::DIGITS_MAX { Fault::TooLong } else { Fault::TooShort };
            assert!(fault == expected && (texts < 1e6 || fault == Fault::TooLong));
            return;
        }
    };
    let numerals =
        FlexibleNumeralString::from(digits.iter().map(|digit| u16::from(*digit)).collect::<Vec<_>>());
    let theirs = FF1::<Aes128>::new(&KEY, characters.len() as u32).expect("a radix below 65,536");
    let theirs = Vec::<u16>::from(theirs.encrypt(tweak, &numerals).expect("a text that is long enough"));
    assert!(theirs.iter().zip(&there[..]).all(|(one, own)| *one == u16::from(*own)));
    let shown = alphabet.text(&there);
    assert!(shown.len() == text.len() && shown.iter().all(|character| characters.contains(character)));
    let back = run(&there, Direction::Decipher).expect("what is enciphered is deciphered");
    assert_eq!(alphabet.text(&back)[..], *text);
}

/// A block of AES.
fn enciphered(block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    Aes128::new(&KEY.into()).encrypt_block(&mut block);
    block.into()
}

/// Bytes behind their number, and what is behind them.
fn counted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = data.split_first()?;
    rest.split_at_checked(usize::from(*count))
}
