//! Requests of PIN verbs, under keys that open, with profiles, PANs, lengths and digits of every kind.

use crate::batches::{Choices, ecb, run, three_parts};
use crate::keys::{Keys, PIN_VALUE};
use crate::keywords::padded;
use crate::verbs::within_fields;
use cca::{Batch, Count, Incoming};
use engine::CipherAlgorithm;
use std::cell::RefCell;
use wire::code;
use wire::frame::{Arguments, Outcome};
use wire::point::{Point, PointSet};
use wire::verb::{Direction, Entry, Kind, Length, Parameter, Verb};

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::new(Keys::new());
}

/// The verbs that work with PINs in blocks of eight bytes, or make them.
const VERBS: [Verb; 9] = [
    Verb::EncryptedPinTranslate,
    Verb::EncryptedPinTranslate2,
    Verb::EncryptedPinVerify,
    Verb::EncryptedPinVerify2,
    Verb::ClearPinGenerate,
    Verb::ClearPinGenerateAlternate,
    Verb::EncryptedPinGenerate,
    Verb::ClearPinEncrypt,
    Verb::RecoverPinFromOffset,
];
/// Formats, and how clear blocks of them begin.
const FORMATS: [(&str, &str); 13] = [
    ("ISO-0", "0L"),
    ("ISO-1", "1L"),
    ("ISO-2", "2L"),
    ("ISO-3", "3L"),
    ("VISA-2", "L"),
    ("VISA-3", ""),
    ("VISA-4", "0L"),
    ("ECI-2", ""),
    ("ECI-3", "L"),
    ("3621", "0123"),
    ("3624", ""),
    ("4704-EPP", "L"),
    ("ISO-4", "4L"),
];
/// Formats whose blocks are made of the PIN, the profile and the PAN alone.
const CERTAIN: [&str; 8] = ["ISO-0", "ISO-2", "VISA-2", "VISA-3", "VISA-4", "3621", "3624", "4704-EPP"];
/// Points of a role: all, all but the one that tells what is wrong in a clear block, those of the owner of a home.
const WITHOUT_FINE_CODES: &PointSet = &{
    let mut points = PointSet::EVERYTHING;
    points.deny(Point::PinFineCodes);
    points
};

/// A PIN verb with two clear blocks. No panic; no output beyond its field and no key in it; TRANSLAT keeps the clear
/// block; a block that is made is one of its format, and is made again of itself; in a role that is told no more, wrong
/// clear blocks have one answer.
pub fn pin_verb(data: &[u8]) {
    pin_verb_answer(data);
}

/// What [`pin_verb`] does; tells which verb it was, and whether it served one of the blocks.
pub fn pin_verb_answer(data: &[u8]) -> Option<(Verb, bool)> {
    KEYS.with_borrow_mut(|keys| with(keys, data))
}

/// A request that is made up: integers and bytes by the places of parameters.
#[derive(Clone)]
struct Made {
    verb: Verb,
    integers: Vec<Option<i64>>,
    values: Vec<Option<Vec<u8>>>,
}

impl Made {
    fn payload(&self) -> Option<Vec<u8>> {
        let mut request = Arguments::new(self.verb);
        for (position, integer) in self.integers.iter().enumerate() {
            if let Some(integer) = integer {
                request.set_integer(position, *integer);
            }
        }
        for (position, value) in self.values.iter().enumerate() {
            if let Some(value) = value {
                request.set_bytes(position, value);
            }
        }
        let mut payload = Vec::new();
        request.write_request(&mut payload).ok().map(|()| payload)
    }

    fn value(&self, name: &str) -> &[u8] {
        let position = self.verb.entry().parameters.iter().position(|one| one.name == name);
        position.and_then(|position| self.values[position].as_deref()).unwrap_or_default()
    }

    /// Puts a value, and the length that goes with it.
    fn set(&mut self, name: &str, value: Vec<u8>) {
        let parameters = self.verb.entry().parameters;
        let Some(position) = parameters.iter().position(|one| one.name == name) else { return };
        if let Some(at) = length_at(&parameters[position]) {
            self.integers[at] = Some(value.len() as i64);
        }
        self.values[position] = Some(value);
    }
}

