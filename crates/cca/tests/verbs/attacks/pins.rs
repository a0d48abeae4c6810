//! Attacks on PINs that were published, each in a role where it works first, then in the owner's, where the control
//! that is named stops it. docs/reference/pins.md has the papers.

use crate::pin::{
    KEY, Keys, NO_CONTROL, TABLE, alternate, clear, code_verified, encrypt, iso0, profile, translate, under,
    verified, verify, with_points,
};
use cca::{Batch, Count, Failures, Incoming, Processor};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use verb_requests::support::Request;
use wire::frame::Outcome;
use wire::pin::{CountingKey, Digest, Guess, Standing};
use wire::point::{Point, PointSet};
use wire::verb::{clear_pin_encrypt, clear_pin_generate_alternate, encrypted_pin_translate};
use wire::{Codes, code};

const PAN: &str = "401234567890";
const VALIDATION: &str = "1122334455667788";

/// Bond and Zielinski, UCAM-CL-TR-560: a verification under a table of one digit and zeros tells whether the PIN has
/// that digit, with an offset where it has it. All that is needed is one block of the PIN 0000.
#[test]
fn decimalisation_tables_of_the_callers_find_a_pin_in_two_dozen_tries() {
    let mut keys = Keys::new();
    let zero = under(&KEY, &iso0("0000", PAN));
    let lifted = with_points(&[Point::PinAnyTable]);
    let mut tries = 0;
    let mut has = |keys: &mut Keys, digit: u8, places: &[bool; 4]| {
        tries += 1;
        let table: String = TABLE.bytes().map(|own| if own == b'0' + digit { '1' } else { '0' }).collect();
        // One plus nine is zero.
        let offset: String = places.iter().map(|is_there| if *is_there { '9' } else { '0' }).collect();
        let request = verify(
            (&keys.inbound, &keys.verifying),
            &["IBM-PINO"],
            &profile("ISO-0", ""),
            PAN,
            &zero,
            4,
            [&table, VALIDATION, &offset],
        );
        request.refused(&mut keys.processor, code::DECIMALISATION_TABLE);
        let codes = request.points(lifted).told(&mut keys.processor).codes;
        assert!(codes == code::OK || codes == code::PIN_NOT_VERIFIED);
        codes == code::OK
    };
    let digits: Vec<u8> = (0..10).filter(|digit| !has(&mut keys, *digit, &[false; 4])).collect();
    let mut found = [None; 4];
    for (number, digit) in digits.iter().enumerate() {
        let free: Vec<usize> = (0..4).filter(|at| found[*at].is_none()).collect();
        let is_last = number + 1 == digits.len();
        let mut subsets: Vec<u32> = (1..1 << free.len()).collect();
        subsets.sort_by_key(|subset| subset.count_ones());
        let subset = subsets.into_iter().find(|subset| {
            let mut places = [false; 4];
            for (bit, at) in free.iter().enumerate() {
                places[*at] = subset >> bit & 1 == 1;
            }
            is_last && subset.count_ones() as usize == free.len() || has(&mut keys, *digit, &places)
        });
        for (bit, at) in free.iter().enumerate() {
            if subset.unwrap() >> bit & 1 == 1 {
                found[*at] = Some(*digit);
            }
        }
    }
    // The intermediate PIN is 3413172576111483.
    assert_eq!(found.map(Option::unwrap), [3, 4, 1, 3]);
    assert!(tries <= 24, "{tries}");
}

/// Clulow; Berkman and Ostrovsky: a PIN that is taken out of its PAN is looked up in a list of all PINs' blocks.
#[test]
fn a_block_without_a_pan_is_found_in_a_list_of_all_pins() {
    let mut keys = Keys::new();
    let secret = under(&KEY, &iso0("7294", PAN));
    for format in ["ISO-1", "3624", "VISA-3"] {
        let bare = profile(format, "F");
        let zero = profile("ISO-0", "");
        let out_of = translate(
            (&keys.inbound, &keys.other_outbound),
            &["REFORMAT"],
            (&zero, &bare),
            (PAN, PAN),
            &secret,
        );
        out_of.refused(&mut keys.processor, code::ACCESS_DENIED);
        let reply = out_of.points(NO_CONTROL).ok(&mut keys.processor);
        let block = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
        if format == "ISO-1" {
            continue; // filled with random digits: found by its PIN alone once it is verified
        }
        let mut list = (0..10_000).map(|pin| {
            let pin = format!("{pin:04}");
            let made = encrypt(&keys.other_outbound, &[], &pin, &bare, PAN).points(NO_CONTROL);
            (pin, made.ok(&mut keys.processor).bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK))
        });
        assert_eq!(list.find(|(_, made)| *made == block).unwrap().0, "7294");
    }
    let one = encrypt(&keys.other_outbound, &[], "7294", &profile("ISO-0", ""), PAN);
    assert!(!wire::role::BUILT_IN[0].points.permits(one.verb().entry().point));
}

