//! Figures that the lab reads from files: published tables, reports.

use lab::published::{Sheet, read_measurements};
use lab::report::{Report, compare};

/// A table of published measurements, which is written and read again.
pub fn published_csv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(rows) = read_measurements(text) else { return };
    let mut sheet = Sheet::new(Vec::new());
    rows.iter().for_each(|row| sheet.add(Some(row), &[]));
    let again = read_measurements(&sheet.finish()).expect("what was written is read");
    assert_eq!(format!("{again:?}"), format!("{rows:?}"));
}

/// A report's JSON, compared with itself.
pub fn report_json(data: &[u8]) {
    if let Ok(report) = serde_json::from_slice::<Report>(data) {
        let _ = compare(&report, &report);
        let again = serde_json::to_string(&report).expect("a report that was read can be written");
        assert!(serde_json::from_str::<Report>(&again).is_ok(), "and read: {again}");
    }
}
