//! Serial numbers and derivation data of DUKPT, beside a second derivation.

use crate::batches::{ecb, run, three_parts};
use crate::keys::{AES_PIN_VALUE, Keys, PIN_VALUE};
use crate::keywords::padded;
use cca::{Batch, Incoming};
use engine::CipherAlgorithm::{self, Aes128, Des, Tdes2, Tdes3};
use payments::dukpt::tdes::{Serial, SerialFault};
use std::cell::RefCell;
use wire::code::{self, Codes};
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::verb::{
    Filled, PinDerivation, PinDerivations, PinTranslation, TypedAsk, Verb, encrypted_pin_translate as ptr,
    encrypted_pin_translate2 as ptr2,
};

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::new(Keys::new());
}

/// Codes of a serial number, and of derivation data, that name no key.
const NO_SERIAL: &[Codes] = &[code::SERIAL_COUNTER];
const NO_DATA: &[Codes] = &[code::KEY_SERIAL, code::SERIAL_COUNTER, code::STRENGTH];
/// Transactions of one input.
const ITEMS_MAX: usize = 24;
const PAN: &[u8; 12] = b"401234567890";
/// A clear block of ISO-0, and a field of ISO-4.
const CLEAR: [u8; 8] = [0x04, 0x12, 0x74, 0xED, 0xCB, 0xA9, 0x87, 0x6F];
const CLEAR4: [u8; 16] = [0x44, 0x12, 0x34, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 1, 2, 3, 4, 5, 6, 7, 8];
/// The field of the PAN 401234567890 in a block of ISO-4.
const PAN_FIELD: [u8; 16] = [0x04, 0x01, 0x23, 0x45, 0x67, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The first byte says which kind: key serial numbers of ten bytes, or what makes derivation data of AES DUKPT. A block
/// under the key of each transaction goes under a fixed key, all in one batch; the keys are those of a second
/// derivation, and so is who has none.
pub fn dukpt_serial(data: &[u8]) {
    let Some((how, rest)) = data.split_first() else { return };
    KEYS.with_borrow_mut(|keys| {
        if how & 1 == 0 {
            let serials: Vec<&[u8; 10]> = rest.as_chunks().0.iter().take(ITEMS_MAX).collect();
            let items: Vec<_> = serials.into_iter().map(|serial| by_tdes(keys, serial)).collect();
            compare(keys, &items);
        } else {
            let transactions: Vec<&[u8; 14]> = rest.as_chunks().0.iter().take(ITEMS_MAX).collect();
            let items: Vec<_> = transactions.into_iter().map(|one| by_aes(keys, one)).collect();
            compare(keys, &items);
        }
    });
}

/// A field of a key serial number, beside a second reading: what is taken is one number, which is the same in the other
/// form.
pub fn serial_field(data: &[u8]) {
    let found = Serial::of_field(data);
    let Ok(serial) = found else {
        let digits = data.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        match found {
            Err(SerialFault::Length(length)) => assert!(length == data.len() && !(10..=24).contains(&length)),
            Err(SerialFault::Digits(count)) => assert!(count == digits && count != 20),
            Err(SerialFault::Filling) => assert!(data.len() > 10, "ten bytes are a number"),
            Err(SerialFault::Counter(_)) | Ok(_) => {}
        }
        return;
    };
    // The register of the last step is the number without its first two bytes.
    let last = serial.registers().last().expect("a counter has a bit");
    let as_text = data.get(..20).and_then(|text| std::str::from_utf8(text).ok());
    let as_text = as_text.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = match as_text {
        Some(text) => u128::from_str_radix(text, 16).expect("twenty digits"),
        None => data[..10].iter().fold(0, |all, byte| all << 8 | u128::from(*byte)),
    };
    assert_eq!(u64::from_be_bytes(last), number as u64, "another number");
    let rest = &data[if as_text.is_some() { 20 } else { 10 }..];
    assert!(rest.iter().all(|byte| *byte == b' ') || rest.iter().all(|byte| *byte == 0));
    assert_eq!(Serial::of_field(format!("{number:020X}").as_bytes()), found);
}

/// A request, and what its answer is: the clear block, or any of these codes.
struct Item {
    verb: Verb,
    payload: Vec<u8>,
    expected: Result<Vec<u8>, &'static [Codes]>,
}

impl Item {
    fn new<A: TypedAsk>(ask: &A, expected: Result<Vec<u8>, &'static [Codes]>) -> Self {
        let mut payload = Vec::new();
        ask.arguments(&mut Filled::default()).write_request(&mut payload).expect("a request that fits");
        Self { verb: A::VERB, payload, expected }
    }
}

fn compare(keys: &mut Keys, items: &[Item]) {
    if items.is_empty() {
        return;
    }
    let mut batch = Batch::new();
    for Item { verb, payload, .. } in items {
        batch
            .push(&Incoming { verb: *verb, domain: 0, points: &PointSet::EVERYTHING, payload })
            .expect("an empty batch has room");
    }
    keys.processor.run(&mut batch);
    for (item, answer) in items.iter().zip(batch.answers()) {
        assert_eq!(answer.outcome, Outcome::Answered);
        match &item.expected {
            Ok(clear) => {
                assert_eq!(answer.codes, code::OK);
                let reply = Arguments::read_reply(item.verb, &answer.payload).expect("a well formed answer");
                let at = if item.verb == Verb::EncryptedPinTranslate {
                    ptr::PIN_BLOCK_OUT
                } else {
                    ptr2::OUTPUT_PIN_BLOCK
                };
                let block = reply.bytes(at);
                let found = if block.len() == 16 {
                    let middle = xor(&single(Aes128, false, &AES_PIN_VALUE, block), &PAN_FIELD);
                    single(Aes128, false, &AES_PIN_VALUE, &middle)
                } else {
                    single(Tdes2, false, &PIN_VALUE, block)
                };
                assert_eq!(found, *clear, "another key");
            }
            Err(codes) => assert!(codes.contains(&answer.codes), "{}", answer.codes),
        }
    }
}

/// Blocks each by itself, by OpenSSL.
fn single(algorithm: CipherAlgorithm, encipher: bool, key: &[u8], text: &[u8]) -> Vec<u8> {
    let whole =
        if matches!(algorithm, Des | Tdes2 | Tdes3) { three_parts(algorithm, key) } else { key.to_vec() };
    run(ecb(algorithm), encipher, &whole, None, text)
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(a, b)| a ^ b).collect()
}

