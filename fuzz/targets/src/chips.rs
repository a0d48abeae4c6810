//! Data of EMV cards, beside second implementations that write digits and blocks out one by one.

use crate::batches::{ecb, run, three_parts};
use engine::CipherAlgorithm::Tdes2;
use openssl::hash::{MessageDigest, hash};
use payments::emv::card_key::{Card, blocks, option_b};
use payments::emv::script::{self, Method};
use payments::emv::session_key::{self, Tree};
use payments::emv::{Padding, cryptogram, cvc3, padded, verifies, with_parity};

/// How many digits a PAN has, the digits; its sequence number (2), a key (16), a vector (16), a counter (2), an
/// unpredictable number (4), a cryptogram (8); then a message.
pub fn emv_data(data: &[u8]) {
    let Some((count, rest)) = data.split_first() else { return };
    let Some((pan, rest)) = rest.split_at_checked(usize::from(*count)) else { return };
    card(pan, rest);
    let Some((fields, message)) = rest.split_first_chunk::<48>() else { return };
    let part = |from: usize, to: usize| &fields[from..to];
    let key: [u8; 16] = part(2, 18).try_into().expect("16 bytes");
    let vector: [u8; 16] = part(18, 34).try_into().expect("16 bytes");
    let counter: [u8; 2] = part(34, 36).try_into().expect("2 bytes");
    let unpredictable: [u8; 4] = part(36, 40).try_into().expect("4 bytes");
    let given: [u8; 8] = part(40, 48).try_into().expect("8 bytes");
    session(&key, &vector, counter, unpredictable, &given);
    messages(message, &given, counter, unpredictable);
}

/// Digits as text, two in a byte.
fn packed(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("digits")).collect()
}

/// The number of a card by options A and B.
fn card(pan: &[u8], rest: &[u8]) {
    let Some(sequence) = rest.first_chunk::<2>() else { return };
    let is_right = (8..=19).contains(&pan.len()) && pan.iter().chain(sequence).all(|digit| *digit <= 9);
    let Some(card) = Card::new(pan, *sequence) else {
        assert!(!is_right, "a PAN of digits is one");
        return;
    };
    assert!(is_right, "what is no PAN is refused");
    let text: String = pan.iter().chain(sequence).map(|digit| char::from(b'0' + digit)).collect();
    let wide = format!("{text:0>16}");
    assert_eq!(card.option_a()[..], packed(&wide[wide.len() - 16..]));
    let message = card.option_b_message();
    assert_eq!(message.is_some(), pan.len() > 16);
    let Some(message) = message else { return };
    let even = if !text.len().is_multiple_of(2) { format!("0{text}") } else { text };
    assert_eq!(message, packed(&even));
    let digest: [u8; 20] =
        hash(MessageDigest::sha1(), &message).expect("SHA-1")[..].try_into().expect("20 bytes");
    let shown: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let decimal: String = shown.chars().filter(char::is_ascii_digit).collect();
    let letters = shown.chars().filter(char::is_ascii_lowercase);
    let letters: String = letters.map(|letter| char::from(letter as u8 - b'a' + b'0')).collect();
    let number = option_b(&digest);
    assert_eq!(number[..], packed(&(decimal + &letters)[..16]));
    let both = blocks(&number);
    assert!((0..8).all(|at| both[at] == number[at] && both[at] ^ both[at + 8] == 0xFF));
}

fn under(key: &[u8; 16], text: &[u8]) -> Vec<u8> {
    run(ecb(Tdes2), true, &three_parts(Tdes2, key), None, text)
}

/// EMV 4.1, book 2, annex A1.3: all keys on the way down a tree, of which the last is XORed with that two levels above.
fn leaf(bits: usize, card: &[u8; 16], vector: &[u8; 16], counter: [u8; 2]) -> Vec<u8> {
    let digits: Vec<u8> =
        counter.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut way = vec![vector.to_vec(), card.to_vec()];
    for branch in digits.chunks(bits) {
        let branch = branch.iter().fold(0, |all, bit| all << 1 | bit);
        let [.., grandparent, parent] = &way[..] else { unreachable!("it begins with two") };
        let mut text = grandparent.clone();
        text[7] ^= branch;
        text[15] ^= branch ^ 0xF0;
        let parent: &[u8; 16] = parent[..].try_into().expect("two blocks");
        let next = under(parent, &text);
        way.push(next);
    }
    let [.., above, _, last] = &way[..] else { unreachable!("it has many levels") };
    last.iter().zip(above).map(|(one, other)| one ^ other).collect()
}

