//! Random_Number_Generate and Random_Number_Generate_Long.

use verb_requests::support::{Request, processor};
use wire::code;
use wire::verb::{Verb, random_number_generate as short, random_number_generate_long as long};

fn long(form: &str, length: i64) -> Request {
    Request::new(Verb::RandomNumberGenerateLong).rules(&[form]).integer(long::RANDOM_NUMBER_LENGTH, length)
}

fn short(form: &str) -> Request {
    Request::new(Verb::RandomNumberGenerate).bytes(short::FORM, form)
}

#[test]
fn numbers_have_their_parity_and_differ() {
    let mut processor = processor();
    for (form, ones) in [("RANDOM", None), ("ODD", Some(1)), ("EVEN", Some(0))] {
        let padded = format!("{form:8}");
        let one = short(&padded).ok(&mut processor).bytes(short::RANDOM_NUMBER);
        assert_ne!(short(&padded).ok(&mut processor).bytes(short::RANDOM_NUMBER), one);
        for length in [1, 7, 8, 255, 8192] {
            let reply = long(form, length).ok(&mut processor);
            let number = reply.bytes(long::RANDOM_NUMBER);
            assert_eq!(reply.integer(long::RANDOM_NUMBER_LENGTH), length);
            assert_eq!(number.len() as i64, length);
            if let Some(ones) = ones {
                assert!(one.iter().chain(&number).all(|byte| byte.count_ones() % 2 == ones), "{form}");
            } else if length == 8192 {
                assert!(number.iter().any(|byte| byte.count_ones() % 2 == 1));
                assert!(number.iter().any(|byte| byte.count_ones() % 2 == 0));
            }
        }
    }
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    short("random  ").refused(&mut processor, code::KEYWORD);
    short("RANDOM").refused(&mut processor, code::INVALID_PARAMETER);
    long("PRIME", 8).refused(&mut processor, code::KEYWORD);
    for length in [0, -1, 8193, i64::MAX, i64::MIN] {
        long("RANDOM", length).refused(&mut processor, code::INVALID_PARAMETER);
    }
    long("RANDOM", 8)
        .counted(long::RESERVED_LENGTH, long::RESERVED, [1])
        .refused(&mut processor, code::INVALID_PARAMETER);
    Request::new(Verb::RandomNumberGenerateLong).rules(&[]).refused(&mut processor, code::KEYWORD_COUNT);
}