/// Clulow: a PAN that differs in a digit makes of a digit of the PIN another, and ten tries, of which those above nine
/// are refused, leave fewer digits that it can be: half of them where the digit of the PAN is one of the lower.
#[test]
fn refusals_of_digits_above_nine_tell_the_third_and_fourth() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let checks = with_points(&[Point::PinCheckDigits]);
    for pin in ["1200", "1255", "1289", "1273"] {
        let secret = under(&KEY, &iso0(pin, PAN));
        for place in 0..2 {
            let digit = pin.as_bytes()[2 + place] - b'0';
            let own = PAN.as_bytes()[place] - b'0';
            let mut left: Vec<u8> = (0..10).collect();
            for change in 0..16u8 {
                if own ^ change > 9 {
                    continue;
                }
                let mut pan = PAN.as_bytes().to_vec();
                pan[place] = b'0' + (own ^ change);
                let pan = String::from_utf8(pan).unwrap();
                let request = translate(
                    (&keys.inbound, &keys.other_outbound),
                    &["REFORMAT"],
                    (&zero, &zero),
                    (&pan, &pan),
                    &secret,
                );
                request.ok(&mut keys.processor);
                let is_taken = request.points(checks).told(&mut keys.processor).codes == code::OK;
                left.retain(|guess| (guess ^ change < 10) == is_taken);
            }
            assert!(left.contains(&digit) && left.len() <= 6, "{pin} {place} {left:?}");
        }
    }
}

/// The same, with the digit written into a block of another PAN: what is made for the one opens for the other.
#[test]
fn a_pan_is_not_changed_for_another() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let secret = under(&KEY, &iso0("7294", PAN));
    let request = translate(
        (&keys.inbound, &keys.other_outbound),
        &["REFORMAT"],
        (&zero, &zero),
        (PAN, "401234567891"),
        &secret,
    );
    request.refused(&mut keys.processor, code::ACCESS_DENIED);
    request.points(with_points(&[Point::PanChange])).ok(&mut keys.processor);
}

/// Bond and Zielinski: with one digit to check, ten guesses find it, and another ten the next.
#[test]
fn one_digit_after_the_other_is_not_checked() {
    let mut keys = Keys::new();
    let secret = under(&KEY, &iso0("7294", PAN));
    let few = with_points(&[Point::PinAnyDigits]);
    let mut found = String::new();
    for checked in 1..=4usize {
        let guess = (0..10).map(|digit| format!("{digit}{found}")).find(|offset| {
            let request = verify(
                (&keys.inbound, &keys.verifying),
                &["IBM-PINO"],
                &profile("ISO-0", ""),
                PAN,
                &secret,
                checked as i64,
                [TABLE, VALIDATION, offset],
            );
            if checked < 4 {
                request.refused(&mut keys.processor, code::PIN_CHECK_LENGTH);
            }
            request.points(few).told(&mut keys.processor).codes == code::OK
        });
        found = guess.unwrap();
    }
    // 3413 and the offset are the PIN.
    let pin: String = "3413"
        .bytes()
        .zip(found.bytes())
        .map(|(own, more)| char::from((own + more - 96) % 10 + b'0'))
        .collect();
    assert_eq!(pin, "7294");
}

