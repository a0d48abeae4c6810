//! Figures that the lab reads from files: published tables, reports.

use lab::published::{csv, read_measurements};
use lab::report::{Report, compare};

/// A table of published measurements, or any comma-separated values.
pub fn published_csv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(records) = csv::records(text) {
        let mut again = String::new();
        for record in &records {
            csv::write_record(&mut again, record.iter().map(String::as_str));
        }
        assert_eq!(csv::records(&again).expect("what was written is read"), records);
    }
    let _ = read_measurements(text);
}

/// A report's JSON, compared with itself.
pub fn report_json(data: &[u8]) {
    if let Ok(report) = serde_json::from_slice::<Report>(data) {
        let _ = compare(&report, &report);
        let again = serde_json::to_string(&report).expect("a report that was read can be written");
        assert!(serde_json::from_str::<Report>(&again).is_ok(), "and read: {again}");
    }
}
