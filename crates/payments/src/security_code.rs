//! Card security codes of American Express, versions 1 and 2: of five, four and three digits.
//!
//! ```text version 1   R = E(block) version 2   R = E(E(block) xor service_block) ``` E is TDES under a two-part key.
//! Of the sixteen hexadecimal digits of R the [decimal ones](digits) come first. [`Code::is_confirmed`] and
//! [`Prefix::is_confirmed`] say which results values of another system confirm.

use crate::digits::pack;
use crate::mask::Mask;
use crate::scan::decimals_with;

/// The number of digits of a PAN.
pub const PAN_DIGITS: usize = 15;
/// The number of digits of all three codes together.
pub const DIGITS: usize = 12;
/// In the first five places of R, letters count from one; in later places, from six.
const FIRST_PLACES: usize = 5;

/// The first two digits of a PAN, which determine the order of PAN and expiration date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// 34: the PAN comes before the expiration date.
    ThirtyFour,
    /// 37: the expiration date comes before the PAN.
    ThirtySeven,
}

impl Prefix {
    /// The prefix of a PAN; `None` for cards without such codes.
    pub fn of(pan: &[u8; PAN_DIGITS]) -> Option<Self> {
        match pan {
            [3, 4, ..] => Some(Self::ThirtyFour),
            [3, 7, ..] => Some(Self::ThirtySeven),
            _ => None,
        }
    }

    /// Whether values of another system confirm the codes for this prefix.
    pub fn is_confirmed(self) -> bool {
        self == Self::ThirtySeven
    }
}

/// The codes of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Three digits, CSC-3.
    Three,
    /// Four digits, CSC-4.
    Four,
    /// Five digits, CSC-5.
    Five,
    /// All three codes, the longest first.
    All,
}

impl Code {
    /// Every variant, in the order of the declaration.
    pub const EACH: [Self; 4] = [Self::Three, Self::Four, Self::Five, Self::All];

    /// The number of digits of the code.
    pub fn digits(self) -> usize {
        match self {
            Self::Three => 3,
            Self::Four => 4,
            Self::Five => 5,
            Self::All => DIGITS,
        }
    }

    /// The code's own digits among the twelve of [`digits`].
    pub fn of(self, all: &[u8; DIGITS]) -> &[u8] {
        match self {
            Self::Three => &all[9..],
            Self::Four => &all[5..9],
            Self::Five => &all[..5],
            Self::All => all,
        }
    }

    /// Whether values of another system confirm the code's rules. The known values need no letter from the sixth place
    /// on, and only a code of five digits never needs one.
    pub fn is_confirmed(self) -> bool {
        self == Self::Five
    }
}

/// The first block to encipher: the third to the fourteenth digit of the PAN, and the expiration date as YYMM, in the
/// prefix's order.
pub fn block(prefix: Prefix, pan: &[u8; PAN_DIGITS], expiration: &[u8; 4]) -> [u8; 8] {
    let pan = &pan[2..14];
    let (first, second) = match prefix {
        Prefix::ThirtyFour => (pan, &expiration[..]),
        Prefix::ThirtySeven => (&expiration[..], pan),
    };
    packed(first.iter().chain(second))
}

/// The second block of version 2: the service code, then zeros.
pub fn service_block(service_code: &[u8; 3]) -> [u8; 8] {
    packed(service_code.iter())
}

fn packed<'a>(digits: impl Iterator<Item = &'a u8>) -> [u8; 8] {
    let mut nibbles = [0; 16];
    for (place, digit) in nibbles.iter_mut().zip(digits) {
        *place = digit & 15;
    }
    pack(&nibbles)
}

/// The twelve digits of R: the decimal ones from left to right, then the letters from left to right. A to F count as 1
/// to 6 in the first five places, and as 6, 7, 8, 9, 0, 1 in the others.
pub fn digits(result: &[u8; 8]) -> [u8; DIGITS] {
    decimals_with(result, |place, letter| {
        let value = letter.wrapping_sub(if place < FIRST_PLACES { 9 } else { 4 });
        value.wrapping_sub(Mask::below(value, 10).not().keep(10))
    })
}

