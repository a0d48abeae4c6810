//! Encrypted_PIN_Translate.

use verb_requests::pin::*;
use verb_requests::support::entered;
use wire::code;
use wire::point::Point;
use wire::verb::clear_pin_encrypt;
use wire::verb::encrypted_pin_translate::{self, PIN_BLOCK_OUT};

const PAN: &str = "401234567890";

#[test]
fn a_block_goes_under_another_key_as_it_is() {
    let mut keys = Keys::new();
    let (inbound, outbound) = (keys.inbound.clone(), keys.other_outbound.clone());
    for format in
        ["ISO-0", "ISO-3", "VISA-2", "VISA-3", "VISA-4", "ECI-2", "ECI-3", "3621", "3624", "4704-EPP"]
    {
        let pad = if matches!(format, "VISA-2") { "5" } else { "F" };
        for block in [iso0("1234", PAN), [0xA7; 8]] {
            let profile = profile(format, pad);
            let pair = (&inbound[..], &outbound[..]);
            let given = under(&KEY, &block);
            let request = translate(pair, &["TRANSLAT"], (&profile, &profile), (PAN, PAN), &given);
            let reply = request.ok(&mut keys.processor);
            assert_eq!(clear(&OTHER, &reply.bytes(PIN_BLOCK_OUT)), block, "{format}");
        }
    }
}

#[test]
fn a_pin_goes_from_every_format_into_every_other() {
    let mut keys = Keys::new();
    let (inbound, outbound) = (keys.inbound.clone(), keys.other_outbound.clone());
    let pair = (&inbound[..], &outbound[..]);
    let formats = [
        "ISO-0", "ISO-1", "ISO-2", "ISO-3", "VISA-2", "VISA-3", "VISA-4", "ECI-2", "ECI-3", "3621", "3624",
        "4704-EPP",
    ];
    let outbound_own = keys.outbound.clone();
    for from in formats {
        let pad = |format| if format == "VISA-2" { "0" } else { "F" };
        let made = encrypt(&outbound_own, &[], "1986", &profile(from, pad(from)), PAN).points(NO_CONTROL);
        let made = if from == "3621" || from == "4704-EPP" {
            made.integer(clear_pin_encrypt::SEQUENCE_NUMBER, 7)
        } else {
            made
        };
        let block = made.ok(&mut keys.processor).bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK);
        for into in formats {
            let profiles = (&profile(from, pad(from))[..], &profile(into, pad(into))[..]);
            let there = translate(pair, &["REFORMAT"], profiles, (PAN, PAN), &block).points(NO_CONTROL);
            let there = there.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT);
            let back_keys = (&keys.other_inbound.clone()[..], &outbound_own[..]);
            let (out, zero) = (profile(into, pad(into)), profile("ISO-0", ""));
            let back =
                translate(back_keys, &["REFORMAT"], (&out, &zero), (PAN, PAN), &there).points(NO_CONTROL);
            let back = back.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT);
            assert_eq!(clear(&KEY, &back), iso0("1986", PAN), "{from} {into}");
        }
    }
}

/// ANSI X9.24-1:2009, annex A.4.
#[test]
fn blocks_of_the_published_transactions_are_read_and_made() {
    let mut keys = Keys::new();
    let pair = |one: &[u8], two: &[u8]| (one.to_vec(), two.to_vec());
    let block = iso0("1234", "401234567890");
    assert_eq!(block, hex::<8>("041274EDCBA9876F"));
    for (counter, published) in [
        ("E00001", "1B9C1845EB993A7A"),
        ("E00002", "10A01C8D02C69107"),
        ("E00003", "18DC07B94797B466"),
        ("EFF800", "33365F5CC6F23C35"),
    ] {
        let derived = derived_profile("ISO-0", "", &format!("FFFF9876543210{counter}"));
        let fixed = profile("ISO-0", "");
        for word in ["TRANSLAT", "REFORMAT"] {
            let (one, two) = pair(&keys.deriving, &keys.other_outbound);
            let out_of = translate(
                (&one, &two),
                &[word, "DUKPT-IP"],
                (&derived, &fixed),
                (PAN, PAN),
                &hex::<8>(published),
            );
            let reply = out_of.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT);
            assert_eq!(clear(&OTHER, &reply), block);
            let (one, two) = pair(&keys.inbound, &keys.deriving);
            let given = under(&KEY, &block);
            let into = translate((&one, &two), &[word, "DUKPT-OP"], (&fixed, &derived), (PAN, PAN), &given);
            assert_eq!(into.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT), hex::<8>(published));
            let (one, two) = pair(&keys.deriving, &keys.deriving);
            let given = hex::<8>(published);
            let both = translate((&one, &two), &[word, "DUKPT-BH"], (&derived, &derived), (PAN, PAN), &given);
            assert_eq!(both.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT), given);
        }
    }
}