fn profile(format: &str, further: &[u8]) -> Vec<u8> {
    [&padded(format)[..], b"NONE            ", further].concat()
}

/// ANSI X9.24-1:2009, annex A.2: the initial key, then the register of shifts.
fn tdes_key(serial: &[u8; 10]) -> Option<Vec<u8>> {
    const C0: [u8; 16] = [0xC0, 0xC0, 0xC0, 0xC0, 0, 0, 0, 0, 0xC0, 0xC0, 0xC0, 0xC0, 0, 0, 0, 0];
    let number = serial.iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
    let counter = (number & 0x1F_FFFF) as u64;
    if counter == 0 || counter.count_ones() > 10 {
        return None;
    }
    let without = number ^ u128::from(counter);
    let first = ((without >> 16) as u64).to_be_bytes();
    let mut key =
        [single(Tdes2, true, &PIN_VALUE, &first), single(Tdes2, true, &xor(&PIN_VALUE, &C0), &first)]
            .concat();
    let mut register = without as u64;
    let mut shift = 0x10_0000;
    while shift != 0 {
        if counter & shift != 0 {
            register |= shift;
            let text = register.to_be_bytes();
            let right = xor(&single(Des, true, &key[..8], &xor(&text, &key[8..])), &key[8..]);
            let varied = xor(&key, &C0);
            let left = xor(&single(Des, true, &varied[..8], &xor(&text, &varied[8..])), &varied[8..]);
            key = [left, right].concat();
        }
        shift >>= 1;
    }
    (key[7], key[15]) = (!key[7], !key[15]);
    Some(key)
}

fn by_tdes(keys: &Keys, serial: &[u8; 10]) -> Item {
    let key = tdes_key(serial);
    let block = key.as_ref().map_or(CLEAR.to_vec(), |key| single(Tdes2, true, key, &CLEAR));
    // Bytes that begin like digits might be digits: such a number is given in characters, as CCA's programs do.
    let field = if serial[0].is_ascii_hexdigit() || serial[9] & 1 == 1 {
        let digits: String = serial.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("{digits:24}").into_bytes()
    } else {
        [&serial[..], &[b' '; 14]].concat()
    };
    let inbound = profile("ISO-0", &field);
    let outbound = profile("ISO-0", &[]);
    let request = ptr::Ask {
        input_pin_encrypting_key_identifier: (&keys.tokens[keys.pins + 3]).into(),
        output_pin_encrypting_key_identifier: (&keys.tokens[keys.pins + 1]).into(),
        input_pin_profile: &inbound,
        pan_data_in: Some(PAN),
        pin_block_in: block.first_chunk().expect("a block of DES"),
        derivations: Some(PinDerivations::In),
        output_pin_profile: &outbound,
        pan_data_out: Some(PAN),
        sequence_number: 1,
        ..ptr::Ask::new(PinTranslation::Translate)
    };
    Item::new(&request, key.map(|_| CLEAR.to_vec()).ok_or(NO_SERIAL))
}

