//! Every usage and mode of X9.143, in each length, under every version: made by psec, imported under each keyword, and
//! exported again for psec to open. docs/reference/keyblocks.md states the counts.

use super::export::{METHODS, MODES, USAGES};
use super::psec::{all_versions, hex, psec, value_of};
use std::collections::BTreeMap;
use std::path::Path;
use token::DesToken;
use token::tr31::uses::{self, Choice, Meaning, UsageRow};
use token::variable::VariableType;
use verb_requests::key_block::*;
use verb_requests::keys::{AES_TRANSPORT, entered2};
use verb_requests::support::entered;
use wire::code;

/// A protection key of three parts for versions A to C: no key of the matrix is stronger.
const THREE: [u8; 24] =
    *b"\x01\x23\x45\x67\x89\xAB\xCD\xEF\xFE\xDC\xBA\x98\x76\x54\x32\x10\x57\x64\x89\xB5\xCE\xE3\x01\x2C";
/// Bytes of keys: with odd parity, no two of eight equal.
const VALUE: [u8; 32] =
    *b"\x13\x34\x57\x79\x9B\xBC\xDF\xF1\x02\x46\x8A\xCE\x13\x57\x9B\xDF\xFE\xDC\xBA\x98\x76\x54\x32\x10\x25\x26\x29\x2A\x2C\x2F\x31\x32";

/// What became of the combinations of an algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    tried: usize,
    came_in: usize,
    left_again: usize,
}

/// Lengths in bytes that are tried for keys of an algorithm.
fn lengths(algorithm: u8) -> &'static [usize] {
    match algorithm {
        b'H' => &[20, 32],
        b'D' => &[8],
        _ => &[8, 16, 24, 32],
    }
}

/// Whether a key of the row has this length.
fn has_length(row: &UsageRow, algorithm: u8, bytes: usize) -> bool {
    use token::control_vector::KeyForm;
    let form = match (algorithm, bytes) {
        (b'D', 8) => KeyForm::Single,
        (b'T', 16) => KeyForm::Double,
        (b'T', 24) => KeyForm::Triple,
        (b'A', 16 | 24 | 32) | (b'H', _) => return matches!(row.meaning, Meaning::Variable(..)),
        _ => return false,
    };
    row.vector(form, true).is_ok()
}