/// Whether R gives this code: same number of digits, same digits.
pub fn verifies(result: &[u8; 8], code: Code, given: &[u8]) -> Mask {
    let all = digits(result);
    let own = code.of(&all);
    let fits = if own.len() == given.len() { Mask::YES } else { Mask::NO };
    own.iter().zip(given).fold(fits, |same, (own, other)| same.and(Mask::same(*own, *other & 15)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{KEY, hex, tdes};
    use proptest::prelude::*;

    fn result(pan: &[u8; 15], expiration: &[u8; 4], service_code: Option<&[u8; 3]>) -> [u8; 8] {
        let pan = crate::digits(pan).unwrap();
        let expiration = crate::digits(expiration).unwrap();
        let key = hex(KEY);
        let first = tdes(&key, &block(Prefix::of(&pan).unwrap(), &pan, &expiration));
        match service_code {
            None => first,
            Some(service_code) => {
                let second = service_block(&crate::digits(service_code).unwrap());
                tdes(&key, &std::array::from_fn(|at| first[at] ^ second[at]))
            }
        }
    }

    fn shown(digits: &[u8]) -> String {
        digits.iter().map(u8::to_string).collect()
    }

    /// The first two codes are from an independent calculator. No outside value is known for a PAN that begins with 34,
    /// or for a card whose twelve digits stand for letters from the sixth place on: those values follow the rules by
    /// hand.
    #[test]
    fn codes_are_the_published_ones() {
        let codes = |result| Code::EACH.map(|code| shown(code.of(&digits(&result))));
        let one = result(b"371234567890123", b"9912", None);
        assert_eq!(codes(one), ["552", "8720", "61247", "612478720552"]);
        let two = result(b"371234567890123", b"9912", Some(b"702"));
        assert_eq!(codes(two), ["221", "5068", "21334", "213345068221"]);
        assert_eq!(codes(result(b"371234567890123", b"2505", None))[0], "167");
        assert_eq!(codes(result(b"341234567890123", b"9912", None))[..3], ["716", "9699", "36186"]);
    }

    #[test]
    fn blocks_are_expiration_and_pan_in_the_order_of_the_prefix() {
        let (pan, expiration) = ([3, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 9], [2, 6, 1, 1]);
        assert_eq!(block(Prefix::ThirtySeven, &pan, &expiration), hex("2611123456789012"));
        assert_eq!(block(Prefix::ThirtyFour, &pan, &expiration), hex("1234567890122611"));
        assert_eq!(service_block(&[7, 0, 2]), hex("7020000000000000"));
        for first in 0..=9 {
            for second in 0..=9 {
                let pan = std::array::from_fn(|at| [first, second, 4][at.min(2)]);
                let is_one = first == 3 && [4, 7].contains(&second);
                assert_eq!(Prefix::of(&pan).is_some(), is_one, "{first}{second}");
            }
        }
    }

    #[test]
    fn letters_follow_the_digits_by_the_rule_of_their_place() {
        let all = |text: &str| shown(&digits(&hex(text)));
        assert_eq!(all("0123456789012345"), "012345678901");
        assert_eq!(all("ABCDEFABCDEF0000"), "000012345167");
        assert_eq!(all("AAAAAAAAAAAAAAAA"), "111116666666");
        assert_eq!(all("FFFFFFFFFFFFFFFF"), "666661111111");
        assert_eq!(all("00000ABCDEF00000"), "000000000067");
        assert_eq!(all("FEDCB0ABCDEF1111"), "011116543267");
    }

    /// The digits of a result computed from text, with branches: decimal digits and letters are sorted apart.
    fn twin(result: &[u8; 8]) -> String {
        let text: String = result.iter().map(|byte| format!("{byte:02X}")).collect();
        let decimal: String = text.chars().filter(char::is_ascii_digit).collect();
        let letters: String = text
            .chars()
            .enumerate()
            .filter(|(_, character)| character.is_ascii_alphabetic())
            .map(|(place, letter)| {
                let table = if place <= 4 { "123456" } else { "678901" };
                table.chars().nth(letter as usize - 'A' as usize).unwrap()
            })
            .collect();
        [decimal, letters].concat()[..DIGITS].to_owned()
    }

    /// Wherever the letters stand: the first five places, and the decimal digits behind them, give at least five
    /// digits.
    #[test]
    fn a_code_of_five_digits_needs_no_letter_of_the_second_rule() {
        for letters in 0..1_u32 << 16 {
            let text: String =
                (0..16).map(|place| if letters >> place & 1 == 1 { 'A' } else { '0' }).collect();
            let all = digits(&hex(&text));
            assert!(!Code::Five.of(&all).contains(&6), "{text}");
        }
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_plain_way(result: [u8; 8], wrong in 0..DIGITS, by in 1..10_u8) {
            let all = digits(&result);
            prop_assert_eq!(shown(&all), twin(&result));
            for code in Code::EACH {
                let mut given = code.of(&all).to_vec();
                prop_assert_eq!(given.len(), code.digits());
                prop_assert!(verifies(&result, code, &given).holds());
                let at = wrong % given.len();
                given[at] = (given[at] + by) % 10;
                prop_assert!(!verifies(&result, code, &given).holds());
                prop_assert!(!verifies(&result, code, &given[1..]).holds());
                prop_assert!(!verifies(&result, code, &[]).holds());
            }
        }

        #[test]
        fn whole_computations_are_those_of_the_plain_way(
            pan in "3[47][0-9]{13}", expiration in "[0-9]{4}", service_code in "[0-9]{3}", is_second: bool,
        ) {
            let date: &[u8; 4] = expiration.as_bytes().try_into().unwrap();
            let service: &[u8; 3] = service_code.as_bytes().try_into().unwrap();
            let found = result(pan.as_bytes().try_into().unwrap(), date, is_second.then_some(service));
            let middle = &pan[2..14];
            let text = if pan.starts_with("37") {
                format!("{expiration}{middle}")
            } else {
                format!("{middle}{expiration}")
            };
            let key = hex(KEY);
            let mut expected = tdes(&key, &hex(&text));
            if is_second {
                let second: [u8; 8] = hex(&format!("{service_code:0<16}"));
                expected = tdes(&key, &std::array::from_fn(|at| expected[at] ^ second[at]));
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(shown(&digits(&found)), twin(&expected));
        }
    }
}
