//! The verbs of chip cards, and what no verb shows alone of the library, say what the Python package pyemv 1.5.0 says:
//! right inputs as often as wrong ones.

use cca::Processor;
use engine::{CipherAlgorithm, CipherDirection, CipherItem, Engine, Mode, Options};
use payments::emv::script::Method;
use payments::emv::{cvc3, padded};
use seeded::Random;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use verb_requests::chip::{Asked, odd};
use verb_requests::support::Request;
use verb_requests::{chip, pin, support};
use wire::code;
use wire::verb::{diversified_key_generate, emv_transaction, mac_generate, mac_verify, pin_change_unblock};

/// Cases of each row: with `CRYPTAND_TEST_ALL` those of `make test-all`.
fn each() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 100_000 } else { 10_000 }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What pyemv says of each line.
fn said(lines: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases");
    let mut file = File::create(&path).unwrap();
    lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    let python = root().join("target/payments/bin/python");
    assert!(python.exists(), "{}: `scripts/need test` makes it", python.display());
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("pyemv/peer.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let said: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(said.len(), lines.len());
    said
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn digits(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
}

/// Keys of one value: what is asked for is drawn among them.
struct Key {
    value: [u8; 16],
    token: Vec<u8>,
}

fn keys(processor: &mut Processor, random: &mut Random, key_type: &str, words: &[&str]) -> Vec<Key> {
    (0..32)
        .map(|_| {
            let value: [u8; 16] = odd(&random.array::<16>()).try_into().unwrap();
            Key { value, token: support::entered(processor, key_type, words, &value) }
        })
        .collect()
}

/// A PAN of any length that there is, and its sequence number.
fn card(random: &mut Random) -> (String, String) {
    let length = 12 + random.below(8);
    (digits(random, length), digits(random, 2))
}

/// The blocks of option A.
fn blocks(pan: &str, sequence: &str) -> [u8; 16] {
    let all = format!("{:0>16}", format!("{pan}{sequence}"));
    let number = unhex(&all[all.len() - 16..]);
    std::array::from_fn(|at| if at < 8 { number[at] } else { !number[at - 8] })
}

fn change<const N: usize>(random: &mut Random, mut value: [u8; N]) -> [u8; N] {
    value[random.below(N)] ^= 1 << random.below(8);
    value
}

#[test]
fn cryptograms_are_verified_and_answered_as_by_pyemv() {
    let mut random = Random(0x656D_765F_6163);
    let mut processor = support::processor();
    let above = keys(&mut processor, &mut random, "DKYGENKY", &["DKYL1", "DMAC"]);
    let schemes: [(&str, &[&str]); 6] = [
        ("VISA", &["VISA"]),
        ("MC", &["MC"]),
        ("CSK1", &["EMV", "EMVCSK"]),
        ("CSK2", &["EMV", "EMVCSK", "METHOD-2"]),
        ("TREE2", &["EMV"]),
        ("TREE4", &["EMV", "TDESEMV4"]),
    ];
    for (scheme, words) in schemes {
        // The trees take pyemv long.
        let count = if scheme.starts_with("TREE") { each() / 4 } else { each() };
        let mut cases = Vec::new();
        for _ in 0..count {
            let (key, other) = (random.below(above.len()), random.below(above.len()));
            let ((pan, sequence), option) = (card(&mut random), random.pick(&["A", "B"]));
            let filling = random.pick(&["-", "-", "ZEROS", "BIT", "NONE"]);
            let length = 9 + random.below(52);
            let length = if filling == "NONE" { length.next_multiple_of(8) } else { length };
            let text = random.bytes(length);
            let own = random.below(9);
            let case = Case {
                filling,
                key,
                other,
                option,
                pan,
                sequence,
                text,
                counter: random.array(),
                number: random.array(),
                code: random.array(),
                update: random.array(),
                own: random.bytes(own),
            };
            cases.push(case);
        }
        let lines: Vec<String> = cases.iter().map(|case| case.line(scheme, &above)).collect();
        for ((case, line), number) in cases.iter().zip(said(&lines)).zip(0..) {
            let (cryptogram, response) = line.split_once(' ').unwrap();
            let right: [u8; 8] = unhex(cryptogram).try_into().unwrap();
            let is_wrong = number % 2 == 1;
            let given = if is_wrong { change(&mut random, right) } else { right };
            let reply = case.request(scheme, words, &above, given).run(&mut processor);
            let expected = if is_wrong { code::VERIFICATION_FAILED } else { code::OK };
            assert_eq!(reply.codes, expected, "{scheme} {}", lines[number]);
            let found = reply.bytes(emv_transaction::ARPC);
            assert_eq!(found, if is_wrong { Vec::new() } else { unhex(response) }, "{}", lines[number]);
        }
    }
}

/// A transaction.
struct Case {
    /// How the text is filled, where it is not said by the scheme.
    filling: &'static str,
    key: usize,
    other: usize,
    option: &'static str,
    pan: String,
    sequence: String,
    text: Vec<u8>,
    counter: [u8; 2],
    number: [u8; 4],
    code: [u8; 2],
    update: [u8; 4],
    own: Vec<u8>,
}

impl Case {
    fn line(&self, scheme: &str, keys: &[Key]) -> String {
        let fields = [
            "transaction".to_owned(),
            scheme.to_owned(),
            self.filling.to_owned(),
            self.option.to_owned(),
            hex(&keys[self.key].value),
            hex(&keys[self.other].value),
            self.pan.clone(),
            self.sequence.clone(),
            hex(&self.counter),
            hex(&self.number),
            hex(&self.text),
            hex(&self.code),
            hex(&self.update),
            hex(&self.own),
        ];
        fields.join(" ")
    }

    fn request(&self, scheme: &str, words: &[&str], keys: &[Key], cryptogram: [u8; 8]) -> Request {
        let option = if self.option == "A" { "OPTION-A" } else { "OPTION-B" };
        let filling: &[&str] = match self.filling {
            "ZEROS" => &["PADZEROS"],
            "BIT" => &["PADBIT"],
            "NONE" => &["PADNONE"],
            _ => &[],
        };
        let words = [&["VERGEN", "APPANSEQ", option], words, filling].concat();
        let is_second = scheme == "CSK2";
        let asked = Asked {
            words: &words,
            pan: &self.pan,
            text: &self.text,
            counter: self.counter,
            code: if is_second { &self.update } else { &self.code },
            cryptogram,
            own: if is_second { &self.own } else { &[] },
        };
        let other = if scheme == "MC" { &keys[self.other].token[..] } else { &[] };
        chip::transaction((&keys[self.key].token, other), asked)
            .bytes(emv_transaction::PAN_SEQ_NUMBER, &self.sequence)
            .bytes(emv_transaction::UNPREDICTABLE_NUMBER, self.number)
    }
}

#[test]
fn macs_of_scripts_are_those_of_pyemv() {
    let mut random = Random(0x656D_765F_736D);
    let mut processor = support::processor();
    let issuers = keys(&mut processor, &mut random, "DKYGENKY", &["DKYL0", "DMAC"]);
    let skeleton = support::skeleton(&mut processor, "MAC", &["DOUBLE"]);
    let (mut cases, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..each() {
        let key = random.below(issuers.len());
        let ((pan, sequence), counter) = (card(&mut random), random.array::<2>());
        let length = 5 + random.below(40);
        let command = random.bytes(length);
        let value = hex(&issuers[key].value);
        lines.push(format!("script {value} {pan} {sequence} {} {}", hex(&counter), hex(&command)));
        cases.push((key, blocks(&pan, &sequence), counter, command));
    }
    for (((key, blocks, counter, command), said), number) in cases.iter().zip(said(&lines)).zip(0..) {
        let data = [&blocks[..], counter].concat();
        let request = chip::derive(&issuers[*key].token, &["TDES-XOR"], &data, &skeleton);
        let session = request.ok(&mut processor).bytes(diversified_key_generate::GENERATED_KEY_ID);
        let right: [u8; 8] = unhex(&said).try_into().unwrap();
        let words = ["EMVMACD", "MACLEN8"];
        if number % 2 == 0 {
            let made = support::mac(&session, &words, command).ok(&mut processor);
            assert_eq!(made.bytes(mac_generate::MAC)[..8], right, "{}", lines[number]);
        } else {
            let wrong = change(&mut random, right);
            let request = support::verify(&session, &words, command, &wrong);
            assert_eq!(request.run(&mut processor).codes, code::VERIFICATION_FAILED);
            assert_eq!(
                support::verify(&session, &words, command, &right)
                    .bytes(mac_verify::MAC, right)
                    .run(&mut processor)
                    .codes,
                code::OK
            );
        }
    }
}

#[test]
fn pin_changes_are_those_of_pyemv() {
    let mut random = Random(0x656D_765F_7069);
    let mut processor = support::processor();
    let authentication = keys(&mut processor, &mut random, "DKYGENKY", &["DKYL0", "DMAC"]);
    let encipherment = keys(&mut processor, &mut random, "DKYGENKY", &["DKYL0", "DMPIN"]);
    let inbound = support::entered(&mut processor, "IPINENC", &[], &chip::OTHER_ISSUER);
    let (mut cases, mut lines) = (Vec::new(), Vec::new());
    for number in 0..each() {
        let keys = (random.below(authentication.len()), random.below(encipherment.len()));
        let ((pan, sequence), counter) = (card(&mut random), random.array::<2>());
        let mut pin = || {
            let length = 4 + random.below(9);
            digits(&mut random, length)
        };
        let (new, current) = (pin(), (number % 2 == 1).then(&mut pin));
        let values = [authentication[keys.0].value, encipherment[keys.1].value].map(|key| hex(&key));
        let [one, two] = values;
        let given = current.as_deref().unwrap_or("-");
        lines.push(format!("pin {one} {two} {pan} {sequence} {} {new} {given}", hex(&counter)));
        cases.push((keys, [&blocks(&pan, &sequence)[..], &counter].concat(), new, current));
    }
    let block = |pin: &str| pin::under(&chip::OTHER_ISSUER, &pin::iso0(pin, "401234567890"));
    for (((keys, data, new, current), said), number) in cases.iter().zip(said(&lines)).zip(0..) {
        let tokens = [&authentication[keys.0].token, &encipherment[keys.1].token, &inbound, &inbound]
            .map(|key| &key[..]);
        let word = if current.is_some() { "VISAPCU2" } else { "VISAPCU1" };
        let before = block(current.as_deref().unwrap_or("0000"));
        let reply = chip::pin_change(tokens, &[word], data, (&block(new), &before)).ok(&mut processor);
        let found = reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE);
        assert_eq!(found, unhex(&said), "{}", lines[number]);
        // Of other data, or of another PIN, comes something else.
        let (mut data, mut new) = (data.clone(), new.clone());
        match number % 4 {
            0 => new = format!("{:0>4}", (new[..4].parse::<u32>().unwrap() + 1) % 10_000),
            // The last bit is one of parity where the counter is added to the key.
            1 => data[17] ^= 2,
            _ => continue,
        }
        let reply = chip::pin_change(tokens, &[word], &data, (&block(&new), &before)).ok(&mut processor);
        assert_ne!(reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE), found);
    }
}

/// Blocks of ISO-2, as cards of EMV and MasterCard take them.
#[test]
fn pin_changes_in_blocks_of_iso_2_are_those_of_pyemv() {
    let mut random = Random(0x656D_765F_6932);
    let mut processor = support::processor();
    let issuers = keys(&mut processor, &mut random, "DKYGENKY", &["DKYL0", "DMPIN"]);
    let inbound = support::entered(&mut processor, "IPINENC", &[], &chip::OTHER_ISSUER);
    let (mut cases, mut lines) = (Vec::new(), Vec::new());
    for number in 0..each() {
        let key = random.below(issuers.len());
        let (pan, sequence) = card(&mut random);
        let length = 4 + random.below(9);
        let new = digits(&mut random, length);
        // The trees take pyemv long.
        let (method, words, session) = match number % 8 {
            0 => ("EMV", ["ISO2-EMV", "TDESEMV2"], "TREE2"),
            1 => ("EMV", ["ISO2-EMV", "TDESEMV4"], "TREE4"),
            2..=4 => ("EMV", ["ISO2-EMV", "EMVCSK"], "CSK"),
            _ => ("MASTERCARD", ["ISO2-MC", "EMVCSK"], "CSK"),
        };
        let given = random.bytes(if session == "CSK" { 8 } else { 2 });
        let value = hex(&issuers[key].value);
        lines.push(format!("change {value} {pan} {sequence} {method} {session} {} {new}", hex(&given)));
        cases.push((key, words, [&blocks(&pan, &sequence)[..], &given].concat(), new));
    }
    let block = |pin: &str| pin::under(&chip::OTHER_ISSUER, &pin::iso0(pin, "401234567890"));
    for (((key, words, data, new), said), number) in cases.iter().zip(said(&lines)).zip(0..) {
        let tokens = [&[][..], &issuers[*key].token, &inbound, &[]];
        let reply = chip::pin_change(tokens, words, data, (&block(new), &[])).ok(&mut processor);
        assert_eq!(reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE), unhex(&said), "{}", lines[number]);
        let mut data = data.clone();
        data[16] ^= 2;
        let reply = chip::pin_change(tokens, words, &data, (&block(new), &[])).ok(&mut processor);
        assert_ne!(reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE), unhex(&said));
    }
}