/// ANSI X9.24-3: the key of so many bytes that a key derives.
fn derived(key: &[u8], usage: u16, kind: u16, bytes: usize, rest: &[u8]) -> Vec<u8> {
    let blocks = (1..=bytes.div_ceil(16) as u8).flat_map(|number| {
        let head = [[1, number], usage.to_be_bytes(), kind.to_be_bytes(), (8 * bytes as u16).to_be_bytes()];
        single(Aes128, true, key, &[&head.concat()[..], rest].concat())
    });
    blocks.take(bytes).collect()
}

/// The PIN key of a transaction, which derivation data name.
fn aes_key(data: &[u8]) -> Option<Vec<u8>> {
    let kinds: [(u16, usize); 5] = [(0, 16), (1, 24), (2, 16), (3, 24), (4, 32)];
    let (kind, bytes) = *kinds.iter().find(|(kind, bytes)| {
        data[..8] == [&[1, 1, 0x10, 0][..], &kind.to_be_bytes(), &(8 * *bytes as u16).to_be_bytes()].concat()
    })?;
    let id = &data[8..16];
    let counter = data[16..].iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
    // No longer key of AES comes from one of 128 bits.
    if counter == 0 || counter.count_ones() > 16 || counter > 0xFFFF_0000 || kind > 2 {
        return None;
    }
    let mut key = derived(&AES_PIN_VALUE, 0x8001, 2, 16, id);
    let mut so_far = 0_u32;
    while so_far != counter {
        so_far |= 1 << (31 - (counter ^ so_far).leading_zeros());
        key = derived(&key, 0x8000, 2, 16, &[&id[4..], &so_far.to_be_bytes()].concat());
    }
    Some(derived(&key, 0x1000, kind, bytes, &data[12..]))
}

/// Of a byte for the kind of key, one for what is wrong, an identifier and a counter.
fn by_aes(keys: &Keys, one: &[u8; 14]) -> Item {
    let (kind, bytes) = [(0_u16, 16_u16), (1, 24), (2, 16), (3, 24), (4, 32)][usize::from(one[0] % 5)];
    let mut data =
        [&[1, 1, 0x10, 0][..], &kind.to_be_bytes(), &(8 * bytes).to_be_bytes(), &one[2..]].concat();
    // A bit that is wrong in front of the identifier.
    if one[1] != 0 && one[1] < 65 {
        let at = usize::from(one[1] - 1);
        data[at / 8] ^= 1 << (at % 8);
    }
    let is_aes = u16::from_be_bytes([data[4], data[5]]) >= 2;
    let key = aes_key(&data);
    let block = match &key {
        Some(key) if is_aes => {
            let middle = xor(&single(Aes128, true, key, &CLEAR4), &PAN_FIELD);
            single(Aes128, true, key, &middle)
        }
        Some(key) => single(if key.len() == 24 { Tdes3 } else { Tdes2 }, true, key, &CLEAR),
        None if is_aes => CLEAR4.to_vec(),
        None => CLEAR.to_vec(),
    };
    let format = if is_aes { "ISO-4" } else { "ISO-0" };
    let (inbound, outbound) = (profile(format, &data), profile(format, &[]));
    let output = &keys.tokens[keys.pins + if is_aes { 6 } else { 1 }];
    let base = &keys.tokens[keys.pins + 7];
    let request = ptr2::Ask {
        derivation_in: Some(PinDerivation::AesIn),
        input_pin_encrypting_key_identifier: base.into(),
        output_pin_encrypting_key_identifier: output.into(),
        input_pin_profile: &inbound,
        output_pin_profile: &outbound,
        input_pan_data: PAN,
        output_pan_data: PAN,
        input_pin_block: &block,
        output_pin_block: 16,
        ..ptr2::Ask::new(PinTranslation::Translate)
    };
    let clear = if is_aes { CLEAR4.to_vec() } else { CLEAR.to_vec() };
    Item::new(&request, key.map(|_| clear).ok_or(NO_DATA))
}
