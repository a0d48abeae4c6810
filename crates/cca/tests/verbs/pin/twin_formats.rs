//! Formats of PIN blocks and methods of PINs that no package has, compared with a second implementation in Python
//! (`twin_formats.py`): 10,000 random cases of each, 100,000 in `make test-all`, of which about half are to be refused
//! or do not verify.

use super::twins::cases;
use std::path::Path;
use std::process::Command;
use verb_requests::pin::{
    Keys, OTHER, clear, encrypt, encrypted, generate, hex, profile, translate, verify, with_points,
};
use verb_requests::support::{Reply, Request};
use wire::code::{self, Codes};
use wire::point::{Point, PointSet};
use wire::verb::{clear_pin_encrypt, clear_pin_generate, encrypted_pin_generate, encrypted_pin_translate};

/// Points of older programs without which most formats are not served; one answer for all wrong clear blocks.
const OLDER: &[Point] = &[
    Point::ClearPinEncrypt,
    Point::PinUnrestricted,
    Point::PanChange,
    Point::PinAnyBlock,
    Point::PinAnyTable,
    Point::PinIso1,
    Point::PinCheckDigits,
    Point::PinUncounted,
];

/// The cases of a row, a line each.
fn lines(row: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/payments/bin/python");
    assert!(python.exists(), "{}: `scripts/need test` makes it", python.display());
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/pin/twin_formats.py"))
        .args([row, &cases().to_string(), "17"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), cases());
    lines
}

/// The request of a case, and the output in which its block or result is.
fn request(keys: &Keys, parts: &[&str]) -> (Request, Option<Output>) {
    let (key_in, key_out) = (&keys.inbound[..], &keys.other_outbound[..]);
    let number = |text: &str| text.parse::<i64>().unwrap();
    let block = |text: &str| hex::<8>(text);
    match parts {
        ["translate", word, method, from, pad_in, pan_in, given, to, pad_out, pan_out, sequence] => {
            let words =
                [&[*word][..], if method.is_empty() { &[] } else { std::slice::from_ref(method) }].concat();
            let profiles = (profile(from, pad_in), profile(to, pad_out));
            let request = translate(
                (key_in, key_out),
                &words,
                (&profiles.0, &profiles.1),
                (pan_in, pan_out),
                &block(given),
            )
            .integer(encrypted_pin_translate::SEQUENCE_NUMBER, number(sequence));
            (request, Some(Output::Block(encrypted_pin_translate::PIN_BLOCK_OUT)))
        }
        ["encrypt", pin, format, pad, pan, sequence] => {
            let request = encrypt(key_out, &[], pin, &profile(format, pad), pan)
                .integer(clear_pin_encrypt::SEQUENCE_NUMBER, number(sequence));
            (request, Some(Output::Block(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK)))
        }
        ["encrypted", method, length, one, two, three, format, pad, pan, sequence] => {
            let pair = (&keys.generating[..], key_out);
            let request =
                encrypted(pair, method, number(length), [one, two, three], &profile(format, pad), pan)
                    .integer(encrypted_pin_generate::SEQUENCE_NUMBER, number(sequence));
            (request, Some(Output::Block(encrypted_pin_generate::ENCRYPTED_PIN_BLOCK)))
        }
        ["generate", method, length, checked, one, two, three] => {
            let lengths = (number(length), number(checked));
            let request = generate(&keys.generating, method, lengths, [one, two, three]);
            (request, Some(Output::Text(clear_pin_generate::RETURNED_RESULT)))
        }
        ["verify", method, _, format, pad, pan, given, checked, one, two, three] => {
            let pair = (key_in, &keys.verifying[..]);
            let elements = [*one, *two, *three];
            let profile = profile(format, pad);
            let request = verify(pair, &[method], &profile, pan, &block(given), number(checked), elements);
            (request, None)
        }
        other => panic!("{other:?}"),
    }
}

/// Where a result is.
enum Output {
    /// A PIN block.
    Block(usize),
    /// Digits as text, blanks behind them.
    Text(usize),
}

/// The digits of a reply.
fn digits(reply: &Reply, output: &Output) -> String {
    match output {
        Output::Block(position) => {
            let block = clear(&OTHER, &reply.bytes(*position));
            block.iter().map(|byte| format!("{byte:02X}")).collect()
        }
        Output::Text(position) => String::from_utf8(reply.bytes(*position)).unwrap().trim_end().to_owned(),
    }
}