/// ECB or CBC behind zeros, under a key of two parts.
fn enciphered(engine: &Engine, key: &[u8; 16], mode: Mode, text: &[u8]) -> Vec<u8> {
    let key = engine.cipher_key(CipherAlgorithm::Tdes2, key).unwrap();
    let mut data = text.to_vec();
    let mut items = [CipherItem { key: &key, chain: [0; 16], data: &mut data, result: Ok(()) }];
    engine.cipher_batch(mode, CipherDirection::Encipher, &mut items);
    assert!(items[0].result.is_ok());
    data
}

#[test]
fn data_of_scripts_are_enciphered_as_by_pyemv() {
    let mut random = Random(0x656D_765F_6461);
    let engine = Engine::new(Options::default()).unwrap();
    let methods = [("EMV", Method::Emv), ("VISA", Method::Visa), ("MASTERCARD", Method::MasterCard)];
    let (mut cases, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..each() {
        let (key, length) = (random.array::<16>(), 1 + random.below(48));
        let ((name, method), data) = (random.pick(&methods), random.bytes(length));
        lines.push(format!("data {} {name} {}", hex(&key), hex(&data)));
        cases.push((key, method, data));
    }
    for ((key, method, data), said) in cases.iter().zip(said(&lines)) {
        let mode = if method.is_chained() { Mode::Cbc } else { Mode::Ecb };
        let found = enciphered(&engine, key, mode, &method.clear(data).unwrap());
        assert_eq!(hex(&found), said);
        let other = change(&mut random, <[u8; 1]>::try_from(&data[..1]).unwrap());
        let other = [&other[..], &data[1..]].concat();
        assert_ne!(hex(&enciphered(&engine, key, mode, &method.clear(&other).unwrap())), said);
    }
}

#[test]
fn dynamic_verification_codes_are_those_of_pyemv() {
    let mut random = Random(0x656D_765F_6376);
    let engine = Engine::new(Options::default()).unwrap();
    let (mut cases, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..each() {
        let (key, length) = (random.array::<16>(), 10 + random.below(30));
        let (track, counter, number) = (random.bytes(length), random.array::<2>(), random.array::<4>());
        lines.push(format!("cvc3 {} {} {} {}", hex(&key), hex(&track), hex(&counter), hex(&number)));
        cases.push((key, track, counter, number));
    }
    for ((key, track, counter, number), said) in cases.iter().zip(said(&lines)) {
        assert_eq!(cvc3::track(track), padded(track, payments::emv::Padding::Bit));
        let mac = chip::retail(key, &cvc3::track(track));
        let block = enciphered(&engine, key, Mode::Ecb, &cvc3::block(&mac, *number, *counter));
        let digits = cvc3::digits(&block.try_into().unwrap());
        let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        assert_eq!(text, said);
    }
}
