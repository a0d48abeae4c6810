//! Cryptograms. A card's cryptogram (ARQC, TC, AAC) is the MAC of its transaction's data, [padded](super::padded) as
//! the card pads them. The issuer's answer (ARPC) is made by one of two methods (EMV 4.3, book 2, section 8.2).

use super::{Padding, padded};
use zeroize::Zeroizing;

/// Length of an answer by method 2, in bytes.
pub const METHOD_2_BYTES: usize = 4;
/// At most this many bytes of the issuer's own data fit into method 2.
pub const OWN_BYTES_MAX: usize = 8;

/// Method 1: the block to encipher under the session's key, made from the card's cryptogram and the authorisation
/// response code. All eight bytes of the result are the answer.
pub fn method_1(cryptogram: &[u8; 8], response_code: [u8; 2]) -> [u8; 8] {
    let mut block = *cryptogram;
    block.iter_mut().zip(response_code).for_each(|(byte, code)| *byte ^= code);
    block
}

/// Method 2: the message to authenticate: the card's cryptogram, the card status update and the issuer's own data. The
/// first [`METHOD_2_BYTES`] bytes of its MAC are the answer. `None` for more than eight bytes of own data.
pub fn method_2(cryptogram: &[u8; 8], status_update: [u8; 4], own: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    (own.len() <= OWN_BYTES_MAX)
        .then(|| padded(&[&cryptogram[..], &status_update, own].concat(), Padding::Bit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, retail_mac, tdes};

    /// Vectors of the documentation of the Python package pyemv 1.5.0; the last vector of each kind was computed with
    /// pyemv.
    #[test]
    fn cryptograms_are_those_of_another_program() {
        let (key, other) = (hex("29B33180E567CE38EA4CBC9D753B0E61"), hex("AAAAAAAAAAAAAAAABBBBBBBBBBBBBBBB"));
        let data: [u8; 16] = hex("0123456789ABCDEF0123456789ABCDEF");
        let card = retail_mac(&key, &padded(&data, Padding::Bit));
        assert_eq!(card, hex("FA624250B008B59A"));
        let data: [u8; 33] = hex("000000002000000000000000012400000080000124110309003804823E58000001");
        assert_eq!(retail_mac(&other, &padded(&data, Padding::Bit)), hex("3B76CF10FECD8789"));
        let data: [u8; 9] = hex("0123456789ABCDEF01");
        let plain = hex(crate::testing::KEY);
        assert_eq!(retail_mac(&plain, &padded(&data, Padding::Zeros)), hex("B84C5F99C5D64495"));
        assert_eq!(tdes(&key, &method_1(&card, [0, 0])), hex("45D4255EEF10C920"));
        let request = hex("1234567890ABCDEF");
        assert_eq!(tdes(&other, &method_1(&request, [0, 0])), hex("F5E6F44147E2F1B0"));
        let answer = |key, request, update, own: &[u8]| {
            retail_mac(key, &method_2(request, update, own).unwrap())[..METHOD_2_BYTES].to_vec()
        };
        assert_eq!(answer(&key, &card, [0; 4], &[]), hex::<4>("CB56FA40"));
        assert_eq!(answer(&other, &request, [0; 4], &[]), hex::<4>("9308BEBC"));
        assert_eq!(answer(&plain, &request, [1, 2, 3, 4], &[1, 2, 3, 4, 5, 6, 7, 8]), hex::<4>("57C6241E"));
        assert!(method_2(&request, [0; 4], &[0; 9]).is_none());
    }

    /// Values that two public sets of test data have, of an issuer's key whose halves are equal, by each padding.
    #[test]
    fn cryptograms_by_each_padding_are_the_published_ones() {
        use crate::emv::card_key::{Card, blocks};
        use crate::emv::session_key::{application, common, mastercard};
        use crate::emv::with_parity;
        use crate::testing::encipher;
        use engine::CipherAlgorithm::Tdes2;
        let issuer = hex::<16>("12345678123456781234567812345678");
        let card = Card::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6], [0, 0]).unwrap();
        let card = with_parity(&encipher(Tdes2, &issuer, &blocks(&card.option_a())));
        let session = |diversifier| with_parity(&encipher(Tdes2, &card, &common(diversifier)));
        let counter = [0x34, 0x56];
        let data: [u8; 39] = hex(concat!(
            "000000010000000000001000084000000010800840980704",
            "001111111158003456A08003242000"
        ));
        for (key, padding, expected) in [
            (card, Padding::Zeros, "26C8A1042D1CAF3E"),
            (card, Padding::Bit, "2263CD868F3E0234"),
            (session(&mastercard(counter, [0x11; 4])), Padding::Bit, "AC8074C9E62EE6EF"),
            (session(&application(counter)), Padding::Bit, "55BE45DD2C9E0CBF"),
            (session(&application(counter)), Padding::Zeros, "36DBEE15F36B1E7F"),
        ] {
            assert_eq!(retail_mac(&key, &padded(&data, padding)), hex(expected), "{padding:?}");
        }
        let request = hex("26C8A1042D1CAF3E");
        assert_eq!(tdes(&card, &method_1(&request, *b"00")), hex("98DE7C7B3D80A831"));
    }

    #[test]
    fn a_response_code_is_part_of_the_answer() {
        assert_eq!(method_1(&hex("1234567890ABCDEF"), *b"00"), hex("2204567890ABCDEF"));
    }
}