/// Clulow: a PVV of a block without a PAN can be had for each PIN, and a PVV is looked up in their list.
#[test]
fn pvvs_are_made_of_blocks_that_hold_a_pan() {
    let mut keys = Keys::new();
    let card = ["334455667783", "", ""];
    for format in
        ["ISO-1", "ISO-2", "VISA-2", "VISA-3", "VISA-4", "ECI-2", "ECI-3", "3621", "3624", "4704-EPP"]
    {
        let pad = if format == "VISA-2" { "0" } else { "F" };
        let made = encrypt(&keys.outbound, &[], "4524", &profile(format, pad), PAN)
            .integer(clear_pin_encrypt::SEQUENCE_NUMBER, 1)
            .points(NO_CONTROL)
            .ok(&mut keys.processor)
            .bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK);
        let pair = (&keys.inbound[..], &keys.generating[..]);
        let request = alternate(pair, &["VISA-PVV"], &profile(format, pad), PAN, &made, 4, card);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        let reply = request.points(NO_CONTROL).ok(&mut keys.processor);
        assert_eq!(&reply.bytes(clear_pin_generate_alternate::RETURNED_RESULT)[..4], b"4021");
    }
}

/// What is counted, by one rule or another.
#[derive(Clone, Default)]
struct Table(Rc<RefCell<HashMap<Digest, u32>>>);

impl Failures for Table {
    fn standing(&self, digest: &Digest) -> Standing {
        match self.0.borrow().get(digest) {
            None => Standing::Clean,
            Some(0..10) => Standing::Counted,
            Some(_) => Standing::Refused,
        }
    }
}

/// How a home counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Under what the caller names alone; a right PIN forgets what it names too.
    Named,
    /// Under all that a guess says.
    All,
}

/// A guest of a home that counts.
struct Guest {
    keys: Keys,
    table: Table,
    rule: Rule,
    points: &'static PointSet,
    /// What a right PIN forgets: that of the last failure.
    last: Option<Guess>,
    /// Verifications of the stranger's block that were judged.
    judged: u32,
}

impl Guest {
    fn new(rule: Rule) -> Self {
        let mut keys = Keys::new();
        let table = Table::default();
        keys.processor.count_failures(&CountingKey([9; 32]), Box::new(table.clone()));
        let points = &wire::role::BuiltIn::from_name(wire::role::GUEST).unwrap().points;
        Self { keys, table, rule, points, last: None, judged: 0 }
    }

    /// What is answered to a verification.
    fn asks(&mut self, request: &Request) -> Codes {
        let (codes, count) = told(&mut self.keys.processor, request, self.points);
        match count {
            Some(Count::Failed(guess)) => {
                let rows = guess.rows().take(if self.rule == Rule::Named { 1 } else { 3 });
                rows.for_each(|digest| *self.table.0.borrow_mut().entry(digest).or_default() += 1);
                self.last = Some(guess);
            }
            Some(Count::Waits(_)) => panic!("nothing is at work"),
            None if codes == code::OK && self.rule == Rule::Named => {
                let forgotten = self.last.take().map(|guess| guess.subject);
                forgotten.and_then(|digest| self.table.0.borrow_mut().remove(&digest));
            }
            None => {}
        }
        codes
    }

    /// A verification of a block of a PIN and a PAN, by IBM-PINO, with these validation data and this offset.
    fn of(&self, block: &[u8], pan: &str, validation: &str, offset: u32) -> Request {
        let pair = (&self.keys.inbound[..], &self.keys.verifying[..]);
        let elements = [TABLE, validation, &format!("{offset:04}")];
        verify(pair, &["IBM-PINO"], &profile("ISO-0", ""), pan, &under(&KEY, block), 4, elements)
    }

    /// The PIN in a stranger's block, by guesses against one's own card, whose right PIN is given before the tenth
    /// wrong one.
    fn finds(&mut self, stranger: &[u8], own_pan: &str) -> Option<String> {
        let own = iso0("3413", own_pan);
        for offset in 0..10_000 {
            if offset % 9 == 8 {
                let right = self.of(&own, own_pan, VALIDATION, 0);
                self.asks(&right);
            }
            let guess = self.of(stranger, PAN, VALIDATION, offset);
            match self.asks(&guess) {
                code::OK => {
                    self.judged += 1;
                    let digits = "3413".bytes().zip(format!("{offset:04}").into_bytes());
                    return Some(
                        digits.map(|(own, more)| char::from((own + more - 96) % 10 + b'0')).collect(),
                    );
                }
                code::PIN_NOT_VERIFIED => self.judged += 1,
                codes => assert_eq!(codes, code::ACCESS_DENIED),
            }
        }
        None
    }
}