fn length_at(parameter: &Parameter) -> Option<usize> {
    match parameter.kind {
        Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. } => Some(at),
        _ => None,
    }
}

fn with(keys: &mut Keys, data: &[u8]) -> Option<(Verb, bool)> {
    let mut choices = Choices::new(data);
    let verb = VERBS[choices.below(VERBS.len())];
    let role = choices.below(4);
    let owner = &wire::role::BUILT_IN[0].points;
    let points = [WITHOUT_FINE_CODES, WITHOUT_FINE_CODES, &PointSet::EVERYTHING, owner][role];
    let may_fail = choices.below(3) == 0;
    let mut request = made(keys, verb.entry(), &mut choices, may_fail);
    let given = names(verb);
    let pan = request.value(given.pan).to_vec();
    let profile = request.value(given.profile).to_vec();
    let blocks = [0; 2].map(|_| clear_block(&mut choices, &pan, &profile));
    if verb == Verb::EncryptedPinVerify2 {
        let (pan, profile) = (request.value("reference_pan_data"), request.value("reference_pin_profile"));
        let reference = clear_block(&mut choices, pan, profile);
        request.set("reference_pin_block", enciphered(&reference, true));
    }
    let is_fixed = request.value("rule_array").chunks(8).all(|word| !holds(word, b"DUKPT"));
    let mut codes = Vec::new();
    for block in blocks {
        if !given.block.is_empty() && request.value(given.block).len() == 8 {
            request.set(given.block, enciphered(&block, true));
        }
        let payload = request.payload()?;
        let (answer, reply) = answered(keys, verb, points, &payload);
        codes.push(answer);
        let Some(reply) = reply else { continue };
        let output = written(verb, &reply);
        let words = request.value("rule_array");
        if holds(words, b"TRANSLAT") && is_fixed && output.len() == 8 && given.is_known(&request) {
            assert_eq!(enciphered(output, false), block, "TRANSLAT keeps the clear block");
        }
        if holds(words, b"REFORMAT") && is_fixed && output.len() == 8 && given.is_known(&request) {
            again(keys, &request, points, output);
        }
    }
    let [one, other] = codes[..] else { return None };
    let depends = [code::OK, code::PIN_NOT_VERIFIED, code::PIN_BLOCK];
    if role < 2 && is_fixed && one != other {
        assert!(depends.contains(&one) && depends.contains(&other), "{verb:?}: {one} and {other}");
    }
    Some((verb, codes.iter().any(|codes| codes.has_output())))
}

/// Names of the parameters that hold the profile, PAN and block which come in.
struct Names {
    profile: &'static str,
    pan: &'static str,
    block: &'static str,
}

impl Names {
    /// Whether the keys of both ends are the known ones.
    fn is_known(&self, request: &Made) -> bool {
        KEY_NAMES.iter().all(|name| request.value(name).len() == token::TOKEN_BYTES)
            && !request.value(self.profile).starts_with(b"ISO-4")
    }
}

/// Key parameters of the two verbs that translate.
const KEY_NAMES: [&str; 2] = ["input_pin_encrypting_key_identifier", "output_pin_encrypting_key_identifier"];

fn names(verb: Verb) -> Names {
    let (profile, pan, block) = match verb {
        Verb::EncryptedPinTranslate => ("input_pin_profile", "pan_data_in", "pin_block_in"),
        Verb::EncryptedPinTranslate2 => ("input_pin_profile", "input_pan_data", "input_pin_block"),
        Verb::EncryptedPinVerify => ("input_pin_profile", "pan_data", "encrypted_pin_block"),
        Verb::EncryptedPinVerify2 => ("input_pin_profile", "input_pan_data", "input_pin_block"),
        Verb::ClearPinGenerateAlternate => ("pin_profile", "pan_data", "encrypted_pin_block"),
        _ => ("pin_profile", "pan_data", ""),
    };
    Names { profile, pan, block }
}

