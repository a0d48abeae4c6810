//! Key blocks beside those of the Python package psec 1.3.0, in both directions, with wrong blocks as often as right
//! ones.

use super::export::{METHODS, MODES, USAGES};
use cca::Processor;
use seeded::Random;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use token::tr31::uses::{Choice, Meaning, ROWS, UsageRow, may_leave, may_leave_variable};
use token::{DesToken, KeyType};
use verb_requests::key_block::*;
use verb_requests::peer;
use verb_requests::support::{aes_key, entered, sym_key};
use verb_requests::uses::ways::entered2;
use verb_requests::wrapped::unwrapped;
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::tr31_key_export::{OPT_BLKS, OPT_BLKS_LENGTH};

/// Cases: with `CRYPTAND_TEST_ALL` those of `make test-all`.
fn cases() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 100_000 } else { 10_000 }
}

/// What psec answers, a line for each.
pub fn psec(asked: Vec<String>) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/payments/bin/python");
    assert!(python.exists(), "{} is missing: `scripts/need test` makes it", python.display());
    let mut child = Command::new(python)
        .arg(root.join("tests/verbs/key_block/beside_psec.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let count = asked.len();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all((asked.join("\n") + "\n").as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect();
    assert_eq!(lines.len(), count, "an answer for each");
    lines
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// A row whose block needs no point, its algorithm, and a version that carries it.
fn row(random: &mut Random) -> (&'static UsageRow, bool, char) {
    let row = &ROWS[random.below(ROWS.len())];
    let has_keyword = USAGES.iter().any(|(_, usage)| usage.as_bytes() == row.usage);
    if row.point.is_some() || row.choice != Choice::Usual || !has_keyword {
        return self::row(random);
    }
    let is_aes = matches!(row.meaning, Meaning::Variable(..));
    (row, is_aes, if is_aes { 'D' } else { random.pick(&['A', 'B', 'C', 'D']) })
}

/// A value of the key: with odd parity, which DES keys in parts have.
fn value(random: &mut Random, is_aes: bool) -> Vec<u8> {
    let odd = |byte: u8| byte ^ u8::from(byte.count_ones().is_multiple_of(2));
    // Of three parts: in the matrix.
    let bytes = if is_aes { random.pick(&[16, 24, 32]) } else { 16 };
    let bytes = random.bytes(bytes);
    if is_aes { bytes } else { bytes.into_iter().map(odd).collect() }
}

/// An identifier and data by chance.
type MadeBlock = fn(&mut Random) -> (&'static str, String);

/// Up to three optional blocks, by identifier, none longer than two digits say: of longer ones psec counts the bytes of
/// the length, X9.143 its digits.
fn optional(random: &mut Random) -> Vec<(&'static str, String)> {
    let all: [MadeBlock; 5] = [
        |random| ("KS", hex(&random.array::<10>())),
        |random| ("TS", "2".repeat(1 + random.below(20))),
        |random| ("LB", "a-label.".repeat(random.below(30))),
        |random| ("KC", format!("00{}", hex(&random.array::<3>()))),
        |random| {
            let bytes = 1 + random.below(120);
            ("Z9", hex(&random.bytes(bytes)))
        },
    ];
    let first = random.below(all.len());
    let count = random.pick(&[0, 0, 1, 2, 3]);
    (0..count).map(|step| all[(first + step) % all.len()](random)).collect()
}

/// One character of the text as another one.
fn spoiled(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = random.below(bytes.len());
    let other = random.pick(b"0123456789ABCDEFNSXZ");
    let instead = if other == b'0' { b'1' } else { b'0' };
    bytes[at] = if bytes[at] == other { instead } else { other };
    String::from_utf8(bytes).unwrap()
}

pub fn all_versions() -> &'static PointSet {
    with_points(&[Point::Tr31ExportA, Point::Tr31ExportC, Point::Tr31ImportA, Point::Tr31ImportC])
}

/// The value of the key of a token, opened without a card.
pub fn value_of(token: &[u8], is_aes: bool) -> Vec<u8> {
    if is_aes {
        unwrapped(&aes_key(false), token).unwrap()
    } else {
        peer::unwrap_token(&sym_key(false), token)
    }
}

#[test]
fn blocks_of_psec_come_in_where_they_are_right() {
    let (mut keys, mut random, all) = (Keys::new(), Random(17), all_versions());
    let mut asked = Vec::new();
    let mut made = Vec::new();
    for _ in 0..cases() / 2 {
        let (row, is_aes, version) = row(&mut random);
        let value = value(&mut random, is_aes);
        let usage = str::from_utf8(&row.usage).unwrap();
        let codes = format!(
            "{version}{usage}{}{}{}{}",
            if is_aes { 'A' } else { 'T' },
            row.mode as char,
            random.pick(&["00", "12", "c3"]),
            random.pick(&['E', 'N', 'S']),
        );
        let blocks: Vec<String> = optional(&mut random)
            .iter()
            .map(|(name, data)| format!("{name}={}", hex(data.as_bytes())))
            .collect();
        let blocks = if blocks.is_empty() { "-".to_string() } else { blocks.join(",") };
        asked.push(format!("wrap {} {codes} {blocks} {}", hex(Keys::value(version)), hex(&value)));
        made.push((value, is_aes, version));
    }
    let texts = psec(asked);
    let spoiled: Vec<Option<String>> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| (at % 2 == 1).then(|| spoiled(&mut random, text)))
        .collect();
    let judged = psec(
        spoiled
            .iter()
            .zip(&texts)
            .zip(&made)
            .map(|((spoiled, text), (_, _, version))| {
                format!("unwrap {} {}", hex(Keys::value(*version)), spoiled.as_ref().unwrap_or(text))
            })
            .collect(),
    );
    let (mut right, mut wrong) = (0, 0);
    for (((text, spoiled), (value, is_aes, _)), judged) in texts.iter().zip(&spoiled).zip(&made).zip(&judged)
    {
        let given = spoiled.as_ref().unwrap_or(text);
        let is_d = text.starts_with('D');
        let kek = if is_d { &keys.aes_importer } else { &keys.importer };
        let reply = import(given, kek, &["INTERNAL"]).points(all).run(&mut keys.processor);
        if spoiled.is_some() {
            assert_eq!(reply.codes.return_code, 8, "{text} {given} {}", reply.codes);
            // What psec refuses is a subset: it pads optional blocks in ways of its own.
            assert!(judged == "no" || reply.codes != code::OK, "{given}");
            wrong += 1;
            continue;
        }
        assert_eq!(reply.codes, code::OK, "{text}");
        assert_eq!(value_of(&token(&reply), *is_aes), *value, "{text}");
        right += 1;
    }
    assert!(right >= cases() / 4 && wrong >= cases() / 4 - 1, "{right} {wrong}");
}

#[test]
fn blocks_of_cards_are_read_by_psec() {
    let (mut keys, mut random, all) = (Keys::new(), Random(29), all_versions());
    let mut asked = Vec::new();
    let mut expected = Vec::new();
    while expected.len() < cases() / 2 {
        let (row, is_aes, version) = row(&mut random);
        let value = value(&mut random, is_aes);
        let Some(source) = source(&mut keys.processor, row, &value) else { continue };
        let usage = USAGES.iter().find(|(_, usage)| usage.as_bytes() == row.usage).unwrap();
        let mode = MODES.iter().find(|(_, mode)| *mode == row.mode).unwrap().0;
        let method = METHODS.iter().find(|(_, letter)| *letter == version).unwrap().0;
        let (export, letter) = random.pick(&[("EXP-ANY", 'S'), ("EXP-TRST", 'E'), ("EXP-NONE", 'N')]);
        let mut blocks = Vec::new();
        for (name, data) in optional(&mut random) {
            let identifier = name.as_bytes().try_into().unwrap();
            payments::key_block::OptionalBlock { identifier, data: data.as_bytes() }
                .write(&mut blocks)
                .unwrap();
        }
        let request = keys.export(&source, &[method, usage.0, mode, export]);
        let request = request.counted(OPT_BLKS_LENGTH, OPT_BLKS, &blocks).points(all);
        let reply = request.run(&mut keys.processor);
        assert_eq!(reply.codes, code::OK, "{row:?}");
        let text = block(&reply);
        let is_right = expected.len() % 2 == 0;
        let text = if is_right { text } else { spoiled(&mut random, &text) };
        asked.push(format!("unwrap {} {text}", hex(Keys::value(version))));
        let codes =
            format!("{} {} {} 00 {letter}", usage.1, if is_aes { 'A' } else { 'T' }, row.mode as char);
        expected.push((is_right, format!("{codes} {}", hex(&value)), text));
    }
    let answers = psec(asked);
    for ((is_right, expected, text), answer) in expected.iter().zip(answers) {
        assert_eq!(answer == *expected, *is_right, "{text}: {answer}");
    }
}

/// A key that leaves under the codes of a row, if one does.
fn source(processor: &mut Processor, row: &UsageRow, value: &[u8]) -> Option<Vec<u8>> {
    match row.meaning {
        Meaning::Des(key_type, words) => {
            let token = des(processor, key_type, words, value.try_into().unwrap());
            let vector = DesToken::parse(&token).unwrap().control_vector();
            may_leave(vector, row.usage, row.mode, false).ok().map(|()| token)
        }
        Meaning::Variable(key_type, words) => {
            let token = entered2(processor, key_type, words, value);
            let parsed = crate::variable::parsed(&token);
            let is_whole = value_of(&token, true).len() == value.len();
            may_leave_variable(parsed.attributes(), row.usage, row.mode)
                .ok()
                .filter(|()| is_whole)
                .map(|()| token)
        }
    }
}

fn des(processor: &mut Processor, key_type: KeyType, words: &[&str], value: &[u8; 16]) -> Vec<u8> {
    let has_single = key_type.default_form() == token::control_vector::KeyForm::Single;
    let words = if has_single { [&["DOUBLE"], words].concat() } else { words.to_vec() };
    entered(processor, key_type.name(), &words, value)
}