fn told(processor: &mut Processor, request: &Request, points: &PointSet) -> (Codes, Option<Count>) {
    let (mut batch, payload) = (Batch::new(), request.payload());
    let incoming = Incoming { verb: request.verb(), domain: request.domain, points, payload: &payload };
    batch.push(&incoming).unwrap();
    processor.run(&mut batch);
    let answer = &batch.answers()[0];
    assert_eq!(answer.outcome, Outcome::Answered);
    if let Some(Count::Failed(guess)) = answer.count {
        processor.counted(&guess, 0);
    }
    (answer.codes, answer.count)
}

/// Nothing binds what the caller names to the block: a stranger's block is compared with one's own card and chosen
/// offsets, and where a right PIN forgets, one's own right PIN has all of that forgotten. Also with the stranger's PAN
/// about one's own PIN.
#[test]
fn a_strangers_pin_is_not_found_against_ones_own_card() {
    let stranger = iso0("7294", PAN);
    for own_pan in ["998877665544", PAN] {
        let mut guest = Guest::new(Rule::Named);
        assert_eq!(guest.finds(&stranger, own_pan).as_deref(), Some("7294"));
        assert!(guest.judged > 1_000, "{}", guest.judged);
        let mut guest = Guest::new(Rule::All);
        assert_eq!(guest.finds(&stranger, own_pan), None);
        assert_eq!(guest.judged, 10);
    }
    let mut guest = Guest::new(Rule::All);
    guest.points = with_points(&[Point::PinUncounted]);
    assert_eq!(guest.finds(&stranger, PAN).as_deref(), Some("7294"));
}

/// The same with other validation data for each guess, with other digits of the PAN over those of the PIN, and with
/// another key.
#[test]
fn a_strangers_pin_is_not_found_under_other_names() {
    let stranger = iso0("7294", PAN);
    let mut guest = Guest::new(Rule::Named);
    let mut guesses: Vec<Request> = Vec::new();
    for number in 0..30 {
        guesses.push(guest.of(&stranger, PAN, &format!("11223344556677{number:02}"), 1));
        let mut pan = PAN.as_bytes().to_vec();
        (pan[0], pan[1]) = (b'0' + number / 10, b'0' + number % 10);
        let pan = String::from_utf8(pan).unwrap();
        guesses.push(guest.of(&stranger, &pan, &format!("22223344556677{number:02}"), 1));
        let key: [u8; 16] = std::array::from_fn(|at| at as u8 * 12 + number * 2);
        let verifying = verb_requests::support::entered(&mut guest.keys.processor, "PINVER", &[], &key);
        let place = wire::verb::encrypted_pin_verify::PIN_VERIFYING_KEY_IDENTIFIER;
        guesses.push(guest.of(&stranger, PAN, VALIDATION, 1).bytes(place, verifying));
    }
    let judged = |guest: &mut Guest| {
        let codes = guesses.iter().map(|guess| guest.asks(guess));
        codes.filter(|codes| *codes != code::ACCESS_DENIED).count()
    };
    assert_eq!(judged(&mut guest), 90);
    guest.rule = Rule::All;
    guest.table.0.borrow_mut().clear();
    assert_eq!(judged(&mut guest), 10);
}

/// A value that is verified digit by digit is found in thirty tries, and one that is not counted in a thousand.
#[test]
fn card_verification_values_are_not_found_by_those_who_verify_them() {
    let card = ["4123456789012345", "8701", "101"];
    let with = |points: &[Point]| {
        let guest = wire::role::BuiltIn::from_name(wire::role::GUEST).unwrap();
        let mut set = guest.points;
        points.iter().for_each(|point| set.allow(*point));
        &*Box::leak(Box::new(set))
    };
    let short: &[Point] = &[Point::CardValueShort, Point::PinUncounted];
    let mut tries = 0;
    let mut finds = |points: &[Point], first: usize| {
        let mut guest = Guest::new(Rule::All);
        guest.points = with(points);
        let key = verb_requests::support::entered(
            &mut guest.keys.processor,
            "MACVER",
            &["DOUBLE", "CVVKEY-A"],
            &KEY,
        );
        tries = 0;
        let mut found = String::new();
        for digits in first..=3 {
            let words = ["PAN-16", &format!("CVV-{digits}")];
            let places = digits - found.len();
            let next = (0..10_u32.pow(places as u32)).map(|number| format!("{found}{number:0places$}"));
            let next = next.into_iter().find(|value| {
                let codes = guest.asks(&verified((&key, &[0; 64]), &words, card, value));
                tries += u32::from(codes != code::ACCESS_DENIED);
                codes == code::OK
            });
            match next {
                Some(next) => found = next,
                None => return (None, tries),
            }
        }
        (Some(found), tries)
    };
    let (found, tries) = finds(short, 1);
    assert!(found.as_deref() == Some("561") && tries <= 30, "{tries}");
    assert_eq!(finds(&[Point::PinUncounted], 1), (None, 0));
    assert_eq!(finds(&[Point::PinUncounted], 3), (Some("561".into()), 562));
    assert_eq!(finds(&[], 3), (None, 10));
}