#[test]
fn keys_serve_the_side_and_the_way_that_they_are_for() {
    let mut keys = Keys::new();
    let only = |keys: &mut Keys, key_type, word| entered(&mut keys.processor, key_type, &[word], &KEY);
    let (from, to) = (keys.inbound.clone(), keys.other_outbound.clone());
    let profile = profile("ISO-0", "");
    let given = under(&KEY, &iso0("1234", PAN));
    let request = |one: &[u8], two: &[u8], word| {
        translate((one, two), &[word], (&profile, &profile), (PAN, PAN), &given)
    };
    for (word, other) in [("TRANSLAT", "REFORMAT"), ("REFORMAT", "TRANSLAT")] {
        let (own_in, own_out) = (only(&mut keys, "IPINENC", word), only(&mut keys, "OPINENC", word));
        request(&own_in, &own_out, word).ok(&mut keys.processor);
        request(&own_in, &to, other).refused(&mut keys.processor, code::KEY_USAGE);
        request(&from, &own_out, other).refused(&mut keys.processor, code::KEY_USAGE);
    }
    let wrong =
        [keys.other_outbound.clone(), keys.generating.clone(), keys.verifying.clone(), keys.deriving.clone()];
    for key in &wrong {
        request(key, &to, "TRANSLAT").refused(&mut keys.processor, code::KEY_USAGE);
    }
    for key in [&from, &wrong[1], &wrong[2], &wrong[3]] {
        request(&from, key, "TRANSLAT").refused(&mut keys.processor, code::KEY_USAGE);
    }
    // A key for derivations alone is no key of blocks, and the reverse.
    let derived = derived_profile("ISO-0", "", "FFFF9876543210E00001");
    let fixed = keys.inbound.clone();
    let words = ["TRANSLAT", "DUKPT-IP"];
    let wrong = translate((&fixed, &to), &words, (&derived, &profile), (PAN, PAN), &given);
    wrong.refused(&mut keys.processor, code::KEY_USAGE);
}