/// What was reformatted, reformatted to what it is: read as a block of its format, and the same where nothing random is
/// in it.
fn again(keys: &mut Keys, request: &Made, points: &PointSet, output: &[u8]) {
    let profile = request.value("output_pin_profile").to_vec();
    let Some(format) = profile.get(..8).and_then(|word| std::str::from_utf8(word).ok()).map(str::trim_end)
    else {
        return;
    };
    // Decimal pad digits may be those of the PIN.
    if matches!(format, "3621" | "3624") && profile.get(23).is_none_or(u8::is_ascii_digit) {
        return;
    }
    let mut request = request.clone();
    let (pan, block) = match request.verb {
        Verb::EncryptedPinTranslate => (["pan_data_in", "pan_data_out"], "pin_block_in"),
        _ => (["input_pan_data", "output_pan_data"], "input_pin_block"),
    };
    let own = request.value(pan[1]).to_vec();
    request.set("input_pin_profile", profile.clone());
    request.set(pan[0], own);
    request.set(block, output.to_vec());
    let rules = padded("REFORMAT").to_vec();
    let parameters = request.verb.entry().parameters;
    let position = parameters.iter().position(|one| one.name == "rule_array").expect("it has keywords");
    if let Kind::Keywords(at) = parameters[position].kind {
        (request.integers[at], request.values[position]) = (Some(1), Some(rules));
    }
    let Some(payload) = request.payload() else { return };
    let (codes, reply) = answered(keys, request.verb, points, &payload);
    assert_eq!(codes, code::OK, "a block that was made is one of {format}");
    let reply = reply.expect("it is done");
    if CERTAIN.contains(&format) {
        assert_eq!(written(request.verb, &reply), output, "and is made again: {format}");
    }
}

/// The block that a verb writes, under its key.
fn written(verb: Verb, reply: &Reply) -> &[u8] {
    let is_block = |one: &Parameter| one.direction == Direction::Out && one.name.contains("pin_bl");
    let position = verb.entry().parameters.iter().position(is_block);
    position.map_or(&[][..], |position| reply.0[position].as_slice())
}

/// The outputs of a reply, by the places of parameters.
struct Reply(Vec<Vec<u8>>);

