//! Alphabets of format-preserving encryption.

use payments::ff1::{Alphabet, Direction, Fault, Ff1};

/// The length of an alphabet, the alphabet, the length of a tweak, the tweak, a text. What is enciphered is of the alphabet, is
/// as long, and deciphers; only what the standard forbids is refused.
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
        Ff1::new(alphabet.radix(), digits, tweak, direction).map(|ff1| ff1.run(scrambled))
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
    let shown = alphabet.text(&there);
    assert!(shown.len() == text.len() && shown.iter().all(|character| characters.contains(character)));
    let back = run(&there, Direction::Decipher).expect("what is enciphered is deciphered");
    assert_eq!(alphabet.text(&back)[..], *text);
}

/// Stands for AES: any function of a block does.
fn scrambled(block: [u8; 16]) -> [u8; 16] {
    let mixed = u128::from_be_bytes(block).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    (mixed ^ (mixed >> 61)).wrapping_mul(0xBF58_476D_1CE4_E5B9_94D0_49BB_1331_11EB).to_le_bytes()
}

/// Bytes behind their number, and what is behind them.
fn counted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = data.split_first()?;
    rest.split_at_checked(usize::from(*count))
}