/// Of two versions, of which each is another value of the card.
#[test]
fn card_security_codes_are_not_found_by_those_who_verify_them() {
    let judged = |points: &[Point]| {
        let mut guest = Guest::new(Rule::All);
        let mut set = *guest.points;
        set.allow(Point::SecurityCodeVerify5);
        points.iter().for_each(|point| set.allow(*point));
        guest.points = Box::leak(Box::new(set));
        let key = verb_requests::support::entered(
            &mut guest.keys.processor,
            "MACVER",
            &["DOUBLE", "AMEX-CSC"],
            &KEY,
        );
        let guesses = (0..40).map(|number| match number % 2 {
            0 => code_verified(&key, &["CSC-5"], "9912371234567890123", &format!("{number:05}")),
            _ => code_verified(&key, &["CSC-5", "CSC-V2"], "9912371234567890123702", &format!("{number:05}")),
        });
        let codes: Vec<Codes> = guesses.map(|guess| guest.asks(&guess)).collect();
        assert!(codes.iter().all(|codes| [code::VERIFICATION_FAILED, code::ACCESS_DENIED].contains(codes)));
        codes.iter().filter(|codes| **codes == code::VERIFICATION_FAILED).count()
    };
    assert_eq!(judged(&[Point::PinUncounted]), 40);
    assert_eq!(judged(&[]), 10);
}

/// Formats of blocks of 8 bytes, with a pad digit where they have one.
const FORMATS: [(&str, &str); 12] = [
    ("ISO-0", ""),
    ("ISO-1", ""),
    ("ISO-2", ""),
    ("ISO-3", ""),
    ("VISA-2", "0"),
    ("VISA-3", "F"),
    ("VISA-4", ""),
    ("ECI-2", ""),
    ("ECI-3", ""),
    ("3621", "F"),
    ("3624", "F"),
    ("4704-EPP", ""),
];

/// Every format read as every other, by every method: none of a guest's readings has a PIN.
#[test]
fn digits_of_one_format_are_not_read_as_those_of_another() {
    let mut keys = Keys::new();
    let mut words: Vec<String> = ["PADDIGIT", "HEXDIGIT", "PADEXIST", "PINBLOCK"].map(String::from).into();
    words.extend((4..=16).map(|length| format!("PINLEN{length:02}")));
    let guest = &wire::role::BuiltIn::from_name(wire::role::GUEST).unwrap().points;
    let (mut refused, mut no_blocks) = (0, 0);
    for (made_as, pad) in FORMATS {
        let made = encrypt(&keys.outbound, &[], "7294", &profile(made_as, pad), PAN)
            .integer(clear_pin_encrypt::SEQUENCE_NUMBER, 1)
            .points(NO_CONTROL)
            .ok(&mut keys.processor)
            .bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK);
        for (read_as, pad) in FORMATS {
            for word in std::iter::once(None).chain(words.iter().map(|word| Some(word.as_str()))) {
                let words: Vec<&str> = std::iter::once("IBM-PINO").chain(word).collect();
                let pair = (&keys.inbound[..], &keys.verifying[..]);
                let profile = profile(read_as, pad);
                let request = verify(pair, &words, &profile, PAN, &made, 4, [TABLE, VALIDATION, "4881"]);
                let codes = told(&mut keys.processor, &request, guest).0;
                // VISA-4 lies as ISO-0 does, with other digits of the PAN: here both are named the same.
                let is_own = matches!(
                    (made_as, read_as),
                    ("ISO-0", "ISO-0") | ("ISO-3", "ISO-3") | ("VISA-4", "ISO-0")
                );
                match codes {
                    code::ACCESS_DENIED | code::PIN_EXTRACTION => refused += 1,
                    code::PIN_BLOCK if !is_own && matches!(read_as, "ISO-0" | "ISO-3") => no_blocks += 1,
                    codes => assert!(is_own && codes == code::OK, "{made_as} {read_as} {word:?}: {codes}"),
                }
            }
        }
    }
    assert!(refused > 1_000 && no_blocks >= 22, "{refused} {no_blocks}");
}