fn session(key: &[u8; 16], vector: &[u8; 16], counter: [u8; 2], unpredictable: [u8; 4], given: &[u8; 8]) {
    for (byte, own) in with_parity(key).into_iter().zip(key) {
        assert!(!byte.count_ones().is_multiple_of(2) && byte >> 1 == own >> 1);
    }
    let both = session_key::common(given);
    let mut expected = [*given, *given].concat();
    (expected[2], expected[10]) = (0xF0, 0x0F);
    assert_eq!(both[..], expected);
    assert_eq!(session_key::application(counter)[..], [&counter[..], &[0; 6]].concat());
    assert_eq!(
        session_key::mastercard(counter, unpredictable)[..],
        [&counter[..], &[0; 2], &unpredictable].concat()
    );
    let mask = session_key::visa(counter);
    assert_eq!(mask[..8], [&[0; 6][..], &counter].concat());
    assert_eq!(mask[8..], [&[0; 6][..], &counter.map(|byte| byte ^ 0xFF)].concat());
    for (tree, bits) in [(Tree::Two, 1), (Tree::Four, 2)] {
        let own =
            tree.session(key, vector, counter, |key, text| under(key, &text).try_into().expect("two blocks"));
        assert_eq!(own[..], leaf(bits, key, vector, counter));
    }
}

fn messages(message: &[u8], given: &[u8; 8], counter: [u8; 2], unpredictable: [u8; 4]) {
    for (padding, mark) in [(Padding::Zeros, &[][..]), (Padding::Bit, &[0x80][..])] {
        let mut expected = [message, mark].concat();
        while expected.is_empty() || !expected.len().is_multiple_of(8) {
            expected.push(0);
        }
        assert_eq!(padded(message, padding)[..], expected);
    }
    let marked = |text: &[u8]| {
        let end = text.iter().rposition(|byte| *byte != 0).expect("a mark");
        assert!(text.len().is_multiple_of(8) && text[end] == 0x80 && text.len() - end <= 8);
        text[..end].to_vec()
    };
    assert_eq!(marked(&Method::Emv.clear(message).expect("of any length")), message);
    let master = Method::MasterCard.clear(message).expect("of any length");
    assert_eq!(if message.len().is_multiple_of(8) { master.to_vec() } else { marked(&master) }, message);
    match Method::Visa.clear(message) {
        None => assert!(message.len() > 255),
        Some(clear) => assert_eq!(marked(&clear), [&[message.len() as u8][..], message].concat()),
    }
    let (header, bound) = message.split_at(message.len() / 2);
    assert_eq!(marked(&script::message(header, given, bound)), [header, given, bound].concat());
    let status = unpredictable;
    match cryptogram::method_2(given, status, message) {
        None => assert!(message.len() > 8),
        Some(text) => assert_eq!(marked(&text), [&given[..], &status, message].concat()),
    }
    let answer = cryptogram::method_1(given, counter);
    assert!((0..8).all(|at| answer[at] ^ given[at] == counter.get(at).copied().unwrap_or(0)));
    let is_beginning = (4..=8).contains(&message.len()) && given.starts_with(message);
    assert_eq!(verifies(given, message).holds(), is_beginning);
    for bytes in 0..=9 {
        let part = &[&given[..], &[0]].concat()[..bytes];
        assert_eq!(verifies(given, part).holds(), (4..=8).contains(&bytes));
    }
    let block = cvc3::block(given, unpredictable, counter);
    assert_eq!(block[..], [&given[6..], &unpredictable, &counter].concat());
    let value = u16::from_be_bytes([given[6], given[7]]);
    let digits: String = cvc3::digits(given).iter().map(|digit| char::from(b'0' + digit)).collect();
    assert_eq!(digits, format!("{value:05}"));
    assert_eq!(marked(&cvc3::track(message)), message);
}
