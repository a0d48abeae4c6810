//! Dates as they are typed, in an option of `verify`.

use cryptand_sop::words::{Words, read};
use std::ffi::OsString;

/// Whether the command line takes it as a date.
fn is_date(text: &str) -> bool {
    let option = format!("--not-before={text}");
    match read(&["verify", option.as_str(), "sig", "cert"].map(OsString::from)) {
        Words::Plain => true,
        Words::Refused { code: 37, .. } => false,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn dates_are_told_from_what_is_none() {
    for date in [
        "now",
        "2020-02-29",
        "20200229",
        "2020-366",
        "2019365",
        "2020-11-23T16:35",
        "2020-11-23T16:35:60Z",
        "20201123T163500Z",
        "20201123T1635-0130",
        "2020-11-23T16:35:00+01:00",
        "2020-11-23T16:35+01",
    ] {
        assert!(is_date(date), "{date}");
    }
    for other in [
        "",
        "yesterday",
        "2019-02-29",
        "2020-13-01",
        "2020-00-01",
        "2019-366",
        "2020",
        "2020-11",
        "2020-11-23T",
        "2020-11-23T24:00",
        "2020-11-23T16:60",
        "2020-11-23T16:35ZZ",
        "2020-11-23T16:35+1",
        "2020-113T16:35",
        "2020-11-23 16:35",
        "+020-11-23",
        "２０２０-11-23",
    ] {
        assert!(!is_date(other), "{other}");
    }
}
