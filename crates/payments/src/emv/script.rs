//! Scripts of an issuer: commands to a card, with a MAC and enciphered data (EMV 4.3, book 2, section 9).

use super::{Padding, padded};
use crate::digits::pack;
use crate::mask::Mask;
use crate::pin::Pin;
use zeroize::{Zeroize, Zeroizing};

/// The message whose MAC protects a command: the command's header, the values that bind it to a transaction (counter,
/// cryptogram), and its data.
pub fn message(header: &[u8], bound: &[u8], data: &[u8]) -> Zeroizing<Vec<u8>> {
    padded(&[header, bound, data].concat(), Padding::Bit)
}

/// How the data of a command are laid out and enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// EMV: always padded; CBC.
    Emv,
    /// Visa: a length byte in front, always padded; each block enciphered by itself.
    Visa,
    /// MasterCard: padded only up to whole blocks; CBC.
    MasterCard,
}

impl Method {
    /// Whether blocks are chained (CBC with a zero vector); else each is enciphered by itself.
    pub const fn is_chained(self) -> bool {
        matches!(self, Self::Emv | Self::MasterCard)
    }

    /// The clear data, padded to whole blocks of eight bytes. `None` if Visa's data have more than 255 bytes.
    pub fn clear(self, data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Self::Emv => Some(padded(data, Padding::Bit)),
            Self::MasterCard if data.len().is_multiple_of(8) => Some(Zeroizing::new(data.to_vec())),
            Self::MasterCard => Some(padded(data, Padding::Bit)),
            Self::Visa => {
                let length = u8::try_from(data.len()).ok()?;
                let mut all = Zeroizing::new(Vec::with_capacity(1 + data.len()));
                all.push(length);
                all.extend_from_slice(data);
                Some(padded(&all, Padding::Bit))
            }
        }
    }
}

/// The block of a new PIN for Visa cards: the PIN of 4 to 12 digits as in an ISO-0 block, XORed with the right half of
/// `key_left`, the left half of the card's key for cryptograms. If `current` is given, the current PIN is XORed too. A
/// longer PIN is cut to its leftmost digits.
pub fn visa_pin_block(key_left: &[u8; 8], pin: &Pin, current: Option<&Pin>) -> Zeroizing<[u8; 8]> {
    let mut block = pin_field(0, pin);
    block[4..].iter_mut().zip(&key_left[4..]).for_each(|(byte, other)| *byte ^= other);
    if let Some(current) = current {
        let mut before = pack(current.digits());
        block.iter_mut().zip(&before).for_each(|(byte, other)| *byte ^= other);
        before.zeroize();
    }
    block
}

/// The block of ISO 9564-1 format 2, which EMV's and MasterCard's cards take: a PIN of 4 to 12 digits, filled. A longer
/// PIN is cut to its leftmost digits.
pub fn iso2_pin_block(pin: &Pin) -> Zeroizing<[u8; 8]> {
    pin_field(2, pin)
}

/// Control digit, length and digits of a PIN, filled with X'F'.
fn pin_field(control: u8, pin: &Pin) -> Zeroizing<[u8; 8]> {
    let mut nibbles = [0; 16];
    let length = Mask::below(12, pin.length()).choose(12, pin.length());
    (nibbles[0], nibbles[1]) = (control, length);
    for ((at, place), digit) in (0..).zip(&mut nibbles[2..]).zip(pin.digits()) {
        *place = Mask::below(at, length).choose(*digit, 15);
    }
    let block = Zeroizing::new(pack(&nibbles));
    nibbles.zeroize();
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{KEY, cbc, hex, retail_mac, tdes};
    use engine::CipherAlgorithm::Tdes2;
    use engine::CipherDirection::Encipher;

    /// Vectors of the documentation of the Python package pyemv 1.5.0.
    #[test]
    fn macs_are_those_of_another_program() {
        let header: [u8; 5] = hex("8424000008");
        assert_eq!(retail_mac(&hex(KEY), &message(&header, &[], &[])), hex("0BFFF5DF3FAA24E1"));
        let bound: [u8; 10] = hex("FFFF1234567890123456");
        assert_eq!(retail_mac(&hex(KEY), &message(&header, &bound, &[])), hex("E07B8DF1B4184282"));
    }

    /// The first two vectors are from the documentation of pyemv, the others were computed with pyemv.
    #[test]
    fn data_are_enciphered_as_by_another_program() {
        let enciphered = |method: Method, data: &[u8]| -> Vec<u8> {
            let clear = method.clear(data).unwrap();
            if method.is_chained() {
                return cbc(Tdes2, Encipher, &hex::<16>(KEY), &[0; 8], &clear);
            }
            clear.chunks_exact(8).flat_map(|block| tdes(&hex(KEY), block.try_into().unwrap())).collect()
        };
        let pin: [u8; 8] = hex("249999FFFFFFFFFF");
        assert_eq!(enciphered(Method::Emv, &pin), hex::<16>("5A862D1381CCB94822CFDD706A376178"));
        let pin: [u8; 8] = hex("241234FFFFFFFFFF");
        assert_eq!(enciphered(Method::MasterCard, &pin), hex::<8>("9859240AE52820C3"));
        assert_eq!(enciphered(Method::MasterCard, &[4, 0x12]), hex::<8>("1CC8A27EA1647893"));
        let pin: [u8; 8] = hex("041234FF76543210");
        assert_eq!(enciphered(Method::Visa, &pin), hex::<16>("C0E4AE3CFFD7981BE060630D4454E2A3"));
        assert!(Method::Visa.clear(&[0; 256]).is_none() && Method::Emv.clear(&[0; 256]).is_some());
    }

    #[test]
    fn pin_blocks_are_those_of_another_program() {
        let pin = |text: &str| Pin::new(&crate::digits(text.as_bytes()).unwrap(), text.len() as u8);
        let key = hex(&KEY[..16]);
        let block =
            |new: &str, current: Option<&str>| *visa_pin_block(&key, &pin(new), current.map(pin).as_ref());
        assert_eq!(block("1234", None), hex("041234FF76543210"));
        assert_eq!(block("1234", Some("4321")), hex("473334FF76543210"));
        assert_eq!(block("123456789012", Some("98765")), hex("94646456F13BDF10"));
        assert_eq!(block("1234567890123456", None), block("123456789012", None));
        let block = |new: &str| *iso2_pin_block(&pin(new));
        assert_eq!(block("1234"), hex("241234FFFFFFFFFF"));
        assert_eq!(block("123456789012"), hex("2C123456789012FF"));
        assert_eq!(block("1234567890123456"), block("123456789012"));
    }
}