/// Runs a request alone, as a card whose daemon counts at once.
fn answered(
    keys: &mut Keys,
    verb: Verb,
    points: &PointSet,
    payload: &[u8],
) -> (wire::code::Codes, Option<Reply>) {
    let mut batch = Batch::new();
    batch.push(&Incoming { verb, domain: 0, points, payload }).expect("an empty batch has room");
    keys.processor.run(&mut batch);
    let answer = &batch.answers()[0];
    if let Some(Count::Failed(guess)) = answer.count {
        keys.processor.counted(&guess, 0);
    }
    assert!(!holds(&answer.payload, &PIN_VALUE) || holds(payload, &PIN_VALUE), "a key left in the clear");
    if answer.outcome != Outcome::Answered || !answer.codes.has_output() {
        return (answer.codes, None);
    }
    let reply = Arguments::read_reply(verb, &answer.payload).expect("a card's answer is well formed");
    within_fields(payload, &reply);
    let outputs = verb.entry().parameters.iter().enumerate().map(|(position, parameter)| {
        let is_output = parameter.direction != Direction::In && parameter.kind != Kind::Integer;
        if is_output { reply.bytes(position).to_vec() } else { Vec::new() }
    });
    (answer.codes, Some(Reply(outputs.collect())))
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A block under the known key, or what is in it.
fn enciphered(block: &[u8], encipher: bool) -> Vec<u8> {
    let key = three_parts(CipherAlgorithm::Tdes2, &PIN_VALUE);
    run(ecb(CipherAlgorithm::Tdes2), encipher, &key, None, block)
}

/// A request whose block is still to be put in.
fn made(keys: &Keys, entry: &Entry, choices: &mut Choices<'_>, may_fail: bool) -> Made {
    let parameters = entry.parameters;
    let mut request = Made {
        verb: entry.verb,
        integers: vec![None; parameters.len()],
        values: vec![None; parameters.len()],
    };
    for (position, parameter) in parameters.iter().enumerate() {
        if parameter.direction == Direction::Out && parameter.kind != Kind::Integer {
            if let Some(at) = length_at(parameter) {
                request.integers[at] =
                    Some(if choices.below(16) == 0 { choices.below(17) as i64 } else { 16 });
            }
            continue;
        }
        let name = parameter.name;
        let value = match parameter.kind {
            // Lengths and counts are those of what they belong to.
            Kind::Integer => {
                let number = match choices.below(8) {
                    0 if may_fail => i64::from(choices.byte() as i8),
                    1 if may_fail => 10_000,
                    2 | 3 => 4,
                    _ => 4 + choices.below(9) as i64,
                };
                let is_own = ["pin_length", "pin_check_length", "sequence_number"].contains(&name);
                if is_own {
                    request.integers[position] = Some(number);
                }
                continue;
            }
            Kind::Keywords(at) => {
                let words =
                    if name == "rule_array" { keywords(entry, choices, may_fail) } else { Vec::new() };
                request.integers[at] = Some(words.len() as i64 / 8);
                words
            }
            Kind::Key { .. } => key(keys, name, choices, may_fail),
            _ if name.contains("profile") => profile(choices, may_fail),
            _ if name.contains("pan_data") => pan(choices, length_at(parameter).is_some(), may_fail),
            _ if name.contains("pin_bl") => match choices.below(16) {
                0 if may_fail => choices.bytes(16),
                1 if may_fail => Vec::new(),
                _ => choices.bytes(8),
            },
            _ if name == "data_array" => [0; 3].iter().flat_map(|_| element(choices, may_fail)).collect(),
            _ if name == "clear_pin" || name == "offset" => element(choices, may_fail),
            _ if name.starts_with("reserved") => continue,
            _ => {
                let count = if may_fail && choices.below(8) == 0 { choices.below(20) } else { 0 };
                choices.bytes(count)
            }
        };
        if let Some(at) = length_at(parameter) {
            request.integers[at] = Some(value.len() as i64);
        }
        request.values[position] = Some(value);
    }
    // A length or a count that is wrong.
    if may_fail && choices.below(16) == 0 {
        let position = choices.below(parameters.len());
        if parameters[position].kind == Kind::Integer {
            request.integers[position] = Some(i64::from(choices.byte() as i8));
        }
    }
    request
}

/// A keyword of each group that one has to be of, and sometimes of the others.
fn keywords(entry: &Entry, choices: &mut Choices<'_>, may_fail: bool) -> Vec<u8> {
    let mut words = Vec::new();
    for (number, group) in entry.keywords.groups.iter().enumerate() {
        let is_given = number == 0 || choices.below(if may_fail { 4 } else { 24 }) == 0;
        if is_given && !group.words.is_empty() {
            words.extend(padded(group.words[choices.below(group.words.len())].text));
        }
    }
    words
}

/// The key that a parameter is for; sometimes another one, or none.
fn key(keys: &Keys, name: &str, choices: &mut Choices<'_>, may_fail: bool) -> Vec<u8> {
    let of_pins = &keys.tokens[keys.pins..];
    let is_generating = name.contains("generat") || name.contains("verifying") || name.contains("pin_gen");
    let is_inbound = name.contains("input") || name.contains("reference") || name.contains("pin_encryption");
    let is_inbound = is_inbound || name == "pin_encrypting_key_identifier" && choices.below(8) == 0;
    match choices.below(16) {
        0 if may_fail => keys.tokens[choices.below(keys.tokens.len())].clone(),
        1 if may_fail => of_pins[choices.below(9)].clone(),
        2 if may_fail => vec![0; token::TOKEN_BYTES],
        _ if name.contains("authentication") => Vec::new(),
        _ if is_generating => of_pins[2].clone(),
        _ if is_inbound => of_pins[0].clone(),
        _ => of_pins[1].clone(),
    }
}

/// A profile of any format with any pad digit, sometimes with what no profile has.
fn profile(choices: &mut Choices<'_>, may_fail: bool) -> Vec<u8> {
    let format = FORMATS[choices.below(FORMATS.len())].0;
    let pad = match choices.below(8) {
        0 if may_fail => choices.byte(),
        1 if may_fail => b"abcdefg "[choices.below(8)],
        2 => b"0123456789"[choices.below(10)],
        3 => b' ',
        4 => b"ABCDE"[choices.below(5)],
        _ => b'F',
    };
    let mut profile = [&padded(format)[..], b"NONE           ", &[pad]].concat();
    match choices.below(16) {
        0 if may_fail => profile.make_ascii_lowercase(),
        1 if may_fail => profile.truncate(choices.below(24)),
        2 if may_fail => {
            let count = choices.below(49);
            profile.extend(choices.bytes(count));
        }
        3 if may_fail => {
            let at = choices.below(24);
            profile[at] = choices.byte();
        }
        _ => {}
    }
    profile
}

/// Digits of a PAN: twelve, or 8 to 19 where they are counted; sometimes other numbers of them, or what is no digit.
fn pan(choices: &mut Choices<'_>, is_counted: bool, may_fail: bool) -> Vec<u8> {
    let count = match choices.below(8) {
        0 if may_fail => choices.below(21),
        1 if is_counted => 8 + choices.below(12),
        _ => 12,
    };
    // Few different PANs: those of both sides are to be equal often.
    let first = choices.below(4) as u8;
    let mut digits: Vec<u8> = (0..count).map(|at| b'0' + (first * 3 + at as u8) % 10).collect();
    if may_fail && choices.below(5) == 0 && count > 0 {
        let at = choices.below(count);
        digits[at] = b"aAfF /:\0\xFF"[choices.below(9)];
    }
    digits
}

/// Sixteen characters of a data array: digits, hexadecimal ones of either case, blanks behind.
fn element(choices: &mut Choices<'_>, may_fail: bool) -> Vec<u8> {
    let of: &[u8] = match choices.below(12) {
        0 if may_fail => b"0123456789abcdef",
        1 if may_fail => b"0123456789ABCDEF",
        2 if may_fail => b"0123456789 :/G\0",
        _ => b"0123456789",
    };
    let count = [16, 16, 16, 4, 4, 12, 5, 0][choices.below(if may_fail { 8 } else { 5 })];
    let mut element: Vec<u8> = (0..count).map(|_| of[choices.below(of.len())]).collect();
    element.resize(16, b' ');
    // What the parameters of VISA and Interbank have.
    if choices.below(3) == 0 && count == 16 {
        (element[11], element[12]) = (b'6', b'1' + choices.below(6) as u8);
    }
    element
}

/// A clear block: any one, or one that looks like one of a format, of the profile's most often, with a digit changed at
/// times.
fn clear_block(choices: &mut Choices<'_>, pan: &[u8], profile: &[u8]) -> Vec<u8> {
    if choices.below(8) == 0 {
        return (0..8).map(|_| choices.byte()).collect();
    }
    let any = FORMATS[choices.below(FORMATS.len())];
    let own = FORMATS.into_iter().find(|(name, _)| profile.starts_with(&padded(name)));
    let (format, head) = if choices.below(4) == 0 { any } else { own.unwrap_or(any) };
    let count = if choices.below(4) == 0 { choices.below(17) } else { 4 };
    let mut nibbles: Vec<u8> =
        head.bytes().map(|one| if one == b'L' { count.min(15) as u8 } else { one - b'0' }).collect();
    nibbles.extend((0..count).map(|_| choices.below(10) as u8));
    nibbles.resize(nibbles.len().max(16), [15, 15, 10, 0][choices.below(4)]);
    nibbles.truncate(16);
    if choices.below(3) == 0 {
        nibbles[choices.below(16)] = choices.below(16) as u8;
    }
    let mut block: Vec<u8> = nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if matches!(format, "ISO-0" | "ISO-3" | "VISA-4") && pan.len() == 12 {
        for (byte, pair) in block[2..].iter_mut().zip(pan.chunks(2)) {
            *byte ^= (pair[0] & 15) << 4 | pair[1] & 15;
        }
    }
    block
}
