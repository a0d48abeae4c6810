//! Hostile input: changed tokens, arbitrary payloads.

use proptest::prelude::*;
use verb_requests::support::{
    DOMAIN, OLDER_DOMAIN, Request, compatible_processor, generated, imported, mac, processor, run_raw,
    skeleton, text,
};
use wire::code;
use wire::frame::{Arguments, Outcome};
use wire::verb::symmetric_algorithm_encipher as aes;
use wire::verb::{Direction, Kind, Length, TABLE, Verb, mac_generate};

/// A changed byte breaks the validation value; where it is mended, the control vector no longer opens
/// the key, the pattern no longer finds a master key, or the key is another one.
#[test]
fn every_changed_byte_of_a_compatible_des_token_is_refused_or_changes_the_key() {
    let mut processor = compatible_processor();
    for key_type in ["MAC", "DATA"] {
        let token = generated(&mut processor, key_type, "DOUBLE");
        let rules = ["X9.19OPT", "MACLEN8"];
        let good = mac(&token, &rules, &text(64)).ok(&mut processor).bytes(mac_generate::MAC);
        for index in 0..64 {
            for change in [0x01, 0x10, 0x80, 0xFF] {
                let mut changed = token.clone();
                changed[index] ^= change;
                let reply = mac(&changed, &rules, &text(64)).run(&mut processor);
                assert!(!reply.codes.has_output(), "byte {index} xor {change:02X}: {}", reply.codes);
                if index >= 60 {
                    assert_eq!(reply.codes, code::INTERNAL_TVV);
                    continue;
                }
                mend(&mut changed);
                let reply = mac(&changed, &rules, &text(64)).run(&mut processor);
                // The flag that forbids export says nothing about a MAC.
                let harmless = index == 6 && change == 0x01;
                if reply.codes.has_output() && !harmless {
                    assert_ne!(reply.bytes(mac_generate::MAC), good, "byte {index} xor {change:02X}");
                    assert!((16..48).contains(&index), "byte {index} xor {change:02X}: {}", reply.codes);
                }
            }
        }
    }
}

#[test]
fn every_changed_byte_of_a_compatible_aes_token_is_refused_or_changes_the_key() {
    let mut processor = compatible_processor();
    for key_bytes in [16, 32] {
        let token = imported(&mut processor, "AES", &text(key_bytes));
        let request = |token: &[u8]| {
            Request::new(Verb::SymmetricAlgorithmEncipher)
                .rules(&["AES", "KEYIDENT", "ECB"])
                .counted(aes::KEY_LENGTH, aes::KEY_IDENTIFIER, token)
                .integer(aes::BLOCK_SIZE, 16)
                .counted(aes::CLEAR_TEXT_LENGTH, aes::CLEAR_TEXT, text(16))
                .integer(aes::CIPHER_TEXT_LENGTH, 16)
        };
        let good = request(&token).ok(&mut processor).bytes(aes::CIPHER_TEXT);
        for index in 0..64 {
            for change in [0x01, 0x10, 0x40, 0x80, 0xFF] {
                let mut changed = token.clone();
                changed[index] ^= change;
                assert!(!request(&changed).run(&mut processor).codes.has_output());
                if index >= 60 {
                    continue;
                }
                mend(&mut changed);
                let reply = request(&changed).run(&mut processor);
                // The flag that a control vector is present says nothing: the vector is zero either way.
                let harmless = index == 6 && change == 0x40;
                if reply.codes.has_output() && !harmless {
                    assert_ne!(reply.bytes(aes::CIPHER_TEXT), good, "byte {index} xor {change:02X}");
                    // A shorter key is padded with zeros, which are also a longer key's last bytes.
                    let another_key = key_bytes == 32 && (16..48).contains(&index);
                    assert!(another_key || index == 57, "byte {index} xor {change:02X}");
                }
            }
        }
    }
}

fn mend(token: &mut [u8]) {
    let sum = token[..60]
        .chunks(4)
        .fold(0u32, |sum, word| sum.wrapping_add(u32::from_be_bytes(word.try_into().unwrap())));
    token[60..].copy_from_slice(&sum.to_be_bytes());
}

/// Verbs of this file's table; those of RSA keys have their own tests.
fn symmetric() -> Vec<Verb> {
    TABLE.iter().map(|entry| entry.verb).filter(|verb| (0x0101..0x0200).contains(&(*verb as u16))).collect()
}

/// Decisions drawn from arbitrary bytes; zeros after the last one.
struct Tape<'t>(std::slice::Iter<'t, u8>);

impl Tape<'_> {
    fn pick(&mut self, choices: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % choices
    }

    fn one<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.pick(words.len())]
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.0.next().copied().unwrap_or(0)).collect()
    }
}

/// Usages of key types: what the verb table leaves open.
const USAGES: &[&str] =
    &["XPORT-OK", "NO-XPORT", "KEY-PART", "CLR8-ENC", "UKPT", "ANY-MAC", "TRANSLAT", "DKYL3", "DALL"];