#[test]
fn arguments_are_refused_by_name() {
    let mut keys = Keys::new();
    let (one, two) = (keys.inbound.clone(), keys.other_outbound.clone());
    let pair = (&one[..], &two[..]);
    let given = under(&KEY, &iso0("1234", PAN));
    let zero = profile("ISO-0", "");
    let mut refused = |words: &[&str], profiles: (&[u8], &[u8]), pans: (&str, &str), codes| {
        translate(pair, words, profiles, pans, &given).refused(&mut keys.processor, codes);
    };
    refused(&["REFORMAT"], (&profile("ISO-9", ""), &zero), (PAN, PAN), code::PIN_FORMAT);
    refused(&["REFORMAT"], (&profile("ISO-4", ""), &zero), (PAN, PAN), code::PIN_FORMAT);
    refused(&["REFORMAT"], (&zero, &profile("ISO-4", "")), (PAN, PAN), code::PIN_FORMAT);
    refused(&["TRANSLAT"], (&zero, &profile("ISO-3", "")), (PAN, PAN), code::PIN_FORMAT);
    refused(&["REFORMAT"], (b"ISO-0   PBVC            ", &zero), (PAN, PAN), code::FORMAT_CONTROL);
    refused(&["REFORMAT"], (&profile("3624", "f"), &zero), (PAN, PAN), code::PAD_DIGIT);
    refused(&["REFORMAT"], (&zero, &profile("ISO-0", "E")), (PAN, PAN), code::PAD_DIGIT);
    refused(&["REFORMAT", "PADDIGIT"], (&zero, &zero), (PAN, PAN), code::PIN_EXTRACTION);
    refused(&["REFORMAT"], (&zero, &zero), ("40123456789A", PAN), code::PAN);
    refused(&["REFORMAT"], (&zero, &zero), (PAN, ""), code::PAN);
    refused(&["REFORMAT"], (&zero, &zero), (PAN, "4012345678901"), code::INVALID_PARAMETER);
    refused(&["REFORMAT"], (&zero[..23], &zero), (PAN, PAN), code::INVALID_PARAMETER);
    refused(&["REFORMAT", "DUKPT-IP"], (&zero, &zero), (PAN, PAN), code::INVALID_PARAMETER);
    for word in ["UKPTIPIN", "UKPTOPIN", "UKPTBOTH"] {
        refused(&["REFORMAT", word], (&zero, &zero), (PAN, PAN), code::KEYWORD);
    }
    for word in ["ADUKPTIP", "ADUKPTOP", "ADUKPTBH"] {
        refused(&["REFORMAT", word], (&zero, &zero), (PAN, PAN), code::INVALID_PARAMETER);
    }
    refused(&["REFORMAT", "TRANSLAT"], (&zero, &zero), (PAN, PAN), code::KEYWORD_COMBINATION);
    for counter in ["E00000", "FFFFFF", "E007FF"] {
        let derived = derived_profile("ISO-0", "", &format!("FFFF9876543210{counter}"));
        refused(&["REFORMAT", "DUKPT-IP"], (&derived, &zero), (PAN, PAN), code::SERIAL_COUNTER);
    }
    // A decimal digit that fills a block reads as one of the PIN; the same role may ask for it.
    let padded = profile("3624", "7");
    let any = with_points(&[Point::PinUnrestricted, Point::PinAnyBlock]);
    let request =
        |points| translate(pair, &["REFORMAT"], (&zero, &padded), (PAN, PAN), &given).points(points);
    request(any).refused(&mut keys.processor, code::PAD_DIGIT);
    let more = with_points(&[Point::PinUnrestricted, Point::PinAnyBlock, Point::PinAnyDigits]);
    request(more).ok(&mut keys.processor);
    let long = translate(pair, &["REFORMAT"], (&zero, &profile("3621", "F")), (PAN, PAN), &given)
        .points(NO_CONTROL)
        .integer(encrypted_pin_translate::SEQUENCE_NUMBER, 10_000);
    long.refused(&mut keys.processor, code::SEQUENCE_NUMBER);
}

/// ANSI X9.8 as CCA has it: which formats go into which by default, with the same PAN.
#[test]
fn a_default_role_reformats_between_blocks_that_hold_the_pan() {
    let mut keys = Keys::new();
    let (one, two) = (keys.inbound.clone(), keys.other_outbound.clone());
    let formats = ["ISO-0", "ISO-1", "ISO-2", "ISO-3", "VISA-2", "VISA-3", "VISA-4", "ECI-2", "3621", "3624"];
    for from in formats {
        for into in formats {
            let pad = |format| if format == "VISA-2" { "0" } else { "F" };
            let profiles = (&profile(from, pad(from))[..], &profile(into, pad(into))[..]);
            let given = under(&KEY, &iso0("1234", PAN));
            let request = translate((&one, &two), &["REFORMAT"], profiles, (PAN, PAN), &given);
            let codes = request.told(&mut keys.processor).codes;
            let is_ansi = |format| format == "ISO-0" || format == "ISO-3";
            let expected = match (is_ansi(from) && is_ansi(into), from) {
                (true, "ISO-0") => code::OK,
                // The block is one of ISO-0.
                (true, _) => code::PIN_BLOCK,
                (false, _) => code::ACCESS_DENIED,
            };
            assert_eq!(codes, expected, "{from} {into}");
        }
    }
}
