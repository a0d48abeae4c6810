//! PIN blocks under keys of transactions, compared with those of other programs: 10,000 random cases each, 100,000 in
//! `make test-all`, of which half are to be refused. For AES a twin in Python (`twin.py`), which the published values
//! are asked of first; for TDES PyPI's pydukpt.

use super::translate2::{AesKeys, BASE, field4, translate2, under4};
use cca::Processor;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use token::variable::VariableType;
use verb_requests::pin::{Keys, derived_profile, hex, iso0, profile, translate, under};
use verb_requests::support::entered;
use verb_requests::uses::ways::entered2;
use wire::code;
use wire::verb::{encrypted_pin_translate, encrypted_pin_translate2};

/// How many cases there are of each kind.
pub fn cases() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 100_000 } else { 10_000 }
}

/// What the twin says of these cases.
pub fn answers(cases: &[String]) -> Vec<Option<Vec<u8>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/payments/bin/python");
    assert!(python.exists(), "{}: `scripts/need test` makes it", python.display());
    let mut child = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/pin/twin.py"))
        .env("PYTHONWARNINGS", "ignore")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, text) = (child.stdin.take().unwrap(), cases.join("\n") + "\n");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| {
        let bytes = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
        (line != "refused").then(|| (0..line.len()).step_by(2).map(bytes).collect())
    };
    let answers: Vec<_> = text.lines().map(read).collect();
    assert_eq!(answers.len(), cases.len());
    answers
}

/// Digits for the twin.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Numbers that are as good as random, the same ones each time.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    pub fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    /// A counter of so many bits at the most, with so many set.
    pub fn counter(&mut self, bits: u32, set: u32) -> u32 {
        let mut counter = 0_u32;
        while counter.count_ones() < set {
            counter |= 1 << self.below(u64::from(bits));
        }
        counter
    }
}

/// Values and tokens of base keys of TDES DUKPT.
pub fn tdes_bases(processor: &mut Processor, numbers: &mut Numbers) -> Vec<(Vec<u8>, Vec<u8>)> {
    let base = |value: Vec<u8>| {
        let token = entered(processor, "KEYGENKY", &["UKPT"], &value[..]);
        (value, token)
    };
    (0..16).map(|_| numbers.bytes(16)).map(base).collect()
}

