//! PINs, offsets and PVVs that the methods give.

use verb_requests::pin::*;
use verb_requests::support::{Request, entered};
use wire::code;
use wire::point::Point;
use wire::verb::{clear_pin_generate, clear_pin_generate_alternate, encrypted_pin_generate};

fn result(request: &Request, keys: &mut Keys) -> String {
    let reply = request.ok(&mut keys.processor);
    let text = String::from_utf8(reply.bytes(clear_pin_generate::RETURNED_RESULT)).unwrap();
    assert_eq!(text.len(), 16);
    text.trim_end().into()
}

/// Values of the Python package psec 1.3.0.
#[test]
fn clear_pins_and_pvvs_are_the_published_ones() {
    let mut keys = Keys::new();
    let any_table = with_points(&[Point::PinAnyTable]);
    let table = "1234567890123456";
    let key = keys.generating.clone();
    let ibm = generate(&key, "IBM-PIN", (4, 4), [table, "1122334455667788", ""]);
    assert_eq!(result(&ibm.clone().points(any_table), &mut keys), "4524");
    ibm.refused(&mut keys.processor, code::DECIMALISATION_TABLE);
    let offset = |pin| generate(&key, "IBM-PINO", (4, 4), [table, "1122334455667788", pin]).points(any_table);
    assert_eq!(result(&offset("4524"), &mut keys), "0000");
    assert_eq!(result(&offset("5523"), &mut keys), "1009");
    let visa = generate(&key, "VISA-PVV", (4, 4), ["3344556677834524", "", ""]);
    assert_eq!(result(&visa, &mut keys), "4021");
    let interbank = generate(&key, "INBK-PIN", (4, 4), ["3344556677861234", "", ""]);
    assert_eq!(result(&interbank, &mut keys), "9994");
}

/// By hand from the intermediate PIN 3413172576111483.
#[test]
fn pins_of_the_banking_pool_are_the_third_to_sixth_digit() {
    let mut keys = Keys::new();
    let key = keys.generating.clone();
    let pool = |method, pin| generate(&key, method, (4, 4), [TABLE, "1122334455667788", pin]);
    assert_eq!(result(&pool("GBP-PIN", ""), &mut keys), "1317");
    assert_eq!(result(&pool("GBP-PINO", "1317"), &mut keys), "0000");
    assert_eq!(result(&pool("GBP-PINO", "2206"), &mut keys), "1999");
    let ibm = generate(&key, "IBM-PIN", (16, 4), [TABLE, "1122334455667788", ""]);
    assert_eq!(result(&ibm, &mut keys), "3413172576111483");
}

#[test]
fn a_generated_pin_lies_in_the_block_of_the_profile() {
    let mut keys = Keys::new();
    let (generating, outbound) = (keys.generating.clone(), keys.outbound.clone());
    let pair = (&generating[..], &outbound[..]);
    let validation = [TABLE, "1122334455667788", ""];
    let pan = "112233445566";
    let mut block = |method, length, elements, profile: &[u8]| {
        let reply = encrypted(pair, method, length, elements, profile, pan).ok(&mut keys.processor);
        clear(&KEY, &reply.bytes(encrypted_pin_generate::ENCRYPTED_PIN_BLOCK))
    };
    let profile_of_iso0 = profile("ISO-0", "");
    assert_eq!(block("IBM-PIN", 4, validation, &profile_of_iso0), iso0("3413", pan));
    assert_eq!(block("IBM-PIN", 12, validation, &profile_of_iso0), iso0("341317257611", pan));
    assert_eq!(block("GBP-PIN", 4, validation, &profile_of_iso0), iso0("1317", pan));
    let interbank = ["3344556677861234", "", ""];
    assert_eq!(block("INBK-PIN", 4, interbank, &profile_of_iso0), iso0("9994", pan));
    assert_eq!(block("IBM-PIN", 16, validation, &profile("3624", "F")), hex::<8>("3413172576111483"));
    assert_eq!(block("IBM-PIN", 5, validation, &profile("3621", "E")), hex::<8>("001234131EEEEEEE"));
    assert_eq!(block("IBM-PIN", 5, validation, &profile("4704-EPP", "F")), hex::<8>("534131FFFFFFFF12"));
    let too_long = encrypted(pair, "IBM-PIN", 13, validation, &profile_of_iso0, pan);
    too_long.refused(&mut keys.processor, code::PIN_LENGTH);
}