/// A request that is likely to be good, each of its arguments likely to be right.
fn near_request(verb: Verb, tape: &mut Tape<'_>, tokens: &[Vec<u8>]) -> Request {
    let aes = matches!(verb, Verb::SymmetricAlgorithmEncipher | Verb::SymmetricAlgorithmDecipher);
    let mut request = Request::new(verb).domain(if tape.pick(16) == 1 { OLDER_DOMAIN } else { DOMAIN });
    for (position, parameter) in verb.entry().parameters.iter().enumerate() {
        if parameter.direction == Direction::Out {
            continue;
        }
        let right = tape.pick(24) != 1;
        let length = match parameter.kind {
            Kind::Integer => {
                if parameter.direction == Direction::InOut || parameter.name.starts_with("hash") {
                    request = request.integer(position, [512, 64, 0, -1, i64::MAX][tape.pick(5)]);
                } else if parameter.name == "block_size" {
                    request = request.integer(position, if right { 16 } else { tape.pick(99) as i64 });
                }
                continue;
            }
            Kind::Keywords(_) => {
                let mut words = Vec::new();
                for (index, group) in verb.entry().keywords.groups.iter().enumerate() {
                    if index == 0 || tape.pick(2) == 1 {
                        words.push(group.words[tape.pick(group.words.len())].text);
                    }
                }
                if verb.entry().keywords.open && tape.pick(2) == 1 {
                    words.push(tape.one(USAGES));
                }
                if !right {
                    words.push(tape.one(&["CBC", "ONLY", "NOSUCH", "", "only"]));
                }
                request = request.rules(&words);
                continue;
            }
            Kind::Key { length, .. } => {
                let token = match (verb, tape.pick(tokens.len() + 2)) {
                    _ if aes && right => tokens[0].clone(),
                    (_, index) if index < tokens.len() => tokens[index].clone(),
                    _ => vec![0; 64],
                };
                let token = if right { token } else { tape.bytes(64) };
                request = match length {
                    Length::By(by) => request.counted(by, position, token),
                    _ => request.bytes(position, token),
                };
                continue;
            }
            Kind::Bytes(length) => length,
        };
        let field = parameter.name;
        if field.starts_with("key_type") || matches!(field, "key_form" | "key_length" | "form") {
            let word = match field {
                "key_form" => format!("{:4}", tape.one(&["OP", "OP", "OPOP", "IM"])),
                "key_length" => {
                    format!("{:8}", tape.one(&["", "SINGLE", "DOUBLE", "KEYLN16", "KEYLN24", "DOUBLE-O"]))
                }
                "form" => format!("{:8}", tape.one(&["RANDOM", "ODD", "EVEN", "NONE"])),
                "key_type_2" => format!("{:8}", tape.one(&["", "", "MACVER", "DATA"])),
                _ => format!(
                    "{:8}",
                    tape.one(&["DATA", "MAC", "TOKEN", "AESDATA", "AESTOKEN", "KEYGENKY", "IPINENC"])
                ),
            };
            request = request.bytes(position, word);
            continue;
        }
        let count = match length {
            Length::Fixed(_) | Length::Keyed(_) => length.longest().unwrap_or(0),
            _ if field.contains("initialization") => [16, 12][tape.pick(2)],
            _ if field.contains("chain") => [32, 128][tape.pick(2)],
            _ => [8, 16, 24, 32, 64, 128, 0, 7, 33][tape.pick(9)],
        };
        let count = if right { count } else { tape.pick(200) };
        let bytes = tape.bytes(count);
        request = match length {
            Length::By(by) if tape.pick(24) != 1 => request.counted(by, position, bytes),
            _ => request.bytes(position, bytes),
        };
    }
    request
}

proptest! {
    #[test]
    fn any_payload_is_answered(payload in prop::collection::vec(any::<u8>(), 0..300), verb in 0usize..64) {
        let mut processor = processor();
        let verbs = symmetric();
        let (outcome, reply) = run_raw(&mut processor, verbs[verb % verbs.len()], DOMAIN, &payload);
        if outcome == Outcome::Answered {
            reply.arguments();
        } else {
            prop_assert!(reply.payload.is_empty());
        }
    }

    #[test]
    fn nearly_right_requests_are_answered(verb in 0usize..64, tape in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut processor = processor();
        let verbs = symmetric();
        let verb = verbs[verb % verbs.len()];
        let tokens = [
            imported(&mut processor, "AES", &text(16)),
            imported(&mut processor, "DES", &text(8)),
            imported(&mut processor, "DES", &text(16)),
            skeleton(&mut processor, "KEYGENKY", &["UKPT"]),
        ];
        let request = near_request(verb, &mut Tape(tape.iter()), &tokens);
        let (outcome, reply) = run_raw(&mut processor, verb, request.domain, &request.payload());
        prop_assert_eq!(outcome, Outcome::Answered);
        Arguments::read_reply(verb, &reply.payload).unwrap();
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            let key_or_bytes = parameter.direction != Direction::In && parameter.kind != Kind::Integer;
            if key_or_bytes && !reply.codes.has_output() {
                prop_assert!(reply.bytes(position).is_empty());
            }
        }
    }
}
