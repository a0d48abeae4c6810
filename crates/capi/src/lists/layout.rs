//! What a list looks like: a header and a record for each key record, of 154 bytes each, in two lines.
//!
//! | header | | record | |
//! |---|---|---|---|
//! | 0, 24 | name of the list | 0, 1 | `*` for a damaged record: never, the store gives out none |
//! | 26, 19 | when it was made | 3, 64 | label |
//! | 50, 6 | number of records | 67, 8 | key type |
//! | 58, 4 and 62, 4 | 154, 154: length of a record, and where the first one is | 77, 4 | the first two bytes of the master key's pattern |
//! | 77, 64 | pattern | 92, 19 and 113, 19 | when it was made, and when it was written last |
//! | | | 133, 8 | form of the token |
//!
//! CR and LF are at 75 and 152 of each; everything else is blank. So are key type, pattern, form and the time when it
//! was made, which the daemon's listing does not tell: `NO-KEY` alone is known, of a record without a token.

use wire::control::{RecordRow, Store};
use wire::pattern::LabelPattern;

/// Length of the header, and of a record.
const RECORD_BYTES: usize = 154;
/// Offsets of the two line ends, CR and LF, in the header and in each record.
const LINE_ENDS: [usize; 2] = [75, 152];
/// The text in place of key type and form if a record has no token.
const NO_KEY: &str = "NO-KEY";
const DAY_S: u64 = 24 * 60 * 60;

/// The whole list: the header, and a record for each row.
pub fn list(store: Store, pattern: &LabelPattern, now_unix_s: u64, rows: &[RecordRow]) -> Vec<u8> {
    let name = match store {
        Store::Des => "DES KEY-RECORD-LIST",
        Store::Aes => "AES KEY-RECORD-LIST",
        Store::Pka => "PKA KEY-RECORD-LIST",
    };
    let (count, bytes) = (rows.len().to_string(), RECORD_BYTES.to_string());
    let (now, pattern) = (time(now_unix_s), pattern.as_str());
    let mut list = record(&[(0, name), (26, &now), (50, &count), (58, &bytes), (62, &bytes), (77, pattern)]);
    for row in rows {
        let key = if row.token_bytes == 0 { NO_KEY } else { "" };
        let written = time(row.written_unix_s);
        list.extend(record(&[(3, row.label.as_str()), (67, key), (113, &written), (133, key)]));
    }
    list
}

/// A blank header or record with these texts at these offsets.
fn record(texts: &[(usize, &str)]) -> Vec<u8> {
    let mut record = vec![b' '; RECORD_BYTES];
    for (at, text) in texts {
        record[*at..*at + text.len()].copy_from_slice(text.as_bytes());
    }
    for at in LINE_ENDS {
        record[at..at + 2].copy_from_slice(b"\r\n");
    }
    record
}

/// Seconds since 1970 as `ccyy-mm-dd hh:mm:ss`, in UTC; the last second of 9999 for all that is later.
fn time(unix_s: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    let (days, seconds) = (unix_s.min(LAST) / DAY_S, unix_s.min(LAST) % DAY_S);
    // Years begin in March, so that a leap day is the last of one; 400 of them are 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = era * 400 + year;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Label;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_704_067_199, "2023-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"),
            (u64::MAX, "9999-12-31 23:59:59"),
        ] {
            assert_eq!(time(unix_s), text);
        }
    }

    #[test]
    fn fields_are_in_their_places() {
        let row = |label: &str, token_bytes| RecordRow {
            label: Label::new(label).unwrap(),
            store: Store::Pka,
            token_bytes,
            written_unix_s: 951_782_400,
            chain_bytes: 0,
        };
        let longest = ["ABCDEFGH"; 7].join(".");
        let rows = [row("PAY.SIGN", 600), row(&longest, 0)];
        let list = list(Store::Pka, &LabelPattern::new("*").unwrap(), 0, &rows);
        assert!(list.len() == 3 * RECORD_BYTES && list.is_ascii());
        let text = String::from_utf8(list).unwrap();
        let blank = |count: usize| " ".repeat(count);
        let header = format!(
            "PKA KEY-RECORD-LIST{}1970-01-01 00:00:00{}2{}154 154{}\r\n*{}\r\n",
            blank(7),
            blank(5),
            blank(7),
            blank(10),
            blank(74)
        );
        assert_eq!(text[..RECORD_BYTES], header);
        let first = &text[RECORD_BYTES..2 * RECORD_BYTES];
        assert_eq!(first[..67].trim(), "PAY.SIGN");
        assert_eq!((&first[67..75], first[77..113].trim(), first[133..152].trim()), ("        ", "", ""));
        assert_eq!(&first[113..132], "2000-02-29 00:00:00");
        let second = &text[2 * RECORD_BYTES..];
        assert_eq!(second[3..67].trim_end(), longest);
        assert_eq!((&second[67..75], &second[133..141]), ("NO-KEY  ", "NO-KEY  "));
        assert_eq!((&second[75..77], &second[152..]), ("\r\n", "\r\n"));
    }
}