/// Values and tokens of base keys of AES DUKPT, of all lengths.
pub fn aes_bases(processor: &mut Processor, numbers: &mut Numbers) -> Vec<(Vec<u8>, Vec<u8>)> {
    let base = |value: Vec<u8>| {
        let token = entered2(processor, VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"], &value);
        (value, token)
    };
    (0..24).map(|number| numbers.bytes([16, 24, 32][number % 3])).map(base).collect()
}

/// The key serial number of a terminal of TDES: of even cases with the counter of a transaction, of odd ones with one
/// that none has.
pub fn tdes_serial(numbers: &mut Numbers, case: usize) -> Vec<u8> {
    let mut serial = numbers.bytes(10);
    let set = match (case % 2, numbers.below(2)) {
        (0, _) => 1 + numbers.below(10),
        (_, 0) => 0,
        _ => 11 + numbers.below(11),
    };
    let counter = numbers.counter(21, set as u32);
    let id = u32::from_be_bytes([0, serial[7], serial[8], serial[9]]) & !0x1F_FFFF;
    serial[7..].copy_from_slice(&(id | counter).to_be_bytes()[1..]);
    serial
}

/// X9.24-3, as the tests of openemv/dukpt repeat it.
#[test]
fn the_twin_says_what_is_published() {
    let case = |counter: &str| {
        let (base, pan) = (hexadecimal(&BASE), "4111111111111111");
        let data = format!("01011000000200801234567890123456{counter}");
        format!("aes {base} {data} {pan} 441234AAAAAAAAAA2F69ADDE2E9E7ACE")
    };
    let cases = ["00000001", "00000008", "00000000", "0001FFFF"].map(case);
    let [one, eight, zero, many] = &answers(&cases)[..] else { panic!("four answers") };
    assert_eq!(one.as_deref(), Some(&hex::<16>("A912150391AB65A67E52883D81CE2D15")[..]));
    let working = hex::<16>("4D9DF3FBEE3448FC3E676D04320A90F5");
    let field = hex::<16>("441234AAAAAAAAAA2F69ADDE2E9E7ACE");
    assert_eq!(eight.as_deref(), Some(&under4(&working, "4111111111111111", &field)[..]));
    assert!(zero.is_none() && many.is_none());
}

#[test]
fn keys_by_aes_are_those_of_the_twin() {
    let mut all = AesKeys::new();
    let mut numbers = Numbers(243);
    let bases = aes_bases(&mut all.keys.processor, &mut numbers);
    let first = super::translate2::FIRST;
    let (mut lines, mut requests) = (Vec::new(), Vec::new());
    for number in 0..cases() {
        let (value, base) = &bases[numbers.below(24) as usize];
        let (kind, bytes) = [(0_u16, 16), (1, 24), (2, 16), (3, 24), (4, 32)][numbers.below(5) as usize];
        let is_aes = kind >= 2;
        let set = 1 + numbers.below(16) as u32;
        let mut data =
            [&[1, 1, 0x10, 0][..], &kind.to_be_bytes(), &(8 * bytes as u16).to_be_bytes()].concat();
        data.extend(numbers.bytes(8));
        let counter = numbers.counter(32, set);
        data.extend(counter.to_be_bytes());
        if number % 2 == 1 {
            match numbers.below(4) {
                0 => data[numbers.below(8) as usize] ^= 1 << numbers.below(8),
                1 => data[16..].fill(0),
                2 => data[16..].copy_from_slice(&numbers.counter(32, 17).to_be_bytes()),
                _ => data[16..].copy_from_slice(&(0xFFFF_0001 + numbers.below(0xFFFF) as u32).to_be_bytes()),
            }
        }
        let pan = if is_aes { numbers.digits(8 + number % 12) } else { numbers.digits(12) };
        let pin = numbers.digits(4 + number % 9);
        let format = if is_aes { "ISO-4" } else { "ISO-0" };
        let derived = [&profile(format, "")[..], &data].concat();
        let (clear, request) = if is_aes {
            let clear = field4(&pin, numbers.next());
            let sides = (
                (&all.from_first[..], &base[..]),
                (&profile(format, "")[..], &derived[..]),
                (&pan[..], &pan[..]),
            );
            (clear.to_vec(), translate2(&["TRANSLAT", "ADUKPTOP"], sides, &under4(&first, &pan, &clear)))
        } else {
            let clear = iso0(&pin, &pan);
            let sides = (
                (&all.keys.inbound[..], &base[..]),
                (&profile(format, "")[..], &derived[..]),
                (&pan[..], &pan[..]),
            );
            let given = under(&verb_requests::pin::KEY, &clear);
            (clear.to_vec(), translate2(&["TRANSLAT", "ADUKPTOP"], sides, &given))
        };
        lines.push(format!(
            "aes {} {} {pan} {}",
            hexadecimal(value),
            hexadecimal(&data),
            hexadecimal(&clear)
        ));
        requests.push(request);
    }
    let mut right = 0;
    for ((line, request), expected) in lines.iter().zip(&requests).zip(answers(&lines)) {
        let reply = request.run(&mut all.keys.processor);
        match expected {
            Some(block) => {
                assert_eq!(reply.codes, code::OK, "{line}");
                assert_eq!(reply.bytes(encrypted_pin_translate2::OUTPUT_PIN_BLOCK), block, "{line}");
                right += 1;
            }
            None => {
                let refusals = [code::KEY_SERIAL, code::SERIAL_COUNTER, code::STRENGTH];
                assert!(refusals.contains(&reply.codes), "{line}: {}", reply.codes);
            }
        }
    }
    assert!(right > cases() / 4 && right < cases() * 2 / 3, "{right}");
}

#[test]
fn keys_by_tdes_are_those_of_pydukpt() {
    let mut keys = Keys::new();
    let mut numbers = Numbers(241);
    let bases = tdes_bases(&mut keys.processor, &mut numbers);
    let (mut lines, mut requests) = (Vec::new(), Vec::new());
    for number in 0..cases() {
        let (value, base) = &bases[numbers.below(16) as usize];
        let serial = tdes_serial(&mut numbers, number);
        let (pin, pan) = (numbers.digits(4 + number % 9), numbers.digits(13 + number % 7));
        let twelve = &pan[pan.len() - 13..pan.len() - 1];
        let derived = derived_profile("ISO-0", "", &hexadecimal(&serial));
        let given = under(&verb_requests::pin::KEY, &iso0(&pin, twelve));
        let pair = (&keys.inbound[..], &base[..]);
        let profiles = (&profile("ISO-0", "")[..], &derived[..]);
        requests.push(translate(pair, &["TRANSLAT", "DUKPT-OP"], profiles, (twelve, twelve), &given));
        lines.push(format!("tdes {} {} {pin} {pan}", hexadecimal(value), hexadecimal(&serial)));
    }
    for ((line, request), expected) in lines.iter().zip(&requests).zip(answers(&lines)) {
        let reply = request.run(&mut keys.processor);
        match expected {
            Some(block) => {
                assert_eq!(reply.codes, code::OK, "{line}");
                assert_eq!(reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT), block, "{line}");
            }
            None => assert_eq!(reply.codes, code::SERIAL_COUNTER, "{line}"),
        }
    }
}
