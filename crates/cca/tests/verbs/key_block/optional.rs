//! TR31_Optional_Data_Build, TR31_Key_Token_Parse, TR31_Optional_Data_Read.

use verb_requests::published::PUBLISHED;
use verb_requests::support::Request;
use wire::code;
use wire::verb::{
    Verb, tr31_key_token_parse as parse, tr31_optional_data_build as build, tr31_optional_data_read as read,
};

fn built(before: &str, room: usize, identifier: &str, data: &str) -> Request {
    let mut buffer = before.as_bytes().to_vec();
    buffer.resize(room, 0xEE);
    verb_requests::support::Request::new(Verb::Tr31OptionalDataBuild)
        .counted(build::OPT_BLOCKS_BFR_LENGTH, build::OPT_BLOCKS, buffer)
        .integer(build::OPT_BLOCKS_LENGTH, before.len() as i64)
        .bytes(build::OPT_BLOCK_ID, identifier)
        .counted(build::OPT_BLOCK_DATA_LENGTH, build::OPT_BLOCK_DATA, data)
}

#[test]
fn blocks_are_put_one_behind_the_other() {
    let mut processor = verb_requests::support::processor();
    let first = built("", 100, "KS", "00604B120F9292800000").ok(&mut processor);
    assert_eq!(first.bytes(build::OPT_BLOCKS), b"KS1800604B120F9292800000");
    assert_eq!([build::OPT_BLOCKS_LENGTH, build::NUM_OPT_BLOCKS].map(|at| first.integer(at)), [24, 1]);
    let second = built("KS1800604B120F9292800000", 32, "TS", "1234").ok(&mut processor);
    assert_eq!(second.bytes(build::OPT_BLOCKS), b"KS1800604B120F9292800000TS081234");
    assert_eq!([build::OPT_BLOCKS_LENGTH, build::NUM_OPT_BLOCKS].map(|at| second.integer(at)), [32, 2]);
    let long = built("", 400, "CT", &"A".repeat(252)).ok(&mut processor);
    assert_eq!(&long.bytes(build::OPT_BLOCKS)[..10], b"CT00040106");
    for (before, room, identifier, data) in [
        ("", 100, "PB", "0000"),
        ("", 100, "ks", "0000"),
        ("", 100, "IK", "0060"),
        ("", 100, "TS", "tab\t"),
        ("TS04", 100, "TS", ""),
        ("TS99", 100, "LB", ""),
        ("PB0400", 100, "LB", ""),
    ] {
        built(before, room, identifier, data).refused(&mut processor, code::INVALID_PARAMETER);
    }
    built("TS04", 100, "LB", "")
        .integer(build::OPT_BLOCKS_LENGTH, -1)
        .refused(&mut processor, code::INVALID_PARAMETER);
    built("TS04", 100, "LB", "")
        .integer(build::OPT_BLOCKS_LENGTH, 101)
        .refused(&mut processor, code::INVALID_PARAMETER);
    built("TS04", 7, "LB", "").refused(&mut processor, code::BUFFER_TOO_SMALL);
    built("TS04", 8, "LB", "").ok(&mut processor);
}

const BLOCK: &str = PUBLISHED[3].1;

#[test]
fn headers_are_told() {
    let mut processor = verb_requests::support::processor();
    let request = |field: &str, room| {
        verb_requests::support::Request::new(Verb::Tr31KeyTokenParse)
            .counted(parse::TR31_KEY_LENGTH, parse::TR31_KEY, field)
            .integer(parse::RULE_ARRAY_COUNT, room)
    };
    for field in [BLOCK.to_string(), format!("{BLOCK} and what is behind it")] {
        let reply = request(&field, 1).ok(&mut processor);
        let texts = [parse::KEY_BLOCK_VERSION, parse::KEY_USAGE, parse::ALGORITHM, parse::MODE]
            .map(|at| reply.bytes(at));
        assert_eq!(texts, [&b"B"[..], b"B0", b"T", b"X"]);
        assert_eq!(
            [parse::KEY_VERSION_NUMBER, parse::EXPORTABILITY].map(|at| reply.bytes(at)),
            [&b"12"[..], b"S"]
        );
        assert_eq!([parse::KEY_BLOCK_LENGTH, parse::NUM_OPT_BLOCKS].map(|at| reply.integer(at)), [104, 1]);
        assert_eq!(
            (reply.integer(parse::RULE_ARRAY_COUNT), reply.bytes(parse::RULE_ARRAY)),
            (1, b"STOREXCH".to_vec())
        );
    }
    for (context, word) in [("1", b"INTERNAL"), ("2", b"EXTERNAL")] {
        let text = format!("{}{context}{}", &BLOCK[..14], &BLOCK[15..]);
        assert_eq!(request(&text, 5).ok(&mut processor).bytes(parse::RULE_ARRAY), word);
    }
    assert!(request(BLOCK, 0).ok(&mut processor).bytes(parse::RULE_ARRAY).is_empty());
    for wrong in
        ["", "B", "E0104", &BLOCK[..103], &BLOCK.replace("KS18", "KS19"), &BLOCK.replace("B0T", "b0T")]
    {
        request(wrong, 1).refused(&mut processor, code::TOKEN_INVALID);
    }
}

#[test]
fn optional_blocks_are_listed_and_read() {
    let mut processor = verb_requests::support::processor();
    let request = |word: &str| {
        verb_requests::support::Request::new(Verb::Tr31OptionalDataRead)
            .rules(&[word])
            .counted(read::TR31_KEY_LENGTH, read::TR31_KEY, BLOCK)
            .integer(read::NUM_OPT_BLOCKS, 1)
            .integer(read::OPT_BLOCK_DATA_LENGTH, 20)
    };
    let info = request("INFO").ok(&mut processor);
    assert_eq!((info.bytes(read::OPT_BLOCK_IDS), info.integer(read::NUM_OPT_BLOCKS)), (b"KS".to_vec(), 1));
    assert_eq!(info.bytes(read::OPT_BLOCK_LENGTHS), 20u16.to_ne_bytes());
    request("INFO").integer(read::NUM_OPT_BLOCKS, 0).refused(&mut processor, code::BUFFER_TOO_SMALL);
    let data = request("DATA").bytes(read::OPT_BLOCK_ID, "KS").ok(&mut processor);
    assert_eq!(data.bytes(read::OPT_BLOCK_DATA), b"00604B120F9292800000");
    request("DATA").bytes(read::OPT_BLOCK_ID, "LB").refused(&mut processor, code::INVALID_PARAMETER);
    request("DATA").refused(&mut processor, code::INVALID_PARAMETER);
    let short = request("DATA").bytes(read::OPT_BLOCK_ID, "KS").integer(read::OPT_BLOCK_DATA_LENGTH, 19);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);
    let wrong = request("INFO").counted(read::TR31_KEY_LENGTH, read::TR31_KEY, &BLOCK[..40]);
    wrong.refused(&mut processor, code::TOKEN_INVALID);
}