/// Whether digits are as a pattern says: `?` any one, `+` one of A to F, and behind `^` a PAN that is in them.
fn is_of(pattern: &str, digits: &str) -> bool {
    let (pattern, digits) = match pattern.split_once('^') {
        Some((field, pan)) => {
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            (field, format!("{:016X}", number(digits) ^ number(pan)))
        }
        None => (pattern, digits.to_owned()),
    };
    let fits = |(wanted, digit): (char, char)| match wanted {
        '?' => true,
        '+' => digit.is_ascii_uppercase(),
        wanted => wanted == digit,
    };
    pattern.len() == digits.len() && pattern.chars().zip(digits.chars()).all(fits)
}

/// The codes of a fault that the twin finds.
fn refusal(name: &str) -> Codes {
    match name {
        "block" => code::PIN_BLOCK,
        "pad" => code::PAD_DIGIT,
        "length" => code::PIN_LENGTH,
        "method" => code::PIN_EXTRACTION,
        "table" => code::DECIMALISATION_TABLE,
        "validation" => code::VALIDATION_DATA,
        "offset" => code::PIN_OFFSET,
        "parameter" => code::TRANSACTION_SECURITY,
        other => panic!("{other}"),
    }
}

/// Whether an answer is one of those that are right.
fn is_right(expected: &str, reply: &Reply, output: Option<&Output>) -> bool {
    expected.split('|').any(|one| match one {
        "ok" => reply.codes == code::OK,
        "wrong" => reply.codes == code::PIN_NOT_VERIFIED,
        _ => match (one.strip_prefix('='), one.strip_prefix("refuse:")) {
            (Some(pattern), _) => reply.codes == code::OK && is_of(pattern, &digits(reply, output.unwrap())),
            (_, Some(name)) => reply.codes == refusal(name),
            _ => panic!("{one}"),
        },
    })
}

/// All cases of a row; those about which the twin is sure are most of them, and of right and of wrong ones there are
/// many.
fn row_agrees(row: &str, points: &'static PointSet) {
    let mut keys = Keys::new();
    let (mut sure, mut done, mut wrong) = (0, 0, Vec::new());
    for line in lines(row) {
        let parts: Vec<&str> = line.split('\t').collect();
        let (expected, asked) = parts.split_last().unwrap();
        let (request, output) = request(&keys, asked);
        let reply = request.points(points).run(&mut keys.processor);
        sure += usize::from(!expected.contains('|'));
        done += usize::from(reply.codes == code::OK);
        if !is_right(expected, &reply, output.as_ref()) {
            let found = output.filter(|_| reply.codes == code::OK).map(|output| digits(&reply, &output));
            wrong.push(format!("{line}: {} {found:?}", reply.codes));
        }
    }
    let shown = wrong[..wrong.len().min(20)].join("\n");
    assert!(wrong.is_empty(), "{} cases of {row} differ:\n{shown}", wrong.len());
    let all = cases();
    assert!(sure > all * 7 / 10, "{row}: {sure}");
    assert!(done > all / 5 && done < all * 4 / 5, "{row}: {done}");
}

/// Every PIN that a format may hold, of few digits too.
fn any_length() -> &'static PointSet {
    with_points(&[OLDER, &[Point::PinAnyDigits]].concat())
}

#[test]
fn blocks_of_visa_are_those_of_the_twin() {
    ["VISA-2", "VISA-3", "VISA-4"].iter().for_each(|row| row_agrees(row, any_length()));
}

#[test]
fn blocks_of_eurocheque_are_those_of_the_twin() {
    ["ECI-2", "ECI-3"].iter().for_each(|row| row_agrees(row, any_length()));
}

#[test]
fn blocks_of_terminals_are_those_of_the_twin() {
    ["3621", "3624", "4704-EPP"].iter().for_each(|row| row_agrees(row, any_length()));
}

#[test]
fn pins_of_the_pool_and_of_interbank_are_those_of_the_twin() {
    ["GBP-PIN", "GBP-PINO", "INBK-PIN"].iter().for_each(|row| row_agrees(row, any_length()));
}

#[test]
fn pins_of_few_digits_are_refused_as_by_the_twin() {
    row_agrees("short", with_points(OLDER));
}