#[test]
fn every_code_of_the_standard_comes_in_as_its_rows_say_and_leaves_again() {
    let (mut keys, all) = (Keys::new(), all_versions());
    keys.exporter = entered(&mut keys.processor, "EXPORTER", &["TRIPLE"], &THREE);
    keys.importer = entered(&mut keys.processor, "IMPORTER", &["TRIPLE"], &THREE);
    let words = &["EXPTT31D", "VARDRV-D"];
    keys.aes_exporter = entered2(&mut keys.processor, VariableType::Exporter, words, &AES_TRANSPORT);
    let words = &["IMPTT31D", "VARDRV-D"];
    keys.aes_importer = entered2(&mut keys.processor, VariableType::Importer, words, &AES_TRANSPORT);
    let protection = |version: char| if version == 'D' { &AES_TRANSPORT[..] } else { &THREE[..] };

    let (mut asked, mut made) = (Vec::new(), Vec::new());
    for version in ['A', 'B', 'C', 'D'] {
        for usage in uses::USAGES {
            for algorithm in b"ADHT" {
                for mode in uses::MODES {
                    for bytes in lengths(*algorithm) {
                        let usage = str::from_utf8(usage).unwrap();
                        let codes = format!("{version}{usage}{}{}00S", *algorithm as char, *mode as char);
                        let blocks =
                            if *algorithm == b'H' { format!("HM={}", hex(b"21")) } else { "-".into() };
                        let value = hex(&VALUE[..*bytes]);
                        asked.push(format!("wrap {} {codes} {blocks} {value}", hex(protection(version))));
                        made.push((version, usage, *algorithm, *mode, *bytes));
                    }
                }
            }
        }
    }
    let texts = psec(asked);
    let mut counts: BTreeMap<char, Counted> = BTreeMap::new();
    let (mut again, mut expected) = (Vec::new(), Vec::new());
    for ((version, usage, algorithm, mode, bytes), text) in made.into_iter().zip(&texts) {
        let codes: [u8; 2] = usage.as_bytes().try_into().unwrap();
        let counted = counts.entry(algorithm as char).or_default();
        counted.tried += 1;
        let is_weaker = version != 'D' && matches!(algorithm, b'A' | b'H') && bytes > 14;
        let rows: Vec<&UsageRow> = uses::rows(codes, algorithm, mode).collect();
        if rows.is_empty() {
            assert!(uses::why_absent(codes, algorithm, mode).is_some(), "{text}");
            keys.import(text, &[]).points(all).refused(&mut keys.processor, code::KEY_USAGE);
            continue;
        }
        for row in rows {
            let words: Vec<&str> = row.keyword().into_iter().collect();
            let reply = keys.import(text, &words).points(all).run(&mut keys.processor);
            let is_length = match algorithm {
                b'T' => matches!(bytes, 16 | 24),
                b'A' => bytes > 8,
                _ => true,
            };
            let refused = match () {
                () if row.point.is_some() => Some(code::ACCESS_DENIED),
                () if !is_length => Some(code::RSA_BLOCK),
                () if is_weaker => Some(code::STRENGTH),
                () if !has_length(row, algorithm, bytes) => Some(code::KEY_LENGTH_KEYWORD),
                () => None,
            };
            if let Some(codes) = refused {
                assert_eq!(reply.codes, codes, "{text} {words:?} {row:?}");
                continue;
            }
            assert_eq!(reply.codes, code::OK, "{text} {words:?} {row:?}");
            let source = token(&reply);
            let is_des = matches!(row.meaning, Meaning::Des(..));
            if algorithm != b'H' {
                assert_eq!(value_of(&source, !is_des), VALUE[..bytes], "{text}");
            }
            match row.meaning {
                Meaning::Des(key_type, _) => {
                    let vector = DesToken::parse(&source).unwrap().control_vector();
                    assert!(key_type.covers(vector) && key_type.keywords_of(vector).is_some(), "{text}");
                }
                Meaning::Variable(key_type, _) => {
                    assert_eq!(crate::variable::parsed(&source).key_type(), key_type);
                }
            }
            counted.came_in += 1;
            // Out again under the mode that says what the key does, with its control vector where a key has one.
            let mode = mode_of(row);
            let (Some((word, _)), Some((mode_word, _))) = (
                USAGES.iter().find(|(_, own)| own.as_bytes() == row.usage),
                MODES.iter().find(|(_, own)| *own == mode),
            ) else {
                continue;
            };
            let method = METHODS.iter().find(|(_, letter)| *letter == version).unwrap().0;
            let mut words = vec![method, word, mode_word, "EXP-ANY"];
            words.extend(is_des.then_some("INCL-CV"));
            let reply = keys.export(&source, &words).points(all).run(&mut keys.processor);
            if reply.codes != code::OK {
                // A usage with more than one key leaves under that of one of them alone.
                assert!(
                    algorithm == b'H' || reply.codes == code::KEY_USAGE,
                    "{text} {words:?} {}",
                    reply.codes
                );
                continue;
            }
            counted.left_again += 1;
            again.push(format!("unwrap {} {}", hex(protection(version)), block(&reply)));
            let algorithm = if algorithm == b'D' { 'D' } else { algorithm as char };
            expected.push(format!("{usage} {algorithm} {} 00 S {}", mode as char, hex(&VALUE[..bytes])));
        }
    }
    assert_eq!(psec(again), expected);
    for (algorithm, counted) in &counts {
        println!("{algorithm}: {counted:?}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/keyblocks.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (algorithm, name) in [('T', "TDES"), ('A', "AES"), ('H', "HMAC"), ('D', "DES")] {
        let Counted { tried, came_in, left_again } = counts[&algorithm];
        let line = format!("| {name} | {tried} | {came_in} | {left_again} |");
        assert!(page.contains(&line), "docs/reference/keyblocks.md has no line {line}");
    }
}

/// The mode under which the key of a row leaves: that of the row, or of N and B the one that says what the key does.
fn mode_of(row: &UsageRow) -> u8 {
    let named = |mode: u8| {
        let is_aes = matches!(row.meaning, Meaning::Variable(..));
        let algorithm = if is_aes { b'A' } else { b'T' };
        uses::rows(row.usage, algorithm, mode).any(|other| {
            other.meaning == row.meaning && (other.choice == row.choice || other.choice == Choice::Usual)
        })
    };
    match row.mode {
        b'N' | b'B' => {
            let order = if row.choice == Choice::Usual { b"BEDXCGV" } else { b"EDBXCGV" };
            *order.iter().find(|mode| named(**mode)).unwrap_or(&row.mode)
        }
        mode => mode,
    }
}