/// A block of ISO-0 as one of 3624: its first four digits are the length and two digits of the PIN, its first six have
/// all four.
#[test]
fn a_block_of_iso_0_is_not_guessed_by_halves() {
    let (pin, pan) = ("5810", "401234567890");
    let mut keys = Keys::new();
    let block = under(&KEY, &iso0(pin, pan));
    let lifted = with_points(&[Point::PinAnyBlock, Point::PinUncounted]);
    let natural: Vec<u8> = "341317".bytes().map(|digit| digit - b'0').collect();
    let mut tries = 0;
    let mut is = |keys: &mut Keys, word: &str, digits: &[u8]| {
        tries += 1;
        // The last four digits are checked: of IBM's PIN, those at the same places.
        let from = digits.len() - 4;
        let offset = digits[from..].iter().zip(&natural[from..]).map(|(digit, own)| (digit + 10 - own) % 10);
        let offset: String = offset.map(|digit| char::from(b'0' + digit)).collect();
        let request = verify(
            (&keys.inbound, &keys.verifying),
            &["IBM-PINO", word],
            &profile("3624", "F"),
            pan,
            &block,
            4,
            [TABLE, VALIDATION, &offset],
        );
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        request.points(lifted).told(&mut keys.processor).codes == code::OK
    };
    let pairs = || (0..100u8).map(|number| [number / 10, number % 10]);
    let first = pairs().find(|[a, b]| is(&mut keys, "PINLEN04", &[0, 4, *a, *b])).unwrap();
    let [a, b] = first;
    let [c, d] = pairs().find(|[c, d]| is(&mut keys, "PINLEN06", &[0, 4, a, b, *c, *d])).unwrap();
    let found = [a, b, c ^ 4, d].map(|digit| char::from(b'0' + digit));
    assert_eq!(String::from_iter(found), pin);
    assert!(tries <= 200, "{tries}");
}

/// Reformatted, a block of ISO-0 is one block of ISO-3 however often it is asked for, so that all its guesses are
/// counted together.
#[test]
fn a_block_becomes_no_crowd_of_blocks_of_iso_3() {
    let stranger = under(&KEY, &iso0("7294", PAN));
    let (zero, third) = (profile("ISO-0", ""), profile("ISO-3", ""));
    for (rule, most) in [(Rule::Named, 40), (Rule::All, 10)] {
        let mut guest = Guest::new(rule);
        let (mut judged, mut blocks) = (0, std::collections::BTreeSet::new());
        for number in 0..40 {
            let keys = (&guest.keys.inbound[..], &guest.keys.outbound[..]);
            let out_of = translate(keys, &["REFORMAT"], (&zero, &third), (PAN, PAN), &stranger);
            let reply = out_of.points(guest.points).ok(&mut guest.keys.processor);
            let block = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
            let pair = (&guest.keys.inbound[..], &guest.keys.verifying[..]);
            let elements = [TABLE, &format!("1122334455{number:06}"), "0001"];
            let guess = verify(pair, &["IBM-PINO"], &third, PAN, &block, 4, elements);
            judged += u32::from(guest.asks(&guess) != code::ACCESS_DENIED);
            blocks.insert(block);
        }
        assert_eq!((judged, blocks.len()), (most, 1));
    }
    // Another card's is another, and another PIN of the card has the same filling.
    let mut guest = Guest::new(Rule::All);
    let mut fillings =
        ["7294", "1294", "7294"].into_iter().zip([PAN, PAN, "112233445566"]).map(|(pin, pan)| {
            let keys = (&guest.keys.inbound[..], &guest.keys.outbound[..]);
            let block = under(&KEY, &iso0(pin, pan));
            let out_of = translate(keys, &["REFORMAT"], (&zero, &third), (pan, pan), &block);
            let reply = out_of.points(guest.points).ok(&mut guest.keys.processor);
            let made = clear(&KEY, &reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT));
            payments::block::filling(&payments::digits(pan.as_bytes()).unwrap(), &made.try_into().unwrap())
                [4..]
                .to_vec()
        });
    let (first, second, other) = (fillings.next().unwrap(), fillings.next(), fillings.next().unwrap());
    assert!(Some(&first) == second.as_ref() && first != other);
}