#[test]
fn offsets_and_pvvs_of_pins_in_blocks() {
    let mut keys = Keys::new();
    let (inbound, generating) = (keys.inbound.clone(), keys.generating.clone());
    let pair = (&inbound[..], &generating[..]);
    let pan = "112233445566";
    let request = |method, pin, checked, elements| {
        let block = under(&KEY, &iso0(pin, pan));
        alternate(pair, &[method], &profile("ISO-0", ""), pan, &block, checked, elements)
    };
    let mut result = |request: &Request| {
        let reply = request.ok(&mut keys.processor);
        let text = reply.bytes(clear_pin_generate_alternate::RETURNED_RESULT);
        String::from_utf8(text).unwrap().trim_end().to_owned()
    };
    let validation = [TABLE, "1122334455667788", ""];
    assert_eq!(result(&request("IBM-PINO", "3413", 4, validation)), "0000");
    assert_eq!(result(&request("IBM-PINO", "4422", 4, validation)), "1019");
    assert_eq!(result(&request("IBM-PINO", "34132", 4, validation)), "4131".replace("4131", "0001"));
    let visa = ["334455667783", "", ""];
    assert_eq!(result(&request("VISA-PVV", "4524", 4, visa)), "4021");
    assert_eq!(result(&request("VISA-PVV", "45249", 4, visa)), "4021");
    // A PIN of fewer digits than are checked goes the way of every wrong block.
    let short = request("IBM-PINO", "3413", 5, validation);
    short.refused(&mut keys.processor, code::PIN_BLOCK);
}

#[test]
fn arguments_of_methods_are_refused_by_name() {
    let mut keys = Keys::new();
    let key = keys.generating.clone();
    let validation = "1122334455667788";
    type Case = (&'static str, (i64, i64), [&'static str; 3], wire::Codes);
    let cases: [Case; 15] = [
        ("IBM-PIN", (3, 4), [TABLE, validation, ""], code::PIN_LENGTH),
        ("IBM-PIN", (17, 4), [TABLE, validation, ""], code::PIN_LENGTH),
        ("IBM-PIN", (-1, 4), [TABLE, validation, ""], code::PIN_LENGTH),
        ("IBM-PIN", (4, 4), ["012345678901234A", validation, ""], code::DECIMALISATION_TABLE),
        ("IBM-PIN", (4, 4), ["012345678901234", validation, ""], code::DECIMALISATION_TABLE),
        ("IBM-PIN", (4, 4), [TABLE, "112233445566778", ""], code::VALIDATION_DATA),
        ("IBM-PIN", (4, 4), [TABLE, "112233445566778a", ""], code::VALIDATION_DATA),
        ("IBM-PINO", (4, 3), [TABLE, validation, "1234"], code::PIN_CHECK_LENGTH),
        ("IBM-PINO", (4, 5), [TABLE, validation, "1234"], code::PIN_CHECK_LENGTH),
        ("IBM-PINO", (5, 4), [TABLE, validation, "1234"], code::CUSTOMER_PIN),
        ("GBP-PINO", (4, 4), [TABLE, validation, "12345"], code::CUSTOMER_PIN),
        ("VISA-PVV", (4, 4), ["334455667783", "", ""], code::TRANSACTION_SECURITY),
        ("VISA-PVV", (4, 4), ["3344556677874524", "", ""], code::TRANSACTION_SECURITY),
        ("INBK-PIN", (4, 4), ["3344556677851234", "", ""], code::TRANSACTION_SECURITY),
        ("NL-PIN-1", (4, 4), [TABLE, validation, ""], code::KEYWORD),
    ];
    for (method, lengths, elements, codes) in cases {
        generate(&key, method, lengths, elements).refused(&mut keys.processor, codes);
    }
    let pair = (&key[..], &keys.outbound.clone()[..]);
    let dutch =
        encrypted(pair, "NL-PIN-1", 4, [TABLE, validation, ""], &profile("ISO-0", ""), "112233445566");
    dutch.refused(&mut keys.processor, code::KEYWORD);
    let pair = (&keys.inbound.clone()[..], &key[..]);
    let block = under(&KEY, &iso0("1234", "112233445566"));
    let (zero, elements) = (profile("ISO-0", ""), [TABLE, validation, ""]);
    let dutch = alternate(pair, &["NL-PIN-1"], &zero, "112233445566", &block, 4, elements);
    dutch.refused(&mut keys.processor, code::KEYWORD);
    let less = generate(&key, "IBM-PIN", (3, 4), [TABLE, validation, ""]);
    less.points(with_points(&[Point::PinAnyDigits])).ok(&mut keys.processor);
}

#[test]
fn a_key_that_is_narrowed_to_a_method_serves_no_other() {
    let mut keys = Keys::new();
    let words = ["IBM-PIN", "VISA-PVV", "INBK-PIN", "GBP-PIN"];
    let elements = |method: &str| match method {
        "VISA-PVV" => ["3344556677834524", "", ""],
        "INBK-PIN" => ["3344556677861234", "", ""],
        _ => [TABLE, "1122334455667788", "1234"],
    };
    for own in words {
        let key = entered(&mut keys.processor, "PINGEN", &[own], &KEY);
        for method in words {
            let request = generate(&key, method, (4, 4), elements(method));
            if own == method {
                request.ok(&mut keys.processor);
            } else {
                request.refused(&mut keys.processor, code::KEY_USAGE);
            }
        }
    }
    let key = entered(&mut keys.processor, "PINGEN", &["NOOFFSET"], &KEY);
    generate(&key, "IBM-PIN", (4, 4), elements("IBM-PIN")).ok(&mut keys.processor);
    for method in ["IBM-PINO", "GBP-PINO"] {
        generate(&key, method, (4, 4), elements(method)).refused(&mut keys.processor, code::KEY_USAGE);
    }
}