/// The filling of a block of ISO-3 goes with many PANs. Bound to each of them it would have ten guesses for each.
#[test]
fn a_block_of_iso_3_is_bound_to_no_pan_by_those_who_verify() {
    let stranger = under(&KEY, &[0x34, 0x12, 0x77, 0xEE, 0xEF, 0xCC, 0xB4, 0x3C]);
    let (zero, third) = (profile("ISO-0", ""), profile("ISO-3", ""));
    let judged = |points: &'static PointSet| {
        let mut guest = Guest::new(Rule::All);
        guest.points = points;
        let mut judged = 0;
        for pan in ["433221100996", "432331011887"] {
            let keys = (&guest.keys.inbound[..], &guest.keys.outbound[..]);
            let out_of = translate(keys, &["REFORMAT"], (&third, &zero), (pan, pan), &stranger);
            let out_of = out_of.points(points);
            if !points.permits(Point::PinBound) && points.permits(Point::EncryptedPinVerify) {
                out_of.refused(&mut guest.keys.processor, code::ACCESS_DENIED);
                continue;
            }
            let reply = out_of.ok(&mut guest.keys.processor);
            let block = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
            if !points.permits(Point::EncryptedPinVerify) {
                continue;
            }
            for number in 0..20 {
                let pair = (&guest.keys.inbound[..], &guest.keys.verifying[..]);
                let elements = [TABLE, &format!("1122334455{number:06}"), "0001"];
                let guess = verify(pair, &["IBM-PINO"], &zero, pan, &block, 4, elements);
                judged += u32::from(guest.asks(&guess) != code::ACCESS_DENIED);
            }
        }
        judged
    };
    let guest = wire::role::BuiltIn::from_name(wire::role::GUEST).unwrap().points;
    let leaked = |points: PointSet| -> &'static PointSet { Box::leak(Box::new(points)) };
    let (mut lifted, mut translator) = (guest, guest);
    lifted.allow(Point::PinBound);
    translator.deny(Point::EncryptedPinVerify);
    assert_eq!(judged(leaked(lifted)), 20);
    assert_eq!(judged(leaked(guest)), 0);
    // Who verifies nothing reformats as before.
    assert_eq!(judged(leaked(translator)), 0);
}

/// PAN, expiration date and service code are authenticated one behind the other: a longer PAN takes the first digits of
/// the date.
#[test]
fn a_card_verification_value_is_one_however_its_digits_are_named() {
    let named = [
        ("PAN-16", ["4123456789012345", "8701", "101"]),
        ("PAN-17", ["41234567890123458", "7011", "010"]),
        ("PAN-18", ["412345678901234587", "0110", "100"]),
    ];
    for (rule, most) in [(Rule::Named, 30), (Rule::All, 10)] {
        let mut guest = Guest::new(rule);
        let key = verb_requests::support::entered(
            &mut guest.keys.processor,
            "MACVER",
            &["DOUBLE", "CVVKEY-A"],
            &KEY,
        );
        let mut judged = 0;
        for (length, card) in named {
            for value in 0..20 {
                let wrong = verified((&key, &[0; 64]), &[length, "CVV-3"], card, &format!("{value:03}"));
                judged += u32::from(guest.asks(&wrong) != code::ACCESS_DENIED);
            }
        }
        assert_eq!(judged, most);
        for (length, card) in named {
            let mut fresh = Guest::new(Rule::All);
            let key = verb_requests::support::entered(
                &mut fresh.keys.processor,
                "MACVER",
                &["DOUBLE", "CVVKEY-A"],
                &KEY,
            );
            assert_eq!(fresh.asks(&verified((&key, &[0; 64]), &[length, "CVV-3"], card, "561")), code::OK);
        }
    }
}
